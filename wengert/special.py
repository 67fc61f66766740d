"""Special functions with the names and signatures of `scipy.special`.

The values come from the engine (SciPy on NumPy arrays, loaded at the first call); the derivatives are exact at every
order, also where the closed formulas have holes.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ._core import scalars
from ._core.apply import apply
from ._core.argument_types import ArrayLike, Axes
from ._core.op import Op
from ._core.tensor import Tensor
from ._core.user_line import at_user_line
from ._prims import bessel as B
from ._prims import discrete as D
from ._prims import elementwise as E
from ._prims import entropies as H
from ._prims import incomplete as I
from ._prims import piecewise as W
from ._prims import quantiles as Q
from ._prims import special as P
from ._prims import structural as S
from .errors import LostGradientError
from .ops import activations, promotion, reductions
from .ops.elementwise import cbrt, exp2, expm1, log1p
from .ops.piecewise import sinc
from .ops.promotion import (
    MOST_COUNTED,
    as_float,
    as_tensor,
    binary_float,
    count_of,
    names_errors,
    outward,
    public,
    tensors_of,
)
from .ops.riemann import riemann
from .ops.special_functions import described, erf, erfc, erfinv, i0, of_one

__all__ = [
    "beta", "betainc", "betaincc", "betaincinv", "betaln", "cbrt", "comb", "digamma", "entr", "erf", "erfc", "erfcinv",
    "erfcx", "erfinv", "exp1", "exp2", "expi", "expit", "expm1", "factorial", "gamma", "gammainc",
    "gammaincc", "gammaincinv", "gammaln", "gammasgn", "i0", "i0e", "i1", "i1e", "iv", "ive", "j0", "j1", "jv", "k0",
    "k0e", "k1", "k1e", "kl_div", "kv", "kve", "log1p", "log_expit", "log_ndtr", "log_softmax", "loggamma", "logit",
    "logsumexp", "multigammaln", "ndtr", "ndtri", "poch", "polygamma", "psi", "rel_entr", "sinc", "softmax", "xlog1py",
    "xlogy", "y0", "y1", "yv", "zeta",
]  # fmt: skip


def _one(name: str, op: Op) -> Callable[[Any], Any]:
    return of_one(name, op, "wg.special", __name__)


def _two(name: str, op: Op) -> Callable[[Any, Any], Any]:
    def function(x: ArrayLike, y: ArrayLike) -> Any:
        return binary_float(op, x, y)

    arguments = "        x: an array of real values, or a number.\n        y: the same; shapes broadcast."
    return described(function, name, op, arguments, f"wg.special.{name}([0.25, 0.5], 2.0)", __name__)


def _of_order(name: str, op: Op, is_whole: bool = False) -> Callable[[Any, Any], Any]:
    """The function of an order, a Python number, and an argument."""

    def function(v: ArrayLike, z: ArrayLike) -> Any:
        order = _order(v, name, is_whole)
        return outward(op(as_float(as_tensor(z, name)), order=order), z)

    wanted = "a whole number" if is_whole else "a number; nothing is differentiated in it"
    arguments = f"        v: the order, {wanted}.\n        z: an array of real values, or a number."
    return described(function, name, op, arguments, f"wg.special.{name}(1, [0.25, 0.5])", __name__)


def _order(v: Any, name: str, is_whole: bool) -> int | float:
    try:
        return operator.index(v)
    except LostGradientError:
        raise
    except TypeError:
        pass
    if is_whole or not isinstance(v, float | np.floating):
        wanted = "a whole number" if is_whole else "a number"
        raise TypeError(at_user_line(f"{name}: the order must be {wanted}, got {v!r}"))
    order = float(v)  # pyright: ignore[reportUnknownArgumentType]  # NumPy's floats are generic
    return int(order) if order.is_integer() else order


def _fixed_order(name: str, op: Op, order: int) -> Callable[[Any], Any]:
    def function(x: ArrayLike) -> Any:
        return outward(op(as_float(as_tensor(x, name)), order=order), x)

    arguments = "        x: an array of real values, or a number."
    f = described(function, name, op, arguments, f"wg.special.{name}([0.25, 0.5])", __name__)
    f.__doc__ = (f.__doc__ or "").replace(", element by element", f", of order {order}, element by element", 1)
    return f


def _of_pair(name: str, op: Op) -> Callable[[Any, Any], Any]:
    def function(a: ArrayLike, b: ArrayLike) -> Any:
        return binary_float(op, a, b)

    return _of_arrays(function, name, op, "a b", "[1.0, 2.0], 0.5")


def _incomplete_gamma(name: str, op: Op, **attrs: int) -> Callable[[Any, Any], Any]:
    def function(a: ArrayLike, x: ArrayLike) -> Any:
        return outward(op(*_met((a, x), name), **attrs), a, x)

    return _of_arrays(function, name, op, "a x", "[1.0, 2.0], 0.5")


def _incomplete_beta(name: str, op: Op, **attrs: int) -> Callable[[Any, Any, Any], Any]:
    def function(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Any:
        return outward(op(*_met((a, b, x), name), **attrs), a, b, x)

    return _of_arrays(function, name, op, "a b x", "[1.0, 2.0], 2.0, 0.5")


def _of_arrays(f: Callable[..., Any], name: str, op: Op, operands: str, sample: str) -> Callable[..., Any]:
    lines = [f"        {n}: an array of real values, or a number; shapes broadcast." for n in operands.split()]
    f = described(f, name, op, "\n".join(lines), f"wg.special.{name}({sample})", __name__)
    # the op is a family; the function is its first member
    f.__doc__ = (
        (f.__doc__ or "")
        .replace(", or its derivative in a of the given order", "")
        .replace(", or its derivative in a and b of the given orders", "")
    )
    return f


def _floats(tensors: list[Tensor]) -> list[Tensor]:
    """Integers as floats, but for NumPy's scalars where these take the dtype of what they meet."""
    flags = scalars.waiving(tensors)
    if not any(flags) or all(flags):
        return [as_float(t) for t in tensors]
    return [t if flag else as_float(t) for t, flag in zip(tensors, flags, strict=True)]


def _met(xs: tuple[Any, ...], name: str) -> list[Tensor]:
    """Operands as floats of one dtype and shape."""
    # by how much each says of the dtype: nothing, what may give way, what does not
    strong = as_tensor(
        max(xs, key=lambda x: 0 if promotion.is_number(x) else 1 if isinstance(x, np.generic) else 2), name
    )
    tensors = [tensors_of(x, strong, name)[0] for x in xs]
    dtype = promotion.common_dtype(_floats(tensors))
    if dtype.kind == "c":
        raise TypeError(at_user_line(f"{name}: wanted real numbers, got {dtype.name}"))
    tensors = [promotion.cast(t, dtype) for t in tensors]
    shape = tuple(tensors[0].shape)
    for t in tensors[1:]:
        shape = promotion.broadcast_shapes(shape, tuple(t.shape), name)
    return [promotion.broadcast(t, shape) for t in tensors]


erfcx = _one("erfcx", P.erfcx)
ndtr = _one("ndtr", P.ndtr)
ndtri = _one("ndtri", P.ndtri)
log_ndtr = _one("log_ndtr", P.log_ndtr)
gamma = _one("gamma", P.gamma)
gammaln = _one("gammaln", P.lgamma)
digamma = psi = _one("digamma", P.digamma)
polygamma = _of_order("polygamma", P.polygamma, is_whole=True)
beta = _of_pair("beta", P.beta)
betaln = _of_pair("betaln", P.betaln)
gammainc = _incomplete_gamma("gammainc", I.gammainc, order=0)
gammaincc = _incomplete_gamma("gammaincc", I.gammaincc)
betainc = _incomplete_beta("betainc", I.betainc, order_a=0, order_b=0)
betaincc = _incomplete_beta("betaincc", I.betaincc)
gammaincinv = _incomplete_gamma("gammaincinv", I.gammaincinv)
betaincinv = _incomplete_beta("betaincinv", I.betaincinv)
expi = _one("expi", P.expi)
exp1 = _one("exp1", P.exp1)
i0e = _one("i0e", B.i0e)
i1 = _one("i1", B.i1)
i1e = _one("i1e", B.i1e)
iv = _of_order("iv", B.iv)
ive = _of_order("ive", B.ive)
jv = _of_order("jv", B.jv)
yv = _of_order("yv", B.yv)
kv = _of_order("kv", B.kv)
kve = _of_order("kve", B.kve)
j0, j1 = _fixed_order("j0", B.jv, 0), _fixed_order("j1", B.jv, 1)
y0, y1 = _fixed_order("y0", B.yv, 0), _fixed_order("y1", B.yv, 1)
k0, k1 = _fixed_order("k0", B.kv, 0), _fixed_order("k1", B.kv, 1)
k0e, k1e = _fixed_order("k0e", B.kve, 0), _fixed_order("k1e", B.kve, 1)
expit = _one("expit", E.sigmoid)
xlogy = _two("xlogy", W.xlogy)
xlog1py = _two("xlog1py", W.xlog1py)
entr = _one("entr", H.entr)
rel_entr = _two("rel_entr", H.rel_entr)
kl_div = _two("kl_div", H.kl_div)


@names_errors
def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Any:
    """Hurwitz's zeta function, the sum of (k + q)^-x over k = 0, 1, ...; without q Riemann's, of any real number.

    At kinks: infinite at x = 1; NaN below with a q, as SciPy's.

    Args:
        x: an array of exponents, or a number; above 1 with a q.
        q: an array of positive values, or a number; shapes broadcast.

    Returns:
        The values in the kind of array that came in, with gradients in x and in q.

    Example:
        >>> import wengert as wg
        >>> wg.special.zeta([2.0, 4.0]).round(6)
        array([1.644934, 1.082323])
    """
    if q is None:
        return outward(riemann(*_met((x,), "zeta")), x)
    return outward(I.zeta(*_met((x, q), "zeta"), order=0), x, q)


@public
def logit(x: ArrayLike) -> Any:
    """log(x / (1 - x)), the inverse of `expit`.

    Args:
        x: an array of values from 0 to 1, or a number.

    Returns:
        The values in x's kind; infinite at 0 and 1.

    Example:
        >>> import wengert as wg
        >>> wg.special.logit([0.5, 0.75]).round(6)
        array([0.      , 1.098612])
    """
    a = as_float(as_tensor(x, "logit"))
    return S.sub(E.log(a), E.log1p(S.neg(a)))


@public
def log_expit(x: ArrayLike) -> Any:
    """log(expit(x)), exact where expit vanishes.

    Args:
        x: an array of real values, or a number.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.special.log_expit([-1000.0, 0.0]).round(3)
        array([-1.00e+03, -6.93e-01])
    """
    return activations.log_sigmoid(as_tensor(x, "log_expit"))


@names_errors
def logsumexp(
    a: ArrayLike, axis: Axes = None, b: ArrayLike | None = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log(sum(b e^a)) over axes, without overflow.

    Args:
        a: an array of real values, or a number.
        axis: an axis or a tuple of them; None means all.
        b: factors that broadcast with a, or None for 1.
        keepdims: whether the axes stay, with extent 1.
        return_sign: whether to return the sign of the sum, too; without it the value of a negative sum is NaN.

    Returns:
        The values in the kind of array that came in, and the signs with `return_sign`.

    Example:
        >>> import wengert as wg
        >>> print(wg.special.logsumexp([1000.0, 1000.0]).round(6))
        1000.693147
    """
    x = as_float(as_tensor(a, "logsumexp"))
    if b is None:
        result = reductions.logsumexp(x, axis, keepdims)
        sign = S.fill(result, 1)
    else:
        result, sign = _weighted(x, b, axis, keepdims, return_sign)
    return outward((result, sign) if return_sign else result, a, b)


def _weighted(x: Tensor, b: ArrayLike, axis: Axes, keepdims: bool, allows_negative: bool) -> tuple[Tensor, Tensor]:
    x, factors = map(as_float, promotion.meet(*tensors_of(x, b, "logsumexp"), "logsumexp"))
    is_absent = apply(D.eq, (factors, S.fill(factors, 0)))
    x = S.select(is_absent, S.fill(x, -math.inf), x)
    top = S.stop_gradient(reductions.max(x, axis, keepdims=True))
    top = S.select(apply(D.isfinite, (top,)), top, S.fill(top, 0))
    terms = S.mul(factors, E.exp(S.sub(x, promotion.broadcast(top, tuple(x.shape)))))
    total = reductions.sum(S.select(is_absent, S.fill(x, 0), terms), axis, keepdims)
    sign = D.sign(total)
    if not keepdims:
        top = promotion.broadcast(reductions.sum(top, axis), tuple(total.shape))
    result = S.add(E.log(W.abs_(total)), top)
    if allows_negative:
        return result, sign
    is_negative = apply(D.lt, (total, S.fill(total, 0)))
    return S.select(is_negative, S.fill(result, math.nan), result), sign


@public
def softmax(x: ArrayLike, axis: Axes = None) -> Any:
    """e^x / sum(e^x) over axes, without overflow.

    Args:
        x: an array of real values.
        axis: an axis or a tuple of them; None means all.

    Returns:
        Shares that add up to 1, in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.special.softmax([1000.0, 1000.0])
        array([0.5, 0.5])
    """
    return activations.softmax(as_tensor(x, "softmax"), axis)


@public
def log_softmax(x: ArrayLike, axis: Axes = None) -> Any:
    """The logarithm of softmax over axes, exact where softmax vanishes.

    Args:
        x: an array of real values.
        axis: an axis or a tuple of them; None means all.

    Returns:
        The values in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.special.log_softmax([0.0, -1000.0])
        array([    0., -1000.])
    """
    return activations.log_softmax(as_tensor(x, "log_softmax"), axis)


# -- relatives of the gamma function -----------------------------------------------------------------------------------


@public
def loggamma(z: ArrayLike) -> Any:
    """The principal branch of the logarithm of the gamma function, of real arguments: NaN below 0.

    Args:
        z: an array of real values, or a number.

    Returns:
        The values in z's kind.

    Raises:
        TypeError: for complex numbers.

    Example:
        >>> import wengert as wg
        >>> wg.special.loggamma([1.0, 3.0]).round(6)
        array([0.      , 0.693147])
    """
    a = as_float(as_tensor(z, "loggamma"))
    is_below = apply(D.lt, (a, S.fill(a, 0)))
    return S.select(is_below, S.fill(a, math.nan), P.lgamma(S.select(is_below, S.fill(a, 1), a)))


@public
def gammasgn(x: ArrayLike) -> Any:
    """The sign of the gamma function; its gradient is 0.

    Args:
        x: an array of real values, or a number.

    Returns:
        1, -1, or NaN at negative whole numbers, in x's kind.

    Example:
        >>> import wengert as wg
        >>> wg.special.gammasgn([1.5, -0.5])
        array([ 1., -1.])
    """
    a = as_float(as_tensor(x, "gammasgn"))
    zero, one = S.fill(a, 0), S.fill(a, 1)
    below = D.floor(a)
    is_odd = apply(D.ne, (apply(W.mod, (below, S.fill(a, 2))), zero))
    is_below = apply(D.lt, (a, zero))
    is_pole = apply(D.logical_and, (is_below, apply(D.eq, (a, below))))
    sign = S.select(apply(D.logical_and, (is_below, is_odd)), S.fill(a, -1), one)
    return S.add(S.select(is_pole, S.fill(a, math.nan), sign), S.times_number(below, number=0.0))


@public
def multigammaln(a: ArrayLike, d: int) -> Any:
    """The logarithm of the multivariate gamma function.

    Args:
        a: an array of real values above (d - 1) / 2, or a number.
        d: the dimension, a positive integer.

    Returns:
        The values in a's kind.

    Raises:
        ValueError: if d is not a positive integer.

    Example:
        >>> import wengert as wg
        >>> print(wg.special.multigammaln(3.0, 2).round(6))
        1.550195
    """
    d = count_of(d, "multigammaln: d", 1, most=MOST_COUNTED)
    x = as_float(as_tensor(a, "multigammaln"))
    total = S.fill(x, d * (d - 1) / 4 * math.log(math.pi))
    for j in range(d):
        total = S.add(total, P.lgamma(S.add_number(x, number=-j / 2)))
    return total


@names_errors
def factorial(n: ArrayLike) -> Any:
    """n! as gamma(n + 1); 0 below 0.

    Args:
        n: an array of real values, or a number.

    Returns:
        Floats in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.special.factorial([0, 3, 5])
        array([  1.,   6., 120.])
    """
    x = as_float(as_tensor(n, "factorial"))
    is_below = apply(D.lt, (x, S.fill(x, 0)))
    value = P.gamma(S.add_number(S.select(is_below, S.fill(x, 0), x), number=1.0))
    return outward(S.select(is_below, S.fill(x, 0), value), n)


@names_errors
def comb(N: object, k: object) -> Any:
    """The number of ways to choose k things of N, 0 unless 0 <= k <= N; smooth in between.

    Args:
        N: an array of real values, or a number.
        k: the same; shapes broadcast.

    Returns:
        Floats in the kind of array that came in.

    Example:
        >>> import wengert as wg
        >>> wg.special.comb(5, [0, 2, 6]).round(9)
        array([ 1., 10.,  0.])
    """
    n, m = _met((N, k), "comb")
    zero, one = S.fill(n, 0), S.fill(n, 1)
    inside = apply(D.logical_and, (apply(D.le, (zero, m)), apply(D.le, (m, n))))
    n, m = S.select(inside, n, one), S.select(inside, m, zero)
    rest = S.sub(n, m)
    fewer = S.select(apply(D.lt, (rest, m)), rest, m)
    # of few things a quotient of products, exact also in its slopes; of many by the logarithm, which does not overflow
    fits = apply(D.lt, (S.mul(fewer, E.log1p(n)), S.fill(n, _LOGARITHMS[n.dtype.itemsize])))
    is_few = apply(D.logical_and, (apply(D.lt, (fewer, S.fill(n, _FEW))), fits))
    few = S.select(is_few, fewer, zero)
    by_product = E.div(P.poch(S.add(S.sub(S.select(is_few, n, one), few), one), few), P.gamma(S.add(few, one)))
    whole, part = S.select(is_few, one, n), S.select(is_few, zero, m)
    log_beta = P.betaln(S.add(S.sub(whole, part), one), S.add(part, one))
    by_logarithm = E.exp(S.neg(S.add(log_beta, E.log1p(whole))))
    return outward(S.select(inside, S.select(is_few, by_product, by_logarithm), zero), N, k)


_FEW = 20.0
_LOGARITHMS = {2: 10.0, 4: 85.0, 8: 700.0}  # of products that floats of so many bytes hold


@names_errors
def poch(z: ArrayLike, m: ArrayLike) -> Any:
    """Pochhammer's symbol gamma(z + m) / gamma(z), of positive z and z + m.

    Args:
        z: an array of positive values, or a number.
        m: the same; shapes broadcast.

    Returns:
        The values in the kind of array that came in; NaN where z or z + m is not positive.

    Example:
        >>> import wengert as wg
        >>> wg.special.poch([1.0, 2.0], 3).round(9)
        array([ 6., 24.])
    """
    a, b = _met((z, m), "poch")
    total = S.add(a, b)
    zero = S.fill(a, 0)
    inside = apply(D.logical_and, (apply(D.lt, (zero, a)), apply(D.lt, (zero, total))))
    one = S.fill(a, 1)
    value = P.poch(S.select(inside, a, one), S.select(inside, b, one))
    return outward(S.select(inside, value, S.fill(a, math.nan)), z, m)


@public
def erfcinv(y: ArrayLike) -> Any:
    """The number whose `erfc` is y, exact also where y is small.

    At kinks: the slope is infinite at 0 and 2.

    Args:
        y: an array of values from 0 to 2, or a number.

    Returns:
        The values in y's kind.

    Example:
        >>> import wengert as wg
        >>> wg.special.erfcinv([1e-20, 1.0]).round(6) + 0
        array([6.601581, 0.      ])
    """
    a = as_float(as_tensor(y, "erfcinv"))
    tiny = S.fill(a, 4 * float(np.finfo(a.dtype).tiny))
    # a half of the smallest numbers is none: their logarithm leads to the same place
    is_tiny = apply(D.logical_and, (apply(D.gt, (a, S.fill(a, 0))), apply(D.lt, (a, tiny))))
    by_logarithm = Q.ndtri_exp(S.add_number(E.log(S.select(is_tiny, a, tiny)), number=-math.log(2)))
    plain = P.ndtri(S.times_number(S.select(is_tiny, S.fill(a, 1), a), number=0.5))
    return S.times_number(S.select(is_tiny, by_logarithm, plain), number=-math.sqrt(0.5))
