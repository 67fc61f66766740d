"""Scans along one axis: running sums, products, extrema and log-sum-exps, and the two recurrences that their rules
are written in.

`linear_recurrence` and `segmented_cumsum` are closed under differentiation (the adjoint of each is one of its own
kind, run the other way), so every order is exact, with zeros and infinities anywhere, and nothing is divided by.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.op import Op, batch_shifting, general, linear, require_dtype, require_same
from .._core.tensor import Tensor
from .._core.types import TensorType, same_shape, tensor_type
from .discrete import eq, isnan, logical_and, logical_not, logical_or, ne
from .elementwise import exp
from .structural import add, cast, conj_of, fill, full, kept, mul, pad, require_axes, select, sub

_BATCH = batch_shifting(axis=1)
_SAMPLES = [(((2, 3, 2),), (1, False)), (((4,),), (0, True)), (((1, 2),), (0, False))]


def _scan_type(name: str, category: str) -> Any:
    def type_rule(x: TensorType, axis: int, reverse: bool) -> TensorType:
        require_axes(name, x, (axis,))
        require_dtype(name, "x", x, category)
        return tensor_type(x.shape, x.dtype)

    return type_rule


# -- shifting ------------------------------------------------------------------------------------------------------


def _moved(x: Tensor, axis: int, by: int) -> Tensor:
    """x moved one place along an axis (by 1 or -1), zeros moving in."""
    none = (0,) * len(x.shape)
    along = (*[int(i == axis) for i in range(len(x.shape))],)
    if by > 0:
        return pad(x, low=along, high=(*[-a for a in along],), interior=none)
    return pad(x, low=(*[-a for a in along],), high=along, interior=none)


def _is_first(x: Tensor, axis: int, reverse: bool) -> Tensor:
    """Where a scan over x begins."""
    none = (0,) * len(x.shape)
    rest = (*[d - 1 if i == axis else 0 for i, d in enumerate(x.shape)],)
    edge = full(shape=kept(x.shape, (axis,)), value=True, dtype=dtypes.bool_)
    return pad(edge, low=rest if reverse else none, high=none if reverse else rest, interior=none)


def _before(x: Tensor, axis: int, reverse: bool, start: float) -> Tensor:
    """What stands before each place in the scan's direction: `start` before the first."""
    moved = _moved(x, axis, -1 if reverse else 1)
    return select(_is_first(x, axis, reverse), fill(x, start), moved)


def _after(x: Tensor, axis: int, reverse: bool) -> Tensor:
    """What stands after each place in the scan's direction, a zero (or False) after the last."""
    return _moved(x, axis, 1 if reverse else -1)


# -- recurrences -----------------------------------------------------------------------------------------------------


def _recurrence_type(a: TensorType, b: TensorType, axis: int, reverse: bool) -> TensorType:
    require_same("linear_recurrence", ("a", "b"), (a, b))
    require_axes("linear_recurrence", b, (axis,))
    require_dtype("linear_recurrence", "a", a, "number")
    return tensor_type(b.shape, b.dtype)


def _carried_back(ct: Tensor, a: Tensor, axis: int, reverse: bool) -> Tensor:
    """The cotangent of b: what each term adds to its own result and, through the next factors, to later ones."""
    return linear_recurrence(conj_of(_after(a, axis, reverse)), ct, axis=axis, reverse=not reverse)


def _to_factor(ct: Tensor, a: Tensor, out: Tensor, axis: int, reverse: bool, times: Op) -> Tensor:
    previous = _before(out, axis, reverse, 0)
    return times(_carried_back(ct, a, axis, reverse), conj_of(previous))


def _recurrence_jvp(
    a: Tensor, out: Tensor, a_dot: Tensor, b_dot: Tensor, axis: int, reverse: bool, times: Any
) -> Tensor:  # fmt: skip
    grown = times(a_dot, _before(out, axis, reverse, 0))
    return linear_recurrence(a, add(b_dot, grown), axis=axis, reverse=reverse)


linear_recurrence = general(
    "linear_recurrence", "a b", attrs="axis reverse", vjp=(_to_factor, _carried_back), jvp=_recurrence_jvp,
    type=_recurrence_type, batch=_BATCH, dtypes="number", inserts_zeros=True,
    samples=[(((2, 3, 2), (2, 3, 2)), (1, False)), (((4,), (4,)), (0, True))],
    doc="s_i = a_i s_(i-1) + b_i along an axis, from the last place down if reverse; the first a is not read, "
        "and where a is 0 it starts afresh, even after an infinity",
    mixes="earlier",
    in_float32=True,
)  # fmt: skip


def _segmented_type(x: TensorType, restart: TensorType, axis: int, reverse: bool) -> TensorType:
    require_axes("segmented_cumsum", x, (axis,))
    require_dtype("segmented_cumsum", "x", x, "number")
    require_dtype("segmented_cumsum", "restart", restart, "bool")
    if not same_shape(x.shape, restart.shape):
        raise ValueError(f"segmented_cumsum: x has shape {x.shape} and restart has shape {restart.shape}")
    return tensor_type(x.shape, x.dtype)


def _segmented_transpose(ct: Tensor, restart: Tensor, axis: int, reverse: bool) -> Tensor:
    return segmented_cumsum(ct, _after(restart, axis, reverse), axis=axis, reverse=not reverse)


segmented_cumsum = linear(
    "segmented_cumsum", "x restart", attrs="axis reverse", transpose=(_segmented_transpose, None),
    type=_segmented_type, batch=_BATCH, dtypes="number",
    samples=[(((2, 5), lambda rng: rng.random((2, 5)) < 0.4), (1, False)),
             (((5,), lambda rng: rng.random(5) < 0.4), (0, True))],
    doc="the running sum along an axis, which starts afresh wherever restart is true",
    mixes="earlier",
    in_float32=True,
)  # fmt: skip

# -- sums and products -------------------------------------------------------------------------------------------------

cumsum = linear(
    "cumsum", "x", attrs="axis reverse", type=_scan_type("cumsum", "number"), batch=_BATCH, dtypes="number",
    transpose=lambda ct, axis, reverse: cumsum(ct, axis=axis, reverse=not reverse), samples=_SAMPLES,
    doc="the running sum along an axis, in the dtype of x (float16 and bfloat16 are summed in float32)",
    mixes="earlier",
    in_float32=True,
)  # fmt: skip


def _cumprod_vjp(ct: Tensor, x: Tensor, out: Tensor, axis: int, reverse: bool, times: Op) -> Tensor:
    """The product of what comes before, times what the place adds to its own result and to later ones."""
    return times(_carried_back(ct, x, axis, reverse), conj_of(_before(out, axis, reverse, 1)))


def _cumprod_jvp(x: Tensor, out: Tensor, x_dot: Tensor, axis: int, reverse: bool, times: Any) -> Tensor:
    return linear_recurrence(x, times(x_dot, _before(out, axis, reverse, 1)), axis=axis, reverse=reverse)


cumprod = general(
    "cumprod", "x", attrs="axis reverse", vjp=(_cumprod_vjp,), jvp=_cumprod_jvp,
    type=_scan_type("cumprod", "number"), batch=_BATCH, dtypes="number",
    samples=[*_SAMPLES, ((lambda rng: np.array([2.0, 0.0, 3.0, 0.0, 4.0]),), (0, False))],
    doc="the running product along an axis, in the dtype of x",
    mixes="earlier",
    in_float32=True,
)  # fmt: skip


def products_of_others(x: Tensor, axis: int) -> Tensor:
    """For each place the product of all others along the axis: exact with zeros, for nothing is divided by."""
    if dtypes.is_half(x.dtype):  # rounded once, as the product itself
        return cast(products_of_others(cast(x, dtypes.float32), axis), x.dtype)
    ahead = _before(cumprod(x, axis=axis, reverse=False), axis, False, 1)
    behind = _before(cumprod(x, axis=axis, reverse=True), axis, True, 1)
    return mul(ahead, behind)


# -- extrema -----------------------------------------------------------------------------------------------------------


def _attained(out: Tensor, axis: int, reverse: bool) -> Tensor:
    """Where a running extremum is attained for the first time. A first NaN counts, and everything after it does not."""
    previous = _moved(out, axis, -1 if reverse else 1)
    is_new = logical_and(ne(out, previous), logical_not(isnan(previous)))  # NaN after NaN is nothing new
    return logical_or(_is_first(out, axis, reverse), is_new)


def _extremum_vjp(ct: Tensor, out: Tensor, axis: int, reverse: bool) -> Tensor:
    attained = _attained(out, axis, reverse)
    return select(attained, _segmented_transpose(ct, attained, axis, reverse), fill(ct, 0))


def _extremum_jvp(out: Tensor, x_dot: Tensor, axis: int, reverse: bool) -> Tensor:
    attained = _attained(out, axis, reverse)
    return segmented_cumsum(select(attained, x_dot, fill(x_dot, 0)), attained, axis=axis, reverse=reverse)


def _running(name: str, doc: str) -> Op:
    return general(
        name, "x", attrs="axis reverse", vjp=(_extremum_vjp,), jvp=_extremum_jvp, type=_scan_type(name, "real"),
        batch=_BATCH, dtypes="real", inserts_zeros=True, samples=_SAMPLES, mixes="earlier",
        in_float32=True, kink="all to the place that attained it first", doc=doc,
    )  # fmt: skip


cummax = _running("cummax", "the largest so far along an axis, NaN from the first NaN on")
cummin = _running("cummin", "the smallest so far along an axis, NaN from the first NaN on")

# -- log-sum-exp -------------------------------------------------------------------------------------------------------


def _shares(x: Tensor, out: Tensor, axis: int, reverse: bool) -> tuple[Tensor, Tensor]:
    """What each result owes to the one before it and to its own place: two numbers that add up to 1, or to 0 where
    everything so far is -inf."""
    dtype = x.dtype
    if dtypes.is_half(dtype):  # the rounding of a half-float result would be magnified by exp
        x = cast(x, dtypes.float32)
        out = cumlogsumexp(x, axis=axis, reverse=reverse)
    finite = select(eq(out, fill(out, -math.inf)), fill(out, 0), out)
    before = _before(out, axis, reverse, -math.inf)
    return cast(exp(sub(before, finite)), dtype), cast(exp(sub(x, finite)), dtype)


def _cumlogsumexp_vjp(ct: Tensor, x: Tensor, out: Tensor, axis: int, reverse: bool, times: Any) -> Tensor:
    kept_share, own_share = _shares(x, out, axis, reverse)
    return times(_carried_back(ct, kept_share, axis, reverse), own_share)


def _cumlogsumexp_jvp(x: Tensor, out: Tensor, x_dot: Tensor, axis: int, reverse: bool, times: Any) -> Tensor:
    kept_share, own_share = _shares(x, out, axis, reverse)
    return linear_recurrence(kept_share, times(x_dot, own_share), axis=axis, reverse=reverse)


cumlogsumexp = general(
    "cumlogsumexp", "x", attrs="axis reverse", vjp=(_cumlogsumexp_vjp,), jvp=_cumlogsumexp_jvp,
    type=_scan_type("cumlogsumexp", "float"), batch=_BATCH, dtypes="float", samples=_SAMPLES,
    kink="zero where everything so far is -inf", doc="the running log(sum(exp(x))) along an axis",
    mixes="earlier",
    in_float32=True,
)  # fmt: skip
