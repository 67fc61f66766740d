"""The ops beyond Keras's first list: values beside independent references, gradients against differences.

`GRADIENTS` holds a function and its arguments a row; each row's first and second derivatives in both modes are held
against differences, and what a compiled function gives against what runs eagerly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.ndimage
import scipy.spatial

import wengert as wg
from wengert import nn, ops

RNG = np.random.default_rng(61)


def draw(*shape: int) -> Any:
    return RNG.normal(size=shape)


LOWER = np.tril(draw(3, 3)) + 3 * np.eye(3)
IMAGES = draw(1, 5, 4, 2)
PATCHES = {"kernel_size": (2, 3), "dilation": (2, 1), "padding": (1, 2), "stride": (1, 2)}
SPREAD = np.array([0.0, 0.7, 2.0, 1.3, -0.4, 3.1, -1.9, 0.2])

GRADIENTS = {
    "adaptive_average_pool": (lambda x: ops.adaptive_average_pool(x, (3, 2)), IMAGES),
    "adaptive_max_pool": (lambda x: ops.adaptive_max_pool(x, (3, 2)), IMAGES),
    "unfold": (lambda x: ops.unfold(x, **PATCHES), draw(2, 2, 5, 4)),
    "fold": (lambda x: ops.fold(x, (5, 4), **PATCHES), draw(2, 12, 15)),
    "depth_to_space": (lambda x: ops.depth_to_space(x, 2), draw(1, 2, 2, 8)),
    "space_to_depth": (lambda x: ops.space_to_depth(x, 2), draw(1, 4, 2, 3)),
    "cdist": (ops.cdist, draw(3, 2), draw(4, 2)),
    "cholesky_inverse": (ops.cholesky_inverse, LOWER),
    "cholesky_inverse upper": (lambda x: ops.cholesky_inverse(x, upper=True), LOWER.T),
    "corrcoef": (ops.corrcoef, draw(3, 5)),
    "geomspace": (lambda a, b: ops.geomspace(a, b, 5), np.array([-1.0, 2.0]), np.array([-3.0, 0.5])),
    "trapezoid": (lambda y, x: ops.trapezoid(y, x, axis=0), draw(4, 2), np.cumsum(RNG.uniform(0.5, 1, 4))),
    "vander": (lambda x: ops.vander(x, 4, increasing=True), draw(3)),
    "kaiser": (lambda b: ops.kaiser(5, b), np.array(3.0)),
    "view_as_real": (lambda x: ops.view_as_real(ops.view_as_complex(x)), draw(3, 2)),
    "ssim": (lambda x, y: wg.image.ssim(x, y, filter_size=3), draw(4, 3, 1), draw(4, 3, 1)),
    "sobel_edges": (wg.image.sobel_edges, IMAGES),
    "extract_patches_3d": (lambda x: wg.image.extract_patches_3d(x, 2, 1, padding="same"), draw(1, 3, 3, 2, 1)),
    "scale_and_translate cubic": (
        lambda x, s, t: wg.image.scale_and_translate(x, (4, 5), s, t, (0, 1), "cubic"),
        draw(3, 4), np.array([1.3, 0.83]), np.array([0.2, -0.31]),
    ),
    "scale_and_translate lanczos3": (
        lambda x, s, t: wg.image.scale_and_translate(x, (4, 5), s, t, (0, 1), "lanczos3", antialias=False),
        draw(3, 4), np.array([1.3, 0.83]), np.array([0.2, -0.31]),
    ),
    "grid_sample": (wg.image.grid_sample, draw(2, 3, 4, 1), RNG.uniform(-1.2, 1.2, (2, 2, 2, 2))),
    "elastic_transform": (lambda x, a: wg.image.elastic_transform(x, a, 1.0, seed=4), draw(4, 5, 1), np.array(2.0)),
    "gather_nd": (lambda x: ops.gather_nd(x, [[[1], [0], [1]], [[2], [2], [0]]], batch_dims=1), draw(2, 3, 2)),
    "dynamic_slice": (lambda x: ops.dynamic_slice(x, [np.array(5), -3], (2, 2)), draw(4, 5)),
    "dynamic_update_slice": (lambda x, u: ops.dynamic_update_slice(x, u, [1, 9]), draw(4, 5), draw(2, 2)),
    "boolean_mask": (lambda x: ops.boolean_mask(x, [[True, False], [True, True]], axis=1), draw(2, 2, 2)),
    "masked_fill": (lambda x, v: ops.masked_fill(x, np.eye(3, dtype=bool), v), draw(3, 3), np.array(2.0)),
    "sliding_window_view": (lambda x: ops.sliding_window_view(x, (2, 3)), draw(4, 4)),
    "segment_softmax": (lambda x: ops.segment_softmax(x, [0, 2, 0, 2, 7, 0], 3), draw(6, 2)),
    "embedding_lookup": (lambda x: ops.embedding_lookup(x, [[0, 2], [2, 2]]), draw(3, 2)),
    "group_normalization": (lambda x, g, b: nn.group_normalization(x, 2, g, b), draw(2, 3, 4), draw(4), draw(4)),
    "batch_statistics_normalization": (
        lambda x, g, b: ops.concatenate([ops.ravel(v) for v in nn.batch_statistics_normalization(x, g, b, axis=1)]), draw(3, 2, 2), draw(2), draw(2),
    ),
    "rnn_step": (nn.rnn_step, draw(2, 3), draw(2, 2), draw(3, 2), draw(2, 2), draw(2)),
    "lstm_step": (
        lambda x, h, c, k, r, b: ops.concatenate(nn.lstm_step(x, (h, c), k, r, b)),
        draw(1, 2), draw(1, 2), draw(1, 2), draw(2, 8), draw(2, 8), draw(8),
    ),
    "gru_step": (nn.gru_step, draw(1, 2), draw(1, 2), draw(2, 6), draw(2, 6), draw(6), draw(6)),
    "huber": (nn.huber, SPREAD[:4], SPREAD[4:]),
    "smooth_l1": (lambda x, y: nn.smooth_l1(x, y, 0.5), SPREAD[:4], SPREAD[4:]),
    "log_cosh_loss": (nn.log_cosh_loss, SPREAD[:4], SPREAD[4:]),
    "poisson_nll": (nn.poisson_nll, SPREAD[:4], SPREAD[4:]),
    "sigmoid_focal": (nn.sigmoid_focal, RNG.random(4), SPREAD[4:]),
    "gaussian_nll": (nn.gaussian_nll, SPREAD[:4], SPREAD[4:], RNG.random(4) + 0.5),
    "cosine_similarity": (nn.cosine_similarity, draw(3, 2), draw(3, 2)),
    "label_smoothing": (lambda x: nn.label_smoothing(x, 0.1), draw(2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_differences(name: str) -> None:
    f, *args = GRADIENTS[name]
    wg.check_gradients(f, *args)


@pytest.mark.parametrize("name", GRADIENTS)
def test_compiled_as_eager(name: str) -> None:
    f, *args = GRADIENTS[name]
    gradient = wg.grad(f, argnums=tuple(range(len(args))))
    for compiled, eager in zip(wg.function(gradient)(*args), gradient(*args), strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", GRADIENTS)
def test_dtype_is_kept(name: str) -> None:
    f, *args = GRADIENTS[name]
    narrow = [np.asarray(a, np.float32) for a in args]
    leaves = f(*narrow) if isinstance(f(*narrow), tuple) else (f(*narrow),)
    assert {leaf.dtype for leaf in leaves} == {np.dtype(np.float32)}
    for gradient in wg.grad(f, argnums=tuple(range(len(args))))(*narrow):
        assert gradient.dtype == np.float32


def test_fold_is_the_adjoint_of_unfold() -> None:
    x, y = draw(2, 2, 5, 4), draw(2, 12, 15)
    np.testing.assert_allclose(np.sum(ops.unfold(x, **PATCHES) * y), np.sum(x * ops.fold(y, (5, 4), **PATCHES)))


def test_adaptive_windows_are_those_of_their_formula() -> None:
    x = draw(1, 7, 1)
    windows = [x[:, i * 7 // 3 : -(-(i + 1) * 7 // 3)] for i in range(3)]
    for f, reduce in ((nn.adaptive_average_pool, np.mean), (nn.adaptive_max_pool, np.max)):
        np.testing.assert_allclose(f(x, 3)[0, :, 0], [reduce(w) for w in windows])


def test_of_equal_elements_an_adaptive_pool_takes_the_first() -> None:
    ties = np.ones((1, 4, 4, 1))
    gradient = wg.grad(lambda x: ops.adaptive_max_pool(x, 2))(ties)[0, :, :, 0]
    np.testing.assert_array_equal(gradient, np.kron(np.ones((2, 2)), [[1, 0], [0, 0]]))


def test_space_and_depth_undo_each_other_in_both_layouts() -> None:
    x = draw(2, 4, 6, 3)
    for layout in ("channels_last", "channels_first"):
        a = x if layout == "channels_last" else x.transpose(0, 3, 1, 2)
        np.testing.assert_array_equal(ops.depth_to_space(ops.space_to_depth(a, 2, layout), 2, layout), a)


def test_values_are_those_of_numpy_and_scipy() -> None:
    x, y = draw(2, 3, 4), draw(2, 5, 4)
    for i in range(2):
        np.testing.assert_allclose(ops.cdist(x, y)[i], scipy.spatial.distance.cdist(x[i], y[i]), rtol=1e-13)
    np.testing.assert_allclose(ops.corrcoef(x[0]), np.corrcoef(x[0]), rtol=1e-13)
    np.testing.assert_allclose(ops.geomspace(-1.0, -256.0, 9).numpy(), np.geomspace(-1.0, -256.0, 9), rtol=1e-14)
    np.testing.assert_allclose(ops.geomspace(1.0, 10.0, 4, endpoint=False).numpy(), np.geomspace(1.0, 10.0, 4, False))
    np.testing.assert_allclose(ops.trapezoid(x, dx=0.5, axis=1), np.trapezoid(x, dx=0.5, axis=1))
    np.testing.assert_allclose(ops.vander(SPREAD, 5), np.vander(SPREAD, 5), rtol=1e-13)
    np.testing.assert_allclose(ops.kaiser(7, 2.5).numpy(), np.kaiser(7, 2.5), rtol=1e-14)
    inverse = scipy.linalg.cho_solve((LOWER, True), np.eye(3))
    np.testing.assert_allclose(ops.cholesky_inverse(LOWER), inverse, rtol=1e-12)
    image = draw(6, 5)
    for i in range(2):
        wanted = scipy.ndimage.sobel(image, axis=i, mode="mirror")
        np.testing.assert_allclose(wg.image.sobel_edges(image[..., None])[:, :, 0, i], wanted, atol=1e-13)


@pytest.mark.parametrize("invert", [False, True])
def test_isin_is_numpys(invert: bool) -> None:
    for x, members in (
        (np.arange(6).reshape(2, 3), [4, 1, 9]), (np.array([1.0, np.nan, np.inf]), [np.inf, np.nan]),
        (np.array([True, False]), [True]), (np.arange(3), np.zeros(0, int)), (np.arange(3), [[2.0, 0.5]]),
    ):  # fmt: skip
        np.testing.assert_array_equal(ops.isin(x, members, invert=invert), np.isin(x, members, invert=invert))


def test_bits_are_numpys_and_have_no_gradient() -> None:
    x = draw(2, 4)
    for dtype in ("int64", "uint8", "float32", "float64"):
        np.testing.assert_array_equal(ops.view(x, dtype), x.view(dtype))
    z = x + 1j
    np.testing.assert_array_equal(ops.view(z, "float64"), z.view("float64"))
    np.testing.assert_array_equal(ops.view(x, "complex128"), x.view("complex128"))
    with pytest.raises(LookupError, match="bitcast"):
        wg.grad(lambda v: ops.view(v, "float32"))(x)


def test_places_and_masks_are_numpys() -> None:
    x = draw(4, 5, 2)
    np.testing.assert_array_equal(ops.gather_nd(x, [[1, 4], [3, 0]]), x[[1, 3], [4, 0]])
    np.testing.assert_array_equal(ops.dynamic_slice(x, [9, -2, 0], (2, 2, 1)), x[2:4, 3:5, :1])  # moved inside
    np.testing.assert_array_equal(ops.boolean_mask(x, x[..., 0] > 0), x[x[..., 0] > 0])
    windows = np.lib.stride_tricks.sliding_window_view
    for shape, axis in (((2, 2), (0, 2)), (3, 1), ((2, 1, 2), None)):
        np.testing.assert_array_equal(ops.sliding_window_view(x, shape, axis), windows(x, shape, axis))
    updated = x.copy()
    updated[2:4, 3:5, :1] = 7.0
    np.testing.assert_array_equal(ops.dynamic_update_slice(x, np.full((2, 2, 1), 7.0), [3, 3, 0]), updated)


def test_starts_may_be_traced() -> None:
    f = wg.function(lambda x, i: wg.grad(lambda x: ops.sum(ops.dynamic_slice(x, [i], (2,))))(x))
    x = np.arange(5.0)
    for i in (0, 2, 4):
        wanted = np.zeros(5)
        wanted[min(i, 3) : min(i, 3) + 2] = 1
        np.testing.assert_array_equal(f(x, np.array(i)), wanted)


def test_shares_of_segments_add_up() -> None:
    shares = ops.segment_softmax([1000.0, 0.0, -np.inf, 1000.0, 5.0], [0, 1, 1, 0, -1], 2)
    np.testing.assert_allclose(shares, [0.5, 1.0, 0.0, 0.5, 0.0])
    assert np.isfinite(wg.grad(lambda x: ops.segment_softmax(x, [0, 1, 1, 0, -1], 2)[0])(np.zeros(5))).all()


def test_normalised_groups_and_batches() -> None:
    x = draw(3, 4, 6)
    y = nn.group_normalization(x, 3, epsilon=1e-12).reshape(3, 4, 3, 2)
    np.testing.assert_allclose(y.mean((1, 3)), 0, atol=1e-12)
    np.testing.assert_allclose(y.var((1, 3)), 1)
    output, mean, variance = nn.batch_statistics_normalization(x, epsilon=1e-12)
    np.testing.assert_allclose(output, (x - mean) / np.sqrt(variance), rtol=1e-9)
    np.testing.assert_allclose([mean, variance], [x.mean((0, 1)), x.var((0, 1))])


def test_losses_at_their_corners() -> None:
    zeros = np.zeros(2)
    np.testing.assert_array_equal(wg.grad(lambda x: nn.huber(zeros, x))(np.array([0.0, 1.0])), [0.0, 1.0])
    np.testing.assert_array_equal(wg.grad(lambda x: nn.hinge(1.0, x))(1.0), -0.5)
    np.testing.assert_allclose(wg.grad(lambda x: nn.log_cosh_loss(0.0, x))(np.array([-1e3, 0.0, 1e3])), [-1, 0, 1])
    for g in wg.grad(nn.cosine_similarity, argnums=(0, 1))(zeros, np.ones(2)):
        np.testing.assert_array_equal(g, zeros)


def test_the_middle_of_a_grid() -> None:
    image = draw(1, 4, 4, 2)
    line = np.linspace(-1, 1, 4)
    grid = np.stack(np.meshgrid(line, line), -1)[None]
    np.testing.assert_allclose(wg.image.grid_sample(image, grid, align_corners=True), image, atol=1e-14)
    line = (np.arange(4) * 2 + 1) / 4 - 1
    grid = np.stack(np.meshgrid(line, line), -1)[None]
    np.testing.assert_allclose(wg.image.grid_sample(image, grid), image, atol=1e-14)


def test_a_seed_bends_images_in_one_way() -> None:
    image = draw(6, 6, 1)
    first, again = (wg.image.elastic_transform(image, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, wg.image.elastic_transform(image, seed=4))
    np.testing.assert_array_equal(wg.image.elastic_transform(image, 0.0, seed=3), image)


WRONG = [
    (lambda: ops.unfold(draw(2, 2), 1), "unfold"),
    (lambda: ops.fold(draw(1, 3, 9), 4, 2), "fold"),
    (lambda: ops.depth_to_space(draw(1, 2, 2, 3), 2), "depth_to_space"),
    (lambda: ops.space_to_depth(draw(1, 3, 2, 3), 2), "space_to_depth"),
    (lambda: ops.adaptive_max_pool(draw(1, 3, 2), 0), "output_size"),
    (lambda: ops.cdist(draw(2, 3), draw(2, 4)), "cdist"),
    (lambda: ops.vander(draw(2, 2)), "vander"),
    (lambda: ops.view_as_complex(draw(3)), "view_as_complex"),
    (lambda: ops.view(draw(3), "complex128"), "bitcast"),
    (lambda: wg.image.ssim(draw(4, 4, 1), draw(4, 4, 1)), "filter_size"),
    (lambda: wg.image.scale_and_translate(draw(3), (3,), [1.0], [0.0], [0], "square"), "method"),
]


@pytest.mark.parametrize(("call", "named"), WRONG, ids=[w[1] for w in WRONG])
def test_what_does_not_fit_is_named(call: Any, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        call()


def test_only_integers_have_common_divisors() -> None:
    with pytest.raises(TypeError, match="gcd"):
        ops.gcd(1.5, 2)
