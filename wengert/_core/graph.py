"""`Graph`: a program in static single assignment form, append-only while it is built, then frozen.

Nodes are listed in program order and refer to values; values refer to nothing, so a graph has no cycles and
is dropped without recursion. What a graph reads from outside is explicit: captures (tensors of an outer trace or
concrete ones) and Variables read and written.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import error_state, forking
from .dims import Shape, check_bytes
from .printer import graph_text
from .public import names_errors
from .state import STATE, building, next_serial
from .tensor import Tensor, Value
from .types import Guards
from .unrolled import Lines
from .user_line import Site, at_user_line, error_at_user_line, site_of, user_frame

_names = itertools.count()
_open: weakref.WeakValueDictionary[int, Graph] = weakref.WeakValueDictionary()


class Label(NamedTuple):
    """What a node is called, and with which node of the forward computation it is to be placed ("": anywhere)."""

    name: str
    device: str = ""
    beside: str = ""

    def __str__(self) -> str:
        return f"{self.name} on {self.device} beside {self.beside}" if self.beside else self.name


class Scope:
    """What the nodes added now are called: the prefix, then the op, numbered where it comes again."""

    __slots__ = ("_counts", "beside", "device", "prefix")

    def __init__(self, prefix: str, device: str = "", beside: str = "") -> None:
        self.prefix = prefix
        self.device = device
        self.beside = beside
        self._counts: dict[str, int] = {}

    def label(self, op_name: str) -> Label:
        """The label of the next node with this op."""
        count = self._counts[op_name] = self._counts.get(op_name, -1) + 1
        name = f"{self.prefix}{op_name}_{count}" if count else self.prefix + op_name
        return Label(name, self.device, self.beside)


class Node:
    """One application of an op in a graph.

    `is_quiet` marks the nodes of a reverse sweep, which gives no
    floating-point warnings; `label` says where in a gradient a node belongs.
    """

    __slots__ = ("attrs", "inputs", "is_quiet", "label", "op", "outputs", "site")

    def __init__(
        self, op: Any, inputs: tuple[Value, ...], outputs: tuple[Value, ...], attrs: tuple[Any, ...],
        site: Site | None, is_quiet: bool = False, label: Label | None = None,
    ) -> None:  # fmt: skip
        self.op = op
        self.inputs = inputs
        self.outputs = outputs
        self.attrs = attrs
        self.site = site
        self.is_quiet = is_quiet
        self.label = label

    def remade(self, op: object, inputs: tuple[Value, ...], attrs: tuple[Any, ...]) -> Node:
        """Another op in this one's place, with the same outputs."""
        return Node(op, inputs, self.outputs, attrs, self.site, self.is_quiet, self.label)


class Graph:
    """A graph under construction, or finished.

    Inside `with Graph().as_default():` every wg op becomes a node instead of running.

    Example:
        >>> import wengert as wg
        >>> graph = wg.Graph()
        >>> with graph.as_default():
        ...     y = wg.sin(wg.tensor([1.0, 2.0]))
        >>> y.shape
        (2,)
    """

    @names_errors
    def __init__(self, name: str = "") -> None:
        self.name = name or f"graph_{next(_names)}"
        self.serial = next_serial()
        self.outer = STATE.builder.serial if STATE.builder is not None else 0
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.nodes: list[Node] = []
        self.captures: dict[int, tuple[Tensor, Value]] = {}
        self.adopted: dict[int, Any] = {}  # what would be captures, and are states
        self.reads: dict[int, tuple[Any, Value]] = {}  # Variable key -> the variable, its value at entry
        self.writes: dict[int, tuple[Any, Tensor]] = {}  # Variable key -> the variable, its value at exit
        # in a trace of a `function`: the arrays beside its arguments that are inputs, too
        self.arrays: Any = None if STATE.builder is None else STATE.builder.arrays
        self.buffers: dict[int, Tensor] = {}  # key of a buffer made here -> its newest version
        self.constants: dict[int, Any] = {}  # key of a constant made here -> its elements
        self.scalars: set[int] = set()  # keys of the constants that are NumPy's scalars
        self.guards = Guards()
        self.is_frozen = False
        self.is_branch = False  # whether it is one of several programs, which may not be the one that runs
        self.keeps_calls = False  # whether a compiled function that is called stays one node: what replays it runs it
        self.scope: Scope | None = None  # of the nodes that a gradient adds now
        self.lock = forking.long_lock()  # held while the graph changes: another thread may run it
        self._names: dict[str, int] = {}
        self._last_site: Site | None = None
        # set by `Origins`; what is made on behalf of a line may be put together in a graph of its own
        self._origin: tuple[Site | None, Site] | None = None if STATE.builder is None else STATE.builder._origin
        # in `Origins`: the frame that they are for, and the caller's line, which lies beyond that
        self._inside: tuple[FrameType | None, Site | None] = (None, None)
        self._indexed: dict[int, Node] = {}  # by value what makes it, of the first `_indexed_nodes` nodes
        self._indexed_nodes = 0
        self.lines: Lines | None = None  # counts what the user's places make, in a trace of the user's own functions
        _open[self.serial] = self

    @classmethod
    def of(
        cls, name: str, inputs: list[Value], nodes: list[Node], outputs: list[Value], guards: Guards | None = None
    ) -> Graph:
        """A finished graph of these parts."""
        graph = cls(name)
        graph.inputs, graph.nodes, graph.outputs, graph.is_frozen = inputs, nodes, outputs, True
        if guards is not None:
            graph.guards = guards
        return graph

    # -- building ---------------------------------------------------------------------------------------

    def as_default(self) -> building:
        """A context in which every op is added to this graph."""
        if self.lines is None:
            self.lines = Lines()
        return building(self)

    def add_input(self, shape: Shape, dtype: np.dtype[Any], name: str = "", weak: bool = False) -> Tensor:
        """A new input of the given type."""
        value = self._new_value(shape, dtype, name, weak)
        self.inputs.append(value)
        return symbol(value)

    def add(self, op: Any, operands: tuple[Tensor, ...], attrs: tuple[Any, ...]) -> Any:
        """Appends an application of an op; its type rule always runs."""
        if self.is_frozen:
            raise RuntimeError(f"{self.name} is finished: {op.name} cannot be added to it any more")
        with self.lock:
            inputs = (*map(self.value_of, operands),)
            try:
                types = op.type_rule(*(op.group(inputs) if op.is_variadic else inputs), *attrs)
                types = types if op.is_multi else (types,)
                for shape, dtype in types:
                    check_bytes(op.name, shape, dtype)
            except (TypeError, ValueError, IndexError) as error:
                raise error_at_user_line(error) from None
            outputs = (*[self._new_value(t[0], t[1]) for t in types],)
            label = None if self.scope is None else self.scope.label(op.name)
            site = self._site()
            origin = site if self._origin is None or site != self._origin[0] else self._origin[1]
            self.nodes.append(Node(op, inputs, outputs, attrs, origin, STATE.is_quiet, label))
            if self.lines is not None and site is not None and not STATE.is_quiet:
                self.lines.note(site, op.name)
        outs = (*map(symbol, outputs),)
        self._carry_cuts(op, operands, outs)
        return outs if op.is_multi else outs[0]

    def extend(self, node: Node, types: Sequence[Any]) -> None:
        """Gives a node of this graph more results, behind those that it has."""
        for shape, dtype in types:
            check_bytes(node.op.name, shape, dtype)
        more = [self._new_value(t[0], t[1]) for t in types]
        node.outputs = (*node.outputs, *more)
        self._indexed.update((value.key, node) for value in more)

    def shorten(self, count: int) -> None:
        """Drops all nodes but the first so many."""
        del self.nodes[count:]
        self._indexed.clear()
        self._indexed_nodes = 0

    def unique_name(self, name: str) -> str:
        """The name, with a number behind it if the graph has it already: `foo`, `foo_1`, ..."""
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        return self.unique_name(f"{name}_{count}") if count else name

    def _site(self) -> Site | None:
        """The user's line; one object for all the nodes that a line makes in a row."""
        inside, caller = self._inside
        frame, last = user_frame(inside), self._last_site
        if frame is None or frame is inside:
            return caller
        if last is None or frame.f_code is not last.code or frame.f_lasti != last.instruction:
            self._last_site = last = site_of(frame)
        return last

    def site_of(self, key: int) -> Site | None:
        """Where the user made a value of this graph; None where that is not known."""
        node = self.node_of(key)
        return None if node is None else node.site

    def node_of(self, key: int) -> Node | None:
        """The node of this graph that makes a value; None of what comes from outside."""
        found = self._indexed.get(key)
        if found is None:
            for node in self.nodes[self._indexed_nodes :]:
                for value in node.outputs:
                    self._indexed[value.key] = node
            self._indexed_nodes = len(self.nodes)
            found = self._indexed.get(key)
        return found

    def _carry_cuts(self, op: object, operands: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> None:
        for operand in operands:
            if operand._cut is not None:
                for out in outs:
                    out._cut = operand._cut
                return

    def _new_value(self, shape: Shape, dtype: np.dtype[Any], name: str = "", weak: bool = False) -> Value:
        return Value(tuple(shape), dtype, self.serial, name, weak)

    def value_of(self, tensor: Tensor) -> Value:
        """The graph's value for a tensor: its own, or a capture of an outer or concrete one."""
        data = tensor._data
        if type(data) is Value and data.graph == self.serial:
            return data
        if self.arrays is not None and type(data) is not Value:
            self.arrays.take(tensor)
        known = self.captures.get(tensor._key)
        if known is not None:
            return known[1]
        if tensor._key in self.adopted:
            return self.entry_value(self.adopted[tensor._key])._data
        if type(data) is Value and not self._encloses(data.graph):
            raise ValueError(
                at_user_line(
                    f"{tensor!r} belongs to another graph than {self.name}; symbolic tensors can only be used in the "
                    f"trace that made them or in one inside it"
                )
            )
        value = self._new_value(data.shape, data.dtype, weak=tensor._weak)
        # a symbol's twin, for the user may write to the other; of an array a later call reads what it holds then
        kept = Tensor(data, tensor._key, tensor._cut, tensor._weak) if type(data) is Value else tensor
        self.captures[tensor._key] = (kept, value)
        return value

    def adopt_capture(self, key: int, state: Any) -> None:
        """Makes a capture, of before or to come, what a state (the memory of a tensor that is written to) holds when
        the graph starts."""
        found = self.captures.pop(key, None)
        if found is not None:
            self.reads[state._key] = (state, found[1])
        self.adopted[key] = state

    def _encloses(self, serial: int) -> bool:
        return any(graph.serial == serial for graph in self.enclosing())

    def enclosing(self) -> list[Graph]:
        """The graphs in which this one is built, the innermost first."""
        found: list[Graph] = []
        graph = _open.get(self.outer)
        while graph is not None:
            found.append(graph)
            graph = _open.get(graph.outer)
        return found

    # -- Variables --------------------------------------------------------------------------------------

    def read_variable(self, variable: Any) -> Tensor:
        """What a Variable (or buffer) holds at this point of the program: the last write, else its value at entry."""
        own = self.buffers.get(variable._key)
        if own is not None:
            return own
        written = self.writes.get(variable._key)
        if written is not None:
            return written[1]
        return self.entry_value(variable)

    def entry_value(self, variable: Any) -> Tensor:
        """What a Variable holds when the graph starts."""
        with self.lock:
            known = self.reads.get(variable._key)
            if known is None:
                value = self._new_value(variable.shape, variable.dtype, variable.name)
                known = self.reads[variable._key] = (variable, value)
        return symbol(known[1])

    def write_variable(self, variable: Any, tensor: Tensor) -> None:
        """Makes a tensor of this trace what a Variable holds after a run; a buffer made here is no state."""
        if variable._key in self.buffers:
            self.buffers[variable._key] = tensor
            return
        self.writes[variable._key] = (variable, tensor)

    # -- finishing --------------------------------------------------------------------------------------

    def finish(self, outputs: list[Tensor]) -> Graph:
        """Declares the outputs and freezes the graph."""
        self.outputs = [self.value_of(t) for t in outputs]
        self.is_frozen = True
        return self

    @property
    def free_values(self) -> list[Value]:
        """Every value that execution needs from outside, in order (inputs, captures, Variable reads)."""
        captured = [value for _, value in self.captures.values()]
        read = [value for _, value in self.reads.values()]
        return [*self.inputs, *captured, *read]

    def to_text(self) -> str:
        """The graph as text, one node a line."""
        return graph_text(self)

    if TYPE_CHECKING:  # attached by inspect/svg.py

        def to_dot(self) -> str: ...
        def to_svg(self) -> str: ...
        def _repr_html_(self) -> str: ...

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {len(self.inputs)} inputs, {len(self.nodes)} nodes>"


class ReadBefore(BaseException):
    """A body of a loop or branch has read, as a constant, a view of a tensor that it writes to only now.

    Not an error: the body is traced once more, after `prepare`, which lets the tensor be written to from the start.
    """

    def __init__(self, graph: Graph, prepare: Callable[[], Any]) -> None:
        super().__init__("a view was read before its tensor was written to")
        self.graph = graph  # that of the outermost body which has done so
        self.prepare = prepare


def graph_holding(value: Value) -> Graph | None:
    """The graph that a value belongs to, if it still exists."""
    return _open.get(value.graph)


def symbol(value: Value) -> Tensor:
    """The tensor that stands for a value of a graph; it shares the value's identity."""
    return Tensor(value, value.key, None, value.weak)


def open_graph(serial: int) -> Graph | None:
    """The graph with a serial number, if it exists still."""
    return _open.get(serial)


class Origins:
    """Context manager: lines of the user's that nodes are made on behalf of, in the graph under construction.

    Derivatives of a line, and what is made of it when a program is run anew, belong to that line, not to the one that
    has asked for them. What code of the user's makes meanwhile, such as a rule of a custom gradient, has its own.
    """

    __slots__ = ("before", "builder", "caller", "inside")

    def __enter__(self) -> Origins:
        builder = self.builder = STATE.builder
        if builder is not None:
            self.before, self.inside, self.caller = builder._origin, builder._inside, builder._site()
            builder._inside = (sys._getframe(1), self.caller)
        return self

    def __exit__(self, *error: object) -> None:
        if self.builder is not None:
            self.builder._origin, self.builder._inside = self.before, self.inside

    def at(self, site: Site | None) -> None:
        """What the caller's line makes from now on belongs to this one; with None to that before the block."""
        if self.builder is not None:
            self.builder._origin = self.before if site is None else (self.caller, site)

    def of(self, keys: Sequence[int]) -> None:
        """The same for the line that made values of the graph, if any."""
        if self.builder is not None and keys:
            graph: Graph | None = self.builder
            site: Site | None = None
            while site is None and graph is not None:  # or of one around it, whose values it captures
                site, graph = graph.site_of(keys[0]), open_graph(graph.outer)
            self.at(site)


class quietly:
    """Context manager for reverse sweeps: no floating-point warnings from what runs or is traced inside."""

    __slots__ = ("_before", "_silences")

    def __enter__(self) -> None:
        self._before = STATE.is_quiet
        self._silences: tuple[Any, ...] | None = None
        if STATE.builder is not None:
            STATE.is_quiet = True
        else:
            self._silences = silences = STATE.silences
            state = error_state.get()
            STATE.silences = (*silences, state)  # for an interrupt may come as `__exit__` begins
            error_state.put(error_state.SILENT.get(state) or error_state.silent_like(state))

    def __exit__(self, *exc: Any) -> None:
        if self._silences is None:
            STATE.is_quiet = self._before
        else:
            error_state.put(STATE.silences[-1])
            STATE.silences = self._silences
