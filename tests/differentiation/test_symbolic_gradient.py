"""`wg.symbolic_gradient`: the gradient of a function as an op (docs/semantics/graphs.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._control.call import Program, closed
from wengert._engines.numpy.execute import executable
from wengert._passes import optimise

_unique = wg.primitive("unique_for_symbolic", spec=lambda x: wg.TensorSpec(x.shape, x.dtype), numpy=np.sort)


def two(x: Any, b: Any) -> Any:
    return x * b, x + b


def check(found: Any, expected: Any) -> None:
    assert isinstance(found, list)
    assert len(found) == len(expected)
    for one, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-12)
        assert np.shape(one) == np.shape(want)


def traced(inputs: Any, f: Any, name: str | None = None) -> Any:
    """The same in a trace."""
    return wg.function(lambda *xs: wg.symbolic_gradient(xs, f, name))(*inputs)


everywhere = pytest.mark.parametrize("gradient", [wg.symbolic_gradient, traced], ids=["eager", "traced"])


@everywhere
def test_values(gradient: Any) -> None:
    check(gradient([3.0, 5.0, 2.0, 7.0], two), [17, 13])
    check(gradient([3.0, 5.0, 2.0], lambda x, b: x * x * b), [60, 18])
    check(gradient([3.0, 2.0, 5.0], lambda x: (x, x)), [7])
    check(gradient([4.0, 0.0, 1.0], lambda x: (x * x, 3 * x)), [3])


@everywhere
def test_unused_inputs_get_zeros(gradient: Any) -> None:
    """Decision 1."""
    check(gradient([1.0, np.array([2.0, 3.0]), 1.0], lambda x, y: 2 * x), [2, [0, 0]])
    check(gradient([np.array([2.0, 3.0]), np.array([1.0, 1.0])], lambda x: wg.stop_gradient(x)), [[0, 0]])


@everywhere
def test_integer_inputs_get_integer_zeros(gradient: Any) -> None:
    """Python ints are floats, arrays are what they are (decision 12)."""
    t, x = gradient([np.array(1), np.array([1.0, 2.0]), 1.0], lambda t, x: x[t])
    assert (t, t.dtype) == (0, np.int64)
    np.testing.assert_array_equal(x, [0, 1])


def test_python_integers() -> None:
    check(wg.symbolic_gradient([3, 5, 2, 7], two), [17, 13])
    check(wg.symbolic_gradient([[1, 2], [1, 1]], lambda x: x * x), [[2, 4]])


@everywhere
def test_types_of_results(gradient: Any) -> None:
    """Those of the inputs, in order."""
    x, y = np.ones((25, 4)), np.ones((2, 10), np.float32)
    found = gradient([x, y, np.ones((25, 4)), np.float32(1)], lambda x, y: (2 * x, wg.sum(y)))
    assert [(g.shape, g.dtype) for g in found] == [((25, 4), np.float64), ((2, 10), np.float32)]


@everywhere
@pytest.mark.parametrize("count", [1, 3])
def test_wrong_number_of_inputs(gradient: Any, count: int) -> None:
    with pytest.raises(ValueError, match="symbolic_gradient"):
        gradient([1.0] * count, lambda x: x * x)


@everywhere
def test_fewer_than_the_inputs_of_f(gradient: Any) -> None:
    with pytest.raises(ValueError, match="f has 2 inputs, but only 1"):
        gradient([1.0], two)


@everywhere
def test_no_gradient(gradient: Any) -> None:
    with pytest.raises(LookupError, match="unique_for_symbolic"):
        gradient([np.ones(2), np.ones(2)], lambda x: _unique(x) * 2)


@everywhere
def test_wrong_upstream(gradient: Any) -> None:
    """Decision 8."""
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
        gradient([np.ones(3), np.ones(2)], lambda x: x * x)
    with pytest.raises(TypeError, match="complex"):
        gradient([np.ones(3), np.ones(3, complex)], lambda x: x * x)


def test_second_derivative() -> None:
    """Unlike TensorFlow's, it can be differentiated again."""

    def first(x: Any) -> Any:
        return wg.symbolic_gradient([x, 1.0], lambda t: t * t * t)[0]

    assert wg.grad(first)(2.0) == 12
    assert wg.grad(wg.grad(first))(2.0) == 6
    assert wg.grad(wg.function(first))(2.0) == 12
    check(wg.symbolic_gradient([2.0, 1.0], first), [12])
    check(wg.function(lambda x: wg.gradients(first(x), x))(2.0), [12])


def test_the_upstream_is_differentiated_through() -> None:
    assert wg.grad(lambda dy: wg.symbolic_gradient([3.0, dy], lambda x: x * x)[0])(2.0) == 6


@everywhere
def test_several_calls_in_one_function(gradient: Any) -> None:

    def f(x: Any, b: Any) -> Any:
        return x * x + b

    check(gradient([2.0, 1.0, 1.0], lambda x, b: f(f(x, b), b)), [40, 11])
    check(gradient([2.0, 0.0, 1.0], lambda x, b: f(f(x, b), b)), [32, 9])


def test_captured_tensors() -> None:
    """What f captures is differentiated by whoever follows it."""

    def outer(c: Any) -> Any:
        return wg.symbolic_gradient([3.0, 1.0], lambda x: x * x * c)[0]

    assert wg.grad(outer)(2.0) == 6


@everywhere
def test_custom_gradients_hold(gradient: Any) -> None:
    """A function may carry its own gradient."""

    @wg.custom_gradient
    def tripled(x: Any) -> Any:
        return 2 * x, lambda dy: 3 * dy

    check(gradient([1.0, 4.0], lambda x: tripled(x)), [12])


def test_kinds() -> None:
    """The caller's kind: NumPy's values or tensors."""
    assert all(isinstance(g, np.generic) for g in wg.symbolic_gradient([3.0, 5.0, 2.0, 7.0], two))
    found = wg.symbolic_gradient([wg.tensor(3.0), wg.tensor(5.0), 2.0, 7.0], two)
    assert all(isinstance(g, wg.Tensor) for g in found)
    check(wg.symbolic_gradient((wg.Variable(3.0), 5.0, 2.0, 7.0), two), [17, 13])


def test_name() -> None:
    graph = wg.function(lambda x, b: wg.symbolic_gradient([x, b, 2.0, 7.0], two, name="gg")).trace(3.0, 5.0)
    assert "# gg/mul" in graph.to_text()
    graph = wg.function(lambda x, b: wg.symbolic_gradient([x, b, 2.0, 7.0], two)).trace(3.0, 5.0)
    assert "# symbolic_gradient/mul" in graph.to_text()


def test_input_signature() -> None:
    @wg.function(input_signature=[wg.TensorSpec(()), wg.TensorSpec(())])
    def product(*args: Any) -> Any:
        return args[0] * args[1]

    check(wg.symbolic_gradient([3.0, 5.0, 2.0], product), [10, 6])


def test_arguments() -> None:
    with pytest.raises(TypeError, match="callable"):
        wg.symbolic_gradient([1.0, 1.0], 3)
    with pytest.raises(TypeError, match="list of inputs"):
        wg.symbolic_gradient(np.ones(2), lambda x: x)
    with pytest.raises(TypeError, match="positional parameters"):
        wg.symbolic_gradient([1.0, 1.0], lambda *xs: xs[0])
    with pytest.raises(TypeError, match="name"):
        wg.symbolic_gradient([1.0, 1.0], lambda x: x, name=1)


def test_shapes_and_dtypes_of_the_results_in_a_trace() -> None:
    """Known before anything runs."""
    found: list[Any] = []

    def f(x: Any, y: Any) -> Any:
        found.extend(wg.symbolic_gradient([x, y, wg.ones((25, 4)), 1.0], lambda x, y: (2 * x, wg.sum(y))))
        return found[0]

    wg.function(f).trace(np.ones((25, 4)), np.ones((200, 100), np.float32))
    assert [(g.shape, g.dtype) for g in found] == [((25, 4), np.float64), ((200, 100), np.float32)]


@pytest.mark.parametrize(("times", "expected"), [(2, [8, 2]), (3, [12, 3])])
def test_a_gradient_of_the_functions_own(times: int, expected: list[float]) -> None:
    """A custom gradient takes the place of `grad_func` and `python_grad_func`, which Wengert does not have."""

    @wg.custom_gradient
    def own(x: Any) -> Any:
        return x * 1.0, lambda dy: times * dy

    for value, upstream, want in ((1.0, 4.0, expected[0]), (1.0, 1.0, expected[1])):
        assert wg.symbolic_gradient([value, upstream], lambda x: own(x)) == [want]


def test_a_count_that_does_not_fit_the_functions_own() -> None:

    @wg.custom_gradient
    def wrong(x: Any) -> Any:
        return x * 1.0, lambda dy: (dy, dy)

    with pytest.raises(ValueError, match="gradient"):
        wg.symbolic_gradient([1.0, 1.0], lambda x: wrong(x))


def test_an_error_comes_when_the_graph_is_built() -> None:
    """At the call, not at run time."""
    bare = wg.primitive("bare_for_symbolic", spec=lambda x: wg.TensorSpec(x.shape, x.dtype), numpy=np.sort)
    with pytest.raises(LookupError, match="bare_for_symbolic"):
        wg.function(lambda x: wg.symbolic_gradient([x, 1.0], lambda t: bare(t))).trace(2.0)
    with pytest.raises(ValueError, match="symbolic_gradient"):
        wg.function(lambda x: wg.symbolic_gradient([x], lambda t: t)).trace(2.0)


def test_calls_are_instances_of_their_own() -> None:
    """A function is traced into the graph that calls it, once for each call; what is equal is shared later."""
    square = wg.function(lambda t: t * t)
    graph = wg.function(lambda x: wg.gradients(square(square(x)), x)).trace(2.0)
    assert [n.op.name for n in graph.nodes].count("mul") == 2 + 4
    assert not {"call", "symbolic_gradient"} & {n.op.name for n in graph.nodes}
    assert wg.function(lambda x: wg.gradients(square(square(x)), x))(2.0) == [32]


def test_passes_do_not_change_results() -> None:
    """Sharing, folding and dropping, with a value that is used twice, a constant and an unused result."""

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
        found = executable(Program(program))(x, b, *captured)
        np.testing.assert_allclose(found, eager, rtol=1e-12)


def test_alias() -> None:
    assert wg.Gradient is wg.symbolic_gradient
