"""The standard's makers of arrays: `wengert.numpy`'s with the standard's `device` and `copy` rules."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np

from .. import numpy as wnp
from .. import ops
from .._core import dtypes
from .._core.argument_types import ArrayLike, DTypeLike, ShapeLike
from .._core.constant import strong
from .._core.faces import documented, parameters_of
from .._core.tensor import Tensor, tensor_in
from .._core.user_line import at_user_line
from ..ops.promotion import as_tensor, cast, names_errors

P = ParamSpec("P")


@names_errors
def asarray(
    obj: ArrayLike, /, *, dtype: DTypeLike | None = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """A tensor of a number, a nested list, an array, or anything with a buffer or `__dlpack__`.

    Args:
        obj: the data; a list that holds tensors is recorded.
        dtype: the dtype of the result; by default that of the data.
        device: None or "cpu".
        copy: True for a tensor of its own, False to refuse where the data would have to be copied (a list, a number,
            an array that could be written to, another dtype), None for a copy where one is needed.

    Returns:
        A tensor.

    Raises:
        ValueError: if `copy=False` and a copy is needed, or the device is not known.
        TypeError: if the data or the dtype is not numeric.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.asarray([1, 2], dtype=wg.array_api.float32)
        Tensor([1., 2.], shape=(2,), dtype=float32)
    """
    require_device("asarray", device)
    source = tensor_in(obj)
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    if copy is False and (source is None or wanted not in (None, source.dtype)):
        raise ValueError(
            at_user_line(
                f"asarray: copy=False, but {type(obj).__name__} data has to be copied: tensors are immutable and own "
                f"their values"
            )
        )
    if source is None:
        raw: Any = obj  # which the checks below do not narrow
        is_buffer = not isinstance(obj, (np.ndarray, list, tuple)) and _has_buffer(obj)
        result = wnp.array(np.asarray(raw) if is_buffer else raw, wanted)
    else:
        result = ops.copy(source) if copy else source
    return strong(result if wanted is None else cast(result, wanted))


def _has_buffer(obj: Any) -> bool:
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True


def _face(f: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """A face of NumPy's function of the same name; what its arguments mean `wg.ops` says."""
    face = names_errors(f)
    target = vars(ops)[f.__name__].__doc__
    face.__doc__ = documented(
        f.__doc__, parameters_of(f), target, known={"device": 'None or "cpu".'}, otherwise="as in the standard.",
        returns="A tensor.", example=lambda text: text.replace("wg.ops.", "wg.array_api."),
    )  # fmt: skip
    return face


@_face
def arange(
    start: ArrayLike,
    /,
    stop: ArrayLike | None = None,
    step: object = 1,
    *,
    dtype: DTypeLike | None = None,
    device: object = None,
) -> Tensor:
    """Evenly spaced values of the half-open interval from start to stop (from 0 to start if stop is None)."""
    require_device("arange", device)
    return wnp.arange(start, stop, step, dtype=dtype)


@_face
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: object = None,
    endpoint: bool = True,
) -> Tensor:
    """num evenly spaced values of an interval; differentiable in both ends."""
    require_device("linspace", device)
    return wnp.linspace(start, stop, num, endpoint, dtype=dtype)


@_face
def zeros(shape: ShapeLike, *, dtype: DTypeLike | None = None, device: object = None) -> Tensor:
    """Zeros."""
    require_device("zeros", device)
    return wnp.zeros(shape, dtype)


@_face
def ones(shape: ShapeLike, *, dtype: DTypeLike | None = None, device: object = None) -> Tensor:
    """Ones."""
    require_device("ones", device)
    return wnp.ones(shape, dtype)


@_face
def empty(shape: ShapeLike, *, dtype: DTypeLike | None = None, device: object = None) -> Tensor:
    """Zeros: no tensor's values are left to chance."""
    require_device("empty", device)
    return wnp.zeros(shape, dtype)


@_face
def full(shape: ShapeLike, fill_value: ArrayLike, *, dtype: DTypeLike | None = None, device: object = None) -> Tensor:
    """One value everywhere."""
    require_device("full", device)
    return wnp.full(shape, fill_value, dtype)


@_face
def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DTypeLike | None = None, device: object = None
) -> Tensor:
    """Ones on a diagonal, zeros elsewhere."""
    require_device("eye", device)
    return wnp.eye(n_rows, n_cols, k, dtype if dtype is not None else dtypes.default_float())


@_face
def zeros_like(x: ArrayLike, /, *, dtype: DTypeLike | None = None, device: object = None) -> Tensor:
    """Zeros in the shape and dtype of a tensor.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.zeros_like(wg.tensor([1.0, 2.0]))
        Tensor([0., 0.], shape=(2,), dtype=float64)
    """
    require_device("zeros_like", device)
    return wnp.zeros_like(as_tensor(x), dtype)


@_face
def ones_like(x: ArrayLike, /, *, dtype: DTypeLike | None = None, device: object = None) -> Tensor:
    """Ones in the shape and dtype of a tensor.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.ones_like(wg.tensor([1.0, 2.0]))
        Tensor([1., 1.], shape=(2,), dtype=float64)
    """
    require_device("ones_like", device)
    return wnp.ones_like(as_tensor(x), dtype)


@_face
def empty_like(x: ArrayLike, /, *, dtype: DTypeLike | None = None, device: object = None) -> Tensor:
    """Zeros in the shape and dtype of a tensor: no tensor's values are left to chance."""
    require_device("empty_like", device)
    return wnp.zeros_like(as_tensor(x), dtype)


@_face
def full_like(
    x: ArrayLike, /, fill_value: ArrayLike, *, dtype: DTypeLike | None = None, device: object = None
) -> Tensor:
    """One value everywhere, in the shape and dtype of a tensor.

    Example:
        >>> import wengert as wg
        >>> wg.array_api.full_like(wg.tensor([1.0, 2.0]), 3)
        Tensor([3., 3.], shape=(2,), dtype=float64)
    """
    require_device("full_like", device)
    return wnp.full_like(as_tensor(x), fill_value, dtype)


def require_device(name: str, device: object) -> None:
    """Refuses a device that is not there: `ValueError`."""
    if device not in (None, "cpu"):
        raise ValueError(at_user_line(f"{name}: device is {device!r}; wanted 'cpu' or None"))
