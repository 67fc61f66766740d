"""`Example`: a function of one example, traced once and run on whole batches; `vmap` and Jacobians are made of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.dims import DimLike
from .._core.op import repeat
from .._core.state import STATE
from .._core.tensor import Tensor
from .._core.types import TensorType, tensor_type, type_of
from .._core.user_line import at_user_line
from .._transforms.batch import batch_some
from .closed import Closed, Function


class Example:
    """A function of one example, traced.

    Args:
        function: from tensors to tensors (or None).
        types: the types of its arguments, without the batch axis.
        name: for listings.
    """

    def __init__(self, function: Function, types: Sequence[TensorType], name: str) -> None:
        self.name = name
        # outside of traces the graph is replayed op by op, where one call is better than all that it does
        self.closed = Closed(function, types, name, defers=False, keeps_calls=STATE.builder is None)

    def __call__(self, arguments: Sequence[Tensor], flags: Sequence[bool]) -> list[tuple[Tensor, bool] | None]:
        """The results for a batch: each with whether it has the batch axis (then it is the first), or None.

        Variables are assigned what the function assigns them.

        Args:
            arguments: one tensor an argument; those flagged have a leading batch axis.
            flags: which ones those are.

        Raises:
            TypeError: a Variable is assigned what differs between examples.
        """
        closed, captured = self.closed, self.closed.captured
        found = batch_some(closed.graph, [*arguments, *captured], [*flags, *(False,) * len(captured)])
        count = sum(closed.present)
        for variable, (tensor, flag) in zip(closed.writes, found[count:], strict=True):
            if flag:
                raise TypeError(
                    at_user_line(f"{self.name}: {variable.name} cannot be assigned what differs between examples")
                )
            variable._put(tensor)
        results = iter(found)
        return [next(results) if present else None for present in closed.present]


def without_lanes(x: Tensor, flag: bool) -> TensorType:
    """The type of an argument for one example."""
    return tensor_type(x.shape[1:], x.dtype) if flag else type_of(x)


def batched(
    function: Function, arguments: Sequence[Tensor], flags: Sequence[bool], size: DimLike, name: str
) -> list[Any]:  # fmt: skip
    """The results of a function of one example for a batch, all with the batch axis; None where it gives None."""
    types = [without_lanes(x, flag) for x, flag in zip(arguments, flags, strict=True)]
    found = Example(function, types, name)(arguments, flags)
    return [None if r is None else r[0] if r[1] else repeat(r[0], size) for r in found]
