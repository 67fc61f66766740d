"""The words of the glossary: where a page first uses one, it links to what it means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes

PAGE = "glossary"
# Those that mean nothing else here: a residual is also what least squares make small, a guard a page of memory.
WORDS = ("primal", "tangent", "cotangent", "vjp", "jvp", "backward pass", "kink", "primitive")
_FOUND = re.compile(rf"(?<![\w.-])({'|'.join(WORDS)})(s|es)?(?![\w-])", re.IGNORECASE)
# made of declarations and docstrings, which are read in pieces
_LEFT_ALONE = ("ops/", "primitives/", "reference/", "examples/", "changelog", "names", "not_yet", PAGE)
_NOT_PROSE = (nodes.title, nodes.literal, nodes.literal_block, nodes.reference, nodes.raw, nodes.math, nodes.thead)


def link_words(app: Any, doctree: nodes.document, page: str) -> None:
    """Sphinx calls this with each page before it is written."""
    if page == PAGE:
        _name_rows(doctree)
    elif not page.startswith(_LEFT_ALONE):
        _link(doctree, f"{app.builder.get_relative_uri(page, PAGE)}#")


def _name_rows(doctree: nodes.document) -> None:
    """Each row of the tables can be linked to, by each of its words."""
    for row in doctree.findall(nodes.row):
        first = next(iter(row.findall(nodes.entry)))
        first["ids"] += [_target(word.strip()) for word in first.astext().split(",")]


def _target(word: str) -> str:
    return "word-" + word.lower().replace(" ", "-")


def _link(doctree: nodes.document, start: str) -> None:
    left = {*WORDS}
    for text in [*_prose(doctree)]:
        made = _linked(text.astext(), left, start)
        if len(made) > 1:
            text.parent.replace(text, made)


def _prose(doctree: nodes.document) -> Iterator[nodes.Text]:
    for text in doctree.findall(nodes.Text):
        parent = text.parent
        while parent is not None and not isinstance(parent, _NOT_PROSE):
            parent = parent.parent
        if parent is None:
            yield text


def _linked(text: str, left: set[str], start: str) -> list[nodes.Node]:
    """A text in pieces; words that `left` holds become links, and leave it."""
    made: list[nodes.Node] = []
    done = 0
    for match in _FOUND.finditer(text):
        word = match[1].lower()
        if word in left:
            left.remove(word)
            link = nodes.reference("", match[0], refuri=start + _target(word), internal=True, classes=["word"])
            made += [nodes.Text(text[done : match.start()]), link]
            done = match.end()
    return [*made, nodes.Text(text[done:])]
