"""Keyed random bits: known answers, the equality of the two engines' bits, and statistics."""

import warnings

import numpy as np
import pytest

from tests.support.python_engine import threefry as plain
from wengert._engines.numpy import threefry as fast

# Random123's known answers for threefry2x32 with 20 rounds: counter, key, result.
KNOWN_ANSWERS = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]
KEYS = [(0, 0), (0, 42), (0xFFFFFFFF, 0xFFFFFFFF), (0x13198A2E, 0x03707344)]


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def words(pair):
    return np.array(pair, np.uint32)


@pytest.mark.parametrize(("counter", "key", "want"), KNOWN_ANSWERS)
def test_known_answers(counter, key, want):
    assert plain.threefry2x32(key, counter) == want
    got = fast.threefry2x32(words(key), words(counter))
    assert got.dtype == np.uint32
    assert tuple(got.tolist()) == want


def test_block_function_broadcasts_keys_against_counters():
    keys, counters = words(KEYS)[:, None], words([c for c, _, _ in KNOWN_ANSWERS])[None]
    got = fast.threefry2x32(keys, counters)
    assert got.shape == (4, 3, 2)
    for i, key in enumerate(KEYS):
        for j, (counter, _, _) in enumerate(KNOWN_ANSWERS):
            assert tuple(got[i, j].tolist()) == plain.threefry2x32(key, counter)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2,), (7,), (3, 5), (2, 0, 3), (2, 3, 4)])
def test_both_engines_draw_the_same_bits(key, shape):
    got = fast.random_bits(words(key), shape)
    assert got.dtype == np.uint32
    assert got.shape == shape
    assert got.ravel().tolist() == plain.random_bits(key, shape)


@pytest.mark.parametrize("key", KEYS)
def test_both_engines_split_and_fold_alike(key):
    assert [tuple(k) for k in fast.split(words(key), 5).tolist()] == plain.split(key, 5)
    for data in (0, 1, 2**31, 2**32 + 5, 2**61, 2**62 + 3, 2**70 + 1, -1, -(2**40)):
        assert tuple(fast.fold_in(words(key), data).tolist()) == plain.fold_in(key, data)


def test_equal_integers_fold_in_alike_at_every_width():
    key = words(KEYS[1])
    for data in (5, -1):
        same = {tuple(fast.fold_in(key, np.dtype(t).type(data)).tolist()) for t in ("int8", "int32", "int64")}
        assert same == {plain.fold_in(KEYS[1], data)}
    steps = fast.fold_in(key, np.arange(4, dtype=np.uint8))
    assert [tuple(k) for k in steps.tolist()] == [plain.fold_in(KEYS[1], i) for i in range(4)]


def test_only_integers_fold_in():
    with pytest.raises(TypeError, match="float64"):
        fast.fold_in(words((0, 0)), np.float64(1.0))


def test_a_batch_of_keys_draws_what_each_key_draws():
    keys = fast.split(words((0, 7)), 6).reshape(2, 3, 2)
    bits, children = fast.random_bits(keys, (4, 3)), fast.split(keys, 5)
    assert bits.shape == (2, 3, 4, 3)
    assert children.shape == (2, 3, 5, 2)
    for i in np.ndindex(2, 3):
        np.testing.assert_array_equal(bits[i], fast.random_bits(keys[i], (4, 3)))
        np.testing.assert_array_equal(children[i], fast.split(keys[i], 5))


def test_longer_draws_begin_with_shorter_ones(monkeypatch):
    key = words((3, 4))
    whole = fast.random_bits(key, (1001,))
    for size in (0, 1, 2, 999, 1000):
        np.testing.assert_array_equal(fast.random_bits(key, (size,)), whole[:size])
    np.testing.assert_array_equal(fast.random_bits(key, (10, 100)), whole[:1000].reshape(10, 100))
    np.testing.assert_array_equal(fast.split(key, 3), fast.split(key, 30)[:3])
    monkeypatch.setattr(fast, "_CHUNK", 7)
    np.testing.assert_array_equal(fast.random_bits(key, (1001,)), whole)


def test_moments_and_bit_balance():
    n = 200_000
    bits = fast.random_bits(words((0, 1)), (n,))
    u = bits / 2.0**32
    # Six standard errors of the mean, of the variance, and of each bit's frequency.
    assert abs(u.mean() - 1 / 2) < 6 * np.sqrt(1 / 12 / n)
    assert abs(u.var() - 1 / 12) < 6 * np.sqrt(1 / 180 / n)
    ones = (bits[:, None] >> np.arange(32, dtype=np.uint32) & 1).mean(0)
    assert np.abs(ones - 0.5).max() < 6 * 0.5 / np.sqrt(n)
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 6 / np.sqrt(n)


def test_parent_children_and_folded_keys_are_independent():
    parent = words((0, 5))
    streams = [parent, *fast.split(parent, 4), *(fast.fold_in(parent, i) for i in range(4))]
    n = 20_000
    u = np.array([fast.random_bits(k, (n,)) / 2.0**32 for k in streams])
    off_diagonal = np.corrcoef(u) - np.eye(len(streams))
    assert np.abs(off_diagonal).max() < 6 / np.sqrt(n)


def test_purposes_never_share_a_block():
    key = words((1, 2))
    bits = {tuple(p) for p in fast.random_bits(key, (1000, 2)).tolist()}
    children = {tuple(k) for k in fast.split(key, 1000).tolist()}
    folded = {tuple(k) for k in fast.fold_in(key, np.arange(1000)).tolist()}
    assert len(bits | children | folded) == 3000
