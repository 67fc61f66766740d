"""Which entries of a Jacobian are the same numbers everywhere, and passes that leave them out.

Values that come of the source by linear ops with known factors alone have *straight rows*: a matrix of numbers with a
row for each of their elements and a column for each source element, like the boolean ones of `sparsity`. An op of
another kind *bends* those of its operands: from there on tangents are pushed, which begin as products of the straight
rows with sums of unit vectors. A Jacobian is the sum of its result's straight rows and of what was pushed; entries
without the latter are constants, and columns need not differ in colour for their sake.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.analysis import needed_for
from .._core.dtypes import is_inexact
from .._core.graph import Graph, Node, Origins
from .._core.op import ZERO
from .._core.state import building
from .._core.tensor import Tensor, Value
from .._prims.structural import add, attach
from .linearize import TangentMap
from .pushing import push
from .replay import entry_environment, run_again, store
from .sparsity import (
    UNKNOWN,
    Array,
    Known,
    Rows,
    Site,
    array_of,
    chosen,
    environment,
    first,
    grouped,
    matrix,
    moved,
    moved_by_known,
    results_of,
    size_of,
    union,
)

MOST_ENTRIES = 2**22  # of straight rows: where there would be more they bend


class Bends:
    """What is known of a graph of one source: where straight rows bend, and what comes out straight.

    Attributes:
        graph: finished, with one input and one output.
        nodes: those that the output needs.
        rows: the straight rows of values, by their keys.
        through: the nodes that straight rows pass, by number.
        differentiated: those that the derivative of the output comes through.
        straight: the straight rows of the output; None if it has none.
        curved: the pattern of what else its derivative has; None if that is nothing.
        entered: how many elements the values have whose straight rows bend.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        (source,), (result,) = graph.inputs, graph.outputs
        width = size_of(source)
        self.nodes = needed_for(graph.nodes, [result.key])[0]
        self.rows: dict[int, Rows] = {source.key: _units(width)}
        self.through = set[int]()
        self.differentiated = _differentiated(self.nodes, result)
        self._bent = dict[int, int]()
        known = environment(graph, [UNKNOWN])
        for number, node in enumerate(self.nodes):
            self._follow(number, node, known, width)
        self.straight = self.rows.get(result.key)
        self.curved = known[result.key].rows
        self.entered = sum(self._bent.values())

    def _follow(self, number: int, node: Node, known: dict[int, Known], width: int) -> None:
        operands = [known[v.key] for v in node.inputs]
        rows = [self.rows.get(v.key) for v in node.inputs]
        found = _straight_results(node, operands, rows, width)
        if found is not None:
            self.through.add(number)
            self.rows.update((v.key, r) for v, r in zip(node.outputs, found, strict=True) if r is not None)
        else:
            if number in self.differentiated:
                self._bent.update((v.key, size_of(v)) for v, r in zip(node.inputs, rows, strict=True) if r is not None)
            operands = [Known(k.value, union([k.rows, _pattern(r)])) for k, r in zip(operands, rows, strict=True)]
        for value, result in zip(node.outputs, results_of(node, operands, width), strict=True):
            known[value.key] = result


def _differentiated(nodes: Sequence[Node], result: Value) -> set[int]:
    """The numbers of the nodes that a derivative comes through."""
    found, needed = set[int](), {result.key}
    for number in range(len(nodes) - 1, -1, -1):
        node = nodes[number]
        if node.op.kind not in ("zero", "stop") and not needed.isdisjoint([v.key for v in node.outputs]):
            found.add(number)
            needed.update(v.key for v in (node.inputs[:1] if node.op is attach else node.inputs))
    return found


def is_plain(graph: Graph) -> bool:
    """Whether every op of a graph can be run again and pushed through by itself."""
    return not graph.reads and not any(
        op.facts.holds or op.facts.buffer or op.has_effect or op.kind == "custom" or op.spectrum is not None
        for op in {node.op for node in graph.nodes}
    )


def _units(width: int) -> Rows:
    return matrix(np.ones(width), np.arange(width), np.arange(width + 1), (width, width))


def _pattern(rows: Rows) -> Rows:
    return None if rows is None else matrix(None, rows.indices, rows.indptr, rows.shape)


# -- rules ------------------------------------------------------------------------------------------------------------


def _straight_results(
    node: Node, known: Sequence[Known], rows: Sequence[Rows], width: int
) -> Sequence[Rows] | None:  # fmt: skip
    """The straight rows of a node's results; None if those of its operands bend, or have none."""
    if all(r is None for r in rows) or not all(is_inexact(v.dtype) for v in node.outputs):
        return None
    operands = [Known(k.value, r) for k, r in zip(known, rows, strict=True)]
    site = Site(node.op, node.inputs, node.outputs, node.attrs, operands, width)
    rule = _STRAIGHT.get(node.op.name, _moves if node.op.facts.moves and node.op.kind == "linear" else _bends)
    sizes = sum(map(size_of, node.outputs)), min(size_of(v) for v, r in zip(node.inputs, rows) if r is not None)
    if sum(r.nnz for r in rows if r is not None) * max(1, sizes[0] / max(1, sizes[1])) > MOST_ENTRIES:
        return None
    return rule(site)


def _bends(site: Site) -> None:
    """Nothing is straight behind the op."""


def _moves(site: Site) -> Sequence[Rows] | None:
    """The elements moved, if what says where they go is known."""
    if any(known.value is None for known in site.operands[1:]) or site.op.is_multi:
        return None
    return first(site) if site.op.facts.moves == "same" else moved_by_known(site)


def _add(site: Site) -> Sequence[Rows]:
    found = [known.rows for known in site.operands if known.rows is not None]
    return [sum(found[1:], start=found[0])]


def _sub(site: Site) -> Sequence[Rows]:
    x, y = [known.rows for known in site.operands]
    return [x if y is None else -y if x is None else x - y]


def _times(site: Site) -> Sequence[Rows] | None:
    number = site.attr("number")
    return [_scaled(site.operands[0].rows, np.float64(number))] if type(number) in (int, float) else None


def _product(site: Site) -> Sequence[Rows] | None:
    x, y = site.operands
    rows, factor = (x.rows, y) if x.rows is not None else (y.rows, x)
    return _by_factor(rows, array_of(factor))


def _quotient(site: Site) -> Sequence[Rows] | None:
    rows, divisor = site.operands[0].rows, array_of(site.operands[1])
    return None if divisor is None or not divisor.all() else _by_factor(rows, 1 / divisor)


def _by_factor(rows: Rows, factor: Array | None) -> Sequence[Rows] | None:
    if rows is None or factor is None or np.iscomplexobj(factor) or not np.isfinite(factor).all():
        return None
    return [_scaled(rows, np.repeat(factor.reshape(-1).astype(np.float64), np.diff(rows.indptr)))]


def _scaled(rows: Rows, factor: Any) -> Rows:
    found = rows.copy()
    found.data = found.data * factor
    found.eliminate_zeros()
    return found


def _select(site: Site) -> Sequence[Rows] | None:
    return None if site.operands[0].value is None else chosen(site)


def _sum_over_axes(site: Site) -> Sequence[Rows]:
    axes, shape = site.attr("axes"), site.inputs[0].shape
    return [grouped(site.operands[0].rows, shape, [a % len(shape) for a in axes])]


_STRAIGHT: dict[str, Callable[[Site], Sequence[Rows] | None]] = {
    "add": _add, "add_n": _add, "sub": _sub, "neg": lambda site: [-site.operands[0].rows], "times_number": _times,
    "mul": _product, "scale": _product, "div": _quotient, "select": _select, "reduce_sum": _sum_over_axes,
    "attach": first,  # what it is attached to has no part in its derivative
    **dict.fromkeys(("pad", "concatenate", "unstack", "tril", "triu", "make_diagonal"), moved),
}  # fmt: skip


# -- passes -----------------------------------------------------------------------------------------------------------


class _Dot(NamedTuple):
    tangent: Any  # a tensor, ZERO or None
    may_hold_zeros: bool


_NO_DOT = _Dot(None, False)


class BentRun:
    """A run of a graph, of which tangents are pushed.

    Args:
        bends: of the graph.
        x: its argument.

    Attributes:
        y: its result.
    """

    def __init__(self, bends: Bends, x: Tensor) -> None:
        self.bends = bends
        self.env = entry_environment(bends.graph, [x])
        for node in bends.nodes:
            store(self.env, node, run_again(node, (*[self.env[v.key] for v in node.inputs],), node.attrs))
        self.y: Tensor = self.env[bends.graph.outputs[0].key]


class BentPart(TangentMap):
    """From what straight rows make of the sums of unit vectors to the curved part of a derivative times these sums.

    Args:
        run: of f.
        colors: which sum each source element is in; negative for none.

    Attributes:
        seeds: what the map takes, for each sum one along a new first axis.
        is_zero: whether the curved part is 0 at all these sums.
    """

    def __init__(self, run: BentRun, colors: Array) -> None:
        self.seeds = list[Array]()
        self._bends, self._env, self._sums = run.bends, run.env, _sums_of_units(colors)
        graph = Graph("bent part")
        with building(graph), Origins() as origins:
            self._entered, self._dots = dict[int, _Dot](), dict[int, _Dot]()
            for number in sorted(run.bends.differentiated):
                origins.at(run.bends.nodes[number].site)
                self._push(graph, number, run.bends.nodes[number])
            origins.at(None)
            dot = self._dots.get(run.bends.graph.outputs[0].key, _NO_DOT).tangent
            self.is_zero = not isinstance(dot, Tensor)
            graph.finish([] if self.is_zero else [dot])
        super().__init__(graph, [dot])

    def _push(self, graph: Graph, number: int, node: Node) -> None:
        dots = [self._dots.get(v.key, _NO_DOT) for v in node.inputs]
        if number not in self._bends.through:
            dots = [self._bent(graph, v, dot) for v, dot in zip(node.inputs, dots, strict=True)]
        if all(dot.tangent is None for dot in dots):
            return
        operands, outs = (*[self._env[v.key] for v in node.inputs],), (*[self._env[v.key] for v in node.outputs],)
        tangents, masks = [dot.tangent for dot in dots], [dot.may_hold_zeros for dot in dots]
        results, masked = push(node.op, operands, node.attrs, outs, tangents, masks)
        for value, result, flag in zip(node.outputs, results, masked, strict=True):
            if result is not None and is_inexact(value.dtype):
                self._dots[value.key] = _Dot(result, flag)

    def _bent(self, graph: Graph, value: Value, dot: _Dot) -> _Dot:
        """The tangent of a value with what its straight rows give."""
        rows = self._bends.rows.get(value.key)
        if rows is None:
            return dot
        if value.key not in self._entered:
            self._entered[value.key] = self._enter(graph, value, rows)
        entered = self._entered[value.key]
        if entered.tangent is ZERO:
            return entered if dot.tangent is None else dot
        if not isinstance(dot.tangent, Tensor):
            return entered
        return _Dot(add(dot.tangent, entered.tangent), dot.may_hold_zeros or entered.may_hold_zeros)

    def _enter(self, graph: Graph, value: Value, rows: Rows) -> _Dot:
        """An input of the map for what straight rows give; ZERO if that is nothing in every sum."""
        found = (rows @ self._sums).toarray().T
        if not found.any():
            return _Dot(ZERO, False)
        self.seeds.append(found.reshape(-1, *value.shape).astype(value.dtype))
        return _Dot(graph.add_input(value.shape, value.dtype), not found.all())


def _sums_of_units(colors: Array) -> Rows:
    """A column for each colour: the sum of the unit vectors that have it."""
    from scipy.sparse import csr_array

    chosen = np.flatnonzero(colors >= 0)
    shape = len(colors), int(colors.max(initial=-1)) + 1
    return csr_array((np.ones(len(chosen)), (chosen, colors[chosen])), shape=shape)


__all__ = ["Bends", "BentPart", "BentRun", "is_plain"]
