"""Splits fused loops with too many members into several, each of which reads what those before it have stored.

LLVM takes longer for one long loop than for several short ones. And a processor runs some iterations of a short loop at
once, which a long one is too long for: where most members wait for the one before them, short loops take a fraction of
the time, though they store what the next one reads. Where members are side by side there is enough to do at once.
Called by `schedule.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...._core.graph import Node
from .partners import partners

CROWD = 512  # members of one loop, however they depend on one another
RUN = 32  # members of each of several loops whose arrays stay in the cache, where what loops store costs little
FAR_RUN = 64  # ... and of loops over other arrays
NEAR = 1024  # elements of an array that stays in the cache
SIDE_BY_SIDE = 3  # members that could be computed at once, on the average, from which on there is enough to do
FEW_STORED = 2  # values that a loop stores for others
ROOM = 1 << 25  # bytes of what loops store for one another that one loop would have kept in registers


def pieces(places: list[int], nodes: Sequence[Node], size: int | None) -> list[list[int]]:
    """The members of a loop, in as many loops as take the least time.

    Args:
        places: of the members among the nodes, in order.
        nodes: of the graph.
        size: the number of elements; None if the run tells.
    """
    if len(places) <= 2 * FAR_RUN:
        return [places]
    is_chain = _depth(places, nodes) * SIDE_BY_SIDE > len(places)
    if not is_chain and len(places) <= CROWD:
        return [places]
    places = _beside_partners(places, nodes)
    names = [nodes[place].op.name for place in places]
    if size is not None and size <= NEAR:
        return _cut(places, names, RUN)
    if not is_chain:
        return _cut(places, names, CROWD)
    found = _cut(places, names, FAR_RUN)
    if len(places) <= CROWD:
        producers = {v.key: place for place in places for v in nodes[place].outputs}
        stored = _stored(found, nodes, producers)
        room = ROOM + 1 if size is None else size * sum(nodes[place].outputs[0].dtype.itemsize for place in stored)
        if len(stored) > FEW_STORED * len(found) and room > ROOM:
            return [places]
    return found


def _beside_partners(places: list[int], nodes: Sequence[Node]) -> list[int]:
    """The places, the later one of two partners behind the earlier one, so that one loop has both."""
    found = partners([nodes[place] for place in places])
    order: list[int] = []
    for number, place in enumerate(places):
        other = found.get(number, number)
        if other >= number:
            order += [place] if other == number else [place, places[other]]
    return order


def _cut(places: list[int], names: list[str], most: int) -> list[list[int]]:
    found: list[list[int]] = []
    start = length = 0
    while start < len(places):
        is_again = length and names[start : start + length] == names[start - length : start]
        if not is_again:  # else it is alike, however soon the repetitions end
            length = most if most == CROWD else _run(names, start, most)
        found.append(places[start : start + length])
        start += length
    return found


def _run(names: list[str], start: int, most: int) -> int:
    """How many members from one on make a loop: whole repetitions, where ops repeat, so that many loops are alike."""
    window = names[start : start + 2 * most]
    for period in range(1, 2 * most + 1):
        if window == names[start + period : start + period + 2 * most]:
            return max(period, most // period * period)
    return most


def _depth(places: list[int], nodes: Sequence[Node]) -> int:
    """How many members are computed one from the other, at most."""
    depth: dict[int, int] = {}  # by the key of a member's value
    deepest = 0
    for place in places:
        own = 0
        for value in nodes[place].inputs:
            source = depth.get(value.key, 0)
            if source > own:
                own = source
        own += 1
        for value in nodes[place].outputs:
            depth[value.key] = own
        if own > deepest:
            deepest = own
    return deepest


def _stored(found: list[list[int]], nodes: Sequence[Node], producers: Mapping[int, int]) -> set[int]:
    """The members that others read than those of their own piece."""
    home = {place: number for number, piece in enumerate(found) for place in piece}
    return {
        producers[v.key]
        for place in home for v in nodes[place].inputs
        if v.key in producers and home[producers[v.key]] != home[place]
    }  # fmt: skip
