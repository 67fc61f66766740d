"""Cuts the body of a branch or of a loop's step in two: what runs forward, and what pulls cotangents back.

The backward half starts from as few values of the forward half as it can: the body's own inputs are there anyway,
constants are made anew, and what is cheaper to compute than to keep is computed again (`crossing`). In a loop, what
depends on its invariants alone is computed again, too, at each step back, instead of being kept for each step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from .._core.analysis import atoms_named, atoms_told, holders, makers, values_with_own_dims
from .._core.graph import Graph, Node
from .._core.tensor import Value
from .._core.types import Guards
from .crossing import bytes_of, computed_again
from .joint_graph import joint_of, places_among
from .kept_factors import with_kept_factors


class Halves(NamedTuple):
    """The two halves of a body, for one choice of active inputs.

    Attributes:
        inputs, nodes, outputs: the forward half (the body itself, in values of its own).
        seeded: which outputs the backward half takes cotangents of: those that depend on active inputs.
        given: positions of the inputs that the backward half reads.
        residuals: the other values of the forward half that it reads.
        backward: the graph from [*given, *residuals, *cotangents of seeded outputs] to cotangents of inputs.
        results: for each input a position among the backward outputs, `RowsAt`, ZERO or None.
        masked: for each input whether its cotangent may hold structural zeros.
        guards: what must hold of dimensions in the forward half.
    """

    inputs: list[Value]
    nodes: list[Node]
    outputs: list[Value]
    seeded: tuple[int, ...]
    given: tuple[int, ...]
    residuals: tuple[Value, ...]
    backward: Graph
    results: tuple[Any, ...]
    masked: tuple[bool, ...]
    guards: Guards

    def reads_as(self, other: Halves) -> bool:
        """Whether the backward half reads what that of other halves of the same body reads."""
        return (self.given, self.seeded, self._residual_places()) == (
            other.given, other.seeded, other._residual_places()
        )  # fmt: skip

    def _residual_places(self) -> list[tuple[int, int]]:
        return places_among(self.inputs, self.nodes, self.residuals)


class Cuttings:
    """The halves of one body for cotangents that may hold structural zeros, or not: all read the same.

    Attributes:
        usual: for cotangents without any.
    """

    def __init__(self, graph: Graph, active: Sequence[bool], **how: Any) -> None:
        self._asked = (graph, (*active,), how)
        self.usual = halves_of(graph, active, **how)
        self._others: dict[frozenset[int], Halves] = {}

    def of(self, masked: Iterable[int]) -> Halves:
        """The halves where the cotangents of these outputs may hold structural zeros."""
        key = frozenset(masked).intersection(self.usual.seeded)
        if not key:
            return self.usual
        if key not in self._others:
            graph, active, how = self._asked
            found = halves_of(graph, active, **how, masked=key)
            self._others[key] = found if found.reads_as(self.usual) else self.usual
        return self._others[key]


def halves_of(
    graph: Graph, active: Sequence[bool], invariants: Collection[int] = (), sparse: bool = False,
    carried: Collection[int] = (), unread: Collection[int] = (), masked: Collection[int] = (),
) -> Halves:  # fmt: skip
    """Both halves of a closed graph.

    Args:
        graph: what is cut.
        active: which inputs want a cotangent.
        invariants: positions of the inputs that are the same each time the body runs.
        sparse: whether the cotangents of what only rows are gathered from stay rows.
        carried: positions of the inputs that are kept for each step if the backward half reads them; others are there.
        unread: positions of the outputs that get no cotangent.
        masked: positions of those whose cotangents may hold structural zeros.
    """
    joint = joint_of(with_kept_factors(graph, active, invariants), active, sparse, unread, masked)
    keys = [v.key for v in joint.inputs]
    cut = _Cut(
        joint.inputs, joint.forward, joint.backward, joint.gradients, {keys[i] for i in invariants},
        {keys[i] for i in carried},
    )  # fmt: skip
    inputs = [*(joint.inputs[i] for i in cut.given), *cut.residuals, *joint.seeds]
    nodes = [*cut.again, *joint.backward]
    guards = joint.back_guards(inputs, nodes)
    backward = Graph.of(f"{graph.name}.backward", inputs, nodes, joint.gradients, guards)
    return Halves(
        joint.inputs, joint.forward, joint.outputs, joint.seeded, cut.given, cut.residuals, backward, joint.results,
        joint.masked, joint.guards,
    )  # fmt: skip


class _Cut:
    """Which values cross from the forward half to the backward half, and which are computed again there."""

    def __init__(
        self, inputs: list[Value], forward: list[Node], backward: list[Node], results: list[Value], invariants:
        set[int], carried: set[int],
    ) -> None:  # fmt: skip
        self._makers = makers(forward)
        self._positions = {v.key: i for i, v in enumerate(inputs)}
        self._invariants = _only_from(forward, invariants)
        needed = {v.key for v in results} | {v.key for node in backward for v in node.inputs}
        known = {*self._positions, *self._makers}
        self._there = self._positions.keys() - carried
        self._cheap = computed_again(forward, needed & known, self._is_free, self._cost)
        self._given: set[int] = set()
        self._residuals: dict[int, Value] = {}
        self._again: set[int] = set()
        values = {v.key: v for v in (*inputs, *(v for node in forward for v in node.outputs))}
        for key in needed & known:
            self._require(values[key])
        self.again = [node for node in forward if id(node) in self._again]
        self._hold_dims(inputs, forward, [*self.again, *backward])
        self.given = (*sorted(self._given),)
        order = {key: place for place, key in enumerate(values)}
        self.residuals = (*[self._residuals[key] for key in sorted(self._residuals, key=order.__getitem__)],)

    def _require(self, value: Value) -> None:
        """Has a value at hand in the backward half: an input, computed again, or saved."""
        waiting = [value]
        while waiting:
            value = waiting.pop()
            position = self._positions.get(value.key)
            if position is not None:
                self._given.add(position)
                continue
            node = self._makers[value.key]
            if self._is_made_again(node):
                self._again.add(id(node))
                waiting += node.inputs
            else:
                self._residuals[value.key] = value

    def _is_made_again(self, node: Node) -> bool:
        return self._is_free(node) or node.outputs[0].key in self._cheap

    def _is_free(self, node: Node) -> bool:
        """Whether a node is computed again without a question: constants, what costs nothing, what each step shares."""
        if node.op.has_effect or node.op.is_multi:
            return False
        return not node.inputs or node.op.facts.cost == "free" or node.outputs[0].key in self._invariants

    def _cost(self, value: Value) -> int:
        """Of keeping a value: its bytes are written and read."""
        return 0 if value.key in self._there else 2 * bytes_of(value)

    def _hold_dims(self, inputs: list[Value], forward: list[Node], nodes: list[Node]) -> None:
        """Values that the backward half needs only for the size of an unknown dimension."""
        have = {*self._residuals.values(), *(inputs[i] for i in self._given)}
        missing = atoms_named(nodes) - atoms_told((*have, *values_with_own_dims(nodes)))
        for value in holders((*inputs, *values_with_own_dims(forward)), missing)[0]:
            self._require(value)


def _only_from(nodes: list[Node], keys: set[int]) -> set[int]:
    """The values that depend on these keys (and constants) alone."""
    found = {*keys}
    for node in nodes:
        if all(v.key in found for v in node.inputs):
            found.update(v.key for v in node.outputs)
    return found
