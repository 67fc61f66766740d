"""Windows that slide over the last axes: sums, and the place of the extremum; and elements taken from places of
their own along the last axis, with its adjoint. Pooling and top-k are made of them.

`window`, `strides`, `padding` ((before, after) pairs) and `dilation` have one entry for each of the last axes; all
axes before them are a batch. Sums take padding as zeros; an extremum never lies in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import dims, dtypes
from .._core.dims import DimLike
from .._core.domains import require_at_most, require_lengths, require_positive
from .._core.op import Op, batch_elementwise, linear, require_dtype, zero
from .._core.tensor import Tensor
from .._core.types import TensorType, same_shape, tensor_type


def _positions(size: DimLike, window: int, stride: int, padding: tuple[Any, Any], dilation: int) -> Any:
    """How many windows there are along an axis."""
    reach = (window - 1) * dilation + 1
    return dims.floordiv(padding[0] + padding[1] + size - reach, stride) + 1


def _out_shape(
    name: str,
    shape: Any,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
) -> Any:
    lead = len(shape) - len(window)
    if lead < 0:
        raise ValueError(f"{name}: x has shape {shape}, which has not the {len(window)} axes of the window {window}")
    counts = (*map(_positions, shape[lead:], window, strides, padding, dilation),)
    if any(type(n) is int and n < 1 for n in counts):
        raise ValueError(f"{name}: x has shape {shape}, into which the window {window} does not fit")
    return (*shape[:lead], *counts)


def _check(name: str) -> Any:
    return lambda x, window, strides, padding, dilation: _require_windows(
        name, x.shape, window, strides, padding, dilation
    )


def _spread_check(
    x: TensorType,
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
) -> None:
    require_lengths("window_spread", len(window), sizes=sizes)
    lead = x.shape[: len(x.shape) - len(sizes)]
    _require_windows("window_spread", (*lead, *sizes), window, strides, padding, dilation)


def _require_windows(
    name: str,
    shape: Any,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
) -> None:
    """Raises unless there is one entry an axis, and windows fit."""
    require_lengths(name, len(window), strides=strides, padding=padding, dilation=dilation)
    require_positive(name, window=window, strides=strides, dilation=dilation)
    for pair in padding:
        for amount in pair:
            require_at_most(name, "0 before padding", 0, amount)
    for extent, wide, step, pair, apart in zip(
        shape[len(shape) - len(window) :], window, strides, padding, dilation, strict=True
    ):
        require_at_most(name, "1 before the number of windows", 1, _positions(extent, wide, step, pair, apart))


def _sum_type(
    x: TensorType,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
) -> TensorType:
    require_dtype("window_sum", "x", x, "number")
    return tensor_type(_out_shape("window_sum", x.shape, window, strides, padding, dilation), x.dtype)


def _spread_type(
    x: TensorType,
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
) -> TensorType:
    require_dtype("window_spread", "x", x, "number")
    shape = (*x.shape[: len(x.shape) - len(sizes)], *sizes)
    wanted = _out_shape("window_spread", shape, window, strides, padding, dilation)
    if not same_shape(wanted, x.shape):
        raise ValueError(f"window_spread: x has shape {x.shape}, wanted {wanted}")
    return tensor_type(shape, x.dtype)


def _sum_transpose(
    ct: Tensor,
    x_type: TensorType,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
) -> Tensor:
    sizes = x_type.shape[len(x_type.shape) - len(window) :]
    return window_spread(ct, sizes=sizes, window=window, strides=strides, padding=padding, dilation=dilation)


def _spread_transpose(
    ct: Tensor,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
) -> Tensor:
    return window_sum(ct, window=window, strides=strides, padding=padding, dilation=dilation)


_GEOMETRIES = [
    ((2, 5), ((3,), (2,), ((1, 1),), (1,))),
    ((2, 5, 4), ((2, 2), (1, 2), ((0, 1), (0, 0)), (2, 1))),
    ((4, 3, 3), ((2, 2, 1), (2, 1, 3), ((0, 0),) * 3, (1, 1, 1))),
    ((7,), ((2,), (3,), ((0, 0),), (1,))),
]  # fmt: skip

window_sum = linear(
    "window_sum", "x", attrs="window strides padding dilation", type=_sum_type, check=_check("window_sum"),
    batch=batch_elementwise,
    transpose=_sum_transpose, dtypes="number", samples=[((shape,), attrs) for shape, attrs in _GEOMETRIES],
    doc="the sums over windows that slide over the last axes",
    in_float32=True,
)  # fmt: skip


def _spread_samples() -> list[Any]:
    return [
        ((_out_shape("", shape, *attrs),), (shape[len(shape) - len(attrs[0]) :], *attrs))
        for shape, attrs in _GEOMETRIES
    ]


window_spread = linear(
    "window_spread", "x", attrs="sizes window strides padding dilation", type=_spread_type, batch=batch_elementwise,
    check=_spread_check,
    transpose=_spread_transpose, inserts_zeros=True, leaves_zeros=True, dtypes="number", samples=_spread_samples(),
    doc="each element added to all places of its window: the adjoint of window_sum",
    in_float32=True,
)  # fmt: skip


def _place(name: str, doc: str) -> Op:
    def type_rule(
        x: TensorType,
        window: Sequence[int],
        strides: Sequence[int],
        padding: Sequence[tuple[int, int]],
        dilation: Sequence[int],
    ) -> TensorType:
        require_dtype(name, "x", x, "real")
        return tensor_type(_out_shape(name, x.shape, window, strides, padding, dilation), dtypes.int64)

    return zero(
        name, "x", attrs="window strides padding dilation", type=type_rule, batch=batch_elementwise, dtypes="real",
        check=_check(name), in_float32=True,
        samples=[((shape,), attrs) for shape, attrs in _GEOMETRIES], smooth=False, places=True, doc=doc,
    )  # fmt: skip


window_argmax = _place(
    "window_argmax", "the place of each window's largest element (the first of equal ones, or the first NaN), counted "
    "row-major over the last axes",
)  # fmt: skip
window_argmin = _place("window_argmin", "the place of each window's smallest element, counted as by window_argmax")

# -- elements at places of their own ---------------------------------------------------------------------------------


def _along_type(name: str, x: TensorType, index: TensorType, length: Any) -> TensorType:
    require_dtype(name, "index", index, "integer")
    if not x.shape or len(x.shape) != len(index.shape) or not same_shape(x.shape[:-1], index.shape[:-1]):
        raise ValueError(f"{name}: x has shape {x.shape} and index has shape {index.shape}")
    return tensor_type((*x.shape[:-1], length), x.dtype)


def _add_along_type(x: TensorType, index: TensorType, size: Any) -> TensorType:
    if not same_shape(x.shape, index.shape):
        raise ValueError(f"add_along: x has shape {x.shape} and index has shape {index.shape}")
    return _along_type("add_along", x, index, size)


def _indices(rng: np.random.Generator) -> Any:
    return rng.integers(0, 4, (2, 3))


take_along = linear(
    "take_along", "x index", type=lambda x, index: _along_type("take_along", x, index, index.shape[-1]),
    called="take_along_axis",
    moves="some",
    transpose=(lambda ct, x_type, index: add_along(ct, index, size=x_type.shape[-1]), None),
    batch=batch_elementwise, inserts_zeros=True, dtypes="any", can_raise=True,
    samples=[(((2, 4), _indices), ()), (((4,), lambda rng: [1, 3, 1]), ())],
    doc="for each place along the last axis the element at a position of its own, not negative",
)  # fmt: skip
add_along = linear(
    "add_along", "x index", called="take_along_axis", attrs="size", type=_add_along_type,
    transpose=(lambda ct, index: take_along(ct, index), None), batch=batch_elementwise, dtypes="number",
    leaves_zeros=True,
    can_raise=True, samples=[(((2, 3), _indices), (4,)), (((3,), lambda rng: [1, 3, 1]), (4,))],
    doc="each element added to a place of its own along the last axis of zeros: the adjoint of take_along",
    in_float32=True,
)  # fmt: skip
