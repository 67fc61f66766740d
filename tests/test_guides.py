"""Every Python block of the guides in docs/ runs, in order, and prints what the page says.

A line `print(...)  # text` must print exactly `text`; a `text` block right after a Python block is all that it prints.
To a block its page is a file `script.py` of its own, so that line numbers in messages count from the block's start.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from pathlib import Path

import pytest

import wengert as wg

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
PROMISED_OUTPUT = re.compile(r"^\s*print\(.*\)  # (.+)$", re.MULTILINE)
GUIDES = [path for path in sorted(DOCS.rglob("*.md")) if BLOCK.search(path.read_text(encoding="utf-8"))]


def printed_by(source: str, namespace: dict[str, object]) -> list[str]:
    printed = io.StringIO()
    linecache.cache["script.py"] = (len(source), None, source.splitlines(keepends=True), "script.py")
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(source, "script.py", "exec"), namespace)
    finally:
        del linecache.cache["script.py"]
    return printed.getvalue().splitlines()


def test_there_are_guides() -> None:
    assert DOCS / "loops.md" in GUIDES


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_blocks_run_and_print_what_the_page_says(guide: Path) -> None:
    text = guide.read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        source, shown = block.groups()
        wanted = PROMISED_OUTPUT.findall(source) if shown is None else shown.splitlines()
        line = text[: block.start()].count("\n") + 1
        assert printed_by(source, namespace) == wanted, f"the block at {guide.name}:{line}"


def test_the_reference_has_every_name() -> None:
    """NumPy's names stand in the pages of wengert.numpy and wengert.ops, which list their modules."""
    pages = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.rst"))
    listed = re.findall(r"^\.\. auto\w+:: ([\w.]+)$", pages, re.MULTILINE)
    assert len(listed) == len({*listed})
    modules = {name for name in wg.__all__ if f"wengert.{name}" in listed or f"wengert.{name}.v1" in listed}
    assert {*wg.__all__} - {*wg.numpy.__all__} - {*listed} - modules == set()
    assert {name for name in listed if not name.startswith("wengert.")} <= {*wg.__all__}
