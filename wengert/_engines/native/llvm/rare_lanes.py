"""Vector functions of the C library that leave numbers beside a plain range to us.

For a lane with such a number libmvec calls its function of one number, and a vector of them takes 6 to 28 times as
long: logarithms of 0, exponentials that vanish or do not fit, float32's sines beyond 10,000. A vector with one is
computed twice, by the library with a plain number in such lanes, and by `polynomials.py` for these; logarithms once, of
a number that was moved. What a lane has depends on its own number alone, so equal numbers stay equal. All other vectors
pay for a comparison.
"""

from __future__ import annotations

import math

import numpy as np

from . import polynomials

_TINY, _LARGE = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
# from the name and the type to the least and the largest number of which the library computes whole vectors; the
# comparison is a tenth of what float64's logarithms take, and their rare lanes gain little
_PLAIN: dict[tuple[str, str], tuple[float, float]] = {
    **{(name, "f32"): (_TINY, _LARGE) for name in ("log", "log2", "log10")},
    ("log1p", "f32"): (-1 + 2.0**-24, 1e38), ("exp2", "f32"): (-125.5, 126.5),
    ("expm1", "f64"): (-math.inf, 705.0), ("expm1", "f32"): (-math.inf, 86.0),
    ("sinh", "f32"): (-86.0, 86.0), ("cosh", "f32"): (-86.0, 86.0),
    ("sin", "f32"): (-1e4, 1e4), ("cos", "f32"): (-1e4, 1e4),
}  # fmt: skip
# the bases of logarithms, and by what power of two a rare number is multiplied: subnormal ones, and what is huge
_LOGARITHMS = {"log": (math.e, 24), "log2": (2.0, 24), "log10": (10.0, 24), "log1p": (math.e, -10)}
_INSIDE = 0.5  # of all ranges, where a lane's number is not


def has(name: str, dtype: str) -> bool:
    """Whether lanes beside a plain range are ours to compute."""
    return (name, dtype) in _PLAIN and (name in _LOGARITHMS or polynomials.has_body(name))


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
    are_rare = _are_rare(w, *_PLAIN[name, dtype], polynomials.farthest(name))
    any_of = f"llvm.vector.reduce.or.v{lanes}i1"
    is_any = w.emit(f"call i1 @{any_of}({w.bools} {are_rare})")
    w.externals[any_of] = f"declare i1 @{any_of}({w.bools})"
    w.lines.append(f"  br i1 {is_any}, label %rare, label %plain\nrare:")
    asked = w.emit(f"tail call {w.type} @{own}.rare({w.type} %x, {w.bools} {are_rare})")
    w.lines.append(f"  ret {w.type} {asked}\nplain:")
    head = f"define internal {w.type} @{own}({w.type} %x) nounwind memory(none) {{"
    whole = [head, "start:", *w.lines, f"  %theirs = tail call {w.type} @{librarys}({w.type} %x)"]
    whole += [f"  ret {w.type} %theirs", "}", _rare(name, dtype, lanes, librarys, w.externals)]
    if name in _LOGARITHMS:
        return "\n".join(whole), w.externals
    ours, needed = polynomials.definition(name, dtype, lanes)
    return "\n".join([ours, *whole]), w.externals | needed


def _rare(name: str, dtype: str, lanes: int, librarys: str, needed: dict[str, str]) -> str:
    """The function of a vector and of which of its lanes are rare."""
    w = polynomials.lanes_of(dtype, lanes)
    rare = w.emit(f"select {w.bools} %are, {w.type} %x, {w.type} {w.number(_INSIDE)}")
    if name in _LOGARITHMS:
        found = _logarithm(w, name, rare, librarys)
    else:
        inside = w.emit(f"select {w.bools} %are, {w.type} {w.number(_INSIDE)}, {w.type} %x")
        theirs = w.emit(f"call {w.type} @{librarys}({w.type} {inside})")
        ours = w.emit(f"call {w.type} @{polynomials.symbol(name, dtype, lanes)}({w.type} {rare})")
        found = w.emit(f"select {w.bools} %are, {w.type} {ours}, {w.type} {theirs}")
    needed |= w.externals
    head = f"define internal {w.type} @{symbol(name, dtype, lanes)}.rare({w.type} %x, {w.bools} %are)"
    return "\n".join([f"{head} cold noinline nounwind memory(none) {{", *w.lines, f"  ret {w.type} {found}", "}"])


def _logarithm(w: polynomials.Lanes, name: str, rare: str, librarys: str) -> str:
    """By the library's of a rare number times a power of two; those of 0 and of negative numbers are computed so that
    the processor's flags are set as C sets them."""
    base, shift = _LOGARITHMS[name]
    one, nothing = w.number(1.0), w.number(-0.0)
    place = w.add(rare, one) if name == "log1p" else rare
    scaled = w.where("ogt", place, 0.0, w.mul(rare, w.number(2.0**shift)), one)
    scaled = w.where("olt", scaled, math.inf, scaled, one)  # nor is a NaN the library's
    inside = w.emit(f"select {w.bools} %are, {w.type} {scaled}, {w.type} %x")
    moved = w.number(-shift * math.log(2) / math.log(base))
    less = w.emit(f"select {w.bools} %are, {w.type} {moved}, {w.type} {nothing}")
    found = w.add(w.emit(f"call {w.type} @{librarys}({w.type} {inside})"), less)
    ended = w.div(w.number(-1.0), w.intrinsic("fabs", w.where("oeq", place, 0.0, place, one)))
    none = w.intrinsic("sqrt", w.where("olt", place, 0.0, place, one))
    found = w.where("oeq", place, 0.0, ended, w.where("olt", place, 0.0, none, found))
    return w.where("ult", rare, math.inf, w.where("uno", rare, rare, rare, found), rare)


def _are_rare(w: polynomials.Lanes, least: float, most: float, farthest: float) -> str:
    """Which lanes have a number beside the range that is ours to compute: up to a size, or a NaN too."""
    if farthest < math.inf:
        size = w.intrinsic("fabs", "%x")
        are_large = w.emit(f"fcmp ogt {w.type} {size}, {w.number(most)}")
        return w.emit(f"and {w.bools} {are_large}, {w.emit(f'fcmp olt {w.type} {size}, {w.number(farthest)}')}")
    if least == -most:
        return w.emit(f"fcmp ugt {w.type} {w.intrinsic('fabs', '%x')}, {w.number(most)}")
    above = w.emit(f"fcmp ugt {w.type} %x, {w.number(most)}")
    if least == -math.inf:
        return above
    below = w.emit(f"fcmp ult {w.type} %x, {w.number(least)}")
    return w.emit(f"or {w.bools} {below}, {above}")
