"""Taylor series through calls, branches and loops: programs that take and give the terms of all orders at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any, NamedTuple

from .._core.dims import Atom, Dim, DimLike
from .._core.graph import Graph
from .._core.state import building, recording
from .._core.tensor import Tensor
from .._core.types import TensorType, type_of
from .._prims.series import Series, Term
from .._prims.structural import zeros_of
from .._transforms.jets import WHOLE, Jets
from .._transforms.replay import replay
from .call import Program, call_program
from .loop import Loop, run_loop
from .switch import Branches, switch_branches, with_zeros

Pattern = tuple[bool, ...]
"""Of a value the terms 1, 2, ... that there are."""


class Jet(NamedTuple):
    """A program's series.

    Attributes:
        program: from inputs, then the terms that each has, to terms of the results.
        places: for each result and each order a position among these, or None for a zero.
        masked: for each result whether its terms may hold structural zeros.
    """

    program: Program
    places: list[list[int | None]]
    masked: list[bool]


def jet_of(graph: Graph, patterns: Sequence[Pattern], masked: Sequence[bool], order: int) -> Jet:
    """The series of a program whose inputs have these terms."""
    pushed = Graph(f"{graph.name}.jet")
    with building(pushed):
        inputs = [pushed.add_input(v.shape, v.dtype, weak=v.weak) for v in graph.inputs]
        recorder = Jets(order)
        for x, pattern, flag in zip(inputs, patterns, masked, strict=True):
            if any(pattern):
                recorder.start(x, [pushed.add_input(x.shape, x.dtype) if there else None for there in pattern], flag)
        with recording(recorder):
            outs = replay(graph, inputs)
        terms = [recorder.terms_of(out) for out in outs]
        pushed.finish([t for of_out in terms for t in of_out if t is not None])
    positions = iter(range(len(pushed.outputs)))
    places = [[None if t is None else next(positions) for t in of_out] for of_out in terms]
    return Jet(Program(pushed), places, [*map(recorder.may_hold_zeros, outs)])


def _jet(program: Program, patterns: Sequence[Pattern], masked: Sequence[bool], order: int) -> Jet:
    """The same of a program, which keeps it."""
    key = ("jet", (*patterns,), (*masked,))
    return program.jet(key, lambda: jet_of(program.graph, patterns, masked, order))


def _pattern(series: Series, order: int) -> Pattern:
    return (*[series[k] is not None for k in range(1, order + 1)],)


def _terms(series: Sequence[Series], patterns: Sequence[Pattern]) -> list[Tensor]:
    """The terms that there are, one value after the other."""
    return [s[k] for s, pattern in zip(series, patterns, strict=True) for k, there in enumerate(pattern, 1) if there]


def _placed(places: Sequence[Sequence[int | None]], found: Sequence[Tensor]) -> list[list[Term]]:
    return [[None if place is None else found[place] for place in row] for row in places]


# -- calls ------------------------------------------------------------------------------------------------------------


def _through_call(
    operands: Sequence[Tensor], attrs: tuple[Any, ...], series: Sequence[Series], order: int
) -> tuple[list[list[Term]], list[bool]]:  # fmt: skip
    program: Program = attrs[0]
    patterns = [_pattern(s, order) for s in series]
    jet = _jet(program, patterns, [s.masked for s in series], order)
    return _placed(jet.places, call_program(jet.program, [*operands, *_terms(series, patterns)])), jet.masked


# -- branches ---------------------------------------------------------------------------------------------------------


def _through_switch(
    operands: Sequence[Tensor], attrs: tuple[Any, ...], series: Sequence[Series], order: int
) -> tuple[list[list[Term]], list[bool]]:  # fmt: skip
    branches: Branches = attrs[0]
    index, *inputs = operands
    patterns = [_pattern(s, order) for s in series[1:]]
    masks = [s.masked for s in series[1:]]
    jets = [_jet(program, patterns, masks, order) for program in branches.programs]
    types = branches.types([*map(type_of, inputs)])
    count = len(types)
    columns = [[place for row in jet.places for place in row] for jet in jets]  # result by result, order by order
    targets = [i for i in range(count * order) if any(column[i] is not None for column in columns)]
    masked = [any(jet.masked[i] or None in jet.places[i] for jet in jets) for i in range(count)]
    found: list[Term] = [None] * (count * order)
    if targets:
        given = [*inputs, *_terms(series[1:], patterns)]
        spread = [t for t in types for _ in range(order)]
        programs = [
            with_zeros(jet.program, _each(primal, order), column, targets, given, spread)
            for primal, jet, column in zip(branches.programs, jets, columns, strict=True)
        ]
        # a term has its value's extents, under the same names
        known: dict[Atom, DimLike] = {d.atom: d for d in branches.outside.values() if isinstance(d, Dim)}
        either = Branches((*programs,), len(targets), results=(*[spread[i] for i in targets],), outside=known)
        for i, term in zip(targets, switch_branches(index, given, either), strict=True):
            found[i] = term
    return [found[i * order : (i + 1) * order] for i in range(count)], masked


def _each(program: Program, times: int) -> Program:
    """The program that gives each of its results so many times."""
    graph = program.graph
    outputs = [v for v in graph.outputs for _ in range(times)]
    return Program(Graph.of(graph.name, graph.inputs, graph.nodes, outputs, graph.guards))


# -- loops ------------------------------------------------------------------------------------------------------------


def _through_loop(
    operands: Sequence[Tensor], attrs: tuple[Any, ...], series: Sequence[Series], order: int
) -> tuple[list[list[Term]], list[bool]]:  # fmt: skip
    """One loop that carries values and terms together and keeps no history."""
    spec: Loop = attrs[0]
    offset = int(spec.is_counted)
    inputs, series = operands[offset:], series[offset:]
    width, first = spec.carries, spec.invariants_from()
    patterns = _patterns_inside(spec, series, order)
    # the terms of a loop variable may hold structural zeros, those of its start among them
    masked = (*[s.masked or i < width for i, s in enumerate(series)],)
    groups = (range(width), range(width, first), range(first, len(inputs)))
    emits = (*[e for e in spec.emits if isinstance(e, int)],)
    key = ("loop", (*patterns,), masked, emits, width, spec.xs)
    made: _Body = spec.body.jet(key, lambda: _body_with_terms(spec.body, patterns, masked, groups, emits, order))
    condition = None
    if spec.condition is not None:
        source, body = spec.condition, spec.body.graph
        condition = source.jet(key, lambda: _without_terms(source, patterns, groups, body))
    length = spec.steps(inputs) if made.stacked else spec.told_steps(inputs)
    both = Loop(
        condition, made.program, carries=width + len(made.moving) * order,
        xs=sum(1 + sum(patterns[i]) for i in groups[1]), is_reversed=spec.is_reversed, policy=spec.policy,
        length=length, varying=[*spec.varying], most=spec.most,
    )  # fmt: skip
    started = [_started(inputs[i], series[i], k) for i, k in _order(patterns, groups)]
    outs = run_loop([*operands[:offset], *started], both)
    return _results_of_loop(spec, made, order, outs[width:])


class _Body(NamedTuple):
    """The body of a loop with terms.

    Attributes:
        program: from carries, slices of xs and invariants, each with their terms, to the same of a step.
        moving: the carries that have terms.
        stacked: which terms a step gives beside: an output of the body without terms, and the order less 1.
        masked: for each output of the body whether its terms may hold structural zeros.
    """

    program: Program
    moving: list[int]
    stacked: list[tuple[int, int]]
    masked: list[bool]


def _body_with_terms(
    program: Program, patterns: Sequence[Pattern], masked: Sequence[bool], groups: Sequence[range],
    emits: Sequence[int], order: int,
) -> _Body:  # fmt: skip
    body = program.graph
    jet = jet_of(body, patterns, masked, order)
    moving = [i for i in groups[0] if any(patterns[i])]
    stacked = [(e, k) for e in emits for k, place in enumerate(jet.places[e]) if place is not None]
    graph = Graph(jet.program.graph.name)
    with building(graph):
        arguments = _arguments(graph, [*map(type_of, body.inputs)], patterns, groups)
        primals = [arguments[i, 0] for i in range(len(body.inputs))]
        results = replay(body, primals)
        terms = [x for (_, k), x in sorted(arguments.items()) if k]
        found = _placed(jet.places, replay(jet.program.graph, [*primals, *terms]))
        after = [zeros_of(type_of(results[i])) if term is None else term for i in moving for term in found[i]]
        beside = [t for e, k in stacked if (t := found[e][k]) is not None]
        graph.finish([*results[: len(groups[0])], *after, *beside])
    return _Body(Program(graph), moving, stacked, jet.masked)


def _results_of_loop(
    spec: Loop, made: _Body, order: int, found: Sequence[Tensor]
) -> tuple[list[list[Term]], list[bool]]:  # fmt: skip
    """For each result of a loop its terms: of the carries at the end, the number of steps, the stacks."""
    zeros: list[Term] = [None] * order
    ends: dict[int, list[Term]] = {i: [*found[n * order : (n + 1) * order]] for n, i in enumerate(made.moving)}
    stacks = dict(zip(made.stacked, found[len(made.moving) * order :], strict=True))
    terms = [ends.get(i, zeros) for i in range(spec.carries)]
    terms += [] if spec.is_counted else [zeros]
    terms += [
        [stacks.get((e, k)) for k in range(order)] if isinstance(e, int) else zeros for e in spec.emits
    ]  # fmt: skip
    masked = [i in ends for i in range(spec.carries)]  # a term that steps make begins as a zero
    masked += [] if spec.is_counted else [False]
    return terms, [*masked, *(isinstance(e, int) and made.masked[e] for e in spec.emits)]


def _patterns_inside(spec: Loop, series: Sequence[Series], order: int) -> list[Pattern]:
    """The terms that the body's inputs have: loop variables all of them, if they move at any step."""
    patterns = [_pattern(s, order) for s in series]
    flags = spec.activity([any(p) for p in patterns])
    return [(True,) * order if i < spec.carries and flag else p for i, (p, flag) in enumerate(zip(patterns, flags))]


def _order(patterns: Sequence[Pattern], groups: Sequence[range]) -> list[tuple[int, int]]:
    """How the inputs of a loop with terms follow one another: of each group the values, then the terms."""
    found: list[tuple[int, int]] = []
    for group in groups:
        found += zip(group, repeat(0))
        found += ((i, k) for i in group for k, there in enumerate(patterns[i], 1) if there)
    return found


def _arguments(
    graph: Graph, types: Sequence[TensorType], patterns: Sequence[Pattern], groups: Sequence[range]
) -> dict[tuple[int, int], Tensor]:  # fmt: skip
    """The inputs of a program with terms, by the input of the program without and the order."""
    return {(i, k): graph.add_input(types[i].shape, types[i].dtype) for i, k in _order(patterns, groups)}


def _started(x: Tensor, series: Series, k: int) -> Tensor:
    term = series[k]
    return zeros_of(type_of(x)) if term is None else term


def _without_terms(condition: Program, patterns: Sequence[Pattern], groups: Sequence[range], body: Graph) -> Program:
    """A condition that takes no notice of the terms among the carries and the invariants."""
    source = condition.graph
    graph = Graph(source.name)
    both = (groups[0], groups[2])
    with building(graph):
        arguments = _arguments(graph, [*map(type_of, body.inputs)], patterns, both)
        graph.finish(replay(source, [arguments[i, 0] for group in both for i in group]))
    return Program(graph)


WHOLE["a program"] = _through_call
WHOLE["branches"] = _through_switch
WHOLE["a loop"] = _through_loop

__all__ = ["Jet", "jet_of"]
