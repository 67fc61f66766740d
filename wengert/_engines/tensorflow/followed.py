"""Which tensors of a graph may be differentiated outside of it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from .common import is_eager, is_inexact
from .mapped import sources_of

_OUTER = "FuncGraph"  # TensorFlow's class of a function's graph, without its kinds for the bodies of branches and loops


def may_be_followed(x: tf.Tensor) -> bool:
    """Whether a tensor of a function's graph comes from what somebody outside may differentiate: from an argument, or
    from a trainable variable.

    Nobody can tell inside of a branch or of a loop of TensorFlow's: it differentiates these in all that they take.
    """
    graph: Any = None if is_eager(x) else tf.compat.v1.get_default_graph()
    if type(graph).__name__ != _OUTER or x.graph is not graph:
        return False
    captured = {inner.name: outer for outer, inner in graph.captures}
    fixed = {v.handle.ref() for v in graph._watched_variables if not v.trainable}
    waiting, seen = [x], {x.name}
    for tensor in waiting:  # grows meanwhile
        op = tensor.op
        if op.type == "Placeholder":
            outer = captured.get(tensor.name)
            if outer is None or (outer.dtype == tf.resource and outer.ref() not in fixed):
                return True
        else:
            new = [y for y in sources_of(op) if y.name not in seen and (y.dtype == tf.resource or is_inexact(y))]
            seen.update(y.name for y in new)
            waiting += new
    return False


__all__ = ["may_be_followed"]
