"""Marks our functions so that `torch.compile` leaves them, and all that they call, out of what it compiles.

Its tracer (dynamo) would follow our caches and locks as if they were the user's program, slowly, and fail. It asks a
function for a mark as soon as it meets one, and puts the reason that it finds beside the mark into a message. As it
does, its modules are loaded: at that moment we register the functions as skipped, callees included, and warn the user
once.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar
from weakref import WeakValueDictionary

C = TypeVar("C", bound=Callable[..., Any])

_MARK = "_torchdynamo_disable"  # torch's name
_FRAMES = "torch._dynamo.eval_frame"
# of functions that are left out, and that torch has not been told of, by `id`: those of one text are equal
_codes: WeakValueDictionary[int, CodeType] = WeakValueDictionary()
_told: list[bool] = []


class _Reason(str):
    """A text that runs code when dynamo formats it into a message."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        _tell()
        return super().__format__(spec)


_REASON = _Reason(
    "torch.compile leaves Wengert's functions out of what it compiles, and they run as they are; "
    "fn.to_torch(op='lib::name') makes a wg.function an operator that it keeps"
)


def left_out(f: C) -> C:
    """f, marked for `torch.compile` as what it leaves out, if it is a Python function that says nothing else."""
    function: Any = f
    if type(function) is FunctionType and not hasattr(f, _MARK):
        setattr(f, _MARK, True)
        setattr(f, f"{_MARK}_msg", _REASON)
        _codes[id(function.__code__)] = function.__code__
        if _FRAMES in sys.modules:  # torch calls some by itself, as the backward pass of a node, and asks for no mark
            _register()
    return f


def kept_in(f: C) -> C:
    """f, marked as what `torch.compile` follows."""
    setattr(f, _MARK, False)
    return f


def _register() -> None:
    frames: Any = importlib.import_module(_FRAMES)
    types: Any = importlib.import_module("torch._dynamo.types")
    skip = types.FrameAction.SKIP
    with contextlib.suppress(KeyError):  # there is none left: another thread may have taken the last
        while _codes:
            frames.set_code_exec_strategy(_codes.popitem()[1], types.FrameExecStrategy(skip, skip))


def _tell() -> None:
    _register()
    if not _told:
        _told.append(True)
        warn: Any = importlib.import_module(".user_line", __package__).warn
        warn(str(_REASON))


__all__ = ["kept_in", "left_out"]
