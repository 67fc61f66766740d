"""The guard of a trace: one compiled expression that says whether everything it has seen is there still."""

from __future__ import annotations

import builtins
import functools
from collections import Counter
from collections.abc import Callable, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..._core.engine import Ready
from ..._core.tensor import Tensor, Written
from .watch import Bind, Item, Looks, Watch

Guard = Callable[[Sequence[Any]], bool]
T = TypeVar("T")


def guard_of(watches: Sequence[Watch]) -> Guard:
    """A function of the signature's values that compares all that is watched, by identity.

    It costs 10 to 20 ns for each name; whatever it cannot read any more makes it false.
    """
    binder = _binder(watches)
    test = _test(watches, binder)
    return made("guard", f"(statics):\n  try:\n   return {test}\n  except {binder(_ERRORS)}:\n   return False", binder)


class Moving(NamedTuple):
    """A captured array that is transferred to another engine or device for the compiled code.

    Attributes:
        move: makes that of it at each call; a LookupError means that the code does not fit any more.
        array: the array.
    """

    move: Callable[[Any], Any]
    array: Any


class Unwritten(NamedTuple):
    """That a captured tensor was not written to: the array of one that was is another one at each call."""

    tensor: Tensor

    def text(self, bind: Bind) -> str:
        """The test as an expression."""
        return f"{bind(self.tensor)}.__class__ is not {bind(Written)}"

    def look(self, looks: Looks) -> bool:
        """Has machine code look at it; False if it cannot."""
        return type(self.tensor) is not Written and looks.type_of(self.tensor)


class Alike:
    """That arguments look like those for which an engine has made a program ready.

    Attributes:
        ready: the program.
        count: how many arguments there are.
        rebuild: from its outputs to what a call gives; None for the first of them.
        conditions: further ones, as those of the program.
    """

    def __init__(
        self, ready: Ready, arguments: Sequence[object], captured: Sequence[object],
        rebuild: Callable[..., Any] | None, conditions: tuple[tuple[str, Any], ...],
    ) -> None:  # fmt: skip
        self.ready = ready
        self.count = len(arguments)
        self.rebuild = rebuild
        self.conditions = (*ready.conditions, *conditions)
        self._captured = captured
        same = [id(x) for x in (*arguments, *captured)]
        self._firsts = [*map(same.index, same)]  # where that which stands in a place stands first
        self._held = (*[getattr(x, name) for x in arguments for name in ready.attributes],)
        arrays = self._once([*arguments, *captured])
        self._are_alike = ready.looking(arrays) if arrays and ready.looking is not None else None

    def _once(self, values: Sequence[T]) -> list[T]:
        """Of arguments and captured arrays, or their names, each once."""
        return [x for place, x in enumerate(values) if self._firsts[place] == place]

    def arguments(self) -> list[str]:
        """The names of the arguments in the code."""
        return _arguments(self.count)

    def text(self, bind: Bind) -> str:
        """The test as an expression."""
        parts = [text.format(bind(value)) for text, value in self.conditions]
        if self._held:
            looks = [f"{name}.{attribute}" for name in self.arguments() for attribute in self.ready.attributes]
            parts.append(f"({', '.join(looks)},) == {bind(self._held)}")
        if self._are_alike is not None:
            names = [*self.arguments(), *map(bind, self._captured)]
            pairs = [(x, names[first]) for x, first in zip(names, self._firsts, strict=True)]
            parts += [f"{x} is {one}" for x, one in pairs if x != one]
            parts.append(f"{bind(self._are_alike)}({', '.join(self._once(names))})")
        return " and ".join(parts) or "True"

    def result(self, run: Callable[..., Any], operands: Sequence[str], bind: Bind) -> str:
        """What is given, of what runs the program and of its operands."""
        own, written = self.ready.own, self.ready.written
        is_one = self.rebuild is None
        call = f"{bind(run)}({', '.join(operands)})" if written is None else written(operands, bind, is_one)
        outs = call if own is None else f"{bind(own)}({call})"
        return f"{outs}[0]" if is_one else f"{bind(self.rebuild)}({outs})"


class Shaped:
    """That arguments are NumPy's arrays of the shapes and dtypes of others, and numbers of their classes.

    Args:
        arguments: those others.
        dtypes: what Python's floats among them become.
        own: from what a program gives, and the arrays that it got, to what is the caller's own.
        rebuild: from that to what a call gives.
    """

    def __init__(
        self, arguments: Sequence[Any], dtypes: Sequence[np.dtype[Any]], own: Callable[..., Any],
        rebuild: Callable[..., Any],
    ) -> None:  # fmt: skip
        self._like = (*map(look_here, arguments),)
        self._dtypes = dtypes
        self._own, self._rebuild = own, rebuild

    def arguments(self) -> list[str]:
        """The names of the arguments in the code."""
        return _arguments(len(self._like))

    def text(self, bind: Bind) -> str:
        """The test as an expression."""
        parts: list[str] = []
        for name, (kind, *look) in zip(self.arguments(), self._like, strict=True):
            parts.append(f"{bind(type)}({name}) is {bind(kind)}")
            parts += [f"{name}.shape == {bind(look[0])} and {name}.dtype == {bind(look[1])}"] if look else []
        return " and ".join(parts) or "True"

    def result(self, run: Callable[..., Any], operands: Sequence[str], bind: Bind) -> str:
        """As `Alike.result`."""
        given = [*operands]
        for place, (kind, *_) in enumerate(self._like):
            given[place] = f"{bind(self._dtypes[place].type)}({given[place]})" if kind is float else given[place]
        taken = "".join(f"{name}, " for name in operands)
        outs = f"{bind(self._own)}({bind(run)}({', '.join(given)}), ({taken}))"
        return f"{bind(self._rebuild)}({outs})"


def _arguments(count: int) -> list[str]:
    return [f"_wga{place}" for place in range(count)]


def look_here(x: Any) -> tuple[Any, ...]:
    """What `Shaped` looks at of an array of NumPy's, or of a number."""
    return (np.ndarray, x.shape, x.dtype) if type(x) is np.ndarray else (type(x),)


def guarded(
    tests: Sequence[Test], run: Callable[..., Any], natives: Sequence[Any], alike: Alike | Shaped | None = None,
    statics: Sequence[Any] = (),
) -> Callable[..., Any]:  # fmt: skip
    """A function of arguments that runs compiled code on them and on captured arrays if the guard of these values of
    the signature holds, and the arguments look like others, if these are given; it gives NotImplemented else.

    Guard and call are one piece of code: at ten elements a call of Python costs as much as a kernel.
    """
    if not tests and not natives and alike is None:
        return run
    binder = _binder(tests)
    moves, captured = _captured(natives, binder)
    names, unpacked = ["*arguments"], f"   statics = {binder(statics)}\n" if statics else ""
    if alike is not None:
        names, tests = alike.arguments(), [*tests, alike]
        unpacked += f"   {''.join(f'{name}, ' for name in names).strip() or '()'} = arguments\n"
    operands = [*names, *captured]
    result = f"{binder(run)}({', '.join(operands)})" if alike is None else alike.result(run, operands, binder)
    other = binder(NotImplemented)
    text = (
        f"(*arguments):\n  try:\n{unpacked}   if not ({_test(tests, binder)}): return {other}\n{moves}"
        f"  except {binder(_ERRORS)}: return {other}\n"
        f"  return {result}"
    )
    return made("call", text, binder)


def _captured(natives: Sequence[Any], binder: Binder) -> tuple[str, list[str]]:
    """The statements that move captured arrays, and the captured operands of the call."""
    moves, operands = "", list[str]()
    for place, native in enumerate(natives):
        if type(native) is Moving:
            moves += f"   _wgm{place} = {binder(native.move)}({binder(native.array)})\n"
            operands.append(f"_wgm{place}")
        else:
            operands.append(binder(native))
    return moves, operands


Test = Watch | Unwritten | Alike | Shaped


class Binder:
    """Gives values names in the code, and says whose globals can be read by their own.

    Args:
        home: these globals. By default none: what C imports under such code, as torch does, asks for `__builtins__`.
    """

    def __init__(self, home: dict[str, Any] | None = None) -> None:
        self.cells: list[CellType] = []
        self.home = {"__builtins__": builtins} if home is None else home
        self._names: dict[int, str] = {}

    def __call__(self, value: object) -> str:
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"_wg{len(self.cells)}"
            self.cells.append(value if type(value) is CellType else CellType(value))
        return name


def _binder(tests: Sequence[Test]) -> Binder:
    owners = [w.owner for w in tests if isinstance(w, Item)]
    homes = Counter(id(owner) for owner in owners if type(owner) is dict and "__builtins__" in owner)
    commonest = homes.most_common(1)[0][0] if homes else 0
    return Binder(next((owner for owner in owners if id(owner) == commonest), None))


def _test(tests: Sequence[Test], binder: Binder) -> str:
    return " and ".join([test.text(binder) for test in tests]) or "True"


def made(name: str, text: str, binder: Binder) -> Callable[..., Any]:
    """A function of this text, from its parameters on; values have the names that the binder gave them."""
    code = _code(text, len(binder.cells))
    closure = (*[binder.cells[int(free[3:])] for free in code.co_freevars],)
    # with the user's globals as its own, these are read as fast as anything can be
    return FunctionType(code, binder.home, name, None, closure)


_ERRORS = (NameError, AttributeError, LookupError, ValueError, TypeError)


@functools.lru_cache(maxsize=512)
def _code(text: str, count: int) -> CodeType:
    """The code, whose values are all in its closure."""
    names: dict[str, Any] = {}
    bound = " = ".join([*[f"_wg{i}" for i in range(count)], "None"])
    exec(compile(f"def maker():\n {bound}\n def made{text}\n return made", "<wengert guard>", "exec"), names)
    return names["maker"]().__code__


__all__ = ["Alike", "Binder", "Guard", "Moving", "Shaped", "Unwritten", "guard_of", "guarded", "look_here", "made"]
