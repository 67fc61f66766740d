"""`Record`: one row of a history under construction; finds a place for each value of a step and tells the template.

`history_keepers.py` makes a row for each step of a loop, `functions.py` one of what leaves a function of machine code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ..ir.builder import Builder
from ..ir.complex_numbers import pair_of
from ..ir.loops import COMPLEX, ITEM, Array, Operand, Reg
from .forms import Elements, Extents, Form, Nothing, Stored
from .histories import HistoryForm, OneOf, Piled, Snapshots
from .history_templates import Both, Either, Inner, Item, Number, Out, Pile, Place, Slot, Small, Snaps, Template


class Record:
    """One row of a history under construction: what is to be saved, and the template that says so.

    Args:
        b: the builder.
        mark: registers and arrays with lower numbers are outside.
        base: where the history begins in its arrays, in rows.
        make: makes the array of the small values of a type.
        changing: arrays that hold something else in the next row, though they are outside.
    """

    def __init__(
        self, b: Builder, mark: int, base: Operand, make: Callable[[str], Array], changing: set[Array]
    ) -> None:  # fmt: skip
        self.b = b
        self.mark = mark
        self.make = make
        self.changing = changing
        self.places: list[Any] = []
        self.arrays: list[Array] = []
        self.outside: list[Any] = [base]
        self.columns: dict[str, dict[Reg, Slot]] = {}
        self.numbers: dict[str, int] = {}  # of the columns' arrays
        self._outs: dict[Any, Out] = {}

    def item(self, type_: str, x: Operand) -> Item:
        """An operand to be found again."""
        if type_ in COMPLEX:
            z = pair_of(x)
            return Both(self.item(ITEM[type_], z.re), self.item(ITEM[type_], z.im))
        if not isinstance(x, Reg):
            return Number(x)
        if cast(int, x.number) < self.mark:
            return self.out(x)
        if type_ not in self.columns:
            self.columns[type_] = {}
            self.numbers[type_] = self.array(self.make(type_))
        column = self.columns[type_]
        return column.setdefault(x, Slot(type_, len(column)))

    def out(self, x: object) -> Out:
        """Something that is outside."""
        if x not in self._outs:
            self._outs[x] = Out(len(self.outside))
            self.outside.append(x)
        return self._outs[x]

    def array(self, array: Array) -> int:
        """The number of an array."""
        if array not in self.arrays:
            self.arrays.append(array)
        return self.arrays.index(array)

    def extents(self, shape: Extents) -> tuple[Item, ...]:
        """A shape to be found again."""
        return (*[self.item("i64", n) for n in shape],)

    def is_outside(self, form: Stored) -> bool:
        """Whether an array is there, and the same, in all rows."""
        operands = (form.offset, *form.shape, *form.strides)
        return (
            form.array.number < self.mark
            and form.array not in self.changing
            and all(not isinstance(x, Reg) or cast(int, x.number) < self.mark for x in operands)
        )

    def place(self, form: Form, stored: Callable[[Stored], Place]) -> Place:
        """A form to be found again; `stored` sees to large ones."""
        if type(form) is Elements:
            return Small(cast(Any, form.shape), form.type, (*[self.item(form.type, x) for x in form.items],))
        if type(form) is Stored:
            return self.out(form) if self.is_outside(form) else stored(form)
        if type(form) is HistoryForm:
            return self._inner(form, stored)
        if type(form) is Snapshots:
            live, budget = self.item("i64", form.live), self.item("i64", form.budget)
            return Snaps(self._inner(form.states, stored), live, budget, form.is_even)
        if type(form) is Piled:
            return Pile(self._inner(form.kept, stored), self.item("i64", form.shape[0]))
        if type(form) is Nothing:
            return Either(Number(-1), ())
        assert type(form) is OneOf
        histories = (*[None if h is None else self.place(h, stored) for h in form.histories],)
        return Either(self.item("i64", form.chosen), cast(Any, histories))

    def _inner(self, form: HistoryForm, stored: Callable[[Stored], Place]) -> Inner:
        outside = (*[
            self.place(x, stored) if isinstance(x, Form) else self.item("i64" if not isinstance(x, Reg) else x.type, x)
            for x in form.outside
        ],)  # fmt: skip
        return Inner(form.template, (*map(self.array, form.arrays),), outside)

    def template(self) -> Template:
        """What was said so far."""
        columns = (*[(t, self.numbers[t], len(c)) for t, c in self.columns.items()],)
        return Template((*self.places,), columns)

    def store(self, row: Operand, reserve: Callable[[Array, Operand, int], None]) -> None:
        """Stores the small values; `reserve(array, start, width)` sees to it that there is room."""
        b = self.b
        for type_, column in self.columns.items():
            array, width = self.arrays[self.numbers[type_]], len(column)
            start = b.mul(row, width)
            reserve(array, start, width)
            for register, slot in column.items():
                b.store(array, b.add(start, slot.place), register)

    def kept(self) -> HistoryForm:
        """The history."""
        return HistoryForm(self.template(), self.arrays, self.outside)


__all__ = ["Record"]
