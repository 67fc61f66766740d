"""What it costs that machine code calls a kernel: the steps of a loop, less the time of the kernel alone.

Loops leave machine code for matrices without an answer, for functions that have no native code, and for primitives of
users' own. Each row is such a node in a loop: its forward pass, the gradient through a scan, one whose sizes only the
call tells. The kernel alone is called with the arrays that the loop gives it, as often as the loop calls it; both take
turns, and times are the processor's, in microseconds a call of the kernel.

    .venv/bin/python benchmarks/kernel_calls.py
"""

from __future__ import annotations

import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OPENBLAS_NUM_THREADS", "WENGERT_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpy as np  # noqa: E402  (after the threads are limited)

import wengert as wg  # noqa: E402  (as above)
from wengert._engines.native.lower import polygamma  # noqa: E402  (as above)
from wengert._engines.numpy import NUMPY  # noqa: E402  (as above)

STEPS, ROUNDS = 1000, 11
LONG = polygamma.MOST + 1  # an order whose series has no native code
NONE = np.full((4, 4), np.nan)

waves = wg.primitive("bench_waves", spec=lambda x: x, numpy=np.sin, vjp=lambda ct, out, x: ct * waves(x + np.pi / 2))
blend = wg.primitive("bench_blend", spec=lambda x, y, *, share: x, numpy=lambda x, y, *, share: x * share + y)


class Row(NamedTuple):
    """A node in a loop; `kernel` is its kernel's name, and `alone` what of it is no cost of ours, if not all."""

    title: str
    kernel: str
    function: Callable[[Any], Any]
    x: Any
    alone: Callable[..., Any] | None = None


def rows() -> Iterator[Row]:
    for n in (1, 5, 100):
        points = np.linspace(0.5, 2.0, n)
        yield Row(f"polygamma of {n}", "polygamma", lambda x: wg.special.polygamma(LONG, x), points)
        yield Row(f"a user's, of {n}", "bench_waves", waves, points, lambda x, _: np.sin(x))
    yield Row("a user's, of one", "bench_waves", waves, np.asarray(0.5), lambda x, _: np.sin(x))
    mixed = lambda x: blend(x, x * 2.0, share=0.5)
    yield Row("a user's, of two", "bench_blend", mixed, np.linspace(0.5, 2.0, 5), lambda x, y, _: x * 0.5 + y)
    yield Row("a user's, in a batch", "bench_waves", wg.vmap(waves), np.ones((8, 5)), lambda x, _: np.sin(x))
    for name in ("det", "slogdet", "qr", "lu"):
        matrix = getattr(wg.linalg, name)
        yield Row(f"{name} of NaN", name, matrix, NONE)
        yield Row(f"{name} of NaN, in a batch", name, wg.vmap(matrix), np.stack([NONE] * 8))
    yield Row("eigh of NaN", "eigh", wg.linalg.eigh, NONE[:2, :2])
    yield Row("sqrtm of zeros", "sqrtm", wg.linalg.sqrtm, np.zeros((4, 4)))


def forms(row: Row) -> Iterator[tuple[str, Callable[[int], Callable[[Any], Any]], bool]]:
    """The programs of a row by the number of their steps, and whether only the call tells the sizes."""

    def total(found: Any) -> Any:
        return sum(map(wg.sum, found if isinstance(found, (tuple, list)) else (found,)))

    def loop(steps: int) -> Callable[[Any], Any]:
        def of(x: Any) -> Any:
            # each step computes on other numbers, as far as anybody can tell
            return wg.fori_loop(0, steps, lambda i, t: t * 0.5 + 1e-5 * total(row.function(x + t * 1e-300)), 0.0)

        return of

    yield "loop", loop, False
    if row.kernel in ("polygamma", "bench_waves"):
        yield "gradient", lambda steps: wg.grad(loop(steps)), False
        if row.x.ndim == 1:
            yield "unknown sizes", loop, True


def measured(row: Row, program: Callable[[int], Callable[[Any], Any]], is_open: bool) -> tuple[float, float, float]:
    """Kernel calls a step, and the times of a call: of the loop's, and of the kernel alone."""
    signature = [wg.TensorSpec((None,) * row.x.ndim)] if is_open else None
    kernel, given = NUMPY.kernels[row.kernel], []

    def noting(*operands: Any) -> Any:
        given.append([np.array(x) if isinstance(x, np.ndarray) else x for x in operands])
        return kernel(*operands)

    NUMPY.kernels[row.kernel] = noting
    try:
        wg.function(program(2), input_signature=signature)(row.x)
        given.clear()
        wg.function(program(4), input_signature=signature)(row.x)
    finally:
        NUMPY.kernels[row.kernel] = kernel
    loop, alone = wg.function(program(STEPS), input_signature=signature), row.alone or kernel
    operands = given[-1]
    calls = len(given) / 4
    return calls, *_by_turns(lambda: loop(row.x), lambda: [alone(*operands) for _ in range(STEPS)], calls * STEPS)


def _by_turns(loop: Callable[[], Any], alone: Callable[[], Any], calls: float) -> tuple[float, float]:
    loop()
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for call, number, times in ((loop, calls, found[0]), (alone, STEPS, found[1])):
            began = time.process_time()
            call()
            times.append(1e6 * (time.process_time() - began) / number)
    return statistics.median(found[0]), statistics.median(found[1])


def main() -> None:
    warnings.simplefilter("ignore")
    print(f"{'node':28}{'program':16}{'calls a step':>13}{'loop, us':>10}{'alone, us':>10}{'over, us':>10}")
    with np.errstate(all="ignore"):
        for row in rows():
            if not sys.argv[1:] or any(name in row.title for name in sys.argv[1:]):
                for title, program, is_open in forms(row):
                    calls, ours, alone = measured(row, program, is_open)
                    print(
                        f"{row.title:28}{title:16}{calls:13.2f}{ours:10.2f}{alone:10.2f}{ours - alone:10.2f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
