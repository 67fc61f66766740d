"""The user's secret, which seals what is kept on disk: objects that somebody else has made are not run.

It lies in the user's own cache folder, wherever the objects are, readable by its owner only; where there is no such
folder (a user without a home, say), in the folder of the objects. A new one means that older objects are made anew.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from pathlib import Path

from .disk_folder import Folder, opened

_NAME = "secret"
_SIZE = 32  # bytes
SECRETS = re.compile(_NAME)


def secret(users_folder: Path | None, objects: Folder) -> bytes:
    """The secret, made if there is none.

    Raises:
        OSError: there is none, and none can be made.
    """
    if users_folder is not None:
        with contextlib.suppress(OSError), opened(users_folder, is_made=True) as where:
            return _secret_in(where)
    return _secret_in(objects)


def _secret_in(where: Folder) -> bytes:
    with contextlib.suppress(FileNotFoundError):
        held = where.read(_NAME)
        if len(held) == _SIZE:
            return held
        where.remove(_NAME)  # damaged
    with contextlib.suppress(FileExistsError):  # of two processes the first decides
        where.write_first(_NAME, secrets.token_bytes(_SIZE))
    return where.read(_NAME)
