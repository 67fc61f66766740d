"""SciPy's sparse matrices beside tensors, against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import wengert as wg
from wengert import linalg
from wengert._core.apply import apply
from wengert._engines.native.engine import has_llvm
from wengert._prims.sparse import sparse_matmul

RNG = np.random.default_rng(8)
DENSE = RNG.normal(size=(4, 5)) * (RNG.random((4, 5)) < 0.5)
SQUARE = np.diag([2.0, 3.0, -4.0, 1.5]) + RNG.normal(size=(4, 4)) * (RNG.random((4, 4)) < 0.3)


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array", "csr_matrix", "dia_array"])
@pytest.mark.parametrize("shape", [(5,), (5, 3), (2, 5, 3), (5, 0)])
def test_products_are_those_of_dense_matrices(kind, shape):
    A, x = getattr(scipy.sparse, kind)(DENSE), RNG.normal(size=shape)
    for f in (lambda x: A @ x, lambda x: wg.matmul(A, x), lambda x: linalg.sparse_matmul(A, x)):
        np.testing.assert_allclose(f(wg.tensor(x)).numpy(), DENSE @ x, rtol=1e-13, atol=1e-15)
        ct = RNG.normal(size=(DENSE @ x).shape)
        wanted = np.swapaxes(DENSE, 0, 1) @ ct
        for g in (wg.grad(f), wg.function(wg.grad(f))):
            np.testing.assert_allclose(g(x, dy=ct), wanted, rtol=1e-13, atol=1e-15)
    y = RNG.normal(size=4)
    np.testing.assert_allclose(wg.grad(lambda y: y @ A)(y), DENSE.sum(1), rtol=1e-13)
    np.testing.assert_allclose((wg.tensor(np.stack([y, y])) @ A).numpy(), np.stack([y, y]) @ DENSE, rtol=1e-13)


def test_arrays_stay_arrays_and_scipys_own_products_too():
    A = scipy.sparse.csr_array(DENSE)
    assert isinstance(linalg.sparse_matmul(A, np.ones(5)), np.ndarray)
    assert isinstance(A @ np.ones(5), np.ndarray)
    assert isinstance(A @ wg.tensor(np.ones(5)), wg.Tensor)


def test_gradients_in_x_and_in_what_is_stored():
    A, x = scipy.sparse.csr_array(DENSE), RNG.normal(size=(5, 2))
    wg.check_gradients(lambda d, x: linalg.sparse_matmul(A, x, d), A.data, x)
    S, b = scipy.sparse.csc_array(SQUARE), RNG.normal(size=(4, 2))
    wg.check_gradients(lambda d, b: linalg.spsolve(S, b, data=d), S.tocoo().data, b)
    wg.check_gradients(lambda b: linalg.spsolve(S, b), b[:, 0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("width", [1, 3])
def test_products_in_loops(dtype, width):
    rows, columns = (RNG.integers(0, 30, 80) for _ in range(2))
    data, x = (RNG.normal(size=n).astype(dtype) * (1 - 0.5j if "c" in dtype else 1) for n in (80, (30, width)))

    def powers(data, x):
        step = lambda i, x: apply(sparse_matmul, (data, *map(wg.asarray, (rows, columns)), x), (30,)) * 0.5
        return wg.fori_loop(0, 4, step, wg.asarray(x))

    def slopes(data, x):
        return wg.grad(lambda data, x: wg.sum(wg.abs(powers(wg.asarray(data), x)) ** 2), argnums=(0, 1))(data, x)

    dense = np.zeros((30, 30), data.dtype)
    np.add.at(dense, (rows, columns), data)
    compiled, near = wg.function(lambda data, x: powers(wg.asarray(data), x)), {4: 1e-4, 8: 1e-11}[x.real.itemsize]
    found = compiled(data, x)
    wanted = np.linalg.matrix_power(dense * 0.5, 4) @ x
    np.testing.assert_allclose(found, wanted, near, near * np.abs(wanted).max())
    if has_llvm():
        assert {part.by for part in compiled.report(data, x).parts} == {"machine code"}
    for ours, eager in zip(wg.function(slopes)(data, x), slopes(data, x), strict=True):
        np.testing.assert_allclose(ours, eager, near, near * np.abs(eager).max())


@pytest.mark.parametrize("place", [-1, 4])
def test_places_outside_are_refused_in_compiled_functions_too(place):
    def f(rows, x):
        return apply(sparse_matmul, (wg.ones(2), wg.asarray(rows), wg.asarray(rows), wg.asarray(x)), (4,))

    for g in (f, wg.function(f)):
        with pytest.raises(ValueError, match=r"."):
            g(np.array([0, place]), np.ones((4, 1)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_spsolve_is_scipys(dtype):
    S = scipy.sparse.csc_array(SQUARE.astype(dtype) * (1 + 1j if dtype == "complex128" else 1))
    for b in (RNG.normal(size=4).astype(dtype), RNG.normal(size=(4, 3)).astype(dtype)):
        found, wanted = linalg.spsolve(S, b), scipy.sparse.linalg.spsolve(S, b)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype == "float32" else 1e-12)
        dense = S.toarray()
        ct = np.ones(b.shape, dtype)
        gradient = wg.grad(lambda b: linalg.spsolve(S, b))(b, dy=ct)
        np.testing.assert_allclose(
            gradient, np.linalg.solve(dense.conj().T, ct), rtol=1e-4 if dtype == "float32" else 1e-12
        )


def test_values_of_one_place_add_up():
    A = scipy.sparse.coo_array(([1.0, 2.0, 5.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    np.testing.assert_allclose(linalg.sparse_matmul(A, [1.0, 10.0]), [30.0, 5.0])
    np.testing.assert_allclose(linalg.spsolve(A, [3.0, 5.0]), [1.0, 1.0])
    np.testing.assert_allclose(wg.grad(lambda d: linalg.sparse_matmul(A, [1.0, 10.0], d))(A.data), [10.0, 10.0, 1.0])


def test_batched_as_looped():
    S, d = scipy.sparse.csc_array(SQUARE), scipy.sparse.csc_array(SQUARE).tocoo().data
    bs, ds = RNG.normal(size=(3, 4)), d * np.array([[1.0], [1.5], [0.7]])
    found = wg.vmap(lambda d, b: linalg.spsolve(S, b, data=d))(ds, bs)
    wanted = np.stack([linalg.spsolve(S, b, data=d) for d, b in zip(ds, bs)])
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    A = scipy.sparse.csr_array(DENSE)
    xs = RNG.normal(size=(3, 5))
    np.testing.assert_allclose(wg.vmap(lambda x: linalg.sparse_matmul(A, x))(xs), xs @ DENSE.T, rtol=1e-12)


def test_what_does_not_fit_is_named():
    A = scipy.sparse.csr_array(DENSE)
    with pytest.raises(ValueError, match="fit"):
        linalg.sparse_matmul(A, np.ones(4))
    with pytest.raises(ValueError, match="fit"):
        linalg.spsolve(A, np.ones(4))
    with pytest.raises(TypeError, match="sparse"):
        linalg.spsolve(SQUARE, np.ones(4))
    with pytest.raises(ValueError, match="data"):
        linalg.spsolve(scipy.sparse.csc_array(SQUARE), np.ones(4), data=np.ones(1))
    with pytest.raises(np.linalg.LinAlgError, match="ingular"):
        linalg.spsolve(scipy.sparse.csc_array(np.diag([1.0, 0.0])), np.ones(2))
