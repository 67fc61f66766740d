"""Peak memory of the gradient of a loop of a million steps, at each checkpoint policy; a process each.

The figure is how far the high-water mark of resident memory rises above what the process held before the gradient.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

STEPS, SIZE = 1_000_000, 4
POLICIES: tuple[Any, ...] = ("all", "sqrt", "auto", 64, 200)


def measured(policy: Any, steps: int) -> dict[str, float]:
    import numpy as np

    import wengert as wg

    def run(x: Any, n: int) -> Any:
        return wg.sum(wg.fori_loop(0, n, lambda i, s: s + 1e-6 * wg.sin(s), x, checkpoint=policy))

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    x = np.linspace(0.1, 1.0, SIZE)
    wg.function(wg.grad(lambda v: run(v, 10)))(x)
    differentiate = wg.function(wg.grad(lambda v: run(v, steps)))
    before, started = peak(), time.perf_counter()
    differentiate(x)
    return {"seconds": time.perf_counter() - started, "mebibytes": peak() - before}


def main() -> int:
    parser = argparse.ArgumentParser(description="Peak memory of a long loop's gradient.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="ten thousand steps")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    steps = options.steps or (10_000 if options.quick else STEPS)
    if options.one:
        policy = int(options.one) if options.one.isdigit() else options.one
        print(json.dumps(measured(policy, steps)))
        return 0
    notes, cases = [], []
    for policy in POLICIES:
        command = [sys.executable, str(Path(__file__)), "--one", str(policy), "--steps", str(steps)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            notes.append(f"checkpoint={policy!r}: {done.stderr.strip().splitlines()[-1][:120]}")
            continue
        found = json.loads(done.stdout.strip().splitlines()[-1])
        notes.append(f"checkpoint={policy!r}: {found['mebibytes']:.1f} MiB, {found['seconds']:.3g} s")
        time_taken = {"library": "wengert", "kind": "compiled", "median": found["seconds"], "best": found["seconds"]}
        cases.append({"case": f"checkpoint={policy!r}", "times": [time_taken | {"error": None}], **found})
    title = f"peak memory of the gradient of {steps:,} steps on {SIZE} numbers"
    row = {"row": "loop_memory", "title": title, "cases": cases, "states": {}, "notes": notes}
    print(json.dumps(row) if options.json else "\n".join(notes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
