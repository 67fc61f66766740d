"""No row is forgotten: every id of CHECKLIST.md and of SEMANTICS.md's sections 1 to 7 is cited, and every case of its
table 1.12.

A test cites a row in its name (`test_k8_k9_...`), its docstring, a comment beside the numbers or the first argument of a
`Row` of numbers; rows that later work
brings or that are out of scope stand in a table with the reason (`DEFERRED`, `NOT_HERE`, and the two here). Ranges do
not count.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.test_gradients_values import KINKS

TESTS = ROOT / "tests"
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
GRAPH_ROWS = {
    "grad.op": """
        inputs f g name returns tlist count unused dup m1
    """,
    "g": """
        sum ys xs returns grad_ys.len grad_ys.none grad_ys.weights stop.ex stop.total stop.equiv stop.single
        stop.combine stop.after int unconn.default unconn.zero unconn.values unconn.ex.none unconn.ex.typo
        v2.example.false v2.example.true v2.wsbs name colocate colocate.v2 gate agg raises.lookup raises.value
        raises.runtime graphonly addsops lock
    """,
    "while.gf": """
        ys xs args.counter args.total args.grads returns zero assert capture args.doc
    """,
    "cond.gf": """
        func_graph grads untrainable none.old none.new resource resource.dtype
    """,
}
NUMBERS = {"K": "1-20 30-36 40-43 50-54 60-88 90-100", "J": "1-24 30-37 40-46"}
GRAPH_NUMBERS = {
    "G": "1-18 20-30 40-50 60-70 80-90 100-107 110-115 120-127 130-145 150-158 160-164", "S": "1-17", "T": "1-20 35",
    "C": "1-22 30-31 40-41 50-54", "W": "1-23 30-36 40-45 50-51 60-64",
}  # fmt: skip
CASES = """
    abs at -1,0,4 | relu at 0 | maximum(x,0) at x=0 | minimum(x,0) at 0 | reduce_max [3,3,1] | clip(x,-1,0) at -1,0,4
    sqrt at -1,0,4 | where(x>0,sqrt(x),0) at -1,0,4 | where(x>0,log x,0) | where(x>0,1/x,0) | where(x>0,x**.5,0)
    where(x<0,asin 2x,0) at -1,0,4 | double-where fix | norm at 0 vector | pow 0**0 wrt base | x**x at 0
    divide_no_nan(1,x) at 0 | xlogy(x,x) at -1,0,4 | reduce_prod [2,0,3] / [0,0,3] | sign
"""  # and maximum(x,y) x=y, which has two arguments

DEFERRED = {
    "W31": "out of scope: API.md has no parallel_iterations",
    "W32": "out of scope: swap_memory (DECISIONS.md, first paragraph)",
    "W33": "out of scope: back_prop (DECISIONS.md, first paragraph)",
    "G18": "out of scope: API.md has no control dependencies",
    "G105": "sums for each device: there is one device until the frameworks' engines (issue 7)",
    "G134": "wg.random.permutation comes with the rest of the random draws (issue 6)",
    "G135": "out of scope: API.md has no PreventGradient",
    "G137": "out of scope: gradient_override_map (DECISIONS.md, first paragraph)",
    "G145": "out of scope: variants (DECISIONS.md, first paragraph)",
    "G162": "out of scope: API.md has no `hessians`; wg.hessian is issue 5",
}
_ID = re.compile(
    r"\b(?:[GSTKJCW]\d+|(?:tfjs|zh|r|g|grad\.op|while\.gf|cond\.gf)\.[a-z0-9_]+(?:\.[a-z0-9_]+)*)(?![\w.]*\w\()"
)


def every_id(rows: dict[str, str], numbers: dict[str, str]) -> set[str]:
    found = {f"{group}.{row}" for group, names in rows.items() for row in names.split()}
    for letter, ranges in numbers.items():
        for part in ranges.split():
            first, _, last = part.partition("-")
            found |= {f"{letter}{n}" for n in range(int(first), int(last or first) + 1)}
    return found


def cited() -> set[str]:
    """What the test functions of this folder, and their tables of rows put off, name."""
    found: set[str] = set()
    for path in TESTS.rglob("test_*.py"):
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


@cache
def cited_by_tests() -> set[str]:
    """What test functions name in their names and docstrings, and comments beside numbers: nothing else counts."""
    found: set[str] = set()
    for path in TESTS.rglob("test_*.py"):
        if path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8")
        said = [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT]
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) == "Row"
                and isinstance(node.args[0], ast.Constant)
            ):
                said.append(str(node.args[0].value))
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                said.append(ast.get_docstring(node) or "")
                found.update(p.upper() for p in node.name.split("_") if re.fullmatch(r"[gstcw]\d+", p))
        for words in said:
            found.update(_ID.findall(re.sub(r"[A-Z]\d+ to [A-Z]\d+", "", words)))
    return found


def test_every_row_is_cited() -> None:
    assert sorted(every_id(ROWS, NUMBERS) - cited()) == []


def test_every_row_of_graphs_and_tapes_is_cited() -> None:
    assert sorted(every_id(GRAPH_ROWS, GRAPH_NUMBERS) - cited_by_tests() - {*DEFERRED}) == []


def test_what_is_put_off_is_not_there_yet() -> None:
    """A row that a test cites leaves the table; of the rows cut in half a test has the other half."""
    assert all(DEFERRED.values())
    assert {*DEFERRED} & cited_by_tests() == set()
    assert {*DEFERRED} <= every_id(GRAPH_ROWS, GRAPH_NUMBERS)


def test_every_case_of_the_table_of_kinks_is_there() -> None:
    cases = [case.strip() for line in CASES.strip().splitlines() for case in line.split("|")]
    assert [case for case in cases if not any(name.startswith(case) for name, *_ in KINKS)] == []


@pytest.mark.parametrize(("module", "table"), [("test_custom_gradient", "DEFERRED"), ("test_functional", "NOT_HERE")])
def test_what_is_put_off_has_a_reason(module: str, table: str) -> None:
    tree = ast.parse((TESTS / f"{module}.py").read_text(encoding="utf-8"))
    values = [n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == table]
    assert len(values) == 1
    assert all(ast.literal_eval(values[0]).values())
