"""Fourier transforms of short lines of real numbers, and their way back, written out.

Numbers at the same distance from both ends are taken together, as a sum and as a difference: the sums have the cosines,
the differences the sines. NumPy's functions take longer to begin with such a line than to transform it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from ..ir.builder import Builder
from ..ir.complex_numbers import Pair, pair_of
from ..ir.loops import FLOATS, Operand
from .forms import Stored, count_of

LONGEST = 8


def serves(real: Stored, halved: Stored, axis: int) -> bool:
    """Whether lines of real numbers are short, and those of their transforms as long as they should be."""
    n = real.shape[axis]
    return type(n) is int and 1 <= n <= LONGEST and halved.shape[axis] == n // 2 + 1 and real.type in FLOATS


def forward(b: Builder, x: Stored, out: Stored, axis: int) -> None:
    """Transforms all lines along an axis; both arrays are without gaps."""
    n, t = cast(int, x.shape[axis]), x.type
    with _lines(b, x, out, axis) as (places, targets):
        numbers = [b.load(x.array, place) for place in places]
        pairs = [(numbers[j], numbers[n - j]) for j in range(1, (n + 1) // 2)]
        sums = [b.let("add", t, *pair) for pair in pairs]
        less = [b.let("sub", t, second, first) for first, second in pairs]
        for k, target in enumerate(targets):
            re, im = numbers[0], 0.0
            for j in range(len(pairs)):
                cos, sin = _root(n, (j + 1) * k)
                re, im = _with(b, t, re, cos, sums[j]), _with(b, t, im, sin, less[j])
            if n % 2 == 0:
                re = _with(b, t, re, -1.0 if k % 2 else 1.0, numbers[n // 2])
            b.store(out.array, target, cast(Any, Pair(re, im)))


def backward(b: Builder, x: Stored, out: Stored, axis: int) -> None:
    """The way back, without a scale; of the first and of the middle number the imaginary part does not count."""
    n, t = cast(int, out.shape[axis]), out.type
    with _lines(b, x, out, axis) as (places, targets):
        numbers = [pair_of(b.load(x.array, place)) for place in places]
        twice = [(b.let("add", t, x.re, x.re), b.let("add", t, x.im, x.im)) for x in numbers[1 : (n + 1) // 2]]
        for j in range(n // 2 + 1):
            even, odd = numbers[0].re, 0.0
            for k, (re, im) in enumerate(twice, 1):
                cos, sin = _root(n, j * k)
                even, odd = _with(b, t, even, cos, re), _with(b, t, odd, sin, im)
            if n % 2 == 0:
                even = _with(b, t, even, -1.0 if j % 2 else 1.0, numbers[n // 2].re)
            b.store(out.array, targets[j], b.let("sub", t, even, odd))
            if 0 < j < n - j:
                b.store(out.array, targets[n - j], b.let("add", t, even, odd))


@contextmanager
def _lines(b: Builder, x: Stored, out: Stored, axis: int) -> Iterator[tuple[list[Operand], list[Operand]]]:
    """A loop over lines: where the numbers of a line are in each of two arrays."""
    blocks, lines = count_of(b, x.shape[:axis]), count_of(b, x.shape[axis + 1 :])
    with b.loop(0, blocks) as block, b.loop(0, lines) as line:
        found: list[list[Operand]] = []
        for a in (x, out):
            n = cast(int, a.shape[axis])
            first = b.add(a.offset, b.add(b.mul(b.mul(block, n), lines), line))
            found.append([b.add(first, b.mul(lines, k)) for k in range(n)])
        yield found[0], found[1]


def _root(n: int, k: int) -> tuple[float, float]:
    """Cosine and sine of k parts of n of a circle; exact at its quarters."""
    k %= n
    if 4 * k % n == 0:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[4 * k // n]
    angle = 2 * math.pi * k / n
    return math.cos(angle), math.sin(angle)


def _with(b: Builder, t: str, total: Operand, factor: float, x: Operand) -> Operand:
    """A total and a multiple of a number."""
    if factor == 0.0:
        return total
    if total == 0.0 and type(total) is float:
        return b.let("mul", t, x, factor)
    if abs(factor) == 1.0:
        return b.let("add" if factor > 0 else "sub", t, total, x)
    return b.let("fma", t, x, factor, total)
