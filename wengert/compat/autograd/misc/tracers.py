"""`const_graph`: a function whose ops are recorded once and run again, without its Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._core.apply import apply_prepared
from ...._core.tensor import Tensor
from .._boxes import following, leaves, map_tree, plain_tree, source
from ..core import VJPNode
from ..tracer import Graph, trace
from ..wrap_util import wraps


def const_graph(fun: Callable[..., Any], *args: object, **kwargs: object) -> Callable[..., Any]:
    """`fun` with some arguments given; from the second call on, the ops of the first run again on new values."""
    known: list[tuple[list[int], Graph, Any]] = []

    def again(*rest: object) -> Any:
        boxes = map_tree(source, rest)
        inputs = leaves(boxes)
        if not known:
            keys = [x._key for x in inputs]
            graph = Graph(keys)
            with following(graph):
                result = fun(*args, *boxes, **kwargs)
            known.append((keys, graph, result))
            return plain_tree(result)
        keys, graph, result = known[0]
        values = dict(zip(keys, inputs, strict=True))
        for op, operands, attrs, outs in graph.steps:
            found = apply_prepared(op, tuple(values.get(x._key, x) for x in operands), attrs)
            values.update((y._key, z) for y, z in zip(outs, found if op.is_multi else (found,), strict=True))
        return plain_tree(map_tree(lambda leaf: values.get(leaf._key, leaf) if type(leaf) is Tensor else leaf, result))

    return wraps(fun)(again)


def full_graph(fun: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """The node of what a function gives, in the graph of all that it ran."""
    return trace(FullGraphNode.new_root(), lambda x: fun(x, *args[1:], **kwargs), args[0])[1]


class FullGraphNode(VJPNode):
    """A node that keeps what the primitive was called with."""

    __slots__ = ("args", "kwargs")

    def __init__(self, value: object, fun: Any, args: Any, kwargs: Any, parent_argnums: object, parents: Any) -> None:
        self.value, self.fun, self.args, self.kwargs, self.parents = value, fun, args, kwargs, list(parents)


__all__ = ["FullGraphNode", "const_graph", "full_graph"]
