"""For which values of its whole-number inputs a graph computes what Python's own integers would have given.

Python's integers grow where int64 wraps around, have an inverse that is a float, fit or do not fit an array of bytes,
and index an array or fail. Bounds of the inputs are followed through what is computed of them alone and of constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._control.call import inner_programs
from .._core import dtypes
from .._core.graph import Graph, Node
from .._core.op import stated

LEAST, MOST = -(2**63), 2**63 - 1
_WIDEST = 63  # bits by which anything is shifted, and the most that a power of two can have

Bounds = tuple[int, int]


class _Unfit(Exception):
    """For some inputs within the bounds Python's integers would give another value."""


class _ReachedNode(NamedTuple):
    """A node that an input reaches, with the parts of the programs that it holds which the input reaches there."""

    node: Node
    inner: tuple[tuple[_Chain, dict[int, int]], ...]  # with them, by key of an input, the key outside


class _Chain:
    """What is computed in a graph of some of its whole numbers."""

    def __init__(self, graph: Graph, keys: set[int]) -> None:
        self.steps: list[_ReachedNode] = []
        self.fixed: dict[int, Bounds] = {}
        reached = set(keys)
        for node in graph.nodes:
            if not node.inputs:
                self._note_constant(node)
            elif any(v.key in reached for v in node.inputs):
                self.steps.append(_ReachedNode(node, _inner_chains(node, reached)))
                reached.update(v.key for v in node.outputs if _is_whole(v))
        self.outputs = [v.key for v in graph.outputs]

    def _note_constant(self, node: Node) -> None:
        value = stated(node.op, node.attrs)
        if value is not None and node.outputs and _is_whole(node.outputs[0]) and np.ndim(value) == 0:
            self.fixed[node.outputs[0].key] = (int(value), int(value))

    def run(self, given: Mapping[int, Bounds]) -> list[Bounds | None]:
        """The bounds of the outputs, where they are followed; `_Unfit` if the numbers are not Python's."""
        known = {**self.fixed, **given}
        for node, inner in self.steps:
            found: list[Bounds | None] = []
            for chain, names in inner:
                found = chain.run({key: known[outer] for key, outer in names.items() if outer in known})
            if node.op.facts.holds == "a program":
                known.update({v.key: b for v, b in zip(node.outputs, found, strict=False) if b is not None})
            elif not node.op.facts.holds:
                self._follow(node, known)
        return [known.get(key) for key in self.outputs]

    def _follow(self, node: Node, known: dict[int, Bounds]) -> None:
        operands = [known.get(v.key) for v in node.inputs]
        if node.op.name in _PLACED:
            _require_places(node, operands)
        elif node.op.name == "convert":
            _require_range(operands[0], node.outputs[0].dtype)
        out = node.outputs[0] if node.outputs else None
        if out is None or not _is_whole(out) or node.op.name in _PLACED:
            return
        # what else takes part is a tensor in Python's eyes, too, and wraps around there
        whole = [b for b in operands if b is not None]
        if len(whole) == len(operands):
            low, high = _bounds_of(node, whole)
            if low < LEAST or high > MOST:
                raise _Unfit
            known[out.key] = (low, high)


def _inner_chains(node: Node, reached: set[int]) -> tuple[tuple[_Chain, dict[int, int]], ...]:
    named: dict[int, tuple[Any, dict[int, int]]] = {}
    for place, value in enumerate(node.inputs):
        if value.key in reached:
            for program, position in inner_programs(node.op, node.attrs, place):
                _, names = named.setdefault(id(program), (program, {}))
                names[program.graph.inputs[position].key] = value.key
    return (*[(_Chain(program.graph, {*names}), names) for program, names in named.values()],)


def _is_whole(value: Any) -> bool:
    return not value.shape and dtypes.is_integer(value.dtype)


_PLACED = frozenset({"gather", "scatter_add", "scatter_set", "scatter_max", "scatter_min", "scatter_mul"})


def _require_places(node: Node, operands: Sequence[Bounds | None]) -> None:
    """An index beyond the array is an error to Python, also where an engine would take the nearest element."""
    extents = node.inputs[0].shape
    for extent, bounds in zip(extents, operands[node.op.fixed :], strict=False):
        if bounds is not None and (type(extent) is not int or bounds[0] < -extent or bounds[1] >= extent):
            raise _Unfit


def _require_range(bounds: Bounds | None, dtype: np.dtype[Any]) -> None:
    if bounds is not None and dtypes.is_integer(dtype):
        info = np.iinfo(dtype)
        if bounds[0] < info.min or bounds[1] > info.max:
            raise _Unfit


def _bounds_of(node: Node, operands: list[Bounds]) -> Bounds:
    rule = _RULES.get(node.op.name)
    if rule is not None:
        return rule(*operands)
    if node.op.name in _BY_NUMBER and type(node.attrs[0]) is int:
        return _RULES[_BY_NUMBER[node.op.name]](*operands, (node.attrs[0], node.attrs[0]))
    raise _Unfit


def _corners(of: Callable[[int, int], int]) -> Callable[[Bounds, Bounds], Bounds]:
    def bounds(a: Bounds, b: Bounds) -> Bounds:
        found = [of(x, y) for x in a for y in b]
        return min(found), max(found)

    return bounds


def _divided(a: Bounds, b: Bounds) -> Bounds:
    _require_divisor(b)
    return _corners(lambda x, y: x // y)(a, b)


def _remainder(a: Bounds, b: Bounds) -> Bounds:
    _require_divisor(b)
    return (0, b[1] - 1) if b[0] > 0 else (b[0] + 1, 0)


def _require_divisor(b: Bounds) -> None:
    if b[0] <= 0 <= b[1]:
        raise _Unfit


def _power(a: Bounds, b: Bounds) -> Bounds:
    most = max(abs(a[0]), abs(a[1]))
    if b[0] < 0 or (most > 1 and b[1] > _WIDEST):
        raise _Unfit
    high = max(most ** b[1], 1) if most > 1 else 1
    return (-high if a[0] < 0 else 0), high


def _shifted(a: Bounds, b: Bounds, of: Callable[[int, int], int]) -> Bounds:
    if b[0] < 0 or b[1] > _WIDEST:
        raise _Unfit
    return _corners(of)(a, b)


def _of_bits(a: Bounds, b: Bounds) -> Bounds:
    if a[0] < 0 or b[0] < 0:
        return LEAST, MOST
    return 0, 2 ** max(a[1].bit_length(), b[1].bit_length()) - 1


def _size(a: Bounds) -> Bounds:
    most = max(abs(a[0]), abs(a[1]))
    return (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))), most


def _same(a: Bounds) -> Bounds:
    return a


_product = _corners(lambda x, y: x * y)
_larger, _smaller = _corners(max), _corners(min)

_RULES: dict[str, Callable[..., Bounds]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _product, "square": lambda a: _product(a, a), "neg": lambda a: (-a[1], -a[0]), "abs": _size,
    "sign": lambda a: (-1, 1), "floor_divide": _divided, "mod": _remainder, "power": _power,
    "maximum": _larger, "fmax": _larger, "minimum": _smaller, "fmin": _smaller,
    "left_shift": lambda a, b: _shifted(a, b, lambda x, y: x << y),
    "right_shift": lambda a, b: _shifted(a, b, lambda x, y: x >> y),
    "bitwise_and": _of_bits, "bitwise_or": _of_bits, "bitwise_xor": _of_bits,
    "bitwise_not": lambda a: (~a[1], ~a[0]),
    "alias": _same, "regular": _same, "stop_gradient": _same, "convert": _same, "barrier": _same,
}  # fmt: skip
_BY_NUMBER = {"times_number": "mul", "add_number": "add", "power_number": "power"}


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
        except _Unfit:
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
