"""Functions of vectors whose lanes take ways of their own: as those of one number, whatever the other lanes do."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.scipy.special as S

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.ir.builder import Builder
from wengert._engines.native.ir.loops import Function, Typed, verify
from wengert._engines.native.llvm import jit
from wengert._engines.native.llvm.codegen import module_text
from wengert._engines.native.lower.formulas import FORMULAS, PREFIX
from wengert._engines.native.lower.later import SPECIAL
from wengert._engines.native.lower.numbers import Number, choose, operand, repeated, where
from wengert._engines.native.run import entry, formulas
from wengert._engines.native.run.callable import CALLABLE

LANES = 8
SPECIAL.load()
WITH_LANES = sorted(name for name, formula in FORMULAS.items() if formula.in_lanes)
# attributes of those that have some
ORDERS = {
    "gammainc": [(0,), (1,)], "beta_below": [(0, 0), (1, 0)], "beta_tail": [(0, 0), (0, 1)],
    "betainc": [(0, 0), (1, 0), (1, 1)], "betaincc_of_scipy": [(0,), (1,)],
    "binom_count": [(0,), (1,)], "nbinom_count": [(0,), (1,)],
}  # fmt: skip


def in_lanes(make: Callable[[Number], Any]) -> Function:
    b = Builder()
    x, y = b.array("f64", "in"), b.array("f64", "out")
    with b.lanes(LANES, is_masked=True) as made:
        b.store(y, made.index, operand(make(Number(b, b.load(x, made.index)))))
    return b.function("in_lanes", [x], [y], [])


def values(make: Callable[[Number], Any], x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    function = in_lanes(make)
    verify(function)
    found = np.full(LANES, np.nan)
    loaded = jit.load(module_text(function, "entry"), "entry", table=CALLABLE)
    assert entry.called(loaded, [x], [found], ())[0] == 0
    return found


def steps_to_one(n: float) -> int:
    count = 0
    while n > 1:
        n = 3 * n + 1 if n % 2 else n / 2
        count += 1
    return count


def test_loops_end_for_each_lane_by_itself() -> None:
    def make(x: Number) -> Number:
        def step(n: Number, count: Number) -> list[Any]:
            is_odd = 0.5 * n != (0.5 * n).of("floor")
            return [choose(is_odd, lambda: 3.0 * n + 1.0, lambda: 0.5 * n), count + 1.0]

        return repeated(x.b, [x, 0.0], lambda n, count: n > 1.0, step)[1]

    x = np.array([1, 27, 2, 3, 97, 0, 6, 7], np.float64)
    np.testing.assert_array_equal(values(make, x), [steps_to_one(n) for n in x])


def test_a_loop_in_a_loop_in_a_branch() -> None:
    def make(x: Number) -> Number:
        def inner(k: Number, total: Number) -> list[Any]:
            return [k - 1.0, total + k]

        def outer(n: Number, total: Number) -> list[Any]:
            return [n - 1.0, total + repeated(x.b, [n, 0.0], lambda k, _: k > 0.0, inner)[1]]

        return choose(x > 0.0, lambda: repeated(x.b, [x, 0.0], lambda n, _: n > 0.0, outer)[1], lambda: -x)

    x = np.array([3, -1, 0, 7, -2, 1, 2, 12], np.float64)
    wanted = [sum(k * (k + 1) // 2 for k in range(int(n) + 1)) if n > 0 else -n for n in x]
    np.testing.assert_array_equal(values(make, x), wanted)


def test_loops_and_branches_that_all_lanes_share() -> None:
    def make(x: Number) -> Number:
        b = x.b
        total = b.var("f64", 0.0)
        with b.loop(0, 5) as i, b.when(b.let("lt", "i64", i, 3)):
            b.set(total, b.let("add", "f64", b.get(total), x.x))
        shared = repeated(b, [0.0], lambda k: k < 4.0, lambda k: [k + 1.0])[0]
        return Number(b, b.get(total)) + shared

    x = np.arange(8.0)
    np.testing.assert_array_equal(values(make, x), 3 * x + 4)


def test_lanes_beside_a_call_give_nan_to_it() -> None:
    def make(x: Number) -> Number:
        def called(name: str, *more: Typed) -> Number:
            return Number(x.b, x.b.call(name, [Typed("f64", operand(x)), *more], "f64"))

        return choose(x > 0.0, lambda: called("special.gamma", Typed("i32", 0)), lambda: where(x == 0.0, 5.0, x))

    x = np.array([1, -1, 4, 0, -0.0, 5, np.nan, 3], np.float64)
    np.testing.assert_allclose(values(make, x), [1, -1, 6, 5, 5, 24, np.nan, 2], rtol=1e-14)


def both_forms(name: str, xs: list[np.ndarray[Any, Any]]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A function's values by its form for one number and by that for vectors."""
    count, size = len(xs), len(xs[0])
    symbols = [PREFIX + name, *formulas.vector_forms(PREFIX + name).values()]
    width = int(symbols[-1].rpartition(formulas.FORM)[2])
    found: list[np.ndarray[Any, Any]] = []
    for symbol, lanes in zip(symbols, (1, width), strict=True):
        kind = "double" if lanes == 1 else f"<{lanes} x double>"
        loads = [
            f"  %p{i} = getelementptr double, ptr %x{i}, i64 %at\n  %v{i} = load {kind}, ptr %p{i}, align 8"
            for i in range(count)
        ]
        given = ", ".join(f"{kind} %v{i}" for i in range(count))
        text = "\n".join([
            f"declare {kind} @{symbol}({', '.join([kind] * count)})",
            f"define i32 @entry({', '.join(f'ptr %x{i}' for i in range(count))}, ptr %out, i64 %at) {{", *loads,
            f"  %y = call {kind} @{symbol}({given})", "  %p = getelementptr double, ptr %out, i64 %at",
            f"  store {kind} %y, ptr %p, align 8", "  ret i32 0", "}",
        ])  # fmt: skip
        loaded = jit.load(text, "entry", table=CALLABLE)
        run = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * (count + 1), ctypes.c_int64)(loaded.address)
        out = np.full(size, 7.0)
        for at in range(0, size - lanes + 1, lanes):
            run(*[x.ctypes.data for x in xs], out.ctypes.data, at)
        found.append(out)
    return found[0], found[1]


@pytest.mark.skipif(not formulas.vector_forms(PREFIX + "gammaincc"), reason="vectors of two lanes have no forms")
@pytest.mark.parametrize(
    "name", [".".join(map(str, (name, *orders))) for name in WITH_LANES for orders in ORDERS.get(name, [()])]
)
def test_forms_for_vectors_give_what_those_of_one_number_do(name: str) -> None:
    base = name.split(".")[0]
    count = FORMULAS[base].operands
    ends = [0.0, 1.0, 0.5, -1.0, np.inf, np.nan, 1e-300, 30.0, 1e4]
    rows = [*itertools.product(ends, repeat=count)]
    rng = np.random.default_rng(1)
    for low, high in itertools.product((1e-3, 1.0, 20.0), (0.5, 8.0, 400.0)):
        sides = [rng.uniform(low, low + high, (16, count))]
        if "beta" in base or base.endswith("inv"):
            sides[0][:, -1] = rng.uniform(0, 1, 16)
        rows.extend(map(tuple, sides[0]))
    if base in ("beta_below", "beta_tail", "gamma_share", "beta_share"):  # which are asked for what is inside alone
        rows = [row for row in rows if all(0 < x < 1e3 for x in row) and (count < 3 or row[2] < 1)]
    if base == "beta_tail":  # of how far x is off where the density is highest, at most so far as it may be
        rows = [(a + 20, b + 20, -0.3 * x) for a, b, x in rows]
    if base == "beta_below":
        rows = [(a, b, x * (a + 1) / (a + b + 2)) for a, b, x in rows]
    rows = rows[: len(rows) // 16 * 16]
    xs = [np.ascontiguousarray(column) for column in np.array(rows, np.float64).T]
    rng.shuffle(order := np.arange(len(rows)))
    one, many = both_forms(name, [x[order] for x in xs])
    # of mixed slopes terms cancel
    np.testing.assert_allclose(many, one, rtol=2e-12, atol=1e-17 if name.endswith("1.1") else 1e-300)
    zeros = one == 0
    np.testing.assert_array_equal(np.signbit(many[zeros]), np.signbit(one[zeros]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_gradients_of_mixed_regions_are_the_eager_ones(dtype: Any) -> None:
    rng = np.random.default_rng(2)
    a, x = (np.concatenate([rng.uniform(*r, 30) for r in ((0.01, 1), (1, 8), (20, 90))]).astype(dtype) for _ in "ax")
    rng.shuffle(x)
    gradient = wg.grad(lambda a, x: wg.sum(S.gammainc(a, x)), argnums=(0, 1))
    for ours, eager in zip(wg.function(gradient)(a, x), gradient(a, x), strict=True):
        np.testing.assert_allclose(ours, eager, rtol=1e-11 if dtype == np.float64 else 4 * np.finfo(dtype).eps)


def test_programs_call_forms_for_vectors_and_single_numbers_do_not() -> None:
    name = PREFIX + "gammainc.1"
    text = f"declare double @{name}(double, double)\n" + (
        "define i32 @entry(ptr noalias %x, ptr noalias %y, i64 %n) {\n  br label %go\ngo:\n"
        "  %i = phi i64 [ 0, %0 ], [ %k, %go ]\n  %p = getelementptr double, ptr %x, i64 %i\n"
        f"  %v = load double, ptr %p\n  %w = call double @{name}(double %v, double %v)\n"
        "  %q = getelementptr double, ptr %y, i64 %i\n  store double %w, ptr %q\n  %k = add i64 %i, 1\n"
        "  %more = icmp slt i64 %k, %n\n  br i1 %more, label %go, label %out\nout:\n  ret i32 0\n}\n"
    )
    forms = formulas.vector_forms(name)
    called = jit._object(text, "entry", CALLABLE).names
    assert {*called} == {name, *forms.values()}
    single = f"declare double @{name}(double, double)\ndefine double @entry(double %x) {{\n" + (
        f"  %y = call double @{name}(double %x, double %x)\n  ret double %y\n}}\n"
    )
    assert jit._object(single, "entry", CALLABLE).names == [name]


def test_upper_beta_functions_are_scipys_wherever_another_way_is_taken() -> None:
    """Also where SciPy's lower function, of which some are made, has vanished by a rounding error of an exponential."""
    rng = np.random.default_rng(5)  # the first rows are such
    rows: list[tuple[float, ...]] = [
        (777.7, 25.4, 0.62),
        (25.4, 777.7, 0.61676),
        (935.08, 36.7, 0.4380894),
        (36.704, 935.08, 0.5619105),
    ]
    edges = [0.0, 0.05, 0.5, 50.0, 101.0, 900.0, 1e5, np.inf, np.nan]
    rows += itertools.product(edges, edges, [0.0, 1e-300, 0.1, 0.5, 0.7, 1 - 1e-16, 1.0, -0.5, np.nan])
    for low, high in ((-3, 1), (-1, 2), (1, 3), (2, 4)):
        sizes = 10 ** rng.uniform(low, high, (200, 2))
        near = np.clip(sizes[:, 0] / sizes.sum(1) + rng.normal(0, 0.1, 200), 0, 1)
        rows += map(tuple, np.column_stack([sizes, near]))
    a, b, x = np.array(rows, np.float64).T
    found, wanted = wg.function(lambda a, b, x: S.betaincc(a, b, x))(a, b, x), np.array(S.betaincc(a, b, x))
    wanted[[1, 3]] = 2.0411908345719833e-283, 1.4819680546168311e-279  # by mpmath: SciPy 1.13 has 1.96e-283 and 0
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-300)


def test_upper_beta_functions_of_tiny_float32_parameters_keep_their_digits() -> None:
    a, b, x = (np.full(64, v, np.float32) for v in (1e-37, 2.0, 1e-4))
    found = wg.function(lambda a, b, x: S.betaincc(a, b, x))(a, b, x)
    np.testing.assert_allclose(found, S.betaincc(a, b, x), rtol=1e-6)


def test_counts_of_binomial_quantiles_are_the_eager_ones() -> None:
    rng = np.random.default_rng(6)
    q, p, n = rng.uniform(0, 1, 64), rng.uniform(0.05, 0.95, 64), np.repeat([1.0, 20.0, 90.0, 400.0], 16)
    quantiles: list[Callable[..., Any]] = [wg.scipy.stats.binom.ppf, wg.scipy.stats.nbinom.isf]
    for f in quantiles:
        np.testing.assert_array_equal(wg.function(f)(q, n, p), f(q, n, p))
