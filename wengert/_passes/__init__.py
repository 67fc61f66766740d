"""Graph passes before execution. `optimise` runs them in order; each maps a graph to a graph.

They keep NaN, infinities, signed zeros and raised errors: no `x * 0 -> 0`, no `x - x -> 0`, no `x + 0 -> x`.
"""

from __future__ import annotations

from collections.abc import Set

from .._core import verifier
from .._core.dims import Atom
from .._core.graph import Graph
from .constants import fold_constants
from .cse import share_common
from .dce import drop_unused
from .drop_rules import drop_rules
from .join_branches import join_branches
from .join_loops import join_loops
from .known_places import take_known_places
from .simplify import simplify

_MOST_TAKINGS = 3  # what was gathered may be joined parts afterwards, of which slices are taken then


def optimise(graph: Graph, told: Set[Atom] = frozenset()) -> Graph:
    """The graph after all passes, in order; where tests run, it is verified (`told`: what a graph around it tells)."""
    simple = simplify(drop_rules(graph))
    folded = fold_constants(simple)
    if folded is not simple:  # with constants there may be more to simplify
        folded = simplify(folded)
    found = drop_unused(_joined(share_common(folded)))
    again = _joined(found)  # what loops kept for nobody may have hindered it
    if again is not found:
        found = drop_unused(again)
    for _ in range(_MOST_TAKINGS):
        taken = take_known_places(found)
        if taken is found:
            break
        found = drop_unused(share_common(simplify(taken)))
    if verifier.VERIFIES_PROGRAMS:
        verifier.verify(found, is_inner=True, told=told)
    return found


def _joined(graph: Graph) -> Graph:
    """The graph with loops and branches joined; itself where there are none to join."""
    joined = join_branches(join_loops(graph))
    return graph if joined is graph else share_common(joined)
