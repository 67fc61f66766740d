"""Local rules that remove work without touching a result: identities, repeated movements, products with one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any

from .._core.graph import Graph, Node
from .._core.tensor import Value
from .._prims import structural as S
from .rewrite import rewritten, within_part


def simplify(graph: Graph) -> Graph:
    """The graph after the rules below, each applied where its op stands."""
    producers = _Producers(graph)

    def change(node: Node) -> Any:
        rule = _RULES.get(node.op.name)
        kept = result = None if rule is None else rule(node, producers)
        if result is None:
            kept = node
        if type(kept) is Node:
            for value in kept.outputs:
                producers[value.key] = kept
        return result

    return rewritten(graph, change)


class _Producers(dict[int, Node]):
    """By the key of a value the node that makes it; `readers` counts what reads it."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph

    @cached_property
    def readers(self) -> Counter[int]:
        nodes = self.graph.nodes
        return Counter([v.key for values in (*[n.inputs for n in nodes], self.graph.outputs) for v in values])


def _identity(node: Node, producers: _Producers) -> Any:
    return node.inputs[0]


def _same_type(node: Node, producers: _Producers) -> Any:
    x, out = node.inputs[0], node.outputs[0]
    return x if x.shape == out.shape and x.dtype == out.dtype else None


def _producer(value: Value, producers: _Producers, name: str) -> Node | None:
    node = producers.get(value.key)
    return node if node is not None and node.op.name == name else None


def _reshape(node: Node, producers: _Producers) -> Any:
    if _same_type(node, producers) is not None:
        return node.inputs[0]
    inner = _producer(node.inputs[0], producers, "reshape")
    if inner is not None:
        return node.remade(S.reshape, inner.inputs, node.attrs)
    return _of_full(node, producers)


def _broadcast(node: Node, producers: _Producers) -> Any:
    if _same_type(node, producers) is not None:
        return node.inputs[0]
    return _of_full(node, producers)


def _of_full(node: Node, producers: _Producers) -> Any:
    """One repeated number, moved about, is the same number in the new shape."""
    inner = _producer(node.inputs[0], producers, "full")
    if inner is None:
        return None
    return node.remade(S.full, (), (node.outputs[0].shape, *inner.attrs[1:]))


def _transpose(node: Node, producers: _Producers) -> Any:
    (perm,) = node.attrs
    if perm == tuple(range(len(perm))):
        return node.inputs[0]
    inner = _producer(node.inputs[0], producers, "transpose")
    if inner is None:
        return None
    together = tuple(inner.attrs[0][p] for p in perm)
    if together == tuple(range(len(perm))):
        return inner.inputs[0]
    return node.remade(S.transpose, inner.inputs, (together,))


def _slice(node: Node, producers: _Producers) -> Any:
    """A slice of one part of what is joined is a slice of that part."""
    if _same_type(node, producers) is not None:
        return node.inputs[0]
    joined = _producer(node.inputs[0], producers, "concatenate")
    if joined is None:
        return None
    (axis,), (starts, limits, _), start = joined.attrs, node.attrs, 0
    for part in joined.inputs:
        stop = start + part.shape[axis]
        if type(stop) is not int or type(starts[axis]) is not int or type(limits[axis]) is not int:
            return None
        if start <= starts[axis] < limits[axis] <= stop:
            found = node.remade(S.slice_, (part,), within_part(node.attrs, axis, start))
            return part if _same_type(found, producers) is not None else found
        start = stop
    return None


def _neg(node: Node, producers: _Producers) -> Any:
    inner = _producer(node.inputs[0], producers, "neg")
    return None if inner is None else inner.inputs[0]


def _mul(node: Node, producers: _Producers) -> Any:
    x, y = node.inputs
    if x.dtype.kind == "c":
        return None  # (inf + 0j) * 1 is inf + nan j
    if _is_one(y, producers):
        return x
    return y if _is_one(x, producers) else None


def _scale(node: Node, producers: _Producers) -> Any:
    # scale(1, y) is y; scale(x, 1) is x but for the sign of a zero, which it drops: kept
    return node.inputs[1] if _is_one(node.inputs[0], producers) else None


def _is_one(value: Value, producers: _Producers) -> bool:
    node = _producer(value, producers, "full")
    return node is not None and node.attrs[1] == 1


def _times_number(node: Node, producers: _Producers) -> Any:
    x, out = node.inputs[0], node.outputs[0]
    is_same = node.attrs[0] == 1 and x.dtype == out.dtype and x.dtype.kind != "c"  # as of `mul`
    return x if is_same else None


def _reduce(node: Node, producers: _Producers) -> Any:
    x, (axes,) = node.inputs[0], node.attrs
    if axes == () and x.dtype.kind in "biu":  # the sum of one -0.0 is 0.0, so that floats stay
        return x
    inner = _producer(x, producers, "reduce_sum")
    if inner is None or producers.readers[x.key] > 1:
        return None
    (first,) = inner.attrs
    left = [a for a in range(len(inner.inputs[0].shape)) if a not in first]  # the axes that the inner sum has left
    return node.remade(S.reduce_sum, inner.inputs, ((*sorted([*first, *(left[a] for a in axes)]),),))


_RULES: dict[str, Callable[[Node, _Producers], Any]] = {
    "alias": _identity,
    "regular": _identity,
    "attach": _identity,
    "limit_value": _identity,
    "stop_gradient": _identity,
    "reassign": _identity,
    "convert": _same_type,
    "reshape": _reshape,
    "broadcast_to": _broadcast,
    "slice": _slice,
    "transpose": _transpose,
    "neg": _neg,
    "mul": _mul,
    "scale": _scale,
    "times_number": _times_number,
    "reduce_sum": _reduce,
}
