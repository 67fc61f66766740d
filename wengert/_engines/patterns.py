"""Finds patterns of nodes that have one kernel in a framework (pooling, a sum of padded pieces) and replaces them.

`torch/fusion.py`, `tensorflow/fusion.py` and the native `plan/pooling.py` are made of it. An engine goes over a graph
once, node by node, with a `Parts`; its rules give a node in place of another one, and what nobody reads after that is
left out.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from .._core.analysis import needed_for
from .._core.graph import Graph, Node
from .._core.op import Facts, Op
from .._core.tensor import Value


def private(name: str, operands: str, attrs: tuple[str, ...] = (), outs: tuple[str, ...] = ("out",)) -> Op:
    """An op of an engine's own; its name is no primitive's, and nothing asks for its type or derivative. Of the last
    operand there may be any number if it has a star."""
    return Op(
        name=name, operands=(*operands.replace("*", "").split(),), attrs=attrs, outs=outs, kind="zero",
        type_rule=_no_type, batch_rule=_no_type, facts=Facts(doc=name, dtypes="any"), is_variadic="*" in operands,
    )  # fmt: skip


def _no_type(*args: object) -> Any:
    raise NotImplementedError("what an engine has fused is not traced again")


class Parts:
    """The graph that is being rewritten, with what rules ask of it: makers and readers of values.

    Attributes:
        producers: by the key of a value the node that makes it.
        uses: how often a value is read.
        nodes: the new nodes so far; a rule may add some.
        replaced: keys of values that other kernels give now, if nobody else reads them.
    """

    def __init__(self, graph: Graph) -> None:
        self.producers: dict[int, Node] = {}
        self.uses = Counter(v.key for node in graph.nodes for v in node.inputs)
        self.uses.update(v.key for v in graph.outputs)
        self.nodes: list[Node] = []
        self.replaced: set[int] = set()

    def add(self, node: Node) -> None:
        self.nodes.append(node)
        self.producers.update((v.key, node) for v in node.outputs)

    def made_by(self, value: Value, *names: str) -> Node | None:
        """The node that makes a value, if it is of one of these ops."""
        node = self.producers.get(value.key)
        return node if node is not None and node.op.name in names else None

    def without_unused(self, graph: Graph) -> Graph:
        """The new graph without what was fused into other kernels: what nobody reads goes, and of the replaced values
        also what may raise, as the kernel in its place does."""

        def stays(node: Node) -> bool:
            matters = node.op.has_effect or node.op.can_raise
            return matters and not any(v.key in self.replaced for v in node.outputs)

        kept, _ = needed_for(self.nodes, [v.key for v in graph.outputs], stays)
        return Graph.of(graph.name, graph.inputs, kept, graph.outputs, graph.guards)


def is_nothing(value: Value, parts: Parts) -> bool:
    """Whether a value is full of zeros."""
    maker = parts.made_by(value, "full", "constant")
    if maker is None:
        return False
    return maker.attrs[1] == 0 if maker.op.name == "full" else not np.any(maker.attrs[0])


# -- sums of padded pieces ---------------------------------------------------------------------------------------------


def joined(node: Node, parts: Parts) -> tuple[tuple[Value, ...], int] | None:
    """The pieces and the axis of a sum of pieces, each padded with zeros along one axis, that together cover the axis
    and do not overlap."""
    from_all = _pieces(node, parts)
    if from_all is None or len(from_all) < 2:
        return None
    axis = _padded_axis(from_all[0])
    if axis is None or any(_padded_axis(piece) != axis for piece in from_all):
        return None
    ordered = sorted(from_all, key=lambda piece: piece.attrs[0][axis])
    at = 0
    for piece in ordered:
        if piece.attrs[0][axis] != at:
            return None
        at += piece.inputs[0].shape[axis]
    if at != node.outputs[0].shape[axis]:
        return None
    return (*[piece.inputs[0] for piece in ordered],), axis


def _pieces(node: Node, parts: Parts) -> list[Node] | None:
    """The padded terms of a sum; None if there are others."""
    found: list[Node] = []
    waiting = [*node.inputs]
    while waiting:
        value = waiting.pop()
        inner = parts.producers.get(value.key)
        if inner is None or parts.uses[value.key] != 1:
            return None
        if inner.op.name == "add":
            waiting += inner.inputs
        elif inner.op.name == "pad":
            found.append(inner)
        else:
            return None
    return found


def _padded_axis(piece: Node) -> int | None:
    """The one axis along which a piece is padded, at its ends and with no less than nothing."""
    low, high, interior = piece.attrs
    if any(interior) or not all(type(n) is int for n in (*low, *high, *piece.inputs[0].shape)):
        return None
    axes = [axis for axis, pair in enumerate(zip(low, high, strict=True)) if any(pair)]
    return axes[0] if len(axes) == 1 and low[axes[0]] >= 0 and high[axes[0]] >= 0 else None


# -- pooling -----------------------------------------------------------------------------------------------------------


def _planes(lines: Value, parts: Parts) -> Value:
    """What was laid out as lines: itself, if it has one spatial axis."""
    maker = parts.made_by(lines, "reshape")
    return lines if maker is None else maker.inputs[0]


def _lines_of(node: Node, parts: Parts, name: str) -> Node | None:
    """The node of such an op whose lines a node lays out as planes: itself, if these have one spatial axis."""
    return node if node.op.name == name else parts.made_by(node.inputs[0], name) if node.op.name == "reshape" else None


def _pool_of(index: Value, parts: Parts, *names: str) -> Node | None:
    """The search for the largest elements of windows that these places come from."""
    return parts.made_by(index, "window_argmax", *names) or parts.made_by(
        _planes(index, parts), "window_argmax", *names
    )


def windows_read(taken: Node, parts: Parts) -> Node | None:
    """The search for the largest elements that a `take_along` takes, in lines, from where they are."""
    pool, x = _pool_of(taken.inputs[1], parts), taken.inputs[0]
    is_of_pool = pool is not None and pool.inputs[0].key in (x.key, _planes(x, parts).key)
    return pool if is_of_pool else None


def taken_from_windows(node: Node, parts: Parts) -> tuple[Node, Value] | None:
    """Of largest elements that are taken from where they are: the search, and what was taken in lines."""
    taken = _lines_of(node, parts, "take_along")
    pool = None if taken is None else windows_read(taken, parts)
    if taken is None or pool is None or node.outputs[0].shape != pool.outputs[0].shape:
        return None
    return pool, taken.outputs[0]


def added_to_windows(node: Node, parts: Parts, *names: str) -> tuple[Node, Value, Value] | None:
    """Of a cotangent that is added to where the largest elements came from: the search, the cotangent, the sum."""
    added = _lines_of(node, parts, "add_along")
    pool = None if added is None else _pool_of(added.inputs[1], parts, *names)
    if added is None or pool is None or node.outputs[0].shape != pool.inputs[0].shape:
        return None
    shape = pool.outputs[0].shape
    for ct in (added.inputs[0], _planes(added.inputs[0], parts)):
        if ct.shape == shape:
            return pool, ct, added.outputs[0]
    return None


__all__ = ["Parts", "added_to_windows", "is_nothing", "joined", "private", "taken_from_windows", "windows_read"]
