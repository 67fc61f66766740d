"""Lowers a `TILED` node (`plan/tiles.py`): a loop over rows that runs the graph of one row for many rows side by side.

The graph of one row is lowered as any other, inside `Lanes`: each operation is done for a vector of rows, and what a
row makes on its way is an array of the lanes' own, small enough for the caches. The last block takes some rows again
that the one before had, where the number of rows asks for it: the same numbers are stored twice, and no other code is
needed. Where rows are added up, those that are left over go through code of their own, in whose first lanes are rows
again that add nothing; where only the run tells how many, one by one. Lanes are a power of two: of others LLVM 20 ends
the process when it takes them apart. Long rows go one by one in any case, each as vectors of its own elements.

Many rows are split into parts, which may run in threads. How many there are follows from the graph and its sizes alone,
and each part adds up its sums over rows by itself, in the order of its blocks; in the end the parts' sums are added up
in their order. So results are the same for any number of threads. Sums of few elements are kept as vectors, a slot for
each lane of a vector, and only added up within vectors in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ...._core.graph import Graph, Node
from ...._core.tensor import Value
from ..ir.builder import Builder
from ..ir.loops import FLOATS, Copy, Lanes, Operand, blocks_of
from ..ir.loops import Block as Instructions
from ..ir.outlining import walk
from ..llvm import lanes
from ..plan.row_rules import without
from ..plan.schedule import Kind, is_small, schedule, static_size
from ..plan.tiles import Rows
from . import nests
from .blocks import Block, kind_of, singles
from .forms import (
    TYPE_OF,
    Elements,
    Extents,
    Form,
    Lazy,
    Stored,
    count_of,
    is_numbers,
    row_major,
    spill,
    strides_of,
)
from .ranges import smaller
from .row_sums import SLOTS, Accumulated, Multiplied, Products, Slotted, Wide, length_of

WIDEST = 16  # rows side by side: vectors of the machine's that hide one another's latency; more only make code longer
NARROWEST = 8
SHARE = 150_000  # elements that a part of the rows has at least
MOST_PARTS = 16
ALL_SUMS = 512 * 1024  # bytes of the sums of all parts
FULL = 128 * 1024  # bytes of sums in parts; larger ones are added up at once
ROOM = 512 * 1024  # bytes that the lanes' own arrays should not exceed


def _tiled(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    return _Tiling(block, node, forms).run()


class _Tiling:
    def __init__(self, block: Block, node: Node, forms: list[Form]) -> None:
        self.block = block
        self.b = block.b
        self.node = node
        self.rows: Rows = node.attrs[0]
        self.forms = forms
        self.count = block.extent(self.rows.extent)
        self.targets: list[Stored] = []
        self.work = self.b.mul(self.count, max(1, _cost(self.rows.graph) // 8))
        most = max(2, min(MOST_PARTS, ALL_SUMS // max(1, self.bytes_of_sums())))
        self.parts: Operand = nests.between(self.b, self.b.divided(self.work, SHARE), 1, most)
        self.most: Extents = () if type(self.parts) is int and self.parts == 1 else (most,)
        self.part: Operand = 0

    def run(self) -> Sequence[Form]:
        shared = [self.shared(f) if axis is None else f for f, axis in zip(self.forms, self.rows.takes, strict=True)]
        spill(self.b, shared)
        self.prepare()
        emitted: Instructions = []
        with self.b.inside(emitted):
            self.all_rows(shared)
        emitted[:] = _without_copies(self.b, emitted)
        if not all(map(lanes.suits, (item for item in walk(emitted) if type(item) is Lanes))):
            return self.plainly()
        self.begin()
        self.b.block += emitted
        return self.finish()

    def shared(self, form: Form) -> Form:
        """An operand that all rows read: not computed anew for each."""
        return self.block.dense(form) if type(form) is Lazy and form.sources else form

    def plainly(self) -> Sequence[Form]:
        """The group without tiles."""
        plain = self.rows.plain
        known = {v.key: f for v, f in zip(self.node.inputs, self.forms, strict=True)}
        inner = Block(self.block.setting, plain, [known[v.key] for v in plain.inputs], self.block.sizes)
        return inner.run([self.block.room(v) for v in self.node.outputs])

    # -- results --------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Where results are stored or added up."""
        for value, axis in zip(self.node.outputs, self.rows.gives, strict=True):
            if axis is not None or self.is_plain(value):
                self.targets.append(self.block.room(value))
            else:
                slots = (SLOTS,) if self.is_slotted(value) else ()
                shape = (*self.most, *self.block.shape(value), *slots)
                self.targets.append(self.block.fresh(shape, _kept(value)))

    def is_plain(self, value: Value) -> bool:
        """Whether a sum over rows is added up where it is to be in the end."""
        return not (self.most or self.is_slotted(value) or _kept(value) != TYPE_OF[value.dtype])

    def bytes_of_sums(self) -> int:
        """How much one part of the rows adds up in."""
        pairs = zip(self.node.outputs, self.rows.gives, strict=True)
        return sum(
            8 * (static_size(v.shape) or 1) * (SLOTS if self.is_slotted(v) else 1) for v, axis in pairs if axis is None
        )

    def is_slotted(self, value: Value) -> bool:
        """Whether a sum over rows is added up in parts."""
        if TYPE_OF[value.dtype] not in FLOATS or self.rows.is_single:
            return False
        size = static_size(value.shape)
        return value.dtype.itemsize == 4 or (size is not None and size * SLOTS * 8 <= FULL)

    def begin(self) -> None:
        for target, axis in zip(self.targets, self.rows.gives, strict=True):
            if axis is None:
                count = count_of(self.b, target.shape[len(self.most) :])
                self.b.fill(target.array, target.offset, self.b.mul(count, self.parts))

    def finish(self) -> list[Form]:
        found: list[Form] = []
        for value, axis, target in zip(self.node.outputs, self.rows.gives, self.targets, strict=True):
            if axis is None and self.is_slotted(value):
                found.append(self.from_slots(value, target))
            elif axis is None and not self.is_plain(value):
                found.append(self.from_parts(value, target))
            else:
                found.append(target)
        return found

    def from_slots(self, value: Value, held: Stored) -> Stored:
        """A sum over rows, of all slots of all parts."""
        b, whole = self.b, self.block.room(value)
        total = whole if whole.type == "f64" else self.block.fresh(whole.shape, "f64")
        count = count_of(b, total.shape)
        b.fill(total.array, total.offset, count)
        size = b.mul(count, SLOTS)
        with b.lanes(SLOTS) as made, b.loop(0, count) as place:
            slot = b.add(b.mul(place, SLOTS), made.index)
            found = self.joined("f64", lambda part: b.load(held.array, b.add(b.mul(part, size), slot)))
            b.accumulate(total.array, b.add(total.offset, place), found)
        if total is not whole:
            nests.copy(b, Lazy(total.shape, "f32", lambda b, i: b.convert("f32", "f64", total.at(b, i))), whole)
        return whole

    def from_parts(self, value: Value, held: Stored) -> Stored:
        """A sum over rows, of all parts."""
        b, whole = self.b, self.block.room(value)
        count = count_of(b, whole.shape)
        with b.loop(0, count) as place:
            found = self.joined(held.type, lambda part: b.load(held.array, b.add(b.mul(part, count), place)))
            b.store(whole.array, b.add(whole.offset, place), b.convert(whole.type, held.type, found))
        return whole

    def joined(self, type_: str, of_part: Callable[[Operand], Operand]) -> Operand:
        """What the parts have, added up in their order."""
        b = self.b
        if not self.most:
            return of_part(0)
        total = b.var(type_, of_part(0))
        with b.loop(1, self.parts) as part:
            b.set(total, b.let("or" if type_ == "bool" else "add", type_, b.get(total), of_part(part)))
        return b.get(total)

    # -- rows -----------------------------------------------------------------------------------------------------

    def width(self) -> int:
        """How many rows go side by side."""
        graph, width = self.rows.graph, WIDEST
        if self.rows.is_single:
            return 1
        plan = schedule(graph.nodes, [*map(kind_of, graph.nodes)], [v for v in graph.outputs if not is_small(v)])
        single = {v.key for node in graph.nodes if kind_of(node) is Kind.SINGLE for v in node.outputs}
        kept = [v for node in graph.nodes for v in node.outputs if v.key in plan.stored or v.key in single]
        size = sum(prod(n for n in v.shape if type(n) is int) * v.dtype.itemsize for v in kept)
        while width > NARROWEST and size * width > ROOM:
            width //= 2
        return width

    def all_rows(self, forms: Sequence[Form]) -> None:
        b, width, count = self.b, self.width(), self.count
        if type(count) is int:
            width = min(width, _power(count))
        may_repeat = width != 1 and None not in self.rows.gives  # stored twice is the same; added twice is not
        blocks, done = self.blocks_again(width) if may_repeat else self.blocks_once(width)
        if self.most:
            self.in_parts(forms, blocks, width, may_repeat)
        elif type(blocks) is int and blocks == 1:
            self.some_rows(forms, 0, width)
        else:
            with b.loop(0, blocks) as number:
                self.some_rows(forms, self.first_row(number, width, may_repeat), width)
        rest = b.sub(count, done)
        if type(rest) is int:
            if rest:
                width = _power(2 * rest - 1)
                self.some_rows(forms, b.sub(count, width), width, width - rest)
        else:
            with b.loop(done, count) as row:
                self.some_rows(forms, row, 1)

    def blocks_once(self, width: int) -> tuple[Operand, Operand]:
        """How many blocks there are without a row twice, and how many rows these are."""
        blocks = self.b.divided(self.count, width)
        return blocks, self.b.mul(blocks, width)

    def blocks_again(self, width: int) -> tuple[Operand, Operand]:
        """How many blocks there are if all rows are in one, and how many rows these are: none where they fill none."""
        b, count = self.b, self.count
        blocks = b.divided(b.add(count, width - 1), width)
        if type(count) is int:
            return blocks, count
        is_enough = b.let("ge", "i64", count, width)
        return b.select("i64", is_enough, blocks, 0), b.select("i64", is_enough, count, 0)

    def first_row(self, number: Operand, width: int, may_repeat: bool) -> Operand:
        """Where a block begins; the last one early enough to end with the last row."""
        first = self.b.mul(number, width)
        if not may_repeat or (type(self.count) is int and self.count % width == 0):
            return first
        return smaller(self.b, first, self.b.sub(self.count, width))

    def in_parts(self, forms: Sequence[Form], blocks: Operand, width: int, may_repeat: bool) -> None:
        """All blocks of rows, in parts that may run in threads; how many there are follows from the rows alone."""
        b = self.b
        size = b.divided(b.sub(b.add(blocks, self.parts), 1), self.parts)
        with b.loop(0, self.parts, self.work) as part:
            self.part = part
            first = b.mul(part, size)
            last = smaller(b, b.add(first, size), blocks)
            with b.loop(first, last) as number:
                self.some_rows(forms, self.first_row(number, width, may_repeat), width)
        self.part = 0

    def some_rows(self, forms: Sequence[Form], first: Operand, width: int, again: int = 0) -> None:
        """So many rows from one on; the first `again` of them are in the sums already."""
        b, rows = self.b, self.rows
        with b.lanes(width, again=again) as made:
            row = b.add(first, made.index)
            pairs = zip(forms, rows.takes, rows.graph.inputs[1:], strict=True)
            taken = [f if axis is None else self.taken(f, axis, row, v.shape) for f, axis, v in pairs]
            inner = Block(self.block.setting, rows.graph, [Elements((), "i64", [row]), *taken], self.block.sizes)
            targets: list[Stored | None] = []
            late: list[tuple[int, Stored]] = []
            for target, axis, terms in zip(self.targets, rows.gives, rows.terms, strict=True):
                value = rows.graph.outputs[len(targets)]
                if terms == 1:
                    targets.append(self.target(target, axis, row, inner.shape(value)))
                    continue
                early = self.early_products(inner, len(targets), target)
                if early is None:
                    late.append((len(targets), target))
                targets += early or [None, None]
            found = inner.run(targets)
            for place, target in late:
                x, y = found[place : place + 2]
                self.late_products(x, y, target)

    def late_products(self, x: Form, y: Form, target: Stored) -> None:
        """Products of two vectors that both are there."""
        b, whole = self.b, self.sum(target, (x.shape[0], y.shape[0]))
        is_first = length_of(y) > length_of(x)
        products = Products(b, x if is_first else y, whole, is_first)
        long = y if is_first else x
        spill(b, [long])
        with b.loop(0, long.shape[0]) as i:
            products.add(i, long.at(b, (i,)))

    def early_products(self, inner: Block, place: int, target: Stored) -> list[Stored | None] | None:
        """Products of a vector that is there already, an operand, and one that is computed: with its elements.

        Returns:
            Where the two results of the row's graph go; None if that cannot be.
        """
        graph = self.rows.graph
        source = {node.outputs[0].key: node.inputs[0] for node in graph.nodes[-len(graph.outputs) :]}
        values = graph.outputs[place : place + 2]
        forms = [inner.forms.get(source[v.key].key) for v in values]
        for known, other in ((0, 1), (1, 0)):
            form, long = forms[known], values[other]
            if form is not None and forms[other] is None and not is_small(long):
                if (static_size(long.shape) or 0) < length_of(form):
                    continue
                shape = (*[inner.shape(v)[0] for v in values],)
                products = Products(self.b, form, self.sum(target, shape), known == 0)
                result: list[Stored | None] = [None, None]
                result[other] = Multiplied(products, inner.shape(long))
                return result
        return None

    def taken(self, form: Form, axis: int, row: Operand, shape: Sequence[Any]) -> Form:
        """One row of an operand, where its elements lie side by side for all lanes."""
        one = _row_of(self.b, form, axis, row)
        if not is_numbers(one.shape):
            return one
        if prod(shape) <= 1 or self.rows.is_single or (type(one) is Stored and _is_one(form, axis)):
            return one
        own = _own(self.b, one)
        nests.copy(self.b, one, own)
        return own

    def target(self, whole: Stored, axis: int | None, row: Operand, shape: Extents) -> Stored:
        """Where a row's result goes."""
        if axis is None:
            return self.sum(whole, shape)
        found = _row_of(self.b, whole, axis, row)
        assert type(found) is Stored
        return found

    def sum(self, whole: Stored, shape: Extents) -> Accumulated:
        """A sum over rows as something that a row's numbers are added to."""
        place = next(i for i, t in enumerate(self.targets) if t is whole)
        b, value = self.b, self.node.outputs[place]
        kind = Slotted if self.is_slotted(value) else Wide if _kept(value) != TYPE_OF[value.dtype] else Accumulated
        offset = b.add(whole.offset, b.mul(self.part, count_of(b, shape))) if self.most else whole.offset
        return kind(shape, whole.array, offset, strides_of(b, shape), False)


def _kept(value: Value) -> str:
    """The type in which a sum over rows is added up."""
    type_ = TYPE_OF[value.dtype]
    return "f64" if type_ in FLOATS else type_


def _power(most: int) -> int:
    """The largest power of two up to a number."""
    return 1 << max(0, most.bit_length() - 1)


def _cost(graph: Graph) -> int:
    """About how many elements one row computes."""
    shapes = [v.shape for node in graph.nodes for v in (*node.outputs, *node.inputs)[:2]]
    return sum(prod(n for n in shape if type(n) is int) for shape in shapes) // 2


def _own(b: Builder, like: Form) -> Stored:
    return Stored(like.shape, b.alloc(like.type, prod(like.shape)), 0, row_major(like.shape), True)  # pyright: ignore[reportArgumentType, reportCallIssue]  # extents that are numbers


def _is_one(form: Form, axis: int) -> bool:
    """Whether neighbouring rows lie side by side already."""
    return type(form) is Stored and type(form.strides[axis]) is int and form.strides[axis] == 1


def _row_of(b: Builder, form: Form, axis: int, row: Operand) -> Form:
    shape = without(form.shape, axis)
    if type(form) is not Stored:
        return Lazy(
            shape, form.type, lambda b, index: form.at(b, (*index[:axis], row, *index[axis:])), None, [form]
        )  # fmt: skip
    strides = without(form.strides, axis)
    offset = b.add(form.offset, b.mul(row, form.strides[axis]))
    is_dense = is_numbers(shape) and is_numbers(strides) and strides == row_major(shape)
    return Stored(shape, form.array, offset, strides, is_dense)


def _without_copies(b: Builder, block: Instructions) -> Instructions:
    """Copies as loops: of arrays of the lanes' own, and of single rows of others."""
    found: Instructions = []
    for item in block:
        for inner in blocks_of(item):
            inner[:] = _without_copies(b, inner)
        found += _copy_as_loop(b, item) if type(item) is Copy else [item]
    return found


def _copy_as_loop(b: Builder, item: Copy) -> Instructions:
    made: Instructions = []
    with b.inside(made), b.loop(0, item.count) as i:
        value = b.load(item.source, b.add(item.source_start, i))
        b.store(item.target, b.add(item.target_start, i), value)
    return made


LOWERED = singles({"tiled": _tiled})
