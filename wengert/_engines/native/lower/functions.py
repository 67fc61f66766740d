"""A graph as a function of the loop language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...._core.dims import Atom, Dim
from ...._core.graph import Graph
from ..builder import Builder
from ..forms import TYPE_OF, Elements, Form, Stored, all_indices, strides_of
from ..loops import Array, Function, Operand, Reg
from ..prepare import count_nodes
from ..schedule import is_small, set_limit
from ..tiles import tiled
from ..tuning import tuned
from . import tiles as tiles
from .blocks import Block, Setting


class Lowered(NamedTuple):
    """A function and what its callers must know.

    Attributes:
        function: its inputs are those of the graph, then the constants.
        constants: the values of large constants.
        atoms: the dimensions whose sizes it takes, in order.
        has_budget: whether behind them it takes the number of bytes that histories may take.
        owners: for arrays on the heap, by number, what they hold.
    """

    function: Function
    constants: list[Any]
    atoms: list[Atom]
    has_budget: bool
    owners: dict[int, str]


def lowered(graph: Graph, name: str, atoms: Sequence[Atom] = ()) -> Lowered:
    """Lowers a graph that has been made ready; its function takes the sizes of `atoms` first."""
    set_limit(count_nodes(graph))
    graph = tiled(graph)
    b = Builder()
    setting = Setting(b, is_shared=bool(atoms))
    sizes: dict[Atom, Operand] = {atom: b.reg("i64") for atom in atoms}
    for value in graph.inputs:
        for dim in value.shape:
            if isinstance(dim, Dim) and dim.is_atom:
                sizes.setdefault(dim.atom, b.reg("i64"))
    inputs, forms = _operands(setting, graph, sizes)
    block = Block(setting, graph, forms, sizes)
    outputs: list[Array | None] = []
    targets: list[Stored | None] = []
    for value in graph.outputs:
        array = b.array(TYPE_OF[value.dtype], "out")
        shape = block.shape(value)
        outputs.append(array)
        targets.append(Stored(shape, array, 0, strides_of(b, shape), True))
    block.run(targets)
    registers = [r for r in sizes.values() if type(r) is Reg]
    budget = [] if setting.budget is None else [setting.budget]
    constants = setting.all_constants()
    arrays = [*inputs, *(array for _, array in constants)]
    function = b.function(name, arrays, outputs, [*registers, *budget])
    tuned(function, b.reg)
    return Lowered(function, [value for value, _ in constants], [*sizes], bool(budget), setting.owners)


def _operands(setting: Setting, graph: Graph, sizes: dict[Atom, Operand]) -> tuple[list[Array], list[Form]]:
    """The arrays of a graph's inputs and their forms: small operands are read into registers."""
    b = setting.b
    outside = Block(setting, Graph.of(graph.name, [], [], []), [], sizes)  # which knows the sizes and nothing else
    arrays: list[Array] = []
    forms: list[Form] = []
    for value in graph.inputs:
        array = b.array(TYPE_OF[value.dtype], "in")
        shape = outside.shape(value)
        form: Form = Stored(shape, array, 0, strides_of(b, shape), True)
        if is_small(value):
            form = Elements(shape, form.type, [form.at(b, index) for index in all_indices(value.shape)])
        arrays.append(array)
        forms.append(form)
    return arrays, forms
