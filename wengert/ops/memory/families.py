"""`Family`: the tensors that share a memory; `Location`: where one of them lies in it.

NumPy tells where: a family has a blank array of the root's shape, on which NumPy's own functions make the views, and
`layouts.py` reads places off them. Most views are only read, so where they lie is found when somebody asks.
What is read and written at a location is in `place.py`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core.argument_types import Index
from ..._core.dims import Dim
from ..._core.graph import ReadBefore
from ..._core.state import STATE
from ..._core.tensor import Tensor, Written
from ..._core.types import TensorType
from .. import buffer_indexing
from . import layouts
from .versions import Memory, bodies_below, home_of


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
        """An array of the root's shape that nobody reads, for NumPy to make views of; None where there is none.

        So it is with an unknown extent, and with more elements than there are addresses.
        """
        shape = self.origin.shape
        if self._blank is None and not any(type(d) is Dim for d in shape):
            self._blank = layouts.blank_of(shape, self.origin.dtype)  # pyright: ignore[reportArgumentType]
        return self._blank

    def is_alone(self, tensor: Tensor) -> bool:
        """Whether no other living tensor lies here."""
        return all(found is None or found is tensor for found in (member() for member in self._members))

    def take_in(self, tensor: Tensor, place: Location) -> None:
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
            home = home_of(self.origin)
            alive = [tensor for member in self._members if (tensor := member()) is not None]
            views = {tensor._key for tensor in alive}
            views.discard(self.origin._key)
            bodies = bodies_below(home)
            early = [graph for graph in bodies if not views.isdisjoint(graph.captures)]
            if early:
                raise ReadBefore(early[-1], self.written)
            self.memory = Memory(self.origin, home, self.origin._key, views)
            for graph in bodies:
                self.memory.enter(graph)
            for tensor in alive:
                tensor._link.become_written(tensor)
        return self.memory


OF_ROOT: tuple[None, None] = (None, None)


class Location:
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
        self, family: Family, type_: TensorType, layout: np.ndarray[Any, Any] | None, parent: Location | None = None,
        index: Index | None = None, pull: Callable[[Tensor], Tensor] | None = None,
        late: tuple[Location | None, Any] | None = None,
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
        late: list[Location] = []
        place: Location | None = self
        while place is not None and place._late is not None:  # a loop, for views of views may be many
            late.append(place)
            place = place._late[0]
        for place in reversed(late):
            base, index = place._late or OF_ROOT
            if base is None:
                place.layout = self.family.blank if index is None else layouts.laid_out(self.family.blank, index)
            else:
                found: Any = index(base.layout) if callable(index) else layouts.indexed(base.layout, index)
                place.layout = found

    @property
    def is_root(self) -> bool:
        """Whether this is the whole memory as it is."""
        if self._late is not None:
            return self._late is OF_ROOT
        return self.parent is None and (self.layout is None or self.layout is self.family._blank)

    def window(self) -> tuple[Any, ...] | None:
        """What lies here as integers and slices forward of the whole memory; None where more is needed to say it."""
        unknown: list[Location] = []
        place: Location | None = self
        while place is not None and place._window is None:
            unknown.append(place)
            place = place.parent or (place.made or OF_ROOT)[0]
        for place in reversed(unknown):
            place._window = place._found_window() or False
        return self._window or None

    def watch(self, is_watched: bool = True) -> None:
        """Makes each write ask the layout, which somebody may have locked; or no more."""
        self._window = False if is_watched else None

    def _found_window(self) -> tuple[Any, ...] | None:
        if self.is_root:
            plain = buffer_indexing.plain_place(self.type.shape, ...)
            return None if plain is None else plain[0]
        base, index = (self.parent, self.index) if self.parent is not None else self.made or (None, None)
        if base is None or self._pull is not None or callable(index):
            return None
        place = base.place_at(index)
        return None if place is None or place[2] else place[0]

    def place_at(self, index: Any) -> buffer_indexing.Plain | None:
        """The place, in the whole memory, of what integers and slices forward, or arrays in front, address here."""
        is_root = self.made is OF_ROOT
        plain = None if is_root and self._window is False else buffer_indexing.plain_place(self.type.shape, index)
        if plain is None or is_root:
            return plain
        window = self.window()
        if window is not None:
            return buffer_indexing.place_within(window, plain)
        layout = self.layout if plain[2] else None
        return None if layout is None else layouts.place_in(layout, self.family.blank, plain)

    def reached(self, index: Index) -> buffer_indexing.PlaceInBuffer | None:
        """The place, in the memory, of what an index with arrays addresses here, where it is known without a run."""
        return layouts.reached(self.layout, self.family.blank, index, "x[...]") if STATE.builder is None else None

    def is_at(self, index: Index, other: Location) -> bool:
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


def _is_same_index(a: Index, b: Index) -> bool:
    """Whether two indices of integers and slices are one."""
    if type(a) is tuple and type(b) is tuple:
        return len(a) == len(b) and all(map(_is_same_index, a, b))
    return type(a) is type(b) and type(a) in (int, slice) and a == b
