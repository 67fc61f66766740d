"""SciPy's special functions whose values the host computes, with exact slopes: one primitive for all of them.

A function has constants (orders, with respect to which nothing is differentiated) and operands; its slopes are made of
functions of the same families, so that every order of derivative is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from .. import special
from .._core import dtypes
from .._core.argument_types import ArrayLike, Out
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims.structural import scale
from ..errors import LostGradientError
from ..ops import promotion
from ..ops.array_methods import conjugate
from ..ops.complex_parts import imag, real
from ..ops.elementwise import abs as magnitude
from ..ops.elementwise import (
    cos,
    cosh,
    equal,
    exp,
    expm1,
    isinf,
    less,
    log,
    log1p,
    logical_and,
    logical_not,
    logical_or,
    rint,
    sin,
    sinh,
    sqrt,
)
from ..ops.indexing import where
from ..ops.promotion import as_float, as_tensor, broadcast, cast, outward
from ..programs.specs import TensorSpec
from ..rules.extend import primitive
from ._namespace import is_followed

Slopes = Callable[..., tuple[Any, ...]]

_ROOT_PI = math.sqrt(math.pi)


# -- the primitive ---------------------------------------------------------------------------------------------------


# functions whose constants do not come first in SciPy: its name, and the places of its arguments among ours
_OTHER_ORDER = {
    "lambertw_by_branch": ("lambertw", (1, 0)), "ellipj_by_parameter": ("ellipj", (1, 0)),
    "chndtr_by_df": ("chndtr", (1, 0, 2)),
}  # fmt: skip


def _values(*arrays: object, function: str, index: int, dtype: str) -> Any:
    name, places = _OTHER_ORDER.get(function, (function, range(len(arrays))))
    with np.errstate(all="ignore"):
        values = getattr(import_module("scipy.special"), name)(*[arrays[i] for i in places])
    return np.asarray(values if index < 0 else values[index]).astype(dtype)


def _spec(*inputs: Any, function: str, index: int, dtype: str) -> TensorSpec:
    spec = TensorSpec((), np.dtype(dtype))
    spec.shape = inputs[0].shape
    return spec


def _slopes(out: Tensor, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
    """One for each input, None for constants."""
    found = SLOPES[attrs["function"]](*((out,) if attrs["index"] < 0 else (out, attrs["index"])), *inputs)
    return (*(None,) * (len(inputs) - len(found)), *found)


def _vjp(ct: Tensor, out: Tensor, *inputs: Tensor, **attrs: object) -> tuple[Any, ...]:
    return (*(_pulled(ct, slope, x) for slope, x in zip(_slopes(out, inputs, attrs), inputs, strict=True)),)


def _pulled(ct: Tensor, slope: Tensor, x: Tensor) -> Any:
    if slope is None:
        return None
    slope = cast(as_tensor(slope), ct.dtype) if dtypes.is_complex(ct.dtype) else cast(as_tensor(slope), x.dtype)
    product = scale(ct, conjugate(broadcast(slope, ct.shape)))
    return cast(product if dtypes.is_complex(x.dtype) else real(product), x.dtype)


def _jvp(tangents: tuple[Tensor, ...], out: Tensor, *inputs: Tensor, **attrs: object) -> Any:
    total = None
    for tangent, slope in zip(tangents, _slopes(out, inputs, attrs), strict=True):
        if tangent is None or slope is None:
            continue
        slope = broadcast(cast(as_tensor(slope), out.dtype), out.shape)
        term = scale(cast(tangent, out.dtype), slope)
        total = term if total is None else total + term
    return out * 0.0 if total is None else total


def _batched(inputs: Sequence[Tensor], batched: Sequence[bool], **attrs: object) -> Any:
    shape = next(tuple(x.shape) for x, is_batch in zip(inputs, batched, strict=True) if is_batch)
    return _scipy_special(*[broadcast(x, shape) for x in inputs], **attrs)


_scipy_special = primitive("scipy_special", spec=_spec, numpy=_values, vjp=_vjp, jvp=_jvp, batch=_batched)


# -- calls -----------------------------------------------------------------------------------------------------------


def raw(function: str, *operands: ArrayLike, index: int = -1, count: int = 1, is_complex: bool | None = None) -> Tensor:
    """A function of SciPy's on tensors that broadcast; the last `count` of them are what it is differentiated in.

    Args:
        function: SciPy's name.
        operands: constants first.
        index: which of several results, -1 where there is one.
        count: how many of the operands decide the dtype.
        is_complex: whether the result is complex; None for what the operands are.
    """
    tensors = [as_tensor(x, function) for x in operands]
    floats = [as_float(x) for x in tensors[len(tensors) - count :]]
    dtype = promotion.common_dtype(floats)
    if dtypes.is_half(dtype):
        dtype = np.dtype(np.float32)
    floats = [cast(x, dtype) for x in floats]
    tensors = [*tensors[: len(tensors) - count], *floats]
    shape = tuple(tensors[0].shape)
    for x in tensors[1:]:
        shape = promotion.broadcast_shapes(shape, tuple(x.shape), function)
    result = np.result_type(dtype, np.complex64) if is_complex else np.zeros(0, dtype).real.dtype
    result = dtype if is_complex is None else result
    return _scipy_special(*[broadcast(x, shape) for x in tensors], function=function, index=index, dtype=str(result))


def ufunc(name: str, constants: str = "", operands: str = "z", is_real: bool = False, **how: Any) -> Callable[..., Any]:
    """The function of that name, which takes its constants before its operands.

    Args:
        name: SciPy's name.
        constants: what it takes first, and has no derivative in.
        operands: what it takes then.
        is_real: whether complex operands are refused.
        how: as for `raw`, and `outs`, the number of results.
    """
    fixed, moving = constants.split(), operands.split()
    outs: int = how.pop("outs", 0)

    def function(*args: Any) -> Any:
        if len(args) != len(fixed) + len(moving):
            wanted = ", ".join((*fixed, *moving))
            raise TypeError(at_user_line(f"scipy.special.{name}: takes {wanted}, got {len(args)} arguments"))
        for key, value in zip(fixed, args):
            require_constant(value, f"special.{name}", key)
        values = [as_tensor(x, name) for x in args]
        if is_real and any(dtypes.is_complex(x.dtype) for x in values[len(fixed) :]):
            raise TypeError(at_user_line(f"scipy.special.{name}: complex tensors are not supported, wanted real ones"))
        results = (*(raw(name, *values, count=len(moving), index=i, **how) for i in range(outs) or (-1,)),)
        return outward(results if outs else results[0], *args)

    function.__name__ = function.__qualname__ = name
    parts = [*(f"the constant {key}" for key in fixed), *moving]
    function.__doc__ = f"`scipy.special.{name}` of {', '.join(parts)}, element by element."
    return function


def require_constant(value: ArrayLike, name: str, argument: str) -> None:
    """Refuses a followed tensor where nothing is differentiated."""
    if is_followed(value):
        raise LostGradientError(
            at_user_line(
                f"scipy.{name}: {argument} is a tensor that is under differentiation or being traced, and the function "
                f"has no derivative in it here; give it as a number or an array, cut the gradient on purpose with "
                f".numpy() or wg.stop_gradient outside, or write a wg.primitive with the derivative"
            )
        )


# -- slopes ----------------------------------------------------------------------------------------------------------


def _below(n: Tensor) -> Any:
    """n - 1, or 0 for 0, where a factor or a mask takes the term away."""
    return where(less(0, n), n - 1, 0)


def _positive(n: Tensor, value: ArrayLike) -> Any:
    return where(less(0, n), value, 0.0)


def _neighbours(name: str, sign: int, factor: float = 0.5) -> Slopes:
    """(C_(v-1) + sign C_(v+1)) factor, of a Bessel function."""
    return lambda out, v, z: ((raw(name, v - 1, z) + sign * raw(name, v + 1, z)) * factor,)


def _hankel(name: str, turn: complex) -> Slopes:
    return lambda out, v, z: (
        (raw(name, v - 1, z, is_complex=True) - raw(name, v + 1, z, is_complex=True)) / 2 + turn * out,
    )


def _spherical(name: str, sign: int, factor: int = 1) -> Slopes:
    """(n C_(n-1) + sign (n + 1) C_(n+1)) / (2 n + 1), which holds at 0, too."""
    return lambda out, n, z: (
        (n * raw(name, _below(n), z) + sign * (n + 1) * raw(name, n + 1, z)) * (factor / (2.0 * n + 1.0)),
    )


def _airy(out: Out, index: int, z: ArrayLike) -> tuple[Any, ...]:
    return (raw("airy", z, index=index + 1) if index in (0, 2) else z * raw("airy", z, index=index - 1),)


def _airye(out: Out, index: int, z: ArrayLike) -> tuple[Any, ...]:
    growth = sqrt(z) if index < 2 else -sqrt(z)
    other = raw("airye", z, index=index + (1 if index in (0, 2) else -1))
    return ((other if index in (0, 2) else z * other) + growth * out,)


def log_ratio(u: ArrayLike) -> Any:
    """log(1 + u) / u, which is 1 at 0."""
    is_small = less(magnitude(u), 1e-3)
    near, far = where(is_small, u, 0.0), where(is_small, 1.0, u)
    series = 0.0
    for k in range(7, 0, -1):
        series = series * near + (-1.0) ** (k - 1) / k
    return where(is_small, series, log1p(far) / far)


def _ratio(f: Callable[[Any], Any], z: ArrayLike) -> Any:
    """f(z) / z for an odd function of slope 1 at 0; a small z is replaced by what gives 1 + z^2 / 6 ..."""
    is_zero = equal(z, 0)
    return where(is_zero, 1.0, f(where(is_zero, 1.0, z)) / where(is_zero, 1.0, z))


def _flat_at(infinity: float, z: Tensor, slope: ArrayLike) -> tuple[Any, ...]:
    """A slope that tends to 0 at an infinity of real numbers, where its formula has none."""
    return (slope if dtypes.is_complex(z.dtype) else where(equal(z, infinity), 0.0, slope),)


def _flat(z: Tensor, slope: ArrayLike) -> tuple[Any, ...]:
    """One that does at both."""
    return _flat_at(math.inf, z, _flat_at(-math.inf, z, slope)[0])


def _shichi(out: Tensor, index: int, z: Tensor) -> tuple[Any, ...]:
    slope = cosh(z) / z if index else _ratio(sinh, z)
    return (slope if dtypes.is_complex(z.dtype) else where(isinf(z), z if index else magnitude(z), slope),)


def _expn(out: Tensor, n: Tensor, x: Tensor) -> tuple[Any, ...]:
    return (-where(less(0, n), raw("expn", _below(n), x), exp(-x) * (1 + 1 / x) / x),)


_NEAR_0 = tuple(1 / (math.factorial(k) * (k + 2)) for k in range(21))


def _exprel(out: Tensor, x: Tensor) -> tuple[Any, ...]:
    """(e^x (x - 1) + 1) / x^2, by its series up to 1 and in a form without cancellation on either side."""
    is_near, is_low, is_end = less(magnitude(x), 1.0), less(x, 0.0), equal(x, math.inf)
    near, far = where(is_near, x, 0.0), where(logical_or(is_near, is_end), 1.0, x)
    series = 0.0
    for coefficient in reversed(_NEAR_0):
        series = series * near + coefficient
    low = where(less(far, -200.0), -200.0, far)  # below, e^x is 0 beside 1
    below = (1.0 + (low - 1.0) * exp(where(is_low, low, -1.0))) / far / far
    above = out + (1.0 - out) / far
    return (where(is_near, series, where(is_low, below, where(is_end, out, above))),)


def _rgamma(out: Tensor, z: Tensor) -> tuple[Any, ...]:
    if dtypes.is_complex(z.dtype):
        return (-out * raw("psi", z),)
    is_far, is_zero = isinf(z), equal(out, 0)
    is_pole = logical_and(is_zero, logical_not(is_far))
    whole = where(is_pole, z, 0.0)
    inside = -out * special.psi(where(logical_or(is_zero, is_far), 1.0, z))
    # of Euler's reflection, all of whose derivatives are right there
    at_pole = cos(math.pi * whole) - special.psi(1.0 - whole) * sin(math.pi * whole) / math.pi
    return (where(is_pole, special.gamma(1.0 - whole) * at_pole, inside),)


# of 1/z^(2k+1) in the asymptotic series of psi's slope: Bernoulli's numbers (Abramowitz and Stegun 6.4.12)
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def _psi(out: Tensor, z: Tensor) -> tuple[Any, ...]:
    """The slope of psi of complex numbers: by its series after ten steps to the right, left of 1/2 by reflection."""
    is_left = less(real(z), 0.5)
    right = where(is_left, 1.0 - z, z)
    far = 1.0 / (right + 10.0)
    series, square = 0.0, far * far
    for number in reversed(_BERNOULLI):
        series = series * square + number
    slope = far + square * (0.5 + far * series)
    for k in range(10):
        slope = slope + 1.0 / (right + k) ** 2
    left = where(is_left, z, 0.25)
    return (where(is_left, _square_of_pi_by_sine(left) - slope, slope),)


def _square_of_pi_by_sine(z: Tensor) -> Any:
    """(pi / sin(pi z))^2, which neither overflows far from the real numbers nor cancels near a whole one."""
    turn = 2j * math.pi * where(less(imag(z), 0.0), -1.0, 1.0)
    angle = turn * (z - rint(real(z)))
    return -4 * math.pi**2 * exp(angle) / expm1(angle) ** 2


def _incomplete_moment(phi: ArrayLike, m: Tensor, power: float) -> Any:
    """The integral of sin^2 / 2 (1 - m sin^2)^power from 0 to phi for small m, by its series."""
    square, cosine = sin(phi) ** 2, sin(phi) * cos(phi)
    moment = (phi - cosine) / 2  # of sin^2
    total, factor = moment, 1.0
    odd = sin(phi) * cos(phi)
    for k in range(1, 5):
        odd = odd * square
        moment = ((2 * k + 1) * moment - odd) / (2 * k + 2)
        factor = factor * (power - k + 1) / k * -1.0
        total = total + factor * m**k * moment
    return total / 2


def _ellipkinc(out: Out, phi: Tensor, m: ArrayLike) -> tuple[Any, ...]:
    root = sqrt(1 - m * sin(phi) ** 2)
    is_small = less(magnitude(m), 3e-3)
    safe = where(is_small, 0.5, m)
    far = raw("ellipeinc", phi, safe, count=2) / (2 * safe * (1 - safe)) - raw("ellipkinc", phi, safe, count=2) / (
        2 * safe
    )
    far = far - sin(2 * phi) / (4 * (1 - safe) * sqrt(1 - safe * sin(phi) ** 2))
    return 1 / root, where(is_small, _incomplete_moment(phi, where(is_small, m, 0.0), -1.5), far)


def _ellipeinc(out: Tensor, phi: Tensor, m: Tensor) -> tuple[Any, ...]:
    is_small = less(magnitude(m), 3e-3)
    safe = where(is_small, 0.5, m)
    far = (raw("ellipeinc", phi, safe, count=2) - raw("ellipkinc", phi, safe, count=2)) / (2 * safe)
    near = -_incomplete_moment(phi, where(is_small, m, 0.0), -0.5)
    return sqrt(1 - m * sin(phi) ** 2), where(is_small, near, far)


def _ellipkm1(out: Out, p: ArrayLike) -> tuple[Any, ...]:
    is_small = less(p, 0.5)
    low, high = where(is_small, p, 0.25), where(is_small, 0.75, p)
    near = (raw("ellipe", 1 - low) - low * raw("ellipkm1", low)) / (2 * (1 - low) * low)
    return (-where(is_small, near, math.pi / 8 * raw("hyp2f1", 1.5, 1.5, 2.0, 1 - high)),)


def _ellipj(out: Out, index: int, m: Tensor, u: ArrayLike) -> tuple[Any, ...]:
    sn, cn, dn = (raw("ellipj_by_parameter", m, u, index=i) for i in range(3))
    return ((cn * dn, -sn * dn, -m * sn * cn, dn)[index],)


def _struve(name: str, sign: int) -> Slopes:
    def slopes(out: Tensor, v: Tensor, x: Tensor) -> tuple[Any, ...]:
        rest = (x / 2) ** v * raw("rgamma", v + 1.5) / _ROOT_PI
        return ((raw(name, v - 1, x) + sign * raw(name, v + 1, x) + rest) / 2,)

    return slopes


def _lpmv(out: Tensor, m: Tensor, v: Tensor, x: Tensor) -> tuple[Any, ...]:
    return ((v * x * out - (v + m) * raw("lpmv", m, v - 1, x)) / (x * x - 1),)


def _sph_harm(out: Tensor, n: Tensor, m: Tensor, theta: Tensor, phi: Tensor) -> tuple[Any, ...]:
    def neighbour(step: int) -> Any:
        beside = m + step
        is_there = less(magnitude(beside), n + 1)
        value = raw("sph_harm_y", n, where(is_there, beside, 0), theta, phi, count=2, is_complex=True)
        return where(is_there, sqrt(1.0 * (n - step * m) * (n + step * m + 1)) * exp(-1j * step * phi) * value, 0.0)

    return (neighbour(1) - neighbour(-1)) / 2, 1j * m * out


def _binom(out: Out, n: Tensor, k: Tensor) -> tuple[Any, ...]:
    rest = special.psi(n - k + 1.0)
    return out * (special.psi(n + 1.0) - rest), out * (rest - special.psi(k + 1.0))


def _owens_t(out: Tensor, h: Tensor, a: Tensor) -> tuple[Any, ...]:
    in_h = exp(h * h / -2) * special.erf(a * h / math.sqrt(2)) * (-0.5 / math.sqrt(2 * math.pi))
    return in_h, exp(h * h * (1 + a * a) / -2) / (2 * math.pi * (1 + a * a))


def _noncentral(out: Tensor, df: Tensor, x: Tensor, nc: Tensor) -> tuple[Any, ...]:
    return _noncentral_density(df, x, nc), -_noncentral_density(df + 2.0, x, nc)


def _noncentral_density(df: Tensor, x: Tensor, nc: Tensor) -> Any:
    """Of the noncentral chi-square distribution; beside 0 by a series that is smooth there."""
    is_small = less(x * nc, 1.0)
    near, far = where(is_small, x * nc, 0.5), where(is_small, 2.0, x * nc)
    series = x ** (df * 0.5 - 1.0) * exp((x + nc) * -0.5) * raw("hyp0f1", df * 0.5, near * 0.25)
    series = series / (2.0 ** (df * 0.5) * special.gamma(df * 0.5))
    ratio = where(is_small, 1.0, x / where(is_small, 1.0, nc))
    bessel = raw("ive", df * 0.5 - 1.0, sqrt(far)) * exp((sqrt(x) - sqrt(where(is_small, 1.0, nc))) ** 2 * -0.5)
    return where(is_small, series, 0.5 * ratio ** (df * 0.25 - 0.5) * bessel)


_GAUSS = 2 / _ROOT_PI


def _tukey(out: Tensor, x: Tensor, lam: Tensor) -> tuple[Any, Any]:
    """Of Tukey's lambda distribution, whose quantile is (q^lam - (1 - q)^lam) / lam; flat where no mass is."""
    is_inside = logical_and(less(0.0, out), less(out, 1.0))
    share = where(is_inside, out, 0.5)
    low, high = log(share), log1p(-share)
    density = where(is_inside, 1.0 / (exp((lam - 1.0) * low) + exp((lam - 1.0) * high)), 0.0)
    bent = low * low * raw("hyp1f1", 2.0, 3.0, lam * low) - high * high * raw("hyp1f1", 2.0, 3.0, lam * high)
    return density, density * bent * -0.5


SLOPES: dict[str, Slopes] = {
    "tklmbda": _tukey,
    "jv": _neighbours("jv", -1), "yv": _neighbours("yv", -1), "iv": _neighbours("iv", 1),
    "kv": _neighbours("kv", 1, -0.5), "kn": lambda out, n, x: (-(raw("kv", n - 1, x) + raw("kv", n + 1, x)) / 2,),
    "ive": lambda out, v, z: ((raw("ive", v - 1, z) + raw("ive", v + 1, z)) / 2 - where(less(z, 0.0), -out, out),),
    "kve": lambda out, v, z: (out - (raw("kve", v - 1, z) + raw("kve", v + 1, z)) / 2,),
    "hankel1": _hankel("hankel1", 0), "hankel2": _hankel("hankel2", 0),
    "hankel1e": _hankel("hankel1e", -1j), "hankel2e": _hankel("hankel2e", 1j),
    "spherical_jn": _spherical("spherical_jn", -1), "spherical_yn": _spherical("spherical_yn", -1),
    "spherical_in": _spherical("spherical_in", 1), "spherical_kn": _spherical("spherical_kn", 1, -1),
    "airy": _airy, "airye": _airye,
    "eval_jacobi": lambda out, n, a, b, x: (
        _positive(n, (n + a + b + 1) / 2 * raw("eval_jacobi", _below(n), a + 1, b + 1, x)),
    ),
    "eval_legendre": lambda out, n, x: (_positive(n, (n + 1) / 2 * raw("eval_jacobi", _below(n), 1.0, 1.0, x)),),
    "eval_gegenbauer": lambda out, n, a, x: (_positive(n, 2 * a * raw("eval_gegenbauer", _below(n), a + 1, x)),),
    "eval_chebyt": lambda out, n, x: (n * raw("eval_chebyu", _below(n), x),),
    "eval_chebyu": lambda out, n, x: (_positive(n, 2 * raw("eval_gegenbauer", _below(n), 2.0, x)),),
    "eval_laguerre": lambda out, n, x: (-_positive(n, raw("eval_genlaguerre", _below(n), 1.0, x)),),
    "eval_genlaguerre": lambda out, n, a, x: (-_positive(n, raw("eval_genlaguerre", _below(n), a + 1, x)),),
    "eval_hermite": lambda out, n, x: (2 * n * raw("eval_hermite", _below(n), x),),
    "eval_hermitenorm": lambda out, n, x: (n * raw("eval_hermitenorm", _below(n), x),),
    "lpmv": _lpmv, "sph_harm_y": _sph_harm,
    "erf": lambda out, z: (exp(-z * z) * _GAUSS,), "erfc": lambda out, z: (exp(-z * z) * -_GAUSS,),
    "erfi": lambda out, z: (exp(z * z) * _GAUSS,), "erfcx": lambda out, z: (2 * z * out - _GAUSS,),
    "dawsn": lambda out, z: _flat(z, 1 - 2 * z * out), "wofz": lambda out, z: (_GAUSS * 1j - 2 * z * out,),
    "ndtr": lambda out, z: (exp(z * z / -2) / math.sqrt(2 * math.pi),),
    "fresnel": lambda out, index, z: ((cos if index else sin)(z * z * (math.pi / 2)),),
    "sici": lambda out, index, z: _flat(z, cos(z) / z if index else _ratio(sin, z)),
    "shichi": _shichi,
    "expi": lambda out, z: (exp(z) / z,), "exp1": lambda out, z: (-exp(-z) / z,), "expn": _expn,
    "exprel": _exprel,
    "spence": lambda out, z: (-log_ratio(z - 1),), "owens_t": _owens_t, "chndtr_by_df": _noncentral,
    "lambertw_by_branch": lambda out, k, z: (exp(-out) / (1 + out),), "wrightomega": lambda out, z: (out / (1 + out),),
    "gamma": lambda out, z: (out * raw("psi", z),), "loggamma": lambda out, z: (raw("psi", z),), "rgamma": _rgamma,
    "psi": _psi,
    "binom": _binom,
    "hyp0f1": lambda out, v, z: (raw("hyp0f1", v + 1, z) / v,),
    "hyp1f1": lambda out, a, b, z: (a / b * raw("hyp1f1", a + 1, b + 1, z),),
    "hyp2f1": lambda out, a, b, c, z: (a * b / c * raw("hyp2f1", a + 1, b + 1, c + 1, z),),
    "hyperu": lambda out, a, b, x: (-a * raw("hyperu", a + 1, b + 1, x),),
    "struve": _struve("struve", -1), "modstruve": _struve("modstruve", 1),
    "ellipk": lambda out, m: _flat_at(-math.inf, m, math.pi / 8 * raw("hyp2f1", 1.5, 1.5, 2.0, m)),
    "ellipe": lambda out, m: _flat_at(-math.inf, m, -math.pi / 8 * raw("hyp2f1", 0.5, 1.5, 2.0, m)),
    "ellipkm1": _ellipkm1, "ellipj_by_parameter": _ellipj, "ellipkinc": _ellipkinc, "ellipeinc": _ellipeinc,
    "ber": lambda out, x: (raw("berp", x),), "bei": lambda out, x: (raw("beip", x),),
    "ker": lambda out, x: (raw("kerp", x),), "kei": lambda out, x: (raw("keip", x),),
    "berp": lambda out, x: (-raw("bei", x) - out / x,), "beip": lambda out, x: (raw("ber", x) - out / x,),
    "kerp": lambda out, x: (-raw("kei", x) - out / x,), "keip": lambda out, x: (raw("ker", x) - out / x,),
}  # fmt: skip

__all__ = ["SLOPES", "log_ratio", "raw", "require_constant", "ufunc"]
