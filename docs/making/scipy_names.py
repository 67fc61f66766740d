"""The table of SciPy's names: which are ours in `wengert.scipy`, and which are SciPy's own."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from .writing import literal

_PAGE = Path(__file__).parents[1] / "not_yet.md"
_HEADING = "## SciPy's functions that refuse tensors\n"

MODULES = (
    "special", "stats", "linalg", "fft", "fftpack", "signal", "integrate", "interpolate", "optimize", "ndimage",
    "sparse", "sparse.linalg", "spatial", "spatial.distance", "cluster.vq", "constants",
)  # fmt: skip
_KINDS = ("ours", "SciPy's own, which refuses followed tensors", "SciPy's classes, exceptions, modules and constants")


def kind_of(module: str, name: str, ours: dict[str, Any]) -> str:
    """What a public name of a module of SciPy's is here."""
    if name in ours:
        return _KINDS[0]
    value = getattr(importlib.import_module(f"wengert.scipy.{module}"), name)
    is_function = callable(value) and not isinstance(value, (type, ModuleType))
    return _KINDS[1] if is_function else _KINDS[2]


def scipy_table() -> str:
    """For each module the names of each kind, under a heading each."""
    parts = []
    for module in MODULES:
        ours = importlib.import_module(f"wengert.scipy.{module}").OURS
        names = sorted({*public(module), *ours})
        parts.append(f".. rubric:: scipy.{module}\n")
        for kind in _KINDS:
            found = [n for n in names if kind_of(module, n, ours) == kind]
            if found:
                parts.append(f"**{kind[:1].upper()}{kind[1:]}** ({len(found)}): {', '.join(map(literal, found))}\n")
    return "\n".join(parts)


def public(module: str) -> list[str]:
    """The public names of a module of the SciPy that is installed."""
    return [n for n in importlib.import_module(f"scipy.{module}").__all__ if not n.startswith("_")]


def refusals() -> dict[str, list[str]]:
    """For each module the functions and distributions that are SciPy's own."""
    found = {}
    for module in MODULES:
        ours = importlib.import_module(f"wengert.scipy.{module}").OURS
        names = public(module)
        found[module] = sorted({n for n in names if kind_of(module, n, ours) == _KINDS[1]})
    return {module: names for module, names in found.items() if names}


def listed() -> dict[str, list[str]]:
    """What the page of what is not there yet says of them."""
    rows = re.findall(r"^\| `([\w.]+)` \| (.*) \|$", _PAGE.read_text().partition(_HEADING)[2], re.MULTILINE)
    return {module: re.findall(r"`(\w+)`", names) for module, names in rows}


def write_list() -> None:
    """Brings the list on that page up to date; names that only other versions of SciPy have stay on it."""
    before, heading, rest = _PAGE.read_text().partition(_HEADING)
    others = {module: {*names} - {*public(module)} for module, names in listed().items()}
    words, _, after = rest.partition("| module |")
    refused = refusals()
    known = {module: sorted({*refused.get(module, ()), *others.get(module, ())}) for module in MODULES}
    rows = [f"| `{module}` | {', '.join(map(literal_of_page, names))} |" for module, names in known.items() if names]
    table = "\n".join(["| module | refuse what is followed, and take plain arrays |", "|---|---|", *rows])
    end = after.partition("\n\n")[2]
    _PAGE.write_text(f"{before}{heading}{words}{table}\n" + (f"\n{end}" if end else ""))


def literal_of_page(name: str) -> str:
    return f"`{name}`"


if __name__ == "__main__":
    write_list()
