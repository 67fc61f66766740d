"""`Ran`: notes by `sys.settrace` which instructions of the user's code ran in a trace.

`inputs.py` asks it: what only instructions that did not run would load has not been read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

from .reads import Position


class Ran:
    """Context manager around a trace: notes what runs of some code, unless a debugger or the like looks on already.

    Attributes:
        is_known: whether anything was noted: else nobody can tell what did not run.
    """

    def __init__(self, codes: Iterable[CodeType]) -> None:
        self._codes = frozenset(codes)
        self._places: dict[CodeType, set[int]] = {}
        self.is_known = False

    def __enter__(self) -> Ran:
        self.is_known = bool(self._codes) and sys.gettrace() is None
        if self.is_known:
            sys.settrace(self._called)
        return self

    def __exit__(self, *exc: object) -> None:
        if self.is_known:
            self.is_known = sys.gettrace() == self._called  # else the code has called a debugger, which goes on
            if self.is_known:
                sys.settrace(None)

    def _called(self, frame: FrameType, event: str, given: object) -> Any:
        code = frame.f_code
        if code not in self._codes:
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        ran = self._places.setdefault(code, set())

        def note(frame: FrameType, event: str, given: object) -> Any:
            if event == "opcode":
                ran.add(frame.f_lasti)
            return note

        return note

    def passed_over(self, code: CodeType, place: Position) -> bool:
        """Whether nothing that stands at a place of the source was seen to run."""
        if not self.is_known or code not in self._codes:
            return False
        line, end_line, column, end_column = place
        ran = self._places.get(code, ())
        wanted = (line, end_line, column, end_column)
        return all(2 * at not in ran for at, found in enumerate(code.co_positions()) if found == wanted)


__all__ = ["Ran"]
