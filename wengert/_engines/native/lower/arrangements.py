"""Elements in the order of bytes beside them, as partitions have them: counted, and put where they belong at once.

`arranged(graph)` puts an `ARRANGED` in the stead of an order of bytes that only moves elements along the same axis, so
that nobody stores the order. Some lanes are done side by side: each element waits for the one before it in its lane,
and lanes that lie next to each other share the lines of the cache.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...._core.graph import Graph, Node
from ...patterns import Parts, private
from ..ir.builder import Builder
from ..ir.loops import TYPES, Array, Operand
from .blocks import Block, singles
from .forms import TYPE_OF, Form, Index, Stored, is_numbers, with_place
from .nests import poll_often
from .ranges import number_of
from .scalars import larger
from .scatters import over

ARRANGED = private("native arranged", "x sides", ("axis",))

_DIGITS = 256
_LANES = 4  # at most, that are done side by side


def arranged(graph: Graph) -> Graph:
    """The graph with elements that are arranged by bytes, where the order of the bytes has no other reader."""
    reads = Counter(v.key for node in graph.nodes for v in node.inputs)
    reads.update(v.key for v in graph.outputs)
    parts, has_found = Parts(graph), False
    for node in graph.nodes:
        order = parts.made_by(node.inputs[1], "argsort") if node.op.name == "permute_along" else None
        if order is not None and reads[node.inputs[1].key] == 1 and _is_counted(node, order):
            has_found = True
            node = node.remade(ARRANGED, (node.inputs[0], order.inputs[0]), (node.attrs[0],))
        parts.add(node)
    return parts.without_unused(graph) if has_found else graph


def _is_counted(node: Node, order: Node) -> bool:
    """Whether these are elements in registers, moved in the ascending order of bytes, each once."""
    x, sides = node.inputs[0], order.inputs[0]
    axis, is_descending = order.attrs
    rank = len(sides.shape)
    is_same = axis % rank == node.attrs[0] % rank and x.shape == sides.shape
    return is_same and not is_descending and sides.dtype == np.uint8 and TYPE_OF.get(x.dtype) in TYPES


def _arranged(block: Block, node: Node, forms: list[Form]) -> Sequence[Form]:
    b, x, sides = block.b, block.stored(forms[0]), block.stored(forms[1])
    target = block.room(node.outputs[0])
    axis = node.attrs[0] % len(x.shape)
    side = _other_axis(x, axis)
    starts = b.alloc("i64", _DIGITS * _LANES)
    for start, blocks, lanes in [(0, 1, 1)] if side is None else _blocks(b, x.shape[side]):
        shape = with_place(x.shape, axis, 1)
        if side is not None:
            shape = with_place(shape, side, blocks)

        def some(index: Index, start: Operand = start, lanes: Operand = lanes) -> None:
            def at(place: Operand, lane: Operand) -> Index:
                found = with_place(index, axis, place)
                if side is None:
                    return found
                return with_place(found, side, b.add(b.add(start, b.mul(index[side], _LANES)), lane))

            _arrange(b, x.shape[axis], lanes, starts, _Elements(x, sides, target, at))
            poll_often(b, *x.shape)

        over(b, shape, some)
    return [target]


def _blocks(b: Builder, extent: Operand) -> list[tuple[Operand, Operand, Operand]]:
    """Lanes in blocks: the first one, how many blocks, and how many lanes each has."""
    whole, rest = b.divided(extent, _LANES), b.remainder(extent, _LANES)
    found = [(0, whole, _LANES), (b.mul(whole, _LANES), 1, rest)]
    return [(start, blocks, lanes) for start, blocks, lanes in found if 0 not in (blocks, lanes)]


class _Elements(NamedTuple):
    """Elements, the bytes beside them and where they go, and the index of a place in one of some lanes."""

    x: Stored
    sides: Stored
    target: Stored
    at: Callable[[Operand, Operand], Index]


def _arrange(b: Builder, n: Operand, lanes: Operand, starts: Array, these: _Elements) -> None:
    """Counts the bytes of some lanes side by side, and puts each element behind those that were before it."""
    x, sides, target, at = these

    def digit(i: Operand, lane: Operand) -> Operand:
        return b.convert("i64", "u8", sides.at(b, at(i, lane)))

    def start_of(d: Operand, lane: Operand) -> Operand:
        return b.add(b.mul(d, _LANES), lane)

    most = b.var("u8", 0)
    with b.loop(0, n) as i, b.loop(0, lanes) as lane:
        b.set(most, larger(b, "u8", sides.at(b, at(i, lane)), b.get(most)))
    digits = b.add(b.convert("i64", "u8", b.get(most)), 1)
    with b.loop(0, b.mul(digits, _LANES)) as i:
        b.store(starts, i, 0)
    with b.loop(0, n) as i, b.loop(0, lanes) as lane:
        here = start_of(digit(i, lane), lane)
        b.store(starts, here, b.add(b.load(starts, here), 1))
    with b.loop(0, lanes) as lane:
        begun = b.var("i64", 0)
        with b.loop(0, digits) as d:
            here, before = start_of(d, lane), b.get(begun)
            b.set(begun, b.add(before, b.load(starts, here)))
            b.store(starts, here, before)
    with b.loop(0, n) as i, b.loop(0, lanes) as lane:
        here = start_of(digit(i, lane), lane)
        to = b.load(starts, here)
        b.store(starts, here, b.add(to, 1))
        target.store(b, at(to, lane), x.at(b, at(i, lane)))


def _other_axis(x: Stored, axis: int) -> int | None:
    """The axis along which lanes are side by side: where they lie nearest to each other, if there are several lanes."""
    others = [a for a, n in enumerate(x.shape) if a != axis and not (type(n) is int and n == 1)]
    if not is_numbers([x.strides[a] for a in others]):
        return others[-1] if others else None
    return min(others, key=lambda a: abs(number_of(x.strides[a])), default=None)


LOWERED = singles({ARRANGED.name: _arranged})
