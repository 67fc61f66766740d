"""`scipy.fftpack`: the older names of the transforms in `scipy.fft`.

Its inverse cosine and sine transforms do not divide by the length, and `rfft` gives real and imaginary parts in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex

from .. import fft as _transforms
from .. import numpy as np
from .._core.argument_types import ArrayLike, Axes, ShapeLike
from . import _fft
from ._conversions import floats, recorded
from ._namespace import namespace

OURS: dict[str, Any] = {"fftshift": _transforms.fftshift, "ifftshift": _transforms.ifftshift}
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _documented(f: Callable[..., Any], name: str) -> None:
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"`scipy.fftpack.{name}`; `overwrite_x` is for SciPy's own."
    OURS[name] = f


def _fourier(name: str) -> None:
    def along_one(x: ArrayLike, n: SupportsIndex | None = None, axis: int = -1, overwrite_x: bool = False) -> Any:
        return _fft.OURS[name](x, n, axis)

    def along_two(
        x: ArrayLike, shape: ShapeLike | None = None, axes: Axes = (-2, -1), overwrite_x: bool = False
    ) -> Any:
        return _fft.OURS[name](x, shape, axes)

    def along_many(x: ArrayLike, shape: ShapeLike | None = None, axes: Axes = None, overwrite_x: bool = False) -> Any:
        return _fft.OURS[name](x, shape, axes)

    _documented(along_two if name[-1] == "2" else along_many if name[-1] == "n" else along_one, name)


def _real(name: str) -> None:
    """A cosine or sine transform; the inverse of a type is another type."""
    of = name.removeprefix("i")
    types = _INVERSE if name != of else {kind: kind for kind in _INVERSE}

    def along_one(
        x: ArrayLike, type: int = 2, n: SupportsIndex | None = None, axis: int = -1, norm: str | None = None,
        overwrite_x: bool = False,
    ) -> Any:  # fmt: skip
        return _fft.OURS[of](x, types[type], n, axis, norm)

    def along_many(
        x: ArrayLike, type: int = 2, shape: ShapeLike | None = None, axes: Axes = None, norm: str | None = None,
        overwrite_x: bool = False,
    ) -> Any:  # fmt: skip
        return _fft.OURS[of](x, types[type], shape, axes, norm)

    _documented(along_many if name[-1] == "n" else along_one, name)


for _name in ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn"):
    _fourier(_name)
for _name in ("dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn"):
    _real(_name)


@recorded
def _rfft(x: ArrayLike, n: int | None = None, axis: int = -1, overwrite_x: bool = False) -> Any:
    along = np.moveaxis(floats(x), axis, -1)
    size = int(along.shape[-1] if n is None else n)
    found = _transforms.rfft(along, size)
    turns = np.reshape(np.stack([np.real(found), np.imag(found)], axis=-1), (*along.shape[:-1], -1))
    return np.moveaxis(np.concatenate([turns[..., :1], turns[..., 2 : size + 1]], axis=-1), -1, axis)


@recorded
def _irfft(x: ArrayLike, n: int | None = None, axis: int = -1, overwrite_x: bool = False) -> Any:
    along = np.moveaxis(floats(x), axis, -1)
    size = int(along.shape[-1] if n is None else n)
    missing = max(0, size - int(along.shape[-1]))
    along = np.concatenate([along[..., :size], np.zeros((*along.shape[:-1], missing))], axis=-1)
    zero = along[..., :1] * 0.0
    turns = np.concatenate([along[..., :1], zero, along[..., 1:], *([] if size % 2 else [zero])], axis=-1)
    pairs = np.reshape(turns, (*along.shape[:-1], -1, 2))
    return np.moveaxis(_transforms.irfft(pairs[..., 0] + 1j * pairs[..., 1], size), -1, axis)


_documented(_rfft, "rfft")
_documented(_irfft, "irfft")
NEAR = {"diff": "fft, times (1j * k) ** order, and ifft", "hilbert": "signal.hilbert"}

__getattr__, __dir__ = namespace(__name__, OURS, near=NEAR)
