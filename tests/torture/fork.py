"""Children of a process whose other threads trace, compile, run kernels in threads, load and save; under signals.

Each child compiles a new program, calls those that its parent's threads were at when it was forked, runs a kernel in
threads, reads and writes the cache, and ends. It must do so within a time limit, with the right results.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from tests.torture.children import child, ended, report_of
from tests.torture.report import Report
from wengert._engines.native.run import disk

SMALL = np.linspace(0.1, 1.0, 8)
LARGE = np.linspace(0.0, 1.0, 400_000)
SQUARE = np.linspace(-1.0, 1.0, 80 * 80).reshape(80, 80)


def run(seed: int, seconds: float) -> Report:
    """Forks for so many seconds, at least twenty times."""
    return report_of(__name__, seed, seconds, WENGERT_NUM_THREADS="3")


def main(seed: int, seconds: float, folder: str) -> Report:
    """`run` in the process that forks."""
    sys.setswitchinterval(1e-4)
    scene = _Scene(seed, Path(folder))
    failures: list[str] = []
    rounds = 0
    with scene:
        end = time.monotonic() + seconds
        while (rounds < 20 or time.monotonic() < end) and len(failures) < 3:
            time.sleep(scene.dice.random() * 0.02)
            what = ended(child(scene.in_child))
            if what:
                failures.append(f"seed {seed}, fork {rounds}: {what}")
            rounds += 1
    return Report(rounds, failures + scene.errors)


class _Scene:
    """The threads at work, and what a child does."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.dice = random.Random(seed)
        self.errors: list[str] = []
        self._folder = folder
        self._goes_on = True
        self._under_way: Any = program(self.dice.random())  # the one that a thread traces or compiles now
        self._kernel = wg.function(lambda x: wg.sum(wg.exp(x * -2.0) * wg.sin(x)))
        self._product = wg.function(lambda m: wg.sum(m @ m))
        self._saved = folder / "saved"
        # by NumPy: the first children are to come while their parent compiles what these need
        self._wanted = (np.sum(np.exp(LARGE * -2.0) * np.sin(LARGE)), np.sum(SQUARE @ SQUARE))
        self._threads = [threading.Thread(target=self._repeat, args=(work,)) for work in (
            self._compile, self._compile, self._run_kernel, self._save_and_load, self._look_at_disk
        )]  # fmt: skip

    def __enter__(self) -> None:
        self._gc = gc.isenabled()
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
        for thread in self._threads:
            thread.start()

    def __exit__(self, *exc: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._goes_on = False
        for thread in self._threads:
            thread.join()

    def _repeat(self, work: Callable[[random.Random], Any]) -> None:
        dice = random.Random(self.dice.random())
        try:
            while self._goes_on:
                work(dice)
        except BaseException as error:
            self.errors.append(f"in a thread: {error!r}")

    def _compile(self, dice: random.Random) -> None:
        self._under_way = program(dice.random())
        self._under_way(SMALL)

    def _run_kernel(self, dice: random.Random) -> None:
        assert np.isclose(self._kernel(LARGE), self._wanted[0], rtol=1e-10)
        assert np.isclose(self._product(SQUARE), self._wanted[1], rtol=1e-9)

    def _save_and_load(self, dice: random.Random) -> None:
        self._kernel(LARGE)
        wg.save(self._kernel, self._saved)
        assert np.isclose(wg.load(self._saved)(LARGE), self._wanted[0], rtol=1e-10)

    def _look_at_disk(self, dice: random.Random) -> None:
        name = disk.digest(b"torture")
        disk.write(name, b"x" * dice.randrange(100_000))
        assert disk.read(name) is not None
        time.sleep(0.001)

    def in_child(self) -> None:
        """What a child does: all that its parent's threads were at."""
        dice = random.Random(os.getpid())
        known, anew = self._under_way, program(dice.random())
        for f in (known, anew):
            x = SMALL
            assert np.isclose(f(x), f.wanted(x), rtol=1e-12)
        for work in (self._run_kernel, self._save_and_load, self._look_at_disk):
            work(dice)
        thread = threading.Thread(target=self._run_kernel, args=(dice,))
        thread.start()
        thread.join()
        assert gc.isenabled() == self._gc, "the collector is left as another thread had it"
        assert np.isclose(wg.grad(lambda x: wg.sum(x * x))(SMALL)[0], 2 * SMALL[0])


def program(number: float) -> Any:
    """A compiled function that no other process has compiled, with `wanted`, its value by NumPy."""
    shift = number * 3

    def f(x: Any) -> Any:
        y = wg.sin(x * shift) + number
        for _ in range(4):
            y = wg.tanh(y * x) + wg.exp(-y)
        return wg.sum(y)

    def wanted(x: Any) -> Any:
        y = np.sin(x * shift) + number
        for _ in range(4):
            y = np.tanh(y * x) + np.exp(-y)
        return np.sum(y)

    made = wg.function(f)
    made.wanted = wanted
    return made
