"""The standard's extension `fft`: `wg.fft` under the standard's names, with frequencies as tensors."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from .. import fft as ours
from .._core import dtypes
from .._core.argument_types import ArrayLike, DTypeLike
from .._core.tensor import Tensor
from ..fft import fft, fftn, fftshift, hfft, ifft, ifftn, ifftshift, ihfft, irfft, irfftn, rfft, rfftn
from ..ops.promotion import as_tensor, cast, names_errors
from ._creation import require_device


@names_errors
def fftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: object = None) -> Tensor:
    """The frequencies of the n terms of a transform.

    Args:
        n: the number of samples.
        d: the spacing of the samples.
        dtype: a floating dtype; by default the default float.
        device: None or "cpu".

    Returns:
        A tensor of n frequencies in cycles per unit of d.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.fft.fftfreq(4)
        Tensor([ 0. , 0.25, -0.5 , -0.25], shape=(4,), dtype=float64)
    """
    require_device("fftfreq", device)
    return _frequencies(ours.fftfreq(n, d), dtype)


@names_errors
def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: object = None) -> Tensor:
    """The frequencies of the n // 2 + 1 terms of a real signal's transform.

    Args:
        n: the number of samples.
        d: the spacing of the samples.
        dtype: a floating dtype; by default the default float.
        device: None or "cpu".

    Returns:
        A tensor of frequencies in cycles per unit of d.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.fft.rfftfreq(4)
        Tensor([0. , 0.25, 0.5 ], shape=(3,), dtype=float64)
    """
    require_device("rfftfreq", device)
    return _frequencies(ours.rfftfreq(n, d), dtype)


def _frequencies(values: ArrayLike, dtype: DTypeLike | None) -> Tensor:
    return cast(as_tensor(values), dtypes.default_float() if dtype is None else dtypes.as_dtype(dtype))


__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip
