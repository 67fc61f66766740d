"""Programs among the types that JAX gives to arrays on meshes.

In a `shard_map` an array's type says over which axes of the mesh its values vary, and operations on several arrays
want that of all of them; on a mesh of explicit axes the type says how the array is laid out. Inside a program of ours
neither is of use: XLA lays it out, or each device runs it on what it has. So operands are made to vary alike, results
vary as they do, and the inside is traced as if there were no mesh.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.core
from jax.sharding import NamedSharding, PartitionSpec

_sharding: Any = jax.sharding  # older releases lack some of what is read of it


def varying(aval: Any) -> frozenset[Any]:
    """Over which axes of a mesh an array's values vary, in a `shard_map` that looks after that."""
    kind = getattr(aval, "manual_axis_type", None)
    return getattr(aval, "vma", frozenset()) if kind is None else kind.varying


def vary_alike(leaves: list[Any]) -> list[Any]:
    """Arrays that vary over the same axes. The operation is JAX's, and sums over devices backwards."""
    found = [*map(varying, map(jax.typeof, leaves))]
    every = frozenset[Any]().union(*found)
    return [x if own == every else _vary(x, (*sorted(every - own),)) for x, own in zip(leaves, found, strict=True)]


def _vary(x: Any, axes: tuple[Any, ...]) -> Any:
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
    if not hasattr(_sharding, "auto_axes"):
        return None
    for x in leaves:
        mesh = getattr(getattr(jax.typeof(x), "sharding", None), "mesh", None)
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


__all__ = ["explicit_mesh", "laid_out_by_xla", "off_meshes", "plain", "typed", "varying", "vary_alike"]
