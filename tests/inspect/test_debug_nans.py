"""`debug_nans`: the op that makes the first NaN or infinity, forward and backward, with the user's line."""

from __future__ import annotations

import functools
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
    assert "in the gradient of eigh" in message(lambda x: wg.jvp(f, (x,), (np.ones((2, 2)),)), np.eye(2))
