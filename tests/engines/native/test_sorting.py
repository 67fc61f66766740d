"""Compiled sorts beside eager ones: all dtypes, ties, signed zeros, NaN, lanes in parts, with NumPy's functions or without."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

from wengert._engines.native.llvm import numpy_functions
from wengert._engines.native.lower import arrangements, order_statistics, sorting
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan import sizes
from wengert._engines.native.plan.prepare import ready
from wengert._passes import optimise
from wengert._prims import sorting as prims

DTYPES = ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")
SHAPES = (
    ((300,), 0),
    ((3, 200), 1),
    ((150, 4), 0),
    ((13,), 0),
    ((12,), 0),
    ((40, 5), 1),
    ((9, 30), 0),
    ((0,), 0),
    ((1,), 0),
    ((5, 0), 1),
)


def samples(dtype: str, shape: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(7)
    whole = rng.integers(0, 7, size=shape).astype(dtype)
    if dtype[0] != "f":
        return [whole, rng.integers(0, 120, size=shape).astype(dtype)]
    zeros = (whole - 3) * rng.choice([1, -1.0, 0.0, -0.0], size=shape).astype(dtype)
    special = np.where(rng.random(shape) < 0.4, rng.choice([np.nan, np.inf, -np.inf], size=shape), zeros).astype(dtype)
    return [rng.normal(size=shape).astype(dtype), zeros, special]


def same(found: Any, wanted: Any) -> None:
    np.testing.assert_array_equal(found, wanted)
    if wanted.dtype.kind == "f":
        there = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[there]), np.signbit(wanted[there]))


def check(dtype: str) -> None:
    for shape, axis in SHAPES:
        for is_descending in (False, True):

            def both(x: Any, axis: int = axis, is_descending: bool = is_descending) -> Any:
                return (
                    wg.sort(x, axis=axis, descending=is_descending),
                    wg.argsort(x, axis=axis, descending=is_descending),
                )

            compiled = wg.function(both)
            for x in samples(dtype, shape):
                for found, wanted in zip(compiled(x), both(x), strict=True):
                    same(np.asarray(found), np.asarray(wanted))


@pytest.mark.parametrize("dtype", DTYPES)
def test_compiled_sorts_are_the_eager_ones(dtype: str) -> None:
    assert numpy_functions.sorts(np.dtype(dtype).name.replace("float", "f").replace("uint", "u").replace("int", "i"))
    check(dtype)


@pytest.mark.parametrize("dtype", ["f8", "i4"])
def test_lanes_of_several_parts_are_merged(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "KEYS", 64)
    monkeypatch.setattr(sorting, "PLACES", 32)
    check(dtype)


@pytest.mark.parametrize("dtype", ["f4", "u1"])
def test_without_functions_of_numpys_runs_are_merged(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_functions, "sorts", lambda type_: False)
    check(dtype)


def firsts(x: Any) -> Any:
    orders = [wg.argsort(x, axis=axis, descending=down) for axis in (0, -1) for down in (False, True)]
    return [order[:3] for order in orders[:2]], [order[..., :40] for order in orders[2:]]


def arranged(x: Any) -> list[Any]:
    """Lanes that get better, worse, neither, and first better and then worse; and where every so manieth element, which
    a sample of the first 40 may consist of, is better than all others."""
    in_order, misleading = np.sort(x, -1), np.zeros_like(x)
    pipe = np.concatenate([in_order[..., ::2], in_order[..., 1::2][..., ::-1]], -1)
    misleading[..., :: max(1, x.shape[-1] // 160)] = 1
    others = (1 - misleading.astype("i1")).astype(x.dtype)
    return [in_order, in_order[..., ::-1].copy(), np.ones_like(x), pipe, misleading, others]


@pytest.mark.parametrize("is_numpys", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_places_of_an_order_are_selected(
    dtype: str, is_numpys: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_numpys:
        monkeypatch.setattr(numpy_functions, "sorts", lambda type_: False)
    compiled = wg.function(firsts)
    for shape in ((3001,), (400, 3), (5, 331)):
        for x in samples(dtype, shape):
            for given in (x, *arranged(x)):
                for some, all_ in zip(compiled(given), firsts(given), strict=True):
                    for found, wanted in zip(some, all_, strict=True):
                        np.testing.assert_array_equal(found, wanted)


def test_the_largest_of_lanes_of_any_length() -> None:
    compiled = wg.function(lambda x: wg.ops.top_k(x, 4), input_signature=[wg.TensorSpec((None, None), "float64")])
    rng = np.random.default_rng(5)
    for shape in ((3, 4), (2, 5), (0, 7), (3, 127), (2, 1000), (2, 5000)):
        x = rng.normal(size=shape)
        for found, wanted in zip(compiled(x), wg.ops.top_k(x, 4), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_gradient_of_the_largest() -> None:
    x = np.random.default_rng(3).normal(size=(2, 700))
    f = wg.function(lambda x: wg.sum(wg.ops.top_k(x, 5)[0] ** 2 * np.arange(1.0, 6.0)))
    wg.check_gradients(f, x[:, :300])
    wanted = np.zeros_like(x)
    order = np.argsort(-x, -1)[:, :5]
    np.put_along_axis(wanted, order, 2 * np.take_along_axis(x, order, -1) * np.arange(1.0, 6.0), -1)
    np.testing.assert_allclose(wg.function(wg.grad(f))(x), wanted, rtol=1e-15)


def test_the_gradient_of_a_sort_takes_one_sort() -> None:
    graph = wg.function(wg.grad(lambda x: wg.sum(wg.sort(x) ** 2))).trace(np.arange(4.0))
    names = [node.op.name for node in graph.nodes]
    assert names.count("argsort") == 1
    assert "permute_along" not in names


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gradient_of_a_sort_along_any_axis(axis: int) -> None:
    weights = np.arange(24.0).reshape(2, 3, 4)
    x = np.random.default_rng(3).normal(size=(2, 3, 4))
    wg.check_gradients(lambda x: wg.sum(wg.sort(x, axis=axis) * weights), x)
    wg.check_gradients(wg.function(lambda x: wg.sum(wg.sort(x, axis=axis, descending=True) ** 2 * weights)), x)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2"])
def test_short_integers_are_sorted_by_counting(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's quicksort compares, and takes up to ten times as long as its stable sort, which counts."""

    def compared(*_: object) -> None:
        raise AssertionError("long lanes of short integers are sorted by comparing")

    for name in ("_merged", "_call"):
        monkeypatch.setattr(sorting.Sorter, name, compared)
    monkeypatch.setattr(numpy_functions, "sorts_short_keys", lambda: False)  # by vectors, where the processor can
    limits = np.iinfo(dtype)
    for shape, axis in (((1237,), 0), ((3, 200), 1), ((200, 3), 0)):
        x = np.random.default_rng(11).integers(limits.min, limits.max, shape, dtype, endpoint=True)
        x.flat[:2] = limits.min, limits.max
        for is_descending in (False, True):
            order = np.argsort(-x.astype(int) if is_descending else x, axis, kind="stable")

            def both(x: Any, axis: int = axis, is_descending: bool = is_descending) -> Any:
                return (
                    wg.sort(x, axis=axis, descending=is_descending),
                    wg.argsort(x, axis=axis, descending=is_descending),
                )

            ordered, places = wg.function(both)(x)
            np.testing.assert_array_equal(places, order)
            np.testing.assert_array_equal(ordered, np.take_along_axis(x, order, axis))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2"])
@pytest.mark.parametrize("is_descending", [False, True])
def test_orders_of_short_integers_are_stable_whatever_their_bytes(dtype: str, is_descending: bool) -> None:
    """Keys that all have the same byte stay where they are; orders are counted where they are to be in the end."""
    limits = np.iinfo(dtype)
    x = np.random.default_rng(12).integers(limits.min, limits.max, (3, 2, 100), dtype, endpoint=True)
    for keys in (x, x % 7, x // 64 * 64, np.full_like(x, 3), x[0, 0], x[..., :0]):
        for axis in range(keys.ndim):
            order = np.argsort(-keys.astype(int) if is_descending else keys, axis, kind="stable")

            def all_of(x: Any, axis: int = axis) -> Any:
                found = wg.argsort(x, axis=axis, descending=is_descending)
                return found, found + 1, wg.sort(x, axis=axis, descending=is_descending)

            places, later, ordered = wg.function(all_of)(keys)
            np.testing.assert_array_equal(places, order)
            np.testing.assert_array_equal(later, order + 1)
            np.testing.assert_array_equal(ordered, np.take_along_axis(keys, order, axis))


def wide_keys(dtype: str, shape: tuple[int, ...]) -> list[Any]:
    """Keys of all bits, of few, of the first ones only, and of two values far apart."""
    rng = np.random.default_rng(14)
    if dtype[0] == "f":
        whole = (rng.normal(size=shape) * 10.0 ** rng.integers(-30, 30, shape)).astype(dtype)
        ends = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0], size=shape).astype(dtype)
        return [whole, np.floor(rng.normal(size=shape) * 50).astype(dtype), ends, np.where(whole > 0, whole, ends)]
    limits = np.iinfo(dtype)
    whole = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    ends = rng.choice(np.array([limits.min, limits.max], dtype), size=shape)
    return [whole, rng.integers(5, 900, shape).astype(dtype), whole >> 20 << 20, ends]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u8", "u4"])
@pytest.mark.parametrize("is_descending", [False, True])
def test_orders_of_long_lanes_are_stable_whatever_their_bits(dtype: str, is_descending: bool) -> None:
    for shape, axis in (((1000,), 0), ((3, 256), 1), ((300, 2), 0), ((70_000,), 0)):
        order = wg.function(lambda x, axis=axis: wg.argsort(x, axis=axis, descending=is_descending))
        for x in wide_keys(dtype, shape):
            wanted = wg.argsort(x, axis=axis, descending=True) if is_descending else np.argsort(x, axis, kind="stable")
            np.testing.assert_array_equal(order(x), wanted)


def nearly_sorted(n: int) -> list[Any]:
    """Lanes of few runs in order: of equal keys, too."""
    rng = np.random.default_rng(n)
    keys = np.arange(n) // 3
    outliers, swapped, late = keys.copy(), keys.copy(), keys.copy()
    outliers[:: max(1, n // 10)] = 3
    i, j = rng.integers(0, n, 2)
    swapped[[i, j]] = swapped[[j, i]]
    late[-5:] = rng.integers(0, n, 5)
    blocks = np.concatenate([keys[::2], keys[1::2]])  # of which each stretch is short
    several = np.concatenate([keys[: n // 2] // 50, keys[: n - n // 2] // 70])
    return [
        outliers,
        swapped,
        late,
        blocks,
        several,
        np.roll(keys, n // 3),
        np.roll(keys, -1),
        np.zeros(n),
        keys % (n // 5),
    ]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u8", "u4"])
@pytest.mark.parametrize("is_descending", [False, True])
@pytest.mark.parametrize("n", [256, 4000, 20_001])
def test_orders_of_lanes_of_few_runs_are_stable(dtype: str, is_descending: bool, n: int) -> None:
    order = wg.function(lambda x: wg.argsort(x, descending=is_descending))
    for keys in nearly_sorted(n):
        for x in (keys.astype(dtype), keys[::-1].astype(dtype)):
            wanted = np.argsort(-x.astype(np.float64) if is_descending else x, kind="stable")
            np.testing.assert_array_equal(order(x), wanted)
    if dtype[0] == "f":
        x = np.repeat([-1.0, -0.0, 0.0, -0.0, 2.0, np.nan, np.nan, 1.0], n // 8).astype(dtype)
        np.testing.assert_array_equal(order(x), wg.argsort(x, descending=is_descending))


def test_orders_of_lanes_of_any_length_go_by_digits_where_these_are_long() -> None:
    signature = [wg.TensorSpec((None, None), np.float64)]
    order = wg.function(lambda x: wg.argsort(x, axis=1), input_signature=signature)
    for n in (0, 1, 2, 255, 256, 257, 4000):
        x = np.random.default_rng(n).normal(size=(3, n))
        np.testing.assert_array_equal(order(x), np.argsort(x, 1, kind="stable"))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u1"])
def test_sorts_and_orders_of_what_a_loop_carries(dtype: str) -> None:
    x = (np.random.default_rng(13).normal(size=300) * 10 + 60).astype(dtype)

    def step(x: Any) -> Any:
        return wg.sort(x)[::-1] + wg.argsort(x).astype(x.dtype) % 3

    found = wg.function(lambda x: wg.fori_loop(0, 5, lambda _, x: step(x), x))(x)
    for _ in range(5):
        x = np.sort(x)[::-1] + np.argsort(x, kind="stable").astype(x.dtype) % 3
    np.testing.assert_array_equal(found, x)


@pytest.mark.parametrize("is_descending", [False, True])
def test_keys_in_order_keep_their_places(is_descending: bool) -> None:
    x = np.linspace(-1.0, 1.0, 100)
    for keys in (x, np.zeros(100), np.where(np.arange(100) % 2, 0.0, -0.0), np.append(x, [np.nan] * 3), np.arange(100)):
        lanes = np.stack([keys, keys[::-1], np.roll(keys, 1)])
        order = np.argsort(-lanes if is_descending else lanes, -1, kind="stable")
        found = wg.function(lambda x: wg.argsort(x, axis=-1, descending=is_descending))(lanes)
        np.testing.assert_array_equal(found, order)


def lanes(dtype: str, n: int) -> list[Any]:
    """Lanes whose sample tells where keys are, and one of which it is wrong about."""
    misleading = np.arange(n).astype(dtype)
    misleading[:: order_statistics._EACH] = 1
    rng = np.random.default_rng(n)
    mostly = rng.integers(-50, 50, n)
    equal = [np.where(rng.random(n) < share, 7, mostly).astype(dtype) for share in (0.3, 0.6, 0.97)]
    two = rng.integers(0, 2, n).astype(dtype)
    zeros = np.where(rng.random(n) < 0.2, mostly, np.copysign(0.0, mostly)).astype(dtype)
    organ = np.minimum(np.arange(n), np.arange(n)[::-1]).astype(dtype)
    plain = np.zeros(n, dtype), np.full(n, 5, dtype), np.arange(n)[::-1].astype(dtype)
    return [*samples(dtype, (n,)), misleading, *equal, two, zeros, organ, *plain]


@pytest.mark.parametrize("n", [512, 5000])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
def test_few_places_of_a_sort_are_those_of_the_whole(dtype: str, n: int) -> None:
    def some(x: Any, places: Any) -> Any:
        ordered = wg.sort(x)
        return ordered[places], ordered[n // 3 : n // 3 + 2], ordered[-1]

    compiled = wg.function(some)
    for x in lanes(dtype, n):
        for places in ([0, n - 1, -1, n // 2], [-n, 7, 7, n // 2 + 1]):
            for found, wanted in zip(compiled(x, np.array(places)), some(x, np.array(places)), strict=True):
                same(np.asarray(found), np.asarray(wanted))


@pytest.mark.parametrize("n", [512, 5000])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_gradients_of_few_places_go_to_where_a_stable_order_has_them(dtype: str, n: int) -> None:
    places = np.array([n // 2, 0, n - 1, n // 2 + 1, n // 2])
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0], dtype)
    gradient = wg.function(wg.grad(lambda x: wg.sum(wg.sort(x)[places] * weights)))
    both = wg.function(wg.value_and_grad(lambda x: wg.sum(wg.sort(x)[places] * weights)))  # these have one search
    pull = wg.function(lambda x: (wg.sort(x), gradient(x)))  # and these a sort of all
    for x in lanes(dtype, n):
        wanted = np.zeros(n, dtype)
        np.add.at(wanted, np.argsort(x, kind="stable")[places], weights)
        np.testing.assert_array_equal(gradient(x), wanted)
        np.testing.assert_array_equal(both(x)[1], wanted)
        same(np.asarray(pull(x)[0]), np.sort(x, kind="stable"))
        np.testing.assert_array_equal(pull(x)[1], wanted)


@pytest.mark.parametrize("shape", [(600, 5), (5, 600), (2, 600, 3)], ids=str)
def test_gradients_of_quantiles_along_any_axis(shape: tuple[int, ...]) -> None:
    x = np.round(np.random.default_rng(3).normal(size=shape), 1)
    x.reshape(-1)[7] = np.nan
    for axis in range(len(shape)):
        gradient = wg.function(wg.grad(lambda x, a=axis: wg.sum(wg.numpy.quantile(x, [0.3, 0.5, 0.5], axis=a) ** 2)))
        found = gradient(x)
        with wg.eager():
            same(np.asarray(found), np.asarray(gradient(x)))


def test_a_gradient_of_a_median_orders_nothing() -> None:
    compiled = wg.function(wg.grad(lambda x: wg.numpy.median(x)))
    x = np.random.default_rng(0).normal(size=20_000)
    compiled(x)
    kernels = ready(optimise(compiled.trace(x)))
    assert any(node.op.name == "argsort" for node in kernels.nodes)
    rewritten = order_statistics.with_few_origins(kernels)
    assert not {"argsort", "scatter_add"} & {node.op.name for node in rewritten.nodes}


@pytest.mark.parametrize("f", [wg.numpy.median, lambda x: wg.sum(wg.numpy.percentile(x, [5, 50, 95]))])
def test_a_value_and_its_gradient_search_once(f: Any) -> None:
    """The code of a search is long: with one for each place of a gradient the first call took five times as long."""
    compiled = wg.function(wg.value_and_grad(f))
    x = np.random.default_rng(0).normal(size=2000)
    compiled(x)
    kernels = ready(optimise(compiled.trace(x)))
    rewritten = order_statistics.with_few_origins(order_statistics.with_few_places(kernels))
    (origins,) = [node for node in rewritten.nodes if node.op is order_statistics.ORDER_AT]
    (search,) = [node for node in rewritten.nodes if node.op is order_statistics.SORTED_AT]
    assert [v.key for v in origins.inputs] == [search.inputs[0].key, search.outputs[0].key]


@pytest.mark.parametrize("n", [512, 3000])
def test_few_places_of_half_floats(n: int) -> None:
    compiled = wg.function(lambda x: (wg.numpy.median(x), wg.numpy.partition(x, n // 3), wg.sort(x)[[3, n - 2]]))
    for x in lanes("f4", n):
        x = x.astype(np.float16)
        found = compiled(x)
        with wg.eager():
            for ours, theirs in zip(found, compiled(x), strict=True):
                same(np.asarray(ours), np.asarray(theirs))


def test_few_places_are_found_in_lanes_of_any_length_and_axis() -> None:
    signature = [wg.TensorSpec((None, 3), np.float64)]
    compiled = wg.function(lambda x: wg.numpy.quantile(x, [0.25, 0.9], axis=0), input_signature=signature)
    for n in (3000, 1500, 700, 40, 1):
        x = np.random.default_rng(n).normal(size=(n, 3))
        np.testing.assert_allclose(compiled(x), np.quantile(x, [0.25, 0.9], axis=0), rtol=1e-14)


def test_a_median_of_many_keys_sorts_few_of_them() -> None:
    compiled = wg.function(lambda x: wg.numpy.median(x))
    x = np.random.default_rng(0).normal(size=20_000)
    compiled(x)
    kernels = compiled.trace(x)
    assert any(node.op.name == "sort" for node in kernels.nodes)
    rewritten = order_statistics.with_few_places(kernels)
    assert not any(node.op.name == "sort" for node in rewritten.nodes)


@pytest.mark.parametrize(
    "f", [wg.numpy.median, lambda x: wg.sum(wg.sort(x)[-3:]), lambda x: wg.sort(x)[5] * wg.sort(x)[-1]],
    ids=["median", "the largest", "at both ends"],
)  # fmt: skip
def test_no_size_of_a_program_sorts_for_a_few_places(f: Any) -> None:
    """The largest three of 200,000 took 33 times as long at the second size as at the first."""
    for n in (3000, 2000):
        x = np.random.default_rng(n).normal(size=n)
        compiled = wg.function(lambda x: f(x))
        with wg.eager():
            expected = f(x)
        assert compiled(x) == expected
    shared = sizes.sized(ready(optimise(compiled.trace(x))))
    assert shared.numbers
    rewritten = order_statistics.with_few_places(shared.graph)
    assert not any(node.op.name == "sort" for node in rewritten.nodes)


def test_samples_are_of_all_parts_of_a_lane() -> None:
    """Else a lane in order has few of its last keys in the sample, and was sorted whole."""
    size = 1_000_001
    compiled = wg.function(lambda x: wg.numpy.median(x))
    for x in (np.arange(float(size)), np.random.default_rng(0).permutation(np.arange(float(size)))):
        assert compiled(x) == size // 2
    loops = str(lowered(ready(optimise(compiled.trace(x))), "f").function)
    places = re.findall(rf"mul.i64 %\d+, {size}\n +%\d+: i64 = div.i64 %\d+, {order_statistics._MOST_SAMPLED}\n", loops)
    assert len(places) == 1, loops


def test_places_that_depend_on_the_sort_have_it_whole() -> None:
    def chained(x: Any) -> Any:
        ordered = wg.sort(x)
        return ordered[wg.asarray(ordered[3] * 10).astype(np.int64)]

    x = np.random.default_rng(0).random(2000)
    assert wg.function(chained)(x) == chained(x)


def test_a_place_that_is_none_is_an_error() -> None:
    compiled = wg.function(lambda x, i: wg.sort(x)[i])
    x = np.random.default_rng(0).random(2000)
    for place in (2000, -2001):
        with pytest.raises(IndexError):
            compiled(x, np.array(place))


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i2", "u8", "u1", "?"])
def test_the_first_of_the_best_is_told(dtype: str) -> None:
    rng = np.random.default_rng(7)
    for shape, axis in (((7,), 0), ((300, 9), 0), ((9, 300), 1), ((3, 600, 2), 1), ((5000,), 0), ((3, 9000), 1)):
        both = wg.function(lambda x, axis=axis: (np.argmax(x, axis), np.argmin(x, axis)))
        equal = (0, np.nan) if dtype[0] == "f" else (0,)
        for x in (*samples(dtype, shape), *(np.full(shape, value, dtype) for value in equal)):
            for y in (x, x[..., ::-1], np.asfortranarray(x)):
                for found, wanted in zip(both(y), (np.argmax(y, axis), np.argmin(y, axis)), strict=True):
                    np.testing.assert_array_equal(found, wanted)
        ends = rng.permuted(np.arange(int(np.prod(shape))) % 97).astype(dtype).reshape(shape)
        ends[ends == 0] = np.iinfo(dtype).min if dtype[0] in "iu" else ends.min()
        np.testing.assert_array_equal(both(ends)[1], np.argmin(ends, axis))


def test_the_best_of_lanes_of_any_length() -> None:
    signature = [wg.TensorSpec((None, None), np.float64)]
    both = wg.function(lambda x: (np.argmax(x, 0), np.argmin(x, 1)), input_signature=signature)
    for shape in ((1, 1), (3, 700), (700, 3), (3000, 600)):
        x = np.random.default_rng(8).integers(0, 1000, shape).astype(float)
        for found, wanted in zip(both(x), (np.argmax(x, 0), np.argmin(x, 1)), strict=True):
            np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ValueError, match="argm"):
        both(np.ones((0, 3)))


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u1", "?"])
@pytest.mark.parametrize(("shape", "axis"), [((700,), 0), ((3, 600), 1), ((600, 3), 0), ((40,), 0)])
def test_compiled_partitions_are_the_eager_ones(dtype: str, shape: tuple[int, ...], axis: int) -> None:
    for places in ((5,), (-1, 3, 20), tuple(range(12))):

        def both(x: Any, places: Any = places) -> Any:
            return wg.numpy.partition(x, places, axis), wg.numpy.argpartition(x, places, axis)

        compiled = wg.function(both)
        for x in samples(dtype, shape):
            (found, order), (wanted, eager_order), ordered = compiled(x), both(x), np.sort(x, axis)
            same(found, wanted)
            np.testing.assert_array_equal(order, eager_order)
            same(found, np.take_along_axis(x, order, axis))
            for place in places:
                is_there = np.take(found, [place], axis)
                np.testing.assert_array_equal(is_there, np.take(ordered, [place], axis))
                sides = np.split(found, [place % shape[axis]], axis)
                assert not any((side > is_there if i == 0 else side < is_there).any() for i, side in enumerate(sides))


def test_partitions_of_lanes_of_any_length() -> None:
    signature = [wg.TensorSpec((None,), np.float64)]
    compiled = wg.function(lambda x: wg.numpy.partition(x, (5, -3)), input_signature=signature)
    for n in (6, 40, 511, 512, 900):
        x = np.random.default_rng(n).normal(size=n)
        np.testing.assert_array_equal(compiled(x), wg.numpy.partition(x, (5, -3)))


def test_the_gradient_of_a_partition_goes_where_elements_come_from() -> None:
    x = np.random.default_rng(0).normal(size=600)
    gradient = wg.grad(lambda x: wg.sum(wg.numpy.partition(x, 5) * np.arange(600.0)))
    for found in (gradient(x), wg.function(gradient)(x)):
        np.testing.assert_array_equal(found[wg.numpy.argpartition(x, 5)], np.arange(600))


@pytest.mark.parametrize("dtype", ["i1", "i2", "u2"])
def test_short_integers_in_order_stay(dtype: str) -> None:
    for is_descending in (False, True):
        compiled = wg.function(lambda x, d=is_descending: (wg.sort(x, descending=d), wg.argsort(x, descending=d)))
        x = np.repeat(np.arange(40), 25).astype(dtype)
        for y in (x[::-1], x, np.where(np.arange(1000) == 999, x[0], x)):
            wanted = np.argsort(-y.astype(int) if is_descending else y, kind="stable")
            found, order = compiled(y)
            np.testing.assert_array_equal(order, wanted)
            np.testing.assert_array_equal(found, y[wanted])


@pytest.mark.parametrize("shape", [(1,), (7,), (5000,), (3, 1000), (1000, 3), (40, 600)], ids=str)
def test_places_of_the_best_of_booleans(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    for share in (0.0, 0.002, 0.5, 0.998, 1.0):
        x = rng.random(shape) < share
        for axis, f in itertools.product(range(len(shape)), (np.argmax, np.argmin)):
            for found in (
                wg.function(lambda x, f=f, a=axis: f(x, axis=a))(x),
                wg.function(lambda x, f=f, a=axis: f(x > 0, axis=a))(x + 0),
            ):
                np.testing.assert_array_equal(found, f(x, axis=axis))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u1", "?", "f2", "c16"])
@pytest.mark.parametrize("shape", [(700,), (9, 700), (700, 9), (5, 2, 130), (1, 80), (0, 3), (3, 0)], ids=str)
def test_elements_are_arranged_by_bytes(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(2)
    x = (rng.normal(size=shape) * 100).astype(dtype)
    for most, axis in itertools.product((1, 3, 256), range(len(shape))):
        sides = rng.integers(0, most, shape).astype(np.uint8)

        def arranged(x: Any, sides: Any, axis: int = axis) -> Any:
            return prims.permute_along(x, prims.argsort(sides, axis=axis, descending=False), axis=axis)

        wanted = np.take_along_axis(x, np.argsort(sides, axis, kind="stable"), axis)
        np.testing.assert_array_equal(wg.function(arranged)(x, sides), wanted)
        np.testing.assert_array_equal(
            wg.function(lambda x, s, f=arranged: f(x, s)[..., ::-1])(x, sides), wanted[..., ::-1]
        )


def test_elements_are_arranged_in_lanes_of_any_length() -> None:
    signature = [wg.TensorSpec((None, None), np.float64), wg.TensorSpec((None, None), np.uint8)]
    for axis in (0, 1):
        compiled = wg.function(
            lambda x, s, a=axis: prims.permute_along(x, prims.argsort(s, axis=a, descending=False), axis=a),
            input_signature=signature,
        )
        for shape in ((600, 5), (5, 600), (1, 1), (0, 4), (4, 0)):
            x, sides = np.random.default_rng(0).normal(size=shape), np.arange(shape[0] * shape[1]).reshape(shape) % 3
            wanted = np.take_along_axis(x, np.argsort(sides, axis, kind="stable"), axis)
            np.testing.assert_array_equal(compiled(x, sides.astype(np.uint8)), wanted)


def test_a_partition_stores_no_order() -> None:
    x = np.random.default_rng(0).normal(size=(4, 600))
    compiled = wg.function(lambda x: wg.numpy.partition(x, 300))
    compiled(x)
    graph = arrangements.arranged(ready(optimise(compiled.trace(x))))
    assert not {"argsort", "permute_along"} & {node.op.name for node in graph.nodes}
