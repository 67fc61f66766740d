"""Checks that operands fit the programs of calls, branches and loops; those ops' declarations name it (`check=`).

An unknown extent of a program takes its value from the first operand that has it. Everything else that the programs say
of extents must hold outside, too: what is known is compared here, the rest is checked by the call itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.dims import Atom, Dim, DimLike
from .._core.domains import require_at_most
from .._core.graph import Graph

Sizes = dict[Atom, DimLike]


def require_inputs(op: str, graph: Graph, operands: Sequence[Any]) -> Sizes:
    """Raises unless operands are what a graph takes.

    Returns:
        What the extents of the graph's inputs are outside.
    """
    if len(operands) != len(graph.inputs):
        raise ValueError(f"{op}: {graph.name} takes {len(graph.inputs)} operands, got {len(operands)}")
    sizes: Sizes = {}
    for value, given in zip(graph.inputs, operands, strict=True):
        require_type(op, graph.name, value, given, sizes, binds=True)
    require_guards(op, graph, sizes)
    return sizes


def require_type(op: str, where: str, wanted: Any, given: Any, sizes: Sizes, *, binds: bool = False) -> None:
    """Raises unless a type outside is that of a value inside.

    Args:
        op: the op that holds the program.
        where: the program's name.
        wanted: what the program says, in its dimensions.
        given: what there is outside.
        sizes: what the program's dimensions are outside.
        binds: whether dimensions that are not among the sizes yet are told by what is given.
    """
    if wanted.dtype != given.dtype or len(wanted.shape) != len(given.shape):
        raise ValueError(f"{op}: {where} wants {_said(wanted)}, got {_said(given)}")
    for inside, outside in zip(wanted.shape, given.shape, strict=True):
        if binds and isinstance(inside, Dim) and inside.is_atom:
            sizes.setdefault(inside.atom, outside)
    for inside, outside in zip(wanted.shape, given.shape, strict=True):
        require_same_extent(op, inside, outside, sizes)


def require_guards(op: str, graph: Graph, sizes: Sizes) -> None:
    """Raises unless what a program takes to be equal is so, as far as operands tell."""
    for x, y in graph.guards.equal:
        if isinstance(y, Dim) and y.atoms <= sizes.keys():
            y = y.substitute(sizes)
        elif isinstance(y, Dim):
            continue  # a length that only a run tells, which checks it
        require_same_extent(op, x, y, sizes)


def require_same_extent(op: str, inside: DimLike, outside: DimLike, sizes: Sizes) -> None:
    """Raises if an extent of a program is known to be another one outside."""
    if isinstance(inside, Dim):
        if not inside.atoms <= sizes.keys():
            return
        inside = inside.substitute(sizes)
    require_at_most(op, "an extent", inside, outside)
    require_at_most(op, "an extent", outside, inside)


def _said(type_: Any) -> str:
    return f"{type_.dtype.name} of shape {(*type_.shape,)}"
