"""Quotients at equal eigenvalues and singular values, where numerator and divisor may both be nothing but rounding.

The rules of decompositions divide by differences of eigenvalues here. Such a 0 / 0 is dropped where nothing reads the
vectors, is the ratio of rates where these are known (`Ratios`; `_transforms/limits.py` finds the rates), and else NaN.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from .._core import dtypes
from .._core.dims import size_of
from .._core.domains import require_equal_extents
from .._core.op import batch_elementwise, general, require_same
from .._core.tensor import Tensor, Value
from .._core.types import tensor_type
from .discrete import le, logical_and, logical_not, logical_or, lt, ne, rarely
from .elementwise import div, sin
from .piecewise import abs_
from .reductions import reduce_max
from .structural import (
    add,
    add_number,
    as_complex,
    broadcast_to,
    cast,
    fill,
    iota,
    mul,
    reshape,
    select,
    sub,
    times_number,
)

# values that differ by less than this share of the largest are taken as equal. What divides by a difference makes the
# rounding of the numerator so many times larger: in float64 four digits remain, in float32, where the gaps of ordinary
# matrices are small beside the rounding, two
SAME = {"float64": 2.0**-40, "float32": 2.0**-18, "float16": 2.0**-8, "bfloat16": 2.0**-5}
# singular values up to this share of the largest are taken as 0: a few rounding units
NOTHING = {"float64": 2.0**-47, "float32": 2.0**-18, "float16": 2.0**-8, "bfloat16": 2.0**-5}
# what cancels from numbers of some magnitude is 0 up to this share of it: the values that count as equal differ, too
CANCELLED = {name: 64 * share for name, share in SAME.items()}

Rate = Callable[[Tensor], Tensor]  # from the values' rates to the divisor's
Divide = Callable[[Tensor, Tensor, Tensor, Tensor, Rate], Tensor]


def is_rounding(x: Tensor, magnitude: Tensor, shares: dict[str, float]) -> Tensor:
    """Whether x is nothing but the rounding of numbers of a magnitude (infinities and NaN are not)."""
    return is_within(x, magnitude, shares[magnitude.dtype.name])


def is_within(x: Tensor, magnitude: Tensor, share: float) -> Tensor:
    """Whether x is at most a share of a magnitude."""
    return le(abs_(x), times_number(magnitude, number=share))


def quotient(
    x: Tensor, divisor: Tensor, is_nothing: Tensor, is_dropped: Tensor, rate: Callable[..., Any] | None = None
) -> Tensor:
    """x / divisor; where the divisor is nothing but rounding, 0 if the term is dropped and else NaN, made by 0 / 0 so
    that whoever looks for the source of a NaN finds this division. The divisor's rate is of no use here."""
    above = select(is_nothing, fill(x, 0), x)
    below = select(is_nothing, select(is_dropped, fill(divisor, 1), fill(divisor, 0)), divisor)
    return limit_value(div(above, cast(below, x.dtype)), logical_and(is_nothing, logical_not(is_dropped)), x)


def without_nothing(x: Tensor, divisor: Tensor, is_nothing: Tensor, is_dropped: Tensor, rate: Rate) -> Tensor:
    """x / divisor, and 0 where the divisor is nothing."""
    return quotient(x, divisor, is_nothing, is_nothing)


def unbounded(apart: Tensor) -> Divide:
    """A division by t * (the divisor's rate as the values part), which the divisor is near 0: the factor of 1 / t."""

    def divide(x: Tensor, divisor: Tensor, is_nothing: Tensor, is_dropped: Tensor, rate: Rate) -> Tensor:
        return _over_rate(x, rate(apart), logical_and(is_nothing, logical_not(is_dropped)))

    return divide


def _over_rate(x: Tensor, rate: Tensor, where: Tensor) -> Tensor:
    return div(select(where, x, fill(x, 0)), cast(select(where, rate, fill(rate, 1)), x.dtype))


def of_tangents(divide: Divide) -> Divide:
    """A division for tangents: what is dropped there is 0 for the tangent at hand, and unknown for another one."""

    def divided(x: Tensor, divisor: Tensor, is_nothing: Tensor, is_dropped: Tensor, rate: Any = None) -> Tensor:
        found = divide(x, divisor, is_nothing, is_dropped, rate)
        return add(found, at_rest(x, logical_and(is_nothing, is_dropped)))

    return divided


class Rates(Protocol):
    """What a rule is told of the numbers that it has computed from the vectors' cotangents.

    Attributes:
        ways: directions in which the values part; in each the vectors turn into others.
    """

    ways: Sequence[Tensor]

    def of(self, x: Tensor, way: int) -> Tensor | None:
        """The derivative of x along a way; None where x does not depend on values and vectors."""

    def turned(self, x: Tensor) -> Tensor | None:
        """The derivative of x as nothing but the vectors turn."""

    def stray(self, x: Tensor) -> Tensor | None:
        """What x is for other cotangents than those at hand, if these may depend on the values, too."""


class Ratios:
    """`quotient` with limits, for the reverse rule of a decomposition: 0 / 0 is the ratio of rates.

    What is smooth has the same limit whichever way the values part and the vectors turn, and the other quotients do not
    depend on the basis (`checked`). The numerator must be 0 for all cotangents of the program's results: if these are
    smooth one by one, it does not matter how their cotangents depend on the values.
    """

    def __init__(self, rates: Rates, cotangents: Sequence[Tensor | None]) -> None:
        self._rates = rates
        given = [ct for ct in cotangents if ct is not None]
        self._magnitude = _sum_of_largest(given)
        self._of_rates = _sum_of_largest([*given, *_known(rates.of(ct, way) for ct in given for way in (0, 1))])
        self._of_strays = _sum_of_largest(_known(map(rates.stray, given)))
        self._largest: list[Tensor] = []  # of the quotients, as the cotangents' size lets expect

    def __call__(self, x: Tensor, divisor: Tensor, is_nothing: Tensor, is_dropped: Tensor, rate: Rate) -> Tensor:
        of_x = [self._rates.of(x, way) for way in (0, 1)]
        rates = [*map(rate, self._rates.ways)]
        has_limit = logical_and(is_nothing, ne(rates[0], fill(rates[0], 0)))
        limit, other = [
            fill(x, 0) if rate_of_x is None else _over_rate(rate_of_x, rate_of_divisor, has_limit)
            for rate_of_x, rate_of_divisor in zip(of_x, rates, strict=True)
        ]
        has_limit = logical_and(has_limit, _cancels(x, self._magnitude))
        has_limit = logical_and(has_limit, _cancels(sub(limit, other), self._of_rates))
        is_set = logical_or(_is_set(limit), _is_set(other))
        stray = self._rates.stray(x)
        if stray is not None:
            has_limit = logical_and(has_limit, _cancels(stray, self._of_strays))
            is_set = logical_or(is_set, _is_set(stray))
        # a cotangent that may hold structural zeros may be a sum of others that cancel: their rates tell
        has_limit = logical_and(has_limit, logical_or(logical_not(is_dropped), is_set))
        is_dropped = logical_and(is_dropped, logical_not(is_set))
        rest = quotient(x, divisor, is_nothing, logical_or(is_dropped, has_limit))
        size = _along_matrices(self._of_rates, divisor)
        self._largest.append(self._top(without_nothing(size, abs_(divisor), is_nothing, is_dropped, rate)))
        return limit_value(select(has_limit, limit, rest), has_limit, x)

    def _top(self, sizes: Tensor) -> Tensor:
        """The largest for each matrix."""
        return reduce_max(sizes, axes=(*range(len(self._of_rates.shape), len(sizes.shape)),))

    def checked(self, found: Tensor, bounded: Tensor) -> Tensor:
        """What was found, and NaN in matrices where the bounded part of it depends on the basis."""
        turned = self._rates.turned(bounded)
        if turned is None:
            return found
        size = functools.reduce(add, [*self._largest, _sum_of_largest([bounded])])
        depends = logical_not(_cancels(_sum_of_largest([turned]), size))
        where = _along_matrices(depends, found)
        return limit_value(nan_where(where, found), where, found)


def _known(xs: Iterable[Tensor | None]) -> list[Tensor]:
    return [x for x in xs if x is not None]


def _is_set(x: Tensor) -> Tensor:
    """Where x is known, and is not 0."""
    size = abs_(x)
    return lt(fill(size, 0), size)


def _sum_of_largest(xs: Sequence[Tensor]) -> Any:
    """For each matrix the largest magnitudes in each x, added up; None if there is none."""
    found = None
    for x in xs:
        rank = len(x.shape)
        top = reduce_max(abs_(x), axes=(rank - 2, rank - 1))
        found = top if found is None else add(found, top)
    return found


def _along_matrices(numbers: Tensor, x: Tensor) -> Tensor:
    """One number a matrix, repeated along the matrix or vector that x has in its place."""
    ones = (1,) * (len(x.shape) - len(numbers.shape))
    return broadcast_to(reshape(numbers, shape=(*numbers.shape, *ones)), shape=x.shape)


def _cancels(x: Tensor, magnitude: Tensor) -> Tensor:
    """Whether matrices, or vectors, are nothing but the rounding of numbers of a magnitude each."""
    return is_rounding(x, _along_matrices(magnitude, x), CANCELLED)


def generic(x: Tensor) -> Tensor:
    """Numbers between -1 and 1 without a pattern, in x's shape and dtype."""
    return _waves(x, 1.3) if not dtypes.is_complex(x.dtype) else as_complex(_waves(x, 1.3), _waves(x, 0.9))


def _waves(x: Tensor, frequency: float) -> Tensor:
    place = add_number(iota(size=size_of(x.shape), dtype=dtypes.real_of(x.dtype)), number=1)
    return reshape(
        sin(add(times_number(mul(place, place), number=frequency), times_number(place, number=0.7))), shape=x.shape
    )


def _limit_type(value: Any, where: Any, x: Any) -> Any:
    if where.dtype != dtypes.bool_ or len(where.shape) != len(value.shape):
        raise ValueError(f"limit_value: where has dtype {where.dtype.name} and shape {where.shape}, wanted flags")
    for extent, wanted in zip(where.shape, value.shape, strict=True):
        require_equal_extents("limit_value", "an extent of where", extent, wanted)
    require_same("limit_value", ("value", "x"), (value, x))
    return tensor_type(value.shape, value.dtype)


limit_value = general(
    "limit_value", "value where x", type=_limit_type, batch=batch_elementwise, dtypes="inexact",
    moves="same",
    vjp=(lambda ct: ct, None, lambda ct, where, times: times(ct, _nan_or_zero(ct, where))),
    jvp=lambda where, value_dot: add(value_dot, _nan_or_zero(value_dot, where)),
    samples=[(((3, 2), lambda rng: rng.random((3, 2)) < 0, (3, 2)), ())],
    kink="a limit has been taken at the point only, so its own derivative is NaN",
    doc="the value, which is a limit where the flag is set, and depends on x there in an unknown way",
)  # fmt: skip


def _rest_type(x: Any, where: Any) -> Any:
    return _limit_type(x, where, x)


at_rest = general(
    "at_rest", "x where", type=_rest_type, batch=batch_elementwise, dtypes="inexact", body=lambda x, where: fill(x, 0),
    vjp=(lambda ct, where, times: times(ct, _nan_or_zero(ct, where)), None),
    jvp=lambda where, x_dot: _nan_or_zero(x_dot, logical_and(where, ne(x_dot, fill(x_dot, 0)))),
    samples=[(((3, 2), lambda rng: rng.random((3, 2)) < 0), ())],
    kink="where the flag is set its derivative is 0 as long as x stays, and else NaN",
    doc="0; where the flag is set that holds only for x as it is",
)  # fmt: skip


def _nan_or_zero(x: Tensor, where: Tensor) -> Tensor:
    return nan_where(where, fill(x, 0))


def chosen(where: Tensor, limit: Tensor, usual: Tensor) -> Tensor:
    """The limit where a flag is set, and else the usual derivative. If the flag is `rarely` set, machine code has
    nothing of the limit in it before a call needs it."""
    return select(broadcast_to(where, shape=usual.shape), limit, usual)


def seldom(has_equal: Callable[[Tensor], Tensor], values: Tensor) -> Tensor | None:
    """Whether a decomposition has equal values, in a trace; None where it is known to have some."""
    return rarely(has_equal(values)) if type(values._data) is Value else None


def nan_where(where: Tensor, x: Tensor) -> Tensor:
    """x, and 0 / 0 where a flag is set."""
    ones = fill(x, 1)
    return div(select(where, fill(x, 0), x), select(where, fill(x, 0), ones))
