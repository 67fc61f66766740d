"""Incomplete gamma and beta functions and Hurwitz's zeta function for programs that leave Python, with their
derivatives in the parameters: the methods of NumPy's kernels (`numpy/incomplete.py`, `numpy/large_parameters.py`), one
number at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...refine import PARTS
from ...special_numerics import FALL, FROM, LEAST_SUM, MOST_SUM, NEAR, NODES, beta_start, beyond_stirling
from ...taylor import Taylor
from ..ir.builder import Builder
from ..ir.loops import Operand
from . import special
from .formulas import RULES, Formulas, Scope, call_own
from .numbers import (
    EULER,
    Number,
    Some,
    Truth,
    choose,
    exp,
    expm1,
    first_of,
    fma,
    fused,
    horner,
    larger,
    log,
    log1p,
    operand,
    repeated,
    sqrt,
    where,
    zeta_less_one,
)
from .parameter_series import Orders, entries_of, fraction, packed, summed, variable, where_all
from .scalars import SCALARS, Rule
from .special import of_scipy

FORMULAS = Formulas()

_TINY = 1e-50  # of a smaller parameter the derivatives are those of this one, which overflow nowhere
_DIGAMMA = (0.0, 1 / 2, 1 / 12, 0.0, -1 / 120, 0.0, 1 / 252)
_LARGE = 10.0  # from here on Stirling's series is exact


def _rule(name: str, attrs: tuple[Any, ...], *xs: Number) -> Number:
    """A primitive whose rule needs no function of its own."""
    return Number(xs[0].b, SCALARS[name](xs[0].b, "f64", attrs, *[x.x for x in xs]))


def _psi(x: Number, order: int) -> Number:
    return _rule("polygamma", (order,), x)


def log_gamma(x: Number) -> Number:
    return of_scipy(x.b, "gammaln", x)


def rest_of(share: Number) -> Number:
    """What lacks to 1."""
    return where(share < 1.0, 1.0 - share, 0.0)


# -- quadrature over a tail of large parameters ------------------------------------------------------------------------


def _off(u: Number) -> Number:
    """u - log(1 + u), near 0 by the series of the logarithm in u / (2 + u)."""
    t = u / (2.0 + u)
    square = t * t
    rest = horner(square, [0.0, *[1 / (2 * k + 1) for k in range(1, 21)]])
    return where(abs(u) < 0.5, t * (u - 2.0 * rest), u - log1p(u))


def _above_digamma(x: Number) -> Number:
    """log(x) - digamma(x) for large x."""
    return horner(1.0 / x, _DIGAMMA)


def _reach(slope: Number, curvature: Number) -> Number:
    """How far an exponent with this slope and curvature takes to grow by `FALL`."""
    return 2 * FALL / (slope + sqrt(slope * slope + 2 * FALL * curvature))


def _integral(s: Scope, integrand: Callable[[Number], Number]) -> Number:
    """The integral from 0 to 1, by Gauss's rule."""
    b = s.b
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    places, shares = s.table((nodes + 1) / 2), s.table(weights / 2)
    total = b.var("f64", 0.0)
    with b.loop(0, NODES) as i:
        part = s.read(shares, i) * integrand(s.read(places, i))
        b.set(total, operand(Number(b, b.get(total)) + part))
    return Number(b, b.get(total))


def _gamma_tail(s: Scope, a: Number, x: Number, order: int) -> Number:
    """The derivative in a of the lower function's tail below x < a, else of less the upper one's."""
    start = (x - a) / a
    side = where(start < 0.0, -1.0, 1.0)  # outwards
    reach = _reach(a * abs(start) / (1.0 + start), 0.5 * a)
    size = sqrt(a / (2 * math.pi)) * exp(-beyond_stirling(a))
    fixed = [-_psi(a, k) for k in range(1, order)]
    above = _above_digamma(a)

    def integrand(node: Number) -> Number:
        place = start + side * reach * node
        slopes = [log1p(place) + above, *fixed][:order]
        line = Taylor([[0], *[[v / float(math.factorial(k))] for k, v in enumerate(slopes, start=1)]])
        return exp(-a * _off(place)) * line.exp().derivative() / (1.0 + place)

    return -side * reach * size * _integral(s, integrand)


# -- incomplete gamma --------------------------------------------------------------------------------------------------


# gamma(2 + f) for f from 0 to 1 is the quotient of these, after Cephes's `gamma`
_ABOVE = (
    1.0, 4.94214826801497100753e-1, 2.07448227648435975150e-1, 4.76367800457137231464e-2, 1.04213797561761569935e-2,
    1.19135147006586384913e-3, 1.60119522476751861407e-4,
)  # fmt: skip
_BELOW = (
    1.0, 7.14304917030273074085e-2, -2.34591795718243348568e-1, 3.58236398605498653373e-2, 1.18139785222060435552e-2,
    -4.45641913851797240494e-3, 5.39605580493303397842e-4, -2.31581873324120129819e-5,
)  # fmt: skip
_OFF = (0.0, *[1 / (2 * k + 1) for k in range(1, 18)])  # of artanh(t) / t - 1 in t^2, to all digits for t^2 up to 1/9
_VANISHED = 1e-140  # of smaller shares of large numbers no density is left


def _over_gamma(a: Number) -> tuple[Number, Number]:
    """1 / gamma(a) for 0 < a <= 10, as a quotient."""
    whole = a.of("floor")
    rest = a - whole
    above = fused(rest, _BELOW) * where(a < 2.0, a, 1.0) * where(a < 1.0, a + 1.0, 1.0)
    below = fused(rest, _ABOVE)
    for k in range(1, int(_LARGE) - 1):
        below = below * where(a >= k + 2.0, a - float(k), 1.0)
    return above, below


def _apart(a: Number, x: Number, line: Number) -> Number:
    """x - a - a line for large a, where `line` is log(x / a); near a by its series in (x - a) / (x + a)."""
    half = 0.5 * (x - a)
    t = half / (0.5 * x + 0.5 * a)
    near = 2.0 * t * (half - a * fused(t * t, _OFF))
    return where(abs(half) < 0.25 * a, near, (x - a) - a * line)


class _Size(NamedTuple):
    """A number in parts: e^exponent times a factor over a divisor, none of which leaves the range before the number."""

    exponent: Number
    factor: Number
    divisor: Number


def _size_in_parts(a: Number, x: Number) -> _Size:
    """x^(a-1) e^-x / gamma(a) of numbers above 0.

    For large a it is made of what x lies off a, and of Stirling's series; for small a of x^a, which loses no digits
    where x is near 0.
    """
    is_large, is_small = a > _LARGE, a < 0.5
    share = x / where(is_large, a, 1.0)
    is_gone = is_large & (share < _VANISHED)
    line = log(where(is_gone, _VANISHED, share))
    large, moved = where(is_large, a, _LARGE), where(is_large, x, _LARGE)
    far = -_apart(large, moved, line) - beyond_stirling(large)
    plain, place = where(is_large, 1.0, a), where(is_large, 1.0, x)
    near = where(is_small, plain, plain - 1.0) * line - place
    above, below = _over_gamma(plain)
    factor = where(is_large, sqrt((0.5 / math.pi) * large), above)
    factor = factor / where(is_gone, 1.0, where(is_large, moved, below))
    return _Size(where(is_large, far, near), factor, where(is_small, x, 1.0))


@FORMULAS.add("gamma_size", 2, in_lanes=True)
def _gamma_size(s: Scope, a: Number, x: Number) -> Some:
    """x^(a-1) e^-x / gamma(a), without branches."""
    # each by itself, so that of a parameter that is the same for all nothing is computed for each
    is_fit, is_inside = (a > 0.0) & (a < math.inf), (x > 0.0) & (x < math.inf)
    size = _size_in_parts(where(is_fit, a, 1.0), where(is_inside, x, 1.0))
    is_inside &= is_fit
    found = exp(size.exponent) * size.factor / size.divisor
    at_zero = where(a < 1.0, math.inf, where(a == 1.0, 1.0, 0.0))
    is_valid = (a >= 0.0) & (x >= 0.0) & ((a > 0.0) | (x > 0.0)) & ((a < math.inf) | (x < math.inf))
    return where(is_inside, found, where(is_valid, where(x == 0.0, at_zero, 0.0), math.nan))


@FORMULAS.add("gamma_share", 2, in_lanes=True)
def _gamma_share(s: Scope, a: Number, x: Number) -> Some:
    """x^a e^-x / gamma(a + 1), for positive ones."""
    size = _size_in_parts(a, x)
    return exp(size.exponent) * (size.factor / a) * (x / size.divisor)


def _gamma_power(s: Scope, a: Number, x: Number, order: int) -> Taylor:
    """x^a e^-x / gamma(a + 1) in a."""
    slopes = [log(x) - _psi(a + 1.0, 0), *[-_psi(a + 1.0, k) for k in range(1, order)]][:order]
    line = Taylor([[0], *[[v / float(math.factorial(k))] for k, v in enumerate(slopes, start=1)]])
    return line.exp() * call_own(s.b, "gamma_share", (), a, x)


def _gamma_series(s: Scope, a: Number, x: Number, order: int) -> Number:
    """The lower function by its power series, for x < a + 1."""
    orders = (order, 0)
    shifted = variable(a, orders, (1, 0))
    total = summed(s.b, orders, lambda k: (shifted + k).reciprocal() * x)
    return (_gamma_power(s, a, x, order) * total).derivative()


def _gamma_fraction(s: Scope, a: Number, x: Number, order: int) -> Number:
    """The upper function by its continued fraction, for x >= a + 1."""
    orders = (order, 0)
    shifted = variable(a, orders, (1, 0))

    def pair(k: Number) -> tuple[Taylor, Taylor]:
        return (shifted - k) * k, -shifted + (x + (2.0 * k + 1.0))

    below = fraction(s.b, orders, -shifted + (x + 1.0), lambda m: [pair(2.0 * m - 1.0), pair(2.0 * m)])
    found = (_gamma_power(s, a, x, order) * shifted / below).derivative()
    # far out factors may be infinite
    return where(call_own(s.b, "gamma_share", (), a, x) == 0.0, 0.0, found) if order else found


@FORMULAS.add("gammainc", 2, in_lanes=True)
def _gammainc(s: Scope, a: Number, x: Number, order: int) -> Some:
    """The regularised lower function, or its derivative in a."""
    is_valid = (a >= 0.0) & (x >= 0.0)
    is_inside = (a > 0.0) & (x > 0.0) & (x < math.inf) & (a < math.inf)
    if order:
        is_valid = (a > 0.0) & (x >= 0.0)
        edge: Some = 0.0
    else:
        is_valid &= ((a > 0.0) | (x > 0.0)) & ((a < math.inf) | (x < math.inf))
        edge = where((x > 0.0) & (a < math.inf), 1.0, 0.0)
    base = larger(a, _TINY) if order else a
    whole = 0.0 if order else 1.0
    is_large = (base >= FROM) & (abs(x - base) <= NEAR * base)

    def near() -> Number:
        tail = _gamma_tail(s, base, x, order)
        return _without_sign(tail) if order else where(tail < 0.0, 1.0 + tail, tail)

    return first_of(
        [
            (~is_valid, lambda: math.nan),
            (~is_inside, lambda: edge),
            (is_large, near),
            (x < base + 1.0, lambda: _without_sign(_gamma_series(s, base, x, order))),
        ],
        lambda: _without_sign(whole - _gamma_fraction(s, base, x, order)),
    )


def _without_sign(x: Number) -> Number:
    """x, but a zero as one above 0."""
    return where(x == 0.0, 0.0, x)


_LOG_GAMMA = (0.0, 1 - EULER, *[(-1) ** k * zeta_less_one(k) / k for k in range(2, 30)])


_SMALL_TERMS = 19  # of the series in x for x up to 1.1


def _is_small(a: Number, x: Number) -> Truth:
    return (a <= 1.3) & (x <= 1.1)


def _upper_of_small(a: Number, x: Number) -> Number:
    """The upper function of small numbers, exact also where the lower one is near 1 for its small a (DLMF 8.7.3).

    The sum of (-x)^n / (n! (a + n)) is one quotient. Where a is nearer to 1 than to 0, the series of gamma(1 + a) is
    taken in a - 1: the logarithms of a beside it cancel.
    """
    is_near_0 = a <= 0.5
    line = horner(where(is_near_0, a, a - 1.0), _LOG_GAMMA) - where(is_near_0, log1p(where(is_near_0, a, 0.0)), 0.0)
    factor, above, below = -x, -x, a + 1.0
    for n in range(2, _SMALL_TERMS + 1):
        factor = factor * (x * (-1.0 / n))
        place = a + float(n)
        above, below = fma(above, place, factor * below), below * place
    power = expm1(a * log(x) - line)
    return -fma((power + 1.0) * a, above / below, power)


@FORMULAS.add("gammaincc", 2, in_lanes=True)
def _gammaincc(s: Scope, a: Number, x: Number) -> Some:
    """The regularised upper function."""
    is_valid = (a >= 0.0) & (x >= 0.0) & ((a > 0.0) | (x > 0.0)) & ((a < math.inf) | (x < math.inf))
    is_inside = (a > 0.0) & (x > 0.0) & (x < math.inf) & (a < math.inf)
    is_large = (a >= FROM) & (abs(x - a) <= NEAR * a)
    is_small = _is_small(a, x)

    def near() -> Number:
        tail = _gamma_tail(s, a, x, 0)
        return where(tail < 0.0, -tail, 1.0 - tail)

    return first_of(
        [
            (~is_valid, lambda: math.nan),
            (~is_inside, lambda: where((x > 0.0) & (a < math.inf), 0.0, 1.0)),
            (is_large, near),
            (is_small, lambda: _upper_of_small(a, x)),
            ((x < a) | (x <= 1.1), lambda: rest_of(_gamma_series(s, a, x, 0))),
        ],
        lambda: _gamma_fraction(s, a, x, 0),
    )


@FORMULAS.add("gammaincc_of_scipy", 2, in_lanes=True)
def _gammaincc_of_scipy(s: Scope, a: Number, x: Number) -> Some:
    """SciPy's upper function, but ours of small numbers, of which SciPy sums zeta functions."""
    return choose(
        (a > _TINY) & (x > _TINY) & _is_small(a, x),
        lambda: call_own(s.b, "gammaincc", (), a, x),
        lambda: of_scipy(s.b, "gammaincc", a, x),
    )


# -- incomplete beta ---------------------------------------------------------------------------------------------------


def _beta_in_parts(a: Number, b: Number, x: Number, rest: Number) -> tuple[_Size, _Size, _Size, Number]:
    """The densities of two gamma variables and of their sum, and a factor: with it, the first two over the third are
    the density of the first one's share of the sum.

    What all three are taken at may have any common factor, here one that keeps it from vanishing.
    """
    total = a + b
    factor = where(total > 1.0, total, 1.0)
    places = (a, factor * x), (b, factor * rest), (total, factor)
    one, two, both = (_size_in_parts(*place) for place in places)
    return one, two, both, factor


@FORMULAS.add("beta_size", 3, in_lanes=True)
def _beta_size(s: Scope, a: Number, b: Number, x: Number) -> Some:
    """x^(a-1) (1-x)^(b-1) / beta(a, b), without branches."""
    is_fit = (a > 0.0) & (b > 0.0) & (a + b > LEAST_SUM) & (a + b < MOST_SUM)
    is_inside = (x > 0.0) & (x < 1.0)
    first, second, place = where(is_fit, a, 0.5), where(is_fit, b, 0.5), where(is_inside, x, 0.5)
    is_inside &= is_fit
    one, two, both, factor = _beta_in_parts(first, second, place, 1.0 - place)
    size = exp(one.exponent + two.exponent - both.exponent) * one.factor * (factor / both.factor) * two.factor
    found = size / (one.divisor * two.divisor)  # of both none, since they are taken at 1 where it is small
    return where(is_inside, found, _beta_size_at_ends(a, b, x))


def _beta_size_at_ends(a: Number, b: Number, x: Number) -> Number:
    steep = where((a > 0.0) & (b > 0.0), math.inf, math.nan)
    at_zero = where(a < 1.0, steep, where(a == 1.0, b, 0.0))
    at_one = where(b < 1.0, steep, where(b == 1.0, a, 0.0))
    is_valid = (a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0) & (a < math.inf) & (b < math.inf)
    return where(is_valid, where(x == 0.0, at_zero, where(x == 1.0, at_one, 0.0)), math.nan)


@FORMULAS.add("beta_share", 3, in_lanes=True)
def _beta_share(s: Scope, a: Number, b: Number, x: Number) -> Some:
    """x^a (1-x)^b / (a beta(a, b)) inside, without branches, as the density."""
    rest = 1.0 - x
    one, two, both, factor = _beta_in_parts(a, b, x, rest)
    size = exp(one.exponent + two.exponent - both.exponent) * (one.factor / a) * (two.factor / both.factor)
    return size * (factor * x / one.divisor) * (rest / two.divisor)


def _step_to_sum(a: Number, b: Number, n: int) -> Number:
    """polygamma(n, a + b) - polygamma(n, a + 1); by the recurrence where b - 1 would lose b."""
    is_small = b < 0.5
    step = _rule("polygamma_step", (n,), a + 1.0, where(is_small, b, b - 1.0))
    over = 1.0 / (a + b)
    power = over
    for _ in range(n):
        power = power * over
    return where(is_small, step - (-1.0) ** n * math.factorial(n) * power, step)


def _beta_power(share: Number, a: Number, b: Number, x: Number, orders: Orders) -> Taylor:
    """x^a (1-x)^b / (a beta(a, b)) in a and b, of which the share is the value."""
    ways = {(1, 0): lambda: log(x), (0, 1): lambda: log1p(-x)}

    def term(i: int, j: int) -> Some:
        n = i + j - 1
        if n < 0:
            return 0
        if i and j:
            slope = _psi(a + b, n)
        else:
            slope = _step_to_sum(a, b, n) if i else _rule("polygamma_step", (n,), b, a)
        slope = slope + ways[i, j]() if n == 0 else slope
        return slope / float(math.factorial(i) * math.factorial(j))

    line = Taylor([[term(i, j) for j in range(orders[1] + 1)] for i in range(orders[0] + 1)])
    return line.exp() * share


@FORMULAS.add("beta_below", 3, in_lanes=True)
def _beta_below(s: Scope, a: Number, b: Number, x: Number, order_a: int, order_b: int) -> Some:
    """I_x(a, b) for x below (a + 1) / (a + b + 2), or its derivative: by the even part of the continued fraction of
    DLMF 8.17.22, of positive terms, freed of its denominators."""
    orders = (order_a, order_b)
    first, second = variable(a, orders, (1, 0)), variable(b, orders, (0, 1))
    both = variable(a + b, orders, (1, 1))
    apart = first - both * x
    start = beta_start(a, b, x)
    # in which nothing cancels, unless its products are beyond the largest number
    apart.c[0][0] = where(start == start, -start * a, a - (a + b) * x)
    past = apart + 1.0

    def pair(m: Number) -> tuple[Taylor, Taylor]:
        low, high = first + (2.0 * m - 1.0), first + (2.0 * m + 1.0)
        step = (second - m) * (m * x)
        # the first one is freed of a beside, of whose series that of a small a has too few digits
        one = variable(1.0, orders, (0, 0))
        before = where_all(m == 1.0, one, (first + (m - 1.0)) * (low - 2.0))
        above = ((both + (m - 1.0)) * x) * step * high
        below = low * high * m + step * high + (first + m) * (past + m * (2.0 - x)) * low
        return above * before, below

    value = fraction(s.b, orders, past, lambda m: [pair(2.0 * m - 1.0), pair(2.0 * m)])
    share = call_own(s.b, "beta_share", (), a, b, x)
    found = (_beta_power(share, a, b, x, orders) * (first + 1.0) / value).derivative()
    return where(share == 0.0, 0.0, found)  # far out factors may be infinite


@FORMULAS.add("beta_tail", 3, in_lanes=True)
def _beta_tail(s: Scope, a: Number, b: Number, start: Number, order_a: int, order_b: int) -> Some:
    """The same for large a and b, and x near and not above a / (a + b)."""
    ratio, total = a / b, a + b
    apart = -start
    slope = a * apart * (1.0 / (1.0 - apart) + ratio / (1.0 + apart * ratio))
    reach = _reach(slope, 0.5 * a * (1.0 + ratio))
    above = _above_digamma(total)
    lines = [_above_digamma(a) - above, _above_digamma(b) - above]
    size = sqrt(a / b * total / (2 * math.pi))
    size = size * exp(beyond_stirling(total) - beyond_stirling(a) - beyond_stirling(b))
    fixed = {
        (i, j): _beta_step(a, b, i, j)
        for i in range(order_a + 1) for j in range(order_b + 1) if i + j > 1
    }  # fmt: skip

    def integrand(node: Number) -> Number:
        place = start - reach * node
        other = -place * ratio
        moving = {(1, 0): log1p(place) + lines[0], (0, 1): log1p(other) + lines[1]}

        def term(i: int, j: int) -> Some:
            if i + j == 0:
                return 0
            return (moving[i, j] if i + j == 1 else fixed[i, j]) / float(math.factorial(i) * math.factorial(j))

        line = Taylor([[term(i, j) for j in range(order_b + 1)] for i in range(order_a + 1)])
        density = exp(-a * _off(place) - b * _off(other)) / ((1.0 + place) * (1.0 + other))
        return density * line.exp().derivative()

    return size * reach * _integral(s, integrand)


def _beta_step(a: Number, b: Number, i: int, j: int) -> Number:
    """Derivatives from the second on of -log(beta(a, b))."""
    n = i + j - 1
    if i and j:
        return _psi(a + b, n)
    return _rule("polygamma_step", (n,), a, b) if i else _rule("polygamma_step", (n,), b, a)


_SLOW = 0.99  # nearer to 1 the fraction of the lower function takes many steps, unless x is small for the parameters


def _beta_parts(
    s: Scope, a: Number, b: Number, x: Number, orders: Orders, low: Callable[[Number], Some],
    high: Callable[[Number], Some], is_high_wanted: bool = False,
) -> Number:  # fmt: skip
    """Inside: `low` of the lower function or `high` of the upper one, whichever converges faster; the upper one where
    it is wanted and vanishes with a."""
    start = beta_start(a, b, x)
    is_large = (where(a < b, a, b) >= FROM) & (abs(start) * larger(1.0 + 0.0 * a, a / b) <= NEAR)
    # up to the mean, where neither function is near 1, but not where the fraction converges slowly
    converges = x * (a + b + 2.0) < a + 1.0
    is_low = ((start <= 0.0) & ((x < _SLOW) | converges)) | (converges & (x <= 1.0 - _SLOW))
    if is_high_wanted:
        is_low &= (a > 0.1) | (x < 0.01)

    def of_either(name: str, is_own: Truth, third: Number, turned: Number) -> Number:
        """A function of a, b and a third number, or of b, a and another: of the same orders it is one call."""
        if orders[0] == orders[1]:
            given = where(is_own, a, b), where(is_own, b, a), where(is_own, third, turned)
            found = call_own(s.b, name, orders, *given)
            return where(is_own, low(found), high(found))
        return choose(
            is_own, lambda: low(call_own(s.b, name, orders, a, b, third)),
            lambda: high(call_own(s.b, name, (orders[1], orders[0]), b, a, turned)),
        )  # fmt: skip

    return choose(
        is_large, lambda: of_either("beta_tail", start <= 0.0, start, -start * a / b),
        lambda: of_either("beta_below", is_low, x, 1.0 - x),
    )  # fmt: skip


@FORMULAS.add("betainc", 3, in_lanes=True)
def _betainc(s: Scope, a: Number, b: Number, x: Number, order_a: int, order_b: int) -> Some:
    """The regularised incomplete beta function, or its derivative in a and b."""
    if not order_a and not order_b:
        return _beta_value(a, b, x, 0.0, lambda: _beta_parts(s, a, b, x, (0, 0), lambda p: p, rest_of))
    is_valid = (a > 0.0) & (b > 0.0) & (x >= 0.0) & (x <= 1.0)
    is_inside = (x > 0.0) & (x < 1.0) & (a < math.inf) & (b < math.inf)
    # both tiny: only their ratio counts, and a derivative grows as they shrink
    scale = larger(1e20 * _TINY / larger(larger(a, b), 1e-320), 1.0)
    first, second = larger(a * scale, _TINY), larger(b * scale, _TINY)

    def inside() -> Number:
        found = _beta_parts(s, first, second, x, (order_a, order_b), lambda p: p, lambda q: -q)
        for _ in range(order_a + order_b):
            found = found * scale
        return _without_sign(found)

    return first_of([(~is_valid, lambda: math.nan), (~is_inside, lambda: 0.0)], inside)


@FORMULAS.add("betaincc", 3, in_lanes=True)
def _betaincc(s: Scope, a: Number, b: Number, x: Number) -> Some:
    """1 - betainc(a, b, x)."""
    return _beta_value(a, b, x, 1.0, lambda: _beta_parts(s, a, b, x, (0, 0), rest_of, lambda q: q, True))


# parameters of which ours is about as exact as SciPy's, and exact enough for float32: of tiny ones a 1 cancels
_OURS, _OURS_OF_SINGLE = (0.1, FROM), (1e-5, math.inf)
_TURNED = (0.01, 1e3)  # ... and of which SciPy's lower function has few rounding errors ...
_LEAST = 1e-200  # ... down to so small a value


def _are_within(bounds: tuple[float, float], a: Number, b: Number, x: Number) -> Truth:
    low, high = bounds
    return (a >= low) & (b >= low) & (a <= high) & (b <= high) & (x > 0.0) & (x < 1.0)


@FORMULAS.add("betainc_of_scipy", 3, in_lanes=True)
def _betainc_of_scipy(s: Scope, a: Number, b: Number, x: Number) -> Some:
    """SciPy's function, but of moderate parameters ours, whose vectors take a fifth of the time."""
    return choose(
        _are_within(_OURS, a, b, x), lambda: call_own(s.b, "betainc", (0, 0), a, b, x),
        lambda: of_scipy(s.b, "betainc", a, b, x),
    )  # fmt: skip


@FORMULAS.add("betaincc_of_scipy", 3, in_lanes=True)
def _betaincc_of_scipy(s: Scope, a: Number, b: Number, x: Number, is_for_single: int) -> Some:
    """SciPy's upper function, whose type of more digits takes ten times as long as its lower one: where the parameters
    are moderate ours, and the lower one where that cancels nothing."""

    ours = _OURS_OF_SINGLE if is_for_single else _OURS

    def whole() -> Number:
        return of_scipy(s.b, "betaincc", a, b, x)

    def turned() -> Number:
        found = of_scipy(s.b, "betainc", b, a, 1.0 - x)
        return choose(found >= _LEAST, lambda: found, whole)

    def rest() -> Number:
        lower = of_scipy(s.b, "betainc", a, b, x)
        return choose(lower <= 0.5, lambda: 1.0 - lower, whole)

    can_turn = _are_within(_TURNED, a, b, x)
    return first_of(
        [
            (_are_within(ours, a, b, x), lambda: call_own(s.b, "betaincc", (), a, b, x)),
            (can_turn & (x >= 0.5), turned),  # of such an x the rest is exact
            (can_turn, rest),
        ],
        whole,
    )


def _beta_value(a: Number, b: Number, x: Number, at_zero: float, inside: Callable[[], Number]) -> Number:
    """A value, at the ends what it tends to: of a parameter of 0 or infinity all lies at one end."""
    one = 1.0 - at_zero
    is_low = ((a == 0.0) & (b > 0.0)) | ((b == math.inf) & (a < math.inf))  # all of it at 0
    is_high = ((b == 0.0) & (a > 0.0)) | ((a == math.inf) & (b < math.inf))
    is_valid = (a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0) & ((a > 0.0) | (b > 0.0))
    return first_of(
        [
            (~is_valid | ((a == math.inf) & (b == math.inf)), lambda: math.nan),
            (is_low, lambda: where(x > 0.0, one, at_zero)),
            (is_high, lambda: where(x < 1.0, at_zero, one)),
            (x == 0.0, lambda: at_zero),
            (x == 1.0, lambda: one),
        ],
        inside,
    )


# -- quantiles ---------------------------------------------------------------------------------------------------------


def _root(
    s: Scope, low: float, high: float, step_at: Callable[[Number], tuple[Number, Number]]
) -> Number:  # fmt: skip
    """Where a growing function is 0: Newton's steps and halvings in turn. `step_at` gives value and slope."""

    def step(k: Number, low: Number, high: Number, at: Number, last: Number) -> list[Some]:
        value, slope = step_at(at)
        low, high = where(value < 0.0, at, low), where(value < 0.0, high, at)
        newton = at - value / slope
        is_inside = (newton > low) & (newton < high) & (k - 2.0 * (0.5 * k).of("floor") > 0.5)
        return [k + 1.0, low, high, where(is_inside, newton, 0.5 * (low + high)), at]

    def goes_on(k: Number, low: Number, high: Number, at: Number, last: Number) -> Any:
        return (k < 200.0) & (high - low > 1e-16 * larger(abs(at), 1.0)) & (at != last)

    return repeated(s.b, [0.0, low, high, 0.5 * (low + high), math.nan], goes_on, step)[3]


@FORMULAS.add("gammaincinv", 2, in_lanes=True)
def _gammaincinv(s: Scope, a: Number, p: Number) -> Some:
    """The x at which the lower function is p, by its logarithm."""

    def step_at(line: Number) -> tuple[Number, Number]:
        x = exp(line)
        lack = choose(
            p <= 0.5, lambda: call_own(s.b, "gammainc", (0,), a, x) - p,
            lambda: (1.0 - p) - call_own(s.b, "gammaincc", (), a, x),
        )  # fmt: skip
        return lack, call_own(s.b, "gamma_size", (), a, x) * x

    is_valid = (a > 0.0) & (a < math.inf) & (p >= 0.0) & (p <= 1.0)
    cases = [(~is_valid, lambda: math.nan), (p == 0.0, lambda: 0.0), (p == 1.0, lambda: math.inf)]
    return first_of(cases, lambda: exp(_root(s, -745.0, 709.0, step_at)))


@FORMULAS.add("betaincinv", 3, in_lanes=True)
def _betaincinv(s: Scope, a: Number, b: Number, p: Number) -> Some:
    """The x at which the incomplete beta function is p, by the logarithm of x / (1 - x)."""

    def step_at(line: Number) -> tuple[Number, Number]:
        x, rest = 1.0 / (1.0 + exp(-line)), 1.0 / (1.0 + exp(line))
        lack = choose(
            p <= 0.5, lambda: call_own(s.b, "betainc", (0, 0), a, b, x) - p,
            lambda: (1.0 - p) - call_own(s.b, "betainc", (0, 0), b, a, rest),
        )  # fmt: skip
        return lack, call_own(s.b, "beta_share", (), a, b, x) * a

    is_valid = (a > 0.0) & (b > 0.0) & (a < math.inf) & (b < math.inf) & (p >= 0.0) & (p <= 1.0)
    cases = [(~is_valid, lambda: math.nan), (p == 0.0, lambda: 0.0), (p == 1.0, lambda: 1.0)]
    return first_of(cases, lambda: 1.0 / (1.0 + exp(-_root(s, -745.0, 745.0, step_at))))


# -- Hurwitz's zeta function -------------------------------------------------------------------------------------------

# how far ahead the Euler-Maclaurin formula takes over, by the type; for slopes in s it is FURTHER
_AHEAD = {"f64": 7, "f32": 4}
_FURTHER = 10
_STEEP = {"f64": 400.0, "f32": 80.0}  # of larger s no power from there on is a number but 0
_TERMS = {"f64": 12, "f32": 4}
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330, 854513 / 138,
    -236364091 / 2730,
)  # fmt: skip


class _Zeta:
    """The sum of (k + q)^-s, or its derivative in s of an order."""

    def __init__(self, s: Number, order: int) -> None:
        self.s = s
        self.ahead = _FURTHER if order else _AHEAD[s.type]
        self.orders = (order, 0)
        self.shifted = variable(s, self.orders, (1, 0))

    def power(self, t: Number, more: float = 0.0) -> Taylor:
        """t^(more - s) in s."""
        line = (self.shifted - self.s) * -log(t) if self.orders[0] else Taylor([[0]])
        return line.exp() * t ** (more - self.s)

    def above(self, q: Number) -> Number:
        """Of a q above 0."""
        total = self.power(q)
        for k in range(1, self.ahead):
            total = total + self.power(q + float(k))
        return self.behind(total, q + float(self.ahead))

    def below(self, q: Number) -> Number:
        """Of any other, up to where it is above 0."""

        def step(t: Number, *entries: Number) -> list[Some]:
            (total,) = packed([*entries], self.orders)
            return [t + 1.0, *entries_of(total + self.power(t))]

        start = [q, *[0.0] * (self.orders[0] + 1)]
        t, *entries = repeated(q.b, start, lambda t, *entries: t < float(self.ahead), step)
        (total,) = packed(entries, self.orders)
        return self.behind(total, t)

    def behind(self, total: Taylor, t: Number) -> Number:
        """With all terms from t on."""
        before = self.power(t, 1.0)
        here = before / t  # which may be 0 where t^(1 - s) is a number
        total = total + before / (self.shifted - 1.0) + here * 0.5
        steep = _STEEP[t.type]
        s = variable(where(self.s < steep, self.s, steep), self.orders, (1, 0))
        rising = s / t
        for k, number in enumerate(_BERNOULLI[: _TERMS[t.type]], start=1):
            total = total + here * rising * (number / math.factorial(2 * k))
            rising = rising * (s + (2.0 * k - 1.0)) * (s + 2.0 * k) / (t * t)
        return total.derivative()


@FORMULAS.add("zeta", 2)  # of rare numbers, beside what is vector code
def _zeta(scope: Scope, s: Number, q: Number, order: int) -> Some:
    """The sum of (k + q)^-s, or its derivative in s."""
    found = _Zeta(s, order)
    is_pole = (q <= 0.0) & (q == q.of("floor"))
    is_valid = (s > 1.0) & ((q > 0.0) | (s == s.of("floor")))
    if order:
        is_valid = (s > 1.0) & (q > 0.0)
    cases: list[tuple[Any, Callable[[], Some]]] = [
        (is_valid & (q > 0.0) & (q < math.inf) & (s < math.inf), lambda: found.above(q)),
        (s == 1.0, lambda: math.nan if order else math.inf),
    ]
    if not order:
        cases.append((is_pole & ~(s < 1.0), lambda: math.inf))
        cases.append((s == math.inf, lambda: where(q < 1.0, math.inf, where(q > 1.0, 0.0, q))))
    else:  # (-log q)^order q^-s, of which 1 to some power is 1
        cases.append((is_valid & (s == math.inf), lambda: where(q < 1.0, math.inf, 0.0)))
    return first_of([*cases, (~is_valid, lambda: math.nan), (q == math.inf, lambda: 0.0)], lambda: found.below(q))


def _is_plain(s: Number, q: Number) -> Truth:
    """Whether all terms are positive, and their sum is a number."""
    return (s > 1.0) & (s < math.inf) & (q > 0.0) & (q < math.inf)


def _zeta_plain(b: Builder, t: str, attrs: tuple[Any, ...], s: Operand, q: Operand) -> Operand:
    """The function or a slope where all terms are positive, else -0, which adds nothing. It is vector code; of slopes,
    whose terms cancel, always in float64."""
    kind = "f64" if attrs[0] else t
    first, second = (Number(b, b.convert(kind, t, x), kind) for x in (s, q))
    is_plain = _is_plain(first, second)
    found = _Zeta(where(is_plain, first, 2.0), attrs[0]).above(where(is_plain, second, 1.0))
    return b.convert(t, kind, where(is_plain, found, -0.0).x)


def _zeta_elsewhere(b: Builder, t: str, attrs: tuple[Any, ...], s: Operand, q: Operand) -> Operand:
    """-0 where the other part has the value, else a call."""
    first, second = (Number(b, b.convert("f64", t, x)) for x in (s, q))
    found = choose(_is_plain(first, second), lambda: -0.0, lambda: call_own(b, "zeta", attrs, first, second))
    return b.convert(t, "f64", found.x)


def _in_place(name: str) -> Rule:
    """A formula where a call of it would stand: what has no branches becomes vector code."""

    def rule(b: Builder, t: str, attrs: tuple[Any, ...], *xs: Operand) -> Operand:
        numbers = [Number(b, b.convert("f64", t, x)) for x in xs]
        return b.convert(t, "f64", operand(FORMULAS[name].make(Scope(b), *numbers, *attrs)))

    return rule


def _value(b: Builder, name: str, t: str, attrs: tuple[Any, ...], xs: Sequence[Operand]) -> Operand:
    """A function's value: of float64 SciPy's, which NumPy's kernel has to the last bit; of float32, whose vectors take
    a third of the time, ours."""
    if t == "f64" or b.is_single:
        return special.IN_PROCESS[name](b, t, attrs, *xs)
    return RULES[name](b, t, attrs, *xs)


def _with_slopes(name: str) -> Rule:
    """The function, and ours for its derivatives in parameters."""

    def rule(b: Builder, t: str, attrs: tuple[Any, ...], *xs: Operand) -> Operand:
        return RULES[name](b, t, attrs, *xs) if any(attrs) else _value(b, name, t, attrs, xs)

    return rule


def _upper(b: Builder, t: str, attrs: tuple[Any, ...], a: Operand, x: Operand) -> Operand:
    """The function, but of float64 ours where both operands are small: SciPy's takes ten times as long there, for a sum
    of zeta functions."""
    if t != "f64":
        return _value(b, "gammaincc", t, attrs, (a, x))
    return call_own(b, "gammaincc_of_scipy", (), Number(b, a), Number(b, x)).x


def _beta_lower(b: Builder, t: str, attrs: tuple[Any, ...], *xs: Operand) -> Operand:
    if any(attrs) or t != "f64":
        return _with_slopes("betainc")(b, t, attrs, *xs)
    if b.is_single:
        return special.IN_PROCESS["betainc"](b, t, attrs, *xs)
    return call_own(b, "betainc_of_scipy", (), *[Number(b, x) for x in xs]).x


def _beta_upper(b: Builder, t: str, attrs: tuple[Any, ...], *xs: Operand) -> Operand:
    if t != "f64" and b.is_single:
        return special.IN_PROCESS["betaincc"](b, t, attrs, *xs)
    wide = [Number(b, b.convert("f64", t, x)) for x in xs]
    return b.convert(t, "f64", call_own(b, "betaincc_of_scipy", (int(t != "f64"),), *wide).x)


IN_PROCESS = {
    "gammaincc": _upper,
    "betainc": _beta_lower,
    "betaincc": _beta_upper,
    **{name: _in_place(name) for name in ("gamma_size", "beta_size")},
    "gammainc": _with_slopes("gammainc"),
}
ALONE = dict(zip(PARTS["zeta"], (_zeta_plain, _zeta_elsewhere), strict=True))
IN_PROCESS.update(ALONE)
