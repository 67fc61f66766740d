"""Runs the programs of `programs/` on every library that is there, and beside hand-written C: `make bench`.

Each row runs in a process of its own, in which the libraries take turns. Results are checked against each other before
anything is timed. Writes results/COMMIT.json, a table in Markdown beside it, and a plot. Start reading at `main`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import libraries  # noqa: E402  (beside this file, which is run as a script)

ROWS = (
    "call", "stream", "ode", "adaptive", "gmm", "lstm", "kmeans", "llsq", "lse", "ode_n", "mlp", "logreg", "conv",
)  # fmt: skip
SPECIAL = {"chain": "startup.py", "loop_memory": "loop_memory.py"}


def main() -> int:
    parser = argparse.ArgumentParser(description="Compiled gradients beside other libraries and hand-written C.")
    parser.add_argument("rows", nargs="*", help=f"which rows (default: all of {', '.join((*ROWS, *SPECIAL))})")
    parser.add_argument("--libraries", default=",".join(libraries.LIBRARIES), help="which, with commas")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, the smallest case of each row")
    parser.add_argument("--seconds", type=float, default=0.2, help="length of a turn")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each library")
    parser.add_argument("--cpu", action="store_true", help="the processor's clock: for busy machines, one thread")
    parser.add_argument("--case", type=int, help="only the case of each row that has this number, from 0")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="where to write (default: results/)")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # this process measures that row and prints JSON
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured_row(options.one, options)))
        return 0
    unknown = [r for r in options.rows if r not in ROWS and r not in SPECIAL]
    if unknown:
        parser.error(f"unknown rows: {', '.join(unknown)}")
    found = []
    for row in options.rows or (*ROWS, *SPECIAL):
        found.append(run_row(row, options))
        print(table([found[-1]]), flush=True)
    write(found, options.output)
    return 0


def run_row(row: str, options: Any) -> dict[str, Any]:
    """A row's figures, from a process of its own."""
    if row in SPECIAL:
        command = [
            sys.executable, str(HERE / SPECIAL[row]), "--json", *(["--quick"] if options.quick else []),
            *(["--cpu"] if options.cpu and row == "chain" else []),
        ]  # fmt: skip
    else:
        command = [
            sys.executable, str(HERE / "run.py"), "--one", row, "--libraries", options.libraries,
            "--seconds", str(options.seconds), "--rounds", str(options.rounds), *(["--quick"] if options.quick else []),
            *(["--cpu"] if options.cpu else []), *([] if options.case is None else ["--case", str(options.case)]),
        ]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return {"row": row, "title": row, "cases": [], "states": {}, "error": f"exit status {done.returncode}"}
    return json.loads(done.stdout.strip().splitlines()[-1])


def measured_row(row: str, options: Any) -> dict[str, Any]:
    """All cases of a row."""
    libraries.limit_threads()
    import harness

    program = importlib.import_module(f"programs.{row}")
    wanted = [name for name in options.libraries.split(",") if name not in getattr(program, "LEFT_OUT", {})]
    found, states = libraries.available(wanted)
    states |= {name: f"left out: {why}" for name, why in getattr(program, "LEFT_OUT", {}).items()}
    labels = list(program.CASES)
    if options.case is not None:
        labels = labels[options.case : options.case + 1]
    elif options.quick:
        labels = labels[:1]
    clock = time.process_time if options.cpu else time.perf_counter
    seconds, rounds = (0.03, 3) if options.quick else (options.seconds, options.rounds)
    cases = []
    for label in labels:
        harness.say(f"{row}: {label}")
        contenders = contenders_of(program, program.CASES[label], found)
        measured = harness.measure(contenders, seconds, rounds, program.TOLERANCE, clock)
        cases.append({"case": label, "times": [m._asdict() for m in measured]})
    return {"row": row, "title": program.TITLE, "cases": cases, "states": states, "threads": libraries.THREADS}


def contenders_of(program: Any, parameters: dict[str, Any], found: Sequence[libraries.Library]) -> list[Any]:
    """C first where there is any (what all others are compared with), then the libraries."""
    import harness

    arrays = program.arguments(parameters)
    contenders = []
    # without a compiler C is left out, and what the first library gives is what the others are compared with
    written = program.c_call(parameters, arrays) if harness.c_compiler() else None
    if written is not None:
        name, function, arguments, places = written

        def results_of(given: Sequence[Any], places: Sequence[int] = places) -> list[Any]:
            return [given[i] for i in places]

        contenders.append(harness.Contender("C", "C", harness.c_call(name, function, arguments), results_of))
    for library in found:
        call = call_of(program, parameters, library, arrays)
        if call is not None:
            contenders.append(harness.Contender(library.name, library.kind, call, flattened(library)))
    return contenders


def call_of(program: Any, parameters: dict[str, Any], library: libraries.Library, arrays: Sequence[Any]) -> Any:
    """A call without arguments of the differentiated program in the library's best form, or None."""
    if hasattr(program, "differentiated"):
        differentiated = program.differentiated(library, parameters)
    else:
        function = program.program(library, parameters)
        differentiated = None if function is None else library.value_and_grad(function, len(arrays))
    if differentiated is None:
        return None
    compiled = library.compiled(differentiated)
    natives = [library.array(a) for a in arrays]
    return lambda: library.ready(compiled(*natives))


def flattened(library: libraries.Library) -> Any:
    """The arrays of a result, in order."""

    def flat(result: Any) -> list[Any]:
        if isinstance(result, (tuple, list)):
            return [leaf for part in result for leaf in flat(part)]
        return [library.ndarray(result)]

    return flat


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Times, and how many times Wengert's time each is."""
    from harness import readable

    lines: list[str] = []
    for row in rows:
        lines += [f"### {row['row']}: {row['title']}", ""]
        if "error" in row:
            lines += [row["error"], ""]
        for case in row["cases"]:
            own = next((t["median"] for t in case["times"] if t["library"] == "wengert"), None)
            lines += [f"{case['case']}", "", "| library | kind | median | of Wengert's |", "|---|---|---|---|"]
            for t in sorted(case["times"], key=lambda t: (t["error"] is not None, t["median"])):
                ratio = "" if not own or own != own or t["error"] else f"{t['median'] / own:.2f}"
                lines.append(f"| {t['library']} | {t['kind']} | {t['error'] or readable(t['median'])} | {ratio} |")
            lines.append("")
        lines += [f"- {text}" for text in row.get("notes", ())]
    return "\n".join(lines)


def write(rows: Sequence[dict[str, Any]], folder: Path) -> None:
    """Keeps the figures by commit: JSON, table, plot."""
    folder.mkdir(exist_ok=True)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    ).stdout.strip() or "unknown"  # fmt: skip
    facts = {"commit": commit, "machine": machine(), "rows": list(rows)}
    (folder / f"{commit}.json").write_text(json.dumps(facts, indent=1) + "\n")
    (folder / f"{commit}.md").write_text(table(rows) + "\n")
    from plot import draw

    (folder / f"{commit}.svg").write_text(draw(rows))


def machine() -> dict[str, Any]:
    """What the figures were measured on, without the name of the machine."""
    names = {line.partition(":")[2].strip() for line in _cpu_lines() if line.startswith("model name")}
    return {
        "processor": " ".join(sorted(names)) or platform.processor(), "cores": os.cpu_count(),
        "python": platform.python_version(), "threads": libraries.THREADS,
    }  # fmt: skip


def _cpu_lines() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []


if __name__ == "__main__":
    sys.exit(main())
