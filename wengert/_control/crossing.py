"""Which values cross from a forward half to its backward half, and which are computed again: the cheapest choice.

To keep a value costs the bytes that are written and read again; to compute it again costs a little for each element,
and needs its operands there, which are kept or computed again in turn. The least sum of all is a minimum cut: between
what the backward half needs and a sink, keeping a value cuts the edge into it, computing it again the edge from it to
the sink. The same network serves to choose the activations that PyTorch's compiler keeps (min-cut rematerialisation);
the flow is Dinic's (1970).

Only ops that cost about as much as a load are computed again, and those that only move elements (`cost` in
`_core/op.py`); not concatenations, for what reads one must choose among its parts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from math import prod
from typing import Any

from .._core.analysis import makers
from .._core.graph import Node
from .._core.tensor import Value

_AGAIN = 4  # of an element computed again by a light op; an element of 8 bytes that is kept costs 16
_FEW = 8  # elements that registers hold: kept, as reading a number back takes no longer than computing it
_UNKNOWN = 64  # elements along a dimension that is not known yet
_WINDOW = 400  # values that one network may hold: a program of thousands is cut in pieces, from its end
_FOREVER = 1 << 60


def bytes_of(value: Value) -> int:
    """What a value takes; unknown extents are taken for middling ones."""
    return value.dtype.itemsize * _elements(value)


def _elements(value: Value) -> int:
    return prod(n if type(n) is int else _UNKNOWN for n in value.shape)


def is_light(node: Node) -> bool:
    """Whether a node may be computed again instead of being kept."""
    return _elements(node.outputs[0]) > _FEW and node.op.facts.cost in ("move", "light")


def computed_again(
    nodes: Sequence[Node], needed: Collection[int], always: Callable[[Node], bool], cost: Callable[[Value], int]
) -> set[int]:  # fmt: skip
    """The values (keys) that the backward half computes again; all others that it comes to need are kept.

    Args:
        nodes: the forward half.
        needed: the values that the backward half reads.
        always: whether a node is computed again without a question.
        cost: of keeping an input or a value.
    """
    wanted = set(needed) & makers(nodes).keys()
    again: set[int] = set()
    window: list[Node] = []
    for node in reversed(nodes):
        if node.outputs and (is_light(node) or always(node)):
            window.append(node)
        if len(window) == _WINDOW:
            _decide(window, wanted, again, always, cost)
            window = []
    _decide(window, wanted, again, always, cost)
    return again


def _decide(
    window: Sequence[Node], wanted: set[int], again: set[int], always: Callable[[Node], bool],
    cost: Callable[[Value], int],
) -> None:  # fmt: skip
    """Chooses among the nodes of a window, last ones first, and adds what their operands make needed."""
    inside = {node.outputs[0].key: node for node in window}
    if not wanted & inside.keys():
        return
    network = _Network()
    for key, node in inside.items():
        out = node.outputs[0]
        if key in wanted:
            network.add("source", ("need", key), _FOREVER)
        keep = _FOREVER if always(node) else cost(out)
        network.add(("need", key), ("again", key), keep)
        network.add(("again", key), "sink", 0 if always(node) else _again(node))
        for value in node.inputs:
            if value.key not in inside:  # what is needed anyway costs nothing more
                network.add(("need", value.key), "sink", 0 if value.key in wanted else cost(value))
            network.add(("again", key), ("need", value.key), _FOREVER)
    reached = network.cut("source", "sink")
    for key, node in inside.items():
        if ("again", key) in reached:
            again.add(key)
            wanted.update(v.key for v in node.inputs)


def _again(node: Node) -> int:
    return _elements(node.outputs[0]) * (1 if node.op.facts.cost == "move" else _AGAIN)


class _Network:
    """Edges with capacities; `cut` gives the side of the source of a minimum cut."""

    def __init__(self) -> None:
        self.edges: dict[Any, dict[Any, int]] = {}

    def add(self, start: object, end: object, capacity: int) -> None:
        """An edge; one that is there keeps the larger capacity."""
        ends = self.edges.setdefault(start, {})
        ends[end] = max(ends.get(end, 0), capacity)
        self.edges.setdefault(end, {}).setdefault(start, 0)

    def cut(self, source: object, sink: object) -> set[Any]:
        """What is still reached from the source once no more can flow."""
        if source not in self.edges:
            return set()
        while True:
            levels = self._levels(source)
            if sink not in levels:
                return set(levels)
            self._fill(source, sink, levels)

    def _levels(self, source: object) -> dict[Any, int]:
        levels = {source: 0}
        waiting = deque([source])
        while waiting:
            at = waiting.popleft()
            for end, capacity in self.edges[at].items():
                if capacity > 0 and end not in levels:
                    levels[end] = levels[at] + 1
                    waiting.append(end)
        return levels

    def _fill(self, source: object, sink: object, levels: dict[Any, int]) -> None:
        """A blocking flow: paths along rising levels until none is left."""
        untried = {at: [*self.edges[at]] for at in levels}
        path = [source]
        while path:
            at = path[-1]
            if at == sink:
                path = self._pushed(path)
                continue
            ends = untried[at]
            while ends and not (levels.get(ends[-1]) == levels[at] + 1 and self.edges[at][ends[-1]] > 0):
                ends.pop()
            if ends:
                path.append(ends[-1])
            else:
                path.pop()  # a dead end: whoever came here goes on to its next edge
                if path:
                    untried[path[-1]].pop()

    def _pushed(self, path: list[Any]) -> list[Any]:
        """Sends what fits along a path; how much of the path can be gone again (up to its first full edge)."""
        pairs = [*pairwise(path)]
        amount = min(self.edges[a][b] for a, b in pairs)
        for a, b in pairs:
            self.edges[a][b] -= amount
            self.edges[b][a] += amount
        return path[: 1 + next(i for i, (a, b) in enumerate(pairs) if not self.edges[a][b])]
