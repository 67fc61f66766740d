"""Loop-invariant code motion: what a loop's step computes from its invariants alone is computed once, before the loop.

LLVM does that with numbers; here it is done with what is large, or takes long: reductions, products and the like, and
functions of large arrays. What only moves elements stays in the step, where it costs nothing, and so does light
arithmetic with nothing dear before it, which takes no longer than to read what was stored. Ops that can fail stay, too:
a loop may have no steps. Called by `regions.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...._control.joint_graph import live
from ...._core.graph import Graph, Node
from ...._core.tensor import Value
from ..plan.schedule import Kind
from .blocks import Block, kind_of
from .forms import Form


class Held(Protocol):
    """A carry of a loop, wherever its value is held."""

    def form(self) -> Form:
        """The value now."""
        ...


def hoisted(
    block: Block, graph: Graph, carries: Sequence[Held], invariants: Sequence[Form]
) -> tuple[Graph, list[Form]]:  # fmt: skip
    """A step without what its invariants decide, and that, as further invariants behind the others.

    Args:
        block: the one that the loop is in; what is hoisted is emitted into it.
        graph: the step, whose first inputs are the carries, and the last the invariants.
        carries: what goes round; what each step gives on as it is is an invariant, too.
        invariants: the invariants.
    """
    places = range(len(carries))
    resting = [i for i in places if graph.inputs[i].key == graph.outputs[i].key and not graph.inputs[i].is_history]
    given = [*(graph.inputs[i] for i in resting), *graph.inputs[len(graph.inputs) - len(invariants) :]]
    before = _before(graph, given)
    if not before:
        return graph, []
    made = {v.key for node in before for v in node.outputs}
    left = live([node for node in graph.nodes if not any(v.key in made for v in node.outputs)], graph.outputs)
    read = {v.key for node in left for v in node.inputs} | {v.key for v in graph.outputs}
    found = [v for node in before for v in node.outputs if v.key in read]
    outside = Graph.of(f"{graph.name}.invariants", given, live(_invariant_nodes(graph, given), found), found)
    forms = Block(block.setting, outside, [*(carries[i].form() for i in resting), *invariants], block.sizes).run()
    return Graph.of(graph.name, [*graph.inputs, *found], left, graph.outputs), forms


def _before(graph: Graph, given: Sequence[Value]) -> list[Node]:
    """The nodes of a step that are computed before it."""
    known = {v.key for v in given}
    stored: set[int] = set()
    found = []
    for node in _invariant_nodes(graph, given):
        kind = kind_of(node)
        is_near = all(v.key in stored or v.key in known for v in node.inputs)
        follows = is_near and any(v.key in stored for v in node.inputs)
        if _is_dear(node, kind) or (kind is Kind.POINT and follows):
            found.append(node)
            stored.update(v.key for v in node.outputs)
    return found


def _is_dear(node: Node, kind: Kind) -> bool:
    if not node.inputs or node.op.can_raise:
        return False
    return kind in (Kind.SINGLE, Kind.REDUCE) or (kind is Kind.POINT and node.op.facts.cost == "dear")


def _invariant_nodes(graph: Graph, given: Sequence[Value]) -> list[Node]:
    """The nodes that depend on invariants and constants alone."""
    known = {v.key for v in given}
    found = []
    for node in graph.nodes:
        if node.op.has_effect or node.op.facts.holds or any(v.is_history for v in node.outputs):
            continue
        if all(v.key in known for v in node.inputs):
            known.update(v.key for v in node.outputs)
            found.append(node)
    return found
