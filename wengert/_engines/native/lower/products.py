"""Products of matrices, and sums of products over labelled axes.

Few elements are written out in registers; everything else is one product of matrices, or a batch of them, whose
products may run in threads (`matrices.py` has the ways of one). A product with labels is one batched product of
matrices whose axes are the labels shared and kept, of the first operand, summed, and of the second, as far as strides
allow without copies: of the operands, and of the result, which is written where it belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from math import prod
from typing import Any, cast

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.loops import Operand
from . import complex_products, nests
from .blocks import Block, singles
from .forms import Elements, Extents, Form, Stored, all_indices, count_of, is_numbers, strides_of
from .maps import zero_of
from .matrices import (
    BLAS_LETTER,
    LEAST_WORK,
    PER_ELEMENT,
    accumulated,
    add,
    fortran_int,
    is_transpose_of,
    letter,
    only,
    plan,
    product,
    turned,
)
from .ranges import is_one

UNROLLED = 64  # multiplications that are written out


def _matmul(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    x, y = forms
    out = node.outputs[0]
    shape = block.shape(out)  # may be known at run time where a constant operand's is a number
    if is_numbers(x.shape) and is_numbers(y.shape) and is_numbers(shape):
        count = prod((*x.shape, y.shape[-1]))  # pyright: ignore[reportArgumentType, reportCallIssue]  # extents that are numbers
        if count <= UNROLLED and prod(shape) <= UNROLLED // 4:  # pyright: ignore[reportArgumentType, reportCallIssue]  # extents that are numbers
            return [_written_out(block, x, y)]
    target = block.room(out)
    batched(block, block.stored(x), block.stored(y), target)
    return [target]


def _written_out(block: Block, x: Form, y: Form) -> Elements:
    b, type_ = block.b, x.type
    items: list[Operand] = []
    *lead, m, k = x.shape
    n = y.shape[-1]
    for index in all_indices((*lead, m, n)):  # pyright: ignore[reportArgumentType]  # extents that are numbers
        *places, i, j = index
        total: Operand | None = None
        for p in range(k):  # pyright: ignore[reportArgumentType]  # extents that are numbers
            total = accumulated(b, type_, total, x.at(b, (*places, i, p)), y.at(b, (*places, p, j)))
        items.append(zero_of(type_) if total is None else total)
    return Elements((*lead, m, n), type_, items)


# -- batches ----------------------------------------------------------------------------------------------------------


def batched(
    block: Block, x: Stored, y: Stored, out: Stored, in_thread: bool = False, joins: bool = False
) -> None:  # fmt: skip
    """out = x @ y (or += if it joins), of which all axes before the last two are a batch.

    The products of a batch may run in threads.
    """
    if complex_products.is_worth_real_ones(x, y):
        complex_products.by_real_ones(block, x, y, out, joins, batched)
        return
    b = block.b
    if len(x.shape) > 2 and x.is_dense and out.is_dense and all(_is_zero(s) for s in y.strides[:-2]):
        # one matrix for all rows of the batch: one large product
        rows = count_of(b, x.shape[:-1])
        batched(block, _as_rows(b, x, rows), only(y), _as_rows(b, out, rows), in_thread, joins)
        return
    if len(x.shape) <= 2:
        product(block, x, y, out, in_thread, joins)
        return
    if is_one(x.shape[0]):  # which threads cannot share: what is inside, they may
        batched(block, x.row(b, 0), y.row(b, 0), out.row(b, 0), in_thread, joins)
        return
    one = plan(*(only(form) for form in (x, y, out)), joins=joins)
    work = None
    if not in_thread and not one.needs_room:
        work = b.divided(count_of(b, (*x.shape, y.shape[-1])), PER_ELEMENT)
        work = None if type(work) is int and work < LEAST_WORK else work
    with b.loop(0, cast("tuple[Operand, ...]", x.shape)[0], work) as i:
        left = x.row(b, i)
        right = turned(left) if is_transpose_of(x, y) else y.row(b, i)
        batched(block, left, right, out.row(b, i), in_thread or work is not None, joins)


def _is_zero(stride: Operand) -> bool:
    return type(stride) is int and stride == 0


def _as_rows(b: Builder, x: Stored, rows: Operand) -> Stored:
    shape = (rows, x.shape[-1])
    return Stored(shape, x.array, x.offset, strides_of(b, shape), True)


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
    if is_numbers((*extents.values(),)) and prod(extents.values()) <= UNROLLED:  # pyright: ignore[reportArgumentType, reportCallIssue]  # extents that are numbers
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
    for index in all_indices([extents[c] for c in out]):  # pyright: ignore[reportArgumentType]  # extents that are numbers
        total: Operand | None = None
        for rest in all_indices([extents[c] for c in summed]):  # pyright: ignore[reportArgumentType]  # extents that are numbers
            places = dict(zip((*out, *summed), (*index, *rest), strict=True))
            x, y = (f.at(b, (*[places[c] for c in names],)) for f, names in zip(forms, labels, strict=True))
            total = accumulated(b, type_, total, x, y)
        items.append(zero_of(type_) if total is None else total)
    return Elements((*[extents[c] for c in out],), type_, items)


def add_matmul(block: Block, x: Form, y: Form, target: Stored) -> None:
    """target += x @ y."""
    batched(block, block.stored(x), block.stored(y), target, joins=True)


def add_einsum(block: Block, x: Form, y: Form, attrs: tuple[Any, ...], target: Stored) -> None:
    """target += the sum of products of two operands over labelled axes."""
    (x_labels, y_labels), out = attrs
    _contract(block, x, y, x_labels, y_labels, out, target, joins=True)


def _contract(
    block: Block, x: Form, y: Form, x_labels: str, y_labels: str, out: str, target: Stored, joins: bool = False
) -> None:  # fmt: skip
    """Two operands as one batched product of matrices."""
    b = block.b
    shared = [c for c in x_labels if c in y_labels]
    batch, summed = [c for c in shared if c in out], [c for c in shared if c not in out]
    if not summed:
        found = _outer(x, y, x_labels, y_labels, out, target)
        (add if joins else nests.copy)(b, found, target)
        return
    rows, columns = [c for c in x_labels if c not in shared], [c for c in y_labels if c not in shared]
    left, right = block.stored(x), block.stored(y)
    extents = dict(zip(out, target.shape, strict=True))
    batch = [c for c in out if c in batch]
    rows, columns = [c for c in out if c in rows], [c for c in out if c in columns]
    one = _merged(block, _permuted(left, x_labels, [*batch, *rows, *summed]), len(batch), len(rows))
    other = _merged(block, _permuted(right, y_labels, [*batch, *summed, *columns]), len(batch), len(summed))
    natural = [*batch, *rows, *columns]
    found = _as_matrices(b, _permuted(target, out, natural), len(batch), len(rows))
    if found is not None:
        batched(block, one, other, found, joins=joins)
        return
    made = block.fresh((*[extents[c] for c in natural],), target.type)
    batched(block, one, other, _matrices(b, made, one, other))
    (add if joins else nests.copy)(b, _permuted(made, "".join(natural), out), target)


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

    def at(self, b: Builder, index: object) -> Operand:
        return self.compute(b, index)


def _merged(block: Block, x: Stored, batch: int, rows: int) -> Stored:
    """A stack of matrices: the axes behind the batch as two; copied where strides do not allow it."""
    b = block.b
    found = _as_matrices(b, x, batch, rows)
    if found is None:
        found = _as_matrices(b, block.dense(x), batch, rows)
    assert found is not None
    return found


def _as_matrices(b: Builder, x: Stored, batch: int, rows: int) -> Stored | None:
    """A stack of matrices: the axes behind the batch as two; None where strides do not allow it."""
    groups = (range(batch, batch + rows), range(batch + rows, len(x.shape)))
    down, along = (_one_axis(b, x, group) for group in groups)
    if down is None or along is None:
        return None
    shape, strides = (*x.shape[:batch], down[0], along[0]), (*x.strides[:batch], down[1], along[1])
    return Stored(shape, x.array, x.offset, strides, x.is_dense)


def _one_axis(b: Builder, x: Stored, group: range) -> tuple[Operand, Operand] | None:
    """The extent and stride of neighbouring axes as one; None if they do not follow each other in memory."""
    axes = [a for a in group if not (type(x.shape[a]) is int and x.shape[a] == 1)]
    if not axes:
        return 1, 1
    if len(axes) > 1 and not x.is_dense:
        if not (is_numbers(x.strides) and is_numbers(x.shape)):
            return None
        if any(x.strides[a] != x.shape[c] * x.strides[c] for a, c in pairwise(axes)):  # pyright: ignore[reportOperatorIssue]  # extents that are numbers
            return None
    return count_of(b, (*[x.shape[a] for a in axes],)), x.strides[axes[-1]]


def _matrices(b: Builder, target: Stored, one: Stored, other: Stored) -> Stored:
    shape = (*one.shape[:-1], other.shape[-1])
    return Stored(shape, target.array, target.offset, strides_of(b, shape), True)


LOWERED = singles({"matmul": _matmul, "einsum": _einsum}, of_complex=True)

__all__ = ["BLAS_LETTER", "accumulated", "batched", "fortran_int", "letter", "product"]
