"""The op `custom`: passes results through unchanged, and has a user's rule as its derivative.

`follow` is the way in. Operands: the inputs, the results of the user's function (cut off from the ops that computed
them, so that nothing flows there), what the rule keeps, and what the results depend on beside the inputs. The rule
gives no derivative for that last part, so the op raises where it is being differentiated. The results of the op are the
user's results under a new identity. How many there are of each is the layout, and every layout is an `Op` of its own,
so that a tape keeps just what the rule keeps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._core import dtypes
from .._core.apply import apply, apply_prepared
from .._core.constant import with_weak
from .._core.dims import Dim, DimLike
from .._core.op import ZERO, Facts, Op, Rule, batch_size, repeat
from .._core.state import STATE, watchers
from .._core.tensor import Tensor
from .._core.types import TensorType, type_of
from .._prims.structural import reduce_sum, scale, stop_gradient, zeros_of
from .._transforms.pushing import Masked
from .closed import Closed
from .custom_captures import refused
from .linearity import transpose
from .per_example import batched

Tensors = Sequence[Tensor]
Pull = Callable[[list[Tensor]], "Sequence[Tensor | None]"]  # cotangents of the results -> of the inputs
Push = Callable[[list[Any]], "Sequence[Tensor | None]"]  # tangents of the inputs (None: not a float) -> of the results


class CustomRule:
    """The attribute of the op `custom`: a user's derivative, in both directions.

    Attributes:
        name: the user's function, for messages.
        inputs, outputs, kept: how many operands of each sort there are.
        captured: what the results depend on beside the inputs, in words; the last operands.
        takes_missing: whether `pull` is told which results have no cotangent (None or ZERO in its place).
    """

    __slots__ = ("captured", "inputs", "kept", "name", "outputs")
    takes_missing = False

    def __init__(self, name: str, inputs: int, outputs: int, kept: int, captured: Sequence[str] = ()) -> None:
        self.name = name
        self.inputs = inputs
        self.outputs = outputs
        self.kept = kept
        self.captured = tuple(captured)

    def pull(
        self, cotangents: list[Tensor], kept: Tensors, may_hold_zeros: bool, needed: Sequence[bool]
    ) -> Sequence[Any]:  # fmt: skip
        """The inputs' cotangents (a tensor, ZERO or None each); `needed` says which ones are asked for."""
        raise NotImplementedError

    def push(
        self, primals: Tensors, tangents: Sequence[Any], outs: Tensors, kept: Tensors, may_hold_zeros: bool
    ) -> Any:  # fmt: skip
        """The results' tangents (a tensor, ZERO or None each); a tangent is None where an input has none."""
        types, wanted = [type_of(y) for y in outs], [isinstance(t, Tensor) for t in tangents]
        return transpose(lambda cts: self.pull(cts, kept, False, wanted), types, tangents, self.name)

    def with_dims(self, change: Callable[[Dim], DimLike]) -> CustomRule:
        """The rule where dimensions of the enclosing trace have become what `change` says."""
        return self

    def __wengert_map_dims__(self, change: Callable[[Dim], DimLike]) -> CustomRule:
        return self.with_dims(change)

    def __repr__(self) -> str:
        return f"<rule of {self.name}>"


def show_rule(what: str, given: Sequence[Any], found: Sequence[Any]) -> None:
    """Shows `debug_nans` what a user's rule made: constants are no op's results, and so nobody has looked at them."""
    for watcher in watchers():
        look = getattr(watcher, "look_at", None)
        if look is not None:
            look(what, [x for x in given if isinstance(x, Tensor)], [x for x in found if isinstance(x, Tensor)])


class EagerRule(CustomRule):
    """A rule that is a Python function, called whenever a gradient is asked for."""

    __slots__ = ("_pull", "_push")

    def __init__(self, name: str, inputs: int, outputs: int, pull: Pull, push: Push | None) -> None:
        super().__init__(name, inputs, outputs, 0)
        self._pull = pull
        self._push = push

    def pull(
        self, cotangents: list[Tensor], kept: Tensors, may_hold_zeros: bool, needed: Sequence[bool]
    ) -> Sequence[Any]:  # fmt: skip
        found = self._pull(cotangents)
        show_rule(f"the gradient function of {self.name}", cotangents, found)
        return found

    def push(
        self, primals: Tensors, tangents: Sequence[Any], outs: Tensors, kept: Tensors, may_hold_zeros: bool
    ) -> Any:  # fmt: skip
        if self._push is None:
            return super().push(primals, tangents, outs, kept, may_hold_zeros)
        found = pushed(self._push, primals, tangents, outs)
        show_rule(f"the jvp of {self.name}", [*primals, *tangents], found)
        return found


def pushed(push: Push, primals: Sequence[Tensor], tangents: Sequence[Any], outs: Sequence[Tensor]) -> Any:
    """The results' tangents by a forward rule, which sees zeros for inputs without a tangent."""
    if all(t is None for t in tangents):
        return (None,) * len(outs)
    found = push(
        [
            None if not dtypes.is_inexact(x.dtype) else zeros_of(type_of(x)) if t is None or t is ZERO else t
            for x, t in zip(primals, tangents, strict=True)
        ]
    )
    return (*[ZERO if t is None else t for t in found],)


class TracedRule(CustomRule):
    """A rule inside a trace: both directions traced at once, when the user's function was."""

    __slots__ = ("_held", "_shift", "forward", "reverse")

    def __init__(
        self, name: str, input_types: Sequence[TensorType], output_types: Sequence[TensorType], pull: Pull,
        push: Push | None, captured: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.reverse = Closed(pull, output_types, f"gradient of {name}")
        self.forward = None if push is None else Closed(_on_floats(push, input_types), [
            t for t in input_types if dtypes.is_inexact(t.dtype)
        ], f"tangent of {name}")  # fmt: skip
        self.reverse.capture_reads()
        if self.forward is not None:
            self.forward.capture_reads()
        self._shift = len(self.reverse.captured)
        self._held: tuple[Tensor, ...] = (*self.reverse.captured, *(self.forward.captured if self.forward else ()))
        super().__init__(name, len(input_types), len(output_types), len(self._held), captured)

    @classmethod
    def of(
        cls, name: str, counts: tuple[int, int, int], captured: Sequence[str], reverse: Closed, forward: Closed | None
    ) -> TracedRule:  # fmt: skip
        """A rule of graphs that were traced before: `counts` says how many inputs, results and kept operands it has."""
        rule = cls.__new__(cls)
        CustomRule.__init__(rule, name, *counts, captured)
        rule.reverse, rule.forward, rule._held = reverse, forward, ()
        rule._shift = len(reverse.graph.inputs) - rule.outputs
        return rule

    def release(self) -> tuple[Tensor, ...]:
        """What the rule's graphs captured: operands from now on, and not held here any more."""
        held, self._held = self._held, ()
        self.reverse.captured = ()
        if self.forward is not None:
            self.forward.captured = ()
        return held

    def pull(
        self, cotangents: list[Tensor], kept: Tensors, may_hold_zeros: bool, needed: Sequence[bool]
    ) -> Sequence[Any]:  # fmt: skip
        found = self.reverse.run(cotangents, kept[: self._shift])
        show_rule(f"the gradient function of {self.name}", [*cotangents, *kept[: self._shift]], found)
        return found

    def push(
        self, primals: Tensors, tangents: Sequence[Any], outs: Tensors, kept: Tensors, may_hold_zeros: bool
    ) -> Any:  # fmt: skip
        forward = self.forward
        if forward is None:
            return super().push(primals, tangents, outs, kept, may_hold_zeros)

        def run(dots: list[Any]) -> Sequence[Any]:
            return forward.run([d for d in dots if d is not None], kept[self._shift :])

        found = pushed(run, primals, tangents, outs)
        show_rule(f"the jvp of {self.name}", [*primals, *tangents, *kept[self._shift :]], found)
        return found

    def with_dims(self, change: Callable[[Dim], DimLike]) -> CustomRule:
        copy = TracedRule.__new__(TracedRule)
        CustomRule.__init__(copy, self.name, self.inputs, self.outputs, self.kept, self.captured)
        copy.reverse = self.reverse.with_dims(change)
        copy.forward = None if self.forward is None else self.forward.with_dims(change)
        copy._shift, copy._held = self._shift, self._held
        return copy


def _on_floats(push: Push, types: Sequence[TensorType]) -> Callable[[list[Tensor]], Any]:
    """A forward rule as a function of the tangents of the float inputs only."""

    def on_floats(dots: list[Tensor]) -> Any:
        remaining = iter(dots)
        return push([next(remaining) if dtypes.is_inexact(t.dtype) else None for t in types])

    return on_floats


class BatchedRule(CustomRule):
    """The rule of one example, for a batch: traced for an example when it is used, then batched like any graph."""

    __slots__ = ("_inner", "_input_flags", "_kept_flags")

    def __init__(self, inner: CustomRule, input_flags: Sequence[bool], kept_flags: Sequence[bool]) -> None:
        super().__init__(inner.name, inner.inputs, inner.outputs, inner.kept, inner.captured)
        self._inner = inner
        self._input_flags = tuple(input_flags)
        self._kept_flags = tuple(kept_flags)

    def pull(
        self, cotangents: list[Tensor], kept: Tensors, may_hold_zeros: bool, needed: Sequence[bool]
    ) -> Sequence[Any]:  # fmt: skip
        count = len(cotangents)
        found = _batched(
            lambda a: self._inner.pull(a[:count], a[count:], may_hold_zeros, needed),
            [*cotangents, *kept], (*(True,) * count, *self._kept_flags), self.name,
        )  # fmt: skip
        show_rule(f"the gradient function of {self.name}", [*cotangents, *kept], found)
        return [
            x if x is None or flag else reduce_sum(x, axes=(0,))
            for x, flag in zip(found, self._input_flags, strict=True)
        ]

    def push(
        self, primals: Tensors, tangents: Sequence[Any], outs: Tensors, kept: Tensors, may_hold_zeros: bool
    ) -> Any:  # fmt: skip
        if all(t is None or t is ZERO for t in tangents):
            return (None if all(t is None for t in tangents) else ZERO,) * len(outs)
        given = [i for i, t in enumerate(tangents) if t is not None and t is not ZERO]
        ends = [len(primals), len(primals) + len(outs), len(primals) + len(outs) + len(kept)]
        masked: set[int] = set()  # which results may hold zeros of the rule's own making

        def example(a: list[Tensor]) -> list[Any]:
            dots: list[Any] = list(tangents)
            for place, dot in zip(given, a[ends[2] :], strict=True):
                dots[place] = dot
            results = self._inner.push(a[: ends[0]], dots, a[ends[0] : ends[1]], a[ends[1] : ends[2]], may_hold_zeros)
            masked.update(i for i, d in enumerate(results) if isinstance(d, Masked))
            return [None if d is ZERO else d.cotangent if isinstance(d, Masked) else d for d in results]

        found = _batched(
            example, [*primals, *outs, *kept, *(tangents[i] for i in given)],
            (*self._input_flags, *(True,) * len(outs), *self._kept_flags, *(self._input_flags[i] for i in given)),
            self.name,
        )  # fmt: skip
        show_rule(f"the jvp of {self.name}", [*primals, *kept, *tangents], found)
        return (*[ZERO if t is None else Masked(t) if i in masked else t for i, t in enumerate(found)],)

    def with_dims(self, change: Callable[[Dim], DimLike]) -> CustomRule:
        return BatchedRule(self._inner.with_dims(change), self._input_flags, self._kept_flags)


def _batched(function: Callable[..., Any], arguments: Sequence[Tensor], flags: Sequence[bool], name: str) -> list[Any]:
    """A function of one example, on a batch."""
    return batched(function, arguments, flags, batch_size((*arguments,), (*flags,)), f"the gradient of {name}")


# -- the op -----------------------------------------------------------------------------------------------------------


@functools.cache
def custom_op(inputs: int, outputs: int, kept: int, captured: int = 0) -> Op:
    """The op of a layout."""
    ins = [f"input_{i}" for i in range(inputs)]
    results = [f"result_{i}" for i in range(outputs)]
    keeps = [f"kept_{i}" for i in range(kept)]
    others = [f"captured_{i}" for i in range(captured)]
    op = Op(
        name="custom", operands=(*ins, *results, *keeps, *others), attrs=("rule",), outs=("outs",), kind="custom",
        type_rule=_type_rule, batch_rule=_batch_rule, has_many_outs=True, takes_missing=True,
        facts=Facts(doc="the results of a function with a gradient of its own", dtypes="any"),
    )  # fmt: skip
    op.joint = Rule(_pull, op.reverse_layout(), "custom", ["ct", "times", "needed", "rule", "outs_type", *keeps])
    dots = [f"{name}_dot" for name in (*ins, *others)]
    op.jvp = Rule(_push, op.forward_layout(), "custom", ["rule", "times", "outs", *ins, *dots, *keeps])
    if captured:
        op.prepare = _prepare
    op.made_by = (custom_op, (inputs, outputs, kept, captured))
    return op


def follow(
    rule: CustomRule, inputs: Sequence[Tensor], results: Sequence[Tensor], kept: Sequence[Tensor],
    captured: Sequence[Tensor] = (),
) -> Any:  # fmt: skip
    """The results under a new identity, with the rule as their derivative with respect to the inputs."""
    sealed = [stop_gradient(y) for y in results]
    op = custom_op(rule.inputs, rule.outputs, rule.kept, len(rule.captured))
    run = apply_prepared if captured else apply
    return with_weak(run(op, (*inputs, *sealed, *kept, *captured), (rule,)), [y._weak for y in results])


def _prepare(operands: tuple[Tensor, ...], attrs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuses where an open recorder follows what nothing answers for."""
    (rule,) = attrs
    others = operands[len(operands) - len(rule.captured) :]
    _require_unfollowed(rule, [any(r.tracks(x._key) for r in STATE.recorders) for x in others])
    return attrs


def _require_unfollowed(rule: CustomRule, flags: Sequence[bool]) -> None:
    for what, is_followed in zip(rule.captured, flags, strict=True):
        if is_followed and not STATE.lets_captures_go:
            raise refused(rule.name, what)


def _results(operands: Sequence[Any], rule: CustomRule) -> Sequence[Any]:
    return operands[rule.inputs : rule.inputs + rule.outputs]


def _type_rule(*types_and_rule: Any) -> tuple[TensorType, ...]:
    return (*map(type_of, _results(types_and_rule[:-1], types_and_rule[-1])),)


def _pull(
    ct: Sequence[Any], times: object, needed: Sequence[bool], rule: CustomRule, outs_type: Sequence[TensorType],
    *kept: Tensor,
) -> Any:  # fmt: skip
    is_filled = not rule.takes_missing or all(c is None or c is ZERO for c in ct)
    cotangents = [
        zeros_of(t) if is_filled and (c is None or c is ZERO) else c for c, t in zip(ct, outs_type, strict=True)
    ]
    # structural zeros are plain zeros to the rule, but a rule that goes on with a sweep may pass them on
    may_hold_zeros = times is scale or any(c is None or c is ZERO for c in ct)
    found = rule.pull(cotangents, kept, may_hold_zeros, needed[: rule.inputs])
    if all(c is None or c is ZERO for c in ct):
        # the rule says what is connected; its product with zeros may still be NaN, and the derivative is zero
        found = [None if g is None else ZERO for g in found]
    else:
        if rule.captured:
            _require_unfollowed(rule, needed[-len(rule.captured) :])
    return (*found, *(None,) * (rule.outputs + rule.kept + len(rule.captured)))


def _push(rule: CustomRule, times: Op, outs: Sequence[Tensor], *rest: Tensor) -> Any:
    n, last = rule.inputs, 2 * rule.inputs + len(rule.captured)
    _require_unfollowed(rule, [isinstance(dot, Tensor) for dot in rest[2 * n : last]])
    return rule.push(rest[:n], rest[n : 2 * n], outs, rest[last:], times is scale)


def _batch_rule(op: Op, operands: tuple[Tensor, ...], batched: tuple[bool, ...], attrs: tuple[Any, ...]) -> Any:
    (rule,) = attrs
    size = batch_size(operands, batched)
    first, last = rule.inputs, rule.inputs + rule.outputs
    results = [x if b else repeat(x, size) for x, b in zip(operands[first:last], batched[first:last], strict=True)]
    new = BatchedRule(rule, batched[:first], batched[last : last + rule.kept])
    return apply_prepared(op, (*operands[:first], *results, *operands[last:]), (new,))
