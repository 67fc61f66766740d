"""`once_per_program`: what engines make of a program, made on first use and kept with the program.

An engine's function from a program to its own form of it is decorated with it; the form lives as long as the program,
in `Program.executables`, under the function itself, so that no two engines ever meet there and a type checker knows
what comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from .call import Program

K = ParamSpec("K")
T = TypeVar("T")

# The function, with what it was given beside the program if that is anything -> what it made.
Executables = dict["OncePerProgram[Any, Any] | tuple[OncePerProgram[Any, Any], tuple[Any, ...]]", object]

_MISSING = object()


class OncePerProgram(Generic[K, T]):
    """A function of a program (and of values that hash) that runs once for each, under the program's lock."""

    def __init__(self, make: Callable[Concatenate[Program, K], T]) -> None:
        update_wrapper(self, make)
        self._make = make

    def __call__(self, program: Program, *key: K.args, **named: K.kwargs) -> T:
        place: Any = self if not key else (self, key)
        made: Any = program.executables.get(place, _MISSING)
        if made is not _MISSING:
            return made
        with program.lock:
            if place not in program.executables:
                program.executables[place] = self._make(program, *key, **named)
            return cast("T", program.executables[place])

    def give(self, program: Program, made: T) -> None:
        """Keeps what was made in another way, where there is no key."""
        program.executables[self] = made


def once_per_program(make: Callable[Concatenate[Program, K], T]) -> OncePerProgram[K, T]:
    """Runs a function once for each program and each tuple of further arguments, given by position."""
    return OncePerProgram(make)
