"""Lets graphs that differ in large extents only share machine code: the extents become dimensions passed at run time.

The first graph of a structure is compiled for its own extents. Where another comes that differs from it in extents
beyond `SPECIAL` only, its extents (those equal to one another are one, and those that slices and paddings make near
one another are one and a number) become dimensions, and the code is that of any further graph in which the same extents
are so. Code is shared where its text is the same; comparing structures only says when it is worth trying.

In programs with windows only numbers of examples vary so (`varying_extents.py`). Attention has code of its own for each
of the first `SEVERAL` sizes, since it goes by blocks of rows then, in about 0.6 of the time, and so have Fourier
transforms, whose factors and tables it knows then: of one line in a fifth to a half of the time.

Programs in branches and loops belong to the graph, and so does the number of steps of a loop, which often is an extent.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import numpy as np

from ...._control.call import Program
from ...._core import forking
from ...._core.dims import FEW, Atom, Dim
from ...._core.graph import Graph, Node
from ...._core.op import REGISTRY, stated
from ...._core.tensor import Value
from .large_products import has_large_product
from .programs import holds_programs, programs_of, with_programs
from .support import all_graphs, prepared
from .varying_extents import varying

SPECIAL = FEW  # extents up to which code is made for the number itself
REMEMBERED = 4096  # structures
SEVERAL = 8
_TRANSFORMS = {"dft", "rfft", "irfft"}

# Primitives with an extent among their attributes that stands alone, not in a tuple.
_EXTENTS = {"iota", "add_along"}

_SHIFTING = {"slice", "pad", "concatenate"}  # primitives that make axes a little shorter or longer
TIED = 8  # by how much: each number has code of its own, so that one that grows call by call soon grows free

_lock = forking.short_lock()
_seen: OrderedDict[Any, list[tuple[int, ...]]] = OrderedDict()  # by structure the sizes that have code of their own


class Sized(NamedTuple):
    """A graph and the numbers that its dimensions stand for; the dimensions are none where extents stay numbers."""

    graph: Graph
    numbers: dict[Atom, int]


def sized(graph: Graph) -> Sized:
    """A graph with dimensions for its large extents, if one like it with other extents was here before."""
    table = _extents(graph)
    seen = set[int]()
    if not table or not all(_is_plain(node, seen) for node in graph.nodes):
        return Sized(graph, {})
    key, numbers = _structure(graph), (*table,)
    is_particular = has_large_product(graph) or _has_transform(graph)
    with _lock:
        own = _seen.setdefault(key, [])
        if len(own) < (SEVERAL if is_particular else 1) and numbers not in own:
            own.append(numbers)
        if len(_seen) > REMEMBERED:
            _seen.popitem(last=False)
    if numbers in own:
        return Sized(graph, {})
    return Sized(_Renaming(table).graph(graph), {dim.atom: n for n, dim in table.items() if dim.is_atom})


def _has_transform(graph: Graph) -> bool:
    """Whether a graph transforms lines, or a program in it."""
    return any(node.op.name in _TRANSFORMS for inner in all_graphs(graph) for node in inner.nodes)


def _extents(graph: Graph) -> dict[int, Dim]:
    """A dimension for each large extent, in the order in which they come; of those that slices and paddings make near
    another one, that one and a number, so that code knows where one ends in the other."""
    table: dict[int, Dim] = {}
    ties: dict[int, int] | None = None
    allowed = varying(graph)
    for extent in _numbers(graph):
        if type(extent) is not int or (allowed is not None and extent not in allowed):
            continue
        if extent > SPECIAL and extent not in table:
            ties = _ties(graph) if ties is None else ties
            base = ties.get(extent, extent)
            if allowed is not None and base not in allowed:
                base = extent
            if base not in table:
                table[base] = Dim.free(f"n{len(table)}", is_large=True)
            table[extent] = cast(Dim, table[base] + (extent - base))
    return table


def _ties(graph: Graph) -> dict[int, int]:
    """For extents that slices and paddings make a little shorter or longer than others, the first of these."""
    groups: dict[int, int] = {}
    for a, b in _shifts(graph):
        base = groups.setdefault(a, a)
        if abs(b - base) <= TIED:
            groups.setdefault(b, base)
    return groups


def _shifts(graph: Graph) -> Iterator[tuple[int, int]]:
    """Pairs of large extents of one axis before and after nodes that move it by a little."""
    for node in (node for inner in all_graphs(graph) for node in inner.nodes if node.op.name in _SHIFTING):
        for value in node.inputs:
            for pair in zip(value.shape, node.outputs[0].shape, strict=True):
                if all(type(n) is int and n > SPECIAL for n in pair) and 0 < abs(pair[0] - pair[1]) <= TIED:
                    yield pair


def _numbers(graph: Graph, seen: set[int] | None = None) -> Iterator[Any]:
    """The extents of a graph and of the programs in it, and the numbers of steps that are written out.

    Args:
        graph: where they are.
        seen: programs that were looked at. A loop holds its body twice, so that of loops in loops there are many ways
            to each program.
    """
    seen = set() if seen is None else seen
    counts = {node.inputs[0].key for node in graph.nodes if node.op.name == "loop" and node.attrs[0].is_counted}
    for value in graph.inputs:
        yield from value.shape
    for node in graph.nodes:
        for value in node.outputs:
            yield from value.shape
            if value.key in counts:
                yield _whole(node)
        for program in programs_of(node):
            if id(program) not in seen:
                seen.add(id(program))
                yield from _numbers(prepared(program), seen)


def _whole(node: Node) -> int | None:
    """The number that a node gives, if it is a whole one of 64 bits; None if it does anything else."""
    out = node.outputs[0]
    if out.dtype != np.int64 or out.shape:
        return None
    value = stated(node.op, node.attrs)
    return None if value is None else int(value)


def _is_plain(node: Node, seen: set[int]) -> bool:
    """Whether the attributes of a node are numbers, words and tuples, or programs of such nodes; `seen` were found so
    or are being looked at."""
    if holds_programs(node.attrs[0] if node.attrs else None):
        fresh = {id(program): program for program in programs_of(node) if id(program) not in seen}
        seen.update(fresh)
        return all(_is_plain(inner, seen) for program in fresh.values() for inner in prepared(program).nodes)
    return all(type(a) in (int, float, complex, bool, str, tuple) or _is_constant(a) for a in node.attrs)


def _is_constant(attribute: object) -> bool:
    return attribute is None or hasattr(attribute, "dtype") or hasattr(attribute, "itemsize")


def _structure(graph: Graph, seen: dict[int, int] | None = None) -> Any:
    """What graphs that differ in extents have in common; of a program in `seen`, its number there."""
    seen = {} if seen is None else seen
    places = {v.key: i for i, v in enumerate(graph.inputs)}
    rows: list[Any] = [(v.dtype, len(v.shape)) for v in graph.inputs]
    for node in graph.nodes:
        for v in node.outputs:
            places[v.key] = len(places)
        rows.append((node.op.name, *[places[v.key] for v in node.inputs], *[len(v.shape) for v in node.outputs]))
        programs = programs_of(node)
        if programs:
            rows += [_of_program(program, seen) for program in programs]
    return (*rows, *[places[v.key] for v in graph.outputs])


def _of_program(program: Program, seen: dict[int, int]) -> Any:
    known = seen.get(id(program))
    if known is not None:
        return known
    seen[id(program)] = len(seen)
    return _structure(prepared(program), seen)


class _Renaming:
    """A graph under renovation: dimensions in the place of extents."""

    def __init__(self, table: dict[int, Dim]) -> None:
        self.table = table
        self.programs: dict[int, Program] = {}

    def graph(self, graph: Graph) -> Graph:
        """A graph of the same nodes, in which the extents of the table are dimensions."""
        values: dict[int, Value] = {}

        def value(v: Value) -> Value:
            if v.key not in values:
                shape = (*[self.table.get(n, n) for n in v.shape],)
                values[v.key] = Value(shape, v.dtype, v.graph, v.name, v.weak)
            return values[v.key]

        inputs = [*map(value, graph.inputs)]
        nodes = [self._node(n, (*map(value, n.inputs),), (*map(value, n.outputs),)) for n in graph.nodes]
        return Graph.of(graph.name, inputs, nodes, [*map(value, graph.outputs)])

    def _node(self, node: Node, inputs: tuple[Value, ...], outputs: tuple[Value, ...]) -> Node:
        number = _whole(node) if not inputs and outputs else None
        if number in self.table:
            op = REGISTRY["dim_value"]
            return Node(op, (), outputs, (self.table[number],), node.site, node.is_quiet, node.label)
        if node.op.name in ("slice", "pad"):
            attrs = self._places(node)
        else:
            attrs = (*[self._attribute(a, node.op.name) for a in node.attrs],)
        return Node(node.op, inputs, outputs, attrs, node.site, node.is_quiet, node.label)

    def _places(self, node: Node) -> tuple[Any, ...]:
        """The places of a part in a whole, of which those near the end of the whole follow its extents."""
        whole = (node.inputs if node.op.name == "slice" else node.outputs)[0].shape

        def place(n: Any, extent: Any) -> Any:
            is_near = type(n) is int and extent in self.table and n > SPECIAL and 0 < extent - n <= TIED
            return self.table[extent] - (extent - n) if is_near else _inside(n, self.table)

        return (*[(*map(place, numbers, whole),) for numbers in node.attrs],)

    def _attribute(self, attribute: Any, name: str) -> Any:
        if holds_programs(attribute):
            return with_programs(attribute, self._program, self._length)
        return _attribute(attribute, self.table, name)

    def _length(self, length: Any) -> Any:
        return self.table.get(length, length) if type(length) is int else length

    def _program(self, program: Program) -> Program:
        """A program that only machine code is made of: it has the graph that is to be lowered and no derivatives."""
        found = self.programs.get(id(program))
        if found is None:
            graph = self.graph(prepared(program))
            found = self.programs[id(program)] = Program(graph, is_lowered=True)
            prepared.give(found, graph)
        return found


def _attribute(attribute: object, table: dict[int, Dim], name: str) -> Any:
    if type(attribute) is int:
        return table.get(attribute, attribute) if name in _EXTENTS else attribute
    return _inside(attribute, table) if type(attribute) is tuple else attribute


def _inside(attribute: object, table: dict[int, Dim]) -> Any:
    """A tuple with dimensions for numbers that are large extents: whatever they mean, in this run they are equal."""
    if type(attribute) is int:
        return table.get(attribute, attribute)
    if type(attribute) is tuple:
        return (*[_inside(a, table) for a in attribute],)
    return attribute
