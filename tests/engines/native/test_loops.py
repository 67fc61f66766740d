"""The loop language: printed, verified, interpreted and compiled, the last two with the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import wengert as wg
from tests.support import naive_loops as naive
from wengert._engines.native.ir.builder import Builder
from wengert._engines.native.ir.loops import OPS, Alloc, Function, Let, Load, Return, Select, Store, verify
from wengert._engines.native.llvm import arrays, jit, target, vectormath
from wengert._engines.native.llvm.codegen import module_text
from wengert._engines.native.llvm.values import constant
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._engines.native.run import entry
from wengert._engines.native.run.callable import CALLABLE
from wengert._passes import optimise


def compiled(function: Function, inputs: list[Any], outputs: list[Any], sizes: Any = ()) -> int:
    """Runs a function as machine code; its status."""
    loaded = jit.load(module_text(function, "entry"), "entry", table=CALLABLE)
    return entry.called(loaded, inputs, outputs, sizes)[0]


def both_ways(function: Function, inputs: list[Any], outputs: list[Any], sizes: Any = ()) -> list[Any]:
    """The results of the naive interpreter, which machine code is compared with, to the last bit."""
    verify(function)
    copies = [x.copy() for x in outputs]
    status, found = naive.run(function, inputs, copies, [*sizes])
    assert compiled(function, inputs, outputs, sizes) == status
    for ours, theirs in zip(outputs, found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    return found


def running_total() -> Function:
    b = Builder()
    x, y, n = b.array("f64", "in"), b.array("f64", "out"), b.reg("i64")
    total = b.var("f64", 0.0)
    with b.loop(0, n) as i:
        b.set(total, b.let("add", "f64", b.get(total), b.load(x, i)))
        b.store(y, i, b.get(total))
    return b.function("running_total", [x], [y], [n])


def test_printed() -> None:
    assert str(running_total()) == (
        "function running_total(in1: f64[], out2: f64[]; %3)\n"
        "  $4 = 0.0\n"
        "  for %5 = 0 .. %3\n"
        "    %6: f64 = $4\n"
        "    %7: f64 = in1[%5]\n"
        "    %8: f64 = add.f64 %6, %7\n"
        "    $4 = %8\n"
        "    %9: f64 = $4\n"
        "    out2[%5] = %9"
    )


def test_a_loop_over_a_size_that_the_call_tells() -> None:
    x, y = np.arange(7.0), np.zeros(7)
    both_ways(running_total(), [x], [y], [7])
    np.testing.assert_array_equal(y, np.cumsum(x))


def test_branches_while_loops_and_arrays_that_grow() -> None:
    """Collatz sequences: kept in an array that grows, then copied out backwards."""
    b = Builder()
    start, out, count = b.array("i64", "in"), b.array("i64", "out"), b.array("i64", "out")
    kept, n = b.grown("i64"), b.var("i64", 0)
    number = b.var("i64", b.load(start, 0))

    def iteration() -> None:
        now, place = b.get(number), b.get(n)
        b.reserve(kept, b.add(place, 1))
        b.store(kept, place, now)
        b.set(n, b.add(place, 1))
        with b.when(b.let("eq", "i64", b.remainder(now, 2), 0)) as branch:
            b.set(number, b.divided(now, 2))
        with b.inside(branch.other):
            b.set(number, b.add(b.mul(now, 3), 1))

    b.repeat(lambda: b.let("ne", "i64", b.get(number), 1), iteration)
    steps = b.get(n)
    with b.loop(0, steps) as i:
        b.store(out, b.sub(b.sub(steps, 1), i), b.load(kept, i))
    b.store(count, 0, steps)
    function = b.function("collatz", [start], [out, count], [])
    found, length = both_ways(function, [np.array([27])], [np.zeros(200, np.int64), np.zeros(1, np.int64)])
    assert length[0] == 111
    assert found[:3].tolist() == [2, 4, 8]
    assert found[110] == 27


def test_exchanged_arrays() -> None:
    """Two arrays that change their roles in each iteration: the heat equation by one of them from the other."""
    b = Builder()
    x, out = b.array("f64", "in"), b.array("f64", "out")
    now, then = b.alloc("f64", 5000), b.alloc("f64", 5000)
    b.copy(now, 0, x, 0, 5000)
    b.fill(then, 0, 5000)
    with b.loop(0, 9):
        with b.loop(1, 4999) as i:
            sides = b.let("add", "f64", b.load(now, b.sub(i, 1)), b.load(now, b.add(i, 1)))
            b.store(then, i, b.let("mul", "f64", sides, 0.5))
        b.swap(now, then)
    b.copy(out, 0, now, 0, 5000)
    both_ways(b.function("heat", [x], [out], []), [np.random.default_rng(1).random(5000)], [np.zeros(5000)])


def test_a_function_ends_early_with_a_status() -> None:
    b = Builder()
    x, out = b.array("f64", "in"), b.array("f64", "out")
    with b.when(b.let("lt", "f64", b.load(x, 0), 0.0)):
        b.leave(3)
    b.store(out, 0, 1.0)
    function = b.function("guarded", [x], [out], [])
    assert compiled(function, [np.array([-1.0])], [np.zeros(1)]) == 3
    assert compiled(function, [np.array([1.0])], [np.zeros(1)]) == 0
    assert naive.run(function, [np.array([-1.0])], [np.zeros(1)])[0] == 3


@pytest.mark.parametrize("type_", ["f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"])
def test_conversions_between_all_types(type_: str) -> None:
    for other in naive.NUMPY:
        b = Builder()
        x, out = b.array(type_, "in"), b.array(other, "out")
        with b.loop(0, 4) as i:
            value = b.load(x, i)
            b.store(out, i, b.convert(other, type_, value))
        values = np.array([0, 1, 5, 100], naive.NUMPY[type_])
        both_ways(b.function("convert", [x], [out], []), [values], [np.zeros(4, naive.NUMPY[other])])


NUMBERS = st.one_of(st.floats(-4, 4, width=32), st.sampled_from([0.0, -0.0, float("inf"), float("nan")]))
SAME_BITS = ["add", "sub", "mul", "div", "neg", "abs", "sqrt", "floor", "ceil", "trunc", "rint", "copysign"]


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_random_programs(data: st.DataObject) -> None:
    """Random operations on registers and arrays, in loops and branches."""
    b = Builder()
    x, out = b.array("f64", "in"), b.array("f64", "out")
    known: list[Any] = [b.load(x, 0), b.load(x, 1), 0.5]
    carried = b.var("f64", 1.0)

    def operations(count: int) -> None:
        for _ in range(count):
            op = data.draw(st.sampled_from(SAME_BITS))
            known.append(b.let(op, "f64", *[data.draw(st.sampled_from(known)) for _ in range(OPS[op].arity)]))
        cond = b.let(data.draw(st.sampled_from(["lt", "ge", "eq", "ne"])), "f64", known[-1], known[-2])
        known.append(b.select("f64", cond, known[-1], known[0]))
        with b.when(cond) as branch:
            b.set(carried, b.let("add", "f64", b.get(carried), known[-1]))
        with b.inside(branch.other):
            b.set(carried, b.let("mul", "f64", b.get(carried), 0.5))

    operations(data.draw(st.integers(1, 6)))
    outside = len(known)
    with b.loop(0, 5) as i:
        known.append(b.load(x, i))
        operations(data.draw(st.integers(1, 6)))
        b.store(out, i, b.get(carried))
        del known[outside:]  # what a loop makes is not known behind it
    values = np.array(data.draw(st.lists(NUMBERS, min_size=5, max_size=5)))
    both_ways(b.function("random", [x], [out], []), [values], [np.zeros(5)])


# -- what the verifier finds ------------------------------------------------------------------------------------------


def broken(change: Any) -> Function:
    b = Builder()
    x, out = b.array("f64", "in"), b.array("f64", "out")
    change(b, x, out)
    return b.function("broken", [x], [out], [])


def _read_outside(b: Builder, x: Any, out: Any) -> None:
    with b.loop(0, 3) as i:
        value = b.load(x, i)
    b.store(out, 0, value)


def _set_twice(b: Builder, x: Any, out: Any) -> None:
    value = b.load(x, 0)
    b.emit(Load(value, x, 1))


WRONG: dict[str, tuple[Any, str]] = {
    "read behind its loop": (_read_outside, "not known"),
    "set twice": (_set_twice, "set twice"),
    "wrong type": (lambda b, x, out: b.store(out, 0, b.let("eq", "f64", b.load(x, 0), 0.0)), "bool where f64"),
    "unknown operation": (lambda b, x, out: b.emit(Let(b.reg("f64"), "frobnicate", (1.0,), "f64")), "unknown"),
    "too many operands": (lambda b, x, out: b.emit(Let(b.reg("f64"), "neg", (1.0, 2.0), "f64")), "does not take"),
    "an operand written": (lambda b, x, out: b.emit(Store(x, 0, 1.0)), "not to be written"),
    "an array not there": (lambda b, x, out: b.load(b.array("f64", "heap"), 0), "before it is there"),
    "a fraction as an index": (lambda b, x, out: b.load(x, 0.5), "no i64"),
    "a number as a condition": (lambda b, x, out: b.emit(Select(b.reg("f64"), 1, 1.0, 2.0)), "no bool"),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_verifier_refuses(name: str) -> None:
    change, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        verify(broken(change))


def test_the_verifier_admits_an_end() -> None:
    verify(broken(lambda b, x, out: b.emit(Return(0))))


# -- code -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [(1, "i8", "1"), (255, "u8", "-1"), (-1, "i64", "-1"), (2**63, "u64", str(-(2**63))), (True, "bool", "true"),
     (1.0, "f64", "0x3FF0000000000000"), (0.1, "f32", "0x3FB99999A0000000")],
)  # fmt: skip
def test_constants_as_llvm_reads_them(value: Any, type_: str, text: str) -> None:
    assert constant(value, type_) == text


def test_sums_are_vectors_of_the_machines_width() -> None:
    """The loop of a sum of squares works on whole registers, several of them."""
    b = Builder()
    x, out, n = b.array("f64", "in"), b.array("f64", "out"), b.reg("i64")
    total = b.var("f64", 0.0)
    with b.loop(0, n) as i:
        value = b.load(x, i)
        b.set(total, b.let("sum", "f64", b.get(total), b.let("mul", "f64", value, value)))
    b.store(out, 0, b.get(total))
    text = jit.assembly(module_text(b.function("squares", [x], [out], [n]), "entry"))
    wide = {512: "%zmm", 256: "%ymm", 128: "%xmm"}
    if not target.is_x86():
        pytest.skip("the names of x86's registers are looked for")
    registers = {word.strip("(),") for word in text.split() if word.startswith(wide[target.vector_bits()])}
    assert len(registers) >= 4, text


def test_short_loops_in_loops_are_written_out_in_long_modules_too() -> None:
    """LLVM makes vectors of innermost loops only, and unrolls loops by itself only where there is little code."""
    b = Builder()
    x, out, other, n = b.array("f64", "in"), b.array("f64", "out"), b.array("f64", "other"), b.reg("i64")
    with b.loop(0, n) as row:
        total = b.var("f64", 0.0)
        with b.loop(0, 2) as column:
            value = b.load(x, b.add(b.mul(row, 2), column))
            b.set(total, b.let("sum", "f64", b.get(total), b.let("mul", "f64", value, value)))
        b.store(out, row, b.let("sqrt", "f64", b.get(total)))
    with b.loop(0, n) as i:
        value = b.load(x, i)
        for k in range(jit.SHORT):
            value = b.let("add", "f64", b.let("mul", "f64", value, value), 0.5 + k)
        b.store(other, i, value)
    text = jit.assembly(module_text(b.function("rows", [x], [out, other], [n]), "entry"))
    if not target.is_x86():
        pytest.skip("the names of x86's instructions are looked for")
    assert "sqrtpd" in text, text


@pytest.mark.parametrize(("rows", "columns", "is_written_out"), [
    (None, 2, True), (None, 7, True), (None, 8, False), (None, 16, False), (16, 2, True), (15, 2, False), (5, 2, False),
    (4, 2, True),
])  # fmt: skip
def test_short_loops_are_written_out_in_long_ones(rows: int | None, columns: int, is_written_out: bool) -> None:
    """Written out, a loop of a whole vector's iterations is code without vectors, and so is one in a short loop."""
    b = Builder()
    x, out, n = b.array("f64", "in"), b.array("f64", "out"), rows or b.reg("i64")
    with b.loop(0, n) as row, b.loop(0, columns) as column:
        place = b.add(b.mul(row, columns), column)
        b.store(out, place, b.let("sqrt", "f64", b.load(x, place)))
    text = module_text(b.function("rows", [x], [out], [] if rows else [n]), "entry")
    assert ("llvm.loop.unroll.full" in text) == is_written_out


@pytest.mark.parametrize("kind", ["elements apart", "a product", "places that are read"])
def test_short_loops_that_fill_no_vectors_are_written_out(kind: str) -> None:
    """Also those of eight and more, and in short ones: what lies apart, or needs the iteration before, is no vector."""
    is_read = kind == "places that are read"
    b = Builder()
    x, at, out, n = b.array("f64", "in"), b.array("i64", "in"), b.array("f64", "out"), b.reg("i64")
    with b.loop(0, 5 if is_read else n) as row:
        total = b.var("f64", 1.0)
        with b.loop(0, 2 if is_read else 10) as column:
            place = b.add(b.mul(row, 10), column)
            if kind == "elements apart":
                b.store(out, b.mul(place, 3), b.load(x, place))
            elif kind == "a product":
                b.set(total, b.let("mul", "f64", b.get(total), b.load(x, place)))
            else:
                b.store(out, b.load(at, place), b.load(x, place))
        b.store(out, row, b.get(total))
    text = module_text(b.function("rows", [x, at], [out], [n]), "entry")
    assert "llvm.loop.unroll.full" in text


@pytest.mark.parametrize(("count", "op", "is_plain"), [
    (3, "sqrt", True), (9, "sqrt", True), (15, "sqrt", True), (8, "sqrt", False), (10, "sqrt", False), (17, "sqrt", False),
    (9, "sin", False), (None, "sqrt", False),
])  # fmt: skip
def test_odd_numbers_of_few_iterations_are_no_vectors(count: int | None, op: str, is_plain: bool) -> None:
    """LLVM would take half as long again for a vector with masks, which functions alone are worth."""
    b = Builder()
    x, out, n = b.array("f64", "in"), b.array("f64", "out"), count or b.reg("i64")
    with b.loop(0, n) as i:
        b.store(out, i, b.let(op, "f64", b.load(x, i)))
    text = module_text(b.function("few", [x], [out], [] if count else [n]), "entry")
    assert ('"llvm.loop.vectorize.enable", i1 false' in text) == is_plain


@pytest.mark.parametrize("count", [arrays.FEW_CELLS, arrays.FEW_CELLS + 1])
def test_addresses_that_change_are_variables_where_there_are_few(count: int) -> None:
    """LLVM holds variables in registers; what is read from a table it reads again after each write."""
    b = Builder()
    x, out, n = b.array("f64", "in"), b.array("f64", "out"), b.reg("i64")
    for _ in range(count):
        made = b.array("f64", "heap")
        b.emit(Alloc(made, n))
        b.store(made, 0, b.load(x, 0))
        b.store(out, 0, b.load(made, 0))
    text = module_text(b.function("swapping", [x], [out], [n]), "entry")
    assert ("%cells" in text) == (count > arrays.FEW_CELLS)
    assert text.count("@wengert_drop(ptr %") >= (1 if count > arrays.FEW_CELLS else count)


PAIR = 2 if target.vector_bits() == 512 else 1  # as many as leave no iteration to calls of its own


@pytest.mark.parametrize(("size", "in_a_row", "side_by_side"), [
    (None, 3, 4), (None, 1, PAIR), (7, 3, 1), (15, 1, 1), (96, 1, 1), (100, 1, PAIR),
])  # fmt: skip
def test_vectors_lie_side_by_side_where_functions_wait(size: int | None, in_a_row: int, side_by_side: int) -> None:
    """Vector code calls a function once for each vector of iterations that it computes at a time."""
    b = Builder()
    x, out, n = b.array("f64", "in"), b.array("f64", "out"), size or b.reg("i64")
    with b.loop(0, n) as i:
        values = [b.load(x, i), b.load(x, i)]
        for _ in range(in_a_row):
            values[0] = b.let("sin", "f64", values[0])
        values[1] = b.let("cos", "f64", values[1])
        b.store(out, i, b.let("add", "f64", *values))
    text = module_text(b.function("waiting", [x], [out], [] if size else [n]), "entry")
    assert f'"llvm.loop.interleave.count", i32 {side_by_side}}}' in text


@pytest.mark.skipif(not vectormath.variants("tanh", "f64") and not target.is_x86(), reason="wants vector functions")
@pytest.mark.parametrize("size", [10, 12, 16, 20])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_steps_of_few_elements_call_vector_functions(size: int, dtype: str) -> None:
    """Of loops that it writes out, and of arrays whose memory is swapped, LLVM made calls of single numbers."""
    rows = np.random.default_rng(0).normal(size=(5, size)).astype(dtype)

    def steps(x: Any) -> Any:
        return wg.scan(lambda c, row: (wg.tanh(c * 0.5 + row), None), wg.zeros(size, dtype), x)[0]

    function = lowered(ready(optimise(wg.function(steps).trace(rows))), "f").function
    assert "callq\ttanh" not in jit.assembly(module_text(function, "entry"))
    expected = np.zeros(size, dtype)
    for row in rows:
        expected = np.tanh(expected * np.asarray(0.5, dtype) + row)
    tolerance = 8 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(wg.function(steps)(rows), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("behind", "stride", "is_apart"), [(0, 1, True), (1, 1, False), (0, 0, False)])
def test_llvm_is_told_which_iterations_need_no_others(behind: int, stride: int, is_apart: bool) -> None:
    b = Builder()
    x, out = b.array("f64", "in"), b.array("f64", "out")
    with b.loop(2, 40) as i:
        read = b.load(out, b.sub(i, behind) if behind else i)
        b.store(out, b.mul(i, stride) if not stride else i, b.let("add", "f64", read, b.load(x, i)))
    function = b.function("steps", [x], [out], [])
    assert ("parallel_accesses" in module_text(function, "entry")) == is_apart
    rng = np.random.default_rng(0)
    both_ways(function, [rng.normal(size=40)], [rng.normal(size=40)])


@pytest.mark.skipif(not target.is_amd(), reason="gathers are slow on AMD's processors")
@pytest.mark.parametrize("rows", [7, 1000])
def test_gathers_are_for_few_iterations_with_much_to_do(rows: int) -> None:
    """Elements that lie apart are moved one by one, but where else there would be no vectors at all."""
    b = Builder()
    x, out, n = b.array("f64", "in"), b.array("f64", "out"), b.reg("i64")
    places = b.array("i64", "in")
    with b.loop(0, n) as row, b.loop(0, rows) as i:
        place = b.add(b.mul(row, rows), i)
        b.store(out, place, b.let("sin", "f64", b.load(x, b.load(places, place))))
    text = jit.assembly(module_text(b.function("apart", [x, places], [out], [n]), "entry"))
    assert ("vgather" in text) == (rows == 7), text


def repeated(count: int, by: int) -> Callable[[Any], Any]:
    return lambda x: wg.pad(wg.repeat(x, by)[:count], (8, 4))


def scan_of_products(x: Any) -> Any:
    return wg.sum(wg.jvp(lambda x: wg.associative_scan(lambda a, b: a * b, x), (x,), (wg.ones_like(x),))[1])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8"])
@pytest.mark.parametrize("by", [2, 4, 6, 8, 64])
@pytest.mark.parametrize("size", [3, 20, 69, 271])
def test_loops_whose_iterations_share_places(dtype: str, by: int, size: int) -> None:
    """LLVM with assertions, as llvmlite has it, aborted: its two estimates of what vectors cost differed."""
    x = np.arange(size).astype(dtype)
    f = repeated(by * size - 1, by)
    np.testing.assert_array_equal(wg.function(f)(x), np.pad(np.repeat(x, by)[:-1], (8, 4)))


def test_scans_do_not_end_the_process() -> None:
    """LLVM aborted on AMD's processors, where loops with places found by division gathered nothing."""
    x = np.linspace(0.5, 1.5, 65, dtype=np.float32)
    products = np.cumprod(x, dtype=np.float64)
    found = wg.function(scan_of_products)(x)
    np.testing.assert_allclose(found, np.sum(products * np.cumsum(1 / x)), rtol=1e-5)


@pytest.mark.parametrize(("by", "times", "is_hidden"), [(4, 1, True), (4, 6, True), (4, 8, False), (3, 1, False)])
def test_quotients_that_iterations_share_are_hidden(by: int, times: int, is_hidden: bool) -> None:
    b = Builder()
    x, out, n = b.array("f32", "in"), b.array("f32", "out"), b.reg("i64")
    with b.loop(0, n) as i:
        b.store(out, i, b.load(x, b.let("div", "i64", b.add(b.mul(i, times), 3), by)))
    assert ("externally_initialized" in module_text(b.function("shared", [x], [out], [n]), "entry")) == is_hidden


def test_shares_in_short_loops_are_not_hidden() -> None:
    """LLVM writes them out and finds the quotients out; what they come to may be one place after another."""
    b = Builder()
    x, out, n = b.array("f32", "in"), b.array("f32", "out"), b.reg("i64")
    with b.loop(0, n) as i, b.loop(0, 2) as j:
        place = b.add(b.mul(i, 2), j)
        b.store(out, place, b.load(x, b.let("div", "i64", place, 2)))
    assert "externally_initialized" not in module_text(b.function("short", [x], [out], [n]), "entry")


def test_loops_that_nobody_reads_leave_the_rest_compiled(caplog: pytest.LogCaptureFixture) -> None:
    def program(x: Any, v: Any) -> Any:
        wg.map(lambda s: wg.sum((v * x).at[1].set(s)), wg.stack([x]))  # its last write may raise: the loop stays
        return wg.concatenate([x + v, v]).reshape(2, -1)

    x, v = np.array(0.7), np.array([0.3, 0.4, 0.5])
    found = wg.function(program)(x, v)
    assert not caplog.records, caplog.text
    np.testing.assert_array_equal(found, [x + v, v])


@pytest.mark.parametrize(("type_", "op", "count", "is_plain"), [
    ("i8", "mul", 9, True), ("u8", "mul", 33, True), ("i8", "mul", 4, False), ("i8", "add", 33, False), ("i16", "mul", 33, False),
])  # fmt: skip
def test_no_vectors_of_rows_of_bytes(type_: str, op: str, count: int, is_plain: bool) -> None:
    """LLVM took seconds for sums of products of bytes over a middle axis, whose bytes it shuffled."""
    b = Builder()
    x, out = b.array(type_, "in"), b.array(type_, "out")
    with b.loop(0, 129) as i, b.loop(0, count) as j:
        term = b.let(op, type_, b.load(x, b.add(b.mul(i, count), j)), 3)
        b.store(out, j, b.let("add", type_, b.load(out, j), term))
    text = module_text(b.function("rows", [x], [out], []), "entry")
    assert ('"llvm.loop.vectorize.enable", i1 false' in text) == is_plain
