"""Chooses the kernel of each node of a program: the table's, or a cheaper one that the nodes around it allow.

For example where indices are known not to be negative, or where a slice and the reshape behind it are one op. Called by
`programs.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

from ..._core.graph import Graph, Node
from ..._core.tensor import Value
from .fusion import FUSED
from .indexing import FROM_THE_FRONT
from .table import KERNELS


def kernels_for(graph: Graph) -> Callable[[Node], Any]:
    """A function from the nodes of a graph to their kernels."""
    makers = {v.key: node for node in graph.nodes for v in node.outputs}
    uses = Counter([v.key for node in graph.nodes for v in node.inputs] + [v.key for v in graph.outputs])
    cuts: dict[int, tuple[Node, list[bool]]] = {}  # a slice's result -> the reshape that alone reads it, and its axes
    for node in graph.nodes:
        if node.op.name == "reshape":
            made = makers.get(node.inputs[0].key)
            if made is not None and made.op.name == "slice" and uses[node.inputs[0].key] == 1:
                kept = _kept_axes(made.outputs[0].shape, node.outputs[0].shape)
                if kept is not None and set(made.attrs[2]) == {1}:
                    cuts[node.inputs[0].key] = (node, kept)

    def kernel_for(node: Node) -> Any:
        name = node.op.name
        if name in FUSED:
            return FUSED[name]
        if name == "slice" and node.outputs[0].key in cuts:
            return partial(_cut, cuts[node.outputs[0].key][1])
        if name == "reshape" and node.inputs[0].key in cuts:
            return _as_it_is
        if name not in FROM_THE_FRONT:
            return KERNELS[name]
        indices = node.inputs[2 if name == "scatter_add" else 1 :]
        from_the_front = all(_counts_from_the_front(v, makers) for v in indices)
        return (FROM_THE_FRONT if from_the_front else KERNELS)[name]

    return kernel_for


def _counts_from_the_front(v: Value, makers: dict[int, Node]) -> bool:
    """Whether indices are known not to be negative."""
    node = makers.get(v.key)
    while node is not None and node.op.facts.moves and not node.op.is_multi:
        node = makers.get(node.inputs[0].key)
    if node is None:
        return False
    return node.op.facts.places or (node.op.name == "constant" and bool((node.attrs[0] >= 0).all()))


def _kept_axes(shape: tuple[Any, ...], wanted: tuple[Any, ...]) -> list[bool] | None:
    """Which axes stay where a reshape does nothing but drop axes of extent 1; None if it does more."""
    if len(wanted) >= len(shape) or not all(isinstance(n, int) for n in (*shape, *wanted)):
        return None
    kept, place = [], 0
    for n in shape:
        stays = place < len(wanted) and n == wanted[place]
        if not stays and n != 1:
            return None
        kept.append(stays)
        place += stays
    return kept if place == len(wanted) else None


def _cut(
    kept: list[bool], x: tf.Tensor, starts: tuple[int, ...], limits: tuple[int, ...], strides: tuple[int, ...]
) -> Any:
    """A slice without some of its axes of extent 1: TensorFlow cuts and drops at once."""
    return x[(*[slice(a, b) if stays else a for a, b, stays in zip(starts, limits, kept, strict=True)],)]


def _as_it_is(x: tf.Tensor, shape: tuple[int, ...]) -> Any:
    return x


__all__ = ["kernels_for"]
