"""Calls whose arguments are arrays in dictionaries, lists and tuples, as parameters of models are: where the structure
and the arrays are like those of a call before, they go straight to what that call has compiled.

`Function.__call__` asks here when it meets a container; what is found here it asks first in the next call.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from textwrap import indent
from typing import Any

import numpy as np

from .._compile.captures import Binder, made
from .._core import dtypes
from .._core.engine import PLAIN_TYPES, Engine, look_of
from .._core.structure import flatten

CONTAINERS = frozenset({dict, list, tuple})


class Opened:
    """Arguments as the arrays in them.

    Attributes:
        structure: how they lie there.
        arrays: NumPy's, or those of one framework.
        home: that framework's engine.
    """

    def __init__(self, structure: Any, arrays: list[Any], home: Engine | None) -> None:
        self.structure = structure
        self.arrays = arrays
        self.home = home

    @property
    def key(self) -> tuple[Any, ...]:
        """What decides which program runs."""
        looks: list[Any] = []
        for x in self.arrays:
            looks += look_of(x)
        return dtypes._default_float, self.structure, *looks

    def are_leaves_of(self, args: tuple[Any, ...], count: int) -> bool:
        """Whether these very arrays, in this order, are the leaves of the arguments, and all that a program takes."""
        leaves, _ = flatten(args)
        return len(leaves) == len(self.arrays) == count and all(map(is_, leaves, self.arrays))


def opened(args: tuple[Any, ...]) -> Opened | None:
    """The arrays in arguments that hold nothing else, and are of one kind; else None."""
    arrays: list[Any] = []
    try:
        structure = _structure(args, arrays)
    except RecursionError:  # one holds itself
        return None
    kinds = {*map(type, arrays)}
    if kinds == {np.ndarray}:
        is_plain = all(dtypes.is_supported(a.dtype) and a.dtype.isnative for a in arrays)
        return Opened(structure, arrays, None) if is_plain else None
    homes = {*map(PLAIN_TYPES.get, kinds)}
    home = homes.pop() if len(homes) == 1 else None
    return None if home is None else Opened(structure, arrays, home)


def through(structure: Any, run: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays as one of arguments of a structure; NotImplemented where they are of another one.

    It is code made for the structure: at ten elements a call of Python for each container costs as much as the program.
    """
    binder, lines = Binder(), list[str]()
    other = binder(NotImplemented)
    leaves = _unpacking(structure, "args", lines, binder)
    text = f"(*args):\n  try:\n{indent(chr(10).join(lines), '   ')}\n  except ValueError: return {other}\n"
    return made("nested", f"{text}  return {binder(run)}({''.join(leaves)})", binder)


def _unpacking(structure: Any, name: str, lines: list[str], binder: Binder) -> list[str]:
    """The arrays of a container as source.

    Args:
        structure: how values lie in it.
        name: its name in the code.
        lines: the statements that take it apart, which grow.
        binder: has what they compare with.
    """
    kind, *parts = structure
    items = name
    if name != "args":
        lines.append(f"if {binder(type)}({name}) is not {binder(kind)}: return {binder(NotImplemented)}")
    if kind is dict:
        lines.append(f"if (*{name},) != {binder(parts.pop(0))}: return {binder(NotImplemented)}")
        items = f"{name}.values()"
    names = [f"{name}_{place}" for place in range(len(parts))]
    lines.append(f"{''.join(f'{part}, ' for part in names) or '()'} = {items}")
    found: list[str] = []
    for part, inner in zip(names, parts, strict=True):
        found += [f"{part}, "] if inner is None else _unpacking(inner, part, lines, binder)
    return found


def _structure(value: object, arrays: list[Any]) -> Any:
    """How values lie in containers, None for each; notes them in the order of `flatten`."""
    kind = type(value)
    held: Any = value
    if kind is dict:
        return kind, (*held,), *[_structure(v, arrays) for v in held.values()]
    if kind is list or kind is tuple:
        return kind, *[_structure(v, arrays) for v in held]
    arrays.append(value)
    return None


__all__ = ["CONTAINERS", "Opened", "opened", "through"]
