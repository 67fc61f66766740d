"""Changed files, each loaded and run by machine code between guard pages, in child processes: a death is a finding."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from tempfile import TemporaryDirectory

SHARE = 400  # changes a child tries
LIMIT = 20.0  # seconds of the processor for one change until it counts as one that does not end


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `python -m tests.torture damage` can be told."""
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first change; to see one again")


def run(options: argparse.Namespace) -> int:
    """Tries changes; prints a table; the result is the exit status."""
    report = damage(options.seed, options.count, options.first, shows=True)
    print(report)
    return bool(report.findings)


class Report:
    """What became of changes.

    Attributes:
        counts: how many were refused on load, ran, raised an error as they ran, were too large to run, or had a loop and
            were interrupted when their time was over.
        findings: the changes that killed their process or did not end, each as a line that says how to see it again.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.findings: list[str] = []
        self.seconds = 0.0

    def __str__(self) -> str:
        told = ", ".join(f"{name} {n:,}" for name, n in sorted(self.counts.items()))
        lines = [f"{sum(self.counts.values()):,} changes in {self.seconds:.0f} s: {told}"]
        return "\n".join([*lines, f"{len(self.findings)} findings", *self.findings])


def damage(seed: int, count: int, first: int = 0, *, shows: bool = False, limit: float = LIMIT) -> Report:
    """Tries changes number `first` to `first + count` of a seed."""
    report, last, start = Report(), first + count, time.monotonic()
    with TemporaryDirectory() as folder:
        path = f"{folder}/corpus"
        # the corpus is traced once for all children, and needs no machine code
        subprocess.run(
            [sys.executable, "-m", "tests.torture.corpus", path], check=True, env={**os.environ, "WENGERT_JIT": "0"}
        )
        while first < last:
            first = _child(path, seed, first, min(last, first + SHARE), report, limit)
            report.seconds = time.monotonic() - start
            if shows:
                print(f"{first:,}: {report}", flush=True)
    return report


def _child(path: str, seed: int, first: int, last: int, report: Report, limit: float) -> int:
    """Runs a child until it ends or dies; the number of the next change to try."""
    environment = {**os.environ, "WENGERT_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    place, what = first, "start"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.torture.child", path, str(seed), str(first), str(last), str(int(limit))],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
    ) as child:  # fmt: skip
        assert child.stdout is not None
        for line in child.stdout:
            number, what = line.strip().split(maxsplit=1)
            place = int(number)
            if not what.startswith("tries"):
                report.counts[what] += 1
                place += 1
    if child.returncode == 0:
        return last
    if what == "start":
        raise RuntimeError(f"the child of changes {first} to {last} ended at once: {child.returncode}")
    if child.returncode == -signal.SIGPROF:
        why = f"took more than {limit:g} s"
    elif child.returncode == -signal.SIGALRM:
        why = f"did not end in {10 * limit:g} s"
    else:
        why = f"died of {child.returncode}"
    report.counts["killed"] += 1
    report.findings.append(f"{why}: {what} (--seed {seed} --first {place} --count 1)")
    return place + 1
