"""How tangents are pushed through ops, and the recorder that does so as ops run (`forward` has the one for users).

While it works on an op only the recorders outside it listen, so its own arithmetic is never differentiated by
itself but is by them; tangents live as long as their primals do, so memory does not grow with the program. A tangent
carries the static bit that cotangents do, *may hold structural zeros*: where it is set, `scale` multiplies by slopes.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from .._core import dtypes
from .._core.apply import apply
from .._core.op import ZERO, Op
from .._core.recorder import Recorder
from .._core.state import STATE, pausing
from .._core.tensor import Tensor, Value, hears_of_twins
from .._core.types import type_of
from .._core.user_line import at_user_line
from .._prims.structural import add, mul, neg, scale, sub, zeros_of


class Masked(NamedTuple):
    """What a rule returns for a cotangent or a tangent that may hold structural zeros of the rule's own making."""

    cotangent: Tensor


class Pushing(Recorder):
    """The forward recorder, without limits: NaN where a rule divides 0 by 0."""

    is_forward = True

    def __init__(self) -> None:
        self._tangents: dict[int, tuple[Any, weakref.ref[Tensor] | None, bool]] = {}
        hears_of_twins(self)

    def tracks(self, key: int) -> bool:
        return key in self._tangents

    def set(self, primal: Tensor, tangent: object, may_hold_zeros: bool = False) -> None:
        """Gives a primal its tangent (a tensor of its type, or ZERO)."""
        key, tangents = primal._key, self._tangents
        if type(primal._data) is Value:  # an op of a trace may be given more results later, and be pushed through again
            tangents[key] = (tangent, None, may_hold_zeros)
            return
        # `tangents.pop(key, reference)`, and no function in Python, for in a callback of that kind Ctrl-C gets lost
        reference = weakref.ref(primal, functools.partial(tangents.pop, key))
        tangents[key] = (tangent, reference, may_hold_zeros)

    def note_twin(self, key: int) -> None:
        """Lets a tangent live as long as this recorder: several tensors have that key from now on."""
        found = self._tangents.get(key)
        if found is not None and found[1] is not None:
            self._tangents[key] = (found[0], None, found[2])

    def pushed(self, primal: Tensor) -> Any:
        """The tangent of a value: a tensor, ZERO, or None if it does not depend on the sources."""
        found = self._tangents.get(primal._key)
        return None if found is None else found[0]

    def may_hold_zeros(self, primal: Tensor) -> bool:
        """Whether the tangent of a value may hold structural zeros."""
        found = self._tangents.get(primal._key)
        return found is not None and found[2]

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Pushes the operands' tangents through an op (again, if it has more results now than when it ran)."""
        outer = STATE.recorders[: STATE.recorders.index(self)]
        with pausing(outer):
            self.follow(op, operands, attrs, outs)

    def follow(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """As `observe`, where the recorders that are open are those to see the arithmetic."""
        dots = [self.pushed(x) for x in operands]
        if all(d is None for d in dots) or op.kind == "stop":
            return
        results, masked = push(op, operands, attrs, outs, dots, (*map(self.may_hold_zeros, operands),))
        self.file(outs, results, masked)

    def file(self, outs: Sequence[Tensor], results: Sequence[Any], masked: Sequence[bool]) -> None:
        """Takes note of the tangents of an op's results."""
        for out, result, flag in zip(outs, results, masked, strict=True):
            if result is not None and dtypes.is_inexact(out.dtype):
                self.set(out, result, flag)


def push(
    op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...], dots: list[Any],
    masked: Sequence[bool],
) -> tuple[tuple[Any, ...], tuple[bool, ...]]:  # fmt: skip
    """The tangents of an op's results (ZERO where the op's kind says so), and whether each may hold structural zeros.

    Args:
        masked: for each operand whether its tangent may hold structural zeros.
    """
    if op.kind == "zero" or (op.kind != "custom" and all(d is None or d is ZERO for d in dots)):
        return (ZERO,) * len(outs), (False,) * len(outs)
    if op.kind == "not_differentiable" or (op.kind in ("general", "custom") and op.jvp is None):
        raise LookupError(at_user_line(f"no forward derivative is defined for the op {op.name}, which is on the path"))
    is_masked = op.leaves_zeros or (any(masked) and not op.facts.regular)
    if op.kind == "linear":
        is_masked = is_masked or lacks_tangents(op, dots)
        result = _push_linear(op, operands, attrs, dots)
    elif op.kind == "multilinear":
        result = _sum(apply(op, _replaced(operands, i, d), attrs) for i, d in enumerate(dots) if _is_tensor(d))
    elif op.kind == "elementwise":
        result = _push_elementwise(op, operands, attrs, outs, dots, masked)
    else:
        result = _push_general(op, operands, attrs, outs, dots, masked)
    results = result if op.is_multi else (result,)
    return (
        (*[r.cotangent if type(r) is Masked else r for r in results],),
        (*[is_masked or type(r) is Masked for r in results],),
    )


def lacks_tangents(op: Op, dots: list[Any]) -> bool:
    """Whether an operand that a linear op is linear in has no tangent, in whose place structural zeros stand."""
    grounds = op.facts.grounds
    return any(
        op.rules[op.position(i)] is not None and not _is_tensor(dot)
        for i, dot in enumerate(dots) if grounds is None or op.operands[op.position(i)] in grounds
    )  # fmt: skip


def _is_tensor(tangent: object) -> bool:
    return tangent is not None and tangent is not ZERO


def _replaced(operands: tuple[Tensor, ...], index: int, tangent: Tensor) -> tuple[Tensor, ...]:
    return (*operands[:index], tangent, *operands[index + 1 :])


def _sum(terms: Any) -> Any:
    total = None
    for term in terms:
        total = term if total is None else add(total, term)
    return total


def _push_linear(op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], dots: list[Any]) -> Any:
    """The op itself, applied to tangents; operands that it is not linear in (indices, conditions) stay."""
    if op in (add, sub) and not all(map(_is_tensor, dots)):
        first, second = dots
        return first if _is_tensor(first) else second if op is add else neg(second)
    tangents = [
        x if op.rules[op.position(i)] is None else d if _is_tensor(d) else zeros_of(type_of(x))
        for i, (x, d) in enumerate(zip(operands, dots, strict=True))
    ]
    return apply(op, tuple(tangents), attrs)


def _push_elementwise(
    op: Op, operands: tuple[Any, ...], attrs: tuple[int, ...], outs: tuple[Any, ...], dots: list[Any],
    masked: Sequence[bool]
) -> Any:  # fmt: skip
    types = (*map(type_of, operands),)
    sources = (None, mul, (True,) * len(operands), *operands, *outs, None, *types, *attrs)
    terms = []
    for index, dot in enumerate(dots):
        rule = op.rules[index]
        if _is_tensor(dot) and rule is not None:
            slope = rule.fn(*rule.pick(sources))
            terms.append(scale(dot, slope) if masked[index] else mul(slope, dot))
    return _sum(terms)


def _reads_tangent(op: Op, index: int) -> bool:
    """Whether an op's jvp reads the tangent of an operand."""
    assert op.jvp is not None
    return f"{op.operands[op.position(index)]}_dot" in op.jvp.reads


def _push_general(
    op: Op, operands: tuple[Any, ...], attrs: tuple[Any, ...], outs: tuple[Any, ...], dots: list[Any],
    masked: Sequence[bool]
) -> Any:  # fmt: skip
    types = (*map(type_of, operands),)
    assert op.jvp is not None  # push() has asked
    if op.kind == "custom":  # a user's rule is told which operands have no tangent: not all need be connected
        filled = dots
    elif not any(_is_tensor(d) and _reads_tangent(op, i) for i, d in enumerate(dots)):
        # it is linear in what it reads; zeros made for it would be numbers, of which NaNs come behind infinite slopes
        return (ZERO,) * len(outs) if op.is_multi else ZERO
    else:
        tells = "masked" in op.jvp.reads  # a rule that knows structural zeros wants no others for what is not there
        masked = [m or d is ZERO or (d is None and not tells) for m, d in zip(masked, dots, strict=True)]
        filled = [
            d if _is_tensor(d)
            else None if (tells and d is None) or not dtypes.is_inexact(x.dtype)
            else zeros_of(type_of(x))
            for x, d in zip(operands, dots, strict=True)
        ]  # fmt: skip
    results = (outs,) if op.has_many_outs else outs  # several results under one name are one tuple to the rule
    sources = (
        scale if any(masked) else mul, masked, *op.group(tuple(operands)), *results, *op.group(types),
        *op.group(tuple(filled)), *attrs,
    )  # fmt: skip
    return op.jvp.fn(*op.jvp.pick(sources))
