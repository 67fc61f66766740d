"""The pages of docs/semantics hold together: links lead somewhere, and what the tree cites stands there.

A decision is cited as `decision 14`, a page by its path from the root, a measured rule by its id as code.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.support.paths import DOCS, ROOT, SPEC

PAGES = sorted((DOCS / "semantics").glob("*.md"))
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)\s]*)\)")
CITED_PAGE = re.compile(r"\bdocs/semantics/\w+\.md\b")
RULE = re.compile(r"`([GSTKJCW]\d+|(?:tfjs|zh|r|g|grad\.op|while\.gf|cond\.gf)\.[\w.]+)`")
CITED_DECISION = re.compile(r"\bdecisions?(?:\.md)?[ ,]*((?:\d+(?:, | and | or )?)+)", re.IGNORECASE)
# a name that ends before .md or in a reference, not a constant of a program
OLD_PAGES = re.compile(
    r"\b(?:SEMANTICS|CHECKLIST|KINKS|PEERS|BEYOND|API)\.md\b|\bDECISIONS(?:\.md\b| \d)|\.\./shared\b"
)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, spelt as MyST spells them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@cache
def sources() -> dict[str, str]:
    """The text of every file that git tracks, by its path; data and this test left out."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("what belongs to the tree is known to git only")
    texts = {}
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path != Path(__file__) and path.suffix in {".py", ".md", ".rst", ".toml", ".txt", ".yml"} and path.is_file():
            texts[name] = text_of(path)
    return texts


def test_there_are_pages() -> None:
    assert {"index", "decisions", "connected", "graphs", "hard_points"} <= {page.stem for page in PAGES}


@pytest.mark.parametrize("page", [*PAGES, DOCS / "kinks.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    missing = []
    for link in LINK.findall(FENCED.sub("", text_of(page))):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        made_by_the_build = name.startswith("primitives/")
        if not made_by_the_build and (not target.is_file() or (anchor and anchor not in anchors(target))):
            missing.append(link)
    assert missing == []


def decisions() -> list[int]:
    return [
        int(n) for n in re.findall(r"^### Decision (\d+)$", text_of(DOCS / "semantics" / "decisions.md"), re.MULTILINE)
    ]


def test_decisions_are_numbered_in_order() -> None:
    assert decisions() == list(range(1, 46))


def test_decisions_that_are_cited_are_there() -> None:
    known, cited = {*decisions()}, set()
    for name, text in sources().items():
        cited |= {(int(n), name) for numbers in CITED_DECISION.findall(text) for n in re.findall(r"\d+", numbers)}
    assert len(cited) > 20
    assert sorted((number, name) for number, name in cited if number not in known) == []


def test_pages_that_are_cited_are_there() -> None:
    cited = {(page, name) for name, text in sources().items() for page in CITED_PAGE.findall(text)}
    assert sorted((page, name) for page, name in cited if not (ROOT / page).is_file()) == []


def test_measured_rules_have_one_place_each() -> None:
    """An id opens one row of one page, and what the pages cite is there."""
    tables = [page for page in PAGES if page.stem not in ("index", "decisions", "hard_points")]
    first_cells = [re.findall(r"^\| ([^|]*) \|", text_of(page), re.MULTILINE) for page in tables]
    there = [name for cells in first_cells for cell in cells for name in RULE.findall(cell)]
    assert len(there) > 400
    assert sorted({name for name in there if there.count(name) > 1}) == []
    cited = {name for page in PAGES for name in RULE.findall(FENCED.sub("", text_of(page)))}
    assert sorted(cited - {*there}) == []


def test_hard_points_are_the_cases_that_are_tested() -> None:
    rows = re.findall(r"^\| `(.*?)` \|", text_of(DOCS / "semantics" / "hard_points.md"), re.MULTILINE)
    lines = (SPEC / "kinks_cases.txt").read_text(encoding="utf-8").splitlines()
    assert [row.replace(r"\|", "|") for row in rows] == [line.partition("\t")[2] for line in lines]


def test_recorded_data_is_described() -> None:
    described = re.findall(r"^\| `([\w.]+)` \|", text_of(SPEC / "README.md"), re.MULTILINE)
    assert {*described} == {path.name for path in SPEC.iterdir() if path.suffix in {".json", ".npz", ".tsv", ".txt"}}


def test_nothing_refers_to_pages_outside_of_the_repository() -> None:
    found = {name: OLD_PAGES.findall(text) for name, text in sources().items()}
    assert {name: names for name, names in found.items() if names} == {}
