"""Vector functions of the C library that leave numbers beside a plain range to us.

For a lane with such a number libmvec calls its function of one number, and a vector of them takes 2 to 28 times as
long: logarithms of 0, exponentials that vanish or do not fit, arcsines beyond 1, tangents of infinities. What such
lanes have is computed by itself, and the library computes the others, if there are any, with a plain number in these.
Where a function has nothing but ends there (an infinity, no number), a formula of them is enough; otherwise
`polynomials.py` serves. Logarithms are the library's, of a number that was moved. What a lane has depends on its own
number alone, so equal numbers stay equal. All other vectors pay for a comparison.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import numpy as np

from . import polynomials

_TINY = {"f32": 2.0**-126, "f64": 2.0**-1022}
_LARGE = {"f32": float(np.finfo(np.float32).max), "f64": float(np.finfo(np.float64).max)}
_ABOVE_1 = {"f32": 1 + 2.0**-23, "f64": 1 + 2.0**-52}
_BELOW_1 = {"f32": 1 - 2.0**-24, "f64": 1 - 2.0**-53}
_ONE = {"f32": 1.0, "f64": 1.0}
# where the logarithms begin of which the library computes whole vectors: subnormal numbers are no trouble to some
_LEAST = {"log": _TINY, **{name: _TINY | {"f64": 2.0**-1074} for name in ("log2", "log10")}}
_SIZES = {"tan": _LARGE, "asinh": _LARGE, "asin": _ONE, "acos": _ONE, "atanh": _BELOW_1, "tanh": {"f32": 1e30}}


# from the name and the type to the least and the largest number of which the library computes whole vectors
_PLAIN: dict[tuple[str, str], tuple[float, float]] = {
    **{(name, dtype): (least[dtype], _LARGE[dtype]) for name, least in _LEAST.items() for dtype in _LARGE},
    **{(name, dtype): (-most, most) for name, sizes in _SIZES.items() for dtype, most in sizes.items()},
    ("log1p", "f32"): (-_BELOW_1["f32"], 1e38), ("log1p", "f64"): (-_BELOW_1["f64"], math.inf),
    ("exp2", "f32"): (-125.5, 126.5), ("exp2", "f64"): (-1022.0, 1023.0),
    ("expm1", "f64"): (-math.inf, 705.0), ("expm1", "f32"): (-math.inf, 86.0),
    ("sinh", "f32"): (-86.0, 86.0), ("cosh", "f32"): (-86.0, 86.0),
    ("sin", "f32"): (-1e4, 1e4), ("cos", "f32"): (-1e4, 1e4),
    **{("acosh", dtype): (_ABOVE_1[dtype], _LARGE[dtype]) for dtype in _LARGE},
}  # fmt: skip
_LOGARITHMS = {"log": math.e, "log2": 2.0, "log10": 10.0, "log1p": math.e}  # and their bases
_HUGE_SHIFT = 10  # log1p of what is huge is that of the number over such a power of two
_ANGLES = ("sin", "cos")
_STEP = {"f32": -149, "f64": -1074}  # the power of two that subnormal numbers are multiples of
_INSIDE = 0.5  # of all ranges but that of arccosh, where a lane's number is not
_INSIDE_OF = {"acosh": 2.0}


def _size(w: polynomials.Lanes, x: str) -> str:
    return w.intrinsic("fabs", x)


def _root(w: polynomials.Lanes, x: str) -> str:
    """Which is no number where x is negative, and sets the processor's flag as C does there."""
    return w.intrinsic("sqrt", x)


def _left_of_1(w: polynomials.Lanes, x: str) -> str:
    return w.sub(w.number(1.0), _size(w, x))


# what functions are beside the plain range that have nothing but ends there; a NaN stays one
_ENDS: dict[str, Callable[[polynomials.Lanes, str], str]] = {
    "asin": lambda w, x: _root(w, _left_of_1(w, x)), "acos": lambda w, x: _root(w, _left_of_1(w, x)),
    "atanh": lambda w, x: w.div(x, _root(w, _left_of_1(w, x))),
    "acosh": lambda w, x: _root(w, w.sub(x, w.number(1.0))),
    "asinh": lambda w, x: w.add(x, x), "tan": lambda w, x: w.sub(x, x),
    "tanh": lambda w, x: w.where("uno", x, x, x, w.intrinsic("copysign", w.number(1.0), x)),
}  # fmt: skip


def has(name: str, dtype: str) -> bool:
    """Whether lanes beside a plain range are ours to compute."""
    return (name, dtype) in _PLAIN and (name in _LOGARITHMS or name in _ENDS or polynomials.has_body(name))


def symbol(name: str, dtype: str, lanes: int) -> str:
    """What a module calls the function on so many lanes."""
    return f"wengert_plain_{name}_{dtype}_{lanes}"


def definition(name: str, dtype: str, lanes: int, librarys: str) -> tuple[str, dict[str, str]]:
    """The function as IR, and what it declares, by name, but for the library's.

    Args:
        name: such as "log".
        dtype: "f64" or "f32".
        lanes: how many numbers a vector has.
        librarys: the symbol of the library's vector function.
    """
    own, w = symbol(name, dtype, lanes), polynomials.lanes_of(dtype, lanes)
    are_rare = _are_rare(w, dtype, *_PLAIN[name, dtype])
    any_of = f"llvm.vector.reduce.or.v{lanes}i1"
    is_any = w.emit(f"call i1 @{any_of}({w.bools} {are_rare})")
    w.externals[any_of] = f"declare i1 @{any_of}({w.bools})"
    w.lines.append(f"  br i1 {is_any}, label %rare, label %plain\nrare:")
    asked = w.emit(f"tail call {w.type} @{own}.rare({w.type} %x, {w.bools} {are_rare})")
    w.lines.append(f"  ret {w.type} {asked}\nplain:")
    head = f"define internal {w.type} @{own}({w.type} %x) nounwind memory(none) {{"
    whole = [head, "start:", *w.lines, f"  %theirs = tail call {w.type} @{librarys}({w.type} %x)"]
    whole += [f"  ret {w.type} %theirs", "}", _rare(name, dtype, lanes, librarys, w.externals)]
    if name in _LOGARITHMS or name in _ENDS:
        return "\n".join(whole), w.externals
    ours, needed = polynomials.definition(name, dtype, lanes)
    return "\n".join([ours, *whole]), w.externals | needed


def _rare(name: str, dtype: str, lanes: int, librarys: str, needed: dict[str, str]) -> str:
    """The function of a vector and of which of its lanes are rare."""
    w = polynomials.lanes_of(dtype, lanes)
    are = "%are"
    inside, less = w.number(_INSIDE_OF.get(name, _INSIDE)), ""
    rare = w.emit(f"select {w.bools} {are}, {w.type} %x, {w.type} {inside}")
    if name in _LOGARITHMS:
        inside, less, are_ends, ours = _logarithm(w, name, dtype, rare)
    elif name in _ENDS:
        are_ends, ours = are, _ENDS[name](w, rare)
    elif name in _ANGLES:
        are_ends, ours = are, _of_angles(w, name, dtype, rare)
    else:
        are_ends, ours = are, _in_series(w, name, dtype, rare)
    all_of = f"llvm.vector.reduce.and.v{lanes}i1"
    w.externals[all_of] = f"declare i1 @{all_of}({w.bools})"
    is_all = w.emit(f"call i1 @{all_of}({w.bools} {are_ends})")
    w.lines.append(f"  br i1 {is_all}, label %all, label %some\nall:\n  ret {w.type} {ours}\nsome:")
    others = w.emit(f"select {w.bools} {are}, {w.type} {inside}, {w.type} %x")
    theirs = w.emit(f"call {w.type} @{librarys}({w.type} {others})")
    if less:
        theirs = w.add(theirs, w.emit(f"select {w.bools} {are}, {w.type} {less}, {w.type} {w.number(-0.0)}"))
    w.lines.append(f"  ret {w.type} {w.emit(f'select {w.bools} {are_ends}, {w.type} {ours}, {w.type} {theirs}')}")
    needed |= w.externals
    head = f"define internal {w.type} @{symbol(name, dtype, lanes)}.rare({w.type} %x, {w.bools} %are)"
    return "\n".join([f"{head} cold noinline nounwind memory(none) {{", "start:", *w.lines, "}"])


def _in_series(w: polynomials.Lanes, name: str, dtype: str, rare: str) -> str:
    return w.emit(f"call {w.type} @{polynomials.symbol(name, dtype, w.lanes)}({w.type} {rare})")


def _of_angles(w: polynomials.Lanes, name: str, dtype: str, rare: str) -> str:
    """Where no lane is a large number, but an infinity or NaN, there is nothing to compute."""
    are_numbers = w.emit(f"fcmp olt {w.type} {_size(w, rare)}, {w.number(math.inf)}")
    any_of = f"llvm.vector.reduce.or.v{w.lanes}i1"
    w.externals[any_of] = f"declare i1 @{any_of}({w.bools})"
    are_large = w.emit(f"and {w.bools} %are, {are_numbers}")
    is_any = w.emit(f"call i1 @{any_of}({w.bools} {are_large})")
    w.lines.append(f"  br i1 {is_any}, label %large, label %endless\nlarge:")
    found = _in_series(w, name, dtype, rare)
    w.lines.append("  br label %found\nendless:")
    nothing = w.sub(rare, rare)
    w.lines.append("  br label %found\nfound:")
    return w.emit(f"phi {w.type} [ {found}, %large ], [ {nothing}, %endless ]")


def _logarithm(w: polynomials.Lanes, name: str, dtype: str, rare: str) -> tuple[str, str, str, str]:
    """For rare lanes the number whose logarithm the library computes, what is added to that, which lanes have an end
    instead, and that: those of 0 and of negative numbers set the processor's flags as C sets them."""
    one, zero, scale = w.number(1.0), w.number(0.0), math.log(_LOGARITHMS[name])
    if name == "log1p":
        place, shift = w.add(rare, one), _HUGE_SHIFT
        moved = w.mul(rare, w.number(2.0**-shift))
    else:  # the bits of a subnormal number say how many steps it is: to multiply it takes processors long
        place, shift = rare, _STEP[dtype]
        moved = w.emit(f"sitofp {w.ints} {w.bits(rare)} to {w.type}")
    above = w.emit(f"fcmp ogt {w.type} {place}, {zero}")
    are_moved = w.emit(f"and {w.bools} {above}, {w.emit(f'fcmp olt {w.type} {place}, {w.number(math.inf)}')}")
    inside = w.emit(f"select {w.bools} {are_moved}, {w.type} {moved}, {w.type} {one}")
    under = w.where("ole", place, 0.0, w.sub(place, place), one)  # a 0 that LLVM does not know
    end = w.div(w.where("olt", place, 0.0, zero, w.number(-1.0)), under)
    end = w.where("ole", place, 0.0, end, w.emit(f"fadd {w.type} {rare}, {rare}"))
    ends = w.emit(f"xor {w.bools} {are_moved}, splat (i1 true)")
    return inside, w.number(shift * math.log(2) / scale), w.emit(f"and {w.bools} %are, {ends}"), end


def _are_rare(w: polynomials.Lanes, dtype: str, least: float, most: float) -> str:
    """Which lanes have a number beside the range, or a NaN."""
    if least == -most:
        return w.emit(f"fcmp ugt {w.type} {w.intrinsic('fabs', '%x')}, {w.number(most)}")
    if least > 0:  # of positive numbers the bits are in order, and those of all others are beyond
        first, last = (struct.unpack(*pattern)[0] for pattern in _patterns(dtype, least, most))
        past = w.emit(f"sub {w.ints} {w.bits('%x')}, {_integers(dtype, first)}")
        return w.emit(f"icmp ugt {w.ints} {past}, {_integers(dtype, last - first)}")
    above, below = f"fcmp ugt {w.type} %x, {w.number(most)}", f"fcmp ult {w.type} %x, {w.number(least)}"
    if least == -math.inf or most == math.inf:
        return w.emit(above if least == -math.inf else below)
    return w.emit(f"or {w.bools} {w.emit(below)}, {w.emit(above)}")


def _patterns(dtype: str, *numbers: float) -> list[tuple[str, bytes]]:
    whole, real = ("q", "d") if dtype == "f64" else ("i", "f")
    return [(whole, struct.pack(real, x)) for x in numbers]


def _integers(dtype: str, value: int) -> str:
    return f"splat (i{dtype[1:]} {value})"
