"""`convolve` along some axes of two arrays, others multiplied and summed."""

from __future__ import annotations

from typing import Any

import numpy as onp
import scipy.signal as _theirs

from .... import signal as _ours
from .._boxes import boxes_in
from ._either import finder

_find = finder(globals(), "scipy.signal", _ours)


def convolve(A: Any, B: Any, axes: Any = None, dot_axes: Any = ((), ()), mode: str = "full") -> Any:
    """The convolution along pairs of `axes`, summed over pairs of `dot_axes`.

    The result has the other axes of A, those of B, and the axes of the convolution, in this order.
    """
    if axes is None and not any(map(len, dot_axes)) and not boxes_in(A) and not boxes_in(B):
        return _theirs.convolve(A, B, mode)
    if mode not in ("full", "valid", "same"):
        raise NotImplementedError(f"convolve: mode {mode!r}; wanted 'full', 'valid' or 'same'")
    along = (
        [list(range(onp.ndim(A)))] * 2 if axes is None else [[x % onp.ndim(v) for x in a] for v, a in zip((A, B), axes)]
    )
    dots = [[x % onp.ndim(v) for x in a] for v, a in zip((A, B), dot_axes)]
    rest = [[x for x in range(onp.ndim(v)) if x not in a and x not in d] for v, a, d in zip((A, B), along, dots)]
    A = onp.transpose(A, (*rest[0], *dots[0], *along[0]))
    B = onp.transpose(B, (*rest[1], *dots[1], *along[1]))
    count = len(along[0])
    of_a, of_b = onp.shape(A)[onp.ndim(A) - count :], onp.shape(B)[onp.ndim(B) - count :]
    lead_a, lead_b = len(rest[0]) + len(dots[0]), len(rest[1]) + len(dots[1])
    if mode == "valid" and any(b > a for a, b in zip(of_a, of_b)):
        if not all(b >= a for a, b in zip(of_a, of_b)):
            raise ValueError("convolve: in mode 'valid' one of the arrays must be at least as large along all axes")
        swapped = convolve(B, A, _last(B, A, count), _dots(B, A, len(dots[0]), count), mode)
        many = (len(rest[1]), len(rest[0]))
        order = (*range(many[0], sum(many)), *range(many[0]), *range(sum(many), sum(many) + count))
        return onp.transpose(swapped, order)
    if mode != "valid":
        A = onp.pad(A, [(0, 0)] * lead_a + [(b - 1, b - 1) for b in of_b])
    B = onp.flip(B, tuple(range(lead_b, lead_b + count)))
    for place, extent in enumerate(of_b):  # each axis becomes one of places and one of the elements of a window
        axis = lead_a + 2 * place
        long = onp.shape(A)[axis]
        index = onp.arange(long - extent + 1)[:, None] + onp.arange(extent)
        A = onp.reshape(
            onp.take(A, index.ravel(), axis=axis), (*onp.shape(A)[:axis], *index.shape, *onp.shape(A)[axis + 1 :])
        )
    windows = [lead_a + 2 * place + 1 for place in range(count)]
    summed_a = [*range(len(rest[0]), lead_a), *windows]
    summed_b = [*range(len(rest[1]), lead_b), *range(lead_b, lead_b + count)]
    found = onp.tensordot(A, B, (summed_a, summed_b))  # A's rest, places, B's rest
    mine = len(rest[0])
    order = (*range(mine), *range(mine + count, mine + count + len(rest[1])), *range(mine, mine + count))
    found = onp.transpose(found, order)
    if mode == "same":  # the middle of the whole, as large as A
        found = found[(..., *(slice((b - 1) // 2, (b - 1) // 2 + a) for a, b in zip(of_a, of_b)))]
    return found


def _last(A: Any, B: Any, count: int) -> Any:
    return [list(range(onp.ndim(x) - count, onp.ndim(x))) for x in (A, B)]


def _dots(A: Any, B: Any, dots: int, count: int) -> Any:
    return [list(range(onp.ndim(x) - count - dots, onp.ndim(x) - count)) for x in (A, B)]


def __getattr__(name: str) -> Any:
    return _find(name)


__all__ = ["convolve"]
