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


@pytest.mark.parametrize("seed", [0, 5, (3 << 32) | 5, -1, -(2**40), np.int8(-3), np.uint64(2**64 - 2), np.int32(7)])
def test_a_traced_seed_gives_the_key_of_its_value(seed):
    wanted = random.key(int(seed)).numpy()
    key = wg.function(random.key)
    for given in (wg.tensor(seed), np.asarray(seed)):
        np.testing.assert_array_equal(key(given), wanted)
    sine = wg.function(lambda s: np.sin(random.key(s)))
    np.testing.assert_allclose(sine(np.asarray(seed)), np.sin(wanted), rtol=1e-15)
    keys = wg.vmap(random.key)(np.asarray([seed, seed]))
    np.testing.assert_array_equal(keys, [wanted, wanted])
    with pytest.raises(TypeError, match="seed must be an integer"):
        key(np.array(1.5))
    with pytest.raises(TypeError, match="seed must be an integer"):
        key(np.array([1, 2]))


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


# -- families, against their distribution functions

FAMILIES = {
    "exponential": ((), scipy.stats.expon()),
    "laplace": ((), scipy.stats.laplace()),
    "logistic": ((), scipy.stats.logistic()),
    "cauchy": ((), scipy.stats.cauchy()),
    "gumbel": ((), scipy.stats.gumbel_r()),
    "gamma": ((0.4,), scipy.stats.gamma(0.4)),
    "beta": ((0.7, 3.0), scipy.stats.beta(0.7, 3.0)),
    "chisquare": ((3.0,), scipy.stats.chi2(3.0)),
    "t": ((2.5,), scipy.stats.t(2.5)),
    "truncated_normal": ((1.0, 3.0), scipy.stats.truncnorm(1.0, 3.0)),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("name", FAMILIES)
def test_draws_have_their_distribution(name, dtype):
    parameters, distribution = FAMILIES[name]
    x = getattr(random, name)(random.key(5), *parameters, (5000,), dtype)
    assert x.dtype.name == dtype
    assert x.shape == (5000,)
    values = x.numpy().astype(np.float64)
    assert np.isfinite(values).all()
    assert scipy.stats.kstest(values, distribution.cdf).statistic < 0.03


@pytest.mark.parametrize("name", ["gamma", "beta", "chisquare", "t", "truncated_normal"])
def test_draws_move_as_their_parameters_say(name):
    parameters, distribution = FAMILIES[name]
    f = getattr(random, name)
    wg.check_gradients(lambda *p: f(random.key(6), *p, (4,)), *map(np.array, parameters), order=1)
    # the mean of the slopes is the slope of the mean
    gradients = wg.grad(lambda *p: f(random.key(6), *p, (20000,)).mean(), argnums=0)(*parameters)
    if name in ("gamma", "chisquare"):
        np.testing.assert_allclose(gradients, 1.0, atol=0.05)


@pytest.mark.parametrize(("name", "parameters", "distribution"), [
    ("poisson", (0.3,), scipy.stats.poisson(0.3)), ("poisson", (40.0,), scipy.stats.poisson(40.0)),
    ("binomial", (12, 0.3), scipy.stats.binom(12, 0.3)), ("bernoulli", (0.3,), scipy.stats.bernoulli(0.3)),
])  # fmt: skip
def test_counts_have_their_distribution(name, parameters, distribution):
    values = getattr(random, name)(random.key(7), *parameters, (4000,)).numpy().astype(int)
    counts = np.bincount(values)
    expected = distribution.pmf(np.arange(len(counts))) * 4000
    np.testing.assert_allclose(counts, expected, atol=4.5 * np.sqrt(expected.max()))
    assert np.sum(expected) > 3990


def test_vectors():
    alpha = np.array([0.5, 2.0, 3.5])
    shares = random.dirichlet(random.key(8), alpha, (4000,)).numpy()
    np.testing.assert_allclose(shares.sum(1), 1.0)
    np.testing.assert_allclose(shares.mean(0), alpha / 6, atol=0.01)
    wg.check_gradients(lambda a: random.dirichlet(random.key(8), a), alpha, order=1)
    mean, cov = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 1.0]])
    x = random.multivariate_normal(random.key(9), mean, cov, (8000,)).numpy()
    np.testing.assert_allclose(x.mean(0), mean, atol=0.06)
    np.testing.assert_allclose(np.cov(x.T), cov, atol=0.1)


def test_classes_and_choices():
    weights = np.array([0.1, 0.0, 0.6, 0.3])
    with np.errstate(divide="ignore"):
        drawn = random.categorical(random.key(10), np.log(weights), shape=(6000,)).numpy()
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 6000, weights, atol=0.03)
    picked = random.choice(random.key(11), np.arange(10.0, 14.0), (6000,), p=weights)
    assert isinstance(picked, np.ndarray)
    np.testing.assert_allclose(np.bincount(picked.astype(int) - 10, minlength=4) / 6000, weights, atol=0.03)
    some = random.choice(random.key(12), 20, (5,), replace=False).numpy()
    assert len(set(some.tolist())) == 5
    several = random.choice(random.key(12), np.arange(3), (2,), replace=False, p=[0.5, 0.5, 0.0])
    assert sorted(several.tolist()) == [0, 1]
    with pytest.raises(ValueError, match="different"):
        random.choice(random.key(0), 3, (4,), replace=False)
    assert random.categorical(random.key(0), np.zeros((3, 5)), axis=0).shape == (5,)


def test_whole_numbers():
    x = random.randint(random.key(13), (6000,), -2, 4).numpy()
    np.testing.assert_allclose(np.bincount(x + 2) / 6000, np.full(6, 1 / 6), atol=0.03)
    assert random.randint(random.key(13), (2,), 0, 2**32).dtype == np.int64
    with pytest.raises(ValueError, match="bounds"):
        random.randint(random.key(0), (), 3, 3)
    assert set(random.rademacher(random.key(1), (50,)).numpy().tolist()) == {-1.0, 1.0}


def test_orders():
    x = np.arange(12.0).reshape(6, 2)
    y = random.permutation(random.key(14), x)
    assert sorted(map(tuple, y)) == sorted(map(tuple, x))
    assert not np.array_equal(x, y)
    weights = np.arange(12.0).reshape(6, 2)
    gradient = wg.grad(lambda x: random.permutation(random.key(14), x))(x, dy=weights)
    np.testing.assert_array_equal(weights[np.argsort(y[:, 0])], gradient)


def test_dropout_and_its_gradient():
    x = np.ones((50, 40))
    y = random.dropout(random.key(15), x, 0.25)
    assert set(np.unique(y)) == {0.0, 4 / 3}
    np.testing.assert_array_equal(wg.grad(lambda x: random.dropout(random.key(15), x, 0.25))(x), y)
    rows = random.dropout(random.key(15), x, 0.5, noise_shape=(50, 1))
    assert (rows == rows[:, :1]).all()
    np.testing.assert_array_equal(random.dropout(random.key(0), x, 0.0), x)
    with pytest.raises(ValueError, match="rate"):
        random.dropout(random.key(0), x, 1.0)


def test_draws_in_a_trace_and_in_a_batch():
    f = wg.function(lambda key, a: random.gamma(key, a, (3,)))
    np.testing.assert_allclose(
        f(random.key(4), 2.0).numpy(), random.gamma(random.key(4), 2.0, (3,)).numpy(), rtol=1e-14
    )
    keys = random.split(random.key(3), 4)
    found = wg.vmap(lambda k: random.permutation(k, 5))(keys).numpy()
    np.testing.assert_array_equal(found, np.stack([random.permutation(k, 5).numpy() for k in keys]))
