"""Writes to tensors (`a[i] = v`, `a += b`): one `Memory` stands behind an array and all views of it.

Nodes and tapes hold values, never the objects that users hold. So a write does not change a value: it gives the
memory a new version (`_prims/buffer.py`), and the tensors that lie in the memory stand for what they see of the newest
one. They become `Written` at the first write to any of them; until then reading them costs nothing.

Where a view lies is told by NumPy itself: a `Family` has a blank array of the root's shape, on which NumPy's own
functions make the views (`layouts.py` reads places off them). Where shapes or positions are known at run time only, a
view is read and written by way of what it was taken from.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from copy import copy
from typing import Any, NoReturn

import numpy as np

from .._core.apply import apply
from .._core.argument_types import ArrayLike, Index
from .._core.dims import Dim, Shape
from .._core.engine import KERNELS_OF
from .._core.graph import Graph, ReadBefore
from .._core.moving import beside
from .._core.recorder import Observer
from .._core.state import STATE, next_serial, tell_effect
from .._core.tensor import Tensor, Value, Written, tell_twin
from .._core.types import TensorType, as_type, same_dim, type_of
from .._core.where import Site, at_user_line
from .._prims import buffer as prims
from ..errors import TracingError
from . import layouts, masked_elements, places, promotion
from .at import At, filling
from .indexing import where
from .subscript import look_of_index, take_alike, take_index


class Memory:
    """A place whose newest version is a tensor; in a trace the graph under construction has it, as for Variables."""

    __slots__ = ("_home", "_key", "_since", "_tensor", "_type", "_views")
    name = "array"  # in listings of graphs that read or write it
    trainable = False

    def __init__(self, initial: Tensor, home: Graph | None, since: int = 0, views: Iterable[int] = ()) -> None:
        self._type: TensorType = type_of(initial)
        self._key = next_serial()
        self._since = since or self._key  # that of the tensor whose first value this is
        self._views = frozenset(views)  # what views of that were before the first write
        self._home = 0 if home is None else home.serial
        self._tensor: Tensor | None = initial if home is None else None  # the newest version; None if a trace has it
        if home is not None:
            home.buffers[self._key] = initial

    @property
    def _held(self) -> Tensor:
        """The newest version, at this point of the program."""
        held = None if STATE.pins is None else STATE.pins.get(self._key)
        if held is None:
            held = self._known() if STATE.builder is None else STATE.builder.read_variable(self)
        for observer in STATE.reading:
            if self._is_older(observer):  # else it is a matter of what is observed
                observer.on_read(self, held)
        return held

    def _known(self) -> Tensor:
        if self._tensor is None:
            raise TracingError(
                at_user_line(
                    f"a buffer or a tensor of shape {self.shape} was made in a trace and written to, and holds nothing "
                    f"outside of it; return its value, or make a wg.buffer outside of the function"
                )
            )
        return self._tensor

    def _put(self, version: Tensor) -> None:
        """Makes a tensor what the memory holds from now on."""
        self._note_write()
        if STATE.pins is not None and self._key in STATE.pins:
            tell_effect("writes to a buffer", self)
            STATE.pins[self._key] = version
            return
        if STATE.builder is None:
            self._tensor = version
        else:
            STATE.builder.write_variable(self, version)

    def _kept(self, version: Tensor, site: Site | None) -> Tensor:
        """What the memory holds after a run of a graph that wrote to it: the gradient goes through."""
        self._note_write()
        return version

    def _note_write(self) -> None:
        for observer in STATE.reading:
            if self._is_older(observer):
                observer.on_write(self)

    def _is_older(self, observer: Observer) -> bool:
        """Whether an observer must know of it: it was there before what is observed, and is no argument of that."""
        return self._since < observer.since and self._since not in observer.own

    def enter(self, graph: Graph) -> None:
        """Makes what a body read as a capture, before the first write, what is held when it starts."""
        for key, (tensor, _) in graph.captures.items():
            if key in self._views:
                raise TracingError(
                    at_user_line(
                        f"a loop or a branch reads a view, of shape {tensor.shape}, of a tensor that it writes to for "
                        f"the first time only afterwards; take the view inside, or use wg.buffer"
                    )
                )
        graph.adopt_capture(self._since, self)

    @property
    def shape(self) -> Shape:
        """The extents; `Dim`s where a trace does not know them."""
        return self._type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type."""
        return self._type.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._type.shape)


class Family:
    """The tensors that share a memory: the root's first value, those alive, and the memory once one is written to."""

    __slots__ = ("_blank", "_limit", "_members", "memory", "origin")

    def __init__(self, root: Tensor) -> None:
        self.origin = root.__copy__()
        self.memory: Memory | None = None
        self._blank: Any = None
        self._members: list[weakref.ref[Tensor]] = []
        self._limit = 16

    @property
    def blank(self) -> np.ndarray[Any, Any] | None:
        """An array of the root's shape that nobody reads, for NumPy to make views of; None with an unknown extent."""
        shape = self.origin.shape
        if self._blank is None and not any(type(d) is Dim for d in shape):
            self._blank = layouts.blank_of(shape, self.origin.dtype)  # pyright: ignore[reportArgumentType]
        return self._blank

    def is_alone(self, tensor: Tensor) -> bool:
        """Whether no other living tensor lies here."""
        return all(found is None or found is tensor for found in (member() for member in self._members))

    def take_in(self, tensor: Tensor, place: Place) -> None:
        """Gives a tensor its place here."""
        tensor._link = place
        if len(self._members) >= self._limit:
            self._members = [member for member in self._members if member() is not None]
            self._limit = 2 * len(self._members) + 16
        self._members.append(weakref.ref(tensor))
        if self.memory is not None:
            place.become_written(tensor)

    def lay_out(self) -> None:
        """Finds all layouts that have been put off until now."""
        for tensor in (member() for member in self._members):
            if tensor is not None:
                tensor._link.lay_out()

    def written(self) -> Memory:
        """The memory: from now on all members stand for what they see of it."""
        if self.memory is None:
            home = _home_of(self.origin)
            alive = [tensor for tensor in (member() for member in self._members) if tensor is not None]
            views = {tensor._key for tensor in alive} - {self.origin._key}
            early = [graph for graph in _bodies_below(home) if not views.isdisjoint(graph.captures)]
            if early:
                raise ReadBefore(early[-1], self.written)
            self.memory = Memory(self.origin, home, self.origin._key, views)
            for graph in _bodies_below(home):
                self.memory.enter(graph)
            for tensor in alive:
                tensor._link.become_written(tensor)
        return self.memory


def _bodies_below(home: Graph | None) -> list[Graph]:
    """The graphs under construction inside that where a tensor was made, the innermost first."""
    if STATE.builder is None or home is None:
        return []
    graphs = [STATE.builder, *STATE.builder.enclosing()]
    return graphs[: [g.serial for g in graphs].index(home.serial)]


def _home_of(origin: Tensor) -> Graph | None:
    """The graph under construction in which a tensor was made; None outside of traces."""
    builder, data = STATE.builder, origin._data
    is_symbol = type(data) is Value
    if builder is None and not is_symbol:
        return None
    graphs = [builder, *builder.enclosing()] if builder is not None else []
    found = [g for g in graphs if (data.graph == g.serial if is_symbol else g.serial < origin._key)]
    if not found:
        _refuse_outer(origin.shape)
    return found[0]


def _refuse_outer(shape: Shape) -> NoReturn:
    raise TracingError(
        at_user_line(
            f"a traced function writes to a tensor of shape {shape} that was made outside of it; make it inside, pass "
            f"it as an argument and return it, or use wg.buffer or wg.Variable, which a function keeps as state"
        )
    )


_OF_ROOT: tuple[None, None] = (None, None)
_NUMBERS = frozenset({float, int, np.float64})


class Place:
    """Where a tensor lies in its family's memory: NumPy's view of the blank array, or a way from another place."""

    __slots__ = (
        "_cached",
        "_late",
        "_layout",
        "_pull",
        "_window",
        "family",
        "index",
        "made",
        "origin",
        "parent",
        "type",
    )

    def __init__(
        self, family: Family, type_: TensorType, layout: np.ndarray[Any, Any] | None, parent: Place | None = None,
        index: Index | None = None, pull: Callable[[Tensor], Tensor] | None = None,
        late: tuple[Place | None, Any] | None = None,
    ) -> None:  # fmt: skip
        self.family = family
        self.type = type_
        self._layout = layout
        self._late = late  # what the layout is made of once somebody asks, for most views are only read
        self.made = late  # the same, for good
        self._window: Any = None  # the template of the place; False where it has none
        self.parent = parent
        self.index = index
        self._pull = pull
        self.origin: Tensor | None = None  # what tapes mean that have kept the tensor itself
        self._cached: tuple[int, Any, Any, Tensor | None] | None = None

    @property
    def layout(self) -> np.ndarray[Any, Any] | None:
        """NumPy's view of the blank array; None where nobody knows it before a run."""
        self.lay_out()
        return self._layout

    @layout.setter
    def layout(self, layout: np.ndarray[Any, Any] | None) -> None:
        self._layout, self._late = layout, None

    def lay_out(self) -> None:
        """Finds the layout, if that has been put off until now."""
        late: list[Place] = []
        place: Place | None = self
        while place is not None and place._late is not None:  # a loop, for views of views may be many
            late.append(place)
            place = place._late[0]
        for place in reversed(late):
            base, index = place._late or _OF_ROOT
            if base is None:
                place.layout = self.family.blank if index is None else layouts.laid_out(self.family.blank, index)
            else:
                found: Any = index(base.layout) if callable(index) else layouts.indexed(base.layout, index)
                place.layout = found

    @property
    def is_root(self) -> bool:
        """Whether this is the whole memory as it is."""
        if self._late is not None:
            return self._late is _OF_ROOT
        return self.parent is None and (self.layout is None or self.layout is self.family._blank)

    def window(self) -> tuple[Any, ...] | None:
        """What lies here as integers and slices forward of the whole memory; None where more is needed to say it."""
        unknown: list[Place] = []
        place: Place | None = self
        while place is not None and place._window is None:
            unknown.append(place)
            place = place.parent or (place.made or _OF_ROOT)[0]
        for place in reversed(unknown):
            place._window = place._found_window() or False
        return self._window or None

    def watch(self, is_watched: bool = True) -> None:
        """Makes each write ask the layout, which somebody may have locked; or no more."""
        self._window = False if is_watched else None

    def _found_window(self) -> tuple[Any, ...] | None:
        if self.is_root:
            plain = places.plain_place(self.type.shape, ...)
            return None if plain is None else plain[0]
        base, index = (self.parent, self.index) if self.parent is not None else self.made or (None, None)
        if base is None or self._pull is not None or callable(index):
            return None
        place = base.place_at(index)
        return None if place is None else place[0]

    def place_at(self, index: Any) -> tuple[tuple[Any, ...], Shape] | None:
        """The template, of the whole memory, of what integers and slices forward address here, and its extents."""
        plain = None if self._window is False else places.plain_place(self.type.shape, index)
        if plain is None or self.made is _OF_ROOT:
            return plain
        window = self.window()
        return None if window is None else (places.place_within(window, plain[0]), plain[1])

    def reached(self, index: Index) -> places.Place | None:
        """The place, in the memory, of what an index with arrays addresses here, where it is known without a run."""
        return layouts.reached(self.layout, self.family.blank, index, "x[...]") if STATE.builder is None else None

    def version(self) -> Tensor | None:
        """The newest version where only recorders must know what is done to it; None in traces and the like."""
        memory = self.family.memory
        if memory is None or STATE.builder is not None or STATE.pins is not None or STATE.reading:
            return None
        return memory._tensor

    def put_promptly(self, held: Tensor, place: tuple[tuple[Any, ...], Shape], value: Any) -> bool:
        """Writes to a place of the newest version, where there is nothing to ask; whether there was not."""
        data, (template, core) = held._data, place
        if type(value) is Tensor:
            own = value._data
            if (value._link is not None and value._link.family is self.family) or KERNELS_OF[type(own)] is not (
                KERNELS_OF[type(data)]
            ):
                return False
        elif type(value) in _NUMBERS and data.dtype == np.float64 and KERNELS_OF[type(data)] is KERNELS_OF[np.float64]:
            own = np.float64(value) if not core else np.full(core, value)
            value = Tensor(own, next_serial())
        else:
            return False
        if own.shape != core or own.dtype != data.dtype:
            return False
        memory: Any = self.family.memory
        memory._tensor = apply(prims.buffer_set, (value, held), (template,))
        return True

    def is_at(self, index: Index, other: Place) -> bool:
        """Whether another place is what lies at an index of this one."""
        if other.family is not self.family:
            return False
        if other.parent is self and other._late is not None and _is_same_index(index, other.index):
            return True
        if other.layout is None:
            return False
        if other.parent is self and _is_same_index(index, other.index):
            return True
        layout = layouts.indexed(self.layout, index)
        return layout is not None and layouts.is_same(layout, other.layout)

    def become_written(self, tensor: Tensor) -> None:
        """Makes a tensor stand for what this place holds."""
        if type(tensor) is Tensor:
            self.origin = tensor.__copy__()
            del tensor._data, tensor._key, tensor._cut
            Written.are_there = True
            tensor.__class__ = Written

    def current(self) -> Tensor:
        """What lies here now, as a tensor that no write changes."""
        memory = self.family.written()
        held = memory._held
        known = self._cached
        if (known is not None and known[0] == held._key and known[1] is STATE.builder and type(known[3]) is Tensor
                and (known[2] is STATE.recorders or all(r in known[2] for r in STATE.recorders))):  # fmt: skip
            return known[3]
        value = self._read(held)
        if self.is_root and STATE.builder is None and not STATE.recorders:
            # nobody records that this is read: it goes by the version's name, by which tapes that have ended know it
            tell_twin(held._key)
            value = Tensor(value._data, held._key, held._cut)
        self._cached = (held._key, STATE.builder, STATE.recorders, value)
        return value

    def remember(self) -> None:
        """What was read to make the view is what it holds until the next write, as in `a[i] += x`."""
        memory = self.family.memory
        if memory is not None and memory._tensor is not None and STATE.builder is STATE.pins is None:
            self._cached = (memory._tensor._key, None, STATE.recorders, self.origin)

    def _read(self, held: Tensor) -> Tensor:
        if self.is_root:
            return prims.buffer_value(held)
        if STATE.builder is None and (window := self.window()) is not None:
            return apply(prims.buffer_get, (held,), (window,))
        if self.layout is not None:
            return layouts.read(held, self.layout, self.family.blank)
        assert self.parent is not None
        if self._pull is not None:
            return copy(self._pull(self.parent.current()))
        if self.parent.is_root:
            return places.take(held, self.index, "x[...]")
        return take_index(self.parent.current(), self.index, "x[...]")

    def read_at(self, index: Index) -> Tensor:
        """What stands at an index of this place."""
        if self.is_root and not places.is_lone_truth(index):
            return places.take(self.family.written()._held, index, "x[...]")
        layout = layouts.indexed(self.layout, index)
        if layout is not None and self.family.memory is not None:
            return layouts.read(self.family.memory._held, layout, self.family.blank)
        if self.family.memory is not None and (place := self.reached(index)) is not None:
            return places.take(self.family.memory._held, index, "x[...]", place)
        return take_index(self.current(), index, "x[...]")

    def write(self, index: Index, value: Tensor) -> None:
        """Puts a value, of the dtype here, at an index."""
        memory = self.family.written()
        self._require_mine(memory)
        held = memory._held
        value = beside(value, held)
        if self.is_root:
            if places.is_lone_truth(index):
                self.write_all(_replaced(self.current(), index, value))
            else:
                memory._put(places.put(held, index, value, "x[...]"))
            return
        layout = layouts.indexed(self.layout, index)
        if layout is not None:
            value = filling(value, layout.shape, "x[...]")
            memory._put(layouts.written(held, layout, self.family.blank, value))
            return
        if (place := self.reached(index)) is not None:
            memory._put(places.put(held, index, value, "x[...]", place))
            return
        self.write_all(_replaced(self.current(), index, value))

    def put_version(self, version: Tensor) -> None:
        """Makes a version what the whole memory holds; for the root's place."""
        memory = self.family.written()
        self._require_mine(memory)
        memory._put(version)

    def write_all(self, value: Tensor) -> None:
        """Puts a value, of the shape and dtype here and nobody else's, in the place of all that lies here."""
        held = self.version()
        if held is not None and self.made is not None and self.made is not _OF_ROOT:
            window = self.window()
            if window is not None and self.put_promptly(held, (window, self.type.shape), value):
                return
        memory = self.family.written()
        self._require_mine(memory)
        if self.is_root:
            memory._put(beside(value, memory._held))
        elif self.parent is not None and self.parent.is_root and self._pull is None:  # its index says where it lies
            memory._put(places.put(memory._held, self.index, beside(value, memory._held), "x[...]"))
        elif self.layout is not None:
            memory._put(layouts.written(memory._held, self.layout, self.family.blank, value))
        elif self._pull is not None:
            raise TracingError(
                at_user_line(
                    f"a view of shape {self.type.shape} of a tensor whose extents are known at run time only, or of "
                    f"the same bits as {self.type.dtype.name}, cannot be written to unless it was made by indexing; "
                    f"write to the tensor that it is a view of"
                )
            )
        else:
            assert self.parent is not None
            self.parent.write(self.index, value)

    def _require_mine(self, memory: Memory) -> None:
        if self.layout is not None and not self.layout.flags.writeable:
            raise ValueError(at_user_line("x[...]: the assignment destination is read-only, as NumPy's view here is"))
        builder = STATE.builder
        if memory._key in STATE.lent:
            return  # a computation is repeated: what it writes stays inside
        if builder is not None and memory._home not in (builder.serial, *[g.serial for g in builder.enclosing()]):
            _refuse_outer(memory.shape)


def _replaced(x: Tensor, index: Index, value: Tensor) -> Tensor:
    """x with a value at an index, as a tensor of its own."""
    if places.is_lone_truth(index):
        return At(x)[index].set(value)
    return prims.buffer_value(places.put(x, index, value, "x[...]"))


# -- what tensors call -------------------------------------------------------------------------------------------------


def place_of(x: Tensor) -> Place:
    """Where a tensor lies; a family of its own where it has none yet."""
    if x._link is None:
        family = Family(x)
        if type(x._data) is Value:
            family.take_in(x, Place(family, type_of(x), family.blank))
        else:
            family.take_in(x, Place(family, as_type((x._data.shape, x._data.dtype)), None, late=_OF_ROOT))
    place: Any = x._link
    return place


def lying_in(x: Tensor, array: np.ndarray[Any, Any]) -> None:
    """Gives a tensor a family in which views of an array, of its shape and in row-major order, are views of it."""
    family = Family(x)
    family._blank = array
    family.take_in(x, Place(family, type_of(x), array))


def index_shares(index: Index) -> bool:
    """Whether what stands at an index is a view in NumPy: no arrays, lists or truths are in it."""
    if look_of_index(index) is not None:
        return True
    items = index if type(index) is tuple else (index,)
    return all(i is None or i is Ellipsis or type(i) in (int, slice) or _is_position(i) for i in items)


def _is_same_index(a: Index, b: Index) -> bool:
    """Whether two indices of integers and slices are one."""
    if type(a) is tuple and type(b) is tuple:
        return len(a) == len(b) and all(map(_is_same_index, a, b))
    return type(a) is type(b) and type(a) in (int, slice) and a == b


def _is_position(i: Any) -> bool:
    if isinstance(i, (bool, np.bool_, list, tuple)):
        return False
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
        if found is x:
            return x
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
    if found is x:
        return x
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
    if not at[1]:
        return apply(prims.buffer_get, (held,), (at[0],))
    parent, of_parent = (place, index) if place.made is _OF_ROOT else (None, None)
    view = Place(place.family, as_type((at[1], place.type.dtype)), None, parent, of_parent, late=(None, at[0]))
    view._window = at[0]
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
    return x


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


def seen_at(x: Tensor, layout: np.ndarray[Any, Any]) -> Tensor:
    """The view of a tensor's memory that lies as a view of its place does."""
    family = place_of(x).family
    held = family.origin if family.memory is None else family.memory._held
    found = copy(layouts.read(held, layout, family.blank))
    family.take_in(found, Place(family, type_of(found), layout))
    return found


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
    if is_one and place._late is _OF_ROOT and type(found) is Tensor and found is not x and STATE.builder is None:
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
    if not isinstance(view, np.ndarray) or not np.may_share_memory(view, place.layout):
        return own(found, x)
    if found is x:
        return x
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
    try:
        place.write(index, _taken(x, value))
    except TracingError:
        if not masked_elements.has_unknown_mask(index):
            raise
        _write_chosen(x, index, value)


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
    if not np.can_cast(value.dtype, x.dtype, casting):  # pyright: ignore[reportArgumentType]
        raise TypeError(
            at_user_line(
                f"{what}: cannot cast the result from {value.dtype.name} to {x.dtype.name} by the rule {casting!r}"
            )
        )
    if len(value.shape) != x.ndim or not all(map(same_dim, value.shape, x.shape)):
        raise ValueError(
            at_user_line(f"{what}: what is written to has shape {x.shape}, and the result has shape {value.shape}")
        )
    place_of(x).write_all(promotion.cast(value, x.dtype) if value.dtype != x.dtype else value)


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
            x._link._cached = (value._key, STATE.builder, STATE.recorders, value)
