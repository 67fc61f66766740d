"""`Keeper`: what is kept of an eager loop under tapes: the tapes' own records, snapshots, or first one, then the other.

Every loop with snapshots begins with the tapes open: a first step that does what cannot be repeated (it assigns a
Variable) leaves them open to the end. A budget of snapshots has the tapes pause after that step; "auto" has them pause
when what they have kept exceeds the memory budget. A step that does it later, when they have paused, has the whole
loop run once more with the tapes open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from .._core.budget import BUDGET, limit, tell
from .._core.recorder import Observer
from .._core.state import STATE
from .._core.tensor import Tensor
from .._transforms.snapshots import NEVER, EvenSnapshots, Snapshots
from .._transforms.tape import Tape
from .outside_tensors import Captures, Followed

_key_of = attrgetter("_key")
_MOST_AUTO = 256  # snapshots kept beside the history of an "auto" loop
_LEAST_AUTO = 8
_MOST_BLOCK = 16  # steps between snapshots that may be kept beside a history: each costs time, whether needed or not
_WINDOW = 16  # entries next to each other that a meter looks at together
_MOST_WINDOWS = 8
_BYTES_AN_ENTRY = 600  # of a tape, beside the arrays: the entry, its tuples and tensors


class RunsOnceMore(BaseException):
    """Ends a run of a loop, before a step does what cannot be repeated; no error, so that no user's code catches it."""

    def __init__(self, keeper: Keeper) -> None:
        super().__init__()
        self.keeper = keeper


class State(NamedTuple):
    """A snapshot: the loop variables before a step, and which of them the tapes follow."""

    tensors: tuple[Tensor, ...]
    flags: tuple[bool, ...]


class Keeper(Observer):
    """Decides for one run of an eager loop what is kept, and keeps it: tapes' records or snapshots.

    Args:
        policy: "sqrt", "auto" or a number of snapshots.
        count: the number of steps where it is known.
        tapes: those that follow the loop.
        captures: collects what the loop uses from outside.

    Attributes:
        slices: of the arrays that the loop consumes.
        snapshots: states to start again from.
        block: how many steps the schedule of the snapshots takes for one.
        pins: Variable key -> what it held when the loop read it.
        is_paused: whether the tapes have no record of the loop.
    """

    def __init__(self, policy: Any, count: int | None, tapes: list[Tape], captures: Captures) -> None:
        self.policy = policy
        self.count = count
        self.tapes = tapes
        self.captures = captures
        self.since = captures.start  # reads and writes of older buffers are told
        self.slices: Sequence[Sequence[Tensor]] = ()
        self.pins: dict[int, Tensor] = {}
        self.is_paused = False
        self.snapshots: Any = None
        self.block = 1
        self._is_hindered = False
        self._check = 1
        self._last = 0  # the step of the last look
        self._limit = limit()
        self._follows = tapes[0].is_tracked if len(tapes) == 1 else _any_tracks(tapes)

    # -- from begin to end --------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Begins to listen; `close` must follow."""
        STATE.reading = (*STATE.reading, self)
        BUDGET.depth += 1
        if BUDGET.meter is None:
            BUDGET.meter = Meter(self.captures.start)
        self._meter: Meter = BUDGET.meter
        self._meter.count()
        self._marks = [len(tape.entries) for tape in self.tapes]
        self._own = [tape for tape in self.tapes if self._meter.add(tape)]
        self._base = self._meter.state()

    def close(self) -> None:
        """Ends listening, however the loop ended; `BUDGET` has been left by then."""
        STATE.reading = (*[r for r in STATE.reading if r is not self],)
        if BUDGET.depth:
            for tape in getattr(self, "_own", ()):
                BUDGET.meter.drop(tape)
        self.slices = ()

    def on_read(self, variable: Any, tensor: Tensor) -> None:
        """A Variable is read: when the loop runs again, it reads the same."""
        if variable._key < self.captures.start:
            self.pins.setdefault(variable._key, tensor)

    def on_write(self, buffer: object) -> None:
        """A buffer from outside is written to; a tensor of before may have become one in the loop, by this write."""
        self._refuse_to_repeat()

    def on_effect(self, what: str, owner: Any) -> None:
        """The loop does something that cannot be repeated."""
        if owner in self.tapes if isinstance(owner, Tape) else owner._key < self.captures.start:
            self._refuse_to_repeat()

    def _refuse_to_repeat(self) -> None:
        if self.is_paused:
            raise RunsOnceMore(self)
        self._is_hindered = True

    # -- during the loop ----------------------------------------------------------------------------------------------

    def on_event(self, step: int, tensors: Sequence[Tensor]) -> int:
        """Called before a step that was asked for; the next one to be called before."""
        if self._is_hindered:
            self.snapshots = None
            return NEVER
        if step == self._check:
            self._look(step, tensors)
        if self.snapshots is None:
            self.snapshots = self._new_snapshots(tensors)
        snapshots, block = self.snapshots, self.block
        if step == snapshots.next_step * block:
            snapshots.offer(step // block, State((*tensors,), (*map(self._follows, map(_key_of, tensors)),)))
        following = snapshots.next_step * block
        return following if following < self._check else self._check

    def _new_snapshots(self, tensors: Sequence[Tensor]) -> Any:
        if self.policy == "sqrt":
            return EvenSnapshots(None, self.count)
        if self.policy != "auto":
            return Snapshots(self.policy, self.count)
        size = sum(map(_size_of, tensors)) or 1
        # what the steps of a block keep in the backward pass is to be small beside the budget
        self.block = max(1, min(_MOST_BLOCK, self._limit // (1000 * size)))
        blocks = None if self.count is None else -(-self.count // self.block)
        return Snapshots(max(_LEAST_AUTO, min(_MOST_AUTO, self._limit // (4 * size))), blocks)

    def _look(self, step: int, tensors: Sequence[Tensor]) -> None:
        """Has the tapes pause if it is time; says when to look again."""
        if self.policy == "auto":
            meter = self._meter
            before = BUDGET.used
            meter.count()
            if BUDGET.used <= self._limit:
                # each look costs time, so it estimates when the next one is due
                size = (BUDGET.used - before) // (step - self._last) + 1
                self._last = step
                self._check = step + 1 + min((self._limit - BUDGET.used) // (2 * size), step, 10_000)
                return
            tell(
                "a loop has given up its history of %d bytes after %d steps: the memory budget is %d bytes "
                "(wg.set_memory_budget); the reverse pass runs steps again from %d snapshots",
                BUDGET.used - self._base.used, step, self._limit, self.snapshots.kept,
            )  # fmt: skip
        self._check = NEVER
        self._pause(tensors)

    def _pause(self, tensors: Sequence[Tensor]) -> None:
        """Takes the loop off the tapes, and closes them till its end."""
        followed = Followed(self.captures)
        for x in (*tensors, *(x for column in self.slices for x in column)):
            if self._follows(x._key):
                if x._key < followed.start:
                    followed.see(x)
                else:
                    followed.follow(x)
        for tape, mark in zip(self.tapes, self._marks, strict=True):
            tape.forget(mark)
        self._meter.restore(self._base)
        self.captures, self.is_paused, self._follows = followed, True, followed.tracks
        STATE.recorders = (*[r for r in followed.outer if r.is_passive], followed)


def _any_tracks(tapes: list[Tape]) -> Callable[[int], bool]:
    return lambda key: any(tape.tracks(key) for tape in tapes)


def _size_of(x: Tensor) -> int:
    return getattr(x._data, "nbytes", 8)


class Counted(NamedTuple):
    """What tapes had kept when a `Meter` counted: entries and bytes."""

    used: int
    lengths: dict[Tape, int]
    bytes: dict[Tape, int]


class Meter:
    """Counts the bytes that tapes have kept since the outermost of some nested loops began, in `BUDGET.used`.

    Args:
        start: the serial number from which on arrays count.
    """

    __slots__ = ("_bytes", "_lengths", "_start")

    def __init__(self, start: int) -> None:
        self._start = start
        self._lengths: dict[Tape, int] = {}  # how many entries of each tape have been counted
        self._bytes: dict[Tape, int] = {}

    def add(self, tape: Tape) -> bool:
        """Counts what a tape keeps from now on; False if that is done already."""
        if tape in self._lengths:
            return False
        self._lengths[tape], self._bytes[tape] = len(tape.entries), 0
        return True

    def drop(self, tape: Tape) -> None:
        """Does not count a tape any more: it ends with the loop that it was made in."""
        self._lengths.pop(tape, None)
        BUDGET.used -= self._bytes.pop(tape, 0)

    def state(self) -> Counted:
        """What has been counted up to now."""
        return Counted(BUDGET.used, dict(self._lengths), dict(self._bytes))

    def restore(self, state: Counted) -> None:
        """Forgets what has been counted since."""
        BUDGET.used = state.used
        self._lengths, self._bytes = dict(state.lengths), dict(state.bytes)

    def count(self) -> None:
        """Counts the entries that are new; of very many it looks at some."""
        known: set[int] = set()  # arrays that several entries keep
        for tape, length in self._lengths.items():
            new = len(tape.entries) - length
            if new <= _WINDOW * _MOST_WINDOWS:
                size = self._size(tape.entries, length, length + new, known)
            else:
                # windows at places that no period of the program meets: multiples of the golden ratio, modulo 1
                room = new - _WINDOW
                starts = [length + int(i * 0.6180339887498949 % 1 * room) for i in range(_MOST_WINDOWS)]
                size = sum(self._size(tape.entries, start, start + _WINDOW, known) for start in starts)
                size = size * new // (_WINDOW * _MOST_WINDOWS)
            self._lengths[tape] += new
            self._bytes[tape] += size
            BUDGET.used += size

    def _size(self, entries: list[Any], start: int, stop: int, known: set[int]) -> int:
        size = 0
        for entry in entries[start:stop]:
            size += _BYTES_AN_ENTRY
            if entry.op.walks:
                size += entry.attrs[0].nbytes
            for value in entry.saved:
                for x in value if type(value) is tuple else (value,):
                    if type(x) is Tensor and x._key >= self._start and x._key not in known:
                        known.add(x._key)
                        size += _size_of(x)
        return size


__all__ = ["Keeper", "RunsOnceMore", "State"]
