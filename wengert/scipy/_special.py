"""The functions of `scipy.special` that `wengert.special` does not have, and wider ones for those that it has."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, SupportsIndex

from .. import special
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._prims import quantiles as Q
from .._prims.structural import stop_gradient
from ..ops.complex_parts import real
from ..ops.elementwise import abs as magnitude
from ..ops.elementwise import cos, equal, exp, expm1, floor, less, less_equal, log, log1p, logical_or, sin, sqrt, tan
from ..ops.indexing import where
from ..ops.joining import stack
from ..ops.promotion import as_float, as_tensor, outward
from . import _carlson
from ._conversions import followed_place
from ._namespace import listed_in, only
from ._ufuncs import log_ratio, raw, require_constant, ufunc

OURS: dict[str, Any] = {name: getattr(special, name) for name in special.__all__} | _carlson.OURS
_ours = listed_in(OURS)

# -- functions whose values the host computes ------------------------------------------------------------------------

for _name, _how in {
    "airy": {"outs": 4}, "airye": {"outs": 4, "is_real": True}, "fresnel": {"outs": 2}, "sici": {"outs": 2},
    "shichi": {"outs": 2}, "dawsn": {}, "erfi": {}, "spence": {}, "wrightomega": {}, "rgamma": {},
    "exprel": {"is_real": True}, "ellipk": {"is_real": True}, "ellipe": {"is_real": True},
    "ellipkm1": {"is_real": True}, "wofz": {"is_complex": True},
    "ellipkinc": {"operands": "phi m", "is_real": True}, "ellipeinc": {"operands": "phi m", "is_real": True},
    "owens_t": {"operands": "h a", "is_real": True}, "tklmbda": {"operands": "x lmbda", "is_real": True},
    "binom": {"operands": "n k", "is_real": True},
    "expn": {"constants": "n", "is_real": True}, "hyp0f1": {"constants": "v"}, "hyp1f1": {"constants": "a b"},
    "hyp2f1": {"constants": "a b c"}, "hyperu": {"constants": "a b", "is_real": True},
    "struve": {"constants": "v", "is_real": True}, "modstruve": {"constants": "v", "is_real": True},
    "kn": {"constants": "n", "is_real": True}, "lpmv": {"constants": "m v", "is_real": True},
    "sph_harm_y": {"constants": "n m", "operands": "theta phi", "is_real": True, "is_complex": True},
    **{n: {"constants": "v", "is_complex": True} for n in ("hankel1", "hankel1e", "hankel2", "hankel2e")},
    **{n: {"is_real": True} for n in ("ber", "bei", "ker", "kei", "berp", "beip", "kerp", "keip")},
    **{f"eval_{n}": {"constants": "n", "is_real": True} for n in (
        "legendre", "chebyt", "chebyu", "laguerre", "hermite", "hermitenorm",
    )},
    "eval_jacobi": {"constants": "n alpha beta", "is_real": True},
    "eval_gegenbauer": {"constants": "n alpha", "is_real": True},
    "eval_genlaguerre": {"constants": "n alpha", "is_real": True},
}.items():  # fmt: skip
    OURS[_name] = ufunc(_name, **_how)


def _by_kind(name: str) -> Callable[..., Any]:
    """Ours for real tensors, and of complex ones the host's values."""
    of_real, of_complex = getattr(special, name), ufunc(name)

    def function(z: ArrayLike) -> Any:
        return (of_complex if dtypes.is_complex(as_tensor(z, name).dtype) else of_real)(z)

    function.__name__, function.__doc__ = name, of_real.__doc__
    return function


for _name in ("erf", "erfc", "erfcx", "ndtr", "expi", "exp1", "gamma", "loggamma", "psi"):
    OURS[_name] = _by_kind(_name)
OURS["digamma"] = OURS["psi"]


# -- Bessel functions ------------------------------------------------------------------------------------------------


def _bessel(name: str, of: str = "") -> Callable[[Any, Any], Any]:
    """By our primitives for one order and real arguments, else by the host: orders are constants."""
    of = of or name
    of_one, of_many = getattr(special, of), ufunc(of, "v", "z", is_real=of == "ive")

    def function(v: ArrayLike, z: ArrayLike) -> Any:
        is_one = isinstance(v, (int, float))
        return (of_one if is_one and not dtypes.is_complex(as_tensor(z, name).dtype) else of_many)(v, z)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`scipy.special.{name}` of the constant order v at z, element by element."
    return function


OURS |= {name: _bessel(name) for name in ("jv", "yv", "iv", "kv", "kve")} | {"jn": _bessel("jn", "jv")}
OURS["yn"] = _bessel("yn", "yv")


def _of_real_order(name: str, of: str) -> Callable[[Any, Any], Any]:
    """Scaled functions that are not analytic: of real arguments."""
    plain = OURS[of]

    def function(v: ArrayLike, z: ArrayLike) -> Any:
        if dtypes.is_complex(as_tensor(z, name).dtype):
            only(f"special.{name}", z=("a complex tensor", "a real one"))
        return plain(v, z)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`scipy.special.{name}` of the constant order v at the real z, element by element."
    return function


OURS |= {"jve": _of_real_order("jve", "jv"), "yve": _of_real_order("yve", "yv")}


def _ive(v: ArrayLike, z: ArrayLike) -> Any:
    """`scipy.special.ive` of the constant order v at the real z: e^-|z| iv(v, z)."""
    if isinstance(v, (int, float)):
        return special.ive(v, z)
    require_constant(v, "special.ive", "v")
    orders = as_tensor(v, "ive")
    x = as_float(as_tensor(z, "ive"))
    if dtypes.is_complex(x.dtype):
        only("special.ive", z=("a complex tensor", "a real one"))
    return outward(raw("iv", orders, x) * exp(-magnitude(x)), v, z)


OURS["ive"] = _ive


def _derivative(name: str, of: str, sign: int, whole: float, is_complex: bool | None = None) -> Callable[..., Any]:
    """The n-th derivative by neighbours in order: 2^-n times a sum of binomials."""

    def function(v: ArrayLike, z: ArrayLike, n: int = 1) -> Any:
        require_constant(v, f"special.{name}", "v")
        order, x = as_tensor(v, name), as_float(as_tensor(z, name))
        total: Any = 0.0
        for k in range(n + 1):
            total = total + sign**k * math.comb(n, k) * raw(of, order - n + 2 * k, x, is_complex=is_complex)
        return outward(total * (whole / 2) ** n, v, z)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The n-th derivative of `{of}` of the constant order v at z."
    return function


OURS |= {
    "jvp": _derivative("jvp", "jv", -1, 1), "yvp": _derivative("yvp", "yv", -1, 1),
    "ivp": _derivative("ivp", "iv", 1, 1), "kvp": _derivative("kvp", "kv", 1, -1),
    "h1vp": _derivative("h1vp", "hankel1", -1, 1, True), "h2vp": _derivative("h2vp", "hankel2", -1, 1, True),
}  # fmt: skip


def _spherical(name: str, sign: int, factor: float) -> Callable[..., Any]:
    def function(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Any:
        require_constant(n, f"special.{name}", "n")
        order, x = as_tensor(n, name), as_float(as_tensor(z, name))
        if not derivative:
            return outward(raw(name, order, x), n, z)
        below = raw(name, where(less(0, order), order - 1, 0), x)
        slope = (order * below + sign * (order + 1) * raw(name, order + 1, x)) * factor / (2.0 * order + 1.0)
        return outward(slope, n, z)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`scipy.special.{name}` of the constant order n at z, or its derivative."
    return function


OURS |= {
    "spherical_jn": _spherical("spherical_jn", -1, 1.0), "spherical_yn": _spherical("spherical_yn", -1, 1.0),
    "spherical_in": _spherical("spherical_in", 1, 1.0), "spherical_kn": _spherical("spherical_kn", 1, -1.0),
}  # fmt: skip


# -- polynomials that are others in another variable -----------------------------------------------------------------


def _moved(name: str, of: str, moved: Callable[[Any], Any], factor: float = 1.0) -> Callable[..., Any]:
    def function(n: ArrayLike, x: ArrayLike) -> Any:
        require_constant(n, f"special.{name}", "n")
        return outward(factor * raw(of, n, moved(as_float(as_tensor(x, name)))), n, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`scipy.special.{name}` of the constant degree n at x."
    return function


OURS |= {
    "eval_chebyc": _moved("eval_chebyc", "eval_chebyt", lambda x: x / 2, 2.0),
    "eval_chebys": _moved("eval_chebys", "eval_chebyu", lambda x: x / 2),
    **{
        f"eval_sh_{n}": _moved(f"eval_sh_{n}", f"eval_{n}", lambda x: 2 * x - 1)
        for n in ("legendre", "chebyt", "chebyu")
    },
}  # fmt: skip


@_ours
def eval_sh_jacobi(n: ArrayLike, p: ArrayLike, q: ArrayLike, x: ArrayLike) -> Any:
    """`scipy.special.eval_sh_jacobi` of constants n, p, q at x."""
    for key, value in (("n", n), ("p", p), ("q", q)):
        require_constant(value, "special.eval_sh_jacobi", key)
    n, p, q = (as_tensor(v, "eval_sh_jacobi") for v in (n, p, q))
    place = 2 * as_float(as_tensor(x, "eval_sh_jacobi")) - 1
    return outward(raw("eval_jacobi", n, p - q, q - 1, place) / raw("binom", 2 * n + p - 1.0, n * 1.0, count=2), x)


@_ours
def assoc_laguerre(x: ArrayLike, n: ArrayLike, k: object = 0.0) -> Any:
    """`scipy.special.assoc_laguerre`: the polynomial of constants n and k at x."""
    return OURS["eval_genlaguerre"](n, k, x)


# -- compositions ----------------------------------------------------------------------------------------------------


def _float(x: ArrayLike, name: str) -> Any:
    return as_float(as_tensor(x, name))


@_ours
def lambertw(z: ArrayLike, k: SupportsIndex = 0, tol: float = 1e-8) -> Any:
    """Lambert's W: w e^w = z, on the constant branch k; complex, as SciPy's."""
    require_constant(k, "special.lambertw", "k")
    only("special.lambertw", tol=(tol, 1e-8))
    x = _float(z, "lambertw")
    x = x if dtypes.is_complex(x.dtype) else x + 0j
    return outward(raw("lambertw_by_branch", as_tensor(k, "lambertw"), x), z)


@_ours
def polygamma(n: ArrayLike, x: ArrayLike) -> Any:
    """The n-th derivative of digamma at x; n is a whole number."""
    return special.polygamma(n, x)


@_ours
def zeta(x: ArrayLike, q: ArrayLike | None = None, out: None = None) -> Any:
    """Hurwitz's zeta function, Riemann's without q."""
    only("special.zeta", out=(out, None))
    return special.zeta(x, q)


@_ours
def zetac(x: ArrayLike) -> Any:
    """Riemann's zeta function less 1, exact where it is next to nothing."""
    place = _float(x, "zetac")
    is_far = less(1.0, place)
    far = special.zeta(where(is_far, place, 2.0), 2.0)  # the sum without its first term
    return outward(where(is_far, far, special.zeta(where(is_far, 0.0, place)) - 1.0), x)


@_ours
def comb(N: Any, k: ArrayLike | None, *, exact: bool = False, repetition: bool = False) -> Any:
    """The number of ways to choose k of N, of real numbers."""
    only("special.comb", exact=(exact, False))
    return special.comb(N + k - 1 if repetition else N, k)


@_ours
def perm(N: object, k: ArrayLike, exact: bool = False) -> Any:
    """The number of ways to arrange k of N."""
    only("special.perm", exact=(exact, False))
    return special.poch(as_tensor(N) - k + 1.0, k)


@_ours
def factorial(n: ArrayLike, exact: bool = False, extend: str = "zero") -> Any:
    """n!, of real numbers gamma(n + 1); 0 for negative ones."""
    only("special.factorial", exact=(exact, False), extend=(extend, "zero"))
    return special.factorial(n)


@_ours
def voigt_profile(x: ArrayLike, sigma: ArrayLike, gamma: ArrayLike) -> Any:
    """Voigt's profile of positive sigma: a normal density folded with Cauchy's."""
    width = _float(sigma, "voigt_profile") * math.sqrt(2)
    place = (_float(x, "voigt_profile") + 1j * _float(gamma, "voigt_profile")) / width
    return outward(real(raw("wofz", place)) / (width * math.sqrt(math.pi)), x, sigma, gamma)


@_ours
def cosm1(x: ArrayLike) -> Any:
    """cos(x) - 1, exact near 0."""
    half = sin(_float(x, "cosm1") / 2)
    return outward(half * half * -2.0, x)


@_ours
def exp10(x: ArrayLike) -> Any:
    """10 ** x."""
    return outward(exp(_float(x, "exp10") * math.log(10)), x)


@_ours
def powm1(x: ArrayLike, y: ArrayLike) -> Any:
    """x ** y - 1 for positive x, exact near 0."""
    return outward(expm1(_float(y, "powm1") * log(_float(x, "powm1"))), x, y)


def _box_cox(logarithm: Any, lmbda: ArrayLike, *given: object) -> Any:
    return outward(logarithm * raw("exprel", lmbda * logarithm), *given)


@_ours
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Any:
    """(x ** lmbda - 1) / lmbda, log(x) for lmbda 0."""
    return _box_cox(log(_float(x, "boxcox")), _float(lmbda, "boxcox"), x, lmbda)


@_ours
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Any:
    """((1 + x) ** lmbda - 1) / lmbda, log1p(x) for lmbda 0."""
    return _box_cox(log1p(_float(x, "boxcox1p")), _float(lmbda, "boxcox1p"), x, lmbda)


@_ours
def inv_boxcox(y: ArrayLike, lmbda: ArrayLike) -> Any:
    """The inverse of `boxcox`."""
    y_, factor = _float(y, "inv_boxcox"), _float(lmbda, "inv_boxcox")
    return outward(exp(y_ * log_ratio(factor * y_)), y, lmbda)


@_ours
def inv_boxcox1p(y: ArrayLike, lmbda: ArrayLike) -> Any:
    """The inverse of `boxcox1p`."""
    y_, factor = _float(y, "inv_boxcox1p"), _float(lmbda, "inv_boxcox1p")
    return outward(expm1(y_ * log_ratio(factor * y_)), y, lmbda)


@_ours
def huber(delta: Any, r: ArrayLike) -> Any:
    """Huber's loss: r^2 / 2 up to delta, straight beyond."""
    bound, size = _float(delta, "huber"), magnitude(_float(r, "huber"))
    return outward(where(less_equal(size, bound), size * size / 2, bound * (size - bound / 2)), delta, r)


@_ours
def pseudo_huber(delta: Any, r: ArrayLike) -> Any:
    """delta^2 (sqrt(1 + (r / delta)^2) - 1)."""
    bound = _float(delta, "pseudo_huber")
    square = (_float(r, "pseudo_huber") / bound) ** 2
    return outward(bound * bound * square / (sqrt(1 + square) + 1), delta, r)


@_ours
def softplus(x: ArrayLike) -> Any:
    """log(1 + e^x)."""
    return outward(-special.log_expit(-_float(x, "softplus")), x)


def _of_degrees(name: str, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def function(x: ArrayLike) -> Any:
        return outward(f(_float(x, name) * (math.pi / 180)), x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`scipy.special.{name}` of x in degrees."
    return function


OURS |= {
    "sindg": _of_degrees("sindg", sin), "cosdg": _of_degrees("cosdg", cos), "tandg": _of_degrees("tandg", tan),
    "cotdg": _of_degrees("cotdg", lambda x: 1 / tan(x)),
}  # fmt: skip


@_ours
def radian(d: ArrayLike, m: ArrayLike, s: ArrayLike) -> Any:
    """Degrees, minutes and seconds as an angle in radians."""
    degrees = _float(d, "radian") + _float(m, "radian") / 60 + _float(s, "radian") / 3600
    return outward(degrees * (math.pi / 180), d, m, s)


@_ours
def agm(a: ArrayLike, b: ArrayLike) -> Any:
    """The arithmetic-geometric mean of positive numbers, by the elliptic integral."""
    x, y = _float(a, "agm"), _float(b, "agm")
    total = x + y
    rest = 4 * (x / total) * (y / total)  # 1 - m: of numbers far apart m itself rounds to 1
    is_far = where(less(0.0, where(less(0.0, x), y, -y)), less(rest, 1e-30), False)
    u, v, w = (log(magnitude(where(is_far, z, 1.0))) for z in (x, y, total))
    integral = where(is_far, math.log(2) + w - 0.5 * (u + v), raw("ellipkm1", where(is_far, 1.0, rest)))
    return outward(total * (math.pi / 4) / integral, a, b)


@_ours
def ellipj(u: ArrayLike, m: ArrayLike) -> Any:
    """Jacobi's elliptic functions sn, cn, dn and the amplitude of u; the parameter m is a constant."""
    require_constant(m, "special.ellipj", "m")
    x = _float(u, "ellipj")
    return outward((*(raw("ellipj_by_parameter", as_tensor(m), x, index=i) for i in range(4)),), u, m)


# -- distribution functions ------------------------------------------------------------------------------------------


@_ours
def ndtri_exp(y: ArrayLike) -> Any:
    """The normal quantile of the share e^y."""
    return outward(Q.ndtri_exp(_float(y, "ndtri_exp")), y)


@_ours
def gammainccinv(a: ArrayLike, y: ArrayLike) -> Any:
    """The x with gammaincc(a, x) = y."""
    shape, whole = _float(a, "gammainccinv"), _float(y, "gammainccinv")
    is_end = logical_or(equal(whole, 0.0), equal(whole, 1.0))  # the equation's slope there is 0 or infinite
    share = where(is_end, 0.5, whole)
    found = raw("gammainccinv", stop_gradient(shape), stop_gradient(share), count=2)
    inside = followed_place(
        stop_gradient(found), lambda x: special.gammaincc(shape, x) - share,
        lambda x: -exp(special.xlogy(shape - 1, x) - x - special.gammaln(shape)),
    )  # fmt: skip
    return outward(where(is_end, special.gammaincinv(shape, where(is_end, 1.0 - whole, 0.5)), inside), a, y)


@_ours
def betainccinv(a: ArrayLike, b: ArrayLike, y: ArrayLike) -> Any:
    """The x with betaincc(a, b, x) = y."""
    return outward(1.0 - special.betaincinv(_float(b, "betainccinv"), _float(a, "betainccinv"), y), a, b, y)


def _count(k: Any) -> Any:
    """A count, which functions of SciPy's cut to a whole number: its gradient is 0."""
    return floor(stop_gradient(k))


def _mass(f: Callable[..., Any], name: str, arguments: str) -> None:
    def function(*args: ArrayLike) -> Any:
        return outward(f(*[_float(x, name) for x in args]), *args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`scipy.special.{name}` of {arguments}."
    OURS[name] = function


def _t_mass(df: Tensor, t: Tensor) -> Any:
    tail = special.betainc(df / 2, 0.5, df / (df + t * t)) / 2
    return where(less(t, 0.0), tail, 1 - tail)


_mass(lambda v, x: special.gammainc(v / 2, x / 2), "chdtr", "v and x")
_mass(lambda v, x: special.gammaincc(v / 2, x / 2), "chdtrc", "v and x")
_mass(lambda v, p: 2 * gammainccinv(v / 2, p), "chdtri", "v and p")
_mass(lambda a, b, x: special.gammainc(b, a * x), "gdtr", "a, b and x")
_mass(lambda a, b, x: special.gammaincc(b, a * x), "gdtrc", "a, b and x")
_mass(lambda k, m: special.gammaincc(_count(k) + 1, m), "pdtr", "the count k and m")
_mass(lambda k, m: special.gammainc(_count(k) + 1, m), "pdtrc", "the count k and m")
_mass(lambda k, n, p: special.betaincc(_count(k) + 1, _count(n) - _count(k), p), "bdtr", "the counts k and n and p")
_mass(lambda k, n, p: special.betainc(_count(k) + 1, _count(n) - _count(k), p), "bdtrc", "the counts k and n and p")
_mass(lambda k, n, p: special.betainc(_count(n), _count(k) + 1, p), "nbdtr", "the counts k and n and p")
_mass(lambda k, n, p: special.betaincc(_count(n), _count(k) + 1, p), "nbdtrc", "the counts k and n and p")
_mass(lambda n, d, x: special.betainc(n / 2, d / 2, n * x / (d + n * x)), "fdtr", "dfn, dfd and x")
_mass(lambda n, d, x: special.betaincc(n / 2, d / 2, n * x / (d + n * x)), "fdtrc", "dfn, dfd and x")
_mass(_t_mass, "stdtr", "df and t")
_mass(lambda n, d, p: _odds(special.betaincinv(n / 2, d / 2, p)) * d / n, "fdtri", "dfn, dfd and p")


def _odds(p: Tensor) -> Any:
    return p / (1.0 - p)


@_ours
def chndtr(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Any:
    """The mass of the noncentral chi-square distribution below x; df is a constant."""
    require_constant(df, "special.chndtr", "df")
    place, spread = _float(x, "chndtr"), _float(nc, "chndtr")
    return outward(raw("chndtr_by_df", as_tensor(df), place, spread, count=2), x, df, nc)


@_ours
def legendre_p(n: ArrayLike, z: ArrayLike, *, diff_n: int = 0) -> Any:
    """Legendre's polynomial of the constant degree n at the real z, and its derivatives up to the order `diff_n`."""
    require_constant(n, "special.legendre_p", "n")
    degree, place = as_float(as_tensor(n)), _float(z, "legendre_p")
    if dtypes.is_complex(place.dtype):
        only("special.legendre_p", z=("a complex tensor", "a real one"))
    found = [raw("eval_legendre", degree, place)]
    for order in range(1, diff_n + 1):
        factor = math.prod(range(1, 2 * order, 2))
        rest = where(less(degree, order), 0.0, degree - order)
        value = factor * raw("eval_gegenbauer", rest, as_tensor(order + 0.5), place)
        found.append(where(less(degree, order), 0.0, value))
    return outward(stack(found), n, z)


__all__ = ["OURS"]
