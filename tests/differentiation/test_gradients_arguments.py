"""`wg.gradients`: its arguments, beside tests/differentiation/test_gradients.py: weights, stops, options and names; dtypes; ops without a
gradient; second derivatives and forward mode.

A test names the decision (docs/semantics/decisions.md) where we differ from TensorFlow.
"""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from scipy import sparse

import wengert as wg
from tests.support.modes import pushed, pushed_traced
from wengert._core.graph import Graph

ROWS = np.array([[1.0, 2.0], [3.0, 4.0]])
_numbers = itertools.count()


def at(f: Any, *values: Any) -> Any:
    """What f gives in a trace, with arrays as inputs."""
    return wg.function(f)(*[np.asarray(v, float) if isinstance(v, (int, float, list)) else v for v in values])


def unique(x: Any) -> Any:
    """An op with a float result and no gradient."""
    return _unique(x)


_unique = wg.primitive("unique_for_semantics", spec=lambda x: wg.TensorSpec(x.shape, x.dtype), numpy=np.sort)


# -- None and zeros ---------------------------------------------------------------------------------------------------


def test_zeros_have_the_dtype_of_their_x() -> None:
    """Also where another x is connected."""
    a, b = np.array([1.0, 2.0], np.float32), np.array([[3.0]])

    def gradient(a: Any, b: Any) -> Any:
        return wg.gradients([a * 2], [a, b], unconnected_gradients="zero")

    to_a, to_b = at(gradient, a, b)
    assert (to_a.tolist(), to_a.dtype, to_b.tolist(), to_b.dtype) == ([2, 2], np.float32, [[0]], np.float64)


@pytest.mark.parametrize("option", ["none", wg.UnconnectedGradients.NONE])
def test_none_by_name(option: Any) -> None:
    """The string or the member."""
    assert at(lambda x: wg.gradients([2.0, x * x], [x, wg.tensor(1.0)], unconnected_gradients=option), 3) == [6, None]


def test_default_seeds_have_the_type_of_y() -> None:
    """Ones of y's shape and dtype."""
    graph = Graph()
    with graph.as_default():
        x = graph.add_input((2, 3), np.dtype(np.float32), "x")
        (seed,) = wg.gradients(x, x)
    assert (seed.shape, seed.dtype) == ((2, 3), np.float32)
    assert "full(shape=(2, 3), value=1, dtype=float32)" in graph.finish([seed]).to_text()


# -- rows as weights, and as sources ----------------------------------------------------------------------------------

SEED = wg.IndexedSlices(np.array([[5.0, 6.0]]), np.array([1]), (2, 2))


def test_rows_as_weights_stay_rows() -> None:
    """Through an identity, and where y is x; the first op that reads them makes them dense."""

    def gradient(x: Any) -> Any:
        same = wg.positive(x)
        found = [
            *wg.gradients(same, x, grad_ys=[SEED], sparse=True), *wg.gradients(x, x, grad_ys=[SEED], sparse=True),
            *wg.gradients([same, x], x, grad_ys=[SEED, SEED], sparse=True),
        ]  # fmt: skip
        dense = [*wg.gradients(x * 2, x, grad_ys=[SEED], sparse=True), *wg.gradients(same, x, grad_ys=[SEED])]
        again = wg.gradients(wg.positive(x), x, grad_ys=[found[0]], sparse=True)  # rows of the graph itself
        return [(g.values, g.indices) for g in (*found, *again)], dense

    rows, (doubled, full) = at(gradient, ROWS)
    assert [(v.tolist(), i.tolist()) for v, i in rows] == [([[5, 6]], [1])] * 2 + [
        ([[5, 6]] * 2, [1, 1]),
        ([[5, 6]], [1]),
    ]
    assert doubled.tolist() == [[0, 0], [10, 12]]
    assert full.tolist() == [[0, 0], [5, 6]]


def test_rows_as_weights_are_checked() -> None:
    """Decision 8."""
    with pytest.raises(ValueError, match=r"\(2, 2\)"):
        at(lambda x: wg.gradients(x, x, grad_ys=[SEED], sparse=True), np.ones((3, 2)))
    values = at(lambda x: wg.gradients(x, x, grad_ys=[SEED], sparse=True)[0].values, np.ones((2, 2), np.float32))
    assert values.dtype == np.float32


def test_lists_with_tensors_as_weights() -> None:
    (found,) = at(lambda x: wg.gradients(x * x, x, grad_ys=[[x[0], 2.0]]), [3, 4])
    assert found.tolist() == [18, 16]
    graph = Graph()
    with graph.as_default():
        x = graph.add_input((3,), np.dtype(float), "x")
        count = len(graph.nodes)
        element = x[0]
        count = len(graph.nodes)
        with pytest.raises(ValueError, match="wanted exactly the shape"):
            wg.gradients(x, x, grad_ys=[[element, 1.0]])
        assert len(graph.nodes) == count


def test_indices_of_two_dtypes() -> None:
    """The result counts in the wider one."""
    narrow, wide = np.array([0], np.int32), np.array([2])

    def gradient(x: Any) -> Any:
        (g,) = wg.gradients(wg.sum(wg.take(x, narrow, axis=0)) + wg.sum(wg.take(x, wide, axis=0)), x, sparse=True)
        return g.values, g.indices

    values, indices = at(gradient, np.ones((3, 2)))
    assert sorted(indices.tolist()) == [0, 2]
    assert (indices.dtype, values.tolist()) == (np.int64, [[1, 1]] * 2)


def test_sparse_sources_are_refused() -> None:
    """A TypeError: the kind of a value is wrong."""
    with pytest.raises(TypeError, match="csr_array"):
        at(lambda x: wg.gradients(x, sparse.csr_array(np.eye(2))), 1)
    for which in ((SEED, 1.0), (1.0, SEED)):
        with pytest.raises(TypeError, match="IndexedSlices"):
            at(lambda x, which=which: wg.gradients(*which), 1)

    def through_values(values: Any) -> Any:
        slices = wg.IndexedSlices(values, np.array([1]), (2, 2))
        return wg.gradients(wg.tensor(slices) ** 2, values)

    assert at(through_values, [[3, 4]])[0].tolist() == [[6, 8]]


# -- stops ------------------------------------------------------------------------------------------------------------


def test_stops_inside_a_function() -> None:
    """An outer tensor that an inner function uses."""

    def gradient(x: Any) -> Any:
        u = x * x
        z = wg.function(lambda t: u * t)(x)
        return wg.gradients(z, x, stop_gradients=[u]) + wg.gradients(z, x)

    assert at(gradient, 3) == [9, 27]


def test_a_stop_that_is_the_only_factor() -> None:
    """And one that is x itself."""
    assert at(lambda a: wg.gradients((a * a) * a, a), 1) == [3]

    def gradient(a: Any) -> Any:
        b = a * a
        return wg.gradients(b * a, a, stop_gradients=b) + wg.gradients(b, a, stop_gradients=a)

    assert at(gradient, 1) == [1, 2]
    assert at(gradient, 3) == [9, 6]


# -- dtypes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16, "float32", "float64", "complex64", "complex128"])
def test_dtypes_that_carry_gradients(dtype: Any) -> None:

    def gradient(x: Any) -> Any:
        y = x * x
        return wg.gradients(y, x, grad_ys=[wg.ones_like(y)])

    (found,) = at(gradient, np.array(3, dtype))
    assert (found, found.dtype) == (6, dtype)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"])
def test_dtypes_that_block_them(dtype: str) -> None:
    x = np.array(3).astype(dtype)
    assert at(lambda x: wg.gradients(x.astype(float) * 2.0, x), x) == [None]
    assert at(lambda x: wg.gradients(x, x), x) == [None]
    assert at(lambda x: wg.gradients(x.astype(dtype).astype(float), x), 3) == [None]


def test_a_cast_inside_keeps_the_dtype_of_x() -> None:
    """A float64 x, float32 inside; float16 and bfloat16 likewise."""
    for dtype in ("float16", ml_dtypes.bfloat16, "float64"):
        (found,) = at(lambda x: (lambda y: wg.gradients(y * y, x))(x.astype("float32")), np.array(3, dtype))
        assert (found, found.dtype) == (6, dtype)


def test_bool_results_are_constants() -> None:
    """There are no strings; a bool y has gradient None, and takes no float weights (decisions 2 and 8)."""
    assert at(lambda x: wg.gradients(x > 2, x), 3) == [None]
    assert at(lambda x: wg.gradients([x > 2, x * x], x), 3) == [6]
    with pytest.raises(TypeError, match="bool"):
        at(lambda x: wg.gradients(x > 2, x, grad_ys=1.0), 3)


# -- sums, names, order of arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "sums", "additions"), [(0, 1, 0), (1, 0, 3), (2, 0, 3)])
def test_additions_of_four_uses(method: int, sums: int, additions: int) -> None:
    """y + y + y + y, one sum of four or three additions, beside the three of the function."""
    graph = Graph()
    with graph.as_default():
        x = graph.add_input((), np.dtype(float), "x")
        y = 2 * x
        wg.gradients(y + y + y + y, [x, y], aggregation_method=method)
    ops = [node.op.name for node in graph.nodes]
    assert (ops.count("add_n"), ops.count("add") - 3) == (sums, additions)


def test_order_of_arguments() -> None:
    """The order differs from TensorFlow's: ys, xs, grad_ys and name by position, all else by keyword."""
    parameters = inspect.signature(wg.gradients).parameters.values()
    by_position = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert by_position == ["ys", "xs", "grad_ys", "name"]
    assert {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} == {
        "gate_gradients", "aggregation_method", "stop_gradients", "unconnected_gradients", "sparse",
        "colocate_gradients_with_ops",
    }  # fmt: skip
    with pytest.raises(TypeError, match="positional"):
        at(lambda x: wg.gradients(x, x, None, "name", True), 1)  # pyright: ignore[reportCallIssue]


def test_names_nest_under_the_scope_that_is_open() -> None:
    """And the names of the forward nodes are those in it."""

    def f(t: Any) -> Any:
        return wg.gradients(wg.sin(t), t)[0]

    text = wg.function(lambda x: wg.symbolic_gradient([x, 1.0], f, name="outer")).trace(2.0).to_text()
    assert "# outer/gradients/outer/sin_grad/cos" in text


def test_examples_of_the_documentation() -> None:

    @wg.function
    def example(a: Any, b: Any, zero: bool) -> Any:
        return wg.gradients([b], [a], unconnected_gradients="zero" if zero else "none")

    a, b = np.ones((1, 2)), np.ones((3, 1))
    assert example(a, b, False) == [None]
    (found,) = example(a, b, True)
    assert (found.tolist(), found.shape) == ([[0, 0]], (1, 2))


def test_placement_is_an_option() -> None:
    """The keyword is there, and off."""
    assert inspect.signature(wg.gradients).parameters["colocate_gradients_with_ops"].default is False


# -- errors and registration ------------------------------------------------------------------------------------------


def test_an_op_without_gradient_where_its_value_is_never_taken() -> None:
    with pytest.raises(LookupError, match="unique_for_semantics"):
        at(lambda x: wg.gradients(wg.where(x > 100, unique(x), x), x), [1, 2])


def test_an_op_without_gradient_off_the_path() -> None:
    """Nothing flows into it, or only an integer made of it is used."""

    def gradient(x: Any) -> Any:
        u = unique(x)
        return wg.gradients(wg.floor(u) + x * x, x) + wg.gradients(x * u.astype(int), x, stop_gradients=[u])

    first, second = at(gradient, [1, 2])
    assert (first.tolist(), second.tolist()) == ([2, 4], [1, 2])


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (wg.signbit, None), (np.count_nonzero, None), (wg.argmin, None), (wg.argsort, None), (wg.isfinite, None),
        (lambda x: x >= 0, None), (lambda x: wg.ops.one_hot(x.astype("int32"), 3), None),
        (lambda x: wg.ops.shape(x), None), (lambda x: float(x.size) * wg.ones(2), None),
        (lambda x: float(x.ndim) * wg.ones(2), None), (lambda x: wg.where(x > 0, 2.0, 3.0), None),
        (lambda x: wg.ops.top_k(x, 1)[0], [1, 0]), (lambda x: wg.ops.top_k(x, 1)[1], None), (wg.trunc, [0, 0]),
        (lambda x: wg.mod(x, 2.0), [1, 1]),
    ],
)  # fmt: skip
def test_functions_that_have_no_gradient_or_a_zero_one(f: Any, expected: Any) -> None:
    """Beside those of tests/differentiation/test_gradients.py; trunc and its kin are connected (decision 2)."""
    (found,) = at(lambda x: wg.gradients(f(x), x), [1.5, -2.5])
    assert (None if found is None else found.tolist()) == expected


def test_registering_twice() -> None:
    """One name, one rule; a name is a string."""
    name = f"registered_{next(_numbers)}"
    wg.primitive(name, spec=lambda x: wg.TensorSpec(x.shape, x.dtype), numpy=np.copy)
    wg.register_gradient(name)(lambda op, dy: dy)
    for register in (wg.register_gradient, wg.not_differentiable):
        with pytest.raises(KeyError, match=name):
            register(name)
        with pytest.raises(TypeError, match="string"):
            register(3)  # pyright: ignore[reportArgumentType]
    cut = f"registered_{next(_numbers)}"
    wg.primitive(cut, spec=lambda x: wg.TensorSpec(x.shape, x.dtype), numpy=np.copy)
    wg.not_differentiable(cut)
    for register in (wg.register_gradient, wg.not_differentiable):
        with pytest.raises(KeyError, match=cut):
            register(cut)


@pytest.mark.parametrize(
    "option", ["unnconnected_gradients", "stop_gradient", "agregation_method", "gate_gradient", "naem"]
)
def test_misspelt_keywords(option: str) -> None:
    with pytest.raises(TypeError, match=option):
        at(lambda x: wg.gradients(x, x, **{option: None}), 1)


# -- functions --------------------------------------------------------------------------------------------------------


def test_identity_and_mixed_results_of_functions() -> None:
    assert at(lambda x: wg.gradients(wg.function(lambda t: t)(x), x), 3) == [1]
    both = wg.function(lambda t: (t * 2, t.astype("int64")))
    assert at(lambda x: wg.gradients([*both(x)], x), 3) == [2]
    assert at(lambda x: wg.gradients(wg.function(wg.stop_gradient)(x), x), 3) == [None]


def test_second_derivatives_by_gradients_of_gradients() -> None:
    """The values of TensorFlow's `hessians`, and None for a linear y (decision 3)."""

    def rows(f: Any) -> Any:
        def hessian(x: Any) -> Any:
            (g,) = wg.gradients(f(x), x)
            return [row for i in range(2) for row in wg.gradients(g[i], x)]

        return hessian

    def lists(found: Any) -> Any:
        return [row.tolist() for row in found]

    assert lists(at(rows(lambda x: x[0] ** 2 * x[1]), [1, 2])) == [[4, 2], [2, 0]]
    assert lists(at(rows(lambda x: x**3), [1, 2])) == [[6, 0], [0, 12]]
    assert at(rows(lambda x: x * 3), [1, 2]) == [None, None]


# -- forward mode -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("push", [pushed, pushed_traced])
@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: x**3, [1.0, 2.0], [3, 0]),
        (wg.grad(lambda x: x[0] ** 2 * x[1]), [1.0, 2.0], [4, 2]),
        (wg.sign, [1.5, -2.5], [0, 0]), (wg.round, [1.5, -2.5], [0, 0]),  # TensorFlow has None: decision 2
        (wg.nn.relu, [1.0, -2.0], [1, 0]), (wg.abs, [1.0, -2.0], [1, 0]),
    ],
)  # fmt: skip
def test_forward_mode(push: Any, f: Any, x: list[float], expected: list[float]) -> None:
    """In the direction [1, 0]."""
    np.testing.assert_allclose(push(f, [np.array(x)], [np.array([1.0, 0.0])]), expected)


def test_forward_mode_by_element() -> None:
    """Relu and abs at [1, -2] in the direction of ones; what does not depend on x has no tangent."""
    x, ones = np.array([1.0, -2.0]), np.ones(2)
    np.testing.assert_array_equal(pushed(wg.nn.relu, [x], [ones]), [1, 0])
    np.testing.assert_array_equal(pushed(wg.abs, [x], [ones]), [1, -1])
    assert pushed(lambda x: wg.ones(2), [x], [ones]) is None
