"""`call`: a traced program as one op, differentiated as a whole.

`split` cuts the joint graph of a program and its reverse sweep where the sweep reads the program: the forward half
returns residuals beside its results, the backward half starts from them. A program that is called under k recorders
is split k times, so that the sweep of an outer one finds residuals for what the inner one added.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._core import dtypes, forking, verifier
from .._core.analysis import atoms_named, atoms_told, holders, needed_for, values_with_own_dims
from .._core.apply import apply
from .._core.dims import Dim, map_attribute
from .._core.graph import Graph, Node, symbol
from .._core.op import ZERO, Op, general
from .._core.printer import held_by
from .._core.state import STATE, building, recording
from .._core.tensor import Cut, Tensor, Value
from .._core.types import TensorType, tensor_type, type_of
from .._prims.structural import zeros_of
from .._transforms.batch import batch, batched_graph
from .._transforms.forward import Tangents
from .._transforms.pushing import Masked
from .._transforms.replay import bind_dims, replay
from .._transforms.row_cotangents import Rows
from .._transforms.tape import cut_reason
from .executables import Executables
from .joint_graph import (
    BackwardPass,
    Joint,
    RowsAt,
    extended,
    joint_of,
    places_among,
    prepared,
    preparing,
    serving,
)
from .kept_factors import with_kept_factors
from .operand_checks import require_inputs

BATCHES = 16  # sizes and choices of batched inputs for which a program keeps its batched form


class Pushed(NamedTuple):
    """The forward derivative of a program.

    Attributes:
        program: from the inputs and the tangents of the active ones to tangents of results.
        places: for each result where its tangent is among the program's, or ZERO, or None.
        masked: for each result whether its tangent may hold structural zeros.
    """

    program: Program
    places: list[Any]
    masked: list[bool]


class Program:
    """A closed graph (all it needs are inputs), what engines made of it, and its derivatives so far.

    Attributes:
        graph: inputs to outputs; the first `count` outputs are the program's own, the rest residuals.
        source: the graph as it was traced, before any split: its nodes know the user's lines.
        stages: the residual outputs of each split, innermost first, with the program that pulls back from them.
        executables: what engines made of it (`executables.py`).

    One that `is_lowered` is made for machine code alone, which does not go by what type rules say.
    """

    def __init__(
        self, graph: Graph, count: int | None = None, stages: tuple[CallBackward, ...] = (),
        source: Graph | None = None, *, is_lowered: bool = False,
    ) -> None:  # fmt: skip
        self.graph = graph
        self.source = graph if source is None else source
        self.count = len(graph.outputs) if count is None else count
        self.stages = stages
        self.executables: Executables = {}
        self.lock = forking.long_lock()
        self._decomposes: bool | None = None
        self._splits: dict[tuple[bool, ...], Program] = {}
        self._jvps: dict[tuple[tuple[bool, ...], tuple[bool, ...]], Pushed] = {}
        self._jets: dict[Any, Any] = {}
        self._batches: OrderedDict[Any, Program] = OrderedDict()
        if verifier.VERIFIES_PROGRAMS and not is_lowered:
            verifier.verify(graph, is_inner=True)

    def batched(self, flags: tuple[bool, ...], size: int) -> Program:
        """The program for a batch of the inputs flagged; all results have the batch axis."""
        with self.lock:
            found = self._batches.get((flags, size))
            if found is None:
                everything = (True,) * len(self.graph.outputs)
                found = Program(batched_graph(self.graph, flags, everything, size))
                self._batches[flags, size] = found
                if len(self._batches) > BATCHES:
                    self._batches.popitem(last=False)
            return found

    @property
    def decomposes(self) -> bool:
        """Whether it has eigenvalues or singular values in it."""
        if self._decomposes is None:
            self._decomposes = _decomposes(self.source)
        return self._decomposes

    def split(self, active: tuple[bool, ...]) -> Program:
        """The program that also returns what a reverse sweep to the active inputs reads."""
        with self.lock:
            if active not in self._splits:
                self._splits[active] = _split(self, active)
            return self._splits[active]

    def jvp(self, active: tuple[bool, ...], masked: Sequence[bool] = ()) -> Pushed:
        """The program from inputs and the tangents of active ones to result tangents.

        Args:
            active: for each input whether it has a tangent.
            masked: for each input whether that may hold structural zeros (by default none does).
        """
        flags = masked or (False,) * len(active)
        key = (active, (*[is_active and flag for is_active, flag in zip(active, flags, strict=True)],))
        with self.lock:
            if key not in self._jvps:
                self._jvps[key] = _forward(self, *key)
            return self._jvps[key]

    def jet(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """The program of the series of its results, as `make` makes it for what stands in the key."""
        with self.lock:
            if key not in self._jets:
                self._jets[key] = make()
            return self._jets[key]

    def own_dims(self) -> list[Dim]:
        """The dimensions that nothing but its results tells."""
        told = atoms_told(self.graph.inputs)
        return [d for v in self.graph.outputs for d in v.shape if isinstance(d, Dim) and not d.atoms <= told]

    def anew(self) -> Program:
        """The same program: what it gives is told by its own graph."""
        return self

    def __repr__(self) -> str:
        return f"<program {self.graph.name}>"


class CallBackward(BackwardPass):
    """One split: where its residuals lie among the outputs, and how to pull cotangents back from them."""

    def __init__(
        self, name: str, active: tuple[bool, ...], joint: Joint, residuals: Sequence[Value], stop: int
    ) -> None:  # fmt: skip
        super().__init__(active, stop, joint.seeded)
        inputs = [*residuals, *joint.seeds]
        guards = joint.back_guards(inputs, joint.backward)
        self.backward = Program(Graph.of(f"{name}.backward", inputs, joint.backward, joint.gradients, guards))
        self.places = places_among(joint.inputs, joint.forward, residuals)
        self.slots = (*range(stop, stop + len(residuals)),)  # where the residuals lie
        self.results = joint.results  # for each input: a position among the backward outputs, RowsAt, ZERO or None
        self.masked = joint.masked  # for each input whether its cotangent may hold structural zeros
        self._whole = Graph.of(name, joint.inputs, joint.forward, joint.outputs, joint.guards)
        self._others: dict[tuple[frozenset[int], frozenset[int]], CallBackward] = {}

    def reading(self, unread: frozenset[int], masked: frozenset[int]) -> CallBackward:
        """The pass from results of which some have no cotangent, in whose place zeros could meet infinities, and from
        cotangents of which some may hold structural zeros.

        It is that of the forward half as it stands, not of the program anew: what loops in it keep lies where this pass
        found it, whatever a pass from fewer results would have had them keep there.
        """
        if not unread and not masked:
            return self
        if (unread, masked) not in self._others:
            whole = self._whole
            joint = joint_of(whole, self.active, True, unread, masked)
            other = CallBackward(whole.name, self.active, joint, _read_across(joint), self.stop)
            slots = dict(zip(self.places, self.slots, strict=True))
            is_same = [node.op for node in joint.forward] == [node.op for node in whole.nodes]
            if (
                not is_same or not {*other.places} <= slots.keys()
            ):  # its nodes stand elsewhere, or it reads what was not kept
                other = self
            else:
                other.slots = (*[slots[place] for place in other.places],)
                both = zip(self.results, other.results, strict=True)
                other.results = (*[ZERO if r is None and whole is not None else r for whole, r in both],)
            self._others[unread, masked] = other
        return self._others[unread, masked]


def closed(graph: Graph) -> Graph:
    """A graph whose captures and Variable reads have become inputs."""
    return Graph.of(graph.name, graph.free_values, graph.nodes, [*graph.outputs], graph.guards)


def call_program(program: Program, operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The results of a program; under recorders, one node that they can pull back or push through.

    Second derivatives at equal eigenvalues are limits only of the whole, not of two halves with the vectors between
    them: under two recorders, a program that decomposes matrices is run op by op.
    """
    if STATE.recorders and program.decomposes and _count_of_followers(operands) > 1:
        return (*replay(program.source, operands),)
    outs = apply(call, tuple(operands), (prepared(program, operands),))
    return tuple(outs[: program.count])


def _count_of_followers(operands: Sequence[Tensor]) -> int:
    """How many recorders follow an operand."""
    return sum(any(map(r.tracks, (x._key for x in operands))) for r in STATE.recorders if not r.is_watch)


def _decomposes(graph: Graph) -> bool:
    """Whether a graph has eigenvalues or singular values in it, in its branches and loops, too."""
    return any(
        node.op.spectrum is not None or any(program.decomposes for program in programs_within(node))
        for node in graph.nodes
    )


def programs_within(node: Node) -> list[Program]:
    """The programs that a node calls or holds."""
    return [*(attr for attr in node.attrs if isinstance(attr, Program)), *held_by(node)]


def has_effect(graph: Graph) -> bool:
    """Whether a run of a graph, or of a program in it, is seen by anybody who does not look at its results."""
    return any(n.op.has_effect or any(has_effect(p.graph) for p in programs_within(n)) for n in graph.nodes)


def _split(program: Program, active: tuple[bool, ...]) -> Program:
    name = program.graph.name
    joint = joint_of(with_kept_factors(program.graph, active), active, sparse=True)
    residuals = _read_across(joint)
    stage = CallBackward(name, active, joint, residuals, len(joint.outputs))
    forward = Graph.of(f"{name}.forward", joint.inputs, joint.forward, [*joint.outputs, *residuals], joint.guards)
    return Program(forward, program.count, (*program.stages, stage), program.source)


def cut_inside(program: Program, operand: int) -> Cut | None:
    """What cuts the path from an operand of a program to its results, for an error message."""
    graph = program.source
    needed = needed_for(graph.nodes, [v.key for v in graph.outputs])[1]
    reached = {graph.inputs[operand].key}
    for node in graph.nodes:
        key = next((v.key for v in node.inputs if v.key in reached), None)
        if key is None or not any(v.key in needed for v in node.outputs):
            continue
        reason = cut_reason(node.op, node.outputs)
        if reason:
            return Cut(node.op.name, reason, node.site, key)
        reached.update(v.key for v in node.outputs)
        for place, value in enumerate(node.inputs):
            if value.key in reached:
                inner = [cut_inside(p, i) for p, i in inner_programs(node.op, node.attrs, place)]
                if inner and None not in inner:
                    return inner[0]
    return None


def leads_through(program: Program, operand: int) -> bool:
    """Whether a path that can carry a gradient leads from an operand of a program to its results."""
    graph = program.source
    reached = {graph.inputs[operand].key}
    for node in graph.nodes:
        places = [i for i, v in enumerate(node.inputs) if v.key in reached]
        if not places or cut_reason(node.op, node.outputs):
            continue
        inner = [pair for i in places for pair in inner_programs(node.op, node.attrs, i)]
        if node.op.facts.holds == "a loop" or not inner or any(leads_through(p, i) for p, i in inner):
            reached.update(v.key for v in node.outputs if dtypes.is_inexact(v.dtype))
    return any(v.key in reached for v in graph.outputs[: program.count])


def inner_programs(op: Op, attrs: Sequence[Any], place: int) -> list[tuple[Program, int]]:
    """The programs that an op runs (as they were traced) and take an operand of it, each with its position there."""
    if op.facts.holds == "a program":
        return [(attrs[0], place)]
    if op.facts.holds == "branches":
        return [(program, place - 1) for program in attrs[0].programs] if place else []
    if op.facts.holds == "a loop":
        place -= attrs[0].is_counted
        return [(attrs[0].thin, place)] if place >= 0 else []
    return []


def _read_across(joint: Joint) -> list[Value]:
    """The values of the forward half that the backward half reads, in the order of their definition."""
    needed = {v.key for v in joint.gradients} | {v.key for node in joint.backward for v in node.inputs}
    defined = [*joint.inputs, *(v for node in joint.forward for v in node.outputs)]
    residuals = [v for v in defined if v.key in needed]
    # and those that it needs only for the size of an unknown dimension
    missing = atoms_named(joint.backward) - atoms_told([*residuals, *values_with_own_dims(joint.backward)])
    return residuals + holders([*joint.inputs, *values_with_own_dims(joint.forward)], missing)[0]


def _forward(program: Program, active: tuple[bool, ...], masked: tuple[bool, ...]) -> Pushed:
    graph = program.graph
    pushed = Graph(f"{graph.name}.jvp")
    with building(pushed):
        inputs = [pushed.add_input(v.shape, v.dtype, weak=v.weak) for v in graph.inputs]
        tangents = Tangents()
        for x, is_active, flag in zip(inputs, active, masked, strict=True):
            if is_active:
                tangents.set(x, pushed.add_input(x.shape, x.dtype), flag)
        with recording(tangents):
            outs = replay(graph, inputs)
        found = [tangents.of(out) for out in outs]
        pushed.finish([t for t in found if isinstance(t, Tensor)])
    positions = iter(range(len(pushed.outputs)))
    places = [next(positions) if isinstance(t, Tensor) else t for t in found]
    return Pushed(Program(pushed), places, [*map(tangents.may_hold_zeros, outs)])


def _pull_back(
    ct: tuple[Any, ...], needed: tuple[bool, ...], operands_type: tuple[TensorType, ...], outs: tuple[Tensor, ...],
    outs_type: tuple[TensorType, ...], masked: Sequence[bool], program: Program,
) -> Any:  # fmt: skip
    """The joint rule: the stage behind every output that has a cotangent, for the operands that want one, works."""
    last = max(i for i, c in enumerate(ct) if isinstance(c, Tensor))
    wanted = (*[flag and dtypes.is_inexact(t.dtype) for flag, t in zip(needed, operands_type, strict=True)],)
    stage = serving(program.stages, wanted, last)
    if stage is None:
        program, outs = extended(outs, wanted, program)
        stage = program.stages[-1]
    absent = frozenset(i for i in stage.seeded if not isinstance(ct[i], Tensor))
    # zeros in place of an absent cotangent are structural ones; without that of a lone number less is computed
    unread = frozenset(i for i in absent if outs_type[i].shape == ())
    stage = stage.reading(unread, absent.union(i for i in stage.seeded if masked[i]) - unread)
    residuals = [outs[slot] for slot in stage.slots]
    seeds = [ct[i] if isinstance(ct[i], Tensor) else zeros_of(outs_type[i]) for i in stage.seeded]
    found = call_program(stage.backward, [*residuals, *seeds]) if stage.backward.graph.outputs else ()
    return ((*map(lambda r, t, m: _pulled(r, t, m, found), stage.results, operands_type, stage.masked),),)


def _pulled(result: object, type_: TensorType, is_masked: bool, found: Sequence[Tensor]) -> Any:
    """The gradient for one operand, as the joint graph has filed it."""
    if type(result) is RowsAt:
        return Rows(type_, [(found[result.values], found[result.indices])])
    if type(result) is not int:
        return result
    return Masked(found[result]) if is_masked else found[result]


def _push(
    operands: tuple[Tensor, ...], operands_dot: tuple[Any, ...], masked: Sequence[bool], program: Program
) -> tuple[Any, ...]:  # fmt: skip
    active = (*[d is not None for d in operands_dot],)
    pushed, places, flags = program.jvp(active, masked)
    found = call_program(pushed, [*operands, *(d for d in operands_dot if d is not None)])
    return (
        *[
            marked(found[p], flag) if isinstance(p, int) else zeros_of(v) if p is ZERO else None
            for p, flag, v in zip(places, flags, map(type_of, program.graph.outputs), strict=True)
        ],
    )


def marked(tangent: object, may_hold_zeros: bool) -> Any:
    """A tangent as a rule returns it, with its bit."""
    return Masked(tangent) if may_hold_zeros and isinstance(tangent, Tensor) else tangent


def _batch(op: Op, operands: tuple[Tensor, ...], batched: tuple[bool, ...], attrs: tuple[Any, ...]) -> Any:
    size = next(x.shape[0] for x, b in zip(operands, batched, strict=True) if b)
    if STATE.builder is not None or type(size) is not int:
        return tuple(batch(attrs[0].graph, operands, batched, size))  # the graph around is compiled as a whole
    return call_program(attrs[0].batched(batched, size), operands)


def _types(operands: tuple[TensorType, ...], program: Program) -> tuple[TensorType, ...]:
    sizes = bind_dims(program.graph, [t.shape for t in operands])
    shapes = [map_attribute(tuple(v.shape), lambda d: d.substitute(sizes)) for v in program.graph.outputs]
    return (*[tensor_type(shape, v.dtype) for shape, v in zip(shapes, program.graph.outputs, strict=True)],)


def _check(operands: tuple[TensorType, ...], program: Program) -> None:
    if not isinstance(program, Program):
        raise ValueError("call: wanted a program")
    require_inputs("call", program.graph, operands)


call = general(
    "call", "*operands", attrs="program", outs="*outs", vjp=_pull_back, jvp=_push, type=_types, check=_check,
    holds="a program",
    batch=_batch,
    takes_missing=True, dtypes="any", can_raise=True, doc="the results of a traced program",
)  # fmt: skip
call.prepare = preparing(lambda operands, program: operands)

__all__ = [
    "Program",
    "call",
    "call_program",
    "closed",
    "cut_inside",
    "has_effect",
    "inner_programs",
    "leads_through",
    "symbol",
]
