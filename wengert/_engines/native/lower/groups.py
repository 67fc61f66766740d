"""Groups of a schedule: the members of one loop nest, emitted where they stand.

`alike_groups.py` emits groups that come again as calls of one function instead. `blocks.py` calls both.
"""

from __future__ import annotations

from typing import Any

from ...._core.tensor import Value
from ..ir.loops import Operand
from ..plan.schedule import Group, is_small
from . import nests
from .forms import TYPE_OF, Elements, Form, Stored
from .reduces import REDUCES, RUNNING

Rooms = dict[int, "Stored | None"]  # by the key of a value where it is stored; None of a total that is a register


def rooms_of(block: Any, group: Group, stored: set[int]) -> Rooms:
    """Where what a group gives goes; arrays that are made for it are those of the nodes that give it, in errors too."""
    rooms: Rooms = {}
    for node in group.members:
        out = node.outputs[0]
        block.setting.do(node)
        if node.op.name in REDUCES:
            # a reduction of everything stays in a register
            is_total = len(node.attrs[0]) == len(node.inputs[0].shape)
            rooms[out.key] = None if is_total else block.room(out)
        elif out.key in stored:
            rooms[out.key] = block.room(out)
    for value in group.copies:
        block.setting.do(block.maker_of(value))
        rooms[value.key] = block.room(value)
    return rooms


def emit(block: Any, group: Group, rooms: Rooms) -> None:
    """Emits a group's loops, and files what they give."""
    writes: list[nests.Write] = []
    computed: list[Form] = []
    sums: list[tuple[Value, nests.Sum]] = []
    for node in group.members:
        forms = [block.forms[v.key] for v in node.inputs]
        out = node.outputs[0]
        block.setting.do(node)
        if node.op.name in REDUCES:
            sums.append((out, nests.Sum(forms[0], REDUCES[node.op.name], node.attrs[0], rooms[out.key])))
            continue
        form = nests.Running(node.op.name, forms[0]) if node.op.name in RUNNING else block.lazy(node, forms)
        block.forms[out.key] = form
        computed.append(form)
        target = rooms.get(out.key)
        if target is not None:
            writes.append(nests.Write(form, target))
            # what the same group reads is the value itself, not where it is going
    for value in group.copies:
        form, target = block.forms[value.key], rooms[value.key]
        assert target is not None
        if not (type(form) is Stored and form.array is target.array and form.is_dense):  # else it is there already
            writes.append(nests.Write(form, target))
    if writes or sums:
        shape = (*map(block.extent, group.shape),)
        nests.emit(block.b, shape, writes, [total for _, total in sums], computed)
    file(block, group, rooms, {out.key: total.result for out, total in sums})


def file(block: Any, group: Group, rooms: Rooms, totals: dict[int, Operand]) -> None:
    """Files what is stored in rooms, and totals that are registers."""
    for key, room in rooms.items():
        if room is not None:
            block.forms[key] = room
    for node in group.members:
        if node.op.name not in REDUCES:
            continue
        out = node.outputs[0]
        room = rooms[out.key]
        if room is None:
            block.forms[out.key] = Elements((), TYPE_OF[node.inputs[0].dtype], [totals[out.key]])
        elif is_small(out):
            block.forms[out.key] = block.elements(room)


__all__ = ["Rooms", "emit", "file", "rooms_of"]
