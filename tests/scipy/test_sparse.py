"""`wengert.scipy.sparse` of tensors: values against SciPy's own matrices, gradients in the stored values."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import wengert as wg
from tests.support.scipy_rows import check_slope
from wengert.scipy import sparse
from wengert.scipy.sparse import linalg

DATA = np.array([4.0, 1.0, 2.0, 5.0, 3.0, 0.5])
INDICES, INDPTR, SHAPE = np.array([0, 1, 0, 1, 2, 0]), np.array([0, 2, 4, 6]), (3, 3)
ROWS, COLUMNS = np.array([2, 0, 1, 0, 2, 0]), np.array([2, 1, 1, 0, 0, 1])  # a place stands twice
OTHER = scipy.sparse.csr_array(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0], [0.0, 0.0, 1.5]]))
X = np.array([1.0, -2.0, 0.5])
TALL = np.arange(6.0).reshape(3, 2) - 2.0

MAKERS = {
    "csr_array": lambda s, d: s.csr_array((d, INDICES, INDPTR), shape=SHAPE),
    "csc_array": lambda s, d: s.csc_array((d, INDICES, INDPTR), shape=SHAPE),
    "coo_array": lambda s, d: s.coo_array((d, (ROWS, COLUMNS)), shape=SHAPE),
    "csr_matrix": lambda s, d: s.csr_matrix((d, (ROWS, COLUMNS)), SHAPE),
    "csc_matrix": lambda s, d: s.csc_matrix((d, INDICES, INDPTR)),
    "dia_array": lambda s, d: s.dia_array((d.reshape(2, 3), [0, 1]), shape=SHAPE),
    "diags": lambda s, d: s.diags([d[:3], d[3:5]], [0, 1], format="csc"),
    "diags, a number": lambda s, d: s.diags([d[:3], d[3]], [0, -1], shape=SHAPE, format="csr"),
    "diags_array": lambda s, d: s.diags_array([d[:3], d[3:5], d[4:]], offsets=[0, 1, -1], format="csr"),
    "spdiags": lambda s, d: s.spdiags(d.reshape(2, 3), [0, -1], 3, 3, format="csr"),
    "dense": lambda s, d: s.csr_array(d.reshape(2, 3)[:, [0, 1, 2]].T @ d.reshape(2, 3)),
}

USES = {
    "vector": lambda s, a: a @ X,
    "matrix": lambda s, a: a @ TALL,
    "from the left": lambda s, a: X @ a,
    "matrix from the left": lambda s, a: TALL.T @ a,
    "transpose": lambda s, a: a.T @ X,
    "sum": lambda s, a: a.sum(),
    "sum of columns": lambda s, a: a.sum(axis=0),
    "sum of rows": lambda s, a: a.sum(axis=1),
    "mean": lambda s, a: a.mean(axis=0),
    "dense": lambda s, a: a.toarray(),
    "diagonal": lambda s, a: a.diagonal(1),
    "trace": lambda s, a: a.trace(),
    "square": lambda s, a: a @ a,
    "product": lambda s, a: a @ OTHER,
    "product from the left": lambda s, a: OTHER @ a,
    "sum of two": lambda s, a: a + OTHER,
    "difference": lambda s, a: OTHER - a,
    "elementwise": lambda s, a: a.multiply(OTHER),
    "elementwise dense": lambda s, a: a.multiply(np.exp(TALL[:, :1])),
    "scaled": lambda s, a: 2.0 * a / 3.0,
    "negative": lambda s, a: -abs(a),
    "power": lambda s, a: a.tocsr().power(2),
    "row slices": lambda s, a: a.tocsr()[1:],
    "rows": lambda s, a: a.tocsr()[[2, 0, 2]],
    "columns": lambda s, a: a.tocsr()[:, ::-1],
    "a mask": lambda s, a: a.tocsr()[np.array([True, False, True])],
    "a block": lambda s, a: a.tocsr()[:2, 1:],
    "a row": lambda s, a: a.tocsr()[1],
    "an element": lambda s, a: a.tocsr()[0, 1],
    "getrow": lambda s, a: a.tocsr()[[0]] @ X,
    "stacked": lambda s, a: s.vstack([a, OTHER]) @ X,
    "side by side": lambda s, a: s.hstack([OTHER, a], format="csr"),
    "blocks": lambda s, a: s.block_array([[a, None], [OTHER, a]]),
    "block_diag": lambda s, a: s.block_diag([a, OTHER]),
    "kron": lambda s, a: s.kron(a, OTHER),
    "triangles": lambda s, a: s.triu(a, 1) + s.tril(a),
    "found": lambda s, a: s.find(a)[2],
    "csc": lambda s, a: a.tocsc().data,
    "coo": lambda s, a: a.tocsr().tocoo(),
}


def dense(x: Any) -> Any:
    x = x.toarray() if hasattr(x, "toarray") else x
    return x.numpy() if isinstance(x, wg.Tensor) else np.asarray(x)


def total(x: Any) -> Any:
    x = x.toarray() if hasattr(x, "toarray") else x
    weights = np.cos(np.arange(np.size(x) if not isinstance(x, wg.Tensor) else x.size)).reshape(x.shape)
    return wg.sum(weights * x**2)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("use", USES)
def test_values_are_scipys(maker: str, use: str) -> None:
    make, f = MAKERS[maker], USES[use]
    found, wanted = f(sparse, make(sparse, wg.tensor(DATA))), f(scipy.sparse, make(scipy.sparse, DATA))
    assert hasattr(found, "toarray") is hasattr(wanted, "toarray")
    assert tuple(found.shape) == wanted.shape
    np.testing.assert_allclose(dense(found), dense(wanted), rtol=1e-14)


@pytest.mark.parametrize("use", USES)
def test_gradients_of_the_stored_values(use: str) -> None:
    for maker in ("csr_array", "coo_array", "csc_matrix"):
        check_slope(lambda d, maker=maker: total(USES[use](sparse, MAKERS[maker](sparse, d))), [DATA])


@pytest.mark.parametrize("maker", MAKERS)
def test_gradients_through_every_maker(maker: str) -> None:
    def f(d: Any) -> Any:
        a = MAKERS[maker](sparse, d)
        return wg.sum((a @ X) ** 2) + wg.sum((a.T @ X) ** 3)

    check_slope(f, [DATA])
    np.testing.assert_allclose(wg.function(wg.grad(f))(DATA), wg.grad(f)(DATA), rtol=1e-13)


def test_values_may_be_a_batch_and_matrices_results() -> None:
    make = MAKERS["csr_array"]
    batch = np.stack([DATA, 2 * DATA])
    np.testing.assert_allclose(
        wg.vmap(lambda d: make(sparse, d) @ X)(batch), [make(scipy.sparse, d) @ X for d in batch]
    )
    a = wg.function(lambda d: 2 * make(sparse, d))(DATA)
    assert isinstance(a, scipy.sparse.csr_array)
    np.testing.assert_array_equal(a.toarray(), 2 * make(scipy.sparse, DATA).toarray())
    gradient = wg.grad(lambda a: wg.sum((a @ X) ** 2))(make(sparse, wg.tensor(DATA)))
    assert gradient.shape == SHAPE
    assert gradient.format == "csr"
    for copied in (copy.deepcopy(gradient), pickle.loads(pickle.dumps(gradient))):
        np.testing.assert_array_equal(dense(copied), dense(gradient))


def test_a_number_that_is_followed_scales_a_constant_matrix() -> None:
    check_slope(lambda t: total(t * OTHER + OTHER), [np.array(1.5)])
    with pytest.raises(wg.LostGradientError, match=r"wengert\.scipy\.sparse.*t \* A"):
        wg.grad(lambda t: total(OTHER * t))(1.5)


def test_formats_are_classes_as_scipys() -> None:
    a = MAKERS["csr_array"](sparse, wg.tensor(DATA))
    assert isinstance(a, sparse.csr_array)
    assert not isinstance(a, sparse.csc_array)
    assert isinstance(OTHER, sparse.csr_array)
    assert type(sparse.csr_array(np.eye(2))) is scipy.sparse.csr_array
    assert sparse.issparse(a)
    assert sparse.issparse(OTHER)
    assert not sparse.isspmatrix(a)
    np.testing.assert_array_equal(a.indptr, INDPTR)
    np.testing.assert_array_equal(a.indices, INDICES)
    csgraph = sparse.csr_array((wg.tensor([1.0]), ([0], [1])), shape=(2, 2))
    assert scipy.sparse.csgraph.connected_components(csgraph.fixed())[0] == 1


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda d: sparse.csr_array((d, INDICES, INDPTR + 1), shape=SHAPE), ValueError, "indptr"),
        (lambda d: sparse.coo_array((d, (ROWS + 1, COLUMNS)), shape=SHAPE), ValueError, "outside"),
        (lambda d: sparse.coo_array((d[:2], (ROWS, COLUMNS)), shape=SHAPE), ValueError, "values"),
        (lambda d: sparse.diags([d[:3], d[:3]], [0, 1], shape=SHAPE), ValueError, "offset 1"),
        (lambda d: MAKERS["csr_array"](sparse, d) @ np.ones(4), ValueError, "fit together"),
        (lambda d: MAKERS["csr_array"](sparse, d) + 1.0, NotImplementedError, "scalar"),
        (lambda d: MAKERS["csr_array"](sparse, d)[3], IndexError, "3"),
        (lambda d: bool(MAKERS["csr_array"](sparse, d)), ValueError, "ambiguous"),
        (lambda d: len(MAKERS["csr_array"](sparse, d)), TypeError, "shape"),
        (lambda d: operator.matmul(MAKERS["csr_array"](sparse, d), 2.0), ValueError, r"use '\*'"),
    ],
)
def test_wrong_calls_say_what_is_wrong(use: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        use(wg.tensor(DATA))


# -- systems ---------------------------------------------------------------------------------------------------------

SOLVERS = {
    "spsolve": lambda a, b: linalg.spsolve(a, b),
    "factorized": lambda a, b: linalg.factorized(a)(b),
    "splu": lambda a, b: linalg.splu(a).solve(b),
    "splu, transposed": lambda a, b: linalg.splu(a.T).solve(b, "T"),
    "cg": lambda a, b: linalg.cg(a @ a.T, b, rtol=1e-13)[0],
    "gmres": lambda a, b: linalg.gmres(a, b, rtol=1e-13)[0],
    "bicgstab": lambda a, b: linalg.bicgstab(a, b, rtol=1e-13)[0],
}


@pytest.mark.parametrize("name", SOLVERS)
def test_systems_follow_the_values_and_the_right_side(name: str) -> None:
    def f(d: Any, b: Any) -> Any:
        return wg.sum(SOLVERS[name](MAKERS["csc_array"](sparse, d), b) ** 2)

    whole = MAKERS["csc_array"](scipy.sparse, DATA).toarray()
    whole = whole @ whole.T if name == "cg" else whole
    found = SOLVERS[name](MAKERS["csc_array"](sparse, wg.tensor(DATA)), X)
    np.testing.assert_allclose(found.numpy(), np.linalg.solve(whole, X), rtol=1e-9)
    check_slope(f, [DATA, X])
    wanted = wg.grad(f, argnums=(0, 1))(DATA, X)
    for gradient, expected in zip(wg.function(wg.grad(f, argnums=(0, 1)))(DATA, X), wanted, strict=True):
        np.testing.assert_allclose(gradient, expected, rtol=1e-9)
    batch = np.stack([DATA, 1.5 * DATA])
    np.testing.assert_allclose(wg.vmap(lambda d: f(d, X))(batch), [f(d, X) for d in map(wg.tensor, batch)], rtol=1e-9)


def test_second_derivatives_of_a_system() -> None:
    def f(d: Any) -> Any:
        return wg.sum(linalg.spsolve(MAKERS["csr_array"](sparse, d), X) ** 2)

    check_slope(lambda d: wg.sum(wg.grad(f)(d) ** 2), [DATA])
    check_slope(lambda d: linalg.norm(MAKERS["coo_array"](sparse, d)), [DATA])
