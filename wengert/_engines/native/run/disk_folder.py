"""A folder whose files only this user, and the system's, can have made: all access goes by a handle of it.

It is used if it, and each folder above it, belongs to this user or to root, and if nobody else may write there; above
it, a folder for everybody in which all may remove only what is theirs (the sticky bit, as of `/tmp`) will do. Files are
opened relative to the handle, never through a link, never waiting (for a pipe's other end), and only plain files are
read. Windows keeps a user's folders from others by itself and has none of these means: there, names are paths.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...._core import system

LARGEST = 2**30  # bytes of a file that is read: more was not written by us

_ASIDE = re.compile(r".+\.[0-9a-f]{16}\.part", re.ASCII)
_STRAY = 3600.0  # seconds after which a file written aside has no writer any more


class Refused(PermissionError):
    """Others may write to a folder, or put another one in its place."""


class Held(NamedTuple):
    """A file in a folder."""

    used: float
    size: int
    name: str


class Folder:
    """An open folder; names are those of files in it.

    Raises:
        OSError: (by its methods) what the system refuses, and what is not as described above.
    """

    def __init__(self, path: Path, handle: int | None) -> None:
        self._path = path
        self._handle = handle

    def read(self, name: str) -> bytes:
        """The contents of a plain file that only this user can have written; it is marked as used now."""
        handle = os.open(self._named(name), os.O_RDONLY | system.SYSTEM.safe_flags, dir_fd=self._handle)
        with open(handle, "rb") as file:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode) or not system.SYSTEM.is_private(about) or about.st_size > LARGEST:
                raise PermissionError(f"{name} is no file of ours")
            held = file.read(LARGEST)
            with contextlib.suppress(OSError):
                os.utime(handle if os.utime in os.supports_fd else self._named(name))
        return held

    def write(self, name: str, contents: bytes) -> None:
        """Puts a file there as a whole: readers see all of it, or what was there before."""
        with self._written_aside(name, contents) as aside:
            os.replace(self._named(aside), self._named(name), src_dir_fd=self._handle, dst_dir_fd=self._handle)

    def write_first(self, name: str, contents: bytes) -> None:
        """As `write`, but what another process has put there meanwhile stays.

        Raises:
            FileExistsError: it has.
        """
        if not system.SYSTEM.has_links:  # there, renaming does not replace
            with self._written_aside(name, contents) as aside:
                os.rename(self._named(aside), self._named(name))
            return
        with self._written_aside(name, contents) as aside:
            try:
                os.link(aside, name, src_dir_fd=self._handle, dst_dir_fd=self._handle, follow_symlinks=False)
            except FileExistsError:
                raise
            except OSError:  # a file system without links: of two processes the last decides
                os.replace(aside, name, src_dir_fd=self._handle, dst_dir_fd=self._handle)
            else:
                self.remove(aside)

    @contextlib.contextmanager
    def _written_aside(self, name: str, contents: bytes) -> Iterator[str]:
        aside = f"{name}.{secrets.token_hex(8)}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.SYSTEM.safe_flags
        handle = os.open(self._named(aside), flags, 0o600, dir_fd=self._handle)  # its owner's alone
        try:
            with open(handle, "wb") as file:
                file.write(contents)
            yield aside
        except BaseException:
            with contextlib.suppress(OSError):
                self.remove(aside)
            raise

    def remove(self, name: str) -> None:
        """Removes a file."""
        os.unlink(self._named(name), dir_fd=self._handle)

    def files(self, form: re.Pattern[str]) -> list[Held]:
        """The plain files whose names have a form, those used longest ago first."""
        found: list[Held] = []
        with os.scandir(self._path if self._handle is None else self._handle) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # another process was faster
                    if form.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                        about = entry.stat(follow_symlinks=False)
                        found.append(Held(about.st_mtime, about.st_size, entry.name))
        return sorted(found)

    def remove_strays(self, form: re.Pattern[str]) -> None:
        """Removes what killed processes have left of writing files of a form; who writes now is left in peace."""
        for held in self.files(_ASIDE):
            if held.used < time.time() - _STRAY and form.fullmatch(held.name[: -len(".0123456789abcdef.part")]):
                with contextlib.suppress(OSError):
                    self.remove(held.name)

    def _named(self, name: str) -> str:
        return name if self._handle is not None else str(self._path / name)


@contextlib.contextmanager
def opened(path: Path, is_made: bool = False) -> Iterator[Folder]:
    """A folder, open as long as the context is.

    Args:
        path: where it is; links on the way are followed first.
        is_made: whether to make what is missing, for this user alone.

    Raises:
        Refused: others may write to it or put another one in its place.
        OSError: there is none.
    """
    if is_made:
        _make(path)
    if not system.SYSTEM.has_handles:
        if not path.is_dir():
            raise NotADirectoryError(str(path))
        yield Folder(path, None)
        return
    real = Path(os.path.realpath(path, strict=True))
    for above in reversed(real.parents):
        _check(os.lstat(above), above, is_above=True)
    handle = os.open(real, os.O_RDONLY | os.O_DIRECTORY | system.SYSTEM.safe_flags)
    try:
        _check(os.fstat(handle), real)
        yield Folder(real, handle)
    finally:
        os.close(handle)


def _make(path: Path) -> None:
    """As `mkdir`, but folders above it are this user's alone, too, whatever the umask."""
    if path.is_dir():
        return
    if path.parent != path:
        _make(path.parent)
    with contextlib.suppress(FileExistsError):  # another process was faster; a file in the way is found later
        path.mkdir(mode=0o700)
        path.chmod(0o700)  # the umask can have taken bits from it


def _check(about: os.stat_result, path: Path, is_above: bool = False) -> None:
    is_common = is_above and stat.S_ISDIR(about.st_mode) and bool(about.st_mode & stat.S_ISVTX)
    is_ours = system.SYSTEM.is_ours(about)
    if not (system.SYSTEM.is_private(about) or (is_common and is_ours)):
        whose = f"its mode is {stat.S_IMODE(about.st_mode):03o}" if is_ours else "it is another user's"
        raise Refused(f"others may write to {path}: {whose}")
