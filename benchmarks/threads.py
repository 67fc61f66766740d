"""Times the programs of `programs/` with one thread and with several, ours beside JAX's and torch's.

Each library has two processes, one that is told to use one thread and one that uses `--threads`; all take short turns,
many of them, so that other work on the machine hits all alike. A time is the best quarter's of the clock on the wall,
and beside it stands the processor's time, all threads together, with several threads over that with one: 1 where work
is split, more where threads wait at work for each other. Rows at whose end stands `slower` lose by a second thread.

    .venv/bin/python benchmarks/threads.py [mlp conv ...] [--libraries wengert,jax,torch] [--rounds 40]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import run  # noqa: E402  (beside this file, which is run as a script)

ROWS = (*run.ROWS, "attention", "rnn", "custom")
SLOWER = 1.05  # of the time with one thread: below that it is the machine's noise


class Times(NamedTuple):
    """Seconds a call: the wall's in the best quarter of the turns, and the processor's, all threads together."""

    wall: float
    cpu: float


class Worker:
    """A process that runs one program on one library with so many threads, a turn at a time."""

    def __init__(self, row: str, case: str, library: str, threads: int) -> None:
        command = [sys.executable, str(HERE / "threads.py"), "--worker", json.dumps([row, case, library])]
        environment = os.environ | {"WENGERT_BENCH_THREADS": str(threads)}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True,
        )  # fmt: skip
        self.turns: list[Times] = []

    def turn(self, seconds: float) -> bool:
        """One turn of about so long; whether the process could."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(f"{seconds}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return False
        line = self.process.stdout.readline()
        if line:
            self.turns.append(Times(*json.loads(line)))
        return bool(line)

    def times(self) -> Times:
        kept = self.turns[1:]  # the first one compiled
        wall = sorted(t.wall for t in kept)
        return Times(statistics.mean(wall[: max(1, len(wall) // 4)]), statistics.median(t.cpu for t in kept))

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def work(row: str, case: str, library: str) -> None:
    """What a worker does: a turn for each line that it is sent."""
    import libraries

    libraries.limit_threads()
    program = importlib.import_module(f"programs.{row}")
    parameters = program.CASES[case]
    found = libraries.available([library])[0][0]
    call = run.call_of(program, parameters, found, program.arguments(parameters))
    if call is None:
        return
    call()
    calls = 1
    for line in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(calls):
            call()
        wall, cpu = (time.perf_counter() - wall) / calls, (time.process_time() - cpu) / calls
        print(json.dumps([wall, cpu]), flush=True)
        calls = max(1, int(float(line) / wall))


def measured(row: str, case: str, options: Any) -> Iterator[tuple[str, Times, Times]]:
    """Of each library that has the program: times with one thread and with several."""
    names = options.libraries.split(",")
    workers = {(name, n): Worker(row, case, name, n) for name in names for n in (1, options.threads)}
    able = set(workers)
    for turn in range(options.rounds + 1):
        order = [*workers][turn % len(workers) :] + [*workers][: turn % len(workers)]
        for key in order:
            if key in able and not workers[key].turn(options.seconds):
                able.discard(key)
    for worker in workers.values():
        worker.close()
    for name in names:
        if {(name, 1), (name, options.threads)} <= able:
            yield name, workers[name, 1].times(), workers[name, options.threads].times()


def cases_of(row: str) -> list[str]:
    return [*importlib.import_module(f"programs.{row}").CASES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help=f"of {', '.join(ROWS)}; all of them without")
    parser.add_argument("--libraries", default="wengert,jax,torch", help="which, with commas")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=40, help="turns of each process")
    parser.add_argument("--seconds", type=float, default=0.02, help="length of a turn")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(*json.loads(options.worker))
    column = f"{options.threads}, ms"
    print(f"{'row':10}{'case':16}{'library':10}{'1 thread, ms':>14}{column:>12}{'speed-up':>10}{'CPU':>8}")
    for row in options.rows or ROWS:
        for case in cases_of(row):
            for name, one, several in measured(row, case, options):
                slower = "slower" if several.wall > SLOWER * one.wall else ""
                print(
                    f"{row:10}{case:16}{name:10}{one.wall * 1e3:14.4f}{several.wall * 1e3:12.4f}"
                    f"{one.wall / several.wall:10.2f}{several.cpu / one.cpu:8.2f}  {slower}", flush=True,
                )  # fmt: skip
    return None


if __name__ == "__main__":
    main()
