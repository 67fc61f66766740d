"""What becomes machine code and what NumPy's kernels run: per node, with the reason.

`HANDED` lists the primitives of the host, whose work is not Python's to compile: it may only shrink. In loops and
branches machine code calls their kernels where it can (`numpy_calls.py`), and the loop stays machine code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...._control.call import Program
from ...._control.executables import once_per_program
from ...._control.loop import History, Loop
from ...._core.analysis import atoms_in, atoms_named, atoms_told
from ...._core.dims import Dim
from ...._core.dtypes import is_half
from ...._core.graph import Graph, Node
from ...._core.op import BRANCHES_AND_LOOPS
from ...._core.printer import held_by
from ...._core.printer import programs_of as graphs_of
from ...._core.tensor import Value
from ...._passes import optimise
from ...._passes.rewrite import rewritten, with_nodes
from ..llvm.numpy_transforms import transforms
from ..lower import polygamma, scipy_functions
from ..lower.blocks import is_lowered, takes_complex, takes_halves
from ..lower.forms import TYPE_OF
from .numpy_calls import called, is_ours, may_be_called
from .pooling import pooled
from .prepare import ready
from .programs import programs_of, with_programs
from .rare_cases import without_rare
from .schedule import static_size
from .weighted_sums import with_weighted_sums

HANDED: dict[str, str] = {
    "debug_print": "writes to Python's standard output",
}


# what stands for a history of a loop that there is none of; beside ops that hold programs
_NO_HISTORIES = ("absent", "constant")


def reason_against(node: Node) -> str:
    """Why NumPy's kernel runs a node; empty if machine code does."""
    name = node.op.name
    if not is_lowered(name):
        is_complex = any(value.dtype.kind == "c" for value in node.inputs)
        by_whom = "no lowering" if is_ours(node.op) else "a kernel of the user's own"
        return HANDED.get(name, "complex numbers" if is_complex else by_whom)
    takes_histories = node.op.facts.holds or name in _NO_HISTORIES
    for value in (*node.inputs, *node.outputs):
        if value.dtype not in TYPE_OF and not (value.is_history and takes_histories):
            return f"no native arithmetic of {value.dtype}"
        if value.dtype.kind == "c" and not takes_complex(name):
            return "complex numbers"
        if is_half(value.dtype) and not takes_halves(name):
            return "half floats"
    check = _CHECKS.get(name)
    return "" if check is None else check(node)


def _leaving(node: Node) -> Node:
    """A node of a program in a loop or a branch, called from machine code if only a kernel can run it."""
    return called(node) if reason_against(node) and may_be_called(node) else node


@once_per_program
def prepared(program: Program) -> Graph:
    """The graph of a program in a loop or a branch, optimised and made ready for lowering; kept with the program."""
    return _to_lower(without_rare(ready(optimise(program.graph))))


def all_graphs(graph: Graph) -> Iterator[Graph]:
    """A graph and the programs in it, each once."""
    waiting, seen = [graph], set[int]()
    while waiting:
        found = waiting.pop()
        yield found
        for node in found.nodes:
            for program in programs_of(node):
                if id(program) not in seen:
                    seen.add(id(program))
                    waiting.append(prepared(program))


def in_own_steps(graph: Graph) -> Graph:
    """The graph with what machine code computes in other steps than NumPy's kernels, which have the graph as it was."""
    return with_weighted_sums(pooled(graph))


def _to_lower(graph: Graph) -> Graph:
    graph = in_own_steps(graph)
    return with_nodes(graph, [*map(_leaving, graph.nodes)], graph.outputs)


def with_rare(graph: Graph) -> Graph:
    """A graph that was made ready, without marks, programs in it too: what only `rarely` set flags need is needed."""

    def change(node: Node) -> Node | Value | None:
        if node.op.name == "rarely":
            return node.inputs[0]
        if not programs_of(node):
            return None
        (holder,) = node.attrs
        return node.remade(node.op, node.inputs, (with_programs(holder, _program_with_rare),))

    return rewritten(graph, change)


@once_per_program
def _program_with_rare(program: Program) -> Program:
    """A program that only machine code is made of, and that has no derivatives."""
    graph = with_rare(ready(optimise(program.graph)))
    found = Program(graph, is_lowered=True)
    prepared.give(found, _to_lower(graph))
    return found


def called_within(node: Node) -> set[str]:
    """The primitives whose kernels the machine code of a node calls: those in loops and branches, at whatever depth."""
    found: set[str] = set()
    for program in held_by(node):
        for inner in prepared(program).nodes:
            found |= {inner.attrs[0].op.name} if inner.op.name == "outside" else called_within(inner)
    return found


def _is_gone(node: Node) -> bool:
    """Whether nothing is made of a node: what gives a value on as it is was there for the sweeps."""
    return node.op.kind == "stop" or node.op.facts.moves == "same"


def culprit_of(node: Node) -> Node:
    """The node for which a loop or a branch is not machine code: one inside, at whatever depth, or itself."""
    for graph in (*_programs_of_loop(node), *graphs_of(node)):
        for inner in graph.nodes:
            if not (_is_gone(inner) or may_be_called(inner)) and reason_against(inner):
                return culprit_of(inner)
    return node


def _programs_of_loop(node: Node) -> Iterator[Graph]:
    """The programs of the loop that a backward pass belongs to, whose steps it may run again."""
    if node.op.facts.holds == "a loop's backward pass":
        spec: Loop = node.attrs[0].spec
        yield spec.body.graph
        if spec.condition is not None:
            yield spec.condition.graph


def is_native(node: Node) -> bool:
    """Whether a node becomes machine code."""
    return not reason_against(node)


def untold(graph: Graph) -> set[Any]:
    """The dimensions that the nodes of a graph need and that no input, no loop and no branch tells."""
    regions = [node for node in graph.nodes if node.op.facts.holds in BRANCHES_AND_LOOPS]
    tellers = [*graph.inputs, *(v for node in regions for v in node.outputs)]
    needed = atoms_named(graph.nodes)
    for node in graph.nodes:
        for value in (*node.inputs, *node.outputs):
            needed |= atoms_in(value.shape)
    return needed - atoms_told(tellers)


# -- by primitive -----------------------------------------------------------------------------------------------------


def _power_number(node: Node) -> str:
    number, dtype = node.attrs[0], node.inputs[0].dtype
    if dtype.kind in "iub" and (int(number) != number or number < 0):
        return "a power of integers that NumPy refuses"
    return ""


def _series(node: Node) -> str:
    most = polygamma.MOST if node.op.name == "polygamma" else polygamma.MOST_OF_STEP
    return "" if node.attrs[0] <= most else "a series whose length depends on the order"


def _of_scipy(node: Node) -> str:
    kinds = (node.inputs[-1].dtype.kind == "c", node.outputs[0].dtype.kind == "c")
    return "" if scipy_functions.has_formula(node.attrs, *kinds) else "no lowering"


def _power(node: Node) -> str:
    return "" if node.inputs[0].dtype.kind not in "iub" else "powers of integers, which NumPy may refuse"


def _bitcast(node: Node) -> str:
    x, out = node.inputs[0].dtype, node.outputs[0].dtype
    return "" if x.itemsize == out.itemsize and "b" not in (x.kind, out.kind) else "bits of another width"


def _abs(node: Node) -> str:
    return "" if node.inputs[0].dtype.kind != "b" else "booleans"


def _reduced(node: Node) -> str:
    (axes,) = node.attrs
    x = node.inputs[0]
    if static_size([x.shape[a] for a in axes]) == 0:
        return "a reduction of nothing, which NumPy may refuse"
    return ""


def _transform(node: Node) -> str:
    types = [TYPE_OF[v.dtype] for v in (*node.inputs, *node.outputs) if v.dtype.kind == "c"]
    return "" if all(map(transforms, types)) else "this NumPy offers no transforms to machine code"


def _some(node: Node) -> str:
    """For what has no place of the largest."""
    n = node.inputs[0].shape[node.attrs[0]]
    return "a largest element of none" if type(n) is int and n == 0 else ""


# -- regions ----------------------------------------------------------------------------------------------------------


@once_per_program
def _against_program(program: Program) -> str:
    """Why a program cannot be part of a native function."""
    graph = prepared(program)
    reasons = [reason_against(node) for node in graph.nodes]
    reasons += [_against_value(v) for v in graph.inputs]
    if program.graph.guards.late():
        reasons.append("dimensions that only a run tells and checks")
    return next((r for r in reasons if r), "dimensions that nothing tells" if untold(graph) else "")


def _against_value(value: Value) -> str:
    return "" if value.dtype in TYPE_OF or value.is_history else f"no native arithmetic of {value.dtype}"


def _first(reasons: Iterable[str]) -> str:
    return next((r for r in reasons if r), "")


def _switch(node: Node) -> str:
    told = {a for v in node.inputs for a in atoms_in(v.shape)}
    made = {d for v in node.outputs for d in v.shape if isinstance(d, Dim) and not d.atoms <= told}
    if any(not d.is_atom for d in made):
        return "results of a size that follows from one that the branch tells"
    return _first(map(_against_program, node.attrs[0].programs))


def _loop(node: Node) -> str:
    return _against_loop(node.attrs[0])


def _against_loop(spec: Loop) -> str:
    if spec.varying:
        return "loop variables whose shape changes"
    body = spec.body.graph
    if any(x.shape != y.shape for x, y in zip(body.inputs[: spec.carries], body.outputs, strict=False)):
        return "loop variables whose shape stays the same only if a guard holds"
    if _keeps_what_it_tells(spec):
        return "steps that keep values of a size that only they tell"
    programs = (spec.body, spec.thin, *(() if spec.condition is None else (spec.condition,)))
    return _first(map(_against_program, programs))


def _keeps_what_it_tells(spec: Loop) -> bool:
    """Whether a step keeps a value with a dimension that no input of the step tells."""
    graph = prepared(spec.body)
    told = {a for v in graph.inputs for a in atoms_in(v.shape)}
    places = {p for e in spec.emits for p in (e.positions if isinstance(e, History) else (e,))}
    return any(not atoms_in(graph.outputs[p].shape) <= told for p in places)


def _loop_back(node: Node) -> str:
    back = node.attrs[0]
    return _against_loop(back.spec) or _against_program(back.step.program)


_CHECKS: dict[str, Any] = {
    "argmax": _some, "argmin": _some,
    "switch": _switch, "loop": _loop, "loop_back": _loop_back,
    "power_number": _power_number, "power": _power,
    "bitcast": _bitcast, "abs": _abs, "dft": _transform, "rfft": _transform, "irfft": _transform,
    "scipy_special": _of_scipy, "polygamma": _series, "polygamma_step": _series,
    "reduce_max": _reduced, "reduce_min": _reduced,
}  # fmt: skip
