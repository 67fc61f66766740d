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
from ...patterns import Parts, added_to_windows, private, taken_from_windows

_GEOMETRY = ("window", "strides", "padding", "dilation")
BEST = private("native window_best", "x", _GEOMETRY, ("values", "taps"))
PUT = private("native window_put", "ct taps", ("sizes", *_GEOMETRY))


def pooled(graph: Graph) -> Graph:
    """The graph with such pairs of nodes as one."""
    if not any(node.op.name == "window_argmax" for node in graph.nodes):
        return graph
    parts = Parts(graph)
    taps: dict[int, Value] = {}  # by the places that `window_argmax` gives
    for node in graph.nodes:
        parts.add(_put(node, parts, taps) or node)
        _join(node, parts, taps)
    return parts.without_unused(graph)


def _join(node: Node, parts: Parts, taps: dict[int, Value]) -> None:
    """The largest elements, taken from where they are: found where their places are."""
    if node.op.name != "reshape":
        return
    found = taken_from_windows(node, parts)
    if found is None or found[0].outputs[0].key in taps or not _has_elements(found[0]):
        return
    pool, taken = found
    places = pool.outputs[0]
    which = taps[places.key] = Value(places.shape, np.dtype(np.int32), places.graph, "taps")
    best = Node(BEST, pool.inputs, (node.outputs[0], which), pool.attrs, pool.site, pool.is_quiet)
    parts.nodes.insert(parts.nodes.index(pool) + 1, best)
    parts.nodes.remove(node)
    parts.replaced.add(taken.key)


def _put(node: Node, parts: Parts, taps: dict[int, Value]) -> Node | None:
    """A cotangent added to where the largest elements came from."""
    found = added_to_windows(node, parts) if node.op.name == "reshape" else None
    if found is None or found[0].outputs[0].key not in taps:
        return None
    pool, ct, added = found
    parts.replaced.add(added.key)
    sizes = pool.inputs[0].shape[-len(pool.attrs[0]) :]
    return node.remade(PUT, (ct, taps[pool.outputs[0].key]), (sizes, *pool.attrs))


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
