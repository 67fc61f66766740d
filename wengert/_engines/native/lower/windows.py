"""Windows that slide over the last axes: sums, their adjoint, and the places of extrema; additions along the last axis.

What lies outside an operand counts as zero in a sum and never holds the extremum.

Where steps in memory are known, windows that lie side by side are done side by side: a row of them, along the axis that
is innermost in memory (channels, if they come last there), in vectors. Few taps are written out; many are done one by
one, and what the windows hold so far is in small arrays meanwhile. Results lie in the order of the operand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ...._core.graph import Node
from ...._core.tensor import Value
from ..ir.builder import Builder
from ..ir.loops import FLOATS, Operand, Status
from ..plan.pooling import BEST, PUT
from .blocks import Block, singles
from .factorisations import loops_over
from .forms import TYPE_OF, Form, Index, Lazy, Stored, all_indices, count_of, flat_place, is_numbers
from .layouts import fresh_in, laid_out
from .maps import wrapped
from .ranges import clamped, divided_up, number_of, smaller
from .reduces import in_order
from .scalars import is_nan

LANES = 64  # windows of a row that are done at a time
FEW_TAPS = 16  # of a window that are written out
NEAR = 4  # elements between neighbours of a row up to which vectors are worth it


class _Windows(NamedTuple):
    """Where the windows lie along the last axes."""

    sizes: tuple[Operand, ...]
    window: tuple[Operand, ...]
    strides: tuple[int, ...]
    low: tuple[Operand, ...]
    dilation: tuple[int, ...]
    is_padded: bool  # if not, all elements of all windows are there

    def place(self, b: Builder, axis: int, position: Operand, tap: Operand) -> Operand:
        """Where along an axis a tap reads."""
        start = b.add(b.mul(position, self.strides[axis]), b.mul(tap, self.dilation[axis]))
        return b.sub(start, self.low[axis])

    def has(self, b: Builder, axis: int, place: Operand) -> Operand:
        """Whether there is an element at a place along an axis."""
        if not self.is_padded:
            return True
        return b.both(b.let("ge", "i64", place, 0), b.let("lt", "i64", place, self.sizes[axis]))

    def places(self, b: Builder, positions: Index, taps: Index) -> tuple[Operand, Index]:
        """Whether the element of a window is there, and at which index (a valid one only if it is)."""
        inside: Operand = True
        places: list[Operand] = []
        for axis, (p, k) in enumerate(zip(positions, taps, strict=True)):
            place = self.place(b, axis, p, k)
            inside = b.both(inside, self.has(b, axis, place))
            places.append(place)
        return inside, (*places,)

    def there(self, b: Builder, axis: int, tap: Operand, start: Operand, count: Operand) -> tuple[Operand, Operand]:
        """Of windows from a position on, the first for which a tap is there, and behind the last."""
        if not self.is_padded:
            return 0, count
        before = b.sub(self.low[axis], b.mul(tap, self.dilation[axis]))
        first = divided_up(b, before, self.strides[axis])
        behind = divided_up(b, b.add(before, self.sizes[axis]), self.strides[axis])
        first = clamped(b, b.sub(first, start), count)
        behind = clamped(b, b.sub(behind, start), count)
        return first, behind

    def nothing(self, type_: str) -> Operand:
        """Where a sum starts: at the zero of the padding, or at what keeps the sign of negative zeros."""
        return _zero(type_) if self.is_padded or type_ not in FLOATS else -0.0

    @property
    def are_apart(self) -> bool:
        """Whether no two windows share an element."""
        columns = zip(self.window, self.strides, self.dilation, strict=True)
        return all(type(n) is int and (n - 1) * gap < stride for n, stride, gap in columns)


@contextmanager
def _inside(b: Builder, cond: Operand) -> Any:
    """What is emitted inside runs if cond, which may be known already."""
    if cond is True:
        yield
    else:
        with b.when(cond):
            yield


def _geometry(sizes: Sequence[Operand], attrs: Sequence[Any]) -> _Windows:
    window, strides, padding, dilation = attrs
    is_padded = any(not (type(n) is int and n == 0) for pair in padding for n in pair)
    return _Windows((*sizes,), (*window,), strides, (*[low for low, _ in padding],), dilation, is_padded)


# -- rows of windows --------------------------------------------------------------------------------------------------


class _WindowRange(NamedTuple):
    """Windows side by side: the index of the first, with the axis along which they lie, and how many."""

    index: Index
    axis: int
    count: Operand


_Join = Callable[[Sequence[Operand], Operand, Index], Sequence[Operand]]


class _Rows:
    """The windows of an operand in runs along one axis.

    Attributes:
        shape: of the windows.
        lead: how many axes are a batch.
        order: the axes as the operand lies in memory; runs lie along the last of them.
    """

    def __init__(self, b: Builder, windows: _Windows, shape: Index, order: list[int]) -> None:
        self.b = b
        self.windows = windows
        self.shape = shape
        self.order = order
        self.lead = len(shape) - len(windows.window)

    @contextmanager
    def runs(self, are_free: bool = True) -> Iterator[_WindowRange]:
        """`with rows.runs() as run:` what is emitted inside runs for each; `are_free`: in any order, or in threads."""
        b, (*outer, axis) = self.b, self.order
        extent = self.shape[axis]
        is_free = are_free or (bool(outer) and outer[0] < self.lead)
        work = b.mul(count_of(b, self.shape), count_of(b, self.windows.window)) if is_free else None
        with _nest(b, [self.shape[a] for a in outer], work) as places:
            index: list[Operand] = [0] * len(self.shape)
            for a, place in zip(outer, places, strict=True):
                index[a] = place
            if type(extent) is int and extent <= LANES:
                yield _WindowRange((*index,), axis, extent)
                return
            with b.loop(0, b.divided(b.add(extent, LANES - 1), LANES)) as i:
                index[axis] = b.mul(i, LANES)
                yield _WindowRange((*index,), axis, smaller(b, LANES, b.sub(extent, index[axis])))

    def each(self, run: _WindowRange, body: Callable[[Operand, Index], None]) -> None:
        """`body(j, index)` for each window of a run."""
        with self.b.loop(0, run.count) as j:
            body(j, self.moved(run, j))

    def moved(self, run: _WindowRange, j: Operand) -> Index:
        """The index of a window of a run."""
        return (*run.index[: run.axis], self.b.add(run.index[run.axis], j), *run.index[run.axis + 1 :])

    @property
    def is_short(self) -> bool:
        """Whether windows have few taps, which are all there."""
        window = self.windows.window
        return not self.windows.is_padded and is_numbers(window) and math.prod(map(number_of, window)) <= FEW_TAPS

    def each_tap(self, run: _WindowRange, body: Callable[[Operand, Operand, Index, Index], None]) -> None:
        """`body(j, tap, index, place)` for each tap, and for each window of a run that has it: the number of the tap,
        the index of the window, and that of the element."""
        b, windows = self.b, self.windows
        with loops_over(b, windows.window) as taps:
            inside: Operand = True
            first, behind = 0, run.count
            for axis, k in enumerate(taps):
                if self.lead + axis == run.axis:
                    first, behind = windows.there(b, axis, k, run.index[run.axis], run.count)
                else:
                    place = windows.place(b, axis, run.index[self.lead + axis], k)
                    inside = b.both(inside, windows.has(b, axis, place))
            with _inside(b, inside), b.loop(first, behind) as j:
                index = self.moved(run, j)
                body(j, flat_place(b, windows.window, taps), index, self._place(index, taps))

    def each_short(self, run: _WindowRange, body: Callable[[Index, list[Index]], None]) -> None:
        """`body(index, places)` for each window of a run: where the elements of its few taps are."""
        taps = [*all_indices(self.windows.window)]  # pyright: ignore[reportArgumentType]  # numbers
        self.each(run, lambda j, index: body(index, [self._place(index, k) for k in taps]))

    def folded(
        self, run: _WindowRange, starts: Sequence[tuple[str, Operand]], join: _Join,
        end: Callable[[Index, Sequence[Operand]], None],
    ) -> None:  # fmt: skip
        """Joins the taps of each window of a run, one after the other, with what stands for none of them.

        Args:
            run: the windows.
            starts: types and values of the state that stands for no tap.
            join: `join(state, tap, place)`, the state with a tap more, by its number and the index of its element.
            end: `end(index, state)` of a window.
        """
        b = self.b
        if self.is_short:

            def whole(index: Index, places: list[Index]) -> None:
                state: Sequence[Operand] = [start for _, start in starts]
                for tap, place in enumerate(places):
                    state = join(state, tap, place)
                end(index, state)

            self.each_short(run, whole)
            return
        held = [b.local(type_, LANES) for type_, _ in starts]  # of this run, and so of its thread

        def keep(j: Operand, state: Sequence[Operand]) -> None:
            for array, value in zip(held, state, strict=True):
                b.store(array, j, value)

        def kept(j: Operand) -> list[Operand]:
            return [b.load(array, j) for array in held]

        self.each(run, lambda j, index: keep(j, [start for _, start in starts]))
        self.each_tap(run, lambda j, tap, index, place: keep(j, join(kept(j), tap, place)))
        self.each(run, lambda j, index: end(index, kept(j)))

    def _place(self, index: Index, taps: Index) -> Index:
        """The index of an element, by that of a window and the tap's place in it."""
        places = [self.windows.place(self.b, a, index[self.lead + a], k) for a, k in enumerate(taps)]
        return (*index[: self.lead], *places)


@contextmanager
def _nest(b: Builder, extents: Sequence[Operand], work: Operand | None) -> Iterator[Index]:
    """A loop for each axis of more than one element, the first of them perhaps in threads."""
    if not extents:
        yield ()
        return
    extent, *rest = extents
    if type(extent) is int and extent == 1:
        with _nest(b, rest, work) as index:
            yield (0, *index)
        return
    with b.loop(0, extent, work) as i, _nest(b, rest, None) as index:
        yield (i, *index)


def _rows(b: Builder, windows: _Windows, shape: Index, x: Stored, is_spread: bool = False) -> _Rows | None:
    """Rows along which windows are near each other in x, which has their elements or, spread, one for each; None if
    there are none."""
    if not is_numbers(x.strides) or not shape:
        return None
    lead = len(shape) - len(windows.window)
    own: list[int] = [s if type(s) is int else 0 for s in x.strides]
    steps = own if is_spread else [*own[:lead], *(s * t for s, t in zip(own[lead:], windows.strides, strict=True))]
    many = [not (type(n) is int and n == 1) for n in shape]
    order = sorted(range(len(shape)), key=lambda a: (many[a], -abs(own[a])))
    last = order[-1]
    return _Rows(b, windows, shape, order) if many[last] and 0 < abs(steps[last]) <= NEAR else None


def _room(block: Block, value: Value, order: Sequence[int]) -> Stored:
    """Where a result goes: in the order given, unless its place is given."""
    if value.key in block.targets or [*order] == sorted(order):
        return block.room(value)
    return fresh_in(block, block.shape(value), order, TYPE_OF[value.dtype])


def _memory_order(rows: _Rows) -> list[int]:
    """The axes of a result in the order of rows; axes of one element, which come first there, stay where they are."""
    one = [type(n) is int and n == 1 for n in rows.shape]
    many = iter([a for a in rows.order if not one[a]])
    return [a if one[a] else next(many) for a in range(len(rows.shape))]


# -- sums -------------------------------------------------------------------------------------------------------------

WRITTEN_OUT = 64  # taps of all windows of one operand of a batch, up to which each addition is written out

Terms = dict[Index, list[Index]]


def _terms(windows: _Windows, shape: Index, is_spread: bool) -> Terms | None:
    """Of few windows, by the place of each result along the last axes those of the elements that it is the sum of.

    Args:
        windows: where they lie.
        shape: how many there are along each axis.
        is_spread: whether the results are the elements under the windows, and not the windows.
    """
    extents = (*shape, *windows.window, *windows.sizes, *windows.low)
    if not is_numbers(extents):
        return None
    numbers: Any = (shape, windows.window, windows.sizes, windows.low)
    counts, window, sizes, lows = numbers
    if math.prod([*counts, *window]) > WRITTEN_OUT:
        return None
    found: Terms = {index: [] for index in all_indices(sizes if is_spread else counts)}
    for position in all_indices(counts):
        for taps in all_indices(window):
            columns = zip(position, windows.strides, taps, windows.dilation, lows, strict=True)
            place = (*[p * stride + k * gap - low for p, stride, k, gap, low in columns],)
            if all(0 <= p < size for p, size in zip(place, sizes, strict=True)):
                result, element = (place, position) if is_spread else (position, place)
                found[result].append(element)
    return found


def _is_row_major(x: Stored, rank: int) -> bool:
    """Whether the elements of the last axes lie together."""
    lead = len(x.shape) - rank
    if not is_numbers(x.strides):
        return False
    steps: Any = x.strides
    return max(map(abs, steps[lead:]), default=0) <= min(map(abs, steps[:lead]), default=math.inf)


def _written_out(block: Block, value: Value, x: Stored, terms: Terms, zero: Operand) -> Stored:
    """Sums of elements of the last axes, of a whole batch."""
    b, target = block.b, block.room(value)
    lead = len(x.shape) - len(next(iter(terms), ()))
    work = b.mul(count_of(b, x.shape[:lead]), sum(map(len, terms.values())))
    with _nest(b, x.shape[:lead], work) as batch:
        for place, elements in terms.items():
            total = zero
            for element in elements:
                total = b.let("add", x.type, total, x.at(b, (*batch, *element)))
            target.store(b, (*batch, *place), total)
    return target


def _window_sum(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, x = block.b, laid_out(block, node.inputs[0])
    value = node.outputs[0]
    rank = len(node.attrs[0])
    windows = _geometry(x.shape[-rank:] if rank else (), block.attrs(node))
    shape = block.shape(value)
    terms = _terms(windows, shape[len(shape) - rank :], False)
    if terms is not None and _is_row_major(x, rank):
        return [_written_out(block, value, x, terms, windows.nothing(x.type))]
    rows = _rows(b, windows, shape, x)
    if rows is not None:
        return [_sums_in_rows(block, value, x, rows)]
    target = block.room(value)
    lead = len(x.shape) - rank
    with loops_over(b, target.shape) as index:
        total = b.var(x.type, windows.nothing(x.type))
        with loops_over(b, windows.window) as taps:
            is_there, places = windows.places(b, index[lead:], taps)
            with _inside(b, is_there):
                b.set(total, b.let("add", x.type, b.get(total), x.at(b, (*index[:lead], *places))))
        target.store(b, index, b.get(total))
    return [target]


def _sums_in_rows(block: Block, value: Value, x: Stored, rows: _Rows) -> Stored:
    b, target = block.b, _room(block, value, _memory_order(rows))

    def add(state: Sequence[Operand], tap: Operand, place: Index) -> Sequence[Operand]:
        return [b.let("add", x.type, state[0], x.at(b, place))]

    with rows.runs() as run:
        starts = [(x.type, rows.windows.nothing(x.type))]
        rows.folded(run, starts, add, lambda index, state: target.store(b, index, state[0]))
    return target


def _window_spread(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, x = block.b, laid_out(block, node.inputs[0])
    value = node.outputs[0]
    sizes, *geometry = block.attrs(node)
    windows = _geometry(sizes, geometry)
    terms = _terms(windows, x.shape[len(x.shape) - len(sizes) :], True)
    if terms is not None and _is_row_major(x, len(sizes)):
        return [_written_out(block, value, x, terms, _zero(x.type))]
    rows = _rows(b, windows, x.shape, x, True)
    if rows is not None:
        return [_spread_in_rows(block, value, rows, lambda index, tap: x.at(b, index))]
    target = block.room(value)
    lead = len(x.shape) - len(sizes)
    b.fill(target.array, target.offset, count_of(b, target.shape))
    with loops_over(b, x.shape) as index:
        element = x.at(b, index)
        with loops_over(b, windows.window) as taps:
            is_there, places = windows.places(b, index[lead:], taps)
            with _inside(b, is_there):
                place = (*index[:lead], *places)
                target.store(b, place, b.let("add", x.type, target.at(b, place), element))
    return [target]


def _spread_in_rows(
    block: Block, value: Value, rows: _Rows, element: Callable[[Index, Operand], Operand]
) -> Stored:  # fmt: skip
    """Adds what `element` says of a window and a tap to where the tap is."""
    b, type_ = block.b, TYPE_OF[value.dtype]
    target = _room(block, value, _memory_order(rows))
    are_apart = rows.windows.are_apart
    if not (are_apart and _cover(rows)):
        b.fill(target.array, target.offset, count_of(b, target.shape))

    def put(j: Operand, tap: Operand, index: Index, place: Index) -> None:
        before = _zero(type_) if are_apart else target.at(b, place)
        target.store(b, place, b.let("add", type_, before, element(index, tap)))

    def put_all(index: Index, places: list[Index]) -> None:
        for tap, place in enumerate(places):
            put(0, tap, index, place)

    with rows.runs(are_apart) as run:
        if are_apart and rows.is_short:
            rows.each_short(run, put_all)
        else:  # what overlaps is added up tap by tap
            rows.each_tap(run, put)
    return target


def _cover(rows: _Rows) -> bool:
    """Whether windows that lie apart leave no element out."""
    w = rows.windows
    columns = zip(w.sizes, w.window, w.strides, rows.shape[rows.lead :], strict=True)
    return not w.is_padded and all(
        n == stride and type(p) is int and type(size) is int and size == p * stride for size, n, stride, p in columns
    )


def _zero(type_: str) -> Operand:
    return 0.0 if type_ in FLOATS else 0


# -- extrema ----------------------------------------------------------------------------------------------------------


class _Best(NamedTuple):
    """How the extrema of windows are found: their values so far, and where these are (-1: nowhere yet)."""

    b: Builder
    type: str
    wins: str
    where: str

    @property
    def starts(self) -> list[tuple[str, Operand]]:
        return [(self.type, _zero(self.type)), (self.where, -1)]

    def join(self, state: Sequence[Operand], value: Operand, where: Operand) -> Sequence[Operand]:
        """Another element: the first of equal ones stays, and the first NaN."""
        b, (held, found) = self.b, state
        better = _is_better(b, self.type, self.wins, value, held)
        better = b.either(better, b.let("lt", self.where, found, 0))
        return [b.select(self.type, better, value, held), b.select(self.where, better, where, found)]


def _is_better(b: Builder, type_: str, wins: str, value: Operand, held: Operand) -> Operand:
    if type_ not in FLOATS:
        return b.let(wins, type_, value, held)
    better = b.negated(b.let("le" if wins == "gt" else "ge", type_, value, held))  # NaN is
    return b.both(better, b.negated(is_nan(b, type_, held)))


def _window_place(wins: str) -> Callable[..., Sequence[Form]]:
    """The first place of each window's extremum; of NaN the first."""

    def rule(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
        b, x = block.b, laid_out(block, node.inputs[0])
        value = node.outputs[0]
        rank = len(node.attrs[0])
        windows = _geometry(x.shape[-rank:] if rank else (), block.attrs(node))
        rows = _rows(b, windows, block.shape(value), x)
        if rows is not None:
            return [_places_in_rows(block, value, x, rows, wins)]
        target = block.room(value)
        _places_one_by_one(b, x, windows, target, wins)
        return [target]

    return rule


def _places_in_rows(block: Block, value: Value, x: Stored, rows: _Rows, wins: str) -> Stored:
    b, target = block.b, _room(block, value, _memory_order(rows))
    best = _Best(b, x.type, wins, "i64")

    def join(state: Sequence[Operand], tap: Operand, place: Index) -> Sequence[Operand]:
        return best.join(state, x.at(b, place), flat_place(b, rows.windows.sizes, place[rows.lead :]))

    def end(index: Index, state: Sequence[Operand]) -> None:
        target.store(b, index, b.convert(target.type, "i64", state[1]))

    with rows.runs() as run:
        rows.folded(run, best.starts, join, end)
    return target


def _places_one_by_one(b: Builder, x: Stored, windows: _Windows, target: Stored, wins: str) -> None:
    lead = len(x.shape) - len(windows.window)
    with loops_over(b, target.shape) as index:
        found, best = b.var("i64", -1), b.var(x.type, _zero(x.type))
        with loops_over(b, windows.window) as taps:
            is_there, places = windows.places(b, index[lead:], taps)
            with _inside(b, is_there):
                value, held = x.at(b, (*index[:lead], *places)), b.get(best)
                better = _is_better(b, x.type, wins, value, held)
                better = b.either(better, b.let("lt", "i64", b.get(found), 0))
                place = flat_place(b, windows.sizes, places)
                b.set(best, b.select(x.type, better, value, held))
                b.set(found, b.select("i64", better, place, b.get(found)))
        target.store(b, index, b.convert(target.type, "i64", b.get(found)))


def _any_rows(b: Builder, windows: _Windows, shape: Index, x: Stored, is_spread: bool = False) -> _Rows:
    """Rows along the axis that is best for them, or along the last."""
    found = _rows(b, windows, shape, x, is_spread)
    return _Rows(b, windows, shape, [*range(len(shape))]) if found is None else found


def _window_best(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    """The largest element of each window, and the number of the tap that has it."""
    b, x = block.b, laid_out(block, node.inputs[0])
    value, which = node.outputs
    windows = _geometry(x.shape[-len(node.attrs[0]) :], block.attrs(node))
    rows = _any_rows(b, windows, block.shape(value), x)
    order = _memory_order(rows)
    nothing = Lazy(block.shape(value), x.type, lambda b, index: _zero(x.type))  # of what nobody reads
    values = _room(block, value, order) if block.is_read(value) else nothing
    taps = _room(block, which, order) if block.is_read(which) else nothing
    best = _Best(b, x.type, "gt", TYPE_OF[which.dtype])

    def join(state: Sequence[Operand], tap: Operand, place: Index) -> Sequence[Operand]:
        return best.join(state, x.at(b, place), b.convert(best.where, "i64", tap))

    def end(index: Index, state: Sequence[Operand]) -> None:
        for found, result in zip((values, taps), state, strict=True):
            if type(found) is Stored:
                found.store(b, index, result)

    with rows.runs() as run:
        rows.folded(run, best.starts, join, end)
    return [values, taps]


def _window_put(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    """Each element added to where its window's tap is."""
    b, ct, taps = block.b, laid_out(block, node.inputs[0]), block.stored(forms[1])
    sizes, *geometry = block.attrs(node)
    rows = _any_rows(b, _geometry(sizes, geometry), ct.shape, ct, True)

    def element(index: Index, tap: Operand) -> Operand:
        is_here = b.let("eq", taps.type, taps.at(b, index), b.convert(taps.type, "i64", tap))
        return b.select(ct.type, is_here, ct.at(b, index), _zero(ct.type))

    return [_spread_in_rows(block, node.outputs[0], rows, element)]


# -- along the last axis ----------------------------------------------------------------------------------------------


def _add_along(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b = block.b
    x, places = block.stored(forms[0]), block.stored(forms[1])
    target = block.room(node.outputs[0])
    size = target.shape[-1]
    b.fill(target.array, target.offset, count_of(b, target.shape))
    with loops_over(b, x.shape) as index:
        place = b.convert("i64", places.type, places.at(b, index))
        outside = b.either(b.let("lt", "i64", place, b.sub(0, size)), b.let("ge", "i64", place, size))
        with b.when(outside):
            b.leave(Status.INDEX)
        where = (*index[:-1], wrapped(b, place, size))
        target.store(b, where, in_order(b, x.type, target.at(b, where), x.at(b, index)))
    return [target]


LOWERED = {
    **singles({
        "window_sum": _window_sum, "window_spread": _window_spread, "window_argmax": _window_place("gt"),
        "window_argmin": _window_place("lt"), BEST.name: _window_best, PUT.name: _window_put,
    }, any_order=True),
    **singles({"add_along": _add_along}, of_complex=True),
}  # fmt: skip
