"""Distances between vectors, between all of two sets, and between all pairs of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .. import linalg
from .. import numpy as np
from .._core.argument_types import ArrayLike, Out
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ._conversions import floats, recorded
from ._namespace import only

# Each metric takes two arrays of vectors along the last axis, which broadcast, and what it is asked for beside them.


def _weighted(x: Any, w: object) -> Any:
    return np.sum(x if w is None else w * x, axis=-1)


def _root(x: ArrayLike, power: float = 0.5) -> Any:
    """A root whose slope at zero, between equal vectors, counts as zero."""
    is_zero = x == 0
    return np.where(is_zero, 0.0, np.where(is_zero, 1.0, x) ** power)


def _euclidean(u: Any, v: Any, w: Any = None) -> Any:
    return _root(_weighted((u - v) ** 2, w))


def _sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    return _weighted((u - v) ** 2, w)


def _cityblock(u: Any, v: Any, w: Any = None) -> Any:
    return _weighted(np.abs(u - v), w)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    gap = np.abs(u - v)
    return np.max(gap if w is None else (w > 0) * gap, axis=-1)


def _minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    if numpy.isinf(p):
        return _chebyshev(u, v, w)
    gap = np.abs(u - v)
    return _root(_weighted(_root(gap, p) if p < 1 else gap**p, w), 1 / p)


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    both = _weighted(u * u, w) * _weighted(v * v, w)
    return 1 - _weighted(u * v, w) / np.sqrt(both)


def _correlation(u: ArrayLike, v: ArrayLike, w: ArrayLike | None = None) -> Any:
    def centred(x: ArrayLike) -> Any:
        mean = np.mean(x, axis=-1, keepdims=True)
        return x - (mean if w is None else np.expand_dims(_weighted(x, w), -1) / np.sum(w))

    return _cosine(centred(u), centred(v), w)


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    size = np.abs(u) + np.abs(v)
    is_zero = size == 0
    return _weighted(np.where(is_zero, 0.0, np.abs(u - v) / np.where(is_zero, 1.0, size)), w)


def _braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return _weighted(np.abs(u - v), w) / _weighted(np.abs(u + v), w)


def _seuclidean(u: Any, v: Any, V: object) -> Any:
    return _root(np.sum((u - v) ** 2 / V, axis=-1))


def _mahalanobis(u: Any, v: Any, VI: object) -> Any:
    gap = u - v
    return _root(np.sum((gap @ VI) * gap, axis=-1))


def _hamming(u: Any, v: Any, w: ArrayLike | None = None) -> Any:
    unequal = (u != v).astype(float)
    return np.mean(unequal, axis=-1) if w is None else _weighted(unequal, w) / np.sum(w)


def _jensenshannon(p: Tensor, q: Tensor, base: ArrayLike | None = None) -> Any:
    p = p / np.sum(p, axis=-1, keepdims=True)
    q = q / np.sum(q, axis=-1, keepdims=True)
    middle = (p + q) / 2

    def relative(x: ArrayLike) -> Any:
        is_zero = x == 0
        safe = np.where(is_zero, 1.0, x)
        return np.sum(np.where(is_zero, 0.0, safe * np.log(safe / np.where(is_zero, 1.0, middle))), axis=-1)

    total = (relative(p) + relative(q)) / 2
    return _root(total if base is None else total / np.log(base))


_METRICS: dict[str, Callable[..., Any]] = {
    "euclidean": _euclidean, "sqeuclidean": _sqeuclidean, "cityblock": _cityblock, "chebyshev": _chebyshev,
    "minkowski": _minkowski, "cosine": _cosine, "correlation": _correlation, "canberra": _canberra,
    "braycurtis": _braycurtis, "seuclidean": _seuclidean, "mahalanobis": _mahalanobis, "hamming": _hamming,
    "jensenshannon": _jensenshannon,
}  # fmt: skip
_OTHER_NAMES = {
    "euclid": "euclidean", "eu": "euclidean", "e": "euclidean", "sqeuclid": "sqeuclidean", "sqe": "sqeuclidean",
    "cblock": "cityblock", "cb": "cityblock", "c": "cityblock", "manhattan": "cityblock", "cheby": "chebyshev",
    "cheb": "chebyshev", "ch": "chebyshev", "chebychev": "chebyshev", "mi": "minkowski", "m": "minkowski",
    "pnorm": "minkowski", "cos": "cosine", "co": "correlation", "se": "seuclidean", "s": "seuclidean",
    "mahal": "mahalanobis", "mah": "mahalanobis", "js": "jensenshannon", "hamm": "hamming", "ha": "hamming",
    "h": "hamming",
}  # fmt: skip


def _metric(metric: str | Callable[..., Any], sets: list[Tensor], options: dict[str, Any]) -> Callable[[Any, Any], Any]:
    if callable(metric):
        return lambda u, v: _one_by_one(metric, u, v, options)
    name = str(metric).lower()
    name = _OTHER_NAMES.get(name, name)
    if name not in _METRICS:
        only("spatial.distance.cdist", metric=(metric, *_METRICS))
    if name in ("seuclidean", "mahalanobis"):
        given = "V" if name == "seuclidean" else "VI"
        value = options.pop(given, None)
        points = np.concatenate(sets)
        if value is None and given == "V":
            value = np.var(points, axis=0, ddof=1)
        elif value is None:
            value = linalg.inv(np.cov(points.T)).T
        options = {**options, given: np.asarray(value)}
    return lambda u, v: _METRICS[name](u, v, **options)


def _one_by_one(metric: Any, u: Tensor, v: Tensor, options: dict[str, Any]) -> Tensor:
    """A function of two vectors, for all pairs."""
    u, v = np.broadcast_arrays(u, v)
    lead, size = tuple(u.shape[:-1]), int(u.shape[-1])
    first, second = np.reshape(u, (-1, size)), np.reshape(v, (-1, size))
    found = [np.asarray(metric(a, b, **options)) for a, b in zip(first, second, strict=True)]
    return np.reshape(np.stack(found), lead)


def _set(x: ArrayLike, name: str) -> Tensor:
    found = floats(x)
    if found.ndim != 2:
        raise ValueError(at_user_line(f"{name} must be a 2-dimensional array."))
    return found


@recorded
def cdist(
    XA: ArrayLike,
    XB: ArrayLike,
    metric: str | Callable[..., Any] = "euclidean",
    *,
    out: Out | None = None,
    **kwargs: object,
) -> Any:
    """The distances between the rows of two matrices, with gradients in both."""
    only("spatial.distance.cdist", out=(out, None))
    a, b = _set(XA, "XA"), _set(XB, "XB")
    if a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    return _metric(metric, [a, b], kwargs)(a[:, None], b[None])


@recorded
def pdist(
    X: ArrayLike, metric: str | Callable[..., Any] = "euclidean", *, out: Out | None = None, **kwargs: object
) -> Any:
    """The distances between all pairs of rows, with gradients in them."""
    only("spatial.distance.pdist", out=(out, None))
    x = _set(X, "X")
    low, high = numpy.triu_indices(int(x.shape[0]), 1)
    return _metric(metric, [x], kwargs)(np.take(x, low, axis=0), np.take(x, high, axis=0))


@recorded
def squareform(X: ArrayLike, force: str = "no", checks: bool = True) -> Any:
    """Distances of pairs as a matrix, or the other way round; linear."""
    x = floats(X)
    if force.lower() == "tomatrix" and x.ndim != 1:
        raise ValueError("Forcing 'tomatrix' but input X is not a distance vector.")
    if force.lower() == "tovector" and x.ndim != 2:
        raise ValueError("Forcing 'tovector' but input X is not a distance matrix.")
    if x.ndim == 2:
        if x.shape[0] != x.shape[1]:
            raise ValueError("The matrix argument must be square.")
        return x[numpy.triu_indices(int(x.shape[0]), 1)]
    if x.ndim != 1:
        raise ValueError(f"The first argument must be one or two dimensional array. A {x.ndim}-dimensional array is "
                         "not permitted")  # fmt: skip
    count = int(x.shape[0])
    size = round((1 + (1 + 8 * count) ** 0.5) / 2) if count else 1
    if size * (size - 1) != 2 * count:
        raise ValueError(
            "Incompatible vector size. It must be a binomial coefficient n choose 2 for some integer n >= 2."
        )
    low, high = numpy.triu_indices(size, 1)
    half = np.zeros((size, size), x.dtype).at[low, high].set(x)
    return half + half.T


def _vectors(u: ArrayLike, v: ArrayLike) -> list[Tensor]:
    found = [floats(x) for x in (u, v)]
    if any(x.ndim != 1 for x in found):
        raise ValueError("Input vector should be 1-D.")
    return found


def _of_vectors(name: str) -> Callable[..., Any]:
    """The public function of a metric with weights."""

    def function(u: ArrayLike, v: ArrayLike, w: ArrayLike | None = None) -> Any:
        return _METRICS[name](*_vectors(u, v), w=None if w is None else floats(w))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {name} distance between two vectors, with gradients in both and in the weights."
    return recorded(function)


braycurtis = _of_vectors("braycurtis")
canberra = _of_vectors("canberra")
chebyshev = _of_vectors("chebyshev")
cityblock = _of_vectors("cityblock")
correlation = _of_vectors("correlation")
cosine = _of_vectors("cosine")
euclidean = _of_vectors("euclidean")
hamming = _of_vectors("hamming")
sqeuclidean = _of_vectors("sqeuclidean")


@recorded
def minkowski(u: ArrayLike, v: ArrayLike, p: ArrayLike = 2, w: ArrayLike | None = None) -> Any:
    """Minkowski's distance between two vectors, with gradients in both and in the weights."""
    return _minkowski(*_vectors(u, v), p=p, w=None if w is None else floats(w))


@recorded
def seuclidean(u: ArrayLike, v: ArrayLike, V: ArrayLike) -> Any:
    """The Euclidean distance in units of standard deviations, with gradients in both vectors and the variances."""
    first, second = _vectors(u, v)
    return _seuclidean(first, second, floats(V))


@recorded
def mahalanobis(u: ArrayLike, v: ArrayLike, VI: Any) -> Any:
    """Mahalanobis' distance, with gradients in both vectors and the inverse covariance."""
    first, second = _vectors(u, v)
    return _mahalanobis(first, second, floats(VI))


@recorded
def jensenshannon(
    p: ArrayLike, q: ArrayLike, base: ArrayLike | None = None, *, axis: int = 0, keepdims: bool = False
) -> Any:
    """Jensen and Shannon's distance between probabilities, with gradients in both."""
    found = _jensenshannon(np.moveaxis(floats(p), axis, -1), np.moveaxis(floats(q), axis, -1), base)
    return np.expand_dims(found, axis) if keepdims else found


__all__ = [
    "braycurtis", "canberra", "cdist", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "hamming",
    "jensenshannon", "mahalanobis", "minkowski", "pdist", "seuclidean", "sqeuclidean", "squareform",
]  # fmt: skip
