"""What forward mode knows of a value lives as long as any tensor that stands for it, whenever the collector runs."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg

ONE = np.ones((1, 1))
LOOPS: dict[str, Callable[[Any], Any]] = {
    "fori_loop": lambda v: wg.fori_loop(0, 1, lambda i, c: v, ONE),
    "scan": lambda v: wg.scan(lambda c, row: (v, c), ONE, ONE)[0],
    "while_loop": lambda v: wg.while_loop(lambda i, c: i < 1, lambda i, c: (i + 1, v), (0, ONE))[1],
    "cond": lambda v: wg.cond(wg.sum(v) > 0, lambda c: v * c, lambda c: c, ONE),
}


@pytest.fixture
def eager_collector() -> Iterator[None]:
    """Collects at nearly every allocation, and so between any two steps of a program."""
    before = gc.get_threshold()
    gc.set_threshold(30, 2, 2)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("eager_collector")
@pytest.mark.parametrize("loop", [*LOOPS])
def test_tangents_of_what_a_loop_captures_outlive_the_tensor(loop: str) -> None:
    """The loop's program holds a twin of v; v itself belongs to a cycle of closures."""

    def f(x: Any) -> Any:
        v = wg.sin(x)

        def value() -> Any:
            return wg.mean(LOOPS[loop](v))

        root = wg.custom_root(
            lambda y: y - 1.0 - 0.1 * wg.tanh(value()), lambda g, y: wg.fori_loop(0, 3, lambda i, y: y - g(y), y)
        )
        return root(1.0)

    def closed(x: Any) -> Any:
        return wg.sum(0.1 * wg.tanh(wg.mean(wg.sin(x))))

    gradient = wg.grad(f)
    wanted = wg.grad(lambda x: wg.sum(wg.grad(closed)(x)))(ONE)
    for _ in range(6):  # the collector comes at other places each time
        np.testing.assert_allclose(wg.jvp(gradient, (ONE,), (ONE,))[1], wanted, rtol=1e-6)
