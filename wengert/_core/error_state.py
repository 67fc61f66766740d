"""NumPy's floating-point error state (`np.seterr`) as a value that can be read, replaced and put back.

`np.errstate` does the same by Python calls, which cost more, and every sweep silences errors.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

VARIABLE: Any = getattr(importlib.import_module("numpy._core.umath"), "_extobj_contextvar", None)
"""The context variable that holds the state; None where this NumPy keeps it elsewhere."""


def _items() -> tuple[tuple[str, Any], ...]:
    return (*np.geterr().items(),)


def _put_items(state: tuple[tuple[str, Any], ...]) -> None:
    np.seterr(**dict(state))


get, put = (_items, _put_items) if VARIABLE is None else (VARIABLE.get, VARIABLE.set)
SILENT: dict[Any, Any] = {}  # by a state, the one like it that ignores all errors
_MOST = 64


def silent_like(state: object) -> Any:
    """The state that ignores all errors, and is otherwise like the present one, which is given; `SILENT` keeps it."""
    with np.errstate(all="ignore"):
        found = get()
    if len(SILENT) >= _MOST:
        SILENT.clear()
    SILENT[state] = found
    return found
