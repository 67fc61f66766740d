"""What runs a program on NumPy arrays: Python source over this engine's kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._control.call import Program
from ..._core.engine import Kernel
from ..._core.graph import Graph
from ..._passes import optimise
from ..source import Executable, Target, compile_source


def executable(program: Program, kernels: dict[str, Kernel]) -> Executable:
    """What runs a program on NumPy arrays, compiled on first use."""
    found = program.executables.get("numpy")
    if found is None:
        with program.lock:
            found = program.executables.get("numpy")
            if found is None:
                found = program.executables["numpy"] = compile_graph(optimise(program.graph), kernels)
    return found


def compile_graph(graph: Graph, kernels: dict[str, Kernel]) -> Executable:
    """A callable from input natives to output natives."""
    return compile_source(graph, Target(lambda node: kernels[node.op.name], _frozen, True))


def _frozen(array: Any) -> Any:
    """A constant that no kernel and no caller can change."""
    kept = np.asarray(array).view()
    kept.flags.writeable = False
    return kept
