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
