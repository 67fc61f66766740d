"""Registers the named tuples that our functions return, so that saved traces and exported libraries can return them."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from .._compile.saved import allow_container
from ..differentiation.derivatives import ValueAndJacobian
from ..differentiation.functional import ValueAndGrad, ValueAndGrads
from ..linalg import EighResult, EigResult, QRResult, SlogdetResult, SVDResult
from ..ops.kthvalue_and_mode import ValueAndIndex
from ..ops.normalization import BatchStatistics


def allow_named_results() -> None:
    """Lets results of these classes be saved."""
    for kind in (
        BatchStatistics, EigResult, EighResult, QRResult, SVDResult, SlogdetResult, ValueAndGrad, ValueAndGrads,
        ValueAndIndex, ValueAndJacobian,
    ):  # fmt: skip
        allow_container(kind)
