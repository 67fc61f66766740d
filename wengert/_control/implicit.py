"""Solutions of equations as functions of what the equations depend on: the implicit function theorem as a rule.

`solution(x, residual, operands)` lets a vector x through that was found by any means, with residual(x, *operands) = 0,
and answers for it with dx = -M^-1 (d residual / d operands), M = d residual / d x. The rule reads the result itself, so
that its own derivatives are right to any order; a rule of `custom` could not, because it does not see its results.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.apply import apply
from .._core.constant import constant
from .._core.op import ZERO, Facts, Op, Rule
from .._core.state import recording
from .._core.tensor import Tensor
from .._core.types import TensorType, type_of
from .._core.where import at_user_line
from .._prims.linalg import solve
from .._prims.structural import concatenate, neg, reshape, stop_gradient, transpose, unstack, zeros_of
from .._transforms.batch import batch
from .._transforms.replay import replay
from .._transforms.reverse import Tape, sweep
from .call import Program, call_program
from .closed import Closed
from .custom import CustomRule


def solution(x: Tensor, residual: Program, operands: Sequence[Tensor]) -> Tensor:
    """x, which solves residual(x, *operands) = 0, as a function of the operands.

    Args:
        x: the solution, a vector of n.
        residual: from x and the operands to a vector of n.
        operands: what the residual depends on.
    """
    rule = _Rule(residual, len(operands))
    return apply(_op(len(operands)), (*operands, stop_gradient(x)), (rule,))[0]


def rows_of_jacobian(pull: Closed, arguments: Sequence[Tensor], n: int, dtype: Any) -> Tensor:
    """A Jacobian, given what pulls one cotangent (its last argument) back; row by row if an op cannot be batched."""
    unit = constant(np.eye(n, dtype=dtype))
    captured = pull.captured
    flags = [*[False] * len(arguments), True, *[False] * len(captured)]
    try:
        return batch(pull.graph, [*arguments, unit, *captured], flags, n)[0]
    except NotImplementedError:
        rows = [replay(pull.graph, [*arguments, row, *captured])[0] for row in unstack(unit, size=n)]
        return apply(concatenate, (*[reshape(row, shape=(1, n)) for row in rows],), (0,))


def pulled(f: Any, x: Tensor, ct: Tensor, further: Sequence[Tensor] = ()) -> list[Tensor]:
    """The cotangents of x and further operands of f(), zeros where it does not depend on one."""
    tape = Tape(s._key for s in (x, *further))
    with recording(tape):
        out = f()
    found = sweep(tape.entries, [(out._key, ct)], [s._key for s in (x, *further)], [True])
    return [g if isinstance(g, Tensor) else zeros_of(type_of(s)) for g, s in zip(found, (x, *further), strict=True)]


class _Rule(CustomRule):
    """Both directions."""

    __slots__ = ("_pull_one", "_residual")

    def __init__(self, residual: Program, inputs: int) -> None:
        super().__init__("solve_ivp", inputs, 1, 0)
        self._residual = residual
        self._pull_one: Closed | None = None

    def back(self, ct: Tensor, out: Tensor, operands: Sequence[Tensor]) -> Sequence[Any]:
        """The operands' cotangents."""
        closed = self._closed()
        weight = neg(_solved(transpose(self._slopes(out, operands), perm=(1, 0)), ct))
        found = replay(closed.graph, [out, *operands, weight])
        return (*found[1:],)

    def forth(self, dots: Sequence[Any], out: Tensor, operands: Sequence[Tensor]) -> Any:
        """The solution's tangent."""
        given = [d for d in dots if isinstance(d, Tensor)]
        if not given:
            return ZERO if any(d is ZERO for d in dots) else None
        pushed, (place,) = self._residual.jvp((False, *[isinstance(d, Tensor) for d in dots]))
        if not isinstance(place, int):
            return ZERO
        moved = call_program(pushed, [out, *operands, *given])[place]
        return neg(_solved(self._slopes(out, operands), moved))

    def _slopes(self, out: Tensor, operands: Sequence[Tensor]) -> Tensor:
        return rows_of_jacobian(self._closed(), [out, *operands], int(out.shape[0]), out.dtype)

    def _closed(self) -> Closed:
        if self._pull_one is None:
            inputs = [type_of(v) for v in self._residual.graph.inputs]
            (result,) = map(type_of, self._residual.graph.outputs)
            self._pull_one = Closed(self._pull_back, [*inputs, result], "residual.pull")
            if self._pull_one.error is not None:
                raise self._pull_one.error
        return self._pull_one

    def _pull_back(self, arguments: list[Tensor]) -> Sequence[Tensor]:
        x, *operands, ct = arguments
        return pulled(lambda: replay(self._residual.graph, [x, *operands])[0], x, ct, operands)


def _solved(matrix: Tensor, vector: Tensor) -> Tensor:
    n = vector.shape[0]
    return reshape(solve(matrix, reshape(vector, shape=(n, 1))), shape=(n,))


@functools.cache
def _op(inputs: int) -> Op:
    """The op of so many operands; to engines it is `custom`."""
    names = [f"input_{i}" for i in range(inputs)]
    op = Op(
        name="custom", operands=(*names, "x"), attrs=("rule",), outs=("outs",), kind="custom", type_rule=_type_rule,
        batch_rule=_batch_rule, has_many_outs=True, takes_missing=True,
        facts=Facts(doc="the solution of an equation", dtypes="float"),
    )  # fmt: skip
    op.joint = Rule(_pull, op.reverse_layout(), "custom", ["ct", "rule", "outs", *names])
    dots = [f"{name}_dot" for name in names]
    op.jvp = Rule(_push, op.forward_layout(), "custom", ["rule", "outs", *names, *dots])
    return op


def _type_rule(*types_and_rule: Any) -> tuple[TensorType, ...]:
    return (type_of(types_and_rule[-2]),)


def _pull(ct: Sequence[Any], rule: _Rule, outs: Sequence[Tensor], *operands: Tensor) -> Any:
    if not isinstance(ct[0], Tensor):
        return (*[ct[0]] * len(operands), None)
    return (*rule.back(ct[0], outs[0], operands), None)


def _push(rule: _Rule, outs: Sequence[Tensor], *rest: Any) -> Any:
    count = rule.inputs
    return (rule.forth(rest[count:], outs[0], rest[:count]),)


def _batch_rule(op: Op, operands: tuple[Tensor, ...], batched: tuple[bool, ...], attrs: tuple[Any, ...]) -> Any:
    raise NotImplementedError(at_user_line("the solution of an equation has no batch rule"))
