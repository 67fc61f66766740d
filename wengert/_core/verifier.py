"""Checks the invariants of a finished graph; a failure is a bug in a rule or a pass, never a user's mistake."""

from __future__ import annotations

from typing import Any

from .graph import Graph, Node
from .printer import node_text, value_names
from .state import building
from .types import Guards, TensorType


class VerificationError(AssertionError):
    """A graph breaks an invariant."""


def verify(graph: Graph) -> None:
    """Checks that every value is defined once, before its uses, with the type that its op's rule gives."""
    free = graph.free_values
    defined = {v.key for v in free}
    if len(defined) != len(free):
        raise VerificationError(f"{graph.name}: an input is listed twice")
    scratch: Any = _Scratch()
    with building(scratch):
        for node in graph.nodes:
            _verify_node(graph, node, defined)
    for value in graph.outputs:
        if value.key not in defined:
            raise VerificationError(f"{graph.name}: the output {value} is not defined")


def _verify_node(graph: Graph, node: Node, defined: set[int]) -> None:
    for value in node.inputs:
        if value.key not in defined:
            names = value_names(graph)
            shown = names.get(value.key, repr(value))
            raise VerificationError(f"{graph.name}: {node_text(node, names)} uses {shown} before its definition")
    types = node.op.type_rule(*node.op.group(node.inputs), *node.attrs)
    for value, expected in zip(node.outputs, types if node.op.is_multi else (types,), strict=True):
        if value.key in defined:
            raise VerificationError(f"{graph.name}: {value_names(graph)[value.key]} is defined twice")
        if tuple(value.shape) != tuple(expected[0]) or value.dtype != expected[1]:
            shown = node_text(node, value_names(graph))
            raise VerificationError(f"{graph.name}: {shown} should give {TensorType(expected)}")
        defined.add(value.key)


class _Scratch:
    """Stands in for a builder while types are checked again: what they assume is guarded already."""

    def __init__(self) -> None:
        self.guards = Guards()
