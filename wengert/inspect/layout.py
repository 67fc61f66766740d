"""Places the boxes of a directed acyclic graph in layers, so that few lines cross (after Sugiyama).

Knows sizes and edges only. A box that is read far below hands its value down along one chain of way points, which all
of its readers share, so that a value read ten times is one line with branches.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

__all__ = ["Drawing", "place"]

_SWEEPS = 24  # of ordering and of straightening
_SWEEPS_LARGE = 6
_LARGE = 1500  # vertices


@dataclass
class Vertex:
    """A box, or a way point of a line on its way through a layer."""

    layer: int
    width: float
    height: float
    above: list[int] = field(default_factory=list[int])
    below: list[int] = field(default_factory=list[int])
    is_way_point: bool = False
    x: float = 0.0  # of the middle
    y: float = 0.0  # of the upper edge


@dataclass
class Drawing:
    """Where everything lies.

    Attributes:
        vertices: the boxes in the order given, then the way points.
        edges: pairs of vertices one layer apart.
        width, height: of the whole.
        layer_heights: the height of each layer's tallest box.
    """

    vertices: list[Vertex]
    edges: list[tuple[int, int]]
    width: float
    height: float
    layer_heights: list[float]


def place(
    sizes: Sequence[tuple[float, float]], sources: Sequence[Sequence[int]], gap: float = 26.0, layer_gap: float = 38.0
) -> Drawing:  # fmt: skip
    """Finds a place for each box.

    Args:
        sizes: width and height of each box.
        sources: for each box the boxes it follows from, which come before it.
        gap: the least space between boxes side by side.
        layer_gap: the space between layers.
    """
    layers_of = _layers(sources)
    vertices = [Vertex(layer, w, h) for layer, (w, h) in zip(layers_of, sizes, strict=True)]
    edges = _joined_by_way_points(vertices, sources)
    for a, b in edges:
        vertices[a].below.append(b)
        vertices[b].above.append(a)
    rows: list[list[int]] = [[] for _ in range(max(layers_of, default=-1) + 1)]
    for index, vertex in enumerate(vertices):
        rows[vertex.layer].append(index)
    sweeps = _SWEEPS if len(vertices) <= _LARGE else _SWEEPS_LARGE
    rows = _ordered(rows, vertices, sweeps)
    _straighten(rows, vertices, gap, sweeps)
    heights = [max(vertices[i].height for i in row) for row in rows]
    y = 0.0
    for row, height in zip(rows, heights, strict=True):
        for i in row:
            vertices[i].y = y + (0.0 if vertices[i].is_way_point else (height - vertices[i].height) / 2)
        y += height + layer_gap
    left = min((v.x - v.width / 2 for v in vertices), default=0.0)
    for v in vertices:
        v.x -= left
    width = max((v.x + v.width / 2 for v in vertices), default=0.0)
    return Drawing(vertices, edges, width, max(y - layer_gap, 0.0), heights)


def _layers(sources: Sequence[Sequence[int]]) -> list[int]:
    """The longest way to each box from the top; what follows from nothing moves down to where it is first read."""
    layers = [0] * len(sources)
    readers: list[list[int]] = [[] for _ in sources]
    for index, above in enumerate(sources):
        for source in above:
            readers[source].append(index)
            layers[index] = max(layers[index], layers[source] + 1)
    for index in reversed(range(len(sources))):
        if not sources[index] and readers[index]:
            layers[index] = min(layers[r] for r in readers[index]) - 1
    return layers


def _joined_by_way_points(vertices: list[Vertex], sources: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Edges from layer to layer; adds the way points that long ones need."""
    edges: list[tuple[int, int]] = []
    chains: dict[int, list[int]] = {}
    for index, above in enumerate(sources):
        for source in above:
            chain = chains.setdefault(source, [source])
            steps = vertices[index].layer - vertices[source].layer
            while len(chain) < steps:
                vertices.append(Vertex(vertices[chain[-1]].layer + 1, 2.0, 0.0, is_way_point=True))
                edges.append((chain[-1], len(vertices) - 1))
                chain.append(len(vertices) - 1)
            edges.append((chain[steps - 1], index))
    return edges


# -- the order in each layer ------------------------------------------------------------------------------------------


def _ordered(rows: list[list[int]], vertices: list[Vertex], sweeps: int) -> list[list[int]]:
    """The best order found by sorting each layer by the mean place of its neighbours, down and up by turns."""
    rows = [[*row] for row in rows]
    best, fewest = [[*row] for row in rows], _crossings(rows, vertices)
    for sweep in range(sweeps):
        goes_down = sweep % 2 == 0
        places = {i: k for row in rows for k, i in enumerate(row)}
        for row in rows if goes_down else reversed(rows):
            means = {i: _mean_place(vertices[i].above if goes_down else vertices[i].below, places, i) for i in row}
            row.sort(key=means.__getitem__)
            places.update({i: k for k, i in enumerate(row)})
        crossings = _crossings(rows, vertices)
        if crossings < fewest:
            best, fewest = [[*row] for row in rows], crossings
        if fewest == 0:
            break
    return best


def _mean_place(neighbours: Sequence[int], places: dict[int, int], index: int) -> float:
    if not neighbours:
        return places[index]
    return sum(places[n] for n in neighbours) / len(neighbours)


def _crossings(rows: list[list[int]], vertices: list[Vertex]) -> int:
    """How many pairs of lines cross, counted with a Fenwick tree for each pair of layers."""
    total = 0
    for row, following in pairwise(rows):
        places = {i: k for k, i in enumerate(following)}
        tree = [0] * (len(following) + 1)
        seen = 0
        for i in row:
            ends = sorted(places[b] for b in vertices[i].below)
            for end in ends:
                total += seen - _counted(tree, end + 1)
            for end in ends:
                _count(tree, end + 1)
            seen += len(ends)
    return total


def _counted(tree: list[int], position: int) -> int:
    total = 0
    while position > 0:
        total += tree[position]
        position -= position & -position
    return total


def _count(tree: list[int], position: int) -> None:
    while position < len(tree):
        tree[position] += 1
        position += position & -position


# -- the place in each layer ------------------------------------------------------------------------------------------


def _straighten(rows: list[list[int]], vertices: list[Vertex], gap: float, sweeps: int) -> None:
    """Moves every box as near to the mean of its neighbours as the order allows."""
    for row in rows:
        x = 0.0
        for i in row:
            vertices[i].x = x + vertices[i].width / 2
            x += vertices[i].width + gap
        for i in row:
            vertices[i].x -= x / 2
    for sweep in range(sweeps):
        goes_down = sweep % 2 == 0
        for row in rows if goes_down else reversed(rows):
            wishes = [_wish(vertices[i], vertices, goes_down or sweep >= sweeps - 2) for i in row]
            weights = [8.0 if vertices[i].is_way_point else 1.0 for i in row]
            _settle(row, vertices, wishes, weights, gap)


def _wish(vertex: Vertex, vertices: list[Vertex], looks_up: bool) -> float:
    neighbours = vertex.above if looks_up else vertex.below
    if not neighbours:
        neighbours = vertex.below if looks_up else vertex.above
    if not neighbours:
        return vertex.x
    return sum(vertices[n].x for n in neighbours) / len(neighbours)


def _settle(
    row: Sequence[int], vertices: list[Vertex], wishes: Sequence[float], weights: Sequence[float], gap: float
) -> None:
    """The least squares solution that keeps order and gaps: isotonic regression, pooling adjacent violators."""
    offsets: list[float] = []
    offset = 0.0
    for k, i in enumerate(row):
        if k:
            before = vertices[row[k - 1]]
            space = gap if not (before.is_way_point or vertices[i].is_way_point) else gap / 2
            offset += (before.width + vertices[i].width) / 2 + space
        offsets.append(offset)
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many
    for wish, weight, shift in zip(wishes, weights, offsets, strict=True):
        mean, total, count = wish - shift, weight, 1
        while pools and pools[-1][0] > mean:
            m, w, c = pools.pop()
            mean, total, count = (m * w + mean * total) / (w + total), w + total, c + count
        pools.append((mean, total, count))
    placed = iter(zip(row, offsets, strict=True))
    for mean, _, count in pools:
        for _ in range(count):
            i, shift = next(placed)
            vertices[i].x = mean + shift
