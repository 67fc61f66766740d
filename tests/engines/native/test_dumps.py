"""`WENGERT_DUMP` prints what the stages make, each alone and together; and nothing of the engine is LLVM's global state."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import llvmlite.binding as llvm

import wengert as wg

STAGES = {
    "graph": r"graph .*\n  %\d+: float64\[100\] = sin\(",
    "loops": r"function .*\n(.*\n)*?.*for %\d+ = 0 \.\. ",
    "llvm": r"target triple = ",
    "asm": r"\.text",
}
CHOICES = [(*chosen,) for count in range(5) for chosen in itertools.combinations(STAGES, count)]


@pytest.mark.parametrize("chosen", [*CHOICES, ("asm", "graph")], ids=",".join)
def test_stages_are_printed(
    chosen: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WENGERT_CACHE_DIR", "")
    monkeypatch.setenv("WENGERT_DUMP", ",".join(chosen))
    # a number of its own: what is compiled already is not compiled again
    number = 1.0 + np.random.default_rng().random()
    wg.function(lambda x: wg.sum(wg.sin(x) * x * number))(np.ones(100))
    shown = capfd.readouterr().err
    assert {*re.findall(r"^; -- (\w+): ", shown, re.MULTILINE)} == {*chosen}
    for stage in chosen:
        assert re.search(STAGES[stage], shown), f"{stage}:\n{shown[:2000]}"


def test_unknown_stages_print_nothing(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("WENGERT_DUMP", "nonsense,,")
    wg.function(lambda x: wg.sum(wg.cos(x) * 3.5))(np.ones(100))
    assert capfd.readouterr().err == ""


def test_llvms_options_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "set_option", lambda *_: pytest.fail("an option of the whole process was set"))
    monkeypatch.setenv("WENGERT_CACHE_DIR", "")
    wg.function(wg.grad(lambda x: wg.sum(wg.exp(x) * x)))(np.ones(77))
