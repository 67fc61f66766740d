"""Steps by the Taylor series of the solution; its terms come from those of the right-hand side (`_transforms/jets.py`).

Order and length are those of A. Jorba, M. Zou, "A software package for the numerical integration of ODEs by means of
high-order Taylor methods", Experimental Mathematics 14(1), 2005: the order follows from the tolerance, and the step is
so long that the last two terms are as large as what is tolerated, times a factor that is less than 1. Theirs is the
order of the fewest operations; a few more are better here, where a step costs something beside them. Written once for
ndarrays, tensors and symbols.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from ._runge_kutta import norm, powers

MORE, MOST_ORDER = 4, 36


class Taylor:
    """The method; `between` and `extra_evaluations` are as those of `RungeKutta`.

    Attributes:
        order: of the series.
    """

    name = "taylor"

    def __init__(self, rtol: Tensor) -> None:
        tolerance = min(float(np.min(rtol)), 1.0)
        self.order = min(math.ceil(1 - 0.5 * math.log(tolerance)) + MORE, MOST_ORDER)

    @property
    def dense_rows(self) -> int:
        """How many rows an interpolant has."""
        return self.order

    def extra_evaluations(self) -> int:
        """None."""
        return 0

    def length(self, terms: Sequence[Any], scale: ArrayLike) -> Any:
        """How long a step from here may be; infinite where the last two terms are zero."""
        longest = np.inf
        for k in (self.order - 1, self.order):
            size = norm(terms[k - 1] / scale)
            is_zero = size == 0
            longest = np.minimum(longest, np.where(is_zero, np.inf, np.where(is_zero, 1.0, size) ** (-1 / k)))
        return longest * math.exp(-0.7 / (self.order - 1))

    def rows(self, terms: Sequence[Any], h: Any) -> list[Any]:
        """The terms times the powers of a step's length."""
        found: list[Any] = []
        power = h
        for term in terms:
            found.append(term * power)
            power = power * h
        return found

    def end(self, y: ArrayLike, rows: Sequence[Any]) -> Any:
        """The solution behind a step."""
        total = rows[-1]
        for row in rows[-2::-1]:  # the small ones first
            total = total + row
        return y + total

    def defect(self, rows: Sequence[Any], f: Any, h: Any, scale: Any) -> Any:
        """How far the slope behind a step is from that of the series, in units of what is tolerated in a step of an
        order: of a smooth right-hand side it is below 1, so it tells where there was a kink or a jump within."""
        slope = rows[-1] * self.order
        for k in range(self.order - 1, 0, -1):
            slope = slope + rows[k - 1] * k
        return norm((h * f - slope) / scale) / self.order

    def between(self, dense: ArrayLike, y: ArrayLike, h: ArrayLike, x: ArrayLike) -> Any:
        """The solution where the part x of a step is done."""
        return y + powers(x, self.order) @ dense
