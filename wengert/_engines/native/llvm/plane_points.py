"""The angle and the size of a point from its two coordinates, on vectors, where the C library computes them one by one.

For angles those are points with a coordinate that is zero, subnormal, nearly endless, endless or NaN; for sizes, points
whose larger coordinate is. Where they are far from 1, the library's vector function computes the point that is some
powers of two nearer to it. Where one coordinate is nothing beside the other, the angle is their quotient, or that from
one of the four directions.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from . import polynomials

_NAMES = ("atan2", "hypot")
# sizes between these powers of two, from less than 1 to more, are the library's
_PLAIN = {"atan2": {"f64": 1000, "f32": 120}, "hypot": {"f64": 500, "f32": 60}}
_SCALED = {"f64": 700, "f32": 80}  # powers of two by which others come to be of these
_NOTHING = {"f64": 2.0**-60, "f32": 2.0**-30}  # a quotient below this is its own arctangent


def has(name: str) -> bool:
    """Whether some lanes of the function are ours to compute."""
    return name in _NAMES


def symbol(name: str, dtype: str, lanes: int) -> str:
    """What a module calls the function on so many lanes."""
    return f"wengert_plain_{name}_{dtype}_{lanes}"


def definition(name: str, dtype: str, lanes: int, librarys: str) -> tuple[str, dict[str, str]]:
    """The function as IR, and what it declares, by name, but for the library's."""
    own, w = symbol(name, dtype, lanes), polynomials.lanes_of(dtype, lanes)
    given, most = f"{w.type} %y, {w.type} %x", _PLAIN[name][dtype]
    sizes = [*map(w.bits, _sizes(w))]
    if name == "hypot":  # by the larger one; bits of sizes are in order, and of NaN beyond
        is_up = w.emit(f"icmp ugt {w.ints} {sizes[0]}, {sizes[1]}")
        sizes = [w.emit(f"select {w.bools} {is_up}, {w.ints} {sizes[0]}, {w.ints} {sizes[1]}")]
    are_rare = _are_rare(w, dtype, sizes, most)
    w.lines.append(f"  br i1 {reduced(w, 'or', are_rare)}, label %rare, label %plain\nrare:")
    asked = w.emit(f"tail call {w.type} @{own}.rare({given})")
    w.lines.append(f"  ret {w.type} {asked}\nplain:\n  %theirs = tail call {w.type} @{librarys}({given})")
    head = f"define internal {w.type} @{own}({given}) nounwind memory(none) {{\nstart:"
    rare = polynomials.lanes_of(dtype, lanes)
    _RARE[name](rare, dtype, librarys)
    rare_head = f"define internal {w.type} @{own}.rare({given}) cold noinline nounwind memory(none) {{\nstart:"
    text = [head, *w.lines, f"  ret {w.type} %theirs", "}", rare_head, *rare.lines, "}"]
    return "\n".join(text), w.externals | rare.externals


def _sizes(w: polynomials.Lanes) -> tuple[str, str]:
    """Of the coordinates, upwards and to the right."""
    return w.intrinsic("fabs", "%y"), w.intrinsic("fabs", "%x")


def reduced(w: polynomials.Lanes, how: str, flags: str) -> str:
    """Whether all flags are set ("and"), or any ("or")."""
    name = f"llvm.vector.reduce.{how}.v{w.lanes}i1"
    w.externals[name] = f"declare i1 @{name}({w.bools})"
    return w.emit(f"call i1 @{name}({w.bools} {flags})")


def _are_rare(w: polynomials.Lanes, dtype: str, sizes: Sequence[str], power: int) -> str:
    """Of which lanes a size, of which the bits are given, is not plain."""
    whole, real = ("q", "d") if dtype == "f64" else ("i", "f")
    least, most = (struct.unpack(whole, struct.pack(real, 2.0**k))[0] for k in (-power, power))
    kind, found = f"i{dtype[1:]}", ""
    for size in sizes:
        past = w.emit(f"sub {w.ints} {size}, splat ({kind} {least})")
        is_rare = w.emit(f"icmp ugt {w.ints} {past}, splat ({kind} {most - least})")
        found = w.emit(f"or {w.bools} {found}, {is_rare}") if found else is_rare
    return found


def chosen(w: polynomials.Lanes, flags: str, x: str, y: str) -> str:
    """x where a flag is set, else y."""
    return w.emit(f"select {w.bools} {flags}, {w.type} {x}, {w.type} {y}")


def _scale(w: polynomials.Lanes, dtype: str, size: str, sign: int = 1) -> str:
    """The power of two that brings a size nearer to 1; of sign -1 that which takes it back."""
    power = _SCALED[dtype] * sign
    return w.where("olt", size, 1.0, w.number(2.0**power), w.number(2.0**-power))


def _rare_angle(w: polynomials.Lanes, dtype: str, librarys: str) -> None:
    """Writes the angles of points some of which are not plain."""
    one, zero, endless = w.number(1.0), w.number(0.0), w.number(math.inf)
    up, across = _sizes(w)
    are_endless = (w.emit(f"fcmp oeq {w.type} {size}, {endless}") for size in (up, across))
    are_both = w.emit(f"and {w.bools} {', '.join(are_endless)}")
    up, across = chosen(w, are_both, one, up), chosen(w, are_both, one, across)  # as on any diagonal
    is_steep = w.emit(f"fcmp ogt {w.type} {up}, {across}")
    large, little = chosen(w, is_steep, up, across), chosen(w, is_steep, across, up)
    quotient = w.div(little, w.where("oeq", large, 0.0, one, large))
    are_apart = w.emit(f"fcmp ult {w.type} {quotient}, {w.number(_NOTHING[dtype])}")  # or a NaN
    # from the right or from above, then from the left: by a quotient that rounding loses beside these
    turned = chosen(w, is_steep, w.sub(w.number(math.pi / 2), quotient), quotient)
    sign = w.intrinsic("copysign", one, "%x")
    turned = w.where("olt", sign, 0.0, w.sub(w.number(math.pi), turned), turned)
    angle = w.intrinsic("copysign", w.where("uno", quotient, zero, quotient, turned), "%y")
    is_all = reduced(w, "and", are_apart)
    w.lines.append(f"  br i1 {is_all}, label %all, label %some\nall:\n  ret {w.type} {angle}\nsome:")
    are_far = _are_rare(w, dtype, [w.bits(up), w.bits(across)], _PLAIN["atan2"][dtype])
    scale = chosen(w, are_far, _scale(w, dtype, large), one)
    near = [
        w.intrinsic("copysign", chosen(w, are_apart, one, w.mul(size, scale)), place)
        for size, place in ((up, "%y"), (across, "%x"))
    ]
    theirs = w.emit(f"call {w.type} @{librarys}({w.type} {near[0]}, {w.type} {near[1]})")
    w.lines.append(f"  ret {w.type} {chosen(w, are_apart, angle, theirs)}")


def _rare_size(w: polynomials.Lanes, dtype: str, librarys: str) -> None:
    """Writes the sizes of points some of which are not plain."""
    one, endless = w.number(1.0), w.number(math.inf)
    up, across = _sizes(w)
    total = w.add(up, across)  # 0, endless or NaN where the size is
    large = w.where("ogt", up, across, up, across)
    end = w.where("oeq", up, math.inf, endless, w.where("oeq", across, math.inf, endless, total))
    is_number = w.emit(f"fcmp one {w.type} {total}, {w.number(0.0)}")
    is_inside = w.emit(f"fcmp olt {w.type} {large}, {endless}")
    are_plain = w.emit(f"and {w.bools} {is_number}, {is_inside}")
    is_any = reduced(w, "or", are_plain)
    w.lines.append(f"  br i1 {is_any}, label %some, label %none\nnone:\n  ret {w.type} {end}\nsome:")
    are_far = _are_rare(w, dtype, [w.bits(large)], _PLAIN["hypot"][dtype])
    scale, back = (chosen(w, are_far, _scale(w, dtype, large, sign), one) for sign in (1, -1))
    near = [chosen(w, are_plain, w.mul(size, scale), one) for size in (up, across)]
    theirs = w.mul(w.emit(f"call {w.type} @{librarys}({w.type} {near[0]}, {w.type} {near[1]})"), back)
    w.lines.append(f"  ret {w.type} {chosen(w, are_plain, theirs, end)}")


_RARE = {"atan2": _rare_angle, "hypot": _rare_size}
