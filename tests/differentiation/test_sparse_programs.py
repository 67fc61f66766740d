"""Sparse Jacobians and Hessians that are asked for again outside of traces: the same results, from a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import wengert as wg
from wengert.differentiation import sparse

X = np.linspace(0.5, 2.0, 6)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each time that a pattern is looked for."""
    found: list[str] = []
    original = sparse._SparseCall.detected
    monkeypatch.setattr(
        sparse._SparseCall, "detected", lambda call: found.append(call.name) or original(call)
    )  # fmt: skip
    return found


def springs(x: Any, stiffness: Any = 2.0) -> Any:
    return np.sin(x[1:] - x[:-1]) * stiffness * x[1:] ** 2


def energy(x: Any, stiffness: Any = 2.0) -> Any:
    return (springs(x, stiffness) * x[1:]).sum()


def require_as_dense(sparse_one: Callable[..., Any], dense: Callable[..., Any], *calls: tuple[Any, ...]) -> None:
    for args in calls:
        found = sparse_one(*args)
        assert type(found) is sp.csr_array
        assert found.has_sorted_indices
        np.testing.assert_allclose(found.toarray(), dense(*args), rtol=1e-12, atol=1e-12)  # other order of products


def test_the_pattern_is_looked_for_once_more_and_never_again(searches: list[str]) -> None:
    jacobian, hessian = wg.jacobian(springs, sparsity="detect"), wg.hessian(energy, sparsity="detect")
    calls = [(X * k,) for k in (1.0, 2.0, 3.0, 0.5)]
    require_as_dense(jacobian, wg.jacobian(springs), *calls)
    require_as_dense(hessian, wg.hessian(energy), *calls)
    assert searches == ["jacobian"] * 2 + ["hessian"] * 2
    require_as_dense(jacobian, wg.jacobian(springs), (X[:4],))  # another signature
    assert len(searches) == 5


def test_results_belong_to_the_caller() -> None:
    jacobian = wg.jacobian(springs, sparsity="detect")
    first = [jacobian(X) for _ in range(4)]
    wanted = first[0].toarray()
    for found in first:
        np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-13)
        found.data[:], found.indices[:], found.indptr[:] = 7, 0, 0
    np.testing.assert_allclose(jacobian(X).toarray(), wanted, rtol=1e-13)


def test_values_kinds_and_dtypes_stay() -> None:
    both = wg.value_and_jacobian(springs, sparsity="detect")
    halves = np.linspace(0.5, 2.0, 6).astype(np.float16)
    for x in (X, wg.tensor(X), X.astype(np.float32), halves):
        results = [both(x) for _ in range(3)]
        assert len({type(value) for value, _ in results}) == 1
        assert len({(value.dtype, matrix.dtype) for value, matrix in results}) == 1
        for value, matrix in results[1:]:
            np.testing.assert_allclose(np.asarray(value), np.asarray(results[0][0]), rtol=2e-3)
            np.testing.assert_allclose(matrix.toarray(), results[0][1].toarray(), rtol=2e-2)  # halves
    assert wg.jacobian(springs, sparsity="detect")(halves).dtype == np.float32


def test_other_arguments_that_change(searches: list[str]) -> None:
    jacobian = wg.jacobian(springs, sparsity="detect")
    calls = [(X, np.arange(1.0, 6.0) * k) for k in (1, 2, 3, 4)]
    require_as_dense(jacobian, wg.jacobian(springs), *calls)
    assert len(searches) == 2


def test_other_arguments_that_decide_the_pattern() -> None:
    picked = lambda x, places, mask: np.where(mask, x[places] ** 2, 0.0)
    jacobian = wg.jacobian(picked, sparsity="detect")
    for places, mask in (
        ([0, 1, 2], [1, 1, 1]),
        ([5, 5, 0], [1, 0, 1]),
        ([3, 2, 1], [0, 0, 1]),
        ([3, 2, 1], [1, 1, 1]),
    ):
        call = (X, np.array(places), np.array(mask, bool))
        found = jacobian(*call)
        assert found.nnz == sum(mask)
        np.testing.assert_allclose(found.toarray(), wg.jacobian(picked)(*call), rtol=1e-13)


def test_what_f_reads_is_read_at_each_call(searches: list[str]) -> None:
    mask, scale = np.array([True, False, True, True, False, True]), [1.0]
    f = lambda x: np.where(mask, x**2 * scale[0], 0.0)
    jacobian = wg.jacobian(f, sparsity="detect")
    for _ in range(9):
        mask[:] = ~mask
        scale[0] += 0.25  # changes too often for programs
        found = jacobian(X)
        assert found.nnz == mask.sum()
        np.testing.assert_allclose(found.diagonal(), 2 * X * mask * scale[0], rtol=1e-13)
    before = len(searches)
    jacobian(X)
    assert len(searches) == before + 1  # by the ops: no trace besides


def test_draws_are_not_held() -> None:
    rng = np.random.default_rng(3)
    jacobian = wg.jacobian(lambda x: x * rng.normal(), sparsity="detect")
    assert len({float(jacobian(X).data[0]) for _ in range(4)}) == 4


def test_programs_that_cannot_be() -> None:
    def by_values(x: Any) -> Any:
        return x**2 if float(x.numpy()[0]) > 1 else x**3

    jacobian = wg.jacobian(by_values, sparsity=np.eye(6))
    calls = [(X * k,) for k in (1.0, 3.0, 1.0)]
    require_as_dense(jacobian, wg.jacobian(by_values), *calls)

    def fails(x: Any) -> Any:
        return wg.linalg.cholesky(x.reshape(2, 2)).reshape(-1)

    factors = wg.jacobian(fails, sparsity="detect")
    good, bad = np.array([2.0, 0.5, 0.5, 1.0]), np.array([-2.0, 0.5, 0.5, 1.0])
    require_as_dense(factors, wg.jacobian(fails), (good,), (good,), (good,))
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError):
            factors(bad)
    require_as_dense(factors, wg.jacobian(fails), (good,))


def test_a_program_outlives_values_that_it_refuses(searches: list[str]) -> None:
    factors = wg.jacobian(lambda x: wg.linalg.cholesky(x.reshape(2, 2)).reshape(-1), sparsity="detect")
    good = np.array([2.0, 0.5, 0.5, 1.0])
    for _ in range(2):
        factors(good)
    with pytest.raises(np.linalg.LinAlgError):
        factors(-good)
    factors(good)
    assert len(searches) == 2


def test_faults_of_traces_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    jacobian = wg.jacobian(springs, sparsity="detect")
    jacobian(X)
    monkeypatch.setattr(sparse, "_require_program", None)
    with pytest.raises(TypeError, match="not callable"):
        jacobian(X)


def test_sizes_that_depend_on_values_are_left_to_the_ops() -> None:
    chosen = lambda x: x[x > 1.0] ** 2
    jacobian = wg.jacobian(chosen, sparsity=np.eye(6)[2:])
    require_as_dense(jacobian, wg.jacobian(chosen), *[(X,)] * 3)


def test_colorings_words_and_names() -> None:
    def f(x: Any, way: str, *, power: int = 2, weights: Any = None) -> Any:
        y = x**power if way == "powers" else np.sin(x)
        return y if weights is None else y * weights["w"]

    coloring = wg.coloring(np.eye(6))
    jacobian = wg.jacobian(f, sparsity=coloring)
    for way in ("powers", "sines"):
        for options in ({}, {"power": 3}, {"weights": {"w": X}}):
            for _ in range(3):
                wanted = wg.jacobian(f)(X, way, **options)
                np.testing.assert_allclose(jacobian(X, way, **options).toarray(), wanted, rtol=1e-13)


def test_one_who_follows_and_the_eager_switch_are_served_by_ops() -> None:
    jacobian = wg.jacobian(springs, sparsity="detect")
    for _ in range(3):
        jacobian(X)
    with pytest.raises(wg.LostGradientError, match="leave out sparsity"):
        wg.grad(lambda x: jacobian(x).sum())(X)
    with wg.eager():
        np.testing.assert_allclose(jacobian(X).toarray(), wg.jacobian(springs)(X), rtol=1e-12)


# -- constants, and entries in an order that comes again ----------------------------------------------------------------


def plan_of_steps(z: Any) -> Any:
    """Steps whose states go on linearly in part, between rows of other kinds."""
    states, forces = z[:42].reshape(21, 2), z[42:]
    angles, speeds = states[:-1, 0], states[:-1, 1]
    rates = np.stack([speeds, np.sin(angles) * forces - speeds**2], -1)
    defects = (states[1:] - states[:-1] - 0.1 * rates).reshape(-1)
    return np.concatenate([states[0] * 2, defects, states[-1] ** 2, z[:1] * z[-1:]])


PLACES = np.array([0, 0, 1, 2, 2, 2, 5])

PARTLY_CONSTANT: dict[str, tuple[Callable[[Any], Any], int]] = {
    "steps": (plan_of_steps, 62),
    "all constant": (lambda x: 3 * x[1:] - x[:-1] / 4, 12),
    "none constant": (lambda x: np.sin(x[1:]) * x[:-1], 12),
    "both in one entry": (lambda x: np.sin(x) * 2 + 5 * x, 12),
    "one column twice": (lambda x: x[PLACES] * 2 + np.sin(x[PLACES]) * x[PLACES[::-1]], 9),
    "rows of zeros": (lambda x: np.concatenate([x[:3] * 0, np.tanh(x[3:]) + 0 * x[3:]]), 12),
    "cancelled": (lambda x: np.concatenate([x[:2] - x[:2] + np.sin(x[4:6]), x[:4] - x[4:8]]), 12),
    "by values": (lambda x: np.where(x > 0.3, x**2 + x[::-1], -2 * x), 12),
    "by places": (lambda x: np.where(np.arange(12) % 3 == 0, x**2, x * 5), 12),
    "sums": (lambda x: (x.reshape(-1, 2) * np.array([1.0, -2.0])).sum(1) + np.exp(x[::2]), 12),
    "padded": (lambda x: x**3 + np.pad(x, (1, 2))[3:], 12),
    "a full row": (lambda x: np.concatenate([x[::-1] * 2 + np.cos(x), x.sum()[None]]), 12),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", PARTLY_CONSTANT)
def test_entries_that_are_constant_in_part(name: str, dtype: Any) -> None:
    f, size = PARTLY_CONSTANT[name]
    bound = 1e-12 if dtype is np.float64 else 1e-5
    rng = np.random.default_rng(6)
    points = rng.normal(size=(3, size)).astype(dtype)
    weights = rng.normal(size=f(points[0]).shape).astype(dtype)
    loss = lambda x: (f(x) * weights).sum() + 2 * (x[1:] * x[:-1]).sum() + 0.5 * (x**2).sum()
    for derivative, g in ((wg.jacobian, f), (wg.hessian, loss)):
        by_ops, dense = derivative(g, sparsity="detect")(points[0]), derivative(g)
        program = wg.function(derivative(g, sparsity="detect"))
        for x in points:
            data = program(x)
            assert data.dtype == dtype
            found = sp.csr_array((data, by_ops.indices, by_ops.indptr), shape=by_ops.shape)
            np.testing.assert_allclose(found.toarray(), dense(x), rtol=bound, atol=bound)


def test_entries_that_are_constant_in_part_are_differentiated() -> None:
    for f, size in PARTLY_CONSTANT.values():
        x = np.random.default_rng(7).normal(size=size)
        found = wg.function(wg.grad(lambda x, f=f: (wg.jacobian(f, sparsity="detect")(x) ** 3).sum()))(x)
        wanted = wg.grad(lambda x, f=f: (wg.jacobian(f)(x) ** 3).sum())(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


def test_constants_share_no_pass_and_are_exact() -> None:
    """Beside a constant of 1 a small entry of the same row and colour keeps all of its digits."""
    f = lambda x: np.sin(x[:-1] * 1e-20) + x[1:]
    x = np.linspace(0.5, 2.0, 9)
    data = wg.function(wg.jacobian(f, sparsity="detect"))(x)
    np.testing.assert_allclose(data.reshape(8, 2), np.tile([1e-20, 1.0], (8, 1)), rtol=1e-15)


def test_passes_of_a_program_are_those_of_what_is_no_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    from wengert.differentiation import _sparse_entries

    counts: list[int] = []
    original = _sparse_entries.entries_of

    def counting(run: Any, x: Any, pattern: Any, curved: Any, plan: Any) -> Any:
        counts.append(plan.forward if curved.nnz else 0)
        return original(run, x, pattern, curved, plan)

    monkeypatch.setattr(sparse, "entries_of", counting)
    z = np.random.default_rng(8).normal(size=62)
    assert wg.coloring(wg.sparsity(plan_of_steps)(z)).count > 3
    wg.function(wg.jacobian(plan_of_steps, sparsity="detect"))(z)
    wg.function(wg.jacobian(lambda x: x[1:] - 2 * x[:-1], sparsity="detect"))(z)
    assert counts == [3, 0]
