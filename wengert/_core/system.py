"""What differs between operating systems, in one place: libraries, clocks, folders, permissions, signals, memory.

`SYSTEM` is the one that this process runs on; code asks it, and nowhere else is a system's name compared. `System` is
any system of POSIX's kind of which nothing more is known, and the others say what they have or lack beside it. Each
alternative is right, if less good: who has no library of vector functions gets ours, who has no owners of files gets
folders that the system keeps from others by itself.
"""

from __future__ import annotations

import importlib
import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from . import linux_memory

if TYPE_CHECKING:
    from pathlib import Path

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def _path(text: str) -> Path:
    return importlib.import_module("pathlib").Path(text)  # loaded when somebody asks for files: it takes milliseconds


class System:
    """A system of POSIX's kind.

    Args:
        name: as of `sys.platform`.

    Attributes:
        name: the same.
        has_large_pages: whether memory is advised to lie in large pages, by `madvise`.
        has_threads: whether machine code starts threads by `pthread_create`.
        clock: the number of the clock that nobody sets for `clock_gettime`; None: kernel32 has one instead.
        knows_stacks: whether a thread can ask for its own stack, by `pthread_getattr_np`.
        has_matrix_units: whether the system's BLAS has units of the processor that machine code cannot reach.
        has_owners: whether files have owners and modes that tell who may write to them.
        expendable: Python statements by which a process says that it should end before others if memory runs out.
    """

    has_large_pages = False
    has_threads = True
    clock: int | None = getattr(time, "CLOCK_MONOTONIC", 1)
    knows_stacks = False
    has_matrix_units = False
    has_owners = True
    expendable = """
with contextlib.suppress(ImportError):
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
"""

    def __init__(self, name: str) -> None:
        self.name = name

    # -- libraries ----------------------------------------------------------------------------------------------------

    def vector_maths(self) -> Any:
        """The C library's vector functions, as a `ctypes.CDLL`; None if it has none."""
        return None

    def c_libraries(self) -> list[Any]:
        """Where C's functions are looked for by name: `ctypes.CDLL`s, the first that has one gives it."""
        ctypes = importlib.import_module("ctypes")  # takes long to load, and few programs come here
        return [library for library in (self._maths(ctypes), ctypes.CDLL(None)) if library is not None]

    def _maths(self, ctypes: Any) -> Any:
        path = importlib.import_module("ctypes.util").find_library("m")
        return ctypes.CDLL(path) if path else None

    def c_memory(self) -> Any:
        """The library, a `ctypes.CDLL`, that has `memcmp`."""
        return importlib.import_module("ctypes").CDLL(None)

    def first_float_settings(self) -> int | None:
        """The address that C's `fesetenv` takes for the settings which each program begins with; None: not known."""
        return None

    # -- folders and files --------------------------------------------------------------------------------------------

    def users_cache(self) -> Path:
        """The folder for what programs may make again.

        Raises:
            RuntimeError: the user has no home.
        """
        chosen = os.environ.get("XDG_CACHE_HOME", "")
        return _path(chosen) if os.path.isabs(chosen) else _path("~").expanduser() / ".cache"

    @property
    def safe_flags(self) -> int:
        """The flags of `os.open` that follow no link, wait for nobody, leave no child a handle and change no byte."""
        names = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT")
        return sum(getattr(os, name, 0) for name in names)

    @property
    def has_handles(self) -> bool:
        """Whether files are opened relative to an open folder."""
        return os.open in os.supports_dir_fd and self.has_owners

    @property
    def has_links(self) -> bool:
        """Whether a file gets a second name, which fails where the name is taken; a new name replaces what has it."""
        return os.link in os.supports_dir_fd

    def is_ours(self, about: os.stat_result) -> bool:
        """Whether a file or folder belongs to this user or to the system's."""
        return about.st_uid in (os.getuid(), 0)

    def is_private(self, about: os.stat_result) -> bool:
        """Whether nobody else may write to a file or folder."""
        return self.is_ours(about) and not about.st_mode & _OTHERS_WRITE

    def sync_folder(self, folder: Path) -> None:
        """Makes sure of the names in a folder, where the system can: it is written already, whatever comes of this."""
        if not hasattr(os, "O_DIRECTORY"):
            return
        with suppress(OSError):  # some file systems refuse it
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    # -- processes, threads and signals -------------------------------------------------------------------------------

    def processors(self) -> int:
        """The processors that this process may use, which a container or taskset can make fewer than there are."""
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity is not None else os.cpu_count() or 1

    def at_fork(
        self, before: Callable[[], None], after_in_parent: Callable[[], None], after_in_child: Callable[[], None]
    ) -> None:
        """Has functions called around each fork, where processes fork."""
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=before, after_in_parent=after_in_parent, after_in_child=after_in_child)

    def signal_main_thread(self, number: int) -> None:
        """Sends the main thread a signal, which ends what it waits for, too."""
        signal.pthread_kill(threading.main_thread().ident or 0, number)

    # -- memory -------------------------------------------------------------------------------------------------------

    def limits(self) -> Iterator[tuple[int, int]]:
        """Bounds on what this process may address, as (the most, what is left); OSError or none: it is not told."""
        return iter(())

    def machine(self) -> Iterator[tuple[int, int]]:
        """The bounds that the machine's memory sets; what others have of it is not told."""
        most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        yield most, most

    def groups(self) -> Iterator[tuple[int, int]]:
        """The bounds of groups of processes that this one is in."""
        return iter(())

    def grown_by(self, run: Callable[[], object]) -> int | None:
        """The bytes that the process grows by while something runs; None, and nothing is run, if it is not told."""
        return None


class Linux(System):
    """Linux, with glibc or another C library."""

    has_large_pages = True
    knows_stacks = True
    expendable = (
        """
with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
    file.write("1000")
"""
        + System.expendable
    )

    def vector_maths(self) -> Any:
        """glibc's libmvec; other C libraries have none, nor has glibc on some processors."""
        with suppress(OSError):
            return importlib.import_module("ctypes").CDLL("libmvec.so.1")
        return None

    def _maths(self, ctypes: Any) -> Any:
        with suppress(OSError):
            return ctypes.CDLL("libm.so.6")  # glibc's; to search for it starts other programs
        return super()._maths(ctypes)

    def first_float_settings(self) -> int | None:
        """glibc's and musl's FE_DFL_ENV."""
        return -1

    def limits(self) -> Iterator[tuple[int, int]]:
        """By RLIMIT_AS and RLIMIT_DATA."""
        return linux_memory.limits()

    def machine(self) -> Iterator[tuple[int, int]]:
        """Memory and what it is swapped to."""
        return linux_memory.machine()

    def groups(self) -> Iterator[tuple[int, int]]:
        """By control groups of either version."""
        return linux_memory.groups()

    def grown_by(self, run: Callable[[], object]) -> int | None:
        """By the most that was resident."""
        return linux_memory.grown_by(run)


class MacOS(System):
    """macOS."""

    clock = 6
    has_matrix_units = True

    def first_float_settings(self) -> int | None:
        """Apple's FE_DFL_ENV."""
        ctypes = importlib.import_module("ctypes")
        return ctypes.addressof(ctypes.c_char.in_dll(ctypes.CDLL(None), "_FE_DFL_ENV"))

    def users_cache(self) -> Path:
        """Where Apple's programs have theirs."""
        return _path("~").expanduser() / "Library" / "Caches"


class Windows(System):
    """Windows, which keeps a user's folders from others by itself: there, names are paths, and modes tell nothing."""

    has_threads = False
    clock = None
    has_owners = False
    expendable = ""

    def c_libraries(self) -> list[Any]:
        """The universal C runtime, and the system's own for its clock; the process as such has no names."""
        return [*map(importlib.import_module("ctypes").CDLL, ("ucrtbase", "kernel32"))]

    def c_memory(self) -> Any:
        """The older runtime, which each Windows has; in the newer one the compiler writes `memcmp` out."""
        return importlib.import_module("ctypes").CDLL("msvcrt")

    def users_cache(self) -> Path:
        """The folder that does not move with the user to other machines."""
        local = os.environ.get("LOCALAPPDATA")
        return _path(local) if local else _path("~").expanduser() / "AppData" / "Local"

    @property
    def has_links(self) -> bool:
        """Renaming fails where a name is taken, which serves as well."""
        return False

    def is_ours(self, about: os.stat_result) -> bool:
        """Nothing tells otherwise."""
        return True

    def is_private(self, about: os.stat_result) -> bool:
        """Nothing tells otherwise."""
        return True

    def sync_folder(self, folder: Path) -> None:
        """Folders cannot be opened, and names are written with the files."""

    def at_fork(
        self, before: Callable[[], None], after_in_parent: Callable[[], None], after_in_child: Callable[[], None]
    ) -> None:
        """Nothing forks."""

    def signal_main_thread(self, number: int) -> None:
        """As if the signal had come: its handler runs when the main thread's Python goes on."""
        importlib.import_module("_thread").interrupt_main(number)

    def limits(self) -> Iterator[tuple[int, int]]:
        """By what may be addressed."""
        told = _windows_memory()
        yield told[5], told[6]

    def machine(self) -> Iterator[tuple[int, int]]:
        """By what Windows may promise: memory and the file that it is paged to."""
        told = _windows_memory()
        yield told[3], told[4]


def _windows_memory() -> list[int]:
    """The seven 64-bit numbers of Windows' MEMORYSTATUSEX behind its first: bytes, all and available by turns.

    Raises:
        OSError: it is not told.
    """
    ctypes = importlib.import_module("ctypes")
    told = (ctypes.c_uint64 * 8)()
    told[0] = ctypes.sizeof(told)  # the lower half is the structure's size
    if not ctypes.windll.kernel32.GlobalMemoryStatusEx(told):
        raise OSError("Windows does not tell its memory")
    return [*told]


def system_of(platform: str) -> System:
    """The system of a name as of `sys.platform`."""
    known: dict[str, type[System]] = {"linux": Linux, "darwin": MacOS, "win32": Windows}
    return known.get(platform, System)(platform)


SYSTEM = system_of(sys.platform)
