"""TensorFlow kernels of `_prims/linalg.py`, `decompositions.py`, `eigen.py` and `matrix_functions.py`.

Where values are at hand NumPy's kernels have the last word on matrices that TensorFlow refuses or answers with NaN or
an infinity: they raise, or give numbers. In a graph TensorFlow's own error comes when it runs, or NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from ..._prims.minors import minors
from ..checks import all_finite, unless_finite
from ..cofactors import Calls, by_singular_values
from .common import any_integer, extents, in_float32, is_eager, on_host, values_of
from .elementwise import is_finite as finite


def _as_numpy(name: str, function: Callable[..., Any]) -> Any:
    """A kernel that gives NumPy's error or numbers where TensorFlow fails, or has none that are finite."""
    return unless_finite(on_host(name), function, _are_final, _either, _refuses)


def _are_final(results: tuple[tf.Tensor, ...]) -> bool:
    return all_finite(values_of(*results))


def _either(x: tf.Tensor, other: tf.Tensor) -> Any:
    return tf.where(finite(x), x, tf.cast(other, x.dtype))


def _refuses(error: Exception, operands_and_attrs: Sequence[object]) -> bool:
    return isinstance(error, tf.errors.InvalidArgumentError) and all(map(is_eager, operands_and_attrs))


def _einsum(*xs_labels_out: Any) -> Any:
    *xs, labels, out = xs_labels_out
    text = f"{','.join(labels)}->{out}"
    return any_integer(lambda *vs: tf.einsum(text, *vs))(*xs)


def _matmul(x: tf.Tensor, y: tf.Tensor) -> Any:
    if x.dtype == tf.bool:
        return tf.cast(tf.matmul(tf.cast(x, tf.int32), tf.cast(y, tf.int32)), tf.bool)
    return any_integer(tf.matmul)(x, y)


def _below(x: tf.Tensor, k: int) -> Any:
    """Where a matrix's elements are on or below a diagonal."""
    rows, columns = extents(x)[-2:]
    return tf.range(columns) - tf.range(rows)[:, None] <= k


def _tril(x: tf.Tensor, k: int) -> Any:
    return tf.where(_below(x, k), x, tf.zeros((), x.dtype))


def _triu(x: tf.Tensor, k: int) -> Any:
    return tf.where(_below(x, k - 1), tf.zeros((), x.dtype), x)


def _diagonal(x: Any) -> Any:
    *lanes, rows, columns = extents(x)
    is_told = isinstance(rows, int) and isinstance(columns, int)
    places = np.arange(min(rows, columns)) if is_told else tf.range(tf.minimum(rows, columns))
    return tf.gather(tf.reshape(x, [*lanes, rows * columns]), places * (columns + 1), axis=-1)


def _make_diagonal(x: Any) -> Any:
    n = extents(x)[-1]
    return tf.where(tf.eye(n, dtype=tf.bool), x[..., None, :], tf.zeros((), x.dtype))


def _triangular_solve(a: tf.Tensor, b: tf.Tensor, lower: Any, trans: Any, unit_diagonal: object) -> Any:
    if 0 in b.shape.as_list():
        return b
    if unit_diagonal:
        a = tf.linalg.set_diag(a, tf.ones(tf.shape(a)[:-1], a.dtype))
    else:
        known = values_of(a)
        if known is not None and (np.diagonal(known[0], axis1=-2, axis2=-1) == 0).any():
            raise np.linalg.LinAlgError("singular matrix: a number on the diagonal is zero")
    if trans == 1 and a.dtype.is_complex:
        a = tf.math.conj(a)
    return tf.linalg.triangular_solve(a, b, lower=bool(lower), adjoint=trans > 0)


def _cholesky(a: tf.Tensor) -> Any:
    return tf.linalg.band_part(tf.linalg.cholesky(a), -1, 0)  # where it fails it leaves the rest as memory was


def _eigh(a: tf.Tensor, lower: bool) -> tuple[Any, ...]:
    values, vectors = tf.linalg.eigh(a if lower else tf.linalg.adjoint(a))
    return tf.math.real(values), vectors  # TensorFlow's own are complex where the matrix is


def _svd(a: tf.Tensor) -> tuple[Any, ...]:
    s, u, v = tf.linalg.svd(a, full_matrices=False)
    return u, tf.cast(s, s.dtype), tf.linalg.adjoint(v)


def _qr(a: Any) -> tuple[Any, ...]:
    if a.shape[-2] < a.shape[-1]:
        raise ValueError(f"qr: a has shape {tuple(a.shape)}, wanted at least as many rows as columns")
    q, r = tf.linalg.qr(a)
    return q, r


def _complement(q: tf.Tensor) -> Any:
    return tf.linalg.qr(q, full_matrices=True)[0][..., q.shape[-1] :]


def _rows(x: tf.Tensor, order: tf.Tensor) -> Any:
    return tf.gather(x, order, batch_dims=len(x.shape) - 2, axis=len(x.shape) - 2)


def _unrows(x: tf.Tensor, order: tf.Tensor) -> Any:
    return _rows(x, tf.argsort(order, axis=-1))


_WIDER = {tf.float16: tf.float64, tf.bfloat16: tf.float64, tf.float32: tf.float64, tf.complex64: tf.complex128}


def _in_double(function: Callable[..., Any]) -> Any:
    """A kernel that computes in double precision, for products over all singular values lose digits."""
    return lambda a: tf.cast(function(tf.cast(a, _WIDER.get(a.dtype, a.dtype))), a.dtype)  # pyright: ignore[reportCallIssue, reportArgumentType]  # the stubs know less than TensorFlow


def _cofactor(a: tf.Tensor) -> Any:
    is_finite = tf.reduce_all(finite(a), (-2, -1), keepdims=True)
    found = by_singular_values(tf.where(is_finite, a, tf.zeros((), a.dtype)), _CALLS)
    whole = tf.reduce_all(is_finite)
    return tf.cond(whole, lambda: found, lambda: tf.where(is_finite, found, _cofactor_by_minors(a)))


def _square_factors(a: tf.Tensor) -> tuple[Any, ...]:
    s, u, v = tf.linalg.svd(a)
    return u, s, tf.linalg.adjoint(v)


_CALLS = Calls(
    svd=_square_factors, det=tf.linalg.det, conj=tf.math.conj, cumprod=lambda x: tf.math.cumprod(x, -1),
    flip=lambda x: x[..., ::-1], concatenate=lambda xs: tf.concat(xs, -1), ones_like=tf.ones_like,
    as_dtype_of=lambda x, a: tf.cast(x, a.dtype),
)  # fmt: skip


def _cofactor_by_minors(a: tf.Tensor) -> Any:
    """The same by determinants: an infinity is in those alone that it belongs to."""
    signs, others = minors(a.shape[-1])
    last = [*range(len(a.shape) - 2)]

    def row(rest: tf.Tensor) -> Any:
        parts = tf.gather(tf.gather(a, rest, axis=-2), others, axis=-1)
        return tf.linalg.det(tf.transpose(parts, [*last, *(len(last) + k for k in (1, 0, 2))]))

    found = tf.map_fn(row, tf.constant(others), fn_output_signature=a.dtype)
    return tf.transpose(found, [*(k + 1 for k in last), 0, len(last) + 1]) * tf.constant(signs, a.dtype)


def _inv_or_inf(a: Any) -> Any:
    det = tf.linalg.det(a)[..., None, None]
    is_singular, is_nan = tf.equal(det, 0), tf.not_equal(det, det)  # TensorFlow refuses to invert either
    safe = tf.where(is_singular | is_nan, tf.eye(a.shape[-1], dtype=a.dtype), a)
    beyond = tf.linalg.matrix_transpose(_cofactor(a)) / tf.zeros((), a.dtype)
    return tf.where(is_singular, beyond, tf.where(is_nan, det, tf.linalg.inv(safe)))


def _pinv(a: tf.Tensor, rcond: Any) -> Any:
    s, u, v = tf.linalg.svd(a, full_matrices=False)
    if 0 in s.shape.as_list():
        return tf.linalg.adjoint(a)
    cutoff = tf.cast(rcond, s.dtype) * tf.reduce_max(s, -1, keepdims=True)
    is_kept = s > cutoff
    weight = tf.where(is_kept, 1 / tf.where(is_kept, s, tf.ones((), s.dtype)), tf.zeros((), s.dtype))
    return tf.matmul(v * tf.cast(weight, a.dtype)[..., None, :], u, adjoint_b=True)  # pyright: ignore[reportArgumentType]  # the stubs know less than TensorFlow


def _slogdet(a: tf.Tensor) -> tuple[Any, ...]:
    sign, size = tf.linalg.slogdet(a)
    return sign, tf.math.real(size) if size.dtype.is_complex else size


KERNELS: dict[str, Any] = {
    "matmul": in_float32(_matmul),
    "einsum": in_float32(_einsum),
    "tril": _tril,
    "triu": _triu,
    "diagonal": _diagonal,
    "make_diagonal": _make_diagonal,
    "solve": in_float32(_as_numpy("solve", tf.linalg.solve)),
    "triangular_solve": in_float32(_triangular_solve),
    "inv": in_float32(_as_numpy("inv", tf.linalg.inv)),
    "cholesky": in_float32(_as_numpy("cholesky", _cholesky)),
    "eig": on_host("eig"),
    "expm": on_host("expm"),
    "logm": on_host("logm"),
    "sqrtm": on_host("sqrtm"),
    "sylvester": on_host("sylvester"),
    "eigh": in_float32(_as_numpy("eigh", _eigh)),
    "svd": in_float32(_as_numpy("svd", _svd)),
    "qr": in_float32(_qr),
    "complement": in_float32(_complement),
    "lu": on_host("lu"),
    "permute_rows": _rows,
    "unpermute_rows": _unrows,
    "det": in_float32(_as_numpy("det", tf.linalg.det)),
    "cofactor": _in_double(_cofactor),
    "inv_or_inf": in_float32(_inv_or_inf),
    "pinv": in_float32(_as_numpy("pinv", _pinv)),
    "slogdet": in_float32(_as_numpy("slogdet", _slogdet)),
}
