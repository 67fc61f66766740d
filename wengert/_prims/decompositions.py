"""Factorisations of matrices (eigenvalues, singular values, QR, LU) and determinants, on the last two axes.

Every axis before the last two is a batch. Where eigenvalues or singular values are equal, functions of the values alone
have exact gradients. A function of the vectors that is smooth there has a derivative which depends on how it goes on
beside the point, and the cotangent of the vectors does not tell: 0 / 0. A tape or a forward recorder knows what came of
the values, and finds the limit (`_transforms/limits.py`). Without one the vectors' terms are NaN, except where
nothing reads the vectors (their cotangent is a structural zero), and for a tangent along which the basis at hand stays
one of eigenvectors. Determinants and cofactors are polynomials: their derivatives are exact at singular matrices too,
of every order up to 8 rows, and the first two beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import dims, dtypes
from .._core.constant import constant
from .._core.op import ZERO, Spectrum, batch_elementwise, general, linear, not_differentiable, require_dtype
from .._core.tensor import Tensor
from .._core.types import TensorType, same_dim, tensor_type
from .cumulative import products_of_others
from .discrete import eq, logical_and, logical_not, logical_or, ne
from .indexing import gather
from .limits import (
    NOTHING,
    SAME,
    Divide,
    Ratios,
    chosen,
    is_rounding,
    of_tangents,
    quotient,
    seldom,
    without_nothing,
)
from .linalg import adjoint, cubic, diagonal, hermitian, make_diagonal, matmul, swap_last, triangular_solve, tril, triu
from .linalg import inv as _inv
from .minors import minors
from .piecewise import abs_
from .reductions import reduce_any, reduce_max
from .structural import (
    add,
    add_number,
    as_complex,
    broadcast_to,
    cast,
    concatenate,
    conj_of,
    fill,
    flip,
    imag,
    iota,
    mul,
    neg,
    pad,
    real,
    reduce_sum,
    reshape,
    scale,
    select,
    slice_,
    sub,
    times_number,
    transpose,
)

# -- small pieces ---------------------------------------------------------------------------------------------------


def _matrix_type(name: str, a: TensorType) -> None:
    require_dtype(name, "a", a, "inexact")
    if len(a.shape) < 2:
        raise ValueError(f"{name}: a has shape {a.shape}, wanted at least two axes")


def square_type(name: str, a: TensorType) -> None:
    _matrix_type(name, a)
    if not same_dim(a.shape[-1], a.shape[-2]):
        raise ValueError(f"{name}: a has shape {a.shape}, wanted square matrices")


def known_cotangent(ct: Tensor | None) -> Tensor | None:
    """The cotangent of one of several results, None where nothing flows."""
    return None if ct is None or ct is ZERO else ct


def _real_part(x: Tensor) -> Tensor:
    return real(x) if dtypes.is_complex(x.dtype) else x


def column_scaled(x: Tensor, factors: Tensor) -> Tensor:
    """The columns of x, each times a factor."""
    row = reshape(cast(factors, x.dtype), shape=(*factors.shape[:-1], 1, factors.shape[-1]))
    return mul(x, broadcast_to(row, shape=x.shape))


def pairs_of(x: Tensor) -> tuple[Tensor, Tensor]:
    """The vector repeated along rows and along columns: entries (i, j) are x_j and x_i."""
    square = (*x.shape, x.shape[-1])
    across = broadcast_to(reshape(x, shape=(*x.shape[:-1], 1, x.shape[-1])), shape=square)
    down = broadcast_to(reshape(x, shape=(*x.shape, 1)), shape=square)
    return across, down


def off_diagonal(x: Tensor) -> Tensor:
    """Square matrices with zeros on their diagonals."""
    return add(tril(x, k=-1), triu(x, k=1))


def on_diagonal(x: Tensor) -> Tensor:
    """Whether an entry of square matrices is on the diagonal."""
    ones = make_diagonal(fill(diagonal(x), 1))
    return ne(ones, fill(ones, 0))


def is_unread(to_vectors: Tensor, times: Callable[..., Any]) -> Tensor:
    """For each column whether the cotangent is a structural zero."""
    rank = len(to_vectors.shape)
    is_zero = eq(to_vectors, fill(to_vectors, 0))
    if times is not scale:  # its zeros are ordinary ones, and so tell nothing
        is_zero = logical_and(is_zero, logical_not(is_zero))
    return logical_not(reduce_any(logical_not(is_zero), axes=(rank - 2,)))


def is_aligned(seen: Tensor) -> Tensor:
    """For each pair of vectors whether a tangent, seen in their basis, leaves them vectors: it mixes the two neither
    by itself nor through a third one."""
    outside = abs_(off_diagonal(seen))
    size = add(outside, swap_last(outside))
    return eq(add(size, matmul(size, swap_last(size))), fill(size, 0))


def largest_of(x: Tensor) -> Tensor:
    """The largest magnitude of each vector, repeated along it."""
    size = abs_(x)
    if type(x.shape[-1]) is int and x.shape[-1] == 0:
        return size
    top = reduce_max(size, axes=(len(x.shape) - 1,))
    return broadcast_to(reshape(top, shape=(*top.shape, 1)), shape=x.shape)


# -- eigenvalues of symmetric matrices ---------------------------------------------------------------------------------


def _eigh_type(a: TensorType, lower: bool) -> Any:
    square_type("eigh", a)
    return (tensor_type(a.shape[:-1], dtypes.real_of(a.dtype)), tensor_type(a.shape, a.dtype))


def gaps(values: Tensor) -> tuple[Tensor, Tensor]:
    """w_j - w_i, and whether it is nothing but rounding."""
    difference = sub(*pairs_of(values))
    return difference, is_rounding(difference, pairs_of(largest_of(values))[0], SAME)


def has_equal(values: Tensor) -> Tensor:
    """Whether any two values are equal, up to rounding."""
    difference, is_same = gaps(values)
    return reduce_any(logical_and(is_same, logical_not(on_diagonal(difference))), axes=(*range(len(is_same.shape)),))


def shows_neighbours(values: np.ndarray[Any, Any]) -> bool:
    """As `has_equal`, of an array in order: then equal ones are neighbours."""
    with np.errstate(invalid="ignore", over="ignore"):
        bound = np.abs(values).max(-1, keepdims=True) * values.dtype.type(SAME[values.dtype.name])
        return bool((np.abs(values[..., 1:] - values[..., :-1]) <= bound).any())


def ascending(values: Tensor) -> Tensor:
    """1, 2, ..., n: a direction in which all values part, and rise."""
    return broadcast_to(cast(add_number(_places(values), number=1), values.dtype), shape=values.shape)


def _places(values: Tensor) -> Tensor:
    return iota(size=values.shape[-1], dtype=dtypes.real_of(values.dtype))


def part_of_vectors(
    back: Callable[..., Any], trail: Any, spectrum: Any, outs: tuple[Tensor, ...], cotangents: list[Any]
) -> Tensor:
    """What the vectors' cotangents contribute to the operand's, by a rule that is told how to divide: with limits, if
    it is known what came of the results."""
    if trail is None:
        return back(quotient)
    ratios = Ratios(trail.rates(spectrum, outs), cotangents)
    bounded = back(without_nothing)
    found = ratios.checked(back(ratios), bounded)
    where = seldom(spectrum.has_equal, outs[spectrum.values])
    return found if where is None else chosen(where, found, bounded)


def rate_of_gaps(apart: Tensor) -> Tensor:
    """The rates of w_j - w_i from those of w."""
    return sub(*pairs_of(apart))


def _rate_of_sums(apart: Tensor) -> Tensor:
    return add(*pairs_of(apart))


def _both(x: Tensor) -> Tensor:
    """For each pair whether a property of the elements holds for both."""
    return logical_and(*pairs_of(x))


def _eigh_vjp(
    ct: Sequence[Any], times: Callable[..., Any], values: Tensor, vectors: Tensor, trail: object
) -> tuple[Tensor]:
    to_values, to_vectors = map(known_cotangent, ct)
    found = None if to_values is None else _from_basis(vectors, make_diagonal(cast(to_values, vectors.dtype)))
    if to_vectors is not None:

        def back(divide: Divide) -> Tensor:
            difference, is_same = gaps(values)
            seen = matmul(adjoint(vectors), to_vectors)
            skew = times_number(sub(seen, adjoint(seen)), number=0.5)
            is_dropped = logical_or(on_diagonal(difference), _both(is_unread(to_vectors, times)))
            return _from_basis(vectors, off_diagonal(divide(skew, difference, is_same, is_dropped, rate_of_gaps)))

        found = _sum(found, part_of_vectors(back, trail, eigh.spectrum, (values, vectors), [to_vectors]))
    assert found is not None
    return (hermitian(found),)


def _from_basis(vectors: Tensor, middle: Tensor) -> Tensor:
    """A matrix that is seen in a basis, as it is."""
    return matmul(matmul(vectors, middle), adjoint(vectors))


def _eigh_push(outs: Sequence[Tensor], a_dot: Tensor, divide: Divide) -> tuple[Tensor, Tensor]:
    values, vectors = outs
    seen = matmul(matmul(adjoint(vectors), hermitian(a_dot)), vectors)
    difference, is_same = gaps(values)
    is_dropped = logical_or(on_diagonal(difference), is_aligned(seen))
    turn = off_diagonal(divide(seen, difference, is_same, is_dropped, rate_of_gaps))
    return _real_part(diagonal(seen)), matmul(vectors, turn)


def _eigh_jvp(values: Tensor, vectors: Tensor, a_dot: Tensor) -> tuple[Tensor, Tensor]:
    return _eigh_push((values, vectors), a_dot, of_tangents(quotient))


def _symmetric(*shape: int) -> Any:
    def draw(rng: np.random.Generator) -> Any:
        x = rng.normal(size=shape) * 0.3
        return x + x.swapaxes(-1, -2) + np.diag(np.arange(shape[-1]) * 2.0)

    return draw


eigh = general(
    "eigh", "a", attrs="lower", outs="values vectors", can_raise=True, takes_missing=True, type=_eigh_type,
    batch=batch_elementwise, vjp=_eigh_vjp, jvp=_eigh_jvp, dtypes="float", takes_complex=True,
    samples=[((_symmetric(3, 3),), (True,)), ((_symmetric(2, 2, 2),), (False,)), ((_symmetric(1, 1),), (True,))],
    kink="one triangle is read, the gradient is symmetric (Hermitian); at equal eigenvalues the values' gradient is "
         "exact, smooth functions of values and vectors have theirs, and other functions of the vectors NaN",
    doc="eigenvalues, ascending, and orthonormal eigenvectors of symmetric (Hermitian) matrices",
    mixes="matrices",
    flops=cubic(9),
)  # fmt: skip
eigh.spectrum = Spectrum(0, ascending, has_equal, shows_neighbours, _eigh_push, lambda outs: outs[1])

# -- singular values ---------------------------------------------------------------------------------------------------


def _svd_type(a: TensorType) -> Any:
    _matrix_type("svd", a)
    *lead, m, n = a.shape
    k = _smaller(m, n)
    return (
        tensor_type((*lead, m, k), a.dtype), tensor_type((*lead, k), dtypes.real_of(a.dtype)),
        tensor_type((*lead, k, n), a.dtype),
    )  # fmt: skip


def _descending(s: Tensor) -> Tensor:
    """n, ..., 2, 1: a direction in which all singular values part, stay in order and rise."""
    return flip(ascending(s), axes=(len(s.shape) - 1,))


def _has_equal_or_zero(s: Tensor) -> Tensor:
    axes = (*range(len(s.shape)),)
    return logical_or(has_equal(s), reduce_any(is_rounding(s, largest_of(s), NOTHING), axes=axes))


def _shows_equal_or_zero(s: np.ndarray[Any, Any]) -> bool:
    least = s.max(-1) * s.dtype.type(NOTHING[s.dtype.name])
    return bool((s[..., -1] <= least).any()) or shows_neighbours(s)


def _sums(s: Tensor) -> tuple[Tensor, Tensor]:
    """s_j + s_i, and whether it is nothing but rounding."""
    total = add(*pairs_of(s))
    return total, is_rounding(total, pairs_of(largest_of(s))[0], NOTHING)


def _project_out(basis: Tensor, x: Tensor) -> Tensor:
    """x less its part in the span of orthonormal columns."""
    return sub(x, matmul(basis, matmul(adjoint(basis), x)))


def _svd_vjp(
    ct: Sequence[Any], times: Callable[..., Any], u: Tensor, s: Tensor, vh: Tensor, trail: object
) -> tuple[Tensor]:
    to_u, to_s, to_vh = map(known_cotangent, ct)
    found = None if to_s is None else matmul(matmul(u, make_diagonal(cast(to_s, u.dtype))), vh)
    if to_u is not None or to_vh is not None:
        to_v = None if to_vh is None else adjoint(to_vh)

        def back(divide: Divide) -> Tensor:
            return _svd_back(to_u, to_v, times, (u, s, vh), divide)

        found = _sum(found, part_of_vectors(back, trail, svd.spectrum, (u, s, vh), [to_u, to_v]))
    assert found is not None
    return (found,)


def _svd_back(
    to_u: Tensor | None,
    to_v: Tensor | None,
    times: Callable[..., Any],
    outs: tuple[Tensor, Tensor, Tensor],
    divide: Divide,
) -> Tensor:
    u, s, vh = outs
    v = adjoint(vh)
    unread_u, unread_v = [None if to is None else is_unread(to, times) for to in (to_u, to_v)]
    unread = _meet(unread_u, unread_v)
    middle = _svd_turns(s, _skew(u, to_u), _skew(v, to_v), unread, divide)
    if dtypes.is_complex(u.dtype):
        middle = add(middle, _phase_vjp(to_u, to_v, u, s, vh, unread, divide))
    found = matmul(matmul(u, middle), vh)
    if to_u is not None and unread_u is not None and not _is_full(u):
        found = add(found, matmul(_over_values(_project_out(u, to_u), s, unread_u, divide), vh))
    if to_v is not None and unread_v is not None and not _is_full(v):
        found = add(found, matmul(u, adjoint(_over_values(_project_out(v, to_v), s, unread_v, divide))))
    return found


def _skew(basis: Tensor, cotangent: Tensor | None) -> Tensor | None:
    """The part of a cotangent that a turn of the basis in itself meets, twice."""
    if cotangent is None:
        return None
    seen = matmul(adjoint(basis), cotangent)
    return sub(seen, adjoint(seen))


def _meet(x: Tensor | None, y: Tensor | None) -> Tensor:
    """Where both hold of two properties; None is one that holds everywhere."""
    if x is None or y is None:
        found = y if x is None else x
        assert found is not None
        return found
    return logical_and(x, y)


def _svd_turns(
    s: Tensor, of_u: Tensor | None, of_v: Tensor | None, unread: Tensor, divide: Divide
) -> Tensor:  # fmt: skip
    """What the turns of both bases contribute, seen in them: what the two have in common divides by s_j - s_i, in what
    they differ by s_j + s_i."""
    found = of_u if of_u is not None else of_v
    assert found is not None
    together = found if of_u is None or of_v is None else add(of_u, of_v)
    apart = sub(of_u, of_v) if of_u is not None and of_v is not None else found if of_v is None else neg(found)
    difference, is_same = gaps(s)
    total, is_nothing = _sums(s)
    is_dropped = logical_or(on_diagonal(difference), _both(unread))
    turned = add(
        divide(together, difference, is_same, is_dropped, rate_of_gaps),
        divide(apart, total, is_nothing, is_dropped, _rate_of_sums),
    )
    return off_diagonal(times_number(turned, number=0.5))


def _is_full(basis: Tensor) -> bool:
    """Whether orthonormal columns are known to leave nothing out."""
    return bool(basis.shape[-1] == basis.shape[-2])  # not `same_dim`, which takes unknown extents for equal


def _over_values(x: Tensor, s: Tensor, is_dropped: Tensor, divide: Divide) -> Tensor:
    """The columns of x, each divided by a singular value; at one of 0 a column is 0 if it is dropped, else NaN."""
    is_nothing = is_rounding(s, largest_of(s), NOTHING)
    shape, row = x.shape, (*s.shape[:-1], 1, s.shape[-1])

    def along(part: Tensor) -> Tensor:
        return broadcast_to(reshape(part, shape=row), shape=shape)

    return divide(x, along(s), along(is_nothing), along(is_dropped), along)


def _sum(x: Tensor | None, y: Tensor) -> Tensor:
    return y if x is None else add(x, y)


def _phase_vjp(
    to_u: Any, to_v: Any, u: Tensor, s: Tensor, vh: Tensor, unread: Tensor, divide: Divide
) -> Tensor:  # fmt: skip
    """What the common phase of a pair of singular vectors adds: the two share it evenly."""
    turn = fill(s, 0)
    if to_u is not None:
        turn = add(turn, imag(diagonal(matmul(adjoint(u), to_u))))
    if to_v is not None:
        turn = sub(turn, imag(diagonal(matmul(vh, to_v))))
    turn = divide(turn, s, is_rounding(s, largest_of(s), NOTHING), unread, lambda apart: apart)
    return make_diagonal(as_complex(fill(turn, 0), times_number(turn, number=0.5)))


def _svd_push(outs: Sequence[Tensor], a_dot: Tensor, divide: Divide) -> tuple[Tensor, Tensor, Tensor]:
    u, s, vh = outs
    v = adjoint(vh)
    seen = matmul(matmul(adjoint(u), a_dot), v)
    even, odd = hermitian(seen), times_number(sub(seen, adjoint(seen)), number=0.5)
    difference, is_same = gaps(s)
    total, is_nothing = _sums(s)
    itself = on_diagonal(difference)
    is_dropped = logical_or(itself, is_aligned(seen))
    common = off_diagonal(divide(even, difference, is_same, is_dropped, rate_of_gaps))
    zero = eq(odd, fill(odd, 0))
    contrary = off_diagonal(divide(odd, total, is_nothing, logical_or(itself, zero), _rate_of_sums))
    u_turn, v_turn = add(common, contrary), sub(common, contrary)
    if dtypes.is_complex(u.dtype):
        angle = imag(diagonal(seen))
        nothing = is_rounding(s, largest_of(s), NOTHING)
        is_still = eq(angle, fill(angle, 0))
        angle = times_number(divide(angle, s, nothing, is_still, lambda apart: apart), number=0.5)
        phase = make_diagonal(as_complex(fill(angle, 0), angle))
        u_turn, v_turn = add(u_turn, phase), sub(v_turn, phase)
    u_dot = _with_outside(matmul(u, u_turn), u, matmul(a_dot, v), s, divide)
    v_dot = _with_outside(matmul(v, v_turn), v, matmul(adjoint(a_dot), u), s, divide)
    return u_dot, _real_part(diagonal(seen)), adjoint(v_dot)


def _svd_jvp(u: Tensor, s: Tensor, vh: Tensor, a_dot: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return _svd_push((u, s, vh), a_dot, of_tangents(quotient))


def _with_outside(inside: Tensor, basis: Tensor, change: Tensor, s: Tensor, divide: Divide) -> Tensor:
    """A basis's change in itself, and what leaves its span."""
    if _is_full(basis):
        return inside
    outside = _project_out(basis, change)
    rank = len(outside.shape)
    stays = logical_not(reduce_any(ne(outside, fill(outside, 0)), axes=(rank - 2,)))
    return add(inside, _over_values(outside, s, stays, divide))


def _spread_out(*shape: int) -> Any:
    """Matrices whose singular values are well apart."""

    def draw(rng: np.random.Generator) -> Any:
        return rng.normal(size=shape) * 0.3 + np.eye(shape[-2], shape[-1]) * (1.0 + 1.5 * np.arange(shape[-1]))

    return draw


svd = general(
    "svd", "a", outs="u s vh", can_raise=True, takes_missing=True, type=_svd_type, batch=batch_elementwise,
    vjp=_svd_vjp, jvp=_svd_jvp, dtypes="float", takes_complex=True,
    samples=[((_spread_out(3, 3),), ()), ((_spread_out(2, 4, 2),), ()), ((_spread_out(2, 3),), ())],
    kink="at equal singular values, or ones of 0, the values' gradient is exact, smooth functions of values and "
         "vectors have theirs, and other functions of the vectors NaN",
    doc="U, s (descending) and V^H with a = U diag(s) V^H, the factors without their null space",
    mixes="matrices",
    flops=cubic(20),
)  # fmt: skip
svd.spectrum = Spectrum(
    1, _descending, _has_equal_or_zero, _shows_equal_or_zero, _svd_push, lambda outs: matmul(outs[0], outs[2])
)

# -- QR ----------------------------------------------------------------------------------------------------------------


def _qr_type(a: TensorType) -> Any:
    _matrix_type("qr", a)
    *lead, m, n = a.shape
    if type(m) is int and type(n) is int and m < n:
        raise ValueError(f"qr: a has shape {a.shape}, wanted at least as many rows as columns")
    return (tensor_type(a.shape, a.dtype), tensor_type((*lead, n, n), a.dtype))


def hermitian_of_upper(x: Tensor) -> Tensor:
    """The Hermitian matrix that has x's upper triangle (of the diagonal the real part)."""
    above = triu(x, k=1)
    middle = make_diagonal(cast(_real_part(diagonal(x)), x.dtype))
    return add(add(above, adjoint(above)), middle)


def _solvable(r: Tensor) -> Tensor:
    """R for its inverse: a diagonal element that is nothing but the rounding of its column counts as the 0 that it is,
    and has none."""
    line = diagonal(r)
    if type(line.shape[-1]) is int and line.shape[-1] == 0:
        return r
    nothing = is_rounding(line, reduce_max(abs_(r), axes=(len(r.shape) - 2,)), NOTHING)
    ones = make_diagonal(select(nothing, fill(line, 1), fill(line, 0)))
    return select(ne(ones, fill(ones, 0)), fill(r, 0), r)


def _qr_vjp(ct: Sequence[Any], q: Tensor, r: Tensor) -> tuple[Tensor]:
    to_q, to_r = ct
    inside = sub(matmul(to_r, adjoint(r)), matmul(adjoint(q), to_q))
    right = add(to_q, matmul(q, hermitian_of_upper(inside)))
    return (adjoint(triangular_solve(_solvable(r), adjoint(right), lower=False, trans=0, unit_diagonal=False)),)


def _qr_jvp(q: Tensor, r: Tensor, a_dot: Tensor) -> tuple[Tensor, Tensor]:
    # a_dot R^-1, solved from the other side
    scaled = adjoint(triangular_solve(_solvable(r), adjoint(a_dot), lower=False, trans=2, unit_diagonal=False))
    seen = matmul(adjoint(q), scaled)
    below = tril(seen, k=-1)
    turn = sub(below, adjoint(below))
    if dtypes.is_complex(q.dtype):
        angle = imag(diagonal(seen))
        turn = add(turn, make_diagonal(as_complex(fill(angle, 0), angle)))
    q_dot = add(matmul(q, sub(turn, seen)), scaled)
    return q_dot, matmul(triu(sub(seen, turn), k=0), r)


qr = general(
    "qr", "a", outs="q r", can_raise=True, type=_qr_type, batch=batch_elementwise, vjp=_qr_vjp, jvp=_qr_jvp,
    samples=[((_spread_out(3, 3),), ()), ((_spread_out(2, 4, 2),), ()), ((_spread_out(3, 1),), ())],
    kink="the gradient at a matrix without full column rank raises numpy.linalg.LinAlgError",
    doc="Q with orthonormal columns and upper triangular R with a = Q R, for no more columns than rows",
    mixes="matrices",
    flops=cubic(4 / 3),
)  # fmt: skip


def _complement_type(q: TensorType) -> TensorType:
    _matrix_type("complement", q)
    *lead, m, n = q.shape
    return tensor_type((*lead, m, m - n), q.dtype)


complement = not_differentiable(
    "complement", "q", type=_complement_type, batch=batch_elementwise,
    samples=[((_spread_out(4, 2),), ()), ((_spread_out(2, 3, 1),), ())],
    doc="orthonormal columns that make a full basis together with the columns of q: which ones is a matter of choice",
    mixes="matrices",
)  # fmt: skip

# -- LU ----------------------------------------------------------------------------------------------------------------


def _lu_type(a: TensorType) -> Any:
    _matrix_type("lu", a)
    *lead, m, n = a.shape
    pivots = tensor_type((*lead, _smaller(m, n)), dtypes.int32)
    return tensor_type(a.shape, a.dtype), pivots, tensor_type((*lead, m), dtypes.int64)


def _smaller(m: Any, n: Any) -> Any:
    return min(m, n) if type(m) is int and type(n) is int else m if m == n else dims.minimum(m, n)


def _rows_type(x: TensorType, order: TensorType) -> TensorType:
    require_dtype("permute_rows", "order", order, "integer")
    if len(x.shape) < 2 or len(order.shape) != len(x.shape) - 1 or not same_dim(order.shape[-1], x.shape[-2]):
        raise ValueError(f"permute_rows: x has shape {x.shape} and order has shape {order.shape}")
    return tensor_type(x.shape, x.dtype)


unpermute_rows = linear(
    "unpermute_rows", "x order", type=_rows_type, batch=batch_elementwise, dtypes="number",
    moves="all",
    transpose=(lambda ct, order: permute_rows(ct, order), None),
    samples=[(((3, 2), lambda rng: rng.permutation(3)), ()), (((2, 2, 2), lambda rng: [[1, 0], [0, 1]]), ())],
    doc="the matrices whose rows, put in an order, are those of x",
)  # fmt: skip
permute_rows = linear(
    "permute_rows", "x order", type=_rows_type, batch=batch_elementwise, dtypes="number",
    moves="all",
    transpose=(lambda ct, order: unpermute_rows(ct, order), None),
    samples=[(((3, 2), lambda rng: rng.permutation(3)), ()), (((2, 2, 2), lambda rng: [[1, 0], [0, 1]]), ())],
    doc="the rows of matrices in an order",
)  # fmt: skip


def _unit_lower(lu: Tensor) -> Tensor:
    ones = fill(diagonal(lu), 1)
    return add(tril(lu, k=-1), make_diagonal(ones))


def _block(x: Tensor, rows: tuple[Any, Any], columns: tuple[Any, Any]) -> Tensor:
    *lead, _, _ = x.shape
    none = (0,) * len(lead)
    return slice_(
        x, starts=(*none, rows[0], columns[0]), limits=(*lead, rows[1], columns[1]), strides=(1,) * len(x.shape)
    )


def _blocks(x: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The square block in the corner, and what is below it or beside it (both, if the extents are unknown)."""
    m, n = x.shape[-2:]
    if m == n:
        return x, None, None
    k = _smaller(m, n)
    below, beside = _block(x, (k, m), (0, k)), _block(x, (0, k), (k, n))
    return _block(x, (0, k), (0, k)), None if k == m else below, None if k == n else beside


def _assembled(square: Tensor, below: Tensor | None, beside: Tensor | None) -> Tensor:
    rank, k = len(square.shape), square.shape[-1]
    if below is not None and beside is not None:  # one of them is empty, but it is not known which
        m, n, none = below.shape[-2], beside.shape[-1], (0,) * (rank - 2)
        parts = [
            pad(x, low=(*none, *low), high=(*none, *high), interior=(0,) * rank)
            for x, low, high in ((square, (0, 0), (m, n)), (below, (k, 0), (0, n)), (beside, (0, k), (m, 0)))
        ]
        return add(add(parts[0], parts[1]), parts[2])
    if below is not None:
        return concatenate(square, below, axis=rank - 2)
    return square if beside is None else concatenate(square, beside, axis=rank - 1)


def _over_upper(x: Tensor, packed: Tensor, is_adjoint: bool) -> Tensor:
    """x U^-1, or x U^-H."""
    return adjoint(triangular_solve(packed, adjoint(x), lower=False, trans=0 if is_adjoint else 2, unit_diagonal=False))


def _under_lower(packed: Tensor, x: Tensor, is_adjoint: bool) -> Tensor:
    """L^-1 x, or L^-H x."""
    return triangular_solve(packed, x, lower=True, trans=2 if is_adjoint else 0, unit_diagonal=True)


def _lu_vjp(ct: Sequence[Any], packed: Tensor, order: Tensor) -> tuple[Tensor]:
    """The adjoint of `_lu_jvp`."""
    to_packed = known_cotangent(ct[0])
    assert to_packed is not None
    factors, lower, right = _blocks(packed)
    to_factors, to_lower, to_right = _blocks(to_packed)
    inner = add(
        tril(matmul(adjoint(_unit_lower(factors)), tril(to_factors, k=-1)), k=-1),
        triu(matmul(triu(to_factors, k=0), adjoint(triu(factors, k=0))), k=0),
    )
    below = beside = None
    if lower is not None and to_lower is not None:
        inner = sub(inner, triu(matmul(adjoint(lower), to_lower), k=0))
        below = _over_upper(to_lower, factors, True)
    if right is not None and to_right is not None:
        inner = sub(inner, tril(matmul(to_right, adjoint(right)), k=-1))
        beside = _under_lower(factors, to_right, True)
    square = _over_upper(_under_lower(factors, inner, True), factors, True)
    return (unpermute_rows(_assembled(square, below, beside), order),)


def _lu_jvp(packed: Tensor, order: Tensor, a_dot: Tensor) -> tuple[Tensor, None, None]:
    # of the square corner S = L^-1 dA U^-1 is L^-1 dL, strictly lower, and dU U^-1, upper
    factors, lower, right = _blocks(packed)
    to_square, to_lower, to_right = _blocks(permute_rows(a_dot, order))
    both = _over_upper(_under_lower(factors, to_square, False), factors, False)
    left, above = tril(both, k=-1), triu(both, k=0)
    square = add(matmul(_unit_lower(factors), left), matmul(above, triu(factors, k=0)))
    below = beside = None
    if lower is not None and to_lower is not None:
        below = sub(_over_upper(to_lower, factors, False), matmul(lower, above))
    if right is not None and to_right is not None:
        beside = sub(_under_lower(factors, to_right, False), matmul(left, right))
    return _assembled(square, below, beside), None, None


lu = general(
    "lu", "a", outs="packed pivots order", can_raise=True, takes_missing=True, type=_lu_type, batch=batch_elementwise,
    vjp=_lu_vjp, jvp=_lu_jvp,
    samples=[((_spread_out(3, 3),), ()), ((_spread_out(2, 2, 2),), ()), ((_spread_out(4, 2),), ()),
             ((_spread_out(2, 2, 3),), ())],
    kink="the gradient at a singular matrix raises numpy.linalg.LinAlgError",
    doc="L (unit diagonal, not stored) and U in one matrix, the row that each row was exchanged with in turn, and "
        "the order of rows that results: a[order] = L U",
    mixes="matrices",
    flops=cubic(2 / 3),
)  # fmt: skip

# -- determinants ------------------------------------------------------------------------------------------------------


def _scaled_to(ct: Tensor, matrix: Tensor) -> Tensor:
    """A matrix times one number each."""
    beside = reshape(ct, shape=(*ct.shape, 1, 1)) if ct.shape else ct
    return mul(broadcast_to(beside, shape=matrix.shape), matrix)


def _det_type(name: str) -> Any:
    def type_rule(a: TensorType) -> TensorType:
        square_type(name, a)
        return tensor_type(a.shape[:-2], a.dtype)

    return type_rule


def _trace_of_product(x: Tensor, y: Tensor, times: Callable[[Tensor, Tensor], Tensor] = mul) -> Tensor:
    """The sum of the products of entries."""
    rank = len(x.shape)
    return reduce_sum(times(x, y), axes=(rank - 2, rank - 1))


def _any_square(*shape: int) -> Any:
    return lambda rng: rng.normal(size=shape)


def _of_all_ranks(n: int) -> Any:
    """One matrix of each rank, 1 to n."""
    return lambda rng: np.stack([rng.normal(size=(n, r)) @ rng.normal(size=(r, n)) for r in range(1, n + 1)])


det = general(
    "det", "a", type=_det_type("det"), batch=batch_elementwise,
    vjp=(lambda ct, a: _scaled_to(ct, conj_of(cofactor(a))),),
    jvp=lambda times, a, a_dot: _trace_of_product(a_dot, cofactor(a), times),
    samples=[((_any_square(3, 3),), ()), ((_any_square(2, 2, 2),), ()), ((_of_all_ranks(3),), ()),
             ((_any_square(1, 1),), ())],
    doc="the determinant of square matrices; its gradient, the cofactors, is exact at singular matrices",
    mixes="matrices",
    flops=cubic(2 / 3),
)  # fmt: skip


_FEW_ROWS = 8  # up to here the minors themselves are cheap


def _cofactor_change(a: Tensor, change: Tensor) -> Tensor:
    """The derivative of the cofactors in a direction: of small matrices through their minors, whose determinants are
    differentiated again and again without a division; of larger ones through singular values."""
    n = a.shape[-1]
    if n == 1:  # the cofactor is 1, whatever the number is
        return fill(change, 0)
    if isinstance(n, int) and n <= _FEW_ROWS:
        rates = _trace_of_product(cofactor(_minors(a, n)), _minors(change, n))
        return mul(rates, broadcast_to(cast(constant(minors(n)[0]), a.dtype), shape=rates.shape))
    return _cofactor_change_by_values(a, change)


def _minors(a: Tensor, n: int) -> Tensor:
    """At (..., i, j) the matrix without row i and column j."""
    rank = len(a.shape)
    _, kept = minors(n)
    rows = np.broadcast_to(kept[:, None, :, None], (n, n, n - 1, n - 1))
    columns = np.broadcast_to(kept[None, :, None, :], (n, n, n - 1, n - 1))
    first = transpose(a, perm=(rank - 2, rank - 1, *range(rank - 2)))
    found = gather(first, constant(rows), constant(columns))
    return transpose(found, perm=(*range(4, rank + 2), 0, 1, 2, 3))


def _cofactor_change_by_values(a: Tensor, change: Tensor) -> Tensor:
    """The derivative of the cofactors in a direction. In a basis where a is diagonal the cofactors of s + G are, to
    first order, P diag(G) on the diagonal less (P * G)^T off it, P_ij the product of all of s but i and j."""
    u, s, vh = svd(a)
    weight = mul(det(u), det(vh))
    seen = matmul(matmul(adjoint(u), change), adjoint(vh))
    others = cast(_products_but_two(s), a.dtype)
    line = diagonal(seen)
    on = matmul(others, reshape(line, shape=(*line.shape, 1)))
    inner = sub(make_diagonal(reshape(on, shape=line.shape)), mul(others, swap_last(seen)))
    return _scaled_to(weight, matmul(matmul(conj_of(u), inner), conj_of(vh)))


def _products_but_two(s: Tensor) -> Tensor:
    """At (i, j) the product of all of s but s_i and s_j, and 0 on the diagonal."""
    across, _ = pairs_of(s)
    ones = make_diagonal(fill(s, 1))
    skipped = add(mul(across, sub(fill(across, 1), ones)), ones)  # row i: s with s_i replaced by 1
    products = products_of_others(skipped, len(skipped.shape) - 1)
    return mul(products, sub(fill(products, 1), ones))


cofactor = general(
    "cofactor", "a", type=lambda a: (square_type("cofactor", a), tensor_type(a.shape, a.dtype))[1],
    batch=batch_elementwise,
    vjp=(lambda ct, a: conj_of(_cofactor_change(a, conj_of(ct))),),
    jvp=lambda a, a_dot: _cofactor_change(a, a_dot),
    samples=[((_spread_out(3, 3),), ()), ((_spread_out(2, 2, 2),), ()), ((_spread_out(9, 9),), ()),
             ((_any_square(1, 1),), ())],
    doc="the cofactors of square matrices, the gradient of the determinant: det(a) inv(a)^T, also where a is singular",
    mixes="matrices",
    flops=cubic(20),
)  # fmt: skip


def _inverse_change(out: Tensor, change: Tensor) -> Tensor:
    return neg(matmul(out, matmul(change, out)))


inv_or_inf = general(
    "inv_or_inf", "a", type=lambda a: (square_type("inv_or_inf", a), tensor_type(a.shape, a.dtype))[1],
    batch=batch_elementwise, vjp=(lambda ct, out: neg(matmul(adjoint(out), matmul(ct, adjoint(out)))),),
    jvp=lambda out, a_dot: _inverse_change(out, a_dot), samples=_inv.facts.samples,
    kink="infinities and NaN for a singular matrix",
    doc="the inverse of square matrices; of a singular one its cofactors divided by zero",
    mixes="matrices",
    flops=cubic(2),
)  # fmt: skip


def _slogdet_type(a: TensorType) -> Any:
    square_type("slogdet", a)
    return (tensor_type(a.shape[:-2], a.dtype), tensor_type(a.shape[:-2], dtypes.real_of(a.dtype)))


def _slogdet_vjp(ct: Sequence[Any], a: Tensor, sign: Tensor) -> tuple[Any]:
    to_sign, to_log = map(known_cotangent, ct)
    if not dtypes.is_complex(a.dtype):
        return (ZERO if to_log is None else _scaled_to(to_log, swap_last(inv_or_inf(a))),)
    # log(det) = log|det| + i angle, and the sign is e^(i angle)
    angle = None if to_sign is None else imag(mul(to_sign, conj_of(sign)))
    size = to_log if to_log is not None else fill(angle, 0) if angle is not None else None
    assert size is not None
    return (_scaled_to(as_complex(size, fill(size, 0) if angle is None else angle), adjoint(inv_or_inf(a))),)


def _slogdet_jvp(
    times: Callable[[Tensor, Tensor], Tensor], a: Tensor, sign: Tensor, a_dot: Tensor
) -> tuple[Tensor, Tensor]:
    rate = _trace_of_product(a_dot, swap_last(inv_or_inf(a)), times)
    if not dtypes.is_complex(a.dtype):
        return fill(sign, 0), rate
    angle = imag(rate)
    return mul(sign, as_complex(fill(angle, 0), angle)), real(rate)


slogdet = general(
    "slogdet", "a", outs="sign logabsdet", takes_missing=True, type=_slogdet_type, batch=batch_elementwise,
    vjp=_slogdet_vjp, jvp=_slogdet_jvp, samples=_inv.facts.samples,
    kink="infinities and NaN for a singular matrix",
    doc="the sign (of complex matrices the phase) of the determinant and the logarithm of its magnitude",
    mixes="matrices",
    flops=cubic(2 / 3),
)  # fmt: skip

# -- pseudo-inverse ----------------------------------------------------------------------------------------------------


def _pinv_type(a: TensorType, rcond: float) -> TensorType:
    _matrix_type("pinv", a)
    return tensor_type((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)


def _pinv_vjp(ct: Tensor, a: Tensor, out: Tensor) -> Tensor:
    """The adjoint of `_pinv_jvp`."""
    plain = neg(matmul(adjoint(out), matmul(ct, adjoint(out))))
    back = adjoint(ct)
    off_range = matmul(back, matmul(out, adjoint(out)))
    off_range = sub(off_range, matmul(a, matmul(out, off_range)))
    off_rows = matmul(matmul(adjoint(out), out), back)
    off_rows = sub(off_rows, matmul(matmul(off_rows, out), a))
    return add(plain, add(off_range, off_rows))


def _pinv_jvp(a: Tensor, out: Tensor, a_dot: Tensor) -> Tensor:
    # -P da P + P P^H da^H (1 - a P) + (1 - P a) da^H P^H P, while the rank stays
    back = adjoint(a_dot)
    left = matmul(matmul(out, adjoint(out)), back)
    left = sub(left, matmul(matmul(left, a), out))
    right = matmul(back, matmul(adjoint(out), out))
    right = sub(right, matmul(out, matmul(a, right)))
    return add(_inverse_change(out, a_dot), add(left, right))


pinv = general(
    "pinv", "a", attrs="rcond", can_raise=True, type=_pinv_type, batch=batch_elementwise, vjp=(_pinv_vjp,),
    jvp=_pinv_jvp,
    samples=[((_spread_out(3, 3),), (1e-14,)), ((_spread_out(2, 4, 2),), (1e-14,)), ((_spread_out(2, 3),), (1e-14,))],
    kink="the derivative at constant rank; where the rank changes the pseudo-inverse jumps",
    doc="the pseudo-inverse; singular values up to rcond times the largest count as 0",
    mixes="matrices",
    flops=cubic(22),
)  # fmt: skip
