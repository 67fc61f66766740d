"""Traces the functions that branches and loops are made of, and closes them: what they use from outside becomes inputs.

The functions of one construct (its branches; a condition and a body) are closed together, so that they agree on which
outer tensors and which state (Variables, buffers) they read and write. Called in a trace by `cond`,
`scan` and the like (`programs/control.py`) and by ODE solvers (`integrate/_field.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._core.analysis import atoms_in, atoms_named, atoms_told, holders, values_with_own_dims
from .._core.graph import Graph, ReadBefore, symbol
from .._core.state import STATE, building
from .._core.tensor import Tensor, Value
from .._core.types import TensorType
from .._core.unrolled import Lines
from .._core.user_line import at_user_line
from .call import Program

Function = Callable[[list[Tensor]], "list[Tensor]"]


class Body(NamedTuple):
    """One traced function: its graph, still open, and what it returned."""

    graph: Graph
    arguments: list[Value]
    results: list[Value]


class Closure(NamedTuple):
    """What the functions of one construct use from outside.

    Attributes:
        captured: outer tensors that some function uses.
        read: state that is only read.
        written: state that some function writes.
    """

    captured: tuple[Tensor, ...]
    read: tuple[Any, ...]
    written: tuple[Any, ...]

    def operands(self) -> tuple[Tensor, ...]:
        """The tensors behind the captures and the state that is only read, in order."""
        return (*self.captured, *[state._held for state in self.read])

    def entry(self) -> tuple[Tensor, ...]:
        """What the written state holds now."""
        return (*[state._held for state in self.written],)

    def commit(self, values: Sequence[Tensor]) -> None:
        """Makes these what the written state holds from here on."""
        builder = STATE.builder
        assert builder is not None
        for state, value in zip(self.written, values, strict=True):
            if STATE.pins is None:
                builder.write_variable(state, value)
            else:  # a computation is repeated: what it writes stays inside
                state._put(value)


def trace_body(function: Function, types: Sequence[tuple[TensorType, bool]], name: str) -> Body:
    """Runs a function on symbols.

    Args:
        function: from tensors to tensors.
        types: the type of each argument, and whether it is weak.
        name: for listings.

    Raises:
        RecursionError: so many are nested inside one another that Python's stack of calls ends; it says so.
    """
    graph = Graph(name)
    graph.lines = None if STATE.builder is None else Lines()
    # reads of Variables are told to observers once, by the construct as a whole
    before, STATE.reading = STATE.reading, ()
    # what is pinned is state to a body, which it reads and writes by its own graph
    pins, STATE.pins = STATE.pins, None
    STATE.regions = depth = STATE.regions + 1
    try:
        with building(graph):
            arguments = [graph.add_input(t[0], t[1], weak=weak) for t, weak in types]
            results = [graph.value_of(t) for t in function(arguments)]
    except ReadBefore as found:
        if found.graph is not graph:
            raise
        found.prepare()
        return trace_body(function, types, name)
    except RecursionError as error:
        raise _too_deep(error, depth) from None
    finally:
        STATE.reading, STATE.pins = before, pins
        STATE.regions = depth - 1
    return Body(graph, [*graph.inputs], results)


class _TooDeep(RecursionError):
    """A nesting that is too deep, whose error has its final message."""


_TOLD_FROM = 16  # regions: with fewer open, what calls itself is the user's own
_FRAMES = 25  # of Python a region takes at most while it is traced, the user's own and what it calls included


def _too_deep(error: RecursionError, depth: int) -> RecursionError:
    if isinstance(error, _TooDeep) or depth < _TOLD_FROM:
        return error
    limit = sys.getrecursionlimit()
    return _TooDeep(at_user_line(
        f"more than {depth} branches and loops inside one another are deeper than Python's limit of {limit} calls "
        f"lets them be traced; compute them by a loop, or raise it: sys.setrecursionlimit({limit + _FRAMES * depth})"
    ))  # fmt: skip


def closure_of(bodies: Sequence[Body]) -> Closure:
    """The outer tensors and the state that these functions use between them."""
    outer = STATE.builder
    for body in bodies:
        _hold_dims(body)
        if outer is not None:
            outer.guards.require_all(body.graph.guards)
    written = {key: state for body in bodies for key, (state, _) in body.graph.writes.items()}
    for state in written.values():
        for body in bodies:
            state.enter(body.graph)
    captured = {key: tensor for body in bodies for key, (tensor, _) in body.graph.captures.items()}
    read = {key: state for body in bodies for key, (state, _) in body.graph.reads.items() if key not in written}
    return Closure((*captured.values(),), (*read.values(),), (*written.values(),))


def close_body(body: Body, closure: Closure, leading: int, *, returns_state: bool) -> Program:
    """A body as a program.

    Its inputs: the first `leading` arguments, the state written, the other arguments, the captures, the state only
    read. Its outputs: the first `leading` results, the state written (if it is to be returned), the other results.
    """
    graph = body.graph
    written = [graph.value_of(graph.entry_value(state)) for state in closure.written]
    read = [graph.value_of(graph.entry_value(state)) for state in closure.read]
    captured = [graph.value_of(tensor) for tensor in closure.captured]
    finals = [graph.value_of(graph.read_variable(state)) for state in closure.written] if returns_state else []
    graph.is_frozen = True
    inputs = [*body.arguments[:leading], *written, *body.arguments[leading:], *captured, *read]
    outputs = [*body.results[:leading], *finals, *body.results[leading:]]
    return Program(Graph.of(graph.name, inputs, graph.nodes, outputs, graph.guards))


def _hold_dims(body: Body) -> None:
    """Captures an outer tensor for each outer dimension that the body uses and no input of it tells."""
    graph = body.graph
    told = atoms_told((*graph.free_values, *values_with_own_dims(graph.nodes)))
    used = atoms_named(graph.nodes)
    # and of the results: an argument of n // 2 elements does not tell n
    missing = used.union(*(atoms_in(v.shape) for v in body.results)) - told
    if not missing:
        return
    for outer in graph.enclosing():
        found, missing = holders(outer.free_values, missing)
        for value in found:
            graph.value_of(symbol(value))
    missing &= used
    if missing:
        names = ", ".join(sorted(map(str, missing)))
        raise ValueError(at_user_line(f"{graph.name}: the dimension {names} is not that of any array in reach"))
