"""Bessel functions of real order (cylinder functions J, Y, I, K) for programs that leave Python.

Near 0 the power series (J, I) and Temme's (Y, K), far out Hankel's expansions. Between them orders near 0 come by
Miller's backward recurrence (J) and Steed's continued fractions (Y, K), others from these by the recurrence in its
stable direction, or by the ratio of neighbours and the Wronskian. The order is an attribute, so that what depends on it
alone is a number.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .formulas import Formulas, Scope, call_own
from .numbers import (
    EULER,
    Number,
    Some,
    Truth,
    choose,
    choose_all,
    exp,
    first_of,
    log,
    operand,
    repeated,
    sqrt,
    where,
    zeta_less_one,
)

FORMULAS = Formulas()

_NEAR = 2.0  # below it Temme's series of Y ...
_NEAR_DECAY = 1.0  # ... and of K
_EXPANDED = 25.0  # from here on Hankel's expansion of orders up to 3/2
_TOP = 40  # twice as high an order is where the way down begins
_EPSILON = 1e-16
_SMALL = 1e-290  # where a recurrence begins whose scale is found later
_MOST = 100_000.0  # steps of a fraction


def _far_from(order: float) -> float:
    """From here on the expansion in 1 / x has all digits."""
    return max(30.0, 0.5 * order * order)


def _cos_sin(share: float) -> tuple[float, float]:
    """Cosine and sine of pi times a number, exact at multiples of a half."""
    turned = math.remainder(share, 2.0)
    if turned * 2 == round(turned * 2):
        quarter = round(turned * 2) % 4
        return (1.0, 0.0, -1.0, 0.0)[quarter], (0.0, 1.0, 0.0, -1.0)[quarter]
    return math.cos(math.pi * turned), math.sin(math.pi * turned)


class _Temme(NamedTuple):
    """What Temme's series begin with, of an order between -1/2 and 1/2.

    Attributes:
        odd: (1 / gamma(1 - m) - 1 / gamma(1 + m)) / 2m, in which nothing cancels.
        even: (1 / gamma(1 - m) + 1 / gamma(1 + m)) / 2.
        factor: pi m / sin(pi m).
    """

    odd: float
    even: float
    factor: float


@functools.cache
def _temme(m: float) -> _Temme:
    # -log(gamma(1 + m)) / m of odd powers of m
    line = EULER + math.fsum((1 + zeta_less_one(k)) * m ** (k - 1) / k for k in range(3, 60, 2))
    root = math.sqrt(math.sin(math.pi * m) / (math.pi * m)) if m else 1.0
    growth = math.sinh(line * m) / (line * m) if m else 1.0
    return _Temme(-root * line * growth, root * math.cosh(line * m), 1 / root**2)


def _power(x: Number, order: float) -> Number:
    """(x / 2)^order / gamma(order + 1)."""
    if order == 0:
        return 1.0 + 0.0 * x
    if order < 170:
        return (0.5 * x) ** order / math.gamma(order + 1)
    return exp(order * log(0.5 * x) - math.lgamma(order + 1))


def _power_series(s: Scope, x: Number, order: float, sign: float) -> Number:
    square = (0.25 * sign) * (x * x)

    def step(k: Number, term: Number, total: Number) -> list[Some]:
        term = term * square / (k * (k + order))
        return [k + 1.0, term, total + term]

    def goes_on(k: Number, term: Number, total: Number) -> Truth:
        return (abs(term) > 1e-17 * abs(total)) & (k < 500.0)

    return _power(x, order) * repeated(s.b, [1.0, 1.0, 1.0], goes_on, step)[2]


def _hankel(s: Scope, x: Number, order: float, sign: float) -> tuple[Number, Number]:
    """The sums of the terms of even and of odd number of Hankel's expansion, every other term of each with a sign."""
    square = 4.0 * order * order
    place = 0.125 / x

    def next_term(term: Number, k: Number) -> Number:
        odd = 2.0 * k - 1.0
        return term * (square - odd * odd) * place / k

    def step(k: Number, term: Number, even: Number, odd: Number) -> list[Some]:
        first = next_term(term, k)
        second = sign * next_term(first, k + 1.0)
        return [k + 2.0, second, even + second, odd + first]

    def goes_on(k: Number, term: Number, even: Number, odd: Number) -> Truth:
        return (abs(term) > 1e-18) & (k < 200.0)

    _, _, even, odd = repeated(s.b, [1.0, 1.0, 1.0, 0.0], goes_on, step)
    return even, odd


# -- the functions J and Y, of orders from 0 on and positive arguments -------------------------------------------------


def _waves(s: Scope, x: Number, order: float) -> tuple[Number, Number]:
    """J and Y far out."""
    even, odd = _hankel(s, x, order, -1.0)
    cos, sin = _cos_sin(0.5 * order + 0.25)
    cosine = x.of("cos") * cos + x.of("sin") * sin
    sine = x.of("sin") * cos - x.of("cos") * sin
    size = math.sqrt(2 / math.pi) / sqrt(x)
    return size * (even * cosine - odd * sine), size * (even * sine + odd * cosine)


def _size_and_phase(s: Scope, x: Number, m: float) -> tuple[Number, Number]:
    """p + i q, the logarithmic derivative of J + i Y, by Steed's continued fraction."""
    first = 0.25 - m * m
    b_re = 2.0 * x

    def times(p: Number, q: Number, c: tuple[Number, Number], d: tuple[Number, Number]) -> tuple[Number, ...]:
        re, im = c[0] * d[0] - c[1] * d[1], c[0] * d[1] + c[1] * d[0]
        return p * re - q * im, p * im + q * re, abs(re - 1.0) + abs(im)

    p, q = -0.5 / x, 1.0
    share = first / x / (p * p + q * q)
    c = (b_re + q * share, 2.0 + p * share)
    size = b_re * b_re + 4.0
    d = (b_re / size, -2.0 / size)
    p, q, _ = times(p, q + 0.0 * x, c, d)

    def step(
        k: Number, a: Number, b_im: Number, c_re: Number, c_im: Number, d_re: Number, d_im: Number, p: Number,
        q: Number, off: Number,
    ) -> list[Some]:  # fmt: skip
        a, b_im = a + 2.0 * (k - 1.0), b_im + 2.0
        d_re, d_im = a * d_re + b_re, a * d_im + b_im
        share = a / (c_re * c_re + c_im * c_im)
        c_re, c_im = b_re + c_re * share, b_im - c_im * share
        size = d_re * d_re + d_im * d_im
        d_re, d_im = d_re / size, -d_im / size
        p, q, off = times(p, q, (c_re, c_im), (d_re, d_im))
        return [k + 1.0, a, b_im, c_re, c_im, d_re, d_im, p, q, off]

    start = [2.0, first, 2.0, *c, *d, p, q, 1.0]
    found = repeated(s.b, start, lambda k, *rest: (rest[-1] > _EPSILON) & (k < _MOST), step)
    return found[7], found[8]


def _descent(s: Scope, x: Number, m: float) -> tuple[Number, Number]:
    """J of an order within 1/2 of 0 and of the one above for x below `_EXPANDED`: Miller's way down, and Neumann's sum
    (DLMF 10.23.15) for the scale."""
    b = s.b
    shares = [(m + 2 * k) * math.gamma(m + k) / math.factorial(k) for k in range(_TOP, 0, -1)]
    table = s.table(np.array(shares))
    here, above, total = b.var("f64", _SMALL), b.var("f64", 0.0), b.var("f64", 0.0)
    over = 2.0 / x
    with b.loop(0, _TOP) as i:
        order = (m + 2 * _TOP) - 2.0 * Number(b, b.convert("f64", "i64", i))
        now, before = Number(b, b.get(here)), Number(b, b.get(above))
        b.set(total, operand(Number(b, b.get(total)) + s.read(table, i) * now))
        one = order * over * now - before
        b.set(above, operand(one))
        b.set(here, operand((order - 1.0) * over * one - now))
    now, before = Number(b, b.get(here)), Number(b, b.get(above))
    scale = (0.5 * x) ** m / (Number(b, b.get(total)) + math.gamma(m + 1) * now)
    return now * scale, before * scale


def _base(s: Scope, x: Number, order: float) -> list[Number]:
    """J of the order within 1/2 of 0 and of the one above, and both of Y, for x from 2 on."""
    m = order - math.floor(order + 0.5)

    def far() -> list[Number]:
        (j, y), (next_j, next_y) = _waves(s, x, m), _waves(s, x, m + 1)
        return [j, next_j, y, next_y]

    def between() -> list[Number]:
        j, next_j = _descent(s, x, m)
        p, q = _size_and_phase(s, x, m)
        y = (p * j - (m / x * j - next_j)) / q
        return [j, next_j, y, m / x * y - (q * j + p * y)]

    return choose_all(x >= _EXPANDED, far, between, 4)


def _beyond(s: Scope, x: Number, order: float, y: Number, next_y: Number) -> Number:
    """J of an order beyond x, by the ratio of neighbours and the Wronskian."""
    over = 2.0 / x

    def step(k: Number, off: Number, c: Number, d: Number, h: Number) -> list[Some]:
        b = (order + k) * over
        d, c = 1.0 / (b - d), b - 1.0 / c
        return [k + 1.0, abs(c * d - 1.0), c, d, h * (c * d)]

    first = (order + 1.0) * over
    below = repeated(s.b, [2.0, 1.0, first, 0.0, first], lambda k, off, *_: (off > _EPSILON) & (k < _MOST), step)[4]
    return over / math.pi / (y / below - next_y)


def _logarithmic(s: Scope, x: Number, order: float, is_modified: bool) -> tuple[Number, Number]:
    """Temme's series: Y or K of the order within 1/2 of 0, and of the one above, for x below 2."""
    steps = math.floor(order + 0.5)
    m = order - steps
    begin = _temme(m)
    line = -log(0.5 * x)
    e = m * line
    if m:
        growth = where(abs(e) < 1e-8, 1.0, e.of("sinh") / where(abs(e) < 1e-8, 1.0, e))
        power = exp(e)
        gap = begin.factor * (begin.odd * e.of("cosh") + begin.even * growth * line)
    else:
        power, gap = 1.0, begin.odd + begin.even * line
    above, below = 1 / math.gamma(1 + m), 1 / math.gamma(1 - m)
    square = 0.25 * (x * x)
    # Y is made of K's series with other signs, and of a part that vanishes with m
    bend = 2 / m * math.sin(0.5 * math.pi * m) ** 2 if m and not is_modified else 0.0
    scale = 1.0 if is_modified else 2 / math.pi
    square = square if is_modified else -square
    gap, p, q = scale * gap, 0.5 * scale * (power / above), 0.5 * scale / (power * below)

    def step(
        k: Number, gap: Number, p: Number, q: Number, c: Number, total: Number, second: Number, off: Number
    ) -> list[Some]:
        gap = (k * gap + p + q) / (k * k - m * m)
        c, p, q = c * square / k, p / (k - m), q / (k + m)
        whole = gap + bend * q
        part = c * whole
        return [k + 1.0, gap, p, q, c, total + part, second + c * p - k * part, abs(part)]

    start = [1.0, gap, p, q, 1.0, gap + bend * q, p, 1.0]
    found = repeated(s.b, start, lambda k, *rest: (k < 3.0) | (rest[-1] > _EPSILON * abs(rest[-3])) & (k < 200.0), step)
    sign = 1.0 if is_modified else -1.0
    return sign * found[5], sign * found[6] * 2.0 / x


def _raised(s: Scope, x: Number, order: float, pair: Sequence[Number], sign: float) -> tuple[Number, Number]:
    """Functions of an order and of the one above, from those of the order within 1/2 of 0: by
    f(above) = 2 order / x f + sign f(below)."""
    steps = math.floor(order + 0.5)
    m, over = order - steps, 2.0 / x

    def up(k: Number, here: Number, above: Number) -> list[Some]:
        found = (m + k) * over * above + sign * here
        return [k + 1.0, above, where(abs(above) == math.inf, above, found)]

    _, here, above = repeated(s.b, [1.0, *pair], lambda k, here, above: k <= float(steps), up)
    return here, above


@FORMULAS.add("bessel_j", 1)
def _j(s: Scope, x: Number, order: float) -> Some:
    def between() -> Number:
        j, next_j, y, next_y = _base(s, x, order)
        return choose(
            x < order, lambda: _beyond(s, x, order, *_raised(s, x, order, (y, next_y), -1.0)),
            lambda: _raised(s, x, order, (j, next_j), -1.0)[0],
        )  # fmt: skip

    return first_of(
        [
            ((x < _NEAR) | (x * x < 2.0 * (order + 1.0)), lambda: _power_series(s, x, order, -1.0)),
            (x >= _far_from(order), lambda: _waves(s, x, order)[0]),
        ],
        between,
    )


@FORMULAS.add("bessel_y", 1)
def _y(s: Scope, x: Number, order: float) -> Some:
    pair = choose_all(x < _NEAR, lambda: _logarithmic(s, x, order, False), lambda: _base(s, x, order)[2:], 2)
    return _raised(s, x, order, pair, -1.0)[0]


# -- the functions I and K, scaled ------------------------------------------------------------------------------------


def _fast_decay(s: Scope, x: Number, order: float) -> tuple[Number, Number]:
    """e^x K of the order within 1/2 of 0, and of the one above, for x from 2 on: Steed's second fraction and Temme's
    sum."""
    m = order - math.floor(order + 0.5)
    first = 0.25 - m * m
    b = 2.0 * (1.0 + x)

    def step(
        k: Number, a: Number, b: Number, c: Number, d: Number, change: Number, h: Number, q1: Number, q2: Number,
        q: Number, total: Number, off: Number,
    ) -> list[Some]:  # fmt: skip
        a = a - 2.0 * (k - 1.0)
        c = -a * c / k
        q1, q2 = q2, (q1 - b * q2) / a
        q, b = q + c * q2, b + 2.0
        d = 1.0 / (b + a * d)
        change = (b * d - 1.0) * change
        part = q * change
        return [k + 1.0, a, b, c, d, change, h + change, q1, q2, q, total + part, abs(part)]

    d = 1.0 / b
    start = [2.0, -first, b, first, d, d, d, 0.0, 1.0, first, 1.0 + first * d, 1.0]
    found = repeated(s.b, start, lambda k, *rest: (rest[-1] > _EPSILON * rest[-2]) & (k < _MOST), step)
    here = math.sqrt(math.pi / 2) / sqrt(x) / found[10]
    return here, here * (m + x + 0.5 - first * found[6]) / x


def _decay(s: Scope, x: Number, order: float) -> tuple[Number, Number]:
    """e^x K of an order and of the one above."""

    def near() -> list[Number]:
        factor = exp(x)
        return [factor * k for k in _logarithmic(s, x, order, True)]

    return _raised(s, x, order, choose_all(x < _NEAR_DECAY, near, lambda: _fast_decay(s, x, order), 2), 1.0)


@FORMULAS.add("bessel_k", 1)
def _k(s: Scope, x: Number, order: float) -> Some:
    """e^x K."""
    return _decay(s, x, order)[0]


def _growth(s: Scope, x: Number, order: float) -> Number:
    """e^-x I by the ratio of neighbours and the Wronskian."""
    over = 2.0 / x

    def step(k: Number, off: Number, c: Number, d: Number, h: Number) -> list[Some]:
        b = (order + k) * over
        d, c = 1.0 / (b + d), b + 1.0 / c
        return [k + 1.0, abs(c * d - 1.0), c, d, h * (c * d)]

    first = (order + 1.0) * over
    below = repeated(s.b, [2.0, 1.0, first, 0.0, first], lambda k, off, *_: (off > _EPSILON) & (k < _MOST), step)[4]
    here, above = _decay(s, x, order)
    return 1.0 / (x * (above + here / below))


@FORMULAS.add("bessel_i", 1)
def _i(s: Scope, x: Number, order: float) -> Some:
    """e^-x I."""

    def far() -> Number:
        even, odd = _hankel(s, x, order, 1.0)
        return (even - odd) / (math.sqrt(2 * math.pi) * sqrt(x))

    return first_of(
        [
            ((x < _NEAR) | (x * x < 2.0 * (order + 1.0)), lambda: _power_series(s, x, order, 1.0) * exp(-x)),
            (x >= _far_from(order), far),
        ],
        lambda: _growth(s, x, order),
    )


# -- every order, every argument ---------------------------------------------------------------------------------------


def _part(s: Scope, name: str, order: float) -> Callable[[Number], Number]:
    return lambda x: call_own(s.b, name, (float(order),), x)


def _first_kind(name: str, order: float) -> Callable[[Scope, Number], Number]:
    """J or e^-|x| I of positive x, by those of a positive order."""
    size = abs(order)

    def found(s: Scope, x: Number) -> Number:
        own = _part(s, f"bessel_{name}", size)(x)
        if order >= 0:
            return own
        if order == round(order):
            return -own if name == "j" and round(order) % 2 else own
        cos, sin = _cos_sin(size)
        if name == "j":
            return own * cos - _part(s, "bessel_y", size)(x) * sin
        return own + _part(s, "bessel_k", size)(x) * exp(-2.0 * x) * (2 / math.pi * sin)

    return found


def _at_zero(name: str, order: float) -> float:
    if order >= 0 or order == round(order):
        return 1.0 if order == 0 else 0.0
    is_negative = name == "j" and math.floor(order) % 2 == 0  # the sign of gamma(order + 1); SciPy's I has none
    return -math.inf if is_negative else math.inf


def _whole(
    name: str, x: Number, order: float, inside: Callable[[Number], Number], at_end: Callable[[], Some]
) -> Number:
    """A function of the first kind everywhere: of whole orders it is even or odd, of others there is none below 0."""
    zero = _at_zero(name, order)
    size = abs(x)
    found = first_of(
        [(x != x, lambda: x), (size == 0.0, lambda: zero), (size == math.inf, at_end)], lambda: inside(size)
    )
    if order != round(order):
        return where(x < 0.0, math.nan, found)
    return where(x < 0.0, -found, found) if round(order) % 2 else found


@FORMULAS.add("jv", 1)
def _jv(s: Scope, x: Number, order: float) -> Some:
    return _whole("j", x, order, lambda size: _first_kind("j", order)(s, size), lambda: 0.0)


@FORMULAS.add("ive", 1)
def _ive(s: Scope, x: Number, order: float) -> Some:
    return _whole("i", x, order, lambda size: _first_kind("i", order)(s, size), lambda: 0.0)


@FORMULAS.add("iv", 1)
def _iv(s: Scope, x: Number, order: float) -> Some:
    def inside(size: Number) -> Number:
        half = exp(0.5 * size)  # twice: e^x overflows before the value does
        return _first_kind("i", order)(s, size) * half * half

    return _whole("i", x, order, inside, lambda: math.inf)


def _second_kind(x: Number, at_zero: float, at_end: float, inside: Callable[[], Number]) -> Number:
    cases = [(~(x >= 0.0), lambda: math.nan), (x == 0.0, lambda: at_zero), (x == math.inf, lambda: at_end)]
    return first_of(cases, inside)


@FORMULAS.add("yv", 1)
def _yv(s: Scope, x: Number, order: float) -> Some:
    size = abs(order)
    cos, sin = _cos_sin(size)
    at_zero = -math.inf

    def inside() -> Number:
        own = _part(s, "bessel_y", size)(x)
        if order < 0:
            own = own * cos + (_part(s, "bessel_j", size)(x) * sin if sin else 0)
        return own

    if order < 0 and cos:
        at_zero = -math.inf * cos
    return _second_kind(x, at_zero, 0.0, inside)


@FORMULAS.add("kve", 1)
def _kve(s: Scope, x: Number, order: float) -> Some:
    return _second_kind(x, math.inf, 0.0, lambda: _part(s, "bessel_k", abs(order))(x))


@FORMULAS.add("kv", 1)
def _kv(s: Scope, x: Number, order: float) -> Some:
    return _second_kind(x, math.inf, 0.0, lambda: _part(s, "bessel_k", abs(order))(x) * exp(-x))
