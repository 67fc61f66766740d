"""Runs a graph as a list of instructions: kernels and slot numbers, each slot freed after its last use.

For engines without a compiler, and for graphs too long to be worth generated source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._core import dims
from .._core.dims import Atom, Dim
from .._core.engine import Kernel
from .._core.graph import Graph
from .._core.tensor import Value


class Instruction(NamedTuple):
    """One node, ready to run."""

    kernel: Kernel
    inputs: tuple[int, ...]
    attrs: tuple[Any, ...]
    outputs: tuple[int, ...]
    is_multi: bool
    frees: tuple[int, ...]
    has_dims: bool


def compile_instructions(graph: Graph, kernels: dict[str, Kernel]) -> Callable[..., tuple[Any, ...]]:
    """A callable from the natives of a graph's inputs to those of its outputs."""
    slots: dict[int, int] = {v.key: i for i, v in enumerate(graph.inputs)}
    instructions = []
    frees = last_uses(graph)
    for index, node in enumerate(graph.nodes):
        inputs = (*[slots[v.key] for v in node.inputs],)
        for v in node.outputs:
            slots[v.key] = len(slots)
        outputs = (*[slots[v.key] for v in node.outputs],)
        freed = (*[slots[v.key] for v in frees[index]],)
        has_dims = bool(dims.dims_in(node.attrs))
        kernel = kernels[node.op.name]
        instructions.append(Instruction(kernel, inputs, node.attrs, outputs, node.op.is_multi, freed, has_dims))
    results = (*[slots[v.key] for v in graph.outputs],)
    total = len(slots)
    sources = dim_sources(graph.inputs)

    def run(*natives: Any) -> tuple[Any, ...]:
        held: list[Any] = [*natives, *[None] * (total - len(natives))]
        sizes = {atom: natives[i].shape[axis] for atom, (i, axis) in sources.items()}
        for kernel, inputs, attrs, outputs, is_multi, freed, has_dims in instructions:
            if has_dims:
                attrs = (*[dims.map_attribute(a, lambda d: d.evaluate(sizes)) for a in attrs],)
            found = kernel(*[held[i] for i in inputs], *attrs)
            if is_multi:
                for slot, value in zip(outputs, found, strict=True):
                    held[slot] = value
            else:
                held[outputs[0]] = found
            for slot in freed:
                held[slot] = None
        return (*[held[i] for i in results],)

    return run


def last_uses(graph: Graph) -> list[list[Value]]:
    """For each node the values that nothing reads after it (inputs and outputs of the graph excepted)."""
    kept = {v.key for v in graph.outputs} | {v.key for v in graph.inputs}
    frees: list[list[Value]] = [[] for _ in graph.nodes]
    seen = set(kept)
    for index in range(len(graph.nodes) - 1, -1, -1):
        node = graph.nodes[index]
        for value in (*node.inputs, *node.outputs):
            if value.key not in seen:
                seen.add(value.key)
                frees[index].append(value)
    return frees


def dim_sources(inputs: Sequence[Value]) -> dict[Atom, tuple[int, int]]:
    """Where the size of each unknown dimension is found: an input's position and axis."""
    found: dict[Atom, tuple[int, int]] = {}
    for index, value in enumerate(inputs):
        for axis, dim in enumerate(value.shape):
            if isinstance(dim, Dim) and dim.is_atom:
                found.setdefault(dim.atom, (index, axis))
    return found
