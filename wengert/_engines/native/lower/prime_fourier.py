"""Fourier transforms of lines whose length is a prime, complex and real, and the way back: products with matrices of
cosines and sines.

Numbers at the same distance from both ends are taken together, as a sum and as a difference: the sums have the cosines,
the differences the sines. Of no factor but its own a length has no shorter transforms, and up to some hundred numbers
the products take less time than the longer transforms that do it otherwise (Bluestein's), for they are vector code.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from ..ir.builder import Builder
from ..ir.complex_numbers import Pair, pair_of
from ..ir.loops import FLOATS, ITEM, Array, Operand
from .blocks import Block
from .forms import Stored, count_of

SHORTEST, LONGEST = 11, 257
_AT_ONCE = 4  # rows of a matrix that one pass over totals adds
_WHOLE = 16  # rows are as long as vectors fill
_DTYPES = {"f64": np.float64, "f32": np.float32}


def serves(n: Operand) -> bool:
    """Whether a length is a prime of moderate size."""
    return type(n) is int and SHORTEST <= n <= LONGEST and all(n % p for p in range(2, math.isqrt(n) + 1))


def serves_real(real: Stored, halved: Stored, axis: int) -> bool:
    """Whether lines of real numbers have such a length, and their transforms the one that they should have."""
    n = real.shape[axis]
    return serves(n) and halved.shape[axis] == cast(int, n) // 2 + 1 and real.type in FLOATS


@functools.cache
def _tables(n: int, type_: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Cosines and sines of j k parts of n of a circle, for j and k from 1 to below n / 2; rows end in zeros."""
    half = n // 2
    width = -(-half // _WHOLE) * _WHOLE
    turns = np.outer(np.arange(1, half + 1), np.arange(1, half + 1)) % n
    is_far = 2 * turns > n
    angle = 2 * np.pi * np.where(is_far, n - turns, turns) / n  # of up to half of it, which round less
    found = np.zeros((2, half, width), _DTYPES[type_])
    found[0, :, :half], found[1, :, :half] = np.cos(angle), np.where(is_far, -1.0, 1.0) * np.sin(angle)
    return found[0].ravel(), found[1].ravel()


class _Product(NamedTuple):
    """Numbers times a matrix, for each line anew."""

    matrix: Array
    numbers: Array
    totals: Array


class _Lines:
    """Transforms lines of one length and type.

    Attributes:
        half: how many numbers have another at the same distance from the other end.
        even, odd: products of the sums with cosines and of the differences with sines, one for each part.
    """

    def __init__(self, block: Block, n: int, type_: str, parts: int) -> None:
        b, self.n, self.type, self.half = block.b, n, type_, n // 2
        self.b = b
        cosines, sines = _tables(n, type_)
        self.width = len(cosines) // self.half

        def products(table: np.ndarray[Any, Any]) -> list[_Product]:
            matrix = block.setting.constant(table)
            return [_Product(matrix, b.alloc(type_, self.half), b.alloc(type_, self.width)) for _ in range(parts)]

        self.even, self.odd = products(cosines), products(sines)

    def take(self, j: Operand, sums: list[Operand], differences: list[Operand]) -> None:
        """Sets number j of what is multiplied, counted from 0."""
        for product, x in zip((*self.even, *self.odd), (*sums, *differences), strict=True):
            self.b.store(product.numbers, j, x)

    def multiply(self, first: list[Operand]) -> list[Operand]:
        """Computes the products, to which the first numbers of a line are added; the sums of its numbers."""
        b = self.b
        for product, x in zip((*self.even, *self.odd), (*first, *[0.0] * len(first)), strict=True):
            with b.loop(0, self.width) as k:
                b.store(product.totals, k, x)
        whole = self.half // _AT_ONCE
        with b.loop(0, whole) as group:
            self._add(b.mul(group, _AT_ONCE), _AT_ONCE)
        if self.half % _AT_ONCE:
            self._add(whole * _AT_ONCE, self.half % _AT_ONCE)
        return [self._sum(product.numbers, x) for product, x in zip(self.even, first, strict=True)]

    def _add(self, row: Operand, count: int) -> None:
        """Adds some rows, from one on, to the totals."""
        b, products = self.b, (*self.even, *self.odd)
        factors = [[b.load(p.numbers, b.add(row, r)) for r in range(count)] for p in products]
        with b.loop(0, self.width) as k:
            totals: list[Operand] = []
            for product, factor in zip(products, factors, strict=True):
                total: Operand = b.load(product.totals, k)
                for r in range(count):
                    place = b.add(b.mul(b.add(row, r), self.width), k)
                    total = b.let("fma", self.type, factor[r], b.load(product.matrix, place), total)
                totals.append(total)
            for product, total in zip(products, totals, strict=True):
                b.store(product.totals, k, total)

    def _sum(self, numbers: Array, first: Operand) -> Operand:
        b, total = self.b, self.b.var(self.type, first)
        with b.loop(0, self.half) as j:
            b.set(total, b.let("sum", self.type, b.get(total), b.load(numbers, j)))
        return b.get(total)

    def total(self, product: _Product, k: Operand) -> Operand:
        return self.b.load(product.totals, k)


Place = Callable[[Stored, Operand], Operand]


def over_lines(b: Builder, x: Stored, out: Stored, axis: int, body: Callable[[Place], None]) -> None:
    """A loop over lines: where a number of a line is in an array."""
    blocks, lines = count_of(b, x.shape[:axis]), count_of(b, x.shape[axis + 1 :])
    with b.loop(0, blocks) as block, b.loop(0, lines) as line:

        def place(a: Stored, k: Operand) -> Operand:
            row = b.add(b.mul(block, a.shape[axis]), k)
            return b.add(a.offset, b.add(b.mul(row, lines), line))

        body(place)
        b.poll(64)


def forward(block: Block, x: Stored, out: Stored, axis: int) -> None:
    """Transforms lines of real numbers along an axis; both arrays are without gaps."""
    b, n, t = block.b, cast(int, x.shape[axis]), x.type
    lines = _Lines(block, n, t, 1)

    def line(place: Place) -> None:
        with b.loop(0, lines.half) as j:
            one, two = b.load(x.array, place(x, b.add(j, 1))), b.load(x.array, place(x, b.sub(n - 1, j)))
            lines.take(j, [b.let("add", t, one, two)], [b.let("sub", t, two, one)])
        (total,) = lines.multiply([b.load(x.array, place(x, 0))])
        b.store(out.array, place(out, 0), cast(Any, Pair(total, 0.0)))
        with b.loop(0, lines.half) as k:
            found = Pair(lines.total(lines.even[0], k), lines.total(lines.odd[0], k))
            b.store(out.array, place(out, b.add(k, 1)), cast(Any, found))

    over_lines(b, x, out, axis, line)


def backward(block: Block, x: Stored, out: Stored, axis: int) -> None:
    """The way back, without a scale; of the first number the imaginary part does not count."""
    b, n, t = block.b, cast(int, out.shape[axis]), out.type
    lines = _Lines(block, n, t, 1)

    def line(place: Place) -> None:
        with b.loop(0, lines.half) as k:
            z = pair_of(b.load(x.array, place(x, b.add(k, 1))))
            lines.take(k, [b.let("add", t, z.re, z.re)], [b.let("add", t, z.im, z.im)])
        (total,) = lines.multiply([pair_of(b.load(x.array, place(x, 0))).re])
        b.store(out.array, place(out, 0), total)
        with b.loop(0, lines.half) as j:
            even, odd = lines.total(lines.even[0], j), lines.total(lines.odd[0], j)
            b.store(out.array, place(out, b.add(j, 1)), b.let("sub", t, even, odd))
            b.store(out.array, place(out, b.sub(n - 1, j)), b.let("add", t, even, odd))

    over_lines(b, x, out, axis, line)


def whole(block: Block, x: Stored, out: Stored, axis: int, is_inverse: bool) -> None:
    """Transforms lines of complex numbers, or back, without a scale; out may be x."""
    b, n, t = block.b, cast(int, x.shape[axis]), ITEM[x.type]
    lines = _Lines(block, n, t, 2)

    def line(place: Place) -> None:
        with b.loop(0, lines.half) as j:
            ends = (b.load(x.array, place(x, b.add(j, 1))), b.load(x.array, place(x, b.sub(n - 1, j))))
            one, two = map(pair_of, ends)
            lines.take(
                j, [b.let("add", t, one.re, two.re), b.let("add", t, one.im, two.im)],
                [b.let("sub", t, one.re, two.re), b.let("sub", t, one.im, two.im)],
            )  # fmt: skip
        first = pair_of(b.load(x.array, place(x, 0)))
        sums = lines.multiply([first.re, first.im])
        b.store(out.array, place(out, 0), cast(Any, Pair(*sums)))
        with b.loop(0, lines.half) as k:
            even, odd = ([lines.total(p, k) for p in parts] for parts in (lines.even, lines.odd))
            # with i times the odd part, and less it
            more = Pair(b.let("sub", t, even[0], odd[1]), b.let("add", t, even[1], odd[0]))
            less = Pair(b.let("add", t, even[0], odd[1]), b.let("sub", t, even[1], odd[0]))
            near, far = (more, less) if is_inverse else (less, more)
            b.store(out.array, place(out, b.add(k, 1)), cast(Any, near))
            b.store(out.array, place(out, b.sub(n - 1, k)), cast(Any, far))

    over_lines(b, x, out, axis, line)
