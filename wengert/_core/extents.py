"""Checks at run time of dimensions that are known only then: of loops' variables, and of results of loops.

A trace assumes that such extents fit; `checks_of(graph)` lists these assumptions, and whatever runs a graph
(`_engines/source.py`, `_engines/interpret.py`, `_transforms/replay.py`) checks them on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .dims import Atom, Dim, DimLike, evaluate
from .graph import Graph
from .state import STATE
from .types import Origin
from .user_line import at_user_line


class Check(NamedTuple):
    """That two dimensions are equal or, without another, that one is not 1."""

    origin: Origin
    dim: DimLike
    other: DimLike | None

    @property
    def atoms(self) -> set[Atom]:
        return {a for d in (self.dim, self.other) if isinstance(d, Dim) for a in d.atoms}

    def __call__(self, sizes: Mapping[Atom, Any]) -> None:
        """Raises where it does not hold; extents that a framework's graph or ragged rows do not tell are left alone."""
        found = {a: sizes[a] for a in self.atoms}
        if any(type(n) is not int or n < 0 for n in found.values()):
            return
        value = evaluate(self.dim, found)
        if value == 1 if self.other is None else value != evaluate(self.other, found):
            op, site, error = self.origin
            said = (
                f"{op}: a loop's variable, or what came out of a loop, has a shape that does not fit: "
                f"{', '.join(f'{a} = {n}' for a, n in found.items())}, and {self._wanted()}"
            )
            raise error(said if site is None else at_user_line(said, site))

    def _wanted(self) -> str:
        if self.other is None:
            return f"{self.dim} must not be 1"
        if type(self.other) is int and self.other == 0:  # as broadcasting says it
            return "extents that meet must be equal, or one of them 1"
        return f"{self.dim} must equal {self.other}"


def checks_of(graph: Graph) -> list[Check]:
    """What a run of a graph has to check."""
    late = graph.guards.late()
    pairs = [((x, y), x, y) for x, y in late.equal] + [(x, x, None) for x in late.not_one]
    found = [(late.origins.get(key, _UNKNOWN), x, y) for key, x, y in pairs]
    return [Check(origin if origin.op else origin._replace(op=graph.name), x, y) for origin, x, y in found]


_UNKNOWN = Origin("", None)


def require_late(graph: Graph, sizes: dict[Atom, DimLike]) -> None:
    """Sees to it that what a graph says of late dimensions holds where its nodes were applied anew.

    Args:
        graph: what was applied.
        sizes: what its dimensions have become. In a trace a run of that will check them; else they are checked now.
    """
    builder = STATE.builder
    if builder is not None:
        builder.guards.require_late(graph.guards, lambda dim: dim.substitute(sizes))
        return
    for check in checks_of(graph):
        if check.atoms <= sizes.keys():
            check(sizes)
