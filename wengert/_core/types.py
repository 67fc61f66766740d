"""`TensorType`: the static shape and dtype of a value, and checks on types shared by all type rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .dims import Atom, Dim, DimLike, Shape, is_late
from .state import STATE
from .user_line import Site, called_op, user_site


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


as_type = partial(tuple.__new__, TensorType)  # of a plain pair


def tensor_type(shape: Shape, dtype: np.dtype[Any]) -> TensorType:
    """The type of a value of this shape and dtype."""
    return as_type((shape, dtype))


def type_of(x: Any) -> TensorType:
    """The type of anything with `.shape` and `.dtype`."""
    return as_type((x.shape, x.dtype))


def typed(pairs: Iterable[tuple[Shape, np.dtype[Any]]]) -> tuple[TensorType, ...]:
    """Plain pairs of shape and dtype as types."""
    return (*map(as_type, pairs),)


class Origin(NamedTuple):
    """What assumed something of late dimensions, for the error of a run that finds otherwise.

    Attributes:
        op: what the user called.
        site: the user's line.
        error: the kind of error.
    """

    op: str
    site: Site | None
    error: type[Exception] = ValueError


class Guards:
    """The assumptions of a trace about dimensions, without which its shapes would not fit.

    Checked at each call of the trace, which is traced again where it fails; what is said of late dimensions, by the
    graph as it runs, where it is an error.

    Attributes:
        equal: pairs that must be equal.
        not_one: what must not be 1.
        elsewhere: pairs that are equal because the run of another graph, which comes before, checks it.
        origins: for what is said of late dimensions (a pair, or one) who said so.
    """

    def __init__(self) -> None:
        self.equal: dict[tuple[DimLike, DimLike], None] = {}  # in their order; a trace asks for each again and again
        self.not_one: dict[Dim, None] = {}
        self.elsewhere: list[tuple[DimLike, DimLike]] = []
        self.origins: dict[Any, Origin] = {}

    def require_equal(self, x: DimLike, y: DimLike, origin: Origin | None = None) -> None:
        if (x, y) not in self.equal:
            self.equal[x, y] = None
            self._note((x, y), origin)

    def require_not_one(self, x: Dim, origin: Origin | None = None) -> None:
        if x not in self.not_one:
            self.not_one[x] = None
            self._note(x, origin)

    def _note(self, what: Any, origin: Origin | None) -> None:
        if origin is not None:
            self.origins[what] = origin
        elif any(map(is_late, what if type(what) is tuple else (what,))):
            self.origins[what] = Origin(called_op(), user_site())

    def require_all(self, others: Guards) -> None:
        """Takes over what another trace, inside this one, had to assume; its runs check late dimensions themselves."""
        for x, y in others.equal:
            if not (is_late(x) or is_late(y)):
                self.require_equal(x, y)
        for x in others.not_one:
            if not is_late(x):
                self.require_not_one(x)

    def cut(self, count: int, told: Callable[[], set[Atom]]) -> Guards:
        """Cuts off those of a second half, and gives them: those that hold since the first half has checked them, too.

        Args:
            count: how many extents were taken to be equal by the first half.
            told: the dimensions that values of the second half tell; of others it can check nothing.
        """
        found = Guards()
        found.origins = self.origins
        pairs = [*self.equal]
        later, self.equal = pairs[count:], dict.fromkeys(pairs[:count])
        known = told() if later else set[Atom]()
        told_of = [pair for pair in later if all(d.atoms <= known for d in pair if isinstance(d, Dim))]
        found.equal = dict.fromkeys(told_of)
        found.elsewhere = [*self.elsewhere, *self.equal, *(pair for pair in later if pair not in found.equal)]
        return found

    def late(self) -> Guards:
        """Those that only a run can check."""
        found = Guards()
        found.equal = {(x, y): None for x, y in self.equal if is_late(x) or is_late(y)}
        found.not_one = {x: None for x in self.not_one if is_late(x)}
        found.origins = self.origins
        return found

    def require_late(self, others: Guards, change: Callable[[Dim], DimLike]) -> None:
        """Takes over what must be said of late dimensions where a graph's nodes are applied anew.

        Args:
            others: the guards of the graph.
            change: what its dimensions have become.
        """
        for x, y in others.late().equal:
            pair = _changed(x, change), _changed(y, change)
            if pair[0] != pair[1]:
                self.require_equal(*pair, others.origins.get((x, y)))
        for x in others.late().not_one:
            extent = _changed(x, change)
            if isinstance(extent, Dim):
                self.require_not_one(extent, others.origins.get(x))

    def __bool__(self) -> bool:
        return bool(self.equal or self.not_one)


def _changed(dim: DimLike, change: Callable[[Dim], DimLike]) -> DimLike:
    return change(dim) if isinstance(dim, Dim) else dim


def same_dim(x: DimLike, y: DimLike, what: str = "", error: type[Exception] = ValueError) -> bool:
    """Whether two dimensions agree; in a trace an unknown one is unified with the other by a guard.

    Args:
        x: a dimension.
        y: another one.
        what: what the user called, if not an op, for the error of a run that finds late dimensions to differ.
        error: the kind of error then.
    """
    if x == y:
        return True
    if (type(x) is not Dim and type(y) is not Dim) or STATE.builder is None:
        return False
    STATE.builder.guards.require_equal(x, y, Origin(what, user_site(), error) if what else None)
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
