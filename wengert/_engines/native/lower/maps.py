"""Primitives that move elements: for each element of the result, which element of an operand it is.

A `Map` says so by index; where an operand lies in memory, `view` may give the result as a view of it; where the number
of an element in row-major order is all that counts, `flat` says so by number. `check` is emitted once, where the node
stands, before anything reads the result: it ends the function where an index is out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from ..ir import half_floats
from ..ir.builder import Builder
from ..ir.loops import COMPLEX, FLOATS, FRACTIONS, HALVES, Operand, Status
from ..plan.schedule import SMALL
from .forms import (
    Elements,
    Extents,
    Form,
    Index,
    Stored,
    count_of,
    flat_place,
    is_numbers,
    row_major,
    strides_of,
    unflattened,
)
from .ranges import is_one


class Info(NamedTuple):
    """What a rule knows of a node: its attributes (dimensions as operands), and the result's shape and type."""

    attrs: tuple[Any, ...]
    shape: Extents
    type: str


class Map(NamedTuple):
    """How a primitive moves elements.

    Attributes:
        at: `at(b, info, operands, index)`, the element at an index.
        view: `view(b, info, operands)`, the result as a view of a stored operand, or None.
        flat: `flat(b, info, operands, place)`, the element of a number.
        is_flat: `is_flat(info, operands)`, whether `flat` may be asked.
        check: `check(b, info, operands)`.
        repeats: whether one element may be read many times.
        is_whole: whether views hold each element once, so that they can be written to.
    """

    at: Callable[[Builder, Info, Sequence[Form], Index], Operand]
    view: Callable[[Builder, Info, Sequence[Form]], Stored | None] = lambda b, info, xs: None
    flat: Callable[[Builder, Info, Sequence[Form], Operand], Operand] | None = None
    is_flat: Callable[[Info, Sequence[Form]], bool] = lambda info, xs: False
    check: Callable[[Builder, Info, Sequence[Form]], None] | None = None
    repeats: bool = False
    is_whole: bool = False


def zero_of(type_: str) -> Operand:
    """The number 0 of a type."""
    return 0.0 if type_ in FRACTIONS else False if type_ == "bool" else 0


# -- repeating --------------------------------------------------------------------------------------------------------


def _broadcast_index(x: Form, index: Index) -> Index:
    lead = len(index) - len(x.shape)
    return (*[0 if is_one(n) else i for n, i in zip(x.shape, index[lead:], strict=True)],)


def _broadcast_view(b: Builder, info: Info, xs: Sequence[Form]) -> Stored | None:
    (x,) = xs
    if type(x) is Elements and _is_worth_memory(b, x, info.shape):
        x = Stored(x.shape, x.spilled(b))
    if type(x) is not Stored:
        return None
    lead = len(info.shape) - len(x.shape)
    own = [0 if is_one(n) else s for n, s in zip(x.shape, x.strides, strict=True)]
    return Stored(info.shape, x.array, x.offset, (*(0,) * lead, *own), False)


def _is_worth_memory(b: Builder, x: Elements, shape: Extents) -> bool:
    """Whether few elements that much is made of are better read from memory, where they stand once, as products do."""
    if b.width or len(x.items) < 2:
        return False
    return not is_numbers(shape) or cast(int, count_of(b, shape)) > SMALL


def _is_single(x: Form) -> bool:
    return all(is_one(n) for n in x.shape)


# -- another shape ----------------------------------------------------------------------------------------------------


def _runs(source: Extents, target: Extents) -> list[tuple[range, range]]:
    """Runs of axes of two shapes that hold the same elements, as fine as can be told."""
    found: list[tuple[range, range]] = []
    i = j = 0
    while i < len(source) or j < len(target):
        first, second = i, j
        if i < len(source) and j < len(target) and source[i] is target[j]:
            i, j = i + 1, j + 1
        elif i < len(source) and is_one(source[i]):
            i += 1
        elif j < len(target) and is_one(target[j]):
            j += 1
        else:
            i, j = _run_end(source, target, i, j)
        found.append((range(first, i), range(second, j)))
    return found


def _run_end(source: Extents, target: Extents, i: int, j: int) -> tuple[int, int]:
    """Behind the first axes from (i, j) on that have the same number of elements; the end, if that is not known."""
    end = (len(source), len(target))
    if i == end[0] or j == end[1]:
        return end
    left, right = source[i], target[j]
    i, j = i + 1, j + 1
    while True:
        if type(left) is not int or type(right) is not int:
            return end
        if left == right:
            return i, j
        if left < right:
            if i == end[0] or type(source[i]) is not int:
                return end
            left, i = left * source[i], i + 1  # pyright: ignore[reportOperatorIssue]  # extents that are numbers
        else:
            if j == end[1] or type(target[j]) is not int:
                return end
            right, j = right * target[j], j + 1  # pyright: ignore[reportOperatorIssue]  # extents that are numbers


def _reshape_at(b: Builder, info: Info, xs: Sequence[Form], index: Index) -> Operand:
    (x,) = xs
    found: list[Operand] = []
    for own, theirs in _runs(x.shape, info.shape):
        if len(own) == len(theirs) == 1:
            found.append(index[theirs[0]])
            continue
        shape = (*[x.shape[a] for a in own],)
        place = flat_place(b, (*[info.shape[a] for a in theirs],), (*[index[a] for a in theirs],))
        found += unflattened(b, shape, place)
    return x.at(b, (*found,))


def _reshape_view(b: Builder, info: Info, xs: Sequence[Form]) -> Stored | None:
    (x,) = xs
    if type(x) is not Stored:
        return None
    if x.is_dense:
        return Stored(info.shape, x.array, x.offset, strides_of(b, info.shape), True)
    strides: list[Operand] = []
    for own, theirs in _runs(x.shape, info.shape):
        if len(own) == len(theirs) == 1:
            strides.append(x.strides[own[0]])
        elif not all(is_one(info.shape[a]) for a in theirs):
            return None
        else:
            strides += [0] * len(theirs)
    return Stored(info.shape, x.array, x.offset, (*strides,), False)


# -- other places -----------------------------------------------------------------------------------------------------


def _transposed(info: Info, index: Index) -> Index:
    (perm,) = info.attrs
    found: list[Operand] = [0] * len(index)
    for i, axis in zip(index, perm, strict=True):
        found[axis] = i
    return (*found,)


def _transpose_view(b: Builder, info: Info, xs: Sequence[Form]) -> Stored | None:
    (x,) = xs
    if type(x) is not Stored:
        return None
    return _viewed(info.shape, x, x.offset, (*[x.strides[p] for p in info.attrs[0]],))


def _slice_at(b: Builder, info: Info, xs: Sequence[Form], index: Index) -> Operand:
    starts, _, strides = info.attrs
    places = [b.add(b.mul(i, s), start) for i, s, start in zip(index, strides, starts, strict=True)]
    return xs[0].at(b, (*places,))


def _slice_view(b: Builder, info: Info, xs: Sequence[Form]) -> Stored | None:
    (x,) = xs
    if type(x) is not Stored:
        return None
    starts, _, strides = info.attrs
    offset = x.offset
    for start, stride in zip(starts, x.strides, strict=True):
        offset = b.add(offset, b.mul(start, stride))
    steps = (*[b.mul(s, own) for s, own in zip(strides, x.strides, strict=True)],)
    return _viewed(info.shape, x, offset, steps)


def _viewed(shape: Extents, x: Stored, offset: Operand, strides: Extents) -> Stored:
    """A view; it is dense if its strides show it, axes of one element aside."""
    is_dense = False
    if is_numbers(shape):
        wanted = zip(shape, strides, row_major(shape), strict=True)
        is_dense = all(n == 1 or (type(s) is int and s == w) for n, s, w in wanted)
        if is_dense:
            strides = row_major(shape)
    return Stored(shape, x.array, offset, strides, is_dense)


def _flip_at(b: Builder, info: Info, xs: Sequence[Form], index: Index) -> Operand:
    (axes,) = info.attrs
    places = [b.sub(b.sub(n, 1), i) if a in axes else i for a, (i, n) in enumerate(zip(index, info.shape, strict=True))]
    return xs[0].at(b, (*places,))


def _flip_view(b: Builder, info: Info, xs: Sequence[Form]) -> Stored | None:
    (x,) = xs
    if type(x) is not Stored:
        return None
    offset, strides = x.offset, [*x.strides]
    for axis in info.attrs[0]:
        offset = b.add(offset, b.mul(b.sub(info.shape[axis], 1), strides[axis]))
        strides[axis] = b.sub(0, strides[axis])
    return Stored(info.shape, x.array, offset, (*strides,), False)


def _diagonal_view(b: Builder, info: Info, xs: Sequence[Form]) -> Stored | None:
    (x,) = xs
    if type(x) is not Stored:
        return None
    step = b.add(x.strides[-2], x.strides[-1])
    return Stored(info.shape, x.array, x.offset, (*x.strides[:-2], step), False)


# -- with zeros between -----------------------------------------------------------------------------------------------


def _source(
    b: Builder, low: Sequence[Operand], interior: Sequence[int], x: Form, index: Index
) -> tuple[Operand, Index]:  # fmt: skip
    """Whether an element of what x is put into is one of x, and at which index (a valid one in any case)."""
    inside: Operand = True
    places: list[Operand] = []
    for axis, (i, n) in enumerate(zip(index, x.shape, strict=True)):
        fits, place = _between(b, i, low[axis], interior[axis] + 1, n)
        inside = b.both(inside, fits)
        places.append(b.select("i64", fits, place, 0))
    return inside, (*places,)


def _between(b: Builder, i: Operand, first: Operand, step: int, n: Operand) -> tuple[Operand, Operand]:
    """Whether a place is one of `n` that follow one another by a step, and the number of it if it is.

    A loop over places that a step divides does some of them at a time (`index_splitting.py`): the place itself is
    divided, not how far it is from the first one.
    """
    if step == 1:  # comparisons know of places near an end that the run tells
        return b.both(b.let("ge", "i64", i, first), b.let("lt", "i64", i, b.add(first, n))), b.sub(i, first)
    if type(first) is not int:
        place = b.sub(i, first)
        reach = b.add(b.mul(b.sub(n, 1), step), 1)
        fits = b.both(b.let("ge", "i64", place, 0), b.let("lt", "i64", place, reach))
        safe = b.select("i64", fits, place, 0)
        return b.both(fits, b.let("eq", "i64", b.remainder(safe, step), 0)), b.divided(safe, step)
    rows, rest = divmod(first, step)
    is_met = b.let("eq", "i64", b.remainder(i, step), rest)
    place = b.sub(b.divided(i, step), rows)
    return b.both(is_met, b.both(b.let("ge", "i64", place, 0), b.let("lt", "i64", place, n))), place


def _pad_at(b: Builder, info: Info, xs: Sequence[Form], index: Index) -> Operand:
    (x,) = xs
    if any(type(n) is int and n == 0 for n in x.shape):
        return zero_of(info.type)
    low, _, interior = info.attrs
    inside, places = _source(b, low, interior, x, index)
    if inside is False:
        return zero_of(info.type)
    value = _of_some(b, x.shape, info.type, lambda: x.at(b, places))
    return b.select(info.type, inside, value, zero_of(info.type))


def _written_at(b: Builder, info: Info, xs: Sequence[Form], index: Index) -> Operand:
    """An element of an array, or of what is written to places of it (`written_places.py`)."""
    value, old = xs
    low, interior, adds = info.attrs
    inside, places = _source(b, low, interior, value, index)
    if inside is False:
        return old.at(b, index)
    new = value.at(b, places)
    if adds:
        new = b.let("add", info.type, old.at(b, index), new)
    return new if inside is True else b.select(info.type, inside, new, old.at(b, index))


def _of_some(b: Builder, extents: Extents, type_: str, read: Callable[[], Operand]) -> Operand:
    """An element of something that may have none, as only the run tells: then nothing is read."""
    unknown = [n for n in extents if type(n) is not int]
    if not unknown:
        return read()
    has_some: Operand = True
    for n in unknown:
        has_some = b.both(has_some, b.let("gt", "i64", n, 0))
    if has_some is True:
        return read()
    found = b.var(type_, zero_of(type_))
    with b.when(has_some):
        b.set(found, read())
    return b.get(found)


def _triangle(keeps: str) -> Callable[..., Operand]:
    def at(b: Builder, info: Info, xs: Sequence[Form], index: Index) -> Operand:
        distance = b.sub(index[-1], index[-2])
        kept = b.let(keeps, "i64", distance, info.attrs[0])
        return b.select(info.type, kept, xs[0].at(b, index), zero_of(info.type))

    return at


def _make_diagonal_at(b: Builder, info: Info, xs: Sequence[Form], index: Index) -> Operand:
    on = b.let("eq", "i64", index[-1], index[-2])
    return b.select(info.type, on, xs[0].at(b, index[:-1]), zero_of(info.type))


def _concatenate_at(b: Builder, info: Info, xs: Sequence[Form], index: Index) -> Operand:
    """From the last part to the first: each is chosen where the place is before its end."""
    (axis,) = info.attrs
    parts = [x for x in xs if not (type(x.shape[axis]) is int and x.shape[axis] == 0)]
    start: Operand = 0
    starts: list[Operand] = []
    for x in parts:
        starts.append(start)
        start = b.add(start, x.shape[axis])
    place = index[axis]
    if type(place) is int and all(type(s) is int for s in starts):
        which = max(k for k, s in enumerate(starts) if s <= place)  # pyright: ignore[reportOperatorIssue]  # extents that are numbers
        return parts[which].at(b, (*index[:axis], b.sub(place, starts[which]), *index[axis + 1 :]))
    found: Operand = zero_of(info.type)
    for k in range(len(parts) - 1, -1, -1):
        own = b.sub(place, starts[k])
        n = parts[k].shape[axis]
        fits = b.both(b.let("ge", "i64", own, 0), b.let("lt", "i64", own, n))
        safe = b.select("i64", fits, own, 0)
        whole = (*index[:axis], safe, *index[axis + 1 :])
        value = _of_some(b, (n,), info.type, partial(parts[k].at, b, whole))
        found = value if k == len(parts) - 1 else b.select(info.type, fits, value, found)
    return found


# -- chosen by numbers ------------------------------------------------------------------------------------------------


def wrapped(b: Builder, i: Operand, n: Operand) -> Operand:
    """A position that may count from the end. One that lies outside ends the function before (`check_range`)."""
    if type(i) is int and type(n) is int:
        return min(max(i + n if i < 0 else i, 0), max(n - 1, 0))
    found = b.select("i64", b.let("lt", "i64", i, 0), b.add(i, n), i)
    b.remember(("anywhere", found), True)
    return found


def _gather_at(b: Builder, info: Info, xs: Sequence[Form], index: Index) -> Operand:
    x, *indices = xs
    lead = len(indices[0].shape)
    places = [_found_place(b, j, index[:lead], n) for j, n in zip(indices, x.shape, strict=False)]
    return _at_wrapped(b, x, (*places, *index[lead:]))


def _found_place(b: Builder, j: Form, index: Index, n: Operand) -> Operand:
    """A position that an array gives; one that is known not to count from the end is taken as it is."""
    bounds, found = b.known(("bounds", j)), j.at(b, index)
    if type(found) is int or bounds is None or bounds[0] < 0:
        return wrapped(b, found, n)
    found = b.convert("i64", j.type, found)
    b.remember(("anywhere", found), True)
    return found


def _at_wrapped(b: Builder, x: Form, index: Index) -> Operand:
    """An element at wrapped positions; of an array that has none, whatever it is: its check has ended the function."""
    return zero_of(x.type) if 0 in x.shape else x.at(b, index)


def check_range(b: Builder, indices: Sequence[Form], extents: Sequence[Operand]) -> None:
    """Ends the function with the status INDEX if a position is out of range.

    Constants, and what the graph bounds, are looked at now, and what has been looked through once is not again.
    """
    asked = [(j, n) for j, n in zip(indices, extents, strict=False) if not _is_inside(b, j, n)]
    if not asked:
        return
    count = count_of(b, indices[0].shape)
    if type(count) is int and count == 0:
        return
    bad = b.var("bool", False)

    def look(index: Index) -> None:
        found: Operand = False
        for j, n in asked:
            i = b.convert("i64", j.type, j.at(b, index))
            outside = b.either(b.let("lt", "i64", i, b.sub(0, n)), b.let("ge", "i64", i, n))
            found = b.either(found, outside)
        b.set(bad, b.either(b.get(bad), found))

    if type(count) is int and count == 1:
        look((0,) * len(indices[0].shape))
    else:
        with b.loop(0, count) as place:
            look(unflattened(b, indices[0].shape, place))
    with b.when(b.get(bad)):
        b.leave(Status.INDEX)
    for j, n in asked:
        b.remember(("inside", j, n), True)


def _is_inside(b: Builder, j: Form, n: Operand) -> bool:
    if b.known(("inside", j, n)):
        return True
    bounds = b.known(("bounds", j))
    return bounds is not None and type(n) is int and -n <= bounds[0] and bounds[1] < n


def _gather_check(b: Builder, info: Info, xs: Sequence[Form]) -> None:
    check_range(b, xs[1:], xs[0].shape)


def _along(axis_of: Callable[[Info], int]) -> Callable[..., Operand]:
    def at(b: Builder, info: Info, xs: Sequence[Form], index: Index) -> Operand:
        x, positions = xs
        axis = axis_of(info)
        place = wrapped(b, positions.at(b, index), x.shape[axis])
        places = [*index]
        places[axis] = place
        return _at_wrapped(b, x, (*places,))

    return at


def _permute_along_check(b: Builder, info: Info, xs: Sequence[Form]) -> None:
    check_range(b, xs[1:], (xs[0].shape[info.attrs[0]],))


def _take_along_check(b: Builder, info: Info, xs: Sequence[Form]) -> None:
    check_range(b, xs[1:], (xs[0].shape[-1],))


# -- from nothing -----------------------------------------------------------------------------------------------------


def _iota_at(b: Builder, info: Info, xs: Sequence[Form], index: Index) -> Operand:
    if type(index[0]) is int:
        return float(index[0]) if info.type in FLOATS else index[0]
    return b.convert(info.type, "i64", index[0])


def _paired_scale_at(b: Builder, info: Info, xs: Sequence[Form], index: Index) -> Operand:
    axis, size, factor = info.attrs
    x, k = xs[0].at(b, index), index[axis]
    is_pair = b.both(b.let("ge", "i64", k, 1), b.let("lt", "i64", k, b.divided(b.add(size, 1), 2)))
    return b.select(info.type, is_pair, b.let("mul", info.type, x, factor), x)


def _full_at(b: Builder, info: Info, xs: Sequence[Form], index: Index) -> Operand:
    value = info.attrs[1]
    if info.type in COMPLEX:
        return cast(Any, complex(value))
    if info.type in HALVES:
        return half_floats.rounded_number(info.type, value)
    return float(value) if info.type in FLOATS else bool(value) if info.type == "bool" else int(value)


def _same(at: Callable[..., Operand]) -> Callable[..., Operand]:
    return lambda b, info, xs, place: at(b, info, xs, (place,))


MAPS: dict[str, Map] = {
    "after": Map(
        lambda b, info, xs, index: xs[0].at(b, index),
        lambda b, info, xs: xs[0] if type(xs[0]) is Stored else None,
        lambda b, info, xs, place: xs[0].at_flat(b, place),
        lambda info, xs: xs[0].is_flat(),
    ),
    "broadcast_to": Map(
        lambda b, info, xs, index: xs[0].at(b, _broadcast_index(xs[0], index)),
        _broadcast_view,
        lambda b, info, xs, place: xs[0].at_flat(b, 0),
        lambda info, xs: _is_single(xs[0]) and xs[0].is_flat(),
        repeats=True,
    ),
    "reshape": Map(
        _reshape_at,
        _reshape_view,
        lambda b, info, xs, place: xs[0].at_flat(b, place),
        lambda info, xs: xs[0].is_flat(),
        is_whole=True,
    ),
    "transpose": Map(lambda b, info, xs, index: xs[0].at(b, _transposed(info, index)), _transpose_view, is_whole=True),
    "slice": Map(_slice_at, _slice_view),
    "flip": Map(_flip_at, _flip_view, is_whole=True),
    "diagonal": Map(lambda b, info, xs, index: xs[0].at(b, (*index, index[-1])), _diagonal_view),
    "make_diagonal": Map(_make_diagonal_at),
    "pad": Map(_pad_at),
    "native written": Map(_written_at),
    "tril": Map(_triangle("le")),
    "triu": Map(_triangle("ge")),
    "concatenate": Map(_concatenate_at),
    "gather": Map(_gather_at, check=_gather_check, repeats=True),
    "take_along": Map(_along(lambda info: len(info.shape) - 1), check=_take_along_check, repeats=True),
    "permute_along": Map(_along(lambda info: info.attrs[0]), check=_permute_along_check),
    "iota": Map(_iota_at, flat=_same(_iota_at), is_flat=lambda info, xs: True),
    "paired_scale": Map(_paired_scale_at),
    "full": Map(_full_at, flat=_same(_full_at), is_flat=lambda info, xs: True),
    "absent": Map(
        lambda b, info, xs, index: zero_of(info.type),
        flat=lambda b, info, xs, place: zero_of(info.type),
        is_flat=lambda info, xs: True,
    ),
}
