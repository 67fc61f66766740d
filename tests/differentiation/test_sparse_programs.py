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
