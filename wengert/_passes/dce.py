"""Drops nodes whose results nothing uses, unless they have an effect or may raise; and what branches and loops save for
backward passes that nobody asks for."""

from __future__ import annotations

from .._control.call import programs_within
from .._core.analysis import atoms_in, atoms_named, atoms_told
from .._core.dims import Dim, DimLike
from .._core.graph import Graph, Node
from .._core.op import BRANCHES_AND_LOOPS
from .rewrite import with_nodes


def drop_unused(graph: Graph) -> Graph:
    """The graph without dead nodes."""
    live = {v.key for v in graph.outputs}
    live |= _tellers(graph)
    kept = []
    for node in reversed(graph.nodes):
        if not live.isdisjoint([v.key for v in node.outputs]) or _matters(node):
            if node.op.facts.holds:
                node = _pruned(node, live)
            kept.append(node)
            live.update([v.key for v in node.inputs])
    return with_nodes(graph, kept[::-1], graph.outputs)


def _tellers(graph: Graph) -> set[int]:
    """The results of branches and loops of which an extent is needed, by other nodes or for a check, if not more."""
    regions = [node for node in graph.nodes if node.op.facts.holds in BRANCHES_AND_LOOPS]
    made = [v for node in regions for v in node.outputs if any(map(_is_dim, v.shape))]
    if not made:
        return set()
    needed = atoms_named(graph.nodes)
    late = graph.guards.late()
    needed |= atoms_in((*(d for pair in late.equal for d in pair), *late.not_one))
    return {v.key for v in made if atoms_told((v,)) & needed}


def _is_dim(extent: DimLike) -> bool:
    return type(extent) is Dim


def _pruned(node: Node, live: set[int]) -> Node:
    """A branch or a loop without the results beyond the user's own that nothing uses, and what is there for those."""
    if node.op.facts.holds not in BRANCHES_AND_LOOPS:
        return node
    used = [v.key in live for v in node.outputs]
    if all(used):
        return node
    attr, kept = node.attrs[-1].pruned(used, _matters)
    if attr is node.attrs[-1]:
        return node
    outputs = (*[v for v, is_kept in zip(node.outputs, kept, strict=True) if is_kept],)
    return Node(node.op, node.inputs, outputs, (*node.attrs[:-1], attr), node.site, node.is_quiet, node.label)


def _matters(node: Node) -> bool:
    """Whether a node has an effect, may raise, or need not end: it runs though nothing uses its results."""
    if not node.op.facts.holds:
        return node.op.has_effect or node.op.can_raise
    region = node.attrs[-1]
    if getattr(region, "condition", None) is not None and region.most is None:
        return True
    return any(_matters(inner) for program in programs_within(node) for inner in program.graph.nodes)
