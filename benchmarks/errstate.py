"""What it costs that compiled code tells what NumPy's error state asks for: calls with and without a look at the flags.

Processes with and without take turns, and each figure is the least of many rounds, since what else the machine does
only ever adds to a time. Calls that set flags are timed, too: where the state ignores them, and where Python's filters
have shown the warning before.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import timeit
import warnings
from typing import Any

import numpy as np

PROGRAMS = ("a call on 3 numbers", "a gradient on 10 numbers", "a loop of 100 steps", "a pass over 100,000 numbers")
FLAGGED = ("a flag that is ignored", "a warning that was shown before")


def programs() -> dict[str, Any]:
    import wengert as wg

    short, some, long = np.ones(3), np.linspace(0.1, 1.0, 10), np.linspace(0.1, 1.0, 100_000)
    one = wg.function(lambda x: wg.log(x) + 1.0)
    gradient = wg.function(wg.value_and_grad(lambda x: wg.sum(x * wg.sin(x))))
    loop = wg.function(lambda x: wg.fori_loop(0, 100, lambda i, y: wg.sin(y), x))
    calls = dict(
        zip(PROGRAMS, (lambda: one(short), lambda: gradient(some), lambda: loop(short), lambda: one(long)), strict=True)
    )
    flagged, zeros = wg.function(lambda x: wg.log(x) + 2.0), np.zeros(3)

    def ignored() -> Any:
        return flagged(zeros)

    return {**calls, FLAGGED[0]: ignored, FLAGGED[1]: lambda: flagged(zeros)}


def measure(is_blind: bool) -> dict[str, float]:
    """Nanoseconds of each call in this process."""
    if is_blind:  # the stub of a machine whose flags nobody can read
        from wengert._engines.native.run import flags

        flags._X86 = flags._ARM = flags._NONE
    found: dict[str, float] = {}
    for title, call in programs().items():
        with np.errstate(all="ignore" if title == FLAGGED[0] else "warn", under="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
            number = max(1, int(0.02 / timeit.timeit(call, number=3) * 3))
            found[title] = min(timeit.repeat(call, number=number, repeat=15)) / number * 1e9
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--measure", choices=("with", "without"), help="time in this process, and print JSON")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure == "without")))
        return
    times: dict[str, list[dict[str, float]]] = {"with": [], "without": []}
    for _ in range(options.rounds):
        for kind, found in times.items():
            run = [sys.executable, __file__, "--measure", kind]
            found.append(json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout))
    for title in (*PROGRAMS, *FLAGGED):
        with_, without = (statistics.median(t[title] for t in times[kind]) for kind in ("with", "without"))
        print(f"{title:34} {without:10.0f} ns, with flags {with_:10.0f} ns: {with_ / without - 1:+.1%}")


if __name__ == "__main__":
    main()
