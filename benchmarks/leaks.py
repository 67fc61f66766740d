"""Resident memory that stays when a compiled function is dropped, in KiB: the slope over some hundred functions.

Each way runs in a process of its own. It makes and drops functions until the process has what it needs anyway, and then
reads the resident size now and then. The figure is the median of the slopes between all pairs of readings: a table of
Python's that grows once in a while is none, what each function leaves is.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any

WAYS = {
    "compiled": "each function compiled, as in a first process, and dropped",
    "found": "each function found on disk, and dropped",
    "again": "the same program again and again, dropped each time",
    "threads": "each function compiled in a thread of its own, and dropped",
    "shapes": "the same program for another shape each time, dropped",
}
WARM = 140  # functions before the first reading: pools of LLVM and of Python still grow in the first hundred
EVERY = 10  # functions from reading to reading


def resident() -> int:
    """Bytes of this process that are in memory, without those that the C library could give back at once."""
    gc.collect()
    with suppress(AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def program(wg: Any, number: int) -> Any:
    """A function that is like no other: its length and its constants follow from its number."""

    def f(x: Any) -> Any:
        for step in range(1 + number % 5):
            x = wg.sin(x * (1.0 + 0.001 * number)) + step
        return wg.sum(x * x)

    return f


def turn(way: str) -> Any:
    """What makes the n-th function of a way, runs and drops it."""
    import numpy as np

    import wengert as wg

    x = np.linspace(0.0, 1.0, 50)

    def made(number: int) -> None:
        wg.function(wg.grad(program(wg, 0 if way == "again" else number)))(x)

    def in_a_thread(number: int) -> None:
        thread = threading.Thread(target=made, args=(number,))
        thread.start()
        thread.join()

    def of_a_shape(number: int) -> None:
        wg.function(wg.grad(program(wg, 1)))(np.ones(3 + number))

    return {"threads": in_a_thread, "shapes": of_a_shape}.get(way, made)


def slope(way: str, count: int) -> float:
    """KiB for each function, in this process."""
    import numpy as np

    do = turn(way)
    read = []
    for number in range(WARM + count):
        do(number)
        if number >= WARM and number % EVERY == 0:
            read.append((number, resident()))
    slopes = [(b - a) / (j - i) for (i, a), (j, b) in combinations(read, 2)]
    return float(np.median(slopes)) / 1024


def in_a_process(way: str, count: int) -> float:
    """The same in a process of its own, with an empty cache on disk."""
    command = [sys.executable, str(Path(__file__)), "--one", way, "--count", str(count)]
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"WENGERT_CACHE_DIR": cache}
        for _ in range(2 if way == "found" else 1):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(done.stderr)
    return float(done.stdout.split()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description="Memory that dropped functions leave behind.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="a hundred functions of each way")
    parser.add_argument("--count", type=int)
    parser.add_argument("--way", choices=WAYS, help="this one only")
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    count = options.count or (100 if options.quick else 400)
    if options.one:
        print(slope(options.one, count))
        return 0
    ways = [options.way] if options.way else [*WAYS]
    found = {way: in_a_process(way, count) for way in ways}
    if options.json:
        print(json.dumps({"row": "leaks", "title": f"KiB left by each of {count} dropped functions", "kib": found}))
    else:
        print("\n".join(f"{found[way]:8.2f} KiB  {WAYS[way]}" for way in ways))
    return 0


if __name__ == "__main__":
    sys.exit(main())
