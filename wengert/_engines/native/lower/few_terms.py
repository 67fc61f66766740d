"""Reductions of few terms, which lie apart, as values: each total is written out where it goes.

What is tiled, repeated or broadcast a few times has such a gradient, and so have means over a handful of samples. A
loop over the terms would bring each total to memory and back for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import cast

from ..ir.builder import Builder
from ..ir.loops import FRACTIONS, Operand
from .forms import Form, Index, Lazy, is_numbers
from .reduces import Reduce

MOST_TERMS = 8
MOST_READS = 64  # forms times terms: how much is written out for one total


def are_few(form: Form, axes: Sequence[int], computed: int) -> bool:
    """Whether a reduction has so few terms that all are written out where so much is computed for each. They lie apart:
    of those that lie together, a loop over what is left reads only every so many."""
    extents = [form.shape[a] for a in axes]
    if len(form.shape) - 1 in axes or not is_numbers(extents):
        return False
    terms = prod(cast("list[int]", extents))
    return 1 <= terms <= MOST_TERMS and terms * (computed + 1) <= MOST_READS


def totals(form: Form, kind: Reduce, axes: tuple[int, ...], type_: str, computed: Sequence[Form]) -> Lazy:
    """The totals of a form over axes, each computed where it is read.

    Args:
        form: what is reduced.
        kind: how.
        axes: over which of its axes.
        type_: the type of the totals.
        computed: what is computed on the way, each from those before it.
    """
    kept = kind.kept(form.type)
    extents = [range(n) if a in axes else (0,) for a, n in enumerate(cast("tuple[int, ...]", form.shape))]
    places = [*product(*extents)]

    def total(b: Builder, index: Index) -> Operand:
        found: Operand | None = kind.start(kept) if kind.begins and kept in FRACTIONS else None
        for place in places:
            own = iter(index)
            full = (*[place[a] if a in axes else next(own) for a in range(len(place))],)
            for step in computed:
                step.at(b, full)
            x = b.convert(kept, form.type, form.at(b, full))
            found = x if found is None else kind.joined(b, kept, found, x)
        assert found is not None
        return b.convert(type_, kept, found)

    shape = (*[n for a, n in enumerate(form.shape) if a not in axes],)
    return Lazy(shape, type_, total, sources=[form, *computed])


__all__ = ["are_few", "totals"]
