"""Modified Bessel functions of the second kind, of whole orders: near 0 by a logarithm, else by a polynomial in 1 / x.

Up to 2 those of orders 0 and 1 are less the logarithm of x / 2 times that of the first kind, and an entire function of
z = (x / 2)^2, which stands in powers of 1 - z, so that nothing cancels beside 2. From there on sqrt(x) e^x K(x) are
polynomials in 4 / x - 1 (Chebyshev's, written in powers; errors below 2e-17). Higher orders follow by the recurrence,
whose terms are all positive. No branch and no call: loops are vector code. All in float64: float32 and half floats are
rounded once.
"""

from __future__ import annotations

import math
from typing import cast

from ...special_numerics import KV_MOST
from ..ir.builder import Builder
from ..ir.loops import Operand
from . import special
from .numbers import Number, exp, fma, fused, log, sqrt, where
from .scalars import Rule

_LEAST = 2.0**-1074  # SciPy has it halved to 0
_FROM = 2.0
_TERMS = 13

# of I(x) and of 2 I(x) / x of orders 0 and 1, in (x / 2)^2
_FIRST = tuple([1.0 / (math.factorial(k) * math.factorial(k + n)) for k in range(_TERMS)] for n in (0, 1))
# of K(x) + log(x / 2) I(x), and of x (K(x) - log(x / 2) I(x)), in 1 - (x / 2)^2
_ENTIRE = (
    (
        0.11389387274953343, -0.9999267693515111, 0.3523019790176733, -0.046611216829894185, 0.003264250597159801,
        -0.00014189844603423716, 4.2064227643973254e-06, -9.05201346466987e-08, 1.4769258237950746e-09,
        -1.8015393361176177e-11,
    ),
    (
        0.27973176363304486, 1.818424600136396, -1.3444009932008802, 0.27032464588509003, -0.025419298830741347,
        0.0013875808998751009, -4.95219449887983e-05, 1.2464063020619802e-06, -2.3316998505128825e-08,
        3.3658334348667674e-10, -3.682527335880478e-12,
    ),
)  # fmt: skip
_FAR = (
    (
        1.2185953385133905, -0.03107146182488952, 0.0030328918102753206, -0.0004797690567662314, 9.95605474202942e-05,
        -2.4735204561466906e-05, 7.002245645755651e-06, -2.191177788015528e-06, 7.427801232190096e-07,
        -2.6890662472901614e-07, 1.02954317593912e-07, -4.133923052104385e-08, 1.7047535884249698e-08,
        -7.286380907337665e-09, 3.808399859919043e-09, -1.9309444875845705e-09, 4.757544705776374e-11,
        1.7887095838476482e-10, 8.133913205464114e-10, -5.541051446065683e-10, -3.119936129682105e-10,
        2.213758097591008e-10, 1.0926983537268735e-10, -6.910453875670571e-11,
    ),
    (
        1.363151890371342, 0.10334973775386523, -0.005566729880074588, 0.0007357241549081501, -0.00013959021956272223,
        3.284386555825453e-05, -8.961207387750025e-06, 2.730041433569803e-06, -9.067087633371393e-07,
        3.2298119177151824e-07, -1.2203186351938403e-07, 4.8461952200091865e-08, -1.9817577141591116e-08,
        8.40938756536177e-09, -4.331939985658629e-09, 2.1757782025837176e-09, -8.336227195991456e-11,
        -1.7982138496175016e-10, -8.908596710923906e-10, 6.042482293782838e-10, 3.3867804167808003e-10,
        -2.399376595899464e-10, -1.1931668393112158e-10, 7.52479548635394e-11,
    ),
)  # fmt: skip


def _near(x: Number, order: int) -> Number:
    """K(x) of order 0 or 1 for 0 < x <= 2."""
    half = 0.5 * x
    square = half * half
    line, first = log(half), cast(Number, fused(square, _FIRST[order]))
    entire = fused(fma(-half, half, 1.0), _ENTIRE[order])
    if order == 0:
        return fma(-line, first, entire)
    return fma(2.0 * square * line, first, entire) / x


def _far(x: Number, order: int) -> Number:
    """e^x K(x) of order 0 or 1 for x >= 2."""
    return cast(Number, fused(4.0 / x - 1.0, _FAR[order])) / sqrt(x)


def modified(b: Builder, t: str, x: Operand, order: int, is_scaled: bool) -> Operand:
    """K(x) of a whole order up to `KV_MOST`, times e^x if it is scaled."""
    given = Number(b, b.convert("f64", t, x))
    is_near = given <= _FROM
    near, far = where(is_near & (given > _LEAST), given, _FROM), where(is_near, _FROM, given)
    decay = exp(where(is_near, near, -far))
    has_factor = is_near if is_scaled else ~is_near

    def of(order: int) -> Number:
        found = where(is_near, _near(near, order), _far(far, order))
        return where(has_factor, found * decay, found)

    if order < 2:
        found = of(order)
    else:
        before, found = of(0), of(1)
        size = where(is_near, near, far)
        for n in range(1, order):
            before, found = found, fma((2.0 * n) / size, found, before)
    found = where(given > _LEAST, found, where(given >= 0.0, math.inf, math.nan))
    return b.convert(t, "f64", found.x)


def _of_order(name: str, is_scaled: bool) -> Rule:
    other = special.IN_PROCESS[name]

    def rule(b: Builder, t: str, attrs: tuple[float, ...], x: Operand) -> Operand:
        (order,) = attrs
        if abs(order) in range(KV_MOST + 1):
            return modified(b, t, x, int(abs(order)), is_scaled)
        return other(b, t, attrs, x)

    return rule


IN_PROCESS = {"kv": _of_order("kv", False), "kve": _of_order("kve", True)}
