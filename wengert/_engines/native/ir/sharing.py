"""Outlines loops of long functions, and makes loops that are alike calls of one function, to save LLVM's time.

LLVM takes more than linear time in the length of a function. What makes functions long is mostly the same a hundred
times over: steps of a Python loop that was unrolled, or layers that repeat, lower to loops that differ in the arrays
that they name and in a few numbers (where a slice begins, a factor). Those are what a piece gets when it is run.
Extents and strides are never among them: they decide what code LLVM makes. How many steps that wait for one another a
loop takes is: it decides nothing. An array that grows or is swapped in a loop comes back where it lies then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import compress
from typing import Any, NamedTuple, cast

from . import stretches
from .loops import (
    FLOATS,
    ITEM,
    Accumulate,
    Address,
    Alloc,
    Apply,
    Array,
    Block,
    Convert,
    Copy,
    Fill,
    For,
    Function,
    Get,
    Give,
    If,
    Lanes,
    Let,
    Load,
    Local,
    Piece,
    Poll,
    Reg,
    Reserve,
    Return,
    Select,
    Set,
    SetSize,
    Store,
    Swap,
    Typed,
    Var,
    While,
    blocks_of,
    is_step,
    moved_by,
    pieces_of,
    written_by,
)
from .outlining import var_uses_of
from .renaming import reads, renewed, walk

LONG = 300  # instructions: what is shorter LLVM sees whole, and optimises across its loops
LARGEST = 2_000  # of a piece: LLVM's time in it is bounded
ALONE = 40  # of a piece that one place runs: a call costs as much as a few of them ...
MANY = 3_000  # ... but for functions so long that LLVM optimises only what is not in them
FEWEST = 3  # of a piece that many run, and of any where more than ...
LONE = 64  # ... loops are like no other: LLVM's time in one function of so many is not linear
LONGER = 10_000  # of a function, from which on a loop that keeps histories is a piece even if no other is like it
MOST_NUMBERS = 16  # that loops differ in and yet are one piece

_STAYS: set[type] = {Give, SetSize, Apply}
_DEFINES = {For: "index", Lanes: "index"}  # besides `out`
_PLAIN = {Load, Select, Convert, Get, Set}  # of what is no `Let`, what writes to no array


def shared(function: Function, fresh: Callable[[str], Reg]) -> None:
    """Changes a long function in place. `fresh` makes registers that it does not have yet, by type."""
    if length(function.body) >= LONG:
        _Sharing(function, fresh, stretches.cut(function, fresh)).run()


def length(block: Block) -> int:
    """How many instructions a block and those inside it have."""
    return sum(1 for _ in walk(block))


def may_fail(piece: Piece) -> bool:
    """Whether a piece may end with another status than `OK`."""
    return _may_fail(walk(piece.body))


def _may_fail(items: Iterable[Any]) -> bool:
    return any(type(x) in (Poll, Return, Alloc, Reserve) or (type(x) is For and x.work is not None) for x in items)


def _keeps(item: Any) -> bool:
    return any(type(x) in (Reserve, Swap) for x in walk([item]))


class _Hole(NamedTuple):
    """A number that may differ between loops that are alike: where it stands, and its type."""

    item: Any
    slot: str
    path: tuple[int, ...]
    type: str
    value: Any

    def put(self, register: Reg) -> None:
        """Has the instruction read a register instead."""
        old = getattr(self.item, self.slot)
        setattr(self.item, self.slot, _with(old, self.path, register))


def _with(value: Any, path: tuple[int, ...], register: Reg) -> Any:
    if not path:
        return register
    first, *rest = path
    parts = [*value]
    parts[first] = _with(parts[first], (*rest,), register)
    return (*parts,) if type(value) is tuple else type(value)(*parts)


class _Place(NamedTuple):
    """A loop that can be a piece.

    Attributes:
        item: the loop.
        made: arrays that it makes once, which the function around it makes instead.
        form: what it has in common with others.
        outer: the variables that others use, too.
    """

    item: Any
    made: list[Alloc]
    form: _Form
    outer: list[Var]


class _Sharing:
    def __init__(self, function: Function, fresh: Callable[[str], Reg], straight: set[int]) -> None:
        self.function = function
        self.fresh = fresh
        self.straight = straight  # loops of one iteration, by `id`
        items = [*walk(function.body)]
        self.alone = FEWEST if len(items) >= MANY else ALONE
        self.is_longer = len(items) >= LONGER
        self.variables = var_uses_of(items)
        self.arrays: Counter[Any] | None = None  # how often each is named; only few functions have who asks
        self.alike: dict[Any, list[_Place]] = {}
        self.count = 1 + max((piece.number for piece in pieces_of(function.body)), default=-1)

    def run(self) -> None:
        self.find(self.function.body)
        while not self.is_longer and self.looked_into():
            pass
        instead: dict[int, list[Any]] = {}
        sizes = {key: length([alike[0].item]) for key, alike in self.alike.items()}
        if sum(len(self.alike[key]) == 1 and FEWEST <= size < self.alone for key, size in sizes.items()) > LONE:
            self.alone = FEWEST
        for key, alike in self.alike.items():
            varying = _varying(alike)
            groups = [alike] if len(varying) <= MOST_NUMBERS else [[place] for place in alike]
            size = sizes[key]
            for places in groups:
                if size >= (FEWEST if len(places) > 1 else self.alone):
                    found = self.applications(places, varying if len(places) > 1 else [])
                    instead |= {id(p.item): [*p.made, apply] for p, apply in zip(places, found, strict=True)}
        self.put(self.function.body, instead)

    def find(self, block: Block, is_in_threads: bool = False) -> None:
        """Finds the loops and branches that can be pieces; looks into those that cannot."""
        for item in block:
            if type(item) not in (For, While, If):
                continue
            items = [*walk([item])]
            if len(items) <= LARGEST and self.is_place(items, is_in_threads):
                continue
            for inner in blocks_of(item):
                self.find(inner, is_in_threads or (type(item) is For and item.work is not None))

    def looked_into(self) -> bool:
        """Looks into loops that keep histories and are like no other: LLVM makes better code of them where they are, in
        less time, unless a function is long. Whether there were any.
        """
        found = [key for key, (place, *others) in self.alike.items() if not others and _keeps(place.item)]
        for place in [place for key in found for place in self.alike.pop(key)]:
            for inner in blocks_of(place.item):
                self.find(inner)  # such a loop is in no thread, and has none
        return bool(found)

    def is_place(self, items: list[Any], is_in_threads: bool) -> bool:
        """Whether a loop, the first of its instructions, can be a piece; it is noted then."""
        item, made = items[0], _allocated(items)
        if not self.can_move(items, made, is_in_threads):
            return False
        form = _Form(item, {a.array for a in made})
        if not self.is_closed(form):
            return False
        is_outer = [self.variables[var] != count for var, count in form.variables.items()]
        place = _Place(item, made, form, [*compress(form.variables, is_outer)])
        self.alike.setdefault((*form.key, *is_outer), []).append(place)
        return True

    def can_move(self, inner: list[Any], made: list[Alloc], is_in_threads: bool) -> bool:
        """Whether a loop can be a function: what it allocates is made once, before it, and by no thread. In a thread it
        must not end early."""
        if is_in_threads and (made or _may_fail(inner)):
            return False
        if self.straight and any(id(x) in self.straight for x in inner[1:]):  # those are pieces in any case
            return False
        if not _STAYS.isdisjoint(map(type, inner)) or any(type(a.count) is not int or a.zero for a in made):
            return False
        return not made or all(type(x) is not For or x.work is None for x in inner)

    def is_closed(self, form: _Form) -> bool:
        """Whether the arrays that a loop has for itself are used nowhere else."""
        if not form.own_arrays:
            return True
        if self.arrays is None:
            self.arrays = Counter(x for item in walk(self.function.body) for x in reads(item) if type(x) is Array)
        return all(self.arrays[array] == count for array, count in form.own_arrays.items())

    def applications(self, places: list[_Place], varying: list[int]) -> list[Apply]:
        """One piece for loops that are alike but for some numbers, and what stands in the place of each."""
        first = places[0].form
        registers = [*first.registers]
        for k in varying:
            register = self.fresh(first.holes[k].type)
            first.holes[k].put(register)
            registers.append(register)
        item = places[0].item
        # the registers of a stretch have their names outside of it, too
        body = renewed(item.body, {}, self.fresh) if id(item) in self.straight else [item]
        _leave_out(places[0].made, body)
        piece = Piece(self.count, body, first.arrays, registers, places[0].outer, first.written, frozenset(first.moved))
        self.count += 1
        return [
            Apply(piece, (*form.arrays,), (*form.registers, *(form.holes[k].value for k in varying)), (*outer,))
            for _, _, form, outer in places
        ]

    def put(self, block: Block, instead: dict[int, list[Any]]) -> None:
        made: Block = []
        for item in block:
            found = instead.get(id(item))
            if found is None:
                for inner in blocks_of(item):
                    self.put(inner, instead)
                # a stretch that is no piece is no loop either, but its registers have their names outside of it, too
                is_stretch = id(item) in self.straight
                found = renewed(cast(For, item).body, {}, self.fresh) if is_stretch else [item]
            made += found
        block[:] = made


def _varying(places: list[_Place]) -> list[int]:
    """Which of the numbers that may differ do."""
    numbers = [[repr(hole.value) for hole in place.form.holes] for place in places]
    return [k for k, values in enumerate(zip(*numbers, strict=True)) if len({*values}) > 1]


def _leave_out(allocs: list[Alloc], block: Block) -> None:
    block[:] = [item for item in block if item not in allocs]
    for item in block:
        for inner in blocks_of(item):
            _leave_out(allocs, inner)


def _allocated(inner: list[Any]) -> list[Alloc]:
    """What the instructions of a loop allocate, but for each lane."""
    made = [x for x in inner if type(x) is Alloc]
    in_lanes = {id(y) for x in inner if type(x) is Lanes for y in walk(x.body)} if made else ()
    return [x for x in made if id(x) not in in_lanes]


class _Form:
    """What a loop is, whatever it is called with: two whose keys are equal differ in what they get from outside.

    Attributes:
        key: tokens, in the order of the text.
        arrays, registers: what it gets from outside, in the order of their first use.
        variables: how often it uses each.
        own_arrays: how often it uses each array that is its own.
        written: the arrays from outside that it may write to.
        moved: those whose address it may change.
        holes: the numbers that may differ.
    """

    def __init__(self, item: Any, made_before: set[Array]) -> None:
        self.key: list[Any] = []
        self.arrays: list[Array] = []
        self.registers: list[Reg] = []
        self.variables: Counter[Var] = Counter()
        self.own_arrays: Counter[Array] = Counter()
        self.written: set[Array] = set()
        self.moved: set[Array] = set()
        self.holes: list[_Hole] = []
        self._numbers: dict[Any, int] = {}
        self._made_before = made_before
        self._block([item])

    def _block(self, block: Block) -> None:
        for item in block:
            if type(item) is not Alloc or item.array not in self._made_before:
                self._item(item)
        self.key.append("end")

    def _item(self, item: Any) -> None:
        kind = type(item)
        self.key.append(kind)
        if kind is Let:
            self._let(item)
            return
        if kind in (Local, Alloc):
            self._numbers.setdefault(item.array, len(self._numbers))
            self.own_arrays[item.array] += 0
            self.key.append(kind is Alloc and item.array.number)  # which a want of memory tells
        if kind not in _PLAIN:
            self.written.update(written_by(item))
            self.moved.update(moved_by(item))
        for slot in kind.__slots__:
            value = getattr(item, slot)
            if type(value) is Reg and slot != "out" and slot != _DEFINES.get(kind):
                self._name(value)
            elif type(value) is list:
                self._block(value)
            elif slot == "out" or slot == _DEFINES.get(kind):
                if value is not None:
                    self._numbers[value] = len(self._numbers)
                self.key.append(value and value.type)
            elif slot != "node":
                self._value(item, slot, (), value, _type_in(item, slot))

    def _let(self, item: Let) -> None:
        """As any other, in a third of the time: most of what is long is of these."""
        numbers, out = self._numbers, item.out
        numbers[out] = len(numbers)
        self.key += (item.op, item.type, out.type)
        for place, value in enumerate(item.args):
            if type(value) is Reg:
                self._name(value)
            else:
                self._value(item, "args", (place,), value, _type_in(item, "args"))

    def _value(self, item: Any, slot: str, path: tuple[int, ...], value: Any, type_: str | None) -> None:
        """Tokens of what stands in a place; `type_` of a number that may differ there."""
        kind = type(value)
        if kind in (Reg, Array, Var):
            self._name(value)
        elif kind is Address:
            self._name(value.array)
            self._value(item, slot, (*path, 1), value.index, "i64")
        elif kind is Typed:
            self.key += [value.type, value.by_address]
            self._value(item, slot, (*path, 1), value.value, None)
        elif kind is tuple:
            for place, part in enumerate(value):
                self._value(item, slot, (*path, place), part, type_)
        elif type_ is not None and kind in (int, float):
            self.key.append(type_)
            self.holes.append(_Hole(item, slot, path, type_, value))
        else:
            self.key.append(repr(value))

    def _name(self, value: Any) -> None:
        """A token for a register, an array or a variable: its place among those that the loop names."""
        kind = type(value)
        if value not in self._numbers:
            self._numbers[value] = len(self._numbers)
            if kind is Array:
                self.arrays.append(value)
            elif kind is Reg:
                self.registers.append(value)
        if kind is Var:
            self.variables[value] += 1
        elif value in self.own_arrays:
            self.own_arrays[value] += 1
        self.key += [self._numbers[value], value.type]


_STARTS = {
    Load: ("index",), Store: ("index",), Accumulate: ("index",), Fill: ("start",),
    Copy: ("target_start", "source_start"),
}  # fmt: skip


def _type_in(item: Any, slot: str) -> str | None:
    """The type of a number that may differ between loops that are alike; None where none may."""
    kind = type(item)
    if slot in _STARTS.get(kind, ()):
        return "i64"
    if kind is For:  # of steps that wait for one another, which no number of them makes other code of
        return "i64" if slot in ("start", "stop") and item.work is None and is_step(item) else None
    if kind is Let and slot == "args":
        return item.type if item.type in FLOATS or (item.type == "i64" and item.op in ("add", "sub")) else None
    type_ = _type_of_value(item, slot)
    return type_ if type_ in FLOATS else None


def _type_of_value(item: Any, slot: str) -> str | None:
    kind = type(item)
    if kind in (Store, Accumulate) and slot == "value":
        return ITEM[item.array.type]
    if kind is Set and slot == "value":
        return item.var.type
    if kind is Select and slot in ("x", "y"):
        return item.out.type
    return None
