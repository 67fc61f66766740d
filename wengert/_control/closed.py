"""`Closed`: a traced function with its captures as last inputs, so that it can be replayed anywhere.

Rules, batches and solvers keep their functions so where they are traced inside a larger trace. Whoever replays the
larger graph passes the captures' present values, which are operands there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core.dims import Dim, DimLike
from .._core.graph import Graph
from .._core.state import STATE, building, pinning
from .._core.tensor import Tensor
from .._core.types import TensorType
from .._core.user_line import is_library_file
from .._transforms.replay import replay

Function = Callable[[list[Tensor]], Sequence[Tensor | None]]


class Closed:
    """A traced function of tensors whose results may be None, or the exception that tracing it raised.

    Args:
        function: from tensors to tensors (or None); called once, here.
        types: the types of its arguments.
        name: for listings.
        defers: whether an exception is kept until the results are asked for.
        keeps_calls: whether compiled functions that the function calls stay calls.

    Attributes:
        captured: the outer tensors that the function used; `run` takes their values.
    """

    __slots__ = ("captured", "dims", "error", "graph", "present", "writes")

    def __init__(
        self, function: Function, types: Sequence[TensorType], name: str, defers: bool = True, keeps_calls: bool = False
    ) -> None:  # fmt: skip
        self.graph = graph = Graph(name)
        graph.keeps_calls = keeps_calls
        self.captured: tuple[Tensor, ...] = ()
        self.dims: Callable[[Dim], DimLike] | None = None
        self.error: Exception | None = None
        self.writes: list[Any] = []
        outer = STATE.builder
        with pinning(None), building(graph):
            arguments = [graph.add_input(t[0], t[1]) for t in types]
            try:
                results = list(function(arguments))
            except Exception as error:
                # a rule that needs itself would be tried again at each level: the error must end all of them at once
                if not defers or isinstance(error, RecursionError):
                    raise
                # raised again where a gradient is asked for
                self.error = _without_frames(error)
                return
        self.present = [r is not None for r in results]
        self.writes = [variable for variable, _ in graph.writes.values()]
        written = [tensor for _, tensor in graph.writes.values()]
        graph.finish([r for r in results if r is not None] + written)
        self._close()
        if outer is not None:
            outer.guards.require_all(graph.guards)

    @classmethod
    def of(cls, graph: Graph, present: list[bool]) -> Closed:
        """A function whose finished graph is known: a result where `present` says so, then what it writes."""
        closed = cls.__new__(cls)
        closed.graph, closed.present = graph, present
        closed.captured, closed.dims, closed.error = (), None, None
        closed.writes = [variable for variable, _ in graph.writes.values()]
        return closed

    def _close(self) -> None:
        graph = self.graph
        self.captured = (*[tensor for tensor, _ in graph.captures.values()],)
        graph.inputs += [value for _, value in graph.captures.values()]
        graph.captures = {}

    def run(self, arguments: Sequence[Tensor], captured: Sequence[Tensor]) -> list[Tensor | None]:
        """The results for these arguments; Variables assigned by the function are assigned."""
        if self.error is not None:
            raise self.error.with_traceback(None)  # else each use would add its frames to those of the last
        found = self.values([*arguments, *captured])
        count = sum(self.present)
        for variable, tensor in zip(self.writes, found[count:], strict=True):
            variable._put(tensor)
        remaining = iter(found[:count])
        return [next(remaining) if present else None for present in self.present]

    def take_reads(self) -> list[Any]:
        """Makes the Variables that the function reads its last inputs; returns them."""
        graph = self.graph
        variables = [variable for variable, _ in graph.reads.values()]
        graph.inputs += [value for _, value in graph.reads.values()]
        graph.reads = {}
        return variables

    def capture_reads(self) -> None:
        """Makes what Variables hold now captures like others: the function is to see what the first run saw."""
        if self.error is None:
            self.captured = (*self.captured, *[variable._held for variable in self.take_reads()])

    def values(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """All outputs of the graph, those that Variables are assigned at the end; nothing is assigned."""
        return replay(self.graph, inputs, self.dims)

    def with_dims(self, change: Callable[[Dim], DimLike]) -> Closed:
        """The same function where dimensions of the enclosing trace have become what `change` says."""
        copy = Closed.__new__(Closed)
        for name in Closed.__slots__:
            if name != "present" or self.error is None:
                setattr(copy, name, getattr(self, name))
        before = self.dims
        copy.dims = change if before is None else lambda dim: _changed(before(dim), change)
        return copy


def _changed(dim: DimLike, change: Callable[[Dim], DimLike]) -> DimLike:
    return change(dim) if type(dim) is Dim else dim


def _without_frames(error: Exception) -> Exception:
    """The exception with its user's line as a note: its traceback would keep every frame of the trace alive."""
    from traceback import extract_tb  # it takes long to load, and few traces fail

    frames = [f for f in extract_tb(error.__traceback__) if not is_library_file(f.filename)]
    if frames:
        last = frames[-1]
        place = f"{last.filename}, line {last.lineno}: {last.line}"
        error.add_note(f"raised when the gradient function was traced, in {place}")
    return error.with_traceback(None)
