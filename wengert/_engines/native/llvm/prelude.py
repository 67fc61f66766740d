"""Adds to a module the declarations and definitions of the names beginning with `@wg.` that its text uses.

`completed(ir)`, called by `jit.py`, finds them: mathematical functions (`vectormath.py`) and the run-time library
(`runtime.py`). A module declares none of them itself.
"""

from __future__ import annotations

import re

from . import vectormath
from .symbols import NO_MORE, Table

KEPT = "llvm.compiler.used"  # what LLVM calls the list of functions that no pass may drop

_used = re.compile(r"@(wg\.[\w.]+)")
_declared = re.compile(r"^declare [^@\n]*@([\w.]+)\(.*$\n?", re.MULTILINE)


def completed(ir: str, table: Table = NO_MORE) -> str:
    """The module with everything that it uses declared or defined, the vector forms of a table's functions too."""
    names = sorted(set(_used.findall(ir)))
    with_forms = {name: forms for name in _declared.findall(ir) if (forms := table.vector_forms(name))}
    if not names and not with_forms:
        return ir
    renamed: dict[str, str] = {}
    added: list[str] = []
    declarations: dict[str, str] = {}
    kept: list[str] = []
    for name in names:
        _, function, dtype, *lanes = name.split(".")
        found = vectormath.declared(function, dtype)
        renamed[name] = found.widths[int(lanes[0])] if lanes else vectormath.c_name(function, dtype)
        if found.text not in added:
            added.append(found.text)
        for key, text in found.declarations.items():  # a declaration with vector forms goes before one without
            if "vector-function" in text or key not in declarations:
                declarations[key] = text
        kept += found.widths.values()
    for name, forms in with_forms.items():
        declarations |= vectormath.with_forms(name, "f64", forms, _operands(ir, name))
        kept += forms.values()
    ir = _used.sub(lambda match: "@" + renamed.get(match[1], match[1]), ir)
    if kept:  # vector forms have no caller until the vectoriser has run; this keeps their declarations until then
        pointers = ", ".join(f"ptr @{symbol}" for symbol in kept)
        added.append(f"@{KEPT} = appending global [{len(kept)} x ptr] [{pointers}], "
                     'section "llvm.metadata"')  # fmt: skip
    # LLVM takes one declaration of a name; the module may have used an intrinsic that mathematics uses, too
    ir = _declared.sub(lambda match: "" if match[1] in declarations else match[0], ir)
    return "\n".join([ir, *declarations.values(), *added, ""])


def _operands(ir: str, name: str) -> int:
    """How many numbers a declared function takes."""
    start = ir.index(f"@{name}(")
    return ir.count(",", start, ir.index(")", start)) + 1
