"""Classes that stand for `float`, `complex`, `type` and NumPy's scalar types: a call of one keeps a tensor.

Everything but the call is the real class's: attributes, comparison, hashing, `isinstance`, the dtype that NumPy reads
of it. Classes derived from one are derived from the real one, since adopted code's `__build_class__` says so.
"""

from __future__ import annotations

import builtins
import copyreg
from typing import Any

import numpy as np

from .. import ops
from .._core.derived import pickles_by_value
from .._core.tensor import Tensor, tensor_in
from ..numpy._kinds import kept, number_in, standing_type
from ..numpy._objects import Objects
from ._arrays import Array

CASTS: dict[type, type] = {}  # of a real class, the one here that stands for it


def real_of(kind: object) -> Any:
    """The class that a class here stands for; anything else is itself."""
    return type.__getattribute__(kind, "_stands_for") if type(kind) is Standing else kind


class Standing(type):
    """The metaclass: the class behaves as the one that it stands for, calls aside."""

    def __getattribute__(cls, name: str) -> Any:
        real = real_of(cls)
        if name in ("__module__", "__qualname__") and pickles_by_value():  # it would send the real class's parts
            return __name__ if name == "__module__" else f"of_{real.__name__}"
        return np.dtype(real) if name == "dtype" and real not in (type, np.ndarray) else getattr(real, name)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        real = real_of(cls)
        if real is type:
            return _type_of(*args) if len(args) == 1 else real(args[0], without_casts(args[1]), *args[2:], **kwargs)
        if len(args) == 1 and not kwargs:
            x = number_in(args[0], real)
            if x is not None:
                return kept(x, real)
        elif real is complex and len(args) == 2 and any(tensor_in(part) is not None for part in args):
            return ops.astype(args[0] + 1j * args[1], np.complex128)
        return real(*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, real_of(cls)) or (
            isinstance(instance, Tensor) and issubclass(standing_type(instance), real_of(cls))
        )

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(real_of(subclass), real_of(cls))

    def __eq__(cls, other: object) -> bool:
        return real_of(cls) == real_of(other)  # a dtype among them, which equals its scalar type

    def __hash__(cls) -> int:
        return hash(real_of(cls))

    def __repr__(cls) -> str:
        return repr(real_of(cls))

    def __or__(cls, other: object) -> Any:
        return real_of(cls) | other

    def __ror__(cls, other: object) -> Any:
        return other | real_of(cls)


def _type_of(x: Any) -> Any:
    kind = builtins.type(x)
    if issubclass(kind, Tensor):
        kind = np.ndarray if x.ndim else float if x.dtype == np.float64 else x.dtype.type
    elif issubclass(kind, (Array, Objects)):
        kind = np.ndarray
    return CASTS.get(kind, kind)


def without_casts(bases: tuple[Any, ...]) -> tuple[Any, ...]:
    """The bases of a class, with real classes for those here."""
    return tuple(map(real_of, bases))


def _standing_for(real: type) -> type:
    cls = type.__new__(Standing, real.__name__, (), {})
    type.__setattr__(cls, "_stands_for", real)
    CASTS[real] = cls
    return cls


def _standing(real: type) -> type:
    return CASTS[real]


FLOAT, COMPLEX, TYPE = map(_standing_for, (float, complex, type))
SCALARS = {real: _standing_for(real) for real in (np.float16, np.float32, np.float64, np.complex64, np.complex128)}
globals().update({f"of_{real.__name__}": cls for real, cls in CASTS.items()})  # where cloudpickle finds them
copyreg.pickle(Standing, lambda cls: (_standing, (real_of(cls),)))
