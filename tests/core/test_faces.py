"""Docstrings of faces: what a function says itself, and the rest in its own words from the function that it calls."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert._core.faces import documented

TARGET = """The total.

    At kinks: x has none.

    Args:
        x: an array.
        axis: the axis of x;
            None for all.

    Returns:
        The total.

    Raises:
        ValueError: if x has no axis.

    Example:
        >>> total([1.0])
        1.0
    """


def face(own: str | None, parameters: tuple[str, ...], target: str | None = TARGET) -> str:
    said, of_target = (text and as_python_has_it(text) for text in (own, target))
    return documented(
        said, parameters, of_target, known={"out": "where the result goes."}, otherwise="see there.", returns="A number.",
        example=lambda text: text.replace("total(", "np.total("),
    )  # fmt: skip


def as_python_has_it(text: str) -> str:
    """A text as it is in a function's `__doc__`: since Python 3.13 without its indentation."""
    space: dict[str, Any] = {}
    exec(f'def f():\n    """{text}"""', space)
    return space["f"].__doc__


def test_arguments_come_under_the_names_of_the_face() -> None:
    text = face("Our total.", ("a", "axis", "out", "like"))
    assert text.startswith("Our total.\n\nAt kinks: a has none.\n\nArgs:\n    a: an array.\n    axis: the axis of a;\n")
    assert "    out: where the result goes.\n    like: see there.\n\nReturns:\n    A number.\n" in text
    assert "Raises:\n    ValueError: if a has no axis." in text
    assert text.endswith("Example:\n    >>> np.total([1.0])\n    1.0")


def test_what_a_face_says_itself_stands() -> None:
    own = "Ours.\n\n    Example:\n        >>> 1\n        1\n    "
    assert face(own, ("a",)).endswith("Example:\n    >>> 1\n    1")


def test_without_a_target_it_says_what_there_is() -> None:
    assert face("Ours.", ("a",), None) == "Ours.\n\nArgs:\n    a: see there.\n\nReturns:\n    A number."


FACES = [
    name
    for name in wnp.__all__
    if name in vars(wg.ops) and inspect.isfunction(getattr(wnp, name)) and getattr(wnp, name) is not vars(wg.ops)[name]
]


@pytest.mark.parametrize("name", FACES)
def test_faces_name_no_argument_that_they_lack(name: str) -> None:
    ours, theirs = (inspect.signature(vars(space)[name]).parameters for space in (wnp, wg.ops))
    text = (inspect.getdoc(vars(wnp)[name]) or "").partition("Example:")[0]
    assert not {*re.findall(r"`(\w+)[`=]", text)} & ({*theirs} - {*ours})
