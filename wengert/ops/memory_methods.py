"""Methods and attributes of NumPy's arrays that expose their memory, for `Tensor`: `tobytes`, `strides`, `base`, ...

What gives bytes away is refused under differentiation, as every way out is. A view of other numbers in the same
memory can be read, and follows writes to what it is a view of; it cannot be written to.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike, DTypeLike
from .._core.tensor import Tensor
from .._core.types import type_of
from .._core.user_line import at_user_line
from . import padding, reinterpretation, shapes
from .complex_parts import imag, real
from .memory import layouts, sharing, writes
from .memory.place import Place, place_of
from .promotion import as_tensor

METHODS: dict[str, Callable[..., Any]] = {}
PROPERTIES: dict[str, tuple[Callable[[Tensor], Any], str]] = {}


def _method(f: Callable[..., Any]) -> Callable[..., Any]:
    METHODS[f.__name__] = f
    return f


def _numbers(x: Tensor, name: str) -> np.ndarray[Any, Any]:
    """The elements, where no gradient is lost by it."""
    x._require_plain(f"Tensor.{name}", f"use x.numpy().{name} to cut the gradient on purpose")
    return x.numpy()


# -- bytes -------------------------------------------------------------------------------------------------------------


@_method
def tobytes(self: Tensor, order: Any = "C") -> bytes:
    """The elements' bytes; refused under differentiation."""
    return _numbers(self, "tobytes()").tobytes(order)


@_method
def tofile(self: Tensor, fid: Any, /, sep: str = "", format: str = "%s") -> None:
    """Writes the elements to a file; refused under differentiation."""
    _numbers(self, "tofile(...)").tofile(fid, sep, format)


@_method
def dump(self: Tensor, file: Any) -> None:
    """Pickles the elements, as an array, to a file; refused under differentiation."""
    _numbers(self, "dump(...)").dump(file)


@_method
def dumps(self: Tensor) -> bytes:
    """The elements, as a pickled array; refused under differentiation."""
    return _numbers(self, "dumps()").dumps()


@_method
def byteswap(self: Tensor, inplace: bool = False) -> Any:
    """The elements with their bytes in opposite order; refused under differentiation."""
    swapped = as_tensor(_numbers(self, "byteswap()").byteswap())
    if not inplace:
        return swapped
    writes.write_all(self, swapped, "Tensor.byteswap")
    return self


# -- views of other numbers --------------------------------------------------------------------------------------------


def _seen(x: Tensor, found: Tensor, make: Callable[[Tensor], Tensor]) -> Tensor:
    """A result that stands for what a function makes of what x holds, at any time."""
    place = place_of(x)
    found = found.__copy__()
    place.family.take_in(found, Place(place.family, type_of(found), None, place, None, make))
    return found


@_method
def view(self: Tensor, dtype: DTypeLike | None = None, type: Any = None) -> Any:
    """The same memory once more: a view that shares both ways; with another dtype one that can only be read."""
    if isinstance(dtype, builtins.type) and issubclass(dtype, np.ndarray):
        dtype, type = None, dtype
    if type is not None and not issubclass(np.ndarray, type):
        raise TypeError(
            at_user_line(f"Tensor.view: type is {type.__name__}; a tensor is seen as no other class of arrays")
        )
    wanted = self.dtype if dtype is None else dtypes.as_dtype(dtype)
    if wanted == self.dtype:
        return sharing.item_of(self, ...) if self.ndim or self._link is not None else self.__copy__()
    return _seen(
        self,
        as_tensor(reinterpretation.view(writes.value_of(self), wanted)),
        lambda x: as_tensor(reinterpretation.view(x, wanted)),
    )


@_method
def getfield(self: Tensor, dtype: DTypeLike, offset: int = 0) -> Any:
    """A part of each element: all of it, or the real or the imaginary part."""
    part = _part(self, dtype, offset, "getfield")
    return view(self) if part is None else part(self)


@_method
def setfield(self: Tensor, val: ArrayLike, /, dtype: DTypeLike, offset: int = 0) -> None:
    """Writes a part of each element: all of it, or the real or the imaginary part."""
    part = _part(self, dtype, offset, "setfield")
    if part is None:
        writes.write(self, ..., val)
    else:
        writes.replaced_part(self, "real" if part is real else "imag", val)


def _part(x: Tensor, dtype: DTypeLike, offset: int, name: str) -> Any:
    wanted = dtypes.as_dtype(dtype)
    if wanted == x.dtype and not offset:
        return None
    if x.dtype.kind == "c" and wanted == dtypes.real_of(x.dtype) and offset in (0, wanted.itemsize):
        return imag if offset else real
    raise TypeError(
        at_user_line(
            f"Tensor.{name}: bytes of {x.dtype.name} read as {wanted.name} at {offset} are no numbers of the tensor; "
            f"use x.numpy().{name}(...) for bytes, and x.real or x.imag for parts"
        )
    )


# -- extents in place --------------------------------------------------------------------------------------------------


@_method
def resize(self: Tensor, *new_shape: Any, refcheck: bool = True) -> None:
    """Gives the tensor other extents, in place: elements in their order, then zeros. Views of it must not be alive."""
    shape = new_shape[0] if len(new_shape) == 1 else new_shape
    if shape is None or not new_shape:
        return
    extents = (*shape,) if isinstance(shape, (tuple, list)) else (shape,)
    if min(extents, default=0) < 0:
        raise ValueError(at_user_line(f"Tensor.resize: all of new_shape must be non-negative, got {extents}"))
    place = place_of(self)
    size: Any = math.prod(self.shape)
    if size != math.prod(extents) and not (place.is_root and place.family.is_alone(self)):
        raise ValueError(
            at_user_line(
                f"Tensor.resize: a tensor of shape {self.shape} that shares its memory with a view cannot get shape "
                f"{extents}; use np.resize(x, shape) or np.concatenate, which give a new one"
            )
        )
    row = shapes.ravel(writes.value_of(self))
    wanted = math.prod(extents)
    row = row[:wanted] if wanted <= size else padding.pad(row, (0, wanted - size))
    writes.move(self, as_tensor(shapes.reshape(row, extents)))


# -- what describes the memory -----------------------------------------------------------------------------------------


def _layout(x: Tensor) -> np.ndarray[Any, Any]:
    """An array that lies as the tensor does, which nobody reads."""
    if x._link is not None and x._link.layout is not None:
        x._link.family.lay_out()
        return x._link.layout
    if not all(isinstance(n, int) for n in x.shape):
        raise AttributeError(at_user_line(f"a tensor of shape {x.shape} lies in memory only when its program runs"))
    found = layouts.blank_of(x.shape, x.dtype)  # pyright: ignore[reportArgumentType]
    if found is None:
        raise MemoryError(at_user_line(f"a tensor of shape {x.shape} has more elements than there are addresses"))
    return found


def _flags(x: Tensor) -> Any:
    """NumPy's flags. Who has them may lock the array, which views that there are do not follow, and later ones do."""
    layout = _layout(x)
    if x._link is not None and x._link.layout is layout:
        x._link.watch()
    return layout.flags


def _strides(x: Tensor) -> tuple[int, ...]:
    layout = _layout(x)
    whole, blank = x.dtype.itemsize, layout.itemsize
    return (*[stride * whole // blank for stride in layout.strides],)


def _base(x: Tensor) -> Tensor | None:
    """The whole array of which this is a view, as another tensor in its memory."""
    if x._link is None or x._link.is_root:
        return None
    family = x._link.family
    root = family.origin.__copy__()
    family.take_in(root, Place(family, type_of(root), family.blank))
    return root


@_method
def setflags(self: Tensor, *, write: object = None, align: object = None, uic: object = None) -> None:
    """Locks the tensor for writes, or unlocks it; views that it has already are not touched."""
    if write is not None:
        writes.lock(self, not write)


def _without(name: str) -> Callable[[Tensor], NoReturn]:
    def getter(self: Tensor) -> NoReturn:
        raise AttributeError(at_user_line(f"a tensor has no {name}: use x.numpy().{name}, which cuts the gradient"))

    return getter


PROPERTIES |= {
    "strides": (_strides, "The bytes from element to element along each axis, as NumPy's array would have them."),
    "flags": (_flags, "How the elements lie, as NumPy's array would have them."),
    "base": (_base, "The whole of which this is a view, or None."),
    "data": (_without("data"), "Refused: use x.numpy().data."),
    "ctypes": (_without("ctypes"), "Refused: use x.numpy().ctypes."),
}

__all__ = ["METHODS", "PROPERTIES"]
