"""Bessel functions of one float and a real order, by power series and Schläfli's integrals, to about 1e-12.

Those of the first kind and whole order that are modified come by recurrence (`special_math.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tests.support.python_engine import special_math
from tests.support.python_engine.quadrature import integral
from tests.support.python_engine.safe_math import INF, NAN


def _is_whole(order: float) -> bool:
    return order == math.floor(order)


def _series(x: float, order: float, sign: float, scale: float) -> float:
    """e^-scale times the sum of sign^k (x/2)^(2k + v) / (k! gamma(k + v + 1)), for an order that is not whole."""
    logarithm = order * math.log(0.5 * x) - math.lgamma(order + 1) - scale
    negative = order < -1 and math.floor(order) % 2 == 0
    term = math.exp(logarithm) * (-1 if negative else 1)
    total, k = term, 0
    while k < 20 or abs(term) > 1e-18 * abs(total):
        k += 1
        term *= sign * 0.25 * x * x / (k * (k + order))
        total += term
    return total


def _far_enough(x: float, order: float) -> float:
    """Where e^(v t - x sinh t) has vanished."""
    t = 1.0
    while x * math.sinh(t) - abs(order) * t < 750 and t < 60:
        t += 0.5
    return t


def _damped(f: Callable[[float], float], x: float, order: float) -> float:
    """The integral of f(t) e^(-x sinh t), f growing as e^(v t) at most, from 0 to where it has vanished."""
    return integral(lambda t: f(t) * math.exp(-x * math.sinh(t)), 0.0, _far_enough(x, order))


def jv(x: float, order: float) -> float:
    """J_v(x); of negative x for whole orders only."""
    if x != x:
        return NAN
    if x < 0:
        return (-1) ** int(order) * jv(-x, order) if _is_whole(order) else NAN
    if x == 0:
        return 1.0 if order == 0 else 0.0 if order > 0 or _is_whole(order) else INF
    if x == INF:
        return 0.0
    if _is_whole(order) and order < 0:
        return (-1) ** int(order) * jv(x, -order)
    if 0.25 * x * x < abs(order) + 1:
        return _whole_series(x, int(order)) if _is_whole(order) else _series(x, order, -1.0, 0.0)
    value = integral(lambda t: math.cos(order * t - x * math.sin(t)), 0.0, math.pi)
    if not _is_whole(order):
        value -= math.sin(order * math.pi) * _damped(lambda t: math.exp(-order * t), x, order)
    return value / math.pi


def _whole_series(x: float, order: int) -> float:
    term = (0.5 * x) ** order / math.factorial(order)
    total = term
    for k in range(1, 40):
        term *= -0.25 * x * x / (k * (k + order))
        total += term
    return total


def yv(x: float, order: float) -> float:
    """Y_v(x)."""
    if not x >= 0:
        return NAN
    if x == 0:
        return -INF
    if x == INF:
        return 0.0
    first = integral(lambda t: math.sin(x * math.sin(t) - order * t), 0.0, math.pi)
    turn = (-1) ** int(order) if _is_whole(order) else math.cos(order * math.pi)
    second = _damped(lambda t: math.exp(order * t) + math.exp(-order * t) * turn, x, order)
    return (first - second) / math.pi


def ive(x: float, order: float) -> float:
    """e^-|x| I_v(x); of negative x for whole orders only."""
    if _is_whole(order):
        return special_math.ive(x, int(order))
    if not x >= 0:
        return NAN
    if x == 0:
        return 0.0 if order > 0 else INF
    return 0.0 if x == INF else _series(x, order, 1.0, x)


def iv(x: float, order: float) -> float:
    """I_v(x)."""
    if _is_whole(order):
        return special_math.iv(x, int(order))
    if x > 1400:
        return INF
    half = math.exp(0.5 * x)
    return ive(x, order) * half * half


def kve(x: float, order: float) -> float:
    """e^x K_v(x): the integral of e^(-x (cosh t - 1)) cosh(v t), of which the plain sum has all digits."""
    if not x >= 0:
        return NAN
    if x == 0:
        return INF
    step, total = 1 / 32, 0.5
    for k in range(1, 32 * 40):
        t = k * step
        fall = x * (math.cosh(t) - 1)
        if fall - abs(order) * t > 750:
            break
        total += 0.5 * (math.exp(order * t - fall) + math.exp(-order * t - fall))
    return total * step


def kv(x: float, order: float) -> float:
    """K_v(x)."""
    return math.exp(-x) * kve(x, order)


ORDERED: dict[str, Callable[[float, float], float]] = {
    "jv": jv,
    "yv": yv,
    "iv": iv,
    "ive": ive,
    "kv": kv,
    "kve": kve,
}
