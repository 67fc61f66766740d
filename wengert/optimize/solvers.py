"""`minimize`, `least_squares` and `root`: SciPy's solvers with exact derivatives, differentiable through the solution.

SciPy works on vectors of doubles; here the unknowns may be nested structures, and gradients, Jacobians and Hessian
products are supplied. What comes out follows the arguments by the implicit function theorem at the solution.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from .._compile.arguments import array_argument, require_callable
from .._control.values import Leaves, connected
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.caller import NUMPY, caller_of
from .._core.constant import constant
from .._core.kinds import DICTS, TUPLES
from .._core.progress import following
from .._core.public import public
from .._core.scipy_modules import scipy
from .._core.state import STATE, pausing, watchers
from .._core.structure import flatten
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims.structural import cast, fill, select, slice_, sub
from ..differentiation.derivatives import hessian, hvp, jacobian
from ..differentiation.functional import grad, of_scalar, value_and_grad
from ..differentiation.implicit import followed_root, started
from ..errors import TracingError
from ..ops.elementwise import arctan, log1p, sqrt
from ..ops.promotion import as_ndarray, as_tensor
from ..tree import ravel
from ._ipopt import cyipopt, solved
from ._sparse import hessian_of, jacobian_of, numbers, plain

__all__ = ["least_squares", "minimize", "root"]

Array = np.ndarray[Any, Any]

_WITHOUT_GRADIENT = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
_WITH_PRODUCTS = frozenset({"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"})
_WITH_HESSIAN = frozenset({"dogleg", "trust-exact"})
_WITH_SPARSE_HESSIAN = frozenset({"newton-cg", "trust-constr"})
_WITH_SPARSE_CONSTRAINTS = frozenset({"trust-constr"})
_ROOTS_WITH_JACOBIAN = frozenset({"hybr", "lm"})
_NEAR = 1e-6  # how near a bound, relative to 1 + |bound|, counts as on it


@public
def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    method: str | None = None,
    *,
    bounds: Any = None,
    constraints: object = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
    sparsity: object = None,
    progress: object = None,
) -> Any:
    """Minimises a function with `scipy.optimize.minimize`, exact derivatives supplied.

    The gradient goes to every method that takes one, Hessian products to Newton-CG, trust-ncg, trust-krylov and
    trust-constr, the Hessian to dogleg and trust-exact. Where constraints are given, trust-constr gets sparse Jacobians
    and Hessians of all that has few entries, found at x0, and SLSQP arrays that took few passes; functions that cannot
    be traced are differentiated densely. "ipopt" is Ipopt by cyipopt, with the constraints' Jacobian and the
    Lagrangian's Hessian in their sparse form. The solution is differentiable with respect to `args` and to
    what `fun` uses from outside, to any order, by the implicit function theorem at the solution: its gradient is zero
    there; unknowns on a bound that holds them count as fixed, and active constraints as equations with multipliers.

    Args:
        fun: `fun(x, *args)` returns a scalar.
        x0: the start: an array, a number or a nested structure of them. `fun` gets x in double precision.
        args: a tuple of further arguments of `fun`, nested or not.
        method: SciPy's name (or a callable of its kind), or "ipopt".
        bounds: as SciPy's, element by element; or a pair (lower, upper) of structures like x0.
        constraints: as SciPy's: a dict with `type` and `fun`, or a list; `fun` gets x in x0's structure. Derivatives
            are supplied. Of `LinearConstraint` the matrix applies to x's elements in order.
        tol, options: as SciPy's; of "ipopt" Ipopt's options by name, `maxiter` and `disp`.
        callback: as SciPy's; gets x in x0's structure.
        sparsity: of the Hessian, as for `hessian`; Newton-CG and trust-constr then get sparse Hessians.
        progress: True shows the evaluations of `fun` as they come, with tqdm where that is installed; a function is
            called after each with a `Progress(what, done, total, note)`, whose `note` says the value.

    Returns:
        SciPy's `OptimizeResult`: `x` in x0's structure, shapes, dtypes and the arguments' kind of array; `fun` follows
        the arguments, too; the other fields are SciPy's, on vectors.

    Raises:
        TypeError: `fun` is not callable, or x0 is not floating.
        ValueError: `fun` does not return a scalar, or `sparsity` with another method.
        TracingError: in a trace: SciPy needs numbers.
        ModuleNotFoundError: "ipopt" without cyipopt.
        numpy.linalg.LinAlgError: (from the derivative) the second derivative is singular at the solution.

    Example:
        >>> import numpy as np, wengert as wg
        >>> def best(a):
        ...     return wg.optimize.minimize(lambda x, a: ((x - a) ** 2).sum() + x[0] * x[1], np.zeros(2), (a,)).x
        >>> best(np.array([2.0, 3.0])).round(4)
        array([0.6667, 2.6667])
        >>> wg.jacobian(best)(np.array([2.0, 3.0])).round(4)
        array([[ 1.3333, -0.6667],
               [-0.6667,  1.3333]])
    """
    problem = _Problem("minimize", fun, x0, args, progress)
    return _minimize(problem, method, bounds, constraints, tol, callback, options, sparsity)


@public
def least_squares(
    fun: Callable[..., Any], x0: ArrayLike, args: tuple[Any, ...] = (), method: str | None = None, *,
    bounds: object = (-np.inf, np.inf), loss: str = "linear", f_scale: float = 1.0, sparsity: object = None,
    progress: object = None, **options: object,
) -> Any:  # fmt: skip
    """Solves a nonlinear least-squares problem with `scipy.optimize.least_squares`, the exact Jacobian supplied.

    The solution is differentiable with respect to `args` and to what `fun` uses from outside, to any order, by the
    implicit function theorem: the gradient of the cost is zero there (the residuals' second derivatives count);
    unknowns on a bound that holds them count as fixed.

    Args:
        fun: `fun(x, *args)` returns the residuals: an array or a nested structure of them.
        x0: the start: an array, a number or a nested structure of them. `fun` gets x in double precision.
        args: a tuple of further arguments of `fun`, nested or not.
        method: "trf" (the default), "dogbox" or "lm".
        bounds: as SciPy's: a pair (lower, upper) of numbers, of arrays or of structures like x0; or a `Bounds`.
        loss: "linear", "soft_l1", "huber", "cauchy" or "arctan".
        f_scale: as SciPy's.
        sparsity: of the Jacobian, as for `jacobian`: a pattern, "detect" or a `Coloring`; then SciPy gets sparse
            matrices.
        progress: True shows the evaluations of `fun` as they come, with tqdm where that is installed; a function is
            called after each with a `Progress(what, done, total, note)`, whose `note` says the sum of squares.
        **options: SciPy's other options, by name (`ftol`, `xtol`, `gtol`, `x_scale`, `max_nfev`, ...).

    Returns:
        SciPy's `OptimizeResult`: `x` in x0's structure, shapes, dtypes and the arguments' kind of array; `cost` follows
        the arguments, too; the other fields are SciPy's, on vectors.

    Raises:
        TypeError: `fun` is not callable, x0 is not floating, or an unknown option.
        ValueError: an unknown `loss`.
        TracingError: in a trace: SciPy needs numbers.
        numpy.linalg.LinAlgError: (from the derivative) the cost's second derivative is singular at the solution.

    Example:
        >>> import numpy as np, wengert as wg
        >>> t = np.linspace(0.0, 1.0, 4)
        >>> def fit(y):
        ...     return wg.optimize.least_squares(lambda p, y: p["a"] + p["b"] * t - y, {"a": 0.0, "b": 0.0}, (y,)).x
        >>> float(fit(1 + 2 * t)["b"].round(6))
        2.0
        >>> wg.grad(lambda y: fit(y)["b"])(1 + 2 * t).round(6)
        array([-0.9, -0.3,  0.3,  0.9])
    """
    problem = _Problem("least_squares", fun, x0, args, progress)
    return _least_squares(problem, method or "trf", bounds, loss, f_scale, sparsity, options)


@public
def root(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    method: str | None = None,
    *,
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
    progress: object = None,
) -> Any:
    """Finds a root of a function with `scipy.optimize.root`, the exact Jacobian supplied to "hybr" and "lm".

    The root is differentiable with respect to `args` and to what `fun` uses from outside, as by `custom_root`.

    Args:
        fun: `fun(x, *args)` returns as many numbers as x holds, in any structure.
        x0: the start: an array, a number or a nested structure of them. `fun` gets x in double precision.
        args: a tuple of further arguments of `fun`, nested or not.
        method: SciPy's name; by default "hybr".
        tol, options: as SciPy's.
        callback: as SciPy's; gets x and the residual as vectors.
        progress: True shows the evaluations of `fun` as they come, with tqdm where that is installed; a function is
            called after each with a `Progress(what, done, total, note)`, whose `note` says the sum of squares.

    Returns:
        SciPy's `OptimizeResult`: `x` in x0's structure, shapes, dtypes and the arguments' kind of array; the other
        fields are SciPy's, on vectors.

    Raises:
        TypeError: `fun` is not callable, or x0 is not floating.
        ValueError: `fun` returns another number of elements than x holds.
        TracingError: in a trace: SciPy needs numbers.
        numpy.linalg.LinAlgError: (from the derivative) the Jacobian is singular at the root.

    Example:
        >>> import numpy as np, wengert as wg
        >>> f = lambda x, a: x**3 - a
        >>> wg.optimize.root(f, np.ones(2), (np.array([8.0, 27.0]),)).x.round(6)
        array([2., 3.])
        >>> wg.grad(lambda a: wg.optimize.root(f, np.ones(2), (a,)).x)(np.array([8.0, 27.0])).round(6)
        array([0.083333, 0.037037])
    """
    problem = _Problem("root", fun, x0, args, progress)
    return _root(problem, method or "hybr", tol, callback, options)


# -- what the three have in common ------------------------------------------------------------------------------------


class _Problem:
    """A function of structured unknowns, as one of a vector of doubles."""

    def __init__(self, name: str, fun: Callable[..., Any], x0: ArrayLike, args: tuple[Any, ...], progress: Any) -> None:
        require_callable(fun, name)
        self.name, self.progress = name, progress
        if STATE.builder is not None:
            raise TracingError(
                at_user_line(
                    f"{name}: SciPy needs numbers, which a trace (a function, vmap, a loop's body) has not; call it "
                    f"outside, or use wg.custom_root with a solver of wg's functions"
                )
            )
        args = args if isinstance(args, TUPLES) else (args,)
        self.name = name
        self.fun = fun
        self.caller = caller_of((x0, *args))
        self.args = (*map(array_argument, args),)
        self.start = started(x0, f"{name}: x0")
        if any(dtypes.is_complex(x.dtype) for x in self.start.tensors):
            raise TypeError(at_user_line(f"{name}: x0 is complex; SciPy's solvers take real unknowns"))
        self._as_given = ravel([*self.start.tensors])[1]
        flat, self._unravel = ravel([cast(x, dtypes.float64) for x in self.start.tensors])
        self.x0 = numbers(flat)

    def structured(self, x: ArrayLike) -> Any:
        """A vector as the unknowns, tensors."""
        return self.start.rebuilt(self._unravel(as_tensor(x)))

    def value(self, x: ArrayLike, *args: Tensor) -> Any:
        """The function of a vector."""
        return self.fun(self.structured(x), *args)

    def vector(self, x: ArrayLike, *args: Any) -> Tensor:
        """The function's results as a vector."""
        found = Leaves(self.value(x, *args), f"{self.name}: fun(x)").tensors
        if not found:
            raise TypeError(at_user_line(f"{self.name}: fun returned no array"))
        return ravel(found)[0]

    def finish(self, result: Any, x: ArrayLike) -> Any:
        """SciPy's result with the unknowns in place."""
        tensors = self._as_given(as_tensor(x))
        result.x = self.caller.result(self.start.rebuilt(connected(tensors, self.start.tensors)))
        return result

    def called_back(self, callback: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """A callback for SciPy, which looks at the names of its parameters."""
        if callback is None:
            return None
        try:
            names = list(inspect.signature(callback).parameters)
        except (TypeError, ValueError):
            names = []
        if names == ["intermediate_result"]:

            def of_result(intermediate_result: Any) -> Any:
                intermediate_result.x = NUMPY.result(self.structured(intermediate_result.x))
                return callback(intermediate_result=intermediate_result)

            return of_result

        def of_unknowns(x: ArrayLike, *rest: object) -> Any:
            return callback(NUMPY.result(self.structured(x)), *rest)

        return of_unknowns

    @contextmanager
    def shown(self, fun: Callable[..., Any], note: Callable[[Any], str]) -> Generator[Callable[..., Any]]:
        """A function for SciPy, its evaluations shown where somebody asked for progress.

        Args:
            fun: the function.
            note: what to say of a result.
        """
        with following(self.progress, self.name) as step:
            count = itertools.count(1)

            def evaluated(x: Array) -> Any:
                found = fun(x)
                if step is not None:
                    step(next(count), note(found))
                return found

            yield fun if step is None else evaluated

    def element_bounds(self, bounds: Any) -> tuple[Array, Array]:
        """Bounds as two vectors."""
        size = len(self.x0)
        if hasattr(bounds, "lb"):
            lower, upper = bounds.lb, bounds.ub
        elif self._is_pair(bounds):
            lower, upper = map(self._one_bound, bounds)
        else:
            pairs = list(bounds)
            if len(pairs) != size:
                raise ValueError(at_user_line(f"{self.name}: {len(pairs)} pairs of bounds for {size} unknowns"))
            lower = [-np.inf if low is None else float(low) for low, _ in pairs]
            upper = [np.inf if high is None else float(high) for _, high in pairs]
        wide = (*[np.broadcast_to(as_ndarray(b, self.name).astype(np.float64), (size,)) for b in (lower, upper)],)
        return wide[0], wide[1]

    def _is_pair(self, bounds: Sequence[Any]) -> bool:
        """Whether bounds are given as lower and upper ones, each for all unknowns."""
        if self.name == "least_squares":
            return True
        nested = self.start.spec is not None
        return nested and isinstance(bounds, TUPLES) and len(bounds) == 2 and flatten(bounds[0])[1] == self.start.spec

    def _one_bound(self, bound: object) -> Any:
        leaves, spec = flatten(bound)
        if spec is None:
            return as_ndarray(leaves[0], self.name).astype(np.float64).reshape(-1) if np.ndim(leaves[0]) else leaves[0]
        if spec != self.start.spec:
            raise ValueError(at_user_line(f"{self.name}: bounds have another structure than x0"))
        parts: list[Any] = []
        for place, x in zip(self.start.places, self.start.tensors, strict=True):
            shape: Any = x.shape
            parts.append(np.broadcast_to(as_ndarray(leaves[place], self.name).astype(np.float64), shape).reshape(-1))
        return np.concatenate(parts)


def _of_numbers(f: Callable[..., Any], args: tuple[Any, ...], is_sparse: bool = False) -> Callable[[Array], Any]:
    """A function of a vector, for SciPy."""

    def of_numbers(x: Array) -> Any:
        found = f(plain(x), *args)
        return found if is_sparse else numbers(found)

    return of_numbers


def _is_followed() -> bool:
    return bool(STATE.recorders)


def _follow(equation: Callable[..., Any], x: Array, problem: _Problem) -> Tensor:
    """A vector that solves an equation, as a function of what the equation depends on."""
    at = plain(x)
    return followed_root(equation, Leaves(at), [at], problem.args, problem.name)


def _held(x: Tensor, value: Tensor, is_fixed: Array, at: Array) -> Tensor:
    """An equation in which fixed unknowns stay where they are."""
    if not is_fixed.any():
        return value
    return select(constant(is_fixed), sub(x, constant(at)), value)


def _on_bounds(x: Array, slope: Array, lower: Array, upper: Array) -> Array:
    """Which unknowns a bound holds: those on it that would go further down the slope."""
    with np.errstate(invalid="ignore"):
        low = (x - lower <= _NEAR * (1 + abs(lower))) & (slope > 0)
        high = (upper - x <= _NEAR * (1 + abs(upper))) & (slope < 0)
    return (low & np.isfinite(lower)) | (high & np.isfinite(upper)) | (lower == upper)


# -- minimize ---------------------------------------------------------------------------------------------------------


class _Constraint(NamedTuple):
    """lower <= fun(x, *args) <= upper."""

    fun: Callable[..., Tensor]
    args: tuple[Any, ...]
    lower: Any
    upper: Any

    def value(self, x: ArrayLike) -> Tensor:
        return self.fun(x, *self.args)


def _minimize(
    problem: _Problem,
    method: str | None,
    bounds: object,
    constraints: object,
    tol: ArrayLike | None,
    callback: Callable[..., Any] | None,
    options: object,
    sparsity: object,
) -> Any:
    objective = of_scalar(problem.value, "minimize")
    limits = None if bounds is None else problem.element_bounds(bounds)
    items = _items(constraints)
    known = [_constraint(problem, item) for item in items]
    name = method.lower() if isinstance(method, str) else ""
    if name == "ipopt":
        cyipopt()
    with pausing(watchers()):
        supplied = _supplied(objective, problem, method, sparsity, bool(known))
        given, options = ([], options) if name == "ipopt" else _for_scipy(items, known, name, problem.x0, options)
    note = _value_with_slope if "jac" in supplied else _value_alone
    told = problem.called_back(callback)
    with pausing(watchers()), problem.shown(supplied.pop("fun"), note) as shown:
        result: Any
        if name == "ipopt":
            result = solved(objective, problem.args, shown, problem.x0, limits, known, tol, told, options)
        else:
            result = scipy("optimize").minimize(
                shown, problem.x0, method=method, tol=tol, callback=told,
                bounds=None if limits is None else scipy("optimize").Bounds(*limits), constraints=given,
                options=options, **supplied,
            )  # fmt: skip
    x = getattr(result, "x", None)
    if x is None:
        raise TypeError(
            at_user_line(f"minimize: method gave {type(result).__name__}, wanted SciPy's OptimizeResult with an x")
        )
    if _is_followed():
        x = _followed_minimum(problem, objective, result.x, limits, known)
        result.fun = problem.caller.result(objective(x, *problem.args))
    return problem.finish(result, x)


def _value_alone(found: float) -> str:
    return f"value {found:.6g}"


def _value_with_slope(found: tuple[float, Array]) -> str:
    return _value_alone(found[0])


def _squares(found: Array) -> str:
    return f"sum of squares {(found**2).sum():.6g}"


def _supplied(
    objective: Callable[..., Any], problem: _Problem, method: str | None, sparsity: object, is_constrained: bool
) -> dict[str, Any]:
    """The function and the derivatives that a method takes."""
    args = problem.args
    if method is not None and not callable(method):
        _require_name(method, "minimize")
    name = method.lower() if isinstance(method, str) else ""
    if sparsity is not None and name not in _WITH_SPARSE_HESSIAN:
        raise ValueError(
            at_user_line(
                f"minimize: sparsity is for the methods that take sparse Hessians, Newton-CG and trust-constr, not for "
                f"{method!r}"
            )
        )
    if name in _WITHOUT_GRADIENT:

        def value_only(x: Array) -> float:
            return float(numbers(objective(plain(x), *args)))

        return {"fun": value_only}
    both = value_and_grad(objective, unconnected_gradients="zero")

    def value_and_slope(x: Array) -> tuple[float, Array]:
        value, slope = both(plain(x), *args)
        return float(numbers(value)), numbers(slope)

    found: dict[str, Any] = {"fun": value_and_slope, "jac": True}
    if sparsity is not None:
        found["hess"] = _of_numbers(hessian(objective, sparsity=sparsity), args, is_sparse=True)
    elif name in _WITH_HESSIAN:
        found["hess"] = _of_numbers(hessian(objective), args)
    elif (own := _sparse_hessian(objective, problem, name, is_constrained)) is not None:
        found["hess"] = own
    elif name in _WITH_PRODUCTS or callable(method):

        def of_x(v: ArrayLike) -> Any:
            return objective(v, *args)

        def product(x: Array, p: Array) -> Array:
            return numbers(hvp(of_x, plain(x), plain(p)))

        found["hessp"] = product
    return found


def _sparse_hessian(
    objective: Callable[..., Any], problem: _Problem, name: str, is_constrained: bool
) -> Callable[[Array], Any] | None:
    """The Hessian for a method that takes sparse ones beside sparse constraints, where it has few entries."""
    if not (is_constrained and name in _WITH_SPARSE_CONSTRAINTS):
        return None
    matrix = hessian_of(objective, problem.args, problem.x0)
    return None if matrix.pattern is None else matrix.at


def _items(constraints: Any) -> list[Any]:
    """Constraints as a list."""
    optimize: Any = scipy("optimize")
    single = isinstance(constraints, (*DICTS, optimize.LinearConstraint, optimize.NonlinearConstraint))
    return [constraints] if single else list(constraints)


def _for_scipy(
    items: Sequence[Any], known: Sequence[_Constraint], name: str, x0: Array, options: Any
) -> tuple[list[Any], Any]:
    """Constraints as SciPy takes them, with derivatives, and the options that go with these."""
    if name not in _WITH_SPARSE_CONSTRAINTS:
        return [_with_slopes(item, made, x0) for item, made in zip(items, known, strict=True)], options
    given: list[Any] = []
    are_sparse = False
    for item, made in zip(items, known, strict=True):
        if hasattr(item, "A"):
            given.append(item)
            are_sparse |= hasattr(item.A, "tocsr")
            continue
        slopes = jacobian_of(made.fun, made.args, x0)
        are_sparse |= slopes.pattern is not None
        given.append(scipy("optimize").NonlinearConstraint(
            _values(made), made.lower, made.upper, jac=slopes.at, hess=_curvatures(made, x0),
            keep_feasible=getattr(item, "keep_feasible", False),
        ))  # fmt: skip
    # SciPy takes constraints of one form only
    return given, dict(options or {}, sparse_jacobian=True) if are_sparse else options


def _with_slopes(item: Any, made: _Constraint, x0: Array) -> Any:
    """A constraint with a Jacobian that is an array."""
    if hasattr(item, "A"):
        return item
    slopes = jacobian_of(made.fun, made.args, x0).dense_at
    if isinstance(item, DICTS):
        return {**item, "fun": _values(made), "jac": slopes, "args": ()}
    return scipy("optimize").NonlinearConstraint(
        _values(made), item.lb, item.ub, jac=slopes, keep_feasible=item.keep_feasible
    )


def _constraint(problem: _Problem, item: Any) -> _Constraint:
    if isinstance(item, DICTS):
        if item.get("type") not in ("eq", "ineq") or not callable(item.get("fun")):
            raise ValueError(
                at_user_line(
                    "minimize: a constraint is a dict with type 'eq' or 'ineq' and a callable fun, or SciPy's object"
                )
            )
        further = item.get("args", ())
        args = (*map(array_argument, further if isinstance(further, TUPLES) else (further,)),)
        upper = 0.0 if item["type"] == "eq" else np.inf
        return _Constraint(_of_structure(problem, item["fun"]), args, 0.0, upper)
    if hasattr(item, "A"):
        dense = constant(np.atleast_2d(item.A.toarray() if hasattr(item.A, "toarray") else item.A).astype(np.float64))

        def products(x: ArrayLike) -> Tensor:
            return dense @ x

        return _Constraint(products, (), item.lb, item.ub)
    if not hasattr(item, "fun"):
        raise TypeError(at_user_line(f"minimize: a constraint cannot be a {type(item).__name__}"))
    return _Constraint(_of_structure(problem, item.fun), (), item.lb, item.ub)


def _of_structure(problem: _Problem, fun: Callable[..., Any]) -> Callable[..., Tensor]:
    """A constraint's function of structured unknowns, from a vector to a vector."""

    def of_vector(x: ArrayLike, *args: Tensor) -> Tensor:
        return ravel(Leaves(fun(problem.structured(x), *args), "a constraint").tensors)[0]

    return of_vector


def _values(made: _Constraint) -> Callable[[Array], Any]:
    return _of_numbers(made.fun, made.args)


def _curvatures(made: _Constraint, x0: Array) -> Callable[[Array, Array], Any]:
    """The sum of a constraint's Hessians with weights."""

    def weighted(x: Tensor, weights: Tensor) -> Tensor:
        return (made.value(x) * weights).sum()

    return hessian_of(weighted, (), x0, np.ones(len(_values(made)(x0)))).at


def _followed_minimum(
    problem: _Problem,
    objective: Callable[..., Any],
    x: Array,
    limits: tuple[np.ndarray[Any, Any], ...] | None,
    known: Sequence[_Constraint],
) -> Tensor:
    """The minimum as a function of the arguments: there the gradient of the Lagrangian is zero."""
    slope = grad(objective, unconnected_gradients="zero")
    with pausing(watchers()):
        active = [(c, *_active(c, x)) for c in known]
        here = numbers(slope(plain(x), *problem.args))
        multipliers, remaining = _multipliers(active, here, x)
    is_fixed = np.zeros(len(x), bool) if limits is None else _on_bounds(x, remaining, *limits)
    size = len(x)

    def equation(z: Tensor, *args: Tensor) -> Tensor:
        unknowns = _part(z, 0, size)
        parts: list[Any] = []
        down = slope(unknowns, *args)
        start = size
        for made, places, targets in active:
            stop = start + len(places)
            weights = _part(z, start, stop)
            down = down - grad(_weighted)(unknowns, made, places, weights)
            parts.append(made.value(unknowns)[places] - targets)
            start = stop
        return ravel([_held(unknowns, down, is_fixed, x), *parts])[0]

    found = _follow(equation, np.concatenate([x, multipliers]), problem)
    return _part(found, 0, size)


def _weighted(x: Tensor, made: _Constraint, places: Array, weights: Tensor) -> Tensor:
    """The rows of a constraint at some places, times their multipliers."""
    return (made.value(x)[places] * weights).sum()


def _part(x: Tensor, start: int, stop: int) -> Tensor:
    return slice_(x, starts=(start,), limits=(stop,), strides=(1,))


def _active(made: _Constraint, x: Array) -> tuple[Array, Array]:
    """Which of a constraint's rows hold as equations, and what they are equal to."""
    value = numbers(made.value(plain(x)))
    lower, upper = (np.broadcast_to(np.asarray(b, np.float64), value.shape) for b in (made.lower, made.upper))
    low = abs(value - lower) <= _NEAR * (1 + abs(np.where(np.isfinite(lower), lower, 0)))
    high = abs(value - upper) <= _NEAR * (1 + abs(np.where(np.isfinite(upper), upper, 0)))
    places = np.flatnonzero(low | high)
    return places, np.where(low, lower, upper)[places]


def _multipliers(active: Sequence[Any], slope: Array, x: Array) -> tuple[Array, Array]:
    """The weights of the active rows by which their slopes make up the objective's, and what is left of that."""
    rows = [jacobian_of(c.fun, c.args, x).dense_at(x)[places] for c, places, _ in active if len(places)]
    if not rows:
        return np.empty(0), slope
    matrix = np.concatenate(rows)
    weights = np.linalg.lstsq(matrix.T, slope, rcond=None)[0]
    return weights, slope - matrix.T @ weights


# -- least_squares ----------------------------------------------------------------------------------------------------

_LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (sqrt(1 + z) - 1),
    "huber": lambda z: _huber(z),
    "cauchy": log1p,
    "arctan": arctan,
}


def _huber(z: Tensor) -> Tensor:
    is_inner = z <= 1
    return select(is_inner, z, 2 * sqrt(select(is_inner, fill(z, 1), z)) - 1)  # the root at 0 has no slope to be met


def _least_squares(
    problem: _Problem, method: str, bounds: object, loss: str, f_scale: float, sparsity: object, options: dict[str, Any]
) -> Any:  # fmt: skip
    if loss not in _LOSSES:
        raise ValueError(at_user_line(f"least_squares: unknown loss {loss!r}; wanted one of {', '.join(_LOSSES)}"))
    wrong = {"jac", "jac_sparsity", "kwargs", "diff_step"} & options.keys()
    if wrong:
        raise TypeError(
            at_user_line(
                f"least_squares: {', '.join(sorted(wrong))} is not an option here: the Jacobian is exact; sparsity= "
                f"makes it sparse"
            )
        )
    lower, upper = problem.element_bounds(bounds)
    args = problem.args
    matrix = jacobian(problem.vector, sparsity=sparsity, unconnected_gradients="zero")
    slopes = _of_numbers(matrix, args, is_sparse=sparsity is not None)
    with pausing(watchers()), problem.shown(_of_numbers(problem.vector, args), _squares) as shown:
        result: Any = scipy("optimize").least_squares(
            shown, problem.x0, jac=slopes,
            bounds=(lower, upper), method=method, loss=loss, f_scale=f_scale, **options,
        )  # fmt: skip
    x = result.x
    if _is_followed():

        def cost(x: ArrayLike, *args: ArrayLike) -> Any:
            scaled = problem.vector(x, *args) / f_scale
            return (0.5 * f_scale**2) * _LOSSES[loss](scaled * scaled).sum()

        x = _followed_least(problem, cost, result.x, lower, upper)
        result.cost = problem.caller.result(cost(x, *args))
    return problem.finish(result, x)


def _followed_least(
    problem: _Problem, cost: Callable[..., Any], x: Array, lower: Array, upper: Array
) -> Tensor:  # fmt: skip
    slope = grad(cost, unconnected_gradients="zero")
    with pausing(watchers()):
        here = numbers(slope(plain(x), *problem.args))
    is_fixed = _on_bounds(x, here, lower, upper)

    def equation(v: Tensor, *args: object) -> Tensor:
        return _held(v, slope(v, *args), is_fixed, x)

    return _follow(equation, x, problem)


# -- root -------------------------------------------------------------------------------------------------------------


def _require_name(method: str | None, what: str) -> None:
    if not isinstance(method, str):
        raise TypeError(at_user_line(f"{what}: method is {method!r}, wanted SciPy's name of one"))


def _root(
    problem: _Problem, method: str, tol: ArrayLike | None, callback: object, options: dict[str, Any] | None
) -> Any:
    _require_name(method, "root")
    args = problem.args
    matrix = jacobian(problem.vector, unconnected_gradients="zero")
    slopes = _of_numbers(matrix, args) if method.lower() in _ROOTS_WITH_JACOBIAN else None
    with pausing(watchers()), problem.shown(_of_numbers(problem.vector, args), _squares) as shown:
        result: Any = scipy("optimize").root(
            shown, problem.x0, method=method, tol=tol, jac=slopes, callback=callback,
            options=options,
        )  # fmt: skip
    x = result.x
    return problem.finish(result, _follow(problem.vector, x, problem) if _is_followed() else x)
