"""Nodes that come again and again in a long graph share one function, which is lowered once and run with other arrays.

What takes many instructions for few numbers (a sort, a factorisation) is written out for each node otherwise, until
`ir/sharing.py` finds that all are alike: a thousand sorts of eight numbers are a million instructions by then. The
first node of a kind is lowered where it stands and tells how many it takes. Only nodes outside of loops share: what a
loop does is lowered once in any case, and is faster in one piece. `blocks.py` calls this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ...._core.graph import Graph, Node
from ...._core.printer import programs_of
from ...._core.tensor import Value
from ...._passes.cse import attribute_identity
from ..ir.builder import Builder
from ..ir.loops import Apply, Array, Piece, written_by
from ..ir.renaming import walk
from ..plan.schedule import Group, Schedule
from . import groups
from .alike_groups import STAYS, Alike, AlikeGroups, Routine, alike_groups, names
from .forms import TYPE_OF, Form, Stored, is_numbers, row_major
from .standalone import is_alone

LONG = 150  # registers and arrays of a node, from which on others like it share a function
AGAIN = 8  # nodes of a kind, from which on they do
LARGEST = 256  # elements of an operand or a result


class Routines:
    """The shared functions of a function that is being lowered."""

    def __init__(self) -> None:
        self._lengths: dict[Any, int] = {}
        self._made: dict[Any, Routine | None] = {}
        self._counts: Counter[Any] | None = None
        self._groups = AlikeGroups()
        self._number = 0  # of the next piece

    def lowered(
        self, block: Any, node: Node, forms: list[Form], lower: Callable[[], Sequence[Form]]
    ) -> Sequence[Form]:  # fmt: skip
        """What a node gives: by a call where others like it share a function, else as `lower` has it."""
        key = self._key(block, node)
        if key is None:
            return lower()
        if self._lengths.get(key, 0) >= LONG:
            if key not in self._made:
                self._made[key] = _made(block, node, self._next())
            routine = self._made[key]
            return lower() if routine is None else _run(block, node, forms, routine)
        before = block.b.mark()
        found = lower()
        self._lengths[key] = block.b.mark() - before
        return found

    def _key(self, block: Any, node: Node) -> Any:
        """What nodes that share a function have in common; None if a node shares none."""
        if not _may_share(block):
            return None
        if self._counts is None:  # only one block is outermost
            self._counts = Counter(map(_kind, block.graph.nodes))
        key = _kind(node)
        return key if self._counts[key] >= AGAIN else None

    def alike(self, block: Any, plan: Schedule) -> dict[int, Alike]:
        """By `id` the groups of a plan that many others are like."""
        return alike_groups(plan) if _may_share(block) else {}

    def lower_group(self, block: Any, group: Group, rooms: groups.Rooms, alike: dict[int, Alike]) -> None:
        """Emits a group: by a call where others like it share a function."""
        known = alike.get(id(group))
        if known is None or not self._groups.lower(block, group, rooms, known, self._next()):
            groups.emit(block, group, rooms)

    def _next(self) -> int:
        self._number += 1
        return self._number


def _may_share(block: Any) -> bool:
    """Whether what a block does may be a call: with checks, arrays would come with extents."""
    return block.b.is_outermost and not block.setting.checks and not is_alone()


def _kind(node: Node) -> Any:
    """What an op does with arrays of which shapes, if they are small, and it changes none; else None."""
    values = (*node.inputs, *node.outputs)
    facts = node.op.facts
    if not node.inputs or node.op.has_effect or facts.writes or facts.buffer or programs_of(node):
        return None
    if not all(v.dtype in TYPE_OF and is_numbers(v.shape) and prod(v.shape) <= LARGEST for v in values):
        return None
    operands = [v.key for v in node.inputs]
    places = (*map(operands.index, operands),)  # an operand that comes twice is one parameter
    attrs = (*map(attribute_identity, node.attrs),)
    return (node.op.name, attrs, node.is_quiet, places, *[(v.shape, TYPE_OF[v.dtype]) for v in values])


def _made(block: Any, node: Node, number: int) -> Routine | None:
    """The function of nodes like one; None if it would need more from outside than arrays and where they begin."""
    b: Builder = block.b
    first = b.mark()
    inputs = [*{v.key: v for v in node.inputs}.values()]
    given, taken = _parameters(b, inputs), _parameters(b, node.outputs)
    body: list[Any] = []
    setting = block.setting
    calls, setting.calls_kernels = setting.calls_kernels, False  # a call tells errors with one node's line
    with b.apart(body):
        block.alone(Graph.of(node.op.name, inputs, [node], [*node.outputs]), given).run(taken)
    setting.calls_kernels = calls
    items = [*walk(body)]
    outside = sorted({x for item in items for x in names(item) if x.number < first}, key=lambda x: x.number)
    if any(type(item) in STAYS for item in items) or any(type(x) is not Array for x in outside):
        return None
    forms = [*given, *taken]
    written = {array for item in items for array in written_by(item)}
    registers: list[Any] = [form.offset for form in forms]
    piece = Piece(number, body, [*[form.array for form in forms], *outside], registers, [], written)
    return Routine(piece, outside)


def _parameters(b: Builder, values: Sequence[Value]) -> list[Stored]:
    return [
        Stored((*v.shape,), b.array(TYPE_OF[v.dtype], "local"), b.reg("i64"), row_major((*v.shape,)), True)
        for v in values
    ]  # fmt: skip


def _run(block: Any, node: Node, forms: list[Form], routine: Routine) -> list[Form]:
    inputs: dict[int, Stored] = {v.key: block.dense(form) for v, form in zip(node.inputs, forms, strict=True)}
    outputs = [_room(block, v) for v in node.outputs]
    given = [*inputs.values(), *outputs]
    arrays = (*[form.array for form in given], *routine.constants)
    block.b.block.append(Apply(routine.piece, arrays, (*[form.offset for form in given],), ()))
    return [*outputs]


def _room(block: Any, value: Value) -> Stored:
    found = block.room(value)
    is_plain = type(found) is Stored and found.is_dense
    return found if is_plain else block.fresh(found.shape, found.type)


__all__ = ["Routines"]
