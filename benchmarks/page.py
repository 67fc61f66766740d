"""Runs all benchmarks, one after another, and writes what they print on one page: `make bench`.

The page is results/COMMIT-all.md: the machine, then for each benchmark what it printed and, where it failed, what it
said. A benchmark that fails does not end the others. The rows of `run.py` come first; it also writes its own
table, JSON and plot. Start reading at `main`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from run import machine  # noqa: E402  (beside this file, which is run as a script)

# without `gpu.py`, which wants an accelerator, and `array_api_tests.py`, which fetches a suite
ALL = (
    "run", "cliffs", "compile_time", "startup", "overhead", "autograd", "captures", "errstate", "workspace", "leaks",
    "jacobians", "sorting", "taylor", "writes", "engines", "adopted", "speed", "loop_memory",
    "matrices", "threads",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description="All benchmarks, one after another, on one page.")
    parser.add_argument("--only", default=",".join(ALL), help="which, with commas")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="where to write (default: results/)")
    options = parser.parse_args()
    names = options.only.split(",")
    unknown = [name for name in names if name not in ALL]
    if unknown:
        parser.error(f"unknown benchmarks: {', '.join(unknown)}; there are {', '.join(ALL)}")
    options.output.mkdir(exist_ok=True)
    commit = _output(["git", "rev-parse", "--short", "HEAD"])[1].strip() or "unknown"
    facts = ", ".join(f"{key} {value}" for key, value in machine().items())
    parts = [f"# All benchmarks at {commit}", f"On {facts}."]
    page = options.output / f"{commit}-all.md"
    failed = 0
    for name in names:
        code, text = _output([sys.executable, f"{name}.py"])
        failed += code != 0
        parts += [f"## {name}.py" + (f" (failed: exit {code})" if code else ""), f"```text\n{text.rstrip()}\n```"]
        page.write_text("\n\n".join(parts) + "\n")  # at once: a page so far, should the rest be stopped
        print(f"{name}: {'failed' if code else 'done'}", flush=True)
    print(page)
    return min(failed, 1)


def _output(command: list[str]) -> tuple[int, str]:
    """The exit code of a command beside this file, and what it printed; with its complaints where it failed."""
    path = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        command, cwd=HERE, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + (done.stderr if done.returncode else "")


if __name__ == "__main__":
    sys.exit(main())
