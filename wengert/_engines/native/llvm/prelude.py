"""Adds to a module the declarations and definitions of the names beginning with `@wg.` that its text uses.

`completed(ir)`, called by `jit.py`, finds them: mathematical functions (`vectormath.py`) and the run-time library
(`runtime.py`). A module declares none of them itself.

Vector forms that only LLVM's vectoriser calls are declared for its passes, and defined behind them: of the forms of a
function it calls one or two, which are written as they should be, and passes would take longer for all of them than
for the module. What follows a line that begins with `BEHIND` is such a definition.
"""

from __future__ import annotations

import re

from . import vectormath
from .symbols import NO_MORE, Table

BEHIND = "; behind the passes: "  # then the name of what is defined in the lines that follow
KEPT = "llvm.compiler.used"  # what LLVM calls the list of functions that no pass may drop

_used = re.compile(r"@(wg\.[\w.]+)")
_numbers = re.compile(r"\.(\d+)$")
_declared = re.compile(r"^declare [^@\n]*@([\w.]+)\(.*$\n?", re.MULTILINE)
_named = re.compile(r"@([\w.]+)")


def completed(ir: str, table: Table = NO_MORE) -> str:
    """The module with everything that it uses declared or defined, the vector forms of a table's functions too."""
    names = sorted(set(_used.findall(ir)))
    with_forms = {name: forms for name in _declared.findall(ir) if (forms := table.vector_forms(name))}
    if not names and not with_forms:
        return ir
    renamed: dict[str, str] = {}
    called = {_numbers.sub("", name) for name in names if _numbers.search(name)}  # functions of which it calls forms
    added: dict[str, str] = {}
    behind: dict[str, str] = {}
    declarations: dict[str, str] = {}
    kept: list[str] = []
    for name in names:
        _, function, dtype, *lanes = name.split(".")
        found = vectormath.declared(function, dtype)
        renamed[name] = found.widths[int(lanes[0])] if lanes else vectormath.c_name(function, dtype)
        needed = dict(found.declarations)
        for symbol, own in found.definitions.items():
            if _numbers.sub("", name) in called:
                added[symbol] = own.text
                needed = {**own.needed, **needed}
            else:
                behind[symbol] = "\n".join([*own.needed.values(), own.text])
                needed[symbol] = own.declaration
        for key, text in needed.items():  # a declaration with vector forms goes before one without
            if "vector-function" in text or key not in declarations:
                declarations[key] = text
        kept += found.widths.values()
    for name, forms in with_forms.items():
        declarations |= vectormath.with_forms(name, "f64", forms, _operands(ir, name))
        kept += forms.values()
    ir = _used.sub(lambda match: "@" + renamed.get(match[1], match[1]), ir)
    if kept:  # vector forms have no caller until the vectoriser has run; this keeps their declarations until then
        pointers = ", ".join(f"ptr @{symbol}" for symbol in kept)
        added[KEPT] = f'@{KEPT} = appending global [{len(kept)} x ptr] [{pointers}], section "llvm.metadata"'
    # LLVM takes one declaration of a name; the module may have used an intrinsic that mathematics uses, too
    ir = _declared.sub(lambda match: "" if match[1] in declarations else match[0], ir)
    later = [f"{BEHIND}{symbol}\n{text}" for symbol, text in behind.items()]
    return "\n".join([ir, *declarations.values(), *added.values(), *later, ""])


def parts(ir: str) -> tuple[str, dict[str, str]]:
    """The text of a module as passes have it, and what is defined behind them, by name."""
    first, *later = ir.split(BEHIND)
    return first, dict(text.split("\n", 1) for text in later)


def defining(behind: dict[str, str], names: list[str]) -> str:
    """A module of what is defined under these names, for another to be linked to."""
    needed: dict[str, str] = {}
    bodies: list[str] = []
    for name in names:
        head, define, body = behind[name].partition("define ")
        needed.update((_named.findall(line)[0], line) for line in head.splitlines())
        # the form itself is for others to see, and what it calls is not
        bodies.append(re.sub(rf"(?m)^define internal (?=[^@\n]*@{re.escape(name)}\()", "define ", define + body))
    return "\n".join([*needed.values(), *bodies, ""])


def _operands(ir: str, name: str) -> int:
    """How many numbers a declared function takes."""
    start = ir.index(f"@{name}(")
    return ir.count(",", start, ir.index(")", start)) + 1
