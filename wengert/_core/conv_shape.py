"""Shape and parameter arithmetic of the general convolution, on ints and Dims alike.

Owns the size of a convolution's result and the parameters of its two transposes. It must not know any
engine: type rules, gradient rules and kernels all read it. Start at `ConvParams`. Sizes may be the trace's
symbolic dimensions: only arithmetic and `same_dim` touch them, and what is unknown is checked by the kernel.

The layout is canonical: ``lhs (N, C, *spatial)``, ``rhs (O, C / groups, *kernel)``, result
``(N / batch_groups, O, *out)``. Along one spatial axis, with zeros wherever the index leaves the array::

    out[p] = sum over taps k of  dilated_lhs[p * stride + k * rhs_dilation - low] * rhs[k]
    dilated_lhs[i * lhs_dilation] = lhs[i]

There is no kernel flip (it is a cross-correlation), and ``low``/``high`` may be negative (a crop).

Both transposes are convolutions of the same family. Write I, K, P for the sizes of lhs, kernel and result.

* In lhs: ``i * ld = p * s + k * rd - low``. With the kernel flipped (``k -> K - 1 - k``) that reads
  ``p * s = i * ld + k * rd - ((K - 1) * rd - low)``: the cotangent is dilated by s and read at stride ld.
* In rhs: the same equation read as a function of k; lhs keeps its dilation, the cotangent becomes a kernel
  dilated by s, and the taps k are the positions, at stride rd. Nothing is flipped.

In both, ``high`` is whatever makes the number of positions exactly right. This is where strides that do not
divide (input that no window reads) and crops go: neither needs a case of its own.

Groups: `groups` pairs a block of C with a block of O, `batch_groups` pairs a block of N with a block of O
(the group is the major part of every split axis). Swapping N with C in lhs therefore swaps the two counts,
which is all that the rhs transpose does; so the family must contain both kinds of group to be closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .dims import DimLike, Shape
from .types import same_dim

Ints = tuple[int, ...]
Padding = tuple[tuple[DimLike, DimLike], ...]  # a transpose's padding depends on the sizes


class ConvParams(NamedTuple):
    """The attributes of one convolution; one entry per spatial axis in the first four."""

    strides: Ints
    padding: Padding
    lhs_dilation: Ints
    rhs_dilation: Ints
    groups: int = 1
    batch_groups: int = 1


class Rearrangement(NamedTuple):
    """Data movement as data: ``flip(reshape(transpose(reshape(x, split), perm), merge), flip)``.

    `split` and `merge` are full shapes, `perm` is a permutation of split's axes, `flip` names axes of the
    merged array. A step that changes nothing is given in full too, and may be skipped: a reshape to the
    shape that is already there, a permutation in order, an empty flip.
    """

    split: Shape
    perm: Ints
    merge: Shape
    flip: Ints = ()


class ConvTranspose(NamedTuple):
    """A transposed convolution: ``result(conv(lhs(first), rhs(second), *params))``.

    The two operands are (cotangent, rhs) in `transpose_lhs_params` and (lhs, cotangent) in
    `transpose_rhs_params`: in both the missing operand of the primal call is replaced by the cotangent, or
    stands in its place.
    """

    params: ConvParams
    lhs: Rearrangement
    rhs: Rearrangement
    result: Rearrangement


def dilated_size(size: DimLike, dilation: int) -> DimLike:
    """Length of an axis of `size` elements with `dilation - 1` zeros between neighbours."""
    if dilation == 1 or size == 0:
        return size
    return (size - 1) * dilation + 1


def conv_out_size(
    size: DimLike, kernel: DimLike, stride: int, low: DimLike, high: DimLike, lhs_dilation: int, rhs_dilation: int
) -> DimLike:
    """Number of window positions along one spatial axis (0 where the window does not fit)."""
    room = dilated_size(size, lhs_dilation) + low + high - dilated_size(kernel, rhs_dilation)
    # A dimension unknown while tracing cannot be compared; there the window is taken to fit.
    return 0 if isinstance(room, int) and room < 0 else room // stride + 1


def conv_out_shape(
    lhs_shape: Shape,
    rhs_shape: Shape,
    strides: Ints,
    padding: Padding,
    lhs_dilation: Ints,
    rhs_dilation: Ints,
    groups: int = 1,
    batch_groups: int = 1,
) -> Shape:
    """Shape of the convolution of `lhs_shape` with `rhs_shape`; checks that the parameters fit.

    Raises:
        ValueError: naming the argument that does not fit, what it is and what was wanted.

    Example:
        >>> conv_out_shape((2, 3, 8, 8), (4, 3, 3, 3), (2, 2), ((1, 1), (0, 0)), (1, 1), (1, 1))
        (2, 4, 4, 3)
    """
    _require_consistent(lhs_shape, rhs_shape, strides, padding, lhs_dilation, rhs_dilation, groups, batch_groups)
    spatial = (
        conv_out_size(size, kernel, stride, low, high, ld, rd)
        for size, kernel, stride, (low, high), ld, rd in zip(
            lhs_shape[2:], rhs_shape[2:], strides, padding, lhs_dilation, rhs_dilation, strict=True
        )
    )
    return (lhs_shape[0] // batch_groups, rhs_shape[0], *spatial)


def transpose_lhs_params(lhs_shape: Shape, rhs_shape: Shape, out_shape: Shape, params: ConvParams) -> ConvTranspose:
    """The convolution of (cotangent, rhs) that gives the cotangent of lhs.

    The kernel's O and C axes trade places inside each group and its spatial axes are flipped. With
    batch groups the result carries the group in its feature axis and moves it back to the batch axis.
    """
    strides, padding, lhs_dilation, rhs_dilation, groups, batch_groups = params
    n, c, *spatial = lhs_shape
    _, _, *kernel = rhs_shape
    blocks = groups * batch_groups  # one of the two is 1
    lows = [(k - 1) * rd - low for k, rd, (low, _) in zip(kernel, rhs_dilation, padding, strict=True)]
    transposed = ConvParams(
        strides=tuple(lhs_dilation),
        padding=_pad_for(spatial, out_shape[2:], kernel, lhs_dilation, strides, rhs_dilation, lows),
        lhs_dilation=tuple(strides),
        rhs_dilation=tuple(rhs_dilation),
        groups=blocks,
    )
    return ConvTranspose(
        transposed,
        lhs=_identity(out_shape),
        rhs=_swapped_in_blocks(rhs_shape, blocks)._replace(flip=tuple(range(2, len(rhs_shape)))),
        result=_block_to_batch((n // batch_groups, batch_groups * c, *spatial), batch_groups),
    )


def transpose_rhs_params(lhs_shape: Shape, rhs_shape: Shape, out_shape: Shape, params: ConvParams) -> ConvTranspose:
    """The convolution of (lhs, cotangent) that gives the cotangent of rhs.

    All three arrays swap their first two axes, strides trade places with the kernel's dilation and groups
    with batch groups.
    """
    strides, padding, lhs_dilation, rhs_dilation, groups, batch_groups = params
    _, _, *spatial = lhs_shape
    o, c_group, *kernel = rhs_shape
    lows = [low for low, _ in padding]
    transposed = ConvParams(
        strides=tuple(rhs_dilation),
        padding=_pad_for(kernel, spatial, out_shape[2:], rhs_dilation, lhs_dilation, strides, lows),
        lhs_dilation=tuple(lhs_dilation),
        rhs_dilation=tuple(strides),
        groups=batch_groups,
        batch_groups=groups,
    )
    return ConvTranspose(
        transposed,
        lhs=_swapped_leading_axes(lhs_shape),
        rhs=_swapped_leading_axes(out_shape),
        result=_swapped_leading_axes((c_group, o, *kernel)),
    )


def _pad_for(
    wanted: Sequence[DimLike], sizes: Sequence[DimLike], kernels: Sequence[DimLike], strides: Ints, lhs_dilation: Ints,
    rhs_dilation: Ints, lows: Sequence[DimLike],
) -> Padding:  # fmt: skip
    """Padding that starts at `lows` and leaves room for exactly `wanted` positions."""
    return tuple(
        (low, (want - 1) * stride + dilated_size(kernel, rd) - dilated_size(size, ld) - low)
        for want, size, kernel, stride, ld, rd, low in zip(
            wanted, sizes, kernels, strides, lhs_dilation, rhs_dilation, lows, strict=True
        )
    )


def _identity(shape: Shape) -> Rearrangement:
    return Rearrangement(tuple(shape), tuple(range(len(shape))), tuple(shape))


def _swapped_leading_axes(shape: Shape) -> Rearrangement:
    return Rearrangement(tuple(shape), _swap(0, 1, len(shape)), (shape[1], shape[0], *shape[2:]))


def _swapped_in_blocks(shape: Shape, blocks: int) -> Rearrangement:
    """(blocks * O', C', *k) to (blocks * C', O', *k)."""
    if blocks == 1:
        return _swapped_leading_axes(shape)
    o, c, *rest = shape
    split = (blocks, o // blocks, c, *rest)
    return Rearrangement(split, _swap(1, 2, len(split)), (blocks * c, o // blocks, *rest))


def _block_to_batch(shape: Shape, blocks: int) -> Rearrangement:
    """(N', blocks * C, *s) to (blocks * N', C, *s)."""
    if blocks == 1:
        return _identity(shape)
    n, c, *rest = shape
    split = (n, blocks, c // blocks, *rest)
    return Rearrangement(split, _swap(0, 1, len(split)), (blocks * n, c // blocks, *rest))


def _swap(a: int, b: int, rank: int) -> Ints:
    perm = list(range(rank))
    perm[a], perm[b] = b, a
    return tuple(perm)


def _require_consistent(
    lhs_shape: Shape, rhs_shape: Shape, strides: Ints, padding: Padding, lhs_dilation: Ints, rhs_dilation: Ints,
    groups: int, batch_groups: int,
) -> None:  # fmt: skip
    if len(lhs_shape) < 2 or len(lhs_shape) != len(rhs_shape):
        raise ValueError(
            f"conv: lhs of shape {lhs_shape} and rhs of shape {rhs_shape} must have the same rank, at least 2"
        )
    rank = len(lhs_shape) - 2
    for name, value in (("strides", strides), ("lhs_dilation", lhs_dilation), ("rhs_dilation", rhs_dilation)):
        if len(value) != rank or any(v < 1 for v in value):
            raise ValueError(f"conv: {name} is {value}, wanted {rank} integers of at least 1")
    if len(padding) != rank or any(len(pair) != 2 for pair in padding):
        raise ValueError(f"conv: padding is {padding}, wanted {rank} pairs (low, high)")
    _require_groups(lhs_shape, rhs_shape, groups, batch_groups)


def _require_groups(lhs_shape: Shape, rhs_shape: Shape, groups: int, batch_groups: int) -> None:
    n, c, o, c_group = *lhs_shape[:2], *rhs_shape[:2]
    if groups < 1 or batch_groups < 1 or (groups > 1 and batch_groups > 1):
        raise ValueError(
            f"conv: groups is {groups} and batch_groups is {batch_groups}, wanted both at least 1 and one equal to 1"
        )
    if not same_dim(c_group * groups, c):
        raise ValueError(
            f"conv: lhs has {c} features, rhs of shape {rhs_shape} with groups={groups} wants {c_group * groups}"
        )
    if isinstance(o, int) and o % (groups * batch_groups):
        raise ValueError(
            f"conv: rhs has {o} output features, wanted a multiple of {groups * batch_groups} "
            f"(groups={groups}, batch_groups={batch_groups})"
        )
    if isinstance(n, int) and n % batch_groups:
        raise ValueError(f"conv: lhs has {n} batch entries, wanted a multiple of batch_groups={batch_groups}")
