"""Joins loops that take the same steps, so that what both compute is computed once.

Forward mode's loop carries the values beside their tangents: it does all that the loop does whose tangents it finds,
and a program has both. Two loops of a graph become one where neither needs what the other gives, they run equally
often, and a good part of a step of one is a part of a step of the other as well: the same ops on operands that are
equal in each step, since they start equal and are replaced by what is equal.
"""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from .._control.call import Program, has_effect
from .._control.loop import History, Loop, loop
from .._control.switch import Branches
from .._core.dims import Dim, DimLike
from .._core.dtypes import is_inexact
from .._core.graph import Graph, Node
from .._core.tensor import Value
from .cse import attribute_identity
from .drop_rules import drop_rules
from .joining import Rules, join_pairs
from .rewrite import with_inputs
from .simplify import simplify

_ENOUGH = 1 / 8  # of the nodes of a step: where the other loop's has so many of them, one loop is less work than two


def join_loops(graph: Graph) -> Graph:
    """The graph with loops joined; itself where there are none to join."""
    return join_pairs(graph, Rules(_may_be_joined, _marks, _joined))


def _may_be_joined(node: Node) -> bool:
    """Whether a node is a loop whose results are plain arrays and whose steps are seen by their results alone."""
    if node.op is not loop:
        return False
    spec: Loop = node.attrs[0]
    if spec.varying or any(isinstance(e, History) for e in spec.emits) or spec.outside.keys() - {"steps"}:
        return False
    return not any(has_effect(program.graph) for program in spec.inner)


def _marks(node: Node) -> set[Hashable]:
    """Which way a loop goes, as often as an operand says, each with a value that a carry of it starts with."""
    one = _Parts(node)
    count = node.inputs[0].key if one.spec.is_counted else None
    return {(one.spec.is_reversed, count, v.key) for v in one.carries}


class _Parts:
    """A loop's operands, and what its steps are.

    Attributes:
        carries, xs, invariants: operands.
        step: the body, without names for names.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.spec: Loop = node.attrs[0]
        operands = node.inputs[self.spec.is_counted :]
        self.first = self.spec.invariants_from()  # of the inputs of a step
        self.carries = operands[: self.spec.carries]
        self.xs = operands[self.spec.carries : self.first]
        self.invariants = operands[self.first :]

    def simplified(self) -> Graph:
        return simplify(drop_rules(self.spec.body.graph))


class _Numbering:
    """Gives values numbers, equal ones where the same op computes them from what has equal numbers."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self._next = 0

    def fresh(self, count: int) -> list[int]:
        start = self._next
        self._next += count
        return [*range(start, self._next)]

    def number(self, graph: Graph, given: Sequence[int]) -> tuple[dict[int, int], list[Node]]:
        """The numbers of a graph's values, by key, for inputs with these; and the nodes that nothing before has had."""
        numbers = {v.key: n for v, n in zip(graph.inputs, given, strict=True)}
        new: list[Node] = []
        for node in graph.nodes:
            operands = (*[numbers[v.key] for v in node.inputs],)
            types = (*[(v.shape, v.dtype) for v in node.outputs],)
            identity = (node.op.name, node.is_quiet, operands, types, (*map(_attribute, node.attrs),))
            start = self._known.get(identity)
            if start is None:
                start = self._known[identity] = self.fresh(len(node.outputs))[0] if node.outputs else self._next
                new.append(node)
            numbers.update((v.key, start + k) for k, v in enumerate(node.outputs))
        return numbers, new


def _attribute(value: Any) -> Any:
    """A stand-in for an attribute; the same branches or loop in two places have names of their own for dimensions."""
    if type(value) is Loop:
        programs = (value.condition, value.body, value.thin)
        return (*programs, value.carries, value.xs, value.emits, value.is_reversed, value.length, value.most)
    return value.programs if type(value) is Branches else attribute_identity(value)


class _Match(NamedTuple):
    """What of the first of two loops is in the second, too.

    Attributes:
        carries: for carries of the first that are in each step equal to one of the second, which one.
        fixed: for slices and invariants (as inputs of a step) the same.
        numbers: of the values of both steps, by key.
        new: the nodes of the first one's step that the second one's does not have.
    """

    carries: dict[int, int]
    fixed: dict[int, int]
    numbers: tuple[dict[int, int], dict[int, int]]
    new: list[Node]


def _joined(first: Node, second: Node) -> tuple[Node, dict[int, Value]] | None:
    """A loop that gives what two give, and what stands for results of the first; None if they are not to be joined."""
    one, other = _Parts(first), _Parts(second)
    lengths = _length_of_both(one.spec, other.spec)
    if not lengths:
        return None
    steps = one.simplified(), other.simplified()
    match = _match(one, other, *steps)
    if match is None or not any(is_inexact(one.carries[i].dtype) for i in match.carries):
        return None
    if len(steps[0].nodes) - len(match.new) < _ENOUGH * min(len(g.nodes) for g in steps):
        return None
    return _Joining(one, other, *steps, match).run(lengths[0])


def _length_of_both(first: Loop, second: Loop) -> list[DimLike | None]:
    """The number of steps of both as types have it, where it is one and the same; else nothing."""
    if first.emits and second.emits and first.length is None and second.length is None:
        return []  # each tells it by its stacks, under a name of its own
    if first.length == second.length or not (first.emits and second.emits):
        return [second.length if second.emits else first.length]
    for own, told in ((first, second), (second, first)):  # one may be told by the results of the other
        if own.length is None and told.length in own.own_dims():
            return [None]
    return []


def _match(one: _Parts, other: _Parts, step: Graph, its_step: Graph) -> _Match | None:
    """What steps have in common, if loops run equally often: carries that start equal are taken to stay so, until those
    are found that do not."""
    carries = _starting_equal(one, other, step, its_step)
    fixed = _fixed_alike(one, other, step, its_step)
    while carries:
        numbering = _Numbering()
        given = _with_equals(other, numbering.fresh(len(its_step.inputs)))
        own = numbering.fresh(len(step.inputs))
        both = {**carries, **fixed}
        taken = [given[both[i]] if i in both else n for i, n in enumerate(own)]
        known, _ = numbering.number(its_step, given)
        found, new = numbering.number(step, taken)
        stays = {
            i: j for i, j in carries.items() if found[step.outputs[i].key] == known[its_step.outputs[j].key]
        }  # fmt: skip
        if len(stays) == len(carries):
            is_same = _stop_together(one.spec, other.spec, numbering, taken, given)
            return _Match(carries, fixed, (found, known), new) if is_same else None
        carries = stays
    return None


def _with_equals(parts: _Parts, numbers: list[int]) -> list[int]:
    """Numbers for the inputs of a step, of which slices and invariants that are the same operand have the same."""
    first, operands = parts.spec.carries, (*parts.xs, *parts.invariants)
    known: dict[Any, int] = {}
    for place, (operand, number) in enumerate(zip(operands, numbers[first:], strict=True), first):
        numbers[place] = known.setdefault((operand.key, place < parts.first), number)
    return numbers


def _starting_equal(one: _Parts, other: _Parts, step: Graph, its_step: Graph) -> dict[int, int]:
    """Carries that start with the same value, in order: of those with equal starts the first goes with the first."""
    waiting: dict[Any, deque[int]] = defaultdict(deque)
    for j, (start, value) in enumerate(zip(other.carries, its_step.inputs, strict=False)):
        waiting[start.key, value.shape, value.dtype].append(j)
    found: dict[int, int] = {}
    for i, (start, value) in enumerate(zip(one.carries, step.inputs, strict=False)):
        places = waiting[start.key, value.shape, value.dtype]
        if places:
            found[i] = places.popleft()
    return found


def _fixed_alike(one: _Parts, other: _Parts, step: Graph, its_step: Graph) -> dict[int, int]:
    """The slices and invariants that are those of the other loop."""
    found: dict[int, int] = {}
    for operands, start, others, its_start in (
        (one.xs, one.spec.carries, other.xs, other.spec.carries),
        (one.invariants, one.first, other.invariants, other.first),
    ):
        places = {v.key: j for j, v in enumerate(others, its_start)}
        for i, v in enumerate(operands, start):
            j = places.get(v.key)
            if j is not None and step.inputs[i].shape == its_step.inputs[j].shape:
                found[i] = j
    return found


def _stop_together(
    first: Loop, second: Loop, numbering: _Numbering, taken: Sequence[int], given: Sequence[int]
) -> bool:  # fmt: skip
    """Whether conditions, if there are any, ask the same of what is equal."""
    if first.condition is None or second.condition is None:
        return True
    answers: list[int] = []
    for spec, numbers in ((second, given), (first, taken)):
        assert spec.condition is not None
        test = simplify(drop_rules(spec.condition.graph))
        inputs = [*numbers[: spec.carries], *numbers[spec.invariants_from() :]]
        answers.append(numbering.number(test, inputs)[0][test.outputs[0].key])
    return answers[0] == answers[1]


class _Joining:
    """Two loops whose steps have been compared, becoming one."""

    def __init__(self, one: _Parts, other: _Parts, step: Graph, its_step: Graph, match: _Match) -> None:
        self.one, self.other, self.step, self.its_step, self.match = one, other, step, its_step, match
        self.added = [i for i in range(len(step.inputs)) if i not in match.carries and i not in match.fixed]
        found, known = match.numbers
        makers = {known[v.key]: v for v in _values(its_step)}
        makers.update({found[v.key]: v for node in match.new for v in node.outputs})
        makers.update({found[step.inputs[i].key]: step.inputs[i] for i in self.added})
        self.stands_for = {v.key: makers[found[v.key]] for v in _values(step)}

    def run(self, length: DimLike | None) -> tuple[Node, dict[int, Value]] | None:
        """The loop, and what stands for results of the first one."""
        if self.are_mixed():
            return None
        one, other, spec = self.one, self.other, self.other.spec
        nodes = [*self.its_step.nodes, *(self.with_inputs(node) for node in self.match.new)]
        carries = self.added_among(0, one.spec.carries)
        emits, results, left = self.emits()
        outputs = [
            *self.its_step.outputs[: spec.carries], *(self.stood_for(self.step.outputs[i]) for i in carries),
            *(value for value, _ in emits),
        ]  # fmt: skip
        groups = self.groups()
        inputs = [value for group in groups for value, _ in group]
        body = Program(Graph.of(spec.body.graph.name, inputs, nodes, outputs, spec.body.graph.guards))
        made = Loop(
            self.condition(), body, carries=len(groups[0]), xs=len(groups[1]), is_reversed=spec.is_reversed,
            policy=spec.policy, length=length, most=spec.most if spec.most == one.spec.most else None,
        )  # fmt: skip
        made.outside = {**_told_by(spec), **_told_by(one.spec)}
        made.even = frozenset(k for k, (_, is_even) in enumerate(emits, made.carries) if is_even)
        operands = (*other.node.inputs[: spec.is_counted], *(operand for group in groups for _, operand in group))
        ends = (*other.node.outputs[: spec.carries], *(one.node.outputs[i] for i in carries))
        between = other.node.outputs[spec.carries : spec.first_emit]
        node = Node(
            loop, operands, (*ends, *between, *results), (made,), other.node.site,
            one.node.is_quiet and other.node.is_quiet, other.node.label,
        )  # fmt: skip
        return node, {**left, **self.ends_found()}

    def are_mixed(self) -> bool:
        """Whether both steps are made of the same values, so that those of the first, where it is not wholly in the
        second, would stand for two things."""
        return bool(self.match.new or self.added) and not {v.key for v in _values(self.step)}.isdisjoint(
            [v.key for v in _values(self.its_step)]
        )

    def stood_for(self, value: Value) -> Value:
        return self.stands_for[value.key]

    def with_inputs(self, node: Node) -> Node:
        return with_inputs(node, self.stands_for)

    def added_among(self, start: int, stop: int) -> list[int]:
        return [i for i in self.added if start <= i < stop]

    def groups(self) -> list[list[tuple[Value, Value]]]:
        """Inputs of a step with their operands: carries, slices and invariants of the second, each with those added."""
        one, other = self.one, self.other
        offsets = one.spec.is_counted, other.spec.is_counted
        edges = zip(
            (0, one.spec.carries, one.first, len(self.step.inputs)),
            (0, other.spec.carries, other.first, len(self.its_step.inputs)), strict=True,
        )  # fmt: skip
        found: list[list[tuple[Value, Value]]] = []
        for (start, its_start), (stop, its_stop) in itertools.pairwise(edges):
            group = [(self.its_step.inputs[j], other.node.inputs[j + offsets[1]]) for j in range(its_start, its_stop)]
            added = self.added_among(start, stop)
            found.append([*group, *((self.step.inputs[i], one.node.inputs[i + offsets[0]]) for i in added)])
        return found

    def condition(self) -> Program | None:
        """The second's condition, which takes no notice of what is added."""
        source = self.other.spec.condition
        if source is None:
            return None
        graph, carries = source.graph, self.other.spec.carries
        added = [
            [Value(v.shape, v.dtype, graph.serial) for v in map(self.step.inputs.__getitem__, self.added_among(*ends))]
            for ends in ((0, self.one.spec.carries), (self.one.first, len(self.step.inputs)))
        ]  # fmt: skip
        inputs = [*graph.inputs[:carries], *added[0], *graph.inputs[carries:], *added[1]]
        return Program(Graph.of(graph.name, inputs, graph.nodes, graph.outputs, graph.guards))

    def emits(self) -> tuple[list[tuple[Value, bool]], list[Value], dict[int, Value]]:
        """What a step gives to be stacked, each with whether all of it has one shape; the stacks; what stands for
        stacks of the first that are the same as some of the second."""
        one, other = self.one, self.other
        emits: list[tuple[Value, bool]] = []
        results: list[Value] = []
        known: dict[int, Value] = {}
        for e, result in zip(other.spec.emits, other.node.outputs[other.spec.first_emit :], strict=True):
            assert isinstance(e, int)  # a history is not joined
            emits.append((self.its_step.outputs[e], e in other.spec.even))
            results.append(result)
            known.setdefault(self.its_step.outputs[e].key, result)
        left: dict[int, Value] = {}
        for e, result in zip(one.spec.emits, one.node.outputs[one.spec.first_emit :], strict=True):
            assert isinstance(e, int)
            value = self.stood_for(self.step.outputs[e])
            same = known.get(value.key)
            if same is not None and same.shape == result.shape:
                left[result.key] = same
                continue
            emits.append((value, e in one.spec.even))
            results.append(result)
        return emits, results, left

    def ends_found(self) -> dict[int, Value]:
        """What stands for the carries of the first at the end, and for its number of steps."""
        one, other = self.one, self.other
        found = {one.node.outputs[i].key: other.node.outputs[j] for i, j in self.match.carries.items()}
        if not one.spec.is_counted:
            found[one.node.outputs[one.spec.carries].key] = other.node.outputs[other.spec.carries]
        return found


def _told_by(spec: Loop) -> dict[str, Dim]:
    """The dimensions that a loop's results tell: without stacks none."""
    return spec.outside if spec.emits and spec.length is None else {}


def _values(graph: Graph) -> list[Value]:
    """The inputs of a graph and all that its nodes make."""
    return [*graph.inputs, *(v for node in graph.nodes for v in node.outputs)]
