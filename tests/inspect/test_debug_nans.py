"""`debug_nans`: the op that makes the first NaN or infinity, forward and backward, with the user's line."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._core.state import STATE

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
BEFORE = (STATE.recorders, STATE.eager_functions)


def message(run: Any, *args: Any) -> str:
    with pytest.raises(FloatingPointError) as caught, wg.debug_nans():
        run(*args)
    assert (STATE.recorders, STATE.eager_functions) == BEFORE
    return str(caught.value)


def test_forward_names_op_line_and_element() -> None:
    def f(x: Any) -> Any:
        y = wg.log(x - 1)
        return wg.sum(y) * 2

    text = message(wg.grad(f), np.array([[2.0, 3.0], [4.0, 1.0]]))
    assert text.startswith("log gave -inf (in 1 of 4 elements, the first at [1, 1]) from finite operands\n  at ")
    assert "y = wg.log(x - 1)" in text
    assert __file__ in text


def test_it_is_the_first_op_and_not_a_later_one() -> None:
    def f(x: Any) -> Any:
        bad = wg.sqrt(x)
        return wg.sin(bad) + wg.exp(bad)

    assert message(f, wg.tensor(-1.0)).startswith("sqrt gave NaN from finite operands")


def test_backward_names_the_forward_op_and_its_line() -> None:
    def norm(x: Any) -> Any:
        total = wg.sum(x * x)
        return wg.sqrt(total)

    text = message(wg.grad(norm), np.zeros(2))
    assert ", in the gradient of sqrt\n  which ran at " in text
    assert "return wg.sqrt(total)" in text
    assert "gave +inf" in text


def test_second_order() -> None:
    text = message(wg.grad(wg.grad(lambda x: x**1.5)), 0.0)
    assert "in the gradient of" in text


def test_compiled_functions_are_seen_into() -> None:
    @wg.function
    def f(x: Any) -> Any:
        inner = wg.exp(x * 1000)
        return inner + 1

    f(1.0)
    text = message(f, 1.0)
    assert text.startswith("exp gave +inf")
    assert "inner = wg.exp(x * 1000)" in text
    assert np.isinf(f(1.0))


def test_recomputed_and_custom_functions_are_seen_into() -> None:
    @wg.recompute_grad
    def again(x: Any) -> Any:
        hidden = wg.log(x)
        return hidden * 2

    assert "hidden = wg.log(x)" in message(wg.grad(again), 0.0)

    @wg.custom_gradient
    def mine(x: Any) -> Any:
        def pull(upstream: Any) -> Any:
            slope = 1 / (x - x)
            return slope * upstream

        return x * 2, pull

    text = message(wg.grad(mine), 3.0)
    assert "slope = 1 / (x - x)" in text
    assert "in the gradient of custom" in text


def test_overflow_in_a_conversion() -> None:
    assert "convert gave +inf" in message(lambda x: wg.astype(x, "float32"), wg.tensor(1e300))


def test_complex() -> None:
    assert "exp gave" in message(lambda x: wg.exp(x), wg.tensor(1e3 + 1j))


def test_what_is_no_finding() -> None:
    with wg.debug_nans():
        infinite = wg.full((3,), np.inf)
        wg.exp(-infinite)
        wg.sin(infinite)  # its operand is not finite: the NaN is not where the trouble began
        wg.tensor([np.nan]) + 1
        wg.grad(lambda x: wg.sum(wg.nn.softmax(x) ** 2))(np.array([1e3, -1e3, 0.0]))
        assert isinstance(wg.grad(lambda x: x * x)(3.0), np.floating)


def test_gradients_are_the_same_inside() -> None:
    x = np.linspace(0.1, 2, 5)
    outside = wg.value_and_grad(lambda x: wg.sum(wg.sin(x) / x))(x)
    with wg.debug_nans():
        inside = wg.value_and_grad(lambda x: wg.sum(wg.sin(x) / x))(x)
    np.testing.assert_array_equal(outside.grad, inside.grad)
    assert type(inside.grad) is np.ndarray


def test_it_nests_and_another_error_passes() -> None:
    with pytest.raises(KeyError), wg.debug_nans(), wg.debug_nans():
        raise KeyError("mine")
    assert (STATE.recorders, STATE.eager_functions) == BEFORE


@pytest.mark.parametrize("bad", [np.nan, np.full(3, np.nan), np.array([1.0, np.nan, 2.0])], ids=["one", "all", "some"])
def test_what_a_custom_gradient_returns_is_looked_at(bad: Any) -> None:
    @wg.custom_gradient
    def doubled(x: Any) -> Any:
        return x * 2, lambda upstream: bad * np.ones(3)

    for f in (doubled, wg.function(doubled)):
        text = message(wg.grad(lambda x, f=f: wg.sum(f(x))), np.ones(3))
        assert text.startswith("the gradient function of doubled gave NaN (in ")
        assert __file__ in text


def test_what_a_custom_forward_rule_returns_is_looked_at() -> None:
    @functools.partial(wg.custom_gradient, jvp=lambda primals, tangents: (primals[0], np.full(3, np.nan)))
    def same(x: Any) -> Any:
        return x * 1, lambda upstream: upstream

    assert message(lambda x: wg.jvp(same, (x,), (x,)), np.ones(3)).startswith("the jvp of same gave NaN (in 3 of 3")


def test_vectors_of_repeated_values_are_named() -> None:
    def f(x: Any) -> Any:
        values, vectors = wg.linalg.eigh(x)
        return wg.sum(vectors * np.arange(4.0).reshape(2, 2)) + wg.sum(values)

    assert "in the gradient of eigh" in message(wg.grad(f), np.eye(2))


def _same(x: Any) -> Any:
    return wg.TensorSpec(x.shape, x.dtype)


def _forward(dots: Any, out: Any, x: Any) -> Any:
    return np.full(x.shape, np.nan)


# what rules of primitives return: a constant, a Python number, a product with NaN
WRITTEN: dict[str, Callable[..., Any]] = {
    "a constant": lambda ct, out, x: (np.full(x.shape, np.nan),),
    "some of it": lambda ct, out, x: np.where(np.arange(math.prod(x.shape)) == 1, np.nan, 1.0).reshape(x.shape),
    "a product": lambda ct, out, x: ct * np.nan,
    "a sum": lambda ct, out, x: (2.0 * ct + float("nan"),),
    "a full array": lambda ct, out, x: wg.ops.full(x.shape, np.nan),
}
RULED = {
    name: wg.primitive(f"ruled by {name}", spec=_same, numpy=lambda x: x * 2.0, vjp=vjp, jvp=_forward)
    for name, vjp in WRITTEN.items()
}
registered = wg.primitive("with a registered gradient", spec=_same, numpy=lambda x: x * 2.0)
wg.register_gradient("with a registered gradient")(lambda op, upstream: np.full(3, np.nan))
batching = wg.primitive(
    "with a batch rule", spec=_same, numpy=np.sin, vjp=lambda ct, out, x: ct * wg.cos(x),
    batch=lambda inputs, batched: np.full(inputs[0].shape, np.nan),
)  # fmt: skip
X = np.ones(3)
REVERSE: dict[str, Callable[[Any], Any]] = {
    "gradient": lambda f: wg.grad(lambda x: wg.sum(f(x)))(X),
    "inside a function": lambda f: wg.function(wg.grad(lambda x: wg.sum(f(x))))(X),
    "around a function": lambda f: wg.grad(wg.function(lambda x: wg.sum(f(x))))(X),
    "second order": lambda f: wg.hessian(lambda x: wg.sum(f(x) * x))(X),
    "of a batch": lambda f: wg.vmap(wg.grad(lambda x: wg.sum(f(x))))(np.ones((2, 3))),
    "row by row": lambda f: wg.jacobian(f, mode="reverse")(X),
    "in a loop": lambda f: wg.grad(lambda x: wg.sum(wg.fori_loop(0, 2, lambda i, c: f(c), x)))(X),
    "in a compiled loop": lambda f: wg.function(wg.grad(lambda x: wg.sum(wg.fori_loop(0, 2, lambda i, c: f(c), x))))(X),
    "in a branch": lambda f: wg.grad(wg.function(lambda x: wg.sum(wg.cond(x[0] > 0, lambda: f(x), lambda: x))))(X),
    "recomputed": lambda f: wg.grad(lambda x: wg.sum(wg.recompute_grad(f)(x)))(X),
}
FORWARD: dict[str, Callable[[Any], Any]] = {
    "direction": lambda f: wg.jvp(f, (X,), (X,)),
    "of a function": lambda f: wg.jvp(wg.function(f), (X,), (X,)),
    "in a function": lambda f: wg.function(lambda x: wg.jvp(f, (x,), (x,)))(X),
    "linear part": lambda f: wg.linearize(f, X)[1](X),
    "all directions": lambda f: wg.jacobian(f, mode="forward")(X),
}


@pytest.mark.parametrize("way", REVERSE)
@pytest.mark.parametrize("name", WRITTEN)
def test_what_the_vjp_of_a_primitive_returns_is_looked_at(name: str, way: str) -> None:
    text = message(REVERSE[way], RULED[name])
    assert text.startswith(f"the vjp of ruled by {name} gave NaN"), text
    assert __file__ in text


@pytest.mark.parametrize("way", FORWARD)
def test_what_the_jvp_of_a_primitive_returns_is_looked_at(way: str) -> None:
    text = message(FORWARD[way], RULED["a constant"])
    assert text.startswith("the jvp of ruled by a constant gave NaN"), text
    assert __file__ in text


@pytest.mark.parametrize("way", ["gradient", "inside a function", "around a function", "in a compiled loop"])
def test_what_a_registered_gradient_returns_is_looked_at(way: str) -> None:
    assert message(REVERSE[way], registered).startswith(
        "the registered gradient of with a registered gradient gave NaN"
    )


def test_what_a_batch_rule_returns_is_looked_at() -> None:
    assert message(lambda: wg.vmap(batching)(np.ones((2, 3)))).startswith(
        "the batch rule of with a batch rule gave NaN"
    )


@pytest.mark.parametrize("way", ["of a batch", "row by row", "in a compiled loop"])
def test_what_a_custom_gradient_returns_is_looked_at_in_batches(way: str) -> None:
    doubled = wg.custom_gradient(lambda x: (x * 2, lambda upstream: np.full(x.shape, np.nan)))
    assert message(REVERSE[way], doubled).startswith("the gradient function of <lambda> gave NaN")


def test_what_a_solver_returns_is_looked_at() -> None:
    root = wg.custom_root(lambda x, a: x * x - a, lambda f, x0, a: np.nan)
    assert message(lambda: root(1.0, 2.0)).startswith("the solver of <lambda> gave NaN")


def test_rules_that_are_not_used_are_no_finding() -> None:
    f = RULED["a constant"]
    with wg.debug_nans():
        wg.vmap(f)(np.ones((2, 3)))
        wg.function(lambda x: wg.cond(x[0] > 9, lambda: f(x), lambda: x))(X)
        wg.grad(wg.function(lambda x: wg.sum(wg.cond(x[0] > 9, lambda: f(x), lambda: x))))(X)
    assert "in the gradient of eigh" in message(lambda x: wg.jvp(f, (x,), (np.ones((2, 2)),)), np.eye(2))
