"""What Linux tells of memory: the bounds on what this process may have, as (the most, what is left), and what it takes.

The process's limits (RLIMIT_AS, RLIMIT_DATA), the machine, and the control groups that the process is in.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
from collections.abc import Callable, Iterator

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_GROUPS = "/sys/fs/cgroup"
_LEAST_UNBOUNDED = 1 << 60  # bytes; a group without a limit of the first version names some such number


def _read(*path: str) -> str:
    with open(os.path.join(*path), "rb", buffering=0) as file:
        return file.read().decode()


def limits() -> Iterator[tuple[int, int]]:
    """By the limits of the process."""
    resource = importlib.import_module("resource")
    for name, place in (("RLIMIT_AS", 0), ("RLIMIT_DATA", 5)):
        most, _ = resource.getrlimit(getattr(resource, name))
        if most != resource.RLIM_INFINITY:
            yield most, most - int(_read("/proc/self/statm").split()[place]) * _PAGE


_SIZES = r"(?m)^(MemTotal|MemAvailable|SwapTotal|SwapFree): *(\d+) kB$"


def machine() -> Iterator[tuple[int, int]]:
    """By the machine's memory."""
    found = {name: int(size) * 1024 for name, size in re.findall(_SIZES, _read("/proc/meminfo"))}
    yield found["MemTotal"] + found["SwapTotal"], found["MemAvailable"] + found["SwapFree"]


def groups() -> Iterator[tuple[int, int]]:
    """By the control groups."""
    for folder, is_old in _folders():
        try:
            most = _read(folder, "memory.limit_in_bytes" if is_old else "memory.max").strip()
            if not most.isdecimal() or int(most) >= _LEAST_UNBOUNDED:
                continue
            used = int(_read(folder, "memory.usage_in_bytes" if is_old else "memory.current"))
            told = dict(line.split() for line in _read(folder, "memory.stat").splitlines())
        except OSError:
            continue
        # pages of files that nobody has used for some time go when others are wanted
        idle = int(told.get("total_inactive_file" if is_old else "inactive_file", 0))
        yield int(most), int(most) - used + idle


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


def grown_by(run: Callable[[], object]) -> int | None:
    """The bytes that the process grows by while something runs; None, and nothing is run, where it may not be told."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # the most so far is what there is now
    except OSError:
        return None
    now = _resident("VmRSS")
    run()
    return _resident("VmHWM") - now


def _resident(what: str) -> int:
    line = next((line for line in _read("/proc/self/status").splitlines() if line.startswith(what)), "x: 0")
    return int(line.split()[1]) * 1024
