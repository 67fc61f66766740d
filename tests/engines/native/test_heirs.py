"""Values that take over the memory of what they are computed from: the same results, and no arrays that are not needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import wengert as wg
import wengert.numpy as wnp
from wengert._engines.native import engine
from wengert._engines.native.ir.loops import Alloc, Function
from wengert._engines.native.ir.renaming import walk


def lowered_of(f: Callable[..., Any], *arguments: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[Function]]:
    """What the compiled function gives, and what it was lowered to."""
    found: list[Function] = []
    lowered = engine.lowered

    def noted(*given: Any) -> Any:
        made = lowered(*given)
        found.append(made.function)
        return made

    monkeypatch.setattr(engine, "lowered", noted)
    return wg.function(f)(*arguments), found


def allocations(functions: list[Function]) -> int:
    return sum(type(item) is Alloc for f in functions for item in walk(f.body))


def log_sum_exp(x: Any) -> Any:
    top = wnp.max(x)
    return wnp.log(wnp.sum(wnp.exp(x - top))) + top


def test_a_gradient_is_where_the_exponentials_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exponentials, which the gradient alone needs in the end, need no array of their own."""
    x = np.random.default_rng(0).standard_normal(1000)
    both = wg.value_and_grad(log_sum_exp)
    (value, gradient), functions = lowered_of(both, x, monkeypatch=monkeypatch)
    assert allocations(functions) == 0
    np.testing.assert_allclose(value, np.log(np.sum(np.exp(x))), rtol=1e-13)
    np.testing.assert_allclose(gradient, np.exp(x) / np.sum(np.exp(x)), rtol=1e-12, atol=1e-16)


def chain(x: Any) -> Any:
    """Three stages, each of which needs the sum of the one before."""
    y = wnp.exp(x)
    z = wnp.sin(y / wnp.sum(y))
    return wnp.cos(z * wnp.sum(z))


def test_chains_end_at_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.linspace(-1, 1, 300)
    found, functions = lowered_of(chain, x, monkeypatch=monkeypatch)
    assert allocations(functions) == 0
    y = np.exp(x)
    z = np.sin(y / y.sum())
    np.testing.assert_allclose(found, np.cos(z * z.sum()), rtol=1e-13)


def reversed_(x: Any) -> Any:
    y = wnp.exp(x)
    return y * y[::-1] / wnp.sum(y)


def shifted(x: Any) -> Any:
    y = wnp.exp(x) / wnp.sum(x)
    total = wnp.sum(y)
    return wnp.concatenate([y[1:], y[:1]]) * y * total


def summed_again(x: Any) -> Any:
    """A reduction reads the value in the loop that writes the heir."""
    y = wnp.exp(x)
    scaled = y / wnp.sum(y)
    return scaled, wnp.sum(y * wnp.sum(y)), wnp.max(y)


def two_results(x: Any) -> Any:
    y, z = wnp.exp(x), wnp.sin(x)
    total = wnp.sum(y) + wnp.sum(z)
    return y * total, z * total, y - z


def running(x: Any) -> Any:
    y = wnp.exp(x)
    return wnp.cumsum(y / wnp.sum(y)) * y


def table(x: Any) -> Any:
    """Sums along either axis of a matrix."""
    y = wnp.exp(wnp.reshape(x[: x.shape[0] // 10 * 10], (-1, 10)))
    rows, columns = wnp.sum(y, axis=1, keepdims=True), wnp.sum(y, axis=0)
    return y / rows, y.T / wnp.sum(columns), y * columns


def given_back(x: Any) -> Any:
    """The value itself is a result."""
    y = wnp.exp(x)
    return y, y / wnp.sum(y)


def of_other_type(x: Any) -> Any:
    y = wnp.exp(x)
    total = wnp.sum(y)
    return (y > total / x.shape[0]), wnp.where(y > total / x.shape[0], y, -y)


def in_a_loop(x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        z = wnp.exp(y)
        w = z / wnp.sum(z)
        return y + w * wnp.sum(w * w)

    return wg.fori_loop(0, 4, step, x)


PROGRAMS = [
    reversed_, shifted, summed_again, two_results, running, table, given_back, of_other_type, in_a_loop, chain, log_sum_exp,
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [10, 13, 30, 61, 130, 1000])
@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_gradients_are_the_eager_ones(program: Any, size: int, dtype: Any) -> None:
    x = np.random.default_rng(size).uniform(-1, 1, size).astype(dtype)

    def total(x: Any) -> Any:
        return sum(wnp.sum(part * part) for part in wg.tree.leaves(program(x)) if part.dtype == dtype)

    for f in (program, wg.value_and_grad(total)):
        pairs = zip(wg.tree.leaves(wg.function(f)(x)), wg.tree.leaves(f(x)), strict=True)
        for ours, theirs in pairs:
            scale = np.max(np.abs(np.asarray(theirs, np.float64)))
            # float32's sums are added up in float64 here
            limit = 1e-12 if dtype is np.float64 else 2e-4
            np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=limit, atol=limit * scale)
