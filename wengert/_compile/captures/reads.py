"""What a code object reads: chains such as `config.rates["lr"]`, and the names of attributes.

Read from the byte code, which is there where source is not. A chain ends where the next step is not plain.
"""

from __future__ import annotations

import dis
import functools
import itertools
import re
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple, cast

Position = tuple[int, int, int, int]  # line, end line, column, end column

GLOBAL, CELL, LOCAL, IMPORTED = "global", "cell", "local", "imported"
_GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_CELLS = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"})
_QUIET = frozenset({"CACHE", "PUSH_NULL", "RESUME", "NOT_TAKEN", "EXTENDED_ARG"})


class Access(NamedTuple):
    """`.key` or `[key]`."""

    is_item: bool
    key: Any


class Chain(NamedTuple):
    """A name and what is read of it.

    Attributes:
        kind: `GLOBAL`, `CELL`, `LOCAL` or `IMPORTED` (then `name` is the module's).
        name: of the variable.
        steps: what is read of it, in order.
        spans: for the name and for each step, where in the source the expression up to there stands.
        stored: the local variable that the whole is assigned to at once, or "".
        calls_bare: whether the whole is called without arguments.
        is_effect: whether nothing is read: the variable is counted up, or an entry of what it holds is set or counted.
        is_identity: whether the whole is only asked whether it is None, or some other object.
    """

    kind: str
    name: str
    steps: tuple[Access, ...]
    spans: tuple[Position | None, ...]
    stored: str
    calls_bare: bool
    is_effect: bool
    is_identity: bool


class Reads(NamedTuple):
    """What a code object reads, what is defined inside it included.

    Attributes:
        chains: with the code object in which each stands.
        names: of attributes, and strings that could be such (`getattr(x, "name")`).
        bare: those of attributes of which something else is done than to read an attribute; strings are left out.
        fragments: parts of strings that a name may be put together of.
        grown: names of attributes of which only a method such as `append` is called.
        writes_text: whether values are made text.
    """

    chains: tuple[tuple[CodeType, Chain], ...]
    names: frozenset[str]
    bare: frozenset[str]
    fragments: frozenset[str]
    grown: frozenset[str]
    writes_text: bool


@functools.lru_cache(maxsize=2048)
def reads_of(code: CodeType) -> Reads:
    """What a function's code reads; inner functions see its variables as their cells."""
    found = _instructions(code)
    inner = [reads_of(const) for const in code.co_consts if isinstance(const, CodeType)]
    texts = {text for const in code.co_consts for text in _texts(const)}
    keywords = _keywords(code, found)
    parts = {text for const in code.co_consts if const not in keywords for text in _texts(const)}
    spelled = {text for text in texts if text.isidentifier()}
    names, bare, grown = _attributes(found)
    if any(i.opname == "MATCH_CLASS" for i in found):
        bare |= spelled
    chains = [(code, chain) for chain in _chains(code)]
    for reads in inner:
        chains += [(where, c) for where, c in reads.chains if c.kind != CELL or c.name in code.co_freevars]
    return Reads(
        chains=(*chains,),
        names=(all_names := names.union(spelled, *[reads.names for reads in inner])),
        bare=bare.union(*[reads.bare for reads in inner]),
        fragments=frozenset(_words("%".join(parts))).union(*[reads.fragments for reads in inner]),
        grown=grown.union(*[reads.grown for reads in inner]) - all_names,
        writes_text=any(map(_writes_text, found)) or any(reads.writes_text for reads in inner),
    )


def _keywords(code: CodeType, found: tuple[dis.Instruction, ...]) -> set[object]:
    """The tuples of strings that only name arguments in calls, of which no names of attributes are put together."""
    naming, others = set[object](), set[object]()
    for instruction, after in itertools.pairwise(found):
        if instruction.opname == "KW_NAMES":
            naming.add(code.co_consts[cast(int, instruction.arg)])  # `argval` does not say in 3.11
        elif instruction.opname == "LOAD_CONST" and type(instruction.argval) is tuple:
            (naming if after.opname == "CALL_KW" else others).add(instruction.argval)
    return naming - others


def _attributes(found: tuple[dis.Instruction, ...]) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The names of attributes that instructions read, those of them that are bare, and those that are grown."""
    names, bare, grown = set[str](), set[str](), set[str]()
    for place, instruction in enumerate(found):
        if instruction.opname in _ATTRIBUTES and not _counts(found, place + 1, "STORE_ATTR"):
            (grown if _grows(found, place + 1) else names).add(instruction.argval)
            if place + 1 == len(found) or found[place + 1].opname not in _ATTRIBUTES:
                bare.add(instruction.argval)
    return frozenset(names), frozenset(bare), frozenset(grown)


_words = re.compile(r"\w+").findall
_MAKES_TEXT = frozenset({
    "str", "repr", "format", "ascii", "array2string", "array_str", "array_repr", "__str__", "__repr__", "__format__",
    "format_map", "StringIO",
})  # fmt: skip


def _writes_text(instruction: dis.Instruction) -> bool:
    """Whether an instruction formats a value (`f"{v}"`, `"%s" % v`), or names what does."""
    if instruction.opname.startswith("FORMAT_"):
        return True
    if instruction.opname == "BINARY_OP":
        return instruction.argrepr == "%"
    return instruction.argval in _MAKES_TEXT if isinstance(instruction.argval, str) else False


def _texts(const: object) -> Iterator[str]:
    """Strings that could be names, or parts of such; prose is none."""
    for value in const if isinstance(const, tuple) else (const,):
        if isinstance(value, str) and value and not any(map(str.isspace, value)):
            yield value


@functools.lru_cache(maxsize=2048)
def _instructions(code: CodeType) -> tuple[dis.Instruction, ...]:
    return (*[i for i in dis.get_instructions(code) if i.opname not in _QUIET],)


def _chains(code: CodeType) -> Iterator[Chain]:
    found = _instructions(code)
    imported = _imported(found)
    for place, instruction in enumerate(found):
        for kind, name in _roots(instruction, code):
            bound = imported.get(name) if kind != CELL else None
            first = () if bound is None else bound[1]
            spans: list[Position | None] = [position(instruction)] * (1 + len(first))
            steps, after = [*first], place + 1
            while (step := _step(found, after)) is not None:
                steps.append(step[0])
                after = step[1]
                spans.append(position(found[after - 1]))
            root = (kind, name) if bound is None else (IMPORTED, bound[0])
            is_effect = not steps and any(_counts(found, after, store, name) for store in _STORES)
            is_effect = is_effect or _sets_entry(found, after)
            stored, is_bare = _stored(found, after), _is_called_bare(found, after)
            yield Chain(*root, (*steps,), (*spans,), stored, is_bare, is_effect, _is_identity(found, after))


def _roots(instruction: dis.Instruction, code: CodeType) -> Iterator[tuple[str, str]]:
    """The variables that an instruction loads; of two only the second goes on as a chain, which does no harm."""
    name = instruction.opname
    if name in _GLOBALS:
        yield GLOBAL, instruction.argval
    elif name in _CELLS:
        yield CELL if instruction.argval in code.co_freevars else LOCAL, instruction.argval
    elif name.startswith("LOAD_FAST"):
        loaded = instruction.argval
        for one in loaded if isinstance(loaded, tuple) else (loaded,):
            yield LOCAL, one


def _step(found: tuple[dis.Instruction, ...], place: int) -> tuple[Access, int] | None:
    """The step that starts at an instruction, and the place behind it."""
    if place >= len(found):
        return None
    instruction = found[place]
    if instruction.opname in _ATTRIBUTES:
        return Access(False, instruction.argval), place + 1
    if instruction.opname in _CONSTANTS and place + 1 < len(found) and _is_subscript(found[place + 1]):
        return Access(True, instruction.argval), place + 2
    return None


def _is_subscript(instruction: dis.Instruction) -> bool:
    return instruction.opname == "BINARY_SUBSCR" or (
        instruction.opname == "BINARY_OP" and instruction.argrepr == "[]"
    )  # fmt: skip


MUTATORS = frozenset({"append", "appendleft", "extend", "insert", "add", "discard", "update", "clear"})


def _grows(found: tuple[dis.Instruction, ...], place: int) -> bool:
    """Whether of what was loaded last only a method is taken that lets a container grow."""
    instruction = found[place] if place < len(found) else None
    return instruction is not None and instruction.opname in _ATTRIBUTES and instruction.argval in MUTATORS


_STORES = ("STORE_DEREF", "STORE_GLOBAL", "STORE_NAME")
_CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT")


def _counts(found: tuple[dis.Instruction, ...], place: int, store: str, name: str = "") -> bool:
    """Whether what was loaded last is counted up and put back (`n += 1`), and so is not read for anything else."""
    names = [i.opname for i in found[place : place + 5]]
    if len(names) < 3 or names[0] not in _CONSTANTS or names[1] != "BINARY_OP":
        return False
    after = 2
    while after < len(names) and names[after] == "SWAP":
        after += 1
    return after < len(names) and names[after] == store and (not name or found[place + after].argval == name)


def _sets_entry(found: tuple[dis.Instruction, ...], place: int) -> bool:
    """Whether what was loaded last is a container of which one entry is set, or counted up, and nothing read."""
    names = [i.opname for i in found[place : place + 4]]
    if len(names) < 2 or not names[0].startswith("LOAD_"):
        return False
    if names[1] == "STORE_SUBSCR":
        return True
    is_counted = names[1:3] == ["COPY", "COPY"] and _is_subscript(found[place + 3])
    return is_counted and _counts(found, place + 4, "STORE_SUBSCR")


def _stored(found: tuple[dis.Instruction, ...], place: int) -> str:
    name = found[place].argval if place < len(found) and found[place].opname == "STORE_FAST" else ""
    return name if isinstance(name, str) else ""


def _is_called_bare(found: tuple[dis.Instruction, ...], place: int) -> bool:
    while place < len(found) and found[place].opname == "PRECALL":
        place += 1
    return place < len(found) and found[place].opname == "CALL" and found[place].arg == 0


def _is_identity(found: tuple[dis.Instruction, ...], place: int) -> bool:
    """Whether what was loaded last is only compared by `is` (`v is None`, `w is v`)."""
    names = [i.opname for i in found[place : place + 2]]
    return bool(names) and (names[0] == "IS_OP" or names[0].endswith("_NONE") or names == ["LOAD_CONST", "IS_OP"])


def _imported(found: tuple[dis.Instruction, ...]) -> dict[str, tuple[str, tuple[Access, ...]]]:
    """The variables that `import` inside the code binds: the module, and what of it."""
    bound: dict[str, tuple[str, tuple[Access, ...]]] = {}
    module = ""
    steps: tuple[Access, ...] = ()
    for instruction in found:
        if instruction.opname == "IMPORT_NAME":
            module, steps = instruction.argval, ()
        elif instruction.opname == "IMPORT_FROM":
            steps = (Access(False, instruction.argval),)
        elif module and instruction.opname in ("STORE_FAST", "STORE_DEREF", "STORE_NAME"):
            is_dotted = "." in module and not steps
            bound[instruction.argval] = (module.partition(".")[0] if is_dotted else module, steps)
            module = module if steps else ""
        elif instruction.opname == "POP_TOP":
            module = ""
    return bound


def position(instruction: dis.Instruction) -> Position | None:
    """Where an instruction's expression stands in the source, if that is known."""
    p = instruction.positions
    if p is None or None in (p.lineno, p.end_lineno, p.col_offset, p.end_col_offset):
        return None
    return (p.lineno, p.end_lineno, p.col_offset, p.end_col_offset)  # pyright: ignore[reportReturnType]  # not None


_VIEWS = frozenset({"LOAD_ATTR", "LOAD_METHOD", "BINARY_SUBSCR", "BINARY_SLICE"})


@functools.lru_cache(maxsize=2048)
def spans_of(code: CodeType) -> tuple[tuple[Position, bool], ...]:
    """Each place in the source that some instruction computes, with whether that can only make a view."""
    found: dict[Position, bool] = {}
    for instruction in _instructions(code):
        where = position(instruction)
        is_load = instruction.opname.startswith("LOAD_") and instruction.opname not in _VIEWS
        if where is not None and not is_load:
            is_view = instruction.opname in _VIEWS or _is_subscript(instruction)
            found[where] = found.get(where, True) and is_view
    return (*found.items(),)


@functools.lru_cache(maxsize=2048)
def has_jumps(code: CodeType) -> bool:
    """Whether a part of some code may not run."""
    return any("JUMP" in i.opname or i.opname in ("FOR_ITER", "SEND") for i in _instructions(code))


def is_inside(inner: Position, outer: Position) -> bool:
    """Whether one place is a proper part of another."""
    starts = (outer[0], outer[2]) <= (inner[0], inner[2])
    return inner != outer and starts and (inner[1], inner[3]) <= (outer[1], outer[3])


__all__ = [
    "CELL", "GLOBAL", "IMPORTED", "LOCAL", "MUTATORS", "Chain", "Position", "Reads", "Access", "has_jumps", "is_inside",
    "position", "reads_of", "spans_of",
]  # fmt: skip
