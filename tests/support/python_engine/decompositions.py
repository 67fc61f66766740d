"""Factorisations and determinants of the plain-Python engine: Jacobi's rotations, Householder's reflections, Doolittle.

Matrices are the last two axes; what stands before them is a batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any

from tests.support.python_engine.array import PyArray, make
from tests.support.python_engine.interop import LinAlgError
from tests.support.python_engine.linear import Matrix, dot
from tests.support.python_engine.linear import _matrices as matrices
from tests.support.python_engine.linear import inv as inverse
from wengert._core import dtypes

Vector = list[Any]


def _each(x: PyArray) -> tuple[tuple[int, ...], list[Matrix]]:
    """The leading axes and the matrices."""
    *lead, m, n = x.shape
    return tuple(lead), matrices(x, prod(lead), m, n)


def _joined(lead: tuple[int, ...], shape: tuple[int, ...], dtype: Any, parts: list[Any]) -> PyArray:
    """Numbers, vectors or matrices (all of one shape) as one array."""
    flat = list(parts)
    for _ in shape:
        flat = [v for part in flat for v in part]
    return make((*lead, *shape), dtype, flat)


def _columns(a: Matrix, count: int) -> list[Vector]:
    return [[row[j] for row in a] for j in range(count)]


def _inner(x: Vector, y: Vector) -> Any:
    return dot([v.conjugate() for v in x], y)


def _norm(x: Vector) -> float:
    return math.sqrt(sum(abs(v) ** 2 for v in x))


# -- rotations ---------------------------------------------------------------------------------------------------------

_SWEEPS = 60


def _rotation(app: float, aqq: float, apq: Any) -> tuple[float, Any]:
    """(c, s) of the rotation that makes two directions orthogonal; s carries the phase of apq."""
    size = abs(apq)
    tau = (aqq - app) / (2 * size)
    t = math.copysign(1.0, tau) / (abs(tau) + math.hypot(1.0, tau))
    c = 1 / math.hypot(1.0, t)
    return c, t * c * (apq / size)


def _rotate(columns: list[Vector], p: int, q: int, c: float, s: Any) -> None:
    """The columns p and q become c p - conj(s) q and s p + c q."""
    x, y = columns[p], columns[q]
    columns[p] = [c * a - s.conjugate() * b for a, b in zip(x, y, strict=True)]
    columns[q] = [s * a + c * b for a, b in zip(x, y, strict=True)]


def _eigh_one(a: Matrix, lower: bool) -> tuple[Vector, Matrix]:
    n = len(a)
    full = [[a[i][j] if (i >= j) == lower or i == j else a[j][i].conjugate() for j in range(n)] for i in range(n)]
    for i in range(n):
        full[i][i] = full[i][i].real
    vectors = [[float(i == j) for i in range(n)] for j in range(n)]  # as columns
    for _ in range(_SWEEPS):
        is_done = True
        for p in range(n):
            for q in range(p + 1, n):
                image = [dot(row, vectors[q]) for row in full]
                apq = _inner(vectors[p], image)
                app = _inner(vectors[p], [dot(row, vectors[p]) for row in full]).real
                aqq = _inner(vectors[q], image).real
                if abs(apq) > 1e-17 * (abs(app) + abs(aqq)) and abs(apq) > 1e-300:
                    is_done = is_done and abs(apq) < 1e-15 * (abs(app) + abs(aqq))
                    _rotate(vectors, p, q, *_rotation(app, aqq, apq))
        if is_done:
            break
    values = [_inner(v, [dot(row, v) for row in full]).real for v in vectors]
    order = sorted(range(n), key=values.__getitem__)
    return [values[i] for i in order], [[vectors[j][i] for j in order] for i in range(n)]


def eigh(a: PyArray, lower: bool) -> tuple[PyArray, PyArray]:
    """Eigenvalues and eigenvectors of Hermitian matrices by Jacobi's rotations."""
    lead, each = _each(a)
    found = [_eigh_one(m, lower) for m in each]
    n = a.shape[-1]
    values = _joined(lead, (n,), dtypes.real_of(a.dtype), [v for v, _ in found])
    return values, _joined(lead, (n, n), a.dtype, [m for _, m in found])


def _svd_one(a: Matrix, n: int) -> tuple[list[Vector], Vector, list[Vector]]:
    """The columns of U, the singular values and the columns of V, for no more columns than rows."""
    turned = _columns(a, n)
    v = [[float(i == j) for i in range(n)] for j in range(n)]
    for _ in range(_SWEEPS):
        is_done = True
        for p in range(n):
            for q in range(p + 1, n):
                app, aqq, apq = _norm(turned[p]) ** 2, _norm(turned[q]) ** 2, _inner(turned[p], turned[q])
                if abs(apq) > 1e-16 * math.sqrt(app * aqq) and abs(apq) > 1e-300:
                    is_done = is_done and abs(apq) < 1e-15 * math.sqrt(app * aqq)
                    c, s = _rotation(app, aqq, apq)
                    _rotate(turned, p, q, c, s)
                    _rotate(v, p, q, c, s)
        if is_done:
            break
    sizes = [_norm(x) for x in turned]
    order = sorted(range(n), key=lambda j: -sizes[j])
    u: list[Vector] = []
    for j in order:
        is_zero = sizes[j] <= 1e-15 * max(sizes)
        u.append(_orthogonal_to(u, len(a)) if is_zero else [x / sizes[j] for x in turned[j]])
    return u, [sizes[j] for j in order], [v[j] for j in order]


def _orthogonal_to(basis: list[Vector], m: int) -> Vector:
    """A unit vector orthogonal to orthonormal ones: what is left of the coordinate vector they explain least."""
    best: Vector = []
    for i in range(m):
        x: Vector = [float(k == i) for k in range(m)]
        for _ in range(2):
            for b in basis:
                share = _inner(b, x)
                x = [p - share * q for p, q in zip(x, b, strict=True)]
        if not best or _norm(x) > _norm(best):
            best = x
    size = _norm(best)
    return [p / size for p in best]


def svd(a: PyArray) -> tuple[PyArray, PyArray, PyArray]:
    """Singular values and vectors by one-sided Jacobi rotations."""
    lead, each = _each(a)
    m, n = a.shape[-2:]
    k = min(m, n)
    us, ss, vhs = [], [], []
    for matrix in each:
        if m >= n:
            u, s, v = _svd_one(matrix, n)
        else:
            v, s, u = _svd_one([[x.conjugate() for x in column] for column in _columns(matrix, n)], m)
        us.append([[column[i] for column in u] for i in range(m)])
        ss.append(s)
        vhs.append([[x.conjugate() for x in column] for column in v])
    real = dtypes.real_of(a.dtype)
    return _joined(lead, (m, k), a.dtype, us), _joined(lead, (k,), real, ss), _joined(lead, (k, n), a.dtype, vhs)


def pinv(a: PyArray, rcond: float) -> PyArray:
    """Pseudo-inverses from singular values and vectors."""
    lead, _ = _each(a)
    m, n = a.shape[-2:]
    u, s, vh = svd(a)
    results = []
    for left, sizes, right in zip(_each(u)[1], _rows_of(s), _each(vh)[1], strict=True):
        floor = rcond * max(sizes, default=0.0)
        inverses = [1 / x if x > floor else 0.0 for x in sizes]
        results.append([
            [sum(right[k][i].conjugate() * inverses[k] * left[j][k].conjugate() for k in range(len(sizes)))
             for j in range(m)]
            for i in range(n)
        ])  # fmt: skip
    return _joined(lead, (n, m), a.dtype, results)


def _rows_of(x: PyArray) -> list[Vector]:
    n = x.shape[-1]
    return [x.flat[i * n : (i + 1) * n] for i in range(prod(x.shape[:-1]))]


# -- reflections -------------------------------------------------------------------------------------------------------


def _reflector(x: Vector) -> tuple[Any, Vector, Any]:
    """(beta, v, tau) with (I - conj(tau) v v^H) x = beta e_1 and beta real, as LAPACK chooses them."""
    alpha, rest = x[0], x[1:]
    if not any(rest) and alpha.imag == 0:
        return alpha, [1.0, *rest], 0.0
    beta = -math.copysign(_norm(x), alpha.real)
    return beta, [1.0, *(v / (alpha - beta) for v in rest)], (beta - alpha) / beta


def _reflect(x: Vector, v: Vector, tau: Any, start: int) -> Vector:
    """(I - tau v v^H) x, where v begins at a place."""
    share = tau * _inner(v, x[start:])
    return [*x[:start], *(a - share * b for a, b in zip(x[start:], v, strict=True))]


def _qr_one(a: Matrix, n: int) -> tuple[list[Vector], list[Vector]]:
    """All columns of Q and the columns of R, for no more columns than rows."""
    m = len(a)
    columns, reflectors = _columns(a, n), []
    for k in range(n):
        beta, v, tau = _reflector(columns[k][k:])
        reflectors.append((v, tau, k))
        columns[k] = [*columns[k][:k], beta, *(0.0,) * (m - k - 1)]
        columns[k + 1 :] = [_reflect(c, v, tau.conjugate(), k) for c in columns[k + 1 :]]
    q: list[Vector] = [[float(i == j) for i in range(m)] for j in range(m)]
    for v, tau, k in reversed(reflectors):
        q = [_reflect(c, v, tau, k) for c in q]
    return q, columns


def qr(a: PyArray) -> tuple[PyArray, PyArray]:
    """Q and R by Householder's reflections."""
    lead, each = _each(a)
    m, n = a.shape[-2:]
    if m < n:
        raise ValueError(f"qr: a has shape {a.shape}, wanted at least as many rows as columns")
    found = [_qr_one(matrix, n) for matrix in each]
    qs = [[[q[j][i] for j in range(n)] for i in range(m)] for q, _ in found]
    rs = [[[r[j][i] for j in range(n)] for i in range(n)] for _, r in found]
    return _joined(lead, (m, n), a.dtype, qs), _joined(lead, (n, n), a.dtype, rs)


def complement(q: PyArray) -> PyArray:
    """Orthonormal columns that complete those of q."""
    lead, each = _each(q)
    m, n = q.shape[-2:]
    full = [_qr_one(matrix, n)[0] for matrix in each]
    return _joined(lead, (m, m - n), q.dtype, [[[c[j][i] for j in range(n, m)] for i in range(m)] for c in full])


# -- elimination -------------------------------------------------------------------------------------------------------


def _lu_one(a: Matrix) -> tuple[Matrix, list[int], list[int]]:
    """Doolittle's factors in one matrix, the exchanges and the order of rows; singular matrices too."""
    rows, order, pivots = [list(row) for row in a], list(range(len(a))), []
    for k in range(min(len(rows), len(rows[0])) if rows else 0):
        # LAPACK measures complex numbers by |re| + |im|
        pivot = max(range(k, len(rows)), key=lambda i: abs(rows[i][k].real) + abs(rows[i][k].imag))
        pivots.append(pivot)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        order[k], order[pivot] = order[pivot], order[k]
        if rows[k][k] == 0:
            continue
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            changed = [x - factor * y for x, y in zip(rows[i][k + 1 :], rows[k][k + 1 :], strict=True)]
            rows[i] = [*rows[i][:k], factor, *changed]
    return rows, pivots, order


def lu(a: PyArray) -> tuple[PyArray, PyArray, PyArray]:
    """L and U in one matrix, the exchanges of rows and the order that results."""
    lead, each = _each(a)
    found = [_lu_one(matrix) for matrix in each]
    m, n = a.shape[-2:]
    return (
        _joined(lead, (m, n), a.dtype, [f[0] for f in found]),
        _joined(lead, (min(m, n),), dtypes.int32, [f[1] for f in found]),
        _joined(lead, (m,), dtypes.int64, [f[2] for f in found]),
    )


def _ordered(x: PyArray, order: PyArray, is_inverse: bool) -> PyArray:
    lead, each = _each(x)
    m, n = x.shape[-2:]
    result = []
    for at, matrix in enumerate(each):
        places = order.flat[at * m : (at + 1) * m]
        places = sorted(range(m), key=places.__getitem__) if is_inverse else places
        result.append([matrix[i] for i in places])
    return _joined(lead, (m, n), x.dtype, result)


def _det_one(a: Matrix) -> Any:
    packed, pivots, _ = _lu_one(a)
    swaps = sum(i != j for i, j in enumerate(pivots))
    return (-1) ** swaps * prod((packed[i][i] for i in range(len(a))), start=1.0)


def det(a: PyArray) -> PyArray:
    """Determinants by elimination."""
    lead, each = _each(a)
    return _joined(lead, (), a.dtype, [_det_one(matrix) for matrix in each])


def _cofactor_one(a: Matrix) -> Matrix:
    def minor(i: int, j: int) -> Matrix:
        return [[v for q, v in enumerate(row) if q != j] for p, row in enumerate(a) if p != i]

    return [[(-1) ** (i + j) * _det_one(minor(i, j)) for j in range(len(a))] for i in range(len(a))]


def cofactor(a: PyArray) -> PyArray:
    """Cofactors, each the determinant of a smaller matrix."""
    lead, each = _each(a)
    return _joined(lead, a.shape[-2:], a.dtype, [_cofactor_one(matrix) for matrix in each])


def inv_or_inf(a: PyArray) -> PyArray:
    """Inverses; of a singular matrix its cofactors divided by zero."""
    lead, each = _each(a)
    return _joined(lead, a.shape[-2:], a.dtype, [_inverse_one(matrix, a.dtype) for matrix in each])


def _inverse_one(a: Matrix, dtype: Any) -> Matrix:
    n = len(a)
    try:
        flat = inverse(make((n, n), dtype, [v for row in a for v in row])).flat
        return [flat[i * n : (i + 1) * n] for i in range(n)]
    except LinAlgError:
        return [list(map(_over_zero, column)) for column in _columns(_cofactor_one(a), n)]


def _over_zero(x: Any) -> Any:
    if isinstance(x, complex):
        return complex(_over_zero(x.real), _over_zero(x.imag))
    return math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x)


def slogdet(a: PyArray) -> tuple[PyArray, PyArray]:
    """The sign of the determinants and the logarithm of their size."""
    lead, each = _each(a)
    signs, sizes = [], []
    for matrix in each:
        packed, pivots, _ = _lu_one(matrix)
        line = [packed[i][i] for i in range(len(matrix))]
        swaps = sum(i != j for i, j in enumerate(pivots))
        is_singular = any(v == 0 for v in line)
        signs.append(0.0 if is_singular else (-1) ** swaps * prod((v / abs(v) for v in line), start=1.0))
        sizes.append(-math.inf if is_singular else math.fsum(math.log(abs(v)) for v in line))
    return _joined(lead, (), a.dtype, signs), _joined(lead, (), dtypes.real_of(a.dtype), sizes)


# -- matrices of no symmetry -------------------------------------------------------------------------------------------


def _product(a: Matrix, b: Matrix) -> Matrix:
    columns = list(zip(*b, strict=True))
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in a]


def _schur(a: Matrix) -> tuple[Matrix, Matrix]:
    """(T, Z) with a = Z T Z^H and T upper triangular: QR steps with Wilkinson's shift, from the last row upwards."""
    n = len(a)
    t = [[complex(v) for v in row] for row in a]
    z: Matrix = [[complex(i == j) for j in range(n)] for i in range(n)]
    size = n
    for step in range(200 * n):
        while size > 1 and _norm(t[size - 1][: size - 1]) <= 1e-16 * (_norm(t[size - 1]) + _norm(t[size - 2])):
            t[size - 1][: size - 1] = [0j] * (size - 1)
            size -= 1
        if size < 2:
            return t, z
        shift = _shift(t, size) if step % 11 else t[size - 1][size - 1] + _norm(t[size - 1][: size - 1])
        active = [[t[i][j] - (shift if i == j else 0) for j in range(size)] for i in range(size)]
        columns, _ = _qr_one(active, size)
        q = [[columns[j][i] for j in range(size)] for i in range(size)]
        back = [[x.conjugate() for x in column] for column in columns]
        turned = _product(back, [row[:] for row in t[:size]])  # Q^H, applied to the rest of the rows as well
        t[:size] = [[*row, *rest] for row, rest in zip(
            _product([row[:size] for row in turned], q), (row[size:] for row in turned), strict=True
        )]  # fmt: skip
        z = [[*_product([row[:size]], q)[0], *row[size:]] for row in z]
    raise LinAlgError("eig: the computation does not converge")


def _shift(t: Matrix, size: int) -> complex:
    """The eigenvalue of the last 2 x 2 block that is nearer to its last entry."""
    a, b = t[size - 2][size - 2 : size]
    c, d = t[size - 1][size - 2 : size]
    half = (a + d) / 2
    root = (half * half - (a * d - b * c)) ** 0.5
    return min(half + root, half - root, key=lambda v: abs(v - d))


def _eig_one(a: Matrix) -> tuple[Vector, Matrix]:
    n = len(a)
    t, z = _schur(a)
    vectors = []
    smallest = 1e-16 * max((abs(v) for row in t for v in row), default=1.0)
    for j in range(n):
        x: Vector = [0j] * n
        x[j] = 1.0 + 0j
        for i in range(j - 1, -1, -1):
            gap = t[i][i] - t[j][j]
            x[i] = -sum(t[i][k] * x[k] for k in range(i + 1, j + 1)) / (gap if abs(gap) > smallest else smallest)
        v = [sum(p * q for p, q in zip(row, x, strict=True)) for row in z]
        top = max(v, key=abs)  # LAPACK makes the largest entry real
        factor = abs(top) / top / _norm(v)
        vectors.append([p * factor for p in v])
    return [t[i][i] for i in range(n)], [[v[i] for v in vectors] for i in range(n)]


def eig(a: PyArray) -> tuple[PyArray, PyArray]:
    """Eigenvalues and eigenvectors by Schur's form."""
    lead, each = _each(a)
    found = [_eig_one(matrix) for matrix in each]
    n, dtype = a.shape[-1], dtypes.complex_of(a.dtype)
    return _joined(lead, (n,), dtype, [v for v, _ in found]), _joined(lead, (n, n), dtype, [m for _, m in found])


def _expm_one(a: Matrix) -> Matrix:
    """Taylor's series of a fraction of the matrix, squared again and again."""
    n = len(a)
    size = max((sum(map(abs, row)) for row in a), default=0.0)
    halvings = max(0, math.ceil(math.log2(size)) + 2) if size > 0 else 0
    small = [[v / 2**halvings for v in row] for row in a]
    total: Matrix = [[float(i == j) for j in range(n)] for i in range(n)]
    for k in range(20, 0, -1):
        total = _product(small, total)
        total = [[v / k + (i == j) for j, v in enumerate(row)] for i, row in enumerate(total)]
    for _ in range(halvings):
        total = _product(total, total)
    return total


def expm(a: PyArray) -> PyArray:
    """Exponentials of matrices."""
    lead, each = _each(a)
    return _joined(lead, a.shape[-2:], a.dtype, [_expm_one(matrix) for matrix in each])


def _unit(n: int) -> Matrix:
    return [[float(i == j) for j in range(n)] for i in range(n)]


def _divided(a: Matrix, b: Matrix) -> Matrix:
    """The x with a @ x = b, by Gauss's elimination."""
    n = len(a)
    rows = [[*p, *q] for p, q in zip(a, b, strict=True)]
    for k in range(n):
        top = max(range(k, n), key=lambda i: abs(rows[i][k]))
        if rows[top][k] == 0:
            raise LinAlgError("Singular matrix")
        rows[k], rows[top] = rows[top], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                rows[i] = [v - rows[i][k] * w for v, w in zip(rows[i], rows[k], strict=True)]
    return [row[n:] for row in rows]


def _root_one(a: Matrix) -> Matrix:
    """The product form of Denman and Beavers's iteration."""
    n, y, z = len(a), a, _unit(len(a))
    for _ in range(60):
        inverse_y, inverse_z = _divided(y, _unit(n)), _divided(z, _unit(n))
        new = [[(p + q) / 2 for p, q in zip(*rows, strict=True)] for rows in zip(y, inverse_z, strict=True)]
        z = [[(p + q) / 2 for p, q in zip(*rows, strict=True)] for rows in zip(z, inverse_y, strict=True)]
        moved = max((abs(p - q) for rows in zip(y, new, strict=True) for p, q in zip(*rows, strict=True)), default=0.0)
        y = new
        if moved <= 1e-15 * max((abs(v) for row in y for v in row), default=0.0):
            break
    return y


def _log_one(a: Matrix) -> Matrix:
    """Square roots until the matrix is near the unit, there 2 artanh((a - 1) / (a + 1)) by its series."""
    n, doublings = len(a), 0
    while max((sum(abs(v - (i == j)) for j, v in enumerate(row)) for i, row in enumerate(a)), default=0.0) > 0.3:
        a, doublings = _root_one(a), doublings + 1
    above = [[v - (i == j) for j, v in enumerate(row)] for i, row in enumerate(a)]
    below = [[v + (i == j) for j, v in enumerate(row)] for i, row in enumerate(a)]
    share = _divided(below, above)
    square, power = _product(share, share), share
    total = [[0.0 * v for v in row] for row in a]
    for k in range(1, 40, 2):
        total = [[t + p / k for t, p in zip(*rows, strict=True)] for rows in zip(total, power, strict=True)]
        power = _product(square, power)
    return [[2.0 ** (doublings + 1) * v for v in row] for row in total] if n else a


def _sylvester_one(a: Matrix, b: Matrix, c: Matrix) -> Matrix:
    """One linear system in all elements of x, row by row."""
    m, n = len(a), len(b)
    system = [
        [(a[i][k] if j == p else 0.0) + (b[p][j] if i == k else 0.0) for k in range(m) for p in range(n)]
        for i in range(m) for j in range(n)
    ]  # fmt: skip
    found = _divided(system, [[v] for row in c for v in row])
    return [[found[i * n + j][0] for j in range(n)] for i in range(m)]


def _sylvester_or_nan(a: Matrix, b: Matrix, c: Matrix) -> Matrix:
    if not any(v for row in c for v in row):
        return c
    try:
        return _sylvester_one(a, b, c)
    except LinAlgError:
        return [[math.nan] * len(row) for row in c]


def _for_each(function: Callable[..., Matrix]) -> Callable[..., PyArray]:
    def kernel(*operands: PyArray) -> PyArray:
        shape, dtype = operands[-1].shape, operands[-1].dtype
        lead, _ = _each(operands[-1])
        matrices = zip(*(_each(x)[1] for x in operands), strict=True)
        return _joined(lead, shape[-2:], dtype, [function(*each) for each in matrices])

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    "logm": _for_each(_log_one),
    "sqrtm": _for_each(_root_one),
    "sylvester": lambda a, b, c, or_nan: _for_each(_sylvester_or_nan if or_nan else _sylvester_one)(a, b, c),
    "eig": eig,
    "expm": expm,
    "eigh": eigh,
    "svd": svd,
    "qr": qr,
    "complement": complement,
    "lu": lu,
    "permute_rows": lambda x, order: _ordered(x, order, False),
    "unpermute_rows": lambda x, order: _ordered(x, order, True),
    "det": det,
    "cofactor": cofactor,
    "inv_or_inf": inv_or_inf,
    "pinv": pinv,
    "slogdet": slogdet,
}
