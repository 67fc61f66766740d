"""Linear systems of few unknowns in compiled code, beside LAPACK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.ir import loops
from wengert._engines.native.ir.outlining import walk
from wengert._engines.native.llvm import jit
from wengert._engines.native.llvm.codegen import module_text
from wengert._engines.native.lower.elimination import LITTLE
from wengert._engines.native.lower.factorisations import SMALL_MATRIX
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.lower.shared_factors import with_shared_factors
from wengert._engines.native.plan.prepare import ready
from wengert._passes import optimise
from wengert._prims.decompositions import lu, slogdet

RNG = np.random.default_rng(41)
OPS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "solve": (wg.linalg.solve, np.linalg.solve),
    "inv": (lambda a, v: wg.linalg.inv(a), lambda a, v: np.linalg.inv(a)),
    "det": (lambda a, v: wg.linalg.det(a), lambda a, v: np.linalg.det(a)),
    "slogdet": (lambda a, v: slogdet(a), lambda a, v: np.linalg.slogdet(a)),
}


def both(name: str, a: Any, v: Any) -> list[tuple[Any, Any]]:
    ours, theirs = OPS[name]
    with np.errstate(all="ignore"):
        found, wanted = wg.function(ours)(a, v), theirs(a, v)
    if not isinstance(wanted, tuple):
        return [(found, wanted)]
    return [*zip(found, wanted, strict=True)]


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7, 16, 32, 33])
def test_beside_lapack(n: int, dtype: str, name: str) -> None:
    for lead in ((), (2, 0), (2, 3)):
        a, v = RNG.normal(size=(*lead, n, n)).astype(dtype), RNG.normal(size=(*lead, n, 2)).astype(dtype)
        if n > 1:  # the first pivot is in another row
            a[..., 0, 0] = 0
        condition = float(np.max(np.linalg.cond(a.astype(np.float64)), initial=1.0))
        for found, wanted in both(name, a, v):
            assert np.asarray(found).dtype == wanted.dtype
            # rounding errors grow with the condition of the matrix
            rtol = (1e-14 if dtype == "float64" else 1e-5) * condition * n
            scale = float(np.max(np.abs(wanted), initial=1e-30))
            np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol * scale)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("n", "k"), [(1, 3000), (2, 2500), (3, 700), (7, 1000), (24, 200), (25, 100), (40, 0), (40, 90)]
)
def test_many_right_hand_sides(n: int, k: int, dtype: str) -> None:
    """More than are eliminated beside the matrix: blocks of them, of which the last is smaller."""
    f, of_turned = wg.function(wg.linalg.solve), wg.function(lambda a, v: wg.linalg.solve(a.T, v[:, ::-1]))
    for lead in ((), (2,)):
        a, v = RNG.normal(size=(*lead, n, n)), RNG.normal(size=(*lead, n, k)).astype(dtype)
        a = (a + n * np.eye(n)[RNG.permutation(n)]).astype(dtype)  # pivots are in other rows
        rtol = 1e-13 if dtype == "float64" else 1e-4  # rounding, of matrices of small condition
        np.testing.assert_allclose(f(a, v), np.linalg.solve(a, v), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(of_turned(a[0], v[0]), np.linalg.solve(a[0].T, v[0, :, ::-1]), rtol=rtol, atol=rtol)
    v[..., -1:] = np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.isfinite(f(a, v)), np.isfinite(np.linalg.solve(a, v)))
    a[..., 0, :] = 0
    if k:
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            f(a, v)


@pytest.mark.parametrize("n", [2, 3, 6, 7, 20])
def test_singular_matrices(n: int) -> None:
    a = RNG.normal(size=(3, n, n))
    a[1, :, n - 1] = 0.0
    v = np.ones((3, n, 1))
    for name in ("solve", "inv"):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            wg.function(OPS[name][0])(a, v)
    for name in ("det", "slogdet"):
        for found, wanted in both(name, a, v):
            np.testing.assert_allclose(found, wanted, rtol=1e-11)  # of n pivots
    for name in ("det", "slogdet"):
        for found, wanted in both(name, np.zeros((n, n)), v):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("n", [2, 4, 9])
def test_what_is_not_finite(n: int, name: str) -> None:
    for bad in (np.nan, np.inf, -np.inf):
        for place in range(n):
            a = RNG.normal(size=(2, n, n)) + n * np.eye(n)
            a[0, place, n - 1] = bad
            v = np.ones((2, n, 1))
            for found, wanted in both(name, a, v):
                np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))
                np.testing.assert_allclose(np.asarray(found)[1], wanted[1], rtol=1e-12)  # rounded otherwise


@pytest.mark.parametrize("n", [3, 9])
def test_gradients(n: int) -> None:
    a, v = RNG.normal(size=(n, n)) + n * np.eye(n), RNG.normal(size=(n, 2))
    f = wg.grad(lambda a, v: wg.sum(wg.sin(wg.linalg.solve(a, v))), argnums=(0, 1))
    with wg.eager():
        wanted = f(a, v)
    for ours, theirs in zip(wg.function(f)(a, v), wanted, strict=True):
        np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-10, atol=1e-12)  # rounding, times the condition


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("n", [1, 5, 12, LITTLE])
def test_no_calls(n: int, name: str) -> None:
    f = wg.function(OPS[name][0])
    f(np.eye(n) * 2, np.ones((n, 1)))
    ((_, form),) = f.traces
    function = lowered(ready(optimise(form.graph)), "test").function
    assert not any(type(item) is loops.Call for item in walk(function.body))


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("n", [8, 16])
def test_rows_of_complex_numbers_become_parts_without_gathers(n: int, dtype: str) -> None:
    """LLVM wrote the loop over a row out, and made vectors along the column: numbers that lie apart, one by one."""
    f = wg.function(lambda a: lu(a)[0])
    graph = f.trace(np.ones((5, n, n), dtype))
    text = jit.assembly(module_text(lowered(ready(optimise(graph)), "test").function, "entry"))
    assert "gather" not in text
    assert "scatter" not in text


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 13, 24, 25])
def test_cholesky(n: int, dtype: str) -> None:
    f = wg.function(wg.linalg.cholesky)
    for lead in ((), (2, 0), (2, 3)):
        a = RNG.normal(size=(*lead, n, n)) + (1j * RNG.normal(size=(*lead, n, n)) if dtype[0] == "c" else 0)
        a = (a @ a.conj().swapaxes(-1, -2) + n * np.eye(n)).astype(dtype)
        above = a + np.triu(np.full((n, n), np.nan, dtype), 1)  # what lies above the diagonal is not read
        rtol = 1e-13 if dtype in ("float64", "complex128") else 1e-5  # rounding, of matrices of small condition
        for given in (a, above):
            np.testing.assert_allclose(f(given), np.linalg.cholesky(a), rtol=rtol, atol=rtol * n)
    a = np.broadcast_to(np.eye(n, dtype=dtype), (3, n, n)).copy()
    for bad in (-1.0, 0.0):
        a[1, n - 1, n - 1] = bad
        with pytest.raises(np.linalg.LinAlgError):
            f(a)
    a[1, n - 1, n - 1] = np.nan
    np.testing.assert_array_equal(f(a), np.linalg.cholesky(a))  # LAPACK's word, whatever it is


def _both_ways(a: Any, v: Any) -> Any:
    return wg.sum(wg.sin(wg.linalg.solve(a, v))) + wg.sum(wg.linalg.solve(a.mT, wg.cos(v)) ** 2)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lead", [(), (2,), (0,)])
@pytest.mark.parametrize("n", [8, 16, LITTLE + 3])
def test_systems_with_one_matrix_share_its_factors(n: int, lead: tuple[int, ...], dtype: str) -> None:
    a = (RNG.normal(size=(*lead, n, n)) + n * np.eye(n)[RNG.permutation(n)]).astype(dtype)
    v = RNG.normal(size=(*lead, n, 2)).astype(dtype)
    f = wg.function(wg.value_and_grad(_both_ways, argnums=(0, 1)))
    with wg.eager():
        value, slopes = wg.value_and_grad(_both_ways, argnums=(0, 1))(a, v)
    rtol = 1e-10 if dtype == "float64" else 1e-3  # rounding, times the condition
    found, (of_a, of_v) = f(a, v)
    np.testing.assert_allclose(found, value, rtol=rtol)
    for x, wanted in zip((of_a, of_v), slopes, strict=True):
        np.testing.assert_allclose(x, np.asarray(wanted), rtol=rtol, atol=rtol)
    assert _factorisations(f) == 1
    if lead != (0,):
        a[..., 0, :] = 0
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            f(a, v)


def _factorisations(f: Any) -> int:
    ((_, form),) = f.traces
    return sum(node.op.name in ("lu", "solve") for node in with_shared_factors(ready(optimise(form.graph))).nodes)


def test_systems_with_two_matrices_have_their_own_factors() -> None:
    n = LITTLE + 3
    f = wg.function(lambda a, c, v: wg.linalg.solve(a, wg.linalg.solve(c.T, wg.linalg.solve(a, v))))
    a, c = (RNG.normal(size=(n, n)) + n * np.eye(n) for _ in range(2))
    wanted = np.linalg.solve(a, np.linalg.solve(c.T, np.linalg.solve(a, np.ones((n, 1)))))
    np.testing.assert_allclose(f(a, c, np.ones((n, 1))), wanted, rtol=1e-12)
    assert _factorisations(f) == 2


@pytest.mark.parametrize(
    ("n", "sides", "count"), [(6, 1, 2), (7, 1, 1), (7, 2, 2), (16, 4, 1), (16, 16, 2), (40, 40, 1)]
)
def test_factors_are_shared_where_they_are_dear(n: int, sides: int, count: int) -> None:
    f = wg.function(lambda a, v: wg.linalg.solve(a.T, wg.linalg.solve(a, v)))
    a, v = RNG.normal(size=(n, n)) + n * np.eye(n), RNG.normal(size=(n, sides))
    np.testing.assert_allclose(f(a, v), np.linalg.solve(a.T, np.linalg.solve(a, v)), rtol=1e-12, atol=1e-14)
    assert _factorisations(f) == count


@pytest.mark.parametrize("sides", [1, 3])
@pytest.mark.parametrize("n", [12, SMALL_MATRIX + 1, LITTLE + 8])
def test_systems_with_a_complex_matrix_and_its_adjoint_share_factors(n: int, sides: int) -> None:
    def both(a: Any, v: Any) -> Any:
        x = wg.linalg.solve(a, v)
        first = wg.linalg.solve(wg.conj(wg.swapaxes(a, -1, -2)), x)
        second = wg.linalg.solve(wg.swapaxes(wg.conj(a), -1, -2), x * 2)
        third = wg.linalg.solve(wg.swapaxes(a, -1, -2), x)
        return first, second, third

    a, v = (RNG.normal(size=s) + 1j * RNG.normal(size=s) for s in ((3, n, n), (3, n, sides)))
    a = a + n * np.eye(n)[RNG.permutation(n)]
    f = wg.function(both)
    for found, wanted in zip(f(a, v), both(a, v), strict=True):
        np.testing.assert_allclose(found, wanted, 1e-10, 1e-12)
    assert _factorisations(f) == 1
    loss = lambda a, v: wg.sum(wg.abs(wg.linalg.solve(a, v)) ** 2)
    slope = wg.function(wg.grad(loss, argnums=(0, 1)))
    for found, wanted in zip(slope(a, v), wg.grad(loss, argnums=(0, 1))(a, v), strict=True):
        np.testing.assert_allclose(found, wanted, 1e-9, 1e-12)
    assert _factorisations(slope) == 1
