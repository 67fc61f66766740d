"""The modules import each other in one direction only (ARCHITECTURE.md has the order).

Reads the source of every module; imports nothing. What `wengert` loads when it is imported is
tested in tests/repository/test_packaging.py.
"""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Iterator

import pytest

from tests.support.paths import ROOT
from tools.modules import Import, imports_among, sources_of

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
PROGRAMS = {"cli", "__main__"}


SOURCES = sources_of(PACKAGE)


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


ALL_IMPORTS = imports_among(SOURCES)


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


def _changed_in(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The names whose attributes, or entries of whose tables, a module sets, and where."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                texts = [ast.unparse(part) for target in targets for part in getattr(target, "elts", [target])]
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                texts = [ast.unparse(target)]
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[ast.Name(id=name), *_]):
                texts = [f"{name}.something"]
            case _:
                texts = []
        for text in texts:
            if found := re.fullmatch(r"(\w+)\.\w+(\[.*\])?", text):
                yield found[1], getattr(node, "lineno", 0)


def test_no_module_changes_the_names_of_another() -> None:
    """What a namespace has stands in its own file, also what loads later or lies above it."""
    found = []
    for module, path in SOURCES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules = {each.imported.rpartition(".")[2] for each in ALL_IMPORTS if each.importer == module}
        aliases = [alias for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names]
        known = {alias.asname or alias.name for alias in aliases if alias.name in modules}
        found += [f"{module}, line {line}, changes {name}" for name, line in _changed_in(tree) if name in known]
    assert not "\n".join(found)
