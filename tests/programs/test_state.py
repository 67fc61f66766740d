"""Variables: names, assignment and its checks, arithmetic, and reads under a tape, a trace and garbage collection."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import weakref

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert._core.state import STATE
from wengert.programs.variables import live_variables


@pytest.fixture
def w():
    return wg.Variable([1.0, 2.0], name="w")


# -- names and lifetime --------------------------------------------------------------------------------------


def test_names():
    gc.collect()
    first, second, third = wg.Variable(1.0), wg.Variable(2.0), wg.Variable(3.0, name="mine")
    assert [first.name, second.name, third.name] == ["Variable", "Variable_1", "mine"]
    again = wg.Variable(4.0, name="mine")
    assert again.name == "mine"
    del first
    assert wg.Variable(5.0).name == "Variable"


def test_numbering_starts_again():
    gc.collect()
    assert wg.Variable(1.0).name == "Variable"
    assert wg.Variable(1.0).name == "Variable"


def test_live_variables_do_not_keep_them_alive():
    one = wg.Variable(1.0, name="one")
    assert one in set(live_variables())
    alive = weakref.ref(one)
    del one
    assert alive() is None


def test_variables_are_listed_in_order_of_creation():
    made = [wg.Variable(float(i), name=f"order{i}") for i in range(4)]
    found = [v for v in live_variables() if v.name.startswith("order")]
    assert [v.name for v in found] == [v.name for v in made]


# -- values --------------------------------------------------------------------------------------------------


def test_attributes(w):
    assert (w.shape, w.dtype, w.trainable, w.name) == ((2,), np.float64, True, "w")
    assert type(w.value) is wg.Tensor
    assert w.numpy().tolist() == [1, 2]
    assert (w.ndim, w.size, len(w)) == (1, 2, 2)
    assert repr(w) == "<Variable 'w' shape=(2,) dtype=float64 [1., 2.]>"
    assert wg.Variable(1, dtype="float32").dtype == np.float32
    assert wg.Variable(3.0, trainable=False).trainable is False


def test_the_initial_value_is_copied():
    data = np.array([1.0, 2.0])
    w = wg.Variable(data)
    data[0] = 9
    assert w.numpy().tolist() == [1, 2]
    other = wg.Variable(w)
    w.assign([5.0, 6.0])
    assert other.numpy().tolist() == [1, 2]


def test_assign(w):
    assert w.assign([3.0, 4.0]) is w
    assert w.numpy().tolist() == [3, 4]
    assert w.assign_add([1.0, 1.0]) is w
    assert w.numpy().tolist() == [4, 5]
    assert w.assign_sub(1.0).numpy().tolist() == [3, 4]
    assert w.assign(np.float32([7, 8])).dtype == np.float64
    assert w.assign([1, 2]).dtype == np.float64
    assert w.assign(wg.Variable([5.0, 6.0], name="other")).numpy().tolist() == [5, 6]


def test_what_was_assigned_may_change_later(w):
    data = np.array([1.0, 2.0])
    w.assign(data)
    data[0] = 9
    assert w.numpy().tolist() == [1, 2]


def written_whole(w):
    a, b = w.value, w.value
    a[0] = 7.0
    a += 1.0
    return a.sum() * 100 + b.sum() * 10 + w.value.sum()


def written_in_a_view(w):
    view = w[1:]
    view[0] = 5.0
    return view.sum() * 10 + (w * 1.0).sum()


def written_by_numpys_functions(w):
    row = wnp.ravel(w)
    row[0] = 3.0
    again = wnp.asarray(w)
    again *= 2.0
    return row.sum() * 100 + again.sum() * 10 + w.value.sum()


def assigned_and_written(w):
    a = w.value
    a -= 0.5
    w.assign(a)
    a[0] = 100.0
    return a.sum() * 10 + w.value.sum()


@pytest.mark.parametrize(
    ("f", "value", "held", "slope"),
    [
        (written_whole, 1133.0, [1.0, 2.0], [11.0, 111.0]),
        (written_in_a_view, 53.0, [1.0, 2.0], [1.0, 1.0]),
        (written_by_numpys_functions, 563.0, [1.0, 2.0], [21.0, 121.0]),
        (assigned_and_written, 1017.0, [0.5, 1.5], [1.0, 11.0]),
    ],
)
def test_who_writes_to_what_was_read_leaves_the_variable_alone(f, value, held, slope):
    for wrapped in (lambda f: f, wg.function):
        w = wg.Variable([1.0, 2.0], name="w")
        assert float(wrapped(lambda w=w: f(w))()) == value
        np.testing.assert_array_equal(w.numpy(), held)
        assert repr(held)[1:-1].replace(".0", ".") in repr(w)
        w = wg.Variable([1.0, 2.0], name="w")
        found = wg.variable_grads(wrapped(lambda w=w: f(w)))
        assert float(found.value) == value
        np.testing.assert_array_equal(found.grads["w"], slope)
        np.testing.assert_array_equal(w.numpy(), held)


def test_what_was_read_does_not_change_later(w):
    before = w.value
    w.assign([8.0, 9.0])
    assert before.numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        w.numpy()[0] = 5


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        ([1.0, 2.0, 3.0], ValueError, r"w.assign: wanted shape \(2,\), got \(3,\)"),
        (1.0, ValueError, r"wanted shape \(2,\), got \(\)"),
        ([1j, 2j], TypeError, "a float64 Variable cannot hold complex128 values"),
        ("text", TypeError, "wanted an array"),
        (None, TypeError, "wanted an array"),
    ],
)
def test_bad_assignments(w, value, error, said):
    with pytest.raises(error, match=said):
        w.assign(value)
    assert w.numpy().tolist() == [1, 2]


def test_an_integer_variable_takes_no_floats():
    n = wg.Variable([1, 2], name="n")
    with pytest.raises(TypeError, match="a int64 Variable cannot hold float64 values"):
        n.assign([1.0, 2.0])
    assert n.assign_add(1).numpy().tolist() == [2, 3]


def test_symbolic_initial_values_are_refused():
    @wg.function
    def f(x):
        wg.Variable(x)
        return x

    with pytest.raises(wg.TracingError, match="create Variables outside traces"):
        f(1.0)


# -- as an operand -------------------------------------------------------------------------------------------

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.pow]
OTHERS = [2.0, 3, np.array([2.0, 4.0]), wg.tensor([2.0, 4.0]), wg.Variable([2.0, 4.0], name="operand")]


@pytest.mark.parametrize("other", OTHERS, ids=lambda o: type(o).__name__)
@pytest.mark.parametrize("op", BINARY)
def test_arithmetic(w, op, other):
    plain = np.asarray(other.numpy() if hasattr(other, "numpy") else other)
    held = np.array([1.0, 2.0])
    np.testing.assert_allclose(np.asarray(op(w, other)), op(held, plain))
    np.testing.assert_allclose(np.asarray(op(other, w)), op(plain, held))
    assert type(op(w, other)) is type(op(other, w)) is wg.Tensor


@pytest.mark.parametrize("op", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
def test_comparison(w, op):
    np.testing.assert_array_equal(np.asarray(op(w, 1.5)), op(np.array([1.0, 2.0]), 1.5))


@pytest.mark.parametrize("op", [operator.neg, operator.pos, operator.abs])
def test_unary(w, op):
    np.testing.assert_array_equal(np.asarray(op(w)), op(np.array([1.0, 2.0])))


def test_numpy_functions_take_variables(w):
    np.testing.assert_allclose(np.asarray(np.sin(w)), np.sin([1.0, 2.0]))
    assert float(np.sum(w)) == 3
    assert np.asarray(w).tolist() == [1, 2]
    assert type(wg.ops.sin(w)) is wg.Tensor


def test_variables_are_keys(w):
    other = wg.Variable([1.0, 2.0], name="w")
    assert {w: 1, other: 2}[w] == 1
    assert hash(w) != hash(other)


def test_numbers(w):
    one = wg.Variable(2.5)
    assert float(one) == 2.5
    assert bool(one)
    assert int(wg.Variable(3)) == 3
    assert [10, 20, 30][wg.Variable(1)] == 20
    with pytest.raises(ValueError, match="ambiguous"):
        bool(w)


def test_augmented_assignment_makes_a_tensor(w):
    x = w
    x += 1.0
    assert type(x) is wg.Tensor
    assert w.numpy().tolist() == [1, 2]


def test_copies(w):
    twin = copy.copy(w.value)
    w.assign([9.0, 9.0])
    assert twin.numpy().tolist() == [1, 2]


# -- under differentiation and tracing -----------------------------------------------------------------------


def test_a_closed_over_variable_is_a_constant_to_grad(w):
    np.testing.assert_array_equal(wg.grad(lambda x: x * w)(np.array([3.0, 4.0])), [1, 2])


def test_reads_before_and_after_an_assignment(w):
    def f():
        before = np.sum(w * w)
        w.assign([10.0, 20.0])
        return before + np.sum(w * 3.0)

    value, grads = wg.variable_grads(f)
    assert value.item() == 1 + 4 + 90
    np.testing.assert_array_equal(grads[w].numpy(), [2 + 3, 4 + 3])


def test_assignment_is_not_differentiable(w):
    v = wg.Variable(3.0, name="v")

    def f(x):
        v.assign(x * x)
        return v * 2.0

    with pytest.raises(wg.DisconnectedError, match=r"v\.assign stores a value"):
        wg.grad(f)(5.0)
    assert v.numpy() == 25


def test_an_exception_in_f_keeps_what_was_assigned_before(w):
    def f():
        w.assign([7.0, 8.0])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        wg.variable_grads(f)
    assert w.numpy().tolist() == [7, 8]
    assert STATE.reading == ()


def test_second_order_through_variables(w):
    def gradient(x):
        return np.sum(wg.variable_grads(lambda: np.sum(w * w * x), [w]).grads[w])

    assert wg.grad(gradient)(3.0) == 2 * (1 + 2)


def test_non_trainable_variables_are_not_watched(w):
    fixed = wg.Variable(2.0, trainable=False, name="fixed")
    assert list(wg.variable_grads(lambda: np.sum(w * fixed)).grads) == ["w"]


def test_in_a_function_reads_happen_at_each_call(w):
    f = wg.function(lambda x: x * w)
    assert f(np.ones(2)).tolist() == [1, 2]
    w.assign([5.0, 6.0])
    assert f(np.ones(2)).tolist() == [5, 6]
    assert f.trace_count == 1


def test_in_a_function_assignments_happen_at_each_call(w):
    @wg.function
    def step(x):
        w.assign_add(x)
        first = w * 1.0
        w.assign(w * 2.0)
        return first

    assert step(np.ones(2)).tolist() == [2, 3]
    assert w.numpy().tolist() == [4, 6]
    step(np.ones(2))
    assert w.numpy().tolist() == [10, 14]


def test_variable_grads_of_a_traced_loss(w):
    loss = wg.function(lambda x: np.sum(w * w * x))
    _, grads = wg.variable_grads(lambda: loss(np.array([1.0, 3.0])), [w])
    np.testing.assert_array_equal(grads["w"].numpy(), [2, 12])


def test_variable_grads_inside_a_function(w):
    @wg.function
    def step(x):
        value, grads = wg.variable_grads(lambda: np.sum((w - x) ** 2), [w])
        w.assign_sub(0.25 * grads[w])
        return value

    target = np.array([3.0, 5.0])
    values = [step(target) for _ in range(30)]
    assert values[0] == 4 + 9
    assert values[-1] < 1e-15
    np.testing.assert_allclose(w.numpy(), target, atol=1e-8)


def test_what_works_on_a_tensor_works_on_a_variable():
    v = wg.Variable([2.0, 5.0], name="v")
    quotient, rest = divmod(v, 2)
    assert (quotient.numpy().tolist(), rest.numpy().tolist()) == ([1.0, 2.0], [0.0, 1.0])
    assert divmod(7, v)[0].numpy().tolist() == [3.0, 1.0]
    assert round(wg.Variable(2.567), 1).item() == 2.6
    assert f"{wg.Variable(2.5):.2f}" == "2.50"
    assert v.__array_namespace__() is wg.tensor(1.0).__array_namespace__()
    assert np.from_dlpack(v).tolist() == [2.0, 5.0]
    with pytest.raises(TypeError, match="assign"):
        v[0] = 1.0
    with pytest.raises(TypeError):
        del v[0]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
def test_a_copy_is_a_variable_of_its_own(copied):
    v = wg.Variable([1.0, 2.0], trainable=False, name="v")
    other = copied(v)
    assert (other.name, other.trainable, other.numpy().tolist()) == ("v", False, [1.0, 2.0])
    other.assign([3.0, 4.0])
    assert v.numpy().tolist() == [1.0, 2.0]
    both = wg.function(lambda: (v * 1.0, other * 1.0))()
    assert [np.asarray(x).tolist() for x in both] == [[1.0, 2.0], [3.0, 4.0]]


def test_a_tensor_made_of_a_variable_is_a_read(w):
    assert wg.variable_grads(lambda: (wg.tensor(w) ** 2.0).sum(), [w]).grads["w"].numpy().tolist() == [2, 4]
    held = wg.tensor(w)
    w.assign([5.0, 6.0])
    assert held.numpy().tolist() == [1, 2]
