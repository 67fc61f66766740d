"""Random programs with branches and loops against JAX, where JAX can differentiate them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.support.control_checks import choices_of, eager, found_by, random_point, traced
from tests.support.control_programs import random_program

pytest.importorskip("jax", reason="JAX, the reference here, is not installed")

from tests.support.jax_space import REFUSED, slopes

COUNT = 60


@pytest.mark.parametrize("first", range(0, COUNT, 10))
def test_gradients_are_those_of_jax(first: int) -> None:
    for seed in range(first, first + 10):
        program = random_program(random.Random(seed))
        if program.features & REFUSED:
            continue
        point = random_point(choices_of(seed))
        wanted = slopes(program, point)
        for way in (eager, traced):
            for a, b in zip(found_by(way, program, point), wanted, strict=False):
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10, err_msg=program.source)
