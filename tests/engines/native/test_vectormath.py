"""Mathematical functions of compiled code, over whole domains: accuracy, hard points, and that they run as vectors."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import time
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import wengert as wg
import wengert.numpy as xp
from tests.support.narrower_vectors import NARROWER, VARIABLE
from tests.support.native_kernels import map_ir
from wengert._engines.native.llvm import (
    jit,
    large_angles,
    polynomials,
    prelude,
    rare_lanes,
    symbols,
    target,
    values,
    vectormath,
)
from wengert._engines.native.run import entry

DTYPES = {"f64": np.float64, "f32": np.float32}
NUMPY_NAMES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "pow": "power", "atan2": "arctan2",
}  # fmt: skip
ONLY_IN_C = {"erf": math.erf, "erfc": math.erfc, "lgamma": math.lgamma, "tgamma": math.gamma}
NEXT_TO_PI = 6381956970095103 * 2.0**797  # no double is as near to a multiple of pi / 2
WIDE = np.finfo(np.longdouble).nmant > 60

ULP = 4.0


def hard_points(kind: Any) -> np.ndarray[Any, Any]:
    info = np.finfo(kind)
    positive = [0.0, 0.25, 0.5, 1.0, 2.0, 3.0, np.inf, info.tiny, info.smallest_subnormal, info.max, info.eps, 1 + info.eps,
                1 - info.eps, math.pi / 2, math.pi, 709.0, 88.0, 1e5]  # fmt: skip
    return np.array([*positive, *[-p for p in positive], np.nan], kind)


def samples(kind: Any, count: int = 20_000) -> np.ndarray[Any, Any]:
    """All magnitudes alike, then the ranges where functions bend, then the hard points."""
    rng = np.random.default_rng(5)
    bits = np.iinfo(np.int64 if kind is np.float64 else np.int32)
    anything = rng.integers(bits.min, bits.max, 2 * count, dtype=bits.dtype).view(kind)
    ranges = [rng.uniform(-s, s, count).astype(kind) for s in (0.01, 1, 2, 10, 100, 800, 1e5)]
    near_one = (1 + rng.uniform(-1e-3, 1e-3, count)).astype(kind)
    return np.concatenate([anything, *ranges, near_one, hard_points(kind)])


def run(name: str, dtype: str, *operands: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    code = jit.load(map_ir(f"wg.{name}.{dtype}", dtype, len(operands)), "entry")
    result = np.empty_like(operands[0])
    assert entry.called(code, operands, [result], [len(result)]) == (0, 0)
    return result


def exact(name: str, operands: tuple[np.ndarray[Any, Any], ...]) -> np.ndarray[Any, Any]:
    """The function in a wider type."""
    if name in ONLY_IN_C:
        return np.array([in_c(ONLY_IN_C[name], float(v)) for v in operands[0]])
    wide = np.float64 if operands[0].dtype == np.float32 else np.longdouble
    return getattr(np, NUMPY_NAMES.get(name, name))(*[v.astype(wide) for v in operands])


def in_c(f: Any, v: float) -> float:
    """As the C function: infinities and NaN where Python's raises."""
    try:
        return f(v)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.copysign(math.inf, v) if v == 0 else math.inf if f is math.lgamma else math.nan


def check(name: str, operands: tuple[np.ndarray[Any, Any], ...], result: np.ndarray[Any, Any]) -> None:
    with np.errstate(all="ignore"):
        wanted = exact(name, operands)
        rounded = wanted.astype(result.dtype)
        np.testing.assert_array_equal(np.isnan(result), np.isnan(rounded))
        there = ~np.isnan(rounded)
        np.testing.assert_array_equal(np.signbit(result[there]), np.signbit(rounded[there]))
        finite = np.isfinite(rounded) & np.isfinite(result)
        # where the largest number ends, a result next to it may round to infinity
        edge = np.isinf(rounded) != np.isinf(result)
        assert np.all(
            np.abs(np.where(np.isinf(rounded), result, rounded)[edge & there]) > 0.999 * np.finfo(result.dtype).max
        )
        error = np.abs(result.astype(wanted.dtype) - wanted) / np.spacing(np.abs(rounded))
    worst = np.argmax(np.where(finite, error, 0))
    assert error[worst] <= ULP or not finite.any(), f"{name}({operands[0][worst]!r}): {error[worst]} units"


def needs_reference(name: str, dtype: str) -> None:
    if dtype == "f64" and not WIDE:
        pytest.skip("long double is no wider than double here: there is nothing to compare with")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [n for n in vectormath.ONE_OPERAND if n not in ("lgamma", "tgamma")])
def test_within_four_units_over_the_whole_domain(name: str, dtype: str) -> None:
    needs_reference(name, dtype)
    x = samples(DTYPES[dtype], 2_000 if name in ONLY_IN_C else 20_000)
    check(name, (x,), run(name, dtype, x))


@pytest.fixture
def without_libmvec(monkeypatch: pytest.MonkeyPatch) -> Any:
    """As on a machine whose C library has no vector functions."""
    if not target.has_fma():
        pytest.skip("our own functions need fused multiply-adds")
    monkeypatch.setattr(symbols, "has_libmvec", lambda: False)
    vectormath.variants.cache_clear()
    yield
    vectormath.variants.cache_clear()


@pytest.mark.usefixtures("without_libmvec")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", polynomials._BODIES)
def test_our_own_are_within_four_units(name: str, dtype: str) -> None:
    needs_reference(name, dtype)
    x = samples(DTYPES[dtype])
    text = jit.assembly(map_ir(f"wg.{name}.{dtype}", dtype))
    assert "_ZGV" not in text
    assert f"wengert_{name}_{dtype}_" in text  # called, or standing there
    check(name, (x,), run(name, dtype, x))


def in_parts(value: Fraction, *bits: int) -> tuple[float, ...]:
    """A number as a sum of doubles, each of at most so many bits."""
    found: list[float] = []
    for size in bits:
        scale = Fraction(2) ** (size - math.frexp(float(value))[1])
        part = Fraction(round(value * scale)) / scale
        found.append(float(part))
        value -= part
    return (*found,)


def arctan_of_inverse(n: int, terms: int) -> Fraction:
    return sum((Fraction((-1) ** k, (2 * k + 1) * n ** (2 * k + 1)) for k in range(terms)), Fraction(0))


def test_the_parts_of_constants() -> None:
    log_2 = sum((Fraction(2, (2 * k + 1) * 3 ** (2 * k + 1)) for k in range(80)), Fraction(0))  # 2 artanh(1 / 3)
    assert in_parts(log_2, 40, 53) == (polynomials._LOG_2_HIGH, polynomials._LOG_2_LOW)
    half_pi = 8 * arctan_of_inverse(5, 80) - 2 * arctan_of_inverse(239, 30)  # Machin's formula
    found = (polynomials._HALF_PI_1, polynomials._HALF_PI_2, polynomials._HALF_PI_3)
    assert found == in_parts(half_pi, 53, 53, 53)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_words_of_turns(dtype: str) -> None:
    """Each row is 2^B 2 / pi but for multiples of 4, to its last bit, and of the largest angles a row serves some."""
    table, words = large_angles._TABLES[dtype], large_angles.words_of(dtype)
    assert len(words) == table.rows * table.words
    digits = 51 + 53 * (table.words - 1)
    half_pi = 8 * arctan_of_inverse(5, 400) - 2 * arctan_of_inverse(239, 120)
    for row in range(table.rows):
        wanted = Fraction(2) ** (table.first + row * table.step) / half_pi % 4
        found = sum(map(Fraction, words[row * table.words : (row + 1) * table.words]), Fraction(0))
        assert 0 <= wanted - found < Fraction(1, 2**digits)
    assert table.first + table.rows * table.step > table.last - table.bits + 1
    assert large_angles.LEAST <= polynomials.LARGE_ANGLE


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_the_angle_next_to_a_multiple_of_half_a_turn(name: str) -> None:
    """In vectors: C's own cosine of it is seven units off."""
    needs_reference(name, "f64")
    x = np.full(64, NEXT_TO_PI)
    check(name, (x,), run(name, "f64", x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_large_and_endless_angles_take_few_times_as_long_as_others(
    name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C's functions computed them one by one: 30 times as long."""
    monkeypatch.setenv("WENGERT_NUM_THREADS", "1")
    x = np.linspace(1.0, 10.0, 50_000).astype(DTYPES[dtype])
    f = wg.function(lambda x: getattr(wg, name)(x) + 2.0)

    def seconds(x: np.ndarray[Any, Any]) -> float:
        started = time.thread_time()
        f(x)
        return time.thread_time() - started

    plain = min(seconds(x) for _ in range(20))
    for other in (np.exp(8 * x), np.full_like(x, np.nan)):
        assert min(seconds(other) for _ in range(20)) < 15 * plain


def test_the_polynomial_of_the_exponential() -> None:
    """In exact arithmetic it is within a quarter of a unit of e^r on all of the range."""
    for place in range(-200, 201):
        r = Fraction(3466, 10_000) * place / 200
        exact = sum((r**k / math.factorial(k) for k in range(30)), Fraction(0))
        found = 1 + r + r * r * sum((Fraction(c) * r**k for k, c in enumerate(polynomials._EXP)), Fraction(0))
        assert abs(found - exact) <= exact * Fraction(1, 2**55)


def series_at(r: Fraction, coefficients: list[float]) -> Fraction:
    return sum((Fraction(c) * (r * r) ** k for k, c in enumerate(coefficients)), Fraction(0))


def test_the_polynomials_of_angles() -> None:
    """In exact arithmetic they are within a quarter of a unit of sine and cosine on all of the range."""
    for place in range(-200, 201):
        r = Fraction(7856, 10_000) * place / 200
        z = r * r
        sin, cos = (
            sum(((-1) ** k * r ** (2 * k + odd) / math.factorial(2 * k + odd) for k in range(15)), Fraction(0))
            for odd in (1, 0)
        )
        assert abs(r + r * z * series_at(r, polynomials._SIN) - sin) <= abs(sin) * Fraction(1, 2**55)
        assert abs(1 - z / 2 + z * z * series_at(r, polynomials._COS) - cos) <= cos * Fraction(1, 2**55)


@pytest.mark.skipif(not target.has_scaling(), reason="one instruction of AVX-512")
@pytest.mark.parametrize("has_scaling", [True, False])
def test_exponentials_of_float32_far_below_zero_are_as_near_and_as_quick_as_others(
    has_scaling: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """glibc's are computed one by one below -87: masked elements of a softmax took five times as long as others."""
    if not has_scaling:
        monkeypatch.setenv("WENGERT_CACHE_DIR", "")
        monkeypatch.setattr(polynomials, "has_scaling", lambda: False)
    f = wg.function(lambda x: wg.exp(x) + 0.0 * float(has_scaling))
    low = np.linspace(-104.5, -80.0, 200_000).astype(np.float32)
    wanted = np.exp(low.astype(np.float64))
    unit = np.spacing(wanted.astype(np.float32)).astype(np.float64)
    assert np.max(np.abs(f(low) - wanted) / unit) < 1.0

    def seconds(x: np.ndarray[Any, Any]) -> float:
        started = time.thread_time()
        f(x)
        return time.thread_time() - started

    monkeypatch.setenv("WENGERT_NUM_THREADS", "1")
    f = wg.function(lambda x: wg.exp(x) + 1.0 * float(has_scaling))
    masked, others = np.full(200_000, -1e9, np.float32), np.linspace(-10.0, 10.0, 200_000, dtype=np.float32)
    assert min(seconds(masked) for _ in range(20)) < 2.5 * min(seconds(others) for _ in range(20))


@pytest.mark.usefixtures("without_libmvec")
def test_vector_forms_that_nothing_calls_become_no_code() -> None:
    """To make code of all would take as long again; a routine for two functions stands in the place of their forms."""
    whole = map_ir("wg.sin.f64", "f64")
    call = "  %s = call double @wg.sin.f64(double %v)\n"
    assert call in whole
    other = "  %c = call double @wg.cos.f64(double %v)\n  %s = fmul double %sine, %c\n"
    both = whole.replace(call, call.replace("%s", "%sine") + other)
    for ir in (whole, both):
        text = jit.assembly(ir)
        made = re.findall(r"^\"?(wengert_\w+)\"?:", text, re.MULTILINE)
        assert 1 <= len(made) <= 2, made
        for name in made:
            assert text.count(name) > 1


def test_vectors_are_scaled_by_one_instruction() -> None:
    text = jit.assembly(map_ir("wg.exp.f64", "f64"))
    assert "vscalefpd" in text
    assert "_ZGV" not in text  # none of glibc's


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["pow", "atan2", "hypot", "fmod"])
def test_two_operands(name: str, dtype: str) -> None:
    needs_reference(name, dtype)
    x = samples(DTYPES[dtype], 5_000)
    y = np.random.default_rng(6).permutation(x)
    points = hard_points(DTYPES[dtype])
    grid = np.meshgrid(points, points)
    x, y = np.concatenate([x, grid[0].ravel()]), np.concatenate([y, grid[1].ravel()])
    check(name, (x, y), run(name, dtype, x, y))


@pytest.mark.skipif(not vectormath.variants("atan2", "f64"), reason="there is no vector function to call")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["arctan2", "hypot"])
def test_functions_of_all_points_take_few_times_as_long_as_of_plain_ones(
    name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libmvec's functions compute those of subnormal, endless and NaN points one by one: 30 to 70 times as long."""
    monkeypatch.setenv("WENGERT_NUM_THREADS", "1")
    f = wg.function(lambda y, x: getattr(xp, name)(y, x) + 2.0)
    y, x = np.random.default_rng(3).uniform(-1, 1, (2, 50_000)).astype(DTYPES[dtype])

    def seconds(y: np.ndarray[Any, Any], x: np.ndarray[Any, Any]) -> float:
        started = time.thread_time()
        f(y, x)
        return time.thread_time() - started

    plain = min(seconds(y, x) for _ in range(20))
    tiny, endless = np.finfo(DTYPES[dtype]).tiny, np.full_like(x, np.inf)
    for points in ((y * tiny, x * tiny), (y * tiny, x), (y, endless), (np.full_like(y, np.nan), x)):
        assert min(seconds(*points) for _ in range(20)) < 10 * plain


@pytest.mark.skipif(not vectormath.variants("pow", "f64"), reason="there is no vector function to call")
@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_of_all_numbers_take_few_times_as_long_as_of_plain_ones(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libmvec's function computes those of bases that are not positive, and of endless exponents, one by one."""
    monkeypatch.setenv("WENGERT_NUM_THREADS", "1")
    f = wg.function(lambda x, y: xp.power(x, y) + 2.0)
    x, y = np.random.default_rng(3).uniform(0.1, 4, (2, 50_000)).astype(DTYPES[dtype])

    def seconds(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> float:
        started = time.thread_time()
        f(x, y)
        return time.thread_time() - started

    plain = min(seconds(x, y) for _ in range(20))
    for base, exponent in ((0 * x, y), (-x, y), (-x, np.rint(y)), (x, y * np.inf), (x * np.nan, y), (x * np.inf, -y)):
        assert min(seconds(base, exponent) for _ in range(20)) < 2 * plain


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_tell_what_c_tells(dtype: str) -> None:
    """A division by zero of 0 alone, nothing valid of negative numbers alone, and nothing of endless ones."""
    f = wg.function(xp.power)
    for x, y, told in (
        (0.0, -1.5, "divide"), (-0.0, -3.0, "divide"), (-2.0, 0.5, "invalid"), (0.0, -np.inf, ""), (0.0, 2.0, ""),
        (np.nan, 2.0, ""), (1.0, np.nan, ""), (np.inf, -1.0, ""), (-np.inf, 3.0, ""), (-1.0, np.inf, ""),
        (-2.0, 3.0, ""), (0.5, -np.inf, ""), (-0.5, 1e-30, "invalid"),
    ):  # fmt: skip
        told_of: list[str] = []
        with np.errstate(all="call", call=lambda kind, flag, told_of=told_of: told_of.append(kind)):
            f(np.full(64, x, DTYPES[dtype]), np.full(64, y, DTYPES[dtype]))
        assert len(told_of) == (told != "") and all(told in kind for kind in told_of), (x, y, told_of)


@pytest.mark.parametrize("dtype", DTYPES.values())
@pytest.mark.parametrize(("number", "units"), [(3, 2), (4, 2), (5, 3)])
def test_small_powers_are_products(
    number: int, units: int, dtype: Any, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.setenv("WENGERT_DUMP", "loops")
    power = wg.function(lambda x: x**number)
    x = np.random.default_rng(7).uniform(-3, 3, 2_000).astype(dtype)
    found = power(x)
    assert "pow." not in capfd.readouterr().err  # which takes 19 times as long
    for one, value in zip(x, found, strict=True):
        off = abs(Fraction(float(value)) - Fraction(float(one)) ** number)
        assert off <= units * Fraction(float(np.spacing(np.abs(value))))
    with np.errstate(all="ignore"):  # the ends of the range, where the square alone is beyond it, too
        info = np.finfo(dtype)
        edges = [
            k * np.array([info.tiny, info.max, info.smallest_subnormal]) ** (1 / n) for n in (2, 3, 4) for k in (1, 3)
        ]
        hard = np.concatenate([hard_points(dtype), *edges]).astype(dtype)
        hard = np.concatenate([hard, -hard, np.zeros(2_000, dtype)])[:2_000]  # the size that is compiled
        np.testing.assert_allclose(power(hard), hard**number, rtol=4 * info.eps, atol=info.smallest_subnormal)
        np.testing.assert_array_equal(np.signbit(power(hard)), np.signbit(hard**number))


@pytest.mark.parametrize("name", ["lgamma", "tgamma"])
def test_gamma_functions_are_cs(name: str) -> None:
    x = np.concatenate([np.linspace(-5.5, 30.5, 997), [0.5, 1.0, 2.0, np.inf, np.nan]])
    # C's own beside Python's: a few units apart, more beside the zeros of lgamma
    np.testing.assert_allclose(run(name, "f64", x), exact(name, (x,)), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("count", range(40))
def test_each_trip_count_gives_the_same_values(count: int) -> None:
    """Vectors, their remainder and single elements: whichever ran, within the same bounds, and nothing beyond."""
    x = np.linspace(-3, 3, 64)
    code = jit.load(map_ir("wg.exp.f64", "f64"), "entry")
    result = np.full(64, -7.0)
    assert entry.called(code, [x], [result], [count]) == (0, 0)
    np.testing.assert_allclose(result[:count], np.exp(x[:count]), rtol=1e-15)  # 4 units
    np.testing.assert_array_equal(result[count:], -7.0)


def test_loops_use_the_widest_registers() -> None:
    if not target.is_x86():
        pytest.skip("the names of vector registers are x86's")
    width = target.vector_bits()
    if width < 256:
        pytest.skip("this machine has no registers wider than 128 bits")
    register = "%zmm" if width == 512 else "%ymm"
    text = jit.assembly(map_ir("llvm.sqrt.f64", "f64") + "declare double @llvm.sqrt.f64(double)")
    assert any("vsqrtpd" in line and register in line for line in text.splitlines())
    if symbols.has_libmvec():
        letter = "e" if width == 512 else "d"
        assert f"_ZGV{letter}N{width // 64}v_tan" in jit.assembly(map_ir("wg.tan.f64", "f64"))


def test_unused_functions_leave_nothing_behind() -> None:
    assert "_ZGV" not in jit.assembly("define double @entry(double %x) {\n  ret double %x\n}\n")


@pytest.fixture(params=["glibc's vectors", "our own"])
def vectors(request: pytest.FixtureRequest) -> None:
    if request.param == "our own":
        request.getfixturevalue("without_libmvec")


def both_ir(first: str, second: str) -> str:
    """A loop that puts two functions of each element into two results."""
    one = map_ir(f"wg.{first}.f64", "f64")
    call = f"%s = call double @wg.{first}.f64(double %v)"
    two = f"""{call}
  %t = call double @wg.{second}.f64(double %v)
  %p.t = getelementptr double, ptr %r, i64 %i
  store double %t, ptr %p.t"""
    third = """%p.r = getelementptr ptr, ptr %buffers, i64 2
  %r = load ptr, ptr %p.r
  %n = load i64, ptr %sizes"""
    return one.replace(call, two).replace("%n = load i64, ptr %sizes", third)


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("pair", polynomials._BOTH, ids="-".join)
@pytest.mark.parametrize("is_turned", [False, True])
def test_both_functions_of_a_pair_come_from_one_routine(pair: tuple[str, str], is_turned: bool) -> None:
    needs_reference(pair[0], "f64")
    if not target.has_fma():
        pytest.skip("our own functions need fused multiply-adds")
    names = pair[::-1] if is_turned else pair
    x = samples(np.float64)
    x = np.concatenate([x, np.random.default_rng(8).uniform(-1e9, 1e9, 20_000), np.arange(1.0, 1e5) * (math.pi / 2)])
    text = jit.assembly(both_ir(*names))
    calls = re.findall(r"call\w*\s+(\w+)", text)
    assert f"wengert_{'_'.join(pair)}_f64_{target.vector_bits() // 64}" in calls
    assert not [name for name in calls if "_ZGV" in name or name.startswith(f"wengert_{pair[0]}_f64")]
    results = [np.empty_like(x), np.empty_like(x)]
    assert entry.called(jit.load(both_ir(*names), "entry"), [x], results, [len(x)]) == (0, 0)
    for name, result in zip(names, results, strict=True):
        check(name, (x,), result)


def test_functions_of_different_numbers_stay_apart() -> None:
    text = both_ir("sin", "cos").replace("call double @wg.cos.f64(double %v)", "call double @wg.cos.f64(double %w)")
    assert "wengert_sin_cos" not in jit.assembly(text)
    assert "wengert_sin_cos" in jit.assembly(both_ir("sin", "cos"))


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*vectormath.ONE_OPERAND, *vectormath.TWO_OPERANDS])
def test_a_module_may_declare_what_its_mathematics_declares(name: str, dtype: str) -> None:
    """LLVM refuses a second declaration of a name, such as that of the intrinsic for the size of vectors."""
    one, count = vectormath.TYPES[dtype], vectormath.operands(name)
    found = vectormath.declared(name, dtype)
    for lanes in (1, *found.widths):
        kind, suffix = (one, "") if lanes == 1 else (f"<{lanes} x {one}>", f"v{lanes}")
        own = {c: f"declare {kind} @{c}({', '.join([kind] * n)})" for c, n in intrinsics(f"{suffix}{dtype}").items()}
        own |= {c: text for c, text in found.declarations.items() if c.startswith("llvm.")}
        values = ", ".join([f"{kind} %x"] * count)
        called = f"wg.{name}.{dtype}" + (f".{lanes}" if lanes > 1 else "")
        calls = [f"  %a{i} = call {kind} @{c}({', '.join([f'{kind} %x'] * n)})"
                 for i, (c, n) in enumerate(intrinsics(f"{suffix}{dtype}").items())]  # fmt: skip
        body = [
            f"define {kind} @f({kind} %x) {{",
            *calls,
            f"  %y = call {kind} @{called}({values})",
            f"  ret {kind} %y",
        ]
        ir = "\n".join([*own.values(), *body, "}", ""])
        first, behind = prelude.parts(prelude.completed(ir))
        with jit.parsed(first, prelude.defining(behind, [*behind])) as module:
            module.verify()


def intrinsics(kind: str) -> dict[str, int]:
    """The intrinsics that generated code calls, with their numbers of operands."""
    counts = {"copysign": 2, "maximum": 2, "minimum": 2, "fma": 3}
    return {f"llvm.{name}.{kind}": counts.get(name, 1) for name in values.INTRINSICS.values()}


@pytest.mark.slow
@pytest.mark.skipif(not target.is_x86(), reason="the classes of vectors are x86's")
@pytest.mark.parametrize("vectors", NARROWER)
def test_narrower_registers(vectors: str) -> None:
    """What a machine of wide vectors runs as one of narrow ones: every primitive in groups of rows, and mathematics."""
    folder = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "-q", "--sample", "-p", "no:cacheprovider", "-p", "no:xdist",
               "-k", NARROWLY,
               str(folder / "test_tiles.py"), str(folder / "test_vectormath.py"), str(folder / "test_products.py")]  # fmt: skip
    environment = {**os.environ, VARIABLE: vectors}
    done = subprocess.run(
        command, env=environment, cwd=folder.parents[2], capture_output=True, text=True, check=False, timeout=550
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "passed" in done.stdout


NARROWLY = "(every_primitive or programs_agree or declare or own_are_within or trip_count or widest) and not narrower"


@pytest.mark.parametrize("pair", polynomials._BOTH, ids="-".join)
def test_a_function_has_the_bits_that_it_has_in_a_pair(pair: tuple[str, str]) -> None:
    x = np.random.default_rng(0).normal(size=8 * 500) * 3
    first, second = (getattr(xp, name) for name in pair)
    both = wg.function(lambda x: (first(x), second(x)))(x)
    np.testing.assert_array_equal(both[0], wg.function(first)(x))
    np.testing.assert_array_equal(both[1], wg.function(second)(x))


@pytest.mark.parametrize("size", [4, 9, 1000])
@pytest.mark.parametrize("name", ["sin", "cos", "sinh", "cosh", "log1p", "arctan"])
def test_the_tangent_of_a_maximum_finds_it_where_a_function_is_computed_twice(name: str, size: int) -> None:
    rng = np.random.default_rng(0)
    x, y, rows = rng.random(size), rng.normal(size=size), rng.normal(size=(50, size))

    def tangent(x: Any, y: Any) -> Any:
        return wg.jvp(lambda x: xp.max(getattr(xp, name)(x) + rows, axis=1), (x,), (y,))[1]

    np.testing.assert_allclose(wg.function(tangent)(x, y), tangent(x, y), rtol=1e-12)


@pytest.mark.parametrize(("name", "dtype"), sorted(rare_lanes._PLAIN))
def test_lanes_beside_the_plain_range_take_no_call_each_and_change_no_others(name: str, dtype: str) -> None:
    if not vectormath.variants(name, dtype) or not rare_lanes.has(name, dtype):
        pytest.skip("the C library has no vectors of it here, or ours serve all numbers")
    kind, (least, most) = DTYPES[dtype], rare_lanes._PLAIN[name, dtype]
    info = np.finfo(kind)
    ends = [max(least, -info.max), most]
    with np.errstate(over="ignore"):
        beside = [np.nextafter(kind(end), kind(to)) for end, to in zip(ends, (-np.inf, np.inf), strict=True)]
        rare = np.array([*ends, *beside, *[2 * v for v in ends], 0, -1, np.inf, -np.inf, np.nan, info.tiny / 8], kind)
    plain = np.linspace(max(least, -50.0), min(most, 50.0), 1_000).astype(kind)[1:-1]
    mixed = plain.copy()
    mixed[::7] = np.resize(rare, len(mixed[::7]))
    found = run(name, dtype, mixed)
    check(name, (mixed,), found)
    is_plain = np.arange(len(plain)) % 7 != 0
    np.testing.assert_array_equal(found[is_plain], run(name, dtype, plain)[is_plain])
    # nothing in the text calls the function of one number, but for the library's own vectors
    text = rare_lanes.definition(name, dtype, 4, "library")[0]
    assert text.count("call") and f"@{vectormath.c_name(name, dtype)}(" not in text


@pytest.mark.parametrize(("name", "dtype"), sorted(rare_lanes._PLAIN))
def test_lanes_beside_the_plain_range_warn_as_numpys_do(name: str, dtype: str) -> None:
    x = np.linspace(0.1, 0.9, 64).astype(DTYPES[dtype])
    function = getattr(np, NUMPY_NAMES.get(name, name))
    compiled = wg.function(function)
    for value in (0, -1, -2, np.inf, -np.inf, np.nan, 2000, -2000, -126.3, 1e-40, 2e4):
        x[3] = value
        assert _said(compiled, x) == _said(function, x), value


def _said(function: Any, x: Any) -> set[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(x)
    return {str(w.message).split(" encountered")[0] for w in caught}


@pytest.mark.parametrize("function", [np.fmod, np.remainder, np.floor_divide])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_remainders_are_cs_to_the_bit(function: Any, dtype: Any) -> None:
    """Of any bits, of tenths, which lie beside whole quotients, and of all special numbers beside each other."""
    info, rng, count = np.finfo(dtype), np.random.default_rng(0), 20_000
    whole = np.dtype(f"u{info.bits // 8}")
    x, y = (rng.integers(0, np.iinfo(whole).max, 4 * count, dtype=whole, endpoint=True).view(dtype) for _ in range(2))
    with np.errstate(all="ignore"):
        x[count : 2 * count] = y[count : 2 * count] * rng.uniform(-3e4, 3e4, count).astype(dtype)
    x[2 * count :], y[2 * count :] = (rng.integers(-n, n, 2 * count).astype(dtype) * dtype(0.1) for n in (1000, 30))
    ends = [0, -0.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny, info.smallest_subnormal, 1, -1, 3]
    x[: len(ends) ** 2], y[: len(ends) ** 2] = (v.ravel() for v in np.meshgrid(ends, ends))
    with np.errstate(all="ignore"):
        found, wanted = wg.function(function)(x, y), function(x, y)
    np.testing.assert_array_equal(found, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(wanted)[numbers])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_remainders_warn_as_numpys_do(dtype: Any) -> None:
    x, y = np.linspace(1, 9, 64).astype(dtype), np.linspace(0.3, 0.9, 64).astype(dtype)
    compiled, ends = wg.function(np.fmod), [0, 1, np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny]
    for x[3], y[3] in [(dtype(one), dtype(other)) for one in ends for other in ends]:
        with np.errstate(all="warn"):
            assert _said(lambda x: compiled(x, y), x) == _said(lambda x: np.fmod(x, y), x), (x[3], y[3])
