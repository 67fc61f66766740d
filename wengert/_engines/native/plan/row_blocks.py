"""Finds what is between products of matrices, as attention has it, to be computed a block of rows at a time.

The scores of attention are a product of queries and keys, of which there are many more than of both operands together;
what follows goes along their rows (a mask, a softmax), and other products make few numbers of them again. Where each
row follows from the same row of others, such nodes become one node (`BLOCKED`), which holds the graph of a block of
rows: `lower/row_blocks.py` makes a loop over batches and heads, and one over blocks, so that the scores of one block
are in the caches and those of all are nowhere. It is the same for gradients: the products that sum up over rows add up
a block's terms.

`tiles.py` does as much for elementwise code, as vectors of rows; its rows are too few for products of long rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any, NamedTuple

from ...._core.graph import Graph, Node
from ...._core.op import Op
from ...._core.tensor import Value
from ..lower.blocks import CASTS
from ..lower.forms import is_numbers, is_plain
from ..lower.reduces import REDUCES
from ..lower.scalars import SCALARS, SEARCHES
from . import large_products
from .large_products import bytes_of
from .node_groups import Group, Search
from .row_rules import needs_of

LONGEST = 3000  # nodes of a graph that is searched
NEAR = 256 * 1024  # bytes of a block's part of one matrix: two are in the second cache at once
FEWEST_TOGETHER, MOST_TOGETHER = 16, 128  # rows of a block

Axes = tuple[int | None, ...]  # by axis that is gone along, which of a value's it is; None where it has no such axis


class Blocks(NamedTuple):
    """The attribute of a `BLOCKED` node.

    Attributes:
        extents: of the axes that are gone along: batches and heads one by one, and last the rows in blocks.
        graphs: of blocks: from the operands' parts to the parts of results, or for each sum to the two factors.
        counts: the rows of each of `graphs`: those of a block, and those that are left over.
        takes: by operand its axes.
        gives: by result its axes; a sum over rows has none for them.
        turned: by result which factors of a sum are to be transposed; None for rows.
        work: multiplications and elements.
    """

    extents: tuple[int, ...]
    graphs: tuple[Graph, ...]
    counts: tuple[int, ...]
    takes: tuple[Axes, ...]
    gives: tuple[Axes, ...]
    turned: tuple[tuple[bool, bool] | None, ...]
    work: int


def _no_types(operands: tuple[Any, ...], blocks: object) -> Any:
    raise AssertionError("nodes of blocks are made for lowering only")


BLOCKED = Op(
    "blocked", ("operands",), ("blocks",), ("outs",), "general", _no_types, None, is_variadic=True, has_many_outs=True
)


def blocked(graph: Graph) -> Graph:
    """The graph with groups of its nodes as one node each."""
    if len(graph.nodes) > LONGEST or not large_products.has_large_product(graph):
        return graph
    if any(node.op.has_effect for node in graph.nodes):
        return graph  # whose order a group could change
    return _Search(graph).run()


def _is_known(node: Node) -> bool:
    """Whether all extents are numbers, and all elements plain ones."""
    values = (*node.inputs, *node.outputs)
    return len(node.outputs) == 1 and all(
        not v.is_history and is_numbers(v.shape) and is_plain(v.dtype) for v in values
    )


class _Group(Group):
    """Nodes that share rows.

    Attributes:
        seed: the product that it began with.
        along: the axes of the seed's result that are gone along.
        needs: by place of a node in the graph, by operand its axes.
        axes: by key of a value made in the group its axes.
    """

    needs: dict[int, tuple[Axes, ...]]
    axes: dict[int, Axes]

    def __init__(self, seed: Node) -> None:
        super().__init__()
        (out,) = seed.outputs
        self.seed = out
        rank = len(out.shape)
        batch = [axis for axis in range(rank - 2) if out.shape[axis] > 1]
        self.along = (*batch, rank - 2)
        self.extents = (*[out.shape[axis] for axis in self.along],)
        self.size = prod(out.shape)

    def is_large(self, value: Value) -> bool:
        """Whether a value is one of those that are not to be stored."""
        return prod(value.shape) >= self.size


class _Search(Search[_Group]):
    def run(self) -> Graph:
        found: list[_Group] = []
        seeds = [
            place for place, node in enumerate(self.nodes) if large_products.is_large_product(node) and _is_known(node)
        ]
        for seed in sorted(seeds, key=lambda p: -bytes_of(self.nodes[p].outputs[0])):
            if seed in self.taken:
                continue
            group = _Group(self.nodes[seed])
            if self.add(group, seed, group.along) and self.is_worth(self.grown(group)):
                found.append(group)
                self.take(group)
        return self.replaced(found) if found else self.graph

    # -- growing --------------------------------------------------------------------------------------------------

    def grown(self, group: _Group) -> _Group:
        """The group with all that may join it: what makes its large operands, and what reads its rows."""
        while any([*self.joins(group)]):
            pass
        return group

    def joins(self, group: _Group) -> Iterator[bool]:
        for place in [*group.needs]:
            node = self.nodes[place]
            for value, axes in zip(node.inputs, group.needs[place], strict=True):
                source = self.producer.get(value.key)
                if source is not None and source not in group.needs and axes[-1] is not None and group.is_large(value):
                    yield self.add(group, source, axes)
            (out,) = node.outputs
            for reader in self.readers[out.key] if group.axes[out.key][-1] is not None else ():
                if reader not in group.needs:
                    yield self.joined(group, reader)

    def joined(self, group: _Group, place: int) -> bool:
        """Whether a node that reads the group's values has become part of it."""
        node = self.nodes[place]
        if not _is_known(node):
            return False
        (out,) = node.outputs
        # at each axis that is gone along the result's own that fit, the one at the seed's place first
        ways: list[list[int | None]] = [
            sorted((a for a, n in enumerate(out.shape) if n == extent), key=lambda a, own=own: a != own)
            for own, extent in zip(group.along, group.extents, strict=True)
        ]
        ways[-1].append(None)  # a sum over rows
        return any(self.add(group, place, axes) for axes in product(*ways) if _are_different(axes))

    def add(self, group: _Group, place: int, axes: Axes) -> bool:
        """Adds a node whose result has these axes, if it fits."""
        node = self.nodes[place]
        if place in self.taken or node.op.is_multi or node.op.has_effect or not _is_known(node):
            return False
        needs = _needs(node, axes)
        if (
            needs is None
            or None in axes[:-1]
            or not self.fits(group, place, axes, needs)
            or not self.stays_whole(group, place)
        ):
            return False
        self.enter(group, place, needs, axes)
        return True

    def fits(self, group: _Group, place: int, axes: Axes, needs: tuple[Axes, ...]) -> bool:
        """Whether a node's operands and result have the axes that the group knows of them."""
        node = self.nodes[place]
        (out,) = node.outputs
        for value, found in zip((*node.inputs, out), (*needs, axes), strict=True):
            pairs = zip(found, group.extents, strict=True)
            if any(a is not None and value.shape[a] != extent for a, extent in pairs) or not _are_different(found):
                return False
        for value, found in zip(node.inputs, needs, strict=True):
            known = group.axes.get(value.key)
            if known is not None and (known != found or known[-1] is None):
                return False
        if axes[-1] is None and not any(v.key in group.axes for v in node.inputs):
            return False
        for reader in self.readers[out.key]:
            for value, found in zip(self.nodes[reader].inputs, group.needs.get(reader, ()), strict=False):
                if value.key == out.key and (axes[-1] is None or found != axes):
                    return False
        return True

    # -- what it is worth -----------------------------------------------------------------------------------------

    def is_worth(self, group: _Group) -> bool:
        """Whether a group saves memory: of what products make, and read again."""
        given = {v.key for v in self.given(group)}
        products = [self.nodes[place] for place in group.needs if self.nodes[place].op.name == "matmul"]
        made = {v.key: v for node in products for v in node.outputs if group.is_large(v)}
        read = {v.key: v for node in products for v in node.inputs if group.is_large(v) and v.key in group.axes}
        saved = sum(bytes_of(v) for key, v in (made | read).items() if key not in given)
        return bool(made) and bool(read) and saved >= large_products.LEAST

    # -- the node -------------------------------------------------------------------------------------------------

    def node_of(self, group: _Group) -> Node:
        """The node that does what a group does."""
        members = sorted(group.needs)
        operands: dict[tuple[int, Axes], Value] = {}
        for place in members:
            for value, axes in zip(self.nodes[place].inputs, group.needs[place], strict=True):
                if value.key not in group.axes:
                    operands[value.key, axes] = value
        given = self.given(group)
        rows = group.extents[-1]
        size = min(rows, _rows_together(group.seed))
        counts = (size, rows % size) if rows % size else (size,)
        made = [_block(self, group, members, operands, given, count) for count in counts]
        takes, gives = (*[axes for _, axes in operands],), (*[group.axes[v.key] for v in given],)
        work = sum(_work(self.nodes[place]) for place in members)
        blocks = Blocks(group.extents, (*[g for g, _ in made],), counts, takes, gives, made[0][1], work)
        return Node(BLOCKED, (*operands.values(),), (*given,), (blocks,), self.nodes[members[0]].site)


def _are_different(axes: Axes) -> bool:
    own = [a for a in axes if a is not None]
    return len({*own}) == len(own)


def _rows_together(seed: Value) -> int:
    """How many rows are a block."""
    fitting = NEAR // (seed.shape[-1] * seed.dtype.itemsize) // FEWEST_TOGETHER * FEWEST_TOGETHER
    return min(max(fitting, FEWEST_TOGETHER), MOST_TOGETHER)


def _work(node: Node) -> int:
    """The work of a node, as loops count it: 16 multiplications are one."""
    if node.op.name == "matmul":
        return prod(node.outputs[0].shape) * node.inputs[0].shape[-1] // 16
    return prod(node.outputs[0].shape)


# -- rules ------------------------------------------------------------------------------------------------------------

_MOVES = ("broadcast_to", "reshape", "transpose", "full")
_KNOWN = {*SCALARS, *CASTS, *REDUCES, *_MOVES} - {*SEARCHES}


def _needs(node: Node, axes: Axes) -> tuple[Axes, ...] | None:
    """By operand its axes, if the result has these; None if rows would mix."""
    found: list[tuple[int | None, ...]] = []
    for axis in axes:
        if axis is None:
            needs = (None,) * len(node.inputs)
            if axes[-1] is None and len(found) == len(axes) - 1:
                needs = _summed(node)
        else:
            needs = _along(node, axis)
        if needs is None:
            return None
        found.append(needs)
    return (*zip(*found, strict=True),)


def _along(node: Node, axis: int) -> tuple[int | None, ...] | None:
    if node.op.name != "matmul":
        return needs_of(node, axis) if node.op.name in _KNOWN else None
    behind = len(node.outputs[0].shape) - 1 - axis
    return (None, axis) if behind == 0 else (axis, None) if behind == 1 else (axis, axis)


def _summed(node: Node) -> tuple[int | None, ...] | None:
    """Of what adds up over rows, which axes of its operands these are."""
    rank = len(node.outputs[0].shape)
    return (rank - 1, rank - 2) if node.op.name == "matmul" else None


# -- the graph of a block ---------------------------------------------------------------------------------------------


def _block(
    search: _Search, group: _Group, members: list[int], operands: dict[tuple[int, Axes], Value], given: list[Value],
    count: int,
) -> tuple[Graph, tuple[tuple[bool, bool] | None, ...]]:  # fmt: skip
    """The graph of so many rows, and which factors of its sums are to be transposed."""
    graph = Graph("block")
    parts = (*[1] * (len(group.extents) - 1), count)

    def part(value: Value, axes: Axes) -> Value:
        return Value(_cut(value.shape, axes, parts), value.dtype, graph.serial, value.name, value.weak)

    known = {(key, axes): part(value, axes) for (key, axes), value in operands.items()}
    graph.inputs = [*known.values()]
    sums: dict[int, tuple[Node, tuple[Axes, ...]]] = {}
    for place in members:
        node, needs = search.nodes[place], group.needs[place]
        (out,) = node.outputs
        axes = group.axes[out.key]
        if axes[-1] is None:
            sums[out.key] = node, needs
            continue
        made = known[out.key, axes] = part(out, axes)
        names = zip(node.op.attrs, node.attrs, strict=True)
        attrs = (*[made.shape if name == "shape" else attr for name, attr in names],)
        inputs = (*[known[v.key, a] for v, a in zip(node.inputs, needs, strict=True)],)
        graph.nodes.append(Node(node.op, inputs, (made,), attrs, node.site, node.is_quiet, node.label))
    turned: list[tuple[bool, bool] | None] = []
    makers = {node.outputs[0].key: node for node in graph.nodes}
    for value in given:
        if value.key not in sums:
            graph.outputs.append(known[value.key, group.axes[value.key]])
            turned.append(None)
            continue
        node, needs = sums[value.key]
        factors = [known[v.key, a] for v, a in zip(node.inputs, needs, strict=True)]
        sources = [_source(makers.get(x.key)) for x in factors]
        graph.outputs += [x if source is None else source for x, source in zip(factors, sources, strict=True)]
        turned.append((sources[0] is not None, sources[1] is not None))
    read = {v.key for node in graph.nodes for v in node.inputs} | {v.key for v in graph.outputs}
    graph.nodes = [node for node in graph.nodes if node.outputs[0].key in read]
    graph.is_frozen = True
    return graph, (*turned,)


def _source(node: Node | None) -> Value | None:
    """Of what a node makes, if that is the transposed matrices: it need not be made, then, to be multiplied."""
    if node is None or node.op.name != "transpose":
        return None
    (perm,), rank = node.attrs, len(node.outputs[0].shape)
    return node.inputs[0] if (*perm,) == (*range(rank - 2), rank - 1, rank - 2) else None


def _cut(shape: tuple[Any, ...], axes: Axes, parts: tuple[int, ...]) -> tuple[Any, ...]:
    found = [*shape]
    for axis, part in zip(axes, parts, strict=True):
        if axis is not None:
            found[axis] = part
    return (*found,)


__all__ = ["BLOCKED", "Blocks", "blocked"]
