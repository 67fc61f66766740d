"""Functions outside our code that compiled code may call, by name.

A `Table` lists those that somebody has to find or to make; what it does not list is a C function of libmvec, of libm or
of the process. Compiled objects hold names only: `jit` looks them up in the table that it is given, in each process
anew. `run/callable.py` is the table for the code of graphs.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from ...._core import forking, system

Find = Callable[[str], int]  # from a name to an address; 0 where there is none


class Family(NamedTuple):
    """Functions that are called `FAMILY.NAME`.

    Attributes:
        find: gives the address of the one of a name.
        is_compiled: whether it compiles the function, if no process of this machine has done so before.
        vector_forms: gives the names of a function's forms for vectors by their numbers of lanes. Both compute, and
            read and write no memory.
    """

    find: Find
    is_compiled: bool = False
    vector_forms: Callable[[str], Mapping[int, str]] | None = None


class Table:
    """What a module may call.

    Args:
        functions: those that have a name of their own, with what finds each, which is called on first use.
        families: those whose name begins with that of a family.
    """

    def __init__(self, functions: Mapping[str, Find], families: Mapping[str, Family]) -> None:
        self._functions = functions
        self._families = families
        self._found: dict[str, int] = {}
        self._helpers: dict[str, threading.Thread] = {}
        self._lock = forking.short_lock()  # so that one helper alone looks for a name
        forking.mend_in_child(self._helpers.clear)  # a child has none of the parent's threads

    def address(self, name: str) -> int:
        """The address of a function of this name, 0 if there is none."""
        helper = self._helpers.get(name)
        if helper is not None:
            helper.join()
        return self._address(name)

    def is_compiled(self, name: str) -> bool:
        """Whether to find a function may take long."""
        family = self._families.get(name.partition(".")[0])
        return family is not None and family.is_compiled

    def vector_forms(self, name: str) -> Mapping[int, str]:
        """The names of a function's forms for vectors, by their numbers of lanes."""
        family = self._families.get(name.partition(".")[0])
        return {} if family is None or family.vector_forms is None else family.vector_forms(name)

    def hasten(self, name: str) -> None:
        """Has a function found by a thread of its own meanwhile: to compile one takes up to a tenth of a second."""
        with self._lock:
            if name not in self._helpers:
                helper = threading.Thread(target=self._found_or_not, args=(name,), name=f"wengert {name}")
                helper.start()
                self._helpers[name] = helper  # started: others may wait for its end

    def _found_or_not(self, name: str) -> None:
        with suppress(Exception):  # who asks for the address will meet it, too
            self._address(name)

    def _address(self, name: str) -> int:
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = self._look(name)
        return found

    def _look(self, name: str) -> int:
        if find := self._functions.get(name):
            return find(name)
        family, dot, rest = name.partition(".")
        if dot and family in self._families:
            return self._families[family].find(rest)
        return of_libraries(name)


def of_libraries(name: str) -> int:
    """The address of a function of libmvec, of libm or of the process, 0 if none of them has it."""
    for library in _libraries():
        try:
            found = getattr(library, name)
        except AttributeError:
            continue
        return ctypes.cast(found, ctypes.c_void_p).value or 0
    return 0


@functools.cache
def has_libmvec() -> bool:
    """Whether glibc's library of vector functions is there."""
    return _libmvec() is not None


@functools.cache
def _libmvec() -> ctypes.CDLL | None:
    return system.SYSTEM.vector_maths()


@functools.cache
def _libraries() -> list[ctypes.CDLL]:
    found = [_libmvec(), ctypes.pythonapi, *system.SYSTEM.c_libraries()]
    return [library for library in found if library is not None]


NO_MORE = Table({}, {})  # for modules that call nothing but what libraries have
