"""Eigenvalues and eigenvectors of general square matrices, on the last two axes; the results are complex.

A vector is free up to a factor: here it has length 1, and its change is taken orthogonal to it, which is right for
every function that does not depend on the phase. Where eigenvalues are equal, the terms of the vectors' derivative that
would divide by their difference are dropped, as for symmetric matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from .._core.op import batch_elementwise, general
from .._core.tensor import Tensor
from .._core.types import TensorType, tensor_type
from .decompositions import SAME, column_scaled, known_cotangent, largest_of, pairs_of, square_type
from .discrete import le
from .elementwise import reciprocal
from .linalg import adjoint, diagonal, make_diagonal, matmul, solve
from .piecewise import abs_
from .structural import add, cast, conj_of, fill, mul, real, select, sub, times_number


def _eig_type(a: TensorType) -> Any:
    square_type("eig", a)
    dtype = dtypes.complex_of(a.dtype)
    return tensor_type(a.shape[:-1], dtype), tensor_type(a.shape, dtype)


def _gaps(values: Tensor) -> Tensor:
    """1 / (w_j - w_i), with 0 for equal values."""
    across, down = pairs_of(values)
    difference = sub(across, down)
    noise = times_number(pairs_of(largest_of(values))[0], number=SAME[dtypes.real_of(values.dtype).name])
    is_noise = le(abs_(difference), noise)
    return select(is_noise, fill(difference, 0), reciprocal(select(is_noise, fill(difference, 1), difference)))


def _orthogonal(vectors: Tensor, change: Tensor) -> Tensor:
    """The columns of a change less their parts along the vectors."""
    return sub(change, column_scaled(vectors, diagonal(matmul(adjoint(vectors), change))))


def _eig_vjp(ct: Any, values: Tensor, vectors: Tensor, a_type: TensorType) -> tuple[Tensor]:
    to_values, to_vectors = map(known_cotangent, ct)
    middle = None if to_values is None else make_diagonal(to_values)
    if to_vectors is not None:
        turned = mul(conj_of(_gaps(values)), matmul(adjoint(vectors), _orthogonal(vectors, to_vectors)))
        middle = turned if middle is None else add(middle, turned)
    assert middle is not None
    back = adjoint(vectors)
    result = solve(back, matmul(middle, back))
    return (result if dtypes.is_complex(a_type.dtype) else cast(real(result), a_type.dtype),)


def _eig_jvp(values: Tensor, vectors: Tensor, a_dot: Tensor) -> tuple[Tensor, Tensor]:
    seen = solve(vectors, matmul(cast(a_dot, vectors.dtype), vectors))
    return diagonal(seen), _orthogonal(vectors, matmul(vectors, mul(_gaps(values), seen)))


def _apart(*shape: int) -> Any:
    """Matrices whose eigenvalues are real and well apart."""
    return lambda rng: rng.normal(size=shape) * 0.2 + np.diag(np.arange(shape[-1]) * 2.0 + 1.0)


eig = general(
    "eig", "a", outs="values vectors", can_raise=True, takes_missing=True, type=_eig_type, batch=batch_elementwise,
    vjp=_eig_vjp, jvp=_eig_jvp, dtypes="float", takes_complex=True,
    samples=[((_apart(3, 3),), ()), ((_apart(2, 2, 2),), ()), ((_apart(1, 1),), ())],
    kink="for equal eigenvalues the vectors' terms that divide by the difference are dropped; at a matrix without a "
         "basis of eigenvectors the gradient raises numpy.linalg.LinAlgError, or is huge",
    doc="eigenvalues and eigenvectors of length 1 of general matrices, complex",
    ref="M. B. Giles, An extended collection of matrix derivative results for forward and reverse mode, 2008",
)  # fmt: skip
