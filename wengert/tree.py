"""Nested structures of arrays: map, flatten, put together again, and ravel into one vector.

Every list, tuple, dict, named tuple, dataclass and registered class is structure; everything else is a leaf. (As an
argument of a gradient function, a list of plain numbers is one array; here it is a list of leaves.) A field of a
dataclass with `metadata={"static": True}` is no leaf but part of the structure. Leaves that are neither numbers nor
arrays (None, strings, bools, functions, ...) stay as they are. The order of a dictionary's keys is no structure.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from ._core.argument_types import Tree
from ._core.dims import DimLike, size_of
from ._core.public import at_home, names_errors
from ._core.structure import (
    EVERY,
    LEAF,
    describe,
    groups_of,
    is_kept,
    key_of,
    map_structure,
    passes_through,
    paths,
    register,
)
from ._core.structure import flatten as _flatten
from ._core.structure import unflatten as put_together
from ._core.tensor import Tensor
from ._core.user_line import at_user_line
from ._prims import structural
from .ops.promotion import as_tensor, common_dtype, is_tensor_like, outward

__all__ = [
    "flatten", "leaves", "leaves_with_path", "map", "map_with_path", "ravel", "reduce", "register", "structure",
    "transpose", "unflatten",
]  # fmt: skip

IsLeaf = Callable[[Any], Any] | None
_NONE: Any = object()  # no initial value

map_structure.__doc__ = """Applies a function to the leaves of one or more structures of the same shape.

    Args:
        f: called with one leaf of each structure.
        tree: a nested structure. Leaves that are neither numbers nor arrays (None, strings, bools, functions, ...)
            are not mapped, and stay.
        *rest: more structures of exactly that shape; the order of a dictionary's keys does not matter.
        is_leaf: says of what else is a leaf, and mapped, whatever it is or holds.

    Returns:
        The structure with the results as leaves.

    Raises:
        ValueError: if the structures differ; the message shows both.

    Example:
        >>> import wengert as wg
        >>> wg.tree.map(lambda a, b: a + b, {"x": 1, "y": (2, 3)}, {"x": 10, "y": (20, 30)})
        {'x': 11, 'y': (22, 33)}
        >>> wg.tree.map(lambda a: 2 * a, {"scale": [1.0, 2.0], "name": "scaling"})
        {'scale': [2.0, 4.0], 'name': 'scaling'}
    """
put_together.__doc__ = """Puts a structure together from leaves.

    Args:
        spec: what `flatten` returned beside the leaves.
        leaves: as many leaves as it has places.

    Returns:
        The structure.

    Raises:
        ValueError: if there are too many leaves or too few.

    Example:
        >>> import wengert as wg
        >>> leaves, spec = wg.tree.flatten({"a": 1, "b": (2, 3)})
        >>> wg.tree.unflatten(spec, [10, 20, 30])
        {'a': 10, 'b': (20, 30)}
    """

map = at_home(names_errors(map_structure, "tree.map"), __name__, "map")
map.__name__ = "map"
unflatten = at_home(names_errors(put_together, "tree.unflatten"), __name__, "unflatten")


@names_errors
def flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], Any]:
    """The leaves of a structure, in order, and what puts it together again.

    Args:
        tree: a nested structure.
        is_leaf: says of what else is a leaf, whatever it holds.

    Returns:
        (leaves, spec): a list, and a hashable spec for `unflatten`.

    Example:
        >>> import wengert as wg
        >>> wg.tree.flatten({"a": 1.0, "b": (2.0, "name")})[0]
        [1.0, 2.0, 'name']
    """
    return _flatten(tree, EVERY, LEAF, is_leaf)


@names_errors
def leaves(tree: Tree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a structure, in order.

    Args:
        tree: a nested structure.
        is_leaf: says of what else is a leaf, whatever it holds.

    Returns:
        A list of the leaves.

    Example:
        >>> import wengert as wg
        >>> wg.tree.leaves([{"a": 1.0}, (2.0, None)])
        [1.0, 2.0, None]
    """
    return _flatten(tree, EVERY, LEAF, is_leaf)[0]


@names_errors
def structure(tree: Tree, is_leaf: IsLeaf = None) -> Any:
    """The shape of a structure without its leaves, which `unflatten` fills.

    Args:
        tree: a nested structure.
        is_leaf: says of what else is a leaf, whatever it holds.

    Returns:
        A hashable spec; two structures have the same shape if theirs are equal.

    Example:
        >>> import wengert as wg
        >>> wg.tree.structure({"a": 1.0}) == wg.tree.structure({"a": 2.0})
        True
    """
    return _flatten(tree, EVERY, LEAF, is_leaf)[1]


@names_errors
def reduce(function: Callable[[Any, Any], Any], tree: Tree, initializer: Tree = _NONE, is_leaf: IsLeaf = None) -> Any:
    """Puts the leaves of a structure together two by two, from the first to the last.

    Args:
        function: takes what was found so far and a leaf.
        tree: a nested structure.
        initializer: what to begin with; by default the first leaf.
        is_leaf: says of what else is a leaf, whatever it holds.

    Returns:
        What the last call gives.

    Raises:
        TypeError: there is no leaf, and no `initializer`.

    Example:
        >>> import wengert as wg
        >>> wg.tree.reduce(lambda total, x: total + x, {"a": 1.0, "b": (2.0, 3.0)})
        6.0
    """
    found = _flatten(tree, EVERY, LEAF, is_leaf)[0]
    if initializer is not _NONE:
        return functools.reduce(function, found, initializer)
    if not found:
        raise TypeError(at_user_line("tree.reduce: the structure has no leaves; give an initializer"))
    return functools.reduce(function, found)


@names_errors
def transpose(outer: Any, inner: Any, tree: Tree) -> Any:
    """A structure of structures with the two exchanged.

    Args:
        outer: the shape of the outer structure, as `structure` gives it.
        inner: the shape of the structures in its places.
        tree: such a structure.

    Returns:
        A structure of shape `inner` with structures of shape `outer` in its places.

    Raises:
        ValueError: tree has another shape; the message shows both.

    Example:
        >>> import wengert as wg
        >>> rows = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
        >>> wg.tree.transpose(wg.tree.structure([0, 0]), wg.tree.structure({"a": 0, "b": 0}), rows)
        {'a': [1, 3], 'b': [2, 4]}
    """
    wanted = _within(outer, inner)
    found, spec = _flatten(tree, EVERY, wanted)
    if spec != wanted:
        raise ValueError(at_user_line(
            f"tree.transpose: structures differ: wanted {describe(wanted)}, got {describe(spec)}"
        ))  # fmt: skip
    step = len(paths(inner, ""))
    return unflatten(inner, [unflatten(outer, found[i::step]) for i in range(step)])


def _within(outer: Any, inner: Any) -> Any:
    """The shape of one structure with another in each of its places."""
    return inner if outer is LEAF else outer._replace(children=(*[_within(c, inner) for c in outer.children],))


class Path(tuple[Any, ...]):
    """The way to a leaf: keys, positions and names of attributes; as a text `['w'][0].bias`."""

    _text: str

    def __str__(self) -> str:
        return self._text


@names_errors
def leaves_with_path(tree: Tree, is_leaf: IsLeaf = None) -> list[tuple[Path, Any]]:
    """The leaves of a structure, in order, each with the way to it.

    Args:
        tree: a nested structure.
        is_leaf: says of what else is a leaf, whatever it holds.

    Returns:
        Pairs of a path (a tuple of keys, positions and names, which `str` writes as Python would) and a leaf.

    Example:
        >>> import wengert as wg
        >>> [(str(path), leaf) for path, leaf in wg.tree.leaves_with_path({"w": [1.0, 2.0]})]
        [("['w'][0]", 1.0), ("['w'][1]", 2.0)]
    """
    found, spec = _flatten(tree, EVERY, LEAF, is_leaf)
    return [*zip(_paths(spec), found, strict=True)]


def _paths(spec: Any) -> list[Path]:
    found: list[Path] = []
    for keys, text in zip(_keys(spec, ()), paths(spec, ""), strict=True):
        found.append(Path(keys))
        found[-1]._text = text
    return found


def _keys(spec: Any, before: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    if spec is LEAF:
        return [before]
    steps = enumerate(spec.children)
    return [path for i, child in steps for path in _keys(child, (*before, key_of(spec, i)))]


@names_errors
def map_with_path(f: Callable[..., Any], tree: Tree, *rest: Tree, is_leaf: IsLeaf = None) -> Any:
    """`map` for a function that is told where a leaf lies.

    Args:
        f: called with a path (as from `leaves_with_path`) and one leaf of each structure.
        tree: a nested structure; as for `map`.
        *rest: more structures of exactly that shape.
        is_leaf: says of what else is a leaf, and mapped, whatever it is or holds.

    Returns:
        The structure with the results as leaves.

    Raises:
        ValueError: if the structures differ; the message shows both.

    Example:
        >>> import wengert as wg
        >>> wg.tree.map_with_path(lambda path, x: 0.0 if path[-1] == "b" else x, {"w": 1.0, "b": 2.0})
        {'w': 1.0, 'b': 0.0}
    """
    groups, spec = groups_of("tree.map_with_path", f, tree, rest, is_leaf)
    ways = _paths(spec)
    return unflatten(
        spec, [g[0] if is_kept(g[0], is_leaf) else f(way, *g) for way, g in zip(ways, groups, strict=True)]
    )


@names_errors
def ravel(tree: Tree) -> tuple[Any, Callable[[Any], Any]]:
    """All numbers of a structure in one vector, and the function that undoes it.

    Args:
        tree: a nested structure of arrays, tensors and numbers. Leaves of other kinds (None, strings, bools, ...) are
            left out of the vector, and put back where they were.

    Returns:
        (flat, unravel): a vector in the leaves' common dtype, and a function from such a vector (array or tensor,
        differentiable) to the structure, each leaf in its own shape and dtype.

    Raises:
        TypeError: if an array holds no numbers, or no leaf is numeric.
        ValueError: (from `unravel`) if the vector has another length.

    Example:
        >>> import wengert as wg
        >>> flat, unravel = wg.tree.ravel({"w": [[1.0, 2.0]], "b": 3.0})
        >>> flat
        array([1., 2., 3.])
        >>> unravel(flat)
        {'w': [[np.float64(1.0), np.float64(2.0)]], 'b': np.float64(3.0)}
    """
    every, spec = _flatten(tree, EVERY)
    numeric = [leaf for leaf in every if not passes_through(leaf)]
    found = numeric or every  # nothing but text is an error, which as_tensor tells
    tensors = [as_tensor(leaf, "tree.ravel") for leaf in found]
    flat = _join(tensors)
    kinds = iter([_Part(t.shape, t.dtype) for t in tensors])
    places = [leaf if passes_through(leaf) else next(kinds) for leaf in every]
    unravel: Any = functools.partial(_unravel, spec, places, flat.shape[0])  # a closure would not be pickled
    unravel.__name__, unravel.__doc__ = "unravel", _unravel.__doc__
    return outward(flat, *found), unravel


class _Part(NamedTuple):
    """What a part of a vector is made into."""

    shape: tuple[DimLike, ...]
    dtype: Any


def _unravel(spec: Any, places: list[Any], total: DimLike, vector: Any) -> Any:
    """Puts a vector back into the structure."""
    x = as_tensor(vector, "unravel")
    if x.shape != (total,):
        raise ValueError(at_user_line(f"unravel: wanted a vector of {total} numbers, got shape {x.shape}"))
    leaves: list[Any] = []
    start: DimLike = 0
    for place in places:
        if not isinstance(place, _Part):
            leaves.append(place)
            continue
        stop = start + size_of(place.shape)
        part = structural.slice_(x, starts=(start,), limits=(stop,), strides=(1,))
        part = structural.cast(structural.reshape(part, shape=place.shape), place.dtype)
        leaves.append(part if is_tensor_like(vector) else outward(part))
        start = stop
    return unflatten(spec, leaves)


def _join(tensors: list[Tensor]) -> Tensor:
    if not tensors:
        return as_tensor([0.0])[:0]
    dtype = common_dtype(tensors)
    flat = [structural.reshape(structural.cast(t, dtype), shape=(size_of(t.shape),)) for t in tensors]
    return structural.concatenate(*flat, axis=0)
