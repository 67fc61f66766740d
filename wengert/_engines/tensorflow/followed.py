"""Which tensors of a graph may be differentiated outside of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from .common import is_eager, is_inexact
from .mapped import sources_of

_FUNCTIONS = ("FuncGraph", "Graph")  # TensorFlow's classes of a function's graph, and of one of its older style
_BODIES = ("CondBranchFuncGraph", "WhileBodyFuncGraph")  # and of what branches and loops run
_STARTS = ("Placeholder", "VarHandleOp", "VariableV2")


def is_in_body(x: tf.Tensor) -> bool:
    """Whether a tensor of a graph belongs to a branch or to a loop of TensorFlow's."""
    return type(x.graph).__name__ in _BODIES


def is_body_under_construction() -> bool:
    """Whether the graph under construction is that of a branch or of a loop of TensorFlow's."""
    return not tf.executing_eagerly() and type(tf.compat.v1.get_default_graph()).__name__ in _BODIES


def may_be_followed(x: tf.Tensor, ever: bool = False) -> bool:
    """Whether a tensor comes from what somebody outside of its graph may differentiate: from an argument of the
    function around, or from a trainable variable.

    Args:
        x: what a graph under construction takes.
        ever: whether tensors with values that the graph keeps count, which a tape may watch when the graph is there.
    """
    if is_eager(x):
        return ever and not tf.executing_eagerly()
    if type(x.graph).__name__ not in (*_FUNCTIONS, *_BODIES):
        return False
    waiting, seen = [x], {x.ref()}
    for tensor in waiting:  # grows meanwhile
        behind = _behind(tensor, ever)
        if behind is None:
            return True
        new = [y for y in behind if y.ref() not in seen]
        seen.update(y.ref() for y in new)
        waiting += new
    return False


def _behind(x: tf.Tensor, ever: bool) -> Sequence[tf.Tensor] | None:
    """What a tensor is computed from, in its graph or around it; None where that comes from outside."""
    if x.op.inputs:
        return _carrying(sources_of(x.op))
    outer = _captured(x)
    if outer is None and x.op.type not in _STARTS:
        return ()
    if outer is None:
        return _around_loop(x) if is_in_body(x) else None
    if not is_eager(outer):
        return (outer,)
    is_free = not _is_fixed(x, outer) if outer.dtype == tf.resource else ever
    return None if is_free else ()


def _carrying(tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Those that a derivative may go through: also lists of tensors, and variables."""
    return [y for y in tensors if y.dtype in (tf.resource, tf.variant) or is_inexact(y)]


def _captured(x: tf.Tensor) -> Any:
    """What stands for a placeholder around its graph; None if that is an argument."""
    pairs = getattr(x.graph, "captures", ())
    return next((outer for outer, inner in pairs if inner.name == x.name), None)


def _is_fixed(x: tf.Tensor, handle: Any) -> bool:
    """Whether a handle is that of a variable which is not trained."""
    watched = getattr(x.graph, "_watched_variables", ())
    return any(v.handle.ref() == handle.ref() and not v.trainable for v in watched)


def _around_loop(x: tf.Tensor) -> Sequence[tf.Tensor] | None:
    """What a variable of a loop starts as and is after a step; None as long as the loop is being built."""
    graph: Any = x.graph
    loops = [op for op in graph.outer_graph.get_operations() if graph is getattr(op, "_body_graph", None)]
    if not loops:
        return None
    place = [y.name for y in graph.inputs].index(x.name)
    return _carrying([loops[0].inputs[place], graph.outputs[place]])


# -- what a branch or a step of a loop takes ---------------------------------------------------------------------------


class Taken(NamedTuple):
    """What a tensor in a branch or in a loop is computed from.

    Attributes:
        outside: tensors of the graphs around.
        read: variables there, by their handles and dtypes.
        carried: variables of the loop.
    """

    outside: list[tf.Tensor]
    read: list[tuple[Any, tf.DType]]
    carried: list[tf.Tensor]


def taken_by(x: tf.Tensor) -> Taken:
    """What a tensor of a branch or of a loop takes from outside, lists of tensors as what they were made of."""
    taken = Taken([], [], [])
    waiting, seen, dtypes = [x], {x.ref()}, {}
    for tensor in waiting:  # grows meanwhile
        op = tensor.op
        if tensor.graph is not x.graph and tensor.dtype != tf.variant:
            taken.outside.append(tensor)
        elif op.inputs:
            new = [y for y in _carrying(sources_of(op)) if y.ref() not in seen]
            dtypes.update({y.ref(): op.get_attr("dtype") for y in new if y.dtype == tf.resource})
            seen.update(y.ref() for y in new)
            waiting += new
        else:
            outer = _captured(tensor)
            if outer is None and op.type in _STARTS:
                taken.carried.append(tensor)
            elif outer is None:
                continue
            elif outer.dtype == tf.resource:
                taken.read.append((outer, dtypes[tensor.ref()]))
            elif not is_eager(outer):
                waiting.append(outer)
    return taken


__all__ = ["Taken", "is_body_under_construction", "is_in_body", "may_be_followed", "taken_by"]
