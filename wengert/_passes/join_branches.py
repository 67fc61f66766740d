"""Joins branches that one index chooses, so that it is asked once, and what both compute is computed once.

Forward mode's branches compute the values beside their tangents, and a program has both. Two `switch`es of one index
become one where neither needs what the other gives: each of its branches is the two branches, which `cse` then finds
to have the same parts.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod

from .._control.call import Program, has_effect
from .._control.switch import Branches
from .._core.dims import dims_in
from .._core.graph import Graph, Node
from .._core.tensor import Value
from .joining import Rules, join_pairs
from .rewrite import copied, renamed

_FEW = 8  # numbers


def join_branches(graph: Graph) -> Graph:
    """The graph with branches joined; itself where there are none to join."""
    return join_pairs(graph, Rules(_may_be_joined, _marks, lambda first, second: (_joined(first, second), {})))


def _may_be_joined(node: Node) -> bool:
    """Whether a node chooses among branches whose results alone are seen, and whose extents are numbers."""
    if node.op.facts.holds != "branches":
        return False
    branches: Branches = node.attrs[0]
    values = (*node.inputs, *node.outputs)
    graphs = [program.graph for program in branches.programs]
    if any(v.is_history for v in values) or dims_in((*[v.shape for v in values],)):
        return False
    return _is_work(graphs) and not any(has_effect(g) or g.guards.equal or g.guards.not_one for g in graphs)


def _is_work(graphs: Sequence[Graph]) -> bool:
    """Whether what branches compute takes a while: compilers join those of few numbers by themselves, and do better."""
    return any(node.op.facts.holds or any(map(_is_large, node.outputs)) for g in graphs for node in g.nodes)


def _is_large(value: Value) -> bool:
    return any(type(n) is not int for n in value.shape) or prod(value.shape) > _FEW


def _marks(node: Node) -> set[Hashable]:
    """What a switch chooses by, each with something that it reads: of switches that read nothing in common nothing is
    computed twice."""
    return {(node.inputs[0].key, node.is_quiet, v.key) for v in node.inputs[1:]}


def _joined(first: Node, second: Node) -> Node:
    """A switch that gives what two give."""
    one, other = first.attrs[0], second.attrs[0]
    places = {v.key: place for place, v in reversed([*enumerate(first.inputs[1:])])}
    added = [place for place, v in enumerate(second.inputs[1:]) if v.key not in places]
    programs: list[Program] = []
    for mine, its in zip(one.programs, other.programs, strict=True):
        graph = mine.graph
        given = [
            graph.inputs[places[v.key]] if v.key in places else renamed(own)
            for own, v in zip(its.graph.inputs, second.inputs[1:], strict=True)
        ]
        nodes, results = copied(its.graph, given)
        inputs = [*graph.inputs, *(given[place] for place in added)]
        programs.append(
            Program(Graph.of(graph.name, inputs, [*graph.nodes, *nodes], [*graph.outputs, *results], graph.guards))
        )
    branches = Branches((*programs,), one.own + other.own, results=(*one.results, *other.results))
    operands = (*first.inputs, *(second.inputs[1 + place] for place in added))
    outputs = (*first.outputs, *second.outputs)
    return Node(first.op, operands, outputs, (branches,), first.site, first.is_quiet, first.label)
