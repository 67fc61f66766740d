"""Ops that move values without computing: constants, shapes, selection, identities — and sums, which are the
adjoints of repetition. Everything else is built on these; the rules of other files are written in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from .._core import dims, dtypes
from .._core.argument_types import ArrayLike
from .._core.dims import Dim, DimLike, Shape
from .._core.domains import is_number, require_at_most, require_lengths, require_range
from .._core.moving import beside
from .._core.op import (
    ZERO,
    Op,
    batch_elementwise,
    batch_shifting,
    batch_size,
    elementwise,
    elementwise_type,
    general,
    linear,
    repeat,
    require_dtype,
    require_same,
    stop,
    zero,
)
from .._core.tensor import Tensor, Value
from .._core.types import TensorType, same_dim, same_shape, tensor_type
from .series import product

D = TypeVar("D", bound=DimLike)


def _no_batch(op: Op, operands: Sequence[Tensor], batched: Sequence[bool], attrs: tuple[Any, ...]) -> Any:
    raise AssertionError(f"{op.name} has no operands to batch")


# -- constants -------------------------------------------------------------------------------------------------


def _constant_check(value: np.ndarray[Any, Any]) -> None:
    if not isinstance(value, (np.ndarray, np.generic)):
        raise ValueError(f"constant: value is {value!r}, wanted an array")


def _full_check(shape: tuple[Any, ...], value: float, dtype: np.dtype[Any]) -> None:
    """A number that the dtype can hold: code converts it without asking."""
    if not is_number(value):
        raise ValueError(f"full: value is {value!r}, wanted a number")
    if dtypes.is_integer(dtype) and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        raise ValueError(f"full: value is {value!r}, which {dtype.name} cannot hold")


constant = zero(
    "constant", "", attrs="value", batch=_no_batch, dtypes="any",
    states=lambda value: value,
    type=lambda value: tensor_type(value.shape, value.dtype), check=_constant_check,
    samples=[((), (dtypes.float64.type(1.5),))],
    doc="an array that is part of the program",
)  # fmt: skip

full = zero(
    "full", "", attrs="shape value dtype", batch=_no_batch, dtypes="any",
    states=lambda shape, value, dtype: value,
    type=lambda shape, value, dtype: tensor_type(shape, dtype), check=_full_check,
    samples=[((), ((2, 3), 1.5, dtypes.float32)), ((), ((), 1, dtypes.int64))],
    doc="an array of one repeated number",
)  # fmt: skip

absent = zero(
    "absent", "", attrs="shape dtype", batch=_no_batch, dtypes="any",
    states=lambda shape, dtype: 0,
    type=lambda shape, dtype: tensor_type(shape, dtype), samples=[((), ((2, 3), dtypes.float32))],
    doc="zeros that take no memory: what is added to, or what a branch does not fill of its results",
)  # fmt: skip

iota = zero(
    "iota", "", attrs="size dtype", batch=_no_batch, dtypes="real",
    places=True,
    type=lambda size, dtype: tensor_type((size,), dtype),
    samples=[((), (4, dtypes.int64)), ((), (0, dtypes.float32))],
    doc="0, 1, ..., size - 1",
)  # fmt: skip

dim_value = zero(
    "dim_value", "", attrs="dim", batch=_no_batch, dtypes="integer",
    type=lambda dim: tensor_type((), dtypes.int64), samples=[((), (3,))],
    doc="a dimension that is known at run time only, as an integer",
)  # fmt: skip


def zeros_of(x_type: TensorType) -> Tensor:
    """Zeros of a type."""
    return full(shape=x_type.shape, value=0, dtype=x_type.dtype)


_MADE_WHOLE = (np.ndarray, np.generic, Value)  # whose extents `full` takes


def fill(x: Tensor, value: float) -> Tensor:
    """One number in the shape and dtype of x, on its engine."""
    if isinstance(x._data, _MADE_WHOLE):
        return full(shape=x.shape, value=value, dtype=x.dtype)
    # a framework's extents may be symbols of its own, and one number is all that has to be moved to a device
    return broadcast_to(beside(full(shape=(), value=value, dtype=x.dtype), x), shape=x.shape)


# -- arithmetic that is linear -----------------------------------------------------------------------------------

add = linear(
    "add", "x y", transpose=(lambda ct: ct, lambda ct: ct), type=elementwise_type("add", None, "any"),
    cost="light", operator="+", grounds=(),
    batch=batch_elementwise, dtypes="any", doc="x + y",
    mixes="nothing",
)  # fmt: skip


def _same_type_of_all(xs: tuple[TensorType, ...]) -> TensorType:
    if not xs:
        raise ValueError("add_n: wanted at least one array")
    require_same("add_n", [f"operand {i}" for i in range(len(xs))], xs)
    return tensor_type(xs[0].shape, xs[0].dtype)


add_n = linear(
    "add_n", "*xs", transpose=lambda ct, xs_type: (ct,) * len(xs_type), type=_same_type_of_all,
    batch=batch_elementwise, dtypes="any", samples=[(((3, 2),) * 3, ()), (((),), ())], grounds=(),
    doc="the sum of any number of arrays, all of which are alive until the last one is there",
    mixes="nothing",
)  # fmt: skip
neg = linear(
    "neg", "x", transpose=lambda ct: neg(ct), type=elementwise_type("neg", None, "number"), batch=batch_elementwise,
    cost="light", operator="-",
    dtypes="number", doc="-x",
    mixes="nothing",
    exact=True,
)  # fmt: skip
sub = linear(
    "sub", "x y", transpose=(lambda ct: ct, lambda ct: neg(ct)), type=elementwise_type("sub", None, "number"),
    cost="light", operator="-", grounds=(),
    batch=batch_elementwise, dtypes="number", doc="x - y",
    mixes="nothing",
)  # fmt: skip
mul = elementwise(
    "mul", "x y", partials=(lambda y: y, lambda x: x), dtypes="any", cost="light", doc="x * y", operator="*",
    jet=lambda x, y: lambda k: product(k, x, y),
)  # fmt: skip


def _scale_vjp(ct: Tensor, x: Tensor, y: Tensor, needed: tuple[bool, ...]) -> Any:
    # d/dx is the plain slope: where x is a structural zero, the op that inserted it drops what flows back; d/dy is 0
    # there, also where that slope was infinite and made ct so
    return (mul(ct, conj_of(y)) if needed[0] else None, scale(conj_of(x), ct) if needed[1] else None)


def _scale_jvp(masked: ArrayLike, x: Tensor, y: Tensor, x_dot: Tensor | None, y_dot: Tensor) -> Tensor:
    """Of what has no tangent there is no term: zeros in its place would meet infinities."""
    if y_dot is None:
        return scale(x_dot, y)
    by_y = scale(x, y_dot)
    return by_y if x_dot is None else add(scale(x_dot, y), by_y)


scale = general(
    "scale", "x y", vjp=_scale_vjp, inserts_zeros=True, leaves_zeros=True,
    cost="light",
    jvp=_scale_jvp,
    jet=lambda x, y: lambda k: product(k, x, y, times=scale),
    type=elementwise_type("scale", None, "inexact"), batch=batch_elementwise,
    doc="x * y, but 0 where x is 0: the product of a cotangent that may hold structural zeros",
    mixes="nothing",
)  # fmt: skip

times_number = linear(
    "times_number", "x", attrs="number", dtypes="number", batch=batch_elementwise,
    cost="light", operator="*",
    transpose=lambda ct, number: times_number(ct, number=_conj_number(number)),
    type=lambda x, number: tensor_type(x.shape, x.dtype), samples=[(((3, 2),), (2.5,)), (((),), (-1.5,))],
    doc="x times a Python number",
    mixes="nothing",
)  # fmt: skip

add_number = general(
    "add_number", "x", attrs="number", dtypes="number", batch=batch_elementwise,
    cost="light", operator="+",
    vjp=(lambda ct: ct,), jvp=lambda x_dot: x_dot, jet=lambda x: lambda k: x[k],
    type=lambda x, number: tensor_type(x.shape, x.dtype), samples=[(((3, 2),), (2.5,)), (((),), (-1.5,))],
    doc="x plus a Python number",
    mixes="nothing",
)  # fmt: skip


def _conj_number(number: complex) -> Any:
    return number.conjugate() if isinstance(number, complex) else number


# -- dtype ---------------------------------------------------------------------------------------------------------

convert = linear(
    "convert", "x", attrs="dtype", dtypes="any", batch=batch_elementwise,
    cost="free",
    transpose=lambda ct, x_type: convert(ct, dtype=x_type.dtype),
    type=lambda x, dtype: tensor_type(x.shape, dtype),
    samples=[(((3, 2),), (dtypes.float32,)), (((3,),), (dtypes.complex128,))],
    doc="the values in another dtype (the real part, from complex to real)",
    mixes="nothing",
)  # fmt: skip


def cast(x: Tensor, dtype: np.dtype[Any]) -> Tensor:
    """x in a dtype; x itself if it has that dtype."""
    return x if x.dtype == dtype else convert(x, dtype=dtype)


conj = linear(
    "conj", "x", transpose=lambda ct: conj(ct), type=elementwise_type("conj", None, "inexact"),
    cost="light",
    batch=batch_elementwise, doc="the complex conjugate",
    mixes="nothing",
)  # fmt: skip


def conj_of(x: Tensor) -> Tensor:
    """The conjugate of a complex tensor; a real one as it is."""
    return conj(x) if x.dtype.kind == "c" else x


def _complex_only(name: str) -> Any:
    def type_rule(x: TensorType) -> TensorType:
        if not dtypes.is_complex(x.dtype):
            raise TypeError(f"{name}: x has dtype {x.dtype.name}, wanted complex")
        return tensor_type(x.shape, dtypes.real_of(x.dtype))

    return type_rule


_COMPLEX_SAMPLE = [((lambda rng: rng.normal(size=(3, 2)) + 1j * rng.normal(size=(3, 2)),), ())]

real = linear(
    "real", "x", transpose=lambda ct: as_complex(ct, zeros_of(_type(ct))), type=_complex_only("real"),
    batch=batch_elementwise, dtypes="complex", samples=_COMPLEX_SAMPLE, doc="the real part",
    mixes="nothing",
)  # fmt: skip
imag = linear(
    "imag", "x", transpose=lambda ct: as_complex(zeros_of(_type(ct)), ct), type=_complex_only("imag"),
    batch=batch_elementwise, dtypes="complex", samples=_COMPLEX_SAMPLE, doc="the imaginary part",
    mixes="nothing",
)  # fmt: skip
as_complex = linear(
    # halves became complex64, so their parts come back as float32
    "as_complex", "x y", dtypes="float",
    transpose=(lambda ct, x_type: _in_dtype(real(ct), x_type), lambda ct, y_type: _in_dtype(imag(ct), y_type)),
    type=elementwise_type("as_complex", dtypes.complex_of, "float"), batch=batch_elementwise, doc="x + iy",
    grounds=(),
    mixes="nothing",
)  # fmt: skip


def _in_dtype(x: Tensor, wanted: TensorType) -> Tensor:
    return x if x.dtype == wanted.dtype else convert(x, dtype=wanted.dtype)


def _type(x: Tensor) -> TensorType:
    return tensor_type(x.shape, x.dtype)


# -- shape ---------------------------------------------------------------------------------------------------------


def _reshape_type(x: TensorType, shape: Shape) -> TensorType:
    if not same_dim(dims.size_of(x.shape), dims.size_of(shape)):
        raise ValueError(f"reshape: x has shape {x.shape}, which does not fill shape {shape}")
    return tensor_type(shape, x.dtype)


def _reshape_batch(op: Op, operands: Sequence[Tensor], batched: Sequence[bool], attrs: tuple[Any, ...]) -> Tensor:
    (x,), (shape,) = operands, attrs
    return reshape(x, shape=(x.shape[0], *shape))


reshape = linear(
    "reshape", "x", attrs="shape", type=_reshape_type, batch=_reshape_batch, dtypes="any",
    cost="free", moves="all",
    transpose=lambda ct, x_type: reshape(ct, shape=x_type.shape),
    samples=[(((2, 3),), ((3, 2),)), (((4,),), ((2, 1, 2),)), (((),), ((1, 1),))],
    doc="the same elements, row-major, in another shape",
)  # fmt: skip


def _transpose_type(x: TensorType, perm: tuple[int, ...]) -> TensorType:
    if sorted(perm) != list(range(len(x.shape))):
        raise ValueError(f"transpose: {perm} does not permute the axes of shape {x.shape}")
    return tensor_type((*[x.shape[p] for p in perm],), x.dtype)


def inverse(perm: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes another."""
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))


transpose = linear(
    "transpose", "x", attrs="perm", type=_transpose_type, dtypes="any",
    cost="free", moves="all",
    transpose=lambda ct, perm: transpose(ct, perm=inverse(perm)),
    batch=lambda op, operands, batched, attrs: transpose(operands[0], perm=(0, *(p + 1 for p in attrs[0]))),
    samples=[(((2, 3, 4),), ((2, 0, 1),)), (((2, 3),), ((1, 0),))],
    doc="the axes in another order",
)  # fmt: skip


def _broadcast_type(x: TensorType, shape: Shape) -> TensorType:
    lead = len(shape) - len(x.shape)
    fits = lead >= 0 and all(a == 1 or same_dim(a, b) for a, b in zip(x.shape, shape[lead:], strict=True))
    if not fits:
        raise ValueError(f"broadcast_to: x has shape {x.shape}, which does not broadcast to {shape}")
    return tensor_type(shape, x.dtype)


def _broadcast_transpose(ct: Tensor, x_type: TensorType) -> Tensor:
    lead = len(ct.shape) - len(x_type.shape)
    repeated = [i for i, d in enumerate(x_type.shape, lead) if type(d) is int and d == 1 and not _is_static_one(ct, i)]
    axes = (*range(lead), *repeated)
    summed = reduce_sum(ct, axes=axes) if axes else ct
    return reshape(summed, shape=x_type.shape) if repeated else summed


def _is_static_one(x: Tensor, axis: int) -> bool:
    return type(x.shape[axis]) is int and x.shape[axis] == 1


def _broadcast_batch(op: Op, operands: Sequence[Tensor], batched: Sequence[bool], attrs: tuple[Any, ...]) -> Tensor:
    (x,), (shape,) = operands, attrs
    missing = len(shape) - (len(x.shape) - 1)
    wide = reshape(x, shape=(x.shape[0], *(1,) * missing, *x.shape[1:])) if missing else x
    return broadcast_to(wide, shape=(x.shape[0], *shape))


broadcast_to = linear(
    "broadcast_to", "x", attrs="shape", type=_broadcast_type, batch=_broadcast_batch, dtypes="any",
    cost="free", moves="all",
    transpose=_broadcast_transpose,
    samples=[(((2, 1),), ((3, 2, 4),)), (((),), ((2, 2),)), (((3,),), ((3,),))],
    doc="x repeated along new leading axes and axes of extent 1",
)  # fmt: skip


def without(shape: tuple[D, ...], axes: tuple[int, ...]) -> tuple[D, ...]:
    """A shape (or a list of axes) with some places removed."""
    return (*[d for i, d in enumerate(shape) if i not in axes],)


def kept(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """A shape with some axes reduced to 1."""
    return (*[1 if i in axes else d for i, d in enumerate(shape)],)


def require_axes(name: str, x: TensorType, axes: tuple[int, ...]) -> None:
    """Raises unless axes are distinct axis numbers of x, counted from 0."""
    if len(set(axes)) != len(axes) or any(not 0 <= a < len(x.shape) for a in axes):
        raise ValueError(f"{name}: axes {axes} are not distinct axes of shape {x.shape}")


def reduction_type(name: str, result: Any = None, category: str = "any") -> Any:
    """The type rule of reductions over `axes`."""

    def type_rule(x: TensorType, axes: tuple[int, ...]) -> TensorType:
        require_axes(name, x, axes)
        require_dtype(name, "x", x, category)
        return tensor_type(without(x.shape, axes), x.dtype if result is None else result(x.dtype))

    return type_rule


def spread(reduced: Tensor, x_type: TensorType, axes: tuple[int, ...]) -> Tensor:
    """A reduction's result repeated along the axes that it summed up."""
    if not axes:
        return reduced
    if reduced.shape == ():
        return broadcast_to(reduced, shape=x_type.shape)
    return broadcast_to(reshape(reduced, shape=kept(x_type.shape, axes)), shape=x_type.shape)


REDUCTION_SAMPLES = [(((2, 3, 4),), ((0, 2),)), (((3,),), ((0,),)), (((2, 3),), ((1,),)), (((),), ((),))]

reduce_sum = linear(
    "reduce_sum", "x", attrs="axes", type=reduction_type("reduce_sum"), batch=batch_shifting(axes=1), dtypes="any",
    transpose=lambda ct, x_type, axes: spread(ct, x_type, axes), samples=REDUCTION_SAMPLES,
    doc="the sum over axes, in the dtype of x (float16 and bfloat16 are summed in float32)",
    mixes="axes",
)  # fmt: skip


def _spread_extent(size: DimLike, interior: int) -> DimLike:
    """How far elements reach with zeros between them."""
    return size if not interior else size + _at_least_zero(size - 1) * interior


def slice_extent(start: DimLike, limit: DimLike, stride: int) -> DimLike:
    """How many elements a slice takes."""
    return dims.floordiv(limit - start + (stride - 1), stride)


def _slice_type(x: TensorType, starts: Shape, limits: Shape, strides: Sequence[int]) -> TensorType:
    return tensor_type((*map(slice_extent, starts, limits, strides),), x.dtype)


def _slice_check(x: TensorType, starts: tuple[Any, ...], limits: tuple[Any, ...], strides: ArrayLike) -> None:
    require_lengths("slice", len(x.shape), starts=starts, limits=limits, strides=strides)
    require_range("slice", x, starts, limits, strides)


def _slice_transpose(
    ct: Tensor, x_type: TensorType, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int]
) -> Tensor:
    high = []
    for extent, size, start, stride in zip(ct.shape, x_type.shape, starts, strides, strict=True):
        high.append(size - start - _spread_extent(extent, stride - 1))
    return pad(ct, low=starts, high=tuple(high), interior=(*[s - 1 for s in strides],))


slice_ = linear(
    "slice", "x", attrs="starts limits strides", type=_slice_type, dtypes="any", transpose=_slice_transpose,
    cost="move", moves="some",
    inserts_zeros=True,
    check=_slice_check,
    batch=lambda op, operands, batched, attrs: slice_(
        operands[0], starts=(0, *attrs[0]), limits=(operands[0].shape[0], *attrs[1]), strides=(1, *attrs[2])
    ),
    samples=[(((5, 4),), ((1, 0), (5, 3), (2, 1))), (((4,),), ((2,), (2,), (1,))), (((7,),), ((0,), (7,), (3,)))],
    doc="x[start:limit:stride] on every axis, strides positive",
)  # fmt: skip


def _pad_extent(size: DimLike, low: DimLike, high: DimLike, interior: int) -> DimLike:
    return low + high + _spread_extent(size, interior)


def _pad_type(x: TensorType, low: Shape, high: Shape, interior: Sequence[int]) -> TensorType:
    shape = (*map(_pad_extent, x.shape, low, high, interior),)
    if any(type(d) is int and d < 0 for d in shape):
        raise ValueError(f"pad: x has shape {x.shape}, from which padding {low}, {high} takes more than there is")
    return tensor_type(shape, x.dtype)


def _pad_check(x: TensorType, low: Shape, high: Shape, interior: Sequence[int]) -> None:
    require_lengths("pad", len(x.shape), low=low, high=high, interior=interior)
    for extent in map(_pad_extent, x.shape, low, high, interior):
        require_at_most("pad", "0 before what is left", 0, extent)


def _at_least_zero(x: DimLike) -> DimLike:
    return dims.maximum(x, 0) if type(x) is Dim else max(x, 0)


def _pad_transpose(
    ct: Tensor, x_type: TensorType, low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> Tensor:
    negative_low, negative_high = ((*[_at_least_zero(-p) for p in side],) for side in (low, high))
    none = (0,) * len(low)
    if any(type(p) is Dim or p for p in (*negative_low, *negative_high)):
        ct = pad(ct, low=negative_low, high=negative_high, interior=none)
    starts = (*map(_at_least_zero, low),)
    limits = (*[size - _at_least_zero(h) for size, h in zip(ct.shape, high, strict=True)],)
    return slice_(ct, starts=starts, limits=limits, strides=(*[i + 1 for i in interior],))


pad = linear(
    "pad", "x", attrs="low high interior", type=_pad_type, dtypes="any", transpose=_pad_transpose, leaves_zeros=True,
    cost="move",
    check=_pad_check,
    batch=lambda op, operands, batched, attrs: pad(
        operands[0], low=(0, *attrs[0]), high=(0, *attrs[1]), interior=(0, *attrs[2])
    ),
    samples=[(((2, 3),), ((1, 0), (0, 2), (0, 1))), (((4,),), ((-1,), (2,), (2,))), (((3,),), ((1,), (-2,), (0,)))],
    doc="zeros put before, after and between elements; negative padding takes elements away",
)  # fmt: skip


def _row_type(x: TensorType, position: int) -> TensorType:
    if not x.shape:
        raise ValueError("row: wanted at least one axis")
    return tensor_type(x.shape[1:], x.dtype)


def _row_check(x: TensorType, position: int) -> None:
    require_at_most("row", "0 before the position", 0, position)
    require_at_most("row", "the position", position + 1, x.shape[0])


def _row_of(x: Tensor, position: int, axis: int = 0) -> Tensor:
    """What stands at a position of an axis, by a slice of one."""
    starts, limits = [0] * len(x.shape), [*x.shape]
    starts[axis], limits[axis] = position, position + 1
    found = slice_(x, starts=(*starts,), limits=(*limits,), strides=(1,) * len(x.shape))
    return reshape(found, shape=without(x.shape, (axis,)))


def _row_transpose(ct: Tensor, x_type: TensorType, position: int) -> Tensor:
    size, *rest = x_type.shape
    low, high, none = (position, *(0 for _ in rest)), (size - 1 - position, *(0 for _ in rest)), (0,) * (1 + len(rest))
    return pad(reshape(ct, shape=(1, *ct.shape)), low=low, high=high, interior=none)


row = linear(
    "row", "x", attrs="position", type=_row_type, check=_row_check, dtypes="any", transpose=_row_transpose,
    cost="move", moves="some", inserts_zeros=True, body=_row_of,
    batch=lambda op, operands, batched, attrs: _row_of(operands[0], attrs[0], 1),
    samples=[(((5, 4),), (3,)), (((4,),), (0,)), (((2, 1, 3),), (1,))],
    doc="x[position], one entry along the first axis",
)  # fmt: skip

flip = linear(
    "flip", "x", attrs="axes", dtypes="any", transpose=lambda ct, axes: flip(ct, axes=axes),
    cost="move", moves="all",
    type=lambda x, axes: (require_axes("flip", x, axes), tensor_type(x.shape, x.dtype))[1],
    batch=batch_shifting(axes=1), samples=[(((2, 3),), ((0, 1),)), (((4,),), ((0,),))],
    doc="the elements in opposite order along axes",
)  # fmt: skip


def _concatenate_type(xs: tuple[TensorType, ...], axis: int) -> TensorType:
    if not xs:
        raise ValueError("concatenate: wanted at least one array")
    first = xs[0]
    for x in xs[1:]:
        if x.dtype != first.dtype:
            raise TypeError(f"concatenate: arrays have dtypes {first.dtype.name} and {x.dtype.name}")
        if len(x.shape) != len(first.shape) or not same_shape(without(x.shape, (axis,)), without(first.shape, (axis,))):
            raise ValueError(
                f"concatenate: arrays have shapes {first.shape} and {x.shape}, which differ off axis {axis}"
            )
    total: DimLike = 0
    for x in xs:
        total = total + x.shape[axis]
    return tensor_type((*first.shape[:axis], total, *first.shape[axis + 1 :]), first.dtype)


def _concatenate_transpose(ct: Tensor, xs_type: tuple[TensorType, ...], axis: int) -> Any:
    parts, start = [], 0
    for x in xs_type:
        starts = (*[start if i == axis else 0 for i in range(len(ct.shape))],)
        limits = (*[start + x.shape[axis] if i == axis else d for i, d in enumerate(ct.shape)],)
        parts.append(slice_(ct, starts=starts, limits=limits, strides=(1,) * len(starts)))
        start = start + x.shape[axis]
    return tuple(parts)


def _concatenate_batch(op: Op, operands: Any, batched: Any, attrs: tuple[Any, ...]) -> Tensor:
    size = batch_size(operands, batched)
    wide = [x if b else repeat(x, size) for x, b in zip(operands, batched, strict=True)]
    return concatenate(*wide, axis=attrs[0] + 1)


concatenate = linear(
    "concatenate", "*xs", attrs="axis", type=_concatenate_type, transpose=_concatenate_transpose,
    check=lambda xs, axis: require_axes("concatenate", xs[0], (axis,)),
    batch=_concatenate_batch, dtypes="any", samples=[(((2, 3), (2, 1)), (1,)), (((2,), (3,), (1,)), (0,))],
    doc="arrays joined along an axis",
)  # fmt: skip


def _unstack_type(x: TensorType, size: int) -> tuple[TensorType, ...]:
    if not x.shape or not same_dim(x.shape[0], size):
        raise ValueError(f"unstack: the first axis of shape {x.shape} has not the extent {size}")
    return (tensor_type(x.shape[1:], x.dtype),) * size


def _unstack_pull(ct: tuple[Any, ...], x_type: TensorType) -> Any:
    shape = (1, *x_type.shape[1:])
    rows = [zeros_of(tensor_type(x_type.shape[1:], x_type.dtype)) if not isinstance(c, Tensor) else c for c in ct]
    return (concatenate(*[reshape(row, shape=shape) for row in rows], axis=0),)


def _unstack_batch(op: Op, operands: Sequence[Tensor], batched: Sequence[bool], attrs: tuple[Any, ...]) -> Any:
    (x,) = operands
    return op(transpose(x, perm=(1, 0, *range(2, x.ndim))), size=attrs[0])


unstack = general(
    "unstack", "x", attrs="size", outs="*outs", vjp=_unstack_pull, jvp=lambda x_dot, size: unstack(x_dot, size=size),
    linear_in="x",
    type=_unstack_type, batch=_unstack_batch, dtypes="any", takes_missing=True, samples=[(((3, 2),), (3,))],
    inserts_zeros=True,
    doc="the slices along the first axis, each a result of its own",
)  # fmt: skip


# -- choice ---------------------------------------------------------------------------------------------------------


def _select_type(cond: TensorType, x: TensorType, y: TensorType) -> TensorType:
    if cond.dtype != dtypes.bool_:
        raise TypeError(f"select: cond has dtype {cond.dtype.name}, wanted bool")
    require_same("select", ("x", "y"), (x, y))
    if not same_shape(cond.shape, x.shape):
        raise ValueError(f"select: cond has shape {cond.shape} and x has shape {x.shape}")
    return tensor_type(x.shape, x.dtype)


select = linear(
    "select", "cond x y", type=_select_type, batch=batch_elementwise, inserts_zeros=True, dtypes="any",
    cost="light",
    transpose=(None, lambda ct, cond: select(cond, ct, fill(ct, 0)), lambda ct, cond: select(cond, fill(ct, 0), ct)),
    samples=[((lambda rng: rng.random((3, 2)) < 0.5, (3, 2), (3, 2)), ())],
    doc="x where cond, else y; the operand not chosen has a zero that stays zero",
    mixes="nothing",
    exact=True,
)  # fmt: skip


# -- identities that mean something to the sweeps -------------------------------------------------------------------

_identity_type = elementwise_type("identity", None, "any")

alias = linear(
    "alias", "x", transpose=lambda ct: ct, type=_identity_type, batch=batch_elementwise, dtypes="any",
    cost="free", moves="same",
    doc="x under a new identity: a differentiated argument is a value of its own",
)  # fmt: skip
regular = linear(
    "regular", "x", transpose=lambda ct: ct, type=_identity_type, batch=batch_elementwise, dtypes="any",
    cost="free", moves="same", regular=True,
    doc="x, of which nothing is computed with an infinite slope that would be used",
)  # fmt: skip
barrier = linear(
    "barrier", "*xs", outs="*outs", transpose=lambda ct: ct, takes_missing=True, batch=batch_elementwise, dtypes="any",
    moves="same",
    type=lambda xs: (*[tensor_type(x.shape, x.dtype) for x in xs],), samples=[(((3, 2), (4,)), ())],
    doc="the arrays as they are, each available once all of them are",
)  # fmt: skip
stop_gradient = stop(
    "stop_gradient", "x", type=_identity_type, batch=batch_elementwise, dtypes="any",
    cost="free", moves="same",
    doc="x as a constant: no gradient flows through",
)  # fmt: skip


def _attach_batch(op: Op, operands: tuple[Any, ...], batched: tuple[bool, ...], attrs: tuple[Any, ...]) -> Tensor:
    x = operands[0] if batched[0] else repeat(operands[0], batch_size(operands, batched))
    return attach(x, *operands[1:])


attach = general(
    "attach", "x *sources", type=lambda x, sources: tensor_type(x.shape, x.dtype), batch=_attach_batch, dtypes="any",
    cost="free", moves="same",
    vjp=lambda ct, sources_type: (ct, (ZERO,) * len(sources_type)), jvp=lambda x_dot: x_dot,
    samples=[(((3,), (2, 2)), ())],
    doc="x, counted as depending on the sources with derivative zero",
)  # fmt: skip


def _reassign_type(x: TensorType, held: TensorType) -> TensorType:
    require_same("reassign", ("x", "held"), (x, held))
    return tensor_type(x.shape, x.dtype)


reassign = general(
    "reassign", "x held", type=_reassign_type, batch=batch_elementwise, dtypes="any",
    moves="same",
    vjp=(None, lambda ct: ct), jvp=lambda held_dot: held_dot, samples=[(((3,), (3,)), ())],
    smooth=False,  # its derivative is a convention, not that of its value
    doc="x as the new value of a Variable: later reads count as reads of the Variable, not as uses of x",
)  # fmt: skip


def _print_batch(
    op: Op, operands: Sequence[Tensor], batched: Sequence[bool], attrs: tuple[Any, ...]
) -> tuple[Tensor, ...]:
    return debug_print(*operands, text=attrs[0])


debug_print = zero(
    "debug_print", "*xs", attrs="text", outs="*outs", has_effect=True, type=lambda xs, text: (), batch=_print_batch,
    dtypes="any", samples=[(((2,),), ("x = {}",))], doc="prints a text with the operands' values when it runs",
)  # fmt: skip
