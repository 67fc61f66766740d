"""Integration where all values are at hand: plain Python steps on ndarrays, or on tensors that somebody follows.

The lengths of steps are found on plain numbers and count as constants; the first step begins at t0 itself and the last
one ends at t1 itself, so that derivatives with respect to both go through the method.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._core.engine import ndarray_of
from .._core.state import pausing, watchers
from .._core.tensor import Tensor
from ..graph import Function
from ..ops.promotion import as_tensor, stack_rows
from ._field import Field
from ._lengths import first_step, next_factor
from ._radau import (
    ERROR_ORDER,
    Radau,
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

Array = np.ndarray[Any, Any]


class Problem(NamedTuple):
    """What is integrated.

    Attributes:
        field: the right-hand side.
        y0: an ndarray, or a tensor if somebody follows the solution.
        t0, t1: the interval: numbers or tensors.
        start, stop: the same as plain numbers.
        rtol, atol: tolerances.
    """

    field: Field
    y0: Any
    t0: Any
    t1: Any
    start: float
    stop: float
    rtol: float
    atol: Any

    @property
    def direction(self) -> float:
        return 1.0 if self.stop >= self.start else -1.0


class AcceptedStep(NamedTuple):
    """An accepted step: from t by h to `stop` (the plain number behind t + h), from y to y_new."""

    method: Any
    field: Field
    t: Any
    h: Any
    stop: float
    t_new: Any
    y: Any
    y_new: Any
    rows: Any

    def at(self, times: Any) -> Any:
        """The solution at some times within the step, one row each."""
        dense = self.method.dense(self.field, self.t, self.y, self.h, self.y_new, self.rows)
        return self.method.between(dense, self.y, self.h, (times - self.t) / self.h)


class Counts:
    """How often Jacobians were evaluated and matrices factored; whether a step became too short."""

    def __init__(self) -> None:
        self.jacobians = 0
        self.factorings = 0
        self.failed = False


def plain(x: Any) -> Any:
    """The values, followed by nobody."""
    return ndarray_of(x._data) if type(x) is Tensor else x


def least_step(t: float, direction: float) -> float:
    """Steps shorter than this are lost in rounding."""
    return float(10 * np.abs(np.nextafter(t, direction * np.inf) - t))


def explicit_steps(method: RungeKutta, problem: Problem, counts: Counts) -> Iterator[AcceptedStep]:
    """The accepted steps of an explicit method."""
    field, direction, stop, order = problem.field, problem.direction, problem.stop, method.error_order
    rtol, atol = problem.rtol, problem.atol
    t, t_here, y = problem.start, problem.t0, problem.y0
    f = field(t_here, y)
    length = _first(problem, f, order)
    while direction * (t - stop) < 0:
        least = least_step(t, direction)
        length = max(length, least)
        rejected = False
        before = np.abs(plain(y))
        while True:
            if not length >= least:  # a length that is NaN, too: no step would ever be accepted
                counts.failed = True
                return
            end = t + length * direction
            if direction * (end - stop) > 0:
                end = stop
            t_new = problem.t1 if end == stop else end
            length = abs(end - t)
            h = t_new - t_here
            y_new, rows = method.attempt(field, t_here, y, f, h)
            scale = atol + np.maximum(before, np.abs(plain(y_new))) * rtol
            error = method.error_norm([*map(plain, rows)], end - t, scale)
            accepted, factor = next_factor(error, order, rejected)
            length = float(length * factor)
            if accepted:
                break
            rejected = True
        yield AcceptedStep(method, field, t_here, h, end, t_new, y, y_new, rows)
        t, t_here, y, f = end, t_new, y_new, rows[-1]


def implicit_steps(method: Radau, problem: Problem, counts: Counts) -> Iterator[AcceptedStep]:
    """The accepted steps of Radau. The Jacobian is always that at the beginning of the step."""
    field, direction, stop = problem.field, problem.direction, problem.stop
    rtol, atol = problem.rtol, problem.atol
    tolerance = newton_tolerance(rtol)
    # what is not followed runs compiled: it can be, for the Jacobian needs a trace anyway
    slope: Any = Function(field.evaluate, None, None, "fun")
    slopes: Any = Function(field.jacobian, None, None, "jacobian")
    is_followed = type(problem.y0) is Tensor
    differentiable = field.residual() if is_followed else None

    def counted(t: Any, y: Any) -> Any:
        field.count += 1
        return slope(np.float64(t), y)

    t, t_here, y = problem.start, problem.t0, problem.y0
    y_here = plain(y)
    f = plain(field(t_here, y))
    length = _first(problem, f, ERROR_ORDER)
    old_length = old_error = -1.0
    previous: Any = None
    while direction * (t - stop) < 0:
        least = least_step(t, direction)
        if length < least:
            length, old_length, old_error = least, -1.0, -1.0
        planned, rejected = length, False
        with pausing(watchers()), np.errstate(all="ignore"):
            jacobian = slopes(np.float64(t), y_here)
            counts.jacobians += 1
            while True:
                if not length >= least:
                    counts.failed = True
                    return
                end = t + length * direction
                if direction * (end - stop) > 0:
                    end = stop
                h = end - t
                length = abs(h)
                solver = systems(jacobian, h)
                counts.factorings += 2
                guess = np.zeros((3, y_here.size)) if previous is None else previous(t + h * RADAU.c) - y_here
                newton = start_newton(guess)
                scale = atol + np.abs(y_here) * rtol
                while is_unsettled(newton):
                    newton = iterated(counted, t, y_here, h, scale, tolerance, solver, newton)
                if not newton.converged:
                    length *= 0.5
                    continue
                z = stages(newton)
                y_end = y_here + z[2]
                scale = atol + np.maximum(np.abs(y_here), np.abs(y_end)) * rtol
                part = weighed_stages(z, h)
                mistake = solver.real @ (f + part)
                error = norm(mistake / scale)
                if rejected and error > 1:
                    mistake = solver.real @ (counted(t, y_here + mistake) + part)
                    error = norm(mistake / scale)
                factor = next_radau_factor(length, old_length, error, old_error, newton.count)
                length = float(length * factor)
                if error <= 1:
                    break
                rejected = True
            f = counted(end, y_end)
        t_new = problem.t1 if end == stop else end
        step_h = t_new - t_here
        rows, y_new = z, y_end
        if differentiable is not None:
            rows = followed_stages(z, differentiable, t_here, step_h, y)
            y_new = y + rows[2]
        step = AcceptedStep(method, field, t_here, step_h, end, t_new, y, y_new, rows)
        yield step
        previous = AcceptedStep(method, field, t, h, end, end, y_here, y_end, z).at
        old_length, old_error = planned, error
        t, t_here, y, y_here = end, t_new, y_new, y_end


def _first(problem: Problem, f: Any, order: int) -> float:
    interval = abs(problem.stop - problem.start)
    y = plain(problem.y0)
    if interval == 0 or not y.size:
        return 0.0
    with pausing(watchers()):
        found = first_step(
            problem.field, problem.start, y, plain(f), interval, problem.direction, order, problem.rtol, problem.atol
        )
    return float(found)


class Found(NamedTuple):
    """A solution: times, and the vectors there as rows."""

    t: Any
    rows: Any
    failed: bool


def all_steps(problem: Problem, steps: Iterator[AcceptedStep], counts: Counts) -> Found:
    """The solution at both ends and between the steps."""
    times, rows = [problem.t0], [problem.y0]
    for step in _never_empty(problem, steps):
        times.append(step.t_new)
        rows.append(step.y_new)
    return Found(_stacked(times), _stacked(rows), counts.failed)


def at_times(problem: Problem, steps: Iterator[AcceptedStep], counts: Counts, wanted: Any) -> Found:
    """The solution at times, as far as it gets."""
    values, direction = plain(wanted), problem.direction
    pieces: list[Any] = []
    done = 0
    for step in _never_empty(problem, steps):
        reached = int(np.searchsorted(direction * values, direction * step.stop, side="right"))
        if reached > done:
            pieces.append(step.at(wanted[done:reached]))
            done = reached
    if not pieces:
        return Found(wanted[:0], np.zeros((0, *problem.y0.shape), problem.field.state.dtype), counts.failed)
    return Found(wanted[:done], np.concatenate(pieces), counts.failed)


class Still(NamedTuple):
    """The step over an interval of no length, or of a state of no components."""

    problem: Problem
    slope: Any

    @property
    def stop(self) -> float:
        return self.problem.stop

    @property
    def t_new(self) -> Any:
        return self.problem.t1

    @property
    def y_new(self) -> Any:
        return self._moved(self.problem.t1 - self.problem.t0)

    def at(self, times: Any) -> Any:
        """The solution at times that are all the same."""
        return self._moved((times - self.problem.t0)[:, None])

    def _moved(self, by: Any) -> Any:
        # nothing is added; the slope is what derivatives with respect to times are
        return self.problem.y0 + by * self.slope


def _never_empty(problem: Problem, steps: Iterator[AcceptedStep]) -> Iterator[Any]:
    if problem.start != problem.stop and problem.y0.shape[0]:
        yield from steps
        return
    yield Still(problem, problem.field(problem.t0, problem.y0))


def _stacked(rows: list[Any]) -> Any:
    if any(type(x) is Tensor for x in rows):
        return stack_rows([as_tensor(x) for x in rows], "solve_ivp")
    return np.stack(rows)
