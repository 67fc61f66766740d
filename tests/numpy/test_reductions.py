"""Reductions and accumulations against NumPy's: every dtype= argument, axes of numbers and of empty arrays."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

ARRAYS = {
    "a number": np.array(3),
    "a float": np.array(2.5),
    "integers": np.array([100, 100, 27], np.int8),
    "floats": np.array([[1.5, -2.0, 3.25], [0.0, 4.0, 5.5]]),
    "float32": np.array([1.5, 2.5], np.float32),
    "booleans": np.array([True, False, True]),
    "nothing": np.zeros((3, 0)),
    "no integers": np.zeros(0, np.int32),
}
ACCUMULATED = ["cumsum", "cumprod", "cumulative_sum", "cumulative_prod", "nancumsum", "nancumprod"]
WITH_DTYPE = ["sum", "prod", "mean", "var", "std", "nansum", "nanprod", "trace", *ACCUMULATED]
OTHERS = ["max", "min", "any", "all", "argmax", "argmin", "ptp", "count_nonzero"]
DTYPES = [None, int, float, bool, "int8", "uint8", "int32", "uint64", "float32", "float64"]
AXES = [None, 0, -1, 1, ()]


def outcome(f, x, kwargs):
    """The result as an array, or the class of the exception."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return np.asarray(f(x, **kwargs))
        except Exception as error:
            return next(kind for kind in (IndexError, ValueError, TypeError, Exception) if isinstance(error, kind))


def disagreements(name, cases):
    for (label, x), kwargs in cases:
        wanted = outcome(getattr(np, name), x, kwargs)
        for given in (x, wg.tensor(x)):
            found = outcome(getattr(wnp, name), given, kwargs)
            if isinstance(wanted, type) or isinstance(found, type):
                # TypeError: NumPy's own steps (booleans subtracted, floats put into integers) do not fit the dtype
                if wanted is not TypeError and isinstance(wanted, type) != isinstance(found, type):
                    yield label, kwargs, wanted, found
            elif (wanted.shape, wanted.dtype) != (found.shape, found.dtype):
                yield label, kwargs, (wanted.shape, wanted.dtype), (found.shape, found.dtype)
            elif not np.allclose(wanted, found, rtol=1e-6, equal_nan=True):
                yield label, kwargs, wanted, found


@pytest.mark.parametrize("name", WITH_DTYPE)
def test_dtypes_and_axes_are_numpys(name):
    axes = [{}] if name == "trace" else [{"axis": axis} for axis in AXES]
    arrays = {k: x for k, x in ARRAYS.items() if x.ndim == 2} if name == "trace" else ARRAYS
    cases = [(item, axis | {"dtype": d}) for item, axis, d in itertools.product(arrays.items(), axes, DTYPES)]
    assert not [*disagreements(name, cases)]


@pytest.mark.parametrize("name", OTHERS)
def test_axes_are_numpys(name):
    assert not [*disagreements(name, itertools.product(ARRAYS.items(), [{"axis": axis} for axis in AXES]))]


def test_gradients_of_numbers_along_an_axis():
    for f in (lambda x: wg.sum(x, axis=0), lambda x: wg.cumsum(x, axis=-1)[0], lambda x: wnp.max(x, axis=0)):
        assert wg.grad(lambda x, f=f: f(x) * 3)(2.0) == 3
        assert wg.function(f)(2.0) == 2


METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
)  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("q", [0.3, [0.3, 0.6]])
def test_booleans_have_the_quantiles_that_numpy_gives_them(q, method):
    """Those that are elements; there is nothing between two of them."""
    x = np.array([True, False, True, True, False])
    compiled = wg.function(lambda x: np.quantile(x, q, method=method))
    try:
        expected = np.quantile(x, q, method=method)
    except TypeError:
        for f in (lambda x: wnp.quantile(x, q, method=method), compiled):
            with pytest.raises(TypeError, match="of booleans, method must be one of"):
                f(x)
    else:
        np.testing.assert_array_equal(wnp.quantile(x, q, method=method), expected)
        np.testing.assert_array_equal(compiled(x), expected)


@pytest.mark.parametrize("name", ["percentile", "nanpercentile"])
@pytest.mark.parametrize("q", [150, -1, [50, 101]])
def test_percentiles_name_their_range(name, q):
    for f in (getattr(wnp, name), getattr(wg.ops, name)):
        with pytest.raises(ValueError, match=f"{name}: q must lie between 0 and 100"):
            f(np.arange(3.0), q)
    with pytest.raises(ValueError, match="q must lie between 0 and 1"):
        wnp.quantile(np.arange(3.0), 1.5)


@pytest.mark.parametrize(("shape", "of"), [((3, 0), (3, 2)), ((0,), (3, 2)), ((0, 2), (3, 2)), ((3, 0), (3, 0))])
def test_masks_without_elements_choose_none(shape, of):
    x, mask = np.ones(of), np.zeros(shape, bool)
    for found in (wg.tensor(x)[mask], wg.function(lambda x: x[mask])(x)):
        assert np.shape(found) == x[mask].shape
    np.testing.assert_array_equal(wg.grad(lambda x: wg.sum(x[mask]))(x), np.zeros(of))


def test_no_differences_are_the_array_itself():
    x, p = np.array([1.0, 3.0]), np.array([9.0])
    np.testing.assert_array_equal(wnp.diff(x, 0, prepend=p, append=p), np.diff(x, 0, prepend=p, append=p))
    np.testing.assert_array_equal(wnp.diff(x, 1, prepend=p), np.diff(x, 1, prepend=p))


def test_dlpack_without_a_version_shares():
    x = wg.tensor(np.arange(3.0))
    assert "dltensor" in repr(x.__dlpack__(copy=False))


@pytest.mark.parametrize("std", [wnp.std, wnp.nanstd])
def test_a_deviation_about_a_known_mean_has_gradient_zero_where_all_elements_are_equal(std) -> None:
    equal = np.ones(3)
    np.testing.assert_array_equal(wg.grad(lambda x: std(x, mean=wnp.mean(x, keepdims=True)))(equal), np.zeros(3))
    np.testing.assert_allclose(std(np.array([1.0, 2.0, 6.0]), mean=2.0), np.std([1.0, 2.0, 6.0], mean=2.0), rtol=1e-15)
