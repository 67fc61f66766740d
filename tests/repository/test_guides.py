"""Every Python block of the guides in docs/ runs, in order, and prints what the page says.

A line `print(...)  # text` must print exactly `text`; a `text` block right after a Python block is all that it prints.
Pages that are notebooks (`code-cell`) run once more when the site is built; cells with options draw, and run only there.
To a block its page is a file `script.py` of its own, so that line numbers in messages count from the block's start.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import pydoc
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.lib import NumpyVersion

import wengert as wg
from tests.support.paths import DOCS
from tools.readme import PROMISED_OUTPUT, missing_framework
from wengert._core.op import REGISTRY

sys.path.insert(0, str(DOCS))
from making.catalogue import PublicOp, public_ops, value_at
from making.declarations import declarations
from making.everything import documented_names
from making.names import Names

BLOCK = re.compile(
    r"^```(?:python|\{code-cell\} ipython3)\n(?!:)(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)
GUIDES = [path for path in sorted(DOCS.rglob("*.md")) if BLOCK.search(path.read_text(encoding="utf-8"))]


def printed_by(source: str, namespace: dict[str, object]) -> list[str]:
    printed = io.StringIO()
    linecache.cache["script.py"] = (len(source), None, source.splitlines(keepends=True), "script.py")
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(source, "script.py", "exec"), namespace)
    finally:
        del linecache.cache["script.py"]
    return printed.getvalue().splitlines()


def test_there_are_guides() -> None:
    assert DOCS / "loops.md" in GUIDES


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_blocks_run_and_print_what_the_page_says(guide: Path) -> None:
    text = guide.read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        source, shown = block.groups()
        missing = missing_framework(source)
        if missing is not None:  # what comes before it has run, what follows may need it
            pytest.skip(f"{missing} is not installed")
        wanted = PROMISED_OUTPUT.findall(source) if shown is None else shown.splitlines()
        line = text[: block.start()].count("\n") + 1
        assert printed_by(source, namespace) == wanted, f"the block at {guide.name}:{line}"


def documented_and_ops() -> tuple[set[str], list[PublicOp]]:
    documented = documented_names()
    return documented, public_ops(documented)


def test_the_reference_has_every_name() -> None:
    """The reference's own pages have what is no op, each op has a page of its own, and no name stands in two places."""
    documented, ops = documented_and_ops()
    paged = {path for op in ops for path in (op.path, *op.aliases)}
    pages = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.rst"))
    listed = re.findall(r"^\.\. auto\w+:: ([\w.]+)$", pages, re.MULTILINE)
    assert len(listed) == len({*listed})
    values = {id(value_at(name)) for name in documented}

    def has_page(path: str) -> bool:
        value = value_at(path)
        if isinstance(value, ModuleType):
            return any(name.startswith(value.__name__) for name in listed)
        is_numpys = not getattr(value, "__module__", "").startswith("wengert")
        return path in paged or id(value) in values or is_numpys

    names = [*wg.__all__, *[f"ops.{name}" for name in wg.ops.__all__ if name != "image"]]  # wg.image is the same
    assert [name for name in names if not has_page(name)] == []
    assert not documented & paged


def test_every_op_shows_its_derivative() -> None:
    """What an op's example applies is declared where the pages look for it; few ops apply nothing."""
    declared = declarations()
    _, ops = documented_and_ops()
    assert {name for op in ops for name in op.primitives} <= {*declared}
    differentiable = ("elementwise", "linear", "multilinear", "general")
    assert all(where.formula for name, where in declared.items() if REGISTRY[name].kind in differentiable)
    assert sum(not op.primitives for op in ops) < len(ops) / 10


def test_names_of_other_libraries() -> None:
    """Ours lead somewhere, and NumPy's and SciPy's, as the names of ops with a page; no row stands twice."""
    if NumpyVersion(np.__version__) < "2.4.0":
        pytest.skip("the table has names that came with NumPy 2.4 or before it")
    rows = Names(DOCS / "names.tsv").rows
    assert len({row["wengert"] for row in rows}) == len(rows) > 400
    for row in rows:
        for ours in row["wengert"].split():
            value_at(ours)
        for theirs in row["numpy"].split():
            # einops is not installed with the tests
            assert theirs.startswith("einops.") or pydoc.locate(theirs.replace("np.", "numpy.", 1)), theirs
