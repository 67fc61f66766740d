"""The angle of a point from its two coordinates, on vectors, where the C library computes such points one by one.

Those are points with a coordinate that is zero, subnormal, nearly endless, endless or NaN. Where both are far from 1,
the library's vector function computes the angle of the point that is as many powers of two nearer to it. Where one is
nothing beside the other, the angle is their quotient, or that from one of the four directions.
"""

from __future__ import annotations

import math
import struct

from . import polynomials

_NAME = "atan2"
_PLAIN = {"f64": 1000, "f32": 120}  # sizes between these powers of two, from less than 1 to more, are the library's
_SCALED = {"f64": 700, "f32": 80}  # powers of two by which others come to be of these
_NOTHING = {"f64": 2.0**-60, "f32": 2.0**-30}  # a quotient below this is its own arctangent


def has(name: str) -> bool:
    """Whether some lanes of the function are ours to compute."""
    return name == _NAME


def symbol(dtype: str, lanes: int) -> str:
    """What a module calls the function on so many lanes."""
    return f"wengert_plain_{_NAME}_{dtype}_{lanes}"


def definition(dtype: str, lanes: int, librarys: str) -> tuple[str, dict[str, str]]:
    """The function as IR, and what it declares, by name, but for the library's."""
    own, w = symbol(dtype, lanes), polynomials.lanes_of(dtype, lanes)
    given = f"{w.type} %y, {w.type} %x"
    are_rare = w.emit(f"or {w.bools} {_are_rare(w, dtype, '%y')}, {_are_rare(w, dtype, '%x')}")
    w.lines.append(f"  br i1 {_reduced(w, 'or', are_rare)}, label %rare, label %plain\nrare:")
    asked = w.emit(f"tail call {w.type} @{own}.rare({given})")
    w.lines.append(f"  ret {w.type} {asked}\nplain:\n  %theirs = tail call {w.type} @{librarys}({given})")
    head = f"define internal {w.type} @{own}({given}) nounwind memory(none) {{\nstart:"
    text = [head, *w.lines, f"  ret {w.type} %theirs", "}", _rare(own, dtype, lanes, librarys, w.externals)]
    return "\n".join(text), w.externals


def _reduced(w: polynomials.Lanes, how: str, flags: str) -> str:
    name = f"llvm.vector.reduce.{how}.v{w.lanes}i1"
    w.externals[name] = f"declare i1 @{name}({w.bools})"
    return w.emit(f"call i1 @{name}({w.bools} {flags})")


def _are_rare(w: polynomials.Lanes, dtype: str, x: str) -> str:
    """Which numbers are not of plain sizes, by their bits."""
    whole, real = ("q", "d") if dtype == "f64" else ("i", "f")
    least, most = (struct.unpack(whole, struct.pack(real, 2.0**k))[0] for k in (-_PLAIN[dtype], _PLAIN[dtype]))
    kind = f"i{dtype[1:]}"
    past = w.emit(f"sub {w.ints} {w.bits(w.intrinsic('fabs', x))}, splat ({kind} {least})")
    return w.emit(f"icmp ugt {w.ints} {past}, splat ({kind} {most - least})")


def _rare(own: str, dtype: str, lanes: int, librarys: str, needed: dict[str, str]) -> str:
    """The function of vectors some of whose lanes are not plain."""
    w = polynomials.lanes_of(dtype, lanes)
    one, zero = w.number(1.0), w.number(0.0)

    def chosen(flags: str, x: str, y: str) -> str:
        return w.emit(f"select {w.bools} {flags}, {w.type} {x}, {w.type} {y}")

    across, up = w.intrinsic("fabs", "%x"), w.intrinsic("fabs", "%y")
    endless = w.number(math.inf)
    are_both = w.emit(f"and {w.bools} {w.emit(f'fcmp oeq {w.type} {across}, {endless}')}, "
                      f"{w.emit(f'fcmp oeq {w.type} {up}, {endless}')}")  # fmt: skip
    across, up = chosen(are_both, one, across), chosen(are_both, one, up)  # a diagonal, in which they are alike
    is_steep = w.emit(f"fcmp ogt {w.type} {up}, {across}")
    large, little = chosen(is_steep, up, across), chosen(is_steep, across, up)
    quotient = w.div(little, w.where("oeq", large, 0.0, one, large))
    are_apart = w.emit(f"fcmp ult {w.type} {quotient}, {w.number(_NOTHING[dtype])}")  # or a NaN
    # from the right or from above, then from the left: by a quotient that rounding loses beside these
    turned = chosen(is_steep, w.sub(w.number(math.pi / 2), quotient), quotient)
    sign = w.intrinsic("copysign", one, "%x")
    turned = w.where("olt", sign, 0.0, w.sub(w.number(math.pi), turned), turned)
    angle = w.intrinsic("copysign", w.where("uno", quotient, zero, quotient, turned), "%y")
    is_all = _reduced(w, "and", are_apart)
    w.lines.append(f"  br i1 {is_all}, label %all, label %some\nall:\n  ret {w.type} {angle}\nsome:")
    power = _SCALED[dtype]
    scale = w.where("olt", large, 1.0, w.number(2.0**power), w.number(2.0**-power))
    are_far = w.emit(f"or {w.bools} {_are_rare(w, dtype, across)}, {_are_rare(w, dtype, up)}")
    scale = chosen(are_far, scale, one)
    near = [
        w.intrinsic("copysign", chosen(are_apart, one, w.mul(size, scale)), place)
        for size, place in ((up, "%y"), (across, "%x"))
    ]
    theirs = w.emit(f"call {w.type} @{librarys}({w.type} {near[0]}, {w.type} {near[1]})")
    w.lines.append(f"  ret {w.type} {chosen(are_apart, angle, theirs)}")
    needed |= w.externals
    head = f"define internal {w.type} @{own}.rare({w.type} %y, {w.type} %x) cold noinline nounwind memory(none) {{"
    return "\n".join([head, "start:", *w.lines, "}"])
