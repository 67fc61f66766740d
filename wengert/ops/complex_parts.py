"""The parts of complex numbers: real, imag, conj, angle, and polar, which joins them."""

from __future__ import annotations

from typing import Any

from .._core.argument_types import ArrayLike
from .._core.user_line import at_user_line
from .._prims import piecewise as W
from .._prims import structural as S
from . import promotion
from .elementwise import cos, sin
from .promotion import (
    as_float,
    as_tensor,
    binary,
    names_errors,
    outward,
    public,
    tensors_of,
)


@public
def real(x: ArrayLike) -> Any:
    """The real part.

    Args:
        x: an array or a number.

    Returns:
        Real values in x's kind; x itself if it is real.

    Example:
        >>> import wengert as wg
        >>> wg.ops.real([1 + 2j])
        array([1.])
    """
    a = as_tensor(x, "real")
    return S.real(a) if a.dtype.kind == "c" else a


@public
def imag(x: ArrayLike) -> Any:
    """The imaginary part.

    Args:
        x: an array or a number.

    Returns:
        Real values in x's kind; zeros if x is real.

    Example:
        >>> import wengert as wg
        >>> wg.ops.imag([1 + 2j])
        array([2.])
    """
    a = as_tensor(x, "imag")
    return S.imag(a) if a.dtype.kind == "c" else S.fill(a, 0)


@public
def conj(x: ArrayLike) -> Any:
    """The complex conjugate.

    Args:
        x: an array or a number.

    Returns:
        The conjugate in x's kind; x itself if it is real.

    Example:
        >>> import wengert as wg
        >>> wg.ops.conj([1 + 2j])
        array([1.-2.j])
    """
    return S.conj_of(as_tensor(x, "conj"))


conjugate = conj


@public
def angle(x: ArrayLike) -> Any:
    """The angle in radians of complex numbers with the positive axis.

    At kinks: the gradient is 0 at 0, and everywhere for real x.

    Args:
        x: an array or a number.

    Returns:
        Real values in x's kind, from -pi to pi.

    Example:
        >>> import wengert as wg
        >>> wg.ops.angle([1j, 1.0]).round(6)
        array([1.570796, 0.      ])
    """
    return W.angle(as_float(as_tensor(x, "angle")))


@names_errors
def polar(abs_: ArrayLike, angle: ArrayLike) -> Any:
    """Complex numbers from magnitudes and angles.

    Args:
        abs_: the magnitudes, real.
        angle: the angles in radians, real; shapes broadcast.

    Returns:
        Complex numbers in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.ops.polar(2.0, 0.0).item()
        (2+0j)
    """
    r, phi = map(as_float, promotion.meet(*tensors_of(abs_, angle, "polar"), "polar"))
    if r.dtype.kind == "c":
        raise TypeError(at_user_line("polar: magnitudes and angles are real numbers"))
    return outward(S.as_complex(binary(S.mul, r, cos(phi)), binary(S.mul, r, sin(phi))), abs_, angle)


__all__ = ["angle", "conj", "conjugate", "imag", "polar", "real"]
