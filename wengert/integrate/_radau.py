"""One step of Radau IIA of order 5: simplified Newton iterations, the error estimate, the interpolant.

After E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", section IV.8: the system of the three stages
is decoupled by the eigenvectors of the method's matrix into a real one of n unknowns and a complex one, which is solved
as one of 2 n real numbers: for those there is machine code. Written once for ndarrays and symbols; what is found here
is followed by nobody (`_control/implicit.py` makes it differentiable).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._control.call import Program
from .._control.implicit import solution
from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from ..ops.promotion import as_tensor, cast
from ..ops.shapes import reshape
from ._runge_kutta import combined, norm, powers
from ._step_sizes import EPS
from ._tableaus import RADAU

MOST_ITERATIONS = 6
_LEAST, _MOST = 0.2, 10.0
ERROR_ORDER = 3
EVALUATIONS = 3  # in an iteration

Function = Callable[[Any, Any], Any]


class Newton(NamedTuple):
    """The state of the iterations: the stages in the basis of eigenvectors, and how it goes."""

    count: Any
    w: Any
    last: Any  # the size of the last correction
    converged: Any
    hopeless: Any


class Systems(NamedTuple):
    """The matrices of both systems, inverted; `pair` takes real parts, then imaginary ones."""

    real: Any
    pair: Any


def systems(jacobian: Any, h: Any) -> Systems:
    """The inverses for a step of h."""
    unit = np.eye(jacobian.shape[0])
    near, across = unit * (RADAU.pair.real / h) - jacobian, unit * (RADAU.pair.imag / h)
    pair = np.concatenate([np.concatenate([near, -across], axis=1), np.concatenate([across, near], axis=1)])
    return Systems(np.linalg.inv(unit * (RADAU.real / h) - jacobian), np.linalg.inv(pair))


def newton_tolerance(rtol: Any) -> Any:
    """How small the last correction must be, in units of what is tolerated."""
    return np.maximum(10 * EPS / rtol, np.minimum(0.03, rtol**0.5))


def is_unsettled(state: Newton) -> Any:
    """Whether to iterate once more."""
    return (state.count < MOST_ITERATIONS) & ~(state.converged | state.hopeless)


def iterated(
    field: Function,
    t: ArrayLike | None,
    y: Any,
    h: Any,
    scale: ArrayLike,
    tolerance: object,
    solver: Systems,
    state: Newton,
) -> Newton:
    """One Newton iteration."""
    z = _product(RADAU.t, state.w)
    slopes = np.stack([field(t + c * h, y + z[i]) for i, c in enumerate(RADAU.c)])
    w = state.w
    real = _product(RADAU.t_inverse[0], slopes) - RADAU.real / h * w[0]
    a, b = RADAU.pair.real / h, RADAU.pair.imag / h
    turned = np.stack([a * w[1] - b * w[2], b * w[1] + a * w[2]])
    pair = _product(RADAU.t_inverse[1:], slopes) - turned
    n = y.shape[0]
    change = np.concatenate(
        [(solver.real @ real).reshape((1, n)), (solver.pair @ pair.reshape((2 * n,))).reshape((2, n))]
    )
    size = norm(change / scale)
    is_first = state.count == 0
    rate = np.where(is_first, 0.0, size / np.where(is_first, 1.0, state.last))
    left = np.where(rate < 1, 1 - rate, 1.0)
    is_slow = (rate >= 1) | (rate ** (MOST_ITERATIONS - state.count) / left * size > tolerance)
    hopeless = (~is_first & is_slow) | ~np.all(np.isfinite(change))
    done = (size == 0) | (~is_first & (rate / left * size < tolerance))
    return Newton(state.count + 1, np.where(hopeless, w, w + change), size, ~hopeless & done, hopeless)


def stages(state: Newton) -> Any:
    """The stages, less y."""
    return _product(RADAU.t, state.w)


def start_newton(z: ArrayLike) -> Newton:
    """The iterations before the first, from a guess of the stages."""
    return Newton(np.int64(0), _product(RADAU.t_inverse, z), np.float64(1.0), np.False_, np.False_)


def weighed_stages(z: ArrayLike, h: ArrayLike) -> Any:
    """The part of the error estimate that the stages make."""
    return _product(RADAU.errors, z) / h


def next_factor(length: Any, old_length: Any, error: Any, old_error: Any, count: Any) -> Any:
    """What the length of a step is multiplied by, as it errs now and erred before (negative: there was none before)."""
    usable = np.where(error > 0, error, 1.0)
    trend = np.where(
        (old_error < 0) | (error <= 0), 1.0, length / old_length * (np.maximum(old_error, 0.0) / usable) ** 0.25
    )
    safety = 0.9 * (2 * MOST_ITERATIONS + 1) / (2 * MOST_ITERATIONS + count)
    factor = safety * np.minimum(1.0, trend) * usable**-0.25
    return np.where(error > 1, np.maximum(_LEAST, factor), np.where(error > 0, np.minimum(_MOST, factor), _MOST))


def residual(field: Function, z: Tensor, t: Tensor, h: Tensor, y: Tensor) -> Tensor:
    """What is zero for the stages z, all in one vector."""
    n = y.shape[0]
    rows = z.reshape((3, n))
    slopes = np.stack([field(t + c * h, y + rows[i]) for i, c in enumerate(RADAU.c)])
    return (rows - h * _product(np.linalg.inv(RADAU.inverse), slopes)).reshape((3 * n,))


class Radau:
    """The interpolant of the method; `between` and `extra_evaluations` are as those of `RungeKutta`."""

    name = "Radau"
    dense_rows = 3

    def extra_evaluations(self) -> int:
        """None."""
        return 0

    def dense(self, rows: ArrayLike) -> Any:
        """The coefficients of the collocation polynomial, one a row."""
        return _product(RADAU.dense.T, rows)

    def between(self, dense: ArrayLike, y: ArrayLike, h: ArrayLike, x: ArrayLike) -> Any:
        """The solution where the part x of a step is done."""
        return y + powers(x, 3) @ dense


def _product(matrix: Any, rows: Any) -> Any:
    return matrix @ rows if type(rows) is np.ndarray else combined(matrix, [rows[i] for i in range(rows.shape[0])])


def followed_stages(
    z: ArrayLike, residual: tuple[Program, tuple[Tensor, ...]], t: ArrayLike, h: ArrayLike, y: ArrayLike
) -> Tensor:
    """The stages of a step, which solve an equation, as a function of all that it depends on."""
    program, operands = residual
    given = [cast(as_tensor(x), dtypes.float64) for x in (t, h, y)]
    flat = reshape(as_tensor(z), (-1,))
    return reshape(solution(flat, program, [*given, *operands]), (3, -1))
