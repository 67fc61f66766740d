"""Shapes of loops: what LLVM is told of one follows from its iterations, what they do, and where their elements lie.

`_Kernel.wishes` in `codegen.py` says what each means for the code.
"""

from __future__ import annotations

from typing import Any, cast

from ..ir.loops import COMPLEX, WIDTHS, Block, Convert, For, Get, Let, Load, Operand, Reg, Select, Set, Store
from ..ir.renaming import reads, walk
from .target import vector_bits
from .vectormath import ONE_OPERAND, TWO_OPERANDS

FEW = 16  # iterations of a loop, fewer than which may not fill a vector ...
MUCH = 80  # ... and the instructions of one from which on most of a vector is better than none
WRITTEN_OUT = 128  # items of all iterations of a loop in another one, up to which it is written out ...
FILLING = 8  # ... unless it has so many iterations, which make vectors themselves as fast as the loop around would
LEAST_CALLED = 4  # iterations that a vector function is called for: the fewest that there is one for
MOST_SIDE_BY_SIDE = 4  # vectors of iterations
WITH_REST = 16  # iterations at a time from which on LLVM makes shorter vectors, not calls of each, of those left
FREE_METADATA = 10  # the number of the first metadata of a loop of its own
_PLAIN = (Let, Select, Convert, Get, Set, Load, Store)


def is_short(item: For) -> bool:
    """Whether a loop has few iterations of few plain items: too few to fill vectors of their own."""
    count = count_of(item)
    if count is None or count * len(item.body) > WRITTEN_OUT or not all(type(x) in _PLAIN for x in item.body):
        return False
    is_filling = count >= FILLING and 2 * count > _lanes_of(item) and _goes_in_a_row(item)
    return not (is_filling or is_vector_of_calls(item))


def _steps_of(item: For) -> set[Reg]:
    """What goes up by one with each iteration of a loop."""
    return {item.index, *[x.out for x in item.body if type(x) is Let and x.op == "add" and item.index in x.args]}


def _goes_in_a_row(item: For) -> bool:
    """Whether iterations read and write elements that lie side by side, and need one another for sums alone."""
    beside = _steps_of(item)
    moving, sums = _made_of({item.index}, item), {x.out for x in item.body if type(x) is Let and x.op == "sum"}
    return all(place in beside or place not in moving for place in _places_of(item)) and all(
        x.value in sums for x in item.body if type(x) is Set
    )


def finds_places(item: For) -> bool:
    """Whether where a loop reads or writes depends on what it reads."""
    found = _made_of({x.out for x in item.body if type(x) is Load}, item)
    return any(place in found for place in _places_of(item))


def _made_of(given: set[Reg], item: For) -> set[Any]:
    """What a loop's body computes from these, and they themselves."""
    made: set[Any] = {*given}
    for x in item.body:
        if isinstance(x, Let | Select | Convert) and any(y in made for y in reads(x)):
            made.add(x.out)
    return made


def _places_of(item: For) -> list[Operand]:
    return [x.index for x in item.body if isinstance(x, Load | Store)]


def _lanes_of(item: For) -> int:
    """How many elements the widest vector holds of what a loop reads and writes."""
    widths = [WIDTHS[x.array.type] for x in item.body if type(x) is Load or type(x) is Store]
    return vector_bits() // (8 * max(widths, default=8))


def is_vector_of_calls(item: For) -> bool:
    """Whether a loop has few iterations, but enough for a vector, none of which needs another, and which call functions
    that there are for vectors."""
    count = count_of(item)
    is_few = count is not None and LEAST_CALLED <= count <= FEW
    return is_few and any(map(_is_function, item.body)) and is_apart(item)


def is_row_of_pairs(item: For) -> bool:
    """Whether a loop goes over complex numbers that lie side by side, and fills vectors: a part of one is for masks."""
    count = count_of(item)
    if not count or count % FILLING or not all(type(x) in _PLAIN for x in item.body):
        return False
    accesses = [x for x in item.body if isinstance(x, Load | Store)]
    return any(x.array.type in COMPLEX and type(x.part) is int for x in accesses) and _goes_in_a_row(item)


def is_apart(item: For) -> bool:
    """Whether a loop reads and writes, and no iteration of it what another one writes."""
    steps = _steps_of(item)
    written = {id(x.array): x.index for x in item.body if type(x) is Store}
    return (
        bool(written)
        and any(type(x) is Load for x in item.body)
        and all(
            type(x) in (Let, Select, Convert)
            or (type(x) is Load and written.get(id(x.array), x.index) == x.index)
            or (type(x) is Store and x.index in steps and written[id(x.array)] == x.index)
            for x in item.body
        )
    )


def has_rows_of_bytes(item: For) -> bool:
    """Whether a loop goes over rows of products of bytes: vectors of rows would hold bytes that lie apart, by shuffles
    for which LLVM takes seconds, and the code is ten times as slow as with vectors along the rows."""
    return any(
        type(row) is For
        and (count_of(row) or FILLING) >= FILLING
        and any(type(x) is Let and x.op == "mul" and WIDTHS[x.type] == 1 for x in row.body)
        for row in item.body
    )


def group_of(item: For) -> int:
    """The number of what a loop reads and writes, a free one: that of what it reads first."""
    return FREE_METADATA + next(cast(int, x.out.number) for x in item.body if type(x) is Load)


def count_of(item: For) -> int | None:
    """The iterations of a loop, where they are known."""
    return item.stop - item.start if type(item.start) is int and type(item.stop) is int else None


def is_dear(item: For) -> bool:
    """Whether a loop has few iterations, each with much to do: LLVM makes vectors of such only with masks, and where
    their elements lie apart only by gathers."""
    if type(item.start) is not int or type(item.stop) is not int or not 1 < item.stop - item.start < FEW:
        return False
    inner = [*walk(item.body)]
    return len(inner) >= MUCH or any(map(_is_function, inner))


def fills_no_vector(item: For) -> bool:
    """Whether a loop has few iterations, an odd number, with little to do in each: LLVM would make one vector of them,
    with masks, and they take no longer one by one."""
    count = count_of(item)
    is_odd = count is not None and 0 < count < FEW and count % 2 == 1
    return is_odd and not is_dear(item) and not any(type(x) is For for x in item.body)


def side_by_side(item: For) -> int:
    """How many vectors of iterations are best computed side by side: 1, 2 or 4; 0 where LLVM may choose."""
    calls = [x for x in item.body if type(x) is Let and _is_function(x)]
    if len(calls) < 2:
        return 0
    lanes = vector_bits() // (8 * WIDTHS[calls[0].type])
    count = count_of(item)
    if _calls_in_a_row(item.body) < 2:
        leaves_rest = count is None or (count >= WITH_REST and count % lanes)
        return 2 if leaves_rest and 2 * lanes == WITH_REST else 1
    vectors = MOST_SIDE_BY_SIDE if count is None else count // lanes
    return MOST_SIDE_BY_SIDE if vectors >= MOST_SIDE_BY_SIDE else 2 if vectors >= 2 else 1


def _is_function(item: Any) -> bool:
    """Whether an instruction is a mathematical function, which is a call."""
    return type(item) is Let and item.op in (*ONE_OPERAND, *TWO_OPERANDS)


def _calls_in_a_row(block: Block) -> int:
    """The most calls of functions of which each waits for the one before."""
    waits: dict[Any, int] = {}
    for item in block:
        out = getattr(item, "out", None)
        if out is not None:
            waits[out] = max((waits.get(x, 0) for x in reads(item)), default=0) + _is_function(item)
    return max(waits.values(), default=0)
