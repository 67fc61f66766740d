"""Blocks of pixels: moved between space and depth, unfolded into columns, and folded (added) back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from .._core.argument_types import ArrayLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import indexing as I
from .._prims import structural as S
from .convolution import per_axis
from .padding import pad
from .promotion import as_tensor, public
from .shapes import known_extent, part, permuted, reshaped

# -- space and depth -----------------------------------------------------------------------------------------------


def _prepared(x: ArrayLike, block_size: int, data_format: str | None, what: str) -> tuple[Tensor, int, bool]:
    """The images with their channels last, the block's side, and whether the channels came first."""
    a = as_tensor(x, what)
    if data_format not in (None, "channels_last", "channels_first"):
        raise ValueError(
            at_user_line(f"{what}: data_format is {data_format!r}, wanted 'channels_last', 'channels_first' or None")
        )
    if a.ndim != 4:
        raise ValueError(at_user_line(f"{what}: x has shape {a.shape}, wanted batch, height, width and channels"))
    (side,) = per_axis(block_size, 1, what, "block_size")
    if side < 1:
        raise ValueError(at_user_line(f"{what}: block_size must be a positive integer, got {block_size!r}"))
    is_first = data_format == "channels_first"
    return (permuted(a, (0, 2, 3, 1)) if is_first else a), side, is_first


def _laid_back(x: Tensor, is_first: bool) -> Tensor:
    return permuted(x, (0, 3, 1, 2)) if is_first else x


@public
def depth_to_space(x: ArrayLike, block_size: int, data_format: str = "channels_last") -> Any:
    """Channels spread over blocks of pixels: the first of its blocks' axes in depth is the row, the second the column.

    Args:
        x: an array (batch, height, width, channels), or (batch, channels, height, width) with "channels_first".
        block_size: the side of a block; its square divides the channels.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        An array (batch, height * block_size, width * block_size, channels / block_size ** 2) in x's kind and layout.

    Raises:
        ValueError: for a block that does not fit, or another layout.

    Example:
        >>> import wengert as wg
        >>> wg.ops.depth_to_space([[[[1, 2, 3, 4]]]], 2)[0, :, :, 0]
        array([[1, 2],
               [3, 4]])
    """
    a, side, is_first = _prepared(x, block_size, data_format, "depth_to_space")
    batch, height, width, _ = a.shape
    channels = known_extent(a, 3, "depth_to_space")
    if channels % side**2:
        raise ValueError(at_user_line(f"depth_to_space: blocks of {side} by {side} do not divide {channels} channels"))
    depth = channels // side**2
    apart = permuted(reshaped(a, (batch, height, width, side, side, depth)), (0, 1, 3, 2, 4, 5))
    return _laid_back(reshaped(apart, (batch, height * side, width * side, depth)), is_first)


@public
def space_to_depth(x: ArrayLike, block_size: int, data_format: str = "channels_last") -> Any:
    """Blocks of pixels stacked as channels: the inverse of `depth_to_space`.

    Args:
        x: an array (batch, height, width, channels), or (batch, channels, height, width) with "channels_first".
        block_size: the side of a block; it divides height and width.
        data_format: "channels_last" (also None) or "channels_first".

    Returns:
        An array (batch, height / block_size, width / block_size, channels * block_size ** 2) in x's kind and layout.

    Raises:
        ValueError: for a block that does not fit, or another layout.

    Example:
        >>> import wengert as wg
        >>> wg.ops.space_to_depth([[[[1], [2]], [[3], [4]]]], 2)
        array([[[[1, 2, 3, 4]]]])
    """
    a, side, is_first = _prepared(x, block_size, data_format, "space_to_depth")
    height, width = (known_extent(a, i, "space_to_depth") for i in (1, 2))
    batch, channels = a.shape[0], a.shape[3]
    if height % side or width % side:
        raise ValueError(at_user_line(f"space_to_depth: blocks of {side} by {side} do not divide {height} by {width}"))
    apart = permuted(reshaped(a, (batch, height // side, side, width // side, side, channels)), (0, 1, 3, 2, 4, 5))
    return _laid_back(reshaped(apart, (batch, height // side, width // side, channels * side**2)), is_first)


# -- columns of patches --------------------------------------------------------------------------------------------


class _Grid:
    """Where patches lie in padded images: `rows` and `columns`, each (kernel, kernel, patches down, patches across)."""

    def __init__(
        self,
        sizes: Any,
        kernel_size: SupportsIndex | Sequence[SupportsIndex],
        dilation: SupportsIndex | Sequence[SupportsIndex],
        padding: object,
        stride: SupportsIndex | Sequence[SupportsIndex],
        what: str,
    ) -> None:
        self.kernel = per_axis(kernel_size, 2, what, "kernel_size")
        gaps, steps = (per_axis(v, 2, what, n) for v, n in ((dilation, "dilation"), (stride, "stride")))
        self.padding = per_axis(padding, 2, what, "padding", 0)
        if min(*self.kernel, *gaps, *steps) < 1 or min(self.padding) < 0:
            raise ValueError(
                at_user_line(f"{what}: kernel_size, dilation and stride are positive, padding not negative")
            )
        self.padded = (*[n + 2 * p for n, p in zip(sizes, self.padding)],)
        self.counts = (*[
            (n - (k - 1) * g - 1) // s + 1 for n, k, g, s in zip(self.padded, self.kernel, gaps, steps)
        ],)  # fmt: skip
        if min(self.counts) < 1:
            raise ValueError(at_user_line(f"{what}: patches of {self.kernel} do not fit images of {tuple(sizes)}"))
        down, across = (
            np.arange(k)[:, None] * g + np.arange(c) * s for k, g, c, s in zip(self.kernel, gaps, self.counts, steps)
        )
        shape = (*self.kernel, *self.counts)
        self.rows = as_tensor(np.broadcast_to(down[:, None, :, None], shape).copy())
        self.columns = as_tensor(np.broadcast_to(across[None, :, None, :], shape).copy())


@public
def unfold(x: ArrayLike, kernel_size: Any, dilation: Any = 1, padding: object = 0, stride: Any = 1) -> Any:
    """The patches of images as columns.

    Args:
        x: an array (batch, channels, height, width).
        kernel_size: the height and the width of a patch, or one number for both.
        dilation: how far apart the pixels of a patch are.
        padding: how many rows and columns of zeros to add at each side first.
        stride: how far apart patches begin.

    Returns:
        An array (batch, channels * kernel height * kernel width, patches) in x's kind, patches row by row.

    Raises:
        ValueError: for numbers that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.unfold([[[[1, 2, 3], [4, 5, 6]]]], 2)[0]
        array([[1, 2],
               [2, 3],
               [4, 5],
               [5, 6]])
    """
    a = as_tensor(x, "unfold")
    if a.ndim != 4:
        raise ValueError(at_user_line(f"unfold: x has shape {a.shape}, wanted batch, channels, height and width"))
    sizes = [known_extent(a, i, "unfold") for i in (2, 3)]
    grid = _Grid(sizes, kernel_size, dilation, padding, stride, "unfold")
    if any(grid.padding):
        a = pad(a, ((0, 0), (0, 0), *[(p, p) for p in grid.padding]))
    patches = I.gather(permuted(a, (2, 3, 0, 1)), grid.rows, grid.columns)
    batch, channels = a.shape[:2]
    shape = (batch, channels * grid.kernel[0] * grid.kernel[1], grid.counts[0] * grid.counts[1])
    return reshaped(permuted(patches, (4, 5, 0, 1, 2, 3)), shape)


@public
def fold(
    x: ArrayLike,
    output_size: SupportsIndex | Sequence[SupportsIndex],
    kernel_size: Any,
    dilation: Any = 1,
    padding: object = 0,
    stride: Any = 1,
) -> Any:
    """Images from columns of patches, which add up where they overlap: the adjoint of `unfold`.

    Args:
        x: an array (batch, channels * kernel height * kernel width, patches).
        output_size: the height and the width of the images, or one number for both.
        kernel_size: the height and the width of a patch, or one number for both.
        dilation: how far apart the pixels of a patch are.
        padding: how many rows and columns at each side are left out in the end.
        stride: how far apart patches begin.

    Returns:
        An array (batch, channels, height, width) in x's kind.

    Raises:
        ValueError: for numbers that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.fold([[[1, 2], [3, 4], [5, 6], [7, 8]]], (2, 3), 2)[0, 0]
        array([[ 1,  5,  4],
               [ 5, 13,  8]])
    """
    a = as_tensor(x, "fold")
    sizes = per_axis(output_size, 2, "fold", "output_size")
    grid = _Grid(sizes, kernel_size, dilation, padding, stride, "fold")
    size, count = grid.kernel[0] * grid.kernel[1], grid.counts[0] * grid.counts[1]
    if a.ndim != 3 or known_extent(a, 1, "fold") % size or known_extent(a, 2, "fold") != count:
        raise ValueError(
            at_user_line(f"fold: x has shape {a.shape}, wanted (batch, channels * {size}, {count}) for these patches")
        )
    batch, channels = a.shape[0], known_extent(a, 1, "fold") // size
    patches = permuted(reshaped(a, (batch, channels, *grid.kernel, *grid.counts)), (2, 3, 4, 5, 0, 1))
    base = S.full(shape=(*grid.padded, batch, channels), value=0, dtype=a.dtype)
    whole = I.scatter_add(base, patches, grid.rows, grid.columns)
    for axis in (0, 1):
        low = grid.padding[axis]
        whole = part(whole, axis, low, low + sizes[axis])
    return permuted(whole, (2, 3, 0, 1))


__all__ = ["depth_to_space", "fold", "space_to_depth", "unfold"]
