"""C functions of NumPy's own for compiled code, from the tables that NumPy offers to extension modules.

`PLACES` has those of its interface that are called by their own names. `numpy.sort.f64(keys, n, 0)` sorts numbers in
place, and `numpy.argsort.f64(keys, places, n, 0)` brings places, at first 0 to n - 1, into the order of their keys; NaN
is the largest, and equal ones come in any order. NumPy chooses them for the processor (AVX-512, AVX2). They need no
interpreter, and are offered for the types for which they do in a trial what they should.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Any

import numpy as np

# places in NumPy's table, the same since NumPy 1.7
PLACES = {
    "PyArray_Scalar": 60, "PyArray_NewCopy": 85, "PyArray_NewFromDescr": 94, "PyArray_EquivTypes": 182,
    "PyArray_SetBaseObject": 282,
}  # fmt: skip
_ARRAY_FUNCTIONS = 365  # the place of `_PyDataType_GetArrFuncs` in NumPy's table, the same since NumPy 2.0
_SORT, _ARGSORT = 33, 36  # places in what it gives: functions for 21 casts and 12 others stand before them
_TYPES = {
    "f64": "f8", "f32": "f4", "bool": "?", **{f"{s}{8 * n}": f"{s}{n}" for s in "iu" for n in (1, 2, 4, 8)},
}  # fmt: skip


def address(name: str) -> int:
    """The address of one of `PLACES`, for compiled code."""
    return _at(PLACES[name])


def _at(place: int) -> int:
    """The address of the function at a place of NumPy's table."""
    return (ctypes.c_void_p * (_ARRAY_FUNCTIONS + 1)).from_address(_table())[place] or 0


@functools.cache
def _table() -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(importlib.import_module("numpy._core._multiarray_umath")._ARRAY_API, None)


def sorts(type_: str) -> bool:
    """Whether numbers of a type can be sorted by `numpy.sort` and `numpy.argsort`."""
    return 0 not in _sorting(type_)


@functools.cache
def sorts_short_keys() -> bool:
    """Whether `numpy.sort` of integers of two bytes is vector code, which takes half the time of counting them."""
    features = getattr(importlib.import_module("numpy._core._multiarray_umath"), "__cpu_features__", {})
    return bool(features.get("AVX512_ICL")) and sorts("i16") and sorts("u16")


@functools.cache
def _sorting(type_: str) -> tuple[int, int]:
    """The addresses of both functions; 0 for what does not sort as it should."""
    if type_ not in _TYPES or ctypes.sizeof(ctypes.c_void_p) != 8 or not hasattr(ctypes, "pythonapi"):
        return 0, 0
    dtype = np.dtype(_TYPES[type_])
    find = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(_at(_ARRAY_FUNCTIONS))
    offered = (ctypes.c_void_p * (_ARGSORT + 1)).from_address(find(dtype))
    found = offered[_SORT] or 0, offered[_ARGSORT] or 0
    return found if 0 not in found and _does_sort(*found, dtype) else (0, 0)


def _does_sort(sort: int, argsort: int, dtype: np.dtype[Any]) -> bool:
    keys = (np.arange(200) * 37 % 101).astype(dtype)
    if dtype.kind == "f":
        keys[::50] = np.nan
    wanted, places, number = np.sort(keys), np.arange(len(keys)), ctypes.c_int64(len(keys))
    address, status = ctypes.c_void_p, ctypes.c_int
    by_place = ctypes.CFUNCTYPE(status, address, address, ctypes.c_int64, address)(argsort)
    if by_place(keys.ctypes.data, places.ctypes.data, number, None):
        return False
    in_order = keys[places]
    if ctypes.CFUNCTYPE(status, address, ctypes.c_int64, address)(sort)(keys.ctypes.data, number, None):
        return False
    return np.array_equal(in_order, wanted, dtype.kind == "f") and np.array_equal(keys, wanted, dtype.kind == "f")


def sorting(name: str) -> int:
    """The address of the function `numpy.NAME`, for compiled code; 0 where it is not offered."""
    what, _, type_ = name.partition(".")
    return _sorting(type_)[("sort", "argsort").index(what)]
