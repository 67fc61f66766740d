"""The modules of a package and what they import, read from their sources; nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Import(NamedTuple):
    """An import of one of a package's modules by another."""

    importer: str
    imported: str
    line: int
    in_function: bool
    for_types: bool  # below `if TYPE_CHECKING:`, where it loads nothing

    def __str__(self) -> str:
        return f"{self.importer}, line {self.line}, imports {self.imported}"


def sources_of(package: Path) -> dict[str, Path]:
    """The files of a package's modules, by the modules' names."""
    return {_module_name(path, package.parent): path for path in sorted(package.rglob("*.py"))}


def imports_among(sources: dict[str, Path]) -> list[Import]:
    """All imports of modules of a package by each other."""
    return [found for module in sources for found in _imports_of(module, sources)]


def out_of_reach(sources: dict[str, Path], roots: Iterable[str]) -> list[str]:
    """The modules that nothing imports on any way from the roots; with a module its package counts as imported."""
    edges: dict[str, set[str]] = {module: {module.rpartition(".")[0]} & sources.keys() for module in sources}
    for found in imports_among(sources):
        if found.imported in sources:
            edges[found.importer].add(found.imported)
    for module in sources:
        edges[module] |= _loaded_by_name(module, sources)
    todo, reached = [*roots], set[str]()
    while todo:
        module = todo.pop()
        if module not in reached:
            reached.add(module)
            todo += edges[module]
    return sorted(sources.keys() - reached)


def used_by_users(sources: dict[str, Path]) -> list[str]:
    """Where a user's program begins: Wengert's public modules, and the engines that load with an array, by name."""
    public = [module for module in sources if not any(_is_private(part) for part in module.split("."))]
    engines = [f"wengert._engines.{name}" for name in ("jax", "keras", "native", "tensorflow", "torch")]
    by_name = [*engines, *[f"{engine}.{part}" for engine in engines for part in ("foreign", "operators")]]
    by_name += [
        "wengert.adopt._numpy_source",
        "wengert.adopt._scipy_source",
        "wengert._compile.pickled_graphs",
    ]  # stand above the modules that ask for them
    by_name += ["wengert.scipy._morphology", "wengert.scipy._peaks"]  # in the places of SciPy's compiled modules
    return [*public, *[module for module in by_name if module in sources]]


def _loaded_by_name(module: str, sources: dict[str, Path]) -> set[str]:
    """The modules beside this one that it names for `Later` (`lower/later.py`), which loads them when needed."""
    text = sources[module].read_text(encoding="utf-8")
    if "Later(" not in text:
        return set()
    words = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
    return {f"{module.rpartition('.')[0]}.{word}" for word in words if isinstance(word, str)} & sources.keys()


def _is_private(part: str) -> bool:
    return part.startswith("_") and part != "__main__"


def _module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports_of(module: str, sources: dict[str, Path]) -> list[Import]:
    path = sources[module]
    package = module.split(".")[0]
    found: list[Import] = []

    def visit(node: ast.AST, in_function: bool, for_types: bool) -> None:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = _targets_of_from(module, path.name == "__init__.py", node, sources)
        else:
            names = []
        for name in names:
            if name.split(".")[0] == package:
                found.append(Import(module, name, getattr(node, "lineno", 0), in_function, for_types))
        inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            visit(child, inside, for_types or _is_types_only(node, child))

    visit(ast.parse(path.read_text(encoding="utf-8"), str(path)), False, False)
    return found


def _is_types_only(node: ast.AST, child: ast.AST) -> bool:
    """Whether `child` stands in the body of an `if TYPE_CHECKING:`."""
    return (
        isinstance(node, ast.If)
        and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        and child in node.body
    )


def _targets_of_from(module: str, is_package: bool, node: ast.ImportFrom, sources: dict[str, Path]) -> list[str]:
    """The modules that `from base import names` reads: a submodule where a name is one, else the base."""
    base = node.module or ""
    if node.level:
        anchor = module.split(".")
        drop = node.level - 1 if is_package else node.level
        base = ".".join([*anchor[: len(anchor) - drop], *([node.module] if node.module else [])])
    return sorted({f"{base}.{a.name}" if f"{base}.{a.name}" in sources else base for a in node.names})
