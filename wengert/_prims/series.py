"""Taylor series of ops: a value along a curve as terms x_0 + x_1 t + x_2 t^2 + ..., each made when it is asked for.

An op's rule for series (`jet=` in its declaration) takes the series of its operands and its own (by name, with its
attributes) and returns a function from k >= 1 to its term k, which may read its operands' terms up to k and its own
below k. Ops without one follow from their derivative rules (`_transforms/jets.py`): exp, tan or erf need none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._core.op import REGISTRY
from .._core.tensor import Tensor

Term = Tensor | None
"""A term of a series; None is a zero that nothing is multiplied by."""


class Series:
    """The terms of a value; the first is the value.

    Attributes:
        masked: whether terms beyond the first may hold structural zeros.
    """

    __slots__ = ("_make", "_terms", "masked")

    def __init__(self, make: Callable[[int], Term], terms: Iterable[Term] = (), masked: bool = False) -> None:
        self._make = make
        self._terms = [*terms]
        self.masked = masked

    @property
    def is_given(self) -> bool:
        """Whether all its terms are there."""
        return self._make is _no_term

    def __getitem__(self, k: int) -> Any:
        terms = self._terms
        while len(terms) <= k:  # in order, so that no term waits for all those below it on Python's stack
            terms.append(self._make(len(terms)))
        return terms[k]


def _no_term(k: int) -> None:
    return None


def constant(x: Tensor) -> Series:
    """The series of what does not move."""
    return Series(_no_term, (x,))


def given(terms: Iterable[Term], masked: bool = False) -> Series:
    """The series of these terms, and zeros behind them."""
    return Series(_no_term, terms, masked)


def total(terms: Iterable[Term]) -> Term:
    """The sum of terms: of neighbours, then of neighbouring sums, as a sum of many that each wait for the one before it
    takes longer than the products."""
    add = REGISTRY["add"]
    found = [term for term in terms if term is not None]
    while len(found) > 1:
        pairs = [add(x, y) for x, y in zip(found[::2], found[1::2], strict=False)]
        found = [*pairs, *found[2 * len(pairs) :]]
    return found[0] if found else None


def product(k: int, x: Series, y: Series, first: int = 0, times: Callable[..., Tensor] | None = None) -> Term:
    """Term k of a product: the sum of x_j y_(k - j), from j = `first` on.

    Args:
        times: how to multiply two terms; by default element by element, and so that no structural zero meets an
            infinite slope.
    """
    if times is None:
        if x is y and first == 0:
            return _square(k, x)
        return total(_multiplied(x, j, y, k - j) for j in range(first, k + 1))
    pairs = ((x[j], y[k - j]) for j in range(first, k + 1))
    return total(None if a is None or b is None else times(a, b) for a, b in pairs)


def _multiplied(x: Series, i: int, y: Series, j: int) -> Term:
    a, b = x[i], y[j]
    if a is None or b is None:
        return None
    if i and x.masked:
        return REGISTRY["scale"](a, b)
    return REGISTRY["scale"](b, a) if j and y.masked else REGISTRY["mul"](a, b)


def _square(k: int, x: Series) -> Term:
    """Term k of x x, whose products come in pairs."""
    pairs = total(_multiplied(x, k - j, x, j) for j in range((k + 1) // 2))
    twice = None if pairs is None else REGISTRY["times_number"](pairs, number=2)
    return total((twice, _multiplied(x, k // 2, x, k // 2))) if k % 2 == 0 else twice


def along(x: Series) -> Series:
    """The series of the derivative along the curve: term k is (k + 1) x_(k + 1)."""
    return Series(lambda k: multiple(x[k + 1], k + 1), masked=x.masked)


def multiple(term: Term, number: float) -> Term:
    """A term times a number."""
    return term if term is None or number == 1 else REGISTRY["times_number"](term, number=number)


def over(term: Term, y: Tensor, masked: bool) -> Term:
    """A term over a value, so that no structural zero is divided by zero."""
    if term is None:
        return None
    return REGISTRY["scale"](term, REGISTRY["reciprocal"](y)) if masked else REGISTRY["div"](term, y)


def difference(x: Term, y: Term) -> Term:
    """x - y."""
    if y is None:
        return x
    return REGISTRY["neg"](y) if x is None else REGISTRY["sub"](x, y)


def quotient(x: Series, y: Series, out: Series) -> Callable[[int], Term]:
    """The rule of out = x / y, from x = out y."""
    masked = x.masked or y.masked
    return lambda k: over(difference(x[k], product(k, y, out, first=1)), y[0], masked)


def integral(slope: Series, x: Series) -> Callable[[int], Term]:
    """The rule of a function of x, from the series of its slope there."""
    x_dot = along(x)
    return lambda k: multiple(product(k - 1, x_dot, slope), 1 / k)


def whole_power(x: Series, number: int, power: Callable[[int], Tensor]) -> Series:
    """The series of x ** number for a positive whole number, by squares: there is no division by what may be 0.

    Args:
        power: gives the value of a power of x.
    """
    if number == 1:
        return x
    half = whole_power(x, number // 2, power)
    square = Series(lambda k: product(k, half, half), (power(number - number % 2),), x.masked)
    if number % 2 == 0:
        return square
    return Series(lambda k: product(k, x, square), (power(number),), x.masked)


def power_below_one(x: Series, out: Series, number: float, slope: Callable[[], Tensor]) -> Callable[[int], Term]:
    """The rule of x ** number where all its derivatives are infinite at 0, from x out' = number x' out.

    Args:
        slope: gives the first derivative by x, which is infinite at 0 where the rule says 0 / 0.
    """

    def term(k: int) -> Term:
        if k == 1:
            return _multiplied(x, 1, constant(slope()), 0)
        terms = (
            multiple(_multiplied(x, j, out, k - j), (number * j - (k - j)) / k)
            for j in range(1, k + 1) if number * j != k - j
        )  # fmt: skip
        return over(total(terms), x[0], x.masked)

    return term
