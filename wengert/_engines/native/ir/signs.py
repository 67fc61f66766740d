"""Removes additions of 0.0 whose effect on the sign of zero cannot be observed.

Paddings and masked products bring additions of 0.0, which do nothing but make +0.0 of -0.0. In a loop of small steps
they lie on the chain of values that the next step waits for. Whether a register's zeros may have any sign is asked from
the results backwards: a sum with something that is never -0.0 hides the sign of the other operand, comparisons do not
see it, products and selections hand the question on. No other bit of any result changes.

A register or variable is *free* where nobody sees the sign of its zeros, and *plus* where it is never -0.0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .loops import (
    FLOATS,
    Block,
    Convert,
    For,
    Function,
    Get,
    Let,
    Operand,
    Reg,
    Select,
    Set,
    Var,
    While,
    blocks_of,
)
from .renaming import reads, substitute

# These are operations of the language of loops (`loops.OPS`), not primitives, whose facts stand in their declarations.
# results do not depend on the sign of a zero
_BLIND = {"eq", "ne", "lt", "le", "gt", "ge", "exp", "exp2", "log", "log2", "log10", "cos", "cosh", "abs"}
# results differ in the sign of a zero, if at all
_ODD = {
    "neg", "mul", "fma", "sqrt", "sin", "tan", "sinh", "tanh", "asin", "atan", "asinh", "atanh", "expm1", "log1p",
    "erf", "cbrt", "floor", "ceil", "trunc", "rint", "maximum", "minimum",
}  # fmt: skip
_SUMS = {"add", "sum", "sub"}
_NOT_NEGATIVE = {"exp", "exp2", "cosh", "abs"}


class Signs:
    """Which registers and variables of a function are *free* and which are *plus*.

    Attributes:
        plus: registers that are never -0.0.
        seen: registers of floats of whose zeros somebody sees the sign.
        late: reads of variables behind the loops that set them: there 0.0 may be added once.
    """

    def __init__(self, function: Function) -> None:
        self.items: list[Any] = []
        self.depths: dict[Any, int] = {}  # of reads, and of variables the largest at which one is set
        self.values: dict[Var, list[Operand]] = {}
        self._list(function.body, 0)
        self.plus: set[Reg] = set()
        self.plus_vars = {v for v in self.values if v.type in FLOATS}
        while self._find_plus():
            pass
        self.seen: set[Reg] = set()
        self.seen_vars: set[Var] = set()
        self.late = {item for item in self.items if type(item) is Get and self._is_late(item)}
        while self._find_seen():
            pass

    def _list(self, block: Block, depth: int) -> None:
        for item in block:
            if type(item) is Set:
                self.values.setdefault(item.var, []).append(item.value)
                self.depths[item.var] = max(self.depths.get(item.var, 0), depth)
            elif type(item) is Get:
                self.depths[item] = depth
            inner = depth + (type(item) in (For, While))
            if type(item) is not While:
                self.items.append(item)
            for part in blocks_of(item):
                self._list(part, inner)
            if type(item) is While:
                self.items.append(item)  # its condition is read behind the test that makes it

    def is_plus(self, x: Operand) -> bool:
        """Whether an operand is never -0.0."""
        return x in self.plus if isinstance(x, Reg) else x != 0 or math.copysign(1.0, x) > 0

    def _find_plus(self) -> bool:
        """Registers, given variables; whether that leaves fewer variables."""
        self.plus.clear()
        for item in self.items:
            out = getattr(item, "out", None)
            if out is not None and out.type in FLOATS and self._makes_plus(item):
                self.plus.add(out)
        failed = {v for v in self.plus_vars if not all(map(self.is_plus, self.values[v]))}
        self.plus_vars -= failed
        return bool(failed)

    def _makes_plus(self, item: Any) -> bool:
        kind = type(item)
        if kind is Get:
            return item.var in self.plus_vars
        if kind is Select:
            return self.is_plus(item.x) and self.is_plus(item.y)
        if kind is Convert:
            return item.type not in FLOATS
        if kind is not Let:
            return False
        op, args = item.op, item.args
        if op in ("add", "sum"):
            return self.is_plus(args[0]) or self.is_plus(args[1])
        if op in ("sub", "sqrt"):
            return self.is_plus(args[0])
        return op in _NOT_NEGATIVE or (op == "mul" and args[0] is args[1])

    def _is_late(self, item: Get) -> bool:
        return item.var in self.plus_vars and self.depths[item] < self.depths[item.var]

    def _find_seen(self) -> bool:
        """Registers, given variables, from the last to the first; whether that makes more variables seen."""
        before = len(self.seen_vars)
        for item in reversed(self.items):
            kind = type(item)
            if kind is Get:
                if item.out in self.seen and item not in self.late:
                    self.seen_vars.add(item.var)
            elif kind is Set:
                if item.var in self.seen_vars:
                    self._see(item.value)
            elif kind is Let and item.type in FLOATS:
                self._see_through(item)
            elif kind is Select:
                if item.out in self.seen:
                    self._see(item.x, item.y)
            elif kind is Convert and item.type in FLOATS and not item.bits:
                if item.out in self.seen:
                    self._see(item.x)
            else:
                self._see(*reads(item))
        return len(self.seen_vars) > before

    def _see(self, *operands: object) -> None:
        self.seen.update(x for x in operands if type(x) is Reg and x.type in FLOATS)

    def _see_through(self, item: Let) -> None:
        op, args = item.op, item.args
        if op in _BLIND:
            return
        is_seen = item.out in self.seen
        if op in _SUMS:
            if is_seen:
                # one of the two is enough to hide the other, which must then be what it says
                hider = next((k for k in (1, 0) if self._hides(op, args, k)), None)
                self._see(*(args if hider is None else args[hider : hider + 1]))
        elif op in ("div", "scale"):
            first, second = (args[0], args[1]) if op == "div" else (args[1], args[0])
            if op == "div":
                self._see(second)  # the sign of an infinity
            if is_seen:
                self._see(first)
        elif op not in _ODD or is_seen:
            self._see(*args)

    def _hides(self, op: str, args: tuple[Operand, ...], place: int) -> bool:
        """Whether a sum's zeros are the same for either sign of the other operand's."""
        if op == "sub" and place == 1:
            return False
        return self.is_plus(args[place])

    def is_free(self, register: Reg) -> bool:
        """Whether a register's zeros may have any sign."""
        return register not in self.seen


def without_zeros(function: Function, signs: Signs, fresh: Callable[[str], Reg]) -> None:
    """Leaves out what adds 0.0 for nobody; variables behind their loops get it once instead of in each iteration."""
    _Rewriting(signs, fresh).block(function.body)


class _Rewriting:
    def __init__(self, signs: Signs, fresh: Callable[[str], Reg]) -> None:
        self.signs = signs
        self.fresh = fresh
        self.names: dict[Reg, Operand] = {}

    def block(self, block: Block) -> None:
        made: Block = []
        for item in block:
            if self.names:
                substitute(item, self.names)
            if type(item) is Let and item.op == "add" and item.type in FLOATS and self.signs.is_free(item.out):
                other = _beside_zero(item.args)
                if other is not None:
                    self.names[item.out] = other
                    continue
            made.append(item)
            if type(item) is Get and item in self.signs.late and item.out in self.signs.seen:
                held, item.out = item.out, self.fresh(item.out.type)
                made.append(Let(held, "add", (item.out, 0.0), held.type))
            for part in blocks_of(item):
                self.block(part)
        block[:] = made


def _beside_zero(args: tuple[Operand, ...]) -> Operand | None:
    """The other operand of a sum with zero."""
    for x, y in (args, args[::-1]):
        if type(y) is not Reg and y == 0:
            return x
    return None
