"""Which tests `make test` runs: every test function, of those with many cases a sample drawn by a seed.

`--sample` draws a seed, prints it and takes it along to the processes of pytest-xdist; `--sample=SEED` draws the same
cases again. Without it, as in `make test-all`, everything runs. A test function says by a mark what is to be done:

- `slow`: it, or one of its cases, runs in the full suite only, where something lighter touches the same feature;
- `whole`: all its cases run in a sample, too, since they are quick and each touches something else;
- `sampled(n)`: so many of its cases run in a sample.
"""

from __future__ import annotations

import math
import secrets
import zlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest

LEAST = 3  # cases of a function that run in any case
SHARE = 0.15  # of the cases of a function that has many
DRAWN = "drawn"  # what --sample without a seed says

MARKS = (
    "slow: runs in `make test-all` only",
    "whole: all its cases run in `make test`, too",
    "sampled(n): so many of its cases run in `make test`",
)


class Sampling:
    """A plugin that drops what a sample leaves out."""

    def __init__(self, config: pytest.Config) -> None:
        said: str = config.option.sample
        # the processes of pytest-xdist are given the same option, and what this one has drawn
        given = getattr(config, "workerinput", {})
        self.seed = given.get("sample") or (str(secrets.randbelow(10**6)) if said == DRAWN else said)
        self.share: float = config.option.share

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["sample"] = self.seed

    def pytest_report_header(self) -> str:
        return f"a sample of the suite, of seed {self.seed}; `make test {self._told()}` runs the same"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.line(f"This was a sample of the suite. To run it again: make test {self._told()}")

    def _told(self) -> str:
        return f"SEED={self.seed}" + (f" SHARE={self.share}" if self.share != SHARE else "")

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = chosen(items, self.seed, self.share)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]


def chosen(items: Sequence[pytest.Item], seed: str, share: float = SHARE) -> set[pytest.Item]:
    """The items that are in the sample; slow ones only in one that is larger than usual."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if share > SHARE or item.get_closest_marker("slow") is None:
            cases[item.nodeid.partition("[")[0]].append(item)
    return {item for group in cases.values() for item in drawn(group, seed, share)}


def drawn(group: list[pytest.Item], seed: str, share: float = SHARE) -> list[pytest.Item]:
    """Of the cases of one function those that are in the sample."""
    ranked = sorted(group, key=lambda item: (is_skipped(item), zlib.crc32(f"{seed} {item.nodeid}".encode())))
    return ranked[: max(_count(group), math.ceil(share * len(group))) if share > SHARE else _fewer(group, share)]


def is_skipped(item: pytest.Item) -> bool:
    """Whether it will be skipped for what is not installed: then others are drawn before it."""
    return any(mark.args[:1] == (True,) for mark in item.iter_markers("skipif"))


def _fewer(group: list[pytest.Item], share: float) -> int:
    return math.ceil(_count(group) * share / SHARE)


def _count(group: list[pytest.Item]) -> int:
    """How many cases run in a sample of the usual size."""
    if group[0].get_closest_marker("whole") is not None:
        return len(group)
    said = group[0].get_closest_marker("sampled")
    return said.args[0] if said is not None else max(LEAST, math.ceil(SHARE * len(group)))
