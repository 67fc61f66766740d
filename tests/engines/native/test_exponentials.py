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
    scales = np.array([1e-3, 0.3, 3.0, 20.0]) / np.sqrt(n)  # beyond which complex64 overflows
    a = (a * scales.reshape(4, 1, 1)).astype(dtype)
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


def special(n: int) -> dict[str, Any]:
    """Matrices of n rows, of size about 1, whose powers grow in ways of their own."""
    x = RNG.normal(size=(n, n)) / n
    far = np.diag(np.linspace(-2.0, 1.0, n))
    far[0, -1] = 1e6
    return {"any": x, "nilpotent": np.triu(x, 1), "lower triangle": np.tril(x), "turn": x - x.T, "decay": -x @ x.T,
            "vanishing": np.outer(np.ones(n), np.r_[1.0, -1.0, np.zeros(n - 2)]), "one far off": far}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("n", [2, 3, 7])
def test_sizes_of_all_orders_beside_a_reference(n: int, dtype: str) -> None:
    mpmath = pytest.importorskip("mpmath")
    rounding = np.finfo(dtype).eps
    expm = wg.function(wg.linalg.expm)
    for name, matrix in special(n).items():
        scales = [1e-9, 1e-3, 0.03, 0.2, 1.0, 3.0, 40.0]
        turn = 1.0 if dtype.startswith("float") else np.exp(0.5j)
        given = np.array([matrix * scale * turn for scale in scales]).astype(dtype)
        assert np.asarray(expm(given)).dtype == dtype
        for scale, a, found in zip(scales, given, np.asarray(expm(given)), strict=True):
            with mpmath.workdps(60):
                wanted = np.array(mpmath.expm(mpmath.matrix(a.tolist())).tolist(), dtype=complex)
            size = np.abs(wanted).max()
            # as far as the result moves when the matrix is rounded
            moves = max(1.0, np.abs(a).sum(0).max() if name != "one far off" else scale)
            if size < np.finfo(dtype).max:
                np.testing.assert_allclose(
                    found, wanted, rtol=0, atol=20 * rounding * moves * size, err_msg=f"{name} {scale}"
                )


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_changes_of_all_orders(dtype: str) -> None:
    """With as many terms of the series as the size asks for, and twice over."""
    pushed = wg.function(lambda x, d: wg.jvp(wg.linalg.expm, (x,), (d,))[1])
    pulled = wg.function(lambda x, d: wg.vjp(wg.linalg.expm, x)[1](d)[0])
    for n in (2, 5, 18):
        x, d = (
            RNG.normal(size=(n, n)) / n + (0 if dtype == "float64" else 1j * RNG.normal(size=(n, n)) / n) for _ in "xd"
        )
        for scale in (1e-6, 1e-2, 0.2, 1.0, 9.0):
            wanted = scipy.linalg.expm_frechet(x * scale, d)[1]
            np.testing.assert_allclose(pushed(x * scale, d), wanted, atol=1e-13 * np.abs(wanted).max())
            back = scipy.linalg.expm_frechet(np.conj(x * scale).T, d)[1]
            np.testing.assert_allclose(pulled(x * scale, d), back, atol=1e-13 * np.abs(back).max())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_ends(bad: float) -> None:
    a = np.zeros((2, 3, 3), complex)
    a[1, 0, 2] = bad
    for given in (a, a.real):
        found = np.asarray(wg.function(wg.linalg.expm)(given))
        np.testing.assert_array_equal(found[0], np.eye(3))
        assert np.isnan(found[1]).all()


def test_complex_batches_stay_machine_code() -> None:
    x = RNG.normal(size=(3, 4, 4)) + 1j * RNG.normal(size=(3, 4, 4))
    gradient = wg.function(wg.grad(lambda x: wg.sum(wg.abs(wg.linalg.expm(x)) ** 2)))
    np.testing.assert_allclose(gradient(x), wg.grad(lambda x: wg.sum(wg.abs(wg.linalg.expm(x)) ** 2))(x), rtol=1e-10)
    assert "100% machine code" in str(gradient.report(x))
