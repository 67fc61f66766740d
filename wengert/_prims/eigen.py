"""Eigenvalues and eigenvectors of general square matrices, on the last two axes; the results are complex.

A vector is free up to a factor: here it has length 1, and its change is taken orthogonal to it, which is right for
every function that does not depend on the phase. Where eigenvalues are equal, the vectors' derivatives are NaN, as for
symmetric matrices, unless nothing reads them or the tangent leaves them eigenvectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from .._core.op import batch_elementwise, general
from .._core.tensor import Tensor
from .._core.types import TensorType, tensor_type
from .decompositions import (
    SAME,
    column_scaled,
    is_aligned,
    is_rounding,
    is_unread,
    known_cotangent,
    largest_of,
    off_diagonal,
    on_diagonal,
    pairs_of,
    quotient,
    square_type,
)
from .discrete import logical_or
from .linalg import adjoint, diagonal, make_diagonal, matmul, solve
from .structural import add, cast, conj_of, real, sub


def _eig_type(a: TensorType) -> Any:
    square_type("eig", a)
    dtype = dtypes.complex_of(a.dtype)
    return tensor_type(a.shape[:-1], dtype), tensor_type(a.shape, dtype)


def _gaps(values: Tensor) -> tuple[Tensor, Tensor]:
    """w_j - w_i, and whether it is nothing but rounding."""
    across, down = pairs_of(values)
    difference = sub(across, down)
    return difference, is_rounding(difference, pairs_of(largest_of(values))[0], SAME)


def _orthogonal(vectors: Tensor, change: Tensor) -> Tensor:
    """The columns of a change less their parts along the vectors."""
    return sub(change, column_scaled(vectors, diagonal(matmul(adjoint(vectors), change))))


def _eig_vjp(ct: Any, times: Any, values: Tensor, vectors: Tensor, a_type: TensorType) -> tuple[Tensor]:
    to_values, to_vectors = map(known_cotangent, ct)
    middle = None if to_values is None else make_diagonal(to_values)
    unread = is_unread(to_vectors, times)
    if to_vectors is not None and unread is not None:
        difference, is_same = _gaps(values)
        seen = matmul(adjoint(vectors), _orthogonal(vectors, to_vectors))
        is_dropped = logical_or(on_diagonal(difference), pairs_of(unread)[0])
        turned = off_diagonal(quotient(seen, conj_of(difference), is_same, is_dropped))
        middle = turned if middle is None else add(middle, turned)
    assert middle is not None
    back = adjoint(vectors)
    result = solve(back, matmul(middle, back))
    return (result if dtypes.is_complex(a_type.dtype) else cast(real(result), a_type.dtype),)


def _eig_jvp(values: Tensor, vectors: Tensor, a_dot: Tensor) -> tuple[Tensor, Tensor]:
    seen = solve(vectors, matmul(cast(a_dot, vectors.dtype), vectors))
    difference, is_same = _gaps(values)
    is_dropped = logical_or(on_diagonal(difference), is_aligned(seen))
    turn = off_diagonal(quotient(seen, difference, is_same, is_dropped))
    return diagonal(seen), _orthogonal(vectors, matmul(vectors, turn))


def _apart(*shape: int) -> Any:
    """Matrices whose eigenvalues are real and well apart."""
    return lambda rng: rng.normal(size=shape) * 0.2 + np.diag(np.arange(shape[-1]) * 2.0 + 1.0)


eig = general(
    "eig", "a", outs="values vectors", can_raise=True, takes_missing=True, type=_eig_type, batch=batch_elementwise,
    vjp=_eig_vjp, jvp=_eig_jvp, dtypes="float", takes_complex=True,
    samples=[((_apart(3, 3),), ()), ((_apart(2, 2, 2),), ()), ((_apart(1, 1),), ())],
    kink="at equal eigenvalues the vectors' gradient is NaN, unless nothing reads them or the tangent is diagonal in "
         "their basis; at a matrix without a basis of eigenvectors it raises numpy.linalg.LinAlgError, or is huge",
    doc="eigenvalues and eigenvectors of length 1 of general matrices, complex",
    ref="M. B. Giles, An extended collection of matrix derivative results for forward and reverse mode, 2008",
)  # fmt: skip
