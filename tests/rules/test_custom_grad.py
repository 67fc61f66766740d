"""`custom_grad`: TensorFlow.js's customGrad, as docs/semantics/custom_gradients.md has it, in eager and traced
programs."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.modes import every_way, mapped, pushed


@wg.custom_grad
def square_abs(x: Any, save: Any) -> Any:
    save([x])
    return {"value": x * x, "grad_func": lambda dy, saved: dy * abs(saved[0])}


@every_way
def test_the_example(derive: Any) -> None:
    x = np.array([-1.0, -2.0, 3.0])
    assert square_abs(x).tolist() == [1.0, 4.0, 9.0]
    assert derive(square_abs)(x).tolist() == [1.0, 2.0, 3.0]


@every_way
def test_zh_examples(derive: Any) -> None:
    a = np.array([0.0, -1.0, 1.0, 2.0])
    assert square_abs(a).tolist() == [0.0, 1.0, 1.0, 4.0]  # g gives the value
    assert derive(square_abs)(a).tolist() == [0.0, 1.0, 1.0, 2.0]

    def cube(a: Any, save: Any) -> Any:
        save(a)
        return a * a * a, lambda dy, saved: dy * abs(saved[0])

    a = np.array([0.0, -1.0, 2.0, -2.0, 0.3], np.float32)
    assert wg.custom_grad(cube)(a).tolist() == [0.0, -1.0, 8.0, -8.0, np.float32(0.3) ** 3]
    assert derive(wg.custom_grad(cube))(a).tolist() == np.abs(a).tolist()


@every_way
def test_a_bare_tensor_and_a_list(derive: Any) -> None:
    tenth = wg.custom_grad(lambda x, save: (x * x, lambda dy: 0.1 * dy))
    assert derive(lambda x: 4.0 * tenth(x))(3.0) == 0.4  # dy carries upstream factors
    pair = wg.custom_grad(lambda x, y, save: (x * y, lambda dy, saved: [5.0 * dy, 7.0 * dy]))
    assert derive(pair, argnums=(0, 1))(3.0, 4.0) == (5.0, 7.0)
    assert derive(lambda x: pair(x, x))(3.0) == 12.0


@every_way
def test_saved_is_a_sequence_in_the_order_of_save(derive: Any) -> None:
    seen = []

    def check(*expected: float) -> Any:
        def grad_func(dy: Any, saved: Any) -> Any:
            seen.append(len(saved))
            assert isinstance(saved, list)
            assert not hasattr(saved, "x")
            return sum((s for s in saved), start=0.0 * dy) * dy

        return grad_func

    def saving(*saves: Any) -> Any:
        def f(x: Any, save: Any) -> Any:
            for s in saves:
                save(s(x)) if not isinstance(s(x), tuple) else save(*s(x))
            return x * x, check()

        return wg.custom_grad(f)

    assert derive(saving())(3.0) == 0.0
    assert derive(saving(lambda x: [x, 2.0 * x]))(3.0) == 9.0
    assert derive(saving(lambda x: (x, 2.0 * x, x)))(3.0) == 12.0
    assert derive(saving(lambda x: [x, x, x], lambda x: x))(3.0) == 3.0  # the second call replaces the first
    assert sorted(set(seen)) == [0, 1, 2, 3]


def test_save_outside_of_differentiation_keeps_nothing() -> None:
    references = []

    @wg.custom_grad
    def f(x: Any, save: Any) -> Any:
        kept = wg.exp(x)
        references.append(weakref.ref(kept))
        assert save([kept]) is None
        holder.append(save)
        return x * x, lambda dy, saved: dy

    holder: list[Any] = []
    f(3.0)
    gc.collect()
    assert references[0]() is None
    wg.grad(f)(3.0)
    assert references[1]() is not None


@every_way
def test_save_takes_tensors_only(derive: Any) -> None:
    for what in (3, [3], "x", [None]):
        f = wg.custom_grad(lambda x, save, what=what: (save(what), (x, lambda dy: dy))[1])
        for call in (f, derive(f)):
            with pytest.raises(TypeError, match="save: wanted tensors"):
                call(2.0)


@every_way
def test_closures_work_and_save_keeps_intermediates(derive: Any) -> None:
    def closed(x: Any, save: Any) -> Any:
        e = wg.exp(x)
        return e, lambda dy: dy * e

    def saved(x: Any, save: Any) -> Any:
        e = wg.exp(x)
        save([e])
        return e, lambda dy, saved: dy * saved[0]

    assert derive(wg.custom_grad(closed))(0.0) == 1.0
    assert derive(wg.custom_grad(saved))(0.0) == 1.0


def test_what_f_is_and_returns_is_checked() -> None:
    with pytest.raises(TypeError, match="must be callable, got int"):
        wg.custom_grad(3)
    grad_func = lambda dy: dy
    for returned, says in [
        ({"grad_func": grad_func}, "value and a callable grad_func"), ({"value": 3.0}, "grad_func"),
        ({"value": 3.0, "grad_func": 5}, "grad_func"), ((3.0,), "pair"), ((3.0, 4.0), "pair"), (3.0, "pair"),
        (("a", grad_func), "one tensor"), (((3.0, 4.0), grad_func), "one tensor"),
        (({"a": 1.0}, grad_func), "one tensor"),
    ]:  # fmt: skip
        f = wg.custom_grad(lambda x, save, returned=returned: returned)
        for call in (f, wg.grad(f), wg.function(f)):
            with pytest.raises(TypeError, match=says):
                call(2.0)


@every_way
def test_what_the_backward_function_returns_is_checked(derive: Any) -> None:
    for returned, error, says in [
        (lambda dy: [dy], ValueError, "1 gradient"), (lambda dy: [dy, dy, dy], ValueError, "3 gradients"),
        (lambda dy: dy, ValueError, "wanted 2"), (lambda dy: [dy, "a"], TypeError, "not an array"),
        (lambda dy: [dy, wg.tensor([1.0, 2.0])], ValueError, r"shape \(2,\), wanted \(\)"),
        (lambda dy: [dy, np.int32(1)], TypeError, "int32"),
    ]:  # fmt: skip
        f = wg.custom_grad(lambda x, y, save, returned=returned: (x * y, returned))
        # also the gradient of an input that nobody asked for
        for argnums in ((0, 1), 0):
            with pytest.raises(error, match=says):
                derive(f, argnums=argnums)(3.0, 4.0)
    nothing = wg.custom_grad(lambda x, y, save: (x * y, lambda dy: [None, 7.0]))
    assert derive(nothing, argnums=(0, 1), unconnected_gradients="zero")(3.0, 4.0) == (0.0, 7.0)


@every_way
def test_a_value_that_is_the_input_is_not_counted_twice(derive: Any) -> None:
    f = wg.custom_grad(lambda x, save: (x, lambda dy: 9.0 * dy))
    assert derive(f)(3.0) == 9.0


@every_way
def test_second_order_through_inputs_intermediates_and_constants(derive: Any) -> None:
    def by(what: Any) -> Any:
        def f(x: Any, save: Any) -> Any:
            square = x * x
            save(x, square)
            return x * x * x, lambda dy, saved: what(dy, x, *saved)

        return wg.custom_grad(f)

    for what, first, second in [
        (lambda dy, x, s, q: 5.0 * dy * s, 15.0, 5.0), (lambda dy, x, s, q: 5.0 * dy * x, 15.0, 5.0),
        (lambda dy, x, s, q: dy * q, 9.0, 6.0), (lambda dy, x, s, q: dy * 4.0, 4.0, 0.0),
    ]:  # fmt: skip
        assert derive(by(what))(3.0) == first
        assert derive(wg.grad(by(what)), unconnected_gradients="zero")(3.0) == second


@every_way
def test_captured_tensors_that_are_differentiated_are_refused(derive: Any) -> None:
    def f(x: Any, w: Any) -> Any:
        return wg.custom_grad(lambda x, save: (x * w, lambda dy: dy))(x) + w

    with pytest.raises(wg.DisconnectedError, match="depends on w "):
        derive(f, argnums=(0, 1))(2.0, 5.0)
    assert derive(f)(2.0, 5.0) == 1.0


def test_no_inputs_and_kinds_of_results() -> None:
    f = wg.custom_grad(lambda save: (wg.tensor(3.0), lambda dy: []))
    assert f().item() == 3.0
    assert wg.grad(lambda x: x * f())(2.0) == 3.0
    assert isinstance(square_abs(wg.tensor([1.0])), wg.Tensor)
    assert isinstance(square_abs([1.0, 2.0]), np.ndarray)
    assert square_abs(3) == 9


@every_way
def test_ways_to_pass_save_and_saved(derive: Any) -> None:
    for f in (
        lambda x, *, save: (save(x), (x * x, lambda dy, *, saved: dy * saved[0]))[1],
        lambda x, keep: (keep(x), (x * x, lambda *both: both[0] * both[1][0]))[1],
        lambda *args: (args[-1](args[0]), (args[0] ** 2, lambda dy, s: dy * s[0]))[1],
        lambda x: (x * x, lambda dy: dy * x),
    ):
        assert derive(wg.custom_grad(f))(3.0) == 3.0


def test_a_method() -> None:
    class Layer:
        @wg.custom_grad
        def apply(self, x: Any, save: Any) -> Any:
            save(x)
            return x * x, lambda dy, saved: dy * saved[0]

    assert Layer().apply(3.0) == 9.0
    assert wg.grad(Layer().apply)(3.0) == 3.0


def test_forward_mode_and_batches() -> None:
    x = np.array([-1.0, -2.0, 3.0])
    assert pushed(square_abs, (x,), (np.ones(3),)).tolist() == [1.0, 2.0, 3.0]
    assert wg.grad(lambda x: wg.sum(mapped(square_abs, x)))(x).tolist() == [1.0, 2.0, 3.0]


def test_variables_that_are_differentiated_are_refused() -> None:
    w = wg.Variable(5.0, name="w")
    f = wg.custom_grad(lambda x, save: (x * w, lambda dy: 2.0 * dy))
    assert wg.grad(f)(3.0) == 2.0
    with pytest.raises(TypeError, match="the Variable w"):
        wg.variable_grads(lambda: f(wg.tensor(3.0)) + w)


@every_way
def test_what_is_captured_and_differentiated_is_an_error(derive: Any) -> None:
    def held(a: Any) -> Any:
        return wg.custom_grad(lambda x, save: (x * a, lambda dy: 10 * dy))(2.0)

    with pytest.raises(wg.DisconnectedError, match="depends on a "):
        derive(lambda a: held(a) + a)(5.0)
    with pytest.raises(wg.DisconnectedError):
        derive(held)(5.0)
