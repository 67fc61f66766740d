"""`ufunc.at` of every ufunc of NumPy's with one result, on tensors: NumPy's values, and gradients by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from tests.support.slopes import check

UFUNCS = sorted(
    {f.__name__ for f in vars(np).values() if isinstance(f, np.ufunc) and f.nout == 1 and f.signature is None}
)
FLOATS = (np.array([0.3, 0.6, 0.9, 0.5]), np.array([0.5, 0.7, 0.2]))
INTEGERS = (np.array([3, 6, 9, 5]), np.array([2, 3, 1]))
INDICES = ([0, 1, 0], [0, 1, 2], [2, 2, 2], np.array([True, False, True, True]))
SMOOTH = (
    "add", "subtract", "multiply", "divide", "power", "hypot", "arctan2", "logaddexp", "float_power", "maximum", "fmin",
    "exp", "sin", "square", "sqrt", "negative", "tanh", "reciprocal",
)  # fmt: skip


def _ufunc(name: str) -> Any:
    return next(f for f in vars(np).values() if isinstance(f, np.ufunc) and f.__name__ == name)


@pytest.mark.parametrize("name", UFUNCS)
def test_at_writes_what_numpy_writes(name: str) -> None:
    ufunc = _ufunc(name)
    for first, second in (FLOATS, INTEGERS):
        for index in INDICES:
            expected = first.copy()
            rest = (second,) if ufunc.nin == 2 else ()
            try:
                ufunc.at(expected, index, *rest)
            except TypeError:
                continue  # not of this dtype
            if name == "reciprocal" and expected.dtype.kind == "i":  # of 0 it is what the processor makes of infinity
                expected[np.abs(expected.astype(float)) > 2**62] = 0  # as ours
            found = wnp.array(first)
            ufunc.at(found, index, *rest)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14)


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_of_at_are_those_of_differences(name: str) -> None:
    ufunc = _ufunc(name)

    def program(np_like: Any, x: Any, y: Any) -> Any:
        a = x * 1.0
        ufunc.at(a, [0, 1, 0], *((y,) if ufunc.nin == 2 else ()))
        ufunc.at(a[1:], [0, 2], *((y[0] + 1.0,) if ufunc.nin == 2 else ()))
        return a * a + y[0]

    check(lambda x, y: program(wnp, x, y), *FLOATS, plain=lambda x, y: program(np, x, y))
    compiled = wg.function(lambda x, y: program(wnp, x, y))(*FLOATS)
    np.testing.assert_allclose(compiled, program(np, *FLOATS), rtol=1e-12)


def test_at_of_a_matrix_by_several_indices() -> None:
    expected: Any = np.ones((2, 3))
    found: Any = wnp.ones((2, 3))
    rows: Any = (slice(None), [0, 0])
    block: Any = (np.array([0, 0, 1]), 1)
    whole: Any = ...
    for a in (expected, found):
        np.power.at(a, block, 3.0)
        np.hypot.at(a, rows, 2.0)
        np.logaddexp.at(a, whole, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14)


def test_folds_that_numpy_does_not_have_are_its_errors() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for fold, error in (
        (lambda a: np.equal.reduce(a), TypeError), (lambda a: np.less.accumulate(a), TypeError),
        (lambda a: np.greater.reduceat(a, [0, 1]), TypeError), (lambda a: np.subtract.reduce(a, axis=None), ValueError),
        (lambda a: np.fmax.reduce(a, where=a > 1), ValueError),
    ):  # fmt: skip
        for given in (x, wg.tensor(x)):
            with pytest.raises(error):
                fold(given)
    with pytest.raises(TypeError, match="where="):
        wnp.clip(wg.tensor(x), 0, 1, where=x > 1)
