"""Exported objects for other processors and systems: made here, and what they need from elsewhere is looked up in them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert._engines.native.engine import has_llvm
from wengert._engines.native.export.linking import open_names

pytestmark = pytest.mark.skipif(
    not has_llvm(), reason="what is exported is compiled by llvmlite, which is not installed"
)

# the triple, how its objects begin, and what its libraries call C's names
TARGETS = {
    "x86_64-unknown-linux-gnu": (b"\x7fELF", ""),
    "aarch64-unknown-linux-gnu": (b"\x7fELF", ""),
    "x86_64-apple-darwin": (b"\xcf\xfa\xed\xfe\x07\0\0\x01", "_"),
    "arm64-apple-darwin": (b"\xcf\xfa\xed\xfe\x0c\0\0\x01", "_"),
    "x86_64-pc-windows-msvc": (b"\x64\x86", ""),
    "aarch64-pc-windows-msvc": (b"\x64\xaa", ""),
}
# of C's own library; the compilers of each system call some of these of themselves
C_LIBRARY = {
    "malloc",
    "realloc",
    "free",
    "memcpy",
    "memset",
    "memmove",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sin",
    "cos",
    "erfc",
}
C_LIBRARY |= {"fma", "rint", "floor", "tgamma", "lgamma", "lgamma_r", "pow"}


def _posterior(a: Any, x: Any) -> Any:
    def step(c: Any, y: Any) -> Any:
        return wnp.sin(c) * 0.5 + y, c**2

    kept = wg.scan(step, a, x)[1]
    return (
        wnp.sum(wg.special.gammaln(kept + a)) + wnp.sum(wg.special.log_ndtr(wnp.sort(x)) * kept) + wg.special.gamma(a)
    )


def needs(image: bytes) -> set[str]:
    """The names that an object needs, by the form of each system."""
    if image[:4] == b"\x7fELF":
        return open_names(image)
    return _of_apple(image) if image[:4] == b"\xcf\xfa\xed\xfe" else _of_windows(image)


def _text(image: bytes, start: int) -> str:
    return image[start : image.index(b"\0", start)].decode()


def _of_apple(image: bytes) -> set[str]:
    count, at = struct.unpack_from("<I", image, 16)[0], 32
    for _ in range(count):
        command, size = struct.unpack_from("<II", image, at)
        if command == 2:  # the table of symbols
            start, number, strings, _ = struct.unpack_from("<IIII", image, at + 8)
            symbols = [struct.unpack_from("<IBBHQ", image, start + 16 * i) for i in range(number)]
            return {_text(image, strings + s[0]) for s in symbols if s[1] & 0x0F == 1}
        at += size
    return set()


def _of_windows(image: bytes) -> set[str]:
    start, number = struct.unpack_from("<II", image, 8)
    strings, at, found = start + 18 * number, 0, set[str]()
    while at < number:
        name, _, section, _, kind, more = struct.unpack_from("<8sIhHBB", image, start + 18 * at)
        if section == 0 and kind == 2:
            long = struct.unpack_from("<II", name)
            found.add(_text(image, strings + long[1]) if long[0] == 0 else name.rstrip(b"\0").decode())
        at += 1 + more
    return found - {"_fltused"}  # which says that there are floats


@pytest.mark.parametrize("triple", TARGETS)
def test_objects_need_the_c_library_only(triple: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    monkeypatch.setattr(binding, "get_process_triple", lambda: triple)
    fn = wg.function(wg.value_and_grad(_posterior, argnums=(0, 1)), name="posterior")
    fn.export(tmp_path / "p.o", 0.7, np.linspace(0, 1, 9))
    start, mark = TARGETS[triple]
    image = (tmp_path / "p.o").read_bytes()
    assert image.startswith(start)
    assert needs(image) <= {mark + name for name in C_LIBRARY} | {"__chkstk"}
    log_gamma = "lgamma" if "windows" in triple else "lgamma_r"
    assert {mark + name for name in ("log", "erfc", "tgamma", log_gamma)} <= needs(image)
