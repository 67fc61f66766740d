"""Keeps LLVM from running out of memory: it ends the process when it gets none, so it must not be asked then.

- `require` asks beforehand whether there is room for a library to load or for code to be linked, and raises MemoryError
  if there is not.
- `reserved` does so for a module to be compiled, with several times what LLVM was measured to take. Where that is more
  than what is left, `elsewhere` compiles in a process of its own, which may die: that is a MemoryError, too.

Who calls falls back on NumPy's kernels. What other threads take meanwhile nobody can know; the margins are for them.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import pickle
import sys
from collections.abc import Iterator

from ...._core import forking, headroom, system

MIB = 1 << 20
LIBRARY = 256 * MIB, 128 * MIB  # addresses and pages: llvmlite takes 158 and 62 MiB
_MARGIN = 64 * MIB  # LLVM takes 2 to 5 MiB for short modules, and 35 MiB of pages of its library ...
_LINE = 16 * 1024  # ... and 1 to 2 KiB for each line of long ones
_LINKED = 32 * MIB
_AMPLE = 512 * MIB

_lock = forking.short_lock()
_taken: dict[object, int] = {}  # by compilations under way
forking.mend_in_child(_taken.clear)  # those of a parent's other threads


def has_room(addresses: int, pages: int) -> bool:
    """Whether so much is left of what the process may address, and of the memory that there is."""
    others = sum([*_taken.values()])
    return headroom.addresses() >= addresses + others and headroom.pages() >= pages + others


def is_ample() -> bool:
    """Whether there is room for what saves time only."""
    return has_room(_AMPLE, _AMPLE)


def require(what: str, addresses: int, pages: int) -> None:
    """Makes sure that there is room.

    Raises:
        MemoryError: there is not.
    """
    if not has_room(addresses, pages):
        left = min(headroom.addresses(), headroom.pages()) // MIB
        raise MemoryError(f"no memory {what}, which may take {addresses // MIB} MiB: {left} MiB are left")


def require_to_link(image: bytes) -> None:
    """Makes sure that there is room to link an object.

    Raises:
        MemoryError: there is not.
    """
    size = _LINKED + 4 * len(image)
    require("to link machine code", size, size)


@contextlib.contextmanager
def reserved(ir: str) -> Iterator[bool]:
    """Whether there is room to compile a module here; what it may take counts for others as taken meanwhile."""
    size, this = _MARGIN + _LINE * ir.count("\n"), object()
    with _lock:
        is_room = has_room(size, size)
        if is_room:
            _taken[this] = size
    try:
        yield is_room
    finally:
        _taken.pop(this, None)


_BOOT = f"""
import contextlib, pickle, sys, types
{system.SYSTEM.expendable}
packages, sys.path[:], module, arguments = pickle.load(sys.stdin.buffer)
for name, folder in packages:  # without what they load by themselves: arrays are not needed here
    package = sys.modules[name] = types.ModuleType(name)
    package.__path__ = [folder]
sys.stdout.buffer.write(__import__(module, fromlist=["emitted"]).emitted(*arguments))
"""


def _packages(module: str) -> list[tuple[str, str]]:
    """The packages around a module, this one, and those that it imports from, with their folders."""
    names = {forking.__name__.rpartition(".")[0]}
    for name in (module, __name__):
        names.update(itertools.accumulate(name.split(".")[:-1], "{}.{}".format))
    return [(name, os.path.dirname(sys.modules[name].__file__ or "")) for name in sorted(names)]


def elsewhere(module: str, *arguments: object) -> bytes:
    """What the function `emitted` of the module of that name gives, called in a process of its own.

    Raises:
        MemoryError: the process ended without a result.
    """
    given = pickle.dumps((_packages(module), sys.path, module, arguments))
    environment = {**os.environ, "WENGERT_DUMP": ""}
    subprocess = importlib.import_module("subprocess")  # few programs come here, and it takes its time to load
    command = [sys.executable or "python3", "-I", "-c", _BOOT]
    try:
        done = subprocess.run(command, input=given, capture_output=True, check=False, env=environment)
    except OSError as error:
        raise MemoryError(f"no memory to compile: {error}") from None
    if done.returncode or not done.stdout:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise MemoryError(f"no memory to compile: {said[-1] if said else f'exit status {done.returncode}'}")
    return done.stdout
