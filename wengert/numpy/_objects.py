"""Arrays of Python objects that code makes here: NumPy's, but casts to numbers and statistics of tensors are recorded.

NumPy hands the elements of an array of objects to their own operators, which record. What it would cast (`astype`,
`mean`, a meeting with a tensor) would ask each element for a plain number. So the arrays that are made here are of a
class that says what then comes out: one tensor, where every element is a number or a tensor without axes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.argument_types import DTypeLike
from .._core.tensor import tensor_in
from ..ops.promotion import as_tensor, cells_of, converted, is_scalars

OBJECTS = (object, "O", "object", np.object_)
_VIEW: Any = np.ndarray.view
_NUMBERS = "biufc"  # NumPy's letters of the dtypes that tensors have


class Objects(np.ndarray[Any, Any]):
    """An array of objects. Its elements, and what NumPy's functions find without axes, are the objects themselves."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        outs = kwargs.get("out")
        if any(tensor_in(x) is not None for x in inputs):
            is_one = outs is None and all(_is_one_tensor(x) for x in inputs if isinstance(x, Objects))
            inputs = (*map(_as_numbers if is_one else _as_objects, inputs),)
        found = getattr(ufunc, method)(*_bare(inputs), **_bare(kwargs))
        if outs is not None:
            return outs[0] if len(outs) == 1 else outs
        return objects_in(found)

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return objects_in(func(*_bare(args), **_bare(kwargs)))

    def astype(self, dtype: DTypeLike, *args: Any, **kwargs: Any) -> Any:
        """The elements as numbers: one tensor, where tensors are among them."""
        if np.dtype(dtype).kind in _NUMBERS and tensor_among(self):
            return converted(_plain(self), np.dtype(dtype), "astype")
        return objects_in(_plain(self).astype(dtype, *args, **kwargs))

    def __repr__(self) -> str:
        return repr(_plain(self))

    def __reduce__(self) -> Any:
        return _plain(self).__reduce__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _plain(self).__reduce_ex__(protocol)


def _of_numbers(name: str) -> Callable[..., Any]:
    """A method for which NumPy would cast or compare the elements: the tensor's, where they are one."""

    def method(self: Objects, *args: Any, **kwargs: Any) -> Any:
        held = _as_numbers(self) if _is_one_tensor(self) and tensor_among(self) else _plain(self)
        return objects_in(getattr(held, name)(*args, **kwargs))

    method.__name__ = name
    return method


for _name in ("all", "any", "argmax", "argmin", "argsort", "clip", "max", "mean", "min", "round", "std", "var"):
    setattr(Objects, _name, _of_numbers(_name))


def _of_objects(name: str) -> Callable[..., Any]:
    """A method that NumPy writes in C, where an element found is to be itself, not an array of no axes."""

    def method(self: Objects, *args: Any, **kwargs: Any) -> Any:
        return objects_in(getattr(_plain(self), name)(*_bare(args), **_bare(kwargs)))

    method.__name__ = name
    return method


for _name in ("choose", "cumprod", "cumsum", "dot", "prod", "sum", "take", "trace"):
    setattr(Objects, _name, _of_objects(_name))


def objects_in(found: Any) -> Any:
    """What NumPy gave, with arrays of objects as those here."""
    if type(found) is np.ndarray:
        return _VIEW(found, Objects) if found.dtype.char == "O" else found
    if type(found) in (list, tuple):
        return type(found)(map(objects_in, found))
    return found


def objects_of(data: Any) -> Any:
    """Nested lists as an array of what is in them, with as many axes as all lists have; tensors are not opened."""
    shape: tuple[int, ...] = ()
    if isinstance(data, np.ndarray):
        return objects_in(data)
    level = [data]
    while level and all(isinstance(part, (list, tuple)) for part in level) and len({*map(len, level)}) == 1:
        shape = (*shape, len(level[0]))
        level = [*itertools.chain.from_iterable(level)]
    made = np.empty(len(level), object)
    for place, part in enumerate(level):
        made[place] = part
    return objects_in(made.reshape(shape))


def tensor_among(tree: Any) -> bool:
    """Whether a tensor is among nested lists and tuples, or in an array of objects."""
    if isinstance(tree, (list, tuple)):
        return any(map(tensor_among, tree))
    if isinstance(tree, np.ndarray):
        return tree.dtype == np.object_ and any(map(tensor_among, tree.ravel().tolist()))
    return tensor_in(tree) is not None


def _is_one_tensor(x: Objects) -> bool:
    return is_scalars(_plain(x))


def _as_numbers(x: Any) -> Any:
    return as_tensor(_plain(x), "astype") if isinstance(x, Objects) else x


def _as_objects(x: Any) -> Any:
    """A tensor as the array of its elements; anything else itself."""
    held = tensor_in(x)
    return x if held is None else cells_of(held)


def _bare(tree: Any) -> Any:
    kind = type(tree)
    if kind in (list, tuple):
        return kind(map(_bare, tree))
    if kind is dict:
        return {key: _bare(value) for key, value in tree.items()}
    return _plain(tree) if kind is Objects else tree


def _plain(x: Objects) -> np.ndarray[Any, Any]:
    return _VIEW(x, np.ndarray)


__all__ = ["OBJECTS", "Objects", "objects_in", "objects_of", "tensor_among"]
