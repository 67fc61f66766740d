"""Mathematical functions on vectors as IR of our own, for machines whose C library has none, or slower ones.

Each is reduced to a small range, summed there as a power series, and scaled to the full range; every step is one
operation on a whole vector. Fused multiply-adds keep the reductions exact; angles beyond 1e9 have one of their own
(`large_angles.py`). float32 is computed in float64, but for its own exponential. All are within 4 units in the last
place, with C's values for NaN, infinities and signed zeros (`tests/engines/native/test_vectormath.py`).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

from . import large_angles
from .target import has_fma, has_scaling

LARGE_ANGLE = 1e9  # beyond it the three parts of pi / 2 do not suffice


class Lanes:
    """Writes the body of one function on `<n x double>`."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.type = f"<{lanes} x double>"
        self.ints = f"<{lanes} x i64>"
        self.bools = f"<{lanes} x i1>"
        self.lines: list[str] = []
        self.externals: dict[str, str] = {}
        self.count = 0

    def emit(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def number(self, value: float) -> str:
        return f"splat (double 0x{struct.unpack('Q', struct.pack('d', value))[0]:016X})"

    def op(self, name: str, x: str, y: str) -> str:
        return self.emit(f"{name} {self.type} {x}, {y}")

    def add(self, x: str, y: str) -> str:
        return self.op("fadd", x, y)

    def sub(self, x: str, y: str) -> str:
        return self.op("fsub", x, y)

    def mul(self, x: str, y: str) -> str:
        return self.op("fmul", x, y)

    def div(self, x: str, y: str) -> str:
        return self.op("fdiv", x, y)

    def intrinsic(self, name: str, *xs: str) -> str:
        full = f"llvm.{name}.v{self.lanes}f64"
        self.externals[full] = f"declare {self.type} @{full}({', '.join([self.type] * len(xs))})"
        return self.emit(f"call {self.type} @{full}({', '.join(f'{self.type} {x}' for x in xs)})")

    def fma(self, x: str, y: str, z: str) -> str:
        return self.intrinsic("fma", x, y, z)

    def less(self, factor: str, constant: float, x: str) -> str:
        """x - factor * constant, rounded once."""
        return self.fma(factor, self.number(-constant), x)

    def where(self, test: str, x: str, y: float | str, then: str, other: str) -> str:
        """`then` where a comparison holds, else `other`."""
        right = y if isinstance(y, str) else self.number(y)
        cond = self.emit(f"fcmp {test} {self.type} {x}, {right}")
        return self.emit(f"select {self.bools} {cond}, {self.type} {then}, {self.type} {other}")

    def bits(self, x: str) -> str:
        return self.emit(f"bitcast {self.type} {x} to {self.ints}")

    def floats(self, x: str) -> str:
        return self.emit(f"bitcast {self.ints} {x} to {self.type}")

    def int_op(self, name: str, x: str, y: int | str) -> str:
        right = y if isinstance(y, str) else f"splat (i64 {y})"
        return self.emit(f"{name} {self.ints} {x}, {right}")

    def rows(self, table: str, places: str, size: int) -> list[str]:
        """The first, second, ... numbers of a row of a table for each lane, which begins at some place."""
        found: list[str] = []
        for lane in range(self.lanes):
            place = self.emit(f"extractelement {self.ints} {places}, i64 {lane}")
            at = self.emit(f"getelementptr double, ptr @{table}, i64 {place}")
            found.append(self.emit(f"load <{size} x double>, ptr {at}, align 8"))
        width = size
        while len(found) > 1:  # all rows one behind the other
            found = [self.shuffled(width, x, y, range(2 * width)) for x, y in zip(found[::2], found[1::2], strict=True)]
            width *= 2
        return [self.shuffled(width, found[0], "poison", range(k, width, size)) for k in range(size)]

    def shuffled(self, width: int, x: str, y: str, places: Sequence[int]) -> str:
        """Numbers at places of two vectors of so many."""
        mask = ", ".join(f"i32 {k}" for k in places)
        kind = f"<{width} x double>"
        return self.emit(f"shufflevector {kind} {x}, {kind} {y}, <{len(places)} x i32> <{mask}>")

    def series(self, x: str, coefficients: Sequence[float]) -> str:
        """A polynomial, the constant term first."""
        total = self.number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = self.fma(total, x, self.number(c))
        return total

    def scales(self) -> bool:
        """Whether one instruction multiplies a vector by powers of two, into overflow and subnormal numbers."""
        return has_scaling() and self.lanes in (2, 4, 8)

    def scaled(self, x: str, n: str) -> str:
        """x times 2^n, n being a whole number; asked only where `scales`."""
        full = f"llvm.x86.avx512.mask.scalef.pd.{64 * self.lanes}"
        types, given = f"{self.type}, {self.type}, {self.type}, i8", "i8 -1"
        if self.lanes == 8:  # its form of 512 bits says how to round: as always
            types, given = f"{types}, i32", f"{given}, i32 4"
        self.externals[full] = f"declare {self.type} @{full}({types})"
        operands = f"{self.type} {x}, {self.type} {n}, {self.type} zeroinitializer"
        return self.emit(f"call {self.type} @{full}({operands}, {given})")

    def power_of_two(self, n: str) -> str:
        """2^n for n between -1022 and 1023."""
        return self.floats(self.int_op("shl", self.int_op("add", n, 1023), 52))


# -- constants: log 2 and pi / 2 in parts, of 40 and 53 bits and of 53 bits each (the tests work them out) ------------

_LOG_2_HIGH = 0.6931471805601177
_LOG_2_LOW = -1.7239444525614835e-13
_HALF_PI_1 = 1.5707963267948966
_HALF_PI_2 = 6.123233995736766e-17
_HALF_PI_3 = -1.4973849048591698e-33

# of (e^r - 1 - r) / r^2: the polynomial that meets it at the ten Chebyshev points of -0.3466 to 0.3466
_EXP = [
    0.5000000000000001, 0.16666666666666669, 0.041666666666624136, 0.008333333333330063, 0.001388888891720967,
    0.00019841269863050506, 2.4801521302241082e-05, 2.7557268464831627e-06, 2.7620085455018414e-07,
    2.510038319586702e-08,
]  # fmt: skip
_ARTANH = [2 / (2 * k + 3) for k in range(12)]  # of (2 artanh(s) - 2 s) / s^3, in s^2
# of (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4, in r^2: as that, at six of 0 to 0.7857^2
_SIN = [
    -0.16666666666666666, 0.00833333333333094, -0.0001984126983674471, 2.755731609536301e-06, -2.505113034718917e-08,
    1.5918021424677038e-10,
]  # fmt: skip
_COS = [
    0.041666666666666664, -0.001388888888888739, 2.4801587298757016e-05, -2.755731726723222e-07, 2.08761453313898e-09,
    -1.1382562942849534e-11,
]  # fmt: skip


# -- exponentials -----------------------------------------------------------------------------------------------------


_MAGIC = 1.5 * 2.0**52  # a number below 2^51 that is added to it is rounded, and stands in its last bits


def _whole(w: Lanes, raised: str) -> tuple[str, str]:
    """The whole number that a sum with `_MAGIC` holds, as a number and as an integer."""
    rounded = w.sub(raised, w.number(_MAGIC))
    return rounded, w.int_op("sub", w.bits(raised), struct.unpack("q", struct.pack("d", _MAGIC))[0])


def _times_power(w: Lanes, x: str, n: str) -> str:
    """x times 2^n, in two steps, for results that are subnormal or just fit."""
    half = w.int_op("ashr", n, 1)
    return w.mul(w.mul(x, w.power_of_two(half)), w.power_of_two(w.int_op("sub", n, half)))


def _reduced_exp(w: Lanes, x: str) -> tuple[str, str, str]:
    """r and n, as a number and as an integer, where x = n log(2) + r."""
    rounded, n = _whole(w, w.fma(x, w.number(1 / math.log(2)), w.number(_MAGIC)))
    return w.less(rounded, _LOG_2_LOW, w.less(rounded, _LOG_2_HIGH, x)), rounded, n


def _clamped(w: Lanes, x: str, low: float, high: float) -> str:
    """x between two bounds; a NaN stays."""
    x = w.where("ogt", x, high, w.number(high), x)
    return w.where("olt", x, low, w.number(low), x)


def _exp(w: Lanes, x: str) -> str:
    r, rounded, n = _reduced_exp(w, _clamped(w, x, -750.0, 711.0))
    found = w.series(r, [1.0, 1.0, *_EXP])
    if w.scales():
        return w.scaled(found, rounded)
    return _times_power(w, found, n)


def _expm1(w: Lanes, x: str) -> str:
    r, _, n = _reduced_exp(w, _clamped(w, x, -50.0, 709.79))
    grown = w.fma(w.mul(r, r), w.series(r, _EXP), r)
    scale = w.power_of_two(w.int_op("sub", n, 1))  # half of 2^n, which may not fit
    found = w.fma(grown, scale, w.sub(scale, w.number(0.5)))
    return w.where("oeq", x, 0.0, x, w.add(found, found))


def _tanh(w: Lanes, x: str) -> str:
    size = w.intrinsic("fabs", x)
    capped = w.where("ogt", size, 22.0, w.number(22.0), size)
    grown = _expm1(w, w.add(capped, capped))
    found = w.div(grown, w.add(grown, w.number(2.0)))
    return w.intrinsic("copysign", found, x)


def _exp2(w: Lanes, x: str) -> str:
    x = _clamped(w, x, -1080.0, 1025.0)
    rounded, n = _whole(w, w.add(x, w.number(_MAGIC)))
    found = w.series(w.mul(w.sub(x, rounded), w.number(math.log(2))), [1.0, 1.0, *_EXP])
    return w.scaled(found, rounded) if w.scales() else _times_power(w, found, n)


# -- logarithms -------------------------------------------------------------------------------------------------------


def _log_of_positive(w: Lanes, x: str) -> str:
    """The logarithm of a positive finite number."""
    is_small = w.emit(f"fcmp olt {w.type} {x}, {w.number(2.0**-1000)}")
    scaled = w.mul(x, w.number(2.0**54))
    x = w.emit(f"select {w.bools} {is_small}, {w.type} {scaled}, {w.type} {x}")
    shift = w.emit(f"select {w.bools} {is_small}, {w.type} {w.number(-54.0)}, {w.type} {w.number(0.0)}")
    # x = m 2^n with m between the square roots of 1 / 2 and 2
    bits = w.bits(x)
    offset = struct.unpack("q", struct.pack("d", math.sqrt(0.5)))[0]
    n = w.int_op("ashr", w.int_op("sub", bits, offset), 52)
    m = w.floats(w.int_op("sub", bits, w.int_op("shl", n, 52)))
    exponent = w.add(w.emit(f"sitofp {w.ints} {n} to {w.type}"), shift)
    f = w.sub(m, w.number(1.0))
    s = w.div(f, w.add(m, w.number(1.0)))
    z = w.mul(s, s)
    # log(m) = f - s f + 2 s^3 (...): f is exact, and the rest is small beside it
    tail = w.fma(w.mul(w.mul(s, z), w.number(1.0)), w.series(z, _ARTANH), w.fma(exponent, w.number(_LOG_2_LOW),
                 w.mul(s, w.emit(f"fneg {w.type} {f}"))))  # fmt: skip
    return w.fma(exponent, w.number(_LOG_2_HIGH), w.add(f, tail))


def _log(w: Lanes, x: str) -> str:
    found = _log_of_positive(w, x)
    found = w.where("oeq", x, math.inf, x, found)
    found = w.where("oeq", x, 0.0, w.number(-math.inf), found)
    return w.where("ult", x, 0.0, w.number(math.nan), found)


def _log1p(w: Lanes, x: str) -> str:
    u = w.add(x, w.number(1.0))
    # what rounding took from 1 + x comes back as a correction
    lost = w.sub(x, w.sub(u, w.number(1.0)))
    lost = w.where("ogt", x, 2.0**52, w.number(0.0), lost)
    found = w.add(_log_of_positive(w, u), w.div(lost, u))
    found = w.where("oeq", x, math.inf, x, found)
    found = w.where("oeq", x, -1.0, w.number(-math.inf), found)
    found = w.where("ult", x, -1.0, w.number(math.nan), found)
    return w.where("oeq", x, 0.0, x, found)


# -- angles -----------------------------------------------------------------------------------------------------------


def _reduced_angle(w: Lanes, x: str) -> tuple[str, str]:
    """r and the bits of n, where x = n pi / 2 + r."""
    raised = w.fma(x, w.number(2 / math.pi), w.number(_MAGIC))
    rounded = w.sub(raised, w.number(_MAGIC))
    r = w.less(rounded, _HALF_PI_1, x)  # exact: both are multiples of the last bit of pi / 2
    return w.less(rounded, _HALF_PI_3, w.less(rounded, _HALF_PI_2, r)), w.bits(raised)


def _near_zero(w: Lanes, r: str) -> tuple[str, str]:
    """The sine and cosine of at most an eighth of a turn."""
    z = w.mul(r, r)
    return w.fma(w.mul(r, z), w.series(z, _SIN), r), w.series(z, [1.0, -0.5, *_COS])


def _is_odd(w: Lanes, n: str) -> str:
    return w.emit(f"icmp slt {w.ints} {w.int_op('shl', n, 63)}, zeroinitializer")


def _chosen(w: Lanes, cond: str, x: str, y: str) -> str:
    return w.emit(f"select {w.bools} {cond}, {w.type} {x}, {w.type} {y}")


def _signed(w: Lanes, x: str, n: str) -> str:
    """x, with the other sign where bit 1 of n is set."""
    sign = w.int_op("shl", w.int_op("lshr", n, 1), 63)
    return w.floats(w.int_op("xor", w.bits(x), sign))


def _sin_cos(w: Lanes, x: str, r: str, n: str) -> tuple[str, str]:
    sin, cos = _near_zero(w, r)
    odd = _is_odd(w, n)
    return (
        w.where("oeq", x, 0.0, x, _signed(w, _chosen(w, odd, cos, sin), n)),
        _signed(w, _chosen(w, odd, sin, cos), w.int_op("add", n, 1)),
    )


def _tan(w: Lanes, x: str, r: str, n: str) -> tuple[str]:
    sin, cos = _near_zero(w, r)
    odd = _is_odd(w, n)
    bottom = _chosen(w, odd, w.emit(f"fneg {w.type} {sin}"), cos)
    return (w.where("oeq", x, 0.0, x, w.div(_chosen(w, odd, cos, sin), bottom)),)


# -- hyperbolic functions ---------------------------------------------------------------------------------------------


def _sinh_cosh(w: Lanes, x: str) -> tuple[str, str]:
    """By e, half of e^|x| - 1: e + e / (2 e + 1), and e + 1 / 2 + (1 / 2) / (2 e + 1)."""
    size = w.intrinsic("fabs", x)
    r, _, n = _reduced_exp(w, w.where("ogt", size, 710.5, w.number(710.5), size))
    grown = w.fma(w.mul(r, r), w.series(r, _EXP), r)
    scale = w.power_of_two(w.int_op("sub", n, 2))  # a quarter of 2^n, which fits where the results do
    quarter = w.fma(grown, scale, w.sub(scale, w.number(0.25)))
    half = w.add(quarter, quarter)
    inverse = w.div(w.number(1.0), w.add(w.add(half, half), w.number(1.0)))
    # of numbers beyond the last that fits, 0 of infinity would be none
    small = w.where("olt", size, 40.0, w.mul(half, inverse), w.number(0.0))
    sinh = w.where("olt", size, 2.0**-28, size, w.add(half, small))
    cosh = w.add(half, w.fma(inverse, w.number(0.5), w.number(0.5)))
    return w.intrinsic("copysign", sinh, x), cosh


# -- exponentials of float32 ------------------------------------------------------------------------------------------

# of (e^r - 1 - r) / r^2 for r between -0.3466 and 0.3466, as Cephes has it
_EXP_SHORT = [
    5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2, 8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4,
]  # fmt: skip
_LOG_2_SHORT = (0.693359375, -2.12194440e-4)  # log 2 in two parts, the first of ten bits
_SHORT_MAGIC = 1.5 * 2.0**23


class _Floats(Lanes):
    """Writes the body of one function on `<n x float>`."""

    def __init__(self, lanes: int) -> None:
        super().__init__(lanes)
        self.type = f"<{lanes} x float>"
        self.ints = f"<{lanes} x i32>"

    def number(self, value: float) -> str:
        (rounded,) = struct.unpack("f", struct.pack("f", value))
        return super().number(rounded).replace("double", "float")

    def intrinsic(self, name: str, *xs: str) -> str:
        full = f"llvm.{name}.v{self.lanes}f32"
        self.externals[full] = f"declare {self.type} @{full}({', '.join([self.type] * len(xs))})"
        return self.emit(f"call {self.type} @{full}({', '.join(f'{self.type} {x}' for x in xs)})")

    def scales(self) -> bool:
        return has_scaling() and self.lanes in (4, 8, 16)

    def scaled(self, x: str, n: str) -> str:
        full, mask = f"llvm.x86.avx512.mask.scalef.ps.{32 * self.lanes}", "i16" if self.lanes == 16 else "i8"
        types, given = f"{self.type}, {self.type}, {self.type}, {mask}", f"{mask} -1"
        if self.lanes == 16:
            types, given = f"{types}, i32", f"{given}, i32 4"
        self.externals[full] = f"declare {self.type} @{full}({types})"
        operands = f"{self.type} {x}, {self.type} {n}, {self.type} zeroinitializer"
        return self.emit(f"call {self.type} @{full}({operands}, {given})")

    def power_of_two(self, n: str) -> str:
        return self.floats(self.int_op("shl", self.int_op("add", n, "splat (i32 127)"), "splat (i32 23)"))


def _exp_of_floats(w: Lanes, x: str) -> str:
    """As `_exp`. What is below -104 is 0: a product that rounds to that takes processors long."""
    bounded = w.where("olt", x, -104.0, w.number(-104.0), w.where("ogt", x, 100.0, w.number(100.0), x))
    raised = w.fma(bounded, w.number(1 / math.log(2)), w.number(_SHORT_MAGIC))
    rounded = w.sub(raised, w.number(_SHORT_MAGIC))
    high, low = _LOG_2_SHORT
    found = w.series(w.less(rounded, low, w.less(rounded, high, bounded)), [1.0, 1.0, *_EXP_SHORT])
    magic = struct.unpack("i", struct.pack("f", _SHORT_MAGIC))[0]
    if w.scales():
        return w.where("olt", x, -104.0, w.number(0.0), w.scaled(found, rounded))
    n = w.int_op("sub", w.bits(raised), f"splat (i32 {magic})")
    half = w.int_op("ashr", n, "splat (i32 1)")
    once = w.mul(found, w.power_of_two(half))
    rest = w.where("olt", x, -104.0, w.number(0.0), w.power_of_two(w.int_op("sub", n, half)))
    return w.mul(once, rest)


# -- functions --------------------------------------------------------------------------------------------------------

_Body = Callable[[Lanes, str], str]
_Both = Callable[[Lanes, str], tuple[str, str]]


def _first_of(both: _Both) -> _Body:
    return lambda w, x: both(w, x)[0]


def _second_of(both: _Both) -> _Body:
    return lambda w, x: both(w, x)[1]


# functions of an angle x, with r and the bits of n where it is n pi / 2 + r: each gives one vector or several
_OF_ANGLES: dict[tuple[str, ...], Callable[[Lanes, str, str, str], tuple[str, ...]]] = {
    ("sin", "cos"): _sin_cos, ("tan",): _tan, ("sin",): lambda w, *angle: _sin_cos(w, *angle)[:1],
    ("cos",): lambda w, *angle: _sin_cos(w, *angle)[1:],
}  # fmt: skip


def _near(*names: str) -> Callable[[Lanes, str], Any]:
    return lambda w, x: _OF_ANGLES[names](w, x, *_reduced_angle(w, x))


# pairs of functions of the same number that take little more time together than one of them does
_BOTH: dict[tuple[str, str], _Both] = {("sin", "cos"): _near("sin", "cos"), ("sinh", "cosh"): _sinh_cosh}
_BODIES: dict[str, _Body] = {
    "exp": _exp, "expm1": _expm1, "tanh": _tanh, "log": _log, "log1p": _log1p, "tan": _first_of(_near("tan")),
    **{first: _first_of(both) for (first, _), both in _BOTH.items()},
    **{second: _second_of(both) for (_, second), both in _BOTH.items()},
}  # fmt: skip
# of numbers of which the C library computes no vectors (`rare_lanes.py`)
_RARE: dict[str, _Body] = {"exp2": _exp2}
_FASTER = ("exp", "tanh")


def has(name: str) -> bool:
    """Whether there is a function of this name here, and the machine can run it."""
    return name in _BODIES and has_fma()


def has_body(name: str) -> bool:
    """Whether there is one for rare numbers, if for no others, and the machine can run it."""
    return has(name) or (name in _RARE and has_fma())


def lanes_of(dtype: str, lanes: int) -> Lanes:
    """What writes a function's body on vectors of a type."""
    return Lanes(lanes) if dtype == "f64" else _Floats(lanes)


def is_preferred(name: str, dtype: str) -> bool:
    """Whether the function here takes less time than glibc's, or must give the same bits wherever it is computed: one
    of a pair is in some loops by a routine of ours, and by itself in others; equal numbers must be equal in both, as
    where the tangent of a maximum looks for it.

    On a Zen 4 with AVX-512, 8 numbers take 4.8 instead of 6.5 ns (exp) and 8.5 instead of 15 ns (tanh): glibc's look
    numbers up in tables, and such loads take long. Its float32 forms, and those of all other functions, are faster, but
    for the exponential: it calls the scalar function for each number whose exponential is below 1.2e-38, as of masked
    elements of a softmax. Alone, sines take 0.92 to 1.1 of the time of glibc's, cosh 1.17, sinh 0.8.
    """
    if dtype == "f64" and any(name in pair for pair in pairs()):
        return True
    if (name, dtype) == ("exp", "f32"):
        return has(name)
    return name in _FASTER and dtype == "f64" and has(name) and has_scaling()


def pairs() -> tuple[tuple[str, str], ...]:
    """The functions of float64 that one routine computes together, where the machine can run it."""
    return (*_BOTH,) if has_fma() else ()


def symbol(name: str, dtype: str, lanes: int) -> str:
    """What a module calls the function on so many lanes."""
    return f"wengert_{name}_{dtype}_{lanes}"


def definition(name: str, dtype: str, lanes: int) -> tuple[str, dict[str, str]]:
    """The function as IR, and what it declares, by name.

    Args:
        name: such as "exp".
        dtype: "f64" or "f32".
        lanes: how many numbers a vector has.
    """
    is_short = (name, dtype) == ("exp", "f32")
    w = lanes_of("f32" if is_short else "f64", lanes)
    kind = f"<{lanes} x {'double' if dtype == 'f64' else 'float'}>"
    x = "%x" if dtype == "f64" or is_short else w.emit(f"fpext {kind} %x to {w.type}")
    vanishes = (name, dtype) == ("exp2", "f32")  # below -151: to round to that takes processors long
    given = w.where("olt", x, -151.0, w.number(0.0), x) if vanishes else x
    found = _exp_of_floats(w, x) if is_short else (_BODIES.get(name) or _RARE[name])(w, given)
    found = w.where("olt", x, -151.0, w.number(0.0), found) if vanishes else found
    function = _Function(symbol(name, dtype, lanes), kind, (name,))
    return function.text(w, x, [found]), w.externals


def definition_of_both(names: tuple[str, str], lanes: int) -> tuple[str, dict[str, str]]:
    """As `definition`, of a pair: the function gives two vectors of float64."""
    w = Lanes(lanes)
    function = _Function(symbol("_".join(names), "f64", lanes), w.type, names)
    return function.text(w, "%x", [*_BOTH[names](w, "%x")]), w.externals


class _Function:
    """A function of a vector that gives one or several.

    Attributes:
        name: what a module calls it.
        kind: the type of what it takes, and of each vector that it gives.
        names: of the functions: those of angles have a way of their own for large ones.
    """

    def __init__(self, name: str, kind: str, names: tuple[str, ...]) -> None:
        self.name = name
        self.kind = kind
        self.names = names

    def text(self, w: Lanes, x: str, found: list[str]) -> str:
        """The function's text, of which `w` has what computes `found`; its other half, if it has one, stands behind."""
        given = self.kind if len(found) == 1 else f"{{ {', '.join([self.kind] * len(found))} }}"
        head = f"define internal {given} @{self.name}({self.kind} %x) nounwind memory(none) {{"
        far: list[str] = []
        if self.names in _OF_ANGLES:
            any_of = f"llvm.vector.reduce.or.v{w.lanes}i1"
            w.externals[any_of] = f"declare i1 @{any_of}({w.bools})"
            is_large = w.emit(f"call i1 @{any_of}({w.bools} {_are_large(w, x)})")
            passed = ", ".join(f"{w.type} {value}" for value in (x, *found))
            w.lines.append(f"  br i1 {is_large}, label %far, label %near\nfar:")
            asked = w.emit(f"tail call {given} @{self.name}.far({passed})")
            w.lines.append(f"  ret {given} {asked}\nnear:")
            far = self.far(given, len(found), w)
        self.end(w, given, found)
        return "\n".join([head, "start:", *w.lines, *far])

    def end(self, w: Lanes, given: str, found: list[str]) -> None:
        """Writes what gives the vectors that were computed."""
        if self.kind != w.type:
            found = [w.emit(f"fptrunc {w.type} {value} to {self.kind}") for value in found]
        whole = found[0]
        if len(found) > 1:
            whole = "poison"
            for place, value in enumerate(found):
                whole = w.emit(f"insertvalue {given} {whole}, {self.kind} {value}, {place}")
        w.lines.append(f"  ret {given} {whole}\n}}")

    def far(self, given: str, count: int, near: Lanes) -> list[str]:
        """The function that computes the lanes of large angles, and has the others as they were found: by itself, since
        few vectors need it."""
        w = Lanes(near.lanes)
        w.externals = near.externals
        own = [f"%own{place}" for place in range(count)]
        parameters = ", ".join(f"{w.type} {value}" for value in ("%x", *own))
        are_large = _are_large(w, "%x")
        x = _chosen(w, are_large, "%x", w.number(LARGE_ANGLE))
        angle = large_angles.reduced(w, x, "f64" if self.kind == w.type else "f32")
        found = _OF_ANGLES[self.names](w, x, *angle)
        self.end(w, given, [_chosen(w, are_large, *both) for both in zip(found, own, strict=True)])
        head = f"define internal {given} @{self.name}.far({parameters}) cold noinline nounwind memory(none) {{"
        return [head, "start:", *w.lines]


def _are_large(w: Lanes, x: str) -> str:
    """Which numbers are finite and large: of infinities the steps above give NaN themselves."""
    limit, endless = (2 * struct.unpack("q", struct.pack("d", size))[0] for size in (LARGE_ANGLE, math.inf))
    past = w.int_op("sub", w.int_op("shl", w.bits(x), 1), limit + 1)
    return w.emit(f"icmp ult {w.ints} {past}, splat (i64 {endless - limit - 1})")
