"""Arrays on meshes of devices: makes our programs and kernels fit the types that JAX gives to such arrays.

In a `shard_map` an array's type says over which axes of the mesh its values vary, and operations on several arrays
want that of all of them; on a mesh of explicit axes the type says how the array is laid out. Inside a program of ours
neither is of use: XLA lays it out, or each device runs it on what it has. So operands are made to vary alike, results
vary as they do, and the inside is traced as if there were no mesh. A single operation is JAX's own as long as JAX knows
how to lay out what it gives; where it does not (a sort along a sharded axis), each device computes all of it. Where
JAX finds that the types inside do not agree on what varies (in its own `betainc`, in a loop whose start is the same on
all devices), the operation is a program of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.core
from jax.sharding import NamedSharding, PartitionSpec

from ..._control.call import Program
from ..._core.apply import apply
from ..._core.engine import ENGINES
from ..._core.graph import Graph
from ..._core.op import REGISTRY
from ..._core.state import building, pausing

_sharding: Any = jax.sharding  # older releases lack some of what is read of it


def varying(aval: object) -> frozenset[Any]:
    """Over which axes of a mesh an array's values vary, in a `shard_map` that looks after that."""
    kind = getattr(aval, "manual_axis_type", None)
    return getattr(aval, "vma", frozenset()) if kind is None else kind.varying


def vary_alike(leaves: list[Any]) -> tuple[list[Any], list[Any]]:
    """Arrays that vary over the same axes, and their types. The operation is JAX's, and sums over devices backwards."""
    types = [*map(jax.typeof, leaves)]
    found = [*map(varying, types)]
    every = frozenset[Any]().union(*found)
    if found.count(every) == len(found):
        return leaves, types
    alike = [x if own == every else _vary(x, (*sorted(every - own),)) for x, own in zip(leaves, found, strict=True)]
    return alike, [*map(jax.typeof, alike)]


def _vary(x: object, axes: tuple[Any, ...]) -> Any:
    lax: Any = jax.lax
    return lax.pcast(x, axes, to="varying") if hasattr(lax, "pcast") else lax.pvary(x, axes)


def plain(aval: Any) -> Any:
    """The type of an array without what it tells of a mesh."""
    return jax.core.ShapedArray(aval.shape, aval.dtype, weak_type=aval.weak_type)


def off_meshes() -> AbstractContextManager[Any]:
    """In which what is traced is on no mesh."""
    enter = getattr(_sharding, "use_abstract_mesh", None)
    return nullcontext() if enter is None else enter(jax.sharding.AbstractMesh((), ()))


def typed(avals: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """The types of results that lie where the operands do, and vary as they do."""
    for operand in operands:
        mesh = getattr(getattr(operand, "sharding", None), "mesh", None)
        if mesh is not None and not mesh.empty:
            kind = getattr(operand, "manual_axis_type", None)
            more = {"vma": varying(operand)} if kind is None else {"manual_axis_type": kind}
            return [
                a.update(sharding=NamedSharding(mesh, PartitionSpec(*[None] * len(a.shape))), **more) for a in avals
            ]
    return [*avals]


def explicit_mesh(leaves: Sequence[Any]) -> Any:
    """The mesh of explicit axes on which some of these arrays lie; None if there is none."""
    return explicit_mesh_of_types(map(jax.typeof, leaves))


def explicit_mesh_of_types(types: Iterable[Any]) -> Any:
    """The same, of the types of arrays."""
    if not hasattr(_sharding, "auto_axes"):
        return None
    for one in types:
        mesh = getattr(getattr(one, "sharding", None), "mesh", None)
        if mesh is not None and not mesh.empty and _sharding.AxisType.Explicit in mesh.axis_types:
            return mesh
    return None


def laid_out_by_xla(run: Callable[..., Any], leaves: Sequence[Any], results: Sequence[Any], mesh: Any) -> Any:
    """What `run(*leaves)` gives where XLA lays out what is inside.

    A result of an operand's shape is laid out as that, any other is on all devices.

    Args:
        run: from arrays to a list of arrays.
        leaves: arrays on a mesh of explicit axes, or on none.
        results: the types of the results.
        mesh: that mesh.
    """
    known = {a.shape: a.sharding.spec for a in map(jax.typeof, reversed([*leaves])) if not a.sharding.mesh.empty}
    specs = [known.get(a.shape, PartitionSpec(*[None] * len(a.shape))) for a in results]
    names = (*[n for n, t in zip(mesh.axis_names, mesh.axis_types, strict=True) if t == _sharding.AxisType.Explicit],)
    whole = _sharding.auto_axes(run, axes=names, out_sharding=[NamedSharding(mesh, spec) for spec in specs])
    return whole(*leaves)


def vary(operands: Sequence[object]) -> bool:
    """Whether the values of some of these vary over a mesh, in a `shard_map` that looks after that."""
    return any(isinstance(x, jax.Array) and varying(jax.typeof(x)) for x in operands)


def as_program(name: str, operands_and_attrs: Sequence[Any]) -> Any:
    """What an operation gives as a program of its own, inside of which no types tell what varies."""
    op = REGISTRY[name]
    end = len(operands_and_attrs) - len(op.attrs)
    operands, attrs = operands_and_attrs[:end], operands_and_attrs[end:]
    whole = _program_of(name, (*[((*x.shape,), x.dtype) for x in operands],), (*attrs,))
    found = ENGINES["jax"].kernels["call"](*operands, whole)
    return found if op.is_multi else found[0]


@functools.lru_cache(maxsize=256)
def _program_of(name: str, types: tuple[Any, ...], attrs: tuple[Any, ...]) -> Program:
    graph, op = Graph(name), REGISTRY[name]
    with building(graph), pausing():
        inputs = (*[graph.add_input(shape, dtype) for shape, dtype in types],)
        outs = apply(op, inputs, attrs)
        results = [graph.value_of(y) for y in (outs if op.is_multi else (outs,))]
        values = [graph.value_of(x) for x in inputs]
    return Program(Graph.of(name, values, graph.nodes, results, graph.guards))


def whole_where_it_varies(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A primitive's kernel of which JAX finds only as it compiles that its types do not agree on what varies."""

    @functools.wraps(kernel)
    def run(*operands: object) -> Any:
        return as_program(name, operands) if vary(operands) else kernel(*operands)

    return run


def on_any_mesh(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A primitive's kernel that also runs on arrays of which JAX will not say by itself how the result is laid out."""

    @functools.wraps(kernel)
    def run(*operands: object) -> Any:
        try:
            return kernel(*operands)
        except Exception as error:
            if isinstance(error, TypeError) and vary(operands):
                return as_program(name, operands)
            if not _is_about_layout(error):
                raise
            leaves = [x for x in operands if isinstance(x, jax.Array)]
            mesh = explicit_mesh(leaves)
            if mesh is None:
                raise
            try:
                return _relaid(kernel, operands, leaves, mesh)
            except Exception:  # the first one tells what was asked for
                raise error from None

    return run


def _is_about_layout(error: Exception) -> bool:
    """Also what is said of layouts as of wrong values; an error about values is found again by the second run."""
    return type(error).__name__ == "ShardingTypeError" or isinstance(error, ValueError)


def _relaid(kernel: Callable[..., Any], operands: Sequence[Any], leaves: Sequence[Any], mesh: Any) -> Any:
    """What a kernel gives where XLA lays out its results; where sizes follow from values, all devices have all."""
    places = (*[i for i, x in enumerate(operands) if isinstance(x, jax.Array)],)
    rest = (*[None if i in places else x for i, x in enumerate(operands)],)
    sizes_follow_from_values = (jax.errors.ConcretizationTypeError, jax.errors.NonConcreteBooleanIndexError)
    try:
        return _jitted(kernel, rest, places, mesh)(*leaves)
    except (TypeError, *sizes_follow_from_values):
        everywhere = NamedSharding(mesh, PartitionSpec())
        return _refilled(kernel, rest, places)(*[jax.device_put(x, everywhere) for x in leaves])


def _refilled(kernel: Callable[..., Any], rest: tuple[Any, ...], places: tuple[int, ...]) -> Callable[..., Any]:
    """A kernel as a function of the arrays among its operands."""

    def run(*leaves: object) -> Any:
        found = [*rest]
        for i, x in zip(places, leaves, strict=True):
            found[i] = x
        return kernel(*found)

    return run


def _on_all(x: object) -> Any:
    """An array of which each device has all: XLA's partitioner fails at slices of parts that are not alike."""
    return jax.lax.with_sharding_constraint(x, PartitionSpec())


@functools.lru_cache(maxsize=1024)
def _jitted(
    kernel: Callable[..., Any], rest: tuple[Any, ...], places: tuple[int, ...], mesh: object
) -> Callable[..., Any]:
    run = _refilled(kernel, rest, places)

    def relaid(*leaves: Any) -> Any:
        with off_meshes():
            types = jax.eval_shape(
                run, *[jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) for x in leaves]
            )
        results, tree = jax.tree.flatten(types)
        outs = laid_out_by_xla(lambda *xs: jax.tree.leaves(run(*map(_on_all, xs))), leaves, results, mesh)
        return jax.tree.unflatten(tree, outs)

    return jax.jit(relaid)


__all__ = [
    "as_program", "explicit_mesh", "explicit_mesh_of_types", "laid_out_by_xla", "off_meshes", "on_any_mesh", "plain",
    "typed", "vary", "vary_alike", "whole_where_it_varies",
]  # fmt: skip
