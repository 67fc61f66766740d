"""Arrays that end, or begin, at a page that nobody may touch: an access outside of them kills the process at once.

A program that reads one element too far reads, as a rule, some other memory of the process, and nothing is seen. Beside
a protected page (mmap, mprotect by ctypes) it is a segmentation fault. So what is run between guard pages is run in a
child process, and the child's death is the finding (`tests/torture`).
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import weakref
from typing import Any

import numpy as np

IS_AVAILABLE = sys.platform.startswith("linux") or sys.platform == "darwin"

_PROT_NONE = 0
_READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE


def guarded(array: Any, *, at_end: bool = True, behind: int = 1) -> np.ndarray[Any, Any]:
    """A copy of an array between two protected pages.

    Args:
        array: anything that NumPy makes an array of; the copy is in row-major order.
        at_end: whether the last byte lies before the page behind; otherwise the first lies behind the page before.
        behind: how many pages are protected behind it.
    """
    source = np.ascontiguousarray(array).reshape(np.shape(array))
    copy = guarded_empty(source.shape, source.dtype, at_end=at_end, behind=behind)
    copy[...] = source
    return copy


def guarded_empty(
    shape: tuple[int, ...], dtype: Any, *, at_end: bool = True, behind: int = 1
) -> np.ndarray[Any, Any]:  # fmt: skip
    """An array between two protected pages; its pages go when the array, and all views of it, are gone."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=object)) * dtype.itemsize
    block = GuardedBlock(size, at_end=at_end, behind=behind)
    bytes_ = (ctypes.c_ubyte * size).from_address(block.address)
    weakref.finalize(bytes_, block.free)  # the array below holds it
    return np.frombuffer(bytes_, np.uint8).view(dtype).reshape(shape) if size else np.empty(shape, dtype)


class GuardedBlock:
    """Bytes of their own pages, with a protected page on both sides.

    Attributes:
        address: where the bytes begin.
    """

    def __init__(self, size: int, *, at_end: bool = True, behind: int = 1) -> None:
        page = mmap.PAGESIZE
        room = max(1, -(-size // page)) * page
        self._map: Any = mmap.mmap(-1, room + (1 + behind) * page)
        self._start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self._guards = ((self._start, page), (self._start + page + room, behind * page))
        for guard, length in self._guards:
            _protect(guard, length, _PROT_NONE)
        self.address = self._start + page + (room - size if at_end else 0)

    def free(self) -> None:
        """Gives the pages back."""
        for guard, length in self._guards:
            _protect(guard, length, _READ_WRITE)
        self._map.close()


def _protect(address: int, size: int, access: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), access):
        raise OSError(ctypes.get_errno(), "mprotect failed")
