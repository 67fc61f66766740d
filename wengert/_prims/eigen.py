"""Eigenvalues and eigenvectors of general square matrices, on the last two axes; the results are complex.

A vector is free up to a factor: here it has length 1, and its change is taken orthogonal to it, which is right for
every function that does not depend on the phase. Equal eigenvalues are as with symmetric matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.op import Spectrum, batch_elementwise, general
from .._core.tensor import Tensor
from .._core.types import TensorType, tensor_type
from .decompositions import (
    ascending,
    column_scaled,
    gaps,
    has_equal,
    is_aligned,
    is_unread,
    known_cotangent,
    off_diagonal,
    on_diagonal,
    pairs_of,
    part_of_vectors,
    rate_of_gaps,
    square_type,
)
from .discrete import logical_or
from .limits import SAME, Divide, of_tangents, quotient
from .linalg import adjoint, cubic, diagonal, make_diagonal, matmul, solve
from .structural import add, cast, conj_of, real, sub


def _eig_type(a: TensorType) -> Any:
    square_type("eig", a)
    dtype = dtypes.complex_of(a.dtype)
    return tensor_type(a.shape[:-1], dtype), tensor_type(a.shape, dtype)


def _orthogonal(vectors: Tensor, change: Tensor) -> Tensor:
    """The columns of a change less their parts along the vectors."""
    return sub(change, column_scaled(vectors, diagonal(matmul(adjoint(vectors), change))))


def _eig_vjp(
    ct: Sequence[Any], times: Callable[..., Any], values: Tensor, vectors: Tensor, a_type: TensorType, trail: object
) -> tuple[Tensor]:  # fmt: skip
    to_values, to_vectors = map(known_cotangent, ct)
    found = None if to_values is None else _from_basis(vectors, make_diagonal(to_values))
    if to_vectors is not None:

        def back(divide: Divide) -> Tensor:
            difference, is_same = gaps(values)
            seen = matmul(adjoint(vectors), _orthogonal(vectors, to_vectors))
            is_dropped = logical_or(on_diagonal(difference), pairs_of(is_unread(to_vectors, times))[0])
            turned = off_diagonal(divide(seen, conj_of(difference), is_same, is_dropped, rate_of_gaps))
            return _from_basis(vectors, turned)

        of_vectors = part_of_vectors(back, trail, eig.spectrum, (values, vectors), [to_vectors])
        found = of_vectors if found is None else add(found, of_vectors)
    assert found is not None
    return (found if dtypes.is_complex(a_type.dtype) else cast(real(found), a_type.dtype),)


def _from_basis(vectors: Tensor, middle: Tensor) -> Tensor:
    """The cotangent of a matrix from that of what it is in its basis."""
    back = adjoint(vectors)
    return solve(back, matmul(middle, back))


def _shows_pair(values: np.ndarray[Any, Any]) -> bool:
    """As `has_equal`, of an array in any order."""
    size = np.abs(values)
    with np.errstate(invalid="ignore", over="ignore"):
        bound = size.max(-1)[..., None, None] * size.dtype.type(SAME[size.dtype.name])
        is_same = np.abs(values[..., :, None] - values[..., None, :]) <= bound
    return bool((is_same & ~np.eye(values.shape[-1], dtype=bool)).any())


def _eig_push(outs: Sequence[Tensor], a_dot: Tensor, divide: Divide) -> tuple[Tensor, Tensor]:
    values, vectors = outs
    seen = solve(vectors, matmul(cast(a_dot, vectors.dtype), vectors))
    difference, is_same = gaps(values)
    is_dropped = logical_or(on_diagonal(difference), is_aligned(seen))
    turn = off_diagonal(divide(seen, difference, is_same, is_dropped, rate_of_gaps))
    return diagonal(seen), _orthogonal(vectors, matmul(vectors, turn))


def _eig_jvp(values: Tensor, vectors: Tensor, a_dot: Tensor) -> tuple[Tensor, Tensor]:
    return _eig_push((values, vectors), a_dot, of_tangents(quotient))


def _apart(*shape: int) -> Any:
    """Matrices whose eigenvalues are real and well apart."""
    return lambda rng: rng.normal(size=shape) * 0.2 + np.diag(np.arange(shape[-1]) * 2.0 + 1.0)


eig = general(
    "eig", "a", outs="values vectors", can_raise=True, takes_missing=True, type=_eig_type, batch=batch_elementwise,
    vjp=_eig_vjp, jvp=_eig_jvp, dtypes="float", takes_complex=True,
    samples=[((_apart(3, 3),), ()), ((_apart(2, 2, 2),), ()), ((_apart(1, 1),), ())],
    kink="at equal eigenvalues smooth functions of values and vectors have their gradient, other functions of the "
         "vectors NaN; at a matrix without a basis of eigenvectors it raises numpy.linalg.LinAlgError, or is huge",
    doc="eigenvalues and eigenvectors of length 1 of general matrices, complex",
    ref="M. B. Giles, An extended collection of matrix derivative results for forward and reverse mode, 2008",
    mixes="matrices",
    flops=cubic(25),
)  # fmt: skip
eig.spectrum = Spectrum(0, ascending, has_equal, _shows_pair, _eig_push, lambda outs: outs[1])
