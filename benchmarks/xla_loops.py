"""Gradients of long loops under XLA that keep few states, beside a hand-nested `jax.checkpoint` that keeps as many.

Ours is `fori_loop(..., checkpoint=slots)` in a `wg.function` under `jax.jit`; by hand it is a scan of `slots` blocks,
each recomputed in the backward pass. The processor's time in turns, medians; and how far each, in a process of its own,
raises the high-water mark of resident memory.

    .venv/bin/python benchmarks/xla_loops.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

CASES = (
    (1_000_000, 1, 100), (1_000_000, 1, 200), (1_000_000, 1, 1_000),
    (10_000, 1_000, 50), (10_000, 1_000, 100), (10_000, 1_000, 500),
    (100_000, 1_000, 100), (100_000, 1_000, 400),
)  # fmt: skip  # steps, numbers, states kept
LONG = 10_000_000  # updates of numbers from which on fewer turns do


def ours(steps: int, slots: int) -> Any:
    import jax

    import wengert as wg

    def last(x: Any) -> Any:
        return wg.sum(wg.fori_loop(0, steps, lambda i, s: s + 1e-6 * wg.sin(s), x, checkpoint=slots))

    return jax.jit(jax.grad(wg.function(last)))


def by_hand(steps: int, slots: int) -> Any:
    import jax
    import jax.numpy as jnp

    def step(s: Any, _: Any) -> tuple[Any, None]:
        return s + 1e-6 * jnp.sin(s), None

    @jax.checkpoint
    def block(s: Any, _: Any) -> tuple[Any, None]:
        return jax.lax.scan(step, s, None, length=steps // slots)[0], None

    return jax.jit(jax.grad(lambda x: jax.lax.scan(block, x, None, length=slots)[0].sum()))


MAKERS = {"ours": ours, "by hand": by_hand}


def seconds(steps: int, size: int, slots: int, rounds: int) -> dict[str, float]:
    """Of each the median time of a call, after their results were compared."""
    import jax
    import numpy as np

    x = jax.numpy.linspace(0.1, 1.0, size)
    calls = {name: make(steps, slots) for name, make in MAKERS.items()}
    wanted = calls["by hand"](x)
    np.testing.assert_allclose(calls["ours"](x), wanted, rtol=1e-4)  # float32 sums of up to a million steps
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.process_time()
            jax.block_until_ready(call(x))
            taken[name].append(time.process_time() - began)
    return {name: statistics.median(found) for name, found in taken.items()}


def mebibytes(name: str, steps: int, size: int, slots: int) -> float:
    """How far one call raises the most memory that the process has held; a short loop was compiled before."""
    import jax

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    x = jax.numpy.linspace(0.1, 1.0, size)
    jax.block_until_ready(MAKERS[name](slots, slots)(x))
    call = MAKERS[name](steps, slots).lower(x).compile()
    before = peak()
    jax.block_until_ready(call(x))
    return peak() - before


def in_a_process(*arguments: Any) -> float:
    command = [sys.executable, __file__, "--memory", json.dumps(arguments)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        print(mebibytes(*json.loads(options.memory)))
        return
    print(f"{'steps x numbers':>20}{'states':>8}{'ours, s':>10}{'by hand, s':>12}{'ratio':>7}{'MiB':>8}{'by hand':>9}")
    for steps, size, slots in CASES:
        rounds = options.rounds if steps * size < LONG else max(2, options.rounds // 2)
        taken = seconds(steps, size, slots, rounds)
        held = {name: in_a_process(name, steps, size, slots) for name in MAKERS}
        print(
            f"{f'{steps:,} x {size:,}':>20}{slots:8}{taken['ours']:10.3f}{taken['by hand']:12.3f}"
            f"{taken['ours'] / taken['by hand']:7.2f}{held['ours']:8.1f}{held['by hand']:9.1f}", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
