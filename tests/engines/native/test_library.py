"""Products, factorisations, convolutions, windows and special functions in compiled code, beside NumPy's kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from tests.support.one_code import is_one_code
from wengert._core.op import REGISTRY
from wengert._engines.native.llvm import jit, multiply, target
from wengert._engines.native.lower import special
from wengert._prims.conv import _SAMPLES, conv
from wengert._prims.decompositions import lu, slogdet
from wengert._prims.linalg import triangular_solve
from wengert._prims.windows import _GEOMETRIES, add_along, window_argmax, window_argmin, window_sum

RNG = np.random.default_rng(11)


def draw(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape)


def check(f: Callable[..., Any], *operands: Any, rtol: float = 1e-12) -> None:
    """Compares compiled code with the eager run; fails where not all of f became one piece of compiled code."""
    compiled = wg.function(f)
    compiled(*operands)
    found = compiled(*operands)
    ((_, form),) = compiled.traces
    assert is_one_code(form, operands), f"not one piece of compiled code: {form.graph.to_text()}"
    with wg.eager():
        wanted = compiled(*operands)
    pairs = [(found, wanted)] if not isinstance(found, tuple) else [*zip(found, wanted, strict=True)]
    for ours, theirs in pairs:
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        assert ours.dtype == theirs.dtype
        if ours.dtype.kind in "iub":
            np.testing.assert_array_equal(ours, theirs)
            continue
        scale = np.max(np.abs(theirs[np.isfinite(theirs)]), initial=0.0)
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * scale)  # sums in another order


# -- products ---------------------------------------------------------------------------------------------------------

SIZES = [
    (2, 3, 2), (4, 4, 4), (7, 9, 8), (16, 20, 12), (40, 50, 60), (100, 3, 100), (5, 100, 1), (1, 100, 7), (90, 80, 1),
    (1, 80, 90), (3, 0, 4), (0, 3, 4), (64, 64, 3), (3, 2, 300),
]  # fmt: skip
LAYOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "nn": lambda x, y: wg.matmul(x, y),
    "tn": lambda x, y: wg.matmul(wg.transpose(x), y),
    "nt": lambda x, y: wg.matmul(x, wg.transpose(y)),
    "tt": lambda x, y: wg.matmul(wg.transpose(x), wg.transpose(y)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products(size: tuple[int, int, int], layout: str) -> None:
    m, k, n = size
    x = draw(*((m, k) if layout[0] == "n" else (k, m)))
    y = draw(*((k, n) if layout[1] == "n" else (n, k)))
    check(LAYOUTS[layout], x, y)


@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 2e-5), ("int64", 0), ("int8", 0)])
@pytest.mark.parametrize("size", [(3, 4, 5), (40, 50, 60)], ids=str)
def test_products_of_other_dtypes(size: tuple[int, int, int], dtype: str, rtol: float) -> None:
    m, k, n = size
    check(LAYOUTS["nn"], (draw(m, k) * 3).astype(dtype), (draw(k, n) * 3).astype(dtype), rtol=rtol)


def test_products_of_batches() -> None:
    check(LAYOUTS["nn"], draw(3, 40, 50), draw(3, 50, 33))
    check(LAYOUTS["nn"], draw(3, 40, 50), draw(50, 33))
    check(LAYOUTS["nn"], draw(40, 50), draw(3, 50, 33))
    check(LAYOUTS["nn"], draw(3, 2, 4, 5), draw(3, 2, 5, 3))
    check(lambda x, y: wg.matmul(wg.flip(x, 1), y), draw(40, 50), draw(50, 33))
    check(lambda x, y: wg.matmul(wg.broadcast_to(x, (40, 50)), y), draw(50), draw(50, 33))


def test_operands_may_be_computed_on_the_way() -> None:
    check(lambda x, y: wg.matmul(wg.sin(x), wg.exp(y)) + 1.0, draw(40, 50), draw(50, 33))
    check(lambda x: wg.matmul(x, wg.transpose(x)), draw(30, 40))


@pytest.mark.parametrize(("spec", "shapes"), [
    ("ij,jk->ki", ((40, 50), (50, 60))), ("bij,bjk->bik", ((3, 40, 50), (3, 50, 33))),
    ("ibj,bjk->kbi", ((40, 3, 50), (3, 50, 33))), ("ij,ij->", ((40, 50), (40, 50))), ("ij,ij->i", ((40, 50), (40, 50))),
    ("i,j->ij", ((40,), (50,))), ("ijk,kl->ijl", ((4, 5, 60), (60, 70))), ("ijk,jkl->il", ((40, 5, 6), (5, 6, 70))),
    ("ij,jk,kl->il", ((40, 50), (50, 30), (30, 33))), ("kij,jkl->il", ((6, 40, 5), (5, 6, 70))),
    ("ab,cb->ca", ((40, 50), (60, 50))), ("ij,jk->ik", ((2, 3), (3, 2))),
    ("i,i,i->i", ((30,), (30,), (30,))), ("ij,kj->ik", ((40, 50), (60, 50))), ("abc,abd->cd", ((4, 5, 6), (4, 5, 7))),
])  # fmt: skip
def test_labelled_sums(spec: str, shapes: Any) -> None:
    operands = [draw(*shape) for shape in shapes]
    check(lambda *xs: wg.einsum(spec, *xs), *operands)
    slopes = wg.grad(lambda *xs: wg.sum(wg.sin(wg.einsum(spec, *xs))), argnums=(*range(len(operands)),))
    check(lambda *xs: tuple(slopes(*xs)) if len(xs) > 1 else slopes(*xs)[0], *operands)


def test_wide_registers_in_products() -> None:
    if not target.is_x86() or target.vector_bits() < 256:
        pytest.skip("this machine has no registers wider than 128 bits")
    register = "%zmm" if target.vector_bits() == 512 else "%ymm"
    rows = multiply.heights()[0]
    for type_ in ("f64", "f32"):
        text = jit.assembly(multiply.tile_text(type_, rows, multiply.VECTORS, True, False), jit.WRITTEN)
        products = [line for line in text.splitlines() if "vfmadd" in line]
        assert len(products) >= rows * multiply.VECTORS
        assert all(register in line for line in products)


# -- linear systems ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lead", [(), (3,), (2, 2)], ids=str)
@pytest.mark.parametrize("n", [1, 2, 5, 24, 25, 60])
def test_systems(n: int, lead: tuple[int, ...]) -> None:
    a = draw(*lead, n, n)
    symmetric = a @ a.swapaxes(-1, -2) + n * np.eye(n)
    check(wg.linalg.cholesky, symmetric, rtol=1e-11)
    check(wg.linalg.inv, symmetric, rtol=1e-11)
    check(wg.linalg.solve, symmetric, draw(*lead, n, 3), rtol=1e-11)
    check(wg.linalg.det, a / np.sqrt(n), rtol=1e-11)
    check(lambda x: slogdet(x), a, rtol=1e-11)
    check(lambda x: lu(x), a, rtol=1e-11)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("n", [1, 3, 40])
def test_triangular_systems(n: int, lower: bool, trans: int, unit: bool) -> None:
    a = draw(2, n, n) / n + 2 * np.eye(n)
    for columns in (5, 1):  # BLAS has a function of its own for one
        sides = draw(2, n, columns)
        check(lambda x, y: triangular_solve(x, y, lower=lower, trans=trans, unit_diagonal=unit), a, sides)


def test_factors_of_oblong_and_singular_matrices() -> None:
    for a in (draw(5, 3), draw(2, 3, 5), np.ones((3, 3)), np.zeros((30, 30))):
        check(lambda x: lu(x), a)
    for a in (np.ones((3, 3)), np.zeros((2, 2))):
        check(lambda x: slogdet(x), a)
        check(wg.linalg.det, a)


@pytest.mark.parametrize("n", [3, 40])
def test_matrices_without_a_result_raise_numpys_errors(n: int) -> None:
    for f, a in ((wg.linalg.cholesky, -np.eye(n)), (wg.linalg.inv, np.zeros((n, n)))):
        with pytest.raises(np.linalg.LinAlgError):
            wg.function(f)(a)
    with pytest.raises(np.linalg.LinAlgError):
        wg.function(lambda x, y: triangular_solve(x, y, lower=True, trans=0, unit_diagonal=False))(
            np.zeros((n, n)), np.ones((n, 1))
        )


# -- convolutions and windows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shapes", "attrs"), _SAMPLES)
def test_convolutions_and_their_gradients(shapes: Any, attrs: Any) -> None:
    names = ("strides", "padding", "lhs_dilation", "rhs_dilation", "groups", "batch_groups")
    geometry = dict(zip(names, attrs, strict=True))
    operands = [draw(*shape) for shape in shapes]
    check(lambda x, y: conv(x, y, **geometry), *operands)
    slopes = wg.grad(lambda x, y: wg.sum(wg.sin(conv(x, y, **geometry))), argnums=(0, 1))
    check(lambda x, y: tuple(slopes(x, y)), *operands)


@pytest.mark.parametrize(("shape", "attrs"), _GEOMETRIES)
def test_windows(shape: Any, attrs: Any) -> None:
    geometry = dict(zip(("window", "strides", "padding", "dilation"), attrs, strict=True))
    hard = np.round(draw(*shape))
    hard.flat[3], hard.flat[5] = np.nan, -np.inf
    for x in (draw(*shape), hard, np.full(shape, -np.inf), RNG.integers(0, 3, shape)):
        check(lambda x: window_argmax(x, **geometry), x)
        check(lambda x: window_argmin(x, **geometry), x)
    check(lambda x: window_sum(x, **geometry), draw(*shape))
    check(lambda x: window_sum(x, **geometry), RNG.integers(0, 3, shape))
    check(wg.grad(lambda x: wg.sum(wg.sin(window_sum(x, **geometry)))), draw(*shape))


def test_additions_along_an_axis() -> None:
    places = np.array([[0, 3, 3], [1, 1, 2]])
    check(lambda x, i: add_along(x, i, size=4), draw(2, 3), places)
    with pytest.raises(IndexError):
        wg.function(lambda x, i: add_along(x, i, size=3))(draw(2, 3), places)


# -- special functions ------------------------------------------------------------------------------------------------

ORDERS: dict[str, list[dict[str, Any]]] = {
    **{name: [{"order": order} for order in (0, 1, 2, 2.5)] for name in special._WHOLE},
    "gammainc": [{"order": 0}],
    "betainc": [{"order_a": 0, "order_b": 0}],
}


@pytest.mark.parametrize("name", [*special._NAMES, *special._WHOLE])
def test_special_functions(name: str) -> None:
    op = REGISTRY[name]
    hard = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, -2.0]
    base = np.concatenate([RNG.uniform(0.01, 0.99, 40), RNG.uniform(-3, 5, 40), hard])
    operands = [RNG.permutation(base) for _ in op.operands]
    for attrs in ORDERS.get(name, [{}]):
        check(lambda *xs, attrs=attrs: op(*xs, **attrs), *operands, rtol=1e-13)
        # float32: computed in float64 here and in float32 by some of SciPy's
        check(lambda *xs, attrs=attrs: op(*xs, **attrs), *[x.astype(np.float32) for x in operands], rtol=2e-5)
