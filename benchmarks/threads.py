"""Times the programs of `programs/` with one thread and with several, ours beside JAX's and torch's.

Each library has two processes for all programs, one that is told to use one thread and one that uses `--threads`; all
take short turns, many of them, so that other work on the machine hits all alike. A time is the best quarter's of the
clock on the wall, and beside it stands the processor's time, all threads together, with several threads over that with
one: 1 where work is split, more where threads wait at work for each other. Rows at whose end stands `slower` lose by a
second thread.

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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import run  # noqa: E402  (beside this file, which is run as a script)

ROWS = (*run.ROWS, "attention", "rnn", "custom")
LONG = 2.0  # seconds of single calls, after which a program has no further turn
SLOWER = 1.05  # of the time with one thread: below that it is the machine's noise


class Times(NamedTuple):
    """Seconds a call: the wall's in the best quarter of the turns, and the processor's, all threads together."""

    wall: float
    cpu: float


class Worker:
    """A process that runs programs on one library with so many threads, a turn at a time."""

    def __init__(self, library: str, threads: int) -> None:
        command = [sys.executable, str(HERE / "threads.py"), "--worker", library]
        environment = os.environ | {"WENGERT_BENCH_THREADS": str(threads)}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True,
        )  # fmt: skip
        self.turns: list[Times] = []

    def load(self, row: str, case: str) -> bool:
        """Whether the process can run a program, which it does from now on."""
        self.turns = []
        return bool(self._asked([row, case]))

    def turn(self, seconds: float) -> None:
        """One turn of about so long; without effect once the turns have taken what long calls may."""
        if sum(t.wall for t in self.turns) < LONG:
            found = self._asked(seconds)
            if found:
                self.turns.append(Times(*found))

    def _asked(self, what: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(f"{json.dumps(what)}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def times(self) -> Times | None:
        """None where no turn was to its end."""
        kept = self.turns[1:] or self.turns  # the first one is one call, to see how long it takes
        if not kept:
            return None
        wall = sorted(t.wall for t in kept)
        return Times(statistics.mean(wall[: max(1, len(wall) // 4)]), statistics.median(t.cpu for t in kept))

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def work(library: str) -> None:
    """What a worker does: makes ready the program that a line names, and has a turn for each line with seconds."""
    import libraries

    libraries.limit_threads()
    found = libraries.available([library])[0][0]
    call, calls = None, 1
    for line in sys.stdin:
        asked, answer = json.loads(line), None
        try:
            if isinstance(asked, list):
                call, calls = made_ready(found, *asked), 1
                answer = call is not None
            elif call is not None:
                answer = turn(call, calls)
                calls = max(1, int(asked / answer.wall))
        except Exception:  # what a library cannot do is left out, and it goes on with the next program
            call = None
        print(json.dumps(answer), flush=True)


def made_ready(library: Any, row: str, case: str) -> Callable[[], Any] | None:
    """A call of the program, which has been called once; None where the library does not have it."""
    program = importlib.import_module(f"programs.{row}")
    parameters = program.CASES[case]
    call = run.call_of(program, parameters, library, program.arguments(parameters))
    if call is not None:
        call()
    return call


def turn(call: Callable[[], Any], calls: int) -> Times:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(calls):
        call()
    return Times((time.perf_counter() - wall) / calls, (time.process_time() - cpu) / calls)


def measured(
    row: str, case: str, workers: dict[tuple[str, int], Worker], options: Any
) -> Iterator[tuple[str, Times, Times]]:
    """Of each library that has the program: times with one thread and with several."""
    able = [key for key, worker in workers.items() if worker.load(row, case)]
    for number in range(options.rounds + 1):
        for place in range(len(able)):
            workers[able[(number + place) % len(able)]].turn(options.seconds)
    for name in dict.fromkeys(name for name, _ in able):
        one, several = (workers[name, n].times() if (name, n) in able else None for n in (1, options.threads))
        if one is not None and several is not None:
            yield name, one, several


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
        return work(options.worker)
    column = f"{options.threads}, ms"
    print(f"{'row':10}{'case':16}{'library':10}{'1 thread, ms':>14}{column:>12}{'speed-up':>10}{'CPU':>8}")
    names = options.libraries.split(",")
    workers = {(name, n): Worker(name, n) for name in names for n in (1, options.threads)}
    for row in options.rows or ROWS:
        for case in cases_of(row):
            for name, one, several in measured(row, case, workers, options):
                slower = "slower" if several.wall > SLOWER * one.wall else ""
                print(
                    f"{row:10}{case:16}{name:10}{one.wall * 1e3:14.4f}{several.wall * 1e3:12.4f}"
                    f"{one.wall / several.wall:10.2f}{several.cpu / one.cpu:8.2f}  {slower}", flush=True,
                )  # fmt: skip
    for worker in workers.values():
        worker.close()
    return None


if __name__ == "__main__":
    main()
