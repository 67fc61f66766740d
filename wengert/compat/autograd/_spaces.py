"""Vector spaces: what a cotangent or a tangent of a value may be, and how such are added."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as onp

from ..._core.argument_types import ArrayLike
from ..._core.tensor import Tensor
from ._boxes import map_tree, rebuilt


class VSpace:
    """The vector space that a value lies in. `VSpace.register` adds a kind of value."""

    mappings: ClassVar[dict[type, Callable[[Any], Any]]] = {}
    iscomplex = False

    def __init__(self, value: object) -> None:
        pass

    @classmethod
    def register(cls, value_type: type, vspace_maker: Callable[[Any], Any] | None = None) -> None:
        VSpace.mappings[value_type] = vspace_maker or cls

    def mut_add(self, x_prev: object, x_new: object) -> Any:
        return x_new if x_prev is None else self.add(x_prev, x_new)

    def add(self, x_prev: Any, x_new: Any) -> Any:
        return x_prev + x_new

    def scalar_mul(self, x: Any, a: Any) -> Any:
        return x * a

    def covector(self, x: object) -> Any:
        return x

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}_{self.__dict__}"


class ArrayVSpace(VSpace):
    """Arrays of a shape and a dtype."""

    units: ClassVar[tuple[Any, ...]] = (1.0,)  # what spans the numbers of an element

    def __init__(self, value: object) -> None:
        # what is traced has a shape, and no numbers
        array: Any = value if isinstance(value, Tensor) else onp.asarray(value)
        self.shape, self.dtype = array.shape, array.dtype

    @property
    def size(self) -> int:
        return len(self.units) * math.prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def zeros(self) -> Any:
        return onp.zeros(self.shape, self.dtype)

    def ones(self) -> Any:
        return onp.full(self.shape, sum(self.units), self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        for index in onp.ndindex(*self.shape):
            for unit in self.units:
                vector = self.zeros()
                vector[index] = unit
                yield vector

    def randn(self) -> Any:
        return onp.array(sum(onp.random.randn(*self.shape) * unit for unit in self.units)).astype(self.dtype)

    def inner_prod(self, x: Any, y: ArrayLike) -> Any:
        return onp.sum(x * y)


class ComplexArrayVSpace(ArrayVSpace):
    """Arrays of complex numbers, as a space over the real ones."""

    iscomplex = True
    units = (1.0, 1j)

    def inner_prod(self, x: Any, y: Any) -> Any:
        return onp.real(onp.sum(onp.conj(x) * y))

    def covector(self, x: Any) -> Any:
        return onp.conj(x)


def _part_by_part(method: str) -> Callable[..., Any]:
    def each(self: ContainerVSpace, *values: Any) -> Any:
        return self.made({k: getattr(s, method)(*(v[k] for v in values)) for k, s in self.spaces.items()})

    return each


class ContainerVSpace(VSpace):
    """Lists, tuples and dictionaries of vectors."""

    def __init__(self, value: Any) -> None:
        self.form = map_tree(lambda leaf: None, value)
        self.spaces = {k: vspace(v) for k, v in (value.items() if isinstance(value, dict) else enumerate(value))}

    def made(self, items: dict[Any, Any]) -> Any:
        """The container of these items."""
        return rebuilt(self.form, items if isinstance(self.form, dict) else items.values())

    zeros, ones, randn = map(_part_by_part, ("zeros", "ones", "randn"))
    add, covector = map(_part_by_part, ("add", "covector"))

    @property
    def size(self) -> int:
        return sum(s.size for s in self.spaces.values())

    def scalar_mul(self, x: Any, a: Any) -> Any:
        return self.made({k: s.scalar_mul(x[k], a) for k, s in self.spaces.items()})

    def inner_prod(self, x: Any, y: Any) -> Any:
        return sum((s.inner_prod(x[k], y[k]) for k, s in self.spaces.items()), 0.0)

    def standard_basis(self) -> Iterator[Any]:
        zeros = {key: space.zeros() for key, space in self.spaces.items()}
        for key, space in self.spaces.items():
            for vector in space.standard_basis():
                yield self.made({**zeros, key: vector})


def _array_vspace(value: object) -> VSpace:
    dtype = getattr(value, "dtype", None)
    is_complex = isinstance(value, complex) if dtype is None else dtype.kind == "c"
    return (ComplexArrayVSpace if is_complex else ArrayVSpace)(value)


for _kind in (onp.ndarray, onp.generic, float, int, complex, bool, Tensor):
    VSpace.register(_kind, _array_vspace)
for _kind in (list, tuple, dict):
    VSpace.register(_kind, ContainerVSpace)


def vspace(value: object) -> Any:
    """The vector space that a value lies in."""
    for kind in type(value).__mro__:
        maker = VSpace.mappings.get(kind)
        if maker is not None:
            return maker(value)
    raise TypeError(f"Can't find vector space for value {value} of type {type(value)}.")


defvspace = VSpace.register


class SparseObject:
    """A vector that says how it is added to a dense one: `mut_add(dense)`."""

    __slots__ = ("mut_add", "vs")

    def __init__(self, vs: object, mut_add: Callable[[Any], Any]) -> None:
        self.vs, self.mut_add = vs, mut_add

    def dense(self, like: Any) -> Any:
        return self.mut_add(onp.zeros(like.shape, like.dtype))


def sparse_add(vs: Any, x_prev: object, x_new: SparseObject) -> Any:
    """A dense vector with a sparse one added."""
    return x_new.mut_add(vs.zeros() if x_prev is None else x_prev)


__all__ = ["ArrayVSpace", "ComplexArrayVSpace", "SparseObject", "VSpace", "defvspace", "sparse_add", "vspace"]
