"""Activations at their kinks, convolutions in every layout, and the ops in traces with unknown dimensions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

import wengert as wg
from wengert import nn, ops

RNG = np.random.default_rng(5)
SELU = 1.0507009873554805

KINKS = [  # the function, where, and the slopes there
    (nn.relu, [0.0], [0.0]),
    (nn.relu6, [0.0, 6.0], [0.0, 0.0]),
    (nn.leaky_relu, [0.0], [0.2]),
    (nn.elu, [0.0], [1.0]),
    (lambda x: nn.elu(x, 0.5), [0.0], [0.5]),
    (nn.celu, [0.0], [1.0]),
    (lambda x: nn.celu(x, 2.0), [0.0], [1.0]),
    (nn.selu, [0.0], [SELU]),  # the right-hand slope, as the page of kinks recommends
    (nn.hard_sigmoid, [-3.0, 3.0], [0.0, 0.0]),
    (nn.hard_silu, [-3.0, 3.0], [0.0, 1.0]),
    (nn.hard_tanh, [-1.0, 1.0], [1.0, 1.0]),
    (nn.hard_shrink, [-0.5, 0.5], [0.0, 0.0]),
    (nn.soft_shrink, [-0.5, 0.5], [0.0, 0.0]),
    (lambda x: nn.threshold(x, 1.0, 2.0), [1.0], [0.0]),
    (nn.softsign, [0.0], [1.0]),
    (nn.softsign, [-1e300, 1e8], [0.0, (1 + 1e8) ** -2]),
    (nn.silu, [0.0], [0.5]),
    (nn.gelu, [0.0], [0.5]),
    (nn.log_sigmoid, [-800.0], [1.0]),
    (ops.std, [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]),
    (lambda x: ops.max(x, initial=1.0), [1.0, 1.0, 0.0], [1 / 3, 1 / 3, 0.0]),
    (lambda x: ops.min(x), [1.0, 1.0, 3.0], [0.5, 0.5, 0.0]),
    (ops.sinc, [0.0], [0.0]),
    (ops.abs, [0.0], [0.0]),
    (lambda x: ops.clip(x, 0.0, 1.0), [0.0, 1.0, 2.0], [1.0, 1.0, 0.0]),
    (lambda x: ops.maximum(x, 1.0), [1.0], [0.5]),
    (lambda x: ops.divide_no_nan(1.0, x), [0.0, 2.0], [0.0, -0.25]),
    (lambda x: ops.prod(x), [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    (lambda x: ops.where(x > 0, ops.log(x), 0.0), [0.0, 2.0], [0.0, 0.5]),
    (nn.sparsemax, [0.0, 0.5, 3.0], [0.0, 0.0, 0.0]),
]


@pytest.mark.parametrize(("f", "at", "slopes"), KINKS, ids=[str(i) for i in range(len(KINKS))])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_kinks(f, at, slopes):
    np.testing.assert_allclose(wg.grad(lambda x: ops.sum(f(x)))(np.array(at)), slopes, rtol=1e-12, atol=1e-300)


def test_the_roundness_of_squareplus_has_its_slope_everywhere():
    x, b = np.array([0.5, -3.0, 1e160, 1e200]), np.array([4.0, 0.25, 1e300, 1e-10])
    wanted = 0.25 / np.hypot(x, np.sqrt(b))
    for f in (
        wg.grad(lambda b: wg.sum(nn.squareplus(x, b))),
        wg.function(wg.grad(lambda b: wg.sum(nn.squareplus(x, b)))),
    ):
        np.testing.assert_allclose(f(b), wanted, rtol=1e-14)
    np.testing.assert_allclose(nn.squareplus(x, b), (x + np.hypot(x, np.sqrt(b))) / 2, rtol=1e-14)


def test_far_out_nothing_is_spoilt():
    x = np.array([-1e4, 1e4])
    for f in (nn.elu, nn.selu, nn.celu, nn.softplus, nn.gelu, nn.silu, nn.squareplus, nn.softsign):
        value, gradient = wg.value_and_grad(lambda x, f=f: f(x))(x)
        assert np.isfinite(value).all()
        assert np.isfinite(gradient).all()
    for dtype, x in (
        (np.float16, 300),
        (np.float16, 6e4),
        (np.float32, 1e20),
        (np.float64, 1e160),
        (np.float64, 1e300),
    ):
        x = np.array([-x, x], dtype)
        for f in (nn.silu, nn.squareplus, nn.gelu if dtype == np.float16 else nn.celu):
            for way in (wg.value_and_grad(f), wg.function(wg.value_and_grad(f))):
                value, gradient = way(x)
                assert value[1] == x[1]
                np.testing.assert_allclose(gradient, [0, 1], atol=np.finfo(dtype).eps)
    assert np.isnan(nn.relu6(np.nan))
    assert np.isnan(nn.hard_shrink(np.nan))


CONVS = [
    {"strides": 1, "padding": "valid"},
    {"strides": 2, "padding": "same"},
    {"strides": (1, 2), "padding": "valid"},
    {"dilation_rate": 2, "padding": "same"},
    {"dilation_rate": (2, 1), "padding": "valid"},
]


@pytest.mark.parametrize("options", CONVS, ids=str)
@pytest.mark.parametrize("groups", [1, 2])
def test_layouts_agree(options, groups):
    x, w = RNG.normal(size=(2, 7, 6, 4)), RNG.normal(size=(3, 2, 4 // groups, 6))
    last = ops.conv(x, w, **options)
    first = ops.conv(x.transpose(0, 3, 1, 2), w, data_format="channels_first", **options)
    np.testing.assert_allclose(last, first.transpose(0, 2, 3, 1), rtol=1e-12, atol=1e-12)
    general = nn.conv_general(
        x.transpose(3, 1, 0, 2), w.transpose(3, 2, 0, 1), np.broadcast_to(options.get("strides", 1), 2).tolist(),
        options["padding"], rhs_dilation=options.get("dilation_rate"), dimension_numbers=("CHNW", "OIHW", "HNWC"),
        feature_group_count=groups,
    )  # fmt: skip
    np.testing.assert_allclose(last, general.transpose(1, 0, 2, 3), rtol=1e-12, atol=1e-12)


def test_convolution_is_scipys_correlation():
    x, w = RNG.normal(size=(1, 1, 6, 7)), RNG.normal(size=(1, 1, 3, 2))
    np.testing.assert_allclose(
        nn.conv_general(x, w, (1, 1), "VALID")[0, 0], scipy.signal.correlate2d(x[0, 0], w[0, 0], "valid"), rtol=1e-12
    )
    full = nn.conv_general(x, w, (1, 1), [(2, 2), (1, 1)])[0, 0]
    np.testing.assert_allclose(full, scipy.signal.correlate2d(x[0, 0], w[0, 0], "full"), rtol=1e-12)


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_conv_transpose_is_the_gradient_of_conv(padding, stride):
    y, w = RNG.normal(size=(1, 3, 2, 4)), RNG.normal(size=(2, 3, 5, 4))
    x = ops.conv_transpose(y, w, stride, padding)
    kernel = w  # conv's kernel has (channels in, filters): the same array, read the other way round
    through = ops.conv(x, kernel, stride, padding)
    assert through.shape == y.shape
    to_x = wg.grad(lambda x: ops.sum(ops.conv(x, kernel, stride, padding) * y))(x)
    np.testing.assert_allclose(to_x, x, rtol=1e-12, atol=1e-12)


def test_depthwise_and_separable():
    x, w, p = RNG.normal(size=(2, 5, 3)), RNG.normal(size=(2, 3, 2)), RNG.normal(size=(1, 6, 4))
    result = ops.depthwise_conv(x, w)
    for c in range(3):
        each = ops.conv(x[:, :, c : c + 1], w[:, c : c + 1, :])
        np.testing.assert_allclose(result[:, :, 2 * c : 2 * c + 2], each, rtol=1e-12)
    np.testing.assert_allclose(ops.separable_conv(x, w, p), result @ p[0], rtol=1e-12)


def test_bad_convolutions():
    x, w = np.ones((1, 5, 4)), np.ones((2, 3, 2))
    with pytest.raises(ValueError, match="channels"):
        ops.conv(x, w)
    with pytest.raises(ValueError, match="data_format"):
        ops.conv(x, w, data_format="NWC")
    with pytest.raises(ValueError, match="padding"):
        ops.conv(x, np.ones((2, 4, 2)), padding="reflect")
    with pytest.raises(ValueError, match="axes"):
        ops.conv(x, np.ones((2, 2, 4, 2)))
    with pytest.raises(ValueError, match="dimension_numbers"):
        nn.conv_general(x, w, (1,), "VALID", dimension_numbers=("NWC", "WIO", "NWX"))


TRACED = [
    lambda x: ops.reshape(x, (-1, 2)),
    lambda x: ops.reshape(x, -1),
    lambda x: ops.transpose(x),
    lambda x: ops.tile(x, (2, 1)),
    lambda x: ops.roll(x, 1, 0),
    lambda x: ops.roll(x, -2, 0),
    lambda x: ops.flip(x, 0),
    lambda x: ops.repeat(x, 2, axis=0),
    lambda x: ops.concatenate([x, x]),
    lambda x: ops.stack([x, x]),
    lambda x: ops.pad(x, ((1, 2), (0, 0))),
    lambda x: ops.pad(x, 1, constant_values=2.0),
    lambda x: ops.mean(x, 0),
    lambda x: ops.std(x, 0),
    lambda x: ops.var(x),
    lambda x: ops.max(x, 0, initial=0.3),
    lambda x: ops.diff(x, axis=0),
    lambda x: ops.cumsum(x, 0),
    lambda x: ops.sort(x, 0),
    lambda x: ops.tril(x),
    lambda x: ops.diagonal(x),
    lambda x: ops.diag(x[:, 0]),
    lambda x: ops.diag(x[:, 0], 1),
    lambda x: ops.trace(x),
    lambda x: ops.matmul(x, ops.transpose(x)),
    lambda x: ops.einsum("ij,kj->ik", x, x),
    lambda x: ops.tensordot(x, x, ([0], [0])),
    lambda x: ops.kron(x, x),
    lambda x: ops.norm(x, axis=0),
    lambda x: ops.zeros_like(x) + 1.0,
    lambda x: ops.eye(x.shape[0]) @ x,
    lambda x: ops.arange(x.shape[0]) * 1.0 + x[:, 0],
    lambda x: ops.take_along_axis(x, ops.argsort(x, 0), 0),
    lambda x: ops.convert_to_tensor(x).at[1].set(0.0),
    lambda x: ops.convert_to_tensor(x).at[1:, 0].add(1.0),
    lambda x: ops.softmax(x, 0),
    lambda x: ops.softmax(x, None),
    lambda x: ops.meshgrid(x[:, 0], x[0])[0],
    lambda x: ops.average(x, 0),
    lambda x: ops.conv(x[None], ops.ones((2, 4, 3)), 2, "same"),
    lambda x: ops.where(x > 0.5, x, 0.0),
    lambda x: ops.one_hot(ops.argmax(x, 1), 4),
    lambda x: ops.broadcast_to(x[:1], x.shape),
    lambda x: ops.full(x.shape, 2.0) * x,
    lambda x: ops.tri(x.shape[0]),
    lambda x: ops.outer(x, x),
]


@pytest.mark.parametrize("f", TRACED, ids=[str(i) for i in range(len(TRACED))])
def test_unknown_dimensions(f):
    traced = wg.function(f, input_signature=[wg.TensorSpec((None, 4), "float64")])
    for size in (3, 6):
        x = RNG.random((size, 4))
        expected = f(x)
        expected = expected.numpy() if isinstance(expected, wg.Tensor) else expected
        result = traced(x)
        result = result.numpy() if isinstance(result, wg.Tensor) else result
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
        if np.asarray(expected).dtype.kind == "f":
            total = wg.function(
                lambda x: wg.grad(lambda x: ops.sum(f(x)), unconnected_gradients="zero")(x),
                input_signature=[wg.TensorSpec((None, 4), "float64")],
            )
            eager = wg.grad(lambda x: ops.sum(f(x)), unconnected_gradients="zero")(x)
            np.testing.assert_allclose(total(x), eager, rtol=1e-11, atol=1e-11)


def test_narrow_floats_accumulate_wide():
    x = np.full(4096, 0.1, np.float16)
    assert abs(float(ops.sum(x)) - 409.5) < 1
    assert ops.mean(x).dtype == np.float16
    assert ops.softmax(x.astype(np.float32)).dtype == np.float32
    assert wg.grad(lambda x: ops.std(x))(np.array([1, 2, 3], np.float32)).dtype == np.float32


def test_methods_are_the_ops():
    x = wg.tensor(RNG.normal(size=(3, 4)))
    n = x.numpy()
    for name in (
        "sum",
        "mean",
        "max",
        "min",
        "prod",
        "std",
        "var",
        "argmax",
        "cumsum",
        "ravel",
        "flatten",
        "ptp",
        "T",
        "copy",
    ):
        ours, theirs = (getattr(v, name, None) for v in (x, n))
        if name == "ptp":
            theirs = lambda: np.ptp(n)  # NumPy 2 has no method of that name
        ours, theirs = (v() if callable(v) else v for v in (ours, theirs))
        np.testing.assert_allclose(ours.numpy(), theirs)
    assert x.reshape(2, 6).shape == x.reshape((2, 6)).shape == (2, 6)
    assert x.transpose(1, 0).shape == x.transpose((1, 0)).shape == x.transpose().shape == (4, 3)
    assert x.var(axis=0, ddof=1, keepdims=True).shape == (1, 4)
    assert x.astype("float32").dtype == np.float32
    assert (x @ x.T).shape == (3, 3)
    assert (n @ x.T).shape == (3, 3)
    np.testing.assert_array_equal((x % 0.3).numpy(), n % 0.3)
    for ours, theirs in zip(divmod(x, 0.3), divmod(n, 0.3)):
        np.testing.assert_array_equal(ours.numpy(), theirs)
    np.testing.assert_array_equal(round(x, 1).numpy(), np.round(n, 1))
    np.testing.assert_array_equal(x.compress([True, False, True], axis=0).numpy(), n[[0, 2]])
    np.testing.assert_array_equal(wg.tensor([1 + 2j]).imag.numpy(), [2.0])
    with pytest.raises(TypeError, match="use x.index. = value"):
        x.itemset(0)
    np.testing.assert_array_equal(x.reshape(12, order="F").numpy(), n.reshape(12, order="F"))
    with pytest.raises(ValueError, match="order"):
        x.reshape(12, order="G")


def test_relu_of_booleans_is_what_they_are_eagerly_and_traced() -> None:
    x = np.array([True, False])
    for relu in (ops.relu, wg.function(ops.relu)):
        found = relu(x)
        np.testing.assert_array_equal(found, x, strict=True)
        assert not np.shares_memory(found, x)
