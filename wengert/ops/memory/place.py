"""`Place`: what stands where a tensor lies in its family's memory, read from the newest version and written to it.

`sharing.py` and `writes.py` call it for the tensor; `place_of` gives a tensor its own at the first view or write.
"""

from __future__ import annotations

from copy import copy
from typing import Any
from weakref import ref

import numpy as np

from ..._core.apply import apply
from ..._core.argument_types import Index
from ..._core.engine import KERNELS_OF
from ..._core.moving import beside
from ..._core.state import STATE, next_serial
from ..._core.tensor import Tensor, Value, tell_twin
from ..._core.types import as_type, type_of
from ..._core.user_line import at_user_line
from ..._prims import buffer as prims
from ..._prims.structural import neg
from ...errors import TracingError
from .. import buffer_indexing
from ..at import At
from ..subscript import take_index
from ..written_values import filling
from . import layouts
from .families import OF_ROOT, Family, Location
from .versions import Memory, refuse_outer

_NUMBERS = frozenset({float, int, np.float64})


class Place(Location):
    """A location with the reads and writes that are made there."""

    __slots__ = ()
    parent: Place | None

    def version(self) -> Tensor | None:
        """The newest version where only recorders must know what is done to it; None in traces and the like."""
        if STATE.builder is not None or STATE.pins is not None or STATE.reading:
            return None
        return (self.family.memory or self.family.written())._tensor

    def put_promptly(self, held: Tensor, place: buffer_indexing.Plain, value: Any) -> bool:
        """Writes to a place of the newest version, where there is nothing to ask; whether there was not."""
        data, (template, core, indices) = held._data, place
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
        if own.dtype != data.dtype:
            return False
        if own.shape != core:
            value = filling(value, core, "x[...]")
        memory: Any = self.family.memory
        memory._tensor = apply(prims.buffer_set, (value, held, *indices), (template,))
        return True

    def add_promptly(self, index: Index, value: Tensor) -> bool:
        """Adds a value at index arrays in the newest version, where there is nothing to ask; whether there was not."""
        held = self.version()
        at = None if held is None or value._data.dtype != held._data.dtype else self.place_at(index)
        if held is None or at is None or KERNELS_OF[type(value._data)] is not KERNELS_OF[type(held._data)]:
            return False
        template, core, indices = at
        value = value if value._data.shape == core else filling(value, core, "x[...]")
        memory: Any = self.family.memory
        memory._tensor = apply(prims.buffer_add, (value, held, *indices), (template,))
        return True

    def increase_promptly(self, value: Any, is_less: bool) -> bool:
        """`x += value` or `x -= value` of a view, in one op that reads nothing; whether there was nothing to ask.

        The whole is read more often than written to, and stays a plain array.
        """
        held = None if self.made is None or self.made is OF_ROOT else self.version()
        window = None if held is None or type(value) is not Tensor else self.window()
        if held is None or window is None or held._data.dtype.kind not in "fc":
            return False
        own, link = value._data, value._link
        if own.dtype != held._data.dtype or KERNELS_OF[type(own)] is not KERNELS_OF[type(held._data)]:
            return False
        if link is not None and link.family is self.family:
            return False
        value = neg(value) if is_less else value
        value = value if own.shape == self.type.shape else filling(value, self.type.shape, "x[...]")
        memory: Any = self.family.memory
        memory._tensor = apply(prims.buffer_add, (value, held), (window,))
        return True

    def begin(self, x: Tensor, value: Tensor) -> None:
        """Writes over the whole of a tensor for the first time: outside of traces, where it has no views."""
        family = self.family
        family.memory = Memory(family.origin, None, family.origin._key)
        family.memory._tensor = value
        self.become_written(x)

    def current(self) -> Tensor:
        """What lies here now, as a tensor that no write changes."""
        memory = self.family.written()
        held = memory._held
        # held weakly: an array that outlives a tape does not keep it
        known, recorders = self._cached, frozenset(map(ref, STATE.recorders))
        if (known is not None and known[0] == held._key and known[1] is STATE.builder and type(known[3]) is Tensor
                and known[2].issuperset(recorders)):  # fmt: skip
            return known[3]
        is_root = STATE.builder is None and self.is_root
        if is_root and type(held._data) is np.ndarray:
            value = held.__copy__()  # no kernel writes to a plain array: it is what it holds
        else:
            value = self._read(held)
            if is_root and not STATE.recorders:
                # nobody records that this is read: it goes by the version's name, by which ended tapes know it
                tell_twin(held._key)
                value = Tensor(value._data, held._key, held._cut)
        self._cached = (held._key, STATE.builder, recorders, value)
        return value

    def remember(self) -> None:
        """What was read to make the view is what it holds until the next write, as in `a[i] += x`."""
        memory = self.family.memory
        if memory is not None and memory._tensor is not None and STATE.builder is STATE.pins is None:
            self._cached = (memory._tensor._key, None, frozenset(map(ref, STATE.recorders)), self.origin)

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
            return buffer_indexing.take(held, self.index, "x[...]")
        return take_index(self.parent.current(), self.index, "x[...]")

    def read_at(self, index: Index) -> Tensor:
        """What stands at an index of this place."""
        if self.is_root and not buffer_indexing.is_lone_truth(index):
            return buffer_indexing.take(self.family.written()._held, index, "x[...]")
        layout = layouts.indexed(self.layout, index)
        if layout is not None and self.family.memory is not None:
            return layouts.read(self.family.memory._held, layout, self.family.blank)
        if self.family.memory is not None and (place := self.reached(index)) is not None:
            return buffer_indexing.take(self.family.memory._held, index, "x[...]", place)
        return take_index(self.current(), index, "x[...]")

    def write(self, index: Index, value: Tensor) -> None:
        """Puts a value, of the dtype here, at an index."""
        memory = self.family.written()
        self._require_mine(memory)
        held = memory._held
        value = beside(value, held)
        if self.is_root:
            if buffer_indexing.is_lone_truth(index):
                self.write_all(_replaced(self.current(), index, value))
            else:
                memory._put(buffer_indexing.put(held, index, value, "x[...]"))
            return
        layout = layouts.indexed(self.layout, index)
        if layout is not None:
            value = filling(value, layout.shape, "x[...]")
            memory._put(layouts.written(held, layout, self.family.blank, value))
            return
        if (place := self.reached(index)) is not None:
            memory._put(buffer_indexing.put(held, index, value, "x[...]", place))
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
        if held is not None and self.made is not None and self.made is not OF_ROOT:
            window = self.window()
            if window is not None and self.put_promptly(held, (window, self.type.shape, ()), value):
                return
        memory = self.family.written()
        self._require_mine(memory)
        if self.is_root:
            memory._put(beside(value, memory._held))
        elif self.parent is not None and self.parent.is_root and self._pull is None:  # its index says where it lies
            memory._put(buffer_indexing.put(memory._held, self.index, beside(value, memory._held), "x[...]"))
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
        if self._late is not OF_ROOT and (layout := self.layout) is not None and not layout.flags.writeable:
            raise ValueError(at_user_line("x[...]: the assignment destination is read-only, as NumPy's view here is"))
        builder = STATE.builder
        if memory._key in STATE.lent:
            return  # a computation is repeated: what it writes stays inside
        if builder is not None and memory._home not in (builder.serial, *[g.serial for g in builder.enclosing()]):
            refuse_outer(memory.shape)


def _replaced(x: Tensor, index: Index, value: Tensor) -> Tensor:
    """x with a value at an index, as a tensor of its own."""
    if buffer_indexing.is_lone_truth(index):
        return At(x)[index].set(value)
    return prims.buffer_value(buffer_indexing.put(x, index, value, "x[...]"))


def place_of(x: Tensor) -> Place:
    """Where a tensor lies; a family of its own where it has none yet."""
    if x._link is None:
        family = Family(x)
        if type(x._data) is Value:
            family.take_in(x, Place(family, type_of(x), family.blank))
        else:
            family.take_in(x, Place(family, as_type((x._data.shape, x._data.dtype)), None, late=OF_ROOT))
    place: Any = x._link
    return place


def lying_in(x: Tensor, array: np.ndarray[Any, Any]) -> None:
    """Gives a tensor a family in which views of an array, of its shape and in row-major order, are views of it."""
    family = Family(x)
    family._blank = array
    family.take_in(x, Place(family, type_of(x), array))
