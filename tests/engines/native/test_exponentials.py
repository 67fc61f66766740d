"""Compiled exponentials of matrices: each of a batch scaled by itself, no digits lost where only some entries are large."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

RNG = np.random.default_rng(5)

# side by side: what needs no halving, many, some because of its powers alone, and what has no exponential
BATCH = np.array(
    [
        [[0.1, 0.2], [-0.3, 0.1]],
        [[0.0, 40.0], [-40.0, 0.0]],
        [[-1e5, 3.0], [1.0, -2e5]],
        [[1.0, 1e6], [0.0, -1.0]],
        [[0.0, 1e40], [0.0, 0.0]],
        [[-1e60, 1e59], [0.0, -2e60]],
        [[np.nan, 0.0], [1.0, 1.0]],
    ]
)


def test_each_matrix_has_its_own_scale() -> None:
    expm = wg.function(wg.linalg.expm)
    found = np.asarray(expm(BATCH))
    for one, matrix in zip(found, BATCH[:-2], strict=False):
        wanted = scipy.linalg.expm(matrix)
        np.testing.assert_allclose(one, wanted, rtol=1e-13, atol=1e-13 * np.abs(wanted).max())
    np.testing.assert_array_equal(found[-2], 0)  # SciPy's is NaN
    assert np.isnan(found[-1]).any()
    assert "100% machine code" in str(expm.report(BATCH))


def test_sizes_may_vary() -> None:
    expm = wg.function(wg.linalg.expm, input_signature=[wg.TensorSpec((None, None, None), np.float64)])
    for shape in [(3, 5, 5), (0, 3, 3), (2, 0, 0), (4, 1, 1)]:
        x = RNG.normal(size=shape) * 3
        np.testing.assert_allclose(expm(x), scipy.linalg.expm(x) if x.size else x, rtol=1e-11, atol=1e-12)
    # it asks all of OpenBLAS's threads to exchange rows, however few: milliseconds where they have to be waited for
    assert "getrs" not in str(expm.report(RNG.normal(size=(2, 3, 3))))


def test_derivatives_in_a_loop_stay_exact() -> None:
    def chain(a: Any, scale: Any) -> Any:
        step = lambda carry, x: (carry @ wg.linalg.expm(x * scale), wg.sum(carry))
        return wg.sum(wg.scan(step, wg.eye(2), a)[0])

    a = RNG.normal(size=(4, 2, 2))
    compiled = wg.function(wg.grad(chain))
    for scale in (0.3, 2.0):
        wanted = wg.grad(chain)(a, scale)
        np.testing.assert_allclose(compiled(a, scale), wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())
    assert "100% machine code" in str(compiled.report(a, 2.0))


def test_changes_far_larger_than_the_matrix() -> None:
    pushed = wg.function(lambda x, d: wg.jvp(wg.linalg.expm, (x,), (d,))[1])
    x, d = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3)) * 1e12
    wanted = scipy.linalg.expm_frechet(x, d)[1]
    np.testing.assert_allclose(pushed(x, d), wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("n", [1, 2, 5, 17])
def test_complex_matrices(n: int, dtype: str) -> None:
    """Values and derivatives of batches with a scale each, some beyond that of one number."""
    a = RNG.normal(size=(4, n, n)) + 1j * RNG.normal(size=(4, n, n))
    a = (a * np.array([1e-3, 0.3, 3.0, 20.0]).reshape(4, 1, 1)).astype(dtype)
    expm = wg.function(wg.linalg.expm)
    rtol = 1e-12 if dtype == "complex128" else 2e-3
    for one, matrix in zip(np.asarray(expm(a)), a, strict=True):
        wanted = scipy.linalg.expm(matrix.astype(np.complex128))
        np.testing.assert_allclose(one, wanted, rtol=rtol, atol=rtol * np.abs(wanted).max())
    assert {part.by for part in expm.report(a).parts} <= {"machine code", "library"}
    pushed = wg.function(lambda x, d: wg.jvp(wg.linalg.expm, (x,), (d,))[1])
    found, (x, d) = pushed(a[1], a[2]), (m.astype(np.complex128) for m in (a[1], a[2]))
    wanted = scipy.linalg.expm_frechet(x, d)[1]
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol * np.abs(wanted).max())
    bad = a.copy()
    bad[0, 0, 0] = np.nan
    assert np.isnan(np.asarray(expm(bad))[0]).all()
    np.testing.assert_array_equal(np.asarray(expm(bad))[1:], np.asarray(expm(a))[1:])
