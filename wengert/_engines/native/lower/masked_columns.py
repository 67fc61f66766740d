"""How many columns of a block of rows are to be computed, which a mask decides (`plan/masked_columns.py`).

Columns may be left out if their weights are zeros, and zeros times what they meet are zeros: the mask makes scores so
much less than the largest of each row that no exponential is left of them, and what weights meet are numbers. That
follows from the largest sizes of the operands, whose products bound the scores; where it does not, as with infinities
and NaN, or for a row that is hidden from the first columns, all are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...._core.graph import Graph
from ...._core.tensor import Value
from ..ir.builder import Builder
from ..ir.loops import Operand, Var
from ..plan.masked_columns import BOUNDED, Masked
from ..plan.masked_columns import bounding as operands_of_bounds
from . import nests
from .blocks import Block
from .forms import Form, Index, Lazy, Stored
from .reduces import REDUCES

VANISHING = 1000.0  # how much less than the largest leaves nothing of an exponential, in float64, too
OPEN = -500.0  # a bias from which on a score is not hidden
LARGEST = 1e30  # of what sums of products are finite in float32


def largest(b: Builder, form: Form) -> Operand:
    """The largest size of an element, in float64; NaN if there is one."""
    type_ = form.type

    def size(b: Builder, index: Index) -> Operand:
        return b.let("abs", type_, form.at(b, index))

    sizes = Lazy(form.shape, type_, size, None, [form])
    total = nests.Sum(sizes, REDUCES["reduce_max"], (*range(len(form.shape)),), None)
    nests.emit(b, form.shape, [], [total])
    return b.convert("f64", type_, total.result)


def bounding(masked: Masked) -> set[int]:
    """The positions of the inputs whose sizes bound scores and values."""
    producer = {node.outputs[0].key: node for node in masked.graphs[-1].nodes}
    waiting, found = [masked.score, *masked.finite], set[int]()
    while waiting:
        value = waiting.pop()
        if value.key in masked.weights:
            continue
        if value.key in producer:
            waiting += operands_of_bounds(producer[value.key])
        else:
            found.add(value.key)
    return {position for position, v in enumerate(masked.graphs[-1].inputs) if v.key in found}


class Needed:
    """Finds how many shares of the columns a block needs."""

    def __init__(self, block: Block, masked: Masked, parts: Sequence[Form], sizes: dict[int, Operand]) -> None:
        self.b = block.b
        self.masked = masked
        whole = masked.graphs[-1]
        self.producer = {node.outputs[0].key: node for node in whole.nodes}
        self.sizes = {v.key: sizes[position] for position, v in enumerate(whole.inputs) if position in sizes}
        values = masked.masks_graph.outputs
        forms = Block(block.setting, masked.masks_graph, parts, block.sizes).run([None] * len(values))
        self.forms = {v.key: form for v, form in zip(values, forms, strict=True)}

    def shares(self) -> Operand:
        b, masked = self.b, self.masked
        found = b.var("i64", len(masked.columns))
        bound = self.bound(masked.score)
        with b.when(self.is_fine(bound)), b.when(self.has_open_rows()):
            self.leave_out(len(masked.columns) - 1, bound, found)
        return b.get(found)

    def leave_out(self, shares: int, bound: Operand, found: Var) -> None:
        """Leaves out the columns behind so many shares if all are hidden, and then tries fewer."""
        b, first, last = self.b, *self.masked.columns[shares - 1 : shares + 1]
        with b.when(self.are_hidden(first, last, bound)):
            b.set(found, shares)
            if shares > 1:
                self.leave_out(shares - 1, bound, found)

    # -- what the masks say ---------------------------------------------------------------------------------------

    def is_open(self, index: Index) -> Operand:
        """Whether no mask hides a score."""
        b = self.b
        found: Operand = True
        for mask in self.masked.masks:
            form = self.forms[mask.value.key]
            x = form.at(b, index)
            if mask.fill is None:
                is_open = b.let("ge", "f64", b.convert("f64", form.type, x), OPEN)
            else:
                is_open = b.negated(x) if mask.is_hidden else x
            found = b.both(found, is_open)
        return found

    def is_hidden(self, index: Index, bound: Operand) -> Operand:
        """Whether a mask hides a score, so that no weight is left."""
        b = self.b
        found: Operand = False
        least = self.least(bound)
        for mask in self.masked.masks:
            form = self.forms[mask.value.key]
            x = form.at(b, index)
            is_hidden: Operand = True
            if mask.fill is not None:
                is_hidden = x if mask.is_hidden else b.negated(x)
                form = self.forms[mask.fill.key]
                x = form.at(b, index)
            is_hidden = b.both(is_hidden, b.let("le", "f64", b.convert("f64", form.type, x), least))
            found = b.either(found, is_hidden)
        return found

    def has_open_rows(self) -> Operand:
        """Whether each row has a score in the first columns that is not hidden."""
        b, shape = self.b, self.shape(0, self.masked.columns[0])
        rows = Stored(shape[:-1], b.local("bool", prod(shape[:-1])))
        form = Lazy(shape, "bool", lambda b, index: self.is_open(index), None, [*self.forms.values()])
        nests.emit(b, shape, [], [nests.Sum(form, REDUCES["reduce_any"], (len(shape) - 1,), rows)])
        total = nests.Sum(rows, REDUCES["reduce_all"], (*range(len(shape) - 1),), None)
        nests.emit(b, rows.shape, [], [total])
        return total.result

    def are_hidden(self, first: int, last: int, bound: Operand) -> Operand:
        """Whether all scores in columns of a range are hidden."""
        b, shape = self.b, self.shape(first, last)

        def compute(b: Builder, index: Index) -> Operand:
            return self.is_hidden((*index[:-1], b.add(index[-1], first)), bound)

        form = Lazy(shape, "bool", compute, None, [*self.forms.values()])
        total = nests.Sum(form, REDUCES["reduce_all"], (*range(len(shape)),), None)
        nests.emit(b, shape, [], [total])
        return total.result

    def shape(self, first: int, last: int) -> tuple[int, ...]:
        *lead, _ = self.masked.score.shape
        return (*lead, last - first)

    # -- bounds ---------------------------------------------------------------------------------------------------

    def least(self, bound: Operand) -> Operand:
        """What a hidden score, or what is added to it, must be less than where scores are bounded."""
        b = self.b
        return b.let("sub", "f64", OPEN - VANISHING, b.let("mul", "f64", 2.0, bound))

    def is_fine(self, bound: Operand) -> Operand:
        """Whether scores are finite, and all that weights meet."""
        b = self.b
        found: Operand = b.let("lt", "f64", bound, LARGEST)
        for value in self.masked.finite:
            found = b.both(found, b.let("lt", "f64", self.bound(value), LARGEST))
        return found

    def bound(self, value: Value) -> Operand:
        """What no element of a value is larger than, by those of the operands."""
        b, node = self.b, self.producer.get(value.key)
        if value.key in self.masked.weights:
            return 1.0
        if node is None:
            return self.sizes[value.key]
        if node.op.name == "full":
            return abs(float(node.attrs[1]))
        assert node.op.name in BOUNDED
        x, *others = [self.bound(v) for v in operands_of_bounds(node)]
        if node.op.name in ("times_number", "add_number"):
            name = "mul" if node.op.name == "times_number" else "add"
            return b.let(name, "f64", x, abs(float(node.attrs[0])))
        if node.op.name == "reduce_sum":
            return b.let("mul", "f64", x, float(prod(node.inputs[0].shape) // prod(node.outputs[0].shape)))
        if not others:
            return x
        if node.op.name in ("add", "sub", "select"):
            return b.let("add", "f64", x, others[0])
        product = b.let("mul", "f64", x, others[0])
        terms = float(node.inputs[0].shape[-1]) if node.op.name == "matmul" else 1.0
        return b.let("mul", "f64", product, terms)


def of_columns(parts: Sequence[Form], graph: Graph, axes: Sequence[int | None]) -> list[Form]:
    """The first columns of a block's operands, as many as its graph has."""
    found: list[Form] = []
    for form, axis, value in zip(parts, axes, graph.inputs, strict=True):
        if axis is None or form.shape == value.shape:
            found.append(form)
        elif type(form) is Stored:
            found.append(Stored(value.shape, form.array, form.offset, form.strides, False))
        else:
            found.append(Lazy(value.shape, form.type, form.at, None, [form]))
    return found
