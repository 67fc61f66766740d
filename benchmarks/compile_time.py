"""Time to the first gradient of programs that repeat themselves, by how often they do, beside JAX.

    python benchmarks/compile_time.py [PROGRAM ...]

Python loops unroll in a trace: steps of a recurrent network, layers, a stencil, a chain of operations. The figures are
the processor's seconds of tracing, differentiating, compiling and running once, with one thread and nothing kept on
disk, and the microseconds of a call after that. Both libraries run in one process, one after the other.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["WENGERT_CACHE_DIR"] = ""
sys.path.insert(0, str(Path(__file__).parent))

import libraries

libraries.limit_threads()

import numpy as np  # noqa: E402  (after the number of threads is set)

CALLS = 9
RNG = np.random.default_rng(0)
COUNTS = {
    "recurrent": (10, 30, 60, 100), "layers": (1, 2, 4, 12), "stencil": (3, 5, 7, 9, 12, 16),
    "chain": (1000, 2000, 3000, 4000),
}  # fmt: skip


def recurrent(library: Any, count: int) -> tuple[Callable[..., Any], list[Any]]:
    rows = RNG.normal(size=(count, 8, 16))

    def loss(w: Any, u: Any) -> Any:
        h: Any = np.zeros((8, 32))
        for row in rows:
            h = library.np.tanh(row @ u + h @ w)
        return library.np.sum(h * h)

    return loss, [0.1 * RNG.normal(size=(32, 32)), 0.1 * RNG.normal(size=(16, 32))]


def layers(library: Any, count: int) -> tuple[Callable[..., Any], list[Any]]:
    """Layers of a transformer: attention of four heads, a normalisation and two dense layers."""
    width, heads, length = 64, 4, 32
    xp = library.np

    def layer(x: Any, q: Any, k: Any, v: Any, o: Any, a: Any, b: Any) -> Any:
        q, k, v = (xp.reshape(x @ m, (length, heads, width // heads)).transpose(1, 0, 2) for m in (q, k, v))
        scores = xp.exp(q @ k.transpose(0, 2, 1) / np.sqrt(width / heads))
        seen = (scores / xp.sum(scores, -1, keepdims=True)) @ v
        x = x + xp.reshape(seen.transpose(1, 0, 2), (length, width)) @ o
        centred = x - xp.mean(x, -1, keepdims=True)
        return x + xp.tanh(centred / xp.sqrt(xp.mean(centred**2, -1, keepdims=True) + 1e-5) @ a) @ b

    def loss(x: Any, *weights: Any) -> Any:
        for k in range(count):
            x = layer(x, *weights[6 * k : 6 * k + 6])
        return xp.sum(x * x)

    shapes = [*[(width, width)] * 4, (width, 4 * width), (4 * width, width)]
    return loss, [RNG.normal(size=(length, width)), *(0.1 * RNG.normal(size=s) for _ in range(count) for s in shapes)]


def stencil(library: Any, count: int) -> tuple[Callable[..., Any], list[Any]]:
    xp = library.np

    def loss(u: Any) -> Any:
        for _ in range(count):
            around = xp.roll(u, 1, 0) + xp.roll(u, -1, 0) + xp.roll(u, 1, 1) + xp.roll(u, -1, 1)
            u = u + 0.1 * (around - 4 * u) - 0.01 * u**3
        return xp.sum(u * u)

    return loss, [RNG.normal(size=(64, 64))]


def chain(library: Any, count: int) -> tuple[Callable[..., Any], list[Any]]:
    def loss(x: Any) -> Any:
        for k in range(count // 2):
            x = library.np.sin(x) * (1.0 + 1e-4 * (k % 7))
        return library.np.sum(x)

    return loss, [RNG.normal(size=100)]


PROGRAMS = {f.__name__: f for f in (recurrent, layers, stencil, chain)}


def measured(library: Any, name: str, count: int) -> tuple[float, float]:
    """The seconds of the first call, and of a later one."""
    loss, arrays = PROGRAMS[name](library, count)
    natives = [library.array(a) for a in arrays]
    begun = time.process_time()
    run = library.compiled(library.value_and_grad(loss, len(arrays)))
    library.ready(run(*natives))
    first = time.process_time() - begun
    calls: list[float] = []
    for _ in range(CALLS):
        begun = time.process_time()
        library.ready(run(*natives))
        calls.append(time.process_time() - begun)
    return first, statistics.median(calls)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compile time by the number of repetitions.")
    parser.add_argument("programs", nargs="*", help=f"which (default: {', '.join(PROGRAMS)})")
    parser.add_argument("--libraries", default="wengert,jax", help="which, with commas")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # that loops are unrolled is the point
    names = options.libraries.split(",")
    there = {name: libraries.LIBRARIES[name]()[0] for name in names}
    print("program, repetitions".ljust(24), *(f"{name}: first s, call us".rjust(28) for name in names))
    for program in options.programs or PROGRAMS:
        for count in COUNTS[program]:
            found = [measured(library, program, count) for library in there.values()]
            figures = [f"{first:20.2f}{1e6 * call:8.0f}" for first, call in found]
            print(f"{program} {count}".ljust(24), *figures, flush=True)


if __name__ == "__main__":
    main()
