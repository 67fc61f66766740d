"""Slopes of elementwise primitives at small and large numbers, where squares leave the range of the dtype.

The reference is the same slope in float64, whose range holds the squares of all float32 numbers.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._core.apply import apply
from wengert._core.op import REGISTRY, Op

MAGNITUDES = [1e-36, 1e-30, 1e-22, 1e-15, 1e-8, 1e-3, 0.7, 1.9, 6.0, 1e4, 1e9, 1e15, 1e19, 1e25, 1e36]
POINTS = np.array([s * m for m in MAGNITUDES for s in (1, -1)], np.float32)
LEAST, MOST = 1e-36, 1e37  # what float32 holds with all its digits

# Of these a slope is the small difference of larger numbers, or made of a number that float32 does not hold.
HARD = {
    "beta": "the difference of the digammas of 1e9 and of 1e9 + 1e-36 is a subnormal number",
    "gamma_size": "log(x) - digamma(a) where both are nearly equal",
    "gammaincinv": "the value is below the range, and slopes are made of it",
}
ROUNDING = {"tanh": 1e-6}  # 1 - out^2, as in every library: what is lost is below the rounding of 1

OPS = [
    op for op in REGISTRY.values()
    if op.kind == "elementwise" and not op.attrs and len(op.operands) <= 2 and op.facts.smooth and op.name not in HARD
]  # fmt: skip


def points(count: int) -> list[np.ndarray[Any, Any]]:
    grids = np.meshgrid(*[POINTS] * count)
    return [np.ascontiguousarray(g.ravel()) for g in grids]


@pytest.mark.parametrize("op", OPS, ids=str)
def test_slopes_are_those_of_float64(op: Op) -> None:
    narrow = points(len(op.operands))
    wide = [x.astype(np.float64) for x in narrow]
    places = tuple(range(len(narrow)))

    def program(*x: Any) -> Any:
        return wg.sum(apply(op, tuple(map(wg.tensor, x))))

    slopes = wg.grad(program, argnums=places, unconnected_gradients="zero")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = np.asarray(apply(op, tuple(map(wg.tensor, wide))))
        expected = slopes(*wide)
        found = [slopes(*narrow), wg.function(slopes)(*narrow)]
    for way in found:
        for g, wanted in zip(way, expected, strict=True):
            assert g.dtype == np.float32
            held = np.isfinite(value) & (np.abs(value) < MOST) & (np.abs(wanted) > LEAST) & (np.abs(wanted) < MOST)
            off = held & ~(np.abs(g - wanted) <= 1e-3 * np.abs(wanted) + ROUNDING.get(op.name, 0.0))
            assert not off.any(), [(*[float(x[off][0]) for x in narrow], float(g[off][0]), float(wanted[off][0]))]
