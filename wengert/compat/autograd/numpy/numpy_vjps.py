"""`autograd.numpy.numpy_vjps`: helpers that packages use in reverse rules of their own, such as `unbroadcast_f`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp

from ..core import defvjp, defvjp_argnum, defvjp_argnums, vspace
from .numpy_wrapper import getval, metadata


def unbroadcast(x: Any, target_meta: Any, broadcast_idx: int = 0) -> Any:
    """The sum of an array over the axes along which something of the target's shape was broadcast."""
    shape, ndim, _, is_complex = target_meta
    total = onp.add.reduce if type(x) is onp.ndarray else onp.sum  # the same, without the questions
    while (x.ndim if hasattr(x, "ndim") else 0) > ndim:
        x = total(x, axis=broadcast_idx)
    for axis, extent in enumerate(shape):
        if extent == 1:
            x = total(x, axis=axis, keepdims=True)
    return x if is_complex or type(x) is onp.float64 or not onp.iscomplexobj(getval(x)) else onp.real(x)


def unbroadcast_f(target: object, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """f, whose result is summed to the target's shape."""
    meta = metadata(target)
    return lambda g: unbroadcast(f(g), meta)


def match_complex(target: object, x: Any) -> Any:
    """x as real or complex as the target."""
    wanted, found = onp.iscomplexobj(getval(target)), onp.iscomplexobj(getval(x))
    return onp.real(x) if found and not wanted else x + 0j if wanted and not found else x


def balanced_eq(x: object, z: object, y: object) -> Any:
    """1 where x alone is z, 0.5 where y is, too."""
    return (x == z) / (1.0 + (x == y))


def replace_zero(x: Any, val: Any) -> Any:
    """x with another value in place of zeros."""
    return onp.where(getval(x) != 0, x, val)


def repeat_to_match_shape(g: Any, shape: Any, dtype: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    """The cotangent of a sum, repeated along the axes that were summed, and how often."""
    if shape == ():
        return g, 1
    axes = list(axis) if isinstance(axis, tuple) else axis
    kept = onp.array(shape)
    kept[axes] = 1
    return onp.zeros(shape, dtype) + onp.reshape(g, tuple(kept)), onp.prod(onp.array(shape)[axes])


__all__ = [
    "balanced_eq", "defvjp", "defvjp_argnum", "defvjp_argnums", "match_complex", "repeat_to_match_shape",
    "replace_zero", "unbroadcast", "unbroadcast_f", "vspace",
]  # fmt: skip
