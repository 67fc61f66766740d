"""Products of matrices, and sums of products over labelled axes.

Three ways, by size: few elements are written out in registers; matrices of up to about 32 columns are loops of our own
around one row of accumulators; all else is BLAS's, transposes as its flags, vectors as matrix-vector products. Integers
have loops at any size. A product with labels is one batched product of matrices whose axes are the labels shared and
kept, of the first operand, summed, and of the second, as far as strides allow without copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from math import prod
from typing import Any, NamedTuple, cast

from ...._core.graph import Node
from ..builder import Builder
from ..forms import Elements, Extents, Form, Stored, all_indices, count_of, is_numbers, strides_of
from ..loops import FLOATS, Address, Array, Operand, Typed
from . import nests
from .blocks import SINGLES, Block

UNROLLED = 64  # multiplications that are written out
NARROW = 32  # columns of one row of accumulators
ACCUMULATORS = 64  # together; a loop of more runs out of registers
MOST_ROWS = 4
FLAT = 4  # rows, and terms of a sum, up to which a wide product is made of multiples of rows
SHORT = 32  # terms of a sum from which on BLAS is faster, where the columns are narrow

BLAS_LETTER = {"f32": "s", "f64": "d"}


def _matmul(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    x, y = forms
    out = node.outputs[0]
    shape = block.shape(out)  # may be told at run time where a constant operand's is a number
    if is_numbers(x.shape) and is_numbers(y.shape) and is_numbers(shape):
        count = prod((*x.shape, y.shape[-1]))  # pyright: ignore[reportArgumentType, reportCallIssue]
        if count <= UNROLLED and prod(shape) <= UNROLLED // 4:  # pyright: ignore[reportArgumentType, reportCallIssue]
            return [_written_out(block, x, y)]
    target = block.room(out)
    batched(block, block.stored(x), block.stored(y), target)
    return [target]


def _written_out(block: Block, x: Form, y: Form) -> Elements:
    b, type_ = block.b, x.type
    items: list[Operand] = []
    *lead, m, k = x.shape
    n = y.shape[-1]
    for index in all_indices((*lead, m, n)):  # pyright: ignore[reportArgumentType]
        *places, i, j = index
        total: Operand | None = None
        for p in range(k):  # pyright: ignore[reportArgumentType]
            total = accumulated(b, type_, total, x.at(b, (*places, i, p)), y.at(b, (*places, p, j)))
        items.append(_zero(type_) if total is None else total)
    return Elements((*lead, m, n), type_, items)


def accumulated(b: Builder, type_: str, total: Operand | None, x: Operand, y: Operand) -> Operand:
    """total + x * y, rounded once where there are fractions; x * y if there is no total yet."""
    if type_ == "bool":
        term = b.let("and", type_, x, y)
        return term if total is None else b.let("or", type_, total, term)
    if total is None:
        return b.let("mul", type_, x, y)
    if type_ in FLOATS:
        return b.let("fma", type_, x, y, total)
    return b.let("add", type_, total, b.let("mul", type_, x, y))


def _zero(type_: str) -> Operand:
    return 0.0 if type_ in FLOATS else False if type_ == "bool" else 0


# -- batches ----------------------------------------------------------------------------------------------------------


def batched(block: Block, x: Stored, y: Stored, out: Stored) -> None:
    """out = x @ y, of which all axes before the last two are a batch."""
    b = block.b
    if len(x.shape) > 2 and x.is_dense and out.is_dense and all(_is_zero(s) for s in y.strides[:-2]):
        # one matrix for all rows of the batch: one large product
        rows = count_of(b, x.shape[:-1])
        batched(block, _as_rows(b, x, rows), _only(y), _as_rows(b, out, rows))
        return
    if len(x.shape) == 2:
        product(block, x, y, out)
        return
    with b.loop(0, cast("tuple[Operand, ...]", x.shape)[0]) as i:
        batched(block, x.row(b, i), y.row(b, i), out.row(b, i))


def _is_zero(stride: Operand) -> bool:
    return type(stride) is int and stride == 0


def _as_rows(b: Builder, x: Stored, rows: Operand) -> Stored:
    shape = (rows, x.shape[-1])
    return Stored(shape, x.array, x.offset, strides_of(b, shape), True)


def _only(y: Stored) -> Stored:
    return Stored(y.shape[-2:], y.array, y.offset, y.strides[-2:], len(y.shape) == 2 and y.is_dense)


# -- one product ------------------------------------------------------------------------------------------------------


def product(block: Block, x: Stored, y: Stored, out: Stored) -> None:
    """out = x @ y, of two matrices; out has no gaps."""
    b = block.b
    (m, k), n = x.shape, y.shape[1]
    is_narrow = type(n) is int and n <= NARROW and type(k) is int and k <= SHORT
    is_flat = type(m) is int and m <= FLAT and type(k) is int and k <= FLAT
    if x.type not in FLOATS or is_flat or is_narrow:
        if type(n) is int and 1 < n <= NARROW:
            _narrow(b, x, y, out)
        elif type(n) is int and n == 1:
            _column(b, x, y, out)
        else:
            _rows(b, x, y, out)
        return
    if type(k) is not int or k == 0:  # BLAS may leave the result alone where there is nothing to sum up
        with b.when(b.let("eq", "i64", k, 0)):
            _clear(b, out)
    if type(n) is int and n == 1:
        matrix_vector(block, x, y.array, y.offset, y.strides[0], out)
    elif type(m) is int and m == 1:
        turned = Stored((n, k), y.array, y.offset, (y.strides[1], y.strides[0]), False)
        matrix_vector(block, turned, x.array, x.offset, x.strides[1], out)
    else:
        matrix_matrix(block, x, y, out)


def _clear(b: Builder, out: Stored) -> None:
    b.fill(out.array, out.offset, count_of(b, out.shape))


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
    totals = [[b.var(x.type, _zero(x.type)) for _ in range(n)] for _ in rows]
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
        total = b.var(type_, _zero(type_))
        with b.loop(0, x.shape[1]) as p:
            left, right = x.at(b, (i, p)), y.at(b, (p, 0))
            if type_ in FLOATS:
                b.set(total, b.let("sum", type_, b.get(total), b.let("mul", type_, left, right)))
            else:
                b.set(total, accumulated(b, type_, b.get(total), left, right))
        out.store(b, (i, 0), b.get(total))


def _rows(b: Builder, x: Stored, y: Stored, out: Stored) -> None:
    """Each row of the result as a sum of multiples of rows."""
    _clear(b, out)
    with b.loop(0, x.shape[0]) as i, b.loop(0, x.shape[1]) as p:
        factor = x.at(b, (i, p))
        with b.loop(0, y.shape[1]) as j:
            out.store(b, (i, j), accumulated(b, x.type, out.at(b, (i, j)), factor, y.at(b, (p, j))))


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


def _is_unit(stride: Operand) -> bool:
    return type(stride) is int and stride == 1


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


def matrix_matrix(block: Block, x: Stored, y: Stored, out: Stored) -> None:
    """out = x @ y by BLAS, for which the transpose of what we have by rows lies by columns: out' = y' x'."""
    b = block.b
    left, right = _side(block, x), _side(block, y)
    m, n, k = (fortran_int(b, extent) for extent in (x.shape[0], y.shape[1], x.shape[1]))
    b.call(f"blas.{BLAS_LETTER[x.type]}gemm", [
        letter("T" if right.is_turned else "N"), letter("T" if left.is_turned else "N"), n, m, k,
        Typed(x.type, 1.0, True), Address(right.array, right.offset), fortran_int(b, right.step),
        Address(left.array, left.offset), fortran_int(b, left.step), Typed(x.type, 0.0, True),
        Address(out.array, out.offset), fortran_int(b, _at_least(b, out.shape[1], 1)),
    ])  # fmt: skip


def matrix_vector(block: Block, x: Stored, vector: Array, offset: Operand, step: Operand, out: Stored) -> None:
    """The elements of out = x @ vector by BLAS."""
    b = block.b
    if type(step) is not int or step <= 0:  # all elements one, or from the end: copied
        view = Stored((x.shape[1],), vector, offset, (step,), False)
        dense = block.dense(view)
        vector, offset, step = dense.array, dense.offset, 1
    side = _side(block, x)
    rows, columns = (x.shape[0], x.shape[1]) if side.is_turned else (x.shape[1], x.shape[0])
    b.call(f"blas.{BLAS_LETTER[x.type]}gemv", [
        letter("N" if side.is_turned else "T"), fortran_int(b, rows), fortran_int(b, columns),
        Typed(x.type, 1.0, True), Address(side.array, side.offset), fortran_int(b, side.step),
        Address(vector, offset), fortran_int(b, step), Typed(x.type, 0.0, True), Address(out.array, out.offset),
        fortran_int(b, 1),
    ])  # fmt: skip


# -- labelled axes ----------------------------------------------------------------------------------------------------


def _einsum(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    labels, out = node.attrs
    value = node.outputs[0]
    extents: dict[str, Operand] = {}
    for form, names in zip(forms, labels, strict=True):
        extents.update(zip(names, form.shape, strict=True))
    forms, labels = [*forms], [*labels]
    while len(forms) > 2:
        i, j, kept = _cheapest_pair(labels, out, extents)
        made = block.fresh((*[extents[c] for c in kept],), forms[0].type)
        _contract(block, forms[i], forms[j], labels[i], labels[j], kept, made)
        for place in (j, i):
            del forms[place], labels[place]
        forms.append(made)
        labels.append(kept)
        extents = {c: extents[c] for names in labels for c in names}
    if len(forms) == 1:
        (names,) = labels
        target = block.room(value)  # a copy: what a single gives shares no memory with what it takes
        nests.copy(block.b, _permuted(block.stored(forms[0]), names, out), target)
        return [target]
    if is_numbers((*extents.values(),)) and prod(extents.values()) <= UNROLLED:  # pyright: ignore[reportArgumentType, reportCallIssue]
        return [_summed_out(block, forms, labels, out, extents)]
    target = block.room(value)
    _contract(block, forms[0], forms[1], labels[0], labels[1], out, target)
    return [target]


_UNKNOWN = 1000  # an extent that only a run tells counts as so many


def _cheapest_pair(labels: Sequence[str], out: str, extents: dict[str, Operand]) -> tuple[int, int, str]:
    """Which two operands to join next, and the labels of what they make: the smallest, of equals the shortest sum."""

    def sizes(names: str) -> int:
        return prod(n if type(n := extents[c]) is int else _UNKNOWN for c in names)

    found: list[tuple[int, int, int, int, str]] = []
    for i, j in combinations(range(len(labels)), 2):
        rest = {*out, *(c for place, names in enumerate(labels) if place not in (i, j) for c in names)}
        both = "".join(dict.fromkeys(labels[i] + labels[j]))
        kept = "".join(c for c in both if c in rest)
        found.append((sizes(kept), sizes(both), i, j, kept))
    *_, i, j, kept = min(found)
    return i, j, kept


def _permuted(x: Stored, names: str, wanted: Sequence[str]) -> Stored:
    order = [names.index(c) for c in wanted]
    shape, strides = (*[x.shape[i] for i in order],), (*[x.strides[i] for i in order],)
    return Stored(shape, x.array, x.offset, strides, x.is_dense and order == [*range(len(order))])


def _summed_out(
    block: Block, forms: list[Form], labels: list[str], out: str, extents: dict[str, Operand]
) -> Elements:  # fmt: skip
    """All terms written out."""
    b, type_ = block.b, forms[0].type
    summed = [c for c in extents if c not in out]
    items: list[Operand] = []
    for index in all_indices([extents[c] for c in out]):  # pyright: ignore[reportArgumentType]
        total: Operand | None = None
        for rest in all_indices([extents[c] for c in summed]):  # pyright: ignore[reportArgumentType]
            places = dict(zip((*out, *summed), (*index, *rest), strict=True))
            x, y = (f.at(b, (*[places[c] for c in names],)) for f, names in zip(forms, labels, strict=True))
            total = accumulated(b, type_, total, x, y)
        items.append(_zero(type_) if total is None else total)
    return Elements((*[extents[c] for c in out],), type_, items)


def _contract(block: Block, x: Form, y: Form, x_labels: str, y_labels: str, out: str, target: Stored) -> None:
    """Two operands as one batched product of matrices."""
    b = block.b
    shared = [c for c in x_labels if c in y_labels]
    batch, summed = [c for c in shared if c in out], [c for c in shared if c not in out]
    if not summed:
        nests.copy(b, _outer(x, y, x_labels, y_labels, out, target), target)
        return
    rows, columns = [c for c in x_labels if c not in shared], [c for c in y_labels if c not in shared]
    left, right = block.stored(x), block.stored(y)
    if [*out] == [*batch, *columns, *rows] and rows and columns:  # the transposed product
        left, right, x_labels, y_labels, rows, columns = right, left, y_labels, x_labels, columns, rows
    extents = dict(zip(out, target.shape, strict=True))
    batch = [c for c in out if c in batch]
    rows, columns = [c for c in out if c in rows], [c for c in out if c in columns]
    one = _merged(block, _permuted(left, x_labels, [*batch, *rows, *summed]), len(batch), len(rows))
    other = _merged(block, _permuted(right, y_labels, [*batch, *summed, *columns]), len(batch), len(summed))
    natural = [*batch, *rows, *columns]
    if natural == [*out]:
        batched(block, one, other, _matrices(b, target, one, other))
        return
    made = block.fresh((*[extents[c] for c in natural],), target.type)
    batched(block, one, other, _matrices(b, made, one, other))
    nests.copy(b, _permuted(made, "".join(natural), out), target)


def _outer(x: Form, y: Form, x_labels: str, y_labels: str, out: str, target: Stored) -> Form:
    """Products without a sum, one for each element of the result."""
    from_x, from_y = ([out.index(c) for c in names] for names in (x_labels, y_labels))
    op = "and" if target.type == "bool" else "mul"

    def at(b: Builder, index: Any) -> Operand:
        left, right = x.at(b, (*[index[i] for i in from_x],)), y.at(b, (*[index[i] for i in from_y],))
        return b.let(op, target.type, left, right)

    return _Outer(target.shape, target.type, at)


class _Outer(Form):
    __slots__ = ("compute",)

    def __init__(self, shape: Extents, type_: str, compute: Callable[[Builder, Any], Operand]) -> None:
        super().__init__(shape, type_)
        self.compute = compute

    def at(self, b: Builder, index: Any) -> Operand:
        return self.compute(b, index)


def _merged(block: Block, x: Stored, batch: int, rows: int) -> Stored:
    """A stack of matrices: the axes behind the batch as two; copied where strides do not allow it."""
    b = block.b
    groups = (range(batch, batch + rows), range(batch + rows, len(x.shape)))
    merged = [_one_axis(b, x, group) for group in groups]
    if any(found is None for found in merged):
        x = block.dense(x)
        merged = [_one_axis(b, x, group) for group in groups]
    (m, down), (k, along) = merged  # pyright: ignore[reportGeneralTypeIssues]
    shape, strides = (*x.shape[:batch], m, k), (*x.strides[:batch], down, along)
    return Stored(shape, x.array, x.offset, strides, x.is_dense)


def _one_axis(b: Builder, x: Stored, group: range) -> tuple[Operand, Operand] | None:
    """The extent and stride of neighbouring axes as one; None if they do not follow each other in memory."""
    axes = [a for a in group if not (type(x.shape[a]) is int and x.shape[a] == 1)]
    if not axes:
        return 1, 1
    if len(axes) > 1 and not x.is_dense:
        if not (is_numbers(x.strides) and is_numbers(x.shape)):
            return None
        if any(x.strides[a] != x.shape[c] * x.strides[c] for a, c in pairwise(axes)):  # pyright: ignore[reportOperatorIssue]
            return None
    return count_of(b, (*[x.shape[a] for a in axes],)), x.strides[axes[-1]]


def _matrices(b: Builder, target: Stored, one: Stored, other: Stored) -> Stored:
    shape = (*one.shape[:-1], other.shape[-1])
    return Stored(shape, target.array, target.offset, strides_of(b, shape), True)


SINGLES.update({"matmul": _matmul, "einsum": _einsum})
