"""Remembers which integer tensors were made from plain numbers (a list of ints, or NumPy's scalars).

A bare 3 becomes a float where it is differentiated; an array of integers is refused. A function that is traced, or
called by another one, is given tensors, which do not show that difference. So it is noted here where
arguments are converted (`_compile/{arguments,trace}.py`, `programs/function.py`).
"""

from __future__ import annotations

import weakref
from collections.abc import Container

import numpy as np

from . import dtypes
from .tensor import Tensor

_bare: weakref.WeakValueDictionary[int, Tensor] = weakref.WeakValueDictionary()


def note_bare(tensor: Tensor) -> Tensor:
    """The tensor, from now on one that came as bare integers."""
    _bare[tensor._key] = tensor
    return tensor


def noted_if_bare(tensor: Tensor, given: object) -> Tensor:
    """The tensor, noted where it was given as a list of integers, or as one of NumPy's."""
    is_noted = isinstance(given, (list, np.integer)) and dtypes.is_integer(tensor.dtype)
    return note_bare(tensor) if is_noted else tensor


def bare_keys() -> Container[int]:
    """The keys of such tensors, as they come and go: the table itself, which is asked without a call of Python."""
    return getattr(_bare, "data")  # noqa: B009  # which types do not tell


def is_bare(tensor: Tensor) -> bool:
    """Whether a tensor came as bare integers."""
    return bool(_bare) and tensor._key in _bare
