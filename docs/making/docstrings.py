"""What autodoc makes of docstrings: Markdown's backticks become code, and NumPy's own members are left out."""

from __future__ import annotations

from typing import Any

from .writing import prose


def escape_docstring(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Escapes a docstring, doctests left out, before napoleon reads its sections."""
    text = []
    for paragraph in "\n".join(lines).split("\n\n"):
        words, prompt, doctest = paragraph.partition(">>>")
        text.append(prose(words) + prompt + doctest)
    lines[:] = "\n\n".join(text).split("\n")


def is_numpys(app: Any, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leaves out what NumPy itself documents, and the fields of named tuples that have nothing more to say."""
    of_numpy = str(getattr(obj, "__module__", None) or type(obj).__module__).startswith("numpy")
    return True if of_numpy or str(getattr(obj, "__doc__", "")).startswith("Alias for field") else None
