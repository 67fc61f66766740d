"""BLAS, LAPACK and special functions for compiled code: those that SciPy offers to Cython, by name.

Compiled code calls `blas.dgemm`, `lapack.dpotrf`, `special.gammaln`. BLAS and LAPACK take what Fortran takes: addresses
of everything, `i32` integers, matrices by columns, no lengths of strings. A special function takes doubles and an
`i32` 0 behind them. SciPy is loaded when a module that calls one of them is linked.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import re
from collections.abc import Callable
from typing import Any

from . import symbols

_SPECIAL = "scipy.special.cython_special"


def _capsules(module: str) -> dict[str, Any]:
    try:
        return importlib.import_module(module).__pyx_capi__
    except ImportError:  # no SciPy: its functions are not there
        return {}


def _pointer(capsule: Any) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, _signature(capsule)) or 0


def _signature(capsule: Any) -> bytes:
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule)


def _function(module: str, name: str) -> int:
    capsule = _capsules(module).get(name)
    return 0 if capsule is None else _pointer(capsule)


_REAL = re.compile(rb"double \((double, )+int __pyx_skip_dispatch\)")


def _special(name: str) -> int:
    """A special function of doubles: the one of its name, or the variant for doubles where there are several."""
    return _pointer(found) if (found := _special_capsule(name)) is not None else 0


@functools.cache
def _special_capsule(name: str) -> Any:
    capsules = _capsules(_SPECIAL)
    for key in (name, f"__pyx_fuse_0{name}", f"__pyx_fuse_1{name}"):
        if key in capsules and _REAL.fullmatch(_signature(capsules[key])):
            return capsules[key]
    return None


def special_arity(name: str) -> int:
    """How many doubles the special function `special.NAME` takes; 0 if there is none."""
    found = _special_capsule(name)
    return 0 if found is None else _signature(found).count(b"double, ")


_FAMILIES: dict[str, Callable[[str], int]] = {
    "blas": functools.partial(_function, "scipy.linalg.cython_blas"),
    "lapack": functools.partial(_function, "scipy.linalg.cython_lapack"),
    "special": _special,
}

for _family, _find in _FAMILIES.items():
    symbols.register_family(_family, _find)
