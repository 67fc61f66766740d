"""Gradients of loops without a return to Python per step: in one function, or in two that pass histories on."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from tests.support.native_checks import numpy_only
from wengert._engines import regions
from wengert._engines.native import engine
from wengert._engines.native.lower.history_keepers import ROOM
from wengert._engines.native.lower.history_templates import Number
from wengert._engines.native.run import memory
from wengert._engines.native.run.shared_histories import Passed

X = np.array([0.5, 1.0, 1.5])
WIDE = np.linspace(0.2, 1.0, 40)
V = np.array([1.0, -2.0, 0.5])


def counted(x: Any) -> Any:
    return wg.sum(wg.fori_loop(0, 30, lambda i, c: c + 0.05 * wg.sin(c * (i + 1.0)), x))


def scanned(x: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        return wg.tanh(c * 0.9 + row), c * row

    last, rows = wg.scan(step, x, wg.outer(wg.linspace(0.0, 1.0, 20), x))
    return wg.sum(last) + wg.sum(rows * rows)


def until(x: Any) -> Any:
    return wg.sum(wg.while_loop(lambda c: wg.sum(c * c) < 1e3, lambda c: c * 1.1 + 0.01 * wg.sin(c), x))


def everything(x: Any) -> Any:
    """Stacks of a length that only the run tells."""

    def step(c: Any) -> Any:
        return c * 1.1 + 0.01 * wg.sin(c)

    return wg.sum(wg.while_loop(lambda c: wg.sum(c * c) < 1e3, step, x, checkpoint="all"))


def chosen(x: Any) -> Any:
    def step(i: Any, c: Any) -> Any:
        return wg.cond(wg.sum(c) > 0.0, lambda: c * 0.9 - 0.3, lambda: wg.exp(c * 0.1))

    return wg.sum(wg.fori_loop(0, 25, step, x))


def nested(x: Any) -> Any:
    def inner(c: Any) -> Any:
        return wg.fori_loop(0, 4, lambda j, d: d + 0.1 * wg.sin(d), c)

    return wg.sum(wg.fori_loop(0, 5, lambda i, c: inner(c) * 0.9, x))


def three(x: Any) -> Any:
    def innermost(e: Any, j: Any) -> Any:
        return wg.fori_loop(0, 3, lambda k, e: e + 0.01 * wg.sin(e * (j + 1.0)), e)

    def middle(c: Any) -> Any:
        return wg.fori_loop(0, 3, lambda j, d: innermost(d, j) * c, c)

    return wg.sum(wg.fori_loop(0, 4, lambda i, c: middle(c) * 0.5, x))


def inner_while(x: Any) -> Any:
    """A loop inside whose number of steps differs each time."""

    def step(i: Any, c: Any) -> Any:
        return wg.while_loop(lambda d: wg.sum(d * d) < 9.0 * (i + 1.0), lambda d: d * 1.1 + 0.01 * wg.cos(d), c) * 0.5

    return wg.sum(wg.fori_loop(0, 6, step, x))


def never(x: Any) -> Any:
    """Loops that run no step, in one that does."""

    def step(i: Any, c: Any) -> Any:
        return wg.while_loop(lambda d: wg.sum(d * d) < -1.0, lambda d: d * 2.0, c) * 0.9 + wg.fori_loop(
            0, i - 2, lambda j, d: wg.sin(d), c
        )

    return wg.sum(wg.fori_loop(0, 4, step, x))


def in_branches(x: Any) -> Any:
    """Loops in the branches of a loop, of different kinds."""
    branches = [
        lambda c: wg.fori_loop(0, 3, lambda j, d: d * 1.01 + 0.1 * wg.sin(d), c),
        lambda c: c * c * 0.1,
        lambda c: wg.while_loop(lambda d: wg.sum(d * d) < 8.0, lambda d: d * 1.2, c),
    ]
    return wg.sum(wg.fori_loop(0, 12, lambda i, c: wg.switch(i % 3, branches, c), x))


def branch_of_loop(x: Any) -> Any:
    def loop() -> Any:
        return wg.sum(wg.fori_loop(0, 10, lambda i, c: c + 0.01 * wg.sin(c), x))

    return wg.cond(wg.sum(x) > 0.0, loop, lambda: wg.sum(x * x))


def stacks_of_branch(x: Any) -> Any:
    """Stacks of a length that only the branch tells, for its backward pass; none in the other branch."""

    def loop() -> Any:
        return wg.sum(wg.while_loop(lambda c: wg.sum(c * c) < 1e3, lambda c: c * 1.1, x * x, checkpoint="all"))

    return wg.cond(wg.sum(x) < 20.0, loop, lambda: wg.sum(x * x))


def descent(x: Any) -> Any:
    """A loop whose step takes a gradient of a loop."""

    def inner(c: Any) -> Any:
        return wg.sum(wg.fori_loop(0, 5, lambda j, d: d + 0.1 * wg.sin(d), c) ** 2)

    return wg.sum(wg.fori_loop(0, 6, lambda i, c: c - 0.01 * wg.grad(inner)(c), x))


def unchanged(x: Any) -> Any:
    """A variable that stays as it is is saved once."""
    a, b = wg.fori_loop(0, 7, lambda i, c: (wg.sin(c[0] * c[1]) + c[0], c[1]), (x, x * 2.0))
    return wg.sum(a * b)


PROGRAMS: list[Callable[[Any], Any]] = [
    counted, scanned, until, everything, chosen, nested, three, inner_while, never, in_branches, branch_of_loop, descent,
    unchanged, stacks_of_branch,
]  # fmt: skip


def of_tape(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        y = wg.tensor(x)
        with wg.GradientTape() as tape:
            tape.watch(y)
            z = f(y)
        return tape.gradient(z, y).numpy()

    return run


def pulled(g: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: wg.vjp(g, x)[1](1.0)


WAYS: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "inside": lambda f: wg.function(wg.value_and_grad(f)),
    "around": lambda f: wg.value_and_grad(wg.function(f)),
    "tape": lambda f: of_tape(wg.function(f)),
    "vjp": lambda f: pulled(wg.function(f)),
    "jvp": lambda f: (lambda g: lambda x: wg.jvp(g, (x,), (x * 0.5,)))(wg.function(f)),
    "jvp inside": lambda f: wg.function(lambda x: wg.jvp(f, (x,), (x * 0.5,))),
    "linearize": lambda f: (lambda g: lambda x: wg.linearize(g, x)[1](x * 0.5))(wg.function(f)),
    "second": lambda f: wg.function(lambda x: wg.jvp(wg.grad(f), (x,), (x * 0.5,))[1]),
    "second around": lambda f: wg.grad(wg.function(lambda x: wg.sum(wg.grad(f)(x) * x))),
}
# Stacks whose rows are of sizes that only the rows tell.
LEFT = {("second around", descent)}


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of steps that NumPy's kernels ran, and errors where code cannot be made."""
    seen: list[int] = []
    run, pull = regions._LoopRun._run_steps, regions._LoopBackRun._pull_saved

    def run_steps(self: Any) -> None:
        run(self)
        seen.append(self.steps)

    def pull_saved(self: Any, *arguments: Any) -> None:
        seen.append(1)
        pull(self, *arguments)

    monkeypatch.setattr(regions._LoopRun, "_run_steps", run_steps)
    monkeypatch.setattr(regions._LoopBackRun, "_pull_saved", pull_saved)
    monkeypatch.setattr(engine, "IS_STRICT", True)
    monkeypatch.setattr(engine, "VERIFIES", True)
    return seen


def leaves(result: Any) -> list[Any]:
    return [np.asarray(x) for x in wg.tree.leaves(result)]


CASES = [(way, f, X) for way in WAYS for f in PROGRAMS]  # in registers
CASES += [(way, f, WIDE) for way in ("inside", "around", "second around") for f in PROGRAMS]  # in arrays


@pytest.mark.parametrize(("way", "f", "x"), CASES, ids=[f"{way}, {f.__name__}, {len(x)}" for way, f, x in CASES])
def test_no_way_returns_to_python(way: str, f: Callable[[Any], Any], x: Any, steps: list[int]) -> None:
    run = WAYS[way](f)
    first = leaves(run(x))
    found = leaves(run(x))
    assert not steps or (way, f) in LEFT, steps
    with numpy_only():
        wanted = leaves(WAYS[way](f)(x))
    for one, two, three in zip(first, found, wanted, strict=True):
        np.testing.assert_array_equal(one, two)
        # sums in another order, functions to a few units in the last place
        np.testing.assert_allclose(two, three, rtol=1e-10, atol=1e-10 * np.max(np.abs(three), initial=1e-3))


def test_numpys_kernels_read_histories_of_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The forward half ran as machine code; the backward pass cannot be compiled, say."""
    made = engine.Code.__init__

    def failing(self: Any, graph: Any, kernels: Any, kinds: Any = (), on_failure: Any = None) -> None:
        if kinds:
            raise RuntimeError("no backward pass")
        made(self, graph, kernels, kinds, on_failure)

    monkeypatch.setattr(engine.Code, "__init__", failing)
    monkeypatch.setattr(engine, "IS_STRICT", False)
    for f in PROGRAMS:
        for x in (X, WIDE):
            found = wg.grad(wg.function(f))(x)
            with numpy_only():
                wanted = wg.grad(wg.function(f))(x)
            # sums in another order
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12, err_msg=f.__name__)


def test_what_numpys_kernels_have_kept_goes_to_them(steps: list[int]) -> None:
    """Beyond the memory budget they keep snapshots, and their backward pass is theirs."""
    f = wg.grad(wg.function(lambda x: wg.sum(wg.fori_loop(0, 40, lambda i, c: wg.sin(c) * 1.1, x))))
    x = np.linspace(0.0, 1.0, 2000)
    wanted = f(x)
    assert not steps
    wg.set_memory_budget(200_000)
    try:
        np.testing.assert_allclose(f(x), wanted, rtol=1e-12)  # libmvec's lanes
    finally:
        wg.set_memory_budget(2 * 1024**3)


def test_a_gradient_may_be_taken_twice_from_one_run() -> None:
    y = wg.tensor(X)
    with wg.GradientTape(persistent=True) as tape:
        tape.watch(y)
        z = wg.function(nested)(y)
    one, two = tape.gradient(z, y).numpy(), tape.gradient(z, y).numpy()
    np.testing.assert_array_equal(one, two)


def test_histories_are_freed() -> None:
    """Each run keeps 8 MB until its gradient is known."""
    psutil = pytest.importorskip("psutil", reason="psutil tells the process's memory")
    f = wg.grad(wg.function(lambda x: wg.sum(wg.fori_loop(0, 100, lambda i, c: wg.sin(c), x))))
    x = np.linspace(0.0, 1.0, 10_000)
    f(x)
    gc.collect()
    before = psutil.Process().memory_info().rss
    for _ in range(50):
        f(x)
    assert psutil.Process().memory_info().rss - before < 100e6  # 400 MB, were they kept


def test_a_history_is_of_the_run_that_made_it() -> None:
    """Two runs of one function, their backward passes in the other order."""
    g = wg.function(until)
    (_, one), (_, two) = wg.vjp(g, X), wg.vjp(g, X * 0.1)
    (late,), (early,) = two(1.0), one(1.0)
    np.testing.assert_array_equal(early, wg.grad(g)(X))
    np.testing.assert_array_equal(late, wg.grad(g)(X * 0.1))


@pytest.mark.parametrize("x", [np.full(3, np.nan), np.array([np.inf, 1.0, -0.0])])
def test_nan_and_infinities_go_through(x: Any) -> None:
    for f in (counted, scanned, nested, in_branches):
        found = leaves(wg.value_and_grad(wg.function(f))(x))
        with numpy_only():
            wanted = leaves(wg.value_and_grad(wg.function(f))(x))
        for one, two in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-12)  # libmvec's lanes


def test_numbers_of_templates_are_told_apart() -> None:
    assert Number(0.0) != Number(-0.0)
    assert Number(1) != Number(1.0)
    assert Number(True) != Number(1)
    assert Number(np.nan) == Number(np.nan)
    assert hash(Number(2.5)) == hash(Number(2.5))


def test_one_code_serves_all_runs() -> None:
    f = wg.grad(wg.function(until))
    f(X)
    made: list[Any] = []
    original = engine.Code.__init__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.Code, "__init__", lambda self, *a: (made.append(a), original(self, *a))[1])
        for scale in (0.1, 0.01, 5.0):
            f(X * scale)
    assert not made
    assert Passed.__slots__  # histories are small objects beside their arrays


@pytest.mark.parametrize("policy", ["all", "auto", "sqrt", 3])
@pytest.mark.parametrize("size", [1, 3])
def test_three_loops_in_one_another(policy: Any, size: int) -> None:
    """The outer one keeps stacks of stacks of histories, where it keeps everything."""

    def stepped(x: Any, start: Any, steps: Any) -> Any:
        def outer(i: Any, xs: Any, y: Any) -> Any:
            def middle(c: Any, row: Any) -> Any:
                last, (halves, _) = wg.scan(lambda a, r: (a * r, (a * 0.5, wg.sin(row))), x, xs)
                return wg.tanh(c * last), c * wg.sum(halves)

            _, stacked = wg.scan(middle, xs, xs, checkpoint=policy)
            return i + 1, xs * wg.cos(y), wg.tanh(y * wg.sum(stacked))

        found = wg.while_loop(lambda i, _, __: i < steps, outer, (0, x, start), checkpoint=policy)
        return wg.sum(found[1]) + found[2]

    x, start = np.linspace(0.2, 0.7, size), 0.3
    gradient = wg.grad(stepped, argnums=(0, 1))
    compiled = wg.function(gradient)
    for steps in (0, 1, 3):
        for got, want in zip(compiled(x, start, steps), gradient(x, start, steps), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(0,), (1, 0), (1, 1)])
def test_histories_of_reversed_loops_are_handed_on_whole(shape: tuple[int, ...], reverse: bool) -> None:
    """They fill their last row first. Where there are no elements, NumPy's kernels run the other half."""
    rows = np.array([[0.0], [1.0]])

    def total(x: Any, y: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            return c, wg.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, v + row), (0, y))

        last, (_, found) = wg.scan(step, x, x, reverse=reverse)
        return wg.sum(last * last) + wg.sum(found * found)

    def bent(x: Any, y: Any) -> Any:
        first, second = wg.grad(total, argnums=(0, 1))(x, y)
        return wg.sum(wg.sin(first)) + wg.sum(second)

    gradient = wg.grad(bent)
    np.testing.assert_allclose(
        wg.function(gradient)(rows, np.zeros(shape)), gradient(rows, np.zeros(shape)), rtol=1e-12
    )


STEPS = 40
LONG: dict[str, tuple[Callable[..., Any], Any]] = {
    "known number of steps": (lambda x: wg.fori_loop(0, STEPS, lambda i, c: wg.sin(c) * c, x), None),
    "scan": (lambda x: wg.scan(lambda c, _: (wg.sin(c) * c, None), x, None, length=STEPS)[0], None),
    "number given": (lambda x, n: wg.fori_loop(0, n, lambda i, c: wg.sin(c) * c, x), STEPS),
    "rows given": (
        lambda x, rows: wg.scan(lambda c, r: (wg.sin(c) * c * r, None), x, rows)[0], np.linspace(0.9, 1.0, STEPS)
    ),
}  # fmt: skip


@pytest.mark.parametrize("count", [2_000, 200_000])
@pytest.mark.parametrize("name", LONG)
def test_large_histories_take_what_they_hold(name: str, count: int) -> None:
    """None of their arrays grows step by step, which would leave up to half of it empty, and move what is there."""
    f, other = LONG[name]
    x = np.linspace(0.1, 1.0, count)
    others = () if other is None else (other,)
    gradient = wg.function(wg.grad(lambda x, *others: wg.sum(f(x, *others))))
    wanted = gradient(x, *others)
    memory.trim(0)  # a kept block may be larger than what takes it asks for
    taken = memory.taken_by(lambda: gradient(x, *others))
    kept = 2 + (name == "rows given")  # x, sin(x) and cos(x) are, or less
    assert taken <= (kept * STEPS + 12) * x.nbytes
    wg.set_memory_budget(10 * x.nbytes)
    try:
        np.testing.assert_allclose(gradient(x, *others), wanted, rtol=1e-13)
        memory.trim(0)
        taken = memory.taken_by(lambda: gradient(x, *others))
        assert taken <= 40 * x.nbytes or kept * STEPS * x.nbytes < ROOM  # which are taken in any case
    finally:
        wg.set_memory_budget(2 * 1024**3)
