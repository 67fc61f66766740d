"""`wg.gradients`: what docs/semantics/graphs.md promises, value by value.

A test names the decision (docs/semantics/decisions.md) where we differ from TensorFlow.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.threads import in_threads
from wengert._control.call import Program, closed
from wengert._core.analysis import last_uses
from wengert._core.graph import Graph
from wengert._core.verifier import verify
from wengert._engines.numpy.execute import executable
from wengert._passes import optimise
from wengert._prims.structural import barrier

DOUBLE = np.dtype(float)


def at(f: Any, *values: Any) -> Any:
    """What f gives in a trace, with arrays as inputs."""
    return wg.function(f)(*[np.asarray(v, float) if isinstance(v, (int, float, list)) else v for v in values])


def same(found: Any, expected: Any) -> None:
    """Equal lists of arrays and Nones, shapes included."""
    assert isinstance(found, list)
    assert len(found) == len(expected)
    for one, want in zip(found, expected, strict=True):
        if want is None:
            assert one is None
        else:
            np.testing.assert_allclose(one, want, rtol=1e-12)
            assert np.shape(one) == np.shape(want)


def inputs_of(graph: Graph, *shapes: Any, dtype: Any = DOUBLE) -> list[wg.Tensor]:
    return [graph.add_input(s, np.dtype(dtype), f"x{i}") for i, s in enumerate(shapes)]


def ops_of(graph: Graph, since: int = 0) -> list[str]:
    return [node.op.name for node in graph.nodes[since:]]


def split(x: Any) -> Any:
    """One op with two results."""
    return barrier(x[:1], x[1:])


def unique(x: Any) -> Any:
    """An op with a float result and no gradient."""
    return _unique(x)


_unique = wg.primitive("unique_for_gradients", spec=lambda x: wg.TensorSpec(x.shape, x.dtype), numpy=np.sort)


# -- the basic contract (1.1) -----------------------------------------------------------------------------------------


def test_result_is_a_list() -> None:
    same(at(lambda x, y: wg.gradients((x * y,), (x, y)), 3, 4), [4, 3])
    same(at(lambda x: wg.gradients(x * x, x), 3), [6])
    same(at(lambda x: wg.gradients([x * x], [x]), 3), [6])


def test_ys_are_summed() -> None:
    same(at(lambda x: wg.gradients(x * x, x), [1, 2, 3]), [[2, 4, 6]])
    same(at(lambda x: wg.gradients([x * x, 5 * x], x), 3), [11])


def test_a_tensor_listed_twice_counts_twice() -> None:

    def twice(x: Any) -> Any:
        y = x * x
        return wg.gradients([y, y], x) + wg.gradients([y, y], x, grad_ys=[1.0, 10.0])

    same(at(twice, 3), [12, 66])


def test_ys_may_depend_on_each_other() -> None:

    def chain(x: Any) -> Any:
        y = x * x
        y1 = y * y
        return wg.gradients([y, y1 * y1], x) + wg.gradients([y, y1 * y1], y)

    same(at(chain, 3), [17502, 2917])


def test_empty_lists() -> None:
    same(at(lambda x: wg.gradients(x * x, []), 3), [])
    same(at(lambda x: wg.gradients([], x), 3), [None])


def test_an_x_listed_twice_gets_one_tensor() -> None:
    graph = Graph()
    with graph.as_default():
        (x,) = inputs_of(graph, ())
        first, second = wg.gradients(x * x, [x, x])
        assert first is second
        zero = wg.gradients([], [x, x], unconnected_gradients="zero")
        assert zero[0] is zero[1]


def test_y_is_x() -> None:
    same(at(lambda x: wg.gradients(x, x), [3, 4]), [[1, 1]])
    same(at(lambda x: wg.gradients(x, x, grad_ys=[wg.tensor([5.0, 6.0])]), [3, 4]), [[5, 6]])
    same(at(lambda x: wg.gradients([x, x * x], x, grad_ys=[100.0, 1.0]), 3), [106])


def test_an_x_may_be_an_intermediate_tensor() -> None:

    def square(x: Any) -> Any:
        y = x * x
        return wg.gradients(y, [x, y])

    def total(x: Any) -> Any:
        y = 2 * x
        return wg.gradients(x + y, [x, y])

    def below(x: Any) -> Any:
        u = unique(x)
        return wg.gradients(u * u, u)

    same(at(square, 3), [6, 1])
    same(at(total, 1), [3, 1])
    same(at(below, [1, 2]), [[2, 4]])
    with pytest.raises(LookupError, match="unique_for_gradients"):
        at(lambda x: (lambda u: wg.gradients(u * u, [u, x]))(unique(x)), [1, 2])


def test_many_paths() -> None:

    def sixth_power(x: Any) -> Any:
        a = x * x
        return wg.gradients(a * (a * a), x)

    same(at(sixth_power, 2), [192])


def test_long_chains() -> None:

    def chain(x: Any) -> Any:
        y = x
        for _ in range(3000):
            y = y + 0.0
        return wg.gradients(y, x)

    same(at(chain, 1), [1])


def test_broadcasting_is_undone() -> None:
    same(at(lambda a, b: wg.gradients(a * b, [a, b]), [[1], [2]], [10, 20, 30]), [[[60], [60]], [3, 3, 3]])
    same(at(lambda x: wg.gradients(x * x, x), np.zeros(0)), [np.zeros(0)])
    same(at(lambda x, e: wg.gradients(x * e, x), 3, np.zeros(0)), [0])


def test_shape_is_refined_to_that_of_x() -> None:

    @wg.function(input_signature=[wg.TensorSpec((2,)), wg.TensorSpec((None,))])
    def product(x: Any, y: Any) -> Any:
        (g,) = wg.gradients(x * y, x)
        assert g.shape == (2,)
        return g

    np.testing.assert_array_equal(product(np.ones(2), np.array([3.0, 4.0])), [3, 4])


def test_nan_and_infinities_are_ordinary() -> None:
    same(at(lambda x: wg.gradients(x * x, x), np.nan), [np.nan])
    with np.errstate(all="ignore"):
        same(at(lambda x: wg.gradients(wg.log(x) * 0.0, x), 0), [np.nan])


# -- None and zeros (1.2) ---------------------------------------------------------------------------------------------


def test_unconnected() -> None:
    a, b = np.ones((1, 2), np.float32), np.ones((3, 1))
    same(at(lambda a, b: wg.gradients([b], [a]), a, b), [None])
    for zero in ("zero", wg.UnconnectedGradients.ZERO):
        (found,) = at(lambda a, b, zero=zero: wg.gradients([b], [a], unconnected_gradients=zero), a, b)
        assert (found.tolist(), found.dtype) == ([[0, 0]], np.float32)
    same(
        at(lambda a, b: wg.gradients([a * 2.0], [a, b], unconnected_gradients="zero"), a, b),
        [[[2, 2]], np.zeros((3, 1))],
    )
    for x in (np.array([1, 2]), np.array(True)):
        (found,) = at(lambda x: wg.gradients(2.0, x, unconnected_gradients="zero"), x)
        assert found.dtype == x.dtype
        assert not np.any(found)


@pytest.mark.parametrize("value", ["ZERO", None, "nonsense", "error", 1])
def test_unknown_value_for_unconnected(value: Any) -> None:
    """Before any work."""
    graph = Graph()
    with graph.as_default():
        (x,) = inputs_of(graph, ())
        y = x * x
        before = len(graph.nodes)
        with pytest.raises(ValueError, match="Unknown value for unconnected_gradients"):
            wg.gradients(y, x, unconnected_gradients=value)
        assert len(graph.nodes) == before


def test_a_zero_at_run_time_is_a_number() -> None:
    same(at(lambda x: wg.gradients(x * 0.0, x), 3), [0])
    same(at(lambda x: wg.gradients(wg.nn.relu(x), x), -1), [0])


def test_a_rule_that_gives_none() -> None:

    @wg.custom_gradient
    def cut(x: Any) -> Any:
        return x * 1.0, lambda dy: None

    same(at(lambda x: wg.gradients(cut(x) * cut(x), x), 3), [None])
    same(at(lambda x: wg.gradients(cut(x) + x * x, x), 3), [6])
    same(at(lambda x: wg.gradients(cut(x), x, unconnected_gradients="zero"), 3), [0])


def test_sibling_results_are_not_connected() -> None:
    """Unlike TensorFlow's: values are per tensor."""

    def siblings(x: Any) -> Any:
        p, q = split(x)
        y = q * 3.0
        return wg.gradients(y, [p]) + wg.gradients(y, [p, x]) + wg.gradients(y, [p, q])

    same(at(siblings, [1, 2]), [None, None, [0, 3], None, [3]])


def test_what_no_longer_depends_on_x() -> None:
    """Decision 3."""

    def linear(x: Any) -> Any:
        (g,) = wg.gradients(3 * x, x)
        return wg.gradients(g, x)

    def powers(x: Any) -> Any:
        (g,) = wg.gradients(x * x, x)
        (gg,) = wg.gradients(g, x)
        return [g, gg, *wg.gradients(gg, x)]

    same(at(linear, 2), [None])
    same(at(powers, 2), [4, 2, None])


def test_python_and_numpy_values_are_constants() -> None:
    """Decision 16."""
    same(at(lambda x: wg.gradients(2.0, x), 3), [None])
    same(at(lambda x: wg.gradients(x * 2, 3.0), 3), [None])
    same(at(lambda x: wg.gradients(x * 2, np.float32(3)), 3), [None])
    same(at(lambda x: wg.gradients(x * 2, [3.0, 4.0], unconnected_gradients="zero"), 3), [0, 0])


# -- grad_ys (1.3) ----------------------------------------------------------------------------------------------------


def test_seeds() -> None:
    same(at(lambda x: wg.gradients([x * x, x * 5], x, grad_ys=[None, 2.0]), 3), [16])
    same(at(lambda x: wg.gradients(x * x, x, grad_ys=2.0), 3), [12])
    same(at(lambda x: wg.gradients(x * x, x, grad_ys=[[1.0, 2.0]]), [3, 4]), [[6, 16]])
    same(at(lambda x: wg.gradients(x * x, x, grad_ys=np.array([1.0, 2.0])), [3, 4]), [[6, 16]])
    same(at(lambda x: wg.gradients(x * x, x, grad_ys=0.0), 3), [0])
    same(at(lambda x: wg.gradients(x * x, x, grad_ys=np.inf), 0), [np.nan])
    same(at(lambda x: wg.gradients(x * x, x, grad_ys=np.nan), 1), [np.nan])


def test_seeds_of_another_real_dtype_are_converted() -> None:
    """Real goes with real, and is cast (decision 8)."""
    x = np.array([3.0], np.float32)
    for seed in (np.array([2]), np.array([2.0])):
        (found,) = at(lambda x, seed=seed: wg.gradients(x * x, x, grad_ys=seed), x)
        assert (found.tolist(), found.dtype) == ([12], np.float32)


@pytest.mark.parametrize(
    ("seeds", "error", "text"),
    [
        ([[1.0], [1.0]], ValueError, "Length mismatch"),
        ([], ValueError, "Length mismatch. Passed 0 grad_ys for 1 ys"),
        (2.0, ValueError, "shape"),  # decision 8
        ([np.ones((2, 2))], ValueError, r"\(2, 2\)"),
        ([np.ones(3)], ValueError, r"\(3,\)"),
        ([np.ones((1, 2))], ValueError, "shape"),
        ([np.array([True, False])], TypeError, "bool"),
        ([np.ones(2, complex)], TypeError, "complex128"),
        ("seed", TypeError, "str"),
        ({"a": 1.0}, TypeError, "dict"),
    ],
    ids=str,
)
def test_wrong_seeds(seeds: Any, error: Any, text: str) -> None:
    """Nothing is added to the graph."""
    graph = Graph()
    with graph.as_default():
        (x,) = inputs_of(graph, (2,))
        y = x * x
        before = len(graph.nodes)
        with pytest.raises(error, match=text):
            wg.gradients(y, x, grad_ys=seeds)
        assert len(graph.nodes) == before


def test_the_seed_is_differentiated_through() -> None:

    def seeded(x: Any) -> Any:
        (g,) = wg.gradients(x * x, x, grad_ys=x)
        return [g, *wg.gradients(g, x)]

    def forward(x: Any, d: Any) -> Any:
        (g,) = wg.gradients(x * x * x, x, grad_ys=d)
        return wg.gradients(g, d, grad_ys=np.array([1.0, 0.0]))

    same(at(seeded, 3), [18, 12])
    same(at(forward, [1, 2], [1, 1]), [[3, 0]])


# -- stop_gradients (1.4) ---------------------------------------------------------------------------------------------


def test_stopped_tensors() -> None:

    def sums(a: Any) -> Any:
        b = 2 * a
        s = wg.stop_gradient(a)
        t = wg.stop_gradient(2 * s)
        y = a + b
        return [
            *wg.gradients(y, [a, b], stop_gradients=[a, b]), *wg.gradients(y, [a, b]), *wg.gradients(s + t, [s, t]),
        ]  # fmt: skip

    def products(a: Any) -> Any:
        b = a * a
        return [
            *wg.gradients(b * a, a, stop_gradients=b), *wg.gradients(b, a, stop_gradients=b),
            *wg.gradients(b, a, stop_gradients=b, unconnected_gradients="zero"), *wg.gradients(b, b, stop_gradients=b),
            *wg.gradients(b, a, stop_gradients=a), *wg.gradients(b, a, stop_gradients=[wg.tensor(1.0), b * 3]),
        ]  # fmt: skip

    same(at(sums, 0), [1, 1, 3, 1, 1, 1])
    same(at(products, 3), [9, None, 0, 1, 6, 6])
    same(at(lambda a: wg.gradients(a * a * a, a, stop_gradients=a), 1), [3])


def test_stopping_is_per_tensor() -> None:
    """Unlike TensorFlow's: values are per tensor."""

    def siblings(x: Any) -> Any:
        p, q = split(x)
        return wg.gradients(wg.sum(3 * p + 5 * q), [x, p, q], stop_gradients=[p])

    same(at(siblings, [1, 2]), [[0, 5], [3], [5]])


def test_both_ways_to_stop() -> None:

    def sealed(x: Any) -> Any:
        s = wg.stop_gradient(x * x)
        return wg.gradients(s * x, [x, s]) + wg.gradients(wg.stop_gradient(x), x)

    def combined(x: Any) -> Any:
        u, w = wg.stop_gradient(x * x), 5 * x
        z = u * x + w * x
        return wg.gradients(z, x) + wg.gradients(z, x, stop_gradients=[w])

    def chained(x: Any) -> Any:
        a = 2 * x
        b = wg.stop_gradient(a * a)
        return wg.gradients(b * x, [a, b, x], stop_gradients=a)

    same(at(sealed, 3), [9, 3, None])
    same(at(combined, 3), [39, 24])
    same(at(chained, 3), [None, 3, 36])


@pytest.mark.parametrize("stops", range(16))
def test_the_argument_and_the_function_stop_alike(stops: int) -> None:
    """Every subset of a graph of four tensors: None counts as zero."""
    chosen = [bool(stops >> i & 1) for i in range(4)]

    def graph(x: Any, seal: bool) -> Any:
        made: list[Any] = []

        def through(value: Any) -> Any:
            index = len(made)
            made.append(value)
            return wg.stop_gradient(value) if seal and chosen[index] else value

        a = through(x * 2)
        b = through(a * x)
        c = through(wg.sin(a))
        d = through(b * c)
        y = d + b * a
        listed = [t for t, s in zip(made, chosen, strict=True) if s and not seal]
        return wg.gradients(y, x, stop_gradients=listed, unconnected_gradients="zero")

    same(at(lambda x: graph(x, False), 0.7), at(lambda x: graph(x, True), 0.7))


def test_stops_must_be_tensors() -> None:
    """A Variable's value is one."""
    v = wg.Variable(2.0)

    def stopped() -> Any:
        r = v.value
        with pytest.raises(TypeError, match="float"):
            wg.gradients(r * r, v, stop_gradients=[1.0])
        with pytest.raises(TypeError, match=r"\.value"):
            wg.gradients(r * r, v, stop_gradients=[v])
        return wg.gradients(r * r, v, stop_gradients=[r])

    same(at(stopped), [None])


def test_a_stopped_op_needs_no_gradient() -> None:

    def stopped(x: Any) -> Any:
        u = unique(x)
        return wg.gradients(wg.sum(x * x) + wg.sum(u), x, stop_gradients=[u])

    same(at(stopped, [1, 2]), [[2, 4]])


# -- dtypes (1.5) -----------------------------------------------------------------------------------------------------


def test_integers_are_constants() -> None:
    """Also where y is x (decision 2)."""
    three, true = np.array(3), np.array(True)
    same(at(lambda x: wg.gradients(x * x, x), three), [None])
    same(at(lambda x: wg.gradients(x.astype("float32") * 2, x), three), [None])
    same(at(lambda x: wg.gradients(x, x), three), [None])
    same(at(lambda x: wg.gradients(x, x), true), [None])
    same(at(lambda x: wg.gradients(x.astype(int).astype(float), x), 3), [None])
    same(at(lambda x: wg.gradients(x.astype(int), x), 3), [None])
    same(at(lambda x: wg.gradients([x * x, x.astype(int)], x), 3), [6])
    same(at(lambda x: wg.gradients(x > 2, x), 3), [None])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_gradient_has_the_dtype_of_its_x(dtype: str) -> None:
    (found,) = at(lambda x: wg.gradients(x.astype("float32") * x.astype("float32"), x), np.array(3, dtype))
    assert (found, found.dtype) == (6, dtype)


def test_complex_ys_need_seeds() -> None:
    """Decision 15."""
    z = np.array(3 + 4j)
    with pytest.raises(TypeError, match="Gradients of complex tensors"):
        at(lambda z: wg.gradients(z * z, z), z)
    with pytest.raises(TypeError, match="complex with complex"):
        at(lambda z: wg.gradients(z * z, z, grad_ys=1.0), z)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: x * x, 7 + 3j, 14 - 6j),
        (wg.abs, 3 + 4j, 0.6 + 0.8j),
        (lambda x: wg.real(x * x), 3 + 4j, 6 - 8j),
        (lambda x: wg.imag(x * x), 3 + 4j, 8 + 6j),
        (lambda x: wg.conj(x) * x, 3 + 4j, 6 + 8j),
        (wg.exp, 0.5 + 1j, np.conj(np.exp(0.5 + 1j))),
    ],
)
def test_complex_convention(f: Any, x: complex, expected: complex) -> None:

    def gradient(x: Any) -> Any:
        y = f(x)
        return wg.gradients(y, x, grad_ys=wg.ones_like(y))

    same(at(gradient, np.array(x)), [expected])


def test_real_parts_of_a_complex_number() -> None:

    def parts(a: Any, b: Any) -> Any:
        z = a + 1j * b
        return wg.gradients(wg.real(z * z) + 2 * wg.imag(z * z), [a, b])

    same(at(parts, 3, 4), [22, 4])


# -- aggregation (1.6) ------------------------------------------------------------------------------------------------

METHODS = wg.AggregationMethod


def fan(method: Any, terms: int = 20) -> Graph:
    """The gradient of a sum of `terms` functions of one large x."""
    graph = Graph("fan")
    with graph.as_default():
        (x,) = inputs_of(graph, (1000, 100))
        y = sum((wg.sum(x * float(k)) for k in range(2, terms + 1)), wg.sum(x * 1.0))
        found = wg.gradients(y, x, aggregation_method=method)
    return graph.finish(found)


def peak_of_large_buffers(graph: Graph) -> int:
    """How many buffers of x's size are alive at once while the optimised graph runs, x itself not counted."""
    graph = optimise(closed(graph))
    alive = peak = 0
    for node, freed in zip(graph.nodes, last_uses(graph), strict=True):
        # a broadcast is a view
        large = [v for v in node.outputs if v.shape == (1000, 100) and node.op.name != "broadcast_to"]
        alive += len(large)
        peak = max(peak, alive)
        views = {v.key for n in graph.nodes if n.op.name == "broadcast_to" for v in n.outputs}
        alive -= len([v for v in freed if v.shape == (1000, 100) and v.key not in views])
    return peak


@pytest.mark.parametrize(
    "method", [0, 1, 2, None, *METHODS, "ADD_N", "default", "EXPERIMENTAL_TREE", "experimental_accumulate_n"], ids=repr
)
def test_every_method_gives_the_same_gradient(method: Any) -> None:

    def four(x: Any) -> Any:
        y = 2 * x
        return wg.gradients(y + y + y + y, [x, y], aggregation_method=method)

    same(at(four, 1), [8, 4])


def test_numbers_of_additions() -> None:
    adds = {m: (ops_of(fan(m), 0).count("add_n"), ops_of(fan(m)).count("add") - 19) for m in METHODS}
    assert adds == {
        METHODS.ADD_N: (1, 0),
        METHODS.EXPERIMENTAL_TREE: (0, 19),
        METHODS.EXPERIMENTAL_ACCUMULATE_N: (0, 19),
    }
    assert "add_n" not in ops_of(fan(METHODS.ADD_N, terms=1))


def test_peak_of_live_buffers() -> None:
    """All terms at once, about log2(n) partial sums, or two; and the ones that every term is made from."""
    peaks = {m: peak_of_large_buffers(fan(m)) for m in METHODS}
    assert peaks[METHODS.ADD_N] == 21  # the terms and their sum
    assert peaks[METHODS.EXPERIMENTAL_ACCUMULATE_N] == 4  # the ones, the sum so far, a term, their sum
    assert 4 < peaks[METHODS.EXPERIMENTAL_TREE] <= 8


def test_the_peak_is_that_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """With memory measured: that of NumPy's kernels, for machine code keeps no terms."""
    monkeypatch.setenv("WENGERT_JIT", "0")
    x = np.ones((1000, 100))
    used = {}
    for method in METHODS:
        run = executable(Program(closed(fan(method))))
        run(x)
        tracemalloc.start()
        (found,) = run(x)
        used[method] = tracemalloc.get_traced_memory()[1] / x.nbytes
        tracemalloc.stop()
        np.testing.assert_array_equal(found, np.full_like(x, 210))
    assert used[METHODS.ADD_N] > 19
    assert 4.9 < used[METHODS.EXPERIMENTAL_TREE] < 8.1
    assert used[METHODS.EXPERIMENTAL_ACCUMULATE_N] < 4.1


def test_order_of_summands() -> None:
    """That of the program."""
    graph = fan(METHODS.ADD_N, terms=4)
    (total,) = [n for n in graph.nodes if n.op.name == "add_n"]
    by_key = {v.key: n for n in graph.nodes for v in n.outputs}
    assert [by_key[v.key].attrs[0] for v in total.inputs] == [1, 2, 3, 4]


@pytest.mark.parametrize("method", [True, False, 3, -1, 1.5, "nonsense", [0]], ids=repr)
def test_unknown_methods(method: Any) -> None:
    """Checked first, members and integers only (decision 8)."""
    with pytest.raises(ValueError, match="Invalid `aggregation_method`"):
        at(lambda x: wg.gradients([], x, aggregation_method=method), 1)


# -- gates, placement, names (1.7) ------------------------------------------------------------------------------------


def small_gradient(**options: Any) -> Graph:
    graph = Graph("small")
    with graph.as_default():
        x, y = inputs_of(graph, (), ())
        found = wg.gradients(wg.sin(x) * y, [x, y], **options)
    graph.finish(found)
    verify(graph)
    return graph


@pytest.mark.parametrize("gate", [True, 1, 2, "x"])
def test_gates(gate: Any) -> None:
    """Around the two gradients of mul, and not around that of sin."""
    same(at(lambda x, y: wg.gradients(x * y, [x, y], gate_gradients=gate), 2, 3), [3, 2])
    assert ops_of(small_gradient(gate_gradients=gate)).count("barrier") == 1


def test_no_gates() -> None:
    for gate in (False, 0):
        assert "barrier" not in ops_of(small_gradient(gate_gradients=gate))


def test_second_derivative_through_gates() -> None:

    def cube(x: Any) -> Any:
        (g,) = wg.gradients(x * x * x, x, gate_gradients=True)
        return [g, *wg.gradients(g, x, gate_gradients=True)]

    same(at(cube, 2), [12, 12])


def test_placement() -> None:
    lines = small_gradient(colocate_gradients_with_ops=True).to_text().splitlines()
    assert [line.split("# ")[1] for line in lines if "cos" in line] == ["gradients/sin_grad/cos on cpu beside loc:@sin"]
    assert "loc:@" not in small_gradient().to_text()


def test_names() -> None:
    graph = Graph("named")
    with graph.as_default():
        (x,) = inputs_of(graph, ())
        y = wg.sin(x) * x
        for name in ("gradients", "gradients", "foo", "foo", None):
            wg.gradients(y, x, name=name)
    labels = [n.label.name for n in graph.nodes if n.label]
    assert [n for n in labels if n.startswith("gradients/")] == [
        "gradients/grad_ys_0/full", "gradients/mul_grad/mul", "gradients/mul_grad/mul_1", "gradients/sin_grad/cos",
        "gradients/sin_grad/mul", "gradients/add_n",
    ]  # fmt: skip
    assert list(dict.fromkeys(n.split("/")[0] for n in labels)) == [
        "gradients",
        "gradients_1",
        "foo",
        "foo_1",
        "gradients_2",
    ]
    assert "# foo_1/mul_grad/mul" in graph.to_text()
    with pytest.raises(TypeError, match="name"), graph.as_default():
        wg.gradients(y, x, name=3)


def test_a_call_adds_nodes_and_no_second_copy() -> None:
    """Each call adds its own nodes; what was there stays once, and running shares what is equal."""
    graph = Graph("twice")
    with graph.as_default():
        (x,) = inputs_of(graph, (3,))
        y = wg.exp(wg.sin(x) * x)
        forward = len(graph.nodes)
        (first,) = wg.gradients(y, x)
        once = ops_of(graph, forward)
        (second,) = wg.gradients(y, x)
        assert ops_of(graph, forward + len(once)) == once
        assert "exp" not in once
        assert "sin" not in once
    graph.finish([first, second])
    program = optimise(closed(graph))
    assert len(program.nodes) <= forward + len(once)
    assert program.outputs[0] is program.outputs[1]


# -- errors (1.9) -----------------------------------------------------------------------------------------------------


def test_eager_calls() -> None:
    x = wg.tensor(3.0)
    with pytest.raises(RuntimeError, match=r"wg\.grad"):
        wg.gradients(x * x, x)


def test_ops_without_a_gradient() -> None:
    """A failed call adds nothing."""

    def lost(x: Any) -> Any:
        return wg.gradients(unique(x) * 0.0, x, unconnected_gradients="zero")

    with pytest.raises(LookupError, match="unique_for_gradients"):
        at(lost, [1, 2])
    same(at(lambda x: (unique(x), wg.gradients(x * x, x))[1], [1, 2]), [[2, 4]])
    same(at(lambda x: wg.gradients(wg.floor(unique(x)), x), [1, 2]), [[0, 0]])
    graph = Graph()
    with graph.as_default():
        (x,) = inputs_of(graph, (2,))
        y = wg.exp(unique(x))
        before = graph.to_text()
        with pytest.raises(LookupError):
            wg.gradients(y, x)
        assert graph.to_text() == before


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (wg.floor, [0, 0]), (wg.ceil, [0, 0]), (wg.round, [0, 0]), (wg.rint, [0, 0]), (wg.sign, [0, 0]),
        (wg.argmax, None), (wg.isnan, None), (wg.ones_like, None), (wg.zeros_like, None), (lambda x: x > 0, None),
        (lambda x: x % 2.0, [1, 1]), (lambda x: x // 2.0, [0, 0]),
        (wg.sort, [1, 1]), (wg.cumprod, [-1.5, 1.5]),
    ],
)  # fmt: skip
def test_piecewise_constant_functions(f: Any, expected: Any) -> None:
    """Floor and its kin are connected with gradient zero (decision 2)."""
    same(at(lambda x: wg.gradients(f(x), x), [1.5, -2.5]), [expected])


def test_unused_results_are_fed_zeros() -> None:
    same(
        at(lambda x: wg.gradients([*wg.unstack(x)][1] * 2 if hasattr(wg, "unstack") else x[1] * 2, x), [1, 2, 3]),
        [[0, 2, 0]],
    )


@pytest.mark.parametrize("what", [None, {"a": 1}, "x"], ids=repr)
def test_what_cannot_be_differentiated(what: Any) -> None:
    with pytest.raises(TypeError, match="xs"):
        at(lambda x: wg.gradients(x, what), 1)
    with pytest.raises(TypeError, match="ys"):
        at(lambda x: wg.gradients([what], x), 1)
    with pytest.raises(TypeError, match="xs"):
        at(lambda x: wg.gradients(x, [[x]]), 1)


def test_tensors_of_another_graph() -> None:
    one, two = Graph("one"), Graph("two")
    with one.as_default():
        (x,) = inputs_of(one, ())
    with two.as_default():
        (y,) = inputs_of(two, ())
        for ys, xs, stops in ((y, x, None), (x, y, None), (y, y, x)):
            with pytest.raises(ValueError, match="another graph"):
                wg.gradients(ys, xs, stop_gradients=stops)


def test_misspelt_options() -> None:
    with pytest.raises(TypeError, match="unnconnected_gradients"):
        at(lambda x: wg.gradients(x, x, unnconnected_gradients="zero"), 1)


# -- functions, captures, Variables (1.10) ----------------------------------------------------------------------------


def test_functions_called_several_times() -> None:
    square = wg.function(lambda x: x * x)
    same(at(lambda x: wg.gradients(square(x) + square(square(x)), x), 3), [114])
    first = wg.function(lambda x, y: x * 2)
    same(at(lambda x, y: wg.gradients(first(x, y), [x, y]), 3, 4), [2, None])
    same(at(lambda x: wg.gradients(wg.function(wg.stop_gradient)(x), x), 3), [None])


def test_variables() -> None:
    v, unread = wg.Variable(2.0, trainable=False), wg.Variable(1.0)
    count = wg.Variable(3)
    f = wg.function(lambda x: x * v * v)
    same(at(lambda x: wg.gradients(f(x), [x, v]), 3), [4, 12])
    same(at(lambda: wg.gradients(v, v)), [1])
    same(at(lambda: wg.gradients(v * v, [v, unread, count])), [4, None, None])
    same(at(lambda: wg.gradients(v * v, [unread], unconnected_gradients="zero")), [0])
    w = wg.Variable(0.0)

    def total() -> Any:
        b = 2 * w.value
        return wg.gradients(w.value + b, [w, b])

    same(at(total), [3, 1])


def test_a_variable_is_every_read_of_it() -> None:
    """Two reads without an assignment between them are one tensor (values are per tensor)."""
    v = wg.Variable(2.0)

    def reads() -> Any:
        a, b = v.value, v.value
        return wg.gradients(a * b, [a, b, v])

    same(at(reads), [4, 4, 4])


def test_assigning_is_not_differentiable() -> None:
    v, w = wg.Variable(2.0), wg.Variable(1.0)

    def assigned() -> Any:
        w.assign(3 * v.value)
        return wg.gradients(w * w, [v, w])

    same(at(assigned), [None, 12])


def test_outer_graphs() -> None:
    """Captures are walked into the builders around (decision 33)."""
    outer = Graph("outer")
    with outer.as_default():
        (x,) = inputs_of(outer, ())
        y = x * x
        inner = Graph("inner")
        with inner.as_default():
            z = 3 * y
            found = wg.gradients(z, [y, x]) + wg.gradients(y, [x])
            assert all(g._data.graph == inner.serial for g in found)
        inner.finish(found)
    assert "capture" in inner.to_text()
    values = {x._key: 2.0, y._key: 4.0}
    run = executable(Program(closed(inner)))
    captured = [np.float64(values[t._key]) for t, _ in inner.captures.values()]
    np.testing.assert_allclose(run(*captured), [3, 12, 4])


def test_captured_values() -> None:
    """Decision 16."""
    five = wg.tensor(5.0)
    same(at(lambda x: wg.gradients(five * five * x, five), 1), [10])
    same(at(lambda x: wg.gradients(five, x), 1), [None])
    same(at(lambda x: wg.gradients(five, five), 1), [1])


def test_gradients_of_gradients_across_functions() -> None:

    def inner(a: Any) -> Any:
        return wg.gradients(a * a * a, a)[0]

    inner = wg.function(inner)
    same([inner(2.0)], [12])
    same(at(lambda x: wg.gradients(inner(x), x), 2), [12])


def test_functional_gradients_inside() -> None:
    """Decision 3: a gradient of the functional interface is connected where its value is."""
    same(at(lambda x: wg.gradients(wg.grad(lambda t: t * t * t)(x), x), 2), [12])
    same(at(lambda x: wg.gradients(wg.grad(lambda t: 3 * t)(x), x), 2), [0])
    g = wg.grad(wg.function(lambda x: wg.gradients(x * x * x, x)[0]))
    assert g(2.0) == 12


def test_higher_orders() -> None:

    def orders(x: Any) -> Any:
        found = [x * x * x]
        for _ in range(3):
            found += wg.gradients(found[-1], x)
        return found[1:]

    def cross_entropy(x: Any) -> Any:
        (g,) = wg.gradients(wg.log(wg.sum(wg.exp(x))) - x[0], x)
        return [g, *wg.gradients(g[0], x)]

    same(at(orders, 2), [12, 12, 6])
    p = np.exp(1) / (np.exp(1) + np.exp(2))
    same(at(cross_entropy, [1, 2]), [[p - 1, 1 - p], [p * (1 - p), -p * (1 - p)]])


def test_custom_gradients() -> None:
    @wg.custom_gradient
    def tripled(x: Any) -> Any:
        return x * x, lambda dy: dy * 3 * x

    same(at(lambda x: wg.gradients(tripled(x), x), 2), [6])
    kept = wg.recompute_grad(lambda x: wg.sin(x) * x)
    same(at(lambda x: wg.gradients(kept(x), x), 2), [np.cos(2) * 2 + np.sin(2)])


# -- threads ----------------------------------------------------------------------------------------------------------


def test_building_from_several_threads() -> None:
    """Nodes of eight threads in one graph, gradients included; the graph stays correct."""
    graph = Graph("shared")
    with graph.as_default():
        (x,) = inputs_of(graph, ())
    shared = wg.tensor(2.0)
    results: dict[int, Any] = {}

    def work(k: int) -> None:
        with graph.as_default():
            for _ in range(10):
                y = wg.sin(x * float(k)) * shared
                (results[k],) = wg.gradients(y, x)

    in_threads(work)
    graph.finish([results[k] for k in range(8)])
    verify(graph)
    assert len(graph.captures) == 1
    compiled = Program(closed(graph))
    found = executable(compiled)(np.float64(0.3), np.float64(2.0))
    np.testing.assert_allclose(found, [2 * k * np.cos(0.3 * k) for k in range(8)])
