"""The classes of programs: what they are made of, and which oracles hold them to account."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from tests.fuzz import arrays, oracles, places, regions, rules, vocabulary
from tests.fuzz.maker import Maker, Profile
from tests.fuzz.oracles import Oracle
from tests.fuzz.program import LAYOUTS, Program
from tests.support.control_programs import random_program

ARRAYS = [*arrays.STEPS] * 2 + [*vocabulary.STEPS] * 2
EVERYTHING = [*ARRAYS, *regions.STEPS, *rules.CUSTOM_STEPS, *rules.TRANSFORM_STEPS]

PROFILES = {
    "arrays": Profile(ARRAYS, length=10),
    "vocabulary": Profile([*arrays.STEPS, *vocabulary.STEPS * 15], length=4),
    "halves": Profile(
        [*ARRAYS, *regions.STEPS], floats=["float16", "bfloat16", "float32", "complex64", "complex128", "float64"], length=5,
        is_small=True,
    ),
    "regions": Profile([*arrays.STEPS, *vocabulary.STEPS, *regions.STEPS * 6], length=4, is_small=True),
    "large regions": Profile([*arrays.STEPS, *regions.STEPS * 2], length=5),
    "custom": Profile([*arrays.STEPS, *regions.STEPS * 2, *rules.CUSTOM_STEPS * 12], length=4, is_small=True),
    "implicit": Profile(
        [*arrays.STEPS, *regions.STEPS, *rules.IMPLICIT_STEPS * 20], floats=["float64"], length=3, is_small=True, special=0.0
    ),
    "transforms": Profile([*arrays.STEPS, *regions.STEPS * 2, *rules.TRANSFORM_STEPS * 10], length=4, is_small=True),
    "layouts": Profile(EVERYTHING, layouts=[*LAYOUTS], length=5),
    "everything": Profile([*EVERYTHING, *rules.IMPLICIT_STEPS], length=6, is_small=True),
}  # fmt: skip


class Class(NamedTuple):
    """A class of programs.

    Attributes:
        profiles: what its programs are made of, one of these each.
        oracles: all of these are asked.
        sometimes: one of these is asked, too.
        weight: how many of its programs there are beside those of others.
    """

    profiles: Sequence[str]
    oracles: Sequence[str]
    sometimes: Sequence[str] = ()
    weight: float = 1.0


ORACLES: dict[str, Oracle] = {
    "compiled": oracles.compiled, "modes": oracles.modes, "second order": oracles.second_order,
    "jacobians": oracles.jacobians, "batched": oracles.batched, "policies": oracles.policies,
    "other sizes": oracles.other_sizes, "owned": oracles.owned, "layouts": oracles.layouts, "threads": oracles.threads,
    "engines": places.engines, "saved": places.saved, "processes": places.processes, "control": oracles.control,
}  # fmt: skip

_ALL = ["arrays", "vocabulary", "halves", "regions", "large regions", "custom", "transforms", "layouts", "everything"]
_DERIVATIVES = ["modes", "second order", "jacobians", "batched"]
_ELSE = ["policies", "other sizes", "owned", "saved"]

CONTROL = "control"
CLASSES: dict[str, Class] = {
    "arrays": Class(["arrays"], ["compiled"], [*_DERIVATIVES, *_ELSE], 3),
    "vocabulary": Class(["vocabulary"], ["compiled"], [*_DERIVATIVES, *_ELSE], 3),
    "halves": Class(["halves"], ["compiled"], ["modes", "batched", "owned", "saved"], 1.5),
    "regions": Class(["regions", "regions", "large regions"], ["compiled", "modes", "policies"], [*_DERIVATIVES, *_ELSE], 3),
    CONTROL: Class([], [CONTROL], [], 1),
    "custom": Class(["custom"], ["compiled", "modes"], [*_DERIVATIVES, *_ELSE], 2),
    "implicit": Class(["implicit"], ["modes", "second order", "compiled"], ["jacobians", "batched", "saved"], 1),
    "transforms": Class(["transforms"], ["compiled", "modes"], [*_DERIVATIVES, *_ELSE], 2),
    "derivatives": Class(_ALL, ["modes", "second order", "jacobians", "batched"], [], 2),
    "engines": Class(_ALL, ["engines"], [], 2),
    "threads": Class(_ALL, ["threads"], [], 0.5),
    "layouts": Class(["layouts"], ["layouts", "compiled"], [], 1),
    "sizes": Class(_ALL, ["other sizes"], [], 1),
    "owned": Class(_ALL, ["owned"], [], 0.5),
    "processes": Class(_ALL, ["processes"], [], 0.3),
    "saved": Class(_ALL, ["saved"], [], 1),
}  # fmt: skip


def program_of(name: str, seed: int, number: int) -> Program:
    """The program of a class, of a seed and a number: always the same."""
    if name == CONTROL:
        own = seed * 1_000_003 + number
        return Program(random_program(random.Random(own)).source, seed=str(own))
    numbers = random.Random(f"{seed} {name} {number}")
    profile = PROFILES[numbers.choice(CLASSES[name].profiles)]
    return Maker(numbers, profile).program(f"{seed} {name} {number}")


def oracles_of(name: str, program: Program) -> list[str]:
    """Which oracles a program of a class is held against."""
    one = CLASSES[name]
    some = [random.Random(f"oracles of {program.seed}").choice(one.sometimes)] if one.sometimes else []
    return [*dict.fromkeys([*one.oracles, *some])]
