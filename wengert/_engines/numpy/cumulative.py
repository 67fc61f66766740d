"""NumPy kernels of `_prims/cumulative.py`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .common import in_float32

_STRETCH = 32  # so many elements may be added one after the other in float32
_WIDENED = 1 << 16  # about as many are held in twice the width at a time
_SHORT = 64  # axes up to this extent are scanned place by place


def _directed(scan: Callable[[Any, int], Any]) -> Any:
    """A kernel from a forward scan; reverse scans run on a flipped view."""

    def kernel(x: np.ndarray[Any, Any], axis: int, reverse: bool) -> Any:
        if not reverse:
            return scan(x, axis)
        return np.flip(scan(np.flip(x, axis), axis), axis)

    return in_float32(kernel)


def _cumsum(x: np.ndarray[Any, Any], axis: int) -> Any:
    """Running sums of float32 and complex64 are kept in twice the width, a stretch at a time: each is within a rounding
    error of its own, where one after the other the error grows with the place."""
    extent = x.shape[axis]
    if x.dtype not in (np.float32, np.complex64) or extent <= _STRETCH:
        return np.cumsum(x, axis, x.dtype)
    out = np.empty(x.shape, x.dtype)
    source, target = np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0)
    width = max(_STRETCH, _WIDENED * extent // max(x.size, 1))
    carry: Any = 0
    for start in range(0, extent, width):
        sums = np.cumsum(source[start : start + width], 0, np.result_type(x.dtype, np.float64))
        sums += carry
        target[start : start + width] = sums
        carry = sums[-1].copy()
    return out


def _where_kept(keep: Any, state: Any) -> Any:
    return np.where(keep, state, state.dtype.type(0))


def _scan(factor: np.ndarray[Any, Any], term: np.ndarray[Any, Any], product: Callable[..., Any]) -> Any:
    """s_i = product(factor_i, s_(i-1)) + term_i along the first axis, one step for each place."""
    out = np.empty(term.shape, term.dtype)
    state = out[0] = term[0]
    for i in range(1, len(term)):
        state = product(factor[i], state) + term[i]
        out[i] = state
    return out


def _scan_in_blocks(factor: Any, term: Any, product: Callable[..., Any]) -> Any:
    """The same for a long axis and few lanes: all blocks side by side, then from each block to the next.

    It takes about two square roots of the extent in steps. The products of factors that join blocks may overflow
    where the recurrence itself does not; then the result is None.
    """
    extent, lanes = term.shape
    width = math.isqrt(extent)
    count = -(-extent // width)
    missing = count * width - extent

    def side_by_side(x: np.ndarray[Any, Any]) -> Any:
        """The axes: place in the block, block, lane."""
        padded = np.concatenate([x, np.zeros((missing, lanes), x.dtype)])
        return padded.reshape(count, width, lanes).swapaxes(0, 1)

    factor, term = side_by_side(factor), side_by_side(term)
    with np.errstate(over="ignore", invalid="ignore"):
        inside = _scan(factor, term, product)
        carry = np.logical_and.accumulate(factor) if factor.dtype == bool else np.multiply.accumulate(factor)
        entering = np.zeros((count, lanes), term.dtype)
        for block in range(1, count):
            entering[block] = product(carry[-1, block - 1], entering[block - 1]) + inside[-1, block - 1]
        out = product(carry, entering) + inside
    out = out.swapaxes(0, 1).reshape(count * width, lanes)[:extent]
    return out if np.isfinite(out).all() else None


def _recurrence(product: Callable[..., Any]) -> Any:
    def along(factor: np.ndarray[Any, Any], term: np.ndarray[Any, Any], axis: int, reverse: bool) -> Any:
        if term.size == 0:
            return term
        factor, term = np.moveaxis(factor, axis, 0), np.moveaxis(term, axis, 0)
        if reverse:
            factor, term = factor[::-1], term[::-1]
        flat_factor, flat_term = factor.reshape(len(term), -1), term.reshape(len(term), -1)
        out = None
        if len(term) > max(_SHORT, 4 * flat_term.shape[1]) and term.dtype.kind in "fc":
            out = _scan_in_blocks(flat_factor, flat_term, product)
        if out is None:
            out = _scan(flat_factor, flat_term, product)
        out = out.reshape(term.shape)
        return np.moveaxis(out[::-1] if reverse else out, 0, axis)

    return along


def _restarting(factor: Any, state: Any) -> Any:
    out = np.zeros(np.broadcast_shapes(factor.shape, state.shape), state.dtype)  # blocks share their states
    return np.multiply(factor, state, where=factor != 0, out=out)


_masked = _recurrence(_where_kept)
_plain, _careful = _recurrence(np.multiply), _recurrence(_restarting)


def _linear_recurrence(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], axis: int, reverse: bool) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):
        out = _plain(a, b, axis, reverse)
    # zero factors need care only where they meet infinities
    return out if np.isfinite(out).all() else _careful(a, b, axis, reverse)


def _segmented_cumsum(x: np.ndarray[Any, Any], restart: Any, axis: int, reverse: bool) -> Any:
    return _masked(np.logical_not(restart), x, axis, reverse)


KERNELS: dict[str, Any] = {
    "linear_recurrence": in_float32(_linear_recurrence),
    "segmented_cumsum": in_float32(_segmented_cumsum),
    "cumsum": _directed(_cumsum),
    "cumprod": _directed(lambda x, axis: np.cumprod(x, axis, x.dtype)),
    "cummax": _directed(lambda x, axis: np.maximum.accumulate(x, axis)),
    "cummin": _directed(lambda x, axis: np.minimum.accumulate(x, axis)),
    "cumlogsumexp": _directed(lambda x, axis: np.logaddexp.accumulate(x, axis)),
}
