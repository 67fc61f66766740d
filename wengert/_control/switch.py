"""`switch`: one of several traced branches, chosen by an index at run time; `cond` is its case of two.

Operands: the index, then what all branches take. The backward pass is a `switch` over the branches' backward halves
with the same index. What a half reads of its forward half is an extra result of the forward op; branches share these
slots, and one that does not fill a slot leaves it empty at no cost.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import Any

from .._core import dtypes
from .._core.analysis import atoms_in, atoms_told
from .._core.apply import apply
from .._core.dims import Atom, Dim, DimLike, dims_in, is_late, map_attribute
from .._core.graph import Graph, quietly
from .._core.op import ZERO, batch_size, general, tensor_type
from .._core.state import STATE, building
from .._core.tensor import Tensor
from .._core.types import TensorType, type_of
from .._core.user_line import at_user_line
from .._prims.discrete import eq, logical_not, logical_or
from .._prims.structural import absent, attach, cast, concatenate, fill, full, iota, reshape, zeros_of
from .._transforms.batch import add_lanes, batched_graph, lanes_of
from .._transforms.idle_cotangents import Idle
from .._transforms.pushing import Masked
from .._transforms.replay import bind_dims, replay
from .._transforms.row_cotangents import Rows
from .call import Program, marked
from .halves import Cuttings, Halves
from .joint_graph import BackwardPass, RowsAt, extended, is_growing, prepared, preparing, serving, unread_of
from .masked_execution import guarded, is_harmless, neither, size_inside, some, where_live
from .operand_checks import require_inputs, require_type


class SwitchBackward(BackwardPass):
    """One backward pass through a `switch`, whose index is none of the operands.

    Attributes:
        cuttings: of each branch.
        slots: for each branch where its residuals lie among the results.
        saved: how many slots the stage added.
    """

    def __init__(
        self, active: tuple[bool, ...], stop: int, cuttings: list[Cuttings], slots: list[tuple[int, ...]], saved: int,
        live: frozenset[int] | None,
    ) -> None:  # fmt: skip
        super().__init__(active, stop, sorted({i for each in cuttings for i in each.usual.seeded}), live)
        self.cuttings = cuttings
        self.slots = slots
        self.saved = saved


class Branches:
    """The attribute of a `switch`: the programs that it chooses from.

    Attributes:
        programs: one a branch; they agree on the types of inputs and outputs.
        own: how many results are the user's; the rest are residuals.
        declared: how many operands the user passed: they always count as connected.
        stages: the backward passes so far.
        results: the types of the results, in the dimensions of the programs. A branch that leaves a slot empty does
            not know how long a loop in another branch ran, so its own program does not tell the type of that slot.
        outside: what the dimensions that only the branches tell are called outside.
    """

    __slots__ = ("declared", "outside", "own", "programs", "results", "stages")

    def __init__(
        self, programs: tuple[Program, ...], own: int, declared: int = 0, stages: tuple[SwitchBackward, ...] = (),
        results: tuple[TensorType, ...] | None = None, outside: dict[Atom, DimLike] | None = None,
    ) -> None:  # fmt: skip
        self.programs = programs
        self.own = own
        self.declared = declared
        self.stages = stages
        self.results = _met_types(programs) if results is None else results
        self.outside = {} if outside is None else outside

    def split(self, active: tuple[bool, ...], live: frozenset[int] | None = None) -> Branches:
        """The same branches, which also return what a backward pass to the active operands reads, from the results
        that are live (all, if that is not said)."""
        stop = len(self.programs[0].graph.outputs)
        unread = unread_of(self.programs[0].graph, live)
        cuttings = [Cuttings(program.graph, active, sparse=True, unread=unread) for program in self.programs]
        halves = [each.usual for each in cuttings]
        kinds, slots = _shared_slots(halves, stop)
        programs = (*[_with_slots(h, p, kinds, s, stop) for h, p, s in zip(halves, self.programs, slots, strict=True)],)
        stage = SwitchBackward(active, stop, cuttings, slots, len(kinds), live)
        return Branches(programs, self.own, self.declared, (*self.stages, stage), (*self.results, *kinds), self.outside)

    def types(self, operands: Sequence[TensorType]) -> tuple[TensorType, ...]:
        """The types of the results for operands of these types."""
        sizes = bind_dims(self.programs[0].graph, [t.shape for t in operands])
        for atom in (a for t in self.results for d in dims_in(tuple(t.shape)) for a in d.atoms):
            if atom not in sizes:
                sizes[atom] = self.outside.setdefault(atom, Dim.free(atom.name, is_late=True))
        return (*[_substituted(t, sizes) for t in self.results],)

    def own_dims(self) -> list[Dim]:
        """The dimensions that nothing but its results tells: not those that a tangent shares with its primal."""
        return [d for atom, d in self.outside.items() if isinstance(d, Dim) and d.atom is not atom]

    def shared_dims(self) -> list[Dim]:
        """The dimensions that a tangent shares with its primal, and tells where that is not computed."""
        return [d for atom, d in self.outside.items() if isinstance(d, Dim) and d.atom is atom]

    def anew(self) -> Branches:
        """The same branches in another place: what only a run tells is something else there."""
        if not self.outside:
            return self
        return Branches(self.programs, self.own, self.declared, self.stages, self.results)

    def pruned(self, used: Sequence[bool], matters: object) -> tuple[Branches, Sequence[bool]]:
        """The branches without the results that nothing uses, and which are kept; for a program about to run."""
        programs = []
        for graph in (program.graph for program in self.programs):
            outputs = [v for v, is_used in zip(graph.outputs, used, strict=True) if is_used]
            programs.append(Program(Graph.of(graph.name, graph.inputs, graph.nodes, outputs, graph.guards)))
        kept = (*[t for t, is_used in zip(self.results, used, strict=True) if is_used],)
        return Branches((*programs,), sum(used), results=kept, outside=self.outside), used

    @property
    def inner(self) -> tuple[Program, ...]:
        """The programs, for listings."""
        return self.programs

    def __repr__(self) -> str:
        return f"<{len(self.programs)} branches>"


def _substituted(type_: TensorType, sizes: dict[Atom, DimLike]) -> TensorType:
    if not sizes:
        return type_
    return tensor_type(map_attribute(tuple(type_.shape), lambda d: d.substitute(sizes)), type_.dtype)


def _unknown(shape: tuple[Any, ...], inputs: Sequence[Any]) -> set[Atom]:
    """The dimensions in a shape that no input tells: of loops inside a branch, known once they have run."""
    return atoms_in(shape) - atoms_told(inputs)


def _shared_slots(halves: Sequence[Halves], start: int) -> tuple[list[TensorType], list[tuple[int, ...]]]:
    """The types of the slots, and for each branch where its residuals go: branches share slots of one type."""
    kinds: list[TensorType] = []
    slots: list[tuple[int, ...]] = []
    for half in halves:
        existing = {v.key: i for i, v in enumerate(half.outputs)}
        taken: set[int] = set()
        places = []
        for value in half.residuals:
            if value.key in existing:  # a result, or saved for another backward pass already
                places.append(existing[value.key])
                continue
            kind = type_of(value)
            place = next((i for i, k in enumerate(kinds) if k == kind and i not in taken), None)
            if place is None:
                kinds.append(kind)
                place = len(kinds) - 1
            taken.add(place)
            places.append(start + place)
        slots.append((*places,))
    return kinds, slots


def _with_slots(
    half: Halves, program: Program, kinds: Sequence[TensorType], places: Sequence[int], start: int
) -> Program:  # fmt: skip
    """A branch's forward half that fills its slots and leaves the others empty."""
    graph = Graph(program.graph.name)
    graph.inputs, graph.nodes = list(half.inputs), list(half.nodes)
    filled = dict(zip(places, half.residuals, strict=True))
    outputs = list(half.outputs)
    with building(graph):
        for index, kind in enumerate(kinds, start):
            value = filled.get(index)
            if value is None:
                # what only another branch would find out is 0 here
                empty = _substituted(kind, dict.fromkeys(_unknown(kind.shape, half.inputs), 0))
                value = graph.value_of(absent(shape=empty.shape, dtype=empty.dtype))
            outputs.append(value)
    graph.guards.require_all(half.guards)
    graph.guards.require_late(half.guards, lambda dim: dim)
    graph.outputs, graph.is_frozen = outputs, True
    return Program(graph, source=program.source)


# -- the op -----------------------------------------------------------------------------------------------------------


def switch_branches(index: Tensor, operands: Sequence[Tensor], branches: Branches) -> tuple[Tensor, ...]:
    """The results of the branch that the index chooses; open tapes find their backward passes prepared."""
    outs = apply(switch, (index, *operands), (prepared(branches, operands),))
    return (*outs[: branches.own],)


def _types(index: TensorType, operands: tuple[TensorType, ...], branches: Branches) -> tuple[TensorType, ...]:
    return branches.types(operands)


def _pull_back(
    ct: tuple[Any, ...], needed: tuple[bool, ...], index: Tensor, operands: tuple[Tensor, ...],
    outs: tuple[Tensor, ...], masked: Sequence[bool], branches: Branches,
) -> Any:  # fmt: skip
    wanted = (*[flag and dtypes.is_inexact(x.dtype) for flag, x in zip(needed[1:], operands, strict=True)],)
    seeds = [i for i, c in enumerate(ct) if isinstance(c, Tensor)]
    live = frozenset(seeds)
    stages = sorted((s for s in branches.stages if s.reads(live)), key=lambda s: len(s.seeded))
    stage = serving(stages, wanted, max(seeds))
    if stage is None or (is_growing(outs[0]) and not stage.reads_only(live)):
        branches, outs = extended(outs, wanted, branches, live)
        stage = branches.stages[-1]
    zeroed = [i for i in stage.seeded if i not in live or masked[i]]
    halves = [each.of(zeroed) for each in stage.cuttings]
    found = _cotangents(index, operands, outs, {i: ct[i] for i in seeds}, stage, halves, wanted)
    connected = (*[
        ZERO if g is None and flag and i < branches.declared else g for i, (g, flag) in enumerate(zip(found, wanted))
    ],)  # fmt: skip
    return (None, connected)


def _cotangents(
    index: Tensor, operands: Sequence[Tensor], outs: Sequence[Tensor], ct: dict[int, Tensor], stage: SwitchBackward,
    halves: Sequence[Halves], wanted: Sequence[bool],
) -> list[Any]:  # fmt: skip
    """The operands' cotangents: one `switch` over the backward halves; ZERO or None where none gives a tensor."""
    results = [half.results for half in halves]
    targets = [i for i, flag in enumerate(wanted) if flag and any(isinstance(r[i], _MADE) for r in results)]
    in_rows = {i for i in targets if any(type(r[i]) is RowsAt for r in results)}
    found: list[Any] = [_unmade([r[i] for r in results]) if flag else None for i, flag in enumerate(wanted)]
    if not targets:
        return found
    given = sorted({i for half in halves for i in half.given})
    slots = sorted({s for places in stage.slots for s in places})
    slots += [s for s in _shape_holders(halves, ct) if s not in slots]
    others = [outs[s] for s in slots] + [*ct.values()]
    holders = _dim_holders(operands, targets, given, others)
    inputs = [operands[i] for i in (*given, *holders)] + others
    programs = [
        _backward(half, places, [*given, *holders], slots, [*ct], targets, inputs, operands, in_rows)
        for half, places in zip(halves, stage.slots, strict=True)
    ]
    branches = Branches((*programs,), len(programs[0].graph.outputs), results=_met_rows(programs))
    gradients = iter(switch_branches(index, inputs, branches))
    for target in targets:
        gradient = next(gradients)
        if target in in_rows:
            found[target] = Rows(type_of(operands[target]), [(gradient, next(gradients))])
            continue
        without = [not isinstance(h.results[target], int) for h in halves]
        if any(without):
            found[target] = Idle(gradient, _taken(index, without))
        else:
            found[target] = Masked(gradient) if any(h.masked[target] for h in halves) else gradient
    return found


def _taken(index: Tensor, which: Sequence[bool]) -> Tensor:
    """Whether one of these branches is the one that is taken."""
    return functools.reduce(
        logical_or, [mask for mask, flag in zip(_masks(index, len(which)), which, strict=True) if flag]
    )


def _met_types(programs: Sequence[Program]) -> tuple[TensorType, ...]:
    """The types of the results: where branches differ in an extent that only a run tells, so does the result."""

    def met(*extents: DimLike) -> DimLike:
        differ = any(d != extents[0] for d in extents)
        return Dim.free("chosen", is_late=True) if differ and any(map(is_late, extents)) else extents[0]

    columns = zip(*[p.graph.outputs for p in programs], strict=True)
    return (*[tensor_type((*map(met, *[v.shape for v in column]),), column[0].dtype) for column in columns],)


def _met_rows(programs: Sequence[Program]) -> tuple[TensorType, ...]:
    """The types of the results where branches give different numbers of rows: one that is known at run time."""
    met: list[TensorType] = []
    last: Any = None
    for column in zip(*[p.graph.outputs for p in programs], strict=True):
        first = column[0]
        if all(v.shape == first.shape for v in column):
            met.append(type_of(first))
            last = None
            continue
        rows = Dim.free("rows", is_late=True) if last is None else last  # values, then the numbers of these rows
        last = rows if last is None else None
        met.append(tensor_type((rows, *first.shape[1:]), first.dtype))
    return (*met,)


def _unmade(results: Sequence[Any]) -> Any:
    """What an operand gets that no branch has a tensor for: connected with zero, or not connected."""
    return ZERO if any(r is ZERO for r in results) else None


def _dim_holders(
    operands: Sequence[Tensor], targets: Sequence[int], given: Sequence[int], others: Sequence[Tensor]
) -> list[int]:  # fmt: skip
    """Operands that are passed for their shapes: targets whose zeros need an unknown dimension, and those that tell it.

    An array of n // 2 elements needs n, and does not tell it. The others are passed in any case.
    """
    holders = [i for i in targets if i not in given and dims_in(tuple(operands[i].shape))]
    taken = [*(operands[i] for i in (*given, *holders)), *others]
    untold = {atom for x in taken for atom in _unknown(x.shape, taken)}
    for i, x in enumerate(operands):
        told = atoms_told((x,)) & untold
        if told:
            holders.append(i)
            untold -= told
    return holders


def _shape_holders(halves: Sequence[Halves], ct: dict[int, Tensor]) -> list[int]:
    """The results without cotangents whose zeros need a dimension that only the forward run knows."""
    return sorted({
        i for half in halves for i in half.seeded
        if i not in ct and _unknown(half.outputs[i].shape, half.inputs)
    })  # fmt: skip


def _backward(
    half: Halves, places: Sequence[int], given: Sequence[int], slots: Sequence[int], seeds: Sequence[int],
    targets: Sequence[int], inputs: Sequence[Tensor], operands: Sequence[Tensor], in_rows: Collection[int],
) -> Program:  # fmt: skip
    """The backward half of a branch over the inputs that all branches take."""
    graph = Graph(half.backward.name)
    with building(graph):
        arguments = [graph.add_input(x.shape, x.dtype) for x in inputs]
        of_given = dict(zip(given, arguments, strict=False))
        of_slot = dict(zip(slots, arguments[len(given) :], strict=False))
        of_seed = dict(zip(seeds, arguments[len(given) + len(slots) :], strict=True))
        cotangents = [
            of_seed[i] if i in of_seed else
            fill(of_slot[i], 0) if _unknown(half.outputs[i].shape, half.inputs) else
            zeros_of(type_of(half.outputs[i])) for i in half.seeded
        ]  # fmt: skip
        found = replay(half.backward, [*(of_given[i] for i in half.given), *(of_slot[s] for s in places), *cotangents])
        gradients: list[Tensor] = []
        for i in targets:
            type_, place = type_of(operands[i]), half.results[i]
            if i in in_rows:
                gradients += _as_rows(place, found, type_)
            else:
                gradients.append(_typed(found[place], type_) if isinstance(place, int) else zeros_of(type_))
        graph.finish(gradients)
    return Program(graph)


def _typed(x: Tensor, type_: TensorType) -> Tensor:
    """A cotangent that may know an extent under another name, in its operand's shape."""
    return x if x.shape == type_.shape else reshape(x, shape=type_.shape)


def _as_rows(place: object, found: Sequence[Tensor], type_: TensorType) -> tuple[Tensor, Tensor]:
    """A cotangent as rows and their numbers: all rows of a dense one, none of one that is not there."""
    extent = type_.shape[0]
    if type(place) is RowsAt:
        return found[place.values], cast(found[place.indices], dtypes.int64)
    if isinstance(place, int):
        return found[place], iota(size=extent, dtype=dtypes.int64)
    return zeros_of(tensor_type((0, *type_.shape[1:]), type_.dtype)), iota(size=0, dtype=dtypes.int64)


_MADE = (int, RowsAt)


def _push(
    index: Tensor, operands: tuple[Tensor, ...], operands_dot: tuple[Any, ...], masked: Sequence[bool],
    branches: Branches,
) -> tuple[Any, ...]:  # fmt: skip
    """The results' tangents: a `switch` over the branches' forward derivatives."""
    active = (*[isinstance(d, Tensor) for d in operands_dot],)
    pushed = [program.jvp(active, masked[1:]) for program in branches.programs]
    count = len(branches.programs[0].graph.outputs)
    targets = [i for i in range(count) if any(isinstance(p.places[i], int) for p in pushed)]
    zeros = [i for i in range(count) if i not in targets and any(p.places[i] is ZERO for p in pushed)]
    found: list[Any] = [None] * count
    types = branches.types((*map(type_of, operands),))
    for i in zeros:
        found[i] = zeros_of(types[i])
    if targets:
        inputs = [*operands, *(d for d in operands_dot if isinstance(d, Tensor))]
        programs = [
            with_zeros(p.program, primal, p.places, targets, inputs, types)
            for primal, p in zip(branches.programs, pushed, strict=True)
        ]
        # a tangent has its primal's extents, under the same names
        known: dict[Atom, DimLike] = {d.atom: d for d in branches.outside.values() if isinstance(d, Dim)}
        pushed_types = (*[types[i] for i in targets],)
        either = Branches((*programs,), len(targets), results=pushed_types, outside=known)
        results = switch_branches(index, inputs, either)
        for i, tangent in zip(targets, results, strict=True):
            # a branch that does not lead to a result has zeros for it
            found[i] = marked(tangent, any(p.masked[i] or not isinstance(p.places[i], int) for p in pushed))
    if any(d is not None for d in operands_dot[: branches.declared]):  # operands always count as connected
        found = [ZERO if d is None else d for d in found]
    return (*found,)


def with_zeros(
    program: Program, primal: Program, places: Sequence[Any], targets: Sequence[int], inputs: Sequence[Tensor],
    types: Sequence[TensorType],
) -> Program:  # fmt: skip
    """A branch's forward derivative, with zeros for the results that it does not reach."""
    source = primal.graph
    graph = Graph(program.graph.name)
    with building(graph):
        arguments = [graph.add_input(x.shape, x.dtype) for x in inputs]
        found = replay(program.graph, arguments)
        results: list[Tensor] = []  # of the branch itself, where zeros need their shapes

        def zeros(i: int) -> Tensor:
            if not _unknown(types[i].shape, inputs):
                return zeros_of(types[i])
            if not results:
                results.extend(replay(source, arguments[: len(source.inputs)]))
            return fill(results[i], 0)

        graph.finish([found[places[i]] if isinstance(places[i], int) else zeros(i) for i in targets])
    return Program(graph)


def _batch(op: object, operands: tuple[Tensor, ...], batched: tuple[bool, ...], attrs: tuple[Any, ...]) -> Any:
    """All lanes take one branch, of which the batched form is run; or each takes its own."""
    (branches,) = attrs
    size = batch_size(operands, batched)
    index, *inputs = operands
    if batched[0]:
        return _chosen_by_lane(index, inputs, batched[1:], branches, size)
    everything = (True,) * len(branches.programs[0].graph.outputs)
    inside = size_inside(size)
    programs = _of_one_length(
        [Program(batched_graph(p.graph, batched[1:], everything, inside)) for p in branches.programs]
    )
    return switch_branches(index, inputs, Branches(programs, len(everything), branches.declared))


def _chosen_by_lane(
    index: Tensor, inputs: Sequence[Tensor], flags: Sequence[bool], branches: Branches, size: DimLike
) -> tuple[Tensor, ...]:  # fmt: skip
    """Every branch that some lane takes is run for all lanes; each lane gets the results of its own."""
    masks = _masks(index, len(branches.programs))
    lengths = _lengths([program.graph.outputs for program in branches.programs], 0)
    results: list[Tensor] | None = None
    for mask, program in zip(masks, branches.programs, strict=True):
        found = _in_lanes(mask, inputs, flags, program, lengths, size)
        results = found if results is None else [where_live(mask, x, y) for x, y in zip(found, results, strict=True)]
    assert results is not None
    sources = [x for x in inputs[: branches.declared] if dtypes.is_inexact(x.dtype)]
    if not sources or not (STATE.recorders or STATE.builder is not None):
        return (*results,)
    return (*[attach(x, *sources) if dtypes.is_inexact(x.dtype) else x for x in results],)


def _lengths(results: Sequence[Sequence[Any]], axis: int) -> list[int | None]:
    """How long the results of branches are at most, where they differ: gradients in rows do, in how many there are."""
    found: list[int | None] = []
    for column in zip(*results, strict=True):
        extents = [v.shape[axis] if len(v.shape) > axis else 0 for v in column]
        is_known = all(type(n) is int for n in extents)
        found.append(max(extents) if is_known and min(extents) < max(extents) else None)
    return found


def _lengthened(x: Tensor, length: int | None, axis: int) -> Tensor:
    """Rows, or their numbers, with zeros (for row 0) behind them up to a length."""
    if length is None or x.shape[axis] == length:
        return x
    more = zeros_of(tensor_type((*x.shape[:axis], length - x.shape[axis], *x.shape[axis + 1 :]), x.dtype))
    return concatenate(x, more, axis=axis)


def _of_one_length(programs: Sequence[Program]) -> tuple[Program, ...]:
    """Programs on batches that give rows, of which all give as many."""
    lengths = _lengths([program.graph.outputs for program in programs], 1)
    return (*programs,) if not any(lengths) else (*[_with_lengths(program, lengths) for program in programs],)


def _with_lengths(program: Program, lengths: Sequence[int | None]) -> Program:
    graph = Graph(program.graph.name)
    with building(graph):
        found = replay(program.graph, [graph.add_input(v.shape, v.dtype) for v in program.graph.inputs])
        graph.finish([_lengthened(x, length, 1) for x, length in zip(found, lengths, strict=True)])
    return Program(graph, source=program.source)


def _masks(index: Tensor, count: int) -> list[Tensor]:
    """For each branch the lanes that take it."""
    if index.dtype == dtypes.bool_:
        return [index, logical_not(index)]
    masks = [eq(index, full(shape=index.shape, value=i, dtype=index.dtype)) for i in range(count - 1)]
    return [*masks, neither(masks) if masks else eq(index, index)]


def _in_lanes(
    mask: Tensor, inputs: Sequence[Tensor], flags: Sequence[bool], program: Program, lengths: Sequence[int | None],
    size: DimLike,
) -> list[Tensor]:  # fmt: skip
    """A branch's results for all lanes, as long as those of other branches: lanes that do not take it get anything."""
    found = _all_in_lanes(mask, inputs, flags, program, size)
    return [_lengthened(x, length, 1) for x, length in zip(found, lengths, strict=True)]


def _all_in_lanes(
    mask: Tensor, inputs: Sequence[Tensor], flags: Sequence[bool], program: Program, size: DimLike
) -> list[Tensor]:  # fmt: skip
    source = program.graph
    everything = (True,) * len(source.outputs)
    if is_harmless(source):
        with quietly():  # a warning could come from a lane that is not asked for its result
            return lanes_of(source, inputs, flags, everything, size)
    size = size_inside(size)
    taken, skipped = Graph(source.name), Graph(f"{source.name}.skipped")
    with building(taken):
        live = taken.add_input((size,), dtypes.bool_)
        arguments = add_lanes(taken, source.inputs, flags, size)
        taken.finish(lanes_of(source, guarded(live, arguments, flags), flags, everything, size))
    if any(_unknown(v.shape, taken.inputs) for v in taken.outputs):
        raise NotImplementedError(
            at_user_line(
                "a branch whose result has a length that only a run tells cannot be batched where each example takes "
                "its own branch; choose between results of one length, or call the function for each example"
            )
        )
    with building(skipped):
        skipped.add_input((size,), dtypes.bool_)
        add_lanes(skipped, source.inputs, flags, size)
        skipped.finish([absent(shape=tuple(v.shape), dtype=v.dtype) for v in taken.outputs])
    either = Branches((Program(taken), Program(skipped)), len(everything))
    return [*switch_branches(some(mask), [mask, *inputs], either)]


def _check(index: TensorType, operands: tuple[TensorType, ...], branches: Branches) -> None:
    """The branches take the operands and give the results; the index is one number."""
    if not isinstance(branches, Branches):
        raise ValueError("switch: wanted branches")
    if tuple(index.shape) or not (dtypes.is_integer(index.dtype) or index.dtype == dtypes.bool_):
        raise ValueError(f"switch: the index is {index.dtype.name} of shape {index.shape}, wanted one integer or bool")
    if not branches.own <= len(branches.results) or branches.declared > len(operands):
        raise ValueError("switch: there are fewer results, or operands, than it says")
    for program in branches.programs:
        sizes = require_inputs("switch", program.graph, operands)
        for value, result in zip(program.graph.outputs, branches.results, strict=True):
            named = atoms_in(result.shape)
            wanted = _substituted(result, {a: sizes[a] for a in named if a in sizes})
            if named <= sizes.keys():
                require_type("switch", program.graph.name, value, wanted, sizes)
            elif value.dtype != result.dtype or len(value.shape) != len(result.shape):
                raise ValueError(f"switch: {program.graph.name} gives another type than the branches together")


switch = general(
    "switch", "index *operands", attrs="branches", outs="*outs", vjp=_pull_back, jvp=_push, type=_types, check=_check,
    holds="branches",
    batch=_batch,
    takes_missing=True, dtypes="any", can_raise=True,
    doc="the results of one of several branches; an index out of range takes the last one, False the second",
)  # fmt: skip
switch.prepare = preparing(lambda operands, branches: operands[1:])

__all__ = ["Branches", "switch", "switch_branches"]
