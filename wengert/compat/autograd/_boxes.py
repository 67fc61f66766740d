"""Converts values to boxes, which are our tensors, for a user's function, and back to plain values for its caller.

Containers are not boxed. A list, tuple or dictionary stays one, with tensors in its numeric places.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import numpy as onp

from ..._core.constant import renamed
from ..._core.dtypes import is_inexact, is_supported
from ..._core.engine import ENGINE_OF, ENGINES, ndarray_of
from ..._core.recorder import Recorder
from ..._core.state import STATE, next_serial, pausing, raise_our_own
from ..._core.tensor import Tensor, Value, held_now
from ..._prims.structural import alias, convert
from ...ops.promotion import as_tensor

_NUMBERS = (int, float, complex, onp.number, onp.ndarray)
# packages enter kinds of arrays of their own here: a function that makes a box of one, or refuses to
TYPE_MAPPINGS: dict[type, Callable[..., Any]] = {}
CONTAINERS = (list, tuple, dict)


def rebuilt(container: Any, items: Any) -> Any:
    """A container of the same kind with other items."""
    if isinstance(container, dict):
        made = copy.copy(container)  # not every kind of dictionary is made of a dictionary
        made.update(items)
        return made
    return type(container)(*items) if hasattr(container, "_fields") else type(container)(items)


def map_tree(f: Callable[..., Any], tree: object, *others: Any) -> Any:
    """A nested structure with f of each leaf, and of what lies at its place in other structures of the kind."""
    if not isinstance(tree, CONTAINERS):
        return f(tree, *others)
    if type(tree) is tuple and not others:  # arguments, most of which are leaves
        return (*[map_tree(f, part) if isinstance(part, CONTAINERS) else f(part) for part in tree],)
    if isinstance(tree, dict):
        found = {key: map_tree(f, value, *(o[key] for o in others)) for key, value in tree.items()}
        return found if type(tree) is dict else rebuilt(tree, found)
    return rebuilt(tree, [map_tree(f, *group) for group in zip(tree, *others, strict=True)])


def leaves(tree: object) -> list[Any]:
    """The leaves of a nested structure, in order."""
    if not isinstance(tree, CONTAINERS):
        return [tree]
    return [leaf for part in (tree.values() if isinstance(tree, dict) else tree) for leaf in leaves(part)]


def source(value: Any) -> Tensor:
    """A number or an array as a fresh tensor to follow; whole numbers count as floats."""
    kind = type(value)
    if kind is onp.ndarray and value.dtype.char in "dfFD":
        return Tensor(value, next_serial())
    if kind is Tensor:
        if value._data.dtype.kind not in "fc":
            return source(getval(value))
        return renamed(value) if STATE.recorders else Tensor(value._data, next_serial(), None, value._weak)
    if kind is float or kind is int or kind is complex:  # weak, as Python's numbers are
        return Tensor(onp.array(value, onp.complex128 if kind is complex else onp.float64), next_serial(), None, True)
    if kind in TYPE_MAPPINGS:
        value = onp.asarray(TYPE_MAPPINGS[kind](value, 0, None)._data)
    if isinstance(value, _NUMBERS):
        array = onp.asarray(value)
        if array.dtype.kind in "biuO" or not is_supported(array.dtype):  # the long ones: no engine computes with them
            is_complex = any(map(onp.iscomplexobj, array.flat if array.dtype.kind == "O" else [array]))
            array = array.astype(onp.complex128 if is_complex else onp.float64)
        return Tensor(array, next_serial())
    if hasattr(kind, "__array__") and not hasattr(kind, "__wengert_tensor__"):
        return source(onp.asarray(value))
    raise TypeError(f"Can't differentiate w.r.t. type {kind}")


def plain(value: Any) -> Any:
    """A tensor as the caller's own array or number, unless somebody outside follows it; anything else as it is."""
    if type(value) is not Tensor:
        if not isinstance(value, Tensor):
            return value
        value = held_now(value)  # what it is written to later is no concern of the caller's
    data = value._data
    if STATE.recorders and value.is_followed:
        return value
    if type(data) is not onp.ndarray:
        if type(data) is onp.float64:
            return data
        if type(data) is Value:
            return value
        engine = ENGINE_OF[type(data)]
        if engine is not ENGINES["numpy"]:
            return engine.leave(data)
        data = ndarray_of(data)  # a number, or a memory that was written to
    if not data.shape:
        return data[()]
    return data if data.flags.writeable else data.copy()


def plain_tree(tree: object) -> Any:
    """A structure with arrays in place of tensors that nobody follows."""
    return map_tree(plain, tree)


def getval(value: object) -> Any:
    """The numbers of a box, also of those in a container; anything else as it is."""
    if isinstance(value, Tensor):
        data = value._data
        if type(data) is not onp.ndarray:  # what is traced has no numbers, and says so
            data = onp.asarray(value, value.dtype) if type(data) is Value else ndarray_of(data)
        return data if data.shape else data[()]
    if isinstance(value, CONTAINERS) and any(isinstance(leaf, Tensor) for leaf in leaves(value)):
        return map_tree(getval, value)
    return value


class following(pausing):
    """Context manager: a recorder is open beside those that are; a lost gradient is told in our words."""

    __slots__ = ()

    def __init__(self, recorder: Recorder) -> None:
        self._recorders = (*STATE.recorders, recorder)

    def __exit__(self, kind: object = None, error: BaseException | None = None, traceback: object = None) -> None:
        STATE.recorders = self._before
        if error is not None:
            raise_our_own(error)


class _Rules(threading.local):
    """In a primitive's own rule: the keys of tensors that were taken out of a box of the run that is swept."""

    taken: set[int] | None = None


RULES = _Rules()


def taking(pull: Callable[[Any], Any], ct: object) -> Any:
    """What a primitive's rule makes of a cotangent where boxes may be taken out of what it holds."""
    before, RULES.taken = RULES.taken, set()
    try:
        return pull(ct)
    finally:
        RULES.taken = before


def value_below(box: Tensor) -> Any:
    """What is in a box: the numbers, or where runs are nested the box of the next run out.

    A primitive's rule may hold boxes of the run that is swept, which is open no more: those are the first to come off.
    """
    followers = [recorder for recorder in STATE.recorders if recorder.tracks(box._key)]
    if followers and RULES.taken is not None and box._key not in RULES.taken:
        found = alias(box)
        RULES.taken.add(found._key)
        return found
    if len(followers) < 2:
        return getval(box)
    with pausing((*[recorder for recorder in STATE.recorders if recorder is not followers[-1]],)):
        return alias(box)


def isbox(value: object) -> bool:
    """Whether somebody follows a value."""
    return isinstance(value, Tensor) and value.is_followed


def boxes_in(value: Any) -> list[Tensor]:
    """The tensors in an argument that somebody follows, in order."""
    if isinstance(value, CONTAINERS):
        return [leaf for leaf in leaves(value) if isbox(leaf)]
    return [value] if isbox(value) else []


def fitted(value: object, like: Any) -> Tensor:
    """A cotangent or tangent from a user's rule as a tensor of the shape and dtype of what it belongs to."""
    found, data = as_tensor(value), like._data
    if found._data.shape == data.shape and found._data.dtype is data.dtype:
        return found
    if found.dtype != like.dtype:
        if found.dtype.kind == "c" and like.dtype.kind != "c":
            found = found.real
        found = convert(found, dtype=like.dtype)
    if found.shape == like.shape:
        return found
    if found.size == like.size:
        return found.reshape(like.shape)
    if (spare := len(found.shape) - len(like.shape)) <= 0:
        return found + as_tensor(onp.zeros(like.shape, like.dtype))
    return found.sum(axis=tuple(range(spare))).reshape(like.shape)


def conjugate(value: Any) -> Any:
    """The conjugate of what is complex: autograd's convention for cotangents is the conjugate of ours."""
    return value.conj() if value._data.dtype.kind == "c" else value


def is_differentiable(value: object) -> bool:
    """Whether a leaf is a floating-point number or an array of them."""
    return isinstance(value, (float, complex)) or is_inexact(getattr(value, "dtype", onp.dtype(bool)))
