"""The table of primitives that are lowered by themselves is what the listed families say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from wengert._engines.native import lower
from wengert._engines.native.lower.rule_tables import FAMILIES, SINGLES


def test_every_file_with_a_table_is_listed() -> None:
    files = {p.stem for p in Path(lower.__path__[0]).glob("*.py") if "\nLOWERED = " in p.read_text(encoding="utf-8")}
    assert files == {family.__name__.rpartition(".")[2] for family in FAMILIES}


def test_each_primitive_is_in_the_table_of_one_family() -> None:
    counts = Counter(name for family in FAMILIES for name in family.LOWERED)
    assert {*SINGLES} == {*counts} and {*counts.values()} == {1}
