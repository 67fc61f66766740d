"""Tiles of products: the inner loops of convolutions, as functions in vector code.

A tile is a few rows of a result by a few vectors of its columns, all held in registers while the sum runs:

    c[r, j] (+)= sum over k of a[row r, k] * b[k, j]

Rows and terms lie anywhere in a, by strides: so windows of images are read where they are, and nothing is copied into
matrices. The columns of b and c lie side by side. A function is made for each form of tile (`Tile`), once in a process;
compiled code calls it by the name that says the form, `tile.NAME`:

    void (ptr a, ptr b, ptr c, i64 keeps, i64 down, i64 along, then for each level of k: i64 count, i64 in_a, i64 in_b)

`keeps` says whether to add to what c holds; `down` and `along` are the steps in c from row to row, of a grid of rows.
All steps count elements. One element of the result is one sum in the order of k, whatever the tile around it: results
do not depend on how they are cut into tiles.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from ..ir.loops import WIDTHS
from . import symbols
from .jit import WRITTEN, Loaded, library
from .target import is_x86, vector_bits

_KINDS = {"f64": "double", "f32": "float"}
_NAME = re.compile(r"(f32|f64)_(\d+)x(\d+)_(m?\d+)_(m?\d+)_(\d+)x(\d+)_(\d+)")


class Tile(NamedTuple):
    """The form of a tile.

    Attributes:
        type: of the elements.
        down, along: the grid of rows.
        down_step, along_step: steps in a, in elements, from row to row.
        vectors: how many stand side by side.
        lanes: columns of a vector.
        levels: the depth of the loops that the sum takes.
    """

    type: str
    down: int
    along: int
    down_step: int
    along_step: int
    vectors: int
    lanes: int
    levels: int

    @property
    def name(self) -> str:
        """What compiled code calls the function."""
        steps = "_".join(str(s).replace("-", "m") for s in (self.down_step, self.along_step))
        return f"tile.{self.type}_{self.down}x{self.along}_{steps}_{self.vectors}x{self.lanes}_{self.levels}"

    @property
    def columns(self) -> int:
        """How many columns it has."""
        return self.vectors * self.lanes


def most_lanes(type_: str) -> int:
    """The elements of the machine's widest vectors."""
    return vector_bits() // 8 // WIDTHS[type_]


def most_rows(vectors: int) -> int:
    """How many rows fit into the machine's registers, beside a row of b and one element of a."""
    registers = 32 if vector_bits() == 512 or not is_x86() else 16
    return (registers - 1 - vectors) // vectors


def tile_of(name: str) -> Tile | None:
    """The form that a name says."""
    found = _NAME.fullmatch(name.removeprefix("tile."))
    if found is None:
        return None
    type_, *rest = found.groups()
    down, along, down_step, along_step, vectors, lanes, levels = (int(n.replace("m", "-")) for n in rest)
    return Tile(type_, down, along, down_step, along_step, vectors, lanes, levels)


# -- code -------------------------------------------------------------------------------------------------------------


def text_of(tile: Tile) -> str:
    """The module of a tile's function, under the name `tile`."""
    levels = range(tile.levels)
    arguments = ", ".join(f"i64 %n{d}, i64 %a{d}, i64 %b{d}" for d in levels)
    vector = f"<{tile.lanes} x {_KINDS[tile.type]}>"
    lines = [
        f"declare {vector} @llvm.fmuladd.v{tile.lanes}{tile.type}({vector}, {vector}, {vector})",
        "define void @tile(ptr noalias nocapture readonly %a, ptr noalias nocapture readonly %b, "
        f"ptr noalias nocapture %c, i64 %keeps, i64 %down, i64 %along, {arguments}) #0 {{",
        "entry:",
        *_places(tile),
        "  %adds = icmp ne i64 %keeps, 0",
        "  br i1 %adds, label %load, label %begin",
        "load:",
        *(f"  %old{r}.{v} = load {vector}, ptr %c{r}.{v}, align {WIDTHS[tile.type]}" for r, v in _cells(tile)),
        "  br label %begin",
        "begin:",
        *(f"  %s{r}.{v} = phi {vector} [ zeroinitializer, %entry ], [ %old{r}.{v}, %load ]" for r, v in _cells(tile)),
        "  br label %head0",
    ]
    for depth in levels:
        lines += _head(tile, depth, vector)
    lines += _body(tile, vector)
    for depth in reversed(levels):
        lines += _latch(tile, depth)
    lines += [
        "exit0:",
        *(f"  store {vector} %s0.{r}.{v}, ptr %c{r}.{v}, align {WIDTHS[tile.type]}" for r, v in _cells(tile)),
        "  ret void",
        "}",
        "attributes #0 = { nounwind }",
        "",
    ]
    return "\n".join(lines)


def _rows(tile: Tile) -> range:
    return range(tile.down * tile.along)


def _cells(tile: Tile) -> Iterator[tuple[int, int]]:
    return ((r, v) for r in _rows(tile) for v in range(tile.vectors))


def _places(tile: Tile) -> Iterator[str]:
    """Where the rows of the result begin, and their vectors."""
    kind = _KINDS[tile.type]
    for r in _rows(tile):
        i, j = divmod(r, tile.along)
        yield f"  %i{r} = mul i64 %down, {i}"
        yield f"  %j{r} = mul i64 %along, {j}"
        yield f"  %p{r} = add i64 %i{r}, %j{r}"
        for v in range(tile.vectors):
            yield f"  %q{r}.{v} = add i64 %p{r}, {v * tile.lanes}"
            yield f"  %c{r}.{v} = getelementptr {kind}, ptr %c, i64 %q{r}.{v}"


def _head(tile: Tile, depth: int, vector: str) -> list[str]:
    """The beginning of a loop: where it stands in a and b, and the sums so far."""
    before = "begin" if depth == 0 else f"body{depth - 1}"
    a, b, total = ("%a", "%b", "%s") if depth == 0 else (f"%pa{depth - 1}", f"%pb{depth - 1}", f"%s{depth - 1}.")
    again = f"latch{depth}"
    inner = depth + 1 == tile.levels
    return [
        f"head{depth}:",
        f"  %k{depth} = phi i64 [ 0, %{before} ], [ %k{depth}.next, %{again} ]",
        f"  %pa{depth} = phi ptr [ {a}, %{before} ], [ %pa{depth}.next, %{again} ]",
        f"  %pb{depth} = phi ptr [ {b}, %{before} ], [ %pb{depth}.next, %{again} ]",
        *(
            f"  %s{depth}.{r}.{v} = phi {vector} [ {total}{r}.{v}, %{before} ], "
            f"[ {f'%t{r}.{v}' if inner else f'%s{depth + 1}.{r}.{v}'}, %{again} ]"
            for r, v in _cells(tile)
        ),
        f"  %more{depth} = icmp slt i64 %k{depth}, %n{depth}",
        f"  br i1 %more{depth}, label %body{depth}, label %exit{depth}",
        f"body{depth}:",
        *([] if inner else [f"  br label %head{depth + 1}"]),
    ]


def _body(tile: Tile, vector: str) -> list[str]:
    """One term of each sum."""
    kind, lanes, depth = _KINDS[tile.type], tile.lanes, tile.levels - 1
    lines: list[str] = []
    for v in range(tile.vectors):
        lines.append(f"  %y{v}.p = getelementptr {kind}, ptr %pb{depth}, i64 {v * lanes}")
        lines.append(f"  %y{v} = load {vector}, ptr %y{v}.p, align {WIDTHS[tile.type]}")
    for r in _rows(tile):
        i, j = divmod(r, tile.along)
        lines += [
            f"  %x{r}.p = getelementptr {kind}, ptr %pa{depth}, i64 {i * tile.down_step + j * tile.along_step}",
            f"  %x{r}.one = load {kind}, ptr %x{r}.p",
            f"  %x{r}.first = insertelement {vector} poison, {kind} %x{r}.one, i64 0",
            f"  %x{r} = shufflevector {vector} %x{r}.first, {vector} poison, <{lanes} x i32> zeroinitializer",
        ]
        lines += [
            f"  %t{r}.{v} = call {vector} @llvm.fmuladd.v{lanes}{tile.type}({vector} %x{r}, {vector} %y{v}, "
            f"{vector} %s{depth}.{r}.{v})"
            for v in range(tile.vectors)
        ]
    lines.append(f"  br label %latch{depth}")
    return lines


def _latch(tile: Tile, depth: int) -> list[str]:
    """The end of an iteration, where the loop inside it is over."""
    kind = _KINDS[tile.type]
    inner = [] if depth + 1 == tile.levels else [f"exit{depth + 1}:", f"  br label %latch{depth}"]
    return [
        *inner,
        f"latch{depth}:",
        f"  %k{depth}.next = add nuw nsw i64 %k{depth}, 1",
        f"  %pa{depth}.next = getelementptr {kind}, ptr %pa{depth}, i64 %a{depth}",
        f"  %pb{depth}.next = getelementptr {kind}, ptr %pb{depth}, i64 %b{depth}",
        f"  br label %head{depth}",
    ]


@functools.cache  # for as long as the process: other modules call them
def _loaded(tile: Tile) -> Loaded:
    # vector code already: LLVM's passes have nothing to do
    return library(text_of(tile), "tile", effort=WRITTEN)


def _address(name: str) -> int:
    tile = tile_of(name)
    return 0 if tile is None else _loaded(tile).address


symbols.register_family("tile", _address, is_compiled=True)
