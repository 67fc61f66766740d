"""Finds which columns of a block of rows need not be computed where a mask hides the rest, as causal attention has it.

The graph of a block (`row_blocks.py`) makes scores, hides some of them behind a mask, takes a softmax along the columns
and multiplies by values. Where all rows of a block have a mask over the last columns, their weights are zeros, and what
they are multiplied by does not count: the same graph with fewer columns gives the same. What is hidden only the run
tells (`lower/masked_columns.py`); here is looked for whether it may be told so, and graphs of fewer columns are made.

It is the same for gradients: weights times numbers are zeros in hidden columns, too, and so is what they add to sums
over rows. All of these must be numbers, hence what meets weights is bounded by operands, whose sizes the run compares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...._core.graph import Graph, Node
from ...._core.tensor import Value
from ...refine import PEAK

SHARES = 4  # graphs of a quarter of the columns, a half, three quarters, and all
LEAST_COLUMNS = 512  # for fewer more code is not worth it
_MOVES = ("broadcast_to", "reshape")
BOUNDED = (
    "matmul",
    "mul",
    "add",
    "sub",
    "neg",
    "times_number",
    "add_number",
    "scale",
    "transpose",
    "reduce_sum",
    "select",
    *_MOVES,
)  # of what the sizes of operands bound the result


def bounding(node: Node) -> tuple[Value, ...]:
    """The operands whose sizes bound what a node makes."""
    return node.inputs[1:] if node.op.name == "select" else node.inputs


class Mask(NamedTuple):
    """A mask over scores.

    Attributes:
        value: of the block's graph: where scores stay, or what is added to them.
        fill: what hidden scores are; None of what is added.
        is_hidden: whether scores are hidden where the value is true, not where it is false.
    """

    value: Value
    fill: Value | None
    is_hidden: bool = False


class Masked(NamedTuple):
    """A block's graph whose last columns may be left out.

    Attributes:
        score: what is masked first: all of its elements are bounded by those of what it is computed of.
        masks: over it.
        finite: what weights are multiplied by, bounded by operands: inputs, and what is computed of them.
        weights: keys of what lies between 0 and 1.
        axes: by input the axis of the columns, None where it has none.
        columns: of each of `graphs`, ascending; the last has all.
        graphs: of so many columns.
        masks_graph: computes the masks' values and fills.
    """

    score: Value
    masks: tuple[Mask, ...]
    finite: tuple[Value, ...]
    weights: frozenset[int]
    axes: tuple[int | None, ...]
    columns: tuple[int, ...]
    graphs: tuple[Graph, ...]
    masks_graph: Graph


def masked(graph: Graph, turned: Sequence[object], columns: Any) -> Masked | None:
    """What a block's graph allows, whose scores have so many columns.

    Args:
        graph: of a block of rows.
        turned: as `Blocks` has it: by result whether it is two factors of a sum over rows, or None for rows.
        columns: how many.
    """
    if type(columns) is not int or columns < LEAST_COLUMNS or columns % SHARES:
        return None
    if any(node.op.is_multi for node in graph.nodes):
        return None
    search = _Search(graph, columns)
    return search.found() if search.is_masked(turned) else None


class _Search:
    """What is known of the values of a block's graph."""

    def __init__(self, graph: Graph, columns: int) -> None:
        self.graph = graph
        self.columns = columns
        self.producer = {node.outputs[0].key: node for node in graph.nodes}
        self.inputs = {v.key for v in graph.inputs}
        self.bounded: set[int] = set()  # scores before they are masked, and what else operands bound
        self.hidden: set[int] = set()  # behind masks
        self.weights: set[int] = set()  # 0 where they are hidden, and at most 1
        self.terms: set[int] = set()  # 0 where they are hidden: weights times what is bounded
        self.rows: set[int] = set()  # one for a row, that hidden columns have no part in
        self.score: Value | None = None
        self.finite: list[Value] = []
        self.masks: list[Mask] = []
        self.shifted: int | None = None  # hidden scores less the largest of their row

    def is_masked(self, turned: Sequence[object]) -> bool:
        """Whether the graph is one of scores, masks and weights, whose results have no columns, or are sums over rows
        to which hidden columns add nothing."""
        values = [*self.graph.inputs, *(node.outputs[0] for node in self.graph.nodes)]
        if any(v.shape.count(self.columns) > 1 for v in values):
            return False
        if not all(self.is_understood(node) for node in self.graph.nodes) or self.score is None:
            return False
        outputs = iter(self.graph.outputs)
        given = [
            next(outputs).key in self.rows if t is None else self.adds(next(outputs), next(outputs)) for t in turned
        ]
        return all(given) and bool(self.finite)

    def adds(self, x: Value, y: Value) -> bool:
        """Whether the products of two factors, which are added up over rows, are zeros in hidden columns."""
        if self.axis(x) is None and self.axis(y) is None:
            return True
        zero, other = (x, y) if self.axis(x) is not None else (y, x)
        return self.is_zero(zero) and self.axis(other) is None and self.is_finite(other)

    def axis(self, value: Value) -> int | None:
        """The axis of the columns."""
        return value.shape.index(self.columns) if self.columns in value.shape else None

    def is_score(self, value: Value) -> bool:
        """Whether a value has the columns last."""
        return self.axis(value) == len(value.shape) - 1

    def source(self, value: Value) -> Value:
        """What a value repeats, in whatever shape."""
        while value.key in self.producer and self.producer[value.key].op.name in _MOVES:
            value = self.producer[value.key].inputs[0]
        return value

    def is_understood(self, node: Node) -> bool:
        """Whether it is known what a node does to masked scores."""
        (out,), name = node.outputs, node.op.name
        if name in ("full", "constant"):
            return True
        if name in _MOVES and self.source(out).key in self.inputs:
            return not (name == "reshape" and self.axis(out) is not None)
        if self.axis(out) is None:
            return self.is_row(node, out)
        if name in _MOVES:
            return self.axis(node.inputs[0]) is None and self.source(out).key in self.rows
        return self.has_columns(node, out)

    def is_row(self, node: Node, out: Value) -> bool:
        """Whether a node without columns comes of weights of all rows, or of rows."""
        name, (x, *others) = node.op.name, node.inputs
        if name == "matmul" and self.is_zero(x):
            is_well = others[0].key in self.inputs and self.axis(others[0]) == len(others[0].shape) - 2
            is_well = is_well and self.is_finite(others[0])
        elif name in (PEAK, "reduce_max"):
            is_well = self.axis(x) is None or (x.key in self.hidden and self.reduces_columns(node))
        elif name == "reduce_sum":
            is_well = self.axis(x) is None or (self.is_zero(x) and self.reduces_columns(node))
        else:
            is_well = all(self.axis(v) is None for v in node.inputs)
        if is_well:
            self.rows.add(out.key)
            if name in BOUNDED and all(self.is_bounded(v) or v.key in self.inputs for v in node.inputs):
                self.bounded.add(out.key)
        return is_well

    def reduces_columns(self, node: Node) -> bool:
        axes = node.attrs[0]
        return (axes if type(axes) is tuple else (axes,)) == (len(node.inputs[0].shape) - 1,)

    def has_columns(self, node: Node, out: Value) -> bool:
        """Whether a node makes scores, hides some, or makes weights of them."""
        name, xs = node.op.name, node.inputs
        if not self.is_score(out) or out.dtype.kind != "f" or out.dtype.itemsize < 4:
            return False
        if name == "matmul":
            self.bounded.add(out.key)
            return (
                self.is_bounded(xs[0])
                and xs[1].key in self.inputs
                and self.is_score(xs[1])
                and self.axis(xs[0]) is None
            )
        if name == "select":
            return self.is_cleared(xs, out) or self.is_hiding(xs, out)
        if name == "add" and self.score is None and any(v.key in self.bounded for v in xs):
            score, mask = xs if xs[0].key in self.bounded else xs[::-1]
            if self.axis(self.source(mask)) is not None and self.source(mask).key in self.inputs:
                return self.hides(score, Mask(mask, None), out)
        if self.is_term(node):
            self.terms.add(out.key)
            return True
        if name in BOUNDED and all(map(self.is_bounded, xs)):
            self.bounded.add(out.key)
            return True
        return self.is_weight(name, xs, out)

    def is_zero(self, value: Value) -> bool:
        """Whether a value is 0 in hidden columns."""
        return value.key in self.weights or value.key in self.terms

    def is_bounded(self, value: Value) -> bool:
        """Whether operands bound all elements of a value."""
        return value.key in self.bounded or self.is_zero(value) or self.is_known(value)

    def is_finite(self, value: Value) -> bool:
        """Whether the run can say that a value is finite, if it is asked to, as it is from now on."""
        is_known = value.key in self.inputs or self.is_bounded(value)
        if is_known and not any(v.key == value.key for v in self.finite):
            self.finite.append(value)
        return is_known

    def is_term(self, node: Node) -> bool:
        """Whether a node makes zeros of zeros, if what these meet is finite."""
        name, xs = node.op.name, node.inputs
        if name == "neg" or (name == "times_number" and math.isfinite(node.attrs[0])):
            return self.is_zero(xs[0])
        if name in ("add", "sub"):
            return all(map(self.is_zero, xs))
        if name == "mul" and any(map(self.is_zero, xs)):
            return all(self.is_zero(v) or self.is_finite(v) for v in xs)
        return False

    def is_cleared(self, xs: tuple[Value, ...], out: Value) -> bool:
        """Whether zeros are put into what is 0 in hidden columns, as gradients of masks do."""
        keeps, *others = xs
        if self.source(keeps).key not in self.inputs:
            return False
        is_cleared = any(map(self.is_zero, others)) and all(self.is_zero(v) or self.is_nothing(v) for v in others)
        if is_cleared:
            self.terms.add(out.key)
        return is_cleared

    def is_nothing(self, value: Value) -> bool:
        """Whether all elements are 0."""
        source = self.source(value)
        return self.is_full(source) and self.producer[source.key].attrs[1] == 0

    def is_known(self, value: Value) -> bool:
        """Whether a value repeats an input, or a number, or what these bound, along all columns."""
        source = self.source(value)
        is_row = self.axis(source) is None
        return self.is_full(source) or (is_row and (source.key in self.inputs or source.key in self.bounded))

    def is_full(self, value: Value) -> bool:
        """Whether all elements are one number."""
        return value.key in self.producer and self.producer[value.key].op.name == "full"

    def is_hiding(self, xs: tuple[Value, ...], out: Value) -> bool:
        keeps, x, y = xs
        if self.source(keeps).key not in self.inputs:
            return False
        for score, other, is_hidden in ((x, y, False), (y, x, True)):
            fill = self.source(other)
            is_told = self.is_full(fill) or fill.key in self.inputs
            if is_told and score.key in self.bounded | self.hidden:
                return self.hides(score, Mask(keeps, other, is_hidden), out)
        return False

    def hides(self, score: Value, mask: Mask, out: Value) -> bool:
        if score.key in self.bounded:
            if self.score is not None:
                return False
            self.score = score
        self.masks.append(mask)
        self.hidden.add(out.key)
        return True

    def is_weight(self, name: str, xs: tuple[Value, ...], out: Value) -> bool:
        """Whether this is what a softmax makes of hidden scores: less their largest, the exponential, the share."""
        x, *others = xs
        reduced = self.producer.get(self.source(others[0]).key) if others else None
        is_of_row = reduced is not None and [v.key for v in reduced.inputs] == [x.key]
        if name == "sub" and x.key in self.hidden and is_of_row:
            self.shifted = out.key
            return True
        is_weight = (name == "exp" and x.key == self.shifted) or (name == "div" and x.key in self.weights and is_of_row)
        if is_weight:
            self.weights.add(out.key)
        return is_weight

    # -- what it comes to -----------------------------------------------------------------------------------------

    def found(self) -> Masked:
        assert self.score is not None
        counts = (*[self.columns * share // SHARES for share in range(1, SHARES)],)
        graphs = (*[self.of_columns(count) for count in counts], self.graph)
        axes = (*[self.axis(v) for v in self.graph.inputs],)
        wanted = [v for mask in self.masks for v in (mask.value, mask.fill) if v is not None]
        read = {v.key for v in wanted}
        nodes: list[Node] = []
        for node in reversed(self.graph.nodes):
            if node.outputs[0].key in read:
                read.update(v.key for v in node.inputs)
                nodes.insert(0, node)
        of_masks = Graph.of("masks", self.graph.inputs, nodes, wanted)
        return Masked(
            self.score, (*self.masks,), (*self.finite,), frozenset(self.weights), axes, (*counts, self.columns), graphs,
            of_masks,
        )  # fmt: skip

    def of_columns(self, count: int) -> Graph:
        """The graph with so many columns."""
        made = Graph("block")
        stands_for: dict[int, Value] = {}

        def shape(extents: tuple[Any, ...]) -> tuple[Any, ...]:
            return (*[count if n == self.columns else n for n in extents],)

        def value(v: Value) -> Value:
            found = stands_for[v.key] = Value(shape(v.shape), v.dtype, made.serial, v.name, v.weak)
            return found

        made.inputs = [value(v) for v in self.graph.inputs]
        for node in self.graph.nodes:
            names = zip(node.op.attrs, node.attrs, strict=True)
            attrs = (*[shape(attr) if name == "shape" else attr for name, attr in names],)
            inputs = (*[stands_for[v.key] for v in node.inputs],)
            outs = (value(node.outputs[0]),)
            made.nodes.append(Node(node.op, inputs, outs, attrs, node.site, node.is_quiet, node.label))
        made.outputs = [stands_for[v.key] for v in self.graph.outputs]
        made.is_frozen = True
        return made
