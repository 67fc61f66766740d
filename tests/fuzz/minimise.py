"""Makes a program that fails as small as can be: fewer steps, shorter expressions, smaller and plainer inputs."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator

import numpy as np

from tests.fuzz.program import PLAIN, Input, Program, of_values

Fails = Callable[[Program], bool]
MODULES = ("wg", "np", "given")  # that programs take functions from
KEPT = 64  # elements of an input that is told element by element


def minimised(program: Program, fails: Fails, seconds: float = 120.0) -> Program:
    """A smaller program that still fails.

    Args:
        program: one that fails.
        fails: whether a program fails in the same way.
        seconds: when to stop looking for smaller ones.
    """
    until = time.monotonic() + seconds
    program = program._replace(source=ast.unparse(ast.parse(program.source)) + "\n")
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in candidates(program):
            if time.monotonic() > until:
                return program
            if _size(candidate) < _size(program) and fails(candidate):
                program, is_smaller = candidate, True
                break
    return program


def kind_of(error: BaseException) -> str:
    """What a failure is: its type, its first words, numbers and names left out, and the exceptions that it tells of."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("Not equal")] or [""]
    words = re.sub(r"[^a-z ]", "", re.sub(r"0x[0-9a-f]+", "", lines[0].split(":")[0]))[:40]
    told = sorted(set(re.findall(r"<class '([\w.]+)'>", lines[0])))
    return f"{type(error).__name__}: {' '.join([words, *told])}"


def _size(program: Program) -> tuple[int, ...]:
    """What is to become small, the most important first."""
    inputs = program.inputs
    plain = sum((x.layout != PLAIN) + x.is_special + (x.dtype != "float64") + (x.values is None) for x in inputs)
    digits = sum(len(repr(x.values)) for x in inputs if x.values is not None)
    loose = (program.least is not None) + 10 * len(inputs)
    return program.steps(), len(program.source), loose + plain, program.size(), digits


def candidates(program: Program) -> Iterator[Program]:
    """Programs that are smaller by one change, the largest changes first."""
    if program.size() > KEPT:  # all that follows is quicker with few elements
        yield from _shorter_axes(program)
    for source in _smaller_texts(program.source):
        if _is_python(source):
            yield _fitted(program._replace(source=source))
    if program.inputs:
        yield from _plainer_inputs(program)
    if program.least is not None:
        yield program._replace(least=None)


def _is_python(source: str) -> bool:
    """Whether it can be read: a slice is an expression for `ast`, but none by itself."""
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


# -- texts --------------------------------------------------------------------------------------------------------------


def _smaller_texts(source: str) -> Iterator[str]:
    yield from _without_steps(source)
    yield from _with_parts(source)


def _without_steps(source: str) -> Iterator[str]:
    """Runs of statements left out: half of a block, a quarter, ..., one; in the end what nobody uses."""
    yield _used(source)
    tree = ast.parse(source)
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for block in blocks:
        statements, length = block.body, len(block.body)
        run = length
        while run >= 1:
            for start in range(0, length, run):
                left = statements[start : start + run]
                kept = [s for s in left if isinstance(s, ast.Return)]
                if len(kept) == len(left):
                    continue
                block.body = statements[:start] + kept + statements[start + run :]
                if block.body:
                    yield ast.unparse(tree) + "\n"
                    yield _replaced(ast.unparse(tree), left)
            block.body = statements
            run //= 2
        for statement in statements:
            if isinstance(statement, ast.FunctionDef) and statement.decorator_list:
                decorators, statement.decorator_list = statement.decorator_list, []
                yield ast.unparse(tree) + "\n"
                statement.decorator_list = decorators


def _used(source: str) -> str:
    """Without the assignments and definitions in functions that nothing needs."""
    tree = ast.parse(source)
    for block in tree.body:
        if isinstance(block, ast.FunctionDef):
            _leave_what_is_used(block)
    return ast.unparse(tree) + "\n"


def _leave_what_is_used(block: ast.FunctionDef) -> None:
    needed: set[str] = set()
    kept: list[ast.stmt] = []
    for statement in reversed(block.body):
        made = _assigned(statement)
        if made and not made & needed:
            continue
        if isinstance(statement, ast.FunctionDef):
            _leave_what_is_used(statement)
        needed |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        kept.append(statement)
    block.body = kept[::-1]


def _assigned(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    if isinstance(statement, ast.Assign):
        names = [n for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        return {n.id for n in names if isinstance(n.ctx, ast.Store)}
    return set()


def _replaced(text: str, left_out: list[ast.stmt]) -> str:
    """A text in which values that are made no more are the values that they were made of."""
    for statement in reversed(left_out):
        if not isinstance(statement, ast.Assign):
            continue
        loaded = [
            n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name) and re.fullmatch(r"[xvcr]\d+", n.id)
        ]
        for name in _assigned(statement):
            if loaded:
                text = re.sub(rf"\b{name}\b", loaded[0], text)
    return text + "\n"


def _with_parts(source: str) -> Iterator[str]:
    """Each expression replaced by a part of it; elements of lists left out; numbers made small."""
    tree = ast.parse(source)
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, ast.expr) and not isinstance(parent, (ast.Attribute, ast.keyword, ast.arg)):
                for part in _parts(value):
                    setattr(parent, field, part)
                    yield ast.unparse(tree) + "\n"
                setattr(parent, field, value)
            elif isinstance(value, list):
                yield from _with_parts_of_list(tree, parent, field, value)


def _with_parts_of_list(tree: ast.Module, parent: ast.AST, field: str, value: list[ast.AST]) -> Iterator[str]:
    if field == "keywords" or (isinstance(parent, (ast.List, ast.Tuple)) and len(value) > 1):
        for index in range(len(value)):
            setattr(parent, field, value[:index] + value[index + 1 :])
            yield ast.unparse(tree) + "\n"
        setattr(parent, field, value)
    for index, item in enumerate(value):
        if isinstance(item, ast.expr):
            for part in _parts(item):
                value[index] = part
                yield ast.unparse(tree) + "\n"
            value[index] = item


def _is_of_module(expression: ast.expr) -> bool:
    """Whether it is a module, or a function of one: no program has these for values."""
    while isinstance(expression, ast.Attribute):
        expression = expression.value
    return isinstance(expression, ast.Name) and expression.id in MODULES


def _parts(expression: ast.expr) -> Iterator[ast.expr]:
    whole = (e for e in ast.walk(expression) if isinstance(e, ast.expr) and e is not expression)
    yield from (e for e in whole if not _is_of_module(e))
    if isinstance(expression, ast.Constant) and type(expression.value) is int and expression.value > 1:
        yield ast.Constant(1)
        yield ast.Constant(expression.value // 2)


# -- inputs -------------------------------------------------------------------------------------------------------------


def _fitted(program: Program) -> Program:
    """Without the inputs that its text does not use."""
    if not program.inputs:
        return program
    tree = ast.parse(program.source)
    f = tree.body[-1]
    if not isinstance(f, ast.FunctionDef) or len(f.args.args) != len(program.inputs):
        return program
    loaded = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    pairs = [(a, x) for a, x in zip(f.args.args, program.inputs, strict=True) if a.arg in loaded]
    if not any(np.dtype(x.dtype).kind not in "iub" for _, x in pairs):
        return program  # nothing could be differentiated
    f.args.args = [a for a, _ in pairs]
    return program._replace(source=ast.unparse(tree) + "\n", inputs=(*[x for _, x in pairs],))


def _plainer_inputs(program: Program) -> Iterator[Program]:
    yield from _shorter_axes(program)
    for place, x in enumerate(program.inputs):
        for other in _plainer(x):
            inputs = [*program.inputs]
            inputs[place] = other
            yield program._replace(inputs=(*inputs,))


def _shorter_axes(program: Program) -> Iterator[Program]:
    """All axes of one extent made shorter at once: programs want some to be equal."""
    extents = sorted({n for x in program.inputs for n in x.shape}, reverse=True)
    for extent in extents:
        for shorter in dict.fromkeys([1, 2, 3, extent // 2, extent - 1]):
            if 0 < shorter < extent:
                changed = [_resized(x, (*[shorter if n == extent else n for n in x.shape],)) for x in program.inputs]
                yield program._replace(inputs=(*changed,))


def _resized(x: Input, shape: tuple[int, ...]) -> Input:
    """With the first elements of each axis."""
    if shape == x.shape:
        return x
    first = x.elements()[(*[slice(0, n) for n in shape],)]
    return of_values(first, x.layout) if first.size <= KEPT else x._replace(shape=shape)


def _plainer(x: Input) -> Iterator[Input]:
    if x.layout != PLAIN:
        yield x._replace(layout=PLAIN)
    if x.is_special:
        yield x._replace(is_special=False)
    if np.dtype(x.dtype).kind not in "iub" and x.dtype != "float64":
        yield x._replace(dtype="float64", values=None if np.dtype(x.dtype).kind == "c" else x.values)
    for axis, n in enumerate(x.shape):
        for shorter in (1, n // 2):
            if 0 < shorter < n:
                yield _resized(x, (*x.shape[:axis], shorter, *x.shape[axis + 1 :]))
    array = x.elements()
    if array.size <= KEPT and x.values is None:
        yield of_values(array, x.layout)
    if x.values is not None and array.dtype.kind == "f":
        for digits in (0, 1, 2):
            yield of_values(np.round(array, digits), x.layout)
