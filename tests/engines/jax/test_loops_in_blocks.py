"""Loops in fixed memory under XLA: states are kept before blocks of steps, which the backward pass runs again at once."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
regions = pytest.importorskip("wengert._engines.jax.regions", reason="JAX is not installed")


def _loops(x: Any, w: Any, rows: Any) -> Any:
    """A scan in reverse with what it stacks, and a conditional loop without a bound."""
    c, ys = wg.scan(lambda c, v: (wnp.sin(c) * w + v * c, c * v), x, rows, reverse=True, checkpoint=3)
    _, d = wg.while_loop(lambda i, c: i < w * 30.0, lambda i, c: (i + 1, wnp.sin(c) * w + c), (0, c), checkpoint=3)
    return wnp.sum(d) + wnp.sum(ys * ys)


def test_blocks_that_are_run_again_more_than_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "ROOM", 48)  # bytes: room for blocks of a step or two
    monkeypatch.setattr(regions, "UNKNOWN_BLOCK", 2)
    rng = np.random.default_rng(0)
    arguments = rng.normal(size=2), np.float64(0.7), rng.normal(size=(17, 2))
    wanted = wg.grad(_loops, argnums=(0, 1, 2))(*arguments)
    found = wg.function(wg.grad(_loops, argnums=(0, 1, 2)))(*map(jnp.asarray, arguments))
    assert found[0].dtype == "float64"
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_more_slots_than_blocks_take_no_room() -> None:
    def loss(x: Any) -> Any:
        return wnp.sum(wg.fori_loop(0, 1_000_000, lambda i, c: wnp.sin(c) * 0.5 + c, x, checkpoint=100_001))

    text = jax.jit(wg.function(wg.grad(loss)).to_jax()).lower(jnp.ones(1, "float32")).as_text()
    extents = {int(n) for shape in re.findall(r"tensor<([\dx]+)x[a-z]", text) for n in shape.split("x")}
    assert {1000, 1001} <= extents  # the rows of a block, the slots
    assert max(extents) <= 1001
