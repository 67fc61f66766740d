"""How much memory this process may have, and how much of it is left.

What bounds it is told by several: the process's limits (RLIMIT_AS, RLIMIT_DATA), the control groups that it is in, and
the machine. Where a system does not tell, it does not bound.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

UNBOUNDED = 1 << 60
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_GROUPS = Path("/sys/fs/cgroup")


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


def _limits() -> Iterator[Bound]:
    resource = importlib.import_module("resource")
    sizes = Path("/proc/self/statm").read_text().split()
    for name, place in (("RLIMIT_AS", 0), ("RLIMIT_DATA", 5)):
        most, _ = resource.getrlimit(getattr(resource, name))
        if most != resource.RLIM_INFINITY:
            yield Bound(most, most - int(sizes[place]) * _PAGE)


def _machine() -> Iterator[Bound]:
    words = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    found = {name: int(words[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable", "SwapTotal", "SwapFree")}
    yield Bound(found["MemTotal"] + found["SwapTotal"], found["MemAvailable"] + found["SwapFree"])


def _groups() -> Iterator[Bound]:
    for folder, is_old in _folders():
        try:
            most = (folder / ("memory.limit_in_bytes" if is_old else "memory.max")).read_text().strip()
            if not most.isdecimal() or int(most) >= UNBOUNDED:
                continue
            used = int((folder / ("memory.usage_in_bytes" if is_old else "memory.current")).read_text())
            told = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        except OSError:
            continue
        # pages of files that nobody has used for some time go when others are wanted
        idle = int(told.get("total_inactive_file" if is_old else "inactive_file", 0))
        yield Bound(int(most), int(most) - used + idle)


@functools.cache
def _folders() -> tuple[tuple[Path, bool], ...]:
    """The folders of this process's control groups and of those around them; whether they are of the first version."""
    found: list[tuple[Path, bool]] = []
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        is_old = "memory" in controllers.split(",")
        if not is_old and controllers:
            continue
        root = _GROUPS / "memory" if is_old else _GROUPS
        inner = root / group.lstrip("/")
        while True:
            if inner.is_dir():  # in a container the names outside mean nothing inside
                found.append((inner, is_old))
            if inner in (root, inner.parent):
                break
            inner = inner.parent
    return (*found,)
