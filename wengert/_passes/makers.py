"""Who makes the arrays of a graph, and what is known of their elements: where they stand, and of what they are made.

`Makers` holds the nodes of a graph that is written anew, `take_known_places` in `known_places.py`.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from .._core.engine import default_engine
from .._core.graph import Graph, Node
from .._core.tensor import Value
from .._prims import structural as S

_MOST_NUMBERED = 2**24  # elements of an array whose places are counted through while a program is compiled

Places = np.ndarray[Any, np.dtype[np.int64]]


class Joint(NamedTuple):
    """The axis along which an array is joined from parts, and where these end."""

    axis: int
    ends: tuple[int, ...]

    def start(self, part: int) -> int:
        """Where a part begins."""
        return self.ends[part - 1] if part else 0

    def piece(self, joined: Places, part: int) -> Places:
        """A part of an array that is joined so."""
        return joined[(*[slice(None)] * self.axis, slice(self.start(part), self.ends[part]))]

    def part_of(self, taken: Node) -> int | None:
        """The number of the part in which all that a slice takes lies."""
        first, stop = (taken.attrs[k][self.axis] for k in (0, 1))
        part = bisect.bisect_right(self.ends, first)  # there may be a thousand
        return part if part < len(self.ends) and first < stop <= self.ends[part] else None


class Makers:
    """The nodes so far, and what is known of what they make.

    Attributes:
        nodes: in their order.
        readers: how often the values of the old graph are read, by key.
    """

    def __init__(self, graph: Graph) -> None:
        self.nodes: list[Node] = []
        self.readers = Counter(v.key for values in (*(n.inputs for n in graph.nodes), graph.outputs) for v in values)
        self._of: dict[int, Node] = {}  # by the key of what they make, as all that follows
        self._constants: set[int] = set()  # made of constants alone
        self._elementwise: dict[Node, bool] = {}  # of the nodes that were asked about
        self._joints: dict[int, Joint] = {}  # how arrays are joined: by a concatenation, or as all they are computed of

    def of(self, value: Value) -> Node | None:
        """The node that makes a value; None of an input."""
        return self._of.get(value.key)

    def keep(self, node: Node) -> None:
        """Adds a node."""
        self.nodes.append(node)
        for value in node.outputs:
            self._of[value.key] = node
        if not node.outputs:  # what is run for its effect alone
            return
        key, is_one_by_one = node.outputs[0].key, self.is_elementwise(node)
        if (is_one_by_one or only_places(node)) and all(map(self.is_constant, node.inputs)):
            self._constants.add(key)
            return
        joint = self.common_joint(node) if is_one_by_one else _joint_of_parts(node)
        if joint is not None:
            self._joints[key] = joint

    def constant(self, array: np.ndarray[Any, Any], near: Node) -> Value:
        """A constant, which stands where another node stood."""
        return self.made(near, S.constant, (), (array,), array.shape, array.dtype)

    def made(
        self, near: Node, op: Any, inputs: tuple[Value, ...], attrs: tuple[Any, ...], shape: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> Value:  # fmt: skip
        """What a new node gives, which stands where another one stood."""
        out = Value(shape, dtype, near.outputs[0].graph)
        self.keep(Node(op, inputs, (out,), attrs, near.site, near.is_quiet, near.label))
        return out

    # -- what is known ----------------------------------------------------------------------------------------------

    def is_constant(self, value: Value) -> bool:
        """Whether an array is made of constants alone, by what is followed here."""
        return value.key in self._constants

    def is_elementwise(self, node: Node) -> bool:
        """Whether a node with results computes each element of the elements at its place."""
        found = self._elementwise.get(node)
        if found is None:
            found = self._elementwise[node] = _is_elementwise(node)
        return found

    def is_computed(self, maker: Node) -> bool:
        """Whether it is an elementwise op for nobody else, and of at most one operand elements have to be taken as they
        are: others are constant, or moved."""
        if not self.is_elementwise(maker) or self.readers[maker.outputs[0].key] != 1:
            return False
        makers = [self.of(v) for v in maker.inputs if not self.is_constant(v)]
        return sum(m is None or not only_places(m) for m in makers) <= 1

    def is_open(self, maker: Node) -> bool:
        """Whether the elements of what a node makes can be taken from what it is made of."""
        return only_places(maker) or self.is_computed(maker) or self.own_joint(maker.outputs[0]) is not None

    def joint(self, value: Value) -> Joint | None:
        """How an array is joined."""
        return self._joints.get(value.key)

    def own_joint(self, value: Value) -> Joint | None:
        """How an array for nobody else is joined."""
        return self.joint(value) if self.readers[value.key] == 1 else None

    def common_joint(self, node: Node) -> Joint | None:
        """How all that an elementwise op reads is joined but for constants, if it is and in one way."""
        found = {self._operand_joint(v) for v in node.inputs if not self.is_constant(v)}
        return found.pop() if len(found) == 1 else None

    def _operand_joint(self, value: Value) -> Joint | None:
        """How an operand is joined; other readers may have a concatenation, but not what would be computed twice."""
        maker = self.of(value)
        is_open = self.readers[value.key] == 1 or (maker is not None and maker.op is S.concatenate)
        return self.joint(value) if is_open else None


def _joint_of_parts(node: Node) -> Joint | None:
    out = node.outputs[0]
    if node.op is not S.concatenate or not is_countable(out):
        return None
    (axis,) = node.attrs
    return Joint(axis, (*itertools.accumulate(cast(int, v.shape[axis]) for v in node.inputs),))


# -- nodes ------------------------------------------------------------------------------------------------------------


def size_of(value: Value) -> int:
    """The number of an array's elements."""
    return math.prod(value.shape)


def is_countable(value: Value) -> bool:
    """Whether an array has so few elements, of a known number, that their places can be counted through."""
    return all(type(d) is int for d in value.shape) and size_of(value) <= _MOST_NUMBERED


def _is_plain(node: Node) -> bool:
    """Whether a node computes one array of ordinary ones, and nothing else."""
    op = node.op
    return not (op.is_multi or op.has_effect or op.can_raise or op.facts.buffer or op.facts.holds)


def only_moves(node: Node) -> bool:
    """Whether elements of the operand only stand elsewhere."""
    return (
        bool(node.op.facts.moves) and _is_plain(node) and len(node.inputs) == 1
        and is_countable(node.inputs[0]) and is_countable(node.outputs[0])
    )  # fmt: skip


def is_pad(node: Node) -> bool:
    """Whether zeros are put around the operand."""
    return node.op is S.pad and is_countable(node.inputs[0]) and is_countable(node.outputs[0])


def only_places(node: Node) -> bool:
    """Whether it is known of each element where it comes from, if from anywhere."""
    return node.op is S.constant or only_moves(node) or is_pad(node)


def _is_elementwise(node: Node) -> bool:
    out = node.outputs[0]
    if node.op.facts.mixes != "nothing" or node.op.facts.moves or not _is_plain(node) or not node.inputs:
        return False
    return is_countable(out) and all(v.shape == out.shape for v in node.inputs)


def origins(node: Node) -> Places:
    """Where the elements of a result stand in the operand, counted through."""
    return np.asarray(computed(node, numbers(node.inputs)))


def numbers(arrays: Sequence[Value]) -> list[Places]:
    """For arrays the numbers of their elements, counted through one after another."""
    starts = itertools.accumulate(map(size_of, arrays), initial=0)
    return [np.arange(s, s + size_of(v)).reshape(v.shape) for s, v in zip(starts, arrays, strict=False)]


def computed(node: Node, arrays: Sequence[Any]) -> Any:
    """What a node computes of arrays."""
    return default_engine().kernels[node.op.name](*arrays, *node.attrs)
