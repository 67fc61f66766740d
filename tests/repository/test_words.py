"""One word for each idea (docs/glossary.md): the words that were replaced do not come back, and modules say what they are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
# the field's word, and what stood for it
REPLACED = {
    "backward pass": r"\bon (the|its|their) way back\b|\bthe way back (of|through|is|runs|reads|writes)\b",
    "invariant": r"\b(\w*_)?steady(_\w*)?\b",
    "public function": r"\bdoors?\b",
    "known": r"\btold at run time\b",
}
TEXTS = sorted(
    path
    for place in ("wengert", "tests", "docs", "ARCHITECTURE.md", "CONTRIBUTING.md", "README.md")
    for path in ([ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*"))
    if path.suffix in (".py", ".md") and not {"_build", "_generated"} & {*path.parts} and path != Path(__file__)
)
MODULES = sorted((ROOT / "wengert").rglob("*.py"))


@pytest.mark.parametrize("word", REPLACED)
def test_replaced_words_do_not_come_back(word: str) -> None:
    assert word in GLOSSARY
    old = re.compile(REPLACED[word])
    assert not [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in TEXTS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if old.search(line)
    ]


def test_each_module_says_first_what_it_is() -> None:
    without = [
        str(path.relative_to(ROOT))
        for path in MODULES
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not without


def test_words_stand_once_in_the_glossary() -> None:
    words = [word.strip() for row in re.findall(r"^\| ([^|]+) \|", GLOSSARY, re.MULTILINE) for word in row.split(",")]
    words = [word for word in words if word not in ("word", "---")]
    assert len(words) > 40
    assert len({*words}) == len(words)
