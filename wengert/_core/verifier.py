"""Checks the invariants of a finished graph; a failure is a bug in a rule or a pass, never a user's mistake.

Of values: each is defined once, before its uses, with the type that its op's rule gives. Of extents:

- A dimension that a node names is an input's, or that of a result before it. New ones come from ops that hold
  programs, and are *late*: none that was there before is identified with one that only a run tells.
- Attributes are in their domains, and fit the operands (`domains`).
- Where a type rule takes two extents to be equal, the graph says so: in a guard, or in what its runs check. Only the
  graph itself can check late extents, and it has values that tell them.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from .analysis import atoms_in, atoms_told
from .dims import Atom, Dim, DimLike, check_bytes, dims_in, is_late, maximum
from .domains import require_attributes
from .graph import Graph, Node
from .printer import node_text, value_names
from .state import STATE, building
from .types import Guards, TensorType

VERIFIES_PROGRAMS = False  # tests switch it on: what transforms and passes make is verified, too


class VerificationError(AssertionError):
    """A graph breaks an invariant."""


def verify(graph: Graph, *, is_inner: bool = False, adds_guards: bool = False, told: Set[Atom] = frozenset()) -> None:
    """Checks a graph.

    Args:
        graph: a finished graph.
        is_inner: whether it is part of a graph that has taken over the guards that can be checked before a run.
        adds_guards: whether what attributes ask of unknown extents becomes guards: each call of a function from a file
            is to check it.
        told: the dimensions that a graph around it tells.
    """
    conditions = _Verifier(graph, is_inner, told).run()
    if adds_guards:
        for small, large in conditions:
            graph.guards.require_equal(maximum(small, large), large)


# of attributes in which there is no dimension
_WITHOUT_DIMS = frozenset([int, float, complex, bool, str, type(None)])


class _Verifier:
    """One check of a graph.

    Attributes:
        defined: the keys of the values so far.
        told: the dimensions that they tell.
    """

    def __init__(self, graph: Graph, is_inner: bool, told: Set[Atom]) -> None:
        self.graph = graph
        self.is_inner = is_inner
        self.defined = {v.key for v in graph.free_values}
        self.told = told | atoms_told(graph.free_values)
        self.assumed = {frozenset(pair) for pair in (*graph.guards.equal, *graph.guards.elsewhere)}

    def run(self) -> list[tuple[DimLike, DimLike]]:
        if len(self.defined) != len(self.graph.free_values):
            raise self.error("an input is listed twice")
        scratch: Any = _Scratch()
        before = (STATE.builder, STATE.recorders, STATE.is_quiet)
        try:
            with building(scratch):
                for node in self.graph.nodes:
                    self.node(node, scratch)
        finally:  # again, for an interrupt may come as `__exit__` begins
            STATE.builder, STATE.recorders, STATE.is_quiet = before
        for value in self.graph.outputs:
            if value.key not in self.defined:
                raise self.error(f"the output {value} is not defined")
        self.late_guards()
        return scratch.conditions

    def node(self, node: Node, scratch: _Scratch) -> None:
        for value in node.inputs:
            if value.key not in self.defined:
                names = value_names(self.graph)
                shown = names.get(value.key, repr(value))
                raise self.error(f"{node_text(node, names)} uses {shown} before its definition")
        op, attrs = node.op, node.attrs
        if attrs and not _WITHOUT_DIMS.issuperset(map(type, attrs)):
            # how long a loop is may be known to nobody before it has run
            named = dims_in((*[a for a in attrs if not hasattr(a, "own_dims")],))
            self.require_told(node, atoms_in(named), "names")
        if scratch.guards.equal:
            scratch.guards = Guards()
        if attrs or op.attrs:
            require_attributes(op.name, op.attrs, attrs)
        operands = op.group(node.inputs) if op.is_variadic else node.inputs
        types = op.type_rule(*operands, *attrs)
        if op.check is not None:
            op.check(*operands, *attrs)
        if scratch.guards.equal:
            self.assumptions(node, scratch.guards)
        brings_dims = False
        for value, expected in zip(node.outputs, types if op.is_multi else (types,), strict=True):
            check_bytes(op.name, value.shape, value.dtype)
            if value.key in self.defined:
                raise self.error(f"{value_names(self.graph)[value.key]} is defined twice")
            if tuple(value.shape) != tuple(expected[0]) or value.dtype != expected[1]:
                raise self.error(f"{self.shown(node)} should give {TensorType(expected)}")
            self.defined.add(value.key)
            brings_dims = brings_dims or Dim in map(type, value.shape)
        if brings_dims:
            self.results(node)

    # -- extents ------------------------------------------------------------------------------------------------------

    def assumptions(self, node: Node, found: Guards) -> None:
        """What the type rule took for granted is among the guards."""
        for x, y in found.equal:
            is_checked_outside = self.is_inner and not (is_late(x) or is_late(y))
            if not is_checked_outside and frozenset((x, y)) not in self.assumed:
                raise self.error(f"{self.shown(node)} takes {x} and {y} to be equal, and nothing checks it")

    def results(self, node: Node) -> None:
        """The dimensions that a node's results bring are its own, or those of a primal that a pass has dropped."""
        shapes = [d for v in node.outputs for d in v.shape if isinstance(d, Dim)]
        fresh = atoms_in(_own_dims(node))
        for atom in fresh & self.told:
            raise self.error(f"{self.shown(node)} tells {atom}, which is the extent of something else")
        fresh |= {a for attr in node.attrs if hasattr(attr, "own_dims") for d in dims_in(attr) for a in d.atoms}
        fresh |= atoms_in([d for a in node.attrs if hasattr(a, "shared_dims") for d in a.shared_dims()])
        self.told |= {d.atom for d in shapes if d.is_atom and d.atom in fresh}
        self.require_told(node, atoms_in(shapes), "gives")

    def require_told(self, node: Node, atoms: set[Atom], does: str) -> None:
        for atom in atoms - self.told:
            raise self.error(f"{self.shown(node)} {does} the dimension {atom}, which nothing before it tells")

    def late_guards(self) -> None:
        """Values of this very graph tell what its runs are to check."""
        late = self.graph.guards.late()
        for x in (*(d for pair in late.equal for d in pair), *late.not_one):
            for atom in (x.atoms if isinstance(x, Dim) else set[Atom]()) - self.told:
                raise self.error(f"a run is to check the dimension {atom}, which nothing in the graph tells")

    def shown(self, node: Node) -> str:
        return node_text(node, value_names(self.graph))

    def error(self, said: str) -> VerificationError:
        return VerificationError(f"{self.graph.name}: {said}")


def _own_dims(node: Node) -> list[Dim]:
    """The dimensions that only a run of this very node tells, as the programs that it holds name them."""
    held = [a for a in node.attrs if hasattr(a, "own_dims")]
    return [d for a in held for d in a.own_dims()]


class _Scratch:
    """Stands in for a builder while types are checked again: what they assume is guarded already."""

    def __init__(self) -> None:
        self.guards = Guards()
        self.conditions: list[tuple[DimLike, DimLike]] = []  # what is at most what, where only a call tells
