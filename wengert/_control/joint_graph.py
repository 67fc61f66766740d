"""A program and its reverse sweep in one graph, from which forward and backward halves are cut.

Also `BackwardPass`, what `call`, `switch` and `loop` have in common of one backward pass, and how a node that is still
under construction is given the residuals that a backward pass reads (`extended`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from .._core import dtypes
from .._core.analysis import atoms_told, needed_for
from .._core.graph import Graph, Node, graph_holding, quietly, symbol
from .._core.state import STATE, building, recording
from .._core.tensor import Tensor, Value
from .._core.types import Guards, type_of
from .._transforms.replay import replay
from .._transforms.reverse import Cotangents, sweep
from .._transforms.row_cotangents import Rows
from .._transforms.tape import Tape


class RowsAt(NamedTuple):
    """Where, among the backward outputs, the rows of a gradient and their numbers are."""

    values: int
    indices: int


class Joint(NamedTuple):
    """The joint graph: a copy of a program, followed by its reverse sweep.

    Attributes:
        inputs, forward, outputs: the program.
        seeded: which outputs the sweep takes cotangents of: those that depend on active inputs.
        seeds: these cotangents.
        backward: the nodes of the sweep that its results need.
        gradients: the results of the sweep.
        results: for each input a position among the gradients, `RowsAt`, ZERO or None.
        masked: for each input whether its cotangent may hold structural zeros.
        guards: what must hold of dimensions in both; the first `checked` of what is equal is so in the program.
    """

    inputs: list[Value]
    forward: list[Node]
    outputs: list[Value]
    seeded: tuple[int, ...]
    seeds: list[Value]
    backward: list[Node]
    gradients: list[Value]
    results: tuple[Any, ...]
    masked: tuple[bool, ...]
    guards: Guards
    checked: int

    def back_guards(self, inputs: Sequence[Value], nodes: Sequence[Node]) -> Guards:
        """What must hold in a graph of the sweep; the program's guards are left with the others."""
        values = (*inputs, *(v for node in nodes for v in node.outputs))
        return self.guards.cut(self.checked, lambda: atoms_told(values))


def joint_of(
    graph: Graph, active: Sequence[bool], sparse: bool, unread: Collection[int] = (), masked: Collection[int] = ()
) -> Joint:
    """The joint graph of a closed graph and its sweep to the active inputs.

    Args:
        graph: the program.
        active: which inputs want a cotangent.
        sparse: whether the cotangents of what only rows are gathered from stay rows.
        unread: positions of the outputs that get no cotangent.
        masked: positions of those whose cotangents may hold structural zeros.
    """
    joint = Graph(graph.name)
    with building(joint):
        inputs = [joint.add_input(v.shape, v.dtype, weak=v.weak) for v in graph.inputs]
        keys = [x._key for x in inputs]
        tape = Tape(key for key, is_active in zip(keys, active, strict=True) if is_active)
        with recording(tape):
            outs = replay(graph, inputs)
        joint.guards.require_all(graph.guards)
        boundary, checked = len(joint.nodes), len(joint.guards.equal)
        reached = [i for i, out in enumerate(outs) if tape.tracks(out._key) and dtypes.is_inexact(out.dtype)]
        seeded = (*[i for i in reached if i not in unread],)
        seeds = [joint.add_input(outs[i].shape, outs[i].dtype) for i in seeded]
        with quietly():
            cts = Cotangents(sparse)
            for i, seed in zip(seeded, seeds, strict=True):
                cts.add(outs[i]._key, seed, i in masked)
            found = sweep(tape.entries, (), keys, sparse=sparse, cts=cts)
            gradients: list[Tensor] = []
            results = (*[_placed(g, gradients) if flag else None for g, flag in zip(found, active, strict=True)],)
        values = [joint.value_of(g) for g in gradients]
        return Joint(
            [joint.value_of(x) for x in inputs], joint.nodes[:boundary], [joint.value_of(out) for out in outs], seeded,
            [joint.value_of(seed) for seed in seeds], live(joint.nodes[boundary:], values), values, results,
            (*[key in cts.masked for key in keys],),
            joint.guards, checked,
        )  # fmt: skip


def places_among(inputs: Sequence[Value], nodes: Sequence[Node], values: Sequence[Value]) -> list[tuple[int, int]]:
    """Where a program computes values: numbers of its nodes (-1 for its inputs), and of their results."""
    columns = [inputs, *(node.outputs for node in nodes)]
    places = {v.key: (row - 1, i) for row, column in enumerate(columns) for i, v in enumerate(column)}
    return [places[v.key] for v in values]


def _placed(gradient: object, outputs: list[Tensor]) -> Any:
    """Appends what a gradient is made of to the outputs, and tells where it stands (ZERO and None are themselves)."""
    if type(gradient) is Rows:
        outputs += gradient.columns()
        return RowsAt(len(outputs) - 2, len(outputs) - 1)
    if not isinstance(gradient, Tensor):
        return gradient
    outputs.append(gradient)
    return len(outputs) - 1


def live(nodes: Sequence[Node], results: Sequence[Value]) -> list[Node]:
    """The nodes that results need, or that have an effect: of a sweep, what is computed in vain must not keep
    residuals."""
    return needed_for(nodes, [v.key for v in results], lambda node: node.op.has_effect)[0]


# -- backward passes ---------------------------------------------------------------------------------------------------


class BackwardPass:
    """One backward pass through a call, branches or a loop: what all three have in common.

    Attributes:
        active: which operands get a cotangent.
        stop: how many results may have cotangents: those that were there when it was made.
        seeded: the outputs of the programs inside of which it takes one.
        live: which of these outputs may have one; None if all may.
    """

    def __init__(
        self, active: tuple[bool, ...], stop: int, seeded: Iterable[int], live: frozenset[int] | None = None
    ) -> None:
        self.active = active
        self.stop = stop
        self.seeded = (*seeded,)
        self.live = live

    def reads(self, live: frozenset[int] | None) -> bool:
        """Whether it takes cotangents of all these outputs."""
        return self.live is None or (live is not None and live <= self.live)

    def reads_only(self, live: frozenset[int] | None) -> bool:
        """Whether it takes cotangents of no other outputs, which would be zeros and could meet infinite slopes."""
        return live is None or live.issuperset(self.seeded)


def unread_of(graph: Graph, live: frozenset[int] | None) -> frozenset[int]:
    """The outputs of a program that have no cotangent where only these do (all, if that is not said)."""
    return frozenset() if live is None else frozenset(range(len(graph.outputs))) - live


P = TypeVar("P", bound=BackwardPass)


def serving(passes: Sequence[P], wanted: Sequence[bool], last: int) -> P | None:
    """The first backward pass that serves these operands and result number `last`, if one does."""
    for one in passes:
        if last < one.stop and all(a or not w for a, w in zip(one.active, wanted, strict=True)):
            return one
    return None


def prepared(what: Any, operands: Sequence[Tensor]) -> Any:
    """A program, branches or a loop with a backward pass for each open tape, the innermost first: its sweep finds what
    it reads among the results, and the tapes outside see all of them."""
    for recorder in reversed(STATE.recorders):
        if isinstance(recorder, Tape):
            active = (*[recorder.tracks(x._key) and dtypes.is_inexact(x.dtype) for x in operands],)
            if any(active):
                what = what.split(active)
    return what


def preparing(takers: Callable[[tuple[Tensor, ...], Any], Sequence[Tensor]]) -> Any:
    """How an op that holds a program, branches or a loop as its attribute is prepared where it is applied anew.

    In a trace it is not: what a sweep there asks for, `extended` adds. But what only a run tells of it is something
    new there: the same loop may run twice in a program, and not come out the same.

    Args:
        takers: from the op's operands and its attribute to the operands that the program takes.
    """

    def prepare(operands: tuple[Tensor, ...], attrs: tuple[Any, ...]) -> tuple[Any, ...]:
        if STATE.builder is not None:
            return (attrs[0].anew(), *attrs[1:])
        return (prepared(attrs[0], takers(operands, attrs[0])),)

    return prepare


def extended(outs: Sequence[Tensor], active: tuple[bool, ...], attr: Any, *how: Any) -> tuple[Any, tuple[Tensor, ...]]:
    """Gives a node under construction the results that a backward pass reads. Open recorders learn of them."""
    node, graph = _node_of(outs[0])
    attr = node.attrs[-1].split(active, *how)
    with graph.lock:
        node.attrs = (*node.attrs[:-1], attr)
        types = node.op.type_rule(*node.op.group((*map(type_of, node.inputs),)), *node.attrs)
        graph.extend(node, types[len(node.outputs) :])
    # a tape that was closed when other sweeps asked for more knows only the first results
    everything = (*outs, *map(symbol, node.outputs[len(outs) :]))
    outer = {value.key: tensor for tensor, value in graph.captures.values()}
    operands = (*[outer[v.key] if v.key in outer else symbol(v) for v in node.inputs],)
    for recorder in STATE.recorders:
        if not recorder.is_watch:
            recorder.extend(node.op, operands, node.attrs, everything)
    return attr, everything


def is_growing(out: Tensor) -> bool:
    """Whether a tensor is a result of a node under construction."""
    return _growing(out) is not None


def _node_of(out: Tensor) -> tuple[Node, Graph]:
    found = _growing(out)
    if found is None:
        raise LookupError("a branch, a loop or a compiled function that ran without a tape has no backward pass")
    return found


def _growing(out: Tensor) -> tuple[Node, Graph] | None:
    data = out._data
    graph = graph_holding(data) if type(data) is Value else None
    if graph is None or graph.is_frozen:
        return None
    node = graph.node_of(out._key)
    return None if node is None else (node, graph)
