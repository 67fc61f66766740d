"""NumPy's functions as they are (its protocols find ours where a box is among the arguments), and a few that are not.

NumPy's protocols do not look into lists, so functions of one array are given ours where a list holds boxes.
"""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from .... import numpy as recorded
from ...._core.state import STATE
from ...._core.tensor import Tensor
from .._boxes import boxes_in, getval, isbox
from ..scipy._either import either
from ..tracer import notrace_primitive

NAMESPACE: dict[str, Any] = {
    name: value for name, value in vars(onp).items()
    if (name == "__version__" or not name.startswith("_")) and not isinstance(value, types.ModuleType)
}  # fmt: skip


_LISTS = (builtins.list, builtins.tuple)


def of_lists(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function of an array, which is ours where the array is a box or a list of boxes."""

    @functools.wraps(theirs)
    def either(*args: Any, **kwargs: Any) -> Any:
        for arg in args:
            kind = type(arg)
            if kind is Tensor:  # as NumPy would find out, in three calls
                return ours(*args, **kwargs)
            if kind in _LISTS and boxes_in(arg):
                break
        else:
            return theirs(*args, **kwargs)
        return ours(*(recorded.array(a) if type(a) in _LISTS and boxes_in(a) else a for a in args), **kwargs)

    return either


for _name in (
    "sum", "mean", "prod", "max", "min", "std", "var", "amax", "amin", "argmax", "argmin", "argsort", "sort", "cumsum",
    "ravel", "reshape", "transpose", "dot", "tensordot", "diag", "linspace", "append",
):  # fmt: skip
    NAMESPACE[_name] = of_lists(getattr(onp, _name), getattr(recorded, _name))
# of what is real it is zero but depends on it, so that nobody is warned
NAMESPACE["imag"] = of_lists(onp.imag, lambda x: recorded.imag(x if recorded.iscomplexobj(x) else x + 0j))
for _name in ("full", "full_like", "ascontiguousarray", "asanyarray"):  # NumPy's ask not about all their arguments
    NAMESPACE[_name] = either(getattr(onp, _name), getattr(recorded, _name))


def array(A: Any, *args: Any, **kwargs: Any) -> Any:
    """An array of what may hold boxes, those in arrays of objects included."""
    A = _listed(A)
    if not boxes_in(A):
        return onp.array(A, *args, **kwargs)
    dtype = args[0] if args else kwargs.get("dtype")
    if dtype is not None and onp.dtype(dtype).kind == "O":
        return _objects(A)
    return recorded.array(A, dtype)


def _listed(A: Any) -> Any:
    """Arrays of objects that hold boxes as lists."""
    if isinstance(A, onp.ndarray):
        return A.tolist() if A.dtype.kind == "O" and builtins.any(map(isbox, A.flat)) else A
    return type(A)(map(_listed, A)) if type(A) in _LISTS else A


def stack(arrays: Sequence[Any], axis: int = 0, **kwargs: Any) -> Any:
    """Arrays, which may come one by one, beside one another along a new axis."""
    return onp.stack(builtins.list(arrays), axis, **kwargs)


def _objects(items: Any) -> Any:
    found = onp.empty(len(items), object)
    for index, item in enumerate(items):
        found[index] = item
    return found


def asarray(A: Any, *args: Any, **kwargs: Any) -> Any:
    """A box as it is; anything else as an array."""
    if isinstance(A, Tensor) and not args and not kwargs:
        return A
    return array(A, *args, **kwargs) if boxes_in(A) else onp.asarray(A, *args, **kwargs)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """NumPy's where, which also takes its arguments by name, and of one truth gives the choice as it is."""
    if x is None and y is None:
        return onp.where(getval(condition))
    if isinstance(condition, builtins.bool) and not (hasattr(x, "shape") or hasattr(y, "shape")):
        return x if condition else y
    return onp.where(condition, x, y)


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Arrays with D on a diagonal of two axes and zeros beside."""
    if (offset, axis1, axis2) not in ((0, -1, -2), (0, -2, -1), (0, 0, 1)):
        raise NotImplementedError("Can only make matrices with diagonal at axes -1 and -2")
    return D[..., :, None] * onp.eye(D.shape[-1], dtype=D.dtype)


def concatenate_args(axis: int, *args: Any) -> Any:
    """The arguments, joined along an axis."""
    return onp.concatenate(args, axis)


def metadata(A: Any) -> Any:
    """Shape, number of axes, dtype and whether an array is complex."""
    array = A if type(A) is onp.ndarray else onp.asarray(getval(A))
    return array.shape, array.ndim, array.dtype, array.dtype.kind == "c"


def wrap_namespace(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Copies a namespace."""
    new.update({name: value for name, value in old.items() if not name.startswith("__")})


def _constant(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function of a box's numbers, whose result is a constant; in a trace, where there are none, ours."""
    of_numbers = notrace_primitive(theirs)
    return functools.wraps(theirs)(lambda *a, **k: (of_numbers if STATE.builder is None else ours)(*a, **k))


for _name in (
    "zeros_like", "ones_like", "isnan", "isinf", "isfinite", "sign", "argmax", "argmin", "nonzero", "count_nonzero",
    "shape", "ndim", "size", "iscomplexobj", "isrealobj", "result_type", "floor", "ceil", "round", "rint", "all", "any",
    "allclose", "isclose", "array_equal", "argsort", "searchsorted", "greater", "greater_equal", "less", "less_equal",
    "equal", "not_equal", "logical_and", "logical_or", "logical_not", "logical_xor", "empty_like",
):  # fmt: skip
    NAMESPACE[_name] = _constant(getattr(onp, _name), getattr(recorded, _name))


class _Joiner:
    """`r_` and `c_`, which give NumPy no word on what they are given."""

    def __init__(self, theirs: Any, ours: Any) -> None:
        self.theirs, self.ours = theirs, ours

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, builtins.tuple) else (key,)
        return (self.ours if builtins.any(map(boxes_in, items)) else self.theirs)[key]


def _whole(kind: type) -> type:
    """A type of whole numbers, whose call takes the numbers of a box."""
    return type(kind.__name__, (kind,), {"__new__": lambda cls, value=0, *rest: kind(getval(value), *rest)})


for _name in ("int8", "int16", "int32", "int64"):
    NAMESPACE[_name] = _whole(getattr(onp, _name))
NAMESPACE.update(
    array=array, asarray=asarray, stack=stack,
    where=where, make_diagonal=make_diagonal, concatenate_args=concatenate_args,
    metadata=metadata, r_=_Joiner(onp.r_, recorded.r_), c_=_Joiner(onp.c_, recorded.c_),
)  # fmt: skip
for _name, _f in NAMESPACE.items():
    if isinstance(_f, types.FunctionType) and vars(onp).get(_name) is not _f and _f.__module__ != __name__:
        _f.__module__, _f.__qualname__ = __name__, _name  # where pickle finds it
globals().update(NAMESPACE)  # so `any` and its like are NumPy's in this file: Python's own are in `builtins`

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
