"""The entries of a sparse derivative from constants and from passes, put together in the order of its pattern.

Programs over steps or cells have entries in an order that comes again: each so many places further on, from so many
elements further on of a pass. These are made as columns of one array, which compilers write in one loop with what the
passes compute; others are added at their places. Called by `sparse.py`.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._control.per_example import batched
from .._core.constant import constant
from .._core.moving import beside
from .._core.tensor import Tensor
from .._core.types import type_of
from .._prims.indexing import gather, scatter_add
from .._prims.structural import add, cast, concatenate, reshape, slice_, zeros_of
from .._transforms import coloring as plans
from .._transforms.sparsity import size_of
from .._transforms.straight_rows import BentPart, BentRun

Matrix = Any  # scipy.sparse.csr_array
Array = np.ndarray[Any, Any]

_MOST_APART = 16  # passes that are written out one by one
_LONGEST_PERIOD = 64  # in entries
_FEWEST_PERIODS = 8
_MOST_ROWS = 16  # of the matrix in a period


class _Part(NamedTuple):
    """Entries that follow each other.

    Attributes:
        start, stop: the first one, and the one behind the last.
        period: after how many their origins go on in the same way; 0 if they do not.
    """

    start: int
    stop: int
    period: int

    def columns(self, of_entries: Array) -> Array:
        """What belongs to the entries, an array with a row for each place in a period."""
        own = of_entries[self.start : self.stop]
        return own.reshape(-1, self.period).T if self.period else own[None]


def entries_of(run: BentRun, x: Tensor, pattern: Matrix, curved: Matrix, plan: plans.Plan) -> Tensor:
    """The entries of a derivative.

    Args:
        run: of f.
        x: its argument, whose dtype the entries have.
        pattern: their pattern, whose order they are in.
        curved: that of those that are no constants.
        plan: from which passes to get these.
    """
    straight = np.zeros(pattern.nnz)
    if run.bends.straight is not None:
        straight[_places_in(pattern, run.bends.straight)] = run.bends.straight.data
    constants: Array = straight.astype(x.dtype)
    if not curved.nnz:
        return _constant(constants, x)
    has_entries = np.zeros(curved.shape[1], bool)
    has_entries[curved.indices] = True
    colors = np.where(has_entries, plan.columns, -1)
    places, origins = _places_in(pattern, curved), plans.places(plan, curved)
    apart = _passes_apart(run, x, colors) if plan.forward <= _MOST_APART else None
    if apart is not None:
        sources = np.full(pattern.nnz, -1)
        sources[places] = origins
        parts = [*_parts(sources, pattern.indptr, 0, pattern.nnz)]
        if 4 * sum(part.stop - part.start for part in parts if part.period) >= 3 * pattern.nnz:
            return _in_parts(parts, apart, sources, constants)
    flat = concatenate(*apart, axis=0) if apart is not None else _passes_together(run, x, colors)
    return _added(constants, places, gather(flat, _constant(origins, flat)))


def _constant(array: Array, near: Tensor) -> Tensor:
    return beside(constant(array), near)


def _places_in(pattern: Matrix, part: Matrix) -> Array:
    """The numbers of a part's entries among those of a pattern, which has them all."""
    keys, wanted = [_keys(m.indptr, m.indices, m.shape[1]) for m in (pattern, part)]
    order = np.argsort(keys)
    return order[np.searchsorted(keys, wanted, sorter=order)]


def _keys(starts: Array, columns: Array, width: int) -> Array:
    """A number for each entry, by its row and column."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * width + columns


def _added(constants: Array, places: Array, pushed: Tensor) -> Tensor:
    return scatter_add(_constant(constants, pushed), pushed, _constant(places, pushed))


# -- passes -----------------------------------------------------------------------------------------------------------


def _passes_apart(run: BentRun, x: Tensor, colors: Array) -> list[Tensor] | None:
    """The passes, one by one; None if there is one whose beginnings differ from element to element."""
    parts = [BentPart(run, np.where(colors == color, 0, -1)) for color in range(int(colors.max()) + 1)]
    if not all(np.ptp(seed) == 0 for part in parts for seed in part.seeds):
        return None
    found: list[Any] = [part([_constant(seed[0], x) for seed in part.seeds])[0] for part in parts]
    return [_flat(dot if isinstance(dot, Tensor) else zeros_of(type_of(run.y)), x) for dot in found]


def _passes_together(run: BentRun, x: Tensor, colors: Array) -> Tensor:
    """All passes at once, one behind the other."""
    part = BentPart(run, colors)
    seeds = [_constant(seed, x) for seed in part.seeds]
    (found,) = batched(part, seeds, [True] * len(seeds), int(colors.max()) + 1, "sparse derivative")
    return _flat(found, x)


def _flat(found: Tensor, x: Tensor) -> Tensor:
    return cast(reshape(found, shape=(size_of(found),)), x.dtype)


# -- periods ----------------------------------------------------------------------------------------------------------


def _parts(sources: Array, starts: Array, first: int, stop: int) -> Iterator[_Part]:
    """Divides entries into the longest parts of a period, and what is between them.

    Args:
        sources: for each entry the element of the passes that it is; negative for none.
        starts: of the matrix's rows.
        first, stop: which entries.
    """
    if first == stop:
        return
    found = _longest_part(sources[first:stop], starts, first)
    if found is None:
        yield _Part(first, stop, 0)
        return
    yield from _parts(sources, starts, first, found.start)
    yield found
    yield from _parts(sources, starts, found.stop, stop)


def _longest_part(sources: Array, starts: Array, first: int) -> _Part | None:
    """The longest of these entries with a period, the shortest that it has, if they are many enough."""
    middle = int(np.searchsorted(starts, first + len(sources) // 2))
    lengths = np.unique(starts[middle : middle + _MOST_ROWS] - starts[max(middle - 1, 0)])
    best: _Part | None = None
    for length in lengths[(lengths > 0) & (lengths <= min(_LONGEST_PERIOD, len(sources) // 2))].tolist():
        before, here, behind = sources[: -2 * length], sources[length:-length], sources[2 * length :]
        start, stop = _longest_run((before - 2 * here + behind == 0) & ((before < 0) == (behind < 0)))
        count = (stop - start + 2 * length) // length
        if count >= _FEWEST_PERIODS and (best is None or count * length > best.stop - best.start):
            best = _Part(first + start, first + start + count * length, length)
    return best


def _longest_run(flags: Array) -> tuple[int, int]:
    """The longest stretch of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    if not edges.size:
        return 0, 0
    starts, stops = edges[::2], edges[1::2]
    longest = int(np.argmax(stops - starts))
    return int(starts[longest]), int(stops[longest])


def _in_parts(parts: Sequence[_Part], passes: list[Tensor], sources: Array, constants: Array) -> Tensor:
    """The entries part by part; those with a period as columns of one array."""
    taking = _Taking(passes)
    sums = [
        [_Sum(taking, *column) for column in zip(part.columns(sources), part.columns(constants), strict=True)]
        for part in parts
    ]
    taking.take()
    found = [_interleaved([column.made() for column in columns]) for columns in sums]
    return concatenate(*found, axis=0) if len(found) > 1 else found[0]


def _interleaved(columns: list[Tensor]) -> Tensor:
    """First elements, then second ones, and so on."""
    if len(columns) == 1:
        return columns[0]
    whole = concatenate(*[reshape(column, shape=(size_of(column), 1)) for column in columns], axis=1)
    return reshape(whole, shape=(size_of(whole),))


class _Taking:
    """Elements of passes: of each all are gathered at once, so that compilers see what becomes of a pass."""

    def __init__(self, passes: list[Tensor]) -> None:
        self.passes = passes
        self._wanted: list[list[Array]] = [[] for _ in passes]
        self._counts = [0] * len(passes)

    def want(self, number: int, places: Array) -> tuple[int, int, int]:
        """Asks for elements of a pass; returns what `part` takes."""
        start = self._counts[number]
        self._wanted[number].append(places)
        self._counts[number] = start + len(places)
        return number, start, self._counts[number]

    def take(self) -> None:
        """Gathers what has been asked for."""
        self._found = [
            gather(x, _constant(np.concatenate(places), x)) if places else x
            for x, places in zip(self.passes, self._wanted, strict=True)
        ]

    def part(self, number: int, start: int, stop: int) -> Tensor:
        """What was asked for once."""
        return slice_(self._found[number], starts=(start,), limits=(stop,), strides=(1,))


class _Sum:
    """Some entries: constants, and elements of passes for those whose origin is not negative."""

    def __init__(self, taking: _Taking, origins: Array, constants: Array) -> None:
        self._taking, self._constants = taking, constants
        size = size_of(taking.passes[0])
        numbers = np.where(origins < 0, -1, origins // size)
        self._places = [np.flatnonzero(numbers == number) for number in np.unique(numbers[numbers >= 0])]
        self._parts = [taking.want(int(numbers[at[0]]), origins[at] % size) for at in self._places]

    def made(self) -> Tensor:
        """The entries."""
        near = self._taking.passes[0]
        parts = [self._taking.part(*part) for part in self._parts]
        if not parts:
            return _constant(self._constants, near)
        if len(self._places[0]) == len(self._constants):
            return add(parts[0], _constant(self._constants, near)) if self._constants.any() else parts[0]
        pushed = concatenate(*parts, axis=0) if len(parts) > 1 else parts[0]
        return _added(self._constants, np.concatenate(self._places), pushed)
