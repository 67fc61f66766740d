"""The exponential, logarithm and square root of matrices, on the last two axes; every axis before them is a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.op import batch_elementwise, batch_leading, general
from .._core.tensor import Tensor
from .._core.types import TensorType, same_dim, tensor_type
from .decompositions import square_type
from .linalg import adjoint, cubic, matmul
from .structural import add, concatenate, fill, neg, slice_, sub


def _expm_type(a: TensorType) -> TensorType:
    square_type("expm", a)
    return tensor_type(a.shape, a.dtype)


def _beside(a: Tensor, above: Tensor, below: Tensor) -> Tensor:
    """The matrix [[a, above], [below, a]]."""
    last = len(a.shape) - 1
    return concatenate(concatenate(a, above, axis=last), concatenate(below, a, axis=last), axis=last - 1)


def _upper_right(whole: Tensor, a: Tensor) -> Tensor:
    """The block of a matrix that stands right of one like a."""
    n, zeros = a.shape[-1], (0,) * (len(a.shape) - 2)
    limits = (*a.shape[:-2], n, n + n)
    return slice_(whole, starts=(*zeros, 0, n), limits=limits, strides=(1,) * len(a.shape))


def _any_square(*shape: int) -> Any:
    return lambda rng: rng.normal(size=shape) * 0.7


expm = general(
    "expm", "a", type=_expm_type, batch=batch_elementwise,
    vjp=(lambda ct, a: adjoint(expm_along(a, adjoint(ct))),), jvp=lambda a, a_dot: expm_along(a, a_dot),
    samples=[((_any_square(3, 3),), ()), ((_any_square(2, 2, 2),), ()), ((_any_square(1, 1),), ())],
    doc="the exponential of square matrices",
    ref="R. Mathias, A chain rule for matrix functions and applications, SIAM J. Matrix Anal. Appl. 17, 1996",
    mixes="matrices",
    flops=cubic(20),
)  # fmt: skip


def _along_type(a: TensorType, change: TensorType) -> TensorType:
    square_type("expm_along", a)
    if len(a.shape) != len(change.shape) or not all(map(same_dim, a.shape, change.shape)):
        raise ValueError(f"expm_along: shapes {a.shape} and {change.shape} do not fit together")
    return tensor_type(a.shape, a.dtype)


def _along_body(a: Tensor, change: Tensor) -> Tensor:
    """The upper right block of the exponential of [[a, change], [0, a]]."""
    return _upper_right(expm(_beside(a, change, fill(a, 0))), a)


def _along_both(a: Tensor, change: Tensor, other: Tensor) -> Tensor:
    """The second derivative in two directions."""
    none = fill(a, 0)
    return _upper_right(expm_along(_beside(a, change, none), _beside(other, none, none)), a)


expm_along = general(
    "expm_along", "a change", type=_along_type, batch=batch_leading, body=_along_body,
    vjp=(lambda ct, a, change: adjoint(_along_both(a, change, adjoint(ct))),
         lambda ct, a: adjoint(expm_along(a, adjoint(ct)))),
    jvp=lambda a, change, a_dot, change_dot: add(_along_both(a, change, a_dot), expm_along(a, change_dot)),
    samples=[((_any_square(3, 3), _any_square(3, 3)), ()), ((_any_square(2, 2, 2), _any_square(2, 2, 2)), ())],
    doc="the derivative of the exponential of square matrices in a direction",
    ref="R. Mathias, A chain rule for matrix functions and applications, SIAM J. Matrix Anal. Appl. 17, 1996",
    mixes="matrices",
)  # fmt: skip

# -- logarithms, by the same block ---------------------------------------------------------------------------------


def _log_type(a: TensorType) -> TensorType:
    square_type("logm", a)
    return tensor_type(a.shape, a.dtype)


def _log_along(a: Tensor, change: Tensor) -> Tensor:
    """The derivative of log(a) in a direction: the upper right block of the logarithm of [[a, change], [0, a]]."""
    return _upper_right(logm(_beside(a, change, fill(a, 0))), a)


def _positive_square(*shape: int) -> Any:
    return lambda rng: rng.normal(size=shape) * 0.2 + 1.5 * np.eye(shape[-1])


logm = general(
    "logm", "a", type=_log_type, batch=batch_elementwise, can_raise=True, dtypes="float", takes_complex=True,
    vjp=(lambda ct, a: _log_along(adjoint(a), ct),), jvp=lambda a, a_dot: _log_along(a, a_dot),
    samples=[((_positive_square(3, 3),), ()), ((_positive_square(2, 2, 2),), ()), ((_positive_square(1, 1),), ())],
    doc="the principal logarithm of square matrices",
    ref="R. Mathias, A chain rule for matrix functions and applications, SIAM J. Matrix Anal. Appl. 17, 1996",
    mixes="matrices",
)  # fmt: skip

# -- Sylvester's equation, and square roots, whose derivative solves one ---------------------------------------------


def _sylvester_type(a: TensorType, b: TensorType, c: TensorType, or_nan: bool) -> TensorType:
    square_type("sylvester", a)
    square_type("sylvester", b)
    fits = len(c.shape) == len(a.shape) == len(b.shape) and same_dim(c.shape[-2], a.shape[-1])
    if not fits or not same_dim(c.shape[-1], b.shape[-1]):
        raise ValueError(f"sylvester: shapes {a.shape}, {b.shape} and {c.shape} do not fit together")
    return tensor_type(c.shape, c.dtype)


def _sylvester_vjp(ct: Tensor, a: Tensor, b: Tensor, out: Tensor, or_nan: bool) -> tuple[Tensor, Tensor, Tensor]:
    seen = sylvester(adjoint(a), adjoint(b), ct, or_nan=or_nan)
    back = adjoint(out)
    return neg(matmul(seen, back)), neg(matmul(back, seen)), seen


def _sylvester_jvp(
    a: Tensor, b: Tensor, out: Tensor, a_dot: Tensor, b_dot: Tensor, c_dot: Tensor, or_nan: bool
) -> Tensor:  # fmt: skip
    moved = add(matmul(a_dot, out), matmul(out, b_dot))
    return sylvester(a, b, sub(c_dot, moved), or_nan=or_nan)


sylvester = general(
    "sylvester", "a b c", attrs="or_nan", type=_sylvester_type, batch=batch_leading, can_raise=True,
    called="solve_sylvester",
    dtypes="float", takes_complex=True, vjp=_sylvester_vjp, jvp=_sylvester_jvp,
    samples=[((_positive_square(3, 3), _positive_square(2, 2), (3, 2)), (False,)),
             ((_positive_square(2, 2, 2), _positive_square(2, 2, 2), (2, 2, 2)), (True,))],
    doc="the x with a @ x + x @ b = c; where there is none, an error, or NaN with or_nan",
    ref="R. H. Bartels, G. W. Stewart, Algorithm 432, Comm. ACM 15, 1972",
    mixes="matrices",
)  # fmt: skip


def _root_type(a: TensorType) -> TensorType:
    square_type("sqrtm", a)
    return tensor_type(a.shape, a.dtype)


def _root_vjp(ct: Tensor, out: Tensor) -> Tensor:
    back = adjoint(out)
    return sylvester(back, back, ct, or_nan=True)


sqrtm = general(
    "sqrtm", "a", type=_root_type, batch=batch_elementwise, can_raise=True, dtypes="float", takes_complex=True,
    vjp=(_root_vjp,), jvp=lambda out, a_dot: sylvester(out, out, a_dot, or_nan=True),
    samples=[((_positive_square(3, 3),), ()), ((_positive_square(2, 2, 2),), ()), ((_positive_square(1, 1),), ())],
    kink="a singular matrix has no derivative: the gradient is NaN, and inf of a single 0",
    doc="the principal square root of square matrices",
    ref="N. J. Higham, Functions of Matrices: Theory and Computation, SIAM 2008, section 6.1",
    mixes="matrices",
)  # fmt: skip
