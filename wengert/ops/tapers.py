"""Tapers of signals (window functions), with NumPy's formulas and Keras's arguments."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.constant import constant
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .elementwise import divide, multiply
from .promotion import as_float, as_tensor, cast, names_errors, outward
from .special_functions import i0


def _points(x: int, what: str) -> int:
    """The number of points, which is known also in a trace."""
    try:
        return operator.index(x.numpy() if isinstance(x, Tensor) else x)
    except TypeError:
        raise TypeError(at_user_line(f"{what}: the number of points must be an integer, got {x!r}")) from None


def _taper(values: np.ndarray[Any, Any]) -> Tensor:
    return constant(values.astype(dtypes.default_float()))


@names_errors
def bartlett(x: int) -> Tensor:
    """The triangle that rises from 0 to the middle and falls back.

    Args:
        x: the number of points.

    Returns:
        A tensor (x,) of the default float dtype.

    Raises:
        TypeError: if x is not an integer.

    Example:
        >>> import wengert as wg
        >>> wg.ops.bartlett(5).numpy()
        array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _taper(np.bartlett(_points(x, "bartlett")))


@names_errors
def blackman(x: int) -> Tensor:
    """The taper of three cosines, 0.42 - 0.5 cos t + 0.08 cos 2t.

    Args:
        x: the number of points.

    Returns:
        A tensor (x,) of the default float dtype.

    Raises:
        TypeError: if x is not an integer.

    Example:
        >>> import wengert as wg
        >>> abs(wg.ops.blackman(3).numpy().round(6))
        array([0., 1., 0.])
    """
    return _taper(np.blackman(_points(x, "blackman")))


@names_errors
def hamming(x: int) -> Tensor:
    """The raised cosine 0.54 - 0.46 cos t.

    Args:
        x: the number of points.

    Returns:
        A tensor (x,) of the default float dtype.

    Raises:
        TypeError: if x is not an integer.

    Example:
        >>> import wengert as wg
        >>> wg.ops.hamming(3).numpy().round(6)
        array([0.08, 1.  , 0.08])
    """
    return _taper(np.hamming(_points(x, "hamming")))


@names_errors
def hanning(x: int) -> Tensor:
    """The cosine bell 0.5 - 0.5 cos t.

    Args:
        x: the number of points.

    Returns:
        A tensor (x,) of the default float dtype.

    Raises:
        TypeError: if x is not an integer.

    Example:
        >>> import wengert as wg
        >>> wg.ops.hanning(3).numpy()
        array([0., 1., 0.])
    """
    return _taper(np.hanning(_points(x, "hanning")))


@names_errors
def kaiser(x: int, beta: ArrayLike) -> Any:
    """Kaiser's taper i0(beta sqrt(1 - t^2)) / i0(beta), t from -1 to 1.

    Args:
        x: the number of points.
        beta: a real number, how narrow the taper is; differentiable.

    Returns:
        A tensor (x,) of the default float dtype, or a NumPy array where beta is one.

    Raises:
        TypeError: if x is not an integer.
        ValueError: if beta is not one number.

    Example:
        >>> import wengert as wg
        >>> wg.ops.kaiser(3, 0.0).numpy()
        array([1., 1., 1.])
    """
    width = as_tensor(beta, "kaiser")
    if width.ndim:
        raise ValueError(at_user_line(f"kaiser: beta has shape {width.shape}, wanted one number"))
    width = cast(as_float(width), dtypes.default_float()) if width._weak else as_float(width)
    count = _points(x, "kaiser")
    place = np.linspace(-1, 1, count) if count > 1 else np.zeros(max(count, 0))
    shape = cast(constant(np.sqrt(np.maximum(0, 1 - place * place))), width.dtype)
    result = divide(i0(multiply(shape, width)), i0(width))
    return result if isinstance(beta, (int, float)) else outward(result, beta)


__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]
