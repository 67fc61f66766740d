"""Integration where all values are at hand: plain Python steps on ndarrays, or on tensors that somebody follows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.progress import Step
from .._core.tensor import Tensor
from ..ops.promotion import as_tensor, stack_rows
from ._at_hand_or_traced import Problem, State
from ._steps import Attempts


class Steps:
    """The accepted steps of a method, one after the other.

    Attributes:
        state: after the last attempt.
    """

    def __init__(self, attempts: Attempts, progress: Step | None = None) -> None:
        self.attempts = attempts
        self.progress = progress
        self.state: State = {"failed": False, "nfev": 0}

    def __iter__(self) -> Iterator[Any]:
        p, held = self.attempts.problem, self.attempts.at.held
        if float(held(p.t0)) == float(held(p.t1)) or not p.y0.shape[0]:
            self.state["nfev"] = 1
            yield Still(p, p.field(p.t0, p.y0))
            return
        self.state = self.attempts.start()
        stop = float(held(p.t1))
        while p.direction * (float(held(self.state["t"])) - stop) < 0:
            self.state = self.attempts.attempt(self.state)
            if self.state["failed"]:
                return
            if not self.state["rejected"]:
                if self.progress is not None:
                    t = float(held(self.state["t"]))
                    self.progress(abs(t - float(held(p.t0))), f"t = {t:.4g}")
                yield self

    @property
    def t_new(self) -> Any:
        """Where the last step ended."""
        return self.state["t"]

    @property
    def y_new(self) -> Any:
        """The solution there."""
        return self.state["y"]

    def at(self, times: ArrayLike) -> Any:
        """The solution at some times within the last step, one row each."""
        self.state["nfev"] += self.attempts.method.extra_evaluations()
        return self.attempts.between(self.attempts.dense(self.state), self.state, times)


class Still(NamedTuple):
    """The step over an interval of no length, or of a state of no components."""

    problem: Problem
    slope: Any

    @property
    def t_new(self) -> Any:
        return self.problem.t1

    @property
    def y_new(self) -> Any:
        return self._moved(self.problem.t1 - self.problem.t0)

    def at(self, times: Any) -> Any:
        """The solution at times that are all the same."""
        return self._moved((times - self.problem.t0)[:, None])

    def _moved(self, by: object) -> Any:
        # nothing is added; the slope is what derivatives with respect to times are
        return self.problem.y0 + by * self.slope


class Found(NamedTuple):
    """A solution: times, the vectors there as rows, and the state in which the steps ended."""

    t: Any
    rows: Any
    state: State


def integrate(attempts: Attempts, wanted: ArrayLike | None, progress: Step | None = None) -> Found:
    """The solution at the wanted times as far as it gets, or at both ends and between the steps."""
    steps = Steps(attempts, progress)
    return _all_steps(attempts.problem, steps) if wanted is None else _at_times(attempts, steps, wanted)


def _all_steps(problem: Problem, steps: Steps) -> Found:
    times, rows = [problem.t0], [problem.y0]
    for step in steps:
        times.append(step.t_new)
        rows.append(step.y_new)
    return Found(_stacked(times), _stacked(rows), steps.state)


def _at_times(attempts: Attempts, steps: Steps, wanted: Any) -> Found:
    problem, held = attempts.problem, attempts.at.held
    values, direction = held(wanted), problem.direction
    pieces: list[Any] = []
    done = 0
    for step in steps:
        reached = int(np.searchsorted(direction * values, direction * float(held(step.t_new)), side="right"))
        if reached > done:
            pieces.append(step.at(wanted[done:reached]))
            done = reached
    if not pieces:
        return Found(wanted[:0], np.zeros((0, *problem.y0.shape), problem.field.state.dtype), steps.state)
    return Found(wanted[:done], np.concatenate(pieces), steps.state)


def _stacked(rows: list[Any]) -> Any:
    if any(type(x) is Tensor for x in rows):
        return stack_rows([as_tensor(x) for x in rows], "solve_ivp")
    return np.stack(rows)
