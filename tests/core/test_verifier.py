"""The verifier: graphs made by hand that break an invariant of extents, and the whole ones beside them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import _passes
from wengert._control.call import Program
from wengert._control.loop import Loop, loop
from wengert._core.dims import Dim
from wengert._core.graph import Graph, Node
from wengert._core.state import building
from wengert._core.tensor import Tensor
from wengert._core.types import Guards
from wengert._core.verifier import VerificationError, verify
from wengert._passes.rewrite import with_nodes
from wengert._prims.discrete import lt
from wengert._prims.elementwise import sin
from wengert._prims.structural import add, concatenate, full, iota, mul

FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)


def growing() -> Loop:
    """A conditional loop of one variable of any length, which each step doubles, and a counter."""
    width = Dim.free("step_0", is_late=True)
    body, condition = Graph("body"), Graph("condition")
    with building(body):
        i, v = body.add_input((), INT), body.add_input((width,), FLOAT)
        body.finish([add(i, full(shape=(), value=1, dtype=INT)), concatenate(v, v, axis=0)])
    with building(condition):
        i, _ = condition.add_input((), INT), condition.add_input((width,), FLOAT)
        condition.finish([lt(i, full(shape=(), value=3, dtype=INT))])
    return Loop(Program(condition), Program(body), carries=2, varying=[width.atom])


class Made:
    """A graph of an input of unknown length and one that is told by a loop, under construction."""

    def __init__(self) -> None:
        self.graph = Graph("made")
        self.n = Dim.free("n")
        self.spec = growing()
        with building(self.graph):
            self.x = self.graph.add_input((self.n,), FLOAT, "x")
            self.v = self.looped(self.spec)

    def looped(self, spec: Loop) -> Tensor:
        start = full(shape=(1,), value=1.0, dtype=FLOAT)
        with building(self.graph):
            return loop(full(shape=(), value=0, dtype=INT), start, spec=spec)[1]

    def finish(self, make: Callable[[], Any]) -> Graph:
        with building(self.graph):
            return self.graph.finish([make()])


def test_a_graph_that_says_what_it_assumes_is_whole() -> None:
    made = Made()
    graph = made.finish(lambda: mul(made.x, made.v))
    assert [set(pair) for pair in graph.guards.equal] == [{made.n, made.v.shape[0]}]
    verify(graph)


def test_late_extents_that_nothing_checks() -> None:
    """Once the loop's dimension counted as the input's: what a body had assumed of it was no guard of anything."""
    made = Made()
    graph = made.finish(lambda: mul(made.x, made.v))
    graph.guards = Guards()
    with pytest.raises(
        VerificationError, match=r"mul\(.*\) takes (n|last step_0) and (n|last step_0) to be equal, and nothing"
    ):
        verify(graph)
    with pytest.raises(VerificationError, match="nothing checks it"):
        verify(graph, is_inner=True)  # what is late only the graph itself can check


def test_extents_of_inputs_are_checked_before_the_run_of_all() -> None:
    graph = Graph("inner")
    with building(graph):
        x, y = graph.add_input((Dim.free("n"),), FLOAT), graph.add_input((Dim.free("m"),), FLOAT)
        graph.finish([mul(x, y)])
    graph.guards = Guards()
    verify(graph, is_inner=True)
    with pytest.raises(VerificationError, match="takes n and m to be equal"):
        verify(graph)


def test_what_the_first_half_of_a_program_has_checked() -> None:
    made = Made()
    graph = made.finish(lambda: mul(made.x, made.v))
    guards, graph.guards = graph.guards, Guards()
    graph.guards.elsewhere = [*guards.equal]
    verify(graph)


def test_a_loop_that_tells_the_length_of_an_input() -> None:
    made = Made()
    made.spec.outside = dict.fromkeys(made.spec.outside, made.n)
    graph = made.finish(lambda: sin(made.v))
    loop_node, sin_node = (next(n for n in graph.nodes if n.op.name == name) for name in ("loop", "sin"))
    for value in (*loop_node.outputs[1:2], *sin_node.outputs):
        value.shape = (made.n,)
    with pytest.raises(VerificationError, match="tells n, which is the extent of something else"):
        verify(graph)


def test_two_loops_that_tell_one_dimension() -> None:
    made = Made()
    other = made.looped(made.spec)
    with pytest.raises(VerificationError, match="tells last step_0, which is the extent of something else"):
        verify(made.finish(lambda: mul(made.v, other)))
    made = Made()
    other = made.looped(made.spec.anew())
    verify(made.finish(lambda: mul(made.v, other)))


def test_a_dimension_that_nothing_tells() -> None:
    made = Made()
    graph = made.finish(lambda: iota(size=Dim.free("m"), dtype=INT))
    with pytest.raises(VerificationError, match="names the dimension m, which nothing before it tells"):
        verify(graph)


def test_a_dimension_that_is_told_too_late() -> None:
    made = Made()
    graph = made.finish(lambda: iota(size=made.v.shape[0], dtype=INT))
    verify(graph)
    graph.nodes.insert(0, graph.nodes.pop())
    with pytest.raises(VerificationError, match="names the dimension last step_0, which nothing before it tells"):
        verify(graph)


def test_a_result_of_an_unknown_extent() -> None:
    made = Made()
    graph = made.finish(lambda: sin(made.x))
    value = Tensor(graph._new_value((Dim.free("m"),), FLOAT), 0)._data
    graph.nodes.append(Node(sin, (value,), (graph._new_value(value.shape, FLOAT),), (), None))
    with pytest.raises(VerificationError, match="before its definition"):
        verify(graph)


def test_a_check_that_no_value_of_the_graph_can_make() -> None:
    made = Made()
    graph = made.finish(lambda: sin(made.x))
    graph.guards.require_equal(Dim.free("m", is_late=True), made.n)
    with pytest.raises(VerificationError, match="is to check the dimension m, which nothing in the graph tells"):
        verify(graph)


@pytest.mark.parametrize("name", ["simplify", "fold_constants", "share_common", "drop_unused"])
def test_what_a_pass_gives_is_verified(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that takes an extent for another is found before its graph becomes machine code."""
    honest = getattr(_passes, name)

    def confused(graph: Graph) -> Graph:
        made = honest(graph)
        longer = Tensor(made._new_value((3,), FLOAT), 0)._data
        return with_nodes(made, [Node(sin, made.nodes[0].inputs, (longer,), (), None), *made.nodes[1:]], [longer])

    monkeypatch.setattr(_passes, name, confused)
    graph = Graph("made")
    with building(graph):
        graph.finish([sin(graph.add_input((2,), FLOAT, "x"))])
    with pytest.raises(VerificationError, match="should give float64"):
        _passes.optimise(graph)


def test_a_saved_graph_is_verified_when_it_is_loaded(tmp_path: Any) -> None:
    def f(x: Any) -> Any:
        doubled = wg.while_loop(
            lambda v: wg.sum(v) < 50.0, lambda v: wg.concatenate([v, v]), [x], shape_invariants=[(None,)]
        )
        return wg.reshape(doubled[0], x.shape)

    compiled = wg.function(f, input_signature=[wg.TensorSpec((None,), float)])
    compiled(np.array([60.0]))
    wg.save(compiled, tmp_path / "whole")
    assert wg.load(tmp_path / "whole")(np.array([60.0])) == 60.0
    ((_, made),) = compiled.traces
    made.graph.guards.equal.clear()
    wg.save(compiled, tmp_path / "broken")
    with pytest.raises(ValueError, match="nothing checks it"):
        wg.load(tmp_path / "broken")


def test_assumptions_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace of many unknown extents takes no time that grows with the square of their number."""
    guards = Guards()
    extents = [Dim.free(f"n{i}") for i in range(400)]
    compared = 0
    plain = Dim.__eq__

    def counted(x: Dim, y: object) -> bool:
        nonlocal compared
        compared += 1
        return plain(x, y)

    monkeypatch.setattr(Dim, "__eq__", counted)
    for _ in range(3):
        for x, y in itertools.pairwise(extents):
            guards.require_equal(x, y)
            guards.require_not_one(x)
    assert len(guards.equal) == len(guards.not_one) == 399
    assert compared < 20 * len(extents)
