"""What dropped functions leave in memory, and what compiled ones keep."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.llvm import jit

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "leaks.py"
COUNT = int(os.environ.get("WENGERT_TEST_LEAKS", "120"))  # functions; more tell smaller leaks


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("way", ["compiled", "found"])
def test_a_dropped_function_leaves_little(way: str) -> None:
    """At most 4 KiB, of some 130 that LLVM takes for one."""
    command = [sys.executable, str(BENCHMARK), "--way", way, "--count", str(COUNT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[0]) < 4, done.stdout


def loaded() -> int:
    gc.collect()
    return len(jit._alive)


def test_code_goes_with_its_function_and_is_shared_before() -> None:
    def make() -> object:
        f = wg.function(lambda x: wg.sum(wg.sin(x) * 0.123))
        f(np.ones(7))
        return f

    before = loaded()
    f = make()
    with_one = loaded()
    g = make()
    assert before < with_one == loaded()
    del f
    assert loaded() == with_one
    del g
    assert loaded() == before


def test_objects_of_the_last_modules_are_kept_and_no_more() -> None:
    recent = jit._Recent()
    image = bytes(recent.ROOM // 8)
    for number in range(20):
        recent.add(bytes([number]), jit._Object(image, []))
        assert recent.get(b"\0") is not None or number >= 8  # asked for, and so not the first to go
    assert [n for n in range(20) if recent.get(bytes([n]))] == [0, *range(13, 20)] or recent._held <= recent.ROOM
    for number in range(200):
        recent.add(b"small %d" % number, jit._Object(b"", []))
    assert len(recent._objects) == recent.MOST
