"""Images against SciPy, colorsys and definitions written out here; gradients against differences."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest
import scipy.ndimage

import wengert as wg
from wengert.ops import image

RNG = np.random.default_rng(1)


def close(got, want, rtol=1e-11):
    np.testing.assert_allclose(np.asarray(got), want, rtol=rtol, atol=1e-12)


def check_slope(f, x):
    """The gradient of a sum of weighted results against a central difference of fourth order."""
    weights = RNG.normal(size=np.shape(f(x)))
    loss = lambda x: wg.sum(f(x) * weights)
    d, h = RNG.normal(size=x.shape), 1e-4
    near, far = loss(x + h * d) - loss(x - h * d), loss(x + 2 * h * d) - loss(x - 2 * h * d)
    close(np.sum(np.asarray(wg.grad(loss)(x)) * d), (8 * near - far) / (12 * h), 1e-7)


# -- colours -----------------------------------------------------------------------------------------------------------


def test_colours_are_those_of_colorsys():
    rgb = np.concatenate([RNG.random((5, 4, 3)), [[[0, 0, 0], [0.5, 0.5, 0.5], [1, 1, 0], [0, 1, 1]]]])
    close(image.rgb_to_hsv(rgb), [[colorsys.rgb_to_hsv(*p) for p in row] for row in rgb])
    close(image.hsv_to_rgb(rgb), [[colorsys.hsv_to_rgb(*p) for p in row] for row in rgb])
    close(image.rgb_to_grayscale(rgb), rgb @ [[0.2989], [0.587], [0.114]])
    inner = RNG.uniform(0.2, 0.8, (3, 3, 3))
    for f in (image.rgb_to_hsv, image.hsv_to_rgb, image.rgb_to_grayscale):
        check_slope(f, inner)
    grey = wg.grad(lambda x: wg.sum(image.rgb_to_hsv(x)))(np.full((1, 1, 3), 0.5))
    assert np.isfinite(np.asarray(grey)).all()


def test_layouts_and_errors():
    x = RNG.random((2, 3, 4, 5))
    first = np.moveaxis(x, 1, -1)
    close(image.rgb_to_hsv(x, "channels_first"), np.moveaxis(np.asarray(image.rgb_to_hsv(first)), -1, 1))
    close(
        image.resize(x, (3, 3), data_format="channels_first")[1],
        image.resize(x[1], (3, 3), data_format="channels_first"),
    )
    with pytest.raises(ValueError, match="three channels"):
        image.rgb_to_hsv(x)
    with pytest.raises(ValueError, match="three axes"):
        image.rgb_to_hsv(x[0, 0])
    with pytest.raises(ValueError, match="data_format"):
        image.rgb_to_hsv(x, "first")


# -- windows -----------------------------------------------------------------------------------------------------------


def test_crops_and_borders():
    x = RNG.random((2, 6, 7, 3))
    close(image.crop_images(x, 1, 2, 3, 4), x[:, 1:3, 2:3])
    close(image.crop_images(x, bottom_cropping=1, right_cropping=2, target_height=4, target_width=3), x[:, 1:5, 2:5])
    want = np.pad(x, ((0, 0), (1, 3), (2, 0), (0, 0)))
    close(image.pad_images(x, 1, 2, target_height=10, target_width=9), want)
    close(image.pad_images(x, 1, 2, 3, 0), want)
    for f in (image.crop_images, image.pad_images):
        with pytest.raises(ValueError, match="two are to be given"):
            f(x, 1, 1)
    with pytest.raises(ValueError, match="do not fit"):
        image.crop_images(x, 3, 3, 3, 3)


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize(("size", "strides", "gap"), [((2, 3), None, 1), (2, 1, 2), ((3, 2), (2, 3), 1)])
def test_patches(size, strides, gap, padding):
    x = RNG.random((2, 7, 8, 3))
    height, width = (size, size) if isinstance(size, int) else size
    down, across = (height, width) if strides is None else (strides, strides) if isinstance(strides, int) else strides
    ends = []
    for extent, n, step in ((height, 7, down), (width, 8, across)):
        more = max((-(-n // step) - 1) * step + (extent - 1) * gap + 1 - n, 0) if padding == "same" else 0
        ends.append((more // 2, more - more // 2))
    wide = np.pad(x, ((0, 0), *ends, (0, 0)))
    got = np.asarray(image.extract_patches(x, size, strides, gap, padding))
    for i, j in np.ndindex(got.shape[1:3]):
        rows = slice(i * down, i * down + (height - 1) * gap + 1, gap)
        columns = slice(j * across, j * across + (width - 1) * gap + 1, gap)
        close(got[:, i, j], wide[:, rows, columns].reshape(2, -1))


def test_blur_is_a_product_of_two_bells():
    x = RNG.random((6, 7, 2))
    got = image.gaussian_blur(x, (3, 5), (0.7, 1.3))  # the width comes first
    bells = [np.exp(-0.5 * (np.arange(-r, r + 1) / s) ** 2) for r, s in ((2, 1.3), (1, 0.7))]
    want = x
    for axis, bell in enumerate(bells):
        want = scipy.ndimage.correlate1d(want, bell / bell.sum(), axis=axis, mode="constant")
    close(got, want)
    check_slope(lambda x: image.gaussian_blur(x, (3, 5), (0.7, 1.3)), x)


# -- resampling --------------------------------------------------------------------------------------------------------

# SciPy's name of each mode; its constant mode fades out of the image, as ours does, under another name
MODES = {
    "nearest": "nearest",
    "wrap": "grid-wrap",
    "mirror": "mirror",
    "reflect": "reflect",
    "constant": "grid-constant",
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [0, 1])
def test_values_between_pixels_are_scipys(mode, order):
    x, places = RNG.random((4, 5)), RNG.uniform(-6, 9, (2, 60))
    want = scipy.ndimage.map_coordinates(x, places, order=order, mode=MODES[mode], cval=0.7)
    close(image.map_coordinates(x, places, order, mode, 0.7), want)
    if order:
        check_slope(lambda p: image.map_coordinates(x, p, order, mode, 0.7), places)
    check_slope(lambda x: image.map_coordinates(x, places, order, mode, 0.7), x)


def test_slope_at_a_whole_place_is_that_to_the_right():
    assert wg.grad(lambda p: image.map_coordinates(np.array([0.0, 1.0, 5.0]), p[None], 1))(np.array(1.0)) == 4.0


@pytest.mark.parametrize("interpolation", ["bilinear", "nearest"])
def test_transforms_are_values_at_places(interpolation):
    x = RNG.random((2, 5, 6, 2))
    rows = np.array([[0.9, 0.1, 0.31, -0.2, 1.1, 0.43, 0.01, 0.02], [1, 0, 1, 0, 1, -1, 0, 0.0]])
    got = np.asarray(image.affine_transform(x, rows, interpolation, fill_value=0.3))
    v, u = np.mgrid[:5, :6]
    for i, a in enumerate(rows):
        k = a[6] * u + a[7] * v + 1
        places = [(a[3] * u + a[4] * v + a[5]) / k, (a[0] * u + a[1] * v + a[2]) / k]
        for c in range(2):
            order = 1 if interpolation == "bilinear" else 0
            want = scipy.ndimage.map_coordinates(x[i, :, :, c], places, order=order, mode="grid-constant", cval=0.3)
            close(got[i, :, :, c], want)
    if interpolation == "bilinear":
        check_slope(lambda a: image.affine_transform(x, a), rows[:1] + 0.013)
        check_slope(lambda x: image.affine_transform(x, rows), x)


def test_perspective_takes_points_to_points():
    x = RNG.random((6, 6, 1))
    start = np.array([[1.0, 1], [4, 1], [1, 4], [4, 4]])
    end = np.array([[0.0, 1], [5, 0], [1, 5], [4, 4]])
    got = np.asarray(image.perspective_transform(x, start, end))
    for (sx, sy), (ex, ey) in zip(start.astype(int), end.astype(int)):
        close(got[ey, ex], x[sy, sx], 1e-9)
    check_slope(lambda p: image.perspective_transform(x, p, end + 0.03), start + 0.01)


@pytest.mark.parametrize("interpolation", ["bilinear", "nearest", "bicubic", "lanczos3", "lanczos5", "area"])
@pytest.mark.parametrize("antialias", [False, True])
def test_resizing(interpolation, antialias):
    x = RNG.random((2, 6, 8, 3))
    close(image.resize(x, (6, 8), interpolation, antialias), x)  # the same size is the same image
    for size in ((3, 4), (9, 13), (1, 1)):
        close(image.resize(np.full((6, 8, 1), 2.5), size, interpolation, antialias), np.full((*size, 1), 2.5))
        check_slope(lambda x, size=size: image.resize(x, size, interpolation, antialias), x)
    if interpolation == "area":
        close(image.resize(x, (3, 4), "area"), x.reshape(2, 3, 2, 4, 2, 3).mean((2, 4)))
    if interpolation == "bilinear" and antialias:
        # half the size: a hat four pixels wide, cut at the border
        row = np.asarray(image.resize(np.eye(8)[None], (1, 4), antialias=True))[0, 1]
        close(row, np.array([0, 1, 3, 3, 1, 0, 0, 0]) / 8)
    assert image.resize(x.astype(np.float32), (3, 3), interpolation).dtype == np.float32


def test_resizing_keeps_the_ratio_on_request():
    x = RNG.random((4, 8, 1))
    close(image.resize(x, (2, 2), crop_to_aspect_ratio=True), image.resize(x[:, 2:6], (2, 2)))
    padded = np.pad(x, ((2, 2), (0, 0), (0, 0)), constant_values=0.5)
    close(image.resize(x, (4, 4), pad_to_aspect_ratio=True, fill_value=0.5), image.resize(padded, (4, 4)))
    with pytest.raises(ValueError, match="either crop or pad"):
        image.resize(x, (2, 2), crop_to_aspect_ratio=True, pad_to_aspect_ratio=True)
    with pytest.raises(ValueError, match="interpolation"):
        image.resize(x, (2, 2), "cubic")
