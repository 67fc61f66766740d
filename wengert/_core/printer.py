"""Graphs as text, one node a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .types import TensorType

if TYPE_CHECKING:
    from .graph import Graph, Node
    from .tensor import Value


def graph_text(graph: Graph) -> str:
    """A listing: inputs, captures, Variables, nodes with attributes and types, outputs."""
    header = ", ".join(f"{v}: {type_text(v)}" for v in graph.inputs)
    lines = [f"graph {graph.name}({header})"]
    lines += [f"  {v} = capture  # {type_text(v)}" for _, v in graph.captures.values()]
    lines += [f"  {v} = read {var.name}  # {type_text(v)}" for var, v in graph.reads.values()]
    lines += [f"  {node_text(node)}" for node in graph.nodes]
    lines += [f"  write {var.name} = {t._data!r}" for var, t in graph.writes.values()]
    lines.append(f"  return {', '.join(map(repr, graph.outputs))}")
    return "\n".join(lines)


def type_text(value: Value) -> str:
    """`float64[3, n]`, with a star where the dtype is weak."""
    return f"{TensorType((value.shape, value.dtype))}{'*' if value.weak else ''}"


def node_text(node: Node) -> str:
    """`%3: float64[2] = reduce_sum(%2, axes=(0,))`."""
    outputs = ", ".join(f"{v}: {type_text(v)}" for v in node.outputs)
    attrs = [f"{n}={_attr_text(a)}" for n, a in zip(node.op.attrs, node.attrs, strict=True)]
    return f"{outputs} = {node.op.name}({', '.join([*map(repr, node.inputs), *attrs])})"


def _attr_text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        text = np.array2string(value, separator=", ", threshold=8, max_line_width=10**6)
        return " ".join(text.split())
    if isinstance(value, np.dtype):
        return str(value.name)
    return repr(value)
