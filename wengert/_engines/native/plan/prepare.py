"""Prepares graphs for lowering: removes nodes that only rename values, inlines calls, and expands composed ops.

Composed ops are those that are best computed from simpler ones, as softmax is. Importing this module needs no LLVM.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...._control.loop import Loop
from ...._core.dims import Atom, Dim, map_attribute
from ...._core.dtypes import is_half
from ...._core.graph import Graph, Node
from ...._core.op import stated
from ...._core.printer import programs_of
from ...._core.state import building
from ...._core.tensor import Tensor, Value
from ...._passes import optimise
from ...._transforms.replay import bind_dims
from ...refine import PARTS
from .expansion_helpers import MOST_SLOPES, parts_of
from .expansion_helpers import op as _op
from .expansion_helpers import peak as _peak
from .late_broadcasts import narrowed
from .unasked import unasked_dropped

_REAL = "biuf"


def ready(graph: Graph) -> Graph:
    """A graph without names for names, without calls, with composed ops expanded."""
    preparing = _Preparing()
    for value in graph.inputs:
        preparing.stands_for[value.key] = value
    preparing.add_all(graph, None)
    outputs = [preparing.stands_for[v.key] for v in graph.outputs]
    found = Graph.of(graph.name, graph.inputs, preparing.nodes, outputs, graph.guards)
    return unasked_dropped(narrowed(found))


def count_nodes(graph: Graph) -> int:
    """How many nodes a graph has, with those of the programs in it."""
    total = len(graph.nodes)
    for node in graph.nodes:
        total += sum(len(inner.nodes) for inner in programs_of(node))
    return total


class _Preparing:
    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.ones: set[int] = set()  # keys of values of which all elements are 1
        self.stands_for: dict[int, Value] = {}

    def add_all(self, graph: Graph, sizes: dict[Atom, Any] | None) -> None:
        """Adds a graph's nodes; with sizes, as copies whose dimensions are those of the graph around."""
        for node in graph.nodes:
            self.add(node, sizes)

    def add(self, node: Node, sizes: dict[Atom, Any] | None) -> None:
        name = node.op.name
        inputs = (*[self.stands_for[v.key] for v in node.inputs],)
        same = _renamed(node, inputs)
        if same is not None:
            for value, known in zip(node.outputs, same, strict=True):
                self.stands_for[value.key] = known
            return
        if _is_ones(node):
            self.ones.add(node.outputs[0].key)
        attrs = node.attrs if not sizes else (*[_substituted(a, sizes) for a in node.attrs],)
        if name == "matmul" and node.inputs[1].key in self.ones:
            name = "matmul with ones"
        elif name == "matmul" and inputs[0].shape[-1] == 1 and inputs[0].dtype.kind in "fc":
            name = "matmul of columns with rows"
        elif name == "zeta" and attrs[0] <= MOST_SLOPES:
            name = "zeta in parts"
        elif name in ("beta", "betaln") and inputs[0].dtype.itemsize <= 4:
            name = f"{name} in parts"
        elif name in ("expm", "expm_along") and inputs[0].shape[-1] == 1:
            name = f"{name} of numbers"
        expand = None if name in _LOWERED else _EXPANSIONS.get(name, node.op.body)
        inner = optimise(attrs[0].graph) if name == "call" else _expansion(name, expand, inputs, attrs)
        if inner is None and node.op.facts.in_float32 and any(is_half(v.dtype) for v in inputs):
            inner = _in_float32(node, inputs, attrs)
        if inner is not None:
            if name != "call":
                _placed_at(inner, node)
            self.inline(inner, inputs, node.outputs)
            return
        if name == "loop" and type(attrs[0].length) is Dim:
            attrs = (_of_any_length(attrs[0]),)
        outputs = node.outputs if sizes is None else (*[self.copied(v, sizes) for v in node.outputs],)
        for value, out in zip(node.outputs, outputs, strict=True):
            self.stands_for[value.key] = out
        self.nodes.append(Node(node.op, inputs, outputs, attrs, node.site, node.is_quiet, node.label))

    def copied(self, value: Value, sizes: dict[Atom, Any]) -> Value:
        return Value(_substituted(value.shape, sizes), value.dtype, value.graph, value.name, value.weak)

    def inline(self, graph: Graph, inputs: Sequence[Value], outputs: Sequence[Value]) -> None:
        """Adds the nodes of another graph, on these inputs; `outputs` then stand for its results."""
        before = {v.key: self.stands_for.get(v.key) for v in graph.inputs}
        sizes = bind_dims(graph, [x.shape for x in inputs])
        for known, x in zip(graph.inputs, inputs, strict=True):
            self.stands_for[known.key] = x
        self.add_all(graph, sizes)
        found = [self.stands_for[v.key] for v in graph.outputs]
        for key, value in before.items():
            if value is not None:
                self.stands_for[key] = value
        for value, result in zip(outputs, found, strict=True):
            self.stands_for[value.key] = result


def _of_any_length(spec: Loop) -> Loop:
    """A loop that tells how long it is by its results alone: to run, it needs no number that only they tell."""
    found = copy.copy(spec)
    found.length = None
    return found


def _substituted(attribute: object, sizes: dict[Atom, Any]) -> Any:
    return map_attribute(attribute, lambda d: d.substitute(sizes)) if sizes else attribute


def _renamed(node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...] | None:
    """The values that a node's results are other names of; None if it computes something."""
    name = node.op.name
    if node.op.facts.moves == "same":
        return inputs[: len(node.outputs)]
    if name == "custom":
        rule = node.attrs[-1]
        return inputs[rule.inputs :][: rule.outputs]
    if name in ("conj", "real") and inputs[0].dtype.kind in _REAL:
        return inputs[:1]
    if name == "convert" and node.outputs[0].dtype == inputs[0].dtype:
        return inputs[:1]
    return None


# -- expansions -------------------------------------------------------------------------------------------------------


def _placed_at(graph: Graph, node: Node) -> None:
    """What an op is expanded into has the op's place in the program, not the place that had it compiled."""
    for inner in graph.nodes:
        inner.site, inner.label, inner.is_quiet = node.site, node.label, node.is_quiet


def _expansion(
    name: str, expand: Callable[..., Any] | None, inputs: Sequence[Value], attrs: tuple[Any, ...]
) -> Graph | None:  # fmt: skip
    is_complex = any(v.dtype.kind not in _REAL for v in inputs if not is_half(v.dtype))
    if expand is None or (is_complex and name not in _OF_COMPLEX):
        return None
    if any(is_half(v.dtype) for v in inputs) and name in _EXPANSIONS and name not in _OF_HALVES:
        return None
    graph = Graph(name)
    with building(graph):
        outs = expand(*[graph.add_input(v.shape, v.dtype) for v in inputs], *attrs)
        graph.finish([*outs] if isinstance(outs, tuple) else [outs])
    return graph


# which round as one operation does
_OF_HALVES = ("unstack", *[f"{name} in parts" for name in PARTS])
_OF_COMPLEX = ("matmul of columns with rows", "expm of numbers", "expm_along of numbers", "sinc")
# of whose bodies machine code would compute the same parts again and again, or two logarithms
_LOWERED = ("beta_size", "log_ratio", "expm_along")


def _in_float32(node: Node, inputs: Sequence[Value], attrs: tuple[Any, ...]) -> Graph:
    """A node on half floats as one on float32."""
    graph, op, halves = Graph(node.op.name), node.op, [v.dtype for v in node.outputs]
    with building(graph):
        given = [graph.add_input(v.shape, v.dtype) for v in inputs]
        wide = [_op("convert")(x, dtype=np.dtype(np.float32)) if is_half(x.dtype) else x for x in given]
        found = op(*wide, **dict(zip(op.attrs, attrs, strict=True)))
        outs = [*found] if isinstance(found, tuple) else [found]
        graph.finish(
            [_op("convert")(x, dtype=dtype) if x.dtype != dtype else x for x, dtype in zip(outs, halves, strict=True)]
        )
    return graph


def _kept(x: Tensor, axes: tuple[int, ...], like: Tensor) -> Tensor:
    """A value reduced over axes, repeated along them again."""
    shape = (*[1 if i in axes else n for i, n in enumerate(like.shape)],)
    return _op("broadcast_to")(_op("reshape")(x, shape=shape), shape=like.shape)


def _logsumexp(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    if not axes:
        return x
    peak = _peak()(x, axes=axes)
    zero = _op("full")(shape=peak.shape, value=0, dtype=x.dtype)
    peak = _op("select")(_op("isinf")(peak), zero, peak)
    grown = _op("exp")(_op("sub")(x, _kept(peak, axes, x)))
    return _op("add")(_op("log")(_op("reduce_sum")(grown, axes=axes)), peak)


def _shifted(x: Tensor, axis: int) -> Tensor:
    return _op("sub")(x, _kept(_peak()(x, axes=(axis,)), (axis,), x))


def _softmax(x: Tensor, axis: int) -> Tensor:
    axis %= len(x.shape)
    grown = _op("exp")(_shifted(x, axis))
    return _op("div")(grown, _kept(_op("reduce_sum")(grown, axes=(axis,)), (axis,), x))


def _log_softmax(x: Tensor, axis: int) -> Tensor:
    axis %= len(x.shape)
    shifted = _shifted(x, axis)
    total = _op("log")(_op("reduce_sum")(_op("exp")(shifted), axes=(axis,)))
    return _op("sub")(shifted, _kept(total, (axis,), x))


def _row_sums(x: Tensor, ones: Tensor) -> Tensor:
    """The product with a matrix of ones: each row's sum, again and again."""
    total = _op("reshape")(_op("reduce_sum")(x, axes=(len(x.shape) - 1,)), shape=(*x.shape[:-1], 1))
    return _op("broadcast_to")(total, shape=(*x.shape[:-1], ones.shape[-1]))


def _outer(x: Tensor, y: Tensor) -> Tensor:
    """The product of a column and a row, of one term an element: what is done with it is done in the same loop.

    As a sum that begins at zero it has no negative zeros.
    """
    shape = (*x.shape[:-1], y.shape[-1])
    product = _op("mul")(_op("broadcast_to")(x, shape=shape), _op("broadcast_to")(y, shape=shape))
    return _op("add_number")(product, number=0.0)


def _exp(x: Tensor) -> Tensor:
    return _op("exp")(x)


def _exp_along(x: Tensor, change: Tensor) -> Tensor:
    return _op("mul")(change, _op("exp")(x))


def _is_ones(node: Node) -> bool:
    """Whether a node gives nothing but ones."""
    value = stated(node.op, node.attrs)
    return value is not None and node.outputs[0].dtype.kind in _REAL and bool(np.all(np.asarray(value) == 1))


def _unstack(x: Tensor, size: int) -> tuple[Tensor, ...]:
    shape = x.shape[1:]
    zeros, ones = (0,) * len(shape), (1,) * len(shape)
    rows = [_op("slice")(x, starts=(k, *zeros), limits=(k + 1, *shape), strides=(1, *ones)) for k in range(size)]
    return (*[_op("reshape")(row, shape=shape) for row in rows],)


def _in_parts(name: str) -> Callable[..., Tensor]:
    def expanded(x: Tensor, y: Tensor, *attrs: object) -> Tensor:
        dtype, said = x.dtype, dict(zip(_op(name).attrs, attrs, strict=True))
        wide = [_op("convert")(v, dtype=np.dtype(np.float32)) for v in (x, y)] if is_half(dtype) else (x, y)
        plain, elsewhere = (part(*wide, **said) for part in parts_of(name))
        found = _op("add")(plain, elsewhere)
        return _op("convert")(found, dtype=dtype) if is_half(dtype) else found

    return expanded


_EXPANSIONS: dict[str, Callable[..., Any]] = {
    "logsumexp": _logsumexp, "softmax": _softmax, "log_softmax": _log_softmax, "unstack": _unstack,
    "expm of numbers": _exp, "expm_along of numbers": _exp_along, "matmul with ones": _row_sums,
    "matmul of columns with rows": _outer,
    **{f"{name} in parts": _in_parts(name) for name in PARTS},
}  # fmt: skip

__all__ = ["count_nodes", "ready"]
