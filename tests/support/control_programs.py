"""Random programs with branches and loops, written out as Python.

A program is the text of a function `make(wg, dtype, policy)`, which gives a function of a scalar x, a vector v of three
elements and an integer n. `wg` is the library, or anything that offers the same names, so one text runs on several
libraries; `policy` is what its loops keep. Values stay of the size of one (sines and means), so that errors mean
something. The names of the values of a program say what they are: s scalars, v vectors, i integers, b booleans.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

KINDS = "svib"

HEADER = """\
def make(wg, dtype="float64", policy="all"):
    s_outer, s_state = wg.asarray(0.7, dtype=dtype), wg.Variable(wg.asarray(0.4, dtype=dtype))
    v_outer = wg.asarray([0.3, -0.8, 0.5], dtype=dtype)
    make.state = s_state

    def number(i):
        return wg.asarray(i, dtype=dtype)

    def literal(x):  # a Python number, but where it would be of another dtype than all the rest
        return x if dtype == "float64" else number(x)

    def derivative(f):  # of an analytic function
        return lambda z: wg.conj(wg.grad(lambda z: wg.real(f(z)))(z))

"""


class Program(NamedTuple):
    """A program and what it is made of.

    Attributes:
        source: its text.
        features: of "assign" (of the Variable), "while", "dynamic" (a trip count from run time), "stop", "scaled" (a
            custom gradient that is not the derivative), "derivative" (one taken in a body).
    """

    source: str
    features: frozenset[str]

    def build(self, space: Any, dtype: str = "float64", policy: Any = "all") -> Callable[..., Any]:
        """The function of (x, v, n)."""
        return self.namespace()["make"](space, dtype, policy)

    def namespace(self) -> dict[str, Any]:
        """What the text defines; `make.state` is the Variable of the program that was built last."""
        found: dict[str, Any] = {}
        exec(compile(self.source, "<program>", "exec"), found)
        return found


class Scope:
    """The names in reach, by kind."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = [*names]

    def of(self, kind: str) -> list[str]:
        return [name for name in self.names if name[0] == kind]

    def inside(self, names: Sequence[str]) -> Scope:
        """The scope of a function with these parameters."""
        return Scope([*self.names, *names])


class Writer:
    """Writes one program, as the numbers of a generator say.

    Args:
        numbers: a `random.Random`, or what behaves as one.
        constructs: how many branches, loops and calls there are at most.
        deepest: how deep they nest at most.
    """

    def __init__(self, numbers: random.Random, constructs: int = 4, deepest: int = 3) -> None:
        self.numbers = numbers
        self.left = constructs
        self.deepest = deepest
        self.lines: list[str] = []
        self.indent = 1
        self.count = 0
        self.features: set[str] = set()
        self.is_pure = 0  # > 0 where nothing may be assigned

    def program(self) -> Program:
        """The program."""
        helper = self.fresh("function")
        self.helper = ""  # it does not call itself
        scope = Scope(["s_outer", "v_outer"])
        self.line("@wg.function")
        self.function(helper, ["s_a", "v_a"], "s", scope, level=self.deepest)
        self.helper = helper
        scope = scope.inside(["s_state", "s_x", "v_x", "i_n"])
        self.line("def program(s_x, v_x, i_n):")
        self.indent += 1
        self.statement(scope, 0)
        while self.left > 0 and self.chance(0.85):
            self.construct(scope, 0)
        if self.chance(0.5):
            self.let(scope)
        scalars = [name for name in scope.of("s") if name not in ("s_outer", "s_state")]
        vectors = [name for name in scope.of("v") if name != "v_outer"]
        terms = [f"{0.5 + 0.25 * k:g} * {name}" for k, name in enumerate(scalars)]
        terms += [f"wg.sum({0.3 + 0.25 * k:g} * {name} * v_outer)" for k, name in enumerate(vectors)]
        self.line(f"return wg.real({' + '.join(terms)})")
        self.indent -= 1
        self.line("return program")
        return Program(HEADER + "\n".join(self.lines) + "\n", frozenset(self.features))

    # -- text -------------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}_{self.count}"

    def chance(self, probability: float) -> bool:
        return self.numbers.random() < probability

    def one(self, choices: Sequence[Any]) -> Any:
        return choices[self.numbers.randrange(len(choices))]

    def function(
        self, name: str, parameters: Sequence[str], kinds: str, scope: Scope, *, level: int,
        result: Callable[[Sequence[str]], str] = ", ".join, unpack: str = "", header: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """Defines a function: some statements, then values of these kinds, put together by `result`.

        Args:
            parameters: the names that its body sees.
            header: the names that it takes, if others.
            unpack: the statement that gets the first from the second.
        """
        self.line(f"def {name}({', '.join(parameters if header is None else header)}):")
        self.indent += 1
        if unpack:
            self.line(unpack)
        inner = scope.inside(parameters)
        for _ in range(self.one([0, 1, 1, 2])):
            self.statement(inner, level)
        values = [self.value(kind, inner) for kind in kinds]
        if len(values) > 1 and kinds[0] == kinds[-1] and self.chance(0.15):
            values[-1] = values[0]
        self.line(f"return {result(values)}")
        self.indent -= 1

    # -- expressions ------------------------------------------------------------------------------------------------

    def value(self, kind: str, scope: Scope) -> str:
        """What a function returns or a loop starts from: often a name as it is."""
        if kind == "s" and self.chance(0.08):
            return f"literal({self.one([0.3, -0.6, 1.0])})"
        if self.chance(0.35) and scope.of(kind):
            return self.name(kind, scope)
        return self.expression(kind, scope, self.one([1, 2]))

    def name(self, kind: str, scope: Scope) -> str:
        names = scope.of(kind)
        # the newest names are the most interesting ones
        name = self.one(names[-3:]) if self.chance(0.6) else self.one(names)
        return "(s_state * 1.0)" if name == "s_state" else name

    def expression(self, kind: str, scope: Scope, depth: int) -> str:
        if kind == "i":
            return self.integer(scope)
        if kind == "b":
            return self.predicate(scope)
        return self.scalar(scope, depth) if kind == "s" else self.vector(scope, depth)

    def scalar(self, scope: Scope, depth: int) -> str:
        if depth <= 0:
            return self.name("s", scope)
        a, b = self.scalar(scope, depth - 1), self.scalar(scope, depth - 1 - self.one([0, 1]))
        choices = [
            f"wg.sin({a} + {b})", f"wg.tanh({a} - 0.5 * {b})", f"wg.sin({a}) * wg.cos({b})", f"0.5 * ({a} + {b})",
            f"wg.sin({a} * {b})", f"wg.exp(-({a} * {a}))", f"{a} / (1.5 + {b} * {b})", f"wg.sqrt(1.0 + {a} * {a}) - 1.0",
            f"wg.sum(wg.sin({self.vector(scope, 0)} * {a})) / 3.0", f"{self.vector(scope, 0)}[{self.one([0, 1, 2])}]",
            f"wg.sin({self.vector(scope, 0)}[{self.integer(scope)} % 3])",
            f"wg.sin(number({self.integer(scope)}) + {a})", f"wg.where({self.predicate(scope)}, {a}, {b})",
            f"wg.sum({self.vector(scope, 0)} * {self.vector(scope, 0)}) / 3.0",
        ]  # fmt: skip
        if self.helper and self.chance(0.1):
            return f"{self.helper}({a}, {self.vector(scope, 0)})"
        if self.chance(0.04):
            self.features.add("stop")
            return f"wg.stop_gradient({a})"
        return f"({self.one(choices)})"

    def vector(self, scope: Scope, depth: int) -> str:
        if depth <= 0:
            return self.name("v", scope)
        a, b = self.vector(scope, depth - 1), self.vector(scope, 0)
        s, t = self.scalar(scope, depth - 1), self.scalar(scope, 0)
        i = self.integer(scope)
        choices = [
            f"wg.sin({a} + {b})", f"wg.tanh({a} * {s})", f"0.5 * ({a} + {b})", f"wg.sin({a}) * wg.cos({s} * {b})",
            f"{a}[::-1]", f"number(wg.stack([{s}, {t}, wg.sin({t})]))", f"{a}.at[1].set({s})", f"{a}.at[{i} % 3].set({s})",
            f"wg.sin({a}.at[{i} % 3].add({s}))", f"{a}.at[:2].set({b}[1:])", f"wg.where({self.predicate(scope)}, {a}, {b})",
        ]  # fmt: skip
        return f"({self.one(choices)})"

    def integer(self, scope: Scope) -> str:
        name = self.name("i", scope) if scope.of("i") else "1"
        return self.one([name, name, f"({name} + 1)", f"(({name} + 2) % 4)", f"({name} * 2 % 3)"])

    def predicate(self, scope: Scope) -> str:
        s = self.name("s", scope)
        choices = [
            f"(wg.real({s}) > {self.one([-0.2, 0.1, 0.4])})", f"(wg.real({self.name('v', scope)}[1]) < 0.2)",
            f"(wg.real(wg.sum({self.name('v', scope)})) > wg.real({s}))",
        ]  # fmt: skip
        if scope.of("i"):
            choices += [f"({self.integer(scope)} % 2 == 0)", f"({self.name('i', scope)} < {self.one([0, 1, 2])})"]
        if scope.of("b"):
            choices += [self.name("b", scope)] * 2
        found = self.one(choices)
        return f"({found} & {self.one(choices)})" if self.chance(0.1) else found

    # -- statements -------------------------------------------------------------------------------------------------

    def statement(self, scope: Scope, level: int) -> None:
        if self.left > 0 and level < self.deepest and self.chance(0.6):
            self.construct(scope, level)
        elif "s_state" in scope.names and not self.is_pure and self.chance(0.15):
            self.features.add("assign")
            self.line(f"s_state.assign(wg.sin({self.scalar(scope, 1)}))")
        else:
            self.let(scope)

    def let(self, scope: Scope) -> None:
        kind = self.one("ssvv")
        name = self.fresh(kind)
        self.line(f"{name} = {self.expression(kind, scope, 2)}")
        scope.names.append(name)

    def construct(self, scope: Scope, level: int) -> None:
        self.left -= 1
        self.one([
            self.cond, self.cond, self.switch, self.while_loop, self.while_loop, self.fori_loop, self.scan, self.scan,
            self.scan, self.map, self.custom, self.recompute, self.derivative, self.inner_function,
        ])(scope, level + 1)  # fmt: skip

    def results(self, scope: Scope, kinds: str) -> list[str]:
        """Names for the results of a construct; some of them nobody uses."""
        names = [self.fresh(kind) for kind in kinds]
        scope.names += [name for name in names if self.chance(0.85)]
        return names

    def some_kinds(self, choices: str = "sssvvvi", most: int = 3) -> str:
        return "".join(self.one(choices) for _ in range(self.one(range(1, most + 1))))

    def cond(self, scope: Scope, level: int) -> None:
        predicate = self.one([self.predicate(scope)] * 9 + ["True"])
        first, second = self.fresh("branch"), self.fresh("branch")
        self.branches([first, second], f"wg.cond({predicate}, {first}, {second}", scope, level)

    def switch(self, scope: Scope, level: int) -> None:
        names = [self.fresh("branch") for _ in range(self.one([1, 2, 3]))]
        self.branches(names, f"wg.switch({self.integer(scope)}, [{', '.join(names)}]", scope, level)

    def branches(self, names: Sequence[str], call: str, scope: Scope, level: int) -> None:
        operands = [self.name(kind, scope) for kind in self.some_kinds("ssv", 2)] if self.chance(0.7) else []
        if operands and self.chance(0.1):
            operands.append(operands[0])
        parameters = [self.fresh(operand.lstrip("(")[0]) for operand in operands]
        kinds = self.some_kinds("ssvvb")
        for name in names:
            self.function(name, parameters, kinds, scope, level=level)
        self.line(f"{', '.join(self.results(scope, kinds))} = {', '.join([call, *operands])})")

    def carried(self, kinds: str) -> tuple[Callable[[Sequence[str]], str], str]:
        """How a structure of carries is written, and the name of its sort."""
        sort = self.one(["tuple", "dict", "nested"] if len(kinds) > 1 else ["bare", "dict"])
        if sort == "bare":
            return (lambda names: names[0]), sort
        if sort == "tuple":
            return (lambda names: f"({', '.join(names)})"), sort
        if sort == "dict":
            return (lambda names: "{" + ", ".join(f'"{k}": {n}' for k, n in zip("pqr", names)) + "}"), sort
        return (lambda names: f"({names[0]}, {{'rest': ({', '.join(names[1:])},)}})"), sort

    def unpacked(self, names: Sequence[str], sort: str, whole: str) -> str:
        """The statement that takes such a structure apart."""
        left = ", ".join(names)
        if sort in ("tuple", "bare"):
            return f"{left} = {whole}"
        if sort == "dict":
            return f"{left} = " + ", ".join(f'{whole}["{k}"]' for k, _ in zip("pqr", names))
        return f"{left} = {whole}[0], *{whole}[1]['rest']"

    def starts(self, kinds: str, scope: Scope) -> list[str]:
        found = [self.value(kind, scope) for kind in kinds]
        if len(found) > 1 and kinds[0] == kinds[1] and self.chance(0.15):
            found[1] = found[0]
        return found

    def while_loop(self, scope: Scope, level: int) -> None:
        self.features.add("while")
        kinds = "i" + self.some_kinds("ssvvb")
        body, test = self.fresh("body"), self.fresh("test")
        parameters = [self.fresh(kind) for kind in kinds]
        count = parameters[0]
        limit = self.one(["i_n" if "i_n" in scope.names else "2", self.one(["0", "2", "3"]), self.integer(scope)])
        inner = scope.inside(parameters)
        extra = f" & {self.predicate(inner)}" if self.chance(0.3) else ""
        self.line(f"def {test}({', '.join(parameters)}):")
        self.line(f"    return ({count} < {limit}){extra}")
        self.function(
            body, parameters, kinds[1:], scope, level=level,
            result=lambda values: ", ".join([f"{count} + 1", *values]),
        )  # fmt: skip
        starts = [self.one(["0", "0", "1"]), *self.starts(kinds[1:], scope)]
        most = self.one(["", "", ", maximum_iterations=2"])
        names = self.results(scope, kinds)
        self.line(f"{', '.join(names)} = wg.while_loop({test}, {body}, ({', '.join(starts)}){most}, checkpoint=policy)")
        self.arrays(names)

    def fori_loop(self, scope: Scope, level: int) -> None:
        kinds = self.some_kinds("ssvvi")
        body, index, whole = self.fresh("body"), self.fresh("i"), self.fresh("carry")
        parameters = [self.fresh(kind) for kind in kinds]
        pack, sort = self.carried(kinds)
        upper = self.one(["3", "2", "0", "i_n" if "i_n" in scope.names else "1", self.integer(scope)])
        if not upper.isdigit():
            self.features.add("dynamic")
        self.function(
            body, [index, *parameters], kinds, scope, level=level, header=[index, whole], result=pack,
            unpack=self.unpacked(parameters, sort, whole),
        )  # fmt: skip
        lower = self.one(["0", "0", "1"])
        self.line(
            f"{whole} = wg.fori_loop({lower}, {upper}, {body}, {pack(self.starts(kinds, scope))}, checkpoint=policy)"
        )
        names = self.results(scope, kinds)
        self.line(self.unpacked(names, sort, whole))
        self.arrays(names)

    def scan(self, scope: Scope, level: int) -> None:
        kinds = self.some_kinds("ssvvi")
        body, whole, stacked = self.fresh("body"), self.fresh("carry"), self.fresh("stacked")
        parameters = [self.fresh(kind) for kind in kinds]
        pack, sort = self.carried(kinds)
        v = self.vector(scope, 1)
        rows, slices, length = self.one([
            (v, "s", 3), (v, "s", 3), ("None", "", self.one([2, 3])), (f"wg.stack([{v}, {self.vector(scope, 0)}])", "v", 2),
            (f"({v}, wg.stack([{v}, {v}, v_outer]))", "sv", 3), (f"({v}, {v})", "ss", 3), ("wg.arange(3)", "i", 3),
            (f"{v}[:0]", "s", 0), (f"(wg.arange(3), {v})", "is", 3),
        ])  # fmt: skip
        taken = [self.fresh(kind) for kind in slices]
        given = self.one(["s", "v", "", "ss", "i"]) if length else self.one(["s", "v", ""])
        one = f"({', '.join(taken)})" if len(taken) > 1 else taken[0] if taken else "nothing"

        def result(values: Sequence[str]) -> str:
            own = values[len(kinds) :]
            y = "None" if not own else own[0] if len(own) == 1 else f"({', '.join(own)})"
            return f"{pack(values[: len(kinds)])}, {y}"

        unpack = self.unpacked([*parameters], sort, whole)
        if len(taken) > 1:
            unpack += f"; {', '.join(taken)} = row"
            one = "row"
        self.function(
            body, [*parameters, *taken], kinds + given, scope, level=level, header=[whole, one], unpack=unpack,
            result=result,
        )  # fmt: skip
        more = f", length={length}" if rows == "None" else ""
        more += ", reverse=True" if self.chance(0.3) else ""
        self.line(
            f"{whole}, {stacked} = wg.scan({body}, {pack(self.starts(kinds, scope))}, {rows}{more}, checkpoint=policy)"
        )
        names = self.results(scope, kinds)
        self.line(self.unpacked(names, sort, whole))
        self.arrays(names)
        self.use_stacks(given, stacked, length, scope)

    def use_stacks(self, given: str, stacked: str, length: int, scope: Scope) -> None:
        """Makes values of the stacked results of a scan; now and then none."""
        if not given or self.chance(0.15):
            return
        y = f"{stacked}[0]" if len(given) > 1 else stacked
        kind = "v" if given[0] == "v" or (given[0] == "s" and length == 3) else "s" if given[0] == "s" else "i"
        name = self.fresh(kind)
        if given[0] == "s" and kind == "v":
            self.line(f"{name} = number({y})")
        elif given[0] == "i":
            self.line(f"{name} = wg.sum({y}, axis=0)")
        else:
            self.line(f"{name} = wg.sum({y}, axis=0) / {max(length, 1)}")
        scope.names.append(name)

    def map(self, scope: Scope, level: int) -> None:
        body, parameter, name = self.fresh("body"), self.fresh("s"), self.fresh("v")
        self.function(body, [parameter], "s", scope, level=level)
        self.line(f"{name} = number(wg.map({body}, {self.vector(scope, 1)}))")
        scope.names.append(name)

    def custom(self, scope: Scope, level: int) -> None:
        """A custom gradient: the natural one, or one that is scaled."""
        function = self.fresh("custom")
        factor = self.one(["", "", "", "2.0 * "])
        if factor:
            self.features.add("scaled")
        self.line("@wg.custom_gradient")
        self.line(f"def {function}(a, b):")
        self.line("    c = wg.conj(wg.cos(a * b))")
        self.line(f"    return wg.sin(a * b), lambda ct: ({factor}ct * wg.conj(b) * c, {factor}ct * wg.conj(a) * c)")
        kind = self.one("sv")
        a, b = self.expression(kind, scope, 1), self.name(kind, scope)
        name = self.fresh(kind)
        self.line(f"{name} = {function}({self.one([a, b])}, {b})")
        scope.names.append(name)

    def recompute(self, scope: Scope, level: int) -> None:
        function = self.fresh("again")
        kinds = self.some_kinds("sv", 2)
        parameters = [self.fresh(kind) for kind in kinds]
        self.is_pure += 1
        self.line("@wg.recompute_grad")
        self.function(function, parameters, "s", scope, level=level)
        self.is_pure -= 1
        name = self.fresh("s")
        self.line(f"{name} = {function}({', '.join(self.name(kind, scope) for kind in kinds)})")
        self.arrays([name])
        scope.names.append(name)

    def derivative(self, scope: Scope, level: int) -> None:
        """A gradient inside a body, bounded since it is used as a value."""
        self.features.add("derivative")
        function, parameter, name = self.fresh("inner"), self.fresh("s"), self.fresh("s")
        self.is_pure += 1
        self.function(
            function, [parameter], "s", scope, level=level, result=lambda values: f"wg.sin({parameter} + {values[0]})"
        )
        self.is_pure -= 1
        self.line(f"{name} = wg.sin(derivative({function})({self.name('s', scope)}))")
        scope.names.append(name)

    def inner_function(self, scope: Scope, level: int) -> None:
        """A compiled function that is defined in a body and uses what is around it."""
        function = self.fresh("function")
        kinds = self.some_kinds("sv", 2)
        parameters = [self.fresh(kind) for kind in kinds]
        results = self.some_kinds("sv", 2)
        self.line("@wg.function")
        self.function(function, parameters, results, scope, level=level)
        arguments = [self.name(kind, scope) for kind in kinds]
        names = self.results(scope, results)
        self.line(f"{', '.join(names)} = {function}({', '.join(arguments)})")
        self.arrays(names)

    def arrays(self, names: Sequence[str]) -> None:
        """Python numbers that went through a construct become arrays."""
        floats = [name for name in names if name[0] in "sv"]
        if floats and self.chance(0.3):
            name = self.one(floats)
            self.line(f"{name} = wg.asarray({name}, dtype=dtype)")


def random_program(numbers: random.Random, constructs: int = 4) -> Program:
    """One program.

    Args:
        numbers: where choices come from.
        constructs: how many branches, loops and calls it has at most.
    """
    return Writer(numbers, constructs).program()
