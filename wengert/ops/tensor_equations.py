"""`tensorsolve` and `tensorinv`: linear equations whose matrix and unknown are arrays of any number of axes."""

from __future__ import annotations

import math
from typing import Any

from numpy.linalg import LinAlgError

from .._core.argument_types import ArrayLike, Axes
from .._core.user_line import at_user_line
from .linalg import inv, solve
from .promotion import as_tensor, names_errors, normal_axes, outward
from .shapes import permuted, reshaped


@names_errors
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Axes = None) -> Any:
    """The x with ``tensordot(a, x, x.ndim) == b``.

    Args:
        a: an array (*b.shape, *x.shape) whose two groups of axes hold as many elements.
        b: an array.
        axes: axes of a to move to its end first; None for none.

    Returns:
        An array of the shape of a's last axes, in the kind of array that came in.

    Raises:
        LinAlgError: if a is not square in that sense, or singular.
        ValueError: for an axis that a has not.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.tensorsolve([[2.0, 0.0], [0.0, 4.0]], [6.0, 8.0])
        array([3., 2.])
    """
    left, right = as_tensor(a, "tensorsolve"), as_tensor(b, "tensorsolve")
    if axes is not None:
        last = normal_axes(axes, left.ndim, "tensorsolve")
        left = permuted(left, (*[i for i in range(left.ndim) if i not in last], *last))
    shape = left.shape[right.ndim :]
    count = math.prod(shape)
    if math.prod(left.shape) != count * count or math.prod(right.shape) != count:
        raise LinAlgError(
            at_user_line(
                f"tensorsolve: a has shape {left.shape} and b {right.shape}; wanted as many elements in a's first "
                f"{right.ndim} axes, and in b, as in the others"
            )
        )
    found = solve(reshaped(left, (count, count)), reshaped(right, (count,)))
    return outward(reshaped(found, shape), a, b)


@names_errors
def tensorinv(a: ArrayLike, ind: int = 2) -> Any:
    """The inverse of an array as the linear map from its last axes to its first.

    Args:
        a: an array whose first `ind` axes hold as many elements as the others.
        ind: how many axes are the first.

    Returns:
        An array (*a.shape[ind:], *a.shape[:ind]) in a's kind.

    Raises:
        ValueError: if ind is not positive.
        LinAlgError: if a is not square in that sense, or singular.

    Example:
        >>> import wengert as wg
        >>> wg.linalg.tensorinv([[2.0, 0.0], [0.0, 4.0]], ind=1)
        array([[0.5 , 0.  ],
               [0.  , 0.25]])
    """
    array = as_tensor(a, "tensorinv")
    if ind <= 0:
        raise ValueError(at_user_line(f"tensorinv: ind is {ind}; wanted a positive number of axes"))
    first, rest = array.shape[:ind], array.shape[ind:]
    count = math.prod(first)
    if math.prod(rest) != count:
        raise LinAlgError(
            at_user_line(
                f"tensorinv: a has shape {array.shape}; wanted as many elements in its first {ind} axes as in the "
                "others"
            )
        )
    return outward(reshaped(inv(reshaped(array, (count, count))), (*rest, *first)), a)


__all__ = ["tensorinv", "tensorsolve"]
