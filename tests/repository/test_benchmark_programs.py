"""The programs of benchmarks/ give what hand-written C gives: gradients that somebody derived by hand."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from tests.support.paths import ROOT

BENCHMARKS = ROOT / "benchmarks"
ROWS = ("adaptive", "call", "gmm", "kmeans", "llsq", "lse", "lstm", "ode", "ode_n", "stream")
pytestmark = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="an installed package has no benchmarks")


@pytest.mark.skipif(shutil.which(os.environ.get("CC", "gcc")) is None, reason="the programs in C need a C compiler")
@pytest.mark.parametrize("row", ROWS)
def test_gradients_are_those_written_by_hand(row: str) -> None:
    command = [sys.executable, "run.py", "--one", row, "--quick", "--libraries", "wengert"]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(BENCHMARKS.parent), os.environ.get("PYTHONPATH", "")])
    }
    done = subprocess.run(command, cwd=BENCHMARKS, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.strip().splitlines()[-1])
    for case in found["cases"]:
        assert [t["library"] for t in case["times"]] == ["C", "wengert"]
        assert [t["error"] for t in case["times"]] == [None, None], case


@pytest.mark.parametrize("row", ["mlp", "logreg", "conv"])
def test_rows_without_c_agree_with_differences(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    libraries = importlib.import_module("libraries")
    program = importlib.import_module(f"programs.{row}")
    (library,) = libraries.wengert()
    parameters = next(iter(program.CASES.values())) | {"batch": 2, "n": 50}
    monkeypatch.setattr(program, "data", _in_float64(program.data))
    arrays = [a.astype(np.float64) for a in program.arguments(parameters)]
    f = program.program(library, parameters)
    _, slopes = library.compiled(library.value_and_grad(f, len(arrays)))(*arrays)
    slopes = slopes if isinstance(slopes, (tuple, list)) else (slopes,)
    rng = np.random.default_rng(0)
    directions = [rng.normal(size=a.shape) for a in arrays]
    step = 1e-6
    ahead, behind = (float(f(*[a + s * d for a, d in zip(arrays, directions, strict=True)])) for s in (step, -step))
    along = sum(float(np.sum(g * d)) for g, d in zip(slopes, directions, strict=True))
    # second-order differences of a float64 function that relu and pooling make piecewise smooth
    assert along == pytest.approx((ahead - behind) / (2 * step), rel=1e-5, abs=1e-7)


def _in_float64(data):  # type: ignore[no-untyped-def]  (the programs' own functions, untyped here)
    return lambda parameters: tuple(a.astype(np.float64) for a in data(parameters))
