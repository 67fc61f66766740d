"""Sparse systems in compiled code: bands, small matrices, what goes to SuperLU, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")
pytest.importorskip("scipy", reason="SuperLU is SciPy's")

from wengert._core.constant import constant
from wengert._core.op import REGISTRY
from wengert._engines.native.ir.loops import Status
from wengert._engines.native.lower import unsolved

sparse_solve: Any = REGISTRY["sparse_solve"]

RNG = np.random.default_rng(71)


def band(n: int, below: int, above: int, dtype: Any) -> tuple[Any, Any, Any]:
    """The entries of a matrix, in no order, whose pivots are mostly not on the diagonal; some places come twice."""
    rows, columns = np.nonzero(np.tri(n, n, above, bool) & ~np.tri(n, n, -below - 1, bool))
    order = RNG.permutation(len(rows))
    rows, columns = rows[order], columns[order]
    data = RNG.normal(size=len(rows)) * np.where(rows == columns, 0.1, 1.0)
    if np.dtype(dtype).kind == "c":
        data = data + 1j * RNG.normal(size=len(rows))
    twice = slice(0, len(rows) // 3)
    rows, columns = np.concatenate([rows, rows[twice]]), np.concatenate([columns, columns[twice]])
    return np.concatenate([data, data[twice] / 2]).astype(dtype), rows, columns


def dense(data: Any, rows: Any, columns: Any, n: int) -> Any:
    found = np.zeros((n, n), data.dtype)
    np.add.at(found, (rows, columns), data)
    return found


@pytest.fixture
def no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where NumPy's kernel would be called, the code says that it went astray."""
    monkeypatch.setattr(unsolved, "call_kernel", lambda block, *_: block.b.leave(Status.ASTRAY))


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize(("n", "below", "above"), [(1, 0, 0), (2, 1, 1), (7, 0, 2), (9, 3, 0), (200, 1, 1), (90, 4, 7),
                                                   (40, 39, 39)])  # fmt: skip
@pytest.mark.parametrize("sides", [1, 2, 5])
@pytest.mark.usefixtures("no_kernel")
def test_bands_are_solved_in_machine_code(n: int, below: int, above: int, sides: int, dtype: str) -> None:
    data, rows, columns = band(n, below, above, dtype)
    right = RNG.normal(size=(n, sides)).astype(dtype)
    found = np.asarray(wg.function(sparse_solve)(data, rows, columns, right))
    matrix = dense(data, rows, columns, n)
    rounding = 1e-13 if dtype in ("float64", "complex128") else 1e-5
    size = np.abs(matrix).max() * np.abs(found).max() + np.abs(right).max()  # of what a stable solution leaves
    assert found.dtype == right.dtype
    assert np.abs(matrix @ found - right).max() <= rounding * size * n


@pytest.mark.usefixtures("no_kernel")
def test_gradients_in_a_loop_stay_machine_code() -> None:
    data, rows, columns = band(30, 2, 1, "float64")
    places = constant(rows), constant(columns)

    def total(d: Any, x: Any) -> Any:
        step = lambda c, s: (sparse_solve(d, *places, c) + s, None)
        return wg.sum(wg.scan(step, x, np.linspace(0.0, 0.2, 4))[0] ** 2)

    def total_of_dense(d: Any, x: Any) -> Any:
        matrix = wg.zeros((30, 30)).at[rows, columns].add(d)
        for s in np.linspace(0.0, 0.2, 4):
            x = wg.linalg.solve(matrix, x) + s
        return wg.sum(x**2)

    x = RNG.normal(size=(30, 1))
    for found, wanted in zip(
        wg.function(wg.grad(total, argnums=(0, 1)))(data, x), wg.grad(total_of_dense, argnums=(0, 1))(data, x),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_allclose(found, wanted, 1e-9, 1e-9 * abs(wanted).max())


def test_what_is_no_band_goes_to_superlu() -> None:
    n = 300
    rows = np.concatenate([np.arange(n), np.arange(n), np.arange(n)])
    columns = np.concatenate([np.arange(n), RNG.permutation(n), RNG.permutation(n)])
    data = np.concatenate([np.full(n, 4.0), RNG.normal(size=2 * n)])
    right = RNG.normal(size=(n, 2))
    places = constant(rows), constant(columns)
    found = wg.function(lambda d, b: wg.fori_loop(0, 2, lambda i, x: sparse_solve(d, *places, x), b))(data, right)
    matrix = dense(data, rows, columns, n)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, np.linalg.solve(matrix, right)), 1e-10)


def test_singular_and_infinite_systems_are_the_kernels_to_tell() -> None:
    f = wg.function(sparse_solve)
    places = np.array([0, 1, 2])
    with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
        f(np.array([1.0, 0.0, 2.0]), places, places, np.ones((3, 1)))
    for data, right in ((np.array([1.0, np.inf, 2.0]), np.ones(3)), (np.ones(3), np.array([1.0, np.nan, 2.0]))):
        operands = data, places, places, right[:, None]
        np.testing.assert_array_equal(np.asarray(f(*operands)), np.asarray(sparse_solve(*map(constant, operands))))
    with pytest.raises(ValueError, match=r"index|exceeds"):
        f(np.ones(3), np.array([0, 1, 3]), places, np.ones((3, 1)))
    np.testing.assert_allclose(f(np.ones(3) * 2, places, places, np.ones((3, 1))), 0.5)
