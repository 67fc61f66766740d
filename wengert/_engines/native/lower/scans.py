"""Along one axis: running totals and recurrences, sorting, the place of the largest."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from ...._core.graph import Node
from ..builder import Builder
from ..forms import TYPE_OF, Form, Index, is_numbers, spill
from ..loops import FLOATS, Array, Operand
from . import pieces
from .blocks import SINGLES, Block
from .scalars import SCALARS, is_nan, larger, smaller
from .scatters import over

Iteration = Callable[[Builder, str, Operand, list[Operand]], Operand]


def _with(index: Index, axis: int, place: Operand) -> Index:
    return (*index[:axis], place, *index[axis + 1 :])


MANY = 4096  # elements up to which nobody has to wait


def _look(b: Builder, *extents: Operand) -> None:
    """Lets the user interrupt a loop over so many elements, if they are many or nobody knows how many."""
    if not is_numbers(extents) or math.prod(cast("tuple[int, ...]", extents)) > MANY:
        b.poll()


CHAINS = 4  # rows side by side: each total waits for the one before it, and not for those of other rows

# -- running totals ---------------------------------------------------------------------------------------------------


def _scan(
    iteration: Iteration, first: Callable[[list[Operand]], Operand]
) -> Callable[[Block, Node, list[Form]], list[Form]]:
    """Each place from the place before it and the operands there. `first`: the first place's value."""

    def lower(block: Block, node: Node, forms: list[Form]) -> list[Form]:
        b = block.b
        axis, is_reversed = node.attrs
        spill(b, forms)
        out = node.outputs[0]
        shape, type_ = block.shape(out), TYPE_OF[out.dtype]
        axis %= len(shape)
        target = block.fresh(shape, type_)
        n = shape[axis]
        if type(n) is int and n == 0:  # even what is emitted under a condition would read a place that is not there
            return [target]
        before, behind = shape[:axis], shape[axis + 1 :]

        def place(i: Operand) -> Operand:
            return b.sub(b.sub(n, 1), i) if is_reversed else i

        def start(index: Index) -> Operand:
            found = first([f.at(b, index) for f in forms])
            target.store(b, index, found)
            return found

        def step(last: Operand, here: Index) -> Operand:
            found = iteration(b, type_, last, [f.at(b, here) for f in forms])
            target.store(b, here, found)
            return found

        def done(found: Operand) -> None:
            """What was found is stored."""

        def lanes(lead: Index) -> None:
            _look(b, *shape)
            with b.when(b.let("gt", "i64", n, 0)):
                over(b, behind, lambda rest: done(start((*lead, place(0), *rest))))

            def along(i: Operand) -> None:
                here, last = place(i), place(b.sub(i, 1))
                over(b, behind, lambda rest: done(step(target.at(b, (*lead, last, *rest)), (*lead, here, *rest))))
                _look(b, n, *behind)

            pieces.iterations(b, 1, n, along)

        def chains(leads: list[Index]) -> None:
            rest = (0,) * len(behind)

            def along(i: Operand) -> None:
                for total, lead in zip(totals, leads, strict=True):
                    b.set(total, step(b.get(total), (*lead, place(i), *rest)))
                _look(b, n)

            with b.when(b.let("gt", "i64", n, 0)):
                totals = [b.var(type_, start((*lead, place(0), *rest))) for lead in leads]
                pieces.iterations(b, 1, n, along)

        def rows(lead: Index) -> None:
            if not before:
                chains([()])
                return
            whole = b.divided(before[-1], CHAINS)
            with b.loop(0, whole) as group:
                number = b.mul(group, CHAINS)
                chains([(*lead, b.add(number, k)) for k in range(CHAINS)])
                _look(b, *shape)
            with b.loop(b.mul(whole, CHAINS), before[-1]) as row:
                chains([(*lead, row)])

        if all(type(m) is int and m == 1 for m in behind):
            over(b, before[:-1], rows)
        else:
            over(b, before, lanes)
        return [target]

    return lower


def _recurrence(b: Builder, t: str, last: Operand, operands: list[Operand]) -> Operand:
    factor, term = operands
    # a factor of zero starts anew, whatever has gone before
    zero = 0.0 if t in FLOATS else 0
    product = b.select(t, b.let("eq", t, factor, zero), zero, b.let("mul", t, factor, last))
    return b.let("add", t, product, term)


def _restarting(b: Builder, t: str, last: Operand, operands: list[Operand]) -> Operand:
    x, restart = operands
    return b.let("add", t, b.select(t, restart, 0.0 if t in FLOATS else 0, last), x)


def _of(join: Callable[[Builder, str, Operand, Operand], Operand]) -> Any:
    return _scan(lambda b, t, last, xs: join(b, t, last, xs[0]), lambda xs: xs[0])


# -- the place of the largest -----------------------------------------------------------------------------------------


def _best_place(op: str) -> Callable[[Block, Node, list[Form]], list[Form]]:
    def lower(block: Block, node: Node, forms: list[Form]) -> list[Form]:
        b, x = block.b, block.stored(forms[0])
        axis = node.attrs[0] % len(x.shape)
        kept = (*x.shape[:axis], *x.shape[axis + 1 :])
        target = block.fresh(kept, "i64")

        def lane(index: Index) -> None:
            def at(i: Operand) -> Operand:
                return x.at(b, (*index[:axis], i, *index[axis:]))

            best, place = b.var(x.type, at(0)), b.var("i64", 0)
            with b.loop(1, x.shape[axis]) as i:
                value, old = at(i), b.get(best)
                wins = _wins(b, op, x.type, value, old)
                b.set(best, b.select(x.type, wins, value, old))
                b.set(place, b.select("i64", wins, i, b.get(place)))
            target.store(b, index, b.get(place))

        over(b, kept, lane)
        return [target]

    return lower


def _wins(b: Builder, op: str, t: str, value: Operand, old: Operand) -> Operand:
    """Whether a value is better than the best so far; the first NaN is the best of all."""
    if t == "bool":
        return b.both(value, b.negated(old)) if op == "gt" else b.both(b.negated(value), old)
    wins = b.let(op, t, value, old)
    if t not in FLOATS:
        return wins
    return b.either(wins, b.both(is_nan(b, t, value), b.negated(is_nan(b, t, old))))


# -- sorting ----------------------------------------------------------------------------------------------------------


def before(b: Builder, t: str, x: Operand, y: Operand, is_descending: bool = False) -> Operand:
    """Whether x stands before y in NumPy's order, in which NaN is the largest."""
    if is_descending:
        x, y = y, x
    if t == "bool":
        return b.both(b.negated(x), y)
    less = b.let("lt", t, x, y)
    return b.either(less, b.both(is_nan(b, t, y), b.negated(is_nan(b, t, x)))) if t in FLOATS else less


class _Room(NamedTuple):
    """The keys of a lane, and where each was in the beginning, if anybody asks for that."""

    keys: Array
    places: Array | None

    @staticmethod
    def of(b: Builder, type_: str, n: Operand, has_places: bool) -> _Room:
        return _Room(b.alloc(type_, n), b.alloc("i64", n) if has_places else None)


class _Sorter:
    """Sorts one lane by merging runs of twice the length each time; equal ones keep their order.

    Keys move with their places: all that is read lies side by side, and a lane may be larger than any cache.
    """

    def __init__(self, block: Block, type_: str, n: Operand, is_descending: bool, has_places: bool) -> None:
        b = self.b = block.b
        self.type = type_
        self.n = n
        self.is_descending = is_descending
        self.room = _Room.of(b, type_, n, has_places)
        self.other = _Room.of(b, type_, n, has_places)

    def run(self) -> None:
        """Sorts what `room` holds; its places are filled here."""
        b = self.b
        if self.room.places is not None:
            with b.loop(0, self.n) as i:
                b.store(self.room.places, i, i)
        width = b.var("i64", 1)
        b.repeat(lambda: b.let("lt", "i64", b.get(width), self.n), lambda: self.rounds(width))

    def rounds(self, width: Any) -> None:
        """There and back."""
        b = self.b
        run = b.get(width)
        self.round(run, self.room, self.other)
        self.round(b.mul(run, 2), self.other, self.room)
        b.set(width, b.mul(run, 4))

    def round(self, run: Operand, source: _Room, target: _Room) -> None:
        b = self.b
        start = b.var("i64", 0)
        b.repeat(
            lambda: b.let("lt", "i64", b.get(start), self.n), lambda: self.merge(start, run, source, target)
        )  # fmt: skip

    def merge(self, start: Any, run: Operand, source: _Room, target: _Room) -> None:
        b = self.b
        first = b.get(start)
        middle = self.least(b.add(first, run))
        end = self.least(b.add(middle, run))
        left, right = b.var("i64", first), b.var("i64", middle)
        with b.loop(first, end) as place:
            i, j = b.get(left), b.get(right)
            has_left, has_right = b.let("lt", "i64", i, middle), b.let("lt", "i64", j, end)
            mine, theirs = b.select("i64", has_left, i, first), b.select("i64", has_right, j, first)
            key, their_key = b.load(source.keys, mine), b.load(source.keys, theirs)
            overtakes = before(b, self.type, their_key, key, self.is_descending)
            takes_right = b.both(has_right, b.either(b.negated(has_left), overtakes))
            b.store(target.keys, place, b.select(self.type, takes_right, their_key, key))
            if source.places is not None and target.places is not None:
                b.store(target.places, place, b.load(source.places, b.select("i64", takes_right, theirs, mine)))
            b.set(right, b.add(j, b.select("i64", takes_right, 1, 0)))
            b.set(left, b.add(i, b.select("i64", takes_right, 0, 1)))
            _look(b, self.n)
        b.set(start, end)

    def least(self, x: Operand) -> Operand:
        return self.b.select("i64", self.b.let("lt", "i64", x, self.n), x, self.n)


def _sort(gives_places: bool) -> Callable[[Block, Node, list[Form]], list[Form]]:
    def lower(block: Block, node: Node, forms: list[Form]) -> list[Form]:
        b, x = block.b, block.stored(forms[0])
        axis, is_descending = node.attrs
        axis %= len(x.shape)
        n = x.shape[axis]
        target = block.fresh(x.shape, "i64" if gives_places else x.type)
        sorter = _Sorter(block, x.type, n, is_descending, gives_places)
        found = sorter.room.places or sorter.room.keys

        def lane(index: Index) -> None:
            with b.loop(0, n) as i:
                b.store(sorter.room.keys, i, x.at(b, _with(index, axis, i)))
            sorter.run()
            with b.loop(0, n) as i:
                target.store(b, _with(index, axis, i), b.load(found, i))
            _look(b, *x.shape)

        over(b, _with(x.shape, axis, 1), lane)
        return [target]

    return lower


def _searchsorted(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    """By halving: the first place whose element is not before the value (with `right`: after it)."""
    b, sequence, values = block.b, block.stored(forms[0]), block.stored(forms[1])
    target = block.fresh(values.shape, "i64")
    is_shared = len(sequence.shape) == 1
    n = sequence.shape[-1]

    def find(index: Index) -> None:
        value = values.at(b, index)
        low, high = b.var("i64", 0), b.var("i64", n)

        def halve() -> None:
            start, end = b.get(low), b.get(high)
            middle = b.divided(b.add(start, end), 2)
            element = sequence.at(b, (middle,) if is_shared else (*index[:-1], middle))
            t = sequence.type
            goes_on = b.negated(before(b, t, value, element)) if node.attrs[0] else before(b, t, element, value)
            b.set(low, b.select("i64", goes_on, b.add(middle, 1), start))
            b.set(high, b.select("i64", goes_on, end, middle))

        b.repeat(lambda: b.let("lt", "i64", b.get(low), b.get(high)), halve)
        target.store(b, index, b.get(low))
        _look(b, *values.shape)

    over(b, values.shape, find)
    return [target]


SINGLES.update({
    "cumsum": _of(lambda b, t, x, y: b.let("add", t, x, y)),
    "cumprod": _of(lambda b, t, x, y: b.let("mul", t, x, y)),
    "cummax": _of(larger),
    "cummin": _of(smaller),
    "cumlogsumexp": _of(lambda b, t, x, y: SCALARS["logaddexp"](b, t, (), x, y)),
    "linear_recurrence": _scan(_recurrence, lambda xs: xs[1]),
    "segmented_cumsum": _scan(_restarting, lambda xs: xs[0]),
    "argmax": _best_place("gt"),
    "argmin": _best_place("lt"),
    "sort": _sort(False),
    "argsort": _sort(True),
    "searchsorted": _searchsorted,
})  # fmt: skip
