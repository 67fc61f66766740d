"""The exponential of matrices, on the last two axes; every axis before them is a batch."""

from __future__ import annotations

from typing import Any

from .._core.op import batch_elementwise, general
from .._core.tensor import Tensor
from .._core.types import TensorType, tensor_type
from .decompositions import square_type
from .linalg import adjoint
from .structural import concatenate, fill, slice_


def _expm_type(a: TensorType) -> TensorType:
    square_type("expm", a)
    return tensor_type(a.shape, a.dtype)


def _along(a: Tensor, change: Tensor) -> Tensor:
    """The derivative of e^a in a direction: the upper right block of the exponential of [[a, change], [0, a]].

    It is an exponential itself, and so are its derivatives.
    """
    last = len(a.shape) - 1
    above = concatenate(a, change, axis=last)
    below = concatenate(fill(a, 0), a, axis=last)
    whole = expm(concatenate(above, below, axis=last - 1))
    n, zeros = a.shape[-1], (0,) * (last - 1)
    limits = (*a.shape[:-2], n, n + n)
    return slice_(whole, starts=(*zeros, 0, n), limits=limits, strides=(1,) * (last + 1))


def _any_square(*shape: int) -> Any:
    return lambda rng: rng.normal(size=shape) * 0.7


expm = general(
    "expm", "a", type=_expm_type, batch=batch_elementwise, vjp=(lambda ct, a: _along(adjoint(a), ct),),
    jvp=lambda a, a_dot: _along(a, a_dot),
    samples=[((_any_square(3, 3),), ()), ((_any_square(2, 2, 2),), ()), ((_any_square(1, 1),), ())],
    doc="the exponential of square matrices",
    ref="R. Mathias, A chain rule for matrix functions and applications, SIAM J. Matrix Anal. Appl. 17, 1996",
)  # fmt: skip
