"""Kernels of NumPy's engine take versions of buffers as they take arrays: every call of the vocabulary, with its gradient."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.vocabulary_cases import CASES, Case
from tests.support.vocabulary_checks import call, loss, sources
from wengert._engines.numpy import NUMPY
from wengert._engines.numpy.buffer import BufferArray

OPS = sorted({case.op for case in CASES})


def computed(case: Case) -> list[np.ndarray[Any, Any]]:
    """The results, and the gradients if there are any."""
    xs = sources(case)
    results = call(case)
    if xs and all(isinstance(r, wg.Tensor) for r in results):  # the others are shapes and the like
        results += wg.grad(loss(case), argnums=(*range(len(xs)),), unconnected_gradients="zero")(*xs)
    return [*map(np.asarray, results)]


@contextmanager
def versions_as_operands() -> Iterator[list[str]]:
    """Every array that a kernel is given is the version of a buffer; the names of the kernels that were."""
    seen: list[str] = []

    def given(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def run(*operands: Any) -> Any:
            changed = [BufferArray(x.copy()) if isinstance(x, np.ndarray) else x for x in operands]
            if any(type(x) is BufferArray for x in changed):
                seen.append(name)
            return kernel(*changed)

        return run

    plain = dict(NUMPY.kernels)
    NUMPY.kernels.update({name: given(name, kernel) for name, kernel in plain.items() if name != "call"})
    try:
        yield seen
    finally:
        NUMPY.kernels.update(plain)


@pytest.mark.parametrize("op", OPS)
def test_versions_of_buffers_are_operands_like_arrays(op: str) -> None:
    for case in CASES:
        if case.op != op:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = computed(case)
            with versions_as_operands():
                found = computed(case)
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)


def test_kernels_are_given_versions() -> None:
    with versions_as_operands() as seen:
        wg.grad(lambda x: wg.sum(wg.sin(x[1:])))(np.ones(4))
    assert {"sin", "pad"} <= set(seen)


def test_lengths_and_operators_of_a_version() -> None:
    x = np.arange(1.0, 7).reshape(3, 2)
    version = BufferArray(x.copy())
    assert len(version) == 3
    np.testing.assert_array_equal(list(version), list(x))
    np.testing.assert_array_equal((2 / version) @ np.ones(2) - -version[:, 0], (2 / x) @ np.ones(2) + x[:, 0])
    np.testing.assert_array_equal(version > 2, x > 2)
