"""What a framework's function in a bridge reads beside its arguments, where the arguments are no arrays of its own."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.engines import every_users_engine

X = np.array([1.0, 2.0], np.float32)


def _bridge(engine: str, f: Any) -> Any:
    return getattr(wg, f"from_{engine}")(f)


def _array(engine: str, numbers: Any) -> Any:
    if engine == "jax":
        return importlib.import_module("jax.numpy").asarray(numbers, dtype="float32")
    library = importlib.import_module(engine)
    return (library.tensor if engine == "torch" else library.constant)(numbers, dtype=library.float32)


def _changes(engine: str) -> dict[str, tuple[Any, Any]]:
    """For each sort of place a function of the framework's that reads it, and what changes it."""
    settings, entries, held = SimpleNamespace(s=1.0), {"w": _array(engine, [1.0, 1.0])}, np.ones(2, np.float32)
    several, cell, flags = [1.0], 1.0, {"is_long"}

    def next_cell() -> None:
        nonlocal cell
        cell += 1.0

    return {
        "attribute": (lambda x: x * settings.s, lambda: settings.__setattr__("s", settings.s + 1.0)),
        "array in a dictionary": (lambda x: x * entries["w"], lambda: entries.update(w=entries["w"] + 1.0)),
        "NumPy's array": (lambda x: x * _array(engine, held), lambda: np.add(held, 1.0, out=held)),
        "list": (lambda x: x * several[0], lambda: several.__setitem__(0, several[0] + 1.0)),
        "closure": (lambda x: x * cell, next_cell),
        "set": (lambda x: x * (2.0 if "is_long" in flags else 1.0), lambda: flags.symmetric_difference_update(["is_long"])),
    }  # fmt: skip


PLACES = [*_changes("torch")] if importlib.util.find_spec("torch") else ["attribute", "list", "closure"]


@every_users_engine
@pytest.mark.parametrize("place", PLACES)
def test_what_is_read_is_what_is_there_at_the_call(engine: str, place: str) -> None:
    """In calls that compile, in the first one after a change and in later ones, forwards and backwards."""
    f, change = _changes(engine)[place]
    bridge = _bridge(engine, f)
    values, slopes, again = bridge, wg.grad(bridge), wg.function(wg.grad(bridge))
    for times in (1, 3, 1, 1):
        for _ in range(times):
            want = np.asarray(f(_array(engine, X)))
            np.testing.assert_allclose(values(X), want, rtol=1e-6)
            np.testing.assert_allclose(slopes(X), want / X, rtol=1e-6)
            np.testing.assert_allclose(again(X), want / X, rtol=1e-6)
            np.testing.assert_allclose(wg.vmap(bridge)(np.stack([X, X])), [want, want], rtol=1e-6)
        change()


@pytest.mark.parametrize("engine", ["jax", "tensorflow"])
def test_what_has_not_changed_is_compiled_once(engine: str) -> None:
    pytest.importorskip(engine, reason="the framework is not installed")
    settings, runs = SimpleNamespace(s=1.0), 0

    def f(x: Any) -> Any:
        nonlocal runs
        runs += 1
        return x * settings.s

    bridge = _bridge(engine, f)
    found = []
    for step in range(8):
        before = runs
        bridge(X)
        found.append(runs - before)
        if step == 3:
            settings.s = 2.0
    assert all(found[step] for step in (0, 4, 5))  # the first one, the one after the change, and the next, for good
    assert not any(found[step] for step in (1, 2, 3, 6, 7))


def _trained(engine: str) -> tuple[Any, Callable[[], None], Callable[..., Any]]:
    """A parameter of the framework's, what changes it in place, and its own value and gradient of a sum."""
    library = pytest.importorskip(engine, reason="the framework is not installed")
    if engine == "tensorflow":
        v = library.Variable([2.0, 3.0])

        def by_tape(f: Any, x: Any) -> tuple[Any, Any]:
            with library.GradientTape() as tape:
                y = f(x)
            return y, tape.gradient(y, v)

        return v, lambda: v.assign_add([0.5, 0.25]), by_tape
    w = library.nn.Parameter(library.tensor([2.0, 3.0]))

    def step() -> None:
        with library.no_grad():
            w.add_(library.tensor([0.5, 0.25]))

    def by_backward(f: Any, x: Any) -> tuple[Any, Any]:
        y = f(x)
        return y.detach(), library.autograd.grad(y.sum(), w)[0]

    return w, step, by_backward


@pytest.mark.parametrize("engine", ["torch", "tensorflow"])
@pytest.mark.parametrize("place", ["closure", "attribute"])
def test_variables_that_a_bridged_function_reads_cause_no_new_trace(engine: str, place: str) -> None:
    w, step, value_and_gradient = _trained(engine)
    holder = SimpleNamespace(w=w)
    sine = importlib.import_module(engine).sin
    inner = (lambda x: sine(x) * w) if place == "closure" else (lambda x: sine(x) * holder.w)
    x = _array(engine, X)
    f = wg.function(wg.from_torch(inner) if engine == "torch" else wg.from_tensorflow(inner))
    for _ in range(4):
        np.testing.assert_allclose(
            np.asarray(f(X)), np.sin(X) * np.asarray(w.detach() if engine == "torch" else w), rtol=1e-6
        )
        value, slope = value_and_gradient(f, x)
        want, wanted_slope = value_and_gradient(inner, x)
        np.testing.assert_allclose(value, want, rtol=1e-6)
        np.testing.assert_allclose(slope, wanted_slope, rtol=1e-6)
        step()
    assert f.trace_count <= 3  # for NumPy's arrays, and for the framework's followed and unfollowed


@pytest.mark.filterwarnings("ignore:.* was traced 5 times")
@pytest.mark.parametrize("engine", ["torch", "tensorflow"])
def test_variables_that_something_else_reads_as_numbers_do(engine: str) -> None:
    w, step, _ = _trained(engine)
    sine = importlib.import_module(engine).sin
    bridge = (wg.from_torch if engine == "torch" else wg.from_tensorflow)(lambda x: sine(x) * w)
    number = (lambda: float(w.detach()[0])) if engine == "torch" else (lambda: float(w[0]))
    f = wg.function(lambda x: bridge(x) * number())
    for _ in range(4):
        held = np.asarray(w.detach() if engine == "torch" else w)
        np.testing.assert_allclose(np.asarray(f(X)), np.sin(X) * held * held[0], rtol=1e-6)
        step()
