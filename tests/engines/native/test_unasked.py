"""Long functions get no number where nobody asks for theirs: which do, and that no value changes by it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._core.op import REGISTRY
from wengert._engines.native.plan.prepare import ready
from wengert._engines.native.plan.unasked import LONG
from wengert._passes import optimise

S = wg.special
RNG = np.random.default_rng(0)
X, A = RNG.uniform(0.1, 6, (2, 40))


def spared(f: Callable[..., Any], *xs: Any) -> list[bool]:
    """Of each long function in a program whether its first operand is chosen beside NaN."""
    graph = ready(optimise(wg.function(f).trace(*xs)))
    makers = {value.key: node for node in graph.nodes for value in node.outputs}
    found: list[bool] = []
    for node in graph.nodes:
        if node.op.name in LONG:
            maker = makers.get(node.inputs[0].key)
            last = makers.get(maker.inputs[-1].key) if maker is not None and maker.op.name == "select" else None
            found.append(last is not None and last.op.name == "full" and bool(np.isnan(last.attrs[1])))
    return found


def both(a: Any, x: Any) -> Any:
    return wg.where(x < a, S.gammainc(a, x), S.gammaincc(a, x))


def nested(a: Any, x: Any) -> Any:
    return wg.where(x < 1.0, x, wg.where(x < 3.0, wg.log(S.gammainc(a, x)), -S.gammaincc(a, x)))


def from_either(a: Any, x: Any) -> Any:
    share = S.gammainc(a, x)
    return wg.where(x < 1.0, share, 0.0) + wg.where(x > 4.0, wg.sqrt(share), 1.0)


def by_its_own_value(a: Any, x: Any) -> Any:
    share = S.gammainc(a, x)
    return wg.where(share < 0.5, share, S.gammaincc(a, x))


def by_each_other(a: Any, x: Any) -> Any:
    one, two = S.gammainc(a, x), S.gammaincc(a, x)
    first = wg.where(x < 3.0, one, 0.5)
    second = wg.where(first < 0.4, two, 0.25)
    return first + wg.where(second < 0.3, one, 0.125)


def also_summed(a: Any, x: Any) -> Any:
    share = S.gammainc(a, x)
    return wg.where(x < 3.0, share, 0.0) + wg.sum(share)


def broadcast_afterwards(a: Any, x: Any) -> Any:
    share = S.gammainc(a, x)
    return wg.where((x < 3.0)[:, None] & (a > 1.0), share, 0.0)


def in_a_scan(a: Any, x: Any) -> Any:
    return wg.scan(lambda c, v: (c + both(a, v), wg.sum(c)), 0.0 * a, x[:3])[0]


PROGRAMS: dict[Callable[..., Any], list[bool] | None] = {
    both: [True, True], nested: [True, True], from_either: [True], by_its_own_value: [False, True],
    by_each_other: None, also_summed: [False], broadcast_afterwards: [False], in_a_scan: None,
}  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_functions_are_spared_where_nobody_asks(f: Callable[..., Any]) -> None:
    wanted = PROGRAMS[f]
    assert wanted is None or sorted(spared(f, A, X)) == sorted(wanted)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("f", PROGRAMS)
def test_no_value_and_no_slope_changes(f: Callable[..., Any], dtype: Any) -> None:
    a, x = A.astype(dtype), X.astype(dtype)
    x[:3] = np.nan, np.inf, 0.0
    x[:3] = (0.5, 0.25, 0.0) if f is in_a_scan else x[:3]
    rtol = 40 * float(np.finfo(dtype).eps)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(wg.function(f)(a, x), f(a, x), rtol=rtol)
        gradient = wg.grad(lambda a, x: wg.sum(f(a, x)[3:]), argnums=(0, 1))
        for ours, wanted in zip(wg.function(gradient)(a, x), gradient(a, x), strict=True):
            np.testing.assert_allclose(ours, wanted, rtol=100 * rtol, atol=rtol)


@pytest.mark.parametrize("name", sorted(LONG))
def test_nothing_gives_nothing_without_a_warning(name: str) -> None:
    """The first operand alone decides, in vectors and of one number; no count is enough for no number."""
    op = REGISTRY[name]
    attrs = {attr: False if attr == "upper" else 0 for attr in op.attrs}
    ends = (0.0, 0.5, 1.0, 3.0, 1e4, np.inf, -1.0, np.nan)
    rest = np.array([*itertools.product(ends, repeat=len(op.operands) - 1)]).T
    first = np.full(rest.shape[-1], np.nan)
    for xs in ((first, *rest), (first[:1], *rest[:, 3:4])):
        with np.errstate(all="raise"):
            found = np.asarray(wg.function(lambda *xs: op(*xs, **attrs))(*xs))
        # in SciPy 1.13 those of gamma are 0 and 1 beside 0 and infinity
        wanted = getattr(special, name)(*xs) if name in ("gammainc", "gammaincc") else np.full(found.shape, np.nan)
        assert not np.isfinite(found[~np.isfinite(wanted)]).any()


DENSITIES = [(wg.stats.t, (3.0,)), (wg.stats.gamma, (2.5,)), (wg.stats.beta, (2.0, 3.0)), (wg.stats.chi2, (4.0,))]


@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf", "ppf"])
@pytest.mark.parametrize(("distribution", "shapes"), DENSITIES, ids=[d.name for d, _ in DENSITIES])
def test_masses_and_quantiles_are_the_eager_ones(distribution: Any, shapes: tuple[float, ...], method: str) -> None:
    f = getattr(distribution, method)
    x = np.concatenate([np.linspace(-1.0, 5.0, 50), [1e-9, 1e9, -1e9, np.inf, -np.inf, np.nan, 0.0]])
    xs = (np.linspace(0.0, 1.0, 50) if method == "ppf" else x, *shapes)
    np.testing.assert_allclose(wg.function(f)(*xs), f(*xs), rtol=2e-13, atol=1e-300)
    gradient = wg.grad(lambda *xs: wg.sum(f(*xs)), argnums=(*range(len(xs)),))
    inner = (xs[0][1:49], *shapes)
    for ours, wanted in zip(wg.function(gradient)(*inner), gradient(*inner), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-11, atol=1e-14)
