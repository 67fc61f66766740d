"""Which nodes become machine code together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._core.graph import Graph, Node
from wengert._engines.native import engine
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._engines.native.plan.segments import Part, parts
from wengert._passes import optimise


def test_constants_are_part_of_the_code_that_alone_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[Part]] = []

    def noted(graph: Graph, is_native: Callable[[Node], bool]) -> list[Part]:
        found.append(parts(graph, is_native))
        return found[-1]

    monkeypatch.setattr(engine, "parts", noted)
    weights = np.arange(3.0)
    f = wg.function(lambda x: (wg.linalg.eigvalsh(x) * weights + wg.array([1.0, 2.0, 4.0])) * 3.0)
    np.testing.assert_allclose(f(np.diag([1.0, 2.0, 3.0])), [3.0, 12.0, 30.0], rtol=1e-15)
    ((*kernels, segment),) = found
    assert [_name(part.nodes) for part in kernels if _name(part.nodes) == "constant"] == []
    assert segment.is_native
    assert "constant" in [node.op.name for node in segment.nodes]


def _name(nodes: list[Node]) -> str:
    return nodes[0].op.name


def test_large_arrays_of_constants_are_made_by_the_code() -> None:
    """In memory that is kept: what NumPy makes is mapped anew at each call."""
    compiled = wg.function(wg.grad(lambda x: wg.sum(wg.stack(wg.unstack(x, axis=1)))))
    for rows, is_ours in ((20_000, True), (2, False)):
        x = np.ones((rows, 3))
        np.testing.assert_array_equal(compiled(x), np.ones((rows, 3)))
        assert ({part.by for part in compiled.report(x).parts} == {"machine code"}) == is_ours


@pytest.mark.parametrize(("function", "is_compiled"), [
    (lambda x: wg.repeat(x, 3), True), (lambda x: wg.repeat(x, 2, axis=1), True), (lambda x: wg.tile(x, 3), False),
    (lambda x: wg.reshape(x, (6, 10)), False),
])  # fmt: skip
def test_elements_that_are_repeated_one_by_one_are_copied_by_the_code(function: Any, is_compiled: bool) -> None:
    """Of whole rows NumPy makes copies that are as fast."""
    x = np.arange(60.0).reshape(12, 5)
    compiled = wg.function(function)
    np.testing.assert_array_equal(compiled(x), function(x))
    assert ({part.by for part in compiled.report(x).parts} == {"machine code"}) == is_compiled


@pytest.mark.parametrize("function", [
    lambda x, i: x[i], lambda x, i: wg.take(x, i, axis=1), lambda x, i: wg.take_along_axis(x, i[:, None] % 5, axis=1),
    lambda x, i: wg.nn.embedding_lookup(x, i),
])  # fmt: skip
def test_elements_at_places_of_an_array_are_taken_by_the_code(function: Any) -> None:
    """NumPy's kernels take several times as long for short rows."""
    x, i = np.arange(60.0).reshape(12, 5), np.array([3, -1, 0, 4, 4, 2, 1, 0, 0, -5, 4, 3])
    compiled = wg.function(function)
    np.testing.assert_array_equal(compiled(x, i), function(x, i))
    np.testing.assert_array_equal(compiled(np.asfortranarray(x), i), function(np.asfortranarray(x), i))
    assert {part.by for part in compiled.report(x, i).parts} == {"machine code"}
    with pytest.raises(IndexError, match="out of bounds"):
        wg.function(lambda x, i: x[i])(x, i + 10)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("function", [
    lambda x, axis: x - np.log(wg.sum(x, axis=axis, keepdims=True)),
    lambda x, axis: wg.nn.log_softmax(x, axis=axis),
    wg.grad(lambda x, axis: wg.sum(wg.nn.log_softmax(x, axis=axis)[:7, :9] ** 2), 0),
])  # fmt: skip
def test_what_takes_long_of_a_sum_is_computed_once_and_not_for_each_reader(function: Any, axis: int) -> None:
    x = np.random.default_rng(3).random(size=(40, 50))
    compiled = wg.function(lambda x: function(x, axis))
    np.testing.assert_allclose(compiled(x), function(x, axis), rtol=1e-12, atol=1e-13)
    loops = str(lowered(ready(optimise(compiled.trace(x))), "f").function).split("\n")
    places = [i for i, line in enumerate(loops) if " = log.f64" in line]
    assert places
    for place in places:  # in a loop of its own, which may be in pieces
        around = [line for line in loops[:place] if line.lstrip().startswith("for ")]
        assert around[-1].startswith("  for ")


def test_sums_of_sums_are_one_sum() -> None:
    x = np.random.default_rng(3).normal(size=(4, 5, 6))

    def once(x: Any) -> Any:
        return wg.sum(wg.sum(wg.sum(x, axis=1) * 1.0, axis=1))

    def twice(x: Any) -> Any:
        rows = wg.sum(x, axis=1)
        return wg.sum(rows), wg.sin(rows)

    for f, wanted in ((once, [(0, 1, 2)]), (twice, [(1,), (0, 1)])):
        graph = optimise(wg.function(f).trace(x))
        assert [node.attrs[0] for node in graph.nodes if node.op.name == "reduce_sum"] == wanted
        for found, value in zip(wg.tree.leaves(wg.function(f)(x)), wg.tree.leaves(f(x)), strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "bool"])
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_by_themselves_are_machine_code(name: str, dtype: str) -> None:
    """NumPy makes a mask of the whole first."""
    for shape in ((3, 4), (2, 100, 130)):
        x = (np.arange(np.prod(shape)).reshape(shape) % 7 - 3).astype(dtype)
        for k in (-200, -1, 0, 2, 200):
            compiled = wg.function(lambda x, k=k: getattr(np, name)(x, k))
            np.testing.assert_array_equal(compiled(x), getattr(np, name)(x, k))
            assert {part.by for part in compiled.report(x).parts} == {"machine code"}
