"""A graph pass: functions that take long are given no number where nobody asks for theirs. Called by `prepare.py`.

A formula that holds in one region stands beside another in a `select`, and both are computed of all elements. An
element's value is asked for where all selects on the way to a result take it; elsewhere the function is given NaN, with
which it ends at once, be it SciPy's, of one number, or ours, of vectors (`llvm/masked_lanes.py`).
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from typing import Any

import numpy as np

from ...._core.graph import Graph, Node
from ...._core.op import REGISTRY
from ...._core.tensor import Value
from ...._passes.rewrite import in_order, with_nodes

# functions with loops, which end at once where their first operand is NaN
LONG = frozenset((
    "betainc", "betaincc", "betaincinv", "gammainc", "gammaincc", "gammaincinv", "binom_count", "nbinom_count",
    "poisson_count", "vonmises_place",
))  # fmt: skip
_BOOL = np.dtype(bool)
_MOST_TERMS = 4  # of conditions, of which one suffices

Asked = frozenset[frozenset[tuple[int, bool]]]  # keys of conditions and what they are to be: all of one set suffice
_ALWAYS: Asked = frozenset((frozenset(),))


def unasked_dropped(graph: Graph) -> Graph:
    """The graph with operands of long functions that are no numbers where nobody asks for the results."""
    if not any(node.op.name == "select" for node in graph.nodes):
        return graph
    long = [node for node in graph.nodes if node.op.name in LONG]
    if not long:
        return graph
    asking = _Asking(graph)
    nodes: list[Node] = graph.nodes
    for node in long:
        asked = asking.of(node.outputs[0])
        if asked and asked != _ALWAYS and all(asking.has_shape(key, node.outputs[0]) for key, _ in _pairs(asked)):
            nodes = in_order(_with_nothing(nodes, node, asking, asked)) or nodes
    return graph if nodes is graph.nodes else with_nodes(graph, nodes, graph.outputs)


def _pairs(asked: Asked) -> list[tuple[int, bool]]:
    return [pair for term in asked for pair in term]


class _Asking:
    """Where the elements of a graph's values are asked for."""

    def __init__(self, graph: Graph) -> None:
        self.readers: dict[int, list[Node]] = defaultdict(list)
        self.conditions: dict[int, Value] = {}
        self.known: dict[int, Asked] = {v.key: _ALWAYS for v in graph.outputs}
        for node in graph.nodes:
            for key in {v.key for v in node.inputs}:
                self.readers[key].append(node)
        for node in reversed(graph.nodes):  # readers come behind what they read
            for value in node.outputs:
                if value.key not in self.known:
                    self.known[value.key] = self._found(value)

    def of(self, value: Value) -> Asked:
        return self.known[value.key]

    def has_shape(self, key: int, value: Value) -> bool:
        return self.conditions[key].shape == value.shape

    def _found(self, value: Value) -> Asked:
        terms = {term for reader in self.readers[value.key] for term in self._by(reader, value)}
        least = frozenset(term for term in terms if not any(other < term for other in terms))
        return least if len(least) <= _MOST_TERMS else _ALWAYS

    def _by(self, reader: Node, value: Value) -> Asked:
        """Where a reader asks for a value."""
        out = reader.outputs[0]
        if len(reader.outputs) > 1 or reader.op.facts.mixes != "nothing" or out.shape != value.shape:
            return _ALWAYS
        asked = self.known[out.key]
        places = [place for place, x in enumerate(reader.inputs) if x.key == value.key]
        if reader.op.name != "select" or len(places) > 1 or places == [0]:
            return asked
        condition = reader.inputs[0]
        self.conditions[condition.key] = condition
        pair, other = (condition.key, places == [1]), (condition.key, places != [1])
        return frozenset(term | {pair} for term in asked if other not in term)


def _with_nothing(nodes: list[Node], node: Node, asking: _Asking, asked: Asked) -> list[Node]:
    """The nodes, in any order, with what makes the node's first operand NaN where the result is not asked for."""
    out = node.outputs[0]
    added: list[Node] = []

    def made(name: str, *inputs: Value, dtype: np.dtype[Any] = _BOOL, attrs: tuple[object, ...] = ()) -> Value:
        value = Value(out.shape, dtype, out.graph, "", False)
        added.append(Node(REGISTRY[name], inputs, (value,), attrs, node.site, True, node.label))
        return value

    def met(key: int, wanted: bool) -> Value:
        return asking.conditions[key] if wanted else made("logical_not", asking.conditions[key])

    both, either = (functools.partial(made, f"logical_{name}") for name in ("and", "or"))
    terms = [functools.reduce(both, [met(*pair) for pair in sorted(term)]) for term in sorted(asked, key=sorted)]
    is_asked, first = functools.reduce(either, terms), node.inputs[0]
    nothing = made("full", dtype=first.dtype, attrs=(out.shape, math.nan, first.dtype))
    given = made("select", is_asked, first, nothing, dtype=first.dtype)
    changed = Node(node.op, (given, *node.inputs[1:]), node.outputs, node.attrs, node.site, node.is_quiet, node.label)
    return [*added, *[changed if n is node else n for n in nodes]]
