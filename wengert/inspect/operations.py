"""How many operations the nodes of a graph are, and about how much work, for reports of what a run has cost."""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._control.loop import Loop
from .._core.dims import Atom, Dim
from .._core.graph import Graph, Node
from .._core.op import named, stated
from .._core.tensor import Value

__all__ = ["Known", "bytes_of", "flops_of", "note_stated", "note_steps", "steps_of", "work_of"]

_DEAR = 8.0  # a function such as exp, or a place in an order, is so many additions, to share time out


class Known(NamedTuple):
    """What is known of a run beside its graph.

    Attributes:
        sizes: what dimensions are.
        steps: how many steps a loop took, by the keys of its results.
    """

    sizes: dict[Atom, int]
    steps: dict[int, int]


def note_steps(node: Node, natives: Sequence[Any], results: Sequence[Any], known: Known) -> None:
    """Takes note of the steps of a loop that ran by itself, and of what dimensions were."""
    if node.op.facts.holds == "a loop" and results:
        spec = node.attrs[0]
        count = int(natives[0] if spec.is_counted else results[spec.carries])
        known.steps.update((v.key, count) for v in node.outputs)
    for values, arrays in ((node.inputs, natives), (node.outputs, results)):
        for value, array in zip(values, arrays, strict=False):
            for dim, extent in zip(value.shape, np.shape(array), strict=False):
                if isinstance(dim, Dim) and dim.is_atom:
                    known.sizes[dim.atom] = extent


def note_stated(graph: Graph, known: Known) -> None:
    """Takes note of the steps of loops in a graph that constants and what they consume tell."""
    numbers: dict[int, int] = {}
    for node in graph.nodes:
        if node.op.facts.holds == "a loop":
            spec: Loop = node.attrs[0]
            consumed = node.inputs[1 + spec.carries] if spec.is_counted and spec.xs else None
            length = spec.length if consumed is None else consumed.shape[0]
            count, is_known = (1, False) if length is None else _size_of((length,), known)
            count = count if is_known else numbers.get(node.inputs[0].key) if spec.is_counted else None
            if count is not None:
                known.steps.update((v.key, count) for v in node.outputs)
        elif not node.inputs and node.outputs[0].shape == () and node.outputs[0].dtype.kind in "iu":
            value = stated(node.op, node.attrs)
            if value is not None:
                numbers[node.outputs[0].key] = int(value)


def steps_of(node: Node, known: Known) -> int | None:
    """The steps of a loop, or of a backward pass, which takes what its loop has kept; None where nothing tells."""
    return next((known.steps[v.key] for v in (*node.outputs, *node.inputs) if v.key in known.steps), None)


def _size_of(shape: Sequence[Any], known: Known) -> tuple[int, bool]:
    """The elements of a shape, and whether all its extents are known (those that are not count as 1)."""
    total, is_known = 1, True
    for dim in shape:
        if isinstance(dim, Dim):
            if dim.atoms <= known.sizes.keys():
                dim = dim.evaluate(known.sizes)
            else:
                dim, is_known = 1, False
        total *= int(dim)
    return total, is_known


def bytes_of(value: Value, known: Known) -> int:
    """The bytes of a value, as far as its extents are known."""
    return 0 if value.is_history else _size_of(value.shape, known)[0] * value.dtype.itemsize


def flops_of(node: Node, known: Known) -> tuple[int, bool]:
    """The operations of a node on numbers, by the usual counts (a function such as exp is one), and whether there may
    be more; of one that holds programs, none."""
    op, facts = node.op, node.op.facts
    if facts.holds or facts.moves or facts.cost == "free" or not node.inputs:
        return 0, False
    shapes = [[_size_of((n,), known) for n in v.shape] for v in (*node.outputs[:1], *node.inputs)]
    is_least = not all(is_known for shape in shapes for _, is_known in shape)
    extents = [(*[n for n, _ in shape],) for shape in shapes]
    if facts.flops is not None:
        return int(facts.flops(*extents, **named(op, node.attrs))), is_least
    out = math.prod(extents[0]) if node.outputs else 0
    if op.kind == "elementwise" or facts.cost == "light":
        return out, is_least
    return max(out, math.prod(extents[bool(node.outputs)])), is_least


def work_of(node: Node, known: Known) -> float:
    """About what a node takes, to share the time of one function out among its lines."""
    count, _ = flops_of(node, known)
    is_dear = node.op.facts.cost == "dear" and node.op.facts.flops is None
    out = sum(_size_of(v.shape, known)[0] for v in node.outputs)
    return count * (_DEAR if is_dear else 1.0) + 0.5 * out * (node.op.facts.cost != "free" and bool(node.inputs))
