"""Attempts at a step, written once: for values at hand (`_eager.py`) and for symbols of a trace (`_traced.py`).

A method is a start and an attempt, each of which gives a *state*, a dictionary:

`t`, `y`, `f`: where the solution stands, and the slope there; `length`: of the step to try; `rejected`: whether the
last attempt was; `failed`: whether the step became too short; `t_old`, `y_old`, `h`, `rows`: the last step that was
accepted; `steps`: how many were; `nfev`: evaluations of the right-hand side.

An attempt that is rejected leaves the solution as it is. The lengths of steps are found on values that nobody follows
and count as constants; the first step begins at t0 itself and the last one ends at t1 itself, so that derivatives with
respect to both go through the method.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from ._at_hand_or_traced import AtHand, Problem, State
from ._radau import (
    ERROR_ORDER,
    EVALUATIONS,
    Newton,
    Radau,
    Systems,
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
from ._step_sizes import first_step, next_factor
from ._tableaus import RADAU
from ._taylor import Taylor


class Attempts:
    """The base of the methods: where they start, and how they interpolate."""

    method: RungeKutta | Radau | Taylor
    problem: Problem
    at: AtHand

    def start(self) -> State:
        """The state before the first attempt."""
        raise NotImplementedError

    def attempt(self, s: State) -> State:
        """The state after one more attempt."""
        raise NotImplementedError

    def goes_on(self, s: State) -> Any:
        """Whether the end is still ahead."""
        return self.problem.direction * (s["t"] - self.problem.t1) < 0

    def dense(self, s: State) -> Any:
        """The coefficients of the interpolant of the last step."""
        raise NotImplementedError

    def between(self, dense: ArrayLike, s: State, times: ArrayLike) -> Any:
        """The solution at times within the last step; for several times one row each."""
        return self.method.between(dense, s["y_old"], s["h"], (times - s["t_old"]) / s["h"])

    def _started(self, order: int | None) -> tuple[Any, State]:
        """The slope at the start, and the part of the state there that all methods have.

        Args:
            order: of the error, which the first length is chosen by; None: the method does not need one.
        """
        p, at = self.problem, self.at
        held = at.held
        f = p.field(p.t0, p.y0)
        with at.unfollowed():
            start, interval = held(p.t0), np.abs(held(p.t1) - held(p.t0))
            chosen = p.first
            if chosen is None and order is not None:
                chosen = first_step(p.field, start, held(p.y0), held(f), interval, p.direction, order, p.rtol, p.atol)
            length = at.number(np.minimum(interval if chosen is None else chosen, p.longest))
        y = at.beginning(p, f)
        return f, {
            "t": p.t0, "y": y, "length": length, "rejected": at.constant(False), "failed": at.constant(False),
            "t_old": p.t0, "y_old": y, "h": at.constant(1.0), "steps": at.constant(0),
            "nfev": at.constant(1 if order is None else 2),
        }  # fmt: skip

    def _end(self, t: ArrayLike, length: ArrayLike) -> Any:
        """Where a step from t ends: at t1 itself if that far."""
        p, at = self.problem, self.at
        end = at.number(t + length * p.direction)
        return at.where(p.direction * (end - at.held(p.t1)) >= 0, p.t1, end)


class Explicit(Attempts):
    """An explicit method."""

    def __init__(self, method: RungeKutta, problem: Problem, at: AtHand) -> None:
        self.method: RungeKutta = method
        self.problem = problem
        self.at = at

    def start(self) -> State:
        f, state = self._started(self.method.error_order)
        return self.at.state({**state, "f": f, "rows": self.at.blank(f, self.method.stages)})

    def dense(self, s: State) -> Any:
        rows = [s["rows"][i] for i in range(self.method.stages)]
        return self.method.dense(self.problem.field, s["t_old"], s["y_old"], s["h"], s["y"], rows)

    def attempt(self, s: State) -> State:
        p, at, method = self.problem, self.at, self.method
        held, t, y, rejected = at.held, s["t"], s["y"], s["rejected"]
        least = at.least(held(t), p.direction)
        length = at.where(rejected, s["length"], np.minimum(np.maximum(s["length"], least), p.longest))
        failed = np.logical_not(length >= least)  # of a length that is NaN, too: no step would ever be accepted
        if at.ends(failed):
            return {**s, "failed": failed}
        t_new = self._end(held(t), length)
        h = t_new - t
        field = at.guarded(p.field, y)
        y_new, rows = method.attempt(field, t, y, s["f"], h)
        scale = p.atol + np.maximum(np.abs(held(y)), np.abs(held(y_new))) * p.rtol
        error = at.checked(field, method.error_norm([*map(held, rows)], held(h), scale))
        small, factor = next_factor(error, method.error_order, rejected)
        accepted = np.logical_and(small, np.logical_not(failed))
        after = {
            "t": t_new, "y": y_new, "f": rows[-1], "t_old": t, "y_old": y, "h": h, "rows": at.stacked(rows),
            "steps": s["steps"] + 1,
        }  # fmt: skip
        return at.state({
            **s, **{name: at.where(accepted, x, s[name]) for name, x in after.items()},
            "length": at.number(np.abs(held(h)) * factor), "rejected": np.logical_not(accepted), "failed": failed,
            "nfev": s["nfev"] + at.where(failed, 0, method.stages - 1),
        })  # fmt: skip


class Implicit(Attempts):
    """The implicit method, Radau IIA.

    Its state has, beside what all have, the Jacobian at the beginning of the step, the planned length of this step and
    that and the error of the step before (negative: none), whether an attempt at this step erred too much, and how
    often Jacobians were evaluated and matrices factored; `rows` are the stages, and nobody follows `f`.
    """

    def __init__(self, method: Radau, problem: Problem, at: AtHand) -> None:
        self.method: Radau = method
        self.problem = problem
        self.at = at

    def start(self) -> State:
        at, (f, state) = self.at, self._started(ERROR_ORDER)
        y = state["y"]
        return at.state({
            **state, "f": at.held(f), "rows": at.blank(y, 3), "njev": at.constant(0), "nlu": at.constant(0),
            "jacobian": at.blank(y, y.shape[0]), "old_length": at.constant(-1.0), "old_error": at.constant(-1.0),
            "planned": state["length"], "erred": at.constant(False),
        })  # fmt: skip

    def attempt(self, s: State) -> State:
        p, at, rejected = self.problem, self.at, s["rejected"]
        t, y = at.held(s["t"]), at.held(s["y"])
        least = at.least(t, p.direction)
        within = np.minimum(np.maximum(s["length"], least), p.longest)
        is_other = np.logical_and(np.logical_not(rejected), s["length"] != within)
        length = at.where(is_other, within, s["length"])
        old_length = at.where(is_other, -1.0, s["old_length"])
        old_error = at.where(is_other, -1.0, s["old_error"])
        planned = at.where(rejected, s["planned"], length)
        failed = np.logical_not(length >= least)
        if at.ends(failed):
            return {**s, "failed": failed}
        t_new = self._end(t, length)
        h = at.number(at.held(t_new) - t)
        length = at.number(np.abs(h))
        with at.quietly():
            jacobian = at.choose(rejected, lambda: s["jacobian"], lambda: at.jacobian(p.field, t, y))
            newton, solver = self._newton(s, jacobian, t, y, h)
            z = at.held(stages(newton))
            converged = np.logical_and(newton.converged, np.logical_not(failed))
            error, is_again = self._error(s, solver, t, y, h, z, converged)
            accepted = np.logical_and(converged, error <= 1)
            longer = next_radau_factor(length, old_length, error, old_error, newton.count)
        after = at.choose(accepted, lambda: self._after(s, t_new, z), lambda: {name: s[name] for name in _SOLUTION})
        taken = at.where(accepted, 1, 0)
        return at.state({
            **s, **after, "jacobian": jacobian, "length": at.number(length * at.where(converged, longer, 0.5)),
            "rejected": np.logical_not(accepted), "failed": failed, "steps": s["steps"] + taken,
            "old_length": at.where(accepted, planned, old_length), "old_error": at.where(accepted, error, old_error),
            "planned": planned,
            "erred": np.logical_and(np.logical_not(accepted), np.logical_or(s["erred"], converged)),
            "nfev": s["nfev"] + EVALUATIONS * newton.count + at.where(is_again, 1, 0) + taken,
            "njev": s["njev"] + at.where(rejected, 0, 1), "nlu": s["nlu"] + 2,
        })  # fmt: skip

    def dense(self, s: State) -> Any:
        return self.method.dense(s["rows"])

    def _newton(self, s: State, jacobian: object, t: Tensor, y: Tensor, h: Any) -> tuple[Newton, Systems]:
        """The iterations for the stages, and the matrices that they used; they start from the step before."""
        p, at, solver = self.problem, self.at, systems(jacobian, h)
        before = {name: at.held(s[name]) for name in ("t_old", "y_old", "h", "rows")}
        guess = self.between(self.dense(before), before, t + h * RADAU.c) - y
        scale = p.atol + np.abs(y) * p.rtol
        tolerance = newton_tolerance(p.rtol)

        def slope(t: ArrayLike, y: ArrayLike) -> Any:
            return at.slope(p.field, t, y)

        def iteration(newton: Newton) -> Newton:
            return iterated(slope, t, y, h, scale, tolerance, solver, newton)

        return at.repeated(is_unsettled, iteration, start_newton(guess)), solver

    def _error(
        self, s: State, solver: Systems, t: ArrayLike, y: Any, h: ArrayLike, z: Any, converged: Any
    ) -> tuple[Any, Any]:
        """The error of a step in units of what is tolerated, and whether it took another evaluation to tell."""
        p, at = self.problem, self.at
        scale = p.atol + np.maximum(np.abs(y), np.abs(y + z[2])) * p.rtol
        part = weighed_stages(z, h)
        mistake = solver.real @ (at.held(s["f"]) + part)
        error = norm(mistake / scale)
        is_again = np.logical_and(np.logical_and(converged, s["erred"]), error > 1)
        found = at.choose(
            is_again, lambda: norm(solver.real @ (at.slope(p.field, t, y + mistake) + part) / scale), lambda: error
        )
        return at.held(found), is_again

    def _after(self, s: State, t_new: ArrayLike, z: ArrayLike) -> State:
        """What an accepted step makes of the solution."""
        at, field, t, y = self.at, self.problem.field, s["t"], s["y"]
        h = t_new - t
        rows = at.followed_stages(z, field, t, h, y)
        y_new = y + rows[2]
        with at.quietly():
            f = at.held(at.slope(field, at.held(t_new), at.held(y_new)))
        return {"t": t_new, "y": y_new, "f": f, "t_old": t, "y_old": y, "h": h, "rows": rows}


_SOLUTION = ("t", "y", "f", "t_old", "y_old", "h", "rows")  # what an accepted step changes


class OfSeries(Attempts):
    """The method of Taylor series.

    A step has the length that its series says; one that is rejected, for what its series could not know of, is tried
    again with half the length. `rows` are the terms times the powers of the length.
    """

    def __init__(self, method: Taylor, problem: Problem, at: AtHand) -> None:
        self.method: Taylor = method
        self.problem = problem
        self.at = at

    def start(self) -> State:
        at, (f, state) = self.at, self._started(None)
        # a first length that was asked for is kept to as one after a rejected step is
        given = at.constant(self.problem.first is not None)
        return at.state({**state, "f": f, "rejected": given, "rows": at.blank(f, self.method.order)})

    def dense(self, s: State) -> Any:
        rows = s["rows"]
        return np.stack(rows) if isinstance(rows, list) else rows

    def attempt(self, s: State) -> State:
        p, at, method = self.problem, self.at, self.method
        held, t, y = at.held, s["t"], at.regular(s["y"])
        terms = p.field.terms(t, y, method.order)
        least = at.least(held(t), p.direction)
        with at.quietly():
            own = method.length([*map(held, terms)], p.atol + np.abs(held(y)) * p.rtol)
        length = at.where(s["rejected"], s["length"], np.minimum(own, p.longest))
        failed = np.logical_not(length >= least)
        if at.ends(failed):
            return {**s, "failed": failed}
        t_new = self._end(held(t), length)
        h = t_new - t
        rows = method.rows(terms, h)
        y_new = method.end(y, rows)
        field = at.guarded(p.field, y)
        f_new = field(t_new, y_new)
        with at.quietly():
            scale = p.atol + np.maximum(np.abs(held(y)), np.abs(held(y_new))) * p.rtol
            defect = at.checked(field, method.defect([*map(held, rows)], held(f_new), held(h), scale))
        accepted = np.logical_and(defect < 1, np.logical_not(failed))
        after = {
            "t": t_new, "y": y_new, "f": f_new, "t_old": t, "y_old": y, "h": h, "rows": at.stacked(rows),
            "steps": s["steps"] + 1,
        }  # fmt: skip
        return at.state({
            **s, **{name: at.where(accepted, x, s[name]) for name, x in after.items()},
            "length": at.number(np.abs(held(h)) * 0.5), "rejected": np.logical_not(accepted), "failed": failed,
            "nfev": s["nfev"] + at.where(failed, 0, 2),
        })  # fmt: skip


def attempts_of(method: RungeKutta | Radau | Taylor, problem: Problem, at: AtHand) -> Attempts:
    """The attempts of a method at a problem."""
    if isinstance(method, Taylor):
        return OfSeries(method, problem, at)
    return Implicit(method, problem, at) if isinstance(method, Radau) else Explicit(method, problem, at)
