"""The calling convention of a lowered graph: which arguments and sizes its code takes, and what it returns.

The sizes that compiled code gets are, in this order: the dimensions that arguments tell, the bytes that histories may
take (if it asks for them), the extents that the code itself tells, the extents of arguments that follow from other
sizes and are checked, the lengths of the arrays of histories, and the extents of results that follow. A function in
loops (`derived`) checks and computes what follows before the code runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...._core.budget import LIMIT
from ...._core.dims import Atom, Dim, byte_count, dims_in
from ...._core.graph import Graph
from ...._core.tensor import Value
from ...._core.types import Guards
from ..ir.builder import Builder
from ..ir.loops import Function, Operand, Reg, Status
from ..llvm.codegen import module_text
from ..llvm.jit import Loaded, shared
from ..lower.blocks import Block, Setting
from ..lower.forms import DTYPE_OF
from ..lower.functions import Lowered, Made
from ..plan.support import all_graphs
from .callable import CALLABLE
from .entry import Code, Give, Take, Told


def entry_of(
    graph: Graph, lowered: Lowered, loaded: Loaded, constants: Sequence[Any], on_failure: Callable[..., Any],
    guards: Guards | None = None, numbers: Any = (), on_flags: Callable[..., Any] | None = None,
) -> Code:  # fmt: skip
    """Compiled code as something to be called.

    Args:
        graph: what was lowered.
        lowered: its function.
        loaded: the function's code.
        constants: the function's constants, C-contiguous.
        on_failure: as in `bound`.
        guards: what must hold of the arguments' extents, else the call is refused.
        numbers: an array of the sizes that are the same at each call: those of the first atoms.
        on_flags: as in `bound`.
    """
    layout = _SizePlaces(graph, lowered)
    takes = [Take("array", v.dtype, (*map(layout.taken, v.shape),)) for v in graph.inputs if not v.is_history]
    takes += [Take("array", DTYPE_OF[t], (layout.fresh(),)) for t in lowered.taken]
    made = {m.output: m for m in lowered.made}
    gives = [
        _made(made[place]) if place in made else Give(v.dtype, (*map(layout.given, v.shape),))
        for place, v in enumerate(graph.outputs) if not v.is_history
    ]  # fmt: skip
    gives += [_made(m) for m in lowered.made if m.output < 0]
    gives += [] if lowered.clock is None else [Give(np.dtype(np.int64), (lowered.clock.cells,))]
    presets = [(place, numbers.ctypes.data + 8 * place) for place in range(len(numbers))]
    if lowered.has_budget:
        presets.append((len(lowered.atoms), LIMIT.buffer_info()[0]))
    function = layout.derived(guards)
    of_sizes = None if function is None else shared(module_text(function, "d"), "d", CALLABLE)
    options = {
        "sizes": layout.count, "sizes_function": of_sizes, "on_failure": on_failure, "name": graph.name,
        "constants": constants, "presets": presets, "kept": numbers, "on_flags": on_flags,
    }  # fmt: skip
    return Code(loaded, (*takes,), (*gives,), options)


def derived_sizes(graph: Graph, lowered: Lowered, guards: Guards | None) -> tuple[int, Function | None]:
    """How many sizes there are, and the function that computes and checks those that follow, if any do.

    It looks at extents of operands that follow from others and at guards, as calls from Python do.
    """
    layout = _SizePlaces(graph, lowered)
    for dim in (d for value in graph.inputs for d in value.shape):
        layout.taken(dim)
    return layout.count, layout.derived(guards)


def _made(made: Made) -> Give:
    """A result that the code takes memory for."""
    extents = (*[Told(extent) if kind == "told" else extent for kind, extent in made.extents],)
    return Give(DTYPE_OF[made.type], extents, is_filled=True)


class _SizePlaces:
    """The position of each size among those that the code is given."""

    def __init__(self, graph: Graph, lowered: Lowered) -> None:
        self.atoms: dict[Atom, int] = {atom: place for place, atom in enumerate(lowered.atoms)}
        self.count = lowered.sizes
        self.checked: list[tuple[int, Dim]] = []
        for dim in (d for value in graph.inputs if not value.is_history for d in value.shape):
            if isinstance(dim, Dim) and not dim.is_atom:
                self.checked.append((self._next(), dim))
        self.places = iter([place for place, _ in self.checked])
        self.results: dict[Dim, int] = {}
        self.sizable = _sizable(graph, {*self.atoms})
        self.dims = [d for d in _dims(graph) if not d.is_atom and d.atoms <= self.atoms.keys()]

    def _next(self) -> int:
        self.count += 1
        return self.count - 1

    def fresh(self) -> Told:
        """An extent that means nothing to the code."""
        return Told(self._next())

    def taken(self, dim: Dim | int) -> int | Told:
        """The extent of an argument."""
        if not isinstance(dim, Dim):
            return int(dim)
        return Told(self.atoms[dim.atom] if dim.is_atom else next(self.places))

    def given(self, dim: Dim | int) -> int | Told:
        """The extent of a result."""
        if not isinstance(dim, Dim):
            return int(dim)
        if dim.is_atom:
            return Told(self.atoms[dim.atom])
        if dim not in self.results:
            self.results[dim] = self._next()
        return Told(self.results[dim])

    def derived(self, guards: Guards | None) -> Function | None:
        """What derives sizes from those told; None if nothing is to do."""
        rules = _told(guards, {*self.atoms})
        if not (self.checked or self.results or rules or self.sizable or self.dims):
            return None
        b = Builder()
        registers = [b.reg("i64") for _ in range(self.count)]
        sizes: dict[Atom, Operand] = {atom: registers[place] for atom, place in self.atoms.items()}
        block = Block(Setting(b), Graph.of("sizes", [], [], []), [], sizes)
        for place, dim in self.checked:
            _refuse(b, "ne", registers[place], block.extent(dim))
        for op, x, y in rules:
            _refuse(b, op, block.extent(x), block.extent(y))
        for dim in self.dims:
            block.extent(dim)
        for dims, size in self.sizable.items():
            block.check_bytes((*map(block.extent, dims),), size)
        for dim, place in self.results.items():
            b.set_size(place, block.extent(dim))
        return b.function("sizes", [], [], registers)


def _dims(graph: Graph) -> list[Dim]:
    """What a graph computes of dimensions."""
    nodes = [node for inner in all_graphs(graph) for node in inner.nodes]
    shapes = (v.shape for node in nodes for v in node.outputs if Dim in map(type, v.shape))
    attributes = (a for node in nodes for a in node.attrs if type(a) in (tuple, Dim))
    return [*dict.fromkeys(d for part in (*shapes, *attributes) for d in dims_in(part))]


def _sizable(graph: Graph, atoms: set[Atom]) -> dict[tuple[Dim, ...], int]:
    """Dimensions of arrays in a graph, and the most bytes that each of their elements has: those of which the arguments
    do not say that they are small enough, since none of them has as many bytes."""
    given = [_measure(v) for v in graph.inputs if not v.is_history]
    found: dict[tuple[Dim, ...], int] = {}
    made = (v for inner in all_graphs(graph) for node in inner.nodes for v in node.outputs if Dim in map(type, v.shape))
    for value in made:
        if value.is_history:
            continue
        dims, size = _measure(value)
        if any(not dim.atoms <= atoms for dim in dims):
            continue
        if not any(dims <= held and size <= most for held, most in given):
            key = (*dims.elements(),)
            found[key] = max(size, found.get(key, 0))
    return found


def _measure(value: Value) -> tuple[Counter[Dim], int]:
    """The dimensions of a value, and the bytes for each of their elements."""
    return Counter(d for d in value.shape if isinstance(d, Dim)), byte_count(value.shape, value.dtype.itemsize)


def _told(guards: Guards | None, atoms: set[Atom]) -> list[tuple[str, Any, Any]]:
    """The conditions under which to refuse; of dimensions that loops make at run time the kernels take care."""
    if guards is None:
        return []
    rules = [*[("ne", x, y) for x, y in guards.equal], *[("eq", d, 1) for d in guards.not_one]]
    return [rule for rule in rules if all(d.atoms <= atoms for d in rule[1:] if isinstance(d, Dim))]


def _refuse(b: Builder, op: str, x: Operand, y: Operand) -> None:
    found = b.let(op, "i64", x, y)
    if found is True:
        b.leave(Status.REFUSED)
    elif type(found) is Reg:
        with b.when(found):
            b.leave(Status.REFUSED)
