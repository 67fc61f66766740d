"""Adds a line to the message of a failed call that says which public function was called, and with which arguments.

Most errors come up deep below the function that the user called, where nobody knows what its arguments are called. So
the function itself (`public.py`), while the error passes through it, writes a line into the message:

    ValueError: diag: 'bytes' object cannot be interpreted as an integer
      in diag(..., k=b'bytes')
      at model.py:7, in step: np.diag(v, b'bytes')

The line holds the argument that is to blame where that is beyond doubt, else all that were given; it is left out where
the message names them. Nothing here runs unless an error is being made.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import reprlib
import sys
from collections.abc import Callable, Mapping
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from .state import STATE
from .structure import flatten
from .tracebacks import entries_of
from .user_line import is_library_file, is_wengert_file, public_name, site_of, spoken_by, user_frame

_KINDS = (TypeError, ValueError, IndexError, AttributeError, OverflowError, MemoryError)
_OF_OUR_OWN_WORDS = (
    np.exceptions.AxisError, np.linalg.LinAlgError, TypeError, ValueError, IndexError, OverflowError, MemoryError,
)  # fmt: skip
_PLACE = "\n  at "
_CALL = "\n  in "
_WORDS = ("what", "name", "op", "wanted", "self")  # locals of ours that say whose argument it is
_LONGEST = 80  # characters of a value
_SHARED = (int, float, complex, str, type(None))  # the same object may stand for several arguments


class Symbolic(ValueError):
    """A symbol of another library's came where values are computed: that library is to apply the function, later.

    The public function that such an error reaches returns `answer(itself, args, kwargs)`.

    Attributes:
        run: `run(function, args, kwargs, name)` calls the function when it is applied (set by `_compile/bridge.py`).
    """

    run: Callable[[Callable[..., Any], Any, Any, str], Any]

    def __init__(self, message: str, answer: Callable[[Callable[..., Any], Any, Any], Any]) -> None:
        super().__init__(message)
        self.answer = answer


class Varying:
    """Calls on a framework's arrays whose extents only a run tells, as `jax.export` has them.

    Public functions compute sizes of those, as a rule, and know extents of ours only: one that failed is traced as a
    program, which has these.

    Attributes:
        run: `run(function, args, kwargs, name)` traces the call and runs it (set by `_compile/bridge.py`).
    """

    run: Callable[[Callable[..., Any], Any, Any, str], Any]

    @classmethod
    def answer(cls, error: BaseException, f: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The result of a call that has failed, or NotImplemented where this was another failure."""
        if not isinstance(error, Exception) or STATE.builder is not None or not _any_varies(args, kwargs):
            return NotImplemented
        try:
            return cls.run(f, args, kwargs, getattr(f, "__name__", "operation"))
        except Exception:  # the first one tells what was asked for
            return NotImplemented


def _any_varies(args: Any, kwargs: Any) -> bool:
    try:
        leaves, _ = flatten((args, kwargs))
    except Exception:  # an argument is no structure, such as a list that holds itself: the first error tells
        return False
    return any(map(_varies, leaves))


def _varies(leaf: object) -> bool:
    """Whether an array has extents that are no integers."""
    try:
        return any(not isinstance(n, int) for n in getattr(leaf, "shape", ()))
    except (TypeError, ValueError):  # not even the number of its axes is known
        return False


def explained(error: Exception, name: str, f: Callable[..., Any], args: tuple[Any, ...], kwargs: object) -> Exception:
    """The error under way in a public function with a message that names function, arguments and the user's line.

    Args:
        error: what f raised; it is changed in place where its kind allows that.
        name: what users call the function.
        f: the function, for the names of its parameters.
        args: its positional arguments.
        kwargs: its others.

    Returns:
        The error itself, or a `TypeError` in its place for a kind that says nothing about arguments. Errors that users'
        functions have raised, and those of our own kinds, stay as they are.
    """
    if not _is_ours_to_tell(error):
        return error
    return _told(error, name, _given(f, args, kwargs))


def _given(f: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> dict[str, Any]:
    """The arguments of a call by the names of f's parameters; none where they do not fit, for Python tells that."""
    found: dict[str, Any] = {}
    try:
        bound = inspect.signature(f).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return found
    for key, value in bound.arguments.items():
        kind, default = bound.signature.parameters[key].kind, bound.signature.parameters[key].default
        if kind is inspect.Parameter.VAR_POSITIONAL:
            found |= {f"{key}[{i}]": item for i, item in enumerate(value)}
        elif kind is inspect.Parameter.VAR_KEYWORD:
            found |= value
        elif key != "self" and value is not default:
            found[key] = value
    return found


def explain_caller(error: Exception) -> None:
    """As `explained`, in place, for the public function that is running, whose parameters have no defaults.

    Functions that are called often have no handler of their own: what they are made of has it.
    """
    if not _is_ours_to_tell(error):
        return
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_wengert_file(frame.f_code.co_filename):
        name = public_name(frame)
        if name:
            names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
            _told(error, name, {key: frame.f_locals[key] for key in names if key in frame.f_locals})
            return
        frame = frame.f_back


def _is_ours_to_tell(error: Exception) -> bool:
    """Whether the error was raised in library code about arguments, rather than by a function that was handed in."""
    if not isinstance(error, _KINDS) or isinstance(error, Symbolic) or type(error).__module__ == "wengert.errors":
        return False
    return all(is_library_file(entry.tb_frame.f_code.co_filename) for entry in entries_of(error.__traceback__))


def _told(error: Exception, name: str, given: Mapping[str, Any]) -> Exception:
    head, mark, place = str(error).partition(_PLACE)
    head = head.partition(_CALL)[0]  # of a function further in
    head = _in_the_name_of(name.partition("(")[0], head)
    if given:
        head += _call(name, given, _to_blame(error, given), head)
    if not mark:
        frame = user_frame()
        mark, place = (_PLACE, str(site_of(frame))) if frame is not None else ("", "")
    text = head + mark + place
    if type(error) in _OF_OUR_OWN_WORDS:
        error.__init__(text)
        return error
    kind = next((kind for kind in _OF_OUR_OWN_WORDS if isinstance(error, kind)), TypeError)
    return kind(text).with_traceback(error.__traceback__)


def _in_the_name_of(name: str, head: str) -> str:
    """The message with the function's name in front, where it does not begin with it or another word for it."""
    prefix, colon, _ = head.partition(": ")
    is_name = bool(colon) and re.fullmatch(r"[\w.]+", prefix) is not None
    if re.match(rf"{re.escape(name)}\b", head) or (is_name and name in prefix.split(".")):
        return head
    return spoken_by(name, head) if is_name else f"{name}: {head}"


def _call(name: str, given: Mapping[str, Any], blamed: list[str], head: str) -> str:
    """The line that shows the call, or "" where the message says it already."""
    shown = blamed or [*given]
    if name.partition("(")[0] in head and all(_speaks_of(head, key) for key in shown):
        return ""
    parts = ["..."] if len(shown) < len(given) else []
    parts += [f"{key}={described(given[key])}" for key in shown]
    return f"{_CALL}{name}({', '.join(parts)})"


def _speaks_of(head: str, argument: str) -> bool:
    """Whether a message is about an argument; "a" and "x" are words of sentences, too."""
    return re.search(rf"(?<![\w.'\"])['\"]?{re.escape(argument)}['\"]?(?: is| has| must| holds|:|=)", head) is not None


def _to_blame(error: Exception, given: Mapping[str, Any]) -> list[str]:
    """The arguments that the expression reads which failed, if it reads any as they came."""
    entries = entries_of(error.__traceback__)
    if not entries or not is_wengert_file(entries[-1].tb_frame.f_code.co_filename):
        return []
    read = _read(entries[-1])
    found = [{key for key, value in given.items() if _is_same(key, value, *item)} for item in read.items()]
    if not all(found):  # what was made of the arguments may be at fault
        return []
    blamed = set[str]().union(*found)
    return [key for key in given if key in blamed]


def _read(trace: TracebackType) -> dict[str, Any]:
    """The local variables that the running expression of a frame reads, with their values."""
    frame = trace.tb_frame
    text = site_of(frame, trace.tb_lasti).expression
    for source in (text, f"({text})"):  # an expression of several lines stands in brackets
        try:
            names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
        except (SyntaxError, ValueError):
            continue
        names -= {*_WORDS, *frame.f_globals, *vars(builtins)} - {*frame.f_locals}
        if not all(name in frame.f_locals for name in names):  # a caught error, which is deleted by now
            return {}
        return {name: frame.f_locals[name] for name in names if name not in _WORDS}
    return {}


def _is_same(key: str, value: Any, local: str, read: Any) -> bool:
    """Whether a local variable is an argument, or an item of it."""
    if value is read:
        return key == local or not isinstance(value, _SHARED)
    is_inside = isinstance(value, (list, tuple)) and not isinstance(read, _SHARED)
    return is_inside and any(item is read for item in value[:100])


class _Short(reprlib.Repr):
    """Values in a few words: arrays by shape and dtype, functions by name, objects by their class."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxlist, self.maxtuple, self.maxdict, self.maxset, self.maxstring = 3, 4, 4, 3, 3, 40

    def repr_instance(self, x: Any, level: int) -> str:
        if isinstance(x, (bool, float, complex, type(None), type(Ellipsis), bytes, slice, range, np.generic, np.dtype)):
            return repr(x)
        kind = type(x)
        if hasattr(kind, "shape") and hasattr(kind, "dtype"):
            return f"<{kind.__name__} of shape {tuple(x.shape)}, {x.dtype}>"
        if callable(x):
            return f"<{getattr(x, '__name__', kind.__name__).strip('<>')}>"
        return f"<{kind.__name__}>"


_SHORT = _Short()


def described(value: object) -> str:
    """A value in at most 80 characters, whatever it is."""
    try:
        text = _SHORT.repr(value)
    except Exception:  # an object of the user's that does not tell what it is
        text = f"<{type(value).__name__}>"
    text = text.replace("\n", " ")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


__all__ = ["described", "explain_caller", "explained"]
