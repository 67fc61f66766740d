"""Places in sorted numbers: what `searchsorted` finds, and with it interpolations and bins.

One number is looked for by halving what is left. Where many are, they take their steps side by side: how much is left
after a step does not hang on what was found, so nothing is guessed by the processor, and vectors of numbers take a step
at once. A number by itself is guessed wrong in every other step.
"""

from __future__ import annotations

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.loops import Operand
from .blocks import Block
from .forms import Form, Index, Stored, count_of
from .nests import first_by_halving, poll_often, shares
from .scatters import over
from .sorting import before

SIDE_BY_SIDE = 512  # numbers whose steps are taken together: their places stay in the nearest cache
STEP = 4  # the work of a step, in that of an addition


def searchsorted(block: Block, node: Node, forms: list[Form]) -> list[Form]:
    """The first place whose element is not before the value (with `right`: after it)."""
    b, sequence, values = block.b, block.stored(forms[0]), block.stored(forms[1])
    target = block.fresh(values.shape, "i64")
    is_after = bool(node.attrs[0])
    if len(sequence.shape) > 1:

        def lane(index: Index) -> None:
            _search(b, _lane(b, sequence, index), _lane(b, values, index), _lane(b, target, index), is_after)
            poll_often(b, *values.shape)

        over(b, values.shape[:-1], lane)
    else:
        count = count_of(b, values.shape)
        _search(b, sequence, _in_a_row(block.dense(values), count), _in_a_row(target, count), is_after)
    return [target]


def _lane(b: Builder, x: Stored, index: Index) -> Stored:
    """The numbers along the last axis at an index of those before it."""
    return Stored(x.shape[-1:], x.array, x.place(b, (*index, 0)), x.strides[-1:])


def _in_a_row(x: Stored, count: Operand) -> Stored:
    return Stored((count,), x.array, x.offset, (1,), True)


def _search(b: Builder, sequence: Stored, values: Stored, target: Stored, is_after: bool) -> None:
    """The places of a vector of values in a sorted vector."""
    (n,), (count,) = sequence.shape, values.shape

    def is_behind(value: Operand, place: Operand) -> Operand:
        """Whether the value's place lies behind this one."""
        element = sequence.at(b, (place,))
        if is_after:
            return b.negated(before(b, sequence.type, value, element))
        return before(b, sequence.type, element, value)

    if type(count) is int and count == 1:
        value = values.at(b, (0,))
        target.store(b, (0,), first_by_halving(b, n, lambda place: b.negated(is_behind(value, place))))
        return
    work = b.mul(count, STEP * (n.bit_length() if type(n) is int else 16))
    with shares(b, count, SIDE_BY_SIDE, work) as (first, some):
        left = b.var("i64", n)

        def step(length: Operand) -> None:
            """Each place moves on by a length if the last element of so many stands before the value."""
            with b.loop(0, some) as i:
                at = (b.add(first, i),)
                place = target.at(b, at)
                moved = b.add(place, length)
                is_found = is_behind(values.at(b, at), b.sub(moved, 1))
                target.store(b, at, b.select("i64", is_found, moved, place))

        def halve() -> None:
            half = b.divided(b.get(left), 2)
            step(half)
            b.set(left, b.sub(b.get(left), half))

        with b.loop(0, some) as i:
            target.store(b, (b.add(first, i),), 0)
        b.repeat(lambda: b.let("lt", "i64", 1, b.get(left)), halve)
        with b.when(b.let("lt", "i64", 0, n)):
            step(1)
        poll_often(b, count)


__all__ = ["searchsorted"]
