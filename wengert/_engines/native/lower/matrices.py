"""Emits one product of two matrices: chooses between vector code of our own, BLAS and plain loops, and packs operands.

Floats are multiplied by the vector code of `llvm/multiply.py`, which takes any strides for the left operand, rows or
columns without gaps for the right one, and writes rows or columns without gaps (the transposed product, then). So
transposes, slices and broadcasts need no copies, and neither do results that are slices of something larger. What lies
otherwise is copied. BLAS is called where it is better: see `is_for_blas`. Integers and very small matrices have loops
of their own.

Large products go by blocks: of the right operand a block at a time is packed, in panels whose columns lie together, and
stays in the cache near the core while the rows go by, in threads where that is worth it. All terms of an element are
added up in one chain, so its bits do not depend on blocks, threads or what is beside it; with a column, or a few
where all lie along the sum, the chains are those of the lanes of vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ...._core import system
from ..ir.builder import Builder
from ..ir.loops import COMPLEX, FLOATS, FRACTIONS, ITEM, WIDTHS, Address, Array, Operand, Typed
from ..ir.shared_work import WORTH
from ..llvm import multiply
from ..llvm.target import is_x86, vector_bits
from ..llvm.vectors import most_lanes
from . import nests
from .blocks import Block
from .forms import Extents, Form, Index, Lazy, Stored, count_of, is_numbers
from .maps import zero_of
from .ranges import is_one
from .standalone import is_alone

NARROW = 32  # columns of one row of accumulators
NARROW_PAIRS = 4  # of complex numbers
ACCUMULATORS = 64  # together; a loop of more runs out of registers
MOST_ROWS = 4
FEW = 150  # multiplications up to which loops that LLVM unrolls are faster than a call (some 40 ns) ...
FEW_EVEN = 1024  # ... and up to which, where the columns are whole vectors of 64 bytes or less
FEW_PAIRS = 60  # multiplications of complex numbers up to which loops are faster
FEW_COLUMNS = 3  # that are taken one by one ...
LONG_SUM = 32  # ... where so many numbers or more are added up
PACKED_ROWS = 32  # of a left operand from which on packing the right one is worth it, if that is of so many bytes ...
PACKED_BYTES = {512: 4 << 20}  # (with other vectors tiles have fewer rows, and y goes by more often: 128 kB) ...
PACKED_STEP = 8192  # ... or if so many bytes lie between its rows: these share few places of the cache
LOCAL_BYTES = 32 * 1024  # of panels that a thread may have on its stack
DEPTH = {"f64": 256, "f32": 512}  # terms of a block ...
BREADTH = 10  # ... and its panels: 480 kB
CHUNK = 32  # rows that are the work of a thread
MIRRORED_ROWS = 3 * CHUNK  # of a matrix from which on its product with its transpose is computed by half
PER_ELEMENT = 16  # multiplications that take as long as one elementwise operation
LEAST_WORK = 2 * WORTH  # as loops count it: 16 multiplications take half a nanosecond
PARTS = 64  # of a long sum of rows ...
LONG = 300_000  # ... which has so many times four elements: the parts are added up in the end
BLAS_MOST = 1 << 30  # multiplications of one call of BLAS, so that the user can interrupt a large product ...
BLAS_ROWS = 32  # ... if these are not fewer rows, ...
BLAS_COLUMNS = 256  # ... or right-hand sides of a system, for each part of which its triangle is packed anew
BLAS_FROM = 32 * 32 * 32  # multiplications from which on BLAS is called where it is better at large products

BLAS_LETTER = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}


class Plan(NamedTuple):
    """How a product is computed.

    Attributes:
        way: "loops"; of `multiply`'s functions "dots", "row", "rows" or "pairs"; or "blas".
        x, y, out: the product, perhaps the transposed one.
        copies: which of "x", "y" and "out" do not lie as the way needs.
        packs: whether y is put into panels.
        joins: whether the product is added to what out holds.
        mirrors: whether only what lies below the diagonal is computed, and mirrored.
    """

    way: str
    x: Stored
    y: Stored
    out: Stored
    copies: tuple[str, ...] = ()
    packs: bool = False
    joins: bool = False
    mirrors: bool = False

    @property
    def needs_room(self) -> bool:
        """Whether memory is needed that the stack does not have; a thread cannot ask for it."""
        if self.copies or self.way == "blas" or (self.joins and self.way not in ("rows", "pairs")):
            return True
        return self.packs and _local_size(self) is None


def product(
    block: Block, x: Stored, y: Stored, out: Stored, in_thread: bool = False, joins: bool = False
) -> None:  # fmt: skip
    """out = x @ y, of two matrices.

    Args:
        block: where it is emitted.
        x, y, out: with any strides.
        in_thread: whether it is the body of a loop that may run in threads: only for plans that need no room.
        joins: out += x @ y instead.
    """
    made = plan(x, y, out, joins)
    if joins and ("out" in made.copies or made.way not in ("rows", "pairs", "blas")):
        found = block.fresh(out.shape, out.type)
        product(block, x, y, found)
        add(block.b, found, out)
    elif made.copies:
        _with_copies(block, made)
    else:
        _WAYS[made.way](block, made, in_thread)


def add(b: Builder, x: Form, out: Stored) -> None:
    """out += x, element by element."""

    def total(b: Builder, index: Index) -> Operand:
        return b.let("add", out.type, out.at(b, index), x.at(b, index))

    nests.copy(b, Lazy(out.shape, out.type, total), out)


def plan(x: Stored, y: Stored, out: Stored, joins: bool = False) -> Plan:
    """Chooses the way of a product."""
    made = _chosen(x, y, out)
    return made._replace(joins=joins, mirrors=made.mirrors and not joins)


def _chosen(x: Stored, y: Stored, out: Stored) -> Plan:
    if is_alone():
        return Plan("loops", x, y, out)
    if x.type not in FRACTIONS:
        return _plan_of_integers(x, y, out)
    if x.type not in FLOATS:
        return _plan_of_pairs(x, y, out) if x.type in COMPLEX else Plan("loops", x, y, out)
    if is_one(out.shape[0]) and not is_one(out.shape[1]):
        x, y, out = turned(y), turned(x), turned(out)
    if is_one(out.shape[1]):
        return _vector_plan(x, y, out)
    (m, k), n = x.shape, y.shape[1]
    if _is_little(m, k, n):
        return Plan("loops", x, y, out)
    if is_for_blas(m, k, n):
        return Plan("blas", x, y, out, () if out.is_dense else ("out",))
    if _is_unit(x.strides[1]) and _is_unit(y.strides[0]) and (few := _few_columns(x, y, out)):
        return few
    if not _is_unit(out.strides[1]) and _is_unit(out.strides[0]):
        x, y, out = turned(y), turned(x), turned(out)
    copies = [] if _is_unit(out.strides[1]) else ["out"]
    if not _is_unit(y.strides[1]) and not _is_unit(y.strides[0]):
        copies.append("y")
    packs = "y" not in copies and (not _is_unit(y.strides[1]) or is_worth_packing(x, y))
    is_wide = type(m) is not int or m >= MIRRORED_ROWS
    return Plan("rows", x, y, out, (*copies,), packs, mirrors=is_wide and is_transpose_of(x, y))


def _plan_of_integers(x: Stored, y: Stored, out: Stored) -> Plan:
    """The plan of a product of integers or booleans, whose loops go along rows of the right operand and of the result:
    what lies otherwise is turned or copied."""
    if is_one(out.shape[0]) or is_one(out.shape[1]):
        return _vector_loops(x, y, out)
    if not _is_unit(out.strides[1]) and _is_unit(out.strides[0]):
        x, y, out = turned(y), turned(x), turned(out)
    if not is_numbers((*x.shape, *y.shape)) or _is_narrow(x, y):
        return Plan("loops", x, y, out)
    lacking = [name for name, form in (("out", out), ("y", y)) if not _is_unit(form.strides[1])]
    return Plan("loops", x, y, out, (*lacking,))


def _vector_loops(x: Stored, y: Stored, out: Stored) -> Plan:
    """The plan of a matrix times one column, or of a row times one, whose loops go along what lies side by side."""
    if is_one(out.shape[0]) and not is_one(out.shape[1]):
        x, y, out = turned(y), turned(x), turned(out)
    if _is_unit(x.strides[0]) and not _is_unit(x.strides[1]):
        x, y, out = turned(y), turned(x), turned(out)
    return Plan("loops", x, y, out)


def _plan_of_pairs(x: Stored, y: Stored, out: Stored) -> Plan:
    """The plan of a product of complex numbers."""
    (m, k), n = x.shape, y.shape[1]
    are_few = isinstance(m, int) and isinstance(k, int) and isinstance(n, int) and m * k * n < FEW_PAIRS
    if (is_one(m) or is_one(n)) and not are_few:
        return _vector_loops(x, y, out)
    if are_few:
        return Plan("loops", x, y, out)
    if not _is_unit(out.strides[1]) and _is_unit(out.strides[0]):
        x, y, out = turned(y), turned(x), turned(out)
    lacking = [name for name, form in (("out", out), ("y", y)) if not _is_unit(form.strides[1])]
    return Plan("pairs", x, y, out, (*lacking,))


def _few_columns(x: Stored, y: Stored, out: Stored) -> Plan | None:
    """The plan of a product of long rows and few long columns: cheaper than to pack these."""
    if type(k := x.shape[1]) is int and k < LONG_SUM:
        return None
    if type(n := y.shape[1]) is int and n <= FEW_COLUMNS:
        return Plan("dots", x, y, out)
    if type(m := x.shape[0]) is int and m <= FEW_COLUMNS:
        return Plan("dots", turned(y), turned(x), turned(out))
    return None


def _vector_plan(x: Stored, y: Stored, out: Stored) -> Plan:
    """The plan of a matrix times one column."""
    if _is_unit(x.strides[1]) or is_one(x.shape[1]):
        return Plan("dots", x, y, out, () if _is_unit(y.strides[0]) or is_one(y.shape[0]) else ("y",))
    if _is_unit(x.strides[0]) or is_one(x.shape[0]):
        return Plan("row", x, y, out, () if _is_unit(out.strides[0]) or is_one(out.shape[0]) else ("out",))
    return Plan("loops", x, y, out)


def is_for_blas(m: Operand, k: Operand, n: Operand) -> bool:
    """Whether BLAS is the better choice.

    Our code reaches 95 % of what the processor can do (AVX-512, one core: 112 GFLOP/s of float32 and 56 of float64,
    OpenBLAS 97 and 46; with AVX2 on the same 108 and 53, OpenBLAS 101 and 46), in products of any size. On a Mac,
    SciPy's BLAS is Apple's, with matrix units; on other processors we have not measured.
    """
    if not system.SYSTEM.has_matrix_units and is_x86() and vector_bits() >= 256:
        return False
    return not is_numbers((m, k, n)) or m * k * n >= BLAS_FROM  # pyright: ignore[reportOperatorIssue]  # extents that are numbers


def _is_little(m: Operand, k: Operand, n: Operand) -> bool:
    """Whether a product is better written out than called."""
    if type(m) is not int or type(k) is not int or type(n) is not int:
        return False
    return n <= NARROW and m * k * n <= (FEW_EVEN if n in (8, 16) else FEW)


def _is_unit(stride: Operand) -> bool:
    return type(stride) is int and stride == 1


def is_worth_packing(x: Stored, y: Stored) -> bool:
    """Whether y's columns should lie together in memory, as far as is known.

    Measured with AVX-512, in GFLOP/s, as they lie and packed: 128 x 512 x 784 of float32 114 and 108, 128 x 1024 x 1024
    of float64 34 and 47, 64 x 512 x 4096 of float64 13 and 42.
    """
    (k, n), step, width = y.shape, y.strides[0], WIDTHS[y.type]
    if type(x.shape[0]) is int and x.shape[0] < PACKED_ROWS:
        return False
    if type(k) is not int or type(n) is not int or type(step) is not int:
        return True
    most = PACKED_BYTES.get(vector_bits(), 1 << 17)
    return k * n * width > most or (step * width >= PACKED_STEP and k >= PACKED_ROWS)


def turned(x: Stored) -> Stored:
    """The transpose, or that of each of a batch."""
    return Stored(_exchanged(x.shape), x.array, x.offset, _exchanged(x.strides), False)


def is_transpose_of(x: Stored, y: Stored) -> bool:
    """Whether y is x transposed, or each of a batch of its own: then their product is symmetric."""
    return (
        x.array is y.array and x.offset == y.offset
        and (x.shape, x.strides) == (_exchanged(y.shape), _exchanged(y.strides))
    )  # fmt: skip


def _exchanged(extents: Extents) -> Extents:
    *lead, rows, columns = extents
    return (*lead, columns, rows)


def only(x: Stored) -> Stored:
    """One matrix of a batch of them, as far as its form goes."""
    return Stored(x.shape[-2:], x.array, x.offset, x.strides[-2:], len(x.shape) == 2 and x.is_dense)


def _part(b: Builder, x: Stored, row: Operand, column: Operand, shape: tuple[Operand, Operand]) -> Stored:
    """The elements of a matrix from a row and a column on."""
    offset = b.add(x.offset, b.add(b.mul(row, x.strides[0]), b.mul(column, x.strides[1])))
    return Stored(shape, x.array, offset, x.strides, False)


def _with_copies(block: Block, made: Plan) -> None:
    """What does not lie as it must is copied before, or behind."""
    x, y, out = made.x, made.y, made.out
    if "y" in made.copies:
        y = block.dense(Stored(y.shape, y.array, y.offset, y.strides, False))
    if "out" not in made.copies:
        product(block, x, y, out, joins=made.joins)
        return
    found = block.fresh(out.shape, out.type)
    product(block, x, y, found)
    nests.copy(block.b, found, out)


# -- loops ------------------------------------------------------------------------------------------------------------


def accumulated(b: Builder, type_: str, total: Operand | None, x: Operand, y: Operand) -> Operand:
    """total + x * y, rounded once where there are fractions; 0 + x * y if there is no total yet.

    Sums of negative zeros are positive ones, as those of BLAS are.
    """
    if type_ == "bool":
        term = b.let("and", type_, x, y)
        return term if total is None else b.let("or", type_, total, term)
    if type_ in FRACTIONS:
        return b.let("fma", type_, x, y, 0.0 if total is None else total)
    if total is None:
        return b.let("mul", type_, x, y)
    return b.let("add", type_, total, b.let("mul", type_, x, y))


def _by_loops(block: Block, made: Plan, in_thread: bool) -> None:
    if _is_narrow(made.x, made.y):
        _narrow(block.b, made.x, made.y, made.out)
    elif is_one(made.y.shape[1]):
        _column(block.b, made.x, made.y, made.out)
    else:
        rows_of_product(block.b, made.x, made.y, made.out)


def _is_narrow(x: Stored, y: Stored) -> bool:
    """Whether rows of the result stay in registers."""
    n = y.shape[1]
    return type(n) is int and 1 < n <= (NARROW_PAIRS if x.type in COMPLEX else NARROW)


def _narrow(b: Builder, x: Stored, y: Stored, out: Stored) -> None:
    """A few rows at a time, one accumulator an element, so that these rows of the result stay in registers."""
    (m, n), height = out.shape, 1
    assert type(n) is int
    if type(m) is int:
        height = max(1, min(ACCUMULATORS // n, m, MOST_ROWS))
    whole = b.divided(m, height)
    with b.loop(0, whole) as block:
        _few_rows(b, x, y, out, b.mul(block, height), height)
    if type(m) is int and m % height:
        _few_rows(b, x, y, out, m - m % height, m % height)


def _few_rows(b: Builder, x: Stored, y: Stored, out: Stored, start: Operand, height: int) -> None:
    n = y.shape[1]
    assert type(n) is int
    rows = [b.add(start, r) for r in range(height)]
    totals = [[b.var(x.type, zero_of(x.type)) for _ in range(n)] for _ in rows]
    with b.loop(0, x.shape[1]) as p:
        right = [y.at(b, (p, j)) for j in range(n)]
        for i, row in zip(rows, totals, strict=True):
            factor = x.at(b, (i, p))
            for total, other in zip(row, right, strict=True):
                b.set(total, accumulated(b, x.type, b.get(total), factor, other))
    for i, row in zip(rows, totals, strict=True):
        for j, total in enumerate(row):
            out.store(b, (i, j), b.get(total))


def _column(b: Builder, x: Stored, y: Stored, out: Stored) -> None:
    """A matrix times a vector: one sum a row."""
    type_ = x.type
    with b.loop(0, x.shape[0]) as i:
        total = b.var(type_, zero_of(type_))
        with b.loop(0, x.shape[1]) as p:
            left, right = x.at(b, (i, p)), y.at(b, (p, 0))
            if type_ in FRACTIONS:
                b.set(total, b.let("sum", type_, b.get(total), b.let("mul", type_, left, right)))
            else:
                b.set(total, accumulated(b, type_, b.get(total), left, right))
        out.store(b, (i, 0), b.get(total))


def rows_of_product(b: Builder, x: Stored, y: Stored, out: Stored) -> None:
    """Each row of the result as a sum of multiples of rows."""
    zero = zero_of(out.type)
    nests.copy(b, Lazy(out.shape, out.type, lambda b, index: zero, lambda b, place: zero), out)
    with b.loop(0, x.shape[0]) as i, b.loop(0, x.shape[1]) as p:
        factor = x.at(b, (i, p))
        with b.loop(0, y.shape[1]) as j:
            out.store(b, (i, j), accumulated(b, x.type, out.at(b, (i, j)), factor, y.at(b, (p, j))))


# -- vectors ----------------------------------------------------------------------------------------------------------


def _call(b: Builder, name: str, *arguments: Operand | Address) -> None:
    b.call(name, [a if isinstance(a, Address) else Typed("i64", a) for a in arguments])


def _at(x: Stored) -> Address:
    return Address(x.array, x.offset)


def _dots(block: Block, made: Plan, in_thread: bool) -> None:
    """Each row times the vector, or each of few."""
    b, (x, y, out) = block.b, made[1:4]
    (m, k), n, work = x.shape, y.shape[1], _work(b, x.shape, 4)
    name = multiply.named("dots", x.type, m)
    with nests.shares(b, m, 4 * CHUNK, None if in_thread else work) as (first, count):
        rows = _part(b, x, first, 0, (count, k))
        with b.loop(0, n) as j:
            column, into = _part(b, y, 0, j, (k, 1)), _part(b, out, first, j, (count, 1))
            _call(b, name, count, k, _at(rows), x.strides[0], _at(column), _at(into), out.strides[0])


def _row(block: Block, made: Plan, in_thread: bool) -> None:
    """The sum of multiples of x's columns, which have no gaps. A long one is made of parts, which threads share."""
    b, work = block.b, _work(block.b, made.x.shape, 4)
    if in_thread or work is None or (type(work) is int and work < LONG):
        _row_at_once(b, made)
    elif type(work) is int:
        _row_in_parts(block, made, work)
    else:
        with b.when(b.let("ge", "i64", work, LONG)) as branch:
            _row_in_parts(block, made, work)
        with b.inside(branch.other):
            _row_at_once(b, made)


def _row_at_once(b: Builder, made: Plan) -> None:
    (x, y, out), (n, k) = made[1:4], made.x.shape
    _call(b, multiply.named("row", x.type, 1, n), n, k, _at(y), y.strides[0], _at(x), x.strides[1], _at(out))


def _row_in_parts(block: Block, made: Plan, work: Operand) -> None:
    b, (x, y, out) = block.b, made[1:4]
    n, k = x.shape
    sums = block.fresh((PARTS, n), x.type)
    size = b.divided(b.add(k, PARTS - 1), PARTS)
    with b.loop(0, PARTS, work) as part:
        first = nests.at_most(b, b.mul(part, size), k)
        count = nests.at_most(b, size, b.sub(k, first))
        columns, factors = _part(b, x, 0, first, (n, count)), _part(b, y, first, 0, (count, 1))
        into = sums.row(b, part)
        name = multiply.named("row", x.type, 1, n)
        _call(b, name, n, count, _at(factors), y.strides[0], _at(columns), x.strides[1], _at(into))
    with b.loop(0, n) as j:
        total = b.var(x.type, 0.0)
        for part in range(PARTS):
            b.set(total, b.let("add", x.type, b.get(total), sums.at(b, (part, j))))
        out.store(b, (j, 0), b.get(total))


def _work(b: Builder, extents: tuple[Operand, ...], per_element: int) -> Operand | None:
    """The work of a product, as loops count it; None if it is too little for threads."""
    work = b.divided(count_of(b, extents), per_element)
    return None if type(work) is int and work < LEAST_WORK else work


@contextmanager
def in_blocks(b: Builder, extent: Operand, size: Operand, least: int = 0) -> Iterator[tuple[Operand, Operand]]:
    """`with in_blocks(...) as (first, count):` an extent in blocks, of which there are `least`, even of nothing."""
    if type(extent) is int and type(size) is int and extent <= size:
        yield 0, extent
        return
    count = b.divided(b.add(extent, b.sub(size, 1)), size)
    if least and type(count) is not int:
        count = b.select("i64", b.let("lt", "i64", count, least), least, count)
    with b.loop(0, count) as number:
        first = b.mul(number, size)
        yield first, nests.at_most(b, size, b.sub(extent, first))


@contextmanager
def _chunks(b: Builder, rows: Operand, work: Operand | None, always: bool) -> Iterator[tuple[Operand, Operand]]:
    """Rows in shares of threads if there is work for these; if not, all at once, or `always` in chunks."""
    made = in_blocks(b, rows, CHUNK) if always and work is None else nests.shares(b, rows, CHUNK, work)
    with made as found:
        yield found


# -- matrices ---------------------------------------------------------------------------------------------------------


def _by_rows(block: Block, made: Plan, in_thread: bool) -> None:
    _rows_of_all(block, made, in_thread)
    if made.mirrors:
        _mirror(block.b, made.out, None if in_thread else _work(block.b, made.out.shape, 2))


def _mirror(b: Builder, out: Stored, work: Operand | None) -> None:
    """What lies below the diagonal, beside the squares on it, is written above it."""
    with _chunks(b, out.shape[0], work, True) as (first, count):
        below, above = _part(b, out, first, 0, (count, first)), _part(b, out, 0, first, (first, count))
        b.call(f"turned.{out.type}", [
            _at(below), _at(above), *[Typed("i64", n) for n in (count, first, out.strides[0], out.strides[0])]
        ])  # fmt: skip


def _rows_of_all(block: Block, made: Plan, in_thread: bool) -> None:
    """All at once, or block by block if the right operand is large."""
    b, x, y = block.b, made.x, made.y
    joins = int(made.joins)
    m, n = made.out.shape
    name = multiply.named("rows", x.type, m, None if made.mirrors else n)
    if not made.packs:
        _block_product(block, made, name, in_thread, joins)
        return
    size = _local_size(made)
    if size is not None:
        # a thread has room on its stack only; elsewhere many products of a function may share it
        panels = b.local(y.type, size) if in_thread else block.fresh((size,), y.type).array
        _block_product(block, made, name, in_thread, joins, panels)
        if not in_thread:
            block.give_back(panels, size)
        return
    if _is_unit(y.strides[1]) and type(m) is not int:
        with b.when(b.let("lt", "i64", m, PACKED_ROWS)) as branch:
            _block_product(block, made._replace(packs=False), name, in_thread, joins)
        with b.inside(branch.other):
            _by_blocks(block, made, name)
    else:
        _by_blocks(block, made, name)


def _by_blocks(block: Block, made: Plan, name: str) -> None:
    b, (x, y, out) = block.b, made[1:4]
    (m, k), n, width = x.shape, y.shape[1], multiply.panel_width(x.type)
    panels = _room(block, made)
    # a sum without terms is to be written, too
    with in_blocks(b, n, BREADTH * width) as (j, columns), in_blocks(b, k, DEPTH[x.type], 1) as (p, terms):
        b.poll(1)  # a block takes milliseconds
        left, right = _part(b, x, 0, p, (m, terms)), _part(b, y, p, j, (terms, columns))
        inner = made._replace(x=left, y=right, out=_part(b, out, 0, j, (m, columns)))
        joins: Operand = int(made.joins)
        if not joins and type(p) is not int:
            joins = b.select("i64", b.let("gt", "i64", p, 0), 1, 0)
        _block_product(block, inner, name, False, joins, panels, j)
    if type(k) is int and type(n) is int:
        block.give_back(panels, _panel_room(b, made))


def _block_product(
    block: Block, made: Plan, name: str, in_thread: bool, joins: Operand, panels: Array | None = None,
    start: Operand = 0,
) -> None:  # fmt: skip
    """One block of terms and columns: packed, if it must be, then all rows, or all columns of few rows.

    Of what is mirrored, rows end at the diagonal; `start` is the first column's number in the whole product. `name` is
    that of the function for the whole product's extents, of which blocks and shares are cut off behind whole tiles.
    """
    b, (x, y, out) = block.b, made[1:4]
    (m, k), n, width = x.shape, y.shape[1], multiply.panel_width(x.type)
    step: Operand = width
    if made.packs:
        assert panels is not None
        way = "straight" if _is_unit(y.strides[1]) else "turned"
        _call(b, f"product.pack.{way}.{x.type}", k, n, _at(y), y.strides[0], y.strides[1], Address(panels))
        y, step = Stored((k, n), panels, 0, (width, 1), False), b.mul(k, width)
    work = None if in_thread else _work(b, (m, k, n), PER_ELEMENT)
    if type(m) is int and m <= CHUNK:
        with nests.shares(b, n, 2 * width, work) as (first, count):
            right = Address(y.array, b.add(y.offset, b.mul(b.divided(first, width), step)))
            into = _part(b, out, 0, first, (m, count))
            _call(b, name, m, count, k, _at(x), *x.strides, right, y.strides[0], step, _at(into),
                  out.strides[0], joins)  # fmt: skip
        return
    with _chunks(b, m, work, made.mirrors) as (first, count):
        columns = nests.between(b, b.sub(b.add(first, count), start), 0, n) if made.mirrors else n
        left, into = _part(b, x, first, 0, (count, k)), _part(b, out, first, 0, (count, columns))
        _call(b, name, count, columns, k, _at(left), *x.strides, _at(y), y.strides[0], step, _at(into),
              out.strides[0], joins)  # fmt: skip


def _pairs(block: Block, made: Plan, in_thread: bool) -> None:
    b, (x, y, out), type_ = block.b, made[1:4], ITEM[made.x.type]
    (m, k), n = x.shape, y.shape[1]
    name = multiply.named("pairs", type_, m, n)
    with nests.shares(b, m, CHUNK, None if in_thread else _work(b, (m, k, n), PER_ELEMENT // 4)) as (first, count):
        left, into = _part(b, x, first, 0, (count, k)), _part(b, out, first, 0, (count, n))
        _call(b, name, count, n, k, _at(left), *x.strides, _at(y), y.strides[0], _at(into), out.strides[0],
              int(made.joins))  # fmt: skip


def _panel_room(b: Builder, made: Plan) -> Operand:
    """How many elements the panels of the largest block need."""
    (k, n), width = made.y.shape, multiply.panel_width(made.y.type)
    panels = nests.at_most(b, b.divided(b.add(n, width - 1), width), BREADTH)
    deep = b.add(b.mul(panels, nests.at_most(b, k, DEPTH[made.y.type])), most_lanes(made.y.type))
    return b.mul(deep, width)


def _local_size(made: Plan) -> int | None:
    """The room for all panels if the stack has it."""
    if not is_numbers(made.y.shape):
        return None
    (k, n), type_ = made.y.shape, made.y.type
    assert type(k) is int and type(n) is int  # noqa: PT018  (for the type checker)
    size = multiply.packed_size(type_, -(-n // multiply.panel_width(type_)), k)
    return size if size * WIDTHS[type_] <= LOCAL_BYTES else None


def _room(block: Block, made: Plan) -> Array:
    return block.fresh((_panel_room(block.b, made),), made.y.type).array


# -- BLAS -------------------------------------------------------------------------------------------------------------


class _Side(NamedTuple):
    """A matrix as BLAS takes one: its elements, the step between rows (or columns, if turned)."""

    array: Array
    offset: Operand
    step: Operand
    is_turned: bool


def _side(block: Block, x: Stored) -> _Side:
    """A matrix whose rows or columns lie without gaps; copied if neither do."""
    b = block.b
    if not x.is_dense:
        rows, columns = x.shape
        down, along = x.strides
        if _is_step(down, columns) and _is_unit(along):
            return _Side(x.array, x.offset, _at_least(b, down, columns), False)
        if _is_step(along, rows) and _is_unit(down):
            return _Side(x.array, x.offset, _at_least(b, along, rows), True)
        x = block.dense(x)
    return _Side(x.array, x.offset, _at_least(b, x.shape[1], 1), False)


def _is_step(stride: Operand, extent: Operand) -> bool:
    """Whether a step from one row to the next skips a whole row; of what only the run tells, it is not known."""
    return type(stride) is int and type(extent) is int and stride >= extent


def _at_least(b: Builder, step: Operand, least: Operand) -> Operand:
    if type(step) is int and type(least) is int:
        return max(step, least, 1)
    return b.select("i64", b.let("lt", "i64", step, 1), 1, step)


def fortran_int(b: Builder, value: Operand) -> Typed:
    """A number as Fortran takes an integer."""
    return Typed("i32", value if type(value) is int else b.convert("i32", "i64", value), True)


def letter(value: str) -> Typed:
    """A letter as Fortran takes an option."""
    return Typed("i8", ord(value), True)


def _by_blas(block: Block, made: Plan, in_thread: bool) -> None:
    """BLAS, for which the transpose of what we have by rows lies by columns: out' = y' x'."""
    b, (x, y, out) = block.b, made[1:4]
    k = x.shape[1]
    # BLAS may leave the result alone where there is nothing to sum up
    if not made.joins and (type(k) is not int or k == 0):
        with b.when(b.let("eq", "i64", k, 0)):
            b.fill(out.array, out.offset, count_of(b, out.shape))
    sides = _side(block, x), _side(block, y)
    if in_thread:
        _gemm(b, made, sides, 0, x.shape[0])
        return
    with some_at_once(b, x.shape[0], b.mul(k, y.shape[1])) as (first, count):
        _gemm(b, made, sides, first, count)


@contextmanager
def some_at_once(
    b: Builder, rows: Operand, each: Operand, least: int = BLAS_ROWS
) -> Iterator[tuple[Operand, Operand]]:  # fmt: skip
    """`with some_at_once(...) as (first, count):` as many rows as BLAS does in less than a tenth of a second.

    Nobody can interrupt it meanwhile. `each`: the multiplications of one row. `least`: so many rows may take longer.
    """
    if type(each) is int:
        size: Operand = max(least, BLAS_MOST // max(each, 1))
    else:
        found = b.divided(BLAS_MOST, _at_least(b, each, 1))
        size = b.select("i64", b.let("lt", "i64", found, least), least, found)
    with in_blocks(b, rows, size) as (first, count):
        if first != 0:
            b.poll(1)
        yield first, count


def _gemm(b: Builder, made: Plan, sides: tuple[_Side, _Side], first: Operand, count: Operand) -> None:
    """So many rows of the result from one on."""
    (x, y, out), (left, right) = made[1:4], sides
    above = b.add(left.offset, first if left.is_turned else b.mul(first, left.step))
    into = b.add(out.offset, b.mul(first, out.shape[1]))
    m, n, terms = (fortran_int(b, extent) for extent in (count, y.shape[1], x.shape[1]))
    b.call(f"blas.{BLAS_LETTER[x.type]}gemm", [
        letter("T" if right.is_turned else "N"), letter("T" if left.is_turned else "N"), n, m, terms,
        Typed(x.type, 1.0, True), Address(right.array, right.offset), fortran_int(b, right.step),
        Address(left.array, above), fortran_int(b, left.step), Typed(x.type, float(made.joins), True),
        Address(out.array, into), fortran_int(b, _at_least(b, out.shape[1], 1)),
    ])  # fmt: skip


_WAYS = {
    "loops": _by_loops, "dots": _dots, "row": _row, "rows": _by_rows, "pairs": _pairs, "blas": _by_blas,
}  # fmt: skip

__all__ = [
    "Plan", "accumulated", "fortran_int", "in_blocks", "is_transpose_of", "is_worth_packing", "letter", "only", "plan",
    "product",
    "rows_of_product", "some_at_once", "turned",
]  # fmt: skip
