"""What became slower since another commit: all primitives in compiled programs, and the programs of `run.py`.

Each is measured with the package as it was at that commit, and with the one here: the least processor time of a call,
in one thread, of the programs that `cliffs.py` makes of each primitive (2,048 copies side by side, a loop of 100 steps,
gradients of both) and of the smallest case of each program. What took more than `--above` times as long is measured
again, and told if it does so again. A change that makes one program quicker may make others slower, in silence: run
this before and after, and after a rebase. Everything takes some ten minutes, a few primitives some seconds.

    .venv/bin/python benchmarks/since.py COMMIT [NAMES] [--above 1.2]

Start reading at `main`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
TURNS, TURN = 7, 4e-4  # of each program, seconds of one
SLOW = 0.3  # seconds of a call, of which one is measured


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commit", help="the older one")
    parser.add_argument("names", nargs="*", help="primitives, and programs of run.py; all of them without")
    parser.add_argument("--above", type=float, default=1.2, help="how many times as long is told")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)  # this process measures what it imports
    options = parser.parse_args()
    if options.one:
        for key, seconds in measured(options.names):
            print(json.dumps([key, seconds]), flush=True)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if not exported(options.commit, folder):
            parser.error(f"git has no commit {options.commit}")
        before, now = (figures(Path(tree), options.names) for tree in (folder, HERE.parent))
        slower = beyond(before, now, options.above)
        print(f"{len(before.keys() & now.keys())} programs, on average {average(before, now):.2f} of the time before")
        if slower:
            names = [*dict.fromkeys(name_of(key) for key in slower)]
            again = [figures(Path(tree), names) for tree in (folder, HERE.parent)]
            slower = beyond(least(before, again[0]), least(now, again[1]), options.above)
    for key in slower:
        print(f"{now[key] / before[key]:6.2f}  {key:40} {before[key] * 1e6:10.1f} -> {now[key] * 1e6:.1f} us")
    return int(bool(slower))


def exported(commit: str, folder: str) -> bool:
    """Whether there is such a commit, whose files are in the folder then."""
    archive = subprocess.run(["git", "archive", commit], cwd=HERE.parent, capture_output=True, check=False)
    if archive.returncode:
        return False
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    return True


def figures(tree: Path, names: Sequence[str]) -> dict[str, float]:
    """Seconds by program, with the package in a folder; none of what fails there."""
    settings = {"PYTHONPATH": str(tree), "WENGERT_CACHE_DIR": "", "WENGERT_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(__file__).resolve()), "--one", "here", *names]
    done = subprocess.run(command, env=os.environ | settings, cwd=tree, stdout=subprocess.PIPE, text=True, check=True)
    return {key: seconds for key, seconds in map(json.loads, done.stdout.splitlines()) if seconds}


def least(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    one.update({key: min(one[key], other[key]) for key in one.keys() & other.keys()})
    return one


def beyond(before: dict[str, float], now: dict[str, float], above: float) -> list[str]:
    """The programs that take so many times as long, the worst first."""
    ratios = {key: now[key] / before[key] for key in before.keys() & now.keys()}
    return sorted((key for key, ratio in ratios.items() if ratio > above), key=lambda key: -ratios[key])


def average(before: dict[str, float], now: dict[str, float]) -> float:
    """The geometric mean of all ratios."""
    both = before.keys() & now.keys()
    return math.exp(statistics.fmean(math.log(now[key] / before[key]) for key in both)) if both else math.nan


def name_of(key: str) -> str:
    return key.partition(":")[0]


# -- in a process of its own ------------------------------------------------------------------------------------------


def measured(names: Sequence[str]) -> Iterator[tuple[str, float | None]]:
    """Names of programs, with the seconds of a call; None where one fails."""
    warnings.simplefilter("ignore")
    import numpy as np

    with np.errstate(all="ignore"):
        for key, call in calls(names):
            seconds = None
            with contextlib.suppress(Exception):  # a program that this version has no form of: others are measured
                seconds = seconds_of(call())
            yield key, seconds


def calls(names: Sequence[str]) -> Iterator[tuple[str, Callable[[], Callable[[], Any]]]]:
    """Names of programs, each with what makes a compiled call of it."""
    import libraries
    import run

    import wengert as wg
    from benchmarks import cliffs

    (ours,) = libraries.available(["wengert"])[0]
    rows = [row for row in run.ROWS if not names or row in names]
    if not names or set(names) - set(run.ROWS):
        for name, program in cliffs.chosen([name for name in names if name not in rows], "float64"):

            def of_primitive(program: Any = program) -> Callable[[], Any]:
                compiled = wg.function(program.function)
                return lambda: compiled(*program.arguments)

            yield f"{name}: {program.name}", of_primitive
    for row in rows:

        def of_program(row: str = row) -> Callable[[], Any]:
            program = importlib.import_module(f"programs.{row}")
            parameters = next(iter(program.CASES.values()))
            return run.call_of(program, parameters, ours, program.arguments(parameters))

        yield f"{row}: gradient", of_program


def seconds_of(call: Callable[[], Any]) -> float:
    """The least processor time of a call."""
    for _ in range(3):  # the first ones compile
        call()
    started = time.process_time()
    call()
    took = time.process_time() - started
    if took > SLOW:
        return took
    count, turns = max(1, int(TURN / (took + 1e-9))), list[float]()
    for _ in range(TURNS):
        started = time.process_time()
        for _ in range(count):
            call()
        turns.append((time.process_time() - started) / count)
    return min(turns)


if __name__ == "__main__":
    sys.exit(main())
