"""`associative_scan` against cumulative ops and `scan`: values, gradients, structures, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.testing import check_gradients

LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 13]


def row(n: int, *rest: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(n).uniform(0.5, 1.5, (n, *rest))


def affine(first: Any, second: Any) -> Any:
    """Composes x -> a x + b; associative, and not commutative."""
    return {"a": first["a"] * second["a"], "b": second["a"] * first["b"] + second["b"]}


@pytest.mark.parametrize("n", LENGTHS)
def test_sums_and_products_are_the_cumulative_ones(n: int) -> None:
    x = row(n, 3)
    # sums are added up in another order: a few units in the last place
    np.testing.assert_allclose(wg.associative_scan(lambda a, b: a + b, x), np.cumsum(x, 0), rtol=1e-14)
    np.testing.assert_allclose(wg.associative_scan(lambda a, b: a * b, x), np.cumprod(x, 0), rtol=1e-14)
    found = wg.associative_scan(lambda a, b: wg.maximum(a, b), x)
    np.testing.assert_array_equal(found, np.maximum.accumulate(x, 0) if n else x)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("reverse", [False, True])
def test_any_axis_both_ways(axis: int, reverse: bool) -> None:
    x = row(4, 5, 3)
    turned = np.flip(x, axis) if reverse else x
    wanted = np.cumsum(turned, axis)
    found = wg.associative_scan(lambda a, b: a + b, x, reverse=reverse, axis=axis)
    np.testing.assert_allclose(found, np.flip(wanted, axis) if reverse else wanted, rtol=1e-14)  # another order of sums


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("reverse", [False, True])
def test_what_does_not_commute_comes_in_order(n: int, reverse: bool) -> None:
    elems = {"a": row(n), "b": row(n) - 1}
    found = wg.associative_scan(affine, elems, reverse=reverse)
    if not n:
        assert found["a"].shape == found["b"].shape == (0,)
        return
    start = {"a": np.float64(1.0), "b": np.float64(0.0)}

    def step(carry: Any, x: Any) -> Any:
        after = affine(carry, x)
        return after, after

    _, wanted = wg.scan(step, start, elems, reverse=reverse)
    np.testing.assert_allclose(found["a"], wanted["a"], rtol=1e-13)  # products associate differently
    np.testing.assert_allclose(found["b"], wanted["b"], rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("is_traced", [False, True])
def test_gradients_of_first_and_second_order(n: int, is_traced: bool) -> None:
    a, b, w = row(n), row(n + 1)[:n], row(n + 2)[:n]

    def by_pairs(a: Any, b: Any) -> Any:
        return (wg.associative_scan(affine, {"a": a, "b": b})["b"] * w).sum()

    def by_steps(a: Any, b: Any) -> Any:
        value, total = 0.0, 0.0
        for i in range(n):
            value = a[i] * value + b[i]
            total = total + w[i] * value
        return total

    def first(f: Any) -> Any:
        return wg.grad(f, (0, 1), unconnected_gradients="zero")

    def second(f: Any) -> Any:
        return wg.grad(
            lambda a, b: sum((g * v).sum() for g, v in zip(first(f)(a, b), (w, w + 1), strict=True)), (0, 1),
            unconnected_gradients="zero",
        )  # fmt: skip

    pairs = wg.function(by_pairs) if is_traced else by_pairs
    for order in (first, second):
        for found, wanted in zip(order(pairs)(a, b), order(by_steps)(a, b), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)  # sums associate differently


def test_gradients_against_differences() -> None:
    check_gradients(lambda x: wg.associative_scan(lambda a, b: a * b, x, axis=1), row(2, 5))


def test_matrices_and_what_the_function_closes_over() -> None:
    m = row(6, 2, 2)
    products = wg.associative_scan(lambda a, b: b @ a, m)
    wanted = m[0]
    for i in range(1, 6):
        wanted = m[i] @ wanted
    np.testing.assert_allclose(products[-1], wanted, rtol=1e-13)  # products associate differently
    # tropical sums with a slope: fn(a, b) = a + s * b is associative only for s = 1, where its slope is asked for
    slope = wg.grad(lambda s: wg.associative_scan(lambda a, b: a + s * b, np.array([1.0, 2.0]))[-1])(1.0)
    assert slope == 2.0


def test_the_number_of_calls_grows_as_the_logarithm() -> None:
    counts = []
    for n in (8, 1024):
        calls: list[None] = []
        wg.associative_scan(lambda a, b, calls=calls: (calls.append(None), a + b)[1], np.ones(n))
        counts.append(len(calls))
    assert counts[0] <= 2 * 3 and counts[1] <= 2 * 10


def test_tensors_stay_tensors_and_dtypes_stay() -> None:
    found = wg.associative_scan(
        lambda a, b: (a[0] + b[0], a[1] & b[1]), (wg.tensor([1, 2, 3]), np.array([True, False, True]))
    )
    assert isinstance(found, tuple) and isinstance(found[0], wg.Tensor)
    assert found[0].numpy().tolist() == [1, 3, 6] and found[1].numpy().tolist() == [True, False, False]
    assert wg.associative_scan(lambda a, b: a + b, np.ones(3, np.float32)).dtype == np.float32


def test_errors() -> None:
    x = np.ones(4)
    with pytest.raises(TypeError, match="callable"):
        wg.associative_scan(3, x)
    with pytest.raises(TypeError, match="no array"):
        wg.associative_scan(lambda a, b: a, ())
    with pytest.raises(ValueError, match=r"elems\['a'\] has 4 elements along its axis, elems\['b'\] has 3"):
        wg.associative_scan(lambda a, b: a, {"a": x, "b": np.ones(3)})
    with pytest.raises(ValueError, match="axis 1 is out of bounds"):
        wg.associative_scan(lambda a, b: a + b, x, axis=1)
    with pytest.raises(TypeError, match="the structures differ"):
        wg.associative_scan(lambda a, b: (a, b), x)
    with pytest.raises(TypeError, match="differs in shape"):
        wg.associative_scan(lambda a, b: (a + b)[:1], x)
    with pytest.raises(TypeError, match="differs in dtype"):
        wg.associative_scan(lambda a, b: a < b, x)
    varying = wg.function(
        lambda x: wg.associative_scan(lambda a, b: a + b, x), input_signature=[wg.TensorSpec((None,))]
    )
    with pytest.raises(wg.TracingError, match="not known in this trace"):
        varying(x)
