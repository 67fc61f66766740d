"""Arrays in dictionaries, lists and tuples go straight to what a call like this one has compiled, and to nothing else."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import python_calls


class Pair(NamedTuple):
    a: Any
    b: Any


def parameters() -> dict[str, Any]:
    return {"layer": {"w": np.arange(6.0).reshape(2, 3), "b": np.ones(3)}, "last": [np.full(3, 0.1), np.array(2.0)]}


def loss(p: Any, x: Any) -> Any:
    return (wg.tanh(x @ p["layer"]["w"] + p["layer"]["b"]) * p["last"][0]).sum() * p["last"][1]


X = np.array([[0.1, -0.2], [0.3, 0.4]])


def flat(tree: Any) -> list[Any]:
    return [np.asarray(x) for x in wg.tree.leaves(tree)]


def test_a_warm_call_costs_few_python_calls_and_gives_what_the_first_gave() -> None:
    step = wg.function(wg.value_and_grad(loss))
    p = parameters()
    first = step(p, X)
    assert len(python_calls(lambda: step(p, X))) <= 7  # of which none is for a container
    again = step(p, X)
    assert step.trace_count == 1
    assert list(again.grad) == ["layer", "last"]
    assert type(again.grad["last"]) is list
    for got, want in zip(flat(again), flat(first), strict=True):
        np.testing.assert_array_equal(got, want)
    p["layer"]["b"] = p["layer"]["b"] + 1.0
    want = wg.value_and_grad(loss)(p, X)
    for got, wanted in zip(flat(step(p, X)), flat(want), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


def warm(f: Callable[..., Any], *args: Any) -> None:
    for _ in range(4):
        f(*args)


def test_another_structure_order_or_kind_is_another_call() -> None:
    f = wg.function(lambda p: wg.sum(p["a"]) - 2.0 * wg.sum(p["b"]))
    one, two = np.ones(3), np.full(3, 2.0)
    warm(f, {"a": one, "b": two})
    assert f({"b": one, "a": two}) == 0.0
    assert f({"a": one, "b": two}) == -9.0
    warm(f, {"b": one, "a": two})
    assert f({"a": one, "b": two}) == -9.0
    assert f({"a": one.astype(np.float32), "b": two}) == -9.0
    assert f({"a": np.ones(4), "b": two}) == -8.0
    assert f({"a": 1.0, "b": two}) == -11.0
    assert f({"a": [1.0, 2.0], "b": two}) == -9.0
    assert f({"a": one, "b": two, "c": one}) == -9.0
    g = wg.function(lambda p: type(p).__name__ + "!" if isinstance(p, Pair) else p[0] - p[1])
    warm(g, [one, two])
    np.testing.assert_array_equal(g([one, two]), one - two)
    np.testing.assert_array_equal(g((two, one)), two - one)
    assert g(Pair(one, two)) == "Pair!"
    assert isinstance(g([wg.tensor(one), wg.tensor(two)]), wg.Tensor)


def test_other_containers_keys_and_lengths_after_a_warm_call_are_seen() -> None:
    f = wg.function(lambda p, x: wg.tree.leaves(p)[0] * len(wg.tree.leaves(p)) + len(p) + 0.0 * x)
    one, two = np.ones(3), np.zeros(3)
    for p, expected in (
        ({"a": one}, 2.0), ({"b": one}, 2.0), ({}, None), ({"a": one, "b": two}, 4.0), ([one], 2.0), ([one, two], 4.0),
        ((one, two, two), 6.0), ({"a": [one], "b": ()}, 3.0), ({"a": (one,), "b": []}, 3.0), ({"a": [one, two]}, 3.0),
        (OrderedDict(a=one), 2.0), (defaultdict(int, a=one), 2.0), (Pair(one, two), 4.0), ({1: one}, 2.0),
    ):  # fmt: skip
        warm(f, {"a": one}, two)
        for _ in range(4):
            if expected is None:
                with pytest.raises(IndexError):
                    f(p, two)
            else:
                np.testing.assert_array_equal(f(p, two), np.full(3, expected))
    with pytest.raises(TypeError):
        f({"a": one})
    with pytest.raises(TypeError):
        f({"a": one}, two, two)


def test_results_in_lists_and_dictionaries_are_new_ones_of_their_classes() -> None:
    f = wg.function(lambda p: {"list": [p[0], {3: p[1]}], "ordered": OrderedDict(b=p[0] + 1.0, a=p[1]), "none": []})
    x = [np.ones(2), np.zeros(2)]
    warm(f, x)
    first, second = f(x), f(x)
    for found in (first, second):
        assert [*map(type, found.values())] == [list, OrderedDict, list]
        assert type(found["list"][1]) is dict
        assert [*found["list"][1]] == [3] and [*found["ordered"]] == ["b", "a"] and found["none"] == []
    first["none"].append(1)
    first["list"][1].clear()
    assert second["none"] == f(x)["none"] == [] and 3 in f(x)["list"][1]


@pytest.mark.parametrize("shape", ["wide", "deep"])
def test_structures_of_any_size(shape: str) -> None:
    p: Any = [np.full(2, float(i)) for i in range(700)]
    if shape == "deep":
        for _ in range(60):
            p = {"in": p[:2]}, [p[2]] if len(p) > 2 else []
    f = wg.function(lambda p: sum(wg.tree.leaves(p)))
    warm(f, p)
    np.testing.assert_array_equal(f(p), sum(wg.tree.leaves(p)))
    assert len(python_calls(lambda: f(p))) <= 7
    with pytest.raises(TypeError):
        f(p, p)


def test_results_in_many_places_cost_no_call_for_each() -> None:
    p = {f"layer{i}": {"w": np.full(2, float(i)), "b": np.ones(2)} for i in range(100)}
    f = wg.function(lambda p: {name: {"w": 2.0 * layer["w"], "b": layer["b"] + 1.0} for name, layer in p.items()})
    warm(f, p)
    assert len(python_calls(lambda: f(p))) <= 7
    assert [*f(p)] == [*p]
    np.testing.assert_array_equal(f(p)["layer7"]["w"], [14.0, 14.0])


def test_what_the_function_reads_is_read_at_each_call() -> None:
    weights, by = np.ones(3), {"by": 2.0}
    f = wg.function(lambda p: p["x"] * weights * by["by"])
    x = {"x": np.arange(3.0)}
    warm(f, x)
    weights[:] = 3.0
    np.testing.assert_array_equal(f(x), np.arange(3.0) * 6.0)
    by["by"] = 1.0
    np.testing.assert_array_equal(f(x), np.arange(3.0) * 3.0)


def test_results_are_the_callers_own_and_gradients_flow() -> None:
    f = wg.function(lambda p: {"same": p["x"], "twice": p["x"] * 2.0})
    x = np.arange(3.0)
    warm(f, {"x": x})
    f({"x": x})["same"][:] = 9.0
    np.testing.assert_array_equal(x, np.arange(3.0))
    found = wg.grad(lambda p: wg.sum(f(p)["twice"] ** 2))({"x": x})
    np.testing.assert_array_equal(found["x"], 8.0 * x)
    np.testing.assert_array_equal(f({"x": x})["twice"], 2.0 * x)


def test_defaults_statics_and_signatures_stay_what_they_are() -> None:
    extra = np.full(3, 5.0)
    f = wg.function(lambda p, scale=extra: p["x"] * scale)
    warm(f, {"x": np.ones(3)})
    np.testing.assert_array_equal(f({"x": np.ones(3)}), extra)
    np.testing.assert_array_equal(f({"x": np.ones(3)}, np.ones(3)), np.ones(3))
    g = wg.function(lambda p, how: p["x"] * len(how), static_argnames="how")
    warm(g, {"x": np.ones(3)}, (1, 2))
    np.testing.assert_array_equal(g({"x": np.ones(3)}, (1, 2, 3)), np.full(3, 3.0))
    spec = wg.function(lambda p: p["x"] * 2.0, input_signature=[{"x": wg.TensorSpec((None,), "float32")}])
    warm(spec, {"x": np.ones(3, np.float32)})
    assert spec({"x": np.ones(5, np.float32)}).dtype == np.float32


def test_a_list_that_holds_itself_is_refused() -> None:
    f = wg.function(lambda p: p[0])
    warm(f, [np.ones(2)])
    endless: list[Any] = [np.ones(2)]
    endless.append(endless)
    with pytest.raises(ValueError):
        f(endless)


@pytest.mark.parametrize("framework", ["jax", "torch"])
def test_arrays_of_frameworks(framework: str) -> None:
    pytest.importorskip(framework, reason="the framework is not installed")
    if framework == "jax":
        import jax.numpy as xp

        make: Any = lambda x: xp.asarray(x, "float32")
    else:
        import torch

        make = lambda x: torch.tensor(np.asarray(x, "float32"))
    step = wg.function(wg.value_and_grad(loss))
    p, x = wg.tree.map(make, parameters()), make(X)
    want = flat(wg.value_and_grad(loss)(parameters(), X))
    # two are the program where its kernels are called one by one
    assert len(python_calls(lambda: step(p, x))) <= {"jax": 6, "torch": 8}[framework]
    found = step(p, x)
    assert type(found.grad["layer"]["w"]) is type(x)
    for got, wanted in zip(flat(found), want, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4)
    np.testing.assert_allclose(flat(step(parameters(), X))[0], want[0], rtol=1e-12)  # NumPy's after them
