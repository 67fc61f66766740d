"""Writes the docstring of a function that calls another one with other names and defaults for its arguments: a face.

`wengert.numpy` has NumPy's signatures for functions of `wengert.ops`, `wengert.array_api` the standard's for those of
`wengert.numpy`. A face is a plain function, whose signature editors and checkers read, and one line that calls. What
its arguments mean, what it raises, its kinks and an example stand once, with the function that it calls.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence

_HEADINGS = ("Example", "Raises", "Returns", "Args")  # from the last to the first, as docstrings here have them
_AT_MARGIN = re.compile(r"\n\S")  # in texts without the indentation, which Python 3.13 takes off docstrings


def _sections_of(text: str | None) -> dict[str, str]:
    """A docstring in its parts: each section by its heading, and under "" the text before them.

    This runs for some 200 functions at each import, so it splits where a general reader of docstrings would parse.
    """
    if not text:
        return {"": ""}
    rest = text if _AT_MARGIN.search(text) else text.replace("\n    ", "\n")
    found: dict[str, str] = {}
    for heading in _HEADINGS:
        rest, mark, body = rest.partition(f"\n{heading}:\n")
        if mark:
            found[heading] = body.rstrip()
    found[""] = rest.strip()
    return found


def _meanings_in(section: str) -> dict[str, str]:
    """What a section says of each argument, in its order."""
    found: dict[str, str] = {}
    if not section:
        return found
    for entry in section[4:].replace("\n        ", "\0").split("\n    "):
        name, _, text = entry.partition(": ")
        found[name.lstrip("*")] = text.replace("\0", "\n        ")
    return found


def _renamed(ours: Sequence[str], theirs: Sequence[str]) -> dict[str, str]:
    """What the target calls those arguments that it has in the same place under a name that the face has not."""
    pairs = zip(ours, theirs, strict=False)
    return {mine: other for mine, other in pairs if mine != other and mine not in theirs and other not in ours}


@functools.cache
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b")


def parameters_of(f: Callable[..., object]) -> tuple[str, ...]:
    """The names of a function's arguments, at a fiftieth of what `inspect.signature` takes: it is paid at import."""
    code = f.__code__
    starred = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + starred]


def documented(
    own: str | None,
    parameters: Sequence[str],
    target: str | None,
    *,
    known: Mapping[str, str],
    otherwise: str,
    returns: str,
    example: Callable[[str], str],
) -> str:
    """The docstring of a face, in Google's style.

    Args:
        own: what the face says itself; a section of its own goes before that of the target.
        parameters: its arguments, in order.
        target: the docstring of the function that it calls, if there is one.
        known: what arguments are that targets do not have, or have under another name.
        otherwise: what is said of arguments of which nobody says anything.
        returns: what the face gives; "" for what the target gives.
        example: makes the target's example one of the face.
    """
    mine, theirs = _sections_of(own), _sections_of(target)
    said = _meanings_in(mine.pop("Args", ""))
    shared = _meanings_in(theirs.get("Args", ""))
    names = _renamed(parameters, [*shared])
    back = {other: name for name, other in names.items() if other != "a"}  # which is a word of English, too
    words = _any_of((*back,)) if back else None

    def in_our_words(text: str) -> str:
        return text if words is None else words.sub(lambda found: back[found[0]], text)

    lines = []
    for p in parameters:
        text = said.get(p) or (known.get(p) if p not in shared else None)
        if text is None and names.get(p, p) in shared:
            text = in_our_words(shared[names.get(p, p)])
        lines.append(f"    {p}: {text or otherwise}")
    summary = mine[""] or in_our_words(theirs[""].partition("\n\n")[0])
    parts = [summary]
    if "\nAt kinks:" in theirs[""] and "At kinks:" not in summary:
        parts += [in_our_words(part) for part in theirs[""].split("\n\n") if part.startswith("At kinks:")]
    if lines:
        parts.append("Args:\n" + "\n".join(lines))
    parts.append(
        f"Returns:\n{mine.get('Returns') or (f'    {returns}' if returns else in_our_words(theirs['Returns']))}"
    )
    raises = mine.get("Raises") or in_our_words(theirs.get("Raises", ""))
    if raises:
        parts.append(f"Raises:\n{raises}")
    shown = mine.get("Example") or (example(theirs["Example"]) if "Example" in theirs else "")
    if shown:
        parts.append(f"Example:\n{shown}")
    return "\n\n".join(parts)


__all__ = ["documented", "parameters_of"]
