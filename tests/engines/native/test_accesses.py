"""Code that checks its accesses: what reaches beyond an array is found and named, and all else runs as it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.ir import accesses
from wengert._engines.native.ir.accesses import AccessError
from wengert._engines.native.ir.builder import Builder
from wengert._engines.native.ir.loops import Address, Array, Function, Status, Typed, verify
from wengert._engines.native.ir.shared_work import WORTH
from wengert._engines.native.llvm import jit, multiply
from wengert._engines.native.llvm.codegen import module_text
from wengert._engines.native.llvm.microtiles import Tile
from wengert._engines.native.llvm.vectors import most_lanes
from wengert._engines.native.lower import maps
from wengert._engines.native.lower.matrices import fortran_int, letter
from wengert._engines.native.run import entry
from wengert._engines.native.run.callable import CALLABLE


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(accesses.VARIABLE, "1")


def told(function: Function, arrays: Sequence[Any], results: Sequence[Any], sizes: Sequence[int] = ()) -> str:
    """Runs a function; "", or what it says of an access that is none."""
    verify(function)
    loaded = jit.load(module_text(function, "entry"), "entry", table=CALLABLE)
    status = entry.called(loaded, arrays, results, sizes)[0]
    assert status in (Status.OK, Status.ASTRAY)
    return "" if status == Status.OK else str(accesses.error_of("made", {}))


class Case(NamedTuple):
    """Something done at an index, with an operand and a result of 5 elements; which indices are right."""

    make: Callable[[Builder, Array, Array, Any], None]
    does: str
    first: int = 0
    last: int = 4


def _store(kind: Callable[[Builder], Array]) -> Callable[..., None]:
    return lambda b, x, out, i: b.store(kind(b), i, 1.0)


def _grown(b: Builder) -> Array:
    held = b.grown("f64", 2)
    b.reserve(held, 5)
    b.reserve(held, 3)
    return held


def _exchanged(b: Builder) -> Array:
    one, other = b.alloc("f64", 9), b.alloc("f64", 5)
    b.swap(one, other)
    return one


def _of_told_size(b: Builder, x: Array, out: Array, i: Any) -> None:
    b.store(b.alloc("i32", b.add(b.convert("i64", "f64", b.load(x, 4)), 1)), i, 7)


def _in_lanes(place: Callable[[Builder, Any, Any], Any]) -> Callable[..., None]:
    def make(b: Builder, x: Array, out: Array, i: Any) -> None:
        found = b.alloc("f64", 8)
        with b.lanes(4) as made:
            b.store(found, made.index, b.load(x, place(b, i, made.index)))

    return make


def _own(b: Builder, x: Array, out: Array, i: Any) -> None:
    with b.lanes(4):
        b.store(b.local("f64", 5), i, 1.0)


def _sum_in_lanes(b: Builder, x: Array, out: Array, i: Any) -> None:
    with b.lanes(4):
        b.accumulate(out, i, 1.0)


def _in_a_thread(b: Builder, x: Array, out: Array, i: Any) -> None:
    with b.loop(0, 3, 100 * WORTH) as iteration:
        b.store(out, b.add(i, b.sub(iteration, 2)), 1.0)


CASES = {
    "loaded": Case(lambda b, x, out, i: b.store(out, 0, b.load(x, i)), "reads an element of in1"),
    "stored": Case(_store(lambda b: b.alloc("f64", 5)), "sets an element of heap"),
    "on the stack": Case(_store(lambda b: b.local("f64", 5)), "sets an element of local"),
    "of a size that a run tells": Case(_of_told_size, "sets an element of heap"),
    "grown": Case(_store(_grown), "sets an element of grown"),
    "exchanged": Case(_store(_exchanged), "sets an element of heap"),
    "added": Case(lambda b, x, out, i: b.accumulate(out, i, 1.0), "adds to an element of out2"),
    "added in slots": Case(lambda b, x, out, i: b.accumulate(b.local("f64", 20), i, 1.0, 4), "adds to an element"),
    "zeros": Case(lambda b, x, out, i: b.fill(out, i, 1), "sets elements to zero of out2"),
    "copied to": Case(lambda b, x, out, i: b.copy(out, i, x, 0, 1), "copies elements to a part of out2"),
    "copied from": Case(lambda b, x, out, i: b.copy(out, 0, x, i, 1), "copies elements from a part of in1"),
    "neighbours": Case(_in_lanes(lambda b, i, iteration: b.add(i, iteration)), "reads an element of in1", 0, 1),
    "steps": Case(_in_lanes(lambda b, i, iteration: b.sub(i, iteration)), "reads an element of in1", 3, 4),
    "squares": Case(_in_lanes(lambda b, i, iteration: b.sub(b.mul(b.sub(iteration, 1), b.sub(iteration, 1)), i)),
                    "reads an element of in1", 0, 0),
    "one for all iterations": Case(_in_lanes(lambda b, i, iteration: i), "reads an element of in1"),
    "an iteration's own": Case(_own, "sets an element of local"),
    "a sum of iterations": Case(_sum_in_lanes, "adds to an element of out2"),
    "in a thread": Case(_in_a_thread, "sets an element of out2", 2, 4),
}  # fmt: skip


def case_told(case: Case, index: int) -> str:
    b = Builder()
    x, out, i = b.array("f64", "in"), b.array("f64", "out"), b.reg("i64")
    b.extent(x, 5)
    b.extent(out, 5)
    b.node = "sin (a line)"
    case.make(b, x, out, i)
    return told(b.function("made", [x], [out], [i]), [np.arange(5.0)], [np.zeros(5)], [index])


@pytest.mark.parametrize("name", CASES)
def test_only_the_elements_of_an_array_are_in_reach(name: str) -> None:
    case = CASES[name]
    for index in range(case.first, case.last + 1):
        assert case_told(case, index) == ""
    for index in (case.first - 1, case.last + 1):
        found = case_told(case, index)
        assert f"sin (a line) {case.does}" in found
        assert "which has 5 elements, at index " in found


def test_a_span_of_nothing_may_begin_anywhere() -> None:
    assert case_told(Case(lambda b, x, out, i: b.fill(out, i, 0), ""), 100) == ""
    assert "at index 5" in case_told(Case(lambda b, x, out, i: b.fill(out, 1, i), ""), 5)
    assert "at index -3" in case_told(Case(lambda b, x, out, i: b.fill(out, 1, i), ""), -3)


def test_what_was_given_away_is_out_of_reach() -> None:
    b = Builder()
    held = b.alloc("f64", 4)
    b.give(held, 0)
    b.store(held, 3, 1.0)
    assert "which has 0 elements, at index 3" in told(b.function("made", [], [None], []), [], [np.zeros(1, np.int64)])


# -- functions that code calls ----------------------------------------------------------------------------------------

WIDE = multiply.panel_width("f64")
Arrays = Sequence[Address]


def _numbers(*values: int | Address) -> list[Any]:
    return [v if isinstance(v, Address) else Typed("i64", v) for v in values]


def _blas(*values: Any) -> list[Any]:
    """Letters, integers, and numbers, as Fortran takes them."""
    b = Builder()
    by_type: dict[type, Callable[[Any], Any]] = {
        str: letter, int: lambda v: fortran_int(b, v), float: lambda v: Typed("f64", v, True), Address: lambda v: v,
    }  # fmt: skip
    return [by_type[type(v)](v) for v in values]


TILE = Tile("f64", 2, 3, 10, -2, 1, most_lanes("f64"), 2)
LANES = TILE.columns
# name, how many elements it needs of each array (with the type, if not f64), and the arguments
CALLS: dict[str, tuple[str, Sequence[int | tuple[str, int]], Callable[[Arrays], list[Any]]]] = {
    "rows": ("product.rows.f64", (20, 4 * (WIDE + 3), 5 * (WIDE + 3)), lambda a: _numbers(
        5, WIDE + 3, 4, a[0], 4, 1, a[1], WIDE + 3, WIDE, a[2], WIDE + 3, 0)),
    "rows of panels": ("product.rows.f64", (20, 4 * WIDE + 3 * WIDE + 2, 5 * (WIDE + 2)), lambda a: _numbers(
        5, WIDE + 2, 4, a[0], 1, 5, a[1], WIDE, 4 * WIDE, a[2], WIDE + 2, 1)),
    "pack": ("product.pack.straight.f64", (3 * (WIDE + 1), multiply.packed_size("f64", 2, 3)), lambda a: _numbers(
        3, WIDE + 1, a[0], WIDE + 1, 1, a[1])),
    "row": ("product.row.f64", (5, 3 * 9 - 2, 7), lambda a: _numbers(7, 3, a[0], 2, a[1], 9, a[2])),
    "dots": ("product.dots.f64", (3 * 8 - 3, 5, 5), lambda a: _numbers(3, 5, a[0], 8, a[1], a[2], 2)),
    "tile": (TILE.name, (5 + 10 + 3 * 20 + 1, 5 * LANES, 6 * LANES), lambda a: _numbers(
        a[0]._replace(index=4), a[1], a[2], 0, 3 * LANES, LANES, 4, 20, LANES, 2, 1, LANES)),
    "turned": ("turned.f64", (2 * 9 + 5, 4 * 7 + 3), lambda a: _numbers(a[0], a[1], 3, 5, 9, 7)),
    "gemm": ("blas.dgemm", (3 * 4 + 2, 4 * 5, 5 * 4 + 2), lambda a: _blas(
        "N", "N", 2, 5, 4, 1.0, a[0], 4, a[1], 4, 0.0, a[2], 5)),
    "gemm of transposes": ("blas.dgemm", (4 + 4, 3 * 6 + 5, 5 * 2), lambda a: _blas(
        "T", "T", 2, 5, 4, 1.0, a[0], 4, a[1], 6, 0.0, a[2], 2)),
    "trsm": ("blas.dtrsm", (4, 7), lambda a: _blas("R", "U", "N", "U", 3, 2, 1.0, a[0], 2, a[1], 4)),
    "trsv": ("blas.dtrsv", (4 + 2, 2), lambda a: _blas("U", "N", "U", 2, a[0], 4, a[1], 1)),
    "potrf": ("lapack.dpotrf", (3 * 2 + 2, ("i32", 1)), lambda a: _blas("U", 2, a[0], 6, a[1])),
    "getrf": ("lapack.dgetrf", (3 * 2, ("i32", 2), ("i32", 1)), lambda a: _blas(2, 3, a[0], 2, a[1], a[2])),
}  # fmt: skip


def call_told(name: str, lacking: int = -1) -> str:
    """Calls a function with arrays of as many elements as it needs, but for one that has one less."""
    called, sizes, arguments = CALLS[name]
    b = Builder()
    b.node = "a node"
    arrays: list[Address] = []
    for place, size in enumerate(sizes):
        type_, count = ("f64", size) if isinstance(size, int) else size
        array = b.alloc(type_, max(count, 1), zero=True)
        if type_ == "i32":
            b.store(array, 0, 1)  # a pivot that there is
        arrays.append(Address(b.alloc(type_, count - 1) if place == lacking else array))
    b.call(called, arguments(arrays))
    return told(b.function("made", [], [], []), [], [])


@pytest.mark.parametrize("name", CALLS)
def test_functions_that_code_calls_reach_what_they_need_and_no_more(name: str) -> None:
    assert call_told(name) == ""
    for place in range(len(CALLS[name][1])):
        found = call_told(name, place)
        assert f"a node calls {CALLS[name][0]} on elements of heap" in found


def test_a_function_of_which_nothing_is_said_is_refused() -> None:
    b = Builder()
    b.call("product.sideways.f64", [Address(b.alloc("f64", 1))])
    with pytest.raises(LookupError, match="which elements product.sideways.f64 reaches"):
        module_text(b.function("made", [], [], []), "entry")


# -- programs ---------------------------------------------------------------------------------------------------------


def test_a_wrong_lowering_is_caught_and_the_users_line_named(monkeypatch: pytest.MonkeyPatch) -> None:
    right = maps.MAPS["flip"]
    wrong = right._replace(at=lambda b, info, xs, index: xs[0].at(b, (b.sub(info.shape[0], index[0]),)),
                           view=lambda b, info, xs: None)  # fmt: skip
    monkeypatch.setitem(maps.MAPS, "flip", wrong)
    f = wg.function(lambda x: wg.flip(wg.sin(x), 0) + x)
    with pytest.raises(AccessError, match=r"test_accesses.py.* of .*, which has 300 elements, at index 300"):
        f(np.arange(300.0))


def _scanned(x: Any) -> Any:
    return wg.scan(lambda c, row: (wg.tanh(c + row @ x), c * row), x[0], x)[1]


def _while(x: Any) -> Any:
    return wg.while_loop(lambda i, v: wg.sum(v) < 50.0, lambda i, v: (i + 1, v * 1.5 + x), [0, x])[1]


def _loops_in_a_loop(x: Any) -> Any:
    """A loop that may take no step, whose backward pass needs what loops inside have saved."""

    def body(i: Any, v: Any) -> Any:
        return i + 1, wg.while_loop(lambda j, u: j < 3, lambda j, u: (j + 1, wg.tanh(u * x)), (0, v), checkpoint=1)[1]

    return wg.while_loop(lambda i, v: i < wg.sum(x) - 8.0, body, (0, x), checkpoint="all")[1]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "products": lambda x: wg.sum((x @ x.T) @ x, axis=0),
    "solutions": lambda x: wg.linalg.solve(x.T @ x + 9.0 * wg.eye(20), x.T),
    "rows": lambda x: wg.nn.log_softmax(x * 3.0, axis=-1),
    "gathers": lambda x: wg.take(x, np.array([0, 19, 3, 3]), axis=1) * x[:, -4:],
    "sorts": lambda x: wg.sort(x, axis=0) + wg.cumsum(x, axis=1),
    "a scan": _scanned,
    "a loop of unknown length": _while,
    "loops in a loop": _loops_in_a_loop,
    "differences": lambda x: x[1:] - x[:-1],
    "every other": lambda x: x[1:-1:2] * 2.0,
    "parts": lambda x: wg.concatenate([x[1:] * 2.0, wg.sin(x), x[2:]]),
    "padded": lambda x: wg.pad(x[2:], ((2, 1), (0, 1))) * 3.0,
}


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "fft": lambda x: wg.abs(np.fft.fft(x, axis=0)),
    "ifft": lambda x: wg.abs(np.fft.ifft(x, 7)),
    "rfft": lambda x: wg.abs(np.fft.rfft(x)),
    "rfft of an odd number": lambda x: wg.abs(np.fft.rfft(x[:, :5])),
    "irfft": lambda x: np.fft.irfft(x, 5, axis=1),
    "a long line": lambda x: wg.abs(np.fft.ifft(np.fft.fft(x, 100), 90)),
    "a long line of a prime number": lambda x: wg.abs(np.fft.fft(x, 263)),
    "a long real line": lambda x: np.fft.irfft(np.fft.rfft(x, 140), 130),
    "a long real line of an odd number": lambda x: np.fft.irfft(np.fft.rfft(x, 81), 75),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transforms_stay_within_their_arrays(name: str, dtype: type) -> None:
    f = TRANSFORMS[name]
    slope = wg.grad(lambda x: wg.sum(f(x) ** 2))
    for rows in (3, 70):
        x = np.random.default_rng(5).random((rows, 6)).astype(dtype)
        np.testing.assert_allclose(wg.function(f)(x), f(x), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(wg.function(slope)(x), slope(x), rtol=1e-3, atol=1e-3)


def test_what_is_beyond_the_lines_of_a_transform_is_found() -> None:
    b = Builder()
    x, out, n = b.array("c128", "in"), b.array("c128", "out"), b.reg("i64")
    for array in (x, out):
        b.extent(array, 8)
    numbers = [Typed("i64", k) for k in (2, n, n, 4 * 16, 4 * 16, 16, 16)]  # two lines of n numbers, 4 apart
    b.call("fourier.fft.c128", [Address(x, 0), Address(out, 0), *numbers])
    function = b.function("made", [x], [out], [n])
    given, made = np.ones(8, complex), np.zeros(8, complex)
    assert told(function, [given], [made], [4]) == ""
    assert "index 8" in told(function, [given], [made], [5])


def test_what_leaves_python_checks_nothing(tmp_path: Path) -> None:
    x = np.arange(6.0)
    f = wg.function(lambda x: wg.cumsum(x) * 2.0)
    f(x)
    f.export(tmp_path / "sums.o", x)
    assert b"wengert_astray" not in (tmp_path / "sums.o").read_bytes()


FULL = ("a scan", "a loop of unknown length")  # programs that need all their rows


@pytest.mark.parametrize("name", PROGRAMS)
def test_right_programs_run_as_ever(name: str) -> None:
    f = PROGRAMS[name]
    signature = [wg.TensorSpec((None, 20), float)]
    compiled = wg.function(f, input_signature=signature)
    squares = wg.grad(lambda x: wg.sum(f(x) ** 2))
    gradient = wg.function(squares, input_signature=signature)
    for rows in (20, 3, 2, 1, 0) if name not in FULL else (20,):
        x = np.random.default_rng(5).random((rows, 20))
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-10)
        np.testing.assert_allclose(gradient(x), squares(x), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(wg.grad(lambda x: wg.sum(compiled(x) ** 2))(x), squares(x), rtol=1e-8, atol=1e-12)


def test_code_that_checks_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    b = Builder()
    x, out, n = b.array("f64", "in"), b.array("f64", "out"), b.reg("i64")
    b.extent(x, n)
    with b.loop(0, n) as i:
        b.store(out, 0, b.load(x, i))
    function = b.function("made", [x], [out], [n])
    checked = module_text(function, "entry")
    monkeypatch.setenv(accesses.VARIABLE, "0")
    assert module_text(function, "entry") != checked
    assert "wengert_astray" not in module_text(function, "entry")
