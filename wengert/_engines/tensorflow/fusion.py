"""A graph pass before TensorFlow runs a program: replaces patterns of nodes by fewer kernels with the same numbers.

In a loop on small arrays a node of TensorFlow's costs more than its work, and on large ones its own kernels of pooling
and of relu's derivative beat what the primitives say. Pooling with its derivative is TensorFlow's, on what is finite;
the derivatives of relu, tanh and sigmoid are one or two nodes; a sum of padded pieces that cover their axis is a
concatenation, one of rows is a stack; numbers that TensorFlow broadcasts by itself are not broadcast. None of it
changes which zeros meet which infinities.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ..._core.graph import Graph, Node
from ..._core.tensor import Value
from ..._prims.structural import concatenate
from ..patterns import Parts, added_to_windows, is_nothing, joined, private, taken_from_windows
from .indexing import FROM_THE_FRONT
from .windows import KERNELS as WINDOWS

_raw = tf.raw_ops
_FLOATS = frozenset({"float32", "float64"})

# with the shape of x, of which the graph may know more than TensorFlow does
_HOW = ("window", "strides", "padding", "dilation", "shape")
POOL = private("tensorflow pool", "x", _HOW)
POOL_BACK = private("tensorflow pool_back", "ct x", _HOW)
RELU_BACK = private("tensorflow relu_back", "ct x")
TANH_SLOPE = private("tensorflow tanh_slope", "out")
SIGMOID_SLOPE = private("tensorflow sigmoid_slope", "out minus_x")
STACK = private("tensorflow stack", "*xs")

# -- kernels -----------------------------------------------------------------------------------------------------------


@functools.cache
def _is_on_cpu() -> bool:
    """Whether nothing but the CPU can run a kernel: elsewhere pooling may choose another one of equal elements."""
    return not tf.config.get_visible_devices("GPU")


def _is_finite(x: tf.Tensor) -> Any:
    return tf.math.is_finite(tf.reduce_sum(x))


def _how(window: Any, strides: Any, padding: Any) -> dict[str, Any]:
    """A pooling's attributes as TensorFlow's kernels on channels-last images take them."""
    how: dict[str, Any] = {"ksize": [1, *window, 1], "strides": [1, *strides, 1], "padding": "VALID"}
    if any(map(any, padding)):
        margins = [0, 0, *[n for pair in padding for n in pair], 0, 0]
        how |= {"padding": "EXPLICIT", "explicit_paddings": margins}
    return how


_LAST, _FIRST = (0, 2, 3, 1), (0, 3, 1, 2)  # where the channels go


def _of_shape(x: Any, shape: Any) -> Any:
    return x if x.shape.is_fully_defined() else tf.ensure_shape(x, shape)


def _in_lines(x: Any) -> Any:
    return tf.reshape(x, [*x.shape[:2], -1])


def _pooled(x: Any, window: Any, strides: Any, padding: Any, dilation: Any, shape: Any) -> Any:
    """The largest element of each window. TensorFlow's kernel is right on what is finite.

    It wants channels last. They are turned before the branch, where TensorFlow finds turns that undo each other.
    """
    turned = tf.transpose(_of_shape(x, shape), _LAST)

    def general() -> Any:
        planes = tf.transpose(turned, _FIRST)
        places = WINDOWS["window_argmax"](planes, window, strides, padding, dilation)
        taken = FROM_THE_FRONT["take_along"](_in_lines(planes), _in_lines(places))
        return tf.transpose(tf.reshape(taken, places.shape), _LAST)

    def fast() -> Any:
        return _raw.MaxPool(input=turned, **_how(window, strides, padding))

    return tf.transpose(tf.cond(_is_finite(turned), fast, general), _FIRST)


def _pool_back(ct: Any, x: Any, window: Any, strides: Any, padding: Any, dilation: Any, shape: Any) -> Any:
    """A cotangent added to where the largest elements came from: the first one of equal ones, as everywhere."""
    turned, back = tf.transpose(_of_shape(x, shape), _LAST), tf.transpose(ct, _LAST)

    def general() -> Any:
        planes, lines = tf.transpose(turned, _FIRST), _in_lines(tf.transpose(back, _FIRST))
        places = WINDOWS["window_argmax"](planes, window, strides, padding, dilation)
        added = FROM_THE_FRONT["add_along"](lines, _in_lines(places), planes.shape[2:].num_elements())
        return tf.transpose(tf.reshape(added, planes.shape), _LAST)

    def fast() -> Any:
        how = _how(window, strides, padding)
        largest = _raw.MaxPool(input=turned, **how)
        return _raw.MaxPoolGrad(orig_input=turned, orig_output=largest, grad=back, **how)

    return tf.transpose(tf.cond(_is_finite(turned), fast, general), _FIRST)


_LARGE = 8192  # elements: below, one selection costs less than a check


def _relu_back(ct: tf.Tensor, x: tf.Tensor) -> Any:
    """ct where x is positive, else 0. TensorFlow's kernel multiplies, which is wrong where ct is not finite."""
    zero = tf.zeros((), x.dtype)
    if (x.shape.num_elements() or 0) <= _LARGE:
        return tf.where(x > zero, ct, zero)
    found = _raw.ReluGrad(gradients=ct, features=x)
    return tf.cond(_is_finite(found), lambda: found, lambda: tf.where(x > zero, ct, zero))


FUSED: dict[str, Any] = {
    POOL.name: _pooled,
    POOL_BACK.name: _pool_back,
    RELU_BACK.name: _relu_back,
    TANH_SLOPE.name: lambda out: _raw.TanhGrad(y=out, dy=tf.ones_like(out)),
    # out / (1 + exp(x)): no difference of close numbers, wherever x is
    SIGMOID_SLOPE.name: lambda out, minus_x: _raw.SoftplusGrad(gradients=out, features=minus_x),
    STACK.name: lambda *xs: tf.stack([*xs]),
}

# -- rules -------------------------------------------------------------------------------------------------------------


def fused(graph: Graph) -> Graph:
    """The graph with this engine's own kernels in it."""
    parts = Parts(graph)
    for node in graph.nodes:
        rule = _RULES.get(node.op.name)
        found = None if rule is None else rule(node, parts)
        parts.add(node if found is None else found)
    return parts.without_unused(graph)


def _is_static(value: Value) -> bool:
    """Whether all extents are known, and none is 0."""
    return all(type(n) is int and n > 0 for n in value.shape)


def _has_kernel(pool: Node) -> bool:
    """Whether TensorFlow pools so: planes of images, margins narrower than windows, no gaps."""
    window, _, padding, dilation = pool.attrs
    x, out = pool.inputs[0], pool.outputs[0]
    is_plain = len(window) == 2 and len(x.shape) == 4 and set(dilation) == {1} and x.dtype.name in _FLOATS
    is_narrow = all(max(pair) < n for pair, n in zip(padding, window, strict=True))
    return is_plain and is_narrow and _is_static(x) and _is_static(out) and _is_on_cpu()


def _reshape(node: Node, parts: Parts) -> Any:
    taken = taken_from_windows(node, parts)
    if taken is not None and _has_kernel(taken[0]):
        parts.replaced.add(taken[1].key)
        return node.remade(POOL, taken[0].inputs, (*taken[0].attrs, taken[0].inputs[0].shape))
    added = added_to_windows(node, parts)
    if added is not None and _has_kernel(added[0]):
        pool, ct, total = added
        parts.replaced.add(total.key)
        return node.remade(POOL_BACK, (ct, pool.inputs[0]), (*pool.attrs, pool.inputs[0].shape))
    return None


def _select(node: Node, parts: Parts) -> Any:
    """The derivative of relu: a cotangent where something is positive."""
    condition, ct, other = node.inputs
    compared = parts.made_by(condition, "gt")
    if compared is None or node.outputs[0].dtype.name not in _FLOATS or not _is_static(ct):
        return None
    x, bound = compared.inputs
    if not (is_nothing(other, parts) and is_nothing(bound, parts)) or x.shape != ct.shape or x.dtype != ct.dtype:
        return None
    return node.remade(RELU_BACK, (ct, x), ()) if node.outputs[0].shape == ct.shape else None


def _add_number(node: Node, parts: Parts) -> Any:
    """1 - t * t, the slope of tanh where that is t."""
    negated = parts.made_by(node.inputs[0], "neg")
    squared = None if negated is None else parts.made_by(negated.inputs[0], "mul", "square")
    if squared is None or node.attrs[0] != 1 or squared.inputs[0].key != squared.inputs[-1].key:
        return None
    t = squared.inputs[0]
    return node.remade(TANH_SLOPE, (t,), ()) if t.dtype.name in _FLOATS and _is_static(t) else None


def _mul(node: Node, parts: Parts) -> Any:
    """out * sigmoid(-x), the slope of sigmoid."""
    for out, other in (node.inputs, node.inputs[::-1]):
        outer = parts.made_by(other, "sigmoid")
        if outer is not None and parts.uses[other.key] == 1 and out.dtype.name in _FLOATS and out.shape == other.shape:
            return node.remade(SIGMOID_SLOPE, (out, outer.inputs[0]), ())
    return _unspread(node, parts)


def _unspread(node: Node, parts: Parts) -> Any:
    """Numbers that TensorFlow spreads by itself; an operand must have the shape of the result."""
    makers = [parts.made_by(v, "broadcast_to") for v in node.inputs]
    inputs = [v if m is None or m.inputs[0].shape else m.inputs[0] for v, m in zip(node.inputs, makers, strict=True)]
    is_changed = any(a is not b for a, b in zip(inputs, node.inputs, strict=True))
    has_shape = any(v.shape == node.outputs[0].shape for v in inputs)
    return node.remade(node.op, (*inputs,), node.attrs) if is_changed and has_shape else None


def _add(node: Node, parts: Parts) -> Any:
    whole = joined(node, parts)
    if whole is None:
        return _unspread(node, parts)
    pieces, axis = whole
    return _stacked(node, pieces, axis, parts) or node.remade(concatenate, pieces, (axis,))


def _concatenate(node: Node, parts: Parts) -> Any:
    return _stacked(node, node.inputs, node.attrs[0], parts)


def _stacked(node: Node, rows: tuple[Value, ...], axis: int, parts: Parts) -> Any:
    """Arrays that were given a first axis, for nothing but to be put one after the other."""
    makers = [parts.made_by(v, "reshape") for v in rows]
    if axis != 0 or not all(m is not None and m.outputs[0].shape == (1, *m.inputs[0].shape) for m in makers):
        return None
    return node.remade(STACK, (*[m.inputs[0] for m in makers if m is not None],), ())


_RULES: dict[str, Callable[[Node, Parts], Any]] = {
    "reshape": _reshape, "select": _select, "add_number": _add_number, "mul": _mul, "add": _add, "sub": _unspread,
    "div": _unspread, "concatenate": _concatenate,
}  # fmt: skip

__all__ = ["FUSED", "fused"]
