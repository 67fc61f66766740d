"""`WENGERT_DUMP`: what the stages of the native engine make, printed to standard error.

The variable is a list of stages, separated by commas: `graph`, `loops`, `llvm` (after LLVM's passes), `asm`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

VARIABLE = "WENGERT_DUMP"


def is_dumped(stage: str) -> bool:
    """Whether the user asked to see a stage; read at each compilation, so that tests and notebooks can switch it."""
    return stage in os.environ.get(VARIABLE, "").split(",")


def dump(stage: str, title: str, text: Callable[[], str]) -> None:
    """Prints a stage's text if the user asked for it; `text` is called only then."""
    if is_dumped(stage):
        print(f"; -- {stage}: {title}\n{text()}", file=sys.stderr)
