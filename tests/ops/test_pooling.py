"""Pooling: ties (docs/semantics/hard_points.md), padding, layouts, against windows written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wengert as wg
from wengert.nn import average_pool, max_pool


def by_hand(x, pool, strides, padding, fold):
    """The windows one by one; channels last."""
    sizes = x.shape[1:-1]
    if padding == "same":
        counts = [-(-n // s) for n, s in zip(sizes, strides)]
        lows = [max((c - 1) * s + p - n, 0) // 2 for c, s, p, n in zip(counts, strides, pool, sizes)]
    else:
        counts = [(n - p) // s + 1 for n, p, s in zip(sizes, pool, strides)]
        lows = [0] * len(pool)
    out = np.empty((x.shape[0], *counts, x.shape[-1]))
    for position in itertools.product(*map(range, counts)):
        window = tuple(
            slice(max(i * s - low, 0), i * s - low + p) for i, s, low, p in zip(position, strides, lows, pool)
        )
        out[(slice(None), *position)] = fold(x[(slice(None), *window)], axis=tuple(range(1, len(pool) + 1)))
    return out


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize(("shape", "pool", "strides"), [
    ((2, 7, 3), (3,), (2,)), ((2, 5, 6, 2), (2, 3), (1, 2)), ((1, 4, 3, 5, 2), (2, 2, 3), (2, 1, 2)),
])  # fmt: skip
def test_values_and_gradients(shape, pool, strides, padding):
    x = np.random.default_rng(0).normal(size=shape)
    for op, fold in ((max_pool, np.max), (average_pool, np.mean)):
        want = by_hand(x, pool, strides, padding, fold)
        np.testing.assert_allclose(op(x, pool, strides, padding), want)
        first = np.moveaxis(op(np.moveaxis(x, -1, 1), pool, strides, padding, "channels_first"), 1, -1)
        np.testing.assert_allclose(first, want)
        wg.check_gradients(lambda x, op=op: wg.sum(op(x, pool, strides, padding) ** 2), x)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_tie_goes_to_the_first(rank):
    x = np.ones((1, *(2,) * rank, 1))
    got = np.asarray(wg.grad(lambda x: wg.sum(max_pool(x, 2)))(x)).ravel()
    np.testing.assert_array_equal(got, [1] + [0] * (2**rank - 1))
    x = np.array([1.0, 3, 3, 2]).reshape(1, 4, 1)
    np.testing.assert_array_equal(np.asarray(wg.grad(lambda x: wg.sum(max_pool(x, 4)))(x)).ravel(), [0, 1, 0, 0])


def test_padding_does_not_count():
    x = np.array([1.0, 2.0, 3.0]).reshape(1, 3, 1)
    np.testing.assert_allclose(average_pool(x, 2, 1, "same").ravel(), [1.5, 2.5, 3])
    low = np.full((1, 3, 1), -np.inf)
    assert np.isneginf(max_pool(low, 2, 1, "same")).all()
    got = wg.grad(lambda x: wg.sum(max_pool(x, 3, 2, "same")))(np.full((1, 3, 1), -5.0))
    np.testing.assert_array_equal(np.asarray(got).ravel(), [1, 1, 0])


def test_nan_wins_and_has_the_gradient():
    x = np.array([1.0, np.nan, 5.0, 2.0]).reshape(1, 4, 1)
    np.testing.assert_array_equal(max_pool(x, 2).ravel(), [np.nan, 5])


def test_sizes_unknown_to_the_trace():
    spec = wg.TensorSpec((None, None, 1), np.float64)
    for op, padding in itertools.product((max_pool, average_pool), ("valid", "same")):
        f = wg.function(lambda x, op=op, padding=padding: op(x, 2, None, padding), input_signature=[spec])
        for n in (4, 7):
            x = np.random.default_rng(n).normal(size=(2, n, 1))
            np.testing.assert_allclose(f(x), op(x, 2, None, padding))


def test_errors():
    x = np.ones((1, 4, 1))
    with pytest.raises(ValueError, match="smaller than pool_size"):
        max_pool(x, 5)
    with pytest.raises(ValueError, match="padding is 'full'"):
        max_pool(x, 2, padding="full")
    with pytest.raises(ValueError, match="data_format"):
        average_pool(x, 2, data_format="last")
    with pytest.raises(ValueError, match="pool_size is 0, wanted an integer of at least 1"):
        average_pool(x, 0)
