"""The linear part of a computation: what forward mode does to tangents, with all that depends on primals done once.

`Steps` is the recorder: it keeps every op that a source reaches with its operands and results. `linear_part` pushes
symbolic tangents through them into a graph, and runs at once what does not depend on the tangents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._core.dtypes import is_inexact
from .._core.graph import Graph, Node
from .._core.op import Op
from .._core.state import building
from .._core.tensor import Tensor
from .forward import push
from .replay import run_again, store


class Step(NamedTuple):
    """An op that ran."""

    op: Op
    operands: tuple[Tensor, ...]
    attrs: tuple[Any, ...]
    outs: tuple[Tensor, ...]


class Steps:
    """The recorder that keeps everything which depends on its sources."""

    def __init__(self, keys: Sequence[int]) -> None:
        self.steps: list[Step] = []
        self._tracked = set(keys)

    def tracks(self, key: int) -> bool:
        return key in self._tracked

    def note_exit(self, tensor: Tensor, what: str) -> None:
        """Forward mode keeps no explanations."""

    def on_read(self, variable: Any, tensor: Tensor) -> None:
        """Variables have no tangents of their own."""

    def observe(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Appends an op with an operand that depends on a source."""
        if op.kind == "stop" or not any(x._key in self._tracked for x in operands):
            return
        self.steps.append(Step(op, operands, attrs, outs))
        self._tracked.update(out._key for out in outs if is_inexact(out.dtype))

    def extend(self, op: Op, operands: tuple[Tensor, ...], attrs: tuple[Any, ...], outs: tuple[Tensor, ...]) -> None:
        """Takes note that an op has more results now than when it was observed."""
        for index in range(len(self.steps) - 1, -1, -1):
            if self.steps[index].outs[0]._key == outs[0]._key:
                self.steps[index] = self.steps[index]._replace(attrs=attrs, outs=outs)
                self._tracked.update(out._key for out in outs if is_inexact(out.dtype))
                return


class LinearPart:
    """From tangents of sources to tangents of targets.

    Args:
        steps: what ran.
        sources: the tensors that tangents are given of.
        targets: the tensors whose tangents are wanted.
        may_hold_zeros: whether the tangents to come may hold structural zeros, as unit vectors do.
    """

    def __init__(
        self, steps: Sequence[Step], sources: Sequence[Tensor], targets: Sequence[Tensor], may_hold_zeros: bool = False
    ) -> None:
        graph = Graph("linear part")
        with building(graph):
            tangents: dict[int, Any] = {x._key: graph.add_input(x.shape, x.dtype) for x in sources}
            masked = {x._key for x in sources} if may_hold_zeros else set[int]()
            for op, operands, attrs, outs in steps:
                dots = [tangents.get(x._key) for x in operands]
                if all(dot is None for dot in dots):
                    continue
                found = push(op, operands, attrs, outs, dots, [x._key in masked for x in operands])
                for out, dot, flag in zip(outs, *found, strict=True):
                    if dot is not None and is_inexact(out.dtype):
                        tangents[out._key] = dot
                        if flag:
                            masked.add(out._key)
            self._found = [tangents.get(y._key) for y in targets]
            graph.finish([dot for dot in self._found if isinstance(dot, Tensor)])
        self._inputs, self._outputs = graph.inputs, graph.outputs
        self._known, self._nodes = _run_ahead(graph)

    def __call__(self, tangents: Sequence[Tensor]) -> list[Any]:
        """The targets' tangents: a tensor, ZERO, or None where a target does not depend on the sources."""
        env = {**self._known, **{v.key: x for v, x in zip(self._inputs, tangents, strict=True)}}
        for node in self._nodes:
            store(env, node, run_again(node, (*[env[v.key] for v in node.inputs],), node.attrs))
        outs = iter(self._outputs)
        return [env[next(outs).key] if isinstance(dot, Tensor) else dot for dot in self._found]

    @property
    def reaches(self) -> list[bool]:
        """For each target whether it depends on the sources."""
        return [dot is not None for dot in self._found]


def _run_ahead(graph: Graph) -> tuple[dict[int, Tensor], list[Node]]:
    """The values that do not depend on the inputs, and the nodes that are left."""
    known = {value.key: tensor for tensor, value in graph.captures.values()}
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
