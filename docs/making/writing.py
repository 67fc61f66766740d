"""Pieces of reStructuredText, and files that are rewritten only when they change, so that a second build is short."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Writes a file unless it says the same already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_folder(folder: Path, pages: dict[str, str]) -> None:
    """Makes a folder hold just these files."""
    for name, text in pages.items():
        write(folder / name, text)
    for path in folder.iterdir():
        if path.name not in pages:
            path.unlink()


def title(text: str, underline: str = "=") -> str:
    return f"{text}\n{underline * len(text)}\n"


def code(text: str, language: str = "python") -> str:
    return f".. code-block:: {language}\n\n{textwrap.indent(text.rstrip(), '   ')}\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], options: str = "") -> str:
    """A list-table; cells are reStructuredText of one line."""
    lines = [".. list-table::", "   :header-rows: 1", *(["   " + options] if options else []), ""]
    for row in (head, *rows):
        cells = [cell if cell else "\\ " for cell in row]
        lines += [f"   {'* ' if i == 0 else '  '}- {cell}" for i, cell in enumerate(cells)]
    return "\n".join(lines) + "\n"


def literal(text: str) -> str:
    return f"``{text}``"


CODE = re.compile(r"(`+)(.+?)\1(?=(\w)?)", re.DOTALL)


def prose(text: str) -> str:
    """Prose of a docstring as reStructuredText: code between backticks, all else plain, formulas included."""
    parts, end = [], 0
    for found in CODE.finditer(text):
        # two backticks keep napoleon from splitting at a colon between them; a letter may follow them: `Dim`s
        parts += [plain(text[end : found.start()]), f"``{found[2]}``", "\\ " if found[3] else ""]
        end = found.end()
    return "".join([*parts, plain(text[end:])])


def plain(text: str) -> str:
    return re.sub(r"[*|]|_\b", r"\\\g<0>", text)
