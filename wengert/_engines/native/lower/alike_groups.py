"""Groups that come again and again in a long graph share one function, which is lowered once.

The steps of a Python loop that was unrolled are groups of the same members, which read and write other arrays, with
other numbers here and there. To lower each takes Python's time, however alike `ir/sharing.py` finds the loops to be
afterwards. Groups are told apart by their members first, and then by what they read and write; what differs and is no
reason for other code, arrays and where they begin, registers, and factors, summands and arrays of one number, a
function gets when it is run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ...._core.graph import Graph, Node
from ...._core.tensor import Value
from ...._passes.cse import attribute_identity
from ..ir.builder import Builder
from ..ir.loops import (
    COMPLEX,
    FLOATS,
    Apply,
    Array,
    For,
    Give,
    Operand,
    Piece,
    Reg,
    Reserve,
    SetSize,
    Swap,
    Var,
    written_by,
)  # fmt: skip
from ..ir.renaming import reads, walk
from ..ir.shared_work import unshared_in
from ..ir.sharing import MOST_NUMBERS
from ..ir.signal_checks import cost_of
from ..ir.strips import STRIP
from ..plan.schedule import SMALL, Group, Schedule
from . import groups
from .forms import TYPE_OF, Elements, Form, Lazy, Stored, is_numbers, is_repeated, repeated_number
from .index_bounds import LOOKING
from .maps import MAPS

AGAIN = 8  # groups that are alike, from which on they share a function ...
MUCH = 100  # ... if all groups have so many members together: LLVM sees whole what is shorter

STAYS = (Reserve, Give, Swap, SetSize)  # instructions that change arrays of the function that they are in

WITH_NUMBER = {"times_number": "mul", "add_number": "add"}  # by primitive, what it is with an operand for its number


class Alike(NamedTuple):
    """What is known of a group of which there are many before anything is lowered.

    Attributes:
        key: what its like have in common.
        numbers: by the key of a value the number that its node has, or all of its elements are, and others like it are
            not.
    """

    key: Any
    numbers: dict[int, float]


class Routine(NamedTuple):
    """The function of a kind of groups, or of nodes, and the constants that it reads wherever it is run."""

    piece: Piece
    constants: list[Array]


# -- members ----------------------------------------------------------------------------------------------------------


def alike_groups(plan: Schedule) -> dict[int, Alike]:
    """By `id` the groups that many others are like."""
    found = [step for step in plan.steps if type(step) is Group and not step.copies and is_numbers(step.shape)]
    if sum(len(group.members) for group in found) < MUCH:
        return {}
    repeated = _repeated_numbers([step for step in plan.steps if type(step) is Node])
    kinds: dict[Any, list[tuple[Group, dict[int, float]]]] = {}
    for group in found:
        key, numbers = _members(group, plan.stored, repeated)
        kinds.setdefault(key, []).append((group, numbers))
    return {id(group): alike for key, kind in kinds.items() for group, alike in _of_kind(key, kind)}


def _of_kind(
    key: Any, kind: list[tuple[Group, dict[int, float]]]
) -> Iterable[tuple[Group, Alike]]:  # fmt: skip
    """Groups of equal members, by the numbers that they have, too, unless few of them differ."""
    if len(kind) < AGAIN:
        return
    columns = [*zip(*([*map(repr, numbers.values())] for _, numbers in kind), strict=True)]
    differ = [len({*column}) > 1 for column in columns]
    if sum(differ) > MOST_NUMBERS:
        differ = [False] * len(differ)
    parts: dict[Any, list[tuple[Group, dict[int, float]]]] = {}
    for group, numbers in kind:
        same = (*[repr(x) for x, is_other in zip(numbers.values(), differ, strict=True) if not is_other],)
        other = {k: x for (k, x), is_other in zip(numbers.items(), differ, strict=True) if is_other}
        parts.setdefault((key, same), []).append((group, other))
    for whole, part in parts.items():
        if len(part) >= AGAIN:
            yield from ((group, Alike(whole, other)) for group, other in part)


def _repeated_numbers(nodes: list[Node]) -> dict[int, float]:
    """By the key of a constant array of one number that number."""
    found: dict[int, float] = {}
    for node in nodes:
        value = node.attrs[0] if node.op.name == "constant" else None
        if value is not None and value.size > SMALL and TYPE_OF.get(value.dtype) in FLOATS:
            number = value.flat[0].item()
            if number == number and is_repeated(value):
                found[node.outputs[0].key] = number
    return found


def _members(group: Group, stored: set[int], repeated: dict[int, float]) -> tuple[Any, dict[int, float]]:
    """What the members of a group do, and the numbers that they do it with."""
    key: list[Any] = [group.shape]
    places: dict[int, int] = {}
    numbers: dict[int, float] = {}
    for node in group.members:
        out = node.outputs[0]
        if node.op.name in WITH_NUMBER and TYPE_OF[out.dtype] in FLOATS:
            numbers[out.key] = float(node.attrs[0])
            key.append(node.op.name)
        else:
            key += _kind(node)
        key += (out.shape, out.dtype, out.key in stored, node.is_quiet)
        for value in node.inputs:
            if value.key in repeated and value.key not in places:
                numbers[value.key] = repeated[value.key]
                key += ("number", value.shape, value.dtype)
        key += [places.setdefault(v.key, len(places)) for v in node.inputs]
        places[out.key] = len(places)
    return (*key,), numbers


def _kind(node: Node) -> tuple[Any, ...]:
    return node.op.name, (*map(attribute_identity, node.attrs),)


# -- what they read and write -----------------------------------------------------------------------------------------


class _Refused(Exception):
    """A group reads what no function can be given."""


class _Around:
    """What a group reads and writes: what is the same in others of its kind, and what a function of them is given.

    Attributes:
        key: the first.
        arrays, registers: the second, in the order in which they were met.
        sources: by the key of a value the form that is there before the group is.
        through: the nodes that are computed where the group reads them, in order.
        given: the arrays of one number that the function is given.
    """

    def __init__(self, block: Any, group: Group, rooms: groups.Rooms, alike: Alike) -> None:
        self.block = block
        self.numbers = alike.numbers
        self.given: list[Value] = []
        self.key: list[Any] = []
        self.arrays: dict[Array, int] = {}
        self.registers: dict[Operand, int] = {}
        self.sources: dict[int, Form] = {}
        self.through: list[Node] = []
        self._places: dict[int, int] = {}
        if any(room is None and TYPE_OF[v.dtype] in COMPLEX for v, room in _given(group, rooms)):
            raise _Refused
        own = {node.outputs[0].key for node in group.members}
        for value in (v for node in group.members for v in node.inputs):
            if value.key not in own:
                self._value(value)
        for room in rooms.values():
            if room is not None:
                self._stored(room)

    def _value(self, value: Value) -> None:
        place = self._places.get(value.key)
        if place is not None:
            self.key.append(place)
            return
        self._places[value.key] = len(self._places)
        form = self.block.forms[value.key]
        if value.key in self.numbers:
            self.key += ("number", form.type, form.shape)
            self.given.append(value)
        elif type(form) is Lazy:
            self._through(value)
        elif type(form) is Stored:
            self._stored(form)
            self.sources[value.key] = form
        elif type(form) is Elements:
            self.key += ("elements", form.type, form.shape)
            for item in form.items:
                self._operand(item)
            self.sources[value.key] = form
        else:
            raise _Refused

    def _through(self, value: Value) -> None:
        """A value that is computed where it is read."""
        node = self.block.maker_of(value)
        if node is None or node.op.name in LOOKING or not self.block.is_lazy(node):
            raise _Refused
        if node.op.name in MAPS and MAPS[node.op.name].check is not None:
            raise _Refused
        self.key += (*_kind(node), value.shape, value.dtype)
        for source in node.inputs:
            self._value(source)
        self.through.append(node)

    def _stored(self, form: Stored) -> None:
        if not is_numbers(form.shape) or not is_numbers(form.strides) or form.array.place == "grown":
            raise _Refused
        array = self.arrays.setdefault(form.array, len(self.arrays))
        self.key += ("stored", array, form.type, form.shape, form.strides, form.is_dense)
        if type(form.offset) is int and form.offset == 0:
            self.key.append(0)
        else:
            self._register(form.offset)

    def _operand(self, item: Operand) -> None:
        if type(item) is Reg:
            self._register(item)
        elif type(item) in (bool, int, float):
            self.key.append(repr(item))
        else:  # the parts of a complex number
            raise _Refused

    def _register(self, x: Operand) -> None:
        self.key += ("register", self.registers.setdefault(x, len(self.registers)))


class _Twin:
    """The parameters of a function in the places of what a group reads and writes."""

    def __init__(self, b: Builder, around: _Around) -> None:
        self.arrays = {array: b.array(array.type, "local") for array in around.arrays}
        self.registers = {x: b.reg(x.type if type(x) is Reg else "i64") for x in around.registers}

    def of(self, form: Any) -> Any:
        """What stands for an operand or a room."""
        if type(form) is Elements:
            return Elements(form.shape, form.type, [self.registers.get(x, x) for x in form.items])
        offset: Any = self.registers.get(form.offset, form.offset)
        return Stored(form.shape, self.arrays[form.array], offset, form.strides, form.is_dense)


# -- one function -----------------------------------------------------------------------------------------------------


class AlikeGroups:
    """The functions of groups that are alike, in a function that is being lowered."""

    def __init__(self) -> None:
        self._made: dict[Any, Routine | None] = {}

    def lower(self, block: Any, group: Group, rooms: groups.Rooms, alike: Alike, number: int) -> bool:
        """Emits a group as a call, and files what it gives; whether that could be done.

        Args:
            block: the block that it stands in.
            group: the group.
            rooms: where what it gives goes.
            alike: what is known of it.
            number: of a piece, if one is made.
        """
        try:
            around = _Around(block, group, rooms, alike)
        except _Refused:
            return False
        key = (alike.key, *around.key)
        if key not in self._made:
            self._made[key] = _made(block, group, rooms, around, alike, number)
        routine = self._made[key]
        if routine is None:
            return False
        b: Builder = block.b
        totals = {key: b.var(var.type) for key, var in zip(_totals(rooms), routine.piece.variables, strict=True)}
        arrays = (*around.arrays, *routine.constants)
        b.block.append(Apply(routine.piece, arrays, (*around.registers, *alike.numbers.values()), (*totals.values(),)))
        groups.file(block, group, rooms, {key: b.get(var) for key, var in totals.items()})
        return True


def _given(group: Group, rooms: groups.Rooms) -> list[tuple[Value, Stored | None]]:
    outs = (node.outputs[0] for node in group.members)
    return [(out, rooms[out.key]) for out in outs if out.key in rooms]


def names(item: Any) -> set[Any]:
    """The registers, arrays and variables that an instruction names."""
    var = getattr(item, "var", None)
    return {*reads(item), *([var] if type(var) is Var else [])}


def _totals(rooms: groups.Rooms) -> list[int]:
    return [key for key, room in rooms.items() if room is None]


def _made(
    block: Any, group: Group, rooms: groups.Rooms, around: _Around, alike: Alike, number: int
) -> Routine | None:  # fmt: skip
    """The function of groups like one; None if it would need more from outside than it is given, or takes long."""
    b: Builder = block.b
    first = b.mark()
    given = _Twin(b, around)
    twin = block.alone(Graph.of("group", [], [], []), [])
    twin.forms = {key: given.of(form) for key, form in around.sources.items()}
    types = {v.key: TYPE_OF[v.dtype] for v in (*[node.outputs[0] for node in group.members], *around.given)}
    twin.given_numbers = {key: b.reg(types[key]) for key in alike.numbers}
    for value in around.given:
        twin.forms[value.key] = repeated_number(value.shape, types[value.key], twin.given_numbers[value.key])
    own_rooms: groups.Rooms = {key: None if room is None else given.of(room) for key, room in rooms.items()}
    body: list[Any] = []
    variables: list[Var] = []
    with b.apart(body):
        for node in around.through:
            twin.compute_where_read(node)
        groups.emit(twin, group, own_rooms)
        for key in _totals(rooms):
            variables.append(b.var(twin.forms[key].type, twin.forms[key].items[0]))
    unshared_in(body)
    items = [*walk(body)]
    if any(type(x) is For and x.work is not None for x in items) or sum(map(cost_of, body)) > STRIP:
        return None  # threads and signals' checks are for loops of the function itself
    named = {x for item in items for x in names(item)}
    constants: list[Any] = [array for array in block.setting.constant_arrays() if array in named]
    if any(type(x) in STAYS for x in items):
        return None
    if any(x.number < first for x in named.difference(constants)):
        return None
    written = {array for item in items for array in written_by(item)}
    registers = [*given.registers.values(), *twin.given_numbers.values()]
    piece = Piece(number, body, [*given.arrays.values(), *constants], registers, variables, written)
    return Routine(piece, constants)


__all__ = ["STAYS", "WITH_NUMBER", "Alike", "AlikeGroups", "Routine", "alike_groups", "names"]
