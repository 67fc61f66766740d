"""What the TensorFlow engine makes of a graph: its own kernels where they agree, the numbers of NumPy's engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert._engines.interpret import compile_instructions
from wengert._passes import optimise

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

RNG = np.random.default_rng(8)
IMAGES = RNG.normal(size=(2, 6, 6, 3))
LARGE = RNG.normal(size=(100, 100))


def with_nan(x: Any) -> Any:
    x = x.copy()
    x[0, 1, 1, 0], x[1, 2:4, 2:4, 1] = np.nan, np.nan
    return x


def with_infinities(x: Any) -> Any:
    """A whole window of -inf, and both infinities beside numbers."""
    x = x.copy()
    x[0, 0:3, 0:3, 0], x[1, 3, 3, 2], x[1, 4, 4, 2] = -np.inf, np.inf, -np.inf
    return x


def pooled(size: Any, strides: Any, padding: str, data_format: str = "channels_last") -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        found = wg.nn.max_pool(x, size, strides, padding, data_format)
        weights = np.arange(1.0, 1.0 + np.prod(found.shape)).reshape(found.shape).astype(x.dtype)
        return (found * found * weights).sum()

    return f


def gates(x: Any) -> Any:
    a, b, c, d = (x[:, 25 * i : 25 * (i + 1)] for i in range(4))
    return (wg.sigmoid(a) * wg.tanh(b) + wg.sigmoid(c) * d).sum()


def rows(x: Any) -> Any:
    """Rows put together again, whose cotangents are padded pieces, too."""
    return (wg.stack([wg.sin(x[0]), x[1] * x[2], *[wg.cos(x[i]) for i in range(3, len(x))]]) ** 2).sum()


def relu(x: Any) -> Any:
    return (wg.nn.relu(x) ** 2).sum()


def logarithm_of_relu(x: Any) -> Any:
    """Cotangents that are infinite where relu has no slope."""
    return wg.log(wg.nn.relu(x)).sum()


def centred(x: Any) -> Any:
    return ((x - x.mean()) / (1.0 + (x * x).sum())).sum() + (x / x.std()).max()


CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "pool": (pooled(2, 2, "valid"), IMAGES),
    "pool of equal elements": (pooled(2, 2, "valid"), np.round(np.maximum(IMAGES, 0))),
    "pool of zeros": (pooled(3, 2, "same"), np.zeros_like(IMAGES)),
    "pool of -1": (pooled(3, 2, "same"), np.full_like(IMAGES, -1)),
    "pool, overlapping": (pooled(3, 1, "valid"), np.round(IMAGES)),
    "pool, same": (pooled((3, 2), (2, 1), "same"), np.round(IMAGES)),
    "pool, channels first": (pooled(2, 2, "valid", "channels_first"), IMAGES),
    "pool of NaN": (pooled(2, 2, "valid"), with_nan(IMAGES)),
    "pool of NaN, same": (pooled(3, 2, "same"), with_nan(IMAGES)),
    "pool of infinities": (pooled(2, 2, "valid"), with_infinities(IMAGES)),
    "pool of infinities, same": (pooled(3, 2, "same"), with_infinities(IMAGES)),
    "pool, float32": (pooled(2, 2, "valid"), np.round(IMAGES).astype(np.float32)),
    "pool of lines": (pooled(2, 2, "valid"), IMAGES[..., 0]),
    "gates": (gates, LARGE),
    "gates, hard": (gates, np.where(LARGE > 1, np.inf, np.where(LARGE < -1, -np.inf, np.where(LARGE > 0.9, np.nan, 0.0)))),
    "rows": (rows, LARGE[:5]),
    "relu": (relu, LARGE),
    "relu of NaN": (relu, np.where(LARGE > 1, np.nan, LARGE)),
    "relu, small": (relu, LARGE[:3, :3]),
    "infinite cotangents": (logarithm_of_relu, LARGE),
    "infinite cotangents, small": (logarithm_of_relu, LARGE[:3, :3]),
    "numbers": (centred, LARGE),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_numbers_are_numpys(case: str) -> None:
    f, x = CASES[case]
    want_value, want = wg.value_and_grad(f)(x)
    derive = wg.function(wg.value_and_grad(f))
    tolerance = 1e-5 if x.dtype == np.float32 else 1e-12
    for _ in range(2):  # the second call runs the graph that the first one made
        value, got = derive(tf.constant(x))
        np.testing.assert_allclose(value.numpy(), want_value, rtol=tolerance)
        np.testing.assert_allclose(got.numpy(), want, rtol=tolerance, atol=1e-15)  # differences cancel


def test_the_slope_of_sigmoid_is_exact_far_out() -> None:
    x = np.concatenate([np.linspace(-700, 700, 999), [0.0, -0.0, np.inf, -np.inf]])
    got = wg.function(wg.grad(lambda v: wg.sigmoid(v).sum()))(tf.constant(x))
    small = np.exp(-np.abs(x))
    # both sides evaluate exp, whose argument's rounding is worth 700 of its own
    np.testing.assert_allclose(got.numpy(), small / (1 + small) ** 2, rtol=1e-12)


@pytest.mark.parametrize("case", ["pool", "pool of NaN, same", "gates", "relu"])
def test_extents_that_only_the_graph_knows(case: str) -> None:
    """A tensor may have lost its shape on the way through TensorFlow; the program was traced with it."""
    from wengert._engines.tensorflow.fusion import fused
    from wengert._engines.tensorflow.kernels import kernels_for

    f, x = CASES[case]
    graph = fused(optimise(wg.function(wg.value_and_grad(f)).trace(wg.TensorSpec(x.shape, "float64"))))
    run = compile_instructions(graph, kernels_for(graph), lambda v, axis: v.shape[axis])

    @tf.function(input_signature=[tf.TensorSpec([None] * x.ndim, tf.float64)])
    def body(v: Any) -> Any:
        return run(v)

    for got, want in zip(body(tf.constant(x)), wg.value_and_grad(f)(x), strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)


@pytest.mark.parametrize(("case", "names"), [
    ("pool", {"tensorflow pool", "tensorflow pool_back"}),
    ("pool, same", {"tensorflow pool", "tensorflow pool_back"}),
    ("pool, channels first", {"tensorflow pool", "tensorflow pool_back"}),
    ("gates", {"tensorflow tanh_slope", "tensorflow sigmoid_slope", "concatenate"}),
    ("rows", {"tensorflow stack"}),
    ("relu", {"tensorflow relu_back"}),
])  # fmt: skip
def test_what_is_fused(case: str, names: set[str]) -> None:
    from wengert._engines.tensorflow.fusion import fused

    f, x = CASES[case]
    graph = wg.function(wg.value_and_grad(f)).trace(wg.TensorSpec(x.shape, "float64"))
    found = {node.op.name for node in fused(optimise(graph)).nodes}
    assert names <= found
    assert not found & {"window_argmax", "take_along", "add_along", "pad"}
