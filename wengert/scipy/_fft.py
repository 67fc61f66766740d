"""The transforms of `scipy.fft` by those of `wengert.fft`: sine transforms are cosine transforms of other orders."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np

from .. import fft
from .._core.argument_types import ArrayLike, Axes
from .._core.tensor import Tensor
from ..ops.complex_parts import conj, imag
from ..ops.flips_and_rolls import flip
from ..ops.padding import pad
from ..ops.promotion import as_float, as_tensor, normal_axis, outward
from ..ops.shapes import joined, known_extent, moveaxis, part
from ._namespace import only

OURS: dict[str, Any] = {"fftshift": fft.fftshift, "ifftshift": fft.ifftshift}

_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


# -- Fourier transforms ----------------------------------------------------------------------------------------------


def _along_one(name: str) -> Callable[..., Any]:
    transform = getattr(fft, name)

    def function(
        x: ArrayLike, n: SupportsIndex | None = None, axis: int = -1, norm: str | None = None,
        overwrite_x: bool = False, workers: int | None = None, *, plan: object = None,
    ) -> Any:  # fmt: skip
        only(f"fft.{name}", plan=(plan, None))
        return transform(x, n, axis, norm)

    return _documented(function, name)


def _documented(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"`scipy.fft.{name}`; `overwrite_x` and `workers` are for SciPy's own."
    return f


def _along_many(name: str, transform: Callable[..., Any], default: tuple[int, ...] | None) -> Callable[..., Any]:
    def function(
        x: ArrayLike, s: Any = None, axes: object = default, norm: str | None = None, overwrite_x: bool = False,
        workers: int | None = None, *, plan: object = None,
    ) -> Any:  # fmt: skip
        only(f"fft.{name}", plan=(plan, None))
        if s is not None and axes is None:
            axes = tuple(range(-len(s), 0))
        return transform(x, s, axes, norm)

    return _documented(function, name)


def _hermitian(x: ArrayLike, s: ArrayLike, axes: Axes, norm: str | None) -> Any:
    return fft.irfftn(conj(as_tensor(x, "hfftn")), s, axes, _SWAPPED[norm])


def _inverse_hermitian(x: ArrayLike, s: ArrayLike, axes: Axes, norm: str | None) -> Any:
    return conj(fft.rfftn(x, s, axes, _SWAPPED[norm]))


OURS |= {name: _along_one(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")}
OURS |= {n: _along_many(n, getattr(fft, n), (-2, -1)) for n in ("fft2", "ifft2", "rfft2", "irfft2")}
OURS |= {n: _along_many(n, getattr(fft, n), None) for n in ("fftn", "ifftn", "rfftn", "irfftn")}
OURS |= {
    "hfft2": _along_many("hfft2", _hermitian, (-2, -1)), "hfftn": _along_many("hfftn", _hermitian, None),
    "ihfft2": _along_many("ihfft2", _inverse_hermitian, (-2, -1)),
    "ihfftn": _along_many("ihfftn", _inverse_hermitian, None),
}  # fmt: skip


# -- cosine and sine transforms --------------------------------------------------------------------------------------


def _signs(x: Tensor) -> Any:
    """The elements of the last axis with signs that alternate."""
    count = known_extent(x, x.ndim - 1, "dst")
    return x * (1.0 - 2.0 * (np.arange(count) % 2)).astype(x.dtype)


def _odd(x: Any, norm: object, is_inverse: bool) -> Any:
    """The sine transform of type 1: the spectrum of the elements and their negative mirror image."""
    last = x.ndim - 1
    count = known_extent(x, last, "dst")
    zero = part(x, last, 0, 1) * 0.0
    whole = joined([zero, x, zero, -flip(x, axis=last)], last)
    result = -imag(fft.rfft(whole, axis=last))
    result = part(result, last, 1, count + 1)
    size = 2.0 * (count + 1)
    is_divided = (norm == "forward") != is_inverse
    return result / (math.sqrt(size) if norm == "ortho" else size if is_divided else 1.0)


def _sine(x: Tensor, kind: int, norm: str | None, is_inverse: bool) -> Any:
    last = x.ndim - 1
    if kind == 1:
        return _odd(x, norm, is_inverse)
    cosine = fft.idct if is_inverse else fft.dct
    if (kind == 2) != is_inverse and kind != 4:  # forward 2 and inverse 3 go to turned results
        return flip(cosine(_signs(x), kind, norm=norm), axis=last)
    return _signs(cosine(flip(x, axis=last), kind, norm=norm))


def _cosine(x: ArrayLike, kind: int, norm: str | None, is_inverse: bool) -> Any:
    return (fft.idct if is_inverse else fft.dct)(x, kind, norm=norm)


def _transformed(
    f: Callable[..., Any], x: Tensor, kind: int, n: Any, axis: int, norm: str | None, is_inverse: bool
) -> Any:
    place = normal_axis(axis, x.ndim, "dct")
    a = moveaxis(x, place, -1)
    if n is not None:
        have = known_extent(a, a.ndim - 1, "dct")
        widths = [(0, max(n - have, 0)) if i == a.ndim - 1 else (0, 0) for i in range(a.ndim)]
        a = part(a, a.ndim - 1, 0, n) if n <= have else pad(a, widths)
    return moveaxis(f(a, kind, norm, is_inverse), -1, place)


def _real(name: str, f: Callable[..., Any], is_inverse: bool) -> None:
    def one(
        x: ArrayLike, type: int = 2, n: SupportsIndex | None = None, axis: int = -1, norm: str | None = None,
        overwrite_x: bool = False, workers: int | None = None, orthogonalize: object = None,
    ) -> Any:  # fmt: skip
        only(f"fft.{name}", orthogonalize=(orthogonalize, None, norm == "ortho"), type=(type, 1, 2, 3, 4))
        return outward(_transformed(f, as_float(as_tensor(x, name)), type, n, axis, norm, is_inverse), x)

    def many(
        x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, orthogonalize: Any = None,
    ) -> Any:  # fmt: skip
        only(f"fft.{name}n", orthogonalize=(orthogonalize, None, norm == "ortho"), type=(type, 1, 2, 3, 4))
        result = as_float(as_tensor(x, name))
        s = (s,) if isinstance(s, int) else s
        axes = (axes,) if isinstance(axes, int) else axes
        places = axes if axes is not None else range(-(result.ndim if s is None else len(s)), 0)
        for i, axis in enumerate(places):
            result = _transformed(f, result, type, None if s is None else s[i], axis, norm, is_inverse)
        return outward(result, x)

    OURS[name], OURS[f"{name}n"] = _documented(one, name), _documented(many, f"{name}n")


_real("dct", _cosine, False)
_real("idct", _cosine, True)
_real("dst", _sine, False)
_real("idst", _sine, True)

__all__ = ["OURS"]
