"""`GradientTape`: what docs/semantics/tape.md promises, value by value, and
tapes in functions, around functions, nested, interleaved, interrupted and used 10,000 times."""

from __future__ import annotations

import gc
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import growth_of_calls, uncollected
from tests.support.threads import in_threads
from wengert._core.state import STATE
from wengert._core.tensor import Tensor


@pytest.fixture(autouse=True)
def nothing_left_open():
    yield
    assert STATE.recorders == () and STATE.reading == () and STATE.builder is None


def numbers(gradient):
    """Gradients as plain numbers, in their structure."""
    return wg.tree.map(lambda g: g.numpy().tolist() if isinstance(g, Tensor) else g, gradient)


def taped(f, *values, persistent=False):
    """(tape, sources, f of them), the sources watched."""
    xs = [wg.tensor(v) for v in values]
    with wg.GradientTape(persistent) as tape:
        tape.watch(xs)
        y = f(*xs)
    return tape, xs, y


# -- what is watched, and when a tape may be asked ---------------------------------------------------------------------


def test_what_is_watched_in_time_has_a_gradient():
    tape, (x,), y = taped(lambda x: x * x, 3.0)
    assert tape.gradient(y, x).item() == 6
    x = wg.tensor(3.0)
    with wg.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x) is None
    with wg.GradientTape() as tape:
        y = x * x
        tape.watch(x)
    assert tape.gradient(y, x) is None


def test_one_question_for_each_recording():
    tape, (x,), y = taped(lambda x: x * x, 3.0)
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="not persistent can be asked once"):
        tape.gradient(y, x)
    with pytest.raises(RuntimeError):
        tape.jacobian(y, x)
    with pytest.raises(RuntimeError):
        wg.GradientTape().gradient(y, x)


def test_asking_inside_stops_recording():
    x = wg.tensor(3.0)
    with wg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        assert tape.gradient(y, x).item() == 6
        assert STATE.recorders == ()
        z = y * x
        with pytest.raises(RuntimeError):
            tape.gradient(z, x)


def test_persistent():
    x = wg.tensor(3.0)
    with wg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert tape.gradient(z, x).item() == 108
    assert tape.gradient(y, x).item() == 6
    assert tape.gradient(z, y).item() == 18


def test_persistent_inside_is_recorded():
    x = wg.tensor(3.0)
    with wg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * x
        with pytest.warns(RuntimeWarning, match="inside the context"):
            first = tape.gradient(y, x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = tape.gradient(y, x)
        second = tape.gradient(first, x)
        z = y * 2.0  # and recording goes on
    assert (first.item(), again.item(), second.item()) == (27, 27, 18)
    assert tape.gradient(second, x).item() == 6
    assert tape.gradient(z, x).item() == 54


def test_entering_again():
    x = wg.tensor(3.0)
    with wg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with tape:
        z = y * y
    assert tape.gradient(z, x).item() == 108
    with tape:
        tape.watch(x)
        y = x * 5.0
    assert tape.gradient(y, x).item() == 5


def test_active_tape_cannot_be_entered():
    with wg.GradientTape() as tape:
        with pytest.raises(ValueError, match="still recording"), tape:
            pass
        assert len(STATE.recorders) == 1


# -- targets, sources, cotangents --------------------------------------------------------------------------------------


def test_targets_that_are_constants_or_sources():
    tape, (x,), y = taped(lambda x: x * x, 3.0, persistent=True)
    with pytest.raises(TypeError, match="target"):
        tape.gradient(None, x)
    with pytest.raises(TypeError, match="str"):
        tape.gradient("y", x)
    for constant in (wg.tensor(3), wg.tensor(True), 2.0, np.ones(3)):
        assert tape.gradient(constant, x) is None
    assert tape.gradient(x, x).item() == 1


def test_a_target_that_is_an_unwatched_source():
    x = wg.tensor(3.0)
    with wg.GradientTape(persistent=True) as tape:
        pass
    assert tape.gradient(x, x) is None
    assert tape.gradient(x, x, unconnected_gradients="zero").item() == 0


@dataclass
class Parameters:
    w: Tensor
    b: Tensor


def test_structures():
    w, b, c = wg.tensor([1.0, 2.0]), wg.tensor(3.0), wg.tensor(5.0)
    with wg.GradientTape(persistent=True) as tape:
        tape.watch({"w": w, "rest": (b, [c])})
        y, z = w * b, b * b
    found = tape.gradient({"y": y, "z": [z]}, {"w": w, "rest": (b, [c])})
    assert numbers(found) == {"w": [3, 3], "rest": (3 + 6, [None])}
    found = tape.gradient(y, Parameters(w, b))
    assert isinstance(found, Parameters) and found.b.item() == 3
    assert tape.gradient(y, []) == []
    assert tape.gradient([], [w]) == [None]
    assert tape.gradient([y, y], b).item() == 6
    twice = tape.gradient(y, (b, b))
    assert numbers(twice) == (3, 3)


def test_targets_that_depend_on_each_other():
    x = wg.tensor(3.0)
    with wg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        y1 = y * y
        y2 = y1 * y1
    assert tape.gradient([y, y2], x).item() == 17502
    assert tape.gradient([y, y2], y).item() == 2917
    assert tape.gradient([x, y], x, [100.0, 1.0]).item() == 106


def test_output_gradients():
    tape, (x,), y = taped(lambda x: x * x, [3.0, 1.0], persistent=True)
    assert numbers(tape.gradient(y, x, output_gradients=[1.0, 10.0])) == [6, 20]
    assert numbers(tape.gradient(y, x, output_gradients=wg.tensor([1.0, 10.0]))) == [6, 20]
    assert numbers(tape.gradient(y, x, output_gradients=[wg.tensor([1.0, 10.0])])) == [6, 20]
    assert numbers(tape.gradient(y, x, output_gradients=np.array([1, 10]))) == [6, 20]
    assert tape.gradient(y, x, np.ones(2, np.float32)).dtype == np.float64


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (2.0, ValueError),  # TensorFlow broadcasts; decision 8 does not
        ([[1.0, 2.0]], ValueError),  # TensorFlow flattens; decision 8 does not
        ([1.0, 2.0, 3.0], ValueError), ([None], ValueError), (np.array([1j, 1j]), TypeError),
        (np.array([True, True]), TypeError), ("ones", TypeError),
    ],
)  # fmt: skip
def test_output_gradients_are_checked_decisions_8(given, error):
    tape, (x,), y = taped(lambda x: x * x, [3.0, 1.0])
    with pytest.raises(error, match="output_gradients"):
        tape.gradient(y, x, given)
    assert numbers(tape.gradient(y, x)) == [6, 2]  # an error before any work has not used the tape up


def test_output_gradients_of_several_targets_decisions_8():
    tape, (x,), (y, z) = taped(lambda x: (x * x, 5.0 * x), 3.0, persistent=True)
    assert tape.gradient([y, z], x, [2.0, 3.0]).item() == 27
    assert tape.gradient({"y": y, "z": (z,)}, x, {"y": 2.0, "z": (3.0,)}).item() == 27
    for short in ([2.0], [2.0, 3.0, 4.0], 2.0, [2.0, None], {"y": 2.0}, np.ones(2)):
        with pytest.raises(ValueError, match="output_gradients"):
            tape.gradient([y, z], x, short)  # TensorFlow pads with ones; decision 8 does not
    with pytest.raises(ValueError, match="structure"):
        tape.gradient(Parameters(y, z), x, {"w": 1.0})
    assert tape.gradient(Parameters(y, z), x, Parameters(2.0, 3.0)).item() == 27


def test_unconnected():
    x, other, integers = wg.tensor(3.0), wg.tensor(np.ones((2, 3), np.float32)), wg.tensor([1, 2])
    with wg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    for zero in ("zero", wg.UnconnectedGradients.ZERO):
        found = tape.gradient(y, [x, other, integers], unconnected_gradients=zero)
        assert numbers(found) == [6, [[0] * 3] * 2, [0, 0]]
        assert (found[1].dtype, found[2].dtype) == (np.float32, np.int64)
    assert tape.gradient(y, [other], unconnected_gradients=wg.UnconnectedGradients.NONE) == [None]
    for wrong in ("ZERO", None, "error", 1):
        with pytest.raises(ValueError, match="unknown value for unconnected_gradients"):
            tape.gradient(y, x, unconnected_gradients=wrong)


def test_sources_are_tensors_and_variables():
    tape, (x,), y = taped(lambda x: x * x, 3.0)
    for wrong in (3.0, np.ones(2), None, "x"):
        with pytest.raises(TypeError, match="sources"):
            tape.gradient(y, [x, wrong])
    assert tape.gradient(y, x).item() == 6


# -- watching ----------------------------------------------------------------------------------------------------------


def test_what_can_be_watched():
    with pytest.raises(AttributeError, match="not recording"):
        wg.GradientTape().watch(wg.tensor(1.0))
    with wg.GradientTape() as tape:
        for wrong in (1.0, np.ones(2), "x", None, [wg.tensor(1.0), 2.0]):
            with pytest.raises(ValueError, match="wanted Tensors and Variables"):
                tape.watch(wrong)
        with pytest.warns(RuntimeWarning, match="int64"):
            tape.watch(wg.tensor([1, 2]))


def test_watch_accessed_variables():
    v, w = wg.Variable(2.0), wg.Variable(3.0)
    with wg.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        y = v * v + w
    assert numbers(tape.gradient(y, [v, w])) == [4, None]
    fixed = wg.Variable(2.0, trainable=False)
    with wg.GradientTape() as tape:
        y = fixed * fixed
    assert tape.gradient(y, fixed) is None
    with wg.GradientTape() as tape:
        tape.watch(fixed)
        y = fixed * fixed
    assert tape.gradient(y, fixed).item() == 4


def test_watched_variables():
    a, b, c = wg.Variable(1.0), wg.Variable(2.0), wg.Variable(3.0)
    tape = wg.GradientTape()
    assert tape.watched_variables() == ()
    with tape:
        y = c * a
    assert [v is w for v, w in zip(tape.watched_variables(), (a, c), strict=True)] == [True, True]
    tape.gradient(y, a)
    assert len(tape.watched_variables()) == 2
    assert b not in tape.watched_variables()


def test_stop_recording():
    x = wg.tensor(3.0)
    with wg.GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            y = x * x
            assert not x.is_followed
        assert x.is_followed
    assert tape.gradient(y, x) is None
    with pytest.raises(RuntimeError, match="not recording"), wg.GradientTape().stop_recording():
        pass
    with wg.GradientTape() as tape:
        pass
    with pytest.raises(ValueError, match="not recording"), tape.stop_recording():
        pass


def test_gradient_while_stopped():
    x = wg.tensor(3.0)
    with wg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording(), warnings.catch_warnings():
            warnings.simplefilter("error")
            g = tape.gradient(y, x)
        z = y * g
    assert tape.gradient(z, x).item() == 36  # g is a constant


def test_variables_are_not_watched_while_stopped():
    v = wg.Variable(2.0)
    with wg.GradientTape() as tape:
        with tape.stop_recording():
            y = v * v
        assert tape.watched_variables() == ()
    assert tape.gradient(y, v) is None


def test_reset():
    x = wg.tensor(3.0)
    with wg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
        z = x * 3.0
        with tape.stop_recording():
            assert tape.gradient([y, z], x) is None
        tape.watch(x)
        z = x * 3.0 + y
    assert tape.gradient(z, x).item() == 3
    with pytest.raises(ValueError, match="not recording"):
        tape.reset()


# -- higher orders -----------------------------------------------------------------------------------------------------


def test_nested_tapes():
    x = wg.tensor(5.0)
    with wg.GradientTape() as outer:
        outer.watch(x)
        with wg.GradientTape() as inner:
            inner.watch(x)
            y = x * x
        first = inner.gradient(y, x)
    assert (first.item(), outer.gradient(first, x).item()) == (10, 2)
    with wg.GradientTape() as outer:
        outer.watch(x)
        with wg.GradientTape() as inner:
            inner.watch(x)
            y = x * x
    assert outer.gradient(inner.gradient(y, x), x) is None
    with wg.GradientTape() as outer:
        outer.watch(x)
        with wg.GradientTape() as inner:
            inner.watch(x)
            y = x * 3.0
        first = inner.gradient(y, x)
    assert outer.gradient(first, x) is None  # decision 3: the tape says None


def test_fifth_derivative():
    x = wg.tensor(2.0)
    tapes = [wg.GradientTape() for _ in range(5)]
    for tape in tapes:
        tape.__enter__()
        tape.watch(x)
    y = wg.exp(x * 2.0)
    for tape in reversed(tapes):
        y = tape.gradient(y, x)
        tape.__exit__(None, None, None)
    assert y.item() == pytest.approx(32 * np.exp(4.0), rel=1e-12)


def test_contexts_may_end_in_any_order():
    x = wg.tensor(3.0)
    first, second = wg.GradientTape(), wg.GradientTape()
    first.__enter__()
    second.__enter__()
    first.watch(x)
    second.watch(x)
    y = x * x
    assert first.gradient(y, x).item() == 6  # stops the outer one while the inner one records
    z = y * x
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert second.gradient(z, x).item() == 27


def test_tape_stopped_inside_a_functional_gradient_does_not_come_back():
    x = wg.tensor(3.0)
    with wg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        wg.grad(lambda a: a * tape.gradient(y, x))(2.0)
    assert STATE.recorders == ()


# -- Jacobians ---------------------------------------------------------------------------------------------------------


def test_jacobian():
    tape, (x,), y = taped(lambda x: x * x, [1.0, 2.0], persistent=True)
    assert numbers(tape.jacobian(y, x)) == [[2, 0], [0, 4]]
    other = wg.tensor([1.0, 2.0, 3.0])
    assert tape.jacobian(y, other) is None
    assert numbers(tape.jacobian(y, {"x": x, "o": other}, unconnected_gradients="zero")) == {
        "x": [[2, 0], [0, 4]], "o": [[0, 0, 0]] * 2,
    }  # fmt: skip
    with pytest.raises(AttributeError, match="one tensor"):
        tape.jacobian([y], x)
    tape, (x,), y = taped(lambda x: x.sum(axis=0), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]][:2])
    jacobian = tape.jacobian(y, x)
    assert jacobian.shape == (3, 2, 3)
    np.testing.assert_array_equal(jacobian.numpy(), np.einsum("ik,j->ijk", np.eye(3), np.ones(2)))
    with pytest.raises(RuntimeError):
        tape.jacobian(y, x)


def test_jacobian_of_gathered_rows_is_dense():
    tape, (x,), y = taped(lambda x: wg.take(x, [0, 2, 0], axis=0), [1.0, 2.0, 3.0])
    assert numbers(tape.jacobian(y, x)) == [[1, 0, 0], [0, 0, 1], [1, 0, 0]]


def test_jacobian_shapes():
    tape, (x,), y = taped(lambda x: wg.outer(x, x), [1.0, 2.0])
    assert tape.jacobian(y, x).shape == (2, 2, 2)
    tape, (x,), y = taped(lambda x: (x * x).sum(), [1.0, 2.0])
    assert numbers(tape.jacobian(y, x)) == [2, 4]
    tape, (x,), y = taped(lambda x: x[:0] * 2.0, [1.0, 2.0])
    assert tape.jacobian(y, x).shape == (0, 2)
    tape, (x,), y = taped(lambda x: x.astype("int64"), [1.0, 2.0])
    assert tape.jacobian(y, x) is None


def test_jacobian_keeps_rows_apart_at_infinite_slopes_decisions_24():
    tape, (x,), y = taped(wg.sqrt, [0.0, 1.0])
    assert numbers(tape.jacobian(y, x)) == [[np.inf, 0], [0, 0.5]]


def test_jacobian_of_a_complex_function_decisions_15():
    z = np.array([1.0 + 2.0j, 3.0 - 1.0j])
    tape, (x,), y = taped(lambda x: x * x, z, persistent=True)
    with pytest.raises(TypeError, match="holomorphic"):
        tape.jacobian(y, x)
    np.testing.assert_allclose(tape.jacobian(y, x, holomorphic=True).numpy(), np.diag(2 * z))
    tape, (x,), y = taped(lambda x: x * x, [1.0, 2.0])
    with pytest.raises(TypeError, match="complex"):
        tape.jacobian(y, x, holomorphic=True)


def test_batch_jacobian():
    """Unlike TensorFlow's zeros: an unconnected source is None, or zeros on request."""
    rows = [[1.0, 2.0], [3.0, 4.0]]
    tape, (x,), y = taped(lambda x: x * x, rows, persistent=True)
    assert numbers(tape.batch_jacobian(y, x)) == [[[2, 0], [0, 4]], [[6, 0], [0, 8]]]
    other = wg.tensor(np.ones((2, 3)))
    assert tape.batch_jacobian(y, other) is None
    assert numbers(tape.batch_jacobian(y, other, "zero")) == np.zeros((2, 2, 3)).tolist()
    with pytest.raises(ValueError, match="first extents"):
        tape.batch_jacobian(y, wg.tensor(np.ones((3, 2))))
    with pytest.raises(ValueError, match="two axes"):
        tape.batch_jacobian(y[0], x)
    with pytest.raises(AttributeError):
        tape.batch_jacobian([y], x)


def test_batch_jacobian_shapes():
    tape, (x,), y = taped(lambda x: x[:, None, :2] * x[:, 1:, None], np.arange(12.0).reshape(4, 3), persistent=True)
    found = tape.batch_jacobian(y, x)
    assert found.shape == (4, 2, 2, 3)
    whole = tape.jacobian(y, x).numpy()
    np.testing.assert_array_equal(found.numpy(), whole[np.arange(4), :, :, np.arange(4)])


def test_hessian():
    x = wg.tensor([1.0, 2.0])
    with wg.GradientTape() as outer:
        outer.watch(x)
        with wg.GradientTape() as inner:
            inner.watch(x)
            y = x[0] * x[0] * x[1]
        gradient = inner.gradient(y, x)
    assert numbers(outer.jacobian(gradient, x)) == [[4, 2], [2, 0]]


# -- functions ---------------------------------------------------------------------------------------------------------


def test_tape_in_a_function():
    @wg.function
    def f(x):
        with wg.GradientTape() as tape:
            tape.watch(x)
            y = x * x * x
        return tape.gradient(y, x)

    assert f(2.0) == 12
    assert f(3.0) == 27 and f.trace_count == 1
    assert wg.grad(f)(2.0) == 12


def test_function_under_a_tape():
    cube = wg.function(lambda x: x * x * x)
    tape, (x,), y = taped(cube, 2.0)
    assert tape.gradient(y, x).item() == 12


def test_function_of_variables_under_a_tape():
    v, w = wg.Variable(2.0), wg.Variable(5.0)
    f = wg.function(lambda x: x * v * v)
    x = wg.tensor(3.0)
    with wg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert numbers(tape.gradient(y, [x, v, w])) == [4, 12, None]
    assert [u is v for u in tape.watched_variables()] == [True]


def test_tape_in_a_function_with_variables():
    v = wg.Variable(2.0)

    @wg.function
    def step(x):
        with wg.GradientTape() as tape:
            y = (v * x - 1.0) ** 2.0
        g = tape.gradient(y, v)
        v.assign_sub(0.1 * g)
        return g

    assert step(1.0) == 2
    assert v.numpy() == pytest.approx(1.8)
    assert step(1.0) == pytest.approx(1.6)
    assert step.trace_count == 1


def test_jacobian_in_a_function():
    @wg.function
    def f(x):
        with wg.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.jacobian(y, x)

    np.testing.assert_array_equal(f(np.array([1.0, 2.0])), np.diag([2.0, 4.0]))


def test_jacobian_of_unknown_size_in_a_function():
    @wg.function(input_signature=[wg.TensorSpec((None,))])
    def f(x):
        with wg.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.jacobian(y, x)

    for n in (1, 2, 3):
        x = np.arange(1.0, n + 1)
        np.testing.assert_array_equal(f(x), np.diag(2 * x))


def test_batch_jacobian_of_unknown_batches_in_a_function():
    @wg.function(input_signature=[wg.TensorSpec((None, 2))])
    def f(x):
        with wg.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.batch_jacobian(y, x)

    for rows in (1, 3):
        x = np.arange(2.0 * rows).reshape(rows, 2)
        np.testing.assert_array_equal(f(x), 2 * x[:, :, None] * np.eye(2))


def test_tape_inside_grad_and_grad_inside_a_tape():
    def slope(x):
        with wg.GradientTape() as tape:
            tape.watch(x)
            y = x**4
        return tape.gradient(y, x)

    assert wg.grad(slope)(2.0) == 48
    tape, (x,), y = taped(wg.grad(lambda x: x**4), 2.0)
    assert tape.gradient(y, x).item() == 48


# -- Variables ---------------------------------------------------------------------------------------------------------


def test_reads_count_by_value():
    v = wg.Variable(2.0)
    with wg.GradientTape(persistent=True) as tape:
        y = v * v
        v.assign(10.0)
        z = v * v
        cut = v.numpy() * v
    assert tape.gradient([y, z], v).item() == 24
    assert tape.gradient(cut, v).item() == 10
    v.assign(4.0)
    with wg.GradientTape() as tape:
        y = v * float(v.numpy())
    assert tape.gradient(y, v).item() == 4


def test_assign_is_not_differentiable():
    v, w = wg.Variable(2.0), wg.Variable(1.0)
    with wg.GradientTape() as tape:
        w.assign(3.0 * v)
        y = w * w
    assert numbers(tape.gradient(y, [v, w])) == [None, 12]


def test_assign_is_not_differentiable_in_a_function():
    v, w = wg.Variable(2.0), wg.Variable(1.0)

    @wg.function
    def f():
        with wg.GradientTape() as tape:
            before = w * 5.0
            w.assign(3.0 * v)
            y = w * w + before
        return tape.gradient(y, [v, w])

    found = f()
    assert found[0] is None and found[1] == 17


def test_a_read_value_has_its_own_gradient():
    v = wg.Variable(2.0)
    with wg.GradientTape(persistent=True) as tape:
        a = v.value
        v.assign(5.0)
        b = v.value
        y = a * b
    assert numbers(tape.gradient(y, [a, b, v])) == [5, 2, 7]


def test_variable_as_target():
    v = wg.Variable(2.0)
    with wg.GradientTape() as tape:
        v * 1.0
    assert tape.gradient(v, v).item() == 1


def test_watching_a_value_by_hand_does_not_hide_its_variable():
    v = wg.Variable(2.0)
    value = v.value
    with wg.GradientTape(persistent=True) as tape:
        tape.watch(value)
        y = v * v
    assert numbers(tape.gradient(y, [v, value])) == [4, 4]


# -- complex numbers, kinds --------------------------------------------------------------------------------------------


def test_a_complex_target_needs_output_gradients():
    tape, (x,), y = taped(lambda x: x * x, 3.0 + 4.0j, persistent=True)
    with pytest.raises(TypeError, match="output_gradients"):
        tape.gradient(y, x)
    assert tape.gradient(y, x, 1.0 + 0.0j).item() == 6 - 8j
    with pytest.raises(TypeError):
        tape.gradient(y, x, 1.0)
    tape, (x,), y = taped(lambda x: wg.real(x * wg.conj(x)), 3.0 + 4.0j)
    assert tape.gradient(y, x).item() == 6 + 8j


def test_numbers_do_not_get_lost_while_recording():
    x = wg.tensor(3.0)
    with wg.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(wg.LostGradientError):
            float(x * 2.0)
    assert float(x * 2.0) == 6


def test_repr():
    tape, _, y = taped(lambda x: x * x, 3.0)
    assert repr(tape) == "<GradientTape stopped: 1 operations>"
    assert repr(wg.GradientTape()) == "<GradientTape empty: 0 operations>"


# -- errors, threads, memory -------------------------------------------------------------------------------------------


class Interrupt(BaseException):
    pass


@pytest.mark.parametrize("error", [ValueError, Interrupt, KeyboardInterrupt])
def test_errors_close_the_tape(error):
    x = wg.tensor(3.0)
    tape = wg.GradientTape()

    def interrupted():
        with tape:
            tape.watch(x)
            kept.append(x * x)
            with wg.GradientTape(), tape.stop_recording():
                raise error

    kept = []
    with pytest.raises(error):
        interrupted()
    assert STATE.recorders == () and STATE.reading == ()
    with tape:
        z = kept[0] * x
    assert tape.gradient(z, x).item() == 27


def test_interleaved_threads():
    shared = wg.Variable(2.0)
    wrong = []

    def work(number):
        x = wg.tensor(float(number))
        for _ in range(60):
            with wg.GradientTape() as outer:
                outer.watch(x)
                with wg.GradientTape() as inner:
                    inner.watch(x)
                    y = x * x * x * shared
                g, gv = inner.gradient(y, [x, shared])
            gg = outer.gradient(g, x)
            if (g.item(), gv.item(), gg.item()) != (6.0 * number**2, number**3, 12.0 * number):
                wrong.append((number, g, gv, gg))
        if STATE.recorders or STATE.reading:
            wrong.append(STATE.recorders)

    in_threads(work)
    assert not wrong


def use_once(x, v):
    with wg.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with wg.GradientTape() as inner:
            y = (v * x * x).sum()
        inner.gradient(y, v)
    outer.gradient(y, [x, v], unconnected_gradients="zero")


def test_ten_thousand_uses_leave_nothing_behind():
    x, v = wg.tensor([1.0, 2.0]), wg.Variable(2.0)
    for _ in range(500):
        use_once(x, v)
    assert growth_of_calls(use_once, x, v, times=500) < 0.02 * 1024
    with uncollected():
        objects = len(gc.get_objects())
        for _ in range(10_000):
            use_once(x, v)
        assert len(gc.get_objects()) - objects < 100


def test_a_used_tape_lets_go():
    x = wg.tensor(np.ones(1000))
    with wg.GradientTape() as tape:
        tape.watch(x)
        y = wg.exp(x) * x
    tape.gradient(y, x)
    assert tape._core is None and tape._reads is None


def test_long_chains_need_no_recursion():
    def chain(x):
        for _ in range(3000):
            x = x + 0.0
        return x

    tape, (x,), y = taped(chain, 1.0)
    assert tape.gradient(y, x).item() == 1


# -- three interfaces -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: wg.sin(x) * y, lambda x, y: wg.where(x > 0.5, x * y, wg.exp(y)), lambda x, y: wg.maximum(x, y),
        lambda x, y: wg.linalg.norm(x - y), lambda x, y: wg.concatenate([x, y])[::2] ** 3, lambda x, y: wg.sort(x * y),
        lambda x, y: wg.log(wg.abs(x) + 1.0) / y, lambda x, y: wg.cumsum(x) * y.sum(),
        lambda x, y: wg.take(x, [0, 0, 2]) * y,
    ],
)  # fmt: skip
def test_as_the_functional_api(f):
    a, b = np.array([0.3, 0.7, 1.1]), np.array([0.5, 2.0, 1.5])
    tape, (x, y), z = taped(f, a, b)
    for found, wanted in zip(tape.gradient(z, [x, y]), wg.grads(f)([a, b]), strict=True):
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_a_variable_as_target_is_read_there():
    v = wg.Variable([1.0, 2.0])
    with wg.GradientTape(persistent=True) as tape:
        y = v * v
    np.testing.assert_array_equal(tape.gradient(v, v), [1, 1])
    np.testing.assert_array_equal(tape.gradient([v, y], v), [3, 5])
    np.testing.assert_array_equal(tape.gradient(v, v, output_gradients=[3.0, 4.0]), [3, 4])
    np.testing.assert_array_equal(tape.jacobian(v, v), np.eye(2))
    with wg.GradientTape() as tape:
        pass
    np.testing.assert_array_equal(tape.gradient(v, v), [1, 1])
    fixed = wg.Variable(1.0, trainable=False)
    with wg.GradientTape(persistent=True) as tape:
        pass
    assert tape.gradient(fixed, fixed) is None
    assert tape.gradient(v, fixed) is None
    with wg.GradientTape(watch_accessed_variables=False, persistent=True) as tape:
        tape.watch(fixed)
    assert tape.gradient(fixed, fixed) == 1
    assert tape.gradient(v, v) is None


# -- explanations ------------------------------------------------------------------------------------------------------


def test_explain():
    x, v, never = wg.tensor([1.0, 2.0]), wg.Variable(2.0, name="v"), wg.tensor(1.0)
    with wg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        cut = wg.stop_gradient(x) * v
        rounded = x.astype("int64").astype("float64") * v
        path = wg.sin(x) * v
        apart = v * 2.0
    for y, word in ((cut, "stop_gradient"), (rounded, "int64"), (path, "sin")):
        text = tape.explain(y, x)
        assert word in text and (y is path or "tests/differentiation/test_tape.py" in text)
    assert "not depend" in tape.explain(apart, x)
    assert "mul" in tape.explain(path, v)
    assert "was not watched" in tape.explain(path, never)
    with pytest.raises(TypeError):
        tape.explain(path, 1.0)
    with pytest.raises(RuntimeError):
        wg.GradientTape().explain(path, x)
