"""Lowers a `BLOCKED` node (`plan/row_blocks.py`): a loop over batches and heads, in it one over blocks of rows.

What a block makes on its way is memory of the iteration's own. Batches and heads may run in threads, each with memory
of its own; where there is one, the products of a block may. A sum over rows is added up where it is to be, block by
block in their order, so its bits do not depend on threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ...._core.graph import Graph, Node
from ..ir.builder import Builder
from ..ir.loops import Operand
from ..plan.row_blocks import Axes, Blocks
from . import masked_columns, nests
from .blocks import Block, singles
from .forms import Form, Index, Lazy, Stored, row_major, spill, unflattened
from .maps import zero_of
from .products import batched


def _blocked(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    return _Loops(block, node, forms).run()


class _Loops:
    def __init__(self, block: Block, node: Node, forms: list[Form]) -> None:
        self.block = block
        self.b = block.b
        self.blocks: Blocks = node.attrs[0]
        self.forms = forms
        self.targets = [block.room(v) for v in node.outputs]
        self.sizes: dict[int, Operand] = {}  # by position of what all rows share how large its elements are

    def run(self) -> Sequence[Form]:
        b, blocks = self.b, self.blocks
        spill(b, self.forms)
        for target, axes in zip(self.targets, blocks.gives, strict=True):
            if axes[-1] is None:
                _clear(b, target)
        *batch, rows = blocks.extents
        count = prod(batch)
        with b.loop(0, count, blocks.work if count > 1 else None) as number, b.own_memory():
            place = unflattened(b, (*batch,), number) if batch else ()
            self.all_rows(place, rows)
        return self.targets

    def all_rows(self, place: Index, rows: int) -> None:
        """One batch and head."""
        b, (size, *rest) = self.b, self.blocks.counts
        forms = self.prepared(place)
        self.sizes = self.largest(forms, lambda axes: axes[-1] is None)
        whole = rows // size
        if whole > 1:
            with b.loop(0, whole) as number:
                b.poll(1)  # a block takes a good part of a millisecond
                self.some_rows(forms, (*place, b.mul(number, size)), self.blocks.graphs[0])
        else:
            self.some_rows(forms, (*place, 0), self.blocks.graphs[0])
        if rest:
            self.some_rows(forms, (*place, whole * size), self.blocks.graphs[1])

    def prepared(self, place: Index) -> list[Form]:
        """The operands: of what all rows share, this batch's. What products read by columns is laid out in rows, as it
        would be packed for each block."""
        factors = _right_factors(self.blocks.graphs[0])
        found: list[Form] = []
        for position, (form, axes) in enumerate(zip(self.forms, self.blocks.takes, strict=True)):
            if axes[-1] is None:
                shape = self.blocks.graphs[0].inputs[position].shape
                form = _part(self.b, form, (*axes[:-1],), place, shape)
                if position in factors and not (type(form) is Stored and form.strides[-1] == 1):
                    form = self.empty().dense(form)
                form = _computed(self.empty(), form)
            found.append(form)
        return found

    def empty(self) -> Block:
        """A block of nothing, which has no arrays yet that may be used again: they would be those of all threads."""
        return self.block.alone(Graph.of("rows", [], [], []), [])

    def some_rows(self, forms: Sequence[Form], starts: Index, graph: Graph) -> None:
        """A block of rows."""
        b, blocks = self.b, self.blocks
        parts: list[Form] = []
        for form, axes, value in zip(forms, blocks.takes, graph.inputs, strict=True):
            is_shared = axes[-1] is None
            parts.append(form if is_shared else _computed(self.empty(), _part(b, form, axes, starts, value.shape)))
        masked = blocks.masked
        if masked is None or graph is not masked.graphs[-1]:
            self.computed(parts, starts, graph)
            return
        sizes = self.sizes | self.largest(parts, lambda axes: axes[-1] is not None)
        shares = masked_columns.Needed(self.block, masked, parts, sizes).shares()
        for number, some in enumerate(masked.graphs, 1):
            with b.when(b.let("eq", "i64", shares, number)):
                self.computed(masked_columns.of_columns(parts, some, masked.axes), starts, some)

    def largest(self, forms: Sequence[Form], is_wanted: Callable[[Axes], bool]) -> dict[int, Operand]:
        """By position of some operands how large the elements are that bound scores which a mask may hide."""
        masked = self.blocks.masked
        return {
            position: masked_columns.largest(self.b, forms[position])
            for position in sorted(masked_columns.bounding(masked) if masked is not None else ())
            if is_wanted(self.blocks.takes[position])
        }

    def computed(self, parts: Sequence[Form], starts: Index, graph: Graph) -> None:
        """What a block's graph makes of its operands."""
        b, blocks = self.b, self.blocks
        inner = Block(self.block.setting, graph, parts, self.block.sizes)
        wanted: list[Stored | None] = []
        for target, axes, turned in zip(self.targets, blocks.gives, blocks.turned, strict=True):
            if turned is None:
                part = _part(b, target, axes, starts, graph.outputs[len(wanted)].shape)
                assert type(part) is Stored
                wanted.append(part)
            else:
                wanted += [None, None]
        found = iter(inner.run(wanted))
        for target, axes, turned in zip(self.targets, blocks.gives, blocks.turned, strict=True):
            first = next(found)
            if turned is None:
                continue
            x, y = (
                _turned(inner.stored(form)) if is_turned else inner.stored(form)
                for form, is_turned in zip((first, next(found)), turned, strict=True)
            )
            shape = (*x.shape[:-1], y.shape[-1])
            into = _part(b, target, (*axes[:-1],), starts[:-1], shape)
            assert type(into) is Stored
            batched(inner, x, y, into, joins=True)


def _computed(block: Block, form: Form) -> Form:
    """What is computed where it is read, once: it is read in several loops, where it need not have the same bits."""
    return block.dense(form) if type(form) is Lazy and form.sources else form


def _clear(b: Builder, target: Stored) -> None:
    zero = zero_of(target.type)
    nests.copy(b, Lazy(target.shape, target.type, lambda b, index: zero, lambda b, place: zero), target)


def _right_factors(graph: Graph) -> set[int]:
    """Which inputs are the right factors of products."""
    right = {node.inputs[1].key for node in graph.nodes if node.op.name == "matmul"}
    return {position for position, value in enumerate(graph.inputs) if value.key in right}


def _turned(x: Stored) -> Stored:
    """Matrices transposed."""
    *batch, rows, columns = x.shape
    *steps, down, along = x.strides
    return Stored((*batch, columns, rows), x.array, x.offset, (*steps, along, down), False)


def _part(b: Builder, form: Form, axes: Axes, starts: Index, shape: Sequence[Any]) -> Form:
    """Of a form what lies from a place on, along some axes; from the beginning along others."""
    at: dict[int, Operand] = {a: start for a, start in zip(axes, starts, strict=True) if a is not None}
    if not at and form.shape == (*shape,):
        return form
    if type(form) is not Stored:

        def compute(b: Builder, index: Index) -> Operand:
            return form.at(b, (*[b.add(at[a], i) if a in at else i for a, i in enumerate(index)],))

        return Lazy((*shape,), form.type, compute, None, [form])
    offset = form.offset
    for axis, start in at.items():
        offset = b.add(offset, b.mul(start, form.strides[axis]))
    natural = row_major((*shape,))
    is_dense = all(n == 1 or s == t for n, s, t in zip(shape, form.strides, natural, strict=True))
    return Stored((*shape,), form.array, offset, natural if is_dense else form.strides, is_dense)


LOWERED = singles({"blocked": _blocked})
