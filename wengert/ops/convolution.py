"""Convolutions: Keras's, and the general one with dimension numbers, on the primitive's one layout.

All of them are cross-correlations (the kernel is not flipped). The primitive wants (N, C, *spatial) and
(O, C / groups, *kernel); this file brings other layouts there and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, SupportsIndex

from .._core import dims
from .._core.argument_types import ArrayLike
from .._core.dims import DimLike
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from .._prims import conv as V
from .._prims import structural as S
from . import promotion
from .promotion import as_tensor, common_dtype, count_of, names_errors, outward
from .shapes import permuted, reshaped

# -- the general convolution -------------------------------------------------------------------------------------------


@names_errors
def conv_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: SupportsIndex | Sequence[SupportsIndex],
    padding: str,
    lhs_dilation: object = None,
    rhs_dilation: object = None,
    dimension_numbers: object = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
) -> Any:
    """The general convolution: any layout, padding, dilation of both operands, and groups.

    Args:
        lhs: the array that is searched.
        rhs: the kernel.
        strides: one number for each spatial axis.
        padding: "VALID", "SAME", "SAME_LOWER", or a (before, after) pair for each spatial axis; negative: a crop.
        lhs_dilation: the distance of lhs's elements along each spatial axis, zeros between; None means 1.
        rhs_dilation: the same for the kernel.
        dimension_numbers: three strings that name the axes of lhs, rhs and the result: N or O-I, C, and spatial axes
            by any other characters, such as ("NHWC", "HWIO", "NHWC"). None means ("NCHW", "OIHW", "NCHW") and its kin.
        feature_group_count: into how many groups of channels lhs is split, each with its own part of the kernel.
        batch_group_count: into how many groups of examples lhs is split, each with its own part of the kernel.

    Returns:
        The result in the kind of array that came in, laid out as the third string says.

    Raises:
        ValueError: for extents, numbers or layouts that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.nn.conv_general([[[1.0, 2.0, 3.0]]], [[[1.0, 1.0]]], (1,), "VALID")
        array([[[3., 5.]]])
    """
    a, b = as_tensor(lhs, "conv_general"), as_tensor(rhs, "conv_general")
    layout = _layout(dimension_numbers, a, b)
    result = _convolved(
        a,
        b,
        layout,
        strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        feature_group_count,
        batch_group_count,
        "conv_general",
    )
    return outward(result, lhs, rhs)


class ConvolutionLayout(NamedTuple):
    """Which axis of lhs, rhs and the result is which: permutations to, to and from the primitive's layout."""

    lhs: tuple[int, ...]
    rhs: tuple[int, ...]
    out: tuple[int, ...]


def _layout(numbers: Any, lhs: Tensor, rhs: Tensor) -> ConvolutionLayout:
    if numbers is None:
        plain = tuple(range(lhs.ndim))
        return ConvolutionLayout(plain, tuple(range(rhs.ndim)), plain)
    if len(numbers) != 3 or not all(isinstance(n, str) for n in numbers):
        raise ValueError(at_user_line(f"conv_general: dimension_numbers are three strings, got {numbers!r}"))
    spatial = [c for c in numbers[1] if c not in "OI"]
    names = (["N", "C", *spatial], ["O", "I", *spatial], ["N", "C", *spatial])
    for text, wanted, rank in zip(numbers, names, (lhs.ndim, rhs.ndim, lhs.ndim)):
        if sorted(text) != sorted(wanted) or len(set(text)) != rank:
            raise ValueError(
                at_user_line(
                    f"conv_general: {text!r} in dimension_numbers {numbers} must name {rank} axes: {', '.join(wanted)}"
                )
            )
    to_lhs, to_rhs = ((*map(text.index, wanted),) for text, wanted in zip(numbers[:2], names))
    return ConvolutionLayout(to_lhs, to_rhs, (*map(names[2].index, numbers[2]),))


def per_axis(value: Any, rank: int, what: str, name: str, least: int = 1) -> tuple[int, ...]:
    """An integer for each spatial axis, of one for all or a sequence of them; None means 1."""
    if value is None:
        return (1,) * rank
    if isinstance(value, int):
        return (count_of(value, f"{what}: {name}", least),) * rank
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes, dict, set)):
        raise TypeError(at_user_line(f"{what}: {name} is {value!r}, wanted an integer or one for each spatial axis"))
    values = (*[count_of(v, f"{what}: {name}", least) for v in value],)
    if len(values) != rank:
        raise ValueError(at_user_line(f"{what}: {name} has {len(values)} numbers for {rank} spatial axes"))
    return values


def _convolved(
    lhs: Tensor,
    rhs: Tensor,
    layout: ConvolutionLayout,
    strides: SupportsIndex | Sequence[SupportsIndex],
    padding: Any,
    lhs_dilation: object,
    rhs_dilation: object,
    groups: int,
    batch_groups: int,
    what: str,
) -> Tensor:
    dtype = common_dtype([lhs, rhs])
    if lhs.ndim != rhs.ndim or lhs.ndim < 2:
        raise ValueError(at_user_line(f"{what}: shapes {lhs.shape} and {rhs.shape} have not as many axes, two or more"))
    a = permuted(promotion.cast(lhs, dtype), layout.lhs)
    b = permuted(promotion.cast(rhs, dtype), layout.rhs)
    rank = a.ndim - 2
    steps = per_axis(strides, rank, what, "strides")
    spread, gaps = (
        per_axis(lhs_dilation, rank, what, "lhs_dilation"),
        per_axis(rhs_dilation, rank, what, "rhs_dilation"),
    )
    sizes = [d * n - n + 1 if n != 1 else d for d, n in zip(a.shape[2:], spread)]
    pads = padding_pairs(padding, sizes, b.shape[2:], steps, gaps, what)
    result = V.conv(
        a,
        b,
        strides=steps,
        padding=pads,
        lhs_dilation=spread,
        rhs_dilation=gaps,
        groups=groups,
        batch_groups=batch_groups,
    )
    return permuted(result, layout.out)


def padding_pairs(
    padding: str, sizes: Sequence[DimLike], kernel: Sequence[DimLike], steps: Any, gaps: Any, what: str
) -> tuple[Any, ...]:
    """A (before, after) pair for each spatial axis."""
    if isinstance(padding, str):
        kind = padding.upper()
        if kind == "VALID":
            return ((0, 0),) * len(steps)
        if kind not in ("SAME", "SAME_LOWER"):
            raise ValueError(
                at_user_line(f"{what}: padding is {padding!r}, wanted 'valid', 'same' or pairs of numbers")
            )
        return (*[_same(n, k, s, g, kind == "SAME_LOWER") for n, k, s, g in zip(sizes, kernel, steps, gaps)],)
    if len(padding) != len(steps):
        raise ValueError(
            at_user_line(f"{what}: padding {padding} has not one pair for each of {len(steps)} spatial axes")
        )
    return (*[(p, p) if isinstance(p, int) else tuple(p) for p in padding],)


def _same(size: DimLike, kernel: DimLike, step: int, gap: int, is_lower: bool) -> tuple[DimLike, DimLike]:
    """The padding that gives one position for each `step` elements; the odd one goes to the end."""
    reach = (kernel - 1) * gap + 1
    positions = dims.floordiv(size + step - 1, step)
    total = (positions - 1) * step + reach - size
    total = dims.maximum(total, 0)
    low = dims.floordiv(total, 2)
    return (total - low, low) if is_lower else (low, total - low)


# -- Keras's convolutions ----------------------------------------------------------------------------------------------


def _keras_layout(rank: int, data_format: str | None, what: str) -> ConvolutionLayout:
    """Kernels are (spatial, in, out); data has its channels last or first."""
    spatial = tuple(range(2, rank))
    kernel = (rank - 1, rank - 2, *range(rank - 2))
    if data_format in (None, "channels_last"):
        return ConvolutionLayout((0, rank - 1, *range(1, rank - 1)), kernel, (0, *spatial, 1))
    if data_format == "channels_first":
        return ConvolutionLayout(tuple(range(rank)), kernel, tuple(range(rank)))
    raise ValueError(
        at_user_line(f"{what}: data_format is {data_format!r}, wanted 'channels_last', 'channels_first' or None")
    )


@names_errors
def conv(
    inputs: ArrayLike,
    kernel: ArrayLike,
    strides: SupportsIndex | Sequence[SupportsIndex] = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: SupportsIndex | Sequence[SupportsIndex] = 1,
) -> Any:
    """The convolution of one, two, three or more spatial axes.

    Args:
        inputs: an array (batch, *spatial, channels), or (batch, channels, *spatial) with "channels_first".
        kernel: an array (*kernel, channels / groups, filters); the number of groups follows from it.
        strides: one number, or one for each spatial axis.
        padding: "valid" or "same".
        data_format: "channels_last" (also None) or "channels_first".
        dilation_rate: the distance of the kernel's elements, one number or one for each spatial axis.

    Returns:
        An array laid out as `inputs`, in the kind that came in.

    Raises:
        ValueError: for extents or layouts that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.conv([[[1.0], [2.0], [3.0]]], [[[1.0]], [[1.0]]])
        array([[[3.],
                [5.]]])
    """
    x, w = as_tensor(inputs, "conv"), as_tensor(kernel, "conv")
    _require_ranks(x, w, "conv")
    layout = _keras_layout(x.ndim, data_format, "conv")
    channels, depth = x.shape[layout.lhs[1]], w.shape[-2]
    groups = dims.floordiv(channels, depth)
    if type(groups) is not int or (type(channels) is int and channels % depth):
        raise ValueError(
            at_user_line(
                f"conv: inputs of shape {x.shape} have {channels} channels, the kernel of shape {w.shape} wants a "
                f"multiple of {depth}"
            )
        )
    return outward(_convolved(x, w, layout, strides, padding, None, dilation_rate, groups, 1, "conv"), inputs, kernel)


def _require_ranks(x: Tensor, w: Tensor, what: str) -> None:
    if x.ndim != w.ndim or x.ndim < 3:
        raise ValueError(
            at_user_line(
                f"{what}: inputs has shape {x.shape} and kernel has shape {w.shape}: wanted as many axes, 3 or more"
            )
        )


@names_errors
def depthwise_conv(
    inputs: ArrayLike,
    kernel: ArrayLike,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """The convolution of each channel by itself, with several filters each.

    Args:
        inputs: an array (batch, *spatial, channels), or (batch, channels, *spatial) with "channels_first".
        kernel: an array (*kernel, channels, multiplier).
        strides: one number, or one for each spatial axis.
        padding: "valid" or "same".
        data_format: "channels_last" (also None) or "channels_first".
        dilation_rate: the distance of the kernel's elements, one number or one for each spatial axis.

    Returns:
        An array with channels * multiplier channels, laid out as `inputs`, in the kind that came in.

    Raises:
        ValueError: for extents or layouts that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.depthwise_conv([[[1.0], [2.0], [3.0]]], [[[1.0]], [[1.0]]])
        array([[[3.],
                [5.]]])
    """
    x, w = as_tensor(inputs, "depthwise_conv"), as_tensor(kernel, "depthwise_conv")
    result = _depthwise(x, w, strides, padding, data_format, dilation_rate, "depthwise_conv")
    return outward(result, inputs, kernel)


def _depthwise(
    x: Tensor, w: Tensor, strides: int, padding: str, data_format: str | None, dilation_rate: int, what: str
) -> Tensor:
    _require_ranks(x, w, what)
    layout = _keras_layout(x.ndim, data_format, what)
    *window, channels, multiplier = w.shape
    if x.shape[layout.lhs[1]] != channels or type(channels) is not int:
        raise ValueError(
            at_user_line(f"{what}: inputs of shape {x.shape} and kernel of shape {w.shape} have different channels")
        )
    # a kernel of one input channel a group; the filters of a channel stand together
    flat_kernel = reshaped(w, (*window, 1, channels * multiplier))
    return _convolved(x, flat_kernel, layout, strides, padding, None, dilation_rate, channels, 1, what)


@names_errors
def separable_conv(
    inputs: ArrayLike, depthwise_kernel: Tensor, pointwise_kernel: Tensor, strides: int = 1, padding: str = "valid",
    data_format: str | None = None, dilation_rate: int = 1,
) -> Any:  # fmt: skip
    """A depthwise convolution and then one of extent 1 that mixes the channels.

    Args:
        inputs: an array (batch, *spatial, channels), or (batch, channels, *spatial) with "channels_first".
        depthwise_kernel: an array (*kernel, channels, multiplier).
        pointwise_kernel: an array (*ones, channels * multiplier, filters).
        strides: one number, or one for each spatial axis.
        padding: "valid" or "same".
        data_format: "channels_last" (also None) or "channels_first".
        dilation_rate: the distance of the kernel's elements, one number or one for each spatial axis.

    Returns:
        An array laid out as `inputs`, in the kind that came in.

    Raises:
        ValueError: for extents or layouts that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.separable_conv([[[1.0], [2.0], [3.0]]], [[[1.0]], [[1.0]]], [[[2.0]]])
        array([[[ 6.],
                [10.]]])
    """
    x, w = as_tensor(inputs, "separable_conv"), as_tensor(depthwise_kernel, "separable_conv")
    between = _depthwise(x, w, strides, padding, data_format, dilation_rate, "separable_conv")
    result = conv(between, as_tensor(pointwise_kernel, "separable_conv"), 1, "valid", data_format)
    return outward(result, inputs, depthwise_kernel, pointwise_kernel)


@names_errors
def conv_transpose(
    inputs: ArrayLike,
    kernel: ArrayLike,
    strides: SupportsIndex | Sequence[SupportsIndex] = 1,
    padding: str = "valid",
    output_padding: ArrayLike | None = None,
    data_format: str | None = None,
    dilation_rate: SupportsIndex | Sequence[SupportsIndex] = 1,
) -> Any:
    """The transpose of `conv`: what its gradient does to a cotangent.

    Args:
        inputs: an array (batch, *spatial, channels), or (batch, channels, *spatial) with "channels_first".
        kernel: an array (*kernel, filters, channels).
        strides: one number, or one for each spatial axis.
        padding: "valid" or "same".
        output_padding: what the result is longer by, where several lengths belong to one stride; None decides.
        data_format: "channels_last" (also None) or "channels_first".
        dilation_rate: the distance of the kernel's elements, one number or one for each spatial axis.

    Returns:
        An array laid out as `inputs`, in the kind that came in.

    Raises:
        ValueError: for extents or layouts that do not fit.

    Example:
        >>> import wengert as wg
        >>> wg.ops.conv_transpose([[[1.0], [2.0]]], [[[1.0]], [[1.0]]])
        array([[[1.],
                [3.],
                [2.]]])
    """
    x, w = as_tensor(inputs, "conv_transpose"), as_tensor(kernel, "conv_transpose")
    _require_ranks(x, w, "conv_transpose")
    layout, rank = _keras_layout(x.ndim, data_format, "conv_transpose"), x.ndim - 2
    if str(padding).lower() not in ("valid", "same"):
        raise ValueError(at_user_line(f"conv_transpose: padding is {padding!r}, wanted 'valid' or 'same'"))
    is_same = str(padding).lower() == "same"
    steps = per_axis(strides, rank, "conv_transpose", "strides")
    gaps = per_axis(dilation_rate, rank, "conv_transpose", "dilation_rate")
    more = (
        (None,) * rank
        if output_padding is None
        else per_axis(output_padding, rank, "conv_transpose", "output_padding", 0)
    )
    sizes = [x.shape[i] for i in layout.lhs[2:]]
    pads = (
        *[_transposed_padding(n, k, s, g, m, is_same) for n, k, s, g, m in zip(sizes, w.shape[:-2], steps, gaps, more)],
    )
    flipped = S.flip(w, axes=tuple(range(rank)))
    to_kernel = (w.ndim - 2, w.ndim - 1, *range(rank))  # the kernel's filters and channels stand the other way round
    result = _convolved(x, flipped, layout._replace(rhs=to_kernel), 1, pads, steps, gaps, 1, 1, "conv_transpose")
    return outward(result, inputs, kernel)


def _transposed_padding(
    size: DimLike, kernel: Any, step: int, gap: int, more: int | None, is_same: bool
) -> tuple[DimLike, DimLike]:
    """The padding of the dilated input that gives the length of what `conv` would have been applied to."""
    reach = (kernel - 1) * gap + 1
    if more is not None:
        length = (size - 1) * step + reach - (2 * (reach // 2) if is_same else 0) + more
    else:
        length = size * step + (0 if is_same else max(reach - step, 0))
    if is_same and more is not None:  # the padding that Keras shares out, the odd one before
        shared = reach + reach % 2 - 2 + more
        before = min(shared // 2 + shared % 2, reach - 1)
    else:
        before = reach - 1 - (_same(length, kernel, step, gap, False)[0] if is_same else 0)
    return before, length + reach - 1 - (size - 1) * step - 1 - before


__all__ = ["conv", "depthwise_conv", "separable_conv", "conv_transpose"]
