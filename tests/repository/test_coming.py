"""The tables for those who come from other libraries: every name in them is there, ours and theirs."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wengert as wg
from tests.support.paths import ROOT

PAGES = sorted((ROOT / "docs" / "coming").glob("*.md"))
PACKAGES = {"jax": "jax", "jnp": "jax.numpy", "torch": "torch", "tf": "tensorflow", "np": "numpy"}
_SPAN = re.compile(r"`([^`]+)`")
_DOTTED = re.compile(r"(?<![\w.])(wg|jax|jnp|torch|tf|np)((?:\.\w+)+)")


def names(page: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The dotted names in the code of a page's tables, by what they start with."""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            for span in _SPAN.findall(line):
                for root, rest in _DOTTED.findall(span):
                    yield root, (*rest[1:].split("."),)


def found(start: Any, path: tuple[str, ...]) -> bool:
    value = start
    for i, name in enumerate(path):
        if not hasattr(value, name):
            try:
                value = importlib.import_module(f"{start.__name__}.{'.'.join(path[: i + 1])}")
            except ImportError:
                return False
        else:
            value = getattr(value, name)
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_our_names_are_there(page: Path) -> None:
    ours = {path for root, path in names(page) if root == "wg" and "NAME" not in path}  # which stands for any
    assert not {".".join(path) for path in ours if not found(wg, path)}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_their_names_are_there(page: Path) -> None:
    for root in sorted({root for root, _ in names(page)} - {"wg"}):
        package = pytest.importorskip(PACKAGES[root], reason=f"{PACKAGES[root]} is not installed")
        missing = {".".join(path) for r, path in names(page) if r == root and not found(package, path)}
        assert not missing, root
