"""Vectors of symmetric matrices by LAPACK's own steps, one of which is ours: values, vectors and their signs are its."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")
pytest.importorskip("scipy", reason="its LAPACK is called")

# by themselves, in two parts, in four, in eight; parts of unequal sizes
SIZES = (2, 3, 24, 26, 33, 64, 130)
KINDS = ("f8", "c16", "f4", "c8")


def _random(n: int, kind: str) -> Any:
    rng = np.random.default_rng(n)
    x = rng.standard_normal((n, n))
    return x + 1j * rng.standard_normal((n, n)) if kind.startswith("c") else x


def _apart(x: Any) -> Any:
    """Two parts, of which neither says anything of the other."""
    k = len(x) // 3 + 1
    x[:k, k:] = x[k:, :k] = 0
    return x


def _graded(x: Any) -> Any:
    steps = 10.0 ** -np.linspace(0, 30, len(x))
    return x * steps[:, None] * steps


MATRICES: dict[str, Callable[[Any], Any]] = {
    "random": lambda x: x,
    "of values apart": lambda x: x / len(x) + np.diag(np.arange(len(x)) * 4.0),
    "diagonal": lambda x: np.diag(np.diagonal(x)),
    "identity": lambda x: np.eye(len(x)) + 0 * x,
    "zeros": lambda x: 0 * x,
    "of rank one": lambda x: x[:, :1] @ x[:, :1].conj().T,
    "apart": _apart,
    "graded": _graded,
    "graded upwards": lambda x: _graded(x)[::-1, ::-1],
    "mostly diagonal": lambda x: np.diag(np.diagonal(x)) + 1e-17 * x,
    "tiny": lambda x: x * 1e-30,
    "huge": lambda x: x * 1e30,
    "tinier": lambda x: x * 1e-200,
    "huger": lambda x: x * 1e200,
    "of little beside": lambda x: _graded(x) * 1e-110,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.sampled(40)
def test_values_and_vectors(n: int, name: str, kind: str) -> None:
    made = MATRICES[name](_random(n, kind))
    with np.errstate(all="ignore"):
        a = (made / 2 + made.conj().T / 2).astype(kind)
    if not np.isfinite(a).all() or (kind in ("f4", "c8") and name == "of little beside"):
        return
    for uplo in "LU":
        values, vectors = wg.function(lambda x, uplo=uplo: np.linalg.eigh(x, uplo))(a)
        eager, theirs = np.linalg.eigh(a, uplo)
        assert values.dtype == eager.dtype
        assert vectors.dtype == theirs.dtype
        size = np.abs(a).max()
        rounding = 40 * n * np.finfo(values.dtype).eps
        np.testing.assert_allclose(values, eager, rtol=0, atol=rounding * size)
        np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(n), rtol=0, atol=rounding)
        unit = a / (size or 1)
        scaled = values / (size or 1)
        np.testing.assert_allclose(unit @ vectors, vectors * scaled, rtol=0, atol=rounding)


@pytest.mark.parametrize("kind", ["f8", "c16"])
@pytest.mark.parametrize("n", SIZES)
def test_signs_are_those_of_the_same_lapack(n: int, kind: str) -> None:
    from scipy.linalg.lapack import dsyevd, zheevd

    call = wg.function(np.linalg.eigh)
    for part in range(5):
        x = _random(n, kind) + part * np.diag(np.arange(n))
        a = x + x.conj().T
        values, vectors = call(a)
        theirs = (dsyevd if kind == "f8" else zheevd)(a, lower=1)
        np.testing.assert_allclose(values, theirs[0], rtol=0, atol=1e-13 * np.abs(theirs[0]).max())
        np.testing.assert_allclose(vectors, theirs[1], rtol=0, atol=1e-9)


def test_batches_loops_and_gradients() -> None:
    """What one matrix leaves in the room of the next does no harm: those for LAPACK stand beside others."""
    n = 30
    x = np.stack([_random(n, "f8"), np.eye(n), _apart(_random(n, "f8")), 0 * np.eye(n), 1e-200 * _random(n, "f8")])
    a = x + x.swapaxes(-1, -2)
    for found in (wg.function(np.linalg.eigh)(a), wg.function(lambda a: wg.map(np.linalg.eigh, a))(a)):
        eager = np.linalg.eigh(a)
        for place, (value, vector) in enumerate(zip(*found, strict=True)):
            size = np.abs(a[place]).max() or 1.0
            np.testing.assert_allclose(value / size, eager[0][place] / size, rtol=0, atol=1e-13)
            np.testing.assert_allclose(a[place] @ vector / size, vector * value / size, rtol=0, atol=1e-13)

    def program(a: Any) -> Any:
        values, vectors = np.linalg.eigh(a + a.T)
        return (values**3).sum() + (np.abs(vectors) ** 4).sum()

    one = x[0] / n + np.diag(np.arange(n))
    np.testing.assert_allclose(wg.function(wg.grad(program))(one), wg.grad(program)(one), rtol=0, atol=1e-10)
