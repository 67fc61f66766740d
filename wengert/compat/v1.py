"""TensorFlow 1's deferred style: build a graph with placeholders first, then run parts of it with values.

`Session.run` makes a program of the nodes that its fetches need, once for each set of fetches and feeds.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .._compile.cache import Compiled
from .._compile.trace import Traced
from .._core import dtypes, forking
from .._core.analysis import atoms_in, atoms_named, atoms_told, needed_for
from .._core.argument_types import ArrayLike
from .._core.caller import NUMPY
from .._core.dims import Dim, dims_in
from .._core.graph import Graph, Node, open_graph
from .._core.public import public
from .._core.state import STATE, building
from .._core.structure import LEAF, Spec, flatten, unflatten
from .._core.tensor import Tensor, Value
from .._core.user_line import at_user_line
from ..differentiation.symbolic import gradients
from ..ops.promotion import as_tensor, cast
from ..programs.specs import TensorSpec
from ..programs.variables import Variable

__all__ = ["Graph", "Session", "gradients", "placeholder"]


@public
def placeholder(dtype: Any, shape: Any = (), name: str | None = None) -> Tensor:
    """A tensor of the graph under construction whose value is given when a session runs.

    Args:
        dtype: its data type.
        shape: its shape, a tuple of ints and Nones (any extent, the same one in a run wherever it is compared).
        name: its name in messages and listings; `Placeholder`, `Placeholder_1`, ... by default.

    Returns:
        A symbolic tensor.

    Raises:
        RuntimeError: no graph is under construction.
        TypeError: the dtype is not supported, or the shape is not a tuple of ints and Nones.

    Example:
        >>> import wengert as wg
        >>> v1 = wg.compat.v1
        >>> with v1.Graph().as_default() as graph:
        ...     x = v1.placeholder("float64", (None,), "x")
        ...     y = wg.sum(x * x)
        ...     (g,) = v1.gradients(y, x)
        >>> v1.Session(graph).run([y, g], {x: [1.0, 2.0]})
        [np.float64(5.0), array([2., 4.])]
    """
    builder = STATE.builder
    if builder is None:
        raise RuntimeError(
            at_user_line("placeholder: wanted a graph under construction: with Graph().as_default(): ...")
        )
    spec = TensorSpec(shape, dtype)
    with builder.lock:
        unique = builder.unique_name(name or "Placeholder")
        dims = (*[Dim.free(f"{unique}_{axis}") if d is None else d for axis, d in enumerate(spec.shape)],)
        return builder.add_input(dims, spec.dtype, unique)


class Session:
    """Runs parts of a graph.

    Args:
        graph: the graph; by default the one under construction, else that of what is fetched.

    Example:
        >>> import wengert as wg
        >>> v1 = wg.compat.v1
        >>> with v1.Graph().as_default():
        ...     a = v1.placeholder("float64")
        ...     print(v1.Session().run({"double": 2 * a, "none": None}, feed_dict={a: 3.0}))
        {'double': np.float64(6.0), 'none': None}
    """

    def __init__(self, graph: Graph | None = None) -> None:
        if graph is not None and not isinstance(graph, Graph):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(at_user_line(f"Session: wanted a Graph, got {type(graph).__name__}"))
        self.graph = STATE.builder if graph is None else graph
        self._programs: dict[tuple[Any, ...], Compiled] = {}
        self._lock = forking.long_lock()

    @public
    def run(self, fetches: object, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """The values of some tensors.

        Args:
            fetches: a tensor of the graph, a Variable, None, or a structure of them. Fetching a Variable that the graph
                assigns runs the assignment.
            feed_dict: values for placeholders, or for any tensor of the graph in place of what it computes; of the
                tensor's shape, and converted to its dtype.

        Returns:
            NumPy values in the structure of the fetches, None for None.

        Raises:
            ValueError: a placeholder that is needed has no value (the message names it); a value has another shape
                than its tensor; a tensor is of another graph.
            TypeError: a fetch is not a tensor; a value's dtype does not fit; `feed_dict` is not a dict of tensors.
        """
        leaves, spec = flatten(fetches)
        graph = self._graph_of(leaves)
        feeds = _checked_feeds(feed_dict, graph)
        wanted = [leaf for leaf in leaves if leaf is not None]
        with building(None):
            program, used = self._program(graph, wanted, feeds)
            values = [feeds[key][1] for key in used]
            if not program.admits(values):
                raise ValueError(
                    at_user_line(
                        "Session.run: the values' shapes do not fit each other: "
                        + ", ".join(f"{feeds[key][0]!r} has {feeds[key][1].shape}" for key in used)
                    )
                )
            found = iter(program.run(values, NUMPY))
        return unflatten(spec, [None if leaf is None else next(found) for leaf in leaves])

    def close(self) -> None:
        """Drops what the session has compiled."""
        self._programs.clear()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _graph_of(self, leaves: Iterable[Any]) -> Graph:
        graph = self.graph
        for leaf in leaves:
            if leaf is None or isinstance(leaf, Variable):
                continue
            if not isinstance(leaf, Tensor):
                raise TypeError(at_user_line(f"Session.run: cannot fetch {leaf!r}; wanted tensors of a graph"))
            if type(leaf._data) is Value and graph is None:
                graph = open_graph(leaf._data.graph)
        if graph is None:
            raise ValueError(at_user_line("Session.run: which graph to run is not known; pass one to Session"))
        return graph

    def _program(self, graph: Graph, wanted: list[Any], feeds: dict[int, Any]) -> tuple[Compiled, tuple[int, ...]]:
        """The compiled form of what is wanted, and the keys of the fed tensors that it takes."""
        with graph.lock:  # another thread may be building it
            outputs = [graph.value_of(_tensor_of(graph, leaf)) for leaf in wanted]
            writes = {w._key for w in wanted if isinstance(w, Variable) and w._key in graph.writes}
            identity = (graph.serial, *[v.key for v in outputs], None, *feeds, None, *sorted(writes))
            with self._lock:
                known = self._programs.get(identity)
                if known is None:
                    part = _part(graph, outputs, writes, feeds)
                    known = self._programs[identity] = Compiled(part)
        return known, (*[v.key for v in known.graph.inputs],)


def _tensor_of(graph: Graph, leaf: Any) -> Tensor:
    return graph.read_variable(leaf) if isinstance(leaf, Variable) else leaf


def _checked_feeds(feed_dict: Any, graph: Graph) -> dict[int, Any]:
    """By key: the fed tensor's value in the graph, and what it is to be."""
    if feed_dict is None:
        return {}
    if not hasattr(feed_dict, "items"):
        raise TypeError(at_user_line(f"Session.run: wanted a dict as feed_dict, got {type(feed_dict).__name__}"))
    feeds: dict[int, Any] = {}
    for key, value in feed_dict.items():
        if not isinstance(key, Tensor) or type(key._data) is not Value:
            raise TypeError(
                at_user_line(f"Session.run: cannot feed {key!r}; wanted a placeholder or tensor of the graph")
            )
        place = key._data
        if place.graph != graph.serial:
            raise ValueError(at_user_line(f"Session.run: {key!r} is not of the graph {graph.name}"))
        feeds[place.key] = (place, _fed(value, place))
    return feeds


def _fed(value: ArrayLike, place: Value) -> Tensor:
    """A value as a tensor of its place's type."""
    if isinstance(value, (Tensor, Variable)):
        value = np.asarray(value)  # refused where it is followed: a session's results are plain numbers
    with building(None):
        given = as_tensor(value, f"Session.run: the value for {place!r}")
        fits = len(given.shape) == len(place.shape) and all(
            isinstance(d, Dim) or d == size for d, size in zip(place.shape, given.shape, strict=True)
        )
        if not fits:
            raise ValueError(
                at_user_line(f"Session.run: the value for {place!r} has shape {given.shape}, wanted {place.shape}")
            )
        if not _keeps_kind(given.dtype, place.dtype):
            raise TypeError(
                at_user_line(
                    f"Session.run: the value for {place!r} has dtype {given.dtype.name}, wanted {place.dtype.name}"
                )
            )
        return cast(given, place.dtype)


def _keeps_kind(given: object, wanted: object) -> bool:
    """Whether a value may be converted: any number to a complex place, real ones to a float's, integers to theirs."""
    if dtypes.is_complex(given):
        return dtypes.is_complex(wanted)
    if dtypes.is_float(given):
        return dtypes.is_inexact(wanted)
    return given == dtypes.bool_ or wanted != dtypes.bool_


def _part(graph: Graph, outputs: list[Value], writes: set[int], feeds: dict[int, Any]) -> Traced:
    """The part of a graph that computes the outputs and writes from feeds, captures and Variables."""
    part = Graph(graph.name)
    written = {key: pair for key, pair in graph.writes.items() if key in writes}
    ends = [*outputs, *(graph.value_of(tensor) for _, tensor in written.values())]
    # fed values are not computed
    part.nodes, needed = needed_for([_without_fed(node, feeds) for node in graph.nodes], [v.key for v in ends])
    atoms = atoms_named(part.nodes)
    for value in graph.inputs:
        if (value.key in needed or atoms & atoms_told((value,))) and value.key not in feeds:
            raise ValueError(at_user_line(f"Session.run: the placeholder {value.name!r} needs a value in feed_dict"))
    part.inputs = [place for place, _ in feeds.values()]
    known = atoms_told(part.inputs)
    for value in part.inputs:
        if any(not d.atoms <= known for d in dims_in(value.shape)):
            raise ValueError(
                at_user_line(
                    f"Session.run: the extents {value.shape} of {value!r} are known only if the placeholder that "
                    f"they come from is fed, too"
                )
            )
    part.captures = {k: pair for k, pair in graph.captures.items() if pair[1].key in needed}
    part.reads = {k: pair for k, pair in graph.reads.items() if pair[1].key in needed or k in writes}
    part.writes = written
    part.guards.equal = {pair: None for pair in graph.guards.equal if atoms_in(pair) <= known}
    part.guards.not_one = {d: None for d in graph.guards.not_one if {*d.atoms} <= known}
    part.outputs, part.is_frozen = ends, True
    return Traced(part, Spec(tuple, None, (LEAF,) * len(outputs)), (*range(len(outputs)),))


def _without_fed(node: Node, feeds: Mapping[int, Any]) -> Node:
    """A node whose fed results go nowhere."""
    if not any(v.key in feeds for v in node.outputs):
        return node
    outputs = (*[Value(v.shape, v.dtype, v.graph) if v.key in feeds else v for v in node.outputs],)
    return Node(node.op, node.inputs, outputs, node.attrs, node.site, node.is_quiet, node.label)
