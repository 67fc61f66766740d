"""torch kernels of `_prims/linalg.py`, `decompositions.py`, `eigen.py` and `matrix_functions.py`: LAPACK through
`torch.linalg`.

NumPy's kernels have the last word on matrices that torch refuses or answers with NaN or an infinity: they raise, or
give numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ..._prims.minors import minors
from ..checks import unless_finite
from ..cofactors import Calls, by_singular_values
from .common import TableKernel, has_values, in_float32, of_unsigned, on_host, view


def _as_numpy(name: str, function: Callable[..., Any]) -> Any:
    """A kernel that gives NumPy's error or numbers where torch fails, or has none that are finite."""
    return unless_finite(on_host(name), function, _are_final, _either, _refuses)


def _are_final(results: tuple[torch.Tensor, ...]) -> bool:
    return not has_values(*results) or all(bool(torch.isfinite(x).all()) for x in results)


def _either(x: torch.Tensor, other: torch.Tensor) -> Any:
    return torch.where(torch.isfinite(x), x, other)


def _refuses(error: Exception, operands_and_attrs: Sequence[object]) -> bool:
    return isinstance(error, _LinAlgError) or (isinstance(error, RuntimeError) and "infs or NaNs" in str(error))


_LinAlgError = torch.linalg.LinAlgError  # pyright: ignore[reportPrivateImportUsage]  # documented as public


def _einsum(*xs_labels_out: Any) -> Any:
    *xs, labels, out = xs_labels_out
    return torch.einsum(f"{','.join(labels)}->{out}", *xs)


def _triangular_solve(a: torch.Tensor, b: torch.Tensor, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    if not b.numel():
        return b
    if not unit_diagonal and bool((torch.diagonal(a, 0, -2, -1) == 0).any()):
        raise np.linalg.LinAlgError("singular matrix: a number on the diagonal is zero")
    if trans:
        a, lower = a.mT if trans == 1 else a.mH, not lower
    return torch.linalg.solve_triangular(a, b, upper=not lower, unitriangular=bool(unit_diagonal))


def _eigh(a: torch.Tensor, lower: bool) -> tuple[Any, ...]:
    return (*torch.linalg.eigh(a, "L" if lower else "U"),)


def _qr(a: torch.Tensor) -> tuple[Any, ...]:
    if a.shape[-2] < a.shape[-1]:
        raise ValueError(f"qr: a has shape {tuple(a.shape)}, wanted at least as many rows as columns")
    return (*torch.linalg.qr(a),)


def _complement(q: torch.Tensor) -> Any:
    return torch.linalg.qr(q, mode="complete")[0][..., q.shape[-1] :]


def _lu(a: torch.Tensor) -> tuple[Any, ...]:
    rows = a.shape[-2]
    if not a.numel():
        order = torch.arange(rows, device=a.device).expand((*a.shape[:-2], rows))
        return a, torch.zeros((*a.shape[:-2], min(a.shape[-2:])), dtype=torch.int32, device=a.device), order
    packed, pivots, _ = torch.linalg.lu_factor_ex(a)
    swaps, _, _ = torch.lu_unpack(packed, pivots, unpack_data=False)
    return packed, pivots - 1, torch.argmax(swaps.real if swaps.is_complex() else swaps, -2)


def _rows(x: torch.Tensor, order: torch.Tensor) -> Any:
    return torch.take_along_dim(x, order[..., None], -2)


def _unrows(x: torch.Tensor, order: torch.Tensor) -> Any:
    return _rows(x, torch.argsort(order, -1))


def _cofactor(a: torch.Tensor) -> Any:
    is_finite = torch.isfinite(a).all(-1).all(-1)[..., None, None]
    if bool(is_finite.all()):
        return by_singular_values(a, _CALLS)
    found = by_singular_values(torch.where(is_finite, a, torch.zeros_like(a)), _CALLS)
    return torch.where(is_finite, found, _cofactor_by_minors(a))


_CALLS = Calls(
    svd=torch.linalg.svd,  # raises for numbers that are not finite
    det=torch.linalg.det, conj=torch.conj, cumprod=lambda x: torch.cumprod(x, -1), flip=lambda x: x.flip(-1),
    concatenate=lambda xs: torch.cat(xs, -1), ones_like=torch.ones_like, as_dtype_of=lambda x, _: x,
)  # fmt: skip


def _cofactor_by_minors(a: torch.Tensor) -> Any:
    """The same by determinants: an infinity is in those alone that it belongs to."""
    signs, others = (torch.as_tensor(x, device=a.device) for x in minors(a.shape[-1]))
    rows = [torch.linalg.det(a[..., rest, :][..., others].movedim(-2, -3)) for rest in others]
    return torch.stack(rows, -2) * signs.to(a.dtype)


def _inv_or_inf(a: torch.Tensor) -> Any:
    found, info = torch.linalg.inv_ex(a)
    if not bool((info > 0).any()):
        return found
    return torch.where((info > 0)[..., None, None], _cofactor(a).mT / torch.zeros((), dtype=a.dtype), found)


def _slogdet(a: torch.Tensor) -> tuple[Any, ...]:
    sign, size = torch.linalg.slogdet(a)
    return torch.where(torch.isnan(size), size, sign), size  # torch gives 0


def _expm(a: torch.Tensor) -> Any:
    return torch.linalg.matrix_exp(a) if a.numel() else a


KERNELS: dict[str, TableKernel] = {
    "matmul": in_float32(torch.matmul),
    "einsum": view(in_float32(_einsum)),
    "tril": view(torch.tril),
    "triu": view(torch.triu),
    "diagonal": of_unsigned(lambda x: torch.diagonal(x, 0, -2, -1), "first"),
    "make_diagonal": torch.diag_embed,
    "solve": in_float32(_as_numpy("solve", torch.linalg.solve)),
    "triangular_solve": view(in_float32(_triangular_solve)),
    "inv": in_float32(_as_numpy("inv", torch.linalg.inv)),
    "cholesky": in_float32(_as_numpy("cholesky", torch.linalg.cholesky)),
    "eig": in_float32(_as_numpy("eig", lambda a: (*torch.linalg.eig(a),))),
    "expm": view(in_float32(_expm)),
    "logm": on_host("logm"),
    "sqrtm": on_host("sqrtm"),
    "sylvester": on_host("sylvester"),
    "eigh": in_float32(_as_numpy("eigh", _eigh)),
    "svd": in_float32(_as_numpy("svd", lambda a: (*torch.linalg.svd(a, full_matrices=False),))),
    "qr": in_float32(_qr),
    "complement": in_float32(_complement),
    "lu": view(in_float32(_lu)),
    "permute_rows": _rows,
    "unpermute_rows": _unrows,
    "det": in_float32(_as_numpy("det", torch.linalg.det)),
    "cofactor": in_float32(_cofactor),
    "inv_or_inf": in_float32(_inv_or_inf),
    "pinv": in_float32(_as_numpy("pinv", lambda a, rcond: torch.linalg.pinv(a, rtol=rcond))),
    "slogdet": in_float32(_as_numpy("slogdet", _slogdet)),
}
