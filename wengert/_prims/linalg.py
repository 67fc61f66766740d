"""Linear algebra on the last two axes: products, triangles and diagonals, solving, Cholesky's factor.

Every axis before the last two is a batch; operands have equal leading axes. Rules are written in these same
ops, so they have derivatives of every order. Adjoints are those of Re<u, v>: transposes are conjugated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod as size
from typing import Any

import numpy as np

from .._core.op import (
    Op,
    batch_elementwise,
    batch_leading,
    general,
    linear,
    multilinear,
    require_dtype,
)
from .._core.tensor import Tensor
from .._core.types import TensorType, same_dim, same_shape, tensor_type
from .structural import add, conj_of, neg, reshape, sub, times_number, transpose

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"  # einsum's; `string`, which has them, loads slowly


def cubic(factor: float) -> Callable[..., float]:
    """The operations of what takes `factor` n^3 of them for a square matrix."""
    return lambda out, a, *others, **attrs: factor * size(a) * a[-1]


def swap_last(x: Tensor) -> Tensor:
    """x with its last two axes exchanged."""
    rank = len(x.shape)
    return transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2))


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose of matrices."""
    return conj_of(swap_last(x))


# -- products --------------------------------------------------------------------------------------


def _matmul_type(x: TensorType, y: TensorType) -> TensorType:
    _require_matrices("matmul", ("x", "y"), (x, y))
    if not same_dim(x.shape[-1], y.shape[-2]):
        raise ValueError(f"matmul: x has shape {x.shape} and y has shape {y.shape}, whose inner extents differ")
    return tensor_type((*x.shape[:-1], y.shape[-1]), x.dtype)


def _require_matrices(name: str, names: tuple[str, ...], types: tuple[TensorType, ...]) -> None:
    first = types[0]
    for operand, x in zip(names, types, strict=True):
        if len(x.shape) < 2:
            raise ValueError(f"{name}: {operand} has shape {x.shape}, wanted at least two axes")
        if x.dtype != first.dtype:
            raise TypeError(f"{name}: {names[0]} has dtype {first.dtype.name} and {operand} has {x.dtype.name}")
        if not same_shape(x.shape[:-2], first.shape[:-2]):
            raise ValueError(
                f"{name}: {names[0]} has shape {first.shape} and {operand} has shape {x.shape}, "
                "whose leading axes differ"
            )


def _matmul_batch(op: Op, operands: tuple[Any, ...], batched: tuple[bool, ...], attrs: tuple[Any, ...]) -> Tensor:
    x, y = operands
    if not batched[1] and len(y.shape) == 2:
        # one matrix for all rows of the batch: one large product
        size, n, k = x.shape
        return reshape(matmul(reshape(x, shape=(size * n, k)), y), shape=(size, n, y.shape[1]))
    return batch_leading(op, operands, batched, attrs)


matmul = multilinear(
    "matmul", "x y", type=_matmul_type, batch=_matmul_batch, dtypes="number",
    transpose=(lambda ct, y: matmul(ct, adjoint(y)), lambda ct, x: matmul(adjoint(x), ct)),
    samples=[(((2, 3), (3, 4)), ()), (((2, 1, 2, 3), (2, 1, 3, 2)), ()), (((2, 0), (0, 3)), ())],
    doc="the product of matrices (float16 and bfloat16 are summed in float32)",
    flops=lambda out, x, y: 2 * size(out) * x[-1],
    in_float32=True,
)  # fmt: skip


def _einsum_type(xs: tuple[TensorType, ...], labels: tuple[str, ...], out: str) -> TensorType:
    if not xs or len(labels) != len(xs):
        raise ValueError(f"einsum: labels {labels} do not name the axes of {len(xs)} operands")
    extents: dict[str, Any] = {}
    for x, names in zip(xs, labels, strict=True):
        if x.dtype != xs[0].dtype:
            raise TypeError(f"einsum: operands have dtypes {xs[0].dtype.name} and {x.dtype.name}")
        if len(names) != len(x.shape) or len(set(names)) != len(names):
            raise ValueError(f"einsum: labels {names!r} do not name the axes of shape {x.shape}, each once")
        for name, extent in zip(names, x.shape, strict=True):
            if not same_dim(extents.setdefault(name, extent), extent):
                raise ValueError(f"einsum: axes labelled {name!r} have extents {extents[name]} and {extent}")
    _require_labels(labels, out)
    return tensor_type((*[extents[name] for name in out],), xs[0].dtype)


def _einsum_flops(result: Any, *shapes: Any, labels: tuple[str, ...], out: str) -> float:
    """A multiplication and an addition for each value of all labels."""
    return 2 * size({name: n for x, names in zip(shapes, labels, strict=True) for name, n in zip(names, x)}.values())


def _require_labels(labels: tuple[str, ...], out: str) -> None:
    everywhere = "".join((*labels, *set(out)))
    alone = [name for names in labels for name in names if everywhere.count(name) < 2]
    if alone:
        raise ValueError(f"einsum: label {alone[0]!r} appears in one operand only and not in out; sum that axis first")
    if len(set(out)) != len(out) or not set(out) <= set("".join(labels)):
        raise ValueError(f"einsum: out {out!r} must name labels of the operands {labels}, each once")


def _einsum_transpose(
    ct: Tensor, xs: tuple[Tensor, ...], labels: tuple[str, ...], out: str, needed: tuple[bool, ...]
) -> tuple[Any, ...]:
    results: list[Any] = [None] * len(xs)
    for i, is_needed in enumerate(needed):
        if is_needed:
            others = [conj_of(x) for x in (*xs[:i], *xs[i + 1 :])]
            names = (out, *labels[:i], *labels[i + 1 :])
            results[i] = einsum(ct, *others, labels=names, out=labels[i])
    return tuple(results)


def _einsum_batch(op: Op, operands: Sequence[Tensor], batched: Sequence[bool], attrs: tuple[Any, ...]) -> Tensor:
    labels, out = attrs
    used = set("".join(labels))
    fresh = next((c for c in LETTERS if c not in used), None)
    if fresh is None:
        raise ValueError("einsum: all 52 letters name axes already, none is left for the batch")
    wide = (*[fresh + names if b else names for names, b in zip(labels, batched, strict=True)],)
    return einsum(*operands, labels=wide, out=fresh + out)


einsum = multilinear(
    "einsum", "*xs", attrs="labels out", outs="product", type=_einsum_type, batch=_einsum_batch,
    dtypes="number",
    transpose=_einsum_transpose,
    samples=[
        (((2, 3), (3, 4)), (("ij", "jk"), "ki")), (((2, 3, 4), (4, 2)), (("bij", "jb"), "bi")),
        (((2, 3), (3, 2), (2,)), (("ij", "jk", "k"), "i")), (((3,), (2,)), (("i", "j"), "ji")),
        (((3,), (3,)), (("i", "i"), "")), (((3, 2),), (("ij",), "ji")), (((3,), (3,), (3,)), (("i", "i",
        "i"), "i")),
        (((2,), (), (3,)), (("a", "", "b"), "ba")),
    ],
    doc="sums of products over labelled axes; no label twice in one operand, none in a single operand alone",
    flops=_einsum_flops,
    in_float32=True,
)  # fmt: skip

# -- triangles and diagonals -----------------------------------------------------------------------


def _triangle_type(name: str) -> Any:
    def type_rule(x: TensorType, k: int) -> TensorType:
        _require_matrices(name, ("x",), (x,))
        return tensor_type(x.shape, x.dtype)

    return type_rule


_TRIANGLE_SAMPLES = [(((3, 3),), (0,)), (((2, 3, 4),), (1,)), (((4, 2),), (-1,))]

tril = linear(
    "tril", "x", attrs="k", type=_triangle_type("tril"), batch=batch_elementwise, inserts_zeros=True,
    leaves_zeros=True,
    dtypes="any",
    transpose=lambda ct, k: tril(ct, k=k), samples=_TRIANGLE_SAMPLES,
    doc="the entries on and below the k-th diagonal, zeros elsewhere",
)  # fmt: skip
triu = linear(
    "triu", "x", attrs="k", type=_triangle_type("triu"), batch=batch_elementwise, inserts_zeros=True,
    leaves_zeros=True,
    dtypes="any",
    transpose=lambda ct, k: triu(ct, k=k), samples=_TRIANGLE_SAMPLES,
    doc="the entries on and above the k-th diagonal, zeros elsewhere",
)  # fmt: skip


def _require_square(name: str, operand: str, x: TensorType) -> None:
    if len(x.shape) < 2 or not same_dim(x.shape[-1], x.shape[-2]):
        raise ValueError(f"{name}: {operand} has shape {x.shape}, wanted square matrices")


def _diagonal_type(x: TensorType) -> TensorType:
    _require_square("diagonal", "x", x)
    return tensor_type(x.shape[:-1], x.dtype)


def _make_diagonal_type(x: TensorType) -> TensorType:
    if not x.shape:
        raise ValueError("make_diagonal: x has shape (), wanted at least one axis")
    return tensor_type((*x.shape, x.shape[-1]), x.dtype)


diagonal = linear(
    "diagonal", "x", type=_diagonal_type, batch=batch_elementwise, inserts_zeros=True, dtypes="any",
    moves="some",
    transpose=lambda ct: make_diagonal(ct), samples=[(((3, 3),), ()), (((2, 2, 2),), ())],
    doc="the main diagonals of square matrices",
)  # fmt: skip
make_diagonal = linear(
    "make_diagonal", "x", type=_make_diagonal_type, batch=batch_elementwise, leaves_zeros=True, dtypes="any",
    transpose=lambda ct: diagonal(ct), samples=[(((3,),), ()), (((2, 3),), ())],
    doc="square matrices with x as their main diagonals",
)  # fmt: skip

# -- solving ---------------------------------------------------------------------------------------


def _solve_type(name: str) -> Any:
    def type_rule(a: TensorType, b: TensorType, *attrs: object) -> TensorType:
        require_dtype(name, "a", a, "inexact")
        _require_matrices(name, ("a", "b"), (a, b))
        _require_square(name, "a", a)
        if not same_dim(a.shape[-1], b.shape[-2]):
            raise ValueError(f"{name}: a has shape {a.shape} and b has shape {b.shape}, whose extents differ")
        return tensor_type(b.shape, b.dtype)

    return type_rule


def _solve_vjp(ct: Tensor, a: Tensor, out: Tensor, needed: tuple[bool, ...]) -> tuple[Any, ...]:
    to_b = solve(adjoint(a), ct)
    return (neg(matmul(to_b, adjoint(out))) if needed[0] else None, to_b)


def _well_conditioned(*shape: int) -> Any:
    def draw(rng: np.random.Generator) -> Any:
        return rng.normal(size=shape) * 0.4 + _scaled_identity(shape[-1], 2.0)

    return draw


def _scaled_identity(n: int, value: float) -> Any:
    return [[value if i == j else 0.0 for j in range(n)] for i in range(n)]


_SOLVE_SHAPES = [
    (_well_conditioned(3, 3), (3, 2)),
    (_well_conditioned(2, 2, 2), (2, 2, 1)),
    (_well_conditioned(1, 1), (1, 3)),
]

solve = general(
    "solve", "a b", can_raise=True, type=_solve_type("solve"), batch=batch_leading, vjp=_solve_vjp,
    linear_in="b",
    jvp=lambda a, out, a_dot, b_dot: solve(a, sub(b_dot, matmul(a_dot, out))),
    samples=[(operands, ()) for operands in _SOLVE_SHAPES],
    kink="a singular matrix raises numpy.linalg.LinAlgError", doc="x with a @ x = b",
    mixes="matrices",
    flops=lambda out, a, b: 2 * size(out) * a[-1] + 2 / 3 * size(a) * a[-1],
    in_float32=True,
)  # fmt: skip

PLAIN, TRANSPOSED, ADJOINT = 0, 1, 2  # `trans` of `triangular_solve`


def _triangular_vjp(
    ct: Tensor, a: Tensor, out: Tensor, lower: bool, trans: int, unit_diagonal: bool, needed: tuple[bool, ...]
) -> tuple[Any, ...]:
    matrix = conj_of(a) if trans == TRANSPOSED else a
    back = ADJOINT if trans == PLAIN else PLAIN
    to_b = triangular_solve(matrix, ct, lower=lower, trans=back, unit_diagonal=unit_diagonal)
    if not needed[0]:
        return (None, to_b)
    if trans == PLAIN:
        to_a = matmul(to_b, adjoint(out))
    elif trans == TRANSPOSED:
        to_a = matmul(conj_of(out), swap_last(to_b))
    else:
        to_a = matmul(out, adjoint(to_b))
    return (neg(_triangle(to_a, lower, unit_diagonal)), to_b)


def _triangle(x: Tensor, lower: bool, unit_diagonal: bool) -> Tensor:
    return tril(x, k=-int(unit_diagonal)) if lower else triu(x, k=int(unit_diagonal))


def _triangular_jvp(
    a: Tensor, out: Tensor, a_dot: Tensor, b_dot: Tensor, lower: bool, trans: int, unit_diagonal: bool
) -> Tensor:
    change = _triangle(a_dot, lower, unit_diagonal)
    change = change if trans == PLAIN else swap_last(change) if trans == TRANSPOSED else adjoint(change)
    right = sub(b_dot, matmul(change, out))
    return triangular_solve(a, right, lower=lower, trans=trans, unit_diagonal=unit_diagonal)


triangular_solve = general(
    "triangular_solve", "a b", called="solve_triangular", can_raise=True, attrs="lower trans unit_diagonal",
    linear_in="b",
    type=_solve_type("triangular_solve"),
    batch=batch_leading, vjp=_triangular_vjp, jvp=_triangular_jvp, inserts_zeros=True,
    samples=[
        (operands, attrs)
        for operands, attrs in zip(
            (*_SOLVE_SHAPES, *_SOLVE_SHAPES),
            ((True, 0, False), (False, 1, True), (True, 2, False), (False, 2, False), (True, 1, True),
            (False, 0, True)),
            strict=True,
        )
    ],
    kink="the half of a that is not read, and a unit diagonal, have gradient zero",
    doc="x with op(a) @ x = b for triangular a; op is the identity, transpose or adjoint for trans = 0, 1, 2",
    mixes="matrices",
    flops=lambda out, a, b, **attrs: size(out) * a[-1],
    in_float32=True,
)  # fmt: skip

inv = general(
    "inv", "a", can_raise=True, type=lambda a: _square_type("inv", a), batch=batch_elementwise,
    vjp=(lambda ct, out: neg(matmul(adjoint(out), matmul(ct, adjoint(out)))),),
    jvp=lambda out, a_dot: neg(matmul(out, matmul(a_dot, out))),
    samples=[((_well_conditioned(3, 3),), ()), ((_well_conditioned(2, 2, 2),), ())],
    kink="a singular matrix raises numpy.linalg.LinAlgError", doc="the inverse of square matrices",
    mixes="matrices",
    flops=cubic(2),
    in_float32=True,
)  # fmt: skip


def _square_type(name: str, a: TensorType) -> TensorType:
    require_dtype(name, "a", a, "inexact")
    _require_square(name, "a", a)
    return tensor_type(a.shape, a.dtype)


# -- Cholesky --------------------------------------------------------------------------------------


def _half(x: Tensor) -> Tensor:
    """The lower triangle with half of the diagonal: the share of a Hermitian matrix that is its factor's."""
    return times_number(add(tril(x, k=0), tril(x, k=-1)), number=0.5)


def hermitian(x: Tensor) -> Tensor:
    """The Hermitian part of matrices."""
    return times_number(add(x, adjoint(x)), number=0.5)


def _solve_lower(out: Tensor, x: Tensor, trans: int) -> Tensor:
    return triangular_solve(out, x, lower=True, trans=trans, unit_diagonal=False)


def _cholesky_vjp(ct: Tensor, out: Tensor) -> Tensor:
    # L^-H half(L^H ct) L^-1, made Hermitian: the argument stands for a Hermitian matrix
    middle = _half(matmul(adjoint(out), ct))
    left = _solve_lower(out, middle, ADJOINT)
    return hermitian(_solve_lower(out, adjoint(left), ADJOINT))


def _cholesky_jvp(out: Tensor, a_dot: Tensor) -> Tensor:
    left = _solve_lower(out, hermitian(a_dot), PLAIN)
    return matmul(out, _half(_solve_lower(out, adjoint(left), PLAIN)))


def _positive_definite(*shape: int) -> Any:
    def draw(rng: np.random.Generator) -> Any:
        x = rng.normal(size=shape) * 0.5
        return x @ x.swapaxes(-1, -2) + _scaled_identity(shape[-1], 1.0)

    return draw


cholesky = general(
    "cholesky", "a", can_raise=True, type=lambda a: _square_type("cholesky", a), batch=batch_elementwise,
    vjp=(_cholesky_vjp,),
    jvp=_cholesky_jvp, samples=[((_positive_definite(3, 3),), ()), ((_positive_definite(2, 2, 2),), ())],
    kink="the lower triangle is read, the gradient is symmetric (Hermitian); a matrix that is not positive "
         "definite raises numpy.linalg.LinAlgError",
    doc="the lower triangular factor L of a = L L^H",
    mixes="matrices",
    flops=cubic(1 / 3),
    in_float32=True,
)  # fmt: skip
