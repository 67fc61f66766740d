"""Finds results that can overwrite an operand's memory: those computed from it element by element, in its last use.

A loop reads what it needs of an element before it writes any of its results there. So a member's value can go where an
operand of the same shape and type is, if the loop is the last that reads it and reads it element by element. Chains of
such heirs end at what they inherit from, or at a result of the graph, whose memory then serves for all of them. Called
by `blocks.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...._core.graph import Node
from ...._core.tensor import Value
from ..plan.schedule import Group, Kind, static_size

FEW = 64  # elements up to which memory is no matter, and short loops may do some of them twice (`index_splitting.py`)
Makers = dict[int, tuple[Node, Kind]]


def heirs(
    steps: Sequence[Node | Group], makers: Makers, stored: set[int], last: dict[int, list[int]],
    is_elementwise: Callable[[Node], bool],
) -> dict[int, int]:  # fmt: skip
    """For values by key the keys of those that take over their memory.

    Args:
        steps: what is done, in order.
        makers: of values by key, their nodes and how these are lowered.
        stored: keys of the members' values that are stored.
        last: by the number of a step, the keys of what is read there for the last time.
        is_elementwise: whether a node computes its elements from those of its operands at the same index.
    """
    found: dict[int, int] = {}
    for place, step in enumerate(steps):
        if type(step) is not Group:
            continue
        free = {key for key in last.get(place, ()) if key in stored and key not in found}
        if not free:
            continue
        free.difference_update(key for node in step.members for key in _moved(node, makers, is_elementwise))
        free.difference_update([v.key for v in step.copies])
        for node in step.members:
            out = node.outputs[0]
            if out.key not in stored or not is_elementwise(node):
                continue
            key = next((k for k in sorted(free) if _fits(makers[k][0].outputs[0], out)), None)
            if key is not None:
                free.remove(key)
                found[key] = out.key
    return found


def _fits(value: Value, heir: Value) -> bool:
    size = static_size(value.shape)
    is_large = size is None or size > FEW
    return is_large and value.key != heir.key and value.shape == heir.shape and value.dtype == heir.dtype


def _moved(node: Node, makers: Makers, is_elementwise: Callable[[Node], bool]) -> Iterator[int]:
    """What a member reads in another way than element by element, before anything is written."""
    waiting = [(node, not is_elementwise(node))]
    seen: set[tuple[int, bool]] = set()
    while waiting:
        reader, is_moving = waiting.pop()
        for value in reader.inputs:
            if is_moving or value.shape != node.outputs[0].shape:
                yield value.key
            maker, kind = makers.get(value.key, (None, None))
            if maker is None or kind is None or not kind.is_read_through or (value.key, is_moving) in seen:
                continue
            seen.add((value.key, is_moving))
            waiting.append((maker, is_moving or not is_elementwise(maker)))
