"""JAX kernels of `_prims/linalg.py`, `decompositions.py`, `eigen.py` and `matrix_functions.py`.

Where values are at hand NumPy's kernels have the last word on matrices that JAX answers with NaN or an infinity: they
raise, or give numbers. Compiled programs give NaN or infinities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jax import lax

from ..._prims.minors import minors
from ..checks import all_finite, unless_finite
from ..cofactors import Calls, by_singular_values
from .common import canonical, in_float32, on_host, values_of


def _einsum(*xs_labels_out: Any) -> Any:
    *xs, labels, out = xs_labels_out
    return jnp.einsum(f"{','.join(labels)}->{out}", *xs)


def _make_diagonal(x: jax.Array) -> Any:
    n = x.shape[-1]
    return jnp.where(jnp.eye(n, dtype=bool), x[..., None, :], jnp.zeros((), x.dtype))


def _as_numpy(name: str, function: Callable[..., Any]) -> Any:
    """A kernel that gives NumPy's error or numbers where JAX has none that are finite."""
    return unless_finite(on_host(name), function, _are_final, lambda x, other: jnp.where(jnp.isfinite(x), x, other))


def _are_final(results: tuple[jax.Array, ...]) -> bool:
    return all_finite(values_of(*results))


def _is_singular(a: jax.Array) -> Any:
    """Whether elimination meets a pivot that is zero."""
    return jnp.any(jnp.diagonal(lax.linalg.lu(a)[0], axis1=-2, axis2=-1) == 0, axis=-1)


def _triangular_solve(a: jax.Array, b: jax.Array, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    if not b.size:
        return b
    if not unit_diagonal:
        known = values_of(a)
        if known is not None and (np.diagonal(known[0], axis1=-2, axis2=-1) == 0).any():
            raise np.linalg.LinAlgError("singular matrix: a number on the diagonal is zero")
    return lax.linalg.triangular_solve(
        a, b, left_side=True, lower=lower, transpose_a=trans > 0, conjugate_a=trans == 2, unit_diagonal=unit_diagonal
    )


def _cholesky(a: jax.Array) -> Any:
    return lax.linalg.cholesky(a, symmetrize_input=False)


def _eigh(a: jax.Array, lower: bool) -> tuple[Any, ...]:
    vectors, values = lax.linalg.eigh(a, lower=lower, symmetrize_input=False)
    return values, vectors


def _svd(a: jax.Array) -> tuple[Any, ...]:
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    return u, s, vh


def _qr(a: jax.Array) -> tuple[Any, ...]:
    if a.shape[-2] < a.shape[-1]:
        raise ValueError(f"qr: a has shape {a.shape}, wanted at least as many rows as columns")
    q, r = jnp.linalg.qr(a)
    return q, r


def _complement(q: jax.Array) -> Any:
    return jnp.linalg.qr(q, mode="complete")[0][..., q.shape[-1] :]


def _lu(a: Any) -> tuple[Any, ...]:
    packed, pivots, order = lax.linalg.lu(a)
    return packed, pivots, order.astype(canonical(np.int64))


def _rows(x: jax.Array, order: Any) -> Any:
    return jnp.take_along_axis(x, order[..., None], axis=-2)


def _unrows(x: jax.Array, order: Any) -> Any:
    return _rows(x, jnp.argsort(order, axis=-1))


def _cofactor(a: jax.Array) -> Any:
    is_finite = jnp.isfinite(a).all((-2, -1))[..., None, None]
    known = values_of(is_finite)
    if known is not None and known[0].all():
        return by_singular_values(a, _CALLS)
    found = by_singular_values(jnp.where(is_finite, a, jnp.zeros((), a.dtype)), _CALLS)
    if a.shape[-1] > _FEW_ROWS:
        return jnp.where(is_finite, found, jnp.nan)
    return lax.cond(is_finite.all(), lambda: found, lambda: jnp.where(is_finite, found, _cofactor_by_minors(a)))


_CALLS = Calls(
    svd=jnp.linalg.svd, det=jnp.linalg.det, conj=jnp.conj, cumprod=lambda x: jnp.cumprod(x, -1),
    flip=lambda x: x[..., ::-1], concatenate=lambda xs: jnp.concatenate(xs, -1), ones_like=jnp.ones_like,
    as_dtype_of=lambda x, _: x,
)  # fmt: skip
_FEW_ROWS = 8  # up to here minors are cheap, which JAX computes for nothing where it maps a program over a batch


def _cofactor_by_minors(a: jax.Array) -> Any:
    """The same by determinants: an infinity is in those alone that it belongs to."""
    signs, others = minors(a.shape[-1])

    def row(rest: jax.Array) -> Any:
        return jnp.linalg.det(jnp.moveaxis(jnp.take(a, rest, axis=-2)[..., others], -2, -3))

    return jnp.moveaxis(lax.map(row, jnp.asarray(others)), 0, -2) * jnp.asarray(signs, a.dtype)


def _inv_or_inf(a: jax.Array) -> Any:
    is_singular = _is_singular(a)[..., None, None]
    safe = jnp.where(is_singular, jnp.eye(a.shape[-1], dtype=a.dtype), a)
    beyond = jnp.swapaxes(_cofactor(a), -1, -2) / jnp.zeros((), a.dtype)
    return jnp.where(is_singular, beyond, jnp.linalg.inv(safe))


def _slogdet(a: jax.Array) -> tuple[Any, ...]:
    sign, size = jnp.linalg.slogdet(a)
    return sign, size


KERNELS: dict[str, Any] = {
    "matmul": in_float32(jnp.matmul),
    "einsum": in_float32(_einsum),
    "tril": jnp.tril,
    "triu": jnp.triu,
    "diagonal": lambda x: jnp.diagonal(x, axis1=-2, axis2=-1),
    "make_diagonal": _make_diagonal,
    "solve": in_float32(_as_numpy("solve", jnp.linalg.solve)),
    "triangular_solve": in_float32(_triangular_solve),
    "inv": in_float32(_as_numpy("inv", jnp.linalg.inv)),
    "cholesky": in_float32(_as_numpy("cholesky", _cholesky)),
    "eig": on_host("eig"),
    **{name: on_host(name) for name in ("logm", "sqrtm", "sylvester")},
    "expm": in_float32(jsl.expm),
    "eigh": in_float32(_as_numpy("eigh", _eigh)),
    "svd": in_float32(_as_numpy("svd", _svd)),
    "qr": in_float32(_qr),
    "complement": in_float32(_complement),
    "lu": in_float32(_lu),
    "permute_rows": _rows,
    "unpermute_rows": _unrows,
    "det": in_float32(_as_numpy("det", jnp.linalg.det)),
    "cofactor": in_float32(_cofactor),
    "inv_or_inf": in_float32(_inv_or_inf),
    "pinv": in_float32(_as_numpy("pinv", lambda a, rcond: jnp.linalg.pinv(a, rtol=rcond))),
    "slogdet": in_float32(_as_numpy("slogdet", _slogdet)),
}
