"""Attention leaves out columns that a mask hides from all rows of a block, with the results of the kernels for all that
operands may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import wengert as wg
from tests.engines.native.test_row_blocks import eager_blocks, groups
from wengert._engines.native.plan import masked_columns
from wengert._passes import constants

COUNT = 16
Q, K, V = np.random.default_rng(2).normal(size=(3, 2, COUNT, 3))
EARLIER = np.tril(np.ones((COUNT, COUNT), bool))
NEAR = EARLIER & ~np.tril(EARLIER, -5)
PADDED = np.arange(COUNT) < 6
FIRST_ALONE = np.zeros((COUNT, COUNT), bool)
FIRST_ALONE[:, 0] = True
SLOPES = np.where(EARLIER, np.minimum(0.0, np.subtract.outer(-np.arange(COUNT), -np.arange(COUNT))) * 0.1, -np.inf)

__all__ = ["eager_blocks"]


def scores(q: Any, k: Any) -> Any:
    return q @ np.swapaxes(k, -1, -2) * (1 / math.sqrt(3))


def where(mask: Any, fill: float) -> Callable[..., Any]:
    return lambda q, k, v: wg.nn.softmax(np.where(mask, scores(q, k), fill), axis=-1) @ v


def added(bias: Any) -> Callable[..., Any]:
    return lambda q, k, v: wg.nn.softmax(scores(q, k) + bias, axis=-1) @ v


def in_two(q: Any, k: Any, v: Any) -> Any:
    hidden = np.where(EARLIER, scores(q, k), -1e9)
    return wg.nn.softmax(np.where(PADDED, hidden, -1e9), axis=-1) @ v


def unnormalised(q: Any, k: Any, v: Any) -> Any:
    hidden = np.where(~EARLIER, -np.inf, scores(q, k))
    weights = np.exp(hidden - np.max(hidden, axis=-1, keepdims=True))
    return weights @ v / np.sum(weights, axis=-1, keepdims=True)


def of_times(q: Any, k: Any, v: Any) -> Any:
    times = wg.numpy.arange(COUNT)
    return where(times[:, None] >= times, -math.inf)(q, k, v)


MASKED: dict[str, Callable[..., Any]] = {
    "causal": where(EARLIER, -math.inf),
    "causal, of times": of_times,
    "causal, a large number": where(EARLIER, -1e9),
    "causal, a number that leaves weights": where(EARLIER, -5.0),
    "added": added(np.where(EARLIER, 0.0, -np.inf)),
    "added to, with slopes": added(SLOPES),
    "added numbers that leave weights": added(np.where(EARLIER, 0.0, -20.0)),
    "added NaN": added(np.where(EARLIER, 0.0, np.nan)),
    "padded": where(PADDED, -math.inf),
    "padded in front": where(~PADDED, -math.inf),
    "a window": where(NEAR, -math.inf),
    "one column": where(FIRST_ALONE, -math.inf),
    "nothing is hidden": where(np.ones((COUNT, COUNT), bool), -math.inf),
    "all is hidden": where(np.zeros((COUNT, COUNT), bool), -math.inf),
    "all is hidden by a number": where(np.zeros((COUNT, COUNT), bool), -1e9),
    "rows are hidden": where(EARLIER & (np.arange(COUNT) % 5 > 0)[:, None], -math.inf),
    "in two": in_two,
    "unnormalised": unnormalised,
}
NOT_MASKED: dict[str, Callable[..., Any]] = {
    "no mask": lambda q, k, v: wg.nn.softmax(scores(q, k), axis=-1) @ v,
    "no softmax": lambda q, k, v: np.where(EARLIER, scores(q, k), 0.0) @ v,
    "also unmasked": lambda q, k, v: where(EARLIER, -math.inf)(q, k, v) + scores(q, k) @ v,
    "sums of logarithms": lambda q, k, v: np.where(EARLIER, wg.nn.log_softmax(scores(q, k), axis=-1), -1.0) @ v,
    "masked twice as much": lambda q, k, v: wg.nn.softmax(2 * np.where(EARLIER, scores(q, k), -9.0), axis=-1) @ v,
    "weighted after": lambda q, k, v: (wg.nn.softmax(np.where(EARLIER, scores(q, k), -1e9), axis=-1) + 1) @ v,
}
OPERANDS: dict[str, Callable[[Any, Any, Any], tuple[Any, Any, Any]]] = {
    "numbers": lambda q, k, v: (q, k, v),
    "an infinity among values": lambda q, k, v: (q, k, spoilt(v, np.inf)),
    "NaN among values": lambda q, k, v: (q, k, spoilt(v, np.nan)),
    "an infinity among keys": lambda q, k, v: (q, spoilt(k, np.inf), v),
    "NaN among keys": lambda q, k, v: (q, spoilt(k, np.nan), v),
    "NaN among queries": lambda q, k, v: (spoilt(q, np.nan), k, v),
    "products beyond the largest": lambda q, k, v: (q * 1e200, k * 1e200, v),
    "large scores": lambda q, k, v: (q * 1e5, k * 1e5, v),
    "small floats": lambda q, k, v: (q.astype("f4"), k.astype("f4"), v.astype("f4")),
}


def spoilt(x: Any, number: float) -> Any:
    x = x.copy()
    x[1, -2, 1] = number
    return x


@pytest.fixture(autouse=True)
def few_columns(monkeypatch: pytest.MonkeyPatch, eager_blocks: None) -> None:
    monkeypatch.setattr(masked_columns, "LEAST_COLUMNS", 8)
    monkeypatch.setattr(constants, "_LIMIT", 0)  # as many zeros as large programs have are not folded


@pytest.mark.parametrize("name", MASKED)
def test_masks_are_found(name: str) -> None:
    (found,) = groups(MASKED[name], Q, K, V)
    assert found.masked is not None
    assert found.masked.columns == (4, 8, 12, 16)


@pytest.mark.parametrize("name", NOT_MASKED)
def test_what_is_no_softmax_of_masked_scores_has_all_columns(name: str) -> None:
    assert all(found.masked is None for found in groups(NOT_MASKED[name], Q, K, V))


@pytest.mark.parametrize("operands", OPERANDS)
@pytest.mark.parametrize("name", MASKED | NOT_MASKED)
def test_masked_attention_gives_what_kernels_give(name: str, operands: str) -> None:
    program = (MASKED | NOT_MASKED)[name]
    arrays = OPERANDS[operands](Q, K, V)
    tolerance = 1e-4 if operands == "small floats" else 1e-9
    with np.errstate(all="ignore"):
        expected = program(*arrays)
        np.testing.assert_allclose(wg.function(program)(*arrays), expected, tolerance, tolerance)


def of_squares(program: Callable[..., Any]) -> Callable[..., Any]:
    return wg.grad(lambda q, k, v: wg.sum(program(q, k, v) ** 2), argnums=(0, 1, 2))


def weighted(program: Callable[..., Any], weights: Any) -> Callable[..., Any]:
    return wg.grad(lambda q, k, v: wg.sum(program(q, k, v) * weights), argnums=(0, 1, 2))


@pytest.mark.parametrize("gradient", [of_squares, lambda program: weighted(program, V)], ids=["of squares", "weighted"])
@pytest.mark.parametrize("name", [name for name in MASKED if name not in ("unnormalised", "in two")])
def test_masks_are_found_in_gradients(name: str, gradient: Callable[..., Any]) -> None:
    (found,) = groups(gradient(MASKED[name]), Q, K, V)
    assert found.masked is not None
    assert found.masked.columns == (4, 8, 12, 16)


@pytest.mark.parametrize("name", NOT_MASKED)
def test_gradients_of_what_is_no_softmax_of_masked_scores_have_all_columns(name: str) -> None:
    assert all(found.masked is None for found in groups(weighted(NOT_MASKED[name], V), Q, K, V))


@pytest.mark.parametrize("operands", OPERANDS)
@pytest.mark.parametrize("name", MASKED | NOT_MASKED)
def test_gradients_of_masked_attention(name: str, operands: str) -> None:
    arrays = OPERANDS[operands](Q, K, V)
    tolerance = 1e-3 if operands == "small floats" else 1e-9
    for gradient in (of_squares((MASKED | NOT_MASKED)[name]), weighted((MASKED | NOT_MASKED)[name], V)):
        with np.errstate(all="ignore"):
            for found, wanted in zip(wg.function(gradient)(*arrays), gradient(*arrays), strict=True):
                np.testing.assert_allclose(found, wanted, tolerance, tolerance)


@pytest.mark.parametrize("number", [np.inf, np.nan, 1e300, 1e160])
def test_what_comes_back_to_masked_attention_may_be_any_number(number: float) -> None:
    """Times weights of 0 it is NaN in hidden columns, too, where it is none or overflows."""
    program = MASKED["causal"]

    def gradient(q: Any, k: Any, v: Any, weights: Any) -> Any:
        return weighted(program, weights)(q, k, v)

    arrays = (Q, K, V, spoilt(V, number))
    with np.errstate(all="ignore"):
        for found, wanted in zip(wg.function(gradient)(*arrays), gradient(*arrays), strict=True):
            np.testing.assert_allclose(found, wanted, 1e-9)


@pytest.mark.parametrize("one_matrix", [False, True])
def test_gradients_of_one_matrix_of_rows(one_matrix: bool) -> None:
    arrays = [x[:1] if one_matrix else np.stack([x, x + 1]) for x in (Q, K, V)]
    gradient = weighted(MASKED["causal"], arrays[2])
    assert [found.masked is not None for found in groups(gradient, *arrays)] == [True]
    for found, wanted in zip(wg.function(gradient)(*arrays), gradient(*arrays), strict=True):
        np.testing.assert_allclose(found, wanted, 1e-9, 1e-12)


def test_masks_may_change_between_calls() -> None:
    rows = np.arange(COUNT)[:, None]
    bias = np.where(rows >= np.arange(COUNT), 0.0, -np.inf)
    moved = wg.function(added(bias))
    for shift in (0, 5, 11):  # other masks, of one program
        bias[...] = np.where(rows + shift >= np.arange(COUNT), 0.0, -np.inf)
        np.testing.assert_allclose(moved(Q, K, V), added(bias)(Q, K, V), 1e-12)
