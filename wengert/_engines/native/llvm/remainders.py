"""C's remainder of divisions on vectors: libmvec has none.

The whole quotient of numbers that are not too far apart is the truncated one, or one less, and what is left of it is a
number without rounding: one fused multiply-add gives it. So values are C's to the bit. Lanes with numbers further
apart or subnormal divisors are asked of C's function, each by itself: here they divide 0 by 1, so that none but that
function's flags are set.
"""

from __future__ import annotations

import math
import struct

from . import polynomials
from .target import has_fma

_NAME = "fmod"
_MANTISSA = {"f64": 52, "f32": 23}  # bits behind the exponent
_TINY = {"f64": 2.0**-1022, "f32": 2.0**-126}  # the least normal number


def has(name: str) -> bool:
    """Whether the function is one of these, and the machine can run it."""
    return name == _NAME and has_fma()


def symbol(dtype: str, lanes: int) -> str:
    """What a module calls the function on so many lanes."""
    return f"wengert_{_NAME}_{dtype}_{lanes}"


def definition(dtype: str, lanes: int) -> tuple[str, dict[str, str]]:
    """The function as IR, and what it declares, by name, but for C's of one number."""
    own, w = symbol(dtype, lanes), polynomials.lanes_of(dtype, lanes)
    whole, pack = f"i{dtype[1:]}", ("q", "d") if dtype == "f64" else ("i", "f")

    def constant(value: int) -> str:
        return f"splat ({whole} {value})"

    def pattern(value: float) -> int:
        return struct.unpack(pack[0], struct.pack(pack[1], value))[0]

    def test(how: str, x: str, y: str) -> str:
        return w.emit(f"icmp {how} {w.ints} {x}, {y}")

    def both(one: str, two: str) -> str:
        return w.emit(f"and {w.bools} {one}, {two}")

    def chosen(condition: str, x: str, y: str) -> str:
        return w.emit(f"select {w.bools} {condition}, {w.type} {x}, {w.type} {y}")

    zero, endless, least = w.number(0.0), pattern(math.inf), pattern(_TINY[dtype])
    size, divisor = (w.bits(w.intrinsic("fabs", x)) for x in ("%x", "%y"))
    apart = w.emit(f"sub {w.ints} {size}, {divisor}")
    is_normal = test("ult", w.emit(f"sub {w.ints} {divisor}, {constant(least)}"), constant(endless - least + 1))
    is_near = test("slt", apart, constant((_MANTISSA[dtype] - 1) << _MANTISSA[dtype]))
    plain = both(both(is_normal, is_near), test("ult", size, constant(endless)))
    is_less = test("slt", apart, constant(0))
    is_divided = both(plain, w.emit(f"xor {w.bools} {is_less}, splat (i1 true)"))
    x, y = chosen(is_divided, "%x", zero), chosen(is_divided, "%y", w.number(1.0))
    quotient = w.intrinsic("trunc", w.div(x, y))
    rest = w.fma(w.emit(f"fneg {w.type} {quotient}"), y, x)
    # one too many: what is left has the other sign
    is_beyond = w.emit(f"fcmp olt {w.type} {w.mul(w.intrinsic('copysign', w.number(1.0), x), rest)}, {zero}")
    rest = chosen(is_beyond, w.add(rest, w.intrinsic("copysign", y, x)), rest)
    found = chosen(is_less, "%x", w.intrinsic("copysign", rest, "%x"))
    all_of = f"llvm.vector.reduce.and.v{lanes}i1"
    w.externals[all_of] = f"declare i1 @{all_of}({w.bools})"
    is_all = w.emit(f"call i1 @{all_of}({w.bools} {plain})")
    given = f"{w.type} %x, {w.type} %y, {w.type} {found}, {w.bools} {plain}"
    w.lines.append(f"  br i1 {is_all}, label %near, label %far\nfar:")
    asked = w.emit(f"tail call {w.type} @{own}.far({given})")
    w.lines.append(f"  ret {w.type} {asked}\nnear:\n  ret {w.type} {found}\n}}")
    head = f"define internal {w.type} @{own}({w.type} %x, {w.type} %y) nounwind memory(none) {{\nstart:"
    return "\n".join([head, *w.lines, _far(own, dtype, lanes)]), w.externals


def _far(own: str, dtype: str, lanes: int) -> str:
    """The function that has C's values in the lanes that are not plain."""
    w = polynomials.lanes_of(dtype, lanes)
    one, called = ("double", _NAME) if dtype == "f64" else ("float", f"{_NAME}f")
    # of infinities, by zeros and with a NaN there is none, as of infinity by itself, and of 0 by 0
    is_endless = w.emit(f"fcmp ueq {w.type} {w.intrinsic('fabs', '%x')}, {w.number(math.inf)}")
    is_none = w.emit(f"or {w.bools} {is_endless}, {w.emit(f'fcmp ueq {w.type} %y, {w.number(0.0)}')}")
    product = w.mul(
        *(w.emit(f"select {w.bools} {is_none}, {w.type} {v}, {w.type} {w.number(1.0)}") for v in ("%x", "%y"))
    )
    none = w.div(product, product)
    held = w.emit(f"select {w.bools} {is_none}, {w.type} {none}, {w.type} %found")
    done, before = w.emit(f"or {w.bools} %plain, {is_none}"), "some"
    all_of = f"llvm.vector.reduce.and.v{lanes}i1"  # which the caller declares
    is_all = w.emit(f"call i1 @{all_of}({w.bools} {done})")
    w.lines.append(f"  br i1 {is_all}, label %all, label %some\nall:\n  ret {w.type} {held}\nsome:")
    for lane in range(lanes):
        is_plain = w.emit(f"extractelement {w.bools} {done}, i64 {lane}")
        w.lines.append(f"  br i1 {is_plain}, label %next{lane}, label %call{lane}\ncall{lane}:")
        x, y = (w.emit(f"extractelement {w.type} {v}, i64 {lane}") for v in ("%x", "%y"))
        asked = w.emit(f"call {one} @{called}({one} {x}, {one} {y})")
        put = w.emit(f"insertelement {w.type} {held}, {one} {asked}, i64 {lane}")
        w.lines.append(f"  br label %next{lane}\nnext{lane}:")
        held = w.emit(f"phi {w.type} [ {held}, %{before} ], [ {put}, %call{lane} ]")
        before = f"next{lane}"
    given = f"{w.type} %x, {w.type} %y, {w.type} %found, {w.bools} %plain"
    head = f"define internal {w.type} @{own}.far({given}) cold noinline nounwind memory(none) {{\nstart:"
    return "\n".join([head, *w.lines, f"  ret {w.type} {held}", "}"])
