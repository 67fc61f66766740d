"""Cuts long loops (gathers, scatters, searches, copies) into strips, between which the user can interrupt.

These are loops that run in one piece in one thread, ask for signals nowhere, and may take longer than a strip; batches
of such loops too. Where extents are known at run time only, a strip's length follows from them; so loops that prove
short are one strip, which costs a comparison. `lower/functions.py` calls this for each lowered function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .loops import Block, Copy, Fill, For, Function, If, Let, Operand, Poll, Reg, Select, While, is_step
from .outlining import captured, var_uses
from .renaming import walk
from .signal_checks import UNKNOWN, cost_of

STRIP = 500_000.0  # nanoseconds, as estimated; the truth may be thirty times as long where memory is slow
LEAST = 0.1  # nanoseconds of an iteration
LONG_WORK = 1 << 26  # elements of a parallel loop whose parts may be long: there may be as few as 64 of them
LONG_COPY = 1 << 23  # elements of a copy in one piece

Fresh = Callable[[str], Reg]


def stripped(function: Function, fresh: Fresh) -> None:
    """Changes a function in place. `fresh` makes registers that it does not have yet, by type."""
    _Strips(function, fresh).block(function.body)


class _Strips:
    def __init__(self, function: Function, fresh: Fresh) -> None:
        self.function = function
        self.fresh = fresh
        self._uses: Any = None

    def is_parallel(self, item: For) -> bool:
        """Whether threads run a loop; they ask between its parts, and in them where those may be long."""
        if item.work is None:
            return False
        if self._uses is None:
            self._uses = var_uses(self.function.body)
        return captured(item, self._uses) is not None

    def block(self, block: Block, is_inside: bool = False) -> None:
        made: Block = []
        for item in block:
            if type(item) is For:
                self.loop(item, made)
            elif type(item) in (Copy, Fill):
                self.copy(item, made, is_inside)
            else:
                if type(item) is While:
                    self.block(item.test, True)
                    self.block(item.body, True)
                elif type(item) is If:
                    self.block(item.then, is_inside)
                    self.block(item.other, is_inside)
                made.append(item)
        block[:] = made

    def loop(self, item: For, made: Block) -> None:
        if self.is_parallel(item):
            if type(item.work) is not int or item.work > LONG_WORK:
                self.block(item.body, True)
            made.append(item)
            return
        if is_step(item):
            self.block(item.body, True)
            made.append(item)
            return
        cost, factors = _cost_of_iteration(item)
        if type(item.stop) is int and not factors and _count(item) * cost <= STRIP:
            made.append(item)
            return
        if cost > 10 * STRIP:
            self.block(item.body, True)
        most = max(1, int(STRIP / cost))
        if most == 1:
            item.body.insert(0, Poll(1))
            made.append(item)
            return
        size = self.size(most, factors, made)
        self.in_strips(
            item.start, item.stop, size, made, lambda first, last, _: For(item.index, first, last, item.body)
        )

    def copy(self, item: Any, made: Block, is_inside: bool) -> None:
        """Elements that lie side by side; in loops those whose number only the run tells are few."""
        if item.count <= LONG_COPY if type(item.count) is int else is_inside:
            made.append(item)
            return

        def part(first: Operand, last: Operand, block: Block) -> Any:
            count = self.let("sub", last, first, block)
            if type(item) is Fill:
                return Fill(item.array, self.let("add", item.start, first, block), count, item.node)
            target = self.let("add", item.target_start, first, block)
            source = self.let("add", item.source_start, first, block)
            return Copy(item.target, target, item.source, source, count, item.node)

        self.in_strips(0, item.count, LONG_COPY, made, part)

    def size(self, most: int, factors: tuple[Reg, ...], made: Block) -> Operand:
        """The iterations of a strip: at most so many, fewer where each iteration is loops of so many iterations."""
        if not factors:
            return most
        iterations: Operand = factors[0]
        for factor in factors[1:]:
            iterations = self.let("mul", iterations, factor, made)
        return self.one_at_least(self.let("div", most, self.one_at_least(iterations, made), made), made)

    def one_at_least(self, x: Operand, made: Block) -> Operand:
        return self.select(self.let("lt", x, 1, made), 1, x, made)

    def in_strips(
        self, start: Operand, stop: Operand, size: Operand, made: Block,
        part: Callable[[Operand, Operand, Block], Any],
    ) -> None:  # fmt: skip
        count = self.let("sub", stop, start, made)
        strips = self.let("div", self.let("sub", self.let("add", count, size, made), 1, made), size, made)
        strip = self.fresh("i64")
        body: Block = []
        body.append(If(self.let("gt", strip, 0, body), [Poll(1)]))
        first = self.let("add", start, self.let("mul", strip, size, body), body)
        whole = self.let("add", first, size, body)
        last = self.select(self.let("lt", whole, stop, body), whole, stop, body)
        body.append(part(first, last, body))
        made.append(For(strip, 0, strips, body))

    def let(self, op: str, x: Operand, y: Operand, made: Block) -> Operand:
        if type(x) is int and type(y) is int and op in _KNOWN:
            return _KNOWN[op](x, y)
        out = self.fresh("bool" if op in ("lt", "gt") else "i64")
        made.append(Let(out, op, (x, y), "i64"))
        return out

    def select(self, cond: Operand, x: Operand, y: Operand, made: Block) -> Operand:
        out = self.fresh("i64")
        made.append(Select(out, cond, x, y))
        return out


_KNOWN: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x // y,
}  # fmt: skip


def _count(item: For) -> int:
    """The iterations of a loop to a known end; at most so many, if its start is not known."""
    assert type(item.stop) is int
    return max(0, item.stop - (item.start if type(item.start) is int else 0))


def _cost_of_iteration(item: For) -> tuple[float, tuple[Reg, ...]]:
    """What an iteration of a loop costs, in nanoseconds: a number times extents that are known before the loop."""
    cost, factors = _costs(item.body)
    if not factors:
        return max(cost, LEAST), ()
    loops = [item, *(inner for inner in walk(item.body) if type(inner) is For)]
    most = {loop.index: loop.stop if type(loop.stop) is int else UNKNOWN for loop in loops}
    own = {inner.out for inner in walk(item.body) if getattr(inner, "out", None) is not None} | most.keys()
    cost *= math.prod(most.get(f, UNKNOWN) for f in factors if f in own)
    return max(cost, LEAST), (*[f for f in factors if f not in own],)


def _costs(block: Block) -> tuple[float, tuple[Reg, ...]]:
    """What a block costs: a number times the extents of the loops that are deepest in one another."""
    total = 0.0
    factors: tuple[Reg, ...] = ()
    for item in block:
        found: tuple[Reg, ...] = ()
        if type(item) is For and not is_step(item):
            cost, found = _costs(item.body)
            if type(item.stop) is Reg:
                found = (item.stop, *found)
            else:
                cost *= _count(item)
        else:
            cost = cost_of(item)
        total += cost
        factors = max(factors, found, key=len)
    return total, factors


__all__ = ["stripped"]
