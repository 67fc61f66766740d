"""The table of NumPy's names: what `wengert.numpy` does with each that takes or gives arrays."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np

from .writing import literal

RECORDED, CONSTANT, REFUSED, OTHER = KINDS = (
    "recorded: gradients flow through",
    "constant by nature: counts, positions, truths, bits and what is made of extents alone; values are NumPy's",
    "NumPy's own, which refuses a followed tensor and says what to use",
    "takes no arrays of floats: dtypes, settings, files, text, dates, modules",
)
MODULES = ("", "linalg", "fft")
_CONSTANT = """
    all allclose any argmax argmin argpartition argsort argwhere array_equal array_equiv bitwise_and bitwise_count
    bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor count_nonzero digitize
    einsum_path empty empty_like equal eye flatnonzero gcd greater greater_equal identity in1d invert isclose iscomplex
    isfinite isin isinf isnan isneginf isposinf isreal lcm left_shift less less_equal lexsort logical_and logical_not
    logical_or logical_xor nanargmax nanargmin nonzero not_equal ones ones_like packbits ravel_multi_index right_shift
    searchsorted signbit spacing tri unpackbits unravel_index zeros zeros_like linalg.matrix_rank diag_indices_from
    tril_indices_from triu_indices_from iscomplexobj isrealobj isfortran isscalar ndim shape size may_share_memory
    shares_memory result_type common_type min_scalar_type can_cast array2string array_repr array_str
"""
_REFUSED = """
    asmatrix matrix nested_iters bool bool_ byte short int_ intc intp int8 int16 int32 int64 long longlong ubyte ushort
    uint uintc uintp uint8 uint16 uint32 uint64 ulong ulonglong longdouble clongdouble float128 complex256 save savetxt
    savez savez_compressed
"""
_ABSTRACT = (  # classes for `isinstance`, which makes nothing
    "complexfloating", "floating", "generic", "inexact", "integer", "ndarray", "number", "signedinteger",
    "unsignedinteger",
)  # fmt: skip
_ALSO_RECORDED = ("r_", "c_", "row_stack")  # NumPy's own code, or objects that are indexed


def _ours(module: str) -> Any:
    return importlib.import_module(f"wengert.{module}" if module else "wengert.numpy")


def _theirs(module: str) -> Any:
    return importlib.import_module(f"numpy.{module}") if module else np


def names() -> list[str]:
    """The public names of NumPy's main namespace, and of `linalg` and `fft`."""
    found = []
    for module in MODULES:
        for name in dir(_theirs(module)):
            if not name.startswith("_") and not (module and isinstance(getattr(_theirs(module), name), ModuleType)):
                found.append(f"{module}.{name}" if module else name)
    return found


def kind_of(path: str) -> str:
    """What `wengert.numpy` does with a name of NumPy's."""
    if path in _CONSTANT.split():
        return CONSTANT
    if path in _REFUSED.split():
        return REFUSED
    if path in _ALSO_RECORDED:
        return RECORDED
    module, _, name = path.rpartition(".")
    theirs, ours = getattr(_theirs(module), name), getattr(_ours(module), name, None)
    if not callable(theirs) or ours is None or ours is theirs:
        return OTHER
    return OTHER if path in _ABSTRACT else RECORDED


def numpy_table() -> str:
    """The names of each kind."""
    parts = []
    for kind in KINDS:
        found = [name for name in names() if kind_of(name) == kind]
        parts.append(f"**{kind[:1].upper()}{kind[1:]}** ({len(found)}): {', '.join(map(literal, found))}\n")
    return "\n".join(parts)
