"""What serious libraries have beyond Keras's list and their users often ask for: each name has a counterpart that works.

`ROWS` says for each name what its counterpart gives, what an independent reference gives, and the operands. Values
are held against the reference, gradients in both modes and of second order against differences. What has no operands
to differentiate in, or is no function of arrays, has a test of its own below.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.special as sp
import scipy.stats

import wengert as wg
from wengert import linalg, nn, ops, special

RNG = np.random.default_rng(91)


def draw(*shape: int) -> Any:
    return RNG.normal(size=shape)


def between(low: float, high: float, *shape: int) -> Any:
    return RNG.uniform(low, high, shape)


class Row(NamedTuple):
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    operands: tuple[Any, ...]


def row(ours: Callable[..., Any], theirs: Callable[..., Any], *operands: Any) -> Row:
    return Row(ours, theirs, operands)


def holed(*shape: int) -> Any:
    """Numbers of which some are NaN: by their places, so that they stay so."""
    x = draw(*shape)
    x.flat[::5] = np.nan
    return x


def with_holes(f: Callable[..., Any], x: Any) -> Any:
    holes = np.zeros(x.shape, bool)
    holes.flat[::5] = True
    return f(wg.where(holes, np.nan, x) if isinstance(x, wg.Tensor) else np.where(holes, np.nan, x))


def nan_row(name: str, *args: Any) -> Row:
    ours, theirs = getattr(wg, name), getattr(np, name)
    return row(
        lambda x: with_holes(lambda v: ours(v, *args, axis=1), x),
        lambda x: with_holes(lambda v: theirs(v, *args, axis=1), x), draw(3, 6),
    )  # fmt: skip


SEGMENTS = np.array([0, 2, 0, 2, 2, 0])


def by_segment(f: Callable[..., Any]) -> Callable[..., Any]:
    """Rows of three segments, of which the middle one is empty and left out."""
    return lambda x: np.stack([f(x[i == SEGMENTS], axis=0) for i in (0, 2)])


def segment_row(name: str, theirs: Callable[..., Any]) -> Row:
    return row(lambda x: getattr(ops, name)(x, SEGMENTS, 3)[np.array([0, 2])], by_segment(theirs), draw(6, 2))


def shares(x: Any, segment: int) -> Any:
    """The softmax over the rows of one segment; nothing in the others."""
    return sp.softmax(np.where(np.equal(SEGMENTS, segment)[:, None], x, -np.inf), axis=0)


def sizes_of(size: Callable[..., Any], f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: size(f(x))


def put(x: Any, change: Callable[[Any], None]) -> Any:
    y = np.array(x)
    change(y)
    return y


TWICE = np.array([1, 1, 0])
MASK = np.array([[True, False, True], [False, False, True]])
SPREAD = np.array([[3.0, 1.0, 0.2], [1.0, 4.0, 0.5], [0.2, 0.5, 6.0]])


def normalised(x: Any, axes: Any, epsilon: float = 1e-3) -> Any:
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon)


def attended(q: Any, k: Any, v: Any, kept: Any = None, cap: float | None = None) -> Any:
    """Attention, head by head."""
    share = q.shape[2] // k.shape[2]
    out = np.empty(q.shape)
    for b in range(q.shape[0]):
        for h in range(q.shape[2]):
            logits = q[b, :, h] @ k[b, :, h // share].T / np.sqrt(q.shape[3])
            logits = logits if cap is None else cap * np.tanh(logits / cap)
            logits = logits if kept is None else np.where(kept[b], logits, -np.inf)
            out[b, :, h] = sp.softmax(logits, axis=-1) @ v[b, :, h // share]
    return out


QKV = (draw(2, 3, 4, 2), draw(2, 4, 2, 2), draw(2, 4, 2, 2))
TIMES, PLACES = np.arange(3)[:, None], np.arange(4)
NEAR = np.broadcast_to((PLACES >= TIMES - 1) & (PLACES <= TIMES + 1), (2, 3, 4))
KNOWN = np.broadcast_to(np.array([2, 4])[:, None, None] > PLACES, (2, 3, 4))
SIGNS = np.array([1.0, -1.0, 1.0, -1.0])
THETA = draw(2, 2, 3) * 0.5


def grid_of(theta: Any) -> Any:
    y, x = np.meshgrid((np.arange(3) * 2 + 1) / 3 - 1, (np.arange(4) * 2 + 1) / 4 - 1, indexing="ij")
    return np.einsum("bij,hwj->bhwi", theta, np.stack([x, y, np.ones_like(x)], -1))


def sampled(images: Any, grid: Any) -> Any:
    """`grid_sample`, by SciPy."""
    height, width = images.shape[1:3]
    out = []
    for image, places in zip(images, grid):
        rows, columns = ((places[..., i] + 1) * n / 2 - 0.5 for i, n in ((1, height), (0, width)))
        out.append(np.stack([
            scipy.ndimage.map_coordinates(image[..., c], [rows, columns], order=1, mode="grid-constant")
            for c in range(image.shape[-1])
        ], -1))  # fmt: skip
    return np.stack(out)


BOXES = np.array([[0, 0.21, 0.73, 3.3, 4.17], [1, 1.37, 0.51, 4.3, 3.4]])


def roi_means(images: Any, corners: Any) -> Any:
    """`roi_align` to 2 x 2 cells of 2 x 2 samples, inside of the images."""
    out = []
    for number, (x1, y1, x2, y2) in zip(BOXES[:, 0].astype(int), corners):
        share = (np.arange(4) + 0.5) / 4
        places = np.meshgrid(y1 + (y2 - y1) * share, x1 + (x2 - x1) * share, indexing="ij")
        channels = [scipy.ndimage.map_coordinates(images[number][..., c], places, order=1) for c in range(2)]
        out.append(np.stack(channels, -1).reshape(2, 2, 2, 2, 2).mean((1, 3)))
    return np.stack(out)


TABLE_IDS, OFFSETS = np.array([3, 0, 0, 2, 1, 3]), np.array([0, 2, 3])
BAGS = (slice(0, 2), slice(2, 3), slice(3, 6))
KEY = wg.random.key(5)
CORNERS = np.array([[0.0, 4.0, 2.0]])
LINES = np.array([[1.0, 0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 1.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.5, 1.0]]).T


ROWS: dict[str, Row] = {
    # -- special functions
    "lgamma (gammaln)": row(special.gammaln, sp.gammaln, between(0.5, 4, 3)),
    "digamma": row(special.digamma, sp.digamma, between(0.5, 4, 3)),
    "polygamma(n, x)": row(lambda x: special.polygamma(2, x), lambda x: sp.polygamma(2, x), between(0.5, 4, 3)),
    "gammainc (igamma)": row(special.gammainc, sp.gammainc, between(0.5, 4, 3), between(0.5, 4, 3)),
    "gammaincc": row(special.gammaincc, sp.gammaincc, between(0.5, 4, 3), between(0.5, 4, 3)),
    "erfc": row(special.erfc, sp.erfc, draw(3)),
    "expit": row(special.expit, sp.expit, draw(3)),
    "logit": row(special.logit, sp.logit, between(0.1, 0.9, 3)),
    **{
        name: row(getattr(special, name), getattr(sp, name), between(0.5, 4, 3))
        for name in ("j0", "j1", "y0", "y1", "k0", "k1", "k0e")
    },
    "jn": row(lambda x: special.jv(2, x), lambda x: sp.jn(2, x), between(0.5, 4, 3)),
    **{
        f"{name} of real order": row(
            functools.partial(getattr(special, name), 1.5), functools.partial(getattr(sp, name), 1.5), between(0.5, 4, 3)
        )
        for name in ("jv", "iv", "kv")
    },
    # -- reductions
    "amax": row(lambda x: wg.amax(x, axis=1), lambda x: np.amax(x, axis=1), draw(3, 4)),
    "amin": row(lambda x: wg.amin(x, axis=0), lambda x: np.amin(x, axis=0), draw(3, 4)),
    "ptp": row(lambda x: wg.ptp(x, axis=1), lambda x: np.ptp(x, axis=1), draw(3, 4)),
    **{
        name: nan_row(name)
        for name in ("nansum", "nanmean", "nanprod", "nanmax", "nanmin", "nanvar", "nanstd", "nanmedian", "nancumsum",
                     "nancumprod")
    },
    "nanquantile": nan_row("nanquantile", 0.3),
    "nanpercentile": nan_row("nanpercentile", 30.0),
    # -- indexing, scatters, segments
    "segment_sum": segment_row("segment_sum", np.sum),
    "segment_min": segment_row("segment_min", np.min),
    "segment_max": segment_row("segment_max", np.max),
    "segment_prod": segment_row("segment_prod", np.prod),
    "segment_mean": segment_row("segment_mean", np.mean),
    "segment softmax": row(
        lambda x: ops.segment_softmax(x, SEGMENTS, 3),
        lambda x: np.where((SEGMENTS == 0)[:, None], shares(x, 0), shares(x, 2)),
        draw(6, 2),
    ),
    "scatter add": row(
        lambda x, v: wg.tensor(x).at[TWICE].add(v), lambda x, v: put(x, lambda y: np.add.at(y, TWICE, v)),
        draw(3, 2), draw(3, 2),
    ),
    "scatter mul": row(
        lambda x, v: wg.tensor(x).at[TWICE].multiply(v), lambda x, v: put(x, lambda y: np.multiply.at(y, TWICE, v)),
        draw(3, 2), draw(3, 2),
    ),
    "scatter min": row(
        lambda x, v: wg.tensor(x).at[TWICE].min(v), lambda x, v: put(x, lambda y: np.minimum.at(y, TWICE, v)),
        draw(3, 2), draw(3, 2),
    ),
    "scatter max": row(
        lambda x, v: wg.tensor(x).at[TWICE].max(v), lambda x, v: put(x, lambda y: np.maximum.at(y, TWICE, v)),
        draw(3, 2), draw(3, 2),
    ),
    "scatter with batch dims": row(
        lambda x, v: wg.tensor(x).at[np.arange(2)[:, None], TWICE].add(v),
        lambda x, v: put(x, lambda y: np.add.at(y, (np.arange(2)[:, None], TWICE), v)), draw(2, 3), draw(2, 3),
    ),
    "index_add": row(
        lambda x, v: wg.tensor(x).at[:, TWICE].add(v), lambda x, v: put(x, lambda y: np.add.at(y.T, TWICE, v.T)),
        draw(2, 3), draw(2, 3),
    ),
    "index_put(accumulate)": row(
        lambda x, v: wg.tensor(x).at[TWICE, TWICE].add(v), lambda x, v: put(x, lambda y: np.add.at(y, (TWICE, TWICE), v)),
        draw(3, 3), draw(3),
    ),
    "gather_nd": row(
        lambda x: ops.gather_nd(x, [[0, 1], [2, 0], [0, 1]]), lambda x: x[[0, 2, 0], [1, 0, 1]], draw(3, 2, 2)
    ),
    "gather with batch_dims": row(
        lambda x: ops.gather_nd(x, [[[1], [0]], [[2], [2]]], batch_dims=1),
        lambda x: x[np.arange(2)[:, None], [[1, 0], [2, 2]]], draw(2, 3, 2),
    ),
    "boolean_mask": row(lambda x: ops.boolean_mask(x, MASK), lambda x: x[MASK], draw(2, 3, 2)),
    "masked_select": row(lambda x: ops.masked_select(x, MASK[1]), lambda x: x[:, 2], draw(2, 3)),
    "masked_fill": row(lambda x, v: ops.masked_fill(x, MASK, v), lambda x, v: np.where(MASK, v, x), draw(2, 3), draw(1)),
    "compress": row(lambda x: wg.compress(MASK[0], x, axis=1), lambda x: np.compress(MASK[0], x, axis=1), draw(2, 3)),
    "extract": row(lambda x: wg.extract(MASK, x), lambda x: np.extract(MASK, x), draw(2, 3)),
    "embedding lookup": row(lambda x: nn.embedding_lookup(x, TABLE_IDS), lambda x: x[TABLE_IDS], draw(4, 2)),
    "embedding_bag sum": row(
        lambda x, w: nn.embedding_bag(x, TABLE_IDS, OFFSETS, "sum", w),
        lambda x, w: np.stack([(x[TABLE_IDS[b]] * w[b][:, None]).sum(0) for b in BAGS]), draw(4, 2), draw(6),
    ),
    "embedding_bag mean": row(
        lambda x: nn.embedding_bag(x, TABLE_IDS.reshape(3, 2)), lambda x: x[TABLE_IDS.reshape(3, 2)].mean(1), draw(4, 2)
    ),
    "embedding_bag max": row(
        lambda x: nn.embedding_bag(x, TABLE_IDS, OFFSETS, "max"),
        lambda x: np.stack([x[TABLE_IDS[b]].max(0) for b in BAGS]), draw(4, 2),
    ),
    # -- linear algebra
    "cholesky_solve": row(
        lambda x, b: linalg.cholesky_solve(b, linalg.cholesky(x @ wg.swapaxes(x, -1, -2) + SPREAD)),
        lambda x, b: np.linalg.solve(x @ x.T + SPREAD, b), draw(3, 3), draw(3, 2),
    ),
    "cholesky_inverse": row(
        lambda x: ops.cholesky_inverse(wg.tril(x) + 3 * np.eye(3)),
        lambda x: np.linalg.inv((np.tril(x) + 3 * np.eye(3)) @ (np.tril(x) + 3 * np.eye(3)).T), draw(3, 3),
    ),
    "lu_solve": row(
        lambda x, b: linalg.lu_solve(linalg.lu_factor(x), b), np.linalg.solve, draw(3, 3) + SPREAD, draw(3)
    ),
    "LU as (P, L, U): L": row(lambda x: linalg.lu(x)[1], lambda x: scipy.linalg.lu(x, permute_l=False)[1], draw(4, 3)),
    "LU as (P, L, U): U": row(lambda x: linalg.lu(x)[2], lambda x: scipy.linalg.lu(x, permute_l=True)[1], draw(2, 3, 3)),
    "expm": row(linalg.expm, scipy.linalg.expm, draw(3, 3)),
    "pinv": row(linalg.pinv, np.linalg.pinv, draw(4, 3)),
    "cond": row(linalg.cond, np.linalg.cond, draw(3, 3)),
    "multi_dot": row(
        lambda *x: linalg.multi_dot(x), lambda *x: np.linalg.multi_dot(x), draw(2, 3), draw(3, 4), draw(4, 2)
    ),
    "vecdot": row(linalg.vecdot, np.linalg.vecdot, draw(2, 3), draw(2, 3)),
    "matrix_transpose": row(linalg.matrix_transpose, np.matrix_transpose, draw(2, 3, 2)),
    "eigvals": row(
        lambda x: wg.abs(linalg.eigvals(x)).sum(), lambda x: np.abs(np.linalg.eigvals(x)).sum(), draw(3, 3)
    ),
    "eigvalsh": row(
        lambda x: linalg.eigvalsh(x + wg.swapaxes(x, -1, -2)), lambda x: np.linalg.eigvalsh(x + x.T), draw(3, 3)
    ),
    "svdvals": row(linalg.svdvals, np.linalg.svdvals, draw(3, 4)),
    "eig vectors of non-symmetric matrices": row(
        lambda x: wg.sum(wg.abs(linalg.eig(x)[1]) ** 4), lambda x: np.sum(np.abs(np.linalg.eig(x)[1]) ** 4), draw(3, 3)
    ),
    "einsum with contraction path": row(
        lambda x, y, z: wg.einsum("ij,jk,kl->il", x, y, z, optimize=True),
        lambda x, y, z: x @ y @ z, draw(2, 3), draw(3, 4), draw(4, 2),
    ),
    "tensordot": row(
        lambda x, y: wg.tensordot(x, y, ([1], [0])), lambda x, y: np.tensordot(x, y, ([1], [0])), draw(2, 3), draw(3, 2)
    ),
    # -- signals and images
    **{
        name: row(sizes_of(wg.abs, getattr(wg.fft, name)), sizes_of(np.abs, getattr(np.fft, name)), draw(4, 5))
        for name in ("ifft", "fftn", "ifftn", "rfft2", "rfftn", "irfftn", "hfft", "fftshift")
    },
    "norm= of transforms": row(
        lambda x: wg.abs(wg.fft.rfft(x, norm="ortho")), lambda x: np.abs(np.fft.rfft(x, norm="ortho")), draw(5)
    ),
    "real complex dtype support": row(
        lambda x, y: wg.real(wg.exp(x + 1j * y)), lambda x, y: np.real(np.exp(x + 1j * y)), draw(3), draw(3)
    ),
    "np.convolve": row(wg.convolve, np.convolve, draw(5), draw(3)),
    "N-D convolve": row(wg.signal.convolve, scipy.signal.convolve, draw(4, 3), draw(2, 3)),
    "N-D correlate": row(wg.signal.correlate, scipy.signal.correlate, draw(4, 3), draw(2, 3)),
    "fftconvolve": row(wg.signal.fftconvolve, scipy.signal.fftconvolve, draw(4, 3), draw(2, 3)),
    "oaconvolve": row(wg.signal.oaconvolve, scipy.signal.oaconvolve, draw(14), draw(2)),
    "resize with align_corners": row(
        lambda x: wg.image.resize(x, (3, 5), align_corners=True), lambda x: np.einsum("hwc,Ww->hWc", x, LINES), draw(3, 3, 1)
    ),
    "resize with antialias": row(
        lambda x: wg.image.resize(x, (2, 1), antialias=True),
        lambda x: np.einsum("hwc,Hh->Hwc", x, np.array([[3, 3, 1, 0], [0, 1, 3, 3]]) / 7), draw(4, 1, 1),
    ),
    "scale_and_translate": row(
        lambda x, s, t: wg.image.scale_and_translate(x, (4,), s, t, (0,), "linear"),
        lambda x, s, t: np.interp((np.arange(4) + 0.5 - t[0]) / s[0] - 0.5, np.arange(2), x),
        draw(2), np.array([2.1]), np.array([-0.07]),
    ),
    "grid_sample": row(wg.image.grid_sample, sampled, draw(2, 4, 5, 2), between(-0.9, 0.9, 2, 3, 2, 2)),
    "affine_grid": row(lambda t: wg.image.affine_grid(t, (3, 4)), grid_of, THETA),
    "roi_align": row(
        lambda x, c: wg.image.roi_align(x, wg.concatenate([BOXES[:, :1], c], axis=1), 2, sampling_ratio=2),
        roi_means, draw(2, 6, 6, 2), BOXES[:, 1:],
    ),
    **{
        f"map_coordinates of order {order}": row(
            lambda x, c, order=order: wg.image.map_coordinates(x, c, order, "mirror"),
            lambda x, c, order=order: scipy.ndimage.map_coordinates(x, c, order=order, mode="mirror"),
            draw(5, 6), between(0.1, 3.9, 2, 3),
        )
        for order in (1, 2, 3, 4, 5)
    },
    "interp": row(wg.interp, np.interp, between(0.1, 1.9, 3), np.array([0.0, 1.1, 2.0]), draw(3)),
    # -- blocks and losses
    "layer_norm": row(
        lambda x: nn.layer_normalization(x, axis=-1, epsilon=1e-3), lambda x: normalised(x, -1), draw(3, 4)
    ),
    "group_norm": row(
        lambda x: nn.group_normalization(x, 2),
        lambda x: normalised(x.reshape(2, 3, 2, 2), (1, 3)).reshape(2, 3, 4), draw(2, 3, 4),
    ),
    "instance_norm": row(lambda x: nn.group_normalization(x, 4), lambda x: normalised(x, 1), draw(2, 3, 4)),
    "batch_norm in training mode": row(
        lambda x: nn.batch_statistics_normalization(x).output, lambda x: normalised(x, (0, 1)), draw(2, 3, 4)
    ),
    "attention with GQA": row(nn.dot_product_attention, attended, *QKV),
    "attention with a sliding window": row(
        lambda q, k, v: nn.dot_product_attention(q, k, v, local_window_size=1),
        lambda q, k, v: attended(q, k, v, NEAR), *QKV,
    ),
    "attention with a soft cap": row(
        lambda q, k, v: nn.dot_product_attention(q, k, v, attn_logits_soft_cap=0.5),
        lambda q, k, v: attended(q, k, v, cap=0.5), *QKV,
    ),
    "attention with key/value lengths": row(
        lambda q, k, v: nn.dot_product_attention(q, k, v, key_value_seq_lengths=np.array([2, 4])),
        lambda q, k, v: attended(q, k, v, KNOWN), *QKV,
    ),
    "attention with query lengths": row(
        lambda q, k, v: nn.dot_product_attention(q, k, v, query_seq_lengths=np.array([2, 3])),
        lambda q, k, v: attended(q, k, v) * (np.arange(3) < np.array([2, 3])[:, None])[..., None, None], *QKV,
    ),
    "huber": row(nn.huber, lambda t, o: sp.huber(1.0, o - t), draw(4), draw(4) * 2),
    "smooth_l1": row(
        lambda t, o: nn.smooth_l1(t, o, 0.5), lambda t, o: sp.huber(0.5, o - t) / 0.5, draw(4), draw(4) * 2
    ),
    "kl_div": row(nn.kl_div, lambda t, o: sp.rel_entr(t, np.exp(o)), between(0.1, 1, 4), draw(4)),
    "poisson_nll": row(nn.poisson_nll, lambda t, o: np.exp(o) - t * o, between(0.1, 3, 4), draw(4)),
    "gaussian_nll": row(
        nn.gaussian_nll, lambda t, m, v: -scipy.stats.norm.logpdf(t, m, np.sqrt(v)), draw(4), draw(4), between(0.5, 2, 4)
    ),
    "hinge": row(lambda o: nn.hinge(SIGNS, o), lambda o: np.maximum(0, 1 - SIGNS * o), draw(4)),
    "cosine": row(
        nn.cosine_distance,
        lambda x, y: 1 - (x * y).sum(-1) / np.linalg.norm(x, axis=-1) / np.linalg.norm(y, axis=-1), draw(3, 4), draw(3, 4),
    ),
    "triplet": row(
        nn.triplet_margin,
        lambda a, p, n: np.maximum(0, np.linalg.norm(a - p, axis=-1) - np.linalg.norm(a - n, axis=-1) + 1),
        draw(3, 4), draw(3, 4), draw(3, 4),
    ),
    "focal": row(
        nn.sigmoid_focal,
        lambda t, o: -0.25 * t * (1 - sp.expit(o)) ** 2 * np.log(sp.expit(o))
        - 0.75 * (1 - t) * sp.expit(o) ** 2 * np.log(1 - sp.expit(o)), between(0, 1, 4), draw(4),
    ),
    "label smoothing": row(
        lambda t: nn.label_smoothing(t, 0.2), lambda t: 0.8 * t + 0.05, between(0, 1, 3, 4)
    ),
    "dropout with explicit key": row(
        lambda x: wg.random.dropout(KEY, x, 0.5),
        lambda x: x * np.asarray(wg.random.dropout(KEY, np.ones_like(x), 0.5)), draw(4, 3),
    ),
    # -- control flow and numbers that are not there
    "mul_no_nan": row(ops.multiply_no_nan, np.multiply, draw(4), np.array([0.0, 1.0, 2.0, -1.0])),
    "divide_no_nan": row(ops.divide_no_nan, np.divide, draw(4), between(0.5, 2, 4)),
    "double-where helper": row(  # one where is enough: gradients of the branch that is not taken are 0
        lambda x: wg.where(x > 0, wg.log(x), 0.0), lambda x: np.log(np.where(x > 0, x, 1)), np.array([-1.0, 2.0, -3.0])
    ),
    "checkpoint/remat": row(wg.checkpoint(lambda x: wg.sin(x) * x), lambda x: np.sin(x) * x, draw(3)),
    "reverse mode through while_loop": row(
        lambda x: wg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, wg.sin(y)), (0, x))[1],
        lambda x: np.sin(np.sin(np.sin(x))), draw(3),
    ),
    "bounded while_loop": row(
        lambda x: wg.while_loop(lambda y: True, wg.sin, x, maximum_iterations=2), lambda x: np.sin(np.sin(x)), draw(3)
    ),
    "stop_gradient": row(lambda x, y: x * wg.stop_gradient(np.array([2.0])) + y, lambda x, y: 2 * x + y, draw(3), draw(3)),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_value(name: str) -> None:
    ours, theirs, operands = ROWS[name]
    np.testing.assert_allclose(np.asarray(ours(*operands)), theirs(*operands), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ROWS)
def test_gradients(name: str) -> None:
    """First and second derivatives, in both modes."""
    ours, _, operands = ROWS[name]
    wg.check_gradients(ours, *operands)


@pytest.mark.parametrize("name", ROWS)
def test_a_batch_is_its_examples(name: str) -> None:
    ours, _, operands = ROWS[name]
    batches = [np.stack([x, x * 0.75]) for x in operands]
    wanted = np.stack([np.asarray(ours(*[b[i] for b in batches])) for i in range(2)])
    np.testing.assert_allclose(np.asarray(wg.vmap(ours)(*batches)), wanted, rtol=1e-9, atol=1e-11)


# -- draws -----------------------------------------------------------------------------------------------------------

DRAWS: dict[str, tuple[Callable[..., Any], Any]] = {
    "uniform": (lambda n: wg.random.uniform(KEY, (n,)), scipy.stats.uniform()),
    "normal": (lambda n: wg.random.normal(KEY, (n,)), scipy.stats.norm()),
    "truncated_normal": (lambda n: wg.random.truncated_normal(KEY, -1.0, 2.0, (n,)), scipy.stats.truncnorm(-1, 2)),
    "gumbel": (lambda n: wg.random.gumbel(KEY, (n,)), scipy.stats.gumbel_r()),
    "exponential": (lambda n: wg.random.exponential(KEY, (n,)), scipy.stats.expon()),
    "laplace": (lambda n: wg.random.laplace(KEY, (n,)), scipy.stats.laplace()),
    "cauchy": (lambda n: wg.random.cauchy(KEY, (n,)), scipy.stats.cauchy()),
    "logistic": (lambda n: wg.random.logistic(KEY, (n,)), scipy.stats.logistic()),
    "gamma": (lambda n: wg.random.gamma(KEY, 2.5, (n,)), scipy.stats.gamma(2.5)),
    "beta": (lambda n: wg.random.beta(KEY, 2.5, 0.7, (n,)), scipy.stats.beta(2.5, 0.7)),
    "dirichlet": (lambda n: wg.random.dirichlet(KEY, [1.0, 2.0, 0.5], (n,))[:, 0], scipy.stats.beta(1, 2.5)),
    "student-t": (lambda n: wg.random.t(KEY, 3.5, (n,)), scipy.stats.t(3.5)),
    "von Mises, spread out": (lambda n: wg.random.vonmises(KEY, 0.3, (n,)), scipy.stats.vonmises(0.3)),
    "von Mises, concentrated": (lambda n: wg.random.vonmises(KEY, 8.0, (n,)), scipy.stats.vonmises(8.0)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_have_their_distribution(name: str) -> None:
    f, distribution = DRAWS[name]
    assert scipy.stats.kstest(f(2000).numpy(), distribution.cdf).pvalue > 1e-3


IMPLICIT: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "gamma": (wg.random.gamma, scipy.stats.gamma, (2.5,)),
    "beta": (wg.random.beta, scipy.stats.beta, (2.5, 0.7)),
    "von Mises, spread out": (wg.random.vonmises, scipy.stats.vonmises, (0.4,)),
    "von Mises, concentrated": (wg.random.vonmises, scipy.stats.vonmises, (9.0,)),
}


@pytest.mark.parametrize("name", IMPLICIT)
def test_draws_move_as_the_quantile_does(name: str) -> None:
    """With F(x, a) constant, dx/da = -(dF/da) / f(x)."""
    f, distribution, parameters = IMPLICIT[name]
    x = f(KEY, *parameters, (5,)).numpy()
    for i, parameter in enumerate(parameters):
        near = [[*parameters[:i], parameter + step, *parameters[i + 1 :]] for step in (1e-5, -1e-5)]
        slope = (distribution.cdf(x, *near[0]) - distribution.cdf(x, *near[1])) / 2e-5
        found = wg.jacobian(lambda *p: f(KEY, *p, (5,)), argnums=i)(*parameters)
        # the differences of SciPy's distribution functions have seven digits
        np.testing.assert_allclose(found, -slope / distribution.pdf(x, *parameters), rtol=1e-6)
    wg.check_gradients(lambda *p: f(KEY, *p, (5,)), *map(np.array, parameters))


def test_choices_come_from_keys() -> None:
    assert set(wg.random.categorical(KEY, np.log([0.2, 0.8, 1e-30]), shape=(200,)).numpy()) == {0, 1}
    assert 40 < wg.random.bernoulli(KEY, 0.3, (200,)).numpy().sum() < 80
    assert sorted(wg.random.permutation(KEY, np.arange(9))) == [*range(9)]
    assert set(wg.random.choice(KEY, np.array([3, 5]), (50,))) == {3, 5}


# -- what is no function of arrays -----------------------------------------------------------------------------------


def test_matrix_rank_and_positions() -> None:
    assert linalg.matrix_rank(np.diag([1.0, 2.0, 0.0])) == 2
    x = holed(3, 5)
    assert (wg.nanargmax(x, axis=1) == np.nanargmax(x, axis=1)).all()
    assert (wg.nanargmin(x, axis=1) == np.nanargmin(x, axis=1)).all()


def test_rules_of_ones_own() -> None:
    @wg.custom_gradient
    def twice(x: Any) -> Any:
        return 2 * x, lambda upstream: 5 * upstream

    assert wg.grad(twice)(1.0) == 5
    pushed = wg.custom_gradient(
        lambda x: (2 * x, lambda upstream: 5 * upstream), jvp=lambda xs, dots: (2 * xs[0], 7 * dots[0])
    )
    assert wg.jvp(pushed, (1.0,), (1.0,))[1] == 7


def test_linear_transpose() -> None:
    A, x, y = draw(2, 3), draw(3), draw(2)
    back = wg.linear_transpose(lambda x, z: {"y": A @ x - wg.sum(z), "z": 2 * z}, np.zeros(3), np.zeros(2))
    to_x, to_z = back({"y": y, "z": np.ones(2)})
    np.testing.assert_allclose(to_x, A.T @ y)
    np.testing.assert_allclose(to_z, 2 - y.sum())
    np.testing.assert_allclose(wg.grad(lambda y: wg.sum(back({"y": y, "z": np.ones(2)})[0] * x))(y), A @ x)
    assert back({"y": y.astype(np.float64), "z": np.ones(2)})[0].dtype == np.float64


@pytest.mark.parametrize("f", [wg.sin, lambda x: x * x, lambda x: x + 1, lambda x: x * float(wg.sum(x))])
def test_linear_transpose_of_what_is_not_linear(f: Any) -> None:
    with pytest.raises((ValueError, wg.LostGradientError), match="linear_transpose|float"):
        wg.linear_transpose(f, np.ones(2))


def test_transforms() -> None:
    f, x, v = (lambda x: wg.sum(wg.sin(x) * x[::-1])), draw(3), draw(3)
    hessian = wg.hessian(f)(x)
    np.testing.assert_allclose(wg.hvp(f, x, v), hessian @ v)
    g = wg.grad(f)
    np.testing.assert_allclose(wg.jacobian(g, mode="forward")(x), hessian)
    np.testing.assert_allclose(wg.jacobian(g, mode="reverse")(x), hessian)
    np.testing.assert_allclose(wg.jvp(g, (x,), (v,))[1], hessian @ v)
    np.testing.assert_allclose(wg.vmap(g)(np.stack([x, v])), np.stack([g(x), g(v)]))


def test_debug_nans() -> None:
    with pytest.raises(FloatingPointError, match="log"), wg.debug_nans():
        wg.log(wg.tensor([-1.0]))


def test_masks_of_a_trace_are_refused() -> None:
    for f in (ops.masked_select, ops.boolean_mask):
        with pytest.raises(wg.TracingError, match="not known while"):
            wg.function(lambda x, f=f: f(x, x > 0))(np.ones(3))
