"""Compiled code that runs long can be interrupted, and lets other threads run."""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native import context, entry, jit
from wengert._engines.native.entry import Take
from wengert._engines.native.lower import matrices

F8 = np.dtype(np.float64)

# Turns until it is told to stop, or for the given number of turns.
ENDLESS = f"""
declare i32 @wengert_poll(ptr)
define i32 @entry(ptr %buffers, ptr %sizes, ptr %context) {{
start:
  %p.limit = load ptr, ptr %buffers
  %limit = load double, ptr %p.limit
  br label %loop
loop:
  %turn = phi double [ 0.0, %start ], [ %next, %go.on ]
  %told = call i32 @wengert_poll(ptr %context)
  %stops = icmp ne i32 %told, 0
  br i1 %stops, label %stop, label %go.on
go.on:
  %next = fadd double %turn, 1.0
  %more = fcmp olt double %next, %limit
  br i1 %more, label %loop, label %end
stop:
  ret i32 {context.INTERRUPTED}
end:
  ret i32 0
}}
"""


def looping() -> Any:
    made = entry.bound(jit.load(ENDLESS, "entry"), [Take("float", F8)], [], on_failure=lambda *_: "failed")
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
        started = time.perf_counter()
        with pytest.raises(Stopped):
            f(1e15)
        assert time.perf_counter() - started < 5  # 0.12 s where nothing else runs
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
        turns = 1e6
        while not calls:  # however fast this machine is
            assert f(turns) == ()
            turns *= 2
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
        started = time.perf_counter()
        turns = 1e6
        while time.perf_counter() - started < 0.2:
            begun = time.perf_counter()
            f(turns)
            ended = time.perf_counter()
            turns *= 2
    finally:
        done.set()
        worker.join()
        sys.setswitchinterval(before)
    assert any(begun < tick < ended for tick in ticks)  # within the last and longest call


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
