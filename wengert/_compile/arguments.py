"""Converts the arguments of users' functions to tensors.

Decides which arguments are arrays, and gives each differentiated leaf an identity of its own. Called by every public
function that runs a user's function (`grad`, `function`, ...).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.bare_integers import is_bare, noted_if_bare
from .._core.constant import (
    checked_array,
    constant,
    is_number,
    number,
    renamed,
    weakened,
)
from .._core.engine import is_native
from .._core.kinds import ARRAYS
from .._core.labelled import family_of, unit_cure, unwrapped, values_of
from .._core.state import STATE, next_serial
from .._core.structure import LEAF, flatten, is_number_list, is_registered, paths, unflatten
from .._core.tensor import Tensor, entered
from .._core.user_line import at_user_line
from .._prims.structural import alias, convert

_SCALARS = (float, int, complex)


def require_callable(f: object, name: str) -> None:
    """Raises `TypeError` unless f, which was passed to the function of this name, can be called."""
    if not callable(f):
        raise TypeError(at_user_line(f"{name}: the f passed in {name}(f) must be callable, got {type(f).__name__}"))


class Differentiated:
    """One differentiated argument: its leaves as fresh tensors, and how to build results in its structure."""

    __slots__ = ("name", "positions", "spec", "tensors", "total")

    def __init__(self, value: Any, name: str) -> None:
        self.name = name
        if type(value) in _DIRECT:
            leaves, self.spec = [value], LEAF
        else:
            # a labelled array enters as its values, also where these are a tensor already
            leaves, self.spec = ([value], LEAF) if family_of(type(value)) else flatten(value)
        self.total = len(leaves)
        self.tensors: list[Tensor] = []
        self.positions: list[int] = []  # of the numeric leaves among all
        for position, leaf in enumerate(leaves):
            tensor = _source(leaf, self, position)
            if tensor is not None:
                self.tensors.append(tensor)
                self.positions.append(position)
        if not self.tensors and self.spec is LEAF:
            if family_of(type(value)) == "units":
                raise TypeError(at_user_line(f"{name}: {unit_cure(value)}"))
            kind = type(value)
            holds_attributes = not callable(value) and (hasattr(value, "__dict__") or hasattr(kind, "__slots__"))
            cure = f"; wg.tree.register({kind.__name__}) makes it a structure of its attributes" * holds_attributes
            raise TypeError(at_user_line(f"{name}: wanted an array to differentiate with respect to, got "
                                         f"{kind.__name__} {_short(value)}{cure}"))  # fmt: skip

    def path(self, index: int) -> str:
        """How the user reaches a leaf."""
        return paths(self.spec, self.name)[self.positions[index]]

    def argument(self, value: object) -> Any:
        """What f receives: the structure with tensors in the numeric places."""
        if self.spec is LEAF:
            return copy(self.tensors[0])  # f's own, which it may write to
        leaves = flatten(value)[0]
        for position, tensor in zip(self.positions, self.tensors, strict=True):
            leaves[position] = copy(tensor)
        return unflatten(self.spec, leaves)

    def result(self, gradients: Sequence[Any]) -> Any:
        """Gradients in the argument's structure; None in places that are not numeric."""
        if self.spec is LEAF:
            return gradients[0]
        leaves: list[Any] = [None] * self.total
        for position, gradient in zip(self.positions, gradients, strict=True):
            leaves[position] = gradient
        return unflatten(self.spec, leaves)


_EVERYDAY = frozenset({dtypes.float32, dtypes.float64})
_DIRECT = frozenset({Tensor, np.ndarray, float, int, complex})


def _source(leaf: Any, argument: Differentiated, position: int) -> Tensor | None:
    """A leaf as a fresh tensor, or None where there is nothing numeric."""
    kind = type(leaf)
    held = getattr(kind, "__wengert_tensor__", None)
    if held is not None:
        leaf = held(leaf)
        kind = Tensor
    if kind is Tensor:
        if is_bare(leaf):
            return _floats_of(leaf)
        _require_inexact(leaf.dtype, argument, position)
        if STATE.builder is not None or STATE.recorders:
            return renamed(leaf)
        return Tensor(leaf._data, next_serial(), None, leaf._weak)
    if kind is np.ndarray and leaf.dtype in _EVERYDAY and STATE.builder is None:
        return Tensor(leaf.view(), next_serial())
    if isinstance(leaf, np.integer):
        return number(float(leaf))
    if isinstance(leaf, ARRAYS):
        if leaf.dtype.kind in "USOMmV" and not dtypes.is_supported(leaf.dtype):
            return None
        if isinstance(leaf, np.bool_) and argument.spec is not LEAF:
            return None
        _require_inexact(leaf.dtype, argument, position)
        return constant(checked_array(leaf, argument.name))
    if isinstance(leaf, bool):
        if argument.spec is not LEAF:
            return None
        raise TypeError(at_user_line(f"{_path(argument, position)}: cannot differentiate with respect to a bool"))
    if isinstance(leaf, _SCALARS):
        return number(leaf if isinstance(leaf, complex) else float(leaf))
    if isinstance(leaf, list):
        return _list_source(leaf, argument, position)
    if is_native(kind):
        source = entered(leaf)
        if dtypes.is_supported(source.dtype):
            _require_inexact(source.dtype, argument, position)
            return source if STATE.builder is None else alias(source)
    if family_of(kind) in ("frame", "labels"):
        return _source(values_of(leaf, argument.name), argument, position)
    return None


def _floats_of(numbers: Tensor) -> Tensor:
    """Bare integers as the floats that they are where they are differentiated: one by one they are weak."""
    return weakened(convert(numbers, dtype=dtypes.default_float()), not numbers.shape)


def _list_source(leaf: list[Any], argument: Differentiated, position: int) -> Tensor | None:
    try:
        array = np.array(leaf)
    except ValueError:
        where = _path(argument, position)
        raise ValueError(at_user_line(f"{where}: the nested list is ragged: {_short(leaf)}")) from None
    if array.dtype.kind == "b":
        if argument.spec is not LEAF:
            return None
        raise TypeError(at_user_line(f"{_path(argument, position)}: cannot differentiate with respect to bools"))
    if array.dtype.kind in "iuf":
        array = array.astype(dtypes.default_float())
    return constant(array)


def _path(argument: Differentiated, position: int) -> str:
    return paths(argument.spec, argument.name)[position]


def _require_inexact(dtype: np.dtype[Any], argument: Differentiated, position: int) -> None:
    if not dtypes.is_inexact(dtype):
        raise TypeError(
            at_user_line(
                f"{_path(argument, position)}: cannot differentiate with respect to an array of dtype {dtype.name}; "
                f"convert it to a floating dtype first"
            )
        )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def array_argument(value: Any) -> Any:
    """An argument that is not differentiated: arrays arrive as tensors, everything else untouched."""
    kind = type(value)
    if kind is Tensor:
        return copy(value)  # f's own, which it may write to
    if kind in (int, float, str, bool, type(None)):
        return value
    if isinstance(value, ARRAYS):
        return noted_if_bare(constant(value), value) if dtypes.is_supported(value.dtype) else value
    held = getattr(kind, "__wengert_tensor__", None)
    if held is not None:
        return held(value)
    if isinstance(value, list) and not is_registered(kind) and is_number_list(value):
        return _number_list(value)
    if isinstance(value, (list, tuple, dict)) or hasattr(kind, "__dataclass_fields__"):
        leaves, spec = flatten(value)
        if spec is LEAF:
            return value
        return unflatten(spec, [array_argument(leaf) for leaf in leaves])
    if is_native(kind):
        tensor = entered(value)
        return tensor if dtypes.is_supported(tensor.dtype) else value
    return value


def _number_list(value: list[Any]) -> Tensor:
    """A list of numbers is an array; bare floats take the default float."""
    try:
        array = np.array(value)
    except ValueError:
        text = repr(value)
        text = text if len(text) <= 60 else f"{text[:57]}..."
        raise ValueError(f"the nested list is ragged: {text}") from None
    tensor = constant(array.astype(dtypes.default_float()) if array.dtype.kind == "f" else array)
    return noted_if_bare(tensor, value)


def one_tensor(value: Any, what: str) -> Tensor:
    """What a differentiated function returned, as one tensor."""
    if type(value) is Tensor:
        return value
    held = getattr(type(value), "__wengert_tensor__", None)
    if held is not None:
        return held(value)
    if isinstance(value, ARRAYS) and dtypes.is_supported(value.dtype):
        return constant(value)
    if is_number(value):
        return number(value)
    if is_native(type(value)):
        return entered(value)
    if family_of(type(value)) == "labels":
        held = unwrapped(value)
        return constant(values_of(value, what)) if held is None else held[0]
    raise TypeError(
        at_user_line(
            f"{what}: f must return one tensor, got {type(value).__name__} {_short(value)}"
            + ("; return y.magnitude, a number without a unit" if family_of(type(value)) == "units" else "")
            + ("; return (y, aux) with has_aux=True for more than one result" if isinstance(value, tuple) else "")
        )
    )
