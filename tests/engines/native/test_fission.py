"""Loops of many members are cut where short loops take less time, and left whole where they would store too much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.modes import graph_of
from wengert._core.graph import Node
from wengert._engines.native.lower.blocks import is_elementwise
from wengert._engines.native.plan import fission

FAR = fission.NEAR + 1


def chain(ops: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for k in range(ops // 2):
            x = np.sin(x) * (1.0 + 1e-3 * k)
        return x

    return f


def side_by_side(ops: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        total = 0.0 * x
        for k in range(ops // 5):
            total = total + (x * (0.3 + k) + 0.1) * (x - 0.01 * k)
        return total

    return f


def kept(ops: int) -> Callable[[Any], Any]:
    """A chain whose every step is read again, in reverse, as a gradient reads it."""

    def f(x: Any) -> Any:
        steps = [x]
        for _ in range(ops // 2):
            steps.append(np.sin(steps[-1]))
        for step in reversed(steps):
            x = x * step
        return x

    return f


def pieces(f: Callable[[Any], Any], size: int, told: int | None) -> tuple[list[int], list[list[int]]]:
    """The places of a graph's elementwise ops, and the loops that they are in."""
    graph = graph_of(f, np.linspace(0.1, 1.0, size))
    places = [k for k, node in enumerate(graph.nodes) if elementwise(node)]
    found = fission.pieces(places, graph.nodes, told)
    assert [place for piece in found for place in piece] == places
    return places, found


def elementwise(node: Node) -> bool:
    return is_elementwise(node.op.name)


@pytest.mark.parametrize("size", [100, FAR])
def test_chains_are_short_loops(size: int) -> None:
    for told in (size, None):
        _, found = pieces(chain(400), size, told)
        assert {len(piece) for piece in found[:-3]} == {fission.RUN if told == 100 else fission.FAR_RUN}


@pytest.mark.parametrize("size", [100, FAR, 1_000_000])
def test_members_side_by_side_are_one_loop_up_to_a_crowd(size: int) -> None:
    places, found = pieces(side_by_side(400), size, size)
    assert found == [places]
    _, found = pieces(side_by_side(2000), size, size)
    assert len(found[0]) == (fission.CROWD if size > fission.NEAR else fission.RUN)


def test_loops_stay_whole_where_they_would_store_more_than_a_cache_holds() -> None:
    places, found = pieces(kept(400), FAR, 1_000_000)
    assert found == [places]
    places, found = pieces(kept(400), FAR, None)
    assert found == [places]
    _, found = pieces(kept(400), FAR, FAR)
    assert len(found) > 3
    _, found = pieces(chain(400), FAR, 1_000_000)  # one value is stored between two loops
    assert len(found) > 3


@pytest.mark.parametrize(
    ("ops", "run"), [("ab" * 600, 32), ("abcde" * 200, 30), ("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN" * 20, 40)],
    ids=["2", "5", "40"],
)  # fmt: skip
def test_short_loops_of_a_crowd_are_whole_repetitions(ops: str, run: int) -> None:
    places = [*range(3, 3 + len(ops))]
    found = fission._cut(places, [*ops], fission.RUN)
    assert [p for piece in found for p in piece] == places
    assert {len(piece) for piece in found[:-3]} == {run}  # the end repeats nothing that follows


def test_sine_and_cosine_of_one_operand_are_in_one_loop() -> None:
    """One routine computes both there; else the second would be read by a loop of its own, far behind the first."""
    graph = graph_of(wg.grad(lambda x: wg.sum(chain(400)(x))), np.linspace(0.1, 1.0, 100))
    places = [k for k, node in enumerate(graph.nodes) if elementwise(node)]
    found = fission.pieces(places, graph.nodes, 100)
    assert sorted(place for piece in found for place in piece) == places
    known: set[int] = {v.key for v in graph.inputs} | {
        v.key for n in graph.nodes if not elementwise(n) for v in n.outputs
    }
    homes: dict[tuple[str, int], int] = {}
    for number, piece in enumerate(found):
        for node in (graph.nodes[place] for place in piece):
            assert all(v.key in known for v in node.inputs)
            known.update(v.key for v in node.outputs)
            homes[node.op.name, node.inputs[0].key] = number
    both = [(home, homes["cos", key]) for (name, key), home in homes.items() if name == "sin" and ("cos", key) in homes]
    assert len(both) == 200
    assert sum(x != y for x, y in both) <= len(found)


@pytest.mark.parametrize("f", [chain(300), side_by_side(700), kept(300)], ids=["chain", "side by side", "kept"])
@pytest.mark.parametrize("size", [40, 1500])
def test_what_is_cut_gives_what_numpy_gives(f: Callable[[Any], Any], size: int) -> None:
    x = np.linspace(0.1, 1.0, size)
    np.testing.assert_allclose(wg.function(f)(x), f(x), rtol=1e-12)
    compiled = wg.function(wg.grad(lambda x: wg.sum(f(x))))
    np.testing.assert_allclose(compiled(x), wg.grad(lambda x: wg.sum(f(x)))(x), rtol=1e-10)


def test_what_repeats_is_cut_alike_up_to_its_end() -> None:
    """Loops that are like no other are compiled by themselves."""
    names = ["sin", "cos", "mul"] * 200 + ["mul", "exp"] * 200
    parts = fission._cut([*range(len(names))], names, fission.RUN)
    assert [place for part in parts for place in part] == [*range(len(names))]
    kinds = Counter((*[names[place] for place in part],) for part in parts)
    assert sum(count == 1 for count in kinds.values()) <= 2  # between the two, and at the end
