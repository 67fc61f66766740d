"""A traced program as a Wengert list, so that the sweep can run over it: the nodes between sources and targets.

Used by `wg.gradients`; the nodes are those of a builder and of the builders around it. Captures lead outwards: a
captured value goes by the key of the outer (or concrete) tensor that it stands for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .._core.dtypes import is_inexact
from .._core.graph import Graph, Node, symbol
from .._core.state import next_serial
from .._core.tensor import Tensor
from .._prims.structural import alias
from .tape import Entry, entry_of


class Line(NamedTuple):
    """A node that depends on a source, before anybody knows whether a target depends on it."""

    node: Node
    operands: tuple[Tensor, ...]
    tracked: tuple[bool, ...]
    out_keys: tuple[int, ...]
    name: str


class Listing(NamedTuple):
    """The Wengert list, and what the node behind each entry is called, by the key of the entry's first result."""

    entries: list[Entry]
    names: Mapping[int, str]


def listing(builder: Graph, sources: Iterable[int], targets: Iterable[int], stops: Iterable[int]) -> Listing:
    """What lies between sources and targets.

    Args:
        builder: the graph under construction; those that enclose it are looked through, too.
        sources: keys of tensors, concrete or symbolic, or of Variables (they stand for their value at entry).
        targets: keys of tensors.
        stops: keys of tensors that count as constants; they receive cotangents, but pass none on.
    """
    graphs = [*reversed(builder.enclosing()), builder]
    stopped = set(stops)
    reached = set(sources)
    lines: list[Line] = []
    counts: dict[str, int] = {}
    reads = _reads(graphs, reached, stopped)
    for graph in graphs:
        outer = {value.key: tensor for tensor, value in graph.captures.values()}
        for node in (*graph.nodes,):  # a copy: another thread may add to an outer graph
            line = _line(node, outer, reached, stopped, _name(node, counts))
            if line is not None:
                lines.append(line)
    needed = set(targets)
    kept: list[Line] = []
    for line in reversed(lines):
        if not needed.isdisjoint(line.out_keys):
            kept.append(line)
            needed.update(x._key for x, t in zip(line.operands, line.tracked) if t)
    kept.reverse()
    return Listing([*reads, *map(_entry, kept)], {line.out_keys[0]: line.name for line in kept})


def _name(node: Node, counts: dict[str, int]) -> str:
    """A node of a gradient has a name; the others are numbered by op: mul, mul_1, ..."""
    if node.label is not None:
        return node.label.name
    count = counts[node.op.name] = counts.get(node.op.name, -1) + 1
    return f"{node.op.name}_{count}" if count else node.op.name


def _reads(graphs: Iterable[Graph], reached: set[int], stopped: set[int]) -> list[Entry]:
    """One entry for each graph that reads a Variable which is a source."""
    found = []
    for graph in graphs:
        for variable, value in graph.reads.values():
            if variable._key in reached and is_inexact(value.dtype) and value.key not in stopped:
                reached.add(value.key)
                out: Any = symbol(value)
                found.append(entry_of(alias, (), (True,), (out,), (variable._key,), (out,), (value.key,)))
    return found


def _line(
    node: Node, outer: Mapping[int, Tensor], reached: set[int], stopped: set[int], name: str
) -> Line | None:  # fmt: skip
    """The node's line, if it depends on a source by a path that can carry a gradient."""
    if node.op.kind == "stop" or not node.inputs:
        return None
    operands = (*[outer[v.key] if v.key in outer else symbol(v) for v in node.inputs],)
    tracked = (*[x._key in reached for x in operands],)
    if True not in tracked:
        return None
    carrying = [v.key for v in node.outputs if is_inexact(v.dtype) and v.key not in stopped]
    if not carrying:
        return None
    reached.update(carrying)
    # a stopped result goes by a key that nobody asks for
    out_keys = (*[next_serial() if v.key in stopped else v.key for v in node.outputs],)
    return Line(node, operands, tracked, out_keys, name)


def _entry(line: Line) -> Entry:
    node = line.node
    in_keys = (*[x._key for x in line.operands],)
    outs = (*map(symbol, node.outputs),)
    return entry_of(node.op, node.attrs, line.tracked, line.operands, in_keys, outs, line.out_keys)


def is_reached(entries: Iterable[Entry], sources: Iterable[int], target: int) -> bool:
    """Whether a target is a source or the result of some entry."""
    return target in sources or any(target in entry.out_keys for entry in entries)


__all__ = ["Listing", "is_reached", "listing"]
