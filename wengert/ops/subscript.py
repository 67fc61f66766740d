"""NumPy's indexing on tensors: what stands in the brackets, brought to slices and index arrays.

An index is read into one entry per axis. Slices, integers and new axes alone become `slice`, `flip` and `reshape`;
with an array among them the arrays, and integers beside them, become index arrays of a `gather`. Positions to write
to are found by the same code, which indexes the numbers of the elements.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np

from .._core import dims, dtypes
from .._core.apply import apply
from .._core.argument_types import ArrayLike, Index, ShapeLike
from .._core.constant import constant
from .._core.dims import Dim, DimLike, Shape
from .._core.engine import ENGINE_OF, ndarray_of
from .._core.graph import open_graph
from .._core.state import STATE
from .._core.tensor import Tensor, Value
from .._core.types import same_dim
from .._core.user_line import at_user_line
from .._prims import structural as S
from .._prims.indexing import gather
from ..errors import TracingError
from . import promotion
from .grids import at_grids, rows_of
from .promotion import as_ndarray, as_tensor, broadcast_shapes, is_followed_inside
from .repeating import taken_in_long_runs
from .shapes import flat, permuted, reshaped, with_axis


@final
class Whole(NamedTuple):
    """A slice along an axis: from `start` to `limit`, `step` apart, read backwards where `is_flipped`."""

    axis: int
    start: DimLike
    limit: DimLike
    step: int
    is_flipped: bool


@final
class Single(NamedTuple):
    """One position along an axis, which goes away."""

    axis: int
    position: int


@final
class NewAxis(NamedTuple):
    """A new axis of extent 1; it takes no axis of the operand."""


@final
class Gap(NamedTuple):
    """An ellipsis for no axes: it takes none and makes none, but index arrays on both sides of it are apart."""


@final
class Array(NamedTuple):
    """Index arrays for one axis after another from `axis` on; several come from one boolean array."""

    axis: int
    parts: tuple[Tensor, ...]


Entry = Whole | Single | NewAxis | Gap | Array

# -- reading -------------------------------------------------------------------------------------------------


def read(x: Tensor, index: Index, what: str) -> tuple[Tensor, list[Entry]]:
    """The entries of an index, ellipsis and missing axes filled in, and x with an axis for each lone True or False."""
    items = [_item(item, what) for item in (index if isinstance(index, tuple) else (index,))]
    taken = builtins.sum(map(_axes_taken, items))
    if taken > x.ndim:
        raise IndexError(at_user_line(f"{what}: the index is for {taken} axes and x has shape {x.shape}"))
    ellipses = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError(at_user_line(f"{what}: an index can have one ellipsis"))
    place = ellipses[0] if ellipses else len(items)
    items[place : place + len(ellipses)] = [slice(None)] * (x.ndim - taken) or (ellipses and [Ellipsis])
    entries: list[Entry] = []
    axis = 0
    for item in items:
        if _is_lone_truth(item):
            x = with_axis(x, axis)
            item = constant(np.zeros(int(item), np.int64))
        entries.append(_entry(x, axis, item, what))
        axis += _axes_taken(item)
    return x, entries


def _is_lone_truth(item: Index) -> bool:
    return isinstance(item, np.ndarray) and item.ndim == 0


def _axes_taken(item: Index) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, np.ndarray) else 1


def _item(item: Any, what: str) -> Any:
    """An entry as an int, a slice, an ellipsis or None, a tensor of integers, or a NumPy array of booleans."""
    if type(item) is int or isinstance(item, slice) or item is None or item is Ellipsis:
        return item
    if isinstance(item, (str, bytes, dict, float, complex)):
        raise IndexError(
            at_user_line(
                f"{what}: an index is an integer, a slice, an ellipsis, None, or an array of integers or booleans; "
                f"got {item!r}"
            )
        )
    if isinstance(item, (list, tuple, range)) and not is_followed_inside(item):
        try:
            item = np.array(item) if len(item) else np.zeros(0, np.int64)
        except ValueError:
            raise IndexError(at_user_line(f"{what}: the index is a ragged list: {item!r}")) from None
    if isinstance(item, (bool, np.ndarray, np.generic)):
        return _known_item(np.asarray(item), what)
    tensor = as_tensor(item, f"{what}: the index")
    if type(tensor._data) is not Value and is_known(tensor):
        return _known_item(known_values(tensor, what), what)
    if tensor.dtype == dtypes.bool_:
        return known_values(tensor, what)
    _require_integers(tensor.dtype, what)
    return promotion.cast(tensor, dtypes.int64)


def _known_item(array: np.ndarray[Any, Any], what: str) -> Any:
    if array.dtype == np.bool_:
        return array
    _require_integers(array.dtype, what)
    # as NumPy, an integer array of no axes is an integer
    return int(array) if array.ndim == 0 else constant(array.astype(np.int64))


def _require_integers(dtype: np.dtype[Any], what: str) -> None:
    if not dtypes.is_integer(dtype):
        raise IndexError(at_user_line(f"{what}: an index array has dtype {dtype}, wanted integers or booleans"))


def _entry(x: Tensor, axis: int, item: Any, what: str) -> Entry:
    if item is None:
        return NewAxis()
    if item is Ellipsis:
        return Gap()
    if isinstance(item, slice):
        return _whole(axis, item, x.shape[axis], what)
    if isinstance(item, np.ndarray):
        return _mask(x, axis, item, what)
    if isinstance(item, Tensor):
        return Array(axis, (item,))
    size = x.shape[axis]
    if type(size) is Dim:
        return Array(axis, (constant(np.int64(item)),))  # only `gather`, at run time, can tell if it is inside
    if not -size <= item < size:
        if _may_not_run():
            return Array(axis, (constant(np.int64(item)),))  # an error where the branch is taken
        raise IndexError(
            at_user_line(f"{what}: index {item} is out of bounds for axis {axis} of an x of shape {x.shape}")
        )
    return Single(axis, item % size)


def _may_not_run() -> bool:
    """Whether what is traced here is inside a branch."""
    builder = STATE.builder
    return builder is not None and any(g.is_branch for g in (builder, *builder.enclosing()))


def known_values(x: ArrayLike, what: str) -> np.ndarray[Any, Any]:
    """The values of an array on which a shape depends, as the number of true elements of a mask; a trace lacks them."""
    if not isinstance(x, Tensor):
        return as_ndarray(x, what)
    if not is_known(x):
        raise TracingError(
            at_user_line(
                f"{what}: how many elements are chosen by a symbolic mask of shape {x.shape} is not known while "
                f"tracing; use wg.where(mask, x, other), or a mask of known values"
            )
        )
    if type(x._data) is Value:
        return np.asarray(_constant_of(x))
    x._note_exit("an index")
    return ndarray_of(x._data)


def known_places(places: ArrayLike | ShapeLike, what: str) -> Any:
    """Numbers of elements or slices as NumPy takes them; the values of a tensor of them must be known."""
    return known_values(as_tensor(places, what), what) if is_followed_inside((places,), what) else places


def is_known(x: Tensor) -> bool:
    """Whether the elements of a tensor are known: a constant's are in a trace, too, a framework's tracers have none."""
    native = x._data
    return _constant_of(x) is not None if type(native) is Value else ENGINE_OF[type(native)].is_concrete(native)


def _constant_of(x: Tensor) -> Any:
    graph = open_graph(x._data.graph)
    return None if graph is None else graph.constants.get(x._data.key)


def _mask(x: Tensor, axis: int, mask: np.ndarray[Any, Any], what: str) -> Array:
    for i, extent in enumerate(mask.shape):
        if mask.size and not same_dim(x.shape[axis + i], extent):  # one without elements chooses none, of any shape
            raise IndexError(
                at_user_line(
                    f"{what}: a boolean index of shape {mask.shape} does not fit axis {axis + i} of shape {x.shape}"
                )
            )
    return Array(axis, (*[constant(part) for part in mask.nonzero()],))


_FARTHEST = 2**48  # the longest step of a slice that is told from longer ones: no axis has as many elements


def _bound(value: int | None) -> Any:
    return value if value is None or type(value) in (int, Dim) else operator.index(value)


def _whole(axis: int, item: slice, size: DimLike, what: str) -> Whole:
    start, stop, step = _bound(item.start), _bound(item.stop), 1 if item.step is None else operator.index(item.step)
    if step == 0:
        raise ValueError(at_user_line(f"{what}: the step of a slice cannot be 0"))
    step = max(-_FARTHEST, min(step, _FARTHEST))
    if Dim in (type(size), type(start), type(stop)):
        return _whole_of_dims(axis, start, stop, step, size)
    covered = range(*slice(start, stop, step).indices(size))
    if not covered:
        return Whole(axis, 0, 0, 1, False)
    if step > 0:
        # all the way to the end where nothing more would be taken: then a full slice is seen to be one
        limit = size if covered[-1] + step >= size else covered[-1] + 1
        return Whole(axis, covered[0], limit, step, False)
    return Whole(axis, covered[-1], covered[0] + 1, -step, True)


def _clamped(value: DimLike, size: DimLike, low: int, high: DimLike) -> DimLike:
    """A bound counted from the front and brought inside."""
    if type(value) is not Dim and value < 0:
        return dims.maximum(value + size, low)
    return dims.minimum(value, high)


def _limit_of_dims(first: DimLike, start: DimLike | None, stop: DimLike | None, size: DimLike) -> DimLike:
    """Where a slice forward ends, not before `first`: written so that slices of one length are seen to be of one."""
    if stop is None:
        return size
    limit = _clamped(stop, size, 0, size)
    if type(first) is int and first == 0:
        return limit
    if type(start) is int and type(stop) is int:
        if (start < 0) == (stop < 0):
            return limit if start < stop else first
        if stop < 0:  # x[1:-1] is as long as x[2:]
            return first + dims.maximum(size - start + stop, 0)
    return dims.maximum(limit, first)


def _whole_of_dims(axis: int, start: DimLike | None, stop: DimLike | None, step: int, size: DimLike) -> Whole:
    if step > 0:
        first = 0 if start is None or start == 0 else _clamped(start, size, 0, size)
        return Whole(axis, first, _limit_of_dims(first, start, stop, size), step, False)
    last = size - 1
    first = last if start is None else _clamped(start, size, -1, last)
    before = -1 if stop is None else _clamped(stop, size, -1, last)
    count = dims.floordiv(first - before + (-step - 1), -step)
    if start is not None or stop is not None:
        count = dims.maximum(count, 0)  # and of no elements the two bounds meet, not cross
        return Whole(axis, dims.minimum(first - (count - 1) * -step, first + 1), first + 1, -step, True)
    return Whole(axis, first - (count - 1) * -step, first + 1, -step, True)


# -- taking --------------------------------------------------------------------------------------------------


def take_index(x: Tensor, index: Index, what: str = "get_item") -> Tensor:
    """x[index]."""
    if type(index) is int and type(x._data) is not Value:
        shape = x._data.shape
        if shape and -shape[0] <= index < shape[0]:
            return apply(S.row, (x,), (index if index >= 0 else index + shape[0],))
    everyday = look_of_index(index) if STATE.builder is None else None
    if everyday is not None:
        return take_alike(x, index, everyday, what)
    x, entries = read(x, index, what)
    return _take_advanced(x, entries, what) if has_arrays(entries) else _taken(x, _taking(x.shape, entries))


def take_alike(x: Tensor, index: Index, look: tuple[Any, ...], what: str) -> Tensor:
    """x[index] where no trace is open, of an index that looks like this."""
    key = (x._data.shape, look)
    taking = TAKINGS.get(key)
    if taking is None:
        taking = _remembered(key, _taking(x.shape, read(x, index, what)[1]))
    return _taken(x, taking)


def look_of_index(index: Index) -> tuple[Any, ...] | None:
    """What an index of integers, slices, new axes and dots looks like; None for any other, and for dimensions."""
    look: list[Any] = []
    item: Any
    for item in index if type(index) is tuple else (index,):
        kind = type(item)
        if kind is slice:
            bounds = (item.start, item.stop, item.step)
            if not BOUNDS.issuperset(map(type, bounds)):
                return None
            look.append(bounds)
        elif kind is int or item is None or item is Ellipsis:
            look.append(item)
        else:
            return None
    return (*look,)


BOUNDS = frozenset({int, type(None)})


class Taking(NamedTuple):
    """What it comes to to read slices, integers and new axes.

    Attributes:
        bounds: starts, limits and strides, one for each axis; None where all is taken.
        flipped: the axes that are read backwards.
        shape: of the result, new axes and all.
    """

    bounds: tuple[Any, Any, Any] | None
    flipped: tuple[int, ...]
    shape: Shape


TAKINGS: dict[Any, Taking] = {}  # by the shape of an array and the look of an index
MOST_TAKINGS = 1024


def _remembered(key: object, taking: Taking) -> Taking:
    if len(TAKINGS) >= MOST_TAKINGS:
        TAKINGS.clear()
    TAKINGS[key] = taking
    return taking


def has_arrays(entries: list[Entry]) -> bool:
    """Whether an index has arrays in it, so that integers count as arrays too."""
    return builtins.any(type(e) is Array for e in entries)


def _taking(shape: Shape, entries: Sequence[Any]) -> Taking:
    """What it comes to to read an array by entries among which there is no index array."""
    starts, limits, strides, flipped, found = [], [], [], [], []
    entry: Whole | Single | NewAxis
    for entry in entries:
        if type(entry) is NewAxis:
            found.append(1)
            continue
        if type(entry) is Gap:
            continue
        if type(entry) is Single:
            start, limit, step = entry.position, entry.position + 1, 1
        else:
            start, limit, step = entry.start, entry.limit, entry.step
            found.append(dims.floordiv(limit - start + (step - 1), step))
            flipped += [entry.axis] if entry.is_flipped else []
        starts.append(start)
        limits.append(limit)
        strides.append(step)
    is_whole = all(a == 0 and b == n and s == 1 for n, a, b, s in zip(shape, starts, limits, strides))
    return Taking(None if is_whole else ((*starts,), (*limits,), (*strides,)), (*flipped,), (*found,))


def _taken(x: Tensor, taking: Taking) -> Tensor:
    bounds, flipped, shape = taking
    if bounds is not None:
        x = apply(S.slice_, (x,), bounds)
    if flipped:
        x = S.flip(x, axes=flipped)
    return reshaped(x, shape)


def _take_advanced(x: Tensor, entries: list[Entry], what: str) -> Tensor:
    slices = {e.axis: e for e in entries if type(e) is Whole}
    x = _taken(x, _taking(x.shape, [slices.get(i, Whole(i, 0, x.shape[i], 1, False)) for i in range(x.ndim)]))
    axes, arrays = addressed(entries, what)
    rest = [e.axis for e in entries if type(e) is Whole]
    picked = at_known_runs(x, axes[0], arrays[0]) if len(axes) == 1 else None
    if picked is None:
        picked = gather(permuted(x, (*axes, *rest)), *arrays)
    else:
        own = range(axes[0], axes[0] + arrays[0].ndim)
        picked = permuted(picked, (*own, *[i for i in range(picked.ndim) if i not in own]))
    return _placed(picked, entries, arrays[0].ndim)


def at_known_runs(x: Tensor, axis: int, positions: Tensor) -> Tensor | None:
    """In a trace the slices of x at positions along an axis, where these are known and form few long runs, or a grid
    of them, as the places of windows do: as slices of x, whose gradients are written where they belong, and not
    searched for. Else None.

    Elements of flat arrays stay with the pass that takes them from where they come from (`_passes/known_places.py`),
    and rows of tables what they are, since their gradients may be asked for as `IndexedSlices`.
    """
    is_of_rows = axis == 0 and x.ndim > 1
    if type(x._data) is not Value or is_of_rows or x.ndim + positions.ndim < 3 or not positions.ndim:
        return None
    if not is_known(positions):
        return None
    known = np.asarray(_constant_of(positions) if type(positions._data) is Value else ndarray_of(positions._data))
    if known.ndim == 1:
        return taken_in_long_runs(x, axis, known)
    size = x.shape[axis]
    rows = rows_of(known, size) if type(size) is int else None
    return None if rows is None else at_grids(x, {axis: rows})


def addressed(entries: list[Entry], what: str) -> tuple[list[int], list[Tensor]]:
    """The axes that arrays and integers address, and one index array for each, all of one shape."""
    axes: list[int] = []
    arrays: list[Tensor] = []
    for entry in entries:
        if type(entry) is Array:
            axes += range(entry.axis, entry.axis + len(entry.parts))
            arrays += entry.parts
        elif type(entry) is Single:
            axes.append(entry.axis)
            arrays.append(constant(np.int64(entry.position)))
    return axes, broadcast_indices(arrays, what)


def broadcast_indices(arrays: list[Tensor], what: str) -> list[Tensor]:
    """Index arrays in the shape in which they meet."""
    shape: Shape = ()
    for array in arrays:
        try:
            shape = broadcast_shapes(shape, array.shape, what)
        except ValueError as error:
            shapes = ", ".join(str(a.shape) for a in arrays)
            raise IndexError(
                at_user_line(f"{what}: index arrays have shapes {shapes}, which do not broadcast")
            ) from error
    return [promotion.broadcast(a, shape) for a in arrays]


def _placed(picked: Tensor, entries: list[Entry], rank: int) -> Tensor:
    """What was gathered, new axes put in, its index axes at the place of the index arrays (or in front)."""
    slices = iter(picked.shape[rank:])
    kept = [e for e in entries if type(e) in (Whole, NewAxis)]
    lengths = [next(slices) if type(e) is Whole else 1 for e in kept]
    picked = reshaped(picked, (*picked.shape[:rank], *lengths))
    place = index_place(entries)
    after = range(rank, rank + len(kept))
    return permuted(picked, (*after[:place], *range(rank), *after[place:]))


def index_place(entries: list[Entry]) -> int:
    """How many axes stand before those of the index arrays: none if something separates the arrays."""
    marks = [type(e) in (Array, Single) for e in entries]
    first, last = marks.index(True), len(marks) - 1 - marks[::-1].index(True)
    if not all(marks[first : last + 1]):
        return 0
    return builtins.sum(type(e) is not Gap for e in entries[:first])


# -- places to write to --------------------------------------------------------------------------------------


class Targets(NamedTuple):
    """What x[index] reads, as places to write to: index arrays into `base`, which is x or the flattened x."""

    base: Tensor
    positions: tuple[Tensor, ...]
    shape: Shape


def targets_of(x: Tensor, index: Index, what: str) -> Targets:
    """Where x[index] lies. Index arrays in front address rows of x; anything else, numbers of its elements."""
    seen, entries = read(x, index, what)
    if seen is x and _addresses_rows(entries, x):
        axes, arrays = addressed(entries, what)
        return Targets(x, tuple(arrays), (*arrays[0].shape, *x.shape[len(axes) :]))
    numbers = take_index(reshaped(S.iota(size=x.size, dtype=dtypes.int64), tuple(x.shape)), index, what)
    return Targets(flat(x), (numbers,), numbers.shape)


def _addresses_rows(entries: list[Entry], x: Tensor) -> bool:
    """Whether arrays and integers come first, and after them axes that are taken whole."""
    marks = [type(e) in (Array, Single) for e in entries]
    count = builtins.sum(marks)
    return count > 0 and all(marks[:count]) and all(_is_full(e, x) for e in entries[count:])


def _is_full(entry: Entry, x: Tensor) -> bool:
    return type(entry) is Whole and entry[1:] == (0, x.shape[entry.axis], 1, False)
