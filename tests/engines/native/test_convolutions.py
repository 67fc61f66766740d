"""Convolutions and pooling in machine code: tiles, portions, orders in memory, and windows, beside NumPy's kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._core.graph import Graph
from wengert._engines.native import engine
from wengert._engines.native.llvm import microtiles, transposes
from wengert._engines.native.llvm.microtiles import Tile
from wengert._engines.native.lower import (
    convolution_products,
    convolutions,
    depthwise,
    depthwise_planes,
    direct_convolutions,
    plane_convolutions,
)
from wengert._engines.native.lower.ranges import number_of
from wengert._engines.native.lower.window_geometry import Window, borders_of, is_inside
from wengert._engines.native.plan import pooling
from wengert._engines.native.run.callable import CALLABLE
from wengert._prims import windows as prims
from wengert._prims.conv import conv

RNG = np.random.default_rng(3)
TOLERANCE = {"float64": 1e-12, "float32": 2e-5}  # of the largest entry: sums in another order


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be compiled is an error here, and functions are verified."""
    monkeypatch.setattr(engine, "IS_STRICT", True)
    monkeypatch.setattr(engine, "VERIFIES", True)


def draw(shape: Any, dtype: str = "float64") -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape).astype(dtype)


def check(f: Callable[..., Any], *operands: Any, calls: int = 2) -> None:
    """Compares compiled code, called so often, with an eager run."""
    compiled = wg.function(f)
    for _ in range(calls):
        found = compiled(*operands)
    with wg.eager(), np.errstate(all="ignore"):
        wanted = compiled(*operands)
    pairs = zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]
    for ours, theirs in pairs:
        same(np.asarray(ours), np.asarray(theirs))


def same(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> None:
    """Equal to rounding; the same infinities, NaNs, and zeros with the same signs."""
    assert ours.dtype == theirs.dtype
    if ours.dtype.kind in "iub":
        np.testing.assert_array_equal(ours, theirs)
        return
    scale = np.max(np.abs(theirs[np.isfinite(theirs)]), initial=0.0)
    tolerance = TOLERANCE[ours.dtype.name]
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale)


# -- tiles ------------------------------------------------------------------------------------------------------------

TILES = [
    Tile("f64", 1, 1, 0, 0, 1, 2, 1), Tile("f64", 2, 3, 40, 7, 2, 4, 2), Tile("f32", 1, 14, 0, 3, 2, 16, 2),
    Tile("f32", 3, 2, -50, -5, 3, 8, 3), Tile("f64", 3, 1, 40, 0, 2, 8, 2, True), Tile("f32", 2, 1, 9, 0, 1, 1, 3, True),
    Tile("f64", 1, 5, 9, 0, 1, 8, 4), Tile("f32", 4, 1, 1, 0, 1, 4, 1),
]  # fmt: skip


@pytest.mark.parametrize("tile", TILES, ids=lambda tile: tile.name)
@pytest.mark.parametrize("keeps", [0, 1])
@pytest.mark.parametrize("counts", [(3, 2, 4, 1), (1, 5, 1, 3), (0, 2, 2, 2)])
def test_a_tile_is_what_its_name_says(tile: Tile, keeps: int, counts: tuple[int, ...]) -> None:
    assert microtiles.tile_of(tile.name) == tile
    dtype = np.dtype(np.float64 if tile.type == "f64" else np.float32)
    a, b = draw(3000, dtype.name), draw(6000, dtype.name)
    c = draw(4000, dtype.name)
    levels = [(counts[d], 11 + d, tile.columns + 3 * d) for d in range(tile.levels)]
    down, along, start = tile.columns * 7, tile.columns, 1000
    wanted = c.copy()
    for i, j in np.ndindex(tile.down, tile.along):
        row = slice(i * down + j * along, i * down + j * along + tile.columns)
        total = wanted[row].astype(np.float64) * keeps
        for index in np.ndindex(*[n for n, _, _ in levels]):
            in_a = start + i * tile.down_step + j * tile.along_step + sum(k * s[1] for k, s in zip(index, levels))
            in_b = sum(k * s[2] for k, s in zip(index, levels))
            own = a[in_a : in_a + tile.columns].astype(np.float64) if tile.is_by_lane else float(a[in_a])
            total = total + own * b[in_b : in_b + tile.columns].astype(np.float64)
        wanted[row] = total
    run_tile(tile, a[start:], b, c, [keeps, down, along, *(n for level in levels for n in level)])
    same(c, wanted)


def run_tile(tile: Tile, a: Any, b: Any, c: Any, numbers: list[int]) -> None:
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * len(numbers))
    kind(CALLABLE.address(tile.name))(a.ctypes.data, b.ctypes.data, c.ctypes.data, *numbers)


def test_a_name_of_no_tile_is_no_symbol() -> None:
    assert microtiles.tile_of("tile.f16_1x1_0_0_1x2_1") is None
    assert microtiles.tile_of("tile.f32_1x1") is None


@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("shape", [(1, 1), (16, 16), (5, 40), (49, 3), (3, 33), (37, 64), (0, 4), (4, 0)], ids=str)
def test_matrices_are_transposed_and_nothing_beside_them_is_touched(type_: str, shape: tuple[int, int]) -> None:
    dtype = np.dtype(np.float64 if type_ == "f64" else np.float32)
    rows, columns = shape
    a, given = draw((rows, columns + 3), dtype.name), draw((columns, rows + 5), dtype.name)
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 4)
    transpose = kind(CALLABLE.address(f"turned.{type_}"))
    for step in (1, -1):
        c, wanted = given.copy(), given.copy()
        wanted[::step, :rows] = a[:, :columns].T
        first = c if step == 1 or not columns else c[-1:]
        transpose(a.ctypes.data, first.ctypes.data, rows, columns, columns + 3, step * (rows + 5))
        np.testing.assert_array_equal(c, wanted)


def test_there_are_no_matrices_of_other_types_to_transpose() -> None:
    assert transposes.address("f16") == 0


@pytest.mark.parametrize("channels", [1, 4, 20])
@pytest.mark.parametrize("images", [1, 3])
@pytest.mark.parametrize("numbers", ["NCHW", "NHWC"])
@pytest.mark.parametrize("window", [(1, (1, 1)), (1, (2, 2)), (3, (1, 2))], ids=str)
def test_either_place_of_channels_and_few_or_many_of_them(
    window: tuple[int, tuple[int, int]], numbers: str, images: int, channels: int
) -> None:
    taps, strides = window
    sizes = {"N": images, "C": channels, "H": 19, "W": 21}
    x = draw([sizes[axis] for axis in numbers], "float32")
    kernel = draw((35, channels, taps, taps), "float32")

    def convolve(x: Any, kernel: Any) -> Any:
        return wg.nn.conv_general(x, kernel, strides, "SAME", dimension_numbers=(numbers, "OIHW", numbers))

    check(convolve, x, kernel)
    check(wg.grad(lambda x, kernel: wg.sum(convolve(x, kernel) ** 2), argnums=(0, 1)), x, kernel)


# -- convolutions -----------------------------------------------------------------------------------------------------


class Case(dict[str, Any]):
    """A convolution: shapes of operand and kernel, and attributes where they are not the plain ones."""

    def __init__(self, x: tuple[int, ...], kernel: tuple[int, ...], **attrs: Any) -> None:
        rank = len(x) - 2
        plain = {
            "strides": (1,) * rank, "padding": ((0, 0),) * rank, "lhs_dilation": (1,) * rank,
            "rhs_dilation": (1,) * rank, "groups": 1, "batch_groups": 1,
        }  # fmt: skip
        super().__init__({**plain, **attrs})
        self.x, self.kernel = x, kernel

    def __str__(self) -> str:
        return f"{self.x} {self.kernel}"


CASES = [
    Case((3, 2, 9, 8), (5, 2, 3, 3), padding=((1, 1), (1, 1))),
    Case((2, 3, 8, 7), (40, 3, 3, 2), strides=(2, 1), padding=((0, 2), (1, 0))),
    Case((9, 1, 7, 7), (16, 1, 3, 3), padding=((1, 1), (1, 1))),
    Case((2, 4, 6, 5), (6, 4, 1, 1)),
    Case((2, 3, 7, 6), (4, 3, 2, 3), lhs_dilation=(2, 3), padding=((1, 2), (0, 1))),
    Case((2, 3, 9, 9), (7, 3, 3, 2), rhs_dilation=(2, 3), padding=((2, 1), (-1, 1))),
    Case((2, 6, 5, 6), (9, 2, 2, 2), groups=3),
    Case((6, 2, 5, 6), (10, 2, 2, 2), batch_groups=2, padding=((0, 1), (1, 0))),
    Case((3, 2, 40), (33, 2, 5), strides=(3,), padding=((2, 2),)),
    Case((2, 2, 4, 5, 4), (17, 2, 2, 1, 3), padding=((1, 0), (0, 0), (1, 1)), strides=(1, 2, 1)),
    Case((2, 5, 4, 4), (80, 5, 4, 4)),
    Case((1, 3, 5, 5), (3, 3, 5, 5), padding=((0, 0), (0, 0))),
    Case((7, 2, 1, 3), (2, 2, 1, 1), padding=((0, 0), (2, 2))),
    Case((2, 2, 3, 3), (4, 2, 2, 2), padding=((-1, 3), (5, -2))),
    Case((3, 70, 6, 5), (70, 1, 3, 2), groups=70, padding=((1, 1), (0, 1)), strides=(2, 1)),
    Case((70, 3, 6, 7), (70, 3, 6, 7), batch_groups=70, padding=((1, 1), (0, 1))),
    Case((2, 61, 9, 7), (61, 1, 7, 5), groups=61, padding=((3, 3), (2, 2)), rhs_dilation=(1, 2), strides=(2, 1)),
    Case((2, 64, 40), (64, 1, 7), groups=64, padding=((3, 3),), strides=(3,)),
    Case((2, 3, 5, 5), (1, 3, 3, 3), padding=((1, 1), (1, 1))),
    Case((2, 256, 4, 4), (5, 256, 2, 2), padding=((1, 1), (1, 1))),
]


# of each channel by itself
PLANES = [
    *(Case((2, n, 9, 17), (n, 1, 3, 5), groups=n, padding=((1, 1), (2, 2))) for n in (2, 3, 5, 9, 16, 20, 37, 150)),
    Case((3, 3, 8, 61), (3, 1, 5, 4), groups=3, rhs_dilation=(1, 2), padding=((3, 1), (0, 2))),
    Case((2, 4, 9, 40), (4, 1, 2, 3), groups=4, strides=(3, 1)),
    Case((1, 6, 4, 5, 40), (6, 1, 2, 3, 3), groups=6, padding=((1, 0), (0, 1), (1, 1))),
    Case((5, 3, 70), (3, 1, 7), groups=3, padding=((3, 3),)),
    Case((2, 3, 6, 20), (3, 1, 2, 2), groups=3, padding=((-1, 2), (4, -3))),
    Case((2, 3, 6, 5), (3, 1, 6, 5), groups=3),
]  # fmt: skip


@pytest.fixture
def always_tiles(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Tiles compute all convolutions that they can; a number for each."""
    monkeypatch.setattr(direct_convolutions, "LEAST", 1)
    seen: list[int] = []
    convolved = direct_convolutions.convolved

    def noting(*args: Any) -> Any:
        seen.append(1)
        return convolved(*args)

    def noting_planes(*args: Any) -> None:
        seen.append(1)
        of_planes(*args)

    of_planes, along_planes = depthwise_planes.convolved, plane_convolutions.convolved

    def noting_runs(*args: Any) -> None:
        seen.append(1)
        along_planes(*args)

    monkeypatch.setattr(convolutions, "convolved", noting)
    monkeypatch.setattr(depthwise_planes, "convolved", noting_planes)
    monkeypatch.setattr(plane_convolutions, "convolved", noting_runs)
    yield seen
    assert seen, "no convolution went by tiles"


def of_order(case: Case, is_last: bool) -> tuple[Callable[..., Any], Any]:
    """The convolution as a function, on an operand whose channels come second, or last."""
    rank = len(case.x)
    last, first = (0, *range(2, rank), 1), (0, rank - 1, *range(1, rank - 1))
    if not is_last:
        return (lambda x, w: conv(x, w, **case)), case.x

    def f(x: Any, w: Any) -> Any:
        return wg.transpose(conv(wg.transpose(x, first), w, **case), last)

    return f, (*[case.x[a] for a in last],)


def of_kernel(case: Case, dtype: str) -> np.ndarray[Any, Any]:
    """A kernel that leaves numbers about as large as they are."""
    return draw(case.kernel, dtype) / np.sqrt(np.prod(case.kernel[1:])).astype(dtype)


def with_gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    def loss(x: Any, w: Any) -> Any:
        y = f(x, w)
        return wg.sum(y * wg.sin(y))

    return lambda x, w: (f(x, w), *wg.grad(loss, (0, 1))(x, w))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("is_last", [False, True], ids=["channels second", "channels last"])
@pytest.mark.parametrize("case", [*CASES, *PLANES], ids=str)
def test_convolutions_by_tiles(case: Case, is_last: bool, dtype: str, always_tiles: list[int]) -> None:
    f, shape = of_order(case, is_last)
    check(with_gradients(f), draw(shape, dtype), of_kernel(case, dtype), calls=1)


@pytest.mark.parametrize("is_last", [False, True], ids=["channels second", "channels last"])
def test_planes_whose_number_a_run_tells_and_rows_that_the_cache_does_not_hold(
    is_last: bool, always_tiles: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(depthwise_planes, "CACHED", 2000)
    f, shape = of_order(PLANES[1], is_last)
    spec = [wg.TensorSpec((None, *shape[1:])), wg.TensorSpec(PLANES[1].kernel)]
    compiled = wg.function(with_gradients(f), input_signature=spec)
    for batch in (0, 1, 11):
        x, w = draw((batch, *shape[1:])), draw(PLANES[1].kernel)
        found = compiled(x, w)
        with wg.eager():
            wanted = compiled(x, w)
        for ours, theirs in zip(found, wanted, strict=True):
            same(np.asarray(ours), np.asarray(theirs))


# along the rows of planes
RUNS = [
    Case((3, 6, 9, 8), (9, 2, 3, 3), groups=3, padding=((1, 1), (1, 1))),
    Case((3, 8, 20, 21), (8, 4, 3, 3), groups=2, padding=((1, 1), (1, 1))),
    Case((2, 4, 13, 17), (12, 2, 3, 2), groups=2),
    Case((2, 6, 11, 11), (6, 2, 1, 1), groups=3),
    Case((2, 6, 11, 11), (6, 2, 2, 1), groups=3),
    Case((2, 4, 9, 12), (6, 2, 2, 3), groups=2, rhs_dilation=(2, 3), padding=((2, 1), (-1, 4))),
    Case((2, 3, 100), (5, 3, 5), padding=((2, 2),)),
    Case((2, 4, 100), (6, 2, 4), groups=2),
    Case((1, 4, 5, 6, 7), (6, 2, 2, 2, 3), groups=2, padding=((1, 0), (0, 1), (1, 1))),
    Case((2, 3, 32, 30), (33, 3, 3, 3), padding=((1, 1), (0, 1))),
    Case((2, 4, 3, 3), (4, 2, 2, 2), groups=2, padding=((-1, 3), (5, -2))),
    Case((2, 2, 1, 40), (3, 2, 1, 3), padding=((0, 0), (7, 9))),
    Case((1, 2, 30, 32), (1, 2, 1, 1), padding=((1, 1), (0, 0))),
]


@pytest.fixture
def along_planes(always_tiles: list[int], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Runs of planes wherever they can be read; a number for each convolution of them."""
    seen: list[int] = []
    convolved = plane_convolutions.convolved

    def noting(*args: Any) -> None:
        seen.append(1)
        convolved(*args)

    monkeypatch.setattr(plane_convolutions, "GAIN", np.inf)
    monkeypatch.setattr(plane_convolutions, "convolved", noting)
    return seen


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", [*RUNS, *CASES[::3]], ids=str)
def test_convolutions_along_the_rows_of_planes(case: Case, dtype: str, along_planes: list[int]) -> None:
    f, shape = of_order(case, False)
    check(with_gradients(f), draw(shape, dtype), of_kernel(case, dtype), calls=1)
    assert along_planes or case not in RUNS


@pytest.mark.parametrize("case", RUNS[:4], ids=str)
def test_images_of_planes_whose_number_a_run_tells(case: Case, along_planes: list[int]) -> None:
    f, shape = of_order(case, False)
    spec = [wg.TensorSpec((None, *shape[1:])), wg.TensorSpec(case.kernel)]
    compiled = wg.function(with_gradients(f), input_signature=spec)
    for batch in (0, 1, 11):
        x, w = draw((batch, *shape[1:])), draw(case.kernel)
        found = compiled(x, w)
        with wg.eager():
            wanted = compiled(x, w)
        for ours, theirs in zip(found, wanted, strict=True):
            same(np.asarray(ours), np.asarray(theirs))
    assert along_planes


def test_what_lies_between_rows_is_in_no_result(along_planes: list[int]) -> None:
    case = RUNS[1]
    x = draw(case.x)
    x[0, 1, 3, -1] = np.nan  # the last of a row, which windows of the next row must not see
    x[1, 5, 0, 0] = np.inf
    check(lambda x, w: (conv(x, w, **case), wg.grad(lambda w: wg.sum(conv(x, w, **case)))(w)), x, draw(case.kernel))
    assert along_planes


def test_few_columns_of_channels_that_come_first_go_along_planes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, ...]] = []
    convolved = plane_convolutions.convolved

    def noting(block: Any, target: Any, x: Any, *rest: Any) -> None:
        seen.append(x.shape)
        convolved(block, target, x, *rest)

    monkeypatch.setattr(plane_convolutions, "convolved", noting)
    for case, goes in (
        (Case((2, 64, 28, 28), (64, 4, 3, 3), groups=16, padding=((1, 1), (1, 1))), True),
        (Case((2, 16, 28, 28), (1, 16, 3, 3), padding=((1, 1), (1, 1))), True),
        (Case((2, 64, 28, 28), (64, 64, 3, 3), padding=((1, 1), (1, 1))), False),
        (Case((2, 64, 28, 28), (64, 4, 3, 3), groups=16, padding=((1, 1), (1, 1)), strides=(2, 2)), False),
    ):
        seen.clear()
        f, shape = of_order(case, False)
        check(f, draw(shape, "float32"), of_kernel(case, "float32"), calls=1)
        assert bool(seen) == goes, case


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("is_last", [False, True], ids=["channels second", "channels last"])
def test_what_is_not_finite_in_a_plane_stays_where_it_is(is_last: bool, bad: float, always_tiles: list[int]) -> None:
    f, shape = of_order(PLANES[1], is_last)
    for place in ((1, 4), (0, 0), (-1, -1)):
        x = draw(shape)
        x[(1, *place, 0) if is_last else (1, 0, *place)] = bad
        check(lambda x, w: (f(x, w), wg.grad(lambda w: wg.sum(f(x, w)))(w)), x, draw(PLANES[1].kernel))


PORTIONS = {
    "little cache": {"CACHED": 100}, "little memory": {"SCRATCH": 1}, "some memory": {"SCRATCH": 4000},
    "packed": {"PITCH": 1, "ROWS": 1}, "few parts": {"PARTS": 2, "FEW": 1, "TASKS": 2},
    "all of it": {"CACHED": 300, "SCRATCH": 20_000, "PARTS": 2, "FEW": 1, "ROWS": 3},
}  # fmt: skip


@pytest.mark.parametrize("limits", PORTIONS.values(), ids=PORTIONS)
@pytest.mark.parametrize("is_last", [False, True], ids=["channels second", "channels last"])
@pytest.mark.parametrize("case", [*CASES[:11:3], CASES[16]], ids=str)
def test_portions_make_no_difference(
    case: Case, is_last: bool, limits: dict[str, int], always_tiles: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in limits.items():
        for module in (direct_convolutions, convolution_products, depthwise):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    f, shape = of_order(case, is_last)
    check(with_gradients(f), draw(shape), draw(case.kernel), calls=1)


@pytest.mark.parametrize("batch", [1, 3, 70])
@pytest.mark.parametrize("is_last", [False, True], ids=["channels second", "channels last"])
def test_the_number_of_images_may_be_unknown(batch: int, is_last: bool, always_tiles: list[int]) -> None:
    f, shape = of_order(CASES[0], is_last)
    spec = [wg.TensorSpec((None, *shape[1:])), wg.TensorSpec(CASES[0].kernel)]
    compiled = wg.function(with_gradients(f), input_signature=spec)
    x, w = draw((batch, *shape[1:])), draw(CASES[0].kernel)
    found = compiled(x, w)
    with wg.eager():
        wanted = compiled(x, w)
    for ours, theirs in zip(found, wanted, strict=True):
        same(np.asarray(ours), np.asarray(theirs))


@pytest.mark.parametrize("is_last", [False, True], ids=["channels second", "channels last"])
def test_only_the_number_of_images_is_told_at_run_time(is_last: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    serves = direct_convolutions.serves

    def noting(x: Any, kernel: Any, shape: Any, windows: Any) -> bool:
        seen.append((type(shape.images) is int, type(shape.channels) is int))
        return serves(x, kernel, shape, windows)

    monkeypatch.setattr(convolutions, "serves", noting)
    for channels, batch in ((70, 2), (80, 2), (80, 67), (80, 99)):
        f, shape = of_order(Case((batch, channels, 5, 6), (66, channels, 3, 3)), is_last)
        check(f, draw(shape), draw((66, channels, 3, 3)), calls=1)
    assert all(known for _, known in seen)
    assert [images for images, _ in seen] == [True, True, True, False]


def test_no_images_give_none(always_tiles: list[int]) -> None:
    f, shape = of_order(CASES[0], True)
    spec = [wg.TensorSpec((None, *shape[1:])), wg.TensorSpec(CASES[0].kernel)]
    compiled = wg.function(with_gradients(f), input_signature=spec)
    out, of_x, of_w = compiled(np.zeros((0, *shape[1:])), draw(CASES[0].kernel))
    assert out.shape[0] == of_x.shape[0] == 0
    np.testing.assert_array_equal(np.asarray(of_w), 0.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_stays_where_it_is(bad: float, always_tiles: list[int]) -> None:
    f, shape = of_order(CASES[0], True)
    x, w = draw(shape), draw(CASES[0].kernel)
    x[1, 4, 5, 0] = bad
    check(f, x, w)


def test_results_in_both_orders(always_tiles: list[int]) -> None:
    def f(x: Any, w: Any) -> Any:
        y = conv(x, w, **CASES[0])
        return wg.transpose(y, (0, 2, 3, 1)), y * 2.0

    check(f, draw(CASES[0].x), draw(CASES[0].kernel))


def test_operands_that_are_computed_where_they_are_read(always_tiles: list[int]) -> None:
    def f(x: Any, w: Any) -> Any:
        turned = wg.transpose(wg.where(x > 0, x, 0.0), (0, 3, 1, 2))
        return conv(turned, wg.flip(wg.exp(w), (2, 3)), **CASES[0])

    check(f, draw((3, 9, 8, 2)), draw(CASES[0].kernel))


@pytest.mark.parametrize("case", [Case((2, 3, 5, 6), (4, 3, 2, 2)), CASES[6]], ids=str)
def test_integers_have_no_tiles(case: Case) -> None:
    x, w = (RNG.integers(-9, 9, shape) for shape in (case.x, case.kernel))
    check(lambda x, w: conv(x, w, **case), x, w)


LARGE = {
    "channels last": (Case((16, 8, 20, 20), (32, 8, 3, 3), padding=((1, 1), (1, 1))), True),
    "channels second": (Case((16, 8, 20, 20), (33, 8, 3, 3), padding=((1, 1), (1, 1))), False),
    "one image": (Case((1, 8, 70, 80), (32, 8, 3, 3), padding=((1, 1), (1, 1))), True),
    "few groups": (Case((9, 3, 40, 40), (3, 1, 3, 3), padding=((1, 1), (1, 1)), groups=3), True),
    "groups apart": (Case((9, 3, 40, 40), (3, 1, 3, 3), padding=((1, 1), (1, 1)), groups=3), False),
    "groups apart, with strides": (
        Case((16, 9, 23, 20), (9, 1, 5, 5), strides=(2, 2), padding=((2, 2), (2, 2)), groups=9), False
    ),
    "depthwise": (Case((16, 64, 20, 20), (64, 1, 3, 3), padding=((1, 1), (1, 1)), groups=64), True),
}  # fmt: skip


def test_groups_apart_with_strides_are_copied_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    case, _ = LARGE["groups apart, with strides"]
    monkeypatch.setattr(convolutions, "_by_matrices", None)  # one group after the other, which takes four times as long
    check(with_gradients(lambda x, w: conv(x, w, **case)), draw(case.x), of_kernel(case, "float64"))


@pytest.mark.parametrize("name", LARGE)
def test_threads_make_no_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, is_last = LARGE[name]
    f, shape = of_order(case, is_last)
    operands = draw(shape, "float32"), draw(case.kernel, "float32")
    the_same_bits(with_gradients(f), operands, monkeypatch)


def the_same_bits(f: Callable[..., Any], operands: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[bytes]] = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", threads)
        compiled = wg.function(f)
        found += [[np.asarray(y).tobytes() for y in compiled(*operands)] for _ in range(3)]
    assert all(other == found[0] for other in found)


# -- pooling ----------------------------------------------------------------------------------------------------------

GEOMETRIES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "apart": ((2, 3, 8, 6), {"window": (2, 2), "strides": (2, 2)}),
    "with a rest": ((2, 70, 7, 5), {"window": (2, 2), "strides": (2, 2)}),
    "overlapping": ((1, 2, 9, 8), {"window": (3, 2), "strides": (2, 1)}),
    "gaps": ((2, 2, 9, 8), {"window": (2, 1), "strides": (3, 2), "dilation": (2, 1)}),
    "padded": ((2, 3, 7, 6), {"window": (3, 3), "strides": (2, 1), "padding": ((1, 1), (2, 0))}),
    "padding only": ((2, 3, 3, 2), {"window": (1, 2), "strides": (1, 1), "padding": ((2, 1), (2, 2))}),
    "all of it": ((2, 66, 4, 4), {"window": (4, 4), "strides": (1, 1)}),
    "one element": ((1, 1, 1, 1), {"window": (1, 1), "strides": (1, 1)}),
    "a line": ((3, 2, 200), {"window": (3,), "strides": (2,), "padding": ((1, 1),)}),
    "a cube": ((2, 2, 5, 4, 6), {"window": (2, 2, 2), "strides": (2, 1, 2)}),
}  # fmt: skip


def complete(shape: tuple[int, ...], geometry: dict[str, Any]) -> dict[str, Any]:
    rank = len(shape) - 2
    return {"padding": ((0, 0),) * rank, "dilation": (1,) * rank, **geometry}


def channels_last(f: Callable[[Any], Any], rank: int) -> Callable[[Any], Any]:
    last, first = (0, *range(2, rank), 1), (0, rank - 1, *range(1, rank - 1))
    return lambda x: wg.transpose(f(wg.transpose(x, first)), last)


def largest(geometry: dict[str, Any]) -> Callable[[Any], Any]:
    """The largest element of each window, as `max_pool` has it."""

    def f(x: Any) -> Any:
        places = prims.window_argmax(x, **geometry)
        lines = [wg.reshape(v, (*v.shape[:2], -1)) for v in (x, places)]
        return wg.reshape(prims.take_along(*lines), places.shape)

    return f


def peculiar(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """Numbers with ties, zeros of both signs, NaNs and infinities among them."""
    x = np.round(RNG.normal(size=shape) * 2) / 2
    if dtype.startswith("int"):
        return (x * 2).astype(dtype)
    for value, share in ((-0.0, 0.2), (np.nan, 0.05), (np.inf, 0.05), (-np.inf, 0.1)):
        x[RNG.random(shape) < share] = value
    return x.astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("is_last", [False, True], ids=["channels second", "channels last"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_windows(name: str, is_last: bool, dtype: str) -> None:
    shape, geometry = GEOMETRIES[name][0], complete(*GEOMETRIES[name])
    rank = len(shape)
    if is_last:
        shape = (shape[0], *shape[2:], shape[1])
    for f in (
        largest(geometry), lambda x: prims.window_sum(x, **geometry), lambda x: prims.window_argmax(x, **geometry),
        lambda x: prims.window_argmin(x, **geometry),
    ):  # fmt: skip
        check(channels_last(f, rank) if is_last else f, peculiar(shape, dtype), calls=1)


@pytest.mark.parametrize("is_last", [False, True], ids=["channels second", "channels last"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_gradients_of_windows(name: str, is_last: bool) -> None:
    shape, geometry = GEOMETRIES[name][0], complete(*GEOMETRIES[name])
    rank = len(shape)
    if is_last:
        shape = (shape[0], *shape[2:], shape[1])
    for f in (largest(geometry), lambda x: prims.window_sum(x, **geometry)):
        g = channels_last(f, rank) if is_last else f
        check(lambda x, g=g: (g(x), wg.grad(lambda x: wg.sum(g(x) ** 2))(x)), peculiar(shape, "float64"), calls=1)


@pytest.mark.parametrize("is_last", [False, True], ids=["channels second", "channels last"])
def test_windows_are_the_same_for_any_number_of_threads(is_last: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    geometry = complete((8, 16, 60, 60), {"window": (3, 3), "strides": (2, 2), "padding": ((1, 1), (1, 1))})
    sums, most = (lambda x: prims.window_sum(x, **geometry)), largest(geometry)
    if is_last:
        sums, most = channels_last(sums, 4), channels_last(most, 4)

    def f(x: Any) -> Any:
        return sums(x), most(x), wg.grad(lambda x: wg.sum(sums(x) ** 2 + most(x) ** 2))(x)

    the_same_bits(f, (draw((8, 60, 60, 16) if is_last else (8, 16, 60, 60)),), monkeypatch)


def test_signs_of_zeros_are_kept() -> None:
    x = np.full((1, 1, 4, 4), -0.0)
    geometry = complete(x.shape, {"window": (2, 2), "strides": (2, 2)})
    for f in (largest(geometry), lambda x: prims.window_sum(x, **geometry)):
        assert np.signbit(np.asarray(wg.function(f)(x))).all()


def nodes_of(f: Callable[..., Any], *operands: Any) -> list[str]:
    """The ops of the compiled graph, pooling joined."""
    compiled = wg.function(f)
    compiled(*operands)
    ((_, form),) = compiled.traces
    graph: Graph = pooling.pooled(form.graph)
    return [node.op.name for node in graph.nodes]


def test_pooling_is_one_op_and_its_gradient_another() -> None:
    x = draw((2, 8, 8, 3))
    forward = nodes_of(lambda x: wg.nn.max_pool(x, 2), x)
    assert pooling.BEST.name in forward
    both = nodes_of(wg.value_and_grad(lambda x: wg.sum(wg.nn.max_pool(x, 2) ** 2)), x)
    assert pooling.BEST.name in both
    assert pooling.PUT.name in both
    assert not {"take_along", "add_along", "window_argmax"} & {*forward, *both}


@pytest.mark.parametrize("name", ["apart", "padded", "a line", "a cube"])
def test_a_gradient_alone_looks_up_no_places(name: str) -> None:
    shape, geometry = GEOMETRIES[name][0], complete(*GEOMETRIES[name])
    x = draw(shape)
    found = nodes_of(wg.grad(lambda x: wg.sum(largest(geometry)(x) * 2.0)), x)
    assert {pooling.BEST.name, pooling.PUT.name} <= {*found}
    assert not {"take_along", "add_along", "window_argmax"} & {*found}


def test_elements_that_are_taken_twice() -> None:
    geometry = complete((2, 3, 8, 6), {"window": (2, 2), "strides": (2, 2)})

    def f(x: Any) -> Any:
        places = prims.window_argmax(x, **geometry)
        pairs = [[wg.reshape(v, (2, 3, -1)) for v in (y, places)] for y in (x, x * 2.0, x)]
        first, other, again = (prims.take_along(*pair) for pair in pairs)
        return wg.reshape(first, places.shape) * wg.reshape(other, places.shape) + again[0, 0, 0]

    check(lambda x: (f(x), wg.grad(lambda x: wg.sum(f(x)))(x)), draw((2, 3, 8, 6)))


@pytest.mark.parametrize("perm", [(0, 2, 3, 1), (3, 0, 1, 2), (1, 0, 3, 2)], ids=str)
@pytest.mark.parametrize("groups", [1, 4])
def test_results_that_are_turned_are_stored_as_they_are_wanted(perm: tuple[int, ...], groups: int) -> None:
    x, kernel = draw((3, 4, 9, 8)), draw((8, 4 // groups, 3, 3))
    geometry = complete(x.shape, {"window": (2, 3), "strides": (2, 1)})
    results = {
        "conv": lambda x: wg.nn.conv_general(x, kernel, 1, "SAME", feature_group_count=groups),
        "sum": lambda x: prims.window_sum(x, **geometry),
        "best": largest(geometry),
        "place": lambda x: prims.window_argmin(x, **geometry),
    }

    def turned(x: Any) -> Any:
        return [wg.transpose(f(x), perm) for f in results.values()]

    def both(x: Any) -> Any:
        y = results["conv"](x)
        return wg.transpose(y, perm), y, wg.transpose(y, (1, 0, 2, 3))

    check(lambda x: (*turned(x), *both(x), wg.transpose(wg.grad(lambda x: wg.sum(results["best"](x)))(x), perm)), x)


def test_places_that_somebody_reads_are_there() -> None:
    geometry = complete((2, 3, 8, 6), {"window": (2, 2), "strides": (2, 2)})
    check(lambda x: (prims.window_argmax(x, **geometry), largest(geometry)(x)), draw((2, 3, 8, 6)))


def test_pooling_in_a_loop() -> None:
    def f(x: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            return i + 1, y * 0.5 + wg.nn.max_pool(y, 2, strides=1, padding="same")

        return wg.sum(wg.while_loop(lambda i, y: i < 3, step, (0, x))[1] ** 2)

    check(wg.value_and_grad(f), draw((2, 6, 6, 3)), calls=1)


def test_pooling_of_some_size() -> None:
    compiled = wg.function(
        wg.value_and_grad(lambda x: wg.sum(wg.nn.max_pool(x, 2) ** 2)),
        input_signature=[wg.TensorSpec((None, 8, None, 3))],
    )  # fmt: skip
    for shape in ((2, 8, 6, 3), (70, 8, 101, 3)):
        x = draw(shape)
        found = compiled(x)
        with wg.eager():
            wanted = compiled(x)
        for ours, theirs in zip(found, wanted, strict=True):
            same(np.asarray(ours), np.asarray(theirs))


@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (3, 1)], ids=str)
@pytest.mark.parametrize("taps", [(3, 3), (5, 4), (1, 3), (9, 9)], ids=str)
@pytest.mark.parametrize("padding", ["SAME", ((0, 3), (4, 0)), ((-1, 2), (2, -2))], ids=str)
def test_what_sees_zeros_is_computed_apart_in_large_images(
    monkeypatch: pytest.MonkeyPatch, padding: Any, taps: tuple[int, int], strides: tuple[int, int]
) -> None:
    monkeypatch.setattr(convolutions, "LARGE", 1)
    x, kernel = draw((2, 11, 12, 40)), draw((40, 1, *taps))

    def convolve(x: Any, kernel: Any) -> Any:
        numbers = ("NHWC", "OIHW", "NHWC")
        return wg.nn.conv_general(x, kernel, strides, padding, dimension_numbers=numbers, feature_group_count=40)

    check(convolve, x, kernel)
    check(wg.grad(lambda x, kernel: wg.sum(convolve(x, kernel) ** 2), argnums=(0, 1)), x, kernel)


@pytest.mark.parametrize("low", [-3, 0, 2, 9])
@pytest.mark.parametrize("stride", [1, 2, 5])
@pytest.mark.parametrize("dilation", [1, 3])
@pytest.mark.parametrize("size", [1, 4, 12])
def test_borders_are_the_positions_that_see_zeros(size: int, dilation: int, stride: int, low: int) -> None:
    whole = Window(size, 7, 3, stride, low, dilation, 1)
    covered = 0
    for piece in borders_of(whole):
        assert piece.first == covered
        positions, inner_low = number_of(piece.window.positions), number_of(piece.window.low)
        covered += positions
        for i in range(positions):
            seen = [(piece.first + i) * stride + k * dilation - low for k in range(3)]
            assert seen == [i * stride + k * dilation - inner_low for k in range(3)]
            assert is_inside(piece.window) == all(0 <= place < size for place in seen)
    assert covered == 7


def test_all_groups_count_for_what_tiles_are_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolutions, "_by_matrices", None)  # ten times as long for 64 groups of 4,900 multiplications
    x, kernel = draw((1, 64, 28, 28), "float32"), draw((64, 1, 5, 5), "float32")
    check(lambda x, kernel: wg.nn.conv_general(x, kernel, (2, 2), "SAME", feature_group_count=64), x, kernel)
