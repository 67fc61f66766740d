"""Gradients by a tape of the core, and central differences to hold against them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert._engines.numpy  # noqa: F401  # registers the kernels
import wengert.numpy
import wengert.ops.methods  # noqa: F401  # attaches the operators
from wengert._core.state import recording
from wengert._core.tensor import Tensor, fresh
from wengert._core.types import type_of
from wengert._prims.structural import real
from wengert._transforms.reverse import Tape, materialise, ones_like_type, sweep

Array = np.ndarray[Any, Any]


def recorded(f: Callable[..., Any], *points: Array) -> tuple[Any, list[Tensor], Tape]:
    """f's result under an open tape, its tensor arguments, and the tape."""
    xs = [fresh(np.array(p)) for p in points]
    tape = Tape([x._key for x in xs])
    with recording(tape):
        result = f(*xs)
    return result, xs, tape


def gradients(f: Callable[..., Any], *points: Array) -> list[Array]:
    """The gradients of the sum of everything that f returns."""
    def total(*xs: Tensor) -> Any:
        result = f(*xs)
        parts = result if isinstance(result, (tuple, list)) else (result,)
        sums = [wengert.numpy.sum(real_part(part)) for part in parts]
        return sum(sums[1:], sums[0])

    result, xs, tape = recorded(total, *points)
    assert isinstance(result, Tensor), f"the result is a {type(result).__name__}: nothing was recorded"
    assert tape.tracks(result._key), "the tape does not follow the result"
    found = sweep(tape.entries, [(result._key, ones_like_type(type_of(result)))], [x._key for x in xs])
    assert all(g is not None for g in found), "an argument does not reach the result"
    return [materialise(g, type_of(x)).numpy() for g, x in zip(found, xs)]


def real_part(x: Any) -> Any:
    return real(x) if isinstance(x, Tensor) and x.dtype.kind == "c" else x


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


def check(f: Callable[..., Any], *points: Array, tolerance: float = 2e-7, plain: Callable[..., Any] | None = None) -> None:
    """The gradients of f are those that differences of f (or of its twin on plain arrays) show."""
    for ours, theirs in zip(gradients(f, *points), slopes(plain or f, *points)):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance * 10, atol=tolerance)
