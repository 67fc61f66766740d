"""Powers of pairs of numbers some of which the C library computes one by one.

Those have bases that are 0, negative, subnormal, endless or NaN, or exponents that are endless or NaN. Ends (0, 1,
infinity, no number) are chosen here; a negative base with a whole exponent is the library's power of its size, with a
sign. All other vectors pay for two comparisons.
"""

from __future__ import annotations

import math

from . import polynomials
from .plane_points import chosen, reduced
from .target import has_fma

_NAME = "pow"
_ENDS = {
    "f64": (0x0010000000000000, 0x7FF0000000000000),
    "f32": (0x00800000, 0x7F800000),
}  # the least normal number's bits, infinity's


def has(name: str) -> bool:
    """Whether some lanes of the function are ours to compute."""
    return name == _NAME and has_fma()


def symbol(dtype: str, lanes: int) -> str:
    """What a module calls the function on so many lanes."""
    return f"wengert_plain_{_NAME}_{dtype}_{lanes}"


def definition(dtype: str, lanes: int, librarys: str) -> tuple[str, dict[str, str]]:
    """The function as IR, and what it declares, by name, but for the library's."""
    own, w = symbol(dtype, lanes), polynomials.lanes_of(dtype, lanes)
    given = f"{w.type} %x, {w.type} %y"
    least, endless = _ENDS[dtype]
    # bits of positive numbers are in order, and those of all others are beyond
    past = w.emit(f"sub {w.ints} {w.bits('%x')}, splat (i{dtype[1:]} {least})")
    are_rare = w.emit(f"icmp uge {w.ints} {past}, splat (i{dtype[1:]} {endless - least})")
    no_exponent = w.emit(f"fcmp ueq {w.type} {w.intrinsic('fabs', '%y')}, {w.number(math.inf)}")
    is_any = reduced(w, "or", w.emit(f"or {w.bools} {are_rare}, {no_exponent}"))
    w.lines.append(f"  br i1 {is_any}, label %rare, label %plain\nrare:")
    asked = w.emit(f"tail call {w.type} @{own}.rare({given})")
    w.lines.append(f"  ret {w.type} {asked}\nplain:\n  %theirs = tail call {w.type} @{librarys}({given})")
    head = f"define internal {w.type} @{own}({given}) nounwind memory(none) {{\nstart:"
    rare = polynomials.lanes_of(dtype, lanes)
    _write_rare(rare, librarys)
    rare_head = f"define internal {w.type} @{own}.rare({given}) cold noinline nounwind memory(none) {{\nstart:"
    text = [head, *w.lines, f"  ret {w.type} %theirs", "}", rare_head, *rare.lines, "}"]
    return "\n".join(text), w.externals | rare.externals


def _either(w: polynomials.Lanes, *flags: str) -> str:
    found = flags[0]
    for flag in flags[1:]:
        found = w.emit(f"or {w.bools} {found}, {flag}")
    return found


def _write_rare(w: polynomials.Lanes, librarys: str) -> None:
    """Writes the powers of a vector of pairs, some of which are not plain."""
    one, endless = w.number(1.0), w.number(math.inf)

    def test(how: str, x: str, y: str) -> str:
        return w.emit(f"fcmp {how} {w.type} {x}, {y}")

    def both(flag: str, other: str) -> str:
        return w.emit(f"and {w.bools} {flag}, {other}")

    size, steps = w.intrinsic("fabs", "%x"), w.intrinsic("fabs", "%y")
    is_zero, has_no_step = test("oeq", size, w.number(0.0)), test("oeq", steps, w.number(0.0))
    is_far, is_endless = test("oeq", size, endless), test("oeq", steps, endless)
    is_nan = test("uno", "%x", "%y")
    # a half is no whole number; of subnormal ones the half would be rounded
    exponent = chosen(w, test("oge", steps, one), "%y", w.number(0.5))
    half = w.mul(exponent, w.number(0.5))
    is_whole = test("oeq", w.intrinsic("trunc", exponent), exponent)
    is_odd = both(is_whole, test("one", w.intrinsic("trunc", half), half))
    is_left = w.emit(f"icmp slt {w.ints} {w.bits('%x')}, zeroinitializer")
    sign = chosen(w, both(is_left, is_odd), w.number(-1.0), one)
    # there is none of a negative number with an exponent between whole ones
    is_inside = both(test("olt", "%x", w.number(0.0)), test("one", size, endless))
    is_broken = w.emit(f"xor {w.bools} {_either(w, is_whole, has_no_step, is_endless)}, splat (i1 true)")
    is_none = both(is_inside, is_broken)
    # how sizes end: of 0 with a negative exponent by a division, as C tells the processor's flags
    is_up = test("ogt", "%y", w.number(0.0))
    vanishes = w.emit(f"xor {w.bools} {test('ogt', size, one)}, {is_up}")
    is_over = both(is_zero, both(test("olt", "%y", w.number(0.0)), test("olt", steps, endless)))
    over = w.div(one, chosen(w, is_over, w.sub("%x", "%x"), one))
    end = chosen(w, vanishes, w.number(0.0), chosen(w, is_over, over, endless))
    end = chosen(w, test("oeq", size, one), one, w.mul(sign, end))
    root = w.intrinsic("sqrt", chosen(w, is_none, "%x", one))
    end = chosen(w, is_nan, w.add("%x", "%y"), chosen(w, is_none, root, end))
    is_one = _either(w, has_no_step, test("oeq", "%x", one))
    end = chosen(w, is_one, one, end)
    are_ends = _either(w, is_zero, is_far, is_endless, is_nan, is_none, is_one)
    w.lines.append(f"  br i1 {reduced(w, 'and', are_ends)}, label %all, label %some\nall:\n  ret {w.type} {end}\nsome:")
    base, exponent = chosen(w, are_ends, one, size), chosen(w, are_ends, one, "%y")
    theirs = w.emit(f"call {w.type} @{librarys}({w.type} {base}, {w.type} {exponent})")
    w.lines.append(f"  ret {w.type} {chosen(w, are_ends, end, w.mul(theirs, sign))}")
