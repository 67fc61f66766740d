"""`quad` and integrals over several variables.

SciPy's QUADPACK finds the value, and on which intervals. There the integrand is evaluated once more, recorded, at the
places of Gauss' rule: the derivative of that sum is the same rule for the derivative of the integrand. Near the ends of
the range, where QUADPACK has cut them finely, places crowd together double exponentially, which integrates powers and
logarithms, too. Limits are differentiated by Leibniz' rule.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from .. import numpy as np
from .._core.argument_types import ArrayLike
from .._core.engine import ndarray_of
from .._core.scipy_modules import scipy
from .._core.state import STATE, pausing, watchers
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..errors import TracingError
from ..ops.conversion import stop_gradient
from ..ops.promotion import as_tensor
from ._conversions import Array, recorded
from ._namespace import only
from ._traced_quadrature import traced_integral

_GAUSS = 21  # places in an interval
_ORDERS = 4  # places in the interval of no length at a limit that is followed: derivatives up to twice that order


def number(x: ArrayLike) -> float:
    """The value of what may be a tensor."""
    if STATE.builder is not None:
        raise TracingError(at_user_line(
            "scipy.integrate.quad: its intervals depend on values, which a trace does not have; call it outside of the "
            "compiled function, or use fixed_quad"
        ))  # fmt: skip
    with pausing(watchers()):
        return float(ndarray_of(as_tensor(x)._data))


@functools.lru_cache(maxsize=8)
def _gauss(count: int) -> tuple[Array, Array]:
    places, weights = numpy.polynomial.legendre.leggauss(count)
    return (places + 1) / 2, weights / 2


@functools.lru_cache(maxsize=1)
def _crowded() -> tuple[Array, Array]:
    """Distances from the end of an interval of length 1, and weights, double exponentially close to that end."""
    t = numpy.arange(-4.0, 3.2, 1 / 16)
    inner = numpy.pi / 2 * numpy.sinh(t)
    places = numpy.exp(inner) / (2 * numpy.cosh(inner))
    weights = numpy.pi / 4 * numpy.cosh(t) / numpy.cosh(inner) ** 2 / 16
    return places, weights / weights.sum()


def rule(low: Array, high: Array) -> tuple[Array, Array]:
    """Places in (low[0], high[-1]) and weights, for the intervals that QUADPACK ended with."""
    order = numpy.argsort(low)
    low, high = low[order], high[order]
    places: list[Any] = []
    weights: list[Any] = []
    for i, (start, stop) in enumerate(zip(low, high, strict=True)):
        length = stop - start
        at, share = _gauss(_GAUSS)
        if len(low) > 1 and i == 0:
            at, share = _crowded()
            at, share = at[at < 1], share[at < 1]
        if len(low) > 1 and i == len(low) - 1:
            at, share = _crowded()
            at, share = 1 - at[at > 1e-15], share[at > 1e-15]
            at, share = at[at < 1], share[at < 1]
        places.append(start + length * at)
        weights.append(length * share)
    return numpy.concatenate(places), numpy.concatenate(weights)


def _mapped(t: Array, w: Array, a: float, b: float) -> tuple[Array, Array]:
    """Places and weights on an infinite range from those on (0, 1)."""
    far, w = (1 - t) / t, w / t**2
    if numpy.isinf(a) and numpy.isinf(b):
        return numpy.concatenate([far, -far]), numpy.concatenate([w, w])
    return (b - far, w) if numpy.isinf(a) else (a + far, w)


def integral(f: Callable[[Any], Any], a: ArrayLike, b: ArrayLike, options: dict[str, Any]) -> tuple[Any, ...]:
    """The integral of a recorded function, and what else QUADPACK says of it."""
    if STATE.builder is not None:
        return (*traced_integral(f, a, b, options), {})
    low, high = number(a), number(b)

    def value(x: float) -> float:
        return number(f(x))

    with pausing(watchers()):
        found = scipy("integrate").quad(value, low, high, **{**options, "full_output": 1})
    total, error, info, *told = found
    last = int(info["last"])
    start, stop = numpy.asarray(info["alist"][:last]), numpy.asarray(info["blist"][:last])
    sign, first, final = (1.0, low, high) if low <= high else (-1.0, high, low)
    if low == high:
        terms: Any = 0.0
    else:
        start, stop = numpy.minimum(start, stop), numpy.maximum(start, stop)
        places, weights = rule(start, stop)
        if numpy.isinf(first) or numpy.isinf(final):
            places, weights = _mapped(places, weights, first, final)
        is_inside = (places > first) & (places < final)
        terms = sum((w * f(x) for x, w in zip(places[is_inside], weights[is_inside], strict=True)), 0.0) * sign
    # the value is QUADPACK's, which extrapolates; the derivatives are those of the rule
    result = total + (as_tensor(terms) - stop_gradient(as_tensor(terms)))
    result = result + _beyond(f, high, b) - _beyond(f, low, a)
    return result, error, info, *told


def _beyond(f: Callable[[Any], Any], here: float, limit: ArrayLike) -> Any:
    """The integral from a number to a tensor of that value: zero, with the derivatives in the limit."""
    if not (isinstance(limit, Tensor) and limit.is_followed) or numpy.isinf(here):
        return 0.0
    places, weights = _gauss(_ORDERS)
    length = limit - here
    return length * sum(w * f(here + length * s) for s, w in zip(places, weights, strict=True))


@recorded
def quad(
    func: Callable[..., Any],
    a: ArrayLike,
    b: ArrayLike,
    args: tuple[Any, ...] = (),
    full_output: object = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: ArrayLike | None = None,
    weight: object = None,
    wvar: object = None,
    wopts: object = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> Any:
    """An integral, with gradients in the limits, args and what func uses from outside."""
    only("integrate.quad", weight=(weight, None))
    args = args if isinstance(args, tuple) else (args,)
    options = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": points}
    if not complex_func:
        found = integral(lambda x: func(x, *args), a, b, options)
        return found if full_output else found[:2]
    real = integral(lambda x: np.real(func(x, *args)), a, b, options)
    imaginary = integral(lambda x: np.imag(func(x, *args)), a, b, options)
    result = real[0] + 1j * imaginary[0], real[1] + 1j * imaginary[1]
    return (*result, {"real": real[2:], "imag": imaginary[2:]}) if full_output else result


def _nested(func: Callable[..., Any], ranges: list[Any], options: list[dict[str, Any]], errors: list[float]) -> Any:
    """The integral over the first variables, innermost first; a range may be a function of the others."""

    def over(depth: int, outer: tuple[Any, ...]) -> Any:
        if depth < 0:
            return func(*outer)
        limits = ranges[depth](*outer) if callable(ranges[depth]) else ranges[depth]
        low, high = limits
        found = integral(lambda x: over(depth - 1, (x, *outer)), low, high, options[depth])
        errors.append(found[1])
        return found[0]

    return over(len(ranges) - 1, ())


def _largest(errors: list[Any]) -> Any:
    """The largest of errors; in a trace that of the outer integral, for those inside are of its loop."""
    return errors[-1] if isinstance(errors[-1], Tensor) else max(errors)


def _edge(limit: ArrayLike) -> Callable[..., Any]:
    return limit if callable(limit) else lambda *_: limit


@recorded
def dblquad(
    func: Callable[..., Any],
    a: ArrayLike,
    b: ArrayLike,
    gfun: ArrayLike,
    hfun: ArrayLike,
    args: tuple[Any, ...] = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """An integral over two variables, with gradients in the limits, args and what the functions use from outside."""
    low, high = _edge(gfun), _edge(hfun)
    options = [{"epsabs": epsabs, "epsrel": epsrel}] * 2
    errors: list[float] = []
    ranges = [lambda x: (low(x), high(x)), (a, b)]
    return _nested(lambda y, x: func(y, x, *args), ranges, options, errors), _largest(errors)


@recorded
def tplquad(
    func: Callable[..., Any],
    a: ArrayLike,
    b: ArrayLike,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: tuple[Any, ...] = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """An integral over three variables, with gradients in the limits, args and what the functions use from outside."""
    low, high, bottom, top = map(_edge, (gfun, hfun, qfun, rfun))
    options = [{"epsabs": epsabs, "epsrel": epsrel}] * 3
    errors: list[float] = []
    ranges = [lambda y, x: (bottom(x, y), top(x, y)), lambda x: (low(x), high(x)), (a, b)]
    return _nested(lambda z, y, x: func(z, y, x, *args), ranges, options, errors), _largest(errors)


@recorded
def nquad(func: Callable[..., Any], ranges: Any, args: Any = None, opts: Any = None, full_output: bool = False) -> Any:
    """An integral over any number of variables, with gradients in the limits, args and what func uses from outside."""
    only("integrate.nquad", full_output=(full_output, False))
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    given = [{}] * len(ranges) if opts is None else [opts] * len(ranges) if isinstance(opts, dict) else [*opts]
    limits: Any = [
        (lambda *outer, r=r: r(*outer, *args)) if callable(r) else tuple(r) for r in ranges
    ]  # fmt: skip
    errors: list[float] = []
    return _nested(lambda *x: func(*x, *args), limits, given, errors), _largest(errors)


__all__ = ["dblquad", "integral", "nquad", "number", "quad", "rule", "tplquad"]
