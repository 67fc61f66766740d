"""A `Clock` in code that is made for a report: how often each graph in it runs, and how long its steps take.

Code with a clock is what it is without one, and has one more result: an array of cells. Each graph that is lowered
where it stands (a `Region`: the function's own, the step of a loop, a branch) counts in one how often it runs, and each
step of it that takes longer than to look at the clock (a `Span`) adds up its nanoseconds in another. `blocks.py` opens
both; in loops of vectors, in parts that threads run and in shared functions there is neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...._core.graph import Graph, Node
from ...._core.tensor import Value
from ..ir.builder import Builder
from ..ir.loops import Extent, Fill, Operand
from ..plan.numpy_calls import OUTSIDE
from ..plan.schedule import Group, static_size

NOW = "wengert_now"
LARGE = 256  # elements from which on a step takes longer than to look at the clock


class Region:
    """A graph that is lowered where it stands.

    Attributes:
        graph: as it is lowered.
        cell: counts how often it runs.
        spans: its steps under the clock.
    """

    def __init__(self, graph: Graph, cell: int) -> None:
        self.graph = graph
        self.cell = cell
        self.spans: list[Span] = []


class Span:
    """Nodes that are one step under the clock.

    Attributes:
        nodes: them.
        cell: has their nanoseconds.
        regions: the graphs that run inside.
    """

    def __init__(self, nodes: Sequence[Node], cell: int) -> None:
        self.nodes = nodes
        self.cell = cell
        self.regions: list[Region] = []


class Clock:
    """The clock of a function that is being lowered.

    Attributes:
        array: the cells.
        cells: how many there are.
        look: the cell that has what it takes to look at the clock, which each span has once too much.
        whole: the whole function.
    """

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.array = b.array("i64", "out")
        self.cells = 0
        self.look = self._cell()
        self.whole = Span([], self._cell())
        self._region: Region | None = None  # that is being lowered, if it is under the clock
        self._span: Span | None = None  # that it is in

    def _cell(self) -> int:
        self.cells += 1
        return self.cells - 1

    def _now(self) -> Operand:
        return self.b.call(NOW, (), "i64")

    def _add(self, cell: int, amount: Operand) -> None:
        self.b.store(self.array, cell, self.b.add(self.b.load(self.array, cell), amount))

    @contextmanager
    def around(self) -> Iterator[None]:
        """The whole function."""
        self._now()  # the first look takes longer
        began = self._now()
        self._add(self.look, self.b.sub(self._now(), began))
        with self._timed(self.whole):
            yield
        self.b.prologue[:0] = [Extent(self.array, self.cells), Fill(self.array, 0, self.cells)]

    @contextmanager
    def region(self, graph: Graph) -> Iterator[None]:
        """A graph where it stands."""
        if self._span is None or self.b.width:
            yield
            return
        made = Region(graph, self._cell())
        self._add(made.cell, 1)
        self._span.regions.append(made)
        span, self._region, self._span = self._span, made, None
        yield
        self._region, self._span = None, span

    @contextmanager
    def span(self, step: Group | Node) -> Iterator[None]:
        """A step of the region that is being lowered; what is lowered inside belongs to it."""
        region = self._region
        if region is None or not _takes_long(step):
            self._region = None
            yield
            self._region = region
            return
        made = Span(step.members if type(step) is Group else [step], self._cell())  # pyright: ignore[reportArgumentType]
        region.spans.append(made)
        self._region = None
        holds = any(node.op.facts.holds for node in made.nodes)
        with self._timed(made, holds):
            yield
        self._region = region

    @contextmanager
    def _timed(self, span: Span, holds: bool = True) -> Iterator[None]:
        began = self._now()
        self._span = span if holds else None
        yield
        self._span = None
        self._add(span.cell, self.b.sub(self._now(), began))


def _takes_long(step: Group | Node) -> bool:
    """Whether a step takes longer than to look at the clock."""
    if type(step) is Group:
        size = static_size(step.shape)
        return bool(step.members) and (size is None or size >= LARGE)
    assert type(step) is Node
    values = (*step.inputs, *step.outputs)
    is_run = step.op.facts.cost != "free" and not step.op.facts.moves
    return bool(step.op.facts.holds) or step.op is OUTSIDE or (is_run and any(map(is_large, values)))


def is_large(value: Value) -> bool:
    """Whether to compute a value takes longer than to look at the clock."""
    size = static_size(value.shape)
    return not value.is_history and (size is None or size >= LARGE)
