"""The public ops: their names, and which primitives each applies (found by running the example in its docstring)."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import wengert as wg
from wengert._core.apply import apply
from wengert.numpy import _protocols

from .declarations import PACKAGE

# where public functions are looked for; a function goes by the first name found
HOMES = ("", "linalg", "fft", "signal", "special", "random", "image", "ops", "ops.image", "nn", "numpy")


@dataclass(eq=False)
class PublicOp:
    """One public function.

    Attributes:
        path: its first name, from `wg` on ("linalg.det").
        function: itself.
        aliases: its other names.
        numpy: NumPy's functions that come here when they are called on tensors.
        primitives: names of the primitives that its example applies, in order.
        file, line: where it is defined.
    """

    path: str
    function: Callable[..., Any]
    aliases: list[str] = field(default_factory=list)
    numpy: list[str] = field(default_factory=list)
    primitives: list[str] = field(default_factory=list)
    file: str = ""
    line: int = 0

    @property
    def summary(self) -> str:
        return " ".join((inspect.getdoc(self.function) or "").split("\n\n")[0].split())


def value_at(path: str) -> Any:
    """What a dotted path from `wg` on leads to.

    Raises:
        AttributeError: if there is no such thing.
    """
    found: Any = wg
    for name in path.split("."):
        if not hasattr(found, name) and isinstance(found, ModuleType):  # a module that loads when it is asked for
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(f"{found.__name__}.{name}")
        found = getattr(found, name)
    return found


def module_at(home: str) -> ModuleType | None:
    with contextlib.suppress(AttributeError):
        return value_at(home) if home else wg
    return None


def public_ops(documented: set[str]) -> list[PublicOp]:
    """All ops, those left out that a page written by hand documents (names from `wg` on)."""
    ops: dict[int, PublicOp] = {}
    others = {id(value_at(name)) for name in documented}
    for home in HOMES:
        module = module_at(home)
        for name in sorted(getattr(module, "__all__", ()), key=lambda name: is_alias(module, name)):
            function = getattr(module, name)
            if not inspect.isfunction(function) or not function.__module__.startswith("wengert"):
                continue
            path = f"{home}.{name}" if home else name
            if id(function) in ops:
                ops[id(function)].aliases.append(path)
            elif path not in documented and id(function) not in others:
                ops[id(function)] = PublicOp(path, function)
    for theirs, ours in {**_protocols._UFUNCS, **_protocols._FUNCTIONS}.items():
        op = ops.get(id(ours))
        if op is not None and numpy_name(theirs) not in op.numpy:
            op.numpy.append(numpy_name(theirs))
    found = sorted(ops.values(), key=lambda op: op.path.lower())
    for op in found:
        inner = inspect.unwrap(op.function)
        op.file = Path(inner.__code__.co_filename).relative_to(PACKAGE.parent).as_posix()
        op.line = line_of(inner)
        op.primitives = applied_by(op)
    return found


def line_of(function: Callable[..., Any]) -> int:
    """Where a function is defined; of one that another function makes, the assignment of its name."""
    code = function.__code__
    if code.co_name == function.__name__ or "<locals>" not in code.co_qualname:
        return code.co_firstlineno
    lines = Path(code.co_filename).read_text(encoding="utf-8").split("\n")
    assigned = re.compile(rf"{re.escape(function.__name__)}\b.* = ")
    return next((i for i, line in enumerate(lines, 1) if assigned.match(line)), code.co_firstlineno)


def is_alias(module: ModuleType | None, name: str) -> bool:
    """Whether a function calls itself otherwise: `arccos` has its page under that name, not under `acos`."""
    return getattr(getattr(module, name), "__name__", name) != name


def numpy_name(function: Any) -> str:
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module.replace('numpy', 'np', 1)}.{function.__name__}"


def applied_by(op: PublicOp) -> list[str]:
    """The primitives that run inside the function while its example runs, gradient rules left out."""
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(op.function) or "")
    code = inspect.unwrap(op.function).__code__
    seen: dict[str, None] = {}

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code is apply.__code__ and is_within(frame, code):
            seen[frame.f_locals["op"].name] = None

    namespace: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for example in examples:
            compiled = compile(example.source, f"<example of wg.{op.path}>", "single")
            sys.setprofile(watch)
            try:
                exec(compiled, namespace)
            except Exception as error:
                if example.exc_msg is None:  # else the example shows this very error
                    raise RuntimeError(f"the example of wg.{op.path} failed") from error
            finally:
                sys.setprofile(None)
    return list(seen)


def is_within(frame: FrameType | None, code: Any) -> bool:
    """Whether a frame was called, however deep, by the code, with no derivative between them."""
    while frame is not None:
        if frame.f_code is code:
            return True
        if "_transforms" in frame.f_code.co_filename:
            return False
        frame = frame.f_back
    return False
