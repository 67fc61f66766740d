"""Long loops go in strips, between which the user can interrupt; what they compute stays the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import wengert as wg
from wengert._engines.native import engine
from wengert._engines.native.ir import strips
from wengert._engines.native.ir.loops import For, Function, If, Poll, blocks_of
from wengert._engines.native.plan import sizes

PLACES = np.array([3, 0, 3, 2, 9, 9, 1, 3, 7, 8, 0, 5])
X = np.linspace(-1.0, 2.0, 12)

PROGRAMS: dict[str, Any] = {
    "the place of the largest": lambda x: wg.argmax(x, 0),
    "places along the first axis": lambda x: wg.argmax(wg.reshape(wg.sin(x * 9), (-1, 3)), 0),
    "updates": lambda x: wg.ops.segment_sum(x, PLACES, 10),
    "updates of rows": lambda x: wg.ops.segment_sum(wg.reshape(x, (-1, 3)), PLACES[:4], 10),
    "elements from anywhere": lambda x: wg.sin(x)[PLACES] + 1.0,
    "a matrix turned": lambda x: wg.transpose(wg.reshape(x, (3, 4))) * 2.0,
    "a product of whole numbers": lambda x: wg.reshape(x * 9, (3, 4)).astype("int64") @ np.arange(8).reshape(4, 2),
    "triangles": lambda x: wg.linalg.solve_triangular(wg.eye(4) * 3.0 + wg.reshape(x, (3, 4))[0], wg.reshape(x, (4, 3))),
    "little systems": lambda x: wg.linalg.solve(wg.reshape(x[:8], (2, 2, 2)) + 3 * wg.eye(2), wg.reshape(x[8:], (2, 2, 1))),
    "large factors": lambda x: wg.linalg.cholesky(wg.eye(30) * 9.0 + wg.sum(x) * 0.01),
    "copies": lambda x: wg.concatenate([x, wg.sin(x), x]),
    "a loop": lambda x: wg.fori_loop(0, 5, lambda i, y: wg.ops.segment_sum(wg.sin(y), PLACES, 12), x),
}  # fmt: skip


@pytest.fixture
def tiny_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strips, "STRIP", 3.0)
    monkeypatch.setattr(strips, "LONG_COPY", 2)


@pytest.mark.usefixtures("tiny_strips")
@pytest.mark.parametrize("name", PROGRAMS)
def test_strips_give_the_same_results(name: str) -> None:
    f = PROGRAMS[name]
    np.testing.assert_allclose(wg.function(lambda x: f(x))(X), f(X), rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("tiny_strips")
@pytest.mark.parametrize("count", [0, 1, 2, 5, 30])
def test_strips_of_extents_that_only_the_run_tells(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any, places: Any) -> Any:
        first = wg.ops.segment_sum(x, places, 7)
        rows = wg.sin(x)[places % 3 % wg.maximum(count, 1)] if count else wg.sin(x)
        return first, wg.concatenate([rows, x]), wg.cumsum(x)

    monkeypatch.setattr(sizes, "_seen", type(sizes._seen)())
    compiled = wg.function(lambda x, places: f(x, places))
    rng = np.random.default_rng(0)
    for n in (11, 12, count):  # the code of the second one is for all sizes
        x, places = rng.normal(size=n), rng.integers(0, 7, n)
        for found, wanted in zip(compiled(x, places), f(x, places), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


def turns_in_one_piece(function: Function) -> float:
    """The most iterations of loops in one another that nobody can interrupt."""

    def most(block: Any) -> float:
        found = 1.0
        for item in block:
            inner = max([1.0, *map(most, blocks_of(item))])
            if type(item) is For:
                asks = item.work is not None or any(map(_asks, item.body))  # threads ask between its parts
                stop, start = (n if type(n) is int else 0 for n in (item.stop, item.start))
                inner = inner if asks else inner * max(stop - start, 1)
            found = max(found, inner)
        return found

    return most(function.body)


def _asks(item: Any) -> bool:
    return type(item) is Poll or (type(item) is If and any(map(_asks, item.then)))


HUGE: dict[str, Any] = {
    "places along the first axis": lambda x: wg.argmax(wg.reshape(x, (-1, 10)), 0),
    "updates": lambda x: wg.ops.segment_sum(x, wg.abs(x).astype("int64"), 10),
    "the last of updates": lambda x: wg.zeros(10).at[wg.abs(x).astype("int64")].set(x),
    "elements from anywhere": lambda x: wg.sin(x)[wg.abs(x).astype("int64")],
    "a product of whole numbers": lambda x: wg.reshape(x, (1000, -1)).astype("int64") @ np.ones((1000, 9), int),
    "little systems": lambda x: wg.linalg.inv(wg.reshape(x, (-1, 2, 2))),
    "middling systems": lambda x: wg.linalg.det(wg.reshape(x, (-1, 50, 50))),
    "factors of little matrices": lambda x: wg.linalg.cholesky(wg.reshape(x, (-1, 20, 20))),
    "a stretch of a buffer": lambda x: wg.fori_loop(0, 2, lambda i, y: y.at[5:-5].set(y[10:]), x),
}


@pytest.mark.parametrize("name", HUGE)
def test_no_long_loop_is_in_one_piece(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[float] = []

    def watched(*args: Any, **kwargs: Any) -> Any:
        made = whole(*args, **kwargs)
        found.append(turns_in_one_piece(made.function))
        return made

    whole = engine.lowered
    monkeypatch.setattr(engine, "lowered", watched)
    x = np.zeros(1_000_000)
    x[::51] = 2.0  # matrices of 50 rows, and smaller ones, have an inverse
    f = wg.function(lambda x: HUGE[name](x))
    if name == "factors of little matrices":
        x = np.tile(np.eye(20).reshape(-1), 2500)
    elif name == "little systems":
        x = np.tile([1.0, 0.0, 0.0, 1.0], 250_000)
    f(x)
    assert found
    assert max(found) < 200_000
