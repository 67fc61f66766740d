"""Writes a test of a program that failed: a file that pytest runs, and that a person can read."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.program import Input, Program

FOLDER = Path(__file__).parent / "found"

TEMPLATE = '''\
"""Found by `python -m tests.fuzz --seed {seed} --classes {name} --first {number} --count 1`.

{error}
"""

from tests.fuzz.classes import ORACLES
from tests.fuzz.case import Case
from tests.fuzz.program import Input, Program

SOURCE = """
{source}
"""

INPUTS = (
{inputs}
)


def test_{slug}() -> None:
    ORACLES[{oracle!r}](Case(Program(SOURCE, INPUTS, least={least}, seed={program_seed!r}), {oracle!r}))
'''


class Finding(NamedTuple):
    """A program that failed.

    Attributes:
        name: of its class.
        seed: of the run.
        number: of the program in its class.
        oracle: that it failed.
        error: what was raised, or how its process ended.
        program: the program, as small as it could be made.
    """

    name: str
    seed: int
    number: int
    oracle: str
    error: str
    program: Program

    def key(self) -> str:
        """What is the same for two findings that are probably of one cause."""
        calls = {ast.unparse(n.func) for n in ast.walk(ast.parse(self.program.source)) if isinstance(n, ast.Call)}
        return f"{self.oracle} {sorted(calls)}"


def write_test(finding: Finding, folder: Path) -> Path:
    """Writes the test into a folder, which is made if need be; gives its path."""
    folder.mkdir(parents=True, exist_ok=True)
    slug = re.sub(r"\W+", "_", f"{finding.name}_{finding.seed}_{finding.number}_{finding.oracle}").strip("_")
    path = folder / f"test_{slug}.py"
    path.write_text(text_of(finding, slug))
    return path


def text_of(finding: Finding, slug: str = "program") -> str:
    """The text of the test."""
    program = finding.program
    return TEMPLATE.format(
        seed=finding.seed, name=finding.name, number=finding.number, slug=slug, oracle=finding.oracle,
        error=_quoted(finding.error), source=program.source.strip().replace("\\", "\\\\"), least=program.least,
        inputs="\n".join(f"    {_written(x)}," for x in program.inputs), program_seed=program.seed,
    )  # fmt: skip


def _quoted(error: str) -> str:
    lines = [line for part in error.splitlines()[:12] for line in textwrap.wrap(part, 110) or [""]]
    return "\n".join(lines[:20]).replace("\\", "\\\\").replace('"""', "'''")


def _written(x: Input) -> str:
    """An input, what is as usual left out."""
    parts = [repr(x.shape), repr(x.dtype)]
    usual = Input(x.shape)
    for name in ("seed", "layout", "is_special", "values"):
        value = getattr(x, name)
        if value != getattr(usual, name) and not (name == "seed" and x.values is not None):
            parts.append(f"{name}={_finite(value)}")
    return f"Input({', '.join(parts)})"


def _finite(value: object) -> str:
    """As `repr`, of text that Python reads."""
    text = repr(value)
    if isinstance(value, tuple):
        text = re.sub(r"(?<![\w'])(-?)(nan|inf)\b", r"float('\1\2')", text)
    return text
