"""Captured NumPy arrays beside a framework's: transferred once, and again when they have changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.engines import engine_named, every_users_engine, native
from tests.support.wide_jax import x64
from wengert._compile import uploads

X = np.array([1.0, 2.0, 3.0], np.float32)


def counted(engine: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list of the arrays that come to an engine from NumPy, from now on."""
    seen: list[Any] = []
    home = engine_named(engine)
    for name in ("place", "from_numpy"):
        move = getattr(home, name)
        monkeypatch.setattr(home, name, lambda array, *rest, move=move: (seen.append(array), move(array, *rest))[1])
    return seen


@every_users_engine
@pytest.mark.parametrize("form", ["bare", "tuple"])  # known by its types alone, and through structures
def test_a_captured_array_is_transferred_once(engine: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    weights, x = np.array([1.0, 3.0, 5.0], np.float32), native(engine, X)
    if form == "bare":
        f = wg.function(lambda v: wg.sum(v * weights))
    else:
        f = wg.function(lambda v: wg.sum(v[0] * weights))
        x = (x,)
    for _ in range(3):
        assert float(f(x)) == 22.0
    moves = counted(engine, monkeypatch)
    for _ in range(3):
        assert float(f(x)) == 22.0
    assert moves == []
    weights[1] = 0.0
    assert [float(f(x)) for _ in range(3)] == [16.0] * 3
    assert len(moves) == 1


@every_users_engine
def test_gradients_beside_a_captured_array_that_changes(engine: str) -> None:
    weights, x = np.array([1.0, 3.0, 5.0], np.float32), native(engine, X)
    g = wg.function(wg.grad(lambda v: wg.sum(v * v * weights)))
    for step in range(4):
        weights[0] = step
        np.testing.assert_array_equal(np.asarray(g(x)), 2 * X * weights)


@every_users_engine
@pytest.mark.parametrize("form", ["bare", "tuple"])
def test_large_arrays_are_neither_compared_nor_kept(engine: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    weights, x = np.array([1.0, 3.0, 5.0], np.float32), native(engine, X)
    monkeypatch.setattr(uploads, "_KEPT", 8)
    compared: list[Any] = []
    for name in ("bytes_of", "same_bytes"):
        look = getattr(uploads, name)
        monkeypatch.setattr(uploads, name, lambda *args, look=look: (compared.append(args), look(*args))[1])
    f = wg.function((lambda v: wg.sum(v * weights)) if form == "bare" else (lambda v: wg.sum(v[0] * weights)))
    for _ in range(3):
        assert float(f(x if form == "bare" else (x,))) == 22.0
    weights[1] = 0.0
    for _ in range(3):
        assert float(f(x if form == "bare" else (x,))) == 16.0
    assert not compared


@every_users_engine
def test_a_result_that_is_the_captured_array_is_the_callers_own(engine: str) -> None:
    weights, x = np.array([1.0, 3.0, 5.0], np.float32), native(engine, X)
    f = wg.function(lambda v: (wg.tensor(weights), v * weights))
    first = [f(x)[0] for _ in range(3)][-1]
    if engine == "torch":
        first.add_(1.0)  # of these engines the one whose arrays can be written to
    np.testing.assert_array_equal(np.asarray(f(x)[0]), weights)


def test_what_a_transform_of_jax_sees_is_not_kept() -> None:
    jax = pytest.importorskip("jax")
    weights = np.array([1.0, 3.0, 5.0], np.float32)
    f = wg.function(lambda v: wg.sum(v * weights))
    x = native("jax", X)
    assert float(jax.jit(f)(x)) == 22.0
    np.testing.assert_array_equal(jax.grad(f)(x), weights)
    assert float(f(x)) == 22.0
    np.testing.assert_array_equal(jax.jit(jax.grad(f))(x), weights)


def test_torchs_inference_mode_leaves_arrays_that_backward_can_save() -> None:
    torch = pytest.importorskip("torch")
    weights = np.array([1.0, 3.0, 5.0], np.float32)
    f = wg.function(lambda v: wg.sum(v * v * weights))
    with torch.inference_mode():
        assert float(f(torch.tensor(X))) == 58.0
    for _ in range(2):
        x = torch.tensor(X, requires_grad=True)
        f(x).backward()
        assert x.grad.tolist() == [2.0, 12.0, 30.0]


def test_jaxs_64_bit_switch_is_part_of_what_is_kept() -> None:
    jax = pytest.importorskip("jax")
    weights = np.array([1.0 + 1e-12, 3.0, 5.0])
    f = wg.function(lambda v: v * weights)
    for is_wide in (False, True, False, True):
        with x64(is_wide):
            found = np.asarray(f(jax.numpy.ones(3, "float32")))
        assert (found[0] != 1.0) == is_wide
