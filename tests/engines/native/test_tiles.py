"""Groups of nodes that run a few rows at a time: found where rows do not mix, with the results of the kernels for all
sizes and hard values, and without the matrices that they are there to avoid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")

import wengert as wg
import wengert.numpy as xp
from tests.engines.native.test_ops import check, samples
from tests.support.native_checks import numpy_only
from tests.support.op_checks import traced
from wengert._core.graph import Graph
from wengert._core.op import REGISTRY
from wengert._engines.native.ir.loops import Alloc, Lanes
from wengert._engines.native.ir.outlining import walk
from wengert._engines.native.llvm import lanes
from wengert._engines.native.lower.functions import lowered
from wengert._engines.native.plan import tiles
from wengert._engines.native.plan.prepare import ready
from wengert._engines.native.plan.row_rules import RULES
from wengert._passes import optimise
from wengert._transforms.replay import replay

Array = np.ndarray[Any, Any]


@pytest.fixture
def eager_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are made wherever they can be, worth it or not."""
    monkeypatch.setattr(tiles, "LEAST", -(1 << 60))
    monkeypatch.setattr(tiles, "FEWEST", 2)
    monkeypatch.setattr(tiles, "DENSE", 4096)
    monkeypatch.setattr(tiles._Search, "lost", lambda search, group: 0)


def graph_of(f: Callable[..., Any], *arrays: Array) -> Graph:
    graph = Graph("f")
    with graph.as_default():
        out = f(*[graph.add_input(x.shape, x.dtype) for x in arrays])
        graph.finish([*out] if isinstance(out, tuple) else [out])
    return ready(optimise(graph))


def groups(f: Callable[..., Any], *arrays: Array) -> list[tiles.Rows]:
    found = tiles.tiled(graph_of(f, *arrays))
    return [node.attrs[0] for node in found.nodes if node.op is tiles.TILED]


def both(f: Callable[..., Any], *arrays: Array) -> tuple[list[Array], list[Array]]:
    """The results of machine code and of NumPy's kernels."""
    ours = wg.function(f)(*arrays)
    with numpy_only(), np.errstate(all="ignore"):
        theirs = wg.function(lambda *xs: f(*xs))(*arrays)
    results = [[*map(np.asarray, r)] if isinstance(r, tuple) else [np.asarray(r)] for r in (ours, theirs)]
    return results[0], results[1]


def agree(f: Callable[..., Any], *arrays: Array, rtol: float = 1e-12) -> None:
    for x, y in zip(*both(f, *arrays), strict=True):
        assert x.shape == y.shape and x.dtype == y.dtype
        finite = np.abs(y[np.isfinite(y)])
        np.testing.assert_allclose(x, y, rtol, rtol * float(np.max(finite, initial=0.0)))


# -- programs ---------------------------------------------------------------------------------------------------------


def distances(x: Any, c: Any) -> Any:
    squares = xp.sum(x * x, axis=1)[:, None] + xp.sum(c * c, axis=1)[None, :]
    return squares - 2.0 * xp.matmul(x, xp.transpose(c))


def nearest(x: Any, c: Any) -> Any:
    return xp.sum(xp.min(distances(x, c), axis=1))


def newton(x: Any, c: Any) -> Any:
    slope, curvature = wg.jvp(wg.grad(lambda c: nearest(x, c)), (c,), (wg.ops.ones_like(c),))
    return slope, curvature


def polynomial(x: Any, c: Any) -> Any:
    t = x[:, :1]
    powers = xp.cumprod(xp.concatenate([xp.ones_like(t), xp.broadcast_to(t, (x.shape[0], 23))], axis=1), axis=1)
    return xp.matmul(powers, xp.reshape(c, (-1,))[:24])


def squares(x: Any, c: Any) -> Any:
    apart = xp.sign(x[:, 0]) - polynomial(x, c)
    return wg.value_and_grad(lambda c: 0.5 * xp.sum((xp.sign(x[:, 0]) - polynomial(x, c)) ** 2))(c), apart


def running(x: Any, c: Any) -> Any:
    d = distances(x, c)
    return xp.max(xp.cumsum(d, axis=1), axis=1), xp.sum(xp.cumsum(d, axis=1) * d, axis=0)


def choices(x: Any, c: Any) -> Any:
    d = distances(x, c)
    return xp.argmin(d, axis=1), xp.sum(xp.argmax(d, axis=1)), xp.any(d > 3.0, axis=0)


def mixture(x: Any, c: Any) -> Any:
    return wg.value_and_grad(lambda c: xp.sum(wg.ops.logsumexp(-distances(x, c), axis=1)))(c)


def products(x: Any, c: Any) -> Any:
    d = xp.sin(distances(x, c))
    return xp.matmul(xp.transpose(x), d), xp.matmul(xp.transpose(d), x), xp.matmul(xp.transpose(d), d)


def rotated(x: Any, c: Any) -> Any:
    """Rows alone, without a sum over them."""
    d = xp.cumsum(distances(x, c), axis=1)
    turned = x[:, 1] * d[:, 0] - x[:, 0], d[:, 1] / (1 + x[:, 1])
    return xp.sin(xp.max(d, axis=1)) * x[:, 0], xp.stack(turned, axis=1)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "nearest": nearest, "newton": newton, "squares": lambda x, c: (*squares(x, c)[0], squares(x, c)[1]),
    "running": running, "choices": choices, "mixture": mixture, "products": products, "distances": distances,
    "rotated": rotated,
}  # fmt: skip


def draw(n: int, k: int = 12, d: int = 8, dtype: Any = np.float64) -> tuple[Array, Array]:
    rng = np.random.default_rng(n * 1000 + k)
    return rng.random((n, d)).astype(dtype), rng.random((k, d)).astype(dtype)


@pytest.mark.usefixtures("eager_tiles")
@pytest.mark.parametrize("n", [2, 5, 15, 16, 17, 31, 32, 33, 64, 95])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree_with_the_kernels(name: str, n: int) -> None:
    assert groups(PROGRAMS[name], *draw(n))
    agree(PROGRAMS[name], *draw(n))


@pytest.mark.usefixtures("eager_tiles")
@pytest.mark.parametrize("shape", [(40, 1, 1), (40, 1, 8), (40, 9, 1), (40, 3, 2), (40, 40, 3), (130, 70, 17)])
@pytest.mark.parametrize("name", ["nearest", "newton", "running", "products", "mixture"])
def test_narrow_wide_and_square_matrices(name: str, shape: tuple[int, int, int]) -> None:
    n, k, d = shape
    agree(PROGRAMS[name], *draw(n, k, d), rtol=1e-11 if k > 60 else 1e-12)  # sums of many terms in another order


@pytest.mark.usefixtures("eager_tiles")
@pytest.mark.parametrize("name", ["nearest", "running", "products", "mixture"])
def test_float32_is_added_up_no_worse(name: str) -> None:
    narrow, wide = draw(333, dtype=np.float32), [a.astype(np.float64) for a in draw(333, dtype=np.float32)]
    (found, _), (exact, _) = both(PROGRAMS[name], *narrow), both(PROGRAMS[name], *wide)
    for x, y in zip(found, exact, strict=True):
        assert x.dtype == np.float32
        np.testing.assert_allclose(x, y, 2e-4, 2e-5 * float(np.max(np.abs(y))))  # differences of squares


@pytest.mark.usefixtures("eager_tiles")
def test_integers() -> None:
    rng = np.random.default_rng(0)
    x, c = rng.integers(-9, 9, (70, 5)), rng.integers(-9, 9, (12, 5))
    for f in (distances, products_of_integers, running):
        for ours, theirs in zip(*both(f, x, c), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def products_of_integers(x: Any, c: Any) -> Any:
    d = distances(x, c)
    return xp.matmul(xp.transpose(x), d), xp.sum(d, axis=0), xp.min(d, axis=1)


# -- long rows --------------------------------------------------------------------------------------------------------


@pytest.fixture
def eager_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long rows go one by one wherever they can."""
    monkeypatch.setattr(tiles, "LEAST", 1)
    monkeypatch.setattr(tiles, "LEAST_OF_LONG", -(1 << 60))
    monkeypatch.setattr(tiles, "FEWEST", 2)


def normalised(x: Any, y: Any) -> Any:
    def loss(x: Any) -> Any:
        apart = x - xp.mean(x, axis=1, keepdims=True)
        return xp.sum(y * apart / (xp.std(x, axis=1, keepdims=True) + 0.1))

    return wg.value_and_grad(loss)(x)


def attention(x: Any, y: Any) -> Any:
    return wg.value_and_grad(lambda x: xp.sum(xp.matmul(wg.ops.softmax(xp.matmul(x, xp.transpose(y))), y) ** 2))(x)


LONG: dict[str, Callable[..., Any]] = {
    "softmax": lambda x, y: wg.ops.softmax(x) * y,
    "gradient of softmax": lambda x, y: wg.value_and_grad(lambda x: xp.sum(wg.ops.softmax(x) * y))(x),
    "log softmax": lambda x, y: wg.value_and_grad(lambda x: xp.sum(wg.ops.log_softmax(x) * y))(x),
    "normalised": normalised,
    "attention": attention,
    "sums over rows": lambda x, y: (xp.sum(wg.ops.softmax(x) * y, axis=0), xp.sum(wg.ops.softmax(x) > 0.01, axis=0)),
    "running": lambda x, y: (xp.cumsum(wg.ops.softmax(x), axis=1), xp.max(xp.cumprod(1.0 + x * 0.01, axis=1), axis=1)),
    "of three axes": lambda x, y: wg.ops.softmax(xp.reshape(x, (x.shape[0], -1, 10)), axis=2),
}  # fmt: skip


def long_rows(n: int, dtype: Any = np.float64) -> tuple[Array, Array]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, 130)).astype(dtype), rng.normal(size=(n, 130)).astype(dtype)


@pytest.mark.usefixtures("eager_rows")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [2, 70])
@pytest.mark.parametrize("name", LONG)
def test_long_rows_one_by_one(name: str, n: int, dtype: Any) -> None:
    arrays = long_rows(n, dtype)
    assert n == 2 or name == "of three axes" or any(group.is_single for group in groups(LONG[name], *arrays))
    agree(LONG[name], *arrays, rtol=1e-12 if dtype == np.float64 else 1e-5)  # float32 and functions of it


@pytest.mark.usefixtures("eager_rows")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", LONG)
def test_hard_values_in_long_rows(name: str, value: float) -> None:
    x, y = long_rows(70)
    x[37, 2] = value
    agree(LONG[name], x, y)


@pytest.mark.usefixtures("eager_rows")
@pytest.mark.parametrize("n", [0, 1, 200])
@pytest.mark.parametrize("name", ["softmax", "gradient of softmax", "normalised", "sums over rows"])
def test_long_rows_of_sizes_that_the_run_tells(name: str, n: int) -> None:
    specs = [wg.TensorSpec((None, None))] * 2
    x, y = long_rows(n)
    ours = wg.function(LONG[name], input_signature=specs)(x, y)
    with numpy_only():
        theirs = wg.function(LONG[name], input_signature=specs)(x, y)
    ours, theirs = ((r if isinstance(r, tuple) else (r,)) for r in (ours, theirs))
    for found, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, wanted, 1e-12, 1e-12 * float(np.max(np.abs(wanted), initial=0.0)))


@pytest.mark.parametrize("name", ["softmax", "gradient of softmax", "log softmax", "normalised"])
def test_no_matrix_but_the_result_is_in_memory(name: str) -> None:
    x, y = np.ones((4000, 500)), np.ones((4000, 500))
    assert largest(LONG[name], x, y) <= 4000 * 500 // 20


@pytest.mark.parametrize("name", ["gradient of softmax", "sums over rows"])
def test_long_rows_give_the_same_bits_for_any_number_of_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3000, 300)), rng.normal(size=(3000, 300))
    assert groups(LONG[name], x, y)
    runs: list[Any] = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", threads)
        runs.append(wg.function(lambda x, y: LONG[name](x, y))(x, y))
    for other in runs[1:]:
        for one, same in zip(runs[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


# -- hard values ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("eager_tiles")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e200, -0.0])
@pytest.mark.parametrize("name", ["nearest", "newton", "running", "products", "choices"])
def test_hard_values_spread_as_in_the_kernels(name: str, value: float) -> None:
    x, c = draw(70)
    x[37, 2] = value
    agree(PROGRAMS[name], x, c)


@pytest.mark.usefixtures("eager_tiles")
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_zeros_meet_what_is_not_finite(value: float) -> None:
    """A product of zero and infinity is not left out, though most factors are zero."""

    def f(x: Any, c: Any) -> Any:
        chosen = xp.where(distances(x, c) > 1e9, 1.0, 0.0)
        return xp.matmul(xp.transpose(xp.where(x > 0.5, value, x)), xp.cumsum(chosen, axis=1))

    x, c = draw(70)
    assert groups(f, x, c)
    ours, theirs = both(f, x, c)
    assert np.all(np.isnan(theirs[0]))
    np.testing.assert_array_equal(ours[0], theirs[0])


@pytest.mark.usefixtures("eager_tiles")
def test_the_sign_of_zero_stays() -> None:
    def f(x: Any) -> Any:
        return xp.cumsum(x, axis=1), xp.cumprod(x, axis=1), xp.max(xp.cumprod(x, axis=1) * 2.0, axis=1)

    x = np.tile(np.array([-0.0, -0.0, 0.0, -0.0, 1.0, -0.0, 3.0, -0.0, 0.0, 2.0]), (40, 1))
    for ours, theirs in zip(*both(f, x), strict=True):
        np.testing.assert_array_equal(np.signbit(ours[:, ...]), np.signbit(theirs))


@pytest.mark.usefixtures("eager_tiles")
@pytest.mark.parametrize("unknown", [1, 2, 4], ids=["rows", "rows and centres", "all"])
@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 33, 200])
@pytest.mark.parametrize("name", ["nearest", "newton", "running", "products", "mixture", "rotated"])
def test_sizes_that_the_run_tells(name: str, n: int, unknown: int) -> None:
    x, c = draw(n)
    specs = [wg.TensorSpec((None, None if unknown == 4 else 8))]
    specs.append(wg.TensorSpec((12 if unknown == 1 else None, None if unknown == 4 else 8)))
    ours = wg.function(PROGRAMS[name], input_signature=specs)(x, c)
    with numpy_only():
        theirs = wg.function(PROGRAMS[name], input_signature=specs)(x, c)
    ours, theirs = ((r if isinstance(r, tuple) else (r,)) for r in (ours, theirs))
    for found, wanted in zip(ours, theirs, strict=True):
        size = float(np.max(np.abs(wanted), initial=0.0))
        np.testing.assert_allclose(found, wanted, 1e-12, 1e-12 * size)


# -- every rule -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("eager_tiles")
@pytest.mark.parametrize("name", [name for name in RULES if name in REGISTRY])
def test_every_primitive_that_has_rows(name: str) -> None:
    """On the samples of its declaration, its results read by what makes a group of it."""
    for case in samples(REGISTRY[name]):
        graph = optimise(traced(case))
        check(with_readers(graph), case.operands, str(case))


def with_readers(graph: Graph) -> Graph:
    """The graph with each result of several axes read by a running total, too."""
    result = Graph("read")
    with result.as_default():
        inputs = [result.add_input(v.shape, v.dtype) for v in graph.inputs]
        outs = replay(graph, inputs)
        extra = [
            REGISTRY["cummax"](o, axis=len(o.shape) - 1, reverse=False)
            for o in outs if len(o.shape) > 1 and o.dtype.kind in "fiu" and 0 not in o.shape
        ]  # fmt: skip
        result.finish([*outs, *extra, *[REGISTRY["reduce_max"](e, axes=(len(e.shape) - 1,)) for e in extra]])
    return optimise(result)


# -- what is found ----------------------------------------------------------------------------------------------------


def test_the_gradient_of_the_nearest_centre_is_one_group() -> None:
    (found,) = groups(newton, *draw(1000, 10))
    assert found.extent == 1000
    assert set(found.gives) == {None}
    assert 0 in found.takes and None in found.takes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_nearest_of_many_centres_leaves_out_zeros(dtype: Any) -> None:
    for f in (newton, lambda x, c: wg.grad(lambda c: xp.sum(xp.min(distances(x, c), axis=1)))(c)):
        assert groups(f, *draw(10_000, 1000, 16, dtype))  # whose products would be of a hundred times as many terms


def test_little_is_left_alone() -> None:
    assert not groups(nearest, *draw(100, 3))
    assert not groups(lambda x: xp.sum(xp.exp(x), axis=1), np.ones((1000, 1000)))


def test_products_of_long_rows_are_left_to_others() -> None:
    x, y = np.ones((1000, 300)), np.ones((300, 200))
    assert not groups(lambda x, y: xp.sum(xp.sin(xp.matmul(x, y)), axis=1), x, y)


def test_layers_of_a_network_are_products_of_matrices() -> None:
    def gradients(x: Any, w: Any, v: Any) -> Any:
        return wg.grad(lambda w, v: xp.mean((xp.tanh(xp.tanh(x @ w) @ v) - 1) ** 2), (0, 1))(w, v)

    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        for n, width, is_group in ((2048, 4, True), (256, 64, False), (2048, 64, False), (2048, 32, False)):
            arrays = [
                rng.normal(size=s).astype(dtype)
                for s in ((n, max(2, width // 2)), (max(2, width // 2), width), (width, width))
            ]
            assert bool(groups(gradients, *arrays)) == is_group


def test_what_a_sum_over_rows_decides_comes_later() -> None:
    def f(x: Any, c: Any) -> Any:
        d = xp.sin(distances(x, c))
        weights = d / xp.sum(d, axis=0)
        return xp.max(weights, axis=1)

    x, c = draw(2000, 30)
    agree(f, x, c)
    for group in groups(f, x, c):
        assert None in group.gives or group.takes.count(None) > 0


@pytest.mark.usefixtures("eager_tiles")
def test_a_value_is_not_both_a_row_and_a_whole() -> None:
    def f(x: Any, c: Any) -> Any:
        y = xp.cumsum(xp.matmul(x, xp.transpose(c)), axis=1)
        return xp.matmul(y, xp.transpose(y)), xp.sum(xp.matmul(y, xp.transpose(y)), axis=1)

    agree(f, *draw(40), rtol=1e-11)  # sums of products of sums


# -- what is made of it -----------------------------------------------------------------------------------------------


def largest(f: Callable[..., Any], *arrays: Array) -> int:
    """The most elements that an array has, for all lanes."""
    function = lowered(graph_of(f, *arrays), "f").function
    inside = {a: item.count for item in walk(function.body) if type(item) is Lanes
              for inner in walk(item.body) if type(inner) is Alloc for a in [inner.array]}  # fmt: skip
    counts = [
        item.count * inside.get(item.array, 1) for item in walk(function.body)
        if type(item) is Alloc and type(item.count) is int
    ]  # fmt: skip
    return max(counts, default=0)


@pytest.mark.parametrize("name", ["nearest", "newton", "mixture"])
def test_no_matrix_of_all_rows_is_in_memory(name: str) -> None:
    assert largest(PROGRAMS[name], *draw(10_000, 50)) <= 10_000 * 50 // 5


def test_powers_of_all_points_are_not_in_memory() -> None:
    def f(x: Any) -> Any:
        t = xp.linspace(-1.0, 1.0, 5000)
        powers = xp.cumprod(xp.broadcast_to(t[:, None], (5000, 64)), axis=1)
        return wg.value_and_grad(lambda x: xp.sum(xp.matmul(powers, x) ** 2))(x)

    assert largest(f, np.ones(64)) <= 5000 * 64 // 5
    agree(f, np.linspace(0.1, 1.0, 64), rtol=1e-11)  # sums of 5,000 terms in another order


def test_lanes_are_vectors() -> None:
    from wengert._engines.native.llvm.codegen import module_text

    text = module_text(lowered(graph_of(nearest, *draw(10_000, 50)), "f").function, "entry")
    assert "<16 x double>" in text or "<32 x double>" in text


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_does_not_suit_lanes_runs_as_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "LEAST", 0)
    monkeypatch.setattr(lanes, "suits", lambda item: False)
    agree(PROGRAMS[name], *draw(333), rtol=1e-11)  # BLAS's sums are in another order


def bodies(f: Callable[..., Any], *arrays: Array) -> list[int]:
    """How many rows go side by side in each code for rows that there is."""
    return [item.count for item in walk(lowered(graph_of(f, *arrays), "f").function.body) if type(item) is Lanes]


def test_what_is_not_added_up_needs_one_code_for_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "LEAST", 0)
    for n in (2000, 2005):
        x, c = draw(n)
        assert bodies(rotated, x, c) == [16]
        agree(rotated, x, c)


@pytest.mark.usefixtures("eager_tiles")
@pytest.mark.parametrize("n", [7, 23, 30, 31, 3423])
def test_lanes_are_powers_of_two_and_rows_done_again_are_added_once(n: int) -> None:
    x, c = draw(n)
    for name in ("nearest", "products", "rotated"):
        counts = bodies(PROGRAMS[name], x, c)
        assert all(count & (count - 1) == 0 for count in counts)
        assert n < 16 or 16 in counts
        agree(PROGRAMS[name], x, c)


@pytest.mark.usefixtures("eager_tiles")
@pytest.mark.parametrize("count", [337, 3423])
def test_differences_of_pairs_of_points(count: int) -> None:
    """Forces of neighbours, as simulations of molecules have them: LLVM 20 ended the process for 7, 14 and 15 lanes."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 216, count)
    second = (first + 1 + rng.integers(0, 215, count)) % 216

    def energy(x: Any) -> Any:
        d = x[first] - x[second]
        d = d - 7.0 * xp.round(d / 7.0)
        squares = xp.sum(d * d, axis=1)
        return xp.sum(xp.where(squares < 5.0, squares**-6 - squares**-3, 0.0))

    agree(lambda x: wg.value_and_grad(energy)(x)[1], 7.0 * rng.random((216, 3)), rtol=1e-11)


@pytest.mark.usefixtures("eager_tiles")
@pytest.mark.parametrize("name", ["newton", "mixture", "choices", "products", "rotated"])
def test_any_number_of_threads_gives_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, c = draw(20_005, 40)
    runs: list[Any] = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", threads)
        runs.append(wg.function(lambda x, c: PROGRAMS[name](x, c))(x, c))
    text = str(lowered(graph_of(PROGRAMS[name], x, c), "f").function)
    assert "parallel" in text and "lanes" in text
    for other in runs[1:]:
        for one, same in zip(runs[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


def test_rows_too_large_for_the_machine_are_a_memory_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a part of the rows, in a thread or not."""
    monkeypatch.setattr(tiles, "TOO_LONG", 1 << 60)

    def f(x: Any) -> Any:
        totals = xp.cumsum(xp.broadcast_to(x[:, None], (x.shape[0], 1 << 48)), axis=1)
        return xp.sum(totals * xp.max(totals, axis=1)[:, None], axis=1)

    for threads in ("1", "2"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", threads)
        assert groups(f, np.ones(100))
        with pytest.raises(MemoryError, match="cumsum"):
            wg.function(lambda x: f(x))(np.ones(100))


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_are_cut_where_sizes_known_at_run_time_say(axis: int) -> None:
    """What lies around the rows tells where: a roll's ends are known only there."""

    def energy(x: Any) -> Any:
        rolled = xp.roll(x, 12_345, axis=axis) - xp.roll(x, -1, axis=axis)
        return xp.sum(rolled**2)

    fn = wg.function(wg.grad(energy))
    for shape in ((70_001, 3), (401, 503), (1, 7)):
        x = np.random.default_rng(5).normal(size=shape)
        np.testing.assert_allclose(fn(x), wg.grad(energy)(x), rtol=1e-12)
