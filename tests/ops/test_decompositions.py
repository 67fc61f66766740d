"""Determinants, factorisations and pseudo-inverses: hard points, complex matrices, NumPy's names.

The hard points of linear algebra in docs/semantics/hard_points.md; smooth points are in
tests/prims/test_registry.py and tests/ops/test_oracle.py.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg

import wengert as wg
from tests.support.python_engine.interop import from_numpy, to_numpy
from wengert import linalg
from wengert._core.state import recording
from wengert._transforms.forward import Tangents

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
EYE = np.eye(2)
RANK_ONE = np.array([[1.0, 2.0], [2.0, 4.0]])
TALL = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def push(f, x, d):
    """The derivative of f at x in the direction d, by forward mode."""
    tangents, start = Tangents(), wg.positive(wg.tensor(x))
    tangents.set(start, wg.tensor(d))
    with recording(tangents):
        value = f(start)
    found = tangents.of(value)
    return found if isinstance(found, wg.Tensor) else wg.zeros_like(value)  # no path means zero


def gradient(f, x):
    return np.asarray(wg.grad(f)(np.array(x, dtype=float)))


def close(got, want, atol=1e-10):
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-9, atol=atol)


# -- determinants -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("x", "cofactors"), [
    (RANK_ONE, [[4, -2], [-2, 1]]),
    (np.zeros((2, 2)), np.zeros((2, 2))),
    (np.arange(1.0, 10).reshape(3, 3), [[-3, 6, -3], [6, -12, 6], [-3, 6, -3]]),
    (np.outer([1.0, 2, 3], [1, 1, 2]), np.zeros((3, 3))),
    ([[3.0]], [[1]]),
])  # fmt: skip
def test_det_has_the_adjugate_at_singular_matrices(x, cofactors):
    close(gradient(linalg.det, x), cofactors)


@pytest.mark.parametrize("is_complex", [False, True])
def test_the_gradient_of_det_is_its_inverse_times_det_at_small_and_large_matrices(is_complex):
    for n in (1, 2, 5, 20, 32, 33):  # more rows than 32 go another way
        a = np.eye(n)[::-1] + 0.3 * np.cos(np.arange(n * n)).reshape(n, n) / n
        x = a + 0.2j * a.T if is_complex else a
        _, pullback = wg.vjp(linalg.det, x)
        found = pullback(np.ones((), x.dtype))[0]
        close(found, np.conj(np.linalg.det(x) * np.linalg.inv(x).T), 1e-9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_gradient_of_det_beside_an_infinity_is_made_of_minors():
    x = np.array([[1.0, np.inf], [2.0, 3.0]])
    both = wg.function(lambda a: (wg.grad(linalg.det)(a), wg.grad(lambda a: wg.sum(linalg.det(a)))(wg.stack([a, a.T]))))
    wanted = np.array([[3, -2], [-np.inf, 1]])
    close(gradient(linalg.det, x), wanted)
    one, several = both(x)
    close(one, wanted)
    close(several, [wanted, wanted.T])
    close(wg.hessian(linalg.det)(np.array([[np.inf]])), np.zeros((1, 1, 1, 1)))

    def f(a):
        product = linalg.det(a / (a * 0.0))
        return wg.cond(wg.sum(a) > -1, lambda: wg.sum(a * a), lambda: product)

    close(wg.function(wg.grad(f))(np.eye(2) + 1), 2 * np.eye(2) + 2)


def test_second_derivative_of_det_at_a_singular_matrix():
    for x in (RANK_ONE, np.zeros((2, 2))):
        second = np.array(
            [[gradient(lambda y, i=i, j=j: wg.grad(linalg.det)(y)[i, j], x) for j in range(2)] for i in range(2)]
        )
        want = np.zeros((2, 2, 2, 2))
        want[0, 0, 1, 1] = want[1, 1, 0, 0] = 1
        want[0, 1, 1, 0] = want[1, 0, 0, 1] = -1
        close(second, want)


def test_slogdet_at_a_singular_matrix_does_not_raise():
    sign, size = linalg.slogdet(RANK_ONE)
    assert sign == 0 and size == -np.inf
    assert not np.isfinite(gradient(lambda x: linalg.slogdet(x).logabsdet, RANK_ONE)).any()


def test_slogdet_does_not_overflow():
    x = np.random.default_rng(0).normal(size=(250, 250)) * 30
    got = gradient(lambda x: linalg.slogdet(x)[1], x)
    close(got, np.linalg.inv(x).T)


def test_logdet():
    close(gradient(wg.ops.logdet, [[2, 1], [0, 3]]), [[0.5, 0], [-1 / 6, 1 / 3]])  # not symmetric: inv(A)^T
    assert np.isnan(wg.ops.logdet(np.array([[0.0, 1], [1, 0]])))
    assert np.isnan(gradient(wg.ops.logdet, [[0, 1], [1, 0]])).all()


def test_complex_slogdet_knows_the_phase():
    rng = np.random.default_rng(1)
    x, d = (rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)) for _ in range(2))

    def f(x):
        sign, size = linalg.slogdet(x)
        return wg.real(sign) * 2 + wg.imag(sign) + size

    h = 1e-6
    slope = (f(x + h * d) - f(x - h * d)) / (2 * h)
    close(np.sum((np.conj(np.asarray(wg.grad(f)(x))) * d).real), slope, 1e-8)


# -- eigenvalues and singular values -------------------------------------------------------------------------------


def test_eigenvalues_of_the_identity():
    weights = np.array([1.0, 2.0])
    close(gradient(lambda x: wg.sum(linalg.eigh(x)[0] * weights), EYE), np.diag(weights))
    close(gradient(lambda x: wg.sum(linalg.eigvalsh(x) * weights), EYE), np.diag(weights))


def test_eigenvectors_of_the_identity_have_no_gradient():
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert np.isnan(gradient(lambda x: wg.sum(linalg.eigh(x)[1] * weights), EYE)).all()

    def trace(x):
        values, vectors = linalg.eigh(x)
        return wg.sum(vectors * vectors * values)

    close(gradient(trace, EYE), EYE)  # but smooth functions of values and vectors have theirs


def test_gradient_of_eigenvalues_is_symmetric():
    got = gradient(lambda x: linalg.eigvalsh(x)[1], [[2, 1], [1, 2]])
    close(got, [[0.5, 0.5], [0.5, 0.5]])
    close(gradient(lambda x: wg.sum(linalg.eigvalsh(x) * np.array([0.0, 3.0])), [[2, 1], [1, 2]]), np.full((2, 2), 1.5))


def test_equal_up_to_rounding_is_equal():
    rng = np.random.default_rng(3)
    q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    x = q @ np.diag([1.0, 1.0, 1.0, 3.0]) @ q.T
    close(gradient(lambda x: wg.sum(linalg.eigh(x)[0]), x), np.eye(4), 1e-9)  # the trace

    def trace(x):
        values, vectors = linalg.eigh(x)
        return wg.sum(vectors**2 @ values)

    close(gradient(trace, x), np.eye(4), 1e-9)
    assert np.isnan(gradient(lambda x: wg.sum(linalg.eigh(x)[1]), x)).all()


def test_eigh_reads_one_triangle():
    lower, upper = np.array([[2.0, 9.0], [1.0, 3.0]]), np.array([[2.0, 1.0], [9.0, 3.0]])
    close(linalg.eigvalsh(lower), linalg.eigvalsh(upper, UPLO="U"))
    with pytest.raises(ValueError, match="UPLO must be 'L' or 'U', got 'X'"):
        linalg.eigh(lower, "X")


@pytest.mark.parametrize("x", [EYE, RANK_ONE, np.zeros((2, 2))])
def test_gradient_of_the_sum_of_singular_values(x):
    for full in (True, False):
        got = gradient(lambda x, full=full: wg.sum(linalg.svd(x, full_matrices=full)[1]), x)
        u, _, vh = np.linalg.svd(x)
        close(got, u @ vh)
    close(gradient(lambda x: linalg.norm(x, "nuc"), x), u @ vh)


def test_singular_vectors_of_the_identity_have_no_gradient():
    assert np.isnan(gradient(lambda x: wg.sum(linalg.svd(x)[0]), EYE)).all()


def test_spectral_norm_splits_a_tie():
    close(gradient(lambda x: linalg.norm(x, 2), EYE), EYE / 2)
    close(gradient(lambda x: linalg.matrix_norm(x, ord=-2), np.diag([1.0, 2.0])), np.diag([1.0, 0.0]))
    for order in (2, -2, "nuc"):
        x = np.random.default_rng(2).normal(size=(2, 3, 4))
        close(linalg.norm(x, order, (0, 2)), np.linalg.norm(x, order, (0, 2)))


def test_null_space_of_svd_has_no_gradient():
    close(np.abs(linalg.svd(TALL)[0]), np.abs(np.linalg.svd(TALL)[0]))
    close(np.abs(linalg.svd(TALL.T)[2]), np.abs(np.linalg.svd(TALL.T)[2]))
    with pytest.raises(LookupError, match="complement"):
        wg.grad(lambda x: wg.sum(linalg.svd(x)[0]))(TALL)
    assert gradient(lambda x: wg.sum(linalg.svd(x)[2] ** 2 * np.array([[1.0, 2], [3, 5]])), TALL).shape == (3, 2)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_functions_free_of_the_phase_of_complex_vectors(shape):
    rng = np.random.default_rng(4)
    x, d, w = (rng.normal(size=shape) + 1j * rng.normal(size=shape) for _ in range(3))

    def through_svd(x):
        u, s, vh = linalg.svd(x, full_matrices=False)
        return wg.real(wg.sum((u * s**2) @ vh * w))

    h = 1e-5
    slope = (through_svd(x + h * d) - through_svd(x - h * d)) / (2 * h)
    close(np.sum((np.conj(np.asarray(wg.grad(through_svd)(x))) * d).real), slope, 1e-6)

    if shape[0] == shape[1]:
        x, d = x + x.conj().T, d + d.conj().T

        def through_eigh(x):
            values, vectors = linalg.eigh(x)
            return wg.real(wg.sum((vectors * values**3) @ wg.conj(vectors).T * w))

        slope = (through_eigh(x + h * d) - through_eigh(x - h * d)) / (2 * h)
        close(np.sum((np.conj(np.asarray(wg.grad(through_eigh)(x))) * d).real), slope, 1e-5)


def test_plain_python_factors_multiply_back():
    rng = np.random.default_rng(5)
    for dtype in (float, complex):
        for shape in ((3, 3), (2, 4, 2), (2, 3)):
            x = rng.normal(size=shape).astype(dtype) * (1 if dtype is float else 1 + 1j)
            u, s, vh = (to_numpy(t._data) for t in wg.ops.svd(wg.tensor(from_numpy(x)), full_matrices=False))
            close((u * s[..., None, :]) @ vh, x)
            close(s, np.linalg.svd(x, compute_uv=False))
        x = rng.normal(size=(4, 4)) + (0 if dtype is float else 1j * rng.normal(size=(4, 4)))
        x = x + x.conj().T
        w, v = (to_numpy(t._data) for t in wg.ops.eigh(wg.tensor(from_numpy(x))))
        close((v * w) @ v.conj().T, x)
        close(w, np.linalg.eigvalsh(x))


# -- QR, LU, pseudo-inverse ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr_is_numpys(shape, mode):
    x = np.random.default_rng(6).normal(size=shape)
    for got, want in zip(linalg.qr(x, mode), np.linalg.qr(x, mode), strict=True):
        close(got, want)
    close(linalg.qr(x, "r"), np.linalg.qr(x, "r"))


def test_qr_of_a_wide_matrix():
    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])
    close(gradient(lambda x: wg.sum(linalg.qr(x)[1]), x),
          [[2.3250, -1.2127, -1.2127], [-1.6117, -0.7276, -0.7276]], 1e-3)  # fmt: skip


def test_complete_q_has_no_gradient():
    with pytest.raises(LookupError, match="complement"):
        wg.grad(lambda x: wg.sum(linalg.qr(x, "complete")[0]))(TALL)


def test_lu_factor_is_scipys():
    from scipy.linalg import lu_factor

    x = np.random.default_rng(7).normal(size=(4, 4))
    for got, want in zip(linalg.lu_factor(x), lu_factor(x), strict=True):
        close(got, want)
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])
    close(gradient(lambda x: wg.sum(linalg.lu_factor(x)[0] * weights), [[4, 3], [6, 3]]), [[-1.5, 4], [2, -2 / 3]])


def test_pinv_and_lstsq_at_constant_rank():
    close(gradient(lambda x: wg.sum(linalg.pinv(x)), RANK_ONE), [[0.0048, -0.0144], [-0.0144, -0.0768]])
    ones, b = np.ones((3, 2)), np.array([[1.0], [2.0], [2.0]])
    to_a, to_b = wg.grad(lambda a, b: wg.sum(linalg.lstsq(a, b)[0]), argnums=(0, 1))(ones, b)
    close(to_a, [[-0.38888889] * 2, [-0.22222222] * 2, [-0.22222222] * 2], 1e-8)
    close(to_b, np.full((3, 1), 1 / 3))


def test_lstsq_is_numpys():
    rng = np.random.default_rng(8)
    for shape in ((4, 2), (2, 4)):
        a, b = rng.normal(size=shape), rng.normal(size=(shape[0], 3))
        for got, want in zip(linalg.lstsq(a, b), np.linalg.lstsq(a, b, rcond=None), strict=True):
            close(got, want)


def test_ranks_and_condition_numbers_are_numpys():
    stack = np.stack([RANK_ONE, EYE, np.zeros((2, 2))])
    np.testing.assert_array_equal(linalg.matrix_rank(stack), [1, 2, 0])
    assert linalg.matrix_rank(np.array([1.0, 2.0])) == 1
    x = np.random.default_rng(9).normal(size=(3, 3))
    for p in (None, 2, -2, 1, np.inf, "fro"):
        close(linalg.cond(x, p), np.linalg.cond(x, p))


def test_matrices_that_fail_raise():
    for f in (linalg.inv, lambda x: linalg.solve(x, np.ones(2))):
        with pytest.raises(np.linalg.LinAlgError):
            wg.grad(lambda x, f=f: wg.sum(f(x)))(RANK_ONE)
    with pytest.raises(np.linalg.LinAlgError):
        wg.grad(lambda x: wg.sum(linalg.cholesky(x)))(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(ValueError, match="wanted square matrices"):
        linalg.det(TALL)


def test_numpys_functions_are_recorded():
    def f(x):
        return np.linalg.det(x) + np.linalg.eigh(x).eigenvalues[0] + np.linalg.svd(x).S[0] + np.sum(np.linalg.qr(x).R)

    assert np.isfinite(gradient(f, [[2.0, 1.0], [1.0, 3.0]])).all()
    compiled = wg.function(f)
    x = np.array([[2.0, 1.0], [1.0, 3.0]])
    close(compiled(x), f(x))
    close(wg.grad(compiled)(x), gradient(f, x))


# -- third derivatives of the determinant ----------------------------------------------------------------------------


def leibniz(x):
    """The determinant as a sum over permutations: a polynomial, whose derivatives wg has term by term."""
    n, total = x.shape[-1], 0.0
    for p in itertools.permutations(range(n)):
        sign = np.linalg.det(np.eye(n)[list(p)])
        term = sign
        for i, j in enumerate(p):
            term = term * x[i, j]
        total = total + term
    return total


@pytest.mark.parametrize("x", [
    np.zeros((3, 3)), np.eye(3), np.ones((3, 3)), np.diag([1.0, 1.0, 0.0]), np.diag([2.0, 0.0, 0.0]), np.eye(4),
    np.diag([1.0, 1.0, 0.0, 0.0]),
], ids=["zero", "identity", "ones", "rank 2", "rank 1", "identity 4", "rank 2 of 4"])  # fmt: skip
def test_third_and_fourth_derivatives_of_det_at_equal_singular_values(x):
    rng = np.random.default_rng(4)
    u, v, w, q = rng.normal(size=(4, *x.shape))

    def derivative(f, order):
        for d in (u, v, w, q)[:order]:
            f = lambda y, f=f, d=d: push(f, y, d)  # one more direction each time
        return f

    for order in (3, 4):
        close(derivative(linalg.det, order)(x), derivative(leibniz, order)(x), 1e-9)
    grad = lambda f: wg.grad(lambda y: wg.sum(wg.grad(lambda z: wg.sum(wg.grad(f)(z) * u))(y) * v))(x)
    close(grad(linalg.det), grad(leibniz), 1e-9)


# -- general eigenvalues, exponentials, rectangular LU ------------------------------------------------------------------

GENERAL = np.array([[1.0, 2.0, 0.5], [-3.0, 1.5, 1.0], [0.2, -0.4, 3.0]])  # two eigenvalues are complex


def slope(f, x, d, h=1e-4):
    """A central difference of fourth order."""
    near, far = f(x + h * d) - f(x - h * d), f(x + 2 * h * d) - f(x - 2 * h * d)
    return (8 * near - far) / (12 * h)


@pytest.mark.parametrize("x", [GENERAL, GENERAL + 0.3j * GENERAL.T], ids=["real", "complex"])
def test_general_eigenvalues_and_vectors(x):
    values, vectors = linalg.eig(x)
    close(x @ np.asarray(vectors), np.asarray(vectors) * np.asarray(values))
    close(np.sort_complex(linalg.eigvals(x)), np.sort_complex(np.linalg.eigvals(x)))
    rng = np.random.default_rng(2)
    d, w = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    d = d + 1j * w if np.iscomplexobj(x) else d

    def f(x):
        # neither the order of the values nor the phases of the vectors matter
        values, vectors = wg.numpy.linalg.eig(x)
        sizes = wg.abs(vectors) ** 2
        powers = wg.abs(values) ** 3 + wg.real(values) ** 2 * sizes[0]
        return wg.sum(powers) + wg.sum(wg.numpy.matmul(w, sizes) ** 2)

    close(np.sum((np.conj(np.asarray(wg.grad(f)(x))) * d).real), slope(f, x, d), 1e-8)
    close(push(f, x, d), slope(f, x, d), 1e-8)
    g = lambda x: np.sum((np.conj(np.asarray(wg.grad(f)(x))) * d).real)
    second = push(lambda x: push(f, x, d), x, d)
    close(second, slope(g, x, d), 1e-6)


def test_functions_of_equal_general_eigenvalues_alone():
    # the sum of squared eigenvalues is the trace of the square
    close(gradient(lambda x: wg.sum(wg.real(linalg.eigvals(x) ** 2)), 2 * np.eye(3)), 4 * np.eye(3))
    # without a basis of eigenvectors there is no derivative
    first = lambda x: wg.real(linalg.eigvals(x))[0]
    defective = gradient(first, np.eye(2, k=1))
    assert not (np.abs(defective) < 1e6).all()


def test_eig_keeps_single_precision_and_batches():
    x = np.stack([GENERAL, GENERAL.T]).astype(np.float32)
    values, vectors = linalg.eig(x)
    assert values.dtype == vectors.dtype == np.complex64 and values.shape == (2, 3)
    assert wg.grad(lambda x: wg.sum(wg.abs(linalg.eigvals(x))))(x).dtype == np.float32


def test_exponential_of_a_matrix():
    rng = np.random.default_rng(6)
    for x, d in (rng.normal(size=(2, 4, 4)), 5 * rng.normal(size=(2, 2, 2)), rng.normal(size=(2, 3, 3)) * (1 + 1j)):
        close(linalg.expm(x), scipy.linalg.expm(x))
        close(push(linalg.expm, x, d), scipy.linalg.expm_frechet(x, d)[1])
    # of a matrix that commutes with its direction: every derivative is the exponential times a power
    t = np.array([[0.3, 1.0], [0.0, 0.3]])
    f = lambda s: linalg.expm(s * t)
    for order in (1, 2, 3):
        f = lambda s, f=f: push(f, s, 1.0)  # one order more each time
        close(f(0.7), np.linalg.matrix_power(t, order) @ scipy.linalg.expm(0.7 * t))


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 1), (1, 4), (2, 4, 2)])
def test_lu_of_matrices_that_are_not_square(shape):
    rng = np.random.default_rng(7)
    x, d = rng.normal(size=(2, *shape))
    packed, pivots = linalg.lu_factor(x)
    if x.ndim == 2:
        want = scipy.linalg.lu_factor(x)
        close(packed, want[0])
        np.testing.assert_array_equal(pivots, want[1])
    weights = rng.normal(size=shape)
    f = lambda x: wg.sum(linalg.lu_factor(x)[0] ** 2 * weights)
    close(np.sum(np.asarray(wg.grad(f)(x)) * d), slope(f, x, d), 1e-7)
    close(push(f, x, d), slope(f, x, d), 1e-7)


def test_cholesky_solve():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(2, 3, 3))
    a, b = x @ np.swapaxes(x, -1, -2) + np.eye(3), rng.normal(size=(2, 3, 2))
    factor = np.linalg.cholesky(a)
    close(linalg.cholesky_solve(b, factor), np.linalg.solve(a, b))
    close(linalg.cholesky_solve(b, np.swapaxes(factor, -1, -2), upper=True), np.linalg.solve(a, b))
    got = wg.grad(lambda a: wg.sum(linalg.cholesky_solve(b, linalg.cholesky(a)) ** 2))(a)
    want = np.asarray(wg.grad(lambda a: wg.sum(linalg.solve(a, b) ** 2))(a))
    close(got, (want + np.swapaxes(want, -1, -2)) / 2, 1e-9)


# -- NumPy's hints and bounds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("complex_too", [False, True])
def test_hermitian_reads_the_lower_triangle_as_numpy_does(complex_too):
    rng = np.random.default_rng(3)
    a = rng.normal(size=(2, 3, 3)) + (1j * rng.normal(size=(2, 3, 3)) if complex_too else 0)
    np.testing.assert_allclose(linalg.pinv(a, hermitian=True), np.linalg.pinv(a, hermitian=True), rtol=1e-11)
    ones = np.triu(np.ones((3, 3)))  # its lower triangle is that of the unit matrix
    assert linalg.matrix_rank(ones, hermitian=True) == np.linalg.matrix_rank(ones, hermitian=True) == 3
    s, wanted = linalg.svd(a, compute_uv=False, hermitian=True), np.linalg.svd(a, compute_uv=False, hermitian=True)
    np.testing.assert_allclose(s, wanted, rtol=1e-12)


def test_the_gradient_of_a_hermitian_pseudo_inverse_is_hermitian():
    rng = np.random.default_rng(4)
    half, weights = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    a = half + half.T
    found = wg.grad(lambda x: wg.sum(linalg.pinv(x, hermitian=True) * weights))(a)
    plain = wg.grad(lambda x: wg.sum(linalg.pinv(x) * weights))(a)
    np.testing.assert_allclose(found, (plain + plain.T) / 2, rtol=1e-11)


@pytest.mark.parametrize("rcond", [None, -1.0, 0.0, 1e-5, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("scales", [(1.0, 1.0, 1.0), (1.0, 1e-3, 1e-9), (1.0, 1.0, 0.0)])
def test_lstsq_takes_rcond_as_lapack_does(rcond, scales):
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(4, 3)) * scales, rng.normal(size=(4, 2))
    for got, want in zip(linalg.lstsq(a, b, rcond), np.linalg.lstsq(a, b, rcond), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-12)  # the worst of these matrices has condition 1e9


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, "fro"])
def test_cond_is_inf_where_numpys_is(p):
    for a in (np.zeros((2, 2)), np.stack([np.zeros((2, 2)), np.eye(2)]), np.array([[1.0, 2.0], [2.0, 4.0]])[None] * 0):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(linalg.cond(a, p), np.linalg.cond(a, p))
    assert np.isnan(linalg.cond(np.array([[np.nan, 1.0], [1.0, 2.0]]), 1))


def test_qr_without_full_rank_has_no_gradient_however_it_is_rounded():
    for x in (np.outer([1.0, 2.0], [1.0, 3.0]), np.outer([1.0, 2.0, 2.0], [1.0, 3.0]), np.zeros((2, 2))):
        for part in (0, 1):
            with pytest.raises(np.linalg.LinAlgError):
                gradient(lambda a, part=part: wg.sum(linalg.qr(a)[part]), x)
            with pytest.raises(np.linalg.LinAlgError):
                wg.jvp(lambda a, part=part: wg.sum(linalg.qr(a)[part]), (x,), (np.ones_like(x),))
    x = np.array([[1e20, 1.0], [2e20, 5.0]])  # columns of different sizes are regular
    assert np.isfinite(gradient(lambda a: wg.sum(linalg.qr(a)[0]), x)).all()


@pytest.mark.parametrize("p", [None, -2, 1, "fro"])
def test_condition_of_a_singular_matrix_has_no_finite_gradient(p):
    for x in (np.zeros((2, 2)), np.diag([1.0, 0.0])):
        found = [np.asarray(wg.grad(lambda a: linalg.cond(a, p))(x))]
        found.append(np.asarray(wg.jvp(lambda a: linalg.cond(a, p), (x,), (np.ones((2, 2)),))[1]))
        if np.isinf(linalg.cond(x, p)):
            assert not any(np.isfinite(g).all() for g in found)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("lost", [0, 1, 2])
def test_derivatives_of_determinants_are_exact_at_every_rank(n, lost):
    rank = max(n - lost, 0)
    rng = np.random.default_rng(n)
    eye = np.eye(n)

    def replaced(x, places):
        """The determinant is linear in each row: its derivatives are determinants with unit rows."""
        x = x.copy()
        for i, j in places:
            x[i] = eye[j]
        return np.linalg.det(x)

    for x in (rng.normal(size=(n, rank)) @ rng.normal(size=(rank, n)), np.diag([1.0] * rank + [0.0] * (n - rank))):
        first = np.array([[replaced(x, [(i, j)]) for j in range(n)] for i in range(n)])
        second = np.zeros((n,) * 4)
        for i, j, k, l in np.ndindex(second.shape):
            second[i, j, k, l] = 0 if i == k else replaced(x, [(i, j), (k, l)])
        for gradient_of in (
            wg.grad(linalg.det),
            wg.jacobian(linalg.det, mode="forward"),
            wg.function(wg.grad(linalg.det)),
        ):
            close(gradient_of(x), first, 1e-11)
        for hessian in (wg.hessian(linalg.det), wg.jacobian(wg.grad(linalg.det), mode="reverse")):
            close(hessian(x), second, 1e-11)
