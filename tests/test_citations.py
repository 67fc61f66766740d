"""No row is forgotten: every id of CHECKLIST.md's tfjs, zh and r and of SEMANTICS.md's sections 5 and 6 is cited.

A test cites a row in its name (`test_k8_k9_...`), its docstring or a comment beside the numbers; rows that later work
brings or that are out of scope stand in a table with the reason (`DEFERRED`, `NOT_HERE`). Ranges do not count.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROWS = {
    "tfjs.grad": """
        f returns ex1 ex2.first ex2.second x.tensorlike dy dy.tensorlike dy.optional dy.shape
        dy.dtype single usegrads wrt
    """,
    "tfjs.grads": """
        f returns ex dy dy.shape args.array onearg independent
    """,
    "tfjs.vag": """
        ex keys grad.same value x.tensor dy
    """,
    "tfjs.vags": """
        ex keys args dy grads.same
    """,
    "tfjs.vg": """
        ex default varlist scalar value grads.map nontrainable.null none.trainable unconnected
    """,
    "tfjs.cg": """
        f returns backward save saved ex.value ex.grad gradfunc.list gradfunc.bare
    """,
    "tfjs": """
        exports
    """,
    "zh": """
        param.f return ex1.f ex1.grad ex1.saved.comment ex2.f ex2.grad ex1.block2
    """,
    "r": """
        arg.f arg.nested.in arg.nested.out gradfn.list gradfn.upstream value note.tfjax note.torch
        note.agnostic ex.value ex.grad.expr desc
    """,
}
NUMBERS = {"K": "1-20 30-36 40-43 50-54 60-88 90-100", "J": "1-24 30-37 40-46"}


def every_id() -> list[str]:
    found = [f"{group}.{row}" for group, rows in ROWS.items() for row in rows.split()]
    for letter, ranges in NUMBERS.items():
        for part in ranges.split():
            first, _, last = part.partition("-")
            found += [f"{letter}{n}" for n in range(int(first), int(last or first) + 1)]
    return found


def cited() -> set[str]:
    """What the test functions of this folder, and their tables of rows put off, name."""
    found: set[str] = set()
    for path in TESTS.glob("test_*.py"):
        if path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8")
        doc = ast.get_docstring(ast.parse(text), clean=False)
        text = text.replace(doc, "", 1) if doc else text
        found.update(re.findall(r"\b(?:tfjs|zh|r)\.[a-z0-9]+(?:\.[a-z0-9]+)*", text))
        found.update(re.findall(r"\b[KJ]\d+\b", re.sub(r"[KJ]\d+ to [KJ]\d+", "", text)))
        for name in re.findall(r"def test_(\w+)", text):
            found.update(part.upper() for part in name.split("_") if re.fullmatch(r"[kj]\d+", part))
    return found


def test_every_row_is_cited() -> None:
    assert sorted(set(every_id()) - cited()) == []


@pytest.mark.parametrize(("module", "table"), [("test_custom_gradient", "DEFERRED"), ("test_functional", "NOT_HERE")])
def test_what_is_put_off_has_a_reason(module: str, table: str) -> None:
    tree = ast.parse((TESTS / f"{module}.py").read_text(encoding="utf-8"))
    values = [n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == table]
    assert len(values) == 1
    assert all(ast.literal_eval(values[0]).values())
