"""Sorting along an axis.

Of a few elements each is compared with each: how many stand before one is its place. Longer lanes are sorted by
NumPy's own functions (`llvm/numpy_functions.py`), some million elements at a time, and these parts are merged; integers
of one or two bytes are sorted by counting (`counting_sort.py`), and the places that sort longer keys are found by their
digits (`digit_orders.py`). NumPy's
functions leave the order of equal elements open, and ours is stable: places of equal keys are sorted afterwards, and so
are zeros of both signs, the only equal keys that differ. Where only the first places of an order are read, they are
selected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.loops import FLOATS, Address, Array, Operand, Typed, Var
from ..llvm import numpy_functions
from . import digit_orders
from .blocks import Block
from .counting_sort import counts_keys, digit_of, is_one_digit, passes, places_of_digits
from .digit_orders import order_number
from .forms import Form, Index, Stored, with_place
from .nests import at_most, first_by_halving, poll_often
from .scatters import over
from .standalone import is_alone

FEW = 12  # elements whose places are counted in less time than a call takes
# how many NumPy's functions get at a time, at most: they cannot be interrupted, and take some 40 ms for so many
KEYS, PLACES = 1 << 22, 1 << 20
# where first places are selected: room for so many candidates at least, looked at in chunks; no more are selected
CANDIDATES, CHUNK, SELECTED = 128, 16, 1 << 12


def before(
    b: Builder, t: str, x: Operand, y: Operand, is_descending: bool = False, or_equal: bool = False
) -> Operand:  # fmt: skip
    """Whether x stands before y in NumPy's order, in which NaN is the largest; `or_equal`: or equals it."""
    if is_descending:
        x, y = y, x
    if t == "bool":
        return b.either(b.negated(x), y) if or_equal else b.both(b.negated(x), y)
    name = "le" if or_equal else "lt"
    if t in FLOATS:
        bits = t.replace("f", "i")
        return b.let(name, bits, order_number(b, t, bits, x), order_number(b, t, bits, y))
    return b.let(name, t, x, y)


class Keys(NamedTuple):
    """The keys of a lane, from a first element on, and where each was in the beginning, if anybody asks for that."""

    keys: Array
    places: Array | None
    first: Operand = 0  # of the keys
    first_place: Operand = 0  # where places are counted; other sorts have theirs from the beginning on

    @staticmethod
    def of(b: Builder, type_: str, n: Operand, has_places: bool) -> Keys:
        return Keys(b.alloc(type_, n), b.alloc("i64", n) if has_places else None)

    def key(self, b: Builder, i: Operand) -> Operand:
        return b.load(self.keys, b.add(self.first, i))

    def set_key(self, b: Builder, i: Operand, key: Operand) -> None:
        b.store(self.keys, b.add(self.first, i), key)

    def place(self, b: Builder, i: Operand) -> Operand:
        assert self.places is not None
        return b.load(self.places, b.add(self.first_place, i))

    def set_place(self, b: Builder, i: Operand, place: Operand) -> None:
        assert self.places is not None
        b.store(self.places, b.add(self.first_place, i), place)

    def address(self, b: Builder, i: Operand) -> Address:
        return Address(self.keys, b.add(self.first, i))


class Sorter:
    """Sorts one lane; equal elements keep their order.

    Keys move with their places: all that is read lies side by side, and a lane may be larger than any cache.
    """

    def __init__(
        self, block: Block, type_: str, n: Operand, is_descending: bool, has_places: bool,
        is_elsewhere: bool = False,
    ) -> None:  # fmt: skip
        """`is_elsewhere`: the other room's places are the caller's."""
        b = self.b = block.b
        self.type = type_
        self.n = n
        self.room = n  # the most that there can be
        self.is_descending = is_descending
        self.other = Keys.of(b, type_, n, has_places and not is_elsewhere)
        self.is_counted = counts_keys(type_, n, has_places)
        self.needs_keys = True  # or places alone
        is_ours = self.is_counted or is_alone() or not numpy_functions.sorts(type_)
        self.most = 1 if is_ours else PLACES if has_places else KEYS

    def run(self, given: Keys) -> Keys:
        """Sorts the keys of a room; the room that holds what was found: the same one, if nobody asks for places."""
        if self.is_counted:
            return self._counted(given)
        if self.most == 1:
            if given.places is not None:
                self._number(given.places, 0, self.n)
            return self._merged(given, self.other)
        if given.places is None:
            self._in_parts(given)
            return self._merged(given, self.other)
        b = self.b
        with b.when(self._is_sorted(given)) as branch:
            self._keep(given, self.other)
        with b.inside(branch.other):
            self._in_parts(given)
            self._merged(self.other, given)
        return self.other

    def _is_sorted(self, given: Keys) -> Operand:
        """Whether keys are in order already: a pass of vectors, where ordering equal ones takes as long as sorting."""
        b = self.b
        overtakes = b.var("bool", False)
        with b.loop(1, self.n) as i:
            is_less = before(b, self.type, given.key(b, i), given.key(b, b.sub(i, 1)), self.is_descending)
            b.set(overtakes, b.either(b.get(overtakes), is_less))
        return b.negated(b.get(overtakes))

    def _keep(self, given: Keys, target: Keys) -> None:
        """All keys stay as they are, in this room or in another."""
        if target is not given and self.needs_keys:
            self.b.copy(target.keys, target.first, given.keys, given.first, self.n)
        with self.b.loop(0, self.n) as i:
            target.set_place(self.b, i, i)

    def _in_parts(self, given: Keys) -> None:
        """NumPy sorts some keys at a time."""
        b, n = self.b, self.n
        with b.loop(0, b.divided(b.add(n, self.most - 1), self.most)) as part:
            start = b.mul(part, self.most)
            count = b.sub(self._least(b.add(start, self.most)), start)
            if given.places is None:
                self._sort_keys(given, start, count)
            else:
                self._sort_places(given, start, count)
            if type(self.room) is not int or self.room > self.most:
                b.poll(1)

    # -- counting -----------------------------------------------------------------------------------------------------

    def _counted(self, given: Keys) -> Keys:
        """Sorts by each byte of the keys, the least first; the order of equal bytes stays."""
        b, shifts = self.b, passes(self.type)
        has_places = self.other.places is not None
        is_elsewhere = has_places and len(shifts) % 2 == 1  # who has no places wants the same room
        found = self.other if is_elsewhere else given
        with b.when(self._is_sorted(given)) as branch:
            if has_places:
                self._keep(given, found)
        with b.inside(branch.other):
            source, target = given, self.other
            for shift in shifts:
                self._sort_by_byte(source, target, shift, self.needs_keys or shift != shifts[-1])
                source, target = target, source
            if source is not found:
                b.copy(given.keys, given.first, source.keys, source.first, self.n)
        return found

    def _sort_by_byte(self, source: Keys, target: Keys, shift: int, has_keys: bool) -> None:
        b = self.b

        def digit(i: Operand) -> Operand:
            return digit_of(b, self.type, source.key(b, i), shift, self.is_descending)

        if shift == 0:
            self._scatter(source, target, digit, has_keys, is_first=True)
            return
        with b.when(is_one_digit(b, self.n, digit)) as branch:  # as of small numbers
            self._stay(source, target, has_keys)
        with b.inside(branch.other):
            self._scatter(source, target, digit, has_keys, is_first=False)

    def _scatter(
        self, source: Keys, target: Keys, digit: Callable[[Operand], Operand], has_keys: bool, is_first: bool
    ) -> None:
        """Keys go to the other room in the order of a byte."""
        b = self.b
        starts = places_of_digits(b, self.n, digit)
        with b.loop(0, self.n) as i:
            value = digit(i)
            to = b.load(starts, value)
            if has_keys:
                target.set_key(b, to, source.key(b, i))
            if target.places is not None:
                target.set_place(b, to, i if is_first else source.place(b, i))
            b.store(starts, value, b.add(to, 1))
            poll_often(b, self.n)

    def _stay(self, source: Keys, target: Keys, has_keys: bool) -> None:
        """Keys go to the other room in the order that they have."""
        b, n = self.b, self.n
        if has_keys:
            b.copy(target.keys, target.first, source.keys, source.first, n)
        if target.places is not None:
            assert source.places is not None
            b.copy(target.places, target.first_place, source.places, source.first_place, n)

    # -- NumPy's functions --------------------------------------------------------------------------------------------

    def _sort_keys(self, room: Keys, start: Operand, count: Operand) -> None:
        """Sorts a part of the keys where they are."""
        b = self.b
        self._call("sort", self.type, [room.address(b, start)], count)
        if not self.is_descending:
            return
        with b.loop(0, b.divided(count, 2)) as i:
            low, high = b.add(start, i), b.sub(b.add(start, b.sub(count, 1)), i)
            first, last = room.key(b, low), room.key(b, high)
            room.set_key(b, low, last)
            room.set_key(b, high, first)

    def _sort_places(self, given: Keys, start: Operand, count: Operand) -> None:
        """From a part of the keys that are given to one of the other room, with their places."""
        b, found = self.b, self.other
        assert given.places is not None
        assert found.places is not None
        self._number(given.places, start, count)
        self._call("argsort", self.type, [given.address(b, start), Address(given.places, start)], count)
        last = b.sub(b.add(start, count), 1)
        with b.loop(0, count) as i:
            source = b.sub(last, i) if self.is_descending else b.add(start, i)
            place, to = b.add(start, b.load(given.places, source)), b.add(start, i)
            b.store(found.places, to, place)
            found.set_key(b, to, given.key(b, place))
        self._order_equal(found, found.places, start, b.add(start, count))

    def _order_equal(self, room: Keys, places: Array, start: Operand, stop: Operand) -> None:
        """Sorts the places of each run of equal keys."""
        b, first = self.b, self.b.var("i64", start)

        def end_run(stop: Operand) -> None:
            length = b.sub(stop, b.get(first))
            with b.when(b.let("lt", "i64", 1, length)):
                self._call("sort", "i64", [Address(places, b.get(first))], length)
            b.set(first, stop)

        with b.loop(b.add(start, 1), stop) as i, b.when(
            before(b, self.type, room.key(b, b.sub(i, 1)), room.key(b, i), self.is_descending)
        ):  # fmt: skip
            end_run(i)
        end_run(stop)

    def _call(self, name: str, type_: str, addresses: list[Address], count: Operand) -> None:
        # the last argument, an array, says nothing where elements are numbers
        arguments = [*addresses, Typed("i64", count), Typed("i64", 0)]
        self.b.call(f"numpy.{name}.{type_}", arguments, "i32")

    # -- merging ------------------------------------------------------------------------------------------------------

    def _number(self, places: Array, start: Operand, count: Operand) -> None:
        with self.b.loop(0, count) as i:
            self.b.store(places, self.b.add(start, i), i)

    def _merged(self, room: Keys, other: Keys) -> Keys:
        """Merges sorted runs, of twice the length each time."""
        b = self.b
        if type(self.room) is int and self.room <= self.most:
            return room
        width = b.var("i64", self.most)

        def there_and_back() -> None:
            run = b.get(width)
            self._round(run, room, other)
            self._round(b.mul(run, 2), other, room)
            b.set(width, b.mul(run, 4))

        b.repeat(lambda: b.let("lt", "i64", b.get(width), self.n), there_and_back)
        return room

    def _round(self, run: Operand, source: Keys, target: Keys) -> None:
        b = self.b
        start = b.var("i64", 0)
        b.repeat(
            lambda: b.let("lt", "i64", b.get(start), self.n), lambda: self._merge(start, run, source, target)
        )  # fmt: skip

    def _merge(self, start: Var, run: Operand, source: Keys, target: Keys) -> None:
        b = self.b
        first = b.get(start)
        middle = self._least(b.add(first, run))
        end = self._least(b.add(middle, run))
        left, right = b.var("i64", first), b.var("i64", middle)
        with b.loop(first, end) as place:
            i, j = b.get(left), b.get(right)
            has_left, has_right = b.let("lt", "i64", i, middle), b.let("lt", "i64", j, end)
            mine, theirs = b.select("i64", has_left, i, first), b.select("i64", has_right, j, first)
            key, their_key = source.key(b, mine), source.key(b, theirs)
            overtakes = before(b, self.type, their_key, key, self.is_descending)
            takes_right = b.both(has_right, b.either(b.negated(has_left), overtakes))
            target.set_key(b, place, b.select(self.type, takes_right, their_key, key))
            if source.places is not None and target.places is not None:
                b.store(target.places, place, b.load(source.places, b.select("i64", takes_right, theirs, mine)))
            b.set(right, b.add(j, b.select("i64", takes_right, 1, 0)))
            b.set(left, b.add(i, b.select("i64", takes_right, 0, 1)))
            poll_often(b, self.n)
        b.set(start, end)

    def _least(self, x: Operand) -> Operand:
        return self.b.select("i64", self.b.let("lt", "i64", x, self.n), x, self.n)


def _is_few(n: Operand) -> bool:
    return type(n) is int and n <= FEW


def _ranks(b: Builder, type_: str, keys: list[Operand], is_descending: bool) -> list[Operand]:
    """The place of each key in the order; equal ones keep theirs."""
    if type_ in FLOATS:  # each is compared with all others
        bits = type_.replace("f", "i")
        keys, type_ = [order_number(b, type_, bits, key) for key in keys], bits
    ranks: list[Operand] = [*range(len(keys))]
    for j, key in enumerate(keys):
        for i in range(j):
            overtakes = before(b, type_, key, keys[i], is_descending)
            step = b.convert("i64", "bool", overtakes)
            ranks[i], ranks[j] = b.add(ranks[i], step), b.sub(ranks[j], step)
    return ranks


def _few(block: Block, x: Stored, axis: int, is_descending: bool, has_places: bool) -> Stored:
    """Short lanes, sorted, or the places that sort them: each element goes from a register to its place."""
    b, n = block.b, x.shape[axis]
    assert type(n) is int
    target = block.fresh(x.shape, "i64" if has_places else x.type)

    def lane(index: Index) -> None:
        keys: list[Operand] = [x.at(b, with_place(index, axis, i)) for i in range(n)]
        for i, (key, rank) in enumerate(zip(keys, _ranks(b, x.type, keys, is_descending), strict=True)):
            target.store(b, with_place(index, axis, rank), i if has_places else key)
        poll_often(b, *x.shape)

    over(b, with_place(x.shape, axis, 1), lane)
    return target


def zeros_in_order(
    b: Builder, lane: Callable[[Operand], Operand], room: Keys, n: Operand, t: str, is_descending: bool
) -> None:
    """Gives several zeros among sorted keys the signs that they have in their lane, in its order."""
    start = first_by_halving(b, n, lambda i: b.negated(before(b, t, room.key(b, i), 0.0, is_descending)))
    stop = first_by_halving(b, n, lambda i: before(b, t, 0.0, room.key(b, i), is_descending))
    with b.when(b.let("lt", "i64", 1, b.sub(stop, start))):
        place = b.var("i64", start)
        with b.loop(0, n) as i:
            value = lane(i)
            with b.when(b.let("eq", t, value, 0.0)):
                room.set_key(b, b.get(place), value)
                b.set(place, b.add(b.get(place), 1))


def result_room(block: Block, node: Node) -> Stored:
    """Where the result of a sort goes, an array whose elements are there to be read again."""
    found = block.room(node.outputs[0])
    return found if type(found) is Stored else block.fresh(found.shape, found.type)


def sort(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    """Sorts each lane where its result is, if its elements lie side by side there."""
    b, x = block.b, block.stored(forms[0])
    axis, is_descending = node.attrs[0] % len(x.shape), node.attrs[1]
    n = x.shape[axis]
    if _is_few(n):
        return [_few(block, x, axis, is_descending, has_places=False)]
    target = result_room(block, node)
    sorter = Sorter(block, x.type, n, is_descending, has_places=False)
    is_near = target.strides[axis] == 1
    aside = None if is_near else Keys.of(b, x.type, n, False)

    def lane(index: Index) -> None:
        room = aside or Keys(target.array, None, target.place(b, with_place(index, axis, 0)))
        _fill(b, room, x, index, axis)
        sorter.run(room)
        if sorter.most > 1 and x.type in FLOATS:
            zeros_in_order(b, lambda i: x.at(b, with_place(index, axis, i)), room, n, x.type, is_descending)
        if aside is not None:
            with b.loop(0, n) as i:
                target.store(b, with_place(index, axis, i), room.key(b, i))
        poll_often(b, *x.shape)

    over(b, with_place(x.shape, axis, 1), lane)
    return [target]


class _Selection:
    """The first places of a lane's order: candidates are gathered, and sorted whenever their room is full.

    An element is a candidate if it stands before the last of those that were selected so far, so that most are passed
    over a chunk at a time. Those selected stand before later candidates that equal them, as a stable sort has them.
    Before any are selected, an element of a sorted sample takes that one's place: so lanes that get better and better
    have few candidates, too. It is an early one; where too few stand before it, a later one is tried.
    """

    def __init__(self, block: Block, x: Stored, axis: int, is_descending: bool, count: Operand) -> None:
        b = self.b = block.b
        self.x, self.axis, self.n = x, axis, x.shape[axis]
        self.count = at_most(b, self.n, at_most(b, SELECTED, count))  # known to be so where lanes are selected from
        self.most = _candidates(b, self.count)
        self.is_descending = is_descending
        self.given = Keys.of(b, x.type, self.most, has_places=True)
        self.origins, self.spare = b.alloc("i64", self.most), b.alloc("i64", self.most)
        self.sorter = Sorter(block, x.type, self.most, is_descending, has_places=True)
        self.sample = Keys.of(b, x.type, self.most, has_places=False)
        self.sample_sorter = Sorter(block, x.type, self.most, is_descending, has_places=False)
        self.sorter.room = self.sample_sorter.room = 4 * SELECTED

    def run(self, index: Index) -> Array:
        """The places of a lane, in order."""
        b = self.b
        self._sort_sample(index)
        worst = b.sub(self.count, 1)  # so many are not after this element of the sample in any case
        among = b.divided(b.mul(self.count, self.most), self.n)  # of these as many are in the sample, on the average
        rank, is_found = b.var("i64", at_most(b, worst, b.add(b.mul(among, 2), 1))), b.var("bool", False)

        def attempt() -> None:
            self._scan(index, self.sample.key(b, b.get(rank)), is_found)
            b.set(rank, at_most(b, worst, b.add(b.mul(b.get(rank), 2), 1)))

        b.repeat(lambda: b.negated(b.get(is_found)), attempt)
        return self.origins

    def _sort_sample(self, index: Index) -> None:
        b = self.b
        apart = b.divided(self.n, self.most)
        with b.loop(0, self.most) as i:
            self.sample.set_key(b, i, self._key(index, b.mul(i, apart)))
        self.sample_sorter.run(self.sample)

    def _scan(self, index: Index, bound: Operand, is_found: Var) -> None:
        """Selects from what is not after the bound, if that is enough."""
        b = self.b
        place, held, selected = b.var("i64", 0), b.var("i64", 0), b.var("bool", False)
        last = b.var(self.x.type, bound)

        def has_room() -> Operand:
            fits = b.let("le", "i64", b.add(b.get(held), CHUNK), self.most)
            return b.both(fits, b.let("lt", "i64", b.get(place), self.n))

        def look() -> None:
            with b.when(b.get(selected)) as branch:
                self._look_at_chunk(index, place, held, last, is_strict=True)
            with b.inside(branch.other):
                self._look_at_chunk(index, place, held, last, is_strict=False)
            poll_often(b, self.n)

        def fill_and_select() -> None:
            b.repeat(has_room, look)
            b.set(is_found, b.let("le", "i64", self.count, b.get(held)))
            with b.when(b.get(is_found)):
                self._select(held, last)
                b.set(selected, True)

        b.repeat(lambda: b.let("lt", "i64", b.get(place), self.n), fill_and_select)

    def _key(self, index: Index, place: Operand) -> Operand:
        return self.x.at(self.b, with_place(index, self.axis, place))

    def _is_candidate(self, key: Operand, last: Operand, is_strict: bool) -> Operand:
        return before(self.b, self.x.type, key, last, self.is_descending, or_equal=not is_strict)

    def _look_at_chunk(self, index: Index, place: Var, held: Var, last: Var, is_strict: bool) -> None:
        b = self.b
        start, bound = b.get(place), b.get(last)
        end = b.add(start, CHUNK)
        stop = b.select("i64", b.let("lt", "i64", end, self.n), end, self.n)
        takes = b.var("bool", True)
        with b.when(b.let("le", "i64", end, self.n)):
            found: Operand = False
            for i in range(CHUNK):
                found = b.either(found, self._is_candidate(self._key(index, b.add(start, i)), bound, is_strict))
            b.set(takes, found)
        with b.when(b.get(takes)), b.loop(start, stop) as i:
            key, at = self._key(index, i), b.get(held)
            self.given.set_key(b, at, key)
            b.store(self.origins, at, i)
            b.set(held, b.add(at, b.convert("i64", "bool", self._is_candidate(key, bound, is_strict))))
        b.set(place, stop)

    def _select(self, held: Var, last: Var) -> None:
        """Keeps the first of the candidates."""
        b = self.b
        self.sorter.n = b.get(held)
        found = self.sorter.run(self.given)
        assert found.places is not None
        with b.loop(0, self.count) as i:
            b.store(self.spare, i, b.load(self.origins, b.load(found.places, i)))
            self.given.set_key(b, i, found.key(b, i))
        b.copy(self.origins, 0, self.spare, 0, self.count)
        b.set(last, self.given.key(b, b.sub(self.count, 1)))
        b.set(held, self.count)


def _candidates(b: Builder, count: Operand) -> Operand:
    room = b.mul(count, 4)
    return b.select("i64", b.let("lt", "i64", room, CANDIDATES), CANDIDATES, room)


def _read_first(block: Block, node: Node, axis: int) -> Operand:
    """How many first places of an order are read, if slices are all that reads it; otherwise 0."""
    b, (out,) = block.b, node.outputs
    if any(v.key == out.key for v in block.graph.outputs):
        return 0
    count: Operand = 0
    for user in block.readers_of(out):
        if user.op.name != "slice":
            return 0
        stop = block.attrs(user)[1][axis]
        count = b.select("i64", b.let("lt", "i64", count, stop), stop, count)
    return count


def _is_selected(b: Builder, n: Operand, count: Operand) -> Operand:
    """Whether so few of n places are read that selecting them takes less time than sorting."""
    is_some = b.both(b.let("lt", "i64", 0, count), b.let("le", "i64", count, SELECTED))
    return b.both(is_some, b.let("le", "i64", b.mul(_candidates(b, count), 2), n))


def _select(block: Block, x: Stored, axis: int, is_descending: bool, count: Operand, target: Stored) -> None:
    b = block.b
    selection = _Selection(block, x, axis, is_descending, count)

    def lane(index: Index) -> None:
        places = selection.run(index)
        with b.loop(0, selection.count) as i:
            target.store(b, with_place(index, axis, i), b.load(places, i))
        poll_often(b, *x.shape)

    over(b, with_place(x.shape, axis, 1), lane)


def argsort(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    """The places that sort each lane; of those only the first, if nobody reads others."""
    b, x = block.b, block.stored(forms[0])
    axis, is_descending = node.attrs[0] % len(x.shape), node.attrs[1]
    n = x.shape[axis]
    if _is_few(n):
        return [_few(block, x, axis, is_descending, has_places=True)]
    target = result_room(block, node)
    count = _read_first(block, node, axis)
    is_selected = False if type(count) is int and count == 0 else _is_selected(b, n, count)
    if is_selected is True:
        _select(block, x, axis, is_descending, count, target)
    elif is_selected is False:
        _order(block, x, axis, is_descending, target)
    else:
        with b.when(is_selected) as branch:
            _select(block, x, axis, is_descending, count, target)
        with b.inside(branch.other):
            _order(block, x, axis, is_descending, target)
    return [target]


def _order(block: Block, x: Stored, axis: int, is_descending: bool, target: Stored) -> None:
    b, n = block.b, x.shape[axis]
    if counts_keys(x.type, n, has_places=True) and target.strides[axis] == 1:
        _counted_order(block, x, axis, is_descending, target)
    elif not digit_orders.serves(x.type, n):
        _compared_order(block, x, axis, is_descending, target)
    elif type(n) is int:
        _digit_order(block, x, axis, is_descending, target)
    else:
        with b.when(b.let("le", "i64", digit_orders.FEWEST, n)) as branch:
            _digit_order(block, x, axis, is_descending, target)
        with b.inside(branch.other):
            _compared_order(block, x, axis, is_descending, target)


def _digit_order(block: Block, x: Stored, axis: int, is_descending: bool, target: Stored) -> None:
    b = block.b
    order = digit_orders.DigitOrder(block, x.type, x.shape[axis], is_descending)

    def lane(index: Index) -> None:
        order.run(
            lambda i: x.at(b, with_place(index, axis, i)),
            lambda i, place: target.store(b, with_place(index, axis, i), place),
        )

    over(b, with_place(x.shape, axis, 1), lane)


def _compared_order(block: Block, x: Stored, axis: int, is_descending: bool, target: Stored) -> None:
    b, n = block.b, x.shape[axis]
    sorter = Sorter(block, x.type, n, is_descending, has_places=True)
    given = Keys.of(b, x.type, n, has_places=True)

    def lane(index: Index) -> None:
        _fill(b, given, x, index, axis)
        places = sorter.run(given).places
        assert places is not None
        with b.loop(0, n) as i:
            target.store(b, with_place(index, axis, i), b.load(places, i))
        poll_often(b, *x.shape)

    over(b, with_place(x.shape, axis, 1), lane)


def _counted_order(block: Block, x: Stored, axis: int, is_descending: bool, target: Stored) -> None:
    """The places that sort each lane, counted where they are to be in the end."""
    b, n = block.b, x.shape[axis]
    is_other = len(passes(x.type)) % 2 == 1  # which room has what is found
    sorter = Sorter(block, x.type, n, is_descending, has_places=True, is_elsewhere=is_other)
    sorter.needs_keys = False
    given = Keys.of(b, x.type, n, has_places=False)

    def lane(index: Index) -> None:
        _fill(b, given, x, index, axis)
        start = target.place(b, with_place(index, axis, 0))
        keys = sorter.other if is_other else given
        found = keys._replace(places=target.array, first_place=start)
        if is_other:
            sorter.other = found
        sorter.run(given if is_other else found)
        poll_often(b, *x.shape)

    over(b, with_place(x.shape, axis, 1), lane)


def _fill(b: Builder, room: Keys, x: Stored, index: Index, axis: int) -> None:
    with b.loop(0, x.shape[axis]) as i:
        room.set_key(b, i, x.at(b, with_place(index, axis, i)))


__all__ = ["Keys", "Sorter", "argsort", "result_room", "sort", "zeros_in_order"]
