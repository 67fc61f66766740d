"""Arrays of other libraries that carry more than numbers: labels (pandas, xarray) and units (pint).

Pandas' objects keep plain numbers only, so beside a tensor they are their values, and the result is a tensor. xarray's
arrays and pint's quantities hold whatever computes as NumPy's arrays do: they answer operators themselves and hold a
tensor, and their structure has that tensor as its one leaf. None of the libraries is imported here: who passes such an
object has loaded it.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from .tensor import Tensor
from .user_line import at_user_line

_FAMILIES = {("xarray", "DataArray"): "labels", ("xarray", "Variable"): "labels", ("pint", "PlainQuantity"): "units"}


@functools.cache
def family_of(kind: type[Any]) -> str:
    """ "frame" for pandas' classes, "labels" for xarray's, "units" for pint's quantities, and "" for all others."""
    for base in kind.__mro__:
        root = base.__module__.partition(".")[0]
        if root == "pandas" and hasattr(base, "__pandas_priority__"):
            return "frame"
        if (root, base.__name__) in _FAMILIES:
            return _FAMILIES[root, base.__name__]
    return ""


@functools.cache
def answers_ufuncs(kind: type[Any]) -> bool:
    """Whether NumPy would ask objects of a class what a ufunc does with them: they are no arrays and no tensors."""
    if issubclass(kind, (np.ndarray, np.generic, Tensor)) or hasattr(kind, "__wengert_tensor__"):
        return False
    return getattr(kind, "__array_ufunc__", None) is not None


def values_of(x: Any, what: str) -> Any:
    """The values of a labelled array: a tensor where it holds one, else a NumPy array; None for any other object.

    Raises:
        TypeError: for a quantity, whose unit would be lost.
    """
    family = family_of(type(x))
    if family == "units":
        raise TypeError(at_user_line(f"{what}: {unit_cure(x)}"))
    if not family:
        return None
    held = x.data if family == "labels" else None
    return held if isinstance(held, Tensor) else np.asarray(x)


def unit_cure(x: Any) -> str:
    """What to do about a quantity where numbers are wanted."""
    return (
        f"a quantity in {x.units or 'no unit'} would lose its unit; pass x.m_as(unit), its magnitude in the unit that "
        f"is meant, or call NumPy's own function, which pint answers"
    )


class Wrapping(NamedTuple):
    """What of a labelled array or a quantity is not its values."""

    kind: type[Any]
    parts: tuple[Any, ...]  # dims, coordinates, name and attributes, or the unit

    def around(self, values: Any) -> Any:
        """Such an object of other values; the values themselves where they have other axes (under `vmap`, say)."""
        if family_of(self.kind) == "units":
            return self.kind(values, self.parts[0])
        dims, coordinates, *rest = self.parts
        if np.ndim(values) != len(dims):
            return values
        if coordinates is None:
            return self.kind(dims, values, *rest)
        name, attributes = rest
        return self.kind(values, dict(coordinates), dims, name, attributes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Wrapping) or self.kind is not other.kind or self.parts[0] != other.parts[0]:
            return False
        if family_of(self.kind) == "units" or self.parts[1] is None or other.parts[1] is None:
            return True
        ours, theirs = dict(self.parts[1]), dict(other.parts[1])
        return ours.keys() == theirs.keys() and all(ours[key].equals(theirs[key]) for key in ours)

    def __hash__(self) -> int:
        return hash((self.kind, self.parts[0]))


def unwrapped(value: Any) -> tuple[Tensor, Wrapping] | None:
    """The tensor that a labelled array or a quantity holds, and what is around it; None where it holds none."""
    kind = type(value)
    family = family_of(kind)
    if family not in ("labels", "units"):
        return None
    if family == "units":
        return (value.magnitude, Wrapping(kind, (value.units,))) if isinstance(value.magnitude, Tensor) else None
    if not isinstance(value.data, Tensor):
        return None
    if not hasattr(value, "coords"):
        return value.data, Wrapping(kind, (value.dims, None, value.attrs))
    coordinates = (*((name, c.variable) for name, c in value.coords.items()),)
    return value.data, Wrapping(kind, (value.dims, coordinates, value.name, value.attrs))


__all__ = ["Wrapping", "answers_ufuncs", "family_of", "unit_cure", "unwrapped", "values_of"]
