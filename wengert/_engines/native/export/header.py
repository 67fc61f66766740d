"""How an exported program is called from C: its prototype and the header."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Literal

from ...._core.dims import Dim
from ...._core.dtypes import is_half
from ..lower.forms import TYPE_OF
from .lapack import LAPACK_WANTED
from .names import MATHS
from .program import Exported, Operand, functions

C_TYPE = {
    "f64": "double", "f32": "float", "bool": "bool", "c128": "double", "c64": "float",
    "f16": "uint16_t", "bf16": "uint16_t",  # their bits, since C has no such types everywhere
    **{f"{s}{w}": f"{'u' * (s == 'u')}int{w}_t" for s in "iu" for w in (8, 16, 32, 64)},
}  # fmt: skip

_STATUSES = """\
 * Returns 0, or a status, after which the results hold nothing of use:
 *   1 there was no memory,
 *   2 a matrix is singular or not positive definite,
 *   3 an index is out of range,
 *   5 sizes do not fit, or the values ask for an error that only Python can word.
"""


def c_type(operand: Operand) -> str:
    """The type of an operand's elements in C; of a complex one's parts, since C++ does not know C's complex types."""
    return C_TYPE[TYPE_OF[operand.dtype]]


def parameters(program: Exported) -> list[str]:
    """The parameters of the function, as C writes them."""
    return [
        *[f"int64_t {name}" for name in program.sizes],
        *[f"const {c_type(x)} *{x.name}" for x in program.operands],
        *[f"{c_type(x)} *{x.name}" for x in program.results],
    ]


def prototype(program: Exported) -> str:
    """The function's first line, without what follows."""
    return f"int {program.name}({', '.join(parameters(program)) or 'void'})"


def header(program: Exported, needs: str) -> str:
    """The header of an exported program.

    Args:
        program: the program.
        needs: which libraries to link, in words.
    """
    guard = f"WENGERT_{re.sub('[^A-Z0-9]', '_', program.name.upper())}_H"
    lines = [f" *   {x.name}: {_described(x, program)}" for x in program.operands]
    outs = [f" *   {x.name}: {_described(x, program)}" for x in program.results]
    takes = ["", *([" * Reads"] if lines else []), *lines, *([" * Writes"] if outs else []), *outs]
    return f"""\
/* {program.name}: made by Wengert from a traced function.
 *{chr(10).join(takes)}
 *
 * Arrays are C-contiguous; a result overlaps no other array.
{_STATUSES} * It keeps nothing between calls: threads may call it at the same time.
 * {needs}
 */
#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

{prototype(program)};

#ifdef __cplusplus
}}
#endif

#endif
"""


def source_comment(program: Exported) -> str:
    """What C source begins with."""
    return (
        f"/* {program.name}: made by Wengert from a traced function; the header says how to call it.\n"
        " * Results are those of Python where the compiler keeps to IEEE's arithmetic (no -ffast-math).\n"
        " */\n"
    )


def needs_text(program: Exported, undefined: Set[str], lapack: Literal["own", "linked", "chosen"]) -> str:
    """Which libraries a program needs beside the C library.

    A function that the program names counts, if a compiler makes no call of it, too: source and objects share a header.

    Args:
        program: the program.
        undefined: names that its object needs from elsewhere.
        lapack: where its routines of LAPACK's are: its own code, LAPACK's, or as who compiles the source wants.
    """
    is_own = bool(program.lapack) and lapack != "linked"
    wanted = ["the C maths library (-lm)"] if is_own or (functions(program) | undefined) & MATHS else []
    routines = ", ".join(program.lapack)
    if program.lapack and lapack == "linked":
        wanted.append(f"LAPACK (-llapack), of which it calls {routines}")
    text = f"It needs {' and '.join(wanted)}." if wanted else "It needs no library but C's own."
    if program.lapack and lapack == "chosen":
        text += (
            f"\n * Compiled with -D{LAPACK_WANTED} it calls LAPACK's {routines} (-llapack) in place of its own loops."
        )
    return text


def _described(x: Operand, program: Exported) -> str:
    kind = c_type(x)
    if x.dtype.kind == "c":
        kind += " (pairs: the real part, then the imaginary one)"
    elif is_half(x.dtype):
        kind += f" (the bits of a {x.dtype.name})"
    if not x.shape:
        return f"one {kind}"
    return f"{kind}, {' x '.join(map(str, _extents(x, program)))}"


def _extents(x: Operand, program: Exported) -> list[str]:
    names = size_names(program)
    return [str(_worded(d, names)) for d in x.shape]


def size_names(program: Exported) -> dict[str, str]:
    """What the dimensions of the program are called in C, by what they are called in listings."""
    found: dict[str, str] = {}
    waiting = iter(program.sizes)
    for operand in program.operands:
        for d in operand.shape:
            if isinstance(d, Dim) and d.is_atom and str(d) not in found:
                found[str(d)] = next(waiting)
    return found


def _worded(dim: object, names: dict[str, str]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda m: names.get(m[0], m[0]), str(dim)) if isinstance(dim, Dim) else str(dim)


__all__ = [
    "C_TYPE",
    "c_type",
    "header",
    "needs_text",
    "parameters",
    "prototype",
    "source_comment",
    "size_names",
]
