"""How often loops look whether the user has interrupted: about every ten milliseconds, whatever their steps cost.

To look takes longer than the smallest steps, so those look now and then only; but of a step that multiplies large
matrices each must. What a step costs is estimated from its instructions; loops inside that look for themselves count
for nothing.
"""

from __future__ import annotations

import math
from typing import Any

from .loops import Block, Call, Copy, Fill, For, Function, If, Let, Poll, Typed, While, blocks_of

BETWEEN = 10_000_000  # nanoseconds between two looks, as estimated; the truth may be three times as long
MOST = 1024  # iterations between two looks

# Estimates in nanoseconds.
_SIMPLE, _FUNCTION, _CALL = 0.3, 4.0, 100.0
_MULTIPLICATION = 0.05
_MATRICES = ("blas.", "lapack.", "product.")
UNKNOWN = 256  # iterations, and extents, that only the call tells
# operations of the language of loops, not primitives
_CHEAP = {"add", "sub", "mul", "div", "neg", "abs", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not",
          "fma", "sum", "scale", "maximum", "minimum", "shl", "shr"}  # fmt: skip


def spaced(function: Function) -> None:
    """Sets in place how many iterations of each loop pass between two looks, at most as many as it asked for."""
    _in_block(function.body)


def _in_block(block: Block) -> None:
    polls = [item for item in block if type(item) is Poll]
    if polls:
        every = max(1, min(MOST, int(BETWEEN / max(_cost(block), 1.0))))
        for item in polls:
            item.every = min(item.every, every)  # who asks for fewer iterations knows what the estimate does not
    for item in block:
        for inner in blocks_of(item):
            _in_block(inner)


def _cost(block: Block) -> float:
    return sum(map(cost_of, block))


def cost_of(item: Any) -> float:
    """What an instruction costs, in nanoseconds; nothing where loops look for themselves."""
    if type(item) is For:
        return 0.0 if _looks(item.body) else _iterations(item) * _cost(item.body)
    if type(item) is While:
        return 0.0 if _looks(item.body) else UNKNOWN * (_cost(item.test) + _cost(item.body))
    if type(item) is If:
        return max(_cost(item.then), _cost(item.other))
    if type(item) is Call:
        return _call(item)
    if type(item) is Let:
        return _SIMPLE if item.op in _CHEAP else _FUNCTION
    if type(item) in (Copy, Fill):
        return _SIMPLE * (item.count if type(item.count) is int else UNKNOWN)
    return _SIMPLE + sum(map(_cost, blocks_of(item)))


def _looks(block: Block) -> bool:
    return any(type(item) is Poll for item in block)


def _iterations(item: For) -> int:
    if type(item.start) is int and type(item.stop) is int:
        return max(item.stop - item.start, 0)
    return UNKNOWN


def _call(item: Call) -> float:
    """A call; of a function of matrices as long as the product of the three largest numbers that it gets."""
    if not item.name.startswith(_MATRICES):
        return _CALL
    whole = [a.value for a in item.args if type(a) is Typed and a.type[0] == "i"]
    numbers = [n if type(n) is int else UNKNOWN for n in whole]
    largest = sorted(numbers, reverse=True)[:3]
    return _CALL + _MULTIPLICATION * math.prod([*largest, *largest[:1] * (3 - len(largest))])


__all__ = ["UNKNOWN", "cost_of", "spaced"]
