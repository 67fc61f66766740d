"""Places in sorted numbers: what `searchsorted` finds, and with it interpolations and bins.

One number is looked for by halving what is left. Where many are, they take their steps side by side: how much is left
after a step does not hang on what was found, so nothing is guessed by the processor, and vectors of numbers take a step
at once. The least and the largest of them are found first, and the others between these: of numbers that are near one
another there is little left, and numbers in order are looked for in short parts, of which each begins where the last
one ended. A number by itself is guessed wrong in every other step.
"""

from __future__ import annotations

from collections.abc import Callable

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.loops import FLOATS, Operand
from .blocks import Block
from .digit_orders import order_number
from .forms import Form, Index, Stored, count_of
from .nests import at_most, first_by_halving, poll_often, shares
from .scalars import larger, smaller
from .scatters import over

SIDE_BY_SIDE = 512  # numbers whose steps are taken together: their places stay in the nearest cache
PART = 64  # of these, how many are looked for together between the places of their ends, where they are in order ...
FAR = 16  # ... and their places lie further from one another than this
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

    t = sequence.type
    bits = t.replace("f", "i")

    def number(x: Operand) -> Operand:
        return order_number(b, t, bits, x) if t in FLOATS else x

    def is_behind(value: Operand, place: Operand) -> Operand:
        """Whether the place of a value's number lies behind this one."""
        return b.let("le" if is_after else "lt", bits, number(sequence.at(b, (place,))), value)

    def place_of(value: Operand) -> Operand:
        return first_by_halving(b, n, lambda place: b.negated(is_behind(value, place)))

    if type(count) is int and count == 1:
        target.store(b, (0,), place_of(number(values.at(b, (0,)))))
        return

    def numbers_from(first: Operand) -> Callable[[Operand], Operand]:
        return lambda i: number(values.at(b, (b.add(first, i),)))

    def narrow(first: Operand, some: Operand, start: Operand, reach: Operand) -> None:
        """The places of some numbers, which lie between a place and one so far behind it."""
        own = numbers_from(first)
        left = b.var("i64", reach)

        def step(length: Operand) -> None:
            """Each place moves on by a length if the last element of so many stands before the value."""
            with b.loop(0, some) as i:
                at = (b.add(first, i),)
                place = target.at(b, at)
                moved = b.add(place, length)
                target.store(b, at, b.select("i64", is_behind(own(i), b.sub(moved, 1)), moved, place))

        def halve() -> None:
            half = b.divided(b.get(left), 2)
            step(half)
            b.set(left, b.sub(b.get(left), half))

        with b.loop(0, some) as i:
            target.store(b, (b.add(first, i),), start)
        b.repeat(lambda: b.let("lt", "i64", 1, b.get(left)), halve)
        with b.when(b.let("lt", "i64", 0, reach)):
            step(1)

    def in_parts(first: Operand, some: Operand, start: Operand, stop: Operand, most: Operand) -> None:
        """As `narrow`, one part after the other where the numbers are in order and their places are far apart."""
        own, size = numbers_from(first), b.var("i64", some)
        with b.when(b.let("lt", "i64", FAR, b.sub(stop, start))), b.when(_ascends(b, bits, some, own)):
            b.set(size, PART)
        begin = b.var("i64", start)
        with b.loop(0, b.let("div", "i64", b.add(some, b.sub(b.get(size), 1)), b.get(size))) as part:
            offset = b.mul(part, b.get(size))
            length = at_most(b, b.get(size), b.sub(some, offset))
            low = b.get(begin)
            last = b.let("lt", "i64", b.get(size), some)
            limit = b.select(bits, last, own(b.add(offset, b.sub(length, 1))), most)
            reach = first_by_halving(b, b.sub(stop, low), lambda i: b.negated(is_behind(limit, b.add(low, i))))
            narrow(b.add(first, offset), length, low, reach)
            b.set(begin, b.add(low, reach))

    work = b.mul(count, STEP * (n.bit_length() if type(n) is int else 16))
    with shares(b, count, SIDE_BY_SIDE, work) as (first, some):
        least, most = _ends(b, bits, some, numbers_from(first))
        start = place_of(least)
        stop = place_of(most)
        if _are_few(n, FAR) or _are_few(count, 2 * PART):
            narrow(first, some, start, b.sub(stop, start))
        else:
            in_parts(first, some, start, stop, most)
        poll_often(b, count)


def _are_few(count: Operand, most: int) -> bool:
    return type(count) is int and count <= most


def _ascends(b: Builder, t: str, count: Operand, number: Callable[[Operand], Operand]) -> Operand:
    """Whether some whole numbers stand in order."""
    falls = b.var("bool", False)
    with b.loop(1, count) as i:
        b.set(falls, b.either(b.get(falls), b.let("lt", t, number(i), number(b.sub(i, 1)))))
    return b.negated(b.get(falls))


def _ends(b: Builder, t: str, count: Operand, number: Callable[[Operand], Operand]) -> tuple[Operand, Operand]:
    """The least and the largest of some whole numbers; of none, those that no number is beyond."""
    size = int(t[1:])
    low, high = (0, 2**size - 1) if t[0] == "u" else (-(2 ** (size - 1)), 2 ** (size - 1) - 1)
    least, most = b.var(t, high), b.var(t, low)
    with b.loop(0, count) as i:
        value = number(i)
        b.set(least, smaller(b, t, value, b.get(least)))
        b.set(most, larger(b, t, value, b.get(most)))
    return b.get(least), b.get(most)


__all__ = ["searchsorted"]
