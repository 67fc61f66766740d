"""What a value of a graph is while the graph is lowered: where its elements are, or how to compute them.

- `Elements`: a small value of known shape; each element is an operand (mostly a register).
- `Stored`: elements in an array, at an offset and with strides; views of it cost nothing.
- `Lazy`: computed where it is read, element by element.

All have a shape (numbers, or registers for extents known at run time) and `at(b, index)`: the element at an index, one
operand an axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from ...._core import dtypes
from ..ir.builder import Builder
from ..ir.loops import TYPES, Array, Operand, Status
from .joint_axes import joined, steps_through

NARROW_PLACES = 1 << 31  # elements of a shape up to which they are counted by 32 bits

Index = tuple[Operand, ...]
Extents = tuple[Operand, ...]


class _TypeOf(dict[Any, str]):
    """The types of dtypes; bfloat16 joins when it is first met, since a package of its own has it."""

    def __contains__(self, dtype: object) -> bool:
        return super().__contains__(dtype) or getattr(dtype, "name", "") == "bfloat16"

    def __missing__(self, dtype: np.dtype[Any]) -> str:
        if dtype not in self:
            raise KeyError(dtype)
        self[dtype] = "bf16"
        return "bf16"

    def get(self, key: Any, default: object = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401 - which is this method


class _DtypeOf(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        if name != "bf16":
            raise KeyError(name)
        self[name] = dtypes.bfloat16()
        return self[name]


TYPE_OF = _TypeOf({
    np.dtype(np.float64): "f64", np.dtype(np.float32): "f32", np.dtype(np.float16): "f16",
    np.dtype(np.complex128): "c128", np.dtype(np.complex64): "c64", np.dtype(np.bool_): "bool",
    **{np.dtype(f"{s}{w // 8}"): f"{s}{w}" for s in "iu" for w in (8, 16, 32, 64)},
})  # fmt: skip
DTYPE_OF = _DtypeOf({name: dtype for dtype, name in TYPE_OF.items()})


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether elements are registers as they are: neither pairs nor half floats."""
    return TYPE_OF.get(dtype) in TYPES


def is_arithmetic(dtype: np.dtype[Any]) -> bool:
    """As `is_plain`, and no booleans."""
    return is_plain(dtype) and dtype.kind != "b"


class Form:
    """The base of `Elements`, `Stored` and `Lazy`."""

    __slots__ = ("shape", "type")

    def __init__(self, shape: Extents, type_: str) -> None:
        self.shape = shape
        self.type = type_

    def at(self, b: Builder, index: Index) -> Operand:
        """The element at an index."""
        raise NotImplementedError

    def is_flat(self) -> bool:
        """Whether `at_flat` gives the element of a number, counted in row-major order."""
        return False

    def at_flat(self, b: Builder, place: Operand) -> Operand:
        """The element of a number; asked only where `is_flat`."""
        raise NotImplementedError


class Elements(Form):
    """One operand for each element, in row-major order."""

    __slots__ = ("items",)

    def __init__(self, shape: Extents, type_: str, items: Sequence[Operand]) -> None:
        super().__init__(shape, type_)
        self.items = items

    def at(self, b: Builder, index: Index) -> Operand:
        if len(self.items) == 1:
            return self.items[0]
        place = flat_place(b, self.shape, index)
        if type(place) is int:
            return self.items[place]
        return b.load(self.spilled(b), place)

    def spilled(self, b: Builder) -> Array:
        """The elements in an array on the stack, for indices that only the run tells."""
        found = b.known(("spilled", self))
        if found is None:
            found = b.local(self.type, len(self.items))
            for place, item in enumerate(self.items):
                b.store(found, place, item)
            b.remember(("spilled", self), found)
        return found

    def is_flat(self) -> bool:
        return True

    def at_flat(self, b: Builder, place: Operand) -> Operand:
        if len(self.items) == 1:
            return self.items[0]
        return self.items[place] if type(place) is int else b.load(self.spilled(b), place)


class Stored(Form):
    """Elements of an array."""

    __slots__ = ("array", "is_dense", "offset", "strides")

    def __init__(
        self, shape: Extents, array: Array, offset: Operand = 0, strides: Extents | None = None,
        is_dense: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(shape, array.type)
        self.array = array
        self.offset = offset
        if strides is None:
            assert all(type(n) is int for n in shape[1:])
            strides = row_major(shape)
            is_dense = True
        self.strides = strides
        self.is_dense = is_numbers(shape) and strides == row_major(shape) if is_dense is None else is_dense

    def at(self, b: Builder, index: Index) -> Operand:
        return b.load(self.array, self.place(b, index))

    def place(self, b: Builder, index: Index) -> Operand:
        """Where in the array an element is."""
        key = ("place", self.strides, self.offset, index)
        found = b.known(key)
        if found is None:
            found, strides = self.offset, self.strides
            joint = joined(b, index)
            if joint is not None and steps_through(joint, strides[-len(joint.index) :]):
                lead = len(index) - len(joint.index)
                index, strides = (*index[:lead], joint.number), (*strides[:lead], strides[-1])
            for i, stride in zip(index, strides, strict=True):
                found = b.add(found, b.mul(i, stride))
            b.remember(key, found)
        return found

    def store(self, b: Builder, index: Index, value: Operand) -> None:
        """Writes an element."""
        b.store(self.array, self.place(b, index), value)

    def is_flat(self) -> bool:
        return self.is_dense or all(type(s) is int and s == 0 for s in self.strides)

    def at_flat(self, b: Builder, place: Operand) -> Operand:
        return b.load(self.array, b.add(self.offset, place) if self.is_dense else self.offset)

    def row(self, b: Builder, number: Operand) -> Stored:
        """One slice along the first axis."""
        offset = b.add(self.offset, b.mul(number, self.strides[0]))
        return Stored(self.shape[1:], self.array, offset, self.strides[1:], self.is_dense)


class Lazy(Form):
    """Computed where it is read; remembered for as long as the loop's iteration lasts."""

    __slots__ = ("compute", "flat", "sources")

    def __init__(
        self, shape: Extents, type_: str, compute: Callable[[Builder, Index], Operand],
        flat: Callable[[Builder, Operand], Operand] | None = None, sources: Sequence[Form] = (),
    ) -> None:  # fmt: skip
        super().__init__(shape, type_)
        self.compute = compute
        self.flat = flat
        self.sources = sources  # the forms that it reads

    def at(self, b: Builder, index: Index) -> Operand:
        key = (self, index)
        found = b.known(key)
        if found is None:
            found = self.compute(b, index)
            b.remember(key, found)
        return found

    def is_flat(self) -> bool:
        return self.flat is not None

    def at_flat(self, b: Builder, place: Operand) -> Operand:
        key = (self, "flat", place)
        found = b.known(key)
        if found is None:
            assert self.flat is not None
            found = self.flat(b, place)
            b.remember(key, found)
        return found


def repeated_number(shape: Extents, type_: str, item: Operand) -> Lazy:
    """An array of one number."""
    return Lazy(shape, type_, lambda b, index: item, lambda b, place: item)


def is_repeated(value: np.ndarray[Any, Any]) -> bool:
    """Whether all elements of an array, which has some, are the same, to the sign of zero."""
    bits = np.ascontiguousarray(value).reshape(-1, 1).view(np.uint8)
    return bool((bits == bits[0]).all())


class Nothing(Form):
    """In the place of a loop's history where there is none."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__((), "history")


def spill(b: Builder, forms: Sequence[Form]) -> None:
    """Puts what is in registers, and forms read, where a loop can read it: before the loop, not in each iteration."""
    waiting, seen = [*forms], set[int]()
    while waiting:
        form = waiting.pop()
        if id(form) in seen:
            continue
        seen.add(id(form))
        if type(form) is Elements and len(form.items) > 1:
            form.spilled(b)
        elif type(form) is Lazy:
            waiting += form.sources


def is_numbers(shape: Sequence[Operand]) -> bool:
    """Whether all extents are known now."""
    return all(type(n) is int for n in shape)


def count_of(b: Builder, shape: Sequence[Operand]) -> Operand:
    """How many elements a shape has."""
    if is_numbers(shape):
        return prod(shape)  # pyright: ignore[reportArgumentType, reportCallIssue]  # extents that are numbers
    key = ("count", (*shape,))
    found = b.known(key)
    if found is None:
        found = 1
        for n in shape:
            found = b.mul(found, n)
        b.remember(key, found)
    return found


def refuse_none(b: Builder, extents: Sequence[Operand]) -> None:
    """Of no elements there is no largest one; NumPy has the words for that."""
    count = count_of(b, (*extents,))
    if type(count) is not int:
        with b.when(b.let("eq", "i64", count, 0)):
            b.leave(Status.REFUSED)
    elif count == 0:
        b.leave(Status.REFUSED)


def row_major(shape: Extents) -> Extents:
    """The strides of elements without gaps, of extents that are numbers (the first may be any)."""
    strides: list[Operand] = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        if type(n) is int:
            step *= max(n, 1)
    return (*reversed(strides),)


def strides_of(b: Builder, shape: Extents) -> Extents:
    """The strides of elements without gaps."""
    if is_numbers(shape[1:]):
        return row_major(shape)
    strides: list[Operand] = []
    step: Operand = 1
    for n in reversed(shape):
        strides.append(step)
        step = b.mul(step, n)
    return (*reversed(strides),)


def flat_place(b: Builder, shape: Extents, index: Index) -> Operand:
    """The number of an element in row-major order."""
    joint = joined(b, index)
    if joint is not None and joint.extents == (*shape[-len(joint.index) :],):
        lead = len(index) - len(joint.index)
        shape, index = (*shape[:lead], prod(joint.extents)), (*index[:lead], joint.number)
    place: Operand = 0
    for i, n in zip(index, shape, strict=True):
        place = b.place(place, n, i)
    return place


def unflattened(b: Builder, shape: Extents, place: Operand) -> Index:
    """The index of the element of a number."""
    is_known = is_numbers(shape) and prod(cast("tuple[int, ...]", shape)) < NARROW_PLACES
    if is_known and b.known(("anywhere", place)):  # of the places of loops LLVM makes more than divisions
        return _narrowly_unflattened(b, cast("tuple[int, ...]", shape), place)
    index: list[Operand] = []
    for axis in range(len(shape) - 1, -1, -1):
        if axis == 0:
            index.append(place)
            break
        n = shape[axis]
        if type(n) is int and n == 1:
            index.append(0)
            continue
        index.append(b.remainder(place, n))
        place = b.divided(place, n)
    return (*reversed(index),)


def _narrowly_unflattened(b: Builder, shape: tuple[int, ...], place: Operand) -> Index:
    """As `unflattened`, by divisions of 32 bits, of which there are vectors: those of 64 have none on any processor."""
    place = b.convert("u32", "i64", place)
    index: list[Operand] = []
    for axis in range(len(shape) - 1, -1, -1):
        n, is_first = shape[axis], axis == 0
        if n == 1 and not is_first:
            index.append(0)
            continue
        found = place if is_first else b.let("rem", "u32", place, n)
        index.append(b.convert("i64", "u32", found))
        place = place if is_first else b.let("div", "u32", place, n)
    return (*reversed(index),)


def with_place(index: Index, axis: int, place: Operand) -> Index:
    """An index, or a shape, with another number on one axis."""
    return (*index[:axis], place, *index[axis + 1 :])


def all_indices(shape: Sequence[int]) -> list[tuple[int, ...]]:
    """All indices of a shape, in row-major order."""
    return [*np.ndindex(*shape)]
