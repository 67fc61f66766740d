"""A dozen functions between guard pages and without memory; `python -m tests.torture calls` tries all."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.guard_pages import IS_AVAILABLE
from tests.support.paths import ROOT
from tests.torture import calls

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")


@pytest.mark.skipif(not IS_AVAILABLE, reason="pages are protected by mprotect")
def test_calls_stay_in_their_arrays_and_give_results_or_a_memory_error() -> None:
    report = calls.run(seed=1, seconds=float(os.environ.get("WENGERT_TORTURE_SECONDS", "2")))
    assert not report.failures, "\n".join(report.failures)
    assert report.rounds >= calls.LEAST


COUNTED = """
import numpy as np
import wengert as wg
from tests.torture.workspace import guard_workspace

workspace = guard_workspace()
f = wg.function(lambda x: wg.cumsum(wg.sort(x)) @ wg.sort(x * x))
x = np.linspace(1.0, -1.0, 500)
wanted = f(x)
workspace.fail(0, 0)
f(x)
assert workspace.taken and not workspace.held
for n in range(workspace.taken):
    workspace.fail(n)
    try:
        f(x)
    except MemoryError as error:
        assert "500" in str(error), error
    else:
        raise AssertionError("a block was not had, and nobody noticed")
    assert not workspace.held
workspace.fail(0, 0)
assert f(x) == wanted
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the workspace is guarded with Linux's numbers of mmap"
)
def test_each_block_that_is_not_had_is_a_memory_error_and_leaves_none() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "WENGERT_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", COUNTED], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_all_parts_can_be_run() -> None:
    command = [sys.executable, "-m", "tests.torture", "all", "--help"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "--count" in told and "--seconds" in told and "--seed" in told
