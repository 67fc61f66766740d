"""NumPy kernels of `_prims/reductions.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import in_float32
from .summing import pairwise_sum


def _finite_peak(x: np.ndarray[Any, Any], axes: tuple[int, ...]) -> Any:
    """The largest over axes, kept as axes of extent 1; 0 in place of -inf and inf, which cannot be subtracted."""
    peak = np.max(x, axes, keepdims=True, initial=-np.inf)
    return np.where(np.isinf(peak), x.dtype.type(0), peak)


def _logsumexp(x: np.ndarray[Any, Any], axes: tuple[int, ...]) -> Any:
    x = np.asarray(x)
    peak = _finite_peak(x, axes)
    # log(0) = -inf is the value for rows of -inf, no accident; exp(inf) likewise
    with np.errstate(divide="ignore", over="ignore"):
        terms = np.asarray(x - peak)
        total = np.log(pairwise_sum(np.exp(terms, out=terms), axes, keepdims=True)) + peak
    return np.squeeze(total, axes) if axes else total


def _softmax(x: np.ndarray[Any, Any], axis: int) -> Any:
    grown = x - np.max(x, axis, keepdims=True, initial=-np.inf)
    np.exp(grown, out=grown)
    grown /= pairwise_sum(grown, (axis,), keepdims=True)
    return grown


def _log_softmax(x: np.ndarray[Any, Any], axis: int) -> Any:
    shifted = x - np.max(x, axis, keepdims=True, initial=-np.inf)
    shifted -= np.log(pairwise_sum(np.exp(shifted), (axis,), keepdims=True))
    return shifted


KERNELS: dict[str, Any] = {
    "reduce_prod": in_float32(lambda x, axes: np.multiply.reduce(x, axes, x.dtype)),
    "reduce_max": lambda x, axes: np.maximum.reduce(x, axes),
    "reduce_min": lambda x, axes: np.minimum.reduce(x, axes),
    "argmax": lambda x, axis: np.argmax(x, axis),
    "argmin": lambda x, axis: np.argmin(x, axis),
    "reduce_any": lambda x, axes: np.logical_or.reduce(x, axes),
    "reduce_all": lambda x, axes: np.logical_and.reduce(x, axes),
    "logsumexp": in_float32(_logsumexp),
    "softmax": in_float32(_softmax),
    "log_softmax": in_float32(_log_softmax),
}
