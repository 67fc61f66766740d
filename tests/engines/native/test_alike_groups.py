"""Groups of members that come again are lowered once: the same results, by calls of one function."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import wengert as wg
import wengert.numpy as wnp
from tests.support.modes import graph_of
from tests.support.native_checks import numpy_only
from wengert._engines.native.ir import accesses
from wengert._engines.native.ir.loops import Apply, For, Function, verify
from wengert._engines.native.ir.renaming import walk
from wengert._engines.native.lower import alike_groups
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._passes import optimise

STEPS = 30
X = np.linspace(0.1, 2.0, 40)
ROWS = np.random.default_rng(2).normal(size=(STEPS, 40))
unchecked = pytest.mark.skipif(accesses.is_on(), reason="code that checks accesses is in one piece")


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All groups that come again share a function, and nothing is kept from before."""
    monkeypatch.setenv("WENGERT_CACHE_DIR", "")
    monkeypatch.setattr(alike_groups, "AGAIN", 2)
    monkeypatch.setattr(alike_groups, "MUCH", 1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "a Python loop was unrolled")
        yield


def repeated(part: Callable[[Any, int], Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for k in range(STEPS):
            x = part(x, k)
        return x

    return f


PARTS: dict[str, Callable[[Any, int], Any]] = {
    "numbers that differ": lambda x, k: wg.sin(wg.cumsum(x) * (0.01 + 0.001 * k)) + (0.5 - 0.1 * k),
    "signs of zeros": lambda x, k: wg.copysign(wg.sort(x), wg.flip(x) * (0.0 if k % 2 else -0.0)) + 0.1,
    "one number or another": lambda x, k: wg.sort(x) * (1.5 if k % 3 else -0.5) + wnp.roll(x, 1) * 0.1,
    "totals": lambda x, k: wg.sort(x) / (1.0 + wg.sum(x * x)),
    "totals of rows": lambda x, k: wg.reshape(
        (y := wg.sort(wg.reshape(x, (5, 8)))) - 0.5 * wg.max(y, axis=1, keepdims=True), (40,)),
    "totals of columns": lambda x, k: wg.reshape(
        (y := wg.sort(wg.reshape(x, (5, 8)))) - 0.5 * wg.sum(y, axis=0), (40,)),
    "two of them": lambda x, k: (x - wg.min(x)) / (1 + wg.max(x) - wg.min(x)) + 0.1 * wg.sort(x),
    "parts at other places": lambda x, k: wg.concatenate([wg.sin(wg.sort(x)[k + 1 :]), wg.cos(x[: k + 1])]),
    "parts of constants": lambda x, k: wg.sort(x) * wg.tensor(ROWS)[k] * 0.1 + 1.0,
    "constants": lambda x, k: wg.sort(x) * ROWS[k] * 0.1 + 1.0,
    "one constant": lambda x, k: wg.sort(x) * ROWS[0] * 0.1 + wg.where(ROWS[1] > 0, 0.25, x),
    "arrays of one number": lambda x, k: wg.where((y := wg.sort(x)) > 0.1 * k, wg.clip(y, -1, 1 + 0.01 * k), 0.5 * x),
    "one number for several": lambda x, k: wg.maximum(wg.sort(x), c := np.full(40, 0.02 * (k % 3))) * (0.5 + c) + c,
    "arrays of zeros": lambda x, k: wg.copysign(wg.sort(x), np.full(40, 0.0 if k % 2 else -0.0)) + 0.1,
    "infinities and NaN": lambda x, k: wg.fmin(wg.sort(x), np.full(40, (np.inf, np.nan, 1.5)[k % 3])) * 0.9,
    "one number in single precision": lambda x, k: (
        wg.maximum(wg.sort(x).astype("float32"), np.full(40, 0.01 * k, "float32")).astype("float64") * 0.9),
    "numbers in registers": lambda x, k: wg.sin(wg.sort(x) * x[k % 3] + x[-1]),
    "one operand twice": lambda x, k: wg.sin(y := 0.1 * wg.cumsum(x)) * (y if k % 2 else wg.sort(x)),
    "taken at places": lambda x, k: wg.sin(wg.sort(x)[np.arange(40) * 7 % 40]),
    "chosen": lambda x, k: wg.where((y := wg.sort(x)) > 0.1 * k, wg.exp(-y), y * x),
    "other types": lambda x, k: wg.sort(x).astype("float32").astype("float64") + (wg.flip(x) > 0.5),
    "half floats": lambda x, k: (wg.sort(x).astype("float16") * 0.9 + 0.1 * k).astype("float64"),
    "whole numbers": lambda x, k: (wg.sort(x) * 8).astype("int64") * (k + 1) % 9 + 0.1 * x,
    "complex numbers": lambda x, k: wg.real(wg.exp(1j * wg.sort(x)) * (0.3 * x + 0.02j * k)),
    "running totals": lambda x, k: wg.cumsum(wg.sort(x), axis=0) * 0.05 + 0.01 * k,
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_groups_that_share_a_function_give_what_others_do(name: str) -> None:
    f = repeated(PARTS[name])
    loss = lambda x: wg.sum(f(x) * np.linspace(0.5, 1.5, 40))
    value, slope = wg.function(f)(X), wg.function(wg.grad(loss))(X)
    with numpy_only():
        wanted, wanted_slope = f(X), wg.grad(loss)(X)
    np.testing.assert_allclose(value, wanted, rtol=1e-10, atol=1e-13)  # sums in another order
    np.testing.assert_array_equal(np.signbit(value), np.signbit(wanted))
    np.testing.assert_allclose(slope, wanted_slope, rtol=1e-9, atol=1e-12)  # sums in another order, which cancel


def lowered_by(f: Callable[..., Any], *args: Any) -> Function:
    """The loops that a function of arrays is lowered to."""
    return lowered(ready(optimise(graph_of(f, *args))), "f").function


@unchecked
@pytest.mark.parametrize(
    "name", ["numbers that differ", "totals", "totals of columns", "constants", "chosen", "arrays of one number"]
)
def test_groups_are_lowered_once(name: str) -> None:
    function = lowered_by(repeated(PARTS[name]), X)
    verify(function)
    calls = [item.piece for item in walk(function.body) if type(item) is Apply]
    assert max(map(calls.count, calls)) >= STEPS - 3


@unchecked
def test_sizes_that_differ_are_no_reason_to_read_another_array() -> None:
    """Slices of one array, of which each begins and ends elsewhere."""

    def f(x: Any) -> Any:
        total = 0.0
        for k in range(STEPS):
            total = total + wg.sum(wg.sin(x[k : k + 9]) * x[30 - k : 39 - k])
        return total

    np.testing.assert_allclose(wg.function(f)(X), f(X), rtol=1e-12)  # sums in another order
    np.testing.assert_allclose(wg.function(wg.grad(f))(X), wg.grad(f)(X), rtol=1e-12)  # sums in another order


@unchecked
def test_groups_that_threads_share_or_that_take_long_are_no_pieces() -> None:
    def f(x: Any) -> Any:
        for k in range(STEPS):
            x = wg.sin(wg.flip(x)) * (0.5 + 0.01 * k)
        return x

    def loops(size: int) -> tuple[bool, bool]:
        function = lowered_by(f, np.linspace(0.1, 2.0, size))
        items = [*walk(function.body)]
        return any(type(x) is Apply for x in items), any(type(x) is For and x.work is not None for x in items)

    assert loops(40) == (True, False)
    assert loops(1_000_000) == (False, True)
