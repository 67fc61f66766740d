"""How the time to compile a program grows with what it repeats, by kinds of parts.

    python benchmarks/growth.py [KIND ...] [--sizes 32,64,128,256] [--most 20]

For each kind a program of n parts in a row, which are all alike, is compiled for n, 2n, 4n and 8n: the table has the
processor's seconds to the first result for each n, and how much longer a part of the longest takes than one of the
shortest. A kind whose parts take longer the more of them there are has a pass that goes over all for each.
`tests/engines/native/test_growth.py` counts Python's steps for the same kinds. Nothing is kept on disk.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ["WENGERT_CACHE_DIR"] = ""

import numpy as np  # (after the cache was switched off)

import wengert as wg

SIZES = (32, 64, 128, 256)
Made = tuple[Callable[..., Any], tuple[Any, ...]]
KINDS: dict[str, Callable[[int], Made]] = {}


def numbers(*shape: int) -> Any:
    return 0.3 * np.random.default_rng(0).normal(size=shape)


def kind(make: Callable[[int], Made]) -> Callable[[int], Made]:
    KINDS[make.__name__] = make
    return make


def repeated(part: Callable[[Any, int], Any], *shape: int) -> Callable[[int], Made]:
    """The gradient of a part done again and again."""

    def make(n: int) -> Made:
        def loss(x: Any) -> Any:
            for k in range(n):
                x = part(x, k)
            return np.sum(x)

        return wg.grad(loss), (numbers(*shape),)

    return make


def square(x: Any, k: int) -> Any:
    """A matrix that can be inverted."""
    return 0.1 * x + (2 + 0.01 * (k % 5)) * np.eye(x.shape[0])


KINDS |= {
    "chain": repeated(lambda x, k: np.sin(x) * (1.0 + 1e-3 * (k % 7)), 100),
    "wheres": repeated(lambda x, k: np.where(x > 0, np.sin(x), x * 1.1), 100),
    "small wheres": repeated(lambda x, k: np.where(x > 0, np.sin(x), x * 1.1), 4),
    "clipped wheres": repeated(
        lambda x, k: np.where(x > 0, np.sqrt(np.abs(x) + 1), x * x) - np.clip(x, -0.5, 0.5) * np.maximum(x[::-1], 0),
        21),
    "conds": repeated(lambda x, k: wg.cond(np.sum(x) > 0.1 * k, lambda v: np.sin(v), lambda v: v * 1.1, x), 8),
    "whiles": repeated(
        lambda x, k: wg.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, np.sin(v) * 1.1), (0, x))[1], 8),
    "scans": repeated(lambda x, k: wg.scan(lambda c, _: (np.tanh(c * 1.1), c), x, None, length=5)[0], 8),
    "stacking scans": repeated(
        lambda x, k: np.sum(wg.scan(lambda c, _: (np.tanh(c * 1.1), c), x, None, length=5)[1], 0), 8),
    "fori_loops": repeated(lambda x, k: wg.fori_loop(0, 4, lambda i, v: np.sin(v) + 0.1 * v, x), 8),
    "loops apart": repeated(
        lambda x, k: x + 0.1 * wg.fori_loop(0, 4, lambda i, v: np.sin(v), np.full(8, 0.5) * (k % 3)), 8),
    "slices": repeated(lambda x, k: np.concatenate([x[k % 5 + 1 :], np.sin(x[: k % 5 + 1])]), 40),
    "small slices": repeated(lambda x, k: np.concatenate([x[1:], np.sin(x[:1])]), 6),
    "halves": repeated(lambda x, k: np.concatenate([np.sin(x[:20]), x[20:]]) * 1.01, 40),
    "pads": repeated(lambda x, k: np.pad(np.sin(x[1:-1]), 1), 40),
    "gathers": repeated(lambda x, k: np.sin(x[np.argsort(np.arange(40) * 7 % 40)]), 40),
    "flips": repeated(lambda x, k: np.sin(x[::-1]) + x, 40),
    "rolls": repeated(lambda x, k: x + 0.1 * np.roll(np.sin(x), 1), 40),
    "transposes": repeated(lambda x, k: np.sin(x.T) + x, 6, 6),
    "reductions": repeated(lambda x, k: x / (1.0 + np.sum(x * x)), 40),
    "row reductions": repeated(lambda x, k: x - np.max(x, -1, keepdims=True) * 0.1, 5, 8),
    "softmaxes": repeated(lambda x, k: np.sin(wg.nn.softmax(x, axis=-1)), 5, 8),
    "maxima": repeated(lambda x, k: np.maximum(np.sin(x), np.minimum(x, 0.3)) * 1.1, 40),
    "clips": repeated(lambda x, k: np.clip(x * 1.1, -0.5, 0.5), 40),
    "running sums": repeated(lambda x, k: np.cumsum(np.sin(x)) * 0.1, 40),
    "sorts": repeated(lambda x, k: np.sort(np.sin(x)) * 1.1, 8),
    "long sorts": repeated(lambda x, k: np.sort(np.sin(x)) * 1.1, 600),
    "matmuls": repeated(lambda x, k: np.tanh(x @ x.T) * 0.3, 6, 6),
    "large matmuls": repeated(lambda x, k: np.tanh(x @ x.T) * 0.3, 32, 32),
    "einsums": repeated(lambda x, k: np.tanh(np.einsum("ij,kj->ik", x, x)), 6, 6),
    "solves": repeated(lambda x, k: np.linalg.solve(square(x, k), x), 3, 3),
    "large solves": repeated(lambda x, k: np.linalg.solve(square(x, k), x), 12, 12),
    "choleskys": repeated(lambda x, k: np.linalg.cholesky(square(x @ x.T, k)), 4, 4),
    "determinants": repeated(lambda x, k: x / np.linalg.det(square(x, k)), 3, 3),
    "eighs": repeated(lambda x, k: np.linalg.eigh(square(x + x.T, k))[0] * np.eye(3) + x, 3, 3),
    "ffts": repeated(lambda x, k: np.fft.irfft(np.fft.rfft(x) * 0.9) + 0.1 * np.sin(x), 16),
    "complex numbers": repeated(lambda x, k: np.real(np.exp(1j * x) * (x + 1j)), 10),
    "special functions": repeated(lambda x, k: wg.special.gammainc(2.0 + x * x, 1.5 + np.sin(x)), 4),
    "writes": repeated(lambda x, k: x.at[k % 9].set(np.sin(x[(k + 1) % 9])), 9),
    "scatters": repeated(lambda x, k: x.at[np.array([1, 3, 3])].add(np.sin(x[:3])), 40),
    "half floats": repeated(lambda x, k: np.sin(x.astype(np.float16)).astype(np.float64) + x, 20),
    "mixed shapes": repeated(lambda x, k: np.sin(np.reshape(x, ((4, 9), (6, 6), (36,))[k % 3])) * 1.1, 36),
    "growing": repeated(lambda x, k: np.concatenate([x, np.sin(x[:1])]), 4),
}  # fmt: skip


@kind
def functions(n: int) -> Made:
    """A compiled function called in another one."""
    inner = wg.function(lambda x: np.sin(x) * np.sum(x))

    def loss(x: Any) -> Any:
        for _ in range(n):
            x = inner(x)
        return np.sum(x)

    return wg.grad(loss), (numbers(20),)


@kind
def nested(n: int) -> Made:
    """Functions in functions, n deep: each is some calls in Python, too."""
    sys.setrecursionlimit(10_000)
    f: Any = np.sin
    for _ in range(n):
        f = wg.function(lambda x, f=f: f(x) * 1.1)
    return wg.grad(lambda x: np.sum(f(x))), (numbers(20),)


@kind
def custom_gradients(n: int) -> Made:
    @wg.custom_gradient
    def own(x: Any) -> Any:
        y = np.exp(-x * x)
        return y, lambda ct: -2 * x * y * ct

    return repeated(lambda x, k: own(x), 20)(n)


@kind
def recomputed(n: int) -> Made:
    part = wg.recompute_grad(lambda x: np.sin(x) * np.cos(x))
    return repeated(lambda x, k: part(x), 20)(n)


@kind
def many_inputs(n: int) -> Made:
    def loss(*xs: Any) -> Any:
        total = 0.0
        for x in xs:
            total = total + np.sum(np.sin(x) * total + x)
        return total

    return wg.grad(loss, argnums=(*range(n),)), (*[numbers(3) for _ in range(n)],)


@kind
def many_outputs(n: int) -> Made:
    def outs(x: Any) -> Any:
        found = []
        for _ in range(n):
            x = np.sin(x) * 1.1
            found.append(x)
        return found

    return outs, (numbers(20),)


@kind
def dictionary(n: int) -> Made:
    def loss(p: Any, x: Any) -> Any:
        for k in range(n):
            x = np.tanh(p[f"layer{k}"]["w"] @ x + p[f"layer{k}"]["b"])
        return np.sum(x)

    return wg.grad(loss), ({f"layer{k}": {"w": numbers(8, 8), "b": numbers(8)} for k in range(n)}, numbers(8))


@kind
def shared_operand(n: int) -> Made:
    """What is read again in each part."""

    def loss(x: Any, w: Any) -> Any:
        for _ in range(n):
            x = np.tanh(w @ x) + w[0]
        return np.sum(x)

    return wg.grad(loss, argnums=(0, 1)), (numbers(12), numbers(12, 12))


@kind
def all_read_at_the_end(n: int) -> Made:
    def loss(x: Any) -> Any:
        found = [x]
        for _ in range(n):
            found.append(np.sin(found[-1]) * 1.1)
        return np.sum(np.stack(found) ** 2)

    return wg.grad(loss), (numbers(20),)


@kind
def unknowns(n: int) -> Made:
    """Numbers taken out of a vector and put together again."""

    def equations(x: Any) -> Any:
        return np.stack([np.sin(x[k]) * x[(k + 1) % n] for k in range(n)])

    return wg.grad(lambda x: np.sum(equations(x) ** 2)), (numbers(n),)


@kind
def forward_mode(n: int) -> Made:
    def f(x: Any) -> Any:
        for _ in range(n):
            x = np.sin(x) * 1.1 + np.roll(x, 1)
        return x

    return lambda x: wg.jvp(f, (x,), (x,)), (numbers(20),)


@kind
def hessians(n: int) -> Made:
    def f(x: Any) -> Any:
        for _ in range(n):
            x = np.sin(x) * x
        return np.sum(x)

    return wg.hessian(f), (numbers(5),)


@kind
def batches(n: int) -> Made:
    def f(x: Any) -> Any:
        for _ in range(n):
            x = np.where(x > 0, np.sin(x), x * np.sum(x))
        return np.sum(x)

    return wg.vmap(wg.grad(f)), (numbers(6, 9),)


@kind
def lone_numbers(n: int) -> Made:
    """Straight code, of which LLVM's time is not linear."""

    def loss(a: Any, b: Any) -> Any:
        for _ in range(n):
            a, b = np.sin(a) * b + 0.1 * a, a * 0.9 + np.cos(b)
        return a * b

    return wg.grad(loss, argnums=(0, 1)), (0.3, 0.4)


@kind
def captured_arrays(n: int) -> Made:
    rows = [numbers(20) for _ in range(n)]

    def loss(x: Any) -> Any:
        for row in rows:
            x = np.sin(x) * row
        return np.sum(x)

    return wg.grad(loss), (numbers(20),)


@kind
def large_constants(n: int) -> Made:
    rows = np.random.default_rng(0).normal(size=(n, 100))

    def loss(x: Any) -> Any:
        for k in range(n):
            x = np.sin(x) * wg.tensor(rows[k].copy())
        return np.sum(x)

    return wg.grad(loss), (numbers(100),)


def seconds(name: str, n: int) -> float:
    """The processor's time to the first result of a program of n parts."""
    f, arguments = KINDS[name](n)
    begun = time.process_time()
    wg.function(f)(*arguments)
    return time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help=f"which (default: all): {', '.join(KINDS)}")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of parts, with commas")
    parser.add_argument("--most", type=float, default=20.0, help="seconds after which no more parts are tried")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # that loops are unrolled is the point
    sizes = [*map(int, options.sizes.split(","))]
    print("kind".ljust(22), *(f"{n:>8}" for n in sizes), "  a part of the longest, of the shortest")
    for name in options.kinds or KINDS:
        seconds(name, 2)  # what is loaded and made once
        found: list[float] = []
        for n in sizes:
            found.append(seconds(name, n))
            if found[-1] > options.most:
                break
        growth = found[-1] / found[0] * sizes[0] / sizes[len(found) - 1]
        print(name.ljust(22), *(f"{t:8.2f}" for t in found), f"{growth:8.2f}", flush=True)


if __name__ == "__main__":
    main()
