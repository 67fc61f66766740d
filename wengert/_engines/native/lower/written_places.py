"""Writes to known places of buffers as values: each element is one of what is written or one of what was there.

`as_values(graph)` puts a `WRITTEN` in the stead of a write to much of a buffer, and a slice in the stead of a read, so
that both share loops with what they are computed from and what reads them. A write to little of a buffer stays where it
is: done in place, it costs what it writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...._core.graph import Graph, Node
from ...._core.op import REGISTRY
from ...._core.tensor import Value
from ...._passes.rewrite import with_inputs
from ...patterns import Parts, private
from .forms import is_numbers

WRITTEN = private("native written", "value b", ("low", "interior", "adds"))

LEAST = 1 << 13  # elements of a buffer from which on a pass over them is worth more than a short program
MUCH = 3  # a write is worth a pass over all of a buffer if it spans at least one in so many of the elements


def as_values(graph: Graph) -> Graph:
    """The graph with writes to much of buffers, and reads of what no other write changes, as values."""
    found = _Rewriting(graph)
    return found.parts.without_unused(found.graph()) if found.has_found else graph


class _Rewriting:
    def __init__(self, graph: Graph) -> None:
        self.given = graph
        self.parts = Parts(graph)
        self.has_found = False
        self.stands_for: dict[int, Value] = {}
        # the versions that are written to in place, each with what it shares its memory with
        self.in_place = {_written(node).key for node in graph.nodes if node.op.facts.writes and not _is_much(node)}
        for node in reversed(graph.nodes):
            if node.op.name in _SAME and node.outputs[0].key in self.in_place:
                self.in_place.add(node.inputs[0].key)
        self.outputs = {v.key for v in graph.outputs}
        self.inputs = {v.key for v in graph.inputs}
        for node in graph.nodes:
            node = with_inputs(node, self.stands_for)
            if _is_much(node):
                self.write(node)
            elif node.op.name == "buffer_get" and self.is_read_as_value(node):
                self.read(node)
            elif node.op.name in _SAME and self.is_same(node):
                self.has_found = True
                self.stands_for[node.outputs[0].key] = node.inputs[0]
            else:
                self.parts.add(node)

    def graph(self) -> Graph:
        """The graph so far, with nodes that nobody needs."""
        g = self.given
        outputs = [self.stands_for.get(v.key, v) for v in g.outputs]
        return Graph.of(g.name, g.inputs, self.parts.nodes, outputs, g.guards)

    def add(
        self, name: str, inputs: Sequence[Value], shape: tuple[Any, ...], attrs: tuple[Any, ...], at: Node
    ) -> Value:
        """The result of a new node that stands where a node stood."""
        like = inputs[0]
        made = Value(shape, like.dtype, like.graph, like.name, like.weak)
        self.parts.add(Node(REGISTRY[name], (*inputs,), (made,), attrs, at.site, at.is_quiet, at.label))
        return made

    def write(self, node: Node) -> None:
        """Adds a write as a value."""
        self.has_found = True
        value, b = node.inputs
        starts, limits, steps = _slices(node)
        shape = (*map(_extent, starts, limits, steps),)
        if value.shape != shape:
            value = self.add("reshape", (value,), shape, (shape,), node)
        gaps = (*[step - 1 for step in steps],)
        self.parts.add(node.remade(WRITTEN, (value, b), (starts, gaps, node.op.name == "buffer_add")))

    def is_read_as_value(self, node: Node) -> bool:
        """Whether a read may be done where what it gives is read: nothing overwrites the version before."""
        return _is_known(node) and _size(node.outputs[0]) >= LEAST and node.inputs[0].key not in self.in_place

    def read(self, node: Node) -> None:
        """Adds the slice that a read is, in the shape that it gives."""
        self.has_found = True
        (b,), slices, out = node.inputs, _slices(node), node.outputs[0]
        slice_, reshape = REGISTRY["slice"], REGISTRY["reshape"]
        shape = (*map(_extent, *slices),)
        if shape == out.shape:
            self.parts.add(node.remade(slice_, (b,), slices))
        else:
            taken = self.add("slice", (b,), shape, slices, node)
            self.parts.add(node.remade(reshape, (taken,), (out.shape,)))

    def is_same(self, node: Node) -> bool:
        """Whether a version is as good as what it holds: nothing that goes on writes to it in place."""
        source, out = node.inputs[0], node.outputs[0]
        if source.key in self.inputs and out.key in self.outputs:
            return False
        return is_numbers(out.shape) and _size(out) >= LEAST and out.key not in self.in_place


# ops whose result holds what their operand holds
_SAME = ("buffer_new", "buffer_value")


def _written(node: Node) -> Value:
    """The version that a node overwrites."""
    return node.inputs[node.op.operands.index(node.op.facts.writes)]


def _is_known(node: Node) -> bool:
    """Whether a place is known, and how large all is."""
    (template,) = node.attrs
    ends = [n for entry in template if type(entry) is tuple for n in entry]
    return None not in template and is_numbers(ends) and all(is_numbers(v.shape) for v in node.inputs)


def _is_much(node: Node) -> bool:
    """Whether a node writes to a known place that is much of a buffer worth it."""
    if node.op.name not in ("buffer_set", "buffer_add") or not _is_known(node):
        return False
    value, b = node.inputs
    size = _size(b)
    if size < LEAST or 0 in value.shape:
        return False
    starts, limits, _ = _slices(node)
    spanned = 1
    for start, limit in zip(starts, limits, strict=True):
        spanned *= limit - start
    return spanned * MUCH >= size


def _slices(node: Node) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The first place, the end and the step along each axis of the buffer."""
    (template,) = node.attrs
    entries = [entry if type(entry) is tuple else (entry, entry + 1, 1) for entry in template]
    return (*[e[0] for e in entries],), (*[e[1] for e in entries],), (*[e[2] for e in entries],)


def _extent(start: int, limit: int, step: int) -> int:
    return -(-(limit - start) // step)


def _size(value: Value) -> int:
    size = 1
    for n in value.shape:
        size *= n if type(n) is int else 0
    return size
