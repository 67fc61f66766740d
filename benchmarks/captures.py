"""What a call of a compiled function pays for what it reads beside its arguments.

Calls without captures, with ten captured numbers, arrays and attributes are timed in turn, in one process; the medians
of processor time go to the screen. `python benchmarks/captures.py`
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg

ROUNDS, CALLS = 15, 20_000
NAMES = 10
X = np.ones(2)


class Numbers:
    def __init__(self) -> None:
        for i in range(NAMES):
            setattr(self, f"n{i}", 1.0 + i)


def functions() -> dict[str, Callable[[Any], Any]]:
    """Functions with the same work, which read nothing, or ten names of a kind."""
    names = [f"n{i}" for i in range(NAMES)]
    of_names = " + ".join(f"x * {name}" for name in names)
    held: dict[str, Any] = {
        "nothing captured": {"text": " + ".join(f"x * {1.0 + i}" for i in range(NAMES))},
        "ten numbers": {"text": of_names, **{name: 1.0 + i for i, name in enumerate(names)}},
        "ten arrays": {"text": of_names, **{name: np.full(2, 1.0 + i) for i, name in enumerate(names)}},
        "ten attributes": {"text": " + ".join(f"x * held.{name}" for name in names), "held": Numbers()},
    }
    return {what: wg.function(eval(f"lambda x: {names.pop('text')}", names)) for what, names in held.items()}


def seconds(f: Callable[[Any], Any]) -> float:
    start = time.process_time()
    for _ in range(CALLS):
        f(X)
    return (time.process_time() - start) / CALLS


def main() -> None:
    made = functions()
    for f in made.values():
        f(X)
        f(X)
    times: dict[str, list[float]] = {what: [] for what in made}
    for _ in range(ROUNDS):
        for what, f in made.items():
            times[what].append(seconds(f))
    plain = statistics.median(times["nothing captured"])
    for what, found in times.items():
        median = statistics.median(found)
        print(f"{what:18} {median * 1e6:6.3f} us a call, {(median - plain) / NAMES * 1e9:+6.1f} ns a name")


if __name__ == "__main__":
    main()
