"""What rules give that are for several operands or results, or for a variadic tail: one term for each operand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._core.op import Op
from .._core.types import typed
from .._core.where import at_user_line

if TYPE_CHECKING:
    from .tape import Entry


def results_of(entry: Entry, ct: object, times: Op) -> Sequence[Any]:
    """What an entry contributes to each flat operand; `ct` is a tuple where the op has several results."""
    op, count = entry.op, len(entry.in_keys)
    sources = (ct, times, entry.plan.tracked, *_saved(entry), *entry.attrs)
    if op.joint is not None:
        return _flat(op, op.joint.fn(*op.joint.pick(sources)), count)
    return _with_tail(op, sources, entry.plan.wanted, count)


def _with_tail(op: Op, sources: tuple[Any, ...], wanted: Sequence[int], count: int) -> list[Any]:
    """The rules of an op with a variadic tail, for which one rule serves all and so runs once."""
    found: list[Any] = [None] * count
    tail: Any = None
    for index in wanted:
        rule = op.rules[op.position(index)]
        if rule is None:
            continue
        if index < op.fixed:
            found[index] = rule.fn(*rule.pick(sources))
            continue
        tail = rule.fn(*rule.pick(sources)) if tail is None else tail
        found[index] = tail[index - op.fixed] if type(tail) is tuple else tail
    return found


def _saved(entry: Entry) -> tuple[Any, ...]:
    """What was kept and what is known by type only, in the order of the op's rule layout."""
    op, count = entry.op, len(entry.in_keys)
    out_types = (entry.out_types,) if op.has_many_outs else entry.out_types
    return (*op.group(entry.saved[:count]), *entry.saved[count:], *op.group(typed(entry.in_types)), *out_types)


def _flat(op: Op, results: object, count: int) -> Sequence[Any]:
    """A joint rule's results, one for each flat operand."""
    if not isinstance(results, (tuple, list)):
        results = (results,)
    if op.is_variadic and len(results) == len(op.operands) and isinstance(results[-1], (tuple, list)):
        results = (*results[: op.fixed], *results[-1])
    if len(results) != count:
        raise ValueError(at_user_line(f"{op.name}: its gradient gave {len(results)} results for {count} operands"))
    return results
