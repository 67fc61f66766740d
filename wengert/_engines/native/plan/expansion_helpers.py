"""Helpers of the expansions that replace an op by simpler ones (`prepare.py`, `exponentials.py`)."""

from __future__ import annotations

import functools

from ...._core.op import REGISTRY, Op
from ...refine import PEAK


def op(name: str) -> Op:
    """A primitive by its name."""
    return REGISTRY[name]


@functools.cache
def peak() -> Op:
    """The largest element; of none, what exp makes zero."""
    like = op("reduce_max")
    return Op(PEAK, like.operands, like.attrs, like.outs, "zero", like.type_rule, like.batch_rule, facts=like.facts)
