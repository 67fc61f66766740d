"""torch kernels of `_prims/structural.py` and `_prims/reductions.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..._core.dtypes import HISTORY
from ..shared_kernels import PASSING, over_axes, sliced
from .common import (
    HALF,
    Entry,
    TableKernel,
    by_signed_bits,
    from_numpy,
    in_float32,
    of_unsigned,
    to_numpy,
    torch_dtype,
    view,
)


def _sum(x: torch.Tensor, axes: tuple[int, ...]) -> Any:
    if x.dtype is torch.bool:
        return torch.any(x, axes)
    return torch.sum(x, axes, dtype=x.dtype)


def _prod(x: torch.Tensor, axes: tuple[int, ...]) -> Any:
    for axis in sorted(axes, reverse=True):
        x = torch.prod(x, axis, dtype=x.dtype)
    return x


def _pad(x: torch.Tensor, low: tuple[int, ...], high: tuple[int, ...], interior: tuple[int, ...]) -> Any:
    if any(interior) or not all(map(_is_left, x.shape, low, high)):
        return _spread(x, low, high, interior)
    return torch.constant_pad_nd(x, [n for pair in zip(low, high, strict=True) for n in pair[::-1]][::-1])


def _is_left(size: int, low: int, high: int) -> bool:
    """Whether negative padding leaves something of an axis."""
    return size + min(low, 0) + min(high, 0) > 0


def _spread(x: torch.Tensor, low: tuple[int, ...], high: tuple[int, ...], interior: tuple[int, ...]) -> Any:
    inner = [n + max(n - 1, 0) * i for n, i in zip(x.shape, interior, strict=True)]
    out = x.new_zeros([lo + n + hi for lo, n, hi in zip(low, inner, high, strict=True)])
    target, source = [], []
    for n, lo, hi, i in zip(inner, low, high, interior, strict=True):
        step = i + 1
        first = -(-max(-lo, 0) // step)  # the first element that negative padding leaves
        last = (n - 1 - max(-hi, 0)) // step if n else -1  # and the last
        is_any = last >= first
        source.append(slice(first, last + 1) if is_any else slice(0, 0))
        target.append(slice(lo + first * step, lo + last * step + 1, step) if is_any else slice(0, 0))
    out[(*target,)] = x[(*source,)]
    return out


def _convert(x: torch.Tensor, dtype: np.dtype[Any]) -> Any:
    wanted = torch_dtype(dtype)
    if x.is_complex() and not wanted.is_complex and wanted is not torch.bool:
        x = x.real
    return x.to(wanted)


def _concatenate(*xs_and_axis: Any) -> Any:
    *xs, axis = xs_and_axis
    return torch.cat(xs, axis)


def _add_n(*xs: torch.Tensor) -> Any:
    dtype = xs[0].dtype
    if dtype in HALF:  # summed in float32
        return _add_n(*[x.float() for x in xs]).to(dtype)
    if len(xs) == 1:
        return xs[0]
    total = torch.add(xs[0], xs[1])
    for x in xs[2:]:
        total = torch.add(total, x)
    return total


def _scale(x: torch.Tensor, y: torch.Tensor) -> Any:
    return torch.mul(x, y).masked_fill_(x == 0, 0)


def _as_complex(x: torch.Tensor, y: torch.Tensor) -> Any:
    return torch.complex(x.float(), y.float()) if x.dtype in HALF else torch.complex(x, y)


def _debug_print(*xs_and_text: Any) -> tuple[Any, ...]:
    *xs, text = xs_and_text
    print(text.format(*[to_numpy(x)[()] for x in xs]), flush=True)
    return ()


def _logsumexp(x: torch.Tensor, axes: tuple[int, ...]) -> Any:
    return torch.logsumexp(x, axes)


def _place(function: Callable[..., Any]) -> Any:
    def kernel(x: torch.Tensor, axis: int) -> Any:
        return function(x.to(torch.uint8) if x.dtype is torch.bool else x, axis)

    return kernel


def _extreme(function: Callable[..., Any]) -> Any:
    def kernel(x: torch.Tensor, axes: tuple[int, ...]) -> Any:
        if not x.numel() and not all(x.shape[axis] for axis in axes):
            raise ValueError("zero-size array to reduction operation that has no identity")
        return function(x, axes)

    return over_axes(kernel)


def _absent(shape: tuple[int, ...], dtype: Any, device: Any) -> Any:
    if dtype == HISTORY:
        return np.broadcast_to(np.zeros((), object), shape)
    return torch.zeros(shape, dtype=torch_dtype(dtype), device=device)


def _full(shape: tuple[int, ...], value: Any, dtype: Any, device: Any) -> Any:
    return torch.full(shape, value, dtype=torch_dtype(dtype), device=device)


def _constant(value: np.ndarray[Any, Any], device: torch.device) -> Any:
    return value if value.dtype == HISTORY else from_numpy(value, device)


# these make tensors of nothing, so they are told the device of the program that they are in
CREATIONS: dict[str, TableKernel] = {
    "constant": Entry(_constant, "any"),
    "full": _full,
    "absent": _absent,
    "iota": lambda size, dtype, device: torch.arange(size, device=device).to(torch_dtype(dtype)),
    "dim_value": lambda dim, device: torch.full((), dim, dtype=torch.int64, device=device),
}

KERNELS: dict[str, TableKernel] = {
    **{name: of_unsigned(kernel, "any" if name == "custom" else "first") for name, kernel in PASSING.items()},
    "unstack": of_unsigned(lambda x, size: x.unbind(0), "any"),
    "add": torch.add,
    "add_n": view(_add_n),
    "barrier": of_unsigned(lambda *xs: xs, "any"),
    "neg": torch.neg,
    "sub": torch.sub,
    "mul": torch.mul,
    "scale": _scale,
    "times_number": torch.mul,
    "add_number": torch.add,
    "convert": of_unsigned(_convert, "first"),
    "conj": view(torch.conj_physical),
    "real": view(torch.real),
    "imag": view(torch.imag),
    "as_complex": _as_complex,
    "reshape": of_unsigned(torch.reshape, "first"),
    "transpose": of_unsigned(torch.permute, "first"),
    "broadcast_to": of_unsigned(torch.Tensor.expand, "any"),
    "reduce_sum": view(over_axes(_sum)),
    "slice": of_unsigned(sliced, "first"),
    "pad": view(_pad),
    "flip": torch.flip,
    "concatenate": of_unsigned(_concatenate, "first"),
    "select": of_unsigned(by_signed_bits(torch.where, -1)),
    "stop_gradient": of_unsigned(torch.Tensor.detach, "first"),
    "debug_print": of_unsigned(_debug_print),
    "reduce_prod": view(in_float32(_prod)),
    "reduce_max": view(_extreme(torch.amax)),
    "reduce_min": view(_extreme(torch.amin)),
    "argmax": _place(torch.argmax),
    "argmin": _place(torch.argmin),
    "reduce_any": view(over_axes(torch.any)),
    "reduce_all": view(over_axes(torch.all)),
    "logsumexp": view(in_float32(over_axes(_logsumexp))),
    "softmax": in_float32(torch.softmax),
    "log_softmax": in_float32(torch.log_softmax),
}
