"""The general convolution on NumPy arrays.

Owns the kernel of the `conv` primitive: windows taken by strides, then one matrix product a block, of pieces
that fit into a cache, so that the windows take no memory to speak of. Knows nothing of the graph. Layout and
parameters are those of `_core/conv_shape.py`.

A dilated lhs is never built. Its zeros make the result fall apart into phases: for the positions p of one
residue class only the taps k of one residue class meet real input, and within the two classes the
convolution is a plain strided one. A transposed convolution thus costs no more than its primal.
"""

from __future__ import annotations

from itertools import product
from math import gcd, prod
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..._core.conv_shape import conv_out_shape

# The unrolled windows of one matrix product hold at most about this many elements; larger ones are cut.
_WINDOW_ELEMENTS = 1 << 22


class _Phase(NamedTuple):
    """One residue class along one axis: ``out[first_out::out_step]`` reads ``rhs[first_tap::tap_step]``.

    Position q of the class and tap m read ``lhs[start + q * stride + m * dilation]``.
    """

    first_out: int
    out_step: int
    first_tap: int
    tap_step: int
    start: int
    stride: int
    dilation: int


def conv(lhs, rhs, strides, padding, lhs_dilation, rhs_dilation, groups=1, batch_groups=1):
    """Cross-correlate `lhs (N, C, *spatial)` with `rhs (O, C / groups, *kernel)`.

    Args:
        lhs: array of rank 2 + d.
        rhs: array of rank 2 + d, of the same dtype.
        strides: d positive integers, the step of the window.
        padding: d pairs (low, high); a negative entry crops.
        lhs_dilation: d positive integers; n puts n - 1 zeros between elements of lhs.
        rhs_dilation: the same between taps of the kernel.
        groups: pairs blocks of C with blocks of O.
        batch_groups: pairs blocks of N with blocks of O.

    Returns:
        Array (N / batch_groups, O, *out) of the operands' dtype. float16 and bfloat16 are summed in float32.

    Raises:
        ValueError: if the shapes and parameters do not fit together.
    """
    out_shape = conv_out_shape(lhs.shape, rhs.shape, strides, padding, lhs_dilation, rhs_dilation, groups, batch_groups)
    dtype = np.result_type(lhs, rhs)
    axes = [
        _phases(stride, low, ld, rd)
        for stride, (low, _), ld, rd in zip(strides, padding, lhs_dilation, rhs_dilation, strict=True)
    ]
    blocks = groups, batch_groups
    make = np.empty if all(len(p) == 1 and p[0].out_step == 1 for p in axes) else np.zeros
    out = make(out_shape, _accumulator(dtype))
    for phases in product(*axes):
        target = (..., *(slice(p.first_out, None, p.out_step) for p in phases))
        taps = (..., *(slice(p.first_tap, None, p.tap_step) for p in phases))
        _conv_phase(lhs, rhs[taps], phases, out[target], blocks)
    return out.astype(dtype, copy=False)


def _accumulator(dtype):
    """float32 for the two-byte floats (bfloat16 is not NumPy's own: kind 'V'), else the dtype itself."""
    is_half = dtype == np.float16 or dtype.name == "bfloat16"
    return np.dtype(np.float32) if is_half else dtype


def _phases(stride, low, lhs_dilation, rhs_dilation):
    """The residue classes of positions p and taps k where p * stride + k * rd - low meets an element."""
    out_step = lhs_dilation // gcd(stride, lhs_dilation)
    tap_step = lhs_dilation // gcd(rhs_dilation, lhs_dilation)
    return [
        _Phase(
            p,
            out_step,
            k,
            tap_step,
            (p * stride + k * rhs_dilation - low) // lhs_dilation,
            out_step * stride // lhs_dilation,
            tap_step * rhs_dilation // lhs_dilation,
        )
        for p in range(out_step)
        for k in range(tap_step)
        if (p * stride + k * rhs_dilation - low) % lhs_dilation == 0
    ]


def _conv_phase(lhs, rhs, phases, out, blocks):
    """The plain strided convolution of one phase, written into out."""
    if not (out.size and rhs.size):
        out[...] = 0
        return
    groups, batch_groups = blocks
    grouped = lhs.reshape(batch_groups, out.shape[0], groups, rhs.shape[1], *lhs.shape[2:])
    _into(out, grouped, rhs.astype(out.dtype, copy=False), phases, adds=False)


def _into(out, lhs, rhs, phases, adds: object):
    """Write, or add, the convolution of lhs (b, n, g, c, *spatial) into out; cut in halves until its windows are few.

    The matrix product stays as square as can be: its longer side is cut, positions or what is summed over.
    """
    places, taps = (out.shape[0], *out.shape[2:]), rhs.shape[1:]
    positions, depth = prod(places), prod(taps)
    if positions * depth * lhs.shape[0] * lhs.shape[2] <= _WINDOW_ELEMENTS or positions == depth == 1:
        padded = _pad_and_crop(lhs, phases, out.shape[2:], rhs.shape[2:], out.dtype)
        result = _conv_windows(padded, rhs, phases, out.shape)
        if adds:
            out += result
        else:
            out[...] = result
    elif positions >= depth:
        _cut_positions(out, lhs, rhs, phases, adds, _longest(places))
    else:
        _cut_taps(out, lhs, rhs, phases, adds, _longest(taps))


def _longest(extents):
    """The first axis if it can be cut, else the longest."""
    return 0 if extents[0] > 1 else max(range(len(extents)), key=extents.__getitem__)


def _cut_positions(out, lhs, rhs, phases, adds, axis):
    """Both halves of the batch (axis 0) or of the positions along a spatial axis."""
    if axis == 0:
        half = out.shape[0] // 2
        _into(out[:half], lhs[:, :half], rhs, phases, adds)
        _into(out[half:], lhs[:, half:], rhs, phases, adds)
        return
    half = out.shape[axis + 1] // 2
    lead = (slice(None),) * (axis + 1)
    moved = _moved(phases, axis - 1, half * phases[axis - 1].stride)
    _into(out[(*lead, slice(half))], lhs, rhs, phases, adds)
    _into(out[(*lead, slice(half, None))], lhs, rhs, moved, adds)


def _cut_taps(out, lhs, rhs, phases, adds, axis):
    """Both halves of the channels (axis 0) or of the taps along a spatial axis; their results add up."""
    half = rhs.shape[axis + 1] // 2
    lead = (slice(None),) * (axis + 1)
    first, second = rhs[(*lead, slice(half))], rhs[(*lead, slice(half, None))]
    if axis == 0:
        _into(out, lhs[:, :, :, :half], first, phases, adds)
        _into(out, lhs[:, :, :, half:], second, phases, True)
        return
    _into(out, lhs, first, phases, adds)
    _into(out, lhs, second, _moved(phases, axis - 1, half * phases[axis - 1].dilation), True)


def _moved(phases, axis, distance):
    own = phases[axis]._replace(start=phases[axis].start + distance)
    return (*phases[:axis], own, *phases[axis + 1 :])


def _pad_and_crop(lhs, phases, out, kernel, dtype):
    """lhs (b, n, g, c, *spatial) with exactly the stretch of each spatial axis that the windows cover."""
    sizes, kept, placed = [], [], []
    for size, phase, positions, taps in zip(lhs.shape[4:], phases, out, kernel, strict=True):
        needed = (positions - 1) * phase.stride + (taps - 1) * phase.dilation + 1
        first = min(max(phase.start, 0), size)
        last = max(min(phase.start + needed, size), first)
        sizes.append(needed)
        kept.append(slice(first, last))
        # Where nothing is kept the target must be empty too, wherever `first` was clipped to.
        offset = first - phase.start if last > first else 0
        placed.append(slice(offset, offset + last - first))
    inside = lhs[(..., *kept)]
    if inside.shape[4:] == tuple(sizes):
        return inside.astype(dtype, copy=False)
    padded = np.zeros((*lhs.shape[:4], *sizes), dtype)
    padded[(..., *placed)] = inside
    return padded


def _conv_windows(lhs, rhs, phases, out_shape):
    """One matrix product a block: (O', C' * taps) times (C' * taps, n * positions)."""
    b, n, g, c = lhs.shape[:4]
    out = out_shape[2:]
    kernel = rhs.shape[2:]
    blocks, depth, positions = b * g, c * prod(kernel), prod(out)
    base = lhs.strides
    tap_steps = [step * phase.dilation for step, phase in zip(base[4:], phases, strict=True)]
    position_steps = [step * phase.stride for step, phase in zip(base[4:], phases, strict=True)]
    taps = (c, *kernel), (base[3], *tap_steps)
    places = (n, *out), (base[1], *position_steps)
    # Unrolling copies runs along the last axis, so the longer of the two goes there: a gradient with respect
    # to the kernel has few positions and a "kernel" as large as the image.
    taps_last = bool(out) and kernel[-1] > out[-1]
    outer, inner = (places, taps) if taps_last else (taps, places)
    shape, steps = (b, g, *outer[0], *inner[0]), (base[0], base[2], *outer[1], *inner[1])
    windows = as_strided(lhs, shape, steps, writeable=False)
    if taps_last:
        columns = windows.reshape(blocks, n * positions, depth).swapaxes(1, 2)
    else:
        columns = windows.reshape(blocks, depth, n * positions)
    rows = rhs.reshape(blocks, -1, depth)
    result = (rows @ columns).reshape(blocks, rows.shape[1], n, positions)
    return result.transpose(2, 0, 1, 3).reshape(out_shape)


KERNELS = {"conv": conv}
