"""Locks in children of `fork`: what other threads of the parent held is free, what the forking thread held is its own."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from tests.torture.children import child, ended
from wengert._core import forking
from wengert._core.garbage import uncollected

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

LIMIT = 20.0


def held_meanwhile(lock: Any, seconds: float) -> threading.Thread:
    """A thread that holds a lock for so long and has got it."""
    has_it = threading.Event()

    def hold() -> None:
        with lock:
            has_it.set()
            time.sleep(seconds)

    thread = threading.Thread(target=hold)
    thread.start()
    has_it.wait()
    return thread


def take(lock: Any) -> None:
    assert lock.acquire(timeout=5), "the lock is held by a thread that is not there"
    lock.release()


def test_a_long_lock_of_another_thread_is_free_in_the_child_and_the_fork_does_not_wait() -> None:
    lock = forking.long_lock()
    holder = held_meanwhile(lock, 1.0)
    assert not ended(child(lambda: take(lock)), LIMIT)
    assert holder.is_alive(), "the fork has waited"
    assert not lock.acquire(blocking=False), "the parent's is held as before"
    holder.join()


def test_what_a_short_lock_guards_is_whole_in_the_child() -> None:
    lock = forking.short_lock()
    parts: list[int] = []
    begun = threading.Event()

    def change() -> None:
        with lock:
            parts.append(1)
            begun.set()
            time.sleep(0.3)
            parts.append(2)

    def look() -> None:
        take(lock)
        assert parts == [1, 2]

    thread = threading.Thread(target=change)
    thread.start()
    begun.wait()
    assert not ended(child(look), LIMIT)
    thread.join()


@pytest.mark.parametrize("kind", [forking.short_lock, forking.long_lock])
def test_a_lock_of_the_forking_thread_stays_its_own(kind: Any) -> None:
    lock = kind()

    def work() -> None:
        assert lock._is_owned()
        lock.release()
        take(lock)
        other = threading.Thread(target=take, args=(lock,))
        other.start()
        other.join()

    with lock:
        assert not ended(child(work), LIMIT)
        assert lock._is_owned()


def test_a_fork_goes_on_where_short_locks_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other thread holds one lock and waits for a second, which the fork has taken already."""
    monkeypatch.setattr(forking, "_PATIENCE", 0.3)
    first, second = forking.short_lock(), forking.short_lock()
    has_it = threading.Event()

    def nested() -> None:
        with second:
            has_it.set()
            time.sleep(0.1)
            with first:
                pass

    thread = threading.Thread(target=nested)
    thread.start()
    has_it.wait()
    assert not ended(child(lambda: (take(first), take(second))), LIMIT)
    thread.join(LIMIT)
    assert not thread.is_alive()


def test_an_interrupt_while_a_fork_waits_is_raised_when_it_is_over() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # test runners may have switched it off
    lock = forking.short_lock()
    holder = held_meanwhile(lock, 0.4)
    threading.Timer(0.1, signal.raise_signal, (signal.SIGINT,)).start()
    numbers: list[int] = []
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 the interrupt comes at one of several lines
            numbers.append(child(lambda: take(lock)))
            time.sleep(30)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - started < 15, "it was told when the sleep was over only"
    assert not ended(numbers[0], LIMIT)
    holder.join()
    free = threading.Thread(target=take, args=(lock,))
    free.start()
    free.join(4)
    assert not free.is_alive(), "the lock is still held by the thread that forked"


def test_a_handler_that_raises_while_a_fork_waits_raises_when_it_is_over() -> None:
    def handler(number: int, frame: Any) -> None:
        raise TimeoutError

    lock = forking.short_lock()
    before = signal.signal(signal.SIGALRM, handler)
    holder = held_meanwhile(lock, 0.4)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    numbers: list[int] = []
    try:
        with pytest.raises(TimeoutError):  # noqa: PT012 the signal comes at one of several lines
            numbers.append(child(lambda: take(lock)))
            time.sleep(30)
        assert signal.getsignal(signal.SIGALRM) is handler
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not ended(numbers[0], LIMIT)
    holder.join()


def test_the_collector_does_not_rest_for_ever_in_a_child_of_a_process_that_compiles() -> None:
    begun, goes_on = threading.Event(), threading.Event()
    thread = threading.Thread(target=uncollected.run, args=(lambda: (begun.set(), goes_on.wait()),))
    thread.start()
    begun.wait()

    def look() -> None:
        assert gc.isenabled()

    number = child(look)
    assert not gc.isenabled()
    goes_on.set()
    thread.join()
    assert gc.isenabled()
    assert not ended(number, LIMIT)


def test_llvms_lock_is_held_across_a_fork() -> None:
    """llvmlite has one around each of its calls; a process of its own, for only then is it known who holds it."""
    pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")
    program = (
        "import threading, time\n"
        "from tests.core.test_forking import held_meanwhile, take\n"
        "from tests.torture.children import child, ended\n"
        "from wengert._engines.native.llvm.target import llvm\n"
        "binding = llvm()\n"
        "holder = held_meanwhile(binding.ffi.lib._lock, 0.5)\n"
        "what = ended(child(lambda: take(binding.ffi.lib._lock._lock)), 20)\n"
        "assert not what, what\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_child_can_load_modules_that_its_parent_was_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "slow_to_load"
    (tmp_path / f"{name}.py").write_text("import time\ntime.sleep(0.5)\nnumber = 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    thread = threading.Thread(target=importlib.import_module, args=(name,))
    thread.start()
    time.sleep(0.1)

    def work() -> None:
        assert importlib.import_module(name).number == 3

    assert not ended(child(work), LIMIT)
    thread.join()
