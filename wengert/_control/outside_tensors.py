"""Recorders that collect the tensors from outside that an eager loop, or a custom gradient's function, uses.

Tensors are told apart by their serial numbers: those made before the run began are from outside. Used by the eager
loops (`eager_loop`, `eager_history`, `eager_back`) and `rules/recomputed.py`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from .._core.dtypes import is_inexact
from .._core.op import Op
from .._core.recorder import Recorder
from .._core.state import STATE
from .._core.tensor import Tensor, hears_of_twins

Observe = Callable[[Op, tuple[Tensor, ...], tuple[Any, ...], tuple[Tensor, ...]], None]

_LEAST_ROOM = 256  # marks kept before the dead ones among them are swept out


class _Noted(Recorder):
    """What a loop uses from outside, as far as some open recorder follows it.

    Args:
        start: the serial number from which on tensors are the loop's own.
        outer: the recorders that were open when the loop began.

    Attributes:
        found: the captures, by key, in the order of their first use.
    """

    __slots__ = ("found", "outer", "seen", "start")
    is_passive = True  # a loop may be replayed although this recorder listens

    def __init__(self, start: int, outer: tuple[Recorder, ...]) -> None:
        self.start = start
        self.outer = outer
        self.found: dict[int, Tensor] = {}
        self.seen: set[int] = set()  # keys from outside that have been asked about


class Captures(_Noted):
    """Collects the operands from outside that some open recorder follows; itself it follows nothing."""

    __slots__ = ("observe",)

    def __init__(self, start: int, outer: tuple[Recorder, ...]) -> None:
        super().__init__(start, outer)
        self.observe = _collector(start, self.seen, self.found, outer)  # pyright: ignore[reportAttributeAccessIssue]


def _see(tensor: Tensor, seen: set[int], found: dict[int, Tensor], outer: tuple[Recorder, ...]) -> None:
    key = tensor._key
    seen.add(key)
    if is_inexact(tensor._data.dtype) and any(recorder.tracks(key) for recorder in outer):
        found[key] = copy(tensor)  # whoever holds this one may write to it


def _collector(start: int, seen: set[int], found: dict[int, Tensor], outer: tuple[Recorder, ...]) -> Observe:
    """`Captures.observe`: a function that knows what it needs, since every op of a loop calls it."""

    def observe(op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        for operand in operands:
            key = operand._key
            if key < start and key not in seen:
                _see(operand, seen, found, outer)

    return observe


def _nothing() -> None:
    """What a mark gives whose tensor has died."""


class Telling(Recorder):
    """A recorder that stands before outer ones: what leaves the differentiable path they hear of by it."""

    __slots__ = ()
    outer: tuple[Recorder, ...]

    def note_exit(self, tensor: Tensor, what: str) -> None:
        """Tells that a tensor becomes numbers."""
        for recorder in self.outer:
            recorder.note_exit(tensor, what)


class Followed(Telling, _Noted):
    """Stands in for tapes that pause: also follows what depends on tensors that they follow, as long as it lives.

    So refusals to turn followed tensors into numbers stay as they are, and nothing grows with the number of steps.
    What has died is swept out now and then: a callback would be where Ctrl-C gets lost.
    """

    __slots__ = ("_alive", "_room")

    def __init__(self, before: _Noted) -> None:
        super().__init__(before.start, before.outer)
        self.found, self.seen = before.found, before.seen
        self._alive: dict[int, Callable[[], Any]] = {}  # weak references
        self._room = _LEAST_ROOM
        hears_of_twins(self)

    def tracks(self, key: int) -> bool:
        return (
            key in self._alive
            or key in self.found
            or (key < self.start and any(recorder.tracks(key) for recorder in self.outer))
        )

    def see(self, tensor: Tensor) -> None:
        """Asks the outer recorders, once, whether a tensor from outside is followed."""
        _see(tensor, self.seen, self.found, self.outer)

    def follow(self, tensor: Tensor) -> None:
        """Follows a tensor of the loop's own from now on."""
        alive = self._alive
        if len(alive) >= self._room:
            for key in [key for key, mark in alive.items() if mark() is None]:
                del alive[key]
            self._room = max(_LEAST_ROOM, 2 * len(alive))
        data = tensor._data  # which twins share; a lone number of NumPy's has no weak reference
        alive[tensor._key] = weakref.ref(data if type(data) is np.ndarray else tensor)

    def note_twin(self, key: int) -> None:
        """Follows a key as long as the array lives: several tensors have that key from now on."""
        tensor = self._alive.get(key, _nothing)()
        if isinstance(tensor, Tensor):
            try:
                self._alive[key] = weakref.ref(tensor._data)
            except TypeError:  # an engine's own kind of array
                self._alive[key] = partial(bool, True)

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Takes note of operands from outside, and follows results."""
        start, seen, alive, found = self.start, self.seen, self._alive, self.found
        is_followed = False
        for operand in operands:
            key = operand._key
            if key in alive:
                is_followed = True
            elif key < start:
                if key not in seen:
                    self.see(operand)
                is_followed = is_followed or key in found
        if is_followed and op.kind != "stop":
            for out in outs:
                if is_inexact(out._data.dtype):
                    self.follow(out)


def passive_recorders() -> tuple[Any, ...]:
    """The open recorders that keep nothing of what they see."""
    return (*[r for r in STATE.recorders if r.is_passive],)
