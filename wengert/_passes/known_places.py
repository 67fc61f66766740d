"""Takes elements at known places from where they come from: `gather` with constant indices of arrays that others make.

What only moves elements is left out, since where an element of its result comes from is known. Of an elementwise op
the elements are taken before it, where at most one operand is not constant: what it computes of constants is known,
too. Of arrays that were put together in an order the same elements are found in pieces one behind another, which need
not be interleaved; and of what is computed of joined arrays only to be sliced into its parts again, the parts are
computed. Sparse Jacobians read their entries so out of the passes' results.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from .._core import dtypes
from .._core.deep_calls import Deep, run_deep
from .._core.engine import default_engine
from .._core.graph import Graph, Node
from .._core.tensor import Value
from .._prims import structural as S
from .._prims.indexing import gather
from .rewrite import with_nodes, within_part

_MOST_NUMBERED = 2**24  # elements of an array whose places are counted through while a program is compiled
_MOST_RUNS = 16  # of places with one step, of which each is taken by itself
_LEAST_OF_RUN = 16
_FEW = 256  # elements of what is computed in parts because some of these are read by themselves ...
_LONG = 800  # ... in graphs of more nodes, where they would meet in memory: in others they are in registers

Places = np.ndarray[Any, np.dtype[np.int64]]


def take_known_places(graph: Graph) -> Graph:
    """The graph with gathers at known places moved to what makes the elements; itself where nothing changes."""
    if not any(node.op in (gather, S.slice_) for node in graph.nodes):
        return graph
    taking = _Taking(graph)
    for node in graph.nodes:
        taking.add(node)
    return with_nodes(graph, taking.nodes, [*graph.outputs]) if taking.has_changed else graph


class _Joint(NamedTuple):
    """The axis along which an array is joined from parts, and their extents."""

    axis: int
    extents: tuple[int, ...]

    def ends(self) -> list[int]:
        return [*itertools.accumulate(self.extents)]

    def part_of(self, taken: Node) -> int | None:
        """The number of the part in which all that a slice takes lies."""
        first, stop = (taken.attrs[k][self.axis] for k in (0, 1))
        found = [k for k, (a, b) in enumerate(itertools.pairwise([0, *self.ends()])) if a <= first < stop <= b]
        return found[0] if found else None


class _Taking:
    """The nodes of the graph so far."""

    def __init__(self, graph: Graph) -> None:
        self.nodes: list[Node] = []
        self.has_changed = False
        self.is_long = len(graph.nodes) > _LONG
        self.producers: dict[int, Node] = {}
        self.readers = Counter(v.key for values in (*(n.inputs for n in graph.nodes), graph.outputs) for v in values)
        self.constants: set[int] = set()  # by the keys of values made of constants alone
        self.joints: dict[int, _Joint] = {}  # how arrays are joined: by a concatenation, or as all they are computed of
        self.slices: dict[int, list[Node]] = {}  # by the key of what they are of
        for node in graph.nodes:
            if node.op is S.slice_:
                self.slices.setdefault(node.inputs[0].key, []).append(node)

    def add(self, node: Node) -> None:
        """Adds a node of the graph, or what stands for it."""
        if node.op is gather:
            node = self._taken(node) or node
        elif node.op is S.slice_:
            node = self._sliced(node) or node
        elif node.outputs and _is_elementwise(node):
            node = self._apart(node) or node
        self._keep(node)

    def _apart(self, node: Node) -> Node | None:
        """A concatenation of the parts in which a few numbers are computed, where they were joined and are taken apart
        again by some who read them: the parts of equations for a few unknowns would meet in memory otherwise. None if
        the node stays."""
        out = node.outputs[0]
        joint = self._joint_of(node)
        if joint is None or _size(out) > _FEW or not self.is_long:
            return None
        if not any(joint.part_of(reader) is not None for reader in self.slices.get(out.key, [])):
            return None
        self.has_changed = True
        columns = [run_deep(self._pieces(operand, joint, node)) for operand in node.inputs]
        pieces = [self._before_shaping(node, row) for row in zip(*columns, strict=True)]
        return node.remade(S.concatenate, (*pieces,), (joint.axis,))

    def _before_shaping(self, node: Node, row: tuple[Value, ...]) -> Value:
        """What an elementwise op gives for these operands: computed in the shape that they had before they were parts
        to be joined, in which what is taken of the result goes on."""
        joined = shape = row[0].shape
        makers = {v.key: self.producers.get(v.key) for v in row if not self._is_constant(v)}
        given = {k: m.inputs[0] for k, m in makers.items() if m is not None and m.op is S.reshape}
        shapes = {v.shape for v in given.values()}
        if len(given) == len(makers) and len(shapes) == 1:
            shape = shapes.pop()
            row = (*[given[v.key] if v.key in given else self._shaped(v, shape, node) for v in row],)
        return self._shaped(self._made(node, node.op, row, node.attrs, shape, node.outputs[0].dtype), joined, node)

    def _sliced(self, node: Node) -> Node | None:
        """The slice of one of the parts that an array is computed in, if all that is read of it are such slices; None
        if a slice stays."""
        (x,) = node.inputs
        maker, readers = self.producers.get(x.key), self.slices.get(x.key, [])
        if maker is None or not _is_elementwise(maker) or len(readers) != self.readers[x.key] or self._is_constant(x):
            return None
        joint = self.joints.get(x.key)
        if joint is None or any(joint.part_of(reader) is None for reader in readers):
            return None
        part = cast(int, joint.part_of(node))
        start = [0, *joint.ends()][part]
        self.has_changed = True
        attrs = within_part(node.attrs, joint.axis, start)
        return node.remade(S.slice_, (*run_deep(self._pieces(x, joint, node, part)),), attrs)

    def _keep(self, node: Node) -> None:
        self.nodes.append(node)
        for value in node.outputs:
            self.producers[value.key] = node
        if not node.outputs:  # what is run for its effect alone
            return
        if (_only_places(node) or _is_elementwise(node)) and all(map(self._is_constant, node.inputs)):
            self.constants.add(node.outputs[0].key)
        else:
            self._note_joint(node)

    def _note_joint(self, node: Node) -> None:
        """Notes how the result of a node is joined."""
        out = node.outputs[0]
        if node.op is S.concatenate and _is_countable(out):
            (axis,) = node.attrs
            self.joints[out.key] = _Joint(axis, (*[cast(int, v.shape[axis]) for v in node.inputs],))
        elif _is_elementwise(node):
            joint = self._joint_of(node)
            if joint is not None:
                self.joints[out.key] = joint

    def _joint_of(self, node: Node) -> _Joint | None:
        """How all that an elementwise op reads is joined, if it is and in one way."""
        found = {self._operand_joint(v) for v in node.inputs if not self._is_constant(v)}
        return found.pop() if len(found) == 1 else None

    def _operand_joint(self, value: Value) -> _Joint | None:
        """How an operand is joined; other readers may have a concatenation, but not what would be computed twice."""
        maker = self.producers.get(value.key)
        is_open = self.readers[value.key] == 1 or (maker is not None and maker.op is S.concatenate)
        return self.joints.get(value.key) if is_open else None

    def _taken(self, node: Node) -> Node | None:
        """The last node of those that stand for a gather; None if it stays."""
        x, *indices = node.inputs
        makers = [self.producers.get(i.key) for i in indices]
        maker = self.producers.get(x.key)
        if maker is None or len(indices) != len(x.shape) or not self._is_open(maker):
            return None
        if not all(m is not None and m.op is S.constant for m in makers):
            return None
        places = _places([cast(Node, m).attrs[0] for m in makers], x.shape)
        if places is None or places.size == 0:
            return None
        self.has_changed = True
        found = self._by_runs(x, places.reshape(-1), node)
        out = node.outputs[0]
        if not isinstance(found, Value):
            return node.remade(S.constant, (), (found.reshape(out.shape),))
        return node.remade(S.reshape, (found,), (out.shape,))

    def _by_runs(self, x: Value, places: Places, node: Node) -> Any:
        """The elements of an array at flat places: each run by itself, which may lie in one part of many."""
        runs = _runs(places)
        if not 1 < len(runs) <= _MOST_RUNS or min(map(len, runs)) < _LEAST_OF_RUN:
            return self._elements(x, places, node)
        found = [self._elements(x, run, node) for run in runs]
        rows = [f if isinstance(f, Value) else self._constant(f, node) for f in found]
        return self._made(node, S.concatenate, (*rows,), (0,), places.shape, x.dtype)

    # -- what elements are taken from -------------------------------------------------------------------------------

    def _is_open(self, maker: Node) -> bool:
        """Whether the elements of what a node makes can be taken from what it is made of."""
        return _only_places(maker) or self._is_computed(maker) or self._joint(maker.outputs[0]) is not None

    def _joint(self, value: Value) -> _Joint | None:
        """How an array for nobody else is joined."""
        return self.joints.get(value.key) if self.readers[value.key] == 1 else None

    def _pieces(self, value: Value, joint: _Joint, node: Node, only: int | None = None) -> Deep[list[Value]]:
        """The arrays that an array is joined from, or the one of a number alone."""
        maker, chosen = self.producers[value.key], slice(None) if only is None else slice(only, only + 1)
        if self._is_constant(value):
            whole = self._elements(value, np.arange(_size(value)), node).reshape(value.shape)
            return [self._constant(part, node) for part in np.split(whole, joint.ends()[:-1], joint.axis)[chosen]]
        if maker.op is S.concatenate:
            return [*maker.inputs[chosen]]
        columns: list[list[Value]] = []
        for operand in maker.inputs:
            columns.append((yield self._pieces(operand, joint, node, only)))
        dtype = maker.outputs[0].dtype
        rows = zip(*columns, strict=True)
        return [self._made(maker, maker.op, row, maker.attrs, row[0].shape, dtype) for row in rows]

    def _is_computed(self, maker: Node) -> bool:
        """Whether it is an elementwise op for nobody else, and of at most one operand elements have to be taken as they
        are: others are constant, or moved."""
        if not _is_elementwise(maker) or self.readers[maker.outputs[0].key] != 1:
            return False
        makers = [self.producers.get(v.key) for v in maker.inputs if not self._is_constant(v)]
        return sum(m is None or not _only_places(m) for m in makers) <= 1

    def _is_constant(self, value: Value) -> bool:
        """Whether an array is made of constants alone, by what is followed here."""
        return value.key in self.constants

    def _elements(self, value: Value, places: Places, node: Node) -> Any:
        """The elements of an array at flat places: an array if they are known, otherwise a value."""
        return run_deep(self._found(value, places, node))

    def _found(self, value: Value, places: Places, node: Node) -> Deep[Any]:
        maker = self.producers.get(value.key)
        if maker is None:
            return self._gathered(value, places, node)
        if maker.op is S.constant:
            return np.asarray(maker.attrs[0]).reshape(-1)[places]
        if _only_moves(maker):
            return (yield self._found(maker.inputs[0], _origins(maker).reshape(-1)[places], node))
        if _is_pad(maker):
            return (yield self._of_padded(maker, places, node))
        fits = places.size <= _size(value)  # otherwise more would be computed than before
        if self._is_constant(value) or (fits and self._is_computed(maker)):
            operands: list[Any] = []
            for operand in maker.inputs:
                operands.append((yield self._found(operand, places, node)))
            return self._computed(maker, operands, places.shape)
        joint = self._joint(value) if fits or maker.op is S.concatenate else None
        if joint is not None:
            pieces = yield self._pieces(value, joint, node)
            return (yield self._of_pieces(pieces, joint.axis, places, node))
        return self._gathered(value, places, node)

    def _computed(self, maker: Node, operands: list[Any], shape: tuple[int, ...]) -> Any:
        if not any(isinstance(x, Value) for x in operands):
            with np.errstate(all="ignore"):
                return np.asarray(_run(maker, operands))
        inputs = (*[x if isinstance(x, Value) else self._constant(x, maker) for x in operands],)
        return self._made(maker, maker.op, inputs, maker.attrs, shape, maker.outputs[0].dtype)

    def _of_padded(self, maker: Node, places: Places, node: Node) -> Deep[Any]:
        """Elements of an array with zeros around it."""
        (x,) = maker.inputs
        found = np.asarray(_run(maker, [np.arange(1, _size(x) + 1).reshape(x.shape)])).reshape(-1)[places]
        zeros = np.zeros(places.shape, x.dtype)
        if not found.any():
            return zeros
        inner = yield self._found(x, np.maximum(found - 1, 0), node)
        if found.all():
            return inner
        if not isinstance(inner, Value):
            return np.where(found > 0, inner, zeros)
        inputs = (self._constant(found > 0, node), inner, self._constant(zeros, node))
        return self._made(node, S.select, inputs, (), places.shape, x.dtype)

    def _of_pieces(self, pieces: list[Value], axis: int, places: Places, node: Node) -> Deep[Any]:
        """Elements of arrays joined along an axis, from those that have any of them."""
        ends = [*itertools.accumulate(map(_size, pieces))]
        found = np.concatenate(_numbers(pieces), axis).reshape(-1)[places]
        which = np.searchsorted(ends, found, side="right")
        needed = np.unique(which)
        starts = np.array([0, *ends])
        if needed.size == 1:
            piece = int(needed[0])
            return (yield self._found(pieces[piece], found - starts[piece], node))
        pieces = [pieces[k] for k in needed]
        moved = np.zeros(len(ends), np.int64)  # by piece, how far it lies before where it lay
        moved[needed] = starts[needed] - np.array([0, *itertools.accumulate(map(_size, pieces))])[:-1]
        return self._gathered(self._behind_one_another(pieces, axis, node), found - moved[which], node)

    def _behind_one_another(self, pieces: list[Value], axis: int, node: Node) -> Value:
        """Arrays that were joined along an axis, all elements of each behind those of the one before."""
        shapes = {(*v.shape[:axis], *v.shape[axis + 1 :]) if v.shape[axis] == 1 else v.shape for v in pieces}
        shape = shapes.pop()
        if shapes or not shape:  # arrays of one shape need not be made flat
            shape = ()
        rows = [self._shaped(x, shape or (_size(x),), node) for x in pieces]
        whole = (sum(cast(int, x.shape[0]) for x in rows), *shape[1:])
        return self._made(node, S.concatenate, (*rows,), (0,), whole, rows[0].dtype)

    def _shaped(self, value: Value, shape: tuple[Any, ...], node: Node) -> Value:
        """An array in another shape; a constant one is computed now."""
        if self._is_constant(value):
            return self._constant(self._elements(value, np.arange(_size(value)), node).reshape(shape), node)
        return value if value.shape == shape else self._made(node, S.reshape, (value,), (shape,), shape, value.dtype)

    # -- new nodes --------------------------------------------------------------------------------------------------

    def _gathered(self, value: Value, places: Places, node: Node) -> Value:
        flat, step = self._shaped(value, (_size(value),), node), _step(places)
        if step:
            first, stop = int(places[0]), int(places[-1]) + 1
            is_all = step == 1 and (first, stop) == (0, _size(value))
            attrs = (first,), (stop,), (step,)
            return flat if is_all else self._made(node, S.slice_, (flat,), attrs, places.shape, value.dtype)
        return self._made(node, gather, (flat, self._constant(places, node)), (), places.shape, value.dtype)

    def _constant(self, array: np.ndarray[Any, Any], near: Node) -> Value:
        out = Value(array.shape, array.dtype, near.outputs[0].graph)
        self._keep(Node(S.constant, (), (out,), (array,), near.site, near.is_quiet, near.label))
        return out

    def _made(
        self, near: Node, op: Any, inputs: tuple[Value, ...], attrs: tuple[Any, ...], shape: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> Value:  # fmt: skip
        """What a new node gives, which stands where another one stood."""
        out = Value(shape, dtype, near.outputs[0].graph)
        self._keep(Node(op, inputs, (out,), attrs, near.site, near.is_quiet, near.label))
        return out


def _runs(places: Places) -> list[Places]:
    """Places in pieces of one step each, from the first to the last."""
    steps = np.diff(places)
    ends = [0]
    for change in np.flatnonzero(np.diff(steps)) + 2:  # places from which on the step is another one
        if change - ends[-1] >= 2:
            ends.append(int(change))
        if len(ends) > _MOST_RUNS:
            break
    return np.split(places, ends[1:])


def _step(places: Places) -> int:
    """The step of places that go up by the same one; 0 for others."""
    if places.size < 2:
        return 0
    steps = np.diff(places)
    return int(steps[0]) if steps[0] > 0 and bool(np.all(steps == steps[0])) else 0


def _size(value: Value) -> int:
    return math.prod(value.shape)


def _is_countable(value: Value) -> bool:
    return all(type(d) is int for d in value.shape) and _size(value) <= _MOST_NUMBERED


def _is_plain(node: Node) -> bool:
    """Whether a node computes one array of ordinary ones, and nothing else."""
    op = node.op
    return not (op.is_multi or op.has_effect or op.can_raise or op.facts.buffer or op.facts.holds)


def _only_moves(node: Node) -> bool:
    return (
        bool(node.op.facts.moves) and _is_plain(node) and len(node.inputs) == 1
        and _is_countable(node.inputs[0]) and _is_countable(node.outputs[0])
    )  # fmt: skip


def _is_pad(node: Node) -> bool:
    return node.op is S.pad and _is_countable(node.inputs[0]) and _is_countable(node.outputs[0])


def _only_places(node: Node) -> bool:
    """Whether it is known of each element where it comes from, if from anywhere."""
    return node.op is S.constant or _only_moves(node) or _is_pad(node)


def _is_elementwise(node: Node) -> bool:
    out = node.outputs[0]
    if node.op.facts.mixes != "nothing" or node.op.facts.moves or not _is_plain(node) or not node.inputs:
        return False
    return _is_countable(out) and all(v.shape == out.shape for v in node.inputs)


def _origins(node: Node) -> Places:
    """Where the elements of a result stand in the operand, counted through."""
    return np.asarray(_run(node, _numbers(node.inputs)))


def _numbers(arrays: Sequence[Value]) -> list[Places]:
    """For arrays the numbers of their elements, counted through one after another."""
    starts = itertools.accumulate(map(_size, arrays), initial=0)
    return [np.arange(s, s + _size(v)).reshape(v.shape) for s, v in zip(starts, arrays, strict=False)]


def _run(node: Node, arrays: list[Any]) -> Any:
    return default_engine().kernels[node.op.name](*arrays, *node.attrs)


def _places(indices: list[np.ndarray[Any, Any]], shape: tuple[Any, ...]) -> Places | None:
    """The flat places that indices address, one for each axis; None if one does not exist, or is not known."""
    if not all(type(d) is int for d in shape):
        return None
    found = np.zeros(indices[0].shape, dtypes.int64)
    for index, extent in zip(indices, shape, strict=True):
        if index.size and not -extent <= index.min() <= index.max() < extent:
            return None
        found = found * extent + np.where(index < 0, index + extent, index)
    return found
