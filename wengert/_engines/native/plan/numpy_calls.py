"""Marks nodes in loops and branches that NumPy's kernels compute, called by the machine code where they stand.

Such a node becomes one of `OUTSIDE`, whose attribute is the node that it was; `lower/numpy_calls.py` emits the call.
Outside of loops a kernel runs between two pieces of machine code, and nothing has to be called.
"""

from __future__ import annotations

from typing import Any

from ...._core.analysis import atoms_in, atoms_named, atoms_told
from ...._core.engine import default_engine
from ...._core.graph import Graph, Node
from ...._core.op import REGISTRY, Op
from ...._core.tensor import Value
from ..lower.forms import TYPE_OF


def _no_types(operands: tuple[Any, ...], node: object) -> Any:
    raise AssertionError("nodes that machine code leaves are made of nodes that there are")


OUTSIDE = Op(
    "outside", ("operands",), ("node",), ("outs",), "general", _no_types, None, is_variadic=True, has_many_outs=True,
    can_raise=True,
)  # fmt: skip


def may_be_called(node: Node) -> bool:
    """Whether machine code can call the kernel of a node: a function of arrays that machine code knows, nothing else.

    What prints or holds programs is none. A kernel of the user's own is one: what it does beside its result, in which
    order, nobody has been promised.
    """
    op = node.op
    told = {atom for v in node.inputs for atom in atoms_in(v.shape)}
    return (
        not op.has_effect and not op.facts.holds and not op.facts.buffer
        and all(v.dtype in TYPE_OF for v in (*node.inputs, *node.outputs))
        and all(atoms_in(v.shape) <= told for v in node.outputs)
        and atoms_named((node,)) <= atoms_told(node.inputs)
        and op.name in default_engine().kernels
    )  # fmt: skip


def is_ours(op: Op) -> bool:
    """Whether a primitive is one of the library's."""
    return REGISTRY.get(op.name) is op


def called(node: Node) -> Node:
    """A node as one that machine code calls."""
    return Node(OUTSIDE, node.inputs, node.outputs, (node,), node.site, node.is_quiet, node.label)


def alone(node: Node) -> Graph:
    """A node as a graph of its own, each of its operands an input."""
    inputs, outputs = ([Value(v.shape, v.dtype, v.graph) for v in side] for side in (node.inputs, node.outputs))
    inner = Node(node.op, (*inputs,), (*outputs,), node.attrs, node.site, node.is_quiet, node.label)
    return Graph.of(node.op.name, inputs, [inner], outputs)
