"""Emits the loop nest of a group of fused nodes: all its members are computed side by side, element by element.

Where every member can be read by number, the nest is one flat loop, whatever the rank. Else there is a loop an axis. A
reduction that keeps the first axes and sums up the others has a variable that starts anew at the right depth; any other
adds up in the array of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import gcd, prod
from typing import Any, cast

from ..ir.builder import Builder
from ..ir.complex_numbers import Pair
from ..ir.edges import Span
from ..ir.loops import FLOATS, FRACTIONS, ITEM, Block, Operand, Reg, Var
from . import few_terms, index_splitting
from .first_calls import STRIP, called_first, keep, may_call, recall
from .forms import (
    Elements,
    Form,
    Index,
    Lazy,
    Stored,
    all_indices,
    count_of,
    is_numbers,
    refuse_none,
    spill,
    strides_of,
    unflattened,
)
from .joint_axes import named, names_any
from .pair_sums import SIDE_BY_SIDE, Numbers, lies_in_pairs, row_total
from .reduces import RUNNING, Reduce
from .shared_loops import emit_shared

LARGE = 1 << 17  # elements from which on a nest is made of parts, which may run in threads ...
LARGE_SUM = 1 << 15  # ... and one that adds them up: there is no other way to share it
MOST_PARTS = 64
MOST_WRITTEN = 4096  # parts of a nest without totals that all parts add to: the user can interrupt between two of them
SHARE = 16  # times as many elements as totals that a part adds up in an array must have
SHORT = 16
QUICK = 4096  # elements up to which nobody has to wait
GRAIN = 1 << 13  # elements of a part, if that does not make too many parts
ROUND = 64  # parts of a flat nest are multiples of it: whole vectors, whole cache lines
STAGE = 1024  # elements of short rows that are computed before they are added up
LONGEST_ROW = 64
LONG_ROW = 256  # elements from which on a row's own loop loses nothing
VECTORS = 16  # numbers of a vector, of the widest there are
TOGETHER = 4  # rows whose elements are added to the same totals while these are in registers ...
FEW_FORMS = 4  # ... where so little is computed that the totals' way to memory and back takes as long ...
MANY_TOTALS = 2048  # ... since so many leave no room beside them in the nearest cache


def is_large(count: Operand, adds_up: bool = False) -> bool:
    """Whether a nest has many elements, or how many is not known now."""
    return type(count) is not int or count >= (LARGE_SUM if adds_up else LARGE)


def poll_often(b: Builder, *extents: Operand) -> None:
    """Lets the user interrupt a loop over so many elements, if they are many or nobody knows how many."""
    if not is_numbers(extents) or prod(cast("tuple[int, ...]", extents)) > QUICK:
        b.poll()


def between(b: Builder, x: Operand, least: int, most: Operand) -> Operand:
    """A number no less and no more than these."""
    if type(x) is int and type(most) is int:
        return min(max(x, least), most)
    x = b.select("i64", b.let("lt", "i64", x, least), least, x)
    return b.select("i64", b.let("gt", "i64", x, most), most, x)


def at_most(b: Builder, x: Operand, most: Operand) -> Operand:
    """The smaller of two extents."""
    if type(x) is int and type(most) is int:
        return min(x, most)
    return b.select("i64", b.let("lt", "i64", most, x), most, x)


def first_by_halving(b: Builder, n: Operand, is_far: Callable[[Operand], Operand]) -> Operand:
    """By halving: the first of n places that is far enough, or n."""
    low, high = b.var("i64", 0), b.var("i64", n)

    def halve() -> None:
        start, end = b.get(low), b.get(high)
        middle = b.divided(b.add(start, end), 2)
        found = is_far(middle)
        b.set(low, b.select("i64", found, start, b.add(middle, 1)))
        b.set(high, b.select("i64", found, middle, end))

    b.repeat(lambda: b.let("lt", "i64", b.get(low), b.get(high)), halve)
    return b.get(low)


@contextmanager
def shares(b: Builder, extent: Operand, size: int, work: Operand | None) -> Iterator[tuple[Operand, Operand]]:
    """`with shares(...) as (first, count):` all of an extent, or a share of it at a time, which threads may run."""
    if work is None or (type(extent) is int and extent <= size):
        yield 0, extent
        return
    with b.loop(0, b.divided(b.add(extent, size - 1), size), work) as share:
        first = b.mul(share, size)
        yield first, at_most(b, size, b.sub(extent, first))


class Write:
    """A member whose value is stored."""

    __slots__ = ("form", "target")

    def __init__(self, form: Form, target: Stored) -> None:
        self.form = form
        self.target = target


class Running(Form):
    """The running total of a form that a primitive makes along the last axis, from the first element to the last; it is
    read in the order of a nest."""

    __slots__ = ("join", "kept", "start", "x")

    def __init__(self, name: str, x: Form) -> None:
        super().__init__(x.shape, x.type)
        self.x = x
        self.kept = RUNNING[name].kept(x.type)
        self.start = RUNNING[name].neutral(self.kept)
        self.join = RUNNING[name].join

    def begin(self, b: Builder) -> None:
        """The total starts anew."""
        b.remember(("total", self), b.var(self.kept, self.start))

    def at(self, b: Builder, index: Index) -> Operand:
        key = (self, index)
        found = b.known(key)
        if found is None:
            total: Var = b.known(("total", self))
            found = self.join(b, self.kept, b.get(total), b.convert(self.kept, self.type, self.x.at(b, index)))
            b.set(total, found)
            found = b.convert(self.type, self.kept, found)
            b.remember(key, found)
        return found


class Sum:
    """A member that reduces a form over axes into a target (None: into registers, of a reduction of everything)."""

    __slots__ = ("axes", "depth", "form", "is_shared", "kept", "kind", "parts", "result", "target", "total", "var")

    def __init__(self, form: Form, kind: Reduce, axes: tuple[int, ...], target: Stored | None) -> None:
        self.form = form
        self.kind = kind
        self.axes = axes
        self.target = target
        self.kept = kind.kept(form.type)
        rank = len(form.shape)
        kept = [a for a in range(rank) if a not in axes]
        self.depth = len(kept) if kept == [*range(len(kept))] else -1
        self.is_shared = self.depth < 0 and 0 in axes  # whether all indices along the first axis add to the same totals
        self.var: Var | None = None
        self.total: Stored | None = None  # where it adds up, if that is an array
        self.parts: Stored | None = None  # an array for each part of the first axis, if there are several
        self.result: Operand = 0

    def start(self, b: Builder) -> None:
        """A variable begins."""
        self.var = b.var(self.kept, self.kind.start(self.kept))

    def join(self, b: Builder, x: Operand, index: Index) -> None:
        """An element joins."""
        x = b.convert(self.kept, self.form.type, x)
        if self.var is not None:
            b.set(self.var, self.kind.join(b, self.kept, b.get(self.var), x))
            return
        assert self.total is not None
        place = (*[i for a, i in enumerate(index) if a not in self.axes],)
        self.total.store(b, place, self.kind.join(b, self.kept, self.total.at(b, place), x))

    def end(self, b: Builder, index: Index) -> None:
        """A variable's total is done."""
        assert self.var is not None
        found = b.convert(self.form.type, self.kept, b.get(self.var))
        if self.target is None:
            self.result = found
        else:
            self.target.store(b, index, found)


def emit(
    b: Builder, shape: Sequence[Operand], writes: list[Write], sums: list[Sum], forms: Sequence[Form] = ()
) -> None:  # fmt: skip
    """Emits the nest of a group over a shape.

    Args:
        b: the builder.
        shape: the extents.
        writes: what is stored.
        sums: what is reduced.
        forms: what is computed on the way, each from those before it: so that nothing is computed by recursion.
    """
    spill(b, [*(w.form for w in writes), *(s.form for s in sums), *forms])
    if sums and not writes and not b.width and (apart := _written_out(sums, forms)):
        sums, writes, forms = [], apart, ()
        shape = apart[0].target.shape
    last = len(shape) - 1
    if sums and not writes and not forms and all(_keeps_pairs(b, total, last) for total in sums):
        _emit_numbers(b, shape, sums)
        return
    _Nest(b, (*shape,), writes, sums, forms).run()


def _keeps_pairs(b: Builder, total: Sum, last: int) -> bool:
    """Whether complex numbers are added up over other axes than the last one, along which they lie side by side."""
    return (
        last > 0
        and not b.width
        and last not in total.axes
        and total.target is not None
        and lies_in_pairs(total.form, total.kind)
    )


def _emit_numbers(b: Builder, shape: Sequence[Operand], sums: list[Sum]) -> None:
    """Sums of complex numbers over other axes than the last one: of the real numbers that they are in memory."""
    made: list[Sum] = []
    for total in sums:
        target = cast(Stored, total.target)
        extents = (*target.shape[:-1], b.mul(target.shape[-1], 2))
        count = count_of(b, extents)
        totals = Stored(extents, b.alloc(ITEM[total.kept], count), 0, strides_of(b, extents), True)
        made.append(Sum(Numbers(b, cast(Stored, total.form)), total.kind, total.axes, totals))
    _Nest(b, made[0].form.shape, [], made, []).run()
    for total, found in zip(sums, made, strict=True):
        target, totals = cast(Stored, total.target), cast(Stored, found.target).array
        with b.loop(0, count_of(b, target.shape)) as place:
            first = b.mul(place, 2)
            pair: Any = Pair(b.load(totals, first), b.load(totals, b.add(first, 1)))
            b.store(target.array, b.add(target.offset, place), b.convert(target.type, total.kept, pair))


def _written_out(sums: list[Sum], forms: Sequence[Form]) -> list[Write]:
    """Reductions that add up in arrays, of few terms, as writes of their totals; none where that is not so of all."""
    axes = sums[0].axes
    if not all(s.depth < 0 and s.axes == axes and few_terms.are_few(s.form, axes, len(forms)) for s in sums):
        return []
    found: list[Write] = []
    for total in sums:
        assert total.target is not None
        written = few_terms.totals(
            total.form, total.kind, axes, total.target.type, [f for f in forms if type(f) is Lazy]
        )
        found.append(Write(written, total.target))
    return found


class _Nest:
    def __init__(
        self, b: Builder, shape: Index, writes: list[Write], sums: list[Sum], forms: Sequence[Form]
    ) -> None:  # fmt: skip
        self.b = b
        self.forms = [f for f in forms if type(f) is Lazy or type(f) is Running]
        self.totals = [f for f in forms if type(f) is Running]
        self.shape = shape
        self.writes = writes
        self.sums = sums
        self.row_depth = self.depth_of_rows()
        self.apart: set[int] = set()  # axes from which on not all can be gone along as one
        self.firsts: list[Operand] = []  # indices along the first axis of the rows that are added up together

    def run(self) -> None:
        for total in self.sums:
            if total.kind.needs_some:
                refuse_none(self.b, [self.shape[a] for a in total.axes])
        parts = self.most_parts()
        for total in self.sums:
            if total.depth < 0:
                self.start_array(total, parts)
        if self.is_flat():
            self.flat()
        elif self.is_staged():
            self.staged(parts)
        elif not (type(parts) is int and parts == 1):
            self.in_parts(self.shape[0], self.grain(), count_of(self.b, self.shape), self.rows, parts)
        elif self.is_free() and type(count := count_of(self.b, self.shape)) is int:
            emit_shared(self.b, count, lambda: self.axis(0, ()))
        else:
            self.together_or(lambda: self.rows_together(0, self.shape[0]), lambda: self.axis(0, ()))
        for total in self.sums:
            if total.depth < 0 and total.total is not total.target:
                self.finish_array(total)

    def is_free(self) -> bool:
        """Whether no index along the first axis needs what another one computes."""
        return bool(self.shape) and not self.totals and all(total.depth > 0 for total in self.sums)

    def is_flat(self) -> bool:
        return self.is_by_number() and all(s.depth == 0 for s in self.sums)

    def flat(self) -> None:
        b = self.b
        count = count_of(b, self.shape)
        if is_large(count, bool(self.sums)) and not b.width:
            self.in_parts(count, GRAIN, count, self.places, MOST_PARTS if self.sums else MOST_WRITTEN)
            return
        for total in self.sums:
            total.start(b)
        if self.sums or type(count) is not int:
            self.places(0, count)
        else:
            emit_shared(b, count, lambda: self.places(0, count))
        for total in self.sums:
            total.end(b, ())

    # -- short rows -----------------------------------------------------------------------------------------------

    def is_staged(self) -> bool:
        """Whether rows are computed many at a time, and then added up: short ones of functions that vectors compute
        for a fraction of the time, which a loop over one row leaves no room for."""
        b = self.b
        if b.width or self.totals or not self.sums or not self.is_by_number():
            return False
        depth = self.sums[0].depth
        if depth < 1 or any(s.depth != depth or s.form.type not in FLOATS for s in self.sums):
            return False
        row, count = count_of(b, self.shape[depth:]), count_of(b, self.shape)
        if type(row) is not int or not 2 <= row <= LONGEST_ROW or (type(count) is int and count < 2 * VECTORS):
            return False
        return index_splitting.gains(b, row, self.place_of_all)

    def is_by_number(self) -> bool:
        """Whether all that is computed can be read by number, in row-major order."""
        forms = [w.form for w in self.writes] + [s.form for s in self.sums]
        return all(f.is_flat() for f in forms) and all(w.target.is_dense for w in self.writes)

    def place_of_all(self, place: Operand) -> list[Operand]:
        """What reductions take of the element of a number; the others are stored."""
        b = self.b
        for form in self.forms:
            form.at_flat(b, place)
        for write in self.writes:
            value = write.form.at_flat(b, place)
            b.store(write.target.array, b.add(write.target.offset, place), value)
        return [total.form.at_flat(b, place) for total in self.sums]

    def staged(self, parts: Operand) -> None:
        """All rows, in parts that may run in threads if there are many."""
        depth, count = self.sums[0].depth, count_of(self.b, self.shape)
        rows, row = count_of(self.b, self.shape[:depth]), count_of(self.b, self.shape[depth:])
        if type(parts) is int and parts == 1:
            self.rows_in_stages(0, rows)
        else:
            self.in_parts(rows, GRAIN // cast(int, row), count, self.rows_in_stages, parts)

    def rows_in_stages(self, start: Operand, stop: Operand) -> None:
        """Rows of a range: so many at a time that vectors compute their elements, then their totals."""
        b, depth = self.b, self.sums[0].depth
        row = cast(int, count_of(b, self.shape[depth:]))
        most = STAGE // VECTORS // row * VECTORS
        held = [b.local(total.form.type, most * row) for total in self.sums]
        with b.loop(0, b.divided(b.add(b.sub(stop, start), most - 1), most)) as stage:
            first = b.add(start, b.mul(stage, most))
            count = at_most(b, most, b.sub(stop, first))
            begin = b.mul(first, row)
            with b.loop(0, b.mul(count, row)) as i:
                for place, value in zip(held, self.place_of_all(b.add(begin, i)), strict=True):
                    b.store(place, i, value)
            with b.loop(0, count) as number:
                for total in self.sums:
                    total.start(b)
                with b.loop(b.mul(number, row), b.mul(b.add(number, 1), row)) as i:
                    for total, place in zip(self.sums, held, strict=True):
                        total.join(b, b.load(place, i), ())
                for total in self.sums:
                    total.end(b, unflattened(b, self.shape[:depth], b.add(first, number)))

    # -- by number ------------------------------------------------------------------------------------------------

    def places(self, start: Operand, stop: Operand) -> None:
        """The elements of a range, by number."""
        b, count = self.b, count_of(self.b, self.shape)
        if self.adds_pairs(count):
            self.join_pairs((), start, b.sub(stop, start))
            return
        multiple = gcd(count, ROUND) if type(count) is int else 1
        whole: Block = []
        with b.inside(whole):
            index_splitting.iterations(b, start, stop, self.place, multiple, count)
        first_ones = called_first(b, self.forms, start, stop) if may_call(whole) else []
        if not first_ones:
            b.block += whole
            return
        held = [b.local(form.type, STRIP) for form in first_ones]
        with b.loop(0, b.divided(b.add(b.sub(stop, start), STRIP - 1), STRIP)) as strip:
            first = b.add(start, b.mul(strip, STRIP))
            count = at_most(b, STRIP, b.sub(stop, first))
            with b.loop(0, count) as i:
                keep(b, first_ones, held, first, i)
            with b.loop(0, count) as i:
                self.place(recall(b, first_ones, held, first, i))

    def place(self, place: Operand) -> None:
        """The element of a number."""
        for total, value in zip(self.sums, self.place_of_all(place), strict=True):
            total.join(self.b, value, ())

    def in_parts(
        self, count: Operand, grain: Operand, work: Operand, body: Callable[[Operand, Operand], None],
        most: Operand,
    ) -> None:  # fmt: skip
        """A range in parts, which may run in threads.

        How many parts there are follows from the range alone, and reductions that all parts add to join the parts'
        totals in order: so the result is the same for any number of threads.
        """
        b = self.b
        sums = [s for s in self.sums if s.depth == 0]
        held = [b.local(s.kept, MOST_PARTS) for s in sums]
        shared = [s for s in self.sums if s.parts is not None]
        parts = between(b, b.divided(b.sub(b.add(count, grain), 1), grain), 1, most)
        size = b.divided(b.sub(b.add(count, parts), 1), parts)
        if type(grain) is not int or grain > 1:
            size = b.mul(b.divided(b.add(size, ROUND - 1), ROUND), ROUND)
        with b.loop(0, parts, work) as part:
            for total in sums:
                total.start(b)
            for total in shared:
                self.start_part(total, part)
            first = b.mul(part, size)
            last = b.add(first, size)
            body(first, b.select("i64", b.let("lt", "i64", last, count), last, count))
            for total, place in zip(sums, held, strict=True):
                assert total.var is not None
                b.store(place, part, b.get(total.var))
        for total, place in zip(sums, held, strict=True):
            total.start(b)
            assert total.var is not None
            with b.loop(0, parts) as part:
                b.set(total.var, total.kind.join(b, total.kept, b.get(total.var), b.load(place, part)))
            total.end(b, ())
        for total in shared:
            self.join_parts(total, parts)

    def grain(self) -> Operand:
        """How many indices along the first axis a part has at least: of few short rows LLVM makes no vectors."""
        inside = between(self.b, count_of(self.b, self.shape[1:]), 1, GRAIN)
        return self.b.divided(GRAIN, inside)

    def most_parts(self) -> Operand:
        """In how many parts the first axis may go, side by side: 1 where there is little to do.

        Where parts would add to the same totals, in an array, each has an array of its own: few beside what it adds up.
        """
        b, count = self.b, count_of(self.b, self.shape)
        if b.width or not self.shape or not is_large(count, self.adds_up()) or self.is_flat():
            return 1
        if not self.adds_up():
            return MOST_WRITTEN
        found: Operand = MOST_PARTS
        for total in self.sums:
            if total.is_shared:
                assert total.target is not None
                room = b.add(b.mul(count_of(b, total.target.shape), SHARE), 1)
                found = between(b, b.divided(count, room), 1, found)
        return found

    def adds_up(self) -> bool:
        """Whether something is added up over the first axis, or in an array."""
        return any(total.depth <= 0 for total in self.sums)

    def rows(self, start: Operand, stop: Operand) -> None:
        """The elements of a range along the first axis."""
        extent = self.shape[0] if self.shape else -1
        multiple = gcd(extent, ROUND) if type(extent) is int and len(self.shape) == 1 else 1  # parts are, too
        self.together_or(
            lambda: self.rows_together(start, stop),
            lambda: index_splitting.iterations(self.b, start, stop, lambda i: self.axis(1, (i,)), multiple, extent),
        )

    def is_added_together(self) -> Operand:
        """Whether rows go several at a time: all that they do is to be added to many totals, which lie along the last
        axis as they do, and none is computed in another way than others. How many there are may be known later."""
        b, last = self.b, len(self.shape) - 1
        if b.width or self.writes or self.totals or last < 1 or not 0 < len(self.forms) + len(self.sums) <= FEW_FORMS:
            return False
        if not all(total.is_shared and last not in total.axes for total in self.sums):
            return False
        counts = [count_of(b, [n for a, n in enumerate(self.shape) if a not in t.axes]) for t in self.sums]
        if any(type(n) is int and n < MANY_TOTALS for n in counts):
            return False
        extent, row = self.shape[0], b.reg("i64")
        if type(extent) is int and extent < TOGETHER:
            return False
        with b.inside([]), b.spanning(row, b.span_of(extent) or Span.of(0, LARGE)) as cuts:
            self.axis(1, (row,))
        return not cuts and b.let("ge", "i64", counts[0], MANY_TOTALS)

    def together_or(self, together: Callable[[], None], singly: Callable[[], None]) -> None:
        """Emits what adds up several rows at a time, or one, or both where only the run tells which is to be."""
        is_together = self.is_added_together()
        if type(is_together) is bool:
            (together if is_together else singly)()
            return
        with self.b.when(is_together) as branch:
            together()
        with self.b.inside(branch.other):
            singly()

    def rows_together(self, start: Operand, stop: Operand) -> None:
        """The elements of a range along the first axis, of several rows side by side, then of each that is left."""
        b = self.b
        whole = b.divided(b.sub(stop, start), TOGETHER)
        with b.loop(0, whole) as number:
            first = b.add(start, b.mul(number, TOGETHER))
            self.firsts = [b.add(first, i) for i in range(TOGETHER)]
            self.axis(1, (first,))
            self.firsts = []
        with b.loop(b.add(start, b.mul(whole, TOGETHER)), stop) as row:
            self.axis(1, (row,))

    def axis(self, depth: int, index: Index) -> None:
        """The loops from an axis on."""
        b = self.b
        mine = [s for s in self.sums if s.depth == depth]
        for total in mine:
            total.start(b)
        if depth + 1 == len(self.shape):
            for total in self.totals:
                total.begin(b)
        if depth == len(self.shape):
            self.element(index)
        elif depth == self.row_depth:
            self.row(index)
        elif depth + 1 == len(self.shape) and self.adds_pairs(self.shape[depth]):
            self.join_pairs(index, 0, self.shape[depth])
        elif self.is_joint(depth, index):
            self.joint_row(index)
        elif type(self.shape[depth]) is int and self.shape[depth] == 1:
            self.axis(depth + 1, (*index, 0))
        elif b.width > 1 and self.is_short(depth):
            for i in range(self.shape[depth]):  # pyright: ignore[reportArgumentType]  # extents that are numbers
                with b.scope():
                    self.axis(depth + 1, (*index, i))
        else:
            index_splitting.iterations(b, 0, self.shape[depth], lambda i: self.axis(depth + 1, (*index, i)))
        for total in mine:
            total.end(b, index)

    def depth_of_rows(self) -> int:
        """The axis from which on a reduction takes all that there is, side by side in memory; -1 if there is none."""
        depth = self.sums[0].depth if self.sums else -1
        is_one = 0 < depth < len(self.shape) - 1 and all(total.depth == depth for total in self.sums)
        return depth if is_one and not self.b.width and not self.totals and self.is_by_number() else -1

    def row(self, index: Index) -> None:
        """What a reduction takes over several axes, in one loop: of it LLVM makes longer vectors than of the last."""
        b, depth = self.b, len(index)
        first: Operand = 0
        for i, extent in zip(index, self.shape, strict=False):
            first = b.place(first, extent, i)
        row = count_of(b, self.shape[depth:])
        if self.adds_pairs(row):
            self.join_pairs((), b.mul(first, row), row)
            return
        index_splitting.iterations(b, 0, row, lambda i: self.place(b.place(first, row, i)))

    def adds_pairs(self, count: Operand) -> bool:
        """Whether all that rows of so many elements do is to be added up, as complex numbers that lie side by side."""
        if self.b.width or self.writes or self.forms or (type(count) is int and count < 2 * SIDE_BY_SIDE):
            return False
        return all(total.depth >= 0 and lies_in_pairs(total.form, total.kind) for total in self.sums)

    def join_pairs(self, index: Index, start: Operand, count: Operand) -> None:
        """Adds a row of complex numbers up, from an element on: of an index, or by number where that is empty."""
        b = self.b
        for total in self.sums:
            pairs, var = cast(Stored, total.form), cast(Var, total.var)
            first = pairs.place(b, (*index, 0)) if index else pairs.offset
            found = row_total(b, pairs.array, b.add(first, start), count)
            b.set(var, total.kind.join(b, total.kept, b.get(var), found))

    def is_joint(self, depth: int, index: Index) -> bool:
        """Whether all axes from one on can be gone along as one, which is worth it where the last one is short."""
        tail = self.shape[depth:]
        if self.b.width or self.totals or depth in self.apart or any(s.depth > depth for s in self.sums):
            return False
        if len(tail) < 2 or not is_numbers(tail) or 1 in tail or 0 in tail or cast(int, tail[-1]) >= LONG_ROW:
            return False
        trial: Block = []  # for each index anew: it may decide what is read
        with self.b.inside(trial):
            names = self.joint_element(index, self.b.reg("i64"))
        if names_any(trial, names):
            self.apart.add(depth)
        return depth not in self.apart

    def joint_row(self, index: Index) -> None:
        """All elements along joined axes."""

        def element(number: Operand) -> None:
            self.joint_element(index, number)

        index_splitting.iterations(self.b, 0, count_of(self.b, self.shape[len(index) :]), element)

    def joint_element(self, index: Index, number: Operand) -> tuple[Reg, ...]:
        """The element of a number along joined axes; the names of its index."""
        names = named(self.b, cast("tuple[int, ...]", self.shape[len(index) :]), number)
        self.element((*index, *names))
        return names

    def is_short(self, depth: int) -> bool:
        """Whether the last loop is written out: in lanes, where the compiler does not."""
        n = self.shape[depth]
        return depth > 0 and depth + 1 == len(self.shape) and type(n) is int and n <= SHORT

    def element(self, index: Index) -> None:
        b = self.b
        for form in self.forms:
            form.at(b, index)
        for write in self.writes:
            write.target.store(b, index, write.form.at(b, index))
        for total in self.sums:
            for first in self.firsts or index[:1]:
                own = (first, *index[1:])
                total.join(b, total.form.at(b, own), own)

    # -- reductions that add up in an array -----------------------------------------------------------------------

    def start_array(self, total: Sum, parts: Operand) -> None:
        b, target = self.b, total.target
        assert target is not None
        count = count_of(b, target.shape)
        if total.is_shared and not (type(parts) is int and parts == 1):
            total.parts = Stored((parts, count), b.alloc(total.kept, b.mul(parts, count)), 0, (count, 1), True)
            total.total = Stored(target.shape, total.parts.array, 0, target.strides, True)
            return
        total.total = target
        if total.kept != target.type:
            total.total = Stored(target.shape, b.alloc(total.kept, count), 0, target.strides, True)
        self.start_totals(total, total.total)

    def start_totals(self, total: Sum, totals: Stored) -> None:
        b, start = self.b, total.kind.start(total.kept)
        with b.loop(0, count_of(b, totals.shape)) as place:
            b.store(totals.array, b.add(totals.offset, place), start)

    def start_part(self, total: Sum, part: Operand) -> None:
        """A part's own totals begin."""
        assert total.parts is not None
        assert total.total is not None
        own = total.parts.row(self.b, part)
        total.total = Stored(total.total.shape, own.array, own.offset, total.total.strides, True)
        self.start_totals(total, total.total)

    def join_parts(self, total: Sum, parts: Operand) -> None:
        """All parts' totals join those of the first, in order."""
        b, held = self.b, total.parts
        assert held is not None
        assert total.total is not None
        with b.loop(1, parts) as part, b.loop(0, held.shape[1]) as place:
            joined = total.kind.join(b, total.kept, held.at(b, (0, place)), held.at(b, (part, place)))
            held.store(b, (0, place), joined)
        total.total = Stored(total.total.shape, held.array, 0, total.total.strides, True)

    def finish_array(self, total: Sum) -> None:
        b, target, found = self.b, total.target, total.total
        assert target is not None
        assert found is not None
        with b.loop(0, count_of(b, target.shape)) as place:
            value = b.convert(target.type, total.kept, b.load(found.array, place))
            b.store(target.array, b.add(target.offset, place), value)


def copy(b: Builder, form: Form, target: Stored) -> None:
    """Stores a form."""
    if type(form) is Elements and target.is_dense:
        for place, item in enumerate(form.items):
            b.store(target.array, b.add(target.offset, place), item)
        return
    if type(form) is Stored and form.is_dense and target.is_dense and not b.width:
        b.copy(target.array, target.offset, form.array, form.offset, count_of(b, form.shape))
        return
    emit(b, form.shape, [Write(form, target)], [])


def reduced_small(b: Builder, form: Form, kind: Reduce, axes: tuple[int, ...], shape: Sequence[Any]) -> list[Operand]:
    """The elements of a reduction of few elements, written out."""
    kept = kind.kept(form.type)
    totals: dict[Any, Operand] = {}
    begins = kind.begins and kept in FRACTIONS
    for index in all_indices(form.shape):  # pyright: ignore[reportArgumentType]  # extents that are numbers
        place = (*[i for a, i in enumerate(index) if a not in axes],)
        x = b.convert(kept, form.type, form.at(b, index))
        if begins:
            totals.setdefault(place, kind.start(kept))
        totals[place] = kind.joined(b, kept, totals[place], x) if place in totals else x
    found = [totals.get(place, kind.start(kept)) for place in all_indices((*shape,))]
    return [b.convert(form.type, kept, x) if form.type != kept else x for x in found]
