"""Runs all benchmarks on one quiet machine and writes what they print on one page: `make bench`.

The page is results/COMMIT-all.md: the machine, then for each benchmark what it printed, how long it took and, where it
failed, what it said. A benchmark that fails does not end the others. `run.py` and `threads.py` run first, one after the
other, with nothing beside them; those that count the processor's time, or the least of many, then run side by side, one
on each core. None leaves out a row, and the most of the time is compilers': `run.py` and `threads.py` take 20 minutes
on two quiet cores, `matrices.py` and `cliffs.py` as much as an hour, all the others half an hour. What still runs when
`--minutes` are over is stopped, and the page has what it printed until then. A run of some (`--only`) keeps what the
page of the same commit has of the others, so that a page can be made in parts.

`run.py` and `engines.py` write their figures as JSON, too; `figures.py` makes README's and the site's from them.
Start reading at `main`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from run import machine  # noqa: E402  (beside this file, which is run as a script)


class Benchmark(NamedTuple):
    """A program beside this file.

    Attributes:
        options: what it is given: turns so long that the whole page takes half an hour.
        is_alone: whether it reads the clock on the wall, so that nothing may run beside it.
    """

    options: str = ""
    is_alone: bool = False


# In the page's order, without `gpu.py`, which wants an accelerator, and `array_api_tests.py`, which fetches a suite.
# `startup.py` and `loop_memory.py` are rows of `run.py`. Of those that run side by side the longest begins first, next
# to it the short ones; what tells each row as it has it is last, should the time be over.
ALL = {
    "run": Benchmark("--seconds 0.1 --rounds 5", is_alone=True),
    "threads": Benchmark("--rounds 10", is_alone=True),
    "beside_blas": Benchmark("--calls 60", is_alone=True),
    "layers": Benchmark("--seconds 0.02 --rounds 3"),
    "matrices": Benchmark("--seconds 0.01 --rounds 3"),
    "captures": Benchmark(),
    "errstate": Benchmark("--rounds 3"),
    "taylor": Benchmark(),
    "adopted": Benchmark(),
    "workspace": Benchmark(),
    "xla_loops": Benchmark(),
    "leaks": Benchmark("--quick"),
    "jacobians": Benchmark("--quick"),
    "writes": Benchmark("--count 1000"),
    "beside_autograd": Benchmark(),
    "overhead": Benchmark("--quick"),
    "compile_time": Benchmark(),
    "growth": Benchmark("--sizes 16,32,64 --most 5"),
    "engines": Benchmark("--seconds 0.1 --rounds 5"),
    "sorting": Benchmark("--seconds 0.02"),
    "call_forms": Benchmark(),
    "kernel_calls": Benchmark(),
    "transforms": Benchmark("--dtypes float64 --seconds 0.01 --rounds 3"),
    "special_functions": Benchmark("--dtypes float64 float32"),
    "distributions": Benchmark("--dtypes float64 float32"),
    "cliffs": Benchmark("--seconds 0.02 --bound 20"),
}
TO_FOLDER = ("run", "engines")  # what takes `--output`


class Running:
    """A benchmark that runs, on one core or on all."""

    def __init__(self, name: str, folder: Path, core: int | None) -> None:
        self.name, self.core = name, core
        self.began = time.monotonic()
        self.output: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115  (`section` closes it, after the process)
        self.complaints: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115  (as above)
        path = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")]))
        given = [*ALL[name].options.split(), *(["--output", str(folder)] if name in TO_FOLDER else [])]
        with kept_to(core):
            self.process = subprocess.Popen(
                [sys.executable, f"{name}.py", *given], cwd=HERE, env=os.environ | {"PYTHONPATH": path},
                stdout=self.output, stderr=self.complaints, start_new_session=True,
            )  # fmt: skip

    def ended(self, end: float) -> bool:
        """Whether it has, stopped where the time is over."""
        if self.process.poll() is None and time.monotonic() > end:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        return self.process.poll() is not None

    def section(self) -> str:
        """What the page has of it."""
        code, seconds = self.process.returncode, time.monotonic() - self.began
        state = "" if code == 0 else ", stopped: the time was over" if code == -9 else f", failed: exit {code}"
        texts = [_all_of(self.output), _all_of(self.complaints) if code else ""]
        self.output.close()
        self.complaints.close()
        options = " ".join(filter(None, [f"{self.name}.py", ALL[self.name].options]))
        return f"## {options} ({seconds:.0f} s{state})\n\n```text\n{''.join(texts).rstrip()}\n```"


def _all_of(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def main() -> int:
    parser = argparse.ArgumentParser(description="All benchmarks on one page.")
    parser.add_argument("--only", default=",".join(ALL), help="which, with commas")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="when what still runs is stopped")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="where to write (default: results/)")
    options = parser.parse_args()
    names = options.only.split(",")
    unknown = [name for name in names if name not in ALL]
    if unknown:
        parser.error(f"unknown benchmarks: {', '.join(unknown)}; there are {', '.join(ALL)}")
    folder = options.output.resolve()
    folder.mkdir(exist_ok=True)
    end = time.monotonic() + 60 * options.minutes
    page = Page(folder)
    print(page.path, flush=True)
    side_by_side = [name for name in names if not ALL[name].is_alone]
    run_all([name for name in names if ALL[name].is_alone], [None], page, end)
    run_all(side_by_side, cores() if len(side_by_side) > 1 else [None], page, end)
    return int(page.has_failures)


class Page:
    """The page, written anew whenever a benchmark has ended: there is a page should the rest be stopped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        command = ["git", "rev-parse", "--short", "HEAD"]
        found = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
        commit = found.stdout.strip() or "unknown"
        self.path = folder / f"{commit}-all.md"
        self.has_failures = False
        facts = ", ".join(f"{key} {value}" for key, value in machine().items())
        self._head = f"# All benchmarks at {commit}\n\nOn {facts}."
        self._sections = sections_of(self.path.read_text()) if self.path.exists() else {}

    def add(self, running: Running) -> None:
        self._sections[running.name] = running.section()
        self.has_failures |= running.process.returncode != 0
        sections = [self._sections[name] for name in ALL if name in self._sections]
        self.path.write_text("\n\n".join([self._head, *sections]) + "\n")
        print(self._sections[running.name].splitlines()[0].removeprefix("## "), flush=True)


def sections_of(text: str) -> dict[str, str]:
    """What a page has of each benchmark, by name."""
    parts = re.split(r"^(?=## \w+\.py)", text, flags=re.MULTILINE)[1:]
    return {part[3 : part.index(".py")]: part.rstrip() for part in parts}


def run_all(names: Sequence[str], places: Sequence[int | None], page: Page, end: float) -> None:
    """Runs benchmarks, as many at a time as there are places (cores; None: all of them)."""
    waiting, free = [*names], [*places]
    running: list[Running] = []
    while waiting or running:
        while waiting and free:
            running.append(Running(waiting.pop(0), page.folder, free.pop(0)))
        ended = [one for one in running if one.ended(end)]
        for one in ended:
            page.add(one)
            running.remove(one)
            free.append(one.core)
        time.sleep(0.1)


@contextlib.contextmanager
def kept_to(core: int | None) -> Iterator[None]:
    """Processes that begin in the block stay on a core."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cores() -> list[int | None]:
    """The cores that this process may use; None where they cannot be chosen."""
    return [*sorted(os.sched_getaffinity(0))] if hasattr(os, "sched_getaffinity") else [None]


if __name__ == "__main__":
    sys.exit(main())
