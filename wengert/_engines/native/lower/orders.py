"""The order in which values lie in memory, where a rule may choose: as their readers or their makers have them."""

from __future__ import annotations

from collections.abc import Sequence

from ...._core.graph import Graph, Node
from ...._core.tensor import Value
from ..forms import Extents, Stored
from ..loops import Operand
from .blocks import Block
from .maps import MAPS

_VIEWS = ("transpose", "flip", "reshape")


def readers_order(graph: Graph, value: Value) -> tuple[int, ...] | None:
    """The order of axes in which all readers of a value want it; None where they do not agree or take it as it is."""
    if any(v.key == value.key for v in graph.outputs):
        return None
    found: set[tuple[int, ...] | None] = {
        node.attrs[0] if node.op.name == "transpose" else None
        for node in graph.nodes if any(v.key == value.key for v in node.inputs)
    }  # fmt: skip
    return found.pop() if len(found) == 1 else None


def fresh_in(block: Block, shape: Extents, order: Sequence[int], type_: str) -> Stored:
    """A fresh array whose axes lie in an order."""
    made = block.fresh((*[shape[a] for a in order],), type_)
    strides: list[Operand] = [0] * len(order)
    for axis, step in zip(order, made.strides, strict=True):
        strides[axis] = step
    return Stored(shape, made.array, made.offset, (*strides,))


def laid_out(block: Block, value: Value) -> Stored:
    """A value in memory; one that is computed where it is read, and turned then, is stored as it is computed."""
    form = block.forms[value.key]
    if type(form) is Stored:
        return form
    node = _maker(block.graph, value)
    if node is not None and node.op.name in _VIEWS:
        viewed = MAPS[node.op.name].view(block.b, block.info(node), [laid_out(block, node.inputs[0])])
        if viewed is not None:
            return viewed
    return block.stored(form)


def _maker(graph: Graph, value: Value) -> Node | None:
    return next((node for node in graph.nodes if any(v.key == value.key for v in node.outputs)), None)


__all__ = ["fresh_in", "laid_out", "readers_order"]
