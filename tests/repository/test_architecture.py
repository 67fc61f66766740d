"""The walks that ARCHITECTURE.md shows are those that calls take."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.paths import ROOT

PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def printed() -> str:
    """The walks now, in a process of their own: engines that are loaded make a call take another way."""
    command = [sys.executable, "-m", "tools.walk"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120).stdout


def test_the_walks_are_as_the_page_shows_them(printed: str) -> None:
    walks = [walk for walk in printed.split("\n\n") if walk]
    assert [walk.splitlines()[0] for walk in walks] == ["np.sin(x)", "wg.value_and_grad(np.sin)(x)"]
    for walk in walks:
        assert f"```text\n{walk}\n```" in PAGE, "write them anew: python -m tools.walk --write"


def test_an_op_takes_at_most_six_calls_to_its_kernel(printed: str) -> None:
    names = [line.split()[0] for line in printed.split("\n\n")[0].splitlines()[1:]]
    assert names.index("apply") + 1 <= 6


def test_the_top_of_the_package_is_25_public_names_and_each_is_told() -> None:
    entries = [
        p for p in (ROOT / "wengert").iterdir() if p.name == "py.typed" or p.suffix == ".py" or any(p.glob("*.py"))
    ]
    names = [p.name + "/" * p.is_dir() for p in entries if p.name not in ("__init__.py", "py.typed")]
    assert len([name for name in names if not name.startswith("_")]) <= 25
    assert not [name for name in names if f"`{name}`" not in PAGE]
