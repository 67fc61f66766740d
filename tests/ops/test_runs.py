"""Elements at known positions that form runs: values as NumPy has them, gradients as those of the elements one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import numpy as wnp
from wengert.ops.repeating import picked, runs

RANDOM = np.random.default_rng(7)
MODES = ("edge", "reflect", "symmetric", "wrap")
WIDTHS = [((0, 1),), ((3, 0),), ((2, 5),), ((17, 4),)]
POSITIONS = {
    "forward": np.arange(2, 9), "backward": np.arange(8, -1, -1), "every third": np.arange(0, 9, 3), "one": np.array([4]),
    "again": np.zeros(5, np.int64), "zigzag": np.array([3, 2, 1, 2, 3, 3, 3, 5]), "back in steps": np.arange(8, 0, -3),
    "many runs": np.array([0, 5, 1, 7, 2, 8, 3, 0, 4, 6, 8, 1, 1, 0, 3]), "none": np.zeros(0, np.int64),
}  # fmt: skip


def same(found: Any, wanted: Any) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


def drawn(shape: Any) -> Any:
    """Numbers, some of which are negative zeros."""
    return np.where(RANDOM.random(shape) < 0.3, -0.0, RANDOM.standard_normal(shape))


def pulled_back(weights: Any, positions: Any, axis: int, extent: int) -> Any:
    found = np.zeros([extent if i == axis else n for i, n in enumerate(weights.shape)])
    np.add.at(np.moveaxis(found, axis, 0), positions, np.moveaxis(weights, axis, 0))
    return found


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_positions(name: str, axis: int) -> None:
    positions = POSITIONS[name]
    x = drawn([9 if i == axis else n for i, n in enumerate((2, 3, 5))])
    wanted = np.take(x, positions, axis)

    def f(x: Any) -> Any:
        return picked(wg.tensor(x), axis, positions)

    same(f(x), wanted)
    same(wg.function(f)(x), wanted)
    weights = drawn(wanted.shape)
    gradient = wg.grad(lambda x: wg.sum(f(x) * weights))
    np.testing.assert_allclose(gradient(x), pulled_back(weights, positions, axis, 9), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(wg.function(gradient)(x), gradient(x), rtol=1e-14, atol=1e-15)


INDICES = {
    **POSITIONS, "from the end": np.array([-1, -2, -3, -4]), "past zero": np.array([-2, -1, 0, 1, 2, 3, 4, 5]),
    "two pieces": np.array([5, 6, 7, 8, 0, 1, 2, 3, 4]), "a list": [7, 3], "two axes": np.array([[1, 2], [3, 4]]),
}  # fmt: skip


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_known_indices(name: str, axis: int) -> None:
    """By brackets, with slices and new axes beside them, and by `take`; in a trace runs are slices."""
    positions = INDICES[name]
    x = drawn([9 if i == axis else n for i, n in enumerate((2, 3, 5))])
    index = (*[slice(None)] * axis, positions)

    def f(x: Any) -> Any:
        return (
            np.take(x, positions, axis), x[index], x[(*index[:-1], None, positions)],
            x[(*[slice(None, None, -1)] * axis, positions, *[slice(1, None)] * (2 - axis), None)],
        )  # fmt: skip

    weights = [RANDOM.standard_normal(y.shape) for y in f(x)]
    for found, wanted in zip(wg.function(f)(x), f(x), strict=True):
        same(found, wanted)
    gradient = wg.grad(lambda x: sum((y * w).sum() for y, w in zip(f(x), weights, strict=True)))
    np.testing.assert_allclose(wg.function(gradient)(x), gradient(x), rtol=1e-13, atol=1e-14)


def test_known_indices_out_of_range() -> None:
    for places in ([7, 8, 9], [-10, -9, -8]):
        for f in (lambda x, p=places: x[:, p], lambda x, p=places: np.take(x, p, 1)):
            with pytest.raises(IndexError):
                wg.function(f)(np.ones((2, 9)))


def test_columns_at_known_positions_are_slices() -> None:
    def f(x: Any) -> Any:
        return (x[:, [3, 1]] * np.delete(x, 5, 1)[:, [0, 1]]).sum()

    trace = wg.function(wg.grad(f)).trace(np.ones((4, 9)))
    assert not {"gather", "scatter_add"} & {node.op.name for node in trace.nodes}


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_deleted_and_inserted(axis: int | None) -> None:
    x = RANDOM.standard_normal((6, 7))

    def f(x: Any) -> Any:
        return (
            np.delete(x, 3, axis), np.delete(x, [1, 4, -1], axis), np.delete(x, slice(1, 3), axis),
            np.insert(x, 2, 5.0, axis), np.insert(x, [0, 3, 3], 1.0, axis),
        )  # fmt: skip

    weights = [RANDOM.standard_normal(y.shape) for y in f(x)]
    for found, wanted in zip(wg.function(f)(x), f(x), strict=True):
        same(found, wanted)
    gradient = wg.grad(lambda x: sum((y * w).sum() for y, w in zip(f(x), weights, strict=True)))
    np.testing.assert_allclose(wg.function(gradient)(x), gradient(x), rtol=1e-14)
    steps = [np.zeros(x.shape) for _ in range(2)]
    steps[0][4, 6], steps[1][1, 2] = 1e-6, 1e-6
    for step in steps:
        change = sum(((a - b) * w).sum() for a, b, w in zip(f(x + step), f(x - step), weights, strict=True)) / 2e-6
        np.testing.assert_allclose((gradient(x) * step).sum() / 1e-6, change, atol=1e-7)


@pytest.mark.parametrize("k", [-5, -1, 0, 2])
@pytest.mark.parametrize("length", [0, 1, 4])
def test_diagonals_beside_the_main_one(k: int, length: int) -> None:
    x = np.where(RANDOM.random(length) < 0.3, -0.0, RANDOM.standard_normal(length))
    same(wg.function(lambda x: wg.ops.diag(x, k))(x), np.diag(x, k))
    weights = RANDOM.standard_normal((length + abs(k),) * 2)
    gradient = wg.grad(lambda x: (np.diag(x, k) * weights).sum())
    same(wg.function(gradient)(x), np.diag(weights, k))


def test_runs_are_whole() -> None:
    for name, positions in POSITIONS.items():
        found = runs(positions)
        if name in ("many runs", "none"):
            assert found is None
            continue
        assert found is not None
        np.testing.assert_array_equal(np.concatenate(found), positions)
        assert all(len(set(np.diff(run).tolist())) <= 1 for run in found)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("shape", [(7,), (1,), (2, 9), (3, 1, 5)])
def test_pads(mode: str, widths: Any, shape: tuple[int, ...]) -> None:
    def f(x: Any) -> Any:
        return np.pad(x, widths * len(shape), mode=mode)  # pyright: ignore[reportArgumentType,reportCallIssue]  # NumPy's overloads are of one literal each

    x = np.where(RANDOM.random(shape) < 0.3, -0.0, RANDOM.standard_normal(shape))
    same(wg.function(f)(x), f(x))
    places = f(np.arange(x.size).reshape(shape)).ravel()
    weights = RANDOM.standard_normal(f(x).shape)
    gradient = wg.grad(lambda x: (f(x) * weights).sum())
    wanted = np.bincount(places, weights.ravel(), x.size).reshape(shape)
    np.testing.assert_allclose(gradient(x), wanted, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(wg.function(gradient)(x), wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("spacing", [0.5, np.array([0.0, 1.0, 1.5, 3.0, 3.5])])
def test_gradients_of_samples(order: int, spacing: Any) -> None:
    """Also where a trace does not know how many samples there are."""
    x = RANDOM.standard_normal((5, 5))
    for axis in (0, 1):
        wanted = np.gradient(x, spacing, axis=axis, edge_order=order)

        def f(x: Any, axis: int = axis) -> Any:
            return np.gradient(x, spacing, axis=axis, edge_order=order)

        np.testing.assert_allclose(wg.function(f)(x), wanted, rtol=1e-12)
        gradient = wg.grad(lambda x, f=f: (f(x) ** 2).sum())
        np.testing.assert_allclose(wg.function(gradient)(x), gradient(x), rtol=1e-12)
        if np.ndim(spacing) == 0:
            unknown = wg.function(f, input_signature=[wg.TensorSpec((None, None), "float64")])
            np.testing.assert_allclose(unknown(x), wanted, rtol=1e-12)
            found = wg.grad(lambda x, f=unknown: (f(x) ** 2).sum())(x)
            np.testing.assert_allclose(found, gradient(x), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_gradients_of_few_bits_at_precise_coordinates(dtype: str) -> None:
    """Coordinates far from zero are apart by what float16 would not tell."""
    x, places = RANDOM.standard_normal(50).astype(dtype), np.arange(50) ** 1.3
    for f in (wnp.gradient, wg.function(wnp.gradient)):
        for order in (1, 2):
            got, wanted = np.asarray(f(x, places, edge_order=order)), np.gradient(x, places, edge_order=order)
            assert got.dtype == wanted.dtype
            np.testing.assert_allclose(got, wanted, rtol=4 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("period", [7, 8])
def test_unwrapped_integers_are_numpys(dtype: str, period: int) -> None:
    """With a whole period they stay integers; half of an odd one is rounded down, and no jump is a tie."""
    x = np.array([0, 3, 4, 8, 4, 0, -4, -8, 3, -5, 5, 0, 7], dtype)
    for f in (wnp.unwrap, wg.function(lambda x, period: wnp.unwrap(x, period=period))):
        got, wanted = np.asarray(f(x, period=period)), np.unwrap(x, period=period)
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)
