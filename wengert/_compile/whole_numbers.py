"""For which values of its whole-number inputs a graph computes what Python's own integers would have given.

Python's integers grow where int64 wraps around, have an inverse that is a float, fit or do not fit an array of bytes,
and index an array or fail; floats made of them cannot be divided by 0, and have a square root that is complex. Bounds
of the inputs are followed through what is computed of them alone and of constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._control.call import inner_programs
from .._core import dtypes
from .._core.graph import Graph, Node
from .._core.op import stated
from .number_bounds import LEAST, MOST, Bounds, NumberBounds, Unfit, bounds_of


class _ReachedNode(NamedTuple):
    """A node that an input reaches, with the parts of the programs that it holds which the input reaches there."""

    node: Node
    inner: tuple[tuple[_Chain, dict[int, int]], ...]  # with them, by key of an input, the key outside


class _Chain:
    """What is computed in a graph of some of its numbers."""

    def __init__(self, graph: Graph, keys: set[int]) -> None:
        self.steps: list[_ReachedNode] = []
        self.fixed: dict[int, NumberBounds] = {}
        reached = set(keys)
        for node in graph.nodes:
            if not node.inputs:
                self._note_constant(node)
            elif any(v.key in reached for v in node.inputs):
                self.steps.append(_ReachedNode(node, _inner_chains(node, reached)))
                reached.update(v.key for v in node.outputs if _is_number(v))
            elif node.op.name == "convert" and node.inputs[0].key in self.fixed:
                self._note_converted(node)
        self.outputs = [v.key for v in graph.outputs]

    def _note_constant(self, node: Node) -> None:
        value = stated(node.op, node.attrs)
        if value is not None and node.outputs and _is_number(node.outputs[0]) and np.ndim(value) == 0:
            number = np.asarray(value).item()
            number = abs(number) if isinstance(number, complex) else number
            if np.isfinite(number):
                self.fixed[node.outputs[0].key] = (number, number)

    def _note_converted(self, node: Node) -> None:
        if dtypes.is_inexact(node.outputs[0].dtype):
            self.fixed[node.outputs[0].key] = self.fixed[node.inputs[0].key]

    def run(self, given: Mapping[int, NumberBounds]) -> list[NumberBounds | None]:
        """The bounds of the outputs, where they are followed; `Unfit` if the numbers are not Python's."""
        known = {**self.fixed, **given}
        for node, inner in self.steps:
            found: list[NumberBounds | None] = []
            for chain, names in inner:
                found = chain.run({key: known[outer] for key, outer in names.items() if outer in known})
            if node.op.facts.holds == "a program":
                known.update({v.key: b for v, b in zip(node.outputs, found, strict=False) if b is not None})
            elif not node.op.facts.holds:
                self._follow(node, known)
        return [known.get(key) for key in self.outputs]

    def _follow(self, node: Node, known: dict[int, NumberBounds]) -> None:
        operands = [known.get(v.key) for v in node.inputs]
        if node.op.name in _PLACED:
            _require_places(node, operands)
        elif node.op.name == "convert":
            _require_range(operands[0], node.outputs[0].dtype)
        out = node.outputs[0] if node.outputs else None
        if out is None or not _is_number(out) or node.op.name in _PLACED:
            return
        # what else takes part is a tensor in Python's eyes, too, and wraps around there
        numbers = [b for b in operands if b is not None]
        found = bounds_of(node, numbers) if len(numbers) == len(operands) else None
        if found is not None:
            known[out.key] = found


def _inner_chains(node: Node, reached: set[int]) -> tuple[tuple[_Chain, dict[int, int]], ...]:
    named: dict[int, tuple[Any, dict[int, int]]] = {}
    for place, value in enumerate(node.inputs):
        if value.key in reached:
            for program, position in inner_programs(node.op, node.attrs, place):
                _, names = named.setdefault(id(program), (program, {}))
                names[program.graph.inputs[position].key] = value.key
    return (*[(_Chain(program.graph, {*names}), names) for program, names in named.values()],)


def _is_number(value: Any) -> bool:
    return not value.shape and (dtypes.is_integer(value.dtype) or dtypes.is_inexact(value.dtype))


_PLACED = frozenset({"gather", "scatter_add", "scatter_set", "scatter_max", "scatter_min", "scatter_mul"})


def _require_places(node: Node, operands: Sequence[NumberBounds | None]) -> None:
    """An index beyond the array is an error to Python, also where an engine would take the nearest element."""
    extents = node.inputs[0].shape
    for extent, bounds in zip(extents, operands[node.op.fixed :], strict=False):
        if bounds is not None and (type(extent) is not int or bounds[0] < -extent or bounds[1] >= extent):
            raise Unfit


def _require_range(bounds: NumberBounds | None, dtype: np.dtype[Any]) -> None:
    if bounds is not None and dtypes.is_integer(dtype):
        info = np.iinfo(dtype)
        if bounds[0] < info.min or bounds[1] > info.max:
            raise Unfit


def limits(graph: Graph, values: Mapping[int, int]) -> dict[int, Bounds] | None:
    """Bounds around some values of whole-number inputs, by position, between which the graph computes as Python does.

    Returns:
        The widest that were found; None if not even the values themselves fit.
    """
    keys = {place: graph.inputs[place].key for place in values}
    chain = _Chain(graph, {*keys.values()})

    def fits(bounds: Mapping[int, Bounds]) -> bool:
        try:
            chain.run({keys[place]: b for place, b in bounds.items()})
        except Unfit:
            return False
        return True

    if not fits({place: (v, v) for place, v in values.items()}):
        return None
    high = _furthest(lambda h: fits({p: (v, max(v, h)) for p, v in values.items()}), min(values.values()), MOST)
    low = _furthest(
        lambda least: fits({p: (min(v, least), max(v, high)) for p, v in values.items()}), max(values.values()), LEAST
    )
    return {p: (min(v, low), max(v, high)) for p, v in values.items()}


def _furthest(fits: Callable[[int], bool], near: int, far: int) -> int:
    """The last number that fits on the way from one that does to another, where what lies before it does, too."""
    if fits(far):
        return far
    while abs(far - near) > 1:
        middle = (near + far) // 2
        if fits(middle):
            near = middle
        else:
            far = middle
    return near


__all__ = ["LEAST", "MOST", "Bounds", "limits"]
