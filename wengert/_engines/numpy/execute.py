"""Makes the executable of a program on NumPy arrays: Python source over this engine's kernels, or machine code.

Called by compiled functions (`_compile/cache.py`) and by the ops that hold programs.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from time import perf_counter
from typing import Any

import numpy as np

from ..._control.call import Program
from ..._control.executables import once_per_program
from ..._core import dims
from ..._core.engine import Kernel, default_engine
from ..._core.garbage import uncollected
from ..._core.graph import Graph, Node
from ..._passes import optimise
from ..interpret import compile_instructions
from ..refine import COMPILED, PEAK, refined
from ..source import Executable, Target, compile_source
from .incomplete import KERNELS_OF_PARTS


@once_per_program
def executable(program: Program) -> Executable:
    """What runs a program on NumPy arrays, compiled on first use."""
    return uncollected.run(_compiled, program, default_engine().kernels)


def _compiled(program: Program, kernels: dict[str, Kernel]) -> Executable:
    began = perf_counter()
    optimised = optimise(program.graph)
    middle = perf_counter()
    graph = refined("numpy", optimised, lambda part: compile_graph(part, kernels))
    run = compile_graph(graph, kernels)
    # for reports: what runs, and how long it took to find that out
    run.graph, run.seconds = graph, {"passes": middle - began, "planning": perf_counter() - middle}
    if _is_one_segment(graph):
        run.entry = graph.nodes[0].attrs[0].entry  # see Compiled.direct
    return run


def _run_compiled(*operands_and_run: Any) -> tuple[Any, ...]:
    *natives, compiled = operands_and_run
    return compiled.run(*natives)


def _peak(x: np.ndarray[Any, Any], axes: tuple[int, ...]) -> Any:
    return np.maximum.reduce(x, axes, initial=-np.inf)


# of what compilers put into graphs
_OWN: dict[str, Kernel] = {COMPILED.name: _run_compiled, PEAK: _peak, **KERNELS_OF_PARTS}


def _is_one_segment(graph: Graph) -> bool:
    """Whether compiled code takes and gives exactly what the graph does."""
    if len(graph.nodes) != 1 or graph.nodes[0].op is not COMPILED:
        return False
    (node,) = graph.nodes
    sides = ((node.inputs, graph.inputs), (node.outputs, graph.outputs))
    return all([v.key for v in own] == [v.key for v in wanted] for own, wanted in sides)


def observed(graph: Graph, watch: Callable[[int, Node, Kernel], Kernel]) -> Executable:
    """What runs a graph that an executable was made of (its `graph`), node by node.

    Args:
        watch: from a node's place, the node and its kernel to what runs in the kernel's place.
    """
    kernel_of = _kernels_of(graph, {**default_engine().kernels, **_OWN})
    places = {id(node): place for place, node in enumerate(graph.nodes)}

    def watched(node: Node) -> Kernel:
        kernel = kernel_of(node)
        return kernel if node.op.name == "constant" else watch(places[id(node)], node, kernel)

    return compile_instructions(graph, watched)


def compile_graph(graph: Graph, kernels: dict[str, Kernel]) -> Executable:
    """A callable from input natives to output natives."""
    return compile_source(graph, Target(_kernels_of(graph, {**kernels, **_OWN}), _frozen, True))


def _kernels_of(graph: Graph, kernels: dict[str, Kernel]) -> Callable[[Node], Kernel]:
    given = {v.key for v in graph.outputs}

    def kernel_of(node: Node) -> Kernel:
        is_view = node.op.name == "full" and node.outputs[0].key not in given and _is_large(node.attrs[0])
        return _repeated if is_view else kernels[node.op.name]

    return kernel_of


def _frozen(array: np.ndarray[Any, Any]) -> Any:
    """A constant that no kernel and no caller can change."""
    kept = np.asarray(array).view()
    kept.flags.writeable = False
    return kept


_LARGE = 1 << 12  # from so many elements on a repeated number that stays inside is a view, which takes no memory


def _is_large(shape: tuple[int, ...]) -> bool:
    return not dims.dims_in(shape) and prod(shape) >= _LARGE


def _repeated(shape: tuple[int, ...], value: Any, dtype: np.dtype[Any]) -> Any:
    return np.broadcast_to(dtype.type(value), shape)
