"""Graphs as text, one node a line; the programs inside a branch or a loop are listed under its node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .types import TensorType

if TYPE_CHECKING:
    from .graph import Graph, Node
    from .tensor import Value


def graph_text(graph: Graph) -> str:
    """A listing: inputs, captures, Variables, nodes with attributes and types, outputs."""
    names = value_names(graph)
    header = ", ".join(f"{names[v.key]}: {type_text(v)}" for v in graph.inputs)
    lines = [f"graph {graph.name}({header})"]
    lines += [f"  {names[v.key]} = capture  # {type_text(v)}" for _, v in graph.captures.values()]
    lines += [f"  {names[v.key]} = read {var.name}  # {type_text(v)}" for var, v in graph.reads.values()]
    for node in graph.nodes:
        lines.append(f"  {node_text(node, names)}")
        lines += [f"    {line}" for inner in programs_of(node) for line in graph_text(inner).splitlines()]
    lines += [f"  write {var.name} = {names.get(t._key, '%?')}" for var, t in graph.writes.values()]
    lines.append(f"  return {', '.join(names.get(v.key, repr(v)) for v in graph.outputs)}")
    return "\n".join(lines)


def held_by(node: Node) -> list[Any]:
    """The programs that an op holds: branches, a loop's condition and step."""
    return [program for value in node.attrs for program in getattr(value, "inner", ())]


def programs_of(node: Node) -> list[Graph]:
    """The graphs of the programs that an op holds."""
    return [program.graph for program in held_by(node)]


def value_names(graph: Graph) -> dict[int, str]:
    """How each value is shown: by its own name (a parameter's, a Variable's), else by its number in the listing.

    Where a name comes again (a parameter and a Variable may share one) a number behind it tells them apart.
    """
    listed = [*graph.free_values, *(v for node in graph.nodes for v in node.outputs)]
    names: dict[int, str] = {}
    taken: set[str] = set()
    for number, value in enumerate(listed, 1):
        name, again = f"%{value.name or number}", 1
        while name in taken:
            name, again = f"%{value.name or number}_{again}", again + 1
        taken.add(name)
        names[value.key] = name
    return names


def type_text(value: Value) -> str:
    """`float64[3, n]`, with a star where the dtype is weak."""
    return f"{TensorType((value.shape, value.dtype))}{'*' if value.weak else ''}"


def node_text(node: Node, names: dict[int, str] | None = None) -> str:
    """`%3: float64[2] = reduce_sum(%2, axes=(0,))`."""
    shown = (names or {}).get
    outputs = ", ".join(f"{shown(v.key, repr(v))}: {type_text(v)}" for v in node.outputs)
    inputs = [shown(v.key, repr(v)) for v in node.inputs]
    attrs = [f"{n}={_attr_text(a)}" for n, a in zip(node.op.attrs, node.attrs, strict=True)]
    label = "" if node.label is None else f"  # {node.label}"
    return f"{outputs} = {node.op.name}({', '.join([*inputs, *attrs])}){label}"


def _attr_text(value: object) -> str:
    if isinstance(value, np.ndarray):
        text = np.array2string(value, separator=", ", threshold=8, max_line_width=10**6)
        return " ".join(text.split())
    if isinstance(value, np.dtype):
        return str(value.name)
    return repr(value)
