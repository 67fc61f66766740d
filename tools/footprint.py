"""How much room Wengert takes, with what it depends on, and how long its import takes after NumPy's.

    python tools/footprint.py

Measures what is installed for the Python that runs it. Sizes are those of the installed files; the bytecode that Python
makes of them is not counted.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

RUNS = 7

TIMED_IMPORT = """
import time
begun = time.thread_time()  # this thread's own: other processes, and NumPy's BLAS threads, do not count
import numpy
after_numpy = time.thread_time()
import wengert
print(time.thread_time() - after_numpy, after_numpy - begun)
"""


def own_bytes() -> int:
    """The size of Wengert's own files, installed or in a checkout."""
    spec = importlib.util.find_spec("wengert")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("wengert is not installed: pip install .")
    return sum(path.stat().st_size for path in Path(spec.origin).parent.rglob("*") if _counts(path))


def dependencies() -> set[str]:
    """The distributions that Wengert needs, and those that they need in turn; no extras."""
    needed: set[str] = set()
    todo = ["wengert"]
    while todo:
        new = {*_required(todo.pop())} - needed
        needed |= new
        todo += new
    return needed


def installed_bytes(distribution: str) -> int:
    """The size of a distribution's files."""
    paths = [Path(str(file.locate())) for file in metadata.files(distribution) or ()]
    return sum(path.stat().st_size for path in paths if _counts(path))


def import_seconds(cwd: Path | None = None) -> Iterator[tuple[float, float]]:
    """The processor's time for `import wengert` after `import numpy`, and for the latter: the least of some runs.

    Even the processor's time stretches on a machine that is shared, by a third and more, and never shrinks. So the
    shortest of some runs tells, and a later round has its chance.
    """
    with tempfile.TemporaryDirectory() as folder:
        # An installed package has its bytecode from the start. Here the first run writes it, to a place of its own: the
        # environment may forbid writing it beside the sources, and what lies there may be old.
        env = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        env.pop("PYTHONDONTWRITEBYTECODE", None)

        def seconds() -> tuple[float, float]:
            command = [sys.executable, "-c", TIMED_IMPORT]
            out = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=True).stdout
            ours, numpys = map(float, out.split())
            return ours, numpys

        seconds()
        while True:
            ours, numpys = zip(*(seconds() for _ in range(RUNS)), strict=True)
            yield min(ours), min(numpys)


def _required(distribution: str) -> Iterator[str]:
    for requirement in metadata.requires(distribution) or ():
        name = re.match(r"[\w.-]+", requirement)
        if name and "extra ==" not in requirement:
            yield name[0].lower()


def _counts(path: Path) -> bool:
    return path.suffix != ".pyc" and path.is_file()


def main() -> None:
    ours = own_bytes()
    others = {name: installed_bytes(name) for name in sorted(dependencies())}
    print(f"wengert                {ours / 1e6:6.1f} MB")
    for name, size in others.items():
        print(f"{name + ' ' + metadata.version(name):22} {size / 1e6:6.1f} MB")
    print(f"together               {(ours + sum(others.values())) / 1e6:6.1f} MB")
    own, numpys = next(import_seconds())
    print(f"import, after NumPy's  {1e3 * own:6.0f} ms")
    print(f"NumPy's own            {1e3 * numpys:6.0f} ms")


if __name__ == "__main__":
    main()
