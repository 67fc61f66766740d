"""The last axes of a nest become one where all that it reads and writes lies as if they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._passes import optimise

X = np.random.default_rng(4).normal(size=(3, 4, 5, 7))


def standardised(x: Any, axes: tuple[int, ...]) -> Any:
    return (x - np.mean(x, axis=axes, keepdims=True)) / np.sqrt(np.var(x, axis=axes, keepdims=True) + 1e-3)


def of_groups(x: Any) -> Any:
    return standardised(x.reshape(3, 2, 2, 5, 7), (2, 3, 4)).reshape(x.shape) * x[0, :, :1, :1]


JOINT: dict[str, Callable[[Any], Any]] = {  # whose planes are gone along as one axis
    "statistics of planes": lambda x: standardised(x, (2, 3)),
    "variances of planes": lambda x: np.var(x, axis=(2, 3)),
    "statistics of channels": lambda x: standardised(x, (0, 2, 3)),
    "groups": of_groups,
    "scales": lambda x: x * x[0, :, :1, :1] + 1,
    "planes": lambda x: x * x[0, 0],
}
APART: dict[str, Callable[[Any], Any]] = {  # where something tells one of the last axes from another
    "rows": lambda x: x * x[0, 0, 0],
    "columns": lambda x: x * x[0, 0, :, :1],
    "largest of rows": lambda x: x / np.max(x, axis=3, keepdims=True),
    "turned": lambda x: x.transpose(0, 1, 3, 2).copy() * x[0, :, :1, :1],
    "turned planes": lambda x: x * np.swapaxes(x.reshape(3, 4, 7, 5), 2, 3),
    "padded": lambda x: np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 2))) * x[0, :, :1, :1],
    "padded in front": lambda x: np.pad(x, ((0, 0), (1, 2), (0, 0), (0, 1)))[:, 1:5] * x[0, :, :1, :1],
    "triangles": lambda x: wg.numpy.tril(x) * x[0, :, :1, :1],
    "joined channels": lambda x: np.concatenate([x * x[0, 0, :, :1], x * x[0, :, :1, :1]], axis=1),
    "slices": lambda x: x[:, :, 1:4, ::2] - np.mean(x, axis=(2, 3), keepdims=True),
    "reversed": lambda x: x[:, :, ::-1, ::-1] - np.mean(x, axis=(2, 3), keepdims=True),
    "running totals": lambda x: np.cumsum(x - np.mean(x, axis=(2, 3), keepdims=True), axis=3),
}
PROGRAMS = JOINT | APART


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("layout", ["C", "F", "of 1 image", "float32"])
def test_joint_axes_give_what_numpy_gives(name: str, layout: str) -> None:
    x = X[:1].repeat(3, 0) if layout == "of 1 image" else np.asarray(X, order="F" if layout == "F" else "C")
    x = x.astype(np.float32) if layout == "float32" else x
    tolerance = 2e-5 if layout == "float32" else 1e-12
    program = PROGRAMS[name]
    np.testing.assert_allclose(wg.function(program)(x), program(x), tolerance, tolerance)
    weights = np.cos(np.arange(np.size(program(x)))).reshape(np.shape(program(x)))

    def loss(x: Any) -> Any:
        return wg.sum(program(x) * weights)

    np.testing.assert_allclose(wg.function(wg.grad(loss))(x), wg.grad(loss)(x), tolerance, tolerance)


@pytest.mark.parametrize("name", JOINT)
def test_planes_are_one_axis(name: str) -> None:
    loops = str(lowered(ready(optimise(wg.function(JOINT[name]).trace(X))), "f").function)
    assert "0 .. 7\n" not in loops
