"""tests/spec/promises.tsv: each promise of docs/semantics in a sentence, with its page and the tests that hold it.

Tests are named by what they show: nobody has to know a row number of a page, and no test reads a page outside of the
repository.
"""

from __future__ import annotations

import ast
import csv
import io
import re
import tokenize
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.paths import ROOT, SPEC

TESTS = ROOT / "tests"
FILES = sorted(path for path in TESTS.rglob("*.py") if path != Path(__file__))
PAGES = {
    f"{name}.md"
    for name in (
        "connected", "graphs", "functional", "custom_gradients", "tape", "control_flow", "hard_points", "decisions",
        "promises",
    )
}  # fmt: skip
NUMBER = r"(?!C99)[GJKSTCW]\d{1,3}"  # C99 is the language
DOTTED = (
    r"(?:tfjs|zh|grad\.op|while\.gf|cond\.gf|r\.(?:arg|note|ex|gradfn)|g\.(?:stop|unconn|raises|grad_ys|v2))\.[a-z]"
)
# the numbers of rows, in the name of a test, as a case of one, and in the words beside it
IN_NAMES = re.compile(r"(?:^|_)[gjkstcw]\d{1,3}(?:_|$)")
AS_CASES = re.compile(rf"{NUMBER}(?:[-, ].*)?|{DOTTED}.*", re.DOTALL)
IN_WORDS = re.compile(rf"(?<![\w.`]){NUMBER}\b|\b{DOTTED}")
OUTSIDE = re.compile(
    r"\b(?:SEMANTICS|CHECKLIST|KINKS|DECISIONS|API|BEYOND)\.md\b|\.\./shared\b|\bissue \d|DECISIONS \d"
)


class Promise(NamedTuple):
    promise: str
    page: str
    tests: str


def read() -> list[Promise]:
    with (SPEC / "promises.tsv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    assert tuple(header) == Promise._fields
    return [Promise(*row) for row in rows]


@cache
def functions(path: Path) -> frozenset[str]:
    """The tests of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_"))


def is_there(test: str) -> bool:
    file, _, name = test.partition("::")
    return (ROOT / file).is_file() and name in functions(ROOT / file)


def words(text: str) -> list[str]:
    """The comments and docstrings of a module."""
    said = [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            said.append(ast.get_docstring(node) or "")
    return said


def strays(text: str) -> list[str]:
    """What in a module speaks of pages that a reader lacks."""
    found = [line for line in text.splitlines() if OUTSIDE.search(line)]
    found += [said for said in words(text) if IN_WORDS.search(said)]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and (IN_NAMES.search(node.name) or re.fullmatch(NUMBER, node.name)):
            found.append(node.name)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and AS_CASES.fullmatch(node.value):
            found.append(node.value)
    return found


def test_every_line_is_complete() -> None:
    promises = read()
    assert [p for p in promises if not re.fullmatch(r"\S.*\.", p.promise) or not p.tests.split()] == []
    assert sorted({p.page for p in promises} - PAGES) == []
    said = [p.promise for p in promises]
    assert sorted({s for s in said if said.count(s) > 1}) == []


def test_every_named_test_is_there() -> None:
    assert sorted({test for p in read() for test in p.tests.split() if not is_there(test)}) == []


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(TESTS)) for path in FILES])
def test_no_test_speaks_of_pages_that_a_reader_lacks(path: Path) -> None:
    assert strays(path.read_text(encoding="utf-8")) == []


def test_data_speaks_of_no_page_outside() -> None:
    data = [p for p in SPEC.iterdir() if p.suffix in {".tsv", ".txt"}]
    assert data
    assert [p.name for p in data if OUTSIDE.search(p.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "text",
    [
        "def test_" + "k97_what_is_captured(): pass\n",
        "def f():\n    '''" + "G12: many paths.'''\n",
        "x = 1  # " + "C4, stopped\n",
        "CASES = ['" + "W3']\n",
        "Row('" + "C1 while', 2)\n",
        "NOTE = 'see " + "KIN" + "KS.md'\n",
        "x = 1  # " + "tfjs.grad.f\n",
    ],
)
def test_a_stray_is_found(text: str) -> None:
    assert strays(text)
