"""What writes into a large tensor cost: 10,000 of them into an array of a million elements, beside NumPy's.

Each write goes to the newest version of the array and costs its slice, forward and in reverse. Printed are the times of
the whole and of one write; the constant beside them is one copy of the array.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
import wengert.numpy as wnp

SIZE = 10**6


def writes(np_: Any, x: Any, count: int, width: int) -> Any:
    """Writes slices of x, one after the other, and reads each once more."""
    a = np_.zeros(SIZE)
    for k in range(count):
        start = (k * 7919) % (SIZE - width)
        a[start : start + width] = x * 0.5
    return a


def seconds(f: Callable[[], Any]) -> float:
    """The processor time of a call, the least of three."""
    times = []
    for _ in range(3):
        start = time.process_time()
        f()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="how many writes")
    count = parser.parse_args().count
    print(f"{count:,} writes into {SIZE:,} elements, seconds (microseconds a write)")
    print("| elements a write | NumPy | eager | value and gradient | compiled |")
    print("|---|---|---|---|---|")
    for width in (1, 100, 10_000):
        x = np.linspace(0.0, 1.0, width)
        gradient = wg.value_and_grad(lambda x, width=width: writes(wnp, x, count, width).sum())

        def looped(x: Any, width: int = width) -> Any:
            a = wnp.zeros(SIZE)

            def step(k: Any, last: Any) -> Any:
                start = (k * 7919) % (SIZE - width)
                a[start + np.arange(width)] = x * 0.5
                return last

            wg.fori_loop(0, count, step, 0.0)
            return a.sum()

        compiled = wg.function(looped)
        compiled(x)
        row = [
            seconds(lambda x=x, width=width: writes(np, x, count, width)),
            seconds(lambda x=x, width=width: writes(wnp, wg.tensor(x), count, width)),
            seconds(lambda x=x, gradient=gradient: gradient(x)),
            seconds(lambda x=x, compiled=compiled: compiled(x)),
        ]
        print(f"| {width:,} | " + " | ".join(f"{t:.3f} ({t / count * 1e6:.1f})" for t in row) + " |")


if __name__ == "__main__":
    main()
