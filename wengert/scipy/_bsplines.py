"""B-splines: values by de Boor's recurrence, interpolation by a solve; gradients in knots, coefficients and places."""

from __future__ import annotations

from typing import Any

import numpy

from .. import linalg
from .. import numpy as np
from .._core.argument_types import ArrayLike
from .._core.scipy_modules import scipy
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..ops.conversion import stop_gradient
from ._conversions import entered, floats, followed_place
from ._namespace import only
from ._piecewise import kept, placed, plain_numbers


def _values(t: Tensor, c: Tensor, k: int, x: Tensor) -> Tensor:
    """The spline at a row of places, extrapolated."""
    count = int(c.shape[0])
    piece = np.searchsorted(t, x, side="right") - 1
    piece = np.clip(piece, k, count - 1)
    rest = (1,) * (c.ndim - 1)
    d = [np.take(c, piece - k + j, axis=0) for j in range(k + 1)]
    for r in range(1, k + 1):
        for j in range(k, r - 1, -1):
            low, high = np.take(t, piece + j - k), np.take(t, piece + j + 1 - r)
            share = np.reshape((x - low) / (high - low), (-1, *rest))
            d[j] = (1 - share) * d[j - 1] + share * d[j]
    return d[k]


def _slopes(t: Tensor, c: Tensor, k: int) -> tuple[Tensor, Tensor, int]:
    """The derivative as a spline of one degree less."""
    if k == 0:
        return t, np.zeros_like(c), 0
    count = int(c.shape[0])
    span = t[k + 1 : count + k] - t[1:count]
    span = np.where(span > 0, span, 1.0)  # of knots that coincide nothing is between
    return t[1:-1], k * (c[1:] - c[:-1]) / np.reshape(span, (-1, *(1,) * (c.ndim - 1))), k - 1


class BSpline:
    """A spline as a sum of B-splines, as `scipy.interpolate.BSpline`; differentiable in t, c and where it is evaluated.

    Args:
        t: knots (n + k + 1,).
        c: coefficients, at least n along the axis.
        k: the degree.
        extrapolate: whether values outside are those of the first and the last piece; "periodic"; False: NaN.
        axis: which axis of c.
    """

    def __init__(
        self, t: ArrayLike, c: ArrayLike, k: int, extrapolate: bool | str | None = True, axis: int = 0
    ) -> None:
        self._given = (t, c)
        self.k, self.extrapolate = int(k), extrapolate
        self._t = floats(entered(t))
        values = floats(entered(c))
        self.axis = axis % values.ndim
        count = int(self._t.shape[0]) - self.k - 1
        if self._t.ndim != 1 or count < self.k + 1:
            raise ValueError(f"Need at least {2 * self.k + 2} knots for degree {self.k}")
        if values.shape[self.axis] < count:
            raise ValueError("Knots, coefficients and degree are inconsistent.")
        self._c = np.moveaxis(values, self.axis, 0)[:count]

    @classmethod
    def _made(
        cls, t: Tensor, c: Tensor, k: int, extrapolate: bool | str | None, axis: int, given: tuple[Any, ...]
    ) -> BSpline:
        made = cls.__new__(cls)
        made._t, made._c, made.k, made.extrapolate, made.axis, made._given = t, c, k, extrapolate, axis, given
        return made

    @property
    def t(self) -> Any:
        """The knots."""
        return kept(self._t, *self._given)

    @property
    def c(self) -> Any:
        """The coefficients."""
        return kept(np.moveaxis(self._c, 0, self.axis), *self._given)

    @property
    def tck(self) -> Any:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def __call__(self, x: ArrayLike, nu: int = 0, extrapolate: bool | str | None = None) -> Any:
        """The spline, or its derivative of order nu, at places of any shape."""
        outside = self.extrapolate if extrapolate is None else extrapolate
        return kept(self._at(floats(entered(x)), nu, outside), x, *self._given)

    def _at(self, x: Tensor, nu: int, extrapolate: bool | str | None) -> Tensor:
        flat = np.reshape(x, (-1,))
        first, last = self._t[self.k], self._t[int(self._c.shape[0])]
        if extrapolate == "periodic":
            flat = first + (flat - first) % (last - first)
        t, c, k = self._t, self._c, self.k
        for _ in range(nu):
            t, c, k = _slopes(t, c, k)
        found = _values(t, c, k, flat)
        if extrapolate is False:
            is_outside = np.reshape((flat < first) | (flat > last), (-1, *(1,) * (c.ndim - 1)))
            found = np.where(is_outside, numpy.nan, found)
        return placed(np.reshape(found, (*x.shape, *self._c.shape[1:])), x.ndim, self.axis)

    def _as_tensors(self, x: Tensor) -> Tensor:
        return self._at(x, 0, True)

    def derivative(self, nu: int = 1) -> BSpline:
        """The derivative as a spline."""
        t, c, k = self._t, self._c, self.k
        for _ in range(nu):
            t, c, k = _slopes(t, c, k)
        return self._made(t, c, k, self.extrapolate, self.axis, self._given)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """The integral from the first knot as a spline."""
        t, c, k = self._t, self._c, self.k
        for _ in range(nu):
            count = int(c.shape[0])
            span = np.reshape(t[k + 1 : count + k + 1] - t[:count], (-1, *(1,) * (c.ndim - 1)))
            c = np.concatenate([np.zeros_like(c[:1]), np.cumsum(c * span, axis=0) / (k + 1)])
            t = np.concatenate([t[:1], t, t[-1:]])
            k += 1
        outside = False if self.extrapolate == "periodic" else self.extrapolate
        return self._made(t, c, k, outside, self.axis, self._given)

    def integrate(self, a: ArrayLike, b: ArrayLike, extrapolate: bool | str | None = None) -> Any:
        """The integral from a to b, with gradients in both."""
        outside = self.extrapolate if extrapolate is None else extrapolate
        if outside == "periodic":
            raise NotImplementedError(at_user_line("BSpline.integrate: periodic splines are not supported; integrate "
                                                   "whole periods and the rest apart"))  # fmt: skip
        whole = self.antiderivative()
        low, high = floats(entered(a)), floats(entered(b))
        if not outside:
            first, last = self._t[self.k], self._t[int(self._c.shape[0])]
            low, high = np.clip(low, first, last), np.clip(high, first, last)
        return kept(whole._at(high, 0, True) - whole._at(low, 0, True), a, b, *self._given)


# -- through points ----------------------------------------------------------------------------------------------------


def _knots(x: Tensor, k: int, free: bool) -> Tensor:
    """Knots at the places, less those near the ends where no conditions ask for them."""
    inner = x[1:-1]
    if free and k % 2:
        inner = x[(k + 1) // 2 : int(x.shape[0]) - (k + 1) // 2]
    elif free:
        middle = (x[1:] + x[:-1]) / 2
        inner = middle[k // 2 : int(middle.shape[0]) - k // 2]
    return np.concatenate([np.broadcast_to(x[:1], (k + 1,)), inner, np.broadcast_to(x[-1:], (k + 1,))])


def _conditions(bc_type: str | tuple[Any, ...] | None, k: int) -> list[list[tuple[int, Any]]]:
    """For each end the orders and values of derivatives."""
    ends = [bc_type, bc_type] if isinstance(bc_type, str) or bc_type is None else [*bc_type]
    found: list[list[tuple[int, Any]]] = []
    for end in ends:
        if end is None or (isinstance(end, str) and end == "not-a-knot"):
            found.append([])
        elif isinstance(end, str):
            if end not in ("clamped", "natural"):
                raise ValueError(f"Unknown boundary condition: {end}")
            found.append([(1 if end == "clamped" else 2, 0.0)])
        else:
            found.append([(int(order), value) for order, value in end])
    return found


def make_interp_spline(
    x: ArrayLike,
    y: ArrayLike,
    k: int = 3,
    t: ArrayLike | None = None,
    bc_type: str | tuple[Any, ...] | None = None,
    axis: int = 0,
    check_finite: bool = True,
) -> Any:
    """The spline of degree k through points, with gradients in the places, the values and the conditions at the ends.

    Args:
        x: places (n,), increasing.
        y: the values there, along an axis.
        k: the degree.
        t: knots; None means those of `bc_type`.
        bc_type: None, "not-a-knot", "clamped", "natural", or for each end one of these or a list of (order, value).
        axis: which axis of y.
        check_finite: accepted for SciPy's sake, and not used.

    Returns:
        A `BSpline`.
    """
    only("interpolate.make_interp_spline", bc_type=(bc_type if isinstance(bc_type, str) else None, None,
                                                    "not-a-knot", "clamped", "natural"))  # fmt: skip
    places, values = floats(entered(x)), floats(entered(y))
    axis = axis % values.ndim
    values = np.moveaxis(values, axis, 0)
    if places.shape[0] != values.shape[0]:
        raise ValueError(f"Shapes of x {places.shape} and y {values.shape} are incompatible")
    if places.ndim != 1:
        raise ValueError("Expect x to be a 1D sequence of values.")
    ends = _conditions(bc_type, k)
    if t is not None:
        knots = floats(entered(t))
    elif k == 0:
        knots = np.concatenate([places, places[-1:]])
    else:
        knots = _knots(places, k, not ends[0] and not ends[1])
    given = (x, y, t, *(value for end in ends for _, value in end))
    if k == 0:
        return BSpline._made(knots, values, 0, True, axis, given)
    count = int(places.shape[0]) + len(ends[0]) + len(ends[1])
    if int(knots.shape[0]) - k - 1 != count:
        wanted = int(knots.shape[0]) - k - 1 - int(places.shape[0])
        raise ValueError(
            f"The number of derivatives at boundaries does not match: expected {wanted}, got "
            f"{len(ends[0])}+{len(ends[1])}"
        )
    basis = BSpline._made(knots, np.eye(count, dtype=places.dtype), k, True, 0, given)
    rows = [basis._at(places[:1], order, True) for order, _ in ends[0]]
    rows += [basis._at(places, 0, True), *(basis._at(places[-1:], order, True) for order, _ in ends[1])]
    told = [[np.broadcast_to(floats(v), (1, *values.shape[1:])) for _, v in end] for end in ends]
    right = np.concatenate([*told[0], values, *told[1]])
    c = np.reshape(linalg.solve(np.concatenate(rows), np.reshape(right, (count, -1))), right.shape)
    return BSpline._made(knots, c, k, True, axis, given)


def make_lsq_spline(
    x: ArrayLike, y: ArrayLike, t: ArrayLike, k: int = 3, w: ArrayLike | None = None, axis: int = 0,
    check_finite: bool = True, *, method: str = "qr",
) -> Any:  # fmt: skip
    """The spline of degree k with given knots that is nearest to points, with gradients in all of them.

    Args:
        x: places (n,), increasing.
        y: the values there, along an axis.
        t: knots, k + 1 of them or more at each end.
        k: the degree.
        w: a positive weight for each place; the sum of (w * (y - spline))**2 is the least.
        axis: which axis of y.
        check_finite: accepted for SciPy's sake, and not used.
        method: SciPy's ways to solve, which find the same.

    Returns:
        A `BSpline`.

    Raises:
        numpy.linalg.LinAlgError: there are fewer places than coefficients.
    """
    places, values, knots = floats(entered(x)), floats(entered(y)), floats(entered(t))
    weights = np.ones_like(places) if w is None else floats(entered(w))
    axis = axis % values.ndim
    values = np.moveaxis(values, axis, 0)
    if places.ndim != 1 or weights.shape != places.shape or places.shape[0] != values.shape[0]:
        raise ValueError(f"Shapes of x {places.shape}, y {values.shape} and weights {weights.shape} are incompatible")
    count = int(knots.shape[0]) - k - 1
    if int(places.shape[0]) < count:
        raise numpy.linalg.LinAlgError(f"{int(places.shape[0])} places do not determine {count} coefficients")
    given = (x, y, t, w)
    basis = BSpline._made(knots, np.eye(count, dtype=places.dtype), k, True, 0, given)._at(places, 0, True)
    turned, triangle = linalg.qr(basis * weights[:, None])
    right = np.reshape(values, (int(places.shape[0]), -1)) * weights[:, None]
    c = np.reshape(linalg.solve_triangular(triangle, turned.T @ right, lower=False), (count, *values.shape[1:]))
    return BSpline._made(knots, c, k, True, axis, given)


def splrep(
    x: ArrayLike,
    y: ArrayLike,
    w: ArrayLike | None = None,
    xb: object = None,
    xe: object = None,
    k: int = 3,
    task: int = 0,
    s: ArrayLike | None = None,
    t: ArrayLike | None = None,
    full_output: object = 0,
    per: object = 0,
    quiet: object = 1,
) -> Any:
    """The spline through points as (t, c, k), with gradients in the places and values; without smoothing."""
    only("interpolate.splrep", w=(w, None), xb=(xb, None), xe=(xe, None), task=(task, 0), s=(s, None, 0, 0.0))
    only("interpolate.splrep", t=(t, None), full_output=(full_output, 0, False), per=(per, 0, False))
    made = make_interp_spline(x, y, k)
    c = np.concatenate([made._c, np.zeros(k + 1, made._c.dtype)])
    return kept(made._t, x, y), kept(c, x, y), k


def splev(x: ArrayLike, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """A spline given as (t, c, k) or a BSpline, or its derivative, with gradients in places, knots and coefficients.

    Outside of the knots derivatives are those of the outermost pieces."""
    spline = _spline(tck)
    if ext not in (0, 1, 2, 3):
        raise ValueError(f"ext = {ext} not in (0, 1, 2, 3) ")
    places = floats(entered(x))
    first, last = spline._t[spline.k], spline._t[int(spline._c.shape[0])]
    if ext == 3 and not der:  # derivatives are those beyond the ends, as FITPACK has them
        return kept(spline._at(np.clip(places, first, last), der, True), x, *spline._given)
    found = spline._at(places, der, True)
    if ext == 1:
        found = np.where((places < first) | (places > last), 0.0, found)
    elif ext == 2 and bool(np.any(stop_gradient((places < first) | (places > last)))):
        raise ValueError("x is outside of the spline's knots")
    return kept(found, x, *spline._given)


def _spline(tck: Any) -> BSpline:
    return tck if isinstance(tck, BSpline) else BSpline(*tck)


def splint(a: ArrayLike, b: ArrayLike, tck: Any, full_output: int = 0) -> Any:
    """The integral from a to b of a spline given as (t, c, k) or a BSpline, which is 0 outside of its knots."""
    only("interpolate.splint", full_output=(full_output, 0, False))
    return _spline(tck).integrate(a, b, False)


def spalde(x: ArrayLike, tck: Any) -> Any:
    """All derivatives, of the orders 0 to k, of a spline given as (t, c, k), along the last axis."""
    spline = _spline(tck)
    places = floats(entered(x))
    return kept(np.stack([spline._at(places, nu, True) for nu in range(spline.k + 1)], -1), x, *spline._given)


def splantider(tck: Any, n: int = 1) -> Any:
    """The integral from the first knot of a spline, in the form in which that is given."""
    found = _spline(tck).antiderivative(n)
    if isinstance(tck, BSpline):
        return found
    c = np.concatenate([found._c, np.broadcast_to(found._c[-1:], (found.k + 1, *found._c.shape[1:]))])
    return found.t, kept(c, *found._given), found.k


def sproot(tck: Any, mest: int = 10) -> Any:
    """The zeros of a cubic spline given as (t, c, k) or a BSpline, which move with knots and coefficients."""
    spline = _spline(tck)
    if spline.k != 3:
        raise ValueError("sproot works only for cubic (k=3) splines")
    t, c = plain_numbers(spline._t), plain_numbers(spline._c)
    found = scipy("interpolate").sproot((t, numpy.concatenate([c, numpy.zeros(4)]), 3), mest)
    return kept(followed_place(floats(found), spline._as_tensors, spline.derivative()._as_tensors), *spline._given)


__all__ = [
    "BSpline", "make_interp_spline", "make_lsq_spline", "spalde", "splantider", "splev", "splint", "splrep", "sproot",
]  # fmt: skip
