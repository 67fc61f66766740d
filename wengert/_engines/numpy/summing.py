"""Sums of floats that are pairwise along every axis and for every layout.

NumPy adds pairwise only along the axis that lies closest together in memory; along all others one element after the
other, and then float32 loses 9% of ten million tenths. Here the other axes are cut into short blocks, whose sums are
summed again: the error grows with the logarithm of the extent, the cost is one more pass over 1/32 of the elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_SMALL = 512  # up to so many elements nothing is lost that matters
_BLOCK = 32  # elements added one after the other
_COPIED = 1 << 15  # up to so many elements a copy in the other order costs less than a call for each column
_NARROW = 16  # so few columns are summed one by one, each pairwise: much faster than rows of a few elements


def pairwise_sum(x: np.ndarray[Any, Any], axes: tuple[int, ...], keepdims: bool = False) -> Any:
    """The sum of an array of floats over axes (not negative), in its dtype."""
    # NumPy reduces along one run of memory, hence pairwise, over the last axes of an array in C order
    if x.size <= _SMALL or not axes or (x.flags.c_contiguous and min(axes) == x.ndim - len(axes)):
        return np.add.reduce(x, axes, keepdims=True) if keepdims else np.add.reduce(x, axes)
    if keepdims:
        total = pairwise_sum(x, axes)
        return np.reshape(total, [1 if i in axes else n for i, n in enumerate(x.shape)])
    inner = _innermost(x)
    if inner not in axes and x.shape[inner] <= _NARROW:
        return _by_columns(x, axes, inner)
    return _in_blocks(x, axes, inner)


def _innermost(x: np.ndarray[Any, Any]) -> int:
    """The axis that NumPy goes along in its inner loop; the last of several that lie equally close."""
    return min(range(x.ndim), key=lambda i: (x.shape[i] == 1, abs(x.strides[i]), -i))


def _by_columns(x: np.ndarray[Any, Any], axes: tuple[int, ...], column: int) -> Any:
    if x.ndim == 2 and x.size <= _COPIED:  # the same sums in one call
        return np.add.reduce(np.ascontiguousarray(x.T) if column else np.ascontiguousarray(x), 1)
    out = np.empty([n for i, n in enumerate(x.shape) if i not in axes], x.dtype)
    place = sum(i not in axes for i in range(column))
    rest = (*[i - (i > column) for i in axes],)
    for j in range(x.shape[column]):
        own = (*[j if i == column else slice(None) for i in range(x.ndim)],)
        out[(*[j if i == place else slice(None) for i in range(out.ndim)],)] = pairwise_sum(x[own], rest)
    return out


def _in_blocks(x: np.ndarray[Any, Any], axes: tuple[int, ...], inner: int) -> Any:
    """Rounds that each add up to `_BLOCK` elements in sequence, until one is left."""
    while True:
        outer = sorted((i for i in axes if i != inner), key=lambda i: abs(x.strides[i]))
        whole, left = [inner] if inner in axes and x.strides[inner] else [], _BLOCK
        if inner in axes and not whole:
            outer = [*outer, inner]  # a repeated element: no order of NumPy's is relied on
        cut = None
        for axis in outer:
            if x.shape[axis] <= left:
                whole.append(axis)
                left //= max(x.shape[axis], 1)
            else:
                cut = axis if left > 1 else None
                break
        if len(whole) == len(axes):
            return np.add.reduce(x, (*whole,))
        x, axes = _one_round(x, axes, (*whole,), cut, left)
        if not axes:
            return x
        inner = _innermost(x)


def _one_round(
    x: np.ndarray[Any, Any], axes: tuple[int, ...], whole: tuple[int, ...], cut: int | None, width: int
) -> tuple[Any, tuple[int, ...]]:
    """The sum over the axes `whole`, which are dropped, and over blocks of the axis `cut`, which gets shorter."""
    kept = [i for i in range(x.ndim) if i not in whole]
    remaining = (*[kept.index(i) for i in axes if i not in whole],)
    if cut is None:
        return np.add.reduce(x, whole), remaining
    count, rest = divmod(x.shape[cut], width)
    shape = [n for i, n in enumerate(x.shape) if i not in whole]
    place = kept.index(cut)
    shape[place] = count + (rest > 0)
    out = np.empty(shape, x.dtype)
    blocks, tail = _split(x, cut, count, width)
    # the axis cut became two, of which the second is summed
    summed = (*[i + (i > cut) for i in whole], cut + 1)
    np.add.reduce(blocks, summed, out=out[_at(place, slice(count), out.ndim)])
    if rest:
        out[_at(place, count, out.ndim)] = np.add.reduce(tail, (*whole, cut))
    return out, remaining


def _split(x: np.ndarray[Any, Any], axis: int, count: int, width: int) -> tuple[Any, Any]:
    """Views: the axis as whole blocks (two axes), and what is left of it."""
    step = x.strides[axis]
    shape = (*x.shape[:axis], count, width, *x.shape[axis + 1 :])
    strides = (*x.strides[:axis], step * width, step, *x.strides[axis + 1 :])
    blocks = np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)
    return blocks, x[_at(axis, slice(count * width, None), x.ndim)]


def _at(axis: int, index: object, ndim: int) -> tuple[Any, ...]:
    return (*[index if i == axis else slice(None) for i in range(ndim)],)
