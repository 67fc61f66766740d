"""`wg.symbolic_gradient`: values of SEMANTICS.md section 4 that tests/test_symbolic_gradient.py leaves open, by id."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._control.call import Program, closed
from wengert._engines.numpy import NUMPY
from wengert._engines.numpy.execute import executable
from wengert._passes import optimise


def test_shapes_and_dtypes_of_the_results_in_a_trace() -> None:
    """S4: known before anything runs."""
    found: list[Any] = []

    def f(x: Any, y: Any) -> Any:
        found.extend(wg.symbolic_gradient([x, y, wg.ones((25, 4)), 1.0], lambda x, y: (2 * x, wg.sum(y))))
        return found[0]

    wg.function(f).trace(np.ones((25, 4)), np.ones((200, 100), np.float32))
    assert [(g.shape, g.dtype) for g in found] == [((25, 4), np.float64), ((200, 100), np.float32)]


@pytest.mark.parametrize(("times", "expected"), [(2, [8, 2]), (3, [12, 3])])
def test_a_gradient_of_the_functions_own(times: int, expected: list[float]) -> None:
    """S13: a custom gradient takes the place of `grad_func` and `python_grad_func`, which API.md does not have."""

    @wg.custom_gradient
    def own(x: Any) -> Any:
        return x * 1.0, lambda dy: times * dy

    for value, upstream, want in ((1.0, 4.0, expected[0]), (1.0, 1.0, expected[1])):
        assert wg.symbolic_gradient([value, upstream], lambda x: own(x)) == [want]


def test_a_count_that_does_not_fit_the_functions_own() -> None:
    """S13."""

    @wg.custom_gradient
    def wrong(x: Any) -> Any:
        return x * 1.0, lambda dy: (dy, dy)

    with pytest.raises(ValueError, match="gradient"):
        wg.symbolic_gradient([1.0, 1.0], lambda x: wrong(x))


def test_an_error_comes_when_the_graph_is_built() -> None:
    """S9, S10: at the call, not at run time."""
    bare = wg.primitive("bare_for_symbolic", spec=lambda x: wg.TensorSpec(x.shape, x.dtype), numpy=np.sort)
    with pytest.raises(LookupError, match="bare_for_symbolic"):
        wg.function(lambda x: wg.symbolic_gradient([x, 1.0], lambda t: bare(t))).trace(2.0)
    with pytest.raises(ValueError, match="symbolic_gradient"):
        wg.function(lambda x: wg.symbolic_gradient([x], lambda t: t)).trace(2.0)


def test_calls_are_instances_of_their_own() -> None:
    """S14, S15: a function is traced into the graph that calls it, once for each call; what is equal is shared later."""
    square = wg.function(lambda t: t * t)
    graph = wg.function(lambda x: wg.gradients(square(square(x)), x)).trace(2.0)
    assert [n.op.name for n in graph.nodes].count("mul") == 2 + 4
    assert not {"call", "symbolic_gradient"} & {n.op.name for n in graph.nodes}
    assert wg.function(lambda x: wg.gradients(square(square(x)), x))(2.0) == [32]


def test_passes_do_not_change_results() -> None:
    """S17: sharing, folding and dropping, with a value that is used twice, a constant and an unused result."""

    def f(x: Any, b: Any) -> Any:
        s = wg.sin(x) * wg.sin(x) + wg.exp(2.0) * b
        return s * s, wg.cos(x)

    x, b = np.array([0.3, -1.2]), np.array([2.0, 0.5])
    ones = np.ones(2)
    graph = wg.function(lambda x, b: wg.symbolic_gradient([x, b, ones, ones], f)).trace(x, b)
    plain, smaller = closed(graph), optimise(closed(graph))
    assert len(smaller.nodes) < len(plain.nodes)
    captured = [np.asarray(t) for t, _ in graph.captures.values()]
    eager = wg.symbolic_gradient([x, b, ones, ones], f)
    for program in (plain, smaller):
        found = executable(Program(program), NUMPY.kernels)(x, b, *captured)
        np.testing.assert_allclose(found, eager, rtol=1e-12)
