"""Singular vectors by LAPACK's own steps, one of which is ours: values, vectors and their signs are its."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")
pytest.importorskip("scipy", reason="its LAPACK is called")

# by themselves, in two parts with a row between them, in four; parts of unequal sizes; more rows than columns
SHAPES = ((2, 2), (3, 3), (7, 5), (24, 24), (25, 25), (26, 26), (40, 33), (51, 51), (64, 64))
KINDS = ("f8", "c16", "f4", "c8")


def _random(m: int, n: int, kind: str) -> Any:
    rng = np.random.default_rng(m + n)
    x = rng.standard_normal((m, n))
    return x + 1j * rng.standard_normal((m, n)) if kind.startswith("c") else x


def _apart(x: Any) -> Any:
    """Two parts, of which neither says anything of the other."""
    k = x.shape[1] // 3 + 1
    x[:k, k:] = x[k:, :k] = 0
    return x


def _graded(x: Any, digits: float = 12.0) -> Any:
    return x * 10.0 ** -np.linspace(0, digits, x.shape[1])


def _apart_by(x: Any) -> Any:
    return x / len(x) + np.eye(*x.shape) * np.arange(x.shape[1]) * 4.0


def _bidiagonal(x: Any) -> Any:
    return np.triu(np.tril(x, 1))


MATRICES: dict[str, Callable[[Any], Any]] = {
    "random": lambda x: x,
    "of values apart": _apart_by,
    "diagonal": lambda x: np.eye(*x.shape) * x,
    "identity": lambda x: np.eye(*x.shape) + 0 * x,
    "minus identity": lambda x: -np.eye(*x.shape) + 0 * x,
    "zeros": lambda x: 0 * x,
    "of ones": lambda x: 0 * x + 1,
    "of rank one": lambda x: x[:, :1] @ x[:1],
    "apart": _apart,
    "graded": _graded,
    "graded upwards": lambda x: _graded(x)[:, ::-1],
    "graded far": lambda x: _graded(x, 30.0),
    "bidiagonal": _bidiagonal,
    "bidiagonal, with a zero": lambda x: _bidiagonal(x) * (np.arange(x.shape[1]) != x.shape[1] // 2),
    "bidiagonal, graded": lambda x: _bidiagonal(_graded(x)),
    "of little on the diagonal": lambda x: _bidiagonal(x) - np.eye(*x.shape) * x * (1 - 1e-18),
    "mostly diagonal": lambda x: np.eye(*x.shape) * x + 1e-17 * x,
    "of signs": lambda x: np.sign(x.real) + 0 * x,
    "with tiny columns": lambda x: x * np.where(np.arange(x.shape[1]) % 2, 1, 1e-200),
    "tiny": lambda x: x * 1e-30,
    "huge": lambda x: x * 1e30,
    "tinier": lambda x: x * 1e-200,
    "huger": lambda x: x * 1e200,
}


def _svd(a: Any) -> Any:
    return np.linalg.svd(a, full_matrices=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sampled(60)
def test_values_and_vectors(shape: tuple[int, int], name: str, kind: str) -> None:
    with np.errstate(all="ignore"):
        a = MATRICES[name](_random(*shape, kind)).astype(kind)
    if not np.isfinite(a).all():
        return
    with np.errstate(all="raise", under="ignore"):
        left, values, right = wg.function(_svd)(a)
    eager = _svd(a)
    assert [x.dtype for x in (left, values, right)] == [x.dtype for x in eager]
    assert (values >= 0).all()
    size = np.abs(a).max() or 1
    rounding = 40 * shape[0] * np.finfo(values.dtype).eps
    np.testing.assert_allclose(values / size, eager[1] / size, rtol=0, atol=rounding)
    for rows in (left.conj().T, right):
        np.testing.assert_allclose(rows @ rows.conj().T, np.eye(shape[1]), rtol=0, atol=rounding)
    np.testing.assert_allclose(left * (values / size) @ right, a / size, rtol=0, atol=rounding)


@pytest.mark.parametrize("kind", ["f8", "c16"])
@pytest.mark.parametrize("shape", SHAPES)
def test_signs_are_those_of_the_same_lapack(shape: tuple[int, int], kind: str) -> None:
    from scipy.linalg.lapack import dgesdd, zgesdd

    call = wg.function(_svd)
    for change in (lambda x: x, _apart_by, _graded, lambda x: _graded(x)[:, ::-1], np.sign, np.eye(*shape).__add__):
        a = change(_random(*shape, kind))
        found = call(a)
        *theirs, info = (dgesdd if kind == "f8" else zgesdd)(a, full_matrices=False)
        assert info == 0
        size = np.abs(theirs[1]).max()
        np.testing.assert_allclose(found[1], theirs[1], rtol=0, atol=1e-13 * size)
        gaps = np.abs(np.subtract.outer(theirs[1], theirs[1]) + np.eye(shape[1]) * size).min(axis=0)
        apart = gaps > 1e-4 * size  # vectors of others are no vectors of their own
        np.testing.assert_allclose(found[0][:, apart], theirs[0][:, apart], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found[2][apart], theirs[2][apart], rtol=0, atol=1e-9)


def test_batches_loops_gradients_and_pseudo_inverses() -> None:
    """What one matrix leaves in the room of the next does no harm: those for LAPACK stand beside others."""
    n = 30
    a = np.stack([_random(n, n, "f8"), np.eye(n), _apart(_random(n, n, "f8")), 0 * np.eye(n), _random(n, n, "f8").T])
    eager = _svd(a)
    for found in (wg.function(_svd)(a), wg.function(lambda a: wg.map(_svd, a))(a)):
        np.testing.assert_allclose(found[1], eager[1], rtol=0, atol=1e-12)
        np.testing.assert_allclose(found[0] * found[1][:, None] @ found[2], a, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found[0][0], eager[0][0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(wg.function(lambda a: np.linalg.pinv(a))(a), np.linalg.pinv(a), rtol=0, atol=1e-9)

    def program(a: Any) -> Any:
        left, values, right = _svd(a)
        return (values**3).sum() + (left**4).sum() + (right**4).sum()

    for shape in ((n, n), (40, n), (7, 6)):
        one = _random(*shape, "f8") / n + np.eye(*shape) * np.arange(1, shape[1] + 1)
        np.testing.assert_allclose(wg.function(wg.grad(program))(one), wg.grad(program)(one), rtol=0, atol=1e-10)
