"""`loop`: a traced step run many times, until a condition fails (`while`) or a number of times (`scan`).

Operands of a counted loop: the number of steps, the carries at the start, the arrays that are consumed slice by slice
(xs), and the invariants; of a conditional one: the carries and the invariants. Results: the carries at the end, the
number of steps (of a conditional loop), the stacked results of the steps, then what backward passes have asked for.

The backward pass is a counted loop, too: it carries the cotangents of the carries, adds up those of the invariants, and
consumes what the forward steps have saved. Saved values are stacks (`checkpoint="all"`), or they are in a *history*
that the engine keeps as the policy says and `loop_back` reads (`loop_back.py`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from .._core import dtypes
from .._core.analysis import needed_for
from .._core.apply import apply
from .._core.dims import Atom, Dim, DimLike
from .._core.domains import require_equal_extents
from .._core.dtypes import HISTORY
from .._core.graph import Graph, Node, Origins, quietly
from .._core.op import ZERO, batch_size, general, repeat, tensor_type
from .._core.state import building
from .._core.tensor import Tensor, Value
from .._core.types import TensorType, type_of
from .._core.user_line import at_user_line
from .._prims.discrete import lt
from .._prims.reductions import reduce_max
from .._prims.structural import absent, add, broadcast_to, concatenate, convert, full, sub, zeros_of
from .._transforms.batch import add_lanes, batched_graph, lanes_of, reached
from .._transforms.pushing import Masked
from .._transforms.replay import bind_dims, replay
from .call import Program, Pushed, marked
from .halves import Cuttings, Halves
from .joint_graph import BackwardPass, extended, is_growing, prepared, preparing, serving, unread_of
from .masked_execution import (
    both,
    guarded,
    is_harmless,
    size_inside,
    some,
    spread,
    swapped,
    where_live,
    zeroed,
)
from .operand_checks import require_inputs, require_same_extent


class History(NamedTuple):
    """A result of a loop: what its steps have saved for one backward pass, kept as a policy says.

    Attributes:
        positions: which outputs of the body a step saves.
        policy: "sqrt", "auto" or a number of snapshots.
    """

    positions: tuple[int, ...]
    policy: Any


class Reading(NamedTuple):
    """Where a backward pass of a loop finds what the forward steps have saved.

    Attributes:
        carries: which carries have cotangents on the way.
        saved: for each value read (carries before the step, then residuals) its position among the body's outputs.
        history: where among the results the history is, or -1 if the saved values are stacks.
    """

    carries: tuple[int, ...]
    saved: tuple[int, ...]
    history: int


class LoopBackward(BackwardPass):
    """One backward pass through a loop, whose number of steps is none of the operands. Of the body's outputs carries
    that reach a result with a cotangent, and what is stacked in one, are live.

    Attributes:
        cuttings: of the body.
        reading: what it finds of the steps forward.
        given: positions of the carries whose value before each step is read.
    """

    def __init__(
        self, active: tuple[bool, ...], stop: int, cuttings: Cuttings, reading: Reading, given: tuple[int, ...],
        live: frozenset[int] | None,
    ) -> None:  # fmt: skip
        super().__init__(active, stop, cuttings.usual.seeded, live)
        self.cuttings = cuttings
        self.reading = reading
        self.given = given


class Loop:
    """The attribute of a `loop`: its programs, and what is known of its operands and results.

    Attributes:
        condition: from carries and invariants to one boolean; None for a counted loop.
        body: from carries, slices of xs and invariants to carries and what the step gives.
        thin: the body as it was traced, which saves nothing.
        carries, xs, own: how many carries, consumed arrays and stacked results of the user there are.
        is_reversed: whether the slices are taken (and the results stacked) from the last to the first.
        policy: "all", "sqrt", "auto" or a number of snapshots.
        length: the number of steps, where it is known.
        most: the largest number of steps of a conditional loop, where it is known (`length` as well if none are fewer).
        even: positions of the body's outputs that the user has stacked: of all steps they must have one shape.
        emits: the results behind the carries and the number of steps: a position among the body's outputs that is
            stacked, or a `History`.
        stages: the backward passes so far.
    """

    def __init__(
        self, condition: Program | None, body: Program, *, carries: int, xs: int = 0, is_reversed: bool = False,
        policy: object = "all", length: DimLike | None = None, varying: Sequence[Atom] = (), most: int | None = None,
    ) -> None:  # fmt: skip
        self.condition = condition
        self.body = self.thin = body
        self.carries = carries
        self.xs = xs
        self.own = len(body.graph.outputs) - carries
        self.is_reversed = is_reversed
        self.policy = policy
        self.length = length
        self.most = most
        self.varying = frozenset(varying)  # dimensions that may differ from step to step
        self.even: frozenset[int] = frozenset()
        self.emits: tuple[int | History, ...] = (*range(carries, carries + self.own),)
        self.stages: tuple[LoopBackward, ...] = ()
        self.outside: dict[str, Dim] = {}

    @property
    def is_counted(self) -> bool:
        return self.condition is None

    @property
    def first_emit(self) -> int:
        """The position of the first stacked result among the results."""
        return self.carries + (not self.is_counted)

    @property
    def inner(self) -> tuple[Program, ...]:
        """The programs, for listings."""
        return (self.thin,) if self.condition is None else (self.condition, self.thin)

    def invariants_from(self) -> int:
        """The position of the first invariant among the body's inputs."""
        return self.carries + self.xs

    # -- types ------------------------------------------------------------------------------------------------------

    def types(self, operands: Sequence[Any]) -> tuple[TensorType, ...]:
        """The types of the results for operands of these types."""
        operands = operands[self.is_counted :]
        sizes = self._sizes(operands)
        graph = self.body.graph
        carries = enumerate(graph.inputs[: self.carries])
        found = [self._outside(v.shape, v.dtype, sizes, "last", i) for i, v in carries]
        if not self.is_counted:
            found.append(tensor_type((), dtypes.int64))
        steps = self.steps(operands)
        for emit in self.emits:
            if isinstance(emit, History):
                found.append(tensor_type((), HISTORY))
            else:
                value = graph.outputs[emit]
                row = self._outside(value.shape, value.dtype, sizes, "row of", emit)
                found.append(tensor_type((steps, *row[0]), row[1]))
        return (*found,)

    def steps(self, operands: Sequence[Any]) -> DimLike:
        """The number of steps as a dimension, from the types of carries, xs and invariants."""
        if self.xs:
            return operands[self.carries].shape[0]
        return self.length if self.length is not None else self._fresh("steps")

    def told_steps(self, operands: Sequence[Any]) -> DimLike | None:
        """As `steps`, or None where only the stacked results of this very loop would tell: it may have none."""
        return operands[self.carries].shape[0] if self.xs else self.length

    def _sizes(self, operands: Sequence[Any]) -> dict[Atom, DimLike]:
        last = self.invariants_from()
        shapes = [x.shape[1:] if self.carries <= i < last else x.shape for i, x in enumerate(operands)]
        sizes = bind_dims(self.body.graph, shapes)
        return {atom: size for atom, size in sizes.items() if atom not in self.varying}

    def _outside(
        self, shape: tuple[Any, ...], dtype: np.dtype[Any], sizes: dict[Atom, DimLike], what: str, place: int
    ) -> TensorType:
        """The type of a value of the body, seen from outside: what only a step tells is one unknown there."""
        found: list[DimLike] = []
        for axis, dim in enumerate(shape):
            if not isinstance(dim, Dim):
                found.append(dim)
            elif dim.atoms <= sizes.keys():
                found.append(dim.substitute(sizes))
            else:
                found.append(self._fresh(f"{what} {dim}", f"{what} {place}.{axis}"))
        return tensor_type((*found,), dtype)

    def _fresh(self, name: str, key: str = "") -> Dim:
        """The dimension outside that stands for something known at run time only; the same one each time."""
        for known in (key or name, name):  # files of version 0.2 have the name alone
            if known in self.outside:
                return self.outside[known]
        found = self.outside[key or name] = Dim.free(name, is_late=True)
        return found

    def own_dims(self) -> list[Dim]:
        """The dimensions that nothing but its results tells."""
        return [*self.outside.values()]

    def anew(self) -> Loop:
        """The same loop in another place: what only a run tells is something else there."""
        if not self.outside:
            return self
        found = copy.copy(self)
        found.outside = {}
        return found

    def __wengert_map_dims__(self, change: Callable[[Dim], DimLike]) -> Loop:
        if type(self.length) is not Dim:
            return self
        changed = copy.copy(self)
        changed.length = change(self.length)
        return changed

    # -- backward passes -----------------------------------------------------------------------------------------------

    def split(self, active: tuple[bool, ...], live: frozenset[int] | None = None) -> Loop:
        """The same loop, whose steps also save what a backward pass to the active operands reads, from the outputs of
        the body that are live (all, if that is not said)."""
        flags = self.activity(active)
        unread = unread_of(self.body.graph, live)
        flags = (*[flag and (i >= self.carries or i not in unread) for i, flag in enumerate(flags)],)
        invariants = range(self.invariants_from(), len(flags))
        cuttings = Cuttings(
            self.body.graph, flags, invariants=invariants, carried=range(self.carries), unread=unread
        )  # fmt: skip
        halves = cuttings.usual
        carries = (*[i for i in range(self.carries) if flags[i]],)
        given = (*[i for i in halves.given if i < self.carries],)
        outputs = list(halves.outputs)
        places = {v.key: i for i, v in enumerate(outputs)}
        saved = []
        for value in [*(halves.inputs[i] for i in given), *halves.residuals]:
            if value.key not in places:
                places[value.key] = len(outputs)
                outputs.append(value)
            saved.append(places[value.key])
        stop = self.first_emit + len(self.emits)
        divided = copy.copy(self)
        body = self.body.graph
        divided.body = Program(Graph.of(body.name, halves.inputs, halves.nodes, outputs, halves.guards))
        emits = list(self.emits)
        if self.policy == "all":
            emits += [p for p in dict.fromkeys(saved) if p not in emits]
            history = -1
        else:
            emits.append(History((*saved,), self.policy))
            history = stop
        divided.emits = (*emits,)
        stage = LoopBackward(active, stop, cuttings, Reading(carries, (*saved,), history), given, live)
        divided.stages = (*self.stages, stage)
        return divided

    def activity(self, active: Sequence[bool]) -> tuple[bool, ...]:
        """Which inputs of the body depend on active operands, at some step."""
        flags = list(active)
        while True:
            reached = _reached(self.body.graph, flags)
            found = [
                flags[i] or (dtypes.is_inexact(v.dtype) and v.key in reached)
                for i, v in enumerate(self.body.graph.outputs[: self.carries])
            ]
            if found == flags[: self.carries]:
                return (*flags,)
            flags[: self.carries] = found

    def emitted(self, stacked: Sequence[int]) -> list[int]:
        """The outputs of the body whose stacks are these results; a history, which has no cotangent, is no stack."""
        return [e for i in stacked if isinstance(e := self.emits[i - self.first_emit], int)]

    def live(self, seeds: Sequence[int]) -> frozenset[int] | None:
        """Which outputs of the body have cotangents: what is stacked, and carries that reach such results at some step.

        What nothing reads gets no cotangent, not zeros: zero times an infinite slope would be NaN. None says all.
        """
        body = self.body.graph
        places = {i if i < self.carries else self.emits[i - self.first_emit] for i in seeds}
        reading = {body.outputs[p].key for p in places if isinstance(p, int)}
        if any(isinstance(p, History) for p in places):
            return None
        flags = [i in places for i in range(self.carries)]
        while True:
            wanted = reading | {v.key for v, flag in zip(body.outputs, flags, strict=False) if flag}
            keys = needed_for(body.nodes, wanted)[1]
            found = [flag or v.key in keys for v, flag in zip(body.inputs, flags, strict=False)]
            if found == flags:
                return frozenset(p for p in places if isinstance(p, int)).union(i for i, f in enumerate(flags) if f)
            flags = found

    def pruned(self, used: Sequence[bool], matters: Callable[[Node], bool]) -> tuple[Loop, Sequence[bool]]:
        """The loop without the emitted results that nothing uses, and which results are kept; for a program about to
        run. Steps give on as they are the carries that nothing needs.

        Args:
            used: which results are.
            matters: whether a node of a step has to run though nothing uses its results.
        """
        kept = [*[True] * self.first_emit, *used[self.first_emit :]]
        slim = self if all(kept) else self._emitting(kept[self.first_emit :])
        return slim._resting(used[: self.carries], matters), kept

    def _emitting(self, kept: Sequence[bool]) -> Loop:
        """The loop with these of the emitted results alone."""
        slim = copy.copy(self)
        slim.emits = (*[e for e, is_kept in zip(self.emits, kept, strict=True) if is_kept],)
        if not any(isinstance(e, History) for e in slim.emits):
            wanted = [*range(self.carries), *(e for e in slim.emits if isinstance(e, int))]
            body = self.body.graph
            slim.body = slim.thin = _with_outputs(self.body, [body.outputs[i] for i in wanted])
            slim.even = frozenset(place for place, e in enumerate(wanted) if e in self.even)
            slim.emits = (*range(self.carries, len(wanted)),)
            slim.own = len(slim.emits)
        return slim

    def _resting(self, used: Sequence[bool], matters: Callable[[Node], bool]) -> Loop:
        """The loop whose steps give on the carries that neither these results nor anything in a step needs."""
        given = self._given_out()
        needed = self._needed(used, matters, given)
        graph = self.body.graph
        found = [
            i for i, (x, y) in enumerate(zip(graph.inputs, graph.outputs[: self.carries], strict=False))
            if not needed[i] and i not in given and x.key != y.key and (x.shape, x.dtype) == (y.shape, y.dtype)
        ]  # fmt: skip
        if not found or self.varying:
            return self
        slim = copy.copy(self)
        slim.body = _giving_on(self.body, found)
        slim.thin = slim.body if self.thin is self.body else _giving_on(self.thin, found)
        return slim

    def _given_out(self) -> set[int]:
        """The outputs of the body that are stacked or kept in a history; a carry's may be one of them."""
        return {p for e in self.emits for p in (e.positions if isinstance(e, History) else (e,))}

    def _needed(self, used: Sequence[bool], matters: Callable[[Node], bool], given: set[int]) -> list[bool]:
        """Which carries are needed: in the end, by the condition, or in a step by what it emits or has to run."""
        body, flags = self.body.graph, list(used)
        if self.condition is not None:
            test = self.condition.graph
            asked = needed_for(test.nodes, [v.key for v in test.outputs], matters)[1]
            flags = [flag or v.key in asked for flag, v in zip(flags, test.inputs, strict=False)]
        read = {body.outputs[p].key for p in given}
        while True:
            wanted = read | {v.key for v, flag in zip(body.outputs, flags, strict=False) if flag}
            keys = needed_for(body.nodes, wanted, matters)[1]
            found = [flag or v.key in keys for v, flag in zip(body.inputs, flags, strict=False)]
            if found == flags:
                return flags
            flags = found

    def __repr__(self) -> str:
        return f"<{'scan' if self.is_counted else 'while'}, {self.carries} carries>"


def _with_outputs(program: Program, outputs: list[Value]) -> Program:
    graph = program.graph
    return Program(Graph.of(graph.name, graph.inputs, graph.nodes, outputs, graph.guards))


def _giving_on(program: Program, places: Sequence[int]) -> Program:
    """A step that gives on as they are the carries at these places."""
    graph = program.graph
    return _with_outputs(program, [graph.inputs[i] if i in places else v for i, v in enumerate(graph.outputs)])


def _reached(graph: Graph, active: Sequence[bool]) -> set[int]:
    """The values that depend on active inputs by a path that can carry a gradient."""
    reached = {v.key for v, flag in zip(graph.inputs, active, strict=True) if flag}
    for node in graph.nodes:
        if node.op.kind != "stop" and any(v.key in reached for v in node.inputs):
            reached.update(v.key for v in node.outputs if dtypes.is_inexact(v.dtype))
    return reached


# -- the op -----------------------------------------------------------------------------------------------------------


def run_loop(operands: Sequence[Tensor], spec: Loop) -> tuple[Tensor, ...]:
    """The carries at the end and the user's stacked results; open tapes find their backward passes prepared."""
    outs = _run(operands, spec)
    return (*outs[: spec.carries], *outs[spec.first_emit :])


def _run(operands: Sequence[Tensor], spec: Loop) -> tuple[Tensor, ...]:
    """The results of a loop but for those that backward passes have asked for."""
    outs = apply(loop, tuple(operands), (prepared(spec, operands[spec.is_counted :]),))
    return outs[: spec.first_emit + spec.own]


def _types(operands: tuple[Any, ...], spec: Loop) -> tuple[TensorType, ...]:
    return spec.types(operands)


def _check(operands: tuple[Any, ...], spec: Loop) -> None:
    """Steps take what there is and give carries of the types that they took."""
    if not isinstance(spec, Loop):
        raise ValueError("loop: wanted a loop")
    if spec.is_counted:
        if not operands or tuple(operands[0].shape) or not dtypes.is_integer(operands[0].dtype):
            raise ValueError("loop: the number of steps is not one integer")
        operands = operands[1:]
    check_steps("loop", operands, spec)


def check_steps(name: str, operands: Sequence[Any], spec: Loop) -> None:
    """Raises unless the programs of a loop take its carries, slices of its xs and its invariants."""
    first = spec.invariants_from()
    xs = operands[spec.carries : first]
    if len(operands) < first or any(not x.shape for x in xs):
        raise ValueError(f"{name}: there are fewer operands than the loop says, or xs without rows")
    for x in xs[1:]:
        require_same_extent(name, x.shape[0], xs[0].shape[0], {})
    if xs and spec.length is not None:
        require_equal_extents(name, "the number of steps", spec.length, xs[0].shape[0])
    given = [tensor_type(x.shape[1:], x.dtype) if spec.carries <= i < first else x for i, x in enumerate(operands)]
    for program in (spec.body, spec.thin):
        graph = program.graph
        sizes = _sizes_of_invariants(spec, require_inputs(name, graph, given))
        for value, start in zip(graph.outputs, graph.inputs[: spec.carries], strict=False):
            _require_carry(name, graph, value, start, sizes)
    thin, full = spec.thin.graph.outputs, spec.body.graph.outputs
    if any(x.dtype != y.dtype or len(x.shape) != len(y.shape) for x, y in zip(thin, full, strict=False)):
        raise ValueError(f"{name}: a step gives other results where it saves nothing")
    if spec.condition is not None:
        (holds,) = spec.condition.graph.outputs
        if tuple(holds.shape) or holds.dtype != dtypes.bool_:
            raise ValueError(f"{name}: the condition gives {holds.dtype.name} of shape {holds.shape}, wanted one bool")
        if len(given) - spec.xs != len(spec.condition.graph.inputs):
            raise ValueError(f"{name}: the condition takes another number of operands")
        require_inputs(name, spec.condition.graph, [*given[: spec.carries], *given[first:]])


def _sizes_of_invariants(spec: Loop, sizes: dict[Atom, DimLike]) -> dict[Atom, DimLike]:
    return {atom: size for atom, size in sizes.items() if atom not in spec.varying}


def _require_carry(name: str, graph: Graph, value: Any, start: Any, sizes: dict[Atom, DimLike]) -> None:
    """A carry keeps its type, but for the extents that may vary."""
    if value.dtype != start.dtype or len(value.shape) != len(start.shape):
        raise ValueError(f"{name}: {graph.name} gives a carry of another type than it took")
    for after, before in zip(value.shape, start.shape, strict=True):
        if not isinstance(before, Dim):
            require_same_extent(name, after, before, sizes)
        elif before.atoms <= sizes.keys():
            require_same_extent(name, after, before.substitute(sizes), sizes)


class BackwardStep(NamedTuple):
    """The program of one step back, and what its inputs are.

    Inputs: cotangents of the active carries, sums for invariants, the saved values, the slices of `xs`, the slices of
    the cotangents of stacked results, the invariants. Outputs: the cotangents before the step, the sums, the
    cotangents of the slices of `slices`.
    """

    program: Program
    carries: tuple[int, ...]
    sums: tuple[int, ...]  # positions of invariants among the body's inputs
    xs: tuple[int, ...]  # positions of the consumed arrays that are read
    stacked: tuple[int, ...]  # positions among the results of the stacks that have cotangents
    invariants: tuple[int, ...]
    slices: tuple[int, ...]  # positions of the consumed arrays that get a cotangent
    masked: tuple[bool, ...]  # for each cotangent of a carry, then of a stack, whether it may hold structural zeros


def _halves_for(spec: Loop, stage: LoopBackward, stacked: Sequence[int], masked: Sequence[bool]) -> Halves:
    """The halves of the body for cotangents that may hold structural zeros from outside or from a step behind.

    Args:
        spec: the loop.
        stage: the backward pass.
        stacked: which results that are stacks have cotangents.
        masked: for each cotangent of a carry, then of a stack, whether it may hold some from outside.
    """
    carries = stage.reading.carries
    emitted = spec.emitted(stacked)
    marked = {p for p, flag in zip([*carries, *emitted], masked, strict=True) if flag}
    # what neither goes to a carry nor to a stack has zeros for a cotangent
    marked.update({*stage.seeded}.difference(carries, emitted))
    while True:
        halves = stage.cuttings.of(marked)
        more = {i for i in carries if halves.masked[i] or not isinstance(halves.results[i], int)}
        if more <= marked:
            return halves
        marked |= more


def step_back(
    spec: Loop, stage: LoopBackward, stacked: tuple[int, ...], masked: Sequence[bool], wanted: Sequence[bool]
) -> tuple[BackwardStep, tuple[bool, ...]]:
    """The program of one step back, and for each input of the body whether its cotangent may hold structural zeros.

    Args:
        spec: the loop.
        stage: the backward pass.
        stacked: which results that are stacks have cotangents.
        masked: for each cotangent of a carry, then of a stack, whether it may hold structural zeros.
        wanted: which inputs of the body (as operands) want a cotangent.
    """
    halves = _halves_for(spec, stage, stacked, masked)
    emitted = spec.emitted(stacked)
    first = spec.invariants_from()
    made = [i for i, r in enumerate(halves.results) if isinstance(r, int) and i < len(wanted) and wanted[i]]
    sums = (*[i for i in made if i >= first],)
    slices = (*[i for i in made if spec.carries <= i < first],)
    xs = (*[i for i in halves.given if spec.carries <= i < first],)
    invariants = (*[i for i in halves.given if i >= first],)
    types = [type_of(v) for v in halves.inputs]
    outputs = [type_of(v) for v in halves.outputs]
    residuals = [type_of(v) for v in halves.residuals]
    graph = Graph(halves.backward.name)
    with building(graph), Origins() as origins:
        # a carry whose shape varies has another one behind the step than before it
        cotangents = _inputs(graph, [outputs[i] for i in stage.reading.carries])
        totals = _inputs(graph, [types[i] for i in sums])
        saved = _inputs(graph, [*(types[i] for i in stage.given), *residuals])
        sliced = _inputs(graph, [types[i] for i in xs])
        of_stacks = _inputs(graph, [outputs[p] for p in emitted])
        fixed = _inputs(graph, [types[i] for i in invariants])
        given = [*saved[: len(stage.given)], *sliced, *fixed]
        values = dict(zip([*stage.given, *xs, *invariants], given, strict=True))
        terms = [*zip(stage.reading.carries, cotangents, strict=True), *zip(emitted, of_stacks, strict=True)]
        seeds: list[Tensor] = []
        for position in halves.seeded:
            origins.at(spec.body.graph.site_of(spec.body.graph.outputs[position].key))
            seeds.append(_seed(position, terms, outputs[position]))
        origins.at(None)
        found = replay(halves.backward, [*(values[i] for i in halves.given), *saved[len(stage.given) :], *seeds])
        carried = [_made(found, halves.results[i], types[i]) for i in stage.reading.carries]
        added: list[Tensor] = []
        for i, total in zip(sums, totals, strict=True):
            term = found[halves.results[i]]
            origins.of((term._key,))
            added.append(add(total, term))
        graph.finish([*carried, *added, *(found[halves.results[i]] for i in slices)])
    carries = stage.reading.carries
    step = BackwardStep(Program(graph), carries, sums, xs, stacked, invariants, slices, (*masked,))
    return step, halves.masked


def _inputs(graph: Graph, types: Sequence[TensorType]) -> list[Tensor]:
    return [graph.add_input(t[0], t[1]) for t in types]


def _seed(position: int, terms: Sequence[tuple[int, Tensor]], type_: TensorType) -> Tensor:
    """The cotangent of an output of the body: of the carry that it becomes, of the stack that it goes to, or both."""
    total = None
    for place, term in terms:
        if place == position:
            total = term if total is None else add(total, term)
    return zeros_of(type_) if total is None else total


def _made(found: Sequence[Tensor], place: int | None, type_: TensorType) -> Tensor:
    return found[place] if isinstance(place, int) else zeros_of(type_)


def _pull_back(
    ct: tuple[Any, ...], needed: tuple[bool, ...], operands: tuple[Tensor, ...], outs: tuple[Tensor, ...],
    masked: Sequence[bool], spec: Loop,
) -> Any:  # fmt: skip
    offset = int(spec.is_counted)
    inputs = operands[offset:]
    wanted = (*[flag and dtypes.is_inexact(x.dtype) for flag, x in zip(needed[offset:], inputs, strict=True)],)
    seeds = [i for i, c in enumerate(ct) if isinstance(c, Tensor)]
    live = spec.live(seeds)
    stages = sorted((s for s in spec.stages if s.reads(live)), key=lambda s: len(s.reading.carries))
    stage = serving(stages, wanted, max(seeds))
    if stage is None or (is_growing(outs[0]) and not stage.reads_only(live)):
        spec, outs = extended(outs, wanted, spec, live)
        stage = spec.stages[-1]
    stacked = (*[i for i in seeds if i >= spec.first_emit],)
    flags = [masked[i] or not isinstance(ct[i], Tensor) for i in (*stage.reading.carries, *stacked)]
    step, zeroed = step_back(spec, stage, stacked, flags, wanted)
    finals = [ct[i] if isinstance(ct[i], Tensor) else zeros_of(type_of(outs[i])) for i in stage.reading.carries]
    steps = operands[0] if spec.is_counted else outs[spec.carries]
    if stage.reading.history < 0:
        found = _loop_of_steps(spec, stage, step, steps, inputs, outs, finals, [ct[i] for i in stacked])
    else:
        found = BACK[0](spec, stage, step, outs[stage.reading.history], steps, inputs, finals, [ct[i] for i in stacked])
    results = cotangents_of(step, zeroed, found, wanted)
    return ((None,) * offset + results,)


# `loop_back.py` stands above this file and puts its backward pass through a history here
BACK: list[Callable[..., tuple[Tensor, ...]]] = []


def cotangents_of(
    step: BackwardStep, masked: Sequence[bool], found: Sequence[Tensor], wanted: Sequence[bool]
) -> tuple[Any, ...]:
    """For each input of the loop its cotangent: loop variables and invariants always count as connected."""
    results: list[Any] = [ZERO if flag else None for flag in wanted]
    for place, gradient in zip([*step.carries, *step.sums, *step.slices], found, strict=True):
        if wanted[place]:
            # after no step at all the cotangent of an invariant is a zero that no product has made
            is_masked = masked[place] or place in step.sums
            results[place] = Masked(gradient) if is_masked else gradient
    return (*results,)


def _loop_of_steps(
    spec: Loop, stage: LoopBackward, step: BackwardStep, steps: Tensor, inputs: Sequence[Tensor], outs:
    Sequence[Tensor], finals: Sequence[Tensor], of_stacks: Sequence[Tensor],
) -> tuple[Tensor, ...]:  # fmt: skip
    """The backward pass as a counted loop over stacks."""
    stacks = [outs[spec.first_emit + spec.emits.index(p)] for p in stage.reading.saved]
    backward = Loop(
        None, step.program, carries=len(step.carries) + len(step.sums),
        xs=len(stacks) + len(step.xs) + len(of_stacks), is_reversed=not spec.is_reversed, policy="all",
        length=spec.told_steps(inputs), varying=[*spec.varying],
    )  # fmt: skip
    totals = [zeros_of(type_of(inputs[i])) for i in step.sums]
    consumed = [*stacks, *(inputs[i] for i in step.xs), *of_stacks]
    return run_loop([steps, *finals, *totals, *consumed, *(inputs[i] for i in step.invariants)], backward)


def _push(
    operands: tuple[Tensor, ...], operands_dot: tuple[Any, ...], masked: Sequence[bool], spec: Loop
) -> tuple[Any, ...]:  # fmt: skip
    """The results' tangents: one loop that carries primals and tangents together and keeps no history."""
    offset = int(spec.is_counted)
    inputs, dots = operands[offset:], operands_dot[offset:]
    flags = spec.activity([isinstance(d, Tensor) for d in dots])
    pushed, places, has_zeros = _pushed_body(spec, flags, dots, masked[offset:])
    first = spec.invariants_from()
    groups = [range(spec.carries), range(spec.carries, first), range(first, len(inputs))]
    order = [(i, is_dot) for group in groups for is_dot in (False, True) for i in group if flags[i] or not is_dot]
    emits = [e for e in spec.emits if isinstance(e, int) and dtypes.is_inexact(spec.body.graph.outputs[e].dtype)]
    moving = [i for i in groups[0] if flags[i]]
    types = [type_of(v) for v in spec.body.graph.outputs]
    graph = Graph(pushed.graph.name)
    with building(graph):
        values = {key: graph.add_input(*type_of(spec.body.graph.inputs[key[0]])) for key in order}
        primals = [values[i, False] for i in range(len(inputs))]
        results = replay(spec.body.graph, primals)
        found = replay(pushed.graph, [*primals, *(values[i, True] for i, flag in enumerate(flags) if flag)])
        tangents = [_made(found, place, t) for place, t in zip(places, types, strict=True)]
        graph.finish([*results[: spec.carries], *(tangents[i] for i in moving), *(tangents[e] for e in emits)])
    condition = None if spec.condition is None else _with_tangents(spec.condition, spec, flags, moving)
    length = spec.steps(inputs) if emits else spec.told_steps(inputs)
    both = Loop(
        condition, Program(graph), carries=spec.carries + len(moving), xs=sum(flags[i] + 1 for i in groups[1]),
        is_reversed=spec.is_reversed, policy=spec.policy, length=length, varying=[*spec.varying], most=spec.most,
    )  # fmt: skip
    filled = [d if isinstance(d, Tensor) else zeros_of(type_of(x)) for x, d in zip(inputs, dots, strict=True)]
    started = [filled[i] if is_dot else inputs[i] for i, is_dot in order]
    outs = run_loop([*operands[:offset], *started], both)
    finals = {
        i: marked(x, has_zeros[i] or not isinstance(dots[i], Tensor))
        for i, x in zip(moving, outs[spec.carries : both.carries], strict=True)
    }
    stacks = {e: marked(x, has_zeros[e]) for e, x in zip(emits, outs[both.carries :], strict=True)}
    after = [stacks.get(e) if isinstance(e, int) else None for e in spec.emits]
    between = [] if spec.is_counted else [None]
    # what a loop is given always counts as connected
    return (*[finals.get(i, ZERO) for i in range(spec.carries)], *between, *after)


def _pushed_body(spec: Loop, flags: Sequence[bool], dots: Sequence[Any], masked: Sequence[bool]) -> Pushed:
    """The body's forward derivative; the tangent of a loop variable may hold structural zeros if it does so at the
    start or after any step."""
    is_masked = [
        flag and (m or not isinstance(d, Tensor)) for flag, d, m in zip(flags, dots, masked, strict=True)
    ]  # a loop variable that gets its tangent inside starts with zeros
    while True:
        found = spec.body.jvp((*flags,), is_masked)
        more = [
            m or (i < spec.carries and flags[i] and (found.masked[i] or not isinstance(found.places[i], int)))
            for i, m in enumerate(is_masked)
        ]
        if more == is_masked:
            return found
        is_masked = more


def _with_tangents(condition: Program, spec: Loop, flags: Sequence[bool], moving: Sequence[int]) -> Program:
    """A condition that takes no notice of tangents among the carries and the invariants."""
    source = condition.graph
    body = spec.body.graph
    graph = Graph(source.name)
    with building(graph):
        carries = _inputs(graph, [*map(type_of, source.inputs[: spec.carries])])
        _inputs(graph, [type_of(body.inputs[i]) for i in moving])
        invariants = _inputs(graph, [*map(type_of, source.inputs[spec.carries :])])
        first = spec.invariants_from()
        _inputs(graph, [type_of(v) for v, flag in zip(body.inputs[first:], flags[first:], strict=True) if flag])
        graph.finish(replay(source, [*carries, *invariants]))
    return Program(graph)


# -- many loops at once -----------------------------------------------------------------------------------------------


def run_in_lanes(op: object, operands: tuple[Tensor, ...], batched: tuple[bool, ...], attrs: tuple[Any, ...]) -> Any:
    """One loop for all lanes, which freezes those that have ended where they do not all end together."""
    (spec,) = attrs
    size = batch_size(operands, batched)
    offset = int(spec.is_counted)
    flags = spread(_visible(spec), batched[offset:], spec.carries)
    if batched[0] if spec.is_counted else _parts(spec, flags):
        outs = _parting(spec, operands, batched, size)
    else:
        outs = _together(spec, operands, batched, flags, size)
    return _as_results(spec, outs)


def _visible(spec: Loop) -> Graph:
    """The body with what a step emits for all to see: what it keeps for a history is left out."""
    source = spec.body.graph
    graph = Graph(source.name)
    graph.inputs, graph.nodes, graph.guards = source.inputs, source.nodes, source.guards
    emitted = [source.outputs[e] for e in spec.emits if isinstance(e, int)]
    graph.outputs, graph.is_frozen = [*source.outputs[: spec.carries], *emitted], True
    return graph


def _parts(spec: Loop, flags: Sequence[bool]) -> bool:
    """Whether the lanes of a conditional loop may end apart."""
    assert spec.condition is not None
    graph = spec.condition.graph
    found = [v for v, flag in zip(graph.inputs, flags, strict=True) if flag]
    return graph.outputs[0].key in reached(graph.nodes, found)


def _together(
    spec: Loop, operands: Sequence[Tensor], batched: Sequence[bool], flags: Sequence[bool], size: DimLike
) -> list[Tensor]:  # fmt: skip
    """The carries at the end, the steps and the stacks, where all lanes take the same number of steps."""
    offset = int(spec.is_counted)
    body = _visible(spec)
    wanted = [*flags[: spec.carries], *[True] * (len(body.outputs) - spec.carries)]
    inside = size_inside(size)
    condition = spec.condition and Program(batched_graph(spec.condition.graph, flags, (False,), inside))
    many = Loop(
        condition, Program(batched_graph(body, flags, wanted, inside)), carries=spec.carries, xs=spec.xs,
        is_reversed=spec.is_reversed, policy=spec.policy, length=spec.length, varying=[*spec.varying],
        most=spec.most,
    )  # fmt: skip
    many.even = _even_from(spec, spec.carries)
    started = _with_lanes(operands[offset:], batched[offset:], flags, spec, size)
    outs = [*_run([*operands[:offset], *started], many)]
    return [
        x if i >= many.first_emit or (i < spec.carries and flags[i]) else repeat(x, size) for i, x in enumerate(outs)
    ]


def _even_from(spec: Loop, first: int) -> frozenset[int]:
    """As `Loop.even`, where the results that are stacked are outputs from `first` on."""
    emitted = [e for e in spec.emits if isinstance(e, int)]
    return frozenset(place for place, e in enumerate(emitted, first) if e in spec.even)


def _with_lanes(
    inputs: Sequence[Tensor], have: Sequence[bool], want: Sequence[bool], spec: Loop, size: DimLike
) -> list[Tensor]:  # fmt: skip
    """The inputs of a loop of many lanes: carries that become batched are so from the start, slices come first."""
    first = spec.invariants_from()
    wide = [repeat(x, size) if w and not h else x for x, h, w in zip(inputs, have, want, strict=True)]
    return [swapped(x) if spec.carries <= i < first and want[i] else x for i, x in enumerate(wide)]


def _parting(
    spec: Loop, operands: Sequence[Tensor], batched: Sequence[bool], size: DimLike
) -> list[Tensor]:  # fmt: skip
    """The carries at the end, the steps and the stacks, where each lane ends by itself.

    The loop runs until the last lane ends. It carries, beside the lanes' carries, which lanes are live and how many
    steps each has taken; a counted loop, which slice is next.
    """
    if spec.varying:
        raise NotImplementedError(
            at_user_line("a loop whose variables change their shape cannot be batched where the lanes end apart")
        )
    offset = int(spec.is_counted)
    have = batched[offset:]
    first = spec.invariants_from()
    want = [*[True] * spec.carries, *have[spec.carries :]]
    started = _with_lanes(operands[offset:], have, want, spec, size)
    carries, slices, invariants = started[: spec.carries], started[spec.carries : first], started[first:]
    inside = size_inside(size)
    body = _frozen_body(spec, want, inside)
    if spec.condition is not None:
        live = lanes_of(spec.condition.graph, [*carries, *invariants], want, (True,), size)[0]
        trips = full(shape=(size,), value=0, dtype=dtypes.int64)
        many = Loop(
            _some_live(spec, want, inside), body, carries=spec.carries + 2, policy=spec.policy, most=spec.most
        )  # fmt: skip
        outs = _run([*carries, live, trips, *invariants], many)
        return [*outs[: spec.carries], outs[spec.carries + 1], *outs[many.first_emit :]]
    counts = operands[0]
    none = full(shape=(1,), value=0, dtype=dtypes.int64)
    most = reduce_max(concatenate(convert(counts, dtype=dtypes.int64), none, axis=0), axes=(0,))
    one = full(shape=(), value=1, dtype=dtypes.int64)
    start = sub(most, one) if spec.is_reversed else sub(most, most)
    many = Loop(
        None, body, carries=spec.carries + 1, xs=spec.xs, is_reversed=spec.is_reversed, policy=spec.policy,
        length=spec.length,
    )  # fmt: skip
    outs = _run([most, *carries, start, *slices, *invariants, counts], many)
    return [*outs[: spec.carries], *outs[many.first_emit :]]


def _some_live(spec: Loop, want: Sequence[bool], size: DimLike) -> Program:
    """The condition of a loop of lanes that end apart."""
    assert spec.condition is not None
    graph = Graph(spec.condition.graph.name)
    source = spec.body.graph.inputs
    with building(graph):
        add_lanes(graph, source[: spec.carries], want[: spec.carries], size)
        live = graph.add_input((size,), dtypes.bool_)
        graph.add_input((size,), dtypes.int64)
        add_lanes(graph, source[spec.carries :], want[spec.carries :], size)
        graph.finish([some(live)])
    return Program(graph)


def _frozen_body(spec: Loop, want: Sequence[bool], size: DimLike) -> Program:
    """A step of lanes that end apart: those that have ended keep their carries, and emit zeros."""
    source, width, first = _visible(spec), spec.carries, spec.invariants_from()
    graph = Graph(source.name)
    is_harmless_body = is_harmless(source)
    with building(graph):
        carries = add_lanes(graph, source.inputs[:width], want[:width], size)
        if spec.condition is not None:
            live, trips = graph.add_input((size,), dtypes.bool_), graph.add_input((size,), dtypes.int64)
        else:
            place = graph.add_input((), dtypes.int64)
        rest = add_lanes(graph, source.inputs[width:], want[width:], size)
        if spec.condition is None:
            counts = graph.add_input((size,), dtypes.int64)
            live = lt(broadcast_to(place, shape=(size,)), counts)
        given = [*carries, *rest] if is_harmless_body else guarded(live, [*carries, *rest], want)
        # a warning could come from a lane that has ended
        with quietly() if is_harmless_body else nullcontext():
            outs = lanes_of(source, given, want, (True,) * len(source.outputs), size)
        after = [where_live(live, x, y) for x, y in zip(outs[:width], carries, strict=True)]
        emitted = [zeroed(live, x) for x in outs[width:]]
        if spec.condition is None:
            one = full(shape=(), value=1, dtype=dtypes.int64)
            graph.finish([*after, sub(place, one) if spec.is_reversed else add(place, one), *emitted])
        else:
            invariants = rest[first - width :]
            holds = lanes_of(spec.condition.graph, [*after, *invariants], want, (True,), size)[0]
            steps = add(trips, convert(live, dtype=dtypes.int64))
            graph.finish([*after, both(live, holds), steps, *emitted])
    return Program(graph)


def _as_results(spec: Loop, outs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """What stands in the results' places; a history is not kept for lanes: their backward pass makes one of its own."""
    stacks = iter(outs[spec.first_emit :])
    emitted = [
        absent(shape=(), dtype=HISTORY) if isinstance(e, History) else _lanes_first(next(stacks)) for e in spec.emits
    ]
    return (*outs[: spec.first_emit], *emitted)


def _lanes_first(stack: Tensor) -> Tensor:
    return stack if stack.dtype == HISTORY else swapped(stack)


loop = general(
    "loop", "*operands", attrs="spec", outs="*outs", vjp=_pull_back, jvp=_push, type=_types, check=_check,
    holds="a loop",
    batch=run_in_lanes,
    takes_missing=True, dtypes="any", can_raise=True, doc="a step run until a condition fails, or a number of times",
)  # fmt: skip
loop.prepare = preparing(lambda operands, spec: operands[spec.is_counted :])
