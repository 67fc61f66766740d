"""Joins nodes of a graph, two and two, where one node does the work of both: which they are, and the graph with it.

A program may have thousands of loops or branches. So two are compared only where they read something that few others
read, which of them need which others is known of all from one walk, and all pairs of a round are joined at once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

from .._core.graph import Graph, Node
from .._core.tensor import Value
from .rewrite import in_order, with_inputs, with_nodes

_MOST_TRIES = 2  # nodes that one is compared with ...
_MOST_SEEN = 16  # ... of so many that have something in common with it: in a long program, most may read one zero

Made = tuple[Node, dict[int, Value]]


class Rules(NamedTuple):
    """Which nodes are joined.

    Attributes:
        may_be: whether a node may be one of two.
        marks: of such a node; two that are joined have one in common.
        joined: a node that gives what two give, and what stands for results of the first one; None if they are not to
            be joined. The second needs nothing of the first.
    """

    may_be: Callable[[Node], bool]
    marks: Callable[[Node], Iterable[Hashable]]
    joined: Callable[[Node, Node], Made | None]


class _Pair(NamedTuple):
    first: Node
    second: Node
    made: Node
    stands_for: dict[int, Value]


_Tried = dict[tuple[int, ...], tuple[Node, Node]]  # what was compared; the nodes are kept, so that each `id` is theirs


def join_pairs(graph: Graph, rules: Rules) -> Graph:
    """The graph with nodes joined by rules; itself where there are none to join."""
    tried: _Tried = {}
    while pairs := _pairs(graph, rules, tried):
        found = _with_joined(graph, pairs)
        if found is None:  # together they would wait for each other
            found = _with_joined(graph, pairs[:1])
            if found is None:
                _note(tried, pairs[0].first, pairs[0].second)
        graph = found or graph
    return graph


def _key_of(first: Node, second: Node) -> tuple[int, ...]:
    """What two nodes are, whatever stands for their operands meanwhile."""
    return id(first.attrs[0]), id(second.attrs[0]), first.outputs[0].key, second.outputs[0].key


def _note(tried: _Tried, first: Node, second: Node) -> None:
    tried[_key_of(first, second)] = first, second


def _pairs(graph: Graph, rules: Rules, tried: _Tried) -> list[_Pair]:
    """Pairs that can be joined, each node in one of them; those that cannot are noted as tried."""
    nodes = [node for node in graph.nodes if node.outputs and rules.may_be(node)]  # one that need not end may have none
    if len(nodes) < 2:
        return []
    search = _Search(graph, nodes, rules.marks)
    taken = set[int]()
    found: list[_Pair] = []
    for first in nodes:
        for second in () if id(first) in taken else search.partners(first, taken):
            made = None if _key_of(first, second) in tried else rules.joined(first, second)
            if made is None:
                _note(tried, first, second)
                continue
            found.append(_Pair(first, second, *made))
            taken |= {id(first), id(second)}
            break
    return found


class _Search:
    """Where nodes stand in a graph, what they have in common, and which of them need what others give.

    Attributes:
        places: of each node, by `id`, its place among those that may be joined.
        needs: a bit for each such node that it needs.
        effects: for each node of the graph that has an effect, a bit for each that it needs.
        effects_before: how many of these stand before a node.
    """

    def __init__(self, graph: Graph, nodes: Sequence[Node], marks: Callable[[Node], Iterable[Hashable]]) -> None:
        self.places = {id(node): place for place, node in enumerate(nodes)}
        self.marks = {id(node): {*marks(node)} for node in nodes}
        self.marked: dict[Hashable, list[Node]] = defaultdict(list)
        for node in nodes:
            for mark in self.marks[id(node)]:
                self.marked[mark].append(node)
        self.needs: dict[int, int] = {}
        self.effects: list[int] = []
        self.effects_before: dict[int, int] = {}
        self._walk(graph)

    def _walk(self, graph: Graph) -> None:
        sources: dict[int, int] = {}
        for node in graph.nodes:
            needed = 0
            for value in node.inputs:
                needed |= sources.get(value.key, 0)
            place = self.places.get(id(node))
            if place is not None:
                self.needs[id(node)], self.effects_before[id(node)] = needed, len(self.effects)
                needed |= 1 << place
            if node.op.has_effect:
                self.effects.append(needed)
            if needed:
                sources.update((value.key, needed) for value in node.outputs)

    def partners(self, first: Node, taken: set[int]) -> list[Node]:
        """Those of later nodes that need nothing of what a node gives and have something in common with it; those that
        share most operands come first."""
        alike: dict[int, Node] = {}
        for nodes in sorted((self.marked[mark] for mark in self.marks[id(first)]), key=len):
            start = bisect_right(nodes, self.places[id(first)], key=lambda node: self.places[id(node)])
            alike.update((id(node), node) for node in nodes[start : start + _MOST_SEEN - len(alike)])
        read = {v.key for v in first.inputs}

        def rank(node: Node) -> tuple[int, int]:
            return -len(read.intersection([v.key for v in node.inputs])), self.places[id(node)]

        apart = [node for key, node in alike.items() if key not in taken and self._are_apart(first, node)]
        return sorted(apart, key=rank)[:_MOST_TRIES]

    def _are_apart(self, first: Node, second: Node) -> bool:
        """Whether the second of two nodes needs nothing that the first gives, and nothing that stands between them and
        has an effect has to stay there."""
        bit = 1 << self.places[id(first)]
        between = self.effects[self.effects_before[id(first)] : self.effects_before[id(second)]]
        return not self.needs[id(second)] & bit and all(needed & bit for needed in between)


def _with_joined(graph: Graph, pairs: Sequence[_Pair]) -> Graph | None:
    """The graph with a node for each two: what reads results of the first comes behind it. None where that cannot be,
    or what has an effect would not happen in its order."""
    made = {id(pair.second): pair.made for pair in pairs}
    gone = {id(pair.first) for pair in pairs}
    stands_for: dict[int, Value] = {}
    for pair in pairs:
        stands_for.update(pair.stands_for)
    kept = [made.get(id(node), node) for node in graph.nodes if id(node) not in gone]
    changed = [with_inputs(node, stands_for) for node in kept]
    nodes = in_order(changed)
    if nodes is None or _effects(nodes) != _effects(changed):
        return None
    return with_nodes(graph, nodes, [stands_for.get(v.key, v) for v in graph.outputs])


def _effects(nodes: Sequence[Node]) -> list[int]:
    return [id(node) for node in nodes if node.op.has_effect]
