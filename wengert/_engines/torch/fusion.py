"""A graph pass before torch runs a program: replaces patterns of nodes by fewer kernels that give the same numbers.

On tensors of a few thousand elements a call of torch costs more than its work. torch broadcasts by itself, so
`broadcast_to` in front of an elementwise op is left out; a product of matrices and a sum are one kernel; so are the
derivatives of tanh, relu and softmax, and pooling together with the places that it found; what is chosen by one
condition is chosen once, behind products and sums; a sum of padded pieces that cover their axis is a concatenation; and
Python numbers, which torch wraps at each call, are tensors made once. None of it changes which zeros meet which
infinities.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..._core.graph import Graph, Node
from ..._core.tensor import Value
from ..._prims.structural import concatenate, constant, mul, sub
from ..patterns import Parts, added_to_windows, is_nothing, joined, private, taken_from_windows
from .common import HALF, Kernel, torch_dtype
from .windows import is_pooling, planes_of, pooled

_FLOATS = frozenset({"float32", "float64"})
_BROADCASTING = frozenset({
    "add", "sub", "mul", "div", "maximum", "minimum", "power", "select", "arctan2", "hypot", "logaddexp", "eq", "ne",
    "lt", "le", "gt", "ge", "logical_and", "logical_or", "scale",
})  # fmt: skip


ONE_MINUS = private("torch one_minus", "x", ("one",))
BY_TENSOR = private("torch times_tensor", "x", ("number",))
PLUS_TENSOR = private("torch plus_tensor", "x", ("number",))
TANH_BACK = private("torch tanh_back", "ct out")
IS_ZERO = private("torch is_zero", "x", ("zero",))
EQUALS = private("torch equals", "x", ("zero",))
SOFTMAX_BACK = private("torch softmax_back", "ct out", ("axis", "dtype"))
MASKED_TANH_BACK = private("torch masked_tanh_back", "ct out is_zero", ("zero",))
MASKED_MUL = private("torch masked_mul", "x y is_zero", ("zero",))
FILLED = private("torch filled", "x is_filled", ("number",))  # writes to its operand, which nobody else has
MATMUL_PLUS = private("torch matmul_plus", "z x y")
OUTER_PLUS = private("torch outer_plus", "z x y")
PLUS_PRODUCT = private("torch plus_product", "z x y")
MINUS_PRODUCT = private("torch minus_product", "z x y")
TRANSPOSED = private("torch transposed", "x")
MATRIX_BY_VECTOR = private("torch matrix_by_vector", "x y")
VECTOR_BY_MATRIX = private("torch vector_by_matrix", "x y")
SUM = private("torch sum", "x", ("axes",))
WHERE_POSITIVE = private("torch where_positive", "x y", ("zero",))

POOL = private("torch pool", "x", ("window", "strides", "padding", "dilation"), ("places", "values"))
POOL_BACK = private("torch pool_back", "ct x places", ("window", "strides", "padding", "dilation"))
NOTHING: Any = object()  # what a rule returns for a node whose result another kernel gives


def _aten(name: str) -> Callable[..., Any]:
    """A kernel that has no name in torch, without the function of Python's that `torch.ops` has around it."""
    return getattr(torch.ops.aten, name).default._op


_tanh_back = _aten("tanh_backward")
_threshold_back = _aten("threshold_backward")


_POOL_BACKS = {
    2: _aten("max_pool2d_with_indices_backward"),
    3: _aten("max_pool3d_with_indices_backward"),
}


def _pool_back(ct: Any, x: Any, places: Any, window: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    widths = [low for low, _ in padding]
    return _POOL_BACKS[len(window)](planes_of(ct), planes_of(x), window, strides, widths, dilation, False, places)


_LARGE = 8192  # elements: filling by a mask costs more there than looking for what must be filled
_FEW = 2048  # elements: comparing each costs less than looking whether one is NaN


def _is_zero(x: torch.Tensor, zero: torch.Tensor) -> Any:
    return None if x.numel() > _LARGE and x.is_cpu else torch.eq(x, zero)


def _masked(product: Callable[..., Any]) -> Kernel:
    """A product that is zero wherever its first factor is, whatever the second is there.

    Only infinities and NaNs make a difference, and both give NaN.
    """

    def kernel(x: torch.Tensor, y: torch.Tensor, is_zero: torch.Tensor, zero: torch.Tensor) -> Any:
        found = product(x, y)
        if is_zero is None:
            if not torch.isnan(found.sum()).item():
                return found
            is_zero = torch.eq(x, zero)
        return found.masked_fill_(is_zero, zero)

    return kernel


def _where_positive(x: torch.Tensor, y: torch.Tensor, zero: torch.Tensor) -> Any:
    """y where x is positive, else 0, also where x is NaN, which torch's fast way would let through."""
    if x.numel() > _FEW and x.is_cpu and not torch.isnan(x.sum()).item():
        return _threshold_back(y, x, 0)
    return torch.where(torch.gt(x, zero), y, zero)


FUSED: dict[str, Kernel] = {
    "torch one_minus": torch.rsub,
    "torch times_tensor": torch.mul,
    "torch plus_tensor": torch.add,
    "torch tanh_back": _tanh_back,
    "torch softmax_back": torch._softmax_backward_data,  # pyright: ignore[reportPrivateImportUsage]  # torch.ops costs more
    "torch is_zero": _is_zero,
    "torch equals": torch.eq,
    "torch masked_tanh_back": _masked(_tanh_back),
    "torch masked_mul": _masked(torch.mul),
    "torch filled": torch.Tensor.masked_fill_,
    "torch matmul_plus": torch.addmm,
    "torch outer_plus": torch.addr,
    "torch plus_product": torch.addcmul,
    "torch minus_product": lambda z, x, y: torch.addcmul(z, x, y, value=-1),
    "torch sum": torch.sum,
    "torch transposed": torch.Tensor.t,
    "torch matrix_by_vector": torch.mv,
    "torch vector_by_matrix": lambda x, y: torch.mv(y.mT, x),
    "torch where_positive": _where_positive,
    "torch pool": pooled,
    "torch pool_back": _pool_back,
}


def scalar(number: float, dtype: torch.dtype) -> torch.Tensor:
    """A number as a tensor of no axes; on the CPU, from where a kernel on any device takes it."""
    return _scalar(repr(number), number, dtype)  # by its text, for -0.0 equals 0


@functools.lru_cache(4096)
def _scalar(text: str, number: float, dtype: torch.dtype) -> torch.Tensor:
    state = torch._C._get_tracing_state()
    if state is None:
        return torch.tensor(number, dtype=dtype)
    torch._C._set_tracing_state(None)  # pyright: ignore[reportAttributeAccessIssue]  # not in torch's stubs
    try:  # one that is kept belongs to no trace of torch's
        return torch.tensor(number, dtype=dtype)
    finally:
        torch._C._set_tracing_state(state)  # pyright: ignore[reportAttributeAccessIssue]


def _is_of(x: Value, most: int) -> bool:
    """Whether a value is known to have no more elements than that."""
    return all(type(d) is int for d in x.shape) and math.prod(x.shape) <= most


class _Parts(Parts):
    """What the rules need to know of the graph that is being rewritten."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._zeros: dict[int, Value] = {}  # by the key of a value, where it is zero
        self._numbers: dict[Any, Value] = {}

    def is_zero(self, x: Value, like: Node) -> Value:
        """Where a value is zero, found once for all products with it."""
        found = self._zeros.get(x.key)
        if found is None:
            found = self._zeros[x.key] = Value(x.shape, _BOOL, x.graph)
            attrs = (scalar(0, torch_dtype(x.dtype)),)
            self.add(Node(EQUALS if _is_of(x, _LARGE) else IS_ZERO, (x,), (found,), attrs, like.site, like.is_quiet))
        return found

    def number(self, filled: Node) -> Value:
        """A number of no axes in place of a tensor full of it."""
        _, number, dtype = filled.attrs
        key = (repr(number), dtype)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = Value((), dtype, filled.outputs[0].graph)
            self.add(Node(constant, (), (found,), (np.asarray(number, dtype),), filled.site))
        return found


def fused(graph: Graph) -> Graph:
    """The graph with this engine's own kernels in it."""
    parts = _Parts(graph)
    for node in graph.nodes:
        rule = _RULES.get(node.op.name)
        found = None if rule is None else rule(node, parts)
        if found is None and node.op.name in _BROADCASTING:
            found = _unspread(node, parts)
        if found is not NOTHING:
            parts.add(node if found is None else found)
    return parts.without_unused(graph)


_BOOL = np.dtype(bool)


def _unspread(node: Node, parts: _Parts) -> Any:
    """Operands that torch broadcasts by itself; at least one must have the shape of the result."""
    inputs = _narrow(node, parts)
    return None if inputs is None else node.remade(node.op, inputs, node.attrs)


def _narrow(node: Node, parts: _Parts) -> tuple[Value, ...] | None:
    """A node's operands without the `broadcast_to` and `full` that torch does not need, if it has some."""
    inputs: list[Value] = []
    for value in node.inputs:
        maker = parts.made_by(value, "broadcast_to", "full")
        if maker is None:
            inputs.append(value)
        elif maker.op.name == "full":
            inputs.append(parts.number(maker) if maker.outputs[0].shape else value)
        else:
            inputs.append(maker.inputs[0])
    shape = node.outputs[0].shape
    is_changed = any(a is not b for a, b in zip(inputs, node.inputs, strict=True))
    return (*inputs,) if is_changed and any(v.shape == shape for v in inputs) else None


# -- numbers -----------------------------------------------------------------------------------------------------------


def _fits(number: Any, value: Value) -> bool:
    """Whether a number is one of a tensor's own kind, so that torch would make this very tensor of it."""
    kind = value.dtype.kind
    is_plain = kind in "fi" and torch_dtype(value.dtype) not in HALF
    return is_plain and (type(number) is int or (type(number) is float and kind == "f"))


def _by_number(node: Node, parts: _Parts) -> Any:
    x, (number,) = node.inputs[0], node.attrs
    if not _fits(number, x):
        return None
    return node.remade(BY_TENSOR, node.inputs, (scalar(number, torch_dtype(x.dtype)),))


def _plus_number(node: Node, parts: _Parts) -> Any:
    x, (number,) = node.inputs[0], node.attrs
    if not _fits(number, x):
        return None
    negated = parts.made_by(x, "neg")
    value = scalar(number, torch_dtype(x.dtype))
    if negated is not None:
        return node.remade(ONE_MINUS, negated.inputs, (value,))
    return node.remade(PLUS_TENSOR, node.inputs, (value,))


# -- the derivative of tanh -------------------------------------------------------------------------------------------


def _is_one_minus(value: Value, parts: _Parts) -> Value | None:
    """The x of a value 1 - x."""
    node = parts.made_by(value, ONE_MINUS.name)
    return node.inputs[0] if node is not None and node.attrs[0].item() == 1 else None


def _tanh_behind(value: Value, parts: _Parts) -> Value | None:
    """The t of a value 1 - t * t that is read once: the slope of tanh where that is t."""
    if value.dtype.name not in _FLOATS or parts.uses[value.key] != 1:
        return None
    squared = _is_one_minus(value, parts)
    node = None if squared is None else parts.made_by(squared, "mul", "square")
    if squared is None or node is None or parts.uses[squared.key] != 1:
        return None
    return node.inputs[0] if node.inputs[0].key == node.inputs[-1].key else None


def _mul(node: Node, parts: _Parts) -> Any:
    for ct, slope in (node.inputs, node.inputs[::-1]):
        t = _tanh_behind(slope, parts)
        if t is not None and ct.key != slope.key:
            return node.remade(TANH_BACK, (ct, t), ())
        axis = _axis_of_softmax(ct, slope, parts)
        if axis is not None:
            ct = parts.producers[ct.key].inputs[0]
            return node.remade(SOFTMAX_BACK, (ct, slope), (axis, torch_dtype(slope.dtype)))
    return None


def _axis_of_softmax(value: Value, out: Value, parts: _Parts) -> int | None:
    """The axis of a value ct - sum(ct * out) that is read once: times out, it is the derivative of softmax."""
    node = _read_once(value, parts, "sub")
    if node is None or value.dtype.name not in _FLOATS or node.inputs[0].shape != out.shape:
        return None
    ct, total = node.inputs
    shape = total.shape
    for name in ("broadcast_to", "reshape"):
        maker = parts.made_by(total, name)
        if maker is not None:
            total = maker.inputs[0]
            shape = maker.outputs[0].shape if name == "reshape" else total.shape
    summed = parts.made_by(total, SUM.name)
    product = None if summed is None else parts.made_by(summed.inputs[0], "mul")
    if summed is None or product is None or {v.key for v in product.inputs} != {ct.key, out.key}:
        return None
    axes = summed.attrs[0] if summed.attrs else range(len(out.shape))
    axis = axes[0] % len(out.shape)
    is_along = shape == (*out.shape[:axis], 1, *out.shape[axis + 1 :]) or len(out.shape) == 1
    return axis if len(axes) == 1 and ct.key != out.key and is_along else None


def _scale(node: Node, parts: _Parts) -> Any:
    """A product that is zero where its first factor is; of a chosen factor the product is chosen."""
    ct, slope = node.inputs
    chosen = _read_once(ct, parts, "select")
    side = None if chosen is None else _zero_side(chosen, parts)
    if chosen is None or side is None or chosen.inputs[2 - side].shape != node.outputs[0].shape:
        return _masked_product(node, parts)
    inner = Value(node.outputs[0].shape, node.outputs[0].dtype, node.outputs[0].graph)
    product = Node(node.op, (chosen.inputs[2 - side], slope), (inner,), (), node.site, node.is_quiet)
    parts.add(_masked_product(product, parts))
    condition, *branches = chosen.inputs
    branches[1 - side] = inner
    return node.remade(chosen.op, (condition, *branches), ())


def _zero_side(chosen: Node, parts: _Parts) -> int | None:
    """Which of the two that a selection takes from is nothing but zeros: 0, 1 or None."""
    return next((i for i, v in enumerate(chosen.inputs[1:]) if is_nothing(v, parts)), None)


def _masked_product(node: Node, parts: _Parts) -> Any:
    ct, slope = node.inputs
    zero = (scalar(0, torch_dtype(ct.dtype)),)
    t = _tanh_behind(slope, parts)
    whole, product = (MASKED_MUL, mul) if t is None else (MASKED_TANH_BACK, TANH_BACK)
    x, y = (_narrow(node, parts) or node.inputs) if t is None else (ct, t)
    if not _is_of(x, _LARGE):
        return node.remade(whole, (x, y, parts.is_zero(x, node)), zero)
    out = node.outputs[0]
    inner = Value(out.shape, out.dtype, out.graph)  # two functions of torch's: what is between them is not asked here
    parts.add(Node(product, (x, y), (inner,), (), node.site, node.is_quiet))
    return node.remade(FILLED, (inner, parts.is_zero(x, node)), zero)


# -- sums --------------------------------------------------------------------------------------------------------------


def _add(node: Node, parts: _Parts) -> Any:
    return (
        _joined(node, parts) or _chosen_sum(node, parts) or _product_and_sum(node, parts) or _with_product(node, parts)
    )


def _chosen_sum(node: Node, parts: _Parts) -> Any:
    """A sum of what is chosen by one condition, with zeros elsewhere."""
    first, second = (parts.made_by(v, "select") for v in node.inputs)
    if first is None or second is None or first.inputs[0].key != second.inputs[0].key:
        return None
    side, other = _zero_side(first, parts), _zero_side(second, parts)
    count = 2 if first is second else 1
    if side is None or other is None or any(parts.uses[v.key] != count for v in node.inputs):
        return None
    out = node.outputs[0]
    lives = first.inputs[2 - side], second.inputs[2 - other]
    if any(v.shape != out.shape for v in lives):
        return None
    branches = [*first.inputs[1:]]
    if side == other:
        branches[1 - side] = Value(out.shape, out.dtype, out.graph)
        total = Node(node.op, lives, (branches[1 - side],), (), node.site, node.is_quiet)
        parts.add(_add(total, parts) or total)
    else:
        branches[side] = lives[1]
    return node.remade(first.op, (first.inputs[0], *branches), ())


def _product_and_sum(node: Node, parts: _Parts) -> Any:
    """z + x @ y of matrices."""
    for z, product in (node.inputs, node.inputs[::-1]):
        inner = parts.made_by(product, "matmul")
        if inner is None or parts.uses[product.key] != 1 or product.dtype.name not in _FLOATS:
            continue
        spread = parts.made_by(z, "broadcast_to")
        z = z if spread is None or len(spread.inputs[0].shape) > 2 else spread.inputs[0]
        if all(len(v.shape) == 2 for v in inner.inputs):
            column, row = _column(inner.inputs[0], parts), _row(inner.inputs[1], parts)
            if column is not None and row is not None:
                return node.remade(OUTER_PLUS, (z, column, row), ())
            return node.remade(MATMUL_PLUS, (z, *inner.inputs), ())
    return None


def _with_product(node: Node, parts: _Parts) -> Any:
    """z + x * y and z - x * y of tensors of one shape, and z - y."""
    for z, other in (node.inputs, node.inputs[::-1]):
        negated = _read_once(other, parts, "neg")
        product = _read_once(other if negated is None else negated.inputs[0], parts, "mul")
        operands = () if product is None else (z, *product.inputs)
        if operands and all(v.shape == other.shape and v.dtype.name in _FLOATS for v in operands):
            return node.remade(PLUS_PRODUCT if negated is None else MINUS_PRODUCT, operands, ())
        if negated is not None and z.dtype.name in _FLOATS:
            return node.remade(sub, (z, *negated.inputs), ())
    return None


def _read_once(value: Value, parts: _Parts, name: str) -> Node | None:
    """The node of an op that makes a value, if nothing else reads that."""
    return parts.made_by(value, name) if parts.uses[value.key] == 1 else None


def _column(value: Value, parts: _Parts) -> Value | None:
    """The vector of which a value is a matrix of one column."""
    maker = parts.made_by(value, "reshape", TRANSPOSED.name)
    if maker is None or len(value.shape) != 2 or value.shape[1] != 1:
        return None
    return _row(maker.inputs[0], parts) if maker.op is TRANSPOSED else _if_vector(maker.inputs[0])


def _row(value: Value, parts: _Parts) -> Value | None:
    """The vector of which a value is a matrix of one row."""
    maker = parts.made_by(value, "reshape", TRANSPOSED.name)
    if maker is None or len(value.shape) != 2 or value.shape[0] != 1:
        return None
    return _column(maker.inputs[0], parts) if maker.op is TRANSPOSED else _if_vector(maker.inputs[0])


def _if_vector(value: Value) -> Value | None:
    return value if len(value.shape) == 1 else None


def _sum(node: Node, parts: _Parts) -> Any:
    """A sum that torch gives in the operand's own dtype without being told to; of all elements also without axes."""
    axes = node.attrs[0]
    if not axes or node.inputs[0].dtype.kind not in "fc":
        return None
    return node.remade(SUM, node.inputs, node.attrs if node.outputs[0].shape else ())


def _reshape(node: Node, parts: _Parts) -> Any:
    return _times_vector(node, parts) or _pooled(node, parts) or _pooled_back(node, parts)


def _times_vector(node: Node, parts: _Parts) -> Any:
    """A matrix times a vector, written as a product of matrices."""
    product = parts.made_by(node.inputs[0], "matmul")
    if product is None or len(node.outputs[0].shape) != 1 or any(len(v.shape) != 2 for v in product.inputs):
        return None
    if node.outputs[0].dtype.name not in _FLOATS:
        return None
    x, y = product.inputs
    column, row = _column(y, parts), _row(x, parts)
    if column is not None:
        return node.remade(MATRIX_BY_VECTOR, (x, column), ())
    return None if row is None else node.remade(VECTOR_BY_MATRIX, (row, y), ())


def _has_kernel(pool: Node) -> bool:
    """Whether torch has a kernel for such a pooling."""
    window, _, padding, _ = pool.attrs
    is_plain = len(window) in _POOL_BACKS and len(pool.inputs[0].shape) == 2 + len(window) and 0 not in _ints(pool)
    return is_plain and pool.inputs[0].dtype.name in _FLOATS and is_pooling(window, padding)


def _ints(pool: Node) -> tuple[Any, ...]:
    """The extents of what is pooled; one that is not known may be 0."""
    return (*[d if type(d) is int else 0 for d in pool.inputs[0].shape],)


def _pooled(node: Node, parts: _Parts) -> Any:
    """The largest elements, taken from where they are: the pooling that finds their places gives them, too."""
    found = taken_from_windows(node, parts)
    if found is None or not _has_kernel(found[0]):
        return None
    pool, taken = found
    both = Node(POOL, pool.inputs, (pool.outputs[0], node.outputs[0]), pool.attrs, pool.site, pool.is_quiet)
    parts.nodes[parts.nodes.index(pool)] = both
    parts.producers.update((v.key, both) for v in both.outputs)
    parts.replaced.add(taken.key)
    return NOTHING


def _pooled_back(node: Node, parts: _Parts) -> Any:
    """A cotangent added to where the largest elements came from."""
    found = added_to_windows(node, parts, POOL.name)
    if found is None or not _has_kernel(found[0]):
        return None
    pool, ct, added = found
    parts.replaced.add(added.key)
    return node.remade(POOL_BACK, (ct, pool.inputs[0], pool.outputs[0]), pool.attrs)


def _select(node: Node, parts: _Parts) -> Any:
    """The derivative of relu: a cotangent where something is positive."""
    condition, x, y = node.inputs
    compared = parts.made_by(condition, "gt")
    if compared is None or node.outputs[0].dtype.name not in _FLOATS or compared.inputs[0].dtype != x.dtype:
        return None
    if _is_of(x, _FEW):  # two functions of torch's do it, with a number for each tensor of zeros
        return None
    if not (is_nothing(y, parts) and is_nothing(compared.inputs[1], parts)) or compared.inputs[0].shape != x.shape:
        return None
    return node.remade(WHERE_POSITIVE, (compared.inputs[0], x), (scalar(0, torch_dtype(x.dtype)),))


def _joined(node: Node, parts: _Parts) -> Any:
    """A sum of padded pieces that together are one array."""
    whole = joined(node, parts)
    return None if whole is None else node.remade(concatenate, whole[0], (whole[1],))


def _transposed(node: Node, parts: _Parts) -> Any:
    """A matrix transposed, of which torch takes no permutation apart."""
    return node.remade(TRANSPOSED, node.inputs, ()) if node.attrs[0] == (1, 0) else None


def _squared(node: Node, parts: _Parts) -> Any:
    """A square as a product, which is one function of torch's."""
    is_square = node.op.name == "square" or node.attrs[0] == 2
    return node.remade(mul, node.inputs * 2, ()) if is_square else None


_RULES: dict[str, Callable[[Node, _Parts], Any]] = {
    "times_number": _by_number, "add_number": _plus_number, "mul": _mul, "scale": _scale, "add": _add,
    "reshape": _reshape, "select": _select, "reduce_sum": _sum, "square": _squared,
    "power_number": _squared, "transpose": _transposed,
}  # fmt: skip
