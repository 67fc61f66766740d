"""`Idle`: cotangents of values that only a branch which was not taken would have used, and which must stay zero.

A compiled `switch` gives zeros as such cotangents (eager code makes none). They must stay zero in the whole backward
pass, also through ops whose derivatives multiply by infinities. So each goes with a flag that says whether, in this
run, it comes only from a branch that was not taken; where it is set, what an op contributes is 0. Made by
`_control/switch.py`, read by the sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

from .._core.op import ZERO, Op
from .._core.tensor import Tensor
from .._prims.discrete import logical_and
from .._prims.structural import broadcast_to, fill, reshape, select


class Idle(NamedTuple):
    """A cotangent with zeros that are structural, and a flag: whether it is nothing else in this run."""

    cotangent: Tensor
    flag: Tensor


def idle_flag(terms: Sequence[Any], known: Sequence[Idle | None]) -> Tensor | None:
    """Whether all of an entry's cotangents are idle; None if it has one of which that is not known."""
    flags: list[Tensor] = []
    for term, idle in zip(terms, known, strict=True):
        if term is None or term is ZERO:
            continue
        if idle is None or idle.cotangent is not term:  # something else was added
            return None
        flags.append(idle.flag)
    return reduce(logical_and, flags) if flags else None


def kept_at_zero(term: Tensor, flag: Tensor) -> Tensor:
    """A contribution, and zeros if the cotangent that it was made of is idle."""
    where = broadcast_to(reshape(flag, shape=(1,) * len(term.shape)), shape=term.shape)
    return select(where, fill(term, 0), term)


def makes_more_of_zeros(op: Op, saved: Sequence[Any]) -> bool:
    """Whether an op's rule may make something else than zeros of zeros: slopes are multiplied with care, and what reads
    no values only moves and adds."""
    return op.kind != "elementwise" and any(x is not None for x in saved)


__all__ = ["Idle", "idle_flag", "kept_at_zero", "makes_more_of_zeros"]
