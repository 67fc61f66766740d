"""Computes equal things once: nodes with the same op, inputs and attributes share a result."""

from __future__ import annotations

from typing import Any

from .._core.graph import Graph, Node
from .._core.kinds import ARRAYS
from .._core.tensor import Value
from .rewrite import rewritten

_SMALL = 1024  # bytes of a constant that are compared; larger ones are equal only if identical


def share_common(graph: Graph) -> Graph:
    """The graph with repeated computations shared."""
    seen: dict[int, Node] = {}  # by hash only: long graphs would otherwise hold a tuple for each node

    def change(node: Node) -> tuple[Value, ...] | None:
        if node.op.has_effect or (node.op.is_multi and not _is_plain(node)):
            return None
        identity = _identity(node)
        known = seen.setdefault(hash(identity), node)
        if known is node or _identity(known) != identity or not _are_alike(known, node):
            return None
        return known.outputs

    return rewritten(graph, change)


def _is_plain(node: Node) -> bool:
    """Whether an op with several results is a function of its operands, without programs and what is kept for them."""
    facts = node.op.facts
    is_kept = facts.holds or facts.writes or any(v.is_history for v in node.outputs)
    return node.op.kind == "general" and not is_kept  # a barrier keeps apart what is equal


def _are_alike(known: Node, node: Node) -> bool:
    """Whether several results have the same shapes: those that only a run tells have names of their own."""
    return not node.op.is_multi or all(x.shape == y.shape for x, y in zip(known.outputs, node.outputs, strict=True))


def _identity(node: Node) -> Any:
    return (node.op.name, (*[v.key for v in node.inputs],), (*map(attribute_identity, node.attrs),))


def attribute_identity(value: Any) -> Any:
    """A hashable stand-in for an attribute, equal only where results are (0.0 and -0.0, 1 and True differ)."""
    if isinstance(value, ARRAYS):
        if value.nbytes <= _SMALL:
            return (value.shape, value.dtype.str, value.tobytes())
        return ("object", id(value))
    if isinstance(value, tuple):
        return tuple(map(attribute_identity, value))
    if isinstance(value, (bool, int, float, complex)):
        return (type(value), repr(value))
    try:
        hash(value)
    except TypeError:
        return ("object", id(value))
    return value
