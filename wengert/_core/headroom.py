"""How much memory this process may have, and how much of it is left.

What bounds it is told by several: the process's limits (RLIMIT_AS, RLIMIT_DATA), the control groups that it is in, and
the machine. Where a system does not tell, it does not bound.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

UNBOUNDED = 1 << 60
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_GROUPS = "/sys/fs/cgroup"


class Bound(NamedTuple):
    """One bound on memory.

    Attributes:
        most: bytes that may be had in all.
        left: bytes that may be had still.
    """

    most: int
    left: int


def allowance() -> int:
    """The bytes that this process may have at most."""
    return min((b.most for b in _bounds(_limits, _machine, _groups)), default=UNBOUNDED)


def addresses() -> int:
    """The bytes that this process may map beside those that it has mapped."""
    return _least(_limits)


def pages() -> int:
    """The bytes of memory that are there for this process beside those that it uses."""
    return _least(_machine, _groups)


def _least(*finders: Callable[[], Iterator[Bound]]) -> int:
    return max(0, min((b.left for b in _bounds(*finders)), default=UNBOUNDED))


def _bounds(*finders: Callable[[], Iterator[Bound]]) -> Iterator[Bound]:
    for find in finders:
        try:
            yield from find()
        except (OSError, ValueError, LookupError, ImportError):  # another system, which tells otherwise or nothing
            continue


def _read(*path: str) -> str:
    with open(os.path.join(*path), "rb", buffering=0) as file:
        return file.read().decode()


def _limits() -> Iterator[Bound]:
    resource = importlib.import_module("resource")
    for name, place in (("RLIMIT_AS", 0), ("RLIMIT_DATA", 5)):
        most, _ = resource.getrlimit(getattr(resource, name))
        if most != resource.RLIM_INFINITY:
            yield Bound(most, most - int(_read("/proc/self/statm").split()[place]) * _PAGE)


_SIZES = r"(?m)^(MemTotal|MemAvailable|SwapTotal|SwapFree): *(\d+) kB$"


def _machine() -> Iterator[Bound]:
    found = {name: int(size) * 1024 for name, size in re.findall(_SIZES, _read("/proc/meminfo"))}
    yield Bound(found["MemTotal"] + found["SwapTotal"], found["MemAvailable"] + found["SwapFree"])


def _groups() -> Iterator[Bound]:
    for folder, is_old in _folders():
        try:
            most = _read(folder, "memory.limit_in_bytes" if is_old else "memory.max").strip()
            if not most.isdecimal() or int(most) >= UNBOUNDED:
                continue
            used = int(_read(folder, "memory.usage_in_bytes" if is_old else "memory.current"))
            told = dict(line.split() for line in _read(folder, "memory.stat").splitlines())
        except OSError:
            continue
        # pages of files that nobody has used for some time go when others are wanted
        idle = int(told.get("total_inactive_file" if is_old else "inactive_file", 0))
        yield Bound(int(most), int(most) - used + idle)


@functools.cache
def _folders() -> tuple[tuple[str, bool], ...]:
    """The folders of this process's control groups and of those around them; whether they are of the first version."""
    found: list[tuple[str, bool]] = []
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        is_old = "memory" in controllers.split(",")
        if not is_old and controllers:
            continue
        root = os.path.join(_GROUPS, "memory") if is_old else _GROUPS
        names = [name for name in group.split("/") if name]
        inner = [os.path.join(root, *names[:count]) for count in range(len(names), -1, -1)]
        # in a container the names outside mean nothing inside
        found += [(folder, is_old) for folder in inner if os.path.isdir(folder)]
    return (*found,)
