"""Takes elements at known places from where they come from: `gather` with constant indices of arrays that others make.

What only moves elements is left out, since where an element of its result comes from is known. Of an elementwise op
the elements are taken before it, where at most one operand is not constant: what it computes of constants is known,
too. Of arrays that were put together in an order the same elements are found in pieces one behind another, which need
not be interleaved; and of what is computed of joined arrays only to be sliced into its parts again, the parts are
computed. Sparse Jacobians read their entries so out of the passes' results.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from .._core import dtypes
from .._core.deep_calls import Deep, run_deep
from .._core.graph import Graph, Node
from .._core.tensor import Value
from .._prims import structural as S
from .._prims.indexing import gather
from .makers import Joint, Makers, Places, computed, is_pad, numbers, only_moves, origins, size_of
from .rewrite import with_nodes, within_part

_MOST_RUNS = 16  # of places with one step, of which each is taken by itself
_LEAST_OF_RUN = 16
_FEW = 256  # elements of what is computed in parts because some of these are read by themselves ...
_LONG = 800  # ... in graphs of more nodes, where they would meet in memory: in others they are in registers


def take_known_places(graph: Graph) -> Graph:
    """The graph with gathers at known places moved to what makes the elements; itself where nothing changes."""
    if not any(node.op in (gather, S.slice_) for node in graph.nodes):
        return graph
    taking = _Taking(graph)
    for node in graph.nodes:
        taking.add(node)
    return with_nodes(graph, taking.makers.nodes, [*graph.outputs]) if taking.has_changed else graph


class _Taking:
    """The nodes of the graph so far, with those that stand for gathers and slices."""

    def __init__(self, graph: Graph) -> None:
        self.makers = Makers(graph)
        self.has_changed = False
        self.is_long = len(graph.nodes) > _LONG
        self.slices: dict[int, list[Node]] = {}  # by the key of what they are of
        self.is_in_parts: dict[int, bool] = {}  # by the same: whether each takes of one part
        for node in graph.nodes:
            if node.op is S.slice_:
                self.slices.setdefault(node.inputs[0].key, []).append(node)

    def add(self, node: Node) -> None:
        """Adds a node of the graph, or what stands for it."""
        if node.op is gather:
            node = self._taken(node) or node
        elif node.op is S.slice_:
            node = self._sliced(node) or node
        elif node.outputs and self.makers.is_elementwise(node):
            node = self._apart(node) or node
        self.makers.keep(node)

    def _apart(self, node: Node) -> Node | None:
        """A concatenation of the parts in which a few numbers are computed, where they were joined and are taken apart
        again by some who read them: the parts of equations for a few unknowns would meet in memory otherwise. None if
        the node stays."""
        out = node.outputs[0]
        joint = self.makers.common_joint(node)
        if joint is None or size_of(out) > _FEW or not self.is_long:
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
        makers = {v.key: self.makers.of(v) for v in row if not self.makers.is_constant(v)}
        given = {k: m.inputs[0] for k, m in makers.items() if m is not None and m.op is S.reshape}
        shapes = {v.shape for v in given.values()}
        if len(given) == len(makers) and len(shapes) == 1:
            shape = shapes.pop()
            row = (*[given[v.key] if v.key in given else self._shaped(v, shape, node) for v in row],)
        made = self.makers.made(node, node.op, row, node.attrs, shape, node.outputs[0].dtype)
        return self._shaped(made, joined, node)

    def _sliced(self, node: Node) -> Node | None:
        """The slice of one of the parts that an array is computed in, if all that is read of it are such slices; None
        if a slice stays."""
        (x,) = node.inputs
        maker, readers = self.makers.of(x), self.slices.get(x.key, [])
        if maker is None or not self.makers.is_elementwise(maker) or self.makers.is_constant(x):
            return None
        joint = self.makers.joint(x)
        if joint is None or len(readers) != self.makers.readers[x.key]:
            return None
        if x.key not in self.is_in_parts:
            self.is_in_parts[x.key] = all(joint.part_of(reader) is not None for reader in readers)
        if not self.is_in_parts[x.key]:
            return None
        part = cast(int, joint.part_of(node))
        self.has_changed = True
        attrs = within_part(node.attrs, joint.axis, joint.start(part))
        return node.remade(S.slice_, (*run_deep(self._pieces(x, joint, node, part)),), attrs)

    def _taken(self, node: Node) -> Node | None:
        """The last node of those that stand for a gather; None if it stays."""
        x, *indices = node.inputs
        makers = [self.makers.of(i) for i in indices]
        maker = self.makers.of(x)
        if maker is None or len(indices) != len(x.shape) or not self.makers.is_open(maker):
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
        rows = [f if isinstance(f, Value) else self.makers.constant(f, node) for f in found]
        return self.makers.made(node, S.concatenate, (*rows,), (0,), places.shape, x.dtype)

    # -- what elements are taken from -------------------------------------------------------------------------------

    def _pieces(self, value: Value, joint: Joint, node: Node, only: int | None = None) -> Deep[list[Value]]:
        """The arrays that an array is joined from, or the one of a number alone."""
        chosen = slice(None) if only is None else slice(only, only + 1)
        if self.makers.is_constant(value):
            places = np.arange(size_of(value)).reshape(value.shape)
            parts = np.split(places, joint.ends[:-1], joint.axis) if only is None else [joint.piece(places, only)]
            found = [self._elements(value, part.reshape(-1), node).reshape(part.shape) for part in parts]
            return [self.makers.constant(part, node) for part in found]
        maker = cast(Node, self.makers.of(value))  # who joins it, or computes it of what is joined
        if maker.op is S.concatenate:
            return [*maker.inputs[chosen]]
        columns: list[list[Value]] = []
        for operand in maker.inputs:
            columns.append((yield self._pieces(operand, joint, node, only)))
        dtype = maker.outputs[0].dtype
        rows = zip(*columns, strict=True)
        return [self.makers.made(maker, maker.op, row, maker.attrs, row[0].shape, dtype) for row in rows]

    def _elements(self, value: Value, places: Places, node: Node) -> Any:
        """The elements of an array at flat places: an array if they are known, otherwise a value."""
        return run_deep(self._found(value, places, node))

    def _found(self, value: Value, places: Places, node: Node) -> Deep[Any]:
        maker = self.makers.of(value)
        if maker is None:
            return self._gathered(value, places, node)
        if maker.op is S.constant:
            return np.asarray(maker.attrs[0]).reshape(-1)[places]
        if only_moves(maker):
            return (yield self._found(maker.inputs[0], origins(maker).reshape(-1)[places], node))
        if is_pad(maker):
            return (yield self._of_padded(maker, places, node))
        fits = places.size <= size_of(value)  # otherwise more would be computed than before
        if self.makers.is_constant(value) or (fits and self.makers.is_computed(maker)):
            operands: list[Any] = []
            for operand in maker.inputs:
                operands.append((yield self._found(operand, places, node)))
            return self._computed(maker, operands, places.shape)
        joint = self.makers.own_joint(value) if fits or maker.op is S.concatenate else None
        if joint is not None:
            pieces = yield self._pieces(value, joint, node)
            return (yield self._of_pieces(pieces, joint.axis, places, node))
        return self._gathered(value, places, node)

    def _computed(self, maker: Node, operands: list[Any], shape: tuple[int, ...]) -> Any:
        if not any(isinstance(x, Value) for x in operands):
            with np.errstate(all="ignore"):
                return np.asarray(computed(maker, operands))
        inputs = (*[x if isinstance(x, Value) else self.makers.constant(x, maker) for x in operands],)
        return self.makers.made(maker, maker.op, inputs, maker.attrs, shape, maker.outputs[0].dtype)

    def _of_padded(self, maker: Node, places: Places, node: Node) -> Deep[Any]:
        """Elements of an array with zeros around it."""
        (x,) = maker.inputs
        counted = np.arange(1, size_of(x) + 1).reshape(x.shape)
        found = np.asarray(computed(maker, [counted])).reshape(-1)[places]
        zeros = np.zeros(places.shape, x.dtype)
        if not found.any():
            return zeros
        inner = yield self._found(x, np.maximum(found - 1, 0), node)
        if found.all():
            return inner
        if not isinstance(inner, Value):
            return np.where(found > 0, inner, zeros)
        inputs = (self.makers.constant(found > 0, node), inner, self.makers.constant(zeros, node))
        return self.makers.made(node, S.select, inputs, (), places.shape, x.dtype)

    def _of_pieces(self, pieces: list[Value], axis: int, places: Places, node: Node) -> Deep[Any]:
        """Elements of arrays joined along an axis, from those that have any of them."""
        ends = [*itertools.accumulate(map(size_of, pieces))]
        found = np.concatenate(numbers(pieces), axis).reshape(-1)[places]
        which = np.searchsorted(ends, found, side="right")
        needed = np.unique(which)
        starts = np.array([0, *ends])
        if needed.size == 1:
            piece = int(needed[0])
            return (yield self._found(pieces[piece], found - starts[piece], node))
        pieces = [pieces[k] for k in needed]
        moved = np.zeros(len(ends), np.int64)  # by piece, how far it lies before where it lay
        moved[needed] = starts[needed] - np.array([0, *itertools.accumulate(map(size_of, pieces))])[:-1]
        return self._gathered(self._behind_one_another(pieces, axis, node), found - moved[which], node)

    def _behind_one_another(self, pieces: list[Value], axis: int, node: Node) -> Value:
        """Arrays that were joined along an axis, all elements of each behind those of the one before."""
        shapes = {(*v.shape[:axis], *v.shape[axis + 1 :]) if v.shape[axis] == 1 else v.shape for v in pieces}
        shape = shapes.pop()
        if shapes or not shape:  # arrays of one shape need not be made flat
            shape = ()
        rows = [self._shaped(x, shape or (size_of(x),), node) for x in pieces]
        whole = (sum(cast(int, x.shape[0]) for x in rows), *shape[1:])
        return self.makers.made(node, S.concatenate, (*rows,), (0,), whole, rows[0].dtype)

    def _shaped(self, value: Value, shape: tuple[Any, ...], node: Node) -> Value:
        """An array in another shape; a constant one is computed now."""
        if self.makers.is_constant(value):
            known = self._elements(value, np.arange(size_of(value)), node)
            return self.makers.constant(known.reshape(shape), node)
        if value.shape == shape:
            return value
        return self.makers.made(node, S.reshape, (value,), (shape,), shape, value.dtype)

    def _gathered(self, value: Value, places: Places, node: Node) -> Value:
        flat, step = self._shaped(value, (size_of(value),), node), _step(places)
        if step:
            first, stop = int(places[0]), int(places[-1]) + 1
            is_all = step == 1 and (first, stop) == (0, size_of(value))
            attrs = (first,), (stop,), (step,)
            return flat if is_all else self.makers.made(node, S.slice_, (flat,), attrs, places.shape, value.dtype)
        inputs = (flat, self.makers.constant(places, node))
        return self.makers.made(node, gather, inputs, (), places.shape, value.dtype)


# -- places -----------------------------------------------------------------------------------------------------------


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


def _places(indices: Sequence[np.ndarray[Any, Any]], shape: tuple[Any, ...]) -> Places | None:
    """The flat places that indices address, one for each axis; None if one does not exist, or is not known."""
    if not all(type(d) is int for d in shape):
        return None
    found = np.zeros(indices[0].shape, dtypes.int64)
    for index, extent in zip(indices, shape, strict=True):
        if index.size and not -extent <= index.min() <= index.max() < extent:
            return None
        found = found * extent + np.where(index < 0, index + extent, index)
    return found
