"""Row rules of primitives, for `tiles.py`: what each computes for one row of its operands, where rows do not mix.

A value has *rows* along an axis if a primitive computes each of them from the same rows of its operands, and from
operands that all rows share. For a primitive, `RULES` says which axis of each operand has the rows, given that of the
result, and builds the primitive of one row. `SUMS` are primitives that add up over rows: which axes their operands'
rows may lie along, and what each row adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...._core.apply import apply
from ...._core.dims import size_of
from ...._core.graph import Node
from ...._core.op import REGISTRY, Op
from ...._core.tensor import Tensor
from ..lower.blocks import CASTS
from ..lower.forms import is_arithmetic
from ..lower.reduces import REDUCES, RUNNING
from ..lower.scalars import SCALARS, SEARCHES

Needs = tuple[int | None, ...]  # by operand the axis that has the rows; None where all rows share it


class Row(NamedTuple):
    """A primitive, one row at a time.

    Attributes:
        needs: `needs(node, axis)`, given the axis of the result that has the rows; None if rows would mix.
        build: `build(node, axis, needs, operands, number)`, one row of the result; `number` is the row's.
    """

    needs: Callable[[Node, int], Needs | None]
    build: Callable[[Node, int, Needs, Sequence[Tensor], Tensor], Tensor]


def op(name: str) -> Op:
    """A primitive."""
    return REGISTRY[name]


def without(shape: Sequence[Any], axis: int) -> tuple[Any, ...]:
    """A shape, or anything else by axis, without one of them."""
    return (*shape[:axis], *shape[axis + 1 :])


def reshaped(x: Tensor, shape: Sequence[Any]) -> Tensor:
    """A tensor in another shape; itself if it has that already."""
    return x if x.shape == (*shape,) else op("reshape")(x, shape=(*shape,))


def repeated(x: Tensor, shape: Sequence[Any]) -> Tensor:
    """A tensor broadcast to a shape; itself if it has that already."""
    return x if x.shape == (*shape,) else op("broadcast_to")(x, shape=(*shape,))


# -- element by element -----------------------------------------------------------------------------------------------


def _point_needs(node: Node, axis: int) -> Needs | None:
    shape = node.outputs[0].shape
    return (axis,) * len(node.inputs) if all(v.shape == shape for v in node.inputs) else None


def _same(node: Node, axis: int, needs: Needs, xs: Sequence[Tensor], number: Tensor) -> Tensor:
    return apply(node.op, (*xs,), node.attrs)


# -- from nothing -----------------------------------------------------------------------------------------------------


def _full(node: Node, axis: int, needs: Needs, xs: Sequence[Tensor], number: Tensor) -> Tensor:
    shape, *rest = node.attrs
    return apply(node.op, (), (without(shape, axis), *rest))


def _iota(node: Node, axis: int, needs: Needs, xs: Sequence[Tensor], number: Tensor) -> Tensor:
    return op("convert")(number, dtype=node.attrs[1])


# -- other shapes -----------------------------------------------------------------------------------------------------


def _broadcast_needs(node: Node, axis: int) -> Needs | None:
    x, out = node.inputs[0].shape, node.outputs[0].shape
    place = axis - (len(out) - len(x))
    if place >= 0 and x[place] == out[axis]:
        return (place,)
    # an extent may have several names, which a guard makes equal
    return (None,) if place < 0 or x[place] == 1 else None


def _broadcast(node: Node, axis: int, needs: Needs, xs: Sequence[Tensor], number: Tensor) -> Tensor:
    (x,), out = xs, node.outputs[0].shape
    place = axis - (len(out) - len(node.inputs[0].shape))
    if needs[0] is None and place >= 0:
        x = reshaped(x, without(x.shape, place))
    return repeated(x, without(out, axis))


def _reshape_needs(node: Node, axis: int) -> Needs | None:
    x, out = node.inputs[0].shape, node.outputs[0].shape
    before = size_of(out[:axis])
    for place, n in enumerate(x):
        if n == out[axis] and size_of(x[:place]) == before:
            return (place,)
    return None


def _reshape(node: Node, axis: int, needs: Needs, xs: Sequence[Tensor], number: Tensor) -> Tensor:
    return reshaped(xs[0], without(node.outputs[0].shape, axis))


def _transpose(node: Node, axis: int, needs: Needs, xs: Sequence[Tensor], number: Tensor) -> Tensor:
    source = node.attrs[0][axis]
    perm = (*[p - (p > source) for p in node.attrs[0] if p != source],)
    return xs[0] if perm == (*range(len(perm)),) else op("transpose")(xs[0], perm=perm)


def _slice_needs(node: Node, axis: int) -> Needs | None:
    starts, limits, strides = (attr[axis] for attr in node.attrs)
    return (axis,) if (starts, limits, strides) == (0, node.inputs[0].shape[axis], 1) else None


def _pad_needs(node: Node, axis: int) -> Needs | None:
    return (axis,) if all(attr[axis] == 0 for attr in node.attrs) else None


def _by_axis(node: Node, axis: int, needs: Needs, xs: Sequence[Tensor], number: Tensor) -> Tensor:
    """Attributes that have an entry for each axis."""
    return apply(node.op, (*xs,), (*[without(attr, axis) for attr in node.attrs],))


def _lower(axes: Any, axis: int) -> Any:
    """The numbers of other axes once one is gone."""
    return (*[a - (a > axis) for a in axes],) if type(axes) is tuple else axes - (axes > axis)


def _other_axis(node: Node, axis: int) -> Needs | None:
    """What works along one axis or some."""
    own = node.attrs[0]
    axes = own if type(own) is tuple else (own % len(node.outputs[0].shape),)
    return None if axis in axes else (axis,) * len(node.inputs)


def _along(node: Node, axis: int, needs: Needs, xs: Sequence[Tensor], number: Tensor) -> Tensor:
    own = node.attrs[0]
    own = own if type(own) is tuple else own % len(node.outputs[0].shape)
    return apply(node.op, (*xs,), (_lower(own, axis), *node.attrs[1:]))


# -- reductions -------------------------------------------------------------------------------------------------------


def _reduced_axes(node: Node) -> tuple[int, ...]:
    own, rank = node.attrs[0], len(node.inputs[0].shape)
    return (*[a % rank for a in own],) if type(own) is tuple else (own % rank,)


def _reduce_needs(node: Node, axis: int) -> Needs:
    axes = _reduced_axes(node)
    return ([a for a in range(len(node.inputs[0].shape)) if a not in axes][axis],)


def _reduce(node: Node, axis: int, needs: Needs, xs: Sequence[Tensor], number: Tensor) -> Tensor:
    (source,) = needs
    assert source is not None
    own = node.attrs[0]
    own = own if type(own) is tuple else own % len(node.inputs[0].shape)
    return apply(node.op, (*xs,), (_lower(own, source), *node.attrs[1:]))


# -- products of matrices ---------------------------------------------------------------------------------------------


LONG = 64  # terms of a row's sums for each of several columns: what has more is better left to BLAS
LONGEST = 4096  # terms of a row's one sum


def _matmul_needs(node: Node, axis: int) -> Needs | None:
    x, y = (v.shape for v in node.inputs)
    if len(x) != 2 or not is_arithmetic(node.outputs[0].dtype):
        return None
    columns = y[1] if axis == 0 else x[0]
    if type(x[1]) is not int or x[1] > (LONGEST if columns == 1 else LONG):
        return None
    return (0, None) if axis == 0 else (None, 1)


def _matmul(node: Node, axis: int, needs: Needs, xs: Sequence[Tensor], number: Tensor) -> Tensor:
    """A vector times a matrix whose columns lie along its first axis."""
    vector, matrix = xs if axis == 0 else (xs[1], xs[0])
    if axis == 0:
        matrix = op("transpose")(matrix, perm=(1, 0)) if matrix.shape[1] != 1 else reshaped(matrix, (1, *vector.shape))
    if matrix.shape[0] == 1:
        matrix = reshaped(matrix, vector.shape)
        return repeated(reshaped(_total(op("mul")(vector, matrix), (0,)), (1,)), (1,))
    return _total(op("mul")(repeated(vector, matrix.shape), matrix), (1,))


def _total(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    return op("reduce_sum")(x, axes=axes)


_POINT = Row(_point_needs, _same)
_ALONG = Row(_other_axis, _along)
_REDUCE = Row(_reduce_needs, _reduce)

RULES: dict[str, Row] = {
    **{name: _POINT for name in (*SCALARS, *CASTS) if name not in SEARCHES},
    "full": Row(lambda node, axis: (), _full),
    "iota": Row(lambda node, axis: (), _iota),
    "broadcast_to": Row(_broadcast_needs, _broadcast),
    "reshape": Row(_reshape_needs, _reshape),
    "transpose": Row(lambda node, axis: (node.attrs[0][axis],), _transpose),
    "slice": Row(_slice_needs, _by_axis),
    "pad": Row(_pad_needs, _by_axis),
    "flip": _ALONG,
    "concatenate": _ALONG,
    **dict.fromkeys(RUNNING, _ALONG),
    **dict.fromkeys((*REDUCES, "argmax", "argmin"), _REDUCE),
    "matmul": Row(_matmul_needs, _matmul),
}  # fmt: skip


# -- sums over rows ---------------------------------------------------------------------------------------------------


class Term(NamedTuple):
    """What one row adds to a sum over rows.

    Attributes:
        factors: one value, or two vectors: then it is the matrix of their products.
    """

    factors: tuple[Tensor, ...]


class Sum(NamedTuple):
    """A primitive that adds up over rows.

    Attributes:
        needs: `needs(node)`: all ways in which its operands may have rows.
        build: `build(node, needs, operands)`, what one row adds, in as many elements as the result has.
    """

    needs: Callable[[Node], list[Needs]]
    build: Callable[[Node, Needs, Sequence[Tensor]], Term]


def _sum_needs(node: Node) -> list[Needs]:
    return [(a,) for a in _reduced_axes(node)]


def _sum(node: Node, needs: Needs, xs: Sequence[Tensor]) -> Term:
    (source,) = needs
    assert source is not None
    axes = (*[a - (a > source) for a in _reduced_axes(node) if a != source],)
    return Term((_total(xs[0], axes) if axes else xs[0],))


def _product_needs(node: Node) -> list[Needs]:
    x, y = (v.shape for v in node.inputs)
    is_plain = len(x) == 2 and is_arithmetic(node.outputs[0].dtype) and min(_known(x[0]), _known(y[1])) <= LONG
    return [(1, 0)] if is_plain else []


def _known(extent: Any) -> int:
    return extent if type(extent) is int else LONGEST


def _product(node: Node, needs: Needs, xs: Sequence[Tensor]) -> Term:
    x, y = xs
    if x.shape == (1,):
        x, y = y, x
    if y.shape == (1,):
        return Term((op("mul")(x, repeated(reshaped(y, ()), x.shape)),))
    return Term((x, y))


SUMS: dict[str, Sum] = {"reduce_sum": Sum(_sum_needs, _sum), "matmul": Sum(_product_needs, _product)}


def needs_of(node: Node, axis: int) -> Needs | None:
    """Which axes of a node's operands have the rows, if that axis of its result has."""
    rule = RULES.get(node.op.name)
    return None if rule is None or node.op.is_multi else rule.needs(node, axis)
