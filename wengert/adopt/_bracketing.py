"""Finds loops that shrink an interval by comparisons alone, and has them refuse a followed comparison.

Halving (`mid = (lo + hi) / 2; if f(mid) > 0: hi = mid else: lo = mid`) asks its equation for signs only. The root that
it finds moves with the equation, but no arithmetic leads from one to the other: the program's derivative is that of the
two ends which it began with, a wrong number without a word. So an adopted module's source is searched for loops where

- a third name, the probe, is made of means of two others only, with weights that the loop leaves alone, and
- each of these two becomes a probe where a test, a mask or a `where` says so;

for steps that are halved, and for functions that call themselves in the same way.

The tests get a call around them that raises `LostGradientError` where the comparison depends on what is followed. A
probe that is also computed otherwise (a Newton step, a secant) is left alone: its last step has the derivative. So is a
loop after which the two ends are interpolated.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import ast
import inspect
import linecache
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any, TypeAlias

import numpy as np

from .._core.state import STATE
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..errors import LostGradientError
from ._loop_assignments import COMPOUND, DECIDED, Assignment, Slot, assignments, called, tests_of

_LOOPS = (ast.For, ast.While)
_Scope: TypeAlias = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_NAME = r"[\w.]+(?:\[[^\]\n]*\])?"
# what a mean of two ends, or a step that is halved, looks like: a file without one needs no closer look
_LOOKS_SO = re.compile(
    rf"\(\s*{_NAME}\s*[-+]\s*{_NAME}\s*\)|sqrt\(\s*{_NAME}\s*\*|mean\(|\*= *0?\.5\b|/= *2\b"
    r"|= *(?:0?\.5 *\* *\w|[\w.]+ */ *2\b|[\w.]+ *\* *0?\.5\b)"
)
_RATIO = 0.4  # for the names of weights, such as the golden ratio
_KNOWN = {"sqrt": math.sqrt, "exp": math.exp, "log": math.log, "float": float, "float64": float, "mean": np.mean}


def decided(test: Any) -> Any:
    """What adopted code calls around a comparison that decides to which end of a bracket a probe goes.

    Raises:
        LostGradientError: if what is compared is followed.
    """
    if isinstance(test, Tensor) and (test.is_symbolic or _ends_a_path(test)):
        raise LostGradientError(
            at_user_line(
                "this program narrows an interval by comparisons alone, as bisection does, and what it compares is "
                "followed: comparisons have no derivative, so that the one of its result would be lost; find the root "
                "with wengert.scipy.optimize.brentq, which differentiates the equation, or say what the derivative is "
                "by putting a wg.custom_root or wg.custom_gradient in the place of the function in the adopted copy"
            )
        )
    return test


def _ends_a_path(test: Tensor) -> bool:
    """Whether a truth comes from what is followed; forward mode does not say, and there all tensors are taken to be."""
    return (test._cut is not None and bool(STATE.recorders)) or any(r.is_forward for r in STATE.recorders)


def checked(code: CodeType, source: str | None) -> CodeType:
    """A module's code with the checks, or the same where its source has no such loop."""
    if source is None or not _may_shrink(code, source):
        return code
    tree = _parsed(source)
    if tree is None or not _put_checks(tree, _recursive_in(code)):
        return code
    return compile(ast.fix_missing_locations(tree), code.co_filename, "exec", dont_inherit=True)


def checked_function(code: CodeType) -> CodeType:
    """The same for the code of one function, whose file is read where it can be."""
    lines = linecache.getlines(code.co_filename)
    tree = _parsed("".join(lines)) if _has_such(code, lines) else None
    if tree is None or not _put_checks(tree, _recursive_in(code)):
        return code
    module = compile(ast.fix_missing_locations(tree), code.co_filename, "exec", dont_inherit=True)
    return next((found for found in _codes_in(module) if _is_same_place(found, code)), code)


def _may_shrink(code: CodeType, source: str) -> bool:
    """Whether a look at the functions one by one finds such a loop; parsing whole packages would take seconds."""
    hits = {source.count("\n", 0, match.start()) + 1 for match in _LOOKS_SO.finditer(source)}
    if not hits:
        return False
    lines = source.splitlines(keepends=True)
    for function in _outermost(code):
        inside = hits.intersection(_range_of(function))
        if inside and _has_such(function, lines):
            return True
        hits -= inside
    return bool(hits)  # what stands in no function is a script's


def _has_such(function: CodeType, lines: list[str]) -> bool:
    text = "".join(lines[number - 1] for number in _range_of(function) if number <= len(lines))
    tree = _parsed(textwrap.dedent(text))
    return tree is None or _put_checks(tree, _recursive_in(function))


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except SyntaxError:  # a notebook's cell, whose first lines are not Python's; a part that is no statement
        return None


def _range_of(function: CodeType) -> range:
    inner = (function, *_codes_in(function))
    return range(function.co_firstlineno, 1 + max(line or 0 for c in inner for _, _, line in c.co_lines()))


def _outermost(code: CodeType) -> Iterator[CodeType]:
    """The functions of a module and the methods of its classes."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & inspect.CO_OPTIMIZED:
                yield constant
            else:
                yield from _outermost(constant)


def _recursive_in(code: CodeType) -> set[str]:
    """The names of functions which seem to call themselves."""
    codes = (code, *_codes_in(code))
    return {inner.co_name for inner in codes if inner.co_name in (*inner.co_names, *inner.co_freevars)}


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes_in(constant)


def _is_same_place(a: CodeType, b: CodeType) -> bool:
    return (
        a.co_name == b.co_name
        and a.co_firstlineno == b.co_firstlineno
        and a.co_varnames == b.co_varnames
        and a.co_freevars == b.co_freevars
    )


def _put_checks(tree: ast.Module, recursive: set[str]) -> bool:
    slots: list[Slot] = []
    scopes: list[_Scope] = [tree]
    for scope in scopes:  # which grows by those inside
        for node in _statements(scope.body):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                scopes.append(node)
            elif isinstance(node, _LOOPS):
                slots += _checks_of(node, scope)
        if isinstance(scope, ast.FunctionDef) and scope.name in recursive:
            slots += _checks_of_recursion(scope)
    for put in slots:
        put()
    return bool(slots)


def _statements(body: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    """The statements of a scope, those inside others among them, without those of functions and classes inside it."""
    for node in body:
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, COMPOUND):
            yield from _statements(ast.iter_child_nodes(node))


# -- which loops ---------------------------------------------------------------------------------------------------


def _checks_of(loop: ast.For | ast.While, scope: _Scope) -> list[Slot]:
    found = [*assignments([*loop.body, *loop.orelse])]
    read = _Reads({a.place for a in found})
    moving = {a.place for a in found if a.slots}
    for ends in {read.of(a.value) for a in found}:
        if len(ends) == 2 and ends <= moving:
            slots = _deciding(found, ends, read)
            if slots and not _is_interpolated(ends, loop, scope):
                return slots
    return _checks_of_steps(found, read)


class _Reads:
    """What expressions read of the places that a loop changes."""

    def __init__(self, changing: set[str]) -> None:
        self.changing = changing
        self._known: dict[ast.expr, frozenset[str]] = {}

    def of(self, value: ast.expr) -> frozenset[str]:
        if value not in self._known:
            self._known[value] = frozenset(self._found(value))
        return self._known[value]

    def _found(self, node: ast.AST) -> Iterator[str]:
        name = _place(node)
        if name in self.changing:
            yield name
        else:
            for child in ast.iter_child_nodes(node):
                yield from self._found(child)

    def are_between(self, ends: frozenset[str], value: ast.expr) -> bool:
        """Whether an expression is a mean of two ends, by weights which the loop leaves alone."""
        return self.of(value) == ends and _is_mean(value, ends)

    def is_one_of(self, probes: set[str], value: ast.expr) -> bool:
        """Whether an expression is one of the places, or a copy of it (`float(mid)`, `mid.copy()`)."""
        is_taken = not any(isinstance(node, (ast.BinOp, ast.UnaryOp)) for node in ast.walk(value))
        return is_taken and len(self.of(value)) == 1 and self.of(value) <= probes


def _place(node: ast.AST) -> str:
    """What stands for a name, an attribute or an element, or "" for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    return ast.unparse(node) if isinstance(node, (ast.Attribute, ast.Subscript)) else ""


def _deciding(found: Sequence[Assignment], ends: frozenset[str], read: _Reads) -> list[Slot]:
    """The slots of the comparisons that decide which end becomes a probe, where all is as in a bracket."""
    probes = {a.place for a in found if read.are_between(ends, a.value)} - ends
    places = ends | probes
    if not all(read.of(a.value) <= places for a in found if a.place in places):
        return []
    moved = [a for a in found if a.place in ends and a.slots]
    moved = [a for a in moved if read.is_one_of(probes, a.value) or read.are_between(ends, a.value)]
    return [slot for a in moved for slot in a.slots] if frozenset(a.place for a in moved) == ends else []


def _checks_of_steps(found: Sequence[Assignment], read: _Reads) -> list[Slot]:
    """`dx *= 0.5; mid = low + dx; if f(mid) <= 0: low = mid`: one end, and a step that is halved each time."""
    for step in {a.place for a in found if not a.slots and _is_halved(a)}:
        for end in {place for a in found if step in read.of(a.value) for place in read.of(a.value)} - {step}:
            made = frozenset({end, step})
            sums = [a for a in found if read.of(a.value) == made and _is_sum(a.value, end, step)]
            probes = {a.place for a in sums} - made
            own = [a for a in found if a.place == end]
            if own and all(a.slots and (a in sums or read.is_one_of(probes, a.value)) for a in own):
                return [slot for a in own for slot in a.slots]
    return []


def _is_halved(a: Assignment) -> bool:
    value = a.value
    if not isinstance(value, ast.BinOp) or a.place not in (_place(value.left), _place(value.right)):
        return False
    numbers = [side.value for side in (value.left, value.right) if isinstance(side, ast.Constant)]
    return numbers in ([2], [0.5]) and isinstance(value.op, ast.Div if numbers == [2] else ast.Mult)


class _Numbers(ast.NodeTransformer):
    """Puts numbers in the places of names: those that are given, and one for all that a loop leaves alone."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self.values = values

    def visit(self, node: ast.AST) -> Any:
        place = _place(node)
        if not place:
            return super().visit(node)
        if place not in self.values and isinstance(node, ast.Subscript):  # a part of the array that has the number
            return self.visit(node.value)
        return ast.copy_location(ast.Constant(self.values.get(place, _RATIO)), node)

    def visit_Call(self, node: ast.Call) -> Any:
        arguments = [self.visit(argument) for argument in node.args]
        return ast.copy_location(ast.Call(ast.Name(called(node), ast.Load()), arguments, []), node)


def _at(value: ast.expr, values: Mapping[str, float]) -> float:
    """An expression's number, or NaN where it has none."""
    numbers = _Numbers(values).visit(ast.parse(ast.unparse(value), mode="eval"))
    try:
        return float(eval(compile(ast.fix_missing_locations(numbers), "", "eval"), {"__builtins__": {}, **_KNOWN}))
    except Exception:
        return math.nan


def _is_mean(value: ast.expr, ends: frozenset[str]) -> bool:
    """Whether an expression is some mean of two places: between them, and where they are if they are one."""
    values = [_at(value, dict(zip(sorted(ends), pair))) for pair in ((1.0, 2.0), (2.0, 1.0), (3.0, 3.0))]
    return 1.0 < values[0] < 2.0 and 1.0 < values[1] < 2.0 and abs(values[2] - 3.0) < 1e-9


def _is_sum(value: ast.expr, end: str, step: str) -> bool:
    return _at(value, {end: 1.0, step: 5.0}) in (6.0, -4.0)


def _is_interpolated(ends: frozenset[str], loop: ast.For | ast.While, scope: _Scope) -> bool:
    """Whether the ends meet in a quotient of differences after the loop: its derivative is right once they are near."""
    for node in _statements(scope.body):
        if node.lineno > _end(loop):
            parts = [*ast.walk(node)]
            quotients = (p for p in parts if isinstance(p, ast.BinOp) and isinstance(p.op, ast.Div))
            if any(map(_has_difference, (q.right for q in quotients))) and ends & {*map(_place, parts)}:
                return True
    return False


def _end(node: ast.stmt | ast.expr) -> int:
    return node.end_lineno or node.lineno


def _has_difference(value: ast.expr) -> bool:
    return any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) for node in ast.walk(value))


# -- recursion -----------------------------------------------------------------------------------------------------


def _checks_of_recursion(f: ast.FunctionDef) -> list[Slot]:
    """`return find(low, mid) if f(mid) > 0 else find(mid, high)`: the slots of the tests between the two calls."""
    names = [argument.arg for argument in (*f.args.posonlyargs, *f.args.args)]
    calls = [node for node in ast.walk(f) if isinstance(node, ast.Call) and called(node) == f.name]
    if len(calls) < 2:
        return []
    found = [*assignments(f.body)]
    read = _Reads({*names, *(a.place for a in found)})
    for ends in {read.of(a.value) for a in found}:
        if len(ends) != 2 or not ends <= {*names} or any(a.place in ends for a in found):
            continue
        probes = {a.place for a in found if read.are_between(ends, a.value)}
        if probes:
            for choice in (node for node in ast.walk(f) if isinstance(node, (ast.If, ast.IfExp))):
                replaced = [_replaced(f, names, arm, ends, probes) for arm in _arms(f, choice)]
                if all(replaced) and frozenset().union(*replaced) == ends:
                    return [*tests_of(choice)]
    return []


def _arms(f: ast.FunctionDef, choice: ast.If | ast.IfExp) -> tuple[list[ast.AST], list[ast.AST]]:
    """What runs where a test holds and where not: what follows a branch that returns is the other one's."""
    if isinstance(choice, ast.IfExp):
        return [choice.body], [choice.orelse]
    other: list[ast.AST] = [*choice.orelse]
    if not other and isinstance(choice.body[-1], ast.Return):
        other = [node for node in _statements(f.body) if isinstance(node, ast.Return) and node.lineno > _end(choice)]
    return [*choice.body], other


def _replaced(
    f: ast.FunctionDef, names: list[str], arm: list[ast.AST], ends: frozenset[str], probes: set[str]
) -> set[str]:
    """The ends in whose places the calls of the function itself have a probe."""
    found: set[str] = set()
    for call in (node for part in arm for node in ast.walk(part) if isinstance(node, ast.Call)):
        if called(call) == f.name:
            given = call.args if names[:1] != ["self"] else [ast.Name("self", ast.Load()), *call.args]
            pairs = [*zip(names, given), *((k.arg, k.value) for k in call.keywords if k.arg)]
            found |= {name for name, value in pairs if name in ends and ast.unparse(value) in probes}
    return found


__all__ = ["DECIDED", "checked", "checked_function", "decided"]
