"""Fourier transforms for compiled code: the C functions of NumPy's own, which need no interpreter.

`fourier.fft.c128(in, out, lines, n, m, in line, out line, in step, out step)` transforms lines of n numbers to lines of
m; steps, between lines and between the numbers of a line, are in bytes. `ifft` has the opposite sign, `rfft_n_even` and
`rfft_n_odd` go from real numbers to half a spectrum, `irfft` goes back; nothing is scaled, and types are those of the
complex side. They are the loops of `numpy.fft`'s ufuncs, and offered if they do in a trial what they should.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Any, NamedTuple

import numpy as np

from .jit import WRITTEN, library
from .symbols import Family, Table

_COMPLEX = {"c128": "D", "c64": "F"}
_REAL = {"D": "d", "F": "f"}
_NAMES = ("fft", "ifft", "rfft_n_even", "rfft_n_odd", "irfft")
_FUNCTIONS, _DATA = 16, 24  # bytes from the end of an object's head to a ufunc's tables

# A loop takes addresses of arrays, the count of lines and the extents of one, and steps: of lines, then in a line.
_IR = """
declare void @"fourier_loop.NAME.TYPE"(ptr, ptr, ptr, ptr)

define void @wg_fourier(ptr %in, ptr %out, i64 %lines, i64 %n, i64 %m, i64 %in.line, i64 %out.line, i64 %in.step,
                        i64 %out.step) {
  %scale = alloca REAL
  store REAL 1.0, ptr %scale
  %arrays = alloca [3 x ptr]
  store ptr %in, ptr %arrays
  %array.1 = getelementptr ptr, ptr %arrays, i64 1
  store ptr %scale, ptr %array.1
  %array.2 = getelementptr ptr, ptr %arrays, i64 2
  store ptr %out, ptr %array.2
  %extents = alloca [3 x i64]
  store i64 %lines, ptr %extents
  %extent.1 = getelementptr i64, ptr %extents, i64 1
  store i64 %n, ptr %extent.1
  %extent.2 = getelementptr i64, ptr %extents, i64 2
  store i64 %m, ptr %extent.2
  %steps = alloca [5 x i64]
  store i64 %in.line, ptr %steps
  %step.1 = getelementptr i64, ptr %steps, i64 1
  store i64 0, ptr %step.1
  %step.2 = getelementptr i64, ptr %steps, i64 2
  store i64 %out.line, ptr %step.2
  %step.3 = getelementptr i64, ptr %steps, i64 3
  store i64 %in.step, ptr %step.3
  %step.4 = getelementptr i64, ptr %steps, i64 4
  store i64 %out.step, ptr %step.4
  call void @"fourier_loop.NAME.TYPE"(ptr %arrays, ptr %extents, ptr %steps, ptr DATA)
  ret void
}
"""


class _Loop(NamedTuple):
    function: int
    data: int


def transforms(type_: str) -> bool:
    """Whether complex numbers of a type, and real ones of its parts' type, can be transformed by `fourier`."""
    return type_ in _COMPLEX and all(_loop(name, type_) is not None for name in _NAMES)


@functools.cache
def _loop(name: str, type_: str) -> _Loop | None:
    """The loop of a ufunc; None for what does not transform as it should."""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or not hasattr(ctypes, "pythonapi"):
        return None
    try:
        ufunc = getattr(importlib.import_module("numpy.fft._pocketfft_umath"), name)
    except (ImportError, AttributeError):
        return None
    letter = _COMPLEX[type_]
    given, made = (x if x != "C" else letter for x in _kinds(name, letter))
    types = f"{given}{_REAL[letter]}->{made}"
    if not isinstance(ufunc, np.ufunc) or types not in ufunc.types:
        return None
    place, head = ufunc.types.index(types), id(ufunc) + object.__basicsize__
    found = _Loop(_entry(head + _FUNCTIONS, place), _entry(head + _DATA, place))
    return found if found.function and _does_transform(name, found, np.dtype(given), np.dtype(made)) else None


def _entry(pointer: int, place: int) -> int:
    """What stands at a place of a table to which a pointer points; 0 if there is none."""
    table = ctypes.c_void_p.from_address(pointer).value
    return ((ctypes.c_void_p * (place + 1)).from_address(table)[place] or 0) if table else 0


def _kinds(name: str, letter: str) -> tuple[str, str]:
    """The types of what is given and of what is found."""
    real = _REAL[letter]
    return (real, letter) if name.startswith("r") else (letter, real) if name == "irfft" else (letter, letter)


def _does_transform(name: str, loop: _Loop, given: np.dtype[Any], made: np.dtype[Any]) -> bool:
    n = 7 if name == "rfft_n_odd" else 6
    x = np.arange(2 * n).reshape(2, n).astype(given) ** 2
    wanted = _by_numpy(name, x).astype(made)
    out, scale = np.zeros(wanted.shape, made), np.ones((), made.char.lower())
    arrays = (ctypes.c_void_p * 3)(x.ctypes.data, scale.ctypes.data, out.ctypes.data)
    extents = (ctypes.c_int64 * 3)(2, n, wanted.shape[-1])
    steps = (ctypes.c_int64 * 5)(x.strides[0], 0, out.strides[0], x.itemsize, out.itemsize)
    address = ctypes.c_void_p
    ctypes.CFUNCTYPE(None, address, address, address, address)(loop.function)(arrays, extents, steps, loop.data)
    # NumPy itself takes the loop of double precision for single numbers, too
    return bool(np.all(np.abs(out - wanted) <= 4 * np.finfo(made).eps * np.max(np.abs(wanted))))


def _by_numpy(name: str, x: Any) -> Any:
    if name == "irfft":
        return np.fft.irfft(x, 2 * x.shape[1] - 2, norm="forward")
    return np.fft.ifft(x, norm="forward") if name == "ifft" else getattr(np.fft, name.partition("_")[0])(x)


def _part(part: str, name: str) -> int:
    transform, _, type_ = name.partition(".")
    loop = _loop(transform, type_)
    return 0 if loop is None else getattr(loop, part)


# what the functions that are made here call themselves
_LOOPS = Table({}, {
    "fourier_loop": Family(functools.partial(_part, "function")),
    "fourier_data": Family(functools.partial(_part, "data")),
})  # fmt: skip


def address(name: str) -> int:
    """The address of the function `fourier.NAME`, for compiled code."""
    transform, _, type_ = name.partition(".")
    data = f'@"fourier_data.{name}"' if _part("data", name) else "null"
    ir = _IR.replace("NAME", transform).replace("TYPE", type_).replace("REAL", "float" if type_ == "c64" else "double")
    more = "" if data == "null" else f"declare void {data}()\n"
    return library(more + ir.replace("DATA", data), "wg_fourier", effort=WRITTEN, table=_LOOPS).address
