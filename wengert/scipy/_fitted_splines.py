"""Curves and surfaces that FITPACK fits. What is fitted to numbers is SciPy's own, evaluated where a tensor says.

What goes through followed points, or is nearest to them with given knots, is found by a solve and follows them. How
much FITPACK smooths depends on the points by trial and error, which nothing can follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from .. import numpy as np
from .._core.argument_types import ArrayLike
from .._core.caller import NUMPY, caller_of
from .._core.scipy_modules import scipy
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..errors import LostGradientError
from ._bsplines import BSpline, _knots, _slopes, make_interp_spline, make_lsq_spline, spalde, splev, sproot
from ._conversions import entered, floats
from ._namespace import is_followed, plain
from ._piecewise import kept

_OUTSIDE = {0: 0, "extrapolate": 0, 1: 1, "zeros": 1, 2: 2, "raise": 2, 3: 3, "const": 3}
_NOWHERE = (None, None)

Ends = Sequence[Any]


def _mode(ext: int | str) -> int:
    if ext not in _OUTSIDE:
        raise ValueError(f"Unknown extrapolation mode {ext}.")
    return _OUTSIDE[ext]


def _with_ends(inner: ArrayLike, x: ArrayLike, k: int, bbox: Ends) -> Tensor:
    """All knots: those inside, and k + 1 at each end, which are the outermost places unless others are given."""
    places = floats(entered(x))
    low, high = (places[i] if end is None else floats(entered(end)) for i, end in zip((0, -1), bbox, strict=True))
    ends = [np.broadcast_to(np.reshape(end, (1,)), (k + 1,)) for end in (low, high)]
    return np.concatenate([ends[0], floats(entered(inner)), ends[1]])


def _through(x: ArrayLike, y: ArrayLike, k: int, bbox: Ends) -> BSpline:
    """The spline through points with FITPACK's knots."""
    inner = _knots(floats(entered(x)), k, True)[k + 1 : -k - 1]
    return make_interp_spline(x, y, k, _with_ends(inner, x, k, bbox))


def _refuse(name: str, instead: str) -> LostGradientError:
    return LostGradientError(
        at_user_line(
            f"scipy.interpolate.{name}: how much it smooths depends on the points by trial and error, and they are "
            f"under differentiation or being traced; {instead}"
        )
    )


class UnivariateSpline:
    """A spline of degree k near points, as `scipy.interpolate.UnivariateSpline`.

    Differentiable where it is evaluated; with `s=0`, as it goes through the points, in these, too.

    Args:
        x: places (n,), increasing.
        y: the values there.
        w: a positive weight for each place.
        bbox: where the outermost knots are; the first and the last place unless they are given.
        k: the degree, 1 to 5.
        s: the sum of squares up to which it may miss the points; None: their number.
        ext: outside of the knots 0 ("extrapolate"), 1 ("zeros"), 2 ("raise") or 3 ("const").
        check_finite: whether other numbers than finite ones are an error.

    Raises:
        LostGradientError: the points are followed, and `s` is not 0.
    """

    def __init__(
        self, x: ArrayLike, y: ArrayLike, w: ArrayLike | None = None, bbox: Ends = _NOWHERE, k: int = 3,
        s: float | None = None, ext: int | str = 0, check_finite: bool = False,
    ) -> None:  # fmt: skip
        instead = "s=0 goes through the points, and LSQUnivariateSpline takes knots"
        through = _through if s == 0 else None
        self._fit("UnivariateSpline", (x, y), w, bbox, k, ext, check_finite, through, instead, s=s)

    def _fit(
        self, name: str, points: tuple[Any, Any], w: Any, bbox: Ends, k: int, ext: int | str, check_finite: bool,
        solve: Any, instead: str, *knots: Any, **options: Any,
    ) -> None:  # fmt: skip
        self.k, self.ext = int(k), _mode(ext)
        self._points, self._given = (*points, w), (*points, *knots, w, *bbox)
        self._theirs = None
        if not is_followed(self._given):
            options |= {"w": plain(w), "bbox": [*map(plain, bbox)], "k": k, "ext": ext, "check_finite": check_finite}
            make = getattr(scipy("interpolate"), name)
            self._theirs = make(*map(plain, (*points, *knots)), **options)
            self._take_theirs()
            return
        if solve is None:
            raise _refuse(name, instead)
        self._spline = solve(*points, self.k, bbox)

    def _take_theirs(self) -> None:
        theirs: Any = self._theirs
        inner = numpy.asarray(theirs.get_knots())
        knots = numpy.concatenate([inner[:1].repeat(self.k), inner, inner[-1:].repeat(self.k)])
        self._spline = BSpline(knots, theirs.get_coeffs(), self.k)

    def _is_theirs(self, *args: object) -> bool:
        """Whether SciPy's object answers: everything is numbers."""
        return self._theirs is not None and caller_of((*args, *self._given)) is NUMPY

    def __call__(self, x: ArrayLike, nu: int = 0, ext: int | str | None = None) -> Any:
        """The spline, or its derivative of order nu, at places of any shape."""
        if self._is_theirs(x):
            theirs: Any = self._theirs
            return theirs(x, nu, ext)
        return kept(splev(x, self._spline, nu, self.ext if ext is None else _mode(ext)), x, *self._given)

    def get_knots(self) -> Any:
        """The knots, each end once."""
        return kept(self._spline._t[self.k : len(self._spline._t) - self.k], *self._given)

    def get_coeffs(self) -> Any:
        """The coefficients of the B-splines."""
        return kept(self._spline._c, *self._given)

    def get_residual(self) -> Any:
        """The weighted sum of squares by which the spline misses the points."""
        if self._theirs is not None:
            return self._theirs.get_residual()
        x, y, w = self._points
        miss = floats(entered(y)) - splev(x, self._spline)
        return kept(np.sum((miss if w is None else miss * w) ** 2), *self._given)

    def set_smoothing_factor(self, s: float) -> None:
        """Fits anew, with another `s`."""
        if self._theirs is None:
            raise _refuse("UnivariateSpline", "make another spline with s=0, or an LSQUnivariateSpline")
        self._theirs.set_smoothing_factor(s)
        self._take_theirs()

    def integral(self, a: ArrayLike, b: ArrayLike) -> Any:
        """The integral from a to b of the spline, which is 0 outside of the knots."""
        return kept(self._spline.integrate(a, b, False), a, b, *self._given)

    def derivatives(self, x: ArrayLike) -> Any:
        """The derivatives of the orders 0 to k at a place."""
        return kept(spalde(x, self._spline), x, *self._given)

    def roots(self) -> Any:
        """The zeros of a cubic spline, which move with what the spline follows."""
        if self.k != 3:
            raise NotImplementedError("finding roots unsupported for non-cubic splines")
        return kept(sproot(self._spline, 3 * int(self._spline._t.shape[0])), *self._given)

    def derivative(self, n: int = 1) -> UnivariateSpline:
        """The derivative as a spline."""
        return self._related(self._spline.derivative(n), self.k - n, 1 if self.ext == 3 else self.ext)

    def antiderivative(self, n: int = 1) -> UnivariateSpline:
        """The integral from the first knot as a spline."""
        return self._related(self._spline.antiderivative(n), self.k + n, self.ext)

    def _related(self, spline: BSpline, k: int, ext: int) -> UnivariateSpline:
        made = object.__new__(UnivariateSpline)
        made._spline, made.k, made.ext, made._theirs, made._given = spline, k, ext, None, self._given
        made._points = self._points
        return made


class InterpolatedUnivariateSpline(UnivariateSpline):
    """The spline of degree k through points, as `scipy.interpolate.InterpolatedUnivariateSpline`.

    Differentiable in the points and where it is evaluated.

    Args:
        x: places (n,), increasing.
        y: the values there.
        w: not used, for the points are met exactly.
        bbox: where the outermost knots are; the first and the last place unless they are given.
        k: the degree, 1 to 5.
        ext: as for `UnivariateSpline`.
        check_finite: whether other numbers than finite ones are an error.
    """

    def __init__(
        self, x: ArrayLike, y: ArrayLike, w: ArrayLike | None = None, bbox: Ends = _NOWHERE, k: int = 3,
        ext: int | str = 0, check_finite: bool = False,
    ) -> None:  # fmt: skip
        self._fit("InterpolatedUnivariateSpline", (x, y), w, bbox, k, ext, check_finite, _through, "")


class LSQUnivariateSpline(UnivariateSpline):
    """The spline with given knots that is nearest to points, as `scipy.interpolate.LSQUnivariateSpline`.

    Differentiable in the points, knots and weights, and where it is evaluated.

    Args:
        x: places (n,), increasing.
        y: the values there.
        t: the knots inside.
        w: a positive weight for each place.
        bbox: where the outermost knots are; the first and the last place unless they are given.
        k: the degree, 1 to 5.
        ext: as for `UnivariateSpline`.
        check_finite: whether other numbers than finite ones are an error.
    """

    def __init__(
        self, x: ArrayLike, y: ArrayLike, t: ArrayLike, w: ArrayLike | None = None, bbox: Ends = _NOWHERE, k: int = 3,
        ext: int | str = 0, check_finite: bool = False,
    ) -> None:  # fmt: skip
        def nearest(x: ArrayLike, y: ArrayLike, k: int, bbox: Ends) -> BSpline:
            return make_lsq_spline(x, y, _with_ends(t, x, k, bbox), k, w)

        self._fit("LSQUnivariateSpline", (x, y), w, bbox, k, ext, check_finite, nearest, "", t)


# -- surfaces ----------------------------------------------------------------------------------------------------------


def _basis(t: Tensor, k: int, x: Tensor, order: int) -> Tensor:
    """What each B-spline, or its derivative, is at places, which lie between the outermost knots or are moved there."""
    count = int(t.shape[0]) - k - 1
    splines = BSpline._made(t, np.eye(count, dtype=t.dtype), k, True, 0, ())
    return splines._at(np.clip(x, t[k], t[count]), order, True)


class Surface:
    """A sum of products of B-splines in two directions."""

    _theirs: Any = None

    def _set(self, tx: Any, ty: Any, c: Any, kx: int, ky: int, given: tuple[Any, ...]) -> None:
        self._tx, self._ty = floats(tx), floats(ty)
        self._c = np.reshape(floats(c), (int(self._tx.shape[0]) - kx - 1, int(self._ty.shape[0]) - ky - 1))
        self._k, self._given = (kx, ky), given

    def _fit(self, name: str, given: tuple[Any, ...], kx: int, ky: int, **options: Any) -> None:
        """SciPy's own, of numbers."""
        if is_followed((given, options)):
            raise _refuse(name, "RectBivariateSpline with s=0 goes through values on a grid, RBFInterpolator elsewhere")
        fitted = {key: plain(value) for key, value in options.items() if value is not None}
        self._theirs = getattr(scipy("interpolate"), name)(*map(plain, given), kx=kx, ky=ky, **fitted)
        tx, ty = self._theirs.get_knots()
        self._set(tx, ty, self._theirs.get_coeffs(), kx, ky, given)

    def __call__(self, x: ArrayLike, y: ArrayLike, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        """The surface, or a derivative, at all pairs of x and y (`grid`), or at places that both tell."""
        if self._theirs is not None and caller_of((x, y, *self._given)) is NUMPY:
            return self._theirs(x, y, dx, dy, grid)
        return kept(self._at(floats(entered(x)), floats(entered(y)), dx, dy, grid), x, y, *self._given)

    def _at(self, x: Tensor, y: Tensor, dx: int, dy: int, grid: bool) -> Tensor:
        if grid:
            rows = _basis(self._tx, self._k[0], np.reshape(x, (-1,)), dx)
            return rows @ self._c @ _basis(self._ty, self._k[1], np.reshape(y, (-1,)), dy).T
        x, y = np.broadcast_arrays(x, y)
        rows = _basis(self._tx, self._k[0], x, dx) @ self._c
        return np.sum(rows * _basis(self._ty, self._k[1], y, dy), axis=-1)

    def ev(self, xi: ArrayLike, yi: ArrayLike, dx: int = 0, dy: int = 0) -> Any:
        """The surface, or a derivative, at places that both tell."""
        return self(xi, yi, dx, dy, grid=False)

    def integral(self, xa: ArrayLike, xb: ArrayLike, ya: ArrayLike, yb: ArrayLike) -> Any:
        """The integral over a rectangle of the surface, which is 0 outside of the knots."""
        rows = _integrals(self._tx, self._k[0], xa, xb)
        found = rows @ self._c @ _integrals(self._ty, self._k[1], ya, yb)
        return kept(found, xa, xb, ya, yb, *self._given)

    def partial_derivative(self, dx: int, dy: int) -> Surface:
        """A derivative as a surface."""
        tx, ty, c, (kx, ky) = self._tx, self._ty, self._c, self._k
        for _ in range(dx):
            tx, c, kx = _slopes(tx, c, kx)
        c = c.T
        for _ in range(dy):
            ty, c, ky = _slopes(ty, c, ky)
        made = object.__new__(Surface)
        made._set(tx, ty, c.T, kx, ky, self._given)
        return made

    def get_knots(self) -> Any:
        """The knots in both directions."""
        return kept(self._tx, *self._given), kept(self._ty, *self._given)

    def get_coeffs(self) -> Any:
        """The coefficients in one row."""
        return kept(np.reshape(self._c, (-1,)), *self._given)

    def get_residual(self) -> Any:
        """The sum of squares by which the surface misses the points; 0 where it goes through them."""
        return 0.0 if self._theirs is None else self._theirs.get_residual()


def _integrals(t: Tensor, k: int, low: ArrayLike, high: ArrayLike) -> Tensor:
    """What each B-spline's integral is."""
    count = int(t.shape[0]) - k - 1
    return floats(BSpline._made(t, np.eye(count, dtype=t.dtype), k, False, 0, (t,)).integrate(low, high, False))


class RectBivariateSpline(Surface):
    """The surface through values on a grid, as `scipy.interpolate.RectBivariateSpline`.

    Differentiable where it is evaluated; with `s=0`, as it goes through the values, in the grid and these, too.

    Args:
        x: places along the first axis, increasing.
        y: places along the second.
        z: the values (n, m).
        bbox: where the outermost knots are: two along the first axis, two along the second.
        kx: the degree along the first axis.
        ky: that along the second.
        s: the sum of squares up to which it may miss the values.
        maxit: SciPy's bound on steps of smoothing.

    Raises:
        LostGradientError: the grid or the values are followed, and `s` is not 0.
    """

    def __init__(
        self, x: ArrayLike, y: ArrayLike, z: ArrayLike, bbox: Ends = (*_NOWHERE, *_NOWHERE), kx: int = 3, ky: int = 3,
        s: float = 0, maxit: int = 20,
    ) -> None:  # fmt: skip
        given = (x, y, z, *bbox)
        if s or not is_followed(given):
            self._fit("RectBivariateSpline", (x, y, z), kx, ky, bbox=[*bbox], s=s, maxit=maxit)
            return
        along = _through(x, z, kx, bbox[:2])
        across = _through(y, along._c.T, ky, bbox[2:])
        self._set(along._t, across._t, across._c.T, kx, ky, given)


class SmoothBivariateSpline(Surface):
    """A smooth surface near scattered points, as `scipy.interpolate.SmoothBivariateSpline`.

    Differentiable where it is evaluated; the points are constants.

    Args:
        x: places along the first axis.
        y: places along the second.
        z: the values.
        w: a positive weight for each point.
        bbox: where the outermost knots are: two along the first axis, two along the second.
        kx: the degree along the first axis.
        ky: that along the second.
        s: the sum of squares up to which it may miss the points.
        eps: below which a matrix has not its full rank.
    """

    def __init__(
        self, x: ArrayLike, y: ArrayLike, z: ArrayLike, w: ArrayLike | None = None, bbox: Ends = (*_NOWHERE, *_NOWHERE),
        kx: int = 3, ky: int = 3, s: float | None = None, eps: float = 1e-16,
    ) -> None:  # fmt: skip
        self._fit("SmoothBivariateSpline", (x, y, z), kx, ky, w=w, bbox=[*bbox], s=s, eps=eps)


class LSQBivariateSpline(Surface):
    """The surface with given knots that is nearest to scattered points, as `scipy.interpolate.LSQBivariateSpline`.

    Differentiable where it is evaluated; points and knots are constants.

    Args:
        x: places along the first axis.
        y: places along the second.
        z: the values.
        tx: the knots inside, along the first axis.
        ty: those along the second.
        w: a positive weight for each point.
        bbox: where the outermost knots are: two along the first axis, two along the second.
        kx: the degree along the first axis.
        ky: that along the second.
        eps: below which a matrix has not its full rank.
    """

    def __init__(
        self, x: ArrayLike, y: ArrayLike, z: ArrayLike, tx: ArrayLike, ty: ArrayLike, w: ArrayLike | None = None,
        bbox: Ends = (*_NOWHERE, *_NOWHERE), kx: int = 3, ky: int = 3, eps: float | None = None,
    ) -> None:  # fmt: skip
        self._fit("LSQBivariateSpline", (x, y, z, tx, ty), kx, ky, w=w, bbox=[*bbox], eps=eps)


__all__ = [
    "InterpolatedUnivariateSpline", "LSQBivariateSpline", "LSQUnivariateSpline", "RectBivariateSpline",
    "SmoothBivariateSpline", "UnivariateSpline",
]  # fmt: skip
