"""What is equal is computed once in compiled functions, by ops with several results, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.modes import graph_of
from wengert._passes import optimise

X = np.random.default_rng(0).normal(size=(5, 3, 3))

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "svd": lambda x: wg.linalg.svd(x)[0] + wg.linalg.svd(x)[2],
    "qr": lambda x: wg.linalg.qr(x)[0] + wg.linalg.qr(x)[1],
    "eigh": lambda x: wg.linalg.eigh(x)[0][..., None] * wg.linalg.eigh(x)[1],
    "slogdet": lambda x: wg.linalg.slogdet(x)[0] * wg.linalg.slogdet(x)[1],
    "unstack": lambda x: sum([*x]) * sum([*x]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_factors_of_the_same_matrices_are_computed_once(name: str) -> None:
    f = PROGRAMS[name]
    names = [node.op.name for node in optimise(graph_of(f, X)).nodes]
    assert names.count(name) <= 1
    wanted = wg.grad(lambda x: wg.sum(f(x)))(X)
    np.testing.assert_allclose(wg.function(wg.grad(lambda x: wg.sum(f(x))))(X), wanted, rtol=1e-9, atol=1e-9)


def test_factors_of_other_matrices_or_rules_are_others() -> None:
    def f(x: Any) -> Any:
        lower, upper = wg.linalg.eigh(x)[0], wg.linalg.eigh(x, UPLO="U")[0]
        return lower + upper + wg.linalg.eigh(2.0 * x)[0]

    assert [node.op.name for node in optimise(graph_of(f, X)).nodes].count("eigh") == 3


def test_loops_that_are_alike_stay_what_they_are() -> None:
    """They hold programs, and what they keep for a backward pass has one reader."""

    def f(x: Any) -> Any:
        def once() -> Any:
            return wg.scan(lambda c, _: (wg.sin(c) * x, c), x, None, length=4)[0]

        return wg.sum(once() * once())

    np.testing.assert_allclose(wg.function(wg.grad(f))(X), wg.grad(f)(X), rtol=1e-12)
