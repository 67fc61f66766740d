"""The linear part of a computation, for `wg.linearize`: a map of tangents, with all that depends on primals done once.

`LinearPart` pushes symbolic tangents through what `Steps` has kept, into a graph, and `TangentMap` runs at once what
does not depend on the tangents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.graph import Graph, Node, Origins
from .._core.state import STATE, building
from .._core.tensor import Tensor
from .forward import Tangents
from .recorded_ops import RecordedOp
from .replay import known_environment, run_again, store


class TangentMap:
    """What tangents come to, by a graph that takes them.

    Args:
        graph: finished; an output for each tensor among what was found.
        found: the targets' tangents: a tensor, ZERO, or None where a target does not depend on the sources.
    """

    def __init__(self, graph: Graph, found: Sequence[Any]) -> None:
        self._found = found
        self._inputs, self._outputs = graph.inputs, graph.outputs
        self._known, self._nodes = _run_ahead(graph)

    def __call__(self, tangents: Sequence[Tensor]) -> list[Any]:
        """The targets' tangents: a tensor, ZERO, or None where a target does not depend on the sources."""
        env = {**self._known, **{v.key: x for v, x in zip(self._inputs, tangents, strict=True)}}
        for node in self._nodes:
            store(env, node, run_again(node, (*[env[v.key] for v in node.inputs],), node.attrs))
        outs = iter(self._outputs)
        return [env[next(outs).key] if isinstance(dot, Tensor) else dot for dot in self._found]


class LinearPart(TangentMap):
    """From tangents of sources to tangents of targets.

    Args:
        steps: what ran.
        sources: the tensors that tangents are given of.
        targets: the tensors whose tangents are wanted.
        may_hold_zeros: whether the tangents to come may hold structural zeros, as unit vectors do.
    """

    def __init__(
        self,
        steps: Sequence[RecordedOp],
        sources: Sequence[Tensor],
        targets: Sequence[Tensor],
        may_hold_zeros: bool = False,
    ) -> None:
        graph, outer = Graph("linear part"), STATE.builder
        with building(graph), Origins() as origins:
            tangents = Tangents()
            for x in sources:
                tangents.set(x, graph.add_input(x.shape, x.dtype), may_hold_zeros)
            for step in steps:
                origins.at(outer.site_of(step.outs[0]._key) if outer is not None and step.outs else None)
                tangents.follow(*step)
            origins.at(None)
            found = [*map(tangents.of, targets)]
            graph.finish([dot for dot in found if isinstance(dot, Tensor)])
        super().__init__(graph, found)


def _run_ahead(graph: Graph) -> tuple[dict[int, Tensor], list[Node]]:
    """The values that do not depend on the inputs, and the nodes that are left."""
    known = known_environment(graph)
    needed = {v.key for v in graph.outputs}
    live: list[Node] = []
    for node in reversed(graph.nodes):
        if node.op.has_effect or any(v.key in needed for v in node.outputs):
            live.append(node)
            needed.update(v.key for v in node.inputs)
    left: list[Node] = []
    for node in reversed(live):
        if all(v.key in known for v in node.inputs) and not node.op.has_effect:
            store(known, node, run_again(node, (*[known[v.key] for v in node.inputs],), node.attrs))
        else:
            left.append(node)
    return known, left
