"""A few seconds of forks and kills; `python -m tests.torture` goes on for longer."""

from __future__ import annotations

import os

import pytest

from tests.torture import fork, kill

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

SECONDS = float(os.environ.get("WENGERT_TORTURE_SECONDS", "2"))
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def test_children_of_a_process_at_work_do_not_hang() -> None:
    report = fork.run(seed=1, seconds=SECONDS)
    assert not report.failures, "\n".join(report.failures)
    assert report.rounds >= 20


def test_killed_processes_leave_nothing_that_cannot_be_read() -> None:
    report = kill.run(seed=1, seconds=SECONDS)
    assert not report.failures, "\n".join(report.failures)
    assert report.rounds >= 10
