"""Splits elementwise loops that call library functions: the calls run first, a strip at a time, in a loop of their own.

LLVM can then make vector code of all the rest. Called by `nests.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.builder import Builder
from ..ir.edges import Span
from ..ir.loops import FLOATS, HALVES, Array, Block, For, Let, Operand, blocks_of
from ..ir.loops import Call as OutsideCall
from ..llvm.vectormath import operands
from .forms import Form, Lazy
from .standalone import is_alone

STRIP = 256  # elements
FEW = 32  # elements up to which there is nothing to gain


def called_first(b: Builder, forms: Sequence[Form], start: Operand, stop: Operand) -> list[Form]:
    """Which of a loop's forms, each computed from those before it, are to be computed before the others; mostly none.

    They are those that call, and functions that these read: no function is computed in both loops.
    """
    is_known = type(start) is int and type(stop) is int
    if b.width or is_alone() or len(forms) < 2 or (is_known and stop - start < FEW):  # pyright: ignore[reportOperatorIssue]
        return []
    trial = For(b.reg("i64"), start, stop, [])
    with b.inside(trial.body), b.spanning(trial.index, Span.of(0, FEW)) as cuts:
        codes: list[Block] = []
        for form in forms:
            before = len(trial.body)
            form.at_flat(b, trial.index)
            codes.append(trial.body[before:])
    calling = {form for form, code in zip(forms, codes, strict=True) if any(map(_is_of_scalars, code))}
    if not calling or cuts:
        return []
    needed = _sources_of(calling)
    functions = {form for form, code in zip(forms, codes, strict=True) if any(map(_is_function, code))}
    if not functions - calling - needed:
        return []
    found = [form for form in forms if form in calling or (form in needed and form in functions)]
    return found if all(form.type in (*FLOATS, *HALVES) for form in found) else []


def may_call(block: Block) -> bool:
    """Whether anything in the loops of a block calls: else nothing is to be computed before."""
    return any(_is_of_scalars(inner) for item in block for part in blocks_of(item) or ([item],) for inner in part)


def _is_of_scalars(item: object) -> bool:
    return type(item) is OutsideCall or any(True for _ in blocks_of(item))  # pyright: ignore[reportArgumentType]


def _is_function(item: object) -> bool:
    return type(item) is Let and operands(item.op) > 0


def _sources_of(forms: set[Form]) -> set[Form]:
    """All that forms read, directly or through others."""
    found: set[Form] = set()
    waiting = [*forms]
    while waiting:
        form = waiting.pop()
        if type(form) is Lazy:
            waiting += [source for source in form.sources if source not in found]
            found.update(form.sources)
    return found


def keep(b: Builder, forms: Sequence[Form], held: Sequence[Array], first: Operand, place: Operand) -> None:
    """Computes forms of one element of a strip."""
    number = b.add(first, place)  # one for all, by which a form finds what those before it have computed
    for form, array in zip(forms, held, strict=True):
        b.store(array, place, form.at_flat(b, number))


def recall(b: Builder, forms: Sequence[Form], held: Sequence[Array], first: Operand, place: Operand) -> Operand:
    """Makes what `keep` has computed known in the open block; gives the element's number in the whole loop."""
    number = b.add(first, place)
    for form, array in zip(forms, held, strict=True):
        b.remember((form, "flat", number), b.load(array, place))
    return number
