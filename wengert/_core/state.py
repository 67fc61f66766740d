"""The thread's open contexts (`STATE`): the recorders that follow operations and the builder that traces them."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Set
from typing import TYPE_CHECKING, Any

from .refusal import reworded
from .tracebacks import fold

if TYPE_CHECKING:
    from .graph import Graph
    from .recorder import Observer, Recorder

next_serial = itertools.count(1).__next__
"""Hands out the serial numbers that identify tensors, values and graphs (never `id()`: those are reused)."""

SERIALS = iter(next_serial, None)
"""The same numbers as an iterator without end, for C code that makes many."""


class State(threading.local):
    """The thread's open contexts. Tuples are replaced, never changed, so that restoring one is an assignment."""

    recorders: tuple[Recorder, ...] = ()  # outermost first
    builder: Graph | None = None
    is_quiet: bool = False  # in a reverse sweep that is traced: its nodes give no floating-point warnings
    silences: tuple[Any, ...] = ()  # what NumPy did about errors before each sweep that runs now: they give no warnings
    eager_functions: bool = False  # inside `wg.eager()`: `function`s run as plain Python
    reading: tuple[Observer, ...] = ()  # observers of Variable reads (custom gradients, recomputation)
    pins: dict[int, Any] | None = None  # Variable key -> what it holds while a computation is repeated
    lent: Set[int] = frozenset()  # keys of what is pinned, also in traces of that computation's bodies, without pins
    lets_captures_go: bool = False  # custom gradients do not refuse what they close over: the caller has asked already
    regions: int = 0  # how many functions of branches and loops are being traced inside one another
    scalars: Any = None  # what the trace under way does with NumPy's scalars (`scalars.Scalars`)
    withheld: Any = None  # in a trace that tries a Python integer as an input: is told of symbols hashed or written out
    effects: tuple[Any, ...] = ()  # observers of what a computation does that cannot be repeated
    swallowed: str = ""  # words of the last refusal in JAX, whose compiled code drops any error and raises its own


STATE = State()


def tell_effect(what: str, owner: object) -> None:
    """Tells those who mean to repeat the computation under way that it does something that cannot be repeated.

    Args:
        what: a phrase for messages, as in "assigns the Variable w".
        owner: the Variable, tape or buffer that it is done to.
    """
    for observer in STATE.effects:
        observer.on_effect(what, owner)


class recording:
    """Context manager: the recorder is open inside the block, and closed however the block ends."""

    __slots__ = ("_before", "_recorder")

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __enter__(self) -> Any:
        self._before = STATE.recorders
        STATE.recorders = (*self._before, self._recorder)
        return self._recorder

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        STATE.recorders = self._before
        if error is not None:
            raise_our_own(error)


def raise_our_own(error: BaseException) -> None:
    """A lost gradient is told in our words, also where another library has put its own in their place."""
    refusal = reworded(error, STATE.swallowed)
    if refusal is not None:
        raise refusal from None


class pausing:
    """Context manager: only the given recorders are open inside the block (none by default)."""

    __slots__ = ("_before", "_recorders")

    def __init__(self, recorders: tuple[Recorder, ...] = ()) -> None:
        self._recorders = recorders

    def __enter__(self) -> None:
        self._before = STATE.recorders
        STATE.recorders = self._recorders

    def __exit__(self, *exc: object) -> None:
        STATE.recorders = self._before


def watchers() -> tuple[Recorder, ...]:
    """The open recorders that look at every op and follow none: they stay open where the others pause."""
    return (*[r for r in STATE.recorders if r.is_watch],)


class building:
    """Context manager: operations go to the given builder (None: they run), recorders but watchers start afresh."""

    __slots__ = ("_before", "_builder")

    def __init__(self, builder: Graph | None) -> None:
        self._builder = builder

    def __enter__(self) -> Graph | None:
        self._before = (STATE.builder, STATE.recorders, STATE.is_quiet)
        STATE.builder = self._builder
        STATE.recorders = watchers() if STATE.recorders else ()
        STATE.is_quiet = False
        return self._builder

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        STATE.builder, STATE.recorders, STATE.is_quiet = self._before
        if error is not None:
            raise_our_own(error)
            fold(error)


class letting_captures_go:
    """Context manager: what custom gradients close over counts as a constant inside, also where it is followed."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = STATE.lets_captures_go
        STATE.lets_captures_go = True

    def __exit__(self, *exc: object) -> None:
        STATE.lets_captures_go = self._before


class observing_reads:
    """Context manager: the observer's `on_read(variable, tensor)` is called for each Variable read inside."""

    __slots__ = ("_before", "_observer")

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def __enter__(self) -> Any:
        self._before = STATE.reading
        STATE.reading = (*self._before, self._observer)
        return self._observer

    def __exit__(self, *exc: object) -> None:
        STATE.reading = self._before


class pinning:
    """Context manager: the Variables with these keys hold these tensors; assignments change them inside only.

    Nobody outside is told of the reads, and of effects: the repeated computation stands for one that they have seen.
    None pins nothing and keeps the reads from observers all the same.
    """

    __slots__ = ("_before", "_pins")

    def __init__(self, pins: dict[int, Any] | None) -> None:
        self._pins = pins

    def __enter__(self) -> None:
        self._before = (STATE.pins, STATE.reading, STATE.effects, STATE.lent)
        STATE.pins, STATE.reading = self._pins, ()
        if self._pins is not None:
            STATE.effects, STATE.lent = (), self._pins.keys()

    def __exit__(self, *exc: object) -> None:
        STATE.pins, STATE.reading, STATE.effects, STATE.lent = self._before
