"""Views of tensors: what an index, or a function of which NumPy makes a view, gives a place in the tensor's memory.

Called by `Tensor.__getitem__` and the methods and functions that give views (`array_methods.py`, `memory_methods.py`,
`wengert.numpy`). A view of what was written to already is born `Written`, and nobody has read it yet.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from ..._core.apply import apply
from ..._core.argument_types import ArrayLike, Index
from ..._core.dims import Dim
from ..._core.state import STATE
from ..._core.tensor import Tensor, Value, Written
from ..._core.types import TensorType, as_type, type_of
from ..._prims import buffer as prims
from ...errors import TracingError
from .. import masked_elements
from ..subscript import look_of_index, take_alike, take_index
from . import layouts
from .families import OF_ROOT
from .place import Place, place_of


def index_shares(index: Index) -> bool:
    """Whether what stands at an index is a view in NumPy: no arrays, lists or truths are in it."""
    if look_of_index(index) is not None:
        return True
    items = index if type(index) is tuple else (index,)
    return all(i is None or i is Ellipsis or type(i) in (int, slice) or _is_position(i) for i in items)


def _is_position(i: Any) -> bool:
    if isinstance(i, (bool, np.bool_, list, tuple, np.ndarray)):
        return False  # NumPy copies what an array of no axes chooses, too
    if isinstance(i, Tensor):
        return i.ndim == 0 and i.dtype.kind in "iu"
    return type(i) is Dim or (hasattr(i, "__index__") and not getattr(i, "ndim", 0))


def item_of(x: Tensor, index: Index) -> Any:
    """`x[index]`: a view where NumPy gives one."""
    if STATE.builder is None and (type(x) is Written or type(x._data) is not Value):
        found = _everyday_item(x, index) if type(x) is Tensor else _everyday_view(x._link, index)
        if found is not None:
            return found
    try:
        found = take_index(x, index, "x[...]") if type(x) is Tensor else x._link.read_at(index)
    except TracingError:
        if masked_elements.has_unknown_mask(index):
            return masked_elements.spot_of(x, index, "x[...]").chosen()
        raise
    if (found._data.shape or _keeps_axes(x, index)) and index_shares(index):
        place = place_of(x)
        layout = layouts.indexed(place.layout, index)
        away: tuple[Any, ...] = (place, index) if layout is None or place.is_root else ()
        found = _entered(place, found, Place(place.family, type_of(found), layout, *away))
    return found


def _everyday_item(x: Tensor, index: Index) -> Tensor | None:
    """The same of an array by integers, slices, new axes and dots, without the questions; None for any other index."""
    if type(index) is int:
        found = take_index(x, index)
        if not found._data.shape:
            return found
    else:
        look = look_of_index(index)
        if look is None:
            return None
        found = take_alike(x, index, look, "x[...]")
        if not found._data.shape and not _keeps_axes(x, index):
            return found
    place = place_of(x)
    if place._layout is None and place._late is None:
        return None
    parent, at = (place, index) if place.is_root else (None, None)
    type_ = as_type((found._data.shape, found._data.dtype))
    return _entered(place, found, Place(place.family, type_, None, parent, at, late=(place, index)))


def _everyday_view(place: Place, index: Index) -> Tensor | None:
    """The same of a tensor that was written to."""
    held = place.version()
    at = None if held is None or index is Ellipsis else place.place_at(index)
    if held is None or at is None:
        return None
    template, core, arrays = at
    if arrays or not core:
        return apply(prims.buffer_get, (held, *arrays), (template,))
    parent, of_parent = (place, index) if place.made is OF_ROOT else (None, None)
    view = Place(place.family, as_type((core, place.type.dtype)), None, parent, of_parent, late=(None, template))
    view._window = template
    return _born_written(view)


def _born_written(place: Place) -> Tensor:
    """A view of what was written to, which nobody has read yet."""
    tensor = Written.__new__(Written)
    tensor._weak = False
    place.family.take_in(tensor, place)
    return tensor


def view_unread(x: Tensor, make: Callable[[Any], Any]) -> Tensor | None:
    """What a function gives of a tensor that was written to, where that is a view: without reading what it holds."""
    place: Place = x._link
    layout = None if place.version() is None else place.layout
    if layout is None:
        return None
    try:
        view = make(layout)
    except Exception:  # what is wrong is said by our own function
        return None
    if view is layout:
        return x
    if type(view) is not np.ndarray or view.dtype != layout.dtype or not np.may_share_memory(view, layout):
        return None
    return _born_written(Place(place.family, TensorType((view.shape, x.dtype)), view))


def _entered(place: Place, found: Tensor, at: Place) -> Tensor:
    """What stands at a place of a family, as a tensor that has that place."""
    found = found if found._link is None else found.__copy__()
    place.family.take_in(found, at)
    at.remember()
    return found


def _keeps_axes(x: Tensor, index: Index) -> bool:
    """Whether an index of all axes gives NumPy's array of none, which is a view, and not a number."""
    with_dots = index is Ellipsis or (type(index) is tuple and any(i is Ellipsis for i in index))
    return with_dots and (x.ndim > 0 or x._link is not None)


def as_array(x: Tensor) -> Tensor:
    """Makes a tensor of no axes one that can be written to, as NumPy's array is, rather than a number."""
    if not x.ndim:
        place_of(x)
        x._weak = False  # NumPy's arrays of no axes have their dtype for good
    return x


def seen_at(x: Tensor, layout: np.ndarray[Any, Any]) -> Tensor:
    """The view of a tensor's memory that lies as a view of its place does."""
    family = place_of(x).family
    if family.memory is None:
        found = copy(layouts.read_unwritten(family.origin, layout, family.blank))
    else:
        found = copy(layouts.read(family.memory._held, layout, family.blank))
    family.take_in(found, Place(family, type_of(found), layout))
    return found


def axes_in_order(x: Tensor, order: str) -> tuple[int, ...]:
    """The order of a tensor's axes in which its elements follow each other as NumPy's `order` says, row by row."""
    forward = (*range(x.ndim),)
    layout = None if order == "C" or x._link is None else x._link.layout
    if order == "F":
        return forward[::-1]
    if layout is None:
        return forward
    if order == "A":
        return forward[::-1] if layout.flags.fnc else forward
    return (*sorted(forward, key=lambda axis: -abs(layout.strides[axis])),)


def lies_in_order(x: Tensor, order: str) -> bool:
    """Whether NumPy's array would lie without gaps in rows ("C") or columns ("F")."""
    layout = None if x._link is None else x._link.layout
    if layout is None:
        return order == "C" or x.ndim < 2 or sum(n != 1 for n in x.shape) < 2 or 0 in x.shape
    return bool(layout.flags.c_contiguous if order == "C" else layout.flags.f_contiguous)


def view_of(x: Tensor, found: object, make: Callable[[Any], Any], is_one: bool = False) -> Any:
    """What a function gave for a tensor, sharing with it where NumPy's own function gives a view.

    Args:
        x: the tensor.
        found: the result: a tensor, or a list or tuple of them.
        make: the function, from an array (or a tensor) to its result.
        is_one: whether it gives a view of any array in row-major order.
    """
    if not x.ndim and x._link is None:  # a number, as NumPy's scalars are
        return own(found, x)
    place = place_of(x)
    if is_one and place._late is OF_ROOT and type(found) is Tensor and found is not x and STATE.builder is None:
        return _entered(place, found, Place(place.family, type_of(found), None, late=(place, make)))
    blank = place.layout
    if blank is None:
        return _viewed_late(place, x, found, make)
    try:
        views = make(blank)
    except TypeError:  # an argument that NumPy does not know: what is known at run time only
        return _viewed_late(place, x, found, make)
    if isinstance(found, (list, tuple)):
        return type(found)([_viewed(place, x, f, v) for f, v in zip(found, views, strict=True)])
    return _viewed(place, x, found, views)


def _viewed(place: Place, x: Tensor, found: Any, view: ArrayLike) -> Any:
    if not isinstance(found, Tensor):
        return found
    if view is place.layout:
        return x
    if not isinstance(view, np.ndarray) or not np.may_share_memory(view, place.layout):
        is_view = found._link is not None and found._link.family is place.family  # our function went by one
        return copy(found) if is_view else own(found, x)
    found = copy(found) if type(found) is not Tensor or found._link is not None or _is_cached(place, found) else found
    place.family.take_in(found, Place(place.family, type_of(found), view))
    return found


def _viewed_late(place: Place, x: Tensor, found: Any, make: Callable[[Any], Any]) -> Any:
    """As `view_of`, of a tensor with extents that are not known: taken to be a view, which only reads follow."""
    many = isinstance(found, (list, tuple))
    results = [*found] if many else [found]
    views: list[Any] = []
    for number, result in enumerate(results):
        if result is not x and isinstance(result, Tensor) and result.ndim:
            result = copy(result)
            pull = (lambda v, n=number: make(v)[n]) if many else make
            place.family.take_in(result, Place(place.family, type_of(result), None, place, None, pull))
        views.append(result)
    return type(found)(views) if many else views[0]


def _is_cached(place: Place, found: Tensor) -> bool:
    return place._cached is not None and place._cached[3] is found


def own(found: object, x: ArrayLike) -> Any:
    """A result that NumPy copies: not the operand itself."""
    if found is x or (isinstance(x, Written) and isinstance(found, Tensor) and _is_cached(x._link, found)):
        return copy(found)
    return found
