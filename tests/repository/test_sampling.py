"""`--sample`: every test function runs, of many cases a few, and the same ones for the same seed in all processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

SUITE = """
import pytest

@pytest.mark.parametrize("n", range(100))
def test_many(n): pass

@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", range(50))
def test_two(n): pass

@pytest.mark.whole
@pytest.mark.parametrize("n", range(30))
def test_all(n): pass

@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_quick(n): pass

def test_single(): pass
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite of its own, with the options of this one's."""
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    return tmp_path


def ran(suite: Path, *options: str) -> list[str]:
    """The cases that passed; every process must have chosen the same."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *options],
        cwd=suite,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(
        {word for line in done.stdout.splitlines() if "PASSED" in line for word in line.split() if "::" in word}
    )


def counts(cases: list[str]) -> dict[str, int]:
    names = [case.partition("::")[2].partition("[")[0] for case in cases]
    return {name: names.count(name) for name in sorted({*names})}


def test_every_function_runs_and_of_many_cases_some(suite: Path) -> None:
    found = ran(suite, "-p", "no:xdist", "--sample=7")
    assert counts(found) == {"test_all": 30, "test_many": 15, "test_quick": 1, "test_single": 1, "test_two": 2}
    assert ran(suite, "-n", "2", "--sample=7") == found
    assert ran(suite, "-p", "no:xdist", "--sample=8") != found


def test_without_a_seed_all_processes_draw_the_same(suite: Path) -> None:
    assert counts(ran(suite, "-n", "2", "--sample=drawn"))["test_many"] == 15


def test_without_a_sample_everything_runs(suite: Path) -> None:
    assert sum(counts(ran(suite, "-p", "no:xdist")).values()) == 100 + 50 + 30 + 2 + 1


def test_samples_of_another_share(suite: Path) -> None:
    found = counts(ran(suite, "-p", "no:xdist", "--sample=7", "--share=0.03"))
    assert found == {"test_all": 6, "test_many": 3, "test_quick": 1, "test_single": 1, "test_two": 1}
    found = counts(ran(suite, "-p", "no:xdist", "--sample=7", "--share=0.5"))
    assert found == {"test_all": 30, "test_many": 50, "test_quick": 2, "test_single": 1, "test_two": 25}
