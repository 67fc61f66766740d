"""NumPy's polynomials as arrays of coefficients, from the highest power down; recorded like everything else."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, SupportsIndex, TypeVar
from typing import cast as cast_to

import numpy as np

from .. import linalg, ops
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.engine import ndarray_of
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.promotion import (
    MOST_COUNTED,
    as_float,
    as_tensor,
    cast,
    common_dtype,
    count_of,
    doubled,
    is_symbolic,
    with_doubles,
)
from ..ops.shapes import known_extent
from ._creation import vander
from ._decorators import as_numpy
from ._products import convolve, outer
from ._shapes import concatenate

F = TypeVar("F", bound=Callable[..., Any])


def _coefficients(p: ArrayLike, name: str) -> Tensor:
    x = as_tensor(p, name)
    if x.ndim > 1:
        raise ValueError(at_user_line(f"np.{name}: coefficients have shape {x.shape}; wanted one axis"))
    return ops.reshape(x, (1,)) if x.ndim == 0 else x


def _of_coefficients(f: F) -> F:
    """A function whose polynomial may be a `poly1d`."""
    call: Callable[..., Any] = f

    @functools.wraps(f)
    def function(*args: object, **kwargs: object) -> Any:
        return call(*map(_without_class, args[:1]), *args[1:], **kwargs)

    return cast_to("F", function)


def _of_polynomials(f: F) -> F:
    """A function of polynomials: of a `poly1d` among them it makes one."""
    call: Callable[..., Any] = f

    @functools.wraps(f)
    def function(*args: object, **kwargs: object) -> Any:
        kind = next((type(a) for a in args if isinstance(a, np.poly1d)), None)
        if kind is None:
            return call(*args, **kwargs)
        result = call(*map(_without_class, args), **kwargs)
        return (*map(kind, result),) if isinstance(result, tuple) else kind(result)

    return cast_to("F", function)


def _without_class(p: object) -> Any:
    return p.coeffs if isinstance(p, np.poly1d) else p


def _values_of(x: Tensor, name: str) -> np.ndarray[Any, Any]:
    x._require_concrete(f"np.{name}")
    return ops.stop_gradient(x).numpy()


@as_numpy
def poly(seq_of_zeros: ArrayLike) -> Any:
    """The coefficients of the polynomial with given roots, or the characteristic one of a square matrix.

    Example:
        >>> import wengert.numpy as np
        >>> np.poly([1.0, 2.0])
        array([ 1., -3.,  2.])
    """
    zeros = as_tensor(seq_of_zeros, "poly")
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and zeros.shape[0] != 0:
        zeros = linalg.eigvals(zeros)
    elif zeros.ndim > 1:
        raise ValueError(at_user_line(f"np.poly: wanted roots or a square matrix, got shape {zeros.shape}"))
    zeros = with_doubles(ops.reshape(zeros, (-1,)))
    zeros = doubled(zeros) if dtypes.is_half(zeros.dtype) else zeros
    result = ops.ones((1,), zeros.dtype)
    for i in range(zeros.shape[0]):
        result = convolve(result, ops.stack([ops.ones_like(zeros[i]), ops.negative(zeros[i])]))
    if dtypes.is_complex(zeros.dtype) and _come_in_pairs(_values_of(zeros, "poly")):
        return ops.real(result)
    return result


def _come_in_pairs(roots: np.ndarray[Any, Any]) -> bool:
    """Whether complex roots are those of a real polynomial."""
    return bool(np.all(np.sort(roots) == np.sort(roots.conjugate())))


@_of_coefficients
@as_numpy
def roots(p: ArrayLike) -> Any:
    """The roots of a polynomial: the eigenvalues of its companion matrix. At a multiple root the gradient is infinite.

    Example:
        >>> import wengert.numpy as np
        >>> np.sort(np.roots([1.0, -3.0, 2.0])).real
        array([1., 2.])
    """
    x = with_doubles(_coefficients(p, "roots"))
    places = np.flatnonzero(_values_of(x, "roots"))
    if not len(places):
        return ops.zeros((0,), x.dtype)
    at_zero = x.shape[0] - 1 - int(places[-1])
    x = x[int(places[0]) : int(places[-1]) + 1]
    degree = known_extent(x, 0, "np.roots") - 1
    if not degree:
        return ops.zeros((at_zero,), x.dtype)
    top = ops.reshape(ops.divide(ops.negative(x[1:]), x[0]), (1, degree))
    companion = concatenate([top, np.eye(degree, dtype=x.dtype)[:-1]])
    found = linalg.eigvals(companion)
    if not np.any(_values_of(found, "roots").imag):
        found = ops.real(found)  # as NumPy, which gives real roots where all are
    return concatenate([found, np.zeros(at_zero, found.dtype)])


def _aligned(a1: ArrayLike, a2: ArrayLike, name: str) -> tuple[Tensor, Tensor]:
    """Two polynomials with as many coefficients."""
    x, y = _coefficients(a1, name), _coefficients(a2, name)
    width = max(known_extent(x, 0, f"np.{name}"), known_extent(y, 0, f"np.{name}"))
    return _lengthened(x, width), _lengthened(y, width)


def _lengthened(x: Tensor, width: int) -> Tensor:
    return concatenate([np.zeros(width - known_extent(x, 0, "a sum"), x.dtype), x])


@_of_coefficients
@as_numpy
def polyval(p: ArrayLike, x: ArrayLike) -> Any:
    """A polynomial at points, its coefficients from the highest power down; differentiable in both.

    Example:
        >>> import wengert.numpy as np
        >>> float(np.polyval([1.0, 0.0, 1.0], 3.0))
        10.0
    """
    if isinstance(x, np.poly1d):
        value = x * 0
        for c in _coefficients(p, "polyval"):
            value = value * x + c
        return value
    coefficients, points = as_tensor(p, "polyval"), as_tensor(x, "polyval")
    value = ops.zeros_like(points)
    for i in range(coefficients.shape[0]):
        value = ops.add(ops.multiply(value, points), coefficients[i])
    return value


@_of_polynomials
@as_numpy
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Any:
    """The sum of two polynomials.

    Example:
        >>> import wengert.numpy as np
        >>> np.polyadd([1.0, 2.0], [3.0])
        array([1., 5.])
    """
    return ops.add(*_aligned(a1, a2, "polyadd"))


@_of_polynomials
@as_numpy
def polysub(a1: ArrayLike, a2: ArrayLike) -> Any:
    """The difference of two polynomials.

    Example:
        >>> import wengert.numpy as np
        >>> np.polysub([1.0, 2.0], [3.0])
        array([ 1., -1.])
    """
    return ops.subtract(*_aligned(a1, a2, "polysub"))


@_of_polynomials
@as_numpy
def polymul(a1: ArrayLike, a2: ArrayLike) -> Any:
    """The product of two polynomials.

    Example:
        >>> import wengert.numpy as np
        >>> np.polymul([1.0, 1.0], [1.0, -1.0])
        array([ 1.,  0., -1.])
    """
    return convolve(trimmed(_coefficients(a1, "polymul")), trimmed(_coefficients(a2, "polymul")))


def trimmed(x: Tensor) -> Tensor:
    """Coefficients without zeros in front, as NumPy drops them; in a trace, which does not know them, as they are."""
    if is_symbolic(x):
        return x
    places = np.flatnonzero(ndarray_of(x._data))
    first = int(places[0]) if len(places) else max(int(x.shape[0]) - 1, 0)
    return x[first:] if first else x


@_of_polynomials
@as_numpy
def polydiv(u: ArrayLike, v: ArrayLike) -> Any:
    """The quotient and the remainder of two polynomials.

    Example:
        >>> import wengert.numpy as np
        >>> [part.tolist() for part in np.polydiv([1.0, 0.0, -1.0], [1.0, 1.0])]
        [[1.0, -1.0], [0.0]]
    """
    x, y = _coefficients(u, "polydiv"), _coefficients(v, "polydiv")
    dtype = common_dtype([x, y])
    if dtype.kind in "biu":
        dtype = np.dtype(float)
    rest, divisor = cast(x, dtype), cast(y, dtype)
    degrees = known_extent(rest, 0, "np.polydiv"), known_extent(divisor, 0, "np.polydiv")
    steps = max(degrees[0] - degrees[1] + 1, 0)
    quotient: list[Tensor] = []
    scale = ops.divide(1.0, divisor[0])
    for i in range(steps):
        share = ops.multiply(scale, rest[i])
        quotient.append(share)
        taken = ops.multiply(divisor, share)
        after = np.zeros(degrees[0] - i - degrees[1], dtype)
        rest = ops.subtract(rest, concatenate([np.zeros(i, dtype), taken, after]))
    values = _values_of(rest, "polydiv")
    small = np.isclose(values, 0, rtol=1e-14)
    first = int(np.argmin(small)) if not small.all() else len(small) - 1
    return (ops.stack(quotient) if quotient else ops.zeros((1,), dtype)), rest[first:]


@_of_polynomials
@as_numpy
def polyder(p: ArrayLike, m: int = 1) -> Any:
    """The m-th derivative of a polynomial.

    Example:
        >>> import wengert.numpy as np
        >>> np.polyder([1.0, 2.0, 3.0])
        array([2., 2.])
    """
    x = _coefficients(p, "polyder")
    m = count_of(m, "np.polyder: m", most=MOST_COUNTED)
    for _ in range(min(m, known_extent(x, 0, "np.polyder"))):  # then nothing is left
        x = ops.multiply(x[:-1], np.arange(known_extent(x, 0, "np.polyder") - 1, 0, -1))
    return x


@_of_polynomials
@as_numpy
def polyint(p: ArrayLike, m: int = 1, k: SupportsIndex | None = None) -> Any:
    """The m-th antiderivative of a polynomial; k has the constants of integration.

    Example:
        >>> import wengert.numpy as np
        >>> np.polyint([2.0, 2.0])
        array([1., 2., 0.])
    """
    x = doubled(_coefficients(p, "polyint"))
    m = count_of(m, "np.polyint: m", most=MOST_COUNTED)
    constants = _coefficients(0.0 if k is None else k, "polyint")
    if constants.shape[0] == 1 and m > 1:
        constants = ops.broadcast_to(constants, (m,))
    if constants.shape[0] < m:
        raise ValueError(at_user_line(f"np.polyint: k has {constants.shape[0]} constants; wanted one or {m}"))
    for i in range(m):
        powers = np.arange(known_extent(x, 0, "np.polyint"), 0, -1).astype(x.dtype)
        x = concatenate([ops.divide(x, powers), constants[i : i + 1]])
    return x


@as_numpy
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: Any,
    rcond: ArrayLike | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """The polynomial that comes nearest to points in least squares; differentiable in the points and the weights.

    Example:
        >>> import wengert.numpy as np
        >>> np.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).round(12)
        array([2., 1.])
    """
    at, values = doubled(as_tensor(x, "polyfit")), doubled(as_tensor(y, "polyfit"))
    order = int(deg) + 1
    if order < 1:
        raise ValueError(at_user_line(f"np.polyfit: deg is {deg}; wanted 0 or more"))
    if at.ndim != 1 or not at.shape[0] or values.ndim not in (1, 2) or values.shape[0] != at.shape[0]:
        raise ValueError(
            at_user_line(f"np.polyfit: x has shape {at.shape} and y {values.shape}; wanted as many rows of y as points")
        )
    if rcond is None:
        rcond = at.shape[0] * float(np.finfo(at.dtype).eps)
    matrix, target = vander(at, order), values
    if w is not None:
        weights = as_float(as_tensor(w, "polyfit"))
        if weights.shape != at.shape:
            raise ValueError(at_user_line(f"np.polyfit: w has shape {weights.shape}; wanted {at.shape}"))
        matrix = ops.multiply(matrix, weights[:, None])
        target = ops.multiply(target, weights[:, None] if target.ndim == 2 else weights)
    scale = ops.sqrt(ops.sum(ops.square(matrix), axis=0))
    found, residuals, rank, s = linalg.lstsq(ops.divide(matrix, scale), target, rcond)
    result = ops.divide(found, scale[:, None] if found.ndim == 2 else scale)
    if full:
        return result, residuals, rank, s, rcond
    if not cov:
        return result
    scaled = ops.divide(matrix, scale)
    spread = ops.divide(linalg.inv(ops.matmul(ops.transpose(scaled), scaled)), outer(scale, scale))
    if not (isinstance(cov, str) and cov == "unscaled"):
        if at.shape[0] <= order:
            raise ValueError(at_user_line(f"np.polyfit: cov needs more than {order} points, got {at.shape[0]}"))
        error = ops.subtract(ops.matmul(matrix, result), target)
        variance = ops.divide(ops.sum(ops.square(error), axis=0), at.shape[0] - order)
        spread = ops.multiply(spread[:, :, None] if target.ndim == 2 else spread, variance)
    return result, spread


__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots"]
