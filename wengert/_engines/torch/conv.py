"""torch kernels of `_prims/conv.py`: torch's convolutions, transposed ones where the left operand is dilated."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch.nn import functional

from ..._core.conv_shape import conv_out_shape
from .common import in_float32

_FORWARD = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}


def _conv(
    lhs: Any, rhs: Any, strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any, groups: int, batch_groups: int
) -> Any:
    shape = conv_out_shape(
        (*lhs.shape,), (*rhs.shape,), strides, padding, lhs_dilation, rhs_dilation, groups, batch_groups
    )  # fmt: skip
    if not (prod(shape) and lhs.numel() and rhs.numel()):
        return lhs.new_zeros(shape)
    if batch_groups > 1:
        lhs, groups = _batch_groups_as_channels(lhs, batch_groups), batch_groups
    rank = len(strides)
    if rank not in _FORWARD or not (lhs.is_floating_point() or lhs.is_complex()):
        return _by_windows(_dilated(lhs, lhs_dilation), rhs, strides, padding, rhs_dilation, groups)
    if any(d != 1 for d in lhs_dilation):
        if all(s == 1 for s in strides):
            return _transposed(lhs, rhs, padding, lhs_dilation, rhs_dilation, groups, shape)
        lhs = _dilated(lhs, lhs_dilation)
    if groups == 1 and lhs.is_floating_point() and all(p > k for p, k in zip(rhs.shape[2:], shape[2:], strict=True)):
        return _of_large_kernel(lhs, rhs, strides, padding, rhs_dilation, shape)
    if all(low == high >= 0 for low, high in padding):
        widths: Any = (*[low for low, _ in padding],)
    else:
        lhs, widths = _padded(lhs, padding), 0
    return _FORWARD[rank](lhs, rhs, None, strides, widths, rhs_dilation, groups)


def _batch_groups_as_channels(lhs: torch.Tensor, count: int) -> Any:
    """Groups along the batch as groups along the channels: (G N, C, ...) becomes (N, G C, ...)."""
    n, c, *spatial = lhs.shape
    return lhs.reshape((count, n // count, c, *spatial)).transpose(0, 1).reshape((n // count, count * c, *spatial))


def _padded(x: torch.Tensor, padding: Any) -> Any:
    return functional.pad(x, [n for pair in reversed(padding) for n in pair]) if any(map(any, padding)) else x


def _dilated(x: torch.Tensor, dilation: Sequence[int]) -> Any:
    """x with zeros between its elements."""
    if all(d == 1 for d in dilation):
        return x
    sizes = [(n - 1) * d + 1 for n, d in zip(x.shape[2:], dilation, strict=True)]
    out = x.new_zeros((*x.shape[:2], *sizes))
    out[(..., *[slice(None, None, d) for d in dilation])] = x
    return out


def _transposed(
    lhs: torch.Tensor, rhs: torch.Tensor, padding: Any, lhs_dilation: Sequence[int], rhs_dilation: Sequence[int],
    groups: int, shape: Any,
) -> Any:  # fmt: skip
    """A dilated lhs met at every place is what a transposed convolution computes, with the kernel turned round."""
    rank = len(padding)
    o, c, *kernel = rhs.shape
    weight = rhs.reshape((groups, o // groups, c, *kernel)).transpose(1, 2).reshape((groups * c, o // groups, *kernel))
    weight = weight.flip((*range(2, 2 + rank),))
    # the full result begins where the last tap of the kernel meets the first element
    full = [(k - 1) * d for k, d in zip(kernel, rhs_dilation, strict=True)]
    cuts, sizes, widths = [], [], []
    for n, d, f, (low, _), wanted in zip(lhs.shape[2:], lhs_dilation, full, padding, shape[2:], strict=True):
        cut = f - low
        size = (n - 1) * d + f + 1 - 2 * cut
        if not (cut >= 0 and size <= wanted < size + d):  # what torch cuts off, it cuts off at both ends
            cut = max(min(cut, (n - 1) * d + low + 1 - wanted), 0)
            size = (n - 1) * d + f + 1 - 2 * cut
        else:
            size = wanted
        cuts.append(cut)
        sizes.append(size)
        first = low - f + cut
        widths.append((first, wanted - size - first))
    out = _backwards(lhs, weight, lhs_dilation, cuts, rhs_dilation, groups, (shape[0], shape[1], *sizes))
    return _padded(out, widths)


def _backwards(
    lhs: torch.Tensor,
    weight: torch.Tensor,
    strides: Sequence[int],
    cuts: list[int],
    dilation: Sequence[int],
    groups: int,
    shape: tuple[int, ...],
) -> Any:
    """What a convolution that gives lhs has as the cotangent of its operand of this shape."""
    if lhs.is_complex():
        parts = [lhs.real, lhs.imag], [weight.real, weight.imag]
        found = [[_backwards(x, w, strides, cuts, dilation, groups, shape) for w in parts[1]] for x in parts[0]]
        return torch.complex(found[0][0] - found[1][1], found[0][1] + found[1][0])
    operand = lhs.new_empty(1).expand(shape)
    zeros = [0] * len(strides)
    return torch.ops.aten.convolution_backward(
        lhs, operand, weight, None, strides, cuts, dilation, False, zeros, groups, (True, False, False)
    )[0]


def _of_large_kernel(
    lhs: torch.Tensor, rhs: torch.Tensor, strides: Sequence[int], padding: Any, rhs_dilation: Sequence[int], shape: Any
) -> Any:
    """A kernel larger than the result is the cotangent of a convolution in the derivative of its kernel, for which
    torch has a fast way: there lhs is what was convolved, and the result is the kernel's cotangent."""
    reach = [
        (p - 1) * d + (k - 1) * s + 1
        for p, d, k, s in zip(rhs.shape[2:], rhs_dilation, shape[2:], strides, strict=True)
    ]
    is_even = all(
        low == high >= 0 and n + 2 * low == r for (low, high), n, r in zip(padding, lhs.shape[2:], reach, strict=True)
    )
    if is_even:
        widths = [low for low, _ in padding]
    else:  # what no place of the kernel reaches is cut off
        ends = [(low, r - low - n) for (low, _), n, r in zip(padding, lhs.shape[2:], reach, strict=True)]
        lhs, widths = _padded(lhs, ends), [0] * len(reach)
    weight = rhs.new_empty(1).expand((shape[1], shape[0], *shape[2:]))
    found = torch.ops.aten.convolution_backward(
        rhs.transpose(0, 1), lhs.transpose(0, 1), weight, None, rhs_dilation, widths, strides, False,
        [0] * len(reach), 1, (False, True, False),
    )  # fmt: skip
    return found[1].transpose(0, 1)


def _by_windows(
    lhs: torch.Tensor, rhs: torch.Tensor, strides: Sequence[int], padding: Any, dilation: Sequence[int], groups: int
) -> Any:
    """For integers and ranks that torch has no convolution for: all windows as one product of matrices."""
    lhs = _padded(lhs, padding)
    rank = len(strides)
    o, c, *kernel = rhs.shape
    for axis, (k, s, d) in enumerate(zip(kernel, strides, dilation, strict=True), start=2):
        lhs = lhs.unfold(axis, (k - 1) * d + 1, s)[..., ::d]
    n, positions = lhs.shape[0], (*lhs.shape[2 : 2 + rank],)
    rows = lhs.reshape((n, groups, c, *positions, *kernel))
    perm = (1, 0, *range(3, 3 + rank), 2, *range(3 + rank, 3 + 2 * rank))
    rows = rows.permute(perm).reshape((groups, n * prod(positions), c * prod(kernel)))
    out = torch.matmul(rows, rhs.reshape((groups, o // groups, c * prod(kernel))).mT)
    out = out.reshape((groups, n, *positions, o // groups)).movedim(-1, 1).movedim(2, 0)
    return out.reshape((n, o, *positions))


KERNELS: dict[str, Any] = {"conv": in_float32(_conv)}
