"""Nodes of ours in what TensorFlow vectorises: `tf.vectorized_map`, and the backward pass of `tape.jacobian`.

There TensorFlow makes a plain node of one with a gradient of its own, and a tape around would take the derivative of
what has computed its results. Here each becomes a node for the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

Tensors = Sequence[Any]


class Again(NamedTuple):
    """How a node is made for a batch.

    Attributes:
        count: how many results it has.
        make: from batches of these, the operands, which of them are batches, and the size if it is known, to the
            results as those of a node of ours.
        followed: which operands have derivatives.
    """

    count: int
    make: Callable[[Tensors, Tensors, tuple[bool, ...], int | None], Tensors]
    followed: Callable[[], Sequence[bool]]


_AGAIN: dict[bytes, Again] = {}  # by the name that TensorFlow gives a gradient, and keeps as long as this
_MARK = "_gradient_op_type"
_KIND = "IdentityN"
_plain: Callable[[Any], list[Any]] = pfor._pfor_converter_registry[_KIND]


def note(result: tf.Tensor, again: Again) -> None:
    """Says how a node of a graph, which has this result, is made for a batch."""
    _AGAIN[result.op.get_attr(_MARK)] = again


def noted(op: Any) -> Again | None:
    """What is known of a node of a graph, if it is one of ours."""
    try:
        return _AGAIN.get(op.get_attr(_MARK)) if op.type == _KIND else None
    except ValueError:  # no gradient of its own
        return None


def sources_of(op: Any) -> Sequence[Any]:
    """The operands of a node of a graph with respect to which it may have derivatives."""
    found = noted(op)
    if found is None:
        return () if op.type == "StopGradient" else [*op.inputs]
    operands = [*op.inputs][found.count :]
    flags = found.followed()
    return [x for x, flag in zip(operands, flags, strict=True) if flag] if len(flags) == len(operands) else operands


def _converted(given: Any) -> list[Any]:
    """TensorFlow's rule of the op that nodes with gradients of their own are, for ours too."""
    again = noted(given.op)
    if again is None:
        return _plain(given)
    given.stack_inputs([*range(again.count)])
    results, operands = given.inputs[: again.count], given.inputs[again.count :]
    size = tf.get_static_value(given.pfor.loop_len_vector)
    found = again.make(
        [y.t for y in results], [x.t for x in operands], (*[x.is_stacked for x in operands],),
        None if size is None else int(size[0]),
    )  # fmt: skip
    return [*[pfor.wrap(y, True) for y in found], *[pfor.wrap(tf.identity(x.t), x.is_stacked) for x in operands]]


pfor._pfor_converter_registry[_KIND] = _converted

__all__ = ["Again", "note", "sources_of"]
