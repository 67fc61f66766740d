"""Checks random programs with branches and loops, as many as one likes: `python tests/fuzz_programs.py --count 1000`.

A program that fails is printed as Python that can be run, with the seed that makes it again.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from control_checks import check, random_point
from control_programs import Program, random_program

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
    numbers = random.Random(seed)
    program = random_program(numbers, constructs)
    try:
        checked(program, numbers)
    except Exception as error:
        return program, error
    return None


def smallest(seed: int, constructs: int, checked: Callable[..., None], kind: type, tries: int) -> tuple[int, int, Any]:
    """A shorter program with a failure of the same kind, from other seeds."""
    best = (seed, constructs, failure_of(seed, constructs, checked))
    for size in range(1, constructs + 1):
        for other in range(tries):
            found = failure_of(other, size, checked)
            if found is None or type(found[1]) is not kind:
                continue
            if len(found[0].source) < len(best[2][0].source):
                best = (other, size, found)
    return best


def show(seed: int, constructs: int, failure: tuple[Program, BaseException]) -> None:
    program, error = failure
    numbers = random.Random(seed)
    random_program(numbers, constructs)
    point = random_point(numbers)
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
    parser.add_argument("--shrink", type=int, default=0, help="look for a shorter one among so many seeds")
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
            print(f"seed {seed}: {len(failure[0].source)} characters, {type(failure[1]).__name__}: {first[0]}")
            continue
        show(seed, options.constructs, failure)
        if options.shrink:
            print("# ---- shorter:")
            show(*smallest(seed, options.constructs, checked, type(failure[1]), options.shrink))
        break
    print(f"# {options.count} programs, {failures} failed, {time.perf_counter() - began:.0f} s")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
