"""Compiled code that runs long can be interrupted, and lets other threads run."""

from __future__ import annotations

import gc
import math
import signal
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import wengert as wg
from wengert._engines.native import engine
from wengert._engines.native.ir import loops
from wengert._engines.native.llvm import jit
from wengert._engines.native.lower import matrices
from wengert._engines.native.plan import sizes
from wengert._engines.native.run import entry
from wengert._engines.native.run.callable import CALLABLE
from wengert._engines.native.run.entry import Take

F8 = np.dtype(np.float64)

# Iterations until it is told to stop, or for the given number of iterations.
ENDLESS = f"""
declare i32 @wengert_poll(ptr)
define i32 @entry(ptr %buffers, ptr %sizes, ptr %context) {{
start:
  %p.limit = load ptr, ptr %buffers
  %limit = load double, ptr %p.limit
  br label %loop
loop:
  %iteration = phi double [ 0.0, %start ], [ %next, %go.on ]
  %told = call i32 @wengert_poll(ptr %context)
  %stops = icmp ne i32 %told, 0
  br i1 %stops, label %stop, label %go.on
go.on:
  %next = fadd double %iteration, 1.0
  %more = fcmp olt double %next, %limit
  br i1 %more, label %loop, label %end
stop:
  ret i32 {loops.Status.INTERRUPTED}
end:
  ret i32 0
}}
"""


def looping() -> Any:
    made = entry.bound(
        jit.load(ENDLESS, "entry", table=CALLABLE), [Take("float", F8)], [], on_failure=lambda *_: "failed"
    )
    if made is None:
        pytest.skip("objects of this interpreter look otherwise than the stub expects")
    return made


class Stopped(Exception):
    """What the handler raises."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
def test_a_signal_handler_that_raises_ends_the_call() -> None:
    def handler(number: int, frame: Any) -> None:
        raise Stopped

    f = looping()
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        started = time.thread_time()  # what other processes take does not count, here and below
        with pytest.raises(Stopped):
            f(1e15)
        assert time.thread_time() - started < 3  # 0.1 s is usual
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
def test_a_handler_that_returns_does_not() -> None:
    calls: list[int] = []
    f = looping()
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        iterations = 1e6
        while not calls:  # however fast this machine is
            assert f(iterations) == ()
            iterations *= 2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_other_threads_run_meanwhile() -> None:
    f = looping()
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.005):
            ticks.append(time.perf_counter())

    worker = threading.Thread(target=tick)
    before = sys.getswitchinterval()
    worker.start()
    try:
        iterations, begun, ended = 1e6, 0.0, 0.0
        # until a tick lies within a call, however slow this machine is; a call that lets nobody run has none
        while not any(begun < tick < ended for tick in ticks):
            assert ended - begun < 30, "a call of half a minute in which no other thread ran"
            begun = time.perf_counter()
            f(iterations)
            ended = time.perf_counter()
            iterations *= 2
    finally:
        done.set()
        worker.join()
        sys.setswitchinterval(before)


def interrupted(run: Any, after: float = 0.2) -> float:
    """How long this thread works on a call after a signal whose handler raises; the call must not come to its end."""

    def handler(number: int, frame: Any) -> None:
        raise Stopped

    before = signal.signal(signal.SIGALRM, handler)
    try:
        started = time.thread_time()
        signal.setitimer(signal.ITIMER_REAL, after)
        with pytest.raises(Stopped):
            run()
        return time.thread_time() - started - after
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def times(step: Any, x: Any) -> Any:
    """A loop of more steps than anybody waits for; compiled, and run a few steps."""
    f = wg.function(lambda x, n: wg.fori_loop(0, n, lambda i, y: step(y), x))
    f(x, np.int64(2))
    return lambda: f(x, np.int64(10**12))


STEPS: dict[str, Any] = {
    "numbers in registers": lambda: times(wg.sin, np.ones(3)),
    "a large product in each step": lambda: times(lambda y: wg.tanh(wg.matmul(y, y)), np.full((300, 300), 1e-3)),
    "a factorisation in each step": lambda: times(
        lambda y: wg.linalg.cholesky(wg.matmul(y, wg.transpose(y)) + 5.0 * wg.eye(200)) * 0.01, np.eye(200)
    ),
    "a large array in each step": lambda: times(lambda y: wg.cos(wg.cumsum(y) * 1e-9), np.ones(300_000)),
    "a loop in each step": lambda: times(lambda y: wg.fori_loop(0, 10**6, lambda j, z: z * 0.5 + 1.0, y), np.ones(3)),
}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.parametrize("name", STEPS)
def test_compiled_loops_ask_often_enough(name: str) -> None:
    assert interrupted(STEPS[name]()) < 3  # 0.03 s where nothing else runs


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_pass_over_a_large_array_can_be_interrupted(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_NUM_THREADS", str(threads))

    def powers(x: Any) -> Any:
        for _ in range(200):
            x = wg.sin(x)
        return x

    f, x = wg.function(powers), np.ones(2_000_000)  # half a second for each
    f(x)
    assert interrupted(lambda: [f(x) for _ in range(1000)], 0.05) < 1  # 0.02 s where nothing else runs


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
def test_what_a_handler_raises_while_llvm_runs_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no failure of the compiler, after which NumPy's kernels would go on."""
    monkeypatch.setattr(engine, "IS_STRICT", False)
    monkeypatch.setattr(engine, "shared", lambda *_, **__: [time.sleep(0.01) for _ in range(10_000)])
    x = np.ones(7)
    assert interrupted(lambda: wg.function(lambda x: wg.sum(wg.sin(x) * 3.25))(x)) < 3


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
def test_a_large_product_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def handler(number: int, frame: Any) -> None:
        raise Stopped

    monkeypatch.setenv("WENGERT_NUM_THREADS", "1")
    monkeypatch.setattr(matrices, "is_for_blas", lambda m, k, n: False)
    f, x = wg.function(lambda x: wg.matmul(x, x)), np.ones((3000, 3000))
    started = time.process_time()
    f(x)
    whole = time.process_time() - started
    before = signal.signal(signal.SIGPROF, handler)
    try:
        started = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, whole / 8)
        with pytest.raises(Stopped):
            f(x)
        assert time.process_time() - started < whole / 2
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def places(x: Any) -> Any:
    """Places that follow no order, below ten million."""
    return (wg.abs(x) * 1e12).astype("int64") % 10**7


def square(x: Any) -> Any:
    return wg.reshape(x, (2000, 2000))


def whole(x: Any) -> Any:
    """A matrix of whole numbers."""
    n = math.isqrt(x.size)
    return wg.reshape(x * 9, (n, n)).astype("int64")


# Each with the number of elements, and with another for which it is compiled before: then its code is for all sizes.
LONG: dict[str, Any] = {
    "a sort": (wg.sort, 20_000_000, 2000),
    "the places of a sort": (wg.argsort, 6_000_000, 2000),
    "a sort of many rows": (lambda x: wg.sort(wg.reshape(x, (-1, 1000)), 1), 20_000_000, 2000),
    "a running logsumexp": (lambda x: wg.ops.cumlogsumexp(x), 4_000_000, 2000),
    "a running total of many rows": (lambda x: wg.ops.cumlogsumexp(wg.reshape(x, (-1, 8)), 1), 8_000_000, 2000),
    "places in a sequence": (lambda x: wg.searchsorted(wg.cumsum(wg.ones(10**6)), x * 1e5), 4_000_000, 2000),
    "the places of the largest": (lambda x: wg.argmax(wg.reshape(x, (-1, 10)), 0), 40_000_000, 2000),
    "updates one after the other": (lambda x: wg.ops.segment_sum(x, places(x), 10**7), 6_000_000, 2000),
    "updates, of known size": (lambda x: wg.ops.segment_sum(x, places(x), 10**7), 6_000_000, 0),
    "elements from anywhere": (lambda x: x[places(x) % 24_000_000], 24_000_000, 0),
    "a product of whole numbers": (lambda x: whole(x) @ whole(x), 900 * 900, 100),
    "triangular systems": (lambda x: wg.linalg.solve_triangular(square(x) + 9e3 * wg.eye(2000), square(x)), 2000**2, 0),
    "factors of many matrices": (lambda x: wg.linalg.slogdet(wg.reshape(x, (-1, 60, 60)))[1], 4000 * 3600, 3600),
    "eigenvalues of many matrices": (lambda x: wg.linalg.eigh(wg.reshape(x, (-1, 40, 40)))[0], 1_600_000, 1600),
}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.parametrize("name", LONG)
def test_long_passes_that_wait_for_their_own_results_can_be_interrupted(name: str) -> None:
    f, size, other = LONG[name]
    compiled = wg.function(lambda x: f(x))
    if other:
        compiled(np.random.default_rng(1).normal(size=other))
    x = np.random.default_rng(0).normal(size=size)
    compiled(x)
    started = time.thread_time()
    compiled(x)
    whole = time.thread_time() - started
    # of the processor's time that is left after the signal, but for the result that memory is asked for; the least of three
    # calls, since the system gives a signal or a clock's tick late where other processes run
    assert any(interrupted(lambda: compiled(x), whole / 8) < whole / 2 for _ in range(3))


# Reductions of more elements than anybody has memory for or waits for; a part of a reduction is a 64th.
REDUCTIONS: dict[str, Any] = {
    "a row": (lambda x: wg.sum(wg.broadcast_to(x[0], (2**46,))), 3),
    "rows in parts": (lambda x: wg.sum(wg.broadcast_to(x, (2**46, 3))), 3),
    "totals in an array": (lambda x: wg.sum(wg.broadcast_to(x, (2**46, 3)), axis=0), 3),
    "few long rows": (lambda x: wg.sum(wg.broadcast_to(x[:, None], (3, 2**46)), axis=1), 3),
    "distances": (lambda x: wg.sum((x[:, None] - x) ** 2), 2_000_000),
    "largest distances": (lambda x: wg.max((x[:, None] - x) ** 2, axis=1), 2_000_000),
}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_parts_of_long_reductions_can_be_interrupted(name: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_NUM_THREADS", str(threads))
    f, size = REDUCTIONS[name]
    compiled = wg.function(lambda x: f(x))
    if size > 3:  # then its code is for all sizes
        compiled(np.ones(5))
        compiled(np.ones(7))
    assert interrupted(lambda: compiled(np.ones(size)), 0.3) < 1  # 0.02 s where nothing else runs; a part takes minutes


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.parametrize("before", [(), (700,)], ids=["of one size", "of any size"])
def test_blas_is_called_for_some_rows_after_the_other(before: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "is_for_blas", lambda m, k, n: True)
    monkeypatch.setattr(matrices, "BLAS_MOST", 300 * 400 * 300)
    rng = np.random.default_rng(0)
    for shape in ((1000, 400), (400, 1000)):  # the second one is read turned
        x, y = rng.normal(size=shape), rng.normal(size=(400, 300))
        f = wg.function(lambda x, y: wg.matmul(x if x.shape[1] == 400 else wg.transpose(x), y))
        np.testing.assert_allclose(f(x, y), (x if shape[1] == 400 else x.T) @ y, rtol=1e-12, atol=1e-12)
    f, x = wg.function(lambda x: wg.matmul(x, x)), rng.normal(size=(1500, 1500))
    monkeypatch.setattr(matrices, "BLAS_MOST", 256 * 1500 * 1500)
    monkeypatch.setattr(sizes, "_seen", type(sizes._seen)())
    for size in before:  # the next one's code is for all sizes
        f(x[:size, :size])
    f(x)
    started = time.process_time()
    f(x)
    whole = time.process_time() - started

    def handler(number: int, frame: Any) -> None:
        raise Stopped

    other = signal.signal(signal.SIGPROF, handler)
    try:
        started = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, whole / 8)
        with pytest.raises(Stopped):
            f(x)
        assert time.process_time() - started < whole * 0.8
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, other)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # see below
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.parametrize("policy", ["auto", "sqrt", 3])
def test_loops_with_long_steps_end_within_one(policy: Any) -> None:
    """Steps of a millisecond or more: a thousand of them would keep the user waiting."""

    def handler(number: int, frame: Any) -> None:
        raise Stopped

    def f(x: Any) -> Any:
        return wg.sum(wg.fori_loop(0, 3000, lambda i, c: wg.sin(c) + wg.exp(-c), x, checkpoint=policy))

    g = wg.grad(wg.function(f))
    g(np.linspace(0.0, 1.0, 70_000)[:10])
    x = np.linspace(0.0, 1.0, 70_000)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        # while it compiles; and again, since Python drops what is raised in the callback of a weak reference
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.25)
        with pytest.raises(Stopped):
            g(x)
        signal.setitimer(signal.ITIMER_REAL, 0.3, 0.25)
        started = time.thread_time()
        with pytest.raises(Stopped):
            (*map(g, (x, x)),)
        assert time.thread_time() - started < 2  # 0.3 s is usual, 3 s with a look each 1000 steps
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_module_that_an_interrupt_leaves_in_a_traceback_is_freed_before_its_context(monkeypatch: Any) -> None:
    """The other way round it ends the process, now and then: Python's collector has no order."""
    from llvmlite.binding import ffi

    def interrupted(*_: Any) -> None:
        raise Stopped

    gc.collect()
    gc.disable()  # what an earlier test left behind reads LLVM's texts too as it is freed
    try:
        with monkeypatch.context() as patched:
            patched.setattr(ffi.OutputString, "__exit__", interrupted)  # as the module has been made
            for _ in range(20):
                with pytest.raises(Stopped) as caught, jit.parsed(ENDLESS):
                    pass
                caught.value.itself = caught.value  # type: ignore[attr-defined]  # a cycle, for the collector
                del caught
    finally:
        gc.enable()
    assert gc.collect() > 0
    assert jit.load(ENDLESS, "entry", table=CALLABLE)


@pytest.mark.parametrize("line", range(4))
def test_an_interrupt_while_a_module_is_freed_leaves_nothing_to_be_freed_twice(line: int) -> None:
    """Before each line of what frees it: what is left then is the collector's."""
    frees, seen = jit._free.__code__, 0

    def tracer(frame: Any, event: str, argument: Any) -> Any:
        nonlocal seen
        if frame.f_code is not frees:
            return tracer if event == "call" and frame.f_code.co_filename == frees.co_filename else None
        seen += 1
        if seen == line + 1:
            sys.settrace(None)
            raise Stopped
        return tracer

    unraisable: list[Any] = []
    before, sys.unraisablehook = sys.unraisablehook, unraisable.append
    try:
        sys.settrace(tracer)
        try:
            with jit.parsed(ENDLESS):
                pass
        except Stopped as caught:
            caught.itself = caught  # type: ignore[attr-defined]  # a cycle, for the collector
        finally:
            sys.settrace(None)
        gc.collect()
    finally:
        sys.unraisablehook = before
    assert not unraisable
    assert jit.load(ENDLESS, "entry", table=CALLABLE)
