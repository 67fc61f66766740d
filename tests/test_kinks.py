"""KINKS.md at the user's level: each row of an op that exists, through `wg.grad`, plain and compiled.

A row is the case as the page spells it, f, the arguments, the gradients of sum(w * f), and w. Rows that belong to ops
that come later are listed by their case in `LATER`, with the reason.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg

INF, NAN = np.inf, np.nan
ops, linalg, special = wg.ops, wg.linalg, wg.special


class Row(NamedTuple):
    """One case of the page."""

    case: str
    f: Any
    args: tuple[Any, ...]
    gradients: tuple[Any, ...]
    weights: Any = None


def unary(case: str, f: Any, x: Any, gradient: Any, weights: Any = None) -> Row:
    return Row(case, f, (x,), (gradient,), weights)


BOUNDS = ([-1.0] * 5, [1.0] * 5)
NEAR_ONE = 1.0 - 1e-7

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
    Row("xlogy(0,0)", special.xlogy, ([0.0], [0.0]), ([0], [0])),
    Row("xlogy(0,2)", special.xlogy, ([0.0], [2.0]), ([np.log(2)], [0])),
    Row("xlogy(1,0)", special.xlogy, ([1.0], [0.0]), ([-INF], [INF])),
    unary("erf/erfc @ 30", special.erf, [30.0], [0]),
    unary("erf/erfc @ 30", special.erfc, [30.0], [0]),
    unary("bessel_i0e/i1e @ 0", special.i1e, [0.0], [0.5]),
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
    # -- segment/scatter
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
    # -- loss
    unary("binary_crossentropy(t=1, p=0) probs", lambda p: ops.binary_crossentropy(np.ones(1), p), [0.0], [0]),
    unary("binary_crossentropy(t=1, p=1) probs", lambda p: ops.binary_crossentropy(np.ones(1), p), [1.0], [0]),
    unary("binary_crossentropy(t=0, p=1-1e-7) at clip bound", lambda p: ops.binary_crossentropy(np.zeros(1), p), [NEAR_ONE], [1 / (1 - NEAR_ONE)]),
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
    unary("huber(delta=1) @ |x|=1 and 0", wg.abs, [0.0], [0]),
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
    # -- complex
    unary("|z| via complex: abs(complex(x,0)) @ 0", lambda x: wg.abs(x + 0j), [0.0], [0]),
    unary("angle(complex(x,0)) @ 0", lambda x: wg.angle(x + 0j), [0.0], [0]),
    unary("angle(real x) @ -1, 0, 1", wg.angle, [-1.0, 0.0, 1.0], [0, 0, 0]),
    unary("conj/real gradient of real(z*z), z=x+2i @ 1", lambda x: wg.real((x + 2j) * (x + 2j)), [1.0], [2]),
]  # fmt: skip

# Rows that have no line above: case (or its first word), and why.
LATER = {
    "squareplus(b=0), maximum with NaN": "NaN in every system, or not material",
    "lax.clamp, torch.max": "another library's own variants",
    "igamma, zeta, betainc": "come with the rest of the special functions",
    "top_k, median, quantile": "come with the whole vocabulary of ops",
    "segment_max, unsorted_segment_max, segment_prod": "come with the whole vocabulary of ops",
    "max_pool, avg_pool": "come with the whole vocabulary of ops",
    "psnr, cdist, cosine similarity": "come with the whole vocabulary of ops",
    "det, slogdet, logdet, eigh, svd, qr, lu_factor, eig, pinv, lstsq, nuc norm, spectral norm": "come with linalg",
    "map_coordinates, rgb_to_hsv, hsv_to_rgb, resize": "come with image",
    "dot_product_attention": "comes with nn",
}

ERRORS = [
    ("inv singular", linalg.inv, [[1.0, 2.0], [2.0, 4.0]], np.linalg.LinAlgError),
    ("cholesky not PD [[1,2],[2,1]]", linalg.cholesky, [[1.0, 2.0], [2.0, 1.0]], np.linalg.LinAlgError),
    (
        "solve(A,b) singular", lambda a: linalg.solve(a, np.ones((2, 1))), [[1.0, 2.0], [2.0, 4.0]],
        np.linalg.LinAlgError,
    ),
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


NAMES = [f"{i}-{row.case}" for i, row in enumerate(ROWS)]


def gradients(row: Row, transform: Any = lambda g: g) -> list[Any]:
    arrays = [np.array(a) for a in row.args]
    with np.errstate(all="ignore"):
        weights = None if row.weights is None else np.array(row.weights)
        g = transform(wg.grad(row.f, argnums=tuple(range(len(arrays)))))
        return list(g(*arrays) if weights is None else g(*arrays, dy=weights))


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_kink(row: Row) -> None:
    for found, wanted in zip(gradients(row), row.gradients, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_kink_in_a_compiled_function(row: Row) -> None:
    for found, wanted in zip(gradients(row, wg.function), row.gradients, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_kink_under_the_gradient_of_a_compiled_function(row: Row) -> None:
    compiled = row._replace(f=wg.function(row.f))
    for found, wanted in zip(gradients(compiled), row.gradients, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-12)
