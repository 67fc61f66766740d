"""The gamma and the beta function of float64, for vectors whose lanes take ways of their own.

A number is moved by whole steps to where a polynomial serves, between 2 and 3: the one through Chebyshev's points,
worked out with 50 digits. Large ones have Stirling's formula. Where beta functions have an end, or gamma functions a
product that overflows, the value is SciPy's, which NumPy's kernels have.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...refine import PARTS
from ...special_numerics import beyond_stirling
from ..ir.builder import Builder
from ..ir.loops import Operand
from . import special
from .formulas import Formulas, Scope, call_own
from .gamma_function import PLAIN, ends, is_plain
from .log_gamma import log_gamma
from .numbers import Number, Some, Truth, choose, exp, first_of, fma, log, log1p, repeated, where
from .scalars import Rule
from .single_precision import mapped
from .special import of_scipy
from .standalone import is_alone

FORMULAS = Formulas()

_FAR = 33.0  # farther off numbers are not moved
_LOW, _HIGH = 2.0, 3.0
_HALF_POWER = 143.0  # of more a power of its half, squared, does not overflow
# of (gamma(2 + u) - 1) / u between 0 and 1
_SLOPE = (
    0.658680776358274, 0.2760537452678114, 0.051225543722856905, 0.012242267987432694, 0.0014668862628404156,
    0.000305662524282246, 1.9100082734188227e-05, 6.015550191593261e-06, -1.2122078961335196e-07,
    1.3661719891635046e-07, -1.683298939423233e-08, 4.333702568903424e-09, -7.900818609097179e-10,
    1.6237161740072542e-10, -3.2057145335163035e-11, 7.775377072797902e-12, -1.553965952175478e-12,
)  # fmt: skip
_ROOT_2PI = math.sqrt(2 * math.pi)
_MOST = 172.0  # of more the value is infinite
_LARGE = 10.0  # from here on Stirling's series is exact
_TINY = 1e-30  # gamma functions of less are numbers whose products may overflow


def _between(x: Number) -> Number:
    """Between 2 and 3; of 2 it is 1."""
    u = x - _LOW
    return fma(u, mapped(u, _SLOPE, 0.5, 0.5), 1.0)


def _moved(x: Number) -> Number:
    """By as many factors as there are steps: upwards they divide."""

    def step(place: Number, above: Number, below: Number) -> list[Some]:
        is_high = place >= _HIGH
        lower = place - 1.0
        factor = where(is_high, lower, place)
        return [
            where(is_high, lower, place + 1.0), where(is_high, above * factor, above),
            where(is_high, below, below * factor),
        ]  # fmt: skip

    def goes_on(place: Number, above: Number, below: Number) -> Truth:
        return (place >= _HIGH) | (place < _LOW)

    place, above, below = repeated(x.b, [x, 1.0, 1.0], goes_on, step)
    return above / below * _between(place)


def _of_large(x: Number) -> Number:
    is_huge = x > _HALF_POWER
    power = x ** where(is_huge, 0.5 * x - 0.25, x - 0.5)
    scaled = power / exp(x)
    return _ROOT_2PI * where(is_huge, power * scaled, scaled) * exp(beyond_stirling(x))


@FORMULAS.add("gamma_by_steps", 1, in_lanes=True)
def _gamma(s: Scope, x: Number) -> Some:
    size = abs(x)

    def far_below() -> Number:
        """By reflection; the sine's argument is what is left of whole numbers, which is exact."""
        turn = size - size.of("floor")
        turn = where(turn > 0.5, 1.0 - turn, turn)
        half = 0.5 * size.of("floor")
        sine = (math.pi * turn).of("sin")
        sine = where(half == half.of("floor"), -sine, sine)
        near = where(size < _MOST, size, _MOST)
        return choose(
            size < _MOST, lambda: math.pi / (size * sine * _of_large(near)), lambda: where(sine < 0.0, -0.0, 0.0)
        )

    at = ends()
    endless = where(Number(s.b, s.b.let("copysign", "f64", 1.0, x.x)) < 0.0, at.minus_zero, math.inf)
    return first_of(
        [
            (x == 0.0, lambda: endless),
            (x == -math.inf, lambda: at.minus_infinity),
            ((x < 0.0) & (x == x.of("floor")), lambda: at.whole),
            (size < _FAR, lambda: _moved(x)),
            (x >= _MOST, lambda: math.inf),
            (x > 0.0, lambda: _of_large(x)),
            (x < 0.0, far_below),
        ],
        lambda: x,
    )


def _log_of_large(low: Number, high: Number) -> Number:
    """The logarithm of the beta function for 0 < low <= high and high large, as NumPy's kernel has it."""
    beyond = beyond_stirling(high)

    def of_small() -> Number:
        whole = low + high
        one = log_gamma(low) + low - low * log(whole) + (high - 0.5) * log1p(-low / whole)
        return one + beyond - beyond_stirling(whole)

    def of_two() -> Number:
        rest = beyond_stirling(low) + beyond - beyond_stirling(low + high)
        share = low / high
        two = 0.5 * (math.log(2 * math.pi) - log(high)) + (low - 0.5) * log(share / (1.0 + share))
        return two - high * log1p(share) + rest

    return choose(low < _LARGE, of_small, of_two)


def _has_gamma(x: Number) -> Truth:
    """Whether the gamma function is a plain number, and no pole."""
    return (abs(x) > _TINY) & (abs(x) < 2 * _FAR) & ((x > 0.0) | (x != x.of("floor")))


def _by_gammas(s: Scope, low: Number, high: Number) -> Number:
    one, two, both = (call_own(s.b, "gamma_by_steps", (), x) for x in (low, high, low + high))
    return one * (two / both)


def _beta(name: str) -> Callable[[Scope, Number, Number], Some]:
    def make(s: Scope, x: Number, y: Number) -> Some:
        low, high = where(x < y, x, y), where(x < y, y, x)
        has_gammas = _has_gamma(low) & _has_gamma(high) & _has_gamma(low + high)

        def by_gammas() -> Number:
            found = _by_gammas(s, low, high)
            return log(abs(found)) if name == "betaln" else found

        def of_large() -> Number:
            found = _log_of_large(low, high)
            return found if name == "betaln" else exp(found)

        return first_of(
            [((high > _LARGE) & (high < math.inf) & (low > 0.0), of_large), (has_gammas, by_gammas)],
            lambda: of_scipy(s.b, name, x, y),
        )

    return make


def _beta_elsewhere(name: str) -> Callable[[Scope, Number, Number], Some]:
    """-0 where the plain part of the function has the value."""
    return lambda s, x, y: choose(is_plain(x, y), lambda: -0.0, lambda: call_own(s.b, _STEPS[name], (), x, y))


_STEPS = {name: f"{name}_by_steps" for name in ("gamma", *PLAIN)}
for _name in PLAIN:
    FORMULAS.add(_STEPS[_name], 2, in_lanes=True)(_beta(_name))
    FORMULAS.add(f"{_name}_elsewhere", 2, in_lanes=True)(_beta_elsewhere(_name))


def _in_vectors(name: str) -> Rule:
    """Ours for float64 where numbers are many: for one SciPy's takes less time."""

    def rule(b: Builder, t: str, attrs: tuple[object, ...], *xs: Operand) -> Operand:
        if t != "f64" or b.is_single or is_alone():
            return special.IN_PROCESS[name](b, t, attrs, *xs)
        return call_own(b, _STEPS[name], (), *[Number(b, x) for x in xs]).x

    return rule


def _elsewhere(name: str) -> Rule:
    def rule(b: Builder, t: str, attrs: tuple[object, ...], *xs: Operand) -> Operand:
        wide = [Number(b, b.convert("f64", t, x)) for x in xs]
        return b.convert(t, "f64", call_own(b, f"{name}_elsewhere", (), *wide).x)

    return rule


IN_PROCESS = {
    **{name: _in_vectors(name) for name in _STEPS},
    **{PARTS[name][1]: _elsewhere(name) for name in PLAIN},
}
