"""The guard of a trace: one compiled expression that says whether everything it has seen is there still."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

from .watch import Item, Watch

Guard = Callable[[Sequence[Any]], bool]


def guard_of(watches: Sequence[Watch]) -> Guard:
    """A function of the signature's values that compares all that is watched, by identity.

    It costs 10 to 20 ns for each name; whatever it cannot read any more makes it false.
    """
    return _made(watches, "guard", [])


def guarded(watches: Sequence[Watch], run: Callable[..., Any], natives: Sequence[Any]) -> Callable[..., Any]:
    """A function of arguments that runs compiled code on them and on captured arrays if the guard of no signature's
    values holds, and gives NotImplemented else: guard and call in one.
    """
    if not watches and not natives:
        return run
    return _made(watches, "call", [run, *natives])


class Binder:
    """Gives values names in the code, and says whose globals can be read by their own."""

    def __init__(self, first: Sequence[Any], home: dict[str, Any]) -> None:
        self.cells = [CellType(value) for value in first]
        self.home = home
        self._names: dict[int, str] = {}

    def __call__(self, value: object) -> str:
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"_wg{len(self.cells)}"
            self.cells.append(value if type(value) is CellType else CellType(value))
        return name


def _made(watches: Sequence[Watch], form: str, first: list[Any]) -> Callable[..., Any]:
    homes = Counter(id(w.owner) for w in watches if type(w) is Item)
    commonest = homes.most_common(1)[0][0] if homes else 0
    home = next((w.owner for w in watches if id(w.owner) == commonest and type(w.owner) is dict), {})
    binder = Binder([_ERRORS, NotImplemented, *first], home)
    tests = (*[watch.text(binder) for watch in watches],)
    code = _code(tests, form, len(first), len(binder.cells))
    closure = (*[binder.cells[int(name[3:])] for name in code.co_freevars],)
    # with the user's globals as its own, these are read as fast as anything can be
    return FunctionType(code, home, form, None, closure)


_ERRORS = (NameError, AttributeError, LookupError, ValueError, TypeError)


@functools.lru_cache(maxsize=512)
def _code(tests: tuple[str, ...], form: str, first: int, count: int) -> CodeType:
    """The code, whose values are all in its closure: errors, NotImplemented, what is run, and its last arguments."""
    test = " and ".join(tests) or "True"
    natives = [f"_wg{i}" for i in range(3, 2 + first)]
    if form == "guard":
        body = f"def made(statics):\n  try:\n   return {test}\n  except _wg0:\n   return False"
    else:
        body = (
            f"def made(*arguments):\n  try:\n   if not ({test}): return _wg1\n  except _wg0:\n   return _wg1\n"
            f"  return _wg2({', '.join(['*arguments', *natives])})"
        )
    names: dict[str, Any] = {}
    bound = " = ".join([*[f"_wg{i}" for i in range(count)], "None"])
    exec(compile(f"def maker():\n {bound}\n {body}\n return made", "<wengert guard>", "exec"), names)
    return names["maker"]().__code__


__all__ = ["Guard", "guard_of", "guarded"]
