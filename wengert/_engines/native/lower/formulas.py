"""Special functions whose code has loops: each becomes a function that compiled code calls.

A formula is written in `numbers.py`, once for object code, for C and for machine code in memory. The rule of a
primitive of `RULES` calls the function, under a name that holds its attributes: `own.gammainc.1`, `own.jv.2p5`. Rules
for where code stands alone are these; in this process SciPy has most functions, and where it has none a file lists the
rule under `IN_PROCESS`, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from ...._core.graph import Node
from ..ir.accesses import unchecked
from ..ir.builder import Builder
from ..ir.loops import Array, Function, Operand, Typed
from ..llvm.masked_lanes import PREFIX
from .later import SPECIAL
from .numbers import Number, Some, operand
from .special import of_scipy
from .standalone import alone, is_alone


class Scope:
    """A function under construction: its builder, and the tables that it reads."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.tables: list[tuple[Array, np.ndarray[Any, Any]]] = []

    def table(self, values: np.ndarray[Any, Any]) -> Array:
        """Numbers that the function reads."""
        found = self.b.array("f64", "in")
        self.tables.append((found, np.ascontiguousarray(values, np.float64)))
        return found

    def read(self, table: Array, place: Operand) -> Number:
        return Number(self.b, self.b.load(table, place))


class Formula(NamedTuple):
    """`make(scope, *operands, *attributes)` gives the value; `in_lanes` says whether it has a form for vectors, which
    those have that are often called for many numbers: to compile it takes as long again as the function of one."""

    operands: int
    make: Callable[..., Some]
    in_lanes: bool = False


class Formulas(dict[str, Formula]):
    """The formulas of one file, by the names of their primitives; `special_rules.py` lists the files."""

    def add(
        self, name: str, operands: int, in_lanes: bool = False
    ) -> Callable[[Callable[..., Some]], Callable[..., Some]]:
        """Decorates the formula of a primitive."""

        def added(make: Callable[..., Some]) -> Callable[..., Some]:
            self[name] = Formula(operands, make, in_lanes)
            return make

        return added


FORMULAS = Formulas()
# of primitives, where code stands alone: `rule(b, t, attrs, *operands)`
RULES: dict[str, Callable[..., Operand]] = {}
TRANSFORMS = ("dft", "rfft", "irfft")  # which have loops of their own there, whatever NumPy offers


class Own(NamedTuple):
    """A function of the exported program: of numbers, or of so many lanes of them, then tables; it stores its one
    number, or those of all lanes."""

    name: str
    function: Function
    operands: int
    tables: tuple[np.ndarray[Any, Any], ...]
    lanes: int = 1


def call_own(b: Builder, name: str, attrs: Sequence[float], *xs: Some) -> Number:
    """A call of the function of a formula."""
    said = ".".join([PREFIX + name, *map(_word, attrs)])
    return Number(b, b.call(said, [Typed("f64", operand(x)) for x in xs], "f64"))


def _word(attribute: float) -> str:
    return repr(attribute).replace(".", "p").replace("-", "m").replace("+", "")


def _attribute(word: str) -> float:
    text = word.replace("p", ".").replace("m", "-")
    return float(text) if "." in text or "e" in text else int(text)


def call_either(b: Builder, name: str, attrs: Sequence[float], *xs: Some) -> Number:
    """As `call_own` where code stands alone, else a call of SciPy's function, whose values NumPy's kernels have."""
    if is_alone():
        return call_own(b, name, attrs, *xs)
    return of_scipy(b, name, *xs)


def function_alone(said: str) -> Own:
    """As `own_function`, of code that stands alone."""
    with alone():
        return own_function(said)


def has_lanes(said: str) -> bool:
    """Whether the function of a name that `call_own` has made has a form for vectors."""
    SPECIAL.load()
    return FORMULAS[said.removeprefix(PREFIX).split(".")[0]].in_lanes


def own_function(said: str, lanes: int = 1) -> Own:
    """The function of a name that `call_own` has made, of a number or of a vector."""
    name, *words = said.removeprefix(PREFIX).split(".")
    SPECIAL.load()  # code that was kept on disk calls it, too
    formula = FORMULAS[name]
    b = Builder()
    scope = Scope(b)
    given = [b.array("f64", "in") for _ in range(formula.operands)]
    out = b.array("f64", "out")
    # of tables nobody but it reads, nothing is checked
    with unchecked(), b.lanes(lanes, is_masked=True) if lanes > 1 else nullcontext() as made:
        place = made.index if made is not None else 0
        numbers = [Number(b, b.load(x, place)) for x in given]
        b.store(out, place, operand(formula.make(scope, *numbers, *map(_attribute, words))))
    function = b.function(c_word(said), [*given, *[t for t, _ in scope.tables]], [out], [])
    return Own(said, function, formula.operands, (*[values for _, values in scope.tables],), lanes)


def c_word(said: str) -> str:
    """What C calls a function."""
    return said.replace(".", "_")


def stands_alone(node: Node) -> bool:
    """Whether code that stands alone has a way for a node that else may be a kernel's."""
    name = node.op.name
    SPECIAL.load()
    return name in TRANSFORMS or (name in RULES and all(v.dtype.kind != "c" for v in node.inputs))


def rule_of(name: str) -> Callable[..., Operand]:
    """The rule of a primitive whose attributes are those of a formula of its name."""

    def rule(b: Builder, t: str, attrs: tuple[Any, ...], *xs: Operand) -> Operand:
        wide = [Number(b, b.convert("f64", t, x)) for x in xs]
        numbers = [int(a) if isinstance(a, (bool, np.bool_)) else a for a in attrs]
        return b.convert(t, "f64", call_own(b, name, numbers, *wide).x)

    return rule


def enter(formulas: Formulas) -> None:
    """Makes the formulas of a file known, and the rules that call them."""
    FORMULAS.update(formulas)
    RULES.update({name: rule_of(name) for name in formulas})
