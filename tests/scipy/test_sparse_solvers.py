"""`wengert.scipy.sparse.linalg`: systems with constant sparse matrices, and dense followed ones."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import wengert as wg
from tests.support.scipy_rows import check_slope
from wengert.scipy.sparse import linalg

DENSE = np.array([[4.0, 1, 0, 0], [1, 5, 2, 0], [0, 2, 6, 1], [0, 0, 1, 3]])
SKEW = DENSE + np.diag([0.5, 0.2, -0.3], 1)
A = scipy.sparse.csc_array(SKEW)
B = np.array([1.0, -2.0, 0.5, 3.0])
SOLVERS = ("bicgstab", "gmres")


def test_direct_solvers_follow_the_right_side() -> None:
    for solve in (lambda b: linalg.spsolve(A, b), linalg.factorized(A), linalg.splu(A).solve):
        np.testing.assert_allclose(solve(B), np.linalg.solve(SKEW, B))
        np.testing.assert_allclose(solve(wg.tensor(B)).numpy(), np.linalg.solve(SKEW, B))
        check_slope(lambda b, solve=solve: (solve(b) ** 2).sum(), [B])
    turned = linalg.splu(A).solve(wg.tensor(B), "T")
    np.testing.assert_allclose(turned.numpy(), np.linalg.solve(SKEW.T, B))
    assert linalg.splu(A).shape == (4, 4)
    assert linalg.spsolve(A, wg.tensor(B[:, None])).shape == scipy.sparse.linalg.spsolve(A, B[:, None]).shape


def test_factors_are_pickled_as_the_matrix() -> None:
    factors = pickle.loads(pickle.dumps(linalg.splu(A, permc_spec="NATURAL")))
    for solve in (pickle.loads(pickle.dumps(linalg.factorized(A))), factors.solve, copy.deepcopy(factors).solve):
        np.testing.assert_allclose(solve(B), np.linalg.solve(SKEW, B))
    np.testing.assert_array_equal(factors.perm_c, linalg.splu(A, permc_spec="NATURAL").perm_c)


@pytest.mark.parametrize("name", SOLVERS)
def test_iterative_solvers_follow_the_right_side_and_dense_matrices(name: str) -> None:
    solve = getattr(linalg, name)
    x, info = solve(A, wg.tensor(B), rtol=1e-12)
    assert info == 0
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(SKEW, B), rtol=1e-8)
    check_slope(lambda b: (solve(A, b, rtol=1e-12)[0] ** 2).sum(), [B])
    check_slope(lambda a, b: (solve(a, b, rtol=1e-12)[0] ** 2).sum(), [SKEW, B])


def test_conjugate_gradients() -> None:
    check_slope(lambda b: (linalg.cg(scipy.sparse.csr_array(DENSE), b, rtol=1e-12)[0] ** 2).sum(), [B])


def test_an_operator_is_refused_with_the_cure() -> None:
    operator = scipy.sparse.linalg.aslinearoperator(A)
    with pytest.raises(wg.LostGradientError, match="custom_linear_solve"):
        wg.grad(lambda b: linalg.gmres(operator, b)[0].sum())(B)
