"""Fourier transforms of the plain-Python engine, by their definition."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from tests.support.python_engine.array import PyArray, along
from wengert._core import dtypes


def _transformed(lane: list[Any], sign: int, count: int) -> list[Any]:
    """The first `count` sums of x_j e^(sign 2 pi i j k / n)."""
    n = len(lane)
    turns = [cmath.exp(sign * 2j * math.pi * k / n) for k in range(n)]
    return [sum((v * turns[j * k % n] for j, v in enumerate(lane)), 0j) for k in range(count)]


def dft(x: PyArray, axes: tuple[int, ...], inverse: bool) -> PyArray:
    """The transform along axes, not scaled."""
    for axis in axes:
        x = along(x, axis, lambda lane: _transformed(lane, 1 if inverse else -1, len(lane)))
    return x


def rfft(x: PyArray, axis: int) -> PyArray:
    """The first half of the spectrum of real numbers."""
    return along(x, axis, lambda lane: _transformed(lane, -1, len(lane) // 2 + 1), dtypes.complex_of(x.dtype))


def irfft(x: PyArray, axis: int, size: int) -> PyArray:
    """Real numbers from the first half of their spectrum, not scaled."""

    def one(lane: list[Any]) -> list[Any]:
        entries = (lane + [0j] * size)[: size // 2 + 1]
        mirrored = [entries[size - k].conjugate() for k in range(size // 2 + 1, size)]
        return [v.real for v in _transformed([*entries[:size], *mirrored], 1, size)]

    return along(x, axis, lambda lane: one(_hermitian(lane, size)), dtypes.real_of(x.dtype))


def _hermitian(lane: list[Any], size: int) -> list[Any]:
    """The entries that stand for themselves alone, real."""
    return [complex(v.real) if k == 0 or 2 * k == size else v for k, v in enumerate(lane)]


def paired_scale(x: PyArray, axis: int, size: int, factor: float) -> PyArray:
    """Half a spectrum whose entries that stand for two are scaled."""
    return along(x, axis, lambda lane: [v if k == 0 or 2 * k >= size else v * factor for k, v in enumerate(lane)])


KERNELS: dict[str, Callable[..., Any]] = {"dft": dft, "rfft": rfft, "irfft": irfft, "paired_scale": paired_scale}
