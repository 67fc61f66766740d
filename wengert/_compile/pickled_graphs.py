"""Graphs for pickle and `copy`: the data of `saved`, and beside it what a file of plain data has no room for.

That is a user's primitive, a rule that is Python code, a static value of a class of one's own: they go as the pickler
takes them, since who unpickles runs code anyway. The lines of the user's program stay behind, and so does what was
compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.graph import Graph, Node
from .._core.op import REGISTRY
from .._core.tensor import Value
from .._core.user_line import at_user_line
from .saved import Decoder, Encoder

_OBJECT = "object"


def reduced(graph: Graph) -> Any:
    """What `__reduce__` gives for a graph."""
    encoder = _Encoder()
    return _from_data, (encoder.graph(graph), encoder.arrays, encoder.variables, encoder.objects)


def _from_data(data: dict[str, Any], arrays: list[Any], variables: list[Any], objects: list[Any]) -> Graph:
    return _Decoder(arrays, variables, objects).graph(data)


class _Encoder(Encoder):
    """Sets objects aside that are no data."""

    def __init__(self) -> None:
        super().__init__()
        self.objects: list[Any] = []

    def graph(self, graph: Graph) -> dict[str, Any]:
        for tensor, _ in graph.captures.values():
            if type(tensor._data) is Value:
                said = (
                    f"{graph.name} uses a tensor of the trace around it, and cannot be copied or pickled without that"
                )
                raise TypeError(at_user_line(said))
        return {**super().graph(graph), "open": not graph.is_frozen}

    def outputs(self, graph: Graph) -> list[Value]:
        # what is written becomes an output when a graph is finished
        written = [] if graph.is_frozen else [graph.value_of(t) for _, t in graph.writes.values()]
        return [*graph.outputs, *written]

    def node(self, node: Node) -> list[Any]:
        applied = self.applied(node)
        is_known = REGISTRY.get(node.op.name) is node.op or "rule" in (applied[1] or [()])[0]
        return [node.op.name if is_known else self._aside(node.op), *applied, node.label]

    def attribute(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):  # of a file's arrays without axes come NumPy's scalars
            return self._aside(value)
        try:
            return super().attribute(value)
        except TypeError:
            return self._aside(value)

    def _aside(self, value: object) -> dict[str, int]:
        self.objects.append(value)
        return {_OBJECT: len(self.objects) - 1}


class _Decoder(Decoder):
    """Takes the objects back."""

    def __init__(self, arrays: list[Any], variables: list[Any], objects: list[Any]) -> None:
        super().__init__(arrays, variables)
        self.objects = objects

    def graph(self, data: dict[str, Any], *, is_inner: bool = False) -> Graph:
        graph = super().graph(data, is_inner=is_inner)
        if data["open"]:
            del graph.outputs[len(graph.outputs) - len(graph.writes) :]
            graph.is_frozen = False
        return graph

    def node(self, item: Any, graph: Graph) -> Node:
        op, inputs, attrs, outputs, is_quiet, label = item
        if isinstance(op, dict):
            operands, values = self.operands(inputs), (*map(self.attribute, attrs),)
            results = (*[self.value(v, graph) for v in outputs],)
            return Node(self.attribute(op), operands, results, values, None, is_quiet, label)
        node = super().node(item[:-1], graph)
        node.label = label
        return node

    def attribute(self, data: Any) -> Any:
        return self.objects[data[_OBJECT]] if isinstance(data, dict) and _OBJECT in data else super().attribute(data)
