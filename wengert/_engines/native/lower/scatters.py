"""Writing at integer positions: scatters, and the reads and writes of buffers.

Each writes into its first array in place if nobody else reads that, so that a step of a loop costs what it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.loops import HALVES, Operand, Status
from . import nests
from .blocks import Block, singles
from .forms import Elements, Extents, Form, Index, Lazy, count_of, is_numbers, unflattened
from .maps import check_range, wrapped
from .scalars import larger, smaller
from .standalone import is_alone

Join = Callable[[Builder, str, Operand, Operand], Operand]


def over(b: Builder, shape: Extents, body: Callable[[Index], None]) -> None:
    """A loop over all indices of a shape, in row-major order; written out where there is one."""
    if all(type(n) is int and n == 1 for n in shape):
        body((0,) * len(shape))
        return

    def axis(depth: int, index: Index) -> None:
        if depth == len(shape):
            body(index)
        elif type(shape[depth]) is int and shape[depth] == 1:
            axis(depth + 1, (*index, 0))
        else:
            with b.loop(0, shape[depth]) as i:
                axis(depth + 1, (*index, i))

    axis(0, ())


COLUMNS = 32  # of a share of a thread: whole cache lines


def over_columns(b: Builder, shape: Extents, lead: int, body: Callable[[Index], None]) -> None:
    """As `over`, of iterations that write to one another's places only if they agree in their last index, behind `lead`
    others.

    Where there is much to do, threads share the columns: so what goes to a place goes there in the same order.
    """
    count = count_of(b, shape)
    is_wide = len(shape) > lead and not (type(shape[-1]) is int and shape[-1] <= COLUMNS)
    if not is_wide or not nests.is_large(count):
        over(b, shape, body)
        return
    with nests.shares(b, shape[-1], COLUMNS, count) as (first, columns):
        over(b, (*shape[:-1], columns), lambda index: body((*index[:-1], b.add(first, index[-1]))))


def _replace(b: Builder, t: str, old: Operand, new: Operand) -> Operand:
    return new


def _added(b: Builder, t: str, old: Operand, new: Operand) -> Operand:
    return b.let("or" if t == "bool" else "add", t, old, new)


def _scatter(join: Join) -> Callable[[Block, Node, list[Form]], list[Form]]:
    def lower(block: Block, node: Node, forms: list[Form]) -> list[Form]:
        _, updates, *indices = forms
        b = block.b
        x = forms[0]
        check_range(b, indices, x.shape)
        updates = block.stored(updates) if type(updates) is not Elements else updates
        target = block.taken(node, 0)
        lead = len(indices[0].shape)

        def put(index: Index) -> None:
            places = [wrapped(b, j.at(b, index[:lead]), n) for j, n in zip(indices, target.shape, strict=False)]
            place = (*places, *index[lead:])
            new = updates.at(b, index)
            target.store(b, place, new if join is _replace else join(b, target.type, target.at(b, place), new))

        over_columns(b, updates.shape, lead, put)
        return [target]

    return lower


# -- buffers ----------------------------------------------------------------------------------------------------------


class Chosen:
    """What a template and index arrays choose: the index arrays' axes first, then those that slices leave."""

    def __init__(self, block: Block, held: Form, indices: Sequence[Form], node: Node) -> None:
        self.b = block.b
        (self.template,) = block.attrs(node)
        self.indices = indices
        self.extents = [n for entry, n in zip(self.template, held.shape, strict=True) if entry is None]
        self.lead = len(indices[0].shape) if indices else 0

    def check(self) -> None:
        """Ends the function where an index is out of range."""
        if self.indices:
            check_range(self.b, self.indices, self.extents)

    def at(self, index: Index) -> Index:
        """The index in the buffer of an element of what is chosen."""
        b = self.b
        chosen = iter(
            [wrapped(b, j.at(b, index[: self.lead]), n) for j, n in zip(self.indices, self.extents, strict=True)]
        )
        rest = iter(index[self.lead :])
        places: list[Operand] = []
        for entry in self.template:
            if entry is None:
                places.append(next(chosen))
            elif type(entry) is tuple:
                start, _, step = entry
                places.append(b.add(start, b.mul(next(rest), step)))
            else:
                places.append(entry)
        return (*places,)


def _buffer_new(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    return [block.taken(node, 0)]


def _buffer_get(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    held, *indices = forms
    place = Chosen(block, held, indices, node)
    place.check()
    out = node.outputs[0]
    shape = block.shape(out)
    if is_numbers(shape) and count_of(block.b, shape) == 1:
        return [Elements(shape, held.type, [held.at(block.b, place.at((0,) * len(shape)))])]
    target = block.fresh(shape, held.type)
    over(block.b, shape, lambda index: target.store(block.b, index, held.at(block.b, place.at(index))))
    return [target]


def _buffer_put(join: Join) -> Callable[[Block, Node, list[Form]], list[Form]]:
    def lower(block: Block, node: Node, forms: list[Form]) -> list[Form]:
        value, held, *indices = forms
        b = block.b
        place = Chosen(block, held, indices, node)
        place.check()
        if type(value) is not Elements:
            value = block.stored(value)
        held = block.taken(node, 1)
        target = held
        if held.type in HALVES and join is _added and place.lead:  # what meets in a place is rounded once
            target = block.fresh(held.shape, "f32")
            nests.copy(b, _converted(held, "f32"), target)

        def put(index: Index) -> None:
            at = place.at(index)
            new = value.at(b, index)
            target.store(b, at, new if join is _replace else join(b, target.type, target.at(b, at), new))

        over(b, value.shape, put)
        if target is not held:
            nests.copy(b, _converted(target, held.type), held)
        return [held]

    return lower


def _converted(x: Form, type_: str) -> Form:
    return Lazy(x.shape, type_, lambda b, index: b.convert(type_, x.type, x.at(b, index)))


def _last_writes(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    """Which updates are the last to go to their places: each place remembers its last, then each asks whether it is."""
    b, indices, shape = block.b, forms, forms[0].shape
    extents = [block.extent(n) for n in node.attrs[0]]
    check_range(b, indices, extents)
    winners = block.fresh((count_of(b, extents),), "i64")

    def place(index: Index) -> Operand:
        found: Operand = 0
        for j, n in zip(indices, extents, strict=True):
            found = b.add(b.mul(found, n), wrapped(b, b.convert("i64", j.type, j.at(b, index)), n))
        return found

    count = count_of(b, shape)
    with b.loop(0, count) as number:
        winners.store(b, (place(unflattened(b, shape, number)),), number)
    target = block.fresh(shape, "bool")
    with b.loop(0, count) as number:
        index = unflattened(b, shape, number)
        target.store(b, index, b.let("eq", "i64", winners.at(b, (place(index),)), number))
    return [target]


def _refused(
    is_bad: Callable[[Builder, str, Operand], Operand], status: Status
) -> Callable[[Block, Node, list[Form]], list[Form]]:
    """Gives its operand on, unless an element is one with which the code lacks what is needed: then it ends."""

    def lower(block: Block, node: Node, forms: list[Form]) -> list[Form]:
        (x,), b = forms, block.b
        if is_numbers(x.shape) and count_of(b, x.shape) == 1:
            x = block.elements(x)
            found = is_bad(b, x.type, x.items[0])
        else:
            some = b.var("bool", False)
            over(b, x.shape, lambda index: b.set(some, b.either(b.get(some), is_bad(b, x.type, x.at(b, index)))))
            found = b.get(some)
        with b.when(found):
            b.leave(Status.REFUSED if is_alone() else status)
        return [x]

    return lower


# the bounds of loops, places, and flags
_not_negative = _refused(lambda b, t, x: b.let("lt", t, x, 0), Status.REFUSED)
_refused_where_set = _refused(lambda b, t, x: x, Status.RARE)


def _multiplied(b: Builder, t: str, old: Operand, new: Operand) -> Operand:
    return b.let("and" if t == "bool" else "mul", t, old, new)


LOWERED = {
    **singles({"scatter_add": _scatter(_added)}, of_complex=True),
    **singles({"scatter_max": _scatter(larger), "scatter_min": _scatter(smaller)}, of_halves=True),
    **singles({"last_writes": _last_writes, "rarely": _refused_where_set}),
    **singles({"maximum_iterations": _not_negative, "place_of_number": _not_negative}),
    **singles({
        "scatter_set": _scatter(_replace),
        "scatter_mul": _scatter(_multiplied),
        "buffer_new": _buffer_new,
        "buffer_value": _buffer_new,
        "buffer_get": _buffer_get,
        "buffer_set": _buffer_put(_replace),
        "buffer_add": _buffer_put(_added),
    }, of_complex=True, of_halves=True),
}  # fmt: skip
