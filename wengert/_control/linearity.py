"""Transposes a user's gradient rule for forward mode, if it is linear in its cotangents.

A rule maps cotangents of the outputs to cotangents of the inputs. Forward mode needs the transposed map. It exists
only where the rule is linear, so a recorder checks that, op by op, while the rule runs once on zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.engine import ENGINE_OF
from .._core.op import ZERO, Op
from .._core.state import STATE, recording
from .._core.tensor import Tensor, Value
from .._core.types import TensorType
from .._core.where import at_user_line
from .._prims.structural import zeros_of
from .._transforms.reverse import Tape, sweep

_ZERO_PRESERVING = frozenset({
    "broadcast_to", "reshape", "transpose", "convert", "alias", "stop_gradient", "neg", "buffer_new", "buffer_value",
})  # fmt: skip


class Linearity:
    """The recorder that follows which values are linear in the sources, and which depend on them otherwise."""

    __slots__ = ("linear", "other", "took_numbers", "why")

    def __init__(self, keys: Sequence[int]) -> None:
        self.linear = set(keys)
        self.other: set[int] = set()
        self.why = ""
        self.took_numbers = False

    def tracks(self, key: int) -> bool:
        return key in self.linear or key in self.other

    def note_exit(self, tensor: Tensor, what: str) -> None:
        """A number taken out may come back anywhere."""
        if self.tracks(tensor._key):
            self.took_numbers, self.why = True, what

    def on_read(self, variable: Any, tensor: Tensor) -> None:
        """Variables are constants here."""

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Files the results of an op."""
        depends = [self.tracks(x._key) for x in operands]
        if not any(depends):
            return
        is_linear = self.other.isdisjoint(x._key for x in operands) and _keeps_linear(op, operands, attrs, depends)
        if is_linear and all(dtypes.is_inexact(out.dtype) for out in outs):
            self.linear.update(out._key for out in outs)
        else:
            self.other.update(out._key for out in outs)
            self.why = self.why or f"the op {op.name}"


def _keeps_linear(op: Op, operands: Sequence[Tensor], attrs: tuple[Any, ...], depends: Sequence[bool]) -> bool:
    """Whether an op's results are linear in the operands that depend (all linearly) on the sources."""
    if op.name == "attach":
        return depends[0]
    if op.name == "scale":
        return depends[0] != depends[1]
    if op.kind == "linear":
        return all(
            (op.rules[op.position(i)] is not None and (d or is_zero(x))) or (op.rules[op.position(i)] is None and not d)
            for i, (x, d) in enumerate(zip(operands, depends, strict=True))
        )
    if sum(depends) != 1 or op.kind not in ("multilinear", "elementwise"):
        return False
    index = depends.index(True)
    rule = op.rules[op.position(index)]
    if rule is None:
        return False
    # the slope along an operand tells: it is constant if its formula reads neither the operand nor the result
    return op.kind == "multilinear" or rule.reads.isdisjoint({op.operands[index], *op.outs})


def is_zero(x: Tensor) -> bool:
    """Whether a tensor is known to hold zeros only; a symbolic one by the op that made it."""
    data = x._data
    if type(data) is not Value:
        return not np.any(np.asarray(ENGINE_OF[type(data)].to_numpy(data)))
    builder = STATE.builder
    return builder is not None and _is_zero_value(builder, data.key)


def _is_zero_value(graph: Any, key: int) -> bool:
    for node in reversed(graph.nodes):
        if any(v.key == key for v in node.outputs):
            if node.op.name == "full":
                return dict(zip(node.op.attrs, node.attrs, strict=True))["value"] == 0
            if node.op.name == "constant":
                return not np.any(node.attrs[0])
            return node.op.name in _ZERO_PRESERVING and _is_zero_value(graph, node.inputs[0].key)
    return False


def transpose(
    pull: Callable[[list[Tensor]], Sequence[Any]], types: Sequence[TensorType], tangents: Sequence[Any], name: str
) -> tuple[Any, ...]:
    """The transposed rule applied to tangents of the inputs.

    Args:
        pull: the rule, from cotangents of the outputs to cotangents of the inputs.
        types: the outputs' types.
        tangents: one an input: a tensor, `ZERO`, or None where the input does not depend on the sources.
        name: of the user's function, for the error.

    Returns:
        One tangent an output, or None if no input has one.

    Raises:
        LookupError: if the rule is not linear.
    """
    if all(t is None for t in tangents):
        return (None,) * len(types)
    cotangents = [zeros_of(t) for t in types]
    sources = [c._key for c in cotangents if dtypes.is_inexact(c.dtype)]
    tape, check = Tape(sources), Linearity(sources)
    with recording(tape), recording(check):
        pulled = pull(cotangents)
    seeds = []
    for index, (result, tangent) in enumerate(zip(pulled, tangents, strict=True)):
        if result is None or result is ZERO or tangent is None or tangent is ZERO:
            continue
        if result._key in check.linear and not check.took_numbers:
            seeds.append((result._key, tangent))
        elif check.tracks(result._key) or check.took_numbers or not is_zero(result):
            raise _not_linear(name, index, check.why)
    found = iter(sweep(tape.entries, seeds, sources))
    return (*[_or_zero(next(found)) if dtypes.is_inexact(t.dtype) else None for t in types],)


def _or_zero(tangent: Any) -> Any:
    return ZERO if tangent is None else tangent


def _not_linear(name: str, index: int, why: str) -> LookupError:
    reason = f" (because of {why})" if why else ""
    return LookupError(
        at_user_line(
            f"{name}: forward mode needs the rule's transpose, but the gradient for input {index} is not linear in the "
            f"upstream gradient{reason}; give jvp= to custom_gradient"
        )
    )
