"""Folds the package's own frames out of tracebacks, so that what a user sees of an error is the user's own code.

Every public function that runs users' functions or checks their arguments folds what leaves it (`public`, in public.py;
hot calls have its handler written out). That leaves no trace of the function itself: a bare `raise` goes on with the
traceback that the error has then, without an entry for the frame that it is in.

Plain ops called outside of any public function (`wg.sin("a")`) keep their two to five frames: a frame that the error
has not reached yet cannot be taken out of its traceback, and a handler in each op would have to be written a thousand
times. Their message names the user's line all the same, and inside a public function (`wg.grad`, a tape's block, a
`function`) their frames are folded like all others.
"""

from __future__ import annotations

import os
from dis import opname
from functools import cache
from types import TracebackType

from .user_line import PACKAGE_DIR, is_wengert_file

VARIABLE = "WENGERT_FULL_TRACEBACK"
_PROGRAMS = PACKAGE_DIR + "cli" + os.sep  # which use the package as a user does
_PUBLIC = PACKAGE_DIR + os.path.join("_core", "public.py")  # nobody looks for a fault there
# Raised by accident, one of these tells of a fault in the package, which cannot be found without its frames.
_FAULTS = (AssertionError, AttributeError, NameError, KeyError, RecursionError)


def entries_of(trace: TracebackType | None) -> list[TracebackType]:
    """The entries of a traceback, the innermost frame's last."""
    found: list[TracebackType] = []
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def is_raised_there(entry: TracebackType) -> bool:
    """Whether a `raise` is what runs in an entry's frame."""
    return opname[entry.tb_frame.f_code.co_code[entry.tb_lasti]] == "RAISE_VARARGS"


def fold(error: BaseException) -> None:
    """Takes the package's frames out of the traceback of an error, and of every error that it comes with.

    The frames of users' code that we called stay, in their order; so do those of other libraries. With
    `WENGERT_FULL_TRACEBACK=1` in the environment everything stays.

    Args:
        error: the error being handled; its `__traceback__` is replaced, no traceback that others hold is changed.
    """
    if os.environ.get(VARIABLE, "0") not in ("", "0"):
        return
    known = {id(error)}
    waiting = [error]
    while waiting:
        one = waiting.pop()
        one.__traceback__ = _without_ours(one.__traceback__, one is error and _is_fault(one))
        parts = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        for other in (one.__cause__, one.__context__, *parts):
            if other is not None and id(other) not in known:
                known.add(id(other))
                waiting.append(other)


def _without_ours(trace: TracebackType | None, keeps_end: bool) -> TracebackType | None:
    """The traceback without our entries, but for those at its end where they are wanted."""
    folded: TracebackType | None = None
    for entry in reversed(entries_of(trace)):
        if _is_ours(entry.tb_frame.f_code.co_filename):
            if not keeps_end or entry.tb_frame.f_code.co_filename == _PUBLIC:
                continue
        else:
            keeps_end = False
        if entry.tb_next is folded:
            folded = entry
        else:
            folded = TracebackType(folded, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return folded


@cache
def _is_ours(filename: str) -> bool:
    return is_wengert_file(filename) and not filename.startswith(_PROGRAMS)


def _is_fault(error: BaseException) -> bool:
    """Whether the error began in our code, and not by a `raise` of ours."""
    entries = entries_of(error.__traceback__)
    if not entries or not isinstance(error, _FAULTS) or type(error).__module__ == "wengert.errors":
        return False
    if not _is_ours(entries[-1].tb_frame.f_code.co_filename):
        return False
    return isinstance(error, AssertionError) or not is_raised_there(entries[-1])
