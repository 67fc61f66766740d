"""Products of matrices of floats as vector code: functions in IR, that compiled code calls by name.

They are for operands that need no copy, or were put into panels, and do what BLAS does without what a call of BLAS
costs; `lower/matrices.py` says when they are called. T is f64 or f32, W is `panel_width(T)`; all strides count
elements. Each element of a result is one chain of fused multiplications and additions over ascending terms, whatever is
beside it: so results do not depend on how the rows and columns are shared out.

- `product.rows.T(m, n, k, a, a.row, a.column, b, b.row, b.panel, c, c.row, joins)`: c = a @ b, or c += a @ b if joins.
  a has any strides. Columns of b and c lie side by side; `b.panel` leads from the first column of W columns to that of
  the next W: W where b is a matrix, k W where it was packed (then `b.row` is W).
- `product.pairs.T(m, n, k, a, a.row, a.column, b, b.row, c, c.row, joins)`: the same with complex numbers of two T, in
  which all is counted, and of a matrix b as it lies.
- `product.pack.straight.T(k, n, b, b.row, b.column, panels)`: b, whose columns lie side by side, in panels of W
  columns, zeros behind the last. Room for `packed_size` elements is needed. `product.pack.turned.T`: b, whose rows do.
- `product.row.T(n, k, a, a.step, b, b.row, c)`: one row a times b, whose columns lie side by side.
- `product.dots.T(m, k, a, a.row, b, c, c.step)`: each row of a times b; rows and b have no gaps. A sum here is that of
  the lanes of vectors: its order depends on k alone, or on whether three more rows follow.

A tile of the result stays in registers while the terms go by: as many rows and vectors as there are registers for.
Each tile is a function of its own, `product.tile.FORM.T`, compiled once in a process for all that call it. Those above
call the tiles that any number of rows and columns is cut into; `named` gives the name of one that calls no more than
those for given extents, `product.rows.8_w1.f32` say: of 16 tiles a product of known extents has two or three.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ...._core import forking
from ..ir.loops import FLOATS
from .jit import written
from .symbols import Family, Table
from .target import is_x86, vector_bits
from .vectors import Vectors, most_lanes

VECTORS = 3  # of a tile's row
ROW_VECTORS = 8  # of one row alone
DOT_ROWS = 4
FUNCTIONS = ("rows", "pairs", "row", "dots")
PACKS = ("straight", "turned")


def panel_width(type_: str) -> int:
    """How many columns a panel has."""
    return VECTORS * most_lanes(type_)


def heights() -> tuple[int, ...]:
    """How many rows tiles have, the largest first: it has as many accumulators as registers allow."""
    has_many = vector_bits() == 512 or not is_x86()  # 32 registers, else 16
    return (8, 4, 2, 1) if has_many else (4, 2, 1)


def _tile_of_pairs() -> tuple[tuple[int, ...], int]:
    """Heights of tiles of complex numbers, and vectors of a row: each needs two registers beside the sums.

    With AVX2's 16 registers four rows leave none for the numbers of a; with SSE two rows take longer all the same.
    """
    if heights()[0] == 8:
        return (4, 2, 1), 4
    return ((2, 1), 3) if vector_bits() == 256 else ((4, 2, 1), 2)


# -- how extents are cut ----------------------------------------------------------------------------------------------


class Cut(NamedTuple):
    """The tiles that rows and columns are cut into.

    Attributes:
        heights: numbers of rows, the largest first.
        is_whole: whether some have as many vectors as a tile can.
        lasts: how many vectors those may have that are behind the last whole one.
    """

    heights: tuple[int, ...]
    is_whole: bool
    lasts: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{''.join(map(str, self.heights))}_{'w' * self.is_whole}{''.join(map(str, self.lasts))}"


_CUT = re.compile(r"(\d+)_(w?)(\d*)")
_TILE_NAME = re.compile(r"tile\.(\d+)_(\d+)(w|s)(p?)")


def _cut_of(name: str) -> Cut | None:
    found = _CUT.fullmatch(name)
    return found and Cut((*map(int, found[1]),), found[2] == "w", (*map(int, found[3]),))


def _all_heights(function: str) -> tuple[int, ...]:
    by_function = {"rows": heights(), "row": (1,), "dots": (DOT_ROWS, 1)}
    return by_function[function] if function in by_function else _tile_of_pairs()[0]


def _most_vectors(function: str) -> int:
    """Of a row of a tile; of dots there are none."""
    return {"rows": VECTORS, "row": ROW_VECTORS, "dots": 0}.get(function, _tile_of_pairs()[1])


def cut(function: str, type_: str, rows: object, columns: object) -> Cut:
    """The tiles of so many rows and columns, of which either is anything where it is no number.

    Those of a part are among them, if it begins behind a multiple of what the largest tile has.
    """
    tall, most, lanes = _all_heights(function), _most_vectors(function), most_lanes(type_)
    if type(rows) is int:
        left, used = rows, list[int]()
        for height in tall:
            used += [height] * (left >= height)
            left %= height
        tall = (*used,) or (1,)
    if not most:
        return Cut(tall, False, ())
    if type(columns) is not int:
        return Cut(tall, True, (*range(1, most + 1),))
    whole, left = divmod(columns, most * lanes)
    return Cut(tall, whole > 0, (-(-left // lanes),) if left else ())


def named(function: str, type_: str, rows: object, columns: object = None) -> str:
    """What compiled code calls a function for so many rows and columns, of which either may be unknown."""
    wide = 2 if function == "pairs" and type(columns) is int else 1
    known = cut(function, type_, rows, columns * wide if type(columns) is int else columns)
    return f"product.{function}.{known.name}.{type_}"


# -- tiles ------------------------------------------------------------------------------------------------------------

_TILE = "i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, i64 %b.row, ptr noalias %c, i64 %c.row, i64 %join"


def _tile(t: Vectors, rows: int, vectors: int, is_whole: bool, of_pairs: bool) -> str:
    """So many rows and vectors of a result; of the last vector only the first columns, unless it is whole.

    `of_pairs`: of complex numbers, each of which is two elements of b and c and, at one place, of a.
    """
    cells = [(i, v) for i in range(rows) for v in range(vectors)]
    masks = {} if is_whole else {vectors - 1: "%mask"}
    there = "" if is_whole else ", i64 %there"
    lines = [f"define void @product.{_tile_name(t, rows, vectors, is_whole, of_pairs)}({_TILE}{there}) #0 {{", "entry:"]
    lines += [] if is_whole else t.first("%mask", "%there")
    for i in range(rows):
        lines += [f"  %skip{i} = mul i64 %a.row, {i}", t.at(f"%a{i}", "%a", f"%skip{i}")]
        lines += [f"  %down{i} = mul i64 %c.row, {i}", t.at(f"%c{i}.0", "%c", f"%down{i}")]
    lines += [t.at(f"%c{i}.{v}", f"%c{i}.0", v * t.lanes) for i, v in cells if v]
    lines += ["  %joins = icmp ne i64 %join, 0", "  br i1 %joins, label %held, label %head", "held:"]
    lines += [t.load(f"%h{i}.{v}", f"%c{i}.{v}", masks.get(v, "")) for i, v in cells]
    lines += [
        "  br label %head",
        "head:",
        "  %p = phi i64 [ 0, %entry ], [ 0, %held ], [ %p.next, %body ]",
        "  %along = phi i64 [ 0, %entry ], [ 0, %held ], [ %along.next, %body ]",
        "  %bp = phi ptr [ %b, %entry ], [ %b, %held ], [ %bp.next, %body ]",
    ]
    for i, v in cells:
        starts = f"[ zeroinitializer, %entry ], [ %h{i}.{v}, %held ]"
        lines.append(f"  %t{i}.{v} = phi {t.vec} {starts}, [ %n{i}.{v}, %body ]")
    lines += ["  %more = icmp slt i64 %p, %k", "  br i1 %more, label %body, label %done", "body:"]
    term = t.term_of_pairs if of_pairs else t.term
    lines += term([(f"%a{i}", "%along") for i in range(rows)], "%bp", vectors, "%t", masks)
    lines += [
        "  %p.next = add nuw nsw i64 %p, 1",
        "  %along.next = add i64 %along, %a.column",
        t.at("%bp.next", "%bp", "%b.row"),
        "  br label %head",
        "done:",
    ]
    lines += [t.store(f"%t{i}.{v}", f"%c{i}.{v}", masks.get(v, "")) for i, v in cells]
    return "\n".join([*lines, "  ret void", "}"])


def _tile_name(t: Vectors, rows: int, vectors: int, is_whole: bool, of_pairs: bool) -> str:
    return f"tile.{rows}_{vectors}{'w' if is_whole else 's'}{'p' * of_pairs}.{t.suffix}"


def _strip(t: Vectors, name: str, rows: int, most: int, known: Cut, of_pairs: bool = False) -> str:
    """All columns of so many rows: tiles of `most` vectors, and what is left."""
    given = "i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %bp, i64 %b.row, ptr %cp, i64 %c.row, i64 %join"
    lines = [
        f"define internal void @{name}(i64 %n, i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, i64 %b.row, "
        "i64 %b.panel, ptr noalias %c, i64 %c.row, i64 %join) #0 {",
        "entry:",
        "  br label %head",
        "head:",
    ]
    if known.is_whole:
        lines += [
            "  %j = phi i64 [ 0, %entry ], [ %j.next, %body ]",
            "  %bp = phi ptr [ %b, %entry ], [ %bp.next, %body ]",
            t.at("%cp", "%c", "%j"),
            f"  %j.next = add i64 %j, {most * t.lanes}",
            "  %whole = icmp sle i64 %j.next, %n",
            "  br i1 %whole, label %body, label %rest",
            "body:",
            f"  call void @product.{_tile_name(t, rows, most, True, of_pairs)}({given})",
            t.at("%bp.next", "%bp", "%b.panel"),
            "  br label %head",
            "rest:",
            "  %left = sub i64 %n, %j",
        ]
    else:
        lines.append("  %left = add i64 %n, 0")
        given = given.replace("%bp", "%b").replace("%cp", "%c")
    if len(known.lasts) == 1:
        lines += ["  %some = icmp sgt i64 %left, 0", f"  br i1 %some, label %last{known.lasts[0]}, label %end"]
    else:
        lines += [
            f"  %up = add i64 %left, {t.lanes - 1}",
            f"  %count = sdiv i64 %up, {t.lanes}",
            "  switch i64 %count, label %end [",
            *[f"    i64 {v}, label %last{v}" for v in known.lasts],
            "  ]",
        ]
    for v in known.lasts:
        call = f"call void @product.{_tile_name(t, rows, v, False, of_pairs)}({given}, i64 %there{v})"
        lines += [f"last{v}:", f"  %there{v} = sub i64 %left, {(v - 1) * t.lanes}", f"  {call}", "  br label %end"]
    return "\n".join([*lines, "end:", "  ret void", "}"])


def _rows(t: Vectors, name: str, tall: tuple[int, ...]) -> str:
    """Strips of as many rows as there are, the highest first."""
    lines = [
        f"define void @{name}(i64 %m, i64 %n, i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, "
        "i64 %b.row, i64 %b.panel, ptr noalias %c, i64 %c.row, i64 %join) #0 {",
        "entry:",
        f"  br label %head{tall[0]}",
    ]
    before, start = "entry", "0"
    for r, lower in zip(tall, (*tall[1:], 0), strict=True):
        lines += [
            f"head{r}:",
            f"  %i{r} = phi i64 [ {start}, %{before} ], [ %next{r}, %body{r} ]",
            f"  %next{r} = add i64 %i{r}, {r}",
            f"  %fits{r} = icmp sle i64 %next{r}, %m",
            f"  br i1 %fits{r}, label %body{r}, label %{f'head{lower}' if lower else 'end'}",
            f"body{r}:",
            f"  %skip{r} = mul i64 %i{r}, %a.row",
            t.at(f"%a{r}", "%a", f"%skip{r}"),
            f"  %down{r} = mul i64 %i{r}, %c.row",
            t.at(f"%c{r}", "%c", f"%down{r}"),
            f"  call void @strip.{r}(i64 %n, i64 %k, ptr %a{r}, i64 %a.row, i64 %a.column, ptr %b, i64 %b.row, "
            f"i64 %b.panel, ptr %c{r}, i64 %c.row, i64 %join)",
            f"  br label %head{r}",
        ]
        before, start = f"head{r}", f"%i{r}"
    return "\n".join([*lines, "end:", "  ret void", "}"])


def _pairs(t: Vectors, name: str, vectors: int) -> str:
    """Rows of complex numbers as rows of twice as many elements."""
    counts = "n", "a.row", "a.column", "b.row", "c.row"
    return "\n".join([
        f"define void @{name}(i64 %m, i64 %n, i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, "
        "i64 %b.row, ptr noalias %c, i64 %c.row, i64 %join) #0 {",
        *[f"  %{name}.twice = mul i64 %{name}, 2" for name in counts],
        "  call void @all.rows(i64 %m, i64 %n.twice, i64 %k, ptr %a, i64 %a.row.twice, "
        f"i64 %a.column.twice, ptr %b, i64 %b.row.twice, i64 {vectors * t.lanes}, ptr %c, i64 %c.row.twice, i64 %join)",
        "  ret void",
        "}",
    ])  # fmt: skip


def _row(t: Vectors, name: str) -> str:
    """One row: tiles of more vectors, so that as many accumulators are at work."""
    return "\n".join([
        f"define void @{name}(i64 %n, i64 %k, ptr %a, i64 %a.step, ptr %b, i64 %b.row, ptr noalias %c) #0 {{",
        f"  call void @strip.1(i64 %n, i64 %k, ptr %a, i64 0, i64 %a.step, ptr %b, i64 %b.row, "
        f"i64 {ROW_VECTORS * t.lanes}, ptr %c, i64 0, i64 0)",
        "  ret void",
        "}",
    ])  # fmt: skip


def _tiles_called(t: Vectors, function: str, known: Cut) -> list[str]:
    """The declarations of the tiles that strips call."""
    kinds = [(_most_vectors(function), True)] * known.is_whole + [(v, False) for v in known.lasts]
    kind, of_pairs = _TILE.replace("noalias ", ""), function == "pairs"
    return [
        f"declare void @product.{_tile_name(t, r, v, is_whole, of_pairs)}({kind}{'' if is_whole else ', i64'})"
        for r in known.heights
        for v, is_whole in kinds
    ]


def _of_tiles(function: str, type_: str, known: Cut, name: str) -> str:
    """The module of rows, pairs or a row."""
    t, most = Vectors(type_, most_lanes(type_)), _most_vectors(function)
    parts = [_strip(t, f"strip.{r}", r, most, known, function == "pairs") for r in known.heights]
    if function == "row":
        parts.append(_row(t, name))
    elif function == "pairs":
        parts += [_rows(t, "all.rows", known.heights), _pairs(t, name, most)]
    else:
        parts.append(_rows(t, name, known.heights))
    return "\n".join([*parts, *_tiles_called(t, function, known), "attributes #0 = { nounwind noinline }", ""])


# -- panels -----------------------------------------------------------------------------------------------------------

_PACK = """
define void @product.pack.WAY.T(i64 %k, i64 %n, ptr %b, i64 %b.row, i64 %b.column, ptr noalias %panels) #0 {
entry:
  %size = mul i64 %k, PANEL
  br label %panel
panel:
  %j = phi i64 [ 0, %entry ], [ %j.next, %inside ]
  %to = phi ptr [ %panels, %entry ], [ %to.next, %inside ]
  %more = icmp slt i64 %j, %n
  br i1 %more, label %inside, label %end
inside:
  %left = sub i64 %n, %j
  %skip = mul i64 %j, %b.column
  %from = getelementptr KIND, ptr %b, i64 %skip
  call void @WAY(i64 %k, i64 %left, ptr %from, i64 %STEP, ptr %to)
  %j.next = add i64 %j, PANEL
  %to.next = getelementptr KIND, ptr %to, i64 %size
  br label %panel
end:
  ret void
}
"""

_STRAIGHT = """
define internal void @straight(i64 %k, i64 %left, ptr %b, i64 %b.row, ptr noalias %to) #0 {
entry:
MASKS
  br label %head
head:
  %p = phi i64 [ 0, %entry ], [ %p.next, %body ]
  %from = phi ptr [ %b, %entry ], [ %from.next, %body ]
  %into = phi ptr [ %to, %entry ], [ %into.next, %body ]
  %more = icmp slt i64 %p, %k
  br i1 %more, label %body, label %end
body:
ROW
  %from.next = getelementptr KIND, ptr %from, i64 %b.row
  %into.next = getelementptr KIND, ptr %into, i64 PANEL
  %p.next = add i64 %p, 1
  br label %head
end:
  ret void
}
"""

_TURNED = """
define internal void @turned(i64 %k, i64 %left, ptr %b, i64 %b.column, ptr noalias %to) #0 {
entry:
  %is.whole = icmp sge i64 %left, PANEL
  %most = select i1 %is.whole, i64 PANEL, i64 %left
  br label %vectors
vectors:
  %v = phi i64 [ 0, %entry ], [ %v.next, %done ]
  %more.vectors = icmp slt i64 %v, %most
  br i1 %more.vectors, label %vector, label %end
vector:
  %count = sub i64 %left, %v
  %skip = mul i64 %v, %b.column
  %column = getelementptr KIND, ptr %b, i64 %skip
  %target = getelementptr KIND, ptr %to, i64 %v
  br label %head
head:
  %p = phi i64 [ 0, %vector ], [ %p.next, %body ]
  %more = icmp slt i64 %p, %k
  br i1 %more, label %body, label %done
body:
  %from = getelementptr KIND, ptr %column, i64 %p
  %rest = sub i64 %k, %p
  %mask = call MASK @lanes.below(i64 %rest)
  %down = mul i64 %p, PANEL
  %into = getelementptr KIND, ptr %target, i64 %down
BLOCK
  %p.next = add i64 %p, LANES
  br label %head
done:
  %v.next = add i64 %v, LANES
  br label %vectors
end:
  ret void
}
"""


def _turned_block(t: Vectors) -> Iterator[str]:
    """A square of as many columns as a vector has lanes, turned; the last rows may be of the next panel's room.

    Columns that are not there are read where the first one is, by masks without lanes: beyond an array there may be no
    memory, and processors take some thousand times as long to find that a mask asks for none of it.
    """
    none = f"{t.mask} zeroinitializer"
    for i in range(t.lanes):
        yield f"  %is{i} = icmp sgt i64 %count, {i}"
        yield f"  %mask{i} = select i1 %is{i}, {t.mask} %mask, {none}"
        yield f"  %far{i} = mul i64 %b.column, {i}"
        yield f"  %skip{i} = select i1 %is{i}, i64 %far{i}, i64 0"
        yield t.at(f"%from{i}", "%from", f"%skip{i}")
        yield t.load(f"%s0.{i}", f"%from{i}", f"%mask{i}")
    step, stage = t.lanes // 2, 0
    while step:  # columns and rows that differ in one bit of their number change places
        for i in range(t.lanes):
            if i & step:
                continue
            low = [j if not j & step else t.lanes + j - step for j in range(t.lanes)]
            high = [j + step if not j & step else t.lanes + j for j in range(t.lanes)]
            pair = f"{t.vec} %s{stage}.{i}, {t.vec} %s{stage}.{i + step}"
            for number, order in ((i, low), (i + step, high)):
                places = ", ".join(f"i32 {j}" for j in order)
                yield f"  %s{stage + 1}.{number} = shufflevector {pair}, <{t.lanes} x i32> <{places}>"
        step, stage = step // 2, stage + 1
    for i in range(t.lanes):
        yield t.at(f"%into{i}", "%into", i * VECTORS * t.lanes)
        yield t.store(f"%s{stage}.{i}", f"%into{i}")


def _lanes_below(t: Vectors) -> str:
    """The mask of the first so many lanes."""
    lines = [f"define internal {t.mask} @lanes.below(i64 %count) #1 {{", *t.first("%mask", "%count")]
    return "\n".join([*lines, f"  ret {t.mask} %mask", "}"])


def _panel_masks(t: Vectors) -> Iterator[str]:
    for v in range(VECTORS):
        yield f"  %left{v} = sub i64 %left, {v * t.lanes}"
        yield f"  %mask{v} = call {t.mask} @lanes.below(i64 %left{v})"


def _panel_row(t: Vectors) -> Iterator[str]:
    for v in range(VECTORS):
        yield t.at(f"%from{v}", "%from", v * t.lanes)
        yield t.load(f"%row{v}", f"%from{v}", f"%mask{v}")
        yield t.at(f"%into{v}", "%into", v * t.lanes)
        yield t.store(f"%row{v}", f"%into{v}")


def _pack(t: Vectors, way: str) -> str:
    text = _PACK + (_STRAIGHT if way == "straight" else _TURNED)
    for word, lines in {"BLOCK": _turned_block(t), "MASKS": _panel_masks(t), "ROW": _panel_row(t)}.items():
        text = text.replace(f"{word}\n", "\n".join([*lines, ""]))
    for word, meaning in {
        "WAY.T": f"{way}.{t.suffix}", "WAY": way, "STEP": "b.row" if way == "straight" else "b.column",
        "PANEL": str(VECTORS * t.lanes), "LANES": str(t.lanes), "KIND": t.kind, "MASK": t.mask,
    }.items():  # fmt: skip
        text = text.replace(word, meaning)
    return text


def packed_size(type_: str, panels: int, depth: int) -> int:
    """How many elements of room so many panels of a depth need."""
    return (panels * depth + most_lanes(type_)) * panel_width(type_)


# -- rows times a vector ----------------------------------------------------------------------------------------------


def _dot_rows(t: Vectors, rows: int, chains: int) -> str:
    """Some rows times a vector, each with so many accumulators."""
    cells = [(i, u) for i in range(rows) for u in range(chains)]
    step = chains * t.lanes
    lines = [
        f"define internal void @dots.{rows}(i64 %k, ptr %a, i64 %a.row, ptr %b, ptr %c, i64 %c.step) #0 {{",
        "entry:",
        *[f"  %skip{i} = mul i64 %a.row, {i}" for i in range(rows)],
        *[t.at(f"%a{i}", "%a", f"%skip{i}") for i in range(rows)],
        "  br label %head",
        "head:",
        "  %p = phi i64 [ 0, %entry ], [ %p.next, %body ]",
        *[f"  %t{i}.{u} = phi {t.vec} [ zeroinitializer, %entry ], [ %n{i}.{u}, %body ]" for i, u in cells],
        f"  %p.next = add i64 %p, {step}",
        "  %more = icmp sle i64 %p.next, %k",
        "  br i1 %more, label %body, label %joined",
        "body:",
    ]
    for u in range(chains):
        lines += [f"  %p{u} = add i64 %p, {u * t.lanes}", t.at(f"%b.at{u}", "%b", f"%p{u}")]
        lines.append(t.load(f"%b{u}", f"%b.at{u}"))
    for i, u in cells:
        lines += [t.at(f"%a.at{i}.{u}", f"%a{i}", f"%p{u}"), t.load(f"%x{i}.{u}", f"%a.at{i}.{u}")]
        lines.append(t.fma(f"%n{i}.{u}", f"%x{i}.{u}", f"%b{u}", f"%t{i}.{u}"))
    lines += ["  br label %head", "joined:"]
    last = [f"%t{i}.0" for i in range(rows)]
    for u in range(1, chains):
        lines += [f"  %j{i}.{u} = fadd {t.vec} {last[i]}, %t{i}.{u}" for i in range(rows)]
        last = [f"%j{i}.{u}" for i in range(rows)]
    lines += [
        "  br label %rest",
        "rest:",
        "  %q = phi i64 [ %p, %joined ], [ %q.next, %some ]",
        *[f"  %r{i} = phi {t.vec} [ {last[i]}, %joined ], [ %m{i}, %some ]" for i in range(rows)],
        "  %left = sub i64 %k, %q",
        "  %is.left = icmp sgt i64 %left, 0",
        "  br i1 %is.left, label %some, label %done",
        "some:",
        f"  %mask = call {t.mask} @lanes.below(i64 %left)",
        t.at("%b.last", "%b", "%q"),
        t.load("%y", "%b.last", "%mask"),
    ]
    for i in range(rows):
        lines += [t.at(f"%a.last{i}", f"%a{i}", "%q"), t.load(f"%z{i}", f"%a.last{i}", "%mask")]
        lines.append(t.fma(f"%m{i}", f"%z{i}", "%y", f"%r{i}"))
    lines += [f"  %q.next = add i64 %q, {t.lanes}", "  br label %rest", "done:"]
    zero = "0x8000000000000000"  # minus zero, to which nothing is lost
    for i in range(rows):
        name = f"@llvm.vector.reduce.fadd.{t.short}"
        lines += [
            f"  %sum{i} = call reassoc {t.kind} {name}({t.kind} {zero}, {t.vec} %r{i})",
            f"  %down{i} = mul i64 %c.step, {i}",
            t.at(f"%c{i}", "%c", f"%down{i}"),
            f"  store {t.kind} %sum{i}, ptr %c{i}",
        ]
    return "\n".join([*lines, "  ret void", "}"])


def _dots(t: Vectors, name: str, heights: tuple[int, ...]) -> str:
    """Of a number of rows that is a multiple of four, or less, there are no rows for the others."""
    call = "(i64 %k, ptr %ai, i64 %a.row, ptr %b, ptr %ci, i64 %c.step)"
    return "\n".join([
        *[_dot_rows(t, rows, 2 if rows == DOT_ROWS else 4) for rows in heights],
        f"define void @{name}(i64 %m, i64 %k, ptr %a, i64 %a.row, ptr %b, ptr noalias %c, i64 %c.step) #0 {{",
        "entry:",
        "  br label %head",
        "head:",
        "  %i = phi i64 [ 0, %entry ], [ %i.four, %four ], [ %i.one, %one ]",
        "  %skip = mul i64 %i, %a.row",
        t.at("%ai", "%a", "%skip"),
        "  %down = mul i64 %i, %c.step",
        t.at("%ci", "%c", "%down"),
        f"  %i.four = add i64 %i, {DOT_ROWS}",
        "  %is.four = icmp sle i64 %i.four, %m",
        "  br i1 %is.four, label %four, label %few",
        "four:",
        f"  call void @dots.{DOT_ROWS}{call}" if DOT_ROWS in heights else "",
        "  br label %head",
        "few:",
        "  %more = icmp slt i64 %i, %m",
        "  br i1 %more, label %one, label %end",
        "one:",
        "  %i.one = add i64 %i, 1",
        f"  call void @dots.1{call}" if 1 in heights else "",
        "  br label %head",
        "end:",
        "  ret void",
        "}",
    ])  # fmt: skip


# -- modules ----------------------------------------------------------------------------------------------------------


def _without_tiles(type_: str, form: Cut | str, name: str) -> str:
    """The module of dots, or of a way to pack."""
    t = Vectors(type_, most_lanes(type_))
    text = _dots(t, name, form.heights) if isinstance(form, Cut) else _pack(t, form)
    attributes = ["attributes #0 = { nounwind noinline }", "attributes #1 = { nounwind alwaysinline }"]
    return "\n".join([_lanes_below(t), text, *t.declarations(), *attributes, ""])


def tile_text(type_: str, rows: int, vectors: int, is_whole: bool, of_pairs: bool) -> str:
    """The module of a tile."""
    t = Vectors(type_, most_lanes(type_))
    attributes = "attributes #0 = { nounwind noinline }"
    return "\n".join([_tile(t, rows, vectors, is_whole, of_pairs), *t.declarations(), attributes, ""])


def address(name: str) -> int:
    """The address of the function `product.NAME`, for compiled code; 0 where there is none."""
    beginning, _, type_ = name.rpartition(".")
    function, _, form = beginning.partition(".")
    if type_ not in FLOATS:
        return 0
    entry = f"product.{name}"
    if function == "pack":
        return written(_without_tiles, entry, type_, form, entry).address if form in PACKS else 0
    if function not in FUNCTIONS:
        return 0
    known = _cut_of(form) if form else cut(function, type_, None, None)
    if known is None:
        return 0
    if function == "dots":
        return written(_without_tiles, entry, type_, known, entry).address
    return written(_of_tiles, entry, function, type_, known, entry, table=TILES).address


def tile_address(name: str) -> int:
    beginning, _, type_ = name.rpartition(".")
    found = _TILE_NAME.fullmatch(beginning)
    if found is None or type_ not in FLOATS:
        return 0
    tile = int(found[1]), int(found[2]), found[3] == "w", found[4] == "p"
    with _making:
        return written(tile_text, f"product.{name}", type_, *tile).address


_making = forking.long_lock()  # so that a tile is made once
# made by the thread that makes what calls them: what each thread sets up takes as long as half a tile
TILES = Table({}, {"product": Family(tile_address)})
