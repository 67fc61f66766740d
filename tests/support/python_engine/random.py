"""Random kernels of the plain-Python engine, on arrays of keys; the bits are those of `threefry.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.support.python_engine import array as a
from tests.support.python_engine import threefry
from tests.support.python_engine.array import PyArray
from tests.support.python_engine.dtypes import UINT32


def random_bits(keys: PyArray, shape: Sequence[int]) -> PyArray:
    """uint32 words (..., *shape) from keys (..., 2)."""
    words = (word for key in _keys(keys) for word in threefry.random_bits(key, tuple(shape)))
    return a.make((*keys.shape[:-1], *shape), UINT32, words)


def random_split(keys: PyArray, count: int) -> PyArray:
    """Child keys (..., count, 2) of keys (..., 2)."""
    words = (word for key in _keys(keys) for child in threefry.split(key, count) for word in child)
    return a.make((*keys.shape[:-1], count, 2), UINT32, words)


def random_fold_in(keys: PyArray, data: PyArray) -> PyArray:
    """The keys (..., 2) of keys (..., 2) and integers (...)."""
    folded = map(threefry.fold_in, _keys(keys), data.flat)
    return a.make(keys.shape, UINT32, (word for key in folded for word in key))


def _keys(keys: PyArray) -> list[threefry.Key]:
    return list(zip(keys.flat[::2], keys.flat[1::2], strict=True))


KERNELS: dict[str, Callable[..., PyArray]] = {
    "random_bits": random_bits,
    "random_split": random_split,
    "random_fold_in": random_fold_in,
}
