"""SciPy's solvers with SciPy's signatures: solutions follow what their equations depend on.

SciPy finds the numbers; derivatives are those of the equation that holds there. Jacobians, Hessians and slopes that a
call gives are not needed, since ours are exact, and are not used.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy

from .. import linalg, optimize
from .. import numpy as np
from .._control.values import Leaves
from .._core.argument_types import ArrayLike
from .._core.constant import constant
from .._core.engine import ndarray_of
from .._core.scipy_modules import scipy
from .._core.state import STATE, pausing, watchers
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..differentiation.derivatives import jacobian
from ..differentiation.functional import grad
from ..differentiation.implicit import followed_root
from ..errors import LostGradientError, TracingError
from ..ops.promotion import as_tensor, named
from ._conversions import Array, entered, floats, recorded
from ._namespace import only


def _as_tuple(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


def _numbers(x: ArrayLike) -> Array:
    if STATE.builder is not None:
        raise TracingError(
            at_user_line(
                "scipy.optimize: SciPy's solvers need numbers, which a trace does not have; call them outside, or use "
                "wg.custom_root"
            )
        )
    with pausing(watchers()):
        return numpy.array(ndarray_of(as_tensor(np.asarray(x))._data))


def _plain(f: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    """A function for SciPy."""

    def call(x: ArrayLike) -> Any:
        with pausing(watchers()):
            found = _numbers(f(x, *args))
        return found if found.ndim else float(found)

    return call


def _followed(f: Callable[..., Any], x: ArrayLike, args: tuple[Any, ...], name: str) -> Any:
    """A root that was found, as a function of what the equation depends on."""
    at = constant(numpy.asarray(x, float))
    given = (*(as_tensor(a) if isinstance(a, (numpy.ndarray, float)) else a for a in args),)
    return followed_root(lambda v, *rest: np.asarray(f(v, *rest)), Leaves(at), [at], given, name)


# -- roots of one unknown ----------------------------------------------------------------------------------------------


def _bracketed(
    name: str,
    f: Callable[..., Any],
    a: ArrayLike,
    b: ArrayLike,
    args: tuple[Any, ...],
    full_output: bool,
    options: dict[str, Any],
) -> Any:
    args = _as_tuple(args)
    solver = getattr(scipy("optimize"), name)
    root, report = solver(_plain(f, args), float(_numbers(a)), float(_numbers(b)), full_output=True, **options)
    x = _followed(f, root, args, f"scipy.optimize.{name}")
    report.root = x
    return (x, report) if full_output else x


_EPS = 8.881784197001252e-16


def _bracketing(name: str) -> Callable[..., Any]:
    """SciPy's function of that name, one of those that differ in their method alone."""

    def find(
        f: Callable[..., Any],
        a: ArrayLike,
        b: ArrayLike,
        args: tuple[Any, ...] = (),
        xtol: float = 2e-12,
        rtol: float = _EPS,
        maxiter: int = 100,
        full_output: bool = False,
        disp: bool = True,
    ) -> Any:
        """A root between two places, with gradients in args and what f uses from outside."""
        options = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter, "disp": disp}
        return _bracketed(name, f, a, b, args, full_output, options)

    named(find, name)
    return recorded(find)


brentq, brenth, ridder, bisect = map(_bracketing, ("brentq", "brenth", "ridder", "bisect"))


@recorded
def toms748(
    f: Callable[..., Any], a: ArrayLike, b: ArrayLike, args: tuple[Any, ...] = (), k: int = 1, xtol: float = 2e-12,
    rtol: float = _EPS, maxiter: int = 100, full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    """A root between two places, with gradients in args and what f uses from outside."""
    options = {"k": k, "xtol": xtol, "rtol": rtol, "maxiter": maxiter, "disp": disp}
    return _bracketed("toms748", f, a, b, args, full_output, options)


@recorded
def newton(
    func: Callable[..., Any], x0: ArrayLike, fprime: Callable[..., Any] | None = None, args: Any = (),
    tol: float = 1.48e-8, maxiter: int = 50, fprime2: Any = None, x1: ArrayLike | None = None, rtol: float = 0.0,
    full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    """A root near a place, or for an array of places one of each, with gradients in args and what func uses."""
    args = _as_tuple(args)
    slopes = [None if f is None else _plain(f, args) for f in (fprime, fprime2)]
    start, second = _numbers(x0), None if x1 is None else _numbers(x1)
    start = start if start.ndim else float(start)
    second = second if second is None or second.ndim else float(second)
    found = scipy("optimize").newton(
        _plain(func, args), start, slopes[0], tol=tol, maxiter=maxiter, fprime2=slopes[1], x1=second, rtol=rtol,
        full_output=full_output, disp=disp,
    )  # fmt: skip
    x = _followed(func, found[0] if full_output else found, args, "scipy.optimize.newton")
    return (x, *found[1:]) if full_output else x


@recorded
def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Callable[..., Any] | None = None,
    fprime2: object = None,
    x0: ArrayLike | None = None,
    x1: ArrayLike | None = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: SupportsIndex | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """A root of a function of one number, with gradients in args and what f uses from outside."""
    args = _as_tuple(args)
    value = f
    if fprime is True or fprime2 is True:

        def value(x: ArrayLike, *rest: object) -> Any:
            return f(x, *rest)[0]

        fprime, fprime2 = None, None
    slopes = [_plain(g, args) if callable(g) else None for g in (fprime, fprime2)]
    if slopes[0] is None and (method in ("newton", "halley") or (method is None and bracket is None and x1 is None)):
        slopes[0] = _plain(grad(lambda x, *rest: value(x, *rest)), args)
        method = "newton" if method != "halley" else method
    if slopes[1] is None and method == "halley":
        slopes[1] = _plain(grad(grad(lambda x, *rest: value(x, *rest))), args)
    found = scipy("optimize").root_scalar(
        _plain(value, args), method=method, bracket=None if bracket is None else [float(_numbers(b)) for b in bracket],
        fprime=slopes[0], fprime2=slopes[1], x0=None if x0 is None else float(_numbers(x0)),
        x1=None if x1 is None else float(_numbers(x1)), xtol=xtol, rtol=rtol, maxiter=maxiter, options=options,
    )  # fmt: skip
    found.root = _followed(value, found.root, args, "scipy.optimize.root_scalar")
    return found


# -- systems and minima ------------------------------------------------------------------------------------------------


def _first_of(fun: Callable[..., Any], is_pair: bool) -> Callable[..., Any]:
    """A function that returns its slopes, too, without them."""

    def first(*args: Tensor) -> Any:
        return fun(*args)[0] if is_pair else fun(*args)

    return first


def _start(x0: ArrayLike) -> Any:
    start = np.atleast_1d(np.asarray(x0))
    return start.astype(float) if start.dtype.kind in "iub" else start


@recorded
def minimize(
    fun: Callable[..., Any], x0: ArrayLike, args: tuple[Any, ...] = (), method: str | None = None,
    jac: Callable[..., Any] | None = None, hess: object = None, hessp: object = None, bounds: object = None,
    constraints: object = (), tol: Any = None, callback: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """A minimum, with gradients in args and what fun uses from outside; jac, hess and hessp are not needed."""
    return optimize.minimize(
        _first_of(fun, jac is True), _start(x0), _as_tuple(args), method, bounds=bounds, constraints=constraints,
        tol=tol, callback=callback, options=options,
    )  # fmt: skip


@recorded
def least_squares(
    fun: Any, x0: Any, jac: object = "2-point", bounds: Any = (-numpy.inf, numpy.inf), method: str = "trf",
    ftol: float = 1e-8, xtol: float = 1e-8, gtol: float = 1e-8, x_scale: object = None, loss: Any = "linear",
    f_scale: float = 1.0, diff_step: object = None, tr_solver: object = None, tr_options: object = None,
    jac_sparsity: object = None, max_nfev: object = None, verbose: int = 0, args: Any = (), kwargs: Any = None,
    callback: Callable[..., Any] | None = None, workers: int | None = None,
) -> Any:  # fmt: skip
    """A fit by least squares, with gradients in args and what fun uses from outside; jac is not needed."""
    if callable(loss):
        raise LostGradientError(
            at_user_line(
                "scipy.optimize.least_squares: a function as loss cannot be followed; name one, or minimize the cost"
            )
        )
    options = {
        "ftol": ftol,
        "xtol": xtol,
        "gtol": gtol,
        "tr_solver": tr_solver,
        "max_nfev": max_nfev,
        "verbose": verbose,
    }
    options |= {} if x_scale is None else {"x_scale": x_scale}
    options |= {} if tr_options is None else {"tr_options": tr_options}
    options |= {} if callback is None else {"callback": callback}
    return optimize.least_squares(
        functools.partial(fun, **(kwargs or {})), _start(x0), _as_tuple(args), method, bounds=bounds, loss=loss,
        f_scale=f_scale, **options,
    )  # fmt: skip


@recorded
def root(
    fun: Any, x0: Any, args: Any = (), method: str = "hybr", jac: Any = None, tol: Any = None, callback: Any = None,
    options: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """A root of a vector function, with gradients in args and what fun uses from outside; jac is not needed."""
    return optimize.root(
        _arrays(_first_of(fun, jac is True)), _start(x0), _as_tuple(args), method, tol=tol, callback=callback,
        options=options,
    )  # fmt: skip


def _arrays(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function with an array for the list that it returns."""

    def of_list(*args: Tensor) -> Any:
        return np.atleast_1d(np.asarray(f(*args)))

    return of_list


@recorded
def fsolve(
    func: Callable[..., Any], x0: ArrayLike, args: tuple[Any, ...] = (), fprime: Callable[..., Any] | None = None,
    full_output: object = 0, col_deriv: object = 0, xtol: float = 1.49012e-8, maxfev: int = 0, band: object = None,
    epsfcn: object = None, factor: object = 100, diag: object = None,
) -> Any:  # fmt: skip
    """A root of a vector function, with gradients in args and what func uses from outside; fprime is not needed."""
    options = {"xtol": xtol, "maxfev": maxfev, "factor": factor, "diag": diag}
    found = optimize.root(_arrays(func), _start(x0), _as_tuple(args), "hybr", options=options)
    if not full_output:
        return found.x
    info = {key: found[key] for key in ("nfev", "njev", "fjac", "r", "qtf") if key in found}
    return found.x, {**info, "fvec": found.fun}, found.status, found.message


@recorded
def minimize_scalar(
    fun: Callable[..., Any],
    bracket: object = None,
    bounds: Any = None,
    args: tuple[Any, ...] = (),
    method: str | None = None,
    tol: ArrayLike | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """A minimum of a function of one number, with gradients in args and what fun uses from outside."""
    args = _as_tuple(args)
    found = scipy("optimize").minimize_scalar(
        _plain(fun, args), bracket, bounds, method=method, tol=tol, options=options
    )
    slope = grad(lambda x, *rest: fun(x, *rest), unconnected_gradients="zero")
    x: Any = float(found.x)
    near = [] if bounds is None else [b for b in map(float, bounds) if abs(x - b) <= 1e-4 * (1 + abs(b))]
    # at a bound that holds it the minimum does not move
    if not near or abs(_plain(slope, args)(x)) <= 1e-3 * (1 + abs(_plain(fun, args)(x))):
        x = _followed(slope, x, args, "scipy.optimize.minimize_scalar")
    found.x, found.fun = x, fun(x, *args)
    return found


@recorded
def curve_fit(
    f: Any, xdata: Any, ydata: Any, p0: Any = None, sigma: Any = None, absolute_sigma: bool = False,
    check_finite: Any = None, bounds: Any = (-numpy.inf, numpy.inf), method: Any = None, jac: Any = None, *,
    full_output: bool = False, nan_policy: Any = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """The parameters of a curve and their covariance, with gradients in the data, sigma and what f uses."""
    only("optimize.curve_fit", full_output=(full_output, False), nan_policy=(nan_policy, None, "raise"))
    y = floats(ydata)
    x = xdata if callable(xdata) or not isinstance(xdata, (list, tuple)) else np.asarray(xdata)
    width = None if sigma is None else floats(sigma)
    if p0 is None:
        names = [*inspect.signature(f).parameters]
        if len(names) < 2:
            raise ValueError("Unable to determine number of fit parameters.")
        low, high = _bounds(bounds, len(names) - 1)
        p0 = _feasible(low, high)
    start = _start(p0)
    limits = _bounds(bounds, int(start.shape[0]))
    is_bounded = bool(numpy.any(limits[0] > -numpy.inf) or numpy.any(limits[1] < numpy.inf))
    method = method or ("trf" if is_bounded else "lm")

    def residual(p: Any, x: Any, y: Any, width: Any) -> Any:
        gap = f(x, *[p[i] for i in range(int(start.shape[0]))]) - y
        if width is None:
            return gap
        return gap / width if width.ndim < 2 else linalg.solve(linalg.cholesky(width), gap)

    found = optimize.least_squares(residual, start, (x, y, width), method, bounds=limits, **kwargs)
    if not found.success:
        raise RuntimeError(f"Optimal parameters not found: {found.message}")
    popt = as_tensor(found.x)
    slopes = jacobian(lambda p: residual(p, x, y, width))(popt)
    covariance = linalg.inv(slopes.T @ slopes)
    count = int(y.size) - int(start.shape[0])
    if not absolute_sigma:
        spread = 2 * found.cost / count if count > 0 else numpy.inf
        covariance = covariance * spread
    return popt, covariance


def _ends(bounds: Any) -> tuple[Any, Any]:
    return (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds


def _bounds(bounds: Any, count: int) -> tuple[Array, Array]:
    low, high = _ends(bounds)
    return numpy.broadcast_to(numpy.asarray(low, float), count), numpy.broadcast_to(numpy.asarray(high, float), count)


def _feasible(low: Array, high: Array) -> Array:
    """SciPy's start between bounds."""
    is_low, is_high = numpy.isfinite(low), numpy.isfinite(high)
    start = numpy.ones(len(low))
    start[is_low & is_high] = 0.5 * (low[is_low & is_high] + high[is_low & is_high])
    start[is_low & ~is_high] = low[is_low & ~is_high] + 1
    start[~is_low & is_high] = high[~is_low & is_high] - 1
    return start


@recorded
def nnls(A: ArrayLike, b: ArrayLike, *, maxiter: SupportsIndex | None = None, **options: object) -> Any:
    """The least squares solution without negative elements, with gradients in A and b."""
    A, b = floats(A), floats(b)
    x, _ = scipy("optimize").nnls(_numbers(A), _numbers(b), maxiter=maxiter)
    free = numpy.flatnonzero(x > 0)  # those that 0 holds do not move
    columns = np.take(A, free, axis=1)
    solved = linalg.solve(columns.T @ columns, columns.T @ b) if len(free) else np.zeros(0)
    found = np.zeros(len(x), A.dtype).at[free].set(solved)
    gap = A @ found - b
    return found, np.sqrt(np.sum(gap * gap))


@recorded
def lsq_linear(
    A: Any, b: ArrayLike, bounds: Any = (-numpy.inf, numpy.inf), method: str = "trf", tol: float = 1e-10,
    lsq_solver: Any = None, lsmr_tol: Any = None, max_iter: Any = None, verbose: int = 0, *, lsmr_maxiter: Any = None,
) -> Any:  # fmt: skip
    """The least squares solution between bounds, with gradients in A, b and the bounds that hold elements."""
    A, b = floats(A.toarray() if hasattr(A, "toarray") else A), floats(b)
    count = int(A.shape[1])
    low, high = (np.broadcast_to(floats(end), (count,)) for end in _ends(bounds))
    found = scipy("optimize").lsq_linear(
        _numbers(A), _numbers(b), (_numbers(low), _numbers(high)), method, tol, lsq_solver, lsmr_tol, max_iter, verbose,
        lsmr_maxiter=lsmr_maxiter,
    )  # fmt: skip
    held = found.active_mask
    x = np.where(held < 0, low, np.where(held > 0, high, 0.0))
    free = numpy.flatnonzero(held == 0)
    if len(free):
        x = x.at[free].set(linalg.lstsq(np.take(A, free, axis=1), b - A @ x)[0])
    else:
        x = x + 0.0 * (A.T @ b)  # whose slope is 0 there, not missing
    gap = A @ x - b
    found.update(x=x, fun=gap, cost=0.5 * np.sum(gap * gap))
    return found


@recorded
def leastsq(
    func: Callable[..., Any], x0: ArrayLike, args: Any = (), Dfun: object = None, full_output: bool = False,
    col_deriv: bool = False, ftol: float = 1.49012e-8, xtol: float = 1.49012e-8, gtol: float = 0.0, maxfev: int = 0,
    epsfcn: Any = None, factor: float = 100, diag: Any = None,
) -> Any:  # fmt: skip
    """A fit by least squares, with gradients in args and what func uses from outside; Dfun is not needed."""
    args = (*map(entered, _as_tuple(args)),)
    start = np.reshape(_start(x0), -1)
    known, _, info, message, ier = scipy("optimize").leastsq(
        _plain(func, args), _numbers(start), (), None, True, False, ftol, xtol, gtol, maxfev, epsfcn, factor, diag
    )
    if ier not in (1, 2, 3, 4):
        x = as_tensor(known)
    else:  # from where SciPy ended
        x = as_tensor(optimize.least_squares(func, known, args, "lm").x)
    if not full_output:
        return x, ier
    slopes = jacobian(lambda p: func(p, *args))(x)
    return x, linalg.inv(slopes.T @ slopes), {**info, "fvec": func(x, *args)}, message, ier


def linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> Any:
    """The assignment of least cost: whole numbers, which have no gradient; index the costs with them."""
    return scipy("optimize").linear_sum_assignment(_numbers(cost_matrix), maximize)


__all__ = [
    "bisect", "brenth", "brentq", "curve_fit", "fsolve", "least_squares", "leastsq", "linear_sum_assignment",
    "lsq_linear", "minimize", "minimize_scalar", "newton", "nnls", "ridder", "root", "root_scalar", "toms748",
]  # fmt: skip
