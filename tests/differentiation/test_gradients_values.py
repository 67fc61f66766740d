"""`wg.gradients`: gathered rows (as dense arrays), registered rules and a table of hard points."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._core.state import STATE

_numbers = itertools.count()


def at(f: Any, *values: Any) -> Any:
    """What f gives in a trace, with float arrays as inputs."""
    return wg.function(f)(*[np.asarray(v, float) for v in values])


def gradient(f: Any, *values: Any, **options: Any) -> Any:
    """Of the sum of f, with respect to each argument."""
    return at(lambda *xs: wg.gradients(f(*xs), list(xs), **options), *values)


def identity_with(rule: Any) -> Any:
    """A new op that gives its operand, with the rule."""
    name = f"identity_{next(_numbers)}"
    op = wg.primitive(name, spec=lambda x: wg.TensorSpec(x.shape, x.dtype), numpy=lambda x: x + 0)
    wg.register_gradient(name)(rule)
    return op


# -- gathered rows: their gradient is dense by default ----------------------------------------------------------------

ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def test_gathered_rows() -> None:
    """Duplicates add up."""
    (found,) = gradient(lambda x: wg.take(x, np.array([0, 2, 0]), axis=0), ROWS)
    assert found.tolist() == [[2, 2], [0, 0], [1, 1]]
    weights = np.array([[1.0], [10.0], [100.0]])
    (found,) = gradient(lambda x: wg.take(x, np.array([0, 2, 0]), axis=0) * weights, ROWS)
    assert found.tolist() == [[101, 101], [0, 0], [10, 10]]


def test_gathered_rows_beside_a_dense_use() -> None:
    (found,) = gradient(lambda x: wg.sum(wg.take(x, np.array([0]), axis=0)) + wg.sum(x * x), ROWS)
    assert found.tolist() == [[3, 5], [6, 8], [10, 12]]


def test_second_order_through_gathered_rows() -> None:

    def orders(x: Any) -> Any:
        (g,) = wg.gradients(wg.take(x, np.array([0, 2, 0])) ** 2, x)
        return [g, *wg.gradients(g, x)]

    first, second = at(orders, [1, 2, 3])
    assert first.tolist() == [4, 0, 6]
    assert second.tolist() == [4, 0, 2]


def test_gathered_rows_of_a_variable() -> None:
    v, other = wg.Variable(ROWS), wg.Variable(ROWS)
    (found, zeros) = at(lambda: wg.gradients(v[np.array([1])], [v, other], unconnected_gradients="zero"))
    assert found.tolist() == [[0, 0], [1, 1], [0, 0]]
    assert not zeros.any()


# -- registered rules -------------------------------------------------------------------------------------------------


def test_registered_rules() -> None:
    """A rule is used, and differentiated again."""
    twice = identity_with(lambda op, dy: 2 * dy * op.inputs[0])
    assert gradient(twice, 3) == [6]
    assert at(lambda x: wg.gradients(wg.gradients(twice(x), x), x), 3) == [2]
    none = identity_with(lambda op, dy: None)
    assert gradient(lambda x: none(x * x), 3) == [None]
    assert gradient(lambda x: none(x) + x * x, 3) == [6]


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        (lambda op, dy: (dy, dy), ValueError),
        (lambda op, dy: wg.ones(5), ValueError),
        (lambda op, dy: "text", TypeError),
        (lambda op, dy: dy.astype("float32"), TypeError),  # decision 9
    ],
)
def test_wrong_results_of_rules(rule: Any, error: type[Exception]) -> None:
    op = identity_with(rule)
    with pytest.raises(error, match="identity_"):
        gradient(op, 3)


def test_a_failing_rule_adds_nothing() -> None:
    op = identity_with(lambda op, dy: 1 / 0)
    graph = wg.Graph()
    with graph.as_default():
        x = graph.add_input((), np.dtype(float), "x")
        y = wg.sin(op(x))
        before = graph.to_text()
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                wg.gradients(y, x)
        assert graph.to_text() == before
        assert graph.scope is None
        assert not STATE.is_quiet


def test_product_with_a_hessian() -> None:
    """v counts as a constant there."""
    a, v = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 0.0])

    def product(x: Any) -> Any:
        (g,) = wg.gradients(x @ a @ x, x)
        return wg.gradients(g, x, grad_ys=[v])

    assert at(product, [0.3, -2])[0].tolist() == [2, 5]


# -- kinks, ties and singular points ----------------------------------------------------------------------------------

NAN, INF = np.nan, np.inf
POINTS = [-1, 0, 4]
KINKS = [  # the case, and, in brackets, the decision behind its value
    ("abs at -1,0,4", wg.abs, POINTS, [-1, 0, 1]),
    ("relu at 0", wg.nn.relu, [0], [0]),
    ("maximum(x,0) at x=0 (half at a tie: decision 23)", lambda x: wg.maximum(x, 0.0), [0], [0.5]),
    ("maximum(x,0) at x=0, other order (decision 23)", lambda x: wg.maximum(0.0, x), [0], [0.5]),
    ("minimum(x,0) at 0 (half at a tie: decision 23)", lambda x: wg.minimum(x, 0.0), [0], [0.5]),
    ("reduce_max [3,3,1]", wg.max, [3, 3, 1], [0.5, 0.5, 0]),
    ("clip(x,-1,0) at -1,0,4", lambda x: wg.clip(x, -1, 0), POINTS, [1, 1, 0]),
    ("sqrt at -1,0,4", wg.sqrt, POINTS, [NAN, INF, 0.25]),
    ("where(x>0,sqrt(x),0) at -1,0,4", lambda x: wg.where(x > 0, wg.sqrt(x), 0.0), POINTS, [0, 0, 0.25]),
    (
        "where(x>0,log x,0) (stays zero: decision 24)",
        lambda x: wg.where(x > 0, wg.log(x), 0.0),
        POINTS,
        [0, 0, 0.25],
    ),
    ("where(x>0,1/x,0) (stays zero: decision 24)", lambda x: wg.where(x > 0, 1 / x, 0.0), POINTS, [0, 0, -0.0625]),
    ("where(x>0,x**.5,0) (stays zero: decision 24)", lambda x: wg.where(x > 0, x**0.5, 0.0), POINTS, [0, 0, 0.25]),
    (
        "where(x<0,asin 2x,0) at -1,0,4 (stays zero: decision 24)",
        lambda x: wg.where(x < 0, wg.arcsin(2 * x), 0.0),
        POINTS,
        [NAN, 0, 0],
    ),
    ("double-where fix", lambda x: wg.where(x > 0, wg.log(wg.where(x > 0, x, 1.0)), 0.0), [0, 4], [0, 0.25]),
    ("norm at 0 vector (zero: decision 23)", wg.linalg.norm, [0, 0], [0, 0]),
    ("pow 0**0 wrt base (zero: decision 25)", lambda x: x**0.0, [0], [0]),
    ("pow 0**0 wrt base, 0**2", lambda x: x**2.0, [0], [0]),
    ("x**x at 0 (zero: decision 25), at -1", lambda x: x**x, [0, -1, 2], [0, -1, 4 + 4 * np.log(2)]),
    ("divide_no_nan(1,x) at 0", lambda x: wg.ops.divide_no_nan(1.0, x), [0], [0]),
    ("xlogy(x,x) at -1,0,4", lambda x: wg.special.xlogy(x, x), POINTS, [NAN, 0, np.log(4) + 1]),
    ("reduce_prod [2,0,3] / [0,0,3]", wg.prod, [2, 0, 3], [0, 6, 0]),
    ("reduce_prod [2,0,3] / [0,0,3], second", wg.prod, [0, 0, 3], [0, 0, 0]),
    ("sign", wg.sign, POINTS, [0, 0, 0]),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("f", "x", "expected"), [row[1:] for row in KINKS], ids=[row[0] for row in KINKS])
def test_kinks(f: Any, x: Any, expected: Any) -> None:
    (found,) = gradient(f, x)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_ties_of_two_arguments() -> None:
    """`maximum(x,y) x=y`: decision 23 overrides [1, 0]."""
    for f in (wg.maximum, wg.minimum):
        np.testing.assert_array_equal(gradient(f, 2, 2), [0.5, 0.5])
