"""Tiles of products: the inner loops of convolutions, as functions in vector code.

A tile is a few rows of a result by a few vectors of its columns, all held in registers while the sum runs:

    c[r, j] (+)= sum over k of a[row r, k] * b[k, j]

Rows and terms lie anywhere in a, by strides: so windows of images are read where they are, and nothing is copied into
matrices. In tiles by lane each column has its own elements in a, side by side: a[row r, k, j] in place of a[row r, k].
The columns of b and c lie side by side. A function is made for each form of tile (`Tile`), once in a process; compiled
code calls it by the name that says the form, `tile.NAME`:

    void (ptr a, ptr b, ptr c, i64 keeps, i64 down, i64 along, then for each level of k: i64 count, i64 in_a, i64 in_b)

`keeps` says whether to add to what c holds; `down` and `along` are the steps in c from row to row, of a grid of rows.
All steps count elements. One element of the result is one sum in the order of k, whatever the tile around it: results
do not depend on how they are cut into tiles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .jit import written
from .target import is_x86, vector_bits
from .vectors import Vectors

_NAME = re.compile(r"(f32|f64)_(\d+)x(\d+)_(m?\d+)_(m?\d+)_(\d+)x(\d+)_(\d+)(l?)")


class Tile(NamedTuple):
    """The form of a tile.

    Attributes:
        type: of the elements.
        down, along: the grid of rows.
        down_step, along_step: steps in a, in elements, from row to row.
        vectors: how many stand side by side.
        lanes: columns of a vector.
        levels: the depth of the loops that the sum takes.
        is_by_lane: whether each column has elements of its own in a.
    """

    type: str
    down: int
    along: int
    down_step: int
    along_step: int
    vectors: int
    lanes: int
    levels: int
    is_by_lane: bool = False

    @property
    def name(self) -> str:
        """What compiled code calls the function."""
        steps = "_".join(str(s).replace("-", "m") for s in (self.down_step, self.along_step))
        return f"tile.{self.type}_{self.down}x{self.along}_{steps}_{self.vectors}x{self.lanes}_{self.levels}" + (
            "l" if self.is_by_lane else ""
        )

    @property
    def columns(self) -> int:
        """How many columns it has."""
        return self.vectors * self.lanes


def most_rows(vectors: int) -> int:
    """How many rows fit into the machine's registers, beside a row of b and one element of a."""
    registers = 32 if vector_bits() == 512 or not is_x86() else 16
    return (registers - 1 - vectors) // vectors


def tile_of(name: str) -> Tile | None:
    """The form that a name says."""
    found = _NAME.fullmatch(name.removeprefix("tile."))
    if found is None:
        return None
    type_, *rest, by_lane = found.groups()
    down, along, down_step, along_step, vectors, lanes, levels = (int(n.replace("m", "-")) for n in rest)
    return Tile(type_, down, along, down_step, along_step, vectors, lanes, levels, bool(by_lane))


# -- code -------------------------------------------------------------------------------------------------------------


def text_of(tile: Tile) -> str:
    """The module of a tile's function, under the name `tile`."""
    levels, t = range(tile.levels), Vectors(tile.type, tile.lanes)
    arguments = ", ".join(f"i64 %n{d}, i64 %in.a{d}, i64 %in.b{d}" for d in levels)
    lines = [
        "define void @tile(ptr noalias nocapture readonly %a, ptr noalias nocapture readonly %b, "
        f"ptr noalias nocapture %c, i64 %keeps, i64 %down, i64 %along, {arguments}) #0 {{",
        "entry:",
        *_places(tile, t),
        "  %adds = icmp ne i64 %keeps, 0",
        "  br i1 %adds, label %load, label %begin",
        "load:",
        *(t.load(f"%old{r}.{v}", f"%c{r}.{v}") for r, v in _cells(tile)),
        "  br label %begin",
        "begin:",
        *(f"  %s{r}.{v} = phi {t.vec} [ zeroinitializer, %entry ], [ %old{r}.{v}, %load ]" for r, v in _cells(tile)),
        "  br label %head0",
    ]
    for depth in levels:
        lines += _head(tile, depth, t.vec)
    lines += _body(tile, t)
    for depth in reversed(levels):
        lines += _latch(tile, depth, t)
    lines += ["exit0:", *(t.store(f"%s0.{r}.{v}", f"%c{r}.{v}") for r, v in _cells(tile)), "  ret void", "}"]
    return "\n".join([*lines, *t.declarations(), "attributes #0 = { nounwind }", ""])


def _rows(tile: Tile) -> range:
    return range(tile.down * tile.along)


def _cells(tile: Tile) -> Iterator[tuple[int, int]]:
    return ((r, v) for r in _rows(tile) for v in range(tile.vectors))


def _places(tile: Tile, t: Vectors) -> Iterator[str]:
    """Where the rows of the result begin, and their vectors."""
    for r in _rows(tile):
        i, j = divmod(r, tile.along)
        yield f"  %i{r} = mul i64 %down, {i}"
        yield f"  %j{r} = mul i64 %along, {j}"
        yield f"  %p{r} = add i64 %i{r}, %j{r}"
        for v in range(tile.vectors):
            yield f"  %q{r}.{v} = add i64 %p{r}, {v * tile.lanes}"
            yield t.at(f"%c{r}.{v}", "%c", f"%q{r}.{v}")


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
            f"[ {f'%n{r}.{v}' if inner else f'%s{depth + 1}.{r}.{v}'}, %{again} ]"
            for r, v in _cells(tile)
        ),
        f"  %more{depth} = icmp slt i64 %k{depth}, %n{depth}",
        f"  br i1 %more{depth}, label %body{depth}, label %exit{depth}",
        f"body{depth}:",
        *([] if inner else [f"  br label %head{depth + 1}"]),
    ]


def _body(tile: Tile, t: Vectors) -> list[str]:
    """One term of each sum."""
    depth = tile.levels - 1
    steps = [divmod(r, tile.along) for r in _rows(tile)]
    elements = [(f"%pa{depth}", i * tile.down_step + j * tile.along_step) for i, j in steps]
    given = elements, f"%pb{depth}", tile.vectors, f"%s{depth}."
    return [*(t.term_by_lane(*given) if tile.is_by_lane else t.term(*given)), f"  br label %latch{depth}"]


def _latch(tile: Tile, depth: int, t: Vectors) -> list[str]:
    """The end of an iteration, where the loop inside it is over."""
    inner = [] if depth + 1 == tile.levels else [f"exit{depth + 1}:", f"  br label %latch{depth}"]
    return [
        *inner,
        f"latch{depth}:",
        f"  %k{depth}.next = add nuw nsw i64 %k{depth}, 1",
        t.at(f"%pa{depth}.next", f"%pa{depth}", f"%in.a{depth}"),
        t.at(f"%pb{depth}.next", f"%pb{depth}", f"%in.b{depth}"),
        f"  br label %head{depth}",
    ]


def address(name: str) -> int:
    """The address of the function of a form, for compiled code; 0 for what is no form's name."""
    tile = tile_of(name)
    return 0 if tile is None else written(text_of, "tile", tile).address
