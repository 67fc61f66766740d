"""Matrices made bidiagonal and tridiagonal by our vector code: they and their reflections are LAPACK's."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.llvm import reflections

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 64, 67)
KINDS = ("f8", "c16")
# by what columns are multiplied: squares of some sizes are nothing, or lose digits
SCALES = {
    "usual": lambda n: np.ones(n),
    "small": lambda n: np.full(n, 1e-155),
    "smaller": lambda n: np.full(n, 1e-200),
    "graded": lambda n: 10.0 ** -np.linspace(0, 200, n),
    "some nothing": lambda n: np.arange(n) % 3 != 1,
}


def _random(m: int, n: int, kind: str) -> Any:
    rng = np.random.default_rng(m + n)
    x = rng.standard_normal((m, n))
    return x + 1j * rng.standard_normal((m, n)) if kind == "c16" else x


def _call(name: str, extents: tuple[int, ...], a: Any, arrays: list[Any]) -> None:
    type_ = "c128" if a.dtype.kind == "c" else "f64"
    room = np.full(reflections.room_for(type_, extents[0], extents[-1]), np.nan)
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    kinds = [*[number] * len(extents), pointer, number, *[pointer] * (len(arrays) + 1)]
    given = [*extents, a.ctypes.data, a.strides[1] // a.itemsize, *[x.ctypes.data for x in (*arrays, room)]]
    ctypes.CFUNCTYPE(None, *kinds)(reflections.address(f"{name}.{type_}"))(*given)


def _turned(vectors: Any, factors: Any, first: int) -> Any:
    """The product of reflections, whose columns stand below the diagonal by so many rows."""
    found = np.eye(len(vectors), dtype=vectors.dtype)
    for i, factor in enumerate(factors):
        v = np.zeros(len(vectors), vectors.dtype)
        v[i + first] = 1
        v[i + first + 1 :] = vectors[i + first + 1 :, i]
        found = found - factor * np.outer(found @ v, v.conj())
    return found


def _is_orthonormal(x: Any) -> None:
    np.testing.assert_allclose(x @ x.conj().T, np.eye(len(x)), rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n", SIZES)
def test_bidiagonal(n: int, scale: str, kind: str) -> None:
    for m in (n, n + 3):
        a = _random(m, n, kind) * SCALES[scale](n)
        held = np.zeros((m + 2, n), kind, order="F")  # with numbers between columns that are none of the matrix
        held[:m], held[m:] = a, 7
        d, e, left, right = np.zeros(n), np.zeros(n), np.zeros(n, kind), np.zeros(n, kind)
        _call("bidiagonal", (m, n), held, [d, e, left, right])
        assert (held[m:] == 7).all()
        made = held[:m]
        q, p = _turned(made, left, 0), _turned(made.conj().T[:, : n - 1], right[: n - 1], 1)
        _is_orthonormal(q)
        _is_orthonormal(p)
        middle = np.zeros((m, n))
        middle[:n] = np.diag(d) + np.diag(e[: n - 1], 1)
        np.testing.assert_allclose(q @ middle @ p.conj().T, a, rtol=0, atol=1e-13 * np.abs(a).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n", SIZES)
def test_tridiagonal(n: int, scale: str, kind: str) -> None:
    by = SCALES[scale](n)
    a = _random(n, n, kind)
    a = (a + a.conj().T) * np.minimum.outer(by, by)
    held = np.asfortranarray(np.tril(a) + np.triu(np.full((n, n), np.nan), 1))  # what is not read
    d, e, factors = np.zeros(n), np.zeros(n), np.zeros(n, kind)
    _call("tridiagonal", (n,), held, [d, e, factors])
    q = _turned(held[:, : n - 1], factors[: n - 1], 1)
    _is_orthonormal(q)
    middle = np.diag(d) + np.diag(e[: n - 1], 1) + np.diag(e[: n - 1], -1)
    np.testing.assert_allclose(q @ middle @ q.conj().T, a, rtol=0, atol=1e-13 * np.abs(a).max())
