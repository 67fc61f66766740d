"""Compiled linear algebra on matrices that hold infinities or NaN: what eager code gives, of every size and layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 16, 33, 64]  # in registers, in an array on the stack, LAPACK's
FUNCTIONS: dict[str, Any] = {
    "solve": lambda a: wg.linalg.solve(a, a[..., :1] * 0.5 + 1.0),
    "solve for": lambda a: wg.linalg.solve(np.eye(a.shape[-1], dtype=a.dtype) + 0.5 * wg.ops.ones_like(a), a),
    "inv": wg.linalg.inv,
    "det": wg.linalg.det,
    "slogdet": wg.linalg.slogdet,
    "cholesky": wg.linalg.cholesky,
    "solve_triangular": lambda a: wg.ops.solve_triangular(a, a[..., :1], lower=True),
    "lstsq": lambda a: wg.ops.lstsq(a, a[..., :1] * 0.5 + 1.0),
    "pinv": wg.linalg.pinv,
    "gradient of slogdet": wg.grad(lambda a: wg.sum(wg.linalg.slogdet(a)[1])),
}


def matrices(n: int, batch: tuple[int, ...], dtype: Any) -> Iterator[Any]:
    rng = np.random.default_rng(n)
    base = rng.normal(size=(*batch, n, n))
    base = (base @ np.swapaxes(base, -1, -2) + n * np.eye(n)).astype(dtype)
    for place in {(0, 0), (n - 1, n - 1), (0, n - 1), (n - 1, 0)}:
        for value in (np.inf, -np.inf, np.nan):
            x = base.copy()
            x.reshape(-1, n, n)[(-1, *place)] = value
            yield x
    yield np.full_like(base, np.inf)
    yield np.full_like(base, np.nan)
    yield np.where(np.eye(n, dtype=bool), dtype(np.inf), dtype(0)) * np.ones_like(base[..., :1])


def outcome(f: Any, x: Any) -> Any:
    with np.errstate(all="ignore"):
        try:
            found = f(x)
        except np.linalg.LinAlgError as error:
            return type(error).__name__
    return (*map(np.asarray, found),) if isinstance(found, tuple) else (np.asarray(found),)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.sampled(24)
def test_compiled_equals_eager_on_matrices_that_are_not_finite(
    name: str, dtype: Any, batch: tuple[int, ...], n: int
) -> None:  # fmt: skip
    f = FUNCTIONS[name]
    compiled = wg.function(f)
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    for x in matrices(n, batch, dtype):
        wanted, found = outcome(f, x), outcome(compiled, x)
        if isinstance(wanted, str) or isinstance(found, str):
            assert wanted == found
            continue
        for w, g in zip(wanted, found, strict=True):
            assert (w.shape, w.dtype) == (g.shape, g.dtype)
            np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)  # NaN where eager has NaN


@pytest.mark.parametrize("n", [1, 3, 33])
@pytest.mark.parametrize("f", [wg.linalg.svd, wg.linalg.pinv, wg.linalg.matrix_rank, FUNCTIONS["lstsq"]])
def test_singular_values_of_infinite_matrices_are_refused(f: Any, n: int) -> None:
    for x in matrices(n, (), np.float64):
        with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
            f(x)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 26])
def test_gradients_of_slogdet_of_singular_matrices_do_not_hang_on_rounding(n: int, dtype: str) -> None:
    """Cofactors over 0: NaN where they are 0 but for rounding, which of rank n - 2 and less all are."""
    gradient = wg.grad(lambda a: wg.linalg.slogdet(a)[1])
    compiled = wg.function(gradient)
    counts = np.arange(1.0, n + 1)
    rows = np.diag(counts)
    rows[-1] = 0
    for a in (np.outer(counts, counts), np.ones((n, n)), np.diag(np.r_[counts[:-1], 0.0]), rows, np.zeros((n, n))):
        x = a.astype(dtype)
        with np.errstate(all="ignore"):
            eager, found = gradient(x), compiled(x)
        assert not np.isfinite(eager).any()
        np.testing.assert_array_equal(np.isnan(found.real), np.isnan(eager.real))
        if dtype != "complex128":
            np.testing.assert_array_equal(found, eager)
        if np.linalg.matrix_rank(a) < n - 1:
            assert np.isnan(eager).all()
