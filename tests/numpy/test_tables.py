"""All reductions, sorts and running functions beside NumPy: results, dtypes, shapes, or the same kind of error.

Each function meets every dtype argument, axis and `keepdims` on arrays of every kind: of numbers, empty, with NaN, complex.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wn

ROWS = [[3, 1, 2], [5, 4, 0]]
ARRAYS: dict[str, Any] = {
    "float64": np.array([[3.0, 1.0, 2.0], [5.0, 4.0, 0.5]]),
    "float32": np.array([[3.0, 1.0, 2.0], [5.0, 4.0, 0.5]], np.float32),
    "float16": np.array([[3.0, 1.0, 2.0], [5.0, 4.0, 0.5]], np.float16),
    "int64": np.array(ROWS),
    "int8": np.array(ROWS, np.int8),
    "uint8": np.array([[3, 1, 200], [5, 4, 0]], np.uint8),
    "bool": np.array([[True, False, True], [False, False, True]]),
    "complex": np.array([[3 + 1j, 1 - 2j, 1 + 2j], [3 - 1j, 1 + 0j, -2 + 0.5j]]),
    "ties": np.array([[1 + 1j, 1 + 1j, 1 - 1j], [1 + 0j, 2 - 5j, 2 - 5j]]),
    "nan": np.array([[3.0, np.nan, 2.0], [5.0, 4.0, np.nan]]),
    "complex nan": np.array([[3 + 1j, np.nan, 1 + 2j], [complex(1, np.nan), complex(np.nan, 2), -2 + 0.5j]]),
    "vector": np.array([3.0, 1.0, 2.0]),
    "number": np.array(2.5),
    "int number": np.array(3),
    "complex number": np.array(1 + 2j),
    "bool number": np.array(True),
    "no rows": np.zeros((0, 3)),
    "no columns": np.zeros((2, 0)),
    "no integers": np.zeros((0, 3), int),
    "no complex": np.zeros(0, complex),
}
DTYPES = [None, int, float, complex, np.uint8, np.float32, bool]
AXES = [None, 0, -1, (0, 1), (), (0, 0), 2]
ONE_AXIS = [None, 0, -1, 2]
MOMENTS = ["sum", "prod", "mean", "var", "std", "nansum", "nanprod", "nanmean", "nanvar", "nanstd"]
FOLDS = ["max", "min", "amax", "amin", "nanmax", "nanmin", "ptp", "any", "all", "count_nonzero", "median", "nanmedian"]
PLACES = ["argmax", "argmin", "nanargmax", "nanargmin"]
RUNNING = ["cumsum", "cumprod", "nancumsum", "nancumprod", "cumulative_sum", "cumulative_prod"]
ORDERS = ["sort", "argsort"]

# where we differ on purpose (docs/semantics/decisions.md, "NumPy's functions"): the function, the array, and why
DIFFERENT = {
    **{(name, array): "complex numbers have no middle between two of them" for name in ("median", "nanmedian")
       for array in ("complex", "ties", "complex number", "complex nan", "no complex")},
    **{(name, array): "NumPy squares in the narrow dtype before it adds in the wider one" for name in ("nanvar", "nanstd")
       for array in ("float16", "float32")},
}  # fmt: skip


def keywords_of(name: str) -> Iterator[dict[str, Any]]:
    keeps = (False, True) if name in (*MOMENTS, *FOLDS, *PLACES) else (None,)
    dtypes = DTYPES if name in (*MOMENTS, *RUNNING) else [None]
    for axis in AXES if name in (*MOMENTS, *FOLDS) else ONE_AXIS:
        if axis == () and name == "median":
            continue  # NumPy's own fails on arrays without elements: "cannot reshape array of size 0"
        for keepdims in keeps:
            for dtype in dtypes:
                found = {"axis": axis, "keepdims": keepdims, "dtype": dtype}
                yield {word: value for word, value in found.items() if value is not None or word == "axis"}


def outcome(f: Any, x: Any, keywords: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both warn of empty slices and of parts that are cut off
        try:
            return np.asarray(f(x, **keywords))
        except (TypeError, ValueError, IndexError) as error:  # AxisError is of both latter kinds
            return error


def agree(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, Exception) or isinstance(found, Exception):
        kinds = (TypeError, ValueError)
        return any(isinstance(wanted, kind) and isinstance(found, kind) for kind in kinds)
    if wanted.shape != found.shape or wanted.dtype != found.dtype:
        return False
    rtol = 8 * float(np.finfo(wanted.dtype).eps) if wanted.dtype.kind in "fc" else 0
    return np.allclose(wanted, found, rtol=rtol, atol=0, equal_nan=True)


NAMES = [*MOMENTS, *FOLDS, *PLACES, *RUNNING, *ORDERS]
CASES = [("wengert.numpy", name) for name in NAMES] + [("wengert.ops", name) for name in NAMES if hasattr(wg.ops, name)]


@pytest.mark.parametrize(("namespace", "name"), CASES)
@pytest.mark.sampled(12)
def test_reductions_and_sorts_are_numpys(namespace: str, name: str) -> None:
    ours = getattr(wn if namespace == "wengert.numpy" else wg.ops, name)
    known = inspect.signature(ours).parameters
    different = []
    for keywords in keywords_of(name):
        if not keywords.keys() <= known.keys():
            continue  # Keras's function has no such argument
        for array, x in ARRAYS.items():
            wanted, found = outcome(getattr(np, name), x, keywords), outcome(ours, x, keywords)
            if not agree(wanted, found) and (name, array) not in DIFFERENT:
                different.append(f"{array}, {keywords}: {found!r}, NumPy {wanted!r}")
    assert not different, "\n".join(different)


def test_what_differs_on_purpose_is_known() -> None:
    with pytest.raises(TypeError, match="median"):
        wn.median(ARRAYS["complex"])
    half = ARRAYS["float16"]
    np.testing.assert_allclose(wn.nanvar(half, dtype=float), np.var(half.astype(float)), rtol=1e-15)


def test_the_first_of_equal_complex_extremes_has_the_gradient() -> None:
    z = np.array([1 + 1j, 2 - 1j, 2 + 1j, 2 + 1j])
    slope = wg.grad(lambda z: wg.real(wg.max(z)))(z)
    np.testing.assert_array_equal(slope, [0, 0, 1, 0])
    weights = np.arange(4.0)
    slope = wg.grad(lambda z: wg.sum(wg.real(wg.ops.sort(z)) * weights))(z[::-1])
    np.testing.assert_array_equal(slope, [2, 3, 1, 0])
    for f in (wg.ops.max, wg.ops.sort, wg.ops.argsort, wg.ops.argmin):
        np.testing.assert_array_equal(wg.function(f)(z), f(z))
