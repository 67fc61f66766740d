"""A graph pass that fuses pooling with its gather, and its gradient with its scatter, into ops of this engine.

What takes the largest elements of windows finds them and their taps at once, and what adds a cotangent where they came
from puts it there, window by window, without looking up places. NumPy's kernels, which run in the stead of machine
code, have the graph as it was.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ...._core.graph import Graph, Node
from ...._core.tensor import Value
from ...patterns import Parts, added_to_windows, private, taken_from_windows, windows_read

_GEOMETRY = ("window", "strides", "padding", "dilation")
BEST = private("native window_best", "x", _GEOMETRY, ("values", "taps"))
PUT = private("native window_put", "ct taps", ("sizes", *_GEOMETRY))


def pooled(graph: Graph) -> Graph:
    """The graph with such pairs of nodes as one."""
    if not any(node.op.name == "window_argmax" for node in graph.nodes):
        return graph
    parts = Parts(graph)
    searches = _Searches(parts)
    for node in graph.nodes:
        parts.add(_put(node, parts, searches) or node)
        _join(node, parts, searches)
    return parts.without_unused(graph)


class _Searches:
    """Searches for elements and their taps, each in the place of one for places.

    Attributes:
        found: by the places that `window_argmax` gives.
        named: those whose elements stand for what the graph takes from there.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.found: dict[int, Node] = {}
        self.named: set[int] = set()

    def of(self, pool: Node) -> Node:
        """The search in the place of this one."""
        places, nodes = pool.outputs[0], self.parts.nodes
        if places.key not in self.found:
            values = Value(places.shape, pool.inputs[0].dtype, places.graph, "values")
            taps = Value(places.shape, np.dtype(np.int32), places.graph, "taps")
            made = self.found[places.key] = Node(
                BEST, pool.inputs, (values, taps), pool.attrs, pool.site, pool.is_quiet
            )
            nodes.insert(nodes.index(pool) + 1, made)
        return self.found[places.key]

    def name(self, pool: Node, values: Value) -> bool:
        """Gives the elements of a search as this value, if they are no other one yet."""
        key, nodes = pool.outputs[0].key, self.parts.nodes
        if key in self.named:
            return False
        made = self.of(pool)
        named = Node(BEST, made.inputs, (values, made.outputs[1]), made.attrs, made.site, made.is_quiet)
        self.found[key] = nodes[nodes.index(made)] = named
        self.named.add(key)
        return True


def _join(node: Node, parts: Parts, searches: _Searches) -> None:
    """The largest elements, taken from where they are: found where their places are."""
    if node.op.name == "take_along":
        pool = windows_read(node, parts)
        if pool is not None and _has_elements(pool):
            parts.replaced.add(node.outputs[0].key)  # it cannot fail, so nobody may need it
    pattern = taken_from_windows(node, parts) if node.op.name in ("reshape", "take_along") else None
    if pattern is None or not _has_elements(pattern[0]) or not searches.name(pattern[0], node.outputs[0]):
        return
    parts.nodes.remove(node)


def _put(node: Node, parts: Parts, searches: _Searches) -> Node | None:
    """A cotangent added to where the largest elements came from."""
    pattern = added_to_windows(node, parts) if node.op.name in ("reshape", "add_along") else None
    if pattern is None or not _has_elements(pattern[0]):
        return None
    pool, ct, added = pattern
    parts.replaced.add(added.key)
    sizes = pool.inputs[0].shape[-len(pool.attrs[0]) :]
    return node.remade(PUT, (ct, searches.of(pool).outputs[1]), (sizes, *pool.attrs))


def _has_elements(pool: Node) -> bool:
    """Whether each window has an element: of one that lies in the padding there is no largest."""
    x, out = pool.inputs[0], pool.outputs[0]
    rank = len(pool.attrs[0])
    columns = zip(x.shape[-rank:], out.shape[-rank:], *pool.attrs, strict=True)
    return rank > 0 and all(_axis_has(*column) for column in columns)


def _axis_has(size: Any, positions: Any, window: int, stride: int, padding: tuple[Any, Any], gap: int) -> bool:
    if all(type(n) is int and n <= 0 for n in padding):
        return True
    if not all(type(n) is int for n in (size, positions, *padding)):
        return False
    seen = {p for p, k in product(range(positions), range(window)) if 0 <= p * stride + k * gap - padding[0] < size}
    return len(seen) == positions


__all__ = ["BEST", "PUT", "pooled"]
