"""How programs are measured: in turns, checked against each other, medians; and how C is compiled on the spot.

A *contender* is one library running one case: a name, a kind ("eager", "compiled" or "C"), and a call without arguments
whose result is a tuple of arrays. Contenders of a case take turns, so that a busy moment of the machine hits them all.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

C_FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp-simd", "-fPIC", "-shared", "-std=c11")
C_SOURCES = Path(__file__).parent / "c"
HOPELESS = 5.0  # seconds; a contender whose call takes longer has one turn


class Contender(NamedTuple):
    """One library running one case."""

    library: str
    kind: str
    call: Callable[[], Any]
    result: Callable[[Any], Sequence[np.ndarray]]  # what `call` gives, as arrays


class Measured(NamedTuple):
    """The times of one contender: seconds a call."""

    library: str
    kind: str
    median: float
    best: float
    error: str | None = None


def c_compiler() -> str | None:
    """The machine's C compiler (`CC`, else gcc), or None where there is none."""
    return shutil.which(os.environ.get("CC", "gcc"))


def compiled_c(name: str) -> ctypes.CDLL:
    """The library made of c/NAME.c with the machine's own compiler, kept by the hash of source, flags and machine.

    Sums may be reassociated and calls of exp and sin vectorised: that is what somebody who wants speed asks of gcc.
    """
    source = C_SOURCES / f"{name}.c"
    machine = _processor().encode()
    parts = (source.read_bytes(), (C_SOURCES / "common.h").read_bytes(), repr(C_FLAGS).encode(), machine)
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"wengert-benchmarks-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"{name}-{digest}.so"
    if not target.exists():
        made = target.with_suffix(f".{os.getpid()}")
        compiler = c_compiler()
        if compiler is None:
            raise FileNotFoundError(f"c/{name}.c needs a C compiler: neither $CC nor gcc was found")
        subprocess.run([compiler, *C_FLAGS, str(source), "-o", str(made), "-lmvec", "-lm"], check=True)
        made.replace(target)
    return ctypes.CDLL(str(target))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "unknown"
    return "".join(line for line in lines if line.startswith(("model name", "flags")))


def c_call(name: str, function: str, arguments: Sequence[Any]) -> Callable[[], Any]:
    """A call of a C function on arrays (as pointers to their data), ints and floats, prepared beforehand."""
    entry = getattr(compiled_c(name), function)
    entry.restype = None
    prepared = [_c_argument(a) for a in arguments]

    def call() -> Sequence[Any]:
        entry(*prepared)
        return arguments

    return call


def _c_argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, (int, np.integer)):
        return ctypes.c_long(int(value))
    return ctypes.c_double(float(value))


def measure(
    contenders: Sequence[Contender], seconds: float, rounds: int, tolerance: float,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Measured]:  # fmt: skip
    """The median time of a call of each contender that gives what the first gives.

    Args:
        contenders: the first one's result is what the others' are compared with.
        seconds: how long one turn takes, about; a call that takes longer is a turn of its own.
        rounds: how often each contender has its turn; fewer, at least twice, where a call takes longer than a turn, so
            that no contender takes more time than the others, and once where it takes more than `HOPELESS` seconds.
        tolerance: the relative difference that is allowed, of the largest entry.
        clock: what is read before and after; `time.process_time` counts what the processor did for this process only.
    """
    expected = contenders[0].result(contenders[0].call())
    found: list[Measured | None] = [None] * len(contenders)
    running: list[tuple[int, int, int]] = []  # index, calls in a turn, turns
    for index, contender in enumerate(contenders):
        error = _trouble(contender, expected, tolerance)
        if error is None:
            running.append((index, *_paced(contender.call, seconds, rounds, clock)))
        else:
            found[index] = Measured(contender.library, contender.kind, float("nan"), float("nan"), error)
    times: dict[int, list[float]] = {index: [] for index, *_ in running}
    for turn in range(rounds):
        for step in range(len(running)):
            index, calls, turns = running[(turn + step) % len(running)]
            if turn < turns:
                times[index].append(_time_of_call(contenders[index].call, calls, clock))
    for index, column in times.items():
        c = contenders[index]
        found[index] = Measured(c.library, c.kind, statistics.median(column), min(column))
    return [m for m in found if m is not None]


def _trouble(contender: Contender, expected: Sequence[np.ndarray], tolerance: float) -> str | None:
    """Why a contender cannot be compared, or None."""
    try:
        got = contender.result(contender.call())
    except Exception as error:  # whatever a peer's compiler raises is told in the table, and the others go on
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:160]
    for ours, theirs in zip(expected, got, strict=True):
        scale = max(float(np.max(np.abs(ours), initial=0.0)), 1e-300)
        difference = np.abs(np.asarray(theirs, np.float64) - np.asarray(ours, np.float64))
        apart = float(np.max(difference, initial=0.0)) / scale
        if not apart <= tolerance:
            return f"differs by {apart:.1e} of the largest entry"
    return None


def _paced(call: Callable[[], Any], seconds: float, rounds: int, clock: Callable[[], float]) -> tuple[int, int]:
    """How many calls a turn has, and how many turns there are.

    By the clock of the measurement: a call that waits for the processor is no long one, and a turn of one call alone
    would tell what it takes with cold caches.
    """
    once = _seconds_of(call, 1, clock)
    if once < HOPELESS:
        once = _seconds_of(call, 1, clock)  # the one before may have made something ready
    if once > seconds:
        return 1, min(rounds, max(1 if once > HOPELESS else 2, int(rounds * seconds / once)))
    if once < seconds / 4:
        once = _seconds_of(call, max(1, int(seconds / 4 / max(once, 1e-7))), clock)
    return max(1, int(seconds / max(once, 1e-9))), rounds


def _seconds_of(call: Callable[[], Any], repeats: int, clock: Callable[[], float]) -> float:
    started = clock()
    for _ in range(repeats):
        call()
    return (clock() - started) / repeats


def _time_of_call(call: Callable[[], Any], calls: int, clock: Callable[[], float]) -> float:
    # A collection of garbage left by another library must not fall into this one's time.
    gc.collect()
    gc.disable()
    try:
        started = clock()
        for _ in range(calls):
            call()
        return (clock() - started) / calls
    finally:
        gc.enable()


def readable(seconds: float) -> str:
    """A time with its unit, three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return "-" if seconds != seconds else f"{seconds / 1e-9:.3g} ns"


def say(text: str) -> None:
    """Progress, for whoever waits."""
    print(text, file=sys.stderr, flush=True)


def add_turns(parser: argparse.ArgumentParser, seconds: float, rounds: int) -> None:
    """The options of a benchmark of rows: how it measures, and which rows it tells again at the end."""
    parser.add_argument("--seconds", type=float, default=seconds, help="length of a turn")
    parser.add_argument("--rounds", type=int, default=rounds, help="turns of each")
    parser.add_argument("--above", type=float, default=1.0, help="how many times as long is told at the end")


def tell_rows(rows: Iterable[Any], told: Callable[[Any], str], above: float, peer: str) -> None:
    """Prints rows as they come, and at the end those that failed or took more than so many times a peer's time, the
    worst first. A row has a `ratio` to it and an `error`."""
    found: list[Any] = []
    for row in rows:
        found.append(row)
        print(told(row), flush=True)
    slower = sorted((r for r in found if r.error or r.ratio > above), key=lambda r: -r.ratio)
    print(f"\nbeyond {above} of {peer}'s time: {len(slower)} of {len(found)}", *map(told, slower), sep="\n")
