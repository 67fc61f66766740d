"""Gather and the scatters: values against plain loops; gradients at duplicates, ties and zeros; errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert._engines.numpy  # noqa: F401  # registers the engine
from tests.support import op_checks as checks
from wengert._core.op import REGISTRY
from wengert._prims import indexing

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

COMBINE: dict[str, Any] = {
    "scatter_add": np.add, "scatter_mul": np.multiply, "scatter_max": np.maximum, "scatter_min": np.minimum,
    "scatter_set": lambda old, new: new,
}  # fmt: skip


def gradients(name: str, *operands: Any) -> list[list[float]]:
    """Cotangents of the float operands for a cotangent of ones."""
    arrays = tuple(np.asarray(x) for x in operands)
    case = checks.Case(REGISTRY[name], arrays, ())
    return [g.tolist() for g in checks.pulled(case, [np.ones_like(out) for out in case.run()])]


@pytest.mark.parametrize("name", COMBINE)
@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32])
def test_scatter_is_a_loop_over_the_updates(name: str, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    x, updates = (rng.integers(-3, 4, s).astype(dtype) for s in ((4, 3, 2), (6, 2)))
    rows, columns = rng.integers(-4, 4, 6), rng.integers(0, 3, 6)
    expected = x.copy()
    for update, row, column in zip(updates, rows, columns, strict=True):
        expected[row, column] = COMBINE[name](expected[row, column], update)
    (got,) = checks.Case(REGISTRY[name], (x, updates, rows, columns), ()).run()
    np.testing.assert_array_equal(got, expected)
    assert got.dtype == dtype


def test_half_precision_adds_in_float32() -> None:
    ones = np.ones(4096, np.float16)
    case = checks.Case(indexing.scatter_add, (np.zeros(1, np.float16), ones, np.zeros(4096, np.int64)), ())
    assert case.run()[0].item() == 4096  # float16 alone stops at 2048


@pytest.mark.parametrize("name", ["gather", *COMBINE])
@pytest.mark.parametrize("index", [3, -4])
def test_an_index_outside_raises(name: str, index: int) -> None:
    operands = [np.zeros(3), np.zeros(1), np.array([index])]
    if name == "gather":
        del operands[1]
    with pytest.raises(IndexError, match=REGISTRY[name].called):
        checks.Case(REGISTRY[name], tuple(operands), ()).run()


def test_of_duplicates_the_last_set_wins_and_has_the_gradient() -> None:
    assert gradients("scatter_set", [0.0, 0, 0], [5.0, 7], [1, -2]) == [[1, 0, 1], [0, 1]]


def test_duplicates_add() -> None:
    assert gradients("scatter_add", [0.0, 0, 0], [5.0, 7], [1, 1]) == [[1, 1, 1], [1, 1]]
    assert gradients("gather", [1.0, 2, 3], [0, 2, 2, -1]) == [[1, 0, 3]]


def test_ties_share_evenly_with_the_entry_of_x() -> None:
    third = 1 / 3
    assert gradients("scatter_max", [0.0, 7, 0], [7.0, 7], [1, 1]) == [[1, third, 1], [third, third]]
    assert gradients("scatter_min", [9.0, 9, 9], [7.0, 7], [1, 1]) == [[1, 0, 1], [0.5, 0.5]]


def test_where_the_extreme_is_nan_nothing_has_a_share() -> None:
    assert gradients("scatter_max", [0.0, np.nan], [1.0], [1]) == [[1, 0], [0]]


def test_products_with_zeros_have_exact_slopes() -> None:
    assert gradients("scatter_mul", [1.0, 0, 1], [2.0, 3], [1, 1]) == [[1, 6, 1], [0, 0]]
    assert gradients("scatter_mul", [1.0, 4, 1], [0.0, 3], [1, 1]) == [[1, 0, 1], [12, 0]]
    assert gradients("scatter_mul", [1.0, 4, 1], [0.0, 0, 5], [1, 1, 0]) == [[5, 0, 1], [0, 0, 1]]


def test_an_infinite_factor_stays_at_its_place() -> None:
    assert gradients("scatter_mul", [1.0, 4, 1], [np.inf, 3, 5], [1, 0, 0])[1] == [4, 5, 3]


def test_a_zero_coefficient_starts_the_recurrence_afresh() -> None:
    operands = (np.array([1.0, 2, 0, 3]), np.array([np.inf, 1, 1, 1]))
    case = checks.Case(REGISTRY["linear_recurrence"], operands, (0, False))
    assert case.run()[0].tolist() == [np.inf, np.inf, 1, 4]


@pytest.mark.parametrize(
    ("operands", "error", "words"),
    [
        ((np.zeros(3), np.zeros(2, np.int32)), TypeError, "int32, wanted int64"),
        ((np.zeros(3), np.zeros(2, int), np.zeros(2, int)), ValueError, "2 index arrays address"),
        ((np.zeros((3, 3)), np.zeros(2, int), np.zeros(3, int)), ValueError, "index arrays have shapes"),
    ],
)
def test_types_are_checked(operands: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        checks.traced(checks.Case(indexing.gather, operands, ()))


def test_places_along_an_axis_count_from_both_ends_and_stay_in_their_row() -> None:
    values = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    case = checks.Case(REGISTRY["add_along"], (values, np.array([[0, -1, 2], [-1, -4, -1]])), (4,))
    assert case.run()[0].tolist() == [[1, 0, 3, 2], [5, 0, 0, 10]]
    for place in (3, -4):
        with pytest.raises(IndexError):
            checks.Case(REGISTRY["add_along"], (values, np.full((2, 3), place)), (3,)).run()
