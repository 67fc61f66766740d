"""Functions outside our code that compiled code may call, by name.

`address(name)` finds a C function: one registered here, else one of libmvec, of libm or of the process. Compiled
objects hold names only; each process looks them up anew.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from contextlib import suppress

from ...._core import forking, system

_registered: dict[str, Callable[[], int]] = {}
_families: dict[str, Callable[[str], int]] = {}


def register(name: str, find: Callable[[], int]) -> None:
    """Makes a function callable from compiled code; `find` gives its address and is called on first use."""
    _registered[name] = find


_compiled: set[str] = set()


def register_family(family: str, find: Callable[[str], int], is_compiled: bool = False) -> None:
    """Makes functions callable as `FAMILY.NAME`; `find(NAME)` gives the address, 0 if there is none.

    `is_compiled`: it compiles the function, if no process of this machine has done so before.
    """
    _families[family] = find
    if is_compiled:
        _compiled.add(family)


def is_compiled(name: str) -> bool:
    """Whether to find a function may take long."""
    return name.partition(".")[0] in _compiled


_helpers: dict[str, threading.Thread] = {}


def hasten(name: str) -> None:
    """Has a function found by a thread of its own meanwhile: to compile one takes up to a tenth of a second."""
    if name not in _helpers:
        helper = threading.Thread(target=_found_or_not, args=(name,), name=f"wengert {name}")
        helper.start()
        _helpers[name] = helper  # started: others may wait for its end


forking.mend_in_child(_helpers.clear)  # a child has none of the parent's threads


def _found_or_not(name: str) -> None:
    with suppress(Exception):  # who asks for the address will meet it, too
        _address(name)


def address(name: str) -> int:
    """The address of a function of this name, 0 if there is none."""
    helper = _helpers.get(name)
    if helper is not None:
        helper.join()
    return _address(name)


@functools.cache
def _address(name: str) -> int:
    find = _registered.get(name)
    if find is not None:
        return find()
    family, dot, rest = name.partition(".")
    if dot and family in _families:
        return _families[family](rest)
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
