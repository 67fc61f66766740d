"""Histories that one function of machine code has filled and another one reads: the arrays, and the template of them.

A forward half and its backward half are two such functions. To NumPy's kernels such an object is a history like their
own (`_engines/regions.py`): they may run the backward pass of a loop whose steps ran as machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ...._transforms.snapshots import Snapshots
from ...regions import as_object
from ..lower.forms import DTYPE_OF
from ..lower.history_templates import Big, Both, Either, Inner, Number, Out, Pile, Slot, Small, Snaps, Template


class HistoryLayout:
    """What machine code must know of histories that it is given: where everything is, but not in which arrays.

    Attributes:
        template: of one row, whose places are the histories.
        types: of the arrays.
    """

    __slots__ = ("_hash", "template", "types")

    def __init__(self, template: Template, types: tuple[str, ...]) -> None:
        self.template = template
        self.types = types
        self._hash = hash((template, types))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, HistoryLayout) and (self.template, self.types) == (other.template, other.types)

    def __hash__(self) -> int:
        return self._hash


class Passed:
    """One of the histories that a run of machine code has filled.

    Attributes:
        layout: of all of them.
        arrays: of one axis each.
        place: which one it is.
        branches: which of several histories that branches may have given, if that is to be known.
    """

    __slots__ = ("arrays", "branches", "layout", "place")

    def __init__(
        self, layout: HistoryLayout, arrays: Sequence[Any], place: int, branches: tuple[int, ...] = ()
    ) -> None:
        self.layout = layout
        self.arrays = arrays
        self.place = place
        self.branches = branches

    @property
    def kind(self) -> tuple[HistoryLayout, int, tuple[int, ...]]:
        """What code is made for."""
        return self.layout, self.place, self.branches

    def narrowed(self) -> Passed:
        """The history of the branch that was taken, for a backward pass that is not itself in a branch."""
        place, branches = self.layout.template.places[self.place], ()
        whole = _Reader(self.layout.template, self.arrays, [0])
        while type(place) is Either and place.histories:
            chosen = int(whole.item(place.chosen, 0))
            place, branches = place.histories[chosen], (*branches, chosen)
        return Passed(self.layout, self.arrays, self.place, branches)

    def piled(self) -> list[Any]:
        """Of a stack of histories each one."""
        whole = _Reader(self.layout.template, self.arrays, [0])
        return [*map(as_object, whole.value(self.layout.template.places[self.place], 0))]

    def segments(self, *arguments: object) -> None:
        """Calls back for all steps, the last first, as histories of NumPy's kernels do."""
        whole = _Reader(self.layout.template, self.arrays, [0])
        whole.value(self.layout.template.places[self.place], 0)[()].segments(*arguments)


class _Reader:
    """A history read by Python."""

    def __init__(self, template: Template, arrays: Sequence[Any], outside: Sequence[Any]) -> None:
        self.template = template
        self.arrays = arrays
        self.outside = outside

    def saved(self, step: int) -> tuple[Any, ...]:
        """What a step has saved."""
        row = int(self.outside[0]) + step
        return (*[self.value(place, row) for place in self.template.places],)

    def item(self, item: Any, row: int) -> Any:
        """An operand."""
        if type(item) is Slot:
            array, width = self.template.column(item.type)
            return self.arrays[array][row * width + item.place]
        if type(item) is Both:
            return complex(self.item(item.re, row), self.item(item.im, row))
        return self.outside[item.number] if type(item) is Out else item.value

    def value(self, place: Any, row: int) -> Any:
        """A value as what NumPy's kernels take."""
        kind = type(place)
        if kind is Small:
            return np.array([self.item(i, row) for i in place.items], DTYPE_OF[place.type]).reshape(place.shape)[()]
        if kind is Big:
            shape = (*[int(self.item(n, row)) for n in place.shape],)
            size = prod(shape)
            start = row * size if place.start is None else int(self.item(place.start, row))
            return self.arrays[place.array][start : start + size].reshape(shape)
        if kind is Inner:
            return as_object(self.inner(place, row))
        if kind is Snaps:
            return as_object(_Snapshots(self.inner(place.states, row), int(self.item(place.live, row))))
        if kind is Pile:
            histories = self.inner(place.histories, row)
            found = np.empty(int(self.item(place.count, row)), object)
            for step in range(len(found)):
                found[step] = histories.saved(step)[0][()]
            return found
        if kind is Either:
            chosen = int(self.item(place.chosen, row))
            found = place.histories[chosen] if 0 <= chosen < len(place.histories) else None
            return as_object(0) if found is None else self.value(found, row)
        return self.outside[place.number] if type(place) is Out else self.item(place, row)

    def inner(self, place: Inner, row: int) -> _Reader:
        """A history in this one."""
        outside = [self.item(x, row) if type(x) in (Slot, Number) else self.value(x, row) for x in place.outside]
        return _Reader(place.template, [self.arrays[i] for i in place.arrays], outside)

    def segments(
        self, steps: int, advance: Callable[..., Any], pull_saved: Callable[..., None], *others: object
    ) -> None:
        """Calls back for all steps, the last first."""
        for step in range(steps - 1, -1, -1):
            pull_saved(self.saved(step), step)


class _Snapshots:
    """A history of snapshots read by Python."""

    def __init__(self, states: _Reader, live: int) -> None:
        self.states = states
        self.live = live

    def segments(
        self,
        steps: int,
        advance: Callable[..., Any],
        pull_saved: object,
        pull: Callable[..., Any],
        pull_segment: object,
    ) -> None:
        """Calls back for all steps, the last first."""
        rows = [self.states.saved(row) for row in range(self.live)]
        kept = Snapshots(max(2, 2 * len(rows)))
        kept._states = {int(step): carries for step, *carries in rows}
        if steps:
            kept.reverse(steps, advance, pull)


__all__ = ["HistoryLayout", "Passed"]
