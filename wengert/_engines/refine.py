"""The hook for a compiler: lets it replace parts of an optimised graph before an engine's kernels run the graph.

The native engine's refiner loads with the first graph. It knows no kernels of an engine, and the engine with kernels
no compiler: what they share is a node whose attribute is what runs it (`COMPILED`).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, Protocol

from .._core import headroom
from .._core.graph import Graph
from .._core.op import Op
from .._core.user_line import warn

Plain = Callable[[Graph], Callable[..., tuple[Any, ...]]]


class Refiner(Protocol):
    """From an optimised graph to one in which nodes that were compiled together are one `COMPILED` node."""

    def __call__(self, graph: Graph, plain: Plain) -> Graph:
        """`plain` makes what runs a graph by kernels alone."""
        ...


def _no_types(operands: tuple[Any, ...], run: object) -> Any:
    raise AssertionError("compiled nodes are made for running only")


# Its one attribute, an object with a method `run`, takes the operands' natives and gives the results'.
COMPILED = Op(
    "compiled", ("operands",), ("run",), ("outs",), "general", _no_types, None, is_variadic=True, has_many_outs=True,
    can_raise=True,
)  # fmt: skip

# The engine whose arrays it takes -> the module of a compiler, which has a `refine`; it loads when it is first needed.
COMPILERS = {"numpy": "wengert._engines.native"}

# Bytes that loading one may take; measured are 9 MiB. Python's import system, when it gets no memory, raises what comes
# (SystemError, ImportError, OSError) or ends the process.
LOADED = 32 << 20

PEAK = "peak"  # the name of what a refiner may put in the place of a `reduce_max` that is -inf for no elements
# ... and of the two functions in the place of a primitive that add up to it: of what most programs ask for, which is
# vector code, and of all else; each is -0 where the other one has the value
PARTS = {name: (f"plain {name}", f"{name} elsewhere") for name in ("zeta", "beta", "betaln")}


def refined(engine: str, graph: Graph, plain: Plain) -> Graph:
    """The graph that an engine's kernels are to run."""
    if engine not in COMPILERS or not _has_room(COMPILERS[engine]):
        return graph
    refine: Refiner = importlib.import_module(COMPILERS[engine]).refine
    return refine(graph, plain)


def _has_room(compiler: str) -> bool:
    """Whether a compiler is loaded, or may be."""
    if compiler in sys.modules or min(headroom.addresses(), headroom.pages()) >= LOADED:
        return True
    warn("a program runs by kernels alone: there is no memory to load the compiler", RuntimeWarning)
    return False
