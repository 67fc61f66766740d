"""Dimensions that are not known while tracing: `Dim`, and shape arithmetic on ints and Dims alike.

A Dim is a polynomial with integer coefficients over *atoms*: the free dimensions of a graph's inputs, and the
results of `//`, `%`, `max` and `min` on Dims. Two Dims are the same dimension iff their polynomials are equal.
What the trace assumed on the way (`n == 3`, `n != 1`) is collected as guards by the graph that owns the atoms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union, final

import numpy as np

from ..errors import TracingError
from .user_line import at_user_line

DimLike = Union[int, "Dim"]
Shape = tuple[DimLike, ...]

FEW = 64  # large dimensions are more than that
NEAR = FEW // 2  # of an extent, so that what is near 0 is not behind what is near a large one

_serial = itertools.count()


def _larger(x: int, y: int) -> int:
    """The larger of two sizes, which may be symbols or scalars of a framework's graph that nobody can compare yet."""
    if isinstance(x, int) and isinstance(y, int):
        return max(x, y)
    symbol: Any = y if isinstance(x, int) else x
    if hasattr(symbol, "rmax"):  # JAX's, which have no absolute values
        return symbol.max(x + y - symbol)
    return (x + y + abs(x - y)) // 2


_OPERATIONS: dict[str, Callable[..., int]] = {
    "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
    "max": _larger,
    "min": lambda x, y: x + y - _larger(x, y),
}


class Atom:
    """An indivisible dimension: a free one (`arguments` empty) or an operation on other dimensions.

    A free one is late if only a run tells it: the extent of a loop's variable, which changes from step to step. No
    check before the run can cover it, so it may be 1 at any time. One that is large stands for more than `FEW`.
    """

    __slots__ = ("arguments", "is_large", "is_late", "name", "operation", "serial")

    def __init__(
        self, name: str, operation: str = "", arguments: tuple[DimLike, ...] = (), is_late: bool = False,
        is_large: bool = False,
    ) -> None:  # fmt: skip
        self.name = name
        self.is_late = is_late
        self.is_large = is_large
        self.operation = operation
        self.arguments = arguments
        self.serial = next(_serial)

    @property
    def identity(self) -> tuple[Any, ...]:
        return (self.operation, self.arguments) if self.operation else (self.serial,)

    def __hash__(self) -> int:
        return hash(self.identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and self.identity == other.identity

    def __str__(self) -> str:
        if not self.operation:
            return self.name
        return f"{self.operation}({', '.join(map(str, self.arguments))})"


Monomial = tuple[Atom, ...]  # sorted by serial; () is the constant term


def is_large_dim(dim: Any) -> bool:
    """Whether a dimension is a large one, or near it."""
    if type(dim) is not Dim:
        return False
    terms = dim.terms
    rest = terms.pop((), 0)
    ((monomial, count),) = terms.items() if len(terms) == 1 else (((), 0),)
    return count == 1 and len(monomial) == 1 and monomial[0].is_large and -NEAR <= rest <= NEAR


@final
class Dim:
    """A dimension of a traced shape: usable in shapes and integer arithmetic, not in `range` or `if`."""

    __slots__ = ("_terms",)

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self._terms = {m: c for m, c in terms.items() if c}

    @staticmethod
    def free(name: str, is_late: bool = False, is_large: bool = False) -> Dim:
        """A fresh dimension of which nothing else is known."""
        return Dim({(Atom(name, is_late=is_late, is_large=is_large),): 1})

    @property
    def terms(self) -> dict[Monomial, int]:
        """The polynomial: coefficients by monomial."""
        return dict(self._terms)

    @property
    def atoms(self) -> set[Atom]:
        """The free atoms that the dimension depends on."""
        found: set[Atom] = set()
        waiting: list[Any] = [self]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Dim):
                waiting.extend(atom for monomial in item._terms for atom in monomial)
            elif isinstance(item, Atom):
                if item.operation:
                    waiting.extend(item.arguments)
                else:
                    found.add(item)
        return found

    @property
    def is_atom(self) -> bool:
        """Whether the dimension is one free atom and nothing else."""
        ((monomial, coefficient),) = self._terms.items() if len(self._terms) == 1 else (((), 0),)
        return coefficient == 1 and len(monomial) == 1 and not monomial[0].operation

    @property
    def atom(self) -> Atom:
        (monomial,) = self._terms
        return monomial[0]

    def evaluate(self, sizes: Mapping[Atom, int]) -> int:
        """The dimension's value where the free atoms have the given sizes."""
        return sum(c * math.prod(_atom_value(a, sizes) for a in m) for m, c in self._terms.items())

    def source(self, names: Mapping[Atom, str]) -> str:
        """The dimension as a Python expression over the named atoms."""
        terms = []
        for monomial, coefficient in self._terms.items():
            factors = [_atom_source(a, names) for a in monomial]
            if coefficient != 1 or not factors:
                factors.insert(0, str(coefficient))
            terms.append("*".join(factors))
        return f"({' + '.join(terms)})"

    def substitute(self, known: Mapping[Atom, DimLike]) -> DimLike:
        """The dimension with some atoms replaced."""
        total: DimLike = 0
        for monomial, coefficient in self._terms.items():
            product: DimLike = coefficient
            for atom in monomial:
                product = product * _atom_substitute(atom, known)
            total = total + product
        return total

    def __add__(self, other: object) -> DimLike:
        return _combine(self, other, 1)

    __radd__ = __add__

    def __sub__(self, other: object) -> DimLike:
        return _combine(self, other, -1)

    def __rsub__(self, other: object) -> DimLike:
        return _times(self, -1) + other if isinstance(other, (int, Dim)) else NotImplemented

    def __neg__(self) -> DimLike:
        return _times(self, -1)

    def __mul__(self, other: object) -> DimLike:
        return _times(self, other) if isinstance(other, (int, Dim)) else NotImplemented

    __rmul__ = __mul__

    def __pow__(self, other: object) -> DimLike:
        if type(other) is not int or not 0 <= other <= MOST_POWER:
            return NotImplemented
        return math.prod([self] * other)

    def __floordiv__(self, other: object) -> DimLike:
        return floordiv(self, other) if isinstance(other, (int, Dim)) else NotImplemented

    def __rfloordiv__(self, other: object) -> DimLike:
        return floordiv(other, self) if isinstance(other, int) else NotImplemented

    def __mod__(self, other: object) -> DimLike:
        return _operation("mod", self, other) if isinstance(other, (int, Dim)) else NotImplemented

    def __rmod__(self, other: object) -> DimLike:
        return _operation("mod", other, self) if isinstance(other, int) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dim):
            return self._terms == other._terms
        return False if isinstance(other, int) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._terms.items()))

    def __lt__(self, other: object) -> bool:
        raise self._refusal("an ordering comparison")

    __le__ = __gt__ = __ge__ = __lt__

    def __bool__(self) -> bool:
        raise self._refusal("`if`")

    def __index__(self) -> int:
        raise self._refusal("`range` or an index")

    __int__ = __index__

    def __repr__(self) -> str:
        terms = []
        for monomial, coefficient in self._terms.items():
            factors = [str(a) for a in monomial]
            if coefficient != 1 or not factors:
                factors.insert(0, str(coefficient))
            terms.append("*".join(factors))
        return " + ".join(terms) or "0"

    def _refusal(self, use: str) -> TracingError:
        cure = "compute with the dimension, compare wg.tensor(dimension), "
        if any(atom.is_late for atom in self.atoms):
            cure += "or carry the number as a loop variable"
        else:
            cure += "use wg.fori_loop, or trace without None for it in the input_signature"
        return TracingError(
            at_user_line(f"{use} needs the value of dimension {self}, which is not known while tracing; {cure}")
        )


def _atom_value(atom: Atom, sizes: Mapping[Atom, int]) -> int:
    if not atom.operation:
        return sizes[atom]
    return _OPERATIONS[atom.operation](*(evaluate(a, sizes) for a in atom.arguments))


def _atom_source(atom: Atom, names: Mapping[Atom, str]) -> str:
    if not atom.operation:
        return names[atom]
    parts = [source(a, names) for a in atom.arguments]
    sign = {"floordiv": "//", "mod": "%"}.get(atom.operation)
    return f"({parts[0]} {sign} {parts[1]})" if sign else f"{atom.operation}({', '.join(parts)})"


def _atom_substitute(atom: Atom, known: Mapping[Atom, DimLike]) -> DimLike:
    if atom in known:
        return known[atom]
    if not atom.operation:
        return Dim({(atom,): 1})
    arguments = [a.substitute(known) if isinstance(a, Dim) else a for a in atom.arguments]
    return floordiv(*arguments) if atom.operation == "floordiv" else _operation(atom.operation, *arguments)


def _normal(terms: Mapping[Monomial, int]) -> DimLike:
    result = Dim(terms)
    if not result._terms:
        return 0
    if len(result._terms) == 1 and () in result._terms:
        return result._terms[()]
    return result


def _combine(x: Dim, other: object, sign: int) -> DimLike:
    if isinstance(other, int):
        other = Dim({(): int(other)})
    if not isinstance(other, Dim):
        return NotImplemented
    terms = dict(x._terms)
    for monomial, coefficient in other._terms.items():
        terms[monomial] = terms.get(monomial, 0) + sign * coefficient
    return _normal(terms)


def _times(x: Dim, other: DimLike) -> DimLike:
    if isinstance(other, int):
        return _normal({m: c * int(other) for m, c in x._terms.items()})
    terms: dict[Monomial, int] = {}
    for (m1, c1), (m2, c2) in itertools.product(x._terms.items(), other._terms.items()):
        monomial = tuple(sorted(m1 + m2, key=lambda a: (a.operation, a.serial if not a.operation else str(a))))
        terms[monomial] = terms.get(monomial, 0) + c1 * c2
    return _normal(terms)


def floordiv(x: DimLike, y: DimLike) -> DimLike:
    """x // y, simplified where y divides every term of x."""
    if isinstance(x, int) and isinstance(y, int):
        return x // y
    if isinstance(x, int) and x == 0:
        return 0
    if x == y:
        return 1
    if isinstance(x, Dim) and isinstance(y, int) and all(c % y == 0 for c in x._terms.values()):
        return _normal({m: c // y for m, c in x._terms.items()})
    quotient = _exact_monomial_quotient(x, y)
    return _operation("floordiv", x, y) if quotient is None else quotient


def _exact_monomial_quotient(x: DimLike, y: DimLike) -> DimLike | None:
    """x / y where y is a single monomial that divides every term of x, else None."""
    if not (isinstance(x, Dim) and isinstance(y, Dim) and len(y._terms) == 1):
        return None
    ((divisor, scale),) = y._terms.items()
    terms: dict[Monomial, int] = {}
    for monomial, coefficient in x._terms.items():
        rest = list(monomial)
        for atom in divisor:
            if atom not in rest:
                return None
            rest.remove(atom)
        if coefficient % scale:
            return None
        terms[tuple(rest)] = coefficient // scale
    return _normal(terms)


def _operation(name: str, *arguments: DimLike) -> DimLike:
    if all(isinstance(a, int) for a in arguments):
        return _OPERATIONS[name](*arguments)
    return Dim({(Atom(name, name, arguments),): 1})


def maximum(x: DimLike, y: DimLike) -> DimLike:
    return x if x == y else _operation("max", x, y)


def minimum(x: DimLike, y: DimLike) -> DimLike:
    """The smaller one, written as y - max(y - x, 0): n - min(1, n) and max(n - 1, 0) are then seen to be equal."""
    if isinstance(x, int) and isinstance(y, int):
        return min(x, y)
    return y - maximum(y - x, 0)


def is_late(dim: DimLike) -> bool:
    """Whether only a run tells a dimension."""
    return type(dim) is Dim and any(atom.is_late for atom in dim.atoms)


def broadcast(x: DimLike, y: DimLike) -> DimLike:
    """The extent in which two meet, of which each is 1 or the other one: also 0 where 1 meets 0."""
    return minimum(x * y, maximum(x, y))


def evaluate(dim: DimLike, sizes: Mapping[Atom, int]) -> int:
    return dim.evaluate(sizes) if isinstance(dim, Dim) else dim


def source(dim: DimLike, names: Mapping[Atom, str]) -> str:
    return dim.source(names) if isinstance(dim, Dim) else str(dim)


def size_of(shape: Sequence[DimLike]) -> DimLike:
    """The number of elements of a shape."""
    total: DimLike = 1
    for dim in shape:
        total = total * dim
    return total


MOST_POWER = 64  # of a dimension, as a dimension: a higher one fits into no number
MOST_BYTES = 2**63 - 1  # of an array: what NumPy's sizes and strides can say


def is_frameworks_dim(value: object) -> bool:
    """Whether a value is an unknown extent of a framework's own symbolic shapes; graphs hold such ones as they are."""
    return type(value).__module__.partition(".")[0] not in _OURS and hasattr(value, "__floordiv__")


_OURS = {"builtins", "numpy", __name__.partition(".")[0]}


def byte_count(shape: Sequence[DimLike], itemsize: int) -> int:
    """The bytes of an array, exact; dimensions that only a run tells, ours or a framework's, count as 1.

    So does 0, as in NumPy: strides of an array without elements are numbers, too.
    """
    size = itemsize
    for dim in shape:
        if type(dim) is int:
            size *= dim or 1
        elif isinstance(dim, (int, np.integer)):
            size *= int(dim) or 1
    return size


def check_bytes(name: str, shape: Sequence[DimLike], dtype: Any) -> None:
    """Refuses an array that is too large for any machine's numbers.

    Args:
        name: of the op whose result it is.
        shape: its extents.
        dtype: NumPy's dtype of its elements.
    """
    size = byte_count(shape, dtype.itemsize)
    if size > MOST_BYTES:
        text = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        raise ValueError(
            f"{name}: the result would have shape ({text}) and dtype {dtype.name}, {size:,} bytes; an array has at "
            f"most {MOST_BYTES:,}: ask for a smaller one"
        )


def map_attribute(value: object, change: Callable[[Dim], Any]) -> Any:
    """An attribute value with `change` applied to every Dim in it (tuples and slices are entered)."""
    if type(value) is Dim:
        return change(value)
    if type(value) is tuple:
        return (*[map_attribute(v, change) for v in value],)
    if type(value) is slice:
        return slice(*(map_attribute(v, change) for v in (value.start, value.stop, value.step)))
    inside = getattr(type(value), "__wengert_map_dims__", None)
    return value if inside is None else inside(value, change)


def dims_in(value: object) -> list[Dim]:
    """Every Dim in an attribute value."""
    found: list[Dim] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: list[Dim]) -> None:
    """As `map_attribute` goes through a value, making nothing."""
    kind = type(value)
    if kind is tuple:
        for part in value:
            if type(part) is not int:
                _collect(part, found)
    elif kind is Dim:
        found.append(value)
    elif kind is slice or hasattr(kind, "__wengert_map_dims__"):
        map_attribute(value, found.append)
