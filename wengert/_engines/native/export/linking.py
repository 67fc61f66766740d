"""Libraries of object files: static ones are written here, shared ones by the C compiler's driver."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from .lapack import are_own, lapack_routine


def compiler() -> str | None:
    """The C compiler's command: what CC says, or `cc`, `gcc` or `clang`; None if there is none."""
    names = (os.environ.get("CC"), "cc", "gcc", "clang")
    return next((found for name in names if name and (found := shutil.which(name))), None)


class Linked(NamedTuple):
    """A shared library, and whether the routines of LAPACK that it calls are part of it."""

    content: bytes
    has_lapack: bool


def shared_library(image: bytes, lapack: Sequence[str], has_maths: bool) -> Linked:
    """The shared library of one object.

    Without a LAPACK to link, its routines become part of the library if we have them all, else they stay open.

    Args:
        image: the object.
        lapack: the routines of LAPACK that it calls, as linkers know them.
        has_maths: whether it calls the C maths library.

    Raises:
        RuntimeError: there is no C compiler to link it, or it fails.
    """
    command = compiler()
    if command is None:
        raise RuntimeError(
            "export: a shared library needs a C compiler's linker (cc, gcc or clang on the path, or CC), and there is "
            "none; write an object (.o) or a static library (.a), which need none"
        )
    maths = ["-lm"] * has_maths
    with tempfile.TemporaryDirectory(prefix="wengert-") as folder:
        source, routines, target = Path(folder, "code.o"), Path(folder, "lapack.c"), Path(folder, "code.so")
        source.write_bytes(image)
        ways = [["-llapack", *maths]] if lapack else [maths]
        if lapack and not are_own(lapack):
            ways.append(maths)
        elif lapack:
            routines.write_text("\n".join(["#include <math.h>", "#include <stdint.h>", *map(lapack_routine, lapack)]))
            ways.append(["-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", str(routines), "-lm"])
        for place, way in enumerate(ways):
            words = [command, "-shared", "-o", str(target), str(source), *way]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return Linked(target.read_bytes(), place > 0 and are_own(lapack))
    raise RuntimeError(f"export: {command} could not link the library: {done.stderr.strip()[-400:]}")


def archive(member: str, image: bytes, symbols: Sequence[str]) -> bytes:
    """A static library of one object, in the form that `ar` writes, with the index of its symbols.

    Args:
        member: the object's name.
        image: the object.
        symbols: what it defines.
    """
    names = b"".join(name.encode() + b"\0" for name in symbols)
    index_size = 4 + 4 * len(symbols) + len(names)
    index_size += index_size % 2
    # long names go to a table of their own
    table = f"{member}/\n".encode()
    table += b"\n" * (len(table) % 2)
    place = 8 + 60 + index_size + 60 + len(table)
    index = len(symbols).to_bytes(4, "big") + place.to_bytes(4, "big") * len(symbols) + names
    index += bytes(index_size - len(index))
    return b"".join([
        b"!<arch>\n", _entry("/", len(index)), index, _entry("//", len(table)), table,
        _entry("/0", len(image)), image, b"\n" * (len(image) % 2),
    ])  # fmt: skip


def _entry(name: str, size: int) -> bytes:
    """The header of a member; times and owners are 0, so that the same program gives the same file."""
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{size:<10}`\n".encode()


def open_names(image: bytes) -> set[str]:
    """The names that an object needs from elsewhere; for objects that are no ELF files, nothing is known."""
    if image[:6] != b"\x7fELF\x02\x01":
        return set()
    (sections,) = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, sections + i * size) for i in range(count)]
    found: set[str] = set()
    for header in headers:
        if header[1] == _SYMBOLS:
            start, strings = header[4], headers[header[6]][4]
            for at in range(start, start + header[5], header[9]):
                name, _, _, section = struct.unpack_from("<IBBH", image, at)
                if name and not section:
                    place = strings + name
                    found.add(image[place : image.index(b"\0", place)].decode())
    return found - {"_GLOBAL_OFFSET_TABLE_"}


_SYMBOLS = 2  # the type of an ELF section that holds symbols
