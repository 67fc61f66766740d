"""Integration in a trace: a `while_loop` of attempts at a step; for `t_eval` such a loop for each time, in a `scan`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.tensor import Tensor
from ..ops.promotion import as_tensor, stack_rows
from ..programs.control import cond, scan, while_loop
from ._at_hand_or_traced import State
from ._eager import Found
from ._steps import Attempts


def integrate_traced(attempts: Attempts, wanted: Tensor | None, checkpoint: str) -> Found:
    """The solution at the wanted times, or at both ends."""
    p, at = attempts.problem, attempts.at
    start = attempts.start()

    def goes_on(state: State) -> Any:
        return ~state["failed"] & attempts.goes_on(state)

    def to_the_end(state: State) -> State:
        return while_loop(goes_on, attempts.attempt, state, checkpoint=checkpoint)

    if wanted is None:
        state = to_the_end(start)
        end = as_tensor(np.where(state["failed"], np.nan, state["y"]))
        return Found(stack_rows([p.t0, p.t1]), stack_rows([start["y"], end]), state)
    evaluations = attempts.method.extra_evaluations()

    def visit(carry: tuple[Any, ...], time: Tensor) -> tuple[Any, Tensor]:
        state, dense, at_step = carry

        def is_before(state: State) -> Any:
            return goes_on(state) & ((p.direction * (state["t"] - time) < 0) | (state["steps"] == 0))

        def renewed() -> tuple[Tensor, Tensor]:
            return attempts.dense(state), at.constant(evaluations)

        state = while_loop(is_before, attempts.attempt, state, checkpoint=checkpoint)
        dense, more = cond(state["steps"] == at_step, lambda: (dense, at.constant(0)), renewed)
        state = {**state, "nfev": state["nfev"] + more}
        y = attempts.between(dense, state, time)
        is_lost = state["failed"] & (p.direction * (time - state["t"]) > 0)
        return (state, dense, state["steps"]), as_tensor(np.where(is_lost, np.nan, y))

    still = at.blank(start["y"], attempts.method.dense_rows)  # the coefficients of an interpolant that stands still
    carry, rows = scan(visit, (start, still, at.constant(0)), wanted, checkpoint=checkpoint)
    return Found(wanted, rows, to_the_end(carry[0]))
