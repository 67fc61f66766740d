"""NumPy-engine kernels of `_prims/special.py` and `_prims/bessel.py`: SciPy's functions, loaded at the first call."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..erfcx_integrals import MOST, SPLIT, smooth
from ..special_numerics import KV_FAR, KV_MOST, beyond_stirling, by_scaled
from .common import Kernel, in_float32, lazy

_SAME_NAME = (
    "erf", "erfc", "erfinv", "erfcx", "ndtr", "ndtri", "log_ndtr", "digamma", "gamma", "exp1",
    "i0e", "i1e",
)  # fmt: skip
# SciPy's functions for whole orders are more exact than those for real ones
_WHOLE = {
    "jv": ("j0", "j1"), "yv": ("y0", "y1"), "iv": ("i0", "i1"), "ive": ("i0e", "i1e"), "kv": ("k0", "k1"),
    "kve": ("k0e", "k1e"),
}  # fmt: skip


def _grown(name: str) -> Kernel:
    """SciPy's i0 or i1, which are infinite where e^x is, although they are numbers a little farther still."""
    plain, scaled = lazy("scipy.special", name), lazy("scipy.special", f"{name}e")

    def kernel(x: np.ndarray[Any, Any]) -> Any:
        found = plain(x)
        if x.dtype != np.float64 or not np.isinf(found).any():  # others are computed in float64, which holds e^x
            return found
        with np.errstate(all="ignore"):
            return np.where(np.isinf(found), by_scaled(scaled(x), np.abs(x), 64, np.minimum, np.exp), found)[()]

    return kernel


_GROWN = {name: _grown(name) for name in ("i0", "i1")}


def _with_order(name: str) -> Kernel:
    """A kernel for a SciPy function that takes the order before the argument."""
    general = lazy("scipy.special", name, lambda function, x, order: function(order, x))
    whole = [_GROWN.get(n) or lazy("scipy.special", n) for n in _WHOLE.get(name, ())]

    def kernel(x: np.ndarray[Any, Any], order: float) -> Any:
        return whole[int(order)](x) if whole and order in (0, 1) else general(x, order)

    return kernel


def _first_kind(name: str, is_scaled: bool) -> Kernel:
    """`iv` or `ive`; of small whole orders with values where SciPy's are NaN, as in machine code, which calls SciPy's
    functions for the others: at the smallest numbers, scaled ones from 1e10 on, and at the largest numbers."""
    scipys = _with_order(name)

    def kernel(x: np.ndarray[Any, Any], order: float) -> Any:
        found = scipys(x, order)
        if order not in (2, 3, 4) or not np.isnan(found).any():
            return found
        size = np.abs(np.asarray(x, np.float64))
        lost = np.isnan(found) & ((size < 1) | (size > 1e9) & (is_scaled | (size < np.inf)))
        with np.errstate(all="ignore"):
            # the first terms of the series, and of the expansion (DLMF 10.25.2 and 10.40.1)
            near = (size / 2) ** order / math.gamma(order + 1)
            square, place = 4 * order * order, 1 / (8 * size)
            far = (1 - (square - 1) * place * (1 - (square - 9) * place / 2)) / (np.sqrt(2 * np.pi) * np.sqrt(size))
            sign = np.where(x < 0, (-1.0) ** round(order), 1.0)
            values = np.where(size < 1, near, far if is_scaled else np.inf) * sign
            values += 0.0 if is_scaled else -0.0  # as SciPy's scaled ones have no zero below zero
        return np.where(lost, values, found).astype(found.dtype)[()]

    return kernel


# -- integrals of the error function -----------------------------------------------------------------------------------

_FRACTION_STEPS = 200


def _erfcx_integral(x: np.ndarray[Any, Any], order: int) -> Any:
    """By the recurrence where nothing cancels, else by a polynomial; of high orders by the continued fraction of
    neighbours' ratios, from 1 on."""
    from scipy.special import erfcx

    x = np.asarray(x, np.float64)
    start = 0.0 if order <= MOST else 1.0
    low = np.minimum(x, start)
    before, here = np.full_like(x, 2 / math.sqrt(math.pi)), erfcx(low)
    for n in range(1, order + 1):
        before, here = here, (before - 2 * low * here) / (2 * n)
    is_high = x > start
    if not is_high.any():
        return here
    high = np.where(is_high, x, 1.0)
    return np.where(is_high, _by_polynomial(high, order) if order <= MOST else _by_fraction(high, order), here)


def _by_polynomial(x: np.ndarray[Any, Any], order: int) -> Any:
    coefficients, shift = smooth(order)
    near = np.minimum(x, 1e300)
    place, total = (near - SPLIT) / (near + SPLIT), np.zeros_like(x)
    for c in reversed(coefficients):
        total = total * place + c
    return total * (1 / (x + shift)) ** (order + 1)


def _by_fraction(x: np.ndarray[Any, Any], order: int) -> Any:
    ratio = 1 / (x + np.sqrt(x * x + 2.0 * (order + _FRACTION_STEPS)))
    product = np.full_like(x, 2 / math.sqrt(math.pi))
    for n in range(order + _FRACTION_STEPS, -1, -1):
        ratio = 1 / (2 * (x + (n + 1) * ratio))
        if n <= order:
            product = product * ratio
    # the fraction of order 0 is twice erfcx over the constant: W(0) = 2 / sqrt(pi) ratio(0)
    return product


def _integral_kernel(x: np.ndarray[Any, Any], order: int) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(_erfcx_integral(x, order)).astype(x.dtype)[()]


def _hazard(erfcx: Callable[..., Any], x: np.ndarray[Any, Any]) -> Any:
    """In float64: in float32 erfcx is infinite where the hazard is a number still, and a factor's rounding grows."""
    with np.errstate(over="ignore", under="ignore"):
        tail = erfcx(np.asarray(x, np.float64) * -math.sqrt(0.5))
        return np.asarray(math.sqrt(2 / math.pi) / tail).astype(x.dtype)[()]


def _expi(scipys: Callable[..., Any], x: np.ndarray[Any, Any]) -> Any:
    """Infinite at infinity, where SciPy before 1.14 has NaN."""
    return np.where(x == np.inf, x, scipys(x))[()]


# -- polygamma ---------------------------------------------------------------------------------------------------------


def _cotangent(x: np.ndarray[Any, Any]) -> Any:
    """cot(pi x)."""
    apart = x - np.round(x)
    # near a pole and near a zero between two of them neither of these rounds off what counts
    return np.sin(np.pi * (0.5 - np.abs(apart))) / np.sin(np.pi * apart)


def _cotangent_derivative(x: np.ndarray[Any, Any], order: int) -> Any:
    """The derivative of pi cot(pi x) of an order: a polynomial in the cotangent, since cot' is -(1 + cot^2)."""
    polynomial = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(order):
        polynomial = -polynomial.deriv() * np.polynomial.Polynomial([1.0, 0.0, 1.0])
    return math.pi ** (order + 1) * polynomial(_cotangent(x))


_POLYGAMMA_FAR = 1e6


def _polygamma(x: np.ndarray[Any, Any], order: int) -> Any:
    """SciPy's function, and below 0 by reflection: SciPy's loop there takes as many steps as x is large.

    Far out SciPy's factor beside (order)! is denormal where the product is not: there it is the asymptotic series.
    """
    from scipy.special import polygamma

    is_below, is_far = (x < 0) & (x > -np.inf), x > _POLYGAMMA_FAR * max(order, 1)
    if order == 0 or not np.any(is_below | is_far):
        return np.asarray(polygamma(order, x)).astype(x.dtype)[()]
    if np.any(is_far):
        far = np.where(is_far, x, 1.0).astype(np.float64)
        with np.errstate(under="ignore"):
            part = order / far
            factor = (math.exp(math.lgamma(order) / order) / far) ** order
            leading = -((-1.0) ** order) * factor * (1 + part / 2 + part * (part + 1 / far) / 12)
        return np.where(is_far, leading, _polygamma(np.where(is_far, 1.0, x), order)).astype(x.dtype)[()]
    with np.errstate(all="ignore"):
        low = np.where(is_below, x, -0.5).astype(np.float64)
        mirrored = _cotangent_derivative(low, order)
        pole = (-1.0) ** (order + 1) * np.inf  # SciPy's: the limit from above
        below = np.where(low == np.round(low), pole, (-1.0) ** order * polygamma(order, 1 - low) - mirrored)
        return np.where(is_below, below, polygamma(order, np.where(is_below, 1.0, x))).astype(x.dtype)[()]


# -- differences of polygamma ------------------------------------------------------------------------------------------

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_SHIFT = 10
_BLOCK = 4096  # elements


def polygamma_step(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], order: int) -> Any:
    """Both moved up by the recurrence, then by the asymptotic series, difference by difference of powers.

    The powers of a place stand along a first axis, so long arrays go in blocks. Of digamma what is not above 0 is
    reflected first, so that there, too, one difference of positive ones is left.
    """
    x, step = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if x.size > _BLOCK:
        cuts = range(_BLOCK, x.size, _BLOCK)
        parts = zip(np.split(x.ravel(), cuts), np.split(step.ravel(), cuts), strict=True)
        return np.concatenate([polygamma_step(*part, order) for part in parts]).reshape(x.shape)
    other = x + step
    is_plain = (x > 0) & (other > 0)
    if is_plain.all():
        return _step_of_positive(x, other, step, order)
    if order == 0:
        return _psi_step(x, other, step, ~is_plain & ((x <= 0) | (other <= 0)))
    start, end = np.where(is_plain, x, 1.0), np.where(is_plain, other, 1.0)
    found = _step_of_positive(start, end, np.where(is_plain, step, 0.0), order)
    return np.where(is_plain, found, _polygamma(other, order) - _polygamma(x, order))


def _psi_step(x: Any, other: Any, step: Any, is_below: Any) -> Any:
    """psi(other) - psi(x); where one is not above 0, what is below 1/2 is reflected."""
    one, two = is_below & (x < 0.5), is_below & (other < 0.5)
    start, end = np.where(one, 1 - x, x), np.where(two, 1 - other, other)
    move = np.where(one & two, -step, np.where(is_below, end - start, step))
    found = _step_of_positive(start, end, move, 0)
    return np.where(is_below, found + _mirrored(x, other, step, one, two), found)


def _mirrored(x: Any, other: Any, step: Any, one: Any, two: Any) -> Any:
    """pi cot(pi x) - pi cot(pi other) of what is turned; of both it is pi sin(pi step) over two sines, exact for a
    small step and next to poles. At a pole it is NaN, at 0 the infinity of its sign."""
    first, second = one & (x == np.round(x)), two & (other == np.round(other))
    is_plain = ~(first | second)

    def apart(v: Any, has_place: Any) -> Any:
        place = np.where(has_place & is_plain, v, 0.25)
        return place - np.round(place)

    low, high, moved = apart(x, one), apart(other, two), apart(step, one & two)
    turns = np.round(high - low - moved)
    both = np.where(turns == 0, 1.0, -1.0) * np.sin(np.pi * moved) / np.sin(np.pi * low) / np.sin(np.pi * high)
    alone = np.where(one, _cotangent(low), 0.0) - np.where(two, _cotangent(high), 0.0)
    poles = [
        np.where(is_pole, np.where(v == 0, np.copysign(np.inf, v), np.nan), 0.0)
        for v, is_pole in ((x, first), (other, second))
    ]
    return np.where(is_plain, math.pi * np.where(one & two, both, alone), poles[0] - poles[1])


def _step_of_positive(x: Any, other: Any, step: Any, order: int) -> Any:
    """The difference for x and what a step leads to, both above 0: no digits cancel, as all powers have one factor
    in common, the difference of the first ones, that is -step / (x other)."""
    is_endless = (step == np.inf) & (x < np.inf)
    low, high = np.minimum(x, other), np.maximum(x, other)
    shifts = np.arange(_SHIFT + order).reshape(-1, *[1] * x.ndim)
    factorial = math.factorial

    def moved(k: Any) -> Any:
        return -np.where(is_endless, 1.0, step / (high + k)) / (low + k)

    terms = _terms(1 / (low + shifts), 1 / (high + shifts), order + 1)
    total = factorial(order) * np.sum(moved(shifts) * terms, axis=0)
    far = float(_SHIFT + order)
    one, two = 1 / (low + far), 1 / (high + far)
    # the series is P(t) = t^(n+2) Q(t^2) and two terms before it, of which the difference is taken as in P
    value, slope = np.zeros_like(one), np.zeros_like(one)
    for k in range(len(_BERNOULLI), 0, -1):
        slope = slope * two**2 + value
        value = value * one**2 + _BERNOULLI[k - 1] * factorial(2 * k + order - 1) / factorial(2 * k)
    series = value * _terms(one, two, order + 2) + slope * (one + two) * two ** (order + 2)
    series = series + 0.5 * factorial(order) * _terms(one, two, order + 1)
    if order:
        series = series + factorial(order - 1) * _terms(one, two, order)
    total = total + moved(far) * series
    if order == 0:
        return np.log1p(step / (x + far)) - total
    return total if order % 2 else -total


def _terms(x: Any, y: Any, k: int) -> Any:
    """(y^k - x^k) / (y - x), for k from 1 on."""
    found, power = np.ones_like(x), np.ones_like(y)
    for _ in range(k - 1):
        power = power * y
        found = found * x + power
    return found


def _step_kernel(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], order: int) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(polygamma_step(a, b, order)).astype(a.dtype)[()]


def _poch(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> Any:
    """Moved up by the recurrence, then by Stirling's formula."""
    with np.errstate(all="ignore"):
        x, step = np.asarray(a, np.float64), np.asarray(b, np.float64)
        is_inside = (x > 0) & (x + step > 0)
        x, step = np.where(is_inside, x, 1.0), np.where(is_inside, step, 1.0)
        factor = np.ones_like(x)
        for k in range(10):
            factor = factor * ((x + k) / (x + step + k))
        low, high = x + 10, x + 10 + step
        exponent = step * np.log(high) + (low - 0.5) * np.log1p(step / low) - step
        exponent = exponent + beyond_stirling(high) - beyond_stirling(low)
        return np.where(is_inside, factor * np.exp(exponent), np.nan).astype(a.dtype)[()]


# -- the beta function -------------------------------------------------------------------------------------------------

_LARGE = 10.0  # from here on Stirling's series is exact


def _betaln_of_large(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> Any:
    """log(beta(a, b)) for 0 < a <= b and b large, in which SciPy's large terms cancel."""
    from scipy.special import gammaln

    whole = a + b
    low = np.minimum(a, _LARGE)  # where both are large the small one's formula is not used
    one = _lgamma(gammaln, low) + low - low * np.log(whole) + (b - 0.5) * np.log1p(-low / whole)
    one = one + beyond_stirling(b) - beyond_stirling(low + b)
    high = np.maximum(a, _LARGE)
    rest = beyond_stirling(high) + beyond_stirling(b) - beyond_stirling(high + b)
    share = high / b
    two = 0.5 * (np.log(2 * np.pi) - np.log(b)) + (high - 0.5) * np.log(share / (1 + share))
    two = two - b * np.log1p(share) + rest
    return np.where(a < _LARGE, one, two)


def _beta(name: str) -> Kernel:
    """SciPy's function where both arguments are of moderate size, else by Stirling's formula."""
    plain = lazy("scipy.special", name)

    def kernel(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Any:
        with np.errstate(all="ignore"):
            low, high = np.minimum(x, y), np.maximum(x, y)
            is_large = (high > _LARGE) & (low > 0) & (high < np.inf)
            value = plain(x, y)
            if not np.any(is_large):
                return value
            wide = [np.where(is_large, v, _LARGE).astype(np.float64) for v in (low, high)]
            ours = _betaln_of_large(*wide)
            return np.where(is_large, np.exp(ours) if name == "beta" else ours, value).astype(x.dtype)[()]

    return kernel


beta, betaln = _beta("beta"), _beta("betaln")

# -- where SciPy gives up ----------------------------------------------------------------------------------------------


# near 0 the function is -log |x|, and no number is so near that is not denormal
_LARGEST_LGAMMA_OF_NORMAL = 80.0


def _lgamma(gammaln: Callable[..., Any], x: np.ndarray[Any, Any]) -> Any:
    """SciPy's function divides by x, which overflows for denormal numbers."""
    value = gammaln(x)
    if not (value > _LARGEST_LGAMMA_OF_NORMAL).any():
        return value
    size = np.abs(x)
    is_tiny = (size < np.finfo(x.dtype).tiny) & (size > 0)
    return np.where(is_tiny, -np.log(np.where(is_tiny, size, 1)), value).astype(x.dtype)[()] if is_tiny.any() else value


def _second_kind(name: str) -> Kernel:
    """`kv` or `kve`; of whole orders with values where SciPy's are NaN, as in machine code: of the least number, which
    is halved to 0 there, and scaled ones from 1e9 on."""
    scipys = _with_order(name)

    def kernel(x: np.ndarray[Any, Any], order: float) -> Any:
        found = scipys(x, order)
        if abs(order) not in range(1, KV_MOST + 1) or not np.isnan(found).any():
            return found
        wide = np.asarray(x, np.float64)
        size = np.maximum(wide, 1e9)
        square, place = 4 * order * order, 1 / (8 * size)  # the first terms of the expansion (DLMF 10.40.2)
        far = np.sqrt(np.pi / 2) / np.sqrt(size) * (1 + (square - 1) * place * (1 + (square - 9) * place / 2))
        values = np.where(wide < 1.0, np.inf, far if name == "kve" else 0.0).astype(found.dtype)
        return np.where(np.isnan(found) & ((wide > 0.0) & (wide < 1.0) | (wide > 1e9)), values, found)[()]

    return kernel


_scaled_second_kind = _second_kind("kve")


def _kv() -> Kernel:
    """SciPy's function takes results below 1e-305 for 0; there it is the scaled one, scaled back."""
    plain, scaled = _second_kind("kv"), _scaled_second_kind

    def kernel(x: np.ndarray[Any, Any], order: float) -> Any:
        is_far = x > KV_FAR
        value = plain(x, order)
        if not np.any(is_far):
            return value
        with np.errstate(all="ignore"):
            far = scaled(x, order) * np.exp(-x)  # NaN where x is too large for it, and the plain one 0
            return np.where(is_far & ~np.isnan(far), far, value).astype(x.dtype)[()]

    return kernel


KERNELS: dict[str, Any] = {
    "erfcx_integral": _integral_kernel,
    "normal_hazard": lazy("scipy.special", "erfcx", _hazard),
    "expi": lazy("scipy.special", "expi", _expi),
    "polygamma_step": _step_kernel,
    "poch": _poch,
    "beta": beta,
    "betaln": betaln,
    **_GROWN,
    **{name: lazy("scipy.special", name) for name in _SAME_NAME},
    "polygamma": in_float32(_polygamma),
    **{name: _with_order(name) for name in _WHOLE if name not in ("kv", "kve", "iv", "ive")},
    "iv": _first_kind("iv", False),
    "ive": _first_kind("ive", True),
    "kv": _kv(),
    "kve": _scaled_second_kind,
    "lgamma": lazy("scipy.special", "gammaln", _lgamma),
}
