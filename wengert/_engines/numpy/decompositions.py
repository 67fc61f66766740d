"""NumPy kernels of `_prims/decompositions.py`, `eigen.py` and `matrix_functions.py`: LAPACK through NumPy or SciPy."""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._core import dtypes
from ..._prims.minors import minors
from ..cofactors import MINORS, MODEST, ROUNDING, Calls, by_singular_values
from .common import in_float32, some_at_once, widened


def _all_in_float32(function: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """As `in_float32`, for kernels with several results; integers stay as they are."""

    def kernel(x: np.ndarray[Any, Any], *rest: bool) -> tuple[Any, ...]:
        results = function(widened(x), *rest)
        if not dtypes.is_half(x.dtype):
            return results
        return (*[r.astype(x.dtype) if r.dtype.kind == "f" else r for r in results],)

    return kernel


def _eigh(a: np.ndarray[Any, Any], lower: bool) -> tuple[Any, ...]:
    values, vectors = np.linalg.eigh(a, UPLO="L" if lower else "U")
    return values, vectors


def _eig(a: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    values, vectors = np.linalg.eig(a)
    dtype = dtypes.complex_of(a.dtype)
    return values.astype(dtype, copy=False), vectors.astype(dtype, copy=False)


def _expm(a: np.ndarray[Any, Any]) -> Any:
    from scipy.linalg import expm

    return expm(a) if a.size else np.empty_like(a)


def _one_by_one(function: Callable[..., Any]) -> Any:
    """A function of matrices for all matrices of a batch; what has no result of the operands' kind is an error."""

    def kernel(*operands: np.ndarray[Any, Any]) -> Any:
        first = operands[-1]
        lead = first.shape[:-2]
        out = np.empty(first.shape, first.dtype)
        for index in np.ndindex(*lead) if lead else ((),):
            found = function(*[x[index] for x in operands])
            if found.dtype.kind == "c" and out.dtype.kind != "c":
                _require_real_result(operands[-1][index])
                found = found.real  # what else there is comes from rounding
            out[index] = found
        _require_finite(out, operands)
        return out

    return kernel


def _require_finite(out: np.ndarray[Any, Any], operands: tuple[Any, ...]) -> None:
    if not np.isfinite(out).all() and all(np.isfinite(x).all() for x in operands):
        raise np.linalg.LinAlgError("Singular matrix")


def _require_real_result(a: np.ndarray[Any, Any]) -> None:
    values = np.linalg.eigvals(a)
    if np.any((values.imag == 0) & (values.real < 0)):
        raise np.linalg.LinAlgError("a negative eigenvalue: pass the matrix as complex numbers for a complex result")


def _diagonal_of(a: np.ndarray[Any, Any]) -> Any:
    """The diagonal, as complex numbers where one is negative, of a matrix that has nothing beside it; else None."""
    diagonal = a.diagonal()
    if np.count_nonzero(a) != np.count_nonzero(diagonal) or np.isnan(diagonal).any():
        return None
    return diagonal if (diagonal.real >= 0).all() else diagonal.astype(complex)


def _with_diagonal(values: np.ndarray[Any, Any]) -> Any:
    out = np.zeros((len(values), len(values)), values.dtype)
    out.ravel()[:: len(values) + 1] = values
    return out


def _writable(a: np.ndarray[Any, Any]) -> Any:
    """A matrix as SciPy 1.13 takes it, which writes into none and yet takes none that is read-only."""
    return a if a.flags.writeable else a.copy()


_AS_ZERO = np.float64(1e-20)  # what SciPy takes the logarithm of in place of an eigenvalue 0


def _logm(a: np.ndarray[Any, Any]) -> Any:
    from scipy.linalg import logm

    if not a.size:
        return a
    diagonal = _diagonal_of(a)
    if diagonal is not None:  # SciPy takes a millisecond
        return _with_diagonal(np.log(np.where(diagonal == 0, _AS_ZERO, diagonal)))
    if not np.isfinite(a).all():  # SciPy says so, but of triangles with infinities it looks for roots for ever
        raise ValueError("array must not contain infs or NaNs")
    power = _far_power(a)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's estimate of the error, and its word for singular matrices
        if not power:
            return logm(_writable(a))
        return logm(a * a.real.dtype.type(2.0**-power)) + power * np.log(2) * np.eye(len(a))


_FAR = 64  # powers of two of the largest element from which on powers of a matrix may not fit


def _far_power(a: np.ndarray[Any, Any]) -> int:
    """A power of two which is far from 1 and near the largest element; 0 if that is not far from 1.

    For matrices far out SciPy's logarithm may look for roots for ever.
    """
    power = int(np.frexp(np.abs(a).max())[1])
    most = int(np.finfo(a.dtype).maxexp) - 2
    return min(max(power, -most), most) if abs(power) > _FAR else 0


def _sqrtm(a: np.ndarray[Any, Any]) -> Any:
    from scipy.linalg import sqrtm

    if not a.size:
        return a
    diagonal = _diagonal_of(a)
    if diagonal is not None:  # where zeros are equal eigenvalues, some releases of SciPy divide by them
        return _with_diagonal(np.sqrt(diagonal))
    if not np.isfinite(a).all() and np.tril(a, -1).any():
        # as SciPy's, which for some looks for eigenvalues for ten milliseconds and then gives up
        return np.full_like(a, np.nan * (1 + 1j) if a.dtype.kind == "c" else np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sqrtm(_writable(a))


def _sylvester(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], c: np.ndarray[Any, Any], or_nan: bool) -> Any:
    out = np.empty(c.shape, c.dtype)
    for index in np.ndindex(*c.shape[:-2]):
        out[index] = _sylvester_one(a[index], b[index], c[index])
    if not or_nan:
        _require_finite(out, (a, b, c))
    return out


def _sylvester_one(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], c: np.ndarray[Any, Any]) -> Any:
    """As SciPy's `solve_sylvester`, which divides by a number near 0 of its own choice where there is no solution."""
    from scipy.linalg import get_lapack_funcs, schur

    if not c.any():  # also where the other side is singular: what a choice left out has no influence
        return c
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return np.full_like(c, np.nan)
    if c.size == 1:
        return c / (a + b)
    r, u = schur(_writable(a), output="real")[:2]
    s, v = schur(_writable(b.conj().T), output="real")[:2]
    f = u.conj().T @ c @ v
    y, scale, was_changed = get_lapack_funcs(("trsyl",), (r, s, f))[0](r, s, f, tranb="C")
    return np.full_like(c, np.nan) if was_changed else u @ (scale * y) @ v.conj().T


def _ending(a: np.ndarray[Any, Any]) -> Any:
    """A matrix for LAPACK's singular values, which do not end for infinities; NaN is refused ("did not converge")."""
    is_infinite = np.isinf(a)
    return np.where(is_infinite, a.dtype.type(np.nan), a) if is_infinite.any() else a


def _svd(a: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    u, s, vh = np.linalg.svd(_ending(a), full_matrices=False)
    return u, s, vh


def _qr(a: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    if a.shape[-2] < a.shape[-1]:
        raise ValueError(f"qr: a has shape {a.shape}, wanted at least as many rows as columns")
    q, r = np.linalg.qr(a)
    return q, r


def _complement(q: np.ndarray[Any, Any]) -> Any:
    return np.linalg.qr(q, mode="complete")[0][..., q.shape[-1] :]


def _lu(a: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    *lead, m, n = a.shape
    k = min(m, n)
    packed, pivots = np.empty(a.shape, a.dtype), np.empty((*lead, k), np.int32)
    order = np.empty((*lead, m), np.int64)
    if not a.size:
        order[...] = np.arange(m)
        return packed, pivots, order
    getrf = _getrf(a.dtype.char)
    rows = zip(a.reshape(-1, m, n), packed.reshape(-1, m, n), pivots.reshape(-1, k), order.reshape(-1, m), strict=True)
    for matrix, factors, exchanged, places in rows:
        factors[...], exchanged[...], _ = getrf(matrix)
        permutation = [*range(m)]
        for i, j in enumerate(exchanged.tolist()):
            permutation[i], permutation[j] = permutation[j], permutation[i]
        places[...] = permutation
    return packed, pivots, order


@functools.cache
def _getrf(dtype: str) -> Any:
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs("getrf", dtype=dtype)


def _rows(x: np.ndarray[Any, Any], order: np.ndarray[Any, Any]) -> Any:
    return np.take_along_axis(x, order[..., None], axis=-2)


def _unrows(x: np.ndarray[Any, Any], order: np.ndarray[Any, Any]) -> Any:
    return _rows(x, np.argsort(order, axis=-1))


def _cofactor(a: np.ndarray[Any, Any]) -> Any:
    """The cofactors, of one matrix that is far from singular by its inverse, at a fraction of the cost."""
    if a.ndim == 2 and a.dtype.itemsize == (16 if a.dtype.kind == "c" else 8) and a.size:
        det, inverse = _det_and_inverse(a)
        if det and np.vdot(a, a).real * np.vdot(inverse, inverse).real < MODEST**2:
            return det * inverse.T
    return _cofactor_by_values(a)


_SMALL = 32  # rows up to which one LU for both is quicker than NumPy's two, which are blocked


def _det_and_inverse(a: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """Both of one matrix; a determinant of 0 where there is no inverse."""
    if len(a) > _SMALL or (lapack := _lapack()) is None:
        try:
            return np.linalg.det(a), np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return 0, a
    getrf, getri = lapack[a.dtype.kind]
    factors, exchanged, is_singular = getrf(a)
    if is_singular:
        return 0, a
    exchanges = sum(map(operator.ne, exchanged.tolist(), range(len(a))))
    det = np.multiply.reduce(factors.diagonal())
    return (-det if exchanges % 2 else det), getri(factors, exchanged)[0]


@functools.cache
def _lapack() -> dict[str, Any] | None:
    """The steps of an LU for real and complex numbers, where SciPy is installed."""
    try:
        from scipy.linalg import get_lapack_funcs
    except ImportError:
        return None
    return {
        kind: get_lapack_funcs(("getrf", "getri"), dtype=np.dtype(name)) for kind, name in (("f", "f8"), ("c", "c16"))
    }


def _cofactor_by_values(a: np.ndarray[Any, Any]) -> Any:
    """The same by singular values: exact at singular matrices, too."""
    is_odd: Any = ~np.isfinite(a).all((-2, -1))
    if is_odd.any():  # which have no singular values
        found = np.empty_like(a) if is_odd.all() else _cofactor_by_values(np.where(is_odd[..., None, None], 0, a))
        found[is_odd] = [_cofactor_by_minors(matrix) for matrix in a[is_odd]]
        return found
    return by_singular_values(a, _CALLS)


_CALLS = Calls(
    svd=lambda a: np.linalg.svd(_ending(a)), det=np.linalg.det, conj=np.conj, cumprod=lambda x: np.cumprod(x, -1),
    flip=lambda x: x[..., ::-1], concatenate=lambda xs: np.concatenate(xs, -1), ones_like=np.ones_like,
    as_dtype_of=lambda x, _: x,
)  # fmt: skip


_AT_ONCE = 1 << 16  # numbers of minors that are made at a time


def _cofactor_by_minors(a: np.ndarray[Any, Any]) -> Any:
    """The same of one matrix by determinants: an infinity is in those alone that it belongs to."""
    signs, others = minors(len(a))
    n, columns = len(a), others[:, None, :]
    step = max(1, _AT_ONCE // n**3)  # rows of the result
    rows = [np.linalg.det(a[others[i : i + step, None, :, None], columns]) for i in range(0, n, step)]
    return np.concatenate(rows) * signs.astype(a.dtype)


def _inv_or_inf(a: np.ndarray[Any, Any]) -> Any:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        if a.ndim > 2:
            return np.stack([_inv_or_inf(matrix) for matrix in a])
        with np.errstate(all="ignore"):
            return _cofactor_of_singular(a).T / a.dtype.type(0)


def _cofactor_of_singular(a: np.ndarray[Any, Any]) -> Any:
    """The cofactors of one matrix without an inverse: 0, and not what rounding leaves, where they are none.

    An infinity and NaN must not hang on that; machine code goes the same ways (`lower/cofactors.py`).
    """
    if not np.isfinite(a).all():
        return _cofactor(a)
    if len(a) <= MINORS:
        return _singular_minors(a)
    packed, rows, columns, sign = _eliminated(a.astype(np.result_type(a.dtype, np.float64)), ROUNDING[a.real.itemsize])
    pivots = packed.diagonal()
    ahead, behind = np.ones_like(pivots), np.ones_like(pivots)
    ahead[1:], behind[:-1] = np.cumprod(pivots[:-1]), np.cumprod(pivots[:0:-1])[::-1]
    lower = _inverse_of_unit_triangle(packed, range(len(a)), True)
    upper = _inverse_of_unit_triangle(packed, range(len(a))[::-1], False)
    found = np.empty_like(a)
    found[np.ix_(rows, columns)] = sign * (lower.T * (ahead * behind)) @ upper.T
    return found


def _singular_minors(a: np.ndarray[Any, Any]) -> Any:
    places = range(len(a))

    def minor(x: np.ndarray[Any, Any], down: Sequence[int], across: Sequence[int], odd: int) -> Any:
        """By the first row, every second term times `odd`."""
        total = x.dtype.type(0 if down else 1)
        for place, j in enumerate(across):
            term = x[down[0], j] * minor(x, down[1:], [k for k in across if k != j], odd)
            total = total + (odd * term if place % 2 else term)
        return total

    sizes, found = np.abs(a.real) + np.abs(a.imag), np.empty_like(a)
    for i in places:
        for j in places:
            chosen = [k for k in places if k != i], [k for k in places if k != j]
            x = minor(a, *chosen, -1)
            size = np.abs(x.real) + np.abs(x.imag)
            is_rounding = len(a) > 2 and size <= minor(sizes, *chosen, 1) * ROUNDING[a.real.itemsize]
            found[i, j] = 0 if is_rounding else -x if (i + j) % 2 else x
    return found


def _eliminated(m: np.ndarray[Any, Any], tiny: float) -> tuple[Any, Any, Any, int]:
    """L, D and U of a matrix, packed into it, with the largest pivots of all rows and columns; these, and the sign of
    their order. Pivots that are but `tiny` beside the first one are 0."""
    n, sign, first = len(m), 1, 0.0
    rows, columns = np.arange(n), np.arange(n)
    for k in range(n):
        sizes = np.abs(m[k:, k:].real) + np.abs(m[k:, k:].imag)
        i, j = (k + int(x) for x in np.unravel_index(np.argmax(sizes), sizes.shape))
        sign *= (-1 if i != k else 1) * (-1 if j != k else 1)
        m[[k, i]], rows[[k, i]] = m[[i, k]], rows[[i, k]]
        m[:, [k, j]], columns[[k, j]] = m[:, [j, k]], columns[[j, k]]
        first = first if k else sizes.max()
        if sizes.max() <= tiny * first:
            m[k, k] = 0
        over = 1 / m[k, k] if m[k, k] else 1
        m[k + 1 :, k] *= over
        m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])
        m[k, k + 1 :] *= over
    return m, rows, columns, sign


def _inverse_of_unit_triangle(packed: np.ndarray[Any, Any], order: Sequence[int], is_lower: bool) -> Any:
    """Row by row, in the order in which each reads those before it."""
    found = np.eye(len(packed), dtype=packed.dtype)
    for i in order:
        others = slice(0, i) if is_lower else slice(i + 1, None)
        found[i] -= packed[i, others] @ found[others]
    return found


def _slogdet(a: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    sign, size = np.linalg.slogdet(a)
    return np.asarray(sign), np.asarray(size)


KERNELS: dict[str, Any] = {
    "eig": some_at_once(lambda a: _eig(widened(a))),
    "logm": in_float32(_one_by_one(_logm)),
    "sqrtm": in_float32(_one_by_one(_sqrtm)),
    "sylvester": in_float32(_sylvester),
    "expm": in_float32(some_at_once(_expm)),
    "eigh": _all_in_float32(some_at_once(_eigh)),
    "svd": _all_in_float32(some_at_once(_svd)),
    "qr": _all_in_float32(some_at_once(_qr)),
    "complement": in_float32(some_at_once(_complement)),
    "lu": _all_in_float32(_lu),
    "permute_rows": _rows,
    "unpermute_rows": _unrows,
    "det": in_float32(some_at_once(np.linalg.det)),
    "cofactor": in_float32(some_at_once(_cofactor)),
    "inv_or_inf": in_float32(some_at_once(_inv_or_inf)),
    "pinv": in_float32(some_at_once(lambda a, rcond: np.linalg.pinv(_ending(a), rcond=rcond))),
    "slogdet": _all_in_float32(some_at_once(_slogdet)),
}
