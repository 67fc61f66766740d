"""What this engine makes of a graph before it runs: fewer kernels for the same numbers.

On tensors of a few thousand elements a call of torch costs more than its work. torch broadcasts by itself, so
`broadcast_to` in front of an elementwise op is left out; a product of matrices and a sum are one kernel; so are the
derivatives of tanh and sigmoid; a sum of padded pieces that cover their axis is a concatenation; and Python numbers,
which torch wraps at each call, are tensors made once. None of it changes which zeros meet which infinities.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from ..._core.graph import Graph, Node
from ..._core.op import Facts, Op
from ..._core.tensor import Value
from ..._passes.rewrite import rewritten
from ..._prims.structural import concatenate
from .common import HALF, Kernel, torch_dtype

_FLOATS = frozenset({"float32", "float64"})
_BROADCASTING = frozenset({
    "add", "sub", "mul", "div", "maximum", "minimum", "power", "select", "arctan2", "hypot", "logaddexp", "eq", "ne",
    "lt", "le", "gt", "ge", "logical_and", "logical_or", "scale",
})  # fmt: skip


def _private(name: str, operands: str, attrs: tuple[str, ...] = ()) -> Op:
    """An op of this engine's own; its name is no primitive's, and nothing asks for its type or derivative."""
    return Op(
        name=name, operands=(*operands.split(),), attrs=attrs, outs=("out",), kind="zero", type_rule=_no_type,
        batch_rule=_no_type, facts=Facts(doc=name, dtypes="any"),
    )  # fmt: skip


def _no_type(*args: Any) -> Any:
    raise NotImplementedError("what an engine has fused is not traced again")


ONE_MINUS = _private("torch one_minus", "x", ("one",))
BY_TENSOR = _private("torch times_tensor", "x", ("number",))
PLUS_TENSOR = _private("torch plus_tensor", "x", ("number",))
SIGMOID_BACK = _private("torch sigmoid_back", "ct out")
TANH_BACK = _private("torch tanh_back", "ct out")
MASKED_SIGMOID_BACK = _private("torch masked_sigmoid_back", "ct out", ("zero",))
MASKED_TANH_BACK = _private("torch masked_tanh_back", "ct out", ("zero",))
MASKED_MUL = _private("torch masked_mul", "x y", ("zero",))
MATMUL_PLUS = _private("torch matmul_plus", "z x y")

_sigmoid_back = torch.ops.aten.sigmoid_backward.default
_tanh_back = torch.ops.aten.tanh_backward.default


def _masked(product: Callable[..., Any]) -> Kernel:
    """A product that is zero wherever its first factor is, whatever the second is there."""
    return lambda x, y, zero: product(x, y).masked_fill_(torch.eq(x, zero), zero)


FUSED: dict[str, Kernel] = {
    "torch one_minus": lambda x, one: torch.sub(one, x),
    "torch times_tensor": torch.mul,
    "torch plus_tensor": torch.add,
    "torch sigmoid_back": _sigmoid_back,
    "torch tanh_back": _tanh_back,
    "torch masked_sigmoid_back": _masked(_sigmoid_back),
    "torch masked_tanh_back": _masked(_tanh_back),
    "torch masked_mul": _masked(torch.mul),
    "torch matmul_plus": torch.addmm,
}


def scalar(number: Any, dtype: torch.dtype) -> torch.Tensor:
    """A number as a tensor of no axes; on the CPU, from where a kernel on any device takes it."""
    return _scalar(repr(number), number, dtype)  # by its text, for -0.0 equals 0


@functools.lru_cache(4096)
def _scalar(text: str, number: Any, dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor(number, dtype=dtype)


def fused(graph: Graph) -> Graph:
    """The graph with this engine's own kernels in it."""
    uses = Counter(v.key for node in graph.nodes for v in node.inputs)
    uses.update(v.key for v in graph.outputs)
    producers: dict[int, Node] = {}

    def change(node: Node) -> Any:
        rule = _RULES.get(node.op.name)
        found = None if rule is None else rule(node, producers, uses)
        if found is None and node.op.name in _BROADCASTING:
            found = _unspread(node, producers)
        kept = node if found is None else found
        producers.update((v.key, kept) for v in kept.outputs)
        return found

    return _without_unused(rewritten(graph, change))


def _without_unused(graph: Graph) -> Graph:
    """What was fused into another kernel is not run any more. (All that has an effect or may raise stays.)"""
    needed = {v.key for v in graph.outputs}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.op.name not in _DROPPED or any(v.key in needed for v in node.outputs):
            kept.append(node)
            needed.update(v.key for v in node.inputs)
    return Graph.of(graph.name, graph.inputs, kept[::-1], graph.outputs, graph.guards)


_DROPPED = frozenset({"broadcast_to", "neg", "mul", "square", "pad", "add", "matmul", "power_number", ONE_MINUS.name})


def _producer(value: Value, producers: dict[int, Node], *names: str) -> Node | None:
    node = producers.get(value.key)
    return node if node is not None and node.op.name in names else None


def _unspread(node: Node, producers: dict[int, Node]) -> Any:
    """An operand that torch broadcasts by itself; at least one must have the shape of the result."""
    shape = node.outputs[0].shape
    spread = [_producer(v, producers, "broadcast_to") for v in node.inputs]
    if not any(spread):
        return None
    inputs = (*[v if p is None else p.inputs[0] for v, p in zip(node.inputs, spread, strict=True)],)
    if all(v.shape != shape for v in inputs):
        return None
    return _with_mask(node, inputs) if node.op.name == "scale" else node.remade(node.op, inputs, node.attrs)


def _with_mask(node: Node, inputs: tuple[Value, ...]) -> Node:
    return node.remade(MASKED_MUL, inputs, (scalar(0, torch_dtype(node.outputs[0].dtype)),))


# -- numbers -----------------------------------------------------------------------------------------------------------


def _fits(number: Any, value: Value) -> bool:
    """Whether a number is one of a tensor's own kind, so that torch would make this very tensor of it."""
    kind = value.dtype.kind
    is_plain = kind in "fi" and torch_dtype(value.dtype) not in HALF
    return is_plain and (type(number) is int or (type(number) is float and kind == "f"))


def _by_number(node: Node, producers: dict[int, Node], uses: Counter[int]) -> Any:
    x, (number,) = node.inputs[0], node.attrs
    if not _fits(number, x):
        return None
    return node.remade(BY_TENSOR, node.inputs, (scalar(number, torch_dtype(x.dtype)),))


def _plus_number(node: Node, producers: dict[int, Node], uses: Counter[int]) -> Any:
    x, (number,) = node.inputs[0], node.attrs
    if not _fits(number, x):
        return None
    negated = _producer(x, producers, "neg")
    value = scalar(number, torch_dtype(x.dtype))
    if negated is not None:
        return node.remade(ONE_MINUS, negated.inputs, (value,))
    return node.remade(PLUS_TENSOR, node.inputs, (value,))


# -- the derivatives of tanh and sigmoid -----------------------------------------------------------------------------------


def _is_one_minus(value: Value, producers: dict[int, Node]) -> Value | None:
    """The x of a value 1 - x."""
    node = _producer(value, producers, ONE_MINUS.name)
    return node.inputs[0] if node is not None and node.attrs[0].item() == 1 else None


def _slope(value: Value, producers: dict[int, Node], uses: Counter[int]) -> tuple[Op, Op, Value] | None:
    """Which derivative a value is the slope of, and of what result."""
    if value.dtype.name not in _FLOATS or uses[value.key] != 1:
        return None
    squared = _is_one_minus(value, producers)
    if squared is not None:
        node = _producer(squared, producers, "mul", "square")
        if node is not None and node.inputs[0].key == node.inputs[-1].key and uses[squared.key] == 1:
            return TANH_BACK, MASKED_TANH_BACK, node.inputs[0]
    node = _producer(value, producers, "mul")
    if node is not None:
        for out, rest in (node.inputs, node.inputs[::-1]):
            inner = _is_one_minus(rest, producers)
            if inner is not None and inner.key == out.key:
                return SIGMOID_BACK, MASKED_SIGMOID_BACK, out
    return None


def _mul(node: Node, producers: dict[int, Node], uses: Counter[int]) -> Any:
    for ct, slope in (node.inputs, node.inputs[::-1]):
        found = _slope(slope, producers, uses)
        if found is not None and ct.key != slope.key:
            return node.remade(found[0], (ct, found[2]), ())
    return None


def _scale(node: Node, producers: dict[int, Node], uses: Counter[int]) -> Any:
    ct, slope = node.inputs
    dtype = torch_dtype(ct.dtype)
    found = _slope(slope, producers, uses)
    if found is not None:
        return node.remade(found[1], (ct, found[2]), (scalar(0, dtype),))
    return _unspread(node, producers) or _with_mask(node, node.inputs)


# -- sums --------------------------------------------------------------------------------------------------------------


def _add(node: Node, producers: dict[int, Node], uses: Counter[int]) -> Any:
    return _joined(node, producers, uses) or _product_and_sum(node, producers, uses)


def _product_and_sum(node: Node, producers: dict[int, Node], uses: Counter[int]) -> Any:
    """z + x @ y of matrices."""
    for z, product in (node.inputs, node.inputs[::-1]):
        inner = _producer(product, producers, "matmul")
        if inner is None or uses[product.key] != 1 or len(product.shape) != 2 or product.dtype.name not in _FLOATS:
            continue
        spread = _producer(z, producers, "broadcast_to")
        z = z if spread is None or len(spread.inputs[0].shape) > 2 else spread.inputs[0]
        if all(len(v.shape) == 2 for v in inner.inputs):
            return node.remade(MATMUL_PLUS, (z, *inner.inputs), ())
    return None


def _joined(node: Node, producers: dict[int, Node], uses: Counter[int]) -> Any:
    """A sum of pieces, each padded with zeros along one axis, that together cover the axis and do not overlap."""
    from_all = _pieces(node, producers, uses)
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
    return node.remade(concatenate, (*[piece.inputs[0] for piece in ordered],), (axis,))


def _pieces(node: Node, producers: dict[int, Node], uses: Counter[int]) -> list[Node] | None:
    """The padded terms of a sum; None if there are others."""
    found: list[Node] = []
    waiting = [*node.inputs]
    while waiting:
        value = waiting.pop()
        inner = producers.get(value.key)
        if inner is None or uses[value.key] != 1:
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


_RULES: dict[str, Callable[[Node, dict[int, Node], Counter[int]], Any]] = {
    "times_number": _by_number, "add_number": _plus_number, "mul": _mul, "scale": _scale, "add": _add,
}  # fmt: skip
