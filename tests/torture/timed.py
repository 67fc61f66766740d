"""Parts that go on for as long as they are told, as `python -m tests.torture` runs them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

from tests.torture.report import Report


class Timed(NamedTuple):
    """A part of which only a function is its own.

    Attributes:
        work: called with a seed and seconds; says what it found.
        help: what it does.
    """

    work: Callable[[int, float], Report]
    help: str | None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """What the part can be told on the command line."""
        parser.add_argument("--seconds", type=float, default=600.0, help="how long each timed part goes on")

    def run(self, options: argparse.Namespace) -> int:
        """Does it; prints what was found; the result is the exit status."""
        report = self.work(options.seed, options.seconds)
        print(f"{report.rounds:,} rounds, {len(report.failures)} failures", *report.failures, sep="\n", flush=True)
        return bool(report.failures)
