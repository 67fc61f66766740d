"""Files that are written as a whole: readers, other writers and a crash see the old contents or the new, never half."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from . import system


def write_whole(path: str | bytes | os.PathLike[str] | os.PathLike[bytes], parts: Iterable[bytes]) -> None:
    """Writes a file aside under a name that nobody can foresee, makes sure of it on disk, and moves it into place.

    An existing file's permissions stay (a new one's are what the process's umask leaves), a link to a file stays a
    link, and what is no plain file (a device, a pipe) is written to as it is.

    Raises:
        OSError: it could not be written; nothing is left behind, and what was there is as it was.
    """
    try:
        _write_whole(Path(os.path.realpath(os.fsdecode(path))), parts)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fsdecode(path)) from None  # under the name that the caller knows


def _write_whole(target: Path, parts: Iterable[bytes]) -> None:
    mode = _mode_of(target)
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb") as file:
            file.writelines(parts)
        return
    # not named after the file, whose name may be as long as names can be
    aside = target.with_name(f".wengert-{secrets.token_hex(16)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.SYSTEM.safe_flags
    try:
        with open(os.open(aside, flags, 0o666 if mode is None else 0o600), "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(aside, stat.S_IMODE(mode))
        os.replace(aside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise
    system.SYSTEM.sync_folder(target.parent)


def _mode_of(path: Path) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None
