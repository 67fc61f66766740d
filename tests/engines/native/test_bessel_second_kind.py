"""Modified Bessel functions of the second kind, of whole orders, as vector code: values, special ones, derivatives."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import special

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._engines.special_numerics import KV_MOST
from wengert._passes import optimise

mp = pytest.importorskip("mpmath", reason="values with many digits are mpmath's, which comes with PyTorch")

ORDERS = (0, 1, 2, 5, -3, KV_MOST)
SPECIAL = np.array([0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, 1e300, 2e9, 800.0, 740.0, 705.0, 1e-310, 1e-20, 5e-324])


def samples(dtype: Any) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(4)
    ranges = [rng.uniform(*ends, 12) for ends in ((0, 2), (1.8, 2.2), (2, 8), (8, 80))]
    return np.concatenate([*ranges, 10 ** rng.uniform(-3, 0, 12), [2.0, np.nextafter(2, 0)]]).astype(dtype)


@functools.cache
def exact(dtype: Any, order: int) -> list[Any]:
    """By the recurrence, which loses nothing, from orders 0 and 1."""
    with mp.workdps(25):
        if order < 2:
            return [mp.besselk(order, mp.mpf(float(v))) for v in samples(dtype)]
        before, here = exact(dtype, order - 2), exact(dtype, order - 1)
        return [b + 2 * (order - 1) * h / float(v) for b, h, v in zip(before, here, samples(dtype), strict=True)]


def of_order(name: str, order: int) -> Any:
    return lambda x: getattr(special, name)(order, x)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["kv", "kve"])
def test_values_are_exact_to_some_units(name: str, order: int, dtype: Any) -> None:
    x = samples(dtype)
    compiled = wg.function(of_order(name, order))
    found = np.asarray(compiled(x), np.float64)
    with mp.workdps(25):
        factors = [mp.exp(float(v)) if name == "kve" else 1 for v in x]
        wanted = np.array([float(k * factor) for k, factor in zip(exact(dtype, abs(order)), factors, strict=True)])
    inside = (wanted > np.finfo(dtype).tiny) & (wanted < np.finfo(dtype).max)
    assert inside.sum() > 40
    units = np.abs(found[inside] / wanted[inside] - 1) / np.finfo(dtype).eps
    assert units.max() < (6 if dtype is np.float64 else 0.5001)
    text = str(lowered(ready(optimise(compiled.trace(x))), "f").function)
    assert "special." not in text  # no call of SciPy's


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["kv", "kve"])
def test_special_values_and_slopes_are_those_without_compiling(name: str, order: int, dtype: Any) -> None:
    f = of_order(name, order)
    with np.errstate(over="ignore"):
        x = SPECIAL.astype(dtype)
    slope = wg.grad(lambda x: wg.sum(f(x)))
    with np.errstate(divide="raise", invalid="raise"):
        for each in (f, slope):
            found, wanted = wg.function(each)(x), each(x)
            assert found.dtype == wanted.dtype == dtype
            rtol = 4 * np.finfo(dtype).eps if dtype is np.float16 else 64 * np.finfo(dtype).eps
            np.testing.assert_allclose(found, wanted, rtol=rtol)


@pytest.mark.parametrize("order", [2, 3, KV_MOST])
def test_scaled_ones_of_large_numbers_are_numbers(order: int) -> None:
    """SciPy's are NaN from 1e9 on: eagerly and compiled."""
    x = np.array([1.1e9, 5e9, 1e12, 1e300, np.inf])
    f = of_order("kve", order)
    wanted = np.sqrt(np.pi / 2) / np.sqrt(x) * (1 + (4 * order**2 - 1) / (8 * x))
    for each in (f, wg.function(f)):
        np.testing.assert_allclose(each(x), wanted, rtol=1e-14)


@pytest.mark.parametrize("order", [0, 1, 4])
def test_derivatives_are_those_without_compiling(order: int) -> None:
    x = np.random.default_rng(0).uniform(0.1, 40, 50)
    for name in ("kv", "kve"):
        f = of_order(name, order)
        first = lambda x, f=f: wg.grad(lambda x: wg.sum(f(x)))(x)
        second = lambda x, first=first: wg.grad(lambda x: wg.sum(first(x)))(x)
        for each in (first, second):
            np.testing.assert_allclose(wg.function(each)(x), each(x), rtol=1e-11)
