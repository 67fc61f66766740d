"""Our compiled gradient on a framework's arrays beside the framework's own: `python benchmarks/engines.py`.

Ten programs, and as "small" the calls on few numbers of `small_calls.py`: on JAX beside
`jax.jit(jax.value_and_grad(...))`, on PyTorch beside its eager mode (and `torch.compile` with `--all`), on TensorFlow
beside `tf.function`. The two take turns, and results are compared before timing. Times are the processor's for the
process, which runs on one core: another program's work does not count, however busy the machine is. Writes
results/engines-FRAMEWORK.json and a table beside it. Start reading at `main`.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import libraries  # noqa: E402  (beside this file, which is run as a script)

# the program -> its case: of several sizes one that takes some milliseconds
PROGRAMS = {
    "mlp": "batch 128", "conv": "batch 32", "attention": "batch 4", "gmm": "d=10 k=25 n=1000",
    "lstm": "2 layers, 1024 characters", "ode": "1,000 steps", "logreg": "100,000 x 100", "rnn": "500 steps",
    "adaptive": "to t = 20", "custom": "1,000,000",
}  # fmt: skip
SMALL = "small"  # many rows, each with a limit of its own
FRAMEWORKS = ("jax", "torch", "tensorflow")
LIMIT = 1.1  # how many times the framework's own time ours may be


def main() -> int:
    parser = argparse.ArgumentParser(description="Our compiled gradients on a framework's arrays beside its own.")
    parser.add_argument("programs", nargs="*", help=f"which (default: all of {', '.join(PROGRAMS)}, {SMALL})")
    parser.add_argument("--frameworks", default=",".join(FRAMEWORKS), help="which, with commas")
    parser.add_argument("--seconds", type=float, default=0.2, help="length of a turn")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each side")
    parser.add_argument("--all", action="store_true", help="every form of the framework, not the first one only")
    parser.add_argument("--wall", action="store_true", help="time by the wall, not the processor's (for accelerators)")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="where to write (default: results/)")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # this process measures that program and prints JSON
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured_small(options) if options.one == SMALL else [measured(options.one, options)]))
        return 0
    for framework in options.frameworks.split(","):  # before anything is measured, and recorded figures written over
        if importlib.util.find_spec(framework) is None:
            parser.error(f"{framework} is not installed: pip install '.[{framework}]', or leave it out of --frameworks")
    for framework in options.frameworks.split(","):
        rows = []
        for program in options.programs or (*PROGRAMS, *(() if options.wall else (SMALL,))):
            found = in_a_process(framework, program, options)
            print(table(framework, found, heading=not rows), flush=True)
            rows += found
        options.output.mkdir(exist_ok=True)
        facts = {"framework": framework, "limit": LIMIT, "rows": rows}
        (options.output / f"engines-{framework}.json").write_text(json.dumps(facts, indent=1) + "\n")
        (options.output / f"engines-{framework}.md").write_text(table(framework, rows) + "\n")
    return 0


def in_a_process(framework: str, program: str, options: Any) -> list[dict[str, Any]]:
    """The rows of a program, from a process of its own: no program finds what another left."""
    command = [
        sys.executable, str(HERE / "engines.py"), "--one", program, "--frameworks", framework,
        "--seconds", str(options.seconds), "--rounds", str(options.rounds),
        *(["--all"] if options.all else []), *(["--wall"] if options.wall else []),
    ]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return [{"program": program, "error": f"exit status {done.returncode}", "times": []}]
    return json.loads(done.stdout.strip().splitlines()[-1])


def measured(name: str, options: Any) -> dict[str, Any]:
    """The times of the framework's own form and of ours on it."""
    libraries.limit_threads()
    import harness
    from run import call_of, flattened

    program = importlib.import_module(f"programs.{name}")
    found, states = libraries.available([options.frameworks])
    if not found:
        return {"program": name, "error": states[options.frameworks], "times": []}
    # torch.compile takes minutes for some programs
    sides = [*(found if options.all else found[:1]), libraries.wengert_on(found[0])]
    parameters = program.CASES[PROGRAMS[name]]
    arrays = program.arguments(parameters)
    contenders = []
    for library in sides:
        call = call_of(program, parameters, library, arrays)
        if call is not None:
            contenders.append(harness.Contender(library.name, library.kind, call, flattened(library)))
    clock = time.perf_counter if options.wall else time.process_time
    times = harness.measure(contenders, options.seconds, options.rounds, program.TOLERANCE, clock)
    return {"program": name, "title": program.TITLE, "states": states, "times": [t._asdict() for t in times]}


def measured_small(options: Any) -> list[dict[str, Any]]:
    """The rows of calls on few numbers, of which a turn takes a quarter of the time."""
    libraries.limit_threads()
    import small_calls

    return [*small_calls.measured(options.frameworks, options.rounds, options.seconds / 4)]


def table(framework: str, rows: list[dict[str, Any]], heading: bool = True) -> str:
    """A line a program: both medians and how many times the framework's own ours is."""
    from harness import readable

    lines = (
        [f"| program | {framework} | wengert on {framework} | times | at most |", "|---|---|---|---|---|"]
        if heading
        else []
    )
    for row in rows:
        errors = [row["error"]] if "error" in row else [t["error"] for t in row["times"] if t["error"]]
        if errors:
            lines.append(f"| {row['program']} | {'; '.join(errors)} | | | |")
            continue
        theirs = min(t["median"] for t in row["times"] if not t["library"].startswith("wengert"))
        ours = next(t["median"] for t in row["times"] if t["library"].startswith("wengert"))
        figures = f"{readable(theirs)} | {readable(ours)} | {ours / theirs:.2f} | {row.get('limit', LIMIT)}"
        lines.append(f"| {row['program']} | {figures} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
