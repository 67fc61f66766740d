"""Indexing against NumPy: every kind of index, alone and mixed; writes; errors; gradients."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert import ops
from wengert._core.tensor import Tensor
from wengert.testing import check_gradients

RNG = np.random.default_rng(3)
X = RNG.normal(size=(4, 5, 6))
MASK = RNG.random((4, 5)) < 0.5
PLAIN = [
    0, -1, (1, 2), (1, 2, 3), (), ..., (..., 0), (0, ..., -1), None, (None, 1), (..., None), (1, None, 2),
    slice(None), slice(1, 3), slice(None, None, 2), slice(None, None, -1), slice(4, 0, -2), slice(10, 20),
    slice(-3, None),
    slice(3, 1), (slice(None), slice(4, None, -1)), (slice(1, 3), 0, slice(None, None, 3)), (None, ..., slice(2), None),
    slice(-10, 10, 3), (slice(None, -1), slice(1, None)), slice(2, None, -1), slice(-1, -10, -1), slice(5, 5, -1),
]  # fmt: skip
ARRAYS = [
    [0, 2, 2], np.array([[0, 1], [-1, 2]]), ([0, 1], [2, 3]), ([0, 1], slice(None), [2, 3]),
    (slice(None), [0, 1], [2, 3]),
    (slice(None), [0, 1], 2), (0, slice(None), [1, 2]), ([1, 2], ..., 0), (..., [1, 2], 0), ([[0], [1]], [0, 1, 2]),
    (slice(1, 3), [1, 2]), ([1, 2], slice(None, None, -2)), (None, [1, 2]), ([1, 2], None), ([1, 2], None, [0, 1]),
    (slice(None), None, [1, 2], 3), (0, None, [1, 2]), np.array(2), (np.array(1), [0, 2]), [], (slice(None), []),
    MASK, (MASK, 0), (MASK, slice(1, 3)), X > 0, (slice(None), MASK[0]), (MASK[:, 0], 0),
    (MASK[:, 0], slice(None), [1, 2, 0]
                                                                                       [: int(MASK[:, 0].sum())]),
    MASK[:, 0].tolist(), np.zeros((4, 5), bool), True, False, (True, 0), (slice(None), True, [0, 1]), (np.True_, ...),
    np.int8(1), (np.uint8([1, 2]), slice(None)), (0, [[1]], slice(None)), ([1], slice(None), 2), (2, 1, [0, 1]),
]  # fmt: skip


def names(table):
    return [str(i) for i in range(len(table))]


@pytest.mark.parametrize("index", [*PLAIN, *ARRAYS], ids=names([*PLAIN, *ARRAYS]))
def test_reading_is_numpys(index):
    expected = X[index]
    for result in (ops.get_item(X, index), wg.tensor(X)[index].numpy()):
        np.testing.assert_array_equal(result, expected)
        assert np.asarray(result).shape == expected.shape


@pytest.mark.parametrize("index", [*PLAIN, *ARRAYS], ids=names([*PLAIN, *ARRAYS]))
def test_the_gradient_of_reading_adds_up(index):
    weights = RNG.normal(size=X[index].shape)
    expected = np.zeros_like(X)
    np.add.at(expected, index, weights)
    result = wg.grad(lambda x: ops.sum(x[index] * weights) if weights.size else ops.sum(x[index]))(X)
    np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-14)


WRITES = {
    "set": None, "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "max": np.maximum, "min": np.minimum,
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("index", [*PLAIN, *ARRAYS], ids=names([*PLAIN, *ARRAYS]))
def test_writing_is_numpys(name, index):
    value = RNG.normal(size=X[index].shape)
    expected = X.copy()
    if name == "set":
        expected[index] = value
    else:
        WRITES[name].at(expected, index, value)
    result = getattr(wg.tensor(X).at[index], name)(value)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-14)


def test_writes_broadcast_and_take_the_dtype():
    x = wg.tensor(np.zeros((2, 3), np.float32))
    assert x.at[0].set(1).numpy().tolist() == [[1, 1, 1], [0, 0, 0]]
    assert x.at[0].set(1.5).dtype == np.float32
    assert x.at[:, 1].set([[7.0, 8.0]]).numpy()[:, 1].tolist() == [7, 8]
    assert wg.tensor(3.0).at[...].set(4.0).item() == 4.0
    assert wg.tensor(3.0).at[()].add(4.0).item() == 7.0
    with pytest.raises(TypeError, match="int64"):
        wg.tensor([1, 2]).at[0].set(1.5)
    with pytest.raises(ValueError, match="does not broadcast"):
        x.at[0].set([1.0, 2.0])


def test_division_and_power_at_positions():
    x = wg.tensor([2.0, 3.0, 4.0])
    assert x.at[[0, 2]].divide(2.0).numpy().tolist() == [1.0, 3.0, 2.0]
    assert x.at[1:].power(2).numpy().tolist() == [2.0, 9.0, 16.0]
    assert x.at[1].get().item() == 3.0


def test_gradients_of_writes():
    x, v = np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0])
    w = np.array([1.0, 10.0, 100.0])
    to_x, to_v = wg.grad(lambda x, v: ops.sum(x.at[:2].set(v) * w), argnums=(0, 1))(x, v)
    assert to_x.tolist() == [0, 0, 100]
    assert to_v.tolist() == [1, 10]
    to_x, to_v = wg.grad(lambda x, v: ops.sum(x.at[[1, 1]].multiply(v) * w), argnums=(0, 1))(x, v)
    assert to_x.tolist() == [1, 350, 100]
    assert to_v.tolist() == [140, 100]
    to_v = wg.grad(lambda v: ops.sum(wg.tensor(x).at[[1, 1]].set(v) * w))(v)
    assert to_v.tolist() == [0, 10]


BAD = [
    (4, IndexError, "out of bounds"), ((0, 0, 0, 0), IndexError, "axes"), ("a", IndexError, "an index is"),
    (1.5, IndexError, "an index is"), ([1.5], IndexError, "float64"), ((..., ...), IndexError, "one ellipsis"),
    ([0, 4], IndexError, "indexing"), (([0, 1], [0, 1, 2]), IndexError, "broadcast"),
    (np.ones(3, bool), IndexError, "fit"),
    (slice(None, None, 0), ValueError, "step"),
]  # fmt: skip


@pytest.mark.parametrize(("index", "kind", "words"), BAD, ids=names(BAD))
def test_bad_indices_name_the_line(index, kind, words):
    with pytest.raises(kind, match=words) as caught:
        wg.tensor(X)[index]
    assert "tests/ops/test_indexing.py" in str(caught.value)


def _written(x: wg.Tensor, index: np.ndarray) -> wg.Tensor:
    y = x + 0.0
    y[:, index] = 1.0
    return y


OUTSIDE = [
    lambda x, index: x[:, index], lambda x, index: wg.take(x, index, axis=1), _written,
    lambda x, index: x.at[:, index].set(0.0), lambda x, index: x.at[:, index].add(1.0),
    lambda x, index: wg.vmap(lambda row: row[index])(x),
]  # fmt: skip


@pytest.mark.parametrize("made", [lambda f: f, wg.function], ids=["eager", "compiled"])
@pytest.mark.parametrize("read", OUTSIDE)
def test_an_index_out_of_range_tells_the_extent_and_no_other_axis(read, made):
    """Kernels have the axes that indices address in front, so that theirs is not the user's number."""
    with pytest.raises(IndexError, match="index 9 is out of bounds for an axis of extent 3") as caught:
        made(read)(wg.tensor(np.ones((2, 3))), np.array([0, 9]))
    assert "tests/ops/test_indexing.py" in str(caught.value)


def test_iteration_len_and_membership():
    x = wg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert [row.numpy().tolist() for row in x] == [[1, 2], [3, 4]]
    assert len(x) == 2
    assert 3.0 in x
    assert 9.0 not in x
    assert [v.item() for v in x.flat] == [1, 2, 3, 4]
    a, _ = x
    assert isinstance(a, Tensor)
    for use in (len, iter):
        with pytest.raises(TypeError):
            use(wg.tensor(1.0))


def test_in_a_trace():
    mask = np.array([True, False, True])

    @wg.function
    def read(x, i):
        return x[i] + x[mask][0] + x[-1] + x[wg.tensor([0, 1])][1]

    x = np.array([1.0, 2.0, 4.0])
    assert read(x, np.int64(1)) == 2.0 + 1.0 + 4.0 + 2.0

    @wg.function
    def symbolic_mask(x):
        return x[x > 0]

    with pytest.raises(wg.TracingError, match=r"wg\.where"):
        symbolic_mask(x)


@pytest.mark.parametrize("index", [i for i in PLAIN if not isinstance(i, int)], ids=str)
@pytest.mark.parametrize("size", [3, 4, 7])
def test_unknown_dimensions(index, size):
    x = RNG.normal(size=(size, 5, size))
    try:
        expected = x[index]
    except IndexError:
        expected = None
    read = wg.function(lambda x: x[index] * 1.0, input_signature=[wg.TensorSpec((None, 5, None), "float64")])
    if expected is None:
        with pytest.raises(IndexError):
            read(x)
    else:
        np.testing.assert_array_equal(read(x), expected)


def test_iteration_over_an_unknown_dimension():
    f = wg.function(lambda x: sum(x), input_signature=[wg.TensorSpec((None,), "float64")])
    with pytest.raises(wg.TracingError, match="iteration"):
        f(np.ones(3))


TAKING = [
    ("take", (X, [0, 2, -1]), {}), ("take", (X, [[0], [1]]), {"axis": 1}), ("take", (X, 2), {"axis": -1}),
    ("take_along_axis", (X, np.argsort(X, axis=1)), {"axis": 1}),
    ("take_along_axis", (X[0], np.array([[0, 1]])), {"axis": 1}),
    ("take_along_axis", (X, np.array([3, 4])), {"axis": None}),
    ("where", (MASK, X[:, :, 0], 0), {}), ("where", (MASK, 1, 2.5), {}),
    ("where", (X[0] > 0, X[0], X[1].astype(np.float32)), {}),
    ("where", (MASK,), {}), ("nonzero", (MASK,), {}), ("flatnonzero", (MASK,), {}), ("argwhere", (MASK,), {}),
    ("select", ([MASK, ~MASK], [X[:, :, 0], X[:, :, 1]]), {}), ("select", ([MASK], [X[:, :, 0]]), {"default": 7}),
    ("unravel_index", ([7, 22, 119], (4, 5, 6)), {}), ("sort", (X,), {}), ("sort", (X,), {"axis": 0}),
    ("sort", (X,), {"axis": None}),
    ("sort", (MASK,), {}), ("argsort", (X,), {"axis": 1}), ("sort", (np.array([2.0, np.nan, 1.0]),), {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs"), TAKING, ids=[f"{t[0]}-{i}" for i, t in enumerate(TAKING)])
def test_taking_is_numpys(name, args, kwargs):
    result, expected = getattr(ops, name)(*args, **kwargs), getattr(np, name)(*args, **kwargs)
    pairs = zip(result, expected) if isinstance(expected, tuple) else [(result, expected)]
    for a, e in pairs:
        assert a.dtype == e.dtype
        np.testing.assert_array_equal(a, e)


def test_unravel_index_of_numpys_works_in_traces_and_refuses_what_numpy_does():
    flat = np.array([[0, 5], [23, 7]])
    for order in ("C", "F"):
        want = np.unravel_index(flat, (4, 6), order)
        for found in (wnp.unravel_index(flat, (4, 6), order),
                      wg.function(lambda i, order=order: wnp.unravel_index(i, (4, 6), order))(flat)):  # fmt: skip
            for a, e in zip(found, want, strict=True):
                np.testing.assert_array_equal(a, e)
    for bad in (-1, 24):
        with pytest.raises(ValueError, match="unravel_index"):
            wnp.unravel_index([bad], (4, 6))
    with pytest.raises(ValueError, match="order"):
        wnp.unravel_index([1], (4, 6), "K")


def test_correlations_of_one_variable_and_of_columns_are_numpys():
    x = np.array([[1.0, 2.0, 4.0], [2.0, 1.0, 0.5]])
    for args, more in (((x,), {}), ((x[0],), {}), ((x[:1],), {}), ((x[0], x[1]), {}), ((x.T,), {"rowvar": False})):
        np.testing.assert_allclose(wnp.corrcoef(*args, **more), np.corrcoef(*args, **more), rtol=1e-14)


def test_blocks_at_positions():
    x = np.arange(12.0).reshape(3, 4)
    assert ops.slice(x, (1, 0), (2, 2)).tolist() == [[4, 5], [8, 9]]
    assert ops.slice_update(x, (0, 2), np.zeros((2, 2)))[:2, 2:].tolist() == [[0, 0], [0, 0]]
    for start in ((2, 0), (0, 3)):
        with pytest.raises(IndexError, match="does not lie inside"):
            ops.slice(x, start, (2, 2))


def test_scatters():
    assert ops.scatter([[0, 1], [0, 1]], [1.0, 2.0], (2, 2)).tolist() == [[0, 3], [0, 0]]
    x = np.array([1.0, 2.0, 3.0])
    for reduction, expected in ((None, 5), ("add", 7), ("mul", 10), ("max", 5), ("min", 2)):
        assert ops.scatter_update(x, [[1]], [5.0], reduction)[1] == expected
    with pytest.raises(ValueError, match="reduction"):
        ops.scatter_update(x, [[1]], [5.0], "div")


def test_an_ellipsis_for_no_axes_keeps_index_arrays_apart():
    a = np.arange(36.0).reshape(3, 4, 3)
    for index in [
        (slice(None), np.array([2, -3]), ..., [-2, -1]), (..., np.array([0, 1]), [1, 2], [0, 0]),
        (slice(None), ..., np.array([0, 1]), [1, 2]), (0, ..., 1, np.array([0, 1])), (0, 1, 2, ...),
    ]:  # fmt: skip
        np.testing.assert_array_equal(wg.tensor(a)[index].numpy(), a[index])
        expected = np.zeros(a.shape)
        np.add.at(expected, index, 1.0)
        np.testing.assert_array_equal(wg.grad(lambda x, index=index: x[index].sum())(a), expected)


def test_a_tensor_with_axes_is_not_one_index():
    with pytest.raises(TypeError, match="no axes"):
        [10, 20][wg.tensor([1])]
    assert [10, 20][wg.tensor(1)] == 20


@pytest.mark.parametrize("k", [0.5, 1.0, "1", None])
def test_a_number_of_quarters_is_an_integer(k: object) -> None:
    with pytest.raises(TypeError, match="rot90: k counts quarters and must be an integer"):
        wg.rot90(np.ones((2, 3)), k)


@pytest.mark.parametrize("step", [2**40, 2**62, 2**63, 2**70, -(2**40), -(2**62), -(2**63) - 1])
@pytest.mark.parametrize("signature", [None, [wg.TensorSpec((None,), np.float64)]])
def test_steps_of_slices_are_as_long_as_one_likes(step, signature):
    x = np.arange(6.0)
    for f in (lambda x: x[::step] * 2, lambda x: np.sum(x[1:4:step]), lambda x: x[4:2:step], lambda x: x[2::step]):
        np.testing.assert_array_equal(wg.function(f, input_signature=signature)(x), f(x))
    gradient = wg.grad(lambda x: np.sum(x[::step] ** 2))
    np.testing.assert_array_equal(
        wg.function(gradient, input_signature=signature)(x), [0] * 5 + [10] if step < 0 else 0
    )


@pytest.mark.parametrize("indices", [True, np.False_, np.array([True, False]), [[True, True, False]]])
def test_take_counts_booleans_as_numbers_as_numpy_does(indices):
    x = np.array([1.5, 2.5, 3.5])
    wanted = np.take(x, indices)
    for f in (ops.take, wg.function(lambda x, i: np.take(x, i)), lambda x, i: wg.value_and_grad(_taken)(x, i).value):
        np.testing.assert_array_equal(np.sum(f(x, indices)), np.sum(wanted))
        assert np.shape(f(x, indices)) in (np.shape(wanted), ())


def _taken(x, i):
    return np.sum(np.take(x, i))


@pytest.mark.parametrize(
    "index", [1, (slice(1, 3), slice(None, None, 2)), (..., -1), slice(3, 1), slice(None, None, -1), ()]
)
@pytest.mark.parametrize("way", ["set", "add"])
def test_functional_writes_at_slices(index: object, way: str) -> None:
    """Eager, compiled and in loops they are writes at a place; gradients of both operands are those of `x[index] = v`."""
    x = np.arange(12.0).reshape(4, 3)
    v = np.ones_like(x[index]) * 2.5

    def f(x, v):
        return np.sum(getattr(wg.asarray(x).at[index], way)(v) ** 3)

    def steps(x, v):
        return np.sum(wg.fori_loop(0, 2, lambda i, c: getattr(c.at[index], way)(c[index] * v), wg.asarray(x)) ** 3)

    wanted = x.copy()
    wanted[index] = v if way == "set" else wanted[index] + v
    after = wg.grad(lambda y: np.sum(y**3))(wanted)
    to_x = after.copy()
    if way == "set":
        to_x[index] = 0
    for g in (wg.grad(f, argnums=(0, 1)), wg.function(wg.grad(f, argnums=(0, 1)))):
        for found, expected in zip(g(x, v), (to_x, after[index]), strict=True):
            np.testing.assert_allclose(found, expected)
    check_gradients(steps, x, v, order=1)
    hessian = wg.jvp(wg.grad(steps), (x, v), (x + 1, v))[1]
    np.testing.assert_allclose(wg.function(lambda x, v: wg.jvp(wg.grad(steps), (x, v), (x + 1, v))[1])(x, v), hessian)
