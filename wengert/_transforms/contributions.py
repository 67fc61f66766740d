"""Calls an op's reverse rules and returns one contribution for each operand, whatever form the rules have.

A rule may serve one operand, several at once, or the tail of a variadic op. Called by the sweep (`reverse.py`) and by
`compiled_rules.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._core.op import Op
from .._core.types import typed
from .._core.user_line import at_user_line

if TYPE_CHECKING:
    from .tape import Entry


def results_of(entry: Entry, ct: object, times: Op, masked: Sequence[bool] = ()) -> Sequence[Any]:
    """What an entry contributes to each flat operand; `ct` is a tuple where the op has several results, and `masked`
    says of each whether it may hold structural zeros (by default none does)."""
    op, attrs, plan, in_keys, in_types, _, out_types, saved = entry
    count, fixed = len(in_keys), op.fixed
    if op.is_given:  # what its rule comes to, without the questions
        ct, out = (ct, saved[count]) if op.is_multi else ((ct,), (saved[count],))
        return attrs[0].pull(ct, plan.tracked, saved[:count], out)
    types = typed(in_types)
    ends = ()
    if op.has_many_outs:
        ends = (masked or (False,) * len(out_types),)
        out_types = (out_types,)
    if op.is_variadic:  # what was kept and what is known by type only, in the order of the op's rule layout
        saved = (*saved[:fixed], saved[fixed:count], *saved[count:])
        types = (*types[:fixed], types[fixed:])
    sources = (ct, times, plan.tracked, *saved, *types, *out_types, *attrs, *ends)
    if op.joint is not None:
        return _flat(op, op.joint.fn(*op.joint.pick(sources)), count)
    return _with_tail(op, sources, plan.wanted, count)


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


def _flat(op: Op, results: object, count: int) -> Sequence[Any]:
    """A joint rule's results, one for each flat operand."""
    if not isinstance(results, (tuple, list)):
        results = (results,)
    if op.is_variadic and len(results) == len(op.operands) and isinstance(results[-1], (tuple, list)):
        results = (*results[: op.fixed], *results[-1])
    if len(results) != count:
        raise ValueError(at_user_line(f"{op.name}: its gradient gave {len(results)} results for {count} operands"))
    return results
