"""Sequences, alignments, attention, rearrangement and counts against references written out here."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert import ops

RNG = np.random.default_rng(0)


def close(got, want, rtol=1e-12):
    np.testing.assert_allclose(np.asarray(got), want, rtol=rtol, atol=1e-13)


def slope(f, x, d, h=1e-4):
    near, far = f(x + h * d) - f(x - h * d), f(x + 2 * h * d) - f(x - 2 * h * d)
    return (8 * near - far) / (12 * h)


# -- short-time transforms ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "stride", "whole"), [(4, 2, 4), (4, 1, 6), (5, 2, 8)])
@pytest.mark.parametrize("window", ["hann", "hamming", None, "array"])
def test_stft_is_its_definition_and_istft_goes_back(length, stride, whole, window):
    x = RNG.normal(size=(2, 23))
    window = RNG.uniform(0.5, 1.5, length) if window == "array" else window
    named = {"hann": 0.5, "hamming": 0.54}
    if isinstance(window, str):
        base = named[window]
        factors = base - (1 - base) * np.cos(2 * np.pi * np.arange(length) / length)
    else:
        factors = np.ones(whole) if window is None else window  # no window: frames as long as the transform
    low = (whole - length) // 2
    factors = factors if window is None else np.pad(factors, (low, whole - length - low))
    padded = np.pad(x, ((0, 0), (whole // 2, whole // 2)), mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, whole, axis=-1)[:, ::stride]
    want = np.fft.rfft(frames * factors)
    real, imag = ops.stft(x, length, stride, whole, window)
    close(real, want.real)
    close(imag, want.imag)
    back = np.asarray(ops.istft((real, imag), length, stride, whole, window=window))
    inner = slice(whole, -2 * whole)  # where every window reaches
    close(back[:, inner], x[:, : back.shape[1]][:, inner], 1e-10)
    d = RNG.normal(size=x.shape)
    f = lambda x: wg.sum(ops.stft(x, length, stride, whole, window)[0] ** 3)
    close(np.sum(np.asarray(wg.grad(f)(x)) * d), slope(f, x, d), 1e-7)


def test_istft_of_a_length_and_errors():
    spectrum = ops.stft(RNG.normal(size=16), 4, 2, 4)
    assert ops.istft(spectrum, 4, 2, 4, length=7).shape == (7,)
    assert ops.istft(spectrum, 4, 2, 4, length=40).shape == (40,)
    with pytest.raises(ValueError, match="fft_length"):
        ops.stft(np.ones(9), 4, 2, 3)
    with pytest.raises(ValueError, match="window"):
        ops.stft(np.ones(9), 4, 2, 4, window="square")
    with pytest.raises(ValueError, match="do not fit"):
        ops.extract_sequences(np.ones(3), 4, 1)


@pytest.mark.parametrize("mode", ["valid", "same", "full"])
@pytest.mark.parametrize("sizes", [(7, 3), (3, 7), (4, 4), (6, 2)])
def test_correlation_is_numpys(mode, sizes):
    x, y = (RNG.normal(size=n) + 1j * RNG.normal(size=n) for n in sizes)
    close(ops.correlate(x, y, mode), np.correlate(x, y, mode))
    close(ops.correlate(x.real, y.real, mode), np.correlate(x.real, y.real, mode))


# -- alignments --------------------------------------------------------------------------------------------------------


def collapsed(path, blank):
    return tuple(k for k, _ in itertools.groupby(path) if k != blank)


@pytest.mark.parametrize(
    ("labels", "steps"), [((1, 2), 4), ((1, 1), 3), ((1, 1), 2), ((), 3), ((2,), 1), ((2, 1, 2), 4)]
)
@pytest.mark.parametrize("blank", [0, 2])
def test_ctc_loss_sums_over_all_paths(labels, steps, blank):
    labels = tuple(v if v != blank else 0 for v in labels)
    logits = RNG.normal(size=(1, 5, 3))
    target = np.array([[*labels, *(1,) * (4 - len(labels))]])

    def loss(logits):
        return ops.ctc_loss(target, logits, np.array([len(labels)]), np.array([steps]), blank)[0]

    shares = np.exp(logits[0]) / np.exp(logits[0]).sum(-1, keepdims=True)
    total = sum(
        np.prod([shares[t, k] for t, k in enumerate(path)])
        for path in itertools.product(range(3), repeat=steps) if collapsed(path, blank) == labels
    )  # fmt: skip
    with np.errstate(divide="ignore"):
        close(loss(logits), -np.log(total))
    gradient = np.asarray(wg.grad(loss)(logits))
    assert (gradient[0, steps:] == 0).all()
    if total:
        d = RNG.normal(size=logits.shape)
        close(np.sum(gradient * d), slope(loss, logits, d), 1e-8)
    assert not np.isnan(gradient).any()


def test_ctc_decode_keeps_the_best_classes():
    path = np.array([[1, 1, 0, 1, 2, 2, 0, 2], [0, 0, 2, 2, 2, 1, 1, 1]])
    logits = np.eye(3)[path] * 5
    labels, scores = ops.ctc_decode(logits, np.array([8, 6]))
    np.testing.assert_array_equal(labels[0], [[1, 1, 2, 2, -1, -1, -1, -1], [2, 1, -1, -1, -1, -1, -1, -1]])
    close(scores, [[-40.0], [-30.0]])
    labels, _ = ops.ctc_decode(logits, np.array([8, 6]), merge_repeated=False)
    np.testing.assert_array_equal(labels[0, 1], [2, 2, 2, 1, -1, -1, -1, -1])
    with pytest.raises(ValueError, match="greedy"):
        ops.ctc_decode(logits, np.array([8, 6]), strategy="beam_search")


# -- attention ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("with_mask", [False, True])
@pytest.mark.parametrize("cap", [None, 2.0])
def test_attention_is_its_definition(is_causal, with_mask, cap):
    q, k, v = RNG.normal(size=(2, 4, 4, 3)), RNG.normal(size=(2, 5, 2, 3)), RNG.normal(size=(2, 5, 2, 3))
    bias, mask = RNG.normal(size=(1, 4, 4, 5)), RNG.random((2, 1, 4, 5)) < 0.6
    mask[0, 0, 2] = False  # a row masked as a whole
    got = ops.dot_product_attention(
        q, k, v, bias=bias, mask=mask if with_mask else None, is_causal=is_causal, attn_logits_soft_cap=cap
    )
    for b, h, t in itertools.product(range(2), range(4), range(4)):
        logits = k[b, :, h // 2] @ q[b, t, h] / np.sqrt(3)
        logits = logits if cap is None else cap * np.tanh(logits / cap)
        logits = logits + bias[0, h, t]
        kept = np.ones(5, bool) if not with_mask else mask[b, 0, t]
        kept = kept & (np.arange(5) <= t) if is_causal else kept
        shares = np.where(kept, np.exp(logits), 0) if kept.any() else np.ones(5)
        close(got[b, t, h], shares / shares.sum() @ v[b, :, h // 2], 1e-11)


def test_attention_has_gradients_in_all_of_its_arguments():
    arrays = [RNG.normal(size=s) for s in ((1, 3, 2, 4), (1, 2, 1, 4), (1, 2, 1, 4), (1, 2, 3, 2))]
    f = lambda q, k, v, b: wg.sum(ops.dot_product_attention(q, k, v, bias=b, is_causal=True) ** 2)
    for i, g in enumerate(wg.grad(f, argnums=(0, 1, 2, 3))(*arrays)):
        d = RNG.normal(size=arrays[i].shape)
        at = lambda x, i=i: f(*arrays[:i], x, *arrays[i + 1 :])
        close(np.sum(np.asarray(g) * d), slope(at, arrays[i], d), 1e-7)
    with pytest.raises(ValueError, match="four axes"):
        ops.dot_product_attention(np.ones((1, 2, 3)), np.ones((1, 2, 3)), np.ones((1, 2, 3)))


# -- rearrangement and counts ------------------------------------------------------------------------------------------


def test_rearrange():
    x = RNG.normal(size=(4, 6, 5))
    close(ops.rearrange(x, "a b c -> c (a b)"), x.transpose(2, 0, 1).reshape(5, 24))
    close(ops.rearrange(x, "a (b d) c -> a c d b", d=2), x.reshape(4, 3, 2, 5).transpose(0, 3, 2, 1))
    close(ops.rearrange(x, "... c -> c ..."), np.moveaxis(x, -1, 0))
    close(ops.rearrange(x, "a ... -> (... a) 1"), x.transpose(1, 2, 0).reshape(-1, 1))
    close(ops.rearrange(x[:1], "1 b c -> c b"), x[0].T)
    gradient = wg.grad(lambda x: wg.sum(ops.rearrange(x, "a b c -> (b c) a") * np.arange(120.0).reshape(30, 4)))(x)
    close(gradient, np.arange(120.0).reshape(6, 5, 4).transpose(2, 0, 1))
    for pattern in ("a b -> b a", "a b c -> a b", "a (b c d) e -> a b c d e", "a (b b c", "a b c", "a ! c -> c a"):
        with pytest.raises(ValueError, match="rearrange"):
            ops.rearrange(x, pattern)
    with pytest.raises(ValueError, match="does not make"):
        ops.rearrange(x, "(a d) b c -> a d b c", d=3)


def test_rows_of_unknown_extents_are_convolved_as_numpys():
    """Either row may be the longer one, in one trace."""
    pairs = [(name, mode) for name in ("convolve", "correlate") for mode in ("full", "same", "valid")]
    spec = [wg.TensorSpec((None,), "float64")] * 2

    def total(x, y):
        return sum(wg.sum(getattr(wnp, name)(x, y, mode) ** 2) for name, mode in pairs[1::2])

    rows = wg.function(lambda x, y: [getattr(wnp, name)(x, y, mode) for name, mode in pairs], input_signature=spec)
    slopes = wg.function(wg.grad(total, argnums=(0, 1)), input_signature=spec)
    for n, m in ((5, 3), (3, 5), (4, 4), (1, 6), (6, 1), (8, 4), (4, 8), (1, 1)):
        x, y = RNG.normal(size=n), RNG.normal(size=m)
        for (name, mode), got in zip(pairs, rows(x, y), strict=True):
            close(got, getattr(np, name)(x, y, mode))
        for got, want in zip(slopes(x, y), wg.grad(total, argnums=(0, 1))(x, y), strict=True):
            close(got, want)
    assert len(rows.traces) == len(slopes.traces) == 1


def test_a_kernel_beside_a_row_of_unknown_extent():
    kernel = np.array([1.0, -2.0, 0.5])
    same = wg.function(lambda x: wnp.convolve(x, kernel, "same"), input_signature=[wg.TensorSpec((None,), "float64")])
    for size in (1, 2, 3, 7):
        x = RNG.normal(size=size)
        close(same(x), np.convolve(x, kernel, "same"))


def test_masked_writes_of_unknown_extents():
    def f(x, c):
        out = wnp.zeros_like(x) + c
        np.add(x, 1.0, out=out, where=x > 1.0)
        np.multiply(out, x, out=out, where=np.array([True]))
        return wg.sum(out * x)

    spec = [wg.TensorSpec((None,), "float64"), wg.TensorSpec((), "float64")]
    compiled = wg.function(wg.grad(f, argnums=(0, 1)), input_signature=spec)
    for size in (1, 2, 6):
        x = np.linspace(0.5, 2.0, size)
        for got, want in zip(compiled(x, 0.3), wg.grad(f, argnums=(0, 1))(x, 0.3), strict=True):
            close(got, want)


def test_histogram_is_numpys():
    x = np.round(RNG.normal(size=200), 1)
    for arguments in ({}, {"bins": 7}, {"bins": 4, "range": (-1, 1)}):
        counts, edges = ops.histogram(x, **arguments)
        want = np.histogram(x, **arguments)
        np.testing.assert_array_equal(counts, want[0])
        close(edges, want[1])
    np.testing.assert_array_equal(ops.histogram(np.ones(3), 3)[0], np.histogram(np.ones(3), 3)[0])


def test_saturating_casts():
    x = np.array([-1e300, -129.0, 127.5, 3e9, np.inf, -np.inf])
    np.testing.assert_array_equal(ops.saturate_cast(x, "int8"), [-128, -128, 127, 127, 127, -128])
    np.testing.assert_array_equal(ops.saturate_cast(x, "int32")[3:], [2**31 - 1, 2**31 - 1, -(2**31)])
    top = np.finfo(np.float32).max
    np.testing.assert_array_equal(ops.saturate_cast(x, "float32")[[0, 4, 5]], [-top, top, -top])
    assert ops.saturate_cast(np.float32([3e9]), "int32")[0] == 2**31 - 128  # the largest float32 that fits
    np.testing.assert_array_equal(ops.saturate_cast(np.array([-5, 300]), "uint8"), [0, 255])
    gradient = wg.grad(lambda x: wg.sum(ops.cast(ops.saturate_cast(x, "float16"), "float64")))(np.array([1e9, 2.0]))
    np.testing.assert_array_equal(gradient, [0, 1])


def test_multi_hot_and_psnr_and_argpartition():
    np.testing.assert_array_equal(ops.multi_hot([0, 2, -1, 5], 3), [1, 0, 1])
    np.testing.assert_array_equal(ops.multi_hot([[1], [0]], num_tokens=2, dtype="int32"), [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="num_classes"):
        ops.multi_hot([1])
    x, y = RNG.random((2, 4, 5))
    close(ops.psnr(x, y, 2.0), 20 * np.log10(2) - 10 * np.log10(np.mean((x - y) ** 2)))
    with pytest.raises(ValueError, match="shape"):
        ops.psnr(x, y[0], 1.0)
    z = RNG.normal(size=(3, 9))
    order = ops.argpartition(z, 4, axis=1)
    parted = np.take_along_axis(z, order, 1)
    assert (parted[:, :4].max(1) <= parted[:, 4]).all() and (parted[:, 5:].min(1) >= parted[:, 4]).all()
    with pytest.raises(ValueError, match="out of range"):
        ops.argpartition(z, 9)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64", "float16"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_compiled_convolutions_of_rows_are_numpys(mode, dtype):
    rng = np.random.default_rng(0)
    for n, m in ((1, 1), (7, 3), (3, 8), (50, 50), (300, 17)):
        x, y = ((8 * rng.normal(size=(2, size))).astype(int).astype(dtype) for size in (n, m))
        x, y = ((a[0] + 1j * a[1] if dtype[0] == "c" else a[0]) for a in (x, y))
        for name in ("convolve", "correlate"):
            found = wg.function(lambda x, y, name=name: getattr(np, name)(x, y, mode))(x, y)
            wanted = getattr(np, name)(x, y, mode)
            assert found.dtype == wanted.dtype
            close(found, wanted)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_no_convolution_of_rows_holds_its_windows(dtype):
    pytest.importorskip("llvmlite", reason="the native engine needs llvmlite")
    x, y = np.ones(5000, dtype), np.ones(200, dtype)
    slope = wg.grad(lambda x, y: np.sum(np.abs(np.convolve(x, y)) ** 2), argnums=(0, 1))
    report = wg.function(slope).report(x, y)
    assert report.memory < 2 << 20  # windows were 16 MiB
    assert {part.by for part in report.parts} == {"machine code"}
