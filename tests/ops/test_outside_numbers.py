"""Python's integers beside arrays of integers that do not hold them: NumPy's answers, or its refusal."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

DTYPES = ("uint8", "int8", "int16", "uint64")
NUMBERS = (-1, -129, 300, 2**31, 2**63, -(2**63), 2**70)
CALLS = {
    "less": lambda a, k: (a < k, k < a, np.less(a, k)),
    "less_equal": lambda a, k: (a <= k, k <= a),
    "greater": lambda a, k: (a > k, k > a),
    "greater_equal": lambda a, k: (a >= k, k >= a),
    "equal": lambda a, k: (a == k, np.equal(k, a)),
    "not_equal": lambda a, k: (a != k, np.not_equal(k, a)),
    "divide": lambda a, k: (a / k, k / (a + 1)),
    "hypot": np.hypot,
    "arctan2": lambda a, k: np.arctan2(k, a),
    "copysign": np.copysign,
    "heaviside": np.heaviside,
    "logaddexp": np.logaddexp,
    "isclose": np.isclose,
    "where": lambda a, k: (np.where(a > 1, a, k), np.where(a > 1, k, a)),
    "clip": lambda a, k: np.clip(a, k, None),
    "clip above": lambda a, k: np.clip(a, None, k),
    "clip between": lambda a, k: np.clip(a, -(2**70), k),
    "method clip": lambda a, k: a.clip(k, 100),
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "mod": lambda a, k: a % k,
    "sum from": lambda a, k: np.sum(a, initial=k),
    "product from": lambda a, k: np.prod(a, initial=k),
    "largest from": lambda a, k: np.max(a, initial=k),
    "smallest from": lambda a, k: np.min(a, initial=k, where=a > 1),
    "insert": lambda a, k: np.insert(a, 1, k),
    "hstack": lambda a, k: np.hstack([a, k]),
    "outer": np.multiply.outer,
    "searchsorted": np.searchsorted,
    "isin": np.isin,
    "digitize": lambda a, k: np.digitize(k, a),
    "pad": lambda a, k: np.pad(a, 1, constant_values=k),
}
NOT_OURS = "hstack", "outer", "searchsorted", "isin", "digitize"  # NumPy makes objects of numbers beyond 64 bits there


def _answer(f, *args):
    with np.errstate(all="ignore"):
        try:
            found = f(*args)
        except OverflowError:
            return "refused"
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


def _agree(found, wanted, k):
    assert (found == "refused") == (wanted == "refused"), (k, found, wanted)
    if wanted != "refused":
        for x, y in zip(found, wanted, strict=True):
            assert x.dtype == y.dtype, k
            rounding = 4 * np.finfo(y.dtype).eps if y.dtype.kind == "f" else 0
            np.testing.assert_allclose(x, y, rtol=rounding, atol=0, err_msg=f"{k}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_answers_are_numpys(name, dtype):
    f, a = CALLS[name], np.arange(4).astype(dtype)
    numbers = [k for k in NUMBERS if abs(k) <= 2**64 or name not in NOT_OURS]
    wanted = {k: _answer(f, a, k) for k in numbers}
    for k in numbers:
        _agree(_answer(f, wg.tensor(a), k), wanted[k], k)
    answered = [k for k in numbers if wanted[k] != "refused"]
    with np.errstate(all="ignore"):
        compiled = wg.function(lambda x: [f(x, k) for k in answered])(a)
    for k, found in zip(answered, compiled, strict=True):
        _agree(_answer(lambda found=found: found), wanted[k], k)
    for k in (*numbers,)[:1]:
        _agree(_answer(wg.function(lambda x, k=k: f(x, k)), a), wanted[k], k)


def _copied(a, k):
    b = a * 1
    np.copyto(b, k)
    return b


IN_FLOATS = {
    "select, default": lambda a, k: np.select([a > 1], [a], k),
    "nan_to_num": lambda a, k: np.nan_to_num(a / a, nan=k, posinf=k, neginf=-k),
    "float_power": lambda a, k: (np.float_power(a, k), np.float_power(abs(k), a)),
    "where": lambda a, k: (np.where(a > 1, a, k), np.where(a > 1, k, 1.5), np.where(a > 1, 2j, k)),
    "copyto": _copied,
    "linspace": lambda a, k: np.linspace(a, k, 3),
    "gradient": lambda a, k: np.gradient(a, k),
    "allclose": np.allclose,
    "array_equal": np.array_equal,
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("name", IN_FLOATS)
@pytest.mark.parametrize("k", [2**63, 2**64, -(2**63) - 1, 2**70], ids=str)
def test_beside_floats_integers_of_any_size_are_floats(name, dtype, k):
    if name == "float_power" and dtype == "complex128":
        pytest.skip("NumPy's powers of complex numbers this large are NaN by the C library's choice")
    f, a = IN_FLOATS[name], np.arange(4).astype(dtype)
    wanted = _answer(f, a, k)
    _agree(_answer(f, wg.tensor(a), k), wanted, k)
    _agree(_answer(wg.function(lambda x: f(x, k)), a), wanted, k)


CHOICES = {
    "a float": lambda a: ([a, 3.5], 0),
    "an int": lambda a: ([a, 3], 0),
    "complex": lambda a: ([a, 3.5], 1j),
    "a bool": lambda a: ([a, True], 0),
    "numbers first": lambda a: ([3.5, a], 0),
    "numbers alone": lambda a: ([3, 3.5], 0),
    "an array as the default": lambda a: ([3, 4], a),
    "NumPy's number": lambda a: ([a, np.float64(2)], 0),
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", CHOICES)
def test_choices_meet_in_one_dtype_all_at_once(name, dtype):
    a = np.arange(3).astype(dtype)
    f = lambda a: np.select([a.real > 1, a.real > 0], *CHOICES[name](a))
    wanted = _answer(f, a)
    _agree(_answer(f, wg.tensor(a)), wanted, name)
    _agree(_answer(wg.function(f), a), wanted, name)


@pytest.mark.parametrize("k", [3, 300, 2.5, True, 1j], ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "complex64"])
def test_contractions_make_arrays_of_numbers_first(dtype, k):
    a = np.arange(3).astype(dtype)
    for f in (
        lambda a: np.einsum("i,->i", a, k),
        lambda a: np.tensordot(k, a, 0),
        lambda a: (np.vdot(a[1], k), np.vdot(k, a[2])),
    ):
        _agree(_answer(f, wg.tensor(a)), _answer(f, a), k)
        _agree(_answer(wg.function(f), a), _answer(f, a), k)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_fractions_have_the_sign_of_the_number_and_are_zero_of_infinities(dtype):
    a = np.array([1.5, -2.0, np.inf, -np.inf, 0.0, -0.0, np.nan, -0.25, 3.0], dtype)
    for run in (lambda f: f(wg.tensor(a)), lambda f: wg.function(f)(a)):
        with np.errstate(all="raise"):
            parts = run(np.modf)
        for found, wanted in zip(parts, np.modf(a), strict=True):
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(np.signbit(np.asarray(found))[a == a], np.signbit(wanted)[a == a])
    np.testing.assert_array_equal(wg.grad(lambda x: np.modf(x)[0].sum())(a[[0, 1, 4, 7]]), 1)


@pytest.mark.parametrize("name", ["hypot", "arctan2", "logaddexp", "logaddexp2", "copysign", "nextafter", "heaviside"])
def test_floats_of_two_integers_are_no_wider_than_numpys(name):
    f, dtypes = getattr(np, name), ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "int64")
    pairs = [(np.array([1, 0, 1], d), np.array([1, 1, 0], e)) for d in dtypes for e in dtypes]
    found = wg.function(lambda pairs: [f(a, b) for a, b in pairs])(pairs)
    for (a, b), compiled in zip(pairs, found, strict=True):
        wanted = f(a, b)
        assert wanted.dtype == f(wg.tensor(a), wg.tensor(b)).dtype == compiled.dtype, (a.dtype, b.dtype)
        np.testing.assert_allclose(compiled, wanted, rtol=4 * np.finfo(wanted.dtype).eps)


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_what_a_dtype_cannot_hold_is_refused_as_by_numpy(dtype):
    a = np.arange(3).astype(dtype)
    for f in (
        lambda a: np.insert(a, 1, 1j),
        lambda a: np.sum(a, initial=1j),
        lambda a: np.max(a, initial=1j),
        lambda a: np.nan_to_num(a / a, nan=1j),
        lambda a: np.ediff1d(a, to_end=1j),
        lambda a: np.ediff1d(a.astype(np.uint8), to_begin=2.5),
        lambda a: np.ediff1d(a.astype(np.uint8), to_begin=3),
    ):
        for call, x in ((f, a), (f, wg.tensor(a)), (wg.function(f), a)):
            with pytest.raises(TypeError), np.errstate(all="ignore"):
                call(x)
    np.testing.assert_array_equal(np.ediff1d(wg.tensor(a), to_end=a[:1]), np.ediff1d(a, to_end=a[:1]))


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize(
    "spacing", [np.uint8(2), np.uint8(200), np.array(2, np.uint64), np.array([9, 5, 7, 1], np.uint8)], ids=repr
)
def test_spacings_without_a_sign_are_subtracted_as_floats(spacing, edge_order):
    for dtype in (np.float32, np.float64, np.int64):
        a = (np.arange(4) ** 2).astype(dtype)
        f = lambda a: np.gradient(a, spacing, edge_order=edge_order)
        for found in (f(wg.tensor(a)), wg.function(f)(a)):
            np.testing.assert_allclose(found, f(a), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_quantiles_that_leave_nan_out_are_of_doubles(dtype):
    a = np.array([1, 100, 101], dtype)
    for f in (lambda a: np.nanquantile(a, 0.7), lambda a: np.nanpercentile(a, [3, 70.5])):
        _agree(_answer(f, wg.tensor(a)), _answer(f, a), dtype)
        _agree(_answer(wg.function(f), a), _answer(f, a), dtype)


def test_a_reduction_starts_from_true_as_from_one():
    a = np.arange(3)
    assert np.sum(wg.tensor(a), initial=True) == np.sum(a, initial=True) == 4


def test_numbers_get_axes_as_arrays_of_their_own_dtype():
    x = np.ones(2, np.float32)
    for f in (lambda x: np.hstack([x, 1e300]), lambda x: np.stack([x[0], 1e300]), lambda x: np.add.outer(x, 1e300)):
        assert np.asarray(f(wg.tensor(x))).dtype == f(x).dtype == np.float64


def test_interpolation_in_integers_is_in_double_precision():
    x = np.array([0, 200], np.uint8)
    assert np.interp(0.333, wg.tensor(x), x) == np.interp(0.333, x, x)
