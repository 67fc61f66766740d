"""`TensorType`: the static shape and dtype of a value, and checks on types shared by all type rules."""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from .dims import Dim, DimLike, Shape, is_late
from .state import STATE


class TensorType(tuple[Shape, "np.dtype[Any]"]):
    """A (shape, dtype) pair. A tuple, so that making one costs a C call in the eager hot path."""

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def shape(self) -> Shape: ...
        @property
        def dtype(self) -> np.dtype[Any]: ...
        @property
        def ndim(self) -> int: ...

    else:
        shape = property(itemgetter(0))
        dtype = property(itemgetter(1))

        @property
        def ndim(self) -> int:
            return len(self[0])

    def __str__(self) -> str:
        return f"{self[1].name}[{', '.join(map(str, self[0]))}]"

    def __repr__(self) -> str:
        return f"TensorType({self})"


_new = partial(tuple.__new__, TensorType)


def tensor_type(shape: Shape, dtype: np.dtype[Any]) -> TensorType:
    """The type of a value of this shape and dtype."""
    return _new((shape, dtype))


def type_of(x: Any) -> TensorType:
    """The type of anything with `.shape` and `.dtype`."""
    return _new((x.shape, x.dtype))


class Guards:
    """What a trace had to assume about dimensions so that shapes fit.

    Checked at each call of the trace, which is traced again where it fails; what is said of late dimensions, by the
    graph as it runs, where it is an error.
    """

    def __init__(self) -> None:
        self.equal: list[tuple[DimLike, DimLike]] = []
        self.not_one: list[Dim] = []

    def require_equal(self, x: DimLike, y: DimLike) -> None:
        if (x, y) not in self.equal:
            self.equal.append((x, y))

    def require_not_one(self, x: Dim) -> None:
        if x not in self.not_one:
            self.not_one.append(x)

    def require_all(self, others: Guards) -> None:
        """Takes over what another trace, inside this one, had to assume; its runs check late dimensions themselves."""
        for x, y in others.equal:
            if not (is_late(x) or is_late(y)):
                self.require_equal(x, y)
        for x in others.not_one:
            if not is_late(x):
                self.require_not_one(x)

    def late(self) -> Guards:
        """Those that only a run can check."""
        found = Guards()
        found.equal = [(x, y) for x, y in self.equal if is_late(x) or is_late(y)]
        found.not_one = [x for x in self.not_one if is_late(x)]
        return found

    def __bool__(self) -> bool:
        return bool(self.equal or self.not_one)


def same_dim(x: DimLike, y: DimLike) -> bool:
    """Whether two dimensions agree; in a trace an unknown one is unified with the other by a guard."""
    if x == y:
        return True
    if (type(x) is not Dim and type(y) is not Dim) or STATE.builder is None:
        return False
    STATE.builder.guards.require_equal(x, y)
    return True


def is_one(x: DimLike) -> bool:
    """Whether a dimension broadcasts; an unknown one is taken not to, and a guard remembers it."""
    if type(x) is not Dim:
        return x == 1
    if STATE.builder is not None:
        STATE.builder.guards.require_not_one(x)
    return False


def same_shape(x: Shape, y: Shape) -> bool:
    """Whether two shapes agree, unifying unknown dimensions."""
    return x == y or (len(x) == len(y) and all(map(same_dim, x, y)))
