"""Largest elements, quantiles, segments, counts and distinct values: ties, NaN, empty segments, NumPy's values.

The hard points of sorting, segments and scattering in docs/semantics/hard_points.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import numpy as wnp
from wengert import ops

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def gradient(f, x):
    return np.asarray(wg.grad(f)(np.array(x, dtype=float)))


def test_top_k_takes_the_lowest_index_first():
    weights = np.array([1.0, 2.0])
    np.testing.assert_array_equal(gradient(lambda x: wg.sum(ops.top_k(x, 2)[0] * weights), [3, 3, 3, 1]), [1, 2, 0, 0])
    np.testing.assert_array_equal(gradient(lambda x: ops.top_k(x, 1)[0][0], [3, 3, 1]), [1, 0, 0])
    values, places = ops.top_k(np.array([[1.0, 5.0, 2.0], [7.0, 0.0, 7.0]]), 2)
    np.testing.assert_array_equal(values, [[5, 2], [7, 7]])
    np.testing.assert_array_equal(places, [[1, 2], [0, 2]])
    assert places.dtype == np.int32
    with pytest.raises(ValueError, match="top_k: 4 elements"):
        ops.top_k(np.ones(3), 4)


@pytest.mark.parametrize(("x", "want"), [
    ([1, 2, 2], [0, 1, 0]), ([2, 2, 2], [0, 1, 0]), ([3, 1, 2], [0, 0, 1]), ([4, 1, 3, 2], [0, 0, 0.5, 0.5]),
    ([1, 2, 2, 3], [0, 0.5, 0.5, 0]),
])  # fmt: skip
def test_median_picks_one_of_equal_elements(x, want):
    np.testing.assert_allclose(gradient(ops.median, x), want)
    np.testing.assert_allclose(gradient(np.median, x), want)


@pytest.mark.parametrize("made", [lambda f: f, wg.function], ids=["eager", "compiled"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_medians_beside_infinite_elements_are_those_of_numpy(dtype, made):
    """The way from a finite element to an infinite one has no middle, and two large ones have no sum in their dtype."""
    large = {"float64": 1.5e308, "float32": 3e38, "float16": 6e4}[dtype]
    for numbers in (
        [np.inf], [1, 2, np.inf], [-np.inf, 1, np.inf], [-np.inf, 1, 2, np.inf], [-np.inf, 3], [np.inf, np.inf],
        [-np.inf, np.inf], [large, -large], [large, large, large], [large, large] if dtype == "float16" else [large],
        [1, np.nan, np.inf],
    ):  # fmt: skip
        x = np.array(numbers, dtype)
        for ours, theirs in ((ops.median, np.median), (ops.nanmedian, np.nanmedian)):
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(made(ours)(x), theirs(x), strict=True)
        np.testing.assert_array_equal(made(lambda x: ops.nanmedian(x, axis=0))(x[:, None])[0], ops.nanmedian(x))
    np.testing.assert_array_equal(made(wg.grad(ops.median))(np.array([1, 2, np.inf], dtype)), [0, 1, 0])


@pytest.mark.parametrize(("q", "want"), [(0.5, [0, 1, 0]), (0, [1, 0, 0]), (1, [0, 0, 1]), (0.3, [0.4, 0.6, 0])])
def test_gradient_of_quantile(q, want):
    np.testing.assert_allclose(gradient(lambda x: ops.quantile(x, q), [1, 2, 3]), want, atol=1e-15)


def test_quantile_with_respect_to_q():
    np.testing.assert_allclose(wg.grad(lambda q: ops.quantile(np.array([1.0, 2, 4]), q))(0.3), 2)
    assert ops.quantile(np.array([1.0, 2, 3, 4]), 0.5, method="nearest") == 3


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("axis", [None, 0, (0, 2)])
def test_quantiles_are_numpys(axis, method):
    x = np.random.default_rng(0).normal(size=(4, 3, 5))
    q = np.array([[0.0, 0.31], [0.5, 1.0]])
    for keepdims in (False, True):
        want = np.quantile(x, q, axis=axis, method=method, keepdims=keepdims)
        np.testing.assert_allclose(ops.quantile(x, q, axis, method, keepdims), want)
        np.testing.assert_allclose(ops.percentile(x, q * 100, axis, method, keepdims), want)
    x[0, 0, 0] = np.nan
    np.testing.assert_allclose(ops.quantile(x, 0.2, axis, method), np.quantile(x, 0.2, axis=axis, method=method))
    with pytest.raises(ValueError, match="between 0 and 1"):
        ops.quantile(x, 1.5)


def test_places_are_numpys():
    rng = np.random.default_rng(1)
    a, v = np.sort(rng.integers(0, 6, 8)), rng.integers(-1, 8, (2, 5))
    for side in ("left", "right"):
        np.testing.assert_array_equal(ops.searchsorted(a, v, side), np.searchsorted(a, v, side))
    np.testing.assert_array_equal(ops.digitize(v, np.unique(a)), np.digitize(v, np.unique(a)))
    with pytest.raises(ValueError, match="side is 'middle'"):
        ops.searchsorted(a, v, "middle")


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_bins_are_numpys_whichever_way_they_go(dtype: str, right: bool) -> None:
    """Values on the edges among them; also bins that a trace makes."""
    rng = np.random.default_rng(2)
    for count in (0, 1, 2, 7):
        edges = np.sort(rng.normal(size=count) * 4).astype(dtype)
        x = np.concatenate([edges, (rng.normal(size=12) * 4).astype(dtype)])
        for bins in (edges, edges[::-1], edges[:1].repeat(3)):
            wanted = np.digitize(x, bins, right)
            np.testing.assert_array_equal(wnp.digitize(wg.tensor(x), wg.tensor(bins), right).numpy(), wanted)
            np.testing.assert_array_equal(wg.function(lambda x, b: wnp.digitize(x, b, right))(x, bins), wanted)


def test_bins_of_a_number_of_edges_that_is_open() -> None:
    spec = [wg.TensorSpec((None,), "float64")] * 2
    f = wg.function(wnp.digitize, input_signature=spec)
    for bins in ([1.0, 2.0, 4.0], [4.0, 1.0], [3.0]):
        x = np.array([0.0, 1.0, 2.5, 4.0, np.nan, np.inf])
        np.testing.assert_array_equal(f(x, np.array(bins)), np.digitize(x, bins))
    for made in (lambda: wnp.array([1.0, 2.0]), lambda: wnp.arange(2.0, 0.0, -1.0), lambda: wnp.linspace(1.0, 2.0, 2)):
        wanted = np.digitize([0.5, 1.0, 2.0], made())
        np.testing.assert_array_equal(wg.function(lambda x: wnp.digitize(x, made()))(np.array([0.5, 1.0, 2.0])), wanted)  # noqa: B023
    with pytest.raises(ValueError, match=r"bins have shape \(2, 2\)"):
        wnp.digitize(wg.tensor([1.0]), [[1.0, 2.0], [3.0, 4.0]])


def test_places_among_booleans() -> None:
    x = np.array([True, False, True])
    for side in ("left", "right"):
        f = wg.function(lambda x: wnp.searchsorted(wnp.sort(x), x, side=side))  # noqa: B023
        np.testing.assert_array_equal(f(x), np.searchsorted(np.sort(x), x, side=side))


@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0)])
def test_partitions_of_nothing_know_no_place_too_far(shape: tuple[int, ...]) -> None:
    for name in ("partition", "argpartition"):
        wanted = getattr(np, name)(np.zeros(shape), 5)
        for way in (lambda f: f, wg.function):
            found = way(lambda x: getattr(wnp, name)(x, 5))(wg.tensor(np.zeros(shape)))  # noqa: B023
            assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)


def test_segments_share_ties_and_are_exact_with_zeros():
    same = np.zeros(3, int)
    np.testing.assert_array_equal(gradient(lambda x: ops.segment_max(x, same, 1)[0], [1, 3, 3]), [0, 0.5, 0.5])
    np.testing.assert_array_equal(gradient(lambda x: ops.segment_prod(x, same, 1)[0], [0, 2, 3]), [6, 0, 0])
    np.testing.assert_allclose(gradient(lambda x: ops.segment_mean(x, [0, 0, 1], 3)[0], [1, 2, 5]), [0.5, 0.5, 0])


def test_empty_segments_and_unknown_ids():
    x, ids = np.array([1.0, 2.0, 5.0]), np.array([0, 2, 0])
    for name, want in (("sum", [6, 0, 2]), ("prod", [5, 1, 2]), ("max", [5, -np.inf, 2]), ("min", [1, np.inf, 2]),
                       ("mean", [3, 0, 2])):  # fmt: skip
        np.testing.assert_array_equal(getattr(ops, f"segment_{name}")(x, ids, 3), want)
    np.testing.assert_array_equal(ops.segment_sum(x, np.array([-1, 7, 1]), 2), [0, 5])
    np.testing.assert_array_equal(gradient(lambda x: wg.sum(ops.segment_sum(x, np.array([-1, 7, 1]), 2)), x), [0, 0, 1])
    np.testing.assert_array_equal(ops.segment_max(np.array([1, 2]), np.array([1, 1])), [np.iinfo(np.int64).min, 2])
    rows = ops.segment_sum(np.arange(6.0).reshape(3, 2), ids)
    np.testing.assert_array_equal(rows, [[4, 6], [0, 0], [2, 3]])
    with pytest.raises(TypeError, match="wanted integers"):
        ops.segment_sum(x, x)
    with pytest.raises(ValueError, match="segment_ids has shape"):
        ops.segment_sum(x, ids[:2])


def test_bincount():
    x = np.array([2, 0, 2])
    np.testing.assert_array_equal(ops.bincount(x, minlength=5), np.bincount(x, minlength=5))
    weights = np.array([1.0, 2.0, 4.0])
    np.testing.assert_array_equal(ops.bincount(x, weights), np.bincount(x, weights))
    got = gradient(lambda w: wg.sum(ops.bincount(x, w) * np.array([10.0, 20.0, 30.0])), weights)
    np.testing.assert_array_equal(got, [30, 10, 30])
    np.testing.assert_array_equal(ops.bincount(np.array([[0, 1], [1, 1]])), [[1, 1], [0, 2]])
    with pytest.raises(ValueError, match="not negative"):
        ops.bincount(np.array([-1]))


def test_unique():
    x = np.array([3.0, 1.0, 3.0, 2.0])
    for got, want in zip(
        ops.unique(x, return_inverse=True, return_counts=True),
        np.unique(x, return_inverse=True, return_counts=True),
        strict=True,
    ):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(ops.unique(x, size=5, fill_value=-1), [1, 2, 3, -1, -1])
    np.testing.assert_array_equal(gradient(lambda x: ops.unique(x)[2], x), [1, 0, 0, 0])
    rows = np.array([[1, 2], [0, 5], [1, 2]])
    np.testing.assert_array_equal(ops.unique(rows, axis=0), np.unique(rows, axis=0))
    with pytest.raises(wg.TracingError):
        wg.function(ops.unique)(x)


def test_in_top_k():
    rows = np.array([[0.1, 0.9, 0.9], [0.3, 0.2, np.nan]])
    np.testing.assert_array_equal(ops.in_top_k(np.array([2, 2]), rows, 1), [True, False])


def test_in_traces():
    x = np.random.default_rng(2).normal(size=7)

    def f(x):
        return ops.median(x) + wg.sum(ops.top_k(x, 3)[0] ** 2) + ops.quantile(x, 0.3)

    compiled = wg.function(f)
    np.testing.assert_allclose(compiled(x), f(x))
    np.testing.assert_allclose(np.asarray(wg.grad(compiled)(x)), gradient(f, x))


def test_interp_is_numpys():
    rng = np.random.default_rng(3)
    x, xp, fp = rng.uniform(-1, 5, 20), np.sort(rng.uniform(0, 4, 6)), rng.normal(size=6)
    np.testing.assert_allclose(wg.interp(x, xp, fp), np.interp(x, xp, fp))
    np.testing.assert_allclose(wg.interp(x, xp, fp, -7, 8), np.interp(x, xp, fp, -7, 8))
    np.testing.assert_allclose(wg.interp(x, xp, fp, period=3), np.interp(x, xp, fp, period=3))
    wg.check_gradients(lambda x, xp, fp: wg.sum(np.interp(x, xp, fp) ** 2), x, xp, fp)
    np.testing.assert_array_equal(gradient(lambda x: wg.interp(x, [0.0, 1.0, 2.0], [0.0, 1.0, 4.0]), 1.0), 3)


@pytest.mark.parametrize("period", [7, 7.5, 0.1, -3.0, 360])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex64"])
def test_interp_within_a_period_is_numpys_rounded(dtype: str, period: float) -> None:
    """Places in few bits, many periods away: they are reduced in doubles, as NumPy's are."""
    rng = np.random.default_rng(3)
    real = "float32" if dtype == "complex64" else dtype
    x, xp, fp = (rng.normal(size=n).astype(t) for n, t in ((50, real), (12, real), (12, dtype)))
    x, xp = x * x.dtype.type(30), xp * xp.dtype.type(10)
    for f in (wnp.interp, wg.function(lambda *a, period: wnp.interp(*a, period=period))):
        got = np.asarray(f(x, xp, fp, period=period))
        assert got.dtype == dtype
        np.testing.assert_allclose(got, np.interp(x, xp, fp, period=period), rtol=2 * np.finfo(dtype).eps, atol=1e-7)


def test_interp_refuses_a_period_of_zero() -> None:
    with pytest.raises(ValueError, match="the period is 0"):
        wnp.interp(1.0, [0.0, 1.0], [0.0, 1.0], period=0)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("period", [None, 2.5])
@pytest.mark.parametrize(
    "values",
    [
        [0, np.inf, 1, 2], [1, np.nan, 2, 3], [np.inf, np.inf, 1, 2], [-np.inf, np.inf, 0, 0],
        [np.inf, -np.inf, np.inf, np.nan],
    ],
)  # fmt: skip
def test_interp_beside_infinite_values_is_numpys(values: Any, period: Any, dtype: str) -> None:
    """A point has its value, and between an infinite one and a number is what the other end tells."""
    x = np.array([-np.inf, -1, -0.0, 0, 0.5, 1, 1.5, 2, 2.25, 3, 5, np.inf, np.nan], dtype)
    for places in ([0, 1, 2, 3], [-np.inf, 0, 1, np.inf], [0, 1, 1, 2], [5, 5, 5, 5]):
        places = np.array(places, dtype)
        if period and (np.isinf(places).any() or len(set(places % period)) < 4):
            continue  # NumPy's order of equal places is not told
        fp = np.array(values, dtype)
        for f in (wnp.interp, wg.function(lambda *a, period: wnp.interp(*a, period=period))):
            np.testing.assert_array_equal(f(x, places, fp, period=period), np.interp(x, places, fp, period=period))


def test_numpys_functions_are_recorded():
    x = [3.0, 1.0, 2.0]
    np.testing.assert_array_equal(gradient(lambda x: np.quantile(x, 0.5) + np.percentile(x, 0), x), [0, 1, 1])
    np.testing.assert_array_equal(gradient(lambda x: np.unique(x)[0], x), [0, 1, 0])
    np.testing.assert_array_equal(gradient(lambda x: np.bincount([0, 0, 1], weights=x)[0], x), [1, 1, 0])


@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile"])
@pytest.mark.parametrize("share", [1.5, -0.1, np.nan, [0.5, 2.0], np.float64(1.01)], ids=repr)
def test_shares_beyond_0_and_1_are_refused_in_traces_too(wrap: Any, name: str, share: Any) -> None:
    most = 100 if "percent" in name else 1
    scaled = (np.array(share) * most).tolist()
    for function in (getattr(ops, name), getattr(wg.numpy, name)):
        with pytest.raises(ValueError, match=f"{name}: q must lie between 0 and {most}"):
            wrap(lambda x, function=function: function(x, scaled))(np.arange(3.0))


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile"])
def test_shares_beyond_0_and_1_that_a_trace_does_not_know_give_nan(name: str) -> None:
    x, shares = np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 4.0]]), np.array([0.5, 1.5, 1.0, -0.1, np.nan])
    f = wg.function(lambda x, q: getattr(ops, name)(x, q, axis=0))
    found = f(x, shares * (100 if "percent" in name else 1))
    np.testing.assert_allclose(found, [[2.0, 2.0], [np.nan] * 2, [3.0, 4.0], [np.nan] * 2, [np.nan] * 2])


@pytest.mark.parametrize("wrap", [lambda f: f, wg.function], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cumulative_sum", "cumulative_prod"])
def test_running_sums_of_truth_values(wrap: Any, name: str) -> None:
    for x in (np.array([[0.0, 2.0, 0.0], [1.0, 0.5, 0.0]]), np.array([[True, False], [True, True]])):
        found = wrap(lambda x: getattr(wg.numpy, name)(x, axis=1, dtype=bool))(x)
        np.testing.assert_array_equal(found, getattr(np, name)(x, axis=1, dtype=bool), strict=True)


@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_the_median_of_no_elements_is_nan_where_a_trace_does_not_know_how_many_there_are(name, axis):
    def f(x):
        return getattr(wg.numpy, name)(x, axis=axis)

    spec = wg.TensorSpec((None, 2), "float64")
    compiled = wg.function(f, input_signature=[spec])
    slope = wg.grad(lambda x: wg.sum(f(x)))
    compiled_slope = wg.function(slope, input_signature=[spec])
    for rows in (0, 1, 2, 5):
        x = np.random.default_rng(rows).normal(size=(rows, 2))
        wanted = np.full(np.shape(f(x)), np.nan) if not rows else np.median(x, axis=axis)
        np.testing.assert_allclose(f(x), wanted)
        np.testing.assert_allclose(compiled(x), wanted)
        assert slope(x).shape == x.shape
        np.testing.assert_allclose(compiled_slope(x), slope(x))
