"""Solutions of equations as functions of what the equations depend on: the implicit function theorem as a rule.

`solution(x, residual, operands)` returns a vector x that was found by any means, with residual(x, *operands) = 0, as it
is, with the derivative dx = -M^-1 (d residual / d operands), M = d residual / d x. The rule reads the result itself, so
that its own derivatives are right to any order; a rule of `custom` could not, because it does not see its results.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.apply import apply
from .._core.argument_types import DTypeLike
from .._core.constant import constant
from .._core.dtypes import is_inexact
from .._core.op import ZERO, Facts, Op, Rule, batch_size, repeat
from .._core.state import recording
from .._core.tensor import Tensor
from .._core.types import TensorType, type_of
from .._core.user_line import at_user_line
from .._prims.linalg import solve
from .._prims.structural import concatenate, neg, reduce_sum, reshape, stop_gradient, transpose, unstack, zeros_of
from .._transforms.batch import batch
from .._transforms.replay import replay
from .._transforms.reverse import sweep
from .._transforms.tape import Tape
from .call import Program
from .closed import Closed
from .custom import CustomRule
from .per_example import batched


def solution(x: Tensor, residual: Program, operands: Sequence[Tensor], name: str = "solve_ivp") -> Tensor:
    """x, which solves residual(x, *operands) = 0, as a function of the operands.

    Args:
        x: the solution, a vector of n.
        residual: from x and the operands to a vector of n.
        operands: what the residual depends on.
        name: of the user's function, for messages.
    """
    return let_through(x, ImplicitRule(name, residual, len(operands)), operands)


def let_through(x: Tensor, rule: CustomRule, operands: Sequence[Tensor]) -> Tensor:
    """x as a function of the operands, by an `ImplicitRule`."""
    return apply(_op(len(operands)), (*operands, stop_gradient(x)), (rule,))[0]


def rows_of_jacobian(pull: Closed, arguments: Sequence[Tensor], n: int, dtype: DTypeLike | None) -> Tensor:
    """A Jacobian, given what pulls one cotangent (its last argument) back; row by row if an op cannot be batched."""
    unit = constant(np.eye(n, dtype=dtype))
    captured = pull.captured
    flags = [*[False] * len(arguments), True, *[False] * len(captured)]
    try:
        return batch(pull.graph, [*arguments, unit, *captured], flags, n)[0]
    except NotImplementedError:
        rows = [replay(pull.graph, [*arguments, row, *captured])[0] for row in unstack(unit, size=n)]
        return apply(concatenate, (*[reshape(row, shape=(1, n)) for row in rows],), (0,))


def pulled(f: Callable[..., Any], x: Tensor, ct: Tensor, further: Sequence[Tensor] = ()) -> list[Tensor]:
    """The cotangents of x and further operands of f(), zeros where it does not depend on one."""
    tape = Tape(s._key for s in (x, *further))
    with recording(tape):
        out = f()
    found = sweep(tape.entries, [(out._key, ct)], [s._key for s in (x, *further)], [True])
    return [g if isinstance(g, Tensor) else zeros_of(type_of(s)) for g, s in zip(found, (x, *further), strict=True)]


class ImplicitRule(CustomRule):
    """The implicit function theorem as a rule, in reverse and in forward mode.

    Args:
        name: of the user's function, for messages.
        residual: from the solution and the operands to a vector.
        inputs: how many operands there are.
    """

    __slots__ = ("_pull_one", "residual")

    def __init__(self, name: str, residual: Program, inputs: int) -> None:
        super().__init__(name, inputs, 1, 0)
        self.residual = residual
        self._pull_one: Closed | None = None

    def back(self, ct: Tensor, out: Tensor, operands: Sequence[Tensor]) -> Sequence[Any]:
        """The operands' cotangents."""
        weight = neg(self.solved_back(ct, out, operands))
        _, *found = replay(self._closed().graph, [out, *operands, weight])
        return (*[g if is_inexact(x.dtype) else None for g, x in zip(found, operands, strict=True)],)

    def forth(self, dots: Sequence[Any], out: Tensor, operands: Sequence[Tensor]) -> Any:
        """The solution's tangent."""
        given = [d for d in dots if isinstance(d, Tensor)]
        if not given:
            return ZERO if any(d is ZERO for d in dots) else None
        pushed, (place,), _ = self.residual.jvp((False, *[isinstance(d, Tensor) for d in dots]))
        if not isinstance(place, int):
            return ZERO
        moved = replay(pushed.graph, [out, *operands, *given])[place]
        return neg(self.solved_forth(moved, out, operands))

    def solved_back(self, ct: Tensor, out: Tensor, operands: Sequence[Tensor]) -> Tensor:
        """M^-T ct."""
        return _solved(transpose(self._slopes(out, operands), perm=(1, 0)), ct, self.name)

    def solved_forth(self, dot: Tensor, out: Tensor, operands: Sequence[Tensor]) -> Tensor:
        """M^-1 dot."""
        return _solved(self._slopes(out, operands), dot, self.name)

    def _slopes(self, out: Tensor, operands: Sequence[Tensor]) -> Tensor:
        return rows_of_jacobian(self._closed(), [out, *operands], int(out.shape[0]), out.dtype)

    def _closed(self) -> Closed:
        if self._pull_one is None:
            inputs = [type_of(v) for v in self.residual.graph.inputs]
            (result,) = map(type_of, self.residual.graph.outputs)
            self._pull_one = Closed(self._pull_back, [*inputs, result], "residual.pull")
            if self._pull_one.error is not None:
                raise self._pull_one.error
        return self._pull_one

    def _pull_back(self, arguments: list[Tensor]) -> Sequence[Tensor]:
        x, *operands, ct = arguments
        return pulled(lambda: replay(self.residual.graph, [x, *operands])[0], x, ct, operands)


def _solved(matrix: Tensor, vector: Tensor, name: str) -> Tensor:
    n = vector.shape[0]
    try:
        return reshape(solve(matrix, reshape(vector, shape=(n, 1))), shape=(n,))
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError(
            at_user_line(
                f"{name}: the derivative of the equation by its solution is singular there, so the solution has no "
                f"derivative: it is not isolated, or not a simple one"
            )
        ) from None


class _Lanes(ImplicitRule):
    """The rule of one example, for a batch."""

    __slots__ = ("_flags", "_inner")

    def __init__(self, inner: ImplicitRule, flags: Sequence[bool]) -> None:
        super().__init__(inner.name, inner.residual, inner.inputs)
        self._inner = inner
        self._flags = flags

    def back(self, ct: Tensor, out: Tensor, operands: Sequence[Tensor]) -> Sequence[Any]:
        found = batched(
            lambda a: self._inner.back(a[0], a[1], a[2:]), [ct, out, *operands], [True, True, *self._flags],
            out.shape[0], self.name,
        )  # fmt: skip
        return (*[
            g if g is None or flag else reduce_sum(g, axes=(0,)) for g, flag in zip(found, self._flags, strict=True)
        ],)  # fmt: skip

    def forth(self, dots: Sequence[Any], out: Tensor, operands: Sequence[Tensor]) -> Any:
        given = [i for i, d in enumerate(dots) if isinstance(d, Tensor)]
        if not given:
            return ZERO if any(d is ZERO for d in dots) else None
        last = 1 + len(operands)

        def example(a: list[Tensor]) -> list[Any]:
            own: list[Any] = list(dots)
            for place, dot in zip(given, a[last:], strict=True):
                own[place] = dot
            found = self._inner.forth(own, a[0], a[1:last])
            return [found if isinstance(found, Tensor) else None]

        (found,) = batched(
            example, [out, *operands, *(dots[i] for i in given)],
            [True, *self._flags, *(self._flags[i] for i in given)], out.shape[0], self.name,
        )  # fmt: skip
        return ZERO if found is None else found


@functools.cache
def _op(inputs: int) -> Op:
    """The op of so many operands; to engines it is `custom`."""
    names = [f"input_{i}" for i in range(inputs)]
    op = Op(
        name="custom", operands=(*names, "x"), attrs=("rule",), outs=("outs",), kind="custom", type_rule=_type_rule,
        batch_rule=_batch_rule, has_many_outs=True, takes_missing=True,
        facts=Facts(doc="the solution of an equation", dtypes="any"),
    )  # fmt: skip
    op.joint = Rule(_pull, op.reverse_layout(), "custom", ["ct", "rule", "outs", *names])
    dots = [f"{name}_dot" for name in names]
    op.jvp = Rule(_push, op.forward_layout(), "custom", ["rule", "outs", *names, *dots])
    op.made_by = (_op, (inputs,))
    return op


def _type_rule(*types_and_rule: object) -> tuple[TensorType, ...]:
    return (type_of(types_and_rule[-2]),)


def _pull(ct: Sequence[Any], rule: ImplicitRule, outs: Sequence[Tensor], *operands: Tensor) -> Any:
    if not isinstance(ct[0], Tensor):
        return (*[ct[0] if is_inexact(x.dtype) else None for x in operands], None)
    return (*rule.back(ct[0], outs[0], operands), None)


def _push(rule: ImplicitRule, outs: Sequence[Tensor], *rest: Any) -> Any:
    count = rule.inputs
    return (rule.forth(rest[count:], outs[0], rest[:count]),)


def _batch_rule(op: Op, operands: tuple[Tensor, ...], flags: tuple[bool, ...], attrs: tuple[Any, ...]) -> Any:
    *given, x = operands
    x = x if flags[-1] else repeat(x, batch_size(operands, flags))
    return apply(op, (*given, x), (_Lanes(attrs[0], flags[:-1]),))
