"""Object code kept on disk between processes, so that LLVM runs once for a program and machine.

`WENGERT_CACHE_DIR` names the folder (default: `wengert` in the user's cache folder; empty: nothing is kept). A file is
named by the digest of all that decides over the code; it holds a mark, the digest of its name and contents (so that a
file which was renamed is none), and an object file that names the functions it calls, no addresses. Files are written aside and moved into place, so that readers
see whole files or none; what is damaged, or belongs to somebody else, is as good as absent. Nothing here raises:
without the cache everything works, slower. Where the folder outgrows `WENGERT_CACHE_MIB` (default 512), the files that
were not used for the longest time go.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
from pathlib import Path

FOLDER = "WENGERT_CACHE_DIR"
LIMIT = "WENGERT_CACHE_MIB"

_MARK = b"wengert object 2\n"
_SUFFIX = ".o"
_SWEEP_EVERY = 64  # writes

_writes = 0


def folder() -> Path | None:
    """Where objects are kept; None if they are not."""
    chosen = os.environ.get(FOLDER)
    if chosen is not None:
        return Path(chosen) if chosen else None
    try:
        return _users_cache() / "wengert"
    except RuntimeError:  # a user without a home
        return None


def _users_cache() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    return Path(chosen) if os.path.isabs(chosen) else Path.home() / ".cache"


def digest(*parts: bytes) -> str:
    """The name of what these parts decide; where one ends and the next begins counts, too."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()


def read(name: str) -> bytes | None:
    """The object kept under a name, None if there is none that is whole and our own."""
    where = folder()
    if where is None:
        return None
    path = where / (name + _SUFFIX)
    try:
        with open(path, "rb") as file:
            if not _is_ours(os.fstat(file.fileno())):
                return None
            held = file.read()
    except OSError:
        return None
    start = len(_MARK) + 32
    image = held[start:]
    if held[: len(_MARK)] != _MARK or held[len(_MARK) : start] != _seal(name, image):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used now: it goes last
    return image


def _seal(name: str, image: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + image).digest()


def write(name: str, image: bytes) -> None:
    """Keeps an object under a name."""
    global _writes
    where = folder()
    if where is None:
        return
    try:
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(where.stat()):
            return  # another user could put files of this name there
        handle, aside = tempfile.mkstemp(dir=where, prefix=name[:16], suffix=".part")  # readable by its owner only
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MARK + _seal(name, image) + image)
            os.replace(aside, where / (name + _SUFFIX))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(aside)
            raise
        _writes += 1
        if _writes % _SWEEP_EVERY == 1:
            sweep(where, limit())
    except OSError:
        return


def limit() -> int:
    """How many bytes the folder may hold."""
    wanted = os.environ.get(LIMIT, "")
    return (int(wanted) if wanted.isdecimal() else 512) * 2**20


def sweep(where: Path, most: int) -> None:
    """Removes the files that were not used for the longest time until at most `most` bytes are left."""
    found: list[tuple[float, int, Path]] = []
    for path in where.iterdir():
        if path.suffix in (_SUFFIX, ".part"):
            with contextlib.suppress(OSError):
                about = path.stat()
                found.append((about.st_mtime, about.st_size, path))
    held = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if held <= most:
            return
        with contextlib.suppress(OSError):  # another process was faster
            path.unlink()
        held -= size


def _is_ours(about: os.stat_result) -> bool:
    """Whether only this user (and the system's) can have written here: what it holds will be run."""
    if not hasattr(os, "getuid"):
        return True  # Windows keeps a user's folders from others by itself
    return about.st_uid in (os.getuid(), 0) and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
