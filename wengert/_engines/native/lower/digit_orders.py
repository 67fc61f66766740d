"""The places that sort a lane of keys of four or eight bytes, by the digits of whole numbers in whose order keys stand.

Such a number is taken less the least of the lane and without the bits at its end that are 0 in all, so that it has no
more digits than the lane's keys need. It makes one word with its place where both have room in 64 bits. Words go from
one room to the other once for each digit, the least first; equal digits keep their order, and those of the next digit
are counted on the way. No comparison is guessed wrong: the order of 20,000 numbers takes a third of the time that
NumPy's functions take. A lane of a few runs in order, as one is of which a few keys are out of place, is merged, a
stretch at a time, while stretches are long.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.builder import Builder
from ..ir.loops import FLOATS, Array, Operand
from .blocks import Block
from .nests import first_by_halving, poll_often
from .scalars import is_nan, larger, smaller

FEWEST = 256  # keys, of which fewer are ordered by others in less time: counts are gone through for each digit
_TYPES = ("f64", "f32", "i64", "i32", "u64", "u32")
_BITS = 8  # of a digit
# runs that are merged, at most, and how long the stretches have to be on the average that go over at once, but for some
_RUNS, _STRETCH = 32, 32
_CHUNK = 256  # keys among which a run may end that are looked at at once
_WORD = 64
_LEAST = -(2**63)


def serves(type_: str, n: Operand) -> bool:
    """Whether keys of a type are ordered by digits, if there are `FEWEST` or more of them."""
    return type_ in _TYPES and not (type(n) is int and n < FEWEST)


def order_number(b: Builder, t: str, bits: str, x: Operand) -> Operand:
    """An integer in whose order numbers stand, the same for all NaN, and for zeros of both signs.

    Floats that are compared by less, NaN among them, leave the flag of an invalid operation set, and NumPy would be
    asked what it has to tell of that.
    """
    least = -(2 ** (int(bits[1:]) - 1))
    word = b.convert(bits, t, x, bits=True)
    value = b.select(bits, b.let("lt", bits, word, 0), b.let("sub", bits, least, word), word)
    return b.select(bits, is_nan(b, t, x), -1 - least, value)


def _wide_number(b: Builder, t: str, x: Operand) -> Operand:
    """The same of 64 bits, of a float or an integer."""
    if t in FLOATS:
        bits = t.replace("f", "i")
        return b.convert("i64", bits, order_number(b, t, bits, x))
    wide = b.convert("i64", t, x)
    return b.let("add", "i64", wide, _LEAST) if t == "u64" else wide


def _bits_of(b: Builder, x: Operand) -> Operand:
    """How many bits a number of 64 bits without a sign has."""
    if type(x) is int:
        return x.bit_length()
    left, count = b.var("u64", x), b.var("i64", 0)

    def shift() -> None:
        b.set(left, b.let("shr", "u64", b.get(left), 1))
        b.set(count, b.add(b.get(count), 1))

    b.repeat(lambda: b.let("ne", "u64", b.get(left), 0), shift)
    return b.get(count)


class DigitOrder:
    """Orders lanes of one length. All arrays are there twice, for words go to and fro."""

    def __init__(self, block: Block, type_: str, n: Operand, is_descending: bool) -> None:
        b = self.b = block.b
        self.type, self.n, self.is_descending = type_, n, is_descending
        self.words = [b.alloc("u64", n) for _ in range(2)]
        self.places = [b.alloc("i64", n) for _ in range(2)]  # of words that have no room for them
        self.counts = [b.alloc("i64", 1 << _BITS) for _ in range(2)]

    def run(self, key: Callable[[Operand], Operand], put: Callable[[Operand, Operand], None]) -> None:
        """Orders a lane: `key(i)` reads it, `put(i, place)` takes the place of the one that comes as number i."""
        b = self.b
        least, most = self._take(key)
        base = most if self.is_descending else least
        seen, falls, is_reversed = self._look(base)
        is_sorted = b.let("eq", "i64", falls, 0)
        with b.when(b.either(is_sorted, is_reversed)) as branch, b.loop(0, self.n) as i:
            put(i, b.select("i64", is_sorted, i, b.sub(b.sub(self.n, 1), i)))
        with b.inside(branch.other):
            is_merged = b.var("bool", False)
            with b.when(b.let("lt", "i64", falls, _RUNS)):
                b.set(is_merged, _Runs(b, self.n, lambda i: self._number(base, i)).merge(put))
            with b.when(b.negated(b.get(is_merged))):
                self._sort(base, b.let("sub", "u64", most, least), seen, put)

    def _take(self, key: Callable[[Operand], Operand]) -> tuple[Operand, Operand]:
        """Fills the first room with numbers; the least and the most of them."""
        b = self.b
        least, most = b.var("i64", -1 - _LEAST), b.var("i64", _LEAST)
        with b.loop(0, self.n) as i:
            number = _wide_number(b, self.type, key(i))
            b.store(self.words[0], i, b.convert("u64", "i64", number))
            b.set(least, smaller(b, "i64", number, b.get(least)))
            b.set(most, larger(b, "i64", number, b.get(most)))
        return b.convert("u64", "i64", b.get(least)), b.convert("u64", "i64", b.get(most))

    def _number(self, base: Operand, i: Operand) -> Operand:
        """How far a key is from the first one of the order."""
        word = self.b.load(self.words[0], i)
        return self.b.let("sub", "u64", *((base, word) if self.is_descending else (word, base)))

    def _look(self, base: Operand) -> tuple[Operand, Operand, Operand]:
        """The bits that any of the numbers has, how many are below the one before, and whether each is."""
        b = self.b
        seen, falls = b.var("u64", self._number(base, 0)), b.var("i64", 0)
        with b.loop(1, self.n) as i:
            number, before = self._number(base, i), self._number(base, b.sub(i, 1))
            b.set(seen, b.let("or", "u64", b.get(seen), number))
            is_less = b.let("lt", "u64", number, before)
            b.set(falls, b.add(b.get(falls), b.convert("i64", "bool", is_less)))
        return b.get(seen), b.get(falls), b.let("eq", "i64", b.get(falls), b.sub(self.n, 1))

    def _sort(self, base: Operand, span: Operand, seen: Operand, put: Callable[[Operand, Operand], None]) -> None:
        """`span`: the largest number; `seen`: the bits that any of them has, of which there is one."""
        b = self.b
        lowest = b.let("and", "u64", seen, b.let("sub", "u64", 0, seen))
        empty = b.sub(_bits_of(b, lowest), 1)
        unused = b.convert("u64", "i64", empty)
        width = b.sub(_bits_of(b, span), empty)
        room = _bits_of(b, b.convert("u64", "i64", b.sub(self.n, 1)) if type(self.n) is not int else self.n - 1)
        end = b.add(width, room)
        with b.when(b.let("le", "i64", end, _WORD)) as branch:
            self._fill(base, unused, room)
            self._passes(room, end, has_places=False, put=self._of_words(room, put))
        with b.inside(branch.other):
            self._fill(base, unused, None)
            self._passes(0, width, has_places=True, put=lambda at, i: put(i, b.load(self.places[at], i)))

    def _fill(self, base: Operand, unused: Operand, room: Operand | None) -> None:
        """The words, and how many have which first digit; `room`: the bits of a place in a word, if it is there."""
        b = self.b
        b.fill(self.counts[0], 0, 1 << _BITS)
        with b.loop(0, self.n) as i:
            number = b.let("shr", "u64", self._number(base, i), unused)
            self._count(self.counts[0], number, 0)
            if room is None:
                b.store(self.places[0], i, i)
            else:
                above = b.let("shl", "u64", number, room if type(room) is int else b.convert("u64", "i64", room))
                number = b.let("or", "u64", above, b.convert("u64", "i64", i))
            b.store(self.words[0], i, number)
            poll_often(b, self.n)

    def _of_words(self, room: Operand, put: Callable[[Operand, Operand], None]) -> Callable[[int, Operand], None]:
        b = self.b
        one = b.let("shl", "i64", 1, room)
        mask = b.sub(one, 1)

        def of_word(at: int, i: Operand) -> None:
            put(i, b.let("and", "i64", b.convert("i64", "u64", b.load(self.words[at], i)), mask))

        return of_word

    def _digit(self, word: Operand, shift: Operand) -> Operand:
        b = self.b
        moved = word if type(shift) is int and shift == 0 else b.let("shr", "u64", word, shift)
        return b.convert("i64", "u64", b.let("and", "u64", moved, (1 << _BITS) - 1))

    def _count(self, counts: Array, word: Operand, shift: Operand) -> None:
        digit = self._digit(word, shift)
        self.b.store(counts, digit, self.b.add(self.b.load(counts, digit), 1))

    def _passes(
        self, start: Operand, end: Operand, has_places: bool, put: Callable[[int, Operand], None]
    ) -> None:  # fmt: skip
        """Sorts by the digits of the bits from a first one on to before a last one, whose first digits are counted."""
        b = self.b
        shift, is_there = b.var("i64", start), b.var("bool", False)

        def pass_(source: int) -> None:
            self._pass(source, b.get(shift), has_places)
            b.set(shift, b.add(b.get(shift), _BITS))

        def goes_on() -> Operand:
            return b.let("lt", "i64", b.get(shift), end)

        def there_and_back() -> None:
            pass_(0)
            with b.when(goes_on()) as branch:
                pass_(1)
            with b.inside(branch.other):
                b.set(is_there, True)

        b.repeat(goes_on, there_and_back)
        with b.when(b.get(is_there)) as branch, b.loop(0, self.n) as i:
            put(1, i)
        with b.inside(branch.other), b.loop(0, self.n) as i:
            put(0, i)

    def _pass(self, source: int, shift: Operand, has_places: bool) -> None:
        b, target = self.b, 1 - source
        starts, following = self.counts[source], self.counts[target]
        self._add_up(starts)
        b.fill(following, 0, 1 << _BITS)
        next_shift = b.add(shift, _BITS)
        here, ahead = (
            b.convert("u64", "i64", x)
            for x in (shift, b.select("i64", b.let("lt", "i64", next_shift, _WORD), next_shift, 0))
        )
        with b.loop(0, self.n) as i:
            word = b.load(self.words[source], i)
            digit = self._digit(word, here)
            to = b.load(starts, digit)
            b.store(self.words[target], to, word)
            if has_places:
                b.store(self.places[target], to, b.load(self.places[source], i))
            b.store(starts, digit, b.add(to, 1))
            self._count(following, word, ahead)
            poll_often(b, self.n)

    def _add_up(self, counts: Array) -> None:
        """From how many there are of each digit to where they begin."""
        b = self.b
        place = b.var("i64", 0)
        with b.loop(0, 1 << _BITS) as i:
            first = b.get(place)
            b.set(place, b.add(first, b.load(counts, i)))
            b.store(counts, i, first)


class _Runs:
    """Merges a few runs in order: as many numbers at once as stand before the first ones of all other runs.

    Attributes:
        first, stop: the places of each run that are left, by its number.
        order: the numbers of the runs that are left, by their first keys; equal ones in the order of the lane.
        heads: these first keys, in that order.
    """

    def __init__(self, b: Builder, n: Operand, number: Callable[[Operand], Operand]) -> None:
        self.b, self.n, self.number = b, n, number
        self.first, self.stop, self.order = (b.local("i64", _RUNS) for _ in range(3))
        self.heads = b.local("u64", _RUNS)
        self.count = b.var("i64", 0)  # of runs that are left

    def merge(self, put: Callable[[Operand, Operand], None]) -> Operand:
        """Gives places in order; whether all are given, for stretches that are too short end it."""
        b = self.b
        self._find()
        done, stretches = b.var("i64", 0), b.var("i64", 0)
        spare = b.add(b.mul(b.get(self.count), 2), 4)

        def give_stretch() -> None:
            run = b.load(self.order, 0)
            first = b.load(self.first, run)
            stop = self._end_of_stretch(run, first)
            start = b.sub(b.get(done), first)
            with b.loop(first, stop) as i:
                put(b.add(start, i), i)
            b.set(done, b.add(start, stop))
            b.set(stretches, b.add(b.get(stretches), 1))
            self._put_behind(run, stop)
            poll_often(b, self.n)

        def goes_on() -> Operand:
            most = b.add(b.divided(b.get(done), _STRETCH), spare)
            return b.both(b.let("lt", "i64", 0, b.get(self.count)), b.let("le", "i64", b.get(stretches), most))

        b.repeat(goes_on, give_stretch)
        return b.let("eq", "i64", b.get(self.count), 0)

    def _find(self) -> None:
        """All runs, each put where its first key belongs."""
        b, start = self.b, self.b.var("i64", 0)
        runs = b.var("i64", 0)

        def end_run(stop: Operand) -> None:
            run = b.get(runs)
            b.store(self.stop, run, stop)
            self._insert(run, b.get(start), b.get(self.count))
            b.set(runs, b.add(run, 1))
            b.set(start, stop)

        with b.loop(0, b.divided(b.add(self.n, _CHUNK - 1), _CHUNK)) as part:
            begin = b.add(b.mul(part, _CHUNK), 1)
            end = smaller(b, "i64", b.add(begin, _CHUNK), self.n)
            falls = b.var("bool", False)
            with b.loop(begin, end) as i:
                b.set(falls, b.either(b.get(falls), self._falls(i)))
            with b.when(b.get(falls)), b.loop(begin, end) as i, b.when(self._falls(i)):
                end_run(i)
        end_run(self.n)

    def _falls(self, i: Operand) -> Operand:
        return self.b.let("lt", "u64", self.number(i), self.number(self.b.sub(i, 1)))

    def _end_of_stretch(self, run: Operand, first: Operand) -> Operand:
        """The first place of a run whose key stands behind that of another run; by steps that double, and halving."""
        b, end = self.b, self.b.load(self.stop, run)
        has_other = b.let("lt", "i64", 1, b.get(self.count))
        second = b.select("i64", has_other, 1, 0)
        bound = b.load(self.heads, second)
        comes_first = b.let("lt", "i64", run, b.load(self.order, second))

        def is_behind(i: Operand) -> Operand:
            key = self.number(i)
            is_equal = b.both(b.let("eq", "u64", key, bound), b.negated(comes_first))
            return b.both(has_other, b.either(b.let("lt", "u64", bound, key), is_equal))

        low, step = b.var("i64", b.add(first, 1)), b.var("i64", 1)  # whose first one stands before all others

        def reach() -> Operand:
            far = b.sub(b.add(b.get(low), b.get(step)), 1)
            is_one = b.let("lt", "i64", far, end)
            return b.both(is_one, b.negated(is_behind(b.select("i64", is_one, far, first))))

        def go_on() -> None:
            b.set(low, b.add(b.get(low), b.get(step)))
            b.set(step, b.mul(b.get(step), 2))

        b.repeat(reach, go_on)
        start = b.get(low)
        left = smaller(b, "i64", b.sub(b.get(step), 1), b.sub(end, start))
        return b.add(start, first_by_halving(b, left, lambda i: is_behind(b.add(start, i))))

    def _put_behind(self, run: Operand, first: Operand) -> None:
        """The first run goes on from another place, or is at its end."""
        b = self.b
        b.set(self.count, b.sub(b.get(self.count), 1))
        with b.loop(0, b.get(self.count)) as i:
            self._move(i, b.add(i, 1))
        with b.when(b.let("lt", "i64", first, b.load(self.stop, run))):
            self._insert(run, first, b.get(self.count))

    def _insert(self, run: Operand, first: Operand, count: Operand) -> None:
        """A run goes behind those whose first keys are smaller, or the same and earlier."""
        b = self.b
        b.store(self.first, run, first)
        key, place = self.number(first), b.var("i64", count)

        def is_behind() -> Operand:
            at = b.get(place)
            before = b.select("i64", b.let("lt", "i64", 0, at), b.sub(at, 1), 0)
            other = b.load(self.heads, before)
            is_later = b.both(b.let("eq", "u64", other, key), b.let("lt", "i64", run, b.load(self.order, before)))
            return b.both(b.let("lt", "i64", 0, at), b.either(b.let("lt", "u64", key, other), is_later))

        def move_up() -> None:
            at = b.get(place)
            self._move(at, b.sub(at, 1))
            b.set(place, b.sub(at, 1))

        b.repeat(is_behind, move_up)
        b.store(self.heads, b.get(place), key)
        b.store(self.order, b.get(place), run)
        b.set(self.count, b.add(count, 1))

    def _move(self, to: Operand, source: Operand) -> None:
        b = self.b
        b.store(self.heads, to, b.load(self.heads, source))
        b.store(self.order, to, b.load(self.order, source))
