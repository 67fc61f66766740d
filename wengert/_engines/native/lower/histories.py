"""Histories of loops as values while a graph is lowered: what a loop's steps have saved, as the backward pass reads it.

A `HistoryForm` is a template (`history_templates.py`) with its arrays, and with the values that it takes from
*outside*: what was the same in all steps. `history_keepers.py` makes histories; `regions.py` and `snapshots.py` read
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ..ir.builder import Builder
from ..ir.complex_numbers import Pair
from ..ir.loops import Array, Operand
from .forms import Elements, Form, Nothing, Stored, count_of, strides_of
from .history_templates import Big, Both, Either, Inner, Item, Number, Out, Pile, Place, Slot, Small, Snaps, Template


class HistoryForm(Form):
    """A history. Its first value from outside is where it begins in its arrays, in rows."""

    __slots__ = ("arrays", "outside", "template")

    def __init__(self, template: Template, arrays: list[Array], outside: list[Any]) -> None:
        super().__init__((), "history")
        self.template = template
        self.arrays = arrays
        self.outside = outside  # operands and forms

    def saved(self, b: Builder, step: Operand) -> list[Form]:
        """What a step has saved."""
        row = b.add(self.outside[0], step)
        return [self._form(b, place, row) for place in self.template.places]

    def _item(self, b: Builder, item: Item, row: Operand) -> Operand:
        if type(item) is Slot:
            array, width = self.template.column(item.type)
            return b.load(self.arrays[array], b.add(b.mul(row, width), item.place))
        if type(item) is Both:
            return cast(Any, Pair(self._item(b, item.re, row), self._item(b, item.im, row)))
        return self.outside[item.number] if type(item) is Out else cast(Number, item).value

    def _form(self, b: Builder, place: Place, row: Operand) -> Any:
        kind = type(place)
        if kind is Out:
            return self.outside[cast(Out, place).number]
        if kind is Small:
            assert type(place) is Small
            return Elements(place.shape, place.type, [self._item(b, i, row) for i in place.items])
        if kind is Big:
            return self._big(b, cast(Big, place), row)
        if kind is Inner:
            return self._inner(b, cast(Inner, place), row)
        if kind is Snaps:
            assert type(place) is Snaps
            live, budget = self._item(b, place.live, row), self._item(b, place.budget, row)
            return Snapshots(self._inner(b, place.states, row), live, budget, place.is_even)
        if kind is Pile:
            assert type(place) is Pile
            return Piled(self._inner(b, place.histories, row), self._item(b, place.count, row))
        assert type(place) is Either
        if not place.histories:
            return Nothing()
        histories = [None if h is None else self._form(b, h, row) for h in place.histories]
        return OneOf(self._item(b, place.chosen, row), histories)

    def _big(self, b: Builder, place: Big, row: Operand) -> Stored:
        shape = (*[self._item(b, n, row) for n in place.shape],)
        start = b.mul(row, count_of(b, shape)) if place.start is None else self._item(b, place.start, row)
        return Stored(shape, self.arrays[place.array], start, strides_of(b, shape), True)

    def _inner(self, b: Builder, place: Inner, row: Operand) -> HistoryForm:
        outside = [self._item(b, x, row) if type(x) in (Slot, Number) else self._form(b, x, row) for x in place.outside]
        return HistoryForm(place.template, [self.arrays[i] for i in place.arrays], outside)


class Piled(Form):
    """A stack of histories, one for each step of a loop."""

    __slots__ = ("kept",)

    def __init__(self, kept: HistoryForm, count: Operand) -> None:
        super().__init__((count,), "history")
        self.kept = kept

    def row(self, b: Builder, number: Operand) -> Any:
        """One of them."""
        return self.kept.saved(b, number)[0]


class Snapshots(Form):
    """A history of snapshots: as rows of a `HistoryForm` the number of a step and the carries before it.

    Attributes:
        states: the rows.
        live: how many there are.
        budget: how many there may be.
        is_even: whether each stretch between two is to be run again as a whole.
    """

    __slots__ = ("budget", "is_even", "live", "states")

    def __init__(self, states: HistoryForm, live: Operand, budget: Operand, is_even: bool) -> None:
        super().__init__((), "history")
        self.states = states
        self.live = live
        self.budget = budget
        self.is_even = is_even

    @property
    def moving(self) -> list[bool]:
        """Which of the carries change from step to step, so that each row has them."""
        return [type(place) is not Out for place in self.states.template.places[1:]]


class OneOf(Form):
    """The history of a branch; the backward pass takes the same branch, and knows which history is its own."""

    __slots__ = ("chosen", "histories")

    def __init__(self, chosen: Operand, histories: Sequence[Any]) -> None:
        super().__init__((), "history")
        self.chosen = chosen
        self.histories = histories


__all__ = ["HistoryForm", "OneOf", "Piled", "Snapshots"]
