"""What the native engine does to be fast: loops in pieces, zeros added once, results in memory that is kept."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.ir.builder import Builder
from wengert._engines.native.lower import index_splitting
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan.prepare import ready
from wengert._passes import optimise

X = np.random.default_rng(3).normal(size=40)


def loops_of(function: Any, *arguments: Any) -> str:
    return str(lowered(ready(optimise(wg.function(function).trace(*arguments))), "f").function)


def shifted(x: Any) -> Any:
    """A stage of a finite difference: ends of their own, then what comes from the neighbour."""
    before = wg.concatenate([x[:2], x[2:] * x[:-2]])
    return wg.concatenate([before[:1], wg.exp(before[:-1])]) + wg.pad(x[5:], (0, 5))


def test_pieces_have_no_conditions() -> None:
    loops = loops_of(shifted, X)
    assert " if %" not in loops
    assert len([line for line in loops.split("\n") if line.strip().startswith("for ")]) > 1


def test_pieces_give_what_numpy_gives() -> None:
    before = np.concatenate([X[:2], X[2:] * X[:-2]])
    expected = np.concatenate([before[:1], np.exp(before[:-1])]) + np.pad(X[5:], (0, 5))
    # exp is within 4 units in the last place
    np.testing.assert_allclose(wg.function(shifted)(X), expected, rtol=1e-14)


@pytest.mark.parametrize("shape", [(200_003,), (401, 503), (9_001, 3, 11)])
def test_parts_of_long_loops_have_no_conditions(shape: tuple[int, ...]) -> None:
    """Also where a piece begins in the middle of a part that threads may run, or ends there."""

    def joined(x: Any) -> Any:
        return np.concatenate([x[-7:], x * 2, x[:9]]) + np.pad(x, [(11, 5), *[(0, 0)] * (x.ndim - 1)])

    def rolled(x: Any) -> Any:
        return np.roll(x, 12_345, axis=0) - np.roll(x, -1, axis=0)

    x = np.random.default_rng(5).normal(size=shape)
    for function in (joined, rolled):
        loops = loops_of(function, x)
        assert not re.search(r": f64 = %\d+ if %", loops)
        np.testing.assert_array_equal(wg.function(function)(x), function(x))
        gradient = wg.grad(lambda x, f=function: (f(x) ** 2).sum())
        np.testing.assert_allclose(wg.function(gradient)(x), gradient(x), rtol=1e-12)
        np.testing.assert_allclose(
            wg.function(lambda x, f=function: (f(x) ** 2).sum())(x), (function(x) ** 2).sum(), rtol=1e-9
        )


REPEATED = {
    "product": lambda x: wg.repeat(x, 2) * 3,
    "sum": lambda x: wg.sum(wg.repeat(x, 3) ** 2),
    "gradient": wg.grad(lambda x: wg.sum((wg.repeat(x, 8) + wg.repeat(x[::-1], 8)) ** 3)),
}


@pytest.mark.parametrize("function", REPEATED.values(), ids=[*REPEATED])
def test_repeated_elements_are_found_without_division(function: Any) -> None:
    assert "div.i64" not in loops_of(function, X)
    np.testing.assert_allclose(wg.function(function)(X), function(X), rtol=1e-12)


@pytest.mark.parametrize("size", [1_025, 2_048, 40_001, 200_003])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_long_rows_that_come_again_are_pieces(size: int, count: int) -> None:
    def tiled(x: Any) -> Any:
        return np.tile(x, count) * np.concatenate([x[1:], np.tile(x, count - 1), x[:1]])

    x = np.random.default_rng(6).normal(size=size)
    loops = loops_of(tiled, x)
    assert "div.i64" not in loops
    assert "rem.i64" not in loops
    np.testing.assert_array_equal(wg.function(tiled)(x), tiled(x))
    np.testing.assert_array_equal(wg.function(lambda x: np.tile(x, count))(x), np.tile(x, count))
    rows = x[: size // 5 * 5].reshape(5, -1)
    np.testing.assert_array_equal(wg.function(lambda x: np.repeat(x, count, axis=0))(rows), np.repeat(rows, count, 0))
    gradient = wg.grad(lambda x: (tiled(x) ** 2).sum())
    np.testing.assert_allclose(wg.function(gradient)(x), gradient(x), rtol=1e-12)


NORMALISED = {
    "values": lambda x, g: wg.reshape(x * g[:, None], (2, -1)) * np.arange(240),
    "sum": lambda x, g: wg.sum(wg.reshape(x * g[:, None], (2, -1)) ** 2, axis=1),
    "gradient": wg.grad(lambda x, g: wg.sum(wg.sum(wg.reshape(x * g[:, None], (2, -1)) ** 2, axis=1) ** 2)),
}


@pytest.mark.parametrize("function", NORMALISED.values(), ids=[*NORMALISED])
def test_rows_of_a_longer_axis_are_gone_through_without_division(function: Any) -> None:
    x, g = np.random.default_rng(0).normal(size=(4, 6, 20)), X[:6]
    np.testing.assert_allclose(wg.function(function)(x, g), function(x, g), rtol=1e-12)
    loops = loops_of(function, x, g)
    divided = set(re.findall(r"(?:div|rem)\.i64 (%\d+)", loops))
    multiplied = {
        loops[: found.start()].rpartition("for ")[2].split()[0] for found in re.finditer(r" = mul\.f64", loops)
    }
    assert multiplied and not multiplied & divided


@pytest.mark.parametrize("size", [64 * 700, 8 * 1234 + 4])
@pytest.mark.parametrize("by", [2, 3, 4, 8])
def test_repeated_elements_of_loops_in_parts(size: int, by: int) -> None:
    x = np.arange(float(size))
    np.testing.assert_array_equal(wg.function(lambda x: wg.repeat(x, by) * 2)(x), np.repeat(x, by) * 2)


def gathered(x: Any, step: int) -> Any:
    """Every so many elements along the last axis, and what is next to them: gradients pad between them."""
    whole = x.shape[-1] // step * step
    first, last = x[..., :whole:step], x[..., step - 1 : whole : step]
    return np.sin(first) * last + x[..., 1::step][..., : first.shape[-1]]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("shape", "step", "dtype"),
    [
        *[(shape, step, "float32") for shape in [(72,), (4, 3, 71), (300_017,)] for step in (2, 3, 7, 8, 9)],
        *[((3, 70), 5, dtype) for dtype in ("float16", "float64", "complex128")],
    ],
)
def test_elements_with_gaps_between_them(shape: tuple[int, ...], step: int, dtype: Any) -> None:
    """Zeros between elements are written in the same loop, to the sign as what is added to them says."""
    rng = np.random.default_rng(step)
    x = rng.normal(size=shape).astype(dtype)
    weights = rng.normal(size=(*shape[:-1], shape[-1] // step)).astype(dtype)
    weights[..., ::3] = -0.0
    weights[..., 1] = np.nan

    def pulled(x: Any, weights: Any) -> Any:
        return wg.vjp(lambda x: gathered(x, step), x)[1](weights)

    eager, compiled = pulled(x, weights), wg.function(pulled)(x, weights)
    np.testing.assert_allclose(compiled, eager, rtol=4 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps)
    assert np.array_equal(np.signbit(np.real(compiled)), np.signbit(np.real(eager)))


@pytest.mark.parametrize("step", [2, 3, 8])
def test_gaps_are_found_without_division(step: int) -> None:
    def gradient(x: Any) -> Any:
        return wg.grad(lambda x: wg.sum(x[:, ::step] * x[:, 1::step]))(x)

    loops = loops_of(gradient, np.ones((7, 8 * step)))
    assert " div." not in loops and " rem." not in loops and " if %" not in loops and "fill" not in loops


def test_functions_that_take_long_are_computed_before_elements_are_repeated() -> None:
    loops = loops_of(lambda x: wg.tanh(2 * wg.repeat(x, 3) + 1), X)
    assert "for" in loops.split("tanh")[0]
    assert "0 .. 120" not in loops.split("tanh")[0]
    np.testing.assert_allclose(
        wg.function(lambda x: wg.tanh(2 * wg.repeat(x, 3) + 1))(X), np.tanh(2 * np.repeat(X, 3) + 1), rtol=1e-14
    )


def test_all_iterations_are_run() -> None:
    """Once, but for those of a last vector that overlaps the one before it: here they only write."""
    b = Builder()
    out = b.array("i64", "out")

    def body(i: Any) -> None:
        inside = b.both(b.let("ge", "i64", b.sub(i, 3), 0), b.let("lt", "i64", i, 9))
        b.store(out, i, b.select("i64", inside, b.let("eq", "i64", i, 5), -1))

    index_splitting.iterations(b, 0, 12, body)
    text = str(b.function("f", [], [out], []))
    ranges = [line.split("=")[1].split("..") for line in text.split("\n") if line.strip().startswith("for ")]
    covered = [i for start, stop in ranges for i in range(int(start), int(stop))]
    covered += [int(line.split("[")[1].split("]")[0]) for line in text.split("\n") if line.strip().startswith("out1[")
                and "%" not in line.split("]")[0]]  # fmt: skip
    assert {*covered} == {*range(12)}, text
    assert "ge." not in text, "a condition is left"


@pytest.mark.parametrize("x", [0.0, -0.0, 1.5, np.nan])
@pytest.mark.parametrize("y", [0.0, -0.0, -1.5])
def test_sums_with_zeros_keep_their_signs(x: float, y: float) -> None:
    def chain(x: Any, y: Any) -> Any:
        start = wg.concatenate([x, np.zeros(1)])
        return ((start + wg.pad(y, (1, 0))) + 0.0) - wg.pad(y, (0, 1))

    given = np.array([x]), np.array([y])
    start = np.array([x, 0.0])
    expected = ((start + np.array([0.0, y])) + 0.0) - np.array([y, 0.0])
    found = wg.function(chain)(*given)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_large_results_are_their_own() -> None:
    f = wg.function(lambda x: x * 2.0)
    x = np.arange(100_000.0)
    first = f(x)
    second = f(x + 1.0)
    np.testing.assert_array_equal(first, x * 2.0)
    np.testing.assert_array_equal(second, (x + 1.0) * 2.0)
    part = first[10:20]
    del first
    f(x - 1.0)
    np.testing.assert_array_equal(part, x[10:20] * 2.0)  # memory that a view needs is not given away


# -- short rows --------------------------------------------------------------------------------------------------------


def of_rows(x: Any) -> Any:
    """Functions of many instructions, summed along a short last axis, beside what is stored as it is."""
    value = wg.special.log_ndtr(x)
    return wg.sum(value, axis=-1), wg.max(wg.special.erfcx(x), axis=-1), value


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(11, 3), (700, 3), (7, 41, 2), (33, 40), (100_000, 3), (1, 5)])
def test_short_rows_are_computed_side_by_side(shape: tuple[int, ...], dtype: Any) -> None:
    x = np.random.default_rng(1).normal(size=shape).astype(dtype)
    rtol = 1e-13 if dtype == np.float64 else 1e-6
    for found, wanted in zip(wg.function(of_rows)(x), of_rows(x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol)


def test_short_rows_are_added_up_after_a_loop_of_their_elements() -> None:
    loops = loops_of(lambda x: wg.sum(wg.special.log_ndtr(x), axis=-1), np.ones((700, 3))).split("\n")
    depths = [len(line) - len(line.lstrip()) for line in loops if "log1p" in line or "sum.f64" in line]
    assert len(depths) == 2
    assert depths[0] < depths[1]


def test_short_rows_of_unknown_number() -> None:
    compiled = wg.function(lambda x: of_rows(x), input_signature=[wg.TensorSpec((None, 3), np.float64)])
    for count in (40, 41, 3, 0, 1000, 7):
        x = np.random.default_rng(count).normal(size=(count, 3))
        for found, wanted in zip(compiled(x), of_rows(x), strict=True):
            np.testing.assert_allclose(found, wanted, 1e-13)


def test_rows_of_unknown_length() -> None:
    """What a program of any size divides an index by is a loop over rows, also where parts begin in the midst of one."""
    spec = [wg.TensorSpec((None, None), np.float64)]
    repeated = {
        "beside": lambda x: np.tile(x, (1, 3)), "below": lambda x: np.tile(x, (3, 1)), "flat": lambda x: np.tile(x.ravel(), 5),
        "each": lambda x: np.repeat(x, 2, 1) * 2, "both": lambda x: np.tile(x, (2, 2)) + 1,
    }  # fmt: skip
    for f in repeated.values():
        compiled = wg.function(f, input_signature=spec)
        gradient = wg.grad(lambda x, f=f: (f(x) ** 2).sum())
        of_any_size = wg.function(gradient, input_signature=spec)
        for shape in ((3, 5), (1, 1), (0, 4), (4, 0), (300, 307), (2, 100_003)):
            x = np.random.default_rng(1).normal(size=shape)
            np.testing.assert_array_equal(compiled(x), f(x))
            np.testing.assert_allclose(of_any_size(x), gradient(x), rtol=1e-14)
    graph = wg.function(repeated["beside"], input_signature=spec).trace(np.ones((3, 5)))
    loops = str(lowered(ready(optimise(graph)), "f").function)
    innermost = loops[loops.rindex("for ") :]
    assert " rem." not in innermost
    assert " div." not in innermost


def test_constant_positions_are_looked_at_once() -> None:
    """Those from the end, and those out of range, of sizes that are known and that only the call tells."""
    x, places, last = np.arange(100.0) ** 2, np.arange(60), np.array([3, -1, 99, -100, 5] * 20)
    for found in (places, last):
        np.testing.assert_array_equal(wg.function(lambda x, found=found: x[found])(x), x[found])
        np.testing.assert_array_equal(wg.function(lambda x, found=found: (x * 2).reshape(10, 10).T.ravel()[found])(x),
                                      (x * 2).reshape(10, 10).T.ravel()[found])  # fmt: skip
    of_any_size = wg.function(lambda x: x[places], input_signature=[wg.TensorSpec((None,))])
    np.testing.assert_array_equal(of_any_size(x), x[:60])
    for f, given in (of_any_size, x[:10]), (wg.function(lambda x: x[places + 41]), x), (
        wg.function(lambda x: x[-1 - places * 2]), x,
    ):  # fmt: skip
        with pytest.raises(IndexError, match="out of bounds"):
            f(given)
