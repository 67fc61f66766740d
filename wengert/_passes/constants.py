"""Computes at compile time what depends on constants only, where the result is small."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dims
from .._core.engine import default_engine
from .._core.graph import Graph, Node
from .._prims import structural as S
from .rewrite import rewritten

_LIMIT = 64 * 1024  # bytes that a folded result may take
_SMALL = 1024  # bytes that another order of the same elements may take
_MOVED = 4 * 1024 * 1024  # bytes of what only moves elements, from which parts are taken that are folded


def fold_constants(graph: Graph) -> Graph:
    """The graph with constant expressions replaced by constants."""
    known: dict[int, Any] = {}
    kernels = default_engine().kernels

    def change(node: Node) -> Node | None:
        if not _is_foldable(node, known):
            return None
        try:
            with np.errstate(all="ignore"):
                value = kernels[node.op.name](*(known[v.key] for v in node.inputs), *node.attrs)
        except Exception:
            return None  # it raises at run time, as it would have without this pass
        known[node.outputs[0].key] = value = np.asarray(value)
        if value.nbytes > (_SMALL if node.op.name == "transpose" else _LIMIT):
            return None  # a view of a constant costs nothing; what is computed from it is folded all the same
        known[node.outputs[0].key] = value = np.array(value)
        return node.remade(S.constant, (), (value,))

    return rewritten(graph, change)


def _is_foldable(node: Node, known: dict[int, Any]) -> bool:
    if node.op is S.constant:
        known[node.outputs[0].key] = node.attrs[0]
        return False
    if node.op.is_multi or node.op.has_effect or node.op.can_raise:
        return False
    for value in node.inputs:
        if value.key not in known:
            return False
    if dims.dims_in(node.attrs):
        return False
    size = dims.size_of(node.outputs[0].shape)
    most = _MOVED if node.op.facts.moves else _LIMIT
    return isinstance(size, int) and size * node.outputs[0].dtype.itemsize <= most
