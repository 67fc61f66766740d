"""Reinterpretations of the same numbers: complex ones as pairs of real ones, and bits as another dtype."""

from __future__ import annotations

from typing import Any

from .._core import dtypes
from .._core.argument_types import ArrayLike, DTypeLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import binary_form as Y
from .._prims import structural as S
from .complex_parts import imag, real
from .promotion import as_float, as_tensor, public
from .shapes import joined, part, reshaped, with_axis


def _pairs(x: Tensor) -> Tensor:
    """The parts of complex numbers along a new last axis."""
    return joined([with_axis(p, x.ndim) for p in (real(x), imag(x))], x.ndim)


@public
def view_as_real(x: ArrayLike) -> Any:
    """Complex numbers as pairs of real ones.

    Args:
        x: an array of complex numbers.

    Returns:
        An array (..., 2) of the real and the imaginary parts, in x's kind.

    Raises:
        TypeError: for numbers that are not complex.

    Example:
        >>> import wengert as wg
        >>> wg.ops.view_as_real([1 + 2j])
        array([[1., 2.]])
    """
    a = as_tensor(x, "view_as_real")
    if not dtypes.is_complex(a.dtype):
        raise TypeError(at_user_line(f"view_as_real: x has dtype {a.dtype.name}, wanted a complex one"))
    return _pairs(a)


@public
def view_as_complex(x: ArrayLike) -> Any:
    """Pairs of real numbers as complex ones.

    Args:
        x: an array (..., 2) of real and imaginary parts.

    Returns:
        An array (...) of complex numbers, in x's kind.

    Raises:
        TypeError: for complex numbers.
        ValueError: unless the last axis has two elements.

    Example:
        >>> import wengert as wg
        >>> wg.ops.view_as_complex([[1.0, 2.0]])
        array([1.+2.j])
    """
    a = as_float(as_tensor(x, "view_as_complex"))
    if dtypes.is_complex(a.dtype):
        raise TypeError(at_user_line(f"view_as_complex: x has dtype {a.dtype.name}, wanted a real one"))
    if not a.ndim or a.shape[-1] != 2:
        raise ValueError(at_user_line(f"view_as_complex: x has shape {a.shape}, wanted two numbers on the last axis"))
    last = a.ndim - 1
    return S.as_complex(*(reshaped(part(a, last, i, i + 1), a.shape[:-1]) for i in (0, 1)))


@public
def view(x: ArrayLike, dtype: DTypeLike | None = None) -> Any:
    """The same bits read as numbers of another dtype. The result is an array of its own, as everywhere.

    Gradients flow where the numbers stay what they are: to x's own dtype, from complex numbers to their parts and
    back. Bits read as other numbers have none.

    Args:
        x: an array.
        dtype: the dtype; None means x's own. With another size of elements the last axis gets longer or shorter.

    Returns:
        An array in x's kind.

    Raises:
        ValueError: if the last axis does not hold whole numbers of the dtype.
        LookupError: when a gradient through bits read anew is asked for.

    Example:
        >>> import wengert as wg
        >>> import numpy as np
        >>> wg.ops.view(np.array([1.0, -2.0]), "int64") < 0
        array([False,  True])
    """
    a = as_tensor(x, "view")
    wanted = a.dtype if dtype is None else dtypes.as_dtype(dtype)
    if wanted == a.dtype:
        return a
    if dtypes.is_complex(a.dtype) and a.ndim and wanted == dtypes.real_of(a.dtype):
        return reshaped(_pairs(a), (*a.shape[:-1], 2 * a.shape[-1]))
    if dtypes.is_complex(wanted) and a.ndim and a.dtype == dtypes.real_of(wanted) and a.shape[-1] % 2 == 0:
        return view_as_complex(reshaped(a, (*a.shape[:-1], a.shape[-1] // 2, 2)))
    return Y.bitcast(a, dtype=wanted)


__all__ = ["view", "view_as_complex", "view_as_real"]
