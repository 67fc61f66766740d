"""Finds nodes that one routine computes together, if one loop has both: functions of a pair (`llvm/pairs.py`) of the
same operand, as a function and what its derivative is made of. Called by `schedule.py` and `fission.py`."""

from __future__ import annotations

from collections.abc import Sequence

from ...._core.dtypes import float64
from ...._core.graph import Node
from ..llvm.polynomials import pairs


def partners(nodes: Sequence[Node]) -> dict[int, int]:
    """By the place of a node that of its partner, where it has one."""
    pair_of = {name: pair for pair in pairs() for name in pair}
    first: dict[tuple[int, tuple[str, str]], int] = {}
    found: dict[int, int] = {}
    for place, node in enumerate(nodes):
        pair = pair_of.get(node.op.name)
        if pair is None or node.outputs[0].dtype != float64:
            continue
        other = first.setdefault((node.inputs[0].key, pair), place)
        if nodes[other].op.name != node.op.name and other not in found:
            found[place], found[other] = other, place
    return found
