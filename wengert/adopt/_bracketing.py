"""Finds loops that shrink an interval by comparisons alone, and has them refuse a followed comparison.

Halving (`mid = (lo + hi) / 2; if f(mid) > 0: hi = mid else: lo = mid`) asks its equation for signs only. The root that
it finds moves with the equation, but no arithmetic leads from one to the other: the program's derivative is that of the
two ends which it began with, a wrong number without a word. So an adopted module's source is searched for brackets: two
names of which

- probes are made inside the loop by arithmetic from these two and constants only, and
- each end becomes a probe where a test, a mask or a `where` says so.

The tests get a call around them that raises `LostGradientError` where the comparison depends on what is followed. A
probe that is also computed otherwise (a Newton step, a secant) is left alone: its last step has the derivative. So is a
loop after which the two ends are interpolated.
"""

# pyright: strict, reportPrivateUsage=false

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple, TypeAlias

from .._core.state import STATE
from .._core.tensor import Tensor
from .._core.user_line import at_user_line
from ..errors import LostGradientError

DECIDED = "__wengert_decided__"  # among the builtins of adopted code

_LOOPS = (ast.For, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# files without one of these have no bracket that is halved, cut in three or by the golden ratio
_MAY_SHRINK = re.compile(r"/=? ?\(?[23]\b|\*=? ?0?\.5\b|\b0?\.5 ?\*|\.618|\.381|\.382|\bmean\(")
_WHOLE = frozenset({"int", "round", "floor", "ceil", "trunc", "rint", "len"})  # of places in a table, not of numbers

Slot: TypeAlias = Callable[[], None]  # puts the check around one comparison


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
    if source is None or not _MAY_SHRINK.search(source):
        return code
    try:
        tree = ast.parse(source, code.co_filename)
    except SyntaxError:  # a notebook's cell, whose first lines are not Python's
        return code
    if not _put_checks(tree):
        return code
    return compile(ast.fix_missing_locations(tree), code.co_filename, "exec", dont_inherit=True)


def checked_function(code: CodeType) -> CodeType:
    """The same for the code of one function, whose file is read where it can be."""
    module = "".join(linecache.getlines(code.co_filename))
    anew = checked(code, module or None)
    if anew is code:
        return code
    found = next((c for c in _codes_in(anew) if _is_same_place(c, code)), None)
    return code if found is None else found


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


def _put_checks(tree: ast.Module) -> bool:
    slots: list[Slot] = []
    for scope in ast.walk(tree):
        if isinstance(scope, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)):
            for loop in _own(scope):
                if isinstance(loop, _LOOPS):
                    slots += _checks_of(loop, scope)
        if isinstance(scope, ast.FunctionDef):
            slots += _checks_of_recursion(scope)
    for put in slots:
        put()
    return bool(slots)


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions inside it."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
            yield child
            yield from _own(child)


# -- what a loop assigns -------------------------------------------------------------------------------------------


class _Assignment(NamedTuple):
    """One value that a name (or `self.lo`, or `ends[0]`) may get in a loop, and what decides whether it does."""

    place: str
    value: ast.expr
    slots: tuple[Slot, ...]


def _assignments(body: Sequence[ast.AST], slots: tuple[Slot, ...] = ()) -> Iterator[_Assignment]:
    for node in body:
        if isinstance(node, ast.If):
            inner = (*slots, *_tests(node))
            yield from _assignments(node.body, inner)
            yield from _assignments(node.orelse, inner)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _assigned(target, node.value, slots)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from _assigned(node.target, node.value, slots)
        elif isinstance(node, ast.AugAssign):
            value = ast.BinOp(_loaded(node.target), node.op, node.value)
            yield from _assigned(node.target, value, slots)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _written_by(node.value, slots)
        elif not isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.expr)):
            yield from _assignments([*ast.iter_child_nodes(node)], slots)


def _assigned(target: ast.expr, value: ast.expr, slots: tuple[Slot, ...]) -> Iterator[_Assignment]:
    if isinstance(value, ast.IfExp):
        inner = (*slots, *_tests(value))
        yield from _assigned(target, value.body, inner)
        yield from _assigned(target, value.orelse, inner)
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value] * len(target.elts)
        for part, of in zip(target.elts, parts):
            yield from _assigned(part, of, slots)
    elif _is_call_of(value, "where") and isinstance(value, ast.Call) and len(value.args) == 3:
        inner = (*slots, _around_item(value.args, 0))
        yield from _assigned(target, value.args[1], inner)
        yield from _assigned(target, value.args[2], inner)
    elif isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Constant):
        yield _Assignment(ast.unparse(target.value), _without_index(value), (*slots, _around(target, "slice")))
    else:
        yield _Assignment(ast.unparse(target), value, slots)


def _written_by(call: ast.Call, slots: tuple[Slot, ...]) -> Iterator[_Assignment]:
    """`np.copyto(lo, mid, where=mask)`, `np.putmask(lo, mask, mid)`."""
    if _is_call_of(call, "copyto") and len(call.args) >= 2:
        masks = [keyword for keyword in call.keywords if keyword.arg == "where"]
        inner = (*slots, *(_around(mask, "value") for mask in masks))
        yield _Assignment(ast.unparse(call.args[0]), call.args[1], inner)
    elif (_is_call_of(call, "putmask") or _is_call_of(call, "place")) and len(call.args) == 3:
        value = _without_index(call.args[2])
        yield _Assignment(ast.unparse(call.args[0]), value, (*slots, _around_item(call.args, 1)))


def _is_call_of(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and _called(node) == name


def _without_index(value: ast.expr) -> ast.expr:
    """`mid` for `mid[mask]`: what is assigned is a part of it."""
    return value.value if isinstance(value, ast.Subscript) else value


def _loaded(target: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body


# -- where the checks go -------------------------------------------------------------------------------------------


def _wrapped(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == DECIDED:
        return test
    return ast.copy_location(ast.Call(ast.copy_location(ast.Name(DECIDED, ast.Load()), test), [test], []), test)


def _around(node: Any, field: str) -> Slot:
    return lambda: setattr(node, field, _wrapped(getattr(node, field)))


def _around_item(items: list[ast.expr], index: int) -> Slot:
    def put() -> None:
        items[index] = _wrapped(items[index])

    return put


def _tests(node: ast.If | ast.IfExp) -> Iterator[Slot]:
    """One slot for each operand of `and`, `or` and `not`, which would make plain truths of tensors."""
    yield from _operands(node, "test", node.test)


def _operands(holder: Any, field: str, test: ast.expr) -> Iterator[Slot]:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _operands(test, "operand", test.operand)
    elif isinstance(test, ast.BoolOp):
        for index, part in enumerate(test.values):
            if isinstance(part, (ast.UnaryOp, ast.BoolOp)):
                yield from _operands(part, "", part)
            else:
                yield _around_item(test.values, index)
    elif field:
        yield _around(holder, field)


# -- which loops ---------------------------------------------------------------------------------------------------


def _checks_of(loop: ast.For | ast.While, scope: ast.AST) -> list[Slot]:
    found = [*_assignments([*loop.body, *loop.orelse])]
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
        """Whether an expression computes a number from the two ends and what the loop leaves alone."""
        return self.of(value) == ends and _is_arithmetic(value)

    def is_one_of(self, probes: set[str], value: ast.expr) -> bool:
        """Whether an expression is one of the places, or a copy of it (`float(mid)`, `mid.copy()`)."""
        is_taken = not any(isinstance(node, (ast.BinOp, ast.UnaryOp)) for node in ast.walk(value))
        return is_taken and len(self.of(value)) == 1 and self.of(value) <= probes


def _place(node: ast.AST) -> str:
    """What stands for a name, an attribute or an element, or "" for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    return ast.unparse(node) if isinstance(node, (ast.Attribute, ast.Subscript)) else ""


def _deciding(found: Sequence[_Assignment], ends: frozenset[str], read: _Reads) -> list[Slot]:
    """The slots of the comparisons that decide which end becomes a probe, where all is as in a bracket."""
    probes = {a.place for a in found if read.are_between(ends, a.value)} - ends
    places = ends | probes
    if not all(read.of(a.value) <= places and _is_arithmetic(a.value) for a in found if a.place in places):
        return []
    moved = [a for a in found if a.place in ends and a.slots]
    moved = [a for a in moved if read.is_one_of(probes, a.value) or read.are_between(ends, a.value)]
    return [slot for a in moved for slot in a.slots] if frozenset(a.place for a in moved) == ends else []


def _checks_of_steps(found: Sequence[_Assignment], read: _Reads) -> list[Slot]:
    """`dx *= 0.5; mid = low + dx; if f(mid) <= 0: low = mid`: one end, and a step that is halved each time."""
    for step in {a.place for a in found if not a.slots and _is_halved(a)}:
        for end in {place for a in found if step in read.of(a.value) for place in read.of(a.value)} - {step}:
            made = frozenset({end, step})
            probes = {a.place for a in found if read.are_between(made, a.value)}
            own = [a for a in found if a.place == end]
            if own and all(a.slots and (read.is_one_of(probes, a.value) or read.of(a.value) == made) for a in own):
                return [slot for a in own for slot in a.slots]
    return []


def _is_halved(a: _Assignment) -> bool:
    value = a.value
    if not isinstance(value, ast.BinOp) or a.place not in (_place(value.left), _place(value.right)):
        return False
    numbers = [side.value for side in (value.left, value.right) if isinstance(side, ast.Constant)]
    return numbers in ([2], [0.5]) and isinstance(value.op, ast.Div if numbers == [2] else ast.Mult)


def _is_arithmetic(value: ast.expr) -> bool:
    """Whether an expression computes numbers, not places in a table."""
    for node in ast.walk(value):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.RShift, ast.LShift, ast.Mod)):
            return False
        if isinstance(node, ast.Call) and _called(node) in _WHOLE:
            return False
    return True


def _is_interpolated(ends: frozenset[str], loop: ast.For | ast.While, scope: ast.AST) -> bool:
    """Whether the ends meet in a quotient of differences after the loop: its derivative is right once they are near."""
    for node in _own(scope):
        if isinstance(node, ast.stmt) and node.lineno > (loop.end_lineno or loop.lineno):
            parts = [*ast.walk(node)]
            quotients = (p for p in parts if isinstance(p, ast.BinOp) and isinstance(p.op, ast.Div))
            if any(map(_has_difference, (q.right for q in quotients))) and ends & {*map(_place, parts)}:
                return True
    return False


def _has_difference(value: ast.expr) -> bool:
    return any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) for node in ast.walk(value))


# -- recursion -----------------------------------------------------------------------------------------------------


def _checks_of_recursion(f: ast.FunctionDef) -> list[Slot]:
    """`return find(low, mid) if f(mid) > 0 else find(mid, high)`: the slots of the tests between the two calls."""
    names = [argument.arg for argument in (*f.args.posonlyargs, *f.args.args)]
    calls = [node for node in _own(f) if isinstance(node, ast.Call) and _called(node) == f.name]
    if len(calls) < 2:
        return []
    found = [*_assignments(f.body)]
    read = _Reads({*names, *(a.place for a in found)})
    for ends in {read.of(a.value) for a in found}:
        probes = {a.place for a in found if read.are_between(ends, a.value)}
        if len(ends) == 2 and ends <= {*names} and probes and not any(a.place in ends for a in found):
            for choice in (node for node in _own(f) if isinstance(node, (ast.If, ast.IfExp))):
                replaced = [_replaced(f, names, arm, ends, probes) for arm in _arms(f, choice)]
                if all(replaced) and frozenset().union(*replaced) == ends:
                    return [*_tests(choice)]
    return []


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _arms(f: ast.FunctionDef, choice: ast.If | ast.IfExp) -> tuple[list[ast.AST], list[ast.AST]]:
    """What runs where a test holds and where not: what follows a branch that returns is the other one's."""
    if isinstance(choice, ast.IfExp):
        return [choice.body], [choice.orelse]
    other: list[ast.AST] = [*choice.orelse]
    if not other and isinstance(choice.body[-1], ast.Return):
        other = [node for node in _own(f) if isinstance(node, ast.Return) and node.lineno > (choice.end_lineno or 0)]
    return [*choice.body], other


def _replaced(
    f: ast.FunctionDef, names: list[str], arm: list[ast.AST], ends: frozenset[str], probes: set[str]
) -> set[str]:
    """The ends in whose places the calls of the function itself have a probe."""
    found: set[str] = set()
    for call in (node for part in arm for node in ast.walk(part) if isinstance(node, ast.Call)):
        if _called(call) == f.name:
            given = call.args if names[:1] != ["self"] else [ast.Name("self", ast.Load()), *call.args]
            pairs = [*zip(names, given), *((k.arg, k.value) for k in call.keywords if k.arg)]
            found |= {name for name, value in pairs if name in ends and ast.unparse(value) in probes}
    return found
