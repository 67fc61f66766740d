"""Writes to tensors: `x[i] = v`, results that go over the whole of one, and changes of its extents or of who may write.

Called by `Tensor.__setitem__`, in-place operators and methods (`methods.py`, `array_methods.py`), `out=` and NumPy's
functions that write to an argument (`wengert.numpy`).
"""

from __future__ import annotations

from copy import copy
from operator import attrgetter
from typing import Any
from weakref import ref

import numpy as np

from ..._core.argument_types import ArrayLike, Index
from ..._core.state import STATE
from ..._core.tensor import Tensor, Written
from ..._core.types import TensorType, same_dim, type_of
from ..._core.user_line import at_user_line, error_at_user_line
from ...errors import TracingError
from .. import masked_elements, promotion
from ..indexing import where
from ..subscript import look_of_index
from . import layouts
from .families import Family
from .place import Place, place_of

_shape_and_dtype = attrgetter("_data.shape", "_data.dtype")


def write(x: Tensor, index: Index, value: ArrayLike) -> None:
    """`x[index] = value`."""
    place = x._link or place_of(x)
    held = place.version()
    if held is not None:
        if type(value) is Written:
            if place.is_at(index, value._link):
                return  # `x[i] += y` has written through the view already
            value = value._link.current()
        at = place.place_at(index)
        if at is not None and place.put_promptly(held, at, value):
            return
    place.family.written()  # before the value is looked at: it may be a view that this makes another tensor of
    if isinstance(value, Tensor) and value._link is not None and place.is_at(index, value._link):
        return  # `x[i] += y` has written through the view already
    if x.dtype.kind in "iu":
        value = _within_bounds(x, index, value)
    try:
        place.write(index, _taken(x, value))
    except TracingError:
        if not masked_elements.has_unknown_mask(index):
            raise
        _write_chosen(x, index, value)


def _within_bounds(x: Tensor, index: Index, value: Any) -> Any:
    """A number for a tensor of integers, as Python's where NumPy looks if it is within bounds; NaN is not."""
    if isinstance(value, np.integer):
        return int(value) if look_of_index(index) is not None else value
    if type(value) is float or (
        isinstance(value, np.floating) and x.dtype.kind == "i" and look_of_index(index) is not None
    ):
        if not np.isfinite(value):
            _as_integers(float(value), x)
    elif type(value) in (list, tuple) and not promotion.is_followed_inside(value):
        return _as_integers(value, x) if np.asarray(value).dtype.kind in "iuf" else value
    return value


def _as_integers(value: Any, x: Tensor) -> Any:
    """Numbers in a tensor's dtype of integers; NumPy's errors where one has no place there."""
    try:
        return np.asarray(value, x.dtype)
    except (ValueError, OverflowError) as error:
        raise error_at_user_line(error) from None


def _taken(x: Tensor, value: ArrayLike) -> Tensor:
    """A value in the dtype of the tensor that it is written to."""
    if type(value) is Tensor and value._data.dtype == x.dtype:
        return value
    held = x._link.family.written()._held  # for its dtype, which numbers take
    given = promotion.tensors_of(held if held.dtype == x.dtype else value_of(x), value, "x[...]")[1]
    return given if given.dtype == x.dtype else fitted(given, x.dtype)


def _write_chosen(x: Tensor, index: Index, value: ArrayLike | masked_elements.Chosen) -> None:
    """`x[mask] = value` where the mask is known at run time only: the whole is chosen from anew."""
    spot = masked_elements.spot_of(x, index, "x[...]")
    given = _taken(x, spot.beside(value, "x[...]"))
    place_of(spot.view).write_all(promotion.as_tensor(where(spot.wide, given, value_of(spot.view))))


def value_of(x: Tensor) -> Tensor:
    """What a tensor holds now."""
    return x if type(x) is Tensor else x._link.current()


def fitted(value: Tensor, dtype: np.dtype[Any]) -> Tensor:
    """A value in the dtype of what it is written into: NumPy's "unsafe" rule but for complex numbers into real ones."""
    if value.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(
            at_user_line(f"x[...]: a {value.dtype.name} value would lose its imaginary part in a {dtype.name} tensor")
        )
    return promotion.cast(value, dtype)


def write_all(x: Tensor, value: Tensor, what: str, casting: str = "same_kind") -> None:
    """Writes a result over the whole of a tensor, by NumPy's rules for `out=` and in-place operators."""
    if type(x) is Written and value._data.dtype == x._link.type.dtype and value._data.shape == x._link.type.shape:
        x._link.write_all(value)
        return
    if _is_first(x) and type(value._data) is type(x._data) and _shape_and_dtype(value) == _shape_and_dtype(x):
        place_of(x).begin(x, value)
        return
    require_cast(value.dtype, x, what, casting)
    if len(value.shape) != x.ndim or not all(map(same_dim, value.shape, x.shape)):
        raise ValueError(
            at_user_line(f"{what}: what is written to has shape {x.shape}, and the result has shape {value.shape}")
        )
    place_of(x).write_all(promotion.cast(value, x.dtype) if value.dtype != x.dtype else value)


def _is_first(x: Tensor) -> bool:
    """Whether nothing was written to a tensor, nothing is a view of it, and nobody watches or traces what is."""
    return type(x) is Tensor and x._link is None and STATE.builder is None and STATE.pins is None and not STATE.reading


def require_cast(dtype: np.dtype[Any], x: Tensor, what: str, casting: str) -> None:
    """Raises unless results of a dtype go into a tensor by one of NumPy's rules."""
    if not np.can_cast(dtype, x.dtype, casting):  # pyright: ignore[reportArgumentType]
        raise TypeError(
            at_user_line(f"{what}: cannot cast the result from {dtype.name} to {x.dtype.name} by the rule {casting!r}")
        )


def replaced_part(x: Tensor, name: str, value: ArrayLike) -> None:
    """`x.real = value` and `x.imag = value`."""
    if name == "imag" and x.dtype.kind != "c":
        raise TypeError(at_user_line(f"x.imag = value: x has dtype {x.dtype.name}, which has no imaginary part"))
    write(getattr(x, name), ..., value)


def settle(x: Any) -> None:
    """Makes what a tensor reads as the version that later writes start from: a recorder is about to follow it."""
    if type(x) is Written and x._link.is_root:
        memory = x._link.family.written()
        value = x._link.current()
        if memory._held is not value:
            memory._put(copy(value))
            x._link._cached = (value._key, STATE.builder, frozenset(map(ref, STATE.recorders)), value)


def move(x: Tensor, value: Tensor) -> None:
    """Makes a tensor the whole of a new memory, which holds a value of other extents."""
    old = place_of(x)
    old.become_written(x)
    family = Family(value)
    place = Place(family, type_of(value), family.blank)
    place.origin = old.origin
    family.written()
    family.take_in(x, place)


def reshape_in_place(x: Tensor, shape: Any) -> None:
    """`x.shape = shape`: the tensor lies where it did, with other extents."""
    place = place_of(x)
    if place.layout is None:
        raise AttributeError(
            at_user_line(f"the extents of a tensor of shape {x.shape} are known at run time only; use x.reshape(shape)")
        )
    layout = layouts.with_extents(place.layout, shape)
    place.family.written()
    moved = Place(place.family, TensorType((layout.shape, x.dtype)), layout)
    moved.origin = place.origin
    place.family.take_in(x, moved)


def is_locked(x: Tensor) -> bool:
    """Whether writes to a tensor are the error that NumPy's are to a locked array."""
    layout = None if x._link is None else x._link.layout
    return layout is not None and not layout.flags.writeable


def lock(x: Tensor, is_locked: bool) -> None:
    """Makes writes to a tensor and to views that are taken of it later the error that they are of a locked array."""
    place = place_of(x)
    place.family.lay_out()
    if place.layout is None:
        return
    layout = place.layout.view()
    layout.flags.writeable = not is_locked
    place.watch(is_locked)
    blank: Any = place.family.blank
    place.layout = blank if not is_locked and layouts.is_same(layout, blank) else layout
