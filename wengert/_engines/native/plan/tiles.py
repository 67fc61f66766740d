"""Finds groups of nodes that can be computed a few rows at a time, so that large matrices between them are not stored.

Some programs make matrices of n rows only to reduce them: distances of points to centres, powers of points, weights of
rows. Where each row of such a value follows from the same rows of others (`row_rules.py`), its nodes are found here,
one from the other, to a group that ends in what is stored anyway: results of n rows that others read, and sums over
rows. A group becomes one node (`TILED`), which holds the graph of one row; `lower/tiles.py` makes a loop over rows of
it.

A group is worth while if it saves memory traffic: the bytes of values that would be stored, and read again, without it,
are more than what its products of matrices lose, which are faster done at once for all rows: those of layers of a
network are, those with a few columns or features are not. Short rows go many side by side; long ones, such as those of
a softmax, one by one, if nothing multiplies matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

from ...._core.analysis import atoms_named
from ...._core.dtypes import int64
from ...._core.graph import Graph, Node
from ...._core.op import Op
from ...._core.state import building
from ...._core.tensor import Tensor, Value
from ...._passes import optimise
from ..lower.blocks import kind_of
from ..lower.forms import is_plain
from .node_groups import Group, Search, no_types, values_of
from .row_rules import RULES, SUMS, Needs, needs_of, op, without
from .schedule import Kind, is_small, schedule

LEAST = 48 * 1024  # bytes that must be gained
FEWEST = 48  # rows
UNKNOWN = 1024  # what an extent that only the run tells counts as
LONGEST = 3000  # nodes of a graph that is searched
MOST = 16  # groups of a graph
MISSES = 100  # groups that were no gain, after which no others are looked for
WIDE = 16  # elements of a row; reading and writing longer ones a few rows at a time takes longer than one by one
LONG = 64  # elements of a row from which on rows can go one by one, each as vectors of its own elements ...
LEAST_OF_LONG = 1 << 20  # ... and bytes that this must save: what the caches hold, they hold in any case
DENSE = 512  # elements of a product that each block of rows adds to
# what a term of a product costs more here than in a product of matrices, in bytes that are saved in this time: one
# that a row has, and one that rows add to a sum, by whether numbers have more than four bytes ...
TERMS = {False: (1.2, 3.5), True: (0.2, 2.5)}
MOST_OF_ZEROS = 1.4  # ... one of a sum where most are zeros; they are left out, and cost less than in a product, ...
LEFT_OUT = -0.7
SIDE_BY_SIDE = 16  # ... where all of so many rows are zero ...
BEGUN = 40  # ... and what each row costs less
TOO_LONG = 1 << 16  # elements of a row that the caches do not hold


class Rows(NamedTuple):
    """The attribute of a `TILED` node.

    Attributes:
        graph: one row of the group: from the row's number and the operands' rows to the results' rows.
        plain: the group as it was.
        extent: how many rows there are.
        takes: by operand the axis of the rows; None where all rows share it.
        gives: by result the axis of the rows; None for a sum over rows.
        terms: by result of `plain` how many results of `graph` make it: two vectors for a sum of their products.
        is_single: whether rows go one by one, as they are long, and not many side by side.
    """

    graph: Graph
    plain: Graph
    extent: Any
    takes: tuple[int | None, ...]
    gives: tuple[int | None, ...]
    terms: tuple[int, ...]
    is_single: bool = False


TILED = Op(
    "tiled", ("operands",), ("rows",), ("outs",), "general", no_types, None, is_variadic=True, has_many_outs=True
)


def tiled(graph: Graph) -> Graph:
    """The graph with groups of its nodes as one node each."""
    if len(graph.nodes) > LONGEST or not any(map(_is_large, values_of(graph.nodes))):
        return graph
    if any(node.op.has_effect for node in graph.nodes):
        return graph  # whose order a group could change
    return _Search(graph).run()


def _number(extent: object) -> int:
    return extent if type(extent) is int else UNKNOWN


def _elements(value: Value) -> int:
    return prod(map(_number, value.shape))


def _bytes(value: Value) -> int:
    return _elements(value) * (value.dtype.itemsize if is_plain(value.dtype) else 0)


def _is_large(value: Value) -> bool:
    return len(value.shape) > 1 and _bytes(value) * 4 >= LEAST


class _Group(Group):
    """Nodes that share rows.

    Attributes:
        extent: how many rows.
        needs: by place of a node in the graph, which axes of its operands have the rows.
        axes: by key of a value made in the group the axis that has the rows; None for a sum over rows.
        is_single: whether rows are to go one by one.
    """

    needs: dict[int, Needs]
    axes: dict[int, int | None]

    def __init__(self, extent: object, is_single: bool) -> None:
        super().__init__()
        self.extent = extent
        self.is_single = is_single


_OUTSIDE = object()


class _Search(Search[_Group]):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.stored = self.stored_anyway()

    def stored_anyway(self) -> set[int]:
        """The keys of values that are in memory if there are no groups."""
        kinds = [*map(kind_of, self.nodes)]
        plan = schedule(self.nodes, [*kinds], [v for v in self.graph.outputs if not is_small(v)])
        alone = {v.key for node, kind in zip(self.nodes, plan.kinds, strict=True) for v in node.outputs
                 if kind in (Kind.SINGLE, Kind.ASSEMBLE) and node.op.name != "constant"}  # fmt: skip
        return alone | plan.stored

    def run(self) -> Graph:
        found: list[_Group] = []
        large = (p for p, node in enumerate(self.nodes) if any(map(self.is_seed, node.outputs)))
        misses = 0
        seen: set[int] = set()  # members of groups that were no gain: those that begin with them are no other ones
        for seed in sorted(large, key=lambda p: -_bytes(self.nodes[p].outputs[0])):
            if seed in self.taken or seed in seen or len(found) == MOST:
                continue
            groups = [*self.candidates(seed)]
            worth = [g for g in groups if self.gain(g) >= (LEAST_OF_LONG if g.is_single else LEAST)]
            if not worth:
                misses += 1
                if misses == MISSES:
                    break
                seen.update(*(g.needs for g in groups))
            else:
                group = max(worth, key=self.gain)
                found.append(group)
                self.take(group)
        return self.replaced(found) if found else self.graph

    def is_seed(self, value: Value) -> bool:
        return value.key in self.stored and _is_large(value)

    def candidates(self, seed: int) -> Iterator[_Group]:
        (value, *_) = self.nodes[seed].outputs
        for axis, extent in enumerate(value.shape):
            if _number(extent) < FEWEST:
                continue
            for is_single in (False, True):
                group = _Group(extent, is_single)
                is_unfit = self.is_short(value, axis) if is_single else _width(value, axis) > TOO_LONG // SIDE_BY_SIDE
                if not is_unfit and self.add(group, seed, axis):
                    self.grow(group)
                    yield group

    def is_short(self, value: Value, axis: int) -> bool:
        """Whether rows are not to go one by one: there is little to do in each, or they do not lie one by one."""
        last = value.shape[-1]
        is_apart = axis == len(value.shape) - 1 or (type(last) is int and last < LONG)
        return is_apart or _width(value, axis) > TOO_LONG

    # -- growing --------------------------------------------------------------------------------------------------

    def grow(self, group: _Group) -> None:
        """Adds what makes the group's operands, and what reads its results, as long as there is something."""
        waiting = [*group.needs]
        while waiting:
            place = waiting.pop()
            fresh = [p for p in (*self.sources(group, place), *self.followed(group, place)) if p is not None]
            if fresh:  # what could not join before may do so now
                waiting = [*dict.fromkeys([*group.needs])]

    def sources(self, group: _Group, place: int) -> Iterator[int | None]:
        for value, axis in zip(self.nodes[place].inputs, group.needs[place], strict=True):
            source = self.producer.get(value.key)
            if axis is not None and source is not None and source not in group.needs:
                yield source if self.add(group, source, axis) else None

    def followed(self, group: _Group, place: int) -> Iterator[int | None]:
        value = self.nodes[place].outputs[0]
        axis = group.axes[value.key]
        for reader in self.readers[value.key] if axis is not None else ():
            if reader not in group.needs:
                yield reader if self.joined(group, reader) else None

    def joined(self, group: _Group, reader: int) -> bool:
        """Whether a node that reads the group's values has become part of it."""
        node = self.nodes[reader]
        if not node.outputs:  # a loop that is run for its errors
            return False
        out = node.outputs[0]
        fits = [a for a, n in enumerate(out.shape) if n == group.extent]
        return any(self.add(group, reader, a) for a in fits) or self.add(group, reader, None)

    def add(self, group: _Group, place: int, axis: int | None) -> bool:
        """Adds a node whose result has rows along an axis (None: that sums them up), if it fits."""
        node = self.nodes[place]
        if place in self.taken or node.op.is_multi or node.op.has_effect:
            return False
        if not all(is_plain(v.dtype) for v in (*node.inputs, *node.outputs)):
            return False
        for needs in self.ways(group, node, axis):
            if needs is not None and self.fits(group, place, axis, needs):
                self.enter(group, place, needs, axis)
                return True
        return False

    def ways(self, group: _Group, node: Node, axis: int | None) -> list[Needs | None]:
        if group.is_single and node.op.name == "matmul":
            return []  # of many rows at once it is faster
        if axis is not None:
            return [needs_of(node, axis)]
        rule = SUMS.get(node.op.name)
        if rule is None or (node.op.name == "matmul" and not self.is_worth(node)):
            return []
        return [*rule.needs(node)]

    def is_worth(self, node: Node) -> bool:
        """Whether a product that sums up over rows is no better left to others: a small one, or one of many zeros."""
        return _elements(node.outputs[0]) <= DENSE or any(map(self.may_be_zero, node.inputs))

    def may_be_zero(self, value: Value, depth: int = 6) -> bool:
        """Whether most elements may be zeros, which a choice between two values has left."""
        source = self.producer.get(value.key)
        if source is None or depth == 0:
            return False
        node = self.nodes[source]
        if node.op.name == "select":
            return True
        facts = node.op.facts
        is_of_one = node.op.kind == "linear" and len(node.inputs) == 1
        keeps_zeros = facts.operator == "*" or (is_of_one and (facts.moves or facts.mixes == "nothing"))
        return bool(keeps_zeros) and any(self.may_be_zero(v, depth - 1) for v in node.inputs)

    def fits(self, group: _Group, place: int, axis: int | None, needs: Needs) -> bool:
        node = self.nodes[place]
        for value, need in zip(node.inputs, needs, strict=True):
            if need is not None and value.shape[need] != group.extent:
                return False
            if group.axes.get(value.key, _OUTSIDE) not in (_OUTSIDE, need) or (
                value.key in group.axes and group.axes[value.key] is None
            ):
                return False
        key = node.outputs[0].key
        for reader in self.readers[key]:
            for value, need in zip(self.nodes[reader].inputs, group.needs.get(reader, ()), strict=False):
                if value.key == key and (axis is None or need != axis):
                    return False
        if axis is None and not any(v.key in group.axes for v in node.inputs):
            return False
        return self.stays_whole(group, place)

    # -- what it is worth -----------------------------------------------------------------------------------------

    def read(self, group: _Group) -> dict[tuple[int, int | None], Value]:
        """The operands, with the axis of their rows."""
        found: dict[tuple[int, int | None], Value] = {}
        for place in sorted(group.needs):
            for value, axis in zip(self.nodes[place].inputs, group.needs[place], strict=True):
                if value.key not in group.axes:
                    found[value.key, axis] = value
        return found

    def saved(self, group: _Group) -> int:
        """The bytes that need not be stored, less those that only the group stores, and those of wide rows that are
        read or written a few at a time."""
        given = {v.key for v in self.given(group)}
        saved = sum(
            _bytes(self.nodes[p].outputs[0]) for p in group.needs
            if (key := self.nodes[p].outputs[0].key) in self.stored and key not in given and group.axes[key] is not None
        )  # fmt: skip
        saved -= sum(_bytes(v) for v in self.given(group) if not self.is_stored_anyway(v))
        crossing = [(v, axis) for (_, axis), v in self.read(group).items()]
        crossing += [(v, group.axes[v.key]) for v in self.given(group)]
        if group.is_single:
            return saved
        wide = sum(_bytes(v) for v, axis in crossing if axis is not None and _width(v, axis) > WIDE)
        return saved - 2 * wide

    def is_stored_anyway(self, value: Value) -> bool:
        """Whether a value is in memory if there are no groups, perhaps in another shape."""
        if value.key in self.stored or value.key in self.asked:
            return True
        readers = [self.nodes[place] for place in self.readers[value.key]]
        return any(node.op.name == "reshape" and self.is_stored_anyway(node.outputs[0]) for node in readers)

    def gain(self, group: _Group) -> float:
        """The bytes that need not be stored, less what the group's products lose."""
        return self.saved(group) - self.lost(group)

    def lost(self, group: _Group) -> float:
        """What a group's products lose, in bytes that are saved in this time."""
        return sum(self.lost_by(self.nodes[p], group) for p in group.needs if self.nodes[p].op.name == "matmul")

    def lost_by(self, node: Node, group: _Group) -> float:
        """As `lost`, of a product; one by a single vector reads a matrix once, here as elsewhere."""
        out = node.outputs[0]
        if 1 in out.shape[-2:]:
            return 0
        inner = node.inputs[0].shape[-1]
        terms = _elements(out) * _number(inner)
        in_row, in_sum = TERMS[out.dtype.itemsize > 4]
        each = in_row if group.axes[out.key] is not None else self.lost_in_sum(node, in_sum)
        return terms * each - BEGUN * _number(group.extent)

    def lost_in_sum(self, node: Node, dense: float) -> float:
        """What a term of a product that sums up over rows costs more, if a dense one costs so much."""
        lengths = [_number(v.shape[-1]) for v in node.inputs if self.may_be_zero(v)]
        if not lengths:
            return dense
        met = min(
            1.0, SIDE_BY_SIDE / max(lengths)
        )  # the share of places where some row is not zero, if one a row is not
        return min(MOST_OF_ZEROS, dense * met) + LEFT_OUT * (1 - met)

    # -- the new graph --------------------------------------------------------------------------------------------

    def node_of(self, group: _Group) -> Node:
        """The node that does what a group does."""
        operands, given = self.read(group), self.given(group)
        members = [self.nodes[place] for place in sorted(group.needs)]
        unique = {v.key: v for v in operands.values()}
        plain = Graph.of("rows", [*unique.values()], members, given)
        needs = [group.needs[place] for place in sorted(group.needs)]
        graph, terms = _graph_of_a_row(group, members, needs, operands, given)
        takes = (*[axis for _, axis in operands],)
        gives = (*[group.axes[v.key] for v in given],)
        rows = Rows(graph, plain, group.extent, takes, gives, terms, group.is_single)
        return Node(TILED, (*operands.values(),), (*given,), (rows,), members[0].site)


def _width(value: Value, axis: int) -> int:
    return prod(map(_number, without(value.shape, axis)))


def _graph_of_a_row(
    group: _Group, nodes: Sequence[Node], needs: Sequence[Needs], operands: dict[tuple[int, int | None], Value],
    given: Sequence[Value],
) -> tuple[Graph, tuple[int, ...]]:  # fmt: skip
    """One row of a group, and of how many results each of the group's is made."""
    graph = Graph("row")
    outputs: list[Tensor] = []
    counts: list[int] = []
    with building(graph):
        number = graph.add_input((), int64)
        known: dict[tuple[int, int | None], Tensor] = {}
        for (key, axis), value in operands.items():
            shape = value.shape if axis is None else without(value.shape, axis)
            known[key, axis] = graph.add_input(shape, value.dtype, value.name)
        terms: dict[int, Any] = {}
        for node, need in zip(nodes, needs, strict=True):
            xs = [known[v.key, axis] for v, axis in zip(node.inputs, need, strict=True)]
            out = node.outputs[0]
            axis = group.axes[out.key]
            if axis is None:
                terms[out.key] = SUMS[node.op.name].build(node, need, xs)
            else:
                known[out.key, axis] = RULES[node.op.name].build(node, axis, need, xs, number)
        for value in given:
            axis = group.axes[value.key]
            parts = terms[value.key].factors if axis is None else (known[value.key, axis],)
            outputs += parts
            counts.append(len(parts))
        graph.finish(outputs)
    return _with_own_results(optimise(graph, atoms_named(nodes))), (*counts,)


def _with_own_results(graph: Graph) -> Graph:
    """The graph with results that nothing in it reads: where they go they may be added up."""
    outputs = [Value(v.shape, v.dtype, v.graph) for v in graph.outputs]
    pairs = zip(graph.outputs, outputs, strict=True)
    copies = [Node(op("convert"), (v,), (out,), (v.dtype,), None) for v, out in pairs]
    return Graph.of(graph.name, graph.inputs, [*graph.nodes, *copies], outputs)


__all__ = ["TILED", "Rows", "tiled"]
