"""Transposes a user's gradient rule for forward mode, if it is linear in its cotangents.

A rule maps cotangents of the outputs to cotangents of the inputs. Forward mode needs the transposed map. It exists
only where the rule is linear, so a recorder checks that, op by op, while the rule runs once on zeros. Each value has a
`Share`: how it depends on the cotangents. Programs of calls, branches and loops are followed node by node.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.analysis import needed_for
from .._core.engine import ndarray_of
from .._core.op import ZERO, Op, stated
from .._core.recorder import Recorder
from .._core.state import STATE, recording
from .._core.tensor import Tensor, Value
from .._core.types import TensorType
from .._core.user_line import at_user_line
from .._prims.structural import zeros_of
from .._transforms.reverse import sweep
from .._transforms.tape import Tape


class Share(enum.Enum):
    """How a value depends, linearly, on the cotangents that a rule was given."""

    ZERO = "zero"
    CONSTANT = "constant"
    LINEAR = "linear"
    OTHER = "other"


Shares = list[Share]


class Linearity(Recorder):
    """The recorder that follows which values are linear in the sources, and which depend on them otherwise."""

    __slots__ = ("linear", "other", "took_numbers", "why", "zeros")

    def __init__(self, keys: Sequence[int]) -> None:
        self.linear = set(keys)
        self.other: set[int] = set()
        self.zeros: set[int] = set()  # what programs give that no tensor tells to be zeros
        self.why = ""
        self.took_numbers = False

    def tracks(self, key: int) -> bool:
        return key in self.linear or key in self.other

    def note_exit(self, tensor: Tensor, what: str) -> None:
        """A number taken out may come back anywhere."""
        if self.tracks(tensor._key):
            self.took_numbers, self.why = True, what

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Files the results of an op."""
        if not any(self.tracks(x._key) for x in operands):
            return
        shares = [self._share(x, op.kind == "linear" or bool(op.facts.holds)) for x in operands]
        for out, share in zip(outs, _results(op, shares, attrs, outs), strict=True):
            if share is Share.LINEAR:
                self.linear.add(out._key)
            elif share is Share.ZERO:
                self.zeros.add(out._key)
            elif share is Share.OTHER:
                self.other.add(out._key)
                self.why = self.why or f"the op {op.name}"

    def _share(self, x: Tensor, is_asked_for_zeros: bool) -> Share:
        if x._key in self.linear:
            return Share.LINEAR
        if x._key in self.other:
            return Share.OTHER
        is_known = x._key in self.zeros or (is_asked_for_zeros and is_zero(x))
        return Share.ZERO if is_known else Share.CONSTANT


def _results(op: Op, shares: Shares, attrs: tuple[Any, ...], outs: Sequence[Any]) -> Shares:
    """The share of each result of an op."""
    region = _REGIONS.get(op.facts.holds)
    if op.name in ("attach", "after"):  # the value of its first operand, connected to others or behind them
        found = [shares[0]]
    elif region is not None:
        found = region(shares, attrs[0])
    elif Share.LINEAR not in shares and Share.OTHER not in shares:
        return [_without_sources(op, shares, attrs)] * len(outs)
    else:
        is_linear = Share.OTHER not in shares and _keeps_linear(op, shares, attrs)
        found = [Share.LINEAR if is_linear else Share.OTHER] * len(outs)
    is_lost = [share is Share.LINEAR and not dtypes.is_inexact(out.dtype) for share, out in zip(found, outs)]
    return [Share.OTHER if lost else share for lost, share in zip(is_lost, found)]


def _without_sources(op: Op, shares: Shares, attrs: tuple[Any, ...]) -> Share:
    """The share of results that do not depend on the sources: whether they are known to be zeros."""
    value = stated(op, attrs)
    if value is not None:
        is_known = not np.any(value)
    elif Share.ZERO not in shares:
        is_known = False
    elif op.kind == "multilinear":
        is_known = True
    elif op.facts.moves and not op.is_multi:
        is_known = shares[0] is Share.ZERO
    else:  # whatever is linear in what is zero
        is_known = _keeps_linear(op, [Share.LINEAR if share is Share.ZERO else share for share in shares], attrs)
    return Share.ZERO if is_known else Share.CONSTANT


def _keeps_linear(op: Op, shares: Shares, attrs: tuple[Any, ...]) -> bool:
    """Whether an op's results are linear in the operands that depend (all linearly) on the sources."""
    depends = [share is Share.LINEAR for share in shares]
    if op.name == "add_number":
        return attrs[0] == 0  # `sum` of a list of terms begins so
    if op.name == "scale":
        return depends[0] != depends[1]
    if op.kind == "linear":
        return all(
            share in (Share.LINEAR, Share.ZERO) if op.rules[op.position(i)] is not None else share is not Share.LINEAR
            for i, share in enumerate(shares)
        )
    if sum(depends) != 1:
        return False
    index = depends.index(True)
    if op.kind not in ("multilinear", "elementwise"):
        return op.facts.linear_in == op.operands[op.position(index)]
    rule = op.rules[op.position(index)]
    if rule is None:
        return False
    # the slope along an operand tells: it is constant if its formula reads neither the operand nor the result
    return op.kind == "multilinear" or rule.reads.isdisjoint({op.operands[index], *op.outs})


# -- ops that hold programs ---------------------------------------------------------------------


def _through(graph: Any, shares: Shares) -> Shares:
    """The shares of a graph's outputs, from those of its inputs."""
    found = {value.key: share for value, share in zip(graph.inputs, shares, strict=True)}
    for node in graph.nodes:
        _through_node(node, found)
    return [found.get(value.key, Share.CONSTANT) for value in graph.outputs]


def _through_node(node: Any, found: dict[int, Share]) -> None:
    """Adds the shares of a node's results to those found before."""
    given = [found.get(value.key, Share.CONSTANT) for value in node.inputs]
    for value, share in zip(node.outputs, _results(node.op, given, node.attrs, node.outputs), strict=True):
        found[value.key] = Share.ZERO if share is Share.CONSTANT and 0 in value.shape else share


def _met(first: Share, second: Share) -> Share:
    """The share of a value that is one or the other."""
    if first is second or second is Share.ZERO:
        return first
    return second if first is Share.ZERO else Share.OTHER  # a constant or a linear value is neither


def _of_call(shares: Shares, program: Any) -> Shares:
    return _through(program.graph, shares)


def _of_switch(shares: Shares, branches: Any) -> Shares:
    columns = zip(*[_through(program.graph, shares[1:]) for program in branches.programs], strict=True)
    if shares[0] in (Share.LINEAR, Share.OTHER):
        return [Share.OTHER for _ in columns]
    found: Shares = []
    for first, *rest in columns:
        for share in rest:
            first = _met(first, share)
        found.append(first)
    return found


def _of_loop(shares: Shares, spec: Any) -> Shares:
    """The shares that hold after any number of steps."""
    operands = shares[spec.is_counted :]
    carries, rest = operands[: spec.carries], operands[spec.carries :]
    while True:
        outs = _through(spec.body.graph, [*carries, *rest])
        grown = [*map(_met, carries, outs[: spec.carries])]
        if grown == carries:
            break
        carries = grown
    is_chosen = not spec.is_counted and _depends(
        _through(spec.condition.graph, [*carries, *operands[spec.invariants_from() :]])
    )
    between = [] if spec.is_counted else [Share.CONSTANT]
    of_history = Share.OTHER if _depends(shares) else Share.CONSTANT
    emitted = [outs[emit] if isinstance(emit, int) else of_history for emit in spec.emits]
    found = [*carries, *between, *emitted]
    return [Share.OTHER] * len(found) if is_chosen else found


def _of_loop_back(shares: Shares, back: Any) -> Shares:
    """A backward pass through a history is linear in cotangents where a step is; of what the run was, it is not."""
    step, start = back.step, 2 + back.inputs
    cotangents = shares[start:]
    first = len(step.carries)
    carries, stacked = [*cotangents[:first], *[Share.ZERO] * len(step.sums)], cotangents[first:]
    graph = step.program.graph
    between = len(graph.inputs) - len(carries) - len(stacked) - len(step.invariants)
    rest = [*[Share.CONSTANT] * between, *stacked, *[Share.CONSTANT] * len(step.invariants)]
    while True:
        outs = _through(graph, [*carries, *rest])
        grown = [*map(_met, carries, outs[: back.summed])]
        if grown == carries:
            break
        carries = grown
    found = [*carries, *outs[back.summed :]]
    return [Share.OTHER] * len(found) if _depends(shares[:start]) else found


def _depends(shares: Shares) -> bool:
    return Share.LINEAR in shares or Share.OTHER in shares


_REGIONS: dict[str, Callable[[Shares, Any], Shares]] = {
    "a program": _of_call,
    "branches": _of_switch,
    "a loop": _of_loop,
    "a loop's backward pass": _of_loop_back,
}


# -- transposition ---------------------------------------------------------------------


def is_zero(x: Tensor) -> bool:
    """Whether a tensor is known to hold zeros only; a symbolic one by the op that made it."""
    data = x._data
    if type(data) is not Value:
        return not np.any(ndarray_of(data))
    builder = STATE.builder
    return builder is not None and _is_zero_value(builder, data.key)


def _is_zero_value(graph: Any, key: int) -> bool:
    """Whether a value of a graph is known to be zeros, by the ops that it is made by."""
    found: dict[int, Share] = {}
    for node in needed_for(graph.nodes, [key])[0]:
        _through_node(node, found)
    return found.get(key) is Share.ZERO


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
        elif check.tracks(result._key) or check.took_numbers or not (result._key in check.zeros or is_zero(result)):
            raise _not_linear(name, index, check.why)
    found = iter(sweep(tape.entries, seeds, sources))
    return (*[_or_zero(next(found)) if dtypes.is_inexact(t.dtype) else None for t in types],)


def _or_zero(tangent: object) -> Any:
    return ZERO if tangent is None else tangent


def _not_linear(name: str, index: int, why: str) -> LookupError:
    reason = f" (because of {why})" if why else ""
    return LookupError(
        at_user_line(
            f"{name}: forward mode needs the rule's transpose, but the gradient for input {index} is not linear in the "
            f"upstream gradient{reason}; give jvp= to custom_gradient"
        )
    )
