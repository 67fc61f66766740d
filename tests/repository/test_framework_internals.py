"""The page on the frameworks' private parts lists all that are touched, each is there, and so are the tests it names."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/framework_internals.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([^`]+)` \| [^|]+ \| `([^`]+)` \|$", PAGE, re.MULTILINE)
PARTS = [part for part, _ in ROWS]
# names that say by an underscore, or by TensorFlow's folder of the same meaning, that they are private
PRIVATE = re.compile(
    r"\b(?:torch(?:\.\w+)*\._\w+(?:\.\w+)*|tensorflow\.python\b[\w.]*|forward_ad\._\w+|_disable_current_modes)"
)


def _sources() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in (ROOT / "wengert").rglob("*.py")]


def test_what_is_touched_stands_on_the_page() -> None:
    touched = {found.strip(".") for text in _sources() for found in PRIVATE.findall(text)}
    assert len(touched) > 8
    for name in touched - {"tensorflow.python", "tensorflow.python.eager"}:  # of which parts are imported by name
        assert any(name.startswith(part) or part.startswith(name) or part.endswith(name) for part in PARTS), (
            f"{name} is not on the page"
        )
    imported = {
        n
        for t in _sources()
        for line in re.findall(r"from tensorflow\.python\S* import (.*)", t)
        for n in line.split(", ")
    }
    assert imported == {part.rpartition(".")[2] for part in PARTS if part.startswith("tensorflow.")}


@pytest.mark.parametrize(("part", "test"), ROWS, ids=PARTS)
def test_each_part_is_there_and_so_is_its_test(part: str, test: str) -> None:
    assert (ROOT / test).is_file()
    pytest.importorskip(part.partition(".")[0], reason="the framework is not installed")
    found: Any = None
    names = part.split(".")
    for end in range(1, len(names) + 1):
        name = ".".join(names[:end])
        try:
            found = importlib.import_module(name)
        except ModuleNotFoundError:  # a name of the module before it
            found = getattr(found, names[end - 1])
    assert found is not None
