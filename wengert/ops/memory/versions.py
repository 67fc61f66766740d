"""`Memory`: what stands behind an array and all views of it, or a `wg.buffer`: the newest version of the whole.

Outside of traces it holds that version itself; in a trace the graph under construction does, as for Variables. Made by
`families.py` at the first write to a tensor; `programs/buffers.py` has it as its base.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from ..._core.dims import Shape
from ..._core.graph import Graph
from ..._core.recorder import Observer
from ..._core.state import STATE, next_serial, tell_effect
from ..._core.tensor import Tensor, Value
from ..._core.types import TensorType, type_of
from ..._core.user_line import Site, at_user_line
from ...errors import TracingError


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


def bodies_below(home: Graph | None) -> list[Graph]:
    """The graphs under construction inside that where a tensor was made, the innermost first."""
    if STATE.builder is None or home is None:
        return []
    graphs = [STATE.builder, *STATE.builder.enclosing()]
    return graphs[: [g.serial for g in graphs].index(home.serial)]


def home_of(origin: Tensor) -> Graph | None:
    """The graph under construction in which a tensor was made; None outside of traces."""
    builder, data = STATE.builder, origin._data
    is_symbol = type(data) is Value
    if builder is None and not is_symbol:
        return None
    graphs = [builder, *builder.enclosing()] if builder is not None else []
    found = [g for g in graphs if (data.graph == g.serial if is_symbol else g.serial < origin._key)]
    if not found:
        refuse_outer(origin.shape)
    return found[0]


def refuse_outer(shape: Shape) -> NoReturn:
    raise TracingError(
        at_user_line(
            f"a traced function writes to a tensor of shape {shape} that was made outside of it; make it inside, pass "
            f"it as an argument and return it, or use wg.buffer or wg.Variable, which a function keeps as state"
        )
    )
