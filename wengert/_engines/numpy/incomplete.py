"""NumPy-engine kernels of `_prims/incomplete.py`: SciPy's values, and derivatives in the parameters.

The derivatives are those of the power series (Moore 1982) and the continued fractions (Moore 1982; Boik & Robison-Cox
1998), carried along as truncated Taylor series while these are summed; of large parameters near the peak of the density
they are integrals (`large_parameters.py`). All in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..refine import PARTS
from ..special_numerics import FROM, LEAST_SUM, MOST_SUM, NEAR, beta_start, beyond_stirling
from ..taylor import Taylor, fraction, through, variable
from .common import lazy
from .large_parameters import beta_derivative, gamma_derivative, off
from .special import beta, betaln, polygamma_step

_MOST_STEPS = 100_000
_TINY = 1e-50  # of a smaller parameter the derivatives are those of this one, which overflow nowhere


def _in_float64(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of arrays of one shape that computes in float64, on flat arrays, without warnings."""

    def kernel(x: np.ndarray[Any, Any], *rest: object) -> Any:
        flat = [np.asarray(v, np.float64).ravel() if isinstance(v, (np.ndarray, np.generic)) else v for v in (x, *rest)]
        with np.errstate(all="ignore"):
            return np.reshape(function(*flat), np.shape(x)).astype(x.dtype)

    return kernel


def _steps(*sizes: np.ndarray[Any, Any]) -> int:
    """As many steps as series and fractions of parameters this large may need."""
    top = max((float(np.max(s, initial=0.0, where=np.isfinite(s))) for s in sizes), default=0.0)
    return int(min(_MOST_STEPS, 200 + 30 * math.sqrt(top)))


# -- incomplete gamma --------------------------------------------------------------------------------------------------


_LARGE = 10.0  # from here on Stirling's series is exact


def _gamma_size(a: np.ndarray[Any, Any], x: np.ndarray[Any, Any]) -> Any:
    """x^(a-1) e^-x / gamma(a): of large a by what x lies off a, and Stirling's series."""
    from scipy.special import gammaln, xlogy

    line = np.where(a < 1e-300, -np.log(a), gammaln(a))  # of which SciPy knows no logarithm
    vanishes = (np.isposinf(x) & (a < np.inf)) | ((a > 1e300) & (x < np.inf))
    plain = np.where(vanishes, 0.0, np.exp(xlogy(a - 1, x) - x - line))
    plain = np.where((a >= 0) & (x >= 0), plain, np.nan)
    is_large = (a > _LARGE) & (a < np.inf) & (x > 0.1 * a) & (x < 10 * a)
    if not is_large.any():
        return plain
    own, place = np.where(is_large, a, _LARGE), np.where(is_large, x, _LARGE)
    log_size = -own * off((place - own) / own) - beyond_stirling(own)
    return np.where(is_large, np.exp(log_size) * np.sqrt(own / (2 * math.pi)) / place, plain)


def _gamma_share(a: np.ndarray[Any, Any], x: np.ndarray[Any, Any]) -> Any:
    """x^a e^-x / gamma(a + 1), for positive ones."""
    from scipy.special import gammaln

    plain = np.exp(a * np.log(x) - x - gammaln(a + 1))
    is_large = a > _LARGE
    return np.where(is_large, _gamma_size(a, x) * (x / a), plain) if is_large.any() else plain


def _gamma_power(a: np.ndarray[Any, Any], x: np.ndarray[Any, Any], order: int) -> Taylor:
    """x^a e^-x / gamma(a + 1) in a."""
    from scipy.special import polygamma

    orders = (order, 0)
    # but for its value, which is the density's
    line = through(a, orders, (1, 0), lambda k: np.zeros_like(a) if k == 0 else polygamma(k - 1, a + 1))
    moved = variable(a, orders, (1, 0)) - a
    return (moved * np.log(x) - line).exp() * _gamma_share(a, x)


def _gamma_series(a: np.ndarray[Any, Any], x: np.ndarray[Any, Any], order: int) -> Any:
    """The lower function by its power series, for x < a + 1."""
    shifted = variable(a, (order, 0), (1, 0))
    term = through(a, (order, 0), (0, 0), lambda k: np.ones_like(a))
    total = term
    for k in range(1, _steps(a)):
        term = term * x / (shifted + k)
        total = total + term
        if all(np.all(np.abs(t[0]) <= 1e-17 * np.abs(s[0])) for t, s in zip(term.c, total.c, strict=True)):
            break
    return (_gamma_power(a, x, order) * total).derivative()


def _gamma_fraction(a: np.ndarray[Any, Any], x: np.ndarray[Any, Any], order: int) -> Any:
    """Less the upper function, by its continued fraction, for x >= a + 1."""
    shifted = variable(a, (order, 0), (1, 0))

    def terms(k: int) -> tuple[Taylor, Taylor]:
        return (shifted - k) * k, (x + (2 * k + 1)) - shifted

    upper = _gamma_power(a, x, order) * shifted / fraction(terms, _steps(a))
    return np.where(_gamma_share(a, x) == 0, 0.0, -upper.derivative())  # far out, where its factors may be infinite


def _gammainc(a: np.ndarray[Any, Any], x: np.ndarray[Any, Any], order: int) -> Any:
    from scipy.special import gammainc

    if order == 0:
        return gammainc(a, x)
    result = np.where((a > 0) & (x >= 0), 0.0, np.nan)
    inside = (a > 0) & (x > 0) & np.isfinite(x) & np.isfinite(a)
    a = np.maximum(a, _TINY)
    is_large = inside & (a >= FROM) & (np.abs(x - a) <= NEAR * a)
    inside &= ~is_large
    for part, method in (
        (is_large, gamma_derivative), (inside & (x < a + 1), _gamma_series), (inside & (x >= a + 1), _gamma_fraction)
    ):  # fmt: skip
        if part.any():
            result[part] = method(a[part], x[part], order)
    return result + 0.0  # a zero has no sign


# -- incomplete beta ---------------------------------------------------------------------------------------------------


def _beta_size(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], x: np.ndarray[Any, Any]) -> Any:
    """x^(a-1) (1-x)^(b-1) / beta(a, b), of which the body takes twice the time and loses digits of float32.

    Of two gamma variables whose sum is a + b, the first one's share of it has the beta distribution; what all three
    densities are taken at may have any common factor, here one that keeps it from vanishing.
    """
    is_inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & (a + b > LEAST_SUM) & (a + b < MOST_SUM)
    first, second, place = (np.where(is_inside, v, 0.5) for v in (a, b, x))
    total = first + second
    factor = np.maximum(total, 1.0)
    found = _gamma_size(first, factor * place) * (factor / _gamma_size(total, factor))
    found = found * _gamma_size(second, factor * (1 - place))
    steep = np.where((a > 0) & (b > 0), np.inf, np.nan)
    at_zero = np.where(a < 1, steep, np.where(a == 1, b, 0.0))
    at_one = np.where(b < 1, steep, np.where(b == 1, a, 0.0))
    is_valid = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1) & (a < np.inf) & (b < np.inf)
    ends = np.where(is_valid, np.where(x == 0, at_zero, np.where(x == 1, at_one, 0.0)), np.nan)
    return np.where(is_inside, found, ends)


def _beta_slopes(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], orders: tuple[int, int]) -> Taylor:
    """-log(a beta(a, b)) but for its value, in which digamma's differences do not cancel."""
    from scipy.special import digamma, polygamma

    def term(i: int, j: int) -> Any:
        n = i + j - 1
        if n < 0:
            return np.zeros_like(a)
        if i and j:
            slope = polygamma(n, a + b) if n else digamma(a + b)
        else:
            slope = _step_to_sum(a, b, n) if i else polygamma_step(b, a, n)
        return slope / (math.factorial(i) * math.factorial(j))

    return Taylor([[term(i, j) for j in range(orders[1] + 1)] for i in range(orders[0] + 1)])


def _step_to_sum(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], n: int) -> Any:
    """polygamma(n, a + b) - polygamma(n, a + 1); by the recurrence where b - 1 would lose b."""
    is_small = b < 0.5
    step = polygamma_step(a + 1, np.where(is_small, b, b - 1), n)
    return np.where(is_small, step - (-1.0) ** n * math.factorial(n) / (a + b) ** (n + 1), step)


def _beta_fraction(
    a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], x: np.ndarray[Any, Any], orders: tuple[int, int]
) -> Any:
    """I_x(a, b) by the even part of its continued fraction (DLMF 8.17.22), freed of its denominators."""
    first, second, both = variable(a, orders, (1, 0)), variable(b, orders, (0, 1)), variable(a + b, orders, (1, 1))

    start = beta_start(a, b, x)
    past = first - both * x + 1.0
    past.c[0][0] = np.where(np.isnan(start), a - (a + b) * x, -start * a) + 1.0

    def terms(m: int) -> tuple[Taylor, Taylor]:
        if m == 0:
            return past, past
        low, high = first + (2 * m - 1), first + (2 * m + 1)
        step = (second - m) * (m * x)
        above = ((both + (m - 1)) * x) * step * high
        if m > 1:
            above = above * ((first + (m - 1)) * (low - 2.0))
        return above, low * high * m + step * high + (first + m) * (past + m * (2 - x)) * low

    line = first * np.log(x) + second * np.log1p(-x) - (betaln(a, b) + np.log(a)) + _beta_slopes(a, b, orders)
    power = line.exp()
    found = (power * (first + 1.0) / fraction(terms, 2 * _steps(a, b))).derivative()
    return np.where(power.c[0][0] == 0, 0.0, found)  # far out factors may be infinite


def _betainc(
    a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], x: np.ndarray[Any, Any], order_a: int, order_b: int
) -> Any:
    from scipy.special import betainc

    if not order_a and not order_b:
        return betainc(a, b, x)
    is_valid = (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
    result = np.where(is_valid, 0.0, np.nan)
    inside = is_valid & (x > 0) & (x < 1) & np.isfinite(a) & np.isfinite(b)
    # both tiny: only their ratio counts, and a derivative grows as they shrink
    scale = np.maximum(1.0, 1e20 * _TINY / np.maximum(np.maximum(a, b), 1e-320))
    a, b = np.maximum(a * scale, _TINY), np.maximum(b * scale, _TINY)
    start = beta_start(a, b, x)
    is_large = inside & (np.minimum(a, b) >= FROM) & (np.abs(start) * np.maximum(1.0, a / b) <= NEAR)
    for part, is_flipped in ((is_large & (start <= 0), False), (is_large & (start > 0), True)):
        if part.any() and is_flipped:
            result[part] = -beta_derivative(b[part], a[part], -(start * a / b)[part], order_b, order_a)
        elif part.any():
            result[part] = beta_derivative(a[part], b[part], start[part], order_a, order_b)
    inside &= ~is_large
    converges = x * (a + b + 2) < a + 1
    low = inside & (((start <= 0) & ((x < 0.99) | converges)) | (converges & (x <= 0.01)))
    if low.any():
        result[low] = _beta_fraction(a[low], b[low], x[low], (order_a, order_b))
    high = inside & ~low
    if high.any():
        result[high] = -_beta_fraction(b[high], a[high], 1 - x[high], (order_b, order_a))
    return np.where(result == 0, 0.0, result * scale ** (order_a + order_b))  # a zero has no sign, and stays one


# -- Hurwitz's zeta function -------------------------------------------------------------------------------------------

_FAR = 20.0
_NEAR_ONE = 1.1  # of an s below, terms that are small beside the first add up to much
_STEEP = 1e3  # from here on 20**-s is 0
_AHEAD = 20  # terms summed before the Euler-Maclaurin formula takes over
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def _zeta(s: np.ndarray[Any, Any], q: np.ndarray[Any, Any], order: int) -> Any:
    from scipy.special import zeta

    if order == 0:
        is_far = ((q > _FAR) | ((q > 0) & (s < _NEAR_ONE))) & np.isfinite(q) & (s > 1) & (s < _STEEP)
        value = zeta(s, q)
        if is_far.any():  # where SciPy's powers lose digits, or it stops too early
            value[is_far] = _zeta_sum(variable(s[is_far], (0, 0), (0, 0)), q[is_far]).derivative()
        return np.where(np.isnan(value) & (s > 1) & (q > 1), 0.0, value)  # of an s that has no squares
    is_limit = np.isposinf(s) | np.isposinf(q)  # the first term, (-log q)^order q^-s, of which 1 to some power is 1
    inside = _zeta_sum(
        variable(np.where(is_limit, 2.0, s), (order, 0), (1, 0)), np.where(is_limit, 1.0, q)
    ).derivative()
    found = np.where(is_limit, np.where(q < 1, np.inf, 0.0), inside)
    return np.where((s > 1) & (q > 0), found, np.nan)


def _parts(name: str, kernel: Callable[..., Any], least: float) -> dict[str, Any]:
    """Of a function that is plain where the first operand is above a number and the second one above 0."""

    def part_of(of_plain: bool) -> Callable[..., Any]:
        def part(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], *attrs: object) -> Any:
            is_plain = (x > least) & (x < np.inf) & (y > 0) & (y < np.inf)
            return np.where(is_plain == of_plain, kernel(x, y, *attrs), -0.0)

        return part

    return dict(zip(PARTS[name], map(part_of, (True, False)), strict=True))


# by the names that a compiler gives them
KERNELS_OF_PARTS = {
    **{part: _in_float64(kernel) for part, kernel in _parts("zeta", _zeta, 1.0).items()},
    **_parts("beta", beta, 0.0), **_parts("betaln", betaln, 0.0),
}  # fmt: skip


def _zeta_sum(s: Taylor, q: np.ndarray[Any, Any]) -> Taylor:
    def power(t: np.ndarray[Any, Any], exponent: Taylor) -> Taylor:
        moved = exponent - exponent.c[0][0]
        return (moved * np.log(t)).exp() * t ** exponent.c[0][0]

    total = power(q, -s)
    for k in range(1, _AHEAD):
        total = total + power(q + k, -s)
    t = q + _AHEAD
    here = power(t, -s)
    total = total + power(t, 1.0 - s) / (s - 1.0) + here * 0.5  # t ** -s may be 0 where this is a number
    first = s.c[0][0]
    s = s - (first - np.minimum(first, _STEEP))  # of more, whose powers would overflow, `here` is 0
    rising = s / t
    for k, number in enumerate(_BERNOULLI, start=1):
        total = total + here * rising * (number / math.factorial(2 * k))
        rising = rising * (s + (2 * k - 1)) * (s + 2 * k) / (t * t)
    return total


KERNELS: dict[str, Any] = {
    "gamma_size": _in_float64(_gamma_size),
    "beta_size": _in_float64(_beta_size),
    "gammainc": _in_float64(_gammainc),
    "gammaincc": lazy("scipy.special", "gammaincc"),
    "betainc": _in_float64(_betainc),
    "betaincc": lazy("scipy.special", "betaincc"),
    "gammaincinv": lazy("scipy.special", "gammaincinv"),
    "betaincinv": lazy("scipy.special", "betaincinv"),
    "zeta": _in_float64(_zeta),
}
