"""Calls go straight to what a call of their form has compiled, and to nothing else: arrays in containers, by name, beside
values of the signature, on tensors and lists of numbers."""

from __future__ import annotations

import math
import pickle
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import python_calls
from wengert._core.bare_integers import note_bare

# each call is another one on purpose
MANY_TRACES = pytest.mark.filterwarnings("ignore:.*was traced.*times:UserWarning")


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


# -- values of the signature, arguments by name, methods ---------------------------------------------------------------

A, B = np.arange(1.0, 4.0), np.array([2.0, -1.0, 0.5])


@dataclass
class Layer:
    w: Any
    power: int = 1


@wg.tree.register
class Holder:
    def __init__(self, w: Any, name: str) -> None:
        self.w, self.name = w, name


class Model:
    def __init__(self, w: Any, power: int) -> None:
        self.w, self.power = w, power

    @wg.function
    def __call__(self, x: Any) -> Any:
        return self.w * x**self.power


class Kind(Enum):
    ONE = 3
    TWO = 2


class Call(NamedTuple):
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = MappingProxyType({})


ONE, OTHER = Model(A, 1), Model(B, 2)
TENSOR = wg.tensor(A)
# a function, and calls of which each is another one, however alike they look
FORMS: dict[str, tuple[Callable[..., Any], list[Call]]] = {
    "by name": (
        lambda x, y=2.0, z=None: x * y if z is None else x * y - z,
        [Call((A,), {"y": B}), Call((A,), {"z": B}), Call((A, B)), Call((A,), {"y": B, "z": A}), Call((A, B, A)),
         Call((A,), {"z": A, "y": B}), Call((), {"x": A, "y": 3.0}), Call((A,), {"y": 3.0}), Call((A,), {"y": 4.0}),
         Call((A,), {"y": B, "z": None}), Call((A,))],
    ),
    "only by name": (lambda *, x, y: x - 2.0 * y, [Call((), {"x": A, "y": B}), Call((), {"y": A, "x": B})]),
    "any names": (
        lambda x, **named: x * len(named) + sum(len(n) * v for n, v in named.items()),
        [Call((A,), {"a": B}), Call((A,), {"bb": B}), Call((A,), {"a": B, "bb": A}), Call((A,), {"bb": B, "a": A}), Call((A,))],
    ),
    "flags": (
        lambda x, flag: x * (3.0 if flag is True else 5.0 if flag is None else 7.0 if isinstance(flag, int) and flag == 1 else 9.0),
        [Call((A, value)) for value in (True, False, None, 1, 0, 1.0, "1", ..., (), (1,), (True,), b"1", np.bool_(True))],
    ),
    "strings": (
        lambda x, how: getattr(x, how)() * 2.0, [Call((A, how)) for how in ("sum", "mean", "max", "sum")],
    ),
    "places": (lambda x, i: x[i] * 2.0, [Call((A, i)) for i in (0, 1, -1, slice(1, 3), slice(0, 2), slice(None), (0,), None)]),
    "dtypes": (
        lambda x, d: (x * 1.5).astype(d),
        [Call((A, d)) for d in ("float32", np.float32, np.dtype("float32"), np.int32, float, int, np.dtype(">f8"))],
    ),
    "functions": (lambda f, x: f(x) * 2.0, [Call((f, A)) for f in (wg.sin, wg.cos, np.sin, np.sum)]),
    "members": (lambda x, kind: x * kind.value, [Call((A, kind)) for kind in Kind]),
    "in containers": (
        lambda p: p["x"] * p["n"] + (0.0 if p.get("more") is None else p["more"]),
        [Call(({"x": A, "n": n},)) for n in (1, 2, 2.0, True, 2j, np.float32(2.0), np.array(2.0))]
        + [Call(({"x": A, "n": 2, "more": more},)) for more in (None, B, 3, 3.0)],
    ),
    "complex numbers": (lambda x, z: x * z, [Call((A, z)) for z in (1j, 2j, 1.0, 1, np.complex64(1j), 3j)]),
    "dataclasses": (
        lambda layer, x: layer.w * x**layer.power if type(layer) is Layer else layer[0] * x,
        [Call((Layer(w, power), A)) for w in (A, B, 2.0) for power in (1, 2)] + [Call(((B, 1), A)), Call(([B, 1], A))],
    ),
    "registered": (
        lambda held, x: held.w * x * len(held.name),
        [Call((Holder(w, name), A)) for w in (A, B) for name in ("a", "bb")],
    ),
    "named tuples": (
        lambda p: p[0] * 2.0 - p[1] if type(p) is Pair else p[0] - p[1],
        [Call((Pair(A, B),)), Call((Pair(B, A),)), Call(((A, B),)), Call((Pair(A, 2),)), Call((Pair(A, 2.0),))],
    ),
    "objects": (lambda m, x: m.w * x**m.power, [Call((ONE, A)), Call((OTHER, A)), Call((ONE, B))]),
    "lists of lists": (
        lambda layers, x: sum(w * x + b for w, b in layers) + (0.0 if type(layers[0]) is list else 1.0),
        [Call(([[A, B], [B, A]], A)), Call(([(A, B), (B, A)], A)), Call(([[A, B]], A)), Call(([[A, 1.0], [2, A]], B))],
    ),
    "lists of numbers": (
        lambda p, x: wg.sum(wg.asarray(p) / 2) * x,
        [
            Call((p, A)) for p in (
                [1.0, 2.0], [1, 2], [1, 2.5], [[1.0], [2.0]], [[1], [2.0]], [[1.0, 2.0]], [2j], [2j, 1], [True], [True, 1],
                [1.0], [np.float32(1.0)], [np.float32(1.0), 2.0], [np.int8(1)], [2**63], [-1, 2**63], [[[3.0]]], [np.nan],
            )
        ],
    ),
    "lists of numbers in containers": (
        lambda p: p["x"][0] * p["y"], [Call(({"x": x, "y": A},)) for x in ([1.0, 2.0], [B, 2.0], [1, 2], (1.0, 2.0), (1, 2))],
    ),
    "tensors": (
        lambda x, y=3.0: x * y,
        [Call(given) for given in (
            (TENSOR,), (TENSOR, TENSOR), (TENSOR, A), (A, TENSOR), (TENSOR, 2.0), (TENSOR, 2), (TENSOR, np.float32(2.0)), (A, A),
            (wg.tensor(A.astype(np.float32)), wg.tensor(2.0)), (wg.tensor(A.astype(np.float32)), wg.tensor(np.float64(2.0))),
            (wg.tensor(A[:2]), 2.0), (wg.tensor(2.0), 2.0), (wg.tensor([1, 2]), 2), (wg.tensor([True]), 2), (TENSOR, [1.0, 2.0, 3.0]),
        )],
    ),
    "tensors in containers": (
        lambda p, **named: {"sum": p["x"] + p["y"][0], "x": p["x"], **named},
        [Call(({"x": TENSOR, "y": [y]},), named) for y in (TENSOR, A, 2.0) for named in ({}, {"z": A}, {"z": TENSOR})]
        + [Call(({"x": A, "y": [A]},)), Call(({"x": A, "y": (TENSOR,)},))],
    ),
    "random keys": (
        lambda key, scale=1.0: wg.random.normal(key, (3,)) * scale,
        [Call((wg.random.key(seed),)) for seed in (1, 2)] + [Call((wg.random.key(1), 2.0)), Call((wg.random.key(1), A))],
    ),
    "what is not read": (lambda x, y, *rest: x * 2.0, [Call((A, B)), Call((A, A[:2])), Call((A, 1.0)), Call((A, B, A)), Call((A, "b"))]),
    "what is given back": (
        lambda x, y: (x, x * 2.0, y, x), [Call((A, B)), Call((A, A)), Call((A, np.float32(2.0))), Call((A, np.int8([1, 2])))],
    ),
}  # fmt: skip


def same(found: Any, wanted: Any) -> None:
    assert type(found) is type(wanted)
    for x, y in zip(wg.tree.leaves(found), wg.tree.leaves(wanted), strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=1e-6)


@MANY_TRACES
@pytest.mark.parametrize("form", FORMS)
def test_each_call_gets_what_its_own_arguments_give(form: str) -> None:
    function, calls = FORMS[form]
    wanted = [wg.function(function)(*call.args, **call.kwargs) for call in calls]
    compiled = wg.function(function)
    for seed in range(3):
        for place in np.random.default_rng(seed).permutation(3 * len(calls)) % len(calls):
            args, kwargs = calls[place]
            for _ in range(3):
                same(compiled(*args, **kwargs), wanted[place])


LAYOUTS = {
    "fortran": np.asfortranarray(np.outer(A, B)), "transposed": np.outer(B, A).T, "gaps": np.outer(A, np.repeat(B, 2))[:, ::2],
    "backwards": np.outer(A, B)[::-1], "repeated": np.broadcast_to(A, (3, 3)), "pickled": pickle.loads(pickle.dumps(np.outer(A, B))),
    "unaligned": np.frombuffer(b"x" + np.outer(A, B).tobytes(), np.uint8)[1:].view(np.float64).reshape(3, 3),
    "frozen": np.frombuffer(np.outer(A, B).tobytes()).reshape(3, 3),
}  # fmt: skip
VIEWS: dict[str, Callable[..., Any]] = {
    "itself": lambda x: x, "transposed": lambda x: x.T, "reshaped": lambda x: x.reshape(-1), "a row": lambda x: x[1],
    "a part": lambda x: x[1:, ::2], "backwards": lambda x: x[::-1], "repeated": lambda x: np.broadcast_to(x, (2, 3, 3)),
    "twice": lambda x: (x.T, x.T, x), "in a dictionary": lambda x: {"a": x[0], "b": [x[:, 0]]}, "one element": lambda x: x[0, 0],
    "by a user": lambda x: np.concatenate([x, x]),
}  # fmt: skip


@pytest.mark.parametrize("kind", LAYOUTS)
def test_arrays_of_any_layout_go_straight_to_the_code(kind: str) -> None:
    x = LAYOUTS[kind]
    f = wg.function(lambda x, y=1.0: (wg.sin(x) * y, wg.sum(x, 0)))
    for _ in range(4):
        same(f(x), (np.sin(x), np.sum(x, 0)))
        same(f(x, x), (np.sin(x) * x, np.sum(x, 0)))
        same(f(x=x), (np.sin(x), np.sum(x, 0)))
    for call in (lambda: f(x), lambda: f(x, x), lambda: f({"x": x}["x"])):
        for _ in range(4):
            call()
        assert len(python_calls(call)) <= 3


@pytest.mark.parametrize("title", VIEWS)
@pytest.mark.parametrize("is_tensor", [False, True])
def test_programs_that_only_view_cost_few_python_calls_and_share_nothing(title: str, is_tensor: bool) -> None:
    view = VIEWS[title]
    f, x = wg.function(view), np.outer(A, B)
    given = wg.tensor(x) if is_tensor else x
    wanted = view(x)
    for _ in range(4):
        found = f(given)
        for got, want in zip(flat(found), flat(wanted), strict=True):
            np.testing.assert_array_equal(got, want)
    leaves = wg.tree.leaves(f(given))
    assert all(isinstance(leaf, wg.Tensor) is is_tensor for leaf in leaves)
    ((_, compiled),) = f.traces
    own = len(python_calls(compiled.executable, x))
    assert len(python_calls(lambda: f(given))) - own <= 5 + 2 * len(leaves)  # each is looked at and made
    if not is_tensor:
        arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
        for place, array in enumerate(arrays):
            assert array.flags.writeable and array.flags.c_contiguous
            assert not any(np.shares_memory(array, other) for other in (x, *arrays[:place]))
    other = np.outer(B, B) + 1.0  # its values are read, not kept
    for got, want in zip(flat(f(wg.tensor(other) if is_tensor else other)), flat(view(other)), strict=True):
        np.testing.assert_array_equal(got, want)


@MANY_TRACES
def test_views_of_shapes_by_turns_and_of_what_changes() -> None:
    offset = np.arange(3.0)
    f = wg.function(lambda x: (x.T, offset[::-1]))
    for size in [*range(1, 50), *range(1, 50), *range(1, 50)]:
        x = np.ones((size, 2))
        same(f(x), (x.T, offset[::-1]))
    assert len(f.traces) <= 256
    offset[0] = 9.0
    same(f(np.ones((3, 2))), (np.ones((2, 3)), np.array([2.0, 1.0, 9.0])))
    offset = np.array([5.0, 6.0])
    same(f(np.ones((3, 2))), (np.ones((2, 3)), np.array([6.0, 5.0])))


def test_a_framework_s_array_may_come_twice() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    f = wg.function(lambda x, y: x * y)
    x, y = torch.tensor(A), torch.tensor(B)
    for _ in range(3):
        for one, two in ((x, x), (x, y), (y, y), (y, x)):
            for _ in range(3):
                np.testing.assert_array_equal(f(one, two), one * two)
    for args in ((x, x), (x, y)):
        assert len(python_calls(lambda args=args: f(*args))) <= 4
    for one, two, wanted in ((x, x, 2.0 * x), (x, y, y)):
        for _ in range(3):
            followed = one.clone().requires_grad_()
            f(followed, followed if one is two else two).sum().backward()
            np.testing.assert_allclose(followed.grad, wanted)


# of which the program is a view
SLOW = {"places"}


@pytest.mark.parametrize("form", [form for form in FORMS if form not in SLOW])
def test_a_call_like_the_one_before_costs_few_python_calls(form: str) -> None:
    function, calls = FORMS[form]
    args, kwargs = calls[0]
    compiled = wg.function(function)
    for _ in range(4):
        compiled(*args, **kwargs)
    found = python_calls(lambda: compiled(*args, **kwargs))
    assert len([name for name in found if name != "__init__"]) <= 5  # one of them where a class is looked at
    assert found.count("__init__") == sum(type(x) is wg.Tensor for x in wg.tree.leaves(compiled(*args, **kwargs)))


def test_methods_go_straight_to_what_they_have_compiled() -> None:
    one, other = Model(A, 2), Model(B, 1)
    for _ in range(4):
        same(one(A), A * A**2)
        same(other(A), B * A)
    for _ in range(4):
        one(A)
    assert len(python_calls(lambda: one(A))) <= 7
    one.power = 3
    same(one(A), A * A**3)
    one.w = B
    same(one(A), B * A**3)
    one.w[0] = 5.0
    same(one(A), one.w * A**3)
    one.w = 2.0
    same(one(A), 2.0 * A**3)


def test_an_object_that_changes_is_read_anew() -> None:
    model = Model(A, 1)
    f = wg.function(lambda x, m, *, scale: m.w * x**m.power * scale)
    for _ in range(4):
        same(f(B, model, scale=2), A * B * 2)
    model.power = 2
    same(f(B, model, scale=2), A * B**2 * 2)
    model.w = A + 1.0
    same(f(B, model, scale=2), (A + 1.0) * B**2 * 2)
    same(f(B, model, scale=3), (A + 1.0) * B**2 * 3)


def test_static_arguments_and_those_that_are_arrays_by_turns() -> None:
    f = wg.function(lambda x, n, how="sum": x.reshape(n) * len(how), static_argnames=("n", "how"))
    x = np.arange(6.0)
    for _ in range(4):
        for n in ((2, 3), (3, 2), 6, (6,), -1):
            same(f(x, n), x.reshape(n) * 3)
            same(f(x, n=n, how="a"), x.reshape(n))
    zeros = wg.function(lambda x, s: x * math.copysign(2.0, s), static_argnames="s")
    for _ in range(4):
        same(zeros(x, 0.0), x * 2.0)
        same(zeros(x, -0.0), x * -2.0)


@MANY_TRACES
def test_integers_that_change_beside_parameters_are_inputs() -> None:
    f = wg.function(lambda p, i: p["w"] * (i + 1))
    for i in range(12):
        same(f({"w": A}, i), A * (i + 1))
    count = f.trace_count
    for i in range(100, 120):
        same(f({"w": A}, i), A * (i + 1))
        same(f({"w": A}, i=i), A * (i + 1))
    assert f.trace_count <= count + 4
    for _ in range(3):
        f({"w": A}, 7)
    assert len(python_calls(lambda: f({"w": A}, 8))) <= 4
    same(f({"w": A}, True), A * 2)
    same(f({"w": A}, 2.5), A * 3.5)
    same(f({"w": A}, 2**70), A * float(2**70 + 1))


@MANY_TRACES
def test_what_calls_hold_on_to_is_bounded() -> None:
    f = wg.function(lambda x, m: x * m.power)
    for power in range(600):
        same(f(A, Model(None, power)), A * power)
    assert len(f._formed) <= 256


def test_tensors_that_are_written_to_hold_what_they_hold_now() -> None:
    x, y = wg.tensor(A), wg.tensor(A)
    f = wg.function(lambda x: (x, x * 2.0))
    for _ in range(4):
        f(x)
    given, doubled = f(x)
    given[0] = 9.0
    np.testing.assert_array_equal(x, A)
    x[1] = 7.0
    same(f(x)[1], wg.tensor(np.array([A[0], 7.0, A[2]]) * 2.0))
    np.testing.assert_array_equal(given, [9.0, *A[1:]])
    same(doubled, wg.tensor(A * 2.0))
    assert f(x)[0] is not x and f(y)[0] is not y
    same(f(y)[1], wg.tensor(A * 2.0))
    assert f.trace_count == 1


def test_tensors_that_were_written_to_go_straight_to_the_code() -> None:
    x, fresh = wg.tensor(A), wg.tensor(B)
    part = x[1:]
    x[0] = 5.0
    f = wg.function(lambda x: x * 2.0)
    for turn in range(6):
        x[turn % 3] = float(turn)
        part[0] = float(turn) + 0.5
        np.testing.assert_array_equal(f(x), 2.0 * x.numpy())
        np.testing.assert_array_equal(f(part), 2.0 * part.numpy())
        np.testing.assert_array_equal(f(fresh), 2.0 * B)
    for written in (x, part):
        found, wanted = f(written), 2.0 * written.numpy()
        written[1] = 77.0
        np.testing.assert_array_equal(found, wanted)
        assert len(python_calls(lambda written=written: f(written))) <= 12  # some of them of what it holds now
    same(wg.grad(lambda x: wg.sum(f(x) ** 2))(x), wg.tensor(8.0 * x.numpy()))


def test_arrays_in_files_go_straight_to_the_code(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.outer(A, B))
    f = wg.function(lambda x: wg.sin(x))
    for mode in ("r", "c"):
        x = np.load(tmp_path / "x.npy", mmap_mode=mode)
        for given in (x, x[1:], x[:, ::2], x.T, np.asarray(x)):
            for _ in range(3):
                same(f(given), np.sin(np.asarray(given)))
            assert len(python_calls(lambda given=given: f(given))) <= 5


def test_input_signatures_of_tensors_and_structures_go_straight_to_the_code() -> None:
    spec = wg.TensorSpec((None, 2), "float64")
    f = wg.function(lambda p, y: {"sum": p["x"] + y, "x": p["x"] * 3.0}, input_signature=[{"x": spec}, spec])
    for size in (3, 4, 3, 5, 4):
        x, y = np.ones((size, 2)), np.full((size, 2), 2.0)
        for p, other in (({"x": x}, y), ({"x": wg.tensor(x)}, wg.tensor(y)), ({"x": x}, wg.tensor(y))):
            for _ in range(3):
                found = f(p, other)
                np.testing.assert_array_equal(found["sum"], x + y)
                assert type(found["x"]) is (np.ndarray if type(other) is np.ndarray else wg.Tensor)
            made = [name for name in python_calls(lambda p=p, other=other: f(p, other)) if name != "__init__"]
            assert len(made) <= 6
    x, y = np.ones((3, 2)), np.full((3, 2), 2.0)
    np.testing.assert_array_equal(f(y=y, p={"x": x})["x"], 3.0 * x)
    assert f.trace_count == 1
    for wrong, error in ((x.astype(np.float32), TypeError), (np.ones((3, 1)), ValueError), ({}, TypeError)):
        with pytest.raises(error):
            f({"x": x}, wrong)
    one = wg.function(lambda x: x * 2, input_signature=[wg.TensorSpec((), "float32")])
    for given in (1, 2.5, np.float32(3.0), wg.tensor(np.float32(4.0)), 5):
        for _ in range(3):
            same(
                one(given), wg.tensor(np.float32(given)) * 2 if isinstance(given, wg.Tensor) else np.float32(given) * 2
            )


def test_gradients_and_traces_of_calls_on_tensors_after_warm_ones() -> None:
    x = wg.tensor(A)
    f = wg.function(lambda x: wg.sum(x**3))
    for _ in range(4):
        f(x)
    same(wg.grad(f)(x), wg.tensor(3.0 * A**2))
    with wg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    same(tape.gradient(y, x), wg.tensor(3.0 * A**2))
    same(wg.function(lambda x: f(x) * 2.0)(x), wg.tensor(2.0 * np.sum(A**3)))
    same(wg.jvp(f, (x,), (x,))[1], wg.tensor(3.0 * np.sum(A**3)))


def test_what_functions_on_tensors_read_is_read_at_each_call() -> None:
    weights, by = np.ones(3), wg.tensor(2.0)
    x = wg.tensor(A)
    f = wg.function(lambda x: x * weights * by)
    for _ in range(4):
        f(x)
    weights[:] = 3.0
    same(f(x), wg.tensor(A * 6.0))
    by = wg.tensor(4.0)
    same(f(x), wg.tensor(A * 12.0))


@pytest.mark.parametrize("bare_first", [False, True])
def test_bare_integers_among_tensors_are_told_from_others(bare_first: bool) -> None:
    f = wg.function(lambda x: wg.grad(lambda y: wg.sum(y * y))(x))
    whole, bare = wg.tensor(np.array([1, 2])), note_bare(wg.tensor(np.array([1, 2])))
    if not bare_first:
        with pytest.raises(TypeError, match="dtype int64"):
            f(whole)
    for _ in range(4):
        same(f(bare), wg.tensor([2.0, 4.0]))
    with pytest.raises(TypeError, match="dtype int64"):
        f(whole)


def test_lists_that_are_no_arrays_are_refused_after_warm_calls_of_ones_that_are() -> None:
    f = wg.function(lambda x: wg.sum(wg.asarray(x)))
    for _ in range(4):
        same(f([[1.0, 2.0], [3.0, 4.0]]), np.float64(10.0))
    for wrong in ([[1.0, 2.0], [3.0]], [[1.0, 2.0], 3.0]):
        with pytest.raises(ValueError, match="ragged"):
            f(wrong)
    endless: list[Any] = [[1.0, 2.0]]
    endless.append(endless)
    with pytest.raises(ValueError):
        f(endless)
    wg.set_default_float("float32")
    try:
        for _ in range(4):
            assert f([[1.0, 2.0], [3.0, 4.0]]).dtype == np.float32
    finally:
        wg.set_default_float("float64")
    same(f([[1.0, 2.0], [3.0, 4.0]]), np.float64(10.0))


def test_calls_by_turns_cost_few_python_calls() -> None:
    f = wg.function(lambda x, flag=False: x * 2.0 if flag else x * 3.0)
    turns: list[Callable[[], Any]] = [
        lambda: f(A), lambda: f(A[:2], True), lambda: f(A, True), lambda: f(A, flag=True), lambda: f(A[:2], flag=False),
    ]  # fmt: skip
    wanted = [A * 3.0, A[:2] * 2.0, A * 2.0, A * 2.0, A[:2] * 3.0]
    for _ in range(5):
        for turn, want in zip(turns, wanted, strict=True):
            same(turn(), want)
    for turn in turns:
        assert len(python_calls(turn)) <= 12
    assert len(f._recent) <= 3
    assert f.trace_count == 5
