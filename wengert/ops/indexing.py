"""Ops that read and write at positions: indexing, taking, choosing, scattering, sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import dims, dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike, Axes, ShapeLike
from .._core.constant import constant, is_number
from .._core.dims import Shape
from .._core.moving import beside
from .._core.tensor import Tensor, Value
from .._core.user_line import at_user_line
from .._prims import indexing as I
from .._prims import piecewise as W
from .._prims import sorting as O
from .._prims import structural as S
from . import lexicographic, promotion
from .elementwise import _truth, floor_divide
from .outside_numbers import chosen_beside, in_floats
from .promotion import as_tensor, broadcast_shapes, names_errors, normal_axis, outward, public
from .shapes import flat, moved, new_shape, part, reshaped
from .splitting import unstack
from .subscript import at_known_runs, broadcast_indices, known_values, take_index
from .written_values import fitting

# -- reading by position -------------------------------------------------------------------------------------


@public
def get_item(x: ArrayLike, key: tuple[Any, ...]) -> Any:
    """x[key], with all of NumPy's indexing.

    Args:
        x: an array.
        key: integers, slices of any step, an ellipsis, None, integer arrays, boolean arrays, or a tuple of them;
            index arrays may be tensors, boolean ones must have known values.

    Returns:
        The elements in x's kind, never a view. The gradient of an element read twice is the sum of both.

    Raises:
        IndexError: for an index out of range, too many indices, or something that is no index.
        TracingError: for a symbolic boolean array, whose number of true elements is not known.

    Example:
        >>> import wengert as wg
        >>> wg.ops.get_item([10.0, 20.0, 30.0], [2, 0])
        array([30., 10.])
    """
    return take_index(as_tensor(x, "get_item"), key)


def _integer_positions(indices: ArrayLike, what: str) -> Tensor:
    positions = as_tensor(np.zeros(0, np.int64) if isinstance(indices, list) and not indices else indices, what)
    if positions.dtype == dtypes.bool_ or not dtypes.is_integer(positions.dtype):
        raise TypeError(at_user_line(f"{what}: indices have dtype {positions.dtype.name}, wanted integers"))
    return promotion.cast(positions, dtypes.int64)


@public
def take(x: ArrayLike, indices: ArrayLike, axis: Axes = None) -> Any:
    """The slices of x at positions along an axis.

    Args:
        x: an array.
        indices: an integer or an array of integers; negative ones count from the end, booleans are 0 and 1.
        axis: the axis; None takes from the flattened array.

    Returns:
        An array in x's kind with the axes of `indices` in place of the axis.

    Raises:
        IndexError: for a position out of range.
        TypeError: if `indices` are not integers.

    Example:
        >>> import wengert as wg
        >>> wg.ops.take([10.0, 20.0, 30.0], [2, 0])
        array([30., 10.])
    """
    a = as_tensor(x, "take")
    a, place = (flat(a), 0) if axis is None else (a, normal_axis(axis, a.ndim, "take"))
    positions = as_tensor(indices, "take")
    is_truth = positions.dtype == dtypes.bool_  # to NumPy's `take`, and to no other op that takes positions, 0 and 1
    positions = promotion.cast(positions, dtypes.int64) if is_truth else _integer_positions(indices, "take")
    known = at_known_runs(a, place, positions)
    if known is not None:
        return known
    taken = I.gather(moved(a, place, 0), positions)
    rank, rest = positions.ndim, range(positions.ndim, taken.ndim)
    return S.transpose(taken, perm=(*rest[:place], *range(rank), *rest[place:])) if place else taken


@public
def take_along_axis(x: ArrayLike, indices: ArrayLike, axis: Axes = None) -> Any:
    """For each place along an axis the element at a position of its own, as `argsort` gives them.

    Args:
        x: an array.
        indices: an array of integers with x's number of axes; off the axis the shapes broadcast.
        axis: the axis; None takes from the flattened array.

    Returns:
        An array in x's kind.

    Raises:
        IndexError: for a position out of range.
        ValueError: if `indices` has another number of axes.

    Example:
        >>> import wengert as wg
        >>> wg.ops.take_along_axis([[1.0, 2.0], [3.0, 4.0]], [[1], [0]], axis=1)
        array([[2.],
               [3.]])
    """
    a, positions = as_tensor(x, "take_along_axis"), _integer_positions(indices, "take_along_axis")
    a, place = (flat(a), 0) if axis is None else (a, normal_axis(axis, a.ndim, "take_along_axis"))
    if positions.ndim != a.ndim:
        raise ValueError(
            at_user_line(
                f"take_along_axis: x has shape {a.shape} and indices has shape {positions.shape}: not as many axes"
            )
        )
    off_axis = broadcast_shapes(S.kept(a.shape, (place,)), S.kept(positions.shape, (place,)), "take_along_axis")
    shape = (*off_axis[:place], positions.shape[place], *off_axis[place + 1 :])
    a = promotion.broadcast(a, (*off_axis[:place], a.shape[place], *off_axis[place + 1 :]))
    arrays = [promotion.broadcast(positions, shape) if i == place else _counted(i, shape) for i in range(a.ndim)]
    return I.gather(a, *arrays)


def _counted(axis: int, shape: Shape) -> Tensor:
    """The number of each element along an axis."""
    numbers = S.iota(size=shape[axis], dtype=dtypes.int64)
    return promotion.broadcast(reshaped(numbers, (shape[axis], *(1,) * (len(shape) - 1 - axis))), shape)


@names_errors
def slice(inputs: ArrayLike, start_indices: ArrayLike, shape: ShapeLike) -> Any:
    """The block of a given shape that begins at given positions.

    Args:
        inputs: an array.
        start_indices: the first position along each axis; tensors may decide them at run time.
        shape: the shape of the block.

    Returns:
        The block in the kind of `inputs`.

    Raises:
        IndexError: if the block does not lie inside.

    Example:
        >>> import wengert as wg
        >>> wg.ops.slice([10.0, 20.0, 30.0], [1], [2])
        array([20., 30.])
    """
    a = as_tensor(inputs, "slice")
    return outward(I.gather(a, *_block(a, start_indices, new_shape(shape, "slice"), "slice")), inputs, start_indices)


@names_errors
def slice_update(inputs: ArrayLike, start_indices: ArrayLike, updates: ArrayLike) -> Any:
    """An array with a block written over it.

    Args:
        inputs: an array.
        start_indices: the first position of the block along each axis; tensors may decide them at run time.
        updates: the block.

    Returns:
        The new array in the kind that came in.

    Raises:
        IndexError: if the block does not lie inside.

    Example:
        >>> import wengert as wg
        >>> wg.ops.slice_update([10.0, 20.0, 30.0], [1], [0.0, 1.0])
        array([10.,  0.,  1.])
    """
    a = as_tensor(inputs, "slice_update")
    block = fitting(as_tensor(updates, "slice_update"), a, "slice_update")
    positions = _block(a, start_indices, block.shape, "slice_update")
    return outward(I.scatter_set(a, block, *positions), inputs, start_indices, updates)


def _block(x: Tensor, starts: Any, shape: Shape, what: str) -> list[Tensor]:
    """An index array for each axis of x: the positions of a block. Negative starts count from the end."""
    first = list(starts) if isinstance(starts, (list, tuple)) else _unstacked(as_tensor(starts, what))
    if not len(first) == len(shape) == x.ndim or x.ndim == 0:
        raise ValueError(
            at_user_line(
                f"{what}: an x of shape {x.shape} needs a start and an extent for each axis, got {starts} and {shape}"
            )
        )
    arrays = []
    for axis, start in enumerate(first):
        position = _integer_positions(start, what)
        _require_inside(position, x.shape[axis], shape[axis], axis, what)
        arrays.append(S.add(promotion.broadcast(reshaped(position, ()), shape), _counted(axis, shape)))
    return arrays


def _unstacked(starts: Tensor) -> list[Tensor]:
    return [starts] if starts.ndim == 0 else unstack(starts)


def _require_inside(position: Tensor, size: ShapeLike | None, extent: Any, axis: int, what: str) -> None:
    """A known start has a block inside the axis; of the others `gather` sees each position at run time."""
    if type(position._data) is Value or type(size) is not int or type(extent) is not int:
        return
    start = int(np.asarray(position.numpy()).item())
    if not 0 <= (start + size if start < 0 else start) <= size - extent or (start < 0 < start + extent):
        raise IndexError(
            at_user_line(
                f"{what}: a block of extent {extent} at {start} does not lie inside axis {axis} of extent {size}"
            )
        )


# -- choosing by condition -----------------------------------------------------------------------------------


@names_errors
def where(condition: Any, x1: ArrayLike | None = None, x2: ArrayLike | None = None) -> Any:
    """x1 where a condition holds, else x2; with the condition alone, the positions where it holds.

    Args:
        condition: booleans, or numbers that count as true where they are not 0.
        x1: an array or a number.
        x2: an array or a number; the three shapes broadcast, the two dtypes promote.

    Returns:
        The chosen elements. What was not chosen has gradient 0, whatever slope it had. With one argument, as
        `nonzero`.

    Raises:
        ValueError: if only one of x1 and x2 is given.

    Example:
        >>> import wengert as wg
        >>> wg.ops.where([True, False], [1.0, 2.0], 0.0)
        array([1., 0.])
    """
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError(at_user_line("where: give both x1 and x2, or neither"))
    return outward(_chosen(_truth(as_tensor(condition, "where")), x1, x2, "where"), condition, x1, x2)


def _chosen(mask: Tensor, x1: ArrayLike, x2: ArrayLike, what: str) -> Tensor:
    x1, x2 = chosen_beside(x1, x2, what), chosen_beside(x2, x1, what)
    a, b = promotion.meet(*promotion.tensors_of(x1, x2, what), what)
    shape = a._data.shape
    if mask._data.shape != shape:
        shape = broadcast_shapes(shape, mask.shape, what)
        a, b, mask = (promotion.broadcast(t, shape) for t in (a, b, mask))
    return apply(S.select, (mask, a, b))


@names_errors
def select(condlist: Any, choicelist: Any, default: ArrayLike = 0) -> Any:
    """From several arrays, each element from the first whose condition holds.

    Args:
        condlist: a sequence of boolean arrays.
        choicelist: a sequence of arrays, one for each condition; shapes broadcast, dtypes promote.
        default: what stands where no condition holds.

    Returns:
        The chosen elements in the kind that came in.

    Raises:
        ValueError: if there are no conditions, or not as many choices.

    Example:
        >>> import wengert as wg
        >>> wg.ops.select([[True, False], [True, True]], [[1.0, 1.0], [2.0, 2.0]])
        array([1., 2.])
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(
            at_user_line(f"select: wanted one choice for each condition, got {len(condlist)} and {len(choicelist)}")
        )
    *choices, result = _in_one_dtype([*choicelist, default], "select")
    for condition, choice in reversed(list(zip(condlist, choices))):
        result = _chosen(_truth(as_tensor(condition, "select")), choice, result, "select")
    return outward(result, condlist, choicelist, default)


def _in_one_dtype(values: list[Any], what: str) -> list[Tensor]:
    """Arrays and Python numbers as tensors of the dtype in which all of them meet.

    Pair by pair it would be another one: two numbers alone have a dtype of their own.
    """
    arrays = [as_tensor(x, what) for x in values if not is_number(x)]
    is_float = not arrays or dtypes.is_inexact(promotion.common_dtype(arrays))
    tensors = [as_tensor(in_floats(x) if is_float else x, what) for x in values]
    dtype = promotion.common_dtype(tensors)
    return [promotion.cast(x, dtype) for x in tensors]


def _positions_of(x: ArrayLike, what: str) -> tuple[np.ndarray[Any, Any], ...]:
    values = known_values(x, what)
    if values.ndim == 0:
        raise ValueError(at_user_line(f"{what}: wanted at least one axis, got a number; use atleast_1d"))
    return values.nonzero()


def _position_tensor(positions: np.ndarray[Any, Any], x: ArrayLike) -> Tensor:
    """Positions found in x, on x's engine."""
    return beside(constant(positions), as_tensor(x))


@public
def nonzero(x: ArrayLike) -> Any:
    """The positions of the elements that are not zero.

    Args:
        x: an array of known values: how many there are decides the shape.

    Returns:
        One array of integers for each axis, in a tuple, in x's kind.

    Raises:
        TracingError: on a symbolic tensor.

    Example:
        >>> import wengert as wg
        >>> wg.ops.nonzero([0, 5, 0, 7])
        (array([1, 3]),)
    """
    return (*[_position_tensor(p, x) for p in _positions_of(x, "nonzero")],)


@public
def flatnonzero(x: ArrayLike) -> Any:
    """The positions, in the flattened array, of the elements that are not zero.

    Args:
        x: an array of known values.

    Returns:
        A vector of integers in x's kind.

    Raises:
        TracingError: on a symbolic tensor.

    Example:
        >>> import wengert as wg
        >>> wg.ops.flatnonzero([[0, 5], [0, 7]])
        array([1, 3])
    """
    return _position_tensor(known_values(x, "flatnonzero").ravel().nonzero()[0], x)


@public
def argwhere(x: ArrayLike) -> Any:
    """The positions of the elements that are not zero, one a row.

    Args:
        x: an array of known values.

    Returns:
        A matrix of integers in x's kind.

    Raises:
        TracingError: on a symbolic tensor.

    Example:
        >>> import wengert as wg
        >>> wg.ops.argwhere([[0, 5], [0, 7]])
        array([[0, 1],
               [1, 1]])
    """
    return _position_tensor(np.stack(_positions_of(x, "argwhere"), axis=-1), x)


@names_errors
def unravel_index(indices: ArrayLike, shape: ShapeLike) -> Any:
    """Positions in the flattened array as positions along each axis.

    Args:
        indices: an integer or an array of them; negative ones count from the end.
        shape: the shape of the array.

    Returns:
        One array of integers for each axis, in a tuple.

    Raises:
        ValueError: for a known position out of range.

    Example:
        >>> import wengert as wg
        >>> wg.ops.unravel_index([1, 3], (2, 2))
        (array([0, 1]), array([1, 1]))
    """
    positions = _integer_positions(indices, "unravel_index")
    extents = new_shape(shape, "unravel_index")
    size = dims.size_of(extents)
    if type(positions._data) is not Value and type(size) is int:
        values = positions.numpy()
        outside = (values < -size) | (values >= size)
        if outside.any():
            told = f"unravel_index: index {values[outside][0]} is out of bounds for shape {extents} of {size} elements"
            raise ValueError(at_user_line(told))
    rest = positions
    result: list[Tensor] = []
    for extent in reversed(extents):  # floor and remainder bring negative positions inside by themselves
        divisor = promotion.broadcast(promotion.cast(as_tensor(extent), dtypes.int64), rest.shape)
        result.append(apply(W.mod, (rest, divisor)))
        rest = floor_divide(rest, divisor)
    return outward((*reversed(result),), indices)


# -- writing at positions: new arrays ------------------------------------------------------------------------

_REDUCTIONS = {
    None: I.scatter_set, "add": I.scatter_add, "mul": I.scatter_mul, "max": I.scatter_max, "min": I.scatter_min,
}  # fmt: skip


@names_errors
def scatter(indices: ArrayLike, values: ArrayLike, shape: ShapeLike) -> Any:
    """Zeros with values added at positions; values for one position add up.

    Args:
        indices: integers of shape (..., k): positions along the first k axes.
        values: what is added, of shape (..., *shape[k:]).
        shape: the shape of the result.

    Returns:
        An array in the kind of `values`.

    Raises:
        IndexError: for a position out of range.

    Example:
        >>> import wengert as wg
        >>> wg.ops.scatter([[0], [2], [2]], [1.0, 2.0, 3.0], (4,))
        array([1., 0., 5., 0.])
    """
    updates = as_tensor(values, "scatter")
    base = S.full(shape=new_shape(shape, "scatter"), value=0, dtype=updates.dtype)
    return outward(I.scatter_add(base, updates, *_columns(indices, base, "scatter")), indices, values)


@names_errors
def scatter_update(inputs: ArrayLike, indices: ArrayLike, updates: ArrayLike, reduction: object = None) -> Any:
    """An array with updates written to, or combined with, what stands at positions.

    Args:
        inputs: an array.
        indices: integers of shape (..., k): positions along the first k axes.
        updates: what is written, of shape (..., *inputs.shape[k:]).
        reduction: None (the last update of a position wins), "add", "mul", "max" or "min".

    Returns:
        The new array in the kind that came in.

    Raises:
        IndexError: for a position out of range.
        ValueError: for another `reduction`.

    Example:
        >>> import wengert as wg
        >>> wg.ops.scatter_update([1.0, 2.0], [[0]], [5.0], reduction="add")
        array([6., 2.])
    """
    if reduction not in _REDUCTIONS:
        raise ValueError(at_user_line(f"scatter_update: reduction is {reduction!r}, wanted one of {list(_REDUCTIONS)}"))
    a = as_tensor(inputs, "scatter_update")
    values = fitting(as_tensor(updates, "scatter_update"), a, "scatter_update")
    columns = _columns(indices, a, "scatter_update")
    wanted = (*columns[0].shape, *a.shape[len(columns) :])
    result = _REDUCTIONS[reduction](a, promotion.broadcast(values, wanted), *columns)
    return outward(result, inputs, indices, updates)


def _columns(indices: ArrayLike, x: Tensor, what: str) -> list[Tensor]:
    """Positions that stand together on the last axis, as one array for each axis of x that they address."""
    positions = _integer_positions(indices, what)
    count = positions.shape[-1] if positions.ndim else 0
    if type(count) is not int or not 1 <= count <= x.ndim:
        raise ValueError(
            at_user_line(
                f"{what}: indices has shape {positions.shape}, wanted 1 to {x.ndim} positions on the last axis"
            )
        )
    last = positions.ndim - 1
    shape = positions.shape[:-1]
    return broadcast_indices([reshaped(part(positions, last, i, i + 1), shape) for i in range(count)], what)


# -- order ---------------------------------------------------------------------------------------------------


def _ordered(op: Callable[..., Any], x: ArrayLike, axis: Axes, descending: bool, what: str) -> Tensor:
    a = as_tensor(x, what)
    is_flat = axis is None or (a.ndim == 0 and op is O.argsort and axis in (0, -1))  # NumPy's argsort of a number: [0]
    a, place = (flat(a), 0) if is_flat else (a, axis)
    place = normal_axis(place, a.ndim, what)
    if a.dtype.kind == "c":
        return (lexicographic.sort if op is O.sort else lexicographic.argsort)(a, place, descending)
    if a.dtype != dtypes.bool_:
        return op(a, axis=place, descending=descending)
    result = op(promotion.cast(a, np.dtype(np.uint8)), axis=place, descending=descending)
    return result if op is O.argsort else promotion.cast(result, dtypes.bool_)


@public
def sort(x: ArrayLike, axis: Axes = -1, *, descending: bool = False) -> Any:
    """x sorted along an axis; equal elements keep their order, NaN count as larger than all.

    Args:
        x: an array; complex numbers are ordered by real parts, equal ones by imaginary parts.
        axis: the axis; None sorts the flattened array.
        descending: whether the largest come first.

    Returns:
        The sorted array in x's kind; the gradient goes back to where each element came from.

    Example:
        >>> import wengert as wg
        >>> wg.ops.sort([3.0, 1.0, 2.0])
        array([1., 2., 3.])
    """
    return _ordered(O.sort, x, axis, bool(descending), "sort")


@public
def argsort(x: ArrayLike, axis: Axes = -1, *, descending: bool = False) -> Any:
    """The positions that sort x along an axis; equal elements keep their order, NaN count as larger than all.

    Args:
        x: an array; complex numbers are ordered by real parts, equal ones by imaginary parts.
        axis: the axis; None sorts the flattened array.
        descending: whether the largest come first.

    Returns:
        Integers (int64) in x's kind, constants to a gradient.

    Example:
        >>> import wengert as wg
        >>> wg.ops.argsort([3.0, 1.0, 2.0])
        array([1, 2, 0])
    """
    return _ordered(O.argsort, x, axis, bool(descending), "argsort")


def falling_order(x: ArrayLike, axis: Axes) -> Tensor:
    """The positions of the elements from the largest on, as NumPy orders them, NaN last."""
    a = as_tensor(x, "argsort")
    is_inexact = dtypes.is_inexact(a.dtype)
    return _ordered(O.argsort, S.neg(a) if is_inexact else a, axis, not is_inexact, "argsort")


def falling(x: ArrayLike, axis: Axes) -> Tensor:
    """The elements in the order of `falling_order`."""
    a = as_tensor(x, "sort")
    a, place = (flat(a), 0) if axis is None else (a, normal_axis(axis, a.ndim, "sort"))
    return take_along_axis(a, falling_order(a, place), place)


__all__ = [
    "get_item", "take", "take_along_axis", "slice", "slice_update", "where", "select", "nonzero", "flatnonzero",
    "argwhere", "unravel_index", "scatter", "scatter_update", "sort", "argsort",
]  # fmt: skip
