"""Frameworks' arrays that a function reads beside its arguments, where another array takes the place of each.

What a step of a training has computed of weights is found where the function reads it, and costs no new trace, as
NumPy's arrays do; what anything else than an op reads of it does.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.engines import every_users_engine

VALUES = [[1.0, 2.0], [3.0, 0.5], [-1.0, 4.0]]


def _maker(engine: str) -> Callable[[Any], Any]:
    """From numbers to an array of float32."""
    if engine == "jax":
        return lambda a: importlib.import_module("jax.numpy").asarray(a, dtype="float32")
    library = importlib.import_module(engine)
    make = library.tensor if engine == "torch" else library.constant
    return lambda a: make(a, dtype=library.float32)


def _exp(engine: str) -> Callable[[Any], Any]:
    """The framework's own function."""
    return importlib.import_module("jax.numpy" if engine == "jax" else engine).exp


class Layer:
    scale: Any = None
    is_long = False

    def times(self, x: Any) -> Any:
        return x * self.scale

    def either(self, x: Any) -> Any:
        return x * self.scale if self.is_long else x + self.scale


held: Any = None  # in a global


def _by_helper(x: Any, scale: Any) -> Any:
    return wg.multiply(x, scale)


def _places() -> dict[str, tuple[Callable[[Any], None], Callable[[Any], Any]]]:
    """How an array is put to a place, and a function that reads it there."""
    layer, entries, cell = Layer(), dict[str, Any](), None

    def in_cell(array: Any) -> None:
        nonlocal cell
        cell = array

    def in_global(array: Any) -> None:
        global held
        held = array

    def in_layer(array: Any) -> None:
        layer.scale = array

    def in_loop(x: Any) -> Any:
        return wg.fori_loop(0, 3, lambda i, y: y * cell, x)

    def stored(x: Any) -> Any:
        scale = held
        return wg.sin(scale) * x if scale is not None else x

    return {
        "cell": (in_cell, lambda x: wg.sin(x) * cell), "global": (in_global, lambda x: x * held * held.shape[0]),
        "attribute": (in_layer, layer.times), "branch": (in_layer, layer.either),
        "entry": (lambda array: entries.update(scale=array), lambda x: x * entries["scale"]),
        "helper": (in_cell, lambda x: _by_helper(x, cell)), "loop": (in_cell, in_loop), "variable": (in_global, stored),
        "function": (in_cell, lambda x: wg.function(lambda y: y + cell)(x)),
        "gradient": (in_cell, wg.grad(lambda x: wg.sum(wg.sin(x) * cell))),
        "rule": (in_cell, wg.custom_gradient(lambda x: (x * cell, lambda dy: dy * cell))),
    }  # fmt: skip


@every_users_engine
@pytest.mark.parametrize("place", [*_places()])
def test_an_array_like_the_last_one_causes_no_new_trace(engine: str, place: str) -> None:
    make, (put, f) = _maker(engine), _places()[place]
    x, compiled = make([0.5, 0.7]), wg.function(f)
    for value in VALUES:
        put(make(value))
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-6)
    assert compiled.trace_count == 1
    put(make(VALUES[0][:1]))  # another shape
    np.testing.assert_allclose(compiled(x), f(x), rtol=1e-6)
    assert compiled.trace_count == 2


def _read_otherwise(engine: str) -> dict[str, tuple[Callable[[Any], None], Callable[[Any], Any]]]:
    """Functions of which something else than an op reads an array, too, or a part of it that the framework makes."""
    layer, several, exp = Layer(), list[Any](), _exp(engine)
    other = _maker(engine)([2.0, 3.0])

    def in_layer(array: Any) -> None:
        layer.scale, several[:] = array, [array]

    def in_a_branch(x: Any) -> Any:
        factor = exp(layer.scale) if not layer.is_long else 1.0
        return x * layer.scale * factor

    def by_number(x: Any, scale: Any) -> Any:
        return x * scale * float(scale[0])

    programs = {
        "a number": lambda x: x * layer.scale * float(layer.scale[0]), "a helper": lambda x: by_number(x, layer.scale),
        "the framework": lambda x: x * layer.scale * exp(layer.scale), "a branch": in_a_branch,
        "a condition": lambda x: x * layer.scale if bool(layer.scale[0] > 0) else x + layer.scale,
        "a part": lambda x: wg.multiply(layer.scale, layer.scale[0]) * x, "NumPy": lambda x: wg.multiply(x, np.asarray(layer.scale)),
        "a part beside another": lambda x: wg.concatenate([other, layer.scale[:1], layer.scale])[1:3] * x,
        "a list and a place": lambda x: x * layer.scale + several[0],
    }  # fmt: skip
    return {name: (in_layer, program) for name, program in programs.items()}


@every_users_engine
@pytest.mark.parametrize("name", [
    "a number", "a helper", "the framework", "a branch", "a condition", "a part", "NumPy", "a part beside another",
    "a list and a place",
])  # fmt: skip
def test_what_else_reads_an_array_is_seen(engine: str, name: str) -> None:
    make, (put, f) = _maker(engine), _read_otherwise(engine)[name]
    x, compiled = make([0.5, 0.7]), wg.function(f)
    for value in VALUES:
        put(make(value))
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-6)


@every_users_engine
def test_places_that_held_one_array_may_come_to_hold_two(engine: str) -> None:
    make, first, second = _maker(engine), Layer(), Layer()
    x = make([0.5, 0.7])
    first.scale = second.scale = make(VALUES[0])
    bound = functools.partial(lambda held, x: x * held + first.scale, first.scale)
    for f in (lambda x: wg.sin(x) * first.scale + second.scale, bound):
        compiled = wg.function(f)
        compiled(x)
        for layer, value in ((first, VALUES[1]), (second, VALUES[2])):
            layer.scale = make(value)
            np.testing.assert_allclose(compiled(x), f(x), rtol=1e-6)


# -- what is computed of weights ---------------------------------------------------------------------------------------


def _slope(engine: str, f: Callable[[Any], Any], w: Any) -> Any:
    """The framework's derivative of a number by weights, eagerly."""
    if engine == "jax":
        return importlib.import_module("jax").grad(f)(w)
    if engine == "torch":
        w = w.requires_grad_()
        return importlib.import_module("torch").autograd.grad(f(w), w)[0]
    with importlib.import_module("tensorflow").GradientTape() as tape:
        tape.watch(w)
        y = f(w)
    return tape.gradient(y, w)


@every_users_engine
def test_a_training_whose_steps_compute_of_weights_traces_once(engine: str) -> None:
    make, exp, layer = _maker(engine), _exp(engine), Layer()
    x = make([0.5, 0.7])
    compiled = wg.function(lambda x: wg.sum(wg.sin(x) * layer.scale))

    def loss(w: Any) -> Any:
        layer.scale = exp(w)
        return compiled(x)

    for value in VALUES:
        found = _slope(engine, loss, make(value))
        np.testing.assert_allclose(found, np.sin([0.5, 0.7]) * np.exp(value), rtol=1e-5)
    assert compiled.trace_count == 1


@every_users_engine
def test_a_rule_whose_trace_is_kept_refuses_what_is_followed_later(engine: str) -> None:
    make, exp, layer = _maker(engine), _exp(engine), Layer()
    x, w = make([0.5, 0.7]), make(VALUES[0])
    rule = wg.custom_gradient(lambda x: (x * layer.scale, lambda dy: dy * 10.0))
    for _ in range(4):
        layer.scale = exp(w)
        found = _slope(engine, lambda x: rule(x).sum() if engine != "tensorflow" else sum(rule(x)), x)
        np.testing.assert_allclose(found, [10.0, 10.0])
    assert rule._traces._program.trace_count == 1

    def loss(w: Any) -> Any:
        layer.scale = exp(w)
        return wg.sum(rule(x))

    with pytest.raises(wg.DisconnectedError, match="being differentiated"):
        _slope(engine, loss, w)


# -- variables ---------------------------------------------------------------------------------------------------------


def _variable(engine: str) -> tuple[Any, Callable[[float], object]]:
    """A framework's variable, and what sets it."""
    if engine == "torch":
        torch = importlib.import_module("torch")
        weight = torch.nn.Parameter(torch.tensor(2.0))
        return weight, lambda value: weight.data.fill_(value)
    if engine == "jax":
        jax = importlib.import_module("jax")
        if not hasattr(jax, "new_ref"):
            pytest.skip("this release of JAX has no mutable arrays")
        ref = jax.new_ref(jax.numpy.asarray(2.0))
        return ref, lambda value: ref.__setitem__(..., value)
    variable = importlib.import_module("tensorflow").Variable(2.0)
    return variable, variable.assign


def _plain(array: Any) -> Any:
    """An array that NumPy takes: of torch's it takes none that wants a gradient."""
    return array.detach() if hasattr(array, "detach") else array


@every_users_engine
@pytest.mark.parametrize("name", ["expression", "statement"])
def test_a_variable_that_a_branch_reads_beside_an_op_is_looked_at_again(engine: str, name: str) -> None:
    w, put = _variable(engine)
    options = SimpleNamespace(is_long=True)

    def value(v: Any) -> float:
        return float(v[...] if engine == "jax" else _plain(v))

    def statement(x: Any) -> Any:
        factor = 1.0
        if options.is_long:
            factor = value(w)
        return x * w * factor

    programs = {"statement": statement, "expression": lambda x: x * w + (value(w) if options.is_long else 0.0)}
    x, compiled = _maker(engine)([0.5, 0.7]), wg.function(programs[name])
    for number in (2.0, 3.0, 5.0):
        put(number)
        half = np.float32([0.5, 0.7]) * number
        np.testing.assert_allclose(_plain(compiled(x)), half * number if name == "statement" else half + number, 1e-6)


@every_users_engine
def test_a_variable_in_a_branch_that_does_not_run_causes_no_new_trace(engine: str) -> None:
    w, put = _variable(engine)
    options = SimpleNamespace(is_long=True)
    compiled = wg.function(lambda x: x * w if options.is_long else x * float(w))
    x = _maker(engine)([0.5, 0.7])
    for number in (2.0, 3.0, 5.0):
        put(number)
        np.testing.assert_allclose(_plain(compiled(x)), np.float32([0.5, 0.7]) * number)
    assert compiled.trace_count == 1


@every_users_engine
def test_a_debugger_that_is_called_in_a_trace_stays(engine: str) -> None:
    w = _maker(engine)(VALUES[0])
    before = sys.gettrace()

    def looks_on(frame: object, event: str, given: object) -> None:
        return None

    @wg.function
    def f(x: Any) -> Any:
        sys.settrace(looks_on)
        return wg.sum(x) if x.shape[0] > 5 else wg.sum(x * w)

    try:
        f(_maker(engine)(VALUES[1]))
        assert sys.gettrace() is looks_on
    finally:
        sys.settrace(before)
