"""`Tape`: the Wengert list of what ran, and the recorder of reverse mode that writes it.

It appends an entry for each op that has a tracked operand, and says of results that leave the differentiable path what
cut them off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from .._core.dtypes import is_inexact
from .._core.op import Op, Plan
from .._core.recorder import Recorder
from .._core.tensor import Cut, Tensor
from .._core.types import TensorType, as_type, type_of
from .._core.user_line import Site, user_site
from .limits import Trail, has_equal

_key_of = attrgetter("_key")
_shape_and_dtype = attrgetter("_data.shape", "_data.dtype")  # a type, but for its class, which only rules look at
_NOTHING = (None,)
_ALONE = (True,)
_NEITHER = (False, False)
STOPS = "stops the gradient"  # why the results of some ops carry none, whatever their dtype
_MAX_EXITS = 16  # .numpy() and .item() calls remembered for explanations


class Entry(NamedTuple):
    """One line of the Wengert list: what ran, on which values, and what its rules will read.

    A tuple, so that making one is a C call. `saved` holds the operands and results that rules read, None in place of
    the others, and ends in None, or in the trail of what came of the results.
    """

    op: Op
    attrs: tuple[Any, ...]
    plan: Plan
    in_keys: tuple[int, ...]
    in_types: tuple[tuple[Any, Any], ...]  # as plain pairs, which take less to make; `typed` gives them theirs
    out_keys: tuple[int, ...]
    out_types: tuple[TensorType, ...]  # of ops with several results
    saved: tuple[Any, ...]


_new_entry = partial(tuple.__new__, Entry)


class Tape(Recorder):
    """The reverse recorder: follows the values computed from its sources."""

    __slots__ = ("choices", "entries", "exits", "is_tracked", "rebinds", "tracked", "trail")

    def __init__(self, keys: Iterable[int] = (), rebinds: bool = False) -> None:
        # `ndarray += tensor` gives the name a tensor, arrays of objects hold tensors: both would be refused
        self.rebinds = rebinds
        self.tracked: set[int] = set(keys)
        self.is_tracked = self.tracked.__contains__
        self.entries: list[Entry] = []
        self.exits: list[Cut] = []
        self.choices: list[Site] = []  # where one of several branches was taken, for explanations
        self.trail: Trail | None = None  # where derivatives are limits

    def tracks(self, key: int) -> bool:
        return key in self.tracked

    def watch(self, tensor: Tensor) -> None:
        """Makes a tensor a source."""
        self.tracked.add(tensor._key)

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Appends an entry if an operand is tracked; marks results that leave the differentiable path."""
        if self.trail is not None:
            self.trail.observe(op, operands, attrs, outs)
        if len(operands) == 1:  # the general way, said shortly for the most common cases
            data, key = operands[0]._data, operands[0]._key
            if key not in self.tracked:
                return
            keys, tracked, types = (key,), _ALONE, ((data.shape, data.dtype),)
        elif len(operands) == 2:
            x, y = operands
            keys = (x._key, y._key)
            tracked = (keys[0] in self.tracked, keys[1] in self.tracked)
            if tracked == _NEITHER:
                return
            data, other = x._data, y._data
            types = ((data.shape, data.dtype), (other.shape, other.dtype))
        else:
            keys = (*map(_key_of, operands),)
            tracked = (*map(self.is_tracked, keys),)
            if True not in tracked:
                return
            types = (*map(_shape_and_dtype, operands),)
        # only operands that can carry a gradient were ever tracked, so only the results need asking
        if op.kind == "stop" or not (outs and (outs[0]._data.dtype.kind in "fc" or any(map(_carries, outs)))):
            _mark_cut(op, keys[tracked.index(True)], outs)
            return
        plan = op.plans.get(tracked) or op.plan(tracked)
        saved = plan.keep(operands + outs + _NOTHING)
        if not op.is_multi:
            out_key = outs[0]._key
            self.entries.append(_new_entry((op, attrs, plan, keys, types, (out_key,), (), saved)))
            self.tracked.add(out_key)
            return
        out_types = (*map(as_type, map(_shape_and_dtype, outs)),)
        if op.has_many_outs:
            saved = (*saved[:-1], outs if plan.keep_outs else None, None)
        elif op.spectrum is not None and has_equal(op, outs):
            if self.trail is None:
                self.trail = Trail()
            self.trail.follow(outs)
            saved = (*saved[:-1], self.trail)
        out_keys = (*map(_key_of, outs),)
        self.entries.append(_new_entry((op, attrs, plan, keys, types, out_keys, out_types, saved)))
        if len(outs) == 1:  # which carries
            self.tracked.add(out_keys[0])
        else:
            self.tracked.update(map(_key_of, filter(_carries, outs)))

    def extend(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Takes note that an op has more results now than when it was observed (a call, a branch or a loop)."""
        if self.trail is not None:
            self.trail.extend(op, operands, attrs, outs)
        key = outs[0]._key
        for index in range(len(self.entries) - 1, -1, -1):
            entry = self.entries[index]
            if entry.out_keys[0] == key:
                known = len(entry.out_keys)
                self.entries[index] = entry._replace(
                    attrs=attrs, out_keys=(*entry.out_keys, *map(_key_of, outs[known:])),
                    out_types=(*map(type_of, outs),), saved=(*entry.saved[:-2], outs, None),
                )  # fmt: skip
                self.tracked.update(map(_key_of, filter(_carries, outs)))
                return

    def forget(self, length: int) -> None:
        """Drops the entries from a position on, and follows their results no more."""
        for entry in self.entries[length:]:
            self.tracked.difference_update(entry.out_keys)
        del self.entries[length:]

    def note_exit(self, tensor: Tensor, what: str) -> None:
        """Remembers that numbers went out, for `explain`: on purpose, or where a path ended that led to an integer."""
        if len(self.exits) >= _MAX_EXITS:
            return
        cut = tensor._cut
        if tensor._key in self.tracked:
            self.exits.append(Cut(what, "takes the numbers out, a constant from there on", user_site(), tensor._key))
        elif cut is not None and cut.key in self.tracked and not any(map(cut.is_same, self.exits)):
            self.exits.append(cut)

    def note_choice(self) -> None:
        """Remembers that a branch was taken here, and that nobody knows what the others would use."""
        if len(self.choices) < _MAX_EXITS:
            site = user_site()
            if site is not None and site not in self.choices:
                self.choices.append(site)


def _carries(tensor: Tensor) -> bool:
    """Whether a value can carry a gradient."""
    return is_inexact(tensor._data.dtype)


def cut_reason(op: Op, outs: Sequence[Any]) -> str:
    """Why an op's results (tensors or values of a graph) do not carry the gradient on, or "" if they do."""
    if op.kind == "stop":
        return STOPS
    for out in outs:
        if is_inexact(out.dtype):
            return ""
    return _constants_of(outs[0].dtype if outs else None)


@cache  # a dtype puts its name together each time
def _constants_of(dtype: np.dtype[Any] | None) -> str:
    return f"gives {'' if dtype is None else dtype.name} values, which are constants to a gradient"


def _mark_cut(op: Op, key: int, outs: tuple[Tensor, ...]) -> None:
    reason = cut_reason(op, outs)
    cut = Cut(op.name, reason, user_site(), key)
    for out in outs:
        out._cut = cut if out._cut is None else out._cut.joined(cut)


def entry_of(
    op: Op, attrs: tuple[Any, ...], tracked: tuple[bool, ...], operands: tuple[Tensor, ...], in_keys: tuple[int, ...],
    outs: tuple[Tensor, ...], out_keys: tuple[int, ...],
) -> Entry:  # fmt: skip
    """The entry of an op that ran or was traced, from tensors and the keys that they go by."""
    plan = op.plan(tracked)
    saved = plan.keep(operands + outs + _NOTHING)
    if op.has_many_outs:
        saved = (*saved[:-1], outs if plan.keep_outs else None, None)
    out_types = (*map(type_of, outs),) if op.is_multi else ()
    return Entry(op, attrs, plan, in_keys, (*map(type_of, operands),), out_keys, out_types, saved)
