"""Branches and loops inside one another: as deep as Python's stack of calls allows, and an error with its cure beyond."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

KINDS: dict[str, Callable[[Any], Any]] = {
    "cond": lambda inner: lambda x: wg.cond(x > 0, lambda v: inner(v * 1.001), lambda v: v, x),
    "switch": lambda inner: lambda x: wg.switch(0, [lambda v: inner(v * 1.001), lambda v: v], x),
    "fori_loop": lambda inner: lambda x: wg.fori_loop(0, 1, lambda i, v: inner(v * 1.001), x),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "call": lambda f: wg.function(f)(0.5),
    "gradient": lambda f: wg.function(wg.grad(f))(0.5),
    "of compiled": lambda f: wg.grad(wg.function(f))(0.5),
    "vmap": lambda f: wg.vmap(f)(np.array([0.5, 0.25])),
}


def nested(kind: str, depth: int) -> Callable[[Any], Any]:
    f: Callable[[Any], Any] = wg.sin
    for _ in range(depth):
        f = KINDS[kind](f)
    return f


def test_two_hundred_branches_run_eagerly() -> None:
    # in a process of its own: pytest's own calls take their share of the stack
    script = (
        "import wengert as wg\nf = wg.sin\n"
        "for _ in range(200):\n    f = lambda x, f=f: wg.cond(x > 0, f, lambda v: v, x)\n"
        "assert f(0.5) == wg.sin(0.5) and wg.grad(f)(0.5) == wg.cos(0.5)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_too_deep_to_trace_says_so(kind: str, way: str) -> None:
    if kind == "switch" and way != "gradient":
        pytest.skip("its index is known: nothing is traced but the branch that it names")
    with pytest.raises(
        RecursionError, match=r"branches and loops inside one another are deeper than Python's limit .*setrec"
    ):
        WAYS[way](nested(kind, 300))


def test_a_function_that_calls_itself_is_told_as_python_does() -> None:
    def f(x: Any) -> Any:
        return f(x)

    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        wg.function(lambda x: wg.cond(x > 0, f, lambda v: v, x))(1.0)


# Python 3.12 alone bounds calls that pass through C by a number that no program can change
DEPTH = 100 if sys.version_info[:2] == (3, 12) else 150


def test_with_a_higher_limit_they_are_traced() -> None:
    script = (
        "import sys\nimport wengert as wg\nsys.setrecursionlimit(10_000)\nf = wg.sin\n"
        f"for _ in range({DEPTH}):\n    f = lambda x, f=f: wg.cond(x > 0, f, lambda v: v, x)\n"
        "assert wg.function(wg.grad(f))(0.5) == wg.cos(0.5)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
