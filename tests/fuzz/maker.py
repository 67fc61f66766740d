"""Makes programs: each step is run as it is made, so that shapes are known and what NumPy refuses is left out."""

from __future__ import annotations

import math
import random
import re
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from tests.fuzz import given
from tests.fuzz.program import PLAIN, Input, Program

EXTENTS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64, 65, 66, 130]
RARE = [0, 1, 70, 300]
MOST = 40_000  # elements of a value
LARGEST = 1e4  # of an element: what is larger hides what is small

# what an attempt at a step may raise: it is no step, then
REFUSALS = (ArithmeticError, IndexError, TypeError, ValueError, LookupError, NotImplementedError, AttributeError)


class Variable(NamedTuple):
    """A value that a program has at hand."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def is_float(self) -> bool:
        return self.dtype.kind not in "iub"

    @property
    def is_integer(self) -> bool:
        return self.dtype.kind in "iu"

    @property
    def is_count(self) -> bool:
        """Whether it is one of the integers that arithmetic in a program counts with."""
        return self.dtype.kind in "iub"

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def has_axes(self) -> bool:
        return len(self.shape) > 0


def is_float(v: Variable) -> bool:
    return v.is_float


def is_float_with_axes(v: Variable) -> bool:
    return v.is_float and v.has_axes


class Block(NamedTuple):
    """A function in a program: its name, its text, and what it gave where it was made."""

    name: str
    source: str
    value: Any


Step = Callable[["Maker"], str]


class Profile(NamedTuple):
    """What programs of a kind are made of.

    Attributes:
        steps: what makes steps, those that come often more than once.
        floats: dtypes of inputs that can be differentiated.
        others: of the rest.
        length: how many steps there are at most.
        special: how many programs in one have infinities, NaN and zeros.
        layouts: of inputs.
        is_small: whether inputs have few elements.
    """

    steps: Sequence[Step]
    floats: Sequence[str] = ("float64", "float64", "float64", "float32")
    others: Sequence[str] = ("int64", "int32", "int8", "uint8", "bool")
    length: int = 8
    special: float = 0.1
    layouts: Sequence[str] = (PLAIN,) * 9 + ("fortran",)
    is_small: bool = False


class Maker:
    """Makes one program."""

    def __init__(self, numbers: random.Random, profile: Profile) -> None:
        self.r = numbers
        self.profile = profile
        self.values: dict[str, Any] = {}
        self.steps: list[str] = []
        self.depth = 0
        self.is_special = False
        self._count = 0
        self._left = 150  # attempts

    def program(self, seed: str) -> Program:
        """The program."""
        self.is_special = self.r.random() < self.profile.special
        inputs = self.inputs()
        self.values = {f"x{i}": wg.asarray(x.elements()) for i, x in enumerate(inputs)}
        self.extend(self.r.randint(1, self.profile.length))
        made = [n for n in self.values if not n.startswith("x")] or ["x0"]
        results = [*dict.fromkeys([made[-1], *self.r.sample(made, min(2, len(made)))])]
        names = ", ".join(self.name_of_input(i) for i in range(len(inputs)))
        body = textwrap.indent("\n".join([*self.steps, f"return [{', '.join(results)}]"]), "    ")
        return Program(f"def f({names}):\n{body}\n", inputs, self.r.choice([None, None, 8, 64]), seed)

    @staticmethod
    def name_of_input(place: int) -> str:
        return f"x{place}"

    def inputs(self) -> tuple[Input, ...]:
        extents = [self.extent() for _ in range(3)]
        count = self.r.randint(1, 3)
        found = [self.input(self.shape(extents), self.dtype()) for _ in range(count)]
        if not any(np.dtype(x.dtype).kind not in "iub" for x in found):
            found[0] = self.input(self.shape(extents), self.r.choice(self.profile.floats))
        if self.r.random() < 0.2:  # a number of iterations
            found.append(Input((), "int64", values=(self.r.randrange(4),)))
        return (*found,)

    def input(self, shape: tuple[int, ...], dtype: str) -> Input:
        return Input(shape, dtype, self.r.randrange(2**32), self.r.choice(self.profile.layouts), self.is_special)

    def dtype(self) -> str:
        return self.r.choice(self.profile.floats if self.r.random() < 0.75 else self.profile.others)

    def extent(self) -> int:
        if self.profile.is_small:
            return self.r.choice([0, 1, 1, 2, 3, 3, 4, 5])
        return self.r.choice(RARE) if self.r.random() < 0.15 else self.r.choice(EXTENTS)

    def shape(self, extents: list[int]) -> tuple[int, ...]:
        shape = (*[self.r.choice([*extents, 1]) for _ in range(self.r.choice([0, 1, 1, 2, 2, 2, 3]))],)
        return shape if math.prod(shape) <= (60 if self.profile.is_small else MOST) else shape[:1]

    # -- steps --------------------------------------------------------------------------------------------------------

    def extend(self, count: int) -> None:
        """Adds so many steps, or as many as it can."""
        wanted = len(self.steps) + count
        while len(self.steps) < wanted and self._left > 0:
            self._left -= 1
            self.attempt()

    def attempt(self) -> None:
        """Adds a step if what was drawn is one."""
        try:
            line = self.r.choice(self.profile.steps)(self)
        except REFUSALS:
            return
        if line:
            self.add(line)

    def add(self, line: str) -> bool:
        """Adds a step that was written: an expression, or statements that assign to TARGET, each to another one."""
        names = [self.fresh("v") for _ in range(line.count("TARGET") or 1)]
        text = line if "TARGET" in line else f"TARGET = {line}"
        for name in names:
            text = text.replace("TARGET", name, 1)
        try:
            scope = self.run(text)
        except REFUSALS:
            return False
        made = {name: scope[name] for name in names}
        if not all(map(self.is_fit, made.values())):
            return False
        self.values.update(made)
        self.steps.append(text)
        return True

    def run(self, text: str) -> dict[str, Any]:
        """Runs statements on the values at hand."""
        scope = {**self.values, "wg": wg, "np": np, "given": given, "policy": "auto"}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            exec(text, scope)
        return scope

    def value_of(self, expression: str) -> Any:
        return self.run(f"_found = {expression}")["_found"]

    def is_fit(self, x: Any) -> bool:
        """Whether a value is one to go on with: no NaN, which would hide what comes behind."""
        if not isinstance(x, wg.Tensor) or x.size > MOST or x.ndim > 5:
            return False
        data = x.numpy()
        if data.dtype.kind == "c" and not any(np.dtype(d).kind == "c" for d in self.profile.floats):
            return False
        if self.is_special or data.dtype.kind in "iub":
            return True
        return bool(np.all(np.abs(data.astype(complex)) < LARGEST))

    def fresh(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def block(
        self, parameters: Mapping[str, Any], result: Callable[[], str], most: int = 2, *, is_closed: bool = False
    ) -> Block:
        """A function of these parameters: some steps, then what `result` writes.

        Args:
            parameters: their names, and values of theirs.
            result: writes an expression of what is at hand at the end.
            most: how many steps there are at most.
            is_closed: whether it uses nothing from outside.
        """
        outer = self.values, self.steps
        self.values, self.steps = {**({} if is_closed else self.values), **parameters}, []
        self.depth += 1
        try:
            self.extend(self.r.randint(0, most))
            text = result()
            value = self.value_of(text)
            body = "\n".join([*self.steps, f"return {text}"])
        finally:
            self.values, self.steps = outer
            self.depth -= 1
        name = self.fresh("f")
        return Block(name, f"def {name}({', '.join(parameters)}):\n{textwrap.indent(body, '    ')}\n", value)

    # -- what steps are made of -----------------------------------------------------------------------------------------

    def known(self, fits: Callable[[Variable], bool]) -> list[Variable]:
        every = [Variable(n, tuple(x.shape), np.dtype(x.dtype)) for n, x in self.values.items()]
        return [v for v in every if fits(v)]

    def some(self, fits: Callable[[Variable], bool] = lambda v: True) -> Variable:
        """A value at hand, the newest ones rather; LookupError if none fits."""
        known = self.known(fits)
        if not known:
            raise LookupError
        return self.r.choice(known[-4:] if self.r.random() < 0.6 else known)

    def maybe(self, fits: Callable[[Variable], bool]) -> Variable | None:
        try:
            return self.some(fits)
        except LookupError:
            return None

    def axis(self, v: Variable) -> int:
        return self.r.randrange(-len(v.shape), len(v.shape))

    def chance(self, probability: float) -> bool:
        return self.r.random() < probability

    def fitted(self, like: Any, name: str = "") -> str:
        """An expression of the shape and dtype of a value.

        Args:
            like: the value.
            name: what it is called where the expression stands, if it has a name there.
        """
        shape, dtype = (*like.shape,), np.dtype(like.dtype)
        to_shape = f"{name}.shape" if name else repr(shape)
        to_dtype = f"{name}.dtype" if name else repr(dtype.name)
        w = self.some(lambda v: v.is_float == (dtype.kind not in "iub"))
        text = w.name
        if w.dtype.kind == "c" and dtype.kind != "c":
            text = f"wg.real({text})"
        if w.shape != shape:
            if _broadcasts(w.shape, shape):
                text = f"wg.broadcast_to({text}, {to_shape})"
            elif name:
                text = f"{name} * 0.5 + 0.1 * wg.tanh(wg.mean({text}))"
            else:
                text = f"wg.broadcast_to(wg.mean({text}), {to_shape})"
        return text if text == w.name and w.dtype == dtype else f"wg.astype({text}, {to_dtype})"


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def names_in(text: str) -> list[str]:
    """The names of values and blocks in a text, in order."""
    return re.findall(r"\b[a-z]\d+\b", text)
