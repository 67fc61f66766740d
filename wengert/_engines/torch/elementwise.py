"""torch kernels of the elementwise ops and of `_prims/piecewise.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from .common import HALF, INTEGERS, TableKernel, by_bits, by_dtype, in_float32, of_unsigned, on_host, torch_dtype, view

_SOFTPLUS_LIMIT = 40.0  # beyond it x + log1p(exp(-x)) is x in float64


def _cbrt(x: torch.Tensor) -> Any:
    """A first guess by a power, and one step of Newton's to the last digits."""
    root = torch.sign(x) * torch.abs(x) ** (1 / 3)
    square = root * root
    is_plain = torch.isfinite(x) & (square > 0)
    step = (square * root - x) / torch.where(is_plain, 3 * square, torch.ones_like(x))
    return torch.where(is_plain, root - step, x)


def _power(x: torch.Tensor, y: torch.Tensor) -> Any:
    if x.dtype in INTEGERS and y.dtype in INTEGERS and y.dtype.is_signed and bool((y < 0).any()):
        raise ValueError("Integers to negative integer powers are not allowed.")
    return torch.pow(x, y)


def _power_number(x: torch.Tensor, number: float) -> Any:
    if number == 2:
        return x * x
    if number == 1:
        return x.clone()
    if x.dtype in INTEGERS and number < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")
    found = torch.pow(x, number)
    return found if found.dtype is x.dtype else found.to(x.dtype)


def _not_negative(x: torch.Tensor) -> Any:
    if bool((x < 0).any()):
        raise ValueError(f"wanted an integer that is not negative, got {int(x.min())}")
    return x


def _found(x: torch.Tensor) -> Any:
    if bool((x < 0).any()):
        raise ValueError("all elements of a slice are NaN")
    return x


def _by_nonzero(function: Callable[..., Any]) -> Any:
    """Division of integers by zero gives NumPy's value, zero."""

    def kernel(x: torch.Tensor, y: torch.Tensor) -> Any:
        if x.dtype not in INTEGERS:
            return function(x, y)
        is_zero = y == 0
        return torch.where(is_zero, torch.zeros_like(x), function(x, torch.where(is_zero, torch.ones_like(y), y)))

    return kernel


def _shifted(function: Callable[..., Any], limit: Callable[..., Any]) -> Any:
    """Shifts by the width of the integers and more give what shifting bit by bit gives."""

    def kernel(x: torch.Tensor, y: torch.Tensor) -> Any:
        is_far = y >= x.element_size() * 8
        return torch.where(is_far, limit(x), function(x, torch.where(is_far, torch.zeros_like(y), y)))

    return kernel


def _sign(x: torch.Tensor) -> Any:
    found = torch.sign(x)
    return torch.where(torch.isnan(x), x, found) if x.is_floating_point() else found


def _heaviside(x: torch.Tensor, y: torch.Tensor) -> Any:
    return torch.where(torch.isnan(x), x, torch.heaviside(x, y))


def _remainder(x: torch.Tensor, y: torch.Tensor) -> Any:
    """As Python's. torch subtracts a quotient that may be too large to be exact; this starts from the exact fmod."""
    if x.dtype in INTEGERS:
        return torch.remainder(x, y)
    rest = torch.fmod(x, y)
    rest = torch.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)
    return torch.where(rest == 0, torch.copysign(torch.zeros_like(rest), y), rest)


def _ldexp(x: torch.Tensor, n: torch.Tensor) -> Any:
    """In three steps, for a power of two may be out of range where the product is not."""
    wide = torch.float64 if x.dtype is torch.float64 else torch.float32
    out, rest = x.to(wide), n.to(torch.int64).clamp(-6600, 6600)
    limit = 1000 if wide is torch.float64 else 120
    while bool((rest != 0).any()):
        step = rest.clamp(-limit, limit)
        out = out * torch.exp2(step.to(wide))
        rest = rest - step
    return out.to(x.dtype)


def _exponent(x: torch.Tensor) -> Any:
    return torch.frexp(x.float() if x.dtype in HALF else x)[1].to(torch.int32)


def _bitcast(x: torch.Tensor, dtype: object) -> Any:
    return x.contiguous().view(torch_dtype(dtype))


def _nextafter(x: torch.Tensor, y: torch.Tensor) -> Any:
    return _next_half(x, y) if x.dtype is torch.float16 else torch.nextafter(x, y)


_next_half = on_host("nextafter")


def _in_order(compare: Callable[..., Any]) -> Any:
    """A comparison; complex numbers are compared by their real parts, then by their imaginary ones, as in NumPy."""

    def kernel(x: torch.Tensor, y: torch.Tensor) -> Any:
        if not x.is_complex():
            return compare(x, y)
        return torch.where(x.real == y.real, compare(x.imag, y.imag), compare(x.real, y.real))

    return by_dtype(kernel, 0, lambda dtype: None if dtype.kind == "c" else compare)


KERNELS: dict[str, TableKernel] = {
    "div": torch.true_divide,
    "reciprocal": torch.reciprocal,
    "square": lambda x: x * x,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "cbrt": in_float32(_cbrt),
    "power_number": _power_number,
    "power": _power,
    "exp": torch.exp,
    "exp2": torch.exp2,
    "expm1": torch.expm1,
    "log": torch.log,
    "log2": torch.log2,
    "log10": torch.log10,
    "log1p": torch.log1p,
    "logaddexp": in_float32(torch.logaddexp),
    "logaddexp2": in_float32(torch.logaddexp2),
    "sigmoid": torch.sigmoid,
    "softplus": lambda x: functional.softplus(x, 1.0, _SOFTPLUS_LIMIT),
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "arcsin": torch.arcsin,
    "arccos": torch.arccos,
    "arctan": torch.arctan,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "tanh": torch.tanh,
    "arcsinh": torch.arcsinh,
    "arccosh": torch.arccosh,
    "arctanh": torch.arctanh,
    "arctan2": torch.arctan2,
    "hypot": in_float32(torch.hypot),
    "abs": torch.abs,
    "ldexp": _ldexp,
    "exponent": _exponent,
    "nextafter": _nextafter,
    "gcd": torch.gcd,
    "lcm": torch.lcm,
    "bitcast": of_unsigned(_bitcast, "first"),
    "eq": of_unsigned(torch.eq),
    "ne": of_unsigned(torch.ne),
    "lt": _in_order(torch.lt),
    "le": _in_order(torch.le),
    "gt": _in_order(torch.gt),
    "ge": _in_order(torch.ge),
    "isnan": torch.isnan,
    "isinf": torch.isinf,
    "isfinite": torch.isfinite,
    "signbit": torch.signbit,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
    "logical_not": torch.logical_not,
    "bitwise_and": by_bits(torch.bitwise_and),
    "bitwise_or": by_bits(torch.bitwise_or),
    "bitwise_xor": by_bits(torch.bitwise_xor),
    "bitwise_not": by_bits(torch.bitwise_not),
    "left_shift": _shifted(torch.bitwise_left_shift, torch.zeros_like),
    "right_shift": _shifted(torch.bitwise_right_shift, lambda x: -(x < 0).to(x.dtype)),
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "rint": torch.round,
    "sign": _sign,
    "floor_divide": _by_nonzero(torch.floor_divide),
    "maximum_iterations": view(_not_negative),
    "place_of_number": view(_found),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "clip": torch.clamp,
    "relu": torch.relu,
    "mod": _by_nonzero(_remainder),
    "fmod": _by_nonzero(torch.fmod),
    "copysign": torch.copysign,
    "heaviside": _heaviside,
    "angle": in_float32(torch.angle),
}
