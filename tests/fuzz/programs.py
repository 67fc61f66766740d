"""Checks random programs with branches and loops, as many as one likes: `python tests/fuzz/programs.py --count 1000`.

The package must be installed, or the repository be on PYTHONPATH. A program that fails is printed as Python that can
be run, with the seed that makes it again; `--shrink` first makes it as short as it can.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from tests.support.control_checks import check, choices_of, random_point
from tests.support.control_programs import Program, random_program

USE = """
import numpy as np
import wengert as wg

{source}
f = make(wg)
point = wg.asarray({x!r}), wg.asarray({v!r}), wg.asarray(np.int64({n}))
print(wg.value_and_grad(f, (0, 1))(*point))
print(wg.function(wg.value_and_grad(make(wg), (0, 1)))(*point))
"""


def failure_of(seed: int, constructs: int, checked: Callable[..., None]) -> tuple[Program, BaseException] | None:
    """The program of a seed and what is wrong with it, if anything is."""
    program = random_program(random.Random(seed), constructs)
    try:
        checked(program, choices_of(seed))
    except Exception as error:
        return program, error
    return None


def shrunk(program: Program, seed: int, failure: BaseException, checked: Callable[..., None]) -> Program:
    """A shorter program that fails in the same way: statements left out, expressions replaced by parts of them."""

    def still_fails(source: str) -> bool:
        candidate = Program(source, program.features)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)  # pieces need not make sense
                checked(candidate, choices_of(seed))
        except Exception as error:
            return kind_of(error) == kind_of(failure)
        return False

    source, is_smaller = ast.unparse(ast.parse(program.source)), True
    while is_smaller:
        is_smaller = False
        for candidate in candidates(source):
            if len(candidate) < len(source) and still_fails(candidate):
                source, is_smaller = candidate, True
                break
    return Program(source, program.features)


def kind_of(error: BaseException) -> str:
    """What a failure is, numbers and names left out."""
    text = [line for line in str(error).splitlines() if line.strip() and not line.startswith("Not equal")] or [""]
    return type(error).__name__ + re.sub(r"[^a-z ]|0x[0-9a-f]+", "", text[0].split(":")[0])[:40]


def candidates(source: str) -> Iterator[str]:
    """Programs that are smaller by one change, the largest changes first."""
    tree = ast.parse(source)
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for block in blocks:
        for index, statement in enumerate(block.body):
            if isinstance(statement, ast.Return):
                continue
            del block.body[index]
            yield ast.unparse(tree)
            if isinstance(statement, ast.FunctionDef) and statement.decorator_list:
                decorators, statement.decorator_list = statement.decorator_list, []
                block.body.insert(index, statement)
                yield ast.unparse(tree)
                statement.decorator_list = decorators
            else:
                block.body.insert(index, statement)
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, ast.expr) and not isinstance(parent, (ast.Attribute, ast.keyword, ast.arg)):
                for part in parts_of(value):
                    setattr(parent, field, part)
                    yield ast.unparse(tree)
                setattr(parent, field, value)
            elif isinstance(value, list):
                for index, item in enumerate(value):
                    if not isinstance(item, ast.expr):
                        continue
                    for part in parts_of(item):
                        value[index] = part
                        yield ast.unparse(tree)
                    value[index] = item


def parts_of(expression: ast.expr) -> list[ast.expr]:
    return [e for e in ast.walk(expression) if isinstance(e, ast.expr) and e is not expression]


def show(seed: int, constructs: int, failure: tuple[Program, BaseException]) -> None:
    program, error = failure
    point = random_point(choices_of(seed))
    print(f"# seed {seed}, {constructs} constructs, {sorted(program.features)}")
    print(USE.format(source=program.source, x=point.x, v=point.v.tolist(), n=point.n))
    print("# " + "\n# ".join("".join(traceback.format_exception(error)).splitlines()[-30:]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the next ones follow")
    parser.add_argument("--constructs", type=int, default=4, help="branches, loops and calls in a program, at most")
    parser.add_argument("--thorough", action="store_true", help="check everything of each program, not a sample")
    parser.add_argument("--keep-going", action="store_true", help="list all seeds that fail instead of the first one")
    parser.add_argument("--shrink", action="store_true", help="make the program that fails shorter first")
    options = parser.parse_args()

    def checked(program: Program, numbers: Any) -> None:
        check(program, numbers, thorough=options.thorough)

    began, failures = time.perf_counter(), 0
    for seed in range(options.seed, options.seed + options.count):
        failure = failure_of(seed, options.constructs, checked)
        if failure is None:
            continue
        failures += 1
        if options.keep_going:
            first = str(failure[1]).strip().splitlines() or [""]
            print(
                f"seed {seed}: {len(failure[0].source)} characters, {type(failure[1]).__name__}: {first[0]}", flush=True
            )
            continue
        if options.shrink:
            failure = shrunk(failure[0], seed, failure[1], checked), failure[1]
        show(seed, options.constructs, failure)
        break
    print(f"# {options.count} programs, {failures} failed, {time.perf_counter() - began:.0f} s")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
