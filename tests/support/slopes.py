"""Gradients of functions on arrays, and central differences to hold against them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
import wengert.numpy as wnp
from wengert import Tensor
from wengert._core.state import recording
from wengert._transforms.tape import Tape

Array = np.ndarray[Any, Any]


def recorded(f: Callable[..., Any], *points: Array) -> tuple[Any, list[Tensor], Tape]:
    """f's result under an open tape, its tensor arguments, and the tape."""
    xs = [wg.tensor(p) for p in points]
    tape = Tape([x._key for x in xs])
    with recording(tape):
        result = f(*xs)
    return result, xs, tape


def gradients(f: Callable[..., Any], *points: Array) -> list[Array]:
    """The gradients of the sum of everything that f returns."""

    def total(*xs: Tensor) -> Any:
        result = f(*xs)
        parts = result if isinstance(result, (tuple, list)) else (result,)
        sums = [wnp.sum(wnp.real(part)) for part in parts]
        return sum(sums[1:], sums[0])

    found = wg.grad(total, argnums=tuple(range(len(points))))(*map(np.array, points))
    return [np.asarray(g) for g in found]


def slopes(f: Callable[..., Any], *points: Array, step: float = 1e-6) -> list[Array]:
    """Central differences of the same sum, with f run on plain arrays."""

    def total(*arrays: Array) -> float:
        result = f(*arrays)
        parts = result if isinstance(result, (tuple, list)) else (result,)
        return float(sum(np.sum(np.real(np.asarray(part))) for part in parts))

    found = []
    for i, point in enumerate(points):
        slope = np.zeros(np.shape(point))
        for place in np.ndindex(slope.shape):
            sides = []
            for sign in (1, -1):
                moved = [np.array(p, dtype=float) for p in points]
                moved[i][place] += sign * step
                sides.append(total(*moved))
            slope[place] = (sides[0] - sides[1]) / (2 * step)
        found.append(slope)
    return found


def check(
    f: Callable[..., Any], *points: Array, tolerance: float = 2e-7, plain: Callable[..., Any] | None = None
) -> None:
    """The gradients of f are those that differences of f (or of its twin on plain arrays) show."""
    for ours, theirs in zip(gradients(f, *points), slopes(plain or f, *points)):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance * 10, atol=tolerance)
