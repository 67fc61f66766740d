"""Wrong calls of public functions, generated: each is taken, or refused by an error of Python's kinds for wrong arguments.

The error names the function and the argument.

`WENGERT_WRONG_CALLS` is how many are made (0: all of them, some minutes), `WENGERT_WRONG_CALLS_SEED` which.
"""

from __future__ import annotations

import os
import random

import pytest

from tests.support.wrong_calls import Wrong, callables, complaint, right_calls, wrong_calls

COUNT = int(os.environ.get("WENGERT_WRONG_CALLS", "4000"))
SEED = int(os.environ.get("WENGERT_WRONG_CALLS_SEED", "0"))
OF_EACH = 6  # calls of one function


def drawn() -> list[Wrong]:
    """The calls of this run."""
    draw = random.Random(SEED)
    functions = [*callables().items()]
    draw.shuffle(functions)
    found: list[Wrong] = []
    for name, f in functions:
        if COUNT and len(found) >= COUNT:
            break
        for right in right_calls(name, f)[:1]:
            wrong = wrong_calls(right)
            found += draw.sample(wrong, min(OF_EACH, len(wrong))) if COUNT else wrong
    return found


@pytest.mark.filterwarnings("ignore")  # wrong calls may warn before they fail
def test_wrong_calls_are_refused_by_errors_that_say_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for what takes "text" as the name of a file
    calls = drawn()
    assert len(calls) >= COUNT
    complaints = [said for said in map(complaint, calls) if said]
    assert not complaints, f"{len(complaints)} of {len(calls)}, of seed {SEED}:\n" + "\n".join(complaints)
