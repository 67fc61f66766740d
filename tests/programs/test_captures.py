"""What a compiled function reads beside its arguments: a call is what the eager call would be now."""

from __future__ import annotations

import abc
import array
import collections
import contextvars
import copy
import ctypes
import dataclasses
import decimal
import enum
import functools
import gc
import itertools
import operator
import os
import pathlib
import random
import sys
import threading
import time
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import wengert as wg
from wengert._compile.captures import inputs
from wengert._compile.captures.reads import reads_of

X = np.array([1.0, 2.0])

# -- situations: a function, and something that it reads and that is changed ---------------------------------------

scale = 2.0
weights = np.array([1.0, 3.0])
settings: Any = types.SimpleNamespace(rate=0.5)


@dataclasses.dataclass
class Options:
    rate: float = 0.5
    powers: list[float] = dataclasses.field(default_factory=lambda: [1.0, 2.0])


class Model:
    shared = 3.0

    def __init__(self) -> None:
        self.w = np.array([2.0, 5.0])
        self.rate = 0.5
        self.inner = Options()
        self.history: list[float] = []

    def __call__(self, x: Any) -> Any:
        return wg.sum(x * self.w) * self.rate

    def nested(self, x: Any) -> Any:
        return wg.sum(x * self.w) * self.inner.rate * self.inner.powers[0]

    @property
    def doubled(self) -> float:
        return 2 * self.rate


class Slotted:
    __slots__ = ("w",)

    def __init__(self) -> None:
        self.w = 2.0


Made = tuple[Callable[..., Any], Callable[[], Any]]  # a function of x, and what changes what it reads


def rebound_number() -> Made:
    def change() -> None:
        global scale
        scale += 1.0

    return (lambda x: wg.sum(x) * scale), change


def rebound_global_array() -> Made:
    def change() -> None:
        global weights
        weights = weights + 1.0

    return (lambda x: wg.sum(x * weights)), change


def array_written_in_place() -> Made:
    def change() -> None:
        weights[0] += 1.0

    return (lambda x: wg.sum(x * weights)), change


def array_read_by_numpy() -> Made:
    def change() -> None:
        weights[1] += 1.0

    return (lambda x: wg.sum(x) * float(np.max(weights))), change


def array_in_a_condition() -> Made:
    held = np.array([1.0])

    def change() -> None:
        held[0] = -held[0]

    return (lambda x: wg.sum(x) if held[0] > 0 else wg.sum(x * x)), change


def view_of_an_array() -> Made:
    held = np.arange(6.0).reshape(3, 2)

    def change() -> None:
        held[1] += 1.0

    return (lambda x: wg.sum(held[1:] @ x) + wg.sum(x @ held.T)), change


def closure_cell() -> Made:
    factor = 2.0

    def change() -> None:
        nonlocal factor
        factor += 1.0

    return (lambda x: wg.sum(x) * factor), change


def nested_closure() -> Made:
    factor = np.array([2.0, 3.0])

    def inner(x: Any) -> Any:
        def innermost() -> Any:
            return x * factor

        return innermost()

    def change() -> None:
        nonlocal factor
        factor = factor * 2.0

    return (lambda x: wg.sum(inner(x))), change


def attribute_of_a_namespace() -> Made:
    def change() -> None:
        settings.rate += 1.0

    return (lambda x: wg.sum(x) * settings.rate), change


def attribute_of_self() -> Made:
    model = Model()

    def change() -> None:
        model.w = model.w + 1.0

    return (lambda x: model(x)), change


def attribute_in_place() -> Made:
    model = Model()

    def change() -> None:
        model.w *= 2.0

    return (lambda x: model(x)), change


def bound_method() -> Made:
    model = Model()

    def change() -> None:
        model.inner.rate += 1.0

    return model.nested, change


def list_in_a_dataclass() -> Made:
    model = Model()

    def change() -> None:
        model.inner.powers[0] += 1.0

    return model.nested, change


def property_of_an_object() -> Made:
    model = Model()

    def change() -> None:
        model.rate += 1.0

    return (lambda x: wg.sum(x) * model.doubled), change


def class_attribute() -> Made:
    class Local(Model):
        shared = 3.0

    model = Local()

    def change() -> None:
        Local.shared += 1.0

    return (lambda x: wg.sum(x) * model.shared), change


def instance_hides_its_class() -> Made:
    model = Model()

    def change() -> None:
        model.shared = model.shared + 1.0

    return (lambda x: wg.sum(x) * model.shared), change


def method_replaced() -> Made:
    class Local:
        def step(self, x: Any) -> Any:
            return wg.sum(x)

    model = Local()
    others = itertools.cycle([lambda self, x: wg.sum(x * x), lambda self, x: wg.sum(x)])

    def change() -> None:
        Local.step = next(others)

    return (lambda x: model.step(x)), change


def slot_of_an_object() -> Made:
    held = Slotted()

    def change() -> None:
        held.w += 1.0

    return (lambda x: wg.sum(x) * held.w), change


def dictionary_entry() -> Made:
    config = {"rate": 0.5, "unread": 1.0}

    def change() -> None:
        config["rate"] += 1.0

    return (lambda x: wg.sum(x) * config["rate"]), change


def array_in_a_dictionary() -> Made:
    params = {"w": np.array([1.0, 2.0]), "b": 1.0}

    def change() -> None:
        params["w"] = params["w"] + 1.0

    return (lambda x: wg.sum(x * params["w"]) + params["b"]), change


def dictionary_that_grows() -> Made:
    terms = {"a": 1.0}

    def change() -> None:
        terms[f"t{len(terms)}"] = 2.0

    return (lambda x: wg.sum(x) * sum(terms.values())), change


def list_that_grows() -> Made:
    factors = [1.0]

    def change() -> None:
        factors.append(2.0)

    return (lambda x: wg.sum(x) * sum(factors)), change


def layers_in_a_list() -> Made:
    layers = [(np.eye(2), np.ones(2)), (np.eye(2) * 2, np.zeros(2))]

    def f(x: Any) -> Any:
        for w, b in layers:
            x = x @ w + b
        return wg.sum(x)

    def change() -> None:
        layers[0][0][0, 0] += 1.0

    return f, change


def set_that_grows() -> Made:
    held = {1, 2}

    def change() -> None:
        held.add(len(held) + 1)

    return (lambda x: wg.sum(x) * len(held)), change


def set_of_a_class_of_ones_own() -> Made:
    class Names(set[int]):
        def copy(self) -> Any:
            return set(self)  # as Keras's sets of what a layer tracks

    held = Names([1, 2])

    def change() -> None:
        held.add(len(held) + 1)

    return (lambda x: wg.sum(x) * len(held)), change


def queue_that_moves() -> Made:
    held = collections.deque([1.0, 2.0], maxlen=2)

    def change() -> None:
        held.append(held[-1] + 1.0)

    return (lambda x: wg.sum(x) * held[0]), change


def default_argument() -> Made:
    factors = [1.0]

    def f(x: Any, held: list[float] = factors) -> Any:
        return wg.sum(x) * sum(held)

    def change() -> None:
        factors[0] += 1.0

    return f, change


def defaults_replaced() -> Made:
    def f(x: Any, factor: float = 2.0) -> Any:
        return wg.sum(x) * factor

    def change() -> None:
        (factor,) = f.__defaults__ or (2.0,)
        f.__defaults__ = (factor + 1.0,)

    return (lambda x: f(x)), change


def attribute_of_a_function() -> Made:
    def plain(x: Any) -> Any:
        return wg.sum(x) * f.factor

    f: Any = plain
    f.factor = 1.0

    def change() -> None:
        f.factor += 1.0

    return f, change


def partial_argument() -> Made:
    held = [1.0]

    def change() -> None:
        held[0] += 1.0

    return functools.partial(lambda held, x: wg.sum(x) * held[0], held), change


def function_in_a_registry() -> Made:
    registry: dict[str, Any] = {"now": lambda x: wg.sum(x)}
    others = itertools.cycle([lambda x: wg.sum(x * x), lambda x: wg.sum(x)])

    def change() -> None:
        registry["now"] = next(others)

    return (lambda x: registry["now"](x)), change


def helper_of_the_module() -> Made:
    def change() -> None:
        global scale
        scale *= 2.0

    return (lambda x: _scaled(x)), change


def _scaled(x: Any) -> Any:
    return wg.sum(x) * scale


def sparse_matrix() -> Made:
    matrix = scipy.sparse.csr_matrix(np.array([[1.0, 0.0], [2.0, 3.0]]))

    def change() -> None:
        matrix.data[0] += 1.0

    return (lambda x: wg.sum(x) * float(matrix.sum())), change


def bytes_that_change() -> Made:
    held = bytearray([1, 2])

    def change() -> None:
        held[0] += 1

    return (lambda x: wg.sum(x) * held[0]), change


def tensor_rebound() -> Made:
    held = wg.tensor([1.0, 2.0])

    def change() -> None:
        nonlocal held
        held = held + 1.0

    return (lambda x: wg.sum(x * held)), change


def object_array() -> Made:
    held = np.array([1.0, None], dtype=object)

    def change() -> None:
        held[0] += 1.0

    return (lambda x: wg.sum(x) * held[0]), change


def numpy_scalar() -> Made:
    held = np.float64(2.0)

    def change() -> None:
        nonlocal held
        held = held + 1.0

    return (lambda x: wg.sum(x) * held), change


def integer_becomes_float() -> Made:
    values = itertools.cycle([2.0, 2])
    held: Any = 2

    def change() -> None:
        nonlocal held
        held = next(values)

    return (lambda x: wg.sum(x) * (1.0 if isinstance(held, int) else 2.0)), change


def sign_of_a_zero() -> Made:
    held = 0.0

    def change() -> None:
        nonlocal held
        held = -held

    return (lambda x: wg.sum(wg.copysign(x, held))), change


def module_attribute() -> Made:
    module: Any = types.ModuleType("a_module_of_settings")
    module.rate = 1.0

    def change() -> None:
        module.rate += 1.0

    return (lambda x: wg.sum(x) * module.rate), change


def custom_gradient_rule() -> Made:
    held = [1.0]
    rule = wg.custom_gradient(lambda x: (x * held[0], lambda up: up * held[0]))

    def change() -> None:
        held[0] += 1.0

    return (lambda x: wg.sum(rule(x))), change


def branch_and_loop() -> Made:
    table = np.array([1.0, 2.0])

    def change() -> None:
        table[:] += 1.0

    def f(x: Any) -> Any:
        y = wg.cond(wg.sum(x) > 0, lambda: x * table, lambda: x)
        return wg.sum(wg.fori_loop(0, 3, lambda i, v: v * table, y))

    return f, change


def _nested() -> Any:
    return types.SimpleNamespace(inner=types.SimpleNamespace(rate0=2.0, rate1=3.0), name="inner")


def _of_nested(read: Callable[[Any], Any]) -> Made:
    """A function that reads a namespace within another one in some way."""
    space = _nested()

    def change() -> None:
        space.inner.rate1 += 1.0

    return lambda x: wg.sum(x * read(space)), change


def namespace_in_a_namespace() -> Made:
    return _of_nested(lambda space: space.inner.rate1)


def namespace_under_another_name() -> Made:
    def read(space: Any) -> Any:
        same = space.inner
        return same.rate1

    return _of_nested(read)


def namespace_taken_whole() -> Made:
    return _of_nested(lambda space: sum(vars(space.inner).values()))


def namespace_copied() -> Made:
    return _of_nested(lambda space: sum(vars(copy.copy(space.inner)).values()))


def namespace_compared() -> Made:
    before = _nested()
    return _of_nested(lambda space: 2.0 if space.inner == before.inner else 3.0)


def namespace_as_text() -> Made:
    return _of_nested(lambda space: len(repr(space.inner)) * (1.0 if "4.0" in f"{space.inner}" else 2.0))


def namespace_matched() -> Made:
    def read(space: Any) -> Any:
        match space:
            case types.SimpleNamespace(inner=types.SimpleNamespace(rate1=rate)):
                return rate
            case _:
                return 0.0

    return _of_nested(read)


def names_put_together() -> Made:
    return _of_nested(lambda space: sum(getattr(space.inner, f"rate{i}") for i in range(2)))


def name_that_is_read() -> Made:
    return _of_nested(lambda space: getattr(space, space.name).rate1)


def names_of_several_steps() -> Made:
    return _of_nested(lambda space: operator.attrgetter("inner." + "rate1")(space))


def names_in_a_getter() -> Made:
    getter = operator.attrgetter("rate", "inner.rate")
    model = Model()

    def change() -> None:
        model.inner.rate += 1.0

    return lambda x: wg.sum(x) * sum(getter(model)), change


def name_in_a_partial() -> Made:
    model: Any = Options()
    read = functools.partial(getattr, model, "rate")

    def change() -> None:
        model.rate += 1.0

    return lambda x: wg.sum(x) * read(), change


def names_of_an_object_put_together() -> Made:
    model: Any = Options()
    model.shift0 = model.shift1 = 1.0
    kind = "ra"

    def f(x: Any) -> Any:
        shifts = sum(getattr(model, "shift" + str(i)) for i in range(2))
        return wg.sum(x * getattr(model, f"{kind}te")) + shifts

    def change() -> None:
        model.rate += 1.0
        model.shift1 = model.rate

    return f, change


SITUATIONS = [
    rebound_number, rebound_global_array, array_written_in_place, array_read_by_numpy, array_in_a_condition,
    view_of_an_array, closure_cell, nested_closure, attribute_of_a_namespace, attribute_of_self, attribute_in_place,
    bound_method, list_in_a_dataclass, property_of_an_object, class_attribute, instance_hides_its_class, method_replaced,
    slot_of_an_object, dictionary_entry, array_in_a_dictionary, dictionary_that_grows, list_that_grows, layers_in_a_list,
    set_that_grows, set_of_a_class_of_ones_own, queue_that_moves, default_argument, defaults_replaced, attribute_of_a_function, partial_argument,
    function_in_a_registry, helper_of_the_module, sparse_matrix, bytes_that_change, tensor_rebound, object_array,
    namespace_in_a_namespace, namespace_under_another_name, namespace_taken_whole, namespace_copied,
    namespace_compared, namespace_as_text, namespace_matched, names_put_together, name_that_is_read,
    names_of_several_steps, names_of_an_object_put_together, names_in_a_getter, name_in_a_partial,
    numpy_scalar, integer_becomes_float, sign_of_a_zero, module_attribute, custom_gradient_rule, branch_and_loop,
]  # fmt: skip


def _of_rows(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: f(np.stack([x, 2 * x]))


def _around(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: f(x * 2.0) + 1.0


def _tangent(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: wg.jvp(f, (x,), (np.ones_like(x),))[1]


WAYS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "call": (wg.function, lambda f: f),
    "grad of it": (lambda f: wg.grad(wg.function(f)), wg.grad),
    "compiled grad": (lambda f: wg.function(wg.grad(f)), wg.grad),
    "vmap of it": (lambda f: _of_rows(wg.vmap(wg.function(f))), lambda f: _of_rows(wg.vmap(f))),
    "inside another": (lambda f: wg.function(_around(wg.function(f))), _around),
    "jvp of it": (lambda f: _tangent(wg.function(f)), lambda f: _tangent(f)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda s: s.__name__)
@pytest.mark.filterwarnings("ignore:.* was traced 5 times")  # that is what the test makes them do
def test_a_call_is_what_the_eager_call_would_be_now(situation: Callable[[], Made], way: str) -> None:
    f, change = situation()
    made, eager = (make(f) for make in WAYS[way])
    found = []
    for _ in range(3):
        for _ in range(2):  # the second call takes the short way
            np.testing.assert_allclose(made(X), eager(X), rtol=1e-14, atol=0.0)
            found.append(made(X))
        change()
    np.testing.assert_allclose(made(X), eager(X), rtol=1e-14, atol=0.0)


# -- how often is traced ---------------------------------------------------------------------------------------------


def test_arrays_that_ops_take_are_inputs() -> None:
    w, b = np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0]])
    model = Model()
    f = wg.function(lambda x: wg.sum(x * w) + wg.sum(b.T @ x) + wg.sum(b[0] * x) + model(x))
    f(X)
    w[0], b[1, 0] = 5.0, 7.0
    model.w[1] = 8.0
    assert f(X) == np.sum(X * w) + np.sum(b.T @ X) + np.sum(b[0] * X) + np.sum(X * model.w) * 0.5
    model.w = np.array([1.0, 1.0])
    w = np.array([9.0, 1.0])
    assert f(X) == np.sum(X * w) + np.sum(b.T @ X) + np.sum(b[0] * X) + np.sum(X * model.w) * 0.5
    assert f.trace_count == 1


def test_equal_views_of_an_array_are_one_input(monkeypatch: pytest.MonkeyPatch) -> None:
    w, rows = np.eye(2), np.ones((3, 2))

    def steps(x: Any) -> Any:
        for row in rows:
            x = w.T @ x + w[0] + row
        return wg.sum(x)

    found: list[Any] = []
    made = inputs.tensor_around
    monkeypatch.setattr(inputs, "tensor_around", lambda array: found.append(array) or made(array))
    f = wg.function(steps)
    f(X)
    assert len(found) == 5  # w.T, w[0], and the three rows
    w[0, 1] = 5.0
    np.testing.assert_allclose(f(X), steps(X), rtol=1e-14)
    assert f.trace_count == 1


def test_views_of_captured_views_are_inputs() -> None:
    """Of those NumPy tells whose memory they are, and not the view that they were made of."""
    memory = np.arange(12.0)
    w, b = memory[:8].reshape(4, 2), memory[8:][::-1]
    f = wg.function(lambda x: wg.sum(w.T[:, 1:3] @ x) + wg.sum(b[1:3] * x))
    for change in range(4):
        np.testing.assert_allclose(f(X), np.sum(w.T[:, 1:3] @ X) + np.sum(b[1:3] * X), rtol=1e-14)
        memory[change::4] -= 2.5
    assert f.trace_count == 1
    w = memory[4:].reshape(4, 2)
    np.testing.assert_allclose(f(X), np.sum(w.T[:, 1:3] @ X) + np.sum(b[1:3] * X), rtol=1e-14)


def test_arrays_that_helpers_take_are_inputs() -> None:
    data, targets = np.arange(6.0).reshape(3, 2), np.arange(3.0)

    def loss(w: Any, rows: Any, wanted: Any) -> Any:
        return wg.mean((rows @ w - wanted) ** 2)

    f = wg.function(wg.grad(lambda w: loss(w, data, targets)))
    for _ in range(3):
        data += 1.0
        targets = targets * 2.0
        np.testing.assert_allclose(f(X), wg.grad(loss)(X, data, targets), rtol=1e-14)
    assert f.trace_count == 1


def test_what_comes_back_is_not_traced_again() -> None:
    flag = True
    f = wg.function(lambda x: wg.sum(x) if flag else wg.sum(x * x))
    for flag in (True, False, True, False):
        assert f(X) == (3.0 if flag else 5.0)
    assert f.trace_count == 2


def test_what_is_not_read_may_change() -> None:
    model = Model()
    config = {"rate": 2.0, "step": 0}
    f = wg.function(lambda x: model(x) * config["rate"])
    for step in range(4):
        f(X)
        model.history.append(1.0)
        config["step"] = step
        vars(model)["unrelated"] = step
    assert f.trace_count == 1


def test_counting_and_logging_in_a_function_is_no_reason_to_trace_again() -> None:
    traces: list[int] = []
    counts = {"n": 0}
    number = 0

    @wg.function
    def f(x: Any) -> Any:
        nonlocal number
        traces.append(1)
        counts["n"] += 1
        number += 1
        return wg.sum(x)

    for _ in range(3):
        f(X)
    assert (len(traces), counts["n"], number, f.trace_count) == (1, 1, 1, 1)


def test_a_name_that_keeps_causing_traces_is_told() -> None:
    rate = 0.0
    f = wg.function(lambda x: wg.sum(x) * rate)
    for _ in range(4):
        f(X)
        rate += 1.0
    with pytest.warns(UserWarning, match=r"traced 5 times because `rate`, which it reads, had changed"):
        f(X)
    rate = 5.0
    f(X)  # told once


# -- what changes by itself ------------------------------------------------------------------------------------------

generator = np.random.default_rng(0)


def _reads_a_file(x: Any) -> Any:
    with open(__file__) as file:
        return wg.sum(x) * len(file.readline())


def _draws(x: Any) -> Any:
    return wg.sum(x) * np.random.normal()


CHANGING: dict[str, tuple[Callable[..., Any], str]] = {
    "np.random": (_draws, r"draws random numbers from np\.random"),
    "random": (lambda x: wg.sum(x) * random.random(), r"draws random numbers from random"),
    "a generator": (lambda x: wg.sum(x) * generator.normal(), r"draws random numbers from `generator`"),
    "a fresh generator": (lambda x: wg.sum(x) * np.random.default_rng().normal(), r"numpy\.random\.default_rng"),
    "the clock": (lambda x: wg.sum(x) * time.time(), r"reads time\.time"),
    "a file": (_reads_a_file, r"reads open"),
}


@pytest.mark.parametrize("what", CHANGING)
def test_what_changes_by_itself_is_told_once(what: str) -> None:
    f, message = CHANGING[what]
    compiled = wg.function(f)
    with pytest.warns(UserWarning, match=message) as caught:
        compiled(X)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(X)
        compiled(np.ones(3))  # another trace


def test_seeded_random_numbers_are_not_told() -> None:
    f = wg.function(lambda x: wg.sum(x) * np.random.default_rng(3).normal())
    assert f(X) == 3.0 * np.random.default_rng(3).normal()


# -- arguments that belong to the signature --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [bytearray, Options, Model])
def test_arguments_that_are_no_arrays_are_looked_at_again(kind: Any) -> None:
    def read(held: Any) -> Any:
        return held[0] if isinstance(held, bytearray) else held.rate

    held: Any = kind([1, 2]) if kind is bytearray else kind()
    f = wg.function(lambda x, held: wg.sum(x) * read(held))
    for _ in range(3):
        assert f(X, held) == 3.0 * read(held)
        if kind is bytearray:
            held[0] += 1
        else:
            held.rate += 1.0


def test_equal_arguments_with_other_contents_are_told_apart() -> None:
    class Named:
        def __init__(self, name: str, rate: float) -> None:
            self.name, self.rate = name, rate

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Named) and other.name == self.name

        def __hash__(self) -> int:
            return hash(self.name)

    f = wg.function(lambda x, held: wg.sum(x) * held.rate)
    assert f(X, Named("a", 1.0)) == 3.0
    assert f(X, Named("a", 2.0)) == 6.0


def test_data_frames_are_looked_at_again() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is no dependency of the tests")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    f = wg.function(lambda x: wg.sum(x * frame["a"].to_numpy()))
    for _ in range(3):
        assert f(X) == np.sum(X * frame["a"].to_numpy())
        frame["a"] = frame["a"] + 1.0
        frame.loc[0, "a"] = 9.0


def test_a_function_and_its_arrays_go_without_the_collector() -> None:
    def made() -> tuple[Any, Any]:
        w = np.ones(2)
        f = wg.function(lambda x: wg.sum(wg.fori_loop(0, 2, lambda i, c: c * w, x)))
        f(X)
        f(X)
        return weakref.ref(f), weakref.ref(w)

    made()
    gc.collect()
    gc.disable()
    try:
        assert [ref() for ref in made()] == [None, None]
    finally:
        gc.enable()


def test_results_that_are_captured_arrays_are_the_callers_own() -> None:
    w = np.ones((2, 2))
    f = wg.function(lambda x: (w, w.T, x * 1.0))
    for _ in range(3):
        for result in f(X):
            result[:] = -1.0
    np.testing.assert_array_equal(w, np.ones((2, 2)))


class Scaled:
    """What a compiled function may find in an object, in its class, or nowhere."""

    base = 2.0

    def scaled(self, x: Any) -> Any:
        return x * (self.extra if hasattr(self, "extra") else self.base)


class Child(Scaled):
    pass


def set_later(name: str, value: Any) -> Made:
    held = Scaled()
    return (lambda x: wg.sum(held.scaled(x))), lambda: setattr(held, name, value)


def shadowed_in_a_class() -> Made:
    kind = type("Kind", (Child,), {"__module__": __name__})
    held = kind()
    return (lambda x: wg.sum(held.scaled(x))), lambda: setattr(kind, "base", 5.0)


def memory_written(held: Any) -> Made:
    return (lambda x: wg.sum(x) * held[0]), lambda: held.__setitem__(0, 7)


ABSENT: dict[str, Callable[[], Made]] = {
    "an attribute that was not there": lambda: set_later("extra", 3.0),
    "a method replaced on its object": lambda: set_later("scaled", lambda x: x * 9.0),
    "an attribute that hides the class's": lambda: set_later("base", 4.0),
    "an attribute of a class that hides its base's": shadowed_in_a_class,
    "array.array": lambda: memory_written(array.array("d", [2.0])),
    "a memoryview": lambda: memory_written(memoryview(bytearray(b"\2\3"))),
    "an array of ctypes": lambda: memory_written((ctypes.c_double * 2)(2.0, 3.0)),
}


@pytest.mark.parametrize("name", ABSENT)
def test_what_comes_to_hide_what_was_found_and_memory_is_seen(name: str) -> None:
    f, change = ABSENT[name]()
    x = np.array([1.0, 2.0])
    compiled, gradient = wg.function(f), wg.function(wg.grad(f))
    outer = wg.function(lambda x: compiled(x) + 1.0)
    for _ in range(2):
        np.testing.assert_allclose(compiled(x), f(x))
        np.testing.assert_allclose(gradient(x), wg.grad(f)(x))
        np.testing.assert_allclose(outer(x), f(x) + 1.0)
        change()


def test_attributes_that_nobody_reads_cause_no_new_trace() -> None:
    held = Scaled()
    f = wg.function(lambda x: held.scaled(x))
    for count in range(4):
        assert f(1.0) == 2.0
        setattr(held, f"log{count}", count)
    assert f.trace_count == 1


def test_of_a_namespace_only_what_is_read_is_looked_at() -> None:
    library = types.SimpleNamespace(np=types.SimpleNamespace(sin=wg.sin, w=np.array([1.0, 2.0])), name="ours")
    f = wg.function(lambda x: wg.sum(library.np.sin(x) * library.np.w))
    for count in range(4):
        library.np.w[0] = count
        np.testing.assert_allclose(f(X), np.sum(np.sin(X) * library.np.w), rtol=1e-14)
        setattr(library.np, f"log{count}", count)
        library.name = f"{count}"
    assert f.trace_count == 1
    library.np.sin = wg.cos
    np.testing.assert_allclose(f(X), np.sum(np.cos(X) * library.np.w), rtol=1e-14)


class Kind(enum.Enum):
    """A value that is neither number nor string."""

    LOW = 2.0
    HIGH = 3.0


class Meta(type):
    """What a class's class holds is read through the class."""

    factor = 2.0


class Fixed:
    """What a descriptor gives is the descriptor's."""

    def __init__(self) -> None:
        self.value = 2.0

    def __get__(self, instance: Any, owner: Any = None) -> float:
        return self.value


class Held(metaclass=Meta):
    """Holds what the other classes describe."""

    fixed = Fixed()

    def scaled(self, x: Any) -> Any:
        return x * 2.0


class Other(Held):
    """What an object comes to be."""

    def scaled(self, x: Any) -> Any:
        return x * 5.0


@pytest.mark.filterwarnings("ignore:.* was traced 5 times")  # that is what the changes make it do
def test_what_else_code_reads_is_seen() -> None:
    space = types.SimpleNamespace(kind=Kind.LOW, inner=types.SimpleNamespace(v=2.0), some=frozenset({1}))
    options, table = types.SimpleNamespace(a=1.0), {"k": 2.0}
    order, shown = {"a": 2.0, "b": 3.0}, types.MappingProxyType(table)
    variable: Any = contextvars.ContextVar("variable", default=2.0)
    local: Any = threading.local()
    local.v = 2.0
    held = Held()

    def helper(x: Any) -> Any:
        return x * 2.0

    def readers(x: Any) -> list[Any]:
        return [
            x * space.kind.value + (1.0 if space.kind is Kind.LOW else 0.0),
            x * space.inner.v * (2.0 if 1 in space.some else 1.0),
            x * getattr(space, "late", 3.0) * (2.0 if hasattr(space, "later") else 1.0),
            x * variable.get() * local.v,
            x * type(held).factor * held.fixed,
            held.scaled(x),
            helper(x),
            x ** next(iter(order.values())),
            x * shown["k"],
            sum(x * v for v in vars(options).values()),
        ]

    total = lambda x: sum(k * wg.sum(y) for k, y in enumerate(readers(x), 1))
    compiled = wg.function(total)
    outer = wg.grad(wg.function(lambda x: wg.sum(wg.vmap(compiled)(wg.stack([x, 2 * x])))))
    changes: list[Callable[[], Any]] = [
        lambda: setattr(space, "kind", Kind.HIGH),
        lambda: setattr(space.inner, "v", 7.0),
        lambda: setattr(space, "some", frozenset()),
        lambda: (setattr(space, "late", 4.0), variable.set(5.0)),
        lambda: setattr(space, "later", None),
        lambda: setattr(local, "v", 3.0),
        lambda: setattr(Meta, "factor", 4.0),
        lambda: setattr(vars(Held)["fixed"], "value", 4.0),
        lambda: setattr(held, "__class__", Other),
        lambda: setattr(helper, "__code__", (lambda x: x * 9.0).__code__),
        lambda: order.update(a=order.pop("a")),
        lambda: table.update(k=8.0),
        lambda: setattr(options, "b", 2.0),
    ]
    before = -1.0
    for change in changes:
        assert float(compiled(X)) != before
        before = float(compiled(X))
        change()
        np.testing.assert_allclose(compiled(X), total(X), rtol=1e-13)
    np.testing.assert_allclose(outer(X), wg.grad(lambda x: total(x) + total(2 * x))(X), rtol=1e-13)
    for undo in (lambda: setattr(space.inner, "v", 2.0), lambda: variable.set(1.0)):
        undo()
        np.testing.assert_allclose(outer(X), wg.grad(lambda x: total(x) + total(2 * x))(X), rtol=1e-13)


def test_questions_to_the_system_and_all_names_at_once_are_told(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "number"
    path.write_text("2")
    rows: list[tuple[Callable[[Any], Any], str]] = [
        (lambda x: x * float(path.read_text()), "Path.read_text"),
        (lambda x: x if path.exists() else 2 * x, "Path.exists"),
        (lambda x: x if os.path.exists(path) else 2 * x, "exists"),
        (lambda x: x * len(os.getcwd()), "os.getcwd"),
        (lambda x: x * globals()["scale"], "globals"),
        (lambda x: x * eval("scale"), "eval"),
    ]
    for f, name in rows:
        with pytest.warns(UserWarning, match=rf"reads .*{name}, which changes by itself"):
            wg.function(f)(1.0)


class Marked(np.ndarray[Any, Any]):
    """An array with a number beside it."""

    factor = 1.0

    def scaled(self) -> Any:
        return np.asarray(self) * self.factor


class Abstract(abc.ABC):  # noqa: B024  (what counts as one is registered)
    pass


class Dispatching:
    @functools.singledispatchmethod
    def of(self, key: object) -> float:
        return 1.0


def _set(array: Any, name: str, value: Any) -> None:
    """Sets a shape, a dtype or strides in place, of which newer NumPy's warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        setattr(array, name, value)


def test_arrays_that_become_others_in_place_are_seen() -> None:
    six, sized, cut, seen = np.arange(6.0), np.arange(6.0), np.arange(6.0)[:2], np.arange(2.0)
    marked, viewed = np.arange(2.0).view(Marked), np.arange(4.0)
    rows: list[tuple[Callable[[Any], Any], Callable[[], Any]]] = [
        (lambda x: wg.sum(x) * six, lambda: _set(six, "shape", (2, 3))),
        (lambda x: wg.sum(x) * six, lambda: _set(six, "dtype", np.int64)),
        (lambda x: x * sized.shape[0], lambda: _set(sized, "shape", (2, 3))),
        (lambda x: x * cut, lambda: _set(cut, "strides", (16,))),
        (lambda x: x * viewed[2:], lambda: _set(viewed, "shape", (2, 2))),
        (lambda x: x * (2.0 if seen.flags.writeable else 3.0), lambda: seen.setflags(write=False)),
        (lambda x: x * marked.factor, lambda: setattr(marked, "factor", 5.0)),
        (lambda x: x * marked.scaled(), lambda: setattr(marked, "factor", 7.0)),
        (lambda x: x * np.asarray(marked), lambda: marked.__setitem__(1, 9.0)),
    ]
    for f, change in rows:
        compiled = wg.function(f)
        for _ in range(2):
            np.testing.assert_array_equal(compiled(X), f(X))
        change()
        for _ in range(2):
            np.testing.assert_array_equal(compiled(X), f(X))
    weights = np.arange(4.0)
    total = wg.function(lambda x: wg.sum(wg.outer(x, weights)[0] ** 2))
    wg.grad(total)(X)
    _set(weights, "dtype", np.int64)
    np.testing.assert_allclose(wg.grad(total)(X), wg.grad(lambda x: wg.sum(wg.outer(x, weights)[0] ** 2))(X))


def test_memory_that_a_program_reads_is_not_moved() -> None:
    whole, part = np.arange(2.0), np.arange(6.0)
    compiled = wg.function(lambda x: x * whole + part[2:4])
    wanted = compiled(X)
    for held in (whole, part):
        with pytest.raises(ValueError, match="cannot resize"):
            held.resize((10_000_000,), refcheck=False)
    np.testing.assert_array_equal(compiled(X), wanted)


def test_what_is_registered_later_is_seen() -> None:
    @functools.singledispatch
    def of(key: object) -> float:
        return 1.0

    held = Dispatching()
    rows: list[tuple[Callable[[Any], Any], Callable[[], Any]]] = [
        (lambda x: x * of(3), lambda: of.register(int, lambda key: 7.0)),
        (lambda x: x * held.of(3), lambda: Dispatching.of.register(int, lambda self, key: 5.0)),
        (lambda x: x * (2.0 if isinstance(held, Abstract) else 3.0), lambda: Abstract.register(Dispatching)),
    ]
    for f, change in rows:
        compiled = wg.function(f)
        before = compiled(X)
        change()
        np.testing.assert_array_equal(compiled(X), f(X))
        assert before[0] != compiled(X)[0]


TEXTS: list[Callable[[Any], str]] = [
    lambda a: f"{a}", lambda a: str(a), lambda a: "%s" % a, lambda a: f"{a!r}", lambda a: repr(a),  # noqa: UP031
    lambda a: np.array2string(np.asarray(a)), lambda a: "{}".format(a), lambda a: a.__str__(),  # noqa: UP032
    lambda a: " ".join(map(str, [a])),
]  # fmt: skip


@pytest.mark.parametrize("made", TEXTS)
@pytest.mark.parametrize("held", [np.array([1.23456789]), wg.tensor([1.23456789])], ids=["array", "tensor"])
def test_text_of_arrays_is_what_the_options_of_printing_make_it(made: Callable[[Any], str], held: Any) -> None:
    def f(x: Any) -> Any:
        return x * len(made(held)) * held[0]

    compiled = wg.function(f)
    before = float(compiled(1.0))
    with np.printoptions(precision=2):
        assert float(compiled(1.0)) == float(f(1.0))
        assert float(compiled(1.0)) != before
    assert float(compiled(1.0)) == before


def test_settings_of_libraries_are_told() -> None:
    rows: list[tuple[Callable[[Any], Any], str]] = [
        (lambda x: x if np.geterr()["over"] == "warn" else 2 * x, "numpy.geterr"),
        (lambda x: x * np.get_printoptions()["precision"], "numpy.get_printoptions"),
        (lambda x: x * decimal.getcontext().prec, "decimal.getcontext"),
        (lambda x: x * sys.getrecursionlimit(), "sys.getrecursionlimit"),
    ]
    for f, name in rows:
        with pytest.warns(UserWarning, match=f"reads {name}, which changes by itself"):
            wg.function(f)(1.0)


def test_names_of_arguments_are_no_parts_of_names() -> None:
    def computed(o: Any, k: int) -> Any:
        return o.method(shape=1, initializer=2) + getattr(o, f"w{k}")

    def both(o: Any) -> Any:
        return o.method(shape=1, size=2) + sum(getattr(o, "of_" + k) for k in ("shape", "size"))

    assert reads_of(computed.__code__).fragments == {"w"}
    assert reads_of(both.__code__).fragments >= {"of_", "shape", "size"}
