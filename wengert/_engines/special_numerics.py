"""Constants and formulas that special functions of NumPy's engine and of machine code share.

Stirling's series of the gamma function, where SciPy's `kv` gives up, and where incomplete gamma and beta functions are
quadratures near the peak of their densities. Numbers may be floats, arrays or registers under construction.
"""

from __future__ import annotations

from typing import Any

# from 10 on these terms are exact to double precision
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)

KV_FAR = 650.0  # from here on SciPy's kv, which gives up at 1e-305, is its kve times e^-x
KV_MOST = 12  # the highest whole order that machine code computes by the recurrence

FROM = 1000.0  # parameters from here on are large
NEAR = 0.3  # how far from the peak, in units of its place, is near
FALL = 45.0  # the logarithm of what is left of the integrand where the quadrature ends
NODES = 56

# by the bits of a type: of larger numbers e^x may be infinite
EXPONENTIAL = {64: 700.0, 32: 80.0}

# beta densities of parameters with a smaller or a larger sum count as 0: all there is lies at an end or at the peak
LEAST_SUM, MOST_SUM = 1e-300, 1e200


def by_scaled(scaled: Any, size: Any, bits: int, least: Any, exp: Any) -> Any:
    """i0 or i1 from what is e^-size of it: a number a little farther than e^size is one.

    `least` gives the smaller of an array and a number.
    """
    low = least(size, EXPONENTIAL[bits])
    return scaled * exp(low) * exp(size - low)


def beyond_stirling(x: Any) -> Any:
    """log(gamma(x)) less (x - 1/2) log(x) - x + log(2 pi) / 2, for large x."""
    over, total = 1 / x, 0.0
    for coefficient in reversed(STIRLING):
        total = total * (over * over) + coefficient
    return total * over


def beta_start(a: object, b: object, x: object) -> Any:
    """How far x lies off a / (a + b), in units of that: (x (a + b) - a) / a, with the products' rounding errors."""
    first, lost = _product(x, a)
    second, more = _product(x, b)
    apart = first - a
    back = apart - first  # Knuth's sum: what the difference has lost
    lost = lost + ((first - (apart - back)) - (a + back))
    return ((apart + second) + (lost + more)) / a


def _product(x: Any, y: Any) -> tuple[Any, Any]:
    """A product and its rounding error (Dekker)."""
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def _halves(x: Any) -> tuple[Any, Any]:
    scaled = x * 134217729.0  # 2^27 + 1
    high = scaled - (scaled - x)
    return high, x - high
