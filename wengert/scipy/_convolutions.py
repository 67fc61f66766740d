"""`convolve2d`, `correlate2d` and `upfirdn`: convolutions and correlations with SciPy's boundary modes."""

from __future__ import annotations

from typing import Any

from .. import numpy as np
from .. import signal as ours
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from ._conversions import meeting, recorded
from ._edges import beyond
from ._namespace import only

_EDGES = {"fill": "constant", "wrap": "wrap", "circular": "wrap", "symm": "reflect", "symmetric": "reflect"}


def _in_plane(a: Tensor, b: Tensor, mode: str, boundary: str, fillvalue: int, *, middle_first: bool) -> Tensor:
    """The convolution; `middle_first`: of kernels of even size, "same" takes the earlier shift."""
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("convolve2d inputs must both be 2-D arrays")
    if boundary not in _EDGES:
        raise ValueError("Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' (or 'symm').")
    if mode not in ("full", "same", "valid"):
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    for axis in (0, 1) if mode != "valid" else ():
        reach = int(b.shape[axis]) - 1
        before = reach if mode == "full" else reach // 2 if middle_first else reach - reach // 2
        behind = reach if mode == "full" else reach - before
        a = beyond(a, axis, before, behind, _EDGES[boundary], fillvalue)
    return ours.convolve(a, b, mode="valid", method="direct")


@recorded
def convolve2d(in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """The convolution of two matrices, with gradients in both and in fillvalue."""
    a, b = meeting(in1, in2)
    return _in_plane(a, b, mode, boundary, fillvalue, middle_first=False)


@recorded
def correlate2d(in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill", fillvalue: int = 0) -> Any:
    """The correlation of two matrices, with gradients in both and in fillvalue."""
    a, b = meeting(in1, in2)
    turned = np.flip(np.conj(b) if dtypes.is_complex(b.dtype) else b)
    return _in_plane(a, turned, mode, boundary, fillvalue, middle_first=True)


@recorded
def upfirdn(
    h: ArrayLike, x: ArrayLike, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: float = 0
) -> Any:
    """A signal with up - 1 zeros between its elements, filtered by h, of which every down-th element stays."""
    only("signal.upfirdn", mode=(mode, "constant"), cval=(cval, 0))
    kernel, signal = meeting(h, x)
    along = np.moveaxis(signal, axis, -1)
    spread = np.stack([along] + [np.zeros_like(along)] * (int(up) - 1), axis=-1)
    spread = np.reshape(spread, (*along.shape[:-1], -1))[..., : (along.shape[-1] - 1) * int(up) + 1]
    whole = ours.convolve(spread, np.reshape(kernel, (1,) * (along.ndim - 1) + (-1,)), mode="full", method="direct")
    return np.moveaxis(whole[..., :: int(down)], -1, axis)


__all__ = ["convolve2d", "correlate2d", "upfirdn"]
