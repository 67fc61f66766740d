"""Matrices of a structure, roots and logarithms, against SciPy; gradients against differences."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import wengert as wg
from wengert import linalg

RNG = np.random.default_rng(12)
A = RNG.normal(size=(3, 3)) * 0.3 + 1.5 * np.eye(3)
BATCH = RNG.normal(size=(2, 3, 3)) * 0.3 + 1.5 * np.eye(3)
B, Q = RNG.normal(size=(2, 2)) * 0.3 + np.eye(2), RNG.normal(size=(3, 2))


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_matrix_functions_are_scipys(name):
    f, reference = getattr(linalg, name), getattr(scipy.linalg, name)
    np.testing.assert_allclose(f(A), reference(A), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(f(BATCH)[1], reference(BATCH[1]), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(f(A + 0.2j * Q @ Q.T), reference(A + 0.2j * Q @ Q.T), rtol=1e-11)
    assert f(A.astype(np.float32)).dtype == np.float32
    assert f(np.zeros((0, 2, 2))).shape == (0, 2, 2)
    wg.check_gradients(f, A, order=1)
    wg.check_gradients(f, BATCH[:, :2, :2])
    with pytest.raises(np.linalg.LinAlgError, match="complex"):
        f(np.diag([1.0, -1.0]))
    assert np.iscomplexobj(f(np.diag([1.0, -1.0]).astype(complex)))
    with pytest.raises(ValueError, match="square"):
        f(Q)


def test_functions_undo_each_other():
    np.testing.assert_allclose(linalg.expm(linalg.logm(A)), A, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(linalg.sqrtm(A) @ linalg.sqrtm(A), A, rtol=1e-12, atol=1e-14)
    identity = wg.jacobian(lambda a: linalg.expm(linalg.logm(a)))(A).reshape(9, 9)
    np.testing.assert_allclose(identity, np.eye(9), atol=1e-11)


def test_sylvester():
    np.testing.assert_allclose(linalg.solve_sylvester(A, B, Q), scipy.linalg.solve_sylvester(A, B, Q), rtol=1e-12)
    x = linalg.solve_sylvester(BATCH, B, Q)
    np.testing.assert_allclose(BATCH @ x + x @ B, np.broadcast_to(Q, x.shape), rtol=1e-11)
    wg.check_gradients(linalg.solve_sylvester, A, B, Q)


@pytest.mark.sampled(1)  # two seconds each
@pytest.mark.parametrize("trans", [0, 1, 2])
def test_lu_solve(trans):
    matrix, b = RNG.normal(size=(4, 4)), RNG.normal(size=(4, 2))
    factors = linalg.lu_factor(matrix)
    for right in (b, b[:, 0]):
        wanted = scipy.linalg.lu_solve(scipy.linalg.lu_factor(matrix), right, trans)
        np.testing.assert_allclose(linalg.lu_solve(factors, right, trans), wanted, rtol=1e-11)
    wg.check_gradients(lambda m, b: linalg.lu_solve(linalg.lu_factor(m), b, trans), matrix, b)
    many = RNG.normal(size=(3, 4, 4))
    x = linalg.lu_solve(linalg.lu_factor(many), b)
    np.testing.assert_allclose(many @ x, np.broadcast_to(b, x.shape), rtol=1e-10)


def test_structures_are_scipys():
    c, r = RNG.normal(size=4), RNG.normal(size=3)
    for args in ((c, r), (c,), (c[:1], r), (c * 1j,)):
        np.testing.assert_array_equal(linalg.toeplitz(*args), scipy.linalg.toeplitz(*args))
    np.testing.assert_array_equal(linalg.circulant(c), scipy.linalg.circulant(c))
    blocks = (A, Q, r, np.zeros((0, 2)))
    np.testing.assert_array_equal(linalg.block_diag(*blocks), scipy.linalg.block_diag(*blocks))
    wg.check_gradients(linalg.toeplitz, c, r)
    wg.check_gradients(linalg.circulant, c)
    wg.check_gradients(lambda a, b: linalg.block_diag(a, b), A, Q)
    with pytest.raises(ValueError, match="matrices"):
        linalg.block_diag(BATCH)


@pytest.mark.parametrize(
    "a", [np.zeros((3, 3)), np.diag([0.0, 0.0, 4.0]), np.diag([0.0, 1j, -4.0]), np.diag([2.0, -0.0])]
)
def test_the_root_of_a_diagonal_matrix_is_that_of_its_diagonal(a: Any) -> None:
    np.testing.assert_allclose(linalg.sqrtm(a), np.diag(np.sqrt(np.diag(a))))


@pytest.mark.parametrize(
    "a",
    [
        np.zeros((3, 3)),
        np.diag([1.0, 0.0, 4.0]),
        np.diag([0.0, 1j, -4.0]),
        np.diag([2.0, -0.0]),
        np.diag([1.0, np.inf]),
    ],
)
def test_the_logarithm_of_a_diagonal_matrix_is_that_of_its_diagonal(a: Any) -> None:
    """Of 0 it is that of 1e-20, which SciPy's takes in its place; for infinities SciPy's does not end."""
    diagonal = np.diag(a)
    wanted = np.diag(np.log(np.where(diagonal == 0, 1e-20, diagonal)))
    if np.isfinite(a).all():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_allclose(scipy.linalg.logm(a), wanted, rtol=1e-13, atol=1e-15)
    for f in (linalg.logm, wg.function(linalg.logm)):
        np.testing.assert_allclose(f(a), wanted, rtol=1e-14)
        np.testing.assert_allclose(f(a.astype("F" if a.dtype.kind == "c" else "f")), wanted, rtol=1e-6)


@pytest.mark.parametrize("dtype", [float, complex])
def test_matrices_that_are_not_finite_have_no_logarithm_and_a_root_of_nan(dtype: type) -> None:
    """At once: SciPy's look for eigenvalues for long before they give up, and of a triangle's logarithm for ever."""
    for a in (np.full((4, 4), np.nan), np.full((3, 3), np.inf), np.array([[1.0, 2.0], [np.nan, 3.0]])):
        for wrap in (lambda f: f, wg.function):
            root = wrap(linalg.sqrtm)(a.astype(dtype))
            assert np.isnan(np.real(root)).all() and (dtype is float or np.isnan(np.imag(root)).all())
            for x in (a, np.array([[1.0, 2.0], [0.0, np.inf]])):
                with pytest.raises(ValueError, match="infs or NaNs"):
                    wrap(linalg.logm)(x.astype(dtype))


def test_a_negative_diagonal_has_no_real_root() -> None:
    with pytest.raises(ValueError, match="real"):
        linalg.sqrtm(np.diag([1.0, -1.0]))


SINGULAR = [np.zeros((2, 2)), np.zeros((3, 3), complex), np.diag([1.0, 0.0, 0.0]), np.diag([2.0, 0.0])]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("a", SINGULAR, ids=["zeros", "complex zeros", "rank one of three", "rank one of two"])
def test_the_root_of_a_singular_matrix_has_no_derivative(a: Any) -> None:
    def total(a: Any) -> Any:
        return wg.real(wg.sum(linalg.sqrtm(a)))

    for found in (wg.grad(total)(a), wg.function(wg.grad(total))(a), wg.jvp(linalg.sqrtm, (a,), (np.ones_like(a),))[1]):
        assert np.isnan(found).all()
    # what a choice leaves out of a batch has no influence, and the others' gradients are their own
    both = np.stack([a, np.eye(len(a)) * 4.0])
    np.testing.assert_allclose(wg.grad(lambda a: total(a[1]))(both), [np.zeros_like(a), np.full(a.shape, 0.25)])
    with pytest.raises(FloatingPointError, match="sqrtm|sylvester"), wg.debug_nans():
        wg.grad(total)(a)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_root_of_a_single_zero_has_an_infinite_derivative() -> None:
    zero = np.zeros((1, 1))
    assert wg.grad(lambda a: linalg.sqrtm(a)[0, 0])(zero) == np.inf
    assert wg.jvp(linalg.sqrtm, (zero,), (np.ones((1, 1)),))[1] == np.inf


@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "compiled"])
@pytest.mark.parametrize(
    ("a", "b"),
    [(np.zeros((2, 2)), np.zeros((2, 2))), (np.diag([1.0, 2.0]), np.diag([-1.0, 3.0])), (B - B.T, B - B.T)],
    ids=["zeros", "1 and -1", "i and -i"],
)
def test_sylvesters_equation_without_a_solution_is_an_error(wrap: Any, a: Any, b: Any) -> None:
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        wrap(linalg.solve_sylvester)(a, b, np.ones((2, 2)))
