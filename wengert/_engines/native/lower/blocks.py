"""`Block`: one graph lowered where it stands, a function's body or that of a loop or branch inside it.

It walks the schedule: small values become registers, maps become lazy, groups become loops, and everything else is
lowered by the rule of its primitive in `SINGLES`. Arrays that nothing reads any more are used again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from ...._core.analysis import atoms_in
from ...._core.dims import NEAR, Atom, Dim, is_large_dim, map_attribute
from ...._core.graph import Graph, Node
from ...._core.tensor import Value
from ..ir import accesses
from ..ir.builder import Builder
from ..ir.loops import COMPLEX, FLOATS, HALVES, Alloc, Array, Operand, Reg, Set, Status, Var
from ..plan.schedule import MOST_IN_LANES, MOST_REPEATS, SMALL, Group, Kind, is_small, schedule, static_size
from ..run.owners import Owner
from . import groups, nests
from .alike_groups import WITH_NUMBER
from .clocks import Clock
from .complex_scalars import COMPLEX_SCALARS
from .forms import (
    TYPE_OF,
    Elements,
    Extents,
    Form,
    Lazy,
    Nothing,
    Stored,
    all_indices,
    count_of,
    is_numbers,
    is_repeated,
    repeated_number,
    row_major,
    strides_of,
)
from .formulas import RULES
from .index_bounds import LOOKING, IndexBounds
from .index_splitting import MOST_SHARED
from .later import Later
from .maps import MAPS, Info, Map
from .memory_reuse import heirs
from .reduces import REDUCES, RUNNING
from .routines import Routines
from .scalars import SCALARS, Rule, half_rule
from .standalone import is_alone

Lower = Callable[["Block", Node, list[Form]], Sequence[Form]]


class Single(NamedTuple):
    """How a primitive is lowered by itself, and whether complex numbers and half floats are, too; and whether results
    may be stored with their axes in any order."""

    lower: Lower
    of_complex: bool
    of_halves: bool
    any_order: bool


SINGLES: dict[str, Single | Later] = {}  # a file stands for the rules of its table `LOWERED` until one is needed


def singles(
    rules: dict[str, Lower], *, of_complex: bool = False, of_halves: bool = False, any_order: bool = False
) -> dict[str, Single]:
    """Part of a family's table, `LOWERED`; `rule_tables.py` lists the families that `SINGLES` is made of."""
    return {name: Single(rule, of_complex, of_halves, any_order) for name, rule in rules.items()}


def single(name: str) -> Single:
    """How a primitive of `SINGLES` is lowered."""
    found = SINGLES[name]
    if isinstance(found, Later):
        SINGLES.update(found.load().LOWERED)
        found = SINGLES[name]
    assert isinstance(found, Single)
    return found


class Rewrite(NamedTuple):
    """What is done to a graph that has some of these primitives, by a function of a file."""

    file: Later
    function: str
    names: frozenset[str]

    def __call__(self, graph: Graph) -> Graph:
        return getattr(self.file.load(), self.function)(graph)


# Primitives that leave the elements of their first operand where they are, perhaps with something added to them.
IN_PLACE = {"reshape", "buffer_value"}

# What is done to a graph before it is lowered, by rules for several nodes at once; `rule_tables.py` lists it.
REWRITES: list[Rewrite] = []


# fractions that are what they are in a program of any size
_PLAIN_NUMBERS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5)


class Setting:
    """What all blocks of a function share.

    Attributes:
        b: the builder.
        constants: large constants, which are operands of the function: the values and the arrays.
        budget: the register that holds how many bytes histories may take; None until something asks for it.
        numbers: in a function for graphs of many sizes, the fractions that may differ between them (1 / n, say), which
            it reads from an operand. None in a function for one graph.
    """

    def __init__(self, b: Builder, is_shared: bool = False) -> None:
        self.b = b
        self.constants: list[tuple[Any, Array]] = []
        self.arrays_of: dict[int, Array] = {}  # of the constants, by `id`
        self.budget: Reg | None = None
        self.numbers: list[float] | None = [] if is_shared else None
        self.numbers_array = b.array("f64", "in")
        self.is_frugal = False  # loops keep snapshots where they might keep all that their steps save
        self.calls_kernels = False  # NumPy's kernels compute what nodes of loops, and beside them, have no code for
        self.checks = accesses.is_on()
        self.routines = Routines()
        self.told: frozenset[Atom] = frozenset()  # dimensions of which the arguments' extents have been checked
        self.allocs: dict[Array, Alloc] = {}  # of arrays of histories whose length is known when they are made
        self.lengths: dict[Array, Var] = {}  # of those that grow, how much of them is filled
        self.clock: Clock | None = None  # in code that is made for a report

    def length(self, array: Array) -> Var:
        """The variable that holds how much of an array is filled."""
        found = self.lengths.get(array)
        if found is None:
            found = self.lengths[array] = self.b.var("i64")
            self.b.prologue.append(Set(found, 0))
        return found

    def region(self, graph: Graph) -> AbstractContextManager[None]:
        """A graph is being lowered where it stands."""
        return nullcontext() if self.clock is None else self.clock.region(graph)

    def span(self, step: Group | Node) -> AbstractContextManager[None]:
        """A step of it is."""
        return nullcontext() if self.clock is None else self.clock.span(step)

    def do(self, node: Node) -> None:
        """A node is being lowered from now on."""
        self.b.doing = node
        if self.checks:
            self.b.node = node.op.name if node.site is None else f"{node.op.name} ({node.site})"

    def tell_extent(self, array: Array, shape: Extents, holds: str) -> None:
        """Says of what length an array of the caller's is, for those who check accesses."""
        if self.checks:
            self.b.owners[array.number] = Owner(holds)
            self.b.extent(array, count_of(self.b, shape))

    def number(self, value: Any, type_: str) -> Operand:
        """A number of the program as an operand."""
        if self.numbers is None or type_ not in FLOATS or value in _PLAIN_NUMBERS:
            return value
        self.numbers.append(value)
        return self.b.convert(type_, "f64", self.b.load(self.numbers_array, len(self.numbers) - 1))

    def all_constants(self) -> list[tuple[Any, Array]]:
        """All constants that the function takes as operands."""
        numbers = [(np.array(self.numbers), self.numbers_array)] if self.numbers else []
        return [*self.constants, *numbers]

    def constant(self, value: np.ndarray[Any, Any]) -> Array:
        """A large constant, as an operand."""
        known = self.arrays_of.get(id(value))
        if known is None:
            known = self.arrays_of[id(value)] = self.b.array(TYPE_OF[value.dtype], "in")
            self.constants.append((value, known))
        return known

    def constant_arrays(self) -> list[Array]:
        """The arrays of the constants so far."""
        return [*self.arrays_of.values(), self.numbers_array]

    def memory_budget(self) -> Reg:
        """How many bytes histories may take."""
        if self.budget is None:
            self.budget = self.b.reg("i64")
        return self.budget


class Block:
    """A graph on its way into loops.

    Attributes:
        b: the builder.
        setting: what the function's blocks share.
        forms: of the values so far, by key.
        sizes: the operands that stand for the graph's dimensions.
    """

    def __init__(
        self, setting: Setting, graph: Graph, inputs: Sequence[Form], sizes: dict[Atom, Operand] | None = None
    ) -> None:  # fmt: skip
        self.setting = setting
        self.b = setting.b
        self.graph = graph
        self.sizes: dict[Atom, Operand] = dict(sizes or {})
        self.forms: dict[int, Form] = {}
        for value, form in zip(graph.inputs, inputs, strict=True):
            self._learn(value, form)
            self.forms[value.key] = form
        self.free: dict[tuple[str, Operand], list[Array]] = {}
        self.temporaries: dict[int, Array] = {}
        self.read: set[int] = set()
        self._readers: dict[int, list[Node]] | None = None  # both made when somebody asks
        self._makers: dict[int, Node] | None = None
        self.bounds = IndexBounds()
        self.targets: dict[int, Stored] = {}
        self.owned: set[int] = set()  # operands that may be overwritten once nothing reads them any more
        self.heirs: dict[int, int] = {}  # by the key of what is read last by a member, the key of what takes its place
        self.left_by: dict[int, int] = {}  # the other way round
        self.joined: set[int] = set()  # outputs, or parts of them, that are put together from parts in memory
        self.assembled: set[int] = set()  # what is put together from parts in memory
        self.filled: set[Array] = set()  # results that are where they belong
        self.lasting: dict[int, Any] = {}  # histories among the outputs that what follows must not overwrite
        self.given_numbers: dict[int, Operand] = {}  # by the key of a result, in the place of its node's number
        self.dying: dict[int, int] = {}  # by the key of what is read for the last time now, how many operands read it

    # -- dimensions -----------------------------------------------------------------------------------------------

    def extent(self, dim: Any) -> Operand:
        """A dimension as an operand."""
        if not isinstance(dim, Dim):
            return int(dim)
        known = self.b.known((self, dim))
        if known is None:
            known = self._evaluated(dim)
            self.b.remember((self, dim), known)
        return known

    def _evaluated(self, dim: Dim) -> Operand:
        total: Operand = 0
        is_checked = dim.atoms <= self.setting.told  # before the function runs (`calls.py`)
        apply = (lambda op, x, y: self.b.let(op, "i64", x, y)) if is_checked else self.b.exact
        for monomial, coefficient in dim.terms.items():
            product: Operand = coefficient
            for atom in monomial:
                product = apply("mul", product, self._atom(atom))
            total = apply("add", total, product)
        return total

    def _atom(self, atom: Atom) -> Operand:
        if not atom.operation:
            return self.sizes[atom]
        b, (x, y) = self.b, map(self.extent, atom.arguments)
        if atom.operation in ("max", "min"):
            return b.select("i64", b.let("ge" if atom.operation == "max" else "le", "i64", x, y), x, y)
        return SCALARS["floor_divide" if atom.operation == "floordiv" else "mod"](b, "i64", (), x, y)

    def shape(self, value: Value) -> Extents:
        """A value's extents as operands."""
        if is_numbers(value.shape):
            return value.shape
        extents = (*map(self.extent, value.shape),)
        if not atoms_in(value.shape) <= self.setting.told and len(extents) > 1:
            self.check_bytes(extents, value.dtype.itemsize)
        return extents

    def check_bytes(self, extents: Extents, itemsize: int) -> None:
        """Refuses an array of more bytes than 64 bits can say, or of fewer elements than none."""
        b, key = self.b, ("bytes", extents, itemsize)
        if b.width or b.known(key):
            return
        size: Operand = itemsize
        for extent in extents:
            if type(extent) is int:
                size = b.exact("mul", size, max(extent, 1))
                continue
            with b.when(b.let("lt", "i64", extent, 0)):
                b.leave(Status.REFUSED)
            size = b.exact("mul", size, b.select("i64", b.let("lt", "i64", extent, 1), 1, extent))
        b.remember(key, True)

    def info(self, node: Node) -> Info:
        """What a rule of maps knows of a node."""
        out = node.outputs[0]
        return Info(self.attrs(node), self.shape(out), TYPE_OF[out.dtype])

    def attrs(self, node: Node) -> tuple[Any, ...]:
        """A node's attributes, dimensions as operands."""
        return (*[map_attribute(a, self.extent) if type(a) in (tuple, Dim) else a for a in node.attrs],)

    # -- memory ---------------------------------------------------------------------------------------------------

    def fresh(self, shape: Extents, type_: str) -> Stored:
        """An array that the caller may write; it lives until the function ends."""
        return Stored(shape, self._array(type_, count_of(self.b, shape)), 0, strides_of(self.b, shape), True)

    def _array(self, type_: str, count: Operand) -> Array:
        waiting = self.free.get((type_, count))
        if waiting:
            return waiting.pop()
        return self.b.alloc(type_, count)

    def room(self, value: Value) -> Stored:
        """Where a value that is stored goes: its target, or an array that is free once nothing reads it any more."""
        key = value.key
        while key in self.heirs and key not in self.targets:
            key = self.heirs[key]
        target = self.targets.get(key)
        if target is not None and (key == value.key or type(target) is Stored):  # others add up what is stored there
            return target
        held = self.temporaries.pop(self.left_by.get(value.key, -1), None)
        if held is None:
            found = self.fresh(self.shape(value), TYPE_OF[value.dtype])
        else:
            shape = self.shape(value)
            found = Stored(shape, held, 0, strides_of(self.b, shape), True)
        self.temporaries[value.key] = found.array
        return found

    def is_read(self, value: Value) -> bool:
        """Whether a value is an output, or another node's operand."""
        return value.key in self.read

    def readers_of(self, value: Value) -> list[Node]:
        """The nodes of the graph that read a value."""
        if self._readers is None:
            self._readers = {}
            for node in self.graph.nodes:
                for key in {v.key for v in node.inputs}:
                    self._readers.setdefault(key, []).append(node)
        return self._readers.get(value.key, [])

    def maker_of(self, value: Value) -> Node | None:
        """The node of the graph that makes a value; None of its inputs."""
        if self._makers is None:
            self._makers = {v.key: node for node in self.graph.nodes for v in node.outputs}
        return self._makers.get(value.key)

    def taken(self, node: Node, place: int) -> Stored:
        """An operand as an array that the node may overwrite: its own if nobody else reads it, else a copy, which is
        where the node's result goes if that is known."""
        value = node.inputs[place]
        form = self.forms[value.key]
        if self.may_take(node, place):
            self.temporaries.pop(value.key, None)
            assert type(form) is Stored
            # what is known of the form's elements is not so of what is written there
            return Stored(form.shape, form.array, form.offset, form.strides, form.is_dense)
        found = self.targets.get(node.outputs[0].key)
        if found is None or not found.is_dense or found.type != form.type or found.shape != form.shape:
            found = self.fresh(form.shape, form.type)
        elif type(form) is Stored and form.is_dense and form.array is found.array and form.offset == found.offset:
            return found  # it was put there for that
        nests.copy(self.b, form, found)
        return found

    def may_take(self, node: Node, place: int) -> bool:
        """Whether a node may overwrite an operand: nobody else reads it, and it is not somebody else's."""
        value = node.inputs[place]
        form = self.forms[value.key]
        if self.dying.get(value.key) != 1 or type(form) is not Stored or not form.is_dense:
            return False
        array = self.temporaries.get(value.key)
        return array is form.array or (value.key in self.owned and array is None)

    def stored(self, form: Form) -> Stored:
        """A form in memory, with any strides."""
        return form if type(form) is Stored else self.dense(form)

    def dense(self, form: Form) -> Stored:
        """A form in memory, without gaps."""
        if type(form) is Stored and form.is_dense:
            return form
        found = self.fresh(form.shape, form.type)
        nests.copy(self.b, form, found)
        return found

    def elements(self, form: Form, shape: Sequence[int] | None = None) -> Elements:
        """A small form in registers; `shape` where it is known better than the form knows it."""
        if type(form) is Elements:
            return form
        extents: Any = form.shape if shape is None else (*shape,)
        items = [form.at(self.b, index) for index in all_indices(extents)]
        return Elements(extents, form.type, items)

    def number(self, form: Form) -> Operand:
        """The one element of a form."""
        return form.at(self.b, (0,) * len(form.shape))

    # -- the walk -------------------------------------------------------------------------------------------------

    def run(
        self, targets: Sequence[Stored | None] = (), is_filled: bool = True, is_early: bool = False
    ) -> list[Form]:  # fmt: skip
        """Emits the graph.

        Args:
            targets: where its outputs are to be stored, if somewhere.
            is_filled: whether they must be there in the end; else an output may stay where it is already.
            is_early: whether nothing reads what the targets held: small outputs are stored as soon as they are there,
                so that thousands of them need no registers, which would be on the stack.

        Returns:
            The outputs: in registers if small, else stored.
        """
        names = set[str]() if self.b.width else {node.op.name for node in self.graph.nodes}
        for rewrite in REWRITES:
            if not names.isdisjoint(rewrite.names):
                self.graph = rewrite(self.graph)
        with self.setting.region(self.graph):
            return self._run(targets, is_filled, is_early)

    def _run(self, targets: Sequence[Stored | None], is_filled: bool, is_early: bool) -> list[Form]:
        outputs = self.graph.outputs
        for value, target in zip(outputs, targets, strict=False):
            if target is not None:
                self.targets.setdefault(value.key, target)
        self._hand_targets_on()
        nodes = self.graph.nodes
        self.read = {v.key for values in (outputs, *(n.inputs for n in nodes)) for v in values}
        large = [v for v in outputs if not is_small(v)]
        plan = schedule(nodes, [*map(self._kind, nodes)], large, MOST_IN_LANES if self.b.width > 1 else MOST_REPEATS)
        self.assembled = {n.outputs[0].key for n, kind in zip(nodes, plan.kinds, strict=True) if kind is Kind.ASSEMBLE}
        through = self._through(plan.kinds)
        last = self._last_reads(plan.steps, through)
        makers = {v.key: (n, kind) for n, kind in zip(nodes, plan.kinds, strict=True) for v in n.outputs}
        self.heirs = heirs(plan.steps, makers, plan.stored, last, lambda node: is_elementwise(node.op.name))
        self.left_by = {heir: key for key, heir in self.heirs.items()}
        early = {v.key: t for v, t in zip(outputs, targets, strict=False) if t is not None and is_small(v)}
        early = early if is_early and len(outputs) > FEW_RESULTS else {}
        alike = self.setting.routines.alike(self, plan)
        for place, step in enumerate(plan.steps):
            self.b.check_length()
            is_late = type(step) is Node and any(v.key in through for v in step.outputs)  # computed where it is read
            with nullcontext() if is_late else self.setting.span(step):
                if type(step) is Group:
                    self.setting.routines.lower_group(self, step, groups.rooms_of(self, step, plan.stored), alike)
                else:
                    assert type(step) is Node
                    self.dying = _counted(step, through, last.get(place, ()))
                    self._node(step)
            for value in step.outputs if early and type(step) is Node else ():
                if value.key in early:
                    self._store_early(value, early[value.key])
            for key in last.get(place, ()):
                array = self.temporaries.pop(key, None)
                if array is not None:
                    self._release(key, array)
        return self._results(targets if is_filled else ())

    def _store_early(self, value: Value, target: Stored) -> None:
        form = self.forms[value.key] = self.elements(self.forms[value.key], value.shape)
        nests.copy(self.b, form, target)
        self.filled.add(target.array)

    def _kind(self, node: Node) -> Kind:
        """As `kind_of`; in lanes running totals go with the loops of others, which are no vector code in any case."""
        if node.op.name == "concatenate" and node.outputs[0].key in self.joined:
            return Kind.SMALL if is_small(node.outputs[0]) else Kind.ASSEMBLE
        if self.b.width < 2 or node.op.name not in RUNNING or is_small(node.outputs[0]):
            return kind_of(node)
        axis, is_reversed = node.attrs
        shape = node.outputs[0].shape
        is_member = axis % len(shape) == len(shape) - 1 and not is_reversed and static_size(shape)
        return Kind.POINT if is_member else kind_of(node)

    def _hand_targets_on(self) -> None:
        """What a single or a reduction gives, or is put together from parts, and an output is another shape of, or is
        added to it where it lies, goes to where the output is to be stored."""
        self.joined = _joined(self.graph)
        named = (SINGLES, REDUCES)
        singles = {v.key for n in self.graph.nodes if any(n.op.name in names for names in named) for v in n.outputs}
        singles |= self.joined
        reads = Counter(
            [v.key for values in (*[n.inputs for n in self.graph.nodes], self.graph.outputs) for v in values]
        )
        for node in reversed(self.graph.nodes):
            target = self.targets.get(node.outputs[0].key) if node.outputs else None
            if target is None or not target.is_dense:
                continue
            if node.outputs[0].key in self.joined:
                self._hand_parts_on(node, target, reads)
            if node.op.name == "transpose":
                self._hand_order_on(node, target, reads)
            if node.op.name not in IN_PLACE:
                continue
            source = node.inputs[0]
            is_free = reads[source.key] == 1 or node.op.name == "reshape"
            if source.key in singles and is_free and not is_small(source):
                shape = self.shape(source)
                found = Stored(shape, target.array, target.offset, strides_of(self.b, shape), True)
                self.targets.setdefault(source.key, found)

    def _hand_order_on(self, node: Node, target: Stored, reads: Counter[int]) -> None:
        """What is turned for an output is stored as it lies there."""
        source, perm = node.inputs[0], node.attrs[0]
        maker = self.maker_of(source)
        if maker is None or maker.op.name not in SINGLES or not single(maker.op.name).any_order:
            return
        if reads[source.key] > 1 or is_small(source):
            return
        strides = strides_of(self.b, self.shape(node.outputs[0]))
        turned = (*[strides[perm.index(axis)] for axis in range(len(perm))],)
        self.targets.setdefault(source.key, Stored(self.shape(source), target.array, target.offset, turned, False))

    def _hand_parts_on(self, node: Node, target: Stored, reads: Counter[int]) -> None:
        """What is joined of flat parts has them where they are to be."""
        offset = target.offset
        for part in node.inputs:
            shape = self.shape(part)
            if reads[part.key] == 1 and len(shape) == 1 and part.key not in self.targets and not is_small(part):
                self.targets[part.key] = Stored(shape, target.array, offset, strides_of(self.b, shape), True)
            offset = self.b.add(offset, count_of(self.b, shape))

    def _release(self, key: int, array: Array) -> None:
        self.give_back(array, count_of(self.b, self.forms[key].shape))

    def give_back(self, array: Array, count: Operand) -> None:
        """Nobody reads an array of so many elements any more: `fresh` may give it to others."""
        self.free.setdefault((array.type, count), []).append(array)

    def _through(self, kinds: list[Kind]) -> dict[int, tuple[int, ...]]:
        """For each value that is computed where it is read, the values that reading it reads."""
        through: dict[int, tuple[int, ...]] = {}
        for node, kind in zip(self.graph.nodes, kinds, strict=True):
            if kind.is_read_through:
                reached = {r for v in node.inputs for r in through.get(v.key, (v.key,))}
                through[node.outputs[0].key] = (*reached,)
        return through

    def _last_reads(
        self, steps: Sequence[Node | Group], through: dict[int, tuple[int, ...]]
    ) -> dict[int, list[int]]:  # fmt: skip
        """By the number of a step the values that are read there for the last time, through maps or not."""
        last: dict[int, int] = {}
        for place, step in enumerate(steps):
            for key in _read_by(step):
                for root in through.get(key, (key,)):
                    last[root] = place
        for value in self.graph.outputs:
            for root in through.get(value.key, (value.key,)):
                last[root] = -1
        found: dict[int, list[int]] = {}
        for key, place in last.items():
            found.setdefault(place, []).append(key)
        return found

    def _results(self, targets: Sequence[Stored | None]) -> list[Form]:
        results: list[Form] = []
        given = [*targets, *[None] * (len(self.graph.outputs) - len(targets))]
        for value, target in zip(self.graph.outputs, given, strict=True):
            form = self.forms[value.key]
            if form.type == "history":
                results.append(form)
                continue
            if is_small(value):
                form = self.elements(form, value.shape)
            if target is not None and target.array in self.filled:
                form = target
            elif target is not None and not (isinstance(form, Stored) and form.array is target.array):
                nests.copy(self.b, form, target)
                form = form if is_small(value) else target
            results.append(form if isinstance(form, (Elements, Stored)) else self.dense(form))
        return results

    # -- nodes by themselves --------------------------------------------------------------------------------------

    def _node(self, node: Node) -> None:
        name = node.op.name
        self.setting.do(node)
        forms = [self.forms[v.key] for v in node.inputs]
        if name in LOOKING:
            self.bounds.tell(self.b, node, forms, self.maker_of)
        if name in ("constant", "absent") and node.outputs[0].is_history:
            self.forms[node.outputs[0].key] = Nothing()
        elif name == "constant":
            self.forms[node.outputs[0].key] = self._constant(node)
        elif name == "dim_value":
            self.forms[node.outputs[0].key] = Elements((), "i64", [self.extent(node.attrs[0])])
        elif name in SINGLES:
            found = self.setting.routines.lowered(self, node, forms, lambda: single(name).lower(self, node, forms))
            for value, form in zip(node.outputs, found, strict=True):
                self._file(value, form)
        elif is_small(node.outputs[0]):
            self.forms[node.outputs[0].key] = self._small(node, forms)
        elif node.outputs[0].key in self.assembled:
            self.forms[node.outputs[0].key] = self._assembled(node, forms)
        else:
            self.forms[node.outputs[0].key] = self.lazy(node, forms)

    def alone(self, graph: Graph, inputs: Sequence[Form]) -> Block:
        """A graph in the same function that has nothing to do with this one."""
        return Block(self.setting, graph, inputs, self.sizes)

    def _learn(self, value: Value, form: Form) -> None:
        """Notes the dimensions that a form tells; a stack of stacks of histories tells the length of the outer one."""
        for dim, extent in zip(value.shape, form.shape, strict=not value.is_history):
            if isinstance(dim, Dim) and dim.is_atom:
                self.sizes.setdefault(dim.atom, extent)

    def _file(self, value: Value, form: Form) -> None:
        """Files what a single gives; dimensions that only it tells are known from now on."""
        self._learn(value, form)
        if type(form) is Stored and not is_numbers(form.shape):
            form = _of_shape(form, self.shape(value))
        if not value.is_history and is_small(value):
            form = self.elements(form, value.shape)  # which a loop of a fixed number of iterations may not know
        elif type(form) is Stored and form.array.place == "heap" and value.key not in self.targets:
            self.temporaries.setdefault(value.key, form.array)
        self.forms[value.key] = form

    def _constant(self, node: Node) -> Form:
        value = np.asarray(node.attrs[0])
        type_ = TYPE_OF[value.dtype]
        numbers = value.astype(np.float32) if type_ in HALVES else value
        if value.size <= SMALL:
            return Elements(value.shape, type_, [self.setting.number(v, type_) for v in numbers.ravel().tolist()])
        if is_repeated(value):
            item = self.setting.number(numbers.flat[0].item(), type_)
            return repeated_number(self.shape(node.outputs[0]), type_, item)
        shape = self.shape(node.outputs[0])
        found = Stored(shape, self.setting.constant(value), 0, strides_of(self.b, shape), True)
        if value.dtype.kind == "i":
            self.b.remember(("bounds", found), (int(value.min()), int(value.max())))
        return found

    def _small(self, node: Node, forms: list[Form]) -> Form:
        name, out = node.op.name, node.outputs[0]
        if is_elementwise(name):
            rule = self._scalar(node)
            columns = [self.elements(f, out.shape).items for f in forms]
            with self.b.one_by_one():
                items = [rule(self.b, *xs) for xs in zip(*columns, strict=True)]
            return Elements(out.shape, TYPE_OF[out.dtype], items)
        if name in REDUCES:
            items = nests.reduced_small(self.b, forms[0], REDUCES[name], node.attrs[0], out.shape)
            return Elements(out.shape, TYPE_OF[out.dtype], items)
        if name == "reshape" and type(forms[0]) is Elements:
            return Elements(out.shape, forms[0].type, forms[0].items)
        return self.elements(self.lazy(node, forms), out.shape)

    def _scalar(self, node: Node) -> Callable[..., Operand]:
        """The rule of an elementwise node: `rule(b, *operands)`."""
        name = node.op.name
        source = TYPE_OF[node.inputs[-1].dtype]
        if name in CASTS:
            target = TYPE_OF[node.outputs[0].dtype]
            return lambda b, x: b.convert(target, source, x, name == "bitcast")
        target = TYPE_OF[node.outputs[0].dtype]
        if source in COMPLEX or target in COMPLEX:
            found, attrs = COMPLEX_SCALARS[name], node.attrs
            return lambda b, *xs: found(b, source, attrs, *xs)
        if source in HALVES or target in HALVES:
            return half_rule(_rule_of(name), node.op, source, target, node.attrs)
        rule, attrs = _rule_of(name), node.attrs
        if name == "ldexp":  # whose operands differ in type
            attrs = (target,)
        if name in WITH_NUMBER and source in FLOATS:
            given = self.given_numbers.get(node.outputs[0].key)
            number = self.setting.number(float(attrs[0]), source) if given is None else given
            plain = SCALARS[WITH_NUMBER[name]]
            return lambda b, x: plain(b, source, (), x, number)
        return lambda b, *xs: rule(b, source, attrs, *xs)

    def lazy(self, node: Node, forms: list[Form]) -> Form:
        """A map, or a point, computed where it is read."""
        name, out = node.op.name, node.outputs[0]
        type_, shape = TYPE_OF[out.dtype], self.shape(out)
        if name not in MAPS:
            rule = self._scalar(node)
            return Lazy(
                shape, type_, lambda b, index: rule(b, *[f.at(b, index) for f in forms]),
                (lambda b, place: rule(b, *[f.at_flat(b, place) for f in forms]))
                if all(f.is_flat() for f in forms) else None,
                forms,
            )  # fmt: skip
        found, info = MAPS[name], self.info(node)
        if found.check is not None:
            found.check(self.b, info, forms)
        return found.view(self.b, info, forms) or _moved(found, info, forms)

    def is_lazy(self, node: Node) -> bool:
        """Whether what a node gives may be computed where it is read."""
        return node.op.name in MAPS or node.op.name == "constant" or is_elementwise(node.op.name)

    def compute_where_read(self, node: Node) -> None:
        """Files what a node gives as something that is computed where it is read."""
        forms = [self.forms[v.key] for v in node.inputs]
        is_constant = node.op.name == "constant"
        self.forms[node.outputs[0].key] = self._constant(node) if is_constant else self.lazy(node, forms)

    def _assembled(self, node: Node, forms: list[Form]) -> Form:
        """Parts copied to their places in one array."""
        target = self.room(node.outputs[0])
        b, attrs = self.b, self.attrs(node)
        if node.op.name == "pad":
            low, _, interior = attrs
            b.fill(target.array, target.offset, count_of(b, target.shape))
            offset = target.offset
            for start, stride in zip(low, target.strides, strict=True):
                offset = b.add(offset, b.mul(start, stride))
            strides = (*[b.mul(s, gap + 1) for s, gap in zip(target.strides, interior, strict=True)],)
            nests.copy(b, forms[0], Stored(forms[0].shape, target.array, offset, strides, False))
            return target
        (axis,) = attrs
        offset = target.offset
        writes = list[nests.Write]()
        for part in forms:
            writes.append(nests.Write(part, part_of(target, part, axis, offset)))
            offset = b.add(offset, b.mul(part.shape[axis], target.strides[axis]))
        if are_columns(forms, axis):  # written in one loop, each line of memory once
            nests.emit(b, forms[0].shape, writes, [])
        else:
            for form, place in ((w.form, w.target) for w in writes):
                if not (type(form) is Stored and form.array is place.array):  # else it is there already
                    nests.copy(b, form, place)
        return target


FEW_PARTS = 6
FEW_RESULTS = 64  # up to which they may wait in registers


def part_of(whole: Stored, part: Form, axis: int, offset: Operand) -> Stored:
    """A part of an array, from an offset on along an axis."""
    is_dense = whole.is_dense and all(type(n) is int and n == 1 for n in whole.shape[:axis])
    return Stored(part.shape, whole.array, offset, whole.strides, is_dense)


def are_columns(parts: Sequence[Form], axis: int) -> bool:
    """Whether parts are joined of which each has one number between two of the others."""
    return all(is_numbers(x.shape) and x.shape[axis:] == (1,) * (len(x.shape) - axis) for x in parts) and (
        len({x.shape for x in parts}) == 1
    )


def is_assembled(node: Node) -> bool:
    """Whether a node's result is put together from parts in memory; few parts are read from where they are, by loops
    that have a piece for each (`index_splitting.py`)."""
    shape = node.outputs[0].shape
    if node.op.name == "concatenate":
        (axis,) = node.attrs
        is_known = _ends_near([x.shape[axis] for x in node.inputs])
        return not (is_known and len(node.inputs) <= FEW_PARTS)
    if node.op.name == "pad":
        low, high, interior = node.attrs
        if is_numbers(shape) and max(interior, default=0) < MOST_SHARED:
            return False
        if not any(interior) and all(map(_is_near_whole, shape, low, high)):
            return False
    low, high, _ = node.attrs if node.op.name == "pad" else ((None,), (), ())
    return all(type(n) is int and n >= 0 for n in (*low, *high))


def _is_near_whole(extent: Any, low: Any, high: Any) -> bool:
    """Whether loops over an extent have a piece for each part of a padded axis: it is known, or large with little
    before and behind or with all but little."""
    return type(extent) is int or (is_large_dim(extent) and all(_is_near(n, extent) for n in (low, high)))


def _is_near(place: Any, extent: Any) -> bool:
    """Whether a place is near the beginning of an axis or near its end."""
    return any(type(n) is int and 0 <= n <= NEAR for n in (place, extent - place))


def _ends_near(extents: Sequence[Any]) -> bool:
    """Whether it is known where the parts that are joined begin, or that it is near the beginning or near the end."""
    if is_numbers((*extents,)):
        return True
    whole, start = sum(extents), 0
    for n in extents:
        if not _is_near(start, whole):
            return False
        start = start + n
    return is_large_dim(whole)


def _joined(graph: Graph) -> set[int]:
    """Outputs, and what they are a shape or a part of, that are to be put together in memory: columns that are flat
    then, and what is joined of such; by an index into them it would be asked of each element which column it is in."""
    if not any(node.op.name == "concatenate" for node in graph.nodes):
        return set()
    readers: dict[int, list[Node]] = {}
    for node in graph.nodes:
        for value in node.inputs:
            readers.setdefault(value.key, []).append(node)
    leaving = {v.key for v in graph.outputs}
    found = set[int]()
    for node in reversed(graph.nodes):
        if node.op.name not in ("reshape", "concatenate") or not _is_static(node):
            continue
        key = node.outputs[0].key
        if key in leaving or all(r.outputs and r.outputs[0].key in leaving for r in readers.get(key, [])):
            leaving.add(key)
    flat = {n.inputs[0].key for n in graph.nodes if n.op.name == "reshape" and len(n.outputs[0].shape) == 1}
    for node in graph.nodes:
        key = node.outputs[0].key if node.outputs else -1
        is_shape = node.op.name == "reshape" and node.inputs[0].key in found
        is_whole = node.op.name == "concatenate" and (is_assembled(node) or _is_of_columns(node, flat, found))
        if key in leaving and _is_static(node) and (is_shape or is_whole):
            found.add(key)
    return found


def _is_static(node: Node) -> bool:
    return all(is_numbers(v.shape) for v in (*node.inputs, *node.outputs))


def _is_of_columns(node: Node, flat: set[int], joined: set[int]) -> bool:
    """Whether a node joins columns that become flat, or flat arrays of which one is joined of columns."""
    out = node.outputs[0]
    (axis,) = node.attrs
    if len(out.shape) == 1:
        return any(v.key in joined for v in node.inputs)
    return out.key in flat and axis == len(out.shape) - 1 and all(v.shape[axis:] == (1,) for v in node.inputs)


def _counted(node: Node, through: dict[int, tuple[int, ...]], ended: Sequence[int]) -> dict[int, int]:
    """How many operands of a node read each of these values."""
    found: dict[int, int] = {}
    for value in node.inputs:
        for root in through.get(value.key, (value.key,)):
            found[root] = found.get(root, 0) + 1
    return {key: found.get(key, 0) for key in ended}


CASTS = ("convert", "bitcast")


def _moved(found: Map, info: Info, forms: list[Form]) -> Form:
    at, flat = found.at, found.flat
    is_flat = flat is not None and found.is_flat(info, forms)
    return Lazy(
        info.shape, info.type, lambda b, index: at(b, info, forms, index),
        (lambda b, place: flat(b, info, forms, place)) if is_flat and flat is not None else None, forms,
    )  # fmt: skip


def _read_by(step: Node | Group) -> list[int]:
    if type(step) is Group:
        return [v.key for node in step.members for v in node.inputs] + [v.key for v in step.copies]
    return [v.key for v in step.inputs]  # pyright: ignore[reportAttributeAccessIssue]


def _of_shape(form: Stored, shape: Extents) -> Stored:
    """A form whose extents the graph knows better: a loop's results have as many rows as it counts iterations."""
    if not is_numbers(shape):
        return form
    return Stored(shape, form.array, form.offset, row_major(shape) if form.is_dense else form.strides, form.is_dense)


def kind_of(node: Node) -> Kind:
    """How a node is lowered, as `schedule` wants to know."""
    name = node.op.name
    if name in SINGLES or name in ("constant", "dim_value"):
        return Kind.SINGLE
    out = node.outputs[0]
    if name in REDUCES:
        return Kind.SMALL if is_small(node.inputs[0]) and is_small(out) else Kind.REDUCE  # of nothing, much is made
    if is_small(out):
        return Kind.SMALL
    found = MAPS.get(name)
    if found is not None and is_assembled(node):
        return Kind.ASSEMBLE
    if found is not None:
        return Kind.REPEAT if found.repeats else Kind.MAP
    return Kind.POINT


def is_elementwise(name: str) -> bool:
    """Whether there is a rule for one element."""
    return name in SCALARS or name in CASTS or name in COMPLEX_SCALARS or (is_alone() and name in RULES)


def _rule_of(name: str) -> Rule:
    return RULES[name] if is_alone() and name in RULES else SCALARS[name]


def is_lowered(name: str) -> bool:
    """Whether there is a rule for a primitive."""
    return (
        name in SINGLES or name in MAPS or is_elementwise(name) or name in REDUCES or name in ("constant", "dim_value")
    )  # fmt: skip


def takes_complex(name: str) -> bool:
    """Whether the rule for a primitive is one of complex numbers, too."""
    if name in COMPLEX_SCALARS or name in MAPS or name in ("convert", "constant"):
        return True
    return (name in SINGLES and single(name).of_complex) or (name in REDUCES and REDUCES[name].of_complex)


def takes_halves(name: str) -> bool:
    """Whether the rule for a primitive is one of half floats, too: `prepare` has others computed in float32."""
    if name in SINGLES:
        return single(name).of_halves
    is_scalar = name in SCALARS and name != "nextafter"  # of float32 it is another number
    return is_scalar or name in MAPS or name in REDUCES or name in ("convert", "constant")


__all__ = [
    "IN_PLACE",
    "REWRITES",
    "SINGLES",
    "Block",
    "Setting",
    "is_lowered",
    "kind_of",
    "singles",
    "takes_complex",
    "takes_halves",
]
