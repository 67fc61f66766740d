"""Forward mode: a recorder that pushes tangents through each op as it runs.

While it works on an op only the recorders outside it listen, so its own arithmetic is never differentiated by
itself but is by them; tangents live as long as their primals do, so memory does not grow with the program.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any

from .._core import dtypes
from .._core.apply import apply
from .._core.op import ZERO, Op
from .._core.state import STATE, pausing
from .._core.tensor import Tensor, Value
from .._core.types import type_of
from .._core.where import at_user_line
from .._prims.structural import add, mul, zeros_of


class Tangents:
    """The forward recorder."""

    def __init__(self) -> None:
        self._tangents: dict[int, tuple[Any, weakref.ref[Tensor] | None]] = {}

    def tracks(self, key: int) -> bool:
        return key in self._tangents

    def set(self, primal: Tensor, tangent: Any) -> None:
        """Gives a primal its tangent (a tensor of its type, or ZERO)."""
        key, tangents = primal._key, self._tangents
        if type(primal._data) is Value:  # an op of a trace may be given more results later, and be pushed through again
            tangents[key] = (tangent, None)
            return
        # `tangents.pop(key, reference)`, and no function in Python, for in a callback of that kind Ctrl-C gets lost
        tangents[key] = (tangent, weakref.ref(primal, functools.partial(tangents.pop, key)))

    def of(self, primal: Tensor) -> Any:
        """The tangent of a value: a tensor, ZERO, or None if it does not depend on the sources."""
        found = self._tangents.get(primal._key)
        return None if found is None else found[0]

    def note_exit(self, tensor: Tensor, what: str) -> None:
        """Forward mode keeps no explanations."""

    def on_read(self, variable: Any, tensor: Tensor) -> None:
        """Variables have no tangents of their own."""

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Pushes the operands' tangents through an op (again, if it has more results now than when it ran)."""
        dots = [self.of(x) for x in operands]
        if all(d is None for d in dots) or op.kind == "stop":
            return
        outer = STATE.recorders[: STATE.recorders.index(self)]
        with pausing(outer):
            results = push(op, operands, attrs, outs, dots)
        for out, result in zip(outs, results, strict=True):
            if result is not None and dtypes.is_inexact(out.dtype):
                self.set(out, result)


def push(
    op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...], dots: list[Any]
) -> tuple[Any, ...]:  # fmt: skip
    """The tangents of an op's results (ZERO where the op's kind says so)."""
    if op.kind == "zero" or (op.kind != "custom" and all(d is None or d is ZERO for d in dots)):
        return (ZERO,) * len(outs)
    if op.kind == "not_differentiable" or (op.kind in ("general", "custom") and op.jvp is None):
        raise LookupError(at_user_line(f"no forward derivative is defined for the op {op.name}, which is on the path"))
    if op.kind == "linear":
        result = _push_linear(op, operands, attrs, dots)
    elif op.kind == "multilinear":
        result = _sum(apply(op, _replaced(operands, i, d), attrs) for i, d in enumerate(dots) if _is_tensor(d))
    elif op.kind == "elementwise":
        result = _push_elementwise(op, operands, attrs, outs, dots)
    else:
        result = _push_general(op, operands, attrs, outs, dots)
    return result if op.is_multi else (result,)


def _is_tensor(tangent: Any) -> bool:
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
    tangents = [
        x if op.rules[op.position(i)] is None else d if _is_tensor(d) else zeros_of(type_of(x))
        for i, (x, d) in enumerate(zip(operands, dots, strict=True))
    ]
    return apply(op, tuple(tangents), attrs)


def _push_elementwise(op: Op, operands: Any, attrs: Any, outs: Any, dots: list[Any]) -> Any:
    types = (*map(type_of, operands),)
    sources = (None, mul, (True,) * len(operands), *operands, *outs, None, *types, *attrs)
    terms = []
    for index, dot in enumerate(dots):
        rule = op.rules[index]
        if _is_tensor(dot) and rule is not None:
            terms.append(mul(rule.fn(*rule.pick(sources)), dot))
    return _sum(terms)


def _push_general(op: Op, operands: Any, attrs: Any, outs: Any, dots: list[Any]) -> Any:
    # a user's rule is told which operands have no tangent: its results may not be connected to the others
    filled = (
        dots
        if op.kind == "custom"
        else [
            d if _is_tensor(d) else zeros_of(type_of(x)) if dtypes.is_inexact(x.dtype) else None
            for x, d in zip(operands, dots, strict=True)
        ]
    )
    types = (*map(type_of, operands),)
    assert op.jvp is not None  # push() has asked
    results = (outs,) if op.has_many_outs else outs  # several results under one name are one tuple to the rule
    sources = (
        mul, *op.group(tuple(operands)), *results, *op.group(types), *op.group(tuple(filled)), *attrs,
    )  # fmt: skip
    return op.jvp.fn(*op.jvp.pick(sources))
