"""The hard points (docs/semantics/hard_points.md) at the user's level: each row of an op that exists, through `wg.grad`, plain
and compiled.

A row is the case as the page spells it, f, the arguments, the gradients of sum(w * f), and w. A row that `needs` an op
which is not there yet waits for it. `VALUES` has the page's second table. The cases of the page are in
kinks_cases.txt: those without a row are in `NOT_HERE`, with the reason.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.support.paths import SPEC

INF, NAN = np.inf, np.nan
ops, linalg, special = wg.ops, wg.linalg, wg.special


class Row(NamedTuple):
    """One case of the page."""

    case: str
    f: Any
    args: tuple[Any, ...]
    gradients: tuple[Any, ...]
    weights: Any = None
    needs: str = ""  # a name in wg that comes with the whole vocabulary; the row is tested once it is there


def unary(case: str, f: Any, x: Any, gradient: Any, weights: Any = None, needs: str = "") -> Row:
    return Row(case, f, (x,), (gradient,), weights, needs)


def is_there(name: str) -> bool:
    """Whether wg has got what a row needs."""
    missing = object()
    return reduce(lambda part, word: getattr(part, word, missing), name.split("."), wg) is not missing


def masked_attention(q: Any, k: Any, v: Any) -> Any:
    return wg.ops.dot_product_attention(q, k, v, mask=np.zeros((1, 1, 1, 2), bool))


BOUNDS = ([-1.0] * 5, [1.0] * 5)
NEAR_ONE = 1.0 - 1e-7
HSV_WEIGHTS = [[[1.0, 2.0, 3.0]]]

EYE, ZERO, NANS = np.eye(2), np.zeros((2, 2)), np.full((2, 2), NAN)
RANK_ONE, SYMMETRIC, TRIANGULAR = [[1.0, 2.0], [2.0, 4.0]], [[2.0, 1.0], [1.0, 2.0]], [[2.0, 1.0], [0.0, 3.0]]
TALL = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
TALL_LSTSQ = (np.array([[-33, -5], [-13.5, -6.5], [-16.5, -2.5]]) / 49, np.array([[6], [5], [3]]) / 14)


def eigen_trace(x: Any) -> Any:
    values, vectors = linalg.eigh(x)
    return vectors**2 * values


ROWS = [
    # -- elementwise
    unary("abs @ 0, -0.0", wg.abs, [0.0, -0.0], [0, 0]),
    unary("sign @ 0", wg.sign, [0.0], [0]),
    unary("relu @ 0, -0.0", wg.nn.relu, [0.0, -0.0], [0, 0]),
    unary("maximum(x, 0.0) @ 0 (relu by hand)", lambda x: wg.maximum(x, 0.0), [0.0], [0.5]),
    unary("relu6 @ 0, 6", ops.relu6, [0.0, 6.0], [0, 0]),
    unary("leaky_relu(0.2) @ 0", lambda x: ops.leaky_relu(x, 0.2), [0.0], [0.2]),
    unary("elu(alpha=1) @ 0", ops.elu, [0.0], [1]),
    unary("elu(alpha=2) @ 0", lambda x: ops.elu(x, 2.0), [0.0], [2]),
    unary("selu @ 0", ops.selu, [0.0], [1.0507009873554805]),
    unary("celu(alpha=1) @ 0", ops.celu, [0.0], [1]),
    unary("celu(alpha=2) @ 0", lambda x: ops.celu(x, 2.0), [0.0], [1]),
    unary("hard_sigmoid @ -3, 3", ops.hard_sigmoid, [-3.0, 3.0], [0, 0]),
    unary("hard_silu @ -3, 3", ops.hard_silu, [-3.0, 3.0], [0, 1]),
    unary("hard_tanh @ -1, 1", ops.hard_tanh, [-1.0, 1.0], [1, 1]),
    unary("hard_shrink(0.5) @ -0.5, 0.5", lambda x: ops.hard_shrink(x, 0.5), [-0.5, 0.5], [0, 0]),
    unary("soft_shrink(0.5) @ -0.5, 0.5", lambda x: ops.soft_shrink(x, 0.5), [-0.5, 0.5], [0, 0]),
    unary("threshold(x,0.5,0.1) @ 0.5", lambda x: ops.threshold(x, 0.5, 0.1), [0.5], [0]),
    unary("softsign @ 0", ops.softsign, [0.0], [1]),
    unary("sparse_plus @ -1, 1", ops.sparse_plus, [-1.0, 1.0], [0, 1]),
    unary("sparse_sigmoid @ -1, 1", ops.sparse_sigmoid, [-1.0, 1.0], [0, 0]),
    unary("squareplus @ 0", ops.squareplus, [0.0], [0.5]),
    unary("silu/gelu/mish smooth check @ 0", ops.silu, [0.0], [0.5]),
    unary("silu/gelu/mish smooth check @ 0", ops.gelu, [0.0], [0.5]),
    unary("sqrt @ 0", wg.sqrt, [0.0], [INF]),
    unary("sqrt @ -1", wg.sqrt, [-1.0], [NAN]),
    unary("sqrt(x*x) @ 0 (chained)", lambda x: wg.sqrt(x * x), [0.0], [NAN]),
    unary("rsqrt @ 0", wg.rsqrt, [0.0], [-INF]),
    unary("cbrt @ 0", wg.cbrt, [0.0], [INF]),
    unary("reciprocal @ 0", wg.reciprocal, [0.0], [-INF]),
    unary("log @ 0", wg.log, [0.0], [INF]),
    unary("log @ -1 (value is NaN)", wg.log, [-1.0], [-1]),
    unary("log1p @ -1", wg.log1p, [-1.0], [INF]),
    unary("arcsin @ -1, 1", wg.arcsin, [-1.0, 1.0], [INF, INF]),
    unary("arccos @ -1, 1", wg.arccos, [-1.0, 1.0], [-INF, -INF]),
    unary("arccosh @ 1", wg.arccosh, [1.0], [INF]),
    unary("arctanh @ 1", wg.arctanh, [1.0], [INF]),
    unary("erfinv @ 1", special.erfinv, [1.0], [INF]),
    unary("floor @ 0.5, 1", wg.floor, [0.5, 1.0], [0, 0]),
    unary("ceil @ 0.5, 1", wg.ceil, [0.5, 1.0], [0, 0]),
    unary("round @ 0.5, 1", wg.round, [0.5, 1.0], [0, 0]),
    unary("trunc @ 0.5, 1", wg.trunc, [0.5, 1.0], [0, 0]),
    unary("nan_to_num @ nan, inf, -inf, 1", wg.nan_to_num, [NAN, INF, -INF, 1.0], [0, 0, 0, 1]),
    unary("sinc @ 0", wg.sinc, [0.0], [0]),
    unary("i0 @ 0", special.i0, [0.0], [0]),
    unary("softplus @ -800, 0, 800", ops.softplus, [-800.0, 0.0, 800.0], [0, 0.5, 1]),
    unary("log_sigmoid @ -800, 0, 800", ops.log_sigmoid, [-800.0, 0.0, 800.0], [1, 0.5, 0]),
    unary("gelu(tanh) @ 0", lambda x: ops.gelu(x, approximate=True), [0.0], [0.5]),
    unary("x**2 @ 0 (const exponent)", lambda x: x**2, [0.0], [0]),
    unary("x**1 @ 0", lambda x: x**1, [0.0], [1]),
    unary("x**0 @ 0, 2", lambda x: x**0, [0.0, 2.0], [0, 0]),
    unary("x**0.5 @ 0", lambda x: x**0.5, [0.0], [INF]),
    unary("x**-1 @ 0", lambda x: x**-1, [0.0], [-INF]),
    unary("x**3.0 @ -2", lambda x: x**3.0, [-2.0], [12]),
    unary("where(x>0, sqrt(x), 0) @ -1, 0 (unsafe where)", lambda x: wg.where(x > 0, wg.sqrt(x), 0), [-1.0, 0.0], [0, 0]),
    unary("where(x>0, log(x), 0) @ 0", lambda x: wg.where(x > 0, wg.log(x), 0), [0.0], [0]),
    unary("clip(x,-1,1) @ -2,-1,1,2 d/dx", lambda x: wg.clip(x, -1, 1), [-2.0, -1.0, 1.0, 2.0], [0, 1, 1, 0]),
    Row(
        "clip(x,lo,hi) tensor bounds: x=[-2,-1,0,1,2], lo=-1, hi=1", wg.clip, ([-2.0, -1.0, 0.0, 1.0, 2.0], *BOUNDS),
        ([0, 1, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]),
    ),
    Row("clip(x,lo,hi) with lo=hi=x=1", wg.clip, ([1.0], [1.0], [1.0]), ([1], [0], [0])),
    Row("clip(x,lo,hi) with lo=1 > hi=-1, x=0", wg.clip, ([0.0], [1.0], [-1.0]), ([0], [0], [1])),
    unary("clip NaN input", lambda x: wg.clip(x, -1, 1), [NAN], [0]),
    unary("relu(relu6) negative side: leaky_relu @ -0.0", lambda x: ops.leaky_relu(x, 0.2), [-0.0], [0.2]),
    unary("clip one-sided: clamp(x,min=0) @ 0", lambda x: wg.clip(x, 0, None), [0.0], [1]),
    unary("expm1/log1p smooth check log1p(expm1(x)) @ 0", lambda x: wg.log1p(wg.expm1(x)), [0.0], [1]),
    unary("sigmoid @ -800, 800", wg.sigmoid, [-800.0, 800.0], [0, 0]),
    unary("tanh @ 800", wg.tanh, [800.0], [0]),
    unary("squareplus/softplus large -> ok", ops.squareplus, [1e5], [1]),
    unary("softsign @ -1e300", ops.softsign, [-1e300], [0]),
    # -- special
    unary("digamma/lgamma @ 0, -1, -1.5", special.gammaln, [-1.5], [0.7031566406452432]),
    unary("digamma/lgamma @ 0, -1, -1.5", special.gammaln, [-1.0], [NAN]),
    Row("xlogy(0,0)", special.xlogy, ([0.0], [0.0]), ([0], [0])),
    Row("xlogy(0,2)", special.xlogy, ([0.0], [2.0]), ([np.log(2)], [0])),
    Row("xlogy(1,0)", special.xlogy, ([1.0], [0.0]), ([-INF], [INF])),
    unary("erf/erfc @ 30", special.erf, [30.0], [0]),
    unary("erf/erfc @ 30", special.erfc, [30.0], [0]),
    unary("bessel_i0e/i1e @ 0", special.i1e, [0.0], [0.5]),
    unary("bessel_i0e/i1e @ 0", special.i0e, [0.0], [0]),
    Row("igamma(a=2,x=0)", lambda a, x: special.gammainc(a, x), ([2.0], [0.0]), ([0], [0]), needs="special.gammainc"),
    # the page's two numbers below were measured by differences in float32; these are exact
    Row(
        "igamma(a=2,x=1.5) d/da", lambda a, x: special.gammainc(a, x), ([2.0], [1.5]), ([-0.3134886378], [0.33469524]),
        needs="special.gammainc",
    ),
    unary("zeta(2.5,1.5)", lambda q: special.zeta(2.5, q), [1.5], [-2.5 * 0.3070961645], needs="special.zeta"),
    unary("ndtri @ 0.5, 1", special.ndtri, [0.5, 1.0], [2.5066282746310002, INF]),
    unary("logit @ 0, 1", special.logit, [0.0, 1.0], [INF, INF]),
    unary("entr @ 0", special.entr, [0.0, -1.0, 0.5], [INF, 0, -np.log(0.5) - 1]),
    # -- binary
    Row("maximum(a,b) tie", wg.maximum, ([1.0], [1.0]), ([0.5], [0.5])),
    Row("minimum(a,b) tie", wg.minimum, ([1.0], [1.0]), ([0.5], [0.5])),
    Row("fmax(a,b) tie", wg.fmax, ([1.0], [1.0]), ([1], [0])),
    Row("fmax(a,b), a=NaN", wg.fmax, ([NAN], [1.0]), ([0], [1])),
    unary("maximum(x,x) same tensor", lambda x: wg.maximum(x, x), [1.0], [1]),
    Row("logaddexp tie (0.5,0.5 is the true gradient)", wg.logaddexp, ([1.0], [1.0]), ([0.5], [0.5])),
    Row("logaddexp(-inf,-inf)", wg.logaddexp, ([-INF], [-INF]), ([0.5], [0.5])),
    Row("power(a,b) a=0,b=-1", wg.power, ([0.0], [-1.0]), ([-INF], [0])),
    Row("logaddexp(-inf, 1)", wg.logaddexp, ([-INF], [1.0]), ([0], [1])),
    Row("hypot(0,0)", wg.hypot, ([0.0], [0.0]), ([0], [0])),
    Row("hypot(3,3) (smooth: 0.7071,0.7071)", wg.hypot, ([3.0], [3.0]), ([0.5**0.5], [0.5**0.5])),
    Row("hypot(3,0) (smooth: 1,0)", wg.hypot, ([3.0], [0.0]), ([1], [0])),
    Row("arctan2(0,0)", wg.arctan2, ([0.0], [0.0]), ([0], [0])),
    Row("power(a,b) a=0,b=0", wg.power, ([0.0], [0.0]), ([0], [0])),
    Row("power(a,b) a=0,b=2", wg.power, ([0.0], [2.0]), ([0], [0])),
    Row("power(a,b) a=0,b=1", wg.power, ([0.0], [1.0]), ([1], [0])),
    Row("power(a,b) a=0,b=0.5", wg.power, ([0.0], [0.5]), ([INF], [0])),
    Row("power(a,b) a=-2,b=3", wg.power, ([-2.0], [3.0]), ([12], [0])),
    Row("divide(1,0)", wg.divide, ([1.0], [0.0]), ([INF], [-INF])),
    Row("divide(0,0)", wg.divide, ([0.0], [0.0]), ([INF], [NAN])),
    Row("divide_no_nan(2,0)", ops.divide_no_nan, ([2.0], [0.0]), ([0], [0])),
    Row("mod(a,b) a=7.5,b=2 (away)", wg.mod, ([7.5], [2.0]), ([1], [-3])),
    Row("mod(a,b) a=4,b=2 (at jump)", wg.mod, ([4.0], [2.0]), ([1], [-2])),
    Row("mod(a,b) a=-7.5,b=2", wg.mod, ([-7.5], [2.0]), ([1], [4])),
    Row("fmod(a,b) a=-7.5,b=2", wg.fmod, ([-7.5], [2.0]), ([1], [3])),
    Row("floor_divide(a,b)", wg.floor_divide, ([7.5], [2.0]), ([0], [0])),
    Row("heaviside(0, 0.5)", wg.heaviside, ([0.0], [0.5]), ([0], [1])),
    Row("where(cond,a,b): cond=[T,F]", lambda a, b: wg.where([True, False], a, b), ([1.0, 2.0], [3.0, 4.0]), ([1, 0], [0, 1])),
    # -- reduction
    unary("max([1,3,3])", wg.max, [1.0, 3.0, 3.0], [0, 0.5, 0.5]),
    unary("max([3,3,3])", wg.max, [3.0, 3.0, 3.0], [1 / 3] * 3),
    unary("max(x,dim).values [1,3,3]", lambda x: wg.max(x, axis=0), [1.0, 3.0, 3.0], [0, 0.5, 0.5]),
    unary("min([1,1,3])", wg.min, [1.0, 1.0, 3.0], [0.5, 0.5, 0]),
    unary("max(x, initial=3) with x=[1,3,3]", lambda x: wg.max(x, initial=3.0), [1.0, 3.0, 3.0], [0, 1 / 3, 1 / 3]),
    unary("prod one zero [0,2,3]", wg.prod, [0.0, 2.0, 3.0], [6, 0, 0]),
    unary("prod two zeros [0,0,3]", wg.prod, [0.0, 0.0, 3.0], [0, 0, 0]),
    unary("cumprod [2,0,3,4]", wg.cumprod, [2.0, 0.0, 3.0, 4.0], [1, 32, 0, 0]),
    unary("cummax [1,3,3,2]", ops.cummax, [1.0, 3.0, 3.0, 2.0], [1, 3, 0, 0]),
    unary("std constant [2,2,2]", wg.std, [2.0, 2.0, 2.0], [0, 0, 0]),
    unary("var constant [2,2,2]", wg.var, [2.0, 2.0, 2.0], [0, 0, 0]),
    unary("std single element [2] (ddof=0)", wg.std, [2.0], [0]),
    unary("L2 norm of 0 vector", linalg.norm, [0.0, 0.0], [0, 0]),
    unary("L1 norm at [0,2]", lambda x: linalg.norm(x, 1), [0.0, 2.0], [0, 1]),
    unary("L3 norm of 0 vector", lambda x: linalg.norm(x, 3), [0.0, 0.0], [0, 0]),
    unary("L3 norm at [0,2]", lambda x: linalg.norm(x, 3), [0.0, 2.0], [0, 1]),
    unary("inf norm tie [2,-2,1]", lambda x: linalg.norm(x, np.inf), [2.0, -2.0, 1.0], [0.5, -0.5, 0]),
    unary("-inf norm tie [2,-1,1]", lambda x: linalg.norm(x, -np.inf), [2.0, -1.0, 1.0], [0, -0.5, 0.5]),
    unary("inf norm of 0 vector", lambda x: linalg.norm(x, np.inf), [0.0, 0.0], [0, 0]),
    unary("logsumexp [-inf,-inf]", special.logsumexp, [-INF, -INF], [0, 0]),
    unary("logsumexp [1,1]", special.logsumexp, [1.0, 1.0], [0.5, 0.5]),
    unary("softmax [-inf,1,2]", wg.nn.softmax, [-INF, 1.0, 2.0], [0, -0.19661193324148185, 0.19661193324148185], [1.0, 2.0, 3.0]),
    unary("log_softmax [-inf,1,2], w=(0,2,3)", lambda x: wg.nn.log_softmax(x)[1:], [-INF, 1.0, 2.0], [0, 0.6552929, -0.6552929], [2.0, 3.0]),
    unary("sparsemax [1,1,-5]", ops.sparsemax, [1.0, 1.0, -5.0], [-0.5, 0.5, 0], [1.0, 2.0, 3.0]),
    unary("sparsemax at support boundary [1,0,-5]", ops.sparsemax, [1.0, 0.0, -5.0], [0, 0, 0], [1.0, 2.0, 3.0]),
    unary("cummin ties [3,1,1,2]", ops.cummin, [3.0, 1.0, 1.0, 2.0], [1, 3, 0, 0]),
    unary("cumulative_logsumexp [-inf,-inf,0]", ops.cumlogsumexp, [-INF, -INF, 0.0], [0, 0, 1]),
    unary("max([nan,1])", wg.max, [NAN, 1.0], [NAN, NAN]),
    unary("L0.5 norm at [0,2]", lambda x: linalg.norm(x, 0.5), [0.0, 2.0], [0, 1]),
    unary("normalize 0 vector", ops.normalize, [0.0, 0.0], [1e7, 2e7], [1.0, 2.0]),
    unary("rms_normalization of 0 vector", ops.rms_normalization, [0.0, 0.0], [1e7**0.5, 2 * 1e7**0.5], [1.0, 2.0]),
    unary("logsumexp [inf,1]", special.logsumexp, [INF, 1.0], [NAN, 0]),
    unary("softmax all -inf", wg.nn.softmax, [-INF] * 3, [NAN] * 3),
    # -- sorting
    unary("sort desc ties [2,1,2,1], w=1..4", lambda x: wg.sort(x, descending=True), [2.0, 1.0, 2.0, 1.0],
          [1, 3, 2, 4], [1.0, 2.0, 3.0, 4.0]),
    unary("sort ties [2,1,2,1], w=1..4", wg.sort, [2.0, 1.0, 2.0, 1.0], [3, 1, 4, 2], [1.0, 2.0, 3.0, 4.0]),
    unary("sort with NaN [nan,1,2], w=1..3", wg.sort, [NAN, 1.0, 2.0], [3, 1, 2], [1.0, 2.0, 3.0]),
    unary("top_k k=2 of [3,3,3,1], w=1,2", lambda x: ops.top_k(x, 2)[0], [3.0, 3.0, 3.0, 1.0], [1, 2, 0, 0], [1.0, 2.0]),
    unary("top_k k=1 of [3,3,1]", lambda x: ops.top_k(x, 1)[0], [3.0, 3.0, 1.0], [1, 0, 0]),
    unary("median odd ties [1,2,2]", wg.median, [1.0, 2.0, 2.0], [0, 1, 0]),
    unary("median odd ties [2,2,2]", wg.median, [2.0, 2.0, 2.0], [0, 1, 0]),
    unary("median odd distinct [3,1,2]", wg.median, [3.0, 1.0, 2.0], [0, 0, 1]),
    unary("median even distinct [4,1,3,2]", wg.median, [4.0, 1.0, 3.0, 2.0], [0, 0, 0.5, 0.5]),
    unary("median even ties [1,2,2,3]", wg.median, [1.0, 2.0, 2.0, 3.0], [0, 0.5, 0.5, 0]),
    unary("quantile q=0.5 of [1,2,3] (exact index)", lambda x: wg.quantile(x, 0.5), [1.0, 2.0, 3.0], [0, 1, 0]),
    unary("quantile q=0 of [1,2,3]", lambda x: wg.quantile(x, 0.0), [1.0, 2.0, 3.0], [1, 0, 0]),
    unary("quantile q=1 of [1,2,3]", lambda x: wg.quantile(x, 1.0), [1.0, 2.0, 3.0], [0, 0, 1]),
    unary("quantile q=0.3 of [1,2,3]", lambda x: wg.quantile(x, 0.3), [1.0, 2.0, 3.0], [0.4, 0.6, 0]),
    unary(
        "quantile q=0.5 nearest of [1,2,3,4] (index 1.5)", lambda x: wg.quantile(x, 0.5, method="nearest"),
        [1.0, 2.0, 3.0, 4.0], [0, 0, 1, 0],
    ),
    Row("quantile(x,q) d/dq, x=[1,2,4], q=0.3", wg.quantile, ([1.0, 2.0, 4.0], 0.3), ([0.4, 0.6, 0], 2)),
    # -- segment/scatter
    unary("segment_max ties data=[1,3,3], ids=[0,0,0]", lambda x: ops.segment_max(x, np.zeros(3, int), 1), [1.0, 3.0, 3.0], [0, 0.5, 0.5]),
    unary("unsorted_segment_max ties", lambda x: ops.segment_max(x, np.array([1, 0, 1, 1]), 2), [3.0, 5.0, 1.0, 3.0], [0.5, 1, 0, 0.5]),
    unary("segment_prod with zero [0,2,3]", lambda x: ops.segment_prod(x, np.zeros(3, int), 1), [0.0, 2.0, 3.0], [6, 0, 0]),
    Row(
        "scatter set, duplicate index: base zeros(3), idx [1,1], upd=[5,7]",
        lambda base, new: base.at[np.array([1, 1])].set(new), ([0.0] * 3, [5.0, 7.0]), ([1, 0, 1], [0, 1]),
    ),
    Row(
        "scatter add, duplicate index",
        lambda base, new: base.at[np.array([1, 1])].add(new), ([0.0] * 3, [5.0, 7.0]), ([1, 1, 1], [1, 1]),
    ),
    Row(
        "scatter max, tie between base 7 and two updates 7",
        lambda base, new: base.at[np.array([1, 1])].max(new), ([0.0, 7.0, 0.0], [7.0, 7.0]),
        ([1, 1 / 3, 1], [1 / 3, 1 / 3]),
    ),
    Row(
        "scatter mul, zeros: base [1,0,1], idx [1,1], upd [2,3]",
        lambda base, new: base.at[np.array([1, 1])].multiply(new), ([1.0, 0.0, 1.0], [2.0, 3.0]), ([1, 6, 1], [0, 0]),
    ),
    unary("take with repeated index [0,0,1]", lambda x: wg.take(x, [0, 0, 1]), [1.0, 2.0], [2, 1]),
    unary("take with repeated index [0,0,1]", lambda x: x[np.array([0, 0, 1])], [1.0, 2.0], [2, 1]),
    # -- conv-pool
    unary("max_pool 1d size4 tie [1,3,3,2]", lambda x: wg.nn.max_pool(x, 4), [[[1.0], [3.0], [3.0], [2.0]]], [[[0], [1], [0], [0]]]),
    unary("max_pool 2d 2x2 all ties", lambda x: wg.nn.max_pool(x, 2), np.ones((1, 2, 2, 1)), [[[[1], [0]], [[0], [0]]]]),
    unary("max_pool 3d 2x2x2 all ties", lambda x: wg.nn.max_pool(x, 2), np.ones((1, 2, 2, 2, 1)), np.eye(1, 8).reshape(1, 2, 2, 2, 1)),
    unary(
        "avg_pool SAME edge count (1d size 2 stride 1, w=1,2,3)", lambda x: wg.nn.average_pool(x, 2, 1, "same"),
        [[[1.0], [2.0], [3.0]]], [[[0.5], [1.5], [4]]], [[[1.0], [2.0], [3.0]]],
    ),
    # -- loss
    Row("binary_crossentropy(t=1, p=0) probs", ops.binary_crossentropy, ([1.0], [0.0]), ([16.1180955], [0])),
    Row("binary_crossentropy(t=1, p=1) probs", ops.binary_crossentropy, ([1.0], [1.0]), ([-16.1180955], [0])),
    Row("binary_crossentropy(t=0, p=1-1e-7) at clip bound", ops.binary_crossentropy, ([0.0], [NEAR_ONE]), ([-16.1180955], [1 / (1 - NEAR_ONE)])),
    unary(
        "binary_crossentropy from_logits z=0,t=1",
        lambda z: ops.binary_crossentropy(np.ones(1), z, from_logits=True), [0.0], [-0.5],
    ),
    unary(
        "categorical_crossentropy from_logits t=[0,1,0], z=[1,2,3]",
        lambda z: ops.categorical_crossentropy(np.array([0.0, 1.0, 0.0]), z, from_logits=True), [1.0, 2.0, 3.0],
        [0.09003057, -0.75527153, 0.66524096],
    ),
    unary(
        "categorical_crossentropy probs with p=[1,0,0], t=[0,1,0]",
        lambda p: ops.categorical_crossentropy(np.array([0.0, 1.0, 0.0]), p), [1.0, 0.0, 0.0], [0, 0, 0],
    ),
    Row("l1 loss @ equal", lambda a, b: wg.abs(a - b), ([1.0], [1.0]), ([0], [0])),
    unary(
        "huber(delta=1) @ |x|=1 and 0", lambda x: wg.where(wg.abs(x) <= 1, x * x / 2, wg.abs(x) - 0.5), [0.0, 1.0, -1.0],
        [0, 1, -1],
    ),
    Row(
        "cdist identical points", lambda a, b: wg.ops.cdist(a, b), ([[1.0, 2.0]], [[1.0, 2.0]]), ([[0, 0]], [[0, 0]]),
        needs="ops.cdist",
    ),
    # -- linalg
    unary("cholesky [[2,1],[1,2]] grad shape (sum of L)", linalg.cholesky, [[2.0, 1.0], [1.0, 2.0]], [[0.27883877, 0.14942925], [0.14942925, 0.40824829]]),
    unary(
        "cholesky input not symmetric [[2,5],[1,2]] (value reads lower?)", linalg.cholesky, [[2.0, 5.0], [1.0, 2.0]],
        [[0.27883877, 0.14942925], [0.14942925, 0.40824829]],
    ),
    Row(
        "solve_triangular(A,b) lower: grad of the unused half",
        lambda a, b: ops.solve_triangular(a, b, lower=True), ([[2.0, 9.0], [1.0, 3.0]], [[1.0], [1.0]]),
        ([[-1 / 6, 0], [-1 / 6, -1 / 18]], [[1 / 3], [1 / 3]]),
    ),
    unary("fro norm of 0 matrix", linalg.norm, [[0.0, 0.0], [0.0, 0.0]], [[0, 0], [0, 0]]),
    unary("matrix 1-norm tie [[1,1],[1,1]]", lambda x: linalg.norm(x, 1), [[1.0, 1.0], [1.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]),
    unary("det rank-1 [[1,2],[2,4]]", linalg.det, RANK_ONE, [[4, -2], [-2, 1]]),
    unary("det zero 2x2", linalg.det, ZERO, ZERO),
    unary("det rank-2 3x3", linalg.det, np.arange(1.0, 10).reshape(3, 3), [[-3, 6, -3], [6, -12, 6], [-3, 6, -3]]),
    unary("det rank-1 3x3 (true gradient 0)", linalg.det, np.outer([1.0, 2, 3], [1, 1, 2]), np.zeros((3, 3))),
    unary("logdet negative-det [[0,1],[1,0]]", ops.logdet, [[0.0, 1.0], [1.0, 0.0]], [[NAN, NAN], [NAN, NAN]]),
    unary("logdet of nonsymmetric pos-det [[2,1],[0,3]]", ops.logdet, [[2.0, 1.0], [0.0, 3.0]], [[0.5, 0], [-1 / 6, 1 / 3]]),
    unary("eigh eigenvalues of I2, w=(1,2)", lambda x: linalg.eigh(x)[0], EYE, [[1, 0], [0, 2]], [1.0, 2.0]),
    unary("eigvalsh of I2, w=(1,2)", linalg.eigvalsh, EYE, [[1, 0], [0, 2]], [1.0, 2.0]),
    # any basis is one of eigenvectors there: the vectors have no derivative, and what is smooth in both has one
    unary("eigh vectors of I2, sum(w*v)", lambda x: linalg.eigh(x)[1], EYE, NANS, [[1.0, 2.0], [3.0, 4.0]]),
    unary("eigh of I2: sum(v*v*lam) reconstruct trace (well defined)", eigen_trace, EYE, EYE),
    unary("eigh values [[2,1],[1,2]] which half", linalg.eigvalsh, SYMMETRIC, [[1.5, 0.5], [0.5, 1.5]], [1.0, 2.0]),
    unary("svd values of I2, w=(1,2)", lambda x: linalg.svd(x, compute_uv=False), EYE, [[1, 0], [0, 2]], [1.0, 2.0]),
    unary("svd values from full svd of I2, w=(1,2)", lambda x: linalg.svd(x)[1], EYE, [[1, 0], [0, 2]], [1.0, 2.0]),
    unary("svd U of I2", lambda x: linalg.svd(x)[0], EYE, NANS),
    unary("svd values rank-1 [[1,2],[2,4]] sum", lambda x: linalg.svd(x, compute_uv=False), RANK_ONE, EYE),
    unary("svd values of 0 matrix", lambda x: linalg.svd(x, compute_uv=False), ZERO, EYE),
    unary("nuc norm of rank-1", lambda x: linalg.norm(x, "nuc"), RANK_ONE, EYE),
    unary("spectral norm (ord=2) of I2 tie", lambda x: linalg.norm(x, 2), EYE, [[0.5, 0], [0, 0.5]]),
    unary("qr R of wide 2x3", lambda x: linalg.qr(x)[1], [[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]], [[2.32548864, -1.21267813, -1.21267813], [-1.61214857, -0.72760688, -0.72760688]]),
    unary("lu_factor LU entries [[4,3],[6,3]]", lambda x: linalg.lu_factor(x)[0], [[4.0, 3.0], [6.0, 3.0]], [[-1.5, 4], [2, -2 / 3]], [[1.0, 2.0], [3.0, 4.0]]),
    unary("eig values [[2,1],[0,3]] real part, w=(1,2)", lambda x: wg.real(linalg.eig(x)[0]), TRIANGULAR, [[1, 0], [1, 2]], [1.0, 2.0], needs="linalg.eig"),
    unary("eigvals (no vectors) [[2,1],[0,3]] real part", lambda x: wg.real(linalg.eigvals(x)), TRIANGULAR, [[1, 0], [1, 2]], [1.0, 2.0], needs="linalg.eigvals"),
    unary("eig vectors [[2,1],[0,3]] real part", lambda x: wg.real(linalg.eig(x)[1]), TRIANGULAR, [[0, 0], [-1, 0]], needs="linalg.eig"),
    unary("pinv rank-deficient [[1,2],[2,4]]", linalg.pinv, RANK_ONE, [[0.0048, -0.0144], [-0.0144, -0.0768]]),
    Row(
        "lstsq(A,b) full-rank 3x2", lambda a, b: linalg.lstsq(a, b)[0],
        ([[1.0, 0.0], [1.0, 1.0], [1.0, 3.0]], [[1.0], [2.0], [2.0]]), TALL_LSTSQ,
    ),
    Row(
        "lstsq(A,b) rank-deficient (A=[[1,1],[1,1],[1,1]])", lambda a, b: linalg.lstsq(a, b)[0],
        (np.ones((3, 2)), [[1.0], [2.0], [2.0]]), ([[-7 / 18] * 2, [-2 / 9] * 2, [-2 / 9] * 2], [[1 / 3]] * 3),
    ),
    # -- image, nn
    Row(
        "map_coordinates order=1 at integer coordinate: d/dcoords", lambda x, c: wg.image.map_coordinates(x, c, 1),
        ([0.0, 1.0, 4.0, 9.0], [[1.0]]), ([0, 1, 0, 0], [[3]]), needs="image.map_coordinates",
    ),
    unary(
        "resize nearest 2->4 (w=1..4)", lambda x: wg.image.resize(x, (1, 4), interpolation="nearest"), [[[1.0], [2.0]]],
        [[[3], [7]]], [[[1.0], [2.0], [3.0], [4.0]]], needs="image.resize",
    ),
    Row(
        "dot_product_attention fully masked row", masked_attention,
        ([[[[1.0, 2.0]]]], [[[[1.0, 0.0]], [[0.0, 1.0]]]], [[[[1.0, 2.0]], [[5.0, 10.0]]]]),
        ([[[[0, 0]]]], [[[[0, 0]], [[0, 0]]]], [[[[0.5, 0.5]], [[0.5, 0.5]]]]), needs="ops.dot_product_attention",
    ),
    # equal channels share the slope of the largest and of the smallest evenly, as every maximum does (decision 23)
    unary("rgb_to_hsv grey pixel", wg.image.rgb_to_hsv, [[[0.5, 0.5, 0.5]]], [[[1, 1, 1]]], HSV_WEIGHTS),
    unary(
        "rgb_to_hsv two channels tied for max", wg.image.rgb_to_hsv, [[[0.5, 0.5, 0.2]]],
        [[[2 + 1 / 45, 2 + 26 / 45, -4]]], HSV_WEIGHTS,
    ),
    unary("hsv_to_rgb at h=0", wg.image.hsv_to_rgb, [[[0.0, 0.5, 0.8]]], [[[4.8, -4, 3.5]]], HSV_WEIGHTS),
    Row(
        "cosine similarity with zero vector", wg.nn.cosine_similarity, ([0.0, 0.0], [1.0, 2.0]), ([0, 0], [0, 0]),
    ),
    # -- complex
    unary("|z| via complex: abs(complex(x,0)) @ 0", lambda x: wg.abs(x + 0j), [0.0], [0]),
    unary("angle(complex(x,0)) @ 0", lambda x: wg.angle(x + 0j), [0.0], [0]),
    unary("angle(real x) @ -1, 0, 1", wg.angle, [-1.0, 0.0, 1.0], [0, 0, 0]),
    unary("conj/real gradient of real(z*z), z=x+2i @ 1", lambda x: wg.real((x + 2j) * (x + 2j)), [1.0], [2]),
]  # fmt: skip

NOT_HERE = {
    "squareplus(b=0) @ 0": "NaN in every system",
    "lax.clamp(-1,x,1) @ -1,1 (JAX primitive)": "another library's own variant",
    "max([1,3,3]) torch.max() / torch.max(dim)": "another library's own variant",
    "maximum(a,b) with a=NaN": "not material",
    "maximum(a,b) with b=NaN": "not material",
    "betainc(a=2,b=3; x=0.4) d/da via c": "the exact one is given, not what the page has: tests/test_special.py",
    "psnr identical images": "NaN or infinity, either is acceptable",
    "qr R of rank-1": "unreliable in every system",
    "eig values of defective [[2,1],[0,2]]": "cannot be right in any system",
    "cast nan,1e20 -> int32": "undefined, not to be tested",
}
# Not one number, but a property: the test is below.
PROPERTIES = {
    "slogdet[1] singular": "test_slogdet_of_a_singular_matrix",
    "svd U of tall 3x2 full_matrices=True": "test_null_spaces_have_no_gradient",
    "qr Q complete of tall 3x2": "test_null_spaces_have_no_gradient",
}

ERRORS = [
    ("inv singular", linalg.inv, [[1.0, 2.0], [2.0, 4.0]], np.linalg.LinAlgError),
    ("cholesky not PD [[1,2],[2,1]]", linalg.cholesky, [[1.0, 2.0], [2.0, 1.0]], np.linalg.LinAlgError),
    (
        "solve(A,b) singular", lambda a: linalg.solve(a, np.ones((2, 1))), [[1.0, 2.0], [2.0, 4.0]],
        np.linalg.LinAlgError,
    ),
    ("max of empty", wg.max, [], ValueError),
    ("int 2**-1", lambda x: wg.power(np.array(2), np.array(-1)) * x, 1.0, ValueError),
    ("take out of range index 5 (value shown too)", lambda x: wg.take(x, [5]), [1.0, 2.0], IndexError),
    (
        "cast float64->int32->float64", lambda x: wg.astype(wg.astype(x, "int32"), "float64"), [0.0, 1.0],
        wg.DisconnectedError,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("case", "f", "x", "error"), ERRORS, ids=[e[0] for e in ERRORS])
def test_what_has_no_derivative_there_raises(case: str, f: Any, x: Any, error: type[Exception]) -> None:
    for transform in (lambda g: g, wg.function):
        with pytest.raises(error):
            transform(wg.grad(f))(np.array(x))


# what the page's second table says of values: the case, the value, what it should be
VALUES = [
    ("argmax [1,3,3]", lambda: wg.argmax([1.0, 3.0, 3.0]), 1),
    ("argmax [1,nan,3]", lambda: wg.argmax([1.0, NAN, 3.0]), 1),
    ("argsort [2,1,2,1]", lambda: wg.argsort([2.0, 1.0, 2.0, 1.0]), [1, 3, 0, 2]),
    ("argsort desc [2,1,2,1]", lambda: wg.argsort([2.0, 1.0, 2.0, 1.0], descending=True), [0, 2, 1, 3]),
    ("sort [nan,1,inf]", lambda: wg.sort([NAN, 1.0, INF]), [1.0, INF, NAN]),
    ("round [.5,1.5,2.5,-.5]", lambda: wg.round([0.5, 1.5, 2.5, -0.5]), [0.0, 2.0, 2.0, -0.0]),
    ("sign [nan,-0.0]", lambda: wg.sign([NAN, -0.0]), [NAN, 0.0]),
    ("int -7//2, -7%2", lambda: [wg.floor_divide(-7, 2), wg.mod(-7, 2)], [-4, 1]),
    ("int 1//0", lambda: wg.floor_divide(np.array(1), np.array(0)), 0),
    ("float 1//0", lambda: wg.floor_divide(1.0, 0.0), INF),
    ("float 1%0", lambda: wg.mod(1.0, 0.0), NAN),
    ("float 5%inf, -5%inf", lambda: wg.mod([5.0, -5.0], INF), [5.0, INF]),
    ("mean of empty", lambda: wg.mean(np.zeros(0)), NAN),
    ("prod of empty", lambda: wg.prod(np.zeros(0)), 1.0),
    ("std [1,2] default", lambda: wg.std([1.0, 2.0]), 0.5),
    ("var [1,2] default", lambda: wg.var([1.0, 2.0]), 0.25),
    ("median [4,1,3,2] (via Keras)", lambda: wg.median([4.0, 1.0, 3.0, 2.0]), 2.5),
    ("sum int32 dtype", lambda: wg.sum(np.array([1, 2], np.int32)), np.int64(3)),
    ("mean int32", lambda: wg.mean(np.array([1, 2], np.int32)), 1.5),
    ("int/int", lambda: wg.divide(1, 2), 0.5),
    ("maximum(nan,1)", lambda: wg.maximum(NAN, 1.0), NAN),
    ("max [nan,1]", lambda: wg.max([NAN, 1.0]), NAN),
    ("gather idx -1", lambda: wg.take([1.0, 2.0], [-1]), [2.0]),
    ("searchsorted left/right [1,2,2,3] 2", lambda: [wg.searchsorted([1, 2, 2, 3], [2], side) for side in ("left", "right")], [[1], [3]]),
    ("unique [3,1,3]", lambda: wg.unique([3.0, 1.0, 3.0]), [1.0, 3.0]),
    ("segment_sum empty seg", lambda: ops.segment_sum([1.0, 2.0], [0, 2], 3), [1.0, 0.0, 2.0]),
    ("segment_max empty seg", lambda: ops.segment_max([1.0, 2.0], [0, 2], 3), [1.0, -INF, 2.0]),
    ("one_hot idx -1, 5 of 3", lambda: ops.one_hot(np.array([-1, 5]), 3), np.zeros((2, 3))),
    ("power(-8,1/3)", lambda: wg.power(-8.0, 1 / 3), NAN),
    ("clip lo>hi", lambda: wg.clip(0.0, 1.0, -1.0), -1.0),
    ("qr sign diag R", lambda: np.diagonal(linalg.qr([[1.0, 2.0], [3.0, 4.0]])[1]), [-3.1622776601683795, -0.6324555320336751]),
    ("svd U[0,0]", lambda: abs(linalg.svd([[1.0, 2.0], [3.0, 4.0]])[0][0, 0]), 0.40455358483375694),
    ("eigh order", lambda: linalg.eigvalsh([[2.0, 0.0], [0.0, 1.0]]), [1.0, 2.0]),
    ("lu permutation form", lambda: linalg.lu_factor([[4.0, 3.0], [6.0, 3.0]])[1], [1, 1]),
    ("linspace n=1", lambda: wg.linspace(0.0, 1.0, 1), [0.0]),
    ("fft of real dtype f32", lambda: wg.fft.fft(np.array([1.0, 2.0], np.float32)), np.array([3, -1], np.complex64)),
    ("ldexp grad x2=(-2,3)", lambda: wg.grad(lambda x: wg.ldexp(x, np.array([-2, 3])))(np.ones(2)), [0.25, 8.0]),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("f", "wanted"), [v[1:] for v in VALUES], ids=[v[0] for v in VALUES])
def test_value(f: Any, wanted: Any) -> None:
    found, wanted = np.asarray(f()), np.asarray(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-15)
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype or (found.dtype.kind == wanted.dtype.kind == "i" and found.dtype == np.int32)


def test_every_case_of_the_page_is_here() -> None:
    """The copy of the page's list is beside this file; a case is tested or has a reason not to be."""
    lines = (SPEC / "kinks_cases.txt").read_text(encoding="utf-8").splitlines()
    cases = {line.partition("\t")[2] for line in lines}
    tested = {row.case for row in ROWS} | {e[0] for e in ERRORS} | {v[0] for v in VALUES}
    assert {p for p in PROPERTIES.values() if p not in globals()} == set()
    assert tested & {*NOT_HERE, *PROPERTIES} == set()
    assert sorted(cases ^ (tested | {*NOT_HERE, *PROPERTIES})) == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_slogdet_of_a_singular_matrix() -> None:
    assert np.isneginf(linalg.slogdet(np.array(RANK_ONE))[1])
    assert not np.isfinite(wg.grad(lambda x: linalg.slogdet(x)[1])(np.array(RANK_ONE))).any()


@pytest.mark.parametrize("f", [lambda x: linalg.svd(x)[0], lambda x: linalg.qr(x, "complete")[0]], ids=["svd", "qr"])
def test_null_spaces_have_no_gradient(f: Any) -> None:
    for g in (wg.grad(f), wg.function(wg.grad(f))):
        with pytest.raises(LookupError, match="complement"):
            g(TALL)


ACTIVE = [row for row in ROWS if not row.needs or is_there(row.needs)]
NAMES = [f"{i}-{row.case}" for i, row in enumerate(ACTIVE)]


def gradients(row: Row, transform: Any = lambda g: g) -> list[Any]:
    arrays = [np.array(a) for a in row.args]
    with np.errstate(all="ignore"):
        weights = None if row.weights is None else np.array(row.weights)
        g = transform(wg.grad(row.f, argnums=tuple(range(len(arrays)))))
        return list(g(*arrays) if weights is None else g(*arrays, dy=weights))


@pytest.mark.parametrize("row", ACTIVE, ids=NAMES)
def test_kink(row: Row) -> None:
    for found, wanted in zip(gradients(row), row.gradients, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("row", ACTIVE, ids=NAMES)
def test_kink_in_a_compiled_function(row: Row) -> None:
    for found, wanted in zip(gradients(row, wg.function), row.gradients, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("row", ACTIVE, ids=NAMES)
def test_kink_under_the_gradient_of_a_compiled_function(row: Row) -> None:
    compiled = row._replace(f=wg.function(row.f))
    for found, wanted in zip(gradients(compiled), row.gradients, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-12)


OFF_THE_DIAGONAL = np.where(EYE == 1, 0.0, NAN)
# where unit tangents tell more than the cotangent does, or less
FORWARD = {
    # right along a direction in which the basis at hand stays one of eigenvectors
    "eigh vectors of I2, sum(w*v)": OFF_THE_DIAGONAL,
    "svd U of I2": OFF_THE_DIAGONAL,
    # unit tangents have zeros of their own, and one that numbers made after them (a cofactor) is not told from those
    "logdet negative-det [[0,1],[1,0]]": OFF_THE_DIAGONAL,
}
# results that are smooth only together, where something lies between the decomposition and their sum
FORWARD_FROM_OUTSIDE = {
    **FORWARD,
    "eigh of I2: sum(v*v*lam) reconstruct trace (well defined)": EYE + OFF_THE_DIAGONAL,
}


def forward_gradients(row: Row, transform: Any = lambda g: g) -> list[Any]:
    """The gradients of sum(w * f), from the Jacobian by unit tangents."""
    arrays = [np.array(a, float) for a in row.args]
    weights = 1.0 if row.weights is None else np.array(row.weights)
    total = lambda *args: wg.sum(row.f(*args) * weights)
    with np.errstate(all="ignore"):
        return list(transform(wg.jacobian(total, argnums=(*range(len(arrays)),), mode="forward"))(*arrays))


FORMS = {
    "plain": forward_gradients,
    "compiled": lambda row: forward_gradients(row, wg.function),
    "through a call": lambda row: forward_gradients(row._replace(f=wg.function(row.f))),
    "through a branch": lambda row: forward_gradients(row._replace(f=wg.function(in_a_branch(row.f)))),
    "through a loop": lambda row: forward_gradients(row._replace(f=wg.function(in_a_loop(row.f)))),
}


def in_a_branch(f: Any) -> Any:
    return lambda *args: wg.cond(wg.sum(args[0]) == 0.125, lambda *a: f(*a) * 3.0, f, *args)


def in_a_loop(f: Any) -> Any:
    """f in the only step of a scan over its arguments."""
    return lambda *args: wg.scan(lambda c, x: (c, f(*x)), 0.0, [wg.expand_dims(a, 0) for a in args])[1][0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("row", ACTIVE, ids=NAMES)
def test_kink_in_forward_mode(row: Row, form: str) -> None:
    special = FORWARD_FROM_OUTSIDE if form.startswith("through") else FORWARD
    gradients = (special[row.case],) if row.case in special else row.gradients
    for found, wanted in zip(FORMS[form](row), gradients, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-12)


EDGES = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, 1e300])
OF_TWO = [
    wg.add, wg.subtract, wg.multiply, wg.divide, wg.floor_divide, wg.remainder, wg.fmod, wg.power, wg.float_power,
    wg.maximum, wg.minimum, wg.fmax, wg.fmin, wg.logaddexp, wg.logaddexp2, wg.hypot, wg.arctan2, wg.copysign,
    wg.heaviside, wg.special.xlogy, wg.special.xlog1py, wg.special.beta, wg.special.betaln,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op", OF_TWO, ids=lambda op: op.__name__)
def test_two_arguments_at_the_edges_have_one_slope_in_every_mode(op: Any) -> None:
    """At all pairs of NaN, infinities, zeros and ordinary numbers, and where one argument is taken twice."""
    left, right = (side.ravel() for side in np.meshgrid(EDGES, EDGES))
    programs = [(lambda x: op(x, right), left), (lambda y: op(left, y), right), (lambda x: op(x, x), left)]
    for f, x in programs:
        one = np.ones_like(x)
        gradient, push = wg.grad(lambda x, f=f: wg.sum(f(x))), lambda x, f=f: wg.jvp(f, (x,), (np.ones_like(x),))[1]
        wanted = gradient(x)
        ways = [
            push(x), wg.function(gradient)(x), wg.function(push)(x), wg.linearize(f, x)[1](one),
            wg.grad(lambda x, f=f: wg.sum(wg.function(f)(x)))(x),
        ]  # fmt: skip
        for found in ways:
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
