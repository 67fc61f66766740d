"""Programs compile in time that is linear in what they repeat: no pass goes over all of a program for each part of it.

Python's calls are counted, up to LLVM, for n, 2n and 4n parts of each kind of `benchmarks/growth.py`, which measures
the processor's seconds: a part of the longest may take as many as one of a shorter one, and a quarter more, since
longer functions have further passes.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import wengert as wg
from tests.support.paths import ROOT
from tests.support.profiled import run_profiled
from wengert._engines.native import engine

BENCHMARKS = ROOT / "benchmarks"
PARTS = 40
pytestmark = [
    pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="an installed package has no benchmarks"),
    pytest.mark.filterwarnings("ignore:a Python loop was unrolled"),
]


class Lowered(Exception):
    """Ends a compilation where LLVM would begin."""


def names() -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        patch.setenv("WENGERT_CACHE_DIR", "")  # which the module sets, too
        return [*importlib.import_module("growth").KINDS] if BENCHMARKS.is_dir() else []


def steps(name: str, parts: int) -> int:
    """How many calls of Python, and of what is written in C, the program takes up to LLVM."""
    f, arguments = importlib.import_module("growth").KINDS[name](parts)
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    def compile_up_to_llvm() -> None:
        with pytest.raises(Lowered):
            wg.function(f)(*arguments)

    run_profiled(profile, compile_up_to_llvm)
    return count


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", names())
def test_steps_are_linear(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def shared(*given: object) -> None:
        raise Lowered

    monkeypatch.setattr(engine, "shared", shared)
    steps(name, 2)  # what is loaded and made once
    one, two, four = (steps(name, k * PARTS) for k in (1, 2, 4))
    assert four / 4 <= 1.25 * min(one, two / 2)
