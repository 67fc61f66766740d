"""Mathematical functions in compiled code: scalar ones from libm, vector ones from glibc's libmvec or our own.

Generated code calls `@wg.NAME.f64` or `@wg.NAME.f32` (NAME in `ONE_OPERAND` or `TWO_OPERANDS`) on scalars and declares
nothing; `prelude.py` puts in what this module says. LLVM's loop vectoriser turns such calls into calls of the vector
functions that the declaration names in its attribute "vector-function-abi-variant". All are within 4 units in the
last place, with NumPy's NaNs, infinities and signed zeros (`tests/engines/native/test_vectormath.py`). They read and
write no memory: `errno` is nobody's business here.

Which lanes run as vectors depends on the trip count of a loop alone, so a kernel gives the same bits in each run.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple

from . import plane_points, polynomials, rare_lanes, rare_powers, remainders, symbols
from .target import is_x86, vector_bits

ONE_OPERAND = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "erf", "erfc", "lgamma", "tgamma",
)  # fmt: skip
TWO_OPERANDS = ("pow", "atan2", "hypot", "fmod", "nextafter")

TYPES = {"f64": "double", "f32": "float"}
_BITS = {"f64": 64, "f32": 32}

# The letters of x86's vector calling conventions: SSE, AVX2, AVX-512.
_CLASSES = ((128, "b"), (256, "d"), (512, "e"))

_FACTS = "nounwind willreturn nofree nosync memory(none)"


def operands(name: str) -> int:
    """How many operands a function takes; 0 if there is none of this name."""
    return 1 if name in ONE_OPERAND else 2 if name in TWO_OPERANDS else 0


def c_name(name: str, dtype: str) -> str:
    """The function's name in libm, which is the one that the finished module uses."""
    return name if dtype == "f64" else f"{name}f"


@functools.cache
def variants(name: str, dtype: str) -> tuple[tuple[int, str], ...]:
    """The vector forms that libmvec has for this machine: lanes and symbol, the narrowest first."""
    if not (symbols.has_libmvec() and is_x86()):
        return ()
    found: list[tuple[int, str]] = []
    for bits, letter in _CLASSES:
        lanes = bits // _BITS[dtype]
        symbol = f"_ZGV{letter}N{lanes}{'v' * operands(name)}_{c_name(name, dtype)}"
        if bits <= vector_bits() and symbols.of_libraries(symbol):
            found.append((lanes, symbol))
    return (*found,)


class Declared(NamedTuple):
    """What a module needs for a function.

    Attributes:
        declarations: by name, those of vector forms that are defined left out.
        widths: vector forms, which the module must keep until its loops are vectorised, by their numbers of lanes.
        definitions: of vector forms that no library has, by their symbols.
    """

    declarations: dict[str, str]
    widths: dict[int, str]
    definitions: dict[str, Definition]


class Definition(NamedTuple):
    """A vector form of our own: its text, what this calls as declarations by name, and its own declaration."""

    text: str
    needed: dict[str, str]
    declaration: str


def forms(name: str, dtype: str) -> dict[int, str]:
    """The symbols of a function's vector forms in compiled code, by their numbers of lanes."""
    known = variants(name, dtype)
    sizes = [bits // _BITS[dtype] for bits in (128, 256, 512) if bits <= vector_bits()]
    if remainders.has(name):
        return {lanes: remainders.symbol(dtype, lanes) for lanes in sizes}
    if polynomials.is_preferred(name, dtype) or (not known and polynomials.has(name)):
        return {lanes: polynomials.symbol(name, dtype, lanes) for lanes in sizes}
    if plane_points.has(name):
        return {lanes: plane_points.symbol(name, dtype, lanes) for lanes, _ in known}
    if rare_powers.has(name):
        return {lanes: rare_powers.symbol(dtype, lanes) for lanes, _ in known}
    if rare_lanes.has(name, dtype):
        return {lanes: rare_lanes.symbol(name, dtype, lanes) for lanes, _ in known}
    return dict(known)


def declared(name: str, dtype: str) -> Declared:
    """The IR of a function and of its vector forms."""
    count, scalar, kind = operands(name), c_name(name, dtype), TYPES[dtype]
    found = forms(name, dtype)
    definitions: dict[str, Definition] = {}
    declarations: dict[str, str] = {}
    librarys = dict(variants(name, dtype))
    for lanes, symbol in found.items():
        if remainders.has(name):
            body, needed = remainders.definition(dtype, lanes)
        elif symbol == polynomials.symbol(name, dtype, lanes):
            body, needed = polynomials.definition(name, dtype, lanes)
        elif plane_points.has(name):
            body, needed = plane_points.definition(name, dtype, lanes, librarys[lanes])
            needed |= _of_library(librarys[lanes], lanes, kind, count)
        elif rare_powers.has(name):
            body, needed = rare_powers.definition(dtype, lanes, librarys[lanes])
            needed |= _of_library(librarys[lanes], lanes, kind, count)
        elif symbol == rare_lanes.symbol(name, dtype, lanes):
            body, needed = rare_lanes.definition(name, dtype, lanes, librarys[lanes])
            needed |= _of_library(librarys[lanes], lanes, kind, count)
        else:
            declarations |= _of_library(symbol, lanes, kind, count)
            continue
        needed = {scalar: _with_forms(scalar, kind, {}, count), **needed}  # some call it for single lanes
        definitions[symbol] = Definition(body, needed, _of_library(symbol, lanes, kind, count)[symbol])
    declarations[scalar] = _with_forms(scalar, kind, found, count)
    return Declared(declarations, found, definitions)


def with_forms(name: str, dtype: str, found: Mapping[int, str], count: int) -> dict[str, str]:
    """The declarations of a function of so many numbers and of its vector forms, by their names."""
    kind = TYPES[dtype]
    declarations = {name: _with_forms(name, kind, found, count)}
    for lanes, symbol in found.items():
        declarations |= _of_library(symbol, lanes, kind, count)
    return declarations


def _with_forms(name: str, kind: str, found: Mapping[int, str], count: int) -> str:
    """The declaration of a function that tells LLVM's vectoriser its vector forms."""
    mappings = ",".join(f"_ZGV_LLVM_N{lanes}{'v' * count}_{name}({symbol})" for lanes, symbol in found.items())
    attribute = f' "vector-function-abi-variant"="{mappings}"' if found else ""
    return f"declare {kind} @{name}({', '.join([kind] * count)}) {_FACTS}{attribute}"


def _of_library(symbol: str, lanes: int, kind: str, count: int) -> dict[str, str]:
    """The declaration of a vector function, by its name."""
    vector = f"<{lanes} x {kind}>"
    return {symbol: f"declare {vector} @{symbol}({', '.join([vector] * count)}) {_FACTS}"}


@functools.cache
def widths(name: str, dtype: str) -> tuple[int, ...]:
    """The numbers of lanes of a function's vector forms, the widest first; `@wg.NAME.f64.8` calls that of 8."""
    return (*sorted(forms(name, dtype), reverse=True),)
