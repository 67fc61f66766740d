"""Helpers of the expansions that replace an op by simpler ones (`prepare.py`)."""

from __future__ import annotations

import functools

from ...._core.op import REGISTRY, Op
from ...refine import PEAK, ZETA_ELSEWHERE, ZETA_PLAIN


def op(name: str) -> Op:
    """A primitive by its name."""
    return REGISTRY[name]


@functools.cache
def peak() -> Op:
    """The largest element; of none, what exp makes zero."""
    like = op("reduce_max")
    return Op(PEAK, like.operands, like.attrs, like.outs, "zero", like.type_rule, like.batch_rule, facts=like.facts)


MOST_SLOPES = 4  # derivatives in s that are written out


@functools.cache
def parts_of_zeta() -> tuple[Op, Op]:
    """Two functions whose sum is zeta: of what most programs ask for, which is vector code, and of all else."""
    like = op("zeta")
    one, two = (
        Op(name, like.operands, like.attrs, like.outs, like.kind, like.type_rule, like.batch_rule, facts=like.facts)
        for name in (ZETA_PLAIN, ZETA_ELSEWHERE)
    )
    return one, two
