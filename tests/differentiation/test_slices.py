"""`IndexedSlices`: where gradients of gathered rows are sparse (docs/semantics/graphs.md), through every interface."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert._core.state import STATE
from wengert._transforms import reverse, row_cotangents

TABLE = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def by_grad(f, x):
    return wg.grad(f, sparse=True)(x)


def by_tensors(f, x):
    return wg.grad(f, sparse=True)(wg.tensor(x))


def by_grads(f, x):
    return wg.grads(f, sparse=True)([x])[0]


def by_value_and_grad(f, x):
    return wg.value_and_grad(f, sparse=True)(x).grad


def by_tape(f, x):
    x = wg.tensor(x)
    with wg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x, sparse=True)


def by_tape_on_a_variable(f, x):
    v = wg.Variable(x)
    with wg.GradientTape() as tape:
        y = f(v)
    return tape.gradient(y, v, sparse=True)


def by_variable_grads(f, x):
    v = wg.Variable(x, name="table")
    return wg.variable_grads(lambda: wg.sum(f(v)), [v], sparse=True).grads["table"]


def of_a_function(f, x):
    return wg.grad(wg.function(f), sparse=True)(x)


every_interface = pytest.mark.parametrize(
    "interface",
    [
        by_grad,
        by_tensors,
        by_grads,
        by_value_and_grad,
        by_tape,
        by_tape_on_a_variable,
        by_variable_grads,
        of_a_function,
    ],
)


def parts(slices):
    assert type(slices) is wg.IndexedSlices, slices
    return np.asarray(slices.values).tolist(), np.asarray(slices.indices).tolist(), slices.dense_shape


# -- where a gradient is sparse ----------------------------------------------------------------------------------------


@every_interface
def test_rows_gathered(interface):
    slices = interface(lambda x: wg.take(x, [0, 2, 0], axis=0), TABLE)
    assert parts(slices) == ([[1, 1]] * 3, [0, 2, 0], (3, 2))  # duplicates are not merged
    assert np.asarray(slices).tolist() == [[2, 2], [0, 0], [1, 1]]
    weights = np.array([[1.0], [10.0], [100.0]])
    slices = interface(lambda x: wg.take(x, [0, 2, 0], axis=0) * weights, TABLE)
    assert np.asarray(slices).tolist() == [[101, 101], [0, 0], [10, 10]]


@every_interface
def test_two_gathers_concatenate(interface):
    slices = interface(lambda x: wg.sum(wg.take(x, [0], axis=0)) * 3.0 + wg.sum(wg.take(x, [2, 1], axis=0)), TABLE)
    values, indices, shape = parts(slices)
    assert sorted(zip(indices, values)) == [(0, [3, 3]), (1, [1, 1]), (2, [1, 1])] and shape == (3, 2)
    assert np.asarray(slices).tolist() == [[3, 3], [1, 1], [1, 1]]


@every_interface
def test_gather_and_a_dense_use(interface):
    dense = interface(lambda x: wg.sum(wg.take(x, [0], axis=0)) + wg.sum(x * x), TABLE)
    assert type(dense) is not wg.IndexedSlices
    assert np.asarray(dense).tolist() == [[3, 5], [6, 8], [10, 12]]


@every_interface
@pytest.mark.parametrize(
    ("f", "is_sparse"),
    [
        (lambda x: wg.take(x, [0, 1], axis=1), False), (lambda x: x[[0, 2]], True), (lambda x: x[[0, 2], [1, 1]], False),
        (lambda x: wg.take(x, np.array([[0, 1], [2, 2]]), axis=0), True), (lambda x: x[1], False),
        (lambda x: x[np.array([True, False, True])], True), (lambda x: x[:, [0]], False),
    ],
)  # fmt: skip
def test_whole_rows_along_the_first_axis(interface, f, is_sparse):
    found = interface(f, TABLE)
    assert (type(found) is wg.IndexedSlices) is is_sparse
    np.testing.assert_array_equal(np.asarray(found), wg.grad(f)(TABLE))
    if is_sparse:
        assert found.values.shape == (found.indices.shape[0], 2)  # indices are flattened


def test_first_op_below_densifies():
    x = wg.tensor(TABLE)
    with wg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        w = x * 2.0
        y = wg.take(w, [0, 0], axis=0)
        same = wg.take(wg.reshape(x, (3, 2, 1)), [1], axis=0)
    sparse, dense = tape.gradient(y, [w, x], sparse=True)
    assert parts(sparse)[1] == [0, 0]
    assert np.asarray(dense).tolist() == [[4, 4], [0, 0], [0, 0]]
    assert type(tape.gradient(same, x, sparse=True)) is wg.Tensor


def test_identity_keeps_rows():
    def f(x):  # the argument of an inner gradient is a copy under a new identity
        return wg.grad(lambda a: wg.sum(wg.take(a, [1], axis=0) ** 2.0), sparse=True)(x).values

    assert parts(by_grad(f, TABLE))[1] == [1]
    assert np.asarray(by_grad(f, TABLE)).tolist() == [[0, 0], [2, 2], [0, 0]]


def test_second_order():
    x = wg.tensor([1.0, 2.0, 3.0])
    with wg.GradientTape() as outer:
        outer.watch(x)
        with wg.GradientTape() as inner:
            inner.watch(x)
            y = wg.take(x, [0, 2, 0], axis=0) ** 2.0
        g = inner.gradient(y, x, sparse=True)
        assert g.values.numpy().tolist() == [2, 6, 2]
        dense = wg.tensor(g)
    assert dense.numpy().tolist() == [4, 0, 6]
    assert parts(outer.gradient(dense, x, sparse=True)) == ([2, 2, 2], [0, 2, 0], (3,))


def test_second_order_functional():
    def first(x):
        return wg.tensor(wg.grad(lambda a: a[[0, 2, 0]] ** 3.0, sparse=True)(x))

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(wg.grad(first)(x), [12, 0, 18])
    assert parts(wg.grad(first, sparse=True)(x))[1] == [0, 2, 0]
    linear = wg.grad(lambda x: wg.tensor(wg.grad(lambda a: a[[0, 2]], sparse=True)(x)))(x)
    assert linear.tolist() == [0, 0, 0]  # connected, decision 3


def test_rows_of_variables():
    v, unused = wg.Variable(TABLE), wg.Variable([1.0, 2.0])
    with wg.GradientTape(persistent=True) as tape:
        y = wg.take(v, [2], axis=0)
        v.assign(TABLE * 2.0)
        z = wg.take(v, [0], axis=0) * 2.0
    found, zero = tape.gradient([y, z], [v, unused], sparse=True, unconnected_gradients="zero")
    assert sorted(parts(found)[1]) == [0, 2]  # reads of two values of one Variable concatenate, too
    assert np.asarray(found).tolist() == [[2, 2], [0, 0], [1, 1]]
    assert type(zero) is wg.Tensor and zero.numpy().tolist() == [0, 0]


def test_gradient_inside_a_function():
    @wg.function
    def step(x):
        slices = wg.grad(lambda a: wg.sum(wg.take(a, [0, 2, -3], axis=0) ** 2.0), sparse=True)(x)
        return slices.values, slices.indices

    values, indices = step(TABLE)
    assert indices.tolist() == [0, 2, 0] and values.tolist() == [[2, 4], [10, 12], [2, 4]]


def test_slices_that_leave_a_function_are_dense():
    f = wg.function(wg.grad(lambda a: wg.sum(wg.take(a, [0, 2, 0], axis=0)), sparse=True))
    np.testing.assert_array_equal(f(TABLE), [[2, 2], [0, 0], [1, 1]])


def test_unknown_extents_in_a_function():
    @wg.function(input_signature=[wg.TensorSpec((None, 2)), wg.TensorSpec((None,), "int64")])
    def step(x, i):
        slices = wg.grad(lambda a: wg.sum(wg.take(a, i, axis=0) + wg.take(a, i, axis=0) ** 2.0), sparse=True)(x)
        return slices.values, slices.indices, wg.tensor(slices)

    for i in ([0, 2, 0], [-1]):
        values, indices, dense = step(TABLE, np.array(i))
        assert indices.tolist() == [j % 3 for j in i] * 2
        wanted = np.zeros((3, 2))
        np.add.at(wanted, indices, values)
        np.testing.assert_allclose(dense, wanted)


# -- the dense form, when it is needed ---------------------------------------------------------------------------------


def test_negative_indices_count_from_the_front():
    slices = by_grad(lambda x: x[np.array([-1, 0, -3])], TABLE)
    assert parts(slices)[1] == [2, 0, 0]


def test_dense_is_made_once_for_many_gathers(monkeypatch):
    made = []
    absent = row_cotangents.absent
    monkeypatch.setattr(row_cotangents, "absent", lambda **type_: made.append(type_) or absent(**type_))
    table = np.ones((1000, 4))
    g = wg.grad(lambda x: sum((wg.take(x, [i, 2 * i], axis=0).sum() for i in range(50)), start=0.0))(table)
    assert len(made) == 1
    assert g.sum() == 400
    wg.grad(lambda x: sum((wg.take(x, [i], axis=0).sum() for i in range(5)), start=0.0), sparse=True)(table)
    assert len(made) == 1


def test_rows_that_outgrow_the_table_are_added_up():
    found = []
    table = np.ones((3, 2))
    x = wg.tensor(table)
    with wg.GradientTape() as watching:
        watching.watch(x)
        y = sum((wg.take(x, [0, 1], axis=0) * float(i) for i in range(20)), start=0.0)
    add_rows = reverse._add_rows

    def spy(rows_, key, cts):
        add_rows(rows_, key, cts)
        found.append(type(cts.terms[key]) is row_cotangents.Rows and cts.terms[key].count)

    reverse._add_rows = spy
    try:
        g = watching.gradient(y, x)
    finally:
        reverse._add_rows = add_rows
    assert max(found) <= 3
    assert g.numpy().tolist() == [[190, 190], [190, 190], [0, 0]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex128"])
def test_dtypes(dtype):
    x = wg.tensor(TABLE).astype(dtype)
    slices = wg.grad(lambda x: wg.real(wg.take(x, [0, 2, 0], axis=0)).sum(), sparse=True)(x)
    assert slices.dtype == x.dtype and slices.indices.dtype == np.int64
    assert wg.tensor(slices).dtype == x.dtype


def test_masked_zeros_stay_zero_decisions_24():
    x = np.array([0.0, 4.0, 9.0])
    assert wg.grad(lambda x: wg.sqrt(x)[[1]])(x).tolist() == [0, 0.25, 0]
    assert np.asarray(by_grad(lambda x: wg.sqrt(x)[[1]], x)).tolist() == [0, 0.25, 0]


def test_empty_gathers():
    slices = by_grad(lambda x: wg.take(x, np.zeros(0, np.int64), axis=0), TABLE)
    assert parts(slices) == ([], [], (3, 2))
    assert np.asarray(slices).tolist() == np.zeros((3, 2)).tolist()


def test_structures_and_several_arguments():
    f = lambda p, w: wg.sum(wg.take(p["table"], [1], axis=0) * w) + p["b"]
    found = wg.grad(f, argnums=(0, 1), sparse=True)({"table": TABLE, "b": 1.0}, np.array([2.0, 3.0]))
    assert parts(found[0]["table"]) == ([[2, 3]], [1], (3, 2))
    assert found[0]["b"] == 1 and found[1].tolist() == [3, 4]


def test_results_are_the_callers():
    indices = np.array([0, 2])
    slices = by_grad(lambda x: wg.take(x, indices, axis=0), TABLE)
    slices.values[:] = 7.0
    slices.indices[:] = 1
    assert indices.tolist() == [0, 2]
    assert by_grad(lambda x: wg.take(x, indices, axis=0), TABLE).values.tolist() == [[1, 1], [1, 1]]


def test_repeated_sources():
    x = wg.tensor(TABLE)
    with wg.GradientTape() as tape:
        tape.watch(x)
        y = wg.take(x, [0], axis=0) + wg.take(x, [1], axis=0)
    a, b = tape.gradient(y, (x, x), sparse=True)
    assert sorted(parts(a)[1]) == sorted(parts(b)[1]) == [0, 1]


# -- the class ---------------------------------------------------------------------------------------------------------


def test_the_class():
    slices = wg.IndexedSlices(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 1]), (3, 2))
    assert (slices.shape, slices.ndim, slices.dtype) == ((3, 2), 2, np.float64)
    dense = [[0, 0], [4, 6], [0, 0]]
    assert wg.tensor(slices).numpy().tolist() == dense
    assert np.asarray(slices).tolist() == np.array(slices).tolist() == dense
    assert np.asarray(slices, dtype=np.float32).dtype == np.float32
    np.asarray(slices)[0] = 1.0  # the caller's own
    assert (wg.tensor(TABLE) - slices).numpy().tolist() == (TABLE - np.array(dense)).tolist()
    assert wg.sum(slices).item() == 10
    assert repr(slices) == (
        "IndexedSlices(values=array([[1., 2.],\n       [3., 4.]]), indices=array([1, 1]), dense_shape=(3, 2))"
    )
    for name in ("values", "indices", "dense_shape"):
        with pytest.raises(AttributeError):
            setattr(slices, name, None)
    with pytest.raises(AttributeError):
        slices.other = 1
    assert wg.tree.leaves({"a": slices}) == [slices]


def test_lists_and_tensors():
    slices = wg.IndexedSlices([[1.0, 2.0]], [2], [3, 2])
    assert np.asarray(slices).tolist() == [[0, 0], [0, 0], [1, 2]]
    v = wg.Variable(TABLE)
    v.assign_sub(slices)
    assert v.numpy()[2].tolist() == [4, 4]


@pytest.mark.parametrize(
    ("values", "indices", "shape", "error"),
    [
        ([[1.0]], [0.5], (3, 1), TypeError), ([[1.0]], [0, 1], (3, 1), ValueError), ([1.0], [0], (3, 1), ValueError),
        ([[1.0, 2.0]], [0], (3, 1), ValueError), ([[1.0]], [[0]], (3, 1), ValueError), (1.0, [0], (), ValueError),
    ],
)  # fmt: skip
def test_checks(values, indices, shape, error):
    with pytest.raises(error, match="IndexedSlices"):
        wg.IndexedSlices(values, indices, shape)


def test_followed_values_are_not_lost():
    def f(x):
        np.asarray(wg.grad(lambda a: a[[0, 1]] ** 2.0, sparse=True)(x))
        return x

    with pytest.raises(wg.LostGradientError):
        wg.grad(f)(np.ones(3))
    assert STATE.recorders == ()


def test_differentiating_slices_built_by_hand():
    g = wg.grad(lambda v: wg.tensor(wg.IndexedSlices(v, [1, 1], (3, 2))) ** 2.0)(np.ones((2, 2)))
    assert g.tolist() == [[4, 4], [4, 4]]


# -- graphs ------------------------------------------------------------------------------------------------------------


def by_gradients(f, x, **options):
    @wg.function
    def run(x):
        (found,) = wg.gradients(f(x), x, sparse=True, **options)
        if type(found) is not wg.IndexedSlices:
            return found, None, wg.tensor(found)
        return found.values, found.indices, wg.tensor(found)

    return run(x)


@pytest.mark.parametrize(
    "options", [{}, {"aggregation_method": 1}, {"aggregation_method": 2}, {"gate_gradients": True}]
)
def test_gradients_of_a_graph(options):
    values, indices, dense = by_gradients(lambda x: wg.take(x, [0, 2, 0], axis=0), TABLE, **options)
    assert values.tolist() == [[1, 1]] * 3 and indices.tolist() == [0, 2, 0]
    assert dense.tolist() == [[2, 2], [0, 0], [1, 1]]
    twice = lambda x: wg.sum(wg.take(x, [0], axis=0)) * 3.0 + wg.sum(wg.take(x, [2, 1], axis=0))
    values, indices, dense = by_gradients(twice, TABLE, **options)
    assert sorted(indices.tolist()) == [0, 1, 2] and dense.tolist() == [[3, 3], [1, 1], [1, 1]]
    mixed = lambda x: wg.sum(wg.take(x, [0], axis=0)) + wg.sum(x * x) + wg.sum(wg.take(x, [0], axis=0))
    values, indices, dense = by_gradients(mixed, TABLE, **options)
    assert indices is None and dense.tolist() == [[4, 6], [6, 8], [10, 12]]


def test_gradients_with_respect_to_a_variable():
    v, unused = wg.Variable(TABLE), wg.Variable([1.0, 2.0])

    @wg.function
    def run():
        y = wg.take(v, [2, 2], axis=0)
        slices, zero = wg.gradients(y, [v, unused], sparse=True, unconnected_gradients="zero")
        assert type(slices) is wg.IndexedSlices and slices.dense_shape == (3, 2)
        return slices.indices, zero

    indices, zero = run()
    assert np.asarray(indices).tolist() == [2, 2] and np.asarray(zero).tolist() == [0, 0]


def test_second_order_in_a_graph():
    @wg.function
    def run(x):
        (g,) = wg.gradients(wg.take(x, [0, 2, 0], axis=0) ** 2.0, x, sparse=True)
        (gg,) = wg.gradients(wg.tensor(g), x, sparse=True)
        return g.values, gg.values, gg.indices

    g, gg, indices = run(np.array([1.0, 2.0, 3.0]))
    assert (g.tolist(), gg.tolist(), indices.tolist()) == ([2, 6, 2], [2, 2, 2], [0, 2, 0])
