"""Reductions of few terms that lie apart (`lower/few_terms.py`): values, special ones too, and the loops they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.ir import loops
from wengert._engines.native.ir.outlining import walk
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._engines.native.plan.tiles import TILED, tiled
from wengert._passes import optimise

RNG = np.random.default_rng(21)
FORMS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: np.sum(x, (0, 2)),
    "sum of squares": lambda x: np.sum(x * x, (0, 2)),
    "of the first axis": lambda x: np.sum(x * 0.5, 0),
    "product": lambda x: np.prod(x, (0, 2)),
    "largest": lambda x: np.max(x, (0, 2)),
    "smallest": lambda x: np.min(x * 3, (0, 2)),
    "any": lambda x: np.any(x > 1, (0, 2)),
    "all": lambda x: np.all(x > -1, (0, 2)),
    "another shape": lambda x: np.reshape(np.sum(x, (0, 2)), (-1,)),
    "joined": lambda x: np.sum(np.concatenate([x, x * 2], 1), (0, 2)),
    "two": lambda x: np.sum(x, (0, 2)) + np.max(x * 2, (0, 2)),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex64", "int32", "int8"])
@pytest.mark.parametrize("name", FORMS)
def test_values(name: str, dtype: str) -> None:
    f = FORMS[name]
    if dtype == "complex64" and name in ("largest", "smallest", "any", "all", "two"):
        pytest.skip("complex numbers have no order")
    for shape in ((2, 5, 2, 7), (2, 300, 2, 40), (4, 3, 2, 1030), (3, 129, 3, 33)):
        x = (RNG.normal(size=shape) * 2).astype(dtype)
        if dtype == "complex64":
            x = x * np.complex64(1 - 2j)
        with wg.eager():
            wanted = np.asarray(f(wg.tensor(x)))
        got = np.asarray(wg.function(f)(x))
        assert got.dtype == wanted.dtype
        assert got.shape == wanted.shape
        room = {"float16": 2e-2, "float32": 1e-5, "complex64": 1e-5}.get(dtype, 1e-13)
        np.testing.assert_allclose(got, wanted, rtol=room, atol=room)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_negative_zeros_infinities_and_nan_are_those_of_eager_code(dtype: str) -> None:
    x = RNG.choice(np.array([-0.0, 0.0, np.inf, -np.inf, np.nan, 1.0]), (2, 50, 2, 40)).astype(dtype)
    x[:, :10] = -0.0
    for name in ("sum", "of the first axis", "product", "largest", "smallest", "another shape"):
        with wg.eager(), np.errstate(all="ignore"):
            wanted = np.asarray(FORMS[name](wg.tensor(x)))
        with np.errstate(all="ignore"):
            got = np.asarray(wg.function(FORMS[name])(x))
        np.testing.assert_array_equal(got, wanted)
        known = ~np.isnan(wanted) & (name not in ("largest", "smallest"))  # of zeros neither sign is larger
        np.testing.assert_array_equal(np.signbit(got)[known], np.signbit(wanted)[known])


@pytest.mark.parametrize("size", [10, 1000, 40_000])
def test_gradients_of_what_is_repeated(size: int) -> None:
    x = RNG.normal(size=(size // 10, 10))
    weights = RNG.normal(size=(2 * x.shape[0], 20))
    for repeated in (
        lambda x: np.tile(x, (2, 2)),
        lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1),
        lambda x: np.tile(np.repeat(x, 2, 1), (2, 1)),
    ):
        gradient = wg.grad(lambda x, repeated=repeated: (np.sin(repeated(x)) * weights).sum())
        with wg.eager():
            wanted = gradient(x)
        np.testing.assert_allclose(wg.function(gradient)(x), wanted, rtol=1e-13, atol=1e-14)


def test_totals_are_written_once_and_where_the_result_lies() -> None:
    f = wg.function(lambda x: np.sum(x.reshape(2, 100, 2, 100) * 2, (0, 2)).reshape(-1))
    f(RNG.normal(size=40_000))
    ((_, form),) = f.traces
    items = [*walk(lowered(ready(optimise(form.graph)), "test").function.body)]
    assert sum(type(item) is loops.Store for item in items) == 1
    assert not any(type(item) is loops.Let and item.op in ("rem", "div") for item in items)


def test_rows_are_no_group_where_they_store_more_than_they_save() -> None:
    """The square would be stored; what is made of it three times would be, and is not."""
    gradient = wg.function(wg.grad(lambda x: ((np.tile(x, 3) ** 2) ** 2).sum()))
    x = RNG.normal(size=50_000)
    np.testing.assert_allclose(gradient(x), 12 * x**3, rtol=1e-13)
    ((_, form),) = gradient.traces
    assert not any(node.op is TILED for node in tiled(ready(optimise(form.graph))).nodes)


def test_terms_that_lie_together_are_added_by_a_loop() -> None:
    """Written out they would be read 24 numbers apart, in nearly twice the time."""
    f = wg.function(lambda x: np.max(x, (1, 3)))
    f(RNG.normal(size=(2048, 2, 3, 4)))
    ((_, form),) = f.traces
    items = [*walk(lowered(ready(optimise(form.graph)), "test").function.body)]
    assert sum(type(item) is loops.Load for item in items) < 8
