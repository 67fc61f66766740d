"""Products of matrices in machine code: the functions of `multiply` by themselves, and which way a product takes."""

from __future__ import annotations

import ctypes
import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from tests.support import guard_pages
from wengert._engines.native.ir import loops
from wengert._engines.native.ir.builder import Builder
from wengert._engines.native.ir.loops import WIDTHS
from wengert._engines.native.ir.outlining import walk
from wengert._engines.native.llvm import jit, multiply, symbols, vectors
from wengert._engines.native.lower import complex_products, matrices, products
from wengert._engines.native.lower.forms import Stored
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._passes import optimise

RNG = np.random.default_rng(31)
DTYPES = {"f64": np.float64, "f32": np.float32}
ROUNDING = {"f64": 1e-15, "f32": 5e-7}  # of the sum of the magnitudes, for chains of up to 100 terms in another order
Array = np.ndarray[Any, Any]


def extern(name: str) -> Callable[..., None]:
    """A function of `multiply`: arrays are passed by address, everything else is an integer."""
    address = multiply.address(name)

    def call(*arguments: Any) -> None:
        kinds = [ctypes.c_void_p if isinstance(a, np.ndarray) else ctypes.c_int64 for a in arguments]
        given = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments]
        ctypes.CFUNCTYPE(None, *kinds)(address)(*given)

    return call


def close(found: Array, x: Array, y: Array, type_: str) -> None:
    x, y = (a.astype(np.result_type(a, np.float64)) for a in (x, y))
    room = ROUNDING[type_] * (np.abs(x) @ np.abs(y)) * 10
    assert np.all(np.abs(found - x @ y) <= room), (x.shape, y.shape)


def steps(x: Array) -> list[int]:
    return [s // x.itemsize for s in x.strides]


EXTENTS = [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 25, 33, 48, 49, 63, 100]


@pytest.mark.parametrize("type_", DTYPES)
@pytest.mark.parametrize("m", [0, 1, 2, 3, 5, 8, 15, 23])
def test_rows(type_: str, m: int) -> None:
    rows, dtype = extern(f"rows.{type_}"), DTYPES[type_]
    for n, k in itertools.product(EXTENTS, [0, 1, 5, 40]):
        x, y = RNG.normal(size=(m, k)).astype(dtype), RNG.normal(size=(k, n)).astype(dtype)
        out = np.full((m, n + 2), 7, dtype)
        for left in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]):
            rows(m, n, k, left, *steps(left), y, n, multiply.panel_width(type_), out, n + 2, 0)
            close(out[:, :n], x, y, type_)
            assert np.all(out[:, n:] == 7)
        rows(m, n, k, x, k, 1, y, n, multiply.panel_width(type_), out, n + 2, 1)
        close(out[:, :n], np.hstack([x, x]), np.vstack([y, y]), type_)


@pytest.mark.parametrize("type_", DTYPES)
@pytest.mark.parametrize("is_turned", [False, True])
def test_panels_give_the_bits_of_the_matrix(type_: str, is_turned: bool) -> None:
    rows, dtype = extern(f"rows.{type_}"), DTYPES[type_]
    pack = extern(f"pack.{'turned' if is_turned else 'straight'}.{type_}")
    width = multiply.panel_width(type_)
    for n, k in itertools.product(EXTENTS[1:], [1, 5, 16, 40]):
        x, y = RNG.normal(size=(9, k)).astype(dtype), RNG.normal(size=(k, n)).astype(dtype)
        y = np.asfortranarray(y) if is_turned else y
        size = multiply.packed_size(type_, -(-n // width), k)
        panels = np.full(size + 3, 7, dtype)
        pack(k, n, y, *((1, k) if is_turned else (n, 1)), panels)
        assert np.all(panels[size:] == 7)
        packed, plain = np.empty((9, n), dtype), np.empty((9, n), dtype)
        rows(9, n, k, x, k, 1, panels, width, k * width, packed, n, 0)
        rows(9, n, k, x, k, 1, np.ascontiguousarray(y), n, width, plain, n, 0)
        np.testing.assert_array_equal(packed, plain)


@pytest.mark.skipif(not guard_pages.IS_AVAILABLE, reason="no pages can be protected here")
@pytest.mark.parametrize("type_", DTYPES)
def test_columns_that_are_not_there_cost_nothing(type_: str) -> None:
    """Masked loads of nothing took some thousand times as long as others where no memory was: a product's 100 times."""
    rows, columns, dtype = 512, 9, DTYPES[type_]
    there = np.ones(64 * rows, dtype)
    alone = guard_pages.guarded(there[: columns * rows], behind=64)
    panels = np.empty(multiply.packed_size(type_, 1, rows), dtype)
    pack, times = extern(f"pack.turned.{type_}"), {"alone": list[int](), "there": list[int]()}
    for _ in range(20):
        for name, source in (("alone", alone), ("there", there)):
            before = time.thread_time_ns()
            pack(rows, columns, source, 1, rows, panels)
            times[name].append(time.thread_time_ns() - before)
    assert min(times["alone"]) < 4 * min(times["there"])  # 30 times with 512 bits


@pytest.mark.parametrize("type_", DTYPES)
def test_a_sum_in_blocks_has_the_bits_of_one_chain(type_: str) -> None:
    rows, dtype, width = extern(f"rows.{type_}"), DTYPES[type_], multiply.panel_width(type_)
    x, y = RNG.normal(size=(13, 40)).astype(dtype), RNG.normal(size=(40, 61)).astype(dtype)
    whole, parts = np.empty((13, 61), dtype), np.empty((13, 61), dtype)
    rows(13, 61, 40, x, 40, 1, y, 61, width, whole, 61, 0)
    for first, last in ((0, 7), (7, 8), (8, 40)):
        rows(13, 61, last - first, x[:, first:].copy(), 40 - first, 1, y[first:], 61, width, parts, 61, int(first > 0))
    np.testing.assert_array_equal(parts, whole)
    for i in range(13):  # nor does it matter which rows are computed together
        rows(1, 61, 40, x[i], 40, 1, y, 61, width, parts[i], 61, 0)
    np.testing.assert_array_equal(parts, whole)


def of_extents(function: str, type_: str, rows: object, columns: object = None) -> Callable[..., None]:
    """The function that compiled code calls where it knows so many rows and columns."""
    return extern(multiply.named(function, type_, rows, columns).removeprefix("product."))


@pytest.mark.parametrize("type_", DTYPES)
def test_functions_for_known_extents_give_the_bits_of_those_for_any(type_: str) -> None:
    dtype, width, k = DTYPES[type_], multiply.panel_width(type_), 5
    for m, n in itertools.product([0, 1, 3, 6, 8, 16, 31, 44], [0, 1, 7, width - 1, width, 2 * width + 3]):
        x, y = RNG.normal(size=(m, k)).astype(dtype), RNG.normal(size=(k, n)).astype(dtype)
        wanted = np.full((m, n), 7, dtype)
        extern(f"rows.{type_}")(m, n, k, x, k, 1, y, n, width, wanted, n, 0)
        for known in ((m, n), (m, None), (None, n)):
            rows, found = of_extents("rows", type_, *known), np.full((m, n), 7, dtype)
            rows(m, n, k, x, k, 1, y, n, width, found, n, 0)
            np.testing.assert_array_equal(found, wanted)
            found[:] = 7  # and in shares: of rows behind whole strips, of columns behind whole panels
            for first in range(0, m, 32):
                rows(min(32, m - first), n, k, x[first:], k, 1, y, n, width, found[first:], n, 0)
            np.testing.assert_array_equal(found, wanted)
            found[:] = 7
            for first in range(0, n, 2 * width):
                part = slice(first, first + 2 * width)
                columns = min(2 * width, n - first)
                rows(m, columns, k, x, k, 1, y[:, part], n, width, found[:, part], n, 0)
            np.testing.assert_array_equal(found, wanted)
        if m:
            wanted = np.full((2, m), 7, dtype)
            extern(f"dots.{type_}")(m, k, x, k, x[0], wanted[0], 1)
            of_extents("dots", type_, m)(m, k, x, k, x[0], wanted[1], 1)
            np.testing.assert_array_equal(wanted[0], wanted[1])
            wanted[:] = 7
            extern(f"row.{type_}")(m, k, x[0], 1, np.ascontiguousarray(x.T), m, wanted[0])
            of_extents("row", type_, 1, m)(m, k, x[0], 1, np.ascontiguousarray(x.T), m, wanted[1])
            np.testing.assert_array_equal(wanted[0], wanted[1])
            pairs = RNG.normal(size=(k, 2 * m)).astype(dtype)
            numbers = RNG.normal(size=(3, 2 * k)).astype(dtype)
            wanted = np.full((2, 3, 2 * m), 7, dtype)
            extern(f"pairs.{type_}")(3, m, k, numbers, k, 1, pairs, m, wanted[0], m, 0)
            of_extents("pairs", type_, 3, m)(3, m, k, numbers, k, 1, pairs, m, wanted[1], m, 0)
            np.testing.assert_array_equal(wanted[0], wanted[1])


def test_what_is_known_of_extents_leaves_few_tiles() -> None:
    width, lanes = multiply.panel_width("f64"), vectors.most_lanes("f64")
    tallest = multiply.heights()[0]
    assert multiply.cut("rows", "f64", 4 * tallest, 2 * width) == ((tallest,), True, ())
    assert multiply.cut("rows", "f64", tallest + 1, lanes + 1) == ((tallest, 1), False, (2,))
    assert multiply.cut("rows", "f64", None, None) == (multiply.heights(), True, (1, 2, 3))
    assert multiply.cut("dots", "f64", 8, None) == ((4,), False, ())


@pytest.mark.parametrize("type_", DTYPES)
def test_vectors(type_: str) -> None:
    row, dots, dtype = extern(f"row.{type_}"), extern(f"dots.{type_}"), DTYPES[type_]
    for n, k in itertools.product([0, 1, 3, 4, 5, 8, 17, 64, 129, 300], [0, 1, 3, 8, 16, 17, 32, 65, 100]):
        x, y = RNG.normal(size=(n, k)).astype(dtype), RNG.normal(size=(k, 2)).astype(dtype)
        out = np.full((n + 1, 2), 7, dtype)
        dots(n, k, x, k, np.ascontiguousarray(y[:, 0]), out, 2)
        close(out[:n, 0], x, y[:, 0], type_)
        assert np.all(out[:, 1] == 7)
        assert out[n, 0] == 7
        out = np.full(n + 1, 7, dtype)
        row(n, k, y, 2, np.ascontiguousarray(x.T), n, out)
        close(out[:n], x, y[:, 0], type_)
        assert out[n] == 7


@pytest.mark.parametrize("type_", DTYPES)
def test_what_is_not_finite_stays_in_its_place(type_: str) -> None:
    rows, dtype, width = extern(f"rows.{type_}"), DTYPES[type_], multiply.panel_width(type_)
    for bad in (np.nan, np.inf, -np.inf):
        x, y = np.ones((11, 9), dtype), np.ones((9, 30), dtype)
        x[10, 3], y[2, 29] = bad, bad
        out = np.empty((11, 30), dtype)
        rows(11, 30, 9, x, 9, 1, y, 30, width, out, 30, 0)
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(out, x.astype(np.float64) @ y.astype(np.float64))
    x, y, out = -np.ones((1, 2), dtype), np.zeros((2, 3), dtype), np.empty((1, 3), dtype)
    rows(1, 3, 2, x, 2, 1, y, 3, width, out, 3, 0)
    assert not np.any(np.signbit(out))  # sums start from 0, as NumPy's


# -- plans ------------------------------------------------------------------------------------------------------------


def view(shape: tuple[Any, ...], strides: tuple[Any, ...] | None = None, type_: str = "f64") -> Stored:
    return Stored(shape, loops.Array(type_, 1, "in"), 0, strides)


PLANS = {
    "as they lie": (view((40, 50)), view((50, 60)), view((40, 60)), "rows", (), False),
    "left turned": (view((40, 50), (1, 40)), view((50, 60)), view((40, 60)), "rows", (), False),
    "right turned": (view((40, 50)), view((50, 60), (1, 50)), view((40, 60)), "rows", (), True),
    "result turned": (view((40, 50), (1, 40)), view((50, 60), (1, 50)), view((40, 60), (1, 40)), "rows", (), False),
    "every other row": (view((40, 50), (100, 1)), view((50, 60), (120, 1)), view((40, 60), (120, 1)), "rows", (), False),
    "every other column of the left": (view((40, 50), (100, 2)), view((50, 60)), view((40, 60)), "rows", (), False),
    "every other column of the right": (view((40, 50)), view((50, 60), (120, 2)), view((40, 60)), "rows", ("y",), False),
    "every other column of the result": (view((40, 50)), view((50, 60)), view((40, 60), (120, 2)), "rows", ("out",), False),
    "one row for all": (view((40, 50), (0, 1)), view((50, 60), (0, 1)), view((40, 60)), "rows", (), False),
    "backwards": (view((40, 50), (-50, -1)), view((50, 60), (-60, 1)), view((40, 60)), "rows", (), False),
    "column": (view((40, 50)), view((50, 1)), view((40, 1)), "dots", (), False),
    "turned times column": (view((40, 50), (1, 40)), view((50, 1), (3, 1)), view((40, 1)), "row", (), False),
    "row": (view((1, 50)), view((50, 60)), view((1, 60)), "row", (), False),
    "row times turned": (view((1, 50)), view((50, 60), (1, 50)), view((1, 60)), "dots", (), False),
    "strided vector": (view((40, 50)), view((50, 1), (3, 1)), view((40, 1)), "dots", ("y",), False),
    "strided matrix": (view((40, 50), (100, 2)), view((50, 1)), view((40, 1)), "loops", (), False),
    "few long columns": (view((40, 50)), view((50, 3), (1, 50)), view((40, 3)), "dots", (), False),
    "few long rows": (view((2, 50)), view((50, 60), (1, 50)), view((2, 60)), "dots", (), False),
    "few short columns": (view((40, 31)), view((31, 3), (1, 31)), view((40, 3)), "rows", (), True),
    "few short rows": (view((3, 10)), view((10, 600), (1, 10)), view((3, 600)), "rows", (), True),
    "four columns": (view((40, 500)), view((500, 4), (1, 500)), view((40, 4)), "rows", (), True),
    "few columns, far apart": (view((40, 50)), view((50, 3)), view((40, 3)), "rows", (), False),
    "little": (view((5, 5)), view((5, 5)), view((5, 5)), "loops", (), False),
    "integers": (view((40, 50), type_="i8"), view((50, 60), type_="i8"), view((40, 60), type_="i8"), "loops", (), False),
    "integers, left turned": (view((40, 50), (1, 40), "i8"), view((50, 60), type_="i8"), view((40, 60), type_="i8"), "loops", (), False),
    "integers, right turned": (view((40, 50), type_="i8"), view((50, 60), (1, 50), "i8"), view((40, 60), type_="i8"), "loops", ("y",), False),
    "integers, result turned": (view((40, 50), (1, 40), "i8"), view((50, 60), (1, 50), "i8"), view((40, 60), (1, 40), "i8"), "loops", (), False),
    "integers, all turned": (view((40, 50), type_="i8"), view((50, 60), type_="i8"), view((40, 60), (1, 40), "i8"), "loops", ("y",), False),
    "complex row": (view((1, 50), type_="c64"), view((50, 60), type_="c64"), view((1, 60), type_="c64"), "loops", (), False),
    "complex, turned times column": (view((40, 50), (1, 40), "c64"), view((50, 1), type_="c64"), view((40, 1), type_="c64"), "loops", (), False),
    "rows far apart": (view((40, 500)), view((500, 60), (4096, 1)), view((40, 60)), "rows", (), True),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANS)
def test_plans(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "is_for_blas", lambda m, k, n: False)
    x, y, out, way, copies, packs = PLANS[name]
    found = matrices.plan(x, y, out)
    assert (found.way, found.copies, found.packs) == (way, copies, packs)


@pytest.mark.parametrize("type_", ["c64", "i32", "bool"])
@pytest.mark.parametrize(("strides", "is_turned"), [((1, 40), True), ((50, 1), False)])
def test_loops_of_vectors_go_along_memory(type_: str, strides: tuple[int, int], is_turned: bool) -> None:
    x, y, out = view((40, 50), strides, type_), view((50, 1), None, type_), view((40, 1), None, type_)
    for given in ((x, y, out), tuple(matrices.turned(a) for a in (y, x, out))):
        found = matrices.plan(*given)
        assert found.out.shape == ((1, 40) if is_turned else (40, 1))


def text_of(f: Callable[..., Any], *operands: Array) -> loops.Function:
    compiled = wg.function(f)
    compiled(*operands)
    ((_, form),) = compiled.traces
    return lowered(ready(optimise(form.graph)), "test").function


def room_of(instructions: list[Any]) -> set[Any]:
    """The arrays on the heap but for those of panels."""
    panels = {
        item.args[-1].array
        for item in instructions
        if type(item) is loops.Call and item.name.startswith("product.pack")
    }
    return {item.array for item in instructions if type(item) is loops.Alloc} - panels


WITHOUT_COPIES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "turned left": (lambda x, y: wg.matmul(x.T, y), ((50, 40), (50, 60))),
    "turned right": (lambda x, y: wg.matmul(x, y.T), ((40, 50), (30, 50))),
    "slices": (lambda x, y: wg.matmul(x[3:43, 2:52], y[:50, 4:64]), ((50, 60), (60, 70))),
    "steps": (lambda x, y: wg.matmul(x[::2, ::3], y[::2]), ((80, 150), (100, 60))),
    "flipped": (lambda x, y: wg.matmul(x[::-1, ::-1], y[::-1]), ((40, 50), (50, 60))),
    "broadcast": (lambda x, y: wg.matmul(wg.broadcast_to(x, (40, 50)), y), ((50,), (50, 60))),
    "a row of a matrix times a matrix": (lambda x, y: x[3] @ y, ((40, 50), (50, 60))),
    "a matrix times a column of a matrix": (lambda x, y: x.T @ y[:, 3], ((50, 40), (50, 60))),
    "batch": (lambda x, y: wg.matmul(x, y), ((7, 40, 50), (7, 50, 60))),
    "batch behind": (lambda x, y: wg.einsum("nki,kij->nkj", x, y), ((100, 7, 20), (7, 20, 20))),
    "batch behind, turned": (lambda x, y: wg.einsum("kij,nkj->nki", x, y), ((7, 20, 20), (100, 7, 20))),
    "batch behind, summed": (lambda x, y: wg.einsum("nki,nkj->kij", x, y), ((100, 7, 20), (100, 7, 20))),
    "turned result": (lambda x, y: wg.einsum("ij,jk->ki", x, y), ((40, 50), (50, 60))),
    "two axes for rows": (lambda x, y: wg.einsum("abi,ij->abj", x, y), ((6, 7, 50), (50, 60))),
    "two axes summed": (lambda x, y: wg.einsum("iab,abj->ij", x, y), ((40, 5, 10), (5, 10, 60))),
    "vectors": (lambda x, y: wg.einsum("bi,bij->bj", x, y), ((9, 30), (9, 30, 40))),
    "vectors behind": (lambda x, y: wg.einsum("nki,ki->nk", x, y), ((30, 7, 40), (7, 40))),
}  # fmt: skip


@pytest.mark.parametrize("name", WITHOUT_COPIES)
def test_no_copies_are_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "is_for_blas", lambda m, k, n: False)
    f, shapes = WITHOUT_COPIES[name]
    operands = [RNG.normal(size=shape) for shape in shapes]
    with wg.eager():
        wanted = np.asarray(f(*operands))
    np.testing.assert_allclose(wg.function(f)(*operands), wanted, rtol=1e-12, atol=1e-12)  # another order of the sums
    instructions = [*walk(text_of(f, *operands).body)]
    assert not any(isinstance(item, (loops.Copy, loops.Store)) for item in instructions)
    assert not room_of(instructions)
    assert any(type(item) is loops.Call and item.name.startswith("product.") for item in instructions)


def test_one_call_for_a_batch_that_shares_a_matrix() -> None:
    function = text_of(lambda x, y: wg.matmul(x, y), RNG.normal(size=(7, 4, 50)), RNG.normal(size=(50, 60)))
    assert not any(type(item) is loops.For for item in walk(function.body))


# -- ways in programs -------------------------------------------------------------------------------------------------

SIZES = [(40, 50, 60), (1, 50, 60), (40, 50, 1), (300, 20, 20), (33, 600, 500), (5, 5, 5), (16, 16, 16), (3, 0, 40)]
FORMS: dict[str, Callable[..., Any]] = {
    "nn": lambda x, y: wg.matmul(x, y),
    "tn": lambda x, y: wg.matmul(wg.transpose(wg.transpose(x) * 1.0), y),
    "nt": lambda x, y: wg.matmul(x, wg.transpose(wg.transpose(y) * 1.0)),
    "gradients": lambda x, y: wg.grad(lambda x, y: wg.sum(wg.sin(wg.matmul(x, y))), argnums=(0, 1))(x, y),
}


@pytest.mark.parametrize("way", ["blas", "own"])
@pytest.mark.parametrize("form", FORMS)
def test_blas_and_our_own(form: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "is_for_blas", lambda m, k, n: way == "blas")
    monkeypatch.setattr(
        matrices, "PACKED_BYTES", {512: 1 << 16, 256: 1 << 16}
    )  # so that matrices of a few rows are packed, block by block
    for m, k, n in SIZES:
        x, y = RNG.normal(size=(m, k)), RNG.normal(size=(k, n))
        with wg.eager():
            wanted = FORMS[form](x, y)
        found = wg.function(FORMS[form])(x, y)
        for ours, theirs in zip(*[r if isinstance(r, tuple) else (r,) for r in (found, wanted)], strict=True):
            np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-11, atol=1e-11)  # sums of up to 600 terms


@pytest.mark.parametrize("way", ["blas", "own"])
def test_sizes_known_at_run_time(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "is_for_blas", lambda m, k, n: way == "blas")
    signature = [wg.TensorSpec((None, None)), wg.TensorSpec((None, None))]
    compiled = {name: wg.function(f, input_signature=signature) for name, f in FORMS.items()}
    for m, k, n in [(0, 0, 0), (3, 0, 4), (0, 3, 4), (3, 4, 0), (1, 1, 1), (2, 70, 90), (70, 300, 260), (100, 9, 250)]:
        x, y = RNG.normal(size=(m, k)), RNG.normal(size=(k, n))
        for name, f in compiled.items():
            with wg.eager():
                wanted = FORMS[name](x, y)
            for ours, theirs in zip(*[r if isinstance(r, tuple) else (r,) for r in (f(x, y), wanted)], strict=True):
                np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-11, atol=1e-11)  # another order


def test_vectors_of_sizes_known_at_run_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[bytes] = []
    for threads in ("1", "3"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", threads)
        f = wg.function(lambda x, v: v @ x, input_signature=[wg.TensorSpec((None, None)), wg.TensorSpec((None,))])
        for k, n in [(0, 3), (3, 0), (1, 1), (70, 90), (4000, 30), (40_000, 20), (7, 100_000)]:
            x, v = np.cos(np.arange(k * n)).reshape(k, n), np.sin(np.arange(k))
            result = np.asarray(f(x, v))
            np.testing.assert_allclose(result, v @ x, rtol=1e-11, atol=1e-11)  # another order of the sums
            found.append(result.tobytes())
    assert found[: len(found) // 2] == found[len(found) // 2 :]


def test_what_is_small_enough_is_written_out() -> None:
    function = text_of(lambda x, y: wg.matmul(x, y), RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3)))
    assert not any(type(item) in (loops.Call, loops.For) for item in walk(function.body))


def test_accumulating_rounds_once() -> None:
    assert products.accumulated(Builder(), "f64", None, 2.0, 3.0) is not None
    text = str(text_of(lambda x, y: wg.matmul(x, y), RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))))
    assert "fma.f64" in text


# -- sums with products -----------------------------------------------------------------------------------------------

W = RNG.normal(size=(40, 40)) / 10
SUMS: dict[str, Callable[..., Any]] = {
    "two products": lambda x, y: wg.matmul(x, y) + wg.matmul(y, x),
    "three products": lambda x, y: wg.matmul(x, y) + wg.matmul(y, x) + wg.matmul(x, x),
    "a product and an operand": lambda x, y: x + wg.matmul(x, y),
    "an operand and a product that is read twice": lambda x, y: (lambda p: (x + p, p))(wg.matmul(x, y)),
    "a product with itself": lambda x, y: (lambda p: p + p)(wg.matmul(x, y)),
    "an einsum": lambda x, y: y + wg.einsum("ij,kj->ki", x, y),
    "two einsums": lambda x, y: wg.einsum("ij,kj->ki", x, y) + wg.einsum("ij,jk->ki", x, y),
    "an outer product": lambda x, y: wg.matmul(x, y) + wg.einsum("i,j->ij", x[0], y[0]),
    "a vector's product": lambda x, y: wg.matmul(x, y) + wg.matmul(x[:, :1], y[:1]),
    "a turned operand": lambda x, y: wg.transpose(x) + wg.matmul(x, y),
    "a loop's variable": lambda x, y: wg.fori_loop(0, 5, lambda i, c: c + wg.matmul(W, y), x),
    "a loop's variable that is read, too": lambda x, y: wg.fori_loop(0, 5, lambda i, c: c + wg.matmul(W, c), x),
    "gradients of steps": lambda x, y: wg.grad(
        lambda x, y: wg.sum(wg.fori_loop(0, 5, lambda i, c: wg.tanh(wg.matmul(c, x) + wg.matmul(c, y)), W)), argnums=(0, 1)
    )(x, y),
    "batches": lambda x, y: (lambda a, b: wg.matmul(a, b) + wg.matmul(b, a))(
        wg.reshape(x[:36], (4, 9, 40))[:, :, :9], wg.reshape(y[:36], (4, 9, 40))[:, :, :9]
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", ["blas", "own"])
@pytest.mark.parametrize("name", SUMS)
def test_sums_with_products(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "is_for_blas", lambda m, k, n: way == "blas")
    x, y = RNG.normal(size=(40, 40)) / 10, RNG.normal(size=(40, 40)) / 10
    before = x.copy(), y.copy()
    with wg.eager():
        wanted = SUMS[name](x, y)
    f = wg.function(SUMS[name])
    for _ in range(2):
        found = f(x, y)
        for ours, theirs in zip(*[r if isinstance(r, tuple) else (r,) for r in (found, wanted)], strict=True):
            np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-12, atol=1e-12)  # another order of the sums
    np.testing.assert_array_equal(before, (x, y))


@pytest.mark.parametrize(
    "name", ["two products", "three products", "a product and an operand", "an einsum", "two einsums"]
)
def test_sums_with_products_need_no_room(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "is_for_blas", lambda m, k, n: False)
    instructions = [*walk(text_of(SUMS[name], W, W).body)]
    assert not any(isinstance(item, loops.For) for item in instructions)
    assert not room_of(instructions)


@pytest.mark.parametrize("way", ["blas", "own"])
def test_sums_with_products_of_sizes_known_at_run_time(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "is_for_blas", lambda m, k, n: way == "blas")
    signature = [wg.TensorSpec((None, None)), wg.TensorSpec((None, None)), wg.TensorSpec((None, None))]
    f = wg.function(
        lambda x, y, z: (z + wg.matmul(x, y), wg.matmul(x, y) + wg.matmul(x * 2, y)), input_signature=signature
    )
    for m, k, n in [
        (0, 0, 0),
        (3, 0, 4),
        (1, 1, 1),
        (2, 70, 90),
        (70, 300, 260),
        (100, 9, 250),
        (5, 600, 1),
        (1, 600, 5),
    ]:
        x, y, z = RNG.normal(size=(m, k)), RNG.normal(size=(k, n)), RNG.normal(size=(m, n))
        first, second = f(x, y, z)
        np.testing.assert_allclose(first, z + x @ y, rtol=1e-11, atol=1e-11)  # another order of the sums
        np.testing.assert_allclose(second, 3 * (x @ y), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("m", "n"), [(2, 2), (3, 3), (9, 2), (3, 17), (2, 4)])
def test_few_long_columns(m: int, n: int, dtype: str) -> None:
    f, joined = wg.function(lambda x, y: x @ y.mT), wg.function(lambda x, y, z: wg.sin(z) + x @ y.mT)
    for lead, k in itertools.product(((), (3,)), (40, 333)):
        x, y = RNG.normal(size=(*lead, m, k)).astype(dtype), RNG.normal(size=(*lead, n, k)).astype(dtype)
        z, rtol = RNG.normal(size=(*lead, m, n)).astype(dtype), 1e-13 if dtype == "float64" else 1e-4  # of k terms
        np.testing.assert_allclose(f(x, y), x @ y.mT, rtol=rtol, atol=rtol * k)
        np.testing.assert_allclose(f(x[..., ::-1], y[..., ::-1]), x @ y.mT, rtol=rtol, atol=rtol * k)
        np.testing.assert_allclose(joined(x, y, z), np.sin(z) + x @ y.mT, rtol=rtol, atol=rtol * k)


@pytest.mark.parametrize(("bits", "fma"), [(128, False), (128, True), (256, True)])
def test_machines_with_other_registers(bits: int, fma: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (multiply, vectors):
        monkeypatch.setattr(module, "vector_bits", lambda: bits)
    monkeypatch.setattr(vectors, "has_fma", lambda: fma)
    monkeypatch.setattr(multiply, "written", jit.written.__wrapped__)  # not those of this machine
    monkeypatch.setattr(multiply, "TILES", symbols.Table({}, {"product": symbols.Family(multiply.tile_address)}))
    for type_, dtype in DTYPES.items():
        width = multiply.panel_width(type_)
        assert width * WIDTHS[type_] == 3 * bits // 8
        rows, pairs, row, dots = (extern(f"{f}.{type_}") for f in multiply.FUNCTIONS)
        straight, turning = (extern(f"pack.{way}.{type_}") for way in multiply.PACKS)
        for m, n, k in [(13, 41, 17), (1, 1, 1), (8, 48, 16), (3, 5, 2)]:
            x, y = RNG.normal(size=(m, k)).astype(dtype), RNG.normal(size=(k, n)).astype(dtype)
            out, turned = np.empty((m, n), dtype), np.ascontiguousarray(y.T)
            rows(m, n, k, x, k, 1, y, n, width, out, n, 0)
            close(out, x, y, type_)
            panels = np.empty(multiply.packed_size(type_, -(-n // width), k), dtype)
            for pack, source, strides in ((straight, y, (n, 1)), (turning, turned, (1, k))):
                pack(k, n, source, *strides, panels)
                rows(m, n, k, x, k, 1, panels, width, k * width, out, n, 0)
                close(out, x, y, type_)
            row(n, k, x, 1, y, n, out)
            close(out[0], x[0], y, type_)
            first = np.empty(m, dtype)
            dots(m, k, x, k, turned, first, 1)
            close(first, x, y[:, 0], type_)
            z, w = x * (1 - 2j), y + 1j * y[::-1]
            z, w, twice = (a.astype(np.result_type(dtype, np.complex64)) for a in (z, w, np.zeros((m, n))))
            pairs(m, n, k, z, k, 1, w, n, twice, n, 0)
            close(twice, z, w, type_)
            pairs(m, n, k, z, k, 1, w, n, twice, n, 1)
            close(twice, 2 * z, w, type_)


@pytest.mark.parametrize("type_", DTYPES)
@pytest.mark.parametrize("m", [95, 96, 97, 160, 300])
def test_products_with_the_own_transpose_have_the_bits_of_others(type_: str, m: int) -> None:
    """Half of them is computed and mirrored; of different arrays with the same elements all is."""
    for k in (0, 1, 40, 600):
        x = RNG.normal(size=(m, k)).astype(DTYPES[type_])
        expected = wg.function(lambda x, y: x @ y.T)(x, x.copy())
        np.testing.assert_array_equal(wg.function(lambda x: x @ x.T)(x), expected)
        np.testing.assert_array_equal(wg.function(lambda x: x.T @ x)(x.T.copy()), expected)
        np.testing.assert_array_equal(wg.function(lambda x: np.einsum("ij,kj->ki", x, x))(x), expected)
        np.testing.assert_array_equal(
            wg.function(lambda x: (x[:, ::-1] @ x[:, ::-1].T)[::-1])(x[:, ::-1]), expected[::-1]
        )


def test_a_batch_of_products_with_the_own_transposes() -> None:
    x = RNG.normal(size=(3, 2, 130, 20))
    both = wg.function(lambda x, y: x @ y.swapaxes(2, 3))
    np.testing.assert_array_equal(wg.function(lambda x: x @ x.swapaxes(2, 3))(x), both(x, x.copy()))
    shared = np.broadcast_to(x[:1], x.shape)
    np.testing.assert_array_equal(wg.function(lambda x: x @ x.swapaxes(2, 3))(shared), both(shared, shared.copy()))


def test_only_large_products_with_the_own_transpose_are_mirrored() -> None:
    b = Builder()

    def mirrors(n: int, other: bool = False, joins: bool = False) -> bool:
        x, out = (Stored((n, n), b.array("f64", "input")) for _ in range(2))
        y = matrices.turned(Stored((n, n), b.array("f64", "input")) if other else x)
        return matrices.plan(x, y, out, joins).mirrors

    assert mirrors(matrices.MIRRORED_ROWS) or matrices.is_for_blas(200, 200, 200)
    assert not mirrors(matrices.MIRRORED_ROWS - 1)
    assert not mirrors(300, other=True)
    assert not mirrors(300, joins=True)


def test_a_small_matrix_for_many_lies_in_memory_once() -> None:
    """Gates on the qubits of a state: the code of the copies, of two lengths, ended the process with LLVM 20."""

    def circuit(gate: Any, state: Any) -> Any:
        for k in range(6):
            state = wg.reshape(wg.matmul(gate, wg.reshape(state, (2**k, 2, 2 ** (5 - k)))), (64,))
        return state

    gate, state = RNG.normal(size=(2, 2)), RNG.normal(size=64)
    expected = state
    for _ in range(6):
        expected = np.kron(gate, np.eye(32)) @ expected
        expected = expected.reshape(2, 32).T.ravel()
    np.testing.assert_allclose(wg.function(circuit)(gate, state), expected, rtol=1e-12)
    function = text_of(lambda gate, x, y: (wg.sin(gate) @ x, wg.sin(gate) @ y), gate, RNG.normal(size=(4, 2, 16)),
                       RNG.normal(size=(8, 2, 8)))  # fmt: skip
    assert not room_of([*walk(function.body)])


def test_complex_vectors_of_any_length_are_no_real_matrices() -> None:
    n = Builder().reg("i64")
    for shapes in (((1, n), (n, 1)), ((n, n), (n, 1)), ((2, n), (n, n)), ((n, 3), (3, n))):
        assert not complex_products.is_worth_real_ones(*[view(s, (s[1], 1), "c128") for s in shapes])
    assert complex_products.is_worth_real_ones(*[view((n, n), (n, 1), "c128") for _ in range(2)])
    both = wg.function(lambda x, y: np.dot(x, y))
    for size in (5, 70, 3000, 4001):
        x, y = RNG.normal(size=(2, size)) + 1j * RNG.normal(size=(2, size))
        np.testing.assert_allclose(both(x, y), np.dot(x, y), rtol=1e-11)
