"""Buffers: arrays that are written to in place, as values.

A *version* is what a buffer holds at one point of the program: a value like any other, of a shape and a dtype. A write
gives a new version. NumPy's engine keeps one array for all versions of a buffer and changes it in place, and an old
version remembers only what the next write replaced there; so a program that goes on from the newest version pays for
the slices that it touches, and one that goes back to an older version is right all the same. Hence these ops are pure:
passes, traces and recorders need to know nothing about them.

The place that is read or written is a *template*, one entry for each axis of the buffer: `(start, limit, step)` with a
positive step, an integer counted from the front (the axis goes away), or None, an axis that the next of the `indices`
addresses. These are int64 arrays of one shape; their axes come first in what is read, then those of the slices.

The cotangent of a version is a version, too: rules never read what a version holds, they change the cotangent in place.
That asks for an order: a rule that reads the cotangent runs before the one that writes to it, so `value` is the first
operand of a write.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core import dtypes
from .._core.apply import apply
from .._core.dims import DimLike, Shape
from .._core.domains import require_at_most, require_range
from .._core.op import (
    Op,
    batch_elementwise,
    batch_size,
    elementwise_type,
    linear,
    repeat,
    require_dtype,
    require_same,
    zero,
)
from .._core.tensor import Tensor
from .._core.types import TensorType, same_shape, tensor_type
from .indexing import ints
from .structural import broadcast_to, fill, iota, reshape, select, slice_extent, zeros_of

Template = tuple[Any, ...]

# -- types ---------------------------------------------------------------------------------------------------------


def _place_shape(name: str, b: TensorType, indices: tuple[TensorType, ...], template: Template) -> Shape:
    """The shape of what a template addresses."""
    if len(template) != len(b.shape) or template.count(None) != len(indices):
        raise ValueError(f"{name}: {len(indices)} indices with the template {template} address a b of shape {b.shape}")
    for index in indices:
        if index.dtype != dtypes.int64:
            raise TypeError(f"{name}: an index array has dtype {index.dtype.name}, wanted int64")
        if not same_shape(index.shape, indices[0].shape):
            raise ValueError(f"{name}: index arrays have shapes {indices[0].shape} and {index.shape}")
    lead = indices[0].shape if indices else ()
    return (*lead, *[slice_extent(*entry) for entry in template if type(entry) is tuple])


def _get_type(b: TensorType, indices: tuple[TensorType, ...], template: Template) -> TensorType:
    return tensor_type(_place_shape("buffer_get", b, indices, template), b.dtype)


def _write_type(name: str, category: str) -> Any:
    def type_rule(
        value: TensorType, b: TensorType, indices: tuple[TensorType, ...], template: Template
    ) -> TensorType:  # fmt: skip
        require_dtype(name, "b", b, category)
        wanted = _place_shape(name, b, indices, template)
        if value.dtype != b.dtype:
            raise TypeError(f"{name}: b has dtype {b.dtype.name} and value has {value.dtype.name}")
        if not same_shape(value.shape, wanted):
            raise ValueError(f"{name}: value has shape {value.shape}, wanted {wanted}")
        return tensor_type(b.shape, b.dtype)

    return type_rule


# -- batching: the batch axis of a buffer is addressed whole, or, beside index arrays, by the number of the example --


def _batch(op: Op, operands: Any, batched: Any, attrs: tuple[Any, ...]) -> Tensor:
    (template,) = attrs
    size = batch_size(operands, batched)
    wide = [x if flag else repeat(x, size) for x, flag in zip(operands, batched, strict=True)]
    arrays, indices = wide[: op.fixed], wide[op.fixed :]
    if op is buffer_get and not batched[0]:
        return apply(op, (operands[0], *indices), attrs)
    if not indices:
        return apply(op, (*arrays,), (((0, size, 1), *template),))
    return apply(op, (*arrays, _example_numbers(size, indices[0].shape), *indices), ((None, *template),))


def _example_numbers(size: DimLike, shape: Shape) -> Tensor:
    number = reshape(iota(size=size, dtype=dtypes.int64), shape=(size, *(1,) * (len(shape) - 1)))
    return broadcast_to(number, shape=shape)


def _batch_last(op: Op, operands: Any, batched: Any, attrs: tuple[Any, ...]) -> Tensor:
    (extents,) = attrs
    size = batch_size(operands, batched)
    indices = [x if flag else repeat(x, size) for x, flag in zip(operands, batched, strict=True)]
    return last_writes(_example_numbers(size, indices[0].shape), *indices, extents=(size, *extents))


# -- the ops -------------------------------------------------------------------------------------------------------


def _get_check(b: TensorType, indices: tuple[TensorType, ...], template: Template) -> None:
    _require_place("buffer_get", b, template)


def _write_check(name: str) -> Any:
    return lambda value, b, indices, template: _require_place(name, b, template)


def _require_place(name: str, b: TensorType, template: Template) -> None:
    """Raises unless what a template addresses lies in the buffer."""
    for size, entry in zip(b.shape, template, strict=True):
        if type(entry) is tuple:
            start, limit, step = entry
            require_range(name, tensor_type((size,), b.dtype), (start,), (limit,), (step,))
        elif entry is not None:
            require_at_most(name, "0 before the index", 0, entry)
            require_at_most(name, "an index", entry + 1, size)


def _last_check(indices: tuple[TensorType, ...], extents: Shape) -> None:
    if not indices or len(indices) != len(extents):
        raise ValueError(f"last_writes: {len(indices)} index arrays address the extents {extents}")
    for index in indices:
        require_dtype("last_writes", "an index array", index, "integer")
    require_same("last_writes", [f"index array {i}" for i in range(len(indices))], indices)


class Update(NamedTuple):
    """A term of a version's cotangent that is zero but at one place; it is added there in place."""

    type: TensorType
    value: Tensor
    indices: tuple[Tensor, ...]
    template: Template

    def added_to(self, b: Tensor) -> Tensor:
        """The sum with a cotangent in full."""
        return buffer_add(self.value, b, *self.indices, template=self.template)

    def dense(self) -> Tensor:
        """The term in full."""
        return self.added_to(zeros_of(self.type))


def _duplicates(rng: np.random.Generator) -> Any:
    """Of four positions one three times, once counted from the end."""
    return rng.permutation([0, 2, 2, -1, -2])


_SAMPLES = [
    ((5, 3), (2, 3), (), ((1, 5, 2), (0, 3, 1))),
    ((5, 3), (3,), (), (4, (0, 3, 1))),
    ((5, 3), (), (), (2, 1)),
    ((), (), (), ()),
    ((4, 3), (0, 3), (), ((2, 2, 1), (0, 3, 1))),
    ((4, 3), (3,), (ints(4),), (None, (0, 3, 1))),
    ((4, 3), (5, 2), (_duplicates,), (None, (0, 3, 2))),
    ((2, 4), (5, 2), (_duplicates,), ((0, 2, 1), None)),
    ((3, 4, 2), (2, 2), (ints(2, 2, 3), ints(2, 2, 2)), (None, 3, None)),
]  # (shape of b, shape of the place, indices, template)

_identity_type = elementwise_type("buffer", None, "any")

buffer_new = linear(
    "buffer_new", "x", transpose=lambda ct: buffer_value(ct), type=_identity_type, batch=batch_elementwise,
    moves="all",
    dtypes="any", doc="the first version of a buffer that holds x",
)  # fmt: skip
buffer_value = linear(
    "buffer_value", "b", transpose=lambda ct: ct, type=_identity_type, batch=batch_elementwise, dtypes="any",
    moves="all", buffer="b",
    doc="what a version of a buffer holds, as an array of its own",
)  # fmt: skip
buffer_get = linear(
    "buffer_get", "b *indices", attrs="template", type=_get_type, check=_get_check, batch=_batch, inserts_zeros=True,
    called="indexing",
    moves="some", buffer="b",
    can_raise=True,
    transpose=(lambda ct, b_type, indices, template: Update(b_type, ct, indices, template), None), dtypes="any",
    samples=[((b, *indices), (template,)) for b, _, indices, template in _SAMPLES],
    doc="what stands at a place of a version of a buffer",
)  # fmt: skip

last_writes = zero(
    "last_writes", "*indices", attrs="extents", batch=_batch_last, dtypes="integer",
    type=lambda indices, extents: tensor_type(indices[0].shape, dtypes.bool_), check=_last_check,
    samples=[((_duplicates,), ((4,),)), ((ints(2, 3, 2), ints(2, 3, 2)), ((2, 2),)), ((ints(3),), ((3,),))],
    doc="whether each position that index arrays address is not addressed again by a later one",
)  # fmt: skip


def _set_transpose_value(ct: Tensor, indices: tuple[Tensor, ...], template: Template) -> Tensor:
    taken = buffer_get(ct, *indices, template=template)
    if not indices or indices[0].shape == ():
        return taken
    extents = (*[size for size, entry in zip(ct.shape, template, strict=True) if entry is None],)
    is_last = last_writes(*indices, extents=extents)
    missing = len(taken.shape) - len(is_last.shape)
    if missing:
        is_last = broadcast_to(reshape(is_last, shape=(*is_last.shape, *(1,) * missing)), shape=taken.shape)
    return select(is_last, taken, fill(taken, 0))


def _set_transpose_b(ct: Tensor, value_type: TensorType, indices: tuple[Tensor, ...], template: Template) -> Tensor:
    return buffer_set(zeros_of(value_type), ct, *indices, template=template)


_WRITE_SAMPLES = [((place, b, *indices), (template,)) for b, place, indices, template in _SAMPLES]

buffer_set = linear(
    "buffer_set", "value b *indices", attrs="template", type=_write_type("buffer_set", "any"), batch=_batch,
    called="indexing",
    buffer="b", writes="b",
    check=_write_check("buffer_set"),
    transpose=(_set_transpose_value, _set_transpose_b, None), inserts_zeros=True, can_raise=True, dtypes="any",
    samples=_WRITE_SAMPLES, kink="of values for one position the last wins and has the gradient",
    doc="the next version of a buffer, with a value written at a place",
)  # fmt: skip
buffer_add = linear(
    "buffer_add", "value b *indices", attrs="template", type=_write_type("buffer_add", "number"), batch=_batch,
    called="indexing",
    buffer="b", writes="b", grounds=("b",),
    check=_write_check("buffer_add"),
    transpose=(lambda ct, indices, template: buffer_get(ct, *indices, template=template), lambda ct: ct, None),
    can_raise=True, dtypes="number", samples=_WRITE_SAMPLES,
    doc="the next version of a buffer, with a value added at a place; what goes to one position adds up",
)  # fmt: skip
