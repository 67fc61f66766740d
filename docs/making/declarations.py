"""Where each primitive is declared, and the text of its derivative there."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import wengert
from wengert._core.op import REGISTRY

PACKAGE = Path(wengert.__file__).resolve().parent
DECLARERS = {"elementwise", "linear", "multilinear", "general", "zero", "stop", "not_differentiable", "_declare"}
RULES = ("partials", "transpose", "vjp", "jvp")


@dataclass(frozen=True)
class Declaration:
    """The place of a declaration and its source.

    Attributes:
        file: path from the package's parent.
        line: where the statement starts.
        formula: the derivative as the source says it, with the functions of the same file that it names.
    """

    file: str
    line: int
    formula: str

    @property
    def family(self) -> str:
        return Path(self.file).stem

    @property
    def place(self) -> str:
        return f"{self.file}, line {self.line}"


def declarations() -> dict[str, Declaration]:
    """The declaration of every primitive.

    Raises:
        LookupError: if one is not found: then its statement is not of the form `name("its name", ...)`.
    """
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "_core" in path.parts or not any(name in text for name in ("_prims", "op import")):
            continue
        source = Source(text)
        for name, call in source.calls():
            if name in REGISTRY and name not in found:
                file = str(path.relative_to(PACKAGE.parent))
                found[name] = Declaration(file, call.lineno, source.formula(call))
    missing = {*REGISTRY} - {*found}
    if missing:
        raise LookupError(f"no declaration found for {sorted(missing)}")
    return found


class Source:
    """One file: its declarations and the functions that they name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.functions = {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Calls outside functions whose first argument is a text."""
        for statement in self.tree.body:
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                continue
            for node in ast.walk(statement):
                if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                    name = node.args[0].value
                    if isinstance(name, str) and isinstance(node.func, ast.Name):
                        yield name, node

    def formula(self, call: ast.Call) -> str:
        """The keywords with the rules, or the whole call where a function of the file makes the declaration."""
        maker = getattr(call.func, "id", "")
        if maker in DECLARERS:
            rules = [word for word in call.keywords if word.arg in RULES]
            parts = [f"{word.arg} = {self.segment(word.value)}" for word in rules]
            helpers = self.helpers(rules)
        else:
            parts = [self.segment(call)]
            helpers = self.helpers([call])
        return "\n\n".join(["\n".join(parts), *helpers]).strip()

    def segment(self, node: ast.AST) -> str:
        text = ast.get_source_segment(self.text, node, padded=True) or ""
        first, *rest = text.split("\n")
        return (
            "\n".join([first.strip(), *textwrap.dedent("\n".join(rest)).split("\n")]).rstrip()
            if rest
            else first.strip()
        )

    def helpers(self, nodes: list[ast.AST]) -> list[str]:
        """The functions of this file that the nodes name, and those that these name."""
        names: list[str] = []
        waiting = list(nodes)
        while waiting:
            for node in ast.walk(waiting.pop(0)):
                if isinstance(node, ast.Name) and node.id in self.functions and node.id not in names:
                    names.append(node.id)
                    waiting.append(self.functions[node.id])
        return [self.segment_of_function(self.functions[name]) for name in names]

    def segment_of_function(self, node: ast.FunctionDef) -> str:
        return ast.get_source_segment(self.text, node) or ""
