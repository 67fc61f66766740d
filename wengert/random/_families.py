"""Draws of continuous distributions, each the quantile of a uniform number, so that gradients flow to parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._core import dtypes
from .._core.argument_types import ArrayLike, DTypeLike, ShapeLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops import promotion
from ..ops.draws import float_dtype, key_of, open_unit, standard_normal
from ..ops.elementwise import add, divide, log, log1p, multiply, negative, sqrt, subtract, tan
from ..ops.indexing import where
from ..ops.linalg import cholesky, matmul
from ..ops.promotion import as_float, as_tensor, names_errors
from ..ops.reductions import sum as total
from ..ops.shapes import expand_dims, new_shape, reshaped
from ..special import betaincinv, gammaincinv, ndtr, ndtri
from ._keys import split

# -- standard families ----------------------------------------------------------------------------------------------

_STANDARD_DOC = """{what}, standard; scale and move them for the others, with gradients to scale and place.

    Args:
        key: a key.
        shape: the shape.
        dtype: a floating dtype; None means the default float.

    Returns:
        A tensor.

    Raises:
        TypeError: for a dtype that is not a floating one.

    Example:
        >>> import wengert as wg
        >>> wg.random.{name}(wg.random.key(7), (3,)).shape
        (3,)
    """


def _standard(name: str, what: str, quantile: Callable[[Tensor], Any]) -> Callable[..., Tensor]:
    def draw(key: Any, shape: Any = (), dtype: Any = None) -> Tensor:
        wanted, size = float_dtype(dtype, name), new_shape(shape, f"random.{name}")
        return promotion.cast(quantile(open_unit(key_of(key, name), size, wanted)), wanted)

    promotion.named(draw, name)
    draw = names_errors(draw)
    draw.__doc__ = _STANDARD_DOC.format(what=what, name=name)
    return draw


def _laplace(u: Tensor) -> Any:
    is_low = u < 0.5
    size = log(multiply(where(is_low, u, subtract(1.0, u)), 2.0))
    return where(is_low, size, negative(size))


exponential = _standard("exponential", "Exponential numbers", lambda u: negative(log1p(negative(u))))
gumbel = _standard("gumbel", "Gumbel's numbers, largest ones of many", lambda u: negative(log(negative(log(u)))))
logistic = _standard("logistic", "Logistic numbers", lambda u: subtract(log(u), log1p(negative(u))))
cauchy = _standard("cauchy", "Cauchy's numbers", lambda u: tan(multiply(subtract(u, 0.5), math.pi)))
laplace = _standard("laplace", "Laplace's numbers", _laplace)

# -- families of shapes -----------------------------------------------------------------------------------------------


def drawn_for(parameters: tuple[Any, ...], shape: Any, dtype: Any, name: str) -> tuple[list[Tensor], Any]:
    """Parameters in the shape of the draws and a dtype to compute in, and the dtype that is wanted."""
    tensors = [as_float(as_tensor(p, f"random.{name}")) for p in parameters]
    own = dtypes.default_float() if all(t._weak for t in tensors) else promotion.common_dtype(tensors)
    wanted = own if dtype is None else float_dtype(dtype, name)
    inner = dtypes.float32 if dtypes.is_half(wanted) else wanted
    met = tuple(tensors[0].shape)
    for t in tensors[1:]:
        met = promotion.broadcast_shapes(met, tuple(t.shape), f"random.{name}")
    size = met if shape is None else new_shape(shape, f"random.{name}")
    if promotion.broadcast_shapes(size, met, f"random.{name}") != size:
        raise ValueError(at_user_line(f"random.{name}: shape is {size}, and the parameters have shape {met}"))
    return [promotion.broadcast(promotion.cast(t, inner), size) for t in tensors], wanted


@names_errors
def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Gamma numbers of a shape parameter, with scale 1; their gradient in it is that of the quantile.

    Args:
        key: a key.
        a: the shape parameter, positive numbers.
        shape: the shape; None means that of `a`, which broadcasts to it.
        dtype: a floating dtype; None means that of `a`.

    Returns:
        A tensor.

    Raises:
        TypeError: for a dtype that is not a floating one.
        ValueError: for shapes that do not fit.

    Example:
        >>> import wengert as wg
        >>> x = wg.random.gamma(wg.random.key(7), 3.0, (2000,))
        >>> abs(x.mean().item() - 3) < 0.2
        True
        >>> bool(wg.grad(lambda a: wg.random.gamma(wg.random.key(7), a))(3.0) > 0)
        True
    """
    (shapes,), wanted = drawn_for((a,), shape, dtype, "gamma")
    u = open_unit(key_of(key, "gamma"), tuple(shapes.shape), shapes.dtype)
    return promotion.cast(gammaincinv(shapes, u), wanted)


@names_errors
def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Beta numbers; their gradients in the parameters are those of the quantile.

    Args:
        key: a key.
        a: the first shape parameter, positive numbers.
        b: the second one; shapes broadcast.
        shape: the shape; None means that of the parameters, which broadcast to it.
        dtype: a floating dtype; None means that of the parameters.

    Returns:
        A tensor of numbers between 0 and 1.

    Raises:
        TypeError: for a dtype that is not a floating one.
        ValueError: for shapes that do not fit.

    Example:
        >>> import wengert as wg
        >>> x = wg.random.beta(wg.random.key(7), 2.0, 6.0, (2000,))
        >>> abs(x.mean().item() - 0.25) < 0.02
        True
    """
    (first, second), wanted = drawn_for((a, b), shape, dtype, "beta")
    u = open_unit(key_of(key, "beta"), tuple(first.shape), first.dtype)
    return promotion.cast(betaincinv(first, second, u), wanted)


@names_errors
def chisquare(key: Any, df: ArrayLike, shape: ShapeLike | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Chi-squared numbers.

    Args:
        key: a key.
        df: the degrees of freedom, positive numbers; differentiable.
        shape: the shape; None means that of `df`, which broadcasts to it.
        dtype: a floating dtype; None means that of `df`.

    Returns:
        A tensor.

    Example:
        >>> import wengert as wg
        >>> wg.random.chisquare(wg.random.key(7), [1.0, 2.0]).shape
        (2,)
    """
    return multiply(gamma(key, divide(as_float(as_tensor(df, "random.chisquare")), 2.0), shape, dtype), 2.0)


@names_errors
def t(key: Any, df: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Student's t numbers: normal ones over the root of chi-squared ones by their degrees.

    Args:
        key: a key.
        df: the degrees of freedom, positive numbers; differentiable.
        shape: the shape; None means that of `df`, which broadcasts to it.
        dtype: a floating dtype; None means that of `df`.

    Returns:
        A tensor.

    Example:
        >>> import wengert as wg
        >>> wg.random.t(wg.random.key(7), 4.0, (3,)).shape
        (3,)
    """
    (degrees,), wanted = drawn_for((df,), shape, dtype, "t")
    first, second = _children(key, "t")
    size = tuple(degrees.shape)
    spread = gammaincinv(multiply(degrees, 0.5), open_unit(second, size, degrees.dtype))
    ratio = sqrt(divide(multiply(degrees, 0.5), spread))
    return promotion.cast(multiply(standard_normal(first, size, degrees.dtype), ratio), wanted)


def _children(key: Any, name: str) -> list[Tensor]:
    both = split(key_of(key, name))
    return [both[0], both[1]]


@names_errors
def dirichlet(key: Any, alpha: ArrayLike, shape: ShapeLike | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Shares that add up to 1: gamma numbers over their sum.

    Args:
        key: a key.
        alpha: the parameters along the last axis, positive numbers; differentiable. Where all are far below 1, all
            gamma numbers may vanish, and the shares are NaN.
        shape: the shape of the draws without that axis; None means the leading axes of `alpha`.
        dtype: a floating dtype; None means that of `alpha`.

    Returns:
        A tensor whose last axis holds the shares.

    Raises:
        ValueError: if `alpha` is a number, or for shapes that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.random.dirichlet(wg.random.key(7), [1.0, 2.0, 3.0], (4,)).shape
        (4, 3)
    """
    weights = as_float(as_tensor(alpha, "random.dirichlet"))
    if weights.ndim == 0:
        raise ValueError(at_user_line("random.dirichlet: alpha is a number, wanted the parameters along an axis"))
    size = tuple(weights.shape[:-1]) if shape is None else new_shape(shape, "random.dirichlet")
    parts = gamma(key_of(key, "dirichlet"), weights, (*size, weights.shape[-1]), dtype)
    return divide(parts, total(parts, axis=-1, keepdims=True))


@names_errors
def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Standard normal numbers between two bounds.

    Args:
        key: a key.
        lower: the lower bound; differentiable.
        upper: the upper bound, above it; shapes broadcast.
        shape: the shape; None means that of the bounds, which broadcast to it.
        dtype: a floating dtype; None means that of the bounds.

    Returns:
        A tensor.

    Example:
        >>> import wengert as wg
        >>> x = wg.random.truncated_normal(wg.random.key(7), -1.0, 2.0, (1000,))
        >>> bool((x > -1.0).all()), bool((x < 2.0).all())
        (True, True)
    """
    (low, high), wanted = drawn_for((lower, upper), shape, dtype, "truncated_normal")
    u = open_unit(key_of(key, "truncated_normal"), tuple(low.shape), low.dtype)
    # in the tail where both bounds lie, shares keep their digits
    is_right = low > 0.0
    near, far = where(is_right, negative(high), low), where(is_right, negative(low), high)
    first, last = ndtr(near), ndtr(far)
    place = ndtri(add(multiply(u, subtract(last, first)), first))
    return promotion.cast(where(is_right, negative(place), place), wanted)


@names_errors
def multivariate_normal(
    key: Any, mean: ArrayLike, cov: ArrayLike, shape: ShapeLike | None = None, dtype: DTypeLike | None = None
) -> Tensor:
    """Normal vectors with a mean and a covariance.

    Args:
        key: a key.
        mean: the means (..., n); differentiable.
        cov: the covariances (..., n, n), positive definite; differentiable through Cholesky's factor.
        shape: the shape of the draws without their components; None means the leading axes of the two.
        dtype: a floating dtype; None means that of the two.

    Returns:
        A tensor whose last axis holds the components.

    Raises:
        numpy.linalg.LinAlgError: for a covariance that is not positive definite.
        ValueError: for shapes that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.random.multivariate_normal(wg.random.key(7), [0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]], (5,)).shape
        (5, 2)
    """
    name = "multivariate_normal"
    centre, spread = (as_float(as_tensor(v, f"random.{name}")) for v in (mean, cov))
    if spread.ndim < 2 or centre.ndim < 1 or spread.shape[-1] != centre.shape[-1]:
        raise ValueError(at_user_line(f"random.{name}: mean has shape {centre.shape} and cov has shape {spread.shape}"))
    wanted = promotion.common_dtype([centre, spread]) if dtype is None else float_dtype(dtype, name)
    centre, spread = promotion.cast(centre, wanted), promotion.cast(spread, wanted)
    lead = promotion.broadcast_shapes(tuple(centre.shape[:-1]), tuple(spread.shape[:-2]), f"random.{name}")
    size = lead if shape is None else new_shape(shape, f"random.{name}")
    drawn = standard_normal(key_of(key, name), (*size, centre.shape[-1]), wanted)
    turned = matmul(cholesky(spread), expand_dims(drawn, -1))
    return add(reshaped(turned, turned.shape[:-1]), centre)


__all__ = [
    "beta", "cauchy", "chisquare", "dirichlet", "drawn_for", "exponential", "gamma", "gumbel", "laplace", "logistic",
    "multivariate_normal", "t", "truncated_normal",
]  # fmt: skip
