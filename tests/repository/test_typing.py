"""The types that users see: pyright on `typing/usage.py`, which holds calls that fit and calls that must be refused."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest

from tests.support.paths import ROOT


@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
def test_typed_usage_is_as_it_says():
    command = [
        sys.executable,
        "-m",
        "pyright",
        "--outputjson",
        "--pythonpath",
        sys.executable,
        "tests/repository/typing",
    ]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    try:
        report = json.loads(finished.stdout)
    except ValueError:
        pytest.fail(f"pyright did not run:\n{finished.stdout}\n{finished.stderr}")
    found = [f"line {d['range']['start']['line'] + 1}: {d['message']}" for d in report["generalDiagnostics"]]
    assert report["summary"]["filesAnalyzed"] > 0
    assert not found, "\n".join(found)


def test_public_modules_are_checked_strictly():
    modules = [p for p in (ROOT / "wengert").glob("*.py") if not p.name.startswith("_")]
    assert modules
    loose = [p.name for p in modules if "# pyright: strict" not in p.read_text(encoding="utf-8")]
    assert not loose, f"these public modules lack a line '# pyright: strict': {loose}"
