"""The tables of lowering rules say what the files that they name have; files are loaded when a program needs them."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

from wengert._engines.native import lower
from wengert._engines.native.lower import special_rules
from wengert._engines.native.lower.blocks import REWRITES, SINGLES, single
from wengert._engines.native.lower.later import Later
from wengert._engines.native.lower.rule_tables import FAMILIES, SPECIAL_FUNCTIONS


def test_every_file_with_a_table_is_listed() -> None:
    files = {p.stem for p in Path(lower.__path__[0]).glob("*.py") if "\nLOWERED = " in p.read_text(encoding="utf-8")}
    assert files == {*FAMILIES}


def test_each_primitive_is_in_the_table_of_the_file_that_is_named() -> None:
    for file, names in FAMILIES.items():
        assert {*Later(file).load().LOWERED} == {*names}, file
    counts = Counter(name for names in FAMILIES.values() for name in names)
    assert {*SINGLES} == {*counts} and {*counts.values()} == {1}
    for name in SINGLES:
        assert callable(single(name).lower)


def test_special_functions_are_those_that_have_rules() -> None:
    assert {*special_rules.IN_PROCESS} == {*SPECIAL_FUNCTIONS}
    assert len(SPECIAL_FUNCTIONS) == len({*SPECIAL_FUNCTIONS})


def test_what_is_done_to_graphs_is_there() -> None:
    for rewrite in REWRITES:
        assert callable(getattr(rewrite.file.load(), rewrite.function))


PROGRAM = """
import sys
import numpy as np, wengert as wg
f = wg.function(wg.value_and_grad(lambda x: wg.sum(wg.sin(x) * x)))
f(np.ones(20))
rooms = "wengert._engines.native.lower."
print(*sorted(name.removeprefix(rooms) for name in sys.modules if name.startswith(rooms)))
"""


def test_a_program_loads_the_rules_that_it_needs() -> None:
    said = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout.split()
    assert "blocks" in said
    assert not {*FAMILIES, "special_rules"} & {*said}
