"""Masked execution of branch and loop bodies for a whole batch at once: the batch rules of `switch` and `loop`.

A lane is one example. Where lanes part (each chooses a branch, or ends its loop by itself), a body runs for all of
them, and those that do not take part are given the operands of one that does: so nothing fails, and no NaN arises, that
would not have done so in a lane that takes part, and no cotangent flows but through those lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import dtypes
from .._core.dims import Dim, DimLike
from .._core.dtypes import HISTORY
from .._core.graph import Graph
from .._core.op import repeat
from .._core.tensor import Tensor
from .._core.types import type_of
from .._prims.discrete import logical_and, logical_not
from .._prims.indexing import gather
from .._prims.reductions import argmax, reduce_any
from .._prims.structural import broadcast_to, convert, reshape, select, stop_gradient, transpose, zeros_of
from .._transforms.batch import reached

_HARMLESS = ("elementwise", "linear", "zero", "stop")


def size_inside(size: DimLike) -> DimLike:
    """The number of lanes as a program of many lanes knows it: it finds single unknowns only in its inputs' shapes."""
    return Dim.free("lanes") if isinstance(size, Dim) and not size.is_atom else size


def spread(graph: Graph, flags: Sequence[bool], carries: int) -> list[bool]:
    """The flags of a step's inputs, once the carries that become batched on the way are flagged, too."""
    found = list(flags)
    while True:
        keys = reached(graph.nodes, [v for v, flag in zip(graph.inputs, found, strict=True) if flag])
        after = [flag or v.key in keys for flag, v in zip(found, graph.outputs[:carries], strict=False)]
        if after == found[:carries]:
            return found
        found[:carries] = after


def is_harmless(graph: Graph) -> bool:
    """Whether a body can run on any operands: it raises nothing, and its rules keep the zeros of a mask."""
    return all(node.op.kind in _HARMLESS and not node.op.can_raise and not node.op.has_effect for node in graph.nodes)


def where_live(live: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """x in the lanes that are live, y in the others."""
    return x if x.dtype == HISTORY else select(_mask(live, x), x, y)


def zeroed(live: Tensor, x: Tensor) -> Tensor:
    """x in the lanes that are live, zeros in the others."""
    return where_live(live, x, zeros_of(type_of(x))) if x.dtype != HISTORY else x


def guarded(live: Tensor, operands: Sequence[Tensor], flags: Sequence[bool]) -> list[Tensor]:
    """Operands of which the lanes that are not live hold those of one that is, as constants."""
    first = argmax(convert(live, dtype=dtypes.int64), axis=0)
    return [
        _guard(live, x, first) if flag and x.dtype != HISTORY else x for x, flag in zip(operands, flags, strict=True)
    ]


def _guard(live: Tensor, x: Tensor, first: Tensor) -> Tensor:
    row = stop_gradient(gather(x, first))
    return where_live(live, x, repeat(row, x.shape[0]))


def _mask(live: Tensor, x: Tensor) -> Tensor:
    """One boolean a lane in the shape of x."""
    if live.shape == x.shape:
        return live
    return broadcast_to(reshape(live, shape=(live.shape[0], *(1,) * (len(x.shape) - 1))), shape=x.shape)


def swapped(x: Tensor) -> Tensor:
    """x with its first two axes exchanged: lanes of stacks as stacks of lanes, and back."""
    return transpose(x, perm=(1, 0, *range(2, len(x.shape))))


def some(live: Tensor) -> Tensor:
    """Whether some lane is live."""
    return reduce_any(live, axes=(0,))


def both(x: Tensor, y: Tensor) -> Tensor:
    """The lanes that are live in both."""
    return logical_and(x, y)


def neither(masks: Sequence[Tensor]) -> Tensor:
    """The lanes that are live in none."""
    total = logical_not(masks[0])
    for mask in masks[1:]:
        total = logical_and(total, logical_not(mask))
    return total
