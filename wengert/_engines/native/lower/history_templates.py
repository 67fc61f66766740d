"""The layout of histories: templates that say where each step of a loop saves what its backward pass reads.

All small values of a step lie side by side in one array a type that grows (its *columns*), each large one in an array
of its own; what does not change from step to step is not saved at all. Since a `Template` names no arrays, a history
can be handed from one function of machine code to another (`run/shared_histories.py` has it in between).

A history may lie in another one: the inner loop of two appends what it saves to the same arrays each time that it
runs, and the outer one saves where its part begins, and whatever else was outside for the inner one.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Slot(NamedTuple):
    """A small value that each step saves: its place among those of its type."""

    type: str
    place: int


class Out(NamedTuple):
    """A value from outside the loop, by number."""

    number: int


class Number:
    """A number of the program; equal to others to the sign of zeros and to the type, NaN to itself."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = (type(value), repr(value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Number({self.value!r})"


class Both(NamedTuple):
    """A complex number, by its parts."""

    re: Any
    im: Any


Item = Slot | Out | Number | Both


class Small(NamedTuple):
    """A small value: an item for each element."""

    shape: tuple[int, ...]
    type: str
    items: tuple[Item, ...]


class Big(NamedTuple):
    """A large value: a row of an array for each step. `start` is where the row begins, None if all are of one size."""

    shape: tuple[Item, ...]
    type: str
    array: int
    start: Item | None = None


class Inner(NamedTuple):
    """A history: its template, which of the arrays are its, and what it has from outside."""

    template: Template
    arrays: tuple[int, ...]
    outside: tuple[Any, ...]  # items, and places of forms


class Either(NamedTuple):
    """A history of one of several branches, and which."""

    chosen: Item
    histories: tuple[Inner | None, ...]


class Pile(NamedTuple):
    """Histories of one kind, one for each step of a loop that gives them as a stack."""

    histories: Inner
    count: Item


class Snaps(NamedTuple):
    """The history of a loop that keeps snapshots: its states, each with its step, and how many of how many at most."""

    states: Inner
    live: Item
    budget: Item
    is_even: bool


Place = Out | Small | Big | Inner | Either | Pile | Snaps


class Template(NamedTuple):
    """What a step saves: the places of its values; for each type of small ones the array and how many there are."""

    places: tuple[Place, ...]
    columns: tuple[tuple[str, int, int], ...]

    def column(self, type_: str) -> tuple[int, int]:
        """The array of the small values of a type, and how many a step has."""
        return next((array, width) for t, array, width in self.columns if t == type_)


__all__ = [
    "Big", "Both", "Either", "Inner", "Item", "Number", "Out", "Pile", "Place", "Slot", "Small", "Snaps", "Template",
]  # fmt: skip
