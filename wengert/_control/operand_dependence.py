"""Which operands each result of an op depends on by a path that can carry a gradient other than zero.

Of ops that hold programs (a call, branches, a loop) the programs are followed: one result may read what another does
not. Asked by `custom_captures.py` and `eager_back.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .._core.dtypes import is_inexact
from .._core.graph import Graph
from .._core.op import Op
from .._prims.structural import attach

_CARRY_NOTHING = ("stop", "zero")


def read_by(op: Op, attrs: Sequence[Any], count: int, wanted: Sequence[int]) -> Iterable[int]:
    """The positions of the operands that some of an op's results depend on.

    Args:
        count: how many operands there are.
        wanted: the positions of the results.
    """
    if op.kind in _CARRY_NOTHING:
        return ()
    if op is attach:
        return (0,)
    holds = op.facts.holds
    if holds == "a program":
        return inputs_read(attrs[0].graph, wanted)
    if holds == "branches":
        return {i + 1 for program in attrs[0].programs for i in inputs_read(program.graph, wanted)}
    if holds == "a loop":
        return _read_by_loop(attrs[0], count, wanted)
    if op.walks:
        return attrs[0].read_by(wanted)
    return range(count)


# what ran, its attributes, the keys of its operands, the keys of its results
Line = tuple[Op, Sequence[Any], Sequence[int], Sequence[int]]


def sources(lines: Iterable[Line], keys: Iterable[int]) -> set[int]:
    """All keys that these depend on by a path that can carry a gradient other than zero; the last line comes first."""
    needed = set(keys)
    for op, attrs, operands, outs in lines:
        if not needed.isdisjoint(outs):
            wanted = [i for i, key in enumerate(outs) if key in needed]
            needed.update(operands[i] for i in read_by(op, attrs, len(operands), wanted))
    return needed


def lines_of(entries: Sequence[Any]) -> Iterable[Line]:
    """What a tape has kept, the last line first."""
    return ((e[0], e[1], e[3], e[5]) for e in reversed(entries))


def inputs_read(graph: Graph, wanted: Iterable[int]) -> set[int]:
    """The positions of the inputs of a graph that these of its outputs depend on."""
    needed = {graph.outputs[i].key for i in wanted if is_inexact(graph.outputs[i].dtype)}
    for node in reversed(graph.nodes):
        places = [i for i, v in enumerate(node.outputs) if v.key in needed]
        if places:
            needed.update(node.inputs[i].key for i in read_by(node.op, node.attrs, len(node.inputs), places))
    return {i for i, v in enumerate(graph.inputs) if v.key in needed and is_inexact(v.dtype)}


def _read_by_loop(spec: Any, count: int, wanted: Sequence[int]) -> Iterable[int]:
    """A carry that is wanted at the end is wanted at each step, and with it what the step computes it from."""
    offset = int(spec.is_counted)
    places = {i if i < spec.carries else spec.emits[i - spec.first_emit] for i in wanted if not _counts(spec, i)}
    if not all(isinstance(p, int) for p in places):  # a history, which a backward pass reads
        return range(count)
    graph = spec.body.graph
    while True:
        read = inputs_read(graph, places)
        more = {i for i in read if i < spec.carries} - places
        if not more:
            return {i + offset for i in read | {p for p in places if p < spec.carries}}
        places |= more


def _counts(spec: Any, place: int) -> bool:
    """Whether a result is the number of steps."""
    return not spec.is_counted and place == spec.carries
