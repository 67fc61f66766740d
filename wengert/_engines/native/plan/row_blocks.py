"""Finds what is between products of matrices, as attention has it, to be computed a block of rows at a time.

The scores of attention are a product of queries and keys, of which there are many more than of both operands together;
what follows goes along their rows (a mask, a softmax), and other products make few numbers of them again. Where each
row follows from the same row of others, such nodes become one node (`BLOCKED`), which holds the graph of a block of
rows: `lower/row_blocks.py` makes a loop over batches and heads, and one over blocks, so that the scores of one block
are in the caches and those of all are nowhere. It is the same for gradients: the products that sum up over rows add up
a block's terms. A gradient that comes much later, behind other layers, is a group of its own; it computes scores again,
from queries, keys and what is known of each row, rather than have them stored for it: of few scores it reads the
products.

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
from .masked_columns import Masked, masked
from .node_groups import Group, Search, no_types
from .row_rules import needs_of

LONGEST = 3000  # nodes of a graph that is searched
KEPT = 8 << 20  # bytes up to which products are stored for another group, not computed again
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
        masked: whether blocks may leave out columns that a mask hides, and how.
    """

    extents: tuple[int, ...]
    graphs: tuple[Graph, ...]
    counts: tuple[int, ...]
    takes: tuple[Axes, ...]
    gives: tuple[Axes, ...]
    turned: tuple[tuple[bool, bool] | None, ...]
    work: int
    masked: Masked | None


BLOCKED = Op(
    "blocked", ("operands",), ("blocks",), ("outs",), "general", no_types, None, is_variadic=True, has_many_outs=True
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
        again: as `needs`, of other groups' members that it computes again.
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
        self.again: dict[int, tuple[Axes, ...]] = {}

    def is_large(self, value: Value) -> bool:
        """Whether a value is one of those that are not to be stored."""
        return prod(value.shape) >= self.size


class _Search(Search[_Group]):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.home: dict[int, _Group] = {}  # by place of a node its group
        self.read_by: list[set[int]] = []  # by group the keys of what it reads

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
        self.home = {place: group for group in found for place in group.needs}
        self.join_late(found)
        for group in found:
            self.repeat(group)
        self.read_by = [{key for key, _ in self.operands(group)} for group in found]
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
        known = [self.axes_of(value, group) for value in node.inputs]
        pairs = zip(known, needs, strict=True)
        if any(own is not None and (own != found or own[-1] is None) for own, found in pairs):
            return False
        if axes[-1] is None and not any(known):
            return False
        for reader in self.readers[out.key]:
            for value, found in zip(self.nodes[reader].inputs, group.needs.get(reader, ()), strict=False):
                if value.key == out.key and (axes[-1] is None or found != axes):
                    return False
        return True

    def axes_of(self, value: Value, group: _Group) -> Axes | None:
        """The axes of a value that a group has made, or another that goes along the same ones."""
        other = self.home.get(self.producer.get(value.key, -1), group)
        return other.axes.get(value.key) if other.extents == group.extents else None

    def join_late(self, found: list[_Group]) -> None:
        """Has products join that add up over rows what one group has made times what another one reads, as gradients of
        values are: the weights times what came back."""
        for place, node in enumerate(self.nodes):
            if place in self.home or node.op.name != "matmul":
                continue
            makers = [self.home.get(self.producer.get(v.key, -1)) for v in node.inputs]
            for group in found:
                others = [other for other in makers if other is not None and other is not group]
                read = {v.key for member in group.needs for v in self.nodes[member].inputs}
                is_near = any(v.key in read for v in node.inputs)
                if is_near and others and self.joined(group, place):
                    self.take(group)
                    self.home[place] = group
                    break

    # -- what it is worth -----------------------------------------------------------------------------------------

    def is_worth(self, group: _Group) -> bool:
        """Whether a group saves memory: of what products make, and read again."""
        given = {v.key for v in self.given(group)}
        products = [self.nodes[place] for place in group.needs if self.nodes[place].op.name == "matmul"]
        made = {v.key: v for node in products for v in node.outputs if group.is_large(v)}
        read = {v.key: v for node in products for v in node.inputs if group.is_large(v) and v.key in group.axes}
        saved = sum(bytes_of(v) for key, v in (made | read).items() if key not in given)
        return bool(made) and bool(read) and saved >= large_products.LEAST

    # -- what is computed twice -----------------------------------------------------------------------------------

    def repeat(self, group: _Group) -> None:
        """Has a group compute again what another would store for it, as far as it is large."""
        waiting = [*group.needs.items()]
        while waiting:
            place, needs = waiting.pop()
            for value, axes in zip(self.nodes[place].inputs, needs, strict=True):
                source = self.producer.get(value.key, -1)
                other = self.home.get(source)
                if other is None or other is group or source in group.again or not group.is_large(value):
                    continue
                if self.axes_of(value, group) == axes and self.is_repeated(value, self.nodes[source]):
                    group.again[source] = other.needs[source]
                    waiting.append((source, other.needs[source]))

    def is_repeated(self, value: Value, node: Node) -> bool:
        """Whether what a node makes is better computed twice than stored: if it is not stored in any case."""
        if value.key in self.asked or not all(reader in self.home for reader in self.readers[value.key]):
            return False
        return node.op.name != "matmul" or bytes_of(value) > KEPT

    # -- the node -------------------------------------------------------------------------------------------------

    def operands(self, group: _Group) -> dict[tuple[int, Axes], Value]:
        """What a group reads, by key and axes."""
        members = group.needs | group.again
        made = {(v.key, self.home[place].axes[v.key]) for place in members for v in self.nodes[place].outputs}
        return {
            (value.key, axes): value
            for place in sorted(members)
            for value, axes in zip(self.nodes[place].inputs, members[place], strict=True)
            if (value.key, axes) not in made
        }

    def results(self, group: _Group) -> list[Value]:
        """The values of a group that others read."""
        values = [self.nodes[place].outputs[0] for place in sorted(group.needs)]
        return [
            v for v in values
            if v.key in self.asked or any(v.key in read for read in self.read_by)
            or any(reader not in self.home for reader in self.readers[v.key])
        ]  # fmt: skip

    def node_of(self, group: _Group) -> Node:
        """The node that does what a group does."""
        operands, given, rows = self.operands(group), self.results(group), group.extents[-1]
        size = min(rows, _rows_together(group.seed))
        counts = (size, rows % size) if rows % size else (size,)
        members = [
            (self.nodes[place], needs, (self.home[place].axes[self.nodes[place].outputs[0].key]))
            for place, needs in sorted((group.needs | group.again).items())
        ]
        made = [_Body(group, members, operands, given, count) for count in counts]
        read = made[0].read()
        used = [place for place, value in enumerate(made[0].graph.inputs) if value.key in read]
        for body in made:
            body.graph.inputs = [body.graph.inputs[place] for place in used]
        keys = [[*operands][place] for place in used]
        gives = (*[group.axes[v.key] for v in given],)
        blocks = Blocks(
            group.extents, (*[body.graph for body in made],), counts, (*[axes for _, axes in keys],), gives,
            (*made[0].turned,), sum(_work(node) for node, _, _ in members),
            masked(made[0].graph, made[0].turned, group.seed.shape[-1]) if rows > size else None,
        )  # fmt: skip
        site = self.nodes[min(group.needs)].site
        return Node(BLOCKED, (*[operands[key] for key in keys],), (*given,), (blocks,), site)


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


class _Body:
    """The graph of so many rows, under construction.

    Attributes:
        graph: what it comes to.
        turned: by result which factors of a sum are to be transposed; None for rows.
    """

    def __init__(
        self, group: _Group, members: list[tuple[Node, tuple[Axes, ...], Axes]],
        operands: dict[tuple[int, Axes], Value], given: list[Value], count: int,
    ) -> None:  # fmt: skip
        self.graph = Graph("block")
        self.parts = (*[1] * (len(group.extents) - 1), count)
        self.known = {(key, axes): self.part(value, axes) for (key, axes), value in operands.items()}
        self.graph.inputs = [*self.known.values()]
        self.sums: dict[int, tuple[Node, tuple[Axes, ...]]] = {}
        self.turned: list[tuple[bool, bool] | None] = []
        for member in members:
            self.add(*member)
        self.makers = {node.outputs[0].key: node for node in self.graph.nodes}
        for value in given:
            if value.key in self.sums:
                self.give_factors(*self.sums[value.key])
            else:
                self.graph.outputs.append(self.known[value.key, group.axes[value.key]])
                self.turned.append(None)
        read = self.read()
        self.graph.nodes = [node for node in self.graph.nodes if node.outputs[0].key in read]
        self.graph.is_frozen = True

    def part(self, value: Value, axes: Axes) -> Value:
        """What stands for a block's part of a value."""
        shape = _cut(value.shape, axes, self.parts)
        return Value(shape, value.dtype, self.graph.serial, value.name, value.weak)

    def add(self, node: Node, needs: tuple[Axes, ...], axes: Axes) -> None:
        """Adds what a node does for a block; sums are what is given in their stead."""
        (out,) = node.outputs
        if axes[-1] is None:
            self.sums[out.key] = node, needs
            return
        made = self.known[out.key, axes] = self.part(out, axes)
        names = zip(node.op.attrs, node.attrs, strict=True)
        attrs = (*[made.shape if name == "shape" else attr for name, attr in names],)
        inputs = (*[self.known[v.key, a] for v, a in zip(node.inputs, needs, strict=True)],)
        self.graph.nodes.append(Node(node.op, inputs, (made,), attrs, node.site, node.is_quiet, node.label))

    def give_factors(self, node: Node, needs: tuple[Axes, ...]) -> None:
        """Makes the factors of a sum over rows results, as they are before they are transposed."""
        factors = [self.known[v.key, a] for v, a in zip(node.inputs, needs, strict=True)]
        sources = [_source(self.makers.get(x.key)) for x in factors]
        self.graph.outputs += [x if source is None else source for x, source in zip(factors, sources, strict=True)]
        self.turned.append((sources[0] is not None, sources[1] is not None))

    def read(self) -> set[int]:
        """The keys of what results are made of, and their own."""
        found = {v.key for v in self.graph.outputs}
        for node in reversed(self.graph.nodes):
            if node.outputs[0].key in found:
                found.update(v.key for v in node.inputs)
        return found


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
