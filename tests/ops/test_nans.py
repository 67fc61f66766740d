"""Reductions that leave NaN out, and the binary form of floats, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import ops

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # slices of nothing but NaN are visited on purpose
NAN = np.nan
X = np.array([[3.0, NAN, 1.0, 1.0], [NAN, NAN, NAN, NAN], [2.0, -1.0, NAN, 5.0]])
REDUCTIONS = ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nanmedian"]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_values_are_numpys(name, axis, keepdims):
    want = getattr(np, name)(X, axis=axis, keepdims=keepdims)
    for f in (getattr(ops, name), getattr(wg.numpy, name)):
        np.testing.assert_allclose(f(X, axis=axis, keepdims=keepdims), want, rtol=1e-14)


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("q", [0.0, 0.3, 0.5, 1.0, [0.1, 0.5]])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_quantiles_are_numpys(method, q, axis):
    want = np.nanquantile(X, q, axis=axis, method=method)
    np.testing.assert_allclose(ops.nanquantile(X, q, axis, method), want, rtol=1e-14)
    np.testing.assert_allclose(wg.numpy.nanquantile(X, q, axis, method=method), want, rtol=1e-14)
    np.testing.assert_allclose(ops.nanpercentile(X, np.multiply(q, 100), axis, method), want, rtol=1e-13)


def test_running_and_places_are_numpys():
    for axis in (None, 0, 1):
        np.testing.assert_array_equal(ops.nancumsum(X, axis), np.nancumsum(X, axis))
        np.testing.assert_array_equal(ops.nancumprod(X, axis), np.nancumprod(X, axis))
    for name in ("nanargmax", "nanargmin"):
        np.testing.assert_array_equal(getattr(ops, name)(X[::2], 1), getattr(np, name)(X[::2], 1))
        assert getattr(wg.numpy, name)(X) == getattr(np, name)(X)
        for f in (getattr(ops, name), getattr(wg.numpy, name), wg.function(getattr(ops, name))):
            with pytest.raises(ValueError, match="all elements of a slice are NaN"):
                f(X, axis=1)
            np.testing.assert_array_equal(f(X[::2], axis=1), getattr(np, name)(X[::2], 1))


@pytest.mark.parametrize("name", [*REDUCTIONS, "nancumsum", "nancumprod"])
def test_gradients_are_those_of_what_is_left(name):
    row = np.array([3.0, NAN, 1.5, -2.0])
    kept = ~np.isnan(row)
    weights = np.arange(1.0, 5.0)
    f, plain = getattr(ops, name), getattr(ops, name[3:])
    got = np.asarray(wg.grad(lambda x: wg.sum(f(x) * (weights if "cum" in name else 2.0)))(row))
    # the running values at a place left out repeat those before it
    shared = np.array([3.0, 3.0, 4.0]) if "cum" in name else 2.0
    want = wg.grad(lambda x: wg.sum(plain(x) * shared))(row[kept])
    np.testing.assert_allclose(got[kept], want, rtol=1e-14)
    assert got[1] == 0


def test_all_nan_slices_have_gradient_zero():
    for name in ("nanmax", "nanmin", "nansum"):
        gradient = np.asarray(wg.grad(lambda x, name=name: wg.sum(ops.nansum(getattr(ops, name)(x, axis=1))))(X))
        assert (gradient[1] == 0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_binary_form_is_numpys(dtype):
    info = np.finfo(dtype)
    x = np.array([0.0, -0.0, 1.0, -1.5, 6.0, np.inf, -np.inf, NAN, info.max, info.tiny, info.smallest_subnormal], dtype)
    mantissa, exponent = ops.frexp(x)
    for got, want in zip((mantissa, exponent), np.frexp(x)):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype
    for n in (-3, 0, 5, 2000, -(2**40)):
        with np.errstate(over="ignore", under="ignore"):
            np.testing.assert_array_equal(ops.ldexp(x, n), np.ldexp(x, np.clip(n, -5000, 5000)))
    y = np.array([1, -1, 0, NAN, 7, 0, 0, 1, np.inf, 0, -1], dtype)
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_array_equal(ops.nextafter(x, y), np.nextafter(x, y))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_compiled_exponents_and_powers_of_two_are_numpys_to_the_bit(dtype):
    """Of numbers of any bits, half of them subnormal, and of exponents far beyond what fits."""
    info, rng, count = np.finfo(dtype), np.random.default_rng(0), 50_000
    whole = np.dtype(f"u{info.bits // 8}")
    bits = rng.integers(0, np.iinfo(whole).max, count, dtype=whole, endpoint=True)
    bits[::2] >>= whole.type(info.bits - info.nmant)
    x = bits.view(dtype)
    x[:8] = [0, -0.0, np.inf, -np.inf, NAN, info.max, info.tiny, info.smallest_subnormal]
    n = rng.integers(-2300, 2300, count).astype(np.int32)
    n[::3] = rng.integers(-200, 200, len(n[::3]))
    n[1::7] = rng.choice([-(2**31), 2**31 - 1, -1074, -1022, -1023, 1023, 1024, 2046, -2100], len(n[1::7]))
    with np.errstate(all="ignore"):
        want, got = np.ldexp(x, n), np.asarray(wg.function(ops.ldexp)(x, n))
        np.testing.assert_array_equal(got, want)
        numbers = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers])
        for one, other in zip(wg.function(ops.frexp)(x), np.frexp(x), strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype


def test_binary_form_is_differentiated():
    assert wg.grad(lambda x: ops.ldexp(x, 3) ** 2)(1.5) == 2 * 64 * 1.5
    assert wg.grad(lambda x: ops.frexp(x)[0])(6.0) == 0.125
    assert wg.grad(ops.nextafter, argnums=(0, 1))(1.0, 2.0) == (1.0, 0.0)
    with pytest.raises(TypeError, match="integers"):
        ops.ldexp(1.0, 2.0)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_quantiles_of_nothing_are_nan(shape):
    x, unknown = np.zeros(shape), (wg.TensorSpec((None,) * len(shape)),)
    for axis in (None, -1):
        for name, given in (("nanmedian", ()), ("nanquantile", (0.3,))):
            wanted = getattr(np, name)(x, *given, axis=axis)

            def f(x, name=name, given=given, axis=axis):
                return getattr(ops, name)(x, *given, axis=axis)

            for found in (f(x), wg.function(f)(x), wg.function(f, input_signature=unknown)(x)):
                np.testing.assert_array_equal(found, wanted)
        several = ops.nanquantile(x, np.array([0.3, 0.5]), axis=axis)
        np.testing.assert_array_equal(several, np.stack([np.nanquantile(x, q, axis=axis) for q in (0.3, 0.5)]))


@pytest.mark.parametrize("kept", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", ["median", "nanmedian", "quantile", "nanquantile"])
@pytest.mark.parametrize("count", [5_001, 60_000, 70_000])
def test_quantiles_of_many_half_floats(count: int, name: str, kept: bool) -> None:
    """The places were computed in half floats, which hold no odd number above 2,048 and none above 65,504."""
    x = np.random.default_rng(count).normal(size=count).astype(np.float16)
    arguments = () if name.endswith("median") else (0.25,)
    f = lambda x: getattr(wg.ops, name)(x, *arguments)
    found = (wg.function(f) if kept else f)(wg.tensor(x))
    exact = getattr(np, name)(x.astype(np.float64), *arguments)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found.numpy(), exact, rtol=2**-10)
