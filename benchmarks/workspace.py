"""What calls with large arrays, many arrays or changing sizes cost in page faults, after the first ones.

There should be none: a call's workspace and its results lie in memory of the calls before.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from typing import Any

ROWS = 182_072
CALLS = 8  # of each kind


def programs(rows: int) -> dict[str, tuple[Any, list[Any]]]:
    """By name a function to compile, and the arguments that it is called with in turn."""
    import numpy as np

    import wengert as wg

    rng = np.random.default_rng(0)
    w = rng.normal(size=(8, 8))
    x = rng.normal(size=(rows, 8))
    leaves = {str(k): x[: rows * size // 600] for k, size in enumerate(range(1, 31))}

    def looped(row: Any) -> Any:
        return wg.sum(wg.fori_loop(0, 6, lambda i, state: wg.sin(state @ w) * 0.5, row))

    vmapped = {
        "gradient": wg.vmap(wg.grad(lambda row: wg.sum(wg.tanh(row @ w) ** 2))),
        "Jacobian": wg.vmap(wg.jacobian(lambda row: wg.sort(wg.tanh(row @ w)))),
        "Hessian": wg.vmap(wg.hessian(lambda row: wg.sum(wg.tanh(row[:4] * row[4:]) ** 2))),
        "gradient of a loop": wg.vmap(wg.grad(looped)),
        "Jacobian of a loop": wg.vmap(wg.jacobian(lambda row: wg.fori_loop(0, 6, lambda i, s: wg.sin(s @ w), row))),
    }
    many = wg.grad(lambda parts: sum(wg.sum(wg.tanh(part @ w) ** 2) for part in parts.values()))
    alternating = [x[: rows // k] for k in (1, 2, 5)]
    return {
        **{name: (f, [x]) for name, f in vmapped.items()},
        "30 arrays": (many, [leaves]),
        "sizes that alternate": (wg.grad(lambda x: wg.sum(wg.sort(wg.tanh(x @ w)) ** 2)), alternating),
    }


def measured(f: Any, arguments: list[Any]) -> dict[str, float]:
    """Of a call after some others: milliseconds, and page faults."""
    import wengert as wg

    compiled: Any = wg.function(f)
    result = None
    calls = arguments * CALLS
    for argument in calls:  # as they are measured: while a call runs, the result before is held
        result = compiled(argument)
    times = []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for argument in calls:
        started = time.process_time()
        result = compiled(argument)
        times.append(time.process_time() - started)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    parts: Any = result.values() if isinstance(result, dict) else [result]
    return {
        "milliseconds": statistics.median(times) * 1e3,
        "faults": faults / len(calls),
        "mebibytes": sum(part.nbytes for part in parts) / 2**20,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Page faults of calls after the first ones.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    options = parser.parse_args()
    rows = ROWS // 10 if options.quick else ROWS
    found = {name: measured(*given) for name, given in programs(rows).items()}
    if options.json:
        print(json.dumps({"row": "workspace", "title": f"calls of {rows:,} rows", "cases": found}))
        return 0
    for name, f in found.items():
        print(f"{name:21} {f['milliseconds']:8.1f} ms {f['faults']:10,.1f} faults, {f['mebibytes']:.0f} MiB of results")
    return 0


if __name__ == "__main__":
    sys.exit(main())
