"""One step of an explicit Runge-Kutta method: its stages, its error, its interpolant.

Written once for ndarrays, tensors and symbols: NumPy's functions are recorded when they are given tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from ..ops.linalg import matmul
from ..ops.promotion import stack_rows
from ._tableaus import DOP853, RK23, RK45, Array, Tableau

Function = Callable[[Any, Any], Any]


def norm(x: Any) -> Any:
    """The root of the mean of squares."""
    if type(x) is Tensor:
        return np.sqrt(np.mean(np.square(np.abs(x))))
    return np.linalg.norm(x) / x.size**0.5


def combined(weights: Array, rows: Sequence[Any]) -> Any:
    """Rows, weighted and added up; `weights` may be several such sets."""
    if type(rows[0]) is np.ndarray:
        return np.dot(np.array(rows).T, weights.T).T
    return matmul(weights, stack_rows([*rows]))


def powers(x: Any, count: int) -> Any:
    """x, x**2, ... along a new last axis."""
    found = [x]
    for _ in range(count - 1):
        found.append(found[-1] * x)
    return np.stack(found, axis=-1)


class RungeKutta:
    """An explicit method.

    Attributes:
        name: as users give it.
        error_order: the order of the method that the error is estimated for.
        stages: how many rows a step has.
    """

    def __init__(self, name: str, tableau: Tableau) -> None:
        self.name = name
        self.tableau = tableau
        self.error_order = tableau.error_order
        self.stages = len(tableau.c) + 1

    def attempt(self, field: Function, t: Any, y: ArrayLike, f: Callable[..., Any], h: Any) -> tuple[Any, list[Any]]:
        """y after a step, and the slopes at all stages; the last is that at the end."""
        tableau = self.tableau
        rows = [f]
        for a, c in zip(tableau.a[1:], tableau.c[1:], strict=True):
            rows.append(field(t + c * h, y + combined(a, rows) * h))
        y_new = y + h * combined(tableau.b, rows)
        rows.append(field(t + h, y_new))
        return y_new, rows

    def error_norm(self, rows: Sequence[Any], h: ArrayLike, scale: ArrayLike) -> Any:
        """The estimated error of a step, in units of what is tolerated."""
        return norm(combined(self.tableau.errors, rows) * h / scale)

    # -- between the points -------------------------------------------------------------------------------------------

    def extra_evaluations(self) -> int:
        """How often the interpolant of a step evaluates the right-hand side."""
        return len(self.tableau.more_c)

    @property
    def dense_rows(self) -> int:
        """How many rows `dense` gives."""
        return self.tableau.dense.shape[1]

    def dense(
        self, field: Function, t: ArrayLike, y: ArrayLike, h: ArrayLike, y_new: object, rows: Sequence[Any]
    ) -> Any:
        """The coefficients of the interpolant, one a row."""
        return combined(self.tableau.dense.T, rows)

    def between(self, dense: object, y: ArrayLike, h: ArrayLike, x: ArrayLike) -> Any:
        """The solution where the part x of a step is done; for several x, one row each."""
        return y + h * (powers(x, self.dense_rows) @ dense)


class DormandPrince8(RungeKutta):
    """DOP853, whose error and interpolant have forms of their own."""

    def error_norm(self, rows: Sequence[Any], h: Any, scale: Any) -> Any:
        fifth, third = combined(self.tableau.errors, rows) / scale
        squares = np.sum(np.square(np.abs(fifth)))
        both = squares + 0.01 * np.sum(np.square(np.abs(third)))
        # where both are 0 the error is
        return np.abs(h) * squares / np.sqrt(np.where(both == 0, 1.0, both) * scale.shape[0])

    @property
    def dense_rows(self) -> int:
        return 3 + len(self.tableau.dense)

    def dense(
        self, field: Function, t: ArrayLike, y: ArrayLike | None, h: ArrayLike, y_new: Any, rows: Sequence[Any]
    ) -> Any:
        rows = [*rows]
        first, last = rows[0], rows[-1]
        for a, c in zip(self.tableau.more_a, self.tableau.more_c, strict=True):
            rows.append(field(t + c * h, y + combined(a, rows) * h))
        step = y_new - y
        heads = [step, h * first - step, 2 * step - h * (last + first)]
        return np.concatenate([np.stack(heads), h * combined(self.tableau.dense, rows)])

    def between(self, dense: Any, y: Any, h: ArrayLike, x: Any) -> Any:
        part = x[..., None]
        total = 0.0
        for index in range(self.dense_rows):
            total = (total + dense[self.dense_rows - 1 - index]) * (part if index % 2 == 0 else 1 - part)
        return y + total


EXPLICIT: dict[str, RungeKutta] = {
    "RK23": RungeKutta("RK23", RK23),
    "RK45": RungeKutta("RK45", RK45),
    "DOP853": DormandPrince8("DOP853", DOP853),
}
