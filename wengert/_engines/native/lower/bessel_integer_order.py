"""Modified Bessel functions of the first kind, of orders 0 to 4: the power series, and far out a polynomial.

Below 8 all terms of the series are positive, so that Horner's scheme is exact to some units of the last place. From 8
on sqrt(x) e^-x I(x) of orders 0 and 1 are polynomials in 16 / x - 1 (Chebyshev's, written in powers; errors below
1e-16), and higher orders follow by the recurrence, which cancels little there. No branch and no call: loops are vector
code.
"""

from __future__ import annotations

import math

from numpy.polynomial import chebyshev

from ..ir.builder import Builder
from ..ir.loops import Operand
from . import single_precision, special
from .scalars import Rule, f64

MOST = 4  # the highest order that the recurrence serves
_FROM = 8.0
_TERMS, _TERMS_SHORT = 27, 16

_FAR = (
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
)  # fmt: skip


_FAR_SHORT = (*[(*chebyshev.cheb2poly(chebyshev.poly2cheb(c)[:9]).tolist(),) for c in _FAR],)  # to 1e-10


def _horner(b: Builder, x: Operand, coefficients: tuple[float, ...]) -> Operand:
    total: Operand = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = f64(b, "fma", total, x, coefficient)
    return total


def _near(b: Builder, x: Operand, order: int, is_short: bool) -> Operand:
    """I(x) for 0 <= x < 8: (x/2)^n times a series in (x/2)^2."""
    half = f64(b, "mul", x, 0.5)
    count = _TERMS_SHORT if is_short else _TERMS
    terms = (*[1.0 / (math.factorial(k) * math.factorial(k + order)) for k in range(count)],)
    found = _horner(b, f64(b, "mul", half, half), terms)
    for _ in range(order):
        found = f64(b, "mul", found, half)
    return found


def _far(b: Builder, x: Operand, order: int, is_short: bool) -> Operand:
    """sqrt(x) e^-x I(x) for x >= 8."""
    place, tables = f64(b, "sub", f64(b, "div", 16.0, x), 1.0), _FAR_SHORT if is_short else _FAR
    if order < 2:
        return _horner(b, place, tables[order])
    before, here = (_horner(b, place, coefficients) for coefficients in tables)
    for n in range(1, order):
        before, here = here, f64(b, "sub", before, f64(b, "mul", f64(b, "div", 2.0 * n, x), here))
    return here


def modified(b: Builder, t: str, x: Operand, order: int, is_scaled: bool) -> Operand:
    """I(x) of a whole order up to `MOST`, times e^-|x| if it is scaled."""
    if t == "f32" and order < 2:
        return single_precision.modified(b, x, order, is_scaled)
    wide = b.convert("f64", t, x)
    size = f64(b, "abs", wide)
    is_near = f64(b, "lt", size, _FROM)
    near, far = b.select("f64", is_near, size, 0.0), b.select("f64", is_near, _FROM, size)
    # e^x is asked for once, and in two halves: it overflows before I(x) does
    power = f64(b, "exp", f64(b, "neg", near) if is_scaled else f64(b, "mul", far, 0.5))
    is_short = t == "f32"  # of which fewer terms make all digits
    low = _near(b, near, order, is_short)
    high = f64(b, "div", _far(b, far, order, is_short), f64(b, "sqrt", far))
    if is_scaled:
        value = b.select("f64", is_near, f64(b, "mul", low, power), high)
    else:
        value = b.select("f64", is_near, low, f64(b, "mul", f64(b, "mul", high, power), power))
    if order % 2:
        value = b.select("f64", f64(b, "lt", wide, 0.0), f64(b, "neg", value), value)
        if order > 1 and is_scaled:
            value = f64(b, "add", value, 0.0)  # as SciPy's has no zero below zero
    return b.convert(t, "f64", value)


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
