"""Makes all that is generated, in the order in which it is needed."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import wengert as wg

from .catalogue import HOMES, public_ops
from .declarations import declarations
from .engines import engines_table, native_table
from .examples import run_examples
from .kinks import kinks_table
from .names import Names
from .notebooks import draw_notebooks
from .numpy_names import numpy_table
from .op_pages import list_of, op_pages
from .primitive_pages import primitive_pages
from .scipy_names import scipy_table
from .writing import literal, write, write_folder

DOCS = Path(__file__).resolve().parents[1]
GENERATED = DOCS / "_generated"  # pictures, outputs, and tables that pages include


def make_everything(app: Any = None) -> None:
    run_examples(GENERATED)
    draw_notebooks(GENERATED / "notebooks")
    documented = documented_names()
    ops, declared, names = public_ops(documented), declarations(), Names(DOCS / "names.tsv")
    write_folder(DOCS / "ops", op_pages(ops, declared, names))
    write_folder(DOCS / "primitives", primitive_pages(declared))
    write(GENERATED / "kinks.txt", kinks_table(ops, declared))
    write(GENERATED / "engines.txt", engines_table())
    write(GENERATED / "native.txt", native_table())
    write(GENERATED / "names.txt", names.table(ops, documented))
    write(GENERATED / "distributions.txt", distributions())
    write(GENERATED / "scipy.txt", scipy_table())
    write(GENERATED / "numpy.txt", numpy_table())
    for home in HOMES:
        write(GENERATED / f"list-{home or 'wg'}.txt", list_of(ops, home))


def documented_names() -> set[str]:
    """What the reference's own pages document, from `wg` on: the names they list and the members of whole modules."""
    names = set()
    for page in (DOCS / "reference").glob("*.rst"):
        text = page.read_text(encoding="utf-8")
        listed = re.findall(r"^\.\. auto(?:function|class|exception|data):: (\S+)", text, re.MULTILINE)
        names |= {name.removeprefix("wengert.") for name in listed}
        for module in re.findall(r"^\.\. automodule:: wengert\.(\S+)$(?!\n   :no-members:)", text, re.MULTILINE):
            names |= {f"{module}.{name}" for name in own_names(importlib.import_module(f"wengert.{module}"))}
    return names


def own_names(module: ModuleType) -> list[str]:
    """The public names of what a module defines itself, which is what autodoc shows of it."""
    return [name for name in module.__all__ if getattr(getattr(module, name), "__module__", "") == module.__name__]


def distributions() -> str:
    """The names of the distributions, which are objects without docstrings of their own."""
    found = [name for name in wg.stats.__all__ if isinstance(getattr(wg.stats, name), wg.stats.Distribution)]
    return f"Distributions: {', '.join(map(literal, found))}.\n"
