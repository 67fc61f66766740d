"""Which columns (or rows) of a sparse matrix can be computed in one product, because they do not overlap.

Greedy colourings: each vertex in turn gets the smallest colour that none forbids, over several orders of the
vertices. Sets of colours are the bits of Python's integers, so a dense row costs no more than its length. The
colouring of symmetric matrices is the star colouring of Gebremedhin, Manne and Pothen, "What color is your
Jacobian?" (SIAM Review 47, 2005), algorithm 4.1, with what it looks up kept beside each vertex.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from .._core.argument_types import DTypeLike

Array = np.ndarray[Any, Any]
Pattern = Any  # scipy.sparse.csr_array of bool


class Plan(NamedTuple):
    """How a matrix is got from products.

    Attributes:
        mode: "column", "row", "mixed" or "symmetric".
        columns: the colour of each column (empty if there are no products with columns).
        rows: the colour of each row, -1 for rows that are read from products with columns.
    """

    mode: str
    columns: Array
    rows: Array

    @property
    def forward(self) -> int:
        """How many products with columns there are."""
        return int(self.columns.max(initial=-1)) + 1

    @property
    def backward(self) -> int:
        """How many products with rows there are."""
        return int(self.rows.max(initial=-1)) + 1


NONE = np.empty(0, np.int64)


def column_plan(pattern: Pattern) -> Plan:
    """Columns of one colour have no row in common."""
    return Plan("column", color_columns(pattern), NONE)


def row_plan(pattern: Pattern) -> Plan:
    """Rows of one colour have no column in common."""
    return Plan("row", NONE, color_columns(pattern.T.tocsr()))


def symmetric_plan(pattern: Pattern) -> Plan:
    """Every entry of the matrix or its mirror image stands alone in a product with columns."""
    return Plan("symmetric", color_stars(pattern), NONE)


def mixed_plan(pattern: Pattern) -> Plan:
    """The fullest rows by products with rows, the others by products with columns; the best of a few divisions."""
    counts = np.diff(pattern.indptr)
    columns = column_plan(pattern)
    best, fewest = Plan("mixed", columns.columns, np.full(pattern.shape[0], -1)), columns.forward
    limit = int(counts.max(initial=0)) // 2
    while limit:
        plan = _divided(pattern, np.flatnonzero(counts > limit))
        if plan.forward + plan.backward < fewest:
            best, fewest = plan, plan.forward + plan.backward
        limit //= 2
    return best


def _divided(pattern: Pattern, full: Array) -> Plan:
    rows = np.full(pattern.shape[0], -1)
    rows[full] = color_columns(pattern[full].T.tocsr())
    rest = np.ones(pattern.shape[0], bool)
    rest[full] = False
    return Plan("mixed", color_columns(pattern[np.flatnonzero(rest)]), rows)


def best_plan(pattern: Pattern) -> Plan:
    """Columns, unless rows are at most two thirds as many, since a reverse pass takes half as long again as a forward
    one, or both together are half as many.
    """
    columns = column_plan(pattern)
    if columns.forward <= 1 + _fullest(pattern.T.tocsr()) // 2:
        return columns  # rows cannot be half as many, and they cost more
    rows = row_plan(pattern)
    best = rows if 3 * rows.backward <= 2 * columns.forward else columns
    fewest = best.forward + best.backward
    if fewest <= 4:
        return best
    mixed = mixed_plan(pattern)
    return mixed if (mixed.forward + mixed.backward) * 2 <= fewest else best


def _fullest(pattern: Pattern) -> int:
    """How many entries the fullest row has: no colouring of columns has fewer colours."""
    return int(np.diff(pattern.indptr).max(initial=0))


# -- columns ----------------------------------------------------------------------------------------------------------


def color_columns(pattern: Pattern) -> Array:
    """A colour for each column such that columns of one colour have no row in common; empty columns have colour 0."""
    transposed = pattern.T.tocsr()
    pointers, members = transposed.indptr.tolist(), transposed.indices.tolist()
    least, best, fewest = _fullest(pattern), NONE, pattern.shape[1] + 1
    for order in _orders(pattern, transposed):
        colors = _greedy(order, pointers, members, pattern.shape)
        count = int(colors.max(initial=-1)) + 1
        if count < fewest:
            best, fewest = colors, count
        if fewest <= max(least, 1):
            break
    return best


def _orders(pattern: Pattern, transposed: Pattern) -> Iterator[Iterable[int]]:
    """The columns as they stand, the fullest first, those with the fullest rows first, and by incidence."""
    count = pattern.shape[1]
    yield range(count)
    counts = np.diff(transposed.indptr)
    yield np.argsort(-counts, kind="stable").tolist()
    neighbours = transposed.astype(np.int64) @ np.diff(pattern.indptr)  # bounds a column's degree
    yield np.argsort(-neighbours, kind="stable").tolist()
    yield _by_incidence(pattern, transposed)


def _greedy(order: Iterable[int], pointers: list[int], members: list[int], shape: tuple[int, int]) -> Array:
    taken = [0] * shape[0]  # for each row the colours that its columns have, as bits
    colors = [0] * shape[1]
    for column in order:
        rows = members[pointers[column] : pointers[column + 1]]
        forbidden = 0
        for row in rows:
            forbidden |= taken[row]
        bit = ~forbidden & (forbidden + 1)  # the lowest that is free
        colors[column] = bit.bit_length() - 1
        for row in rows:
            taken[row] |= bit
    return np.array(colors, np.int64)


def _by_incidence(pattern: Pattern, transposed: Pattern) -> Iterable[int]:
    """Always the column that has most neighbours in rows that were met before (breadth first in each part)."""
    rows, row_starts = pattern.indices.tolist(), pattern.indptr.tolist()
    columns, column_starts = transposed.indices.tolist(), transposed.indptr.tolist()
    count = pattern.shape[1]
    scores = [0] * count
    done = [False] * count
    heap = [(0, i, i) for i in range(count)]
    is_met = [False] * pattern.shape[0]
    budget = 20 * len(rows) + 20 * count
    while heap:
        score, _, column = heappop(heap)
        if done[column] or -score != scores[column]:
            continue
        done[column] = True
        yield column
        for row in columns[column_starts[column] : column_starts[column + 1]]:
            if is_met[row] or budget < 0:
                continue
            is_met[row] = True
            for other in rows[row_starts[row] : row_starts[row + 1]]:
                budget -= 1
                if not done[other]:
                    scores[other] += 1
                    heappush(heap, (-scores[other], other, other))


# -- symmetric matrices -----------------------------------------------------------------------------------------------


def color_stars(pattern: Pattern) -> Array:
    """A star colouring: neighbours differ, and every path of four vertices has three colours or more.

    Args:
        pattern: symmetric; its diagonal does not matter.
    """
    pointers, members = pattern.indptr.tolist(), pattern.indices.tolist()
    natural = _stars(range(pattern.shape[0]), pointers, members)
    if pattern.shape[0] and natural.max() <= 1:
        return natural
    order = np.argsort(-np.diff(pattern.indptr), kind="stable").tolist()
    largest = _stars(order, pointers, members)
    return largest if largest.max(initial=0) < natural.max(initial=0) else natural


def _stars(order: Iterable[int], pointers: list[int], members: list[int]) -> Array:
    count = len(pointers) - 1
    colors = [-1] * count
    seen = [0] * count  # the colours of the neighbours, as bits
    closed = [0] * count  # those of neighbours that have another neighbour of this vertex's colour
    alone: list[dict[int, int]] = [{} for _ in range(count)]  # for each colour of neighbours the first one that has it
    for vertex in order:
        forbidden = 0
        neighbours = members[pointers[vertex] : pointers[vertex + 1]]
        for other in neighbours:
            if other != vertex:
                forbidden |= seen[other] if colors[other] < 0 else (1 << colors[other]) | closed[other]
        bit = ~forbidden & (forbidden + 1)
        color = bit.bit_length() - 1
        colors[vertex] = color
        for other in neighbours:
            if other == vertex:
                continue
            seen[other] |= bit
            first = alone[other].setdefault(color, vertex)
            if first != vertex:  # then the neighbour between the two has a colour
                closed[first] |= 1 << colors[other]
                closed[vertex] |= 1 << colors[other]
    return np.array(colors, np.int64)


def is_column_coloring(pattern: Pattern, colors: Array) -> bool:
    """Whether columns of one colour have no row in common."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return bool(np.all(_are_alone(colors, rows, pattern.indices)))


# -- reading the matrix from the products -----------------------------------------------------------------------------


def seeds(colors: Array, count: int, start: int, stop: int, dtype: DTypeLike | None) -> Array:
    """For each colour from start to stop the sum of the unit vectors of that colour."""
    chosen = np.flatnonzero((colors >= start) & (colors < stop))
    found = np.zeros((stop - start, count), dtype)
    found[colors[chosen] - start, chosen] = 1
    return found


def places(plan: Plan, pattern: Pattern) -> Array:
    """Where the entries of the pattern, in its order, stand among all that the products give.

    Those with columns come first (one J s a row, s the seeds of a colour of columns), then those with rows (one s^T J
    a row), each row by row.
    """
    rows = np.repeat(np.arange(pattern.shape[0], dtype=np.int64), np.diff(pattern.indptr))
    columns = pattern.indices.astype(np.int64)
    if plan.mode == "symmetric":
        return _symmetric_places(plan.columns, rows, columns)
    found = np.zeros(len(columns), np.int64)
    if plan.forward:
        found = plan.columns[columns] * pattern.shape[0] + rows
    if plan.backward:
        own = plan.forward * pattern.shape[0] + plan.rows[rows] * pattern.shape[1] + columns
        found = np.where(plan.rows[rows] >= 0, own, found)
    return found


def _symmetric_places(colors: Array, rows: Array, columns: Array) -> Array:
    """Entry (i, j) is alone in row i of the product for j's colour, or its mirror image is in row j of that for i's."""
    is_alone, size = _are_alone(colors, rows, columns), len(colors)
    return np.where(is_alone, colors[columns] * size + rows, colors[rows] * size + columns)


def _are_alone(colors: Array, rows: Array, columns: Array) -> Array:
    """Whether no other entry of the same row has the column's colour."""
    keys = rows * (int(colors.max(initial=0)) + 1) + colors[columns]
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return counts[inverse] == 1


def is_star_coloring(pattern: Pattern, colors: Array) -> bool:
    """Whether each entry off the diagonal, or its mirror image, is alone of its colour in its row, and neighbours
    differ."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    columns = pattern.indices
    off = rows != columns
    if np.any(colors[rows[off]] == colors[columns[off]]):
        return False
    return bool(np.all(_are_alone(colors, rows, columns) | _are_alone(colors, columns, rows)))


__all__ = [
    "NONE", "Plan", "best_plan", "color_columns", "color_stars", "column_plan", "is_column_coloring",
    "is_star_coloring", "mixed_plan", "places", "row_plan", "seeds", "symmetric_plan",
]  # fmt: skip
