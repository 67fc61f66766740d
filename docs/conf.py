"""Sphinx settings of the documentation. `make docs` builds it; pictures and outputs of the examples are made here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import wengert

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
GENERATED = DOCS / "_generated"

project = "Wengert"
author = "The Wengert developers"
copyright = author
version = release = wengert.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "_generated"]
myst_heading_anchors = 3
nitpicky = False

autodoc_typehints = "none"  # the docstrings tell types where they matter
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_numpy_docstring = False
napoleon_use_rtype = False  # Returns tells it all
napoleon_use_ivar = True  # fields of named tuples are described once

html_theme = "furo"
html_title = f"Wengert {release}"
html_show_sphinx = False
html_copy_source = False


def newest(folder: Path) -> float:
    """When a Python file of a folder was last changed."""
    return max(path.stat().st_mtime for path in folder.rglob("*.py"))


def run_examples(app: Any) -> None:
    """Runs each example, unless its picture is newer than all sources."""
    GENERATED.mkdir(exist_ok=True)
    sources = max(newest(ROOT / "examples"), newest(Path(wengert.__file__).parent))
    for script in sorted((ROOT / "examples").glob("*.py")):
        picture, output = GENERATED / f"{script.stem}.svg", GENERATED / f"{script.stem}.txt"
        if picture.exists() and output.exists() and output.stat().st_mtime > sources:
            continue
        command = [sys.executable, str(script), "--plot", str(picture)]
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{script.name} failed:\n{done.stderr}")
        output.write_text(done.stdout, encoding="utf-8")


CODE = re.compile(r"(`+)(.+?)\1(?=(\w)?)", re.DOTALL)


def escaped(text: str) -> str:
    """Prose of a docstring as reStructuredText: code between backticks, all else plain, formulas included."""
    parts, end = [], 0
    for code in CODE.finditer(text):
        # two backticks keep napoleon from splitting at a colon between them; a letter may follow them: `Dim`s
        parts += [plain(text[end : code.start()]), f"``{code[2]}``", "\\ " if code[3] else ""]
        end = code.end()
    return "".join([*parts, plain(text[end:])])


def plain(text: str) -> str:
    return re.sub(r"[*|]|_\b", r"\\\g<0>", text)


def escape_docstring(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Escapes a docstring, doctests left out, before napoleon reads its sections."""
    text = []
    for paragraph in "\n".join(lines).split("\n\n"):
        prose, prompt, doctest = paragraph.partition(">>>")
        text.append(escaped(prose) + prompt + doctest)
    lines[:] = "\n\n".join(text).split("\n")


def is_numpys(app: Any, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leaves out what NumPy itself documents, and the fields of named tuples that have nothing more to say."""
    of_numpy = str(getattr(obj, "__module__", None) or type(obj).__module__).startswith("numpy")
    return True if of_numpy or str(getattr(obj, "__doc__", "")).startswith("Alias for field") else None


def setup(app: Any) -> None:
    app.connect("builder-inited", run_examples)
    app.connect("autodoc-process-docstring", escape_docstring, priority=400)
    app.connect("autodoc-skip-member", is_numpys)
