"""`solve_by_factors`: a system whose matrix's factors are at hand, and where it is worth it to have them at hand.

A gradient through `solve` has a second system, with the adjoint of the matrix. Where both are in one program, a
compiler sees that they share factors; where the gradient is a program of its own, as the backward half of a loop's step
is, the factors cross to it (`_control/kept_factors.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.apply import apply
from .._core.graph import Node
from .._core.op import Op, batch_leading, general, require_dtype
from .._core.tensor import Tensor, Value
from .._core.types import TensorType, same_shape, tensor_type
from .decompositions import lu, permute_rows, unpermute_rows
from .linalg import ADJOINT, adjoint, cubic, matmul, triangular_solve
from .structural import neg, sub

# Unknowns beyond which factors are dear, however many right-hand sides there are: fewer are eliminated in registers,
# the right-hand sides as further columns of the matrix, in the time that it takes to store factors and load them.
_SOME = {dtypes.float32: 32, dtypes.float64: 32, dtypes.complex64: 24, dtypes.complex128: 24}
_FEW = 6  # unknowns up to which they never are
_SIDE = 4  # unknowns for each right-hand side, from which on they are dear beyond the few

# an op, and the attributes of a triangular system: lower, transposed, unit_diagonal
Step = tuple[Op, tuple[Any, ...]]


def are_dear(right: Any) -> bool:
    """Whether factors are better kept for another system than made anew, by a system's right-hand sides."""
    (n, k), some = right.shape[-2:], _SOME.get(right.dtype)
    if type(n) is not int or some is None:
        return False
    return n > some or (n > _FEW and type(k) is int and _SIDE * k <= n)


def steps_of(way: int) -> tuple[Step, Step, Step]:
    """What makes right-hand sides solutions; `way`: of the matrix, as `trans` of `triangular_solve`.

    a[order] = L U, so a x = b is L U x = b[order], and a' x = b is U' L' x[order] = b; so are adjoints.
    """
    if not way:
        return (permute_rows, ()), (triangular_solve, (True, 0, True)), (triangular_solve, (False, 0, False))
    return (triangular_solve, (False, way, False)), (triangular_solve, (True, way, True)), (unpermute_rows, ())


def factorisation(node: Node, a: Value) -> Node:
    """The node that makes the factors of a system's matrix, of which a system needs the first and the last."""
    pivots, order = (Value(a.shape[:-1], np.dtype(dtype), a.graph) for dtype in (np.int32, np.int64))
    outs = Value(a.shape, a.dtype, a.graph), pivots, order
    return Node(lu, (a,), outs, (), node.site, node.is_quiet, node.label)


def substitutions(node: Node, packed: Value, order: Value, way: int) -> Iterator[Node]:
    """The nodes that make a system's solutions, in a system's place: its last operand is the right-hand sides."""
    x, (out,) = node.inputs[-1], node.outputs
    found = *(Value(out.shape, out.dtype, out.graph) for _ in range(2)), out
    for (op, attrs), made in zip(steps_of(way), found, strict=True):
        inputs = (packed, x) if op is triangular_solve else (x, order)
        yield Node(op, inputs, (made,), attrs, node.site, node.is_quiet, node.label)
        x = made


def _type(a: TensorType, packed: TensorType, order: TensorType, b: TensorType, is_adjoint: bool) -> TensorType:
    require_dtype("solve_by_factors", "order", order, "integer")
    if not same_shape(a.shape, packed.shape) or a.dtype != packed.dtype or a.dtype != b.dtype:
        raise ValueError(f"solve_by_factors: a is {a}, packed {packed} and b {b}")
    return tensor_type(b.shape, b.dtype)


def _body(a: Tensor, packed: Tensor, order: Tensor, b: Tensor, is_adjoint: bool) -> Tensor:
    for op, attrs in steps_of(ADJOINT if is_adjoint else 0):
        b = apply(op, (packed, b) if op is triangular_solve else (b, order), attrs)
    return b


def _vjp(
    ct: Tensor, a: Tensor, packed: Tensor, order: Tensor, out: Tensor, is_adjoint: bool, needed: tuple[bool, ...]
) -> tuple[Any, ...]:
    to_b = solve_by_factors(a, packed, order, ct, is_adjoint=not is_adjoint)
    if not needed[0]:
        return None, None, None, to_b
    to_a = matmul(out, adjoint(to_b)) if is_adjoint else matmul(to_b, adjoint(out))
    return neg(to_a), None, None, to_b


def _jvp(
    a: Tensor, packed: Tensor, order: Tensor, out: Tensor, a_dot: Tensor, b_dot: Tensor, is_adjoint: bool
) -> Tensor:
    change = adjoint(a_dot) if is_adjoint else a_dot
    return solve_by_factors(a, packed, order, sub(b_dot, matmul(change, out)), is_adjoint=is_adjoint)


_MATRIX = np.array([[1.0, 3.5], [2.0, 1.0]])
_PACKED, _ORDER = np.array([[2.0, 1.0], [0.5, 3.0]]), np.array([1, 0])

solve_by_factors = general(
    "solve_by_factors", "a packed order b", attrs="is_adjoint", can_raise=True, type=_type, batch=batch_leading,
    called="solve",
    vjp=_vjp, jvp=_jvp, linear_in="b", body=_body,
    samples=[((_MATRIX, _PACKED, _ORDER, (2, 3)), (flag,)) for flag in (False, True)],
    smooth=False,  # of a alone: differences in it leave the factors as they are
    kink="the factors count as constants: the derivative is that in the matrix",
    doc="x with a @ x = b, or with the adjoint of a, by what `lu` gave of a",
    mixes="matrices",
    flops=lambda out, a, *others, **attrs: cubic(2)(out, a) * out[-1] / a[-1],
)  # fmt: skip
