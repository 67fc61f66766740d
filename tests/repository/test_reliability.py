"""docs/reliability.md and SECURITY.md: each promise names tests, and the tests that they name exist."""

from __future__ import annotations

import re

import pytest

from tests.support.paths import DOCS, ROOT

CITED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
PAGES = [DOCS / "reliability.md", ROOT / "SECURITY.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tests_that_a_page_names_exist(page) -> None:
    cited = CITED.findall(page.read_text(encoding="utf-8"))
    assert cited
    missing = []
    for path, name in cited:
        file = ROOT / path
        if not file.is_file() or (name and f"\ndef {name}(" not in file.read_text(encoding="utf-8")):
            missing.append(f"{path}::{name}")
    assert not missing


def test_no_promise_is_without_a_test() -> None:
    lines = (DOCS / "reliability.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| promise ")]
    assert rows
    assert not [row for row in rows if not CITED.search(row.split("|")[2])]


def test_no_lock_stays_locked_in_a_child_of_a_fork() -> None:
    """Locks come from `_core/forking.py`, which mends them there."""
    plain = re.compile(
        r"\bthreading\.(?:R?Lock|Condition|Semaphore|Event|Barrier)\(|@functools\.cached_property|\bQueue\("
    )
    package = ROOT / "wengert"
    found = {path.relative_to(package).as_posix() for path in package.rglob("*.py") if plain.search(path.read_text())}
    assert found == {"_core/forking.py"}
