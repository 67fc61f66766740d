"""Times NumPy's products and compiled functions in turns, beside each alone: whether their threads are in each other's
way. OpenBLAS's threads wait awake for some 50 ms of a processor's time behind each product, ours for 10 us.

Each row is a product of a size and a loop over so many numbers, in microseconds of the clock on the wall, the best
tenth of the calls: of each alone, and of each behind the other. Where ours takes longer behind a product than alone
with `OPENBLAS_NUM_THREADS=1` as well, it is that the product has emptied the caches.

    .venv/bin/python benchmarks/beside_blas.py [--calls 150]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg

PRODUCTS = (64, 128, 400)
LOOPS = (10_000, 30_000, 100_000, 1_000_000)


def timed(calls: int, *parts: Callable[[], Any]) -> list[float]:
    """Microseconds of each part, all in turns: the best tenth's last."""
    times: list[list[float]] = [[] for _ in parts]
    for _ in range(calls):
        for part, found in zip(parts, times, strict=True):
            begun = time.perf_counter()
            part()
            found.append(time.perf_counter() - begun)
    return [sorted(found)[calls // 10] * 1e6 for found in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=150)
    calls = parser.parse_args().calls
    rng = np.random.default_rng(0)
    gradient = wg.function(wg.value_and_grad(lambda x: wg.numpy.sum(wg.numpy.exp(x) * wg.numpy.sin(x))))
    headings = ("numbers", "alone", "behind", "ratio", "BLAS alone", "behind", "ratio")
    print(f"{'product':>8}" + "".join(f"{name:>11}" for name in headings))
    for size in PRODUCTS:
        a = rng.normal(size=(size, size))
        for count in LOOPS:
            x = rng.normal(size=count)
            gradient(x)

            def product(a: Any = a) -> Any:
                return a @ a

            def loop(x: Any = x) -> Any:
                return gradient(x)

            (alone,), (blas,) = timed(calls, loop), timed(calls, product)
            behind_ours, behind = timed(calls, product, loop)
            found = (alone, behind, behind / alone, blas, behind_ours, behind_ours / blas)
            print(f"{size:8}{count:11}" + "".join(f"{number:11.2f}" for number in found), flush=True)


if __name__ == "__main__":
    main()
