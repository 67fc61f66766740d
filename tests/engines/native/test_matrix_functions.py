"""Eigenvalues of general matrices, roots, logarithms and Sylvester's equation in machine code, beside NumPy's kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")
from wengert._engines.native import engine

scipy_linalg = pytest.importorskip("scipy.linalg")

RNG = np.random.default_rng(77)
Array = np.ndarray[Any, Any]
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "eig": lambda a: tuple(wg.linalg.eig(a)),
    "eigvals": lambda a: wg.linalg.eigvals(a),
    "sqrtm": wg.linalg.sqrtm,
    "logm": wg.linalg.logm,
    "sylvester": lambda a: wg.linalg.solve_sylvester(a, a[..., :-1, :-1] * 0.5, a[..., :, 1:]),
}
ROUNDING = {"float32": 2e-4, "float64": 1e-11, "complex64": 2e-4, "complex128": 1e-11}  # times the condition


def matrices(shape: tuple[int, ...], dtype: str) -> Array:
    """Matrices with eigenvalues near 2, real ones and conjugate ones."""
    n = shape[-1]
    spread = RNG.normal(size=shape) * 0.6 / np.sqrt(n)
    if dtype.startswith("complex"):
        spread = spread + 1j * RNG.normal(size=shape) * 0.6 / np.sqrt(n)
    return (spread + 2 * np.eye(n)).astype(dtype)


def results(found: Any) -> list[Array]:
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


def compare(f: Callable[..., Any], *arguments: Any, rtol: float) -> Any:
    """Compiled beside eager; the compiled function."""
    compiled = wg.function(f)
    for found, wanted in zip(results(compiled(*arguments)), results(f(*arguments)), strict=True):
        assert found.dtype == wanted.dtype
        if f is FUNCTIONS["eig"] and found.ndim == arguments[0].ndim:  # NumPy's LAPACK and SciPy's differ in signs
            found = found * np.where(np.sum(found.conj() * wanted, -2, keepdims=True).real < 0, -1, 1)
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol * np.max(np.abs(wanted), initial=1.0))
    return compiled


def is_native(compiled: Any, *arguments: Any) -> bool:
    return all(part.by in ("machine code", "library") for part in compiled.report(*arguments).parts) and (
        "NumPy's kernel" not in str(compiled.report(*arguments))
    )


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_beside_numpys_kernels(name: str, dtype: str) -> None:
    for n in (2, 3, 4, 7, 20, 33):
        for lead in ((), (3,), (2, 0)):
            a = matrices((*lead, n, n), dtype)
            compiled = compare(FUNCTIONS[name], a, rtol=ROUNDING[dtype])
            if a.size:
                assert is_native(compiled, a)


@pytest.mark.parametrize("name", ["eig", "sqrtm", "logm"])
def test_one_number(name: str) -> None:
    for a in ([[4.0]], [[1e-300]], [[1e300]], [[3 + 4j]], [[-1 + 1e-3j]]):
        compare(FUNCTIONS[name], np.array(a), rtol=1e-15)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_sizes_may_vary(name: str) -> None:
    compiled = wg.function(FUNCTIONS[name], input_signature=[wg.TensorSpec((None, None, None), np.float64)])
    for shape in [(3, 5, 5), (0, 3, 3), (1, 2, 2), (2, 9, 9)]:
        a = matrices(shape, "float64")
        for found, wanted in zip(results(compiled(a)), results(FUNCTIONS[name](a)), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)


SIMPLE: dict[str, Array] = {
    "identity": np.eye(4), "diagonal": np.diag([1.0, 4.0, 9.0]), "triangle": np.triu(np.ones((4, 4)) + np.eye(4)),
    "lower triangle": np.tril(np.full((3, 3), 2.0)), "equal eigenvalues, no basis": np.eye(4) * 2 + np.diag(np.ones(3), 1),
    "turn": np.array([[0.0, -1.0, 0], [1.0, 0.0, 0], [0, 0, 1]]),
    "nearly half a turn": np.array([[np.cos(3.0), -np.sin(3.0)], [np.sin(3.0), np.cos(3.0)]]),
    "turns beside each other": np.kron(np.eye(3), np.array([[1.0, -2.0], [2.0, 1.0]])) + np.diag(np.ones(4), 2),
    "sizes far apart": np.diag([1e-6, 1.0, 1e6]) + np.diag([1e-3, 1e3], 1), "huge": np.eye(3) * 1e200 + 1e199,
    "tiny": np.eye(3) * 1e-200 + 1e-201, "off the diagonal": np.array([[1.0, 1e9], [0, 2]]),
}  # fmt: skip


@pytest.mark.parametrize("matrix", SIMPLE)
@pytest.mark.parametrize("name", ["sqrtm", "logm", "sylvester"])
def test_special_matrices(name: str, matrix: str) -> None:
    compare(FUNCTIONS[name], SIMPLE[matrix], rtol=1e-12)
    compare(FUNCTIONS[name], SIMPLE[matrix] + 0j, rtol=1e-12)


@pytest.mark.parametrize("matrix", SIMPLE)
def test_eigenvectors_of_special_matrices(matrix: str) -> None:
    a = SIMPLE[matrix]
    for given in (a, a + 0j):
        values, vectors = map(np.asarray, wg.function(FUNCTIONS["eig"])(given))
        np.testing.assert_allclose(given @ vectors, vectors * values, atol=1e-12 * np.abs(a).max())
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), 1, rtol=1e-12)


def _fails(self: Any, *how: Any) -> Any:
    raise AssertionError("machine code ended early")


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sizes_far_out_leave_no_loop(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices that some LAPACKs would leave scaled: a power of two times others, so times a power of their results."""
    monkeypatch.setattr(engine.Kernels, "failed", _fails)
    a = matrices((2, 5, 5), dtype)
    exponents = {"sqrtm": 0.5, "logm": 0.0, "sylvester": 0.0, "eig": 1.0, "eigvals": 1.0}
    usual = results(wg.function(FUNCTIONS[name])(a))
    for power in (-600, 600) if name == "logm" else (-1000, -600, 600, 1000):
        found = results(wg.function(FUNCTIONS[name])(a * 2.0**power))
        wanted = [usual[0] * 2.0 ** (power * exponents[name]), *usual[1:]]
        if name == "logm":
            wanted = [usual[0] + np.eye(5) * power * np.log(2)]
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12 * np.abs(y).max())


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_logarithms_of_matrices_far_out_end(dtype: str) -> None:
    """SciPy's look for roots for ever, of some; they run once more where flags ask for warnings."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        a = (rng.normal(size=(2, 5, 5)) * 0.3 + 2 * np.eye(5)).astype(dtype)
        usual = np.asarray(wg.linalg.logm(a))
        for power in (-120, 120) if dtype == "float32" else (-1000, -600, -120, 120, 600, 1000):
            found = np.asarray(wg.linalg.logm(a * a.real.dtype.type(2.0**power)))
            assert found.dtype == a.dtype
            tolerance = 1e-4 if dtype == "float32" else 1e-12  # half of float32's digits, as of the sum with `power`
            np.testing.assert_allclose(found, usual + np.eye(5) * power * np.log(2), atol=tolerance, rtol=0)


def test_logarithms_across_the_negative_axis() -> None:
    """Eigenvalues on both sides of the axis, near each other, whose logarithms are not."""
    for n, f in [(n, wg.function(wg.linalg.logm)) for n in (2, 4, 7)] * 15:
        values = np.exp(1j * (np.pi + RNG.normal(size=n) * 0.3) + RNG.normal(size=n) * 0.1)
        q, _ = np.linalg.qr(RNG.normal(size=(n, n)) + 1j * RNG.normal(size=(n, n)))
        a = q @ (np.triu(RNG.normal(size=(n, n)), 1) * 0.5 + np.diag(values)) @ q.conj().T
        found = np.asarray(f(a))
        assert np.abs(np.linalg.eigvals(found).imag).max() < np.pi
        rtol = 1e-14 * np.exp(np.abs(found).max()) * np.linalg.norm(found)  # as the exponential amplifies errors
        np.testing.assert_allclose(scipy_linalg.expm(found), a, atol=rtol)


def test_logarithms_beside_references() -> None:
    """With digits to spare; matrices whose logarithm SciPy has to the last digits, too."""
    mpmath = pytest.importorskip("mpmath")
    f = wg.function(wg.linalg.logm)
    for scale in (1e-8, 1.0, 1e4):
        a = np.triu(RNG.normal(size=(5, 5)) * scale, 1) + np.diag([0.5, 1.0, 1.1, 2.0, 3.0])
        with mpmath.workdps(60):
            wanted = np.real(np.array(mpmath.logm(mpmath.matrix(a.tolist())).tolist(), dtype=complex))
        np.testing.assert_allclose(f(a), wanted, atol=1e-14 * np.abs(wanted).max())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_not_finite(name: str) -> None:
    for bad in (np.nan, np.inf):
        a = matrices((2, 3, 3), "float64")
        a[1, 0, 2] = bad
        told = []
        for f in (FUNCTIONS[name], wg.function(FUNCTIONS[name])):
            try:
                told.append([np.isfinite(x).tolist() for x in results(f(a))])
            except (np.linalg.LinAlgError, ValueError) as error:
                told.append(type(error))
        assert told[0] == told[1]


def test_what_has_no_result() -> None:
    minus, nilpotent = np.diag([1.0, -1.0]), np.array([[0.0, 1.0], [0.0, 0.0]])
    for f, a in ((wg.linalg.sqrtm, minus), (wg.linalg.logm, minus), (wg.linalg.sqrtm, nilpotent)):
        with pytest.raises(np.linalg.LinAlgError):
            wg.function(f)(a)
    np.testing.assert_allclose(wg.function(wg.linalg.sqrtm)(np.diag([4.0, 0.0, 0.0])), np.diag([2.0, 0, 0]))
    compare(wg.linalg.sqrtm, np.diag([4.0, -9.0]) + 0j, rtol=1e-15)
    compare(wg.linalg.logm, np.diag([4.0, -9.0]) + 0j, rtol=1e-15)
    one = np.eye(2)
    with pytest.raises(np.linalg.LinAlgError):
        wg.function(wg.linalg.solve_sylvester)(one, -one, one)
    np.testing.assert_array_equal(wg.function(wg.linalg.solve_sylvester)(one, -one, 0 * one), 0)


def _eig(a: Any) -> Any:
    values, vectors = wg.linalg.eig(a)
    return wg.sum(wg.abs(values) ** 3) + wg.sum(wg.abs(vectors) ** 4)


LOSSES: dict[str, Callable[[Any], Any]] = {
    "eig": _eig, **{name: lambda a, f=f: wg.sum(wg.abs(f(a)) ** 3) for name, f in FUNCTIONS.items() if name != "eig"},
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", LOSSES)
def test_derivatives(name: str, dtype: str) -> None:
    a, loss = matrices((3, 3), dtype), LOSSES[name]
    compare(wg.grad(loss), a, rtol=1e-9)
    if dtype == "float64":
        compare(wg.hessian(loss), a, rtol=1e-8)
        compare(lambda x: wg.jvp(loss, (x,), (np.ones((3, 3)),))[1], a, rtol=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_loops_stay_machine_code(name: str) -> None:
    def total(a: Any) -> Any:
        return wg.fori_loop(0, 5, lambda i, s: s + LOSSES[name](a * (1 + 0.01 * s)), 0.0)

    a = matrices((3, 3), "float64") / 4
    compiled = compare(total, a, rtol=1e-10)
    assert is_native(compiled, a)
    compare(wg.grad(total), a, rtol=1e-8)
