"""What the work of loops costs that threads may share, and which of them are worth sharing.

`For.work` counts elements, or what takes as long: how long one takes follows from the instructions of the innermost
loops. The numbers are those of vector code, from the middle of what was measured on one core: they need to be right
within a factor of three or so, since what is shared too early or too late by that costs a few percent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .loops import WIDTHS, Block, Call, For, Function, Lanes, Let, Load, Store, While
from .renaming import walk

WORTH = 20_000  # nanoseconds from which on work is shared: less was hardly quicker in two threads, or slower

_BYTE = 0.02  # nanoseconds, loaded or stored: from the second cache ...
_AGAIN = 0.03  # ... and from the first, where an array is read at several places
_SIMPLE = 0.03
_FUNCTION = 1.0
_MULTIPLICATIONS = 0.5  # 16 of a product, which its work counts as one
_LANES = 0.2  # what is counted as one where rows are computed side by side
_OF_MATRICES = ("product.", "tile.", "turned.", "blas.")
_CHEAP = {"add", "sub", "mul", "neg", "abs", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not", "fma",
          "sum", "scale", "maximum", "minimum", "shl", "shr"}  # fmt: skip


def nanoseconds(item: For) -> float:
    """About how long what the work of a loop counts as one takes."""
    inner = [*walk(item.body)]
    if any(type(x) is Call and x.name.startswith(_OF_MATRICES) for x in inner):
        return _MULTIPLICATIONS
    if any(type(x) in (Lanes, While) for x in inner):
        return _LANES
    return max(_SIMPLE, sum(map(_cost_of_iteration, _innermost(item))))


def unshared(function: Function) -> None:
    """Changes a function in place: loops that it is not worth to share are loops like others."""
    unshared_in(function.body)


def unshared_in(block: Block) -> None:
    """The same of a block."""
    for item in walk(block):
        if type(item) is For and item.work is not None and (_is_one(item) or _is_little(item)):
            item.work = None


def _is_little(item: For) -> bool:
    return type(item.work) is int and item.work * nanoseconds(item) < WORTH


def _is_one(item: For) -> bool:
    return type(item.start) is int and type(item.stop) is int and item.stop - item.start < 2


def _innermost(item: For) -> Iterator[list[Any]]:
    """The instructions of each loop that has none inside."""
    for loop in walk([item]):
        if type(loop) is For:
            body = [*walk(loop.body)]
            if all(type(x) is not For for x in body):
                yield body


def _cost_of_iteration(body: list[Any]) -> float:
    moved = [item.array for item in body if type(item) in (Load, Store)]
    arrays = {*moved}
    memory = sum(_BYTE * WIDTHS[array.type] for array in arrays) + _AGAIN * (len(moved) - len(arrays))
    return memory + sum(map(_cost, body))


def _cost(item: Any) -> float:
    if type(item) in (Load, Store) or getattr(item, "type", "") == "i64":  # places cost little beside what lies there
        return 0.0
    if type(item) is Let and item.op not in _CHEAP:
        return _FUNCTION if item.type == "f64" else _FUNCTION / 2
    return _SIMPLE


__all__ = ["WORTH", "nanoseconds", "unshared", "unshared_in"]
