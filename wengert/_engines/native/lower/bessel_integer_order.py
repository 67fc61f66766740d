"""Modified Bessel functions of the first kind, of orders 0 to 4: near 0 in x^2, and far out by a polynomial in 1 / x.

Below 8 the power series, or in float32 a polynomial of fewer terms, all positive, so that Horner's scheme is exact to
some units of the last place. From 8 on sqrt(x) e^-x I(x) of orders 0 and 1 are polynomials in 16 / x - 1 (Chebyshev's,
written in powers; errors below 1e-16), and higher orders follow by the recurrence, which cancels little there. Those of
float32 are polynomials of least squares of relative errors at Chebyshev's points, below 5e-8 once rounded. No branch
and no call: loops are vector code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from ..ir.builder import Builder
from ..ir.loops import Operand
from . import special
from .numbers import Number, exp, fused, sqrt, where
from .scalars import Rule

MOST = 4  # the highest order that the recurrence serves
_FROM = 8.0
_TERMS = 27

# of I(x) / (x / 2)^order, in (x / 2)^2
_NEAR: dict[str, Sequence[Sequence[float]]] = {
    "f64": [[1.0 / (math.factorial(k) * math.factorial(k + n)) for k in range(_TERMS)] for n in range(MOST + 1)],
    "f32": (
        (
            1, 1.00000024, 0.24999921, 0.0277787838, 0.00173551403, 6.96346469e-05, 1.89413549e-06, 4.31318163e-08,
            3.8222206e-10, 1.49663702e-11,
        ),
        (
            1, 0.50000006, 0.0833332092, 0.00694458326, 0.000347148132, 1.15957482e-05, 2.7186573e-07,
            5.29891908e-09, 4.6026679e-11, 1.44056837e-12,
        ),
        (
            0.5, 0.166666672, 0.0208333191, 0.00138890359, 5.78629806e-05, 1.65549511e-06, 3.41093163e-08,
            5.79992554e-10, 4.92775352e-12, 1.2600042e-13,
        ),
        (
            0.166666672, 0.041666653, 0.00416669762, 0.000231456841, 8.27664462e-06, 2.04714169e-07, 4.05985112e-09,
            3.92491005e-11, 1.13970031e-12,
        ),
        (
            0.0416666679, 0.00833333191, 0.000694447139, 3.30667062e-05, 1.03417312e-06, 2.28072832e-08, 4.00965788e-10,
            3.77934966e-12, 9.14035286e-14,
        ),
    ),
}  # fmt: skip
_FAR: dict[str, Sequence[Sequence[float]]] = {
    "f64": (
        (
            0.4021765094450081, 0.0033605519836678614, 0.0001362160743919305, 1.1143033790932038e-05,
            1.4838475658279249e-06, 2.9735985885673923e-07, 8.872219737904054e-08, 3.932584334552952e-08,
            2.1548377974791598e-08, 7.554691881248808e-09, -6.747657956107524e-09, -1.340891754008974e-08,
            -5.404771567579958e-09, 7.552583062123384e-09, 7.430464650325426e-09, -3.505966530879332e-09,
            -5.95356943826489e-09, 1.5200816953924232e-09, 3.6379546359011143e-09, -5.715843864202709e-10,
            -1.618980683624682e-09, 1.5279202694981569e-10, 4.577087631643623e-10, -2.0260604287413626e-11,
            -6.067631570603006e-11,
        ),
        (
            0.38939845902587233, -0.009749577193235737, -0.00021923576383388928, -1.5038547200567216e-05,
            -1.8349101326980946e-06, -3.483855761044295e-07, -1.0001288294864884e-07, -4.312917729178349e-08,
            -2.337392820814264e-08, -8.427766093735185e-09, 6.734464815301592e-09, 1.4034238782067183e-08,
            5.974437608040264e-09, -7.64239413436356e-09, -7.888351507862078e-09, 3.4262341490077958e-09,
            6.242741219786445e-09, -1.4387250533041013e-09, -3.794670896208339e-09, 5.295625441161261e-10,
            1.6848984479705146e-09, -1.4011625179770627e-10, -4.758818838703853e-10, 1.8515118828852956e-11,
            6.305965197150057e-11,
        ),
    ),
    "f32": (
        (
            0.402176499, 0.00336055551, 0.000136156043, 1.11127183e-05, 1.63912966e-06, 3.62210983e-07,
        ),
        (
            0.389398456, -0.00974958204, -0.000219168083, -1.50020333e-05, -2.00979298e-06, -4.22580939e-07,
        ),
    ),
}  # fmt: skip


def _near(x: Number, order: int) -> Number:
    """I(x) for 0 <= x < 8."""
    half = 0.5 * x
    found = fused(half * half, _NEAR[x.type][order])
    for _ in range(order):
        found = found * half
    return found


def _far(x: Number, order: int) -> Number:
    """sqrt(x) e^-x I(x) for x >= 8."""
    place = 16.0 / x - 1.0
    before, here = (cast(Number, fused(place, coefficients)) for coefficients in _FAR[x.type])
    if order == 0:
        return before
    for n in range(1, order):
        before, here = here, before - (2.0 * n) / x * here
    return here


def modified(b: Builder, t: str, x: Operand, order: int, is_scaled: bool) -> Operand:
    """I(x) of a whole order up to `MOST`, times e^-|x| if it is scaled."""
    given = Number(b, x, t)
    size = abs(given)
    is_near = size < _FROM
    near, far = where(is_near, size, 0.0), where(is_near, _FROM, size)
    # e^x is asked for once, and in two halves: it overflows before I(x) does
    power = exp(-near if is_scaled else 0.5 * far)
    low, high = _near(near, order), _far(far, order) / sqrt(far)
    value = where(is_near, low * power, high) if is_scaled else where(is_near, low, high * power * power)
    if order % 2:
        value = where(given < 0.0, -value, value)
    if order % 2 and order > 1 and is_scaled:  # SciPy's, in float64, has no zero below zero
        return (
            b.let("add", t, value.x, 0.0) if t == "f64" else where((given == 0.0) | (given == -math.inf), 0.0, value).x
        )
    return value.x


def _plain(order: int, is_scaled: bool) -> Rule:
    return lambda b, t, attrs, x: modified(b, t, x, order, is_scaled)


def _of_order(name: str, is_scaled: bool) -> Rule:
    other = special.IN_PROCESS[name]

    def rule(b: Builder, t: str, attrs: tuple[float, ...], x: Operand) -> Operand:
        (order,) = attrs
        if order in range(MOST + 1):
            return modified(b, t, x, int(order), is_scaled)
        return other(b, t, attrs, x)

    return rule


IN_PROCESS = {
    "i0": _plain(0, False), "i0e": _plain(0, True), "i1": _plain(1, False), "i1e": _plain(1, True),
    "iv": _of_order("iv", False), "ive": _of_order("ive", True),
}  # fmt: skip
