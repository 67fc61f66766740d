"""Finds the user's own line: the innermost frame that belongs neither to Wengert nor to an array library.

Frames are never kept: a `Site` holds a code object and an instruction index, and the text of the line is
looked up only when a message needs it.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
import warnings
from functools import cache
from itertools import islice
from types import CodeType, FrameType
from typing import NamedTuple

# Where the ops are that users call, and what they are made of.
_OF_OPS = (
    "wengert.ops", "wengert.numpy", "wengert.linalg", "wengert.fft", "wengert.special", "wengert.nn", "wengert.image",
)  # fmt: skip
_HOMES = (*_OF_OPS, *("wengert._prims." + family for family in (
    "structural", "elementwise", "piecewise", "discrete", "reductions", "linalg", "decompositions", "indexing",
    "special", "cumulative", "sorting", "conv", "windows", "fourier", "incomplete", "bessel", "binary_form",
    "matrix_functions", "eigen",
)))  # fmt: skip
PACKAGE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Frames of these libraries stand between the user and us when they call a tensor's methods.
_LIBRARY_PARTS = tuple(
    os.sep + name + os.sep
    for name in (
        "numpy",
        "scipy",
        "ml_dtypes",
        "pandas",
        "xarray",
        "pint",
        "polars",
        "sympy",
        "sklearn",
        "matplotlib",
        "autograd",
        "jax",
        "torch",
        "tensorflow",
        "keras",
        "optree",
        "numba",
    )
)
_STDLIB_DIR = os.path.dirname(os.__file__) + os.sep


def is_wengert_file(filename: str) -> bool:
    """Whether a file is part of the package itself (its tests and a user's files are not)."""
    return filename.startswith((PACKAGE_DIR, "<wengert"))


@cache
def is_library_file(filename: str) -> bool:
    """Whether a file is internal to us, to an array library, or to the standard library."""
    if is_wengert_file(filename) or filename.startswith(("<frozen", "<__array_function__")):
        return True
    installed = "site-packages" in filename or "dist-packages" in filename
    if not installed:
        return filename.startswith(_STDLIB_DIR)
    return any(part in filename for part in _LIBRARY_PARTS)


class Site(NamedTuple):
    """A place in the user's program: a code object and the instruction that was running."""

    code: CodeType
    instruction: int

    @property
    def lineno(self) -> int:
        return self.position[0] or self.code.co_firstlineno

    @property
    def position(self) -> tuple[int | None, int | None, int | None, int | None]:
        """Line, end line, column and end column of the expression that was running."""
        return next(islice(self.code.co_positions(), self.instruction // 2, None), (None, None, None, None))

    @property
    def line(self) -> str:
        lines = _source(self.code)
        return lines[self.lineno - 1].strip() if 0 < self.lineno <= len(lines) else ""

    @property
    def expression(self) -> str:
        """The source text of the very expression that was running, or "" where it is not to be had."""
        line, end_line, column, end_column = self.position
        if line is None or end_line is None or column is None or end_column is None:
            return ""
        lines = [text.encode() for text in _source(self.code)[line - 1 : end_line]]
        if len(lines) != end_line - line + 1:
            return ""
        lines[-1] = lines[-1][:end_column]
        lines[0] = lines[0][column:]
        return b"".join(lines).decode(errors="replace")

    def __str__(self) -> str:
        place = f"{self.code.co_filename}:{self.lineno}, in {self.code.co_name}"
        return f"{place}: {self.line}" if self.line else place


def _source(code: CodeType) -> list[str]:
    """The lines of the file that code was made of; none where they are not to be had.

    Whatever `eval` and `exec` run is of a file "<string>". From Python 3.13 on so is the program behind `python -c`,
    the only one whose lines are known: they are those of the code if it comes of them.
    """
    lines = linecache.getlines(code.co_filename)
    return lines if not lines or code.co_filename != "<string>" or _comes_of(code, "".join(lines)) else []


def _comes_of(code: CodeType, source: str) -> bool:
    try:
        codes = [compile(source, code.co_filename, "exec", dont_inherit=True)]
    except SyntaxError:
        return False
    for made in codes:  # and those inside, which join the list
        codes += [c for c in made.co_consts if isinstance(c, CodeType)]
    return code in codes


def site_of(frame: FrameType, instruction: int | None = None) -> Site:
    return Site(frame.f_code, frame.f_lasti if instruction is None else instruction)


def user_frame(inside: FrameType | None = None) -> FrameType | None:
    """The innermost frame of the user's own code, or None (a bare interpreter loop).

    Args:
        inside: a frame of ours beyond which nobody looks: it is given where none of the user's comes before it.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame is not inside and is_library_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_site() -> Site | None:
    """Where the user's own code stands now."""
    frame = user_frame()
    return None if frame is None else site_of(frame)


def foreign_callee() -> str:
    """The dotted name of the library function that the user's line called and that led here, or ""."""
    frame: FrameType | None = sys._getframe(1)
    last = ""
    while frame is not None and is_library_file(frame.f_code.co_filename):
        if not is_wengert_file(frame.f_code.co_filename):
            module = frame.f_globals.get("__name__", "")
            last = f"{public_module(module)}.{frame.f_code.co_name}"
        frame = frame.f_back
    return last


def public_module(module: str) -> str:
    """scipy.linalg._basic -> scipy.linalg: private parts are not what the user wrote."""
    parts = module.split(".")
    public = []
    for part in parts:
        if part.startswith("_"):
            break
        public.append(part)
    return ".".join(public)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning that names the user's own line as its place."""
    level, frame = 1, sys._getframe()
    while is_library_file(frame.f_code.co_filename) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def error_at_user_line(error: Exception) -> Exception:
    """An error of a type rule with the user's own line under it, if it has not got it yet."""
    if "\n  at " in str(error) or not isinstance(error, (TypeError, ValueError, IndexError)):
        return error
    return type(error)(at_user_line(str(error)))


def at_user_line(message: str, site: Site | None = None) -> str:
    """The message with the user's own line under it; what speaks in it is the function that this line called.

    An op says what is wrong in the words of what it is made of (`sub: shapes ...`), but the user called another one
    (`subtract: shapes ...`).
    """
    if site is not None:
        return f"{message}\n  at {site}"
    frame: FrameType | None = sys._getframe(1)
    called = ""
    while frame is not None and is_library_file(frame.f_code.co_filename):
        called = public_name(frame) or called
        frame = frame.f_back
    message = spoken_by(called, message) if called else message
    return message if frame is None else f"{message}\n  at {site_of(frame)}"


def called_op() -> str:
    """The name of the public op that the user's line called and that led here, or ""."""
    frame: FrameType | None = sys._getframe(1)
    called = ""
    while frame is not None and is_library_file(frame.f_code.co_filename):
        called = public_name(frame) or called
        frame = frame.f_back
    return called


def public_name(frame: FrameType) -> str:
    """The name of the op that a frame runs, if users can call it, or ""."""
    name = frame.f_code.co_name
    is_op = frame.f_globals.get("__name__", "").startswith(_OF_OPS)
    # an op that a maker of another module made has that module's globals
    public = (frame.f_globals, *(vars(sys.modules[home]) for home in _OF_OPS if home in sys.modules)) if is_op else ()
    return name if any(name in names.get("__all__", ()) for names in public) else ""


def spoken_by(name: str, message: str) -> str:
    """The message in the name of a public op, in place of the one that it was made of."""
    prefix, colon, rest = message.partition(": ")
    if name in re.split(r"\W+", prefix):
        return message
    if colon and (prefix in ("", "argument") or _is_op(prefix)):
        return f"{name}: {rest}"
    return message if name in message else f"{name}: {message}"


def _is_op(name: str) -> bool:
    return any(name in vars(sys.modules[home]) for home in _HOMES if home in sys.modules)
