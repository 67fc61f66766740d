"""Every Python block of README.md runs, in order, and prints what its comments say.

A line `print(...)  # text` must print exactly `text`.
"""

from __future__ import annotations

import contextlib
import io
import re

from tests.support.paths import ROOT

README = ROOT / "README.md"
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMISED_OUTPUT = re.compile(r"^\s*print\(.*\)  # (.+)$", re.MULTILINE)


def test_readme_blocks_run_and_print_what_they_say() -> None:
    text = README.read_text(encoding="utf-8")
    blocks = list(PYTHON_BLOCK.finditer(text))
    assert blocks
    namespace: dict[str, object] = {"__name__": "readme"}
    for block in blocks:
        # Blank lines in front make a traceback name the line of README.md.
        source = "\n" * (text[: block.start(1)].count("\n")) + block[1]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, str(README), "exec"), namespace)
        assert printed.getvalue().splitlines() == PROMISED_OUTPUT.findall(block[1])
