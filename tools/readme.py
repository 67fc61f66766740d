"""Runs the Python blocks of a page from top to bottom and compares what they print with what the page says.

    python tools/readme.py README.md [--whole]

A line `print(...)  # text` must print exactly `text`. A block that imports a framework which is not installed is left
out, and said to be; with `--whole` that is an error. Needs the standard library and what the page itself imports.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMISED_OUTPUT = re.compile(r"^\s*print\(.*\)  # (.+)$", re.MULTILINE)
FRAMEWORK = re.compile(r"^\s*(?:import|from) (jax|torch|tensorflow|keras)\b", re.MULTILINE)


class Ran(NamedTuple):
    """What became of a block: what it printed and should have, or the framework for which it was left out."""

    line: int
    printed: list[str]
    promised: list[str]
    left_out_for: str | None


def missing_framework(source: str) -> str | None:
    """The first framework that a block imports and that is not installed."""
    return next((name for name in FRAMEWORK.findall(source) if importlib.util.find_spec(name) is None), None)


def run_blocks(page: Path) -> Iterator[Ran]:
    """Runs the blocks of a page one after the other, in one namespace."""
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "readme"}
    for block in PYTHON_BLOCK.finditer(text):
        lines_before = text[: block.start(1)].count("\n")
        missing = missing_framework(block[1])
        printed = io.StringIO()
        if missing is None:
            # blank lines in front make a traceback name the line of the page
            code = compile("\n" * lines_before + block[1], str(page), "exec")
            with contextlib.redirect_stdout(printed):
                exec(code, namespace)
        yield Ran(lines_before + 1, printed.getvalue().splitlines(), PROMISED_OUTPUT.findall(block[1]), missing)


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the Python blocks of a page.")
    parser.add_argument("page", type=Path)
    parser.add_argument("--whole", action="store_true", help="no block may be left out")
    options = parser.parse_args()
    blocks = 0
    for ran in run_blocks(options.page):
        blocks += 1
        where = f"{options.page.name}:{ran.line}"
        if ran.left_out_for is not None:
            print(f"{where}: left out, {ran.left_out_for} is not installed")
            if options.whole:
                return 1
        elif ran.printed != ran.promised:
            print(f"{where}: printed {ran.printed}, the page says {ran.promised}")
            return 1
        else:
            print(f"{where}: {len(ran.printed)} lines printed as the page says")
    if not blocks:
        print(f"{options.page.name}: no Python block")
    return 0 if blocks else 1


if __name__ == "__main__":
    sys.exit(main())
