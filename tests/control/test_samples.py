"""Programs with branches and loops that were wrong once: the smallest forms of what the fuzzer found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.fuzz.oracles import control_program
from tests.support.control_checks import check, choices_of
from tests.support.modes import every_way
from wengert._control.call import Program
from wengert._control.loop import Loop
from wengert._core import dtypes
from wengert._core.graph import Graph
from wengert._core.state import building

X, H = wg.tensor(0.3), 0.7
Derive = Callable[..., Callable[..., Any]]


def close(a: Any, b: float) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-13)


@every_way
@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "in a function"])
def test_gradient_in_a_body_through_a_call_that_ignores_its_variable(derive: Derive, wrapped: bool) -> None:
    """Two tapes follow different operands of one call: each has a backward pass of its own."""
    first = wg.function(lambda a, b: a)

    def slope(x: Any) -> Any:
        return wg.grad(lambda s: wg.sin(s + first(x, s)))(wg.tensor(H))

    close(derive(wg.function(slope) if wrapped else slope)(X), -np.sin(H + 0.3))


@every_way
def test_call_without_results_under_a_tape(derive: Derive) -> None:
    constant = wg.function(lambda a: 2.0)
    close(derive(lambda x: x * constant(x))(X), 2.0)


@every_way
def test_scan_without_results_under_a_tape(derive: Derive) -> None:
    def f(x: Any) -> Any:
        assert wg.scan(lambda c, row: (None, None), None, wg.stack([x, x])) == (None, None)
        return x * x

    close(derive(f)(X), 0.6)


@every_way
def test_recomputed_function_whose_argument_is_captured_too(derive: Derive) -> None:
    def f(x: Any) -> Any:
        return wg.recompute_grad(lambda y: wg.sin(x) * y)(x)

    close(derive(f)(X), np.cos(0.3) * 0.3 + np.sin(0.3))


@every_way
def test_recomputed_function_that_ignores_its_argument(derive: Derive) -> None:
    def f(x: Any) -> Any:
        return wg.recompute_grad(lambda y: wg.sin(x))(x)

    close(derive(f)(X), np.cos(0.3))


@every_way
def test_recomputed_function_that_returns_a_captured_tensor(derive: Derive) -> None:
    def f(x: Any) -> Any:
        return wg.recompute_grad(lambda y: x)(2.0 * x)

    close(derive(f)(X), 1.0)


@every_way
def test_recomputed_function_with_a_function_that_reads_a_variable(derive: Derive) -> None:
    variable = wg.Variable(0.4)

    def f(x: Any) -> Any:
        @wg.recompute_grad
        def again(y: Any) -> Any:
            return wg.function(lambda u: u * variable)(x) * y

        return again(x)

    close(derive(f)(X), 0.24)


@every_way
@pytest.mark.parametrize("x", [0.3, 0.5])
@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("order", [1, 2])
def test_branch_with_a_loop_that_keeps_everything(derive: Derive, x: float, steps: int, order: int) -> None:
    """What a loop of unknown length in a branch has saved has no extent where the other branch runs."""

    def f(x: Any, n: Any) -> Any:
        def loop() -> Any:
            return wg.fori_loop(0, n, lambda i, v: v * x, x, checkpoint="all")

        return wg.cond(x > 0.4, loop, lambda: x * x)

    power = steps + 1 if x > 0.4 else 2
    wanted = power * x ** (power - 1) if order == 1 else power * (power - 1) * x ** max(power - 2, 0)
    g = f if order == 1 else wg.grad(f)
    close(derive(g)(wg.tensor(x), wg.tensor(np.int64(steps))), wanted)


@every_way
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_inner_loops_of_different_lengths_that_keep_everything(derive: Derive, steps: int) -> None:
    """Rows of different shapes are no array with an axis for each of their dimensions."""

    def f(x: Any, n: Any) -> Any:
        def body(i: Any, carry: Any) -> Any:
            count, s = carry
            return i, wg.fori_loop(0, count, lambda j, u: u * s, x, checkpoint="all")

        return wg.fori_loop(0, 3, body, (n, x), checkpoint="all")[1]

    power = 1  # the counts are n, 0, 1
    for count in (steps, 0, 1):
        power = 1 + count * power
    close(derive(f)(X, wg.tensor(np.int64(steps))), power * 0.3 ** (power - 1))


@every_way
def test_gradient_in_a_branch_of_a_loop_that_saves_nothing(derive: Derive) -> None:
    """Nothing tells the number of steps of such a loop as a dimension, and nothing needs to."""

    def f(x: Any, n: Any) -> Any:
        def last(s: Any) -> Any:
            return wg.while_loop(lambda i, a, b: i < n, lambda i, a, b: (i + 1, b, b), (0, x, s), checkpoint="all")[1]

        return wg.cond(n > 0, lambda: wg.grad(last)(x) * x, lambda: 0.5 * x)

    close(derive(f)(X, wg.tensor(np.int64(2))), 1.0)
    close(derive(f)(X, wg.tensor(np.int64(0))), 0.5)


def _two_by_scan(x: Any, w: Any, policy: Any) -> Any:
    body = lambda c, _: ((wg.sin(c[0]) * w, wg.exp(c[1] * w)), None)
    return wg.scan(body, (x, x), None, length=3, checkpoint=policy)[0]


def _two_by_while(x: Any, w: Any, policy: Any) -> Any:
    step = lambda i, a, b: (i + 1, wg.sin(a) * w, wg.exp(b * w))
    return wg.while_loop(lambda i, a, b: i < 3, step, (0, x, x), checkpoint=policy)[1:]


def _two_by_loop_in_branch(x: Any, w: Any, policy: Any) -> Any:
    return wg.cond(x > 0, lambda: _two_by_scan(x, w, policy), lambda: (x, w))


def _two_by_loop_in_loop(x: Any, w: Any, policy: Any) -> Any:
    return wg.fori_loop(0, 2, lambda i, c: _two_by_scan(c[0], w * c[1], policy), (x, w), checkpoint=policy)


def _two_by_function(x: Any, w: Any, policy: Any) -> Any:
    return wg.function(lambda x, w: _two_by_scan(x, w, policy))(x, w)


@pytest.mark.parametrize("policy", ["all", "auto", "sqrt", 2])
@pytest.mark.parametrize("read", [0, 1])
@pytest.mark.parametrize(
    "two", [_two_by_scan, _two_by_while, _two_by_loop_in_branch, _two_by_loop_in_loop, _two_by_function]
)
def test_one_of_two_numbers_of_a_function_reads_what_its_own_loop_kept(two: Any, read: int, policy: Any) -> None:
    """A backward pass from fewer results took the stacks of a pass from all for its own, in silence."""
    kept = wg.function(lambda x, w: two(x, w, policy))

    def derived(f: Any) -> Any:
        first = wg.grad(lambda x, w: f(x, w)[read], (0, 1))
        return [*first(X, H), wg.grad(lambda x: first(x, wg.tensor(H))[1])(X)]

    expected = derived(lambda x, w: two(x, w, "all"))
    np.testing.assert_allclose(derived(kept), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.function(lambda: derived(kept))(), expected, rtol=1e-12)


_SLOPES = {
    "sin": wg.sin, "cos": wg.cos, "tanh": wg.tanh, "arctan": wg.arctan, "erf": wg.ops.erf,
    "sin of exp": lambda c: wg.sin(wg.exp(c)), "tanh of a difference": lambda c: wg.tanh(wg.exp(c) - wg.exp(2.0 * c)),
    "product": lambda c: wg.sin(c) * wg.cos(c), "sin of sin": lambda c: wg.sin(wg.sin(c)),
    "sin of square": lambda c: wg.sin(c * c),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")  # NumPy's
@pytest.mark.parametrize("at", [-np.inf, np.inf, np.nan, 800.0])
@pytest.mark.parametrize("name", _SLOPES)
def test_steps_mask_slopes_that_are_not_numbers(name: str, at: float) -> None:
    """Sines of infinities counted as numbers below 2, so that steps of machine code multiplied zeros by them."""
    x, f = np.array([[1.0], [at]]), _SLOPES[name]

    def total(x: Any) -> Any:
        rows = wg.scan(lambda c, _: (c, (c, f(c))), x, None, length=2)[1][1]
        return wg.sum(wg.where(np.array([[True], [False]]), rows[0], 0.0))

    found = wg.function(wg.grad(total))(x)
    assert found[1, 0] == 0
    np.testing.assert_allclose(found[0, 0], wg.grad(lambda c: f(c))(1.0), rtol=1e-13)


def _pair(c: Any) -> Any:
    """What is read, and what nothing reads: its slope at infinity is NaN."""
    return c, wg.sin(c)


def _rows(x: Any, policy: Any = "auto") -> Any:
    return wg.scan(lambda c, _: _pair(c), x, None, length=2, checkpoint=policy)


_FIRST_OF_TWO = {
    "cond": lambda x: wg.cond(x < 0, lambda: _pair(x), lambda: (x, x))[0],
    "switch": lambda x: wg.switch(1, [lambda: (x, x), lambda: _pair(x)])[0],
    "function": lambda x: wg.function(_pair)(x)[0],
    "recomputed": lambda x: wg.recompute_grad(_pair)(x)[0],
    "scan": lambda x: _rows(x)[0],
    "scan that keeps all": lambda x: _rows(x, "all")[0],
    "scan that keeps one": lambda x: _rows(x, 1)[0],
    "one of two stacks": lambda x: wg.scan(lambda c, _: (c, _pair(c)), x, None, length=2)[1][0][0],
    "while_loop": lambda x: wg.while_loop(lambda i, a, b: i < 2, lambda i, a, b: (i + 1, *_pair(a)), (0, x, x))[1],
    "fori_loop": lambda x: wg.fori_loop(0, 2, lambda i, c: _pair(c[0]), (x, x))[0],
    "scan in cond": lambda x: wg.cond(x < 0, lambda: _rows(x), lambda: (x, wg.stack([x, x])))[0],
    "cond in scan": lambda x: wg.scan(
        lambda c, _: wg.cond(c < 0, lambda: _pair(c), lambda: (c, c)), x, None, length=2)[0],
    "vmap": lambda x: wg.vmap(_pair)(wg.stack([x]))[0][0],
    "vmap of cond": lambda x: wg.vmap(
        lambda c: wg.cond(c < 0, lambda: _pair(c), lambda: (c, c)))(wg.stack([x]))[0][0],
}  # fmt: skip

_SLOPES_OF = {
    "grad": wg.grad,
    "grad in a function": lambda f: wg.function(wg.grad(f)),
    "grad of a function": lambda f: wg.grad(wg.function(f)),
    "both": lambda f: wg.function(wg.grad(wg.function(f))),
    "jvp": lambda f: lambda x: wg.jvp(f, (x,), (wg.tensor(1.0),))[1],
    "second": lambda f: wg.grad(lambda x: wg.grad(wg.function(f))(x) * x),
}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # NumPy's, of the sine
@pytest.mark.parametrize("slope", _SLOPES_OF)
@pytest.mark.parametrize("name", _FIRST_OF_TWO)
def test_results_that_nothing_reads_have_no_cotangent(name: str, slope: str) -> None:
    """Zeros in their place met the slope that is not a number."""
    assert _SLOPES_OF[slope](_FIRST_OF_TWO[name])(wg.tensor(-np.inf)) == 1.0


def test_a_carry_that_is_stacked_is_computed_though_its_last_value_is_not_needed() -> None:
    graph = Graph("step")
    with building(graph):
        graph.add_input((), dtypes.float64)
        graph.finish([wg.sin(graph.add_input((), dtypes.float64))])
    spec = Loop(None, Program(graph), carries=1, xs=1, length=3)
    spec.emits = (0,)
    slim, _ = spec.pruned((False, True), lambda node: False)
    assert slim.body.graph.outputs == graph.outputs
    spec.emits = ()
    slim, _ = spec.pruned((False,), lambda node: False)
    assert slim.body.graph.outputs == graph.inputs[:1]


def test_second_derivatives_of_a_loop_whose_states_are_stacked() -> None:
    """Steps gave on carries whose values after each step the backward pass of a backward pass reads."""
    check(control_program(STACKED_STATES), choices_of(301404904222))


STACKED_STATES = """
def make(wg, dtype='float64', policy='all'):
    s_outer, s_state = (0.7, wg.Variable(wg.asarray(0.4, dtype=dtype)))
    v_outer = wg.asarray([0.3, -0.8, 0.5])
    make.state = s_state

    def literal(x):
        return x

    def function_1(s_a, v_a):
        s_2 = wg.sum(v_a * v_a)
        return wg.tanh(s_2 - 0.5 * s_a)

    def program(s_x, v_x, i_n):
        v_3 = v_outer

        def branch_4(s_5):

            def test_7(i_8, v_9, b_10, s_11):
                return i_8 < i_n

            def body_6(i_8, v_9, b_10, s_11):
                return (i_8 + 1, v_x, i_n * 2 % 3 % 2 == 0, wg.where(b_10, wg.tanh(s_x - 0.5 * s_5),
                    s_11 / (1.5 + s_x * s_x)))
            i_12, v_13, b_14, s_15 = wg.while_loop(test_7, body_6, (1, v_x, wg.real(s_state * 1.0) > 0.1,
                wg.sqrt(1.0 + wg.exp(-(s_5 * s_5)) * wg.exp(-(s_5 * s_5))) - 1.0), maximum_iterations=2,
                    checkpoint=policy)
            return (wg.real(s_5) > 0.1, v_13.at[:2].set(v_x[1:]), (i_n < 2) & (i_n % 2 == 0))
        b_16, v_17, b_18 = wg.switch(i_n, [branch_4], s_outer)

        def test_20(i_21, s_22, v_23, s_24):
            return i_21 < 2

        def body_19(i_21, s_22, v_23, s_24):
            s_state.assign(wg.sin(wg.stop_gradient(s_24)))

            def function_25(v_26):
                return wg.sin(v_23[1] + (wg.sqrt(1.0 + s_x * s_x) - 1.0))
            s_28 = function_25(v_23)
            return (i_21 + 1, s_28, wg.sin(v_3.at[i_n % 3].add(s_28)), function_1(function_1(s_28, v_23), v_x))
        i_29, s_30, v_31, s_32 = wg.while_loop(test_20, body_19, (1, wg.sin(s_x) * wg.cos(s_state * 1.0),
            0.5 * (v_3 + v_17), literal(0.3)), checkpoint=policy)
        v_33 = v_outer.at[1].set(s_state * 1.0)
        return wg.real(0.5 * s_x + 0.75 * s_30 + 1 * s_32 + wg.sum(0.3 * v_x * v_outer) +
            wg.sum(0.55 * v_3 * v_outer) + wg.sum(0.8 * v_17 * v_outer) + wg.sum(1.05 * v_31 * v_outer) +
                wg.sum(1.3 * v_33 * v_outer))
    return program
"""
