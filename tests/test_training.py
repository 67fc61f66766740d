"""Gradient methods: optax's and torch's numbers, every kind of array, structures, functions traced once, errors."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.engines import NAMES, every_users_engine, parameter
from tests.support.optimisers import METHODS, SCHEDULES, SEARCH_START, STEPS, loss, start, valley
from tests.support.paths import ROOT

o: Any = wg.optimize
OPTAX = json.loads((Path(__file__).parent / "spec" / "optax.json").read_text(encoding="utf-8"))


def trained(opt: Any, params: Any, steps: int = STEPS) -> Any:
    state = opt.init(params)
    for _ in range(steps):
        updates, state = opt.update(wg.grad(loss)(params), state, params)
        params = o.apply_updates(params, updates)
    return params


@pytest.mark.parametrize("name", METHODS)
def test_methods_give_optax_numbers(name: str) -> None:
    method, _, options = METHODS[name]
    found = trained(getattr(o, method)(**options), start())
    for array, wanted in zip((found["w"], found["b"][0]), OPTAX["methods"][name], strict=True):
        np.testing.assert_allclose(array, wanted, rtol=1e-12)


def searched(opt: Any, params: Any, f: Any, steps: int) -> list[Any]:
    """The parameters after each step of a method that searches along it."""
    state, found = opt.init(params), []
    for _ in range(steps):
        value, grad = wg.value_and_grad(f)(params)
        updates, state = opt.update(grad, state, params, value=value, grad=grad, value_fn=f)
        params = o.apply_updates(params, updates)
        found.append(params)
    return found


def test_a_line_search_gives_optax_numbers() -> None:
    found = searched(o.lbfgs(), {"x": np.array(SEARCH_START)}, valley, len(OPTAX["search"]))
    # each step is a quotient of small differences
    np.testing.assert_allclose([params["x"] for params in found], OPTAX["search"], rtol=1e-6, atol=1e-9)


def test_a_line_search_runs_in_a_function_traced_once() -> None:
    traces = 0

    def step(params: Any, state: Any) -> Any:
        nonlocal traces
        traces += 1
        value, grad = wg.value_and_grad(valley)(params)
        updates, state = opt.update(grad, state, params, value=value, grad=grad, value_fn=valley)
        return o.apply_updates(params, updates), state

    opt = o.lbfgs()
    params = {"x": np.array(SEARCH_START)}
    state, compiled = opt.init(params), wg.function(step)
    for _ in range(6):
        params, state = compiled(params, state)
    assert traces == 1
    np.testing.assert_allclose(params["x"], OPTAX["search"][5], rtol=1e-6)


def test_a_line_search_takes_other_arguments_of_the_function_and_complex_parameters() -> None:
    def f(z: Any, target: Any) -> Any:
        return wg.sum(wg.abs(z - target) ** 2)

    opt = o.chain(o.sgd(1.0), o.scale_by_zoom_linesearch(15))
    z, target = np.array([1.0 + 2.0j, -1.0j]), np.array([0.5j, 2.0])
    value, grad = wg.value_and_grad(lambda z: f(z, target))(z)
    updates, state = opt.update(grad, opt.init(z), z, value=value, grad=grad, value_fn=f, target=target)
    np.testing.assert_allclose(z + updates, target, atol=1e-12)
    assert state[1].info.decrease_error == 0.0
    np.testing.assert_allclose(state[1].value, 0.0, atol=1e-20)


def test_a_search_up_the_hill_stays_within_its_rounds_and_says_that_it_failed() -> None:
    opt = o.chain(o.scale(1.0), o.scale_by_zoom_linesearch(6))
    x = np.array([1.0, 2.0])
    _, state = opt.update(2 * x, opt.init(x), x, value=np.sum(x**2), grad=2 * x, value_fn=lambda x: wg.sum(x**2))
    assert state[1].info.num_linesearch_steps == 6
    assert state[1].info.decrease_error > 0.0


def test_a_pair_that_takes_no_names_stands_beside_a_line_search() -> None:
    plain = (lambda params: (), lambda gradients, state, params=None: (-gradients, state))
    opt = o.chain(plain, o.scale_by_zoom_linesearch(10))
    x = np.array([3.0])
    updates, _ = opt.update(2 * x, opt.init(x), x, value=9.0, grad=2 * x, value_fn=lambda x: wg.sum(x**2))
    np.testing.assert_allclose(x + updates, 0.0, atol=1e-12)


def test_each_array_is_clipped_by_its_own_norm() -> None:
    gradients = {"a": np.array([3.0, 4.0]), "b": np.array([0.3, -0.4]), "c": np.zeros(2), "d": np.array([6.0 + 8.0j])}
    opt = o.clip_by_norm(2.0)
    found, _ = opt.update(gradients, opt.init(gradients))
    np.testing.assert_allclose(found["a"], [1.2, 1.6])
    np.testing.assert_array_equal(found["b"], gradients["b"])
    np.testing.assert_array_equal(found["c"], gradients["c"])
    np.testing.assert_allclose(found["d"], [1.2 + 1.6j])


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_give_optax_numbers(name: str) -> None:
    schedule, _, arguments = SCHEDULES[name]
    found = [float(getattr(o, schedule)(*arguments)(step)) for step in range(0, 30, 2)]
    np.testing.assert_allclose(found, OPTAX["schedules"][name], rtol=1e-12, atol=1e-15)


TORCH: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "sgd": (o.sgd(0.1, 0.9), "SGD", {"lr": 0.1, "momentum": 0.9}),
    "nesterov": (o.sgd(0.1, 0.9, nesterov=True), "SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "adam": (o.adam(0.1), "Adam", {"lr": 0.1}),
    "adamw": (o.adamw(0.1, weight_decay=0.05), "AdamW", {"lr": 0.1, "weight_decay": 0.05}),
    "rmsprop": (o.rmsprop(0.1, decay=0.99, eps_in_sqrt=False), "RMSprop", {"lr": 0.1}),
}


@pytest.mark.parametrize("name", TORCH)
@pytest.mark.parametrize("engine", [parameter("torch")] if "torch" in NAMES else [])
def test_methods_give_torch_numbers(name: str, engine: str) -> None:
    torch: Any = importlib.import_module(engine)
    ours, theirs, options = TORCH[name]
    w = torch.tensor(start()["w"], requires_grad=True)
    opt = getattr(torch.optim, theirs)([w], **options)
    slope = wg.grad(lambda w: loss({"w": w, "b": (np.zeros(1),)}))
    for _ in range(STEPS):
        w.grad = torch.as_tensor(slope(w.detach().numpy()))
        opt.step()
    found, state = start()["w"], ours.init(start()["w"])
    for _ in range(STEPS):
        updates, state = ours.update(slope(found), state, found)
        found = o.apply_updates(found, updates)
    np.testing.assert_allclose(found, w.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", ["adam", "rmsprop, centered", "lbfgs", "lion"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_function_takes_the_state_and_is_traced_once(name: str, dtype: str) -> None:
    method, _, options = METHODS[name]
    rate = o.cosine(0.1, 50)
    # quasi-Newton steps on gradients that are clipped run away, and rounding with them
    most = 100.0 if name == "lbfgs" else 1.0
    opt = o.chain(o.clip_by_global_norm(most), getattr(o, method)(**{**options, "learning_rate": rate}))

    def step(params: Any, state: Any) -> Any:
        updates, state = opt.update(wg.grad(loss)(params), state, params)
        return o.apply_updates(params, updates), state

    compiled = wg.function(step)
    params = wg.tree.map(lambda x: x.astype(dtype), start())
    eager, states = params, [opt.init(params)] * 2
    for _ in range(5):
        params, states[0] = compiled(params, states[0])
        eager, states[1] = step(eager, states[1])
    assert compiled.trace_count == 1
    assert params["w"].dtype == eager["b"][0].dtype == dtype
    np.testing.assert_allclose(params["w"], eager["w"], rtol=1e-9 if dtype == "float64" else 1e-5)


@every_users_engine
@pytest.mark.parametrize("name", ["adamw", "lbfgs"])
def test_other_arrays_stay_what_they_are(engine: str, name: str) -> None:
    framework: Any = importlib.import_module({"jax": "jax.numpy"}.get(engine, engine))
    make = {"jax": "asarray", "torch": "tensor", "tensorflow": "constant"}[engine]
    params = {"w": getattr(framework, make)(np.array([1.0, -2.0], np.float32))}
    gradients = {"w": getattr(framework, make)(np.array([0.5, 0.25], np.float32))}
    opt = getattr(o, METHODS[name][0])(0.1)
    updates, state = opt.update(gradients, opt.init(params), params)
    updates, _ = opt.update(gradients, state, params)
    found = o.apply_updates(params, updates)["w"]
    assert type(found) is type(params["w"])
    assert "float32" in str(found.dtype)
    like = {"w": np.array([1.0, -2.0], np.float32)}, {"w": np.array([0.5, 0.25], np.float32)}
    _, state = opt.update(like[1], opt.init(like[0]), like[0])
    np.testing.assert_allclose(np.asarray(updates["w"]), opt.update(like[1], state, like[0])[0]["w"], rtol=1e-5)


def test_a_transformation_of_ones_own_takes_part_in_a_chain() -> None:
    halved = (
        lambda params: None,
        lambda gradients, state, params=None: (wg.tree.map(lambda g: g / 2, gradients), state),
    )
    opt = o.chain(halved, o.sgd(1.0))
    assert opt.update({"w": 3.0}, opt.init({"w": 0.0}))[0] == {"w": -1.5}


def test_a_parameter_without_a_gradient_stays() -> None:
    params = {"w": np.ones(2), "b": 1.0, "name": "net"}
    for opt in (o.adam(0.1), o.sgd(0.1, 0.9), o.rmsprop(0.1), o.adagrad(0.1), o.lion(0.1), o.lbfgs(0.1)):
        state = opt.init(params)
        for _ in range(3):
            updates, state = opt.update({"w": None, "b": 2.0, "name": None}, state, params)
        found = o.apply_updates(params, updates)
        assert updates["w"] is None
        assert found["name"] == "net"
        np.testing.assert_array_equal(found["w"], np.ones(2))
        assert found["b"] < 1.0


def test_the_order_of_keys_is_no_structure() -> None:
    opt = o.adam(0.1)
    updates, _ = opt.update({"b": 1.0, "a": -1.0}, opt.init({"a": 0.0, "b": 0.0}))
    assert updates["a"] > 0 > updates["b"]


def test_complex_parameters_take_steps_by_their_magnitudes() -> None:
    opt = o.adam(0.1)
    g = np.array([3.0 + 4.0j])
    updates, _ = opt.update(g, opt.init(g))
    np.testing.assert_allclose(updates, -0.1 * g / 5.0, rtol=1e-6)


def test_a_learning_rate_is_differentiated() -> None:
    def after(rate: Any) -> Any:
        opt = o.sgd(rate, momentum=0.5)
        params, state = 1.0, opt.init(1.0)
        for _ in range(3):
            updates, state = opt.update(2.0 * params, state, params)
            params = o.apply_updates(params, updates)
        return params

    step = 1e-6
    wanted = (after(0.1 + step) - after(0.1 - step)) / (2 * step)
    np.testing.assert_allclose(wg.grad(after)(0.1), wanted, rtol=1e-8)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: o.adam(0.1).update({"v": 1.0}, o.adam(0.1).init({"w": 1.0})), ValueError, r"{'v': \*} and {'w': \*}"),
        (lambda: o.adamw(0.1).update(1.0, o.adamw(0.1).init(1.0)), ValueError, "update needs the parameters"),
        (lambda: o.adam(0.1).update(np.ones(3), o.adam(0.1).init(np.ones(2))), ValueError, "shapes differ"),
        (lambda: o.sgd(0.1).update(1.0, ()), ValueError, "as of init"),
        (lambda: o.apply_updates({"w": 1.0}, {"w": 1.0, "b": 1.0}), ValueError, "structures differ"),
        (lambda: o.chain(o.sgd(0.1), 3), TypeError, "got int"),
        (lambda: o.scale_by_schedule(0.1), TypeError, "callable"),
        (lambda: o.cosine(1.0, 0), ValueError, "decay_steps"),
        (lambda: o.warmup_cosine(0.0, 1.0, 10, 10), ValueError, "decay_steps"),
        (lambda: o.lbfgs(1.0, memory_size=0), ValueError, "memory_size"),
        (
            lambda: o.lbfgs().update(1.0, o.lbfgs().init(1.0), 1.0, value=2.0),
            ValueError,
            "needs grad and value_fn: opt",
        ),
        (lambda: o.scale_by_zoom_linesearch(9, initial_guess_strategy="two"), ValueError, "'keep' or 'one', got 'two'"),
        (
            lambda: o.scale_by_adam().update(
                {"w": [{"a": 1.0}, 2.0]}, o.scale_by_adam().init({"w": [{"b": 1.0}, 2.0]})
            ),
            ValueError,
            r"^scale_by_adam\.update: structures differ: .*; params\['w'\]\[0\] is \{'a': \*\} in one and",
        ),
        (
            lambda: o.scale_by_adam().update(np.ones(3), o.scale_by_adam().init(np.ones(2))),
            ValueError,
            r"^scale_by_adam\.update: shapes differ at params: \(3,\) and \(2,\)",
        ),
    ],
)
def test_errors_say_what_is_wrong(call: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_the_example_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        command = [sys.executable, "examples/train.py", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    whole = run("--epochs", "4", "--checkpoint", str(tmp_path / "whole.npz"))
    run("--epochs", "4", "--stop-after", "2", "--checkpoint", str(tmp_path / "parts.npz"))
    rest = run("--epochs", "4", "--checkpoint", str(tmp_path / "parts.npz"))
    assert whole.splitlines()[-1] == rest.splitlines()[-1]
    with np.load(tmp_path / "whole.npz") as one, np.load(tmp_path / "parts.npz") as other:
        assert {*one} == {*other}
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
