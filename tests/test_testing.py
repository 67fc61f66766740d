"""`check_gradients` passes what is right, catches what is wrong, and says where."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._core.engine import ENGINES
from wengert._core.op import elementwise, elementwise_type, general
from wengert._core.state import STATE
from wengert._prims.structural import fill, mul, times_number
from wengert.testing import EVERY_ENTRY, GradientCheck


@pytest.fixture
def kernels():
    """NumPy's kernels, to which a test may add."""
    table = ENGINES["numpy"].kernels
    before = dict(table)
    yield table
    for name in table.keys() - before.keys():
        del table[name]


def declared(kernels, name, kernel, partial):
    kernels[name] = kernel
    return elementwise(name, "x", partials=partial, registry={})


# -- what is right passes ------------------------------------------------------------------------------------


def test_counts_every_comparison():
    x = np.array([0.5, 1.0, 2.0])
    assert wg.check_gradients(np.sin, x, order=1, modes="reverse").checked == 3
    assert wg.check_gradients(np.sin, x, order=1).checked == 6
    assert wg.check_gradients(np.sin, x).checked == 6 + 4 * 3
    assert wg.check_gradients(np.sin, x, order=3, modes=["forward"]).checked == 9
    result = wg.check_gradients(np.sin, x)
    assert isinstance(result, GradientCheck)
    assert 0 <= result.largest_error < 1e-9


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (np.log, [1e-6, 1.0, 1e6]),
        (lambda x: np.sin(1000 * x), [0.3, 1.0]),
        (lambda x: np.exp(x) * 1e12, [0.3, -2.0]),
        (lambda x: np.exp(x) * 1e-12, [0.3, -2.0]),
        (lambda x: np.sum(np.sqrt(x)) + 1e3, [1e-3, 4.0]),
        (lambda x: x * 0.0, [1.0, 2.0]),
        (lambda x: x, [0.0, 0.0]),
        (lambda x: np.sum(x), [[1.0, 2.0], [3.0, 4.0]]),
        (lambda x: np.floor(x) * x, [0.5, 1.5]),
        (lambda x: np.outer(x, x), [0.5, 1.5]),
        (lambda x: np.sum(np.tanh(x) ** 2), []),
    ],
)
def test_right_functions_pass(f, x):
    wg.check_gradients(f, np.array(x))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_every_dtype(dtype):
    dtype = wg._core.dtypes.as_dtype(dtype)
    x = np.array([0.5, 1.25, 2.0]).astype(dtype)
    if dtype.kind == "c":
        x = x * (1 + 0.5j)
    wg.check_gradients(lambda x: np.sin(x) * x, x)
    wg.check_gradients(lambda x: np.sum(np.abs(x) ** 2), x)


def test_a_function_that_insists_on_single_precision():
    """Where the argument cannot be widened the differences are taken in its own dtype."""

    def f(x):
        assert x.dtype == np.float32
        return np.sin(x)

    wg.check_gradients(f, np.float32([0.5, 1.0]))
    wg.check_gradients(lambda x: wg.astype(np.sin(x), "float32"), np.array([0.5, 1.0]), order=1)


def test_complex_results_and_directions():
    z = np.array([0.5 + 1j, -1 + 0.25j])
    assert wg.check_gradients(lambda z: z * z, z, order=1, modes="reverse").checked == 4
    wg.check_gradients(lambda z: np.exp(z) / z, z)
    wg.check_gradients(lambda a, z: a * z, 1.5, 2 - 1j)


@dataclasses.dataclass
class Params:
    w: Any
    b: Any
    name: str


def test_structures_and_arguments_passed_through():
    def f(params, n, text, flags, scale):
        assert (n, text, flags.tolist()) == (3, "s", [1, 2])  # a list of numbers is an array
        assert params.name == "net"
        out = {"a": np.sum(params.w * params.b["x"]) ** n * scale, "count": 3, "text": text, "int": wg.tensor([1, 2])}
        return out, [params.w]

    params = Params(np.array([[1.0, 0.5], [0.25, 2.0]]), {"x": 0.5, "k": np.array([1, 2])}, "net")
    assert wg.check_gradients(f, params, 3, "s", [1, 2], 2.0, order=1, modes="reverse").checked == 6
    wg.check_gradients(f, params, 3, "s", [1, 2], 2.0, order=2)


def test_tensors_variables_and_lists():
    w = wg.Variable([1.0, 2.0])
    assert wg.check_gradients(lambda a, b, c: a * b * c, wg.tensor([0.5, 1.5]), w, [3.0, 4.0], order=1).checked == 12
    assert w.numpy().tolist() == [1, 2]


def test_many_entries_are_sampled():
    x = np.linspace(-1, 1, EVERY_ENTRY["reverse"] + 1)
    calls = []

    def f(x):
        calls.append(1)
        return np.sum(np.tanh(x) ** 2)

    checked = wg.check_gradients(f, x, order=1).checked
    assert 64 < checked < 100
    assert len(calls) < 1000


def test_gradient_functions_and_traced_functions():
    x = np.array([0.5, 1.0])
    wg.check_gradients(wg.grad(lambda x: np.sum(np.sin(x) * x)), x)
    wg.check_gradients(wg.function(lambda x: np.exp(x) * x), x)


# -- what is wrong is caught ---------------------------------------------------------------------------------


def test_a_wrong_rule_is_shown_in_a_table(kernels):
    wrong = declared(kernels, "wrong_square", lambda x: x * x, lambda x: times_number(x, number=3))

    def loss(params):
        return np.sum(wrong(params["w"])) + np.sum(params["b"] ** 2)

    params = {"w": np.array([[1.0, 2.0], [0.0, -4.0]]), "b": np.array([1.0])}
    with pytest.raises(wg.GradientCheckError) as caught:
        wg.check_gradients(loss, params)
    first, header, *rows = str(caught.value).splitlines()
    assert first.startswith("check_gradients: the reverse derivative of f disagrees with finite differences in 3 of 5")
    assert header.split() == ["entry", "analytic", "numeric", "difference"]
    found = [re.split(r"  +", row.strip()) for row in rows[:3]]
    assert [cells[0] for cells in found] == ["params['w'][1, 1]", "params['w'][0, 1]", "params['w'][0, 0]"]
    numbers = np.array([[float(c) for c in cells[1:]] for cells in found])
    np.testing.assert_allclose(numbers, [[-12, -8, -4], [6, 4, 2], [3, 2, 1]], rtol=1e-6)
    assert rows[3].startswith("  at ")
    assert "tests/test_testing.py" in rows[3]
    assert "wg.check_gradients(loss, params)" in rows[3]
    assert issubclass(wg.GradientCheckError, AssertionError)


def test_long_tables_are_cut(kernels):
    wrong = declared(kernels, "wrong_many", lambda x: x * x, lambda x: x)
    with pytest.raises(wg.GradientCheckError, match=r"(?s)x\[49\].*and 30 more"):
        wg.check_gradients(lambda x: np.sum(wrong(x)), np.arange(1.0, 51.0))


def test_each_mode_is_checked(kernels):
    kernels["one_sided"] = lambda x: x * x
    options: Any = {"type": elementwise_type("one_sided", None, "inexact"), "batch": None, "registry": {}}
    op = general(
        "one_sided", "x", vjp=(lambda ct, x: mul(ct, times_number(x, number=2)),), jvp=lambda x, x_dot: mul(x, x_dot),
        **options,
    )  # fmt: skip
    x = np.array([1.0, 2.0])
    wg.check_gradients(lambda x: op(x), x, order=1, modes=("reverse",))
    with pytest.raises(wg.GradientCheckError, match="the forward derivative of f disagrees"):
        wg.check_gradients(lambda x: op(x), x, order=1)


def test_the_second_order_is_checked(kernels):
    """Right slope, but written so that its own slope is lost."""
    wrong = declared(kernels, "flat_slope", lambda x: x * x, lambda x: wg.stop_gradient(times_number(x, number=2)))
    x = np.array([1.0, 2.0])
    wg.check_gradients(lambda x: wrong(x), x, order=1)
    with pytest.raises(wg.GradientCheckError, match="the reverse derivative of the reverse derivative of f disagrees"):
        wg.check_gradients(lambda x: wrong(x), x)


def test_a_wrong_custom_gradient():
    @wg.custom_gradient
    def f(x):
        return x * x, lambda upstream: upstream * x * 3

    with pytest.raises(wg.GradientCheckError, match=r"reverse derivative of f disagrees .* in 2 of 2"):
        wg.check_gradients(f, np.array([1.0, 2.0]))


def test_a_lost_part_of_the_gradient():
    with pytest.raises(wg.GradientCheckError, match="in 1 of 2"):
        wg.check_gradients(lambda x, y: x * wg.stop_gradient(y) + y * 0.0, 2.0, 3.0)


def test_one_wrong_entry_of_many(kernels):
    """In a sample random directions see what no sampled entry shows."""
    places = np.zeros(EVERY_ENTRY["reverse"] + 100)
    places[17] = 1.0
    wrong = declared(kernels, "wrong_at_17", lambda x: x, lambda x: fill(x, 1) + places)
    with pytest.raises(wg.GradientCheckError, match="random direction"):
        wg.check_gradients(lambda x: np.sum(wrong(x)), np.ones(places.size), order=1)


def test_complex_entries_are_named_by_direction(kernels):
    wrong = declared(kernels, "wrong_complex", lambda x: x * x, lambda x: times_number(x, number=2j))
    with pytest.raises(wg.GradientCheckError, match=r"(?s)z\[0\]\.(real|imag).*z\[0\]\.(real|imag)"):
        wg.check_gradients(lambda z: wrong(z), np.array([1 + 2j]))


def test_a_kink_disagrees():
    with pytest.raises(wg.GradientCheckError, match=r"x\[1\] +0 +0\.5"):
        wg.check_gradients(lambda x: np.sum(np.where(x > 0, x, 0.0)), np.array([1.0, 0.0]))


def test_tolerances(kernels):
    close = declared(kernels, "nearly", lambda x: x * x, lambda x: times_number(x, number=2.0002))
    x = np.array([1.0, 2.0])
    with pytest.raises(wg.GradientCheckError):
        wg.check_gradients(lambda x: close(x), x, order=1)
    wg.check_gradients(lambda x: close(x), x, order=1, rtol=1e-3)
    wg.check_gradients(lambda x: close(x), x, order=1, atol=1e-2)
    with pytest.raises(wg.GradientCheckError):
        wg.check_gradients(lambda x: close(x), x, order=1, rtol=0.0, atol=1e-5)


# -- errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [[-1.0, 4.0], [0.0, 1.0]])
def test_values_that_are_not_finite(x):
    with np.errstate(all="ignore"), pytest.raises(wg.GradientCheckError, match=r"the result\[0\] of f is (nan|-inf)"):
        wg.check_gradients(np.log, np.array(x))


def test_a_gradient_that_is_not_finite():
    with np.errstate(all="ignore"), pytest.raises(wg.GradientCheckError, match=r"x\[0\] +-?inf"):
        wg.check_gradients(np.sqrt, np.array([0.0, 1.0]))


def test_bad_calls():
    x = np.array([1.0])
    with pytest.raises(TypeError, match="must be callable, got int"):
        wg.check_gradients(3, x)
    with pytest.raises(TypeError, match="no argument of f is floating"):
        wg.check_gradients(lambda n: n, "3")
    with pytest.raises(TypeError, match="no argument of f is floating"):
        wg.check_gradients(lambda: 1.0)
    with pytest.raises(TypeError, match="f must return floating tensors, got"):
        wg.check_gradients(lambda x: x > 0, x)
    with pytest.raises(TypeError, match="f must return floating tensors, got NoneType"):
        wg.check_gradients(lambda x: None, x)
    with pytest.raises(ValueError, match="unknown mode 'backward'"):
        wg.check_gradients(np.sin, x, modes=("backward",))
    with pytest.raises(ValueError, match="modes is empty"):
        wg.check_gradients(np.sin, x, modes=())
    for order in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="order must be an integer"):
            wg.check_gradients(np.sin, x, order=order)


@pytest.mark.parametrize("x", [3, np.int64(3), [3, 4], np.array([3, 4]), wg.tensor([3, 4]), {"a": 3, "b": [1, 2]}])
def test_integers_alone_count_as_floats(x):
    square = lambda t: sum(wg.sum(v * v) for v in t.values()) if isinstance(t, dict) else wg.sum(t * t)
    assert wg.check_gradients(square, x).checked >= 2


def test_integers_beside_floats_are_passed_on():
    assert wg.check_gradients(lambda x, n: x[n] ** n, np.array([1.0, 2.0, 3.0]), 2).checked
    with pytest.raises(TypeError, match="no argument of f is floating"):
        wg.check_gradients(lambda x: x, True)


def test_an_exception_in_f_comes_through():
    def f(x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        wg.check_gradients(f, 1.0)
    assert STATE.recorders == ()
