"""Linear algebra against NumPy: values, dtypes, and gradients by central differences."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.ops.test_values import both_kinds, names
from wengert import linalg, ops
from wengert._core.state import recording
from wengert._transforms.tape import Tape

RNG = np.random.default_rng(11)


def draw(*shape):
    return RNG.normal(size=shape)


def definite(*shape):
    x = draw(*shape)
    return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])


INTS = RNG.integers(-3, 4, (3, 3))
PRODUCTS = [
    *[("matmul", (a, b), {}) for a, b in [
        (draw(2, 3), draw(3, 4)), (draw(3), draw(3, 4)), (draw(2, 3), draw(3)), (draw(3), draw(3)),
        (draw(5, 2, 3), draw(3, 4)),
        (draw(2, 3), draw(5, 3, 4)), (draw(5, 1, 2, 3), draw(4, 3, 2)), (draw(5, 2, 3), draw(3)),
        (draw(3), draw(5, 3, 2)),
        (INTS, INTS), (INTS > 0, INTS > 0), (draw(2, 0), draw(0, 3)), (draw(2, 3) * 1j, draw(3, 2)),
        (draw(2, 3).astype(np.float32), draw(3, 2)), (draw(2, 3).astype(np.float16), draw(3, 2).astype(np.float16)),
    ]],
    *[("dot", (a, b), {}) for a, b in [
        (draw(3), draw(3)), (draw(2, 3), draw(3)), (draw(2, 4, 3), draw(5, 3, 2)), (draw(2), np.float64(3)),
        (draw(2, 3), draw(3, 2)),
        (INTS, INTS > 0),
    ]],
    *[("inner", (a, b), {}) for a, b in [(draw(3), draw(3)), (draw(2, 3), draw(4, 3)), (draw(2, 5, 3), draw(4, 3))]],
    ("outer", (draw(2, 2), draw(3)), {}), ("vdot", (draw(2, 3) * (1 + 2j), draw(6) * 1j), {}),
    ("vdot", (draw(4), draw(2, 2)), {}),
    ("vecdot", (draw(2, 3) * 1j, draw(3)), {}), ("vecdot", (draw(3, 2), draw(3, 2)), {"axis": 0}),
    ("tensordot", (draw(2, 3, 4), draw(3, 4, 5)), {}), ("tensordot", (draw(2, 3), draw(4)), {"axes": 0}),
    ("tensordot", (draw(2, 3, 4), draw(4, 2)), {"axes": ([0, 2], [1, 0])}),
    ("tensordot", (draw(2, 3), draw(3)), {"axes": (1, 0)}),
    ("kron", (draw(2), draw(3)), {}), ("kron", (draw(2, 2), draw(3)), {}), ("kron", (draw(2), draw(3, 2)), {}),
    ("kron", (np.float64(2), draw(3)), {}), ("cross", (draw(4, 3), draw(3)), {}),
    ("cross", (draw(3, 4), draw(3, 4)), {"axis": 0}),
    ("cross", (draw(3, 4), draw(4, 3)), {"axisa": 0, "axisc": 0}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs"), PRODUCTS, ids=names(PRODUCTS))
def test_products_are_numpys(name, args, kwargs):
    both_kinds(getattr(ops, name), getattr(np, name), args, kwargs)


EINSUMS = [
    ("ij,jk", draw(2, 3), draw(3, 4)), ("ij,jk->ki", draw(2, 3), draw(3, 4)), ("ii", draw(3, 3)), ("ii->i", draw(3, 3)),
    ("iij->j", draw(3, 3, 2)), ("ij->", draw(2, 3)), ("ij->j", draw(2, 3)), ("ji", draw(2, 3)),
    ("ij,ij->i", draw(2, 3), draw(2, 3)),
    ("i,j,k->kij", draw(2), draw(3), draw(4)), ("...ij,...jk", draw(5, 2, 3), draw(5, 3, 4)),
    ("...ij,jk->...ik", draw(2, 5, 2, 3), draw(3, 4)),
    ("...i->...", draw(2, 3)), ("i...->...", draw(2, 3)), ("...,...", draw(2, 3), draw(3)),
    ("...ij,...->ij...", draw(5, 2, 3), draw(4, 5)),
    ("ij,ij->ij", draw(1, 3), draw(2, 3)), ("ij,j->", draw(2, 1), draw(3)),
    ("ab,bc,cd->ad", draw(2, 3), draw(3, 4), draw(4, 2)),
    ("ij,ik,il->jkl", draw(3, 2), draw(3, 2), draw(3, 2)), ("i,i,i", draw(3), draw(3), draw(3)),
    (",i->i", np.float64(2), draw(3)),
    ("iji,j->i", draw(2, 3, 2), draw(3)), (" i j , j k -> i k ", draw(2, 3), draw(3, 2)),
    ("ij,kl->il", draw(2, 3), draw(4, 5)),
    ("i,->", draw(3), np.float64(2)), ("ij,j->i", INTS, INTS[0]),
]  # fmt: skip


@pytest.mark.parametrize("case", EINSUMS, ids=[c[0] for c in EINSUMS])
def test_einsum_is_numpys(case):
    both_kinds(ops.einsum, np.einsum, case, {})


@pytest.mark.parametrize("case", EINSUMS[:-1], ids=[c[0] for c in EINSUMS[:-1]])
def test_einsum_gradients(case):
    check(lambda *xs: ops.einsum(case[0], *xs), *case[1:])


def test_einsum_with_lists_of_axes():
    a, b = draw(2, 3), draw(3, 4)
    np.testing.assert_allclose(ops.einsum(a, [0, 1], b, [1, 2], [2, 0]), np.einsum(a, [0, 1], b, [1, 2], [2, 0]))
    np.testing.assert_allclose(ops.einsum(a, [0, 1], b, [1, 2]), a @ b)
    np.testing.assert_allclose(ops.einsum(a, [Ellipsis, 1], [1, Ellipsis]), a.T)


BAD_EINSUMS = [
    ("ij,jk", (draw(2, 3),)), ("ij", (draw(2),)), ("i->j", (draw(2),)), ("i->ii", (draw(2),)),
    ("ij,jk", (draw(2, 3), draw(2, 3))),
    ("i-j", (draw(2),)), ("ii", (draw(2, 3),)),
]  # fmt: skip


@pytest.mark.parametrize(("subscripts", "operands"), BAD_EINSUMS, ids=[c[0] for c in BAD_EINSUMS])
def test_einsum_refuses(subscripts, operands):
    with pytest.raises(ValueError, match=r"einsum|diagonal"):
        ops.einsum(subscripts, *operands)


def check(f, *args, rtol=1e-6):
    """Gradients against central differences, for every real argument."""
    weights = RNG.normal(size=np.shape(f(*args)))

    def loss(*xs):
        return ops.sum(f(*xs) * weights)

    grads = wg.grad(loss, argnums=tuple(range(len(args))))(*args)
    for i, (x, g) in enumerate(zip(args, grads)):
        x = np.asarray(x, np.float64)
        expected = np.zeros(x.size)
        for k in range(x.size):
            ends = []
            for h in (1e-6, -1e-6):
                moved = x.ravel().copy()
                moved[k] += h
                ends.append(loss(*args[:i], moved.reshape(x.shape), *args[i + 1 :]))
            expected[k] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(g, expected.reshape(x.shape), rtol=rtol, atol=1e-7)


SOLVING = [
    ("solve", (definite(3, 3), draw(3)), {}), ("solve", (definite(3, 3), draw(3, 2)), {}),
    ("solve", (definite(4, 3, 3), draw(3, 2)), {}),
    ("solve", (definite(3, 3), draw(4, 3, 2)), {}), ("solve", (INTS + 9 * np.eye(3, dtype=int), INTS), {}),
    ("inv", (definite(2, 3, 3),), {}),
    ("inv", (definite(3, 3) * 1j,), {}), ("cholesky", (definite(2, 3, 3),), {}),
    ("cholesky", (definite(3, 3),), {"upper": True}),
    *[("norm", (x,), {"ord": o})
      for x in (draw(5), draw(5) * (1 + 1j)) for o in (None, 0, 1, 2, 3, 0.5, -1, np.inf, -np.inf)],
    *[("norm", (draw(3, 4),), {"ord": o}) for o in (None, "fro", 1, -1, np.inf, -np.inf)],
    ("norm", (draw(2, 3, 4),), {}), ("norm", (draw(2, 3, 4),), {"axis": 1, "keepdims": True}),
    ("norm", (INTS,), {"axis": -1, "ord": 3}),
    ("norm", (draw(2, 3, 4),), {"axis": (2, 0), "ord": 1}),
    ("norm", (draw(2, 3, 4),), {"axis": (0, 2), "ord": np.inf, "keepdims": True}),
    ("norm", (draw(3, 4).astype(np.float32),), {}), ("matrix_power", (draw(3, 3), 5), {}),
    ("matrix_power", (INTS, 0), {}),
    ("matrix_power", (definite(2, 3, 3), -2), {}),
    ("multi_dot", ([draw(2, 3), draw(3, 4), draw(4, 5), draw(5, 2)],), {}),
    ("multi_dot", ([draw(3), draw(3, 4), draw(4)],), {}), ("multi_dot", ([draw(3), draw(3, 4)],), {}),
    ("vector_norm", (draw(2, 3, 4),), {"axis": (0, 2), "ord": 1}), ("vector_norm", (draw(2, 3),), {"keepdims": True}),
    ("matrix_norm", (draw(2, 3, 4),), {"ord": 1}), ("trace", (draw(2, 3, 4),), {"offset": 1}),
    ("diagonal", (draw(2, 3, 4),), {"offset": -1}),
    ("cross", (draw(2, 3), draw(3)), {}), ("outer", (draw(2), draw(3)), {}), ("matrix_transpose", (draw(2, 3, 4),), {}),
    ("tensordot", (draw(2, 3, 4), draw(3, 4, 5)), {}), ("vecdot", (draw(2, 3), draw(3)), {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs"), SOLVING, ids=names(SOLVING))
def test_linalg_is_numpys(name, args, kwargs):
    both_kinds(getattr(linalg, name), getattr(np.linalg, name), args, kwargs)


def test_triangular_solving():
    a, b = np.tril(definite(3, 3)), draw(3, 2)
    np.testing.assert_allclose(a @ ops.solve_triangular(a, b, lower=True), b)
    np.testing.assert_allclose(a.T @ ops.solve_triangular(a.T, b), b)


def test_gradients():
    check(linalg.solve, definite(3, 3), draw(3))
    check(linalg.solve, definite(2, 2, 2), draw(2, 1))
    check(linalg.inv, definite(2, 2, 2))
    check(ops.matmul, draw(2, 1, 2, 3), draw(4, 3, 2))
    check(ops.matmul, draw(3), draw(2, 3, 2))
    check(ops.kron, draw(2, 2), draw(3))
    check(ops.cross, draw(2, 3), draw(3))
    check(lambda x: linalg.matrix_power(x, 3), draw(3, 3))
    for order in (None, 1, 2, 3, 1.5, np.inf, -np.inf):
        check(lambda x, order=order: linalg.norm(x, order), draw(4))
    for order in ("fro", 1, -1, np.inf, -np.inf):
        check(lambda x, order=order: linalg.norm(x, order), draw(3, 4))


_CONTRACTIONS = [
    ("dot", lambda x, y, np: np.dot(x, y), (2, 3, 4), (3, 4, 2)),
    ("dot of vectors", lambda x, y, np: np.dot(x, y), (4,), (4,)),
    ("dot with a vector", lambda x, y, np: np.dot(x, y), (3, 4), (4,)),
    ("dot from a vector", lambda x, y, np: np.dot(x, y), (4,), (2, 4, 3)),
    ("inner", lambda x, y, np: np.inner(x, y), (2, 3, 4), (2, 4)),
    ("tensordot", lambda x, y, np: np.tensordot(x, y, 2), (2, 3, 4), (3, 4, 2)),
    ("tensordot, axes", lambda x, y, np: np.tensordot(x, y, ((2, 0), (0, 1))), (2, 3, 4), (4, 2, 3)),
    ("tensordot, all axes", lambda x, y, np: np.tensordot(x, y, 2), (3, 4), (3, 4)),
    ("tensordot, none", lambda x, y, np: np.tensordot(x, y, 0), (2, 3), (4,)),
    ("tensordot, empty", lambda x, y, np: np.tensordot(x, y, 1), (2, 0), (0, 4)),
]


@pytest.mark.parametrize(("contract", "m", "n"), [row[1:] for row in _CONTRACTIONS], ids=[r[0] for r in _CONTRACTIONS])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_a_contraction_is_one_line_of_the_tape(contract, m, n, dtype):
    x, y = draw(*m).astype(dtype), draw(*n).astype(dtype)
    a, b = wg.tensor(x), wg.tensor(y)
    tape = Tape([a._key, b._key])
    with recording(tape):
        found = contract(a, b, wg.numpy)
    assert [entry.op.name for entry in tape.entries] == ["einsum"]
    precision = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(found.numpy(), contract(x, y, np), rtol=precision, atol=precision)

    def weighed(x, y):
        found = contract(x, y, wg.numpy)
        return wg.sum(wg.real(found * wg.conj(found)))

    wanted = wg.function(wg.grad(weighed, argnums=(0, 1)))(x, y)  # where it is a product of matrices
    for one, other in zip(wg.grad(weighed, argnums=(0, 1))(x, y), wanted, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=precision, atol=precision)


@pytest.mark.parametrize("order", [None, 1, 2, 3, 1.5, np.inf])
def test_norms_are_flat_at_zero(order):
    gradient = wg.grad(lambda x: linalg.norm(x, order))(np.zeros(3))
    assert gradient.tolist() == [0, 0, 0]


def test_refusals():
    with pytest.raises(np.linalg.LinAlgError):
        linalg.inv(np.zeros((2, 2)))
    with pytest.raises(np.linalg.LinAlgError):
        linalg.cholesky(-np.eye(2))
    with pytest.raises(ValueError, match="square"):
        linalg.inv(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="matmul"):
        ops.matmul(draw(2, 3), draw(2, 3))
    with pytest.raises(ValueError, match="matmul"):
        ops.matmul(2.0, draw(2, 3))
    with pytest.raises(ValueError, match="order of a norm"):
        linalg.norm(draw(2, 2), 3)


@pytest.mark.parametrize("name", ["cholesky", "det", "eig", "eigh", "eigvals", "inv", "slogdet"])
def test_matrices_that_are_not_square_are_numpys_error(name: str) -> None:
    for shape in ((2, 3), (3,), ()):
        with pytest.raises(np.linalg.LinAlgError):
            getattr(np.linalg, name)(np.ones(shape))
        with pytest.raises(np.linalg.LinAlgError, match="matrices"):
            getattr(np.linalg, name)(wg.tensor(np.ones(shape)))
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        np.linalg.solve(wg.tensor(np.ones((3, 2))), np.ones(3))
