"""Kernels of the plain-Python engine that move values without computing: constants, shapes, identities, printing."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tests.support.python_engine import array as a
from tests.support.python_engine.array import PyArray
from tests.support.python_engine.dtypes import INT64
from tests.support.python_engine.interop import from_numpy, to_text


def pad(x: PyArray, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> PyArray:
    """Zeros before, after and between elements; negative padding takes away, after the interior zeros are in."""
    inner = [n + max(n - 1, 0) * gap for n, gap in zip(x.shape, interior, strict=True)]
    shape = tuple(lo + n + hi for lo, n, hi in zip(low, inner, high, strict=True))
    values = [0] * prod(shape)
    steps = a.strides(shape)
    for index, v in zip(a.indices(x.shape), x.flat, strict=True):
        target = [i * (gap + 1) + lo for i, lo, gap in zip(index, low, interior, strict=True)]
        if all(0 <= t < n for t, n in zip(target, shape, strict=True)):
            values[sum(map(operator.mul, target, steps))] = v
    return a.make(shape, x.dtype, values)


def _unstack(x: PyArray, size: int) -> tuple[PyArray, ...]:
    """The slices along the first axis."""
    step = prod(x.shape[1:])
    return (*[a.make(x.shape[1:], x.dtype, x.flat[i * step : (i + 1) * step]) for i in range(size)],)


def concatenate(*xs_and_axis: Any) -> PyArray:
    """The arrays one after the other along an axis."""
    *xs, axis = xs_and_axis
    return a.concatenate(xs, axis)


def debug_print(*xs_and_text: Any) -> tuple[PyArray, ...]:
    """Prints a text with the operands' values."""
    *xs, text = xs_and_text
    print(to_text(text, xs), flush=True)
    return ()


def _first(x: PyArray, *others: PyArray) -> PyArray:
    return x


KERNELS: dict[str, Callable[..., Any]] = {
    "constant": from_numpy,
    "full": lambda shape, value, dtype: a.full(shape, dtype, value),
    "unstack": _unstack,
    "absent": lambda shape, dtype: a.full(shape, dtype, 0),
    "iota": lambda size, dtype: a.make((size,), dtype, range(size)),
    "dim_value": lambda dim: a.full((), INT64, dim),
    "reshape": a.reshape,
    "transpose": a.transpose,
    "broadcast_to": a.broadcast_to,
    "slice": a.slice_,
    "pad": pad,
    "flip": a.flip,
    "concatenate": concatenate,
    "alias": _first,
    "regular": _first,
    "barrier": lambda *xs: xs,
    "stop_gradient": _first,
    "attach": _first,
    "limit_value": _first,
    "rarely": _first,
    "reassign": _first,
    "after": _first,
    "custom": lambda *operands: operands[operands[-1].inputs :][: operands[-1].outputs],
    "debug_print": debug_print,
}
