"""Gives steps of loops a second, faster version for finite slopes, in which `scale(ct, slope)` is a plain product.

`scale(ct, slope)` is 0.0 where the cotangent is zero, so that no infinite slope makes a NaN of it. That takes a
comparison and a selection on the chain of values that the next step waits for. With finite slopes the product is the
same but for the sign of a zero, so where nobody sees that (`signs`), and what slopes are computed from passes a test, a
step runs in a version with plain products: the test is not on the chain. Where slopes are read or known as they are,
the test is that their sum is finite, which it is not if one of them is not; where they are computed, that the sum of
the squares of all that they are computed from is a moderate number, with which no product of a few overflows.

Only loops that ask for signals are looked at (`tuning.py` calls): those of many small steps one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeGuard

from .loops import (
    FLOATS,
    Alloc,
    Block,
    For,
    Function,
    Give,
    If,
    Let,
    Load,
    Operand,
    Reg,
    Select,
    Swap,
    While,
    blocks_of,
    is_step,
)
from .renaming import reads, renewed, walk
from .signs import Signs

# powers of two: up to the first what slopes are computed from counts as moderate, below the second products are finite
MODERATE = {"f64": 100, "f32": 30}
FINITE = {"f64": 1000, "f32": 120}
LONGEST = 240  # instructions of a step that is not copied any more: of so many, the chain is not what takes the time
# operations of the language of loops, not primitives
_BOUNDED = {"sin", "cos", "tanh", "atan", "erf"}  # between -2 and 2, or NaN
_SAME = {"neg", "abs", "maximum", "minimum", "copysign"}


def with_versions(function: Function, signs: Signs, fresh: Callable[[str], Reg]) -> None:
    """Splits the steps of loops in which there is something to gain."""
    _in_block(function.body, signs, fresh)


def _in_block(block: Block, signs: Signs, fresh: Callable[[str], Reg]) -> None:
    made: Block = []
    for item in block:
        for part in blocks_of(item):
            _in_block(part, signs, fresh)
        if isinstance(item, (For, While)) and is_step(item):
            made += _SlopedStep(item, signs, fresh).before()
        made.append(item)
    block[:] = made


class _SlopedStep:
    """A loop's step: what its slopes are computed from, and how large they can be."""

    def __init__(self, loop: For | While, signs: Signs, fresh: Callable[[str], Reg]) -> None:
        self.loop = loop
        self.fresh = fresh
        places = [k for k, item in enumerate(loop.body) if type(item) is Let and item.op == "scale"]
        self.start = places[0] if places else len(loop.body)
        outs = ((getattr(item, "out", None), item) for item in loop.body)
        self.makers: dict[Any, Any] = {out: item for out, item in outs if out is not None}
        self.inner = {r for item in walk(loop.body) for r in (getattr(item, "out", None),) if r is not None}
        self.head = {item.out for item in loop.body[: self.start] if type(item) is Load or _is_bounded(item)}
        self.bounds: dict[Reg, float] = {}
        self.plain: set[Reg] = set()  # slopes as they are, but for their signs
        found = [item for item in map(self._look, loop.body) if item is not None and signs.is_free(item.out)]
        self.scales = [item for item in found if item.type == found[0].type]

    def _look(self, item: object) -> Let | None:
        """Finds the bound of what an instruction makes; the instruction if it is a product to be had."""
        out = getattr(item, "out", None)
        if out is None or out.type not in FLOATS:
            return None
        bound = self._bound_of(item)
        if bound < FINITE[out.type]:
            self.bounds[out] = bound
            if self._is_plain_item(item):
                self.plain.add(out)
        if type(item) is Let and item.op == "scale" and self._bound(item.args[1], item.type) < FINITE[item.type]:
            return item
        return None

    def _is_plain_item(self, item: object) -> bool:
        if type(item) is Select:
            return self._is_plain(item.x) and self._is_plain(item.y)
        return type(item) is Load or (type(item) is Let and item.op in _SAME and all(map(self._is_plain, item.args)))

    def _is_plain(self, x: Operand) -> bool:
        return x in self.plain or x not in self.inner

    def _bound(self, x: Operand, type_: str) -> float:
        """A number whose power of two is above an operand, if what it comes from is moderate."""
        if not isinstance(x, Reg):
            return math.frexp(x)[1] if math.isfinite(x) else math.inf
        if x not in self.inner:
            return MODERATE[type_]
        return self.bounds.get(x, math.inf)

    def _bound_of(self, item: Any) -> float:
        kind, type_ = type(item), item.out.type
        if kind is Load:
            return MODERATE[type_] if item.out in self.head else math.inf
        if kind is Select:
            return max(self._bound(item.x, type_), self._bound(item.y, type_))
        return self._bound_of_let(item) if kind is Let else math.inf

    def _bound_of_let(self, item: Let) -> float:
        if item.out in self.head:
            return 1.0  # the test finds a NaN, which is what a sine of infinity is
        bounds = [self._bound(x, item.type) for x in item.args]
        if item.op in _BOUNDED:
            return 1.0 if bounds[0] < FINITE[item.type] else math.inf
        if item.op in _SAME:
            return max(bounds)
        if item.op in ("add", "sub", "sum"):
            return max(bounds) + 1.0
        # below 1 the logarithm of a bound is negative, and there rounding to zero does no harm
        return sum(bounds) if item.op in ("mul", "scale") else math.inf

    def before(self) -> Block:
        """Splits the step, if there is something to gain; what is to be done before the loop."""
        body = self.loop.body
        if not self.scales or not _can_be_copied(body[self.start :]):
            return []
        head, other = body[: self.start], body[self.start :]
        leaves = self._leaves()
        if not leaves:
            self.loop.body[:] = [*head, *self._version(other)]
            return []
        outside: Block = []
        join = self._sum if all(self._is_plain(item.args[1]) for item in self.scales) else self._sum_of_squares
        parts = [*self._chains([r for r in leaves if r not in self.inner], outside, join)]
        parts += self._chains([r for r in leaves if r in self.inner], head, join)
        total, is_moderate = self._sum(parts, head), self.fresh("bool")
        limit = math.inf if join == self._sum else 4.0 ** MODERATE[total.type]
        size = self.fresh(total.type)
        head.append(Let(size, "abs", (total,), total.type))
        head.append(Let(is_moderate, "lt", (size, limit), total.type))
        self.loop.body[:] = [*head, If(is_moderate, self._version(other), other, True)]
        return outside

    def _leaves(self) -> list[Reg]:
        """What the slopes are computed from."""
        found: dict[Reg, None] = {}
        waiting, seen = [item.args[1] for item in self.scales], set[Operand]()
        while waiting:
            x = waiting.pop()
            if type(x) is not Reg or x in seen:
                continue
            seen.add(x)
            if x in self.head or x not in self.inner:
                found[x] = None
            else:
                waiting += [r for r in reads(self.makers[x]) if type(r) is Reg and r.type in FLOATS]
        return [*found]

    def _chains(self, leaves: list[Reg], block: Block, join: Callable[[list[Reg], Block], Reg]) -> list[Reg]:
        """Joins some in four chains side by side."""
        return [join(leaves[k::4], block) for k in range(4) if leaves[k::4]]

    def _sum_of_squares(self, leaves: list[Reg], block: Block) -> Reg:
        squares: list[Reg] = []
        for x in leaves:
            out = self.fresh(x.type)
            block.append(Let(out, "mul", (x, x), x.type))
            squares.append(out)
        return self._sum(squares, block)

    def _sum(self, terms: list[Reg], block: Block) -> Reg:
        total = terms[0]
        for term in terms[1:]:
            out = self.fresh(total.type)
            block.append(Let(out, "sum", (total, term), total.type))
            total = out
        return total

    def _version(self, block: list[Any]) -> Block:
        """The version with products. One of a negated number is the negated product, which sums can subtract."""
        chosen = {item.out for item in self.scales}
        names: dict[Reg, Operand] = {}
        made: Block = []
        for item in block:
            twin: Any = renewed([item], names, self.fresh)[0]
            made.append(twin)
            if getattr(item, "out", None) not in chosen:
                continue
            twin.op = "mul"
            maker = self.makers.get(item.args[0])
            if type(maker) is Let and maker.op == "neg":
                held, twin.out = twin.out, self.fresh(twin.type)
                x = maker.args[0]
                twin.args = (names.get(x, x) if type(x) is Reg else x, twin.args[1])
                made.append(Let(held, "neg", (twin.out,), twin.type))
        return made


def _is_bounded(item: object) -> TypeGuard[Let]:
    """Whether an instruction makes a number between -2 and 2 of any finite one."""
    return type(item) is Let and item.op in _BOUNDED


def _can_be_copied(block: Block) -> bool:
    """Whether a block is short, and has nothing that is to be there once."""
    items = [*walk(block)]
    return len(items) <= LONGEST and not any(
        type(item) in (Alloc, Give, Swap) or (type(item) is For and item.work is not None) for item in items
    )
