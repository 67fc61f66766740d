"""What one trace has read beside its arguments: looked up before the trace, checked before each later call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..._core import forking
from ..._core.engine import array_of, stands_in
from ..._core.graph import Graph
from ..._core.tensor import Tensor, entered, source_of
from .changing import global_sources, random_state, torch_sources
from .executed_code import Ran
from .foreign import (
    array_behind,
    held_by,
    is_alike,
    is_of_one_call,
    is_unfollowed,
    memory_of,
    met_by_torch,
    never,
    same_held,
    same_type,
    type_of,
)
from .guard import Alike, Guard, Moving, Shaped, Unwritten, guard_of, guarded
from .inputs import Inputs, tensor_around
from .reach import Reach, Slot, is_array
from .reads import has_jumps
from .watch import (
    MISSING,
    Contents,
    Elements,
    Looks,
    ShapeAndDtype,
    StaticAt,
    Watch,
    bytes_of,
    same_bytes,
    same_printing,
)

_COPIED_BEFORE = 1 << 20  # bytes; larger arrays are copied after the trace, and only where they must be compared
_COMPARED = 1 << 26  # bytes that are compared in all; of what is beyond them no copy is kept


class Captures:
    """What a function reads beside its arguments.

    Args:
        f: the function.
        statics: those of its arguments that belong to the signature by value.
        paths: how the user calls them.

    Attributes:
        changed: how the user calls what had changed when a call was refused.
        version: counts how often what is compared with has been replaced by what is there now.
        is_stale: whether that were contents, which hardly ever come back.
        warnings: what the user is to know about things that change by themselves.
    """

    def __init__(self, f: Callable[..., Any], statics: Sequence[Any], paths: Sequence[str]) -> None:
        reach = self._reach = Reach(f, statics, paths)
        self._watches = reach.watches
        self._inputs: Inputs | None = None
        self._taken: list[tuple[int, Slot]] = []  # positions among the graph's captures, and where their values are
        self._guard: Guard | None = None
        self._lock = forking.long_lock()
        self._states = [(name, source, random_state(source)) for name, source in self._sources()]
        self._copies = {
            id(slot): bytes_of(slot.value)
            for slot in reach.slots.values()
            if isinstance(slot.value, np.ndarray) and slot.value.nbytes <= _COPIED_BEFORE
        }
        self.changed = ""
        self.is_stale = False
        self.version = 0
        self._compared = 0
        self.warnings: list[str] = []
        self._ran = Ran(())
        self._met: set[int] = set()  # the tensors, by `id`, that torch's own functions took in the trace
        self.tensors: list[Tensor] = []

    def _sources(self) -> list[tuple[str, Any]]:
        hidden = global_sources() if "random" in self._reach.names else []
        hidden += torch_sources()
        known = {id(source) for _, source in hidden}
        return [*hidden, *((f"`{path}`", source) for path, source in self._reach.sources if id(source) not in known)]

    # -- the trace --------------------------------------------------------------------------------------

    def open(self, graph: Graph, takes_arrays: bool = True) -> None:
        """Before a trace: arrays that it comes to use are inputs of the graph (else constants)."""
        self.drop()
        self._inputs = Inputs(self._reach, graph, self._ran)
        graph.arrays = self._inputs if takes_arrays else None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Around the trace: what torch computes of weights by itself, as a module that is called, is its constant; and
        a framework's array that a branch loads was read only if that ran.
        """
        self._ran = Ran({code for code, _ in self._reach.chains if has_jumps(code)} if self._reach.standing else ())
        with self._ran, met_by_torch([array for _, array in self._reach.unread], self._met):
            yield

    @property
    def took_arrays(self) -> bool:
        """Whether arrays have become inputs in the trace under way."""
        return self._inputs is not None and bool(self._inputs.taken)

    def drop(self) -> None:
        """After a trace that failed: its graph, which holds what holds it, is left to nobody."""
        if self._inputs is not None:
            self._inputs.forget()
            self._inputs = None

    def close(self, graph: Graph) -> None:
        """After the trace: which arrays are looked up at each call, and which are compared with copies."""
        assert self._inputs is not None
        places = {key: place for place, key in enumerate(graph.captures)}
        self.tensors = [tensor for tensor, _ in graph.captures.values()]
        self._free_natives()
        taken = [(key, slot) for key, (slot, is_view) in self._inputs.taken.items() if not is_view]
        self._taken = [(places[key], slot) for key, slot in taken if key in places]
        passed = {id(slot) for _, slot in self._taken}
        viewed = {id(slot) for slot, is_view in self._inputs.taken.values() if is_view}
        for slot in self._reach.slots.values():
            is_proved = graph.arrays is not None and self._inputs.is_proved(slot)
            slot.is_free = is_proved and id(slot) not in viewed
            if not is_proved:
                self._compare(slot)
            is_passed = id(slot) in passed
            if is_passed or id(slot) in viewed:
                slot.pin()
            if isinstance(slot.value, np.ndarray) and is_proved and not is_passed:
                self._watches.append(ShapeAndDtype(slot, None, slot.path, (slot.value.shape, slot.value.dtype)))
        if self._reach.writes_text and not all(map(self._inputs.is_proved, self._reach.slots.values())):
            self._watches.append(Contents(None, same_printing, "np.get_printoptions()", np.get_printoptions()))
        self._compare_natives()
        self._tell_changes()
        self._guard = guard_of(self._watches)
        self._reach.slots.update((id(slot.value), slot) for slot in self._reach.standing.values() if slot.is_free)
        self._inputs.forget()
        self._copies, self._inputs, graph.arrays = {}, None, None
        self._reach.forget()

    def _free_natives(self) -> None:
        """Frameworks' arrays that are inputs: another one like it may be found at the place of each, as what a step of
        a training has computed of weights. Variables stay the same ones.
        """
        assert self._inputs is not None
        for slot in self._reach.standing.values():
            is_read = id(slot.value) in self._reach.is_read or stands_in(type(slot.value))
            slot.is_free = not is_read and bool(slot.watches) and self._inputs.is_whole(slot)

    @property
    def inputs(self) -> set[int]:
        """The positions of captured tensors in whose place another one may be found."""
        return {place for place, slot in self._taken if slot.is_free}

    def _compare_natives(self) -> None:
        """Frameworks' arrays and variables that no op took, or that code takes plain numbers of: these were read.

        What an op takes is looked up at each call; variables are written to at each step of a training.
        """
        self._watch_what_passes()
        self._reach.natives += [found for found in self._reach.unread if id(found[1]) in self._met]
        if not self._reach.natives:
            return
        standing = self._reach.standing
        stay = [(path, array) for path, array in self._reach.natives if not standing[id(array)].is_free]
        kept = [(path, array, held_by(array)) for path, array in stay]  # before any is looked at by us
        taken = {memory_of(array_behind(t)) for t in self.tensors if not t.is_symbolic}
        taken |= {id(source_of(t)) for t in self.tensors}
        for path, array, held in kept:
            is_taken = not {id(array), memory_of(array)}.isdisjoint(taken)
            if is_taken and not self._is_read(array):
                continue
            if held is not None and not self._is_live(array):
                self._watches.append(Contents(array, same_held, path, held))
            elif not is_taken:  # what cannot change may come to be differentiated
                self._watches.append(Contents(array, is_unfollowed, path, None))

    def _watch_what_passes(self) -> None:
        """What a framework has made in the trace of what it follows, or would follow in another call."""
        assert self._inputs is not None
        ours = {key for key, (slot, _) in self._inputs.taken.items() if is_array(slot.value)}
        passing = [t for t in self.tensors if t._key not in ours and is_of_one_call(t)]
        known = [*self._reach.natives, *self._reach.unread]
        reached = {id(array) for _, array in known}
        self._watches += [
            Contents(array, never, "what a framework makes in it", None)
            for array in map(array_behind, passing) if id(array) not in reached
        ]  # fmt: skip
        paths = {id(array): path for path, array in known}
        stood_for = [(source_of(t), array_behind(t)) for t in self.tensors if source_of(t) is not None]
        self._watches += [
            Contents(variable, same_type, paths.get(id(variable), "a variable"), type_of(array))
            for variable, array in stood_for if array_of(variable) is not variable
        ]  # fmt: skip
        made = [array_behind(t) for t in self.tensors if not t.is_symbolic and source_of(t) is None]
        views = {memory_of(array) for array in made if id(array) not in reached}  # of torch's weights, which it makes
        for path, array in known:
            if memory_of(array) in views and is_unfollowed(array):
                self._watches.append(Contents(array, is_unfollowed, path, None))

    def _is_live(self, array: object) -> bool:
        """Whether only functions read a framework's array or variable that the framework runs at each call."""
        assert self._inputs is not None
        return id(array) not in self._reach.is_read and self._inputs.is_read_by_bridges(self._reach.standing[id(array)])

    def _is_read(self, array: object) -> bool:
        """Whether something else than an op may have read a framework's array that some op takes."""
        assert self._inputs is not None
        is_elsewhere = not self._inputs.is_taken_where_loaded(self._reach.standing[id(array)])
        return is_elsewhere or id(array) in self._reach.is_read

    def _compare(self, slot: Slot) -> None:
        """Keeps a copy of an array whose contents something else than an op may have read."""
        if not isinstance(slot.value, np.ndarray):
            return
        self._compared += slot.value.nbytes
        if self._compared > _COMPARED:
            self.warnings.append(
                f"reads `{slot.path or 'an array'}` ({slot.value.nbytes >> 20} MiB) where changes in place are not "
                "seen: pass it as an argument, or use it in ops only"
            )
            return
        kept = self._copies.get(id(slot)) or bytes_of(slot.value)
        self._watches.append(Contents(slot.value, same_bytes, slot.path, kept))

    def _tell_changes(self) -> None:
        drawn = [name for name, source, state in self._states if random_state(source) != state]
        for name in drawn:
            self.warnings.append(
                f"draws random numbers from {name} while it is traced: they are constants of the compiled function; "
                "use wg.random with a key that is an argument"
            )
        for name in self._reach.changes:
            self.warnings.append(
                f"reads {name}, which changes by itself: what it gives while the function is traced is a constant of "
                "the compiled function; pass it as an argument"
            )
        if self._reach.is_cut:
            self.warnings.append("can reach more objects than are watched for changes: pass what varies as arguments")

    # -- calls ------------------------------------------------------------------------------------------

    def guarded(
        self, run: Callable[..., Any], natives: Sequence[Any], alike: Alike | Shaped | None = None,
        statics: Sequence[Any] = (),
    ) -> Callable[..., Any]:  # fmt: skip
        """Compiled code as a function that looks first whether the program is still the right one for these values of
        the signature, and gives NotImplemented where that takes more than a look.
        """
        return guarded(self._tests(), run, self.operands(natives), alike, statics)

    def operands(self, natives: Sequence[Any]) -> list[Any]:
        """The captured arrays themselves, not our views of them: code that gets them is to see what has become of
        them.
        """
        found = [*natives]
        for place, array in self._arrays():
            given = found[place]
            found[place] = given._replace(array=array) if type(given) is Moving else array
        return found

    def look(self, looks: Looks) -> bool:
        """Has machine code look whether the program is still the right one; False where it cannot see all of it."""
        return all(test.look(looks) for test in self._tests())

    def _tests(self) -> list[Watch | Unwritten]:
        return [*self._watches, *map(Unwritten, self.tensors)]

    def holds(self, statics: Sequence[Any] = ()) -> bool:
        """Whether the program is still what f would be traced to; arrays that were replaced by others like them are
        looked up.
        """
        if not self._are_laid_out():
            return False
        return (self._guard is not None and self._guard(statics)) or self._holds_by_value(statics)

    def _arrays(self) -> list[tuple[int, np.ndarray[Any, Any]]]:
        """The arrays among the captures, with their places."""
        return [(place, slot.value) for place, slot in self._taken if isinstance(slot.value, np.ndarray)]

    def _are_laid_out(self) -> bool:
        """Whether the arrays of which the program has views lie in memory as these do."""
        for place, slot in self._taken:
            array, view = slot.value, self.tensors[place]._data
            if isinstance(array, np.ndarray) and not (
                array.shape == view.shape and array.dtype is view.dtype and array.strides == view.strides
            ):
                self.changed, self.is_stale = slot.path, True
                return False
        return True

    def _holds_by_value(self, statics: Sequence[Any]) -> bool:
        with self._lock:
            found: dict[int, tuple[Slot, Any]] = {}
            for watch in self._watches:
                if not self._accepts(watch, watch.now(statics), found):
                    self.changed, self.is_stale = watch.path, isinstance(watch, Contents) or is_array(watch.value)
                    return False
            for slot, array in found.values():
                self._replace(slot, array)
            self._guard = guard_of(self._watches)
            self.version += 1
            return True

    def _accepts(self, watch: Watch, value: object, found: dict[int, tuple[Slot, Any]]) -> bool:
        held = watch.value
        if value is held:
            slot = self._reach.slots.get(id(held))
            return slot is None or found.setdefault(id(slot), (slot, held))[1] is held
        if value is MISSING or held is MISSING:
            return False
        slot = self._reach.slots.get(id(held))
        if slot is None or isinstance(watch, (Contents, Elements)):
            return watch.holds(value)
        known = found.setdefault(id(slot), (slot, value))[1]
        return slot.is_free and known is value and _fits(value, held) and not isinstance(watch.owner, StaticAt)

    def _replace(self, slot: Slot, array: Any) -> None:
        if array is slot.value:
            return
        slots = self._reach.slots
        for watch in slot.watches:
            watch.value = array
        del slots[id(slot.value)]
        slot.put(array)
        slots[id(array)] = slot
        for place, taken in self._taken:
            if taken is slot:
                self.tensors[place] = _as_tensor(array)


def _as_tensor(array: Any) -> Tensor:
    if isinstance(array, np.ndarray):
        return tensor_around(array)
    return array if isinstance(array, Tensor) else entered(array)


def _fits(value: Any, held: Any) -> bool:
    """Whether one array can take another's place in a program."""
    if not is_array(held):
        return is_alike(value, held)
    if type(value) is not type(held) or value.shape != held.shape or value.dtype != held.dtype:
        return False
    return type(value) is not Tensor or (type(value._data) is type(held._data) and value._weak == held._weak)


__all__ = ["Captures"]
