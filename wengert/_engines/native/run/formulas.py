"""Special functions of our own (`lower/formulas.py`) as machine code in memory: each is compiled once in a process.

What they do on the way raises no warning, as with NumPy's kernels of the same functions.
"""

from __future__ import annotations

from ..llvm import libraries
from ..llvm.codegen import module_text
from ..llvm.jit import library
from ..llvm.masked_lanes import FORM, vector_form
from ..llvm.symbols import Family, Table
from ..llvm.target import vector_bits
from ..lower.formulas import PREFIX, Own, c_word, has_lanes, own_function
from . import context
from .flags import flags_ir


def entry(own: Own) -> str:
    """The function of numbers that calls the one of arrays."""
    return f"{c_word(own.name)}_of"


def function_of_numbers(own: Own, is_quiet: bool = False) -> str:
    """The function of numbers in IR, with its tables; a quiet one leaves floating-point flags as they are."""
    name = c_word(own.name)
    count = own.operands + len(own.tables) + 1
    kind = "double" if own.lanes == 1 else f"<{own.lanes} x double>"
    given = ", ".join(f"{kind} %x{i}" for i in range(own.operands))
    tables = [f"@{name}.table{i} = private constant {as_text(t.tobytes())}, align 64" for i, t in enumerate(own.tables)]
    numbers = [f"%held{i}" for i in range(own.operands)]
    lines = [f"  {held} = alloca {kind}" for held in (*numbers, "%out")]
    lines += [f"  store {kind} %x{i}, ptr {held}" for i, held in enumerate(numbers)]
    arrays = [*numbers, *[f"@{name}.table{i}" for i in range(len(own.tables))], "%out"]
    call = [f"  %status = call i32 @{name}(ptr %buffers, ptr null, ptr %context)"]
    if is_quiet:
        call = ["  %before = call i32 @flags.found()", *call, *_CLEARED]
    return "\n".join([
        *tables, f"define {kind} @{entry(own)}({given}) {{",
        f"  %buffers = alloca [{count} x ptr]", f"  %context = alloca [{context.SIZE} x i8], align 8", *lines,
        *stored("buffers", "ptr", arrays), *call, f"  %found = load {kind}, ptr %out", f"  ret {kind} %found", "}",
    ])  # fmt: skip


_CLEARED = (
    "  %after = call i32 @flags.found()", "  %same = icmp eq i32 %before, %after",
    "  br i1 %same, label %done, label %clear", "clear:", "  call void @flags.set(i32 %before)", "  br label %done",
    "done:",
)  # fmt: skip


def stored(place: str, kind: str, values: list[str]) -> list[str]:
    """Lines of IR that put values into an array."""
    found: list[str] = []
    for i, value in enumerate(values):
        found.append(f"  %{place}.{i} = getelementptr {kind}, ptr %{place}, i64 {i}")
        found.append(f"  store {kind} {value}, ptr %{place}.{i}")
    return found


def as_text(content: bytes) -> str:
    """Bytes as a constant of IR."""
    return f'[{len(content)} x i8] c"{"".join(f"{chr(92)}{b:02X}" for b in content)}"'


def address(rest: str) -> int:
    """The address of the function `own.REST`, for compiled code, or of its form for vectors."""
    name, is_form, count = rest.partition(FORM)
    own = own_function(PREFIX + name, int(count) if is_form else 1)
    text = module_text(own.function, c_word(own.name))
    return library("\n".join([text, flags_ir(), function_of_numbers(own, True)]), entry(own), table=_CALLABLE).address


def vector_forms(name: str) -> dict[int, str]:
    """The name of a function's form for vectors, by the number of lanes: one of the widest vectors, as each takes its
    time to compile. Two lanes gain nothing over one after the other."""
    lanes = vector_bits() // 64
    return {lanes: vector_form(name, lanes)} if lanes > 2 and FORM not in name and has_lanes(name) else {}


FAMILIES = {PREFIX.rstrip("."): Family(address, is_compiled=True, vector_forms=vector_forms)}
_CALLABLE = Table({}, {**FAMILIES, **libraries.FAMILIES})
