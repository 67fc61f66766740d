"""Distributions of vectors: the normal distribution with a covariance, and Dirichlet's."""

from __future__ import annotations

import math
from typing import Any

from .._core.argument_types import ArrayLike
from .._core.dims import size_of
from .._core.tensor import Tensor
from .._core.types import is_one
from .._core.user_line import at_user_line
from ..ops.creation import eye
from ..ops.elementwise import abs as magnitude
from ..ops.elementwise import exp, less, less_equal, log, logical_and, multiply
from ..ops.indexing import where
from ..ops.linalg import cholesky, solve_triangular
from ..ops.promotion import floats_of, outward
from ..ops.reductions import all as every
from ..ops.reductions import sum as total
from ..ops.shapes import broadcast_to, expand_dims, joined, matrix_transpose, moveaxis, reshaped
from ..ops.triangles import diagonal
from ..special import gammaln, xlogy

_LOG_2PI = math.log(2 * math.pi)


def _with_dimension(x: ArrayLike, mean: ArrayLike | None, cov: ArrayLike, what: str) -> tuple[Tensor, Tensor, Tensor]:
    """Points with their components last, a mean vector and a covariance matrix."""
    points, centre, spread = floats_of((x, 0.0 if mean is None else mean, cov), what)
    if spread.ndim > 2 or centre.ndim > 1 or (spread.ndim == 2 and spread.shape[0] != spread.shape[1]):
        raise ValueError(at_user_line(f"{what}: mean has shape {centre.shape} and cov has shape {spread.shape}"))
    size = spread.shape[0] if spread.ndim else centre.shape[0] if centre.ndim else 1
    if spread.ndim < 2:
        spread = multiply(eye(size, dtype=spread.dtype), spread)
    if size == 1 and not (points.ndim and points.shape[-1] == 1 and points.ndim > 1):
        points = expand_dims(points, -1)
    elif points.ndim == 0 or points.shape[-1] != size:
        raise ValueError(at_user_line(f"{what}: x has shape {points.shape}, wanted {size} components on the last axis"))
    return points, broadcast_to(centre, (size,)), spread


def _squeezed(values: Tensor) -> Tensor:
    """As SciPy gives densities: without axes of extent 1."""
    return reshaped(values, (*[d for d in values.shape if not is_one(d)],))


class MultivariateNormal:
    """The normal distribution of vectors.

    Example:
        >>> import wengert as wg
        >>> print(wg.stats.multivariate_normal.logpdf([0.0, 0.0], [0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]).round(6))
        -1.837877
    """

    def __repr__(self) -> str:
        return "wg.stats.multivariate_normal"

    def logpdf(self, x: ArrayLike, mean: ArrayLike | None = None, cov: ArrayLike = 1) -> Any:
        """The logarithm of the density.

        At kinks: of the covariance the lower triangle is read, and its gradient is symmetric.

        Args:
            x: the points (..., n).
            mean: the mean (n,); None means zeros.
            cov: the covariance (n, n), positive definite; a vector is its diagonal, a number a multiple of the unit.

        Returns:
            The values (...), without axes of extent 1 as SciPy's, in the kind of array that came in.

        Raises:
            ValueError: for shapes that do not fit.
            numpy.linalg.LinAlgError: if the covariance is not positive definite.

        Example:
            >>> import wengert as wg
            >>> print(wg.stats.multivariate_normal.logpdf([1.0, 2.0], cov=[1.0, 4.0]).round(6))
            -3.531024
        """
        points, centre, spread = _with_dimension(x, mean, cov, "stats.multivariate_normal")
        size = spread.shape[0]
        factor = cholesky(spread)
        rows = reshaped(points - centre, (size_of(points.shape[:-1]), size))
        apart = solve_triangular(factor, matrix_transpose(rows), lower=True)
        distance = _squeezed(reshaped(total(apart * apart, axis=0), points.shape[:-1]))
        log_det = total(log(diagonal(factor))) * 2.0
        return outward((distance + log_det + size * _LOG_2PI) * -0.5, x, mean, cov)

    def pdf(self, x: ArrayLike, mean: ArrayLike | None = None, cov: ArrayLike = 1) -> Any:
        """The density.

        Args:
            x: the points (..., n).
            mean: the mean (n,); None means zeros.
            cov: the covariance (n, n), as for `logpdf`.

        Returns:
            The values (...) in the kind of array that came in.

        Example:
            >>> import wengert as wg
            >>> print(wg.stats.multivariate_normal.pdf([0.0, 0.0], cov=2.0 * wg.eye(2)).numpy().round(6))
            0.079577
        """
        return exp(self.logpdf(x, mean, cov))


class Dirichlet:
    """Dirichlet's distribution of shares that add up to 1.

    Example:
        >>> import wengert as wg
        >>> print(wg.stats.dirichlet.logpdf([0.25, 0.75], [2.0, 2.0]).round(6))
        0.117783
    """

    def __repr__(self) -> str:
        return "wg.stats.dirichlet"

    def logpdf(self, x: ArrayLike, alpha: ArrayLike) -> Any:
        """The logarithm of the density.

        Args:
            x: the shares along the first axis, n of them, or n - 1 of them, the last being what is left of 1.
            alpha: the n positive parameters, a vector.

        Returns:
            The values, without axes of extent 1 as SciPy's, in the kind of array that came in: -inf, with gradient 0,
            for points that are no shares (SciPy raises there), NaN for parameters that are not positive.

        Raises:
            ValueError: for shapes that do not fit.

        Example:
            >>> import wengert as wg
            >>> wg.stats.dirichlet.logpdf([[0.5, 2.0], [0.5, -1.0]], [1.0, 1.0])
            array([  0., -inf])
        """
        points, weights = floats_of((x, alpha), "stats.dirichlet")
        if weights.ndim != 1 or points.ndim < 1 or points.shape[0] not in (weights.shape[0], weights.shape[0] - 1):
            raise ValueError(at_user_line(f"stats.dirichlet: x has shape {points.shape}, alpha {weights.shape}"))
        if points.shape[0] == weights.shape[0] - 1:
            points = joined([points, expand_dims(1.0 - total(points, axis=0), 0)], 0)
        is_share = logical_and(less_equal(0.0, points), less_equal(points, 1.0))
        inside = logical_and(every(is_share, axis=0), less(magnitude(total(points, axis=0) - 1.0), 1e-9))
        is_valid = every(less(0.0, weights))
        weights = where(is_valid, weights, 1.0)
        shares = moveaxis(where(inside, points, 1.0 / float(points.shape[0])), 0, -1)
        value = (
            _squeezed(total(xlogy(weights - 1.0, shares), axis=-1)) + gammaln(total(weights)) - total(gammaln(weights))
        )
        return outward(where(is_valid, where(_squeezed(inside), value, -math.inf), math.nan), x, alpha)

    def pdf(self, x: ArrayLike, alpha: ArrayLike) -> Any:
        """The density.

        Args:
            x: the shares along the first axis, as for `logpdf`.
            alpha: the positive parameters, a vector.

        Returns:
            The values in the kind of array that came in.

        Example:
            >>> import wengert as wg
            >>> float(wg.stats.dirichlet.pdf([0.25, 0.75], [1.0, 1.0]))
            1.0
        """
        return exp(self.logpdf(x, alpha))


multivariate_normal = MultivariateNormal()
dirichlet = Dirichlet()

__all__ = ["Dirichlet", "MultivariateNormal", "dirichlet", "multivariate_normal"]
