"""Every op of the vocabulary on many inputs and options: values beside Keras's, derivatives beside differences.

What Keras says is recorded in `tests/spec/keras_values.npz` (`tests/spec/make_keras_values.py`). `WENGERT_SWEEP=1` differentiates every
call; otherwise each op's calls are sampled.
"""

from __future__ import annotations

import csv
import inspect
import json
import os
from typing import Any

import numpy as np
import pytest

from tests.support.paths import SPEC
from tests.support.vocabulary_cases import CASES, Case
from tests.support.vocabulary_checks import Told, agree, check_batch, check_derivatives, op_of, plain_results
from wengert import ops

EVERYTHING = os.environ.get("WENGERT_SWEEP", "0") not in ("", "0")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # hard points are visited on purpose

# Where Keras is not followed, and why
NOT_KERAS = {
    "sparsemax": "Keras 3.15.1's support is wrong (docs/semantics/hard_points.md)",
    "image.gaussian_blur": "Keras lays out kernels that are not square by a wrong shape",
    "ceil": "an integer is its own ceiling, and stays one, as in NumPy",
    "floor": "as ceil", "hard_tanh": "integers become floats",
    "var": "of complex numbers it is real, in double precision, as in NumPy", "arange": "Keras casts the step, 0.5, to 0",
    "full": "of integers it holds integers, as in NumPy (decision 14)",
    "saturate_cast": "Keras gives the smallest number for all integers",
}  # fmt: skip


def recorded() -> dict[str, list[Told]]:
    with np.load(SPEC / "keras_values.npz") as archive:
        numbers, index = archive["numbers"], json.loads(archive["index"].tobytes())
    found, at = {}, 0
    for name, _, entries in index:
        found[name] = []
        for shape, kind, is_narrow, size in entries:
            found[name].append(Told(tuple(shape), kind, is_narrow, numbers[at : at + size]))
            at += size
    return found


RECORDED = recorded()
BY_OP: dict[str, list[Case]] = {}
for _case in CASES:
    BY_OP.setdefault(_case.op, []).append(_case)


@pytest.mark.parametrize("op", BY_OP)
def test_values_are_those_of_keras(op: str) -> None:
    differing = []
    for case in BY_OP[op]:
        ours = plain_results(case)
        if case.name in RECORDED and not agree(case, ours, RECORDED[case.name]):
            differing.append(case.name)
    assert not differing or NOT_KERAS.get(op), differing
    if op in NOT_KERAS:
        assert differing, f"{op} agrees by now"


def sampled(op: str) -> list[Case]:
    """A few of an op's calls, spread over its options."""
    cases = BY_OP[op]
    return cases if EVERYTHING else cases[:: max(1, len(cases) // 6)]


@pytest.mark.parametrize("op", [op for op in BY_OP if any(c.smooth and c.seen != "shape" for c in BY_OP[op])])
def test_derivatives_are_those_of_differences(op: str) -> None:
    for case in sampled(op):
        if case.smooth and case.seen != "shape":
            try:
                check_derivatives(case)
            except Exception as error:
                error.add_note(case.name)
                raise


@pytest.mark.parametrize("op", BY_OP)
def test_batches_are_loops(op: str) -> None:
    for case in sampled(op):
        if op not in NO_BATCH:
            check_batch(case)


NO_BATCH = {"nonzero", "unique"}  # their shapes depend on values


def test_every_row_has_calls() -> None:
    assert len(CASES) > 3500
    assert len(RECORDED) > 3400


def signature_of(text: str) -> inspect.Signature:
    return inspect.signature(eval(f"lambda {text.strip()[1:-1]}: None"))  # the file is the project's own


def test_arguments_are_called_as_in_keras() -> None:
    wrong = []
    with (SPEC / "ops.tsv").open() as file:
        for row in csv.DictReader(file, delimiter="\t"):
            name = row["python_name"]
            assert op_of(Case(name, 0, ())) is not None
            assert name in BY_OP or name in ("is_tensor", "dtype", "vectorize"), f"{name} has no calls"
            ours = inspect.signature(op_of(Case(name, 0, ()))).parameters
            for wanted in signature_of(row["signature"]).parameters.values():
                have: Any = ours.get(wanted.name)
                if wanted.kind in (wanted.VAR_POSITIONAL, wanted.VAR_KEYWORD):
                    if not any(p.kind == wanted.kind for p in ours.values()):
                        wrong.append(f"{name}: {wanted}")
                elif have is None or have.kind == have.POSITIONAL_ONLY:
                    wrong.append(f"{name}: {wanted} is missing")
                elif wanted.default is not wanted.empty and have.default != wanted.default:
                    wrong.append(f"{name}: {wanted} is {have.default}")
    assert not wrong
    assert ops.array is not None
