"""Each name that a module gives a value has one: two changes that came together once gave two limits one name."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tests.support.paths import ROOT

MODULES = sorted((ROOT / "wengert").rglob("*.py"))


def names_given(text: str) -> Iterator[str]:
    """The names that statements at the top of a module give values."""
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign):
            yield from (target.id for target in statement.targets if isinstance(target, ast.Name))
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            assert isinstance(statement.target, (ast.Name, ast.Attribute))
            yield ast.unparse(statement.target)


def twice(text: str) -> list[str]:
    return [name for name, count in Counter(names_given(text)).items() if count > 1]


def test_a_second_value_is_found() -> None:
    assert twice("LONG = 32\nFEW: int\nFEW: int = 3\nfor i in (1, 2):\n    LONG = 4\nLONG = 300_000\n") == ["LONG"]


def test_no_name_of_a_module_has_two_values() -> None:
    found = {path.relative_to(ROOT).as_posix(): twice(path.read_text(encoding="utf-8")) for path in MODULES}
    assert len(found) > 500
    assert not {path: names for path, names in found.items() if names}
