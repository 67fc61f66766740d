"""Programs in torch's own differentiation: one `torch.autograd.Function` node with our rule.

The node's results are the program's and, behind them, what its backward half reads that is neither an operand nor a
result. A node keeps what that half reads and nothing else, so that users may write to the rest in place. (Results cost
torch time: nodes of small programs have the program's alone, and a second derivative makes the others, `_Afterwards`.)
The backward pass runs that half as a node of its own, so that second derivatives come from our rules, too; a cotangent
of what was kept (which only a second derivative has) is pulled back by a further split of the program. Under
`torch.func` the same node has our forward derivative and our batch rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.autograd import forward_ad

from ..._control.call import CallBackward, Program, RowsAt
from ..._control.executables import once_per_program
from ..._core.dims import dims_in
from ..._core.dtypes import is_inexact
from ..._core.graph import Graph, Node
from ..._core.tensor import Value
from ..._core.torch_compile import left_out
from .common import Array, torch_dtype
from .func_levels import at_level, is_reverse
from .light_nodes import LightNode, light_node
from .older_batching import by_lanes, has_lanes
from .programs import Form, device_of, form_for, form_on

Tensors = Sequence[Any]
_functorch = torch._C._functorch  # pyright: ignore[reportAttributeAccessIssue]  # not in torch's stubs


def is_followed(x: Array | torch.Tensor | np.ndarray[Any, Any]) -> bool:
    """Whether torch differentiates or batches what happens to a tensor."""
    x = x.tensor if type(x) is Array else x
    return isinstance(x, torch.Tensor) and (
        (x.requires_grad and torch.is_grad_enabled()) or is_wrapped(x) or _has_tangent(x)
    )


def followed_among(tensors: Tensors) -> list[bool]:
    """`is_followed` of each, with what is the same for all of them asked once."""
    if is_transforming():
        return [*map(is_followed, tensors)]
    if not torch.is_grad_enabled():
        return [False] * len(tensors)
    return [isinstance(x, torch.Tensor) and x.requires_grad for x in tensors]


def is_transforming() -> bool:
    """Whether anything but torch's own reverse mode is at work."""
    return is_in_transform() or forward_ad._current_level >= 0


def is_in_transform() -> bool:
    """Whether a transform of `torch.func` is at work."""
    return _functorch.peek_interpreter_stack() is not None


def is_wrapped(x: torch.Tensor) -> bool:
    """Whether a tensor belongs to a transform of `torch.func`."""
    return is_in_transform() and _functorch.is_functorch_wrapped_tensor(x)


def _is_differentiated(x: torch.Tensor) -> bool:
    """Whether torch differentiates what happens to a tensor that it follows, and does not merely batch it."""
    while _functorch.is_functorch_wrapped_tensor(x):
        # forward derivatives cannot be asked for here
        if _functorch.is_gradtrackingtensor(x) and (x.requires_grad or forward_ad._current_level >= 0):
            return True
        x = _functorch.get_unwrapped(x)
    return x.requires_grad or _has_tangent(x)


def _has_tangent(x: torch.Tensor) -> bool:
    """Whether forward mode follows a tensor. One of torch's older batching cannot be asked: its node finds out."""
    if forward_ad._current_level < 0:
        return False
    try:
        return forward_ad.unpack_dual(x).tangent is not None
    except RuntimeError:
        return True


class _Held:
    """What a node is of: a program, and the form of it that is split for the operands with derivatives.

    What the backward pass reads is an operand or a result wherever it can be, and only the rest is computed beside the
    results. Places count the operands, then what the form computes.

    Attributes:
        active: for each operand whether it has a derivative.
        count: how many results the program itself has.
        forward: the program that gives these and, behind them, what else the backward pass reads.
        backward: from what that reads and the cotangents of results to those of operands.
        stage: how these lie among its operands and results; None if no operand has a derivative.
        read: the place of each value that the backward pass reads.
        reached: which of the forward program's results have cotangents.
        has_histories: whether there are values that are no tensors, histories of loops.
        likes: shape and dtype of each place; None where the shape of one is told by a call only.
        nothing: the cotangents of what a node takes, where there are none.
        light: what makes its node on the CPU, where it is light (`light_nodes`); None before it was asked for.
    """

    def __init__(self, program: Program, active: tuple[bool, ...], given: int | None) -> None:
        self.active = active
        self.count = len(program.graph.outputs)
        self.forward = self.backward = program
        self.stage: CallBackward | None = None
        self.read: list[int] = []
        if any(active):
            divided = program.split(active)
            self.stage = divided.stages[-1]
            self.forward, self.backward, self.read = _cut(divided, self.stage, self.count if given is None else given)
        outputs = self.forward.graph.outputs
        seeded = () if self.stage is None else self.stage.seeded
        self.reached = [
            (place in seeded or place >= self.count) and is_inexact(v.dtype) for place, v in enumerate(outputs)
        ]  # fmt: skip
        self.has_histories = any(v.is_history for v in (*self.forward.graph.inputs, *outputs))
        self.saved = [*dict.fromkeys(self.read)]
        values = (*self.forward.graph.inputs, *outputs)
        is_told = all(type(d) is int for v in values for d in v.shape)
        self.likes = [*map(_like, values)] if is_told and not self.has_histories else None
        self.nothing = (None,) * (1 + len(active))
        self.order = [self.saved.index(place) for place in self.read]  # of what it reads among what a node saves
        self.forms: dict[torch.device, tuple[Form, Form]] = {}  # of both halves
        self.light: LightNode | None = None
        self._is_light: bool | None = None
        self._is_closed: bool | None = None

    @property
    def further(self) -> _Held:
        """The same of the forward program: a second derivative gives cotangents to all that it computes."""
        return held_for(self.forward, self.active, self.count)

    @property
    def wanted(self) -> Sequence[int]:
        """The places of what one node keeps for derivatives of every order."""
        return self.saved if self.is_closed else range(len(self.active) + len(self.forward.graph.outputs))

    @property
    def is_light(self) -> bool:
        """Whether a node has nothing to note but what it keeps, and which of its results have no cotangents."""
        if self._is_light is None:
            self._is_light = self.is_closed and self.likes is not None
        return self._is_light

    def forms_on(self, device: torch.device) -> tuple[Form, Form]:
        """Both halves on a device."""
        found = self.forms.get(device)
        if found is None:
            found = self.forms[device] = form_on(self.forward, device), form_on(self.backward, device)
        return found

    @property
    def is_closed(self) -> bool:
        """Whether second derivatives read nothing that the first does not; of branches and loops that isn't asked."""
        if self._is_closed is None:
            forward = self.forward.graph
            self._is_closed = len(forward.outputs) == self.count or not (
                any(node.op.facts.holds for node in forward.nodes) or {*self.further.read} - {*self.read}
            )
        return self._is_closed


class _Cut(NamedTuple):
    """A split program without the operands and results among what it keeps.

    Attributes:
        forward: the program: its results, and what else is kept.
        backward: from what it reads and the cotangents to cotangents.
        read: where, among the operands and what the forward program computes, what it reads is found.
    """

    forward: Program
    backward: Program
    read: list[int]


def _cut(divided: Program, stage: CallBackward, given: int) -> _Cut:
    """What a split keeps is an operand or a result wherever it can be, other names of these and views included.

    What is made of constants alone is made again, and so are quotients among the `given` first results.
    """
    graph, back = divided.graph, stage.backward.graph
    later = _found_at_once(graph, back, len(stage.slots))
    made = [*graph.nodes, *later.moved]
    outputs = [*graph.outputs[: stage.stop]]
    places: dict[int, int] = {}
    for place, value in enumerate((*graph.inputs, *outputs)):
        places.setdefault(value.key, place)
    fixed = _fixed(made)
    makers = {v.key: node for node in made for v in node.outputs if _is_view(node)}
    quotients = _quotients(made, outputs[:given])
    kept: dict[int, Value] = {}
    again: set[int] = set()  # nodes by identity
    waiting = later.read
    for value in waiting:  # which grows
        if value.key in later.stands:
            other = later.stands[value.key]
            if other.key not in places:
                places[other.key] = len(graph.inputs) + len(outputs)
                outputs.append(other)
            places[value.key] = places[other.key]
            kept[value.key] = value
            continue
        path: list[Node] = []
        root = value
        while root.key not in places and root.key not in fixed and root.key in makers:
            path.append(makers[root.key])
            (root,) = makers[root.key].inputs
        if root.key not in places and root.key in fixed:
            again.update(map(id, path + fixed[root.key]))
            continue
        if root.key in quotients:
            again.update(map(id, [*path, quotients[root.key]]))
            waiting += quotients[root.key].inputs
            continue
        if root.key not in places:
            if not any(node.op.name == "broadcast_to" for node in path):  # which would be kept as so many elements
                root, path = value, []
            places[root.key] = len(graph.inputs) + len(outputs)
            outputs.append(root)
        again.update(map(id, path))
        kept[root.key] = root
    seeds = back.inputs[len(stage.slots) :]
    nodes = [node for node in made if id(node) in again]
    backward = Graph.of(back.name, [*kept.values(), *seeds], [*nodes, *later.nodes], back.outputs, back.guards)
    forward = Graph.of(graph.name, graph.inputs, made, outputs, graph.guards)
    return _Cut(Program(forward), Program(backward), [places[key] for key in kept])


class _Later(NamedTuple):
    """A backward half whose orders and places are found by the forward one.

    Attributes:
        moved: the nodes that the forward half has beside its own.
        nodes: those of the backward half.
        read: the values that this reads.
        stands: those of them that nodes which it had would have given, with what stands for each in the forward half.
    """

    moved: list[Node]
    nodes: list[Node]
    read: list[Value]
    stands: dict[int, Value]


def _found_at_once(graph: Graph, back: Graph, count: int) -> _Later:
    """The order of what is sorted is kept in place of the operand, which users may then write to, as with torch's own.

    Args:
        graph: the forward half.
        back: the backward one.
        count: how many values that reads.
    """
    given = {v.key: v for v in back.inputs[:count]}
    known = {_computed(node): node for node in graph.nodes if node.op.facts.places}
    moved: list[Node] = []
    later: list[Node] = []
    found: list[Value] = []
    stands: dict[int, Value] = {}
    for node in back.nodes:
        if not node.op.facts.places or node.op.is_multi or not all(v.key in given for v in node.inputs):
            later.append(node)
            continue
        there = known.get(_computed(node))
        if there is None:
            moved.append(node)
        found.append(node.outputs[0])
        stands[node.outputs[0].key] = (there or node).outputs[0]
    wanted = {v.key for v in (*back.outputs, *(x for node in later for x in node.inputs))}
    # of the others the backward half reads the extents
    spared = {v.key for node in back.nodes if node.outputs[0].key in stands for v in node.inputs} - wanted
    return _Later(moved, later, [*(v for key, v in given.items() if key not in spared), *found], stands)


def _computed(node: Node) -> Any:
    return node.op.name, node.attrs, (*[v.key for v in node.inputs],)


def _quotients(nodes: Sequence[Node], results: Sequence[Value]) -> dict[int, Node]:
    """The results that are quotients, with the nodes that make them: they are computed again, so that code may write to
    them in place. torch's own derivative of a quotient reads the operands, too.
    """
    keys = {v.key for v in results if all(type(d) is int for d in v.shape)}
    return {node.outputs[0].key: node for node in nodes if node.op.name == "div" and node.outputs[0].key in keys}


def _fixed(nodes: Sequence[Node]) -> dict[int, list[Node]]:
    """The values that are constants, or these moved, with the nodes that make them."""
    found: dict[int, list[Node]] = {}
    for node in nodes:
        is_moved = not node.inputs or node.op.facts.cost in ("free", "move")
        if not is_moved or node.op.has_effect or node.op.is_multi or dims_in(node.attrs):
            continue
        if all(v.key in found for v in node.inputs):
            found[node.outputs[0].key] = [node, *(n for v in node.inputs for n in found[v.key])]
    return found


def _is_view(node: Node) -> bool:
    """Whether what a node computes is there already, under another name or in another order."""
    return node.op.facts.cost == "free" and len(node.inputs) == len(node.outputs) == 1 and not dims_in(node.attrs)


@once_per_program
def held_for(program: Program, active: tuple[bool, ...], given: int | None = None) -> _Held:
    """The one node's kind for a program and these operands, made on first use.

    Args:
        given: how many of its results users get, if that are not all.
    """
    return _Held(program, active, given)


def bound(program: Program, tensors: Tensors) -> tuple[Any, ...]:
    """The results of a program as torch's transformations see them."""
    if has_lanes(tensors):
        return by_lanes(bound, program, tensors)
    followed = followed_among(tensors)
    if True not in followed:
        return form_for(program, tensors).run(*tensors)
    return followed_results(program, tensors, followed)


def followed_results(program: Program, tensors: Tensors, followed: Sequence[bool]) -> tuple[Any, ...]:
    """The results of a program of which torch follows some operands, these."""
    is_plain = not is_transforming()
    if not is_plain:
        flagged = zip(followed, tensors, strict=True)
        followed = [flag and is_differentiable(x) and _is_differentiated(x) for flag, x in flagged]
    held = held_for(program, (*followed,))
    if is_in_transform():
        return _transformed(held, tensors)[: held.count]
    if is_plain and not held.is_closed:
        return _apart(held, *tensors)
    return _Direct.apply(held, *tensors)[: held.count]


def _transformed(held: _Held, tensors: Tensors) -> tuple[Any, ...]:
    """All that a program gives inside transforms of `torch.func`."""
    if is_reverse():
        return at_level(_Node, _one_level_below, held, tensors)
    return _Node.apply(held, *tensors)


def _one_level_below(held: _Held, tensors: Tensors) -> tuple[Any, ...]:
    """The same one level below, where nothing may be left that follows these operands."""
    if is_in_transform():
        return _transformed(held, tensors)
    if True in followed_among(tensors):
        return _Node.apply(held, *tensors)
    return form_for(held.forward, tensors).run_owned(*tensors)


def node_of(held: _Held, device: torch.device) -> Callable[..., tuple[Any, ...]]:
    """What makes a node where nothing but torch's reverse mode is at work, from the operands to the results."""
    if held.is_light and held.backward.graph.outputs and device.type == "cpu":
        if held.light is None:
            held.light = light_node(held, held.forms_on(device), _pulled_slowly, _placed)
        return held.light
    if not held.is_closed:
        return partial(_apart, held)
    return lambda *tensors: _Direct.apply(held, *tensors)[: held.count]


@left_out
def _pulled_slowly(held: _Held, ctx: Any, *cts: torch.Tensor | None) -> Any:
    """The backward pass of a light node, whatever is asked of it."""
    ctx.held, ctx.places = held, held.saved
    if len(cts) == len(held.forward.graph.outputs) or not torch.is_grad_enabled() or are_none(cts):
        return _Node.backward(ctx, *cts)[1:]
    return (*_pulled(held, _Afterwards.told(held, ctx), held.likes, cts),)


class _Afterwards(torch.autograd.Function):
    """What a light node has kept beside its results, as a function of the operands: a second derivative asks for it."""

    @staticmethod
    def told(held: _Held, node: Any) -> dict[int, Any]:
        """What a node's backward pass reads, by its places, with what torch is to know of it."""
        found = _kept(node)
        operands = [
            found[i] if i in found else node.next_functions[i][0].variable if is_active else None  # which is of a leaf
            for i, is_active in enumerate(held.active)
        ]  # fmt: skip
        places = [place for place in held.saved if place >= len(held.active) + held.count]
        # within torch.func, too: nothing of this belongs to a transform that is at work now
        was_allowed = _functorch.get_single_level_autograd_function_allowed()
        _functorch.set_single_level_autograd_function_allowed(True)
        try:
            above: Any = super(torch.autograd.Function, _Afterwards)
            kept = above.apply(held, places, found, *operands)
        finally:
            _functorch.set_single_level_autograd_function_allowed(was_allowed)
        return found | dict(zip(places, kept, strict=True))

    @staticmethod
    def forward(ctx: Any, held: _Held, places: Sequence[int], found: dict[int, Any], *operands: Any) -> Any:
        kept = (*[found[place].detach() for place in places],)
        ctx.held, ctx.outputs = held, [place - len(held.active) for place in places]
        ctx.set_materialize_grads(False)
        _set_apart(ctx, kept, [held.reached[i] for i in ctx.outputs])
        values = found | dict(zip(places, kept, strict=True))
        count = len(held.active) + len(held.forward.graph.outputs)
        _keep(ctx, [values.get(place) for place in range(count)], held.saved)
        return kept

    @staticmethod
    @left_out
    def backward(ctx: Any, *cts: torch.Tensor | None) -> Any:
        held = ctx.held
        if are_none(cts):
            return None, None, *held.nothing
        given: list[torch.Tensor | None] = [None] * len(held.forward.graph.outputs)
        for place, ct in zip(ctx.outputs, cts, strict=True):
            given[place] = ct
        return None, None, None, *_further(held, _kept(ctx), held.likes, given)


class _Node(torch.autograd.Function):
    """A program among torch's own operations, as the transforms of `torch.func` want it."""

    @staticmethod
    def forward(held: _Held, *tensors: torch.Tensor | np.ndarray[Any, Any]) -> Any:
        return form_for(held.forward, tensors).run_owned(*tensors)

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[Any, ...], output: tuple[np.ndarray[Any, Any] | torch.Tensor, ...]
    ) -> None:
        held, *tensors = inputs
        _Node.note(ctx, held, tensors, output, True)

    @staticmethod
    def note(ctx: Any, held: _Held, tensors: Tensors, output: Tensors, is_pushed: bool) -> None:
        _note(ctx, held, tensors, output)
        _keep(ctx, [*tensors, *output], held.wanted, is_pushed)

    @staticmethod
    @left_out
    def backward(ctx: Any, *cts: object) -> Any:
        held = ctx.held
        if held.stage is None or are_none(cts):
            return held.nothing
        values = _kept(ctx)
        likes = held.likes or ctx.likes
        if len(cts) > held.count and not are_none(cts[held.count :]):
            # a second derivative asks for the cotangents of what was kept: they are results of this program
            return None, *_further(held, values, likes, cts)
        return None, *_pulled(held, values, likes, cts)

    @staticmethod
    def jvp(ctx: Any, *tangents: torch.Tensor | None) -> Any:
        held = ctx.held
        count = len(held.active)
        values = [*_pushed(ctx).values()]
        dots = tangents[1:]
        flags = (*[d is not None for d in dots],)
        pushed, places, _ = held.forward.jvp(flags)
        found = bound(pushed, [*values[:count], *[d for d in dots if d is not None]])
        return (*[
            None if not is_reached else found[place] if isinstance(place, int) else torch.zeros_like(y)
            for place, y, is_reached in zip(places, values[count:], held.reached, strict=True)
        ],)  # fmt: skip

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], held: _Held, *tensors: Any) -> Any:
        axes = in_dims[1:]
        flags = (*[axis is not None for axis in axes],)
        moved = [x if axis is None else x.movedim(axis, 0) for x, axis in zip(tensors, axes, strict=True)]
        outs = bound(held.forward.batched(flags, info.batch_size), moved)
        return outs, (*[0 if isinstance(x, torch.Tensor) else None for x in outs],)


class _Direct(torch.autograd.Function):
    """The same where no transform is at work: torch looks up what `setup_context` takes anew at each call."""

    @staticmethod
    def forward(ctx: Any, held: _Held, *tensors: torch.Tensor | np.ndarray[Any, Any]) -> Any:
        output = held.forms_on(device_of(tensors))[0].run_owned(*tensors)
        values = (*tensors, *output)
        if held.is_light and forward_ad._current_level < 0:
            ctx.held, ctx.places = held, held.saved
            ctx.set_materialize_grads(False)
            if False in held.reached:
                _set_apart(ctx, output, held.reached)
            ctx.save_for_backward(*[values[place] for place in held.saved])
            return output
        _note(ctx, held, tensors, output)
        _keep(ctx, values, held.wanted, forward_ad._current_level >= 0)
        return output

    @staticmethod
    @left_out
    def backward(ctx: Any, *cts: torch.Tensor | None) -> Any:
        return _pulled_at_once(ctx.held, ctx, cts) or _Node.backward(ctx, *cts)

    jvp = _Node.jvp


# -- programs of which a second derivative reads what the first does not ----------------------------------------------
#
# They are two nodes, each of which keeps what it reads: one of what is kept beside the results, and one of the results.


def _apart(held: _Held, *tensors: Any) -> tuple[Any, ...]:
    with torch.no_grad():
        outs = form_for(held.forward, tensors).run_owned(*tensors)
    kept = _Kept.apply(held, outs[held.count :], *tensors)
    return _Results.apply(held, outs[: held.count], len(kept), *kept, *tensors)


class _Kept(torch.autograd.Function):
    """What a program keeps beside its results, as a function of the operands."""

    @staticmethod
    def forward(ctx: Any, held: _Held, kept: Tensors, *tensors: torch.Tensor | np.ndarray[Any, Any]) -> Any:
        ctx.held = held
        ctx.set_materialize_grads(False)
        _set_apart(ctx, kept, held.reached[held.count :])
        _keep(ctx, tensors, range(len(tensors)))
        return kept

    @staticmethod
    @left_out
    def backward(ctx: Any, *cts: torch.Tensor | None) -> Any:
        held = ctx.held
        if are_none(cts):  # a first derivative, which must not ask whether the operands are unchanged
            return None, *held.nothing
        return None, None, *_further(held, _kept(ctx), None, (*[None] * held.count, *cts))


class _Results(torch.autograd.Function):
    """The results of a program, as a function of the operands and of what it keeps beside them."""

    @staticmethod
    def forward(
        ctx: Any, held: _Held, results: Tensors, count: int, *kept_and_tensors: torch.Tensor | np.ndarray[Any, Any]
    ) -> Any:
        kept, tensors = kept_and_tensors[:count], kept_and_tensors[count:]
        values = [*tensors, *results, *kept]
        ctx.held = held
        if held.likes is None:
            ctx.likes = [*map(_looks, values)]
        ctx.set_materialize_grads(False)
        _set_apart(ctx, results, held.reached[: held.count])
        _keep(ctx, values, held.saved)
        return results

    @staticmethod
    @left_out
    def backward(ctx: Any, *cts: object) -> Any:
        held = ctx.held
        nothing = [None] * (len(held.forward.graph.outputs) - held.count)
        return None, None, None, *nothing, *_pulled(held, _kept(ctx), held.likes or ctx.likes, cts)


# -- what a node keeps ------------------------------------------------------------------------------------------------


def _note(ctx: Any, held: _Held, tensors: Tensors, output: Tensors) -> None:
    """Notes on a node which program it is of, and what has no cotangent."""
    ctx.held = held
    ctx.set_materialize_grads(False)
    if held.likes is None:
        ctx.likes = [*map(_looks, (*tensors, *output))]
    if False in held.reached:
        _set_apart(ctx, output, held.reached)


def _like(value: Value) -> Any:
    """What a cotangent of a value looks like."""
    return (*value.shape,), torch_dtype(value.dtype)


def _looks(x: torch.Tensor | np.ndarray[Any, Any]) -> Any:
    """The same of a value that is there."""
    return (x.shape, x.dtype) if isinstance(x, torch.Tensor) else None


def _set_apart(ctx: Any, outs: Tensors, reached: Sequence[bool]) -> None:
    """Tells torch which results have no cotangents."""
    ctx.mark_non_differentiable(*[
        y for y, is_reached in zip(outs, reached, strict=True) if not is_reached and isinstance(y, torch.Tensor)
    ])  # fmt: skip


def _keep(ctx: Any, values: Tensors, places: Sequence[int], is_pushed: bool = False) -> None:
    """Keeps on a node what its backward pass reads, and nothing else: users may write to all other operands.

    Args:
        ctx: the node.
        values: its operands and results.
        places: which of them the backward pass reads.
        is_pushed: whether it may be asked for a forward derivative, which is taken at once and reads everything.
    """
    fixed = {}
    if ctx.held.has_histories:
        fixed = {place: x for place, x in enumerate(values) if not isinstance(x, torch.Tensor)}
        places = [place for place in places if place not in fixed]
        ctx.fixed = fixed
    ctx.places = places
    ctx.save_for_backward(*[values[place] for place in places])
    if is_pushed:
        ctx.total = len(values)
        ctx.save_for_forward(*[x for place, x in enumerate(values) if place not in fixed])


def _kept(ctx: Any) -> dict[int, Any]:
    """What the backward pass of a node reads, by its places."""
    found = dict(zip(ctx.places, ctx.saved_tensors, strict=True))
    if ctx.held.has_histories:
        found.update(ctx.fixed)
    return found


def _pushed(ctx: Any) -> dict[int, Any]:
    """What the forward derivative of a node reads: all operands and results, in order."""
    saved = iter(ctx.saved_tensors)
    fixed = ctx.fixed if ctx.held.has_histories else {}
    return {place: fixed[place] if place in fixed else next(saved) for place in range(ctx.total)}


def is_differentiable(x: torch.Tensor) -> bool:
    """Whether a value can carry a derivative."""
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())


# -- cotangents -------------------------------------------------------------------------------------------------------


def are_none(cts: Sequence[object]) -> bool:
    """Whether no result has a cotangent; not by `count`, which has torch compare the elements of each with None."""
    return all(ct is None for ct in cts)


def _further(held: _Held, values: dict[int, Any], likes: list[Any] | None, cts: Tensors) -> list[Any]:
    """The cotangents of the operands, of those of all that the forward program computes."""
    further = held.further
    if not held.is_closed:
        operands = [values[place] for place in range(len(held.active))]
        values = dict(enumerate((*operands, *bound(further.forward, operands))))
        likes = [*map(_looks, values.values())]
    return _pulled(further, values, likes, cts)


def _pulled(held: _Held, values: dict[int, Any], likes: Any, cts: Tensors) -> list[Any]:
    """The cotangent of each operand; None where there is none."""
    stage = held.stage
    assert stage is not None
    count = len(held.active)
    seeds = [
        _zeros(likes[count + i], device_of(cts)) if cts[i] is None else cts[i].resolve_conj() for i in stage.seeded
    ]
    found: Tensors = ()
    if held.backward.graph.outputs:
        found = bound(held.backward, [*[values[place] for place in held.read], *seeds])
    return [
        found[place] if type(place) is int else _placed(place, found, likes[i])
        for i, place in enumerate(stage.results)
    ]  # fmt: skip


def _pulled_at_once(held: _Held, ctx: Any, cts: Tensors) -> tuple[Any, ...] | None:
    """What `_Node.backward` gives, where nothing follows it and each result has a cotangent; None elsewhere."""
    stage = held.stage
    if stage is None or not held.is_light or torch.is_grad_enabled() or is_transforming():
        return None
    seeds = [cts[i] for i in stage.seeded]
    if not held.backward.graph.outputs or any(ct is None for ct in seeds) or not are_none(cts[held.count :]):
        return None
    if has_lanes(seeds):
        return None
    saved = ctx.saved_tensors
    operands = [*[saved[place] for place in held.order], *[ct.resolve_conj() for ct in seeds]]
    found = held.forms_on(device_of(operands))[1].run(*operands)
    likes: Any = held.likes  # of a node that is light
    return None, *[
        found[place] if type(place) is int else _placed(place, found, likes[i]) for i, place in enumerate(stage.results)
    ]  # fmt: skip


def _zeros(like: tuple[Any, ...], device: torch.device) -> torch.Tensor:
    shape, dtype = like
    return torch.zeros(shape, dtype=dtype, device=device)


def _placed(place: RowsAt | None, found: Tensors, like: Any) -> Any:
    """The cotangent for one operand of gathered rows, which are added to where they belong, if there is one."""
    if type(place) is RowsAt:
        values, indices = found[place.values], found[place.indices]
        shape, dtype = like
        rows = values.reshape((indices.numel(), *shape[1:])).to(dtype)
        places = torch.where(indices < 0, indices + shape[0], indices).reshape(-1)
        return rows.new_zeros(shape).index_add(0, places, rows)
    return None


__all__ = ["bound", "device_of", "is_followed", "is_wrapped", "torch_dtype"]
