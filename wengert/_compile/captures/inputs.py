"""The arrays that a traced function reads beside its arguments, as inputs of the program.

An array that an op takes becomes a capture of the graph, whose value is looked up at each call. Whether that is all
that its contents are used for is proved by evidence: each place in the code that loads the array must be one from
which an op was seen to take it, itself or a view. Where the proof fails (NumPy may have computed with it), the
contents are compared with a copy before each call, and what differs is traced again.
"""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from collections.abc import Hashable, Iterable
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from ..._core import dtypes
from ..._core.engine import default_engine
from ..._core.foreign_arrays import require_plain
from ..._core.graph import Graph, symbol
from ..._core.state import next_serial
from ..._core.tensor import Tensor, Value, source_of
from ..._core.user_line import is_library_file, site_of
from .executed_code import Ran
from .foreign import array_behind, memory_of
from .reach import SIZES, Reach, Site, Slot
from .reads import CELL, LOCAL, Access, Chain, Position, is_inside, reads_of, spans_of

_CALLED = ("__call__", "call", "forward")  # what runs of a framework's module
_VIEWS = frozenset({"T", "mT", "real", "imag"})


class Inputs:
    """The arrays that one trace may take as inputs.

    Args:
        reach: what the function can read.
        graph: the trace's.
        ran: which of the user's code has run.

    Attributes:
        taken: the captured tensors, by the key of each: the slot that it came from, and whether it is a view.
    """

    def __init__(self, reach: Reach, graph: Graph, ran: Ran) -> None:
        self._slots = reach.slots
        self._standing = {memory_of(slot.value): slot for slot in reach.standing.values()}
        self._chains = reach.chains
        self._graph: Graph | None = graph
        self._ran = ran
        # who opened the trace, and waits for its end: what stands there is none of f's doing
        self._outside = id(sys._getframe(2))
        self._tensors: dict[Hashable, tuple[Any, Tensor]] = {}
        self._owners: defaultdict[int, list[Slot]] | None = (
            None  # by whose memory they are views of; made when asked for
        )
        self.taken: dict[int, tuple[Slot, bool]] = {}
        # by slot the places from which an op took its array, and those of the calls that led there
        self._seen: defaultdict[int, set[tuple[CodeType, Position]]] = defaultdict(set)
        self._locals: dict[int, set[tuple[CodeType, str]]] = {}  # local variables that held a slot's array meanwhile
        self._bridged: set[CodeType] = set()  # code that a framework runs at each call, and reads then what it loads

    # -- during the trace -------------------------------------------------------------------------------

    def tensor_of(self, array: np.ndarray[Any, Any]) -> Tensor | None:
        """The symbolic tensor of a captured array, or of a view of one; None for any other array."""
        slot, graph = self._slot_of(array), self._graph
        if slot is None or graph is None or not array.dtype.isnative:
            return None
        if array.dtype.kind == "b" or not dtypes.is_supported(array.dtype):
            return None  # masks stay constants: shapes depend on them
        self._note(slot)
        # code that runs again makes other views of the same memory (`w.T`): they are one input
        is_view = array is not slot.value
        start, _ = array.__array_interface__["data"]
        key = (id(slot), is_view, start, array.shape, array.strides, array.dtype, type(array))
        known = self._tensors.get(key)
        if known is None:
            require_plain(type(array))
            tensor = tensor_around(array)
            known = self._tensors[key] = (array, tensor)
            self.taken[tensor._key] = (slot, is_view)
            value = Value(tuple(array.shape), array.dtype, graph.serial, slot.path)
            graph.captures[tensor._key] = (tensor, value)
        return symbol(graph.value_of(known[1]))

    def take(self, tensor: Tensor) -> None:
        """Notes that an op takes a concrete tensor."""
        slot = self._slots.get(id(tensor))
        if slot is not None:
            self._note(slot)
            self.taken[tensor._key] = (slot, False)
        elif self._standing:
            self._take_standing(tensor)

    def note_bridged(self, f: object) -> None:
        """Notes that a bridge calls a function of a framework's."""
        named = [getattr(type(f), name, None) for name in _CALLED]
        waiting = [g.__code__ for g in (inspect.unwrap(f), *named) if isinstance(g, FunctionType)]  # pyright: ignore[reportArgumentType]  # of anything
        while waiting:
            code = waiting.pop()
            self._bridged.add(code)
            waiting += [const for const in code.co_consts if isinstance(const, CodeType)]

    def _take_standing(self, tensor: Tensor) -> None:
        """The same of one that was read from a framework's array or variable."""
        variable = source_of(tensor)
        array = array_behind(tensor) if variable is None else variable
        slot = self._standing.get(memory_of(array))
        if slot is not None:
            self._note(slot)
            if variable is None:
                self.taken[tensor._key] = (slot, array is not slot.value)

    def _slot_of(self, array: np.ndarray[Any, Any]) -> Slot | None:
        held: Any = array
        owner = array
        while isinstance(held, np.ndarray):
            slot = self._slots.get(id(held))
            if slot is not None:
                return slot
            owner, held = held, held.base
        # of a view of a view NumPy tells the owner of the memory, and not the view that it was made of
        around = [slot for slot in self._of_owner(owner) if _is_within(array, slot.value)]
        return around[0] if len(around) == 1 else None

    def _of_owner(self, owner: np.ndarray[Any, Any]) -> list[Slot]:
        """The captured arrays that are views of an array's memory."""
        if self._owners is None:
            self._owners = defaultdict(list)
            for slot in self._slots.values():
                base = slot.value.base if isinstance(slot.value, np.ndarray) else None
                if isinstance(base, np.ndarray):
                    self._owners[id(base)].append(slot)
        return self._owners.get(id(owner), [])

    def _note(self, slot: Slot) -> None:
        """Where the user's code stands, and which of its variables hold the array now."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and id(frame) != self._outside:
            if not is_library_file(frame.f_code.co_filename):
                place = _place(frame)
                if place is not None:
                    self._seen[id(slot)].add(place)
                held = [name for name, value in frame.f_locals.items() if value is slot.value]
                self._locals.setdefault(id(slot), set()).update((frame.f_code, name) for name in held)
            frame = frame.f_back

    # -- after it ---------------------------------------------------------------------------------------

    def forget(self) -> None:
        """Lets go of the arrays; the graphs of branches and loops may still know this object."""
        self._slots, self._tensors, self._chains, self.taken, self._locals = {}, {}, [], {}, {}
        self._standing, self._owners = {}, None
        self._graph = None

    def is_proved(self, slot: Slot) -> bool:
        """Whether ops alone have read the array's contents."""
        return not slot.is_loose and self.is_taken_where_loaded(slot)

    def is_read_by_bridges(self, slot: Slot) -> bool:
        """Whether functions that bridges call load a framework's array or variable, and beside them ops alone."""
        sites = {where for where, _, _ in self._sites(slot)}
        return not self._bridged.isdisjoint(sites) and self.is_taken_where_loaded(slot)

    def _sites(self, slot: Slot) -> list[Site]:
        """Where the code is known to load an array."""
        found = [*slot.sites]
        for where, chain in self._chains:
            for taken, step in enumerate(chain.steps):
                if not step.is_item and step.key in slot.attributes:
                    found.append((where, chain, taken + 1))
        return found

    def is_whole(self, slot: Slot) -> bool:
        """Whether ops alone have read a framework's array, and none has taken a part of it: such a part is what the
        framework made in the trace.
        """
        is_cut = any(taken is slot and is_view for taken, is_view in self.taken.values())
        return not slot.is_loose and not is_cut and self.is_taken_where_loaded(slot, as_whole=True)

    def is_taken_where_loaded(self, slot: Slot, as_whole: bool = False) -> bool:
        """Whether at each place of the code that is known to load an array an op takes it (`as_whole`: and not a part
        of it); a framework's may get to one in a closure, too, whose own loads are looked at.
        """
        held = self._locals.get(id(slot), ())
        is_framework = id(slot.value) not in self._slots
        closures = {code for code, name in held if name in code.co_freevars} if is_framework else set[CodeType]()
        sites = self._sites(slot)
        done: set[tuple[CodeType, str]] = set()
        waiting = [*held]
        while sites or waiting:
            for site in sites:
                is_live = is_framework and site[0] in self._bridged and not as_whole
                is_taken = is_live or self._is_taken(slot, *site, waiting, closures, as_whole)
                if not (is_taken or (is_framework and self._is_passed_over(*site))):
                    return False
            sites = []
            if waiting and (local := waiting.pop()) not in done:
                done.add(local)
                sites = [*_loads(*local)]
        return True

    def _is_passed_over(self, where: CodeType, chain: Chain, taken: int) -> bool:
        """Whether a load stands in a branch that did not run."""
        span = chain.spans[taken]
        return span is not None and self._ran.passed_over(where, span)

    def _is_taken(
        self, slot: Slot, where: CodeType, chain: Chain, taken: int, waiting: list[tuple[CodeType, str]],
        closures: set[CodeType], as_whole: bool,
    ) -> bool:  # fmt: skip
        """Whether what a chain loads goes to an op, to a call that led to one, or to a variable (then `waiting`)."""
        rest = chain.steps[taken:]
        if rest and not rest[0].is_item and rest[0].key in SIZES:
            return True
        if chain.is_identity and not rest:
            return True
        if as_whole and rest:
            return False
        if chain.stored and all(map(_is_view, rest)):
            waiting.append((where, chain.stored))
            return True
        span = chain.spans[taken]
        if span is None:
            return False
        around = sorted((s for s in spans_of(where) if is_inside(span, s[0])), key=lambda s: _extent(s[0], span))
        for place, is_view in around:
            if (where, place) in self._seen[id(slot)]:
                return True
            if as_whole or not is_view:
                return self._is_kept_by_call(where, place, closures)
        return False

    def _is_kept_by_call(self, where: CodeType, place: Position, closures: set[CodeType]) -> bool:
        """Whether a call is of the user's function that made one of these closures."""
        called = {
            (chain.steps[-1].key if chain.steps else chain.name)
            for inside, chain in reads_of(where).chains
            if inside is where and (start := chain.spans[0]) is not None and start[::2] == place[::2]
        }
        return any(not called.isdisjoint(code.co_qualname.split(".")[:-1]) for code in closures)


def tensor_around(array: np.ndarray[Any, Any]) -> Tensor:
    """A concrete tensor of an array's memory, whatever is being traced."""
    return Tensor(default_engine().from_numpy(array.view(np.ndarray)), next_serial())


def _is_within(part: np.ndarray[Any, Any], whole: np.ndarray[Any, Any]) -> bool:
    """Whether an array lies in the memory between another one's first byte and its last."""
    (first, last), (start, stop) = _bounds(part), _bounds(whole)
    return part.size > 0 and start <= first and last <= stop


def _bounds(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Where an array's memory begins, and where it ends."""
    start, _ = array.__array_interface__["data"]
    reached = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    return start + sum(r for r in reached if r < 0), start + sum(r for r in reached if r > 0) + array.itemsize


def _is_view(step: Access) -> bool:
    return step.is_item or step.key in _VIEWS


def _extent(outer: Position, inner: Position) -> tuple[int, int, int, int]:
    """Orders the places around another by size."""
    return (outer[1] - outer[0], inner[0] - outer[0], outer[3] - inner[3], inner[2] - outer[2])


def _loads(code: CodeType, name: str) -> Iterable[tuple[CodeType, Chain, int]]:
    """The chains that load a variable of a function, in it and in the functions inside."""
    kind = CELL if name in code.co_freevars else LOCAL
    return [(where, c, 0) for where, c in reads_of(code).chains if c.kind == kind and c.name == name]


def _place(frame: FrameType) -> tuple[CodeType, Position] | None:
    line, end_line, column, end_column = site_of(frame).position
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return frame.f_code, (line, end_line, column, end_column)


__all__ = ["Inputs", "tensor_around"]
