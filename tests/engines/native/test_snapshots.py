"""Loops that keep snapshots, as machine code: the gradients of a full history, in less memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from tests.support.naive_loops import run
from tests.support.native_checks import numpy_only
from wengert._engines import regions
from wengert._engines.native import engine
from wengert._engines.native.ir.builder import Builder
from wengert._engines.native.lower.snapshots import first_stretch, root
from wengert._engines.native.run.shared_histories import Passed
from wengert._transforms.snapshots import _first_stretch

SMALL = np.array([0.5, 1.0, 1.5])
WIDE = np.linspace(0.1, 1.0, 37)
POLICIES = ["sqrt", 1, 2, 3, 5, 60]


def counted(n: int, policy: Any) -> Callable[[Any], Any]:
    def step(i: Any, c: Any) -> Any:
        return c + 0.05 * wg.sin(c * (i + 1.0))

    return lambda x: wg.sum(wg.fori_loop(0, n, step, x, checkpoint=policy))


def until(n: int, policy: Any) -> Callable[[Any], Any]:
    """The number of steps is not known beforehand; a variable that stays as it is is not in the snapshots."""

    def test(i: Any, c: Any, k: Any) -> Any:
        return (i < n) & (wg.sum(c * 0.0) < 1.0)

    def step(i: Any, c: Any, k: Any) -> Any:
        return i + 1, c + 0.05 * wg.sin(c * k) + 0.01 * wg.sum(wg.exp(-c)), k

    def f(x: Any) -> Any:
        _, c, k = wg.while_loop(test, step, (0, x, x * 2.0), checkpoint=policy)
        return wg.sum(c * k)

    return f


def scanned(n: int, policy: Any) -> Callable[[Any], Any]:
    """Slices of what is scanned, and stacked results, in the other direction."""

    def step(c: Any, row: Any) -> Any:
        return wg.tanh(c * 0.9 + row), wg.sum(c * row)

    def f(x: Any) -> Any:
        rows = wg.outer(wg.linspace(0.0, 1.0, n), x)
        last, tops = wg.scan(step, x, rows, checkpoint=policy, reverse=True)
        return wg.sum(last) + wg.sum(tops * tops)

    return f


def nested(n: int, policy: Any) -> Callable[[Any], Any]:
    def inner(c: Any) -> Any:
        return wg.fori_loop(0, 4, lambda j, d: d + 0.1 * wg.sin(d), c, checkpoint=policy)

    return lambda x: wg.sum(wg.fori_loop(0, n, lambda i, c: inner(c) * 0.9, x, checkpoint=policy))


def mixed(n: int, policy: Any) -> Callable[[Any], Any]:
    """Snapshots inside a loop that keeps everything."""

    def inner(c: Any) -> Any:
        return wg.while_loop(lambda d: wg.sum(d * d) < 30.0, lambda d: d * 1.1 + 0.01 * wg.sin(d), c, checkpoint=policy)

    return lambda x: wg.sum(wg.fori_loop(0, n, lambda i, c: inner(c) * 0.5, x))


def summed(n: int, policy: Any) -> Callable[[Any], Any]:
    """No slope needs the totals, nor their own values: steps do not compute them."""

    def step(i: Any, state: Any) -> Any:
        c, total = state
        return wg.sin(c) * 1.1, total + c * c

    return lambda x: wg.sum(wg.fori_loop(0, n, step, (x, wg.cos(x)), checkpoint=policy)[1])


PROGRAMS = [counted, until, scanned, nested, mixed, summed]
CASES = [(make, n, SMALL) for make in PROGRAMS for n in (0, 1, 2, 3, 7, 50)] + [(make, 23, WIDE) for make in PROGRAMS]


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """NumPy's kernels run no step."""

    def refused(self: Any, *arguments: Any) -> None:
        raise AssertionError("a step returned to Python")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regions._LoopRun, "_run_steps", refused)
        patch.setattr(regions._LoopBackRun, "_pull_saved", refused)
        patch.setattr(engine, "IS_STRICT", True)
        patch.setattr(engine, "VERIFIES", True)
        yield


@pytest.mark.parametrize(("make", "n", "x"), CASES, ids=[f"{m.__name__} {n} {len(x)}" for m, n, x in CASES])
def test_policies_agree(make: Any, n: int, x: Any, native: None) -> None:
    wanted = wg.function(wg.grad(make(n, "auto")))(x)
    for policy in POLICIES if x is SMALL else ("sqrt", 3):
        found = wg.function(wg.grad(make(n, policy)))(x)
        # each policy is a function of its own to LLVM, which may sum up in another order
        np.testing.assert_allclose(found, wanted, rtol=1e-13, err_msg=str(policy))


@pytest.mark.parametrize("policy", ["sqrt", 3])
@pytest.mark.parametrize("make", PROGRAMS)
def test_histories_of_snapshots_are_passed_on(make: Any, policy: Any, native: None) -> None:
    """The backward pass is a function of its own, and may go twice."""
    for x in (SMALL, WIDE):
        y = wg.tensor(x)
        with wg.GradientTape(persistent=True) as tape:
            tape.watch(y)
            z = wg.function(make(20, policy))(y)
        first, second = tape.gradient(z, y).numpy(), tape.gradient(z, y).numpy()
        np.testing.assert_array_equal(first, second)
        np.testing.assert_allclose(first, wg.function(wg.grad(make(20, "auto")))(x), rtol=1e-13)  # as above


@pytest.mark.parametrize("policy", ["sqrt", 3])
def test_numpys_kernels_go_back_from_snapshots_of_machine_code(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = engine.Code.__init__

    def failing(self: Any, graph: Any, kernels: Any, kinds: Any = (), *others: Any) -> None:
        if kinds:
            raise RuntimeError("no backward pass")
        made(self, graph, kernels, kinds, *others)

    monkeypatch.setattr(engine.Code, "__init__", failing)
    monkeypatch.setattr(engine, "IS_STRICT", False)
    for make in (counted, until, scanned):
        for x in (SMALL, WIDE):
            found = wg.grad(wg.function(make(20, policy)))(x)
            with numpy_only():
                wanted = wg.grad(wg.function(make(20, policy)))(x)
            np.testing.assert_allclose(found, wanted, rtol=1e-12)  # sums in another order


@pytest.mark.parametrize("is_inside", [True, False])
@pytest.mark.parametrize("make", [counted, until, nested])
def test_a_history_beyond_the_budget_becomes_snapshots(make: Any, is_inside: bool, native: None) -> None:
    """Still in machine code."""
    f = wg.function(wg.grad(make(300, "auto"))) if is_inside else wg.grad(wg.function(make(300, "auto")))
    x = np.linspace(0.1, 1.0, 500)
    wanted = f(x)
    wg.set_memory_budget(200_000)
    try:
        np.testing.assert_allclose(f(x), wanted, rtol=1e-13)  # as above
        np.testing.assert_array_equal(f(x), f(x))
    finally:
        wg.set_memory_budget(2 * 1024**3)


def test_snapshots_take_less_memory(native: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a history takes: arrays of so many bytes between the two halves of a gradient."""
    seen: list[Any] = []
    made = Passed.__init__

    def noting(self: Any, *arguments: Any) -> None:
        made(self, *arguments)
        seen.append(self)

    monkeypatch.setattr(Passed, "__init__", noting)
    taken: dict[Any, int] = {}
    for policy in ("auto", "sqrt", 5):
        seen.clear()
        wg.grad(wg.function(counted(2000, policy)))(WIDE)
        taken[policy] = sum(a.nbytes for a in seen[0].arrays)
    row = WIDE.nbytes + 16
    assert taken["auto"] >= 2000 * WIDE.nbytes
    assert 0 < taken["sqrt"] <= 46 * row + 100
    assert 0 < taken[5] <= 5 * row + 100


def test_stretches_are_those_of_the_schedule() -> None:
    b = Builder()
    length, slots = b.reg("i64"), b.reg("i64")
    b.set_size(0, first_stretch(b, length, slots))
    function = b.function("f", [], [], [length, slots])
    for n in (2, 3, 5, 17, 100, 1000, 123_456):
        for s in (2, 3, 7, 50, 2000):
            sizes = [n, s]
            run(function, [], [], sizes)
            assert sizes[0] == _first_stretch(n, s), (n, s)


def test_roots_are_cut() -> None:
    b = Builder()
    n = b.reg("i64")
    b.set_size(0, root(b, n))
    function = b.function("f", [], [], [n])
    for value in (0, 1, 2, 3, 4, 15, 16, 17, 10**12 - 1, 10**12):
        sizes = [value]
        run(function, [], [], sizes)
        assert sizes[0] == int(np.sqrt(value)) == root(b, value)
