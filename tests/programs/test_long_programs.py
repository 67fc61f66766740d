"""Programs that are longer than Python's stack is deep compile as short ones do: no pass calls itself once per op."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

STEPS = 600  # two calls for each are more than Python allows
X = np.arange(8.0) / 8
SHUFFLED = np.array([0, 3, 5])


def chain(x: Any) -> Any:
    for step in range(STEPS):
        x = wg.sin(x) * 1.01 if step % 2 else wg.cos(x)
    return x


def turned(x: Any) -> Any:
    x = wg.reshape(x, (2, 4))
    for _ in range(STEPS):
        x = wg.sin(wg.transpose(x))
    return wg.sum(x[0])


def written(x: Any) -> Any:
    y = x * 1.0
    for step in range(STEPS):
        y = y.at[step % 8].set(wg.sin(y[(step + 1) % 8]))
    return wg.sum(y[:4])


def halves(y: Any) -> Any:
    middle = y.shape[0] // 2
    return wg.sum(y[:middle] * 2) + wg.sum(y[middle:] * 3)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "parts of computed": lambda x: halves(chain(x)),
    "places of computed": lambda x: wg.sum(chain(x)[SHUFFLED] * 2),
    "places of constants": lambda x: wg.sum((x * chain(wg.tensor(np.ones(8))))[SHUFFLED]),
    "parts of joined": lambda x: halves(chain(wg.concatenate([x, x * 2]))),
    "places of joined": lambda x: wg.sum(chain(wg.concatenate([x, x * 2]))[SHUFFLED * 2]),
    "turned": turned,
    "written": written,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:a Python loop was unrolled")
@pytest.mark.parametrize("name", PROGRAMS)
def test_long_programs_compile(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert sys.getrecursionlimit() < 2 * STEPS
    both = wg.value_and_grad(PROGRAMS[name])
    with caplog.at_level(logging.WARNING, "wengert"):
        found = wg.function(both)(X)
    assert not caplog.records, caplog.text
    for got, wanted in zip(found, both(X), strict=True):
        # a sine of ours and one of NumPy's may differ in the last bit, at each of the steps
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-14)


@pytest.mark.filterwarnings("ignore:a Python loop was unrolled")
def test_sparse_derivatives_of_long_programs_compile() -> None:
    data = wg.function(wg.jacobian(chain, sparsity="detect"))(X)  # of the CSR: the diagonal, by its pattern
    np.testing.assert_allclose(data, wg.vjp(chain, X)[1](np.ones(8))[0], rtol=1e-10)
