"""Time to the first gradient: a chain of 4,000 operations, a perceptron, an ODE; in a first and a second process.

Each figure is the time of tracing, differentiating, compiling and running once, without the import of the library; what
a library loads later, when it is first needed, counts. The first process starts with empty caches on disk, the second
finds what the first has left. Python's bytecode is there for all of them, as after an installation.
"""

from __future__ import annotations

import argparse
import compileall
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import libraries  # noqa: E402  (beside this file, which is run as a script)

CHAIN = 4000
PROGRAMS = ("chain", "mlp", "ode")
PEERS = ("wengert", "jax", "torch", "tensorflow", "autograd")
LIMIT = 60  # seconds; what takes longer is said to
ENOUGH = 10.0  # seconds; a library whose rounds have taken longer has no further one


def chain_program(library: Any) -> Any:
    """Sines and products that no compiler can shorten, unrolled."""

    def chained(x: Any) -> Any:
        for i in range(CHAIN // 2):
            x = library.np.sin(x) * (1.0 + 1e-4 * (i % 7))
        return library.np.sum(x)

    return chained


def first_gradient(name: str, which: str, is_cpu: bool) -> float:
    """Seconds that the first gradient takes in this process, on the wall's clock or the processor's."""
    clock = time.process_time if is_cpu else time.perf_counter
    import numpy as np

    libraries.limit_threads()
    library = libraries.LIBRARIES[name]()[0]
    if which == "chain":
        arrays: tuple[Any, ...] = (np.linspace(0.1, 1.0, 10),)
        build = lambda: library.value_and_grad(chain_program(library), 1)
    else:
        program = importlib.import_module(f"programs.{which}")
        parameters = next(iter(program.CASES.values()))
        arrays = program.arguments(parameters)
        build = lambda: library.value_and_grad(program.program(library, parameters), len(arrays))
    natives = [library.array(a) for a in arrays]
    started = clock()
    library.ready(library.compiled(build())(*natives))
    return clock() - started


def in_a_process(name: str, which: str, cache: str, is_cpu: bool) -> float | str:
    environment = os.environ | {"WENGERT_CACHE_DIR": cache, "JAX_COMPILATION_CACHE_DIR": f"{cache}/jax"}
    command = [sys.executable, str(HERE / "startup.py"), "--one", f"{name}:{which}", *(["--cpu"] if is_cpu else [])]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return f"over {LIMIT} s"
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return said[-1][:120] if said else f"exit status {done.returncode}"
    return float(done.stdout.strip().splitlines()[-1])


def package_folder() -> str:
    """Where Wengert lies; a checkout has no bytecode yet."""
    spec = importlib.util.find_spec("wengert")
    assert spec is not None
    assert spec.origin is not None
    return os.path.dirname(spec.origin)


def in_two_processes(name: str, which: str, is_cpu: bool) -> list[float | str]:
    """A first process that starts with nothing on disk, and a second one, unless the first had to be stopped."""
    with tempfile.TemporaryDirectory() as cache:
        first = in_a_process(name, which, cache, is_cpu)
        return [first, first if isinstance(first, str) else in_a_process(name, which, cache, is_cpu)]


def in_rounds(name: str, which: str, options: argparse.Namespace) -> list[list[float | str]]:
    """Both times of each round; fewer rounds of what takes long."""
    end, found = time.perf_counter() + ENOUGH, [in_two_processes(name, which, options.cpu)]
    while len(found) < options.rounds and time.perf_counter() < end:
        found.append(in_two_processes(name, which, options.cpu))
    return found


def figures(name: str, runs: list[float | str]) -> dict[str, Any]:
    """What several runs took, or what the first that did not end well said."""
    failed = next((found for found in runs if isinstance(found, str)), None)
    times = [float("nan")] if failed is not None else [float(found) for found in runs]
    return {
        "library": name, "kind": "first gradient", "median": statistics.median(times), "best": min(times),
        "error": failed,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description="Time to first gradient.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="Wengert alone")
    parser.add_argument("--cpu", action="store_true", help="the processor's clock, of all threads: for busy machines")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run, at most")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, which = options.one.split(":")
        print(first_gradient(name, which, options.cpu))
        return 0
    compileall.compile_dir(package_folder(), quiet=1)
    peers = PEERS[:1] if options.quick else [p for p in PEERS if importlib.util.find_spec(p)]
    cases = []
    for which in PROGRAMS:
        for turn in ("first process", "second process"):
            cases.append({"case": f"{which}, {turn}", "times": []})
        for name in peers:
            runs = in_rounds(name, which, options)
            for case, found in zip(cases[-2:], zip(*runs, strict=True), strict=True):
                case["times"].append(figures(name, [*found]))
    row = {"row": "chain", "title": f"time to first gradient (chain: {CHAIN:,} ops)", "cases": cases, "states": {}}
    if options.json:
        print(json.dumps(row))
    else:
        from run import table

        print(table([row]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
