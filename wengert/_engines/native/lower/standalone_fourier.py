"""Fourier transforms for programs that leave Python: loops of any length, in double precision.

A line is transformed in as many passes as its length has factors (4 where it can, then primes), each from one array to
another (Stockham's order, which needs no reversal of bits). A prime factor p costs p operations a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

from ..ir.builder import Builder
from ..ir.complex_numbers import Pair, pair_of
from ..ir.loops import Array, Operand
from .forms import Stored, count_of

Place = Callable[[Stored, Operand], Operand]


def along(b: Builder, name: str, x: Stored, out: Stored, axis: int) -> None:
    """Transforms all lines along an axis, without a scale.

    Args:
        b: the builder.
        name: "fft", "ifft", "rfft" or "irfft".
        x, out: both without gaps.
        axis: the axis of the lines.
    """
    n = out.shape[axis] if name == "irfft" else x.shape[axis]
    blocks, lines = count_of(b, x.shape[:axis]), count_of(b, x.shape[axis + 1 :])
    with b.when(b.let("gt", "i64", n, 0)):
        roots = _roots(b, n, 1.0 if name in ("ifft", "irfft") else -1.0)
        one, two = (b.alloc("c128", n) for _ in range(2))
        with b.loop(0, blocks) as block, b.loop(0, lines) as line:

            def place(a: Stored, k: Operand, block: Operand = block, line: Operand = line) -> Operand:
                row = b.add(b.mul(block, a.shape[axis]), k)
                return b.add(a.offset, b.add(b.mul(row, lines), line))

            if name == "irfft":
                _both_halves(b, x, n, one, place)
            else:
                with b.loop(0, n) as k:
                    b.store(one, k, _number(b, x, place(x, k)))
            _passes(b, n, one, two, roots)
            with b.loop(0, out.shape[axis]) as k:
                b.store(out.array, place(out, k), b.convert(out.type, "c128", b.load(one, k)))


def _roots(b: Builder, n: Operand, sign: float) -> Array:
    """e^(sign 2 pi i k / n) for each k below n."""
    found = b.alloc("c128", n)
    step = b.let("div", "f64", sign * 2 * math.pi, b.convert("f64", "i64", n))
    with b.loop(0, n) as k:
        is_far = b.let("gt", "i64", b.mul(k, 2), n)
        near = b.select("i64", is_far, b.sub(k, n), k)  # of a small angle, which rounds less
        angle = b.let("mul", "f64", step, b.convert("f64", "i64", near))
        b.store(found, k, _complex(b.let("cos", "f64", angle), b.let("sin", "f64", angle)))
    return found


def _passes(b: Builder, n: Operand, one: Array, two: Array, roots: Array) -> None:
    """Transforms the line in `one`, where the result is in the end, too."""
    done, rest = b.var("i64", 1), b.var("i64", n)

    def pass_() -> None:
        left, length = b.get(rest), b.get(done)
        p = _factor(b, left)
        rows = b.divided(left, p)
        _pass(b, n, p, length, rows, one, two, roots)
        b.swap(one, two)
        b.set(done, b.mul(length, p))
        b.set(rest, rows)

    b.repeat(lambda: b.let("gt", "i64", b.get(rest), 1), pass_)


def _factor(b: Builder, n: Operand) -> Operand:
    """4 if it divides a number, else its smallest prime factor."""
    found = b.var("i64", 2)

    def goes_on() -> Operand:
        p = b.get(found)
        is_open = b.let("le", "i64", b.mul(p, p), n)
        return b.both(is_open, b.let("ne", "i64", b.remainder(n, p), 0))

    b.repeat(goes_on, lambda: b.set(found, b.add(b.get(found), 1)))
    p = b.get(found)
    p = b.select("i64", b.let("gt", "i64", b.mul(p, p), n), n, p)
    return b.select("i64", b.let("eq", "i64", b.remainder(n, 4), 0), 4, p)


def _pass(
    b: Builder, n: Operand, p: Operand, length: Operand, rows: Operand, source: Array, target: Array, roots: Array
) -> None:  # fmt: skip
    """From transforms of some length to those p times as long: number k of row r is the sum over s of the roots
    (s k rows) times number k mod length of row r + s rows."""
    before = b.mul(rows, p)
    b.fill(target, 0, n)
    with b.loop(0, b.mul(length, p)) as k, b.loop(0, p) as s:
        root = b.load(roots, b.remainder(b.mul(b.mul(s, rows), k), n))
        start = b.add(b.mul(b.remainder(k, length), before), b.mul(rows, s))
        first = b.mul(k, rows)
        with b.loop(0, rows) as row:
            turned = b.let("mul", "c128", b.load(source, b.add(start, row)), root)
            place = b.add(first, row)
            b.store(target, place, b.let("add", "c128", b.load(target, place), turned))


def _both_halves(b: Builder, x: Stored, n: Operand, line: Array, place: Place) -> None:
    """A whole spectrum of half of one, whose other half is the mirror image."""
    with b.loop(0, n) as k:
        other = b.sub(n, k)
        is_given = b.let("le", "i64", k, other)
        z = pair_of(_number(b, x, place(x, b.select("i64", is_given, k, other))))
        is_real = b.either(b.let("eq", "i64", k, 0), b.let("eq", "i64", k, other))
        im = b.select("f64", is_given, z.im, b.let("neg", "f64", z.im))
        b.store(line, k, _complex(z.re, b.select("f64", is_real, 0.0, im)))


def _number(b: Builder, x: Stored, place: Operand) -> Operand:
    return b.convert("c128", x.type, b.load(x.array, place))


def _complex(re: Operand, im: Operand) -> Operand:
    return cast(Any, Pair(re, im))
