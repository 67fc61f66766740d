"""The functional gradients: what TensorFlow.js promises and does, and what our own interface says.

What a decision of ours (docs/semantics/decisions.md) overrides is tested in our form; the test says so. Its custom
gradients are tested with ours.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import gc
import math
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.optimize

import wengert as wg
from wengert._core.op import elementwise_type, not_differentiable
from wengert._core.state import STATE
from wengert.ops.promotion import as_tensor


def square(x):
    return x * x


def cube(x):
    return x**3


def product(a, b):
    return a * b


def equal(got, want):
    np.testing.assert_array_equal(got, want)


def close(got, want, rtol=1e-12):
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-14)


# -- grad ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [wg.grad, wg.value_and_grad, wg.grads, wg.value_and_grads, wg.variable_grads])
@pytest.mark.parametrize("f", [3, "f", None, [square]])
def test_f_must_be_callable(wrap, f):
    """Rejected when wrapping, not at the call."""
    with pytest.raises(TypeError, match=f"{wrap.__name__}.*callable, got {type(f).__name__}"):
        wrap(f)


def test_a_gradient_function_can_be_called_again():
    g = wg.grad(square)
    assert callable(g)
    close(g(np.array([0.1, 0.2])), [0.2, 0.4])
    close(g(np.array([0.1, 0.4])), [0.2, 0.8])


def test_the_examples():
    x = np.array([2.0, 3.0])
    equal(wg.grad(square)(x), [4, 6])
    equal(wg.grad(cube)(x), [12, 27])
    equal(wg.grad(wg.grad(cube))(x), [12, 18])
    equal(wg.grad(lambda x: x ** np.int32(3))(x), [12, 27])


def test_arguments_may_be_numbers_and_lists():
    equal(wg.grad(square)([2, 3]), [4, 6])
    assert wg.grad(square)(3) == 6.0
    with pytest.raises(TypeError, match="x: wanted an array to differentiate with respect to, got NoneType"):
        wg.grad(square)(None)


def test_dy_weights_the_result():
    x = np.array([2.0, 3.0])
    for dy in (np.array([10.0, 100.0]), [10.0, 100.0], [10, 100], wg.tensor([10.0, 100.0])):
        equal(np.asarray(wg.grad(square)(x, dy=dy)), [40, 600])
    assert wg.grad(square)(3.0) == 6
    assert wg.grad(square)(3.0, dy=None) == 6


@pytest.mark.parametrize("dy", [[5.0], [1.0, 2.0, 3.0], 10.0, [[1.0, 2.0]]])
@pytest.mark.parametrize("wrap", [wg.grad, wg.value_and_grad])
def test_dy_has_exactly_the_shape_of_the_result(wrap, dy):
    """Decision 8, before any work."""
    x = np.array([2.0, 3.0])
    with pytest.raises(ValueError, match="dy has shape") as caught:
        wrap(square)(x, dy=dy)
    assert str(np.shape(dy)) in str(caught.value)
    assert "(2,)" in str(caught.value)
    assert wrap.__name__ in str(caught.value)


def test_dy_is_real_for_real_and_complex_for_complex():
    """Decision 8, the kind is checked and the dtype cast."""
    x = np.array([2.0, 3.0], np.float32)
    g = wg.grad(square)(x, dy=np.array([1, 2]))
    assert g.dtype == np.float32
    equal(g, [4, 12])
    for dy in (np.array([1j, 2]), np.array([True, False])):
        with pytest.raises(TypeError, match="dy has dtype"):
            wg.grad(square)(x, dy=dy)
    with pytest.raises(TypeError, match="dy has dtype"):
        wg.grad(square)(x.astype(complex), dy=np.array([1.0, 2.0]))


@pytest.mark.parametrize(
    ("result", "said"),
    [(lambda x: [x], "list"), (lambda x: None, "NoneType"), (lambda x: (x, x), "has_aux"), (lambda x: "y", "str")],
)
def test_f_returns_one_tensor(result, said):
    with pytest.raises(TypeError, match="f must return one tensor") as caught:
        wg.grad(result)(2.0)
    assert said in str(caught.value)


@pytest.mark.parametrize("result", [3, 3.0, np.ones(2), np.float32(1)])
def test_a_plain_number_is_a_constant(result):
    """Overridden by the interface (a number counts as a constant, so nothing reaches it)."""
    with pytest.raises(wg.DisconnectedError, match="does not depend differentiably on x"):
        wg.grad(lambda x: result)(2.0)
    assert wg.grad(lambda x: result, unconnected_gradients="zero")(2.0) == 0


def test_several_inputs_go_through_grads():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        wg.grad(product)(2.0)


def test_f_encloses_the_operations():
    """Never None, always an error that says why."""
    x = wg.tensor([2.0, 3.0])
    y = x * x
    with pytest.raises(wg.DisconnectedError, match=r"not depend differentiably on x: f does not use it"):
        wg.grad(lambda x: y)(x)


# -- grads, value_and_grad, value_and_grads ------------------------------------------------------------------

A, B = np.array([2.0, 3.0]), np.array([-2.0, -3.0])


def test_grads_in_order():
    found = wg.grads(lambda a, b, c: a * b * c)([2.0, 3.0, 4.0])
    assert isinstance(found, list)
    assert found == [12, 8, 6]
    da, db = wg.grads(product)([A, B])
    equal(da, [-2, -3])
    equal(db, [2, 3])
    (only,) = wg.grads(square)([np.array([0.1, 0.2])])
    close(only, [0.2, 0.4])


@pytest.mark.parametrize("wrap", [wg.grads, wg.value_and_grads])
def test_grads_with_dy(wrap):
    found = wrap(product)([A, B], dy=[10.0, 100.0])
    da, db = found.grads if wrap is wg.value_and_grads else found
    equal(da, [-20, -300])
    equal(db, [20, 300])
    with pytest.raises(ValueError, match="dy has shape"):
        wrap(product)([A, B], dy=[10.0])


@pytest.mark.parametrize("wrap", [wg.grads, wg.value_and_grads])
def test_grads_takes_a_list(wrap):
    """Numbers are welcome everywhere."""
    with pytest.raises(TypeError, match="wanted a list or tuple of f's arguments, got float"):
        wrap(square)(3.0)
    with pytest.raises(TypeError, match="got ndarray"):
        wrap(square)(A)
    with pytest.raises(ValueError, match="list of arguments is empty"):
        wrap(square)([])
    found = wrap(product)([2, [3, 4]])
    da, db = found.grads if wrap is wg.value_and_grads else found
    assert da == 7
    equal(db, [2, 2])


def test_every_input_of_grads_must_be_connected():
    with pytest.raises(wg.DisconnectedError, match="differentiably on b"):
        wg.grads(lambda a, b: a * 2)([1.0, 2.0])
    assert wg.grads(lambda a, b: a * 2, unconnected_gradients="none")([1.0, 2.0]) == [2.0, None]


def test_value_and_grad_is_a_named_pair():
    """Numbers are welcome, too."""
    result = wg.value_and_grad(square)(A)
    assert result._fields == ("value", "grad")
    value, gradient = result
    equal(value, [4, 9])
    equal(gradient, [4, 6])
    equal(wg.value_and_grad(square)([2, 3]).grad, [4, 6])
    equal(wg.value_and_grad(square)(A, dy=[10.0, 100.0]).grad, [40, 600])


def test_value_and_grad_agrees_with_grad():
    """x² e^x at 1."""
    f = lambda x: x * x * wg.exp(x)
    assert wg.grad(f)(1.0) == wg.value_and_grad(f)(1.0).grad
    close(wg.grad(f)(1.0), 3 * math.e)


def test_value_and_grads_is_a_named_pair():
    result = wg.value_and_grads(product)([A, B])
    assert result._fields == ("value", "grads")
    equal(result.value, [-4, -9])
    assert isinstance(result.grads, list)
    for mine, other in zip(result.grads, wg.grads(product)([A, B]), strict=True):
        equal(mine, other)


def test_the_names_exist():
    for name in ("custom_grad", "variable_grads", "value_and_grad", "value_and_grads", "grad", "grads"):
        assert callable(getattr(wg, name))
        assert name in wg.__all__


# -- variable_grads ------------------------------------------------------------------------------------------


def test_variable_grads_example():
    """The value is 36."""
    a, b = wg.Variable([3.0, 4.0], name="a"), wg.Variable([5.0, 6.0], name="b")
    x = wg.tensor([1.0, 2.0])
    result = wg.variable_grads(lambda: wg.sum(a * x * x + b * x))
    assert result._fields == ("value", "grads")
    assert result.value.item() == 36
    assert list(result.grads) == ["a", "b"]
    equal(result.grads["a"].numpy(), [1, 4])
    equal(result.grads[b].numpy(), [1, 2])
    assert a in result.grads
    assert wg.Variable(1.0, name="c") not in result.grads
    assert result.grads.get(wg.Variable(1.0, name="d"), "default") == "default"


def test_default_list_holds_all_trainable_variables():
    tr, nt = wg.Variable(3.0, name="tr"), wg.Variable(2.0, name="nt", trainable=False)
    idle = wg.Variable(1.0, name="idle")
    grads = wg.variable_grads(lambda: square(nt * tr)).grads
    assert list(grads) == ["tr"]
    assert grads["tr"].item() == 24
    assert idle.trainable


def test_explicit_list_restricts_and_shows_the_non_trainable():
    """A Variable listed twice counts once."""
    a, b = wg.Variable(2.0, name="a"), wg.Variable(3.0, name="b")
    assert {k: v.item() for k, v in wg.variable_grads(lambda: a * b, [b, b]).grads.items()} == {"b": 2}
    nt = wg.Variable(2.0, name="nt", trainable=False)
    grads = wg.variable_grads(lambda: square(nt * b), [nt, b]).grads
    assert list(grads) == ["b", "nt"]
    assert grads["b"].item() == 24
    assert grads["nt"] is None


@pytest.mark.parametrize("shape", [(1,), (2,), (1, 1)])
def test_variable_grads_wants_a_scalar(shape):
    a = wg.Variable(np.ones(shape), name="a")
    with pytest.raises(ValueError, match="must return a scalar, but it returned shape") as caught:
        wg.variable_grads(lambda: a * 2)
    assert str(shape) in str(caught.value)


def test_variable_grads_without_trainable_variables():
    gc.collect()
    nt = wg.Variable(2.0, trainable=False)
    with pytest.raises(ValueError, match="none of the 1 Variables is trainable"):
        wg.variable_grads(lambda: nt * nt, [nt])
    with pytest.raises(ValueError, match="none of the 0 Variables is trainable"):
        wg.variable_grads(lambda: nt * nt, [])


def test_variable_grads_unconnected():
    """Found before the scalar check; integers are constants (decision 2)."""
    a, b = wg.Variable(2.0, name="a"), wg.Variable(3.0, name="b")
    assert list(wg.variable_grads(lambda: a * a, [a, b]).grads) == ["a"]
    with pytest.raises(ValueError, match="no trainable Variable is connected"):
        wg.variable_grads(lambda: wg.tensor([1.0, 2.0]), [a, b])
    n = wg.Variable(3, name="n")
    with pytest.raises(ValueError, match="no trainable Variable is connected"):
        wg.variable_grads(lambda: n * 2.0, [n])


@pytest.mark.parametrize("var_list", ["a", [1], [None], 3, [np.ones(2)]])
def test_var_list_holds_variables_only(var_list):
    keep = wg.Variable(1.0)
    with pytest.raises(TypeError, match="var_list must be a list of Variables"):
        wg.variable_grads(lambda: keep * 2, var_list)


def test_two_variables_of_one_name():
    """The map could hold only one of them."""
    a, b = wg.Variable(1.0, name="w"), wg.Variable(2.0, name="w")
    with pytest.raises(ValueError, match="two Variables are named 'w'"):
        wg.variable_grads(lambda: a * b)
    assert wg.variable_grads(lambda: a * b, [a]).grads["w"].item() == 2


def test_f_may_return_a_variable():
    a = wg.Variable(5.0, name="a")
    result = wg.variable_grads(lambda: a)
    assert (result.value.item(), result.grads["a"].item()) == (5, 1)


def test_default_names():
    """In our form: Variable, Variable_1, ...; a given name is kept. In a process where no test has made Variables."""
    program = """
import wengert as wg
first, second = wg.Variable(1.0), wg.Variable(1.0)
given = wg.Variable(1.0, name="mine")
print(first.name, second.name, given.name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Variable", "Variable_1", "mine"]


def test_a_step_of_descent():
    """w = 4, rate 0.1 on w²: the loss is 16 and w becomes 3.2."""
    w = wg.Variable(4.0, name="w")
    loss, grads = wg.variable_grads(lambda: w * w)
    w.assign_sub(0.1 * grads[w])
    assert loss.item() == 16
    close(w.numpy(), 3.2)


def test_a_variable_read_before_and_after_an_assignment():
    """In our form: values are per tensor, and the gradient of a Variable sums over its reads."""
    w = wg.Variable(3.0, name="w")

    def f():
        first = w * w
        w.assign(10.0)
        return first + w * w

    value, grads = wg.variable_grads(f)
    assert (value.item(), grads["w"].item()) == (109, 26)
    assert w.numpy() == 10
    w.assign(3.0)
    g = wg.grad(lambda x: f())
    with pytest.raises(wg.DisconnectedError):
        g(w)


# -- connected or not ----------------------------------------------------------------------------------------


def test_f_returning_its_argument():
    """In our form: decision 4, the gradient is dy."""
    x = np.array([1.0, 2.0])
    equal(wg.grad(lambda x: x)(x), [1, 1])
    equal(wg.grad(lambda x: x)(x, dy=[3.0, 4.0]), [3, 4])
    equal(wg.grad(lambda x: +x)(x), [1, 1])
    result = wg.value_and_grad(lambda x: x)(x)
    equal(result.value, x)
    assert not np.shares_memory(result.value, x)
    assert not np.shares_memory(result.grad, x)


def test_second_derivative_of_a_linear_function_is_zero():
    """In our form: decision 3."""
    assert wg.grad(wg.grad(lambda x: 3 * x))(2.0) == 0
    equal(wg.grad(lambda x: wg.sum(wg.grad(lambda t: t * 5)(x)))(A), [0, 0])
    assert wg.grad(wg.grad(wg.grad(lambda x: x * x)))(2.0) == 0


def test_what_the_inner_value_does_not_depend_on_stays_disconnected():
    """Decision 3: the gradient counts as connected to what the value is connected to, and to nothing else."""
    with pytest.raises(wg.DisconnectedError):
        wg.grad(lambda a: wg.grad(lambda x: x * 3)(2.0))(1.0)
    assert wg.grad(lambda a: wg.grad(lambda x: x * 3 + a)(2.0))(1.0) == 0


def test_every_leaf_has_an_identity_of_its_own():
    """In our form: decision 7."""
    x = np.array([1.0, 2.0])
    equal(wg.grad(lambda t: t * x)(x), x)
    t = wg.tensor(x)
    equal(wg.grad(lambda u: u * t)(t).numpy(), x)
    both = wg.grads(lambda a, b: a * b * b)([np.float64(3), np.float64(3)])
    assert both == [9, 18]
    shared = np.array(3.0)
    assert wg.grads(lambda a, b: a * b * b)([shared, shared]) == [9, 18]


@pytest.mark.parametrize("x", [np.array([2, 3]), np.array([True]), wg.tensor([1, 2]), np.array(3), True, [True, False]])
def test_integers_are_not_differentiated(x):
    """In our form: decisions 2 and 12."""
    with pytest.raises(TypeError, match="cannot differentiate with respect to"):
        wg.grad(square)(x)


@pytest.mark.parametrize("x", [3, np.int64(3), np.uint8(3)])
def test_integer_numbers_count_as_floats(x):
    assert wg.grad(square)(x) == 6
    assert wg.hvp(square, x, x) == 6
    assert wg.vjp(square, x)[1](np.int64(1))[0] == 6
    assert wg.jvp(square, (x,), (np.int64(1),))[1] == 6
    assert wg.hessian(square)(x) == 2


MIXED = {
    "x": 2.0,
    "fast": True,
    "name": "a",
    "none": None,
    "rest": ...,
    "f": len,
    "flags": [True, False],
    "b": np.True_,
}


def test_leaves_that_are_not_numeric_pass_through_gradients():
    seen = []

    def f(p):
        seen.append({k: v for k, v in p.items() if k != "x"})
        return p["x"] ** 3 if p["fast"] else p["x"]

    none = dict.fromkeys(MIXED)
    assert wg.grad(f)(MIXED) == none | {"x": 12.0}
    assert wg.hvp(f, MIXED, MIXED) == none | {"x": 24.0}
    assert wg.hvp(f, MIXED, wg.grad(f)(MIXED)) == none | {"x": 144.0}
    assert wg.vjp(f, MIXED)[1](1.0) == (none | {"x": 12.0},)
    assert wg.check_gradients(f, MIXED).checked
    assert all(
        s["name"] == "a" and s["fast"] is True and np.asarray(s["flags"]).tolist() == [True, False] for s in seen
    )


def test_a_cast_to_integer_cuts():
    """In our form: decision 2; the message names the cast and its line."""
    with pytest.raises(wg.DisconnectedError) as caught:
        wg.grad(lambda x: wg.astype(wg.astype(x, "int64"), "float64"))(2.5)
    text = str(caught.value)
    assert "convert gives int64 values, which are constants to a gradient" in text
    assert 'wg.grad(lambda x: wg.astype(wg.astype(x, "int64"), "float64"))' in text


def test_an_op_without_gradient_on_the_path():
    """An error on the path, of no consequence beside it."""
    lost = not_differentiable(
        "lost", "x", type=elementwise_type("lost", None, "inexact"), batch=None, registry={}, doc="x, for this test"
    )
    kernels = wg._core.engine.ENGINES["numpy"].kernels
    kernels["lost"] = lambda x: x + 0
    try:
        with pytest.raises(LookupError, match="no gradient is defined for the op lost"):
            wg.grad(lambda x: lost(x) * 2)(3.0)
        assert wg.grad(lambda x: x * x * wg.stop_gradient(lost(x)))(3.0) == 18
        assert wg.grad(lambda x: (lost(x), x * x)[1])(3.0) == 6
    finally:
        del kernels["lost"]


@pytest.mark.parametrize("f", [np.floor, np.ceil, np.round, np.trunc, np.sign, np.rint, lambda x: x // 0.7])
def test_steps_are_connected_with_gradient_zero(f):
    """Decision 2."""
    equal(wg.grad(lambda x: f(x))(np.array([0.2, 1.5, -2.0])), [0, 0, 0])
    equal(wg.grad(lambda x: f(x) * x)(np.array([0.2, 1.6])), f(np.array([0.2, 1.6])))


def test_integer_results_are_constants():
    """Decision 2."""
    with pytest.raises(wg.DisconnectedError, match="argmax gives int64 values"):
        wg.grad(lambda x: np.argmax(x) * 1.0)(A)
    with pytest.raises(wg.DisconnectedError, match=r"has dtype bool|gives bool values"):
        wg.grad(lambda x: x > 0)(2.0)


def test_broadcasting_is_undone():
    da, db = wg.grads(product)([2.0, np.array([3.0, 4.0])])
    assert da == 7
    equal(db, [2, 2])
    da, db = wg.grads(product)([np.ones((3, 1)), np.array([3.0, 4.0])])
    equal(da, [[7], [7], [7]])
    equal(db, [3, 3])


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, wg.TracingError])
def test_an_exception_in_f_leaves_nothing_open(error):

    def f(x):
        y = x * x
        raise error("stop")
        return y

    with pytest.raises(error, match="stop"):
        wg.grad(f)(2.0)
    assert STATE.recorders == ()
    assert STATE.builder is None
    assert wg.grad(square)(2.0) == 4


KINKS = [
    (np.abs, [-1.0, 0.0, 2.0], [-1, 0, 1]),
    (np.sign, [-1.0, 0.0, 2.0], [0, 0, 0]),
    (np.max, [3.0, 3.0, 1.0], [0.5, 0.5, 0]),
    (np.min, [3.0, 1.0, 1.0], [0, 0.5, 0.5]),
    (lambda x: np.where(x > 0, np.sqrt(x), 0.0), [-1.0, 0.0, 4.0], [0, 0, 0.25]),
    (lambda x: np.where(x > 0, np.log(x), 0.0), [0.0, 2.0], [0, 0.5]),
]


@pytest.mark.parametrize(("f", "x", "want"), KINKS)
def test_kinks(f, x, want):
    """In our form: decisions 23 and 24."""
    equal(wg.grad(f)(np.array(x)), want)


def test_unused_results_of_an_op_have_zero_cotangents():
    x = np.array([1.0, 2.0, 3.0])
    equal(wg.grad(lambda x: np.split(x, 3)[1] * 2)(x), [0, 2, 0])
    equal(wg.grad(lambda x: wg.ops.unstack(x)[1] * 2)(x), [0, 2, 0])
    equal(wg.grad(lambda x: np.take(x, [0, 0, 2]))(x), [2, 0, 1])


def test_python_control_flow():
    """The path that ran is differentiated; .item() cuts."""

    def until_large(y):
        while y < 100:
            y = y * y
        return y

    assert wg.value_and_grad(until_large)(2.0) == (256, 1024)
    assert wg.grad(lambda x: x * x.item())(3.0) == 3
    with pytest.raises(wg.DisconnectedError, match=r"Tensor.item\(\) takes the numbers out"):
        wg.grad(lambda x: x.item() * 2.0)(3.0)


def test_intermediates_may_be_dropped_in_f():

    def f(x):
        y = x * x
        z = y * x
        del y
        gc.collect()
        return z

    assert wg.grad(f)(2.0) == 12


def test_results_print_like_numpy():
    """In float64: 0.3³ is 0.027."""
    assert str(wg.grad(square)(A)) == "[4. 6.]"
    assert str(wg.grad(square)(wg.tensor(A))) == "[4. 6.]"
    assert repr(wg.tensor([0.3]) ** 3) == "Tensor([0.027], shape=(1,), dtype=float64)"


# -- higher orders -------------------------------------------------------------------------------------------


def test_higher_orders():
    assert wg.grad(wg.grad(wg.grad(cube)))(2.0) == 6
    mixed = wg.grad(wg.grad(lambda a, b: a * a * b, argnums=0), argnums=1)
    assert mixed(3.0, 2.0) == 6
    assert wg.grad(lambda x: wg.grad(square)(x, dy=x))(3.0) == 12
    assert wg.grad(lambda x: wg.value_and_grad(cube)(x).grad)(2.0) == 12
    w = wg.Variable(2.0, name="w")
    assert wg.grad(lambda x: wg.variable_grads(lambda: w * x * x, [w]).grads["w"])(2.0) == 4


SECOND = [
    ("tanh", lambda x: -2 * np.tanh(x) * (1 - np.tanh(x) ** 2)),
    ("exp", np.exp),
    ("sigmoid", lambda x: (s := 1 / (1 + np.exp(-x))) * (1 - s) * (1 - 2 * s)),
    ("sqrt", lambda x: -0.25 * x**-1.5),
    ("rsqrt", lambda x: 0.75 * x**-2.5),
    ("log", lambda x: -(x**-2)),
    ("sin", lambda x: -np.sin(x)),
    ("cos", lambda x: -np.cos(x)),
    ("sinh", np.sinh),
    ("cosh", np.cosh),
    ("reciprocal", lambda x: 2 * x**-3),
    ("square", lambda x: 2 * np.ones_like(x)),
]


@pytest.mark.parametrize(("name", "second"), SECOND, ids=[n for n, _ in SECOND])
def test_second_derivatives(name, second):
    """In our form: rules that use their result work at every order, too."""
    x = np.array([0.3, 0.7, 1.9])
    f = getattr(wg.ops, name)
    close(wg.grad(wg.grad(f))(x), second(x), rtol=1e-11)
    assert np.all(np.isfinite(wg.grad(wg.grad(wg.grad(f)))(x)))


@pytest.mark.parametrize("f", [np.max, np.prod, np.cumprod, wg.ops.logsumexp])
def test_second_derivatives_of_reductions(f):
    wg.check_gradients(lambda x: f(x) * f(x * x), np.array([0.3, 0.9, 1.7]), order=2)


def test_mixed_partials_commute():
    f = lambda a, b: np.sin(a * b) * np.exp(b)
    ab = wg.grad(wg.grad(f, argnums=0), argnums=1)(0.7, 0.4)
    ba = wg.grad(wg.grad(f, argnums=1), argnums=0)(0.7, 0.4)
    close(ab, ba)


def test_gradients_inside_gradients_do_not_mix():
    """Perturbation confusion: d/dx (x * d/dy (x + y)) is 1."""
    assert wg.grad(lambda x: x * wg.grad(lambda y: x + y)(1.0))(1.0) == 1
    assert wg.grad(lambda x: x * wg.grad(lambda y: x * y)(2.0))(3.0) == 6


# -- our own interface ---------------------------------------------------------------------------------------


def test_has_aux():
    x = np.array([1.0, 2.0])

    def f(x):
        return np.sum(x * x), {"double": x * 2, "name": "n", "count": 3, "pair": (x, None)}

    gradient, aux = wg.grad(f, has_aux=True)(x)
    equal(gradient, [2, 4])
    assert type(aux["double"]) is np.ndarray
    equal(aux["double"], [2, 4])
    assert aux["double"].flags.writeable
    assert (aux["name"], aux["count"]) == ("n", 3)
    equal(aux["pair"][0], x)
    assert not np.shares_memory(aux["pair"][0], x)
    (value, aux), gradient = wg.value_and_grad(f, has_aux=True)(x)
    assert (value, aux["count"]) == (5, 3)
    equal(gradient, [2, 4])
    _, aux = wg.grad(f, has_aux=True)(wg.tensor(x))
    assert type(aux["double"]) is wg.Tensor


@pytest.mark.parametrize("result", [lambda x: x, lambda x: (x, x, x), lambda x: [x, x]])
def test_has_aux_wants_a_pair(result):
    with pytest.raises(TypeError, match="f must return a pair"):
        wg.grad(result, has_aux=True)(1.0)


def test_aux_of_an_inner_gradient_is_differentiated():
    def outer(x):
        _, aux = wg.grad(lambda t: (t * t, t * t * t), has_aux=True)(x)
        return aux

    assert wg.grad(outer)(2.0) == 12


def f3(a, b, c):
    return np.sum(a * b * b * c**3)


@pytest.mark.parametrize(
    ("argnums", "want"),
    [(0, 9.0 * 8), (1, 2 * 5.0 * 3 * 8), (2, 5.0 * 9 * 3 * 4), (-1, 5.0 * 9 * 3 * 4), (np.int64(1), 240.0),
     ((0,), (72.0,)), ((0, 2), (72.0, 540.0)), ((2, 0), (540.0, 72.0)), ([0, -2], (72.0, 240.0))],
)  # fmt: skip
def test_argnums(argnums, want):
    assert wg.grad(f3, argnums=argnums)(5.0, 3.0, 2.0) == want


@pytest.mark.parametrize(
    ("argnums", "error"),
    [("0", TypeError), (1.0, TypeError), (None, TypeError), ((), ValueError), ((0, 0), ValueError), (3, ValueError),
     (-4, ValueError)],
)  # fmt: skip
def test_bad_argnums(argnums, error):
    with pytest.raises(error, match="argnums"):
        wg.grad(f3, argnums=argnums)(5.0, 3.0, 2.0)


def test_keyword_arguments_arrive():
    def f(x, *, scale, name="n"):
        assert type(scale) is wg.Tensor or isinstance(scale, float)
        assert name == "m"
        return np.sum(x * scale)

    equal(wg.grad(f)(A, scale=np.array([2.0, 5.0]), name="m"), [2, 5])
    equal(wg.grad(f)(A, scale=2.0, name="m"), [2, 2])


def test_f_with_its_own_dy():
    """The keyword goes to f; gradient functions keep theirs."""
    f = lambda x, dy: x * dy
    assert wg.grad(f)(3.0, dy=5.0) == 5
    g = wg.grad(lambda x: wg.grad(square)(x))
    assert g(3.0, dy=2.0) == 4
    assert wg.grad(wg.grad(cube))(2.0, dy=10.0) == 120


class Layer(NamedTuple):
    w: Any
    b: Any


@dataclasses.dataclass
class Model:
    layers: list[Any]
    name: str
    rate: Any = None


class Box:
    def __init__(self, content, label):
        self.content, self.label = content, label


with contextlib.suppress(ValueError):
    wg.tree.register(Box, lambda b: ((b.content,), b.label), lambda label, c: Box(c[0], label))


def test_structures():
    w, b = np.arange(6.0).reshape(2, 3), np.ones(3)
    cases: list[Any] = [
        ({"w": w, "b": b, "note": "text", "no": None}, lambda p: (p["w"], p["b"])),
        ([w, b, "text"], lambda p: (p[0], p[1])),
        ((w, b), lambda p: (p[0], p[1])),
        (Layer(w, b), lambda p: (p.w, p.b)),
        (Model([w, {"b": b}], "m"), lambda p: (p.layers[0], p.layers[1]["b"])),
        (Box([w, b], "label"), lambda p: (p.content[0], p.content[1])),
        (collections.OrderedDict(w=w, b=b), lambda p: (p["w"], p["b"])),
    ]
    for params, parts in cases:

        def loss(p, parts=parts):
            weight, bias = parts(p)
            assert type(weight) is wg.Tensor
            return np.sum(weight * weight * bias)

        found = wg.grad(loss)(params)
        assert type(found) is type(params)
        gw, gb = parts(found)
        equal(gw, 2 * w)
        equal(gb, np.sum(w * w, axis=0))


def test_leaves_that_are_not_numeric_have_gradient_none():
    params = {"w": 2.0, "name": "n", "nothing": None, "f": square}
    found = wg.grad(lambda p: p["f"](p["w"]) if p["name"] == "n" else 0.0)(params)
    assert found == {"w": 4.0, "name": None, "nothing": None, "f": None}
    model = wg.grad(lambda m: m.layers[0] * 3)(Model([2.0, "s"], "m"))
    assert (model.layers[1], model.name, model.rate) == (None, None, None)


def test_disconnected_leaf_is_named():
    params = {"w1": 2.0, "b2": 1.0}
    with pytest.raises(wg.DisconnectedError, match=r"on params\['b2'\]: f does not use it"):
        wg.grad(lambda params: params["w1"] * 2)(params)
    with pytest.raises(wg.DisconnectedError, match=r"on p\.b:"):
        wg.grad(lambda a, p: a * p.w, argnums=(0, 1))(1.0, Layer(1.0, 2.0))
    found = wg.grad(lambda p: p["w1"] * 2, unconnected_gradients="zero")(params)
    assert found == {"w1": 2, "b2": 0}
    found = wg.grad(lambda p: p["w1"] * 2, unconnected_gradients="none")(params)
    assert found == {"w1": 2, "b2": None}


def test_unknown_option():
    with pytest.raises(ValueError, match="unknown value for unconnected_gradients: 'maybe'"):
        wg.grad(square, unconnected_gradients="maybe")


# -- kinds of arrays -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
def test_numpy_in_numpy_out(order):
    """Fresh, writable, C-contiguous, never an alias of an input."""
    x = np.array([[1.0, 2.0], [3.0, 4.0]], order=order)
    y = np.array([[5.0, 6.0], [7.0, 8.0]], order=order)
    functions = [square, lambda x: x, lambda x: x * y, lambda x: np.transpose(x), lambda x: np.reshape(x, 4),
                 lambda x: x + y, lambda x: np.broadcast_to(np.sum(x), (2, 2)), lambda x: np.sum(x)]  # fmt: skip
    for f in functions:
        value, gradient = wg.value_and_grad(f)(x)
        for array in (value, gradient):
            if np.ndim(array) == 0:
                assert type(array) is np.float64
                continue
            assert type(array) is np.ndarray
            assert array.flags.writeable
            assert array.flags.c_contiguous
            assert not np.shares_memory(array, x)
            assert not np.shares_memory(array, y)
        assert not np.shares_memory(value, gradient)


def test_dy_is_not_handed_back():
    x, dy = np.ones(3), np.arange(3.0)
    gradient = wg.grad(lambda x: x)(x, dy=dy)
    equal(gradient, dy)
    assert not np.shares_memory(gradient, dy)
    da, db = wg.grads(lambda a, b: a + b)([x, x], dy=dy)
    assert not np.shares_memory(da, db)
    assert not np.shares_memory(da, dy)


def test_tensor_in_tensor_out():
    t = wg.tensor([1.0, 2.0])
    for found in (wg.grad(square)(t), wg.value_and_grad(square)(t).value, wg.grads(product)([t, A])[1],
                  wg.grad(product)(A, t), wg.grad(square)(wg.Variable([1.0, 2.0])),
                  wg.grad(lambda p: np.sum(p["a"] * 2))({"a": t})["a"], wg.grad(square)(A, dy=t)):  # fmt: skip
        assert type(found) is wg.Tensor


def test_python_numbers_give_numpy_scalars():
    for x in (3, 3.0, np.float64(3)):
        found = wg.value_and_grad(square)(x)
        assert (type(found.value), type(found.grad)) == (np.float64, np.float64)
        assert found == (9, 6)


def test_what_f_sees():
    def f(x, array, number, count, text, none, function, nested):
        assert type(x) is type(array) is wg.Tensor
        assert (type(number), type(count), text, none) == (float, int, "s", None)
        assert function is square
        assert type(nested["a"]) is wg.Tensor
        assert nested["n"] == 2
        return x * array * number * count * nested["a"]

    assert wg.grad(f)(1.0, np.float64(2), 3.0, 4, "s", None, square, {"a": np.float64(5), "n": 2}) == 120


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128", "bfloat16"])
def test_gradients_have_the_dtype_of_their_argument(dtype):
    dtype = wg._core.dtypes.as_dtype(dtype)
    x = np.array([1.0, 2.0]).astype(dtype)
    gradient = wg.grad(lambda x: np.sum(np.abs(x) ** 2))(x)
    assert gradient.dtype == dtype
    equal(gradient.astype(np.complex128), [2, 4])
    double = np.array([3.0, 4.0])
    real = lambda x: np.sum(np.abs(x * double))
    assert wg.grad(real)(x).dtype == dtype


def test_arguments_of_different_dtypes():
    single, double = np.float32([1, 2]), np.array([3.0, 4.0])
    da, db = wg.grads(product)([single, double])
    assert (da.dtype, db.dtype) == (np.float32, np.float64)


# -- complex -------------------------------------------------------------------------------------------------


def test_complex_gradients_ascend():
    """Decision 15: |z|² gives 2z, Re z gives 1, Im z gives i; z² with dy."""
    z = np.array([1 + 2j, -3 + 0.5j])
    close(wg.grad(lambda z: np.sum(np.abs(z) ** 2))(z), 2 * z)
    close(wg.grad(lambda z: np.real(z))(z), [1, 1])
    close(wg.grad(lambda z: np.imag(z))(z), [1j, 1j])
    dy = np.array([1 - 1j, 2j])
    close(wg.grad(square)(z, dy=dy), dy * np.conj(2 * z))
    close(wg.grad(lambda z: np.abs(z) ** 2)(3 + 4j), 6 + 8j)


def test_complex_results_need_dy():
    for wrap in (wg.grad, wg.value_and_grad):
        with pytest.raises(TypeError, match="f returned complex values"):
            wrap(square)(1 + 2j)
    with pytest.raises(TypeError, match="f returned complex values"):
        wg.grads(product)([1 + 2j, 2.0])
    z = wg.Variable(1 + 2j, name="z")
    with pytest.raises(TypeError, match="must return a real scalar"):
        wg.variable_grads(lambda: z * z)


def test_a_real_argument_of_a_complex_function():
    x = np.array([0.5, 2.0])
    close(wg.grad(lambda x: np.real(np.exp(1j * x)))(x), -np.sin(x))


# -- company -------------------------------------------------------------------------------------------------


def test_scipy_minimize():
    def rosenbrock(x):
        a, b = np.split(x, 2)
        return np.sum((1 - a) ** 2 + 100 * (b - a * a) ** 2)

    result = scipy.optimize.minimize(wg.value_and_grad(rosenbrock), np.array([-1.2, 1.0]), jac=True)
    close(result.x, [1, 1], rtol=1e-4)


def test_a_variable_as_argument_arrives_as_its_value():
    """Decision 7."""
    w = wg.Variable([1.0, 2.0], name="w")

    def f(x):
        assert type(x) is wg.Tensor
        return x * x * w

    gradient = wg.grad(f)(w)
    assert type(gradient) is wg.Tensor
    equal(gradient.numpy(), [2, 8])


def test_names_of_gradient_functions():
    assert wg.grad(square).__name__ == "grad(square)"
    assert wg.value_and_grad(square).__name__ == "value_and_grad(square)"


def test_constants_are_constants():
    assert as_tensor(3.0)._weak
    assert wg.grad(lambda x: x * wg.stop_gradient(x))(3.0) == 3
    with pytest.raises(wg.DisconnectedError, match="stop_gradient stops the gradient"):
        wg.grad(lambda x: wg.stop_gradient(x) * 2)(3.0)


# -- names, cuts in compiled functions, ownership --------------------------------------------------


def test_messages_call_arguments_as_f_does():
    def loss(params, scale):
        return np.sum(params["w1"] ** 2) * scale

    params = {"w1": np.ones(2), "b2": np.ones(2)}
    with pytest.raises(wg.DisconnectedError, match=r"on params\['b2'\]: f does not use it"):
        wg.grad(loss)(params, 2.0)
    with pytest.raises(wg.DisconnectedError, match=r"on params\['b2'\]"):
        wg.grads(loss)([params, 2.0])
    with pytest.raises(wg.DisconnectedError, match=r"on params\['b2'\]"):  # the gradient's argument is f's
        wg.grad(wg.value_and_grad(loss, unconnected_gradients="zero"), has_aux=True)(params, 2.0)
    with pytest.raises(TypeError, match=r"params\['n'\]: cannot differentiate with respect to .* int64"):
        wg.grad(loss)({**params, "n": np.array([1])}, 2.0)
    with pytest.raises(wg.DisconnectedError, match=r"on args\[1\]"):
        wg.grad(lambda *args: args[0], argnums=1)(1.0, 2.0)


def test_one_argument_cannot_be_named_twice():
    with pytest.raises(ValueError, match="names one of the 2 arguments twice"):
        wg.grad(lambda a, b: a * b, argnums=(0, -2))(1.0, 2.0)


def to_int_and_back(x):
    whole = wg.astype(x, "int32")
    return wg.astype(whole, "float64") * 2


@pytest.mark.parametrize("transform", [
    lambda f: wg.grad(f), lambda f: wg.grad(wg.function(f)), lambda f: wg.function(wg.grad(f)),
    lambda f: wg.grad(lambda x: wg.function(f)(x * 2.0) * 3.0), lambda f: wg.grad(wg.grad(wg.function(f))),
])  # fmt: skip
def test_a_cut_is_told_with_its_line_in_every_mode(transform):
    with pytest.raises(wg.DisconnectedError, match="convert gives int32 values.*\n.*wg.astype\\(x, .int32.\\)"):
        transform(to_int_and_back)(np.array([1.5]))


def test_a_custom_gradient_of_none_is_told():
    @wg.custom_gradient
    def blind(x):
        return x * x, lambda upstream: None

    with pytest.raises(wg.DisconnectedError, match="the custom gradient of blind gives None"):
        wg.grad(lambda x: blind(x) * 2)(1.0)


def test_results_of_one_call_share_no_memory():
    x, held = np.ones(3), wg.tensor(np.arange(3.0))
    a, b = wg.grad(lambda a, b: a + b, argnums=(0, 1))(x, x)
    c = wg.grad(lambda p: p["u"] + p["v"])({"u": x, "v": x})

    def twice(x):
        y = x * 2
        return y, (y, [y, held])

    (y, (y1, (y2, outer))), g = wg.value_and_grad(twice, has_aux=True)(x)
    for first, second in [(a, b), (c["u"], c["v"]), (y, y1), (y1, y2), (y, g), (outer, held.numpy())]:
        assert not np.shares_memory(first, second)
        assert first.flags.writeable


def test_a_variable_as_dy_makes_the_results_tensors():
    assert type(wg.grad(square)(np.ones(2), dy=wg.Variable([1.0, 2.0]))) is wg.Tensor


# -- complex values in every mode ------------------------------------------------------------------

REAL_ONLY = {
    "relu": wg.nn.relu, "sigmoid": wg.sigmoid, "softmax": wg.nn.softmax, "logsumexp": wg.special.logsumexp,
    "maximum": lambda z: wg.maximum(z, 1.0), "clip": lambda z: wg.clip(z, 0, 1), "median": wg.ops.median,
    "softsign": wg.ops.softsign, "silu": wg.ops.silu, "erf": wg.special.erf, "soft_shrink": wg.ops.soft_shrink,
}  # fmt: skip


@pytest.mark.parametrize("name", REAL_ONLY)
@pytest.mark.parametrize("mode", [lambda f: f, wg.function, lambda f: wg.grad(lambda z: np.sum(np.real(f(z))))])
def test_functions_of_real_values_refuse_complex_ones_in_every_mode(name, mode):
    with pytest.raises(TypeError, match="complex128, wanted|complex numbers have no order"):
        mode(REAL_ONLY[name])(np.array([1 + 2j, 3 - 1j]))


@pytest.mark.parametrize("f", [
    np.exp, np.log, np.sqrt, np.sin, np.cos, np.tan, np.tanh, np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arccosh,
    np.arctanh, np.sinh, np.cosh, np.square, np.reciprocal, np.conj, np.log1p, np.expm1, np.sinc, np.cumprod, np.prod,
    lambda z: z**3, lambda z: z**0.5, lambda z: np.power(1 + 2j, z), lambda z: np.power(z, z), lambda z: z / (z + 2j),
    np.abs, np.angle, np.real, np.imag, lambda z: np.linalg.solve(np.outer(z, z) + np.eye(3) * 4, z), np.var,
    lambda z: np.linalg.norm(z) * z, lambda z: np.einsum("i,j->ij", z, np.conj(z)),
])  # fmt: skip
def test_complex_gradients_are_the_wirtinger_differences(f):
    z = np.array([0.4 + 0.7j, -0.8 + 0.3j, -0.5 - 1.1j])
    weights = np.exp(1j * np.arange(9.0))

    def loss(z):
        out = f(z)
        return np.sum(np.real(np.conj(weights[: out.size].reshape(out.shape)) * out))

    h, found = 1e-4, wg.grad(loss)(z)
    for i in range(3):
        for unit, part in ((1, found[i].real), (1j, found[i].imag)):
            e = np.zeros(3, complex)
            e[i] = unit
            difference = (8 * (loss(z + h * e) - loss(z - h * e)) - loss(z + 2 * h * e) + loss(z - 2 * h * e)) / (
                12 * h
            )
            assert part == pytest.approx(difference, rel=1e-7, abs=1e-8)
    close(wg.function(wg.grad(loss))(z), found)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_gradients_through_complex_numbers_keep_the_real_dtype(dtype):
    r = wg.tensor([1.0, 2.0], dtype=dtype)
    for f in (lambda r: np.sum(np.real(wg.ops.polar(r, r) ** 2)), lambda r: np.sum(np.abs(r + 1j))):
        found = wg.grad(f)(r)
        assert found.dtype == r.dtype
        close(found.numpy().astype(float), wg.grad(f)(np.array([1.0, 2.0])), rtol=5e-2)
