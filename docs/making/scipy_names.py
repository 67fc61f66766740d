"""The table of SciPy's names: which are ours in `wengert.scipy`, and which are SciPy's own."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from .writing import literal

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
        names = [n for n in importlib.import_module(f"scipy.{module}").__all__ if not n.startswith("_")]
        names = sorted({*names, *ours})
        parts.append(f".. rubric:: scipy.{module}\n")
        for kind in _KINDS:
            found = [n for n in names if kind_of(module, n, ours) == kind]
            if found:
                parts.append(f"**{kind[:1].upper()}{kind[1:]}** ({len(found)}): {', '.join(map(literal, found))}\n")
    return "\n".join(parts)
