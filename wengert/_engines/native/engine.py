"""The native engine at work: refines optimised graphs, compiles their segments on first use, and runs them.

A segment runs through a built-in function that takes what fits without further ado (`entry.py`); anything else is made
to fit first. What machine code refuses to do, or ends with an error that NumPy words, NumPy's kernels run again.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._core.budget import limit
from ..._core.dims import Atom, Dim
from ..._core.graph import Graph, Node
from ..interpret import dim_sources
from ..refine import COMPILED, REFINERS, Plain
from . import context, entry
from .codegen import module_text
from .dumps import dump
from .jit import Loaded, load
from .loops import verify
from .lower.functions import Lowered, lowered
from .plan import Part, parts
from .prepare import ready
from .support import is_native, untold

VERIFIES = False  # tests switch it on: every function is verified before it is compiled


@functools.cache
def has_llvm() -> bool:
    """Whether llvmlite is installed."""
    return importlib.util.find_spec("llvmlite") is not None


def is_on() -> bool:
    """Whether graphs become machine code: llvmlite is there, and WENGERT_JIT is not 0."""
    return has_llvm() and os.environ.get("WENGERT_JIT", "1") != "0"


class Segment:
    """Nodes that are one function of machine code.

    Attributes:
        graph: the nodes, with the values that come in and go out.
        refusals: how often NumPy's kernels ran instead, for tests and curious users.
    """

    def __init__(self, graph: Graph, plain: Plain) -> None:
        self.graph = graph
        self.refusals = 0
        self._plain = plain
        self._kernels: Callable[..., tuple[Any, ...]] | None = None
        self._lock = threading.Lock()
        self._code: Code | None = None

    def run(self, *natives: Any) -> tuple[Any, ...]:
        """The results for NumPy's arrays and scalars."""
        code = self._code
        if code is None:
            code = self.code()
        found = code.function(*natives)
        return code.fitted(natives) if found is NotImplemented else found

    def code(self) -> Code:
        """The machine code, made now if it is not there yet."""
        with self._lock:
            if self._code is None:
                self._code = Code(self)
            return self._code

    def kernels(self, *natives: Any) -> tuple[Any, ...]:
        """The results by NumPy's kernels."""
        if self._kernels is None:
            self._kernels = self._plain(self.graph)
        self.refusals += 1
        return self._kernels(*natives)

    def __repr__(self) -> str:
        return f"<native {self.graph.name}: {len(self.graph.nodes)} nodes>"


class Code:
    """The machine code of a segment, and how it is called."""

    def __init__(self, segment: Segment) -> None:
        graph = segment.graph
        self.segment = segment
        self.lowered: Lowered = lowered(graph, graph.name)
        dump("graph", graph.name, graph.to_text)
        dump("loops", graph.name, lambda: str(self.lowered.function))
        if VERIFIES:
            verify(self.lowered.function)
        self.loaded: Loaded = load(module_text(self.lowered.function, "entry"), "entry")
        self.constants = [np.ascontiguousarray(c) for c in self.lowered.constants]
        self.sources = dim_sources(graph.inputs)
        self.function: Callable[..., Any] = self._built_in() or (lambda *natives: NotImplemented)

    def _built_in(self) -> Callable[..., Any] | None:
        """A built-in function for arguments that fit; None where only the general way will do."""
        graph = self.segment.graph
        if self.constants or self.lowered.has_budget or self.lowered.atoms:
            return None
        takes = [entry.Take("array", v.dtype, v.shape) if v.shape else entry.Take("scalar", v.dtype)
                 for v in graph.inputs]  # fmt: skip
        gives = [entry.Give(v.dtype, v.shape) for v in graph.outputs]
        return entry.bound(self.loaded, takes, gives, on_failure=self.failed, name=graph.name)

    def fitted(self, natives: Sequence[Any]) -> tuple[Any, ...]:
        """The results for arguments of any layout and kind."""
        graph = self.segment.graph
        arrays = [np.ascontiguousarray(x, v.dtype) for x, v in zip(natives, graph.inputs, strict=True)]
        sizes: dict[Atom, int] = {
            atom: np.shape(natives[i])[axis] for atom, (i, axis) in self.sources.items() if atom in self.lowered.atoms
        }
        if not _fit(arrays, graph.inputs, sizes, natives):
            return self.segment.kernels(*natives)
        shapes = [(*[d.evaluate(sizes) if isinstance(d, Dim) else d for d in v.shape],) for v in graph.outputs]
        results = [np.empty(shape, v.dtype) for shape, v in zip(shapes, graph.outputs, strict=True)]
        numbers = [sizes[atom] for atom in self.lowered.atoms] + [limit()] * self.lowered.has_budget
        status, failing = entry.called(self.loaded, [*arrays, *self.constants], results, numbers)
        if status != context.OK:
            return self.failed(status, failing, *natives)
        return (*[x[()] if x.ndim == 0 else x for x in results],)

    def failed(self, status: int, failing: int, *natives: Any) -> tuple[Any, ...]:
        """What a run that ended early gives: an error, or the results of NumPy's kernels (which may raise theirs)."""
        if status == context.OUT_OF_MEMORY:
            raise MemoryError(f"{self.segment.graph.name}: no memory for buffer {failing} of the compiled code")
        if status == context.INTERRUPTED:
            raise KeyboardInterrupt
        return self.segment.kernels(*natives)


def _fit(arrays: Sequence[Any], values: Sequence[Any], sizes: dict[Atom, int], natives: Sequence[Any]) -> bool:
    """Whether the shapes are those of the graph's inputs; what has another one is the kernels' matter."""
    for x, v, native in zip(arrays, values, natives, strict=True):
        shape = np.shape(native)
        if len(shape) != len(v.shape) or x.dtype != v.dtype:
            return False
        for n, d in zip(shape, v.shape, strict=True):
            if n != (d.evaluate(sizes) if isinstance(d, Dim) else d):
                return False
    return True


def refine(graph: Graph, plain: Plain) -> Graph:
    """A graph whose native nodes are `COMPILED` ones."""
    if not is_on():
        return graph
    prepared = ready(graph)
    found = parts(prepared, is_native)
    if not any(part.is_native for part in found):
        return graph
    nodes: list[Node] = []
    for number, part in enumerate(found):
        nodes += [_compiled(part, f"{graph.name}.{number}", plain)] if part.is_native else part.nodes
    result = Graph.of(graph.name, prepared.inputs, nodes, prepared.outputs, graph.guards)
    result.captures, result.reads = graph.captures, graph.reads
    return result


def _compiled(part: Part, name: str, plain: Plain) -> Node:
    segment = Segment(part.graph(name), plain)
    return Node(COMPILED, (*part.inputs,), (*part.outputs,), (segment,), None)


REFINERS["numpy"] = refine

__all__ = ["Code", "Segment", "has_llvm", "is_on", "refine", "untold"]
