"""What each engine supports (docs/engines.tsv): kept as a file, since a build of the documentation has no frameworks.

`python docs/making/engines.py` brings the columns of engines whose frameworks are installed up to date; a test finds
a column that is not.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import sys
from pathlib import Path

from wengert._core.engine import HOST_KERNELS, Engine
from wengert._engines import engine_named

FILE = Path(__file__).resolve().parents[1] / "engines.tsv"
ENGINES = ("jax", "torch", "tensorflow")  # NumPy's has a kernel for everything


def support_of(engine: Engine) -> dict[str, str]:
    """For each primitive that an engine does not simply run: "host", "host: when", or "unsupported: why".

    A kernel may say of itself `is_on_host` (it always runs as NumPy's, on the host) or `on_host_when` (in which cases).
    """
    found = {name: f"unsupported: {why}" for name, why in engine.unsupported.items()}
    for name, kernel in engine.kernels.items():
        if name in HOST_KERNELS:
            continue  # of users' primitives, and functions of frameworks
        when = getattr(kernel, "on_host_when", None)
        if when is not None:
            found[name] = f"host: {when}"
        elif getattr(kernel, "is_on_host", False):
            found[name] = "host"
    return found


def columns() -> dict[str, dict[str, str]]:
    """For each engine its primitives that are not simply run, and what is done instead."""
    found: dict[str, dict[str, str]] = {name: {} for name in ENGINES}
    if FILE.exists():
        for row in csv.DictReader(io.StringIO(FILE.read_text(encoding="utf-8")), delimiter="\t"):
            for name in ENGINES:
                if row.get(name):
                    found[name][row["primitive"]] = row[name]
    return found


def written(found: dict[str, dict[str, str]]) -> str:
    """The file's text."""
    lines = ["\t".join(["primitive", *ENGINES])]
    for primitive in sorted({p for column in found.values() for p in column}):
        lines.append("\t".join([primitive, *(found[name].get(primitive, "") for name in ENGINES)]))
    return "\n".join(lines) + "\n"


def engines_table() -> str:
    """The table of the page: a row for each primitive that some engine does not simply run."""
    from .writing import prose, table

    found = columns()
    rows = []
    for primitive in sorted({p for column in found.values() for p in column}):
        cells = [prose(found[name].get(primitive, "kernel")) for name in ENGINES]
        rows.append((f":ref:`{primitive} <prim-{primitive}>`", *cells))
    return table(("Primitive", "JAX", "PyTorch", "TensorFlow"), rows)


def native_table() -> str:
    """The table of the page on compiled functions: the primitives that NumPy's kernels run there, too."""
    from wengert._engines.native.plan.support import HANDED

    from .writing import prose, table

    rows = [(f":ref:`{name} <prim-{name}>`", prose(reason)) for name, reason in sorted(HANDED.items())]
    return table(("Primitive", "Why"), rows)


def main() -> None:
    found = columns()
    for name in ENGINES:
        has_engine = importlib.util.find_spec(f"wengert._engines.{name}") is not None
        if has_engine and importlib.util.find_spec(name) is not None:
            found[name] = support_of(engine_named(name))
    FILE.write_text(written(found), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
