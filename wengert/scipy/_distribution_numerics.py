"""Computes what a distribution has no formula for: moments by integrals, quantiles as roots, fits as minima.

Called by `_stats.py`. Integrals and sums are differentiated as such. A quantile is the root of the mass below it, a fit
that of the slope of the likelihood: SciPy finds them, and they are functions of their arguments by these equations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .._control.values import Leaves
from .._core.argument_types import ArrayLike
from .._core.constant import constant
from .._core.scipy_modules import scipy
from .._core.state import pausing, watchers
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims.structural import stop_gradient
from ..differentiation.derivatives import jacobian
from ..differentiation.functional import grad
from ..differentiation.implicit import followed_root
from ..errors import LostGradientError
from ..ops.elementwise import equal, exp, expm1, isfinite, log
from ..ops.indexing import where
from ..ops.joining import stack
from ..ops.promotion import as_float, as_tensor
from ..ops.reductions import min as least
from ..ops.reductions import sum as total
from ..ops.shapes import ravel, reshape
from ..stats._distribution import Distribution, met
from ._conversions import followed_place
from ._quadrature import rule

Array = np.ndarray[Any, Any]
Shapes = list[Any]
_SHARES = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)  # of the mass: between such quantiles an integrand is smooth
_NO_MASS = 1e-15
_FAR = 150.0  # the logarithm of a distance, the fourth power of which is a number
_MANY = 20_000  # counts, beyond which a sum over them is not tried
# by the shape parameters, where densities have kinks inside of their support
_KINKS: dict[str, Callable[..., Shapes]] = {"triang": lambda c: [c], "laplace_asymmetric": lambda kappa: [0.0]}
_NO_WEIGHT = 1e-290  # of an integrand, beside what it has been
_EXACT = {"epsabs": 1e-10, "epsrel": 1e-9, "limit": 100}


class NotSummed(Exception):
    """A distribution of counts has too many of them."""


def theirs(ours: Distribution) -> Any:
    """SciPy's distribution of the name."""
    return getattr(import_module("scipy.stats"), ours._family.name)


def known(values: Shapes) -> list[Array]:
    """Parameters as NumPy's arrays."""
    return [stop_gradient(as_tensor(v)).numpy() for v in values]


def each(f: Callable[..., Any], shapes: Shapes, what: str) -> Any:
    """A function of shape parameters that are numbers, for each place of arrays of them."""
    if not shapes:
        return as_tensor(f())
    whole = met((*shapes,), what)
    flat = [ravel(s) for s in whole]
    return reshape(stack([as_tensor(f(*[s[i] for s in flat])) for i in range(flat[0].size)]), whole[0].shape)


# -- expectations ----------------------------------------------------------------------------------------------------


def expectation(ours: Distribution, g: Callable[[Any], Any], shapes: Shapes) -> Any:
    """The mean of g(z) in the standard form, of shape parameters that are numbers."""
    if ours._family.is_discrete:
        counts = _counts(ours, shapes)
        return total(g(counts) * ours.pmf(counts, *shapes))
    return _Axis(ours, shapes).integral(lambda z: g(z) * ours.pdf(z, *shapes))


class _Axis:
    """The axis of a distribution, cut where integrands are smooth between the cuts.

    A finite end of the support is approached to where only what has no mass is left out, since a density may have no
    slope at the end itself, nor a bound; it moves with the parameters. A tail is followed far out, for its moments may
    be large: there integrands are functions of the logarithm of the distance.
    """

    def __init__(self, ours: Distribution, shapes: Shapes) -> None:
        self.dist, self.values = theirs(ours), known(shapes)
        self.places = np.unique(self.dist.ppf(_SHARES, *self.values))
        self.kinks = _KINKS.get(ours._family.name, lambda *s: [])(*shapes)
        ends = (-math.pi, math.pi) if ours._family.name == "vonmises" else ours._family.support(*shapes)
        marks = [float(v) for v in known([*ends])]
        inner = [float(f(_NO_MASS, *self.values)) for f in (self.dist.ppf, self.dist.isf)]
        self.low, self.starts_at_zero = inner[0], marks[0] == 0.0 < inner[0]
        self.ends = [e if math.isinf(m) else e + (n - m) for e, m, n in zip(ends, marks, inner, strict=True)]

    def inside(self, bound: Any) -> Any:
        """A bound of an integral, None where it lies beyond the support."""
        first, place, last = (float(v) for v in known([self.ends[0], bound, self.ends[1]]))
        return bound if first < place < last else None

    def integral(self, f: Callable[[Any], Any], low: Any = None, high: Any = None) -> Any:
        """The integral of f from low to high, or over all."""
        low, high = (end if given is None else given for given, end in zip((low, high), self.ends, strict=True))
        first, last = (float(v) for v in known([low, high]))
        inner = self._inner(first, last)
        is_power = self.starts_at_zero and first == self.low  # next to 0 a density may be a power of the distance
        marks = [*([] if math.isinf(first) or is_power else [low]), *inner, *([] if math.isinf(last) else [high])]
        parts = [_piece(f, a, b) for a, b in itertools.pairwise(marks)]
        if is_power:
            edge, depth = marks[0], math.log(float(known([marks[0]])[0]) / self.low)
            parts.append(_piece(lambda u: f(edge * exp(-u)) * edge * exp(-u), 0.0, depth))
        width = float(self.places[-1] - self.places[0])
        tails = [(inner[0], -width)] if math.isinf(first) else []
        for end, reach in [*tails, *([(inner[-1], width)] if math.isinf(last) else [])]:
            parts += self._tail(_outward(f, end, reach), end, reach)
        return total(stack([as_tensor(part) for part in parts]))

    def _inner(self, first: float, last: float) -> list[Any]:
        """Where to cut between two ends: at quantiles, and where the density has a kink, which moves as that does."""
        low = max(first, float(self.places[0])) if math.isinf(first) else first
        high = min(last, float(self.places[-1])) if math.isinf(last) else last
        kinks = [(float(k), kink) for k, kink in zip(known(self.kinks), self.kinks, strict=True) if low < k < high]
        cuts = [(float(p), float(p)) for p in self.places if first < p < last]
        apart = [cut for cut in cuts if not any(math.isclose(cut[0], k, abs_tol=1e-9) for k, _ in kinks)]
        return [cut for _, cut in sorted([*apart, *kinks], key=lambda pair: pair[0])]

    def _tail(self, f: Callable[[Any], Any], end: float, reach: float) -> list[Any]:
        """The integrals over a tail, as far as fifth powers have weight there."""
        u = np.linspace(0.0, _FAR, 601)
        z = end + reach * np.expm1(u)
        with np.errstate(all="ignore"):
            weight = self.dist.pdf(z, *self.values) * abs(z) ** 5 * np.exp(u)
        heavy = np.flatnonzero(weight > 1e-30)
        last = min(int(heavy[-1]) + 1, 600) if heavy.size else 1
        pieces = itertools.pairwise(np.linspace(0.0, u[last], 5).tolist())
        rest = [_beyond(f)] if last == 600 else []
        return [*[_piece(f, a, b) for a, b in pieces], *rest]


def _piece(f: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """An integral between two ends: on the intervals that QUADPACK would take, with all places in one call of f."""
    first, last = (float(v) for v in known([low, high]))
    with pausing(watchers()):
        info = scipy("integrate").quad(lambda z: float(known([f(z)])[0]), first, last, full_output=1, **_EXACT)[2]
    count = int(info["last"])
    places, weights = rule(info["alist"][:count], info["blist"][:count])
    shares = (places - first) / (last - first)
    return total(f(low + (high - low) * as_tensor(shares)) * weights) * ((high - low) / (last - first))


def _at_each(g: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of a number, called for each element of an array."""
    return lambda x: stack([as_tensor(g(x[i])) for i in range(x.size)]) if np.ndim(x) else g(x)


def _beyond(f: Callable[[Any], Any]) -> Any:
    """What lies beyond the last logarithm, where an integrand is a power of the distance, or hardly anything."""
    end, before = as_tensor(f(_FAR)), as_tensor(f(_FAR - 1.0))
    last, first = (float(v) for v in known([end, before]))
    if abs(last) < _NO_WEIGHT:
        return 0.0
    if first / last <= 1.0:
        return math.copysign(math.inf, last)
    # as shares of a number: the slopes of a quotient of small ones are beyond what floats hold
    return end / log((before / last) / (end / last))


def _outward(f: Callable[[Any], Any], end: float, reach: float) -> Callable[[Any], Any]:
    return lambda u: f(end + reach * expm1(u)) * exp(u) * abs(reach)


def _counts(ours: Distribution, shapes: Shapes) -> Tensor:
    """The counts that have mass."""
    dist, values = theirs(ours), known(shapes)
    first, last = (float(end) for end in dist.support(*values))
    near, far = (first, first + _MANY) if math.isfinite(first) else (-_MANY, _MANY)
    # asked first: a quantile far out may take SciPy all memory
    if dist.cdf(near - 1, *values) > _NO_MASS or dist.sf(far, *values) > _NO_MASS:
        raise NotSummed
    first = first if math.isfinite(first) else float(dist.ppf(_NO_MASS, *values))
    last = last if last <= far else float(dist.isf(_NO_MASS, *values))
    return as_tensor(np.arange(first, last + 1.0))


class Moments:
    """Mean, variance, skewness, excess and entropy of the standard form: by the formulas given, else by integrals."""

    def __init__(self, ours: Distribution, formulas: dict[str, Any]) -> None:
        self.ours, self.formulas = ours, {name: f for name, f in formulas.items() if f is not None}

    def __call__(self, name: str, shapes: Shapes) -> Any:
        """One of them, in the shape of the parameters."""
        formula = self.formulas.get(name)
        if formula is not None:
            return as_tensor(formula(*shapes))
        return each(lambda *s: self._of_numbers(name, [*s]), shapes, f"stats.{self.ours._family.name}.{name}")

    def _of_numbers(self, name: str, shapes: Shapes) -> Any:
        if name == "entropy":
            return -expectation(self.ours, lambda z: self._log_density(z, shapes), shapes)
        value = float(theirs(self.ours).stats(*known(shapes), moments=_LETTERS[name]))
        if not math.isfinite(value):
            return as_tensor(value)  # as SciPy says: there is none, or it is infinite
        if name == "mean":
            return expectation(self.ours, lambda z: z, shapes)
        order = _ORDERS[name]
        mean = self("mean", shapes)
        found = expectation(self.ours, lambda z: (z - mean) ** order, shapes)
        if name == "var":
            return found
        return found / self("var", shapes) ** (order / 2) - (3.0 if name == "excess" else 0.0)

    def _log_density(self, z: Any, shapes: Shapes) -> Any:
        found = as_tensor((self.ours.logpmf if self.ours._family.is_discrete else self.ours.logpdf)(z, *shapes))
        return where(isfinite(found), found, 0.0)


_LETTERS = {"mean": "m", "var": "v", "skew": "s", "excess": "k"}
_ORDERS = {"var": 2, "skew": 3, "excess": 4}


def expect(
    ours: Distribution, func: Callable[..., Any] | None, shapes: Shapes, loc: Any, scale: Any, lb: Any, ub: Any,
    conditional: bool,
) -> Any:  # fmt: skip
    """The mean of a function of the variable itself, between two bounds."""
    g = (lambda x: x) if func is None else _at_each(func)
    if ours._family.is_discrete:
        counts = _counts(ours, shapes) + loc
        inside = 1.0 * ((counts >= (-math.inf if lb is None else lb)) & (counts <= (math.inf if ub is None else ub)))
        masses = ours.pmf(counts, *shapes, loc=loc) * inside
        found, share = total(g(counts) * masses), total(masses)
    else:
        axis = _Axis(ours, shapes)
        bounds = [axis.inside((bound - loc) / scale) if bound is not None else None for bound in (lb, ub)]
        found = axis.integral(lambda z: g(loc + scale * z) * ours.pdf(z, *shapes), *bounds)
        first, last = (end if bound is None else bound for bound, end in zip(bounds, axis.ends, strict=True))
        share = ours.cdf(last, *shapes) - ours.cdf(first, *shapes) if conditional else 1.0
    return found / share if conditional else found


# -- quantiles -------------------------------------------------------------------------------------------------------


def quantile(ours: Distribution, q: ArrayLike, shapes: Shapes) -> Any:
    """The place below which a share q of the mass lies, in the standard form."""
    share, *rest = met((q, *shapes), f"stats.{ours._family.name}.ppf")
    dist, values = theirs(ours), known(rest)
    found = np.asarray(dist.ppf(*known([share]), *values))
    is_inside = np.isfinite(found)  # at the ends of an infinite support there is no slope
    place = constant(np.where(is_inside, found, dist.median(*values)))
    return where(is_inside, with_mass_below(ours, place, rest, share), found)


def with_mass_below(ours: Distribution, place: Tensor, shapes: Shapes, share: Any = 0.0) -> Tensor:
    """A place as a function of the shape parameters, along which the mass below stays, or grows as a share does.

    Where there is no density it stays.
    """

    def beyond(z: Tensor) -> Tensor:
        return ours.cdf(z, *shapes) - share

    def density(z: Tensor) -> Any:
        found = ours.pdf(z, *shapes)
        return where(equal(found, 0.0), 1.0, found)

    rest = stop_gradient(beyond(place))
    return followed_place(place, lambda z: beyond(z) - rest, density)


# -- fits ------------------------------------------------------------------------------------------------------------


def unlikelihood(ours: Distribution, theta: Any, data: Tensor) -> Any:
    """The negative logarithm of the likelihood of data; the last two parameters are loc and scale."""
    return -total(ours.logpdf(data, *[theta[i] for i in range(len(ours._family.shapes) + 2)]))


def fit(ours: Distribution, data: ArrayLike, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    """Parameters of the greatest likelihood, as functions of the data."""
    name = f"stats.{ours._family.name}.fit"
    x = ravel(as_float(as_tensor(data, name)))
    found = np.asarray(theirs(ours).fit(*known([x]), *args, **options), float)
    free = _free(ours, options)
    loc, scale, (low, _) = found[-2], found[-1], ours._family.support(*found[:-2])
    ends = np.asarray(known([low])[0])
    if len(found) - 2 in free and ends == 0.0 and abs(loc - float(known([x])[0].min())) <= 1e-9 * scale:
        free.remove(len(found) - 2)  # the least datum is where the support begins
        place: Any = least(x)
    else:
        place = None

    def placed(unknown: Any, sample: Any, start: Any) -> list[Any]:
        values: list[Any] = [*found]
        if start is not None:
            values[-2] = start
        for i, where_to in enumerate(free):
            values[where_to] = unknown[i]
        return values

    def slope(unknown: Any, sample: Any, *start: Any) -> Any:
        begin = start[0] if start else None
        return grad(lambda u: unlikelihood(ours, placed(u, sample, begin), sample))(unknown)

    if not free:
        return (*placed(None, x, place),)
    operands = [x] if place is None else [x, place]
    root = _stationary(slope, found[free], known(operands), scale, name)
    at = constant(root)
    followed = followed_root(slope, Leaves(at), [at], operands, name)
    values = constant(found[free]) + (followed - stop_gradient(followed))
    return (*placed(values, x, place),)


def _free(ours: Distribution, options: dict[str, Any]) -> list[int]:
    """Which parameters are looked for."""
    shapes = [*ours._family.shapes]
    fixed = {"floc": len(shapes), "fscale": len(shapes) + 1}
    for i, shape in enumerate(shapes):
        fixed |= {f"f{i}": i, f"f{shape}": i, f"fix_{shape}": i}
    held = {fixed[key] for key, value in options.items() if key in fixed and value is not None}
    return [i for i in range(len(shapes) + 2) if i not in held]


def _stationary(slope: Callable[..., Any], start: Array, data: list[Array], scale: float, name: str) -> Array:
    """The place next to what SciPy's search found where the likelihood has no slope, by Newton's method."""
    at, operands = start, [constant(d) for d in data]
    curvature = jacobian(lambda u: slope(u, *operands))
    for _ in range(12):
        step = np.linalg.lstsq(np.asarray(curvature(at)), np.asarray(slope(constant(at), *operands)), rcond=None)[0]
        at = at - step
        if np.all(abs(step) <= 1e-12 * (abs(at) + scale)):
            break
    if np.all(np.isfinite(at)) and np.all(abs(at - start) <= 1e-2 * (abs(start) + scale)):
        return at
    raise LostGradientError(
        at_user_line(
            f"{name}: the likelihood has no smooth maximum at the parameters found, so that they have no derivative; "
            "hold one of them (floc=, fscale=), or write its estimate out"
        )
    )


__all__ = ["Moments", "NotSummed", "each", "expect", "fit", "known", "quantile", "theirs", "unlikelihood"]
