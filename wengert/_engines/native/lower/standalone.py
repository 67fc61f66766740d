"""The switch for standalone code: code that leaves Python (`export/`) calls no kernels of ours, no BLAS and no NumPy.

Products, sorts, substitutions and convolutions are then written out as loops, and nothing asks for signals or threads.
The rules of lowering ask `is_alone()`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from ..ir.accesses import unchecked
from .later import SPECIAL

_alone: ContextVar[bool] = ContextVar("wengert_alone", default=False)


def is_alone() -> bool:
    """Whether code that is lowered now must do without our libraries."""
    return _alone.get()


@contextmanager
def alone() -> Generator[None]:
    """What is lowered inside stands alone."""
    SPECIAL.load()  # which has rules for where code does
    token = _alone.set(True)
    try:
        with unchecked():
            yield
    finally:
        _alone.reset(token)
