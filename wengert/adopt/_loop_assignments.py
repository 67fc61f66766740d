"""What a loop assigns, and which tests decide whether it does: what the search for brackets (`_bracketing`) reads.

`Slot`s put a call around a test, in place; the call's name is `DECIDED`.
"""

# pyright: strict

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

DECIDED = "__wengert_decided__"  # among the builtins of adopted code
COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.ExceptHandler, ast.Match, ast.match_case)

Slot: TypeAlias = Callable[[], None]  # puts the check around one comparison


class Assignment(NamedTuple):
    """One value that a name (or `self.lo`, or `ends[0]`) may get in a loop, and what decides whether it does."""

    place: str
    value: ast.expr
    slots: tuple[Slot, ...]


def assignments(body: Iterable[ast.AST], slots: tuple[Slot, ...] = ()) -> Iterator[Assignment]:
    """What statements assign, those inside of others among them; `slots` are of the tests around them."""
    for node in body:
        if isinstance(node, ast.If):
            inner = (*slots, *tests_of(node))
            yield from assignments(node.body, inner)
            yield from assignments(node.orelse, inner)
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
        elif isinstance(node, COMPOUND):
            yield from assignments(ast.iter_child_nodes(node), slots)


def _assigned(target: ast.expr, value: ast.expr, slots: tuple[Slot, ...]) -> Iterator[Assignment]:
    if isinstance(value, ast.IfExp):
        inner = (*slots, *tests_of(value))
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
        yield Assignment(ast.unparse(target.value), _without_index(value), (*slots, _around(target, "slice")))
    else:
        yield Assignment(ast.unparse(target), value, slots)


def _written_by(call: ast.Call, slots: tuple[Slot, ...]) -> Iterator[Assignment]:
    """`np.copyto(lo, mid, where=mask)`, `np.putmask(lo, mask, mid)`."""
    if _is_call_of(call, "copyto") and len(call.args) >= 2:
        masks = [keyword for keyword in call.keywords if keyword.arg == "where"]
        inner = (*slots, *(_around(mask, "value") for mask in masks))
        yield Assignment(ast.unparse(call.args[0]), call.args[1], inner)
    elif (_is_call_of(call, "putmask") or _is_call_of(call, "place")) and len(call.args) == 3:
        value = _without_index(call.args[2])
        yield Assignment(ast.unparse(call.args[0]), value, (*slots, _around_item(call.args, 1)))


def called(call: ast.Call) -> str:
    """The last name of the function that is called: `where` of `np.where(...)`."""
    return ast.unparse(call.func).rpartition(".")[2]


def _is_call_of(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and called(node) == name


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


def tests_of(node: ast.If | ast.IfExp) -> Iterator[Slot]:
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


__all__ = ["COMPOUND", "DECIDED", "Assignment", "Slot", "assignments", "called", "tests_of"]
