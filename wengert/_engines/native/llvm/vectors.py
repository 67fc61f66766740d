"""Vectors of floats in IR as text: what written-out vector code (`multiply.py`, `microtiles.py`) is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ..ir.loops import WIDTHS
from .target import has_fma, vector_bits
from .values import REGISTER

_NO_MASKS: Mapping[int, str] = MappingProxyType({})


def most_lanes(type_: str) -> int:
    """The elements of the machine's widest vectors."""
    return vector_bits() // 8 // WIDTHS[type_]


class Vectors:
    """Writes instructions on vectors of so many lanes.

    Attributes:
        suffix: the type of an element, "f64" say.
        kind: how LLVM writes it.
        align: its bytes.
        vec, mask: vectors of elements and of flags.
        short: how LLVM's functions on such vectors end.
    """

    def __init__(self, type_: str, lanes: int) -> None:
        self.suffix, self.kind, self.align, self.lanes = type_, REGISTER[type_], WIDTHS[type_], lanes
        self.vec = f"<{self.lanes} x {self.kind}>"
        self.mask = f"<{self.lanes} x i1>"
        self.short = f"v{self.lanes}{type_}"

    def load(self, out: str, pointer: str, mask: str = "") -> str:
        if not mask:
            return f"  {out} = load {self.vec}, ptr {pointer}, align {self.align}"
        return (
            f"  {out} = call {self.vec} @llvm.masked.load.{self.short}.p0(ptr {pointer}, i32 {self.align}, "
            f"{self.mask} {mask}, {self.vec} zeroinitializer)"
        )

    def store(self, value: str, pointer: str, mask: str = "") -> str:
        if not mask:
            return f"  store {self.vec} {value}, ptr {pointer}, align {self.align}"
        return (
            f"  call void @llvm.masked.store.{self.short}.p0({self.vec} {value}, ptr {pointer}, i32 {self.align}, "
            f"{self.mask} {mask})"
        )

    def splat(self, out: str, value: str) -> list[str]:
        """A number in all lanes."""
        return [
            f"  {out}.one = insertelement {self.vec} poison, {self.kind} {value}, i64 0",
            f"  {out} = shufflevector {self.vec} {out}.one, {self.vec} poison, <{self.lanes} x i32> zeroinitializer",
        ]

    def first(self, out: str, count: str) -> list[str]:
        """The mask of the first so many lanes."""
        wide = f"<{self.lanes} x i64>"
        return [
            f"  {out}.one = insertelement {wide} poison, i64 {count}, i64 0",
            f"  {out}.all = shufflevector {wide} {out}.one, {wide} poison, <{self.lanes} x i32> zeroinitializer",
            f"  {out} = icmp slt {wide} <{', '.join(f'i64 {i}' for i in range(self.lanes))}>, {out}.all",
        ]

    def at(self, out: str, base: str, index: str | int) -> str:
        return f"  {out} = getelementptr {self.kind}, ptr {base}, i64 {index}"

    def fma(self, out: str, x: str, y: str, total: str) -> str:
        if not has_fma():
            return f"  {out}.term = fmul {self.vec} {x}, {y}\n  {out} = fadd {self.vec} {out}.term, {total}"
        given = f"{self.vec} {x}, {self.vec} {y}, {self.vec} {total}"
        return f"  {out} = call {self.vec} @llvm.fma.{self.short}({given})"

    def term(
        self, elements: Sequence[tuple[str, str | int]], row: str, vectors: int, totals: str,
        masks: Mapping[int, str] = _NO_MASKS,
    ) -> list[str]:  # fmt: skip
        """One term of each sum of a tile: `%n{i}.{v}`, an element of each row of a times each vector of a row of b.

        Args:
            elements: of a, each an address and how many elements behind it.
            row: the address of the vectors.
            vectors: how many there are.
            totals: what the sums so far are called, before `{i}.{v}`.
            masks: by vector, which of its lanes there are; all where nothing is said.
        """
        lines: list[str] = []
        for v in range(vectors):
            lines += [self.at(f"%b.at{v}", row, v * self.lanes), self.load(f"%b{v}", f"%b.at{v}", masks.get(v, ""))]
        for i, (base, index) in enumerate(elements):
            lines += [self.at(f"%a.at{i}", base, index), f"  %x{i} = load {self.kind}, ptr %a.at{i}"]
            lines += self.splat(f"%w{i}", f"%x{i}")
            lines += [self.fma(f"%n{i}.{v}", f"%w{i}", f"%b{v}", f"{totals}{i}.{v}") for v in range(vectors)]
        return lines

    def term_of_pairs(
        self, elements: Sequence[tuple[str, str]], row: str, vectors: int, totals: str, masks: Mapping[int, str]
    ) -> list[str]:  # fmt: skip
        """As `term`, of complex numbers whose parts lie side by side: each vector goes into sums as it is times real
        parts, and as i times it, with its parts exchanged, times imaginary ones."""
        lines: list[str] = []
        for i, (base, index) in enumerate(elements):
            lines += [self.at(f"%a.at{i}", base, index), f"  %x{i} = load {self.kind}, ptr %a.at{i}"]
            lines += [self.at(f"%a.im{i}", f"%a.at{i}", 1), f"  %y{i} = load {self.kind}, ptr %a.im{i}"]
            lines += [*self.splat(f"%w{i}", f"%x{i}"), *self.splat(f"%z{i}", f"%y{i}")]
        turned = ", ".join(f"i32 {j}" for k in range(0, self.lanes, 2) for j in (self.lanes + k + 1, k))
        for v in range(vectors):
            lines += [self.at(f"%b.at{v}", row, v * self.lanes), self.load(f"%b{v}", f"%b.at{v}", masks.get(v, ""))]
            lines.append(f"  %less{v} = fneg {self.vec} %b{v}")
            pair = f"{self.vec} %b{v}, {self.vec} %less{v}"
            lines.append(f"  %turned{v} = shufflevector {pair}, <{self.lanes} x i32> <{turned}>")
            for i in range(len(elements)):
                lines.append(self.fma(f"%half{i}.{v}", f"%w{i}", f"%b{v}", f"{totals}{i}.{v}"))
                lines.append(self.fma(f"%n{i}.{v}", f"%z{i}", f"%turned{v}", f"%half{i}.{v}"))
        return lines

    def term_by_lane(
        self, elements: Sequence[tuple[str, str | int]], row: str, vectors: int, totals: str
    ) -> list[str]:  # fmt: skip
        """As `term`, of as many elements of each row of a as there are of b."""
        lines: list[str] = []
        for v in range(vectors):
            lines += [self.at(f"%b.at{v}", row, v * self.lanes), self.load(f"%b{v}", f"%b.at{v}")]
        for i, (base, index) in enumerate(elements):
            lines.append(self.at(f"%a.at{i}", base, index))
            for v in range(vectors):
                own = f"{i}.{v}"
                lines += [self.at(f"%a.at{own}", f"%a.at{i}", v * self.lanes), self.load(f"%x{own}", f"%a.at{own}")]
                lines.append(self.fma(f"%n{own}", f"%x{own}", f"%b{v}", f"{totals}{own}"))
        return lines

    def declarations(self) -> list[str]:
        vec, mask = self.vec, self.mask
        return [
            f"declare {vec} @llvm.fma.{self.short}({vec}, {vec}, {vec})",
            f"declare {vec} @llvm.masked.load.{self.short}.p0(ptr, i32, {mask}, {vec})",
            f"declare void @llvm.masked.store.{self.short}.p0({vec}, ptr, i32, {mask})",
            f"declare {self.kind} @llvm.vector.reduce.fadd.{self.short}({self.kind}, {vec})",
        ]
