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


def test_results_are_told_in_the_words_of_the_face() -> None:
    text = documented("", ("a",), TARGET.replace("The total.", "The total of x."), known={}, otherwise="", returns="",
                      example=str)  # fmt: skip
    assert text.startswith("The total of a.") and "Returns:\n    The total of a." in text


FACES = [
    (space, name)
    for space in (wnp, wg.linalg)
    for name in space.__all__
    if inspect.isfunction(vars(wg.ops).get(name)) and inspect.isfunction(getattr(space, name))
    and getattr(space, name) is not vars(wg.ops)[name] and (space, name) != (wg.linalg, "polar")  # another function
]  # fmt: skip


@pytest.mark.parametrize(("space", "name"), FACES, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_faces_name_no_argument_that_they_lack(space: Any, name: str) -> None:
    ours, theirs = (inspect.signature(vars(s)[name]).parameters for s in (space, wg.ops))
    text = (inspect.getdoc(getattr(space, name)) or "").partition("Example:")[0]
    assert not {*re.findall(r"`(\w+)[`=]", text)} & ({*theirs} - {*ours})


def test_linear_algebra_says_what_arguments_mean_once() -> None:
    """What a face's source says of arguments is what the function of `wg.ops` does not say, or says otherwise."""
    repeated = []
    for name in (name for space, name in FACES if space is wg.linalg):
        written = inspect.getsource(inspect.unwrap(getattr(wg.linalg, name))).partition('"""')[2].partition('"""')[0]
        theirs = (vars(wg.ops)[name].__doc__ or "").replace("wg.ops.", "wg.linalg.").splitlines()
        shared = {line.strip() for line in written.splitlines()[1:]} & {line.strip() for line in theirs}
        repeated += [f"{name}: {line}" for line in shared if ": " in line and not line.startswith("LinAlgError")]
    assert not repeated
