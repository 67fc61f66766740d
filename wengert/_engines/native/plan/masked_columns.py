"""Finds which columns of a block of rows need not be computed where a mask hides the rest, as causal attention has it.

The graph of a block (`row_blocks.py`) makes scores, hides some of them behind a mask, takes a softmax along the columns
and multiplies by values. Where all rows of a block have a mask over the last columns, their weights are zeros, and what
they are multiplied by does not count: the same graph with fewer columns gives the same. What is hidden only the run
tells (`lower/masked_columns.py`); here is looked for whether it may be told so, and graphs of fewer columns are made.
"""

from __future__ import annotations

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
    *_MOVES,
)  # of what the sizes of operands bound the result


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
        values: what weights are multiplied by, an input.
        axes: by input the axis of the columns, None where it has none.
        columns: of each of `graphs`, ascending; the last has all.
        graphs: of so many columns.
        masks_graph: computes the masks' values and fills.
    """

    score: Value
    masks: tuple[Mask, ...]
    values: Value
    axes: tuple[int | None, ...]
    columns: tuple[int, ...]
    graphs: tuple[Graph, ...]
    masks_graph: Graph


def masked(graph: Graph, columns: Any) -> Masked | None:
    """What a block's graph allows, whose scores have so many columns."""
    if type(columns) is not int or columns < LEAST_COLUMNS or columns % SHARES:
        return None
    if any(node.op.is_multi for node in graph.nodes):
        return None
    search = _Search(graph, columns)
    return search.found() if search.is_masked() else None


class _Search:
    """What is known of the values of a block's graph."""

    def __init__(self, graph: Graph, columns: int) -> None:
        self.graph = graph
        self.columns = columns
        self.producer = {node.outputs[0].key: node for node in graph.nodes}
        self.inputs = {v.key for v in graph.inputs}
        self.bounded: set[int] = set()  # scores before they are masked
        self.hidden: set[int] = set()  # behind masks
        self.weights: set[int] = set()  # 0 where they are hidden
        self.rows: set[int] = set()  # one for a row, that hidden columns have no part in
        self.score: Value | None = None
        self.values: Value | None = None
        self.masks: list[Mask] = []
        self.shifted: int | None = None  # hidden scores less the largest of their row

    def is_masked(self) -> bool:
        """Whether the graph is one of scores, masks and weights, whose results have no columns."""
        values = [*self.graph.inputs, *(node.outputs[0] for node in self.graph.nodes)]
        if any(v.shape.count(self.columns) > 1 for v in values):
            return False
        return (
            all(self.is_understood(node) for node in self.graph.nodes)
            and self.values is not None
            and all(v.key in self.rows for v in self.graph.outputs)
        )

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
        if name == "matmul" and x.key in self.weights:
            is_well = self.values is None and others[0].key in self.inputs
            is_well = is_well and self.axis(others[0]) == len(others[0].shape) - 2
            self.values = others[0]
        elif name in (PEAK, "reduce_max"):
            is_well = x.key in self.hidden and self.reduces_columns(node)
        elif name == "reduce_sum":
            is_well = x.key in self.weights and self.reduces_columns(node)
        else:
            is_well = all(self.axis(v) is None for v in node.inputs)
        if is_well:
            self.rows.add(out.key)
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
            return all(v.key in self.inputs for v in xs) and self.is_score(xs[1]) and self.axis(xs[0]) is None
        if name == "select":
            return self.is_hiding(xs, out)
        if name == "add" and self.score is None and any(v.key in self.bounded for v in xs):
            score, mask = xs if xs[0].key in self.bounded else xs[::-1]
            if self.axis(self.source(mask)) is not None and self.source(mask).key in self.inputs:
                return self.hides(score, Mask(mask, None), out)
        if name in BOUNDED and any(v.key in self.bounded for v in xs):
            self.bounded.add(out.key)
            return all(v.key in self.bounded or self.is_known(v) for v in xs)
        return self.is_weight(name, xs, out)

    def is_known(self, value: Value) -> bool:
        """Whether a value repeats an input, or a number, along all columns."""
        source = self.source(value)
        return self.is_full(source) or (source.key in self.inputs and self.axis(source) is None)

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
        assert self.values is not None
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
        return Masked(self.score, (*self.masks,), self.values, axes, (*counts, self.columns), graphs, of_masks)

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
