"""Transposed matrices: blocks of vectors, turned in registers, where loops would go from line to line for each element.

`turned.TYPE` is a function for each type of elements, by their width alone:

    void (ptr a, ptr c, i64 rows, i64 columns, i64 step_a, i64 step_c): c[j, i] = a[i, j]

The elements of a row lie side by side, in a as in c; the steps are those from row to row, in elements, and may be
negative. A block is as many rows as a vector has lanes. Where a block is not whole, rows that are not there are read
as the last one that is, and what comes of them is not stored.
"""

from __future__ import annotations

from collections.abc import Iterator

from .jit import written
from .vectors import Vectors, most_lanes

TYPES = ("f32", "f64")


def address(type_: str) -> int:
    """The address of the function `turned.TYPE`, for compiled code; 0 where there is none."""
    return written(text_of, "turned", type_).address if type_ in TYPES else 0


def text_of(type_: str) -> str:
    """The module of a type's function, under the name `turned`."""
    t = Vectors(type_, most_lanes(type_))
    n = t.lanes
    lines = [
        "define void @turned(ptr noalias nocapture readonly %a, ptr noalias nocapture %c, i64 %rows, i64 %columns, "
        "i64 %step.a, i64 %step.c) #0 {",
        "entry:",
        "  br label %across",
        "across:",
        "  %j = phi i64 [ 0, %entry ], [ %j.next, %crossed ]",
        "  %more.j = icmp slt i64 %j, %columns",
        "  br i1 %more.j, label %columns.here, label %end",
        "columns.here:",
        "  %c.line = mul i64 %j, %step.c",
        t.at("%c.block", "%c", "%c.line"),
        t.at("%a.block", "%a", "%j"),
        *_count("%width", "%columns", "%j", n),
        f"  %wide = icmp eq i64 %width, {n}",
        *_mask(t, "%in.a", "%width"),
        "  br label %down",
        "down:",
        "  %i = phi i64 [ 0, %columns.here ], [ %i.next, %stepped ]",
        "  %more.i = icmp slt i64 %i, %rows",
        "  br i1 %more.i, label %block, label %crossed",
        "block:",
        *_count("%height", "%rows", "%i", n),
        f"  %high = icmp eq i64 %height, {n}",
        "  %whole = and i1 %wide, %high",
        "  %a.line = mul i64 %i, %step.a",
        t.at("%a.here", "%a.block", "%a.line"),
        t.at("%c.here", "%c.block", "%i"),
        *_loads(t),
        *_turned(t, "%x", "%y"),
        *_stores(t),
        "stepped:",
        f"  %i.next = add nuw nsw i64 %i, {n}",
        "  br label %down",
        "crossed:",
        f"  %j.next = add nuw nsw i64 %j, {n}",
        "  br label %across",
        "end:",
        "  ret void",
        "}",
    ]
    return "\n".join([*lines, *t.declarations(), "attributes #0 = { nounwind }", ""])


def _count(out: str, whole: str, start: str, most: int) -> list[str]:
    """How many of a whole there are in a block that begins somewhere."""
    return [
        f"  {out}.left = sub i64 {whole}, {start}",
        f"  {out}.less = icmp slt i64 {out}.left, {most}",
        f"  {out} = select i1 {out}.less, i64 {out}.left, i64 {most}",
    ]


def _mask(t: Vectors, out: str, count: str) -> list[str]:
    """The first lanes, so many."""
    vector = f"<{t.lanes} x i64>"
    numbers = ", ".join(f"i64 {i}" for i in range(t.lanes))
    return [
        f"  {out}.one = insertelement {vector} poison, i64 {count}, i64 0",
        f"  {out}.count = shufflevector {vector} {out}.one, {vector} poison, <{t.lanes} x i32> zeroinitializer",
        f"  {out} = icmp ult {vector} <{numbers}>, {out}.count",
    ]


def _loads(t: Vectors) -> Iterator[str]:
    """The rows of a block, as far as there are, and of each the columns that there are."""
    yield "  br i1 %whole, label %all, label %some"
    yield "all:"
    for i in range(t.lanes):
        yield f"  %a.step{i} = mul i64 %step.a, {i}"
        yield t.at(f"%a.at{i}", "%a.here", f"%a.step{i}")
        yield t.load(f"%all{i}", f"%a.at{i}")
    yield "  br label %read"
    yield "some:"
    yield "  %last = sub i64 %height, 1"
    for i in range(t.lanes):
        yield f"  %has{i} = icmp slt i64 {i}, %height"
        yield f"  %row{i} = select i1 %has{i}, i64 {i}, i64 %last"
        yield f"  %a.move{i} = mul i64 %step.a, %row{i}"
        yield t.at(f"%a.by{i}", "%a.here", f"%a.move{i}")
        yield t.load(f"%some{i}", f"%a.by{i}", "%in.a")
    yield "  br label %read"
    yield "read:"
    for i in range(t.lanes):
        yield f"  %x{i} = phi {t.vec} [ %all{i}, %all ], [ %some{i}, %some ]"


def _stores(t: Vectors) -> Iterator[str]:
    """As many rows of the result as the block has columns, each as long as it is high."""
    yield "  br i1 %whole, label %to.all, label %to.some"
    yield "to.all:"
    for j in range(t.lanes):
        yield f"  %c.step{j} = mul i64 %step.c, {j}"
        yield t.at(f"%c.at{j}", "%c.here", f"%c.step{j}")
        yield t.store(f"%y{j}", f"%c.at{j}")
    yield "  br label %stepped"
    yield "to.some:"
    yield from _mask(t, "%in.c", "%height")
    for j in range(t.lanes):
        yield f"  %c.move{j} = mul i64 %step.c, {j}"
        yield t.at(f"%c.by{j}", "%c.here", f"%c.move{j}")
        yield t.store(f"%y{j}", f"%c.by{j}", "%in.c")
        if j + 1 < t.lanes:
            yield f"  %is.more{j} = icmp slt i64 {j + 1}, %width"
            yield f"  br i1 %is.more{j}, label %column{j + 1}, label %stepped"
            yield f"column{j + 1}:"
    yield "  br label %stepped"


def _turned(t: Vectors, given: str, made: str) -> Iterator[str]:
    """As many vectors as each has lanes, transposed: quarters of squares change places, in squares of 2, 4, 8, ..."""
    n, now = t.lanes, given
    step = 1
    while step < n:
        then = made if 2 * step == n else f"{given}.{step}."
        low = ", ".join(f"i32 {n + k - step if k & step else k}" for k in range(n))
        high = ", ".join(f"i32 {n + k if k & step else k + step}" for k in range(n))
        for i in range(n):
            if not i & step:
                pair = f"{t.vec} {now}{i}, {t.vec} {now}{i + step}"
                yield f"  {then}{i} = shufflevector {pair}, <{n} x i32> <{low}>"
                yield f"  {then}{i + step} = shufflevector {pair}, <{n} x i32> <{high}>"
        now, step = then, 2 * step
    if n == 1:
        yield f"  {made}0 = bitcast {t.vec} {given}0 to {t.vec}"


__all__ = ["TYPES", "address", "text_of"]
