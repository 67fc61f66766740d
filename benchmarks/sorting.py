"""Times compiled sorts, orders, medians and largest elements beside NumPy's and JAX's, and their gradients.

Each row is one program on one type, size and pattern: microseconds of processor time a call (the least of its calls),
and the ratios to NumPy and to JAX (its processor time counts all of its threads). `--quick` leaves out the large sizes,
`--no-jax` JAX.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

Array = np.ndarray[Any, Any]


class Program(NamedTuple):
    """A program written for a module, and what NumPy alone has for it, if anything."""

    name: str
    of: Callable[[Any], Callable[[Any], Any]]
    numpy: Callable[[Array], Any] | None
    is_gradient: bool = False


def _largest(module: Any) -> Callable[[Any], Any]:
    return lambda x: module.top_k(x, 5)[0]


PROGRAMS = (
    Program("sort", lambda m: lambda x: m.np.sort(x, -1), lambda x: np.sort(x, -1)),
    Program("sort, first axis", lambda m: lambda x: m.np.sort(x, 0), lambda x: np.sort(x, 0)),
    Program("argsort", lambda m: lambda x: m.np.argsort(x, -1), lambda x: np.argsort(x, -1)),
    Program("argsort, stable", lambda m: lambda x: m.np.argsort(x, -1), lambda x: np.argsort(x, -1, kind="stable")),
    Program("median", lambda m: lambda x: m.np.median(x, -1), lambda x: np.median(x, -1)),
    Program("quantile", lambda m: lambda x: m.np.quantile(x, 0.3, -1), lambda x: np.quantile(x, 0.3, -1)),
    Program("top 5", _largest, lambda x: np.sort(np.partition(x, -5, -1)[..., -5:], -1)),
    Program("sort, gradient", lambda m: lambda x: m.np.sum(m.np.sort(x, -1) ** 2), None, True),
    Program("median, gradient", lambda m: lambda x: m.np.sum(m.np.median(x, -1)), None, True),
)


class Ours:
    """What programs are written for, on NumPy."""

    np = np
    top_k = staticmethod(wg.ops.top_k)


def _jax() -> Any:
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)

    class Theirs:
        np = jax.numpy
        top_k = staticmethod(jax.lax.top_k)
        jax_module = jax

    return Theirs


def least(call: Callable[[], Any], seconds: float) -> float:
    """Processor time of a call in the fastest of some rounds, all threads together.

    A round is as many calls as take a millisecond: processors' clocks are too coarse for one of a microsecond. There
    are three rounds at least, of a call that takes longer than `seconds` one.
    """
    call()
    began = time.perf_counter()
    call()
    once = time.perf_counter() - began
    calls, least_count = 1 + int(1e-3 / (once + 1e-9)), 1 if once > seconds else 3
    end, best, count = time.perf_counter() + seconds, np.inf, 0
    while count < least_count or time.perf_counter() < end:
        began = time.process_time()
        for _ in range(calls):
            call()
        best, count = min(best, (time.process_time() - began) / calls), count + 1
    return best


def arrays(is_quick: bool) -> Iterator[tuple[str, Array]]:
    rng = np.random.default_rng(0)
    for n in (10, 1000, 20_000) if is_quick else (10, 1000, 20_000, 1_000_000, 4_000_000):
        for dtype in ("float64", "float32", "int64", "int32", "int16", "uint8"):
            yield f"{n} {dtype}", (rng.standard_normal(n) * 1000 % 256).astype(dtype)
        x = rng.standard_normal(n)
        yield f"{n} sorted", np.sort(x)
        yield f"{n} equal", np.ones(n)
        yield f"{n} with NaN", np.where(rng.random(n) < 0.3, np.nan, x)
    for shape in ((20_000, 10), (1000, 1000), (10, 20_000)):
        for dtype in ("float64", "float32"):
            yield f"{shape[0]} x {shape[1]} {dtype}", rng.standard_normal(shape).astype(dtype)


def suiting(x: Array) -> Iterator[Program]:
    """The programs that an array is sorted by."""
    for program in PROGRAMS:
        if x.dtype.kind != "f" and (program.is_gradient or not program.name.startswith(("sort", "arg", "top"))):
            continue
        if program.name != "sort, first axis" or x.ndim > 1:
            yield program


def rows(is_quick: bool, jax: Any, seconds: float) -> Iterator[tuple[str, str, float, float, float]]:
    """Program, array, microseconds, and the ratios to NumPy and JAX (NaN: none)."""
    for name, x in arrays(is_quick):
        for program in suiting(x):
            ours = program.of(Ours)
            compiled = wg.function(wg.grad(ours) if program.is_gradient else ours)
            own = least(lambda compiled=compiled, x=x: compiled(x), seconds)
            by_numpy = np.nan
            if program.numpy is not None:
                by_numpy = least(lambda f=program.numpy, x=x: f(x), seconds)
            by_jax = np.nan
            if jax is not None:
                theirs = program.of(jax)
                there = jax.jax_module.jit(jax.jax_module.grad(theirs) if program.is_gradient else theirs)
                on_jax = jax.np.asarray(x)
                by_jax = least(lambda f=there, a=on_jax: f(a).block_until_ready(), seconds)
            yield program.name, name, own * 1e6, own / by_numpy, own / by_jax


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-jax", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.1, help="for each measurement")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    jax = None if options.no_jax else _jax()
    print(f"{'program':20}{'array':24}{'microseconds':>14}{'of NumPy':>10}{'of JAX':>10}")
    for program, name, own, of_numpy, of_jax in rows(options.quick, jax, options.seconds):
        print(f"{program:20}{name:24}{own:14.1f}{of_numpy:10.2f}{of_jax:10.2f}", flush=True)


if __name__ == "__main__":
    main()
