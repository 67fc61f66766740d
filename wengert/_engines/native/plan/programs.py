"""The programs that are lowered with a node of a loop or a branch, and the node with others in their place."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeAlias, TypeGuard

from ...._control.call import Program
from ...._control.loop import Loop
from ...._control.loop_back import LoopBack
from ...._control.switch import Branches
from ...._core.graph import Node

Holder: TypeAlias = "Loop | LoopBack | Branches"


def holds_programs(attribute: object) -> TypeGuard[Holder]:
    """Whether an attribute of a node is what a loop, its backward pass or a branch keeps its programs in."""
    return type(attribute) in (Loop, LoopBack, Branches)


def programs_of(node: Node) -> tuple[Program, ...]:
    """The programs that are lowered with a node."""
    attr = node.attrs[0] if node.attrs else None
    if type(attr) is Loop:
        return (attr.body, attr.thin, *(() if attr.condition is None else (attr.condition,)))
    if type(attr) is LoopBack:
        return (attr.step.program, attr.spec.body, attr.spec.thin)
    return attr.programs if type(attr) is Branches else ()


def with_programs(
    holder: Holder, change: Callable[[Program], Program], length: Callable[[Any], Any] = lambda n: n
) -> Holder:
    """The same with other programs, for machine code alone.

    Args:
        holder: what keeps them.
        change: from a program to the one in its place.
        length: from the number of a loop's steps to what stands for it.
    """
    if type(holder) is LoopBack:
        step = holder.step._replace(program=change(holder.step.program))
        spec: Any = with_programs(holder.spec, change, length)
        return LoopBack(spec, holder.reading, step, holder.lanes)
    if type(holder) is Branches:
        programs = (*map(change, holder.programs),)
        return Branches(programs, holder.own, holder.declared, holder.stages, holder.results)
    assert type(holder) is Loop
    found = copy.copy(holder)
    found.body, found.thin = change(holder.body), change(holder.thin)
    found.condition = None if holder.condition is None else change(holder.condition)
    found.length = length(holder.length)
    return found


__all__ = ["holds_programs", "programs_of", "with_programs"]
