"""Wengert as a tool of GradBench: reads messages as lines of JSON, answers each with a line.

A program is traced and compiled at its first input of a shape. So each function runs once before the runs that count;
that run is told as a timing of its own, "warmup", as GradBench's Julia tools do. Without it, one slow first run would
use up the eval's time and stand for all.

The protocol is that of GradBench's CONTRIBUTING; each eval is a module of the same name in `evals/`. Run alone it needs
nothing but Wengert: `python run.py`, or, in GradBench, `gradbench run --eval "..." --tool "python run.py"`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

EVALS = ("gmm", "hello", "kmeans", "llsq", "lse", "lstm", "ode")


def defined(message: dict[str, Any]) -> dict[str, Any]:
    """Whether there is an eval of that name."""
    if message["module"] not in EVALS:
        return {"success": False, "error": f"no eval {message['module']!r}; there are {', '.join(EVALS)}"}
    try:
        importlib.import_module(f"evals.{message['module']}")
    except Exception as error:
        return {"success": False, "error": "".join(traceback.format_exception(error))}
    return {"success": True}


def timed(run: Any) -> tuple[Any, int]:
    """A run's result and how long it took, in nanoseconds."""
    started = time.perf_counter_ns()
    result = run()
    return result, time.perf_counter_ns() - started


def evaluated(message: dict[str, Any]) -> dict[str, Any]:
    """The function's value at the input, and how long each of its runs took."""
    try:
        module = importlib.import_module(f"evals.{message['module']}")
        given = message["input"]
        run, output = getattr(module, message["function"])(given)
        runs, seconds = (given.get("min_runs", 1), given.get("min_seconds", 0)) if isinstance(given, dict) else (1, 0)
        result, taken = timed(run)
        timings, count, elapsed = [{"name": "warmup", "nanoseconds": taken}], 0, 0
        while count < runs or elapsed < seconds * 1e9:
            result, taken = timed(run)
            timings.append({"name": "evaluate", "nanoseconds": taken})
            count, elapsed = count + 1, elapsed + taken
        return {"success": True, "output": output(result), "timings": timings}
    except Exception as error:  # told to the eval, which goes on
        return {"success": False, "error": "".join(traceback.format_exception(error))}


ANSWERS = {"start": lambda message: {"tool": "wengert"}, "define": defined, "evaluate": evaluated}


def main() -> int:
    parser = argparse.ArgumentParser(description="Wengert as a tool of GradBench.")
    parser.add_argument("--multithreaded", action="store_true", help="use all processors")
    options = parser.parse_args()
    if not options.multithreaded:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "WENGERT_NUM_THREADS"):
            os.environ[name] = "1"
    # each eval asks for many sizes, and each is traced
    warnings.filterwarnings("ignore", message=".* was traced")
    for line in sys.stdin:
        message = json.loads(line)
        answer = ANSWERS.get(message["kind"], lambda message: {})(message)
        print(json.dumps({"id": message["id"]} | answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
