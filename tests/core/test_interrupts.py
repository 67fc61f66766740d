"""An interrupt (Ctrl-C) at any point of a trace, a gradient or a run: afterwards everything can be used as before.

Python delivers interrupts where functions are entered. So every case is run again and again, interrupted at the first
entry into one of the package's functions, at the second, and so on until a run ends by itself; long cases in steps.
The first instruction of an `__exit__` is such a point, too: there a block is left, and what would close it has not
begun, as with any context that is written in Python. So public functions put back what was open when they were entered. Blocks of
the user's own are none: where a case has one, those points are passed over.
"""

from __future__ import annotations

import gc
import inspect
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._core.budget import BUDGET
from wengert._core.state import STATE
from wengert._core.verifier import verify

PACKAGE = wg.__path__[0]
X = np.array([0.5, 1.5])
_FINALISER = weakref.finalize.__call__.__code__  # of a function written in Python
SLOPES = 2 * X * np.cos(X**2)


def _is_in_finaliser(frame: Any) -> bool:
    for _ in range(5):  # callers: what finalisers do is not deeper than that
        frame = frame and frame.f_back
        if frame and frame.f_code is _FINALISER:
            return True
    return False


def interrupted_at(n: int, run: Callable[[], Any], in_exits: bool) -> bool:
    """Runs with an interrupt at the n-th entry into the package; False if it ended before."""
    count, was_hit = 0, False

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal count, was_hit
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith((PACKAGE, "<wengert")) or was_hit:
            return
        # what a generator raises as it is closed is printed, not raised; so is what a finaliser raises
        if _is_in_finaliser(frame):
            return
        if code.co_flags & inspect.CO_GENERATOR or (code.co_name == "__exit__" and not in_exits):
            return
        count += 1
        if count == n:
            was_hit = True
            raise KeyboardInterrupt

    sys.setprofile(profile)
    try:
        run()
    except KeyboardInterrupt:
        assert was_hit
    finally:
        sys.setprofile(None)
    return was_hit


def interrupt_everywhere(
    case: Callable[[], tuple[Callable[[], Any], Callable[[], None]]], step: int = 1, in_exits: bool = False
) -> None:
    """A case makes what is run, and what must hold after it whether or not it came to its end."""
    n = 1
    collector = gc.get_threshold()
    while True:
        run, check = case()
        was_hit = interrupted_at(n, run, in_exits)
        assert STATE.recorders == () and STATE.reading == ()
        assert STATE.builder is None and STATE.pins is None and not STATE.is_quiet and not STATE.eager_functions
        assert gc.isenabled() and gc.get_threshold() == collector, "the collector rests"
        assert STATE.effects == () and (BUDGET.used, BUDGET.depth, BUDGET.meter) == (0, 0, None)
        check()
        if not was_hit:
            break
        n += step
    assert n > 20 * step


def test_in_a_gradient():
    def case():
        f = wg.grad(lambda x: np.sum(np.sin(x * x)))
        return lambda: f(X), lambda: np.testing.assert_allclose(f(X), SLOPES)

    interrupt_everywhere(case, in_exits=True)


def stateful():
    """A function that reads and writes two Variables."""
    a, b = wg.Variable(1.0), wg.Variable(10.0)

    @wg.function
    def step(x):
        y = wg.sin(x) * a
        a.assign_add(1.0)
        b.assign_sub(x)
        return y + b

    return step, a, b


def require_all_or_nothing(step, a, b, before=(1.0, 10.0)):
    """Both Variables are written or none; and the function goes on from there, in any thread."""
    was_committed = a.numpy() == before[0] + 1
    assert b.numpy() == (before[1] - 0.5 if was_committed else before[1])
    assert was_committed or a.numpy() == before[0]
    start, level = float(a.numpy()), float(b.numpy())
    results = []
    thread = threading.Thread(target=lambda: results.append(step(0.5)))
    thread.start()
    thread.join(20)
    assert results, "the function is locked"
    assert results[0] == pytest.approx(np.sin(0.5) * start + level - 0.5)
    assert a.numpy() == start + 1 and b.numpy() == level - 0.5


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_while_a_function_is_traced_and_compiled(step):
    def case():
        step, a, b = stateful()
        return lambda: step(0.5), lambda: require_all_or_nothing(step, a, b)

    interrupt_everywhere(case, step, in_exits=True)


def test_while_a_compiled_function_runs():
    def case():
        step, a, b = stateful()
        step(0.5)
        return lambda: step(0.5), lambda: require_all_or_nothing(step, a, b, (2.0, 9.5))

    interrupt_everywhere(case)


@pytest.mark.parametrize("step", [23, pytest.param(2, marks=pytest.mark.slow)])
def test_in_the_gradient_of_a_compiled_function(step):
    def case():
        f = wg.function(lambda x: np.sum(np.sin(x * x)))
        return lambda: wg.grad(f)(X), lambda: np.testing.assert_allclose(wg.grad(f)(X), SLOPES)

    interrupt_everywhere(case, step, in_exits=True)


def test_while_gradients_are_built():
    def case():
        graph = wg.Graph()
        with graph.as_default():
            x = graph.add_input((2,), np.dtype(float))
            y = wg.sum(wg.sin(x * x))
        count = len(graph.nodes)

        def run():
            with graph.as_default():
                wg.gradients(y, x)

        def check():
            built = len(graph.nodes)
            with graph.as_default():
                (slopes,) = wg.gradients(y, x)
            assert built in (count, built) and graph.scope is None
            verify(graph)
            with wg.compat.v1.Session(graph) as session:
                np.testing.assert_allclose(session.run(slopes, {x: X}), SLOPES)

        return run, check

    interrupt_everywhere(case, step=2)


def test_while_a_tape_is_asked():
    def case():
        x = wg.tensor(X)
        with wg.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = wg.sin(x * x)
        return lambda: tape.gradient(y, x), lambda: np.testing.assert_allclose(tape.gradient(y, x).numpy(), SLOPES)

    interrupt_everywhere(case, in_exits=True)


def test_while_a_symbolic_gradient_is_computed():
    def gradient():
        return wg.symbolic_gradient([X, 1.0], lambda x: np.sum(np.sin(x * x)))

    case = gradient, lambda: np.testing.assert_allclose(gradient()[0], SLOPES)
    interrupt_everywhere(lambda: case, in_exits=True)


@pytest.mark.parametrize(
    "run",
    [
        lambda f: wg.jacobian(f)(X),
        lambda f: wg.hessian(lambda x: f(x).sum())(X),
        lambda f: wg.jvp(f, (X,), (X,))[1],
        lambda f: wg.vmap(wg.grad(f))(X),
        lambda f: wg.grad(lambda x: wg.fori_loop(0, 2, lambda i, x: f(x), x))(X),
        lambda f: wg.grad(lambda x: wg.scan(lambda c, x: (f(c) * x, c), 1.0, x)[0])(X),
        lambda f: wg.grad(wg.recompute_grad(f))(X),
    ],
    ids=["jacobian", "hessian", "jvp", "vmap", "fori_loop", "scan", "recompute_grad"],
)
def test_in_other_public_functions(run):
    def f(x):
        return wg.sin(x * x)

    expected = run(f)
    interrupt_everywhere(
        lambda: (lambda: run(f), lambda: np.testing.assert_allclose(run(f), expected)), step=3, in_exits=True
    )
