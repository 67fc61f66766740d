"""Loops in fixed memory where a framework compiles them: states are kept before blocks of steps, which the backward pass
runs again at once."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from tests.support.engines import native, ndarray
from wengert._control import checkpointed

COMPILED = ["jax", "tensorflow", "tensorflow by XLA"]


def _compiled(f: Any, name: str) -> Any:
    """A function as a framework compiles it, of its arrays."""
    if name == "jax":
        jax = pytest.importorskip("jax", reason="JAX is not installed")
        return jax.jit(wg.function(f).to_jax())
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    return tf.function(wg.function(f).to_tensorflow(), jit_compile=name == "tensorflow by XLA")


def _loops(x: Any, w: Any, rows: Any) -> Any:
    """A scan in reverse with what it stacks, and conditional loops without a bound, of few slots and of more."""
    c, ys = wg.scan(lambda c, v: (wnp.sin(c) * w + v * c, c * v), x, rows, reverse=True, checkpoint=3)
    found = wnp.sum(c) + wnp.sum(ys * ys)
    for slots in (1, 3, 9):
        _, d = wg.while_loop(
            lambda i, c: i < w * 30.0, lambda i, c: (i + 1, wnp.sin(c) * w + c), (0, c), checkpoint=slots
        )
        found = found + wnp.sum(d)
    return found


@pytest.mark.parametrize("name", COMPILED)
def test_blocks_that_are_run_again_more_than_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpointed, "ROOM", 48)  # bytes: room for blocks of a step or two
    monkeypatch.setattr(checkpointed, "UNKNOWN_BLOCK", 2)
    rng = np.random.default_rng(0)
    arguments = rng.normal(size=2), np.float64(0.7), rng.normal(size=(17, 2))
    gradient = wg.grad(_loops, argnums=(0, 1, 2))
    wanted = gradient(*arguments)
    engine = name.split()[0]
    run = _compiled(gradient, name)
    found = run(*[native(engine, a) for a in arguments])
    assert found[0].dtype == "float64"
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ndarray(got), want, rtol=1e-12)


@pytest.mark.parametrize("policy", ["all", "auto", "sqrt", 3])
@pytest.mark.parametrize("name", COMPILED)
def test_derivatives_of_a_loop_over_integers(name: str, policy: Any) -> None:
    def f(x: Any) -> Any:
        return wnp.sum(wg.fori_loop(2, 9, lambda i, c: wnp.sin(c) * x + c / i, x, checkpoint=policy) ** 2)

    x = np.array([0.3, 0.8])
    for g in (wg.grad(f), wg.grad(lambda x: wnp.sum(wg.grad(f)(x) ** 2))):
        run = _compiled(g, name)
        found = run(native(name.split()[0], x))
        np.testing.assert_allclose(ndarray(found), g(x), rtol=1e-12)


def _text(f: Any, name: str) -> str:
    """What XLA is given."""
    run = _compiled(f, name)
    x = native(name.split()[0], np.ones(1, "float32"))
    return run.lower(x).as_text() if name == "jax" else run.experimental_get_compiler_ir(x)(stage="hlo")


@pytest.mark.parametrize("name", ["jax", "tensorflow by XLA"])
def test_more_slots_than_blocks_take_no_room(name: str) -> None:
    def loss(x: Any) -> Any:
        return wnp.sum(wg.fori_loop(0, 1_000_000, lambda i, c: wnp.sin(c) * 0.5 + c, x, checkpoint=100_001))

    shapes = re.findall(r"tensor<([\dx]+)x[a-z]|\w\d+\[([\d,]+)\]", _text(wg.grad(loss), name))
    extents = {int(n) for both in shapes for n in re.split("[x,]", max(both))}
    assert {1000, 1001} <= extents  # the rows of a block, the slots
    assert max(extents) <= 1001
