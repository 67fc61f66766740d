"""The modules import each other in one direction only (ARCHITECTURE.md has the order).

Reads the source of every module; imports nothing. What `wengert` loads when it is imported is
tested in tests/repository/test_packaging.py.
"""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.paths import ROOT

PACKAGE = ROOT / "wengert"

# From the lowest up; each may import its own layer and those before it.
PRIVATE_LAYERS = (
    "errors",
    "_core",
    "_prims",
    "_transforms",
    "_control",
    "_passes",
    "_engines",
    "_compile",
)
PUBLIC_LAYER = len(PRIVATE_LAYERS)
TOP_LAYER = PUBLIC_LAYER + 1
PROGRAM_LAYER = TOP_LAYER + 1
# Programs use the library by its public names, as any user would, and the library does not know them.
PROGRAMS = {"cli", "commands", "demo", "__main__"}


class Import(NamedTuple):
    """An import of one of our modules by another."""

    importer: str
    imported: str
    line: int
    in_function: bool
    for_types: bool  # below `if TYPE_CHECKING:`, where it loads nothing

    def __str__(self) -> str:
        return f"{self.importer}, line {self.line}, imports {self.imported}"


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def layer_of(module: str) -> int:
    if module == "wengert":
        return TOP_LAYER
    first = module.split(".")[1]
    if first in PROGRAMS:
        return PROGRAM_LAYER
    return PRIVATE_LAYERS.index(first) if first in PRIVATE_LAYERS else PUBLIC_LAYER


def engine_of(module: str) -> str | None:
    """The engine a module belongs to. Every package below _engines is one; its plain modules are shared."""
    parts = module.split(".")
    if len(parts) < 3 or parts[1] != "_engines" or not (PACKAGE / "_engines" / parts[2]).is_dir():
        return None
    return parts[2]


def imports_of(module: str) -> list[Import]:
    path = SOURCES[module]
    found: list[Import] = []

    def visit(node: ast.AST, in_function: bool, for_types: bool) -> None:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = targets_of_from(module, path.name == "__init__.py", node)
        else:
            names = []
        for name in names:
            if name.split(".")[0] == "wengert":
                found.append(Import(module, name, getattr(node, "lineno", 0), in_function, for_types))
        inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            visit(child, inside, for_types or is_types_only(node, child))

    visit(ast.parse(path.read_text(encoding="utf-8"), str(path)), False, False)
    return found


def is_types_only(node: ast.AST, child: ast.AST) -> bool:
    """Whether `child` stands in the body of an `if TYPE_CHECKING:`."""
    return (
        isinstance(node, ast.If)
        and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        and child in node.body
    )


def targets_of_from(module: str, is_package: bool, node: ast.ImportFrom) -> list[str]:
    """The modules that `from base import names` reads: a submodule where a name is one, else the base."""
    base = node.module or ""
    if node.level:
        anchor = module.split(".")
        drop = node.level - 1 if is_package else node.level
        base = ".".join([*anchor[: len(anchor) - drop], *([node.module] if node.module else [])])
    return sorted({f"{base}.{a.name}" if f"{base}.{a.name}" in SOURCES else base for a in node.names})


ALL_IMPORTS = [found for module in SOURCES for found in imports_of(module)]


def listed(imports: list[Import]) -> str:
    return "\n".join(map(str, imports))


def test_there_is_something_to_test() -> None:
    assert "wengert" in SOURCES
    assert ALL_IMPORTS


def test_every_private_package_has_a_layer() -> None:
    private = {module.split(".")[1] for module in SOURCES if module.startswith("wengert._")}
    assert private <= {*PRIVATE_LAYERS, "__main__"}


def test_imported_modules_exist() -> None:
    assert not listed([found for found in ALL_IMPORTS if found.imported not in SOURCES])


def test_no_upward_import() -> None:
    assert not listed([found for found in ALL_IMPORTS if layer_of(found.imported) > layer_of(found.importer)])


def test_no_import_cycle() -> None:
    graph: dict[str, set[str]] = {module: set() for module in SOURCES}
    # Two modules of a layer may name each other's types; an upward import is one all the same.
    for found in ALL_IMPORTS:
        if not found.for_types:
            graph[found.importer].add(found.imported)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_no_import_of_ours_inside_a_function() -> None:
    assert not listed([found for found in ALL_IMPORTS if found.in_function])


def test_engines_do_not_import_each_other() -> None:
    crossing = [
        found
        for found in ALL_IMPORTS
        if engine_of(found.imported) is not None
        and engine_of(found.importer) is not None
        and engine_of(found.importer) != engine_of(found.imported)
    ]
    assert not listed(crossing)


def test_what_engines_share_knows_no_engine() -> None:
    shared = [found for found in ALL_IMPORTS if found.importer.startswith("wengert._engines")]
    assert not listed([f for f in shared if engine_of(f.importer) is None and engine_of(f.imported) is not None])
