"""A new size is a new trace and the same kernel."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from tests.support.native_checks import noted_modules
from wengert._engines.native import engine
from wengert._engines.native.ir import accesses
from wengert._engines.native.llvm import jit
from wengert._engines.native.plan import sizes

RNG = np.random.default_rng(21)


def _inner(c: Any) -> Any:
    return wg.fori_loop(0, 3, lambda j, d: d + 0.1 * wg.sin(d), c)


def _chosen(i: Any, c: Any) -> Any:
    return wg.cond(wg.sum(c) > 0.0, lambda: c * 0.5 - 0.3, lambda: wg.exp(c * 0.1))


SHIFTED: dict[str, Callable[[Any], Any]] = {
    "differences": lambda x: np.diff(x, 2) ** 3,
    "differences of differences": lambda x: np.diff(x, 9) ** 3,
    "rolled": lambda x: (np.roll(x, 1) - x) * np.roll(x, -2) ** 2,
    "padded": lambda x: np.pad(x, (3, 5)) ** 3 * np.pad(x, (5, 3)),
    "repeated at the edges": lambda x: np.pad(x, (3, 5), mode="edge") ** 3,
    "reflected": lambda x: np.pad(x, (4, 2), mode="reflect") ** 3,
    "joined": lambda x: np.concatenate([x[-3:] * 2, x, x[:2]]) ** 3,
    "a stencil": lambda x: np.concatenate([x[:1], (x[2:] + x[:-2] - 2 * x[1:-1]) ** 3, x[-1:]]) * x,
    "of columns": lambda x: np.diff(np.outer(x, x[:70]), axis=0) ** 3,
    "of rows and columns": lambda x: np.pad(np.outer(x, x), ((1, 0), (0, 2)))[:-1, 2:] ** 3,
    "columns side by side": lambda x: np.stack([x, x * 2, x**2], axis=1) ** 2,
    "cross products": lambda x: np.cross(np.stack([x, x * 2, x**2], 1), np.stack([x[::-1], x, x], 1)) ** 2,
    "the largest": lambda x: np.sort(x)[-3:] ** 2 * np.median(x),
    "summed up": lambda x: np.cumsum(np.diff(x) * x[1:]) ** 2,
}


@pytest.mark.parametrize("f", SHIFTED.values(), ids=[*SHIFTED])
def test_what_is_shifted_a_little_is_right_at_any_size(f: Callable[[Any], Any]) -> None:
    """The code of all sizes but the first knows of extents only that they are large, and by how much they differ."""
    slope = wg.grad(lambda x: np.sum(f(x) * 0.7))
    for n in (200, 150, 101, 98, 97, 96, 70, 67, 66, 65, 64, 63):
        x = RNG.standard_normal(n)
        np.testing.assert_allclose(wg.function(f)(x), f(x), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(wg.function(slope)(x), slope(x), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["differences", "rolled", "padded", "joined", "a stencil"])
def test_what_is_shifted_a_little_is_not_copied_at_any_size(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros were written and parts copied into them at each size but the first, in up to 4 times the time."""
    dumped = io.StringIO()
    monkeypatch.setattr("sys.stderr", dumped)
    monkeypatch.setenv("WENGERT_DUMP", "loops")
    for n in (4000, 3000):
        slope = wg.function(wg.grad(lambda x: np.sum(SHIFTED[name](x))))
        slope(RNG.standard_normal(n))
    first, second = (text.count("alloc") for text in dumped.getvalue().split("; -- loops")[1:])
    assert " = 0\n" not in "".join(l for l in dumped.getvalue().splitlines(True) if "fill" in l)
    assert second == first


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "value and gradient": (
        wg.value_and_grad(lambda x: wg.sum(x * wg.sin(x))), lambda n: (RNG.normal(size=n),)
    ),
    "products": (
        lambda x, w: wg.grad(lambda w: wg.sum(wg.tanh(wg.matmul(x, w))))(w),
        lambda n: (RNG.normal(size=(n, 20)), RNG.normal(size=(20, 10))),
    ),
    "shapes": (
        lambda x: wg.sum(wg.concatenate([wg.flip(x, 0), wg.reshape(x, (-1,))[: x.shape[0] * 2].reshape(x.shape)]) ** 2),
        lambda n: (RNG.normal(size=(n, 2)),),
    ),
    "rows of rows": (
        wg.grad(lambda x: wg.sum(wg.exp(x - wg.max(x, axis=1, keepdims=True)) / 7)),
        lambda n: (RNG.normal(size=(n, 3 * n)),),
    ),
    "a constant of each size": (
        wg.value_and_grad(lambda x: wg.sum(x * np.cos(np.arange(3.0 * x.shape[0] ** 2)).reshape(3, *x.shape) ** 2)),
        lambda n: (RNG.normal(size=(n, n)),),
    ),
    "a loop": (
        wg.value_and_grad(lambda x: wg.sum(wg.fori_loop(0, 20, lambda i, c: c + 0.05 * wg.sin(c * (i + 1.0)), x))),
        lambda n: (RNG.normal(size=n),),
    ),
    "a loop over rows": (
        wg.value_and_grad(lambda x: wg.sum(wg.scan(lambda c, r: (wg.tanh(c * 0.9 + wg.sum(r)), c), 0.5, x)[1] ** 2)),
        lambda n: (RNG.normal(size=(n, 3)),),
    ),
    "a loop over long rows": (
        wg.value_and_grad(lambda x: wg.sum(wg.scan(lambda c, r: (wg.tanh(c + r), wg.sum(c * r)), x[0], x)[1])),
        lambda n: (RNG.normal(size=(n, n + 30)),),
    ),
    "a loop until": (
        wg.value_and_grad(lambda x: wg.sum(wg.while_loop(lambda c: wg.sum(c * c) < 1e5, lambda c: c * 1.1, x))),
        lambda n: (RNG.normal(size=n) / np.sqrt(n),),
    ),
    "a loop in a loop": (
        wg.value_and_grad(lambda x: wg.sum(wg.fori_loop(0, 5, lambda i, c: 0.9 * _inner(c), x))),
        lambda n: (RNG.normal(size=n),),
    ),
    "branches": (
        wg.value_and_grad(lambda x: wg.sum(wg.fori_loop(0, 6, _chosen, x))), lambda n: (RNG.normal(size=n),)
    ),
    "snapshots": (
        wg.value_and_grad(lambda x: wg.sum(wg.fori_loop(0, 20, lambda i, c: wg.sin(c), x, checkpoint="sqrt"))),
        lambda n: (RNG.normal(size=n),),
    ),
    "mean and slices": (
        wg.grad(lambda x: wg.mean((x[1:] - x[:-1]) ** 2)), lambda n: (RNG.normal(size=n),)
    ),
}  # fmt: skip


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules that LLVM compiled, but for the libraries that come with the first one."""
    monkeypatch.setattr(sizes, "_seen", type(sizes._seen)())
    monkeypatch.setattr(jit, "_recent", jit._Recent())  # other tests compile the same
    monkeypatch.setattr(jit, "_alive", type(jit._alive)())
    return noted_modules(monkeypatch, "entry")


def flat(tree: Any) -> list[Any]:
    return [np.asarray(x) for x in (tree if isinstance(tree, tuple) else (tree,))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_large_sizes_share_a_kernel(name: str, kernels: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if accesses.is_on() and name == "a constant of each size":
        pytest.skip("code that checks its accesses knows how long constants are")
    f, draw = PROGRAMS[name]
    compiled = wg.function(f)
    counts: list[int] = []
    for n in (100, 150, 301, 1000):
        operands = draw(n)
        compiled(*operands)
        found = flat(compiled(*operands))
        counts.append(len(kernels))
        with wg.eager():
            wanted = flat(compiled(*operands))
        for ours, theirs in zip(found, wanted, strict=True):
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)  # sums in another order
    assert compiled.trace_count == 4
    assert counts[1] == 2 * counts[0]  # the first are special, the second ones are for all
    assert counts[1:] == [counts[1]] * 3


@pytest.mark.parametrize("policy", ["all", "auto", "sqrt", 5])
def test_both_halves_of_a_gradient_share_kernels(policy: Any, kernels: list[str]) -> None:
    """The forward half and the backward pass, between them histories or stacks of a length that the run tells."""

    def f(x: Any) -> Any:
        return wg.sum(wg.while_loop(lambda c: wg.sum(c * c) < 1e5, lambda c: c * 1.1, x, checkpoint=policy))

    g = wg.grad(wg.function(f))
    counts: list[int] = []
    for n in (100, 150, 301, 1000):
        x = RNG.normal(size=n) / np.sqrt(n)
        g(x)
        found = g(x)
        counts.append(len(kernels))
        with wg.eager():
            np.testing.assert_allclose(found, wg.grad(f)(x), rtol=1e-11)  # sums in another order
    assert counts == [2, 4, 4, 4]


def test_small_sizes_have_kernels_of_their_own(kernels: list[str]) -> None:
    compiled = wg.function(PROGRAMS["value and gradient"][0])
    for n in (5, 6, 7):
        compiled(RNG.normal(size=n))
        compiled(RNG.normal(size=n))
    assert len(kernels) == 3


def test_an_input_signature_gives_one_trace_and_one_kernel(kernels: list[str]) -> None:
    f, draw = PROGRAMS["value and gradient"]
    compiled = wg.function(f, input_signature=[wg.TensorSpec((None,))])
    for n in (3, 100, 1000, 5):
        (x,) = draw(n)
        compiled(x)
        np.testing.assert_allclose(compiled(x)[1], np.sin(x) + x * np.cos(x), rtol=1e-13, atol=1e-15)  # libmvec's sin
    assert compiled.trace_count == 1
    assert len(kernels) == 1


def test_equal_code_is_loaded_once() -> None:
    x = RNG.normal(size=9)
    one, two = wg.function(lambda x: wg.sin(x) * 3.5), wg.function(lambda x: wg.sin(x) * 3.5)
    np.testing.assert_array_equal(one(x), two(x))
    assert engine.has_llvm()
    loaded = [code_of(f, x).loaded for f in (one, two)]
    assert loaded[0] is loaded[1]


def code_of(f: Any, x: Any) -> Any:
    ((_, form),) = f.traces
    form.run_natives([x])
    return form.executable.entry(None)


LOOPS: dict[str, Callable[[Any], Any]] = {
    "a loop": lambda x: wg.fori_loop(0, 20, lambda i, c: c + 0.05 * wg.sin(c * (i + 1.0)), x),
    "a loop until": lambda x: wg.while_loop(lambda c: wg.sum(c * c) < 3.0, lambda c: c + 0.01 * wg.cos(c), x * 0.0),
    "a loop over long rows": lambda x: wg.scan(lambda c, r: (wg.tanh(c + r), wg.sin(c * r)), x, wg.outer(ROWS, x))[1],
    "a loop in a loop": lambda x: wg.fori_loop(0, 5, lambda i, c: 0.9 * _inner(c), x),
    "branches": lambda x: wg.fori_loop(0, 6, _chosen, x),
}
ROWS = np.linspace(0.1, 1.0, 30)


@pytest.mark.parametrize("is_around", [True, False], ids=["gradient around", "gradient inside"])
@pytest.mark.parametrize("name", LOOPS)
def test_the_memory_budget_holds_for_sizes_known_at_run_time(
    name: str, is_around: bool, kernels: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    def f(x: Any) -> Any:
        return wg.sum(LOOPS[name](x))

    gradient = wg.grad(wg.function(f)) if is_around else wg.function(wg.grad(f))
    for n in (1000, 1500, 2000):
        x = np.linspace(0.1, 1.0, n) / np.sqrt(n)
        wanted = gradient(x)
        wg.set_memory_budget(20_000)
        try:
            with caplog.at_level(logging.INFO, "wengert"):
                found = gradient(x)
        finally:
            wg.set_memory_budget(2 * 1024**3)
        assert any("given up its history" in r.getMessage() for r in caplog.records), n
        caplog.clear()
        np.testing.assert_allclose(found, wanted, rtol=1e-12)  # loops may be vectorised differently
