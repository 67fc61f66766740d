"""Memory of tensors as NumPy sees it: windows, views by strides (`np.lib.stride_tricks`), and who shares it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..errors import TracingError
from ..ops.memory.place import place_of
from ..ops.memory.sharing import seen_at
from ..ops.promotion import as_tensor, outward


def _layout_of(x: Tensor, name: str) -> np.ndarray[Any, Any]:
    layout = place_of(x).layout
    if layout is None:
        raise TracingError(
            at_user_line(f"{name}: the extents of a tensor of shape {x.shape} are known at run time only")
        )
    return layout


def sliding_window_view(
    x: ArrayLike,
    window_shape: Any,
    axis: int | tuple[int, ...] | None = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Any:
    """All windows of an extent, as a view: their axes come last.

    Example:
        >>> import numpy as np, wengert as wg
        >>> wg.grad(lambda x: np.lib.stride_tricks.sliding_window_view(x, 2).sum())([1.0, 2.0, 3.0])
        array([1., 2., 1.])
    """
    tensor = x if isinstance(x, Tensor) else as_tensor(x, "sliding_window_view")
    layout = _layout_of(tensor, "np.lib.stride_tricks.sliding_window_view")
    view = np.lib.stride_tricks.sliding_window_view(layout, window_shape, axis, writeable=writeable)
    return outward(seen_at(tensor, view), x)


def as_strided(
    x: ArrayLike, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True, **options: Any
) -> Any:
    """A view with these extents and strides in bytes; one that leaves the tensor's memory is refused.

    Example:
        >>> import wengert.numpy as np
        >>> x = np.array([1.0, 2.0, 3.0])
        >>> np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8))
        Tensor([[1., 2.],
                [2., 3.]], shape=(2, 2), dtype=float64)
    """
    tensor = x if isinstance(x, Tensor) else as_tensor(x, "as_strided")
    layout = _layout_of(tensor, "np.lib.stride_tricks.as_strided")
    size, blank = tensor.dtype.itemsize, layout.itemsize
    steps = None if strides is None else (*[s * blank // size for s in strides],)
    view = np.lib.stride_tricks.as_strided(layout, shape, steps, writeable=writeable, **options)
    held: Any = place_of(tensor).family.blank
    low, high = np.lib.array_utils.byte_bounds(view)
    first, last = np.lib.array_utils.byte_bounds(held)
    if view.size and not first <= low <= high <= last:
        raise ValueError(
            at_user_line(
                f"np.lib.stride_tricks.as_strided: shape {view.shape} with strides {strides} leaves the memory of a "
                f"tensor of shape {tensor.shape}"
            )
        )
    return outward(seen_at(tensor, view), x)


def _is_shared(theirs: Callable[..., bool], a: Any, b: Any, max_work: int | None) -> bool:
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)) or place_of(a).family is not place_of(b).family:
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and theirs(a, b, max_work)
    first, second = place_of(a).layout, place_of(b).layout
    return first is None or second is None or theirs(first, second, max_work)


def shares_memory(a: ArrayLike, b: ArrayLike, /, max_work: int | None = None) -> bool:
    """Whether what is written to one of two tensors is seen in the other: as NumPy says of the arrays they stand for.

    Example:
        >>> import numpy as np, wengert as wg
        >>> x = wg.tensor([1.0, 2.0, 3.0])
        >>> np.shares_memory(x, x[1:]), np.shares_memory(x[:1], x[1:])
        (True, False)
    """
    return _is_shared(np.shares_memory, a, b, max_work)


def may_share_memory(a: ArrayLike, b: ArrayLike, /, max_work: int | None = None) -> bool:
    """Whether two tensors reach into the same stretch of memory, as NumPy's arrays that they stand for would."""
    return _is_shared(np.may_share_memory, a, b, max_work)


__all__ = ["as_strided", "sliding_window_view"]
