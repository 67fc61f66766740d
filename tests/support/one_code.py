"""Whether a compiled form is one piece of machine code, to which calls go straight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def is_one_code(form: Any, arguments: Sequence[Any]) -> bool:
    """Whether calls of these arguments go to machine code, and not to a function that runs kernels beside it."""
    return getattr(form.executable, "entry", None) is not None and form.direct(arguments) is not None
