"""Loops of steps before and after `tuned`: the same bits, fewer instructions on the way."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import wengert as wg
from tests.support import naive_loops as naive
from wengert._engines.native.ir.builder import Builder
from wengert._engines.native.ir.loops import Function, If, Let, Operand, Poll, verify
from wengert._engines.native.ir.renaming import walk
from wengert._engines.native.ir.signs import Signs
from wengert._engines.native.ir.slp import is_scattered
from wengert._engines.native.ir.tuning import tuned
from wengert._engines.native.llvm import jit
from wengert._engines.native.llvm.codegen import module_text
from wengert._engines.native.run import entry
from wengert._engines.native.run.callable import CALLABLE

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -3.0, 1e-200, -1e-200, 5e-324, 1e200, -1e200, np.inf, -np.inf, np.nan]
BINARY = ["add", "sub", "mul", "scale", "div", "copysign", "maximum", "minimum"]
UNARY = ["neg", "abs", "sqrt", "tanh", "exp"]
ZEROS = [0.0, -0.0, 2.0]


def bits(x: Any) -> Any:
    """The bits of numbers, of which only a NaN's sign and payload are left open."""
    x = np.where(np.isnan(x), np.nan, x)
    return x.view(f"i{x.itemsize}")


def stepped(recipe: list[tuple[Any, ...]], iterations: int = 3, type_: str = "f64") -> tuple[Function, Builder]:
    """A loop with two variables and two numbers read in each step; the recipe says what is computed of them."""
    b = Builder()
    x, invariants, y = b.array(type_, "in"), b.array(type_, "in"), b.array(type_, "out")
    outer = b.load(invariants, 0)
    first, second = b.var(type_, 1.0), b.var(type_, b.load(invariants, 1))
    with b.loop(0, iterations) as i:
        b.poll()
        place = b.mul(i, 2)
        values: list[Operand] = [b.get(first), b.get(second), b.load(x, place), b.load(x, b.add(place, 1)), outer, 0.0]
        for op, *places in recipe:
            args = [values[p % len(values)] if type(p) is int else p for p in places]
            if op == "select":
                cond = b.let("lt", type_, args[0], args[1])
                values.append(b.select(type_, cond, args[1], args[2]))
            else:
                # as the lowering does, but for the builder's own way with zeros
                out = b.reg(type_)
                b.emit(Let(out, op, (*args,), type_))
                values.append(out)
        b.set(first, values[-1])
        b.set(second, values[-2])
    b.store(y, 0, b.get(first))
    b.store(y, 1, b.get(second))
    return b.function("stepped", [x, invariants], [y], []), b


@np.errstate(over="ignore")
def results(function: Function, xs: list[float], invariants: list[float], type_: str = "f64") -> Any:
    verify(function)
    dtype = naive.NUMPY[type_]
    y = np.zeros(2, dtype)
    naive.run(function, [np.array(xs, dtype), np.array(invariants, dtype)], [y])
    return y


@np.errstate(over="ignore")
def compiled_results(function: Function, xs: list[float], invariants: list[float], type_: str = "f64") -> Any:
    dtype = naive.NUMPY[type_]
    y = np.zeros(2, dtype)
    loaded = jit.load(module_text(function, "entry"), "entry", table=CALLABLE)
    assert entry.called(loaded, [np.array(xs, dtype), np.array(invariants, dtype)], [y], ())[0] == 0
    return y


places = st.integers(0, 30)
instructions = st.one_of(
    st.tuples(st.sampled_from(BINARY), places, places),
    st.tuples(st.sampled_from(["add", "sub", "mul", "scale"]), places, st.sampled_from(ZEROS)),
    st.tuples(st.sampled_from(["add", "sub"]), st.sampled_from(ZEROS), places),
    st.tuples(st.sampled_from(UNARY), places),
    st.tuples(st.just("select"), places, places, places),
)
numbers = st.one_of(st.sampled_from(SPECIAL), st.floats(-10, 10))


@settings(max_examples=400, deadline=None)  # each example takes as long as its loop in plain Python does
@given(
    recipe=st.lists(instructions, min_size=2, max_size=14), xs=st.lists(numbers, min_size=6, max_size=6),
    invariants=st.lists(numbers, min_size=2, max_size=2), iterations=st.integers(0, 3),
)  # fmt: skip
def test_the_same_bits(recipe: list[Any], xs: list[float], invariants: list[float], iterations: int) -> None:
    function, b = stepped(recipe, iterations)
    wanted = results(function, xs, invariants)
    tuned(function, b.reg)
    np.testing.assert_array_equal(bits(results(function, xs, invariants)), bits(wanted))


@settings(max_examples=25, deadline=None)  # each example is compiled
@given(
    recipe=st.lists(instructions, min_size=2, max_size=14), xs=st.lists(numbers, min_size=6, max_size=6),
    invariants=st.lists(numbers, min_size=2, max_size=2), type_=st.sampled_from(["f32", "f64"]),
)  # fmt: skip
def test_the_same_bits_compiled(recipe: list[Any], xs: list[float], invariants: list[float], type_: str) -> None:
    # these differ from NumPy's in the last bits, and in the signs of zeros
    recipe = [r for r in recipe if r[0] not in ("tanh", "exp", "maximum", "minimum")]
    function, b = stepped(recipe, type_=type_)
    wanted = results(function, xs, invariants, type_)
    tuned(function, b.reg)
    np.testing.assert_array_equal(bits(compiled_results(function, xs, invariants, type_)), bits(wanted))


def ops(function: Function) -> list[str]:
    return [item.op for item in walk(function.body) if type(item) is Let]


def test_zeros_that_nobody_sees_go_and_variables_get_theirs_behind_the_loop() -> None:
    # two sums with zero: one hidden by the other, that one needed by nobody but the caller
    function, b = stepped([("mul", 0, 2), ("add", 6, 0.0), ("add", 7, 4), ("mul", 2, 2), ("add", 8, 0.0)])
    wanted = results(function, [-0.0] * 6, [-0.0, -0.0])
    tuned(function, b.reg)
    loop = next(item for item in function.body if type(item).__name__ == "For")
    assert not [item for item in loop.body if type(item) is Let and 0.0 in item.args]
    np.testing.assert_array_equal(bits(results(function, [-0.0] * 6, [-0.0, -0.0])), bits(wanted))


def test_a_zero_that_somebody_sees_stays() -> None:
    function, b = stepped([("mul", 0, 2), ("add", 6, 0.0), ("div", 4, 7)])
    tuned(function, b.reg)
    assert ("add" in ops(function)) and 0.0 in [a for i in walk(function.body) if type(i) is Let for a in i.args]


def chain(scales: int) -> list[tuple[Any, ...]]:
    """Products with the numbers read, each added to what was there."""
    recipe: list[tuple[Any, ...]] = []
    for k in range(scales):
        recipe += [("scale", 0 if k == 0 else 5 + 2 * k, 2 + k % 2), ("add", 6 + 2 * k, 4)]
    return [*recipe, ("add", 5 + 2 * scales, 0.0), ("add", 4 + 2 * scales, 0.0)]


def test_a_step_with_moderate_slopes_has_plain_products() -> None:
    function, b = stepped(chain(3))
    tuned(function, b.reg)
    (branch,) = [item for item in walk(function.body) if type(item) is If]
    assert branch.is_likely
    assert "scale" not in [item.op for item in walk(branch.then) if type(item) is Let]
    assert [item.op for item in walk(branch.other) if type(item) is Let].count("scale") == 3


@pytest.mark.parametrize("slope", [np.inf, np.nan, 1e200, -0.0, 1e-300])
def test_steps_with_other_slopes_scale(slope: float) -> None:
    """A cotangent of zero meets no infinite slope in any step, whatever the steps before had."""
    xs = [1.0, 2.0, slope, 0.0, 3.0, 4.0]
    function, b = stepped(chain(3))
    wanted = results(function, xs, [0.0, 0.0])
    tuned(function, b.reg)
    np.testing.assert_array_equal(bits(results(function, xs, [0.0, 0.0])), bits(wanted))
    np.testing.assert_array_equal(bits(compiled_results(function, xs, [0.0, 0.0])), bits(wanted))


def test_powers_of_moderate_numbers_may_be_infinite() -> None:
    """The bound of a slope that is computed in the step is not that of what it is computed from."""
    power = [("mul", 2, 2), ("mul", 6, 6), ("mul", 7, 7), ("mul", 8, 8)]  # to the 16th
    function, b = stepped([*power, ("scale", 0, 9), ("add", 10, 4), ("add", 11, 0.0)])
    tuned(function, b.reg)
    assert ops(function).count("scale") == 1
    assert not [item for item in walk(function.body) if type(item) is If]


def test_loops_without_signals_stay() -> None:
    function, b = stepped(chain(2))
    for block in (function.body, *[i.body for i in function.body if hasattr(i, "body")]):
        block[:] = [item for item in block if type(item) is not Poll]
    before = str(function)
    tuned(function, b.reg)
    assert str(function) == before


def test_facts_of_variables_need_all_loops() -> None:
    """A variable whose first value is -0.0 is never free of it, whatever it is set to later."""
    b = Builder()
    y = b.array("f64", "out")
    var = b.var("f64", -0.0)
    with b.loop(0, 2):
        b.poll()
        held = b.get(var)
        out = b.reg("f64")
        b.emit(Let(out, "add", (held, 0.0), "f64"))
        b.set(var, out)
    b.store(y, 0, b.get(var))
    function = b.function("zeros", [], [y], [])
    signs = Signs(function)
    assert var not in signs.plus_vars
    assert out in signs.plus
    untouched = copy.deepcopy(str(function))
    tuned(function, b.reg)
    assert str(function) == untouched


def rows(op: str, width: int, count: int) -> Function:
    """A loop that applies an operation to all elements of a small array, one after the other."""
    b = Builder()
    x, y = b.array("f64", "in"), b.array("f64", "out")
    variables = [b.var("f64", b.load(x, k)) for k in range(width)]
    with b.loop(0, 3):
        b.poll()
        values: list[Operand] = [b.get(v) for v in variables]
        for _ in range(count):
            values = [b.let(op, "f64", v, 2.0) for v in values]
        for variable, value in zip(variables, values, strict=True):
            b.set(variable, value)
    for k, variable in enumerate(variables):
        b.store(y, k, b.get(variable))
    return b.function("rows", [x], [y], [])


def test_vectors_for_steps_on_small_arrays_only() -> None:
    """An operation on all elements is a row; single numbers one after the other are none."""
    whole, single = rows("mul", 4, 3), stepped(chain(6))[0]
    other = rows("mul", 1, 4)
    assert [is_scattered(f) for f in (whole, single, other)] == [False, True, True]
    single, b = stepped(chain(6))
    tuned(single, b.reg)
    assert single.is_scattered
    assert module_text(single, "entry").startswith(jit.SCATTERED)


def test_code_beside_the_steps_decides_where_there_is_more_of_it() -> None:
    b = Builder()
    x, y = b.array("f64", "in"), b.array("f64", "out")
    var = b.var("f64", 1.0)
    with b.loop(0, 2):
        b.poll()
        b.set(var, b.let("mul", "f64", b.get(var), 0.5))
    for k in range(4):
        b.store(y, k, b.let("add", "f64", b.load(x, k), b.get(var)))
    assert not is_scattered(b.function("beside", [x], [y], []))


# -- through the public interface ------------------------------------------------------------------------------------------


def decayed(x: Any, rate: Any, power: float) -> Any:
    """Steps whose slope is infinite where the state is zero."""

    def step(i: Any, y: Any) -> Any:
        moved = wg.where(y > 0, y, 1.0) ** power
        return y + 0.01 * wg.where(y > 0, moved, 0.0) * rate

    return wg.sum(wg.fori_loop(0, 5, step, x))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "start", [[1.0, 2.0, 0.5], [0.0, 1.0, -0.0], [1e-300, 1e30, 4.0], [np.inf, 1.0, np.nan], [3.0]]
)
def test_compiled_steps_are_the_eager_ones(start: list[float], dtype: Any) -> None:
    """With masked slopes, infinities, NaN and zeros of both signs."""
    with np.errstate(all="ignore"):
        x, rate = np.array(start, dtype), np.asarray(-0.5, dtype)
        both = wg.value_and_grads(lambda x, rate: decayed(x, rate, 0.5))
        wanted, found = both((x, rate)), wg.function(both)((x, rate))
    for ours, theirs in zip(wg.tree.leaves(found), wg.tree.leaves(wanted), strict=True):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12 if dtype is np.float64 else 1e-5)
        np.testing.assert_array_equal(np.signbit(ours[~np.isnan(theirs)]), np.signbit(theirs[~np.isnan(theirs)]))


def test_a_state_at_rest_has_the_gradient_of_eager_code() -> None:
    """All cotangents zero: every product is one of a zero."""

    def last(y: Any, p: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            return y + 0.1 * wg.stack([p[0] * y[1], -y[0] * y[1] * p[1]])

        return wg.sum(wg.fori_loop(0, 4, step, y) * 0.0)

    y, p = np.array([0.0, -0.0]), np.array([-1.0, 2.0])
    both = wg.value_and_grads(last)
    for ours, theirs in zip(wg.tree.leaves(wg.function(both)((y, p))), wg.tree.leaves(both((y, p))), strict=True):
        np.testing.assert_array_equal(bits(np.asarray(ours)), bits(np.asarray(theirs)))
