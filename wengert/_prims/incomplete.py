"""The incomplete gamma and beta functions and Hurwitz's zeta function, with derivatives in every parameter.

Each is a family whose attributes say how often it is differentiated in its parameters, so that derivatives of any order
are members of it; the slope in x is the density, which is differentiated in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._core.op import Op, elementwise
from .._core.tensor import Tensor
from .bodies import in_float32
from .discrete import eq, gt, logical_and
from .elementwise import div, exp, log, log1p, reciprocal
from .piecewise import xlog1py, xlogy
from .special import betaln, digamma, polygamma, polygamma_step
from .structural import add, add_number, fill, mul, neg, scale, select, sub, times_number

_PARAMETER = (0.5, 4.0)


def _family(name: str, operands: str, partials: Any, doc: str, **facts: Any) -> Op:
    return elementwise(name, operands, partials=partials, dtypes="float", doc=doc, **facts)


def _psi(x: Tensor, order: int) -> Tensor:
    return polygamma(x, order=order) if order else digamma(x)


# -- derivatives of e^L, from those of L -------------------------------------------------------------------------------


def _of_exponential(value: Tensor, slope: Callable[[int], Tensor], order: int) -> Tensor:
    """The derivative of some order of e^L: with p' = L' p, p^(n+1) is the sum of C(n, k) L^(k+1) p^(n-k)."""
    found = [value]
    slopes = [slope(k + 1) for k in range(order)]
    for n in range(order):
        # at 0 and at infinity the exponential vanishes sooner than the logarithm grows
        terms = [times_number(scale(found[n - k], slopes[k]), number=float(math.comb(n, k))) for k in range(n + 1)]
        found.append(_total(terms))
    return found[order]


def _total(terms: list[Tensor]) -> Tensor:
    total = terms[0]
    for term in terms[1:]:
        total = add(total, term)
    return total


# -- incomplete gamma --------------------------------------------------------------------------------------------------


gamma_size = _family(
    "gamma_size", "a x",
    (
        lambda a, x, out: scale(out, sub(log(x), digamma(a))),
        lambda a, x, out: mul(out, sub(div(add_number(a, number=-1), x), fill(x, 1))),
    ),
    "x^(a-1) e^-x / gamma(a), the density of the gamma distribution, in which large terms do not cancel",
    domain=(_PARAMETER, (0.2, 6.0)),
    ref="C. Loader, Fast and accurate computation of binomial probabilities, 2000",
)  # fmt: skip


def _gamma_density(a: Tensor, x: Tensor, order: int) -> Tensor:
    """The derivative in a, of some order, of x^(a-1) e^-x / gamma(a)."""
    size = gamma_size(a, x)

    def slope(k: int) -> Tensor:
        return sub(log(x), digamma(a)) if k == 1 else neg(_psi(a, k - 1))

    return _of_exponential(size, slope, order)


_GAMMA_REF = "R. J. Moore, Algorithm AS 187: Derivatives of the incomplete gamma integral, Applied Statistics 31, 1982"
_GAMMA_DOMAIN = (_PARAMETER, (0.2, 6.0))

gammainc = _family(
    "gammainc", "a x",
    (lambda a, x, order: gammainc(a, x, order=order + 1), lambda a, x, order: _gamma_density(a, x, order)),
    "the regularised lower incomplete gamma function, or its derivative in a of the given order; beside what a unit of "
    "the last place of a and x makes, derivatives are exact to 1e-13 for a up to 1e16", attrs="order",
    domain=_GAMMA_DOMAIN, ref=_GAMMA_REF,
    samples=[(((3, 2), (3, 2)), (0,)), (((4,), (4,)), (1,)), (((), ()), (2,))],
)  # fmt: skip
gammaincc = _family(
    "gammaincc", "a x",
    (lambda a, x: neg(gammainc(a, x, order=1)), lambda a, x: neg(_gamma_density(a, x, 0))),
    "the regularised upper incomplete gamma function, exact where the lower one is near 1", domain=_GAMMA_DOMAIN,
    ref=_GAMMA_REF,
)  # fmt: skip

# -- incomplete beta ---------------------------------------------------------------------------------------------------


def _plain_beta_size(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    rest = xlog1py(add_number(b, number=-1), neg(x))
    return exp(sub(add(xlogy(add_number(a, number=-1), x), rest), betaln(a, b)))


def _beta_size_by_gammas(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """Of two gamma variables whose sum is a + b, the first one's share of it has the beta distribution."""
    total = add(a, b)
    rest = sub(fill(x, 1), x)
    shares = mul(gamma_size(a, mul(total, x)), gamma_size(b, mul(total, rest)))
    return mul(shares, div(total, gamma_size(total, total)))


def _beta_size(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    one = fill(a, 1)
    is_large = logical_and(gt(a, one), gt(b, one))
    # no formula is asked for what it cannot compute
    safe_a, safe_b = select(is_large, a, one), select(is_large, b, one)
    return select(is_large, _beta_size_by_gammas(safe_a, safe_b, x), _plain_beta_size(a, b, x))


def _power_slope(a: Tensor, x: Tensor) -> Tensor:
    """(a - 1) / x, which is 0 where both are, as x^0 is a constant."""
    power = add_number(a, number=-1)
    is_constant = logical_and(eq(power, fill(a, 0)), eq(x, fill(x, 0)))
    return select(is_constant, fill(x, 0), div(power, select(is_constant, fill(x, 1), x)))


beta_size = _family(
    "beta_size", "a b x",
    (
        lambda a, b, x, out: mul(out, add(polygamma_step(a, b, order=0), log(x))),
        lambda a, b, x, out: mul(out, add(polygamma_step(b, a, order=0), log1p(neg(x)))),
        lambda a, b, x, out: mul(out, sub(_power_slope(a, x), _power_slope(b, sub(fill(x, 1), x)))),
    ),
    "x^(a-1) (1-x)^(b-1) / beta(a, b), the density of the beta distribution, in which large terms do not cancel",
    body=in_float32(_beta_size), domain=(_PARAMETER, _PARAMETER, (0.1, 0.9)),
)  # fmt: skip


def _beta_density(a: Tensor, b: Tensor, x: Tensor, order_a: int, order_b: int) -> Tensor:
    """The derivative in a and b of x^(a-1) (1-x)^(b-1) / beta(a, b)."""
    size = beta_size(a, b, x)
    both = add(a, b)
    # mixed derivatives of the logarithm come from a + b alone
    shared = {k: _psi(both, k - 1) for k in range(1, order_a + order_b + 1)}
    found: dict[tuple[int, int], Tensor] = {(0, 0): size}

    def slope(i: int, j: int) -> Tensor:
        if i and j:
            return shared[i + j]
        line = polygamma_step(a, b, order=i + j - 1) if i else polygamma_step(b, a, order=i + j - 1)
        return line if i + j > 1 else add(line, log(x) if i else log1p(neg(x)))

    for j in range(order_b):  # down the column of no derivative in a
        found[0, j + 1] = _total([_binomial(mul(slope(0, k + 1), found[0, j - k]), j, k) for k in range(j + 1)])
    for i in range(order_a):
        for j in range(order_b + 1):
            terms = [
                _binomial(_binomial(mul(slope(k + 1, m), found[i - k, j - m]), i, k), j, m)
                for k in range(i + 1) for m in range(j + 1)
            ]  # fmt: skip
            found[i + 1, j] = _total(terms)
    return found[order_a, order_b]


def _binomial(x: Tensor, n: int, k: int) -> Tensor:
    count = math.comb(n, k)
    return x if count == 1 else times_number(x, number=float(count))


_BETA_REF = (
    "R. J. Boik, J. F. Robison-Cox, Derivatives of the incomplete beta function, Journal of Statistical Software 3(1), "
    "1998"
)
_BETA_DOMAIN = (_PARAMETER, _PARAMETER, (0.1, 0.9))

betainc = _family(
    "betainc", "a b x",
    (
        lambda a, b, x, order_a, order_b: betainc(a, b, x, order_a=order_a + 1, order_b=order_b),
        lambda a, b, x, order_a, order_b: betainc(a, b, x, order_a=order_a, order_b=order_b + 1),
        lambda a, b, x, order_a, order_b: _beta_density(a, b, x, order_a, order_b),
    ),
    "the regularised incomplete beta function, or its derivative in a and b of the given orders; beside what a unit of "
    "the last place of a, b and x makes, derivatives are exact to 1e-12 for a and b up to 1e16",
    attrs="order_a order_b", domain=_BETA_DOMAIN, ref=_BETA_REF,
    samples=[(((3, 2),) * 3, (0, 0)), (((4,),) * 3, (1, 0)), (((3,),) * 3, (0, 1)), (((),) * 3, (1, 1))],
)  # fmt: skip
betaincc = _family(
    "betaincc", "a b x",
    (
        lambda a, b, x: neg(betainc(a, b, x, order_a=1, order_b=0)),
        lambda a, b, x: neg(betainc(a, b, x, order_a=0, order_b=1)),
        lambda a, b, x: neg(_beta_density(a, b, x, 0, 0)),
    ),
    "1 - betainc(a, b, x), exact where betainc is near 1", domain=_BETA_DOMAIN, ref=_BETA_REF,
)  # fmt: skip

# -- quantiles: the inverses, differentiated as what they solve -----------------------------------------------------


def _against(slope: Tensor, density: Tensor) -> Tensor:
    """-slope / density; 0 where the density is 0, where nothing tells how the quantile moves."""
    is_flat = eq(density, fill(density, 0))
    return neg(select(is_flat, fill(slope, 0), div(slope, select(is_flat, fill(density, 1), density))))


gammaincinv = _family(
    "gammaincinv", "a p",
    (
        lambda a, out: _against(gammainc(a, out, order=1), _gamma_density(a, out, 0)),
        lambda a, out: reciprocal(_gamma_density(a, out, 0)),
    ),
    "the x at which the regularised lower incomplete gamma function is p", domain=(_PARAMETER, (0.1, 0.9)),
    kink="infinite slope in p where the density is 0",
    ref="M. Figurnov, S. Mohamed, A. Mnih, Implicit reparameterization gradients, NeurIPS 2018",
)  # fmt: skip
betaincinv = _family(
    "betaincinv", "a b p",
    (
        lambda a, b, out: _against(betainc(a, b, out, order_a=1, order_b=0), _beta_density(a, b, out, 0, 0)),
        lambda a, b, out: _against(betainc(a, b, out, order_a=0, order_b=1), _beta_density(a, b, out, 0, 0)),
        lambda a, b, out: reciprocal(_beta_density(a, b, out, 0, 0)),
    ),
    "the x at which the regularised incomplete beta function is p", domain=(_PARAMETER, _PARAMETER, (0.1, 0.9)),
    kink="infinite slope in p where the density is 0",
    ref="M. Figurnov, S. Mohamed, A. Mnih, Implicit reparameterization gradients, NeurIPS 2018",
)  # fmt: skip

# -- Hurwitz's zeta function -------------------------------------------------------------------------------------------


def _zeta_slope(s: Tensor, q: Tensor, order: int) -> Tensor:
    """The slope in q, -s zeta(s + 1, q), differentiated in s; of a large s zeta vanishes sooner."""
    above = add(s, fill(s, 1))
    total = scale(zeta(above, q, order=order), s)
    if order:
        total = add(total, times_number(zeta(above, q, order=order - 1), number=float(order)))
    return neg(total)


zeta = _family(
    "zeta", "s q", (lambda s, q, order: zeta(s, q, order=order + 1), lambda s, q, order: _zeta_slope(s, q, order)),
    "Hurwitz's zeta function, the sum of (k + q)^-s, or its derivative in s of the given order", attrs="order",
    domain=((1.8, 5.0), (0.5, 3.0)), kink="inf at s = 1",
    ref="NIST Digital Library of Mathematical Functions, 25.11.5 and 25.11.17",
    samples=[(((3, 2), (3, 2)), (0,)), (((4,), (4,)), (1,)), (((), ()), (2,))],
)  # fmt: skip
