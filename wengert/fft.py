"""Fourier transforms with the names and signatures of `numpy.fft`; `wg.ops` has Keras's, on pairs of parts.

All are linear, so every derivative is exact. Results come in the kind of array that went in; half floats are
transformed in float32.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from ._core.argument_types import ArrayLike, Axes, Out
from ._core.dims import floordiv
from ._core.lazy_modules import names_loaded_later
from ._core.tensor import Tensor
from ._core.user_line import at_user_line
from .ops import complex_parts, fourier
from .ops.flips_and_rolls import roll
from .ops.promotion import as_tensor, names_errors, normal_axes, public

if TYPE_CHECKING:
    from .ops.cosines import dct, idct
else:
    __getattr__, __dir__ = names_loaded_later(__name__, dict.fromkeys(("dct", "idct"), f"{__package__}.ops.cosines"))

__all__ = [
    "dct", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "idct", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
    "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip


def _numpys() -> Any:
    """`numpy.fft`, whose types a strict checker does not know; it loads when it is first needed."""
    return np.fft


def _points(n: Any, what: str) -> int:
    if fourier.one_length(n, what) is None:
        raise TypeError(at_user_line(f"{what}: n must be an integer, got None"))
    return operator.index(n)


def _require_host(device: object, what: str) -> None:
    if device not in (None, "cpu"):
        raise ValueError(at_user_line(f"{what}: device is {device!r}; wanted 'cpu'"))


def _distance(d: Any, what: str) -> Any:
    if isinstance(d, Tensor) and d.is_followed:
        return d  # whether it is 0 is not known here: infinite frequencies, as of a division
    if np.ndim(d) == 0 and np.equal(d, 0):
        raise ValueError(at_user_line(f"{what}: d is {d}, wanted a distance that is not 0"))
    return d


def _spread(frequencies: Any, n: ArrayLike, d: ArrayLike, what: str) -> Any:
    """Frequencies; a tensor where the distance is one that is followed."""
    count, distance = _points(n, what), _distance(d, what)
    return frequencies(count) / distance if isinstance(distance, Tensor) else frequencies(count, distance)


@names_errors
def fftfreq(n: int, d: float = 1.0, device: object = None) -> Any:
    """The frequencies of a transform of n numbers, in cycles per unit of the distance between them.

    Args:
        n: how many numbers are transformed.
        d: the distance between them.
        device: None or "cpu".

    Returns:
        A NumPy array of n numbers, the negative frequencies behind the others.

    Raises:
        ValueError: if n is less than 1, or d is 0.

    Example:
        >>> import wengert as wg
        >>> wg.fft.fftfreq(4)
        array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    _require_host(device, "fftfreq")
    return _spread(_numpys().fftfreq, n, d, "fftfreq")


@names_errors
def rfftfreq(n: int, d: float = 1.0, device: object = None) -> Any:
    """The frequencies of a transform of n real numbers, in cycles per unit of the distance between them.

    Args:
        n: how many numbers are transformed.
        d: the distance between them.
        device: None or "cpu".

    Returns:
        A NumPy array of n // 2 + 1 numbers.

    Raises:
        ValueError: if n is less than 1, or d is 0.

    Example:
        >>> import wengert as wg
        >>> wg.fft.rfftfreq(4)
        array([0.  , 0.25, 0.5 ])
    """
    _require_host(device, "rfftfreq")
    return _spread(_numpys().rfftfreq, n, d, "rfftfreq")


@public
def fft(
    a: ArrayLike, n: SupportsIndex | None = None, axis: int = -1, norm: str | None = None, out: Out | None = None
) -> Any:
    """The Fourier transform along one axis.

    Args:
        a: an array of real or complex values.
        n: how many elements to transform, zeros following if there are fewer; None means all.
        axis: the axis.
        norm: "backward" (None; not divided), "ortho" (by the root of the number of elements) or "forward" (by it).
        out: a tensor or an array that takes the result.

    Returns:
        Complex numbers in a's kind.

    Raises:
        ValueError: for an unknown norm, or nothing to transform.

    Example:
        >>> import wengert as wg
        >>> wg.fft.fft([1.0, 2.0])
        array([ 3.+0.j, -1.+0.j])
    """
    if out is not None:
        return _numpys().fft(as_tensor(a), n, axis, norm, out=out)
    return fourier.transformed(a, fourier.one_length(n, "fft"), (axis,), norm, False, "fft")


@public
def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: Out | None = None) -> Any:
    """The inverse Fourier transform along one axis.

    Args:
        a: an array of real or complex values.
        n: how many elements to transform, zeros following if there are fewer; None means all.
        axis: the axis.
        norm: "backward" (None; divided by the number of elements), "ortho" (by its root) or "forward" (not divided).
        out: a tensor or an array that takes the result.

    Returns:
        Complex numbers in a's kind.

    Raises:
        ValueError: for an unknown norm, or nothing to transform.

    Example:
        >>> import wengert as wg
        >>> wg.fft.ifft([3.0, -1.0])
        array([1.+0.j, 2.+0.j])
    """
    if out is not None:
        return _numpys().ifft(as_tensor(a), n, axis, norm, out=out)
    return fourier.transformed(a, fourier.one_length(n, "ifft"), (axis,), norm, True, "ifft")


@public
def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: Out | None = None) -> Any:
    """The first half of the Fourier transform of real numbers along one axis.

    Args:
        a: an array of real values.
        n: how many elements to transform, zeros following if there are fewer; None means all.
        axis: the axis.
        norm: "backward" (None; not divided), "ortho" (by the root of the number of elements) or "forward" (by it).
        out: a tensor or an array that takes the result.

    Returns:
        Complex numbers, n // 2 + 1 of them, in a's kind.

    Raises:
        ValueError: for an unknown norm, or nothing to transform.

    Example:
        >>> import wengert as wg
        >>> wg.fft.rfft([1.0, 2.0])
        array([ 3.+0.j, -1.+0.j])
    """
    if out is not None:
        return _numpys().rfft(as_tensor(a), n, axis, norm, out=out)
    return fourier.half_transformed(a, fourier.one_length(n, "rfft"), (axis,), norm, "rfft")


@public
def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: Out | None = None) -> Any:
    """Real numbers from the first half of their Fourier transform along one axis.

    Args:
        a: an array of real or complex values.
        n: how many numbers to return; None means twice as many as there are, less two.
        axis: the axis.
        norm: "backward" (None; divided by the number of elements), "ortho" (by its root) or "forward" (not divided).
        out: a tensor or an array that takes the result.

    Returns:
        Real numbers in a's kind.

    Raises:
        ValueError: for an unknown norm, or nothing to transform.

    Example:
        >>> import wengert as wg
        >>> wg.fft.irfft([3.0, -1.0])
        array([1., 2.])
    """
    if out is not None:
        return _numpys().irfft(as_tensor(a), n, axis, norm, out=out)
    return fourier.from_half(a, fourier.one_length(n, "irfft"), (axis,), norm, "irfft")


@public
def fft2(
    a: ArrayLike, s: ArrayLike | None = None, axes: Axes = (-2, -1), norm: str | None = None, out: Out | None = None
) -> Any:
    """The Fourier transform along two axes.

    Args:
        a: an array of real or complex values.
        s: the lengths along the axes (of the result, for transforms to real numbers); None, or -1 for one of them,
            means what there is.
        axes: the axes.
        norm: "backward" (None; not divided), "ortho" (by the root of the number of elements) or "forward" (by it).
        out: a tensor or an array that takes the result.

    Returns:
        Complex numbers in a's kind.

    Raises:
        ValueError: for an unknown norm, or lengths that do not match the axes.

    Example:
        >>> import wengert as wg
        >>> wg.fft.fft2([[1.0, 2.0]])
        array([[ 3.+0.j, -1.+0.j]])
    """
    if out is not None:
        return _numpys().fft2(as_tensor(a), s, axes, norm, out=out)
    return fourier.transformed(a, s, axes, norm, False, "fft2")


@public
def ifft2(
    a: ArrayLike, s: ArrayLike | None = None, axes: Axes = (-2, -1), norm: str | None = None, out: Out | None = None
) -> Any:
    """The inverse Fourier transform along two axes.

    Args:
        a: an array of real or complex values.
        s: the lengths along the axes (of the result, for transforms to real numbers); None, or -1 for one of them,
            means what there is.
        axes: the axes.
        norm: "backward" (None; divided by the number of elements), "ortho" (by its root) or "forward" (not divided).
        out: a tensor or an array that takes the result.

    Returns:
        Complex numbers in a's kind.

    Raises:
        ValueError: for an unknown norm, or lengths that do not match the axes.

    Example:
        >>> import wengert as wg
        >>> wg.fft.ifft2([[3.0, -1.0]])
        array([[1.+0.j, 2.+0.j]])
    """
    if out is not None:
        return _numpys().ifft2(as_tensor(a), s, axes, norm, out=out)
    return fourier.transformed(a, s, axes, norm, True, "ifft2")


@public
def rfft2(
    a: ArrayLike, s: ArrayLike | None = None, axes: Axes = (-2, -1), norm: str | None = None, out: Out | None = None
) -> Any:
    """The Fourier transform of real numbers, half of it along the last axis, along two axes.

    Args:
        a: an array of real values.
        s: the lengths along the axes (of the result, for transforms to real numbers); None, or -1 for one of them,
            means what there is.
        axes: the axes.
        norm: "backward" (None; not divided), "ortho" (by the root of the number of elements) or "forward" (by it).
        out: a tensor or an array that takes the result.

    Returns:
        Complex numbers in a's kind.

    Raises:
        ValueError: for an unknown norm, or lengths that do not match the axes.

    Example:
        >>> import wengert as wg
        >>> wg.fft.rfft2([[1.0, 2.0]])
        array([[ 3.+0.j, -1.+0.j]])
    """
    if out is not None:
        return _numpys().rfft2(as_tensor(a), s, axes, norm, out=out)
    return fourier.half_transformed(a, s, axes, norm, "rfft2")


@public
def irfft2(
    a: ArrayLike, s: ArrayLike | None = None, axes: Axes = (-2, -1), norm: str | None = None, out: Out | None = None
) -> Any:
    """Real numbers from their Fourier transform, half of it along the last axis, along two axes.

    Args:
        a: an array of real or complex values.
        s: the lengths along the axes (of the result, for transforms to real numbers); None, or -1 for one of them,
            means what there is.
        axes: the axes.
        norm: "backward" (None; divided by the number of elements), "ortho" (by its root) or "forward" (not divided).
        out: a tensor or an array that takes the result.

    Returns:
        Real numbers in a's kind.

    Raises:
        ValueError: for an unknown norm, or lengths that do not match the axes.

    Example:
        >>> import wengert as wg
        >>> wg.fft.irfft2([[3.0, -1.0]])
        array([[1., 2.]])
    """
    if out is not None:
        return _numpys().irfft2(as_tensor(a), s, axes, norm, out=out)
    return fourier.from_half(a, s, axes, norm, "irfft2")


@public
def fftn(
    a: ArrayLike, s: ArrayLike | None = None, axes: Axes = None, norm: str | None = None, out: Out | None = None
) -> Any:
    """The Fourier transform along several axes.

    Args:
        a: an array of real or complex values.
        s: the lengths along the axes (of the result, for transforms to real numbers); None, or -1 for one of them,
            means what there is.
        axes: the axes; None means the last ones, as many as `s` has, or all.
        norm: "backward" (None; not divided), "ortho" (by the root of the number of elements) or "forward" (by it).
        out: a tensor or an array that takes the result.

    Returns:
        Complex numbers in a's kind.

    Raises:
        ValueError: for an unknown norm, or lengths that do not match the axes.

    Example:
        >>> import wengert as wg
        >>> wg.fft.fftn([[1.0, 2.0]])
        array([[ 3.+0.j, -1.+0.j]])
    """
    if out is not None:
        return _numpys().fftn(as_tensor(a), s, axes, norm, out=out)
    return fourier.transformed(a, s, axes, norm, False, "fftn")


@public
def ifftn(
    a: ArrayLike, s: ArrayLike | None = None, axes: Axes = None, norm: str | None = None, out: Out | None = None
) -> Any:
    """The inverse Fourier transform along several axes.

    Args:
        a: an array of real or complex values.
        s: the lengths along the axes (of the result, for transforms to real numbers); None, or -1 for one of them,
            means what there is.
        axes: the axes; None means the last ones, as many as `s` has, or all.
        norm: "backward" (None; divided by the number of elements), "ortho" (by its root) or "forward" (not divided).
        out: a tensor or an array that takes the result.

    Returns:
        Complex numbers in a's kind.

    Raises:
        ValueError: for an unknown norm, or lengths that do not match the axes.

    Example:
        >>> import wengert as wg
        >>> wg.fft.ifftn([[3.0, -1.0]])
        array([[1.+0.j, 2.+0.j]])
    """
    if out is not None:
        return _numpys().ifftn(as_tensor(a), s, axes, norm, out=out)
    return fourier.transformed(a, s, axes, norm, True, "ifftn")


@public
def rfftn(
    a: ArrayLike, s: ArrayLike | None = None, axes: Axes = None, norm: str | None = None, out: Out | None = None
) -> Any:
    """The Fourier transform of real numbers, half of it along the last axis, along several axes.

    Args:
        a: an array of real values.
        s: the lengths along the axes (of the result, for transforms to real numbers); None, or -1 for one of them,
            means what there is.
        axes: the axes; None means the last ones, as many as `s` has, or all.
        norm: "backward" (None; not divided), "ortho" (by the root of the number of elements) or "forward" (by it).
        out: a tensor or an array that takes the result.

    Returns:
        Complex numbers in a's kind.

    Raises:
        ValueError: for an unknown norm, or lengths that do not match the axes.

    Example:
        >>> import wengert as wg
        >>> wg.fft.rfftn([[1.0, 2.0]])
        array([[ 3.+0.j, -1.+0.j]])
    """
    if out is not None:
        return _numpys().rfftn(as_tensor(a), s, axes, norm, out=out)
    return fourier.half_transformed(a, s, axes, norm, "rfftn")


@public
def irfftn(
    a: ArrayLike, s: ArrayLike | None = None, axes: Axes = None, norm: str | None = None, out: Out | None = None
) -> Any:
    """Real numbers from their Fourier transform, half of it along the last axis, along several axes.

    Args:
        a: an array of real or complex values.
        s: the lengths along the axes (of the result, for transforms to real numbers); None, or -1 for one of them,
            means what there is.
        axes: the axes; None means the last ones, as many as `s` has, or all.
        norm: "backward" (None; divided by the number of elements), "ortho" (by its root) or "forward" (not divided).
        out: a tensor or an array that takes the result.

    Returns:
        Real numbers in a's kind.

    Raises:
        ValueError: for an unknown norm, or lengths that do not match the axes.

    Example:
        >>> import wengert as wg
        >>> wg.fft.irfftn([[3.0, -1.0]])
        array([[1., 2.]])
    """
    if out is not None:
        return _numpys().irfftn(as_tensor(a), s, axes, norm, out=out)
    return fourier.from_half(a, s, axes, norm, "irfftn")


_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward"}


@public
def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: Out | None = None) -> Any:
    """The transform of a signal with Hermitian symmetry, of which half is given: a real spectrum.

    Args:
        a: an array of complex values.
        n: the length of the result; 2 (m - 1) if None, m the length of a along the axis.
        axis: the axis.
        norm: "backward", "ortho" or "forward".
        out: a tensor or an array that takes the result.

    Returns:
        The real spectrum in a's kind.

    Example:
        >>> import wengert as wg
        >>> wg.fft.hfft([1.0, 2.0, 3.0])
        array([ 8., -2.,  0., -2.])
    """
    if out is not None:
        return _numpys().hfft(as_tensor(a), n, axis, norm, out=out)
    x = complex_parts.conj(as_tensor(a, "hfft"))
    return irfft(x, n, axis, _SWAPPED.get(norm, norm))


@public
def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: Out | None = None) -> Any:
    """The inverse of `hfft`: half of a signal with Hermitian symmetry, from its real spectrum.

    Args:
        a: an array of real values.
        n: how many of them are used; zeros are added if there are fewer.
        axis: the axis.
        norm: "backward", "ortho" or "forward".
        out: a tensor or an array that takes the result.

    Returns:
        The complex half in a's kind, of length n // 2 + 1 along the axis.

    Example:
        >>> import wengert as wg
        >>> wg.fft.ihfft([8.0, -2.0, 0.0, -2.0]).real
        array([1., 2., 3.])
    """
    if out is not None:
        return _numpys().ihfft(as_tensor(a), n, axis, norm, out=out)
    return complex_parts.conj(rfft(as_tensor(a, "ihfft"), n, axis, _SWAPPED.get(norm, norm)))


@public
def fftshift(x: ArrayLike, axes: Axes = None) -> Any:
    """The elements moved so that frequency 0 stands in the middle.

    Args:
        x: an array.
        axes: the axis or axes; None means all.

    Returns:
        The moved elements in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.fft.fftshift([0, 1, -1])
        array([-1,  0,  1])
    """
    a = as_tensor(x, "fftshift")
    places = normal_axes(axes, a.ndim, "fftshift")
    return roll(a, (*[floordiv(a.shape[i], 2) for i in places],), places)


@public
def ifftshift(x: ArrayLike, axes: Axes = None) -> Any:
    """The inverse of `fftshift`.

    Args:
        x: an array.
        axes: the axis or axes; None means all.

    Returns:
        The moved elements in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.fft.ifftshift([-1, 0, 1])
        array([ 0,  1, -1])
    """
    a = as_tensor(x, "ifftshift")
    places = normal_axes(axes, a.ndim, "ifftshift")
    return roll(a, (*[-floordiv(a.shape[i], 2) for i in places],), places)
