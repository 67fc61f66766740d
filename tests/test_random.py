"""Random draws: stateless, documented bits, right moments, differentiable ends."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import wengert as wg
from wengert import random


def test_keys_are_words_of_the_seed():
    key = random.key((3 << 32) | 5)
    assert key.dtype == np.uint32
    assert key.numpy().tolist() == [3, 5]
    assert random.key(-1).numpy().tolist() == [2**32 - 1] * 2
    with pytest.raises(TypeError, match="seed"):
        random.key(1.5)


def test_draws_repeat_and_children_differ():
    key = random.key(0)
    first, second = random.split(key)
    draws = [random.uniform(k, (4,)).numpy() for k in (key, first, second, random.fold_in(key, 1))]
    assert np.array_equal(draws[0], random.uniform(key, (4,)).numpy())
    assert len({d.tobytes() for d in draws}) == 4
    assert np.array_equal(random.split(key, 5).numpy()[:2], random.split(key, 2).numpy())
    with pytest.raises(TypeError, match="wanted a key"):
        random.uniform(np.zeros(2), (3,))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_uniform_numbers(dtype):
    pytest.importorskip("ml_dtypes", reason="bfloat16 comes from ml_dtypes")
    x = random.uniform(random.key(1), (20000,), dtype=dtype)
    assert x.dtype.name == dtype
    values = x.numpy().astype(np.float64)
    assert values.min() >= 0
    assert values.max() < 1
    assert scipy.stats.kstest(values, "uniform").statistic < 0.02


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_normal_numbers(dtype):
    x = random.normal(random.key(2), (20000,), dtype=dtype)
    assert x.dtype.name == dtype
    values = x.numpy().astype(np.float64)
    assert np.isfinite(values).all()
    assert scipy.stats.kstest(values, "norm").statistic < 0.02


def test_the_first_bits_are_fixed():
    # documented numbers: every engine gives these
    key = random.key(42)
    words = random.bits(key, (3,)).numpy()
    numbers = random.uniform(key, (3,), "float32").numpy()
    assert numbers.tolist() == ((words >> 8) * np.float32(2.0**-24)).astype(np.float32).tolist()
    pairs = random.bits(key, (3, 2)).numpy().astype(np.uint64)
    expected = ((pairs[:, 0] >> 5 << 26) + (pairs[:, 1] >> 6)).astype(np.float64) * 2.0**-53
    assert random.uniform(key, (3,), "float64").numpy().tolist() == expected.tolist()


def test_ends_are_differentiable():
    key = random.key(3)
    draw = random.uniform(key, (5,)).numpy()
    low, high = wg.grad(lambda a, b: wg.ops.sum(random.uniform(key, (5,), minval=a, maxval=b)), argnums=(0, 1))(
        1.0, 2.0
    )
    np.testing.assert_allclose([low, high], [np.sum(1 - draw), np.sum(draw)])
    scale = wg.grad(lambda s: wg.ops.sum(random.normal(key, (5,)) * s))(2.0)
    np.testing.assert_allclose(scale, random.normal(key, (5,)).numpy().sum())


def test_in_a_trace():
    f = wg.function(lambda key, x: random.uniform(key, (3,)) * x)
    key = random.key(4)
    np.testing.assert_array_equal(f(key, 2.0).numpy(), random.uniform(key, (3,)).numpy() * 2)
