"""IR of vector code under construction: lines with names for what they compute, and complex numbers in two vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from .vectors import Vectors

_CACHE_LINE = 64  # bytes


class InLanes(Protocol):
    """What code is written for: so many lanes."""

    @property
    def lanes(self) -> int: ...


F = TypeVar("F", bound=InLanes)


class Text(Generic[F]):
    """Lines of IR, with names for what they compute."""

    def __init__(self, form: F, type_: str) -> None:
        """`type_`: of the lanes' elements."""
        self.form, self.t = form, Vectors(type_, form.lanes)
        self.lines: list[str] = []
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def let(self, code: str) -> str:
        found = self.name()
        self.lines.append(f"  {found} = {code}")
        return found

    def label(self, name: str) -> None:
        """The beginning of a block, to which the one before goes on."""
        self.lines += [f"  br label %{name}", f"{name}:"]

    def loop(self, count: str, body: Callable[[str], None], first: int | str = 0, step: int = 1) -> None:
        """`body(i)` for each step from a first one to below a count."""
        self.count += 1
        mark = self.count
        self.label(f"before{mark}")
        self.label(f"head{mark}")
        self.lines += [
            f"  %i{mark} = phi i64 [ {first}, %before{mark} ], [ %next{mark}, %latch{mark} ]",
            f"  %more{mark} = icmp slt i64 %i{mark}, {count}",
            f"  br i1 %more{mark}, label %body{mark}, label %done{mark}",
            f"body{mark}:",
        ]
        body(f"%i{mark}")
        self.label(f"latch{mark}")
        self.lines += [f"  %next{mark} = add nuw nsw i64 %i{mark}, {step}", f"  br label %head{mark}", f"done{mark}:"]

    def fold(
        self, count: str, starts: list[tuple[str, str]], body: Callable[[str, list[str]], list[str]],
        first: int | str = 0,
    ) -> list[str]:  # fmt: skip
        """What values of some types have become in the end, which `body(i, values)` changes in each step."""
        self.count += 1
        mark, places = self.count, list[int]()
        values = [f"%c{mark}.{k}" for k in range(len(starts))]
        self.label(f"start{mark}")
        self.label(f"turn{mark}")
        self.lines.append(f"  %i{mark} = phi i64 [ {first}, %start{mark} ], [ %next{mark}, %round{mark} ]")
        for _ in starts:
            places.append(len(self.lines))
            self.lines.append("")
        self.lines += [
            f"  %more{mark} = icmp slt i64 %i{mark}, {count}",
            f"  br i1 %more{mark}, label %step{mark}, label %over{mark}",
            f"step{mark}:",
        ]
        found = body(f"%i{mark}", values)
        self.label(f"round{mark}")
        self.lines += [f"  %next{mark} = add nuw nsw i64 %i{mark}, 1", f"  br label %turn{mark}", f"over{mark}:"]
        for place, value, (kind, start), changed in zip(places, values, starts, found, strict=True):
            self.lines[place] = f"  {value} = phi {kind} [ {start}, %start{mark} ], [ {changed}, %round{mark} ]"
        return values

    def times(self, x: str, n: int | str) -> str:
        return x if n == 1 else "0" if x == "0" else self.let(f"mul i64 {x}, {n}")

    def plus(self, x: str, n: int | str) -> str:
        return x if n in (0, "0") else str(n) if x == "0" else self.let(f"add i64 {x}, {n}")

    def at(self, base: str, index: str | int) -> str:
        found = self.name()
        self.lines.append(self.t.at(found, base, index))
        return found

    def load(self, base: str, index: str | int) -> str:
        place, found = self.at(base, index), self.name()
        self.lines.append(self.t.load(found, place))
        return found

    def store(self, value: str, base: str, index: str | int) -> None:
        self.lines.append(self.t.store(value, self.at(base, index)))

    def prefetch(self, base: str, index: str, count: int) -> None:
        """Has so many elements on their way into the cache that are asked for later."""
        for k in range(0, count, _CACHE_LINE // self.t.align):
            place = self.at(base, self.plus(index, k))
            self.lines.append(f"  call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 2, i32 1)")

    def fma(self, x: str, y: str, total: str) -> str:
        found = self.name()
        self.lines.append(self.t.fma(found, x, y, total))
        return found

    def op(self, name: str, x: str, y: str) -> str:
        return self.let(f"{name} {self.t.vec} {x}, {y}")

    def number(self, x: float) -> str:
        """A number in all lanes."""
        kind = self.t.kind
        word = np.float64(np.float32(x) if kind == "float" else x).view(np.uint64)
        return "<" + ", ".join([f"{kind} 0x{int(word):016X}"] * self.t.lanes) + ">"

    def splat(self, base: str, index: str) -> str:
        """An element of an array in all lanes."""
        element, found = self.let(f"load {self.t.kind}, ptr {self.at(base, index)}"), self.name()
        self.lines += self.t.splat(found, element)
        return found

    def shuffle(self, x: str, y: str, lanes: list[int]) -> str:
        """Lanes of two vectors, counted through both."""
        mask = ", ".join(f"i32 {i}" for i in lanes)
        return self.let(f"shufflevector {self.t.vec} {x}, {self.t.vec} {y}, <{len(lanes)} x i32> <{mask}>")


Pair = tuple[str, str]


class Numbers:
    """Operations on vectors of complex numbers."""

    def __init__(self, text: Text[Any]) -> None:
        self.text = text

    def add(self, x: Pair, y: Pair) -> Pair:
        return self.text.op("fadd", x[0], y[0]), self.text.op("fadd", x[1], y[1])

    def sub(self, x: Pair, y: Pair) -> Pair:
        return self.text.op("fsub", x[0], y[0]), self.text.op("fsub", x[1], y[1])

    def scaled(self, x: Pair, number: float) -> Pair:
        constant = self.text.number(number)
        return self.text.op("fmul", x[0], constant), self.text.op("fmul", x[1], constant)

    def plus(self, total: Pair, *terms: tuple[Pair, float]) -> Pair:
        """A total and multiples of other numbers."""
        text = self.text
        for x, number in terms:
            found: list[str] = []
            for part, before in zip(x, total, strict=True):
                found.append(text.fma(part, text.number(number), before))
            total = (found[0], found[1])
        return total

    def less_turned(self, x: Pair, y: Pair) -> Pair:
        """x - i y."""
        return self.text.op("fadd", x[0], y[1]), self.text.op("fsub", x[1], y[0])

    def more_turned(self, x: Pair, y: Pair) -> Pair:
        """x + i y."""
        return self.text.op("fsub", x[0], y[1]), self.text.op("fadd", x[1], y[0])

    def product(self, x: Pair, w: Pair) -> Pair:
        text, (re, im), (wre, wim) = self.text, x, w
        negated = text.let(f"fneg {text.t.vec} {text.op('fmul', im, wim)}")
        return text.fma(re, wre, negated), text.fma(re, wim, text.op("fmul", im, wre))

    def transform(self, x: list[Pair]) -> list[Pair]:
        """Of as many numbers as a factor."""
        return {2: self._two, 3: self._three, 4: self._four}.get(len(x), self._odd)(x)

    def _two(self, x: list[Pair]) -> list[Pair]:
        return [self.add(*x), self.sub(*x)]

    def _three(self, x: list[Pair]) -> list[Pair]:
        both = self.add(x[1], x[2])
        middle = self.plus(x[0], (both, -0.5))
        turned = self.scaled(self.sub(x[1], x[2]), math.sqrt(0.75))
        return [self.add(x[0], both), self.less_turned(middle, turned), self.more_turned(middle, turned)]

    def _four(self, x: list[Pair]) -> list[Pair]:
        even, odd = self.add(x[0], x[2]), self.sub(x[0], x[2])
        other, turned = self.add(x[1], x[3]), self.sub(x[1], x[3])
        one, three = self.less_turned(odd, turned), self.more_turned(odd, turned)
        return [self.add(even, other), one, self.sub(even, other), three]

    def _odd(self, x: list[Pair]) -> list[Pair]:
        """Numbers at the same distance from both ends are taken together: sums have the cosines, differences sines."""
        p = len(x)
        half = p // 2
        sums = [self.add(x[j], x[p - j]) for j in range(1, half + 1)]
        turned = [self.sub(x[j], x[p - j]) for j in range(1, half + 1)]
        total, near, far = x[0], list[Pair](), list[Pair]()
        for both in sums:
            total = self.add(total, both)
        for k in range(1, half + 1):
            angles = [2 * math.pi * (j * k % p) / p for j in range(1, half + 1)]
            even = self.plus(x[0], *zip(sums, map(math.cos, angles), strict=True))
            first, *rest = zip(turned, map(math.sin, angles), strict=True)
            odd = self.plus(self.scaled(*first), *rest)
            near.append(self.less_turned(even, odd))
            far.append(self.more_turned(even, odd))
        return [total, *near, *reversed(far)]
