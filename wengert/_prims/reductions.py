"""Reductions over axes: products, extrema, their places, any and all, log-sum-exp; and softmax with its logarithm.

Sums are in `structural.py`. Every rule is exact at its hard points: products with zeros, extrema with ties, sums of
exponentials with -inf.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._core import dims, dtypes
from .._core.op import Op, batch_shifting, general, require_dtype, zero
from .._core.tensor import Tensor
from .._core.types import TensorType, tensor_type, type_of
from .cumulative import products_of_others
from .discrete import eq, isnan
from .elementwise import div, exp
from .structural import (
    REDUCTION_SAMPLES,
    cast,
    conj_of,
    fill,
    inverse,
    mul,
    reduce_sum,
    reduction_type,
    require_axes,
    reshape,
    select,
    spread,
    sub,
    transpose,
    without,
)

_BATCH = batch_shifting(axes=1)

# -- products ---------------------------------------------------------------------------------------------------------


def _others(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """For each element the product of all others that it is multiplied with."""
    if not axes:
        return fill(x, 1)
    if len(axes) == 1:
        return products_of_others(x, axes[0])
    perm = (*without(tuple(range(len(x.shape))), axes), *axes)
    ordered = transpose(x, perm=perm)
    first = len(perm) - len(axes)
    merged = (*ordered.shape[:first], dims.size_of(ordered.shape[first:]))
    others = products_of_others(reshape(ordered, shape=merged), first)
    return transpose(reshape(others, shape=ordered.shape), perm=inverse(perm))


def _prod_vjp(ct: Tensor, x: Tensor, axes: tuple[int, ...], times: Any) -> Tensor:
    return times(spread(ct, type_of(x), axes), conj_of(_others(x, axes)))


reduce_prod = general(
    "reduce_prod", "x", attrs="axes", vjp=(_prod_vjp,),
    jvp=lambda x, x_dot, axes, times: reduce_sum(times(x_dot, _others(x, axes)), axes=axes),
    type=reduction_type("reduce_prod", category="number"), batch=_BATCH, dtypes="number", samples=REDUCTION_SAMPLES,
    doc="the product over axes, in the dtype of x (float16 and bfloat16 are multiplied in float32)",
    mixes="axes",
)  # fmt: skip

# -- extrema ----------------------------------------------------------------------------------------------------------


def _winners(x: Tensor, out: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Where the extremum is attained, and how often (never, where it is NaN)."""
    wins = eq(x, spread(out, type_of(x), axes))
    return wins, reduce_sum(cast(wins, out.dtype), axes=axes)


def _extremum_vjp(ct: Tensor, x: Tensor, out: Tensor, axes: tuple[int, ...], times: Callable[..., Any]) -> Tensor:
    wins, count = _winners(x, out, axes)
    x_type = type_of(x)
    share = spread(div(ct, count), x_type, axes)
    # a NaN makes the whole group's gradient NaN; elsewhere those that lost have zero
    rest = select(isnan(out), times(ct, out), fill(ct, 0))
    return select(wins, share, spread(rest, x_type, axes))


def _extremum_jvp(x: Tensor, out: Tensor, x_dot: Tensor, axes: tuple[int, ...]) -> Tensor:
    wins, count = _winners(x, out, axes)
    return div(reduce_sum(select(wins, x_dot, fill(x_dot, 0)), axes=axes), count)


def _extremum(name: str, doc: str) -> Op:
    return general(
        name, "x", attrs="axes", vjp=(_extremum_vjp,), jvp=_extremum_jvp, batch=_BATCH, dtypes="real",
        type=reduction_type(name, category="real"), inserts_zeros=True, samples=REDUCTION_SAMPLES, mixes="axes",
        kink="equal shares to all that attain it; NaN for all where one is NaN", doc=doc,
    )  # fmt: skip


reduce_max = _extremum("reduce_max", "the largest over axes; NaN if one is")
reduce_min = _extremum("reduce_min", "the smallest over axes; NaN if one is")


def _place(name: str, doc: str) -> Op:
    def type_rule(x: TensorType, axis: int) -> TensorType:
        require_axes(name, x, (axis,))
        require_dtype(name, "x", x, "real")
        return tensor_type(without(x.shape, (axis,)), dtypes.int64)

    return zero(
        name, "x", attrs="axis", type=type_rule, batch=batch_shifting(axis=1), dtypes="real", smooth=False, doc=doc,
        places=True, in_float32=True, samples=[(((2, 3, 4),), (1,)), (((3,),), (0,))],
    )  # fmt: skip


argmax = _place("argmax", "the first index of the largest along an axis, or of the first NaN")
argmin = _place("argmin", "the first index of the smallest along an axis, or of the first NaN")


def _logical(name: str, doc: str) -> Op:
    return zero(
        name, "x", attrs="axes", type=reduction_type(name, category="bool"), batch=_BATCH, dtypes="bool",
        smooth=False, doc=doc, samples=[((lambda rng: rng.random((2, 3)) < 0.5,), ((1,),))],
    )  # fmt: skip


reduce_any = _logical("reduce_any", "whether some element is true, over axes")
reduce_all = _logical("reduce_all", "whether every element is true, over axes")

# -- sums of exponentials ---------------------------------------------------------------------------------------------


def _shares(x: Tensor, out: Tensor, axes: tuple[int, ...]) -> Tensor:
    """e^x / sum(e^x), and 0 where every x is -inf."""
    dtype = x.dtype
    if dtypes.is_half(dtype):  # the rounding of a half-float result would be magnified by exp
        x = cast(x, dtypes.float32)
        out = logsumexp(x, axes=axes)
    finite = select(eq(out, fill(out, -math.inf)), fill(out, 0), out)
    return cast(exp(sub(x, spread(finite, type_of(x), axes))), dtype)


def _logsumexp_vjp(ct: Tensor, x: Tensor, out: Tensor, axes: tuple[int, ...], times: Callable[..., Any]) -> Tensor:
    return times(spread(ct, type_of(x), axes), _shares(x, out, axes))


logsumexp = general(
    "logsumexp", "x", attrs="axes", vjp=(_logsumexp_vjp,),
    jvp=lambda x, out, x_dot, axes, times: reduce_sum(times(x_dot, _shares(x, out, axes)), axes=axes),
    type=reduction_type("logsumexp", category="float"), batch=_BATCH, dtypes="float", samples=REDUCTION_SAMPLES,
    kink="zero where every element is -inf", doc="log(sum(exp(x))) over axes, without overflow",
    mixes="axes",
    in_float32=True,
)  # fmt: skip


def _along_type(name: str) -> Any:
    def type_rule(x: TensorType, axis: int) -> TensorType:
        require_axes(name, x, (axis,))
        require_dtype(name, "x", x, "float")
        return tensor_type(x.shape, x.dtype)

    return type_rule


def _total(x: Tensor, axis: int) -> Tensor:
    """The sum along an axis, repeated along it."""
    return spread(reduce_sum(x, axes=(axis,)), type_of(x), (axis,))


def _softmax_vjp(ct: Tensor, out: Tensor, axis: int, times: Op) -> Tensor:
    return times(sub(ct, _total(times(ct, out), axis)), out)


def _log_softmax_vjp(ct: Tensor, out: Tensor, axis: int) -> Tensor:
    return sub(ct, mul(_total(ct, axis), exp(out)))


_AXIS_SAMPLES = [(((2, 3, 2),), (1,)), (((3,),), (0,))]

softmax = general(
    "softmax", "x", attrs="axis", vjp=(_softmax_vjp,), type=_along_type("softmax"), batch=batch_shifting(axis=1),
    jvp=lambda out, x_dot, axis, times: times(sub(x_dot, _total(times(x_dot, out), axis)), out), dtypes="float",
    samples=_AXIS_SAMPLES, doc="e^x / sum(e^x) along an axis, without overflow",
    mixes="axes",
    in_float32=True,
)  # fmt: skip
log_softmax = general(
    "log_softmax", "x", attrs="axis", vjp=(_log_softmax_vjp,), type=_along_type("log_softmax"),
    jvp=lambda out, x_dot, axis, times: sub(x_dot, _total(times(x_dot, exp(out)), axis)), batch=batch_shifting(axis=1),
    dtypes="float", samples=_AXIS_SAMPLES, doc="the logarithm of softmax, exact where softmax vanishes",
    mixes="axes",
    in_float32=True,
)  # fmt: skip
