"""Integration in a trace: a `while_loop` of attempts at a step; for `t_eval` one such loop for each time, in a `scan`.

An attempt that is rejected leaves the state as it is. The lengths of steps count as constants, as in `_eager.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._core import dtypes
from .._core.tensor import Tensor
from .._prims.structural import full, stop_gradient
from ..control import cond, scan, while_loop
from ..ops.promotion import as_tensor, stack_rows
from ._field import Field
from ._lengths import EPS, first_step, next_factor
from ._radau import (
    ERROR_ORDER,
    EVALUATIONS,
    Newton,
    Radau,
    Systems,
    followed_stages,
    is_unsettled,
    iterated,
    newton_tolerance,
    stages,
    start_newton,
    systems,
    weighed_stages,
)
from ._radau import next_factor as next_radau_factor
from ._runge_kutta import RungeKutta, norm
from ._tableaus import RADAU

_TINY = 5e-323  # ten times the least positive number


class TracedProblem(NamedTuple):
    """What is integrated; the fields are as those of `_eager.Problem`, all tensors."""

    field: Field
    y0: Tensor
    t0: Tensor
    t1: Tensor
    rtol: Any
    atol: Any
    checkpoint: Any

    @property
    def direction(self) -> Tensor:
        return as_tensor(np.where(self.t1 >= self.t0, 1.0, -1.0))


class TracedFound(NamedTuple):
    """A solution: times, the vectors there as rows, and the state in which the loop ended."""

    t: Tensor
    rows: Tensor
    state: dict[str, Tensor]


def held(x: Any) -> Tensor:
    """The value as a constant for derivatives."""
    return stop_gradient(as_tensor(x))


def _started(p: TracedProblem, direction: Tensor, order: int) -> tuple[Tensor, dict[str, Tensor]]:
    """The slope at the start, and the part of the state there that all methods have."""
    f = p.field(p.t0, p.y0)
    interval = np.abs(held(p.t1) - held(p.t0))
    length = first_step(p.field, held(p.t0), held(p.y0), held(f), interval, direction, order, p.rtol, p.atol)
    # over an interval of no length nothing is added, but the derivatives with respect to its ends are
    y = as_tensor(p.y0 + np.where(p.t0 == p.t1, p.t1 - p.t0, 0.0) * f)
    return f, {
        "t": p.t0, "y": y, "length": held(length), "rejected": _bool(False), "failed": _bool(False), "t_old": p.t0,
        "y_old": y, "h": _float(1.0), "steps": _int(0), "nfev": _int(2),
    }  # fmt: skip


class ExplicitAttempts:
    """An explicit method as a start and a body of a loop. The state:

    `t`, `y`, `f`: where the solution stands; `length`: of the step to try; `rejected`: whether the last attempt was;
    `failed`: whether the step became too short; `t_old`, `y_old`, `h`, `rows`: the last step that was accepted;
    `steps`: how many were; `nfev`: evaluations.
    """

    def __init__(self, method: RungeKutta, problem: TracedProblem) -> None:
        self.method = method
        self.problem = problem
        self.direction = problem.direction

    def start(self) -> dict[str, Tensor]:
        """The state before the first attempt."""
        f, state = _started(self.problem, self.direction, self.method.error_order)
        return {**state, "f": f, "rows": stack_rows([f * 0.0] * self.method.stages)}

    def attempt(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """The state after one more attempt."""
        p, method, direction = self.problem, self.method, self.direction
        t, y, rejected = state["t"], state["y"], state["rejected"]
        least = np.maximum(10 * EPS * np.abs(held(t)), _TINY)
        length = np.where(rejected, state["length"], np.maximum(state["length"], least))
        failed = ~(length >= least)  # of a length that is NaN, too
        end = held(t + length * direction)
        t_new = np.where(direction * (end - p.t1) >= 0, p.t1, end)
        h = t_new - t
        guard = Guard(p.field, y)
        y_new, rows = method.attempt(guard, t, y, state["f"], h)
        plain = [*map(held, rows)]
        scale = p.atol + np.maximum(np.abs(held(y)), np.abs(held(y_new))) * p.rtol
        error = np.where(guard.is_fine(), method.error_norm(plain, held(h), scale), np.nan)
        small, factor = next_factor(error, method.error_order, rejected)
        accepted = small & ~failed
        after = {
            "t": t_new, "y": y_new, "f": rows[-1], "t_old": t, "y_old": y, "h": h, "rows": stack_rows(rows),
            "steps": state["steps"] + 1,
        }  # fmt: skip
        following = {
            **{name: np.where(accepted, x, state[name]) for name, x in after.items()},
            "length": held(np.abs(held(h)) * factor), "rejected": ~accepted, "failed": failed,
            "nfev": state["nfev"] + (method.stages - 1),
        }  # fmt: skip
        return {name: as_tensor(following[name]) for name in state}

    def dense(self, state: dict[str, Tensor]) -> tuple[Tensor, int]:
        """The coefficients of the interpolant of the last step, and how many evaluations they took."""
        s = state
        rows = [s["rows"][i] for i in range(self.method.stages)]
        found = self.method.dense(self.problem.field, s["t_old"], s["y_old"], s["h"], s["y"], rows)
        return found, self.method.extra_evaluations()

    def no_dense(self, state: dict[str, Tensor]) -> Tensor:
        """Coefficients of an interpolant that stands still."""
        return stack_rows([state["y"] * 0.0] * self.method.dense_rows)

    def between(self, dense: Tensor, state: dict[str, Tensor], x: Tensor) -> Tensor:
        """The solution within the last step."""
        return self.method.between(dense, state["y_old"], state["h"], x)


class ImplicitAttempts:
    """Radau as a start and a body of a loop.

    Its state has, beside what that of `ExplicitAttempts` has, the Jacobian at y, the planned length of this step and
    that and the error of the step before (negative: none), and whether an attempt at this step erred too much; `rows`
    are the stages.
    """

    def __init__(self, method: Radau, problem: TracedProblem) -> None:
        self.method = method
        self.problem = problem
        self.direction = problem.direction

    def start(self) -> dict[str, Tensor]:
        """The state before the first attempt."""
        f, state = _started(self.problem, self.direction, ERROR_ORDER)
        return {
            **state, "f": held(f), "rows": stack_rows([held(state["y"]) * 0.0] * 3), "njev": _int(1), "nlu": _int(0),
            "jacobian": self._jacobian(state["t"], state["y"]), "old_length": _float(-1.0), "old_error": _float(-1.0),
            "planned": state["length"], "erred": _bool(False),
        }  # fmt: skip

    def attempt(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """The state after one more attempt."""
        p, direction, rejected = self.problem, self.direction, state["rejected"]
        t, y = held(state["t"]), held(state["y"])
        least = np.maximum(10 * EPS * np.abs(t), _TINY)
        is_short = ~rejected & (state["length"] < least)
        length = np.where(is_short, least, state["length"])
        old_length = np.where(is_short, -1.0, state["old_length"])
        old_error = np.where(is_short, -1.0, state["old_error"])
        planned = np.where(rejected, state["planned"], length)
        failed = ~(length >= least)  # of a length that is NaN, too
        end = held(t + length * direction)
        t_new = np.where(direction * (end - p.t1) >= 0, p.t1, end)
        h = held(t_new) - t
        length = np.abs(h)
        newton, solver = self._newton(state, t, y, h)
        z = held(stages(Newton(*newton)))
        converged = newton[3] & ~failed
        y_end = y + z[2]
        scale = p.atol + np.maximum(np.abs(y), np.abs(y_end)) * p.rtol
        part = weighed_stages(z, h)
        mistake = solver.real @ (held(state["f"]) + part)
        error = norm(mistake / scale)
        is_again = converged & state["erred"] & (error > 1)
        error = held(cond(
            as_tensor(is_again),
            lambda: as_tensor(norm(solver.real @ (p.field(t, y + mistake) + part) / scale)), lambda: as_tensor(error),
        ))  # fmt: skip
        accepted = as_tensor(converged & (error <= 1))
        factor = np.where(converged, next_radau_factor(length, old_length, error, old_error, newton[0]), 0.5)
        after = cond(accepted, lambda: self._after(state, t_new, z), lambda: self._unchanged(state))
        taken = np.where(accepted, 1, 0)
        following = {
            **after, "length": held(length * factor), "rejected": ~accepted, "failed": failed,
            "steps": state["steps"] + taken, "old_length": np.where(accepted, planned, old_length),
            "old_error": np.where(accepted, error, old_error), "planned": planned,
            "erred": ~accepted & (state["erred"] | converged),
            "nfev": state["nfev"] + EVALUATIONS * newton[0] + np.where(is_again, 1, 0) + taken,
            "njev": state["njev"] + taken, "nlu": state["nlu"] + 2,
        }  # fmt: skip
        return {name: as_tensor(following[name]) for name in state}

    def dense(self, state: dict[str, Tensor]) -> tuple[Tensor, int]:
        """The coefficients of the interpolant of the last step, which took no evaluation."""
        return self.method.dense(None, None, None, None, None, state["rows"]), 0

    def no_dense(self, state: dict[str, Tensor]) -> Tensor:
        """Coefficients of an interpolant that stands still."""
        return stack_rows([state["y"] * 0.0] * self.method.dense_rows)

    def between(self, dense: Tensor, state: dict[str, Tensor], x: Tensor) -> Tensor:
        """The solution within the last step."""
        return self.method.between(dense, state["y_old"], state["h"], x)

    def _jacobian(self, t: Tensor, y: Tensor) -> Tensor:
        return held(self.problem.field.jacobian(held(t), held(y)))

    def _newton(self, state: dict[str, Tensor], t: Tensor, y: Tensor, h: Any) -> tuple[tuple[Tensor, ...], Systems]:
        """The iterations for the stages, and the matrices that they used."""
        p = self.problem
        solver = systems(state["jacobian"], h)
        rows, y_old, h_old = held(state["rows"]), held(state["y_old"]), held(state["h"])
        parts = (t + h * RADAU.c - held(state["t_old"])) / h_old
        foreseen = self.method.between(self.method.dense(None, None, None, None, None, rows), y_old, h_old, parts) - y
        guess = np.where(state["steps"] > 0, foreseen, 0.0)
        scale = p.atol + np.abs(y) * p.rtol
        tolerance = newton_tolerance(p.rtol)

        def again(*newton: Tensor) -> Any:
            return is_unsettled(Newton(*newton))

        def iteration(*newton: Tensor) -> list[Tensor]:
            found = iterated(p.field, t, y, h, scale, tolerance, solver, Newton(*newton))
            return [*map(as_tensor, found)]

        start = [*map(as_tensor, start_newton(guess))]
        # nothing flows back through the iterations: a history would be for nothing
        return (*map(held, while_loop(again, iteration, start, checkpoint=1)),), solver

    def _after(self, state: dict[str, Tensor], t_new: Any, z: Tensor) -> dict[str, Tensor]:
        """What an accepted step makes of the solution."""
        t, y = state["t"], state["y"]
        h = t_new - t
        rows = followed_stages(z, self.problem.field.residual(), t, h, y)
        y_new = y + rows[2]
        f = held(self.problem.field(held(t_new), held(y_new)))
        found = {
            "t": t_new, "y": y_new, "f": f, "t_old": t, "y_old": y, "h": h, "rows": rows,
            "jacobian": self._jacobian(t_new, y_new),
        }  # fmt: skip
        return {name: as_tensor(x) for name, x in found.items()}

    def _unchanged(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name: state[name] for name in ("t", "y", "f", "t_old", "y_old", "h", "rows", "jacobian")}


class Guard:
    """The right-hand side, evaluated at y instead of where a stage is not finite.

    The step is rejected then; but where cotangents that are zero meet infinities in the backward pass there would be
    NaNs.
    """

    def __init__(self, field: Callable[[Any, Any], Any], y: Tensor) -> None:
        self.field = field
        self.y = y
        self.flags: list[Any] = []

    def __call__(self, t: Any, y: Any) -> Any:
        finite = np.all(np.isfinite(held(y)))
        self.flags.append(finite)
        return self.field(t, np.where(finite, y, self.y))

    def is_fine(self) -> Any:
        """Whether all stages were finite."""
        return np.all(stack_rows(self.flags))


def _bool(value: bool) -> Tensor:
    return full(shape=(), value=value, dtype=dtypes.bool_)


def _int(value: int) -> Tensor:
    return full(shape=(), value=value, dtype=dtypes.int64)


def _float(value: float) -> Tensor:
    return full(shape=(), value=value, dtype=dtypes.float64)


def integrate_traced(attempts: Any, problem: TracedProblem, wanted: Tensor | None) -> TracedFound:
    """The solution at the wanted times, or at both ends."""
    p, direction = problem, problem.direction
    start = attempts.start()

    def goes_on(state: dict[str, Tensor]) -> Any:
        return ~state["failed"] & (direction * (state["t"] - p.t1) < 0)

    def to_the_end(state: dict[str, Tensor]) -> dict[str, Tensor]:
        return while_loop(goes_on, attempts.attempt, state, checkpoint=p.checkpoint)

    if wanted is None:
        state = to_the_end(start)
        end = as_tensor(np.where(state["failed"], np.nan, state["y"]))
        return TracedFound(stack_rows([p.t0, p.t1]), stack_rows([start["y"], end]), state)

    def visit(carry: Any, time: Tensor) -> tuple[Any, Tensor]:
        state, dense, at_step = carry

        def is_before(state: dict[str, Tensor]) -> Any:
            return goes_on(state) & ((direction * (state["t"] - time) < 0) | (state["steps"] == 0))

        state = while_loop(is_before, attempts.attempt, state, checkpoint=p.checkpoint)
        dense, more = cond(state["steps"] == at_step, lambda: (dense, _int(0)), lambda: _counted(attempts.dense(state)))
        state = {**state, "nfev": state["nfev"] + more}
        y = attempts.between(dense, state, (time - state["t_old"]) / state["h"])
        is_lost = state["failed"] & (direction * (time - state["t"]) > 0)
        return (state, dense, state["steps"]), as_tensor(np.where(is_lost, np.nan, y))

    carry, rows = scan(visit, (start, attempts.no_dense(start), _int(0)), wanted, checkpoint=p.checkpoint)
    return TracedFound(wanted, rows, to_the_end(carry[0]))


def _counted(found: tuple[Tensor, int]) -> tuple[Tensor, Tensor]:
    return found[0], _int(found[1])
