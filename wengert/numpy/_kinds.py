"""NumPy's classes of arrays and numbers as `wengert.numpy` has them: `isinstance` knows tensors, calls keep them.

`isinstance(t, np.ndarray)` holds for a tensor with axes, `isinstance(t, np.float64)` for one of no axes and that
dtype, and `np.float64(t)` is a tensor still. Each class here is derived from NumPy's own, so that it serves as a dtype
and in `issubclass`; a call without tensors makes NumPy's own arrays and numbers, never one of a class here.
"""

from __future__ import annotations

import copyreg
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ops
from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor, tensor_in
from .._core.user_line import at_user_line
from ..ops.promotion import as_tensor
from ._objects import tensor_among


def kept(x: Tensor, real: type) -> Tensor:
    """What a number's type makes of a tensor: one number of that type, followed; NumPy's types take arrays, too.

    What comes out is a value of its own: a later write into the tensor does not change it.
    """
    x = x.__copy__()
    if not issubclass(real, np.generic):
        if x.size != 1:
            raise TypeError(at_user_line("only arrays of one element can be converted to Python scalars"))
        x = ops.reshape(x, ())
    dtype = np.dtype(real)
    if x.dtype.kind == "c" and dtype.kind == "f" and real is float:
        raise TypeError(at_user_line("float() argument must be a string or a real number, not 'complex'"))
    return x if x.dtype == dtype else ops.astype(x, dtype)


def number_in(x: Any, real: type) -> Tensor | None:
    """The tensor that a number's type is called on, if it is one; NumPy's types take lists and objects with tensors."""
    held = tensor_in(x)
    if held is None and issubclass(real, np.generic) and isinstance(x, (list, tuple, np.ndarray)) and tensor_among(x):
        return as_tensor(x, real.__name__)
    return held


def standing_type(x: Tensor) -> type:
    """The type that the value of a tensor has in NumPy: a scalar's where it has no axes."""
    return np.ndarray if x.ndim else x.dtype.type


def _real_of(cls: type) -> type:
    """NumPy's own for a class here; any other class is itself."""
    return cls.__bases__[0] if type(cls) is Kind else cls


class Kind(type):
    """The metaclass. A class that users derive from one here is derived from NumPy's own."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: object) -> type:
        real = (*[_real_of(base) for base in bases],)
        if any(a is not b for a, b in zip(real, bases, strict=True)):
            return type(name, real, body, **options)
        return super().__new__(cls, name, bases, body, **options)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        real = _real_of(cls)
        x = number_in(args[0], real) if len(args) == 1 and not kwargs and real in _CASTS else None
        return real(*args, **kwargs) if x is None else kept(x, real)

    def __instancecheck__(cls, instance: ArrayLike) -> bool:
        if isinstance(instance, _real_of(cls)):
            return True
        x = tensor_in(instance)
        return x is not None and issubclass(standing_type(x), _real_of(cls))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(_real_of(subclass), _real_of(cls))

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is _real_of(cls)

    def __hash__(cls) -> int:
        return hash(_real_of(cls))

    def __repr__(cls) -> str:
        return repr(_real_of(cls))


_CASTS = frozenset({np.float16, np.float32, np.float64, np.complex64, np.complex128})
_NAMES = (
    "complex64", "complex128", "complexfloating", "float16", "float32", "float64", "floating", "generic", "inexact",
    "integer", "ndarray", "number", "signedinteger", "unsignedinteger",
)  # fmt: skip


def _named(name: str) -> Any:
    return globals()[name]


def _standing_for(real: type) -> type:
    body = {"__module__": real.__module__, "__doc__": real.__doc__, "__qualname__": real.__qualname__}
    return Kind(real.__name__, (real,), body)


copyreg.pickle(Kind, lambda cls: (_named, (cls.__name__,)))

if TYPE_CHECKING:
    from numpy import (
        complex64,
        complex128,
        complexfloating,
        float16,
        float32,
        float64,
        floating,
        generic,
        inexact,
        integer,
        number,
        signedinteger,
        unsignedinteger,
    )  # fmt: skip
    from numpy import ndarray as ndarray
else:
    globals().update({name: _standing_for(getattr(np, name)) for name in _NAMES})
half, single, double, csingle, cdouble = float16, float32, float64, complex64, complex128

__all__ = [
    "cdouble", "complex128", "complex64", "complexfloating", "csingle", "double", "float16", "float32", "float64",
    "floating", "generic", "half", "inexact", "integer", "number", "signedinteger", "single",
    "unsignedinteger",
]  # fmt: skip
