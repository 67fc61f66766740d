"""What calls of large vmapped programs cost in page faults: their workspace and their results, call after call."""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from typing import Any

ROWS = 182_072
CALLS = 5


def programs() -> dict[str, Any]:
    import numpy as np

    import wengert as wg

    w = np.random.default_rng(1).normal(size=(8, 8))

    def looped(row: Any) -> Any:
        return wg.sum(wg.fori_loop(0, 6, lambda i, state: wg.sin(state @ w) * 0.5, row))

    return {
        "gradient": wg.vmap(wg.grad(lambda row: wg.sum(wg.tanh(row @ w) ** 2))),
        "Jacobian": wg.vmap(wg.jacobian(lambda row: wg.sort(wg.tanh(row @ w)))),
        "Hessian": wg.vmap(wg.hessian(lambda row: wg.sum(wg.tanh(row[:4] * row[4:]) ** 2))),
        "gradient of a loop": wg.vmap(wg.grad(looped)),
        "Jacobian of a loop": wg.vmap(wg.jacobian(lambda row: wg.fori_loop(0, 6, lambda i, s: wg.sin(s @ w), row))),
    }


def measured(f: Any, rows: int) -> dict[str, float]:
    """Of a call after some others: milliseconds, and thousands of page faults."""
    import numpy as np

    import wengert as wg

    x = np.random.default_rng(0).normal(size=(rows, 8))
    compiled: Any = wg.function(f)
    result = [compiled(x) for _ in range(3)][-1]
    times = []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        started = time.perf_counter()
        result = compiled(x)  # the result before goes when this one is there
        times.append(time.perf_counter() - started)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    return {
        "milliseconds": statistics.median(times) * 1e3,
        "faults": faults / CALLS,
        "mebibytes": result.nbytes / 2**20,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Page faults of calls with large arrays.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    options = parser.parse_args()
    rows = ROWS // 10 if options.quick else ROWS
    found = {name: measured(f, rows) for name, f in programs().items()}
    if options.json:
        print(json.dumps({"row": "workspace", "title": f"calls of {rows:,} rows", "cases": found}))
        return 0
    for name, f in found.items():
        print(f"{name:20} {f['milliseconds']:8.1f} ms {f['faults']:10,.0f} faults, {f['mebibytes']:.0f} MiB of results")
    return 0


if __name__ == "__main__":
    sys.exit(main())
