"""Products over labelled axes without a sum, and sums of ones of which an operand has all labels: as compiled programs
and as NumPy has them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.ir import loops
from wengert._engines.native.ir.outlining import walk
from wengert._engines.native.lower import matrices
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._engines.native.plan.weighted_sums import with_weighted_sums
from wengert._passes import optimise

RNG = np.random.default_rng(7)
WEIGHTED = (
    "ij,ij->j", "ij,ij->i", "ij,ji->j", "ij,ji->i", "ij,ji->", "ijk,j->ik", "ijk,j->ki", "j,ijk->ki", "ijk,ijk->ik",
    "ijk,ijk->jk", "ijk,ijk->ki", "ijk,kji->j", "ijk,ki->j", "ijk,ik->j", "ijk,k->ji", "ijk,i->kj", "jk,ijk->ik",
    "ijkl,jl->ik", "ijkl,lj->ki", "ijkl,lik->jk", "ijkl,ijkl->l", "ij,ij,ij->i", "ij,ji,i->j", "ijk,kij,j->",
)  # fmt: skip
PRODUCTS = ("i,j->ij", "i,j->ji", "ij,ij->ij", "ij,ji->ij", "ij,j->ji", "ij,ik->kij", "i,j,k->jki", "ij,ij,j->ij")
MATRICES = ("ij,j->i", "ij,i->j", "ij,ij->", "ijk,jk->i", "kij,kj->ki", "ikj,kj->ik", "ijk,jl->ikl")
DTYPES = (np.float64, np.float32, np.float16, np.complex64, np.complex128, np.int8, np.int32, np.int64, np.bool_)
EXTENTS = ((1, 1, 1, 1), (0, 3, 2, 5), (3, 0, 5, 2), (9, 7, 11, 5), (2, 129, 33, 3), (67, 3, 17, 31), (5, 31, 1, 13))


def operands(labels: str, extents: tuple[int, ...], dtype: Any) -> list[Any]:
    sizes = dict(zip("ijkl", extents))
    shapes = [tuple(sizes[c] for c in names) for names in labels.split("->")[0].split(",")]
    found = [RNG.normal(size=shape) * 3 for shape in shapes]
    if np.dtype(dtype).kind == "c":
        found = [x + 1j * RNG.normal(size=x.shape) for x in found]
    return [(x > 0 if dtype is np.bool_ else x).astype(dtype) for x in found]


def check(found: Any, wanted: Any, dtype: Any) -> None:
    found = np.asarray(found)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if np.dtype(dtype).kind not in "fc":
        np.testing.assert_array_equal(found, wanted)
        return
    rounding = np.finfo(dtype).eps * 40
    np.testing.assert_allclose(found, wanted, rtol=rounding, atol=rounding * (np.abs(wanted).max(initial=0) + 10))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("labels", [*WEIGHTED, *PRODUCTS, *MATRICES])
def test_values(labels: str, dtype: Any) -> None:
    for extents in EXTENTS if dtype is np.float64 else EXTENTS[4:5]:
        f = wg.function(lambda *xs: wg.einsum(labels, *xs))
        xs = operands(labels, extents, dtype)
        with wg.eager():
            wanted = np.asarray(wg.einsum(labels, *xs))
        check(f(*xs), wanted, dtype)


@pytest.mark.parametrize("labels", [*WEIGHTED, *PRODUCTS])
def test_sizes_known_at_run_time(labels: str) -> None:
    names = labels.split("->")[0].split(",")
    spec = [wg.TensorSpec((None,) * len(n)) for n in names]
    f = wg.function(lambda *xs: wg.einsum(labels, *xs), input_signature=spec)
    for extents in EXTENTS:
        xs = operands(labels, extents, np.float64)
        check(f(*xs), np.einsum(labels, *xs), np.float64)


@pytest.mark.parametrize("labels", [*WEIGHTED, *PRODUCTS])
def test_gradients_in_loops(labels: str) -> None:
    xs = operands(labels, (9, 7, 11, 5), np.float64)

    def loss(*xs: Any) -> Any:
        def step(i: Any, total: Any) -> Any:
            return total + wg.sum(wg.tanh(wg.einsum(labels, xs[0] * total, *xs[1:])))

        return wg.fori_loop(0, 3, step, 0.1)

    gradient = wg.grad(loss, argnums=(0, 1))
    with wg.eager():
        wanted = gradient(*xs)
    for ours, theirs in zip(wg.function(gradient)(*xs), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)


def calls_a_product(labels: str) -> bool:
    f = wg.function(lambda *xs: wg.einsum(labels, *xs))
    f(*operands(labels, (40, 50, 30, 20), np.float64))
    ((_, form),) = f.traces
    text = lowered(with_weighted_sums(ready(optimise(form.graph))), "test").function
    return any(type(item) is loops.Call and item.name.startswith("product.") for item in walk(text.body))


@pytest.mark.parametrize("labels", [*WEIGHTED, *PRODUCTS])
def test_they_are_loops(labels: str) -> None:
    assert not calls_a_product(labels)


@pytest.mark.parametrize("labels", MATRICES)
def test_vectors_and_matrices_are_products(labels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "is_for_blas", lambda m, k, n: False)
    assert calls_a_product(labels)


@pytest.mark.parametrize("labels", ["ij,ij->j", "ij,ij->i", "ij,ji->i", "ij,ij->ij", "ij,ji->ij"])
def test_special_values_and_warnings_are_those_of_eager_code(labels: str) -> None:
    x = np.tile([[np.nan, 1.0, -0.0], [2.0, np.inf, -0.0], [3.0, 1.0, -0.0]], (2, 2))
    y = np.tile([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [1.0, -np.inf, 1.0]], (2, 2))

    def f(x: Any, y: Any) -> Any:
        return wg.einsum(labels, x, y)

    with warnings.catch_warnings(record=True) as wanted, wg.eager():
        warnings.simplefilter("always")
        eager = np.asarray(f(x, y))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = np.asarray(wg.function(f)(x, y))
    assert [str(w.message) for w in told] == [str(w.message) for w in wanted]
    np.testing.assert_array_equal(found, eager)
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(eager[eager == 0]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex64, np.int32])
@pytest.mark.parametrize("rows", [1, 3, 4, 5, 7, 8, 41])
def test_rows_that_are_added_to_many_totals_go_together(dtype: Any, rows: int) -> None:
    """Of known sizes and of any, few and many totals, plain and computed elements."""
    reductions = [lambda x: np.sum(x, 0), lambda x: np.sum(x * x, 0)]
    if np.dtype(dtype).kind != "c":
        reductions += [lambda x: np.max(x, 0), lambda x: np.sum(np.concatenate([x, x * 2]), 0)]
    for reduce in reductions:
        any_size = wg.function(reduce)
        for shape in ((rows, 2048), (rows, 30), (rows, 2500), (rows, 50, 60)):
            x = (RNG.normal(size=shape) * 3).astype(dtype)
            if np.dtype(dtype).kind == "c":
                x = x * (1 - 2j)
            with wg.eager():
                expected = np.asarray(reduce(wg.tensor(x)))
            room = {2: 2e-2, 4: 1e-5}.get(np.dtype(dtype).type(0).real.itemsize, 1e-12)
            for compiled in (wg.function(lambda x, reduce=reduce: reduce(x)), any_size):
                np.testing.assert_allclose(np.asarray(compiled(x)), expected, rtol=room, atol=room * 100)


def test_rows_are_read_four_at_a_time_where_totals_are_many() -> None:
    def loads(columns: int) -> int:
        f = wg.function(lambda x: np.sum(x, 0))
        f(RNG.normal(size=(12, columns)))
        ((_, form),) = f.traces
        function = lowered(ready(optimise(form.graph)), "test").function
        return sum(type(item) is loops.Load for item in walk(function.body))

    assert loads(4096) > loads(64)
