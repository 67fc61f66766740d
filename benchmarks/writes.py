"""What writes into a large tensor cost: 10,000 of them into an array of a million elements, beside NumPy's.

Each write goes to the newest version of the array and costs its slice, forward and in reverse. Printed are the times of
the whole and of one write, for several kinds of place; the loop of ours is compiled.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import wengert as wg
import wengert.numpy as wnp

SIZE = 10**6


def _start(k: Any, width: int) -> Any:
    return (k * 7919) % (SIZE - width)


def _slice(np_: Any, a: Any, x: Any, k: Any) -> None:
    start = _start(k, x.size)
    a[start : start + x.size] = x * 0.5


def _slice_added(np_: Any, a: Any, x: Any, k: Any) -> None:
    start = _start(k, x.size)
    a[start : start + x.size] += x * 0.5


def _integers(np_: Any, a: Any, x: Any, k: Any) -> None:
    a[_start(k, x.size) + np.arange(x.size)] = x * 0.5


def _integers_added(np_: Any, a: Any, x: Any, k: Any) -> None:
    a[_start(k, x.size) + np.arange(x.size)] += x * 0.5


def _add_at(np_: Any, a: Any, x: Any, k: Any) -> None:
    np_.add.at(a, _start(k, x.size) + np.arange(x.size), x * 0.5)


def _mask_of_a_view(np_: Any, a: Any, x: Any, k: Any) -> None:
    start = _start(k, x.size)
    view = a[start : start + x.size]
    view[np.arange(x.size) % 2 == 0] = x[0] * 0.5


KINDS = {
    "slice": _slice,
    "slice, `+=`": _slice_added,
    "integers": _integers,
    "integers, `+=`": _integers_added,
    "`np.add.at`": _add_at,
    "mask of a view": _mask_of_a_view,
}
IN_LOOPS = frozenset({_integers, _integers_added, _add_at})  # a loop of ours has no slices that start where it counts


def writes(write: Callable[..., None], count: int, np_: Any, x: Any) -> Any:
    """Writes to an array, one place after the other."""
    a = np_.zeros(SIZE)
    for k in range(count):
        write(np_, a, x, k)
    return a


def looped(write: Callable[..., None], count: int, x: Any) -> Any:
    """The same in a loop of ours, and the sum."""
    a = wnp.zeros(SIZE)

    def step(k: Any, last: Any) -> Any:
        write(wnp, a, x, k)
        return last

    wg.fori_loop(0, count, step, 0.0)
    return a.sum()


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
    print("| place | elements | NumPy | eager | value and gradient | compiled | compiled, with gradient |")
    print("|---|---|---|---|---|---|---|")
    for name, write in KINDS.items():
        for width in (1, 100, 10_000):
            x = np.linspace(0.0, 1.0, width)
            runs = [
                partial(writes, write, count, np, x),
                partial(writes, write, count, wnp, wg.tensor(x)),
                partial(wg.value_and_grad(lambda x, write=write: writes(write, count, wnp, x).sum()), x),
            ]
            if write in IN_LOOPS:
                f = partial(looped, write, count)
                runs += [partial(wg.function(f), x), partial(wg.function(wg.value_and_grad(f)), x)]
                for run in runs[3:]:
                    run()
            row = [f"{t:.3f} ({t / count * 1e6:.1f})" for t in map(seconds, runs)]
            print(f"| {name} | {width:,} | " + " | ".join((row + ["", ""])[:5]) + " |", flush=True)


if __name__ == "__main__":
    main()
