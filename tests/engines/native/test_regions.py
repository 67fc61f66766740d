"""Loops, branches and buffers as machine code, beside the same programs on NumPy's kernels: values and gradients."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._passes import optimise

RNG = np.random.default_rng(5)
SMALL, LARGE = RNG.normal(size=5), RNG.normal(size=60)
MATRIX = RNG.normal(size=(6, 40))


def swapped(x: Any) -> Any:
    """Variables of a loop that change places: each is the other's next value."""
    a, b = wg.fori_loop(0, 5, lambda i, c: (c[1], c[0] * 1.5), (x, wg.cos(x)))
    return wg.sum(a * b)


def turned(x: Any) -> Any:
    """Three in a circle, one of them changed in place."""

    def step(i: Any, c: Any) -> Any:
        a, b, d = c
        return b, d.at[i].set(wg.sum(a)), a

    a, b, d = wg.fori_loop(0, 5, step, (x, x * 2.0, wg.sin(x)))
    return wg.sum(a * b + d)


def written(x: Any) -> Any:
    """A scan that writes into its variable, element by element."""

    def step(c: Any, row: Any) -> Any:
        c = c.at[2].add(wg.sum(row)).at[0].set(row[1])
        return c, wg.max(c)

    last, tops = wg.scan(step, x, wg.outer(wg.sin(x), x))
    return wg.sum(last * last) + wg.sum(tops)


def stacked(x: Any) -> Any:
    last, rows = wg.scan(lambda c, row: (wg.tanh(c * row + 0.1), c * row), wg.cos(x), wg.outer(x, x), reverse=True)
    return wg.sum(last) + wg.sum(rows * rows)


def unused_rows(x: Any) -> Any:
    return wg.sum(wg.scan(lambda c, row: (c * 0.5 + row, c), x, wg.outer(x, x))[0])


def until(x: Any) -> Any:
    """A while loop whose number of steps depends on the values."""

    def test(c: Any) -> Any:
        return wg.sum(c * c) < 1e4

    return wg.sum(wg.while_loop(test, lambda c: c * 1.3 + 0.1 * wg.sin(c), x))


def nested(x: Any) -> Any:
    def inner(c: Any) -> Any:
        return wg.fori_loop(0, 3, lambda j, d: d + 0.1 * wg.sin(d), c)

    return wg.sum(wg.fori_loop(0, 4, lambda i, c: inner(c) * 0.9, x) ** 2)


def chosen(x: Any) -> Any:
    """A branch in a loop, both of whose sides give large values."""

    def step(i: Any, c: Any) -> Any:
        return wg.cond(wg.sum(c) > 0.0, lambda: c * 0.5 - 0.3, lambda: wg.exp(c * 0.1))

    return wg.sum(wg.fori_loop(0, 6, step, x))


def switched(x: Any) -> Any:
    branches = [lambda y: y * 2.0, wg.sin, lambda y: y * y, lambda y: wg.cumsum(y, axis=0)]
    return wg.sum(wg.fori_loop(0, 6, lambda i, c: c + 0.1 * wg.switch(i, branches, c), x))


def buffered(x: Any) -> Any:
    """A buffer that is written in a loop and read behind it."""
    n = x.shape[0]
    held = wg.buffer(wg.zeros_like(x))

    def step(i: Any, c: Any) -> Any:
        held[i] = c * x[i]
        return wg.sin(c) + held[i]

    last = wg.fori_loop(0, n, step, wg.sum(x))
    return last + wg.sum(held.value() ** 2) if callable(getattr(held, "value", None)) else last


def kept(x: Any) -> Any:
    """Large values of each step are kept for the backward pass, and a matrix that does not change is not."""
    weight = wg.outer(x, x) * 0.01
    return wg.sum(wg.fori_loop(0, 5, lambda i, c: wg.tanh(weight @ c) + wg.exp(-c * c), x))


def moved(x: Any) -> Any:
    """Elements moved about: parts put together, spread, turned, repeated."""
    y = wg.concatenate([x[1:], x[:1]]) * wg.flip(x, axis=0)
    z = wg.pad(y[::2], (2, 1))
    table = wg.outer(z, x)
    return wg.sum(wg.transpose(table)[1:, ::2] * 2.0) + wg.sum(wg.max(table, axis=0)) + wg.sum(wg.tril(wg.outer(x, y)))


def normalised(x: Any) -> Any:
    table = wg.outer(x, wg.sin(x))
    rows = table - wg.mean(table, axis=1, keepdims=True)
    columns = rows / (1.0 + wg.std(rows, axis=0))
    return wg.sum(wg.nn.softmax(columns, axis=1) * table) + wg.special.logsumexp(table)


def gathered(x: Any) -> Any:
    places = wg.argsort(x, axis=0)
    y = wg.take(x, places, axis=0)
    return wg.sum(wg.cumsum(y, axis=0) * x) + wg.sum(wg.sort(x * x, axis=0)[-2:]) + y[wg.argmax(x)]


PROGRAMS: list[Callable[[Any], Any]] = [
    swapped, turned, written, stacked, unused_rows, until, nested, chosen, switched, buffered, kept, moved, normalised,
    gathered,
]  # fmt: skip


@pytest.mark.parametrize("x", [SMALL, LARGE], ids=["in registers", "in arrays"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(f: Callable[[Any], Any], x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    value, slope = wg.function(wg.value_and_grad(f))(x)
    monkeypatch.setenv("WENGERT_JIT", "0")
    wanted, wanted_slope = wg.function(wg.value_and_grad(f))(x)
    # sums in another order, functions to a few units in the last place
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(slope, wanted_slope, rtol=1e-11, atol=1e-11 * np.max(np.abs(wanted_slope)))


@pytest.mark.parametrize("f", [nested, chosen, kept], ids=lambda f: f.__name__)
def test_second_derivatives(f: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def curvature(x: Any) -> Any:
        return wg.jvp(wg.grad(f), (x,), (wg.ops.ones_like(x),))[1]

    found = wg.function(curvature)(SMALL)
    monkeypatch.setenv("WENGERT_JIT", "0")
    np.testing.assert_allclose(found, wg.function(curvature)(SMALL), rtol=1e-10)  # two sums, one in the other


def test_a_history_beyond_the_budget_is_numpys_matter() -> None:
    """The kernels know snapshots: the same gradient, in less memory."""
    x = LARGE.repeat(50)
    f = wg.function(wg.grad(lambda x: wg.sum(wg.fori_loop(0, 40, lambda i, c: wg.sin(c) * 1.1, x))))
    wanted = f(x)
    wg.set_memory_budget(200_000)
    try:
        np.testing.assert_allclose(f(x), wanted, rtol=1e-12)
    finally:
        wg.set_memory_budget(2 * 1024**3)


def test_a_loop_writes_in_place() -> None:
    """A step that writes one element of many does nothing to the others."""
    traced = wg.function(lambda x: wg.fori_loop(0, 100, lambda i, c: c.at[i].set(1.0), x)).trace(np.zeros(10_000))
    loops = str(lowered(ready(optimise(traced)), "f").function)
    step = loops[loops.index("poll") :].split("\n  copy")[0]
    assert "poll" in step
    assert "for" not in step, loops
    assert "copy" not in step, loops


def test_the_backward_pass_writes_in_place() -> None:
    """What a step back reads of a cotangent it reads before it overwrites an element of it."""

    def f(x: Any) -> Any:
        return wg.sum(wg.fori_loop(0, 100, lambda i, c: c.at[i].set(wg.sin(c[i + 1])), x) ** 2)

    x = RNG.normal(size=10_000)
    loops = str(lowered(ready(optimise(wg.function(wg.grad(f)).trace(x))), "f").function)
    _, _, back = loops.split("poll")
    step = "\n".join(takewhile(lambda line: line.startswith("    "), back.split("\n")[1:]))
    assert "cos.f64" in step and "for" not in step and "copy" not in step, loops
    np.testing.assert_allclose(wg.function(wg.grad(f))(x), wg.grad(f)(x), rtol=1e-13)


# -- what invariants decide -------------------------------------------------------------------------------------------


def with_invariants(x: Any, c: Any) -> Any:
    """Of each step, exp and the sum depend on an invariant alone; cos(c) does not."""

    def step(i: Any, c: Any) -> Any:
        return 0.5 * wg.cos(c) + wg.exp(2.0 * x) * 3.0 + wg.sum(wg.sin(x))

    return wg.sum(wg.fori_loop(0, 7, step, c))


def products_of_invariants(x: Any, c: Any) -> Any:
    """A product of matrices and its slices, read at each step and in another order."""

    def step(c: Any, row: Any) -> Any:
        found = wg.matmul(wg.outer(x, x), wg.sin(x))
        return wg.tanh(c * row + found[::-1]), wg.sum(found[3:] * c[3:])

    last, rows = wg.scan(step, c, wg.outer(c, c)[:4])
    return wg.sum(last) + wg.sum(rows)


def until_invariants_say(x: Any, c: Any) -> Any:
    """None of the steps is taken where the first test says so; their invariants cannot fail."""
    limit = wg.sum(c * c) + 3.0
    return wg.sum(wg.while_loop(lambda y: wg.sum(y * y) < limit, lambda y: y + 0.1 * wg.log(x), c))


def total_of_products(x: Any, c: Any) -> Any:
    """The cotangent of the total stays, and so does its product with the matrix."""
    matrix = wg.outer(wg.sin(c), c)
    return wg.fori_loop(0, 9, lambda i, total: total + wg.sum(wg.matmul(matrix, x * (i + 1.0)) ** 2), 0.0)


def total_inside(x: Any, c: Any) -> Any:
    """What goes round both loops and is of no use to slopes but by one of two."""

    def inner(i: Any, state: Any) -> Any:
        y, total, other = state
        return wg.sin(y), total + wg.sum(y * y), other + total

    def outer(i: Any, state: Any) -> Any:
        return wg.fori_loop(0, 3, inner, state)

    return wg.fori_loop(0, 4, outer, (x, wg.sum(c), 0.0))[1]


@pytest.mark.parametrize(
    "f", [with_invariants, products_of_invariants, until_invariants_say, total_of_products, total_inside]
)
@pytest.mark.parametrize("form", [wg.value_and_grad, lambda f, **k: wg.grad(lambda *a: wg.sum(wg.grad(f)(*a)), **k)])
def test_invariants_beside_numpys_kernels(f: Any, form: Any) -> None:
    x, c = RNG.uniform(0.1, 0.5, size=40), RNG.normal(size=40)
    found = wg.tree.leaves(wg.function(form(f, argnums=(0, 1)))(x, c))
    for got, wanted in zip(found, wg.tree.leaves(form(f, argnums=(0, 1))(x, c)), strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-11, atol=1e-12)


def test_what_invariants_decide_is_computed_once() -> None:
    traced = wg.function(with_invariants).trace(RNG.normal(size=500), RNG.normal(size=500))
    loops = str(lowered(ready(optimise(traced)), "f").function)
    before, steps = loops.split("poll", 1)
    assert "exp.f64" in before and "sin.f64" in before and "cos.f64" in steps
    assert "exp.f64" not in steps and "sin.f64" not in steps


def loops_of(f: Any, *arguments: Any) -> str:
    return str(lowered(ready(optimise(wg.function(f).trace(*arguments))), "f").function)


def test_what_no_result_needs_does_not_go_round() -> None:
    """The gradient needs sin and not cos: of the total, which only the value needs, nothing is left."""

    def f(x: Any, is_while: bool) -> Any:
        def step(i: Any, total: Any) -> Any:
            return total + wg.sum(wg.cos(x * (1.0 + i)))

        if is_while:
            return wg.while_loop(lambda i, total: i < 50, lambda i, total: (i + 1, step(i, total)), (0, 0.0))[1]
        return wg.fori_loop(0, 50, step, 0.0)

    x = RNG.normal(size=30)
    for is_while in (False, True):
        value, slope = loops_of(lambda x, w=is_while: f(x, w), x), loops_of(wg.grad(lambda x, w=is_while: f(x, w)), x)
        assert "cos.f64" in value and "cos.f64" not in slope and "sin.f64" in slope
        slope = wg.function(wg.grad(lambda x, w=is_while: f(x, w)))(x)
        np.testing.assert_allclose(slope, wg.grad(lambda x, w=is_while: f(x, w))(x), rtol=1e-12)


def test_what_goes_round_as_it_is_decides_before_the_steps() -> None:
    x = RNG.normal(size=40)

    def f(x: Any) -> Any:
        return wg.fori_loop(0, 9, lambda i, total: total + wg.sum(wg.cumsum(x * (1.0 + i))), 0.0)

    back = loops_of(wg.grad(f), x).rsplit("poll", 1)[1]
    assert "add.f64" in back and back.count("for ") <= 1, back
    np.testing.assert_allclose(wg.function(wg.grad(f))(x), wg.grad(f)(x), rtol=1e-12)


def test_what_nothing_needs_raises_all_the_same() -> None:
    def f(x: Any) -> Any:
        return wg.fori_loop(0, 9, lambda i, c: (c[0] * 1.5, c[1] + x[i]), (wg.sum(x), 0.0))[0]

    for form in (f, wg.grad(f)):
        with pytest.raises(IndexError):
            form(np.ones(5))
        with pytest.raises(IndexError):
            wg.function(form)(np.ones(5))


def test_bounds_of_many_loops_are_looked_at_in_machine_code() -> None:
    def f(x: Any, most: Any) -> Any:
        def bounded(x: Any, most: Any) -> Any:
            return wg.while_loop(lambda y: y < 100.0, lambda y: y * 2.0, x, maximum_iterations=most)

        return wg.fori_loop(0, 3, lambda i, y: wg.vmap(bounded)(y, most) - 1.0, x)

    compiled = wg.function(f)
    x = np.array([1.0, 2.0, 3.0])
    for most in ([1, 0, 9], [4, 4, 4]):
        np.testing.assert_array_equal(compiled(x, np.array(most)), f(x, np.array(most)))
    assert not [part for part in compiled.report(x, np.array([1, 0, 9])).parts if part.by != "machine code"]
    with pytest.raises(ValueError, match="negative"):
        compiled(x, np.array([1, -1, 9]))


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("taken", [0, 1])
def test_the_backward_pass_where_a_branch_holds_a_loop_of_no_steps(taken: int, is_nested: bool) -> None:
    def no_steps(x: Any) -> Any:
        nothing = wg.tensor(np.zeros(0))
        last, stacked = wg.scan(lambda c, z: (c * z, wg.sin(c * z)), x, nothing)
        return last * 3.0 + wg.sum(stacked)

    def f(k: Any, x: Any) -> Any:
        inner = wg.cond(x > 0.0, lambda: no_steps(x), lambda: x * x) if is_nested else None
        return wg.switch(k, [lambda: no_steps(x) if inner is None else inner, lambda: x * 2.0])

    found = wg.grad(wg.function(f), argnums=1)(np.array(taken), np.float64(2.0))
    assert found == [3.0, 2.0][taken]


@pytest.mark.parametrize("exponents", [np.array([1, 2, 3]), np.int8([1, 2, 3])], ids=["int64", "int8"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_gradient_of_ldexp_compiles_in_each_dtype(dtype: str, exponents: Any) -> None:
    x = np.array([1.0, 2.0, 3.0], dtype)
    gradient = wg.function(wg.grad(lambda x, n: wg.sum(wg.ops.ldexp(x, n))))(x, exponents)
    assert gradient.dtype == dtype
    np.testing.assert_array_equal(gradient, [2.0, 4.0, 8.0])


# -- loops of no steps ------------------------------------------------------------------------------------------------


def _scanned(x: Any, reverse: bool = False) -> Any:
    last, stacked = wg.scan(lambda c, a: (wg.sin(c) * a, wg.cos(c * a)), x, np.zeros((0, *x.shape)), reverse=reverse)
    return wg.sum(last) * 1.5 + wg.sum(stacked)


def _of_no_length(x: Any) -> Any:
    last, stacked = wg.scan(lambda c, _: (wg.sin(c) * x, wg.sum(c)), x, length=0)
    return wg.sum(last) * 2.0 + wg.sum(stacked)


NO_STEPS: dict[str, Callable[[Any], Any]] = {
    "scan": _scanned,
    "scan, reversed": lambda x: _scanned(x, True),
    "scan of no length": _of_no_length,
    "fori": lambda x: wg.sum(wg.fori_loop(0, 0, lambda i, c: wg.sin(c) * x + i, x)) * 2.0,
    "fori downwards": lambda x: wg.sum(wg.fori_loop(3, 1, lambda i, c: wg.sin(c) * x, x)),
    "while": lambda x: wg.sum(wg.while_loop(lambda v: wg.sum(v) < -100.0, lambda v: wg.sin(v) * x, x)) * 2.0,
    "while never": lambda x: wg.sum(wg.while_loop(lambda i, v: i < 0, lambda i, v: (i + 1, wg.sin(v) * x), (0, x))[1]),
    "while at most no times": lambda x: wg.sum(
        wg.while_loop(lambda v: True, lambda v: wg.sin(v) * x, x, maximum_iterations=0)
    ),
    "map": lambda x: wg.sum(wg.map(lambda a: wg.sin(a) * wg.sum(x), wg.ops.reshape(x, (-1,))[:0])) + wg.sum(x * x),
}
AROUND: dict[str, Callable[[Any, Any, Any], Any]] = {
    "nothing": lambda z, k, x: z(x),
    "a branch": lambda z, k, x: wg.switch(k, [lambda: z(x), lambda: wg.sum(x * x * x)]),
    "branches": lambda z, k, x: wg.switch(k, [lambda: wg.sum(x), lambda: z(x), lambda: z(x * x)]),
    "a loop": lambda z, k, x: wg.fori_loop(0, 3, lambda i, c: c * 0.5 + z(x * c), 1.0),
    "a branch in a loop": lambda z, k, x: wg.fori_loop(
        0, 3, lambda i, c: wg.cond(i == k, lambda: c * 0.5 + z(x * c), lambda: c + wg.sum(x) * 0.1), 1.0
    ),
    "stacked results": lambda z, k, x: wg.sum(wg.scan(lambda c, a: (c * 1.1, z(x * c) * a), 1.0, np.arange(3.0))[1]),
    "a loop of no steps": lambda z, k, x: wg.fori_loop(0, 0, lambda i, c: c + z(x * c), 1.0) * wg.sum(x * x),
    "a loop until": lambda z, k, x: wg.while_loop(
        lambda i, c: i < 2, lambda i, c: (i + 1, wg.switch(k, [lambda: z(x * c), lambda: c * wg.sum(x)])), (0, 1.0)
    )[1],
}  # fmt: skip


@pytest.mark.sampled(16)
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("loop", NO_STEPS)
def test_loops_of_no_steps_compile_wherever_they_are(loop: str, around: str) -> None:
    """Taken or not, with derivatives of both orders, inside and around compiled functions; of numbers and arrays by
    iterations.
    """
    is_array = ([*NO_STEPS].index(loop) + [*AROUND].index(around)) % 2
    x: Any = np.linspace(0.1, 0.9, 80) if is_array else np.float64(0.7)

    def f(k: Any, x: Any) -> Any:
        return AROUND[around](NO_STEPS[loop], k, x)

    dots = np.ones_like(x)
    for k in (np.int64(0), np.int64(1)):
        slope = wg.grad(lambda x, k=k: f(k, x))(x)
        curvature = wg.jvp(wg.grad(lambda x, k=k: f(k, x)), (x,), (dots,))[1]
        second = wg.grad(lambda x, k=k: wg.sum(wg.grad(wg.function(f), 1)(k, x) * dots))(x)
        hvp = wg.function(lambda k, x: wg.jvp(wg.grad(lambda x: f(k, x)), (x,), (dots,))[1])
        for found, wanted in (
            (wg.function(f)(k, x), f(k, wg.tensor(x))), (wg.function(wg.grad(f, 1))(k, x), slope),
            (wg.grad(wg.function(f), 1)(k, x), slope), (hvp(k, x), curvature), (second, curvature),
        ):  # fmt: skip
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)  # sums in another order


@pytest.mark.parametrize("policy", ["all", "sqrt", "auto", 2])
def test_sums_of_a_loop_inside_a_loop_inside_a_branch_have_known_shapes(policy: Any) -> None:
    """The step back knows the shape of a cotangent; that of the loop's variable is known at run time only."""

    def f(x: Any, n: Any) -> Any:
        def branch(v: Any) -> Any:
            def step(i: Any, u: Any) -> Any:
                return i + 1, wg.map(lambda t: wg.sum(v * u) * t, wg.stack([0.4, 0.2, 0.3]))

            return wg.while_loop(lambda i, u: i < n, step, (0, v), checkpoint=policy)[1][1]

        return wg.cond(wg.sum(x) > 100.0, lambda v: v[0], branch, x)

    gradient, x = wg.grad(f), np.array([0.2, 0.1, 0.3])
    for n in (0, 1, 3):
        np.testing.assert_allclose(wg.function(gradient)(x, np.int64(n)), gradient(x, np.int64(n)), rtol=1e-12)
