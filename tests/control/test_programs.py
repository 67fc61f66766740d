"""Random programs with branches and loops: every mode, policy and reference gives the same derivatives.

`tests/fuzz/programs.py` runs as many as one likes. What it found is among the samples of `tests/control/test_samples.py`.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.control_checks import check, choices_of
from tests.support.control_programs import Program, random_program

COUNT = 300  # programs
CONSTRUCTS = 4  # in a program


@st.composite
def programs(draw: st.DrawFn, constructs: int = CONSTRUCTS) -> tuple[Program, random.Random]:
    """A program, and where the choices of its checks come from."""
    numbers = draw(st.randoms(note_method_calls=False))
    return random_program(numbers, constructs), random.Random(draw(st.integers(0, 2**16)))


@pytest.mark.slow  # half a minute; the next test draws from the same programs
@settings(
    max_examples=COUNT // 3, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)  # fmt: skip
@given(programs())
def test_all_ways_to_a_gradient_agree(drawn: tuple[Program, random.Random]) -> None:
    program, numbers = drawn
    try:
        check(program, numbers)
    except Exception as error:
        error.add_note(program.source)
        raise


# Hypothesis likes small programs; these are of all sizes.
@pytest.mark.sampled(8)  # one or two seconds each
@pytest.mark.parametrize("first", range(0, COUNT, 2))
def test_all_ways_to_a_gradient_agree_for_seeds(first: int) -> None:
    for seed in range(first, first + 2):
        program = random_program(random.Random(seed), CONSTRUCTS)
        try:
            check(program, choices_of(seed))
        except Exception as error:
            error.add_note(f"python tests/fuzz/programs.py --seed {seed} --count 1 --shrink\n{program.source}")
            raise


def test_programs_are_of_all_sorts() -> None:
    found = [random_program(random.Random(seed), CONSTRUCTS) for seed in range(COUNT)]
    for feature in ("assign", "while", "dynamic", "stop", "scaled", "derivative"):
        assert sum(feature in program.features for program in found) > COUNT // 40, feature
    words = (
        "wg.cond(", "wg.switch(", "wg.while_loop(", "wg.fori_loop(", "wg.scan(", "reverse=True", "wg.map(", ".at[",
        "custom_gradient", "recompute_grad", "stop_gradient", "maximum_iterations", "literal(", "[:0]", "derivative(inner",
    )  # fmt: skip
    for word in words:
        assert sum(word in program.source for program in found) > COUNT // 60, word
