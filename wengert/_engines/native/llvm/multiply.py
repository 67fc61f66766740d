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
- `product.pack.T(k, n, b, b.row, b.column, panels)`: b, of which one of the strides is 1, in panels of W columns, zeros
  behind the last. Room for `packed_size` elements is needed.
- `product.row.T(n, k, a, a.step, b, b.row, c)`: one row a times b, whose columns lie side by side.
- `product.dots.T(m, k, a, a.row, b, c, c.step)`: each row of a times b; rows and b have no gaps. A sum here is that of
  the lanes of vectors: its order depends on k alone, or on whether three more rows follow.

A tile of the result stays in registers while the terms go by: as many rows and vectors as there are registers for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..ir.loops import FLOATS
from .jit import written
from .target import is_x86, vector_bits
from .vectors import Vectors, most_lanes

VECTORS = 3  # of a tile's row
ROW_VECTORS = 8  # of one row alone
DOT_ROWS = 4
FUNCTIONS = ("rows", "pairs", "pack", "row", "dots")


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


# -- tiles ------------------------------------------------------------------------------------------------------------

_TILE = "i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, i64 %b.row, ptr noalias %c, i64 %c.row, i1 %joins"


def _tile(t: Vectors, rows: int, vectors: int, is_whole: bool, of_pairs: bool = False) -> str:
    """So many rows and vectors of a result; of the last vector only what a mask says, unless it is whole.

    `of_pairs`: of complex numbers, each of which is two elements of b and c and, at one place, of a.
    """
    cells = [(i, v) for i in range(rows) for v in range(vectors)]
    masks = {} if is_whole else {vectors - 1: "%mask"}
    mask = "" if is_whole else f", {t.mask} %mask"
    lines = [f"define internal void @{_tile_name(rows, vectors, is_whole)}({_TILE}{mask}) #0 {{", "entry:"]
    for i in range(rows):
        lines += [f"  %skip{i} = mul i64 %a.row, {i}", t.at(f"%a{i}", "%a", f"%skip{i}")]
        lines += [f"  %down{i} = mul i64 %c.row, {i}", t.at(f"%c{i}.0", "%c", f"%down{i}")]
    lines += [t.at(f"%c{i}.{v}", f"%c{i}.0", v * t.lanes) for i, v in cells if v]
    lines += ["  br i1 %joins, label %held, label %head", "held:"]
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


def _tile_name(rows: int, vectors: int, is_whole: bool) -> str:
    return f"tile.{rows}.{vectors}{'' if is_whole else '.some'}"


def _rest(t: Vectors, left: str) -> list[str]:
    """How many vectors `left` columns fill or begin (%count), and which lanes of the last of them (%mask)."""
    numbers, wide = ", ".join(f"i64 {i}" for i in range(t.lanes)), f"<{t.lanes} x i64>"
    return [
        f"  %up = add i64 {left}, {t.lanes - 1}",
        f"  %count = sdiv i64 %up, {t.lanes}",
        f"  %full = mul i64 %count, {t.lanes}",
        f"  %lacking = sub i64 %full, {left}",
        f"  %there = sub i64 {t.lanes}, %lacking",
        f"  %there.one = insertelement {wide} poison, i64 %there, i64 0",
        f"  %there.all = shufflevector {wide} %there.one, {wide} poison, <{t.lanes} x i32> zeroinitializer",
        f"  %mask = icmp slt {wide} <{numbers}>, %there.all",
    ]


def _strip(t: Vectors, rows: int, most: int) -> str:
    """All columns of so many rows: tiles of `most` vectors, and what is left."""
    given = "i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %bp, i64 %b.row, ptr %cp, i64 %c.row, i1 %joins"
    lines = [
        f"define internal void @strip.{rows}(i64 %n, i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, i64 %b.row, "
        "i64 %b.panel, ptr noalias %c, i64 %c.row, i1 %joins) #0 {",
        "entry:",
        "  br label %head",
        "head:",
        "  %j = phi i64 [ 0, %entry ], [ %j.next, %body ]",
        "  %bp = phi ptr [ %b, %entry ], [ %bp.next, %body ]",
        t.at("%cp", "%c", "%j"),
        f"  %j.next = add i64 %j, {most * t.lanes}",
        "  %whole = icmp sle i64 %j.next, %n",
        "  br i1 %whole, label %body, label %rest",
        "body:",
        f"  call void @{_tile_name(rows, most, True)}({given})",
        t.at("%bp.next", "%bp", "%b.panel"),
        "  br label %head",
        "rest:",
        "  %left = sub i64 %n, %j",
        *_rest(t, "%left"),
        "  switch i64 %count, label %end [",
        *[f"    i64 {v}, label %last{v}" for v in range(1, most + 1)],
        "  ]",
    ]
    for v in range(1, most + 1):
        call = f"call void @{_tile_name(rows, v, False)}({given}, {t.mask} %mask)"
        lines += [f"last{v}:", f"  {call}", "  br label %end"]
    return "\n".join([*lines, "end:", "  ret void", "}"])


def _rows(t: Vectors, heights: Sequence[int]) -> str:
    """Strips of as many rows as there are, the highest first."""
    lines = [
        f"define void @product.rows.{t.suffix}(i64 %m, i64 %n, i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, "
        "i64 %b.row, i64 %b.panel, ptr noalias %c, i64 %c.row, i64 %join) #0 {",
        "entry:",
        "  %joins = icmp ne i64 %join, 0",
    ]
    before, start = "entry", "0"
    for r in heights:
        after = f"head{r // 2}" if r > 1 else "end"
        lines += [
            f"  br label %head{r}" if before == "entry" else "",
            f"head{r}:",
            f"  %i{r} = phi i64 [ {start}, %{before} ], [ %next{r}, %body{r} ]",
            f"  %next{r} = add i64 %i{r}, {r}",
            f"  %fits{r} = icmp sle i64 %next{r}, %m",
            f"  br i1 %fits{r}, label %body{r}, label %{after}",
            f"body{r}:",
            f"  %skip{r} = mul i64 %i{r}, %a.row",
            t.at(f"%a{r}", "%a", f"%skip{r}"),
            f"  %down{r} = mul i64 %i{r}, %c.row",
            t.at(f"%c{r}", "%c", f"%down{r}"),
            f"  call void @strip.{r}(i64 %n, i64 %k, ptr %a{r}, i64 %a.row, i64 %a.column, ptr %b, i64 %b.row, "
            f"i64 %b.panel, ptr %c{r}, i64 %c.row, i1 %joins)",
            f"  br label %head{r}",
        ]
        before, start = f"head{r}", f"%i{r}"
    return "\n".join([*filter(None, lines), "end:", "  ret void", "}"])


def _pairs(t: Vectors, vectors: int) -> str:
    """Rows of complex numbers as rows of twice as many elements."""
    counts = "n", "a.row", "a.column", "b.row", "c.row"
    return "\n".join([
        f"define void @product.pairs.{t.suffix}(i64 %m, i64 %n, i64 %k, ptr %a, i64 %a.row, i64 %a.column, ptr %b, "
        "i64 %b.row, ptr noalias %c, i64 %c.row, i64 %join) #0 {",
        *[f"  %{name}.twice = mul i64 %{name}, 2" for name in counts],
        f"  call void @product.rows.{t.suffix}(i64 %m, i64 %n.twice, i64 %k, ptr %a, i64 %a.row.twice, "
        f"i64 %a.column.twice, ptr %b, i64 %b.row.twice, i64 {vectors * t.lanes}, ptr %c, i64 %c.row.twice, i64 %join)",
        "  ret void",
        "}",
    ])  # fmt: skip


def _row(t: Vectors) -> str:
    """One row: tiles of more vectors, so that as many accumulators are at work."""
    return "\n".join([
        _strip(t, 1, ROW_VECTORS).replace("@strip.1(", "@strip.row("),
        f"define void @product.row.{t.suffix}(i64 %n, i64 %k, ptr %a, i64 %a.step, ptr %b, i64 %b.row, "
        "ptr noalias %c) #0 {",
        f"  call void @strip.row(i64 %n, i64 %k, ptr %a, i64 0, i64 %a.step, ptr %b, i64 %b.row, "
        f"i64 {ROW_VECTORS * t.lanes}, ptr %c, i64 0, i1 false)",
        "  ret void",
        "}",
    ])  # fmt: skip


# -- panels -----------------------------------------------------------------------------------------------------------

_PACK = """
define void @product.pack.T(i64 %k, i64 %n, ptr %b, i64 %b.row, i64 %b.column, ptr noalias %panels) #0 {
entry:
  %size = mul i64 %k, PANEL
  %is.turned = icmp ne i64 %b.column, 1
  br label %panel
panel:
  %j = phi i64 [ 0, %entry ], [ %j.next, %packed ]
  %to = phi ptr [ %panels, %entry ], [ %to.next, %packed ]
  %more = icmp slt i64 %j, %n
  br i1 %more, label %inside, label %end
inside:
  %left = sub i64 %n, %j
  %skip = mul i64 %j, %b.column
  %from = getelementptr KIND, ptr %b, i64 %skip
  br i1 %is.turned, label %turned, label %straight
turned:
  call void @turned(i64 %k, i64 %left, ptr %from, i64 %b.column, ptr %to)
  br label %packed
straight:
  call void @straight(i64 %k, i64 %left, ptr %from, i64 %b.row, ptr %to)
  br label %packed
packed:
  %j.next = add i64 %j, PANEL
  %to.next = getelementptr KIND, ptr %to, i64 %size
  br label %panel
end:
  ret void
}

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
    numbers, wide = ", ".join(f"i64 {i}" for i in range(t.lanes)), f"<{t.lanes} x i64>"
    return "\n".join([
        f"define internal {t.mask} @lanes.below(i64 %count) #1 {{",
        f"  %one = insertelement {wide} poison, i64 %count, i64 0",
        f"  %all = shufflevector {wide} %one, {wide} poison, <{t.lanes} x i32> zeroinitializer",
        f"  %mask = icmp slt {wide} <{numbers}>, %all",
        f"  ret {t.mask} %mask",
        "}",
    ])  # fmt: skip


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


def _pack(t: Vectors) -> str:
    text = _PACK
    for word, lines in {"BLOCK": _turned_block(t), "MASKS": _panel_masks(t), "ROW": _panel_row(t)}.items():
        text = text.replace(f"{word}\n", "\n".join([*lines, ""]))
    for word, meaning in {
        "product.pack.T": f"product.pack.{t.suffix}", "PANEL": str(VECTORS * t.lanes), "LANES": str(t.lanes),
        "KIND": t.kind, "MASK": t.mask,
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


def _dots(t: Vectors) -> str:
    return "\n".join([
        _dot_rows(t, DOT_ROWS, 2),
        _dot_rows(t, 1, 4),
        f"define void @product.dots.{t.suffix}(i64 %m, i64 %k, ptr %a, i64 %a.row, ptr %b, ptr noalias %c, "
        "i64 %c.step) #0 {",
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
        f"  call void @dots.{DOT_ROWS}(i64 %k, ptr %ai, i64 %a.row, ptr %b, ptr %ci, i64 %c.step)",
        "  br label %head",
        "few:",
        "  %more = icmp slt i64 %i, %m",
        "  br i1 %more, label %one, label %end",
        "one:",
        "  %i.one = add i64 %i, 1",
        "  call void @dots.1(i64 %k, ptr %ai, i64 %a.row, ptr %b, ptr %ci, i64 %c.step)",
        "  br label %head",
        "end:",
        "  ret void",
        "}",
    ])  # fmt: skip


# -- modules ----------------------------------------------------------------------------------------------------------


def _tiles(t: Vectors, rows: int, most: int, of_pairs: bool = False) -> list[str]:
    return [*[_tile(t, rows, v, False, of_pairs) for v in range(1, most + 1)], _tile(t, rows, most, True, of_pairs)]


def module_text(function: str, type_: str) -> str:
    """One of the functions, with what it calls."""
    t = Vectors(type_, most_lanes(type_))
    if function in ("rows", "pairs"):
        of_pairs = function == "pairs"
        rows, most = _tile_of_pairs() if of_pairs else (heights(), VECTORS)
        parts = [text for r in rows for text in (*_tiles(t, r, most, of_pairs), _strip(t, r, most))]
        parts += [_rows(t, rows), *([_pairs(t, most)] if of_pairs else [])]
    elif function == "row":
        parts = [*_tiles(t, 1, ROW_VECTORS), _row(t)]
    else:
        parts = [_lanes_below(t), _pack(t) if function == "pack" else _dots(t)]
    attributes = ["attributes #0 = { nounwind noinline }", "attributes #1 = { nounwind alwaysinline }"]
    return "\n".join([*parts, *t.declarations(), *attributes, ""])


def address(name: str) -> int:
    """The address of the function `product.NAME`, for compiled code; 0 where there is none."""
    function, _, type_ = name.partition(".")
    if function not in FUNCTIONS or type_ not in FLOATS:
        return 0
    return written(module_text, f"product.{name}", function, type_).address
