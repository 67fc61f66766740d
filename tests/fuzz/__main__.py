"""The fuzzer's command line: `python -m tests.fuzz --seed 1 --minutes 5`; without an end it runs until it is stopped."""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from tests.fuzz.classes import CLASSES
from tests.fuzz.runner import Options, Report, run
from tests.fuzz.writer import FOLDER, Finding, text_of, write_test

EVERY = 300.0  # seconds between two tables


class Totals:
    """Programs, failures and processor time by class."""

    def __init__(self) -> None:
        self.rows: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0, 0, 0, 0.0])

    def add(self, report: Report) -> None:
        row = self.rows[report.name]
        more = (1, report.checks, report.refused, report.rounding, len(report.findings), report.seconds)
        row[:] = [a + b for a, b in zip(row, more, strict=True)]

    def table(self) -> str:
        """The table; rounding is where two ways were as far apart as rounding makes them."""
        head = (
            f"{'class':<14}{'programs':>10}{'checks':>10}{'refused':>10}{'rounding':>10}{'failures':>10}{'seconds':>12}"
        )
        sums = [sum(column) for column in zip(*self.rows.values(), strict=True)] or [0] * 6
        rows = [(name, self.rows[name]) for name in CLASSES if name in self.rows]
        lines = [_line(name, row) for name, row in [*rows, ("all", sums)]]
        return "\n".join([head, *lines])


def _line(name: str, row: list[float]) -> str:
    return f"{name:<14}" + "".join(f"{int(n):>10}" for n in row[:5]) + f"{row[5]:>12.1f}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="of all programs; drawn and printed if none is given")
    parser.add_argument("--minutes", type=float, help="how long to run")
    parser.add_argument("--seconds", type=float, help="the same in seconds")
    parser.add_argument("--processor-seconds", type=float, help="how much processor time programs may take")
    parser.add_argument("--classes", default="", help=f"with commas between them, of {', '.join(CLASSES)}")
    parser.add_argument("--first", type=int, default=0, help="the number of the first program of each class")
    parser.add_argument("--count", type=int, help="how many programs")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds that a program may take")
    parser.add_argument("--minimise", type=float, default=120.0, help="seconds for making one that fails small")
    parser.add_argument("--out", type=Path, default=FOLDER, help="the folder for the tests of what is found")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    names = given.classes.split(",") if given.classes else [*CLASSES]
    unknown = [name for name in names if name not in CLASSES]
    if unknown:
        print(f"no class {unknown[0]!r}; there are {', '.join(CLASSES)}", file=sys.stderr)
        return 2
    seed = secrets.randbelow(10**6) if given.seed is None else given.seed
    print(f"seed {seed}: `python -m tests.fuzz --seed {seed}` makes the same programs", flush=True)
    wall = given.seconds or (given.minutes * 60 if given.minutes else float("inf"))
    most, ends = given.processor_seconds or float("inf"), time.monotonic() + wall
    totals, spent = Totals(), 0.0
    found: dict[str, Finding] = {}

    def is_over() -> bool:
        return time.monotonic() > ends or spent > most

    signal.signal(signal.SIGTERM, stopped)
    options, told = Options(seed, given.limit, given.minimise), time.monotonic()
    os.environ.setdefault("JAX_ENABLE_X64", "1")  # read when JAX loads, by the processes that we start
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with tempfile.TemporaryDirectory(prefix="wengert-fuzz-") as cache:
        os.environ["WENGERT_CACHE_DIR"] = cache
        try:
            for report in run(names, options, is_over, given.jobs, given.first, given.count):
                totals.add(report)
                spent += report.seconds
                for finding in report.findings:
                    show(finding, found, given.out)
                if time.monotonic() - told > EVERY:
                    told = time.monotonic()
                    print(totals.table(), flush=True)
        except KeyboardInterrupt:
            print("stopped")
    print(totals.table())
    print(f"{len(found)} findings; seed {seed}")
    return bool(found)


def stopped(number: int, frame: object) -> None:
    """A run that is asked to end ends its processes and tells its totals, as one that is interrupted does."""
    raise KeyboardInterrupt


def show(finding: Finding, found: dict[str, Finding], folder: Path) -> None:
    """Prints a finding and writes its test, unless there is one of probably the same cause."""
    first = found.setdefault(finding.key(), finding)
    if first is not finding:
        print(f"-- {finding.name} {finding.number}: as {first.name} {first.number}", flush=True)
        return
    path = write_test(finding, folder)
    print(f"-- {path}\n{text_of(finding)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
