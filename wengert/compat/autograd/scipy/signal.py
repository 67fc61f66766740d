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
    along = [range(onp.ndim(A))] * 2 if axes is None else [[x % onp.ndim(v) for x in a] for v, a in zip((A, B), axes)]
    dots = [[x % onp.ndim(v) for x in a] for v, a in zip((A, B), dot_axes)]
    rest = [[x for x in range(onp.ndim(v)) if x not in a and x not in d] for v, a, d in zip((A, B), along, dots)]
    of_a, of_b = ([onp.shape(v)[x] for x in a] for v, a in zip((A, B), along))
    (mine, its), count = map(len, rest), len(along[0])
    if mode == "valid" and any(b > a for a, b in zip(of_a, of_b)):
        if not all(b >= a for a, b in zip(of_a, of_b)):
            raise ValueError("convolve: in mode 'valid' one of the arrays must be at least as large along all axes")
        return onp.moveaxis(convolve(B, A, along[::-1], dots[::-1], mode), range(its), range(mine, mine + its))
    A, B = (onp.transpose(v, (*r, *d, *a)) for v, r, d, a in zip((A, B), rest, dots, along))
    lead_a, lead_b = mine + len(dots[0]), its + len(dots[1])
    if mode != "valid":
        A = onp.pad(A, [(0, 0)] * lead_a + [(b - 1, b - 1) for b in of_b])
    B = onp.flip(B, tuple(range(lead_b, lead_b + count)))
    A = onp.lib.stride_tricks.sliding_window_view(A, of_b, (*range(lead_a, lead_a + count),))
    summed_a = [*range(mine, lead_a), *range(lead_a + count, lead_a + 2 * count)]
    found = onp.tensordot(A, B, (summed_a, [*range(its, lead_b + count)]))  # A's rest, places, B's rest
    found = onp.moveaxis(found, range(mine, mine + count), range(-count, 0))
    if mode == "same":  # the middle of the whole, as large as A
        found = found[(..., *(slice((b - 1) // 2, (b - 1) // 2 + a) for a, b in zip(of_a, of_b)))]
    return found


def __getattr__(name: str) -> Any:
    return _find(name)


__all__ = ["convolve"]
