"""A graph as a program that needs no Python: its loops, how sizes follow from those given, and its interface in C."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...._core.dims import Dim
from ...._core.graph import Graph, Node
from ...._core.op import REGISTRY
from ...._passes import optimise
from ..ir.loops import Call, For, Function, Let, Poll, blocks_of, verify
from ..ir.renaming import walk
from ..lower.formulas import PREFIX, Own, function_alone, stands_alone
from ..lower.functions import lowered
from ..lower.standalone import alone
from ..plan.numpy_calls import OUTSIDE
from ..plan.prepare import ready
from ..plan.programs import programs_of
from ..plan.rare_cases import without_rare
from ..plan.support import in_own_steps, prepared, reason_against, untold
from ..run.calls import derived_sizes
from .names import function_name, unique

SPECIAL = {"special.gammaln": "lgamma_r", "special.gamma": "tgamma"}


class Operand(NamedTuple):
    """An array of the interface: its name and type in C, and its extents, which may be `Dim`s."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[Any, ...]


class Exported(NamedTuple):
    """A program that stands alone.

    Attributes:
        name: of the function in C.
        function: the work; its buffers are operands, constants, results.
        derived: a function that computes and checks sizes beforehand, if there is something to compute.
        sizes: the names of the sizes that are arguments, which come first of all sizes.
        count: how many sizes there are.
        has_budget: whether the size behind the arguments' is the number of bytes that histories may take.
        operands, results: arrays of the interface.
        constants: arrays of the program's.
        lapack: the names of routines of LAPACK that it calls, as C sees them.
        own: the special functions that are part of it, each behind those that it calls.
    """

    name: str
    function: Function
    derived: Function | None
    sizes: tuple[str, ...]
    count: int
    has_budget: bool
    operands: tuple[Operand, ...]
    results: tuple[Operand, ...]
    constants: tuple[np.ndarray[Any, Any], ...]
    lapack: tuple[str, ...]
    own: tuple[Own, ...]


def exported(graph: Graph, name: str, argument_names: Sequence[str]) -> Exported:
    """A traced graph as a program that stands alone.

    Raises:
        TypeError: something in it cannot leave Python; the message names it.
    """
    _require_pure(graph, name)
    whole = ready(optimise(_with_captures(graph)))
    _require_native(name, whole.nodes)
    whole = in_own_steps(without_rare(whole))
    if untold(whole):
        raise TypeError(f"export: {name} has values of a size that only a run tells")
    with alone():
        made = lowered(whole, name)
        layout, derived = derived_sizes(whole, made, graph.guards)
    if made.made or made.layout is not None:
        raise TypeError(f"export: {name} has a result of a size that only a run tells; give it a fixed size")
    _stand_alone(made.function)
    verify(made.function)
    own = _own_of(made.function)
    for function in (made.function, *[x.function for x in own]):
        _require_calls(name, function)
    if derived is not None:
        _stand_alone(derived)
    taken: set[str] = set()
    names = [unique(n, taken) for n in argument_names]
    sizes = _size_names(whole, names, made.atoms, taken)
    outs = [unique("out" if len(whole.outputs) == 1 else f"out{i}", taken) for i in range(len(whole.outputs))]
    return Exported(
        function_name(name), made.function, derived, sizes, layout, made.has_budget,
        (*[Operand(n, v.dtype, (*v.shape,)) for n, v in zip(names, whole.inputs, strict=True)],),
        (*[Operand(n, v.dtype, (*v.shape,)) for n, v in zip(outs, whole.outputs, strict=True)],),
        (*[np.ascontiguousarray(c) for c in made.constants],),
        (*sorted({lapack_name(n) for n in _called(made.function) if n.startswith("lapack.")}),),
        own,
    )  # fmt: skip


def lapack_name(name: str) -> str:
    """`lapack.dpotrf` as linkers know it."""
    return f"{name.partition('.')[2]}_"


def _size_names(graph: Graph, names: Sequence[str], atoms: Sequence[Any], taken: set[str]) -> tuple[str, ...]:
    """For each unknown extent n_ARGUMENT, or n_ARGUMENT_AXIS where the argument has several axes."""
    found: list[str] = []
    for atom in atoms:
        for name, value in zip(names, graph.inputs, strict=True):
            axes = [axis for axis, d in enumerate(value.shape) if isinstance(d, Dim) and d.is_atom and d.atom == atom]
            if axes:
                found.append(unique(f"n_{name}" if len(value.shape) == 1 else f"n_{name}_{axes[0]}", taken))
                break
    return (*found,)


def _with_captures(graph: Graph) -> Graph:
    """What the function reads beside its arguments becomes constants: what it holds now."""
    held = [(value, np.array(tensor.numpy())) for tensor, value in graph.captures.values()]
    held += [(value, np.array(variable.numpy())) for variable, value in graph.reads.values()]
    nodes = [Node(REGISTRY["constant"], (), (value,), (array,), None) for value, array in held]
    return Graph.of(graph.name, graph.inputs, [*nodes, *graph.nodes], graph.outputs, graph.guards)


def _require_pure(graph: Graph, name: str) -> None:
    for variable, _ in graph.writes.values():
        raise TypeError(
            f"export: {name} writes to {getattr(variable, 'name', '') or 'a buffer'}, which lives in Python; take its "
            f"value as an argument and return the new one"
        )


def _require_native(name: str, nodes: Iterable[Node]) -> None:
    node, reason = next(_refused(nodes), (None, ""))
    if node is not None:
        at = "" if node.site is None else f" ({node.site})"
        raise TypeError(f"export: {name} uses {node.op.name}{at}, which cannot leave Python: {reason}")


def _refused(nodes: Iterable[Node]) -> Iterator[tuple[Node, str]]:
    """The nodes that are no machine code, the innermost ones."""
    for node in nodes:
        inner = node.attrs[0] if node.op is OUTSIDE else node
        if stands_alone(inner):
            continue
        if node.op is OUTSIDE:
            yield inner, reason_against(inner)
            continue
        for program in programs_of(node):
            yield from _refused(prepared(program).nodes)
        reason = reason_against(node)
        if reason:
            yield node, reason


def _require_calls(name: str, function: Function) -> None:
    for called in _called(function):
        if called not in SPECIAL and not called.startswith(("lapack.", PREFIX)):
            raise TypeError(f"export: {name} uses {called.partition('.')[2] or called} of a Python library's")


def _own_of(function: Function) -> tuple[Own, ...]:
    """The special functions that a function calls, at whatever depth."""
    found: dict[str, Own] = {}

    def visit(caller: Function) -> None:
        for name in dict.fromkeys(_called(caller)):
            if name.startswith(PREFIX) and name not in found:
                made = function_alone(name)
                verify(made.function)
                visit(made.function)
                found[name] = made

    visit(function)
    return (*found.values(),)


def _called(function: Function) -> list[str]:
    return [item.name for item in walk(function.body) if type(item) is Call]


def functions(program: Exported) -> set[str]:
    """The functions of the C maths library that a program names."""
    whole = (program.function, program.derived, *[x.function for x in program.own])
    bodies = [f.body for f in whole if f is not None]
    items = [item for body in bodies for item in walk(body)]
    ends = {"f64": "", "f32": "f"}
    found = {item.op + ends[item.type] for item in items if type(item) is Let and item.type in ends}
    return found | {SPECIAL.get(item.name, item.name) for item in items if type(item) is Call}


def _stand_alone(function: Function) -> None:
    """Takes out of a function what asks Python and what starts threads."""
    _visit(function.body)


def _visit(block: list[Any]) -> None:
    block[:] = [item for item in block if type(item) is not Poll]
    for item in block:
        if type(item) is For:
            item.work = None
        for inner in blocks_of(item):
            _visit(inner)


__all__ = ["Exported", "Operand", "exported", "functions", "lapack_name"]
