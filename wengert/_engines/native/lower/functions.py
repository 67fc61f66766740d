"""Lowers a graph to a function of the loop language: its arrays, its sizes, and what it allocates for its caller.

What is an array for its callers is an operand or a result. Histories that come from another function, or go to one,
are arrays beside these, which `HistoryLayout`s describe; so are results whose extents only the run tells: the function
takes memory for them itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

from ...._core.dims import Atom, Dim
from ...._core.graph import Graph
from ...._core.printer import programs_of
from ...._core.tensor import Value
from ..ir.builder import Builder
from ..ir.loops import Array, Extent, Function, Operand, Reg
from ..ir.shared_work import unshared
from ..ir.sharing import shared
from ..ir.signal_checks import spaced
from ..ir.strips import stripped
from ..ir.tuning import tuned
from ..llvm.target import has_fma, has_halves
from ..plan.prepare import count_nodes
from ..plan.row_blocks import blocked
from ..plan.schedule import is_small, set_limit
from ..plan.tiles import tiled
from ..run.owners import Owner
from ..run.shared_histories import HistoryLayout
from . import nests
from . import rule_tables as rule_tables  # fills the tables of rules
from .blocks import Block, Setting
from .clocks import Clock
from .forms import TYPE_OF, Elements, Form, Stored, all_indices, count_of, strides_of
from .histories import HistoryForm
from .history_records import Record
from .history_templates import Big, Number
from .standalone import is_alone


class Made(NamedTuple):
    """An array that a function makes for its caller.

    Attributes:
        type: of its elements.
        extents: for each axis a number, or the place among the sizes where the function puts it.
        output: which output of the graph it is; -1 if it is a part of a history.
    """

    type: str
    extents: tuple[tuple[str, int], ...]
    output: int


class Lowered(NamedTuple):
    """A function and what its callers must know.

    Attributes:
        function: its inputs are those of the graph but for histories, then the arrays of histories, then the
            constants; its results are those of the graph but for histories, then the arrays of histories.
        constants: the values of large constants.
        atoms: the dimensions whose sizes it takes, in order.
        has_budget: whether behind them it takes the number of bytes that histories may take.
        owners: for arrays on the heap, by number, what they hold.
        taken: the types of the arrays of histories that it takes.
        made: what it makes, in the order of results.
        layout: of the histories that it makes; None if there are none.
        callers: by function outside that it calls, the ops that do.
        clock: what it counts and times in a last result, if it does.
    """

    function: Function
    constants: list[Any]
    atoms: list[Atom]
    has_budget: bool
    owners: dict[int, Owner]
    taken: list[str]
    made: list[Made]
    layout: HistoryLayout | None
    callers: dict[str, set[str]]
    clock: Clock | None = None

    @property
    def sizes(self) -> int:
        """How many sizes the function takes or tells."""
        told = [place for made in self.made for kind, place in made.extents if kind == "told"]
        return len(self.atoms) + self.has_budget + len(told)


Kinds = tuple[
    tuple[HistoryLayout, int, tuple[int, ...]], ...
]  # of the histories that are inputs, in order: `Passed.kind`


def lowered(
    graph: Graph, name: str, atoms: Sequence[Atom] = (), kinds: Kinds = (), is_frugal: bool = False,
    is_timed: bool = False,
) -> Lowered:  # fmt: skip
    """Lowers a graph that has been made ready.

    Args:
        graph: what is lowered.
        name: of the function.
        atoms: dimensions whose sizes it takes, first of all.
        kinds: of the histories that come in.
        is_frugal: whether loops keep snapshots where they might keep all that their steps save.
        is_timed: whether the code has a clock.
    """
    set_limit(count_nodes(graph))
    graph = graph if is_alone() else tiled(blocked(graph))
    b = Builder(has_halves() and not is_alone(), has_fma())  # other processors may not convert halves
    setting = Setting(b, is_shared=bool(atoms))
    setting.is_frugal = is_frugal
    setting.calls_kernels = any(map(programs_of, graph.nodes))
    sizes: dict[Atom, Operand] = {atom: b.reg("i64") for atom in atoms}
    for dim in (d for value in graph.inputs if not value.is_history for d in value.shape):
        if isinstance(dim, Dim) and dim.is_atom:
            sizes.setdefault(dim.atom, b.reg("i64"))
    setting.told = frozenset(sizes)
    b.large.update(size for atom, size in sizes.items() if atom.is_large and type(size) is Reg)
    inputs, forms, taken = _operands(setting, graph, sizes, kinds)
    block = Block(setting, graph, forms, sizes)
    outputs: list[Array | None] = []
    targets: list[Stored | None] = []
    for value in graph.outputs:
        if value.is_history or not is_told(value, sizes):
            targets.append(None)
            outputs += [] if value.is_history else [None]
            continue
        array = b.array(TYPE_OF[value.dtype], "out")
        shape = block.shape(value)
        setting.tell_extent(array, shape, f"result {len(outputs)}")
        outputs.append(array)
        targets.append(Stored(shape, array, 0, strides_of(b, shape), True))
    clock = setting.clock = Clock(b) if is_timed else None
    with nullcontext() if clock is None else clock.around():
        found = block.run(targets, is_early=True)
    budget = [] if setting.budget is None else [setting.budget]
    giving = _Giving(block, len(sizes) + len(budget))
    layout, held = giving.histories(found, len(outputs))
    made = [*giving.arrays(found, sizes), *held]  # last, since an array that was given is out of reach
    outputs += [None] * len(held)
    outputs += [] if clock is None else [clock.array]
    registers = [r for r in sizes.values() if type(r) is Reg]
    constants = setting.all_constants()
    arrays = [*inputs, *taken, *(array for _, array in constants)]
    registers += budget
    if setting.checks:
        b.prologue += [Extent(array, value.size) for value, array in constants]
        lengths = _lengths(b, graph, made, taken)
        first = len(lengths) - len(taken)
        b.prologue += [Extent(array, length) for array, length in zip(taken, lengths[first:], strict=True)]
        registers += lengths
    function = b.function(name, arrays, outputs, registers)
    unshared(function)
    tuned(function, b.reg)
    if not is_alone():
        stripped(function, b.reg)
        spaced(function)
        if not setting.checks:  # which a function of its own would have to be told the extents for
            shared(function, b.reg)
    return Lowered(
        function, [value for value, _ in constants], [*sizes], bool(budget), b.owners, [a.type for a in taken],
        made, layout, b.callers, clock,
    )  # fmt: skip


def _lengths(b: Builder, graph: Graph, made: Sequence[Made], taken: Sequence[Array]) -> list[Reg]:
    """The sizes behind those of dimensions and the budget, up to those of the arrays of histories that come in.

    `calls.py` says what they are, in this order: what the code tells, extents that follow, and these lengths.
    """
    told = sum(kind == "told" for m in made for kind, _ in m.extents)
    followed = sum(
        isinstance(d, Dim) and not d.is_atom for v in graph.inputs if not v.is_history for d in v.shape
    )  # fmt: skip
    return [b.reg("i64") for _ in range(told + followed + len(taken))]


def is_told(value: Value, sizes: dict[Any, Any]) -> bool:
    """Whether a value's extents are known before the function runs."""
    return all(not isinstance(d, Dim) or d.atoms <= sizes.keys() for d in value.shape)


class _Giving:
    """Emits the handing over of arrays that the function has allocated for its caller."""

    def __init__(self, block: Block, size: int) -> None:
        self.block = block
        self.b = block.b
        self.size = size  # where the next size goes
        self.given: set[Array] = set()

    def arrays(self, found: Sequence[Form], sizes: dict[Any, Any]) -> list[Made]:
        """The results whose extents only the run has told."""
        made: list[Made] = []
        slot = 0
        for place, (value, form) in enumerate(zip(self.block.graph.outputs, found, strict=True)):
            if value.is_history:
                continue
            if not is_told(value, sizes):
                shape = self.block.shape(value)
                array = self._own(form, count_of(self.b, shape))
                made.append(Made(array.type, (*map(self._extent, shape),), place))
                self._give(array, slot)
            slot += 1
        return made

    def histories(self, found: Sequence[Form], slot: int) -> tuple[HistoryLayout | None, list[Made]]:
        """The histories among the results."""
        record = Record(self.b, 0, 0, lambda t: self.b.array(t, "grown"), set())
        lengths: dict[Array, Operand] = {}

        def stored(form: Stored) -> Big:
            copied = self.block.b.alloc(form.type, count_of(self.b, form.shape))
            nests.copy(self.b, form, Stored(form.shape, copied, 0, strides_of(self.b, form.shape), True))
            lengths[copied] = count_of(self.b, form.shape)
            return Big(record.extents(form.shape), form.type, record.array(copied), Number(0))

        def reserve(array: Array, start: Operand, width: int) -> None:
            lengths[array] = width
            self.b.reserve(array, width)

        for value, form in zip(self.block.graph.outputs, found, strict=True):
            if value.is_history:
                record.places.append(record.place(form, stored))
        if not record.places:
            return None, []
        record.store(0, reserve)
        made: list[Made] = []
        for place, array in enumerate(record.arrays):
            length = lengths[array] if array in lengths else self._length(array)
            if array.place == "grown":
                self.b.reserve(array, 1)  # of nothing, too, there is something to give
            made.append(Made(array.type, (self._extent(length, is_told=True),), -1))
            self._give(array, slot + place)
        return HistoryLayout(record.template(), (*[a.type for a in record.arrays],)), made

    def _length(self, array: Array) -> Operand:
        setting = self.block.setting
        return setting.allocs[array].count if array in setting.allocs else self.b.get(setting.length(array))

    def _own(self, form: Form, count: Operand) -> Array:
        """An array that holds a form and nothing else, and that nobody else is given."""
        if type(form) is Stored and form.is_dense and type(form.offset) is int and form.offset == 0:
            if form.array.place == "grown":
                self.b.reserve(form.array, 1)
            if form.array.place in ("heap", "grown") and form.array not in self.given:
                return form.array
        found = self.b.alloc(form.type, count)
        nests.copy(self.b, form, Stored(form.shape, found, 0, strides_of(self.b, form.shape), True))
        return found

    def _extent(self, extent: Operand, is_told: bool = False) -> tuple[str, int]:
        if type(extent) is int and not is_told:
            return "fixed", extent
        self.b.set_size(self.size, extent)
        self.size += 1
        return "told", self.size - 1

    def _give(self, array: Array, slot: int) -> None:
        self.given.add(array)
        self.b.give(array, slot)


def _operands(
    setting: Setting, graph: Graph, sizes: dict[Atom, Operand], kinds: Kinds
) -> tuple[list[Array], list[Form], list[Array]]:  # fmt: skip
    """The arrays of a graph's inputs, the forms of all, and the arrays of histories: small operands are read into
    registers."""
    b = setting.b
    outside = Block(setting, Graph.of(graph.name, [], [], []), [], sizes)  # which knows the sizes and nothing else
    arrays: list[Array] = []
    forms: list[Form] = []
    taken: list[Array] = []
    waiting = iter(kinds)
    for value in graph.inputs:
        if value.is_history:
            layout, place, branches = next(waiting)
            held = [b.array(t, "in") for t in layout.types]
            taken += held
            found: Any = HistoryForm(layout.template, held, [0]).saved(b, 0)[place]
            for branch in branches:
                found = found.histories[branch]
            forms.append(found)
            continue
        array = b.array(TYPE_OF[value.dtype], "in")
        shape = outside.shape(value)
        setting.tell_extent(array, shape, f"operand {value.name}" if value.name else f"operand {len(arrays)}")
        form: Form = Stored(shape, array, 0, strides_of(b, shape), True)
        if is_small(value):
            form = Elements(shape, form.type, [form.at(b, index) for index in all_indices(value.shape)])
        arrays.append(array)
        forms.append(form)
    return arrays, forms, taken
