"""BLAS, LAPACK and special functions for compiled code: those that SciPy offers to Cython, by name.

Compiled code calls `blas.dgemm`, `lapack.dpotrf`, `special.gammaln`. BLAS and LAPACK take what Fortran takes: addresses
of everything, `i32` integers, matrices by columns, no lengths of strings. A special function takes doubles and an
`i32` 0 behind them. SciPy is loaded when a module that calls one of them is linked.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.machinery
import os
import re
import sys
from typing import Any

from ..run import llvm_memory
from .symbols import Family

_SPECIAL = "scipy.special.cython_special"
_BLAS, _BLAS_THREAD = 96 << 20, 48 << 20  # bytes that it takes, at most, and for each of its threads
_LIGHT = ("scipy.linalg",)  # packages whose extension modules need nothing of the package itself


@functools.cache
def _capsules(name: str) -> dict[str, Any]:
    if name not in sys.modules:
        cores = min(os.cpu_count() or 1, 64)
        # OpenBLAS ends the process where it gets no memory, or tries again for ever
        llvm_memory.require("to load SciPy's linear algebra", _BLAS + cores * _BLAS_THREAD, _BLAS)
    for find in (_alone, importlib.import_module):
        try:
            return find(name).__pyx_capi__
        except Exception:  # in the end: no SciPy, or one that does not load; its functions are not there
            continue
    return {}


def _alone(name: str) -> Any:
    """A module of SciPy's for BLAS or LAPACK without the package that it is in, which takes ten times as long to load.

    It is not left among the modules, so that a later import of the package goes its usual way; that one meets the same
    module, for Cython makes each once. While it loads, imports of it and of the package in other threads wait: locks
    are taken in the order in which an import of the package takes them, else two threads could wait for each other.

    Raises:
        Exception: it is not to be had in this way: the package is there or being loaded, say.
    """
    package, _, last = name.rpartition(".")
    if package not in _LIGHT or package in sys.modules:
        raise ImportError(name)
    places = importlib.import_module("scipy").__path__
    folders = [os.path.join(place, *package.split(".")[1:]) for place in places]
    spec = importlib.machinery.PathFinder.find_spec(name, folders)
    # what `import` itself calls, with its locks; the public way has none
    bootstrap: Any = importlib._bootstrap  # pyright: ignore[reportAttributeAccessIssue]
    with bootstrap._ModuleLockManager(package):
        if package in sys.modules:
            raise ImportError(name)
        module = bootstrap._load(spec)
        if package in sys.modules:  # the module has imported it
            setattr(sys.modules[package], last, module)
        else:
            sys.modules.pop(name, None)
    return module


def _pointer(capsule: object) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, _signature(capsule)) or 0


def _signature(capsule: object) -> bytes:
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


FAMILIES = {
    "blas": Family(functools.partial(_function, "scipy.linalg.cython_blas")),
    "lapack": Family(functools.partial(_function, "scipy.linalg.cython_lapack")),
    "special": Family(_special),
}
