"""Attention and its like a block of rows at a time: found where rows do not mix, with the results of the kernels for
all sizes, masks and derivatives, the same bits in threads, and without the scores in memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import wengert as wg
import wengert.numpy as xp
from tests.engines.native.test_tiles import agree, graph_of, largest
from wengert._engines.native.plan import large_products, row_blocks, sizes

Array = np.ndarray[Any, Any]


@pytest.fixture
def eager_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are made wherever they can be, worth it or not, and blocks have few rows."""
    monkeypatch.setattr(large_products, "LEAST", 1)
    monkeypatch.setattr(large_products, "FEWEST", 1)
    monkeypatch.setattr(large_products, "TIMES", 0)
    monkeypatch.setattr(row_blocks, "NEAR", 1)
    monkeypatch.setattr(row_blocks, "FEWEST_TOGETHER", 4)
    monkeypatch.setattr(row_blocks, "KEPT", 0)


def groups(f: Callable[..., Any], *arrays: Array) -> list[row_blocks.Blocks]:
    found = row_blocks.blocked(graph_of(f, *arrays))
    return [node.attrs[0] for node in found.nodes if node.op is row_blocks.BLOCKED]


# -- programs ---------------------------------------------------------------------------------------------------------


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = xp.matmul(q, xp.swapaxes(k, -1, -2)) * (1 / math.sqrt(q.shape[-1]))
    return xp.matmul(wg.nn.softmax(scores, axis=-1), v)


def causal(q: Any, k: Any, v: Any) -> Any:
    scores = xp.matmul(q, xp.swapaxes(k, -1, -2))
    later = np.arange(k.shape[-2]) > np.arange(q.shape[-2])[:, None] + 1
    return xp.matmul(wg.nn.softmax(xp.where(later, -np.inf, scores), axis=-1), v)


def with_bias(q: Any, k: Any, v: Any) -> Any:
    scores = xp.matmul(q, xp.swapaxes(k, -1, -2)) + xp.cos(xp.sum(k, axis=-1))[..., None, :]
    weights = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return xp.matmul(weights, v) / xp.sum(weights, axis=-1, keepdims=True) + q[..., :1]


def smoothed(q: Any, k: Any, v: Any) -> Any:
    apart = xp.sum(q * q, axis=-1)[..., None] + xp.sum(k * k, axis=-1)[..., None, :]
    return xp.matmul(xp.exp(-0.5 * (apart - 2 * xp.matmul(q, xp.swapaxes(k, -1, -2)))), v)


def by_columns(q: Any, k: Any, v: Any) -> Any:
    """Weights that add up to one in each column: rows do mix."""
    return xp.matmul(wg.nn.softmax(xp.matmul(q, xp.swapaxes(k, -1, -2)), axis=-2), v)


def with_weights(q: Any, k: Any, v: Any) -> Any:
    """The weights are a result, too."""
    weights = wg.nn.softmax(xp.matmul(q, xp.swapaxes(k, -1, -2)), axis=-1)
    return xp.matmul(weights, v), weights


def twice(q: Any, k: Any, v: Any) -> Any:
    return attention(attention(q, k, v), k, v)


def in_a_network(q: Any, k: Any, v: Any) -> Any:
    """What gradients of come behind the heads' mixture."""
    heads = xp.swapaxes(causal(q, k, v), -1, -2)
    mixed = xp.reshape(heads, (-1, heads.shape[-1]))
    return xp.tanh(xp.matmul(mixed, np.cos(np.arange(mixed.shape[1]))[:, None]))


LAYERS: dict[str, Callable[..., Any]] = {
    "attention": attention, "causal": causal, "with bias": with_bias, "smoothed": smoothed, "by columns": by_columns,
    "twice": twice, "in a network": in_a_network,
}  # fmt: skip


def gradient(layer: Callable[..., Any]) -> Callable[..., Any]:
    return lambda q, k, v: wg.value_and_grad(lambda *xs: xp.sum(xp.sin(layer(*xs))), argnums=(0, 1, 2))(q, k, v)[1]


def direction(layer: Callable[..., Any]) -> Callable[..., Any]:
    return lambda q, k, v: wg.jvp(layer, (q, k, v), (k[..., :1, :] + q, xp.cos(k), v))[1]


def slope_of_gradient(layer: Callable[..., Any]) -> Callable[..., Any]:
    return lambda q, k, v: wg.jvp(lambda q: gradient(layer)(q, k, v), (q,), (xp.cos(q),))[1]


DERIVATIVES: dict[str, Callable[..., Any]] = {
    "value": lambda layer: layer, "gradient": gradient, "direction": direction, "slope": slope_of_gradient,
}  # fmt: skip


def draw(batch: tuple[int, ...], rows: int, places: int, width: int = 5, dtype: Any = np.float64) -> list[Array]:
    rng = np.random.default_rng(rows * 1000 + places)
    shapes = [(*batch, rows, width), (*batch, places, width), (*batch, places, width)]
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


SIZES = [
    ((2, 3), 13, 17),
    ((3,), 8, 24),
    ((1, 4), 4, 40),
    ((2, 1), 3, 9),
    ((4, 4), 4, 4),
    ((2, 2), 1, 12),
    ((1, 1), 22, 22),
]


@pytest.mark.usefixtures("eager_blocks")
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("name", LAYERS)
def test_programs_agree_with_the_kernels(name: str, derivative: str, size: tuple[tuple[int, ...], int, int]) -> None:
    f, arrays = DERIVATIVES[derivative](LAYERS[name]), draw(*size)
    agree(f, *arrays, rtol=1e-11)  # sums in another order


@pytest.mark.usefixtures("eager_blocks")
@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("name", ["attention", "causal", "with bias", "smoothed", "twice"])
def test_groups_are_found(name: str, derivative: str) -> None:
    found = groups(DERIVATIVES[derivative](LAYERS[name]), *draw((2, 3), 13, 17))
    assert any(group.extents == (2, 3, 13) and group.counts == (4, 1) for group in found)


@pytest.mark.usefixtures("eager_blocks")
@pytest.mark.parametrize("derivative", ["value", "gradient"])
@pytest.mark.parametrize("name", ["attention", "causal", "with bias"])
def test_float32(name: str, derivative: str) -> None:
    agree(DERIVATIVES[derivative](LAYERS[name]), *draw((2, 3), 13, 17, dtype=np.float32), rtol=2e-5)


@pytest.mark.usefixtures("eager_blocks")
def test_what_others_read_is_stored() -> None:
    arrays = draw((2, 3), 13, 17)
    assert groups(with_weights, *arrays)
    agree(with_weights, *arrays, rtol=1e-11)


@pytest.mark.usefixtures("eager_blocks")
def test_rows_that_are_read_as_a_whole_too() -> None:
    def f(q: Any, k: Any, v: Any) -> Any:
        scores = xp.matmul(q, xp.swapaxes(k, -1, -2))
        squared = xp.matmul(scores, scores)
        return xp.matmul(squared, q), squared + xp.swapaxes(
            xp.matmul(scores, xp.matmul(v, xp.swapaxes(v, -1, -2))), -1, -2
        )

    agree(f, *draw((4, 4), 5, 5), rtol=1e-11)


@pytest.mark.usefixtures("eager_blocks")
@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"local_window_size": (2, 1)}, {"key_heads": 2}], ids=str)
def test_dot_product_attention(options: dict[str, Any]) -> None:
    heads = options.pop("key_heads", 4)
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, 9, n, 5)) for n in (4, heads, heads))

    def f(q: Any, k: Any, v: Any) -> Any:
        return wg.ops.dot_product_attention(q, k, v, **options)

    assert groups(f, q, k, v)
    agree(f, q, k, v, rtol=1e-11)
    agree(gradient(f), q, k, v, rtol=1e-11)


@pytest.mark.usefixtures("eager_blocks")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("derivative", ["value", "gradient"])
def test_hard_values_spread_as_in_the_kernels(derivative: str, value: float) -> None:
    for place in range(3):
        arrays = draw((2,), 9, 7)
        arrays[place][1, 3, 2] = value
        agree(DERIVATIVES[derivative](causal), *arrays, rtol=1e-11)


@pytest.mark.usefixtures("eager_blocks")
@pytest.mark.parametrize("derivative", ["value", "gradient"])
def test_the_same_bits_for_any_number_of_threads(derivative: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = draw((3, 2), 150, 130, 40)
    runs: list[Any] = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", threads)
        f = DERIVATIVES[derivative](causal)
        found = wg.function(lambda *xs, f=f: f(*xs))(*arrays)
        runs.append(found if isinstance(found, tuple) else (found,))
    for other in runs[1:]:
        for one, same in zip(runs[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("derivative", ["value", "gradient", "direction"])
@pytest.mark.parametrize("batch", [(2, 2), (1, 1)], ids=str)
def test_scores_are_not_in_memory(derivative: str, batch: tuple[int, ...]) -> None:
    f, arrays = DERIVATIVES[derivative](causal), draw(batch, 600, 500, 32)
    assert largest(f, *arrays) <= 600 * 500 // 2
    agree(f, *arrays, rtol=1e-11)


@pytest.mark.parametrize("is_large", [False, True])
def test_what_is_stored_for_a_gradient_behind_other_layers(is_large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_blocks, "KEPT", 0 if is_large else 1 << 30)
    f, arrays = gradient(in_a_network), draw((2, 2), 600, 500, 32)
    found = row_blocks.blocked(graph_of(f, *arrays))
    blocks = [node for node in found.nodes if node.op is row_blocks.BLOCKED]
    assert len(blocks) == 2
    stored = [v for node in blocks for v in node.outputs if {500, 600} <= {*v.shape}]
    assert len(stored) == (0 if is_large else 1)  # the products
    assert largest(f, *arrays) <= (600 * 500 // 2 if is_large else 4 * 600 * 500)
    agree(f, *arrays, rtol=1e-11)


def test_little_is_left_alone() -> None:
    assert not groups(attention, *draw((2, 2), 30, 20))
    assert not groups(lambda q, k, v: xp.matmul(q, xp.swapaxes(k, -1, -2)), *draw((2, 2), 600, 500))
    assert not groups(by_columns, *draw((2, 2), 600, 500))


def test_several_sizes_have_code_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "_seen", type(sizes._seen)())
    for rows in range(400, 400 + 10 * (sizes.SEVERAL + 2), 10):
        arrays = draw((2, 2), rows, 300, 16)
        weights = np.exp(arrays[0] @ np.swapaxes(arrays[1], -1, -2) / 4)
        layer = wg.function(lambda q, k, v: attention(q, k, v))  # of many shapes a single one warns
        np.testing.assert_allclose(layer(*arrays), weights @ arrays[2] / weights.sum(-1, keepdims=True), 1e-9, 1e-12)
    assert max(map(len, sizes._seen.values())) == sizes.SEVERAL
