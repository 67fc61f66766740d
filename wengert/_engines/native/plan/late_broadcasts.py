"""A graph pass: an expensive function of a broadcast value is computed before the broadcast, so once.

A number that is broadcast to an array, and a function that takes long of it alone, as the logarithm of a normalising
constant is in a density: the function is computed of the number, and what was found is broadcast. Elements that are
repeated one by one are broadcast along an axis of their own, and reshaped. Called by `prepare.py`.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from ...._core.dtypes import HISTORY
from ...._core.graph import Graph, Node
from ...._core.op import REGISTRY
from ...._core.tensor import Value
from ...._passes.rewrite import with_nodes
from ..lower.scalars import SCALARS


def narrowed(graph: Graph) -> Graph:
    """The graph with functions that take long computed of what their operands repeat."""
    if not any(_takes_long(node) for node in graph.nodes):
        return graph
    narrowing = _Narrowing()
    for node in graph.nodes:
        narrowing.add(node)
    return with_nodes(graph, narrowing.nodes, graph.outputs) if narrowing.has_changed else graph


def _takes_long(node: Node) -> bool:
    return node.op.kind == "elementwise" and node.op.facts.cost == "dear"


class _Repeated(NamedTuple):
    """The shape of what a value repeats, () of one number, and the shape that it is broadcast to before the value's own
    is made of it; None: that is its own."""

    shape: tuple[int, ...]
    wide: tuple[int, ...] | None = None


class _Narrowing:
    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.makers: dict[int, Node] = {}
        self.repeated: dict[int, _Repeated | None] = {}  # what `_repeats` says of each value so far
        self.narrow: dict[tuple[int, tuple[int, ...]], Value] = {}  # by the key of what repeats them, and their shape
        self.has_changed = False

    def add(self, node: Node) -> None:
        """Adds a node, or in its place a smaller one and what repeats its result."""
        found = self._computed(node) if _takes_long(node) else None
        if found is not None:
            self.has_changed = True
            self._add(self._spread(node, *found))
        else:
            self._add(node)

    def _spread(self, node: Node, found: Value, wide: tuple[int, ...] | None) -> Node:
        """What makes a node's result of what it repeats."""
        (out,) = node.outputs
        name, shape = "broadcast_to", out.shape
        if wide is not None:
            about = (wide,), node.site, node.is_quiet, node.label
            found, name = self._made(Node(REGISTRY[name], (found,), (_like(out, wide),), *about)), "reshape"
        return Node(REGISTRY[name], (found,), (out,), (shape,), node.site, node.is_quiet, node.label)

    def _note(self, node: Node) -> None:
        for value in node.outputs:
            self.makers[value.key] = node
            self.repeated[value.key] = self._repeats(value, node)

    def _computed(self, node: Node) -> tuple[Value, tuple[int, ...] | None] | None:
        """The result of an elementwise node on what its operands repeat, and the shape that it is broadcast to; None if
        it is not much less."""
        (out,) = node.outputs
        repeated = self._repeated_by_all(node)
        if repeated is None or not _is_less(repeated.shape, out.shape):
            return None
        shape, wide = repeated
        inputs = (*[self._of_shape(v, shape) for v in node.inputs],)
        made = Node(node.op, inputs, (_like(out, shape),), node.attrs, node.site, node.is_quiet, node.label)
        self.add(made)
        return made.outputs[0], wide

    def _repeats(self, value: Value, node: Node) -> _Repeated | None:
        """What a value repeats; None if nothing, or a size is not known."""
        if node.inputs and self.repeated.get(node.inputs[0].key) is None and node.op.name != "broadcast_to":
            return None  # as of most values
        if not _is_known(value.shape):
            return None
        if node.op.name == "broadcast_to":
            return _Repeated(node.inputs[0].shape) if _is_known(node.inputs[0].shape) else None
        if node.op.name == "reshape":
            found = self.repeated.get(node.inputs[0].key)
            return found and found._replace(wide=(found.wide or node.inputs[0].shape) if found.shape else None)
        if _number_of(node) is not None:
            return _Repeated(())
        if node.op.name in SCALARS and not node.op.is_multi:
            return self._repeated_by_all(node)
        return None

    def _repeated_by_all(self, node: Node) -> _Repeated | None:
        """What the operands of a node repeat, if that is one thing."""
        found = [self.repeated.get(v.key) for v in node.inputs]
        return None if None in found else _one_of_all(found)

    def _of_shape(self, value: Value, shape: tuple[int, ...]) -> Value:
        """What a value repeats, in that shape; operands come first, without recursion, since chains may be long."""
        todo = [value]
        while todo:
            missing = [v for v in self._read_for(todo[-1]) if (v.key, shape) not in self.narrow]
            todo += missing
            if not missing:
                last = todo.pop()
                if (last.key, shape) not in self.narrow:
                    self.narrow[last.key, shape] = self._narrowed(last, shape)
        return self.narrow[value.key, shape]

    def _read_for(self, value: Value) -> tuple[Value, ...]:
        """The operands of what repeats since they do."""
        node = self.makers[value.key]
        return () if node.op.name == "broadcast_to" or _number_of(node) is not None else node.inputs

    def _narrowed(self, value: Value, shape: tuple[int, ...]) -> Value:
        node = self.makers[value.key]
        if node.op.name == "broadcast_to" and node.inputs[0].shape == shape:
            return node.inputs[0]
        if node.op.name == "reshape":
            return self.narrow[node.inputs[0].key, shape]
        number = node.inputs[0] if node.op.name == "broadcast_to" else _number_of(node)
        if isinstance(number, Value):  # one number among arrays
            made = Node(node.op, (number,), (_like(value, shape),), (shape,), node.site, node.is_quiet, node.label)
        elif number is not None:
            attrs = (shape, number, value.dtype)
            made = Node(REGISTRY["full"], (), (_like(value, shape),), attrs, node.site, node.is_quiet, node.label)
        else:
            inputs = (*[self.narrow[v.key, shape] for v in node.inputs],)
            made = Node(node.op, inputs, (_like(value, shape),), node.attrs, node.site, node.is_quiet, node.label)
        return self._made(made)

    def _made(self, node: Node) -> Value:
        self._add(node)
        return node.outputs[0]

    def _add(self, node: Node) -> None:
        self._note(node)
        self.nodes.append(node)


def _like(value: Value, shape: tuple[int, ...]) -> Value:
    return Value(shape, value.dtype, value.graph, value.name, value.weak)


def _is_known(shape: tuple[int, ...]) -> bool:
    return all(type(n) is int for n in shape)


def _is_less(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether an array is much smaller than another, which has elements: of none nothing would be computed."""
    return _is_known(whole) and 2 * prod(shape) <= prod(whole) and prod(whole) > 0


def _one_of_all(found: list[_Repeated | None]) -> _Repeated | None:
    """The one of several that are no numbers; None if there are two, or one that is not there."""
    one = _Repeated(())
    for repeated in found:
        if repeated is None or (repeated.shape and one.shape and repeated != one):
            return None
        one = one if one.shape else repeated
    return one


def _number_of(node: Node) -> object:
    """The number that all elements of a node's result are; None if there is none."""
    if node.op.name == "full":
        return node.attrs[1] if np.ndim(node.attrs[1]) == 0 else None
    if node.op.name != "constant":
        return None
    value = np.asarray(node.attrs[0])
    if not value.size or value.dtype == HISTORY:
        return None
    bits = np.ascontiguousarray(value).reshape(-1, 1).view(np.uint8)
    return value.flat[0] if bool(np.all(bits == bits[0])) else None
