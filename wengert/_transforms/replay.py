"""Runs a finished graph again, node by node, through the dispatch point: eagerly, into another trace, or under
recorders."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .._core import dims
from .._core.apply import apply_prepared
from .._core.dims import Atom, Dim, DimLike, Shape
from .._core.extents import require_late
from .._core.graph import Graph, Node, Origins, quietly
from .._core.tensor import Tensor, Value
from .._core.unrolled import unwatched

_AS_USUAL = contextlib.nullcontext()

T = TypeVar("T")


def on_behalf_of(node: Node, run: Callable[..., T], *args: Any) -> T:
    """What something gives that is run in the place of a node: it belongs to the line of that, and is as quiet."""
    with Origins() as origins, quietly() if node.is_quiet else _AS_USUAL:
        origins.at(node.site)
        return run(*args)


def run_again(node: Node, operands: tuple[Tensor, ...], attrs: tuple[Any, ...]) -> Any:
    """The results of a node for these operands: the one way in which nodes are applied anew.

    Branches, loops and calls are prepared for the tapes that are open now (outside of traces: in one, a sweep asks them
    for more results when it comes to them), and what was quiet stays so.
    """
    results = on_behalf_of(node, apply_prepared, node.op, operands, attrs)
    # what was prepared has further results, for the tapes
    return results[: len(node.outputs)] if node.op.is_multi else results


def bind_dims(graph: Graph, shapes: Sequence[Shape]) -> dict[Atom, DimLike]:
    """What each free dimension of a graph's inputs is for arguments of these shapes."""
    sizes: dict[Atom, DimLike] = {}
    for value, shape in zip(graph.inputs, shapes, strict=True):
        for dim, size in zip(value.shape, shape, strict=True):
            if isinstance(dim, dims.Dim) and dim.is_atom:
                sizes.setdefault(dim.atom, size)
    return sizes


def bind_results(node: Node, results: Any, sizes: dict[Atom, DimLike], skip: int = 0) -> None:
    """Adds what the unknown dimensions of a node's results have become (`skip` leading axes are a batch's)."""
    for value, result in zip(node.outputs, results if node.op.is_multi else (results,), strict=True):
        for dim, size in zip(value.shape, result.shape[skip:], strict=False):
            if type(dim) is Dim and dim.is_atom:
                sizes.setdefault(dim.atom, size)


def entry_environment(graph: Graph, arguments: Sequence[Tensor]) -> dict[int, Tensor]:
    """What the free values of a graph stand for: the arguments, captured tensors, Variables as they are now."""
    env = {value.key: tensor for value, tensor in zip(graph.inputs, arguments, strict=True)}
    env.update(known_environment(graph))
    return env


def known_environment(graph: Graph) -> dict[int, Tensor]:
    """What the free values of a graph stand for that are no inputs: captured tensors, Variables as they are now."""
    env = {value.key: tensor for tensor, value in graph.captures.values()}
    env.update({value.key: variable._held for variable, value in graph.reads.values()})
    return env


def replay(graph: Graph, arguments: Sequence[Tensor], dims_of: Callable[[Dim], DimLike] | None = None) -> list[Tensor]:
    """The outputs of a graph for these arguments, each op applied anew.

    Args:
        graph: a finished graph.
        arguments: one tensor an input.
        dims_of: what the dimensions of an enclosing trace have become, for graphs that live inside another.
    """
    env = entry_environment(graph, arguments)
    sizes = bind_dims(graph, [x.shape for x in arguments])
    with unwatched():
        for node in graph.nodes:
            results = run_again(node, (*[env[v.key] for v in node.inputs],), attrs_for(node, sizes, dims_of))
            store(env, node, results)
            bind_results(node, results, sizes)
    require_late(graph, sizes)
    return [env[value.key] for value in graph.outputs]


def attrs_for(
    node: Node, sizes: dict[Atom, DimLike], dims_of: Callable[[Dim], DimLike] | None = None
) -> tuple[Any, ...]:  # fmt: skip
    """A node's attributes with the free dimensions filled in."""
    attrs = node.attrs if dims_of is None else (*[dims.map_attribute(a, dims_of) for a in node.attrs],)
    if not sizes:
        return attrs
    return (*[dims.map_attribute(a, lambda d: d.substitute(sizes)) for a in attrs],)


def store(env: dict[int, Any], node: Node, results: Tensor | tuple[Any, ...]) -> None:
    """Files a node's results under its output values."""
    outputs: tuple[Value, ...] = node.outputs
    for value, result in zip(outputs, results if node.op.is_multi else (results,), strict=True):
        env[value.key] = result
