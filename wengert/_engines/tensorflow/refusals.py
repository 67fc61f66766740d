"""Tensors of TensorFlow's graphs that it is an error to differentiate.

TensorFlow asks a branch or a loop for the derivatives of all that it takes, whether anybody wants them or not. So what
must not be differentiated there is refused around the outermost one, whence a cotangent comes out only where it is
wanted; inside, the tensor hangs on that by a cotangent of zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from .common import is_inexact
from .followed import is_in_body, may_be_followed, taken_by
from .mapped import Again, note

Tensors = Sequence[Any]
_GRADIENT_ALONE = "internal_grad_fn"  # TensorFlow's name of a custom gradient, and of the graph that it saves of one


def is_gradient_alone() -> bool:
    """Whether TensorFlow traces a gradient alone, to save it."""
    if tf.executing_eagerly():
        return False
    return getattr(tf.compat.v1.get_default_graph(), "name", None) == _GRADIENT_ALONE


def severed(x: tf.Tensor, error: Callable[[], Exception]) -> Any:
    """A tensor of a graph with the values of x, of which it is an error to differentiate what x comes from.

    Where that is a tensor which the graph keeps, a tape may watch it in a later call, of which nobody hears: its
    gradient is NaN then.
    """
    if not may_be_followed(x):
        return _spoilt(x)
    with x.graph.as_default():
        if not is_in_body(x):
            return refusing([x], error)[0]
        taken = taken_by(x)
        with x.graph.outer_graph.as_default():
            read = [tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype) for handle, dtype in taken.read]
        found = [severed(y, error) for y in (*taken.outside, *read) if may_be_followed(y)]
        return _hanging_on(x, found, taken.carried, error)


def _hanging_on(x: tf.Tensor, others: Tensors, carried: Tensors, error: Callable[[], Exception]) -> Any:
    """A tensor of a branch or of a loop that gives others cotangents of zeros.

    Args:
        x: its values.
        others: tensors that refuse any cotangent, around it.
        carried: variables of the loop; what they are becomes known once the loop is there.
        error: for them.
    """

    @tf.custom_gradient
    def op(same: tf.Tensor, *others: tf.Tensor) -> Any:
        def pull(ct: tf.Tensor, variables: Any = None) -> Any:
            zeros = [*map(tf.zeros_like, others)]
            return (_refused([ct], error) if any(map(may_be_followed, carried)) else [None]) + zeros

        return tf.identity(same), pull

    found = op(x, *others)

    def again(results: Tensors, operands: Tensors, *_: object) -> Tensors:
        return [_hanging_on(results[0], operands[1:], (), error) if not carried else refusing(results, error)[0]]

    note(found, Again(1, again, lambda: [True] * (1 + len(others))))
    return found


def _spoilt(x: tf.Tensor) -> Any:
    """A tensor of a graph whose cotangents are NaN."""

    @tf.custom_gradient
    def op(same: tf.Tensor) -> Any:
        return tf.identity(same), lambda ct, variables=None: tf.fill(tf.shape(ct), tf.constant(np.nan, ct.dtype))

    found = op(x)
    note(found, Again(1, lambda results, *_: [_spoilt(results[0])], lambda: [True]))
    return found


def refusing(tensors: Tensors, error: Callable[[], Exception]) -> Tensors:
    """Tensors of a graph, any of which it is an error to differentiate."""

    @tf.custom_gradient
    def op(*same: tf.Tensor) -> Any:
        return [*map(tf.identity, same)], lambda *cts, variables=None: _refused(cts, error)

    found = op(*tensors)

    def again(results: Tensors, operands: Tensors, *_: object) -> Tensors:
        return refusing([*results, *operands], error)[: len(results)]

    note(found[0], Again(len(found), again, lambda: [True] * len(found)))
    return found


def differentiated_no_more(gradients: Tensors, operands: Tensors, message: str) -> Tensors:
    """Gradients in a graph that is saved, where it is an error of those who load it to differentiate them again.

    A model is saved without the gradients of that order, and TensorFlow prepares those wherever a further tape is
    around. So the error is made of what it has rules for: the root of a zero has an infinite derivative, which the
    check of what that zero is made of refuses. No op has a constant by which TensorFlow would leave that check out.
    """
    parts = [tf.math.real(tf.reshape(x, [-1])[:1]) for x in operands if is_inexact(x)]  # one element of each is enough
    finite = [tf.where(tf.math.is_finite(x), x, tf.zeros_like(x)) for x in parts]
    checked = [tf.debugging.check_numerics(x, message) for x in finite]
    roots = [tf.sqrt(tf.reduce_sum(x - tf.stop_gradient(x))) for x in checked]
    return [ct + tf.add_n([tf.cast(root, ct.dtype) for root in roots]) for ct in gradients]


def _refused(cts: Tensors, error: Callable[[], Exception]) -> list[Any]:
    """An error; where a gradient is saved that nobody may ask for, one of those who ask."""
    if not is_gradient_alone():
        raise error()
    with tf.control_dependencies([tf.debugging.Assert(False, [str(error())])]):
        return [*map(tf.identity, cts)]


__all__ = ["is_gradient_alone", "differentiated_no_more", "refusing", "severed"]
