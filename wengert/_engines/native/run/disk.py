"""Object code kept on disk between processes, so that LLVM runs once for a program and machine.

`WENGERT_CACHE_DIR` names the folder (default: `wengert` in the user's cache folder; empty: nothing is kept). A file is
named by the digest of all that decides over the code; it holds a mark, a seal of its name and contents, and an object
file that names the functions it calls, no addresses. The seal is made with a secret of the user's (`disk_secret.py`),
so that files written by anybody else are ignored, wherever they lie. Files are written aside and moved into place, so
that readers see whole files or none; what is damaged, or in a folder that others may write to (`disk_folder.py`), is as
good as absent. Nothing here raises: without the cache everything works, slower; that a folder is refused is logged once
(logger "wengert"). Where the folder outgrows `WENGERT_CACHE_MIB` (default 512), the files that were not used for the
longest time go; files of other names stay.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
from pathlib import Path

from ...._core import system
from .disk_folder import Folder, Refused, opened
from .disk_secret import SECRETS, secret

FOLDER = "WENGERT_CACHE_DIR"
LIMIT = "WENGERT_CACHE_MIB"

_MARK = b"wengert object 3\n"
_SUFFIX = ".o"
_SEAL = 32  # bytes
_OBJECTS = re.compile(r"[0-9a-f]{64}\.o", re.ASCII)
_SWEEP_EVERY = 64  # writes

_writes = 0
_told: set[Path] = set()


def folder() -> Path | None:
    """Where objects are kept; None if they are not."""
    chosen = os.environ.get(FOLDER)
    if chosen is None:
        return _users_folder()
    if not chosen:
        return None
    try:
        return Path(chosen).expanduser()
    except RuntimeError:  # a user without a home
        return None


def _users_folder() -> Path | None:
    try:
        return system.SYSTEM.users_cache() / "wengert"
    except RuntimeError:
        return None


def digest(*parts: bytes) -> str:
    """The name of what these parts decide; where one ends and the next begins counts, too."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()


def read(name: str) -> bytes | None:
    """The object kept under a digest, None if there is none that is whole and our own."""
    where = folder()
    if where is None:
        return None
    try:
        with opened(where) as held_in:
            held = held_in.read(name + _SUFFIX)
            key = secret(_users_folder(), held_in)
    except OSError as error:
        _tell(where, error)
        return None
    start = len(_MARK) + _SEAL
    image = held[start:]
    if held[: len(_MARK)] != _MARK or not hmac.compare_digest(held[len(_MARK) : start], _seal(key, name, image)):
        return None
    return image


def _seal(key: bytes, name: str, image: bytes) -> bytes:
    return hmac.digest(key, name.encode() + b"\n" + image, "sha256")


def write(name: str, image: bytes) -> None:
    """Keeps an object under a digest."""
    global _writes
    where = folder()
    if where is None:
        return
    try:
        with opened(where, is_made=True) as held_in:
            held_in.write(name + _SUFFIX, _MARK + _seal(secret(_users_folder(), held_in), name, image) + image)
            _writes += 1
            if _writes % _SWEEP_EVERY == 1:
                sweep(held_in, limit())
    except OSError as error:
        _tell(where, error)


def _tell(where: Path, error: OSError) -> None:
    """Says once of each folder that it is refused; that there is none, or no room, is nobody's mistake."""
    if isinstance(error, Refused) and where not in _told:
        import logging  # takes longer to load than most of this package, and few programs come here

        _told.add(where)
        message = "compiled code is not kept in %s: %s; `chmod go-w` closes a folder, %s names another one"
        logging.getLogger("wengert").warning(message, where, error, FOLDER)


def limit() -> int:
    """How many bytes the folder may hold."""
    wanted = os.environ.get(LIMIT, "")
    return (int(wanted) if re.fullmatch(r"[0-9]{1,12}", wanted) else 512) * 2**20


def sweep(where: Folder, most: int) -> None:
    """Removes the objects that were not used for the longest time until at most `most` bytes are left, and strays."""
    for form in (_OBJECTS, SECRETS):
        where.remove_strays(form)
    found = where.files(_OBJECTS)
    held = sum(file.size for file in found)
    for file in found:
        if held <= most:
            return
        with contextlib.suppress(OSError):  # another process was faster
            where.remove(file.name)
        held -= file.size
