"""Lowers cumulative ops along an axis (running sums, products and extrema, recurrences), and the table of what
goes along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._core.graph import Node
from ..ir.builder import Builder
from ..ir.loops import FRACTIONS, Operand
from . import index_splitting, searching, sorting
from .best_places import place_of_best
from .blocks import Block, singles
from .forms import TYPE_OF, Form, Index, spill
from .nests import poll_often
from .reduces import RUNNING
from .scalars import SCALARS
from .scatters import over

Iteration = Callable[[Builder, str, Operand, list[Operand]], Operand]


CHAINS = 4  # rows side by side: each total waits for the one before it, and not for those of other rows

# -- running totals ---------------------------------------------------------------------------------------------------


def _scan(
    iteration: Iteration, first: Callable[[list[Operand]], Operand], kept_type: Callable[[str], str] = lambda t: t
) -> Callable[[Block, Node, list[Form]], list[Form]]:
    """Each place from the place before it and the operands there. `first`: the first place's value. `kept_type`: the
    type in which totals go along; others than the result's are rows beside it."""

    def lower(block: Block, node: Node, forms: list[Form]) -> list[Form]:
        b = block.b
        axis, is_reversed = node.attrs
        spill(b, forms)
        out = node.outputs[0]
        shape, type_ = block.shape(out), TYPE_OF[out.dtype]
        kept = kept_type(type_)
        axis %= len(shape)
        target = block.fresh(shape, type_)
        n = shape[axis]
        if type(n) is int and n == 0:  # even what is emitted under a condition would read a place that is not there
            return [target]
        before, behind = shape[:axis], shape[axis + 1 :]

        def place(i: Operand) -> Operand:
            return b.sub(b.sub(n, 1), i) if is_reversed else i

        def operands(index: Index) -> list[Operand]:
            return [b.convert(kept, f.type, f.at(b, index)) if kept != type_ else f.at(b, index) for f in forms]

        def stored(found: Operand, index: Index) -> Operand:
            target.store(b, index, b.convert(type_, kept, found))
            return found

        def start(index: Index) -> Operand:
            return stored(first(operands(index)), index)

        def step(last: Operand, here: Index) -> Operand:
            return stored(iteration(b, kept, last, operands(here)), here)

        def lanes(lead: Index) -> None:
            poll_often(b, *shape)
            totals = block.fresh(behind, kept) if kept != type_ else None

            def keep(rest: Index, found: Operand) -> None:
                if totals is not None:
                    totals.store(b, rest, found)

            def before_it(rest: Index, last: Operand) -> Operand:
                return target.at(b, (*lead, last, *rest)) if totals is None else totals.at(b, rest)

            with b.when(b.let("gt", "i64", n, 0)):
                over(b, behind, lambda rest: keep(rest, start((*lead, place(0), *rest))))

            def along(i: Operand) -> None:
                here, last = place(i), place(b.sub(i, 1))
                over(b, behind, lambda rest: keep(rest, step(before_it(rest, last), (*lead, here, *rest))))
                poll_often(b, n, *behind)

            index_splitting.iterations(b, 1, n, along)

        def chains(leads: list[Index]) -> None:
            rest = (0,) * len(behind)

            def along(i: Operand) -> None:
                for total, lead in zip(totals, leads, strict=True):
                    b.set(total, step(b.get(total), (*lead, place(i), *rest)))
                poll_often(b, n)

            with b.when(b.let("gt", "i64", n, 0)):
                totals = [b.var(kept, start((*lead, place(0), *rest))) for lead in leads]
                index_splitting.iterations(b, 1, n, along)

        def rows(lead: Index) -> None:
            if not before:
                chains([()])
                return
            whole = b.divided(before[-1], CHAINS)
            with b.loop(0, whole) as group:
                number = b.mul(group, CHAINS)
                chains([(*lead, b.add(number, k)) for k in range(CHAINS)])
                poll_often(b, *shape)
            with b.loop(b.mul(whole, CHAINS), before[-1]) as row:
                chains([(*lead, row)])

        if all(type(m) is int and m == 1 for m in behind):
            over(b, before[:-1], rows)
        else:
            over(b, before, lanes)
        return [target]

    return lower


def _recurrence(b: Builder, t: str, last: Operand, operands: list[Operand]) -> Operand:
    factor, term = operands
    # a factor of zero starts anew, whatever has gone before
    zero = 0.0 if t in FRACTIONS else 0
    product = b.select(t, b.let("eq", t, factor, zero), zero, b.let("mul", t, factor, last))
    return b.let("add", t, product, term)


def _restarting(b: Builder, t: str, last: Operand, operands: list[Operand]) -> Operand:
    x, restart = operands
    return b.let("add", t, b.select(t, restart, 0.0 if t in FRACTIONS else 0, last), x)


def _of(
    join: Callable[[Builder, str, Operand, Operand], Operand], kept_type: Callable[[str], str] = lambda t: t
) -> Any:  # fmt: skip
    return _scan(lambda b, t, last, xs: join(b, t, last, xs[0]), lambda xs: xs[0], kept_type)


LOWERED = {
    **singles({name: _of(total.join, total.kept) for name, total in RUNNING.items()}, of_complex=True),
    **singles({
        "linear_recurrence": _scan(_recurrence, lambda xs: xs[1]),
        "segmented_cumsum": _scan(_restarting, lambda xs: xs[0]),
    }, of_complex=True),
    **singles({
        "cumlogsumexp": _of(lambda b, t, x, y: SCALARS["logaddexp"](b, t, (), x, y)),
        "argmax": place_of_best(is_least=False),
        "argmin": place_of_best(is_least=True),
        "sort": sorting.sort,
        "argsort": sorting.argsort,
        "searchsorted": searching.searchsorted,
    }),
}  # fmt: skip
