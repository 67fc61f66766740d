"""Long functions in pieces: the same results, one function for what is alike, and time to compile that is bounded."""

from __future__ import annotations

import copy
import re
import signal
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import wengert as wg
import wengert.numpy as wnp
from tests.support import naive_loops as naive
from tests.support.modes import graph_of
from tests.support.native_checks import noted_modules, numpy_only
from wengert._engines.native.ir import accesses, sharing, stretches
from wengert._engines.native.ir.builder import Builder
from wengert._engines.native.ir.loops import (
    Apply,
    For,
    Function,
    Operand,
    Status,
    Store,
    function_text,
    pieces_of,
    verify,
)
from wengert._engines.native.ir.renaming import walk
from wengert._engines.native.llvm import call_rows, codegen, jit, target
from wengert._engines.native.lower import routines
from wengert._engines.native.lower.blocks import kind_of
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan import fission, schedule
from wengert._engines.native.plan.prepare import ready
from wengert._engines.native.run import entry
from wengert._engines.native.run.callable import CALLABLE
from wengert._passes import optimise

X = np.linspace(0.1, 2.0, 12)
M = np.random.default_rng(3).normal(size=(6, 5))


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can be a piece is one, in functions of any length, with nothing kept from before."""
    monkeypatch.setenv("WENGERT_CACHE_DIR", "")
    for name in ("LONG", "ALONE", "FEWEST"):
        monkeypatch.setattr(sharing, name, 1)


@pytest.fixture
def cut_up(everywhere: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Straight code is cut, too, however short and however different."""
    for name, value in {"MUCH": 1, "LEAST": 2, "ENOUGH": 2, "MOST": 9, "AGAIN": 0}.items():
        monkeypatch.setattr(stretches, name, value)


@pytest.fixture
def tabulated(everywhere: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of pieces are in tables, however few they are and however different."""
    monkeypatch.setattr(call_rows, "LEAST", 1)
    monkeypatch.setattr(call_rows, "ALIKE", 1)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many calls each table has that is written from here on."""
    found: list[int] = []
    original = call_rows.Table.write

    def noting(table: call_rows.Table, steps: list[call_rows.Step]) -> None:
        found.append(len(steps))
        original(table, steps)

    monkeypatch.setattr(call_rows.Table, "write", noting)
    return found


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return noted_modules(monkeypatch)


# -- functions of loops -----------------------------------------------------------------------------------------------


# each access names its node and line, so that no loop is like another
unchecked = pytest.mark.skipif(accesses.is_on(), reason="code that checks its accesses has no pieces")


def steps(factors: list[float], starts: list[int], type_: str = "f64") -> tuple[Function, Builder]:
    """Loops that are alike but for an array, a factor and where they read; each adds to one variable, too."""
    b = Builder()
    x, y = b.array(type_, "in"), b.array(type_, "out")
    total = b.var(type_, 0.0)
    held = x
    for factor, start in zip(factors, starts, strict=True):
        made = b.local(type_, 8)
        with b.loop(0, 8) as i:
            value = b.let("mul", type_, b.load(held, b.add(i, start) if held is x else i), factor)
            b.store(made, i, value)
            b.set(total, b.let("add", type_, b.get(total), value))
        held = made
    with b.loop(0, 8) as i:
        b.store(y, i, b.load(held, i))
    b.store(y, 8, b.get(total))
    return b.function("steps", [x], [y], []), b


def results(function: Function) -> Any:
    verify(function)
    y = np.zeros(9)
    naive.run(function, [np.arange(1.0, 20.0)], [y])
    return y


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("factors", [[2.0], [2.0, 2.0, 2.0], [2.0, 0.5, -1.0, 3.0], [1.5] * 20], ids=len)
def test_loops_that_are_alike_are_one_piece(factors: list[float]) -> None:
    function, b = steps(factors, [*range(1, len(factors) + 1)])
    before, wanted = copy.deepcopy(function), results(function)
    sharing.shared(function, b.reg)
    assert [type(item) for item in walk(function.body)].count(Apply) == len(factors) + 1
    # the first step reads elsewhere than the others, and the last loop copies
    assert len(pieces_of(function.body)) == min(len(factors), 2) + 1
    np.testing.assert_array_equal(results(function), wanted)
    for form in (before, function):
        y = np.zeros(9)
        loaded = jit.load(codegen.module_text(form, "entry"), "entry", table=CALLABLE)
        assert entry.called(loaded, [np.arange(1.0, 20.0)], [y], ())[0] == 0
        np.testing.assert_array_equal(y, wanted)


@pytest.mark.usefixtures("tabulated")
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_calls_in_a_table_are_given_what_those_in_code_are(type_: str, tables: list[int]) -> None:
    factors = [2.0, -0.5, 3.0, 1 / 3, -0.0, 1e-40, np.inf, 5.0]
    function, b = steps(factors, [*range(1, 1 + len(factors))], type_)
    x, found = np.arange(1.0, 20.0, dtype="float32" if type_ == "f32" else "float64"), list[Any]()
    for _ in range(2):
        y = np.zeros(9, x.dtype)
        loaded = jit.load(codegen.module_text(function, "entry"), "entry", table=CALLABLE)
        assert entry.called(loaded, [x], [y], ())[0] == 0
        found.append(y)
        sharing.shared(function, b.reg)
    np.testing.assert_array_equal(*found)
    assert accesses.is_on() or tables == [len(factors) + 1]


@pytest.mark.usefixtures("everywhere")
def test_text_tells_the_pieces_and_what_they_are_run_with() -> None:
    function, b = steps([2.0, 0.5, 3.0], [1, 2, 3])
    sharing.shared(function, b.reg)
    text = function_text(function)
    assert len(re.findall(r"^  apply \d+\(.*\)$", text, re.MULTILINE)) == 4
    assert len(re.findall(r"^piece \d+\(.*\)$", text, re.MULTILINE)) == 3
    assert re.search(r"^  apply 1\(.*0\.5.*\)$", text, re.MULTILINE)


def test_short_functions_stay_whole() -> None:
    function, b = steps([2.0, 0.5, 3.0], [1, 2, 3])
    before = function_text(function)
    sharing.shared(function, b.reg)
    assert function_text(function) == before


def test_in_functions_that_llvm_leaves_alone_short_loops_are_pieces_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "LONG", 1)
    monkeypatch.setattr(sharing, "ALONE", 16)  # more than the instructions of each of the two loops
    for many, pieces in ((1, 2), (1_000, 0)):
        monkeypatch.setattr(sharing, "MANY", many)
        function, b = steps([2.0], [1])
        sharing.shared(function, b.reg)
        assert len(pieces_of(function.body)) == pieces


def test_many_loops_that_are_like_no_other_are_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "LONG", 1)
    for lone, pieces in ((9, 0), (8, 9)):
        monkeypatch.setattr(sharing, "LONE", lone)
        b = Builder()
        x, y = b.array("f64", "in"), b.array("f64", "out")
        for length in range(1, 10):
            with b.loop(0, length) as i:
                b.store(y, i, b.load(x, i))
        function = b.function("copies", [x], [y], [])
        sharing.shared(function, b.reg)
        assert len(pieces_of(function.body)) == pieces
        np.testing.assert_array_equal(results(function), np.arange(1.0, 10.0))


def test_stretches_that_are_no_pieces_stay_straight(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"MUCH": 1, "LEAST": 2, "ENOUGH": 4, "MOST": 4, "AGAIN": 0}.items():
        monkeypatch.setattr(stretches, name, value)
    monkeypatch.setattr(sharing, "LONG", 1)
    b = Builder()
    x, y = b.array("f64", "in"), b.array("f64", "out")
    total = b.load(x, 0)
    for k, op in enumerate(("add", "sub", "mul", "div", "maximum", "minimum", "add", "mul", "sub")):
        total = b.let(op, "f64", total, b.load(x, k + 1))
        b.store(y, k, total)
    with b.when(b.let("lt", "f64", total, -100.0)):
        b.leave(Status.LINALG)
    function = b.function("straight", [x], [y], [])
    wanted = results(function)
    sharing.shared(function, b.reg)
    assert not any(type(item) in (For, Apply) for item in function.body)
    np.testing.assert_array_equal(results(function), wanted)


def test_of_what_never_runs_there_is_nothing() -> None:
    b = Builder()
    y = b.array("f64", "out")
    with b.when(False) as branch:
        b.leave(Status.REFUSED)
    with b.inside(branch.other):
        b.store(y, 0, 2.0)
    function = b.function("constant", [], [y], [])
    assert [type(item) for item in function.body] == [Store]


@pytest.mark.usefixtures("everywhere")
def test_a_piece_may_not_write_to_an_operand() -> None:
    function, b = steps([2.0, 0.5, 3.0], [1, 2, 3])
    sharing.shared(function, b.reg)
    run = [item for item in function.body if type(item) is Apply][1]
    run.arrays = (function.inputs[0],) * len(run.arrays)  # type: ignore[assignment]
    with pytest.raises(ValueError, match="an operand is not to be written"):
        verify(function)


@pytest.mark.usefixtures("everywhere")
def test_arrays_that_others_use_are_not_made_inside() -> None:
    """A heap array is made before the piece that fills it, and what is used later is not its own."""
    b = Builder()
    x, y = b.array("f64", "in"), b.array("f64", "out")
    made = b.alloc("f64", 4)
    limits: list[Operand] = [4, 3]
    for limit in limits:
        with b.loop(0, limit) as i:
            b.store(made, i, b.let("add", "f64", b.load(x, i), b.load(x, i)))
    with b.loop(0, 4) as i:
        b.store(y, i, b.load(made, i))
    function = b.function("held", [x], [y], [])
    sharing.shared(function, b.reg)
    verify(function)
    assert len(pieces_of(function.body)) == 3  # extents decide what code LLVM makes: they are no arguments
    found = np.zeros(4)
    naive.run(function, [np.arange(4.0)], [found])
    np.testing.assert_array_equal(found, [0.0, 2.0, 4.0, 6.0])


@pytest.mark.usefixtures("everywhere")
@unchecked
@pytest.mark.parametrize("count", [3, 70])  # few arrays that move, and a table of them: then calls are in one, too
@pytest.mark.parametrize("limit", [100, 8])
def test_arrays_that_grow_or_are_swapped_in_a_piece_are_those_outside(
    count: int, limit: int, tables: list[int]
) -> None:
    """Each loop appends to an array of its own, which starts without room, and swaps two that all have; one that finds
    too large a number ends the function."""
    b = Builder()
    x, y = b.array("f64", "in"), b.array("f64", "out")
    pair = [b.alloc("f64", 1) for _ in range(2)]
    for k, array in enumerate(pair):
        b.store(array, 0, float(k))
    grown = [b.array("f64", "grown") for _ in range(count)]
    for number, array in enumerate(grown):
        with b.loop(0, 3 + number % 2) as i:
            b.poll()
            b.reserve(array, b.add(i, 1))
            value = b.let("add", "f64", b.load(x, i), b.load(pair[0], 0))
            b.store(array, i, value)
            b.swap(*pair)
            with b.when(b.let("gt", "f64", value, float(limit))):
                b.leave(Status.INDEX)
    for number, array in enumerate(grown):
        b.store(y, number, b.load(array, 2))
    function = b.function("moving", [x], [y], [])
    before = copy.deepcopy(function)
    sharing.shared(function, b.reg)
    verify(function)
    assert [len(piece.moved) for piece in pieces_of(function.body)] == [3]  # numbers of steps are arguments
    x = np.array([3.0, 4.0, 5.0, 9.0])
    found: list[Any] = []
    for form in (before, function):
        y = np.zeros(count)
        status = naive.run(form, [x], [y])[0]
        found.append((status, y))
        y = np.zeros(count)
        loaded = jit.load(codegen.module_text(form, "entry"), "entry", table=CALLABLE)
        found.append((entry.called(loaded, [x], [y], ())[0], y))
    for status, y in found:
        assert status == (Status.OK if limit == 100 else Status.INDEX)
        np.testing.assert_array_equal(y, found[0][1])
    assert tables == [count] * (count >= call_rows.LEAST)


@pytest.mark.usefixtures("everywhere")
@unchecked
def test_a_want_of_memory_in_a_piece_tells_the_array_outside() -> None:
    b = Builder()
    y = b.array("f64", "out")
    grown = [b.array("f64", "grown") for _ in range(3)]
    counts: list[Operand] = [1, 1, 2**59]
    for array, count in zip(grown, counts, strict=True):
        with b.loop(0, 1) as i:
            b.poll()
            b.reserve(array, b.add(i, count))
    function = b.function("lacking", [], [y], [])
    sharing.shared(function, b.reg)
    assert len(pieces_of(function.body)) == 1
    loaded = jit.load(codegen.module_text(function, "entry"), "entry", table=CALLABLE)
    assert entry.called(loaded, [], [np.zeros(1)], ()) == (Status.MEMORY, grown[2].number)


# -- programs ---------------------------------------------------------------------------------------------------------


def rolled(x: Any) -> Any:
    for k in range(4):
        x = 0.5 * x + 0.1 * wnp.roll(x, 1 + k % 2)
    return wg.sum(x * x)


def until(x: Any) -> Any:
    for k in (3.0, 4.0, 5.0):
        x = wg.while_loop(lambda i, v: i < 7, lambda i, v, k=k: (i + 1, v + wg.sin(v) / k), (0, x))[1]
    return wg.sum(x)


def branches(x: Any) -> Any:
    for limit in (0.5, 1.0, 1.5):
        x = wg.cond(wg.sum(x) > limit, lambda v: wg.exp(-v), lambda v: v * v, x)
    return wg.sum(x)


def chosen(x: Any) -> Any:
    for k in range(1, 4):
        x = wg.where(x > 1.0 / k, wg.sort(x), wg.cumsum(x) * 0.1)
    return wg.sum(x)


def scattered(x: Any) -> Any:
    for k in range(3):
        x = x.at[k : k + 4].add(0.3 * x[4:8])
    return wg.sum(x**3)


def parts(x: Any) -> Any:
    """Reductions of several sizes, with rows that threads share."""
    y = x[:, None] * x
    for _ in range(3):
        y = wg.nn.softmax(y @ y.T * 0.1, axis=-1) + y - wg.max(y, axis=0)
    return wg.sum(y)


def numbers(x: Any) -> Any:
    """Straight code of floats, integers and booleans."""
    a, b, n = x[0], x[1], wg.argmax(x)
    for k in range(5):
        a, b = wg.where(a > b, wg.sin(a) * b, a - b), wg.where(n > k, a * 0.3, wg.exp(-b * b))
        n = wg.where(b > 0.2, n + k, n - 1)
    return a * b * n


def matrices(x: Any) -> Any:
    p = wg.reshape(x[:9], (3, 3))
    for _ in range(4):
        p = p @ p.T * 0.1 + wg.linalg.inv(p + 5.0 * np.eye(3))
    return wg.linalg.det(p) + wg.sum(p)


PROGRAMS: list[Callable[[Any], Any]] = [rolled, until, branches, chosen, scattered, parts, numbers, matrices]


@pytest.mark.parametrize("how", ["everywhere", "tabulated", "cut_up"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_in_pieces_give_the_same_results(
    program: Any, how: str, modules: list[str], tables: list[int], request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(how)
    x = X[: {"everywhere": 12, "tabulated": 10, "cut_up": 11}[how]]  # code that is loaded is not made again
    value, slope = wg.function(wg.value_and_grad(program))(x)
    assert accesses.is_on() or any("@piece" in ir for ir in modules)
    assert accesses.is_on() or how != "tabulated" or tables
    with numpy_only():
        wanted_value, wanted_slope = wg.value_and_grad(program)(x)
    np.testing.assert_allclose(value, wanted_value, rtol=1e-12)  # sums in another order
    np.testing.assert_allclose(slope, wanted_slope, rtol=1e-11, atol=1e-13)  # sums in another order, which cancel


@pytest.mark.usefixtures("everywhere")
def test_sizes_that_vary_from_call_to_call() -> None:
    f = wg.function(wg.value_and_grad(rolled))
    for n in (5, 9, 12, 7):
        value, slope = f(X[:n])
        with numpy_only():
            wanted_value, wanted_slope = wg.value_and_grad(rolled)(X[:n])
        np.testing.assert_allclose(value, wanted_value, rtol=1e-12)  # sums in another order
        np.testing.assert_allclose(slope, wanted_slope, rtol=1e-12)  # sums in another order


@pytest.mark.usefixtures("everywhere")
@unchecked
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
def test_a_piece_that_runs_long_can_be_interrupted(modules: list[str]) -> None:
    class Stopped(Exception):
        pass

    def handler(number: int, frame: Any) -> None:
        raise Stopped

    f = wg.function(lambda x, n: wg.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, wg.sin(v)), (0, x))[1])
    f(X, np.array(3))
    assert any(re.search(r"define internal i32 @piece.*?@wengert_poll", ir, re.DOTALL) for ir in modules)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Stopped):
            f(X, np.array(10**9))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert f(X, np.array(0)).shape == X.shape


# -- what LLVM is given -----------------------------------------------------------------------------------------------


def recurrent(length: int) -> Callable[[Any, Any], Any]:
    rows = np.random.default_rng(1).normal(size=(length, 2, 6))

    def f(w: Any, u: Any) -> Any:
        h: Any = np.zeros((2, 5))
        for t in range(length):
            h = wg.tanh(rows[t] @ w + h @ u)
        return wg.sum(h * h)

    return f


@unchecked
def test_steps_that_repeat_are_written_once(modules: list[str], tables: list[int]) -> None:
    """The functions do not become more, nor longer, with the number of steps: calls do."""
    found: list[tuple[int, int]] = []
    for length in (60, 120):  # both long
        modules.clear()
        tables.clear()
        compiled = wg.function(wg.grad(recurrent(length), argnums=(0, 1)))
        slopes = compiled(M, M[:5])
        with numpy_only():
            wanted = wg.grad(recurrent(length), argnums=(0, 1))(M, M[:5])
        for slope, want in zip(slopes, wanted, strict=True):
            np.testing.assert_allclose(slope, want, rtol=1e-10, atol=1e-14)  # sums in another order, which cancel
        longest = max(modules, key=len)
        pieces = re.findall(r"^define internal i32 @piece.*?^}", longest, re.DOTALL | re.MULTILINE)
        assert len(re.findall(r"call i32 @piece", longest)) + sum(tables) > length
        found.append((len(pieces), sum(len(piece.split("\n")) for piece in pieces)))
    assert found[0] == found[1]


@unchecked
def test_straight_code_that_comes_again_is_written_once(modules: list[str], tables: list[int]) -> None:
    """Products of small matrices are written out, without a loop; twice as many steps take no other functions."""
    f, h = 0.3 * np.random.default_rng(1).normal(size=(2, 4, 4))

    def stepping(steps: int) -> Callable[[Any], Any]:
        def loss(p: Any) -> Any:
            for _ in range(steps):
                p = f @ p @ f.T + h
                p = p - p @ h @ p.T
            return wg.sum(p)

        return wg.grad(loss)

    p, found = np.eye(4), list[int]()
    for steps in (40, 80):
        modules.clear()
        tables.clear()
        slope = wg.function(stepping(steps))(p)
        with numpy_only():
            np.testing.assert_allclose(slope, stepping(steps)(p), rtol=1e-9, atol=1e-12)
        longest = max(modules, key=len)
        found.append(len(re.findall(r"^define internal i32 @piece", longest, re.MULTILINE)))
        assert longest.count("call i32 @piece") + sum(tables) > 5 * steps
    assert found[0] <= found[1] + 2
    assert found[1] < 20


@unchecked
def test_steps_of_few_instructions_are_cut_at_the_same_places(modules: list[str]) -> None:
    """Steps with fewer places than one in so many is chosen from: each step has one that is chosen all the same."""

    def stepping(steps: int) -> Callable[[Any, Any], Any]:
        def loss(a: Any, b: Any) -> Any:
            for _ in range(steps):
                a, b = np.sin(a) * b + 0.1 * a, a * 0.9 + np.cos(b)
            return a * b

        return wg.grad(loss, argnums=(0, 1))

    found = list[int]()
    for steps in (1000, 1500):
        modules.clear()
        slopes = wg.function(stepping(steps))(0.3, 0.4)
        if steps == 1000:
            np.testing.assert_allclose(slopes, stepping(steps)(0.3, 0.4), rtol=1e-9)
        longest = max(modules, key=len)
        found.append(len(re.findall(r"^define internal i32 @piece", longest, re.MULTILINE)))
        assert longest.count("call double @sin") < steps / 2
    assert 0 < found[1] <= found[0] + 2 < 12


@unchecked
def test_long_chains_of_small_arrays_are_loops_that_are_alike(modules: list[str]) -> None:
    """One loop of thousands of members would be straight code, which is compiled in haste, without vectors."""

    def f(x: Any) -> Any:
        for k in range(150):
            x = wg.abs(x) * (1.0 + 0.01 * k) - x * x / 3
        return x

    x = np.linspace(0.1, 1.0, 40)
    found = wg.function(f)(x)
    with numpy_only():
        np.testing.assert_allclose(found, f(x), rtol=1e-12)
    calls = max(module.count("call i32 @piece") for module in modules)
    assert calls >= 600 / fission.RUN  # two loops at the end are alone, and may stay where they are
    assert max(module.count("\n") for module in modules if "call i32 @piece" in module) < 20 * calls


def chain(length: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for _ in range(length):
            x = wg.sin(x)
        return wg.sum(x)

    return wg.function(wg.grad(f))


def slope_of_chain(x: Any, length: int) -> Any:
    slope = np.ones_like(x)
    for _ in range(length):
        x, slope = np.sin(x), slope * np.cos(x)
    return slope


@unchecked
def test_the_code_of_many_calls_is_no_longer_than_that_of_few(modules: list[str], tables: list[int]) -> None:
    """Calls of a few functions are a table, which LLVM takes no time for."""
    found: list[int] = []
    for steps in (100, 200):
        modules.clear()
        tables.clear()

        def f(x: Any, steps: int = steps) -> Any:
            for _ in range(steps):
                x = wg.where(x > 0, wg.sin(x), x * 1.1) - wg.maximum(wnp.flip(x), 0) * 0.1
            return wg.sum(x)

        x = np.linspace(-1.0, 1.0, 21)
        slope = wg.function(wg.grad(f))(x)
        with numpy_only():
            np.testing.assert_allclose(slope, wg.grad(f)(x), rtol=1e-10, atol=1e-14)
        assert sum(tables) > steps  # a call for each group, of all of its loops
        found.append(max(module.count("\n") for module in modules))
    assert found[1] < 1.1 * found[0]


@unchecked
def test_small_arrays_that_pieces_use_share_a_block_of_memory(modules: list[str]) -> None:
    """Addresses that are known all through a function of thousands of calls would cost LLVM time in all of it."""
    x = np.linspace(0.1, 1.0, 1000)
    np.testing.assert_allclose(chain(530)(x), slope_of_chain(x, 530), rtol=1e-11)  # products in another order
    (module,) = [module for module in modules if "call i32 @piece" in module]
    assert "%together = call noalias ptr @wengert_take" in module
    assert module.count("getelementptr inbounds i8, ptr %together") > 500
    assert module.count("call noalias ptr @wengert_take") < 20  # what loops outside of pieces use, too


def test_arrays_of_unknown_size_are_freed_by_one_loop(modules: list[str]) -> None:
    """Were each freed for itself, the values of all would meet at the exit, for each failure that leads there."""
    f = chain(540)
    for size in (1500, 1501, 1502):
        x = np.linspace(0.1, 1.0, size)
        np.testing.assert_allclose(f(x), slope_of_chain(x, 540), rtol=1e-11)  # products in another order
    module = next(module for module in modules if "%cells = alloca" in module)
    assert int(re.findall(r"%cells = alloca \[(\d+) x ptr\]", module)[0]) > 300
    kernel = re.findall(r"^define internal i32 @kernel.*?^}", module, re.DOTALL | re.MULTILINE)[0]
    assert kernel.split("\nexit:\n")[1].count("call void @wengert_drop") == 1


@unchecked
def test_calls_of_arrays_of_unknown_size_are_a_table_too(modules: list[str], tables: list[int]) -> None:
    """What is made for them, and the factors that they are given, which are elements of an operand."""

    def f(x: Any) -> Any:
        for k in range(400):
            x = wg.sin(x) * (1.0 + 1e-4 * (k % 7))
        return wg.sum(x)

    compiled, slope = wg.function(wg.grad(f)), wg.function(wg.grad(f))
    for size in (1500, 1501, 1503):
        x = np.linspace(0.1, 1.0, size)
        with numpy_only():
            wanted = wg.grad(f)(x)
        for function in (compiled, slope):
            np.testing.assert_allclose(function(x), wanted, rtol=1e-10)  # products in another order
    module = next(module for module in modules if "%cells = alloca" in module)
    assert len(tables) >= 2
    assert module.count("\n") < 20 * 400


def test_joined_arrays_that_are_read_often_are_stored_once() -> None:
    """As stages of a Runge-Kutta method are, each of which is read by all that follow."""

    def f(x: Any) -> Any:
        rows: list[Any] = []
        for _ in range(6):
            rows.append(np.concatenate([x[6:] * 0.5, x[:5] * x[5:10], x[:1] - 1.0]))
            x = x + 0.1 * (np.array([0.5**k for k in range(len(rows))]) @ np.stack(rows))
        return x

    x = np.linspace(0.1, 1.0, 11)
    compiled = wg.function(f)
    np.testing.assert_allclose(compiled(x), f(x), rtol=1e-13)
    graph = compiled.trace(x)
    kinds = schedule.schedule(graph.nodes, [*map(kind_of, graph.nodes)], graph.outputs).kinds
    joined = [k for k, n in zip(kinds, graph.nodes, strict=True) if n.op.name == "concatenate" and len(n.inputs) == 3]
    assert [k for k in joined if k is schedule.Kind.ASSEMBLE] == [schedule.Kind.ASSEMBLE] * (6 - schedule.MOST_READS)


def straight(lines: int) -> str:
    """A function of so many lines without a jump, which another one calls in a loop."""
    body = [f"  %x{k + 1} = fadd double %x{k}, 1.5" for k in range(lines)]
    return "\n".join([
        "define internal double @long(double %x0) {", *body, f"  ret double %x{lines}", "}",
        "define i32 @entry(ptr %buffers, ptr %sizes, ptr %context) {",
        "start:",
        "  %p = load ptr, ptr %buffers",
        "  %x = load double, ptr %p",
        "  %y = call double @long(double %x)",
        "  %at = getelementptr ptr, ptr %buffers, i64 1",
        "  %q = load ptr, ptr %at",
        "  store double %y, ptr %q",
        "  ret i32 0",
        "}",
        "",
    ])  # fmt: skip


def test_only_functions_of_much_straight_code_are_compiled_in_haste(capfd: pytest.CaptureFixture[str]) -> None:
    assert not jit._effort(straight(jit.MIDDLE)).spares
    endless = straight(jit.ENDLESS + 10)
    assert jit._parted(endless, target.machine(2), jit._effort(endless))[2] == 0
    ir = straight(jit.STRAIGHT + 10)
    effort = jit._effort(ir)
    assert effort.spares
    assert effort.level == effort.emission == 2  # what it calls is code as good as any
    assert jit._lengths(ir.split("\n")).straight.keys() == {"long"}
    assert jit._parted(ir, target.machine(2), effort)[2] == 2  # its registers are chosen with care
    y = np.zeros(1)
    assert entry.called(jit.load(ir, "entry", table=CALLABLE), [np.array([1.0])], [y], ())[0] == 0
    assert y[0] == 1.0 + 1.5 * (jit.STRAIGHT + 10)
    assert capfd.readouterr().err == ""  # LLVM tells of each pass that leaves a function alone


def calling(calls: int, each: int, is_loop: bool = False) -> str:
    """A function of so many calls with some additions behind each, and jumps, perhaps back to where it begins."""
    body: list[str] = []
    for k in range(calls):
        body += [f"  %s{k} = call i32 @piece(ptr %p)", f"  %x{k}.0 = load double, ptr %p"]
        body += [f"  %x{k}.{i + 1} = fadd double %x{k}.{i}, 1.0" for i in range(each)]
        body += [f"  store double %x{k}.{each}, ptr %p", f"  br label %b{k}", f"b{k}:"]
    is_over = f"  %over = icmp eq i32 %s{calls - 1}, 0\n  br i1 %over, label %end, label %again\nend:"
    return "\n".join([
        "define internal i32 @piece(ptr %p) {", "  %x = load double, ptr %p", "  %y = fadd double %x, 1.5",
        "  store double %y, ptr %p", "  ret i32 0", "}",
        "define internal i32 @kernel(ptr %p) {", "  br label %again", "again:", *body,
        is_over if is_loop else "", "  ret i32 0", "}",
        "define i32 @entry(ptr %buffers, ptr %sizes, ptr %context) {",
        "  %p = load ptr, ptr %buffers", "  %status = call i32 @kernel(ptr %p)", "  ret i32 %status", "}", "",
    ])  # fmt: skip


def test_functions_that_mostly_call_are_compiled_in_haste(capfd: pytest.CaptureFixture[str]) -> None:
    ir = calling(1000, 0)
    effort = jit._effort(ir)
    assert (effort.level, effort.emission, effort.spares) == (2, 2, True)
    assert jit._lengths(ir.split("\n")).calling.keys() == {"kernel"}
    assert jit._parted(ir, target.machine(2), effort)[2] == 0
    image = jit.emitted(ir, "f", *effort)  # two objects in one, as it lies on disk
    x = np.ones(1)
    assert entry.called(jit.link(image, "entry", [], CALLABLE), [x], [], ())[0] == 0
    assert x[0] == 1.0 + 1.5 * 1000
    assert not jit._effort(calling(1000, 0, is_loop=True)).spares  # what comes again is worth the passes
    assert not jit._effort(calling(1000, 20)).spares
    assert not jit._effort(calling(500, 0)).spares
    assert capfd.readouterr().err == ""


def test_in_huge_modules_the_longest_functions_alone_are_compiled_in_haste(capfd: pytest.CaptureFixture[str]) -> None:
    """Functions that these call are optimised as anywhere."""
    jumps = [line for k in range(jit.HUGE // 2) for line in (f"  br label %b{k}", f"b{k}:")]
    ir = straight(10).replace("start:\n", "start:\n" + "\n".join(jumps) + "\n")
    effort = jit._effort(ir)
    assert (effort.level, effort.emission, effort.spares) == (2, 0, True)
    lines = ir.split("\n")
    assert jit._spared(lines, jit._lengths(lines)).keys() == {"entry"}
    y = np.zeros(1)
    assert entry.called(jit.load(ir, "entry", table=CALLABLE), [np.array([1.0])], [y], ())[0] == 0
    assert y[0] == 1.0 + 1.5 * 10
    assert capfd.readouterr().err == ""


@unchecked
def test_much_straight_code_does_not_keep_other_loops_from_being_optimised(modules: list[str]) -> None:
    def f(x: Any, y: Any) -> Any:
        for i in range(1600):
            x = wg.sin(x) * (1.0 + 1e-4 * (i % 7))
        return wg.sum(x) + wg.sum(wg.exp(y))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the loop is unrolled is the point
        compiled = wg.function(wg.grad(f, argnums=(0, 1)))
        slopes = compiled(X[:3], X)
    np.testing.assert_allclose(slopes[1], np.exp(X), rtol=1e-15)
    assert jit._effort(max(modules, key=len)).level > 0


# -- functions of nodes ------------------------------------------------------------------------------------------------


def sorts(count: int, ahead: int = 0) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for k in range(count):
            x = wg.sort(x) * 0.99 + (k % 3) * wnp.flip(x) * 0.01
            x = wg.concatenate([x[ahead:], x[:ahead]])
        return wg.sum(x * np.linspace(0.5, 1.5, 9))

    return f


def lowered_by(f: Callable[..., Any], *args: Any) -> Function:
    """The loops that a function of arrays is lowered to."""
    return lowered(ready(optimise(graph_of(f, *args))), "f").function


@unchecked
def test_sorts_of_few_numbers_are_lowered_once() -> None:
    """The instructions of a thousand of them are not a thousand times those of one."""
    x = np.random.default_rng(4).normal(size=9)
    one, some, many = (sum(1 for _ in walk(lowered_by(sorts(n), x).body)) for n in (1, 100, 200))
    assert many - some < 100 * one / 3
    function = lowered_by(sorts(100), x)
    verify(function)
    assert sum(type(item) is Apply for item in function.body) >= 99


@pytest.mark.parametrize("ahead", [0, 2])
def test_nodes_that_share_a_function_give_what_others_do(ahead: int) -> None:
    x = np.random.default_rng(4).normal(size=9)
    f = sorts(40, ahead)
    np.testing.assert_allclose(wg.function(f)(x), f(x), rtol=1e-13)
    np.testing.assert_allclose(wg.function(wg.grad(f))(x), wg.grad(f)(x), rtol=1e-13)


@unchecked
def test_a_function_that_nodes_share_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routines, "LONG", 50)
    a = np.random.default_rng(5).normal(size=(6, 6))

    def f(a: Any, shifts: Any) -> Any:
        for k in range(12):
            a = wg.linalg.cholesky(a @ a.T + shifts[k] * np.eye(6))
        return a

    shifts = np.full(12, 2.0)
    np.testing.assert_allclose(wg.function(f)(a, shifts), f(a, shifts), rtol=1e-9)
    assert any(sharing.may_fail(piece) for piece in pieces_of(lowered_by(f, a, shifts).body))
    shifts[9] = -1e3
    with pytest.raises(np.linalg.LinAlgError):
        wg.function(f)(a, shifts)


@unchecked
def test_nodes_of_one_operand_twice_share_no_function_with_those_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routines, "LONG", 50)
    a = np.random.default_rng(6).normal(size=(5, 5))

    def f(a: Any, b: Any) -> Any:
        for k in range(24):
            a = b + 0.1 * wg.linalg.solve(a + 6 * np.eye(5), (a + 6 * np.eye(5)) if k % 2 else b)
        return a

    function = lowered_by(f, a, a[::-1].copy())
    verify(function)
    assert any(type(item) is Apply for item in walk(function.body))
    np.testing.assert_allclose(wg.function(f)(a, a[::-1]), f(a, a[::-1]), rtol=1e-12)  # sums in another order


@unchecked
def test_loops_in_a_row_are_one_function() -> None:
    def f(x: Any) -> Any:
        for _ in range(20):
            x, _ = wg.scan(lambda c, _: (wg.tanh(c * 1.1), c), x, None, length=5)
        return x

    x = np.linspace(0.1, 1.0, 20)
    function = lowered_by(f, x)
    applied = [item.piece for item in walk(function.body) if type(item) is Apply]
    assert len(applied) >= 20
    assert len(pieces_of(function.body)) <= 4
    np.testing.assert_allclose(wg.function(f)(x), f(x), rtol=1e-13)
    np.testing.assert_allclose(wg.function(wg.jacobian(f))(x), wg.jacobian(f)(x), rtol=1e-12)


def scanned(x: Any, k: int) -> Any:
    return wg.scan(lambda c, _: (wg.tanh(c * (1.1 + 0.01 * k)), c), x, None, length=3 + k)[0]


def until_enough(x: Any, k: int) -> Any:
    return wg.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, wg.sin(v) * (1.1 + 0.01 * k)), (0, x))[1]


def scanned_rows(x: Any, k: int) -> Any:
    """Of rows, and with results of all steps."""
    last, rows = wg.scan(lambda c, r: (wg.sin(c + r), c * r * (1.0 + 0.01 * k)), x, wnp.stack([x] * 3) * 0.3)
    return last + 0.1 * wg.sum(rows, axis=0)


@unchecked
@pytest.mark.parametrize("size", [4, 40])
@pytest.mark.parametrize("part", [scanned, until_enough, scanned_rows], ids=lambda f: f.__name__)
def test_loops_that_keep_histories_are_one_function(part: Any, size: int) -> None:
    def f(x: Any) -> Any:
        for k in range(24):
            x = part(x, k)
        return wg.sum(x)

    x = np.linspace(0.1, 1.0, size)
    function = lowered_by(wg.grad(f), x)
    verify(function)
    applied = [item.piece for item in walk(function.body) if type(item) is Apply]
    assert len(applied) >= 48
    assert len(pieces_of(function.body)) <= 12
    with numpy_only():
        wanted = wg.grad(f)(x)
    compiled = wg.function(wg.grad(f))
    for _ in range(2):
        np.testing.assert_allclose(compiled(x), wanted, rtol=1e-11)  # products in another order


@pytest.mark.usefixtures("everywhere")
def test_a_history_in_a_piece_may_be_beyond_the_budget() -> None:
    def f(x: Any) -> Any:
        for k in range(2, 5):
            x = wg.while_loop(lambda i, v: i < 900, lambda i, v, k=k: (i + 1, v + wg.sin(v) / (10 * k)), (0, x))[1]
        return wg.sum(x)

    with numpy_only():
        wanted = wg.grad(f)(X)
    compiled = wg.function(wg.grad(f))
    wg.set_memory_budget(50_000)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that snapshots are kept, as the budget has it, is told elsewhere
            np.testing.assert_allclose(compiled(X), wanted, rtol=1e-9)
    finally:
        wg.set_memory_budget(2 * 1024**3)
