"""Carlson's elliptic integrals by the duplication of their arguments, which is smooth where arguments are equal."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from .._core.argument_types import ArrayLike
from .._core.user_line import at_user_line
from ..ops.elementwise import add, equal, less, less_equal, logical_and, not_equal, sqrt
from ..ops.indexing import sort, where
from ..ops.joining import stack
from ..ops.promotion import as_float, as_tensor, broadcast, broadcast_shapes, outward

OURS: dict[str, Any] = {}

_STEPS = 14  # each takes a quarter of what the arguments differ by, after a few that take the root of their ratio


def _doubled(x: Any, y: Any, z: Any) -> tuple[Any, Any, Any, Any]:
    """One duplication: the new arguments, and what was added to each before it was divided by 4."""
    a, b, c = sqrt(x), sqrt(y), sqrt(z)
    added = a * b + a * c + b * c
    return (x + added) / 4.0, (y + added) / 4.0, (z + added) / 4.0, added


def _rf(x: Any, y: Any, z: Any, steps: int = _STEPS) -> Any:
    for _ in range(steps):
        x, y, z, _ = _doubled(x, y, z)
    mean = (x + y + z) / 3.0
    a, b = 1.0 - x / mean, 1.0 - y / mean
    c = -a - b
    second, third = a * b - c * c, a * b * c
    return (1.0 - second / 10.0 + third / 14.0 + second * second / 24.0 - 3.0 * second * third / 44.0) / sqrt(mean)


def _rd(x: Any, y: Any, z: Any) -> Any:
    total: Any = 0.0
    for step in range(_STEPS):
        root, before = sqrt(z), z
        x, y, z, added = _doubled(x, y, z)
        total = total + 0.25**step / (root * (before + added))
    mean = (x + y + 3.0 * z) / 5.0
    return 3.0 * total + 0.25**_STEPS * _series(1.0 - x / mean, 1.0 - y / mean, 1.0 - z / mean, 1.0 - z / mean) / (
        mean * sqrt(mean)
    )


def _series(x: Any, y: Any, z: Any, p: Any) -> Any:
    """Of RJ about equal arguments, of which x + y + z + 2 p is 0; RD is the one with z for p."""
    second = x * y + x * z + y * z - 3.0 * p * p
    third = x * y * z + 2.0 * second * p + 4.0 * p * p * p
    fourth = (2.0 * x * y * z + second * p + 3.0 * p * p * p) * p
    fifth = x * y * z * p * p
    return (
        1.0 - 3.0 * second / 14.0 + third / 6.0 + 9.0 * second * second / 88.0 - 3.0 * fourth / 22.0
        - 9.0 * second * third / 52.0 + 3.0 * fifth / 26.0
    )  # fmt: skip


def _rc(x: Any, y: Any, steps: int = _STEPS) -> Any:
    is_low = less(y, 0.0)  # Cauchy's principal value
    first, second = where(is_low, x - y, x), where(is_low, -y, y)
    value = _rf(first, second, second, steps)
    return where(is_low, sqrt(where(is_low, x, 1.0) / where(is_low, first, 1.0)) * value, value)


def _rj(x: Any, y: Any, z: Any, p: Any) -> Any:
    """For a positive p."""
    total: Any = 0.0
    for step in range(_STEPS):
        a, b, c, d = sqrt(x), sqrt(y), sqrt(z), sqrt(p)
        apart = (d + a) * (d + b) * (d + c)
        rest = (p - x) * (p - y) * (p - z) / (apart * apart)
        total = total + 0.25**step / apart * _rc(1.0 + 0.0 * rest, 1.0 + rest, max(2, _STEPS - 3 * step))
        x, y, z, added = _doubled(x, y, z)
        p = (p + added) / 4.0
    mean = (x + y + z + 2.0 * p) / 5.0
    end = _series(1.0 - x / mean, 1.0 - y / mean, 1.0 - z / mean, 1.0 - p / mean)
    return 6.0 * total + 0.25**_STEPS * end / (mean * sqrt(mean))


def _in_order(*arguments: Any) -> list[Any]:
    ordered = sort(stack(arguments, axis=-1), axis=-1)
    return [ordered[..., i] for i in range(len(arguments))]


def _rg(x: Any, y: Any, z: Any) -> Any:
    low, middle, high = _in_order(x, y, z)
    is_flat = equal(middle, 0.0)
    safe = where(is_flat, 1.0, middle)
    product = (high - safe) * (safe - where(is_flat, 0.0, low))
    value = safe * _rf(low, high, safe) + product * _rd(low, where(is_flat, 1.0, high), safe) / 3.0
    return 0.5 * where(is_flat, sqrt(high), value + sqrt(low * high / safe))


def _any_rj(x: Any, y: Any, z: Any, p: Any) -> Any:
    """Cauchy's principal value for a negative p."""
    is_low = less(p, 0.0)
    low, middle, high = _in_order(x, y, z)
    gap = where(is_low, middle - p, 1.0)
    turned = middle + where(is_low, (high - middle) * (middle - low) / gap, 0.0)
    value = _rj(low, middle, high, where(is_low, turned, p))
    product = where(is_low, low * high - turned * p, 1.0)
    edge = 3.0 * sqrt(low * middle * high / product) * _rc(product, where(is_low, -turned * p, 1.0))
    return where(is_low, ((turned - middle) * value - 3.0 * _rf(low, middle, high) + edge) / gap, value)


def _entered(
    name: str,
    f: Callable[..., Any],
    arguments: str,
    doc: str,
    is_valid: Callable[..., Any],
    diverges: Callable[..., Any],
) -> None:
    names = arguments.split()

    def function(*args: ArrayLike) -> Any:
        if len(args) != len(names):
            raise TypeError(at_user_line(f"scipy.special.{name}: takes {', '.join(names)}, got {len(args)} arguments"))
        tensors = [as_float(as_tensor(x, name)) for x in args]
        shape = functools.reduce(lambda a, b: broadcast_shapes(a, b, name), (tuple(x.shape) for x in tensors))
        tensors = [broadcast(x, shape) for x in tensors]
        valid = is_valid(*tensors)
        otherwise = where(diverges(*tensors), math.inf, math.nan)
        return outward(where(valid, f(*[where(valid, x, 1.0) for x in tensors]), otherwise), *args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{doc} of real arguments, element by element. In an argument that is 0 the slope is infinite or NaN."
    )
    OURS[name] = function


def _none_below(*arguments: Any) -> Any:
    return functools.reduce(logical_and, (less_equal(0.0, x) for x in arguments))


def _one_zero(*arguments: Any) -> Any:
    """Whether no argument is negative, and at most one 0."""
    zeros = functools.reduce(add, (where(equal(x, 0.0), 1.0, 0.0) for x in arguments))
    return logical_and(_none_below(*arguments), less(zeros, 1.5))


_entered("elliprc", _rc, "x y", "Carlson's degenerate integral RC",
         lambda x, y: logical_and(less_equal(0.0, x), not_equal(y, 0.0)), lambda x, y: not_equal(x, x))  # fmt: skip
_entered("elliprf", _rf, "x y z", "Carlson's integral of the first kind, RF", _one_zero, _none_below)
_entered("elliprd", _rd, "x y z", "Carlson's integral of the second kind, RD",
         lambda x, y, z: logical_and(_one_zero(x, y), less(0.0, z)), _none_below)  # fmt: skip
_entered("elliprg", _rg, "x y z", "Carlson's symmetric integral of the second kind, RG", _none_below, _none_below)
_entered("elliprj", _any_rj, "x y z p", "Carlson's integral of the third kind, RJ",
         lambda x, y, z, p: logical_and(_one_zero(x, y, z), not_equal(p, 0.0)),
         lambda x, y, z, p: logical_and(_none_below(x, y, z), not_equal(p, 0.0)))  # fmt: skip

__all__ = ["OURS"]
