"""The walk of a call: the Python functions of the package that run for it, in order, each with its file.

ARCHITECTURE.md shows two of them, and a test compares. Written anew by `python -m tools.walk --write`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg

PAGE = Path(__file__).parent.parent / "ARCHITECTURE.md"
PACKAGE = Path(wg.__file__).parent
_WIDTH = 56  # of the column of functions


def walk(call: Callable[[], Any]) -> list[str]:
    """A line for each function of the package that runs, indented by who called it."""
    lines: list[str] = []
    depths: list[bool] = []  # for each frame that is open, whether it has a line

    def profile(frame: Any, event: str, arg: Any) -> None:
        if event == "call":
            path, name = Path(frame.f_code.co_filename), frame.f_code.co_qualname
            # Python inlines comprehensions from 3.12 on
            is_shown = path.is_relative_to(PACKAGE) and not name.endswith(("<listcomp>", "<genexpr>", "<setcomp>"))
            if is_shown:
                text = "  " * (sum(depths) + 1) + name.rpartition("<locals>.")[2]
                lines.append(f"{text:{_WIDTH}}{path.relative_to(PACKAGE).as_posix()}")
            depths.append(is_shown)
        elif event == "return" and depths:
            depths.pop()

    call()  # once before: what is made on first use is no part of the walk
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return lines


def walks() -> dict[str, str]:
    """The walks that the page shows: the call, and its text."""
    x: Any = wg.tensor([1.0, 2.0])
    number: Any = np.array(0.5)
    gradient: Any = wg.value_and_grad(np.sin)
    calls: dict[str, Callable[[], Any]] = {
        "np.sin(x)": lambda: np.sin(x),
        "wg.value_and_grad(np.sin)(x)": lambda: gradient(number),
    }
    return {title: "\n".join([title, *walk(call)]) for title, call in calls.items()}


def shown(page: str, title: str) -> str:
    """The walk of a call that a page shows."""
    return page.split(f"```text\n{title}\n", 1)[1].split("\n```", 1)[0]


def main(arguments: list[str]) -> None:
    """Prints the walks, or writes them into the page."""
    page = PAGE.read_text(encoding="utf-8")
    for title, text in walks().items():
        if "--write" in arguments:
            page = page.replace(f"{title}\n{shown(page, title)}\n```", f"{text}\n```")
        else:
            print(text, end="\n\n")
    if "--write" in arguments:
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
