"""An exported program as readable C11: loops and names of the program, nothing but the C library.

Each register becomes a constant of its block, or part of the one expression that reads it. Arithmetic of integers of
the program wraps round, as NumPy's does; that of places in arrays cannot.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.loops import (
    BINARY_MATH,
    FLOATS,
    HALVES,
    UNARY_MATH,
    WIDTHS,
    Accumulate,
    Address,
    Alloc,
    Array,
    Block,
    Call,
    Convert,
    Copy,
    Extent,
    Fill,
    For,
    Function,
    Get,
    If,
    Let,
    Load,
    Local,
    Operand,
    Reg,
    Reserve,
    Return,
    Select,
    Set,
    SetSize,
    Store,
    Swap,
    Typed,
    While,
    blocks_of,
)
from ..ir.renaming import reads, walk
from ..lower.forms import TYPE_OF
from ..lower.formulas import Own, c_word
from .header import C_TYPE, prototype
from .helpers import helpers
from .lapack import LAPACK_WANTED, are_own, lapack_routine
from .program import SPECIAL, Exported, lapack_name
from .program import Operand as Outer

ON_STACK = 2048  # bytes up to which an array of known count is on the stack ...
STACK = 16 * 1024  # ... while they are no more than this together
_LONGEST = 60  # characters of an expression that becomes part of another one
_word = re.compile(r"\w+")
_PURE = (Let, Select, Convert, Get, Load)
_WRITES = (Store, Copy, Fill, Accumulate)
_MEMORY = (Local, Alloc, Reserve, Extent)
_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "sum": "+", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=",
}  # fmt: skip
_INTEGER = {**_INFIX, "rem": "%", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
_COMPARES = ("eq", "ne", "lt", "le", "gt", "ge")
_PLAIN_FUNCTIONS = {"sqrt", "floor", "ceil", "trunc", "rint", "copysign", "fma", *UNARY_MATH, *BINARY_MATH}

# complex elements: pairs, which the interface has as parts that lie one behind the other
_PAIRS = {"c128": "complex_double", "c64": "complex_float"}
_PART = {"c128": "f64", "c64": "f32", "f16": "u16", "bf16": "u16"}
_ELEMENT = {**C_TYPE, **_PAIRS}


def c_source(program: Exported, heading: str, include: str) -> str:
    """The C source of a program.

    Args:
        program: the program.
        heading: a comment for the start of the file.
        include: the name of its header.
    """
    constants = [_constant(f"constant{i}", c) for i, c in enumerate(program.constants)]
    parts: list[str] = []
    sizes = [*program.sizes, *["INT64_MAX"] * program.has_budget]
    has_sizes = program.derived is not None or program.count > len(sizes)
    begin: list[str] = []
    if has_sizes:
        begin = [f"int64_t sizes[{program.count}] = {{{', '.join(sizes) or '0'}}};"]
    if program.derived is not None:
        names = [f"sizes[{i}]" for i in range(program.count)]
        parts.append(_Writer(program.derived, [], names).text("static int derive(int64_t *sizes)", []))
        begin += ["if (derive(sizes) != 0) {", "    return 5;", "}"]
    elif has_sizes:
        begin.append("(void)sizes;")
    arrays = [_pairs(x, "const ") for x in program.operands]
    arrays += [f"constant{i}" for i in range(len(program.constants))] + [_pairs(x) for x in program.results]
    names = [*sizes, *[f"sizes[{i}]" for i in range(len(sizes), program.count)]]
    given = [*program.sizes, *[x.name for x in (*program.operands, *program.results)]]
    parts.append(_Writer(program.function, arrays, names, given).text(prototype(program), begin))
    body = "\n\n".join([*map(_own_function, program.own), *parts])
    whole = "\n".join([*constants, body])
    pairs = [
        f"typedef struct {{\n    {C_TYPE[kind]} re, im;\n}} {name};" for kind, name in _PAIRS.items() if name in whole
    ]
    return "\n\n".join([part for part in (
        f"{heading}#include \"{include}\"\n\n#include <math.h>\n#include <stddef.h>\n#include <stdlib.h>\n"
        "#include <string.h>", *pairs, _lapack(program), helpers(body), *constants, body,
    ) if part]) + "\n"  # fmt: skip


def _own_function(own: Own) -> str:
    """A special function: one of arrays, as the loop language has it, and one of numbers."""
    name = c_word(own.name)
    tables = [_constant(f"{name}_table{i}", table) for i, table in enumerate(own.tables)]
    given = [f"x{i}" for i in range(own.operands)]
    arrays = [*given, *[f"{name}_table{i}" for i in range(len(own.tables))], "out"]
    pointers = ", ".join(f"const double *{x}" for x in given)
    work = _Writer(own.function, arrays, []).text(f"static int {name}_work({pointers}, double *out)", [])
    lines = [
        f"static double {name}({', '.join(f'double {x}' for x in given)}) {{", "    double out = 0.0;",
        f"    {name}_work({', '.join(f'&{x}' for x in given)}, &out);", "    return out;", "}",
    ]  # fmt: skip
    return "\n\n".join([*tables, work, "\n".join(lines)])


def _pairs(x: Outer, const: str = "") -> str:
    """What an array of the interface is called inside: a complex one is the pairs that its parts are."""
    kind = _PAIRS.get(TYPE_OF[x.dtype])
    return x.name if kind is None else f"(({const}{kind} *){x.name})"


def _lapack(program: Exported) -> str:
    """LAPACK's routines: loops of the file's own, or declared, as who compiles it wants."""
    if not program.lapack:
        return ""
    calls = {lapack_name(item.name): item.args for item in walk(program.function.body) if type(item) is Call}
    declared = [f"extern void {name}({', '.join(map(_pointer, calls[name]))});" for name in program.lapack]
    if not are_own(program.lapack):
        return "\n".join(declared)
    own = [f"static {text}" for text in map(lapack_routine, program.lapack)]
    return "\n".join([f"#ifdef {LAPACK_WANTED}", *declared, "#else", *own, "#endif"])


def _pointer(given: object) -> str:
    """The type of a routine's argument: compilers take it that what is const is read, so arrays are not."""
    return "void *" if isinstance(given, Address) else "const void *"


def _constant(name: str, array: np.ndarray[Any, Any]) -> str:
    type_ = TYPE_OF[array.dtype]
    array = array.view(np.uint16) if type_ in HALVES else array
    numbers = [_element(x, type_) for x in array.ravel().tolist()] or ["{0}" if type_ in _PAIRS else "0"]
    lines = [", ".join(numbers[i : i + 6]) for i in range(0, len(numbers), 6)]
    return f"static const {_ELEMENT[type_]} {name}[{len(numbers)}] = {{\n    {f',{chr(10)}    '.join(lines)}\n}};"


def _element(value: Any, type_: str) -> str:
    part = _PART.get(type_, type_)
    return number(value, part) if type_ not in _PAIRS else f"{{{number(value.real, part)}, {number(value.imag, part)}}}"


def number(value: Any, type_: str) -> str:
    """A number as C writes it, exactly."""
    if type_ in FLOATS:
        value = float(value) if type_ == "f64" else float(np.float32(value))
        if not math.isfinite(value):
            return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "(-INFINITY)"
        text = repr(value) if type_ == "f64" else f"{float(str(np.float32(value)))!r}f"
        return f"({text})" if text[0] == "-" else text
    if type_ == "bool":
        return "true" if value else "false"
    bits = 8 * WIDTHS[type_]
    value = int(value) & ((1 << bits) - 1)
    if type_[0] == "u":
        return f"UINT64_C({value})" if bits == 64 else f"{value}u"
    value -= (value >> (bits - 1)) << bits
    if value == -(2**63):
        return "INT64_MIN"
    text = str(value) if abs(value) < 2**31 else f"INT64_C({value})"
    return f"({text})" if value < 0 else text


class _Writer:
    """The text of one function."""

    def __init__(self, function: Function, arrays: list[str], sizes: list[str], given: Sequence[str] = ()) -> None:
        self.function = function
        self.given = given
        self.lines: list[str] = []
        self.depth = 1
        self.names: dict[Reg, str] = dict(zip(function.sizes, sizes, strict=True))
        self.arrays: dict[Array, str] = {}
        of_interface = [a for a in (*function.inputs, *function.outputs) if a is not None]
        self.arrays.update(zip(of_interface, arrays, strict=True))
        self.places: set[Reg] = {*function.sizes}  # integers that count elements: they never wrap
        items = [*walk(function.body)]
        self.live = _live(items, {a for a in function.outputs if a is not None})
        self.got = {item.var for item in self.live if type(item) is Get}
        self.uses = Counter(r for item in items if item in self.live for r in reads(item))
        self.inlined = self._single(function.body)
        self.has_failed = False
        # parameters may be called as ours are
        taken = {*arrays, *sizes}
        clash = any(name[:1] in "visa" and name[1:].isdigit() for name in taken)
        self.mark = "_" if clash else ""

    def _single(self, block: Block) -> set[Reg]:
        """Registers whose one reader stands in their own block."""
        found: set[Reg] = set()
        made: set[Reg] = set()
        for item in block:
            if item not in self.live:
                continue
            found |= {r for r in reads(item) if type(r) is Reg and r in made and self.uses[r] == 1}
            if isinstance(item, (Let, Select, Convert)):
                made.add(item.out)
            for inner in blocks_of(item):
                found |= self._single(inner)
        return found

    # -- the function ---------------------------------------------------------------------------------------------

    def text(self, head: str, begin: list[str]) -> str:
        declared, freed = self._memory()
        self.block(self.function.body)
        end = ["done:"] if self.has_failed and freed else []
        if freed:
            declared.insert(0, "int status = 0;")
            end += [f"    free({name});" for name in freed] + ["    return status;"]
        else:
            end.append("    return 0;")
        lines = [*[f"    {line}" for line in (*begin, *declared)], *self.lines, *end]
        words = set(_word.findall("\n".join(lines)))
        unused = [f"    (void){name};" for name in self.given if name not in words]
        return "\n".join([f"{head} {{", *unused, *lines, "}"])

    def _memory(self) -> tuple[list[str], list[str]]:
        """Declarations of arrays and variables, and the arrays that must be freed."""
        items = [item for item in walk(self.function.body) if item in self.live]
        touched = {a for item in items if type(item) not in _MEMORY
                   for a in reads(item) if type(a) is Array}  # fmt: skip
        moved = {a for item in items if type(item) is Swap for a in (item.x, item.y)}
        declared: list[str] = []
        freed: list[str] = []
        self.on_stack: set[Array] = set()
        room = 0
        seen: set[Array] = set()
        for item in items:
            if type(item) not in (Local, Alloc, Reserve) or item.array in seen:
                continue
            array = item.array
            seen.add(array)
            name = self.arrays[array] = f"a{self.mark}{array.number}"
            if array not in touched:
                continue
            kind = _ELEMENT[array.type]
            count = item.count if type(item.count) is int else ON_STACK + 1  # what only a run tells is on the heap
            size = count * WIDTHS[array.type]
            if type(item) is Local or (
                type(item) is Alloc and array not in moved and size <= ON_STACK and room + size <= STACK
            ):
                room += size
                self.on_stack.add(array)
                declared.append(f"{kind} {name}[{max(count, 1)}] = {{0}};")
                continue
            declared.append(f"{kind} *{name} = NULL;")
            freed.append(name)
            if array.place == "grown":
                declared.append(f"int64_t {name}_room = 0;")
        self.touched = touched
        variables = {item.var: None for item in items if type(item) in (Get, Set) and item.var in self.got}
        declared += [f"{C_TYPE[v.type]} {self._var(v)} = {_zero(v.type)};" for v in variables]
        return declared, freed

    def _var(self, var: Any) -> str:
        return f"s{self.mark}{var.number}"

    def put(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def block(self, block: Block) -> None:
        for item in block:
            if item in self.live:
                getattr(self, f"_{type(item).__name__.lower()}")(item)

    def inside(self, block: Block) -> None:
        self.depth += 1
        self.block(block)
        self.depth -= 1

    # -- values -----------------------------------------------------------------------------------------------------

    def operand(self, x: Operand, type_: str) -> str:
        return self.names[x] if type(x) is Reg else number(x, type_)

    def count(self, x: Operand) -> str:
        return self.operand(x, "i64")

    def at(self, array: Array, index: Operand) -> str:
        return f"{self.arrays[array]}[{_bare(self.count(index))}]"

    def part(self, item: Load | Store) -> str:
        """The place of an element, or of one part of a complex one."""
        place = self.at(item.array, item.index)
        if type(item.part) is Reg:
            return f"((const {C_TYPE[_PART[item.array.type]]} *)&{place})[{_bare(self.count(item.part))}]"
        return f"{place}.{'im' if item.part else 're'}" if item.array.type in _PAIRS else place

    def define(self, out: Reg, text: str, may_join: bool = True) -> None:
        """A register's value: kept for its one reader, or a constant."""
        if may_join and out in self.inlined and len(text) <= _LONGEST:
            self.names[out] = text
            return
        name = self.names[out] = f"v{self.mark}{out.number}"
        self.put(f"const {C_TYPE[out.type]} {name} = {_bare(text)};")

    def _let(self, item: Let) -> None:
        type_, op = item.type, item.op
        args = [self.operand(x, type_) for x in item.args]
        is_place = type_ == "i64" and op in ("add", "sub", "mul") and all(
            type(x) is int or x in self.places for x in item.args
        )  # fmt: skip
        if is_place:
            self.places.add(item.out)
        if op.endswith("_wraps"):
            self.define(item.out, f"{op}({', '.join(args)})")
        elif type_ in FLOATS:
            self.define(item.out, _float(op, type_, args))
        elif op in _COMPARES and args[0] == args[1]:  # which compilers warn of
            self.define(item.out, "true" if op in ("eq", "le", "ge") else "false")
        elif is_place or op in _COMPARES or type_ == "bool":
            self.define(item.out, f"(!{args[0]})" if op == "not" else f"({args[0]} {_INTEGER[op]} {args[1]})")
        else:
            self.define(item.out, _integer(op, C_TYPE[type_], args))

    def _select(self, item: Select) -> None:
        type_ = item.out.type
        x, y = self.operand(item.x, type_), self.operand(item.y, type_)
        self.define(item.out, f"({self.operand(item.cond, 'bool')} ? {x} : {y})")

    def _convert(self, item: Convert) -> None:
        x, source, target = self.operand(item.x, item.type), item.type, item.out.type
        kind = C_TYPE[target]
        if item.bits and (source in FLOATS) != (target in FLOATS):
            text = f"bits_{source}_{target}({_bare(x)})"
        elif target == "bool":
            text = f"({x} != 0)"
        elif source in FLOATS and target not in FLOATS:
            wide = "u64" if target == "u64" else "i64" if target in ("i64", "u32") else "i32"
            text = f"to_{wide}({_bare(x)})"
            text = text if wide == target else f"(({kind}){text})"
        else:
            text = f"(({kind}){x})"
        self.define(item.out, text)

    def _get(self, item: Get) -> None:
        self.define(item.out, self._var(item.var), False)

    def _set(self, item: Set) -> None:
        self.put(f"{self._var(item.var)} = {_bare(self.operand(item.value, item.var.type))};")

    def _load(self, item: Load) -> None:
        self.define(item.out, self.part(item), False)

    def _store(self, item: Store) -> None:
        type_ = _PART.get(item.array.type, item.array.type)
        self.put(f"{self.part(item)} = {_bare(self.operand(item.value, type_))};")

    def _accumulate(self, item: Accumulate) -> None:
        array, type_ = item.array, item.array.type
        index = item.index * item.slots if type(item.index) is int else item.index
        place = self.at(array, index)
        if item.slots > 1 and type(item.index) is Reg:
            place = f"{self.arrays[array]}[{self.count(item.index)} * {item.slots}]"
        value = self.operand(item.value, type_)
        if type_ == "bool":
            self.put(f"{place} |= {_bare(value)};")
        elif type_ in FLOATS:
            self.put(f"{place} += {_bare(value)};")
        else:
            self.put(f"{place} = {_bare(_integer('add', C_TYPE[type_], [place, value]))};")

    # -- memory -----------------------------------------------------------------------------------------------------

    def fail(self, status: int) -> None:
        if any(type(item) in (Alloc, Reserve) and item.array in self.touched and item.array not in self.on_stack
               for item in walk(self.function.body)):  # fmt: skip
            self.has_failed = True
            self.put(f"status = {status};")
            self.put("goto done;")
        else:
            self.put(f"return {status};")

    def check(self, name: str) -> None:
        self.put(f"if ({name} == NULL) {{")
        self.depth += 1
        self.fail(1)
        self.depth -= 1
        self.put("}")

    def _local(self, item: Local) -> None:
        """Declared at the start."""

    _extent = _local

    def _alloc(self, item: Alloc) -> None:
        array, name = item.array, self.arrays[item.array]
        if array not in self.touched:
            return
        count = self.count(item.count)
        if array not in self.on_stack:
            if type(item.count) is int:
                self.put(f"if ({name} == NULL) {{")
                self.put(f"    {name} = take({_bare(count)}, sizeof *{name});")
                self.put("}")
            else:
                self.put(f"free({name});")
                self.put(f"{name} = take({_bare(count)}, sizeof *{name});")
            self.check(name)
        if item.zero:
            self.put(f"memset({name}, 0, sizeof *{name} * (size_t){count});")

    def _reserve(self, item: Reserve) -> None:
        if item.array not in self.touched:
            return
        name, count = self.arrays[item.array], self.count(item.count)
        self.put(f"if ({name}_room < {count}) {{")
        self.depth += 1
        self.put(f"void *more = grow({name}, &{name}_room, {_bare(count)}, sizeof *{name});")
        self.check("more")
        self.put(f"{name} = more;")
        self.depth -= 1
        self.put("}")

    def _fill(self, item: Fill) -> None:
        name = self.arrays[item.array]
        self.put(f"memset(&{self.at(item.array, item.start)}, 0, sizeof *{name} * (size_t){self.count(item.count)});")

    def _copy(self, item: Copy) -> None:
        name = self.arrays[item.target]
        target, source = self.at(item.target, item.target_start), self.at(item.source, item.source_start)
        self.put(f"memcpy(&{target}, &{source}, sizeof *{name} * (size_t){self.count(item.count)});")

    def _swap(self, item: Swap) -> None:
        x, y = self.arrays[item.x], self.arrays[item.y]
        self.put(f"{{ {_ELEMENT[item.x.type]} *held = {x}; {x} = {y}; {y} = held; }}")

    def _setsize(self, item: SetSize) -> None:
        self.put(f"sizes[{item.place}] = {_bare(self.count(item.value))};")

    # -- control ----------------------------------------------------------------------------------------------------

    def _for(self, item: For) -> None:
        name = self.names[item.index] = f"i{self.mark}{item.index.number}"
        self.places.add(item.index)
        start, stop = _bare(self.count(item.start)), self.count(item.stop)
        self.put(f"for (int64_t {name} = {start}; {name} < {stop}; {name}++) {{")
        self.inside(item.body)
        self.put("}")

    def _while(self, item: While) -> None:
        self.put("for (;;) {")
        self.inside(item.test)
        self.put(f"    if (!{self.operand(item.cond, 'bool')}) {{")
        self.put("        break;")
        self.put("    }")
        self.inside(item.body)
        self.put("}")

    def _if(self, item: If) -> None:
        self.put(f"if ({_bare(self.operand(item.cond, 'bool'))}) {{")
        self.inside(item.then)
        if item.other:
            self.put("} else {")
            self.inside(item.other)
        self.put("}")

    def _return(self, item: Return) -> None:
        self.fail(item.status)

    def _call(self, item: Call) -> None:
        if item.name in SPECIAL:
            args = [self._argument(a) for a in item.args[:-1]]
            name = "log_gamma" if item.name == "special.gammaln" else SPECIAL[item.name]
        else:
            args = [self._argument(a) for a in item.args]
            name = lapack_name(item.name) if item.name.startswith("lapack.") else c_word(item.name)
        text = f"{name}({', '.join(args)})"
        if item.out is None or not self.uses[item.out]:
            self.put(f"{text};")
        else:
            self.define(item.out, text, False)

    def _argument(self, given: object) -> str:
        if isinstance(given, Address):
            return f"&{self.at(given.array, given.index)}"
        assert isinstance(given, Typed)
        value = _bare(self.operand(given.value, given.type))
        return f"&({C_TYPE[given.type]}){{{value}}}" if given.by_address else value


def _live(items: list[Any], outputs: set[Array]) -> set[Any]:
    """The instructions that somebody needs: not those whose results, or what they write, nobody reads."""
    live = {*items}
    while True:
        read = {r for item in live for r in reads(item) if type(r) is Reg}
        kept = outputs.union(*[_read_arrays(item) for item in live])
        got = {item.var for item in live if type(item) is Get}
        dead = {item for item in live if (isinstance(item, _PURE) and item.out not in read)
                or (isinstance(item, _WRITES) and _written(item) not in kept)
                or (type(item) is Set and item.var not in got)}  # fmt: skip
        if not dead:
            return live
        live -= dead


def _written(item: Any) -> Array:
    return item.target if type(item) is Copy else item.array


def _read_arrays(item: object) -> set[Array]:
    """The arrays from which an instruction takes something: those that change places count as well."""
    if isinstance(item, (*_WRITES, *_MEMORY)):
        return {item.source} if type(item) is Copy else set()
    return {a for a in reads(item) if type(a) is Array}


def _float(op: str, type_: str, args: list[str]) -> str:
    given = ", ".join(map(_bare, args))
    if op in _INFIX:
        return f"({args[0]} {_INFIX[op]} {args[1]})"
    if op == "neg":
        return f"(-{args[0]})"
    end = "f" if type_ == "f32" else ""
    if op == "abs":
        return f"fabs{end}({given})"
    if op in _PLAIN_FUNCTIONS:
        return f"{op}{end}({given})"
    return f"{op}_{type_}({given})"  # maximum, minimum, scale


def _integer(op: str, kind: str, args: list[str]) -> str:
    """Arithmetic that wraps round: that of unsigned numbers, which is defined."""
    if op in ("add", "sub", "mul"):
        return f"(({kind})((uint64_t){args[0]} {_INTEGER[op]} (uint64_t){args[1]}))"
    if op == "neg":
        return f"(({kind})(0 - (uint64_t){args[0]}))"
    if op == "not":
        return f"(({kind})~{args[0]})"
    if op == "shl":
        return f"(({kind})((uint64_t){args[0]} << {args[1]}))"
    return f"(({kind})({args[0]} {_INTEGER[op]} {args[1]}))"


def _bare(text: str) -> str:
    """An expression without the parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 else text
    return text


def _zero(type_: str) -> str:
    return "0.0" if type_ in FLOATS else "false" if type_ == "bool" else "0"


__all__ = ["c_source"]
