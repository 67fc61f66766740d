"""Nested values that enter and leave branches, loops and batches: which leaves are arrays, and whether two agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, TypeVar

import numpy as np

from .._core import dtypes
from .._core.argument_types import ArrayLike
from .._core.caller import NUMPY, caller_among
from .._core.constant import constant, dimension, given_constant, is_number, number, strong, weakened
from .._core.dims import Atom, Dim, is_late
from .._core.dtypes import promote, python_type, weak_promote
from .._core.engine import is_native
from .._core.kinds import ARRAYS
from .._core.scalars import are_one_dtype
from .._core.state import STATE
from .._core.structure import (
    LEAF,
    Spec,
    children_of,
    describe,
    flatten,
    is_number_list,
    opens_itself,
    paths,
    unflatten,
)
from .._core.tensor import Tensor, entered, tensor_in
from .._core.types import TensorType, same_dim, tensor_type, type_of
from .._core.user_line import at_user_line
from .._prims.structural import attach, cast

R = TypeVar("R")


class ExtentsDiffer(TypeError):
    """Two values differ in an extent that a trace does not know: where these are numbers, they may agree."""


def with_extents(run: Callable[[bool], R]) -> R:
    """What `run` gives for unknown extents that stay what they are, usable in shapes; or for extents as numbers, where
    branches or steps have different ones."""
    try:
        return run(True)
    except ExtentsDiffer:
        return run(False)


def leaf_tensor(leaf: Any, extents_stay: bool = False) -> Tensor | None:
    """A numeric leaf as a tensor, weak if it is a Python number; None for anything else."""
    if type(leaf) is Tensor:
        return copy(leaf)  # the caller may write to the one, the functions of the construct to the other
    if isinstance(leaf, ARRAYS):
        return given_constant(leaf) if dtypes.is_supported(leaf.dtype) else None
    if is_number(leaf):
        return number(leaf)
    if type(leaf) is Dim:
        return None if extents_stay else dimension(leaf)
    if isinstance(leaf, list) and is_number_list(leaf):
        array = np.array(leaf)
        return constant(array.astype(dtypes.default_float()) if array.dtype.kind == "f" else array)
    return entered(leaf) if is_native(type(leaf)) else tensor_in(leaf)


class Leaves:
    """A nested value: its numeric leaves as tensors, and the rest as it is.

    Attributes:
        caller: who works with these leaves, and gets results in their kind.
        has_arrays: whether one of them is no number: results that are numbers stay weak beside it. Without one the
            call gives NumPy's scalars where nothing is recorded, which are not weak, and so nothing is anywhere.

    Args:
        value: the nested value.
        name: for messages.
        names: of the entries of the top level, where these have names of their own.
        lists: in how many levels from the top a list of numbers is structure, not an array.
        like: a spec whose order of keys dictionaries are taken in.
        extents_stay: whether extents that a trace does not know are no numbers.
    """

    __slots__ = (
        "caller",
        "extents_stay",
        "fixed",
        "has_arrays",
        "lists",
        "name",
        "names",
        "places",
        "spec",
        "tensors",
    )

    def __init__(
        self, value: Any, name: str = "operands", names: tuple[str, ...] = (), lists: int = 0,
        like: Spec | None = LEAF, extents_stay: bool = True,
    ) -> None:  # fmt: skip
        self.name = name
        self.extents_stay = extents_stay
        self.names = names
        self.lists = lists
        leaves, self.spec = flatten(value, lists, like)
        self.tensors: list[Tensor] = []
        self.caller = caller_among(leaves)
        self.fixed: list[Any] = []  # the leaves, tensors left out
        self.places: list[int] = []  # of the tensors among the leaves
        for position, leaf in enumerate(leaves):
            tensor = leaf_tensor(leaf, extents_stay)
            if tensor is not None:
                self.tensors.append(tensor)
                self.places.append(position)
            self.fixed.append(leaf if tensor is None else None)
        self.has_arrays = self.caller is not NUMPY and any(
            not x._weak and caller_among((leaves[place],)) is not NUMPY
            for place, x in zip(self.places, self.tensors, strict=True)
        )

    @property
    def is_one_tensor(self) -> bool:
        """Whether the value is one array and no structure."""
        return self.spec is LEAF and bool(self.places)

    @property
    def value(self) -> Any:
        """The structure with tensors for its numeric leaves."""
        return self.rebuilt(self.tensors)

    def rebuilt(self, tensors: Sequence[Tensor]) -> Any:
        """The structure with other tensors, or rather their twins: who gets it may write to them."""
        if self.spec is LEAF:
            return copy(tensors[0]) if self.places else self.fixed[0]
        leaves = [*self.fixed]
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = copy(tensor)
        return unflatten(self.spec, leaves)

    def types(self) -> list[tuple[TensorType, bool]]:
        """The type of each tensor, and whether it is weak."""
        return [(type_of(x), x._weak) for x in self.tensors]

    def path(self, index: int) -> str:
        """How a tensor is reached."""
        return paths(self.spec, self.name, self.names)[self.places[index]]


def strong_unless(stay_weak: bool, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """Results that are numbers, weak or not as the eager call gives them."""
    return tensors if stay_weak else [*map(strong, tensors)]


def connected(tensors: Sequence[Tensor], sources: Sequence[Tensor]) -> list[Tensor]:
    """The tensors, counted as depending on the sources that somebody follows."""
    recorders = STATE.recorders
    if not recorders:
        return [*tensors]
    followed = [x for x in sources if dtypes.is_inexact(x.dtype) and any(r.tracks(x._key) for r in recorders)]
    if not followed:
        return [*tensors]
    return [attached(x, followed) if dtypes.is_inexact(x.dtype) else x for x in tensors]


def attached(x: Tensor, sources: Sequence[Tensor]) -> Tensor:
    return weakened(attach(x, *sources), x._weak)


# -- agreement --------------------------------------------------------------------------------------------------------


def require_same_structure(what: str, first: Leaves, second: Leaves, names: tuple[str, str]) -> None:
    """Raises `TypeError` with both structures unless they are equal (a list may stand for a tuple at the top)."""
    if _alike(first.spec, second.spec) and first.places == second.places and _same_rest(first.fixed, second.fixed):
        return
    if any(type(leaf) is Dim for leaf in (*first.fixed, *second.fixed)):
        raise ExtentsDiffer
    if _alike(first.spec, second.spec) and first.places == second.places:
        pair = next((a, b) for a, b in zip(first.fixed, second.fixed, strict=True) if not _is_same(a, b))
        raise _disagreement(what, names, repr(pair[0]), repr(pair[1]), "a leaf that is not an array differs")
    raise _disagreement(what, names, _shown(first), _shown(second), "the structures differ")


def _alike(first: Spec | None, second: Spec | None) -> bool:
    if first == second:
        return True
    if first is None or second is None:
        return False
    tops = (first.kind, second.kind)
    return set(tops) <= {list, tuple} and (first.keys, first.children) == (second.keys, second.children)


def _same_rest(first: Sequence[Any], second: Sequence[Any]) -> bool:
    return all(map(_is_same, first, second))


def _is_same(first: object, second: object) -> bool:
    return first is second or (type(first) is type(second) and bool(first == second))


def _shown(leaves: Leaves) -> str:
    kinds = [repr(leaf) for leaf in leaves.fixed]
    for place, tensor in zip(leaves.places, leaves.tensors, strict=True):
        kinds[place] = str(type_of(tensor))
    return describe(leaves.spec, kinds)


def _disagreement(what: str, names: tuple[str, str], first: str, second: str, why: str) -> TypeError:
    width = max(map(len, names))
    return TypeError(at_user_line(f"{what}: {why}\n  {names[0]:<{width}}  {first}\n  {names[1]:<{width}}  {second}"))


def same_but_late(first: TensorType, second: TensorType) -> tuple[TensorType, TensorType]:
    """The types of two branches' results as they are to be compared: what only a run tells may differ."""
    if len(first.shape) != len(second.shape):
        return first, second
    pairs = [(x, x) if is_late(x) or is_late(y) else (x, y) for x, y in zip(first.shape, second.shape, strict=True)]
    return (
        tensor_type((*[x for x, _ in pairs],), first.dtype), tensor_type((*[y for _, y in pairs],), second.dtype)
    )  # fmt: skip


def require_same_type(
    what: str, path: str, first: Tensor | TensorType, second: Tensor | TensorType, names: tuple[str, str]
) -> None:
    """Raises `TypeError` with both types unless they are equal."""
    is_same = len(first.shape) == len(second.shape) and all(map(same_dim, first.shape, second.shape))
    if is_same and first.dtype == second.dtype:
        return
    why = f"{path} differs in {'dtype' if is_same else 'shape'}"
    raise _disagreement(what, names, str(type_of(first)), str(type_of(second)), why)


def met_dtype(first: Tensor, second: Tensor) -> np.dtype[Any]:
    """The dtype of two values of which a weak one gives way; the first one's if neither is weak."""
    if first._weak == second._weak:
        return promote(first.dtype, second.dtype) if first._weak else first.dtype
    weak, strong = (first, second) if first._weak else (second, first)
    return weak_promote(python_type(weak.dtype), strong.dtype)


def do_meet(first: Tensor, second: Tensor) -> bool:
    """Whether two values may take one dtype: a weak one gives way, and what is wide may be narrow where it runs."""
    return first._weak or second._weak or are_one_dtype(first.dtype, second.dtype)


def _is_alike(before: Tensor, after: ArrayLike) -> bool:
    """Whether a loop variable is a tensor of the very type that it had before."""
    if type(after) is not Tensor:
        return False
    data, known = after._data, before._data
    return data.shape == known.shape and data.dtype is known.dtype and after._weak is before._weak


# -- loop variables ---------------------------------------------------------------------------------------------------


class Carried:
    """What loop variables must look like from step to step.

    Attributes:
        given: the loop variables at the start.
        free: for each tensor the axes whose extent may vary.
    """

    def __init__(self, given: Leaves, invariants: object, what: str, is_spread: bool = False) -> None:
        self.given = given
        self.what = what
        # kinds of sequences whose tensors may go into the next step as they are: what is spread is never seen whole
        value = given.value
        is_flat = type(value) in (tuple, list) and all(type(x) is Tensor for x in value)
        self._flat = () if not is_flat else (tuple, list) if is_spread else (type(value),)
        self.free: list[frozenset[int]] = [frozenset()] * len(given.tensors)
        if invariants is not None:
            self._read(invariants)

    def traced(self) -> tuple[list[tuple[TensorType, bool]], list[Atom]]:
        """The types of the loop variables inside the body, with unknown dimensions where they vary."""
        varying: list[Atom] = []
        types = []
        for (kind, weak), free in zip(self.given.types(), self.free, strict=True):
            shape = [*kind.shape]
            for axis in sorted(free):
                dim = Dim.free(f"step_{len(varying)}", is_late=True)
                varying.append(dim.atom)
                shape[axis] = dim
            types.append((tensor_type((*shape,), kind.dtype), weak))
        return types, varying

    def accept(self, before: Sequence[Tensor], value: Any) -> tuple[Any, Sequence[Tensor]]:
        """The loop variables after a step: as a structure, and as tensors of the types that they had before it.

        The structure has twins of what the step returned, since the next step may write to its loop variables.
        """
        if STATE.builder is None:
            if type(value) is Tensor:
                if self.given.is_one_tensor and _is_alike(before[0], value):
                    return value.__copy__(), (value,)
            elif type(value) in self._flat and len(value) == len(before) and all(map(_is_alike, before, value)):
                return type(value)([x.__copy__() for x in value]), (*value,)
        after = Leaves(value, self.given.name, lists=self.given.lists, like=self.given.spec,
                       extents_stay=self.given.extents_stay)  # fmt: skip
        require_same_structure(self.what, self.given, after, ("before the step", "after it"))
        tensors = [self.fitted(i, x, y) for i, (x, y) in enumerate(zip(before, after.tensors, strict=True))]
        return self.given.rebuilt(tensors), tensors

    def fitted(self, index: int, before: Tensor, after: Tensor) -> Tensor:
        """One loop variable after a step, weak numbers converted."""
        dtype = met_dtype(before, after)
        if dtype != after.dtype and do_meet(before, after):
            after = weakened(cast(after, dtype), after._weak and before._weak)
        free = self.free[index]
        is_same = len(before.shape) == len(after.shape) and all(
            axis in free or same_dim(x, y, self.what, TypeError)
            for axis, (x, y) in enumerate(zip(before.shape, after.shape, strict=True))
        )
        if not is_same or (before.dtype != after.dtype and not before._weak):
            hint = "; declare what varies in shape_invariants" if not is_same and self.what == "while_loop" else ""
            why = f"{self.given.path(index)} differs in {'dtype' if is_same else 'shape'}{hint}"
            names = ("before the step", "after it")
            raise _disagreement(self.what, names, str(type_of(before)), str(type_of(after)), why)
        return after

    def _read(self, invariants: object) -> None:
        given = self.given
        if len(given.tensors) == 1 and not _is_nest_of_shapes(invariants):
            found: Any = [invariants]
        else:
            found = _shapes_in(invariants)
        if len(found) != len(given.fixed):
            raise ValueError(
                at_user_line(
                    f"{self.what}: shape_invariants has {len(found)} entries for {len(given.fixed)} loop variables"
                )
            )
        self.free = [self._free_axes(index, _shape_of(found[place])) for index, place in enumerate(given.places)]

    def _free_axes(self, index: int, shape: tuple[None, ...]) -> frozenset[int]:
        if shape is None:
            return frozenset()
        known = self.given.tensors[index].shape
        fits = len(shape) == len(known) and all(s is None or same_dim(s, d) for s, d in zip(shape, known, strict=True))
        if not fits:
            path = self.given.path(index)
            raise ValueError(
                at_user_line(
                    f"{self.what}: the shape invariant {(*shape,)} does not hold for {path}, which has shape {known}"
                )
            )
        return frozenset(axis for axis, extent in enumerate(shape) if extent is None)


def _shape_of(invariant: object) -> Any:
    return getattr(invariant, "shape", invariant)


def _is_shape(value: object) -> bool:
    if opens_itself(value):
        return False
    if value is None or hasattr(value, "shape"):
        return True
    return isinstance(value, (tuple, list)) and all(d is None or isinstance(d, (int, np.integer, Dim)) for d in value)


def _is_nest_of_shapes(value: object) -> bool:
    return opens_itself(value) or (isinstance(value, (tuple, list, dict)) and not (_is_shape(value) and value))


def _shapes_in(value: Any) -> list[Any]:
    """The shapes in a structure of them, in order; a tuple of ints and Nones is one shape."""
    found: list[Any] = []
    if opens_itself(value):
        inside = children_of(value)
    else:
        inside = value.values() if isinstance(value, dict) else value
    for item in inside:
        found += [item] if _is_shape(item) else _shapes_in(item)
    return found


__all__ = [
    "Carried", "Leaves", "attached", "connected", "do_meet", "is_number_list", "leaf_tensor", "met_dtype",
    "require_same_structure", "require_same_type", "same_but_late", "strong_unless", "with_extents",
]  # fmt: skip
