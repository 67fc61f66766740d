"""Exponentials of matrices, and their derivatives in a direction, as products, one solve and squarings.

The exponential of a matrix is that of a power of two of it, which a quotient of two polynomials (a Pade approximant)
gives to the last place, squared again and again. How often is read from the sizes of powers of the matrix, not from
its own: a matrix whose large entries vanish from its powers, as those beside the diagonal do, would lose digits
with every squaring that it does not need. Each matrix of a batch has its own scale.

A derivative goes through the same steps on pairs of a matrix and its change: with (a, e) times (b, f) being
(a b, a f + e b).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...._control.call import Program
from ...._control.loop import Loop, run_loop
from ...._core.graph import Graph
from ...._core.state import building
from ...._core.tensor import Tensor
from .expansion_helpers import op, peak

# N. J. Higham, The scaling and squaring method for the matrix exponential revisited, SIAM Review 51, 2009, table 10.2;
# A. H. Al-Mohy, N. J. Higham, A new scaling and squaring algorithm, SIAM J. Matrix Anal. Appl. 31, 2009, section 5
_DEGREES = {"float64": (13, 4.25), "float32": (7, 3.925724783138660)}


class Pair(NamedTuple):
    """A matrix, and its change if one is asked for."""

    value: Tensor
    change: Tensor | None


def exponential(a: Tensor) -> Tensor:
    """The exponential of the matrices on the last two axes."""
    return _exponential(Pair(a, None)).value


def exponential_along(a: Tensor, change: Tensor) -> Tensor:
    """The derivative of the exponential in a direction."""
    found = _exponential(Pair(a, change)).change
    assert found is not None
    return found


def _exponential(x: Pair) -> Pair:
    if 0 in x.value.shape or x.value.shape[-1] == 1:
        return _of_numbers(x)
    size = _size(x.value)
    is_finite = op("isfinite")(size)
    x = _each(lambda m: op("select")(_of_each(is_finite, m), m, _like(m, 0.0)), x)
    # powers of what is larger would overflow
    first = _doublings(op("select")(is_finite, size, _like(size, 0.0)), 2.0 ** (np.finfo(size.dtype).maxexp // 6 - 1))
    x = _halved(x, first, size.dtype)
    degree, bound = _DEGREES[size.dtype.name]
    powers = [_product(x, x)]
    powers.append(_product(powers[0], powers[0]))
    powers.append(_product(powers[0], powers[1]))
    more = _halvings(x.value, powers, degree, bound)
    powers = [_halved(p, op("times_number")(more, number=2 * k + 2), size.dtype) for k, p in enumerate(powers)]
    found = _squared(_approximant(_halved(x, more, size.dtype), powers, degree), op("add")(first, more))
    return _each(lambda m: op("select")(_of_each(is_finite, m), m, _like(m, math.nan)), found)


def _of_numbers(x: Pair) -> Pair:
    value = op("exp")(x.value)
    return Pair(value, None if x.change is None else op("mul")(x.change, value))


# -- small pieces -----------------------------------------------------------------------------------------------------


def _like(x: Tensor, number: float) -> Tensor:
    return op("full")(shape=x.shape, value=number, dtype=x.dtype)


def _each(function: Any, x: Pair) -> Pair:
    return Pair(function(x.value), None if x.change is None else function(x.change))


def _of_each(x: Tensor, matrices: Tensor) -> Tensor:
    """One number of each matrix, for all of its elements."""
    return op("broadcast_to")(op("reshape")(x, shape=(*x.shape, 1, 1)), shape=matrices.shape)


def _size(a: Tensor) -> Tensor:
    """The largest sum of a column's absolute values, of each matrix; 0 of one without columns."""
    last = len(a.shape) - 1
    found = peak()(op("reduce_sum")(op("abs")(a), axes=(last - 1,)), axes=(last - 1,))
    return op("maximum")(found, _like(found, 0.0))


def _halved(x: Pair, times: Tensor, dtype: Any) -> Pair:
    """Each matrix times a power of two, a number of a real dtype in whose range that power is."""
    factor = op("ldexp")(op("full")(shape=times.shape, value=1.0, dtype=dtype), op("neg")(times))
    return _each(lambda m: op("mul")(m, _of_each(op("convert")(factor, dtype=m.dtype), m)), x)


def _sum(x: Pair, y: Pair) -> Pair:
    change = None if x.change is None or y.change is None else op("add")(x.change, y.change)
    return Pair(op("add")(x.value, y.value), change)


def _product(x: Pair, y: Pair) -> Pair:
    value = op("matmul")(x.value, y.value)
    if x.change is None or y.change is None:
        return Pair(value, None)
    return Pair(value, op("add")(op("matmul")(x.value, y.change), op("matmul")(x.change, y.value)))


# -- how often to halve -----------------------------------------------------------------------------------------------


def _halvings(a: Tensor, powers: Sequence[Pair], degree: int, bound: float) -> Tensor:
    """How often each matrix is halved: its powers' sizes bring the approximant's error below rounding."""
    sizes = [_root(_size(p.value), 2 * k + 2) for k, p in enumerate(powers[1:], 1)]
    size = op("maximum")(*sizes)
    by_powers = _doublings(size, bound)
    # what rounding makes of cancelling terms is bounded by the powers of the absolute values
    double = op("matmul")(op("abs")(a), op("abs")(a))
    fourth = op("matmul")(double, double)
    most = op("maximum")(_root(_size(double), 2), _root(_size(fourth), 4))
    term = 1.0 / (math.comb(2 * degree, degree) * math.factorial(2 * degree + 1))
    slack = (term / (np.finfo(a.dtype).eps / 2)) ** (1 / (2 * degree))
    return op("maximum")(by_powers, _doublings(most, 1 / slack))


def _root(x: Tensor, degree: int) -> Tensor:
    return op("power_number")(x, number=1 / degree)


def _doublings(x: Tensor, start: float) -> Tensor:
    """How many doublings lead from a number to another one or beyond; none if it is as large."""
    ratio = op("maximum")(op("times_number")(x, number=1 / start), _like(x, 1.0))
    return op("convert")(op("ceil")(op("log2")(ratio)), dtype=np.dtype(np.int32))


# -- the approximant --------------------------------------------------------------------------------------------------


def _coefficients(degree: int) -> list[float]:
    """Of the numerator; the denominator has them with alternating signs. The leading one is 1."""
    of_all = [math.factorial(2 * degree - k) * math.comb(degree, k) for k in range(degree + 1)]
    return [float(c // math.factorial(degree)) for c in of_all]


def _approximant(x: Pair, powers: Sequence[Pair], degree: int) -> Pair:
    """The quotient of polynomials that is e^x to the last place, if x is small enough."""
    numbers = _coefficients(degree)
    odd = _product(x, _polynomial(x, powers, numbers[1::2]))
    even = _polynomial(x, powers, numbers[0::2])
    above, below = _sum(even, odd), _sum(even, _each(op("neg"), odd))
    if above.change is None or below.change is None:
        return Pair(op("solve")(below.value, above.value), None)
    inverse = op("inv")(below.value)
    value = op("matmul")(inverse, above.value)
    left = op("sub")(above.change, op("matmul")(below.change, value))
    return Pair(value, op("matmul")(inverse, left))


def _polynomial(x: Pair, powers: Sequence[Pair], numbers: Sequence[float]) -> Pair:
    """In the square of x, from its first three powers: those beyond are products with the third."""
    low = _combined(x, powers, numbers[:4])
    if len(numbers) <= 4:
        return low
    high = [_each(lambda m, c=c: op("times_number")(m, number=c), p) for c, p in zip(numbers[4:], powers, strict=False)]
    total = high[0]
    for term in high[1:]:
        total = _sum(total, term)
    return _sum(low, _product(powers[2], total))


def _combined(x: Pair, powers: Sequence[Pair], numbers: Sequence[float]) -> Pair:
    """A constant, and numbers times the powers."""
    row = op("full")(shape=x.value.shape[:-1], value=numbers[0], dtype=x.value.dtype)
    total = Pair(op("make_diagonal")(row), None if x.change is None else _like(x.value, 0.0))
    for number, power in zip(numbers[1:], powers, strict=False):
        total = _sum(total, _each(lambda m, c=number: op("times_number")(m, number=c), power))
    return total


# -- squarings --------------------------------------------------------------------------------------------------------


def _squared(x: Pair, times: Tensor) -> Pair:
    """Each matrix squared as often as it was halved."""
    parts = [part for part in x if part is not None]
    carried = [*parts, times]
    graph = Graph("squaring")
    with building(graph):
        *now, left = [graph.add_input(v.shape, v.dtype) for v in carried]
        old = Pair(now[0], now[1] if len(now) == 2 else None)
        square = _product(old, old)
        is_due = op("gt")(left, op("full")(shape=left.shape, value=0, dtype=left.dtype))
        after = [
            op("select")(_of_each(is_due, before), new, before)
            for before, new in zip(now, [p for p in square if p is not None], strict=True)
        ]
        graph.finish([*after, op("add_number")(left, number=-1)])
    total = _at_most(times)
    loop = Loop(None, Program(graph), carries=len(carried), length=None)
    found = run_loop([total, *carried], loop)[: len(parts)]
    return Pair(found[0], found[1] if len(parts) == 2 else None)


def _at_most(times: Tensor) -> Tensor:
    """The largest of some counts, 0 of none."""
    if times.shape:
        largest = peak()(op("convert")(times, dtype=np.dtype(np.float64)), axes=(*range(len(times.shape)),))
        times = op("maximum")(largest, _like(largest, 0.0))
    return op("convert")(times, dtype=np.dtype(np.int64))
