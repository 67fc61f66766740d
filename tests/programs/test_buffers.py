"""`wg.buffer`: values like NumPy's in-place writes, gradients like those of lists and `stack`, the cost of slices.

What old versions of a buffer hold, and how the one array behind them stays right, is tested on the primitives; the laws
that every primitive obeys are in tests/prims/test_registry.py.
"""

from __future__ import annotations

import copy
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import growth_of_calls
from tests.support.python_engine.array import PyArray, to_nested
from tests.support.python_engine.interop import from_numpy
from wengert._control.call import Program, call, closed
from wengert._core.state import recording
from wengert._core.tensor import Tensor, fresh
from wengert._engines.numpy import NUMPY
from wengert._engines.numpy.buffer import BufferArray
from wengert._passes import optimise
from wengert._prims.buffer import buffer_add, buffer_new, buffer_set, buffer_value
from wengert._transforms.forward import Tangents

X = np.linspace(0.5, 1.5, 4)

# Indices of an array of shape (4, 3, 2): all kinds, and the orders that NumPy gives to what they read.
INDICES: dict[str, Any] = {
    "integer": 2, "negative": -1, "integers": (1, 2, 0), "slice": slice(1, 3), "step": slice(None, None, 2),
    "backwards": slice(None, None, -1), "backwards step": (slice(3, 0, -2), slice(None), 1), "ellipsis": (..., 0),
    "empty": slice(2, 2), "all": ..., "nothing": (), "new axis": (None, 1, None, slice(0, 2)),
    "array": np.array([0, 3, -1]), "list": [1, 2], "two arrays": ([0, 1], [2, -1]), "grid": ([[0], [1]], [0, 2]),
    "array behind slice": (slice(None), [2, 0]), "array and backwards": (slice(None, None, -1), [0, 2]),
    "separated": ([0, 1], slice(None), [1, 0]), "integer and array": (1, slice(0, 2), [0, 1]),
    "array and new axis": (None, [0, 2], None), "empty array": ([], 1), "mask": np.arange(4) > 1,
    "wide mask": np.arange(12).reshape(4, 3) % 2 == 0, "mask behind": (slice(None), np.array([True, False, True])),
}  # fmt: skip
DUPLICATES: dict[str, Any] = {
    "rows": [1, 1, -3], "elements": ([0, 0, 1], [1, 1, -1]), "behind slice": (slice(None), [0, -3, 2]),
    "backwards": (slice(None, None, -1), slice(None), [1, 1]),
}  # fmt: skip


def content() -> np.ndarray[Any, Any]:
    return np.arange(24.0).reshape(4, 3, 2)


def symbolic(index: Any) -> Any:
    """The index with tensors for its arrays of integers."""
    items = index if isinstance(index, tuple) else (index,)
    found = (*[wg.tensor(np.array(i, np.int64)) if type(i) is list else i for i in items],)
    return found if isinstance(index, tuple) else found[0]


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", INDICES)
def test_reads_and_writes_are_numpys(name: str) -> None:
    index, array = INDICES[name], content()
    b = wg.buffer(array)
    np.testing.assert_array_equal(b[index].numpy(), array[index])
    new = -np.arange(1.0, 1 + np.size(array[index])).reshape(np.shape(array[index]))
    b[index] = new
    expected = content()
    expected[index] = new
    np.testing.assert_array_equal(b.value.numpy(), expected)
    b[index] += 0.5
    expected[index] += 0.5
    np.testing.assert_array_equal(b.value.numpy(), expected)
    b[symbolic(index)] = 7.0
    expected[index] = 7.0
    np.testing.assert_array_equal(b.value.numpy(), expected)


@pytest.mark.parametrize("name", DUPLICATES)
def test_of_values_for_one_element_the_last_stands_and_has_the_gradient(name: str) -> None:
    index = DUPLICATES[name]
    shape = content()[index].shape
    new = np.random.default_rng(1).normal(size=shape)
    weights = np.random.default_rng(2).normal(size=(4, 3, 2))

    def f(b: Any, v: Any) -> Any:
        buffer = wg.buffer(b)
        buffer[index] = v
        return (buffer.value * weights).sum()

    expected = content()
    expected[index] = new
    value, grads = wg.value_and_grads(f)([content(), new])
    np.testing.assert_allclose(value, (expected * weights).sum())
    # the functional update is an independent way to the same gradient
    wanted = wg.grads(lambda b, v: (wg.tensor(b).at[index].set(v) * weights).sum())([content(), new])
    for got, want in zip(grads, wanted, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int32", "bool", "complex64"])
def test_a_buffer_keeps_its_dtype(dtype: str) -> None:
    b = wg.buffer(3, dtype)
    b[1] = True
    assert b.dtype == b[1].dtype == b.value.dtype == wg.tensor([1], dtype).dtype
    np.testing.assert_array_equal(b.value.numpy().astype(complex), [0, 1, 0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("size", "count"), [(5, 3000), (5, 1), (3000, 4), (3000, 2000)])
def test_halves_that_meet_in_a_place_are_rounded_once(dtype: str, size: int, count: int) -> None:
    rng = np.random.default_rng(3)
    held, places = rng.normal(size=size).astype(np.float32), rng.integers(-size, size, count)
    start, added = wg.tensor(held, dtype), wg.tensor(rng.normal(size=count), dtype)

    @wg.function
    def found(start: Any, added: Any) -> Any:
        total = start.copy()
        np.add.at(total, places, added)
        return total

    wanted = start.numpy().astype(np.float32)
    np.add.at(wanted, places, added.numpy().astype(np.float32))
    np.testing.assert_array_equal(found(start, added).numpy(), wanted.astype(start.numpy().dtype))


def test_what_makes_a_buffer() -> None:
    assert wg.buffer(3).shape == (3,)
    assert wg.buffer((2, 3)).shape == (2, 3)
    assert wg.buffer(()).shape == ()
    assert wg.buffer(np.int32(2)).dtype == np.float64
    assert wg.buffer([1, 2]).dtype == np.int64
    assert wg.buffer([1, 2], dtype="float32").dtype == np.float32
    assert wg.buffer(2.5).value.item() == 2.5
    assert wg.buffer(wg.buffer([1.0])).value.numpy() == [1.0]
    with pytest.raises(TypeError, match="a tuple is a shape"):
        wg.buffer((1.0, 2.0))
    with pytest.raises(ValueError, match="not negative"):
        wg.buffer((2, -1))


def test_a_buffer_of_no_axes() -> None:
    b = wg.buffer(2.0)
    b[...] = b * 3
    b[()] += 1
    assert (b.value.item(), float(b), b.ndim) == (7.0, 7.0, 0)
    with pytest.raises(TypeError, match="no axes"):
        len(b)


def test_a_buffer_stands_for_its_value() -> None:
    b: Any = wg.buffer([1.0, 2.0, 4.0])
    assert (b.shape, b.ndim, len(b), b.dtype) == ((3,), 1, 3, np.float64)
    assert (2 * b - b / 2).tolist() == [1.5, 3.0, 6.0]
    assert (b > 1.5).tolist() == [False, True, True]
    assert np.sin(b).tolist() == np.sin(np.array([1.0, 2.0, 4.0])).tolist()
    assert wg.sum(b).item() == b.sum().item() == 7.0
    assert [x.item() for x in b] == [1.0, 2.0, 4.0]
    assert np.asarray(b).tolist() == [1.0, 2.0, 4.0]
    assert repr(b) == "<buffer shape=(3,) dtype=float64 [1., 2., 4.]>"
    assert b.at[0].set(5.0).tolist() == [5.0, 2.0, 4.0]
    b[1:] = b[:-1]
    assert b.value.tolist() == [1.0, 1.0, 2.0]


def test_copies_are_buffers_of_their_own() -> None:
    b = wg.buffer([1.0, 2.0])
    for other in (copy.copy(b), copy.deepcopy(b)):
        other[0] = 5.0
        assert (other.value.tolist(), b.value.tolist()) == ([5.0, 2.0], [1.0, 2.0])


# -- aliasing ----------------------------------------------------------------------------------------------------------


def test_nobody_elses_array_is_written_to() -> None:
    array = np.zeros(3)
    held = wg.tensor(array)
    for source in (array, held):
        b = wg.buffer(source)
        b[0] = 1.0
    value, row = b.value, b[:]
    numbers = b.numpy()
    b[:] = 2.0
    assert array.tolist() == held.tolist() == [0.0, 0.0, 0.0]
    assert value.tolist() == row.tolist() == numbers.tolist() == [1.0, 0.0, 0.0]
    array[:] = 9.0
    assert b.value.tolist() == [2.0, 2.0, 2.0]


def test_the_seed_of_a_gradient_is_not_written_to() -> None:
    seed = np.ones(3)

    def f(x: Any) -> Any:
        b = wg.buffer(x)
        b[0] = b[1] * 2.0
        return b.value

    np.testing.assert_array_equal(wg.value_and_grad(f)(np.ones(3), dy=seed).grad, [0.0, 3.0, 1.0])
    assert seed.tolist() == [1.0, 1.0, 1.0]


def test_what_is_saved_for_the_gradient_survives_later_writes() -> None:
    def f(x: Any) -> Any:
        b = wg.buffer(x)
        y = b[:] * b[:]  # its rule keeps both reads
        z = wg.exp(b.value)
        b[:] = 0.0
        return (y + z).sum() + b[0]

    np.testing.assert_allclose(wg.grad(f)(X), 2 * X + np.exp(X))
    np.testing.assert_allclose(wg.grad(wg.function(f))(X), 2 * X + np.exp(X))


# -- versions ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def restored(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The versions that had to be copied because something went back to them."""
    found: list[Any] = []
    restore = BufferArray._restore
    monkeypatch.setattr(BufferArray, "_restore", lambda self: (found.append(self), restore(self))[1])
    return found


def test_every_version_keeps_what_it_holds(restored: list[Any]) -> None:
    rows = ((0, 2, 1),)
    versions = [buffer_new(fresh(np.arange(4.0)))]
    versions.append(buffer_set(fresh(np.array(9.0)), versions[-1], template=(1,)))
    versions.append(buffer_add(fresh(np.array([1.0, 2.0])), versions[-1], template=rows))
    twice = fresh(np.array([3, 3]))
    versions.append(buffer_add(fresh(np.array([1.0, 2.0])), versions[-1], twice, template=(None,)))
    assert not restored
    expected = [[0, 1, 2, 3], [0, 9, 2, 3], [1, 11, 2, 3], [1, 11, 2, 6]]
    for version, want in zip(versions, expected, strict=True):
        assert np.asarray(version._data).tolist() == want
    assert len(restored) == 3
    # a write to an old version leaves all others as they are
    branch = buffer_set(fresh(np.array(-1.0)), versions[1], template=(0,))
    assert buffer_value(branch).tolist() == [-1, 9, 2, 3]
    assert [buffer_value(v).tolist() for v in versions] == expected


def test_a_write_that_fails_changes_nothing() -> None:
    b = wg.buffer(3)
    with pytest.raises(IndexError):
        b[wg.tensor([0, 5])] = 1.0
    assert b.value.tolist() == [0.0, 0.0, 0.0]
    version = buffer_new(fresh(np.zeros(3)))
    with pytest.raises(ValueError, match="value has shape"):
        buffer_set(fresh(np.ones(2)), version, template=((0, 3, 1),))
    assert buffer_value(version).tolist() == [0.0, 0.0, 0.0]


def test_old_versions_are_freed() -> None:
    b = wg.buffer(10)
    b[0] = 1.0
    assert growth_of_calls(b.__setitem__, 0, 1.0, times=1000) < 5  # a version would be some hundred bytes


def test_a_long_chain_of_versions_is_dropped_without_recursion() -> None:
    version = first = buffer_new(fresh(np.zeros(2)))
    for _ in range(100_000):
        version = buffer_set(fresh(np.array(1.0)), version, template=(0,))
    assert buffer_value(first).tolist() == [0.0, 0.0]
    oldest = buffer_new(fresh(np.zeros(2)))
    version = oldest
    for _ in range(100_000):
        version = buffer_set(fresh(np.array(1.0)), version, template=(0,))
    del version, oldest


# -- gradients ---------------------------------------------------------------------------------------------------------


def recurrence(x: Any) -> Any:
    b = wg.buffer((5, 2))
    b[0] = x[:2]
    b[-1, 1:] = x[3:]
    for k in range(3):
        b[k + 1] = b[k] + 0.3 * wg.sin(b[k, ::-1] * x[k]) + b[-1]
    b[[1, 2], 0] *= x[1]
    b[1:4:2] += b[0] * b[3]
    return (b.value * b.value).sum() * b[2, 1]


def recurrence_of_lists(x: Any) -> Any:
    """The same by values that nobody changes."""
    rows = [x[:2]]
    last = wg.stack([0.0 * x[3], x[3]])
    for k in range(3):
        rows.append(rows[k] + 0.3 * wg.sin(rows[k][::-1] * x[k]) + last)
    factor = wg.stack([x[1], wg.ones_like(x[1])])
    rows = [rows[0], rows[1] * factor, rows[2] * factor, rows[3], last]
    product = rows[0] * rows[3]
    rows[1], rows[3] = rows[1] + product, rows[3] + product
    b = wg.stack(rows)
    return (b * b).sum() * b[2, 1]


def nth(f: Any, order: int) -> Any:
    """The derivative of an order, of a function of one number."""
    for _ in range(order):
        f = wg.grad(f)
    return f


def directional(f: Callable[..., Any], order: int) -> Callable[..., Any]:
    """The derivative of an order, contracted to a vector."""
    g = wg.grad(f)
    for _ in range(order - 1):
        g = (lambda inner: wg.grad(lambda x: (inner(x) * wg.tensor(X + 0.2)).sum()))(g)
    return g


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("traced", [False, True])
def test_derivatives_are_those_of_lists(order: int, traced: bool, restored: list[Any]) -> None:
    f = wg.function(recurrence) if traced else recurrence
    want = directional(recurrence_of_lists, order)(X)
    np.testing.assert_allclose(directional(f, order)(X), want, rtol=1e-10)
    np.testing.assert_allclose(wg.function(directional(f, order))(X), want, rtol=1e-10)
    assert not restored  # no sweep went back to an old version


def test_the_gradient_agrees_with_differences() -> None:
    wg.check_gradients(recurrence, X)


@pytest.mark.parametrize("name", INDICES)
def test_gradients_through_every_index(name: str) -> None:
    index = INDICES[name]
    weights = np.random.default_rng(3).normal(size=content()[index].shape)

    def f(x: Any, of: Callable[..., Any]) -> Any:
        y = of(x, x[index] * x[index])
        return (y * y).sum() + (y[index] * weights).sum()

    def written(x: Any, v: Any) -> Any:
        b = wg.buffer(x)
        b[index] = v
        return b

    for g in (written, lambda x, v: written(x, v).value):
        got = wg.grad(f)(content() / 7, g)
        want = wg.grad(f)(content() / 7, lambda x, v: x.at[index].set(v))
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_forward_mode() -> None:
    x, dot = wg.tensor(X), wg.tensor(X - 0.7)
    found = []
    for f in (recurrence, wg.function(recurrence), recurrence_of_lists):
        tangents = Tangents()
        tangents.set(x, dot)
        with recording(tangents):
            y = f(x)
        found.append(tangents.of(y).item())
    np.testing.assert_allclose(found[:2], [found[2]] * 2, rtol=1e-12)


def test_tapes() -> None:
    x = wg.tensor(X)
    with wg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = recurrence(x)
        v = wg.buffer(x)
        v[1] = v[0] * 2.0
        z = v.value
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), wg.grad(recurrence_of_lists)(X), rtol=1e-12)
    np.testing.assert_allclose(tape.jacobian(z, x).numpy(), [[1, 0, 0, 0], [2, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), wg.grad(recurrence_of_lists)(X), rtol=1e-12)


@pytest.mark.parametrize("method", [m.value for m in wg.AggregationMethod])
@pytest.mark.parametrize("gate", [False, True])
def test_gradients_of_a_graph(method: int, gate: bool) -> None:
    @wg.function
    def g(x: Any) -> Any:
        return wg.gradients(recurrence(x), x, aggregation_method=method, gate_gradients=gate)[0]

    np.testing.assert_allclose(g(X), wg.grad(recurrence_of_lists)(X), rtol=1e-12)


def test_an_unwritten_buffer_is_not_connected() -> None:
    with pytest.raises(wg.DisconnectedError):
        wg.grad(lambda x: wg.buffer(3).value.sum() + wg.stop_gradient(x))(1.0)


def test_what_is_overwritten_has_gradient_zero() -> None:
    def f(x: Any) -> Any:
        b = wg.buffer(2)
        b[0] = 1 / x  # an infinite slope at 0, behind a zero that must stay one
        b[0] = 3.0
        return b.value.sum() + x

    with np.errstate(divide="ignore"):
        assert wg.grad(f)(0.0) == 1.0


def test_complex_and_half_buffers() -> None:
    def f(x: Any) -> Any:
        b = wg.buffer(x)
        b[[0, 1]] = b[[1, 0]] * b[0]
        return wg.real((b.value * b.value).sum()) if b.dtype.kind == "c" else b.value.sum()

    def by_hand(x: Any) -> Any:
        y = wg.stack([x[1] * x[0], x[0] * x[0], x[2]])
        return wg.real((y * y).sum()) if x.dtype.kind == "c" else y.sum()

    for x in (np.array([1 + 2j, 2 - 1j, 3.0]), np.array([1, 2, 3], np.float16)):
        got = wg.grad(f)(x)
        assert got.dtype == x.dtype
        np.testing.assert_allclose(got, wg.grad(by_hand)(x))


# -- cost --------------------------------------------------------------------------------------------------------------


def chain(n: int, size: int) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        b = wg.buffer(size)
        b[0] = x
        for k in range(n):
            b[(k + 1) % size] = b[k % size] * 0.999
        return b[n % size]

    return f


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The elements that each kernel of NumPy's engine writes."""
    counts: list[int] = []

    def counted(kernel: Any) -> Any:
        def run(*operands: Any) -> Any:
            result = kernel(*operands)
            if type(result) is not BufferArray:
                counts.append(int(np.size(result)))
            elif any(type(x) is BufferArray for x in operands):
                counts.append(int(np.size(operands[0])))  # the value, which goes into the array that is there
            else:
                counts.append(int(np.prod(result.shape)))  # a new array
            return result

        return run

    for name, kernel in NUMPY.kernels.items():
        if name != "call":
            monkeypatch.setitem(NUMPY.kernels, name, counted(kernel))
    return counts


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "traced"])
@pytest.mark.parametrize("size", [None, 20_000], ids=["growing", "big"])
def test_eight_times_the_writes_are_eight_times_the_work(
    size: int | None, wrap: Any, order: int, work: list[int], restored: list[Any]
) -> None:  # fmt: skip
    """Work is counted in elements written, which no machine's load changes."""
    sums = []
    for n in (100, 800):
        g = nth(wrap(chain(n, size or n + 1)), order)
        g(1.0)  # traces
        work.clear()
        assert g(1.0) == pytest.approx(0.999**n if order == 1 else 0.0)
        sums.append(sum(work))
    whole = 6 * order * (size or 0)  # arrays made once, however many writes there are
    assert not restored
    assert sums[1] - whole < 10 * sums[0]  # quadratic work would be 64 times as much
    assert sums[0] < whole + 100 * 40 * order


def test_memory_of_writes_and_their_gradients() -> None:
    size = 100_000
    g = wg.grad(chain(200, size))
    tracemalloc.start()
    g(1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * size * 8  # the buffer, its zeros, the cotangent and its zeros; 200 copies would be 200


@pytest.mark.parametrize("size", [None, 100_000], ids=["growing", "big"])
def test_eight_thousand_writes(size: int | None) -> None:
    """The clock's word, too: 8,000 writes and their gradients take about 8 times what 1,000 take."""
    times = []
    for n in (1000, 8000):
        g = wg.grad(chain(n, size or n + 1))
        found = []
        for _ in range(3):
            start = time.process_time()
            assert g(1.0) == pytest.approx(0.999**n)
            found.append(time.process_time() - start)
        times.append(min(found))
    assert times[1] < 30 * times[0]  # 8, and room for caches that others use, too; quadratic time would be 64


# -- traces ------------------------------------------------------------------------------------------------------------


def test_a_buffer_outside_of_a_function_is_its_state() -> None:
    b = wg.buffer(4)

    @wg.function
    def step(x: Any, k: Any) -> Any:
        b[k] = x
        b[k + 1] += b[k] * 2
        return b.value.sum()

    assert [step(float(k + 1), np.int64(k)) for k in range(3)] == [3.0, 7.0, 12.0]
    assert b.value.tolist() == [1.0, 2.0, 3.0, 6.0]
    before = b.value
    b[:] = 0.0
    assert step(1.0, np.int64(0)) == 3.0  # and is read anew at each call
    assert before.tolist() == [1.0, 2.0, 3.0, 6.0]
    assert step.trace_count == 1


def test_calls_cost_slices_too(restored: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    b = wg.buffer(1000)

    @wg.function
    def step(k: Any) -> Any:
        b[k + 1] = b[k] + 1.0
        return b[k]

    step(np.int64(0))
    first = b._held._data
    arrays = []
    monkeypatch.setattr(BufferArray, "__array__", lambda self, *a, **k: arrays.append(self))
    for k in range(100):
        step(np.int64(k))
    assert not restored
    assert not arrays
    assert b._held._data._array is not None
    assert first._array is None  # the array went on to the newest version


def test_the_gradient_goes_through_calls() -> None:
    def f(x: Any) -> Any:
        b = wg.buffer(4)
        b[0] = x

        @wg.function
        def step(k: Any) -> Any:
            b[k + 1] = b[k] * x + 1.0
            return b[k + 1]

        total: Any = 0.0
        for k in range(3):
            total = total + step(np.int64(k))
        return total + b[3] * b[2]

    def plain(x: Any) -> Any:
        a = x * x + 1
        b = a * x + 1
        c = b * x + 1
        return a + b + c + c * b

    for order in (1, 2, 3):
        assert nth(f, order)(1.3) == pytest.approx(nth(plain, order)(1.3))


def test_a_call_that_fails_leaves_the_buffer_as_it_was() -> None:
    b = wg.buffer(3)

    @wg.function
    def f(k: Any) -> Any:
        b[0] = 5.0
        return b[k]

    with pytest.raises(IndexError):
        f(np.int64(7))
    assert b.value.tolist() == [0.0, 0.0, 0.0]
    assert f(np.int64(0)) == 5.0


def test_a_buffer_made_in_a_trace_is_none_of_its_state() -> None:
    kept: list[Any] = []

    @wg.function
    def f(x: Any) -> Any:
        b = wg.buffer(x)
        kept.append(b)
        b[0] = x[1]
        return b

    assert [f(X)[0], f(X)[0]] == [X[1], X[1]]
    graph = f.trace(X)
    assert not graph.reads
    assert not graph.writes
    for use in (lambda: kept[0].value, lambda: kept[0][0], lambda: kept[0].__setitem__(0, 1.0)):
        with pytest.raises(wg.TracingError, match="made in a trace"):
            use()
    assert "shape=(4,)" in repr(kept[0])


def test_unknown_extents() -> None:
    @wg.function(input_signature=[wg.TensorSpec((None,), "float64")])
    def f(x: Any) -> Any:
        b = wg.buffer((x.shape[0] + 1,))
        b[1:] = x
        b[:-1] += x[::-1]
        b[-1] *= 2
        return (b.value * b.value).sum()

    def plain(x: Any) -> Any:
        b = np.zeros(len(x) + 1)
        b[1:] = x
        b[:-1] += x[::-1]
        b[-1] *= 2
        return (b * b).sum()

    for n in (2, 3, 5):
        x = np.arange(1.0, n + 1)
        assert f(x) == pytest.approx(plain(x))
        steps = np.eye(n) * 1e-6
        want = [(plain(x + s) - plain(x - s)) / 2e-6 for s in steps]
        np.testing.assert_allclose(wg.grad(f)(x), want, rtol=1e-6)
    assert f.trace_count == 1


@pytest.mark.parametrize("size", [2, 20_000], ids=["folded", "shared"])
def test_passes_keep_buffers_apart(size: int) -> None:
    @wg.function
    def f(x: Any) -> Any:
        a, b = wg.buffer(size), wg.buffer(size)  # equal computations: of small arrays folded, of large ones shared
        a[0] = x
        first = a.value
        a[0] = 2 * x
        b[1] = x
        b[1] = 3 * x
        return wg.stack([first, a.value, b.value])[:, :2]

    assert sum(node.op is buffer_new for node in optimise(f.trace(1.0)).nodes) == (size > 2)
    for _ in range(2):  # no constant of the program is written to
        assert f(1.0).tolist() == [[1, 0], [2, 0], [0, 3]]


def test_a_variable_and_a_buffer() -> None:
    v = wg.Variable([1.0, 2.0], name="v")
    b = wg.buffer(v)
    b[0] = v[1] * 3.0
    v.assign(b)
    b[1] = -1.0
    assert v.numpy().tolist() == [6.0, 2.0]

    def f() -> Any:
        c = wg.buffer(2)
        c[:] = v
        c[0] = c[1] * v[0]
        return c.value.sum()

    np.testing.assert_array_equal(wg.variable_grads(f).grads["v"].numpy(), [2.0, 7.0])
    np.testing.assert_array_equal(wg.variable_grads(wg.function(f)).grads["v"].numpy(), [2.0, 7.0])


def test_recomputation_repeats_what_was_read() -> None:
    def f(x: Any, wrap: Any) -> Any:
        b = wg.buffer(3)
        b[0] = x * x
        inner = wrap(lambda y: y * b[0] * b[0])
        z = inner(x)
        b[0] = 0.0  # before the gradient repeats the computation
        return z + b[0]

    for g in (f, wg.function(f)):
        assert wg.grad(g)(2.0, wg.recompute_grad) == pytest.approx(5 * 2.0**4)
        assert wg.grad(g)(2.0, lambda h: h) == pytest.approx(5 * 2.0**4)

    def local(x: Any) -> Any:
        c = wg.buffer(2)
        c[0] = x
        c[1] = c[0] * x
        return c[1] * c[0]

    assert wg.grad(wg.recompute_grad(local))(2.0) == pytest.approx(12.0)


def test_a_write_of_a_recomputed_function_is_followed() -> None:
    def f(x: Any) -> Any:
        b = wg.buffer(1)

        @wg.recompute_grad
        def inner(y: Any) -> Any:
            b[0] = y * y
            return y

        return inner(x) + b[0]

    assert f(2.0) == 6.0
    assert wg.grad(f)(2.0) == pytest.approx(5.0)
    assert wg.grad(wg.function(f))(2.0) == pytest.approx(5.0)


def test_batched() -> None:
    rows = np.stack([X, X + 0.1, X - 0.2])
    program = Program(closed(wg.function(wg.grad(recurrence)).trace(X)))
    assert call.batch_rule is not None
    together = call.batch_rule(call, (fresh(rows),), (True,), (program,))
    np.testing.assert_allclose(together[0].numpy(), [wg.grad(recurrence_of_lists)(x) for x in rows], rtol=1e-10)


def test_on_the_plain_python_engine() -> None:
    x = fresh(from_numpy(X))
    tape = wg.GradientTape()
    with tape:
        tape.watch(x)
        b = wg.buffer(x)
        b[[0, -1]] = b[1] * b[1:3]
        b[::2] += x[0]
        y = (b.value * b.value).sum()
    gradient = tape.gradient(y, x)
    assert type(gradient._data) is PyArray

    def same(x: Any) -> Any:
        b = x.at[np.array([0, -1])].set(x[1] * x[1:3])
        b = b.at[::2].add(x[0])
        return (b * b).sum()

    np.testing.assert_allclose(to_nested(gradient._data), wg.grad(same)(X), rtol=1e-12)


# -- loops and branches ------------------------------------------------------------------------------------------------


def euler(a: Any) -> Any:
    b = wg.buffer(21)
    b[0] = 1.0

    def step(k: Any, total: Any) -> Any:
        b[k + 1] = b[k] - 0.1 * a * b[k]
        return total + b[k] * a

    total = wg.fori_loop(0, 20, step, 0.0 * a)
    return b[20] + total + b.value.sum()


def euler_of_lists(a: Any) -> Any:
    y, total = [1.0 + 0.0 * a], 0.0 * a
    for k in range(20):
        y.append(y[k] - 0.1 * a * y[k])
        total = total + y[k] * a
    return y[20] + total + sum(y)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "traced"])
def test_a_loop_carries_a_buffer(wrap: Any, order: int) -> None:
    assert nth(wrap(euler), order)(1.3) == pytest.approx(nth(euler_of_lists, order)(1.3), rel=1e-10)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_traced_loop_copies_whole_arrays_as_often_however_long_it_is(
    order: int, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    copies: list[Any] = []
    give = BufferArray.__array__
    monkeypatch.setattr(BufferArray, "__array__", lambda self, *a, **k: (copies.append(self), give(self, *a, **k))[1])
    found = []
    for n in (10, 40):

        def f(x: Any, n: int = n) -> Any:
            b = wg.buffer(n + 1)
            b[0] = x

            def step(k: Any, c: Any) -> Any:
                b[k + 1] = b[k] * x + c
                return b[k] * c

            return wg.fori_loop(0, n, step, x) + b.value.sum()

        g = nth(wg.function(f), order)
        g(0.3)
        copies.clear()
        g(0.3)
        found.append(len(copies))
    assert found[0] == found[1]


@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "traced"])
@pytest.mark.parametrize(("x", "want"), [(2.0, [16.0, 20.0, 16.0]), (-2.0, [14.0, -15.0, 8.0])])
def test_a_branch_writes_to_a_buffer(wrap: Any, x: float, want: list[float]) -> None:
    def f(x: Any) -> Any:
        b = wg.buffer(3)
        b[0] = x

        def yes() -> Any:
            b[1] = b[0] * x
            return b[1]

        def no() -> Any:
            b[2] = b[0] * 3.0
            return x

        return wg.cond(x > 0, yes, no) + b.value.sum() * b[0]

    # x^2 + (x + x^2) x, and x + (x + 3 x) x
    g = wrap(f)
    assert [nth(g, order)(x) for order in range(3)] == pytest.approx(want)


@pytest.mark.parametrize("checkpoint", ["all", "sqrt", 3])
def test_snapshots_of_a_loop_with_a_buffer(checkpoint: Any) -> None:
    def f(p: Any, policy: Any) -> Any:
        b = wg.buffer(21)
        b[0] = p

        def step(k: Any, total: Any) -> Any:
            b[k + 1] = wg.sin(b[k] * p) + total
            return total * 0.5 + b[k]

        return wg.fori_loop(0, 20, step, 0.0 * p, checkpoint=policy) + b.value.sum()

    plain = wg.grad(lambda p: f(p, "all"))(0.7)
    assert wg.grad(wg.function(lambda p: f(p, checkpoint)))(0.7) == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "traced"])
def test_buffers_of_nested_loops(wrap: Any) -> None:
    def f(x: Any) -> Any:
        b = wg.buffer((4, 3))
        b[0, 0] = x

        def row(i: Any, c: Any) -> Any:
            own = wg.buffer(3)

            def element(j: Any, d: Any) -> Any:
                b[i, j] = b[i - 1, j] * x + d
                own[j] = b[i, j]
                return own[j]

            return wg.fori_loop(0, 3, element, c) + own.value.sum()

        return wg.fori_loop(1, 4, row, x) + b.value.sum()

    def by_hand(x: Any) -> Any:
        above, c, total = [x, 0.0 * x, 0.0 * x], x, x
        for _ in range(3):
            here = []
            for j in range(3):
                c = above[j] * x + c
                here.append(c)
            c, above, total = c + sum(here), here, total + sum(here)
        return c + total

    g = wrap(f)
    for order in (0, 1, 2):
        assert nth(g, order)(1.1) == pytest.approx(nth(by_hand, order)(1.1), rel=1e-10)


def test_a_loop_in_a_function_writes_to_a_buffer_outside() -> None:
    b = wg.buffer(4)

    @wg.function
    def f(x: Any) -> Any:
        def step(k: Any, c: Any) -> Any:
            b[k] = x * c
            return c + 1.0

        return wg.fori_loop(0, 4, step, 0.0 * x)

    assert (f(2.0), b.value.tolist()) == (4.0, [0.0, 2.0, 4.0, 6.0])
    assert (f(3.0), b.value.tolist()) == (4.0, [0.0, 3.0, 6.0, 9.0])


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "traced"])
@pytest.mark.parametrize(("dtype", "value", "words"), [
    ("int64", 0.5, "float64 values do not go into an array of int64"),
    ("float64", 1j, "complex128 values do not go into an array of float64"),
    ("bool", 2, "values do not go into an array of bool"),
])  # fmt: skip
def test_a_write_that_would_lose_is_refused(wrap: Any, dtype: str, value: Any, words: str) -> None:
    def f(x: Any) -> Any:
        b = wg.buffer(3, dtype)
        b[0] = x
        return b

    with pytest.raises(TypeError, match=words):
        wrap(f)(wg.tensor(value))


@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "traced"])
def test_a_value_that_does_not_fit_is_refused(wrap: Any) -> None:
    def f(x: Any) -> Any:
        b = wg.buffer((4, 2))
        b[1:3] = x
        return b

    with pytest.raises(ValueError, match=r"\(3,\), which does not broadcast to \(2, 2\)"):
        wrap(f)(np.ones(3))


@pytest.mark.parametrize(("index", "words"), [
    (5, "out of bounds"), ((0, 0, 0), "index is for 3 axes"), ("x", "an index is"), (0.5, "an index is"),
    (True, "lone True or False"), ((np.bool_(False), 0), "lone True or False"), (np.array([True]), "does not fit"),
])  # fmt: skip
def test_an_index_that_is_none_is_refused(index: Any, words: str) -> None:
    b = wg.buffer((4, 2))
    with pytest.raises(IndexError, match=words):
        b[index]
    with pytest.raises(IndexError, match=words):
        b[index] = 1.0


def test_numbers_are_refused_under_differentiation() -> None:
    def f(x: Any) -> Any:
        b = wg.buffer(2)
        b[0] = x
        return np.array([float(b[0])]).sum() + x

    with pytest.raises(wg.LostGradientError):
        wg.grad(f)(1.0)

    def g(x: Any) -> Any:
        b = wg.buffer(2)
        b[0] = x
        np.zeros(2)[:] = b
        return x

    with pytest.raises(wg.LostGradientError):
        wg.grad(g)(1.0)


def test_a_symbol_does_not_go_where_there_is_no_trace() -> None:
    kept: list[Tensor] = []
    wg.function(lambda x: (kept.append(x), x)[1])(1.0)
    b = wg.buffer(2)
    with pytest.raises(ValueError, match="outside the trace"):
        b[0] = kept[0]
    assert b.value.tolist() == [0.0, 0.0]


def test_saving_a_function_with_a_buffer(tmp_path: Any) -> None:
    b = wg.buffer(2)

    @wg.function
    def outer(x: Any) -> Any:
        return b[0] + x

    @wg.function
    def inner(x: Any) -> Any:
        c = wg.buffer(3)
        c[1:] = x
        return c

    outer(1.0)
    with pytest.raises(TypeError, match="buffer made outside"):
        wg.save(outer, tmp_path / "outer")
    inner(2.0)
    wg.save(inner, tmp_path / "inner")
    assert wg.load(tmp_path / "inner")(2.0).tolist() == [0.0, 2.0, 2.0]


def test_debug_nans_sees_writes() -> None:
    def f(x: Any) -> Any:
        b = wg.buffer(2)
        b[0] = x
        b[1] = wg.log(b[0])
        return b[1]

    with wg.debug_nans():
        assert f(1.0) == 0.0
        with pytest.raises(ArithmeticError, match="log"):
            f(-1.0)
