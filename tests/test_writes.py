"""Tensors that are written to behave as the NumPy arrays that they stand for."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from tests.support.write_idioms import IDIOMS
from wengert._core.engine import ENGINES
from wengert._core.state import STATE
from wengert._engines.numpy.buffer import BufferArray, _put

# Programs here set `a.shape`, which NumPy deprecates from 2.5 on; programs of before do it, and tensors follow them.
pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")

RNG = np.random.default_rng(5)
X, M = RNG.uniform(0.2, 1.2, 6), RNG.uniform(0.2, 1.2, (4, 5))
WEIGHTS = np.cos(np.arange(60.0))


def expected(f: Any, x: Any, m: Any) -> Any:
    return np.array(f(np, np.array(x), np.array(m)), float)


def loss_of(f: Any) -> Any:
    def loss(x: Any, m: Any) -> Any:
        y = f(wnp, x, m)
        return (y * WEIGHTS[: int(np.prod(y.shape))].reshape(y.shape)).sum()

    return loss


def differences(f: Any) -> tuple[Any, Any]:
    def loss(v: Any) -> Any:
        y = expected(f, v[:6], v[6:].reshape(4, 5))
        return (y.ravel() * WEIGHTS[: y.size]).sum()

    v, h = np.concatenate([X, M.ravel()]), 1e-6
    g = np.array([(loss(v + h * e) - loss(v - h * e)) / (2 * h) for e in np.eye(26)])
    return g[:6], g[6:].reshape(4, 5)


@pytest.mark.parametrize("name", IDIOMS)
def test_an_idiom_gives_what_numpy_gives_and_its_gradient(name: str) -> None:
    f = IDIOMS[name]
    x, m = X.copy(), M.copy()
    np.testing.assert_allclose(np.asarray(f(wnp, wg.tensor(x), wg.tensor(m))), expected(f, X, M), rtol=1e-12)
    value, found = wg.value_and_grad(loss_of(f), argnums=(0, 1), unconnected_gradients="zero")(x, m)
    for own, given in ((x, X), (m, M)):
        np.testing.assert_array_equal(own, given)  # the caller's arrays are not written to
    for g, wanted in zip(found, differences(f), strict=True):
        np.testing.assert_allclose(g, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", IDIOMS)
def test_an_idiom_compiles(name: str) -> None:
    f = IDIOMS[name]
    program = wg.function(lambda x, m: f(wnp, x, m))
    for _ in range(2):
        np.testing.assert_allclose(program(X, M), expected(f, X, M), rtol=1e-12)
    found = wg.function(wg.grad(loss_of(f), argnums=(0, 1), unconnected_gradients="zero"))(X, M)
    for g, wanted in zip(found, differences(f), strict=True):
        np.testing.assert_allclose(g, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", IDIOMS)
def test_an_idiom_under_vmap_and_jvp(name: str) -> None:
    f = IDIOMS[name]
    xs, ms = np.stack([X, X[::-1]]), np.stack([M, M[::-1]])
    found = wg.vmap(lambda x, m: f(wnp, x, m))(xs, ms)
    np.testing.assert_allclose(found, [expected(f, x, m) for x, m in zip(xs, ms, strict=True)], rtol=1e-12)
    dx, dm = np.cos(X), np.sin(M)
    _, slope = wg.jvp(lambda x, m: 0.0 * (x.sum() + m.sum()) + loss_of(f)(x, m), (X, M), (dx, dm))
    gx, gm = differences(f)
    np.testing.assert_allclose(slope, (gx * dx).sum() + (gm * dm).sum(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "function"])
def test_a_mask_without_axes_takes_all_or_nothing(held: bool, wrap: Any) -> None:
    def write(y: Any, v: Any, mask: Any) -> Any:
        y = y * 1.0
        y[mask] = v
        return y

    start, vector = np.arange(4.0), np.array([5.0, 6.0, 7.0, 8.0])
    for mask in (np.array(held), np.bool_(held), held):
        for v in (9.0, vector):
            wanted = write(start, v, mask)
            f = wrap(lambda y, v, mask=mask: write(y, v, mask))
            np.testing.assert_array_equal(f(start, v), wanted)
            to_y, to_v = wg.grad(lambda y, v, f=f: wg.sum(vector * f(y, v)), argnums=(0, 1))(start, v)
            np.testing.assert_array_equal(to_y, vector * (not held))
            np.testing.assert_array_equal(to_v, held * (vector if np.ndim(v) else vector.sum()))
    by_value = wrap(lambda y, v: write(y, v, wg.sum(y) > (5.0 if held else 7.0)))
    np.testing.assert_array_equal(by_value(start, 9.0), write(start, 9.0, held))
    np.testing.assert_array_equal(wg.jacobian(by_value)(start, 9.0), np.eye(4) * (not held))


def test_setting_the_shape_says_where_it_would_have_to_copy() -> None:
    x = wg.tensor(np.arange(6.0).reshape(2, 3))
    turned = (x * 1.0).T
    with pytest.raises(AttributeError, match="reshape"):
        turned.shape = (6,)
    with pytest.raises(ValueError, match="size 6"):
        x.shape = (5,)
    x.shape = -1
    assert x.shape == (6,)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: np.reshape(x, (6, 4)), lambda x: x.reshape(-1), lambda x: x.T, lambda x: np.moveaxis(x, 0, -1),
        lambda x: np.reshape(x, (2, 12))[1], lambda x: np.reshape(x[1:], (2, -1)), lambda x: np.ravel(x.T),
        lambda x: np.expand_dims(x, 1)[..., 0], lambda x: np.squeeze(x[:1]), lambda x: x[:, 1].reshape(3, 1, 2),
        lambda x: np.reshape(x.T, (4, 6)), lambda x: np.swapaxes(x, 0, 1)[1:].T,
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_kept", [True, False])
def test_views_that_are_only_read_until_a_write_lie_where_numpys_do(view: Any, is_kept: bool) -> None:
    array = np.arange(24.0).reshape(3, 4, 2)
    tensor = wg.tensor(array)
    ours, theirs = view(tensor), view(array)
    kept = tensor if is_kept else None
    del tensor
    other_ours, other_theirs = ours[:1], theirs[:1]
    ours[...] *= 2.0
    theirs[...] *= 2.0
    other_ours[...] += 1.0
    other_theirs[...] += 1.0
    np.testing.assert_array_equal(ours.numpy(), theirs)
    np.testing.assert_array_equal(other_ours.numpy(), other_theirs)
    if kept is not None:
        np.testing.assert_array_equal(kept.numpy(), array)
        kept[0] = 5.0
        array[0] = 5.0
        np.testing.assert_array_equal(ours.numpy(), theirs)


_PLACES = np.array([3, 1, 7, 5])
# what is written into a table of many rows, and a view of it: none costs more than what it writes
_SLICES: dict[str, tuple[Any, Any]] = {
    "slice": (lambda np_, a, b, x, k: b.__setitem__((k, slice(2, 6)), x), lambda a: a),
    "in_a_view": (lambda np_, a, b, x, k: b.__setitem__((k, slice(2, 6)), x), lambda a: a[1:, 1:][::2]),
    "in_a_view_backwards": (lambda np_, a, b, x, k: b.__setitem__((k, slice(2, 6)), x), lambda a: a[::-1]),
    "element_added": (lambda np_, a, b, x, k: b.__setitem__((k, 3), b[k, 3] + x[0]), lambda a: a),
    "row_multiplied": (lambda np_, a, b, x, k: b[k].__imul__(x[0]), lambda a: a),
    "integers": (lambda np_, a, b, x, k: b.__setitem__((_PLACES + k, _PLACES), x), lambda a: a),
    "integers_twice": (lambda np_, a, b, x, k: b.__setitem__((_PLACES // 2 + k, 0), x), lambda a: a),
    "rows": (lambda np_, a, b, x, k: b.__setitem__(_PLACES + k, x[:, None]), lambda a: a),
    "integers_in_a_view": (lambda np_, a, b, x, k: b.__setitem__((_PLACES + k, _PLACES), x), lambda a: a[1:, 1:]),
    "integers_in_columns": (lambda np_, a, b, x, k: b.__setitem__((_PLACES, k), x), lambda a: a.T),
    "integers_in_one_row": (lambda np_, a, b, x, k: b.__setitem__(_PLACES + k, x), lambda a: a.ravel()),
    "read_and_written": (lambda np_, a, b, x, k: b.__setitem__(_PLACES + k, b[_PLACES] + x), lambda a: a.reshape(-1)),
    "slice_of_columns": (lambda np_, a, b, x, k: b.__setitem__((slice(2, 6), k), x), lambda a: a.T),
    "mask_of_a_row": (lambda np_, a, b, x, k: b.__setitem__((k, np.arange(10) % 4 == 1), x[:3]), lambda a: a),
    "add_at": (lambda np_, a, b, x, k: np_.add.at(b, (_PLACES // 2 + k, 0), x), lambda a: a),
    "add_at_a_view": (lambda np_, a, b, x, k: np_.add.at(b, (_PLACES // 2 + k, 0), x), lambda a: a[1:]),
    "multiply_at": (lambda np_, a, b, x, k: np_.multiply.at(b, (_PLACES // 2 + k, 0), x), lambda a: a),
    "maximum_at": (lambda np_, a, b, x, k: np_.maximum.at(b, _PLACES + k, x[:, None]), lambda a: a[:, :5]),
    "divide_at": (lambda np_, a, b, x, k: np_.divide.at(b, (_PLACES + k, 0), x), lambda a: a),
    "out": (lambda np_, a, b, x, k: np_.multiply(x, 2.0, out=b[k, 2:6]), lambda a: a),
    "copyto": (lambda np_, a, b, x, k: np_.copyto(b[k, 2:6], x), lambda a: a),
    "put": (lambda np_, a, b, x, k: np_.put(b, _PLACES + 10 * k, x), lambda a: a),
    "flat": (lambda np_, a, b, x, k: b.flat.__setitem__(slice(7 * k, 7 * k + 4), x), lambda a: a),
    "flat_read": (lambda np_, a, b, x, k: b.__setitem__((k, slice(0, 4)), b.flat[_PLACES] + x), lambda a: a),
    "views_in_between": (lambda np_, a, b, x, k: a.T.__setitem__((slice(2, 6), k), x + a.real[k, :4]), lambda a: a),
    "diagonal": (lambda np_, a, b, x, k: b.__setitem__((k, slice(2, 6)), x * np_.diagonal(a)[3]), lambda a: a),
}  # fmt: skip


@contextmanager
def kernels_on_whole_arrays(size: int) -> Iterator[list[str]]:
    """The kernels of NumPy's engine that run on arrays of so many elements, or give one."""
    kernels, met = ENGINES["numpy"].kernels, list[str]()

    def watched(name: str, own: Any) -> Any:
        def kernel(*operands: Any) -> Any:
            found = own(*operands)
            read = () if name == "buffer_get" else operands  # which looks at the place alone, also in a plain array
            if any(isinstance(x, np.ndarray) and x.size >= size for x in (*read, found)):
                met.append(name)
            return found

        return kernel

    before = dict(kernels)
    restore = BufferArray._restore
    kernels.update({name: watched(name, own) for name, own in before.items()})
    BufferArray._restore = lambda self: (met.append("restore"), restore(self))[1]  # type: ignore[method-assign]
    try:
        yield met
    finally:
        kernels.update(before)
        BufferArray._restore = restore


@pytest.mark.parametrize("name", _SLICES)
def test_no_write_costs_more_than_what_it_writes(name: str) -> None:
    write, view_of = _SLICES[name]
    rows = 60

    def written(np_: Any, x: Any, count: int) -> Any:
        a = np_.zeros((rows, 10)) + 1.5
        a[0, 0] = x[0]
        b = view_of(a)
        for k in range(count):
            write(np_, a, b, x, k)
        return a

    x, weights = np.linspace(1.0, 2.0, 4), np.cos(np.arange(rows * 10.0)).reshape(rows, 10)
    found = wg.vjp(lambda x: written(wnp, x, 5), x)
    np.testing.assert_allclose(found[0], written(np, x, 5), rtol=1e-12)
    wg.check_gradients(lambda x: (weights * written(wnp, x, 5)).sum(), x)
    dx = np.sin(x)
    counts = []
    for count in (4, 12):
        with kernels_on_whole_arrays(rows * 10 // 2) as met:
            gradient = wg.grad(lambda x, count=count: (weights * written(wnp, x, count)).sum())(x)
            _, slope = wg.jvp(lambda x, count=count: (weights * written(wnp, x, count)).sum(), (x,), (dx,))
        np.testing.assert_allclose(slope, (gradient * dx).sum(), rtol=1e-9)
        counts.append(sorted(met))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("is_written", [True, False])
def test_views_of_views_may_be_many(is_written: bool) -> None:
    def shifted(np_: Any, x: Any) -> Any:
        a = x * 2.0
        if is_written:
            a[0] = 1.0
        b = a
        for _ in range(2000):
            b = b[1:]
        b[0] = 3.0
        b.reshape(-1, 2)[1] *= 5.0
        return a

    x = np.arange(2010.0)
    np.testing.assert_array_equal(wg.vjp(lambda x: shifted(wnp, x), x)[0], shifted(np, x))
    slope = np.full(2010, 2.0)
    slope[[2000, *([0] if is_written else [])]] = 0.0
    slope[2002:2004] = 10.0
    np.testing.assert_array_equal(wg.grad(lambda x: shifted(wnp, x).sum())(x), slope)


def test_an_array_that_outlives_a_tape_does_not_keep_it() -> None:
    x = wg.tensor(np.array([1.0, 2.0]))
    with wg.GradientTape() as tape:
        tape.watch(x)
        a = wnp.zeros(3)
        a[1:] = x
        kept = [weakref.ref(recorder) for recorder in STATE.recorders]
        assert (a * 2.0).shape == (3,)  # a read, which the array remembers for these recorders
    del tape
    gc.collect()
    assert kept
    assert [reference() for reference in kept] == [None]
    np.testing.assert_array_equal(a.numpy(), [0.0, 1.0, 2.0])


WIDE = 5000  # elements of a write that is put off until somebody needs the array


def test_a_wide_write_keeps_what_it_replaces_only_where_that_is_asked_for() -> None:
    start = BufferArray(np.zeros(2 * WIDE))
    older = BufferArray(np.zeros(2 * WIDE)).at_place(((0, WIDE, 1),), np.ones(WIDE), adds=False)
    newer = older.at_place(((0, WIDE, 1),), np.full(WIDE, 2.0), adds=True)
    chained = start.at_place(((0, WIDE, 1),), np.ones(WIDE), adds=False)
    chained = chained.written(_put, (None,), (np.arange(WIDE),), np.full(WIDE, 7.0))
    np.testing.assert_array_equal(np.asarray(newer)[[0, -1]], [3, 0])
    np.testing.assert_array_equal(np.asarray(older)[[0, -1]], [1, 0])
    np.testing.assert_array_equal(np.asarray(chained)[[0, -1]], [7, 0])
    np.testing.assert_array_equal(np.asarray(start)[[0, -1]], [0, 0])
    assert newer._newer is None and newer._replaced is None


def test_what_was_written_widely_and_handed_out_is_the_callers_to_change() -> None:
    b = wg.buffer(np.zeros(2 * WIDE))

    def f(x: Any) -> Any:
        y = x * 2.0
        b[:WIDE] = y
        return y

    y, dy = wg.jvp(f, (np.ones(WIDE),), (np.ones(WIDE),))
    y[:], dy[:] = 7.0, 7.0
    np.testing.assert_array_equal(b.value[[0, -1]], [2, 0])


def test_a_value_that_the_caller_goes_on_to_change_is_written_as_it_was() -> None:
    b, given = wg.buffer(np.zeros(2 * WIDE)), np.ones(WIDE)
    b[:WIDE] = given
    given[:] = 7.0
    b[np.arange(WIDE)[::-1]] = given
    given[:] = 9.0
    assert b.value[0] == b.value[WIDE - 1] == 7


def test_a_wide_write_beyond_the_array_is_an_error_where_it_stands() -> None:
    a = wg.tensor(np.zeros(2 * WIDE))
    with pytest.raises(IndexError):
        a[np.full(WIDE, 2 * WIDE)] = np.ones(WIDE) * a[:WIDE]
    a[np.full(WIDE, 2 * WIDE - 1)] = wg.tensor(np.arange(float(WIDE)))
    np.testing.assert_array_equal(a.numpy()[[0, -1]], [0, WIDE - 1])
