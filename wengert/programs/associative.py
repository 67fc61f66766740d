"""`associative_scan`: running results of an associative function, in a number of calls that grows as log2(n).

The scheme is that of prefix sums on parallel machines: combine neighbours, scan the half as long row of pairs, and
fill the places between (G. E. Blelloch, "Prefix sums and their applications", CMU-CS-90-190, 1990). It is made of
slices, joins and calls of the user's function, so it is differentiated as any program is.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._compile.arguments import require_callable
from .._control.values import Leaves, met_dtype, require_same_structure, require_same_type
from .._core.argument_types import Tree
from .._core.caller import TENSORS, caller_of
from .._core.dims import Dim
from .._core.public import public
from .._core.state import STATE
from .._core.tensor import Tensor
from .._core.types import same_dim
from .._core.user_line import at_user_line
from .._prims.structural import cast
from ..errors import TracingError
from ..ops.flips_and_rolls import flip
from ..ops.joining import concatenate
from ..ops.promotion import normal_axis
from ..ops.shapes import expand_dims, reshape

__all__ = ["associative_scan"]

Row = list[Tensor]  # one tensor for each leaf, all of one extent along that leaf's axis


@public
def associative_scan(f: Callable[[Any, Any], Any], elems: Tree, reverse: bool = False, axis: int = 0) -> Any:
    """All running results of an associative function along an axis: `y[i] = f(y[i - 1], x[i])`, `y[0] = x[0]`.

    Gives what `scan` would, in about `2 * log2(n)` calls of `f` on whole batches instead of n calls on elements.

    Args:
        f: `f(a, b)` combines two elements, a before b; associative. It gets structures as `elems` whose arrays hold
            any number of elements along `axis`, combines them pairwise, and returns the same structure and types.
        elems: an array of any dtype, or a nested structure of them, of one extent along `axis`.
        reverse: whether to go from the last element to the first: `y[i] = f(y[i + 1], x[i])`.
        axis: the axis along which the elements lie; a negative one counts from each array's last.

    Returns:
        The running results, in the structure, shapes and dtypes of `elems`. With no or one element `f` is not called.

    Raises:
        TypeError: `f` is not callable, or changes structure, shape or dtype; there is no array in `elems`.
        ValueError: the extents along `axis` differ, or an array has no such axis.
        TracingError: the extent is not known in a trace.

    Gradients go through every call of `f`, to any order; at kinks they are those of the ops in it.

    Example:
        >>> import numpy as np, wengert as wg
        >>> wg.associative_scan(lambda a, b: a * b, np.array([1.0, 2.0, 3.0, 4.0]))
        array([ 1.,  2.,  6., 24.])
        >>> wg.grad(lambda x: wg.associative_scan(lambda a, b: a * b, x)[-1])(np.array([2.0, 3.0]))
        array([3., 2.])
    """
    require_callable(f, "associative_scan")
    given = Leaves(elems, "elems")
    if not given.tensors:
        raise TypeError(at_user_line("associative_scan: there is no array in elems"))
    axes = [normal_axis(axis, len(x.shape), f"associative_scan: {given.path(i)}") for i, x in enumerate(given.tensors)]
    extent = _extent(given, axes)
    pairwise = _Pairwise(f, given, axes)
    row = [flip(x, a) for x, a in zip(given.tensors, axes, strict=True)] if reverse else given.tensors
    found = pairwise.running(row, extent)
    if reverse:
        found = [flip(x, a) for x, a in zip(found, axes, strict=True)]
    caller = TENSORS if STATE.builder is not None else caller_of((elems,))
    return caller.result(given.rebuilt(found))


def _extent(given: Leaves, axes: Sequence[int]) -> int:
    """The number of elements, which every array has."""
    first = given.tensors[0].shape[axes[0]]
    for index, (x, axis) in enumerate(zip(given.tensors, axes, strict=True)):
        if not same_dim(first, x.shape[axis]):
            raise ValueError(
                at_user_line(
                    f"associative_scan: {given.path(0)} has {first} elements along its axis, {given.path(index)} has "
                    f"{x.shape[axis]}"
                )
            )
    if isinstance(first, Dim):
        raise TracingError(
            at_user_line(
                f"associative_scan: the number of elements along the axis is not known in this trace ({first}); give "
                "the argument a fixed shape, or use wg.scan"
            )
        )
    return first


class _Pairwise:
    """The user's function on rows of elements."""

    def __init__(self, fn: Callable[[Any, Any], Any], given: Leaves, axes: Sequence[int]) -> None:
        self.fn = fn
        self.given = given
        self.axes = axes

    def running(self, row: Row, extent: int) -> Row:
        """The running results of a row."""
        if extent < 2:
            return row
        pairs = extent // 2
        odd = self.running(self.combined(self.cut(row, 0, 2 * pairs, 2), self.cut(row, 1, 2 * pairs, 2)), pairs)
        between = (extent - 1) // 2
        even = self.cut(row, 0, 1, 1)
        if between:
            later = self.combined(self.cut(odd, 0, between, 1), self.cut(row, 2, extent, 2))
            even = [concatenate([x, y], axis=a) for x, y, a in zip(even, later, self.axes, strict=True)]
        return [_interleaved(x, y, a, extent) for x, y, a in zip(even, odd, self.axes, strict=True)]

    def combined(self, first: Row, second: Row) -> Row:
        """What the user's function makes of pairs."""
        given = self.given
        found = Leaves(self.fn(given.rebuilt(first), given.rebuilt(second)), given.name)
        require_same_structure("associative_scan", given, found, ("elems", "f's result"))
        row: Row = []
        for index, (x, y) in enumerate(zip(first, found.tensors, strict=True)):
            if x.dtype != y.dtype and y._weak:
                y = cast(y, met_dtype(x, y))
            require_same_type("associative_scan", given.path(index), x, y, ("an element", "f's result"))
            row.append(y)
        return row

    def cut(self, row: Row, start: int, stop: int, step: int) -> Row:
        """Some elements of a row."""
        return [x[(slice(None),) * a + (slice(start, stop, step),)] for x, a in zip(row, self.axes, strict=True)]


def _interleaved(even: Tensor, odd: Tensor, axis: int, extent: int) -> Tensor:
    """The elements of two rows by turns; `even` begins, and has one more if the extent is odd."""
    head = (slice(None),) * axis
    pairs = extent // 2
    paired = even[(*head, slice(pairs))] if extent % 2 else even
    joined = concatenate([expand_dims(paired, axis + 1), expand_dims(odd, axis + 1)], axis=axis + 1)
    both = reshape(joined, (*even.shape[:axis], 2 * pairs, *even.shape[axis + 1 :]))
    return concatenate([both, even[(*head, slice(pairs, None))]], axis=axis) if extent % 2 else both
