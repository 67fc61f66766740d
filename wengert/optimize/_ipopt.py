"""`minimize(method="ipopt")`: a problem with constraints as the object that cyipopt asks, all derivatives exact."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.scipy_modules import scipy
from .._core.user_line import at_user_line
from ._sparse import Array, Matrix, entries, hessian_of, jacobian_of, numbers, plain

_INFINITE = 2e19  # what Ipopt takes for no bound
_NAMES = {"maxiter": "max_iter"}  # SciPy's names of options
_STOPPED_WELL = (0, 1)  # solved, and solved to the acceptable level


def cyipopt() -> Any:
    """The module.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    try:
        return importlib.import_module("cyipopt")
    except ModuleNotFoundError as error:
        if error.name != "cyipopt":
            raise
        raise ModuleNotFoundError(
            at_user_line(
                "minimize: method='ipopt' needs cyipopt, which is not installed: conda install -c conda-forge cyipopt, "
                "or pip install cyipopt where Ipopt's library is"
            ),
            name="cyipopt",
        ) from None


class _Part:
    """A constraint: its values, its slopes and where its rows begin."""

    def __init__(self, made: Any, x: Array) -> None:
        self.made = made
        self.size = len(self.values(x))
        self.pattern, self.slopes = entries(jacobian_of(made.fun, made.args, x), self.size, len(x))
        self.lower, self.upper = (np.broadcast_to(np.asarray(b, float), (self.size,)) for b in (made.lower, made.upper))

    def values(self, x: Array) -> Array:
        """The constraint's values."""
        return numbers(self.made.value(plain(x)))


class Callbacks:
    """What cyipopt asks: values, slopes, and the Hessian of the Lagrangian, of which it wants the lower triangle."""

    def __init__(
        self, objective: Callable[..., Any], args: tuple[Any, ...], both: Callable[[Array], tuple[float, Array]],
        constraints: Sequence[Any], x: Array, callback: Callable[..., Any] | None,
    ) -> None:  # fmt: skip
        self.both, self.callback = both, callback
        self.steps = self.evaluations = self.curvatures = 0
        self.at: Array | None = None  # where value and slope are known
        self.known: tuple[float, Array] = (0.0, x)
        self.parts = [_Part(made, x) for made in constraints]
        self.bounds = [np.concatenate([getattr(p, side) for p in self.parts] or [x[:0]]) for side in ("lower", "upper")]
        self.last = x
        lagrangian = _lagrangian(objective, self.parts)
        matrix: Matrix = hessian_of(lagrangian, args, x, np.ones(len(self.bounds[0])), np.ones(1))
        pattern, self.curvature = entries(matrix, len(x), len(x))
        rows, columns = _places(pattern)
        self.is_lower = rows >= columns
        self.lower = rows[self.is_lower], columns[self.is_lower]

    def _value_and_slope(self, x: Array) -> tuple[float, Array]:
        if self.at is None or not np.array_equal(self.at, x):
            self.known, self.at = self.both(x), np.array(x)
            self.evaluations += 1
        return self.known

    def objective(self, x: Array) -> float:
        """The function that is minimised."""
        return self._value_and_slope(x)[0]

    def gradient(self, x: Array) -> Array:
        """Its gradient."""
        return self._value_and_slope(x)[1]

    def constraints(self, x: Array) -> Array:
        """All constraints in one vector."""
        return np.concatenate([part.values(x) for part in self.parts] or [x[:0]])

    def jacobianstructure(self) -> tuple[Array, Array]:
        """The rows and columns of what `jacobian` gives."""
        places = [_places(part.pattern) for part in self.parts]
        starts = np.cumsum([0, *[part.size for part in self.parts]])
        none = np.empty(0, np.int64)
        rows = [rows + start for (rows, _), start in zip(places, starts, strict=False)]  # the last start is the end
        return np.concatenate(rows or [none]), np.concatenate([columns for _, columns in places] or [none])

    def jacobian(self, x: Array) -> Array:
        """The entries of the constraints' Jacobian."""
        return np.concatenate([part.slopes(x) for part in self.parts] or [x[:0]])

    def hessianstructure(self) -> tuple[Array, Array]:
        """The rows and columns of what `hessian` gives."""
        return self.lower

    def hessian(self, x: Array, lagrange: Array, obj_factor: float) -> Array:
        """The entries of the Lagrangian's Hessian, lower triangle."""
        self.curvatures += 1
        return self.curvature(x, np.asarray(lagrange, float), np.array([obj_factor]))[self.is_lower]

    def intermediate(self, alg_mod: int, iter_count: int, *state: float) -> bool:
        """Counts Ipopt's steps, and asks the callback, which stops by `StopIteration`, as in SciPy."""
        self.steps = int(iter_count)
        if self.callback is None or self.at is None:
            return True
        try:
            self.callback(self.at)
        except StopIteration:
            return False
        return True


def _places(pattern: Any) -> tuple[Array, Array]:
    """The rows and columns of a pattern's entries, in their order."""
    counts: Array = np.diff(pattern.indptr)
    return np.repeat(np.arange(len(counts)), counts), pattern.indices


def _lagrangian(objective: Callable[..., Any], parts: Sequence[_Part]) -> Callable[..., Any]:
    def lagrangian(x: Any, weights: Any, factor: Any, *args: Any) -> Any:
        value = objective(x, *args) * factor[0]
        start = 0
        for part in parts:
            value = value + (part.made.value(x) * weights[start : start + part.size]).sum()
            start += part.size
        return value

    return lagrangian


def solved(
    objective: Callable[..., Any], args: tuple[Any, ...], both: Callable[[Array], tuple[float, Array]], x0: Array,
    limits: tuple[Array, Array] | None, constraints: Sequence[Any], tol: ArrayLike | None,
    callback: Callable[..., Any] | None,
    options: object,
) -> Any:  # fmt: skip
    """Ipopt's solution in SciPy's form.

    Args:
        objective: the function, of tensors.
        args: what else it takes.
        both: its value and slope, of vectors.
        x0: the start.
        limits: the lower and upper bounds of the unknowns.
        constraints: with `fun`, `args`, `value`, `lower` and `upper`.
        tol: Ipopt's `tol`.
        callback: is given the unknowns at each step.
        options: Ipopt's, by name; `maxiter` and `disp` as SciPy's.
    """
    module = cyipopt()
    asked = Callbacks(objective, args, both, constraints, x0, callback)
    free = np.full(len(x0), np.inf)
    lower, upper = limits or (-free, free)
    ends = [np.clip(end, -_INFINITE, _INFINITE) for end in (lower, upper, *asked.bounds)]
    solver = module.Problem(
        n=len(x0), m=len(ends[2]), problem_obj=asked, lb=ends[0], ub=ends[1], cl=ends[2], cu=ends[3]
    )  # fmt: skip
    for name, value in _options(tol, options).items():
        solver.add_option(name, value)
    x, info = solver.solve(np.array(x0))
    message = info.get("status_msg", "")
    return scipy("optimize").OptimizeResult(
        x=np.array(x), success=info["status"] in _STOPPED_WELL, status=info["status"],
        message=message.decode() if isinstance(message, bytes) else message, fun=info["obj_val"],
        jac=asked.gradient(np.array(x)), nit=asked.steps, nfev=asked.evaluations, njev=asked.evaluations,
        nhev=asked.curvatures, info=info,
    )  # fmt: skip


def _options(tol: Any, options: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"sb": "yes", "print_level": 0}  # silent but for what is asked for
    if tol is not None:
        found["tol"] = float(tol)
    given: dict[str, Any] = dict(options or {})
    for name, value in given.items():
        if name == "disp":
            found["print_level"] = 5 if value else 0
        else:
            found[_NAMES.get(name, name)] = value
    return found
