"""What writes into a large tensor cost: 10,000 of them into an array of a million elements, beside NumPy's.

Each write goes to the newest version of the array and costs its place, forward and in reverse. Printed are the times of
one write for several kinds of place and widths: NumPy's, NumPy's with the reverse pass that somebody writes by hand
(`by_hand`: the cotangents of a place are read, erased there, and added to the value's), ours eagerly, with the
gradient, that beside the reverse by hand, and in a compiled loop of ours.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
import wengert.numpy as wnp

SIZE, ROW = 10**6, 1000
WIDTHS = (1, 100, 10_000, 100_000)


class Kind(NamedTuple):
    """A kind of write: `write(np, a, x, start)`, and the place that it goes to in the elements in one row.

    `view` makes of the whole, a row of elements, what is written to.
    """

    write: Callable[[Any, Any, Any, Any], None]
    place: Callable[[int, int], Any]
    adds: bool = False
    view: Callable[[Any], Any] = lambda a: a
    in_loops: bool = False  # a loop of ours has no slices that start where it counts


def _slice(np_: Any, a: Any, x: Any, start: Any) -> None:
    a[start : start + x.size] = x * 0.5


def _slice_added(np_: Any, a: Any, x: Any, start: Any) -> None:
    a[start : start + x.size] += x * 0.5


def _every_second(np_: Any, a: Any, x: Any, start: Any) -> None:
    a[start : start + 2 * x.size : 2] = x * 0.5


def _out(np_: Any, a: Any, x: Any, start: Any) -> None:
    np_.multiply(x, 0.5, out=a[start : start + x.size])


def _copyto(np_: Any, a: Any, x: Any, start: Any) -> None:
    np_.copyto(a[start : start + x.size], x * 0.5)


def _flat(np_: Any, a: Any, x: Any, start: Any) -> None:
    a.flat[start : start + x.size] = x * 0.5


def _integers(np_: Any, a: Any, x: Any, start: Any) -> None:
    a[start + np.arange(x.size)] = x * 0.5


def _integers_added(np_: Any, a: Any, x: Any, start: Any) -> None:
    a[start + np.arange(x.size)] += x * 0.5


def _add_at(np_: Any, a: Any, x: Any, start: Any) -> None:
    np_.add.at(a, start + np.arange(x.size), x * 0.5)


def _put(np_: Any, a: Any, x: Any, start: Any) -> None:
    np_.put(a, start + np.arange(x.size), x * 0.5)


def _in_rows(np_: Any, a: Any, x: Any, start: Any) -> None:
    a[np.divmod(start + np.arange(x.size), ROW)] = x * 0.5


def _in_one_row(np_: Any, a: Any, x: Any, start: Any) -> None:
    a.reshape(-1)[start + np.arange(x.size)] = x * 0.5


def _in_columns(np_: Any, a: Any, x: Any, start: Any) -> None:
    a.T[np.divmod(start + np.arange(x.size), ROW)[::-1]] = x * 0.5


def _mask(np_: Any, a: Any, x: Any, start: Any) -> None:
    view = a[start : start + 2 * x.size]
    view[np.arange(2 * x.size) % 2 == 0] = x * 0.5


def _square(a: Any) -> Any:
    return a.reshape(ROW, ROW)


def _next(start: int, width: int) -> Any:
    return slice(start, start + width)


def _numbers(start: int, width: int) -> Any:
    return start + np.arange(width)


def _seconds(start: int, width: int) -> Any:
    return slice(start, start + 2 * width, 2)


KINDS = {
    "slice": Kind(_slice, _next),
    "slice, `+=`": Kind(_slice_added, _next, adds=True),
    "slice with a step": Kind(_every_second, _seconds),
    "`out=`": Kind(_out, _next),
    "`np.copyto`": Kind(_copyto, _next),
    "`a.flat[i:j]`": Kind(_flat, _next),
    "integers": Kind(_integers, _numbers, in_loops=True),
    "integers, `+=`": Kind(_integers_added, _numbers, adds=True, in_loops=True),
    "`np.add.at`": Kind(_add_at, _numbers, adds=True, in_loops=True),
    "`np.put`": Kind(_put, _numbers),
    "rows and columns": Kind(_in_rows, _numbers, view=_square),
    "`a.reshape(-1)[i]`": Kind(_in_one_row, _numbers, view=_square),
    "`a.T[i, j]`": Kind(_in_columns, _numbers, view=_square),
    "mask of a view": Kind(_mask, _seconds),
}


def start_of(k: Any, width: int) -> Any:
    """Where the k-th write starts."""
    return (k * 7919) % (SIZE - 2 * width)


def writes(kind: Kind, count: int, np_: Any, x: Any) -> Any:
    """Writes to an array, one place after the other."""
    a = kind.view(np_.zeros(SIZE))
    for k in range(count):
        kind.write(np_, a, x, start_of(k, x.size))
    return a


def by_hand(kind: Kind, count: int, x: Any) -> Any:
    """The same by NumPy, and the gradient of the sum as one writes it by hand."""
    writes(kind, count, np, x)
    ct, gradient = np.ones(SIZE), np.zeros_like(x)
    for k in reversed(range(count)):
        place = kind.place(start_of(k, x.size), x.size)
        term = np.array(ct[place])
        if not kind.adds:
            ct[place] = 0.0
        gradient += term * 0.5
    return gradient


def looped(kind: Kind, count: int, x: Any) -> Any:
    """The writes in a loop of ours, and the sum."""
    a = wnp.zeros(SIZE)

    def step(k: Any, last: Any) -> Any:
        kind.write(wnp, a, x, start_of(k, x.size))
        return last

    wg.fori_loop(0, count, step, 0.0)
    return a.sum()


def seconds(runs: list[Callable[[], Any]]) -> list[float]:
    """The processor time of each call, the median of five rounds in which they take turns."""
    rounds: list[list[float]] = []
    for _ in range(5):
        times = list[float]()
        for run in runs:
            start = time.process_time()
            run()
            times.append(time.process_time() - start)
        rounds.append(times)
    return [*np.median(rounds, axis=0)]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="how many writes (a tenth of it for the widest)")
    parser.add_argument("--kinds", default="", help="only the kinds whose names have this in them")
    given = parser.parse_args()
    print(f"{given.count:,} writes into {SIZE:,} elements, microseconds a write")
    print("| place | elements | NumPy | reverse by hand | eager | value and gradient | beside by hand | compiled |")
    print("|---|---|---|---|---|---|---|---|")
    for name, kind in KINDS.items():
        for width in WIDTHS if given.kinds in name else ():
            count = given.count if width < WIDTHS[-1] else max(given.count // 10, 1)
            x = np.linspace(0.0, 1.0, width)
            gradient = wg.value_and_grad(lambda x, kind=kind, count=count: writes(kind, count, wnp, x).sum())
            np.testing.assert_allclose(gradient(x)[1], by_hand(kind, count, x), rtol=1e-10)
            runs = [
                partial(writes, kind, count, np, x), partial(by_hand, kind, count, x),
                partial(writes, kind, count, wnp, wg.tensor(x)), partial(gradient, x),
            ]  # fmt: skip
            if kind.in_loops:
                compiled = wg.function(wg.value_and_grad(partial(looped, kind, count)))
                compiled(x)
                runs.append(partial(compiled, x))
            each = [t / count * 1e6 for t in seconds(runs)]
            row = [f"{t:.1f}" for t in each]
            row.insert(4, f"{each[3] / each[1]:.1f}")
            print(f"| {name} | {width:,} | " + " | ".join([*row, ""][:6]) + " |", flush=True)


if __name__ == "__main__":
    main()
