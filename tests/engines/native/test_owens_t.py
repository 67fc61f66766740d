"""Owen's T function as vector code: values with many digits, special ones, flags, slopes and loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.scipy.special as S

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._passes import optimise

mp = pytest.importorskip("mpmath", reason="values with many digits are mpmath's, which comes with PyTorch")


def compiled_form(function: Any) -> Any:
    return wg.function(function)


def exact(h: float, a: float) -> float:
    """The integral over a, by parts as wide as the bell."""
    with mp.workdps(60):
        size, slope = abs(mp.mpf(h)), abs(mp.mpf(a))
        bends = [k / (size + mp.mpf("1e-9")) for k in (1, 3, 6, 12)]
        whole = mp.quad(
            lambda x: mp.exp(-size * size * (1 + x * x) / 2) / (1 + x * x),
            [0, *[bend for bend in bends if bend < slope], slope],
        )
        return float(whole / (2 * mp.pi)) * (-1 if a < 0 else 1)


def samples(dtype: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(3)
    h = [rng.uniform(-1, 1, 30), rng.uniform(-6, 6, 50), rng.uniform(5, 12, 30), 10 ** rng.uniform(-8, 1, 30)]
    a = [rng.uniform(-1, 1, 30), rng.uniform(-5, 5, 50), 10 ** rng.uniform(-8, 2, 30), 10 ** rng.uniform(-3, 3, 30)]
    return np.concatenate(h).astype(dtype), np.concatenate(a).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_exact_to_some_units(dtype: Any) -> None:
    h, a = samples(dtype)
    compiled = compiled_form(S.owens_t)
    found = np.asarray(compiled(h, a), np.float64)
    wanted = np.array([exact(float(x), float(y)) for x, y in zip(h, a, strict=True)])
    assert np.max(np.abs(found / wanted - 1)) < 8 * np.finfo(dtype).eps
    text = str(lowered(ready(optimise(compiled.trace(h, a))), "f").function)
    assert "kernel" not in text and "special." not in text and "while" not in text


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_ends_are_those_of_the_kernels_and_raise_no_flag(dtype: Any) -> None:
    ends = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-7, 50, 2, 9, 1e4], dtype)
    h, a = (x.ravel() for x in np.meshgrid(ends, ends))
    compiled = compiled_form(S.owens_t)
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        found = np.asarray(compiled(h, a))
    wanted = np.asarray(S.owens_t(h, a))
    assert found.dtype == wanted.dtype
    # SciPy's have up to 1e-9 of error: values of digits are compared above
    np.testing.assert_allclose(found, wanted, max(20 * np.finfo(found.dtype).eps, 1e-9), np.finfo(found.dtype).tiny)
    is_told = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[is_told]), np.signbit(wanted[is_told]))


def test_slopes_and_loops_are_those_of_the_kernels() -> None:
    h, a = samples(np.float64)

    def slope(x: Any, y: Any) -> Any:
        return wg.grad(lambda u, v: wg.sum(S.owens_t(u, v) ** 2), argnums=(0, 1))(x, y)

    def repeated(x: Any, y: Any) -> Any:
        return wg.fori_loop(0, 3, lambda i, c: c + S.owens_t(c, y), x)

    for f in (slope, repeated):
        compiled = compiled_form(f)
        for one, other in zip(wg.tree.leaves(compiled(h, a)), wg.tree.leaves(f(h, a)), strict=True):
            np.testing.assert_allclose(one, other, 1e-8, 1e-300)
        assert {part.by for part in compiled.report(h, a).parts} == {"machine code"}
