"""Graph passes before execution. `optimise` runs the list in order; each pass maps a graph to a graph.

They keep NaN, infinities, signed zeros and raised errors: no `x * 0 -> 0`, no `x - x -> 0`, no `x + 0 -> x`.
"""

from __future__ import annotations

from .._core.graph import Graph
from .cse import share_common
from .dce import drop_unused
from .fold import fold_constants
from .simplify import simplify
from .through import drop_rules

PASSES = (drop_rules, simplify, fold_constants, simplify, share_common, drop_unused)


def optimise(graph: Graph) -> Graph:
    """The graph after all passes, in order."""
    for run in PASSES:
        graph = run(graph)
    return graph
