"""`scipy.stats`: its distributions as objects whose methods are recorded, and simple statistics."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .. import special, stats
from .._core.argument_types import ArrayLike, Axes, DTypeLike, ShapeLike
from .._core.public import at_home
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims.structural import stop_gradient
from ..ops.decompositions import triangular_eigh
from ..ops.elementwise import abs as magnitude
from ..ops.elementwise import exp, isfinite, less, less_equal, log, sqrt
from ..ops.indexing import where
from ..ops.linalg import cholesky, solve_triangular
from ..ops.promotion import as_float, as_tensor, outward
from ..ops.reductions import mean as average
from ..ops.reductions import sum as total
from ..ops.shapes import known_extent, matrix_transpose, ravel, reshape
from ..ops.triangles import diagonal
from ..stats._distribution import Distribution, _given
from ._bessel_families import FAMILIES
from ._distribution_numerics import (
    Moments,
    NotSummed,
    each,
    expect,
    fit,
    known,
    quantile,
    theirs,
    unlikelihood,
    with_mass_below,
)
from ._moments import HIGHER, MOMENTS
from ._namespace import guarded, is_followed, is_for_us, listed_in, only
from ._samples import SAMPLES

OURS: dict[str, Any] = {}
_MISSING = inspect.Parameter.empty
_ours = listed_in(OURS)

# -- objects whose methods are ours or SciPy's -----------------------------------------------------------------------


class Recorded:
    """A distribution of SciPy's: its methods are recorded where tensors come in, and SciPy's own elsewhere.

    Called with parameters it is frozen, as SciPy's.
    """

    def __init__(self, name: str, methods: Callable[[str], Callable[..., Any] | None]) -> None:
        self.name = name
        self._methods = methods

    def __repr__(self) -> str:
        return f"<wengert.scipy.stats.{self.name}>"

    def __reduce__(self) -> Any:
        return _named, (self.name,)

    def __call__(self, *args: object, **kwds: object) -> Frozen:
        """The distribution with its parameters given."""
        return Frozen(self, args, kwds)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.theirs)})

    @property
    def theirs(self) -> Any:
        """SciPy's object."""
        return getattr(import_module("scipy.stats"), self.name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        theirs = getattr(self.theirs, name)
        if not callable(theirs):
            return theirs
        ours = self._methods(name)
        method = guarded(theirs, "scipy.stats", f"{self.name}.{name}", "") if ours is None else _both(ours, theirs)
        setattr(self, name, at_home(method, "wengert.scipy.stats", f"{self.name}.{name}"))
        return method


def _both(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
    def method(*args: object, **kwargs: object) -> Any:
        return (ours if is_for_us(args, kwargs) else theirs)(*args, **kwargs)

    method.__name__, method.__doc__ = theirs.__name__, theirs.__doc__
    return method


def _named(name: str) -> Any:
    return OURS[name]


class Frozen:
    """A distribution whose parameters are given: its methods take what is left."""

    def __init__(self, dist: Recorded, args: tuple[Any, ...], kwds: dict[str, Any]) -> None:
        self.dist, self.args, self.kwds = dist, args, {key: kwds[key] for key in kwds if key != "seed"}
        self._seed = kwds.get("seed")  # which distributions of vectors take for their draws

    def __repr__(self) -> str:
        given = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwds.items())]
        return f"<wengert.scipy.stats.{self.dist.name}({', '.join(given)})>"

    def _repr_html_(self) -> str:
        make: Any = import_module("wengert.inspect.notebook").of_distribution
        return make(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self.dist, name)
        if not is_for_us(self.args, self.kwds):
            theirs = getattr(self.dist.theirs(*self.args, **self.kwds), name)
            if not callable(theirs):
                return theirs
        return functools.partial({"rvs": _drawn, "stats": _summary}.get(name, _before_parameters), self, method)


def _before_parameters(of: Frozen, method: Callable[..., Any], /, *args: object, **kwargs: object) -> Any:
    return method(*args, *of.args, **kwargs, **of.kwds)


def _summary(of: Frozen, method: Callable[..., Any], moments: str = "mv") -> Any:
    return method(*of.args, **of.kwds, moments=moments)


def _drawn(of: Frozen, method: Callable[..., Any], size: Any = None, random_state: Any = None) -> Any:
    seed = of._seed if random_state is None else random_state
    return method(*of.args, **{"size": 1 if size is None else size, "random_state": seed, **of.kwds})


# -- distributions of numbers ----------------------------------------------------------------------------------------


def _methods_of(ours: Distribution) -> Callable[[str], Callable[..., Any] | None]:
    family = ours._family
    names = (*family.shapes, *family.places)
    defaults = dict.fromkeys(family.shapes, _MISSING) | dict(zip(family.places, (0, 1)))
    standard = Moments(ours, {
        **dict(zip(("mean", "var", "entropy"), MOMENTS.get(family.name, ()), strict=False)),
        **dict(zip(("skew", "excess"), HIGHER.get(family.name, ()), strict=False)),
    })  # fmt: skip

    def parameters(args: tuple[Tensor, ...], kwargs: dict[str, Any], what: str) -> tuple[list[Any], Any, Any]:
        values = _given(names, defaults, args, kwargs, f"scipy.stats.{family.name}.{what}")
        tensors = [as_float(as_tensor(v)) for v in values]
        shapes = tensors[: len(family.shapes)]
        return shapes, tensors[len(shapes)], as_tensor(1.0) if family.is_discrete else tensors[-1]

    def moment(name: str) -> Callable[..., Any]:
        def method(*args: Tensor, **kwargs: object) -> Any:
            shapes, loc, scale = parameters(args, kwargs, name)
            value = standard("var" if name == "std" else name, shapes)
            result = {
                "mean": lambda: value * scale + loc, "var": lambda: value * scale * scale,
                "std": lambda: sqrt(value) * scale, "entropy": lambda: value + log(scale),
            }.get(name, lambda: value)()  # fmt: skip
            return outward(result + loc * 0.0, *args, *kwargs.values())

        return method

    def summary(*args: Tensor, moments: str = "mv", **kwargs: object) -> Any:
        asked = [name for name in ("mean", "var", "skew", "excess") if {"excess": "k"}.get(name, name[0]) in moments]
        found = [moment(name)(*args, **kwargs) for name in asked]
        return found[0] if len(found) == 1 else tuple(found)

    def power(order: int, *args: Tensor, **kwargs: object) -> Any:
        shapes, loc, scale = parameters(args, kwargs, "moment")

        def one(*values: Any) -> Any:
            value = float(theirs(ours).moment(order, *known([*values[: len(values) - family.is_discrete]])))
            if not math.isfinite(value):
                return value + 0.0 * values[-2]
            return expect(ours, lambda x: x**order, [*values[:-2]], values[-2], values[-1], None, None, False)

        return outward(each(one, [*shapes, loc, scale], f"stats.{family.name}.moment"), *args, *kwargs.values())

    def mean_of(
        func: Callable[..., Any] | None = None, args: tuple[Any, ...] = (), loc: Any = 0, scale: Any = 1,
        lb: Any = None, ub: Any = None, conditional: bool = False, **quadrature: object,
    ) -> Any:  # fmt: skip
        only(f"stats.{family.name}.expect", **{name: (value, None) for name, value in quadrature.items()})
        places = {"loc": loc} if family.is_discrete else {"loc": loc, "scale": scale}
        shapes, at, size = parameters(args, places, "expect")
        return outward(expect(ours, func, shapes, at, size, lb, ub, conditional), *args, loc, scale, lb, ub)

    def searched(data: Any, *args: object, **kwargs: Any) -> Any:
        only(f"stats.{family.name}.fit", method=(str(kwargs.get("method", "MLE")).upper(), "MLE"))
        return outward(fit(ours, data, args, kwargs), data)

    def place(q: ArrayLike, *args: Tensor, **kwargs: object) -> Any:
        shapes, loc, scale = parameters(args, kwargs, "ppf")
        return outward(quantile(ours, q, shapes) * scale + loc, q, *args, *kwargs.values())

    def loss(theta: Any, x: ArrayLike) -> Any:
        return outward(unlikelihood(ours, theta, as_float(as_tensor(x))), *theta, x)

    def rvs(*args: Tensor, size: object = None, random_state: object = None, **kwargs: object) -> Any:
        if len(args) > len(names):
            args, size = args[:-1], args[-1]
        shapes, loc, scale = parameters(args, kwargs, "rvs")
        known = [stop_gradient(v).numpy() for v in (*shapes, loc, *(() if family.is_discrete else (scale,)))]
        draw = getattr(import_module("scipy.stats"), family.name).rvs
        drawn = as_tensor(draw(*known, size=size, random_state=random_state))
        if family.is_discrete:
            return drawn
        place = (drawn - stop_gradient(loc)) / stop_gradient(scale)
        if is_followed(shapes):
            place = with_mass_below(ours, place, shapes)
        return outward(place * scale + loc, *args, *kwargs.values())

    def or_theirs(method: Callable[..., Any], name: str) -> Callable[..., Any]:
        def summed(*args: object, **kwargs: object) -> Any:
            try:
                return method(*args, **kwargs)
            except NotSummed:
                own = getattr(getattr(import_module("scipy.stats"), family.name), name)
                return guarded(own, "scipy.stats", f"{family.name}.{name}", "")(*args, **kwargs)

        return summed

    def find(name: str) -> Callable[..., Any] | None:
        if name in ours.methods:
            return getattr(ours, name)
        if name in integrals and not (name == "expect" and family.name == "vonmises"):  # whose integral has own ends
            return or_theirs(integrals[name], name)
        if name == "rvs" and (not family.shapes or family.is_discrete or "cdf" in ours.methods):
            return rvs
        if name in ("fit", "nnlf"):
            return None if family.is_discrete else searched if name == "fit" else loss
        ppf = ours.ppf if "ppf" in ours.methods else place
        if ppf is place and (family.is_discrete or "cdf" not in ours.methods):
            return None
        return {
            "ppf": ppf,
            "isf": lambda q, *args, **kwargs: ppf(1.0 - as_float(as_tensor(q)), *args, **kwargs),
            "median": lambda *args, **kwargs: ppf(0.5, *args, **kwargs),
            "interval": lambda confidence, *args, **kwargs: (
                ppf((1.0 - confidence) / 2, *args, **kwargs), ppf((1.0 + confidence) / 2, *args, **kwargs)
            ),
        }.get(name)  # fmt: skip

    integrals: dict[str, Callable[..., Any]] = {
        **{name: moment(name) for name in ("mean", "var", "std", "entropy")},
        "stats": summary, "moment": power, "expect": mean_of,
    }  # fmt: skip
    return find


_KNOWN = {n: d for n in stats.__all__ if isinstance(d := getattr(stats, n), Distribution)}
_SAME = {"erlang": "gamma", "reciprocal": "loguniform"}
OURS |= {n: Recorded(n, _methods_of(d)) for n, d in {**_KNOWN, **FAMILIES}.items()}
OURS |= {n: Recorded(n, _methods_of({**_KNOWN, **FAMILIES}[of])) for n, of in _SAME.items()}


# -- distributions of vectors ----------------------------------------------------------------------------------------


def _normal_logpdf(
    x: ArrayLike, mean: ArrayLike | None = None, cov: ArrayLike = 1, allow_singular: bool = False
) -> Any:
    if not allow_singular:
        return stats.multivariate_normal.logpdf(x, mean, cov)
    spread, points = as_float(as_tensor(cov)), as_float(as_tensor(x))
    if spread.ndim != 2:
        return stats.multivariate_normal.logpdf(x, mean, cov)
    values, vectors = triangular_eigh(spread, True)
    # as SciPy: eigenvalues up to a million rounding units of the largest count as 0
    limit = 1e6 * float(np.finfo(spread.dtype).eps) * stop_gradient(magnitude(values)).max()
    is_there = less(limit, stop_gradient(values))
    inverse = where(is_there, 1.0 / where(is_there, values, 1.0), 0.0)
    apart = (points if mean is None else points - as_tensor(mean)) @ vectors
    distance = total(apart * apart * inverse, axis=-1)
    log_det = total(log(where(is_there, values, 1.0)))
    rank = total(where(is_there, 1.0, 0.0))
    result = (distance + log_det + rank * math.log(2 * math.pi)) * -0.5
    outside = total(where(is_there, 0.0, stop_gradient(apart) ** 2), axis=-1)
    return outward(where(less_equal(outside, limit), result, -math.inf), x, mean, cov)


def _normal_entropy(mean: ArrayLike | None = None, cov: ArrayLike = 1, allow_singular: bool = False) -> Any:
    only("stats.multivariate_normal.entropy", allow_singular=(allow_singular, False))
    spread = as_float(as_tensor(cov))
    if spread.ndim < 2:
        size = spread.shape[0] if spread.ndim else 1
        return outward(total(log(spread) + math.log(2 * math.pi * math.e)) * 0.5 + 0.0 * size, cov)
    size = known_extent(spread, 0, "multivariate_normal")
    log_det = total(log(diagonal(cholesky(spread))))
    return outward(log_det + size * math.log(2 * math.pi * math.e) / 2, mean, cov)


def _normal_draws(
    mean: ArrayLike | None = None, cov: ArrayLike = 1, size: ShapeLike = 1, random_state: object = None,
    allow_singular: bool = False,
) -> Any:  # fmt: skip
    only("stats.multivariate_normal.rvs", allow_singular=(allow_singular, False))
    spread = as_float(as_tensor(cov))
    if spread.ndim != 2:
        only("stats.multivariate_normal.rvs", cov=("a number or a vector", "a matrix"))
    centre = as_tensor(np.zeros(spread.shape[0])) if mean is None else as_float(as_tensor(mean))
    known = (stop_gradient(v).numpy() for v in (centre, spread))
    drawn = import_module("scipy.stats").multivariate_normal.rvs(*known, size=size, random_state=random_state)
    factor = cholesky(spread)
    rows = as_tensor(np.atleast_2d(drawn)) - stop_gradient(centre)
    flat = rows.reshape(-1, spread.shape[0])
    standard = solve_triangular(stop_gradient(factor), matrix_transpose(flat), lower=True)
    result = matrix_transpose(factor @ standard).reshape(drawn.shape) + centre
    return outward(result, mean, cov)


def _dirichlet(name: str) -> Callable[[Any], Any]:
    def method(alpha: ArrayLike) -> Any:
        a = as_float(as_tensor(alpha))
        whole = total(a)
        if name == "mean":
            return outward(a / whole, alpha)
        if name == "var":
            return outward(a * (whole - a) / (whole * whole * (whole + 1.0)), alpha)
        size = known_extent(a, 0, "dirichlet")
        log_beta = total(special.gammaln(a)) - special.gammaln(whole)
        tilt = (whole - size) * special.digamma(whole) - total((a - 1.0) * special.digamma(a))
        return outward(log_beta + tilt, alpha)

    return method


def _multinomial_logpmf(x: ArrayLike, n: int, p: ArrayLike) -> Any:
    """Of counts along the last axis; they are constants."""
    counts, shares = as_float(stop_gradient(as_tensor(x))), as_float(as_tensor(p))
    size = known_extent(shares, shares.ndim - 1, "multinomial")
    # as SciPy: the last share is what is left of 1
    rest = 1.0 - total(shares[..., :-1], axis=-1, keepdims=True)
    shares = where(np.arange(size) == size - 1, rest, shares)
    ways = special.gammaln(as_float(as_tensor(n)) + 1.0) - total(special.gammaln(counts + 1.0), axis=-1)
    inside = total(counts, axis=-1) == as_tensor(n)
    return outward(where(inside, ways + total(special.xlogy(counts, shares), axis=-1), -math.inf), x, n, p)


def _exponential(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: exp(f(*args, **kwargs))


OURS |= {
    "multivariate_normal": Recorded("multivariate_normal", {
        "logpdf": _normal_logpdf, "pdf": _exponential(_normal_logpdf), "entropy": _normal_entropy,
        "rvs": _normal_draws,
    }.get),
    "dirichlet": Recorded("dirichlet", {
        "logpdf": stats.dirichlet.logpdf, "pdf": stats.dirichlet.pdf, "mean": _dirichlet("mean"),
        "var": _dirichlet("var"), "entropy": _dirichlet("entropy"),
    }.get),
    "multinomial": Recorded("multinomial", {
        "logpmf": _multinomial_logpmf, "pmf": _exponential(_multinomial_logpmf),
    }.get),
}  # fmt: skip


# -- density estimates -----------------------------------------------------------------------------------------------


class gaussian_kde:
    """`scipy.stats.gaussian_kde`, whose density is recorded in the points, the data, the weights and the bandwidth.

    Example:
        >>> import numpy as np, wengert as wg
        >>> data = np.array([0.0, 1.0, 3.0])
        >>> round(float(wg.grad(lambda x: wg.scipy.stats.gaussian_kde(data)(x)[0])(1.0)), 6)
        -0.013576
    """

    def __init__(self, dataset: object, bw_method: Any = None, weights: ArrayLike | None = None) -> None:
        data = as_float(as_tensor(dataset, "gaussian_kde"))
        self._given, self._bw_method, self._weights = dataset, bw_method, weights
        self.dataset = data[None] if data.ndim < 2 else data
        self.d, self.n = (known_extent(self.dataset, i, "gaussian_kde") for i in (0, 1))
        given = as_tensor(np.ones(self.n)) if weights is None else as_float(as_tensor(weights))
        self.weights = given / total(given)
        self.neff = 1.0 / total(self.weights * self.weights)
        self.factor = self._bandwidth(bw_method)
        centred = self.dataset - total(self.dataset * self.weights, axis=1, keepdims=True)
        unbiased = 1.0 - total(self.weights * self.weights)
        self.covariance = (centred * self.weights) @ matrix_transpose(centred) / unbiased * self.factor * self.factor

    def scotts_factor(self) -> Any:
        """Scott's bandwidth: neff ** (-1 / (d + 4))."""
        return self.neff ** (-1.0 / (self.d + 4))

    def silverman_factor(self) -> Any:
        """Silverman's bandwidth."""
        return (self.neff * ((self.d + 2.0) / 4.0)) ** (-1.0 / (self.d + 4))

    def _bandwidth(self, method: str | None) -> Any:
        if method is None or isinstance(method, str):
            only("stats.gaussian_kde", bw_method=(method, None, "scott", "silverman"))
            return self.silverman_factor() if method == "silverman" else self.scotts_factor()
        return method(self) if callable(method) else as_float(as_tensor(method))

    def logpdf(self, x: ArrayLike) -> Any:
        """The logarithm of the density at points (d, m), or at m numbers."""
        points = as_float(as_tensor(x, "gaussian_kde"))
        points = points[None] if points.ndim == 0 else points
        points = points[None] if points.ndim == 1 and self.d == 1 else points
        points = points[:, None] if points.ndim == 1 else points
        if points.shape[0] != self.d:
            raise ValueError(at_user_line(f"gaussian_kde: points have {points.shape[0]} components, wanted {self.d}"))
        powers = self._log_normal(self.covariance, points) + log(self.weights)
        return self._outward(special.logsumexp(powers, axis=1), x)

    def _log_normal(self, covariance: Any, points: Any) -> Any:
        """The logarithms of normal densities of this covariance around the data, one row for each point."""
        factor = cholesky(covariance)
        seen, known = (solve_triangular(factor, p, lower=True) for p in (points, self.dataset))
        gaps = seen[:, :, None] - known[:, None, :]
        height = total(log(diagonal(factor))) + self.d * math.log(2 * math.pi) / 2
        return total(gaps * gaps, axis=0) * -0.5 - height

    def _outward(self, result: Any, *arguments: object) -> Any:
        return outward(result, *arguments, self._given, self._bw_method, self._weights)

    def evaluate(self, points: ArrayLike) -> Any:
        """The density at points (d, m), or at m numbers."""
        return exp(self.logpdf(points))

    __call__ = pdf = evaluate

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Any:
        """The integral of the density of numbers from low to high."""
        if self.d != 1:
            raise ValueError(at_user_line("integrate_box_1d() only handles 1D pdfs"))
        share = self._share_below(high) - self._share_below(low)
        return self._outward(total(self.weights * share), low, high)

    def _share_below(self, end: ArrayLike) -> Any:
        """Of the density around each datum what lies below an end; an infinite one has no slope in the bandwidth."""
        given = as_float(as_tensor(end, "gaussian_kde"))
        is_finite = isfinite(given)
        scaled = (where(is_finite, given, 0.0) - self.dataset[0]) / sqrt(self.covariance[0, 0])
        return where(is_finite, special.ndtr(scaled), given > 0)

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Any:
        """The integral of the density times a normal one."""
        centre = reshape(as_float(as_tensor(mean, "gaussian_kde")), (-1, 1))
        spread = as_float(as_tensor(cov, "gaussian_kde"))
        spread = reshape(spread, (1, 1)) if spread.ndim < 2 else spread
        if centre.shape[0] != self.d or spread.shape != (self.d, self.d):
            raise ValueError(at_user_line(f"gaussian_kde: mean has {centre.shape[0]} components and cov the shape "
                                          f"{spread.shape}; wanted {self.d} and {(self.d, self.d)}"))  # fmt: skip
        powers = self._log_normal(self.covariance + spread, centre)[0]
        return self._outward(total(exp(powers) * self.weights), mean, cov)

    def integrate_kde(self, other: gaussian_kde) -> Any:
        """The integral of the density times that of another estimate."""
        if other.d != self.d:
            raise ValueError(at_user_line("KDEs are not the same dimensionality"))
        near = exp(self._log_normal(self.covariance + other.covariance, other.dataset))
        given = (other._given, other._bw_method, other._weights)
        return self._outward(total(near * self.weights * other.weights[:, None]), *given)

    def __getattr__(self, name: str) -> Any:
        """Draws and integrals over boxes of several axes are those of SciPy's estimate of the same data."""
        if name.startswith("_"):
            raise AttributeError(name)
        estimate = guarded(import_module("scipy.stats").gaussian_kde, "scipy.stats", f"gaussian_kde.{name}", "")
        found = getattr(estimate(self._given, self._bw_method, self._weights), name)
        return guarded(found, "scipy.stats", f"gaussian_kde.{name}", "") if callable(found) else found


OURS["gaussian_kde"] = gaussian_kde
OURS |= SAMPLES


# -- statistics of samples -------------------------------------------------------------------------------------------


def _sample(a: ArrayLike, axis: Axes, nan_policy: str, name: str) -> tuple[Any, Any]:
    only(f"stats.{name}", nan_policy=(nan_policy, "propagate"))
    x = as_float(as_tensor(a, name))
    return (ravel(x), 0) if axis is None else (x, axis)


def _deviation(x: Any, axis: Any, ddof: object) -> Any:
    centred = x - average(x, axis=axis, keepdims=True)
    return sqrt(total(centred * centred, axis=axis, keepdims=True) / (x.shape[axis] - ddof))


def _kept(x: ArrayLike, axis: int, keepdims: bool) -> Any:
    return x if keepdims else total(x, axis=axis)


@_ours
def zscore(a: ArrayLike, axis: Axes = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Elements less their mean, in units of their standard deviation."""
    shape = as_tensor(a).shape
    x, place = _sample(a, axis, nan_policy, "zscore")
    result = (x - average(x, axis=place, keepdims=True)) / _deviation(x, place, ddof)
    return outward(result.reshape(shape), a)


@_ours
def zmap(scores: ArrayLike, compare: Any, axis: Axes = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Scores in units of the standard deviation of what they are compared to, less its mean."""
    x, place = _sample(compare, axis, nan_policy, "zmap")
    return outward(
        (as_tensor(scores) - average(x, axis=place, keepdims=True)) / _deviation(x, place, ddof), scores, compare
    )


@_ours
def sem(a: ArrayLike, axis: Axes = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """The standard error of the mean."""
    x, place = _sample(a, axis, nan_policy, "sem")
    return outward(_kept(_deviation(x, place, ddof) / math.sqrt(x.shape[place]), place, keepdims), a)


def _weighted(x: Tensor, weights: Any, place: int, keepdims: bool) -> Any:
    if weights is None:
        return average(x, axis=place, keepdims=keepdims)
    w = as_tensor(weights)
    return total(x * w, axis=place, keepdims=keepdims) / total(x * 0.0 + w, axis=place, keepdims=keepdims)


@_ours
def gmean(
    a: ArrayLike, axis: Axes = 0, dtype: DTypeLike | None = None, weights: ArrayLike | None = None, *,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """The geometric mean."""
    only("stats.gmean", dtype=(dtype, None))
    x, place = _sample(a, axis, nan_policy, "gmean")
    return outward(exp(_weighted(log(x), weights, place, keepdims)), a, weights)


@_ours
def hmean(
    a: ArrayLike, axis: Axes = 0, dtype: DTypeLike | None = None, *, weights: object = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The harmonic mean."""
    only("stats.hmean", dtype=(dtype, None))
    x, place = _sample(a, axis, nan_policy, "hmean")
    return outward(1.0 / _weighted(1.0 / x, weights, place, keepdims), a, weights)


@_ours
def pmean(
    a: Any,
    p: Any,
    *,
    axis: Axes = 0,
    dtype: DTypeLike | None = None,
    weights: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The power mean of the order p."""
    only("stats.pmean", dtype=(dtype, None))
    x, place = _sample(a, axis, nan_policy, "pmean")
    return outward(_weighted(x**p, weights, place, keepdims) ** (1.0 / p), a, weights)


@_ours
def moment(
    a: ArrayLike, order: int = 1, axis: Axes = 0, nan_policy: str = "propagate", *, center: ArrayLike | None = None,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The central moment of an order, or that about another centre."""
    x, place = _sample(a, axis, nan_policy, "moment")
    centre = average(x, axis=place, keepdims=True) if center is None else as_tensor(center)
    return outward(average((x - centre) ** order, axis=place, keepdims=keepdims), a, center)


def _standardised(a: ArrayLike, axis: Axes, nan_policy: str, name: str, order: int) -> tuple[Any, Any, Any]:
    x, place = _sample(a, axis, nan_policy, name)
    centred = x - average(x, axis=place, keepdims=True)
    second = average(centred**2, axis=place, keepdims=True)
    return average(centred**order, axis=place, keepdims=True) / second ** (order / 2), x.shape[place], place


@_ours
def skew(
    a: ArrayLike, axis: Axes = 0, bias: bool = True, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Any:
    """The skewness."""
    value, n, place = _standardised(a, axis, nan_policy, "skew", 3)
    value = value if bias else value * (math.sqrt(n * (n - 1.0)) / (n - 2.0))
    return outward(_kept(value, place, keepdims), a)


@_ours
def kurtosis(
    a: ArrayLike, axis: Axes = 0, fisher: bool = True, bias: bool = True, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The kurtosis, less 3 with `fisher`."""
    value, n, place = _standardised(a, axis, nan_policy, "kurtosis", 4)
    if not bias:
        value = ((n * n - 1.0) * value - 3.0 * (n - 1.0) ** 2) / ((n - 2.0) * (n - 3.0)) + 3.0
    return outward(_kept(value - 3.0 if fisher else value, place, keepdims), a)


@_ours
def variation(
    a: ArrayLike, axis: Axes = 0, nan_policy: str = "propagate", ddof: int = 0, *, keepdims: bool = False
) -> Any:  # fmt: skip
    """The standard deviation in units of the mean."""
    x, place = _sample(a, axis, nan_policy, "variation")
    return outward(_kept(_deviation(x, place, ddof) / average(x, axis=place, keepdims=True), place, keepdims), a)


@_ours
def entropy(
    pk: Any, qk: Any = None, base: float | None = None, axis: Axes = 0, *, nan_policy: str = "propagate",
    keepdims: bool = False
) -> Any:  # fmt: skip
    """The entropy of shares, or with qk their divergence from those."""
    p, place = _sample(pk, axis, nan_policy, "entropy")
    p = p / total(p, axis=place, keepdims=True)
    if qk is None:
        parts = special.entr(p)
    else:
        q, _ = _sample(qk, axis, nan_policy, "entropy")
        parts = special.rel_entr(p, q / total(q, axis=place, keepdims=True))
    result = total(parts, axis=place, keepdims=keepdims)
    return outward(result if base is None else result / math.log(base), pk, qk)


__all__ = ["OURS", "Frozen", "Recorded", "gaussian_kde"]
