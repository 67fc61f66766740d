"""Helpers of the expansions that replace an op by simpler ones (`prepare.py`)."""

from __future__ import annotations

import functools

from ...._core.op import REGISTRY, Op
from ...refine import PARTS, PEAK


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
def parts_of(name: str) -> tuple[Op, Op]:
    """Two functions whose sum is a primitive: of what most programs ask for, which is vector code, and of all else."""
    like = op(name)
    one, two = (
        Op(part, like.operands, like.attrs, like.outs, like.kind, like.type_rule, like.batch_rule, facts=like.facts)
        for part in PARTS[name]
    )
    return one, two
