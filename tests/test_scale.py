"""Large arrays: the memory that gradients take, sums of many float32 numbers, and work that NumPy does rather than Python.

Memory is the peak that tracemalloc sees (NumPy reports its arrays to it) while a gradient is computed, less what was
there before. It is held against the sizes of the gradients and of what the case says must be alive beside them.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.support.profiled import run_profiled, settle
from wengert import ops

F32 = np.dtype(np.float32)
SLACK = 8 << 20  # pieces that are worked on at a time: windows of a convolution, places of scattered elements


def draw(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


ROWS, COLUMNS = 4000, 1500
MB = ROWS * COLUMNS * 4  # bytes of the matrix that most cases take: 24 MB
PICKED = np.random.default_rng(1).integers(0, 100_000, 200_000)
SEGMENTS = np.random.default_rng(2).integers(0, 1000, ROWS)
LABELS = np.random.default_rng(3).integers(0, COLUMNS, ROWS)
TABLE, UPDATES = 100_000 * 60 * 4, 200_000 * 60 * 4
IMAGES = (16, 64, 64, 64)
IMAGE = 16 * 64 * 64 * 64 * 4  # 17 MB
PIECE = 20 << 20  # what a piece of a convolution takes: its windows, and what they were cut from
SCORES = 4 * 8 * 640 * 640 * 4


def matrix() -> tuple[Any, ...]:
    return (draw(ROWS, COLUMNS),)


def table() -> tuple[Any, ...]:
    return (draw(100_000, 60),)


def table_and_updates() -> tuple[Any, ...]:
    return draw(100_000, 60), draw(200_000, 60, seed=1)


def images_and(*kernel: int, images: tuple[int, ...] = IMAGES) -> Callable[[], tuple[Any, ...]]:
    return lambda: (draw(*images), draw(*kernel, seed=1))


WEIGHTS = draw(ROWS, COLUMNS, seed=9)


def weighted(f: Callable[..., Any]) -> Callable[..., Any]:
    """With a cotangent that is not one number, so that it takes memory: it is counted in each case."""
    return lambda *xs: f(*xs) * WEIGHTS


def at(method: str) -> Callable[..., Any]:
    return lambda x, u: getattr(wg.tensor(x).at[PICKED], method)(u)


# name: the function, its arguments, and the bytes that must be alive beside the gradients at the worst moment
CASES: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], float]] = {
    # the rows read; their cotangent is one number
    "gather rows": (lambda x: x[PICKED], table, UPDATES),
    "take along an axis": (lambda x: wg.take(x, np.arange(0, COLUMNS, 2), axis=1), matrix, MB),
    "slice": (lambda x: x[::2, 1:], matrix, MB / 2),
    "add at": (at("add"), table_and_updates, TABLE),
    # the updates' numbers that won, and what was read for them
    "set at": (at("set"), table_and_updates, TABLE + 1.6 * UPDATES),
    # who won, and how many did: a flag and a float each
    "max at": (at("max"), table_and_updates, 3.5 * TABLE + 2.3 * UPDATES),
    # the result in the width that sums need, and the last row for ids out of range
    "segment sum": (lambda x: ops.segment_sum(x, SEGMENTS, 1000), matrix, MB / 4 * 3),
    "segment mean": (lambda x: ops.segment_mean(x, SEGMENTS, 1000), matrix, MB / 4 * 3),
    "segment max": (lambda x: ops.segment_max(x, SEGMENTS, 1000), matrix, 3.7 * MB),
    "einsum of matrices": (lambda a, b: wg.einsum("ij,jk->ik", a, b), lambda: (draw(3000, 1000), draw(1000, 3000)),
                           3000 * 3000 * 4),
    # the operands' and the result's axes in another order: one copy of each
    "einsum of turned matrices": (lambda a, b: wg.einsum("ji,kj->ik", a, b),
                                  lambda: (draw(1000, 3000), draw(3000, 1000)), 3000 * 3000 * 4 * 2),
    "einsum of batches": (lambda q, k: wg.einsum("bqhd,bkhd->bhqk", q, k),
                          lambda: (draw(4, 640, 8, 64), draw(4, 640, 8, 64)), SCORES),
    "einsum of three": (lambda a, b, c: wg.einsum("ij,jk,kl->il", a, b, c),
                        lambda: (draw(1500, 1500), draw(1500, 1500), draw(1500, 1500)), 3 * 1500 * 1500 * 4),
    # images with their channels first and the result, each once
    "conv, valid": (lambda x, k: ops.conv(x, k, padding="valid"), images_and(3, 3, 64, 16), IMAGE * 2 + PIECE),
    "conv, same": (lambda x, k: ops.conv(x, k, padding="same"), images_and(3, 3, 64, 16), IMAGE * 2 + PIECE),
    "conv with strides": (lambda x, k: ops.conv(x, k, strides=2, padding="same"), images_and(3, 3, 64, 16), IMAGE * 2 + PIECE),
    "conv, dilated": (lambda x, k: ops.conv(x, k, padding="same", dilation_rate=3), images_and(3, 3, 64, 16), IMAGE * 2 + PIECE),
    "conv, grouped": (lambda x, k: ops.conv(x, k, padding="same"), images_and(3, 3, 8, 16), IMAGE * 2 + PIECE),
    "conv, depthwise": (lambda x, k: ops.depthwise_conv(x, k, padding="same"), images_and(3, 3, 64, 1), IMAGE * 2 + PIECE),
    "conv, large kernel": (lambda x, k: ops.conv(x, k, padding="same"), images_and(5, 5, 64, 4), IMAGE * 2 + PIECE),
    "conv, causal": (lambda x, k: ops.conv(x, k, padding="same"),
                     images_and(5, 16, 16, images=(64, 4096, 16)), IMAGE * 2 + PIECE),
    "conv, transposed": (lambda x, k: ops.conv_transpose(x, k, strides=2, padding="same"),
                         images_and(3, 3, 16, 64, images=(16, 64, 64, 64)), IMAGE * 2 + PIECE),
    "max pool": (lambda x: ops.max_pool(x, 3, 2, padding="same"), lambda: (draw(*IMAGES),), IMAGE * 2),
    "average pool": (lambda x: ops.average_pool(x, 3, 2, padding="same"), lambda: (draw(*IMAGES),), IMAGE * 1.5),
    # the result, the cotangent, and one product at a time
    "softmax": (weighted(ops.softmax), matrix, 3 * MB),
    "softmax along the first axis": (weighted(lambda x: ops.softmax(x, axis=0)), matrix, 3 * MB),
    "log_softmax": (weighted(ops.log_softmax), matrix, 3 * MB),
    "logsumexp": (lambda x: ops.logsumexp(x, axis=1), matrix, MB),
    "cross-entropy of labels": (lambda x: ops.sparse_categorical_crossentropy(LABELS, x, from_logits=True), matrix, 3 * MB),
    "cross-entropy of shares": (lambda x: ops.categorical_crossentropy(WEIGHTS, x, from_logits=True), matrix, 3 * MB),
    "cumsum": (weighted(lambda x: wg.cumsum(x, axis=0)), matrix, 1.5 * MB),
    "cumprod": (lambda x: wg.cumprod(x, axis=1), matrix, 4.5 * MB),
    # places are int64, hence twice the bytes of float32
    "sort": (weighted(lambda x: wg.sort(x, axis=1)), matrix, 5 * MB),
    "top_k": (lambda x: ops.top_k(x, 5)[0], matrix, 4 * MB),
    "max": (lambda x: wg.max(x, axis=1), matrix, MB),
    "mean": (lambda x: wg.mean(x, axis=0), matrix, MB / 4),
    "var": (lambda x: wg.var(x, axis=0), matrix, 2.5 * MB),
    "norm": (lambda x: wg.linalg.norm(x, axis=0), matrix, 3 * MB),
    # normalised values, centred ones, the cotangent and a product
    "layer norm": (weighted(lambda x: ops.layer_normalization(x)), matrix, 5 * MB),
    "rms norm": (weighted(lambda x: ops.rms_normalization(x)), matrix, 4 * MB),
    # scores, shares, and the cotangent of either
    "attention": (ops.dot_product_attention,
                  lambda: (draw(4, 640, 8, 64), draw(4, 640, 8, 64), draw(4, 640, 8, 64)), 4.5 * SCORES),
    "where": (lambda x: wg.where(WEIGHTS > 0, x, 0.0), matrix, 1.5 * MB),
    "pad": (lambda x: wg.pad(x, 5), matrix, MB),
    "repeat": (lambda x: wg.repeat(x, 3, axis=0), matrix, 3 * MB),
}  # fmt: skip


def peak_of(call: Callable[[], Any]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.sampled(6)  # a second each
@pytest.mark.parametrize("mode", ["eager", "traced"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_take_no_more_memory_than_they_must(name: str, mode: str) -> None:
    f, arguments, beside = CASES[name]
    xs = arguments()

    def total(*xs: Any) -> Any:
        return wg.sum(f(*xs))

    gradient = wg.grad(total, argnums=(*range(len(xs)),))
    gradient = wg.function(gradient) if mode == "traced" else gradient
    small = sum(x.nbytes for x in gradient(*xs))  # traces and loads what loads late
    peak = peak_of(lambda: gradient(*xs))
    assert peak <= small + beside + SLACK, (
        f"{(peak - small) / 1e6:.1f} MB beside the gradients, {beside / 1e6:.1f} expected"
    )


# -- sums --------------------------------------------------------------------------------------------------------------

MANY = 10_000_000
TENTH = float(np.float32(0.1))


def tenths(*shape: int) -> np.ndarray[Any, Any]:
    return np.full(shape, 0.1, np.float32)


def sums_of_a_tenth() -> dict[str, tuple[Callable[[], Any], float]]:
    """Calls that add `count` tenths up in different ways, and the count."""
    x, rows = tenths(MANY, 2), tenths(MANY // 20, 20)
    ids = np.zeros(MANY // 10, np.int64)
    n = MANY // 10
    return {
        "axis 0": (lambda: wg.sum(x, axis=0), MANY),
        "axis 0 of rows": (lambda: wg.sum(rows, axis=0), MANY // 20),
        "axis 1 of columns": (lambda: wg.sum(rows.T, axis=1), MANY // 20),
        "all, in Fortran's order": (lambda: wg.sum(np.asfortranarray(rows)), MANY),
        "the outer axes": (lambda: wg.sum(rows.reshape(50, -1, 20), axis=(0, 1)), MANY // 20),
        "axes that do not adjoin": (lambda: wg.sum(rows.reshape(-1, 4, 5), axis=(0, 2)), MANY // 20 * 5),
        "strided": (lambda: wg.sum(x[::2, 0]), MANY // 2),
        "backwards": (lambda: wg.sum(rows[::-1, ::-1], axis=0), MANY // 20),
        "repeated in memory": (lambda: wg.sum(np.broadcast_to(np.float32(0.1), (n, 20)), axis=0), n),
        "mean": (lambda: wg.mean(x, axis=0) * float(MANY), MANY),
        "nansum": (lambda: wg.nansum(rows, axis=0), MANY // 20),
        "einsum of one operand": (lambda: wg.einsum("ij->j", rows), MANY // 20),
        "cumsum": (lambda: wg.cumsum(x[:, 0])[-1], MANY),
        "cumsum along axis 0": (lambda: wg.cumsum(rows, axis=0)[-1], MANY // 20),
        "segment sum": (lambda: ops.segment_sum(tenths(n), ids, 1), n),
        "segment sum of rows": (lambda: ops.segment_sum(tenths(n, 3), ids, 1), n),
        "added at one place": (lambda: wg.tensor(tenths(3) * 0).at[ids].add(tenths(n))[0].numpy(), n),
        "the gradient of a broadcast": (
            lambda: wg.grad(lambda b: wg.sum(wg.broadcast_to(b, (MANY // 20, 20)) * rows))(tenths(20)), MANY // 20
        ),
        "the gradient of a row read often": (lambda: wg.grad(lambda t: wg.sum(t[ids] * tenths(n, 2)))(tenths(3, 2))[0], n),
        "the gradient of rows added to a matrix": (
            lambda: wg.grad(lambda b: wg.sum((rows + b) * rows))(tenths(20)), MANY // 20
        ),
        "a long window": (lambda: ops.average_pool(tenths(1, n, 1), n, 1) * float(n), n),
        "windows that overlap": (lambda: ops.average_pool(tenths(1, 3 * n // 2, 1), n, 1)[0, :9] * float(n), n),
    }  # fmt: skip


SUMS = sums_of_a_tenth()


@pytest.mark.parametrize("name", SUMS)
def test_long_sums_of_float32_are_pairwise_or_better(name: str) -> None:
    call, count = SUMS[name]
    found = np.asarray(call())
    assert found.dtype == np.float32
    # one after the other they lose 9% of ten million tenths, and 1% of a million
    np.testing.assert_allclose(found.astype(float), TENTH * count, rtol=3e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_long_sums_of_half_floats_round_once(dtype: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 is ml_dtypes'")
    kind = np.dtype(getattr(ml_dtypes, dtype)) if dtype == "bfloat16" else np.dtype(dtype)
    x = np.full((400_000, 3), 0.1).astype(kind)
    exact = float(x[0, 0]) * len(x)
    for found in (wg.sum(x, axis=0), ops.segment_sum(x, np.zeros(len(x), np.int64), 1)[0]):
        assert found.dtype == kind
        np.testing.assert_array_equal(found, np.full(3, exact).astype(kind))
    np.testing.assert_array_equal(wg.mean(x, axis=0), x[0])


def test_variances_and_norms_of_many() -> None:
    x = np.tile(np.float32([1e3 + 0.5, 1e3 - 0.5]), MANY // 40)[:, None] + np.zeros((1, 20), np.float32)
    np.testing.assert_allclose(wg.var(x, axis=0), 0.25, rtol=1e-6)
    np.testing.assert_allclose(wg.linalg.norm(x, axis=0), np.linalg.norm(x[:, 0].astype(float)), rtol=1e-6)
    logs = np.zeros((MANY // 20, 20), np.float32)
    np.testing.assert_allclose(wg.logaddexp.reduce(logs, 0) if hasattr(wg.logaddexp, "reduce") else
                               ops.logsumexp(logs, axis=0), np.log(MANY // 20), rtol=1e-6)  # fmt: skip
    np.testing.assert_allclose(ops.softmax(logs, axis=0) * len(logs), 1, rtol=1e-6)


def test_sums_agree_with_wide_ones_for_any_layout() -> None:
    rng = np.random.default_rng(0)
    for k in range(300):
        rank = int(rng.integers(1, 5))
        x = rng.normal(size=rng.integers(0 if k % 10 == 0 else 1, [900, 60, 25, 12][:rank]))
        x = x.astype([np.float32, np.float64, np.complex64][k % 3]).transpose(rng.permutation(rank))
        x = x[::-1] if k % 4 == 0 else x[..., ::2] if k % 7 == 0 else x
        x = np.broadcast_to(x[:1], x.shape) if k % 5 == 0 else x
        axes = (*map(int, rng.permutation(rank)[: rng.integers(0, rank + 1)]),)
        wide = np.add.reduce(x.astype(complex if x.dtype.kind == "c" else float), axes)
        bound = 1e-13 if k % 3 == 1 else 2e-6
        scale = np.add.reduce(np.abs(x.astype(complex)), axes) + 1
        found = wg.sum(x, axis=axes) if axes else x
        assert found.shape == wide.shape
        assert np.all(np.abs(found - wide) <= bound * scale), (x.shape, axes)


# -- calls -------------------------------------------------------------------------------------------------------------


def calls_of(f: Callable[[], Any]) -> int:
    """How many functions run, Python's and those written in C, of a call that has often come."""
    settle(f)
    count = 0

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    run_profiled(profile, f)
    return count


LAYERS: dict[str, Callable[[int, int], tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "conv": lambda b, n: (lambda x, k: ops.conv(x, k, padding="same"), (draw(b, n, n, 3), draw(3, 3, 3, 4))),
    "conv with strides": lambda b, n: (
        lambda x, k: ops.conv(x, k, strides=2, padding="same"),
        (draw(b, n, n, 3), draw(3, 3, 3, 4)),
    ),
    "grouped": lambda b, n: (lambda x, k: ops.conv(x, k), (draw(b, n, n, 4), draw(3, 3, 2, 4))),
    "dilated": lambda b, n: (lambda x, k: ops.conv(x, k, dilation_rate=2), (draw(b, n, n, 3), draw(3, 3, 3, 4))),
    "depthwise": lambda b, n: (lambda x, k: ops.depthwise_conv(x, k), (draw(b, n, n, 3), draw(3, 3, 3, 1))),
    "transposed": lambda b, n: (lambda x, k: ops.conv_transpose(x, k, strides=2), (draw(b, n, n, 3), draw(3, 3, 4, 3))),
    "max pool": lambda b, n: (lambda x: ops.max_pool(x, 3, 2), (draw(b, n, n, 3),)),
    "average pool": lambda b, n: (lambda x: ops.average_pool(x, 3, 2), (draw(b, n, n, 3),)),
    "segment sum": lambda b, n: (lambda x: ops.segment_sum(x, np.arange(len(x)) % 5, 5), (draw(b * n, 3),)),
    "gather": lambda b, n: (lambda x: x[np.arange(0, len(x), 2)], (draw(b * n, 3),)),
    "cumsum": lambda b, n: (lambda x: wg.cumsum(x, axis=0), (draw(b * n, 3),)),
    "sum": lambda b, n: (lambda x: wg.sum(x, axis=1), (draw(b, n, n, 3),)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_calls_do_not_grow_with_the_extents(name: str) -> None:
    counts = []
    for batch, size in ((2, 10), (2, 30), (11, 30)):
        f, xs = LAYERS[name](batch, size)
        gradient = wg.grad(lambda *xs, f=f: wg.sum(f(*xs)), argnums=(*range(len(xs)),))
        counts.append(calls_of(lambda g=gradient, xs=xs: g(*xs)))
    # large arrays are cut into pieces and blocks, of which there are a few more; elements and examples are hundreds more
    assert max(counts) <= counts[0] + 150, counts


@pytest.mark.parametrize("pool", [ops.max_pool, ops.average_pool])
@pytest.mark.parametrize("stride", [1, 7, 1000])
def test_calls_of_pooling_grow_with_the_logarithm_of_the_window(pool: Any, stride: int) -> None:
    def count(window: int) -> int:
        x = draw(1, 5000, 1)
        return calls_of(lambda: wg.grad(lambda x: wg.sum(pool(x, window, stride)))(x))

    assert count(1000) <= count(10) + 300


def test_a_long_convolution_is_a_product_of_matrices() -> None:
    """The work of a convolution is BLAS's: its kernel calls `matmul` (or dot), and on pieces of a size that pays."""
    from wengert._engines.numpy import conv as module

    x, k = draw(8, 128, 128, 16), draw(3, 3, 16, 16)
    sizes: list[int] = []
    own = module._conv_windows

    def watching(lhs: Any, rhs: Any, phases: Any, out_shape: Any) -> Any:
        sizes.append(int(np.prod(out_shape)) * int(np.prod(rhs.shape[1:])))
        return own(lhs, rhs, phases, out_shape)

    module._conv_windows = watching
    try:
        wg.grad(lambda x, k: wg.sum(ops.conv(x, k, padding="same")), argnums=(0, 1))(x, k)
    finally:
        module._conv_windows = own
    products = 3 * 8 * 128 * 128 * 9 * 16 * 16  # of the primal and of two gradients
    assert sum(sizes) == pytest.approx(products, rel=0.05)
    assert min(sizes) > 1 << 20
