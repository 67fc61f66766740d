"""Elementwise primitives in CasADi, and in the C that CasADi writes of them: two columns of `cliffs.py`.

Both compute what `cliffs.many` and `cliffs.loop` do, in float64: CasADi in its virtual machine, the C compiled with all
that the compiler knows of this processor. CasADi has scalar expressions only, so no other primitive has these columns.
"""

from __future__ import annotations

import math
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import harness

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: lambda cs, x, name=name: getattr(cs, name)(x) for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "log10", "sqrt", "erf", "floor", "ceil", "sign",
    )},
    **{name: lambda cs, x, theirs=theirs: getattr(cs, theirs)(x) for name, theirs in {
        "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
        "arctanh": "atanh", "abs": "fabs", "expm1": "expm1", "log1p": "log1p",
    }.items()},
    **{name: lambda cs, x, y, theirs=theirs: getattr(cs, theirs)(x, y) for name, theirs in {
        "arctan2": "atan2", "hypot": "hypot", "maximum": "fmax", "minimum": "fmin", "fmax": "fmax", "fmin": "fmin",
        "copysign": "copysign", "fmod": "fmod",
    }.items()},
    "add": lambda cs, x, y: x + y,
    "sub": lambda cs, x, y: x - y,
    "mul": lambda cs, x, y: x * y,
    "div": lambda cs, x, y: x / y,
    "power": lambda cs, x, y: x**y,
    "neg": lambda cs, x: -x,
    "square": lambda cs, x: x * x,
    "reciprocal": lambda cs, x: 1 / x,
    "rsqrt": lambda cs, x: 1 / cs.sqrt(x),
    "exp2": lambda cs, x: cs.exp(x * math.log(2)),
    "log2": lambda cs, x: cs.log(x) / math.log(2),
    "sigmoid": lambda cs, x: 1 / (1 + cs.exp(-x)),
    "softplus": lambda cs, x: cs.log1p(cs.exp(x)),
    "relu": lambda cs, x: cs.fmax(x, 0),
    "logaddexp": lambda cs, x, y: cs.fmax(x, y) + cs.log1p(cs.exp(-cs.fabs(x - y))),
}  # fmt: skip
ARCHITECTURES = {None: "native", "avx2": "haswell", "sse": "x86-64"}  # as compilers say it

Call = Callable[[], Any]


class Sums(NamedTuple):
    """What is to be computed of an expression.

    Attributes:
        name: of the primitive.
        arguments: arrays of one shape.
        steps: how often in a loop, each time with a share of the arguments; 0 for their elements as they are.
        active: the arguments whose gradients are the result; none for the sum itself.
    """

    name: str
    arguments: Sequence[np.ndarray[Any, Any]]
    steps: int
    active: Sequence[int]


def why_not(sums: Sums) -> str:
    """Why there are no such columns; empty where there are."""
    if any(x.dtype != np.float64 for x in sums.arguments) or len({x.shape for x in sums.arguments}) != 1:
        return "float64 of one shape only"
    if sums.name not in FUNCTIONS:
        return "no expression of CasADi's"
    try:
        import casadi  # noqa: F401  (asked for)
    except ImportError:
        return "casadi is not installed"
    return ""


def by_casadi(sums: Sums, expected: Sequence[np.ndarray[Any, Any]]) -> Call | None:
    """The call of CasADi's virtual machine; none where there is no such expression, or the results are others."""
    return None if why_not(sums) else _buffered(_function(sums), sums, expected)


def by_c(sums: Sums, expected: Sequence[np.ndarray[Any, Any]], vectors: str | None) -> Call | None:
    """As `by_casadi`, of the C that it writes, for a processor with the vectors of `ARCHITECTURES`."""
    if why_not(sums) or harness.c_compiler() is None:
        return None
    return _buffered(_compiled(_function(sums), ARCHITECTURES[vectors]), sums, expected)


def _function(sums: Sums) -> Any:
    import casadi as cs

    f, size = FUNCTIONS[sums.name], sums.arguments[0].size
    shape = (size, 1) if sums.steps else (1, size)
    whole = [cs.MX.sym(f"x{k}", *shape) for k in range(len(sums.arguments))]
    total = (_looped if sums.steps else _side_by_side)(cs, f, whole, sums.steps)
    results = [cs.gradient(total, whole[k]) for k in sums.active] or [total]
    return cs.Function("program", whole, results)


def _side_by_side(cs: Any, f: Callable[..., Any], whole: Sequence[Any], _: int) -> Any:
    xs = [cs.SX.sym(f"x{k}") for k in range(len(whole))]
    return cs.sum2(cs.Function("one", xs, [f(cs, *xs)]).map(whole[0].numel())(*whole))


def _looped(cs: Any, f: Callable[..., Any], whole: Sequence[Any], steps: int) -> Any:
    i, count = cs.SX.sym("i"), whole[0].numel()
    xs = [cs.SX.sym(f"x{k}", count) for k in range(len(whole))]
    share = 1 - 1e-6 * i
    total = sum(f(cs, *[x[e] * share for x in xs]) for e in range(count))
    step = cs.Function("step", [i, *xs], [total])
    held = [*range(1, 1 + len(xs))]  # what is the same in each step
    return step.map("looped", "serial", steps, held, [0])(cs.DM(range(steps)).T, *whole)


def _compiled(function: Any, architecture: str) -> Any:
    import casadi as cs

    with tempfile.TemporaryDirectory() as folder:
        generator = cs.CodeGenerator("program.c")
        generator.add(function)
        generator.generate(f"{folder}/")
        compiler, library = harness.c_compiler(), Path(folder, "program.so")
        assert compiler is not None
        flags = ("-O3", f"-march={architecture}", "-fPIC", "-shared")
        subprocess.run([compiler, *flags, str(Path(folder, "program.c")), "-o", str(library), "-lm"], check=True)
        return cs.external("program", str(library))  # which stays loaded


def _buffered(function: Any, sums: Sums, expected: Sequence[np.ndarray[Any, Any]]) -> Call | None:
    """A call without arguments, whose memory is chosen beforehand."""
    buffer, run = function.buffer()
    given = [np.ascontiguousarray(x).ravel() for x in sums.arguments]
    results = [np.zeros(function.numel_out(k)) for k in range(function.n_out())]
    for k, x in enumerate(given):
        buffer.set_arg(k, memoryview(x))
    for k, x in enumerate(results):
        buffer.set_res(k, memoryview(x))
    kept = buffer, given, results

    def call() -> Any:
        run()
        return kept

    call()
    pairs = zip(results, expected, strict=True)
    return call if all(np.allclose(x, np.ravel(y), 1e-8, 1e-10) for x, y in pairs) else None
