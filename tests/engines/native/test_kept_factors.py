"""Backward halves of loops, branches and called functions have the factors that the forward halves made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._control.halves import halves_of
from wengert._core.graph import Graph
from wengert._passes import optimise
from wengert._prims.factored_systems import are_dear

RNG = np.random.default_rng(12)
STEPS = 3
DTYPES = ("float32", "float64", "complex64", "complex128")


def _matrices(n: int, dtype: str, count: int = STEPS) -> Any:
    a = RNG.normal(size=(count, n, n)) + n * np.eye(n)[RNG.permutation(n)]
    return (a + 1j * RNG.normal(size=a.shape) if dtype.startswith("c") else a).astype(dtype)


def _loss(a: Any, v: Any) -> Any:
    return wg.sum(wg.abs(wg.linalg.solve(a, v)) ** 2)


def _scanned(a: Any, v: Any) -> Any:
    return wg.scan(lambda total, row: (total + _loss(row, v), None), wg.sum(wg.abs(v)) * 0, a)[0]


def _with_made_matrices(a: Any, v: Any) -> Any:
    """The matrix of each step is made there, and its solution is the next right side."""
    return wg.sum(wg.abs(wg.scan(lambda x, row: (wg.linalg.solve(row @ row, x), None), v, a)[0]) ** 2)


def _branched(a: Any, v: Any) -> Any:
    return sum(wg.cond(i % 2 == 0, lambda a, v: _loss(a, v), lambda a, v: wg.sum(wg.abs(a)), a[i], v) for i in range(2))


def _called(a: Any, v: Any) -> Any:
    compiled = wg.function(_loss)
    return sum(compiled(a[i], v) for i in range(STEPS))


PROGRAMS = {"scan": _scanned, "made": _with_made_matrices, "cond": _branched, "call": _called}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [8, 40])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_by_kept_factors(name: str, n: int, dtype: str) -> None:
    program, a, v = PROGRAMS[name], _matrices(n, dtype), RNG.normal(size=(n, 2)).astype(dtype)
    rtol = 1e-10 if dtype in ("float64", "complex128") else 2e-3  # rounding, times the condition
    slope = wg.grad(program, argnums=(0, 1))
    if name == "call":  # a tape around compiled functions: the halves are programs of their own
        found, wanted = slope(a, v), wg.grad(_each_alone, argnums=(0, 1))(a, v)
    else:
        found = wg.function(slope)(a, v)
        with wg.eager():
            wanted = slope(a, v)
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, np.asarray(y), rtol=rtol, atol=rtol * np.abs(np.asarray(y)).max())


def _each_alone(a: Any, v: Any) -> Any:
    return sum(_loss(a[i], v) for i in range(STEPS))


def _graph_of(f: Any, *args: Any) -> Graph:
    compiled = wg.function(f)
    compiled(*args)
    ((_, form),) = compiled.traces
    return form.graph


def _count(nodes: Any, name: str) -> int:
    return sum(node.op.name == name for node in nodes)


@pytest.mark.parametrize(("n", "sides", "kept"), [(6, 1, 0), (7, 1, 1), (16, 4, 1), (16, 16, 0), (40, 40, 1)])
def test_a_matrix_is_factorised_once_where_that_is_dear(n: int, sides: int, kept: int) -> None:
    a, v = _matrices(n, "float64")[0], RNG.normal(size=(n, sides))
    halves = halves_of(_graph_of(_loss, a, v), (True, True))
    assert _count(halves.nodes, "lu") == kept
    assert _count(halves.nodes, "solve") == 1 - kept
    assert _count(halves.backward.nodes, "lu") == 0
    assert _count(halves.backward.nodes, "solve") == 1 - kept
    assert _count(optimise(halves.backward).nodes, "triangular_solve") == 2 * kept


def test_factors_of_what_all_steps_share_are_not_kept_for_each() -> None:
    a, v = _matrices(16, "float64")[0], RNG.normal(size=(16, 1))
    graph = _graph_of(_loss, a, v)
    assert _count(halves_of(graph, (True, True), invariants=(0,)).nodes, "lu") == 0
    assert _count(halves_of(graph, (False, True)).nodes, "lu") == 1  # the system with the adjoint is the same


def test_systems_without_a_gradient_have_no_factors() -> None:
    a, v = _matrices(16, "float64")[0], RNG.normal(size=(16, 1))
    graph = _graph_of(lambda a, v, x: wg.sum(x * wg.linalg.solve(a, v)), a, v, 2.0)
    assert _count(halves_of(graph, (False, False, True)).nodes, "lu") == 0


@pytest.mark.parametrize("name", ["scan", "made", "cond"])
def test_higher_derivatives_by_kept_factors(name: str) -> None:
    n = 8
    a, v = _matrices(n, "float64"), RNG.normal(size=(n, 1))
    direction = RNG.normal(size=v.shape)
    slope = wg.grad(PROGRAMS[name], argnums=1)
    forward = lambda a, v: wg.jvp(lambda v: slope(a, v), (v,), (direction,))[1]
    backward = lambda a, v: wg.grad(lambda a, v: wg.sum(slope(a, v) * direction), argnums=(0, 1))(a, v)
    with wg.eager():
        wanted = backward(a, v)
    for x, y in zip(wg.function(backward)(a, v), wanted, strict=True):
        np.testing.assert_allclose(x, np.asarray(y), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(wg.function(forward)(a, v), np.asarray(wanted[1]), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("checkpoint", ["all", "sqrt", 1])
def test_checkpoints_with_kept_factors(checkpoint: Any) -> None:
    a, v = _matrices(9, "float64", 7), RNG.normal(size=(9, 1))

    def loss(a: Any, v: Any) -> Any:
        step = lambda x, row: (wg.linalg.solve(row @ row, x), None)
        return wg.sum(wg.scan(step, v, a, checkpoint=checkpoint)[0] ** 2)

    with wg.eager():
        wanted = wg.grad(loss, argnums=(0, 1))(a, v)
    for x, y in zip(wg.function(wg.grad(loss, argnums=(0, 1)))(a, v), wanted, strict=True):
        np.testing.assert_allclose(x, np.asarray(y), rtol=1e-9, atol=1e-12)


def test_lanes_with_kept_factors() -> None:
    n = 8
    a, v = _matrices(n, "float64", 4), RNG.normal(size=(n, 1))
    flags = np.array([True, False, True, False])
    a[1], a[3] = 0, 0  # lanes that do not take part may be singular

    def loss(flag: Any, a: Any) -> Any:
        return wg.cond(flag, lambda a: _loss(a, v), lambda a: wg.sum(a), a)

    found = wg.function(wg.vmap(wg.grad(loss, argnums=1)))(flags, a)
    for flag, one, slope in zip(flags, a, found, strict=True):
        wanted = wg.grad(_loss)(one, v) if flag else np.ones((n, n))
        np.testing.assert_allclose(slope, np.asarray(wanted), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("n", [8, 40])
def test_singular_and_unknown_matrices_with_kept_factors(n: int) -> None:
    a, v = _matrices(n, "float64"), RNG.normal(size=(n, 1))
    slope = wg.function(wg.grad(_scanned))
    slope(a, v)
    bad = a.copy()
    bad[1, 0] = 0
    with pytest.raises(np.linalg.LinAlgError, match="[Ss]ingular matrix"):
        slope(bad, v)
    bad = a.copy()
    bad[1, 0, 0] = np.nan
    found = slope(bad, v)
    assert np.isnan(found[1]).all()
    np.testing.assert_allclose(found[[0, 2]], slope(a, v)[[0, 2]], rtol=1e-12)


def test_factors_are_dear_where_machine_code_eliminates_out_of_registers() -> None:
    elimination = pytest.importorskip("wengert._engines.native.lower.elimination", reason="needs llvmlite")
    from wengert._engines.native.lower.factorisations import SMALL_MATRIX

    limits = {np.dtype(np.float64): elimination.LITTLE, np.dtype(np.complex64): SMALL_MATRIX}
    for dtype, most in limits.items():
        assert [are_dear(np.zeros((n, n), dtype)) for n in (most, most + 1)] == [False, True]
        few = elimination.WRITTEN_OUT
        assert [are_dear(np.zeros((n, 1), dtype)) for n in (few, few + 1)] == [False, True]
