"""Groups of a graph's nodes that become one node each: what searches for them share (`tiles.py`, `row_blocks.py`).

A group must be one that can run as a whole: no node outside of it may need one member and be needed by another. Which
nodes come before and after each is known as the bits of a number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from ...._core.graph import Graph, Node
from ...._core.tensor import Value
from ...._passes.rewrite import in_order


class Group:
    """Nodes that are to become one.

    Attributes:
        needs: by place of a node in the graph, what is known of its operands.
        axes: by key of a value made in the group, what is known of its axes.
        mask, above, below: the members as bits; all nodes that they need, and that need them.
    """

    def __init__(self) -> None:
        self.needs: dict[int, Any] = {}
        self.axes: dict[int, Any] = {}
        self.mask = self.above = self.below = 0


G = TypeVar("G", bound=Group)


class Search(Generic[G]):
    """A graph in which groups are looked for."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes = graph.nodes
        self.readers: dict[int, list[int]] = defaultdict(list)
        self.producer: dict[int, int] = {}
        self.before: list[int] = []  # by node, the nodes that it follows from, as bits
        for place, node in enumerate(self.nodes):
            bits = 0
            for value in node.inputs:
                source = self.producer.get(value.key)
                if source is not None:
                    bits |= self.before[source] | 1 << source
                if place not in self.readers[value.key]:
                    self.readers[value.key].append(place)
            self.before.append(bits)
            for value in node.outputs:
                self.producer[value.key] = place
        self.after = self._followers()
        self.asked = {v.key for v in graph.outputs}
        self.taken: set[int] = set()

    def _followers(self) -> list[int]:
        after = [0] * len(self.nodes)
        for place in range(len(self.nodes) - 1, -1, -1):
            for value in self.nodes[place].outputs:
                for reader in self.readers[value.key]:
                    after[place] |= after[reader] | 1 << reader
        return after

    def take(self, group: G) -> None:
        """A group is one node from now on: what needs one of its members comes after all that they need."""
        self.taken |= {*group.needs}
        for place in range(len(self.nodes)):
            is_member = group.mask >> place & 1
            if is_member or self.before[place] & group.mask:
                self.before[place] |= group.above | group.mask
            if is_member or self.after[place] & group.mask:
                self.after[place] |= group.below | group.mask

    def stays_whole(self, group: G, place: int) -> bool:
        """Whether a group can run as a whole with one more node."""
        mask = group.mask | 1 << place
        between = (group.above | self.before[place]) & (group.below | self.after[place])
        return not between & ~mask

    def enter(self, group: G, place: int, needs: Any, axes: Any) -> None:
        """Makes a node a member."""
        group.needs[place] = needs
        group.axes[self.nodes[place].outputs[0].key] = axes
        group.mask |= 1 << place
        group.above |= self.before[place]
        group.below |= self.after[place]

    def given(self, group: G) -> list[Value]:
        """The values that others read."""
        found: list[Value] = []
        for place in sorted(group.needs):
            value = self.nodes[place].outputs[0]
            if value.key in self.asked or any(r not in group.needs for r in self.readers[value.key]):
                found.append(value)
        return found

    def node_of(self, group: G) -> Node:
        """The node that does what a group does."""
        raise NotImplementedError

    def replaced(self, groups: Sequence[G]) -> Graph:
        """The graph with groups as one node each."""
        nodes: list[Node] = []
        home = {place: group for group in groups for place in group.needs}
        waiting = {id(group): len(group.needs) for group in groups}
        for place, node in enumerate(self.nodes):
            group = home.get(place)
            if group is None:
                nodes.append(node)
                continue
            waiting[id(group)] -= 1
            if not waiting[id(group)]:
                nodes.append(self.node_of(group))
        graph, ordered = self.graph, in_order(nodes)
        assert ordered is not None
        return Graph.of(graph.name, graph.inputs, ordered, graph.outputs, graph.guards)


def no_types(operands: tuple[Any, ...], members: object) -> Any:
    """The types of a group's node, which has those of the values that its members made."""
    raise AssertionError("nodes of groups are made for lowering only")


def values_of(nodes: Iterable[Node]) -> Iterable[Value]:
    """What nodes make."""
    return (value for node in nodes for value in node.outputs)


__all__ = ["Group", "Search", "no_types", "values_of"]
