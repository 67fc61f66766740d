"""Runs a graph as a list of instructions: kernels and slot numbers, each slot freed after its last use.

For engines without a compiler, and for graphs too long to be worth generated source.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from .._core import dims
from .._core.analysis import dims_at_entry, dims_told, last_uses
from .._core.dims import Atom, Dim
from .._core.engine import Kernel
from .._core.extents import Check, checks_of
from .._core.graph import Graph, Node


class Checks:
    """The checks of a graph, each given out when the last of its dimensions is known."""

    def __init__(self, graph: Graph) -> None:
        self.waiting = checks_of(graph)

    def ready(self, known: Collection[Atom]) -> list[Check]:
        found = [c for c in self.waiting if all(a in known for a in c.atoms)]
        self.waiting = [c for c in self.waiting if c not in found]
        return found


class Instruction(NamedTuple):
    """One node, ready to run."""

    kernel: Kernel
    inputs: tuple[int, ...]
    attrs: tuple[Any, ...]
    outputs: tuple[int, ...]
    is_multi: bool
    frees: tuple[int, ...]
    has_dims: bool
    is_quiet: bool
    binds: tuple[tuple[Atom, int, int], ...]  # unknown dimensions, the result and the axis that tell them
    checks: tuple[Check, ...]  # what can be checked from then on


def _extent(x: Any, axis: int) -> int:
    """The size of an axis; of rows that differ in shape there is none, and nothing outside their loop asks for it."""
    return x.shape[axis] if axis < len(x.shape) else -1


Extent = Callable[[Any, int], Any]


def compile_instructions(
    graph: Graph, kernels: dict[str, Kernel] | Callable[[Node], Kernel], extent: Extent = _extent
) -> Callable[..., tuple[Any, ...]]:  # fmt: skip
    """A callable from the natives of a graph's inputs to those of its outputs.

    Args:
        graph: the program.
        kernels: by the op's name, or a function of the node.
        extent: the size of an axis of a native, where an engine has sizes that only a run tells.

    Slots are used again as soon as they are free, so that long programs keep few of them, and equal instructions are
    one object: a chain of a million ops is a list of a few of them.
    """
    slots: dict[int, int] = {v.key: i for i, v in enumerate(graph.inputs)}
    total = len(slots)
    free: list[int] = []
    instructions: list[Instruction] = []
    known: dict[Any, Instruction] = {}
    told = dims_told(graph)
    checks, bound = Checks(graph), {*dims_at_entry(graph)}
    at_entry = checks.ready(bound)
    for index, (node, ended) in enumerate(zip(graph.nodes, last_uses(graph), strict=True)):
        binds = told.get(index, ())
        bound.update(atom for atom, _, _ in binds)
        checked = (*checks.ready(bound),) if binds else ()
        inputs = tuple(slots[v.key] for v in node.inputs)
        for v in node.outputs:
            slots[v.key] = free.pop() if free else total
            total = max(total, slots[v.key] + 1)
        outputs = tuple(slots[v.key] for v in node.outputs)
        freed = tuple(slots.pop(v.key) for v in ended)
        free += freed
        kernel = kernels(node) if callable(kernels) else kernels[node.op.name]
        identity = (node.op.name, kernel, inputs, outputs, freed, node.is_quiet, binds, checked, *map(id, node.attrs))
        found = known.get(identity)
        if found is None:
            has_dims = bool(dims.dims_in(node.attrs))
            found = Instruction(
                kernel, inputs, node.attrs, outputs, node.op.is_multi, freed, has_dims, node.is_quiet, binds, checked
            )
            known[identity] = found  # holds the attributes, so that their identities stay theirs
        instructions.append(found)
    results = tuple(slots[v.key] for v in graph.outputs)
    return _runner(instructions, total, results, dims_at_entry(graph), extent, at_entry)


def _runner(
    instructions: list[Instruction], total: int, results: tuple[int, ...], sources: dict[Atom, tuple[int, int]],
    extent: Extent, checks: Sequence[Check],
) -> Callable[..., tuple[Any, ...]]:  # fmt: skip
    stretches = [(quiet, [*part]) for quiet, part in groupby(instructions, attrgetter("is_quiet"))]

    def run(*natives: object) -> tuple[Any, ...]:
        held: list[Any] = [*natives, *[None] * (total - len(natives))]
        sizes = {atom: extent(natives[i], axis) for atom, (i, axis) in sources.items()}
        for check in checks:
            check(sizes)
        for is_quiet, stretch in stretches:
            with np.errstate(all="ignore") if is_quiet else nullcontext():
                _execute(stretch, held, sizes, extent)
        return tuple(held[i] for i in results)

    return run


def _execute(instructions: list[Instruction], held: list[Any], sizes: dict[Atom, int], extent: Extent) -> None:
    for kernel, inputs, attrs, outputs, is_multi, freed, has_dims, _, binds, checks in instructions:
        if has_dims:
            attrs = (*[dims.map_attribute(a, partial(_evaluated, sizes)) for a in attrs],)
        found = kernel(*[held[i] for i in inputs], *attrs)
        if is_multi:
            for slot, value in zip(outputs, found, strict=True):
                held[slot] = value
        else:
            held[outputs[0]] = found
        for atom, result, axis in binds:
            sizes[atom] = extent(held[outputs[result]], axis)
        for check in checks:
            check(sizes)
        for slot in freed:
            held[slot] = None


def _evaluated(sizes: dict[Atom, int], dim: Dim) -> Any:
    """A dimension's size; the number of steps that a loop says it has may be known to nobody before it has run."""
    return dim.evaluate(sizes) if dim.atoms <= sizes.keys() else dim
