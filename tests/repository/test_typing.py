"""The types that users see: pyright on `typing/usage.py`, which holds calls that fit and calls that must be refused;
and how many parameters have a type that says something.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

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


MOST_ANY = 0.1  # of the parameters; lower it when the share falls


def _says_nothing(parameter: ast.arg) -> bool:
    return parameter.annotation is None or ast.unparse(parameter.annotation) in ("Any", "'Any'")


def _parameters(tree: ast.Module) -> Iterator[ast.arg]:
    """The parameters of all functions, but for the first of methods."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            own = function.args
            named = [*own.posonlyargs, *own.args, *own.kwonlyargs]
            bound = bool(named) and named[0].arg in ("self", "cls")
            yield from named[bound:]
            yield from (p for p in (own.vararg, own.kwarg) if p is not None)


def test_parameters_say_what_they_take():
    said: Counter[tuple[str, bool]] = Counter()
    for path in sorted((ROOT / "wengert").rglob("*.py")):
        room = path.relative_to(ROOT / "wengert").parts[0]
        for parameter in _parameters(ast.parse(path.read_text(encoding="utf-8"))):
            said[room, _says_nothing(parameter)] += 1
    silent = Counter({room: n for (room, is_silent), n in said.items() if is_silent})
    share = sum(silent.values()) / sum(said.values())
    assert share <= MOST_ANY, (
        f"{share:.1%} of the parameters are Any, {MOST_ANY:.1%} is the most: {silent.most_common(8)}"
    )
