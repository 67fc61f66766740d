"""Positions that a graph bounds are not looked through before they are used; all others are, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

RNG = np.random.default_rng(0)
X, Y, I = RNG.normal(size=40), RNG.normal(size=40), RNG.integers(0, 40, 100)


def checks(f: Callable[..., Any], arguments: tuple[Any, ...], capfd: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the loops of a program end it for a position that lies outside."""
    monkeypatch.setenv("WENGERT_DUMP", "loops")
    capfd.readouterr()
    found = wg.function(f)(*arguments)
    np.testing.assert_allclose(found, f(*arguments), rtol=1e-14)
    return capfd.readouterr().err.count("return 3")


BOUNDED = {
    "clipped": lambda x, i: x[np.clip(i * 3 - 7, 0, 39)],
    "a remainder": lambda x, i: x[(i + 17) % 40],
    "a remainder from the end": lambda x, i: x[(i + 17) % 40 - 40],
    "the least of a minimum and the largest of a maximum": lambda x, i: x[np.maximum(np.minimum(i, 12), -3)],
    "a search": lambda x, i: x[np.searchsorted(np.sort(x)[:39], x)],
    "an order": lambda x, i: x[np.argsort(x)] + x[np.argsort(x) - 40],
    "a best place": lambda x, i: x[np.argmax(np.stack([x, 2 * x]), axis=0)],
    "counted": lambda x, i: x[np.arange(35) + 5],
    "half of what is bounded": lambda x, i: x[np.clip(i, 0, 79) // 2],
    "chosen": lambda x, i: x[np.where(i > 20, i % 7, i % 11 + 29)],
    "of few bits": lambda x, i: x[(i % 40).astype(np.int8)],
    "gathered": lambda x, i: x[(np.arange(40) * 3 % 40)[i]],
    "interpolation": lambda x, i: np.interp(i * 0.1, np.sort(x), x),
}  # fmt: skip
UNBOUNDED = {
    "clipped too far": lambda x, i: x[np.clip(i * 3 - 7, 0, 40)],
    "a remainder that is moved": lambda x, i: x[(i + 17) % 40 + 1],
    "counted too far": lambda x, i: x[np.arange(40) + i[:40]],
    "by a number that may be negative": lambda x, i: x[(i + 17) % (i - 50)],
    "beyond what few bits hold": lambda x, i: x[(i % 40).astype(np.int8) * np.int8(100)],
    "known on one side": lambda x, i: x[np.minimum(i - 38, 12)],
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in BOUNDED if n != "gathered"])
def test_bounded_positions_are_not_looked_through(name: str, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks(BOUNDED[name], (X, I), capfd, monkeypatch) == 0
    if name != "interpolation":
        squared = lambda x, i: np.sum(BOUNDED[name](x, i) ** 2)
        assert checks(wg.grad(squared), (X, I), capfd, monkeypatch) == 0


@pytest.mark.parametrize("name", UNBOUNDED)
def test_positions_that_may_lie_outside_are(name: str) -> None:
    f = UNBOUNDED[name]
    for i in (I, I % 2, np.full(100, 39), np.full(100, 3)):
        try:
            expected = f(X, i)
        except IndexError:
            with pytest.raises(IndexError, match="out of bounds"):
                wg.function(f)(X, i)
        else:
            np.testing.assert_array_equal(wg.function(f)(X, i), expected)


def test_positions_are_looked_through_once(capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks(lambda x, y, i: x[i] * y[i] + x[i] * x[i], (X, Y, I), capfd, monkeypatch) == 1
    assert checks(lambda x, y, i: x[i] * y[:39][i % 39], (X, Y, I), capfd, monkeypatch) == 1
    assert checks(wg.grad(lambda x, y, i: np.sum(x[i] * y[i])), (X, Y, I), capfd, monkeypatch) == 1


@pytest.mark.parametrize("bad", [40, -41])
def test_positions_that_were_written_to_are_looked_through_anew(bad: int) -> None:
    def f(x: Any, i: Any, j: Any) -> Any:
        i = i * 1
        before = np.sum(x[i])
        i[j] = bad
        return before + np.sum(x[i])

    with pytest.raises(IndexError, match="out of bounds"):
        wg.function(f)(X, I, np.array([3, 5, 99]))


@pytest.mark.parametrize("length", [3000, 100_000])
def test_positions_that_are_computed_for_one_lookup_are_not_stored(length: int) -> None:
    x = np.random.default_rng(1).standard_normal(length + 20)

    def f(x: Any) -> Any:
        return np.max(x[wnp.arange(length)[:, None] + wnp.arange(20)], -1)

    compiled = wg.function(f)
    np.testing.assert_array_equal(compiled(x), f(x))
    assert compiled.report(x).memory < 16 * length + 8192  # all positions would be 160 times the length
