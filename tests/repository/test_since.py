"""`benchmarks/since.py`: what it tells of programs that became slower."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import since


def run_since(
    monkeypatch: pytest.MonkeyPatch, rounds: list[dict[str, float]], *options: str
) -> tuple[int, list[Sequence[str]]]:
    """Its answer, and which programs were measured in each round, where these are the figures."""
    asked: list[Sequence[str]] = []

    def figures(tree: Path, names: Sequence[str]) -> dict[str, float]:
        asked.append(names)
        return dict(rounds[len(asked) - 1])

    monkeypatch.setattr(since, "figures", figures)
    monkeypatch.setattr(since, "exported", lambda commit, folder: commit == "abc")
    monkeypatch.setattr(sys, "argv", ["since.py", *options])
    return since.main(), asked


def test_what_is_slower_twice_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    before = {"sin: many": 1e-5, "sin: loop": 1e-6, "dot: many": 2e-6, "old: many": 1e-6}
    now = {"sin: many": 2e-5, "sin: loop": 1.1e-6, "dot: many": 3e-6, "new: many": 1e-6}
    again = [{"sin: many": 1e-5, "sin: loop": 1e-6, "dot: many": 2e-6}, {"sin: many": 1.9e-5, "dot: many": 2.1e-6}]
    code, asked = run_since(monkeypatch, [before, now, *again], "abc")
    assert code == 1
    assert asked == [[], [], ["sin", "dot"], ["sin", "dot"]]
    heading, *told = capsys.readouterr().out.splitlines()
    assert heading == "3 programs, on average 1.49 of the time before"
    assert [line.split() for line in told] == [["1.90", "sin:", "many", "10.0", "->", "19.0", "us"]]


def test_nothing_slower_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    same = {"sin: many": 1e-5}
    assert run_since(monkeypatch, [same, same], "abc", "sin") == (0, [["sin"], ["sin"]])


def test_a_commit_that_is_not_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_since(monkeypatch, [], "none")
    assert "git has no commit none" in capsys.readouterr().err


def test_a_call_is_timed_by_the_processor() -> None:
    counts = [0]

    def call() -> None:
        counts[0] += 1
        time.sleep(0.001)

    assert since.seconds_of(call) < 0.001
    assert counts[0] > since.TURNS


def test_programs_are_made_and_timed() -> None:
    found = dict(since.measured(["neg"]))
    assert {*found} == {"neg: many", "neg: many, gradient", "neg: loop", "neg: loop, gradient"}
    assert all(seconds is not None and 0 < seconds < 1 for seconds in found.values())
