"""`wengert.scipy.linalg` against SciPy's: values, and slopes against differences."""

from __future__ import annotations

import inspect
from functools import partial

import numpy as np
import pytest
import scipy.linalg as reference

import wengert as wg
import wengert.scipy.linalg as linalg
from tests.scipy.against import agrees_with_scipy

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4)) + 4 * np.diag([1.0, 2.0, 3.0, 4.0])
B = RNG.normal(size=(4, 4)) * 0.3 + 2 * np.eye(4)
TALL = RNG.normal(size=(5, 3))
SPD = B @ B.T + np.eye(4)
S = (A + A.T) / 2
C = A + 1j * RNG.normal(size=(4, 4))
X, Y = RNG.normal(size=4), RNG.normal(size=(4, 2))
BANDS = np.array([[0, 0.3, 0.2, 0.4], [4.0, 5.0, 6.0, 7.0]])


def symmetric(f):
    """f of a matrix that is symmetric, so that differences in one triangle are those of both."""
    return lambda a, *rest: f((a + a.T) / 2, *rest)


# the name, the arguments, and the options
CASES = [
    ("inv", (A,), {}), ("inv", (SPD,), {"assume_a": "pos"}), ("det", (A,), {}), ("norm", (A,), {}),
    ("norm", (A,), {"ord": 1, "axis": 0, "keepdims": True}), ("solve", (A, X), {}), ("solve", (C, X + 0j), {}),
    ("solve", (A, Y), {"transposed": True}), ("solve", (S, Y), {"assume_a": "sym"}),
    ("solve", (SPD, X), {"assume_a": "pos", "lower": True}), ("solve", (A, X), {"assume_a": "upper triangular"}),
    ("solve_triangular", (A, X), {"lower": True}), ("solve_triangular", (A, Y), {"trans": 1}),
    ("solve_triangular", (C, X + 0j), {"trans": "C", "lower": True}),
    ("solve_triangular", (A / 5, X), {"unit_diagonal": True}),
    ("solveh_banded", (BANDS, X), {}), ("solveh_banded", (BANDS[::-1].copy(), Y), {"lower": True}),
    ("lstsq", (TALL, RNG.normal(size=5)), {}), ("lstsq", (TALL, RNG.normal(size=(5, 2))), {}), ("pinv", (TALL,), {}),
    ("lu", (A,), {}), ("lu", (TALL,), {"permute_l": True}), ("lu", (A,), {"p_indices": True}),
    ("qr", (TALL,), {"mode": "economic"}), ("qr", (A,), {}), ("qr", (A,), {"mode": "r"}),
    ("qr", (TALL,), {"mode": "economic", "pivoting": True}), ("qr_multiply", (TALL, RNG.normal(size=(2, 5))), {}),
    ("svdvals", (TALL,), {}), ("diagsvd", (X[:3], 3, 4), {}), ("diagsvd", (X[:3], 5, 3), {}), ("polar", (A,), {}), ("polar", (A,), {"side": "left"}),
    ("hessenberg", (A,), {}), ("hessenberg", (A,), {"calc_q": True}), ("orthogonal_procrustes", (A, B), {}),
    ("schur", (S + np.triu(B, 1),), {}), ("eigvals", (A,), {}), ("eigvals", (A, SPD), {}),
    ("eigh_tridiagonal", (X * 4, X[1:]), {"eigvals_only": True}), ("eigvalsh_tridiagonal", (X * 4, X[1:]), {}),
    ("expm", (B,), {}), ("logm", (SPD,), {}), ("sqrtm", (SPD,), {}), ("expm_frechet", (B, A / 4), {}),
    ("expm_frechet", (B, A / 4), {"compute_expm": False}), ("fractional_matrix_power", (SPD, 0.3), {}),
    ("fractional_matrix_power", (A, 3), {}), ("cosm", (B,), {}), ("sinm", (C / 4,), {}), ("tanm", (B / 3,), {}),
    ("coshm", (B,), {}), ("sinhm", (B,), {}), ("tanhm", (B,), {}), ("solve_sylvester", (A, B, Y @ Y.T), {}),
    ("solve_continuous_lyapunov", (A, B), {}), ("solve_continuous_lyapunov", (C, B + 0j), {}),
    ("solve_lyapunov", (A, B), {}), ("solve_discrete_lyapunov", (A / 8, B), {}),
    ("hankel", (X,), {}), ("hankel", (X, X[:3] + 1), {}), ("companion", (X,), {}), ("leslie", (X, X[1:]), {}),
    ("fiedler", (X,), {}), ("convolution_matrix", (X, 3), {}), ("convolution_matrix", (X, 6), {"mode": "same"}),
    ("convolution_matrix", (X, 6), {"mode": "valid"}), ("khatri_rao", (Y, Y + 1), {}), ("toeplitz", (X, X + 1), {}),
    ("circulant", (X,), {}), ("block_diag", (A, X), {}), ("solve_circulant", (X, Y), {}), ("solve_toeplitz", (X, Y), {}),
    ("matmul_toeplitz", (X, Y), {}),
    ("toeplitz", (TALL,), {}), ("toeplitz", (TALL[:1], TALL), {}), ("toeplitz", (TALL, X), {}), ("circulant", (TALL,), {}),
    ("companion", (TALL,), {}), ("fiedler", (TALL,), {}),
    ("convolution_matrix", (TALL, 6), {}), ("convolution_matrix", (TALL, 6), {"mode": "valid"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "options"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_values_and_slopes_are_those_of_scipys_function(name, args, options):
    arrays = tuple(a for a in args if isinstance(a, np.ndarray))
    rest = args[len(arrays) :]

    def called(module, *x):
        return getattr(module, name)(*x, *rest, **options)

    ours, theirs = partial(called, linalg), partial(called, reference)
    # eigenvalues come in any order
    take = {"eigvals": lambda w: (w.sum(), (w**2).sum(), (w**3).sum())}.get(name, lambda r: r)
    agrees_with_scipy(ours, theirs, arrays, rtol=1e-9, slope_rtol=1e-5, take=take)


def test_hankel_takes_arrays_in_one_row_as_scipy_does_to_1_18():
    np.testing.assert_array_equal(linalg.hankel(wg.tensor(TALL), X), reference.hankel(TALL.ravel(), X))


SYMMETRIC = [
    ("cholesky", {}), ("cholesky", {"lower": True}), ("eigh", {"eigvals_only": True}), ("eigvalsh", {"lower": False}),
    ("eigvalsh", {"subset_by_index": [1, 2]}), ("pinvh", {}), ("ldl", {}), ("ldl", {"hermitian": False}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), SYMMETRIC, ids=[f"{c[0]}-{i}" for i, c in enumerate(SYMMETRIC)])
def test_functions_of_symmetric_matrices_agree(name, options):
    ours, theirs = (symmetric(partial(getattr(m, name), **options)) for m in (linalg, reference))
    agrees_with_scipy(ours, theirs, (SPD if name != "ldl" else S - 9 * np.eye(4),), slope_rtol=1e-5)


def test_ldl_of_a_matrix_with_a_block_of_two_is_differentiated():
    indefinite = np.array([[0.1, 2.0, 0.3], [2.0, 0.2, 0.1], [0.3, 0.1, 5.0]])
    assert reference.ldl(indefinite)[1][0, 1] != 0 or reference.ldl(indefinite)[1][1, 2] != 0
    agrees_with_scipy(symmetric(linalg.ldl), symmetric(reference.ldl), (indefinite,), slope_rtol=1e-5)


def test_generalised_eigenvalues_agree_and_vectors_solve_the_equation():
    ours, theirs = (
        lambda a, b, f=m.eigh: f((a + a.T) / 2, (b + b.T) / 2, eigvals_only=True) for m in (linalg, reference)
    )
    agrees_with_scipy(ours, theirs, (S, SPD), slope_rtol=1e-5)
    values, vectors = linalg.eigh(wg.tensor(S), wg.tensor(SPD))
    np.testing.assert_allclose(S @ vectors, SPD @ vectors @ np.diag(values), atol=1e-10)


def test_eigenvectors_on_both_sides_and_of_pairs_agree():
    """As LAPACK turns them; what does not depend on that has slopes."""
    pair = B

    def free_of_phases(result):
        values, left, right = result
        return values * values.conj(), abs(left) ** 2, abs(right) ** 2

    for args in ((A,), (A, pair)):
        want, got = reference.eig(*args, left=True), linalg.eig(*map(wg.tensor, args), left=True)
        for theirs, ours in zip(want, got, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-9, atol=1e-12)
        agrees_with_scipy(
            lambda *x: linalg.eig(*x, left=True), lambda *x: reference.eig(*x, left=True), args, slope_rtol=1e-5,
            take=free_of_phases,
        )  # fmt: skip
    stacked = np.stack([A, A.T])
    np.testing.assert_allclose(linalg.eig(wg.tensor(stacked), pair)[0], reference.eig(stacked, pair)[0])
    np.testing.assert_allclose(wg.function(lambda a: linalg.eig(a, pair)[0])(A), reference.eig(A, pair)[0])
    wg.check_gradients(lambda a: wg.sum(abs(linalg.eig(a, pair)[1]) ** 3), A, order=2)
    assert linalg.eig(wg.tensor(A), pair, right=False).shape == (4,)


def test_factors_solve_what_they_are_factors_of():
    def by_cholesky(a, b):
        return linalg.cho_solve(linalg.cho_factor((a + a.T) / 2, lower=True), b)

    agrees_with_scipy(by_cholesky, lambda a, b: np.linalg.solve((a + a.T) / 2, b), (SPD, X))
    agrees_with_scipy(lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b), np.linalg.solve, (A, Y))
    agrees_with_scipy(
        lambda ab, b: linalg.solve_banded((1, 0), ab, b), lambda ab, b: reference.solve_banded((1, 0), ab, b),
        (BANDS[::-1].copy(), X),
    )  # fmt: skip


def test_schurs_complex_form_has_slopes_that_do_not_depend_on_phases():
    for matrix in (A, C):
        for m in (linalg, reference):
            t, z = m.schur(wg.tensor(matrix) if m is linalg else matrix, output="complex")
            np.testing.assert_allclose(np.asarray(z) @ t @ np.conj(z).T, matrix, atol=1e-10)

        def free_of_phases(a, f):
            t, z = f(a, output="complex")
            return abs(t) ** 2, abs(z) ** 2

        ours, theirs = (partial(free_of_phases, f=m.schur) for m in (linalg, reference))
        agrees_with_scipy(ours, theirs, (matrix,), slope_rtol=1e-5)


@pytest.mark.parametrize("name", ["solve_continuous_are", "solve_discrete_are"])
def test_riccatis_equations_are_differentiated_to_second_order(name):
    # in both the weights are symmetric, and so are their differences
    def called(module, a, b, q, r):
        return getattr(module, name)(a, b, q @ q.T + np.eye(2), r @ r.T + np.eye(1))

    rest = (Y[:2, :1], B[:2, :2], np.array([[1.0]]))
    agrees_with_scipy(
        partial(called, linalg), partial(called, reference), (A[:2, :2] / 8, *rest), rtol=1e-8, slope_rtol=1e-5
    )
    if name == "solve_discrete_are":  # its Lyapunov equation is a plain system, and quick
        wg.check_gradients(lambda b: wg.sum(called(linalg, A[:2, :2] / 8, b, *rest[1:]) ** 2), rest[0], order=2)


def test_eigenvectors_of_a_general_matrix_are_recorded():
    values, vectors = linalg.eig(wg.tensor(A))
    assert values.dtype == np.complex128
    np.testing.assert_allclose(A @ vectors, vectors.numpy() * values.numpy(), atol=1e-10)
    wg.check_gradients(lambda a: wg.sum(abs(linalg.eig(a)[1]) ** 4), A)


def test_options_that_are_not_ours_are_named_and_arrays_have_them():
    with pytest.raises(TypeError, match=r"linalg.schur: sort='lhp' is not supported"):
        wg.grad(lambda a: wg.sum(linalg.schur(a, sort="lhp")[0]))(A)
    assert len(linalg.schur(A, sort="lhp")) == 3


SHARED = [
    n for n in linalg.__all__ if inspect.isfunction(getattr(reference, n)) and not isinstance(getattr(linalg, n), type)
]


# what came or went between the releases of SciPy that are supported: ours have it by name
MOVED = {"eigvals": {"overwrite_b"}, "logm": {"disp"}, "sqrtm": {"disp", "blocksize"}}


@pytest.mark.parametrize("name", SHARED)
def test_signatures_are_scipys(name):
    ours, theirs = (list(inspect.signature(getattr(m, name)).parameters) for m in (linalg, reference))
    moved = MOVED.get(name, set())
    assert [p for p in ours if p not in moved] == [p for p in theirs if p not in moved]
    assert {*theirs} <= {*ours}


def test_schurs_real_form_of_complex_eigenvalues_is_nan_where_it_is_followed():
    turned = np.array([[0.0, -1.0, 0.3], [1.0, 0.2, 0.1], [0.0, 0.4, 2.0]])
    assert np.isfinite(linalg.schur(turned)[0]).all()
    assert (
        np.isnan(wg.grad(lambda a: wg.sum(linalg.schur(a)[0]))(turned)).any()
        or np.isnan(linalg.schur(wg.tensor(turned))[0].numpy()).all()
    )
    assert np.isnan(wg.value_and_grad(lambda a: wg.sum(linalg.schur(a)[0]))(turned).value)
