"""Special functions of float32 in machine code, which computes them in float32: accuracy over whole domains, ends, flags.

The reference are NumPy's kernels in float64.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._core.apply import apply
from wengert._core.op import REGISTRY
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._passes import optimise

# units in the last place of the value, or of how much it moves where the argument moves by its own size
MOST = {
    "ndtr": 5, "log_ndtr": 7, "erfcx": 5, "normal_hazard": 5, "lgamma": 20, "i0": 2, "i1": 2, "i0e": 5, "i1e": 5,
    "expi": 5, "exp1": 5, "erfinv": 4, "gamma": 1, "erf": 4, "erfc": 4, "digamma": 8,
}  # fmt: skip
IN_FLOAT64 = ("gamma",)  # whose exponents would lose digits in float32
TINY, LARGE = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)


def compiled(name: str) -> Any:
    op = REGISTRY[name]
    return wg.function(lambda x: apply(op, (wg.asarray(x),), ()))


def exact(name: str, x: np.ndarray[Any, Any]) -> Any:
    return np.asarray(apply(REGISTRY[name], (wg.asarray(x.astype(np.float64)),), ()))


def samples() -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(11)
    anything = rng.integers(-(2**31), 2**31, 20_000).astype(np.int32).view(np.float32)
    ranges = [rng.uniform(-s, s, 5_000) for s in (1e-3, 0.5, 1, 3, 8, 15, 40, 100)]
    return np.concatenate([anything[np.isfinite(anything)], *[r.astype(np.float32) for r in ranges]])


def units(name: str, found: Any, wanted: Any, x: np.ndarray[Any, Any]) -> Any:
    """Errors; the change with the argument by a difference of what stands next to it."""
    wide = x.astype(np.float64)
    change = np.abs(exact(name, wide * (1 + 1e-7)) - wanted) * 1e7
    size = np.clip(np.maximum(np.abs(wanted), np.nan_to_num(change, posinf=0.0)), TINY, LARGE)
    return np.abs(found - wanted) / np.spacing(size.astype(np.float32))


@pytest.mark.parametrize("name", MOST)
def test_errors_are_some_units_over_the_whole_domain(name: str) -> None:
    x = samples()
    with np.errstate(all="ignore"):
        found, wanted = np.asarray(compiled(name)(x)), exact(name, x)
        rounded = wanted.astype(np.float32)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(rounded))
        there = np.isfinite(rounded) & np.isfinite(found)
        error = np.where(there, units(name, found.astype(np.float64), wanted, x), 0)
        # where the largest number ends, a result next to it may round to infinity
        edge = (np.isinf(rounded) != np.isinf(found)) & ~np.isnan(rounded)
        assert np.all(np.abs(wanted[edge]) > 0.99999 * np.finfo(np.float32).max)
    worst = int(np.argmax(error))
    assert error[worst] <= MOST[name], f"{x[worst]!r}: {found[worst]!r}, wanted {wanted[worst]!r}: {error[worst]:.3g}"


@pytest.mark.parametrize("name", MOST)
def test_ends_are_those_of_the_kernels(name: str) -> None:
    x = np.array([np.inf, -np.inf, 0.0, -0.0, np.nan, 1.0, -1.0, -2.0, 1e-45, -1e-45, 3e38], np.float32)
    with np.errstate(all="ignore"):
        found, wanted = np.asarray(compiled(name)(x)), exact(name, x).astype(np.float32)
    np.testing.assert_allclose(found, wanted, 1e-6, TINY)
    is_zero = (found == 0) & (wanted == 0)
    np.testing.assert_array_equal(np.signbit(found[is_zero]), np.signbit(wanted[is_zero]))


@pytest.mark.parametrize("name", [name for name in MOST if name not in IN_FLOAT64])
def test_nothing_is_computed_in_float64(name: str) -> None:
    x = np.full(100, 1.5, np.float32)
    f = compiled(name)
    text = str(lowered(ready(optimise(f.trace(x))), "f").function)
    assert "f64" not in text and "special." not in text


def test_the_gamma_function_above_0_is_exact_next_to_its_zeros() -> None:
    """Below 0 it is by reflection, of which two terms cancel."""
    x = np.random.default_rng(6).uniform(0.0, 50.0, 20_000).astype(np.float32)
    x[:8000] = (1 + 10.0 ** np.random.default_rng(7).uniform(-7, -0.5, 8000)) * np.repeat([1, 2], 4000)
    found, wanted = np.asarray(compiled("lgamma")(x)), exact("lgamma", x)
    assert np.max(np.abs(found - wanted) / np.spacing(np.abs(wanted).astype(np.float32))) < 7


@pytest.mark.parametrize("name", MOST)
def test_what_is_not_chosen_raises_no_flag(name: str) -> None:
    x = np.concatenate([np.linspace(0.01, 60.0, 97), [1e-30, 1e4]]).astype(np.float32)
    x = (
        x[x < 1]
        if name == "erfinv"
        else x[x < 80]
        if name in ("expi", "i0", "i1")
        else x[(x < 30) & (x > 1e-9)]
        if name == "gamma"
        else x
        if name in ("exp1", "lgamma")
        else np.concatenate([x, -x[:9]])
    )
    f = compiled(name)
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        f(x)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_complement_of_large_numbers_takes_no_longer_than_of_small_ones(dtype: Any) -> None:
    """Where it is 0 or subnormal, vectors of the C library call its function for each number."""
    f = compiled("erfc")
    near, far = (np.linspace(*ends, 20_000).astype(dtype) for ends in ((0.0, 3.0), (8.0, 80.0)))
    wanted = exact("erfc", far).astype(dtype)
    np.testing.assert_allclose(f(far), wanted, 1e-3 if dtype == np.float16 else 1e-5, np.finfo(dtype).tiny)
    taken = {name: min(_seconds(f, x) for _ in range(7)) for name, x in (("near", near), ("far", far))}
    assert taken["far"] < 3 * taken["near"]


def _seconds(f: Any, x: Any) -> float:
    started = time.thread_time()
    f(x)
    return time.thread_time() - started


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.complex64])
@pytest.mark.parametrize(
    ("shape", "axis"), [((3000,), 0), ((300, 40), 0), ((7, 300), 1), ((3, 100, 5), 1), ((100, 1, 1), 0)]
)
def test_running_sums_are_kept_in_twice_the_width(shape: tuple[int, ...], axis: int, dtype: type) -> None:
    """As without compiling, to the bit: float32 alone, one after the other, gave errors that grow with the place."""
    x = np.random.default_rng(5).normal(size=shape).astype(dtype)

    def f(x: Any) -> Any:
        return wg.cumsum(x * 2, axis), wg.flip(wg.cumsum(wg.flip(x * 2, axis), axis), axis)

    with wg.eager():
        wanted = f(wg.constant(x))
    for found, other in zip(wg.function(f)(x), wanted, strict=True):
        np.testing.assert_array_equal(found, np.asarray(other))
