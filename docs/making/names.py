"""The index of names: what other libraries call what Wengert has (docs/names.tsv)."""

from __future__ import annotations

import csv
from pathlib import Path

from .catalogue import PublicOp, value_at
from .writing import literal, table

LIBRARIES = {
    "numpy": "NumPy, SciPy",
    "array_api": "array API",
    "keras": "Keras",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "torch": "PyTorch",
}


class Names:
    """The table in docs/names.tsv: lines that start with # tell its sources; several names are parted by spaces."""

    def __init__(self, path: Path) -> None:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        self.rows = list(csv.DictReader(lines, delimiter="\t"))

    def of(self, op: PublicOp) -> dict[str, list[str]]:
        """What the libraries call an op, by library."""
        found: dict[str, list[str]] = {}
        for row in self.rows:
            if {op.path, *op.aliases} & {*row["wengert"].split()}:
                for library in LIBRARIES:
                    theirs = found.setdefault(library, [])
                    theirs += [name for name in row[library].split() if name not in theirs]
        return {library: theirs for library, theirs in found.items() if theirs}

    def table(self, ops: list[PublicOp], documented: set[str]) -> str:
        """The whole index, to be included in its page.

        Raises:
            AttributeError: for a name that Wengert does not have.
        """
        pages = {path: op.path for op in ops for path in (op.path, *op.aliases)}
        rows = []
        for row in self.rows:
            links: dict[str, str] = {}
            for name in row["wengert"].split():
                if name in pages:
                    links.setdefault(pages[name], f":doc:`wg.{name} </ops/{pages[name]}>`")
                    continue
                twins = [twin for twin in sorted(documented) if value_at(twin) is value_at(name)]
                same = name if name in documented else "".join(twins[:1])
                # what is NumPy's own function (np.bartlett) has no page
                link = f":py:obj:`wg.{name} <wengert.{same}>`" if same else literal(f"wg.{name}")
                links.setdefault(same or name, link)
            rows.append((", ".join(links.values()), *[", ".join(map(literal, row[k].split())) for k in LIBRARIES]))
        return table(("Wengert", *LIBRARIES.values()), rows, ":class: names")
